use hopyard_engine::{Deadline as _, Streams};
use proptest::prelude::*;

use super::replay::Entry;
use super::*;
use crate::link::queue::Limit;
use crate::packet::{PacketKind, TcpHeader};
use crate::params::{self, Params as _, RFC};

const FIRST: InterfaceId = InterfaceId(0);
const SECOND: InterfaceId = InterfaceId(1);

/// The bottleneck of the forced-drop scenario: 0.8 Mb/s, 100 ms.
fn bottleneck() -> Params {
    Params { rate: Rate::from_bps(800_000), delay: Span::from_millis(100), ..Params::of_profile(RFC) }
}

fn link(params: &Params) -> (Wired, Context) {
    let streams = Streams::new(1, 0);
    let rngs = ["forward", "backward"].map(|name| streams.stream(name));
    (Wired::new(params, [(NodeId(0), FIRST), (NodeId(1), SECOND)], rngs), Context::default())
}

fn segment(cx: &mut Context, number: u64) -> PacketId {
    cx.originate(Packet {
        created: cx.now,
        source: FIRST.into(),
        destination: SECOND.into(),
        ..crate::samples::packet(1040, Body::Tcp(TcpHeader { seq: number * 1000, len: 1000, ..TcpHeader::default() }))
    })
}

fn send(link: &mut Wired, cx: &mut Context, numbers: impl IntoIterator<Item = u64>) {
    for number in numbers {
        let packet = segment(cx, number);
        link.enqueue(Direction::Forward, packet, cx);
    }
}

/// Runs the link empty: times in microseconds and segment numbers, in order of arrival.
fn arrivals(link: &mut Wired, cx: &mut Context) -> Vec<(u64, u64)> {
    let mut all = Vec::new();
    while link.deadline() != Time::NEVER {
        cx.now = link.deadline();
        link.on_timer(cx);
        while let Some(action) = cx.actions.pop_front() {
            let Action::Receive { interface: SECOND, packet, from: FIRST } = action else { panic!("{action:?}") };
            let Body::Tcp(header) = cx.deliver(packet).body else { panic!("a segment was sent") };
            all.push((cx.now.nanos() / 1000, header.seq / 1000));
        }
    }
    all
}

fn numbers(arrivals: &[(u64, u64)]) -> Vec<u64> {
    arrivals.iter().map(|(_, number)| *number).collect()
}

fn dropped(cx: &Context, reason: DropReason) -> u64 {
    cx.drops.get(NodeId(0), PacketKind::Data, reason)
}

#[test]
fn packets_are_sent_one_after_the_other_and_then_travel() {
    let (mut link, mut cx) = link(&bottleneck());
    send(&mut link, &mut cx, 0..3);
    assert_eq!(link.held().count(), 3);
    // 1040 bytes take 10.4 ms.
    assert_eq!(arrivals(&mut link, &mut cx), [(110_400, 0), (120_800, 1), (131_200, 2)]);
    cx.now = Time::ZERO + Span::from_secs(1);
    send(&mut link, &mut cx, [3]);
    assert_eq!(arrivals(&mut link, &mut cx), [(1_110_400, 3)]);
}

#[test]
fn a_round_trip_over_two_links_takes_as_long_as_in_ns2() {
    // S -10 Mb/s 2 ms- R -0.8 Mb/s 100 ms- D: 1040 bytes there, 40 bytes back; ns-2's trace has 0.430896 - 0.215232 s.
    let access = Params { rate: Rate::from_bps(10_000_000), delay: Span::from_millis(2), ..bottleneck() };
    let mut now = Time::ZERO;
    for (params, size) in [(&access, 1040), (&bottleneck(), 1040), (&bottleneck(), 40), (&access, 40)] {
        let (mut link, mut cx) = link(params);
        cx.now = now;
        let packet = segment(&mut cx, 0);
        cx.packets[packet].size = size;
        link.enqueue(Direction::Backward, packet, &mut cx);
        now = link.deadline();
    }
    assert_eq!(now, Time::ZERO + Span::from_micros(215_664));
}

#[test]
fn directions_do_not_share_the_wire() {
    let (mut link, mut cx) = link(&bottleneck());
    assert_eq!([Direction::Forward, Direction::Backward].map(|it| link.to(it)), [SECOND, FIRST]);
    send(&mut link, &mut cx, 0..5);
    let back = segment(&mut cx, 9);
    link.enqueue(Direction::Backward, back, &mut cx);
    cx.now = Time::ZERO + Span::from_micros(110_400);
    link.on_timer(&mut cx);
    let receivers: Vec<_> = cx.actions.iter().map(|action| format!("{action:?}")).collect();
    assert_eq!(receivers.len(), 2, "both ends receive at the same time: {receivers:?}");
}

#[test]
fn the_queue_has_its_length_beside_the_packet_being_sent() {
    for (limit, pass) in [(Limit::Inclusive, 6), (Limit::Exclusive, 5)] {
        let (mut link, mut cx) = link(&Params { queue_length: 5, queue_limit: limit, ..bottleneck() });
        send(&mut link, &mut cx, 0..10);
        assert_eq!(dropped(&cx, DropReason::QueueFull), 10 - pass);
        // One has been sent when the next comes: there is room for one.
        cx.now = Time::ZERO + Span::from_micros(10_400);
        send(&mut link, &mut cx, 10..12);
        let passed = arrivals(&mut link, &mut cx);
        assert_eq!(numbers(&passed), (0..pass).chain([10]).collect::<Vec<_>>());
        assert_eq!(link.statistics(Direction::Forward, cx.now).max as u64, pass - 1);
        assert_eq!(cx.ledger.outstanding(), 0);
    }
}

#[test]
fn the_mean_queue_length_is_weighed_by_time() {
    let (mut link, mut cx) = link(&bottleneck());
    send(&mut link, &mut cx, 0..3);
    // The second waits for 10.4 ms, the third for 20.8 ms.
    let mean = |millis| link.statistics(Direction::Forward, Time::ZERO + Span::from_millis(millis)).mean;
    assert!((mean(52) - 0.6).abs() < 1e-9);
    assert!((mean(5) - 2.0).abs() < 1e-9);
    assert!((mean(13) - (10.4 + 13.0) / 13.0).abs() < 1e-9);
}

#[test]
fn packets_are_lost_by_number() {
    let losses = Losses { packets: vec![1, 4], ..Losses::default() };
    let (mut link, mut cx) = link(&Params { losses, ..bottleneck() });
    send(&mut link, &mut cx, 10..16);
    assert_eq!(dropped(&cx, DropReason::ScriptedLoss), 2);
    let passed = arrivals(&mut link, &mut cx);
    assert_eq!(numbers(&passed), [10, 12, 13, 15]);
    assert_eq!(passed[1].0, 120_800, "a packet lost by number takes no time on the wire");
}

#[test]
fn a_segment_listed_twice_loses_its_retransmission_too() {
    let losses = Losses { segments: vec![14, 28, 14], ..Losses::default() };
    let (mut link, mut cx) = link(&Params { losses, ..bottleneck() });
    send(&mut link, &mut cx, [13, 14, 15, 28, 14, 28, 14, 29]);
    let passed = arrivals(&mut link, &mut cx);
    assert_eq!(numbers(&passed), [13, 15, 28, 14, 29]);
    assert_eq!(dropped(&cx, DropReason::ScriptedLoss), 3);
}

#[test]
fn acknowledgements_are_no_segments() {
    let losses = Losses { segments: vec![0], ..Losses::default() };
    let (mut link, mut cx) = link(&Params { losses, ..bottleneck() });
    let packet = segment(&mut cx, 0);
    cx.packets[packet].body = Body::Tcp(TcpHeader { len: 0, ..TcpHeader::default() });
    link.enqueue(Direction::Forward, packet, &mut cx);
    assert_eq!(link.held().count(), 1);
}

#[test]
fn random_losses_have_their_rate() {
    let losses = Losses { rate: 0.1, ..Losses::default() };
    let params = Params { losses, queue_length: 20_000, ..bottleneck() };
    let (mut link, mut cx) = link(&params);
    send(&mut link, &mut cx, 0..10_000);
    let passed = arrivals(&mut link, &mut cx);
    // Four standard deviations of a binomial draw are 120.
    assert!(passed.len().abs_diff(9_000) < 120, "{}", passed.len());
    assert_eq!(passed.len() as u64 + dropped(&cx, DropReason::ScriptedLoss), 10_000);
    assert_eq!(passed[passed.len() - 1].0 % 10_400, 100_000 % 10_400, "a packet lost at random takes its time");
}

#[test]
fn impossible_values_are_named() {
    let params = Params { losses_back: Losses { rate: 1.5, ..Losses::default() }, ..bottleneck() };
    assert_eq!(params.check().map_err(|fault| fault.parameter), Err("losses_back"));
}

#[test]
fn each_direction_may_have_a_rate_and_a_delay_of_its_own() {
    // An uplink of 756 kb/s and 25 ms, whose other direction is ten times as fast and takes 5 ms.
    let params = Params {
        rate: Rate::from_bps(756_000),
        delay: Span::from_millis(25),
        rate_back: Back::Own(Rate::from_bps(7_560_000)),
        delay_back: Back::Own(Span::from_millis(5)),
        ..Params::of_profile(RFC)
    };
    let (mut link, mut cx) = link(&params);
    for direction in [Direction::Forward, Direction::Backward] {
        let packet = segment(&mut cx, 0);
        link.enqueue(direction, packet, &mut cx);
    }
    // 1040 B take 11.005 ms and 1.1 ms.
    let busy = [Direction::Forward, Direction::Backward].map(|it| link.busy_until(it).nanos() / 1000);
    assert_eq!(busy, [11_005, 1_100]);
    assert_eq!([Direction::Forward, Direction::Backward].map(|it| link.delay(it)), [25, 5].map(Span::from_millis));
    assert_eq!(link.deadline().nanos() / 1000, 1_100 + 5_000, "the other direction arrives first");
    let value = serde_json::to_value(&params).expect("an object");
    assert_eq!(params::read::<Params>(&value), Ok(params));
    assert_eq!(serde_json::to_value(Params::of_profile(RFC)).expect("an object")["rate_back"], "same");
}

const fn at(micros: u64) -> Time {
    Time::from_nanos(micros * 1000)
}

fn down(from: Span, to: Option<Span>) -> Down {
    Down { from, to }
}

/// The bottleneck, down at these times in milliseconds.
fn falling(intervals: &[(u64, u64)]) -> (Wired, Context) {
    let down = intervals.iter().map(|&(from, to)| down(Span::from_millis(from), Some(Span::from_millis(to)))).collect();
    link(&Params { down, ..bottleneck() })
}

#[test]
fn what_is_in_a_link_that_goes_down_is_lost() {
    // A packet takes 10.4 ms: at 15 ms one is under way, one is being sent, and one waits.
    let (mut link, mut cx) = falling(&[(15, 200)]);
    send(&mut link, &mut cx, 0..3);
    let back = segment(&mut cx, 9);
    link.enqueue(Direction::Backward, back, &mut cx);
    assert_eq!(link.deadline(), at(15_000));
    assert_eq!(arrivals(&mut link, &mut cx), []);
    assert_eq!((cx.now, dropped(&cx, DropReason::WireDown)), (at(15_000), 3));
    assert_eq!(cx.drops.get(NodeId(1), PacketKind::Data, DropReason::WireDown), 1, "the other direction, too");
    // So is what is sent into it, up to the last nanosecond.
    cx.now = Time::from_nanos(at(200_000).nanos() - 1);
    send(&mut link, &mut cx, [3]);
    assert_eq!((link.deadline(), dropped(&cx, DropReason::WireDown)), (Time::NEVER, 4));
    cx.now = at(200_000);
    send(&mut link, &mut cx, [4]);
    assert_eq!(arrivals(&mut link, &mut cx), [(310_400, 4)]);
    assert_eq!((cx.ledger.outstanding(), link.held().count()), (0, 0));
}

#[test]
fn a_packet_arrives_in_the_last_nanosecond_before_the_link_goes_down() {
    for (late, passed) in [(0, 0), (1, 1)] {
        let from = Span::from_nanos(110_400_000 + late);
        let (mut link, mut cx) = link(&Params { down: vec![down(from, None)], ..bottleneck() });
        send(&mut link, &mut cx, [0]);
        assert_eq!(arrivals(&mut link, &mut cx).len(), passed, "{from}");
        assert_eq!(dropped(&cx, DropReason::WireDown), 1 - passed as u64);
        // It is down for ever.
        cx.now = Time::ZERO + Span::from_secs(1_000_000);
        send(&mut link, &mut cx, [1]);
        assert_eq!((link.deadline(), dropped(&cx, DropReason::WireDown)), (Time::NEVER, 2 - passed as u64));
    }
}

#[test]
fn a_link_may_start_down() {
    let (mut link, mut cx) = falling(&[(0, 20), (20, 30)]);
    for (time, packet) in [(0, 0), (20_000, 1), (29_999, 2), (30_000, 3)] {
        cx.now = at(time);
        send(&mut link, &mut cx, [packet]);
    }
    assert_eq!(arrivals(&mut link, &mut cx), [(140_400, 3)]);
    assert_eq!(dropped(&cx, DropReason::WireDown), 3);
}

#[test]
fn a_link_that_comes_up_is_idle_and_its_queue_empty() {
    let (mut link, mut cx) = falling(&[(20, 21)]);
    send(&mut link, &mut cx, 0..60);
    assert_eq!(dropped(&cx, DropReason::QueueFull), 9);
    cx.now = link.deadline();
    link.on_timer(&mut cx);
    assert_eq!((cx.now, link.busy_until(Direction::Forward)), (at(20_000), at(20_000)));
    cx.now = at(21_000);
    // One is sent, and the queue holds 50.
    send(&mut link, &mut cx, 60..120);
    assert_eq!((link.waiting(Direction::Forward, cx.now), dropped(&cx, DropReason::QueueFull)), (50, 18));
    assert_eq!(arrivals(&mut link, &mut cx)[..2], [(131_400, 60), (141_800, 61)]);
}

#[test]
fn packets_that_are_lost_in_a_queue_have_waited_until_then() {
    let (mut link, mut cx) = falling(&[(5, 8)]);
    // The second and the third wait for 5 ms each.
    send(&mut link, &mut cx, 0..3);
    arrivals(&mut link, &mut cx);
    let statistics = link.statistics(Direction::Forward, at(10_000));
    assert!((statistics.mean - 1.0).abs() < 1e-9 && statistics.max == 2, "{statistics:?}");
}

#[test]
fn intervals_without_packets_pass_without_an_event() {
    let (mut link, mut cx) = falling(&[(10, 20), (30, 40), (50, 60)]);
    assert_eq!(link.deadline(), Time::NEVER);
    cx.now = at(35_000);
    send(&mut link, &mut cx, [0]);
    assert_eq!((link.deadline(), dropped(&cx, DropReason::WireDown)), (Time::NEVER, 1));
    cx.now = at(70_000);
    send(&mut link, &mut cx, [1]);
    assert_eq!(arrivals(&mut link, &mut cx), [(180_400, 1)]);
}

#[test]
fn what_is_sent_into_a_link_that_is_down_has_no_number() {
    let losses = Losses { packets: vec![1], ..Losses::default() };
    let down = vec![down(Span::ZERO, Some(Span::from_millis(1)))];
    let (mut link, mut cx) = link(&Params { losses, down, ..bottleneck() });
    send(&mut link, &mut cx, [0, 1]);
    cx.now = at(1000);
    send(&mut link, &mut cx, [2, 3, 4]);
    assert_eq!(numbers(&arrivals(&mut link, &mut cx)), [2, 4]);
    assert_eq!((dropped(&cx, DropReason::WireDown), dropped(&cx, DropReason::ScriptedLoss)), (2, 1));
}

#[test]
fn intervals_follow_each_other() {
    let faults = |intervals: &[(u64, Option<u64>)]| {
        let down = intervals.iter().map(|&(from, to)| down(Span::from_secs(from), to.map(Span::from_secs))).collect();
        let checked = Params { down, ..bottleneck() }.check();
        checked.map_err(|fault| (fault.parameter, fault.elements))
    };
    assert_eq!(faults(&[(0, Some(1)), (1, Some(2)), (5, None)]), Ok(()));
    let said = |places: &[(usize, &str)]| {
        Err(("down", places.iter().map(|&(place, words)| (place, words.to_owned())).collect::<Vec<_>>()))
    };
    assert_eq!(
        faults(&[(1, Some(9)), (2, Some(3)), (8, Some(10))]),
        said(&[
            (1, "the link goes down at 2 s, but is down already, until 9 s"),
            (2, "the link goes down at 8 s, but is down already, until 9 s"),
        ])
    );
    assert_eq!(
        faults(&[(3, Some(3)), (5, Some(4)), (6, None), (7, Some(8))]),
        said(&[
            (0, "the link is down from 3 s to 3 s: it must come up after it goes down"),
            (1, "the link is down from 5 s to 4 s: it must come up after it goes down"),
            (3, "the link goes down at 7 s, but is down already, for ever"),
        ])
    );
}

/// Sends a packet each 20 ms, and gives times in milliseconds and numbers in order of arrival.
fn replayed(link: &mut Wired, cx: &mut Context, count: u64) -> Vec<(u64, u64)> {
    let mut found = Vec::new();
    for number in 0..count {
        let time = at(20_000 * number);
        while link.deadline() <= time {
            cx.now = link.deadline();
            link.on_timer(cx);
            while let Some(Action::Receive { packet, .. }) = cx.actions.pop_front() {
                let Body::Tcp(header) = cx.deliver(packet).body else { panic!("a segment was sent") };
                found.push((cx.now.nanos() / 1_000_000, header.seq / 1000));
            }
        }
        cx.now = time;
        send(link, cx, [number]);
    }
    found.extend(arrivals(link, cx).into_iter().map(|(micros, number)| (micros / 1000, number)));
    found
}

fn entry(packet: u64, delay: u64, loss: f64) -> Entry {
    Entry { from: None, packet: Some(packet), delay: Span::from_millis(delay), loss }
}

#[test]
fn a_schedule_sets_the_delay_of_each_packet() {
    let from = |millis, delay| Entry {
        from: Some(Span::from_millis(millis)),
        packet: None,
        delay: Span::from_millis(delay),
        loss: 0.0,
    };
    let params = Params { delay: Span::from_millis(1), rate: Rate::from_bps(8_320_000), ..bottleneck() };
    let by_time = Params { replay: vec![from(0, 100), from(30, 10), from(70, 50)], ..params.clone() };
    let by_packet = Params { replay: vec![entry(0, 100, 0.0), entry(2, 10, 0.0), entry(4, 50, 0.0)], ..params };
    for params in [by_time, by_packet] {
        // A packet of 1 ms, then the delay of the link, 1 ms, and of the schedule. The third could overtake the first.
        for (overtaking, expected) in [
            (false, [(102, 0), (122, 1), (122, 2), (122, 3), (132, 4), (152, 5)]),
            (true, [(52, 2), (72, 3), (102, 0), (122, 1), (132, 4), (152, 5)]),
        ] {
            let (mut link, mut cx) = link(&Params { overtaking, ..params.clone() });
            assert_eq!(replayed(&mut link, &mut cx, 6), expected, "overtaking: {overtaking}");
            assert_eq!((cx.ledger.outstanding(), link.deadline()), (0, Time::NEVER));
        }
    }
}

#[test]
fn a_schedule_of_the_other_direction_is_its_own() {
    let (mut link, mut cx) = link(&Params { replay_back: vec![entry(0, 500, 0.0)], ..bottleneck() });
    send(&mut link, &mut cx, [0]);
    assert_eq!(link.deadline(), at(110_400));
    assert_eq!(arrivals(&mut link, &mut cx), [(110_400, 0)]);
    let back = segment(&mut cx, 9);
    link.enqueue(Direction::Backward, back, &mut cx);
    assert_eq!(link.deadline(), at(110_400 + 610_400));
}

#[test]
fn a_schedule_loses_at_its_rates() {
    let replay = vec![entry(0, 0, 0.0), entry(5_000, 0, 0.3), entry(15_000, 0, 1.0)];
    let (mut link, mut cx) = link(&Params { replay, queue_length: 20_000, ..bottleneck() });
    send(&mut link, &mut cx, 0..16_000);
    let passed = numbers(&arrivals(&mut link, &mut cx));
    assert!(passed[..5_000].iter().copied().eq(0..5_000) && passed.iter().all(|&number| number < 15_000));
    // Four standard deviations of a binomial draw are 184.
    assert!(passed.len().abs_diff(12_000) < 184, "{}", passed.len());
    assert_eq!(passed.len() as u64 + dropped(&cx, DropReason::ScriptedLoss), 16_000);
}

#[test]
fn a_queue_counts_what_waits_while_packets_overtake() {
    // The first takes 10.4 ms and 200 ms more; those behind it arrive before it.
    let params = Params { replay: vec![entry(0, 200, 0.0), entry(1, 0, 0.0)], overtaking: true, ..bottleneck() };
    let (mut link, mut cx) = link(&Params { queue_length: 2, ..params });
    send(&mut link, &mut cx, 0..4);
    assert_eq!(dropped(&cx, DropReason::QueueFull), 1);
    cx.now = at(25_000);
    assert_eq!(link.waiting(Direction::Forward, cx.now), 0);
    send(&mut link, &mut cx, 4..8);
    assert_eq!((link.waiting(Direction::Forward, cx.now), dropped(&cx, DropReason::QueueFull)), (2, 3));
    assert_eq!(numbers(&arrivals(&mut link, &mut cx)), [1, 2, 4, 5, 0]);
    cx.now = at(900_000);
    send(&mut link, &mut cx, 8..12);
    assert_eq!((link.waiting(Direction::Forward, cx.now), dropped(&cx, DropReason::QueueFull)), (2, 4));
}

proptest! {
    /// Each packet arrives unless the link is down when the packet is sent, or goes down before the packet arrives. A
    /// packet is sent after the packets before it, as far as they are still there.
    #[test]
    fn packets_arrive_between_the_times_at_which_a_link_is_down(
        // Microseconds: between packets, and for which the link is up and down.
        gaps in prop::collection::vec(0..40_000_u64, 1..40),
        changes in prop::collection::vec((0..300_000_u64, 1..100_000_u64), 0..5),
    ) {
        let mut now = 0;
        let mut intervals = Vec::new();
        for (up, down) in changes {
            intervals.push((now + up, now + up + down));
            now += up + down;
        }
        let micros = |(from, to)| down(Span::from_micros(from), Some(Span::from_micros(to)));
        let down = intervals.iter().copied().map(micros).collect();
        let (mut link, mut cx) = link(&Params { down, queue_length: 100, ..bottleneck() });
        let (mut found, mut expected, mut busy) = (Vec::new(), Vec::new(), (0, 0));
        let mut time = 0;
        for (number, gap) in (0..).zip(gaps) {
            time += gap;
            // What arrives before, or when, the packet is sent.
            while link.deadline() <= at(time) {
                cx.now = link.deadline();
                link.on_timer(&mut cx);
                while let Some(Action::Receive { packet, .. }) = cx.actions.pop_front() {
                    let Body::Tcp(header) = cx.deliver(packet).body else { panic!("a segment was sent") };
                    found.push((cx.now.nanos() / 1000, header.seq / 1000));
                }
            }
            cx.now = at(time);
            send(&mut link, &mut cx, [number]);
            if intervals.iter().any(|&(from, to)| from <= time && time < to) {
                continue;
            }
            // The link is idle when it has come up.
            let up_since = intervals.iter().map(|&(_, to)| to).filter(|&to| to <= time).max().unwrap_or(0);
            let starts = if busy.0 == up_since { time.max(busy.1) } else { time };
            busy = (up_since, starts + 10_400);
            let arrives = starts + 110_400;
            if !intervals.iter().any(|&(from, _)| time < from && from <= arrives) {
                expected.push((arrives, number));
            }
        }
        found.extend(arrivals(&mut link, &mut cx));
        prop_assert_eq!(cx.ledger.outstanding(), 0);
        prop_assert_eq!(found.len() as u64 + dropped(&cx, DropReason::WireDown), cx.ledger.originated);
        prop_assert_eq!(found, expected);
    }
}

/// Packets that come to a direction, each so many microseconds after the one before it, and its size.
fn comings() -> impl Strategy<Value = Vec<(u64, u32)>> {
    prop::collection::vec((prop_oneof![Just(0), 1..3000_u64, Just(800)], 40..1500_u32), 1..80)
}

proptest! {
    /// A wire that knows ahead when each packet leaves carries the same ones at the same times as one that asks its
    /// queue packet by packet, also while it is down.
    #[test]
    fn drop_tail_ahead_is_drop_tail_packet_by_packet(comings in comings(), down in prop::option::of((0..40_000_u64, 1..20_000_u64))) {
        let down = down.map(|(from, length)| {
            Down { from: Span::from_micros(from), to: Some(Span::from_micros(from + length)) }
        });
        let params = Params {
            rate: Rate::from_bps(8_000_000),
            delay: Span::from_millis(1),
            queue_length: 4,
            down: down.into_iter().collect(),
            ..Params::of_profile(RFC)
        };
        let run = |by_packet: bool| {
            let (mut wire, mut cx) = link(&params);
            if by_packet {
                let streams = ["a", "b"].map(|name| Streams::new(1, 0).stream(name));
                wire = wire.disciplined(&params, &queue::Config::first(RFC), streams);
            }
            let mut arrived = Vec::new();
            let mut until = |wire: &mut Wired, cx: &mut Context, end: Time| {
                // What is due at the same time happens first.
                while wire.deadline() <= end && wire.deadline() != Time::NEVER {
                    cx.now = wire.deadline();
                    wire.on_timer(cx);
                    while let Some(action) = cx.actions.pop_front() {
                        let Action::Receive { packet, .. } = action else { panic!("{action:?}") };
                        let Body::Tcp(header) = cx.deliver(packet).body else { panic!("a segment was sent") };
                        arrived.push((cx.now, header.seq));
                    }
                }
            };
            let mut now = Time::ZERO;
            for (number, &(after, size)) in comings.iter().enumerate() {
                now += Span::from_micros(after);
                until(&mut wire, &mut cx, now);
                cx.now = now;
                let packet = segment(&mut cx, number as u64);
                cx.packets[packet].size = size;
                wire.enqueue(Direction::Forward, packet, &mut cx);
            }
            until(&mut wire, &mut cx, Time::from_nanos(u64::MAX - 1));
            let lost = [DropReason::QueueFull, DropReason::WireDown].map(|reason| dropped(&cx, reason));
            let length = wire.statistics(Direction::Forward, Time::ZERO + Span::from_secs(1));
            (arrived, lost, length.max, (length.mean * 1e9).round(), cx.ledger.outstanding())
        };
        prop_assert_eq!(run(false), run(true));
    }
}
