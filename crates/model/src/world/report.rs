//! The tables of a run, at its end and before.

use hopyard_engine::{Span, Time};

use super::flow::Flow;
use super::{Attachment, World};
use crate::address::NodeId;
use crate::channel::AnyChannel;
use crate::channel::energy::{Attojoules, Purpose, Spent, joules};
use crate::context::{DropReason, Shares};
use crate::observe::{DropRow, FlowRow, NodeRow, Outcome, OverheadRow, OwnColumn, Probe, own_columns};
use crate::packet::{Packet, PacketKind};
use crate::transport::connection::Phase;

/// Data packets of a flow that are still on the way.
#[derive(Clone, Copy, Default)]
struct Left {
    anywhere: u64,
    /// Of these, in interface queues.
    queued: u64,
}

impl<P: Probe> World<P> {
    /// The results up to now: all tables, or the one with this name.
    #[must_use]
    pub fn outcome(&self, only: Option<&str>) -> Outcome {
        let mut outcome = Outcome {
            digest: self.cx.digest.value(),
            events: self.events_so_far(),
            frames: self.channels.iter().map(AnyChannel::frames).sum(),
            receptions: self.edges() / 2,
            packets: self.cx.ledger.originated,
            simulated: self.cx.now.seconds(),
            cancelled: self.cancelled || self.cx.now < self.end,
            ..Outcome::default()
        };
        outcome.fill(only, self.cx.now, |report| {
            report.table(|| self.flows());
            report.table(|| self.nodes());
            report.table(|| self.drops());
            report.table(|| self.series.clone());
            report.table(|| self.overhead());
            self.probe.report(report);
        });
        outcome
    }

    /// Edges of transmissions at radios.
    fn edges(&self) -> u64 {
        self.channels.iter().map(AnyChannel::edges).sum()
    }

    /// The number of events so far, as [`Outcome::events`] counts them.
    pub(super) fn events_so_far(&self) -> u64 {
        self.events - self.queued_edges + self.edges()
    }

    /// A row for each flow, as of now.
    #[must_use]
    pub fn flows(&self) -> Vec<FlowRow> {
        let mut left = vec![Left::default(); self.flows.len()];
        let mut count = |packet: &Packet, field: fn(&mut Left) -> &mut u64| {
            if packet.kind() == PacketKind::Data
                && let Some(left) = left.get_mut(packet.flow.index())
            {
                *field(left) += 1;
            }
        };
        self.under_way().for_each(|packet| count(packet, |left| &mut left.anywhere));
        self.queued().for_each(|packet| count(packet, |left| &mut left.queued));
        let spent = self.cx.spending.as_ref().map(|spending| spending.shares(self.cx.now));
        let spent = |flow: usize| spent.as_ref().and_then(|spent| spent.get(flow));
        left.into_iter().enumerate().map(|(flow, left)| self.flow_row(flow, left, spent(flow))).collect()
    }

    /// A row for each node, as of now.
    #[must_use]
    pub fn nodes(&self) -> Vec<NodeRow> {
        (0..self.nodes.len()).map(|node| self.node_row(node)).collect()
    }

    fn flow_row(&self, number: usize, left: Left, spent: Option<&Shares>) -> FlowRow {
        let flow: &Flow = &self.flows[number];
        let meter = &flow.meter;
        let window = self.cx.now.since(meter.from()).seconds();
        let kbps = |bytes: u64| if window > 0.0 { bytes as f64 * 8.0 / window / 1e3 } else { 0.0 };
        let percent = |part: u64, whole: u64| if whole > 0 { 100.0 * part as f64 / whole as f64 } else { 0.0 };
        let milliseconds = |span: Option<Span>| span.map(|span| span.seconds() * 1e3);
        let (all, before) = (self.counts(number), flow.before);
        let retransmissions = all.retransmissions - before.retransmissions;
        let timeouts = all.timeouts - before.timeouts;
        let fast_retransmits = all.fast_retransmits - before.fast_retransmits;
        let (notices, probes) = (all.notices - before.notices, all.probes - before.probes);
        let dropped = all.dropped.packets - before.dropped.packets;
        let copies_dropped = all.dropped.copies - before.dropped.copies;
        let phases = all.phases.since(&before.phases);
        let [slow_start, avoidance, recovery, frozen] =
            [Phase::SlowStart, Phase::Avoidance, Phase::Recovery, Phase::Frozen].map(|phase| phases.of(phase));
        FlowRow {
            flow: number as u32,
            source: flow.from.0,
            destination: flow.to.0,
            transport: flow.name.clone(),
            label: flow.label.clone(),
            routing: self.nodes[flow.from.index()].routing_protocol,
            goodput_kbps: kbps(meter.delivered),
            throughput_kbps: kbps(meter.network_bytes),
            payload_kbps: kbps(if flow.segment > 0 { meter.unique * flow.segment } else { meter.delivered }),
            delay_ms: milliseconds(meter.mean_delay()),
            delay_p50_ms: milliseconds(meter.delay_quantile(0.50)),
            delay_p95_ms: milliseconds(meter.delay_quantile(0.95)),
            delay_p99_ms: milliseconds(meter.delay_quantile(0.99)),
            jitter_ms: milliseconds(meter.jitter()),
            application_delay_ms: milliseconds(meter.mean_application_delay()),
            packets_sent: meter.sent,
            packets_arrived: meter.arrived,
            packets_unique: meter.unique,
            packets_dropped: dropped,
            packets_left: left.anywhere,
            packets_queued: left.queued,
            retransmissions,
            timeouts: Some(timeouts),
            fast_retransmits: Some(fast_retransmits),
            loss_transport_percent: percent(retransmissions, meter.sent),
            loss_network_percent: percent(dropped, meter.sent),
            loss_ns2_percent: percent(copies_dropped + left.queued, self.numbered_measured()),
            hops: (meter.arrived > 0).then(|| meter.hops as f64 / meter.arrived as f64),
            route_changes: meter.route_changes,
            notices,
            probes,
            first_arrival_s: meter.first_arrival.map(Time::seconds),
            first_new_s: meter.first_new.map(Time::seconds),
            first_delivery_s: meter.first_delivery.map(Time::seconds),
            delivered_bytes: meter.delivered,
            cwnd_mean: (flow.segment > 0).then(|| flow.cwnd.mean(self.cx.now)).flatten(),
            slow_start_s: slow_start.time.seconds(),
            avoidance_s: avoidance.time.seconds(),
            recovery_s: recovery.time.seconds(),
            frozen_s: frozen.time.seconds(),
            acks_slow_start: slow_start.acks,
            acks_avoidance: avoidance.acks,
            acks_recovery: recovery.acks,
            segments_slow_start: slow_start.segments,
            segments_avoidance: avoidance.segments,
            segments_recovery: recovery.segments,
            rtt_samples: all.rtt_samples - before.rtt_samples,
            energy_useful_j: spent.map(|spent| joules(spent.useful)),
            energy_in_vain_j: spent.map(|spent| joules(spent.in_vain)),
            energy_under_way_j: spent.map(|spent| joules(spent.under_way)),
        }
    }

    /// The number of packets so far that ns-2 would number. It numbers neither AODV's messages nor those of address
    /// resolution.
    pub(super) fn numbered(&self) -> u64 {
        let of_kind = |kind: PacketKind| self.cx.ledger.originated_by_kind[kind as usize];
        let routing = if self.nodes.iter().any(|node| !node.numbered_by_ns2) {
            0
        } else {
            of_kind(PacketKind::Routing) + self.cx.ledger.numbered_only
        };
        of_kind(PacketKind::Data) + of_kind(PacketKind::Ack) + of_kind(PacketKind::External) + routing
    }

    /// The packets since `measure.from` that ns-2 would number.
    #[must_use]
    pub fn numbered_measured(&self) -> u64 {
        self.numbered() - self.numbered_before
    }

    /// The packets that are on their way now, each once, however many copies there are. What is left of those that have
    /// arrived is not among them.
    pub fn under_way(&self) -> impl Iterator<Item = &Packet> {
        let mut counted = Vec::new();
        let packets = self.cx.packets.iter();
        packets.filter(move |&(id, _)| self.cx.copies.counts(id, &mut counted)).map(|(_, packet)| packet)
    }

    /// The packets that are in interface queues of radios; copies count.
    pub fn queued(&self) -> impl Iterator<Item = &Packet> {
        self.links().flat_map(|link| link.queue().iter()).map(|(packet, _)| &self.cx.packets[packet])
    }

    fn node_row(&self, number: usize) -> NodeRow {
        let node = &self.nodes[number];
        let (mut frames, mut data_frames, mut broadcasts) = (0, 0, 0);
        let (mut collisions, mut bit_errors) = (0, 0);
        let of_agents = |metric| node.agents.iter().find_map(|agent| agent.metric(metric));
        let of_models = |metric| node.mobility.metric(metric).or_else(|| of_agents(metric));
        let mut own: Vec<Option<u64>> = own_columns().iter().map(|it| of_models(&it.metric)).collect();
        let mut spent: Option<Spent> = None;
        let mut received = None;
        let (mut queue_mean, mut queue_max) = (0.0, 0);
        for interface in self.interfaces_of(NodeId(number as u32)) {
            if let Attachment::Radio { channel, station, link, .. } = &self.interfaces[interface.index()].attachment {
                let it = self.channels[channel.index()].station(*station as usize, self.cx.now);
                frames += it.frames;
                data_frames += it.counted.data;
                broadcasts += it.counted.broadcasts;
                for (column, OwnColumn { metric, .. }) in own.iter_mut().zip(own_columns()) {
                    if let Some((_, value)) = it.own.iter().find(|(own, _)| own.name == metric.name) {
                        *column = Some(column.unwrap_or(0) + value);
                    }
                }
                if let Some(radio) = it.spent {
                    *spent.get_or_insert_default() += radio;
                }
                if let Some(spending) = &self.cx.spending {
                    *received.get_or_insert(0) += spending.received(interface);
                }
                collisions += it.lost.collisions;
                bit_errors += it.lost.bit_errors;
                let queue = link.queue().statistics(self.cx.now);
                queue_mean += queue.mean;
                queue_max = queue_max.max(queue.max as u64);
            }
        }
        let id = NodeId(number as u32);
        let dropped = PacketKind::ALL
            .iter()
            .flat_map(|&kind| DropReason::ALL.iter().map(move |&reason| self.cx.drops.get(id, kind, reason)))
            .sum();
        let overhead = self.cx.overhead.of(id);
        let tunnelled = self.cx.tunnelled.get(number).copied().unwrap_or_default();
        let (mut data_packets, mut data_bytes) = (0, 0);
        for flow in self.flows.iter().filter(|flow| flow.to == id) {
            data_packets += flow.meter.total_unique();
            data_bytes += flow.meter.total_delivered();
        }
        let time = |of: fn(&Spent) -> Span| spent.as_ref().map(|spent| of(spent).seconds());
        let counted = spent.as_ref().filter(|_| self.is_metered);
        let energy = |of: fn(&Spent) -> Attojoules| counted.map(|spent| joules(of(spent)));
        // The last nanosecond of a battery may take a little more than there was.
        let left = spent.as_ref().zip(self.capacity(id)).map(|(spent, full)| joules((full - spent.total()).max(0)));
        NodeRow {
            node: number as u32,
            forwarded: node.forwarded,
            routing_packets: node.routing_packets,
            routing_bytes: node.routing_bytes,
            piggybacked_bytes: overhead.iter().map(|(_, _, tally)| tally.piggybacked_bytes).sum(),
            data_packets,
            data_bytes,
            simulated_s: self.cx.now.seconds(),
            frames,
            data_frames,
            broadcasts,
            collisions,
            bit_errors,
            queue_mean,
            queue_max,
            dropped,
            icmp_errors: node.icmp_errors,
            tunnelled: tunnelled.packets,
            tunnel_bytes: tunnelled.bytes,
            sending_s: time(|spent| spent.sending),
            hearing_s: time(|spent| spent.hearing),
            idle_s: time(|spent| spent.idling),
            sleeping_s: time(|spent| spent.sleeping),
            off_s: time(|spent| spent.off),
            energy_j: energy(|spent| spent.total()),
            energy_send_j: energy(|spent| spent.send),
            energy_hear_j: energy(|spent| spent.hear),
            energy_receive_j: received.map(joules),
            energy_idle_j: energy(|spent| spent.idle),
            energy_sleep_j: energy(|spent| spent.sleep),
            energy_data_j: energy(|spent| spent.account.by_purpose[Purpose::Data as usize]),
            energy_ack_j: energy(|spent| spent.account.by_purpose[Purpose::Ack as usize]),
            energy_mac_j: energy(|spent| spent.account.by_purpose[Purpose::Mac as usize]),
            energy_routing_j: energy(|spent| spent.account.by_purpose[Purpose::Routing as usize]),
            energy_arp_j: energy(|spent| spent.account.by_purpose[Purpose::Arp as usize]),
            energy_other_j: energy(|spent| spent.account.by_purpose[Purpose::Other as usize]),
            energy_retries_j: energy(|spent| spent.account.again),
            energy_retransmissions_j: energy(|spent| spent.account.retransmissions),
            energy_left_j: left,
            battery_empty_s: self.died(id).map(Time::seconds),
            own,
        }
    }

    /// A row for each node and type of routing or control message that it has sent or received so far.
    #[must_use]
    pub fn overhead(&self) -> Vec<OverheadRow> {
        let of_node = |node: u32| {
            self.cx.overhead.of(NodeId(node)).into_iter().map(move |(kind, message, tally)| OverheadRow {
                node,
                kind: kind.name(),
                message,
                sent: tally.sent,
                sent_bytes: tally.bytes,
                sent_radio: tally.by_radio,
                sent_radio_bytes: tally.radio_bytes,
                sent_wire: tally.by_wire,
                sent_wire_bytes: tally.wire_bytes,
                originated: tally.originated,
                originated_bytes: tally.originated_bytes,
                piggybacked: tally.piggybacked,
                piggybacked_bytes: tally.piggybacked_bytes,
                received: tally.received,
            })
        };
        (0..self.nodes.len() as u32).flat_map(of_node).collect()
    }

    /// A row for each node, kind of packet and reason with a drop so far.
    #[must_use]
    pub fn drops(&self) -> Vec<DropRow> {
        let mut rows = Vec::new();
        for node in 0..self.nodes.len() as u32 {
            for kind in PacketKind::ALL {
                for reason in DropReason::ALL {
                    let count = self.cx.drops.get(NodeId(node), kind, reason);
                    if count > 0 {
                        rows.push(DropRow { node, kind: kind.name(), reason: reason.name(), count });
                    }
                }
            }
        }
        rows
    }
}
