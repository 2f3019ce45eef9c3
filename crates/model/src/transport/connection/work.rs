//! What a sender has to compute, by phase: counted here once, for all congestion controls.
//!
//! A sender that repairs losses found without a timeout is in recovery. Otherwise it is in slow start while its window
//! is below the slow start threshold, and in congestion avoidance after that (RFC 5681 §3.1). After a timeout it is in
//! slow start. A congestion control without a threshold stays in slow start by this rule.

use std::ops::Sub;

use hopyard_engine::{Span, Time};

use super::core::Core;

/// A phase of congestion control.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// The window is below the slow start threshold.
    SlowStart,
    /// The window has reached the slow start threshold.
    CongestionAvoidance,
    /// Losses found without a timeout are repaired.
    Recovery,
}

impl Phase {
    /// How many there are.
    pub const COUNT: usize = 3;
}

/// The events of a sender that need computation, and its time in each phase.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Work {
    /// Acknowledgements received, by the phase in which they found the sender.
    pub acks: [u64; Phase::COUNT],
    /// Samples taken into the estimate of the round trip.
    pub samples: u64,
    /// The time in each phase, while there was something to send or to be acknowledged.
    pub time: [Span; Phase::COUNT],
    /// Up to when the time is counted.
    since: Time,
}

impl Work {
    /// The phase, if there is one, lasts until now.
    pub(crate) fn spend(&mut self, phase: Option<Phase>, now: Time) {
        if let Some(phase) = phase {
            self.time[phase as usize] += now.since(self.since);
        }
        self.since = now;
    }
}

impl Sub for Work {
    type Output = Self;

    /// What was done since an earlier state.
    fn sub(self, earlier: Self) -> Self {
        let mut rest = self;
        for phase in 0..Phase::COUNT {
            rest.acks[phase] -= earlier.acks[phase];
            rest.time[phase] -= earlier.time[phase];
        }
        rest.samples -= earlier.samples;
        rest
    }
}

impl Core {
    /// The phase.
    pub(crate) fn phase(&self) -> Phase {
        if self.recovering {
            Phase::Recovery
        } else if self.cwnd < self.ssthresh {
            Phase::SlowStart
        } else {
            Phase::CongestionAvoidance
        }
    }
}
