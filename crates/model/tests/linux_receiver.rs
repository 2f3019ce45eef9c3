//! The receiver with the policy `linux` and a window that grows, acknowledgement by acknowledgement against captures of
//! Linux's receiver (`data/README.md`).
//!
//! Hopyard's sender gets the acknowledgements of the capture, so that both receivers get the same segments at the same
//! time for as long as the sender agrees. What Hopyard's receiver sends is compared with the capture.

#[allow(dead_code, reason = "the other comparisons use more of it")]
mod linux;

use std::fmt::Write as _;

use hopyard_engine::{Span, Streams, Time};
use linux::link::Run;
use linux::{Acknowledgement, Case, compare, configuration};

/// How much an acknowledgement may differ in time: captures have whole microseconds.
const GRAIN: Span = Span::from_micros(20);

/// The first departure of the sender that differs, and the first acknowledgement, with both.
struct Found {
    sender: Option<usize>,
    number: Option<usize>,
    time: Option<usize>,
    window: Option<usize>,
    ours: Vec<Acknowledgement>,
}

fn run(case: &Case) -> Found {
    let config = configuration(case, "linux");
    let mut run = Run::new(case, &config, Streams::new(1, 0).stream("tcp"));
    run.answer_as(&case.acknowledgements);
    run.run(case.segments);
    let agreement = compare(&run.departures, &case.departures);
    if std::env::var_os("DEP").is_some() { let at = agreement.order.or(agreement.time).unwrap_or(0); for i in at.saturating_sub(14)..at+10 { eprintln!("dep {i} {:?}    {:?}", run.departures.get(i).map(|d| (d.time, d.segment, d.again)), case.departures.get(i).map(|d| (d.time, d.segment, d.again))); } }
    let (ours, theirs) = (run.acknowledgements, &case.acknowledgements);
    let pairs = || ours.iter().zip(theirs).enumerate();
    let length = ours.len().min(theirs.len());
    let apart = |one: Time, other: Time| one.since(other.min(one)).max(other.since(one.min(other)));
    let number = pairs()
        .find(|(_, (ours, theirs))| (ours.segments, &ours.blocks) != (theirs.segments, &theirs.blocks))
        .map(|it| it.0)
        .or((ours.len() < theirs.len()).then_some(length));
    let time = pairs().find(|(_, (ours, theirs))| apart(ours.time, theirs.time) > GRAIN).map(|it| it.0);
    let window = pairs().find(|(_, (ours, theirs))| ours.window.next_multiple_of(128) != theirs.window).map(|it| it.0);
    Found { sender: agreement.order.or(agreement.time), number, time, window, ours }
}

fn cases() -> Vec<Case> {
    let seen = linux::with_acknowledgements(linux::seen(), include_bytes!("data/linux/seen/acks.csv.gz"));
    let unseen = linux::with_acknowledgements(linux::unseen(), include_bytes!("data/linux/unseen/acks.csv.gz"));
    seen.into_iter().chain(unseen).filter(|case| case.set == "receiver").collect()
}

#[test]
fn look() {
    let mut text = String::new();
    for case in cases() {
        if std::env::var("CASE").is_ok_and(|it| !format!("{} {}", case.sender, case.name).contains(&it)) { continue }
        let found = run(&case);
        writeln!(
            text,
            "{} {}: sender {:?} of {}, acks: number {:?}, time {:?}, window {:?} of {}",
            case.sender,
            case.name,
            found.sender,
            case.departures.len(),
            found.number,
            found.time,
            found.window,
            case.acknowledgements.len()
        )
        .expect("text");
        if found.ours.len() > case.acknowledgements.len() { writeln!(text, "   longer").unwrap(); }
        let first = [found.number, found.time, found.window].into_iter().flatten().min();
        if let Some(first) = first {
            for at in first.saturating_sub(2)..first + 3 {
                writeln!(text, "   {at} ours {:?}", found.ours.get(at)).expect("text");
                writeln!(text, "   {at} them {:?}", case.acknowledgements.get(at)).expect("text");
            }
        }
    }
    eprintln!("{text}");
}
