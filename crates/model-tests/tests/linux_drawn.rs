//! The profile `linux`, event by event against captures of cases that were drawn from a seed
//! (`crates/kernels/examples/linux_captures`).
//!
//! The sets are those of `docs/models/rack_linux.md`: `seen` and `unseen` were used to find rules, `held_out` was not.
//! The golden files have the counts and each case that differs.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use hopyard_model::transport::congestion;
use rayon::prelude::*;

use crate::linux::{self, Agreement, Case, SENDERS, compare, configuration, link};

/// How far a case agrees, and with which phase of BBR's first cycle.
fn agreement(case: &Case) -> (Agreement, Option<u32>) {
    let config = configuration(case, "linux");
    if !matches!(config.congestion, congestion::Config::Bbr(_)) {
        return (compare(&link::run(case, &config), &case.departures), None);
    }
    // The kernel drew the phase at random from these seven, so it is an input: the one that agrees for longest.
    let phases = [0, 2, 3, 4, 5, 6, 7].map(|phase| {
        let mut config = config.clone();
        if let congestion::Config::Bbr(params) = &mut config.congestion {
            params.first_phase = phase;
        }
        (compare(&link::run(case, &config), &case.departures), Some(phase))
    });
    let length = |at: Option<usize>| at.unwrap_or(usize::MAX);
    let best = phases.into_iter().max_by_key(|(it, phase)| (length(it.order), length(it.time), *phase));
    best.expect("seven phases")
}

/// Counts of cases: agree in order, besides in time, and all.
#[derive(Clone, Copy, Debug, Default)]
struct Count {
    order: usize,
    time: usize,
    all: usize,
}

impl Count {
    fn add(&mut self, agreement: &Agreement) {
        self.all += 1;
        self.order += usize::from(agreement.order.is_none());
        self.time += usize::from(agreement.is_whole());
    }
}

/// The counts by class and sender, and the cases that differ.
fn report(cases: &[Case]) -> (String, BTreeMap<String, Count>) {
    let found: Vec<(Agreement, Option<u32>)> = cases.par_iter().map(agreement).collect();
    let mut counts: BTreeMap<(String, String), Count> = BTreeMap::new();
    let mut differing = String::new();
    for (case, (agreement, phase)) in cases.iter().zip(&found) {
        for class in [&*case.set, "(all)"] {
            for sender in [&*case.sender, "(all)"] {
                counts.entry((class.to_owned(), sender.to_owned())).or_default().add(agreement);
            }
        }
        if !agreement.is_whole() {
            let name = format!("{} {} {}", case.set, case.sender, case.name);
            let at = match (agreement.order, agreement.time) {
                (Some(order), Some(time)) => format!("order {order}, time {time}"),
                (Some(order), None) => format!("order {order}"),
                (None, time) => format!("time {}", time.unwrap_or_default()),
            };
            let phase = phase.map_or(String::new(), |phase| format!(", phase {phase}"));
            let (all, longer) = (case.departures.len(), 100.0 * agreement.longer);
            writeln!(differing, "{name}: {at} of {all}, {longer:+.2} %{phase}").expect("text");
        }
    }
    let mut text = String::from("order and time / order / cases\n");
    let senders: Vec<&str> = SENDERS.iter().map(|it| it.0).chain(["(all)"]).collect();
    let mut row = |cells: Vec<String>| {
        let cells: Vec<String> = cells.iter().map(|cell| format!("{cell:>12}")).collect();
        writeln!(text, "{}", cells.join(" ").trim_end()).expect("text");
    };
    row(std::iter::once(String::new()).chain(senders.iter().map(|it| (*it).to_owned())).collect());
    let mut classes: Vec<&str> = counts.keys().map(|it| &*it.0).collect();
    classes.dedup();
    for class in &classes {
        let cell = |sender: &&str| {
            let count = counts.get(&((*class).to_owned(), (*sender).to_owned())).copied().unwrap_or_default();
            format!("{}/{}/{}", count.time, count.order, count.all)
        };
        row(std::iter::once((*class).to_owned()).chain(senders.iter().map(cell)).collect());
    }
    let by_class = counts.iter().filter(|it| it.0.1 == "(all)").map(|(key, count)| (key.0.clone(), *count)).collect();
    (format!("{text}\n{differing}"), by_class)
}

/// Compares a set with its golden file, and its counts with a floor: order, besides time, and cases, of each of these
/// classes.
fn check(name: &str, cases: &[Case], floors: &[(&str, [usize; 3])]) {
    let (text, counts) = report(cases);
    insta::with_settings!({ prepend_module_to_snapshot => false, snapshot_path => "golden", omit_expression => true }, {
        insta::assert_snapshot!(name, text);
    });
    for &(class, [order, time, cases]) in floors {
        let count = counts[class];
        assert_eq!(count.all, cases, "{name}: {class}");
        assert!(count.order >= order && count.time >= time, "{name}: {class}: {count:?}, expected {order} and {time}");
    }
}

#[test]
fn the_set_that_was_seen_first() {
    check("linux_seen", &linux::seen(), &[("plain", [182, 181, 182]), ("(all)", [263, 259, 266])]);
}

#[test]
fn the_set_that_was_held_out_first_and_seen_later() {
    check("linux_unseen", &linux::unseen(), &[("plain", [182, 181, 182]), ("(all)", [264, 256, 266])]);
}

#[test]
fn applications_that_write_in_pieces() {
    check("linux_written", &linux::written(), &[("written", [84, 82, 84])]);
}

#[test]
fn applications_that_write_in_pieces_held_out() {
    check("linux_written_held_out", &linux::written_held_out(), &[("written", [81, 74, 84])]);
}

#[test]
fn the_set_that_was_recorded_after_the_rules_were_fixed() {
    check("linux_held_out", &linux::held_out(), &[("plain", [182, 182, 182]), ("(all)", [261, 260, 263])]);
}
