//! Flows: an application, its transport at both ends, and the meter that counts packets.

use std::borrow::Cow;

use hopyard_engine::Time;

use crate::address::{Address, NodeId};
use crate::observe::FlowMeter;
use crate::traffic::Source;
use crate::transport::tcp::{TcpReceiver, TcpSender};
use crate::transport::udp::UdpReceiver;

/// Bytes of a flow that had arrived when a sample was taken.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sampled {
    /// Payload that the application had received in order.
    pub delivered: u64,
    /// IP bytes of data packets, duplicates included.
    pub network: u64,
}

/// A flow from one node to another.
#[derive(Debug)]
pub(super) struct Flow {
    pub from: NodeId,
    pub to: NodeId,
    pub source: Source,
    pub transport: Endpoints,
    pub name: Cow<'static, str>,
    /// Payload of a full segment; zero for UDP.
    pub segment: u64,
    pub meter: FlowMeter,
    /// Whether its sender distinguishes causes of loss.
    pub classifies: bool,
    /// Whether the destination has seen the segment that opens the connection.
    pub opened: bool,
    /// The next hop and the number of hops of the source's route, as announced last.
    pub route: Option<(Address, u8)>,
    /// Nodes that have sent an ICMP error about the flow, each with the time of the last.
    pub errors: Vec<(NodeId, Time)>,
    /// What had arrived up to the last sample.
    pub sampled: Sampled,
    /// The congestion window integrated over time, in segment-seconds, up to `cwnd_since`.
    pub cwnd_area: f64,
    pub cwnd_since: Time,
    pub cwnd: f64,
    /// What had been counted when the measuring window began.
    pub before: Counts,
}

/// Counters of a flow from the start of the run.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counts {
    pub retransmissions: u64,
    pub timeouts: u64,
    pub fast_retransmits: u64,
    pub dropped: u64,
    pub notices: u64,
    pub probes: u64,
}

/// The two ends of a flow.
#[derive(Debug)]
pub(super) enum Endpoints {
    Udp { next: u64, receiver: UdpReceiver },
    Tcp { sender: Box<TcpSender>, receiver: Box<TcpReceiver> },
}
