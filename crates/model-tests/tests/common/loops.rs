//! Random mobile networks, a chain whose last node leaves, and the loops in them.
#![allow(dead_code, reason = "each test uses a part of these")]

use std::collections::BTreeMap;

use hopyard_engine::rng::Streams;
use hopyard_engine::units::{Bytes, Distance, Rate, Speed};
use hopyard_engine::{Span, Time};
use hopyard_model::address::{Address, NodeId};
use hopyard_model::mobility::{self, Position, random_waypoint, waypoints};
use hopyard_model::observe::{PacketEvent, Path, PathEnd, Probe};
use hopyard_model::packet::{Body, FlowId, Packet};
use hopyard_model::params::Params as _;
use hopyard_model::world::{self, FlowSpec, NodeSpec, Spec, Transport, Watch, World};
use hopyard_model::{app, mac, phy, routing};

/// How often a network is looked at.
const LOOK: Span = Span::from_millis(20);

/// How long a network is looked at.
const DURATION: Span = Span::from_secs(20);

/// The random network of this number: 10 to 20 fast nodes in a small area, with datagrams between a few pairs. It is
/// the same one for every protocol.
pub fn network(protocol: &str, profile: &str, number: u64) -> Spec {
    let mut rng = Streams::new(number, 0).stream("network");
    let mut below = |limit: u32| (rng.uniform() * f64::from(limit)) as u32;
    let nodes = 10 + below(11);
    let (width, height) = (400.0 + f64::from(below(500)), 300.0 + f64::from(below(300)));
    let movement = random_waypoint::Params {
        width: Distance::new(width),
        height: Distance::new(height),
        speed_min: Speed::new(5.0),
        speed_max: Speed::new(10.0 + f64::from(below(30))),
        ..random_waypoint::Params::of_profile(profile)
    };
    let routing = routing::Config::of_profile(protocol, profile).expect("a routing protocol");
    let node = NodeSpec {
        mobility: mobility::Config::RandomWaypoint(movement.into()),
        ..NodeSpec::stationary(Position::default(), routing)
    };
    let mut spec = Spec { seed: number, duration: DURATION, ..Spec::network(profile) };
    spec.nodes = vec![node; nodes as usize];
    for _ in 0..3 + below(3) {
        let from = below(nodes);
        let to = (from + 1 + below(nodes - 1)) % nodes;
        let mut cbr = app::cbr::Params::of_profile("ns2");
        cbr.interval = Span::from_millis(u64::from(100 + below(900)));
        cbr.jitter = 1.0;
        let start = Time::ZERO + Span::from_millis(u64::from(below(3_000)));
        spec.flows.push(datagrams(from, to, start, cbr));
    }
    spec
}

/// Whether a protocol sends messages to find routes, in the first of these networks.
pub fn has_messages(protocol: &str, profile: &str) -> bool {
    let outcome = world::simulate(&network(protocol, profile, 0), &Watch::default()).expect("packets add up");
    outcome.overhead.iter().any(|row| row.kind == "routing" && row.sent > 0)
}

/// A network of 20,000 m² a node, whose nodes stand still or move at this many m/s.
pub fn large(protocol: &str, nodes: u32, speed: f64, duration: Span) -> Spec {
    let mut rng = Streams::new(u64::from(nodes), 0).stream("network");
    let side = (f64::from(nodes) * 20_000.0).sqrt();
    let routing = routing::Config::of_profile(protocol, "rfc").expect("a routing protocol");
    let movement = random_waypoint::Params {
        width: Distance::new(side),
        height: Distance::new(side),
        speed_min: Speed::new(speed),
        speed_max: Speed::new(speed),
        ..random_waypoint::Params::of_profile("rfc")
    };
    let mut node = || {
        let place = Position::ground(side * rng.uniform(), side * rng.uniform());
        let still = NodeSpec::stationary(place, routing.clone());
        if speed == 0.0 {
            return still;
        }
        NodeSpec { mobility: mobility::Config::RandomWaypoint(movement.clone().into()), ..still }
    };
    let of_all = (0..nodes).map(|_| node()).collect();
    let mut spec = Spec { seed: 1, duration, nodes: of_all, ..Spec::network("rfc") };
    spec.channels[0].radio.receive = phy::Sensitivity::Range(Distance::new(250.0)).into();
    spec.channels[0].radio.sense = phy::Sensitivity::Range(Distance::new(550.0));
    spec
}

/// AODV on a chain of four nodes, of which the last leaves at a time; datagrams at an interval from the first to it.
pub fn leaving_node(profile: &str, leaves_ms: u64, interval_ms: u64) -> Spec {
    let routing = routing::Config::of_profile("aodv", profile).expect("a routing protocol");
    let node = |i: u32| NodeSpec::stationary(Position::ground(f64::from(i) * 200.0, 0.0), routing.clone());
    let mut spec = Spec { duration: Span::from_secs(60), ..Spec::network(profile) };
    spec.nodes = (0..4).map(node).collect();
    if let mac::Config::Dcf(dcf) = &mut spec.channels[0].mac {
        dcf.rate = Rate::from_bps(1_000_000).into();
    }
    spec.channels[0].radio.receive = phy::Sensitivity::Range(Distance::new(250.0)).into();
    spec.channels[0].radio.sense = phy::Sensitivity::Range(Distance::new(550.0));
    // 4200 m at 2000 m/s.
    let leaves = Span::from_millis(leaves_ms);
    let point = |at: Span, x: f64| waypoints::Waypoint::ground(at, Distance::new(x), Distance::new(0.0));
    spec.nodes[3].mobility = mobility::Config::Waypoints(
        waypoints::Params {
            track: vec![point(leaves, 600.0), point(leaves + Span::from_millis(2_100), 4_800.0)],
            orders: Vec::new(),
        }
        .into(),
    );
    let mut cbr = app::cbr::Params::of_profile("ns2");
    (cbr.packet_size, cbr.interval, cbr.jitter) = (Bytes::new(512), Span::from_millis(interval_ms), 0.0);
    spec.flows.push(datagrams(0, 3, Time::ZERO + Span::from_secs(1), cbr));
    spec
}

fn datagrams(from: u32, to: u32, start: Time, cbr: app::cbr::Params) -> FlowSpec {
    FlowSpec {
        from: NodeId(from),
        to: NodeId(to),
        start,
        stop: Time::NEVER,
        traffic: app::Config::Cbr(cbr.into()),
        label: String::new(),
        transport: Transport::Udp,
        dscp: 0,
    }
}

/// What was seen in a network.
#[derive(Clone, Debug, Default)]
pub struct Seen {
    /// Paths of one hop or more that were followed.
    pub paths: u64,
    /// Of these, those that ended in a loop: one loop counts once for each node that leads into it, and at every look.
    pub loops: u64,
    /// The looks at which there was a loop.
    pub looks_with_loops: u64,
    /// The first loop.
    pub first: Option<(Time, Path)>,
    /// Datagrams that were sent.
    pub datagrams: u64,
    /// Of these, those that came back to a node which they had met, and had not been salvaged before.
    pub returned: u64,
    /// Of these, those that came back after they had been salvaged (RFC 4728 §8.3.6).
    pub salvaged_returned: u64,
}

/// A node that a datagram has met, and the place of the visit before.
#[derive(Clone, Copy, Debug)]
struct Visit {
    node: NodeId,
    before: Option<usize>,
}

/// Follows every datagram from node to node. A datagram whose acknowledgement by the MAC is lost goes on from the
/// receiver and once more from the sender: what it has met is a tree.
#[derive(Debug, Default)]
pub struct Returns {
    visits: BTreeMap<(FlowId, u64), Vec<Visit>>,
    returned: BTreeMap<(FlowId, u64), bool>,
}

impl Returns {
    fn key(packet: &Packet) -> Option<(FlowId, u64)> {
        match packet.carried() {
            Body::Udp(header) => Some((packet.flow, header.sequence)),
            _ => None,
        }
    }

    /// How many datagrams came back to a node, after they had been salvaged or not.
    fn count(&self, salvaged: bool) -> u64 {
        self.returned.values().filter(|&&was| was == salvaged).count() as u64
    }
}

impl Probe for Returns {
    fn on_packet(&mut self, _: Time, node: NodeId, packet: &Packet, event: PacketEvent) {
        match event {
            PacketEvent::Originated => {
                if let Some(key) = Self::key(packet) {
                    self.visits.insert(key, vec![Visit { node, before: None }]);
                }
            }
            PacketEvent::Hop { from } => {
                let Some(key) = Self::key(packet) else { return };
                let visits = self.visits.get_mut(&key).expect("a datagram is originated first");
                let before = visits.iter().rposition(|visit| visit.node == from);
                let mut at = before;
                while let Some(visit) = at.map(|place| visits[place]) {
                    if visit.node == node {
                        let salvaged = packet.source_route().is_some_and(|route| route.salvage > 0);
                        self.returned.entry(key).or_insert(salvaged);
                    }
                    at = visit.before;
                }
                visits.push(Visit { node, before });
            }
            _ => {}
        }
    }
}

/// Runs a network, follows the paths from all nodes to the ends of all flows at every look, and every datagram.
pub fn look(spec: &Spec) -> Seen {
    let mut world = World::with_probe(spec, Returns::default()).expect("a world");
    let mut ends: Vec<NodeId> = spec.flows.iter().flat_map(|flow| [flow.from, flow.to]).collect();
    ends.sort_unstable();
    ends.dedup();
    let mut seen = Seen::default();
    let mut at = Time::ZERO;
    while at < Time::ZERO + spec.duration {
        at += LOOK;
        world.advance(at, &Watch::default());
        let before = seen.loops;
        for &to in &ends {
            for from in (0..spec.nodes.len() as u32).map(NodeId) {
                let path = world.path(from, Address::from(to));
                seen.paths += u64::from(path.nodes.len() > 1);
                if path.end == PathEnd::Loop {
                    seen.loops += 1;
                    seen.first.get_or_insert((at, path));
                }
            }
        }
        seen.looks_with_loops += u64::from(seen.loops > before);
    }
    let (_, returns) = world.finish().expect("packets add up");
    seen.datagrams = returns.visits.len() as u64;
    (seen.returned, seen.salvaged_returned) = (returns.count(false), returns.count(true));
    seen
}
