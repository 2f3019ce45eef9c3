//! Nodes of the simulator and hosts outside that are whole nodes, in one network. The host outside here is a small
//! router of the test.

use std::net::{Ipv4Addr, Ipv6Addr};

use hopyard_engine::{Span, Time};
use hopyard_model::address::{Address, InterfaceId, NodeId};
use hopyard_model::context::Departure;
use hopyard_model::observe::Outcome;
use hopyard_model::packet::ETHERNET;
use hopyard_model::params::Params as _;
use hopyard_model::routing::{self, babel};
use hopyard_model::world::{Spec, Watch, World};
use hopyard_wire::ipv4::{self, Protocol};
use hopyard_wire::{HardwareAddress, arp, icmp, ipv6, ndp, udp};

use crate::common::{add_cbr, add_tcp, chain, network};

const ARP: [u8; 2] = [8, 6];
const IPV4: [u8; 2] = [8, 0];
const IPV6: [u8; 2] = [0x86, 0xdd];

const fn at(milliseconds: u64) -> Time {
    Time::from_nanos(milliseconds * 1_000_000)
}

fn station(node: u32) -> HardwareAddress {
    InterfaceId(node).station()
}

fn framed(to: HardwareAddress, from: u32, kind: [u8; 2], payload: &[u8]) -> Vec<u8> {
    [&to.0[..], &station(from).0, &kind, payload].concat()
}

/// What a router of the test does with a datagram that it is to forward.
#[derive(Clone, Copy, PartialEq)]
enum Manner {
    Forwards,
    /// It marks the datagram and lowers its time to live by two more.
    Marks,
    Loses,
    /// It reports that there is no way.
    Refuses,
}

/// A world in which some nodes are routers of the test, which know the next node of a row.
struct Row {
    world: World,
    manner: Manner,
    /// The frames that came to hosts outside: where, and the bytes.
    seen: Vec<(u32, Vec<u8>)>,
}

impl Row {
    fn new(spec: &Spec, outside: &[u32], manner: Manner) -> Self {
        let mut world = World::new(spec).expect("a world");
        outside.iter().for_each(|&node| world.attach_frames(InterfaceId(node)).expect("it has a radio"));
        Self { world, manner, seen: Vec::new() }
    }

    fn address(&self, node: u32) -> Ipv4Addr {
        self.world.addresses(NodeId(node))[0]
    }

    fn put(&mut self, from: u32, to: u32, frame: &[u8]) {
        let now = self.world.now();
        let to = if to == u32::MAX { InterfaceId::BROADCAST } else { InterfaceId(to) };
        self.world.inject_frame(InterfaceId(from), now, to, frame).expect("put in");
    }

    fn run_until(&mut self, end: Time) {
        while let Some(next) = self.world.next_event().filter(|it| *it <= end) {
            self.world.advance(next, &Watch::default());
            while let Some(left) = self.world.egress() {
                if let Departure::Frame { interface, bytes, .. } = left {
                    self.seen.push((interface.0, bytes.to_vec()));
                    self.hears(interface.0, &bytes);
                }
            }
        }
        self.world.advance(end, &Watch::default());
    }

    /// A router hears a frame: it answers for its address, and forwards datagrams to the next node in the row.
    fn hears(&mut self, node: u32, frame: &[u8]) {
        let (header, payload) = frame.split_at(ETHERNET);
        let own = self.address(node);
        let kind = [header[12], header[13]];
        if kind == ARP {
            let asked = arp::Message::parse(payload).expect("sound");
            if asked.operation == arp::Operation::Request && asked.target == own {
                let mut reply = Vec::new();
                arp::Message {
                    operation: arp::Operation::Reply,
                    sender_hardware: station(node),
                    sender: own,
                    target_hardware: asked.sender_hardware,
                    target: asked.sender,
                }
                .emit(&mut reply);
                let to = InterfaceId::of_station(asked.sender_hardware).expect("a station").0;
                self.put(node, to, &framed(asked.sender_hardware, node, ARP, &reply));
            }
        }
        if kind != IPV4 {
            return;
        }
        let (it, _) = ipv4::Header::parse(payload).expect("sound");
        if it.destination == own || it.source == own {
            return;
        }
        let mut datagram = payload.to_vec();
        ipv4::set_ttl(&mut datagram, it.ttl - if self.manner == Manner::Marks { 3 } else { 1 });
        let next = if it.destination > own { node + 1 } else { node - 1 };
        match self.manner {
            Manner::Loses => return,
            Manner::Refuses => {
                let mut message = Vec::new();
                let code = icmp::Unreachable::HOST;
                icmp::Message::DestinationUnreachable { code, next_hop_mtu: 0 }
                    .emit(&payload[..28], &mut message)
                    .expect("short");
                datagram.clear();
                ipv4::Header::new(Protocol::ICMP, own, it.source, 64).emit(&message, &mut datagram).expect("short");
            }
            Manner::Marks => ipv4::set_class(&mut datagram, it.traffic_class | 3),
            Manner::Forwards => {}
        }
        self.put(node, next, &framed(station(next), node, IPV4, &datagram));
    }

    fn finish(self) -> Outcome {
        self.world.finish().expect("packets add up").0
    }
}

/// A row of nodes with an oracle, each in reach of the next one alone.
fn row(nodes: usize) -> Spec {
    let spec = network("rfc", "oracle", &chain(nodes, 200.0));
    Spec { duration: Span::from_secs(10), ..spec }
}

/// Datagrams and segments of the simulator pass routers outside, two in a row too, as they pass its own nodes: every
/// one arrives, after as many hops, and each node between has forwarded it.
#[test]
fn flows_of_the_simulator_pass_nodes_outside() {
    let delays = [Span::ZERO, Span::from_micros(25)];
    for (outside, delay) in [&[][..], &[1], &[1, 2]].into_iter().flat_map(|it| delays.map(|delay| (it, delay))) {
        let mut spec = row(4);
        spec.link.processing_delay = delay;
        add_cbr(&mut spec, 0, 3, 500, Span::from_millis(100));
        add_tcp(&mut spec, 3, 0, "rfc", "newreno", |_| {});
        let mut row = Row::new(&spec, outside, Manner::Forwards);
        row.run_until(Time::ZERO + spec.duration);
        let outcome = row.finish();
        for flow in &outcome.flows {
            assert_eq!(flow.hops, Some(3.0), "{outside:?}");
        }
        let (cbr, tcp) = (&outcome.flows[0], &outcome.flows[1]);
        assert!(cbr.packets_unique + 8 > cbr.packets_sent && cbr.packets_sent > 90, "{outside:?} {cbr:#?}");
        assert!(tcp.goodput_kbps > 100.0, "{outside:?} {tcp:#?}");
        assert!([1, 2].iter().all(|&node: &usize| outcome.nodes[node].forwarded > 100), "{outside:?}");
    }
}

/// The processing time of links counts on the way down at a node of the simulator, and on the way up to a node outside.
#[test]
fn links_take_their_time_on_the_way_to_nodes_outside() {
    let second_datagram = |delay: Span| {
        let mut spec = row(3);
        spec.link.processing_delay = delay;
        add_cbr(&mut spec, 0, 2, 500, Span::from_millis(100));
        let mut row = Row::new(&spec, &[1], Manner::Forwards);
        // The first one waits for address resolution.
        while row.seen.iter().filter(|(_, frame)| frame[12..14] == IPV4).count() < 2 {
            let next = row.world.next_event().expect("datagrams are sent");
            row.run_until(next);
        }
        row.world.now()
    };
    let delay = Span::from_micros(25);
    assert_eq!(second_datagram(delay), second_datagram(Span::ZERO) + delay * 2);
}

#[test]
fn the_run_repeats_itself() {
    let digest = || {
        let mut spec = row(3);
        add_tcp(&mut spec, 0, 2, "rfc", "newreno", |_| {});
        let mut row = Row::new(&spec, &[1], Manner::Forwards);
        row.run_until(Time::ZERO + spec.duration);
        row.finish().digest
    };
    assert_eq!(digest(), digest());
}

/// Marks and the time to live are as the node outside left them.
#[test]
fn a_packet_goes_on_with_the_header_of_the_frame() {
    let mut spec = row(4);
    spec.ip.ttl = 5;
    add_cbr(&mut spec, 0, 3, 500, Span::from_millis(500));
    let mut row = Row::new(&spec, &[1], Manner::Marks);
    row.run_until(Time::ZERO + spec.duration);
    let outcome = row.finish();
    // The node outside leaves 2 of 5, and node 2 one.
    assert!(outcome.flows[0].packets_unique > 15, "{:?}", outcome.drops);
    spec.ip.ttl = 4;
    let mut row = Row::new(&spec, &[1], Manner::Marks);
    row.run_until(Time::ZERO + spec.duration);
    let outcome = row.finish();
    let expired: Vec<_> = outcome.drops.iter().filter(|it| it.reason == "ttl_expired").collect();
    assert!(expired.len() == 1 && (expired[0].node, expired[0].kind) == (2, "data"), "{:?}", outcome.drops);
    assert_eq!(outcome.flows[0].packets_unique, 0);
}

#[test]
fn a_packet_that_a_node_outside_loses_is_counted_there() {
    let mut spec = row(3);
    spec.duration = Span::from_secs(100);
    add_cbr(&mut spec, 0, 2, 500, Span::from_secs(1));
    let mut row = Row::new(&spec, &[1], Manner::Loses);
    row.run_until(Time::ZERO + spec.duration);
    let outcome = row.finish();
    let lost: Vec<_> = outcome.drops.iter().map(|it| (it.node, it.kind, it.reason)).collect();
    assert_eq!(lost, [(1, "data", "lost_outside")]);
    // Those of the last minute may still come.
    assert!((35..45).contains(&outcome.drops[0].count), "{:?}", outcome.drops);
}

#[test]
fn an_error_of_a_node_outside_says_why_a_packet_is_lost() {
    let mut spec = row(3);
    add_cbr(&mut spec, 0, 2, 500, Span::from_millis(500));
    let mut row = Row::new(&spec, &[1], Manner::Refuses);
    row.run_until(Time::ZERO + spec.duration);
    let outcome = row.finish();
    let lost: Vec<_> = outcome.drops.iter().map(|it| (it.node, it.kind, it.reason)).collect();
    assert!(lost.contains(&(1, "data", "no_route")), "{lost:?}");
}

/// Datagrams of hosts outside go over nodes of the simulator, which resolve the addresses of both.
#[test]
fn datagrams_of_nodes_outside_pass_the_simulator() {
    let spec = row(4);
    let mut row = Row::new(&spec, &[0, 3], Manner::Forwards);
    let (from, to) = (row.address(0), row.address(3));
    let mut datagram = Vec::new();
    ipv4::Header { traffic_class: 0xb8, ..ipv4::Header::new(Protocol::EXPERIMENT, from, to, 9) }
        .emit(b"bytes of a kernel", &mut datagram)
        .expect("short");
    row.run_until(at(100));
    row.put(0, 1, &framed(station(1), 0, IPV4, &datagram));
    row.run_until(at(9_000));
    let arrived: Vec<_> = row.seen.iter().filter(|(node, it)| *node == 3 && it[12..14] == IPV4).collect();
    let [(_, frame)] = arrived[..] else { panic!("{:?}", row.seen) };
    assert_eq!(frame[..12], [station(3).0, station(2).0].concat());
    let (header, payload) = ipv4::Header::parse(&frame[ETHERNET..]).expect("sound");
    assert_eq!((header.ttl, header.traffic_class, payload), (7, 0xb8, &b"bytes of a kernel"[..]));
    // One that can go no further is reported to the host outside.
    ipv4::set_ttl(&mut datagram, 2);
    row.put(0, 1, &framed(station(1), 0, IPV4, &datagram));
    row.run_until(at(9_900));
    let told = row.seen.iter().rfind(|(node, it)| *node == 0 && it[12..14] == IPV4).expect("a report");
    let (header, message) = ipv4::Header::parse(&told.1[ETHERNET..]).expect("sound");
    assert_eq!((header.protocol, header.source), (Protocol::ICMP, row.address(2)));
    assert!(matches!(icmp::Message::parse(message), Ok((icmp::Message::TimeExceeded { .. }, _))));
}

#[test]
fn nodes_of_the_simulator_answer_for_both_of_their_addresses() {
    let spec = row(2);
    let mut row = Row::new(&spec, &[0], Manner::Forwards);
    row.run_until(at(100));
    let (asker, owner) = (station(0), station(1));
    let mut question = Vec::new();
    arp::Message {
        operation: arp::Operation::Request,
        sender_hardware: asker,
        sender: row.address(0),
        target_hardware: HardwareAddress([0; 6]),
        target: row.address(1),
    }
    .emit(&mut question);
    row.put(0, u32::MAX, &framed(HardwareAddress::BROADCAST, 0, ARP, &question));
    row.run_until(at(200));
    let (_, reply) = row.seen.pop().expect("an answer");
    let answer = arp::Message::parse(&reply[ETHERNET..]).expect("sound");
    assert_eq!((answer.operation, answer.sender_hardware), (arp::Operation::Reply, owner));
    assert_eq!((answer.sender, answer.target), (row.address(1), row.address(0)));
    // The same over IPv6; other addresses are not the node's.
    for (target, answers) in [(owner.link_local(), true), (station(7).link_local(), false)] {
        let (source, group) = (asker.link_local(), "ff02::1:ff00:2".parse::<Ipv6Addr>().expect("a group"));
        let (mut message, mut packet) = (Vec::new(), Vec::new());
        ndp::Message::Solicitation { target, source: Some(asker) }.emit(source, group, &mut message);
        ipv6::Header { traffic_class: 0, protocol: Protocol::ICMPV6, hop_limit: 255, source, destination: group }
            .emit(&message, &mut packet)
            .expect("short");
        row.put(0, u32::MAX, &framed(HardwareAddress([0x33, 0x33, 0xff, 0, 0, 2]), 0, IPV6, &packet));
        let end = row.world.now() + Span::from_millis(100);
        row.run_until(end);
        let found = row.seen.pop().map(|(_, frame)| {
            assert_eq!(frame[..12], [asker.0, owner.0].concat());
            let (header, rest) = ipv6::Header::parse(&frame[ETHERNET..]).expect("sound");
            assert_eq!(header.hop_limit, 255);
            ndp::Message::parse(rest, header.source, header.destination).expect("sound")
        });
        assert_eq!(found, answers.then_some(ndp::Message::Advertisement { target, link: Some(owner) }));
    }
    let outcome = row.finish();
    let drops: Vec<_> = outcome.drops.iter().map(|it| (it.node, it.kind, it.reason, it.count)).collect();
    assert_eq!(drops, [(1, "external", "no_listener", 1)]);
}

/// Babel's packets leave as those of babeld do, and those of a router outside are understood: its route is used, and
/// its router-id is passed on.
#[test]
fn babel_speaks_to_routers_outside() {
    use hopyard_wire::babel::{Message, Neighbour, Packet, RouterId, Target, Update};
    const ID: RouterId = RouterId::Other(*b"\x28\x01\x02\x03\x04\x05\x06\x07");
    let mut spec = network("rfc", "oracle", &chain(3, 200.0));
    spec.duration = Span::from_secs(60);
    let params = babel::Params { ipv6: true, ..babel::Params::of_profile("rfc") };
    // The first one is the router outside, which speaks for itself.
    for node in &mut spec.nodes[1..] {
        node.routing = routing::Config::Babel(params.clone().into());
    }
    let mut row = Row::new(&spec, &[0], Manner::Forwards);
    let own = row.address(0);
    let (source, group) = (station(0).link_local(), hopyard_wire::babel::GROUP6);
    for second in 1..55_u16 {
        let update = Update {
            destination: Target::Host(own),
            router: Some(ID),
            next_hop: Some(own),
            seqno: 7,
            metric: 0,
            interval: 1600,
        };
        let heard = Some(Neighbour::LinkLocal(station(1).identifier()));
        let messages = [
            Message::Hello { unicast: false, seqno: second, interval: 100 },
            Message::Ihu { rxcost: 256, interval: 300, address: heard },
            Message::Update(update),
        ];
        let packets = Packet::pack(messages, 1400, &|it| it).expect("it has an encoding");
        let (mut payload, mut body, mut packet) = (Vec::new(), Vec::new(), Vec::new());
        packets[0].emit(&|it| it, &mut payload).expect("short");
        udp::Header { source_port: 6696, destination_port: 6696 }
            .emit(&payload, source, group, &mut body)
            .expect("short");
        ipv6::Header { traffic_class: 0xc0, protocol: Protocol::UDP, hop_limit: 1, source, destination: group }
            .emit(&body, &mut packet)
            .expect("short");
        row.run_until(at(1000 * u64::from(second)));
        row.put(0, u32::MAX, &framed(HardwareAddress([0x33, 0x33, 0, 1, 0, 6]), 0, IPV6, &packet));
    }
    row.run_until(at(55_000));
    let path = |from| row.world.path(NodeId(from), Address(0)).nodes;
    assert_eq!((path(1), path(2)), ([1, 0].map(NodeId).to_vec(), [2, 1, 0].map(NodeId).to_vec()));
    let mut said = Vec::new();
    for (_, frame) in row.seen.iter().filter(|(_, it)| it[12..14] == IPV6) {
        assert_eq!(frame[..12], [[0x33, 0x33, 0, 1, 0, 6], station(1).0].concat());
        let (header, body) = ipv6::Header::parse(&frame[ETHERNET..]).expect("sound");
        assert_eq!((header.source, header.destination, header.hop_limit), (station(1).link_local(), group, 1));
        let (ports, payload) = udp::Header::parse(body, header.source, header.destination).expect("sound");
        assert_eq!((ports.source_port, ports.destination_port), (6696, 6696));
        said.extend_from_slice(Packet::parse(payload).expect("sound").0.messages());
    }
    let heard = Neighbour::LinkLocal(station(0).identifier());
    let ihus: Vec<_> = said.iter().filter(|it| matches!(it, Message::Ihu { .. })).collect();
    let is_good = |it: &&&Message| matches!(it, Message::Ihu { address: Some(it), rxcost: 256, .. } if *it == heard);
    assert!(ihus.iter().any(|it| is_good(&it)), "{ihus:?}");
    let of = |node| {
        said.iter().rev().find_map(|it| match it {
            Message::Update(it) if it.destination == Target::Host(row.address(node)) => Some(*it),
            _ => None,
        })
    };
    let next_hop = Some(row.address(1));
    let own = of(1).expect("its own route");
    assert_eq!((own.metric, own.next_hop, own.router), (0, next_hop, Some(RouterId::Of(row.address(1)))));
    let back = of(0).expect("the route back");
    assert_eq!((back.metric, back.router, back.seqno), (256, Some(ID), 7));
    let further = of(2).expect("the route of node 2");
    // The link is younger than the sixteen Hellos that its cost is made of.
    assert!((256..270).contains(&further.metric) && further.next_hop == next_hop, "{further:?}");
}
