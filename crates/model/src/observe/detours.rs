//! The cost of the way through the tunnels of Mobile IP, against the direct way.
//!
//! The direct way of a packet has two parts. Over wires it has the shortest delay between the other end of the packet's
//! flow and the agent of the host, as in the tables of wires. Over the radio it is the way of the packet itself. Wires
//! take the time of their delay and of the packet's bytes without the outer header, and no queue. The radio takes the
//! packet's own time.

use std::collections::{BTreeMap, BTreeSet};

use hopyard_engine::{Span, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::network::{NetworkView, WiredWay};
use super::probe::{PacketEvent, Passage, Probe};
use super::row::{Report, Row};
use crate::address::{Address, NodeId};
use crate::packet::{Body, FlowId, Packet};

/// A row for each flow between a host that moves between networks and one that does not, each agent and each direction,
/// from the start of the run. The flow had packets that came through a tunnel of Mobile IP and arrived. Beside the way
/// of these packets, the row has the direct way. It leads over the wires of the shortest delay between the agent and
/// the other end of the flow, and over the radio as the packets went themselves.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DetourRow {
    /// The flow's number.
    pub flow: u32,
    /// The number of the host's node.
    pub host: u32,
    /// The number of the node of the agent at which the host was.
    pub agent: u32,
    /// `to_host`, or `from_host` through a reverse tunnel.
    #[schemars(extend("closed" = true))]
    pub direction: &'static str,
    /// How many packets, data and acknowledgements.
    #[schemars(extend("unit" = "packets"))]
    pub packets: u64,
    /// Mean number of their hops, those within the tunnel included.
    #[schemars(extend("unit" = "hops"))]
    pub hops: f64,
    /// Mean number of the hops of the direct way.
    #[schemars(extend("unit" = "hops"))]
    pub direct_hops: f64,
    /// Mean time from source to destination.
    #[schemars(extend("unit" = "ms"))]
    pub delay_ms: f64,
    /// Mean time by the direct way. It has, of each wire, the delay and the time to send the packet without an outer
    /// header, but no queue, and the time that the packet itself took between the host and the agent.
    #[schemars(extend("unit" = "ms"))]
    pub direct_delay_ms: f64,
}

impl Row for DetourRow {}

/// The key of a packet: its flow, its time of creation and its sequence number; and the agent of the host.
type Key = (FlowId, Time, u64, NodeId);

/// A packet on its way through a tunnel, or beyond it.
#[derive(Clone, Copy, Debug)]
struct Under {
    /// The time at which it entered the tunnel, for a packet from a host, or left the tunnel.
    at: Time,
    /// How long it had been on its way then.
    radio: Span,
    /// How many hops it had then.
    hops: u8,
}

/// A sum over packets.
#[derive(Clone, Copy, Debug, Default)]
struct Sum {
    packets: u64,
    hops: u64,
    direct_hops: u64,
    /// In seconds.
    delay: f64,
    direct_delay: f64,
}

/// The detours of all flows so far.
#[derive(Clone, Debug, Default)]
pub(super) struct Detours {
    /// The nodes of the interfaces.
    nodes: Vec<NodeId>,
    hosts: BTreeSet<NodeId>,
    ways: BTreeMap<(NodeId, NodeId), WiredWay>,
    under_way: BTreeMap<Key, Under>,
    /// By flow, host, agent, and whether the packets are the host's.
    sums: BTreeMap<(FlowId, NodeId, NodeId, bool), Sum>,
}

impl Detours {
    fn node(&self, address: Address) -> Option<NodeId> {
        self.nodes.get(address.0 as usize).copied()
    }

    /// The host whose packet it is, and whether the packet comes from it. Nothing if both ends are such hosts, whose
    /// direct way leads over two radios.
    fn host(&self, packet: &Packet) -> Option<(NodeId, bool)> {
        let is_host = |node: &NodeId| self.hosts.contains(node);
        let from = self.node(packet.source).filter(is_host);
        let to = self.node(packet.destination).filter(is_host);
        match (from, to) {
            (Some(host), None) => Some((host, true)),
            (None, Some(host)) => Some((host, false)),
            _ => None,
        }
    }

    fn key(packet: &Packet, agent: NodeId) -> Option<Key> {
        let number = match packet.carried() {
            Body::Tcp(header) => header.seq,
            Body::Udp(header) => header.sequence,
            _ => return None,
        };
        (packet.flow != FlowId::NONE).then_some((packet.flow, packet.created, number, agent))
    }

    /// Takes out what is known of a packet: of the copy that passed by an agent, or of another one.
    fn take(&mut self, packet: &Packet, agent: NodeId) -> Option<(Key, Under)> {
        let exact = Self::key(packet, agent)?;
        let key = if self.under_way.contains_key(&exact) {
            exact
        } else {
            let (flow, created, number, _) = exact;
            let all = (flow, created, number, NodeId(0))..=(flow, created, number, NodeId(u32::MAX));
            *self.under_way.range(all).next()?.0
        };
        self.under_way.remove(&key).map(|it| (key, it))
    }

    /// A row for each flow, host and agent, and each direction.
    fn rows(&self) -> Vec<DetourRow> {
        let row = |(&(flow, host, agent, is_up), sum): (&(FlowId, NodeId, NodeId, bool), &Sum)| {
            let packets = sum.packets as f64;
            DetourRow {
                flow: flow.0,
                host: host.0,
                agent: agent.0,
                direction: if is_up { "from_host" } else { "to_host" },
                packets: sum.packets,
                hops: sum.hops as f64 / packets,
                direct_hops: sum.direct_hops as f64 / packets,
                delay_ms: sum.delay * 1e3 / packets,
                direct_delay_ms: sum.direct_delay * 1e3 / packets,
            }
        };
        self.sums.iter().map(row).collect()
    }

    /// A packet of a host enters a tunnel at the agent at which the host is.
    fn on_agent_tunnel_entered(&mut self, now: Time, node: NodeId, packet: &Packet) {
        if let (Some((_, true)), Some(key)) = (self.host(packet), Self::key(packet, node)) {
            self.under_way.insert(key, Under { at: now, radio: now.since(packet.created), hops: packet.hops });
        }
    }

    /// A packet for a host leaves a tunnel at the agent at which the host is.
    fn on_agent_tunnel_left(&mut self, now: Time, node: NodeId, packet: &Packet) {
        if let (Some((_, false)), Some(key)) = (self.host(packet), Self::key(packet, node)) {
            self.under_way.insert(key, Under { at: now, radio: now.since(packet.created), hops: packet.hops });
        }
    }

    fn on_hop(&mut self, now: Time, from: NodeId, node: NodeId, packet: &Packet) {
        if self.under_way.is_empty() || self.node(packet.destination) != Some(node) {
            return;
        }
        // Within a tunnel, the outer packet is that of agents.
        let Some((host, is_up)) = self.host(packet) else { return };
        let Some((key, it)) = self.take(packet, from) else { return };
        let agent = key.3;
        let way = if is_up { Some((agent, node)) } else { self.node(packet.source).map(|source| (source, agent)) };
        let Some(wires) = way.and_then(|way| self.ways.get(&way)) else { return };
        let (radio_hops, radio) =
            if is_up { (it.hops, it.radio) } else { (packet.hops.saturating_sub(it.hops), now.since(it.at)) };
        let sum = self.sums.entry((packet.flow, host, agent, is_up)).or_default();
        sum.packets += 1;
        sum.hops += u64::from(packet.hops);
        sum.direct_hops += wires.wires.len() as u64 + u64::from(radio_hops);
        sum.delay += now.since(packet.created).seconds();
        sum.direct_delay += radio.seconds() + wires.time(packet.size).seconds();
    }

    fn on_drop(&mut self, node: NodeId, packet: &Packet) {
        if !self.under_way.is_empty() {
            self.take(packet, node);
        }
    }
}

impl Probe for Detours {
    fn on_start(&mut self, network: &NetworkView<'_>) {
        self.nodes = network.interfaces.iter().map(|it| it.node).collect();
        self.hosts = network.mobile.hosts.iter().copied().collect();
        self.ways = network.mobile.ways.iter().map(|way| ((way.from, way.to), way.clone())).collect();
    }

    fn on_passage(&mut self, now: Time, packet: &Packet, passage: Passage) {
        match passage {
            Passage::AgentTunnelEntered { node, .. } => self.on_agent_tunnel_entered(now, node, packet),
            Passage::AgentTunnelLeft(node) => self.on_agent_tunnel_left(now, node, packet),
            _ => {}
        }
    }

    fn on_packet(&mut self, now: Time, node: NodeId, packet: &Packet, event: PacketEvent) {
        match event {
            PacketEvent::Hop { from } => self.on_hop(now, from, node, packet),
            PacketEvent::Dropped(_) => self.on_drop(node, packet),
            _ => {}
        }
    }

    fn report(&self, report: &mut Report<'_>) {
        report.table(|| self.rows());
    }
}
