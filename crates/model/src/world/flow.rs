//! Flows: the data that goes from one socket to another, and the meter that counts its packets.

use std::borrow::Cow;

use hopyard_engine::Time;

use crate::address::{Address, NodeId};
use crate::context::FlowDrops;
use crate::observe::FlowMeter;
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
    /// The flow that it answers.
    pub answers: Option<u32>,
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
