//! Marks of queues (RFC 3168 §6.1).

use super::as_linux::linux;
use super::*;
use crate::packet::{CAPABLE, CONGESTION};
use crate::params::LINUX;
use crate::transport::connection::{Ecn, milliseconds};

fn flags(syn: bool, ack: bool) -> TcpHeader {
    TcpHeader { flags: TcpFlags { syn, ack, ..TcpFlags::default() }, ..TcpHeader::default() }
}

fn data(seq: u64) -> TcpHeader {
    TcpHeader { seq, len: 1000, ..flags(false, true) }
}

/// The two ends of a connection that has opened.
fn ends(wants: [bool; 2]) -> [Ecn; 2] {
    let mut ends = wants.map(|ecn| Ecn::new(&Params { ecn, ..params(RFC) }));
    let mut syn = flags(true, false);
    assert_eq!(ends[0].stamp(&mut syn, 0), 0, "a SYN is never marked");
    assert_eq!((syn.flags.ece, syn.flags.cwr), (wants[0], wants[0]));
    ends[1].on_arrival(&syn, 0);
    let mut answer = flags(true, true);
    assert_eq!(ends[1].stamp(&mut answer, 0), 0);
    assert_eq!((answer.flags.ece, answer.flags.cwr), (wants[0] && wants[1], false));
    ends[0].on_arrival(&answer, 0);
    ends
}

#[test]
fn both_ends_must_want_marks() {
    for (wants, class) in [([true, true], CAPABLE), ([true, false], 0), ([false, true], 0), ([false, false], 0)] {
        let [mut sender, mut receiver] = ends(wants);
        let mut segment = data(1);
        assert_eq!(sender.stamp(&mut segment, 0), class, "{wants:?}");
        receiver.on_arrival(&segment, CONGESTION);
        let mut ack = flags(false, true);
        assert_eq!(receiver.stamp(&mut ack, 0), 0, "an acknowledgement is never marked");
        assert_eq!((ack.flags.ece, sender.reports(&ack)), (class != 0, class != 0));
    }
}

#[test]
fn a_mark_is_reported_until_the_window_is_reduced() {
    let [mut sender, mut receiver] = ends([true, true]);
    let mut reported = |segment: &TcpHeader, marked| {
        receiver.on_arrival(segment, if marked { CONGESTION } else { CAPABLE });
        let mut ack = flags(false, true);
        receiver.stamp(&mut ack, 0);
        ack.flags.ece
    };
    let mut sent = |seq, reductions| {
        let mut segment = data(seq);
        sender.stamp(&mut segment, reductions);
        segment
    };
    assert!(!reported(&sent(1, 0), false));
    assert!(reported(&sent(1001, 0), true));
    assert!(reported(&sent(2001, 0), false), "until CWR comes");
    let told = sent(3001, 1);
    assert!(told.flags.cwr && !reported(&told, false));
    assert!(!sent(4001, 1).flags.cwr, "once");
    let told = sent(5001, 2);
    assert!(told.flags.cwr && reported(&told, true), "a marked segment with CWR begins anew");
    // What is sent again, and what has no data, is not marked (§6.1.4, §6.1.5).
    let mut again = TcpHeader { retransmission: true, ..data(1) };
    assert_eq!((sender.stamp(&mut again, 3), again.flags.cwr), (0, false));
}

#[test]
fn without_an_opening_exchange_the_parameter_decides() {
    for (connect, class) in [(Connect::None, CAPABLE), (Connect::Ns2, CAPABLE), (Connect::ThreeWay, 0)] {
        let mut end = Ecn::new(&Params { ecn: true, connect, ..params(RFC) });
        assert_eq!(end.stamp(&mut data(1), 0), class);
    }
}

/// An acknowledgement of all segments below one, which reports a mark.
fn marked(talk: &mut Talk, segment: u64) -> String {
    let flags = TcpFlags { ack: true, ece: true, ..TcpFlags::default() };
    let ack = talk.origin + segment * SEGMENT;
    talk.receive(TcpHeader { ack, window: 1 << 20, flags, ..TcpHeader::default() })
}

#[test]
fn a_mark_halves_the_window_once_and_sends_nothing_again() {
    let (mut talk, _) = Talk::new(RFC, "newreno");
    assert_eq!(talk.after(100).ack(2), "10 11 12");
    // Eleven are outstanding: the threshold is half of them (RFC 5681 eq. 4).
    assert_eq!(marked(&mut talk, 4), "");
    assert_eq!(talk.window(), (5.5, 5.5));
    assert_eq!(marked(&mut talk, 6), "", "the same window");
    assert_eq!(talk.window(), (5.5, 5.5), "and no growth");
    let counters = talk.sender.counters();
    assert_eq!((counters.mark_reductions, counters.retransmitted_segments, counters.fast_retransmits), (1, 0, 0));
    // A loss in this window is repaired, and does not reduce it again.
    talk.ack(8);
    for _ in 0..3 {
        talk.ack(8);
    }
    assert_eq!(talk.sender.counters().retransmitted_segments, 1);
    assert_eq!(talk.window().1, 5.5);
    // Beyond the window the next mark counts.
    talk.after(100).ack(15);
    marked(&mut talk, 16);
    assert_eq!(talk.sender.counters().mark_reductions, 2);
    assert!(talk.window().1 < 5.5);
}

#[test]
fn linux_reduces_over_a_round_trip() {
    let (mut talk, _) = Talk::with(&linux(false), "newreno", LINUX);
    assert_eq!(talk.after(100).ack(2), "10 11 12 13");
    // The window of 12 becomes 6: each second acknowledgement lets a segment out (RFC 9937).
    let mut sent = marked(&mut talk, 3);
    for segment in 4..=14 {
        sent = format!("{sent}.{}", if segment < 9 { marked(&mut talk, segment) } else { talk.ack(segment) });
    }
    assert_eq!(talk.window().1, 6.0, "{sent}");
    assert_eq!(talk.sender.counters().mark_reductions, 1, "{sent}");
    assert_eq!(talk.sender.counters().retransmitted_segments, 0);
    let before: Vec<_> = sent.split(['.', ' ']).filter(|number| !number.is_empty()).collect();
    assert!((5..=7).contains(&before.len()), "{sent}");
    // Something beyond the window is acknowledged.
    talk.ack(15);
    assert!((6.0..7.0).contains(&talk.window().0), "{:?}", talk.window());
    marked(&mut talk, 16);
    assert_eq!((talk.sender.counters().mark_reductions, talk.window().1), (2, 3.0));
}

#[test]
fn the_data_before_a_timeout_belongs_to_one_reduction() {
    let (mut talk, _) = Talk::new(RFC, "newreno");
    talk.after(100).ack(2);
    marked(&mut talk, 4);
    // Nine segments are outstanding when the timer expires.
    assert_eq!(talk.timer(), "r4");
    assert_eq!(talk.window(), (1.0, 4.5));
    // All acknowledgements report the mark until new data tells of the reduction. Slow start goes on.
    assert_eq!(marked(&mut talk, 5), "r5 r6");
    assert_eq!(talk.window(), (2.0, 4.5));
    assert_eq!(marked(&mut talk, 13), "13 14");
    assert_eq!((talk.window(), talk.sender.counters().mark_reductions), ((2.0, 4.5), 1), "the end of the repair");
    // Data sent after the timeout has a window of its own.
    marked(&mut talk, 14);
    assert_eq!((talk.window().0, talk.sender.counters().mark_reductions), (2.0, 2));
}

#[test]
fn the_window_never_grows_while_all_acknowledgements_report_marks() {
    let mut gentle = Config::of_profile("cubic", RFC).expect("a variant");
    if let Config::Cubic(cubic) = &mut gentle {
        // The reduction leaves room for a tail loss probe, which counts in it.
        cubic.beta = 0.8;
    }
    let named = |name| [RFC, LINUX].map(|profile| Config::of_profile(name, profile).expect("a variant"));
    let all = crate::transport::congestion::MODELS.iter().map(|model| (model.name, named(model.name)));
    for (variant, [published, as_linux]) in all.chain([("cubic, gentle", [gentle.clone(), gentle])]) {
        for (params, config) in [(params(RFC), &published), (linux(false), &published), (linux(false), &as_linux)] {
            let (mut talk, _) = Talk::begin(&params, Controller::new(config, Streams::new(1, 0).stream("rule")));
            if !talk.sender.answers_marks() {
                continue;
            }
            talk.after(100).ack(2);
            let before = talk.window().0;
            marked(talk.after(20), 4);
            // Originals arrive after it: the timeout was for nothing, and much is outstanding beside a small window.
            talk.timer();
            for segment in (6..20).step_by(2) {
                marked(talk.after(40), segment);
                let window = talk.window().0;
                let name = format!("{variant}, {:?}, {config:?}", params.habits);
                assert!(window <= before, "{name}: the window grew from {before} to {window} at segment {segment}");
            }
        }
    }
}

/// As [`a_timeout_that_timestamps_show_to_be_spurious_is_undone`](super::as_linux), where a mark asks for the
/// reduction.
#[test]
fn a_mark_forbids_linux_to_undo_a_reduction() {
    for ece in [false, true] {
        let (mut talk, _) = Talk::with(&linux(true), "newreno", LINUX);
        let (sent, before) = (milliseconds(talk.now), talk.window().1);
        talk.timer();
        assert_eq!(talk.timer(), "r0");
        let flags = TcpFlags { ack: true, ece, ..TcpFlags::default() };
        let (ack, timestamps) = (talk.origin + SEGMENT, Some((0, sent)));
        talk.after(50).receive(TcpHeader { ack, window: 1 << 20, timestamps, flags, ..TcpHeader::default() });
        // With a mark the window of one segment is reduced to the least threshold.
        assert_eq!(talk.window().1, if ece { 2.0 } else { before }, "{:?}", talk.window());
    }
}
