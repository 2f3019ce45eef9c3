use hopyard_engine::{Deadline as _, Span, Streams, Time};
use proptest::prelude::*;

use super::*;
use crate::address::{InterfaceId, NodeId};
use crate::context::{Action, Context, DropReason};
use crate::link::queue;
use crate::link::wired::{Direction, Down, Params, Wired};
use crate::packet::{Body, Packet, PacketKind, TcpHeader};
use crate::params::{Params as _, RFC};

const FIRST: InterfaceId = InterfaceId(0);
const SECOND: InterfaceId = InterfaceId(1);

/// When packets come or arrive, and their sizes.
type Packets = &'static [(u64, u32)];

fn read(format: Format, text: &str) -> Trace {
    format.read("f", text.as_bytes()).unwrap_or_else(|bad| panic!("{bad}"))
}

fn values(end: End, text: &str) -> Trace {
    read(Format::Values(end), text)
}

fn opportunities(text: &str) -> Trace {
    read(Format::Opportunities, text)
}

fn faults(format: Format, bytes: &[u8]) -> String {
    format.read("f.csv", bytes).expect_err("it is faulty").to_string()
}

fn params() -> Params {
    Params { delay: Span::ZERO, queue_length: 10_000, ..Params::of_profile(RFC) }
}

fn wire(params: &Params, traces: &[Trace]) -> Wired {
    let streams = Streams::new(1, 0);
    let rngs = ["forward", "backward"].map(|name| streams.stream(name));
    Wired::new(params, [(NodeId(0), FIRST), (NodeId(1), SECOND)], rngs).traced(&[traces.to_vec(), Vec::new()])
}

/// The nanoseconds and sizes of what arrives, if packets of these sizes come at these nanoseconds. An event of the wire
/// at the time of a packet comes before or after it.
fn carried(mut wire: Wired, packets: &[(u64, u32)], is_wire_first: bool) -> (Vec<(u64, u32)>, Context) {
    let (mut cx, mut all, mut packets) = (Context::default(), Vec::new(), packets.iter().peekable());
    loop {
        let next = packets.peek().map_or(Time::NEVER, |(at, _)| Time::from_nanos(*at));
        let due = wire.deadline();
        if next.min(due) == Time::NEVER {
            return (all, cx);
        }
        cx.now = next.min(due);
        if due < next || due == next && is_wire_first {
            wire.on_timer(&mut cx);
        } else if let Some(&(_, size)) = packets.next() {
            let packet = cx.originate(Packet {
                created: cx.now,
                source: FIRST.into(),
                destination: SECOND.into(),
                ..crate::samples::packet(size, Body::Tcp(TcpHeader { len: size - 1, ..TcpHeader::default() }))
            });
            wire.enqueue(Direction::Forward, packet, &mut cx);
        }
        while let Some(action) = cx.actions.pop_front() {
            let Action::Receive { packet, .. } = action else { panic!("{action:?}") };
            let size = cx.deliver(packet).size;
            all.push((cx.now.nanos(), size));
        }
    }
}

/// What arrives of packets, whichever queue they wait in. The queues are too long to drop any.
fn delivered(params: &Params, traces: &[Trace], packets: &[(u64, u32)]) -> Vec<(u64, u32)> {
    let plain = carried(wire(params, traces), packets, true).0;
    for is_wire_first in [true, false] {
        let queue = queue::Config::of_profile("red", RFC).expect("a discipline");
        let queue::Config::Red(mut red) = queue else { panic!("{queue:?}") };
        (red.min_threshold, red.max_threshold) = (9000.0, 9500.0);
        let rngs = ["a", "b"].map(|name| Streams::new(1, 0).stream(name));
        let lined = wire(params, traces).disciplined(params, &queue::Config::Red(red), rngs);
        assert_eq!(carried(lined, packets, is_wire_first).0, plain, "one packet after the other, as if known ahead");
        assert_eq!(carried(wire(params, traces), packets, is_wire_first).0, plain, "no order of events counts");
    }
    plain
}

fn dropped(cx: &Context, reason: DropReason) -> u64 {
    cx.drops.get(NodeId(0), PacketKind::Data, reason)
}

/// So many packets of a size at a time.
fn burst(count: usize, at: u64, size: u32) -> Vec<(u64, u32)> {
    vec![(at, size); count]
}

fn times(arrivals: &[(u64, u32)]) -> Vec<u64> {
    arrivals.iter().map(|(at, _)| *at).collect()
}

#[test]
fn bits_leave_at_the_rate_of_each_instant() {
    // 8 bits a microsecond for 1.5 ms, nothing for 1 ms, then 4 bits a microsecond.
    let trace = values(End::Hold, "time_s,rate_mbps\n0,8\n0.0015,0\n0.0025,4\n");
    let found = delivered(&params(), std::slice::from_ref(&trace), &burst(4, 0, 1000));
    assert_eq!(times(&found), [1_000_000, 3_500_000, 5_500_000, 7_500_000]);
    // 7 bits a nanosecond: the last bit of 250 bytes leaves in the 286th nanosecond, and the next packet starts there.
    let odd = values(End::Hold, "time_s,rate_mbps\n0,7000\n");
    assert_eq!(times(&delivered(&params(), &[odd], &burst(2, 5, 250))), [5 + 286, 5 + 572]);
    // One that comes while nothing is sent waits for the rate.
    assert_eq!(times(&delivered(&params(), &[trace], &[(2_000_000, 500)])), [3_500_000]);
}

#[test]
fn a_table_begins_again_at_its_last_row_or_holds_it() {
    let text = "time_s,rate_mbps\n0,8\n0.001,0\n0.003,16\n";
    let sent = [(0, 1000), (0, 1000), (0, 2000), (10_000_000, 1000)];
    // A turn of 3 ms carries 1000 bytes in its first millisecond.
    let looped = delivered(&params(), &[values(End::Loop, text)], &sent);
    assert_eq!(times(&looped), [1_000_000, 4_000_000, 10_000_000, 13_000_000]);
    let held = delivered(&params(), &[values(End::Hold, text)], &sent);
    assert_eq!(times(&held), [1_000_000, 3_500_000, 4_500_000, 10_500_000]);
}

#[test]
fn what_a_last_row_of_zero_keeps_never_arrives() {
    let trace = values(End::Hold, "time_s,rate_mbps\n0,8\n0.0015,0\n");
    let (arrived, cx) = carried(wire(&params(), std::slice::from_ref(&trace)), &burst(3, 0, 1000), true);
    assert_eq!(times(&arrived), [1_000_000]);
    assert_eq!(cx.packets.len(), 2, "the others are still there");
    // A short queue fills.
    let short = Params { queue_length: 3, ..params() };
    let (arrived, cx) = carried(wire(&short, &[trace]), &burst(9, 0, 1000), true);
    assert_eq!((arrived.len(), dropped(&cx, DropReason::QueueFull)), (1, 5), "one is being sent, three wait");
}

#[test]
fn delay_and_loss_are_those_of_the_last_bit() {
    let text = "time_s,rate_mbps,delay_ms,loss\n0,8,10,0\n0.0015,8,2.5,0\n0.0035,8,1,1\n0.01,8,0,0\n";
    let (arrived, cx) = carried(wire(&params(), &[values(End::Hold, text)]), &burst(4, 0, 1000), true);
    // The second one would overtake the first. The fourth ends at 4 ms, where each is lost.
    assert_eq!(times(&arrived), [11_000_000, 11_000_000, 11_000_000]);
    assert_eq!(dropped(&cx, DropReason::ScriptedLoss), 1);
    let overtaking = Params { overtaking: true, ..params() };
    let (arrived, _) = carried(wire(&overtaking, &[values(End::Hold, text)]), &burst(3, 0, 1000), true);
    assert_eq!(times(&arrived), [4_500_000, 5_500_000, 11_000_000]);
    // Without these columns the wire has its own.
    let own = Params { delay: Span::from_millis(7), ..params() };
    let rates = values(End::Hold, "rate_mbps;time_s\n8;0\n");
    assert_eq!(times(&delivered(&own, &[rates], &burst(1, 0, 1000))), [8_000_000]);
    let delays = values(End::Hold, "time_s\tdelay_ms\n0\t3\n");
    assert_eq!(times(&delivered(&own, &[delays], &burst(1, 0, 1250))), [4_000_000], "10 Mbit/s");
}

#[test]
fn losses_come_at_the_rate_of_the_table() {
    let trace = values(End::Loop, "time_s,loss\n0,0.25\n1,0.75\n2,0\n");
    let sent: Vec<_> = (0..8000).map(|number| (number * 1_000_000, 100)).collect();
    let (arrived, cx) = carried(wire(&params(), &[trace]), &sent, true);
    assert_eq!(arrived.len() as u64 + dropped(&cx, DropReason::ScriptedLoss), 8000);
    let in_odd = arrived.iter().filter(|(at, _)| at / 1_000_000_000 % 2 == 1).count();
    // Four standard errors of 4000 draws: 110.
    assert!(in_odd.abs_diff(1000) < 110 && (arrived.len() - in_odd).abs_diff(3000) < 110, "{in_odd}");
}

#[test]
fn a_link_that_goes_down_loses_what_was_served_in_advance() {
    let down = vec![Down { from: Span::from_millis(3), to: Some(Span::from_micros(4500)) }];
    let params = Params { down, ..params() };
    let mut sent = burst(9, 0, 1500);
    sent.push((5_100_000, 1500));
    let every = opportunities("1\n");
    assert_eq!(times(&delivered(&params, &[every], &sent)), [1_000_000, 2_000_000, 6_000_000]);
    let trace = values(End::Hold, "time_s,rate_mbps\n0,12\n");
    assert_eq!(times(&delivered(&params, &[trace], &sent)), [1_000_000, 2_000_000, 6_100_000]);
}

#[test]
fn opportunities_carry_what_they_do_in_mahimahi() {
    // The third column is the length of the queue. The last one is what mahimahi's own `LinkQueue` delivers, at commit
    // ae477d4, with a clock that a test moves from millisecond to millisecond.
    #[rustfmt::skip]
    let cases: [(&str, &str, u32, Packets, Packets); 5] = [
        (
            "several packets share an opportunity, and one takes several",
            "1\n1\n4\n5\n",
            10000,
            &[(0, 1500), (0, 40), (0, 1500), (0, 700), (0, 700), (2, 60), (4, 1500), (9, 1500), (9, 1200)],
            &[(1, 1500), (1, 40), (4, 1500), (4, 700), (4, 700), (5, 60), (6, 1500), (10, 1500), (11, 1200)],
        ),
        (
            "a first line of zero, and a packet in the millisecond of an opportunity",
            "0\n3\n",
            10000,
            &[(0, 1500), (0, 1500), (0, 40), (0, 40), (3, 1500), (7, 1499), (7, 1), (8, 3)],
            &[(3, 1500), (3, 1500), (6, 40), (6, 40), (6, 1500), (9, 1499), (9, 1), (9, 3)],
        ),
        (
            "one opportunity in a turn",
            "7\n",
            10000,
            &[(0, 700), (0, 700), (1, 100), (6, 1500), (7, 40), (20, 40), (21, 40)],
            &[(7, 700), (7, 700), (14, 100), (21, 1500), (21, 40), (21, 40), (28, 40)],
        ),
        (
            "a queue of three packets",
            "2\n2\n2\n10\n",
            3,
            &[(0, 1500), (0, 600), (0, 600), (0, 600), (0, 600), (1, 600), (2, 600), (3, 600), (3, 1500), (9, 40)],
            &[(2, 1500), (2, 600), (2, 600), (10, 600), (10, 600), (12, 1500)],
        ),
        (
            "drawn",
            "0\n0\n1\n2\n5\n9\n10\n16\n20\n25\n25\n28\n29\n29\n",
            10000,
            &[
                (0, 1000), (5, 1500), (5, 1000), (7, 60), (9, 1500), (10, 1500), (10, 1500), (10, 1500), (10, 60),
                (12, 20), (17, 576), (19, 1000), (19, 20), (24, 1499), (29, 200), (29, 1500), (30, 200),
                (30, 1500), (30, 576), (31, 1000), (33, 40), (33, 20), (38, 1000), (39, 60),
            ],
            &[
                (1, 1000), (9, 1500), (10, 1000), (10, 60), (16, 1500), (20, 1500), (25, 1500), (25, 1500),
                (25, 60), (25, 20), (28, 576), (28, 1000), (28, 20), (29, 1499), (30, 200), (31, 1500), (31, 200),
                (34, 1500), (34, 576), (38, 1000), (38, 40), (38, 20), (39, 1000), (45, 60),
            ],
        ),
    ];
    for (name, text, queue_length, sent, expected) in cases {
        let in_nanos = |list: &[(u64, u32)]| list.iter().map(|(at, size)| (at * 1_000_000, *size)).collect::<Vec<_>>();
        let params = Params { queue_length, ..params() };
        if queue_length < 100 {
            let (found, cx) = carried(wire(&params, &[opportunities(text)]), &in_nanos(sent), true);
            assert_eq!(found, in_nanos(expected), "{name}");
            assert_eq!(dropped(&cx, DropReason::QueueFull), (sent.len() - expected.len()) as u64);
        } else {
            assert_eq!(delivered(&params, &[opportunities(text)], &in_nanos(sent)), in_nanos(expected), "{name}");
        }
    }
}

#[test]
fn opportunities_come_between_milliseconds_too() {
    let every = opportunities("1\n2\n");
    // A packet just before an opportunity takes it; one in its nanosecond takes the next one.
    let found =
        delivered(&params(), std::slice::from_ref(&every), &[(999_999, 1500), (3_000_000, 1500), (3_500_000, 100)]);
    assert_eq!(times(&found), [1_000_000, 4_000_000, 5_000_000]);
    // A longer packet than mahimahi's goes on in the next opportunity, and shares that.
    let found = delivered(&params(), &[every], &[(0, 2000), (0, 900), (0, 900)]);
    assert_eq!(times(&found), [2_000_000, 2_000_000, 3_000_000]);
    assert_eq!(opportunities("1\n2\n4\n").mean(), Some(Rate::from_bps(9_000_000)));
    assert_eq!(values(End::Hold, "time_s,rate_mbps\n0,4\n1,10\n3,80\n").mean(), Some(Rate::from_bps(8_000_000)));
    assert_eq!(values(End::Loop, "time_s,loss\n0,1\n1,0\n").mean(), None);
}

#[test]
fn faults_are_named_with_their_lines() {
    let table = Format::Values(End::Hold);
    let found =
        faults(table, b"time_s,rate_mbps,delay_ms,loss\n0,NaN,1,0\n1,-2,-1,1.5\n1,2,3,0\n0.5,2,3,0\n2,1\n3,1,\xff,0\n");
    for expected in [
        "f.csv:2: expected a rate of 0 to 1000000000 Mbit/s, found: 0,NaN,1,0",
        "f.csv:3: expected a rate of 0 to 1000000000 Mbit/s, and a delay of 0 to 1600000000000 ms, and a loss of 0 to 1",
        "f.csv:4: expected a time after the one above, found: 1,2,3,0",
        "f.csv:5: expected a time after the one above, found: 0.5,2,3,0",
        "f.csv:6: expected 4 values, found: 2,1",
        "f.csv:7: expected a delay of 0 to 1600000000000 ms, found: 3,1,\u{fffd},0",
    ] {
        assert!(found.contains(expected), "{expected}: {found}");
    }
    let found = faults(table, b"time_s,loss\n0,0\n2,0\n2,0\n1,0\n");
    assert_eq!(found.matches("expected a time after the one above").count(), 2, "{found}");
    let late = faults(table, b"time_s,loss\n1,0\n2,3\n");
    assert!(
        late.contains("f.csv:2: expected the time 0 in the first row, found: 1,0\nf.csv:3: expected a loss"),
        "{late}"
    );
    let header = "expected a header with time_s and at least one of rate_mbps, delay_ms and loss";
    for text in ["", "\n# nothing\n", "time_s\n0\n", "time_s,rate\n0,1\n", "time_s,loss,loss\n", "1\n2\n"] {
        assert!(faults(table, text.as_bytes()).contains(header), "{text:?}");
    }
    assert!(faults(table, b"time_s,loss\n").contains("expected at least one row"));
    assert!(faults(table, b"time_s,rate_mbps\n0,0\n1,0\n").contains("expected a rate above zero in at least one row"));
    let looped = Format::Values(End::Loop);
    assert!(faults(looped, b"time_s,loss\n0,0\n").contains("expected at least two rows"));
    assert!(faults(looped, b"time_s,rate_mbps\n0,0\n1,5\n").contains("apart from the last one"));

    let found = faults(Format::Opportunities, b"1\n+2\n-3\n1.5\nNaN\n0\n9999999999999999999999\n\xff\n");
    for (line, value) in [(2, "+2"), (3, "-3"), (4, "1.5"), (5, "NaN"), (7, "9999999999999999999999"), (8, "\u{fffd}")]
    {
        let expected =
            format!("f.csv:{line}: expected a whole number of milliseconds from 0 to 1600000000000, found: {value}");
        assert!(found.contains(&expected), "{expected}: {found}");
    }
    assert!(found.contains("f.csv:6: expected a time that is not before the one above, found: 0"), "{found}");
    assert!(faults(Format::Opportunities, b"# none\n").contains("expected at least one line with milliseconds"));
    assert!(faults(Format::Opportunities, b"0\n0\n").contains("expected a time above zero in the last line"));
}

proptest! {
    #[test]
    fn a_table_of_one_rate_is_that_rate(
        rate in 1u64..2_000_000_000,
        cut in 1u64..1_000_000,
        packets in prop::collection::vec((0u64..9_000_000, 20u32..2296), 1..60)
    ) {
        let mut packets = packets;
        packets.sort_unstable();
        let mbps = rate as f64 / 1e6;
        let cut = cut as f64 / 1e9;
        let constant = Params { rate: Rate::from_bps(rate), ..params() };
        let plain = delivered(&constant, &[], &packets);
        for end in [End::Hold, End::Loop] {
            let text = format!("time_s,rate_mbps\n0,{mbps:.6}\n{cut:.9},{mbps:.6}\n");
            prop_assert_eq!(&delivered(&params(), &[values(end, &text)], &packets), &plain);
        }
    }

    #[test]
    fn a_trace_carries_the_integral_of_its_rate(
        rows in prop::collection::vec((1u64..3_000_000, 0u64..50), 1..8),
        packets in prop::collection::vec(20u32..2296, 1..40)
    ) {
        prop_assume!(rows.iter().any(|(_, rate)| *rate > 0));
        let (mut at, mut text) = (0, String::from("time_s,rate_mbps\n"));
        let mut steps = Vec::new();
        for (length, rate) in &rows {
            text += &format!("{:.9},{rate}\n", at as f64 / 1e9);
            steps.push((at, *rate));
            at += length;
        }
        text += &format!("{:.9},0\n", at as f64 / 1e9);
        let sent: Vec<_> = packets.iter().map(|size| (0, *size)).collect();
        let found = delivered(&params(), &[values(End::Loop, &text)], &sent);
        // A rate of 1 Mbit/s sends a bit in 1000 ns. The sum is taken step by step, turn after turn.
        let (mut bits, mut turn, mut step, mut sum) = (0u128, 0u64, 0, 0u128);
        let (mut begin, mut expected) = (0u64, Vec::new());
        for size in &packets {
            bits += u128::from(*size) * 8 * 1000;
            loop {
                let end = turn * at + steps.get(step + 1).map_or(at, |it| it.0);
                let rate = u128::from(steps[step].1);
                if rate > 0 && sum + rate * u128::from(end - begin) >= bits {
                    let needed = u64::try_from((bits - sum).div_ceil(rate)).expect("a short time");
                    expected.push((begin + needed, *size));
                    break;
                }
                (sum, begin, step) = (sum + rate * u128::from(end - begin), end, step + 1);
                if step == steps.len() {
                    (turn, step) = (turn + 1, 0);
                }
            }
            // What is left of the nanosecond in which the packet ends, the next one does not use.
            let (last, _) = expected[expected.len() - 1];
            sum += u128::from(steps[step].1) * u128::from(last - begin);
            (begin, bits) = (last, sum);
        }
        prop_assert_eq!(found, expected);
    }
}
