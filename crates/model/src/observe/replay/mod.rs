//! The probe that records a run so that it can be looked at: movement, frames, drops, paths, senders and queues.
//!
//! The recording is a file of its own, whose form `docs/development/replay-format.md` describes. It holds whole
//! numbers only, in columns. Times are in microseconds.

mod columns;
mod header;
mod movement;

use std::collections::BTreeMap;
use std::io::{self, Write as _};

use flate2::Compression;
use flate2::write::ZlibEncoder;
use hopyard_engine::{Span, Time};

pub use self::columns::micros;
use self::columns::{Slices, Thinned, Written};
use self::header::{Flow, Header, Interface, Shape, Table};
pub use self::header::{Jammer, Obstacle, Origin};
use super::network::{AttachmentView, NetworkView};
use super::probe::{FlowEvent, FrameEdge, FrameView, PacketEvent, Passage, Probe, Reception};
use super::trails::Trails;
use crate::address::{InterfaceId, NodeId};
use crate::context::DropReason;
use crate::mobility::Leg;
use crate::packet::{FlowId, Packet, PacketKind};
use crate::phy::frame::Header as FrameHeader;
use crate::transport::tcp::SenderState;

/// The first bytes of a recording.
pub const MAGIC: &[u8; 8] = b"HOPYRPL1";

/// The most rows of a table that is thinned, unless another number is given.
pub const MOST_ROWS: usize = 400_000;

/// Of a sender's states, at most one is kept in each of so many equal parts of the run.
const STATES: u64 = 20_000;

/// What a flow delivers is summed over so many equal parts of the run.
const SUMS: u64 = 1_000;

/// Where a number may be missing, this stands for none (no flow, or every interface in reach), and n + 1 for number n.
const NONE: u64 = 0;

/// The scene of a run, which the scenario and the seed determine.
#[derive(Clone, Debug)]
pub struct Scene {
    /// How long the run lasts.
    pub duration: Span,
    /// The number of nodes.
    pub nodes: usize,
    /// The legs of the nodes with a radio, node by node, in order.
    pub legs: Vec<(NodeId, Leg)>,
    /// The obstacles.
    pub obstacles: Vec<Obstacle>,
    /// The jammers.
    pub jammers: Vec<Jammer>,
}

/// Words, each with its number in the order in which it was first seen.
#[derive(Debug)]
struct Words<T>(BTreeMap<T, u64>);

impl<T: Ord + Clone> Words<T> {
    fn number(&mut self, word: T) -> u64 {
        let next = self.0.len() as u64;
        *self.0.entry(word).or_insert(next)
    }

    fn in_order(self) -> Vec<T> {
        let mut words: Vec<_> = self.0.into_iter().collect();
        words.sort_unstable_by_key(|&(_, number)| number);
        words.into_iter().map(|(word, _)| word).collect()
    }
}

impl<T> Default for Words<T> {
    fn default() -> Self {
        Self(BTreeMap::new())
    }
}

/// A frame whose receptions are still counted.
#[derive(Clone, Copy, Debug)]
struct OnAir {
    begin: Time,
    shape: u64,
    receiver: InterfaceId,
    flow: u64,
    parts: u64,
    decoded: u64,
    damaged: u64,
}

/// The sampled lengths of the queues of a run. Whoever advances the run samples them: no probe is told of them.
#[derive(Clone, Debug)]
pub struct Lengths {
    interfaces: u32,
    interval: Span,
    due: Time,
    rows: Vec<[u64; 3]>,
    /// By interface, the length that was sampled last.
    last: Vec<usize>,
}

impl Lengths {
    /// No samples yet; so many interfaces are looked at each time.
    #[must_use]
    pub fn new(interfaces: u32, interval: Span) -> Self {
        let last = vec![0; interfaces as usize];
        Self { interfaces, interval, due: Time::ZERO + interval, rows: Vec::new(), last }
    }

    /// When the next sample is due.
    #[must_use]
    pub const fn due(&self) -> Time {
        self.due
    }

    /// Samples how many packets wait at each interface that has a queue, at the time at which that is due.
    pub fn note(&mut self, waiting: impl Fn(InterfaceId) -> Option<usize>) {
        for (interface, last) in (0..self.interfaces).zip(&mut self.last) {
            let length = waiting(InterfaceId(interface)).unwrap_or(0);
            if length != *last {
                *last = length;
                self.rows.push([u64::from(interface), micros(self.due), length as u64]);
            }
        }
        self.due += self.interval;
    }
}

/// The recording of a run.
#[derive(Debug)]
pub struct Replay {
    duration: Span,
    slices: Slices,
    legs: Written,
    obstacles: Vec<Obstacle>,
    jammers: Vec<Jammer>,
    nodes: usize,
    interfaces: Vec<Interface>,
    flows: Vec<Flow>,
    shapes: Words<Shape>,
    reasons: Words<&'static str>,
    contents: Words<&'static str>,
    paths: Words<Vec<u32>>,
    /// By interface, the frame that it sent last.
    on_air: Vec<Option<OnAir>>,
    frames: Thinned<8>,
    drops: Thinned<5>,
    wires: Thinned<3>,
    trails: Trails,
    /// By flow, the path of the data packet that arrived last.
    last_paths: Vec<Option<u64>>,
    taken: Thinned<3>,
    /// By flow.
    states: Vec<Vec<[u64; 7]>>,
    /// By flow and part of the run, the bytes that arrived.
    arrived: Vec<BTreeMap<u64, u64>>,
}

impl Replay {
    /// A recording of a run in this scene, in which tables that grow with traffic have at most `most` rows.
    #[must_use]
    pub fn new(scene: Scene, most: usize) -> Self {
        let slices = Slices::of(scene.duration);
        Self {
            duration: scene.duration,
            slices,
            legs: movement::table(&scene.legs, scene.duration),
            obstacles: scene.obstacles,
            jammers: scene.jammers,
            nodes: scene.nodes,
            interfaces: Vec::new(),
            flows: Vec::new(),
            shapes: Words::default(),
            reasons: Words::default(),
            contents: Words::default(),
            paths: Words::default(),
            on_air: Vec::new(),
            frames: Thinned::new(0, slices, most),
            drops: Thinned::new(0, slices, most),
            wires: Thinned::new(0, slices, most),
            trails: Trails::default(),
            last_paths: Vec::new(),
            taken: Thinned::new(0, slices, most),
            states: Vec::new(),
            arrived: Vec::new(),
        }
    }

    /// The recording as bytes. `ranges` has for each channel the distance in metres up to which a broadcast can be
    /// decoded, if distance alone decides.
    ///
    /// # Errors
    /// Never: nothing is written but memory.
    pub fn finish(mut self, origin: &Origin, ranges: &[Option<f64>], lengths: Lengths) -> io::Result<Vec<u8>> {
        for (interface, frame) in (0..).zip(std::mem::take(&mut self.on_air)) {
            frame.into_iter().for_each(|frame| self.put(InterfaceId(interface), frame));
        }
        let states: Vec<_> = self.states.into_iter().flatten().collect();
        let of_flow = |(flow, sums): (u64, BTreeMap<u64, u64>)| sums.into_iter().map(move |(at, sum)| [flow, at, sum]);
        let sums: Vec<_> = (0..).zip(self.arrived).flat_map(of_flow).collect();
        let mut lengths = lengths.rows;
        lengths.sort_unstable();
        let tables = [
            self.legs,
            self.frames
                .finish("frames", ["begin", "shape", "sender", "receiver", "flow", "parts", "decoded", "damaged"]),
            self.drops.finish("drops", ["time", "node", "reason", "flow", "content"]),
            self.wires.finish("wires", ["time", "interface", "flow"]),
            self.taken.finish("paths", ["time", "flow", "path"]),
            whole("senders", ["flow", "time", "cwnd", "ssthresh", "flight", "srtt", "state"], &states),
            whole("arrived", ["flow", "part", "bytes"], &sums),
            whole("queues", ["interface", "time", "packets"], &lengths),
        ];
        let describe = |it: &Written| Table {
            name: it.name,
            rows: it.rows,
            seen: it.seen,
            level: it.level,
            columns: it.columns.clone(),
        };
        let header = Header {
            origin,
            duration: micros(Time::ZERO + self.duration),
            slice: self.slices.micros,
            nodes: self.nodes,
            interfaces: &self.interfaces,
            flows: &self.flows,
            ranges,
            obstacles: &self.obstacles,
            jammers: &self.jammers,
            shapes: self.shapes.in_order(),
            reasons: self.reasons.in_order(),
            contents: self.contents.in_order(),
            paths: self.paths.in_order(),
            tables: tables.iter().map(describe).collect(),
        };
        let header = serde_json::to_vec(&header)?;
        let mut out = MAGIC.to_vec();
        let mut packed = ZlibEncoder::new(&mut out, Compression::best());
        packed.write_all(&(header.len() as u32).to_le_bytes())?;
        packed.write_all(&header)?;
        for table in &tables {
            packed.write_all(&table.bytes)?;
        }
        packed.finish()?;
        Ok(out)
    }

    /// Puts a frame into the table, when all of its receptions are known.
    fn put(&mut self, sender: InterfaceId, frame: OnAir) {
        let OnAir { begin, shape, receiver, flow, parts, decoded, damaged } = frame;
        let receiver = if receiver.is_broadcast() { NONE } else { u64::from(receiver.0) + 1 };
        self.frames.push([micros(begin), shape, u64::from(sender.0), receiver, flow, parts, decoded, damaged]);
    }

    fn on_sent(&mut self, now: Time, sender: InterfaceId, frame: &FrameView<'_>) {
        if let Some(on_air) = &mut self.on_air[sender.index()]
            && on_air.begin == now
        {
            // Another packet of the same frame.
            on_air.parts += 1;
            return;
        }
        let (kind, retry) = match frame.header {
            FrameHeader::Rts => ("rts", false),
            FrameHeader::Cts => ("cts", false),
            FrameHeader::Ack => ("ack", false),
            FrameHeader::Data { retry, .. } | FrameHeader::QosData { retry, .. } => ("data", retry),
            FrameHeader::BlockAck { .. } => ("block ack", false),
            FrameHeader::BlockAckRequest { .. } => ("block ack request", false),
            FrameHeader::Addba { .. } => ("addba", false),
        };
        let content = frame.packet.map_or("", content);
        let mode = frame.mode.name().to_string();
        let shape = self.shapes.number(Shape { kind, content, retry, airtime: frame.airtime.nanos(), mode });
        let flow = frame.packet.map_or(NONE, flow);
        let receiver = frame.receiver;
        let next = OnAir { begin: now, shape, receiver, flow, parts: 1, decoded: 0, damaged: 0 };
        if let Some(before) = self.on_air[sender.index()].replace(next) {
            self.put(sender, before);
        }
    }

    fn on_received(&mut self, interface: InterfaceId, frame: &FrameView<'_>, reception: Reception) {
        if !frame.receiver.is_broadcast() && frame.receiver != interface {
            return;
        }
        if let Some(on_air) = &mut self.on_air[frame.transmitter.index()] {
            match reception {
                Reception::Decoded => on_air.decoded += 1,
                Reception::Damaged => on_air.damaged += 1,
            }
        }
    }

    fn on_delivered(&mut self, now: Time, node: NodeId, packet: &Packet) {
        let part = self.part(now, SUMS);
        if packet.kind() == PacketKind::Data
            && let Some(sums) = self.arrived.get_mut(packet.flow.index())
        {
            *sums.entry(part).or_default() += u64::from(packet.size);
        }
        let Some((flow, path)) = self.trails.on_end(node, packet) else { return };
        let path = self.paths.number(path.into_iter().map(|node| node.0).collect());
        if let Some(last) = self.last_paths.get_mut(flow.index())
            && *last != Some(path)
        {
            *last = Some(path);
            self.taken.push([micros(now), u64::from(flow.0), path]);
        }
    }

    fn on_drop(&mut self, now: Time, node: NodeId, packet: &Packet, reason: DropReason) {
        let (reason, content) = (self.reasons.number(reason.name()), self.contents.number(content(packet)));
        self.drops.push([micros(now), u64::from(node.0), reason, flow(packet), content]);
    }

    fn on_state(&mut self, now: Time, flow: FlowId, state: &SenderState) {
        let part = self.part(now, STATES);
        let duration = self.duration;
        let Some(states) = self.states.get_mut(flow.index()) else { return };
        let row = [
            u64::from(flow.0),
            micros(now),
            (state.cwnd * 1000.0).round() as u64,
            (state.ssthresh.min(1e9) * 1000.0).round() as u64,
            state.flight,
            state.srtt.map_or(0, |srtt| srtt.nanos() / 1000),
            if state.frozen {
                3
            } else if state.timeouts > 0 {
                2
            } else {
                u64::from(state.recovering)
            },
        ];
        match states.last_mut() {
            // The last state of each part is kept.
            Some(last) if part_of(last[1], duration, STATES) == part => *last = row,
            _ => states.push(row),
        }
    }

    fn part(&self, now: Time, parts: u64) -> u64 {
        part_of(micros(now), self.duration, parts)
    }
}

/// The number of the part of a run, cut into equal parts, in which a time is.
fn part_of(micros: u64, duration: Span, parts: u64) -> u64 {
    micros / (duration.nanos() / 1000).div_ceil(parts).max(1)
}

/// A table that is never thinned.
fn whole<const N: usize>(name: &'static str, columns: [&'static str; N], rows: &[[u64; N]]) -> Written {
    Written::new(name, &columns, rows, 0, rows.len() as u64)
}

/// The kind of a packet: of a message its type, of others the kind that counters distinguish.
fn content(packet: &Packet) -> &'static str {
    packet.message_kind().unwrap_or_else(|| packet.kind().name())
}

/// A packet's flow, as tables have it.
fn flow(packet: &Packet) -> u64 {
    if packet.flow == FlowId::NONE { NONE } else { u64::from(packet.flow.0) + 1 }
}

impl Probe for Replay {
    fn on_start(&mut self, network: &NetworkView<'_>) {
        let interface = |it: &super::InterfaceView| {
            let (channel, wire) = match it.attachment {
                AttachmentView::Radio { channel, .. } => (Some(channel), None),
                AttachmentView::Wire { peer } => (None, Some(peer.0)),
                AttachmentView::Tunnel { .. } | AttachmentView::Nothing => (None, None),
            };
            Interface { node: it.node.0, channel, wire }
        };
        self.interfaces = network.interfaces.iter().map(interface).collect();
        let flow = |it: &super::FlowView<'_>| Flow {
            from: it.from.0,
            to: it.to.0,
            label: it.label.to_owned(),
            tcp: it.tcp.is_some(),
        };
        self.flows = network.flows.iter().map(flow).collect();
        self.on_air = vec![None; self.interfaces.len()];
        self.last_paths = vec![None; self.flows.len()];
        self.states = vec![Vec::new(); self.flows.len()];
        self.arrived = vec![BTreeMap::new(); self.flows.len()];
    }

    fn on_frame(&mut self, now: Time, interface: InterfaceId, frame: &FrameView<'_>, edge: FrameEdge) {
        match edge {
            FrameEdge::Sent => self.on_sent(now, interface, frame),
            FrameEdge::Received { reception, .. } => self.on_received(interface, frame, reception),
        }
    }

    fn on_passage(&mut self, now: Time, packet: &Packet, passage: Passage) {
        if let Passage::WireEntered(interface) = passage {
            self.wires.push([micros(now), u64::from(interface.0), flow(packet)]);
        }
    }

    fn on_packet(&mut self, now: Time, node: NodeId, packet: &Packet, event: PacketEvent) {
        match event {
            PacketEvent::Originated => self.trails.on_originated(node, packet),
            PacketEvent::Hop { from } => self.trails.on_hop(from, node, packet),
            PacketEvent::Delivered => self.on_delivered(now, node, packet),
            PacketEvent::Dropped(reason) => self.on_drop(now, node, packet, reason),
            PacketEvent::Lost(_) => {
                self.trails.on_end(node, packet);
            }
            PacketEvent::Local | PacketEvent::Returned { .. } => {}
        }
    }

    fn on_flow(&mut self, now: Time, flow: FlowId, event: &FlowEvent<'_>) {
        if let FlowEvent::Sent { state: Some(state), .. } = event {
            self.on_state(now, flow, state);
        }
    }
}
