//! Tunnels between nodes (RFC 2003), by section: headers, what may not enter, tunnels in tunnels, circles of tunnels,
//! and the longest packet. Those of agents are in `mobile_ip/tunnels.rs`, in both forms.

use std::collections::BTreeSet;

use hopyard_engine::units::Bytes;
use hopyard_engine::{Span, Time};
use hopyard_model::address::NodeId;
use hopyard_model::app;
use hopyard_model::link::wired;
use hopyard_model::observe::{Outcome, Passage, Probe};
use hopyard_model::packet::{Body, Packet};
use hopyard_model::params::Params as _;
use hopyard_model::routing;
use hopyard_model::routing::source_routes::{self, Others};
use hopyard_model::world::{Spec, TunnelSpec, WireSpec};

use crate::common::{add_cbr, network, run, run_with};

/// Hosts with these wires, of which the one with number n has the prefix 192.168.0.4n/30; and datagrams of 200 bytes
/// from one host to another.
fn wired(hosts: usize, wires: &[(u32, u32)], (from, to): (u32, u32)) -> Spec {
    let mut spec = network("rfc", "static", &vec![(0.0, 0.0); hosts]);
    spec.nodes.iter_mut().for_each(|node| node.radios.clear());
    for &(a, b) in wires {
        // Any packet of IP fits.
        let params = wired::Params { mtu: Bytes::new(0), ..wired::Params::of_profile("rfc") };
        spec.wires.push(WireSpec { ends: (NodeId(a), NodeId(b)), params, network: None });
    }
    add_cbr(&mut spec, from, to, 200, Span::from_millis(100));
    Spec { duration: Span::from_secs(5), ..spec }
}

/// Adds a tunnel from one node to another that carries these prefixes.
fn tunnel(spec: &mut Spec, from: u32, to: u32, carries: &[&str]) {
    let carries = carries.iter().map(|it| it.parse().expect("a prefix")).collect();
    spec.tunnels.push(TunnelSpec { ends: (NodeId(from), NodeId(to)), carries: [carries, Vec::new()] });
}

/// How many of the flow's packets arrived, and the drops: node, reason, number.
fn fate(spec: &Spec) -> (u64, Vec<(u32, &'static str, u64)>) {
    let Outcome { flows, drops, .. } = run(spec);
    let sent = flows[0].packets_sent;
    assert!(sent > 40, "{sent}");
    (flows[0].packets_arrived, drops.iter().map(|row| (row.node, row.reason, row.count)).collect())
}

/// RFC 2003 §3.2: the source of the packet is the end of the tunnel, which would send it back. Host 2 reaches host 3
/// over node 1, and node 1 would tunnel to host 2.
#[test]
fn rfc2003_s3_2_what_comes_from_the_end_of_a_tunnel_does_not_enter_it() {
    let mut spec = wired(4, &[(0, 1), (1, 2), (1, 3)], (2, 3));
    let (arrived, drops) = fate(&spec);
    assert!(arrived > 40 && drops.is_empty());
    tunnel(&mut spec, 1, 2, &["192.168.0.8/30"]);
    let (arrived, drops) = fate(&spec);
    let [(1, "routing_loop", count)] = drops[..] else { panic!("{drops:?}") };
    assert!(arrived == 0 && count > 40);
}

/// RFC 2003 §3.2: the source of the packet is the router itself. The end of its tunnel sends the packet back to it.
#[test]
fn rfc2003_s3_2_what_comes_back_to_its_source_does_not_enter_the_tunnel_again() {
    let mut spec = wired(4, &[(0, 1), (1, 2), (0, 3)], (0, 3));
    tunnel(&mut spec, 0, 2, &["192.168.0.8/30"]);
    let (arrived, drops) = fate(&spec);
    let [(0, "routing_loop", count)] = drops[..] else { panic!("{drops:?}") };
    assert!(arrived == 0 && count > 40);
}

/// A circle of tunnels ends at the tunnel to the packet's source. The packets of another host go round until their time
/// to live has run out.
#[test]
fn rfc2003_s3_2_circles_of_tunnels_end() {
    let mut spec = wired(5, &[(0, 1), (1, 2), (2, 3), (4, 0)], (0, 3));
    for (from, to) in [(0, 1), (1, 2), (2, 0)] {
        tunnel(&mut spec, from, to, &["192.168.0.8/30"]);
    }
    let (arrived, drops) = fate(&spec);
    let [(2, "routing_loop", count)] = drops[..] else { panic!("{drops:?}") };
    assert!(arrived == 0 && count > 40);
    spec.flows[0].from = NodeId(4);
    let (arrived, drops) = fate(&spec);
    assert!(arrived == 0 && drops.iter().all(|it| it.1 == "ttl_expired"), "{drops:?}");
}

#[test]
fn rfc2003_s3_2_two_tunnels_to_and_fro_are_a_loop() {
    let mut spec = wired(5, &[(0, 1), (1, 2), (2, 3), (4, 0)], (4, 3));
    tunnel(&mut spec, 0, 2, &["192.168.0.8/30"]);
    spec.tunnels[0].carries[1] = spec.tunnels[0].carries[0].clone();
    let (arrived, drops) = fate(&spec);
    let [(2, "routing_loop", count)] = drops[..] else { panic!("{drops:?}") };
    assert!(arrived == 0 && count > 40);
}

/// A chain of hosts; host 0 has a tunnel to each of the others, and each tunnel carries the end of the one before.
fn nested(tunnels: usize) -> Spec {
    let mut spec = wired(9, &[(0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (5, 6), (6, 7), (7, 8)], (0, 8));
    tunnel(&mut spec, 0, 7, &["192.168.0.28/30"]);
    for (place, to) in (1..tunnels).zip((1..7).rev()) {
        // The first address of host n + 1 is that of its wire to host n.
        let end = format!("192.168.0.{}/30", 4 * (7 - place));
        tunnel(&mut spec, 0, to, &[&end]);
    }
    spec
}

#[test]
fn rfc2473_s6_6_tunnels_lie_in_tunnels_up_to_a_limit() {
    for tunnels in 1..=4 {
        let (arrived, drops) = fate(&nested(tunnels));
        assert!(arrived > 40 && drops.is_empty(), "{tunnels} tunnels: {arrived} arrive, {drops:?}");
    }
    let (arrived, drops) = fate(&nested(5));
    let [(0, "routing_loop", count)] = drops[..] else { panic!("{drops:?}") };
    assert!(arrived == 0 && count > 40);
}

/// Two tunnels of one node, each of which would send to its end through the other.
#[test]
fn rfc2003_s3_2_tunnels_that_need_each_other_are_a_loop() {
    let mut spec = wired(4, &[(0, 1), (1, 2), (2, 3)], (0, 3));
    tunnel(&mut spec, 0, 2, &["192.168.0.8/30", "192.168.0.0/30"]);
    tunnel(&mut spec, 0, 1, &["192.168.0.4/30"]);
    let (arrived, drops) = fate(&spec);
    let [(0, "routing_loop", count)] = drops[..] else { panic!("{drops:?}") };
    assert!(arrived == 0 && count > 40);
}

/// Sets the payload of the flow's datagrams.
fn with_payload(mut spec: Spec, bytes: u64) -> Spec {
    let app::Config::Cbr(params) = &mut spec.flows[0].traffic else { panic!("the flow has other traffic") };
    params.packet_size = Bytes::new(bytes);
    spec
}

/// An IP packet has at most 65,535 bytes (RFC 791 §3.1): a header of 20 bytes more does not fit into every one.
#[test]
fn rfc2003_s3_1_a_packet_that_a_tunnel_makes_too_long_is_dropped() {
    let mut spec = wired(4, &[(0, 1), (1, 2), (2, 3)], (0, 3));
    tunnel(&mut spec, 1, 2, &["192.168.0.8/30"]);
    let (arrived, drops) = fate(&with_payload(spec.clone(), 65_535 - 28 - 20));
    assert!(arrived > 40 && drops.is_empty(), "{arrived} arrive, {drops:?}");
    let (arrived, drops) = fate(&with_payload(spec, 65_535 - 28 - 19));
    let [(1, "too_long", count)] = drops[..] else { panic!("{drops:?}") };
    assert!(arrived == 0 && count > 40);
}

/// Hosts in a row whose packets carry their route: 4 bytes of header, 4 of the option, 4 for each hop between the ends.
fn by_source_route(mut spec: Spec, paths: &[&[u32]]) -> Spec {
    let params = source_routes::Params { paths: paths.iter().map(|it| it.to_vec()).collect(), others: Others::Drop };
    spec.nodes.iter_mut().for_each(|node| node.routing = routing::Config::SourceRoutes(params.clone().into()));
    spec
}

#[test]
fn a_packet_that_its_source_route_makes_too_long_is_dropped() {
    let spec = by_source_route(wired(4, &[(0, 1), (1, 2), (2, 3)], (0, 3)), &[&[0, 1, 2, 3]]);
    let (arrived, drops) = fate(&with_payload(spec.clone(), 65_535 - 28 - 16));
    assert!(arrived > 40 && drops.is_empty(), "{arrived} arrive, {drops:?}");
    let (arrived, drops) = fate(&with_payload(spec, 65_535 - 28 - 15));
    let [(0, "too_long", count)] = drops[..] else { panic!("{drops:?}") };
    assert!(arrived == 0 && count > 40);
}

/// Node 1 does not know the options, and its tunnel carries the packet with them to node 2, which does.
#[test]
fn rfc2003_s3_1_a_packet_with_a_source_route_crosses_a_tunnel() {
    let mut spec = by_source_route(wired(4, &[(0, 1), (1, 2), (2, 3)], (0, 3)), &[&[0, 1, 2, 3]]);
    spec.nodes[1].routing = routing::Config::of_profile("static", "rfc").expect("a protocol");
    tunnel(&mut spec, 1, 2, &["192.168.0.8/30"]);
    #[derive(Debug, Default)]
    struct Seen(BTreeSet<(u32, u32, bool)>);
    impl Probe for Seen {
        fn on_passage(&mut self, _: Time, packet: &Packet, passage: Passage) {
            let Passage::WireEntered(interface) = passage else { return };
            assert!(matches!(packet.carried(), Body::Udp(_)));
            self.0.insert((interface.0, packet.size, matches!(packet.body, Body::Tunnelled(..))));
        }
    }
    let (outcome, seen) = run_with(&spec, Seen::default());
    assert!(outcome.flows[0].packets_arrived > 40, "{:?}", outcome.drops);
    for node in &outcome.nodes {
        assert_eq!((node.tunnelled > 40, node.tunnel_bytes), (node.node == 1, 20 * node.tunnelled));
    }
    let seen: Vec<_> = seen.0.into_iter().map(|(_, size, tunnel)| (size, tunnel)).collect();
    assert_eq!(seen, [(244, false), (264, true), (244, false)]);
}

/// What packets look like on each wire: their bytes, the outer and the inner time to live, and the outer source and
/// destination by node.
#[derive(Debug, Default)]
struct Headers(BTreeSet<(u32, u32, u8, Option<u8>, u32, u32)>);

impl Probe for Headers {
    fn on_passage(&mut self, _: Time, packet: &Packet, passage: Passage) {
        let Passage::WireEntered(interface) = passage else { return };
        let inner = match &packet.body {
            Body::Tunnelled(_, inner) => Some(inner.ttl),
            _ => None,
        };
        let ends = (packet.source.0, packet.destination.0);
        self.0.insert((interface.0, packet.size, packet.ttl, inner, ends.0, ends.1));
    }
}

/// The headers on the wires of a row of hosts, of which the second has a tunnel to the fourth.
fn headers() -> Vec<(u32, u32, u8, Option<u8>, u32, u32)> {
    let mut spec = wired(5, &[(0, 1), (1, 2), (2, 3), (3, 4)], (0, 4));
    spec.ip.ttl = 50;
    tunnel(&mut spec, 1, 3, &["192.168.0.12/30"]);
    let (outcome, seen) = run_with(&spec, Headers::default());
    assert!(outcome.flows[0].packets_arrived > 40, "{:?}", outcome.drops);
    seen.0.into_iter().collect()
}

/// The outer header has 20 bytes, and the ends of the tunnel as source and destination.
#[test]
fn rfc2003_s3_1_the_outer_header_is_one_of_ip_from_one_end_to_the_other() {
    let seen: Vec<(u32, bool, bool)> = headers()
        .into_iter()
        .map(|(_, size, _, inner, source, destination)| (size, inner.is_some(), (source, destination) == (1, 3)))
        .collect();
    let expected = [(228, false, false), (248, true, true), (248, true, true), (228, false, false)];
    assert_eq!(seen, expected);
}

/// The entry forwards the packet, and lowers its time to live by one; the routers in the tunnel and its exit do not.
/// The outer header has a time to live of its own.
#[test]
fn rfc2003_s3_1_the_inner_time_to_live_is_lowered_once() {
    let seen: Vec<(u8, Option<u8>)> = headers().into_iter().map(|(_, _, ttl, inner, ..)| (ttl, inner)).collect();
    assert_eq!(seen[..3], [(50, None), (50, Some(49)), (49, Some(49))]);
    // Behind the tunnel, the host before the last one forwards it.
    assert_eq!(seen[3], (48, None));
}

/// An inner packet whose time to live has run out does not enter.
#[test]
fn rfc2003_s3_1_a_packet_whose_time_is_over_does_not_enter() {
    let mut spec = wired(5, &[(0, 1), (1, 2), (2, 3), (3, 4)], (0, 4));
    tunnel(&mut spec, 1, 3, &["192.168.0.12/30"]);
    spec.ip.ttl = 1;
    let (arrived, drops) = fate(&spec);
    let [(1, "ttl_expired", count)] = drops[..] else { panic!("{drops:?}") };
    assert!(arrived == 0 && count > 40);
}
