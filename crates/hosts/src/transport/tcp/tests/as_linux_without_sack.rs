//! The rules of a Linux sender without SACK, and the window after a pause; beside `newreno` where that has other rules.

use super::*;
use crate::params::LINUX;

fn talk() -> Talk {
    talk_with(&as_linux::with(|it| it.sack = false))
}

fn talk_with(params: &Params) -> Talk {
    let (talk, sent) = Talk::with(params, "newreno", LINUX);
    assert_eq!(sent, "0 1 2 3 4 5 6 7 8 9");
    talk
}

#[test]
fn duplicate_acknowledgements_count_as_segments_that_have_arrived() {
    for (params, answer) in [(as_linux::with(|it| it.sack = false), "12 13"), (params(RFC), "12 13 14 15")] {
        let mut talk = talk_with(&params);
        assert_eq!(talk.after(100).ack(0), "10", "limited transmit (RFC 3042)");
        assert_eq!(talk.ack(0), "11");
        // Two of the three segments had been counted: the window grows by one.
        assert_eq!(talk.ack(3), answer, "{:?}", params.habits);
    }
}

#[test]
fn the_third_duplicate_acknowledgement_begins_a_repair_and_partial_ones_go_on_with_it() {
    let mut talk = talk();
    assert!(!talk.sender.wants_sack());
    assert_eq!(talk.after(100).ack(0), "10");
    assert_eq!(talk.ack(0), "11");
    assert_eq!(talk.ack(0), "r0");
    assert_eq!(talk.window().1, 5.0);
    (0..6).for_each(|_| drop(talk.ack(0)));
    // Segment 4 is lost too.
    assert!(talk.after(100).ack(4).starts_with("r4"));
    assert_eq!(talk.window().1, 5.0, "one reduction");
    assert_eq!(talk.sender.counters().retransmitted_segments, 2);
}

#[test]
fn duplicates_of_the_repair_begin_no_other_one() {
    let mut talk = talk();
    talk.after(100);
    (0..3).for_each(|_| drop(talk.ack(0)));
    assert_eq!(talk.window().1, 5.0);
    // All that was outstanding when the repair began (RFC 6582 §4).
    talk.after(100).ack(12);
    for _ in 0..4 {
        assert!(!talk.ack(12).contains('r'));
    }
    assert_eq!(talk.window().1, 5.0);
    talk.after(100).ack(13);
    assert!(!talk.sender.state().recovering);
}

#[test]
fn no_probe_is_sent() {
    let mut talk = talk();
    assert_eq!(talk.timer(), "r0", "a timeout");
    assert_eq!(talk.sender.counters().tail_loss_probes, 0);
}

/// Ten segments that are acknowledged, and after a pause twenty more.
fn paused(idle_restart: super::super::IdleRestart, pause: u64) -> f64 {
    let params = Params { idle_restart, ..as_linux::linux(false) };
    let mut talk = as_linux::opened(&params);
    let mut sent = 0;
    for round in [10, 20, 40] {
        talk.sender.write(round * SEGMENT, talk.now);
        talk.drain();
        talk.after(100);
        // In two steps, so that slow start doubles the window.
        for part in [round / 2, round - round / 2] {
            sent += part;
            talk.ack(sent);
        }
    }
    assert_eq!(talk.window().0, 80.0);
    let now = talk.after(pause).now;
    talk.sender.write(SEGMENT, now);
    talk.window().0
}

#[test]
fn a_pause_halves_the_window_for_each_timeout() {
    use super::super::IdleRestart::{InitialWindow, Off};
    // The timeout is 300 ms, and the last segment was sent 100 ms before the pause.
    assert_eq!(paused(InitialWindow, 150), 80.0);
    assert_eq!(paused(InitialWindow, 300), 40.0);
    assert_eq!(paused(InitialWindow, 600), 20.0);
    assert_eq!(paused(InitialWindow, 5000), 10.0);
    assert_eq!(paused(Off, 600), 80.0);
}
