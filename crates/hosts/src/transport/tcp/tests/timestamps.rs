//! Which timestamp the receiver echoes (RFC 7323 §4.3 and §5.3), and the round trips that result from it.

use super::*;
use crate::transport::tcp::EchoCopies;

/// A receiver that acknowledges each segment at once.
fn receiver_of(params: &Params) -> TcpReceiver {
    TcpReceiver::new(&acking::Config::of_profile("every", RFC).expect("a policy"), params, false)
}

/// Gives a segment with this timestamp to a receiver, and returns acknowledgement and echo if it answers.
fn give_at(receiver: &mut TcpReceiver, segment: u64, value: u32) -> Option<(u64, u32)> {
    let timestamps = Some((value, 0));
    let header = TcpHeader { seq: segment * SEGMENT, len: SEGMENT as u32, timestamps, ..TcpHeader::default() };
    receiver.on_segment(&header, Time::ZERO);
    let ack = receiver.poll_transmit(Time::ZERO)?;
    Some((ack.ack / SEGMENT, ack.timestamps.expect("an echo").1))
}

#[test]
fn a_late_copy_does_not_take_the_echo_back() {
    let mut receiver = receiver("delayed", RFC, true);
    assert_eq!(give_at(&mut receiver, 0, 12), None);
    assert_eq!(give_at(&mut receiver, 1, 13), Some((2, 12)), "that of the first segment not acknowledged");
    // An acknowledgement of segment 2 waits when an old copy of segment 0 comes.
    assert_eq!(give_at(&mut receiver, 2, 5000), None);
    assert_eq!(give_at(&mut receiver, 0, 12), Some((3, 5000)));
}

#[test]
fn timestamps_wrap() {
    let mut receiver = receiver("every", RFC, true);
    assert_eq!(give_at(&mut receiver, 0, u32::MAX - 1), Some((1, u32::MAX - 1)));
    assert_eq!(give_at(&mut receiver, 1, 3), Some((2, 3)));
}

#[test]
fn a_segment_beyond_a_gap_does_not_move_the_echo_and_the_one_that_fills_it_does() {
    let mut receiver = receiver("every", RFC, true);
    assert_eq!(give_at(&mut receiver, 0, 10), Some((1, 10)));
    assert_eq!(give_at(&mut receiver, 2, 30), Some((1, 10)));
    assert_eq!(give_at(&mut receiver, 1, 40), Some((3, 40)));
}

#[test]
fn which_copies_set_the_echo() {
    for (copies, further_back, of_the_last) in
        [(EchoCopies::All, 1000, 1001), (EchoCopies::Last, 11, 1001), (EchoCopies::None, 11, 11)]
    {
        let mut receiver = receiver_of(&Params { connect: Connect::None, echo_copies: copies, ..params(RFC) });
        assert_eq!(give_at(&mut receiver, 0, 10), Some((1, 10)));
        assert_eq!(give_at(&mut receiver, 1, 11), Some((2, 11)));
        // Both were sent again after a timeout, because the acknowledgements were lost.
        assert_eq!(give_at(&mut receiver, 0, 1000), Some((2, further_back)), "{copies:?}");
        assert_eq!(give_at(&mut receiver, 1, 1001), Some((2, of_the_last)), "{copies:?}");
        assert_eq!(give_at(&mut receiver, 1, 500), Some((2, of_the_last)), "{copies:?}: it never goes back");
        assert_eq!(give_at(&mut receiver, 2, 1002), Some((3, 1002)), "{copies:?}");
    }
}

/// The sender's timeout and smoothed round trip after an outage. Data with a round trip of 100 ms fills this window.
/// The last window arrives, but all its acknowledgements are lost. Then nothing passes for `outage`.
fn after_an_outage(window: u32, outage: Span, copies: EchoCopies) -> (Span, Span) {
    let params = Params { window, timestamps: true, echo_copies: copies, ..params(RFC) };
    let config = Config::of_profile("newreno", RFC).expect("a variant");
    let control = Controller::new(&config, Streams::new(1, 0).stream("rule"));
    let mut sender = TcpSender::with_control(&params, control, Streams::new(1, 0).stream("talk"));
    let mut receiver = receiver_of(&params);
    let half = Span::from_millis(50);
    let arrive = |receiver: &mut TcpReceiver, header: &TcpHeader, now: Time| {
        receiver.on_segment(header, now + half);
        receiver.poll_transmit(now + half).expect("each segment is acknowledged")
    };
    let drain = |sender: &mut TcpSender, now| std::iter::from_fn(|| sender.poll_transmit(now)).collect::<Vec<_>>();
    let mut now = Time::ZERO;
    sender.write(u64::MAX, now);
    let mut flying = drain(&mut sender, now);
    for _ in 0..8 {
        let acks: Vec<_> = flying.iter().map(|header| arrive(&mut receiver, header, now)).collect();
        now += half * 2;
        flying.clear();
        for ack in acks {
            sender.on_segment(&ack, now);
            flying.extend(drain(&mut sender, now));
        }
    }
    assert_eq!((flying.len() as u32, sender.state().rto), (window, Span::from_secs(1)));
    for header in flying {
        arrive(&mut receiver, &header, now);
    }
    let end = now + outage;
    loop {
        now = sender.deadline();
        sender.on_timer(now);
        let header = sender.poll_transmit(now).expect("the first segment again");
        if now >= end {
            let ack = arrive(&mut receiver, &header, now);
            sender.on_segment(&ack, now + half * 2);
            let state = sender.state();
            assert_eq!(state.flight, 0, "the acknowledgement covers everything");
            return (state.rto, state.srtt.expect("samples"));
        }
    }
}

/// RFC 7323 §4.3: the acknowledgement of a retransmission echoes the time of the retransmission if the acknowledgements
/// before it were lost.
#[test]
fn an_outage_with_lost_acknowledgements_is_not_a_round_trip() {
    for window in [1, 44] {
        for outage in [7, 31] {
            let (rto, srtt) =
                after_an_outage(window, Span::from_secs(outage) - Span::from_millis(500), EchoCopies::All);
            assert_eq!((rto, srtt), (Span::from_secs(1), Span::from_millis(100)), "window {window}, {outage} s");
        }
    }
}

/// Linux 6.18 on such a path, with an outage of 9.8 s. Its timeout of 0.3 s does not change if the window is one
/// segment, and becomes 11.1 s if the window is 44 segments.
#[test]
fn if_a_copy_does_not_set_the_echo_the_sample_is_as_long_as_the_outage() {
    let rto = |window, copies| after_an_outage(window, Span::from_millis(30_500), copies).0.seconds();
    for (window, copies, expected) in [
        (1, EchoCopies::Last, 1.0),
        (44, EchoCopies::Last, 35.0),
        (1, EchoCopies::None, 35.0),
        (44, EchoCopies::None, 35.0),
    ] {
        let rto = rto(window, copies);
        assert!((rto - expected).abs() < 0.5, "{copies:?}, window {window}: {rto} s");
    }
}
