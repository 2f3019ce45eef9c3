//! A sender as in Linux, with segments that have not left its node, and during a long opening.

use super::*;
use crate::params::LINUX;
use crate::transport::connection::milliseconds;

fn at_once() -> Params {
    as_linux::with(|it| it.small_queues = true)
}

/// Segments 0 and 1 are outstanding; the opening took 100 ms.
fn two_outstanding(params: &Params, queued: bool) -> Talk {
    let (mut talk, sent) = Talk::with(&Params { initial_window: 2, ..params.clone() }, "newreno", LINUX);
    assert_eq!(sent, "0 1");
    if queued {
        [0, 1].iter().for_each(|segment| talk.queued(*segment));
    }
    talk
}

impl Talk {
    fn queued(&mut self, segment: u64) {
        self.sender.on_queued(self.origin + segment * SEGMENT, SEGMENT);
    }

    /// A segment leaves the node.
    fn left(&mut self, segment: u64) -> String {
        let sent = self.sender.on_left_node(self.origin + segment * SEGMENT, self.now);
        if sent { self.drain() } else { "nobody waits".to_owned() }
    }
}

#[test]
fn a_timeout_sends_nothing_again_that_is_in_the_node() {
    let single = Params { window: 2, ..at_once() };
    for queued in [false, true] {
        let mut talk = two_outstanding(&single, queued);
        // The window of the receiver leaves no room for new data, so the probe would be the last segment.
        let probe = talk.timer();
        assert_eq!(probe, if queued { "" } else { "r1" });
        let timeout = talk.timer();
        assert_eq!(timeout, if queued { "" } else { "r0" });
        assert_eq!(talk.window().0, 1.0, "the timeout counts");
        let backed_off = talk.sender.state().rto;
        assert_eq!(talk.timer(), if queued { "" } else { "r0" });
        assert_eq!(talk.sender.state().rto, backed_off * 2);
        assert_eq!(talk.sender.counters().retransmitted_segments, if queued { 0 } else { 3 });
        if queued {
            // It is sent again as soon as it has left, since it counts as lost.
            assert_eq!(talk.left(0), "r0");
        }
    }
}

#[test]
fn what_was_cut_up_on_its_way_to_the_interface_is_sent_again() {
    for (pair_segments, timeout) in [(true, "r0"), (false, "")] {
        let mut params = Params { initial_window: 4, window: 4, ..at_once() };
        params.linux.pair_segments = pair_segments;
        let (mut talk, sent) = Talk::with(&params, "newreno", LINUX);
        assert_eq!(sent, "0 1 2 3");
        (0..4).for_each(|segment| talk.queued(segment));
        // The probe has no room in the node, or is there already.
        let _ = talk.timer();
        assert_eq!(talk.timer(), timeout, "segments 0 and 1 were one buffer");
        talk.queued(0);
        assert_eq!(talk.timer(), "", "this one was sent by itself");
    }
}

#[test]
fn a_buffer_that_was_made_and_has_to_wait_stays_as_it_is() {
    let mut params = Params { initial_window: 4, initial_ssthresh: 2, ..at_once() };
    params.linux.pair_segments = true;
    let (mut talk, sent) = Talk::with(&params, "newreno", LINUX);
    assert_eq!(sent, "0 1 2 3");
    (0..4).for_each(|segment| talk.queued(segment));
    // The window has room for one: a buffer of one segment is made, for which the node has no room.
    assert_eq!(talk.after(50).ack(1), "");
    // Now it has room for more. A pair might follow behind two segments, a single one must not.
    assert_eq!(talk.ack(3), "");
    assert_eq!(talk.left(0), "");
    assert_eq!(talk.left(1), "");
    assert_eq!(talk.left(2), "4 5 6");
}

/// A sender that has sent its SYN.
pub(super) fn opening(params: &Params) -> Talk {
    let control =
        Controller::new(&Config::of_profile("newreno", LINUX).expect("a variant"), Streams::new(1, 0).stream("rule"));
    let mut sender = TcpSender::with_control(params, control, Streams::new(1, 0).stream("talk"));
    sender.write(u64::MAX, Time::ZERO);
    let mut talk = Talk { sender, now: Time::ZERO, origin: 1 };
    assert_eq!(talk.drain(), "syn");
    talk
}

/// A sender whose SYN was sent `times` times, 1 s after the other; the answer echoes the SYN with the number `echoes`.
fn late(habits: Habits, times: u64, echoes: u64) -> (Talk, String) {
    let mut talk = opening(&Params { habits, ..as_linux::linux(true) });
    let mut sent = vec![talk.now];
    while sent.len() < times as usize {
        assert_eq!(talk.timer(), "syn");
        sent.push(talk.now);
    }
    let flags = TcpFlags { syn: true, ack: true, ..TcpFlags::default() };
    let timestamps = Some((7, milliseconds(sent[echoes as usize])));
    let answer = TcpHeader { ack: 1, window: 1 << 20, flags, timestamps, ..TcpHeader::default() };
    let first = talk.after(30).receive(answer);
    (talk, without_lone_ack(&first))
}

#[test]
fn a_late_opening_keeps_the_initial_window() {
    let all = "0 1 2 3 4 5 6 7 8 9";
    // The number of SYNs, and the SYN that is answered, as in unmodified kernels.
    for (times, echoes, expected) in [(2, 1, all), (2, 0, all), (3, 2, "0"), (3, 0, all), (4, 1, "0")] {
        assert_eq!(late(Habits::Linux, times, echoes).1, expected, "{times} {echoes}");
        // RFC 6928 §2 knows no timestamps.
        assert_eq!(late(Habits::Rfc, times, echoes).1, if times == 2 { all } else { "0" }, "{times} {echoes}");
    }
}

#[test]
fn timestamps_measure_a_late_opening() {
    // The answer to the first SYN has taken more than a second.
    let (talk, _) = late(Habits::Linux, 2, 0);
    assert_eq!(talk.sender.state().srtt, Some(Span::from_millis(1030)));
    assert_eq!(talk.sender.state().rto, Span::from_millis(1030 * 3));
    let (talk, _) = late(Habits::Linux, 2, 1);
    assert_eq!(talk.sender.state().srtt, Some(Span::from_millis(30)));
    let (talk, _) = late(Habits::Rfc, 2, 0);
    assert_eq!(talk.sender.state().srtt, None);
}

#[test]
fn a_syn_in_the_node_is_not_sent_again() {
    let mut talk = opening(&Params { timestamps: true, ..at_once() });
    talk.sender.on_queued(0, 0);
    assert_eq!(talk.timer(), "");
    assert_eq!(talk.now, Time::ZERO + Span::from_secs(1));
    // When it leaves, nothing follows before the next timeout.
    assert!(!talk.sender.on_left_node(0, talk.now));
    assert_eq!((talk.drain(), talk.timer()), (String::new(), "syn".to_owned()));
    assert_eq!(talk.now, Time::ZERO + Span::from_secs(3));
}

#[test]
fn the_answer_to_a_syn_is_sent_again() {
    for habits in [Habits::Rfc, Habits::Linux] {
        let params = Params { habits, linux: as_linux::plain(), ..params(RFC) };
        let acking = acking::Config::of_profile("every", RFC).expect("a policy");
        let mut receiver = TcpReceiver::new(&acking, &params, true);
        let flags = TcpFlags { syn: true, ..TcpFlags::default() };
        receiver.on_segment(&TcpHeader { flags, ..TcpHeader::default() }, Time::ZERO);
        assert!(receiver.poll_transmit(Time::ZERO).is_some_and(|answer| answer.flags.syn));
        let mut again = Vec::new();
        while receiver.deadline() != Time::NEVER {
            let now = receiver.deadline();
            receiver.on_timer(now);
            if let Some(answer) = receiver.poll_transmit(now) {
                assert!(answer.flags.syn && answer.flags.ack);
                again.push(now.seconds());
            }
            if again.len() == 2 {
                // The connection is open.
                let flags = TcpFlags { ack: true, ..TcpFlags::default() };
                receiver.on_segment(&TcpHeader { seq: 1, ack: 1, flags, ..TcpHeader::default() }, now);
            }
        }
        assert_eq!(again, [1.0, 3.0], "{habits:?}");
    }
}

#[test]
fn an_answer_that_comes_again_is_acknowledged() {
    for params in [params(RFC), as_linux::linux(false)] {
        let (mut talk, _) = Talk::with(&params, "newreno", LINUX);
        let flags = TcpFlags { syn: true, ack: true, ..TcpFlags::default() };
        let sent = talk.receive(TcpHeader { ack: 1, window: 1 << 20, flags, ..TcpHeader::default() });
        assert_eq!(sent, "ack1");
    }
}
