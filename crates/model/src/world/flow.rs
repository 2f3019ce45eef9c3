//! Flows: the data that goes from one socket to another, and the meter that counts its packets.

use std::borrow::Cow;

use hopyard_engine::Time;

use crate::address::{Address, NodeId};
use crate::context::FlowDrops;
use crate::observe::FlowMeter;
use crate::packet::FlowId;
use crate::transport::connection::{Phases, SenderCounters};

/// Bytes of a flow that had arrived when a sample was taken.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sampled {
    /// Payload that the application had received in order.
    pub delivered: u64,
    /// IP bytes of data packets, duplicates included.
    pub network: u64,
}

/// A flow from one node to another. The data that an application sends back is a flow of its own.
#[derive(Debug)]
pub(super) struct Flow {
    pub from: NodeId,
    pub to: NodeId,
    /// The sockets at its source and at its destination.
    pub source: usize,
    pub sink: usize,
    /// The flow of the specification.
    pub of: usize,
    /// The flow that it answers.
    pub answers: Option<u32>,
    /// The group to which its packets go.
    pub group: Option<Box<ToGroup>>,
    pub name: Cow<'static, str>,
    pub label: Cow<'static, str>,
    pub dscp: u8,
    /// Payload of a full segment; zero for UDP.
    pub segment: u64,
    pub meter: FlowMeter,
    /// Whether its sender distinguishes causes of loss.
    pub classifies: bool,
    /// Whether its sender asks for notices of segments that a node could not forward.
    pub wants_notices: bool,
    /// How often the source's route has changed in the measuring window.
    pub route_changes: u64,
    /// The next hop and the number of hops of the source's route, as announced last.
    pub route: Option<(Address, u8)>,
    /// Nodes that have sent an ICMP error about the flow, each with the time of the last.
    pub errors: Vec<(NodeId, Time)>,
    /// The counts at the last sample.
    pub sampled: Sampled,
    /// The mean of the congestion window.
    pub cwnd: WindowMean,
    /// The counts when the measuring window began.
    pub before: Counts,
}

impl Flow {
    /// The number of receivers of its packets.
    pub(super) fn receivers(&self) -> usize {
        self.group.as_ref().map_or(1, |group| group.receivers.len())
    }

    /// The flow of a receiver of its packets, if they go to a group.
    pub(super) fn of_receiver(&self, place: usize) -> Option<usize> {
        Some(self.group.as_ref()?.receivers.get(place)?.1)
    }
}

/// The part of a flow among those that the packets to one group make, one for each receiver.
#[derive(Debug)]
pub(super) struct ToGroup {
    /// The address of the group.
    pub address: Address,
    /// The flow whose number the packets have.
    pub first: FlowId,
    /// The receivers, each with its flow, in order of the receivers; empty for all flows but the first.
    pub receivers: Vec<(NodeId, usize)>,
    /// A bit for each datagram that has arrived at the receiver.
    arrived: Vec<u64>,
}

impl ToGroup {
    pub(super) const fn new(address: Address, first: FlowId, receivers: Vec<(NodeId, usize)>) -> Self {
        Self { address, first, receivers, arrived: Vec::new() }
    }

    /// The flow of a receiver.
    pub(super) fn of(&self, node: NodeId) -> Option<usize> {
        let place = self.receivers.binary_search_by_key(&node, |(node, _)| *node).ok()?;
        Some(self.receivers[place].1)
    }

    /// Whether a datagram has arrived.
    pub(super) fn has(&self, sequence: u64) -> bool {
        self.arrived.get((sequence / 64) as usize).is_some_and(|word| word >> (sequence % 64) & 1 == 1)
    }

    /// A datagram arrives. Returns whether this is the first copy.
    pub(super) fn note(&mut self, sequence: u64) -> bool {
        let (word, bit) = ((sequence / 64) as usize, 1 << (sequence % 64));
        if self.arrived.len() <= word {
            self.arrived.resize(word + 1, 0);
        }
        let is_new = self.arrived[word] & bit == 0;
        self.arrived[word] |= bit;
        is_new
    }
}

/// Counters of a flow from the start of the run.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counts {
    pub sender: SenderCounters,
    pub dropped: FlowDrops,
    pub phases: Phases,
}

/// The time-weighted mean of a congestion window while its flow runs.
#[derive(Clone, Copy, Debug)]
pub(super) struct WindowMean {
    /// The window integrated from `from` to `since`, in segment-seconds.
    area: f64,
    from: Time,
    since: Time,
    /// When the flow stops.
    until: Time,
    window: f64,
}

impl WindowMean {
    /// The mean of a flow that runs from `start` to `stop`.
    pub(super) const fn new(start: Time, stop: Time) -> Self {
        Self { area: 0.0, from: start, since: start, until: stop, window: 0.0 }
    }

    /// The mean of answers, which run from the first window on.
    pub(super) const fn of_answers() -> Self {
        Self::new(Time::NEVER, Time::NEVER)
    }

    /// The window from now on.
    pub(super) fn set(&mut self, now: Time, window: f64) {
        if self.from == Time::NEVER {
            (self.from, self.since) = (now, now);
        }
        let now = now.min(self.until).max(self.since);
        self.area += self.window * now.since(self.since).seconds();
        (self.since, self.window) = (now, window);
    }

    /// The time before does not count for the mean.
    pub(super) fn restart(&mut self, now: Time) {
        if self.from == Time::NEVER {
            return;
        }
        self.set(now, self.window);
        if now > self.from {
            (self.area, self.from, self.since) = (0.0, now, now);
        }
    }

    /// The mean up to now; none if the flow has not run yet.
    pub(super) fn mean(mut self, now: Time) -> Option<f64> {
        if self.from == Time::NEVER {
            return None;
        }
        self.set(now, self.window);
        (self.since > self.from).then(|| self.area / self.since.since(self.from).seconds())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> Time {
        Time::ZERO + hopyard_engine::Span::from_secs(seconds)
    }

    #[test]
    fn the_mean_is_that_of_the_time_in_which_the_flow_runs() {
        let mut mean = WindowMean::new(at(30), at(50));
        assert_eq!(mean.mean(at(20)), None);
        mean.set(at(30), 10.0);
        mean.set(at(40), 20.0);
        assert_eq!(mean.mean(at(45)), Some(40.0 / 3.0));
        assert_eq!((mean.mean(at(50)), mean.mean(at(60))), (Some(15.0), Some(15.0)));
        mean.restart(at(40));
        assert_eq!(mean.mean(at(60)), Some(20.0));
    }

    #[test]
    fn a_flow_that_starts_after_the_measuring_has_begun_is_measured_from_its_start() {
        let mut mean = WindowMean::new(at(30), Time::NEVER);
        mean.restart(at(10));
        mean.set(at(30), 10.0);
        assert_eq!(mean.mean(at(60)), Some(10.0));
    }
}
