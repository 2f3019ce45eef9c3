//! What finding routes costs, changes of routes, and the paths of packets: the tables agree with one another and with
//! the counters, under every routing protocol.

use std::collections::{BTreeMap, BTreeSet};

use hopyard_engine::units::Distance;
use hopyard_engine::{Span, Time};
use hopyard_model::mobility::{self, waypoints};
use hopyard_model::observe::{Outcome, OverheadRow, Recorded, RouteChanges, SegmentFlows};
use hopyard_model::routing;
use hopyard_model::world::Spec;

use crate::common::{add_cbr, add_tcp, chain, network, run, run_for, scenarios, stagger};

const EVERYTHING: Recorded =
    Recorded { routes: RouteChanges::All, rates: true, paths: true, segments: SegmentFlows::All, mobile_events: false };

/// A protocol on a chain and with moving nodes, with everything recorded.
fn runs(protocol: &str) -> Vec<Outcome> {
    let recorded = |mut spec: Spec| {
        spec.observe.recorded = EVERYTHING;
        run(&spec)
    };
    vec![recorded(scenarios::chain_of_six(protocol)), recorded(scenarios::moving("rfc", protocol))]
}

/// The protocols that find routes.
fn protocols() -> impl Iterator<Item = &'static str> {
    routing::MODELS.iter().map(|model| model.name).filter(|&name| name != "static")
}

#[test]
fn messages_add_up_to_packets_and_bytes() {
    for protocol in protocols() {
        for outcome in runs(protocol) {
            for node in &outcome.nodes {
                let own = || outcome.overhead.iter().filter(|row| row.node == node.node && row.kind == "routing");
                assert_eq!(own().map(|row| row.sent_bytes).sum::<u64>(), node.routing_bytes, "{protocol}: {node:?}");
                assert_eq!(own().map(|row| row.piggybacked_bytes).sum::<u64>(), node.piggybacked_bytes, "{protocol}");
                // A packet has one message or more.
                assert!(own().map(|row| row.sent).sum::<u64>() >= node.routing_packets, "{protocol}: {node:?}");
            }
            let rows = outcome.overhead.iter();
            let keys: BTreeSet<_> = rows.map(|row| (row.node, row.kind, row.message)).collect();
            assert_eq!(keys.len(), outcome.overhead.len(), "{protocol}");
            let sum = |of: fn(&OverheadRow) -> u64| outcome.overhead.iter().map(of).sum::<u64>();
            // Whatever is sent was made by some node. Messages that wait at the end are made and not yet sent.
            assert!((sum(|row| row.sent + row.piggybacked) == 0) == (sum(|row| row.originated) == 0), "{protocol}");
        }
    }
}

#[test]
fn data_that_arrives_counts_at_its_destination() {
    for protocol in protocols() {
        for outcome in runs(protocol) {
            for node in &outcome.nodes {
                let own = || outcome.flows.iter().filter(|flow| flow.destination == node.node);
                assert_eq!(own().map(|flow| flow.packets_unique).sum::<u64>(), node.data_packets, "{protocol}");
                assert_eq!(own().map(|flow| flow.delivered_bytes).sum::<u64>(), node.data_bytes, "{protocol}");
            }
        }
    }
}

#[test]
fn a_request_is_made_once_and_forwarded_at_every_hop() {
    let mut spec = network("rfc", "aodv", &chain(4, 200.0));
    add_cbr(&mut spec, 0, 3, 256, Span::from_millis(100));
    let outcome = run_for(&mut spec, 5);
    let of = |message: &str| -> (Vec<u64>, Vec<u64>) {
        let at = |node: u32| outcome.overhead.iter().find(|row| row.node == node && row.message == message);
        (0..4).map(|node| at(node).map_or((0, 0), |row| (row.sent, row.originated))).unzip()
    };
    // Nothing is lost in a chain with so little traffic: what the neighbours send, a node receives.
    let received = |node: u32| {
        outcome.overhead.iter().find(|row| row.node == node && row.message == "RREQ").map_or(0, |row| row.received)
    };
    let (sent, _) = of("RREQ");
    assert_eq!([received(0), received(3)], [sent[1], sent[2]]);
    assert!(received(1) > sent[0] && received(1) <= sent[0] + sent[2], "{} of {sent:?}", received(1));
    // The search widens its ring: the last request reaches all nodes. The destination does not forward it.
    let (sent, made) = of("RREQ");
    assert!(sent[0] >= 1 && sent[1] >= 1 && sent[2] >= 1 && sent[3] == 0, "{sent:?}");
    assert_eq!(made, [sent[0], 0, 0, 0]);
    assert_eq!(of("RREP"), (vec![0, 1, 1, 1], vec![0, 0, 0, 1]));
}

#[test]
fn each_message_of_a_shared_packet_is_made_once_and_forwarded_by_relays() {
    let mut spec = network("rfc", "olsr", &chain(5, 200.0));
    let outcome = run_for(&mut spec, 60);
    let sum = |of: fn(&OverheadRow) -> u64| -> BTreeMap<&str, u64> {
        let mut sums = BTreeMap::new();
        outcome.overhead.iter().for_each(|row| *sums.entry(row.message).or_default() += of(row));
        sums
    };
    let (sent, made) = (sum(|row| row.sent), sum(|row| row.originated));
    assert_eq!(sent.keys().copied().collect::<Vec<_>>(), ["HELLO", "TC"]);
    assert_eq!(sent["HELLO"], made["HELLO"]);
    // Nodes 1 to 3 make TCs. Those of 1 and 3 are forwarded by the two other relays, those of 2 by its two neighbours.
    let share = sent["TC"] as f64 / made["TC"] as f64;
    assert!((2.7..=3.0).contains(&share), "{sent:?} {made:?}");
    let packets: u64 = outcome.nodes.iter().map(|node| node.routing_packets).sum();
    assert!(sent.values().sum::<u64>() > packets, "{sent:?}: {packets} packets");
}

#[test]
fn packets_visit_the_nodes_of_their_route() {
    for protocol in protocols() {
        let outcome = &runs(protocol)[0];
        let flow = &outcome.flows[0];
        let delivered: Vec<_> = outcome.paths.iter().filter(|row| row.fate == "delivered").collect();
        assert!(!delivered.is_empty(), "{protocol}");
        assert_eq!(delivered[0].path, "0 1 2 3 4 5", "{protocol}");
        assert_eq!((delivered[0].hops, delivered[0].repeats), (5, 0), "{protocol}");
        let shares: f64 = delivered.iter().map(|row| row.share).sum();
        assert!((shares - 1.0).abs() < 1e-9, "{protocol}: {shares}");
        let packets: u64 = delivered.iter().map(|row| row.packets).sum();
        assert_eq!(packets, flow.packets_arrived, "{protocol}");
        let hops: u64 = delivered.iter().map(|row| row.packets * u64::from(row.hops)).sum();
        assert!((hops as f64 / packets as f64 - flow.hops.expect("packets arrived")).abs() < 1e-9, "{protocol}");
    }
}

#[test]
fn paths_of_moving_nodes_agree_with_hops() {
    for protocol in protocols() {
        let outcome = &runs(protocol)[1];
        for flow in &outcome.flows {
            let own =
                |fate: &'static str| outcome.paths.iter().filter(move |row| row.flow == flow.flow && row.fate == fate);
            let packets: u64 = own("delivered").map(|row| row.packets).sum();
            assert_eq!(packets, flow.packets_arrived, "{protocol}: {flow:?}");
            assert_eq!(own("dropped").map(|row| row.packets).sum::<u64>(), flow.packets_dropped, "{protocol}");
            let hops: u64 = own("delivered").map(|row| row.packets * u64::from(row.hops)).sum();
            if let Some(mean) = flow.hops {
                assert!((hops as f64 / packets as f64 - mean).abs() < 1e-9, "{protocol}: {flow:?}");
            }
        }
    }
}

#[test]
fn changes_of_routes_follow_one_another() {
    for protocol in protocols() {
        for outcome in runs(protocol) {
            let mut known: BTreeMap<(u32, u32), (Option<u32>, Option<u8>)> = BTreeMap::new();
            for row in &outcome.route_changes {
                let after = (row.next_hop, row.hops);
                let before = known.insert((row.node, row.destination), after).unwrap_or_default();
                assert_eq!(before, (row.next_hop_before, row.hops_before), "{protocol}: {row:?}");
                assert_ne!(before, after, "{protocol}: {row:?}");
                assert_eq!(row.path.is_some(), row.next_hop.is_some(), "{protocol}: {row:?}");
                if let Some(flow) = row.flow {
                    let flow = &outcome.flows[flow as usize];
                    assert_eq!((row.node, row.destination), (flow.source, flow.destination), "{protocol}");
                }
            }
            for flow in &outcome.flows {
                let first =
                    outcome.flows.iter().find(|it| (it.source, it.destination) == (flow.source, flow.destination));
                let number = first.expect("the flow itself").flow;
                let changes = outcome.route_changes.iter().filter(|row| row.flow == Some(number)).count() as u64;
                assert_eq!(changes, flow.route_changes, "{protocol}: {flow:?}");
            }
        }
    }
}

#[test]
fn a_break_moves_packets_to_another_path() {
    // Node 1 leaves; node 2 is as good a way.
    let mut spec = network("rfc", "oracle", &[(0.0, 0.0), (200.0, 0.0), (200.0, 60.0), (400.0, 0.0)]);
    let point =
        |at: u64, y: f64| waypoints::Waypoint::ground(Span::from_secs(at), Distance::new(200.0), Distance::new(y));
    spec.nodes[1].mobility = mobility::Config::Waypoints(
        waypoints::Params { track: vec![point(5, 0.0), point(6, 2_000.0)], orders: Vec::new() }.into(),
    );
    add_tcp(&mut spec, 0, 3, "rfc", "newreno", |_| {});
    stagger(&mut spec);
    spec.duration = Span::from_secs(10);
    spec.observe.recorded = Recorded { routes: RouteChanges::Flows, paths: true, ..Recorded::default() };
    let outcome = run(&spec);
    let next_hops: Vec<_> = outcome.route_changes.iter().map(|row| (row.next_hop, row.flow)).collect();
    assert_eq!(next_hops, [(Some(1), Some(0)), (Some(2), Some(0))]);
    let taken: BTreeSet<_> =
        outcome.paths.iter().filter(|row| row.fate == "delivered").map(|row| row.path.as_str()).collect();
    assert_eq!(taken, BTreeSet::from(["0 1 3", "0 2 3"]));
}

#[test]
fn the_path_after_a_change_leads_to_the_destination() {
    let mut spec = scenarios::chain_of_six("aodv");
    spec.observe.recorded = Recorded { routes: RouteChanges::Flows, ..Recorded::default() };
    let outcome = run(&spec);
    let first = &outcome.route_changes[0];
    assert_eq!((first.path.as_deref(), first.path_ends), (Some("0 1 2 3 4 5"), Some("destination")));
    assert_eq!((first.node, first.destination, first.next_hop, first.hops), (0, 5, Some(1), Some(5)));
    assert!(outcome.paths.is_empty());
}

#[test]
fn nothing_is_recorded_that_was_not_asked_for() {
    let outcome = run(&scenarios::moving("rfc", "aodv"));
    assert!(outcome.route_changes.is_empty() && outcome.paths.is_empty() && outcome.segments.is_empty());
    assert!(!outcome.overhead.is_empty());
}

/// As many datagrams a second as nodes, each for a node within reach. The first flood is heard by everybody, and then
/// everybody is a neighbour; without that, and without a limit of replies, each search begets others until nothing
/// arrives.
#[test]
fn in_one_cell_protocols_that_search_find_neighbours() {
    for protocol in protocols() {
        let places: Vec<_> = (0..60).map(|node| (f64::from(node % 8) * 10.0, f64::from(node / 8) * 10.0)).collect();
        let mut spec = network("rfc", protocol, &places);
        let nodes = places.len() as u32;
        for node in 0..nodes {
            add_cbr(&mut spec, node, (node + nodes / 2) % nodes, 64, Span::from_secs(1));
            let start = Span::from_millis(20_000 + 10 * u64::from(node));
            spec.flows.last_mut().expect("a flow").start = Time::ZERO + start;
        }
        let outcome = run_for(&mut spec, 40);
        let sent: u64 = outcome.flows.iter().map(|row| row.packets_sent).sum();
        let arrived: u64 = outcome.flows.iter().map(|row| row.packets_unique).sum();
        assert!(arrived * 1000 > sent * 995, "{protocol}: {arrived} of {sent}");
    }
}
