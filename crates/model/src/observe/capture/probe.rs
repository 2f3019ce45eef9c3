//! The probe that writes a capture while a run goes on.
//!
//! Each place of a capture is an interface of the file: "node 3 radio", "node 3 wire to 5", "node 3 tunnel to 5", "node
//! 3 host" and "node 3 drops". A frame that a radio sends has the time at which it begins. A frame that a radio
//! receives has the time at which it ends. A packet has the time at which it enters or leaves the wire, or passes
//! between IP and transport. Records are in the order of their times, and memory does not grow with their number.
//!
//! Drops have an interface of their own, because Wireshark would take a dropped segment for a retransmission. Only the
//! IP header and eight bytes of a segment there are captured, as an ICMP error quotes them. The analysis of TCP then
//! leaves the segment out.

use std::collections::BTreeMap;
use std::fmt;
use std::fs::File;
use std::io::{self, BufWriter};
use std::net::Ipv4Addr;
use std::path::Path;

use hopyard_engine::Time;
use hopyard_engine::units::{Frequency, Power};
use hopyard_wire::cooked;
use hopyard_wire::ieee80211::EtherType;
use hopyard_wire::ipv4::Protocol;
use hopyard_wire::pcapng::{self, CaptureError, Direction, LinkType, Record, Writer};
use hopyard_wire::radiotap::Aggregate;

use super::comments::{of_drop, of_segment};
use super::frame::{Frame, FrameKind, radiotap};
use super::options::{Kind, Options};
use super::{Flow, Names, group_of, ip, packet, size_note, station_of};
use crate::address::{Address, InterfaceId, NodeId};
use crate::context::DropReason;
use crate::observe::network::{AttachmentView, NetworkView};
use crate::observe::probe::{FlowEvent, FrameEdge, FrameView, PacketEvent, Passage, Probe, Reception};
use crate::packet::{Body, FlowId, IP_HEADER, Packet, TcpHeader};
use crate::phy::frame::Header;

/// Comments about so many segments of a flow are kept until the segments leave their source.
const KEPT: usize = 4096;

/// How many bytes of a dropped segment are captured behind its IP header.
const QUOTED: usize = 8;

/// An interface of the simulated network.
#[derive(Clone, Copy, Debug)]
struct Place {
    node: NodeId,
    /// Where its frames or packets go in the file, if they are captured.
    file: Option<pcapng::InterfaceId>,
    air: Air,
}

/// The parts that all frames of a radio have in common.
#[derive(Clone, Copy, Debug, Default)]
struct Air {
    channel: u16,
    frequency: Option<Frequency>,
}

/// A flow, and the comments about its segments that may not have left their source.
#[derive(Debug)]
struct Sender {
    flow: Flow,
    /// The source, if something is captured there.
    source: Option<NodeId>,
    /// By the time at which the segment was sent, and its sequence number.
    states: BTreeMap<(Time, u64), String>,
}

/// A packet that goes to the file, or comes as part of a frame.
struct Captured {
    protocol: EtherType,
    bytes: Vec<u8>,
    comments: Vec<String>,
}

/// Writes a capture while a run goes on. After an error nothing more is written; [`Capture::finish`] returns the error.
pub struct Capture<W: io::Write = BufWriter<File>> {
    writer: Result<Writer<W>, CaptureError>,
    options: Options,
    places: Vec<Place>,
    /// By interface.
    addresses: Vec<Ipv4Addr>,
    /// By node.
    hosts: Vec<Option<pcapng::InterfaceId>>,
    drops: Vec<Option<pcapng::InterfaceId>>,
    flows: Vec<Sender>,
    records: u64,
}

impl Capture {
    /// A capture in a new file. A file of that name is replaced.
    ///
    /// # Errors
    /// If the file cannot be created or written.
    pub fn create(path: &Path, options: Options) -> Result<Self, CaptureError> {
        let writer = Writer::create(path, &options.comments)?;
        Ok(Self::with(writer, options))
    }
}

impl<W: io::Write> Capture<W> {
    /// A capture that goes to `sink`, whose errors contain `name`.
    ///
    /// # Errors
    /// If the sink refuses the bytes.
    pub fn new(sink: W, name: &str, options: Options) -> Result<Self, CaptureError> {
        let writer = Writer::begin(sink, name.to_owned(), &options.comments)?;
        Ok(Self::with(writer, options))
    }

    fn with(writer: Writer<W>, options: Options) -> Self {
        Self {
            writer: Ok(writer),
            options,
            places: Vec::new(),
            addresses: Vec::new(),
            hosts: Vec::new(),
            drops: Vec::new(),
            flows: Vec::new(),
            records: 0,
        }
    }

    /// How many frames and packets are written.
    #[must_use]
    pub const fn records(&self) -> u64 {
        self.records
    }

    /// Ends the capture: everything is passed to the operating system. Returns the sink.
    ///
    /// # Errors
    /// The first error of writing. The file then ends where it occurred.
    pub fn finish(self) -> Result<W, CaptureError> {
        self.writer?.finish()
    }

    /// Describes an interface in the file.
    fn describe(&mut self, name: &str, link_type: LinkType) -> Option<pcapng::InterfaceId> {
        let added = self.writer.as_mut().ok()?.add_interface(name, link_type);
        added.map_err(|error| self.writer = Err(error)).ok()
    }

    /// Describes the interfaces of a node.
    fn describe_node(&mut self, node: NodeId, network: &NetworkView<'_>, own: &[usize]) {
        let mut names: BTreeMap<String, u32> = BTreeMap::new();
        for &interface in own {
            let (kinds, link_type, what): (&[Kind], _, _) = match network.interfaces[interface].attachment {
                AttachmentView::Radio { channel, .. } => {
                    let what = if channel == 0 { "radio".to_owned() } else { format!("radio on channel {channel}") };
                    (&[Kind::Radio, Kind::Damaged], LinkType::IEEE802_11_RADIOTAP, what)
                }
                AttachmentView::Wire { peer } => (&[Kind::Wire], LinkType::RAW, format!("wire to {peer}")),
                AttachmentView::Tunnel { peer } => (&[Kind::Wire], LinkType::RAW, format!("tunnel to {peer}")),
                AttachmentView::Nothing => continue,
            };
            if !kinds.iter().any(|&kind| self.options.has(kind)) {
                continue;
            }
            let mut name = format!("node {node} {what}");
            let count = names.entry(what).or_default();
            *count += 1;
            if *count > 1 {
                name += &format!(" ({count})");
            }
            self.places[interface].file = self.describe(&name, link_type);
        }
        if self.options.has(Kind::Host) {
            self.hosts[node.index()] = self.describe(&format!("node {node} host"), LinkType::RAW);
        }
        if self.options.has(Kind::Drops) {
            self.drops[node.index()] = self.describe(&format!("node {node} drops"), LinkType::LINUX_SLL);
        }
    }

    fn write(
        &mut self,
        interface: pcapng::InterfaceId,
        time: Time,
        bytes: &[u8],
        length: usize,
        direction: Direction,
        comments: &[String],
    ) {
        let Ok(writer) = &mut self.writer else { return };
        let record = Record { interface, time: time.nanos(), bytes, length, direction: Some(direction), comments };
        match writer.record(&record) {
            Ok(()) => self.records += 1,
            Err(error) => self.writer = Err(error),
        }
    }

    /// The bytes of a packet. For one that its format cannot express, an IP packet without payload stands, with the
    /// reason as a comment.
    fn packet(&self, it: &Packet) -> Captured {
        let address = |address: Address| self.addresses.get(address.index()).copied().unwrap_or(Ipv4Addr::UNSPECIFIED);
        let flow = |flow: FlowId| self.flows.get(flow.index()).map_or_else(|| Flow::udp(flow), |sender| sender.flow);
        let names = Names { address: &address, station: &station_of, flow: &flow };
        let mut bytes = Vec::new();
        match packet(it, &names, &mut bytes) {
            Ok(protocol) => {
                let comments = size_note(it.size, bytes.len()).into_iter().collect();
                Captured { protocol, bytes, comments }
            }
            Err(error) => {
                bytes.clear();
                let (source, destination) = (names.ip(it.source), names.ip(it.destination));
                let mut comments = vec![format!("not captured: {error}")];
                if let Err(error) = ip(Protocol::EXPERIMENT, source, destination, it.ttl).emit(&[], &mut bytes) {
                    comments.push(error.to_string());
                }
                Captured { protocol: EtherType::IPV4, bytes, comments }
            }
        }
    }

    /// A packet as it leaves a node: at its source, a segment has the state of its sender.
    fn leaving(&self, node: NodeId, it: &Packet) -> Captured {
        let mut captured = self.packet(it);
        if let Some((header, _)) = segment(it)
            && let Some(sender) = self.flows.get(it.flow.index()).filter(|sender| sender.source == Some(node))
            && let Some(state) = sender.states.get(&(it.created, header.seq))
        {
            captured.comments.insert(0, state.clone());
        }
        captured
    }

    /// Writes a packet that has no header in front of IP's.
    fn write_raw(&mut self, file: pcapng::InterfaceId, time: Time, direction: Direction, captured: &Captured) {
        if captured.protocol == EtherType::IPV4 {
            self.write(file, time, &captured.bytes, captured.bytes.len(), direction, &captured.comments);
        }
    }

    /// Writes a frame at a radio.
    fn write_frame(&mut self, place: Place, time: Time, frame: &FrameView<'_>, signal: Option<Power>, damaged: bool) {
        let (Some(file), air) = (place.file, place.air) else { return };
        let direction = if signal.is_none() { Direction::Outbound } else { Direction::Inbound };
        let aggregate = match frame.header {
            // All MPDUs of a frame come at the same time.
            Header::QosData { aggregate: Some(is_last), .. } => {
                Some(Aggregate { reference: time.nanos() as u32, is_last })
            }
            _ => None,
        };
        if let Some(Body::Mpdu(mpdu)) = frame.packet.map(|it| &it.body) {
            let mut bytes = Vec::new();
            radiotap(frame.mode, frame.preamble, air.frequency, signal, damaged, aggregate).emit(&mut bytes);
            Frame::of_station(&mpdu.bytes, damaged, &mut bytes);
            return self.write(file, time, &bytes, bytes.len(), direction, &[]);
        }
        let captured = match (frame.packet, signal) {
            (Some(it), None) => Some(self.leaving(place.node, it)),
            (Some(it), Some(_)) => Some(self.packet(it)),
            (None, _) => None,
        };
        let bssid = Frame::network(u32::from(air.channel));
        let kind = match (frame.header, &captured) {
            (Header::Rts, _) => FrameKind::Rts,
            (Header::Cts, _) => FrameKind::Cts,
            (Header::Ack, _) => FrameKind::Ack,
            (Header::BlockAck { tid, start, received }, _) => {
                FrameKind::BlockAck { tid, start, received: Some(received) }
            }
            (Header::BlockAckRequest { tid, start }, _) => FrameKind::BlockAck { tid, start, received: None },
            (Header::Addba { tid, start, sequence }, _) => FrameKind::Addba { tid, start, sequence, bssid },
            (Header::Data { sequence, retry } | Header::QosData { sequence, retry, .. }, Some(captured)) => {
                let tid = if let Header::QosData { tid, .. } = frame.header { Some(tid) } else { None };
                FrameKind::Data { protocol: captured.protocol, packet: &captured.bytes, sequence, retry, bssid, tid }
            }
            // A data frame has a packet.
            (Header::Data { .. } | Header::QosData { .. }, None) => return,
        };
        let transmitter = station_of(frame.transmitter);
        let group =
            captured.as_ref().filter(|_| frame.receiver.is_broadcast()).and_then(|it| group_of(it.protocol, &it.bytes));
        let receiver = group.unwrap_or_else(|| station_of(frame.receiver));
        let whole = Frame { kind, duration: frame.duration, transmitter, receiver, damaged };
        let mut bytes = Vec::new();
        radiotap(frame.mode, frame.preamble, air.frequency, signal, damaged, aggregate).emit(&mut bytes);
        let mut comments = captured.as_ref().map(|captured| captured.comments.clone()).unwrap_or_default();
        if let Err(error) = whole.emit(&mut bytes) {
            comments.push(format!("not captured: {error}"));
        }
        self.write(file, time, &bytes, bytes.len(), direction, &comments);
    }

    fn write_at_wire(&mut self, interface: InterfaceId, time: Time, it: &Packet, direction: Direction) {
        let Some(&Place { node, file: Some(file), .. }) = self.places.get(interface.index()) else { return };
        let captured = match direction {
            Direction::Outbound => self.leaving(node, it),
            Direction::Inbound => self.packet(it),
        };
        self.write_raw(file, time, direction, &captured);
    }

    fn on_sent(&mut self, now: Time, interface: InterfaceId, frame: &FrameView<'_>) {
        if self.options.has(Kind::Radio) {
            self.write_frame(self.places[interface.index()], now, frame, None, false);
        }
    }

    fn on_received(
        &mut self,
        now: Time,
        interface: InterfaceId,
        frame: &FrameView<'_>,
        reception: Reception,
        power: f64,
    ) {
        let damaged = reception == Reception::Damaged;
        if self.options.has(if damaged { Kind::Damaged } else { Kind::Radio }) {
            let signal = Some(Power::from_watts(power));
            self.write_frame(self.places[interface.index()], now, frame, signal, damaged);
        }
    }

    fn on_originated(&mut self, now: Time, node: NodeId, packet: &Packet) {
        if let Some(host) = self.hosts[node.index()] {
            let captured = self.leaving(node, packet);
            self.write_raw(host, now, Direction::Outbound, &captured);
        }
    }

    fn on_delivered(&mut self, now: Time, node: NodeId, packet: &Packet) {
        if let Some(host) = self.hosts[node.index()] {
            let captured = self.packet(packet);
            self.write_raw(host, now, Direction::Inbound, &captured);
        }
    }

    fn on_drop(&mut self, now: Time, node: NodeId, packet: &Packet, reason: DropReason) {
        let Some(drops) = self.drops[node.index()] else { return };
        let mut captured = self.packet(packet);
        captured.comments.insert(0, of_drop(node, packet, reason));
        let length = cooked::Header::BYTES + captured.bytes.len();
        if let Some((_, headers)) = segment(packet) {
            captured.bytes.truncate(headers + QUOTED);
        }
        let mut bytes = Vec::new();
        cooked::Header { sender: station_of(node.into()), protocol: captured.protocol }.emit(&mut bytes);
        bytes.extend(captured.bytes);
        self.write(drops, now, &bytes, length, Direction::Outbound, &captured.comments);
    }
}

impl<W: io::Write + 'static> Probe for Capture<W> {
    fn on_start(&mut self, network: &NetworkView<'_>) {
        self.addresses = network.interfaces.iter().map(|it| it.address).collect();
        self.places =
            network.interfaces.iter().map(|it| Place { node: it.node, file: None, air: air(&it.attachment) }).collect();
        self.hosts = vec![None; network.nodes];
        self.drops = vec![None; network.nodes];
        let mut own = vec![Vec::new(); network.nodes];
        for (number, interface) in network.interfaces.iter().enumerate() {
            own[interface.node.index()].push(number);
        }
        for (node, own) in (0..).map(NodeId).zip(&own) {
            if self.options.has_node(node) {
                self.describe_node(node, network, own);
            }
        }
        let sender = |(number, flow): (u32, &crate::observe::FlowView<'_>)| Sender {
            flow: Flow {
                answers: flow.connection != FlowId(number),
                ..match flow.tcp {
                    Some(params) => Flow::tcp(flow.connection, params, flow.sack),
                    None => Flow::udp(flow.connection),
                }
            },
            source: self.options.has_node(flow.from).then_some(flow.from),
            states: BTreeMap::new(),
        };
        self.flows = (0..).zip(network.flows).map(sender).collect();
    }

    fn on_frame(&mut self, now: Time, interface: InterfaceId, frame: &FrameView<'_>, edge: FrameEdge) {
        match edge {
            FrameEdge::Sent => self.on_sent(now, interface, frame),
            FrameEdge::Received { reception, power } => self.on_received(now, interface, frame, reception, power),
        }
    }

    fn on_passage(&mut self, now: Time, packet: &Packet, passage: Passage) {
        let (interface, direction) = match passage {
            Passage::WireEntered(interface) | Passage::TunnelEntered(interface) => (interface, Direction::Outbound),
            Passage::WireLeft(interface) | Passage::TunnelLeft(interface) => (interface, Direction::Inbound),
            Passage::AgentTunnelEntered { .. } | Passage::AgentTunnelLeft(_) => return,
        };
        self.write_at_wire(interface, now, packet, direction);
    }

    fn on_flow(&mut self, now: Time, flow: FlowId, event: &FlowEvent<'_>) {
        if let FlowEvent::Sent { header, state: Some(state) } = event
            && let Some(sender) = self.flows.get_mut(flow.index())
            && sender.source.is_some()
        {
            sender.states.insert((now, header.seq), of_segment(header, state));
            if sender.states.len() > KEPT {
                sender.states.pop_first();
            }
        }
    }

    fn on_packet(&mut self, now: Time, node: NodeId, packet: &Packet, event: PacketEvent) {
        match event {
            PacketEvent::Originated => self.on_originated(now, node, packet),
            PacketEvent::Delivered | PacketEvent::Local => self.on_delivered(now, node, packet),
            PacketEvent::Dropped(reason) => self.on_drop(now, node, packet, reason),
            _ => {}
        }
    }
}

/// The TCP header of a packet, also of one in a tunnel or behind options, and the bytes of the headers in front of it.
fn segment(packet: &Packet) -> Option<(&TcpHeader, usize)> {
    behind(&packet.body, packet.source).map(|(header, bytes)| (header, bytes + IP_HEADER as usize))
}

/// The same for the payload of a packet from `source`, without its header.
fn behind(body: &Body, source: Address) -> Option<(&TcpHeader, usize)> {
    match body {
        Body::Tcp(header) => Some((header, 0)),
        Body::Tunnelled(form, inner) => {
            let bytes = form.bytes(inner.source == source) as usize;
            behind(&inner.body, inner.source).map(|(header, behind)| (header, behind + bytes))
        }
        Body::Extended(it) => {
            behind(it.body(), source).map(|(header, bytes)| (header, bytes + it.header_bytes() as usize))
        }
        _ => None,
    }
}

fn air(attachment: &AttachmentView) -> Air {
    match *attachment {
        AttachmentView::Radio { channel, frequency } => Air { channel, frequency },
        _ => Air::default(),
    }
}

impl<W: io::Write> fmt::Debug for Capture<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Capture")
            .field("options", &self.options)
            .field("records", &self.records)
            .finish_non_exhaustive()
    }
}
