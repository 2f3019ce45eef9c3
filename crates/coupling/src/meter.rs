//! The traffic of the flows of kernels, seen by a probe of the network.
//!
//! The application of a receiver gets the bytes in order, each once, as soon as they are all there. Therefore the
//! packets that arrived tell the application's part, without a question to the kernel.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use hopyard_engine::{Span, Time};
use hopyard_model::address::NodeId;
use hopyard_model::context::FlowDrops;
use hopyard_model::observe::{FlowMeter, NetworkView, PacketEvent, PathCounts, PathRow, Probe};
use hopyard_model::packet::{Body, ETHERNET, FlowId, Packet};
use hopyard_scenario::LinuxFlow;
use hopyard_wire::ipv4::{Header, Protocol};

use crate::orders::ports;

/// The measures of a flow. A data packet is a datagram with payload, or the SYN of the source, as for Hopyard's own
/// flows.
#[derive(Clone, Debug, PartialEq)]
pub struct Measured {
    /// Its packets, measured like the packets of every flow.
    pub packets: FlowMeter,
    /// The data packets from `measure.from` on whose first byte of payload had been sent before.
    pub retransmissions: u64,
    /// The drops from `measure.from` on.
    pub dropped: FlowDrops,
    /// The payload that arrived for the first time, from `measure.from` on.
    pub unique_bytes: u64,
}

impl Measured {
    /// Nothing yet; it counts from a time on.
    pub fn new(from: Time) -> Self {
        let (packets, dropped) = (FlowMeter::new(from), FlowDrops::default());
        Self { packets, retransmissions: 0, dropped, unique_bytes: 0 }
    }
}

/// The ends of a connection: address and port of source and destination.
pub type Ends = (Ipv4Addr, u16, Ipv4Addr, u16);

/// The meters of all flows.
#[derive(Debug, Default)]
pub struct Meters {
    from: Time,
    interval: Span,
    /// The nodes and ports of the connections, and the numbers of their flows.
    connections: Vec<(NodeId, u16, NodeId, u16, FlowId)>,
    flows: BTreeMap<Ends, Meter>,
    /// The paths that their datagrams in frames took, if they are recorded.
    paths: Option<PathCounts>,
}

/// The meter of a flow.
#[derive(Debug)]
struct Meter {
    measured: Measured,
    /// The sequence number of the first byte.
    first: Option<u32>,
    /// How many bytes were sent, from the first one on.
    sent: u64,
    /// A SYN has arrived.
    is_opened: bool,
    /// The data that arrived beyond the delivered bytes: beginnings and ends.
    beyond: BTreeMap<u64, u64>,
    /// When the datagrams in frames that are on their way left the source, and with which time to live; by
    /// identification and sequence number. Each hop has a frame of its own.
    departed: BTreeMap<(u16, u32), Departed>,
    /// The nodes at the ends.
    nodes: [NodeId; 2],
    /// The number of the flow.
    flow: FlowId,
    /// Delivered bytes and IP bytes of each interval in which something arrived, by its number.
    series: BTreeMap<u64, (u64, u64)>,
}

/// A datagram in a frame that has left its source.
#[derive(Debug)]
struct Departed {
    at: Time,
    /// Its time to live then.
    ttl: u8,
    /// The nodes that it has reached.
    path: Vec<NodeId>,
}

/// The contents of a TCP segment.
struct Segment {
    ends: Ends,
    /// The identification and the time to live of its datagram.
    identification: u16,
    ttl: u8,
    sequence: u32,
    is_syn: bool,
    payload: u64,
    bytes: u32,
}

impl Segment {
    /// Whether it is a data packet.
    const fn counts(&self) -> bool {
        self.payload > 0 || self.is_syn
    }

    /// Tells its datagram from others of the flow.
    const fn key(&self) -> (u16, u32) {
        (self.identification, self.sequence)
    }
}

impl Meters {
    /// Meters for these flows, which count from a time on. Series have samples at multiples of the interval. `paths`
    /// says whether the paths of datagrams in frames are recorded.
    pub fn new(from: Time, interval: Span, flows: &[LinuxFlow], paths: bool) -> Self {
        let connection = |(number, flow): (usize, &LinuxFlow)| {
            let (source, sink) = ports(number);
            (flow.from, source, flow.to, sink, FlowId(flow.number as u32))
        };
        let connections = flows.iter().enumerate().map(connection).collect();
        Self { from, interval, connections, flows: BTreeMap::new(), paths: paths.then(PathCounts::default) }
    }

    /// A row for each path of each flow over nodes that are kernels, if they are recorded.
    pub fn paths(&self) -> Vec<PathRow> {
        self.paths.as_ref().map(PathCounts::rows).unwrap_or_default()
    }

    /// The measures of a flow.
    pub fn measured(&self, ends: Ends) -> Option<&Measured> {
        self.flows.get(&ends).map(|it| &it.measured)
    }

    /// How many data packets of each connection there are among these.
    pub fn among<'a>(&self, packets: impl Iterator<Item = &'a Packet>) -> BTreeMap<Ends, u64> {
        let mut found = BTreeMap::new();
        for packet in packets {
            if let Some(segment) = segment_of(packet).filter(|it| it.counts() && self.flows.contains_key(&it.ends)) {
                *found.entry(segment.ends).or_default() += 1;
            }
        }
        found
    }

    /// The bytes that were delivered, and the IP bytes that arrived, in each interval up to a time.
    pub fn series(&self, ends: Ends, until: Time) -> Vec<(Time, u64, u64)> {
        let all = self.flows.get(&ends).map(|it| &it.series);
        let step = self.interval.nanos().max(1);
        let row = |number: u64| {
            let (delivered, network) = all.and_then(|it| it.get(&number)).copied().unwrap_or_default();
            (Time::from_nanos(number * step), delivered, network)
        };
        (1..=until.nanos() / step).map(row).collect()
    }

    fn find(&mut self, packet: &Packet) -> Option<(Segment, &mut Meter)> {
        let segment = segment_of(packet)?;
        let meter = self.flows.get_mut(&segment.ends)?;
        Some((segment, meter))
    }

    fn on_originated(&mut self, now: Time, node: NodeId, packet: &Packet) {
        let counts = now >= self.from;
        let Some((segment, meter)) = self.find(packet) else { return };
        if is_frame(packet) && !meter.departs(now, node, &segment) {
            return;
        }
        if segment.is_syn {
            // The SYN has a number, which is the one before that of the first byte.
            meter.first = Some(segment.sequence.wrapping_add(1));
        }
        if segment.payload == 0 {
            if segment.is_syn {
                meter.measured.packets.on_sent(0, now);
            }
            return;
        }
        let begin = meter.place(segment.sequence, meter.sent);
        let end = begin + segment.payload;
        let new = end.saturating_sub(meter.sent.max(begin));
        meter.measured.retransmissions += u64::from(counts && begin < meter.sent);
        meter.sent = meter.sent.max(end);
        meter.measured.packets.on_sent(new as u32, now);
    }

    fn on_delivered(&mut self, now: Time, node: NodeId, packet: &Packet) {
        let (counts, step) = (now >= self.from, self.interval.nanos().max(1));
        let Some((segment, meter)) = self.find(packet).filter(|it| it.0.counts()) else { return };
        if is_frame(packet) && node != meter.nodes[1] {
            return meter.passes(node, &segment);
        }
        let (created, hops, path) = meter.way_of(packet, &segment);
        let (unique, delivered) =
            if segment.payload > 0 { meter.arrive(segment.sequence, segment.payload) } else { (0, 0) };
        let is_first_syn = segment.is_syn && !std::mem::replace(&mut meter.is_opened, true);
        // What arrives at the time of a sample belongs to it.
        let sample = meter.series.entry(now.nanos().div_ceil(step)).or_default();
        *sample = (sample.0 + delivered, sample.1 + u64::from(segment.bytes));
        let it = &mut meter.measured;
        it.unique_bytes += if counts { unique } else { 0 };
        it.packets.on_arrival(segment.bytes, hops, created, unique > 0 || is_first_syn, now);
        it.packets.on_delivered(delivered, now);
        let flow = meter.flow;
        if let Some((paths, path)) = self.paths.as_mut().zip(path) {
            paths.add(flow, true, [path, vec![node]].concat());
        }
    }

    fn on_drop(&mut self, now: Time, packet: &Packet) {
        if now >= self.from
            && let Some((segment, meter)) = self.find(packet)
        {
            meter.measured.dropped.copies += u64::from(segment.counts());
        }
    }

    fn on_lost(&mut self, now: Time, packet: &Packet) {
        if now >= self.from
            && let Some((segment, meter)) = self.find(packet)
        {
            meter.measured.dropped.packets += u64::from(segment.counts());
        }
        if let Some((segment, meter)) = self.find(packet)
            && let Some(it) = meter.departed.remove(&segment.key())
        {
            let flow = meter.flow;
            self.paths.iter_mut().for_each(|paths| paths.add(flow, false, it.path.clone()));
        }
    }
}

impl Probe for Meters {
    fn watches(&self) -> bool {
        !self.connections.is_empty()
    }

    fn on_start(&mut self, network: &NetworkView<'_>) {
        // A node's first interface has the node's number.
        let address = |node: NodeId| network.interfaces.get(node.index()).map(|it| it.address);
        let meter = |&(from, source, to, sink, flow): &_| {
            Some(((address(from)?, source, address(to)?, sink), Meter::new(self.from, [from, to], flow)))
        };
        self.flows = self.connections.iter().filter_map(meter).collect();
    }

    fn on_packet(&mut self, now: Time, node: NodeId, packet: &Packet, event: PacketEvent) {
        match event {
            PacketEvent::Originated => self.on_originated(now, node, packet),
            PacketEvent::Delivered => self.on_delivered(now, node, packet),
            PacketEvent::Dropped(_) => self.on_drop(now, packet),
            PacketEvent::Lost(_) => self.on_lost(now, packet),
            _ => {}
        }
    }
}

impl Meter {
    /// A meter that counts from a time on.
    fn new(from: Time, nodes: [NodeId; 2], flow: FlowId) -> Self {
        let (beyond, departed, series) = Default::default();
        let (measured, first) = (Measured::new(from), None);
        Self { measured, first, sent: 0, is_opened: false, beyond, departed, nodes, flow, series }
    }

    /// Notes a datagram in a frame, if it leaves the source with it.
    fn departs(&mut self, now: Time, node: NodeId, segment: &Segment) -> bool {
        let is_source = node == self.nodes[0];
        if is_source {
            if self.departed.len() >= MOST_UNDER_WAY {
                // Those that kernels on the way have lost, mostly.
                self.departed.retain(|_, it| now.since(it.at) < FORGOTTEN);
            }
            self.departed.insert(segment.key(), Departed { at: now, ttl: segment.ttl, path: vec![node] });
        }
        is_source
    }

    /// Notes that a datagram in a frame has reached a node on its way.
    fn passes(&mut self, node: NodeId, segment: &Segment) {
        if let Some(it) = self.departed.get_mut(&segment.key()) {
            it.path.push(node);
        }
    }

    /// When a packet that has arrived was made, how many hops it took, and the nodes before this one, if it was in a
    /// frame.
    fn way_of(&mut self, packet: &Packet, segment: &Segment) -> (Time, u8, Option<Vec<NodeId>>) {
        match self.departed.remove(&segment.key()).filter(|_| is_frame(packet)) {
            Some(it) => (it.at, packet.hops + it.ttl.saturating_sub(segment.ttl), Some(it.path)),
            // It was in no frame, or it is a second copy.
            None => (packet.created, packet.hops, None),
        }
    }

    /// The number of a byte from the first one on, by its sequence number, which wraps; it is within 2^31 of `near`.
    fn place(&self, sequence: u32, near: u64) -> u64 {
        let first = self.first.unwrap_or(sequence);
        // Both are modulo 2^32, so the low bits of `near` are enough.
        let ahead = sequence.wrapping_sub(first).wrapping_sub(near as u32).cast_signed();
        near.saturating_add_signed(ahead.into())
    }

    /// Bytes have arrived. Returns how many of them are new, and how many are delivered by them.
    fn arrive(&mut self, sequence: u32, payload: u64) -> (u64, u64) {
        let before = self.measured.packets.total_delivered();
        let begin = self.place(sequence, before);
        let end = begin + payload;
        let mut known = before.min(end).saturating_sub(begin);
        // The ranges that this one touches become one range with it. None of them begins before what is delivered.
        let (mut from, mut to) = (begin, end);
        while let Some((&start, &stop)) = self.beyond.range(..=to).next_back().filter(|(_, stop)| **stop >= from) {
            self.beyond.remove(&start);
            known += stop.min(end).saturating_sub(start.max(begin));
            (from, to) = (from.min(start), to.max(stop));
        }
        let delivered = if from <= before { to.saturating_sub(before) } else { 0 };
        if from > before {
            self.beyond.insert(from, to);
        }
        (payload - known, delivered)
    }
}

/// The type of frames with IPv4.
const IPV4: u16 = 0x0800;
/// How many datagrams of a flow in frames may be on their way before old ones are forgotten, and how old these are.
const MOST_UNDER_WAY: usize = 1 << 14;
const FORGOTTEN: Span = Span::from_secs(60);
/// The type of frames of batman-adv, their kind of packets with one receiver, and the bytes of its header (the kernel's
/// include/uapi/linux/batadv_packet.h, `struct batadv_unicast_packet`).
const BATMAN: u16 = 0x4305;
const UNICAST: u8 = 0x40;
const UNICAST_HEADER: usize = 10;

const fn is_frame(packet: &Packet) -> bool {
    matches!(packet.body, Body::Frame(_) | Body::Mpdu(_))
}

/// The segment in a packet from outside, whose way may lead through tunnels; in a frame also within batman-adv, whose
/// time to live counts the hops.
fn segment_of(packet: &Packet) -> Option<Segment> {
    match packet.carried() {
        Body::External(bytes) => parse(bytes),
        Body::Frame(bytes) => carried(payload(bytes)?),
        Body::Mpdu(mpdu) => carried(mpdu.payload()?),
        _ => None,
    }
}

/// The type and the payload of a frame of Ethernet.
fn payload(frame: &[u8]) -> Option<(u16, &[u8])> {
    let (head, payload) = frame.split_first_chunk::<ETHERNET>()?;
    Some((u16::from_be_bytes([head[12], head[13]]), payload))
}

/// The segment in a frame with this type and payload.
fn carried((kind, payload): (u16, &[u8])) -> Option<Segment> {
    match kind {
        IPV4 => parse(payload),
        BATMAN if payload.first() == Some(&UNICAST) => {
            let (IPV4, datagram) = self::payload(payload.get(UNICAST_HEADER..)?)? else { return None };
            Some(Segment { ttl: *payload.get(2)?, ..parse(datagram)? })
        }
        _ => None,
    }
}

fn parse(datagram: &[u8]) -> Option<Segment> {
    // A fragment has no ports, or not the whole payload. TCP sends none of itself.
    let is_whole_tcp = |it: &Header| it.protocol == Protocol::TCP && !it.more_fragments && it.fragment_offset == 0;
    let (header, payload) = Header::parse(datagram).ok().filter(|(header, _)| is_whole_tcp(header))?;
    let short = |at: usize| Some(u16::from_be_bytes(payload.get(at..at + 2)?.try_into().ok()?));
    let (source, destination) = (short(0)?, short(2)?);
    let sequence = u32::from_be_bytes(payload.get(4..8)?.try_into().ok()?);
    let length = usize::from(payload.get(12)? >> 4) * 4;
    Some(Segment {
        ends: (header.source, source, header.destination, destination),
        identification: header.identification,
        ttl: header.ttl,
        sequence,
        is_syn: payload.get(13)? & 2 != 0,
        payload: payload.len().checked_sub(length)? as u64,
        // A datagram has at most 65,535 bytes.
        bytes: (header.len() + payload.len()) as u32,
    })
}

#[cfg(test)]
mod tests {
    use hopyard_model::address::InterfaceId;
    use hopyard_model::packet::Form;

    use super::*;

    const A: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
    const B: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 2);
    const ENDS: Ends = (A, 40_000, B, 5000);

    /// A segment of the flow that was sent at 1 ms: its sequence number, whether it is a SYN, and its payload.
    fn segment(sequence: u32, is_syn: bool, payload: usize) -> Packet {
        let mut tcp = [40_000u16.to_be_bytes(), 5000u16.to_be_bytes()].concat();
        tcp.extend(sequence.to_be_bytes());
        tcp.extend([0, 0, 0, 0, 5 << 4, if is_syn { 2 } else { 16 }, 0, 0, 0, 0, 0, 0]);
        tcp.resize(20 + payload, 7);
        let mut bytes = Vec::new();
        Header::new(Protocol::TCP, A, B, 64).emit(&tcp, &mut bytes).expect("short enough");
        Packet {
            created: at(1),
            source: InterfaceId(0).into(),
            destination: InterfaceId(1).into(),
            flow: FlowId::NONE,
            size: bytes.len() as u32,
            ttl: 60,
            hops: 3,
            salvaged: 0,
            class: 0,
            body: Body::External(bytes.into()),
        }
    }

    fn at(milliseconds: u64) -> Time {
        Time::ZERO + Span::from_millis(milliseconds)
    }

    fn meters(from: Time) -> Meters {
        let flows = BTreeMap::from([(ENDS, Meter::new(from, [NodeId(0), NodeId(1)], FlowId(3)))]);
        let paths = Some(PathCounts::default());
        Meters { from, interval: Span::from_millis(10), connections: Vec::new(), flows, paths }
    }

    fn known(meters: &Meters) -> Measured {
        meters.measured(ENDS).expect("a flow").clone()
    }

    #[test]
    fn what_is_lost_or_left_in_a_tunnel_counts() {
        let mut meters = meters(Time::ZERO);
        let inner = segment(1, false, 100);
        let outer = Packet { body: Body::Tunnelled(Form::IpInIp, Box::new(inner)), ..segment(1, false, 0) };
        assert_eq!(meters.among([&outer].into_iter()), BTreeMap::from([(ENDS, 1)]));
        meters.on_drop(at(1), &outer);
        meters.on_drop(at(2), &outer);
        meters.on_lost(at(2), &outer);
        let counts = known(&meters);
        assert_eq!(counts.dropped, FlowDrops { packets: 1, copies: 2 });
    }

    #[test]
    fn bytes_count_once_and_in_order_over_the_wrap_of_sequence_numbers() {
        let mut meters = meters(Time::ZERO);
        // The third byte of payload has the number zero.
        let first = u32::MAX - 2;
        meters.on_originated(at(0), NodeId(0), &segment(first, true, 0));
        for offset in [1, 101, 201, 101] {
            meters.on_originated(at(1), NodeId(0), &segment(first.wrapping_add(offset), false, 100));
        }
        let sent = known(&meters);
        assert_eq!((sent.packets.sent, sent.retransmissions), (5, 1), "the SYN counts");
        meters.on_delivered(at(10), NodeId(1), &segment(first.wrapping_add(1), false, 100));
        assert_eq!(known(&meters).packets.delivered, 100);
        // The second one is lost; the third one waits for the fourth, which is the second again.
        meters.on_lost(at(11), &segment(first.wrapping_add(101), false, 100));
        meters.on_delivered(at(13), NodeId(1), &segment(first.wrapping_add(201), false, 100));
        assert_eq!(known(&meters).packets.delivered, 100);
        meters.on_delivered(at(14), NodeId(1), &segment(first.wrapping_add(101), false, 100));
        meters.on_delivered(at(25), NodeId(1), &segment(first.wrapping_add(101), false, 100));
        let counts = known(&meters);
        assert_eq!((counts.packets.delivered, counts.unique_bytes, counts.dropped.packets), (300, 300, 1));
        assert_eq!((counts.packets.arrived, counts.packets.unique, counts.packets.hops), (4, 3, 12));
        let first = |it: &FlowMeter| [it.first_arrival, it.first_new, it.first_delivery];
        assert_eq!(first(&counts.packets), [10, 1, 10].map(|it| Some(at(it))));
        assert_eq!(counts.packets.mean_delay(), Some(Span::from_micros(14_500)), "9, 12, 13 and 24 ms");
        assert_eq!(counts.packets.network_bytes, 4 * 140);
        assert_eq!(meters.series(ENDS, at(30)), [(at(10), 100, 140), (at(20), 200, 280), (at(30), 0, 140)]);
    }

    /// The hops are those that the time to live has counted, and the delay is that of the whole way.
    #[test]
    fn a_datagram_in_frames_counts_at_its_ends() {
        let framed = |header: &[u8], ttl: u8| {
            let Body::External(datagram) = segment(1, false, 100).body else { panic!("a datagram") };
            let mut datagram = datagram.to_vec();
            hopyard_wire::ipv4::set_ttl(&mut datagram, ttl);
            let bytes = [&[0; 12], header, &*datagram].concat();
            Packet { body: Body::Frame(bytes.into()), hops: 1, ..segment(1, false, 0) }
        };
        let batman = |ttl: u8| {
            let inner = [&[0; 12][..], &[8, 0]].concat();
            [&BATMAN.to_be_bytes()[..], &[UNICAST, 15, ttl, 0, 2, 0, 0, 0, 0, 2], &inner].concat()
        };
        for frames in [[framed(&[8, 0], 64), framed(&[8, 0], 62)], [framed(&batman(50), 64), framed(&batman(48), 64)]] {
            let mut meters = meters(Time::ZERO);
            meters.on_originated(at(1), NodeId(0), &frames[0]);
            meters.on_delivered(at(2), NodeId(7), &frames[0]);
            meters.on_originated(at(3), NodeId(7), &frames[1]);
            meters.on_delivered(at(9), NodeId(1), &frames[1]);
            let counts = known(&meters);
            assert_eq!((counts.packets.sent, counts.packets.arrived, counts.packets.hops), (1, 1, 3));
            assert_eq!(counts.packets.mean_delay(), Some(Span::from_millis(8)));
            meters.on_originated(at(20), NodeId(0), &frames[0]);
            meters.on_delivered(at(21), NodeId(7), &frames[0]);
            meters.on_lost(at(22), &frames[1]);
            let paths = meters.paths().into_iter().map(|it| (it.flow, it.fate, it.path, it.packets));
            let expected = [("delivered", "0 7 1"), ("dropped", "0 7")];
            assert_eq!(paths.collect::<Vec<_>>(), expected.map(|(fate, path)| (3, fate, path.to_owned(), 1)));
        }
    }

    #[test]
    fn a_syn_is_a_data_packet_without_payload() {
        let mut meters = meters(Time::ZERO);
        let syn = segment(7, true, 0);
        meters.on_originated(at(0), NodeId(0), &syn);
        meters.on_lost(at(1), &syn);
        meters.on_originated(at(2), NodeId(0), &syn);
        assert_eq!(meters.among([&syn].into_iter()), BTreeMap::from([(ENDS, 1)]));
        meters.on_delivered(at(3), NodeId(1), &syn);
        meters.on_delivered(at(4), NodeId(1), &syn);
        let counts = known(&meters);
        assert_eq!((counts.packets.sent, counts.packets.arrived, counts.packets.unique), (2, 2, 1));
        assert_eq!((counts.dropped.packets, counts.retransmissions, counts.packets.delivered), (1, 0, 0));
        assert_eq!((counts.packets.first_arrival, counts.packets.first_new), (Some(at(3)), None));
        // Its answer is of the other direction.
        assert_eq!(meters.measured((B, 5000, A, 40_000)), None);
    }

    #[test]
    fn what_is_before_the_measuring_or_of_another_flow_does_not_count() {
        let mut meters = meters(at(5));
        let data = segment(1, false, 10);
        meters.on_originated(at(0), NodeId(0), &segment(0, true, 0));
        meters.on_originated(at(1), NodeId(0), &data);
        meters.on_delivered(at(2), NodeId(1), &data);
        meters.on_originated(at(5), NodeId(0), &data);
        meters.on_delivered(at(6), NodeId(1), &data);
        let counts = known(&meters);
        assert_eq!((counts.packets.sent, counts.retransmissions, counts.packets.delivered), (1, 1, 0));
        assert_eq!(meters.measured((B, 1, A, 2)), None);
        // The first bytes of a later fragment are no header of TCP.
        let (mut header, payload) = match &data.body {
            Body::External(bytes) => Header::parse(bytes).map(|(header, rest)| (header, rest.to_vec())).expect("whole"),
            other => panic!("{other:?}"),
        };
        header.fragment_offset = 3;
        let mut bytes = Vec::new();
        header.emit(&payload, &mut bytes).expect("short enough");
        meters.on_originated(at(7), NodeId(0), &Packet { body: Body::External(bytes.into()), ..data.clone() });
        assert_eq!(known(&meters), counts);
        let broken = Packet { body: Body::External(b"no datagram".as_slice().into()), ..data };
        meters.on_originated(at(7), NodeId(0), &broken);
        assert_eq!(known(&meters), counts);
    }

    #[test]
    fn ranges_that_overlap_are_joined() {
        let mut meter = Meter { first: Some(0), ..Meter::new(Time::ZERO, [NodeId(0), NodeId(1)], FlowId(0)) };
        let mut arrive = |sequence, payload| {
            let found = meter.arrive(sequence, payload);
            meter.measured.packets.on_delivered(found.1, Time::ZERO);
            (found, meter.beyond.clone())
        };
        assert_eq!(arrive(10, 10).0, (10, 0));
        assert_eq!(arrive(30, 10).0, (10, 0));
        assert_eq!(arrive(15, 20), ((10, 0), BTreeMap::from([(10, 40)])), "joins both");
        assert_eq!(arrive(12, 5).0, (0, 0));
        assert_eq!(arrive(0, 12).0, (10, 40));
        assert_eq!(arrive(0, 40).0, (0, 0));
    }
}
