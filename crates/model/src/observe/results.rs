//! The tables of a run: flat rows, one for each flow, each node, each kind of drop, each sample.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::LazyLock;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::mobile_rows::{DetourRow, HandoffRow, MobileEventRow};
use crate::context::DropReason;
use crate::params::Metric;
use crate::{agent, mac, mobility};

/// The result of a run.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// The digest of all events.
    pub digest: u64,
    /// The number of events: starts and ends of signals at radios, deadlines, packets that reach IP. It does not depend
    /// on how the medium processes the starts and ends.
    pub events: u64,
    /// Frames sent.
    pub frames: u64,
    /// Receptions of frames, decoded or not: each frame counts once for each radio that could sense it.
    pub receptions: u64,
    /// Packets made by transport, routing and address resolution, which are the packets that ns-2 numbers.
    pub packets: u64,
    /// Simulated time in seconds.
    pub simulated: f64,
    /// Whether the run was stopped before its end.
    pub cancelled: bool,
    /// A row for each flow.
    pub flows: Vec<FlowRow>,
    /// A row for each node.
    pub nodes: Vec<NodeRow>,
    /// A row for each node, kind of packet and reason with a drop.
    pub drops: Vec<DropRow>,
    /// A row for each sample.
    pub series: Vec<SeriesRow>,
    /// A row for each loss whose cause a sender has classified, from the start of the run.
    pub decisions: Vec<DecisionRow>,
    /// A row for each node and type of routing or control message that it sent or received.
    pub overhead: Vec<OverheadRow>,
    /// A row for each change of a route, if they are recorded.
    pub route_changes: Vec<RouteChangeRow>,
    /// A row for each path of each flow, if they are recorded.
    pub paths: Vec<PathRow>,
    /// A row for each segment of chosen flows, if they are recorded.
    pub segments: Vec<SegmentRow>,
    /// A row for each change of the agent of a host that moves between networks.
    pub handoffs: Vec<HandoffRow>,
    /// A row for each event of such hosts and their agents, if they are recorded.
    pub mobile_events: Vec<MobileEventRow>,
    /// A row for each flow of such a host and each agent, whose packets have come through a tunnel.
    pub detours: Vec<DetourRow>,
    /// A row for each program that ran at a node in simulated time.
    pub programs: Vec<ProgramRow>,
}

/// A row for each flow of each run. Counts, rates and delays belong to the measuring window, from `measure.from` to the
/// end of the run. 1 kbit/s is 1000 bit/s.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FlowRow {
    /// The flow's number: 0, 1, 2 and so on in the order of the scenario.
    pub flow: u32,
    /// The number of the source node.
    pub source: u32,
    /// The number of the destination node.
    pub destination: u32,
    /// The TCP variant, or "udp".
    pub transport: Cow<'static, str>,
    /// The flow's `label` in the scenario, by which flows are told apart in measures; "" without one.
    pub label: Cow<'static, str>,
    /// The source's routing protocol.
    pub routing: &'static str,
    /// Goodput: payload that the receiving application received in order, each byte once, per second.
    #[schemars(extend("unit" = "kbit/s"))]
    pub goodput_kbps: f64,
    /// Throughput: IP bytes, including headers, of the data packets that arrived, including duplicates, per second.
    #[schemars(extend("unit" = "kbit/s"))]
    pub throughput_kbps: f64,
    /// Payload of the data packets that arrived for the first time, in order or not, per second. Scripts for ns-2's
    /// traces usually count this.
    #[schemars(extend("unit" = "kbit/s"))]
    pub payload_kbps: f64,
    /// Mean time from source to destination of the data packets that arrived. Each retransmission is a separate packet.
    #[schemars(extend("unit" = "ms"))]
    pub delay_ms: Option<f64>,
    /// Median of `delay_ms` over the packets.
    #[schemars(extend("unit" = "ms"))]
    pub delay_p50_ms: Option<f64>,
    /// 95th percentile of `delay_ms` over the packets.
    #[schemars(extend("unit" = "ms"))]
    pub delay_p95_ms: Option<f64>,
    /// 99th percentile of `delay_ms` over the packets.
    #[schemars(extend("unit" = "ms"))]
    pub delay_p99_ms: Option<f64>,
    /// Mean difference of the delays of two data packets that arrived one after the other, without its sign: D in RFC
    /// 3550 §6.4.1, of which a running mean is the jitter that a receiver reports. Empty before the second packet.
    #[schemars(extend("unit" = "ms"))]
    pub jitter_ms: Option<f64>,
    /// Mean time from the first transmission of payload to its delivery to the application in order.
    #[schemars(extend("unit" = "ms"))]
    pub application_delay_ms: Option<f64>,
    /// Data packets sent, including retransmissions.
    #[schemars(extend("unit" = "packets"))]
    pub packets_sent: u64,
    /// Data packets that arrived, including duplicates.
    #[schemars(extend("unit" = "packets"))]
    pub packets_arrived: u64,
    /// Data packets that arrived for the first time.
    #[schemars(extend("unit" = "packets"))]
    pub packets_unique: u64,
    /// Data packets lost in the network: copies of them were dropped, none arrived, and none is left.
    #[schemars(extend("unit" = "packets"))]
    pub packets_dropped: u64,
    /// Data packets that were in the network when the run ended, and had not arrived. Over UDP, and without a measuring
    /// window of its own, `packets_unique`, `packets_dropped` and `packets_left` add up to `packets_sent`.
    #[schemars(extend("unit" = "packets"))]
    pub packets_left: u64,
    /// Data packets in interface queues at the end of the run, where each copy counts; ns-2 traces these packets as
    /// dropped.
    #[schemars(extend("unit" = "packets"))]
    pub packets_queued: u64,
    /// Data packets retransmitted.
    #[schemars(extend("unit" = "packets"))]
    pub retransmissions: u64,
    /// How often the retransmission timer expired. Empty where a kernel does not tell it of a single flow.
    pub timeouts: Option<u64>,
    /// How often the sender entered recovery without a timeout. Empty where a kernel does not tell it of a single flow.
    pub fast_retransmits: Option<u64>,
    /// `retransmissions` as a share of `packets_sent`.
    #[schemars(extend("unit" = "%"))]
    pub loss_transport_percent: f64,
    /// `packets_dropped` as a share of `packets_sent`.
    #[schemars(extend("unit" = "%"))]
    pub loss_network_percent: f64,
    /// The loss rate in the definition of scripts for ns-2's traces: how often data packets were dropped, each copy
    /// counted, and `packets_queued`, as a share of the packets of the run that ns-2 would number (data,
    /// acknowledgements and DSDV's updates; not those of AODV and ARP).
    #[schemars(extend("unit" = "%"))]
    pub loss_ns2_percent: f64,
    /// Mean number of hops of the data packets that arrived.
    #[schemars(extend("unit" = "hops"))]
    pub hops: Option<f64>,
    /// How often the source's route to the destination changed in next hop or in length.
    pub route_changes: u64,
    /// Notices that reached the source and reported that a node could not forward a segment.
    pub notices: u64,
    /// Segments sent as probes while the sender was frozen.
    #[schemars(extend("unit" = "segments"))]
    pub probes: u64,
    /// Simulated time at which the first data packet arrived.
    #[schemars(extend("unit" = "s"))]
    pub first_arrival_s: Option<f64>,
    /// Simulated time at which the source first sent new payload, not sent before.
    #[schemars(extend("unit" = "s"))]
    pub first_new_s: Option<f64>,
    /// Simulated time at which the application first received payload.
    #[schemars(extend("unit" = "s"))]
    pub first_delivery_s: Option<f64>,
    /// Payload that the application received in order, each byte once.
    #[schemars(extend("unit" = "bytes"))]
    pub delivered_bytes: u64,
    /// Time-weighted mean of the congestion window while the flow runs: from its start, or the beginning of the
    /// measuring window, to its stop, or the end of the run.
    #[schemars(extend("unit" = "segments"))]
    pub cwnd_mean: Option<f64>,
    /// Time that the sender spent in slow start, the opening of the connection included; 0 for UDP.
    #[schemars(extend("unit" = "s"))]
    pub slow_start_s: f64,
    /// Time that the sender spent in congestion avoidance.
    #[schemars(extend("unit" = "s"))]
    pub avoidance_s: f64,
    /// Time that the sender spent in fast retransmit and fast recovery.
    #[schemars(extend("unit" = "s"))]
    pub recovery_s: f64,
    /// Time during which the sender was frozen, because there was no route.
    #[schemars(extend("unit" = "s"))]
    pub frozen_s: f64,
    /// Acknowledgements that arrived at the sender in slow start.
    pub acks_slow_start: u64,
    /// Acknowledgements that arrived in congestion avoidance.
    pub acks_avoidance: u64,
    /// Acknowledgements that arrived in fast retransmit and fast recovery.
    pub acks_recovery: u64,
    /// Segments with payload sent in slow start, retransmissions included.
    #[schemars(extend("unit" = "segments"))]
    pub segments_slow_start: u64,
    /// Segments with payload sent in congestion avoidance.
    #[schemars(extend("unit" = "segments"))]
    pub segments_avoidance: u64,
    /// Segments with payload sent in fast retransmit and fast recovery.
    #[schemars(extend("unit" = "segments"))]
    pub segments_recovery: u64,
    /// How often the sender sampled the round-trip time.
    pub rtt_samples: u64,
    /// Energy of the flow's data packets and acknowledgements that reached their destination and brought something new,
    /// up to that time: to send them at every hop, and to receive them where they were sent to. If energy is counted;
    /// over the whole run.
    #[schemars(extend("unit" = "J"))]
    pub energy_useful_j: Option<f64>,
    /// Energy, likewise, of those that did not reach it and do not exist any more, of those that brought nothing new,
    /// and of what was sent of a packet after it had arrived.
    #[schemars(extend("unit" = "J"))]
    pub energy_in_vain_j: Option<f64>,
    /// Energy, likewise, of those that existed when the run ended.
    #[schemars(extend("unit" = "J"))]
    pub energy_under_way_j: Option<f64>,
}

/// A row for each node of each run. Counts belong to the whole run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NodeRow {
    /// The node's number.
    pub node: u32,
    /// Packets forwarded for others.
    #[schemars(extend("unit" = "packets"))]
    pub forwarded: u64,
    /// Packets of the routing protocol that this node sent or forwarded.
    #[schemars(extend("unit" = "packets"))]
    pub routing_packets: u64,
    /// IP bytes of `routing_packets`.
    #[schemars(extend("unit" = "bytes"))]
    pub routing_bytes: u64,
    /// Bytes of the routing protocol in other packets that this node sent or forwarded, such as source routes in data
    /// packets.
    #[schemars(extend("unit" = "bytes"))]
    pub piggybacked_bytes: u64,
    /// Data packets for this node that arrived for the first time.
    #[schemars(extend("unit" = "packets"))]
    pub data_packets: u64,
    /// Payload that the applications at this node received in order, each byte once.
    #[schemars(extend("unit" = "bytes"))]
    pub data_bytes: u64,
    /// The simulated time of the run.
    #[schemars(extend("unit" = "s"))]
    pub simulated_s: f64,
    /// Frames of every kind that the node sent.
    #[schemars(extend("unit" = "frames"))]
    pub frames: u64,
    /// Unicast data frames sent, retries included.
    #[schemars(extend("unit" = "frames"))]
    pub data_frames: u64,
    /// Broadcast frames sent.
    #[schemars(extend("unit" = "frames"))]
    pub broadcasts: u64,
    /// Frames that this radio could not decode because of other frames.
    #[schemars(extend("unit" = "frames"))]
    pub collisions: u64,
    /// Frames that this radio could not decode because of bit errors.
    #[schemars(extend("unit" = "frames"))]
    pub bit_errors: u64,
    /// Time-weighted mean length of the interface queue, in packets.
    #[schemars(extend("unit" = "packets"))]
    pub queue_mean: f64,
    /// The maximum length of the interface queue.
    #[schemars(extend("unit" = "packets"))]
    pub queue_max: u64,
    /// Packets of all kinds that were dropped at this node.
    #[schemars(extend("unit" = "packets"))]
    pub dropped: u64,
    /// ICMP errors that this node sent.
    #[schemars(extend("unit" = "packets"))]
    pub icmp_errors: u64,
    /// Packets that this node put into tunnels: of the scenario, of a routing protocol to its gateway, or of Mobile IP.
    #[schemars(extend("unit" = "packets"))]
    pub tunnelled: u64,
    /// The bytes that this added, once for each of them.
    #[schemars(extend("unit" = "bytes"))]
    pub tunnel_bytes: u64,
    /// The time in which the node's radios sent, if energy is counted, as all columns from here to `battery_empty_s`.
    #[schemars(extend("unit" = "s"))]
    pub sending_s: Option<f64>,
    /// The time in which they heard signals and did not send.
    #[schemars(extend("unit" = "s"))]
    pub hearing_s: Option<f64>,
    /// The time in which they did neither.
    #[schemars(extend("unit" = "s"))]
    pub idle_s: Option<f64>,
    /// The time in which they slept.
    #[schemars(extend("unit" = "s"))]
    pub sleeping_s: Option<f64>,
    /// The time in which they were off, because the battery was empty.
    #[schemars(extend("unit" = "s"))]
    pub off_s: Option<f64>,
    /// The energy that the node's radios took.
    #[schemars(extend("unit" = "J"))]
    pub energy_j: Option<f64>,
    /// The part of `energy_j` for sending.
    #[schemars(extend("unit" = "J"))]
    pub energy_send_j: Option<f64>,
    /// The part of `energy_j` for hearing signals, or for the packets in them.
    #[schemars(extend("unit" = "J"))]
    pub energy_hear_j: Option<f64>,
    /// The part of `energy_hear_j` for packets of flows that were sent to this node.
    #[schemars(extend("unit" = "J"))]
    pub energy_receive_j: Option<f64>,
    /// The part of `energy_j` for being idle.
    #[schemars(extend("unit" = "J"))]
    pub energy_idle_j: Option<f64>,
    /// The part of `energy_j` for sleeping.
    #[schemars(extend("unit" = "J"))]
    pub energy_sleep_j: Option<f64>,
    /// The part of `energy_send_j` for frames with payload.
    #[schemars(extend("unit" = "J"))]
    pub energy_data_j: Option<f64>,
    /// The part of `energy_send_j` for frames with acknowledgements of TCP.
    #[schemars(extend("unit" = "J"))]
    pub energy_ack_j: Option<f64>,
    /// The part of `energy_send_j` for frames of the MAC itself, such as RTS, CTS and ACK.
    #[schemars(extend("unit" = "J"))]
    pub energy_mac_j: Option<f64>,
    /// The part of `energy_send_j` for frames with messages of routing.
    #[schemars(extend("unit" = "J"))]
    pub energy_routing_j: Option<f64>,
    /// The part of `energy_send_j` for frames of address resolution.
    #[schemars(extend("unit" = "J"))]
    pub energy_arp_j: Option<f64>,
    /// The part of `energy_send_j` for all other frames: agents, ICMP, datagrams from outside.
    #[schemars(extend("unit" = "J"))]
    pub energy_other_j: Option<f64>,
    /// The part of `energy_send_j` for frames that the MAC sent again.
    #[schemars(extend("unit" = "J"))]
    pub energy_retries_j: Option<f64>,
    /// The part of `energy_send_j` for segments that TCP sent again, at every hop.
    #[schemars(extend("unit" = "J"))]
    pub energy_retransmissions_j: Option<f64>,
    /// The energy that is left in the node's battery, if the battery is not endless.
    #[schemars(extend("unit" = "J"))]
    pub energy_left_j: Option<f64>,
    /// Simulated time at which the node's battery ran dry.
    #[schemars(extend("unit" = "s"))]
    pub battery_empty_s: Option<f64>,
    /// What only the node's MACs, its movement model and its agents count: a column for each counter, in the order of
    /// [`own_columns`], with no value if the node has no such model.
    #[serde(skip)]
    pub own: Vec<Option<u64>>,
}

/// The columns of the table of nodes that belong to single models: the kind of model, its name, and the counter.
///
/// # Panics
/// If two of them, or one of them and a column of every node, have the same name.
pub fn own_columns() -> impl Iterator<Item = OwnColumn> {
    static OWN: LazyLock<Vec<OwnColumn>> = LazyLock::new(|| {
        let macs = mac::METRICS.iter().map(|it| ("MAC", it));
        let movements = mobility::METRICS.iter().map(|it| ("Movement model", it));
        let agents = agent::METRICS.iter().map(|it| ("Agent", it));
        let rooms = macs.chain(movements).chain(agents);
        let own = rooms.flat_map(|(kind, &(name, metrics))| metrics.iter().map(move |metric| (kind, name, metric)));
        let own: Vec<OwnColumn> = own.collect();
        let common = schemars::schema_for!(NodeRow);
        let common = common.get("properties").and_then(Value::as_object).into_iter().flat_map(|it| it.keys());
        if let Some(fault) = used_twice(common.map(String::as_str), &own) {
            panic!("{fault}");
        }
        own
    });
    OWN.iter().copied()
}

/// A counter of a single model: the kind of model, its name, and the counter.
pub type OwnColumn = (&'static str, &'static str, &'static Metric);

/// Two columns of one name, in a sentence. A table cannot have them.
fn used_twice<'a>(common: impl Iterator<Item = &'a str>, own: &[OwnColumn]) -> Option<String> {
    let mut owners: BTreeMap<&str, String> =
        common.map(|name| (name, "the table has for every node".to_owned())).collect();
    own.iter().find_map(|(kind, model, metric)| {
        let owner = owners.insert(metric.name, format!("{kind} `{model}` has"))?;
        Some(format!("{kind} `{model}` has the counter `{}`, which {owner} already: give it another name", metric.name))
    })
}

impl NodeRow {
    /// The value of a counter that only one model has; nothing if the node has no such model.
    ///
    /// # Panics
    /// If no model has a counter of this name.
    #[must_use]
    pub fn metric(&self, name: &str) -> Option<u64> {
        let place = own_columns().position(|(_, _, metric)| metric.name == name);
        let place = place.unwrap_or_else(|| panic!("no model has a counter called {name}"));
        self.own.get(place).copied().flatten()
    }
}

/// A row for each node, kind of packet and reason with at least one drop. Counts belong to the whole run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DropRow {
    /// The node's number.
    pub node: u32,
    /// The kind of packet: `data`, `ack`, `routing`, `arp`, `icmp`, `control` (agents) or `external` (datagrams
    /// from outside).
    #[schemars(extend("closed" = true))]
    pub kind: &'static str,
    /// Why the packets were dropped, such as `queue_full`.
    #[schemars(extend("values" = DropReason::ALL.map(DropReason::name)))]
    pub reason: &'static str,
    /// How many packets were dropped.
    #[schemars(extend("unit" = "packets"))]
    pub count: u64,
}

/// A row for each node and type of message that its routing protocol or one of its agents sent or received. Counts
/// belong to the whole run; a transmission counts at every hop.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OverheadRow {
    /// The node's number.
    pub node: u32,
    /// Whose message it is: `routing` or `control` (agents).
    #[schemars(extend("closed" = true))]
    pub kind: &'static str,
    /// The type of the message, such as `RREQ`.
    pub message: &'static str,
    /// Messages sent or forwarded in packets of the protocol. A packet may carry several messages.
    #[schemars(extend("unit" = "messages"))]
    pub sent: u64,
    /// Their bytes. IP's header, and every other header of a packet with several messages, counts for the first one.
    #[schemars(extend("unit" = "bytes"))]
    pub sent_bytes: u64,
    /// How often these messages went out at radios. A broadcast at several interfaces is one message in `sent`, and
    /// counts here for each of them.
    #[schemars(extend("unit" = "messages"))]
    pub sent_radio: u64,
    /// The bytes of `sent_radio`.
    #[schemars(extend("unit" = "bytes"))]
    pub sent_radio_bytes: u64,
    /// How often they went out by wires, likewise.
    #[schemars(extend("unit" = "messages"))]
    pub sent_wire: u64,
    /// The bytes of `sent_wire`.
    #[schemars(extend("unit" = "bytes"))]
    pub sent_wire_bytes: u64,
    /// Messages that this node made, and did not forward for others. A message that a node sends in answer to one of
    /// the same type counts as forwarded.
    #[schemars(extend("unit" = "messages"))]
    pub originated: u64,
    /// Bytes of `originated`.
    #[schemars(extend("unit" = "bytes"))]
    pub originated_bytes: u64,
    /// Messages sent or forwarded within packets of others, such as source routes in data packets.
    #[schemars(extend("unit" = "messages"))]
    pub piggybacked: u64,
    /// Bytes of `piggybacked`.
    #[schemars(extend("unit" = "bytes"))]
    pub piggybacked_bytes: u64,
    /// Messages in packets from neighbours that reached this node, also those that it knew already.
    #[schemars(extend("unit" = "messages"))]
    pub received: u64,
}

/// A row for each change of a route that a routing protocol announced, from the start of the run. `measure.routes`
/// says which are recorded: by default, none.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RouteChangeRow {
    /// Simulated time of the change.
    #[schemars(extend("unit" = "s"))]
    pub time_s: f64,
    /// The number of the node whose route changed.
    pub node: u32,
    /// The number of the node that the route leads to.
    pub destination: u32,
    /// The number of the first flow from this node to the destination.
    pub flow: Option<u32>,
    /// The next hop's node until then; empty if there was no route.
    pub next_hop_before: Option<u32>,
    /// The hops that the protocol counted until then.
    #[schemars(extend("unit" = "hops"))]
    pub hops_before: Option<u8>,
    /// The next hop's node from then on; empty if the route was lost.
    pub next_hop: Option<u32>,
    /// The hops that the protocol counts from then on.
    #[schemars(extend("unit" = "hops"))]
    pub hops: Option<u8>,
    /// The nodes that a packet would visit now, such as `0 3 5`, if each node on the way is asked for its next hop.
    pub path: Option<String>,
    /// Where `path` ends: at the `destination`, in a `gap` (a node without a route), or in a `loop`.
    pub path_ends: Option<&'static str>,
}

/// A row for each path that data packets of a flow took, from the start of the run, if `measure.paths` is set.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PathRow {
    /// The flow's number.
    pub flow: u32,
    /// What became of the packets: `delivered` or `dropped`.
    pub fate: &'static str,
    /// The nodes that they visited, in order, such as `0 3 5`.
    pub path: String,
    /// The hops of the path.
    #[schemars(extend("unit" = "hops"))]
    pub hops: u32,
    /// How many packets took this path; each retransmission is a separate packet.
    #[schemars(extend("unit" = "packets"))]
    pub packets: u64,
    /// `packets` as a share, from 0 to 1, of the flow's packets with this fate.
    pub share: f64,
    /// How many of the visits were to a node that the packet had visited before.
    pub repeats: u32,
}

/// A row for each TCP segment that the sender or the receiver of a flow passed to IP or received, from the start of the
/// run, in the order of time. `measure.segments` says of which flows: by default, of none. Sequence numbers count bytes
/// from zero and do not wrap; a SYN and a FIN take one each.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SegmentRow {
    /// The flow's number.
    pub flow: u32,
    /// Simulated time.
    #[schemars(extend("unit" = "s"))]
    pub time_s: f64,
    /// `data_sent` or `ack_received` at the sender of the flow's data, `data_received` or `ack_sent` at their receiver.
    /// Each segment from the sender counts as data, each one from the receiver as an acknowledgement.
    pub event: &'static str,
    /// The sequence number.
    #[schemars(extend("unit" = "bytes"))]
    pub seq: u64,
    /// The sequence number that follows the segment.
    #[schemars(extend("unit" = "bytes"))]
    pub end: u64,
    /// The payload.
    #[schemars(extend("unit" = "bytes"))]
    pub payload: u32,
    /// Whether the sender had sent this payload, or this SYN or FIN, before. No segment from the receiver counts.
    pub resent: bool,
    /// The acknowledgement number; empty for a SYN that acknowledges nothing.
    #[schemars(extend("unit" = "bytes"))]
    pub ack: Option<u64>,
    /// The window that the segment advertises, scaled.
    #[schemars(extend("unit" = "bytes"))]
    pub window: u32,
    /// The blocks of SACK, the most recent first, such as `2921-4381,5841-7301`; the byte after the dash is the first
    /// one that is not in the block.
    pub sack: Option<String>,
    /// The congestion window after the sender has sent the segment; only for `data_sent`.
    #[schemars(extend("unit" = "segments"))]
    pub cwnd: Option<f64>,
    /// The control bits that are set, such as `SYN ACK`.
    pub flags: String,
}

/// The true cause of a loss, which the simulator knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TrueCause {
    /// A queue was full.
    Congestion,
    /// The MAC dropped the packet although the next hop was in range: frames of other nodes interfered (or noise, if
    /// the radio has a model of bit errors). Or routing regarded the link as broken after such a drop.
    Interference,
    /// A wire lost the packet because the scenario says so. This represents channel errors.
    ChannelError,
    /// The next hop was out of range, or there was no route for that reason.
    LinkFailure,
    /// Nothing was lost: the segment was late or out of order.
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

/// A row for each loss whose cause a sender classified, with the true cause, from the start of the run. Only congestion
/// controls that classify losses produce such rows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DecisionRow {
    /// The flow's number.
    pub flow: u32,
    /// Simulated time of the classification.
    #[schemars(extend("unit" = "s"))]
    pub time_s: f64,
    /// How the sender detected the loss: `duplicate_acks` or `timeout`.
    #[schemars(extend("closed" = true))]
    pub detected_by: &'static str,
    /// The sender's classification: `congestion`, `wireless` or `link_failure`.
    #[schemars(extend("closed" = true))]
    pub decided: &'static str,
    /// The true cause: `congestion`, `interference`, `channel_error`, `link_failure`, `spurious` (nothing was lost) or
    /// `other`.
    #[schemars(extend("closed" = true))]
    pub true_cause: &'static str,
    /// The first unacknowledged sequence number.
    pub sequence: u64,
    /// How often the segment at `sequence` had been sent.
    pub transmissions: u32,
    /// The quantity on which the congestion control based its classification; the page of its model defines it.
    pub evidence: f64,
    /// The value of `evidence` above which the congestion control classifies a loss as congestion.
    pub limit: f64,
    /// The number of round-trip times from which `evidence` was computed.
    pub samples: u32,
    /// The congestion control's average of the round-trip time.
    #[schemars(extend("unit" = "ms"))]
    pub rtt_filtered_ms: Option<f64>,
    /// The latest round-trip time.
    #[schemars(extend("unit" = "ms"))]
    pub rtt_last_ms: Option<f64>,
    /// What was lost: `data`, or `ack` if the segment had arrived; empty if nothing was lost.
    #[schemars(extend("closed" = true))]
    pub lost: Option<&'static str>,
    /// Why the lost packet was dropped.
    #[schemars(extend("values" = DropReason::ALL.map(DropReason::name)))]
    pub lost_reason: Option<&'static str>,
    /// The number of the node that dropped it.
    pub lost_at_node: Option<u32>,
}

/// A row for each sample of a quantity of a flow.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SeriesRow {
    /// The flow's number.
    pub flow: u32,
    /// Simulated time of the sample.
    #[schemars(extend("unit" = "s"))]
    pub time_s: f64,
    /// The name of the quantity.
    pub quantity: &'static str,
    /// The unit of `value`.
    pub unit: &'static str,
    /// The value of the quantity.
    pub value: f64,
}

/// A row for each program that ran at a node in simulated time (`[[host]]`).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ProgramRow {
    /// The program's number: 0, 1, 2 and so on in the order of the scenario.
    pub program: u32,
    /// The node's number.
    pub node: u32,
    /// The program and its arguments.
    pub command: String,
    /// Simulated time at which it began; empty if the run ended before.
    #[schemars(extend("unit" = "s"))]
    pub began_s: Option<f64>,
    /// Simulated time at which it ended by itself; empty if it ran until the end of the run.
    #[schemars(extend("unit" = "s"))]
    pub ended_s: Option<f64>,
    /// Its exit status if it ended by itself; 128 and the signal's number if a signal ended it.
    pub status: Option<i32>,
    /// What it wrote to its standard output.
    pub output: String,
    /// What it wrote to its standard error.
    pub errors: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_counter_has_a_name_of_its_own() {
        let own: Vec<_> = own_columns().collect();
        assert!(own.iter().any(|(kind, _, _)| *kind == "MAC"));
        let metric = |name| Metric { name, unit: "frames", meaning: "" };
        let (acks, node) = (metric("acks"), metric("node"));
        let none = || std::iter::empty::<&str>();
        let twice = [("MAC", "dcf", &acks), ("MAC", "csma", &acks)].map(|(kind, model, it)| -> OwnColumn {
            // A column refers to a counter of a list that lives as long as the program.
            (kind, model, Box::leak(Box::new(Metric { ..*it })))
        });
        let said = "MAC `csma` has the counter `acks`, which MAC `dcf` has already: give it another name";
        assert_eq!(used_twice(none(), &twice).as_deref(), Some(said));
        assert_eq!(used_twice(none(), &twice[..1]), None);
        let node: [OwnColumn; 1] = [("Agent", "a", Box::leak(Box::new(node)))];
        let said = "Agent `a` has the counter `node`, which the table has for every node already: give it another name";
        assert_eq!(used_twice(["node"].into_iter(), &node).as_deref(), Some(said));
    }
}
