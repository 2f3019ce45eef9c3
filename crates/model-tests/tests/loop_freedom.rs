//! No protocol that promises it leads packets in a circle: random mobile networks, looked at every few milliseconds.
//!
//! A loop is there when the next hops to a destination, all asked at the same instant, come back to a node. What is
//! promised, the protocol says itself (`RoutingFacts::promises_no_loops`). The experiment `loop_freedom` of
//! `validation` makes ten thousand such networks, and counts the loops of all protocols.

use hopyard_engine::{Span, Time};
use hopyard_model::address::{Address, InterfaceId, NodeId};
use hopyard_model::mobility::Position;
use hopyard_model::observe::{FrameEdge, FrameView, PathEnd, Probe};
use hopyard_model::packet::Body;
use hopyard_model::params::Params as _;
use hopyard_model::routing::babel::{BabelPacket, Message};
use hopyard_model::routing::{self, source_routes};
use hopyard_model::world::{NodeSpec, Spec, Watch, World};
use rayon::prelude::*;

use crate::common::loops;

/// How many networks each protocol meets here.
const NETWORKS: u64 = 100;

#[test]
fn protocols_keep_their_promise() {
    let mut checked = 0;
    for model in routing::MODELS {
        for &profile in model.profiles {
            let config = routing::Config::of_profile(model.name, profile).expect("a routing protocol");
            if !config.promises_no_loops() {
                continue;
            }
            checked += 1;
            let networks = (0..NETWORKS).into_par_iter();
            let found = networks.map(|number| loops::look(&loops::network(model.name, profile, number)));
            let found: Vec<_> = found.collect();
            let paths: u64 = found.iter().map(|it| it.paths).sum();
            assert!(paths > 100_000, "{} {profile}: only {paths} paths were there", model.name);
            for (number, it) in found.iter().enumerate() {
                assert_eq!(it.first, None, "{} {profile}: network {number} has {} loops", model.name, it.loops);
            }
        }
    }
    // AODV, Babel and DSDV in profile rfc, AOMDV in rfc and ns2.
    assert!(checked >= 5, "{checked}");
}

/// What Babel sends after a time.
#[derive(Debug)]
struct SentCounts {
    from: Time,
    /// Hellos, IHUs, updates, requests for routes and for sequence numbers, bytes.
    counts: [u64; 6],
}

impl Probe for SentCounts {
    fn on_frame(&mut self, now: Time, _: InterfaceId, frame: &FrameView<'_>, edge: FrameEdge) {
        let Some(packet) = frame.packet.filter(|_| edge == FrameEdge::Sent && now >= self.from) else { return };
        let Body::Routing(message) = &packet.body else { return };
        let Some(babel) = message.get::<BabelPacket>() else { return };
        for message in babel.messages() {
            let place = match message {
                Message::Hello { .. } => 0,
                Message::Ihu { .. } => 1,
                Message::Update(_) => 2,
                Message::Request(_) => 3,
                _ => 4,
            };
            self.counts[place] += 1;
        }
        self.counts[5] += u64::from(packet.size);
    }
}

/// The messages and bytes of Babel a node and second, and its paths, for `validation/babel/sizes.csv`.
#[test]
#[ignore = "it takes minutes"]
fn babel_makes_no_loops_in_large_networks() {
    const COUNTED: std::ops::Range<u64> = 40..100;
    let mut rows = "nodes,speed_m_s,hellos,ihus,updates,requests,seqno_requests,bytes,paths,arrive,loops\n".to_owned();
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../validation/babel/sizes.csv");
    for (nodes, speed) in [(50, 0.0), (50, 5.0), (1000, 0.0), (1000, 5.0)] {
        let spec = loops::large("babel", nodes, speed, Span::from_secs(COUNTED.end));
        let sent = SentCounts { from: Time::ZERO + Span::from_secs(COUNTED.start), counts: [0; 6] };
        let mut world = World::with_probe(&spec, sent).expect("a world");
        let [mut paths, mut arrive, mut found] = [0_u64; 3];
        // The way from each node to every tenth one, once a second.
        for second in COUNTED.start..=COUNTED.end {
            world.advance(Time::ZERO + Span::from_secs(second), &Watch::default());
            for (from, to) in (0..nodes).flat_map(|from| (0..nodes).step_by(10).map(move |to| (from, to))) {
                if from != to {
                    let end = world.path(NodeId(from), Address(to)).end;
                    paths += 1;
                    arrive += u64::from(end == PathEnd::Destination);
                    found += u64::from(end == PathEnd::Loop);
                }
            }
        }
        let (_, sent) = world.finish().expect("packets add up");
        let scale = f64::from(nodes) * (COUNTED.end - COUNTED.start) as f64;
        let of_node: Vec<_> = sent.counts.iter().map(|it| format!("{:.3}", *it as f64 / scale)).collect();
        rows += &format!("{nodes},{speed},{},{paths},{arrive},{found}\n", of_node.join(","));
        std::fs::write(&path, &rows).expect("written");
        assert_eq!(found, 0, "{nodes} nodes at {speed} m/s");
    }
}

#[test]
fn over_dsr_only_a_salvaged_datagram_comes_back_to_a_node() {
    for (profile, some) in [("rfc", false), ("ns2", true)] {
        let networks = (0..60_u64).into_par_iter();
        let found: Vec<_> = networks.map(|number| loops::look(&loops::network("dsr", profile, number))).collect();
        let sum = |count: fn(&loops::Seen) -> u64| found.iter().map(count).sum::<u64>();
        assert_eq!((sum(|it| it.loops), sum(|it| it.returned)), (0, 0), "{profile}");
        assert!(sum(|it| it.datagrams) > 10_000);
        // ns-2 looks at no part of the way.
        assert!(!some || sum(|it| it.salvaged_returned) > 0, "{profile}");
    }
}

#[test]
fn a_path_follows_the_route_that_its_source_writes() {
    let routes =
        source_routes::Params { paths: vec![vec![0, 1, 2], vec![1, 0, 2]], ..source_routes::Params::of_profile("rfc") };
    let routing = routing::Config::SourceRoutes(routes.into());
    let mut spec = Spec::network("rfc");
    let places = [(0.0, 0.0), (100.0, 0.0), (50.0, 80.0)];
    spec.nodes =
        places.map(|(x, y)| NodeSpec::stationary(Position::ground(x, y), routing.clone())).into_iter().collect();
    let mut world = World::new(&spec).expect("a world");
    world.advance(Time::from_nanos(1), &Watch::default());
    for (from, way) in [(0, [0, 1, 2]), (1, [1, 0, 2])] {
        let path = world.path(NodeId(from), Address(2));
        assert_eq!((path.nodes, path.end), (way.map(NodeId).to_vec(), PathEnd::Destination));
    }
}

#[test]
fn a_loop_is_found() {
    // ns-2's AODV has loops: two nodes become each other's next hop (`loops.rs`).
    let seen = loops::look(&loops::leaving_node("ns2", 3_300, 700));
    let (_, path) = seen.first.expect("a loop");
    assert_eq!(path.nodes, [0, 1, 2, 1].map(NodeId));
    assert!(seen.loops > 100 && seen.looks_with_loops > 50, "{} loops", seen.loops);
    assert_eq!(loops::look(&loops::leaving_node("rfc", 3_300, 700)).first, None);
}
