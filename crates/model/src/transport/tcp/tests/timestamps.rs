//! Which timestamp the receiver echoes (RFC 7323 §4.3 and §5.3).

use super::*;

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
fn a_copy_that_was_sent_later_does_not_move_the_echo() {
    let mut receiver = receiver("every", RFC, true);
    assert_eq!(give_at(&mut receiver, 0, 10), Some((1, 10)));
    assert_eq!(give_at(&mut receiver, 1, 11), Some((2, 11)));
    // Both were sent again after a timeout in vain: the first acknowledgement shows that it answers the original.
    assert_eq!(give_at(&mut receiver, 0, 1000), Some((2, 11)));
    assert_eq!(give_at(&mut receiver, 1, 1001), Some((2, 11)));
    assert_eq!(give_at(&mut receiver, 2, 1002), Some((3, 1002)));
}
