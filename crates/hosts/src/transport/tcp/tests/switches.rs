//! Each switch among the parameters has a visible effect.

use super::*;

#[test]
fn limited_transmit_lets_a_segment_out_for_each_early_duplicate() {
    for recovery in [RecoveryChoice::NewReno, RecoveryChoice::Sack, RecoveryChoice::Rack] {
        for (limited_transmit, sent) in [(true, "11 12"), (false, " ")] {
            let (mut talk, _) = Talk::with(&Params { limited_transmit, recovery, ..params(RFC) }, "reno", RFC);
            talk.after(100).ack(1);
            let early = [talk.sack(1, &[(2, 3)]), talk.sack(1, &[(2, 4)])].join(" ");
            let expected = if limited_transmit { "12 13" } else { sent };
            assert_eq!(early, expected, "{recovery:?}");
            assert!(talk.sack(1, &[(2, 5)]).starts_with("r1"), "{recovery:?}");
        }
    }
}

#[test]
fn the_initial_window_is_what_was_asked_for() {
    for window in [1, 2, 4, 10] {
        let (_, sent) = Talk::with(&Params { initial_window: window, ..params(RFC) }, "newreno", RFC);
        assert_eq!(sent.split(' ').count(), window as usize);
    }
    let (mut talk, _) = Talk::with(&Params { max_cwnd: 12, ..params(RFC) }, "newreno", RFC);
    (1..8).for_each(|segment| drop(talk.ack(segment)));
    assert_eq!(talk.window().0, 12.0, "and no wider than the limit");
}

#[test]
fn timestamps_give_a_sample_for_a_retransmission() {
    for timestamps in [true, false] {
        let (mut talk, _) = Talk::with(&Params { timestamps, ..params(RFC) }, "newreno", RFC);
        assert_eq!(talk.timer(), "r0");
        assert_eq!(talk.sender.state().rto, Span::from_secs(2));
        talk.now += Span::from_millis(60);
        let sent = (talk.now.nanos() / 1_000_000) as u32 - 60;
        let header = TcpHeader {
            ack: 1 + SEGMENT,
            window: 1 << 20,
            timestamps: timestamps.then_some((7, sent)),
            flags: TcpFlags { ack: true, ..TcpFlags::default() },
            ..TcpHeader::default()
        };
        talk.receive(header);
        // With them the acknowledgement is known to be of the second copy (RFC 7323 §4); without, Karn's rule forbids a
        // sample.
        assert_eq!(talk.sender.state().rto, Span::from_secs(if timestamps { 1 } else { 2 }), "{timestamps}");
    }
}

#[test]
fn the_timer_restarts_with_every_acknowledgement_of_new_data() {
    let (mut talk, _) = Talk::new(RFC, "newreno");
    let rto = talk.sender.state().rto;
    assert_eq!(talk.sender.deadline(), talk.now + rto, "started by the first segment (RFC 6298 §5.1)");
    talk.after(100).ack(1);
    let restarted = talk.now + talk.sender.state().rto;
    assert_eq!(talk.sender.deadline(), restarted, "§5.3");
    talk.after(50).ack(1);
    assert_eq!(talk.sender.deadline(), restarted, "a duplicate does not restart it");
    talk.sender.stop(talk.now);
    let (_, max, _) = talk.sender.window_edges();
    talk.after(50).ack(max / SEGMENT);
    assert_eq!(talk.sender.deadline(), Time::NEVER, "§5.2: stopped with nothing outstanding");
}

#[test]
fn a_fast_retransmission_restarts_the_timer_only_where_asked() {
    for restarts in [true, false] {
        let params = Params { fast_retransmit_restarts_timer: restarts, ..params(RFC) };
        let (mut talk, _) = Talk::with(&params, "newreno", RFC);
        talk.after(100).ack(1);
        let before = talk.sender.deadline();
        talk.after(30);
        (0..3).for_each(|_| drop(talk.ack(1)));
        let moved = talk.sender.deadline().since(before);
        assert_eq!(moved, Span::from_millis(if restarts { 30 } else { 0 }));
    }
}
