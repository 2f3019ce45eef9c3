//! DSDV over several channels and to hosts behind gateways.

use hopyard_engine::units::{Distance, Speed};
use hopyard_engine::{Span, Time};
use hopyard_model::address::NodeId;
use hopyard_model::context::Departure;
use hopyard_model::link::wired;
use hopyard_model::mobility::{self, Position, waypoints};
use hopyard_model::params::Params as _;
use hopyard_model::world::{Advanced, Spec, Watch, WireSpec, World};
use hopyard_wire::ipv4::{Header, Protocol};
use hopyard_wire::udp;

use crate::common::{add_cbr, add_tcp, chain, network, run, run_for};

fn seconds(at: u64) -> Time {
    Time::ZERO + Span::from_secs(at)
}

fn wire(spec: &mut Spec, a: u32, b: u32) {
    let params = wired::Params { delay: Span::from_millis(2), ..wired::Params::of_profile("rfc") };
    spec.wires.push(WireSpec { ends: (NodeId(a), NodeId(b)), params, network: None });
}

/// Makes these nodes hosts without a radio.
fn without_radio(spec: &mut Spec, hosts: &[usize]) {
    for &host in hosts {
        spec.nodes[host].radios.clear();
        spec.nodes[host].start = Position::default();
    }
}

/// Nodes 0 to 4 in a row; 0 to 2 on one channel, 2 to 4 on another.
fn two_channels(profile: &str) -> Spec {
    let mut spec = network(profile, "dsdv", &chain(5, 200.0));
    spec.channels.push(spec.channels[0].clone());
    for node in [3, 4] {
        spec.nodes[node].radios = vec![1];
    }
    spec.nodes[2].radios = vec![0, 1];
    spec
}

#[test]
fn a_node_with_two_radios_joins_two_channels() {
    for (profile, start) in [("rfc", 15), ("ns2", 90)] {
        let mut spec = two_channels(profile);
        add_tcp(&mut spec, 0, 4, profile, "newreno", |_| {});
        spec.flows[0].start = seconds(start);
        spec.measure_from = seconds(start);
        spec.duration = Span::from_secs(start + 20);
        let outcome = run(&spec);
        let flow = &outcome.flows[0];
        assert!(flow.goodput_kbps > 200.0, "{profile}: {} kbit/s", flow.goodput_kbps);
        assert_eq!(flow.hops, Some(4.0), "{profile}");
    }
}

#[test]
fn both_addresses_of_a_node_are_reached_from_both_channels() {
    let mut spec = two_channels("rfc");
    spec.duration = Span::from_secs(22);
    let mut world = World::new(&spec).expect("a world");
    for node in [0, 2, 4] {
        world.attach(NodeId(node)).expect("it is there");
    }
    let name = |world: &World, node, place: usize| world.addresses(NodeId(node))[place];
    for (number, (from, place)) in [(0, 0), (0, 1), (4, 0), (4, 1)].into_iter().enumerate() {
        let (source, destination) = (name(&world, from, 0), name(&world, 2, place));
        let (mut body, mut bytes) = (Vec::new(), Vec::new());
        let ports = udp::Header { source_port: 7, destination_port: 9 };
        ports.emit(&[number as u8], source, destination, &mut body).expect("short enough");
        Header::new(Protocol::UDP, source, destination, 64).emit(&body, &mut bytes).expect("short enough");
        world.inject(NodeId(from), seconds(20), &bytes).expect("it can be put in");
    }
    assert_eq!(world.advance(Time::NEVER, &Watch::default()), Advanced::Ended);
    let mut reached: Vec<String> = Vec::new();
    while let Some(departure) = world.egress() {
        if let Departure::Datagram { node, bytes, .. } = departure {
            let (header, _) = Header::parse(&bytes).expect("a datagram");
            assert_eq!(node, NodeId(2));
            reached.push(format!("{} {}", header.source, header.destination));
        }
    }
    reached.sort_unstable();
    let expected = ["10.0.0.1 10.0.0.3", "10.0.0.1 172.16.0.3", "172.16.0.2 10.0.0.3", "172.16.0.2 172.16.0.3"];
    assert_eq!(reached, expected);
    world.finish().expect("packets add up");
}

/// Six nodes in a row with radios, the last of which is a gateway; then a router, and a host behind it.
#[test]
fn a_host_and_a_node_five_radio_hops_away_reach_each_other() {
    for (from, to) in [(0, 7), (7, 0)] {
        let mut places = chain(6, 200.0);
        places.extend([(5000.0, 0.0), (5000.0, 0.0)]);
        let mut spec = network("rfc", "dsdv", &places);
        without_radio(&mut spec, &[6, 7]);
        wire(&mut spec, 5, 6);
        wire(&mut spec, 6, 7);
        add_tcp(&mut spec, from, to, "rfc", "newreno", |_| {});
        spec.flows[0].start = seconds(15);
        spec.measure_from = seconds(15);
        let outcome = run_for(&mut spec, 40);
        let flow = &outcome.flows[0];
        assert!(flow.goodput_kbps > 100.0, "from {from}: {} kbit/s", flow.goodput_kbps);
        assert!((flow.hops.expect("packets arrived") - 7.0).abs() < 0.01, "from {from}: {:?} hops", flow.hops);
    }
}

/// Five nodes in a row, gateways at both ends, and a host behind both.
fn two_gateways(from: u32) -> Spec {
    let mut places = chain(5, 200.0);
    places.push((5000.0, 0.0));
    let mut spec = network("rfc", "dsdv", &places);
    without_radio(&mut spec, &[5]);
    wire(&mut spec, 0, 5);
    wire(&mut spec, 4, 5);
    add_cbr(&mut spec, from, 5, 200, Span::from_millis(100));
    spec.flows[0].start = seconds(20);
    spec.measure_from = seconds(20);
    Spec { duration: Span::from_secs(30), ..spec }
}

#[test]
fn each_node_uses_the_nearest_of_two_gateways() {
    for (from, hops) in [(1, 2.0), (2, 3.0), (3, 2.0)] {
        let outcome = run(&two_gateways(from));
        let flow = &outcome.flows[0];
        assert!(flow.packets_arrived + 3 > flow.packets_sent && flow.packets_sent > 90, "from {from}: {flow:?}");
        assert_eq!(flow.hops, Some(hops), "from {from}");
    }
}

/// Lets a node go to a place at 1000 m/s.
fn leaves(spec: &mut Spec, node: usize, at: u64, x: f64) {
    let orders =
        vec![waypoints::Order::level(Span::from_secs(at), Distance::new(x), Distance::new(0.0), Speed::new(1000.0))];
    spec.nodes[node].mobility = mobility::Config::Waypoints(waypoints::Params { track: Vec::new(), orders }.into());
}

#[test]
fn when_a_gateway_leaves_the_other_one_takes_over() {
    let mut spec = two_gateways(1);
    leaves(&mut spec, 0, 40, -9000.0);
    spec.measure_from = seconds(50);
    let outcome = run_for(&mut spec, 90);
    let flow = &outcome.flows[0];
    assert!(flow.hops.expect("packets arrive") > 3.9, "three hops by radio and one by wire: {:?}", flow.hops);
    assert!(flow.packets_arrived * 100 > flow.packets_sent * 95, "{} of {}", flow.packets_arrived, flow.packets_sent);
}

#[test]
fn a_node_goes_from_one_gateway_to_another() {
    // Gateways 1 and 2 do not hear each other; node 0 begins beside the first one.
    let mut spec = network("rfc", "dsdv", &[(100.0, 0.0), (0.0, 0.0), (2000.0, 0.0), (5000.0, 0.0)]);
    without_radio(&mut spec, &[3]);
    wire(&mut spec, 1, 3);
    wire(&mut spec, 2, 3);
    add_cbr(&mut spec, 0, 3, 200, Span::from_millis(100));
    leaves(&mut spec, 0, 40, 1900.0);
    spec.duration = Span::from_secs(100);
    let arrived = |from: u64, until: u64| {
        let mut spec = spec.clone();
        spec.measure_from = seconds(from);
        let outcome = run_for(&mut spec, until);
        outcome.flows[0].packets_arrived
    };
    assert!(arrived(20, 40) > 190, "by the first gateway");
    assert!(arrived(60, 100) > 380, "by the second one, after its next update");
}
