//! The table of flows.

use std::borrow::Cow;

use hopyard_engine::{Span, Time};

use super::flow::FlowMeter;
use super::row::row;
use crate::address::NodeId;
use crate::context::{FlowDrops, Shares, joules};
use crate::transport::connection::{Phase, Phases, SenderCounters};

/// The counts of a flow in the measuring window. The flow's row is computed from this, wherever its ends are.
#[derive(Clone, Debug)]
pub struct FlowCounts<'a> {
    /// The flow's number.
    pub flow: u32,
    /// The flow that it answers.
    pub answers: Option<u32>,
    /// Its source and its destination.
    pub ends: (NodeId, NodeId),
    /// The name of its transport.
    pub transport: Cow<'static, str>,
    /// Its label.
    pub label: Cow<'static, str>,
    /// The source's routing protocol.
    pub routing: &'static str,
    /// Its packets.
    pub meter: &'a FlowMeter,
    /// The payload of the packets that arrived for the first time.
    pub unique_bytes: u64,
    /// The drops among its data packets.
    pub dropped: FlowDrops,
    /// Its data packets that are on the way.
    pub left: PacketsLeft,
    /// The packets of the whole run that ns-2 would number.
    pub numbered: u64,
    /// The counts of its sender.
    pub sender: SenderCounters,
    /// The work of its sender in each phase.
    pub phases: Phases,
    /// How often the source's route changed.
    pub route_changes: u64,
    /// The mean of the congestion window.
    pub cwnd_mean: Option<f64>,
    /// The energy of its packets, if it is counted.
    pub energy: Option<Shares>,
    /// When the window ends.
    pub until: Time,
}

/// Data packets of a flow that are on the way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PacketsLeft {
    /// All of them.
    pub anywhere: u64,
    /// The copies in interface queues.
    pub queued: u64,
}

impl FlowCounts<'_> {
    fn kbps(&self, bytes: u64) -> f64 {
        let window = self.until.since(self.meter.from()).seconds();
        if window > 0.0 { bytes as f64 * 8.0 / window / 1e3 } else { 0.0 }
    }
}

fn percent(part: u64, whole: u64) -> f64 {
    if whole > 0 { 100.0 * part as f64 / whole as f64 } else { 0.0 }
}

fn milliseconds(span: Option<Span>) -> Option<f64> {
    span.map(|span| span.seconds() * 1e3)
}

row! {
    /// A row for each flow of each run. Counts, rates and delays belong to the measuring window, from `measure.from` to
    /// the end of the run. 1 kbit/s is 1000 bit/s.
    pub struct FlowRow of it: &FlowCounts<'_> {
        /// The flow's number: 0, 1, 2 and so on in the order of the scenario. Further destinations of a flow are flows
        /// of their own, with the numbers after these. So are the answers of destinations, with the numbers after
        /// those.
        flow: u32 = it.flow,
        /// The number of the flow that it answers; empty for a flow of the scenario.
        answers: Option<u32> = it.answers,
        /// The number of the source node.
        source: u32 = it.ends.0.0,
        /// The number of the destination node.
        destination: u32 = it.ends.1.0,
        /// The TCP variant, or "udp".
        transport: Cow<'static, str> = it.transport.clone(),
        /// The flow's `label` in the scenario, by which flows are told apart in measures; "" without one. The answers
        /// to a flow have its label and ".answers", or "answers".
        label: Cow<'static, str> = it.label.clone(),
        /// The source's routing protocol.
        routing: &'static str = it.routing,
        /// Goodput: payload that the receiving application received in order, each byte once, per second.
        goodput_kbps: f64 ["kbit/s"] = it.kbps(it.meter.delivered),
        /// Throughput: IP bytes, including headers, of the data packets that arrived, including duplicates, per second.
        throughput_kbps: f64 ["kbit/s"] = it.kbps(it.meter.network_bytes),
        /// Payload of the data packets that arrived for the first time, in order or not, per second. Scripts for ns-2's
        /// traces usually count this.
        payload_kbps: f64 ["kbit/s"] = it.kbps(it.unique_bytes),
        /// Mean time from source to destination of the data packets that arrived. Each retransmission is a separate
        /// packet.
        delay_ms: Option<f64> ["ms"] = milliseconds(it.meter.mean_delay()),
        /// Median of `delay_ms` over the packets.
        delay_p50_ms: Option<f64> ["ms"] = milliseconds(it.meter.delay_quantile(0.50)),
        /// 95th percentile of `delay_ms` over the packets.
        delay_p95_ms: Option<f64> ["ms"] = milliseconds(it.meter.delay_quantile(0.95)),
        /// 99th percentile of `delay_ms` over the packets.
        delay_p99_ms: Option<f64> ["ms"] = milliseconds(it.meter.delay_quantile(0.99)),
        /// Mean difference of the delays of two data packets that arrived one after the other, without its sign. It is
        /// D in RFC 3550 §6.4.1; the jitter that a receiver reports is a running mean of D. Empty before the second
        /// packet.
        jitter_ms: Option<f64> ["ms"] = milliseconds(it.meter.jitter()),
        /// Mean time from the first transmission of payload to its delivery to the application in order.
        application_delay_ms: Option<f64> ["ms"] = milliseconds(it.meter.mean_application_delay()),
        /// Data packets sent, including retransmissions.
        packets_sent: u64 ["packets"] = it.meter.sent,
        /// Data packets that arrived, including duplicates.
        packets_arrived: u64 ["packets"] = it.meter.arrived,
        /// Data packets that arrived for the first time.
        packets_unique: u64 ["packets"] = it.meter.unique,
        /// Data packets lost in the network: copies of them were dropped, none arrived, and none is left. Of the
        /// packets to a group: all that did not arrive at this destination, and of which no copy is left.
        packets_dropped: u64 ["packets"] = it.dropped.packets,
        /// Data packets that were in the network when the run ended, and had not arrived. Over UDP, and without a
        /// measuring window of its own, `packets_unique`, `packets_dropped` and `packets_left` add up to
        /// `packets_sent`.
        packets_left: u64 ["packets"] = it.left.anywhere,
        /// Data packets in interface queues at the end of the run, where each copy counts; ns-2 traces these packets as
        /// dropped.
        packets_queued: u64 ["packets"] = it.left.queued,
        /// Data packets retransmitted.
        retransmissions: u64 ["packets"] = it.sender.retransmitted_segments,
        /// How often the retransmission timer expired. Empty where a kernel does not tell it of a single flow.
        timeouts: Option<u64> = Some(it.sender.timeouts),
        /// How often the sender entered recovery without a timeout. Empty where a kernel does not tell it of a single
        /// flow.
        fast_retransmits: Option<u64> = Some(it.sender.fast_retransmits),
        /// `retransmissions` as a share of `packets_sent`.
        loss_transport_percent: f64 ["%"] = percent(it.sender.retransmitted_segments, it.meter.sent),
        /// `packets_dropped` as a share of `packets_sent`.
        loss_network_percent: f64 ["%"] = percent(it.dropped.packets, it.meter.sent),
        /// The loss rate in the definition of scripts for ns-2's traces. It is the number of drops of data packets,
        /// each copy counted, and `packets_queued`, as a share of the packets of the run that ns-2 would number. ns-2
        /// numbers data, acknowledgements and DSDV's updates, but not the messages of AODV and ARP.
        loss_ns2_percent: f64 ["%"] = percent(it.dropped.copies + it.left.queued, it.numbered),
        /// Mean number of hops of the data packets that arrived.
        hops: Option<f64> ["hops"] = it.meter.mean_hops(),
        /// How often the source's route to the destination changed in next hop or in length.
        route_changes: u64 = it.route_changes,
        /// Notices that reached the source and reported that a node could not forward a segment.
        notices: u64 = it.sender.notices,
        /// Segments sent as probes while the sender was frozen.
        probes: u64 ["segments"] = it.sender.probes,
        /// Simulated time at which the first data packet arrived.
        first_arrival_s: Option<f64> ["s"] = it.meter.first_arrival.map(Time::seconds),
        /// Simulated time at which the source first sent new payload, not sent before.
        first_new_s: Option<f64> ["s"] = it.meter.first_new.map(Time::seconds),
        /// Simulated time at which the application first received payload.
        first_delivery_s: Option<f64> ["s"] = it.meter.first_delivery.map(Time::seconds),
        /// Payload that the application received in order, each byte once.
        delivered_bytes: u64 ["bytes"] = it.meter.delivered,
        /// Time-weighted mean of the congestion window while the flow runs: from its start, or the beginning of the
        /// measuring window, to its stop, or the end of the run.
        cwnd_mean: Option<f64> ["segments"] = it.cwnd_mean,
        /// Time that the sender spent in slow start, the opening of the connection included; 0 for UDP.
        slow_start_s: f64 ["s"] = it.phases.of(Phase::SlowStart).time.seconds(),
        /// Time that the sender spent in congestion avoidance.
        avoidance_s: f64 ["s"] = it.phases.of(Phase::Avoidance).time.seconds(),
        /// Time that the sender spent in fast retransmit and fast recovery.
        recovery_s: f64 ["s"] = it.phases.of(Phase::Recovery).time.seconds(),
        /// Time during which the sender was frozen, because there was no route.
        frozen_s: f64 ["s"] = it.phases.of(Phase::Frozen).time.seconds(),
        /// Acknowledgements that arrived at the sender in slow start.
        acks_slow_start: u64 = it.phases.of(Phase::SlowStart).acks,
        /// Acknowledgements that arrived in congestion avoidance.
        acks_avoidance: u64 = it.phases.of(Phase::Avoidance).acks,
        /// Acknowledgements that arrived in fast retransmit and fast recovery.
        acks_recovery: u64 = it.phases.of(Phase::Recovery).acks,
        /// Segments with payload sent in slow start, retransmissions included.
        segments_slow_start: u64 ["segments"] = it.phases.of(Phase::SlowStart).segments,
        /// Segments with payload sent in congestion avoidance.
        segments_avoidance: u64 ["segments"] = it.phases.of(Phase::Avoidance).segments,
        /// Segments with payload sent in fast retransmit and fast recovery.
        segments_recovery: u64 ["segments"] = it.phases.of(Phase::Recovery).segments,
        /// How often the sender sampled the round-trip time.
        rtt_samples: u64 = it.sender.rtt_samples,
        /// Energy of the flow's data packets and acknowledgements that reached their destination and brought something
        /// new, up to that time. It is the energy to send them at every hop, and to receive them at the nodes that they
        /// were sent to. If energy is counted; over the whole run.
        energy_useful_j: Option<f64> ["J"] = it.energy.map(|spent| joules(spent.useful)),
        /// Energy, likewise, of the flow's data packets and acknowledgements that ended before their destination or
        /// brought nothing new. The energy spent on a packet after its arrival counts here too.
        energy_in_vain_j: Option<f64> ["J"] = it.energy.map(|spent| joules(spent.in_vain)),
        /// Energy, likewise, of those that existed when the run ended.
        energy_under_way_j: Option<f64> ["J"] = it.energy.map(|spent| joules(spent.under_way)),
    }
}
