//! The tables of a run: flat rows, one a flow, one a node, one a kind of drop, one a sample.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

/// What a run gives.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// The digest of everything that happened.
    pub digest: u64,
    /// What happened: beginnings and ends of signals at radios, deadlines, packets on their way up. However the medium is
    /// walked, it is the same.
    pub events: u64,
    /// Frames sent.
    pub frames: u64,
    /// Frames as they came to radios that could sense them, decoded or not: each frame counts once at each.
    pub receptions: u64,
    /// Packets made by transport, routing and address resolution: ns-2's packet ids.
    pub packets: u64,
    /// Simulated time in seconds.
    pub simulated: f64,
    /// Whether the run was stopped before its end.
    pub cancelled: bool,
    /// A row a flow.
    pub flows: Vec<FlowRow>,
    /// A row a node.
    pub nodes: Vec<NodeRow>,
    /// A row for each node, kind of packet and reason with a drop.
    pub drops: Vec<DropRow>,
    /// A row a sample.
    pub series: Vec<SeriesRow>,
    /// A row for each loss whose cause a sender has judged, from the start of the run on.
    pub decisions: Vec<DecisionRow>,
}

/// One flow's measures. Rates are in kbit/s (1000 bit/s), over the measuring window.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FlowRow {
    /// The flow's number.
    pub flow: u32,
    /// The source node.
    pub source: u32,
    /// The destination node.
    pub destination: u32,
    /// The TCP variant, or "udp".
    pub transport: Cow<'static, str>,
    /// The source's routing protocol.
    pub routing: &'static str,
    /// Payload that the application got in order, each byte once.
    pub goodput_kbps: f64,
    /// IP bytes of the data packets that arrived, duplicates included.
    pub throughput_kbps: f64,
    /// Payload of data packets that arrived for the first time, in order or not: what ns-2 scripts count.
    pub payload_kbps: f64,
    /// Mean delay of arrived data packets, each from its own transmission.
    pub delay_ms: Option<f64>,
    /// Median of that delay.
    pub delay_p50_ms: Option<f64>,
    /// Its 95th percentile.
    pub delay_p95_ms: Option<f64>,
    /// Its 99th percentile.
    pub delay_p99_ms: Option<f64>,
    /// Mean delay from the first transmission of payload to its delivery in order.
    pub application_delay_ms: Option<f64>,
    /// Data packets sent, retransmissions included.
    pub packets_sent: u64,
    /// Data packets that arrived, duplicates included.
    pub packets_arrived: u64,
    /// Data packets that arrived for the first time.
    pub packets_unique: u64,
    /// Data packets dropped on the way.
    pub packets_dropped: u64,
    /// Data packets still on the way when the run ended.
    pub packets_left: u64,
    /// Of these, those in an interface queue: what ns-2 traces as dropped when a run ends.
    pub packets_queued: u64,
    /// Data packets retransmitted.
    pub retransmissions: u64,
    /// Retransmission timeouts.
    pub timeouts: u64,
    /// Fast retransmits.
    pub fast_retransmits: u64,
    /// Retransmitted over sent data packets, in percent.
    pub loss_transport_percent: f64,
    /// Dropped over sent data packets, in percent.
    pub loss_network_percent: f64,
    /// Dropped data packets and those in interface queues at the end, against the packets of the run that ns-2 would number
    /// (data, acknowledgements, DSDV's updates; not AODV's and ARP's), in percent: ns-2 trace scripts' rate.
    pub loss_ns2_percent: f64,
    /// Mean number of hops of arrived data packets.
    pub hops: Option<f64>,
    /// How often the source's route changed.
    pub route_changes: u64,
    /// Notices that a segment could not be passed on, as they reached the source.
    pub notices: u64,
    /// Segments sent as probes while the sender was frozen.
    pub probes: u64,
    /// When the first data packet arrived, in seconds.
    pub first_arrival_s: Option<f64>,
    /// When the source first sent payload that it had never sent before, in seconds.
    pub first_new_s: Option<f64>,
    /// When the application first got payload, in seconds.
    pub first_delivery_s: Option<f64>,
    /// Payload bytes that the application got in order.
    pub delivered_bytes: u64,
    /// Time-weighted mean of the congestion window, in segments.
    pub cwnd_mean: Option<f64>,
}

/// One node's measures.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NodeRow {
    /// The node's number.
    pub node: u32,
    /// Packets forwarded for others.
    pub forwarded: u64,
    /// Routing packets sent, each hop.
    pub routing_packets: u64,
    /// Bytes of these.
    pub routing_bytes: u64,
    /// RTS frames sent.
    pub rts: u64,
    /// CTS frames sent.
    pub cts: u64,
    /// Unicast data frames sent, retries included.
    pub data_frames: u64,
    /// Broadcast frames sent.
    pub broadcasts: u64,
    /// ACK frames sent.
    pub acks: u64,
    /// RTS frames without an answer.
    pub rts_failures: u64,
    /// Data frames without an acknowledgement.
    pub ack_failures: u64,
    /// Packets given up after the retry limit.
    pub given_up: u64,
    /// Data frames received again.
    pub duplicates: u64,
    /// Frames lost here to another frame.
    pub collisions: u64,
    /// Frames lost here to bit errors.
    pub bit_errors: u64,
    /// Time-weighted mean length of the interface queue, in packets.
    pub queue_mean: f64,
    /// Its greatest length.
    pub queue_max: u64,
    /// Packets dropped here.
    pub dropped: u64,
    /// ICMP errors made here.
    pub icmp_errors: u64,
}

/// How many packets of a kind a node lost for a reason.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DropRow {
    /// The node's number.
    pub node: u32,
    /// The kind of packet: data, ack, routing, arp, icmp.
    pub kind: &'static str,
    /// The reason.
    pub reason: &'static str,
    /// How many.
    pub count: u64,
}

/// What a loss was due to, as the simulator knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TrueCause {
    /// A queue was full.
    Congestion,
    /// The MAC gave up on a next hop that was in range: frames of others had spoilt its own (or noise had, where the radio has
    /// a model of bit errors); or routing took the link for broken after that.
    Interference,
    /// A wire lost the packet by order of the scenario, which stands for the errors of a channel.
    ChannelError,
    /// The next hop was out of range, or there was no route for that reason.
    LinkFailure,
    /// Nothing was lost: late, or out of order.
    Spurious,
    /// Anything else: the time to live, a loop, address resolution.
    Other,
}

impl TrueCause {
    /// Its name in tables.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Congestion => "congestion",
            Self::Interference => "interference",
            Self::ChannelError => "channel_error",
            Self::LinkFailure => "link_failure",
            Self::Spurious => "spurious",
            Self::Other => "other",
        }
    }
}

/// A loss as a sender judged it, and what it was.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DecisionRow {
    /// The flow's number.
    pub flow: u32,
    /// When the sender judged, in seconds.
    pub time_s: f64,
    /// What the loss showed itself by: duplicate_acks or timeout.
    pub detected_by: &'static str,
    /// What the sender took it for: congestion, wireless or link_failure.
    pub decided: &'static str,
    /// What it was: congestion, interference, channel_error, link_failure, spurious or other.
    pub true_cause: &'static str,
    /// The first sequence number not acknowledged.
    pub sequence: u64,
    /// How often the segment there had been sent.
    pub transmissions: u32,
    /// The quantity that the variant judged by.
    pub evidence: f64,
    /// The value of `evidence` beyond which it takes a loss for congestion.
    pub limit: f64,
    /// How many round trips `evidence` is made from.
    pub samples: u32,
    /// The variant's average of the round trip.
    pub rtt_filtered_ms: Option<f64>,
    /// The last round trip.
    pub rtt_last_ms: Option<f64>,
    /// What was lost: data, or, where the segment had arrived, ack; nothing when all are still on their way.
    pub lost: Option<&'static str>,
    /// Why it was dropped.
    pub lost_reason: Option<&'static str>,
    /// The node that dropped it.
    pub lost_at_node: Option<u32>,
}

/// One sample of a quantity of a flow.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SeriesRow {
    /// The flow's number.
    pub flow: u32,
    /// When, in seconds.
    pub time_s: f64,
    /// What.
    pub quantity: &'static str,
    /// Its unit.
    pub unit: &'static str,
    /// Its value.
    pub value: f64,
}
