//! Queue disciplines compared with ns-3.37, packet by packet, and with ns-2.35.
//!
//! For ns-3, 1500 arrivals are drawn in front of a link, in each of twenty cases. Its fates of them are in
//! `validation/peers/data/ns3_queues.csv`, which `validation/peers/ns3/queues.cc` makes with the same generator.

use std::collections::BTreeMap;

use hopyard_engine::units::{Bytes, Rate};
use hopyard_engine::{Span, Streams, Time};
use hopyard_model::address::{Address, NodeId};
use hopyard_model::app;
use hopyard_model::context::{Context, DropReason};
use hopyard_model::link::queue::{self, Config, Item, Line, Room};
use hopyard_model::link::wired;
use hopyard_model::packet::{Body, FlowId, Packet, PacketKind, UdpHeader};
use hopyard_model::params::Params as _;
use hopyard_model::world::WireSpec;

use crate::common::{add_cbr, mbps, network, run as simulate};

const PACKETS: u64 = 1500;

struct Draws(u64);

impl Draws {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }
}

/// A packet that comes to the queue.
struct Arrival {
    at: Time,
    flow: u32,
    size: u32,
}

/// The fate of each packet that is dropped (d) or marked (m), by its number.
type Fates = BTreeMap<u64, char>;

fn config(discipline: &str, ecn: bool) -> Config {
    let info = queue::MODELS.iter().find(|it| it.name == discipline).expect("a discipline");
    let mut values = (info.defaults)("linux");
    // ns-3 asks whether less than `MinBytes` wait. In flow queues it asks the flow alone, and keeps to the RFC.
    values["backlog"] = Bytes::new(1499).to_string().into();
    if discipline == "fq_codel" {
        for (key, value) in [("backlog_of_flow", true), ("empty_waits", true), ("full_counts", false)] {
            values[key] = value.into();
        }
    }
    values["ecn"] = ecn.into();
    Config::read(discipline, &values).expect("parameters")
}

/// The queue in front of a link which sends one packet after the other.
struct Bench {
    line: Line,
    cx: Context,
    rate: u64,
    /// When the packet will have been sent that is being sent.
    busy_until: Option<Time>,
    fates: Fates,
}

impl Bench {
    fn next(&mut self) {
        let next = self.line.pop(None, &mut self.cx);
        self.busy_until = next.map(|item| {
            let packet = &self.cx.packets[item.packet];
            if packet.is_marked()
                && let Body::Udp(header) = packet.body
            {
                self.fates.insert(header.sequence, 'm');
            }
            self.cx.hand_over(item.packet);
            self.cx.now + Span::from_nanos(u64::from(item.size) * 8 * 1_000_000_000 / self.rate)
        });
        self.note_drops();
    }

    fn note_drops(&mut self) {
        for (.., packet, reason) in std::mem::take(&mut self.cx.dropped) {
            let Body::Udp(header) = packet.body else { panic!("a datagram was sent") };
            assert!([DropReason::QueueDelay, DropReason::QueueFull].contains(&reason));
            self.fates.insert(header.sequence, 'd');
        }
    }

    fn until(&mut self, time: Time) {
        while let Some(sent) = self.busy_until.filter(|sent| *sent <= time) {
            self.cx.now = sent;
            self.next();
        }
        self.cx.now = time;
    }

    fn push(&mut self, number: u64, arrival: &Arrival, class: u8) {
        let packet = self.cx.originate(Packet {
            created: self.cx.now,
            source: Address(0),
            destination: Address(1),
            flow: FlowId(arrival.flow),
            size: arrival.size,
            ttl: 64,
            hops: 0,
            salvaged: 0,
            class,
            body: Body::Udp(UdpHeader { sequence: number, len: arrival.size - 28, identification: None }),
        });
        let item = Item { packet, next_hop: Address(1), size: arrival.size, entered: self.cx.now };
        self.line.push(item, &mut self.cx);
        self.note_drops();
        if self.busy_until.is_none() {
            self.next();
        }
    }
}

fn run(discipline: &str, case: u64) -> Fates {
    let mut draws = Draws(case + 1);
    let rate = 1_000_000 * (1 + draws.below(10));
    let flows = 1 + draws.below(4);
    let ecn = draws.below(2) == 1;
    let room = Room { packets: 1000, rate: Rate::from_bps(rate), delay: Span::ZERO };
    let line = Line::new(NodeId(0), &config(discipline, ecn), &room, Streams::new(case, 0).stream("queue"));
    let cx = Context { is_watched: true, ..Context::default() };
    let mut bench = Bench { line, cx, rate, busy_until: None, fates: Fates::new() };
    let (mut at, mut load) = (0, 0);
    for number in 0..PACKETS {
        if number % 300 == 0 {
            load = 5 + 5 * draws.below(4);
        }
        let size = 100 + draws.below(1400) as u32;
        let flow = draws.below(flows) as u32;
        let mean = 800 * 8 * 1_000_000_000 / rate * 10 / load;
        at += draws.below(2 * mean);
        let arrival = Arrival { at: Time::from_nanos(at), flow, size };
        bench.until(arrival.at);
        bench.push(number, &arrival, if ecn { 2 } else { 0 });
    }
    bench.until(Time::from_nanos(u64::MAX / 2));
    let lost: u64 = [DropReason::QueueDelay, DropReason::QueueFull]
        .map(|reason| bench.cx.drops.get(NodeId(0), PacketKind::Data, reason))
        .iter()
        .sum();
    assert_eq!(lost, bench.fates.values().filter(|fate| **fate == 'd').count() as u64);
    bench.fates
}

/// The fates in ns-3, by discipline and case.
fn reference() -> BTreeMap<(String, u64), Fates> {
    let mut all: BTreeMap<(String, u64), Fates> = BTreeMap::new();
    for line in include_str!("../../../validation/peers/data/ns3_queues.csv").lines().skip(1) {
        let [discipline, case, fates] = line.split(',').collect::<Vec<_>>()[..] else { panic!("{line}") };
        let number = |text: &str| text.parse::<u64>().expect("a number");
        let fate = |fate: &str| (number(&fate[1..]), fate.chars().next().expect("a letter"));
        all.insert((discipline.to_owned(), number(case)), fates.split_whitespace().map(fate).collect());
    }
    all
}

#[test]
fn the_same_packets_are_dropped_as_in_ns3() {
    let reference = reference();
    let (mut dropping, mut marking) = (0, 0);
    for ((discipline, case), theirs) in &reference {
        let ours = run(discipline, *case);
        let first = (0..PACKETS).find(|packet| ours.get(packet) != theirs.get(packet));
        let marks = ours.values().chain(theirs.values()).any(|fate| *fate == 'm');
        if marks {
            // After a mark ns-3 sets the time of the next one from now, and not from the time at which the mark was due
            // (Linux). The first two are the same.
            let two = |fates: &Fates| fates.iter().take(2).map(|(packet, fate)| (*packet, *fate)).collect::<Vec<_>>();
            assert_eq!(two(&ours), two(theirs), "{discipline} {case}");
            marking += 1;
        } else {
            assert_eq!(first, None, "{discipline} {case}: {} and {} dropped", ours.len(), theirs.len());
            dropping += ours.len();
        }
    }
    assert!(reference.len() == 40 && dropping > 2000 && marking > 10, "{dropping} {marking}");
}

/// The mean delay in milliseconds of packets of 1000 bytes that come evenly, by the rate at which they come divided by
/// that of the link (`validation/peers/ns2/red.tcl`, seeds 1 to 3).
const OF_RED: [(f64, f64); 4] = [(1.02, 35.21), (1.1, 49.02), (1.3, 60.44), (1.8, 65.81)];

#[test]
fn red_keeps_the_queue_as_long_as_in_ns2() {
    for (load, expected) in OF_RED {
        let mut spec = network("ns2", "static", &[(0.0, 0.0); 2]);
        spec.nodes.iter_mut().for_each(|node| node.radios.clear());
        let params =
            wired::Params { rate: mbps(1.5), delay: Span::from_millis(10), ..wired::Params::of_profile("ns2") };
        spec.wires.push(WireSpec { ends: (NodeId(0), NodeId(1)), params, network: None });
        spec.wire_queues.insert(0, Config::of_profile("red", "ns2").expect("a discipline"));
        add_cbr(&mut spec, 0, 1, 972, Span::from_secs_f64(8000.0 / (1.5e6 * load)));
        if let app::Config::Cbr(params) = &mut spec.flows[0].traffic {
            params.jitter = 0.0;
        }
        (spec.flows[0].start, spec.flows[0].stop) =
            (Time::ZERO + Span::from_secs(1), Time::ZERO + Span::from_secs(201));
        spec.duration = Span::from_secs(203);
        let outcome = simulate(&spec);
        let delay = outcome.flows[0].delay_ms.expect("packets arrived");
        assert!((delay / expected - 1.0).abs() < 0.005, "{load}: {delay} ms here, {expected} ms in ns-2");
    }
}
