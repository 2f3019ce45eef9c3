//! What is lost on a wire by the number of its segment, and while it is down.

use hopyard_engine::units::Bytes;
use hopyard_engine::{Span, Time};
use hopyard_model::address::NodeId;
use hopyard_model::app;
use hopyard_model::context::DropReason;
use hopyard_model::link::wired;
use hopyard_model::observe::{Outcome, PacketEvent, Passage, Probe};
use hopyard_model::packet::{Body, Packet};
use hopyard_model::params::Params as _;
use hopyard_model::transport::tcp::Connect;
use hopyard_model::world::{Spec, WireSpec};

use crate::common::{add_cbr, add_tcp, network, run_with};

/// The segments that enter the wire at node 0, and those that are lost: flow, sequence number, bytes.
#[derive(Debug, Default)]
struct Seen {
    sent: Vec<(u32, u64, u32)>,
    lost: Vec<(u32, u64, u32)>,
}

impl Probe for Seen {
    fn on_passage(&mut self, _: Time, packet: &Packet, passage: Passage) {
        let Passage::WireEntered(interface) = passage else { return };
        if let Body::Tcp(header) = &packet.body
            && interface.0 == 0
        {
            self.sent.push((packet.flow.0, header.seq, header.len));
        }
    }

    fn on_packet(&mut self, _: Time, _: NodeId, packet: &Packet, event: PacketEvent) {
        let PacketEvent::Dropped(reason) = event else { return };
        assert_eq!(reason, DropReason::ScriptedLoss);
        if let Body::Tcp(header) = &packet.body {
            self.lost.push((packet.flow.0, header.seq, header.len));
        }
    }
}

/// Two hosts and a wire that loses some packets from the first to the second.
fn wired(losses: wired::Losses) -> Spec {
    let mut spec = network("rfc", "static", &[(0.0, 0.0); 2]);
    spec.nodes.iter_mut().for_each(|node| node.radios.clear());
    let params = wired::Params { losses, queue_length: 1000, ..wired::Params::of_profile("rfc") };
    spec.wires.push(WireSpec { ends: (NodeId(0), NodeId(1)), params, network: None });
    Spec { duration: Span::from_secs(3), ..spec }
}

fn watched(spec: &Spec) -> (Outcome, Seen) {
    run_with(spec, Seen::default())
}

/// The number of a segment counts whole segments from the first byte on, whether or not a SYN comes before it.
#[test]
fn whole_segments_are_counted_from_the_first_byte() {
    for (connect, first) in [(Connect::None, 0), (Connect::Ns2, 1), (Connect::ThreeWay, 1)] {
        let mut spec = wired(wired::Losses { segments: vec![0, 2, 7, 7], ..wired::Losses::default() });
        add_tcp(&mut spec, 0, 1, "rfc", "newreno", |tcp| tcp.connect = connect);
        let (outcome, mut seen) = watched(&spec);
        seen.lost.sort_unstable();
        let expected = [0, 2, 7, 7].map(|number| (0, first + number * 1448, 1448));
        assert_eq!(seen.lost, expected, "{connect:?}");
        assert_eq!(outcome.flows[0].packets_dropped, 4, "{connect:?}");
    }
}

/// Segments of 900 bytes of an application that does not wait, and 1448 bytes of a whole segment: each entry loses the
/// first one that begins within the segment of this number.
#[test]
fn short_segments_have_the_number_of_their_first_byte() {
    let mut spec = wired(wired::Losses { segments: vec![3, 10], ..wired::Losses::default() });
    add_tcp(&mut spec, 0, 1, "rfc", "newreno", |tcp| (tcp.connect, tcp.nagle) = (Connect::ThreeWay, false));
    let mut cbr = app::cbr::Params::of_profile("rfc");
    (cbr.packet_size, cbr.interval) = (Bytes::new(900), Span::from_millis(50));
    spec.flows[0].traffic = app::Config::Cbr(cbr.into());
    let (outcome, mut seen) = watched(&spec);
    seen.lost.sort_unstable();
    // Segment 3 is the bytes from 4344 on, segment 10 those from 14480 on. The first number is that of the SYN.
    assert_eq!(seen.lost, [(0, 1 + 5 * 900, 900), (0, 1 + 17 * 900, 900)], "{:?}", seen.sent);
    assert_eq!(outcome.flows[0].packets_dropped, 2);
}

/// Each entry loses one transmission, of the flow that comes first, by that flow's own segment size.
#[test]
fn flows_on_one_wire_are_numbered_by_their_own_segments() {
    let mut spec = wired(wired::Losses { segments: vec![5, 5, 5], ..wired::Losses::default() });
    for size in [1460, 500] {
        add_tcp(&mut spec, 0, 1, "rfc", "newreno", |tcp| tcp.segment_size = Bytes::new(size));
    }
    let (outcome, seen) = watched(&spec);
    let sizes = [1460, 500];
    assert_eq!(seen.lost.len(), 3);
    for &(flow, seq, len) in &seen.lost {
        let size = sizes[flow as usize];
        assert_eq!((seq, u64::from(len)), (1 + 5 * size, size), "flow {flow}");
    }
    let lost = |flow: u32| seen.lost.iter().filter(|it| it.0 == flow).count() as u64;
    assert!(lost(0) > 0 && lost(1) > 0);
    assert_eq!([0, 1].map(|flow| outcome.flows[flow].packets_dropped), [0, 1].map(lost));
}

/// A SYN is no segment; it is lost by its number among all packets, and counted for its flow.
#[test]
fn a_lost_syn_is_counted_for_its_flow() {
    let mut spec = wired(wired::Losses { packets: vec![0, 1], ..wired::Losses::default() });
    for flow in 0..2 {
        add_tcp(&mut spec, 0, 1, "rfc", "newreno", |tcp| tcp.connect = Connect::ThreeWay);
        spec.flows[flow].start = Time::ZERO + Span::from_millis(2000) * flow as u64;
    }
    spec.duration = Span::from_secs(6);
    let (outcome, seen) = watched(&spec);
    assert_eq!(seen.lost, [(0, 0, 0), (0, 0, 0)], "the SYN and its first retransmission");
    let [first, second] = &outcome.flows[..] else { panic!("two flows") };
    assert_eq!((first.packets_dropped, second.packets_dropped), (2, 0));
    assert!(first.delivered_bytes > 0 && first.packets_sent > first.packets_arrived);
    let drops: Vec<_> = outcome.drops.iter().map(|row| (row.node, row.kind, row.reason, row.count)).collect();
    assert_eq!(drops, [(0, "data", "scripted_loss", 2)]);
}

/// When datagrams enter the wire at node 0, and when they are lost.
#[derive(Debug, Default)]
struct Times {
    sent: Vec<Time>,
    lost: Vec<Time>,
}

impl Probe for Times {
    fn on_passage(&mut self, now: Time, _: &Packet, passage: Passage) {
        let Passage::WireEntered(_) = passage else { return };
        self.sent.push(now);
    }

    fn on_packet(&mut self, now: Time, node: NodeId, _: &Packet, event: PacketEvent) {
        let PacketEvent::Dropped(reason) = event else { return };
        assert_eq!((node, reason), (NodeId(0), DropReason::WireDown));
        self.lost.push(now);
    }
}

/// A datagram every 20 ms over a wire with a delay of 5 ms that is down at times.
fn datagrams(down: Vec<wired::Down>) -> (Outcome, Times) {
    let mut spec = wired(wired::Losses::default());
    (spec.wires[0].params.delay, spec.wires[0].params.down) = (Span::from_millis(5), down);
    add_cbr(&mut spec, 0, 1, 1000, Span::from_millis(20));
    run_with(&spec, Times::default())
}

/// What is sent while the wire is down is lost, and what is under way when it goes down.
#[test]
fn datagrams_are_lost_while_a_wire_is_down() {
    let (outcome, whole) = datagrams(Vec::new());
    assert!(whole.sent.len() > 100 && whole.lost.is_empty());
    // From the middle of a datagram's way on, until one enters.
    let from = whole.sent[50].since(Time::ZERO) + Span::from_millis(3);
    let to = whole.sent[61].since(Time::ZERO);
    let (cut, seen) = datagrams(vec![wired::Down { from, to: Some(to) }]);
    assert_eq!(seen.sent, whole.sent);
    let expected: Vec<_> = [Time::ZERO + from].into_iter().chain(whole.sent[51..61].iter().copied()).collect();
    assert_eq!(seen.lost, expected);
    let drops: Vec<_> = cut.drops.iter().map(|row| (row.node, row.kind, row.reason, row.count)).collect();
    assert_eq!(drops, [(0, "data", "wire_down", 11)]);
    let [whole, cut] = [&outcome, &cut].map(|outcome| outcome.flows[0].packets_arrived);
    assert_eq!(whole - cut, 11);
}

/// An interval in which nothing is on the wire changes nothing, not even the events.
#[test]
fn an_interval_without_packets_leaves_no_trace() {
    let (outcome, whole) = datagrams(Vec::new());
    let from = whole.sent[50].since(Time::ZERO) + Span::from_millis(8);
    let to = from + Span::from_millis(1);
    let (other, _) = datagrams(vec![wired::Down { from, to: Some(to) }]);
    assert_eq!((other.digest, other.events), (outcome.digest, outcome.events));
}
