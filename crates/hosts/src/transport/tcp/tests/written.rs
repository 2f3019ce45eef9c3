//! Applications that write in pieces, to a sender of Linux. The tests cover writes that are sent one by one, a send
//! buffer that grows, windows that decay, and small segments that are sent again together.

use super::as_linux::{linux, with};
use super::*;
use crate::transport::connection::IdleRestart;
use crate::transport::linux::SendBufferSize;

fn growing() -> Params {
    with(|it| (it.send_buffer, it.pair_segments) = (SendBufferSize::Growing, true))
}

/// A sender whose application writes `writes` at once, when the answer to its SYN came. The lengths are the lengths of
/// the segments that it then sends; a negative sign marks PSH.
fn opened(params: &Params, writes: &[u64]) -> (Talk, Vec<i64>) {
    let config = Config::of_profile("newreno", crate::params::LINUX).expect("a variant");
    let control = Controller::new(&config, Streams::new(1, 0).stream("rule"));
    let mut sender = TcpSender::with_control(params, control, Streams::new(1, 0).stream("talk"));
    writes.iter().for_each(|bytes| sender.write(*bytes, Time::ZERO));
    let mut talk = Talk { sender, now: Time::ZERO, origin: 1 };
    assert_eq!(talk.drain(), "syn");
    let flags = TcpFlags { syn: true, ack: true, ..TcpFlags::default() };
    talk.after(100);
    talk.sender.on_segment(&TcpHeader { ack: 1, window: 1 << 20, flags, ..TcpHeader::default() }, talk.now);
    // The acknowledgement of the answer to the SYN is no data.
    let sent = lengths(&mut talk).into_iter().filter(|len| *len != 0).collect();
    (talk, sent)
}

fn lengths(talk: &mut Talk) -> Vec<i64> {
    let headers = std::iter::from_fn(|| talk.sender.poll_transmit(talk.now));
    let signed = |header: TcpHeader| i64::from(header.len) * if header.flags.psh { -1 } else { 1 };
    headers.map(signed).collect()
}

/// An acknowledgement of all bytes below this number.
fn acknowledge(talk: &mut Talk, ack: u64) -> Vec<i64> {
    let flags = TcpFlags { ack: true, ..TcpFlags::default() };
    talk.sender.on_segment(&TcpHeader { ack, window: 1 << 20, flags, ..TcpHeader::default() }, talk.now);
    lengths(talk)
}

#[test]
fn what_was_written_before_the_connection_opens_is_sent_write_by_write() {
    let writes = [100, 300, 400];
    let (mut talk, sent) = opened(&growing(), &writes);
    assert_eq!(sent, [-100], "the others are small and wait");
    assert_eq!(acknowledge(talk.after(100), 101), [-700]);
    // Without a send buffer all lies there at once.
    assert_eq!(opened(&with(|it| it.pair_segments = true), &writes).1, [-800]);
    let (_, sent) = opened(&Params { nagle: false, ..growing() }, &writes);
    assert_eq!(sent, [-100, -300, -400]);
}

#[test]
fn the_application_waits_for_room_and_the_buffer_grows_with_the_window() {
    let (mut talk, sent) = opened(&growing(), &[u64::MAX]);
    assert_eq!(sent.len(), 10);
    let written = |talk: &Talk| talk.sender.written().0 - 1;
    let first = written(&talk);
    assert!((40_000..120_000).contains(&first), "{first}");
    let limit = |talk: &Talk| talk.sender.written().1;
    assert_eq!(limit(&talk), 2 * 10 * (2048 + 256));
    // One buffer makes the window full again: the memory does not grow. With a second one it does.
    assert_eq!(acknowledge(talk.after(100), 1001).len(), 2);
    assert_eq!(limit(&talk), 46_080);
    assert!(acknowledge(&mut talk, 5001).len() > 2);
    assert_eq!(limit(&talk), 2 * 15 * (2048 + 256));
    let mut ack = 5001;
    for _ in 0..40 {
        ack = talk.sender.window_edges().1;
        acknowledge(talk.after(100), ack);
    }
    assert!(ack > first && limit(&talk) > 46_080, "{}", limit(&talk));
    assert!(written(&talk) - (ack - 1) < limit(&talk) + 64 * SEGMENT);
}

/// As [`acknowledge`], with a window of so many bytes.
fn acknowledge_with(talk: &mut Talk, ack: u64, window: u32) -> Vec<i64> {
    let flags = TcpFlags { ack: true, ..TcpFlags::default() };
    talk.sender.on_segment(&TcpHeader { ack, window, flags, ..TcpHeader::default() }, talk.now);
    lengths(talk)
}

#[test]
fn bbr_has_room_for_three_windows_from_the_start() {
    for (variant, windows) in [("newreno", 2), ("bbr", 3)] {
        let config = Config::of_profile(variant, crate::params::LINUX).expect("a variant");
        let control = Controller::new(&config, Streams::new(1, 0).stream("rule"));
        let sender = TcpSender::with_control(&growing(), control, Streams::new(1, 0).stream("talk"));
        assert_eq!(sender.written().1, windows * 10 * (2048 + 256), "{variant}");
    }
}

#[test]
fn a_buffer_is_cut_where_the_receivers_window_ends() {
    let (mut talk, _) = opened(&growing(), &[10_000, 20_000]);
    acknowledge_with(talk.after(100), 10_001, 1000);
    // The rest of the second write is one piece, and the window ends in its second segment.
    assert_eq!(acknowledge_with(talk.after(100), 11_001, 1700), [1000, -700]);
    assert_eq!(acknowledge_with(talk.after(100), 12_701, 3000), [1000, -1000, 1000]);
}

#[test]
fn the_first_buffer_of_a_full_piece_does_not_wait() {
    // One segment fits, and the acknowledgement of the first one outstanding is due: two wait for more room.
    for (bytes, sent) in [(2000, 0), (70_000, 1)] {
        let (mut talk, _) = opened(&growing(), &[14 * SEGMENT]);
        assert_eq!(acknowledge(talk.after(100), 2001).len(), 4);
        talk.sack(2, &[(3, 4)]);
        talk.sender.write(bytes, talk.now);
        assert_eq!(lengths(&mut talk).len(), sent, "{bytes} bytes");
    }
}

#[test]
fn a_program_that_waits_for_room_does_not_come_to_close() {
    let (mut talk, _) = opened(&growing(), &[200 * SEGMENT]);
    assert_eq!(acknowledge(talk.after(100), 1001).len(), 2);
    assert_eq!(talk.sack(1, &[(2, 3)]), "", "one segment waits for a second one");
    talk.after(50);
    talk.sender.close(talk.now);
    assert!(lengths(&mut talk).is_empty());
}

#[test]
fn a_timer_sends_no_new_data_of_itself() {
    let (mut talk, _) = opened(&growing(), &[14 * SEGMENT]);
    assert_eq!(acknowledge(talk.after(100), 2001).len(), 4);
    assert_eq!(talk.timer(), "r13", "a probe");
    talk.after(1).ack(4);
    for (segments, sent) in [(1, "14"), (4, "15 16")] {
        talk.sender.write(segments * SEGMENT, talk.now);
        assert_eq!(talk.drain(), sent);
    }
    // Segment 17 fits, and waits for the next one. The probe is not answered.
    assert_eq!(talk.timer(), "");
}

#[test]
fn a_window_that_is_not_used_decays() {
    for idle_restart in [IdleRestart::InitialWindow, IdleRestart::Off] {
        let params = Params { idle_restart, ..linux(false) };
        let (mut talk, _) = opened(&params, &[200 * SEGMENT]);
        let mut ack = 1;
        while ack < 1 + 200 * SEGMENT {
            ack = talk.sender.window_edges().1;
            acknowledge(talk.after(50), ack);
        }
        let before = talk.window().0;
        assert!(before > 40.0, "{before}");
        // Neither pause is as long as the timeout, but the last acknowledgement lies further back.
        for _ in 0..2 {
            talk.after(150);
            talk.sender.write(SEGMENT, talk.now);
            assert_eq!(lengths(&mut talk).len(), 1);
        }
        let (after, threshold) = talk.window();
        if idle_restart == IdleRestart::Off {
            assert_eq!(after, before);
        } else {
            assert!(after < 0.8 * before && after >= 10.0, "{before} to {after}");
            assert!(threshold >= 0.7 * before, "{threshold}");
        }
    }
}

#[test]
fn small_segments_that_are_lost_are_sent_again_as_one() {
    let params = Params { nagle: false, tail_loss_probe: false, ..growing() };
    let (mut talk, sent) = opened(&params, &[100, 300, 400, 500]);
    assert_eq!(sent, [-100, -300, -400, -500]);
    talk.now = talk.sender.deadline();
    talk.sender.on_timer(talk.now);
    assert_eq!(lengths(&mut talk), [-800], "the fourth does not fit");
    // Others send each as it was.
    let params = Params { nagle: false, ..params_of_rack() };
    let (mut talk, sent) = opened(&params, &[100]);
    assert_eq!(sent.len(), 1);
    talk.sender.write(300, talk.now);
    assert_eq!(lengths(&mut talk), [300]);
    talk.now = talk.sender.deadline();
    talk.sender.on_timer(talk.now);
    assert_eq!(lengths(&mut talk), [100]);
}

fn params_of_rack() -> Params {
    Params { recovery: RecoveryChoice::Rack, tail_loss_probe: false, ..params(RFC) }
}

#[test]
fn small_segments_count_for_growth_as_full_ones() {
    let (mut talk, _) = opened(&Params { nagle: false, ..growing() }, &[100; 10]);
    let before = talk.window().0;
    acknowledge(talk.after(100), 1 + 1000);
    assert_eq!(talk.window().0, before + 10.0);
}
