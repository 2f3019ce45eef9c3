//! A receiver as in Linux: the window that grows, and acknowledgements of the policy `quick` with it.

use hopyard_engine::units::Rate;
use proptest::prelude::*;

use super::*;
use crate::params::LINUX;
use crate::transport::connection::Reader;
use crate::transport::linux::{ReceiveWindow, Timers};

const FULL: u64 = 1448;

/// A receiver whose opening exchange took 20 ms, until now; and the window of its SYN.
fn opened(params: &Params) -> (TcpReceiver, u32) {
    let acking = acking::Config::of_profile("quick", LINUX).expect("a policy");
    let mut receiver = TcpReceiver::new(&acking, params, true);
    let syn = TcpFlags { syn: true, ..TcpFlags::default() };
    receiver.on_segment(&TcpHeader { flags: syn, timestamps: Some((1, 0)), ..TcpHeader::default() }, at(100));
    let answer = receiver.poll_transmit(at(100)).expect("the answer to the SYN");
    assert!(answer.flags.syn);
    receiver.on_segment(&TcpHeader { seq: 1, ack: 1, flags: ack(), ..TcpHeader::default() }, at(120));
    (receiver, answer.window)
}

fn at(millis: u64) -> Time {
    Time::ZERO + Span::from_millis(millis)
}

fn ack() -> TcpFlags {
    TcpFlags { ack: true, ..TcpFlags::default() }
}

/// Segment `number` arrives, sent on an acknowledgement of 20 ms ago; what is answered.
fn arrives(receiver: &mut TcpReceiver, number: u64, now: Time) -> Option<TcpHeader> {
    let echo = (now.nanos() / 1_000_000) as u32 - 20;
    let timestamps = Some((echo + 10, echo));
    let (seq, len) = (1 + number * FULL, FULL as u32);
    receiver.on_segment(&TcpHeader { seq, len, ack: 1, flags: ack(), timestamps, ..TcpHeader::default() }, now);
    let answer = receiver.poll_transmit(now);
    assert!(receiver.poll_transmit(now).is_none());
    answer
}

/// A kernel whose opening exchange took 60 ms repeats it after 0.286, 0.288, 0.544 and 1.088 s, in steps of its timers.
#[test]
fn the_fin_is_repeated_after_the_timeout_that_the_opening_gives() {
    for (profile, waits) in [(LINUX, [220, 220, 440]), (RFC, [1000, 2000, 4000])] {
        let mut params = params(profile);
        params.linux.timers = Timers::Exact;
        let (mut receiver, _) = opened(&params);
        let mut now = at(200);
        let fin = TcpFlags { fin: true, ack: true, ..TcpFlags::default() };
        receiver.on_segment(&TcpHeader { seq: 1, ack: 1, flags: fin, ..TcpHeader::default() }, now);
        for wait in waits {
            let sent = std::iter::from_fn(|| receiver.poll_transmit(now)).any(|it| it.flags.fin);
            assert!(sent, "{profile}: {now:?}");
            let next = receiver.deadline();
            assert_eq!(next.since(now), Span::from_millis(wait), "{profile}");
            now = next;
            receiver.on_timer(now);
        }
    }
}

#[test]
fn the_window_grows_with_a_transfer_and_never_moves_back() {
    let params = Params::of_profile(LINUX);
    let (mut receiver, first) = opened(&params);
    // The window of a SYN has no scale: 45 segments.
    assert_eq!(first, 45 * FULL as u32);
    let (mut edge, mut windows, mut answered) = (0, Vec::new(), 0);
    for number in 0..2000 {
        // Slow start: ten segments in the first round trip of 20 ms, and twice as many in each further one.
        let now = at(120) + Span::from_nanos((20e6 * libm::log2(1.0 + number as f64 / 10.0)) as u64);
        if let Some(answer) = arrives(&mut receiver, number, now) {
            answered += 1;
            assert!(answer.ack + u64::from(answer.window) >= edge);
            edge = answer.ack + u64::from(answer.window);
            windows.push(answer.window);
        }
    }
    let last = *windows.last().expect("acknowledgements");
    assert!(windows[..10].iter().all(|window| *window == 64_128), "one round trip is not known yet: {windows:?}");
    assert!(last > 4 * first && u64::from(last) <= 2172 * FULL, "{last}");
    assert!(windows.windows(2).all(|pair| pair[1] <= pair[0] + 2 * FULL as u32 + 128), "by two segments at most");
    assert!(answered > 1000, "a window that grows is announced with each segment: {answered}");
}

#[test]
fn a_fixed_window_is_the_whole_one() {
    let mut params = Params::of_profile(LINUX);
    params.linux.receive_window = ReceiveWindow::Fixed;
    let (mut receiver, first) = opened(&params);
    assert_eq!(u64::from(first), 2172 * FULL);
    assert_eq!(arrives(&mut receiver, 0, at(130)).map(|answer| answer.window), Some(first));
}

#[test]
fn quick_acknowledgements_end_and_a_gap_is_told_at_once() {
    let mut params = Params::of_profile(LINUX);
    params.linux.receive_window = ReceiveWindow::Fixed;
    let (mut receiver, _) = opened(&params);
    let answered: Vec<bool> =
        (0..20).map(|number| arrives(&mut receiver, number, at(130 + number)).is_some()).collect();
    assert_eq!(answered[..16], [true; 16]);
    assert_eq!(answered[16..], [false, true, false, true]);
    let beyond: Vec<bool> = (21..26).map(|number| arrives(&mut receiver, number, at(150)).is_some()).collect();
    assert_eq!(beyond, [true, true, true, false, false], "compressed after three");
    // 5 % of the round trip of 20 ms, and the slack of the timer.
    assert_eq!(receiver.deadline(), at(151) + Span::from_micros(100));
    assert_eq!(arrives(&mut receiver, 20, at(150)).map(|answer| answer.ack), Some(1 + 26 * FULL));
    // The timer of the last delayed acknowledgement runs on, for nothing: ten ticks of 4 ms, and the one after them.
    assert_eq!(receiver.deadline(), at(192));
    receiver.on_timer(at(192));
    assert!(receiver.poll_transmit(at(192)).is_none());
    assert_eq!(receiver.deadline(), Time::NEVER);
}

/// A transfer of 200 segments to a slow reader, over 8 Mb/s and 20 ms each way: the segments with data, the probes of
/// the window, the acknowledgements, and the bytes delivered.
fn transfer_to_reader(profile: &str, window: u32, reader: Rate) -> [u64; 4] {
    let params = Params { window, reader: Reader::Steady(reader), ..Params::of_profile(profile) };
    let acking = acking::Config::of_profile(if profile == LINUX { "quick" } else { "every" }, profile);
    let control =
        Controller::new(&Config::of_profile("newreno", profile).expect("a variant"), Streams::new(1, 0).stream("rule"));
    let mut sender = TcpSender::with_control(&params, control, Streams::new(1, 0).stream("talk"));
    let mut receiver = TcpReceiver::new(&acking.expect("a policy"), &params, sender.wants_sack());
    let size = 200 * FULL;
    sender.write(size, Time::ZERO);
    sender.close(Time::ZERO);
    let (mut now, mut free) = (Time::ZERO, Time::ZERO);
    let mut flying: std::collections::VecDeque<(Time, bool, TcpHeader)> = std::collections::VecDeque::new();
    let mut acks = 0;
    while now < at(400_000) && acks < 20_000 {
        while let Some(header) = sender.poll_transmit(now) {
            free = free.max(now) + Span::from_micros(u64::from(header.len + 52));
            flying.push_back((free + Span::from_millis(20), true, header));
        }
        while let Some(header) = receiver.poll_transmit(now) {
            acks += 1;
            flying.push_back((now + Span::from_millis(20), false, header));
        }
        let first = (0..flying.len()).min_by_key(|place| flying[*place].0);
        let timer = sender.deadline().min(receiver.deadline()).max(now);
        let Some(place) = first.filter(|place| flying[*place].0 <= timer) else {
            if timer == Time::NEVER {
                break;
            }
            now = timer;
            sender.on_timer(now);
            receiver.on_timer(now);
            continue;
        };
        let (arrival, is_data, header) = flying.remove(place).expect("a segment");
        now = arrival;
        if is_data {
            receiver.on_segment(&header, now);
        } else {
            sender.on_segment(&header, now);
        }
    }
    let sent = sender.counters();
    [sent.segments, sent.window_probes, acks, receiver.counters().delivered_bytes]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, failure_persistence: None, ..ProptestConfig::default() })]

    /// Each segment and probe is answered once, and what the reader frees is told at most once for it.
    #[test]
    fn a_slow_reader_gets_its_data_with_few_acknowledgements(
        profile in prop::sample::select(vec![RFC, LINUX]),
        window in 4_u32..100,
        kbps in 50_u64..12_000,
    ) {
        let [segments, probes, acks, delivered] = transfer_to_reader(profile, window, Rate::from_bps(kbps * 1000));
        prop_assert_eq!(delivered, 200 * FULL);
        prop_assert!(acks <= 2 * (segments + probes) + 10, "{} of {} and {}", acks, segments, probes);
    }
}
