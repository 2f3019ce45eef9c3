//! RFC 6675: where a recovery begins, and when the last segment is sent again.

use super::*;

fn talk(recovery: RecoveryChoice) -> Talk {
    let (talk, sent) = Talk::with(&Params { recovery, ..params(RFC) }, "sack", RFC);
    assert_eq!(sent, "0 1 2 3 4 5 6 7 8 9");
    talk
}

#[test]
fn the_first_segment_behind_a_recovery_is_repaired_without_a_timeout() {
    for recovery in [RecoveryChoice::Sack, RecoveryChoice::Rack] {
        let mut talk = talk(recovery);
        // Segment 1 is lost, and the recovery ends with all below 14 acknowledged.
        talk.after(100).ack(1);
        let sent: Vec<String> = (3..=11).map(|to| talk.sack(1, &[(2, to)])).collect();
        assert_eq!(sent.concat().matches('r').count(), 1, "{recovery:?}: {sent:?}");
        assert!(sent.concat().contains("14"), "new data follows: {sent:?}");
        // Segment 14, the first that went out in the recovery, is lost too.
        talk.after(100).ack(14);
        talk.after(100);
        let sent: Vec<String> = (16..=19).map(|to| talk.sack(14, &[(15, to)])).collect();
        assert!(sent.concat().contains("r14"), "{recovery:?}: {sent:?}");
        assert_eq!(talk.sender.counters().timeouts, 0, "{recovery:?}");
    }
}

#[test]
fn the_last_segment_is_not_sent_again_before_the_first_retransmission_is_answered() {
    for window in [10, 20] {
        let params = Params { window, initial_window: window, ..params(RFC) };
        let (mut talk, _) = Talk::with(&params, "sack", RFC);
        talk.after(100);
        let to = u64::from(window);
        let sent: Vec<String> = (2..=to).map(|to| talk.sack(0, &[(1, to)])).filter(|sent| !sent.is_empty()).collect();
        assert_eq!(
            sent,
            ["r0"],
            "the receiver's window lets no new data out, and all that was sent is there or on its way"
        );
        assert_eq!(talk.after(100).ack(to).matches('r').count(), 0);
    }
}

/// RFC 6675 §4, rule (4) of NextSeg: once in each recovery, when more than the first retransmission has been
/// acknowledged.
#[test]
fn the_last_segment_is_sent_again_once_when_nothing_else_is_left() {
    let mut talk = talk(RecoveryChoice::Sack);
    talk.sender.stop(talk.now);
    // 1, 8 and 9 are lost.
    talk.after(100).ack(1);
    let sent: Vec<String> = (3..=8).map(|to| talk.sack(1, &[(2, to)])).filter(|sent| !sent.is_empty()).collect();
    assert_eq!(sent, ["r1"]);
    assert_eq!(talk.after(100).ack(8), "r9", "the rescue");
    assert_eq!(talk.after(100).sack(8, &[(9, 10)]), "r8", "a hole below what is reported");
    assert_eq!(talk.after(100).ack(10), "");
    assert!(talk.sender.is_finished());
    assert_eq!(talk.sender.counters().timeouts, 0);
}

/// Step (3) of RFC 6675 §5 allows two new segments here: cwnd is 11 segments, and the pipe 9.
#[test]
fn a_duplicate_that_reports_two_segments_allows_one_new_segment() {
    let mut talk = talk(RecoveryChoice::Sack);
    assert_eq!(talk.after(100).ack(1), "10 11");
    assert_eq!(talk.sack(1, &[(2, 4)]), "12");
    assert_eq!((talk.window().0, talk.sender.state().flight / SEGMENT), (11.0, 12));
}

/// RFC 6675 §2: an acknowledgement that moves on and reports something new counts as a duplicate one too.
#[test]
fn an_acknowledgement_that_moves_on_may_show_a_loss() {
    let mut talk = talk(RecoveryChoice::Sack);
    // 3 is lost, and so are the acknowledgements until all above it has arrived: nothing further can come.
    let sent = talk.after(100).sack(3, &[(4, 10)]);
    assert!(sent.starts_with("r3"), "IsLost holds for the first segment: {sent:?}");
    assert_eq!(talk.sender.counters().fast_retransmits, 1);
}

#[test]
fn an_acknowledgement_that_moves_on_is_the_first_duplicate() {
    let mut talk = talk(RecoveryChoice::Sack);
    // As of a receiver that delays acknowledgements, when segment 4 comes before segment 3.
    talk.after(100).sack(3, &[(4, 5)]);
    assert_eq!(talk.sender.state().duplicate_acks, 1);
    assert!(!talk.sack(3, &[(4, 6)]).contains('r'));
    assert_eq!(talk.sender.state().duplicate_acks, 2);
    assert!(talk.sack(3, &[(4, 7)]).starts_with("r3"));
    assert_eq!(talk.sender.counters().fast_retransmits, 1);
}

/// RFC 6675 §5.1: after a timeout not before all that had been sent then is acknowledged.
#[test]
fn an_acknowledgement_that_moves_on_begins_no_recovery_after_a_timeout() {
    let mut talk = talk(RecoveryChoice::Sack);
    assert_eq!(talk.timer(), "r0");
    let sent = talk.after(100).sack(3, &[(4, 10)]);
    assert_eq!(talk.sender.counters().fast_retransmits, 0, "{sent:?}");
    assert!(sent.starts_with("r3"), "going back reaches it: {sent:?}");
}

/// RFC 2883 §4.2.3: of two parts of a segment that had arrived, the first is reported, whichever came last.
#[test]
fn the_first_of_two_duplicate_parts_is_reported() {
    let every = acking::Config::of_profile("every", RFC).expect("a policy");
    let mut receiver = TcpReceiver::new(&every, &Params { connect: Connect::None, ..params(RFC) }, true);
    let mut give = |seq, len| {
        receiver.on_segment(&TcpHeader { seq, len, ..TcpHeader::default() }, Time::ZERO);
        let ack = receiver.poll_transmit(Time::ZERO).expect("every segment is acknowledged");
        (ack.ack, ack.sack.iter().collect::<Vec<_>>())
    };
    assert_eq!(give(1000, 1000), (0, vec![(1000, 2000)]));
    assert_eq!(give(3000, 1000), (0, vec![(3000, 4000), (1000, 2000)]));
    assert_eq!(give(6000, 1000), (0, vec![(6000, 7000), (3000, 4000), (1000, 2000)]));
    assert_eq!(give(0, 5000), (5000, vec![(1000, 2000), (6000, 7000)]));
}

/// RFC 5681 §4.2: a segment that fills a gap is acknowledged at once, also when it reaches the end of what had arrived.
#[test]
fn a_segment_that_fills_the_last_gap_to_its_end_is_acknowledged_at_once() {
    let delayed = acking::Config::of_profile("delayed", RFC).expect("a policy");
    let mut receiver = TcpReceiver::new(&delayed, &Params { connect: Connect::None, ..params(RFC) }, true);
    let mut give = |seq, len| {
        receiver.on_segment(&TcpHeader { seq, len, ..TcpHeader::default() }, Time::ZERO);
        receiver.poll_transmit(Time::ZERO).map(|ack| (ack.ack, ack.sack.iter().collect::<Vec<_>>()))
    };
    assert_eq!(give(1000, 1000), Some((0, vec![(1000, 2000)])));
    assert_eq!(give(0, 2000), Some((2000, vec![(1000, 2000)])), "with the part that came twice");
    assert_eq!(give(2000, 1000), None, "in order");
}

#[test]
fn what_is_reported_does_not_count_for_the_threshold_of_a_timeout() {
    for recovery in [RecoveryChoice::Sack, RecoveryChoice::Rack] {
        let mut talk = talk(recovery);
        // Segment 1 is lost, and lost again, while new data goes on for the window of the reduction.
        talk.after(100).ack(1);
        (3..=30).for_each(|to| drop(talk.sack(1, &[(2, to)])));
        let window = talk.window().1;
        talk.timer();
        assert_eq!((talk.sender.counters().timeouts, talk.window()), (1, (1.0, window / 2.0)), "{recovery:?}");
    }
}
