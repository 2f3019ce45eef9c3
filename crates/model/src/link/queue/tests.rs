//! The disciplines, packet by packet.

use hopyard_engine::units::Rate;
use hopyard_engine::{Span, Streams, Time};

use super::*;
use crate::address::{Address, NodeId};
use crate::context::{Context, DropReason};
use crate::link::test_packets::{arp, data, routing};
use crate::packet::{CAPABLE, Classes, FlowId, PacketId, PacketKind};
use crate::params::{LINUX, Params as _, RFC};

const NEXT: Address = Address(1);
const OTHER: Address = Address(2);

fn config(name: &str) -> Config {
    Config::of_profile(name, RFC).expect("a discipline")
}

fn room() -> Room {
    Room { packets: 1000, rate: Rate::from_bps(10_000_000), delay: Span::ZERO }
}

/// A queue, and the packets and the time around it.
struct Bench {
    line: Line,
    cx: Context,
}

impl Bench {
    fn new(config: &Config) -> Self {
        Self { line: Line::new(NodeId(0), config, &room(), Streams::new(1, 0).stream("queue")), cx: Context::default() }
    }

    fn at(&mut self, micros: u64) {
        self.cx.now = Time::ZERO + Span::from_micros(micros);
    }

    /// A packet of a flow comes.
    fn push(&mut self, flow: u32, size: u32, class: u8) -> PacketId {
        let packet = data(&mut self.cx);
        let it = &mut self.cx.packets[packet];
        (it.flow, it.size, it.class) = (FlowId(flow), size, class);
        self.line.push(Item { packet, next_hop: NEXT, size, entered: self.cx.now }, &mut self.cx);
        packet
    }

    /// The flow of the next packet that leaves.
    fn pop(&mut self) -> Option<u32> {
        let item = self.line.pop(None, &mut self.cx)?;
        let flow = self.cx.packets[item.packet].flow.0;
        self.cx.hand_over(item.packet);
        Some(flow)
    }

    fn dropped(&self, reason: DropReason) -> u64 {
        self.cx.drops.get(NodeId(0), PacketKind::Data, reason)
    }
}

/// Two packets of 1000 bytes come each millisecond and one leaves. Returns the milliseconds in which packets are
/// dropped or marked.
fn overloaded(config: &Config, class: u8, until: u64) -> (Vec<u64>, Bench) {
    let mut bench = Bench::new(config);
    let mut acts = Vec::new();
    for millisecond in 0..until {
        bench.at(1000 * millisecond);
        (0..2).for_each(|_| _ = bench.push(0, 1000, class));
        let before = bench.dropped(DropReason::QueueDelay) + bench.line.marks();
        bench.pop();
        if bench.dropped(DropReason::QueueDelay) + bench.line.marks() > before {
            acts.push(millisecond);
        }
    }
    (acts, bench)
}

#[test]
fn codel_drops_at_intervals_divided_by_the_root_of_their_number() {
    let (times, bench) = overloaded(&config("codel"), 0, 600);
    // A packet has waited for 5 ms at 9 ms, since half of what comes leaves. The first is dropped an interval later,
    // the second after another interval, and then the interval is divided by the root of the number of drops.
    let mut expected = vec![109.0, 209.0];
    for count in 2..=10 {
        let last: f64 = expected[expected.len() - 1];
        expected.push(last + 100.0 / f64::from(count).sqrt());
    }
    let expected: Vec<u64> = expected.into_iter().map(|at| f64::ceil(at) as u64).filter(|at| *at < 600).collect();
    assert_eq!(times, expected);
    assert_eq!(bench.line.marks(), 0);
}

#[test]
fn codel_marks_what_it_would_drop() {
    let params = codel::Params { ecn: true, ..codel::Params::of_profile(RFC) };
    let marking = Config::CoDel(params.into());
    let (dropped, _) = overloaded(&marking, 0, 400);
    let (marked, bench) = overloaded(&marking, CAPABLE, 400);
    assert_eq!(marked.len() as u64, bench.line.marks());
    assert_eq!((marked, bench.dropped(DropReason::QueueDelay)), (dropped, 0));
    // Without the parameter, all are dropped.
    let (times, bench) = overloaded(&config("codel"), CAPABLE, 400);
    assert_eq!((times.is_empty(), bench.line.marks()), (false, 0));
}

#[test]
fn codel_leaves_a_short_queue_alone() {
    // One packet of 1500 bytes waits behind each that leaves: however long they wait, the link needs them.
    let mut bench = Bench::new(&config("codel"));
    bench.push(0, 1500, 0);
    for number in 1..100 {
        bench.at(20_000 * number);
        bench.push(0, 1500, 0);
        bench.at(20_000 * number + 10_000);
        assert_eq!(bench.pop(), Some(0));
    }
    assert_eq!((bench.line.len(), bench.cx.ledger.dropped), (1, 0));
}

/// RED whose mean is the length of the queue, which is kept at `length`: the numbers of packets from drop to drop.
fn distances(params: red::Params, length: u32, class: u8) -> (Vec<u64>, Bench) {
    let mut bench = Bench::new(&Config::Red(red::Params { weight: 1.0, ..params }.into()));
    let mut distances = Vec::new();
    let mut since = 0;
    for _ in 0..20_000 {
        let before = bench.dropped(DropReason::QueueEarly) + bench.line.marks();
        bench.push(0, 500, class);
        since += 1;
        if bench.dropped(DropReason::QueueEarly) + bench.line.marks() > before {
            distances.push(since);
            since = 0;
        }
        while bench.line.len() > length as usize {
            bench.pop();
        }
    }
    (distances, bench)
}

fn mean(values: &[u64]) -> f64 {
    values.iter().sum::<u64>() as f64 / values.len() as f64
}

#[test]
fn red_spaces_its_drops_evenly() {
    let rfc = red::Params::of_profile(RFC);
    // Ten packets lie half way between the thresholds: p_b is 0.05, and the number from drop to drop is uniform from 1
    // to 1/p_b - 1, because the packet at hand counts (Floyd and Jacobson 1993, figure 2).
    let (found, bench) = distances(rfc.clone(), 10, 0);
    let (found, most) = (&found[1..], found.iter().max());
    assert!((mean(found) - 10.0).abs() < 0.4 && most == Some(&19), "{} {most:?}", mean(found));
    assert!(bench.dropped(DropReason::QueueFull) == 0 && found.len() > 1500);
    // With `wait` it is uniform from 1/p_b to 2/p_b.
    let (found, _) = distances(red::Params { wait: true, ..rfc.clone() }, 10, 0);
    let (found, least) = (&found[1..], found[1..].iter().min());
    assert!((mean(found) - 29.5).abs() < 1.0 && least >= Some(&20), "{} {least:?}", mean(found));
    // Between the larger threshold and twice as much p_b grows from 0.1 to 1: at 17 packets it is 0.22, and p_a is
    // 0.28, 0.39, 0.65 and 1 one after the other.
    let (found, _) = distances(rfc.clone(), 17, 0);
    assert!((2.2..2.4).contains(&mean(&found[1..])), "{}", mean(&found[1..]));
    // Not gentle: all.
    let (found, _) = distances(red::Params { gentle: false, ..rfc.clone() }, 16, 0);
    assert!(found.len() > 19_000);
    // Below the threshold none, and drop-tail none either.
    assert!(distances(rfc, 4, 0).0.is_empty());
}

#[test]
fn red_marks_below_a_probability_and_drops_beyond() {
    let marking = red::Params { ecn: true, mark_below: 0.04, ..red::Params::of_profile(RFC) };
    let (found, bench) = distances(marking.clone(), 8, CAPABLE);
    assert_eq!((bench.line.marks(), bench.dropped(DropReason::QueueEarly)), (found.len() as u64, 0));
    let (found, bench) = distances(marking, 12, CAPABLE);
    assert!(bench.dropped(DropReason::QueueEarly) > 0 && bench.line.marks() < found.len() as u64 / 20);
}

#[test]
fn red_forgets_while_the_link_is_idle() {
    // 10 Mb/s carry 2500 packets of 500 bytes a second. With a weight of 0.002 the mean is halved by 346 of them.
    let mut bench = Bench::new(&config("red"));
    (0..1000).for_each(|_| _ = bench.push(0, 500, 0));
    let early = bench.dropped(DropReason::QueueEarly);
    assert!(early > 100);
    while bench.pop().is_some() {}
    bench.at(2_000_000);
    // The mean length is at most 0.4 when these have come.
    (0..20).for_each(|_| _ = bench.push(0, 500, 0));
    assert_eq!(bench.dropped(DropReason::QueueEarly), early);
}

#[test]
fn flow_queues_share_bytes_and_codel_does_not() {
    let shares = |name: &str| {
        let mut bench = Bench::new(&config(name));
        let mut left = [0_u64; 2];
        for round in 0..1000 {
            bench.at(1000 * round);
            // Flow 0 sends large packets, and four times as many bytes.
            (0..4).for_each(|_| _ = bench.push(0, 1000, 0));
            (0..4).for_each(|_| _ = bench.push(1, 250, 0));
            for _ in 0..2 {
                if let Some(flow) = bench.pop() {
                    left[flow as usize] += if flow == 0 { 1000 } else { 250 };
                }
            }
        }
        left[0] as f64 / left[1] as f64
    };
    let (fair, unfair) = (shares("fq_codel"), shares("codel"));
    assert!((0.9..1.2).contains(&fair), "{fair}");
    assert!(unfair > 3.0, "{unfair}");
}

#[test]
fn a_new_flow_passes_the_old_ones_once() {
    let mut bench = Bench::new(&config("fq_codel"));
    (0..20).for_each(|_| _ = bench.push(0, 1000, 0));
    // The quantum of 1514 bytes lets two packets pass in the first turn.
    assert_eq!([bench.pop(), bench.pop(), bench.pop()], [Some(0); 3]);
    bench.push(1, 100, 0);
    assert_eq!([bench.pop(), bench.pop()], [Some(1), Some(0)]);
    // Empty, it has become an old flow: a flow that is new now passes it (RFC 8290 §4.2).
    bench.push(1, 100, 0);
    bench.push(2, 100, 0);
    assert_eq!(bench.pop(), Some(2));
    // The same in CoDel alone: behind all that came before.
    let mut bench = Bench::new(&config("codel"));
    (0..20).for_each(|_| _ = bench.push(0, 1000, 0));
    bench.push(1, 100, 0);
    assert!((0..20).all(|_| bench.pop() == Some(0)));
}

#[test]
fn linux_lets_an_empty_new_flow_go_if_there_is_no_old_one() {
    for (profile, next) in [(RFC, 3), (LINUX, 1)] {
        let mut bench = Bench::new(&Config::FqCoDel(fq_codel::Params::of_profile(profile).into()));
        bench.push(1, 100, 0);
        assert_eq!(bench.pop(), Some(1));
        bench.push(2, 100, 0);
        // Flow 1 is found empty, and flow 2 is new.
        assert_eq!(bench.pop(), Some(2));
        bench.push(1, 100, 0);
        bench.push(3, 100, 0);
        assert_eq!(bench.pop(), Some(next), "{profile}");
    }
}

#[test]
fn what_a_full_queue_drops_counts_for_codel_in_linux() {
    let acts = |full_counts| {
        let params = fq_codel::Params { limit: 150, full_counts, ..fq_codel::Params::of_profile(LINUX) };
        let (acts, bench) = overloaded(&Config::FqCoDel(params.into()), 0, 2000);
        assert!(bench.dropped(DropReason::QueueFull) > 100);
        acts.len()
    };
    assert!(acts(true) > 2 * acts(false), "{} and {}", acts(true), acts(false));
}

#[test]
fn a_full_queue_of_flows_drops_from_the_longest() {
    let params = fq_codel::Params { limit: 10, drop_batch: 3, ..fq_codel::Params::of_profile(RFC) };
    let mut bench = Bench::new(&Config::FqCoDel(params.into()));
    let first = bench.push(0, 1000, 0);
    (0..8).for_each(|_| _ = bench.push(0, 1000, 0));
    (0..2).for_each(|_| _ = bench.push(1, 100, 0));
    assert_eq!((bench.dropped(DropReason::QueueFull), bench.line.len()), (3, 8));
    assert!(!bench.line.items().any(|item| item.packet == first), "from the head");
}

#[test]
fn impossible_parameters_are_refused() {
    let fault = |result: Result<(), crate::params::Fault>| result.expect_err("a fault").to_string();
    let params = codel::Params { target: Span::from_millis(100), ..codel::Params::of_profile(RFC) };
    assert_eq!(fault(params.check()), "target: expected a time above zero and below `interval` (100 ms), found 100 ms");
    let params = red::Params { max_threshold: 4.0, ..red::Params::of_profile(RFC) };
    assert_eq!(fault(params.check()), "max_threshold: expected 0 or more than `min_threshold` (5), found 4");
    let params = red::Params { weight: 1.5, ..red::Params::of_profile(RFC) };
    assert_eq!(fault(params.check()), "weight: expected a number from 0 to 1, found 1.5");
    let params = fq_codel::Params { flows: 70_000, ..fq_codel::Params::of_profile(RFC) };
    assert_eq!(fault(params.check()), "flows: expected from 1 to 65535, found 70000");
}

/// An interface queue under a discipline.
fn interface(name: &str, routing: RoutingPackets) -> InterfaceQueue {
    let mut queue = InterfaceQueue::new(NodeId(0), 2, routing);
    let (config, streams) = (config(name), Streams::new(1, 0));
    queue.set_discipline(Maker { config, room: Room { packets: 2, ..room() }, streams, name: "node/0".to_owned() });
    queue
}

#[test]
fn routing_packets_pass_every_discipline() {
    for model in MODELS.iter().filter(|model| model.name != "drop_tail") {
        let mut cx = Context::default();
        let mut queue = interface(model.name, RoutingPackets::First);
        let packets = [data(&mut cx), arp(&mut cx), routing(&mut cx), routing(&mut cx), routing(&mut cx)];
        for (packet, to) in packets.into_iter().zip([NEXT, NEXT, OTHER, OTHER, OTHER]) {
            queue.push(packet, to, &mut cx);
        }
        // Routing packets have the room of drop-tail, which the others do not share.
        assert_eq!((queue.len(), cx.ledger.dropped), (4, 1), "{}", model.name);
        assert_eq!(queue.take_back(NEXT, &cx), [packets[0]], "messages of address resolution stay");
        let left: Vec<_> = std::iter::from_fn(|| queue.pop(&mut cx)).map(|(packet, _)| packet).collect();
        assert_eq!(left, [packets[2], packets[3], packets[1]], "{}", model.name);
    }
}

#[test]
fn each_class_has_a_queue_of_its_own_under_a_discipline() {
    for model in MODELS.iter().filter(|model| model.name != "drop_tail") {
        let mut cx = Context::default();
        let mut queue = interface(model.name, RoutingPackets::InTurn);
        queue.set_classes(Classes::new(|packet, _| packet.dscp()));
        let packets = [7, 7, 3].map(|dscp| {
            let packet = data(&mut cx);
            cx.packets[packet].class = dscp << 2;
            queue.push(packet, NEXT, &mut cx);
            packet
        });
        assert_eq!(queue.pop_chosen(&mut cx, &|packet, _| packet.dscp() == 7), Some((packets[0], NEXT)));
        assert_eq!(queue.pop_chosen(&mut cx, &|_, to| to == OTHER), None);
        assert_eq!(queue.pop_chosen(&mut cx, &|packet, _| packet.dscp() == 3), Some((packets[2], NEXT)));
        assert_eq!((queue.len(), queue.marks()), (1, Some(0)), "{}", model.name);
    }
}
