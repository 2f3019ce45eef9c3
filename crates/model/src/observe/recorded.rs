//! The probes of a run that records more than counters, and their records.

use super::decisions::Decisions;
use super::detours::Detours;
use super::handoffs::Handoffs;
use super::object_log::ObjectLog;
use super::path_log::PathLog;
use super::probe::Probes;
use super::rate_log::RateLog;
use super::route_log::{RouteChanges, RouteLog};
use super::segment_log::{SegmentFlows, SegmentLog};

/// The records of a run beyond counters and series.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recorded {
    /// Changes of routes.
    pub routes: RouteChanges,
    /// Changes of the rates of links.
    pub rates: bool,
    /// The paths of data packets.
    pub paths: bool,
    /// The segments of flows.
    pub segments: SegmentFlows,
    /// The events of hosts that move between networks, and of their agents.
    pub mobile_events: bool,
}

impl Recorded {
    /// Whether nothing is recorded.
    #[must_use]
    pub fn is_nothing(&self) -> bool {
        *self == Self::default()
    }

    /// The probes that record this; decisions of senders, handoffs, detours and objects, too, where there are
    /// such.
    #[must_use]
    pub fn probes(&self) -> Probes {
        let mut probes: Probes = vec![
            Box::<Decisions>::default(),
            Box::new(Handoffs::new(self.mobile_events)),
            Box::<Detours>::default(),
            Box::<ObjectLog>::default(),
        ];
        if self.routes != RouteChanges::None {
            probes.push(Box::new(RouteLog::new(self.routes)));
        }
        if self.rates {
            probes.push(Box::<RateLog>::default());
        }
        if self.paths {
            probes.push(Box::<PathLog>::default());
        }
        if self.segments != SegmentFlows::None {
            probes.push(Box::new(SegmentLog::new(self.segments.clone())));
        }
        probes
    }
}
