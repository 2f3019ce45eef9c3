//! Ad hoc networks with wires: hosts behind routers, nodes with a radio and a wire, without a line of routing.

mod common;

use common::{add_tcp, network, run};
use hopyard_engine::Span;
use hopyard_engine::units::Rate;
use hopyard_model::address::NodeId;
use hopyard_model::link::wired;
use hopyard_model::mobility::Position;
use hopyard_model::params::Params as _;
use hopyard_model::routing;
use hopyard_model::world::{Spec, WireSpec, World};

/// Adds a wire of this rate and delay.
fn wire(spec: &mut Spec, between: (u32, u32), mbps: u64, milliseconds: u64) {
    let params = wired::Params {
        rate: Rate::from_bps(mbps * 1_000_000),
        delay: Span::from_millis(milliseconds),
        ..wired::Params::of_profile("rfc")
    };
    spec.wires.push(WireSpec { ends: (NodeId(between.0), NodeId(between.1)), params, network: None });
}

/// Six nodes in a row with radios, the last of which is a gateway; then a router, and a host behind it.
fn behind_a_router(protocol: &str) -> Spec {
    let mut places = common::chain(6, 200.0);
    places.extend([(5000.0, 0.0), (5000.0, 0.0)]);
    let mut spec = network("rfc", protocol, &places);
    for host in [6, 7] {
        spec.nodes[host].radios.clear();
        spec.nodes[host].start = Position::default();
    }
    wire(&mut spec, (5, 6), 100, 2);
    wire(&mut spec, (6, 7), 100, 2);
    spec.duration = Span::from_secs(20);
    spec
}

#[test]
fn a_host_and_a_node_five_radio_hops_away_reach_each_other() {
    for protocol in ["static", "oracle"] {
        for (from, to) in [(0, 7), (7, 0)] {
            let mut spec = behind_a_router(protocol);
            add_tcp(&mut spec, from, to, "rfc", "newreno", |_| {});
            let outcome = run(&spec);
            let flow = &outcome.flows[0];
            assert!(flow.goodput_kbps > 100.0, "{protocol} from {from}: {} kbit/s", flow.goodput_kbps);
            assert!((flow.hops.expect("packets arrived") - 7.0).abs() < 1e-9, "{protocol}: {:?} hops", flow.hops);
        }
    }
}

/// Hosts on both sides of three routers: the way with the shortest delay is taken, though it has more hops.
#[test]
fn among_hosts_the_shortest_delay_is_taken_under_every_protocol() {
    for (protocol, _) in [("static", 0), ("oracle", 0), ("aodv", 0), ("dsdv", 0)] {
        let mut spec = network("rfc", protocol, &[(0.0, 0.0); 5]);
        for node in &mut spec.nodes {
            node.radios.clear();
            node.routing = routing::Config::of_profile(protocol, "rfc").expect("a protocol");
        }
        // From host 0 to host 4: over 1 and 2 in 6 ms and 2 more, or over 3 in 20 ms.
        for (between, delay) in [((0, 1), 2), ((1, 2), 2), ((2, 4), 2), ((0, 3), 10), ((3, 4), 10)] {
            wire(&mut spec, between, 10, delay);
        }
        add_tcp(&mut spec, 0, 4, "rfc", "newreno", |_| {});
        spec.duration = Span::from_secs(5);
        let outcome = run(&spec);
        assert!(outcome.flows[0].goodput_kbps > 5000.0, "{protocol}: {}", outcome.flows[0].goodput_kbps);
        assert_eq!(outcome.flows[0].hops, Some(3.0), "{protocol}");
    }
}

/// Two channels joined by a node with a radio on each: its interfaces have addresses of two prefixes, and packets cross
/// it under every protocol, although no node of one channel hears a node of the other.
#[test]
fn a_node_with_two_radios_joins_two_channels() {
    for protocol in ["static", "oracle"] {
        let mut spec = network("rfc", protocol, &common::chain(5, 200.0));
        spec.channels.push(spec.channels[0].clone());
        for node in [3, 4] {
            spec.nodes[node].radios = vec![1];
        }
        spec.nodes[2].radios = vec![0, 1];
        add_tcp(&mut spec, 0, 4, "rfc", "newreno", |_| {});
        let world = World::new(&spec).expect("a world");
        let names = |node| world.addresses(NodeId(node)).iter().map(ToString::to_string).collect::<Vec<_>>();
        assert_eq!((names(0), names(2)), (vec!["10.0.0.1".into()], vec!["10.0.0.3".into(), "172.16.0.3".into()]));
        assert_eq!(names(4), ["172.16.0.2"]);
        let outcome = run(&spec);
        assert!(outcome.flows[0].goodput_kbps > 200.0, "{protocol}: {}", outcome.flows[0].goodput_kbps);
        assert_eq!(outcome.flows[0].hops, Some(4.0), "{protocol}");
        // The same nodes on one channel disturb one another more.
        let mut one = network("rfc", protocol, &common::chain(5, 200.0));
        add_tcp(&mut one, 0, 4, "rfc", "newreno", |_| {});
        assert!(run(&one).flows[0].goodput_kbps < outcome.flows[0].goodput_kbps, "{protocol}");
    }
}

#[test]
fn a_node_with_a_radio_and_a_wire_has_addresses_of_two_prefixes() {
    let mut spec = behind_a_router("oracle");
    spec.channels[0].network = Some("10.5.0.0/16".parse().expect("a prefix"));
    spec.addresses.push((NodeId(5), "10.5.77.1".parse().expect("an address")));
    let world = World::new(&spec).expect("a world");
    let names = |node| world.addresses(NodeId(node)).iter().map(ToString::to_string).collect::<Vec<_>>();
    assert_eq!(names(5), ["10.5.77.1", "192.168.0.1"]);
    assert_eq!(names(6), ["192.168.0.2", "192.168.0.5"]);
    assert_eq!(names(0), ["10.5.0.1"]);
    spec.addresses.push((NodeId(0), "10.5.77.1".parse().expect("an address")));
    spec.addresses.push((NodeId(1), "192.168.0.1".parse().expect("an address")));
    spec.wires[1].network = Some("10.5.1.0/30".parse().expect("a prefix"));
    let error = World::new(&spec).expect_err("three mistakes").to_string();
    for words in
        ["have the address 10.5.77.1", "node 1 has no interface in whose prefix the address 192.168.0.1", "overlapping"]
    {
        assert!(error.contains(words), "{words}: {error}");
    }
}

#[test]
fn radios_on_channels_that_are_not_there_are_refused() {
    let mut spec = network("rfc", "static", &common::chain(2, 200.0));
    spec.nodes[1].radios = vec![0, 1];
    let error = World::new(&spec).expect_err("one channel only").to_string();
    assert_eq!(error, "node 1 has a radio on channel 1; there are 1 channels, counted from 0");
    spec.nodes[1].radios = vec![0, 0];
    let error = World::new(&spec).expect_err("twice").to_string();
    assert!(error.starts_with("node 1 has two radios on channel 0"), "{error}");
}
