//! Packets that carry their route: their bytes on the air, their way, and where they are lost.

use std::collections::BTreeSet;

use hopyard_engine::units::Rate;
use hopyard_engine::{Span, Time};
use hopyard_model::address::{InterfaceId, NodeId};
use hopyard_model::link::wired;
use hopyard_model::observe::{FrameEdge, FrameView, Outcome, Passage, Probe};
use hopyard_model::packet::{Body, Packet, PacketKind};
use hopyard_model::params::Params as _;
use hopyard_model::routing;
use hopyard_model::routing::source_routes::{self, Others};
use hopyard_model::world::{Spec, TunnelSpec, WireSpec};
use hopyard_model::{link, mac};

use crate::common::{add_cbr, add_tcp, chain, network, ranged, run, run_for, run_with};

/// Every data packet on the air or on a wire: its sender, its bytes, those of its frame, the segments left.
#[derive(Debug, Default)]
struct Sizes(BTreeSet<Seen>);

type Seen = (u32, u32, u32, Option<u8>);

impl Sizes {
    fn note(&mut self, interface: InterfaceId, packet: &Packet, frame: u32) {
        if packet.kind() == PacketKind::Data {
            let left = packet.source_route().map(|route| route.segments_left());
            self.0.insert((interface.0, packet.size, frame, left));
        }
    }
}

impl Probe for Sizes {
    fn on_frame(&mut self, _: Time, interface: InterfaceId, frame: &FrameView<'_>, edge: FrameEdge) {
        if edge != FrameEdge::Sent {
            return;
        }
        if let Some(packet) = frame.packet {
            // The time on the air, less the long preamble, gives the bytes.
            let seconds = frame.airtime.saturating_sub(Span::from_micros(192)).seconds();
            let bytes = (seconds * frame.mode.rate().bps() as f64 / 8.0).round() as u32;
            self.note(interface, packet, bytes - 36);
        }
    }

    fn on_passage(&mut self, _: Time, packet: &Packet, passage: Passage) {
        let Passage::WireEntered(interface) = passage else { return };
        self.note(interface, packet, packet.size);
    }
}

/// Four nodes in a row, each of which hears its neighbours only, and datagrams of 512 bytes from one end to the other.
fn row(paths: &[&[u32]]) -> Spec {
    let mut spec = ranged(network("rfc", "source_routes", &chain(4, 200.0)), 250.0, 550.0);
    let params = source_routes::Params { paths: paths.iter().map(|it| it.to_vec()).collect(), others: Others::Drop };
    spec.nodes.iter_mut().for_each(|node| node.routing = routing::Config::SourceRoutes(params.clone().into()));
    spec.link.arp.resolution = link::arp::Resolution::Off;
    add_cbr(&mut spec, 0, 3, 512, Span::from_millis(100));
    Spec { duration: Span::from_secs(5), ..spec }
}

fn watched(spec: &Spec) -> (Outcome, Vec<Seen>) {
    let (outcome, sizes) = run_with(spec, Sizes::default());
    (outcome, sizes.0.into_iter().collect())
}

fn drops(outcome: &Outcome) -> Vec<(u32, &'static str, &'static str, u64)> {
    outcome.drops.iter().map(|row| (row.node, row.kind, row.reason, row.count)).collect()
}

/// No node but the source knows a route. The packet has 4 bytes of header, 4 of the option and 4 for each hop between
/// its ends, on every hop, under every MAC.
#[test]
fn a_packet_crosses_hops_by_its_own_route() {
    for mac in mac::MODELS.iter().map(|model| model.name) {
        let mut spec = row(&[&[0, 1, 2, 3]]);
        spec.channels[0].mac = mac::Config::of_profile(mac, "rfc").expect("a MAC");
        let (outcome, sizes) = watched(&spec);
        let size = 20 + 8 + 512 + 4 + 4 + 2 * 4;
        // A header with a field for QoS is longer.
        let frame = sizes.first().map_or(0, |it| it.2);
        assert!([size, size + 2].contains(&frame), "{mac}: {frame} B");
        let expected = [(0, size, frame, Some(2)), (1, size, frame, Some(1)), (2, size, frame, Some(0))];
        assert_eq!(sizes, expected, "{mac}");
        let flow = &outcome.flows[0];
        assert_eq!(flow.hops, Some(3.0), "{mac}");
        assert!(flow.packets_arrived >= 45 && outcome.drops.is_empty(), "{mac}: {flow:?}");
        assert_eq!(outcome.nodes[1].forwarded, outcome.nodes[2].forwarded + flow.packets_left.min(1), "{mac}");
        assert_eq!(outcome.nodes[0].routing_packets, 0, "{mac}: they count as data");
        // The bytes of the route are those of routing, at each node that sends or forwards them.
        let counted: Vec<u64> = outcome.nodes.iter().map(|node| node.piggybacked_bytes).collect();
        let sent = [flow.packets_sent, outcome.nodes[1].forwarded, outcome.nodes[2].forwarded, 0];
        assert_eq!(counted, sent.map(|packets| 16 * packets), "{mac}");
    }
}

/// Node 3 is not in reach of node 1. Its packets are lost there, and counted there as data of the flow.
#[test]
fn a_missing_neighbour_loses_the_packet_where_it_is_missing() {
    let outcome = run(&row(&[&[0, 1, 3]]));
    let flow = &outcome.flows[0];
    assert_eq!((flow.packets_arrived, flow.packets_left), (0, 0));
    assert_eq!(drops(&outcome), [(1, "data", "retry_limit", flow.packets_sent)]);
    assert_eq!(flow.packets_dropped, flow.packets_sent);
    let outcome = run(&row(&[]));
    assert_eq!(drops(&outcome), [(0, "data", "no_route", outcome.flows[0].packets_sent)]);
}

/// The time to live counts hops, as elsewhere.
#[test]
fn the_time_to_live_limits_a_source_route() {
    let mut spec = row(&[&[0, 1, 2, 3]]);
    spec.ip.ttl = 2;
    let outcome = run(&spec);
    assert_eq!(drops(&outcome), [(2, "data", "ttl_expired", outcome.flows[0].packets_sent)]);
}

/// A node whose protocol does not know the options forwards the packet as any other; at its destination, nobody can
/// remove them.
#[test]
fn other_protocols_forward_options_and_do_not_deliver_them() {
    let mut spec = row(&[&[0, 1, 2, 3]]);
    spec.nodes[1].routing = routing::Config::of_profile("static", "rfc").expect("a protocol");
    assert!(run(&spec).flows[0].packets_arrived > 40);
    spec.nodes[3].routing = routing::Config::of_profile("static", "rfc").expect("a protocol");
    let outcome = run(&spec);
    assert_eq!(outcome.flows[0].packets_arrived, 0);
    assert_eq!(drops(&outcome), [(3, "data", "no_listener", outcome.flows[0].packets_sent)]);
}

/// The shortest paths of the start, with TCP both ways: less goodput than with routes that cost nothing, by the bytes
/// of the route at most.
#[test]
fn source_routes_cost_their_bytes() {
    let goodput = |protocol: &str| {
        let mut spec = ranged(network("rfc", protocol, &chain(3, 200.0)), 250.0, 550.0);
        add_tcp(&mut spec, 0, 2, "rfc", "newreno", |tcp| tcp.window = 1);
        run_for(&mut spec, 20).flows[0].goodput_kbps
    };
    let (with, without) = (goodput("source_routes"), goodput("static"));
    // One segment at a time: two frames of 12 bytes more each way at 2 Mb/s, that is 192 us of about 20 ms.
    assert!(with < without && with > 0.985 * without, "{with} of {without} kbit/s");
}

/// Over wires and within a tunnel: the outer packet has the route, and every count sees the inner flow.
#[test]
fn a_tunnel_takes_a_source_route() {
    let mut spec = network("rfc", "source_routes", &[(0.0, 0.0); 4]);
    spec.nodes.iter_mut().for_each(|node| node.radios.clear());
    for ends in [(0, 1), (1, 2), (2, 3)] {
        let params = wired::Params { rate: Rate::from_bps(10_000_000), ..wired::Params::of_profile("rfc") };
        spec.wires.push(WireSpec { ends: (NodeId(ends.0), NodeId(ends.1)), params, network: None });
    }
    let carries = [vec!["192.168.0.8/30".parse().expect("the prefix of the last wire")], Vec::new()];
    spec.tunnels.push(TunnelSpec { ends: (NodeId(0), NodeId(2)), carries });
    add_cbr(&mut spec, 0, 3, 500, Span::from_millis(100));
    spec.duration = Span::from_secs(5);
    #[derive(Debug, Default)]
    struct Tunnelled(BTreeSet<(u32, u32, bool, bool)>);
    impl Probe for Tunnelled {
        fn on_passage(&mut self, _: Time, packet: &Packet, passage: Passage) {
            let Passage::WireEntered(interface) = passage else { return };
            assert_eq!((packet.kind(), packet.flow.0), (PacketKind::Data, 0));
            assert!(matches!(packet.carried(), Body::Udp(_)));
            let route = packet.source_route().is_some();
            self.0.insert((interface.0, packet.size, route, matches!(packet.body, Body::Tunnelled(..))));
        }
    }
    let (outcome, sizes) = run_with(&spec, Tunnelled::default());
    assert!(outcome.flows[0].packets_arrived > 45, "{:?}", outcome.flows[0]);
    // Only the outer packet has a route, on its two hops.
    assert_eq!(outcome.nodes[0].piggybacked_bytes, 12 * outcome.flows[0].packets_sent);
    assert_eq!((outcome.nodes[2].piggybacked_bytes, outcome.nodes[3].piggybacked_bytes), (0, 0));
    let sizes: Vec<_> = sizes.0.into_iter().map(|(_, size, route, tunnel)| (size, route, tunnel)).collect();
    assert_eq!(sizes, [(560, true, false), (560, true, false), (528, false, false)], "20 + 4 + 4 + 4 more");
}
