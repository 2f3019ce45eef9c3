//! Mobile IP over wires alone, beside ns-2.35 (`../data/README.md`).
//!
//! The network is that of ns-2's own test suite: a host S, a router G, a home agent HA and a foreign agent FA at G, and
//! a mobile host MH with a wire to each agent. The wires of MH go down and up, in three ways. The only chance in it is
//! the time of each agent's first advertisement, which is taken from ns-2's run.

use hopyard_engine::units::{Bytes, Rate};
use hopyard_engine::{Span, Time};
use hopyard_model::address::NodeId;
use hopyard_model::link::wired::{self, Down};
use hopyard_model::observe::{AttachmentView, NetworkView, PacketEvent, Passage, Probe};
use hopyard_model::packet::{Packet, PacketKind};
use hopyard_model::params::Params as _;
use hopyard_model::world::{FlowSpec, RoleSpec, Spec, WireSpec};
use hopyard_model::{agent, app};

use crate::common::{network, run_with, udp_flow};

const S: NodeId = NodeId(0);
const G: NodeId = NodeId(1);
const HA: NodeId = NodeId(2);
const FA: NodeId = NodeId(3);
const MH: NodeId = NodeId(4);
const NAMES: [&str; 5] = ["S", "G", "HA", "FA", "MH"];

/// The nodes at the ends of each wire, and its rate in Mb/s.
const WIRES: [(NodeId, NodeId, u64); 5] = [(S, G, 2), (G, HA, 2), (G, FA, 2), (HA, MH, 2), (FA, MH, 4)];

/// When the wires of MH to HA and to FA are down, in milliseconds; an end of 0 is none.
type Downs = [&'static [(u64, u64)]; 2];

fn downs(case: &str) -> Downs {
    match case {
        // It has one of them.
        "one" => [&[(7_250, 11_500), (15_750, 0)], &[(0, 7_250), (11_500, 15_750)]],
        // For two seconds it has none.
        "zero" => [&[(7_250, 11_500), (15_750, 0)], &[(0, 9_250), (11_500, 15_750)]],
        // For some time it has both.
        "multi" => [&[(10_250, 11_500)], &[(0, 7_250), (14_500, 0)]],
        _ => panic!("no case {case}"),
    }
}

fn intervals(downs: &[(u64, u64)]) -> Vec<Down> {
    let down =
        |&(from, to): &(u64, u64)| Down { from: Span::from_millis(from), to: (to > 0).then(|| Span::from_millis(to)) };
    downs.iter().map(down).collect()
}

fn suite(case: &str, first: [Time; 2]) -> Spec {
    let mut spec = network("ns2", "static", &[(0.0, 0.0); 5]);
    spec.duration = Span::from_secs(20);
    let role = |agent: NodeId, first, wire| RoleSpec::Router {
        is_foreign: agent == FA,
        wires: vec![wire],
        hosts: if agent == HA { vec![MH] } else { Vec::new() },
        first: Some(first),
    };
    let mobile = agent::Config::of_profile("mobile_ip", "ns2").expect("an agent");
    for (number, node) in (0..).map(NodeId).zip(&mut spec.nodes) {
        node.radios.clear();
        let role = match number {
            HA => role(HA, first[0], 3),
            FA => role(FA, first[1], 4),
            MH => RoleSpec::Host { agent: HA, forged: Vec::new() },
            _ => continue,
        };
        node.agents.push(mobile.clone());
        spec.roles.insert(number, role);
    }
    let downs = downs(case);
    for (number, &(a, b, rate)) in WIRES.iter().enumerate() {
        let down = number.checked_sub(3).map(|of_host| intervals(downs[of_host])).unwrap_or_default();
        let (rate, delay) = (Rate::from_bps(rate * 1_000_000), Span::from_millis(5));
        let params = wired::Params { rate, delay, down, ..wired::Params::of_profile("ns2") };
        spec.wires.push(WireSpec { ends: (a, b), params, network: None });
    }
    spec
}

/// A message: when, in microseconds, what became of it, what it is, from where, to where, bytes.
type Seen = (u64, &'static str, String, &'static str, &'static str, u32);

/// Who sends and who receives at an interface.
type Ends = (NodeId, NodeId);

#[derive(Debug, Default)]
struct Messages {
    downs: Option<Downs>,
    ends: Vec<Option<Ends>>,
    seen: Vec<Seen>,
}

impl Messages {
    fn note(&mut self, now: Time, what: &'static str, (from, to): Ends, packet: &Packet) {
        let Some(kind) = packet.message_kind() else { return };
        let mut kind = kind.to_lowercase();
        if from != MH && to != MH {
            kind += " relayed";
        } else if kind == "advertisement" && !packet.destination.is_group() {
            kind += " to one";
        }
        let micros = (now.nanos() + 500) / 1000;
        self.seen.push((micros, what, kind, NAMES[from.index()], NAMES[to.index()], packet.size));
    }

    fn is_down(&self, (a, b): Ends, now: Time) -> bool {
        let agents = [HA, FA].map(|agent| (a == MH && b == agent) || (a == agent && b == MH));
        let Some(wire) = agents.iter().position(|&it| it) else { return false };
        let at = |millis| Time::ZERO + Span::from_millis(millis);
        let is_in = |&(from, to): &(u64, u64)| at(from) <= now && (to == 0 || now < at(to));
        self.downs.is_some_and(|downs| downs[wire].iter().any(is_in))
    }
}

impl Probe for Messages {
    fn on_start(&mut self, network: &NetworkView<'_>) {
        let ends = network.interfaces.iter().map(|it| match it.attachment {
            AttachmentView::Wire { peer } => Some((it.node, peer)),
            _ => None,
        });
        self.ends = ends.collect();
    }

    fn on_passage(&mut self, now: Time, packet: &Packet, passage: Passage) {
        match passage {
            Passage::WireEntered(interface) => {
                if let Some(ends) = self.ends[interface.index()].filter(|&ends| self.is_down(ends, now)) {
                    self.note(now, "dropped", ends, packet);
                }
            }
            Passage::WireLeft(interface) => {
                if let Some((node, peer)) = self.ends[interface.index()] {
                    self.note(now, "received", (peer, node), packet);
                }
            }
            _ => {}
        }
    }
}

/// A row of ns-2's table.
fn row(line: &str) -> (&str, u32, Seen) {
    let [case, seed, time, event, message, from, to, bytes]: [&str; 8] =
        line.split(',').collect::<Vec<_>>().try_into().expect("eight fields");
    let name = |name: &str| NAMES.into_iter().find(|it| *it == name).expect("a node");
    let event = ["received", "dropped"].into_iter().find(|it| *it == event).expect("an event");
    let micros = (time.parse::<f64>().expect("a time") * 1e6).round() as u64;
    let seen = (micros, event, message.to_owned(), name(from), name(to), bytes.parse().expect("bytes"));
    (case, seed.parse().expect("a seed"), seen)
}

/// What ns-2 shows of a case.
fn of_ns2(case: &str, seed: u32) -> Vec<Seen> {
    let rows = include_str!("../data/ns2_mobile_ip.csv").lines().skip(1).map(row);
    rows.filter(|(its, of, _)| *its == case && *of == seed).map(|(_, _, seen)| seen).collect()
}

/// When the agents advertise first in ns-2's run.
fn phases(seed: u32) -> [Time; 2] {
    let rows = of_ns2("one", seed);
    let first = |agent: &str| {
        let is_first = |it: &&Seen| it.2 == "advertisement" && it.3 == agent;
        let (micros, what, ..) = rows.iter().find(is_first).expect("an advertisement");
        // 48 bytes at 2 Mb/s and 5 ms.
        Time::from_nanos((micros - if *what == "received" { 5192 } else { 0 }) * 1000)
    };
    [first("HA"), first("FA")]
}

#[test]
fn each_message_is_that_of_ns2_at_the_same_time() {
    let mut count = 0;
    for case in ["one", "zero", "multi"] {
        for seed in 1..=3 {
            let mut expected = of_ns2(case, seed);
            let probe = Messages { downs: Some(downs(case)), ..Messages::default() };
            let (_, probe) = run_with(&suite(case, phases(seed)), probe);
            let mut seen = probe.seen;
            seen.sort();
            expected.sort();
            for (found, expected) in seen.iter().zip(&expected) {
                // The table has microseconds.
                let apart = found.0.abs_diff(expected.0);
                let found = (expected.0, found.1, found.2.clone(), found.3, found.4, found.5);
                assert!(
                    apart <= 1 && found == *expected,
                    "{case}, seed {seed}: {found:?}, {apart} us from {expected:?}"
                );
            }
            assert_eq!(seen.len(), expected.len(), "{case}, seed {seed}");
            count += seen.len();
        }
    }
    assert_eq!(count, 991, "every message of the table");
}

/// When datagrams arrive at the mobile host.
#[derive(Debug, Default)]
struct Arrivals(Vec<Time>);

impl Probe for Arrivals {
    fn on_packet(&mut self, now: Time, node: NodeId, packet: &Packet, event: PacketEvent) {
        if event != PacketEvent::Delivered {
            return;
        }
        if node == MH && packet.kind() == PacketKind::Data {
            self.0.push(now);
        }
    }
}

#[test]
fn the_silences_of_a_flow_and_its_losses_are_those_of_ns2() {
    for case in ["one", "zero", "multi"] {
        for seed in 1..=3 {
            let mut spec = suite(case, phases(seed));
            let mut params = app::cbr::Params::of_profile("ns2");
            // ns-2's agent sends packets of 200 bytes with all headers.
            (params.packet_size, params.interval) = (Bytes::new(172), Span::from_millis(20));
            spec.flows.push(FlowSpec {
                start: Time::ZERO + Span::from_millis(500),
                ..udp_flow(S, MH, app::Config::Cbr(params.into()))
            });
            let (_, arrivals) = run_with(&spec, Arrivals::default());
            let gaps = arrivals.0.windows(2).map(|it| it[1].since(it[0]).seconds()).filter(|gap| *gap > 0.05);
            let gaps: Vec<f64> = gaps.collect();
            let rows = include_str!("../data/ns2_mobile_ip_gaps.csv").lines().skip(1);
            let rows = rows.map(|line| line.split(',').collect::<Vec<_>>());
            let mine: Vec<_> = rows.filter(|it| it[0] == case && it[1] == seed.to_string()).collect();
            let expected = mine.iter().filter_map(|it| it.get(4)?.parse::<f64>().ok());
            let expected: Vec<f64> = expected.collect();
            assert_eq!(gaps.len(), expected.len(), "{case}, seed {seed}: {gaps:?}, ns-2 {expected:?}");
            for (gap, expected) in gaps.iter().zip(&expected) {
                assert!((gap - expected).abs() <= 0.02, "{case}, seed {seed}: {gaps:?}, ns-2 {expected:?}");
            }
            let received = mine.iter().find(|it| it[2] == "received").map(|it| it[3]);
            assert_eq!(Some(arrivals.0.len().to_string().as_str()), received, "{case}, seed {seed}");
        }
    }
}
