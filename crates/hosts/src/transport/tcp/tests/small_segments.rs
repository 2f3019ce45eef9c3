//! Nagle's rule, silly windows, and a receiver's window that is small or closes.

use hopyard_engine::units::Rate;

use super::as_linux::linux;
use super::*;
use crate::transport::tcp::Reader;

/// A connection that is open and idle.
fn idle(params: &Params) -> Talk {
    let (mut talk, _) = Talk::with(params, "newreno", RFC);
    talk.sender.stop(talk.now);
    let (_, max, _) = talk.sender.window_edges();
    talk.after(100).ack(max / SEGMENT);
    talk
}

#[test]
fn small_writes_wait_for_an_acknowledgement() {
    for (nagle, at_once) in [(true, 1), (false, 4)] {
        let mut talk = idle(&Params { nagle, ..params(RFC) });
        let mut sent = 0;
        for _ in 0..4 {
            talk.sender.write(100, talk.now);
            sent += talk.drain().split_whitespace().count();
        }
        assert_eq!(sent, at_once);
        let (_, max, _) = talk.sender.window_edges();
        let flags = TcpFlags { ack: true, ..TcpFlags::default() };
        let rest = talk.after(100).receive(TcpHeader { ack: max, window: 1 << 20, flags, ..TcpHeader::default() });
        assert_eq!(rest.split_whitespace().count(), usize::from(nagle), "the other three in one segment");
        assert_eq!(talk.sender.counters().bytes, 10 * SEGMENT + 400);
    }
}

#[test]
fn the_last_segment_does_not_wait() {
    let mut talk = idle(&params(RFC));
    talk.sender.write(1100, talk.now);
    assert_eq!(talk.drain(), "10", "100 bytes wait");
    talk.sender.close(talk.now);
    assert_eq!(talk.drain(), "11fin");
}

#[test]
fn in_linux_a_small_segment_waits_for_another_small_one_alone() {
    for (params, first, bytes) in [(params(RFC), "10", 1000), (linux(false), "10 11", 1500)] {
        let mut talk = idle(&params);
        let before = talk.sender.counters().bytes;
        talk.sender.write(1500, talk.now);
        assert_eq!(talk.drain(), first);
        talk.sender.write(100, talk.now);
        assert_eq!((talk.drain().as_str(), talk.sender.counters().bytes), ("", before + bytes));
    }
}

#[test]
fn a_probe_sends_the_data_that_waits() {
    for params in [Params { recovery: RecoveryChoice::Rack, ..params(RFC) }, linux(false)] {
        let mut talk = idle(&params);
        for sent in ["10", ""] {
            talk.sender.write(100, talk.now);
            assert_eq!(talk.drain(), sent);
        }
        let before = talk.sender.counters().bytes;
        talk.timer();
        let counters = talk.sender.counters();
        assert_eq!((counters.tail_loss_probes, counters.retransmitted_segments, counters.timeouts), (1, 0, 0));
        assert_eq!(counters.bytes, before + 100);
    }
}

#[test]
fn after_a_timeout_the_data_that_waits_shows_whether_it_was_spurious() {
    let mut talk = idle(&Params { tail_loss_probe: false, ..linux(false) });
    talk.sender.write(2100, talk.now);
    assert_eq!(talk.drain(), "10 11 12");
    talk.sender.write(100, talk.now);
    assert_eq!(talk.drain(), "");
    assert_eq!(talk.timer(), "r10");
    let before = talk.sender.counters().bytes;
    let answer = talk.after(100).ack(11);
    assert!(!answer.contains('r'), "{answer}");
    assert_eq!(talk.sender.counters().bytes, before + 100);
}

/// The receiver announces this many bytes.
fn window(talk: &mut Talk, bytes: u32) -> String {
    let (_, max, _) = talk.sender.window_edges();
    let flags = TcpFlags { ack: true, ..TcpFlags::default() };
    talk.receive(TcpHeader { ack: max, window: bytes, flags, ..TcpHeader::default() })
}

/// Ten segments out, and a receiver's window that has room for no more than these.
fn full() -> Talk {
    let params = Params { window: 10, ..params(RFC) };
    let (mut talk, sent) = Talk::with(&params, "newreno", RFC);
    assert_eq!(sent, "0 1 2 3 4 5 6 7 8 9");
    assert_eq!(window(talk.after(100), 0), "", "acknowledged, and not read");
    talk
}

#[test]
fn a_closed_window_is_probed() {
    let mut talk = full();
    let cwnd = talk.window();
    let mut waits = Vec::new();
    for probe in 1..=4 {
        let before = talk.now;
        assert_eq!(talk.timer(), "ack1", "a segment without payload");
        waits.push(talk.now.since(before).seconds());
        assert_eq!(talk.sender.counters().window_probes, probe);
        assert_eq!(window(&mut talk, 0), "");
    }
    assert_eq!(waits, [1.0, 2.0, 4.0, 8.0]);
    assert_eq!((talk.sender.counters().timeouts, talk.window()), (0, cwnd), "no loss");
    assert_eq!(window(&mut talk, 3000), "10 11 12");
    assert_eq!(talk.sender.deadline(), talk.now + talk.sender.state().rto, "the retransmission timer again");
}

#[test]
fn a_silly_window_is_not_filled() {
    let mut talk = full();
    assert_eq!(window(&mut talk, 900), "", "less than a segment");
    assert_eq!(window(&mut talk, 1900), "10", "one segment, not one and a piece");
}

#[test]
fn half_of_a_small_window_is_filled() {
    let (mut talk, sent) = Talk::with(&Params { window: 1, ..params(RFC) }, "newreno", RFC);
    assert_eq!(sent, "0");
    assert_eq!(window(talk.after(100), 400), "");
    assert_eq!(window(&mut talk, 500), "1", "RFC 9293 §3.8.6.2.1 (3)");
    assert_eq!(talk.sender.counters().bytes, SEGMENT + 500);
}

/// The answer to the SYN announces less than the sender's own parameter.
#[test]
fn the_answer_to_the_syn_announces_the_window() {
    let params = Params { window: 10, ..params(RFC) };
    for (announced, sent) in [(3000, "0 1 2"), (700, "0"), (0, "")] {
        let config = Config::of_profile("newreno", RFC).expect("a variant");
        let control = Controller::new(&config, Streams::new(1, 0).stream("rule"));
        let mut sender = TcpSender::with_control(&params, control, Streams::new(1, 0).stream("talk"));
        sender.write(5500, Time::ZERO);
        let mut talk = Talk { sender, now: Time::ZERO, origin: 1 };
        assert_eq!(talk.drain(), "syn");
        let flags = TcpFlags { syn: true, ack: true, ..TcpFlags::default() };
        let answer = TcpHeader { ack: 1, window: announced, flags, ..TcpHeader::default() };
        // 700 bytes are the largest window so far, so a part of a segment is sent.
        assert_eq!(talk.after(100).receive(answer), sent, "{announced}");
        assert_eq!(talk.sender.window_edges(), (1, 1 + u64::from(announced), u64::from(announced)));
        if announced == 0 {
            assert_eq!(talk.timer(), "ack1", "the closed window is probed");
        }
    }
}

#[test]
fn an_announcement_is_no_duplicate() {
    let (mut talk, _) = Talk::with(&Params { window: 12, ..params(RFC) }, "newreno", RFC);
    let flags = TcpFlags { ack: true, ..TcpFlags::default() };
    let mut announce = |ack, window| talk.receive(TcpHeader { ack, window, flags, ..TcpHeader::default() });
    (0..2).for_each(|_| drop(announce(1, 11_000)));
    assert_eq!(talk.sender.counters().duplicate_acks, 1, "the first has moved the edge");
}

/// RFC 9293 §3.8.6: a receiver that takes back what it has announced.
#[test]
fn a_window_may_shrink() {
    let (mut talk, sent) = Talk::with(&Params { window: 20, ..params(RFC) }, "newreno", RFC);
    assert_eq!(sent, "0 1 2 3 4 5 6 7 8 9");
    let flags = TcpFlags { ack: true, ..TcpFlags::default() };
    let header = |ack, window| TcpHeader { ack, window, flags, ..TcpHeader::default() };
    assert_eq!(talk.after(100).receive(header(2001, 4000)), "", "8 are outstanding, and 4 fit");
    assert_eq!(talk.sender.window_edges(), (2001, 10_001, 4000));
    assert_eq!(talk.receive(header(1001, 20_000)), "", "an older acknowledgement does not count");
    assert_eq!(talk.sender.window_edges().2, 4000);
    assert_eq!(talk.receive(header(2001, 0)), "");
    assert_eq!(talk.timer(), "r2", "what was sent is sent again");
    assert_eq!(talk.after(100).receive(header(10_001, 0)), "");
    assert_eq!(talk.timer(), "ack1", "the closed window is probed");
    assert!(talk.after(100).receive(header(10_001, 3000)).starts_with("10 "));
}

#[test]
fn a_slow_reader_limits_the_flow() {
    // 8000 bytes a second into a buffer of four segments.
    let params =
        Params { connect: Connect::None, window: 4, reader: Reader::Steady(Rate::from_bps(64_000)), ..params(RFC) };
    let config = acking::Config::of_profile("every", RFC).expect("a policy");
    let mut receiver = TcpReceiver::new(&config, &params, false);
    let mut windows = Vec::new();
    for segment in 0..4 {
        let header = TcpHeader { seq: segment * SEGMENT, len: SEGMENT as u32, ..TcpHeader::default() };
        receiver.on_segment(&header, Time::ZERO);
        windows.push(receiver.poll_transmit(Time::ZERO).expect("every segment").window);
    }
    assert_eq!(windows, [3000, 2000, 1000, 0]);
    // A segment beyond the window is thrown away and answered.
    let header = TcpHeader { seq: 4 * SEGMENT, len: SEGMENT as u32, ..TcpHeader::default() };
    receiver.on_segment(&header, Time::ZERO);
    assert_eq!(receiver.poll_transmit(Time::ZERO).map(|ack| ack.ack), Some(4 * SEGMENT));
    assert_eq!(receiver.counters().beyond_window, 1);
    // So is a probe.
    receiver.on_segment(&TcpHeader { seq: 4 * SEGMENT - 1, ..TcpHeader::default() }, Time::ZERO);
    assert_eq!(receiver.poll_transmit(Time::ZERO).map(|ack| ack.window), Some(0));
    // After an eighth of a second a segment has been read.
    assert_eq!(receiver.deadline(), Time::ZERO + Span::from_millis(125));
    let now = receiver.deadline();
    receiver.on_timer(now);
    assert_eq!(receiver.poll_transmit(now).map(|ack| (ack.ack, ack.window)), Some((4 * SEGMENT, 1000)));
    assert_eq!(receiver.deadline(), Time::NEVER);
}
