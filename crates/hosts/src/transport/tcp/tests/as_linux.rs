//! The rules of a Linux sender, each in a conversation; where RFC 8985 alone has another rule, beside `rack`.

use super::*;
use crate::params::LINUX;
use crate::transport::connection::milliseconds;

/// `NewReno`'s congestion control of Linux with Linux's recovery and timers that expire exactly. Segments 0 to 9 are
/// outstanding, sent at 100 ms.
fn talk(timestamps: bool) -> Talk {
    let (talk, sent) = Talk::with(&linux(timestamps), "newreno", LINUX);
    assert_eq!(sent, "0 1 2 3 4 5 6 7 8 9");
    talk
}

pub(super) fn linux(timestamps: bool) -> Params {
    Params { habits: Habits::Linux, min_rto: Span::from_millis(200), timestamps, linux: plain(), ..params(RFC) }
}

/// Everything off that can be turned off.
pub(super) fn plain() -> linux::Params {
    linux::Params {
        sack: true,
        receive_window: linux::ReceiveWindow::Fixed,
        send_buffer: linux::SendBufferSize::Unlimited,
        pair_segments: false,
        small_queues: false,
        fin_beyond_window: false,
        timers: linux::Timers::Exact,
    }
}

/// Linux's parameters with these changes to [`plain`].
pub(super) fn with(change: impl FnOnce(&mut linux::Params)) -> Params {
    let mut params = linux(false);
    change(&mut params.linux);
    params
}

impl Talk {
    /// How long it takes until the timer expires.
    fn wait(&self) -> Span {
        self.sender.deadline().since(self.now)
    }

    /// An acknowledgement that echoes the time of a segment sent at `sent`.
    fn ack_of(&mut self, segment: u64, sent: Time) -> String {
        let timestamps = Some((0, milliseconds(sent)));
        let flags = TcpFlags { ack: true, ..TcpFlags::default() };
        let ack = self.origin + segment * SEGMENT;
        self.receive(TcpHeader { ack, window: 1 << 20, timestamps, flags, ..TcpHeader::default() })
    }
}

#[test]
fn the_window_grows_by_what_is_delivered() {
    let mut talk = talk(false);
    assert_eq!(talk.after(100).ack(1), "10 11");
    assert_eq!(talk.ack(5), "12 13 14 15 16 17 18 19");
    assert_eq!(talk.window().0, 15.0);
    // What SACK reports lets out as much as it delivers, and does not count for growth.
    assert_eq!(talk.sack(5, &[(6, 8)]), "20 21");
    assert_eq!(talk.window().0, 15.0);
}

#[test]
fn a_late_acknowledgement_is_answered_and_does_not_count() {
    for params in [params(RFC), linux(false)] {
        let paws = params.habits == Habits::Linux;
        let (mut talk, _) = Talk::with(&Params { timestamps: true, ..params }, "newreno", LINUX);
        let mut arrives = |millis: u64, segment: u64, value: u32| {
            talk.after(millis);
            let (timestamps, flags) = (Some((value, 0)), TcpFlags { ack: true, ..TcpFlags::default() });
            let ack = talk.origin + segment * SEGMENT;
            talk.receive(TcpHeader { ack, window: 1 << 20, timestamps, flags, ..TcpHeader::default() })
        };
        assert_ne!(arrives(100, 4, 1000), "");
        let answer = if paws { "ack1" } else { "" };
        assert_eq!(arrives(1, 2, 990), answer);
        assert_eq!(arrives(1, 3, 995), "", "one in half a second is answered");
        assert_eq!(arrives(1, 3, 999), "", "a millisecond may be rounding");
        assert_eq!(arrives(500, 2, 990), answer);
        assert_eq!(talk.sender.counters().outdated_acks, if paws { 3 } else { 0 });
    }
}

/// The ninth segment is reported, and the reordering timer finds the others lost. The first is sent again.
fn one_is_sent_again(params: &Params, echo: Option<u32>) -> (Talk, Vec<(u64, bool)>) {
    let (mut talk, _) = Talk::with(params, "newreno", LINUX);
    talk.after(130);
    answer(&mut talk, 0, (9, 10), echo);
    talk.now = talk.sender.deadline();
    talk.sender.on_timer(talk.now);
    let sent = flags(&mut talk);
    (talk, sent)
}

/// An acknowledgement with a report and an echo arrives; what it lets out.
fn answer(talk: &mut Talk, segment: u64, block: (u64, u64), echo: Option<u32>) -> Vec<(u64, bool)> {
    let seq = |segment| talk.origin + segment * SEGMENT;
    let sack = SackBlocks::new(seq(segment), [(seq(block.0), seq(block.1))]);
    let timestamps = echo.map(|echo| (0, echo));
    let flags_of = TcpFlags { ack: true, ..TcpFlags::default() };
    let header =
        TcpHeader { ack: seq(segment), window: 1 << 20, sack, timestamps, flags: flags_of, ..TcpHeader::default() };
    talk.sender.on_segment(&header, talk.now);
    flags(talk)
}

/// What is sent again now, and with PSH or not.
fn flags(talk: &mut Talk) -> Vec<(u64, bool)> {
    let mut again = Vec::new();
    while let Some(header) = talk.sender.poll_transmit(talk.now) {
        if header.retransmission {
            again.push(((header.seq - talk.origin) / SEGMENT, header.flags.psh));
        }
    }
    again
}

#[test]
fn what_time_has_found_lost_is_found_again_by_a_timeout_only() {
    let (mut talk, sent) = one_is_sent_again(&linux(true), Some(100));
    assert_eq!(sent, [(0, false)]);
    // The original was only late: the reduction is undone, and with it the marks of segments 1 to 8.
    assert_eq!(answer(talk.after(1), 1, (9, 10), Some(100)), []);
    assert_eq!(talk.window().0, 11.0);
    // Later segments arrive, a long time after those were sent.
    assert_eq!(answer(talk.after(300), 1, (9, 11), Some(230)), []);
    talk.now = talk.sender.deadline();
    talk.sender.on_timer(talk.now);
    assert_eq!(flags(&mut talk), [(1, false)], "a timeout");
}

#[test]
fn the_parts_of_a_buffer_that_is_cut_up_lose_push() {
    let pairs = with(|it| it.pair_segments = true);
    let (mut talk, sent) = one_is_sent_again(&pairs, None);
    assert_eq!(sent, [(0, false)]);
    // The rest of the first pair.
    assert_eq!(answer(talk.after(100), 1, (9, 10), None), [(1, false)]);
    // A pair as a whole.
    let (mut talk, _) = Talk::with(&pairs, "newreno", LINUX);
    assert_eq!(answer(talk.after(100), 0, (4, 10), None)[..2], [(0, false), (1, true)]);
}

#[test]
fn a_probe_and_a_timeout_share_a_timer() {
    let mut talk = talk(false);
    assert_eq!(talk.wait(), Span::from_millis(202), "two round trips and 2 ms");
    assert_eq!(talk.timer(), "10", "new data is the probe");
    assert_eq!(talk.wait(), Span::from_millis(300), "the timeout counts from the probe");
    assert_eq!(talk.timer(), "r0");
    assert_eq!(talk.wait(), Span::from_millis(600));
    assert_eq!(talk.window(), (1.0, 5.0));
}

#[test]
fn sack_of_segments_older_than_the_first_restarts_the_timer() {
    let mut talk = talk(false);
    assert!(talk.after(100).sack(0, &[(1, 4)]).starts_with("r0"));
    // Segment 4 was sent before segment 0 was sent again.
    talk.after(10).sack(0, &[(1, 5)]);
    let rto = talk.sender.state().rto;
    assert_eq!(talk.wait(), rto);
}

#[test]
fn a_timeout_that_timestamps_show_to_be_spurious_is_undone() {
    for spurious in [true, false] {
        let mut talk = talk(true);
        let sent = talk.now;
        assert_eq!(talk.timer(), "10");
        assert_eq!(talk.timer(), "r0");
        assert_eq!(talk.window(), (1.0, 5.0));
        let again = talk.now;
        let answer = talk.after(50).ack_of(1, if spurious { sent } else { again });
        assert_eq!(talk.window().0 >= 10.0, spurious);
        assert_eq!(talk.window().1 > 60_000.0, spurious, "the threshold is the old one");
        // Otherwise new data is sent first, to see whether the timeout was spurious (RFC 5682).
        assert!(!answer.contains('r'), "{answer}");
    }
}

#[test]
fn segments_that_arrive_after_a_timeout_and_were_sent_once_show_that_it_was_spurious() {
    for spurious in [true, false] {
        let mut talk = talk(false);
        talk.timer();
        assert_eq!(talk.timer(), "r0");
        assert_eq!(talk.after(50).ack(1), "11 12", "RFC 5682 §2.1 step 2b: new data");
        if spurious {
            // Segments 1 to 3 arrive late.
            assert!(!talk.after(1).ack(4).contains('r'));
            assert!(talk.window().0 >= 10.0);
        } else {
            assert!(talk.after(100).sack(1, &[(11, 12)]).starts_with("r1"), "step 3a: it was not");
            assert_eq!(talk.window().1, 5.0);
        }
    }
}

#[test]
fn a_recovery_is_undone_when_duplicates_are_reported_for_all_that_was_sent_again() {
    let mut talk = talk(false);
    assert!(talk.after(100).sack(0, &[(1, 4)]).starts_with("r0"));
    assert_eq!(talk.window().1, 5.0);
    talk.after(10).ack(9);
    assert!(talk.window().1 < 6.0);
    // Segment 0 had arrived: the retransmission was in vain.
    talk.after(90).sack(9, &[(0, 1)]);
    assert!(talk.window().1 > 60_000.0 && talk.window().0 >= 10.0, "{:?}", talk.window());
}

#[test]
fn a_repeated_timeout_does_not_reduce_the_threshold_again() {
    let mut talk = talk(false);
    talk.timer();
    (0..4).for_each(|_| drop(talk.timer()));
    assert_eq!(talk.window(), (1.0, 5.0));
}

#[test]
fn single_segments_wait_for_a_second_one() {
    for (pair_segments, first, second) in [(true, "", "14 15"), (false, "14", "15")] {
        let (mut talk, _) = Talk::with(&with(|it| it.pair_segments = pair_segments), "newreno", LINUX);
        assert_eq!(talk.after(100).ack(2), "10 11 12 13");
        assert_eq!(talk.sack(2, &[(3, 4)]), first);
        assert_eq!(talk.sack(2, &[(3, 5)]), second);
    }
}

#[test]
fn the_opening_is_answered_by_a_lone_acknowledgement() {
    let mut talk = held::opening(&linux(false));
    let flags = TcpFlags { syn: true, ack: true, ..TcpFlags::default() };
    let sent = talk.after(100).receive(TcpHeader { ack: 1, window: 1 << 20, flags, ..TcpHeader::default() });
    assert_eq!(sent, "ack1 0 1 2 3 4 5 6 7 8 9");
}

#[test]
fn an_old_acknowledgement_reports_by_sack_too() {
    let mut talk = talk(false);
    assert!(talk.after(100).sack(0, &[(1, 4)]).starts_with("r0"));
    talk.after(100).ack(4);
    let before = talk.sender.marks().sacked;
    talk.after(1).sack(3, &[(5, 7)]);
    assert_eq!(talk.sender.marks().sacked, before + 2, "5 and 6 have left the network");
}

#[test]
fn a_probe_that_repairs_the_last_segment_reduces_the_window() {
    let mut talk = opened(&linux(false));
    talk.sender.write(SEGMENT, talk.now);
    assert_eq!((talk.drain(), talk.timer()), ("0".to_owned(), "r0".to_owned()), "a probe");
    talk.sender.write(SEGMENT, talk.now);
    assert_eq!(talk.drain(), "1");
    talk.after(100).ack(2);
    assert_eq!(talk.window(), (5.0, 5.0));
}

#[test]
fn a_timeout_ends_a_probe() {
    let mut talk = talk(false);
    talk.after(100).ack(10);
    // All is acknowledged but what that let out; nothing new remains, so that the probe is a retransmission.
    let last = talk.sender.marks().outstanding as u64 + 10;
    talk.sender.stop(talk.now);
    talk.timer();
    talk.timer();
    talk.after(100).ack(last);
    let (_, threshold) = talk.window();
    talk.sender.write(10 * SEGMENT, talk.now);
    talk.after(100).ack(last + 1);
    assert_eq!(talk.window().1, threshold, "the probe was answered before the timeout was");
}

/// A sender with these parameters whose opening exchange took 100 ms, and that has no data yet.
pub(super) fn opened(params: &Params) -> Talk {
    let config = Config::of_profile("newreno", LINUX).expect("a variant");
    let stream = |name| Streams::new(1, 0).stream(name);
    let mut sender = TcpSender::with_control(params, Controller::new(&config, stream("rule")), stream("talk"));
    sender.write(0, Time::ZERO);
    let mut talk = Talk { sender, now: Time::ZERO, origin: 1 };
    assert_eq!(talk.drain(), "syn");
    let flags = TcpFlags { syn: true, ack: true, ..TcpFlags::default() };
    talk.after(100).receive(TcpHeader { ack: 1, window: 1 << 20, flags, ..TcpHeader::default() });
    talk
}

/// RFC 6298 §5.7. Linux 6.1 sends the first segment again after 5.088 s and 11.232 s, in steps of its timers, if its
/// SYN was lost and timestamps are off.
#[test]
fn an_opening_without_a_sample_leaves_a_timeout_of_three_seconds() {
    for (timestamps, expected) in [(false, 3000), (true, 300)] {
        let params = Params { timestamps, ..linux(false) };
        let config = Config::of_profile("newreno", LINUX).expect("a variant");
        let stream = |name| Streams::new(1, 0).stream(name);
        let mut sender = TcpSender::with_control(&params, Controller::new(&config, stream("rule")), stream("talk"));
        sender.write(0, Time::ZERO);
        let mut talk = Talk { sender, now: Time::ZERO, origin: 1 };
        assert_eq!((talk.drain(), talk.timer()), ("syn".to_owned(), "syn".to_owned()));
        let flags = TcpFlags { syn: true, ack: true, ..TcpFlags::default() };
        let timestamps = timestamps.then(|| (7, milliseconds(talk.now)));
        talk.after(100).receive(TcpHeader { ack: 1, window: 1 << 20, flags, timestamps, ..TcpHeader::default() });
        assert_eq!(talk.sender.state().rto, Span::from_millis(expected));
    }
}

#[test]
fn a_probe_before_a_timeout_reduces_the_window_no_further() {
    let mut talk = opened(&linux(false));
    talk.sender.write(SEGMENT, talk.now);
    assert_eq!(talk.drain(), "0");
    assert_eq!(talk.timer(), "r0", "a probe");
    assert_eq!(talk.timer(), "r0", "a timeout");
    assert_eq!((talk.sender.counters().tail_loss_probes, talk.window().1), (1, 5.0));
    talk.after(100).ack(1);
    talk.sender.write(10 * SEGMENT, talk.now);
    talk.drain();
    // More than the end of the probe.
    talk.after(100).ack(2);
    assert_eq!(talk.window(), (3.0, 5.0));
}

#[test]
fn the_segment_with_the_fin_does_not_wait_for_the_window() {
    for (fin_beyond_window, segments, sent, probe) in [
        (true, 11, "0 1 2 3 4 5 6 7 8 9 10fin", "r10fin"),
        (false, 11, "0 1 2 3 4 5 6 7 8 9", "10fin"),
        // Segment 10 waits, and the FIN's does not leave with the probe.
        (true, 12, "0 1 2 3 4 5 6 7 8 9", "10"),
    ] {
        let mut talk = opened(&with(|it| it.fin_beyond_window = fin_beyond_window));
        talk.sender.write(segments * SEGMENT, talk.now);
        talk.sender.close(talk.now);
        assert_eq!(talk.drain(), sent, "{segments} segments, {fin_beyond_window}");
        assert_eq!(talk.timer(), probe, "{segments} segments, {fin_beyond_window}");
        assert_eq!(talk.timer(), "r0", "a timeout sends the first segment alone");
    }
}

#[test]
fn the_fin_of_a_transfer_within_the_window_is_a_segment_of_its_own() {
    let linux = with(|it| it.fin_beyond_window = true);
    for (params, segments, sent) in [
        (&params(RFC), 7, "0 1 2 3 4 5 6fin"),
        (&linux, 7, "0 1 2 3 4 5 6 fin"),
        (&linux, 10, "0 1 2 3 4 5 6 7 8 9 fin"),
        // The last segment still waits when the application closes.
        (&linux, 11, "0 1 2 3 4 5 6 7 8 9 10fin"),
    ] {
        let mut talk = opened(params);
        talk.sender.write(segments * SEGMENT, talk.now);
        talk.sender.close(talk.now);
        assert_eq!(talk.drain(), sent, "{segments} segments, {:?}", params.habits);
    }
    // A connection that is not open yet sends nothing, and the application has not written yet.
    let (mut talk, _) = Talk::with(&linux, "newreno", LINUX);
    talk.sender.close(talk.now);
    assert_eq!(talk.drain(), "");
}

#[test]
fn what_was_found_lost_by_its_time_is_not_found_again_after_the_mark_is_taken_back() {
    let mut talk = talk(true);
    let sent = talk.now;
    let answers = [(100, 3), (0, 4), (0, 5)].map(|(wait, to)| talk.after(wait).sack(0, &[(2, to)]));
    assert!(answers.concat().contains("r0") && !answers.concat().contains("r1"), "{answers:?}");
    // Segment 0 had only been late: the marks of those after it are taken back.
    talk.after(1).ack_of(1, sent);
    assert!(!talk.sender.state().recovering);
    // Segments that were sent later arrive: 1 is older by more than any reordering seen.
    let answer = talk.after(150).sack(1, &[(2, 12)]);
    assert!(!answer.contains('r'), "{answer}");
}

#[test]
fn the_end_of_a_recovery_lets_the_window_grow_by_what_is_delivered_then() {
    let (mut talk, _) = Talk::with(&linux(false), "newreno", LINUX);
    for to in 2..=14 {
        talk.after(10).sack(0, &[(1, to)]);
    }
    let (_, ssthresh) = talk.window();
    // All that was sent is acknowledged, most of which SACK had reported.
    let end = talk.sender.window_edges().1 / SEGMENT;
    talk.after(10).ack(end);
    assert!(!talk.sender.state().recovering);
    let cwnd = talk.window().0;
    assert!((ssthresh..=ssthresh + 1.0).contains(&cwnd), "{cwnd} at {ssthresh}");
}
