//! Datagrams from outside: put in at one node as bytes, taken out at another as the same bytes.

use std::net::Ipv4Addr;

use hopyard_engine::units::{Bytes, Distance};
use hopyard_engine::{Span, Time};
use hopyard_model::address::NodeId;
use hopyard_model::context::{Departure, DropReason, Effort, Token};
use hopyard_model::link::wired;
use hopyard_model::mobility::{self, waypoints};
use hopyard_model::observe::capture::{self, Capture};
use hopyard_model::observe::{Outcome, PacketEvent, Probe};
use hopyard_model::packet::{Body, Packet};
use hopyard_model::params::Params as _;
use hopyard_model::world::{Advanced, InjectError, Spec, TunnelSpec, Watch, WireSpec, World};
use hopyard_model::{mac, routing};
use hopyard_wire::ipv4::{Header, Protocol};
use hopyard_wire::{icmp, udp};

use crate::common::{add_cbr, add_tcp, chain, mbps, network, run, scenarios};

/// No MAC has tried a frame of 802.11.
const NONE: Effort = Effort { tries: 0, ampdu: None };
const HOSTS: [NodeId; 3] = [NodeId(0), NodeId(1), NodeId(2)];

fn at(milliseconds: u64) -> Time {
    Time::ZERO + Span::from_millis(milliseconds)
}

/// A world whose nodes 0 to 2 have hosts outside.
fn world(spec: &Spec) -> World {
    let mut world = World::new(spec).expect("a world");
    for node in HOSTS {
        world.attach(node).expect("it is there");
    }
    world
}

/// As [`world`], for its addresses.
fn world_of(spec: &Spec) -> World {
    World::new(spec).expect("a world")
}

fn address(world: &World, node: NodeId) -> Ipv4Addr {
    world.addresses(node)[0]
}

/// A UDP datagram with this payload and fields that a simulator has no use for.
fn datagram(source: Ipv4Addr, destination: Ipv4Addr, ttl: u8, payload: &[u8]) -> Vec<u8> {
    let mut body = Vec::new();
    let ports = udp::Header { source_port: 5353, destination_port: 9 };
    ports.emit(payload, source, destination, &mut body).expect("short enough");
    let mut bytes = Vec::new();
    let header = Header {
        traffic_class: 0xb8,
        identification: 0xbeef,
        dont_fragment: true,
        options: vec![0x94, 4, 0, 0],
        ..Header::new(Protocol::UDP, source, destination, ttl)
    };
    header.emit(&body, &mut bytes).expect("short enough");
    bytes
}

fn between(world: &World, from: u32, to: u32, ttl: u8, payload: &[u8]) -> Vec<u8> {
    datagram(address(world, NodeId(from)), address(world, NodeId(to)), ttl, payload)
}

/// Everything that left.
fn departures(world: &mut World) -> Vec<Departure> {
    std::iter::from_fn(|| world.egress()).collect()
}

/// Goes to the end, and checks the account of packets.
fn finish(mut world: World) -> (Vec<Departure>, Outcome) {
    assert_eq!(world.advance(Time::NEVER, &Watch::default()), Advanced::Ended);
    let left = departures(&mut world);
    (left, world.finish().expect("packets add up").0)
}

/// Three nodes in a row.
fn three(protocol: &str) -> Spec {
    let spec = network("rfc", protocol, &chain(3, 200.0));
    Spec { duration: Span::from_secs(3), ..spec }
}

/// A datagram that went from node 0 to node 2 by way of node 1.
fn expect_one_hop_less(sent: &[u8], taken: &[u8]) {
    let (was, payload) = Header::parse(sent).expect("a datagram");
    let (is, arrived) = Header::parse(taken).expect("a datagram with a correct checksum");
    assert_eq!(is, Header { ttl: was.ttl - 1, ..was });
    assert_eq!(arrived, payload);
    assert!(udp::Header::parse(arrived, is.source, is.destination).is_ok(), "UDP's checksum is correct");
}

#[test]
fn a_datagram_crosses_three_nodes_and_comes_out_as_it_was() {
    let spec = three("aodv");
    let mut world = world(&spec);
    let bytes = between(&world, 0, 2, 64, b"from outside");
    assert_eq!(world.inject(NodeId(0), at(100), &bytes), Ok(Token(0)));
    world.advance(at(99), &Watch::default());
    assert_eq!(departures(&mut world), []);
    assert_eq!(world.totals().originated.last(), Some(&("external", 0)));
    let (left, outcome) = finish(world);
    let [Departure::Completed { at: sent, node: NodeId(0), token: Token(0), effort: NONE, result: Ok(()) }, second] =
        &left[..]
    else {
        panic!("first it is sent: {left:?}");
    };
    let Departure::Datagram { at: arrived, node: NodeId(2), address, bytes: taken } = second else {
        panic!("then it arrives: {second:?}");
    };
    assert_eq!(address.octets(), [10, 0, 0, 3]);
    expect_one_hop_less(&bytes, taken);
    // AODV searches for a route first, over two hops. A frame takes less than a millisecond.
    assert!(*sent > at(100) && *sent < at(200) && *arrived > *sent, "{sent} {arrived}");
    assert!(arrived.since(*sent) < Span::from_millis(5), "{sent} {arrived}");
    assert_eq!(outcome.nodes[1].forwarded, 1);
    assert_eq!(outcome.drops, []);
}

/// With every routing protocol over every MAC, beside other traffic: each datagram arrives or is dropped for a reason,
/// and the same calls give the same digest, whenever they are made.
#[test]
fn every_protocol_and_mac_carries_datagrams_and_repeats_itself() {
    for protocol in routing::MODELS.iter().map(|it| it.name) {
        for mac in mac::MODELS.iter().map(|it| it.name) {
            let mut spec = three(protocol);
            spec.duration = Span::from_secs(20);
            spec.channels[0].mac = mac::Config::of_profile(mac, "rfc").expect("a MAC");
            add_tcp(&mut spec, 0, 2, "rfc", "newreno", |tcp| tcp.window = 4);
            add_cbr(&mut spec, 2, 0, 100, Span::from_millis(50));
            let run = |early: bool| {
                let mut world = world(&spec);
                let mut left = Vec::new();
                for number in 0..40_u64 {
                    let time = at(15_000 + 100 * number);
                    if !early {
                        world.advance(at(14_950 + 100 * number), &Watch::default());
                        left.extend(departures(&mut world));
                    }
                    for (from, to) in [(0, 2), (2, 0), (1, 2)] {
                        let bytes = between(&world, from, to, 32, &number.to_be_bytes());
                        world.inject(NodeId(from), time, &bytes).expect("it can be put in");
                    }
                }
                let (rest, outcome) = finish(world);
                left.extend(rest);
                (left, outcome)
            };
            let (left, outcome) = run(true);
            let arrived = left.iter().filter(|it| matches!(it, Departure::Datagram { .. })).count();
            let dropped: u64 = outcome.drops.iter().filter(|row| row.kind == "external").map(|row| row.count).sum();
            assert!(arrived >= 110 && arrived as u64 + dropped <= 120, "{protocol} {mac}: {arrived} + {dropped}");
            let mut done: Vec<u64> = left.iter().filter_map(completed).collect();
            done.sort_unstable();
            assert_eq!(done, (0..120).collect::<Vec<_>>(), "{protocol} {mac}: each is completed once");
            let times: Vec<Time> = left.iter().map(time_of).collect();
            assert!(times.is_sorted(), "{protocol} {mac}");
            let (late, again) = run(false);
            assert_eq!((late, again.digest), (left, outcome.digest), "{protocol} {mac}");
        }
    }
}

fn completed(departure: &Departure) -> Option<u64> {
    match departure {
        Departure::Completed { token, .. } => Some(token.0),
        Departure::Frame { .. } | Departure::NoCarrier { .. } | Departure::Datagram { .. } => None,
    }
}

const fn time_of(departure: &Departure) -> Time {
    match departure {
        Departure::Completed { at, .. }
        | Departure::Frame { at, .. }
        | Departure::NoCarrier { at, .. }
        | Departure::Datagram { at, .. } => *at,
    }
}

#[test]
fn other_datagrams_give_another_digest_and_none_gives_the_same() {
    let mut spec = three("aodv");
    add_tcp(&mut spec, 0, 2, "rfc", "newreno", |_| {});
    let digest = |payloads: &[&[u8]]| {
        let mut world = world(&spec);
        for payload in payloads {
            let bytes = between(&world, 0, 2, 64, payload);
            world.inject(NodeId(0), at(1000), &bytes).expect("it can be put in");
        }
        finish(world).1.digest
    };
    assert_eq!(digest(&[]), run(&spec).digest);
    assert_eq!(digest(&[b"a"]), digest(&[b"a"]));
    assert_ne!(digest(&[b"a"]), digest(&[b"b"]));
    assert_ne!(digest(&[b"a", b"b"]), digest(&[b"b", b"a"]));
}

/// An answer is put in at the time at which the question comes out, as a kernel does it: step by step.
#[test]
fn a_host_outside_answers_at_once() {
    let spec = three("dsdv");
    let mut world = world(&spec);
    let watch = Watch::default();
    let mut question = Vec::new();
    let echo = icmp::Message::EchoRequest { identifier: 7, sequence: 1 };
    echo.emit(b"are you there?", &mut question).expect("short enough");
    let header = Header::new(Protocol::ICMP, address(&world, NodeId(0)), address(&world, NodeId(1)), 64);
    let mut bytes = Vec::new();
    header.emit(&question, &mut bytes).expect("short enough");
    world.inject(NodeId(0), at(1000), &bytes).expect("it can be put in");
    let (mut asked, mut answered) = (None, None);
    while let Some(time) = world.next_event() {
        world.advance(time, &watch);
        while let Some(departure) = world.egress() {
            let Departure::Datagram { at, node, bytes, .. } = departure else { continue };
            assert_eq!(at, time, "it is seen at its time");
            if node == NodeId(1) {
                asked = Some(at);
                let (question, _) = Header::parse(&bytes).expect("a datagram");
                let mut answer = Vec::new();
                Header::new(Protocol::ICMP, question.destination, question.source, 64)
                    .emit(&bytes[question.len()..], &mut answer)
                    .expect("short enough");
                world.inject(node, at, &answer).expect("it can be put in now");
            } else {
                answered = Some(at);
            }
        }
    }
    let (asked, answered) = (asked.expect("it arrived"), answered.expect("so did the answer"));
    assert!(asked > at(1000) && answered > asked && answered < at(1010), "{asked} {answered}");
    assert_eq!(world.now(), at(3000).min(world.now()));
    finish(world);
}

/// Two wires of 1 Mb/s and 10 ms.
fn wires() -> Spec {
    let mut spec = network("rfc", "oracle", &[(0.0, 0.0); 3]);
    spec.nodes.iter_mut().for_each(|node| node.radios.clear());
    for ends in [(0, 1), (1, 2)] {
        let params = wired::Params {
            rate: mbps(1.0),
            delay: Span::from_millis(10),
            queue_length: 1,
            ..wired::Params::of_profile("rfc")
        };
        spec.wires.push(WireSpec { ends: (NodeId(ends.0), NodeId(ends.1)), params, network: None });
    }
    Spec { duration: Span::from_secs(1), ..spec }
}

#[test]
fn a_wire_reports_when_the_last_bit_is_sent() {
    let spec = wires();
    let mut world = world(&spec);
    // 24 bytes of IP's header, 8 of UDP's, 968 of payload: 8 ms.
    let bytes = between(&world, 0, 2, 2, &[1; 968]);
    assert_eq!(bytes.len(), 1000);
    for _ in 0..3 {
        world.inject(NodeId(0), at(100), &bytes).expect("it can be put in");
    }
    let (left, outcome) = finish(world);
    let sent = |milliseconds, token| Departure::Completed {
        at: at(milliseconds),
        node: NodeId(0),
        token: Token(token),
        effort: NONE,
        result: Ok(()),
    };
    // The first is sent, the second waits, and there is no room for the third.
    let result = Err(DropReason::QueueFull);
    let full = Departure::Completed { at: at(100), node: NodeId(0), token: Token(2), effort: NONE, result };
    assert_eq!((&left[0], &left[1], &left[2]), (&full, &sent(108, 0), &sent(116, 1)));
    let arrivals: Vec<Time> = left[3..].iter().map(time_of).collect();
    assert_eq!(arrivals, [at(136), at(144)]);
    let [row] = &outcome.drops[..] else { panic!("one drop: {:?}", outcome.drops) };
    assert_eq!((row.node, row.kind, row.reason, row.count), (0, "external", "queue_full", 1));
}

#[test]
fn a_tunnel_carries_datagrams() {
    let mut spec = wires();
    let carries = [vec!["192.168.0.4/30".parse().expect("a prefix")], Vec::new()];
    spec.tunnels.push(TunnelSpec { ends: (NodeId(0), NodeId(1)), carries });
    let mut world = world(&spec);
    let bytes = between(&world, 0, 2, 64, b"inside");
    world.inject(NodeId(0), at(1), &bytes).expect("it can be put in");
    let (left, _) = finish(world);
    let [Departure::Completed { at: sent, .. }, Departure::Datagram { bytes: taken, .. }] = &left[..] else {
        panic!("sent and taken out: {left:?}");
    };
    expect_one_hop_less(&bytes, taken);
    // 20 bytes more.
    assert_eq!(sent.since(at(1)), Span::from_micros(8 * (bytes.len() as u64 + 20)));
}

#[test]
fn what_does_not_arrive_is_dropped_for_a_reason() {
    // Node 2 is far away.
    let mut spec = network("rfc", "aodv", &[(0.0, 0.0), (200.0, 0.0), (5000.0, 0.0)]);
    spec.duration = Span::from_secs(30);
    let mut world = world(&spec);
    let lost = between(&world, 0, 2, 64, b"nobody");
    world.inject(NodeId(0), at(0), &lost).expect("it can be put in");
    let (left, outcome) = finish(world);
    let [Departure::Completed { at: reported, token: Token(0), result: Err(DropReason::DiscoveryFailed), .. }] =
        left[..]
    else {
        panic!("{left:?}");
    };
    assert!(reported > at(1000), "{reported}");
    assert_eq!(outcome.drops.iter().filter(|row| row.kind == "external").map(|row| row.count).sum::<u64>(), 1);
    // Too few hops, and a host that nobody has outside.
    let spec = three("oracle");
    let mut world = World::new(&spec).expect("a world");
    world.attach(NodeId(0)).expect("it is there");
    let short = between(&world, 0, 2, 1, b"one hop");
    let unheard = between(&world, 0, 1, 64, b"no listener");
    for bytes in [&short, &unheard] {
        world.inject(NodeId(0), at(0), bytes).expect("it can be put in");
    }
    let (left, outcome) = finish(world);
    assert_eq!(left.iter().filter_map(completed).collect::<Vec<_>>(), [0, 1]);
    let drops: Vec<_> = outcome.drops.iter().map(|row| (row.node, row.kind, row.reason, row.count)).collect();
    assert_eq!(drops, [(1, "external", "ttl_expired", 1), (1, "external", "no_listener", 1)]);
}

/// The static route leads to a neighbour that has gone: the MAC gives up. A neighbour that was never there has no link
/// address.
#[test]
fn the_mac_reports_what_it_gives_up() {
    let mut spec = network("rfc", "static", &chain(3, 200.0));
    let routing::Config::StaticRoutes(params) = &mut spec.nodes[0].routing else { panic!("routes are static") };
    params.others = routing::static_routes::Others::Direct;
    let point = |milliseconds, y| {
        waypoints::Waypoint::ground(Span::from_millis(milliseconds), Distance::new(200.0), Distance::new(y))
    };
    let track = vec![point(1000, 0.0), point(1010, 5000.0)];
    spec.nodes[1].mobility = mobility::Config::Waypoints(waypoints::Params { track, orders: Vec::new() }.into());
    spec.duration = Span::from_secs(30);
    let mut world = world(&spec);
    for (to, time) in [(1, 0), (1, 2000), (2, 3000)] {
        let bytes = between(&world, 0, to, 64, b"too far");
        world.inject(NodeId(0), at(time), &bytes).expect("it can be put in");
    }
    let (left, outcome) = finish(world);
    let results = left.iter().filter_map(|it| match it {
        Departure::Completed { token, result, .. } => Some((token.0, *result)),
        Departure::Frame { .. } | Departure::NoCarrier { .. } | Departure::Datagram { .. } => None,
    });
    let expected = [(0, Ok(())), (1, Err(DropReason::RetryLimit)), (2, Err(DropReason::ArpFailed))];
    assert_eq!(results.collect::<Vec<_>>(), expected);
    let reasons: Vec<_> = outcome.drops.iter().filter(|row| row.kind == "external").map(|row| row.reason).collect();
    assert_eq!(reasons, ["retry_limit", "arp_failed"]);
}

/// What a host gets about datagrams that cannot be forwarded: when, from whom, and the datagram that is quoted.
fn notices(left: &[Departure], node: NodeId) -> Vec<(Time, Ipv4Addr, Vec<u8>)> {
    let errors = left.iter().filter_map(|it| match it {
        Departure::Datagram { at, node: to, bytes, .. } if *to == node => Some((*at, bytes)),
        _ => None,
    });
    errors
        .filter_map(|(at, bytes)| {
            let (header, payload) = Header::parse(bytes).expect("a datagram");
            let (message, quote) = icmp::Message::parse(payload).ok()?;
            let code = icmp::Unreachable::HOST;
            assert_eq!(message, icmp::Message::DestinationUnreachable { code, next_hop_mtu: 0 });
            Some((at, header.source, quote.to_vec()))
        })
        .collect()
}

#[test]
fn a_host_that_wants_it_is_told_what_cannot_be_forwarded() {
    // Node 2 goes away after two seconds. Node 1 finds the link broken; then node 0 finds no route.
    let mut spec = three("aodv");
    let point = |milliseconds, y| {
        waypoints::Waypoint::ground(Span::from_millis(milliseconds), Distance::new(400.0), Distance::new(y))
    };
    let track = vec![point(2000, 0.0), point(2010, 5000.0)];
    spec.nodes[2].mobility = mobility::Config::Waypoints(waypoints::Params { track, orders: Vec::new() }.into());
    spec.duration = Span::from_secs(30);
    let tell = |wanted: bool| {
        let mut world = world(&spec);
        if wanted {
            world.notify(NodeId(0)).expect("its host is outside");
        }
        for number in 0..60 {
            let bytes = between(&world, 0, 2, 64, b"a segment");
            world.inject(NodeId(0), at(1000 + 50 * number), &bytes).expect("it can be put in");
        }
        let addresses = [0, 1].map(|node| address(&world, NodeId(node)));
        let (left, outcome) = finish(world);
        (addresses, notices(&left, NodeId(0)), outcome.nodes.iter().map(|it| it.icmp_errors).collect::<Vec<_>>())
    };
    let ([own, next], told, sent) = tell(true);
    let (first, from, quote) = &told[0];
    assert!((at(2000)..at(2600)).contains(first), "{first}");
    assert_eq!(*from, next, "the node whose link broke");
    let (quoted, _) = Header::parse(quote).expect("the whole datagram is short");
    assert_eq!((quoted.source, quoted.ttl), (own, 63), "as node 1 had it");
    assert!(told.iter().any(|(_, from, _)| *from == own), "the search for a route has failed: {told:?}");
    // The source itself tells of each datagram, as its own flows are told.
    let of = |node| told.iter().filter(move |it| it.1 == node).map(|it| it.0).collect::<Vec<_>>();
    assert!(of(next).windows(2).all(|it| it[1].since(it[0]) >= Span::from_millis(100)), "{told:?}");
    assert!(of(own).windows(2).any(|it| it[1].since(it[0]) < Span::from_millis(100)), "{told:?}");
    assert_eq!(sent, [0, told.iter().filter(|it| it.1 == next).count() as u64, 0]);
    let (_, none, sent) = tell(false);
    assert!(none.is_empty(), "{none:?}");
    assert_eq!(sent, [0; 3]);
    let mut bare = World::<()>::new(&spec).expect("a world");
    assert_eq!(bare.notify(NodeId(0)), Err(InjectError::NotAttached(NodeId(0))));
}

/// An ICMP message in a datagram between two nodes.
fn icmp_between(world: &World, from: u32, to: u32, ttl: u8, message: &icmp::Message, rest: &[u8]) -> Vec<u8> {
    let [source, destination] = [from, to].map(|node| address(world, NodeId(node)));
    let (mut body, mut bytes) = (Vec::new(), Vec::new());
    message.emit(rest, &mut body).expect("short enough");
    Header::new(Protocol::ICMP, source, destination, ttl).emit(&body, &mut bytes).expect("short enough");
    bytes
}

/// Where the time to live of a datagram ends, its source learns it (RFC 792, RFC 1812 §5.3.1): of data and of echo
/// requests, not of errors or of further fragments.
#[test]
fn the_node_at_which_the_time_to_live_ends_says_so() {
    let mut spec = network("rfc", "oracle", &chain(4, 200.0));
    spec.duration = Span::from_secs(3);
    let mut world = world(&spec);
    let echo = icmp::Message::EchoRequest { identifier: 7, sequence: 1 };
    let udp = between(&world, 0, 3, 1, b"one hop");
    let ping = icmp_between(&world, 0, 3, 2, &echo, b"two hops");
    let error = icmp_between(&world, 0, 3, 1, &icmp::Message::TimeExceeded { code: 0 }, &udp);
    let mut fragment = Vec::new();
    let (header, payload) = Header::parse(&udp).expect("a datagram");
    Header { fragment_offset: 8, ..header.clone() }.emit(payload, &mut fragment).expect("short enough");
    for (number, bytes) in [&udp, &ping, &error, &fragment].into_iter().enumerate() {
        world.inject(NodeId(0), at(200 * number as u64), bytes).expect("it can be put in");
    }
    // Of one connection a node says it once in a while: not of the second one of these.
    for time in [1000, 1050, 1200] {
        world.inject(NodeId(0), at(time), &between(&world_of(&spec), 0, 3, 1, b"again")).expect("it can be put in");
    }
    let routers = [1, 2].map(|node| address(&world, NodeId(node)));
    let (left, outcome) = finish(world);
    let told: Vec<_> = left
        .iter()
        .filter_map(|it| match it {
            Departure::Datagram { at, node: NodeId(0), bytes, .. } => {
                let (header, payload) = Header::parse(bytes).expect("a datagram");
                let (message, quote) = icmp::Message::parse(payload).expect("an ICMP message");
                assert_eq!(message, icmp::Message::TimeExceeded { code: 0 });
                Some((at.nanos() / 100_000_000, header.source, quote.to_vec()))
            }
            _ => None,
        })
        .collect();
    // In tenths of a second.
    let times: Vec<_> = told.iter().map(|it| (it.0, it.1)).collect();
    assert_eq!(times, [(0, routers[0]), (2, routers[1]), (10, routers[0]), (12, routers[0])]);
    let (quoted, _) = Header::parse(&told[0].2).expect("the whole datagram is short");
    assert_eq!((quoted.source, quoted.destination, quoted.ttl), (header.source, header.destination, 1));
    let (quoted, rest) = Header::parse(&told[1].2).expect("the whole datagram is short");
    assert_eq!(quoted.ttl, 1, "as node 2 had it");
    assert_eq!(icmp::Message::parse(rest).map(|it| it.0), Ok(echo));
    assert_eq!(outcome.nodes.iter().map(|it| it.icmp_errors).collect::<Vec<_>>(), [0, 3, 1, 0]);
    let dropped: u64 = outcome.drops.iter().filter(|it| it.reason == "ttl_expired").map(|it| it.count).sum();
    assert_eq!(dropped, 7);
}

/// A link that carries shorter packets than those before it: the source is told how long they may be, if it forbids
/// fragments.
#[test]
fn a_datagram_that_a_link_does_not_carry_is_dropped_and_its_source_is_told_the_mtu() {
    let mut spec = wires();
    spec.wires[0].params.mtu = Bytes::new(1500);
    spec.wires[1].params.mtu = Bytes::new(1000);
    let mut world = world(&spec);
    assert_eq!(world.mtus(NodeId(1)), [Some(1500), Some(1000)]);
    // 32 bytes of headers with options.
    let [fits, long, local] = [968, 969, 1469].map(|length| between(&world, 0, 2, 64, &vec![1; length]));
    let (header, payload) = Header::parse(&long).expect("a datagram");
    let mut divisible = Vec::new();
    Header { dont_fragment: false, ..header.clone() }.emit(payload, &mut divisible).expect("short enough");
    let echo = icmp::Message::EchoRequest { identifier: 7, sequence: 1 };
    let ping = icmp_between(&world, 0, 1, 64, &echo, &[1; 1472]);
    for (number, bytes) in [&fits, &long, &divisible, &local, &ping].into_iter().enumerate() {
        world.inject(NodeId(0), at(100 * number as u64), bytes).expect("it can be put in");
    }
    let [own, router] = [0, 1].map(|node| address(&world, NodeId(node)));
    let (left, outcome) = finish(world);
    let told: Vec<_> = left
        .iter()
        .filter_map(|it| match it {
            Departure::Datagram { at, node: NodeId(0), bytes, .. } => {
                let (outer, payload) = Header::parse(bytes).expect("a datagram");
                let (message, quote) = icmp::Message::parse(payload).expect("an ICMP message");
                let icmp::Message::DestinationUnreachable { code, next_hop_mtu } = message else {
                    panic!("{message:?}")
                };
                assert_eq!(code, icmp::Unreachable::FRAGMENTATION_NEEDED);
                assert!(long.starts_with(&quote[..8]) || local.starts_with(&quote[..8]), "{quote:?}");
                Some((at.nanos() / 100_000_000, outer.source, next_hop_mtu))
            }
            _ => None,
        })
        .collect();
    assert_eq!(told, [(1, router, 1000), (3, own, 1500)]);
    let to = |node: u32| {
        let arrives = |it: &&Departure| matches!(it, Departure::Datagram { node: at, .. } if *at == NodeId(node));
        left.iter().filter(arrives).count()
    };
    assert_eq!((to(2), to(1)), (1, 1), "the one that fits, and the ping of 1500 bytes");
    let drops: Vec<_> = outcome.drops.iter().map(|row| (row.node, row.reason, row.count)).collect();
    assert_eq!(drops, [(0, "too_long", 1), (1, "too_long", 2)]);
}

/// What a node has for its own host without a sender.
#[derive(Debug, Default)]
struct Locals(Vec<(NodeId, Vec<u8>)>);

impl Probe for Locals {
    fn on_packet(&mut self, _: Time, node: NodeId, packet: &Packet, event: PacketEvent) {
        if event != PacketEvent::Local {
            return;
        }
        if let Body::External(bytes) = &packet.body {
            self.0.push((node, bytes.to_vec()));
        }
    }
}

/// An error of a node for its own host crosses no link; whoever watches the host sees it all the same.
#[test]
fn what_a_node_tells_its_own_host_is_seen_by_probes() {
    let mut spec = network("rfc", "aodv", &[(0.0, 0.0), (200.0, 0.0), (5000.0, 0.0)]);
    spec.duration = Span::from_secs(30);
    let options = capture::Options { kinds: [capture::Kind::Host].into(), ..capture::Options::default() };
    let probe = (Locals::default(), Capture::new(Vec::new(), "test", options).expect("a capture"));
    let mut world = World::with_probe(&spec, probe).expect("a world");
    world.attach(NodeId(0)).expect("it is there");
    world.notify(NodeId(0)).expect("its host is outside");
    let lost = between(&world_of(&spec), 0, 2, 64, b"nobody");
    world.inject(NodeId(0), at(0), &lost).expect("it can be put in");
    assert_eq!(world.advance(Time::NEVER, &Watch::default()), Advanced::Ended);
    let got: Vec<_> = std::iter::from_fn(|| world.egress())
        .filter_map(|it| match it {
            Departure::Datagram { node, bytes, .. } => Some((node, bytes)),
            Departure::Frame { .. } | Departure::NoCarrier { .. } | Departure::Completed { .. } => None,
        })
        .collect();
    let (_, (locals, capture)) = world.finish().expect("packets add up");
    assert_eq!(got.len(), 1);
    assert_eq!(locals.0, got);
    let file = capture.finish().expect("written");
    let found = file.windows(got[0].1.len()).filter(|it| *it == got[0].1).count();
    assert_eq!(found, 1, "the host's part of the capture has it");
}

#[test]
fn what_cannot_be_put_in_is_refused() {
    let mut world = world(&three("oracle"));
    world.advance(at(500), &Watch::default());
    let good = between(&world, 0, 2, 64, b"good");
    let source = address(&world, NodeId(0));
    let mut refused = |node, time, bytes: &[u8]| {
        world.inject(NodeId(node), time, bytes).expect_err("it cannot be put in").to_string()
    };
    assert_eq!(refused(3, at(600), &good), "expected a node from 0 to 2, found 3");
    assert!(refused(0, at(499), &good).starts_with("expected a time from "), "{}", refused(0, at(499), &good));
    assert!(refused(0, at(3001), &good).starts_with("expected a time from "));
    let mut damaged = good.clone();
    damaged[8] -= 1;
    assert_eq!(refused(0, at(600), &damaged), "expected an IPv4 datagram: IPv4: the checksum does not match");
    assert!(refused(0, at(600), &good[..30]).starts_with("expected an IPv4 datagram: IPv4: expected"));
    assert!(refused(0, at(600), &[]).starts_with("expected an IPv4 datagram"));
    assert_eq!(
        refused(1, at(600), &good),
        "expected a source among the addresses of node 1 (10.0.0.2), found 10.0.0.1"
    );
    let none = datagram(source, Ipv4Addr::new(10, 0, 0, 3), 0, b"");
    assert_eq!(refused(0, at(600), &none), "expected a time to live of 1 or more, found 0");
    for destination in [source, Ipv4Addr::BROADCAST, Ipv4Addr::new(224, 0, 0, 1), Ipv4Addr::new(10, 0, 0, 4)] {
        let bytes = datagram(source, destination, 9, b"");
        let expected = format!("expected the address of another node as destination, found {destination}");
        assert_eq!(refused(0, at(600), &bytes), expected);
    }
    assert_eq!(world.totals().existing, 0);
    let mut world = World::new(&three("oracle")).expect("a world");
    assert_eq!(world.attach(NodeId(3)), Err(InjectError::NoNode { node: NodeId(3), nodes: 3 }));
    assert_eq!(world.inject(NodeId(0), at(0), &good), Err(InjectError::NotAttached(NodeId(0))));
    // Padding of a link layer is left out.
    world.attach(NodeId(0)).expect("it is there");
    let mut padded = good.clone();
    padded.extend([0; 18]);
    world.attach(NodeId(2)).expect("it is there");
    world.inject(NodeId(0), at(0), &padded).expect("it can be put in");
    let (left, _) = finish(world);
    assert!(left.iter().any(|it| matches!(it, Departure::Datagram { bytes, .. } if bytes.len() == good.len())));
}

/// Hosts outside who send nothing leave every scenario as it is.
#[test]
fn attaching_changes_nothing() {
    for (name, spec) in [("wired", scenarios::wired()), ("chain", scenarios::chain_of_six("aodv"))] {
        let (left, outcome) = finish(world(&spec));
        assert_eq!((left.len(), outcome.digest), (0, run(&spec).digest), "{name}");
    }
}

/// A node with two radios is reached by each of its addresses, over either channel.
#[test]
fn every_address_of_a_node_with_two_radios_is_reached() {
    for protocol in ["aodv", "dsdv", "static", "oracle"] {
        // 0 and 1 on the first channel, 1 and 2 on the second one.
        let mut spec = network("rfc", protocol, &chain(3, 200.0));
        spec.channels.push(spec.channels[0].clone());
        spec.nodes[1].radios = vec![0, 1];
        spec.nodes[2].radios = vec![1];
        let mut world = world(&spec);
        let [first, second] = world.addresses(NodeId(1))[..] else { panic!("two radios") };
        for (place, (from, to)) in [(0, first), (0, second), (2, first), (2, second)].into_iter().enumerate() {
            let bytes = datagram(address(&world, NodeId(from)), to, 9, &[place as u8; 40]);
            world.inject(NodeId(from), at(20_000 + 100 * place as u64), &bytes).expect("it can be put in");
        }
        assert_eq!(world.advance(at(29_000), &Watch::default()), Advanced::Reached);
        let mut arrived = Vec::new();
        while let Some(departure) = world.egress() {
            if let Departure::Datagram { node, address, .. } = departure {
                assert_eq!(node, NodeId(1), "{protocol}");
                arrived.push(address);
            }
        }
        assert_eq!(arrived, [first, second, first, second], "{protocol}");
    }
}

#[test]
fn a_host_that_chooses_interfaces_sends_by_the_one_with_its_address() {
    let mut spec = wires();
    // Node 0 has a direct wire to node 2 first, and then one to node 1.
    let direct = WireSpec { ends: (NodeId(0), NodeId(2)), ..spec.wires[0].clone() };
    spec.wires.insert(0, direct);
    let time_to_live = |chooses: bool, number: usize| {
        let mut world = world(&spec);
        if chooses {
            world.attach_interfaces(NodeId(0)).expect("it is there");
        }
        let own = world.addresses(NodeId(0));
        let there = *world.addresses(NodeId(2)).last().expect("an address");
        world.inject(NodeId(0), at(100), &datagram(own[number], there, 9, b"chosen")).expect("it can be put in");
        let (left, _) = finish(world);
        left.iter().find_map(|it| match it {
            Departure::Datagram { bytes, node: NodeId(2), .. } => Some(bytes[8]),
            _ => None,
        })
    };
    let usual = time_to_live(false, 0).expect("it arrives");
    // Without a choice, every datagram takes the direct wire.
    assert_eq!(time_to_live(false, 1), Some(usual));
    assert_eq!(time_to_live(true, 0), Some(usual));
    assert_eq!(time_to_live(true, 1), Some(usual - 1), "over node 1");
}
