//! Ad hoc networks that gateways of AODV connect to hosts on wires: rule by rule, in small networks.

use std::collections::BTreeSet;

use hopyard_engine::units::{Distance, Rate, Speed};
use hopyard_engine::{Span, Time};
use hopyard_model::address::{InterfaceId, NodeId};
use hopyard_model::link::wired;
use hopyard_model::mobility::{self, waypoints};
use hopyard_model::observe::{FrameEdge, FrameView, Outcome, PacketEvent, Passage, Probe};
use hopyard_model::packet::{Body, Packet, PacketKind};
use hopyard_model::params::Params as _;
use hopyard_model::routing::Config;
use hopyard_model::routing::aodv::{AodvMessage, Gateways, LinkDetection, Locality, Params, Reply, ToGateway};
use hopyard_model::world::{Spec, WireSpec};

use crate::common::{self, add_cbr, add_tcp, network, run_with};

/// What went over the air and over the wires.
#[derive(Debug, Default)]
struct Seen {
    /// Data frames: sender, size of the packet, whether it was in a tunnel, its IP destination.
    frames: BTreeSet<(u32, u32, bool, u32)>,
    /// Data packets that entered a wire: interface, size, whether it was in a tunnel.
    wires: BTreeSet<(u32, u32, bool)>,
    /// Replies of gateways: sender, gateway, host.
    replies: Vec<(u32, u32, u32)>,
    /// Requests: time, sender, destination.
    requests: Vec<(Time, u32, u32)>,
    /// Data packets with payload that were delivered: time and node.
    delivered: Vec<(Time, u32)>,
}

impl Probe for Seen {
    fn on_frame(&mut self, now: Time, interface: InterfaceId, frame: &FrameView<'_>, edge: FrameEdge) {
        if edge != FrameEdge::Sent {
            return;
        }
        let Some(packet) = frame.packet else { return };
        if packet.kind() == PacketKind::Data && packet.size > 100 {
            let tunnelled = matches!(packet.body, Body::Tunnelled(..));
            self.frames.insert((interface.0, packet.size, tunnelled, packet.destination.0));
        }
        let Body::Routing(message) = &packet.body else { return };
        match message.get() {
            Some(AodvMessage::Reply(Reply { destination, internet: Some(host), .. })) => {
                self.replies.push((interface.0, destination.0, host.0));
            }
            Some(AodvMessage::Request(it)) => self.requests.push((now, interface.0, it.destination.0)),
            _ => {}
        }
    }

    fn on_passage(&mut self, _: Time, packet: &Packet, passage: Passage) {
        let Passage::WireEntered(interface) = passage else { return };
        if packet.kind() == PacketKind::Data && packet.size > 100 {
            self.wires.insert((interface.0, packet.size, matches!(packet.body, Body::Tunnelled(..))));
        }
    }

    fn on_packet(&mut self, now: Time, node: NodeId, packet: &Packet, event: PacketEvent) {
        if event != PacketEvent::Delivered {
            return;
        }
        if packet.size > 100 {
            self.delivered.push((now, node.0));
        }
    }
}

fn wire(spec: &mut Spec, between: (u32, u32)) {
    let params = wired::Params {
        rate: Rate::from_bps(100_000_000),
        delay: Span::from_millis(2),
        ..wired::Params::of_profile("rfc")
    };
    spec.wires.push(WireSpec { ends: (NodeId(between.0), NodeId(between.1)), params, network: None });
}

/// Nodes with radios at these places, and hosts with wires only.
fn with_hosts(places: &[(f64, f64)], hosts: usize, wires: &[(u32, u32)], change: impl Fn(&mut Params)) -> Spec {
    let mut every = places.to_vec();
    every.resize(places.len() + hosts, (5000.0, 0.0));
    let mut spec = network("rfc", "aodv", &every);
    for node in &mut spec.nodes {
        let Config::Aodv(params) = &mut node.routing else { panic!("AODV") };
        change(params);
    }
    for node in &mut spec.nodes[places.len()..] {
        node.radios.clear();
    }
    for &between in wires {
        wire(&mut spec, between);
    }
    Spec { duration: Span::from_secs(10), ..spec }
}

/// Nodes 0 to 3 in a row, of which node 3 is a gateway to host 4.
fn one_gateway(change: impl Fn(&mut Params)) -> Spec {
    with_hosts(&common::chain(4, 200.0), 1, &[(3, 4)], change)
}

fn watched(spec: &Spec) -> (Outcome, Seen) {
    run_with(spec, Seen::default())
}

fn dropped(outcome: &Outcome, reason: &str) -> u64 {
    outcome.drops.iter().filter(|row| row.kind == "data" && row.reason == reason).map(|row| row.count).sum()
}

#[test]
fn proxy_reply_a_gateway_answers_for_a_host_and_nobody_else_does() {
    let mut spec = one_gateway(|_| {});
    add_cbr(&mut spec, 0, 4, 500, Span::from_millis(100));
    let (outcome, seen) = watched(&spec);
    assert_eq!(seen.replies, [(3, 3, 4), (2, 3, 4), (1, 3, 4)], "one reply, passed on to the source");
    assert_eq!(outcome.flows[0].packets_unique, outcome.flows[0].packets_sent);
    // Node 1 knows the gateway, and does not answer for the host when node 0 or another one asks.
    let mut late = spec.clone();
    add_cbr(&mut late, 1, 4, 500, Span::from_millis(100));
    late.flows[1].start = Time::from_nanos(3_000_000_000);
    let (_, seen) = watched(&late);
    assert_eq!(seen.replies[3..], [(3, 3, 4), (2, 3, 4)], "node 1 asks the gateway itself");
}

#[test]
fn half_tunnel_only_the_way_to_the_gateway_is_tunnelled() {
    let mut spec = one_gateway(|_| {});
    add_cbr(&mut spec, 0, 4, 500, Span::from_millis(100));
    add_cbr(&mut spec, 4, 0, 600, Span::from_millis(100));
    let (outcome, seen) = watched(&spec);
    let out: BTreeSet<_> = [0, 1, 2].map(|node| (node, 528 + 20, true, 3)).into();
    let back: BTreeSet<_> = [1, 2, 3].map(|node| (node, 628, false, 0)).into();
    assert_eq!(seen.frames, &out | &back, "IP in IP, 20 bytes more, for the gateway; back without");
    // Interface 5 is the gateway's end of the wire.
    assert_eq!(seen.wires, BTreeSet::from([(4, 628, false), (5, 528, false)]));
    for flow in &outcome.flows {
        assert!(flow.packets_unique >= flow.packets_sent - 1, "the last one may be under way");
        assert_eq!(flow.hops, Some(4.0), "the hops of the tunnel count");
    }
}

#[test]
fn default_route_each_node_sends_towards_the_gateway() {
    let mut spec = one_gateway(|it| it.to_gateway = ToGateway::DefaultRoute);
    add_cbr(&mut spec, 0, 4, 500, Span::from_millis(100));
    let (outcome, seen) = watched(&spec);
    assert_eq!(seen.frames, [0, 1, 2].map(|node| (node, 528, false, 4)).into(), "no tunnel");
    assert_eq!(outcome.flows[0].packets_unique, outcome.flows[0].packets_sent);
}

#[test]
fn gateway_searches_for_the_destination_of_packets_from_the_internet() {
    let mut spec = one_gateway(|_| {});
    add_tcp(&mut spec, 4, 0, "rfc", "newreno", |_| {});
    let (outcome, seen) = watched(&spec);
    assert!(seen.requests.iter().any(|&(_, node, destination)| (node, destination) == (3, 0)));
    assert!(outcome.flows[0].goodput_kbps > 100.0, "{}", outcome.flows[0].goodput_kbps);
    // A node that is not there: the gateway gives up, and no packet is lost without a reason.
    let mut spec = one_gateway(|_| {});
    spec.nodes[0].start.x = -5000.0;
    add_cbr(&mut spec, 4, 0, 500, Span::from_millis(100));
    spec.duration = Span::from_secs(20);
    let (outcome, _) = watched(&spec);
    assert_eq!(outcome.flows[0].packets_unique, 0);
    assert!(dropped(&outcome, "discovery_failed") > 0);
}

#[test]
fn no_answer_without_a_gateway_a_host_is_not_found() {
    let cases: [&dyn Fn(&mut Params); 2] =
        [&|it| it.gateways = Gateways::Off, &|it| it.gateways = Gateways::Nodes(vec![1])];
    for change in cases {
        let mut spec = one_gateway(change);
        add_cbr(&mut spec, 0, 4, 500, Span::from_millis(100));
        spec.duration = Span::from_secs(20);
        let (outcome, seen) = watched(&spec);
        assert_eq!((outcome.flows[0].packets_unique, seen.replies.len()), (0, 0));
        assert!(dropped(&outcome, "discovery_failed") > 0);
    }
}

#[test]
fn no_answer_a_cautious_source_uses_a_gateway_after_a_search_without_an_answer() {
    let first = |locality| {
        let mut spec = one_gateway(|it| it.locality = locality);
        add_cbr(&mut spec, 0, 4, 500, Span::from_millis(100));
        spec.duration = Span::from_secs(20);
        let (outcome, seen) = watched(&spec);
        assert!(seen.delivered.len() > 50 && outcome.flows[0].packets_unique > 50);
        let floods = seen.requests.iter().filter(|&&(_, node, destination)| (node, destination) == (0, 4)).count();
        (outcome.flows[0].first_arrival_s.expect("datagrams arrived"), floods)
    };
    let (at, floods) = first(Locality::Prefix);
    assert!(at < 1.5 && floods == 2, "{at} s, {floods} rings");
    // Rings of TTL 2, 4 and 6, then floods of 2.8 s and twice that.
    let (at, floods) = first(Locality::NoAnswer);
    assert!((8.0..13.0).contains(&at) && floods == 5, "{at} s, {floods} rings");
}

#[test]
fn no_answer_the_route_to_the_gateway_outlasts_the_search() {
    // ACTIVE_ROUTE_TIMEOUT is 3 s with HELLO messages alone, and the last flood waits 5.6 s.
    let mut spec = one_gateway(|it| {
        it.locality = Locality::NoAnswer;
        it.link_detection = LinkDetection::Hello;
    });
    add_cbr(&mut spec, 0, 4, 500, Span::from_millis(100));
    spec.duration = Span::from_secs(40);
    let (outcome, _) = watched(&spec);
    assert!(outcome.flows[0].packets_unique > 250, "{:?}", outcome.drops);
}

#[test]
fn several_hosts_behind_routers_share_a_gateway() {
    // Gateway 3, router 4 with host 5, router 6 behind it with host 7.
    let mut spec = with_hosts(&common::chain(4, 200.0), 4, &[(3, 4), (4, 5), (4, 6), (6, 7)], |_| {});
    for (from, to) in [(0, 5), (1, 7), (7, 2)] {
        add_cbr(&mut spec, from, to, 500, Span::from_millis(100));
    }
    common::stagger(&mut spec);
    let (outcome, _) = watched(&spec);
    let hops: Vec<_> = outcome.flows.iter().map(|flow| flow.hops).collect();
    assert_eq!(hops, [Some(5.0), Some(5.0), Some(4.0)]);
    assert!(outcome.flows.iter().all(|flow| flow.packets_unique > 90));
}

#[test]
fn two_ad_hoc_networks_reach_each_other_over_a_wire() {
    let mut spec = with_hosts(&common::chain(6, 200.0), 0, &[(2, 3)], |_| {});
    spec.channels.push(spec.channels[0].clone());
    for node in [3, 4, 5] {
        spec.nodes[node].radios = vec![1];
    }
    add_tcp(&mut spec, 0, 5, "rfc", "newreno", |_| {});
    let (outcome, seen) = watched(&spec);
    assert_eq!(outcome.flows[0].hops, Some(5.0));
    assert!(outcome.flows[0].goodput_kbps > 300.0, "{}", outcome.flows[0].goodput_kbps);
    let tunnelled = |node: u32| seen.frames.iter().any(|it| it.0 == node && it.2);
    assert_eq!([0, 1, 3, 4].map(tunnelled), [true, true, false, false]);
}

/// Gateways 1 and 3 at the ends of a row, each with a wire to host 4; node 2 between them, and node 0 that moves past.
fn two_gateways(change: impl Fn(&mut Params)) -> Spec {
    let places = [(0.0, 150.0), (0.0, 0.0), (200.0, 0.0), (400.0, 0.0)];
    let mut spec = with_hosts(&places, 1, &[(1, 4), (3, 4)], change);
    let order =
        waypoints::Order::level(Span::from_secs(3), Distance::new(400.0), Distance::new(150.0), Speed::new(40.0));
    spec.nodes[0].mobility =
        mobility::Config::Waypoints(waypoints::Params { track: Vec::new(), orders: vec![order] }.into());
    Spec { duration: Span::from_secs(20), ..spec }
}

#[test]
fn handover_a_source_that_moves_changes_its_gateway() {
    let mut spec = two_gateways(|_| {});
    add_cbr(&mut spec, 0, 4, 500, Span::from_millis(50));
    let (outcome, seen) = watched(&spec);
    let targets: BTreeSet<u32> = seen.frames.iter().filter(|it| it.0 == 0 && it.2).map(|it| it.3).collect();
    assert_eq!(targets, BTreeSet::from([1, 3]), "tunnels to one gateway, then to the other");
    let flow = &outcome.flows[0];
    assert!(flow.packets_unique * 100 > flow.packets_sent * 97, "{} of {}", flow.packets_unique, flow.packets_sent);
    assert!(flow.route_changes >= 2, "the first route, and that to the second gateway");
}

#[test]
fn gateway_failure_the_hosts_of_a_lost_gateway_are_looked_for_again() {
    // Node 0 loses all gateways, and comes back.
    let mut spec = two_gateways(|_| {});
    let order =
        |at, x| waypoints::Order::level(Span::from_secs(at), Distance::new(x), Distance::new(150.0), Speed::new(400.0));
    spec.nodes[0].mobility = mobility::Config::Waypoints(
        waypoints::Params { track: Vec::new(), orders: vec![order(3, 3000.0), order(10, 0.0)] }.into(),
    );
    add_cbr(&mut spec, 0, 4, 500, Span::from_millis(50));
    let (outcome, seen) = watched(&spec);
    let gone = |from: f64, to: f64| seen.delivered.iter().filter(|(at, _)| (from..to).contains(&at.seconds())).count();
    assert_eq!(gone(5.0, 10.0), 0);
    assert!(gone(18.0, 20.0) > 30, "{}", gone(18.0, 20.0));
    let again = seen.requests.iter().filter(|&&(at, node, to)| at.seconds() > 3.0 && (node, to) == (0, 4)).count();
    assert!(again > 0, "the host is looked for, not the lost gateway");
    assert!(outcome.flows[0].packets_unique < outcome.flows[0].packets_sent);
}

#[test]
fn two_gateways_the_nearer_one_is_taken() {
    // Gateway 0 is two hops from node 2 and gateway 3 one hop: both answer the same flood.
    let mut spec = with_hosts(&common::chain(4, 200.0), 1, &[(0, 4), (3, 4)], |it| it.ttl_start = 4);
    add_cbr(&mut spec, 2, 4, 500, Span::from_millis(50));
    let (outcome, seen) = watched(&spec);
    let gateways: BTreeSet<u32> = seen.replies.iter().map(|it| it.1).collect();
    assert_eq!(gateways, BTreeSet::from([0, 3]), "both answer");
    assert!(outcome.flows[0].packets_unique > 190);
    assert!(seen.frames.contains(&(2, 548, true, 3)));
    assert!(outcome.flows[0].hops.expect("datagrams arrived") < 2.1, "{:?}", outcome.flows[0].hops);
}

#[test]
fn default_route_gateways_do_not_pass_a_packet_to_and_fro() {
    // Gateways 1 and 2 between nodes 0 and 3 have heard of one another. Host 7 is behind gateway 4, out of reach.
    let mut places = common::chain(4, 200.0);
    places.push((-5000.0, 0.0));
    let change = |it: &mut Params| it.to_gateway = ToGateway::DefaultRoute;
    let mut spec = with_hosts(&places, 3, &[(1, 5), (2, 6), (4, 7)], change);
    for (from, to) in [(0, 6), (3, 5), (0, 7)] {
        add_cbr(&mut spec, from, to, 500, Span::from_millis(100));
    }
    common::stagger(&mut spec);
    spec.flows[2].start = Time::from_nanos(2_000_000_000);
    spec.duration = Span::from_secs(30);
    let (outcome, seen) = watched(&spec);
    let unique: Vec<_> = outcome.flows.iter().map(|flow| flow.packets_unique > 50).collect();
    assert_eq!(unique, [true, true, false]);
    let between: Vec<_> = seen.frames.iter().filter(|it| it.3 == 7 && it.0 != 0).collect();
    assert!(between.is_empty(), "frames to host 7 by {between:?}");
    assert_eq!(dropped(&outcome, "ttl_expired"), 0);
    assert!(dropped(&outcome, "discovery_failed") > 0, "node 0 is told, and looks for the host");
}

#[test]
fn errors_about_tunnelled_segments_reach_their_sender() {
    // The link from node 2 to the gateway breaks; node 2 tells the TCP at node 0, which asks for such notices.
    let mut spec = one_gateway(|_| {});
    let order =
        waypoints::Order::level(Span::from_secs(3), Distance::new(5000.0), Distance::new(0.0), Speed::new(400.0));
    spec.nodes[3].mobility =
        mobility::Config::Waypoints(waypoints::Params { track: Vec::new(), orders: vec![order] }.into());
    add_tcp(&mut spec, 0, 4, "rfc", "elfn", |_| {});
    let (outcome, _) = watched(&spec);
    assert!(outcome.flows[0].notices > 0);
    // And to a host: segments to node 0 that node 2 cannot pass on, told in a tunnel back to the gateway.
    let mut spec = one_gateway(|_| {});
    spec.nodes[0].mobility = mobility::Config::Waypoints(
        waypoints::Params {
            track: Vec::new(),
            orders: vec![waypoints::Order::level(
                Span::from_secs(3),
                Distance::new(-5000.0),
                Distance::new(0.0),
                Speed::new(400.0),
            )],
        }
        .into(),
    );
    add_tcp(&mut spec, 4, 0, "rfc", "elfn", |_| {});
    let (outcome, _) = watched(&spec);
    assert!(outcome.flows[0].notices > 0);
}
