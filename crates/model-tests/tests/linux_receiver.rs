//! The receiver with the policy `quick` and a window that grows, acknowledgement by acknowledgement against captures of
//! Linux's receiver (`data/README.md`).
//!
//! Hopyard's sender gets the acknowledgements of the capture, so that both receivers get the same segments at the same
//! time for as long as the sender agrees. What Hopyard's receiver sends is compared with the capture. Where a queue
//! overflows, a difference of less than a microsecond decides which segment is lost.

use hopyard_engine::{Span, Streams, Time};

use crate::linux::{self, link::Run};
use crate::linux::{Case, configuration};

/// How much an acknowledgement may differ in time: captures have whole microseconds.
const GRAIN: Span = Span::from_micros(20);
/// The last acknowledgements belong to the FIN. Linux sends them when the application has closed, with another window.
const CLOSING: usize = 2;

/// Whether the acknowledgements agree in number, blocks and time, and whether the windows agree.
fn agrees(case: &Case) -> (bool, bool) {
    let mut run = Run::new(case, &configuration(case, "linux"), Streams::new(1, 0).stream("tcp"));
    run.answer_as(&case.acknowledgements);
    run.run(case.segments);
    let (ours, theirs) = (&run.acknowledgements, &case.acknowledgements);
    let apart = |one: Time, other: Time| one.max(other).since(one.min(other));
    let mut pairs = ours.iter().zip(theirs);
    let same = pairs.all(|(ours, theirs)| {
        (ours.segments, &ours.blocks) == (theirs.segments, &theirs.blocks) && apart(ours.time, theirs.time) <= GRAIN
    });
    let before_the_end = theirs.len().saturating_sub(CLOSING);
    let mut windows = ours.iter().zip(theirs).take(before_the_end);
    let same_windows = windows.all(|(ours, theirs)| ours.window == theirs.window);
    (same && ours.len() >= theirs.len(), same_windows)
}

#[test]
fn the_receiver_acknowledges_as_linux() {
    let seen = linux::with_acknowledgements(linux::seen(), include_bytes!("data/linux/seen/acks.csv.gz"));
    let unseen = linux::with_acknowledgements(linux::unseen(), include_bytes!("data/linux/unseen/acks.csv.gz"));
    let cases: Vec<Case> = seen.into_iter().chain(unseen).filter(|case| case.set == "receiver").collect();
    assert_eq!(cases.len(), 28);
    let found: Vec<(bool, bool)> = cases.iter().map(agrees).collect();
    let (acknowledgements, windows) = (found.iter().filter(|it| it.0).count(), found.iter().filter(|it| it.1).count());
    // In two of the others a queue overflows; in three the sender leaves at another time.
    assert!(acknowledgements >= 23, "{acknowledgements} of 28 agree in number, blocks and time");
    assert!(windows >= 22, "{windows} of 28 agree in windows");
}
