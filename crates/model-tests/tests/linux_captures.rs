//! The profile `linux`, event by event against captures of Linux 6.1's senders (`data/README.md`).
//!
//! Each data segment must leave in the same order, sent for the first time or again as in Linux, and within 1 ms of
//! Linux's time, counted from the first. `docs/models/rack_linux.md` has the whole table.

use crate::linux::{Agreement, Case, cases, compare, configuration, link};

fn agreement(case: &Case, profile: &str) -> Agreement {
    compare(&link::run(case, &configuration(case, profile)), &case.departures)
}

fn of_set(set: &str) -> impl Iterator<Item = Case> {
    cases().into_iter().filter(move |case| case.set == set)
}

/// BBR's kernel drew the phase of the first cycle at random; it is an input.
#[test]
fn every_sender_agrees_with_linux() {
    let mut count = 0;
    for case in of_set("plain") {
        let name = (&*case.sender, &*case.name);
        let agreement = agreement(&case, "linux");
        assert_eq!(agreement.order, None, "{name:?}");
        assert_eq!(agreement.time, None, "{name:?}: {agreement:?}");
        assert!(agreement.longer.abs() < 0.002, "{name:?}: {agreement:?}");
        count += 1;
    }
    assert_eq!(count, 182);
}

#[test]
fn without_pairs_every_case_of_reno_agrees() {
    let cases: Vec<Case> = of_set("tso1").filter(|case| case.sender == "reno").collect();
    assert_eq!(cases.len(), 5);
    for case in cases {
        assert!(agreement(&case, "linux").is_whole(), "{}", case.name);
    }
}

#[test]
fn spurious_timeouts_are_undone_without_f_rto_too() {
    assert!(of_set("nofrto").all(|case| agreement(&case, "linux").order.is_none()));
}

#[test]
fn the_profile_rfc_does_not_agree() {
    let whole = of_set("plain").filter(|case| agreement(case, "rfc").is_whole()).count();
    assert!(whole <= 10, "{whole}");
}
