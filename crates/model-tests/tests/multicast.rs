//! Datagrams for multicast groups: who gets them, how often they are sent, what the tables say of them.

use std::net::Ipv4Addr;

use hopyard_engine::units::Bytes;
use hopyard_engine::{Span, Time};
use hopyard_model::address::NodeId;
use hopyard_model::app::{self, Law, messages};
use hopyard_model::context::DropReason;
use hopyard_model::link::arp::Resolution;
use hopyard_model::mac::{self, tdma};
use hopyard_model::multicast::{self, By};
use hopyard_model::observe::Outcome;
use hopyard_model::params::Params as _;
use hopyard_model::world::{BuildError, Cast, Spec, World};
use proptest::prelude::*;

use crate::common::{add_cbr, chain, network, ranged, routing_for, run, to_group, with_traffic};

/// Nodes in slots of their own, so that no frame collides, under a forwarding protocol.
fn slotted(protocol: &str, by: By, places: &[(f64, f64)]) -> Spec {
    let mut spec = ranged(network("rfc", routing_for(protocol, "static"), places), 250.0, 250.0);
    let params = tdma::Params { slot: Span::from_millis(5), ..tdma::Params::of_profile("rfc") };
    spec.channels[0].mac = mac::Config::Tdma(params.into());
    let params = multicast::Params { duplicates: by, ..multicast::Params::of_profile("rfc") };
    let values = serde_json::to_value(params).expect("parameters");
    spec.multicast = multicast::Config::read(protocol, &values).expect("a protocol");
    spec
}

/// Lets a node send so many datagrams to a group of these members, once routing knows the neighbours.
fn add_group(spec: &mut Spec, from: u32, members: &[u32], datagrams: u64) {
    let to = members.iter().find(|node| **node != from).expect("somebody gets it");
    let flow = spec.flows.len();
    add_cbr(spec, from, *to, 200, Span::from_secs(1));
    spec.flows[flow].start = Time::ZERO + Span::from_secs(25) + Span::from_millis(130) * flow as u64;
    spec.flows[flow].stop = spec.flows[flow].start + Span::from_secs(datagrams);
    spec.duration = spec.duration.max(Span::from_secs(30 + datagrams));
    to_group(spec, flow, members);
}

/// How often nodes have sent a datagram on.
fn forwarded(outcome: &Outcome) -> u64 {
    outcome.nodes.iter().map(|node| node.forwarded).sum()
}

fn everybody(nodes: usize) -> Vec<u32> {
    (0..nodes as u32).collect()
}

#[test]
fn on_a_line_each_forwarder_sends_once() {
    let nodes = 6;
    for (protocol, relays) in [("classic_flooding", nodes - 1), ("s_mpr", nodes - 2)] {
        let mut spec = slotted(protocol, By::Hash, &chain(nodes, 200.0));
        add_group(&mut spec, 0, &everybody(nodes), 4);
        let outcome = run(&spec);
        let datagrams = outcome.flows[0].packets_sent;
        assert!((3..=7).contains(&datagrams), "{datagrams}");
        assert_eq!(forwarded(&outcome), datagrams * relays as u64, "{protocol}: the last node has nobody to relay to");
        assert_eq!(outcome.flows.len(), nodes - 1);
        for flow in &outcome.flows {
            assert_eq!((flow.source, flow.destination), (0, flow.flow + 1), "{protocol}");
            assert_eq!((flow.packets_sent, flow.packets_arrived), (datagrams, datagrams), "{protocol}");
            assert_eq!((flow.packets_unique, flow.packets_dropped, flow.packets_left), (datagrams, 0, 0));
            assert_eq!(flow.hops, Some(f64::from(flow.destination)), "{protocol}");
        }
        // In slots, a node needs less than a frame to send what it has.
        let frame = spec.channels[0].mac.clone();
        let mac::Config::Tdma(params) = frame else { panic!("slots") };
        let most = (params.slot * nodes as u64 + Span::from_millis(10)).seconds() * 1e3;
        for flow in &outcome.flows {
            let delay = flow.delay_ms.expect("datagrams arrived");
            assert!(delay <= most * f64::from(flow.destination), "{protocol}: {delay} ms to {}", flow.destination);
        }
    }
}

#[test]
fn on_a_grid_relays_reach_everybody_with_fewer_frames() {
    let places: Vec<_> = (0..25).map(|i| (f64::from(i % 5) * 160.0, f64::from(i / 5) * 160.0)).collect();
    let mut sent = Vec::new();
    for protocol in ["classic_flooding", "s_mpr"] {
        let mut spec = slotted(protocol, By::Hash, &places);
        add_group(&mut spec, 12, &everybody(25), 4);
        let outcome = run(&spec);
        let datagrams = outcome.flows[0].packets_sent;
        assert!(outcome.flows.iter().all(|flow| flow.packets_arrived == datagrams), "{protocol}");
        assert_eq!(forwarded(&outcome) % datagrams, 0, "{protocol}");
        sent.push(forwarded(&outcome) / datagrams);
    }
    assert_eq!(sent[0], 24, "everybody but the source");
    assert!(sent[1] <= 16, "relays: {}", sent[1]);
}

#[test]
fn those_who_are_no_members_forward_and_get_nothing() {
    let mut spec = slotted("classic_flooding", By::Hash, &chain(5, 200.0));
    add_group(&mut spec, 1, &[1, 4], 3);
    add_group(&mut spec, 0, &[2, 3], 3);
    spec.observe.recorded.paths = true;
    let outcome = run(&spec);
    let paths: Vec<_> = outcome.paths.iter().map(|row| (row.flow, &*row.path)).collect();
    assert_eq!(paths, [(0, "1 2 3 4"), (1, "0 1 2"), (1, "0 1 2 3")]);
    let ends: Vec<_> = outcome.flows.iter().map(|flow| (flow.source, flow.destination, flow.packets_unique)).collect();
    let [first, second] = [0, 1].map(|flow: usize| outcome.flows[flow].packets_sent);
    assert_eq!(ends, [(1, 4, first), (0, 2, second), (0, 3, second)], "the sender gets nothing of its own");
    assert_eq!(outcome.nodes[1].data_packets, 0);
}

#[test]
fn the_time_to_live_bounds_a_flood() {
    let mut spec = slotted("classic_flooding", By::Hash, &chain(6, 200.0));
    spec.ip.ttl = 3;
    add_group(&mut spec, 0, &everybody(6), 2);
    let outcome = run(&spec);
    let sent = outcome.flows[0].packets_sent;
    let unique: Vec<_> = outcome.flows.iter().map(|flow| flow.packets_unique).collect();
    assert_eq!(unique, [sent, sent, sent, 0, 0]);
    let dropped: Vec<_> = outcome.flows.iter().map(|flow| flow.packets_dropped).collect();
    assert_eq!(dropped, [0, 0, 0, sent, sent]);
    let expired = |node| {
        let rows = outcome.drops.iter().filter(|row| row.reason == DropReason::TtlExpired.name() && row.node == node);
        rows.map(|row| row.count).sum::<u64>()
    };
    assert_eq!((expired(3), expired(2)), (sent, 0), "the node at the end would send them on");
}

#[test]
fn a_datagram_on_two_channels_is_delivered_once() {
    let mut spec = slotted("classic_flooding", By::Identification, &chain(3, 200.0));
    spec.channels.push(spec.channels[0].clone());
    spec.nodes.iter_mut().for_each(|node| node.radios = vec![0, 1]);
    add_group(&mut spec, 0, &everybody(3), 3);
    let outcome = run(&spec);
    let sent = outcome.flows[0].packets_sent;
    assert!(outcome.flows.iter().all(|flow| (flow.packets_unique, flow.packets_arrived) == (sent, sent)));
    assert_eq!(forwarded(&outcome), 2 * sent);
    assert!(outcome.nodes.iter().all(|node| node.broadcasts == 2 * sent), "each sends once on either channel");
}

/// Sizes and times of all objects of a flow.
fn objects(outcome: &Outcome, flow: u32) -> Vec<(u64, u64, bool)> {
    let rows = outcome.objects.iter().filter(|row| row.flow == flow);
    rows.map(|row| (row.number, row.bytes, row.delivered_s.is_some())).collect()
}

fn with_messages(spec: &mut Spec) {
    let size = "uniform(300 B, 3000 B)".parse::<Law<Bytes>>().expect("sizes");
    let params = messages::Params { size, messages: 5, ..messages::Params::of_profile("rfc") };
    with_traffic(&mut spec.flows[0], app::Config::Messages(params.into()));
}

#[test]
fn each_receiver_has_the_objects_of_a_group() {
    let mut spec = slotted("classic_flooding", By::Hash, &chain(4, 200.0));
    add_group(&mut spec, 0, &[1, 2, 3], 9);
    with_messages(&mut spec);
    let outcome = run(&spec);
    let first = objects(&outcome, 0);
    assert!(first.len() == 5 && first.iter().all(|(.., delivered)| *delivered), "{first:?}");
    assert!(first.iter().any(|it| it.1 > 1000), "some need several datagrams");
    assert_eq!((objects(&outcome, 1), objects(&outcome, 2)), (first.clone(), first));
    let time = |flow: u32| outcome.objects.iter().find(|row| row.flow == flow).and_then(|row| row.delivery_ms);
    assert!(time(0) < time(1) && time(1) < time(2), "the farther, the later");
}

#[test]
fn a_list_of_nodes_gets_packets_of_its_own_with_the_same_data() {
    let mut spec = slotted("classic_flooding", By::Hash, &chain(4, 10.0));
    add_group(&mut spec, 0, &[1, 2, 3], 9);
    with_messages(&mut spec);
    spec.link.arp.resolution = Resolution::Off;
    spec.casts.insert(0, Cast::Each(vec![NodeId(1), NodeId(2), NodeId(3)]));
    let outcome = run(&spec);
    let first = objects(&outcome, 0);
    assert!(first.len() == 5 && first.iter().all(|(.., delivered)| *delivered), "{first:?}");
    assert_eq!((objects(&outcome, 1), objects(&outcome, 2)), (first.clone(), first));
    let frames: u64 = outcome.nodes.iter().map(|node| node.data_frames).sum();
    let packets: u64 = outcome.flows.iter().map(|flow| flow.packets_sent).sum();
    assert_eq!((frames, forwarded(&outcome)), (packets, 0), "none is broadcast");
}

#[test]
fn what_cannot_go_to_a_group_is_refused() {
    let refused = |change: fn(&mut Spec)| {
        let mut spec = slotted("classic_flooding", By::Hash, &chain(4, 200.0));
        add_group(&mut spec, 0, &[2, 3], 1);
        change(&mut spec);
        match World::new(&spec) {
            Err(BuildError::Group { flow: 0, why }) => why,
            other => panic!("{other:?}"),
        }
    };
    assert!(refused(|spec| spec.flows[0].to = NodeId(1)).contains("no member"));
    assert!(refused(|spec| spec.groups.clear()).contains("no member"));
    assert!(refused(|spec| spec.groups[0].address = Ipv4Addr::new(224, 0, 0, 9)).contains("address"));
    assert!(refused(|spec| spec.nodes[3].radios.clear()).contains("radio"));
    assert!(refused(|spec| spec.groups[0].members.push(NodeId(9))).contains("radio"));
    let echo =
        |spec: &mut Spec| with_traffic(&mut spec.flows[0], app::Config::of_profile("echo", "rfc").expect("traffic"));
    assert!(refused(echo).contains("answered"));
    let relays = |spec: &mut Spec| spec.multicast = multicast::Config::of_profile("s_mpr", "rfc").expect("a protocol");
    assert!(refused(relays).contains("relays"));
}

/// Whether frames over at most 250 m join all nodes.
fn is_connected(places: &[(f64, f64)]) -> bool {
    let near = |a: &(f64, f64), b: &(f64, f64)| (a.0 - b.0).hypot(a.1 - b.1) < 249.0;
    let mut reached = vec![0];
    for next in 0..places.len() {
        let Some(&node) = reached.get(next) else { return false };
        let more: Vec<_> =
            (0..places.len()).filter(|it| !reached.contains(it) && near(&places[node], &places[*it])).collect();
        reached.extend(more);
    }
    true
}

fn networks() -> impl Strategy<Value = Vec<(f64, f64)>> {
    let place = (0.0..700.0_f64, 0.0..700.0_f64);
    prop::collection::vec(place, 3..14).prop_filter("connected", |places| is_connected(places))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    /// In a network at rest without losses, everybody gets every datagram once; relays never send more than all do.
    #[test]
    fn everybody_gets_each_datagram_once(places in networks(), from in 0..3_u32, by in any::<bool>()) {
        let by = if by { By::Hash } else { By::Identification };
        let others = places.len() as u64 - 1;
        let mut sent = Vec::new();
        for model in multicast::MODELS {
            let mut spec = slotted(model.name, by, &places);
            add_group(&mut spec, from, &everybody(places.len()), 4);
            add_group(&mut spec, 2 - from.min(1), &everybody(places.len()), 4);
            let outcome = run(&spec);
            prop_assert_eq!(outcome.flows.len() as u64, 2 * others);
            for flow in &outcome.flows {
                let row = (flow.packets_unique, flow.packets_arrived, flow.packets_dropped);
                prop_assert_eq!(row, (flow.packets_sent, flow.packets_sent, 0), "{} {:?}", model.name, by);
                prop_assert!(flow.packets_sent >= 3);
            }
            let datagrams = outcome.flows[0].packets_sent + outcome.flows[1].packets_sent;
            prop_assert!(forwarded(&outcome) <= datagrams * others, "{} sends more than once", model.name);
            sent.push(forwarded(&outcome));
            if model.name == "classic_flooding" {
                prop_assert_eq!(forwarded(&outcome), datagrams * others);
            }
        }
        prop_assert!(sent.iter().all(|it| *it <= sent[0]), "{:?}", sent);
    }
}
