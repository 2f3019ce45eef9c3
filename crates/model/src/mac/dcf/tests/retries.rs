//! Frames that are not answered: how often they are sent again, from which windows, and what is counted.

use super::*;

/// Sends a packet that is never answered until it is given up; the frames, and the slots waited before each but the
/// first.
fn unanswered(bench: &mut Bench, after: u64) -> (Vec<Frame>, Vec<u64>) {
    let (mut frames, mut slots, mut end) = (Vec::new(), Vec::new(), after);
    loop {
        let (at, frame) = bench.next_frame();
        if !frames.is_empty() {
            slots.push((at - end - DIFS) / SLOT);
        }
        frames.push(frame);
        // Two microseconds of propagation, one each way.
        end = bench.serve();
        let answer = if frame.control.kind == FrameKind::Rts { RTS + SIFS + CTS + 2 } else { DATA + SIFS + ACK + 2 };
        assert_eq!(end, at + answer);
        if bench.station.counters.given_up > 0 {
            return (frames, slots);
        }
    }
}

#[test]
fn an_unanswered_frame_is_sent_seven_times_from_wider_and_wider_windows() {
    let mut widest = [0; 6];
    for seed in 0..400 {
        let mut bench = Bench::new(RFC, seed, |_| {});
        let packet = bench.accept(1000, PEER);
        let (frames, slots) = unanswered(&mut bench, 1000);
        assert_eq!(frames.len(), 7);
        for (number, frame) in frames.iter().enumerate() {
            assert_eq!(
                (frame.control.kind, frame.control.retry, frame.control.sequence),
                (FrameKind::Data, number > 0, 0)
            );
        }
        for (widest, slots) in widest.iter_mut().zip(slots) {
            *widest = slots.max(*widest);
        }
        let actions = bench.actions();
        assert_eq!(failed(&actions), Some(packet), "the packet comes back");
        assert_eq!(bench.cx.packets.len(), 1, "and still exists");
        assert!(actions.iter().any(|action| matches!(action, Action::MacReady { .. })));
        assert!(bench.station.held().is_empty());
        // §9.2.5.2: the window is small again, and a back-off follows.
        let now = bench.cx.now.nanos() / 1000;
        bench.accept(now, PEER);
        assert!(bench.slots(now, DIFS) <= 31);
    }
    for (widest, cw) in widest.into_iter().zip([63, 127, 255, 511, 1023, 1023]) {
        assert!(widest <= cw && widest * 10 > cw * 9, "{widest} slots at most, from a window of {cw}");
    }
}

#[test]
fn an_rts_is_sent_seven_times() {
    let mut bench = Bench::new(RFC, 1, |dcf| dcf.rts_threshold = Bytes::new(0));
    let packet = bench.accept(1000, PEER);
    let (frames, _) = unanswered(&mut bench, 1000);
    assert_eq!(frames.iter().filter(|frame| frame.control.kind == FrameKind::Rts).count(), 7);
    assert_eq!(frames.len(), 7);
    assert_eq!(failed(&bench.actions()), Some(packet));
    assert_eq!(bench.station.counters.rts_failures, 7);
}

/// An RTS that is answered by a CTS, after which the data stay without an ACK.
fn answered_by_cts_alone(bench: &mut Bench) {
    let (at, rts) = bench.next_frame();
    assert_eq!(rts.control.kind, FrameKind::Rts);
    bench.hear(at + RTS + SIFS, &control(FrameKind::Cts, PEER, ME, 2 * SIFS + DATA + ACK));
    let (_, frame) = bench.next_frame();
    assert_eq!(frame.control.kind, FrameKind::Data);
    bench.serve();
}

#[test]
fn a_long_frame_is_sent_four_times_each_with_its_rts() {
    let mut bench = Bench::new(RFC, 1, |dcf| dcf.rts_threshold = Bytes::new(0));
    let packet = bench.accept(1000, PEER);
    for attempt in 1..=4 {
        assert_eq!(failed(&bench.actions()), None, "attempt {attempt}");
        answered_by_cts_alone(&mut bench);
    }
    assert_eq!(failed(&bench.actions()), Some(packet));
    assert_eq!((bench.station.counters.ack_failures, bench.station.counters.rts_failures), (4, 0));
}

#[test]
fn the_retry_bit_marks_data_that_were_sent_before() {
    let mut bench = Bench::new(RFC, 1, |dcf| dcf.rts_threshold = Bytes::new(0));
    bench.accept(1000, PEER);
    // Two RTS without a CTS, data without an ACK, and again an RTS without a CTS.
    for (answered, retry) in [(false, None), (false, None), (true, Some(false)), (false, None), (true, Some(true))] {
        let (at, rts) = bench.next_frame();
        assert_eq!((rts.control.kind, rts.control.retry), (FrameKind::Rts, false));
        if answered {
            bench.hear(at + RTS + SIFS, &control(FrameKind::Cts, PEER, ME, 2 * SIFS + DATA + ACK));
            let (_, frame) = bench.next_frame();
            assert_eq!((frame.control.kind, Some(frame.control.retry)), (FrameKind::Data, retry));
        }
        bench.serve();
    }
}

#[test]
fn failures_are_counted_for_each_packet_but_for_ns2() {
    for (profile, expected) in [(RFC, 4), (NS2, 1)] {
        let mut bench = Bench::new(profile, 1, |dcf| {
            dcf.rts_threshold = Bytes::new(0);
            dcf.header = Bytes::new(36);
            dcf.max_propagation = Span::from_micros(1);
        });
        bench.accept(1000, PEER);
        (0..3).for_each(|_| answered_by_cts_alone(&mut bench));
        let at = bench.cx.now.nanos() / 1000;
        let (frames, _) = unanswered(&mut bench, at);
        assert_eq!(frames.len(), 7, "the RTS is given up in {profile}");
        bench.actions();
        let at = bench.cx.now.nanos() / 1000;
        let second = bench.accept(at, PEER);
        let mut attempts = 0;
        while failed(&bench.actions()).is_none() {
            answered_by_cts_alone(&mut bench);
            attempts += 1;
        }
        assert_eq!(attempts, expected, "{profile}");
        assert!(bench.cx.packets.iter().any(|(id, _)| id == second));
    }
}

#[test]
fn no_backoff_follows_a_packet_that_ns2_gives_up() {
    let unused = |profile: &str| {
        let mut bench = Bench::new(profile, 1, |dcf| {
            dcf.rts_threshold = Bytes::new(3000);
            (dcf.header, dcf.max_propagation) = (Bytes::new(36), Span::from_micros(1));
        });
        bench.accept(1000, PEER);
        unanswered(&mut bench, 1000);
        bench.station.deadline(&bench.timing) == Time::NEVER
    };
    assert!(!unused(RFC) && unused(NS2));
}
