//! Ad hoc networks with wires: hosts behind routers, nodes with a radio and a wire, without a line of routing.

use hopyard_engine::units::Rate;
use hopyard_engine::{Span, Time};
use hopyard_model::address::NodeId;
use hopyard_model::link::wired;
use hopyard_model::mobility::Position;
use hopyard_model::observe::{Passage, Probe, Recorded, RouteChanges};
use hopyard_model::packet::{Body, Packet, PacketKind};
use hopyard_model::params::Params as _;
use hopyard_model::routing;
use hopyard_model::world::{Spec, TunnelSpec, Watch, WireSpec, World};

use crate::common::{self, add_cbr, add_tcp, network, run, run_for, run_with};

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
    Spec { duration: Span::from_secs(20), ..spec }
}

#[test]
fn a_host_and_a_node_five_radio_hops_away_reach_each_other() {
    for protocol in ["static", "oracle", "aodv", "dsr"] {
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

/// OLSR knows the host by the HNA messages of the gateway (RFC 3626 §12), and the hops to the gateway.
#[test]
fn a_host_behind_a_gateway_is_reached_over_olsr() {
    for (from, to) in [(0, 7), (7, 0)] {
        let mut spec = behind_a_router("olsr");
        add_tcp(&mut spec, from, to, "rfc", "newreno", |_| {});
        spec.flows[0].start = Time::ZERO + Span::from_secs(40);
        spec.duration = Span::from_secs(60);
        let flow = &run(&spec).flows[0];
        assert!(flow.goodput_kbps > 50.0, "from {from}: {} kbit/s", flow.goodput_kbps);
        assert!((flow.hops.expect("packets arrived") - 7.0).abs() < 1e-9, "{:?} hops", flow.hops);
    }
}

/// The table of route changes has the whole path to a host, over the gateway and the router behind it.
#[test]
fn the_path_of_a_route_to_a_host_leads_over_the_gateway() {
    for (protocol, by_default) in [("aodv", false), ("aodv", true), ("olsr", false), ("dsdv", false)] {
        let mut spec = behind_a_router(protocol);
        for node in &mut spec.nodes {
            if let routing::Config::Aodv(params) = &mut node.routing {
                params.to_gateway = match by_default {
                    true => routing::aodv::ToGateway::DefaultRoute,
                    false => routing::aodv::ToGateway::HalfTunnel,
                };
            }
        }
        add_cbr(&mut spec, 0, 7, 500, Span::from_millis(500));
        spec.flows[0].start = Time::ZERO + Span::from_secs(100);
        spec.duration = Span::from_secs(110);
        spec.observe.recorded = Recorded { routes: RouteChanges::Flows, ..Recorded::default() };
        let outcome = run(&spec);
        assert!(outcome.flows[0].packets_arrived > 15, "{protocol}");
        let paths: Vec<_> = outcome.route_changes.iter().map(|row| (row.path.as_deref(), row.path_ends)).collect();
        assert!(paths.contains(&(Some("0 1 2 3 4 5 6 7"), Some("destination"))), "{protocol}: {paths:?}");
    }
}

/// Over DSR the gateway answers requests for the host, and the host's packets enter with the gateway as the first hop
/// of their source route (RFC 4728 §4.1, 6.7, 8.1.3).
#[test]
fn a_host_behind_a_gateway_is_reached_over_dsr() {
    for (from, to) in [(0, 7), (7, 0)] {
        let mut spec = behind_a_router("dsr");
        add_tcp(&mut spec, from, to, "rfc", "newreno", |_| {});
        let outcome = run(&spec);
        let flow = &outcome.flows[0];
        assert!(flow.goodput_kbps > 100.0, "from {from}: {} kbit/s", flow.goodput_kbps);
        let lost: u64 = outcome.drops.iter().map(|row| row.count).sum();
        assert!(lost < 30, "from {from}: {:?}", outcome.drops);
        assert!((flow.hops.expect("packets arrived") - 7.0).abs() < 1e-9, "{:?} hops", flow.hops);
    }
}

/// Nodes 0, 1 and 2 in a row. Host 3 is on a wire of node 1, and host 4 on one of node 2: the way to it from node 0,
/// and from node 1, leads over radio alone.
#[test]
fn a_gateway_reaches_hosts_behind_another_gateway_over_radio() {
    for protocol in ["aodv", "aodv by default route", "olsr", "dsdv", "dsr"] {
        for from in [0, 1] {
            let name = protocol.split(' ').next().expect("a name");
            let mut spec =
                network("rfc", name, &[(0.0, 0.0), (200.0, 0.0), (400.0, 0.0), (5000.0, 0.0), (5000.0, 0.0)]);
            for node in &mut spec.nodes {
                if let routing::Config::Aodv(params) = &mut node.routing
                    && protocol != name
                {
                    params.to_gateway = routing::aodv::ToGateway::DefaultRoute;
                }
            }
            for (gateway, host) in [(1, 3), (2, 4)] {
                spec.nodes[host as usize].radios.clear();
                wire(&mut spec, (gateway, host), 10, 1);
            }
            add_cbr(&mut spec, from, 4, 100, Span::from_millis(100));
            spec.flows[0].start = Time::ZERO + Span::from_secs(40);
            let outcome = run_for(&mut spec, 60);
            let flow = &outcome.flows[0];
            assert!(flow.packets_unique > 190, "{protocol} from {from}: {flow:?} {:?}", outcome.drops);
            assert_eq!(flow.hops, Some(f64::from(3 - from)), "{protocol} from {from}");
        }
    }
}

/// Two gateways lead to the host. The one that the node uses moves away: its HELLO and HNA messages time out, and
/// packets go over the other one.
#[test]
fn when_a_gateway_is_lost_another_one_is_used_over_olsr() {
    let mut spec = network("rfc", "olsr", &[(0.0, 0.0), (200.0, 0.0), (0.0, 200.0), (0.0, 400.0), (5000.0, 0.0)]);
    spec.nodes[4].radios.clear();
    wire(&mut spec, (1, 4), 10, 1);
    wire(&mut spec, (3, 4), 10, 1);
    let away = hopyard_model::mobility::waypoints::Params {
        track: [(40.0, 200.0), (40.1, 4000.0)]
            .map(|(at, x)| {
                let [x, y] = [x, 0.0].map(hopyard_engine::units::Distance::new);
                hopyard_model::mobility::waypoints::Waypoint::ground(Span::from_secs_f64(at), x, y)
            })
            .into(),
        orders: Vec::new(),
    };
    spec.nodes[1].mobility = hopyard_model::mobility::Config::Waypoints(away.into());
    add_cbr(&mut spec, 0, 4, 100, Span::from_millis(100));
    spec.flows[0].start = Time::ZERO + Span::from_secs(30);
    spec.duration = Span::from_secs(90);
    let flow = &run(&spec).flows[0];
    // 600 packets: two hops for 10 s, none until the neighbour is lost (6 s after its last HELLO), then three hops.
    assert!((520..=560).contains(&flow.packets_arrived), "{flow:?}");
    let hops = flow.hops.expect("packets arrived");
    assert!((2.75..2.9).contains(&hops), "{hops}");
}

/// A MID tells that the two addresses of the node between the channels are those of one node (RFC 3626 §5).
#[test]
fn olsr_crosses_a_node_with_two_radios() {
    let mut spec = network("rfc", "olsr", &common::chain(5, 200.0));
    spec.channels.push(spec.channels[0].clone());
    for node in [3, 4] {
        spec.nodes[node].radios = vec![1];
    }
    spec.nodes[2].radios = vec![0, 1];
    add_tcp(&mut spec, 0, 4, "rfc", "newreno", |_| {});
    spec.flows[0].start = Time::ZERO + Span::from_secs(30);
    spec.duration = Span::from_secs(50);
    let flow = &run(&spec).flows[0];
    assert!(flow.goodput_kbps > 150.0, "{} kbit/s", flow.goodput_kbps);
    assert_eq!(flow.hops, Some(4.0));
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
        let outcome = run_for(&mut spec, 5);
        assert!(outcome.flows[0].goodput_kbps > 5000.0, "{protocol}: {}", outcome.flows[0].goodput_kbps);
        assert_eq!(outcome.flows[0].hops, Some(3.0), "{protocol}");
    }
}

/// The destination's address is that of the far end of its first wire: the way to it is the shortest one to the host
/// itself, not to the nearer end of that wire. A node with a radio and a wire of its own is reached over that wire.
#[test]
fn the_shortest_way_to_the_address_is_taken_and_not_to_the_nearest_end_of_its_network() {
    for protocol in ["static", "oracle", "aodv", "dsdv"] {
        let mut spec = network("rfc", protocol, &[(0.0, 0.0); 4]);
        spec.nodes.iter_mut().for_each(|node| node.radios.clear());
        // Host 3 has its address on the wire from 1, which is slow; node 1 is next to the source.
        for (between, delay) in [((1, 3), 100), ((0, 1), 1), ((0, 2), 2), ((2, 3), 2)] {
            wire(&mut spec, between, 10, delay);
        }
        add_cbr(&mut spec, 0, 3, 500, Span::from_millis(100));
        let outcome = run(&spec);
        let delay = outcome.flows[0].delay_ms.expect("packets arrived");
        assert!((4.0..10.0).contains(&delay), "{protocol}: {delay} ms");

        // Two gateways, far apart: 0 - 1 (2 ms), 0 - 2 (9 ms). Node 2 is reached over its own wire.
        let mut spec = network("rfc", protocol, &[(0.0, 0.0), (0.0, 0.0), (9000.0, 0.0)]);
        spec.nodes[0].radios.clear();
        wire(&mut spec, (0, 1), 10, 2);
        wire(&mut spec, (0, 2), 10, 9);
        add_cbr(&mut spec, 0, 2, 500, Span::from_millis(100));
        let flow = &run(&spec).flows[0];
        assert!(flow.packets_arrived > 290, "{protocol}: {} of {}", flow.packets_arrived, flow.packets_sent);
    }
}

/// Two channels joined by a node with a radio on each: its interfaces have addresses of two prefixes, and packets cross
/// it under every protocol, although no node of one channel hears a node of the other.
#[test]
fn a_node_with_two_radios_joins_two_channels() {
    for protocol in ["static", "oracle", "aodv"] {
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

/// Counts the data packets that enter wires.
#[derive(Debug, Default)]
struct OnWires(u64);

impl Probe for OnWires {
    fn on_passage(&mut self, _: Time, packet: &Packet, passage: Passage) {
        let Passage::WireEntered(_) = passage else { return };
        self.0 += u64::from(packet.kind() == PacketKind::Data);
    }
}

/// A radio channel and a wire between two nodes: the address of the next hop says which of them a packet takes.
#[test]
fn the_next_hop_s_address_selects_between_a_radio_and_a_wire() {
    // AODV finds neighbours over radio, so its next hop is the radio's address. The oracle prefers the wire.
    for (protocol, takes_wire) in [("aodv", false), ("dsdv", false), ("oracle", true), ("static", true)] {
        let mut spec = network("rfc", protocol, &common::chain(2, 100.0));
        wire(&mut spec, (0, 1), 100, 1);
        add_cbr(&mut spec, 0, 1, 500, Span::from_millis(100));
        spec.flows[0].start = Time::ZERO + Span::from_secs(20);
        let (outcome, wires) = run_with(&spec, OnWires::default());
        let flow = &outcome.flows[0];
        assert!(flow.packets_arrived > 90, "{protocol}: {}", flow.packets_arrived);
        assert_eq!(wires.0, if takes_wire { flow.packets_sent } else { 0 }, "{protocol}");
    }
}

/// A tunnel from a host over two routers to a third: packets for a network behind its end go through it, with 20 bytes
/// more on every wire between, and every count sees the inner flow.
#[test]
fn a_tunnel_carries_the_packets_of_a_prefix() {
    let build = |tunnel: bool| {
        // 0 - 1 - 2 - 3 - 4. The tunnel leads from 1 to 3.
        let mut spec = network("rfc", "dsdv", &[(0.0, 0.0); 5]);
        spec.nodes.iter_mut().for_each(|node| node.radios.clear());
        for between in [(0, 1), (1, 2), (2, 3), (3, 4)] {
            wire(&mut spec, between, 10, 1);
        }
        if tunnel {
            // The host's address is in the prefix of the last wire. Acknowledgements come back without the tunnel.
            let carries = [vec!["192.168.0.12/30".parse().expect("a prefix")], Vec::new()];
            spec.tunnels.push(TunnelSpec { ends: (NodeId(1), NodeId(3)), carries });
        }
        add_tcp(&mut spec, 0, 4, "rfc", "newreno", |_| {});
        Spec { duration: Span::from_secs(5), ..spec }
    };
    #[derive(Debug, Default)]
    struct Sizes(std::collections::BTreeSet<(u32, u32, u32)>);
    impl Probe for Sizes {
        fn on_passage(&mut self, _: Time, packet: &Packet, passage: Passage) {
            let Passage::WireEntered(interface) = passage else { return };
            if packet.kind() == PacketKind::Data && packet.size > 100 {
                let tunnelled = matches!(packet.body, Body::Tunnelled(..));
                self.0.insert((interface.0, packet.size, u32::from(tunnelled)));
            }
        }
    }
    let plain = run(&build(false));
    let spec = build(true);
    let world = World::with_probe(&spec, Sizes::default()).expect("a world");
    assert_eq!(world.addresses(NodeId(1)).last().map(ToString::to_string).as_deref(), Some("198.18.0.1"));
    let (outcome, sizes) = world.run_watched(&Watch::default()).expect("packets add up");
    let flow = &outcome.flows[0];
    assert_eq!((flow.hops, plain.flows[0].hops), (Some(4.0), Some(4.0)), "the hops of the tunnel count");
    let size = sizes.0.iter().find(|(interface, ..)| *interface == 0).expect("the source sends").1;
    let on = |tunnelled: u32| sizes.0.iter().filter(|it| it.2 == tunnelled).map(|it| it.1).collect::<Vec<_>>();
    assert_eq!((on(0), on(1)), (vec![size; 2], vec![size + 20; 2]), "two wires without the tunnel, two with");
    let [with, without] = [flow, &plain.flows[0]].map(|flow| flow.goodput_kbps);
    let expected = f64::from(size) / f64::from(size + 20);
    assert!((with / without - expected).abs() < 0.005, "{with} of {without} kbit/s, expected {expected} of it");
}

#[test]
fn a_tunnel_into_itself_drops_its_packets() {
    let mut spec = network("rfc", "dsdv", &[(0.0, 0.0); 3]);
    spec.nodes.iter_mut().for_each(|node| node.radios.clear());
    wire(&mut spec, (0, 1), 10, 1);
    wire(&mut spec, (1, 2), 10, 1);
    let carries = [vec!["192.168.0.0/16".parse().expect("a prefix")], Vec::new()];
    spec.tunnels.push(TunnelSpec { ends: (NodeId(0), NodeId(2)), carries });
    add_cbr(&mut spec, 0, 2, 500, Span::from_millis(100));
    // The other end is in the prefix of the second wire, which is longer than that of the tunnel: it is reached.
    let outcome = run(&spec);
    assert!(outcome.flows[0].packets_arrived > 0);
    spec.tunnels[0].carries[0].push("192.168.0.4/30".parse().expect("a prefix"));
    let outcome = run(&spec);
    let dropped: u64 = outcome.drops.iter().filter(|row| row.reason == "routing_loop").map(|row| row.count).sum();
    assert_eq!((outcome.flows[0].packets_arrived, dropped), (0, outcome.flows[0].packets_sent));
}
