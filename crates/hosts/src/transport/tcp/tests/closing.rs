//! How a connection closes (RFC 9293 §3.6), from the view of each end.

use super::*;
use crate::params::LINUX;
use crate::transport::tcp::{Close, Connection};

const FIN: TcpFlags = TcpFlags { syn: false, ack: true, fin: true, rst: false, psh: false, ece: false, cwr: false };

impl Talk {
    /// The receiver's FIN, which acknowledges all below `ack`.
    fn fin(&mut self, ack: u64) -> String {
        self.receive(TcpHeader { seq: 1, ack, window: 1 << 20, flags: FIN, ..TcpHeader::default() })
    }
}

/// A connection with 2500 bytes that is closed at once, opened and all sent: the last segment carries the FIN.
fn short(variant: &str) -> Talk {
    let config = Config::of_profile(variant, RFC).expect("a variant");
    let control = Controller::new(&config, Streams::new(1, 0).stream("rule"));
    let mut sender = TcpSender::with_control(&params(RFC), control, Streams::new(1, 0).stream("talk"));
    assert_eq!(sender.connection(), Connection::Closed);
    sender.write(2500, Time::ZERO);
    sender.close(Time::ZERO);
    let mut talk = Talk { sender, now: Time::ZERO, origin: 1 };
    assert_eq!(talk.drain(), "syn");
    assert_eq!(talk.sender.connection(), Connection::SynSent);
    let flags = TcpFlags { syn: true, ack: true, ..TcpFlags::default() };
    let sent = talk.after(100).receive(TcpHeader { ack: 1, window: 1 << 20, flags, ..TcpHeader::default() });
    assert_eq!(sent, "0 1 2fin");
    talk
}

#[test]
fn both_halves_close() {
    let mut talk = short("newreno");
    assert_eq!(talk.sender.connection(), Connection::FinWait1);
    talk.after(100).ack(2);
    assert!(!talk.sender.is_finished());
    // The FIN has number 2501.
    let flags = TcpFlags { ack: true, ..TcpFlags::default() };
    assert_eq!(talk.receive(TcpHeader { ack: 2502, window: 1 << 20, flags, ..TcpHeader::default() }), "");
    assert_eq!((talk.sender.connection(), talk.sender.is_finished()), (Connection::FinWait2, false));
    assert_eq!(talk.sender.deadline(), Time::NEVER);
    assert_eq!(talk.fin(2502), "ack2", "the receiver's FIN has number 1");
    assert_eq!((talk.sender.connection(), talk.sender.is_finished()), (Connection::TimeWait, true));
    assert_eq!(talk.fin(2502), "ack2", "the acknowledgement was lost");
    assert_eq!(talk.sender.counters().duplicate_acks, 0);
}

#[test]
fn a_fin_may_acknowledge_another() {
    let mut talk = short("sack");
    assert_eq!(talk.after(100).fin(2502), "ack2");
    assert_eq!(talk.sender.connection(), Connection::TimeWait);
}

#[test]
fn a_lost_fin_is_sent_again() {
    for variant in ["tahoe", "newreno", "sack", "vegas"] {
        let mut talk = short(variant);
        talk.after(100).ack(2);
        assert_eq!(talk.timer(), "r2fin", "{variant}");
        assert_eq!(talk.after(100).fin(2502), "ack2", "{variant}");
        assert!(talk.sender.is_finished(), "{variant}");
    }
}

#[test]
fn a_fin_alone_follows_data_that_is_out() {
    let (mut talk, _) = Talk::new(RFC, "newreno");
    talk.sender.stop(talk.now);
    assert_eq!(talk.drain(), "");
    talk.sender.close(talk.now);
    assert_eq!(talk.drain(), "fin", "though the window is full: it takes no room");
    talk.after(100).ack(10);
    assert_eq!(talk.timer(), "rfin");
    let counters = talk.sender.counters();
    assert_eq!((counters.segments, counters.retransmitted_segments), (10, 0), "a FIN is no payload");
}

/// Linux sets PSH in the last data that was written, and not in a FIN that follows it alone.
#[test]
fn a_fin_alone_has_no_psh() {
    let (mut talk, _) = Talk::with(&as_linux::linux(false), "newreno", LINUX);
    talk.sender.stop(talk.now);
    assert_eq!(talk.after(100).ack(10), "");
    talk.sender.close(talk.now);
    let fin = talk.sender.poll_transmit(talk.now).expect("a FIN").flags;
    assert_eq!(fin, FIN);
}

#[test]
fn without_a_close_nothing_more_is_sent() {
    let (mut talk, _) = Talk::with(&Params { close: Close::None, ..params(RFC) }, "newreno", RFC);
    talk.sender.stop(talk.now);
    talk.sender.close(talk.now);
    assert_eq!(talk.drain(), "");
    talk.after(100).ack(10);
    assert_eq!((talk.sender.is_finished(), talk.sender.connection()), (true, Connection::Established));
}

/// A receiver that has received two segments; the second carries the FIN.
fn closed(first: u64, second: u64) -> TcpReceiver {
    let mut receiver = receiver("delayed", RFC, true);
    for segment in [first, second] {
        let flags = TcpFlags { ack: true, fin: segment == 1, ..TcpFlags::default() };
        let header = TcpHeader { seq: segment * SEGMENT, len: SEGMENT as u32, flags, ..TcpHeader::default() };
        receiver.on_segment(&header, Time::ZERO);
    }
    receiver
}

#[test]
fn the_receiver_acknowledges_the_fin_and_closes_its_half() {
    let mut receiver = closed(0, 1);
    let answer = receiver.poll_transmit(Time::ZERO).expect("at once");
    assert_eq!((answer.ack, answer.seq, answer.flags.fin), (2 * SEGMENT + 1, 0, true));
    assert_eq!(receiver.connection(), Connection::LastAck);
    assert_eq!((receiver.counters().delivered_bytes, receiver.counters().unique_bytes), (2 * SEGMENT, 2 * SEGMENT));

    // Its FIN is lost twice.
    let mut now = Time::ZERO;
    for wait in [1, 2] {
        assert_eq!(receiver.deadline(), now + Span::from_secs(wait));
        now = receiver.deadline();
        receiver.on_timer(now);
        let again = receiver.poll_transmit(now).expect("again");
        assert_eq!((again.seq, again.flags.fin), (0, true));
    }
    // The answer to a duplicate of the sender's FIN is an acknowledgement with the number after the receiver's own FIN.
    let flags = TcpFlags { ack: true, fin: true, ..TcpFlags::default() };
    let copy = TcpHeader { seq: SEGMENT, len: SEGMENT as u32, flags, ..TcpHeader::default() };
    receiver.on_segment(&copy, now);
    let answer = receiver.poll_transmit(now).expect("at once");
    assert_eq!((answer.seq, answer.flags.fin), (1, false));
    assert_eq!(receiver.counters().duplicate_segments, 1);

    let flags = TcpFlags { ack: true, ..TcpFlags::default() };
    receiver.on_segment(&TcpHeader { seq: 2 * SEGMENT + 1, ack: 1, flags, ..TcpHeader::default() }, now);
    assert_eq!((receiver.connection(), receiver.deadline()), (Connection::Closed, Time::NEVER));
    assert!(receiver.poll_transmit(now).is_none());
}

#[test]
fn a_fin_beyond_a_gap_waits() {
    let mut receiver = closed(1, 1);
    let answer = receiver.poll_transmit(Time::ZERO).expect("at once");
    assert!(!answer.flags.fin);
    assert_eq!(answer.sack.iter().last(), Some((SEGMENT, 2 * SEGMENT + 1)), "the block holds the FIN's number");
    assert_eq!(receiver.connection(), Connection::Established);
    let header = TcpHeader { seq: 0, len: SEGMENT as u32, ..TcpHeader::default() };
    receiver.on_segment(&header, Time::ZERO);
    let answer = receiver.poll_transmit(Time::ZERO).expect("at once");
    assert_eq!((answer.ack, answer.flags.fin), (2 * SEGMENT + 1, true));
    assert_eq!(receiver.counters().delivered_bytes, 2 * SEGMENT);
}

#[test]
fn a_segment_without_ack_is_dropped() {
    let every = acking::Config::of_profile("every", RFC).expect("a policy");
    let mut receiver = TcpReceiver::new(&every, &params(RFC), false);
    let flags = |syn, ack| TcpFlags { syn, ack, ..TcpFlags::default() };
    let mut give = |seq, len, flags| {
        receiver.on_segment(&TcpHeader { seq, len, flags, ..TcpHeader::default() }, Time::ZERO);
        receiver.poll_transmit(Time::ZERO).map(|ack| ack.ack)
    };
    assert_eq!(give(0, 0, flags(true, false)), Some(1), "a SYN");
    assert_eq!(give(1, 1000, flags(false, false)), None);
    assert_eq!(give(1, 1000, flags(false, true)), Some(1001));
}

/// RFC 9293 §3.10.7.4, fifth.
#[test]
fn a_segment_that_acknowledges_what_was_never_sent_is_answered_and_dropped() {
    let acking = acking::Config::of_profile("every", RFC).expect("a policy");
    let mut receiver = TcpReceiver::new(&acking, &params(RFC), false);
    let mut receive = |header: TcpHeader| {
        receiver.on_segment(&header, Time::ZERO);
        let answer = receiver.poll_transmit(Time::ZERO).map(|answer| answer.ack);
        (answer, receiver.counters().invalid_acks)
    };
    let syn = TcpFlags { syn: true, ..TcpFlags::default() };
    assert_eq!(receive(TcpHeader { flags: syn, ..TcpHeader::default() }), (Some(1), 0));
    let flags = TcpFlags { ack: true, ..TcpFlags::default() };
    let data = TcpHeader { seq: 1, len: 1000, flags, ..TcpHeader::default() };
    // It has sent its SYN, with number 0.
    assert_eq!(receive(TcpHeader { ack: 2, ..data }), (Some(1), 1));
    assert_eq!(receive(TcpHeader { ack: 1, ..data }), (Some(1001), 1));
}
