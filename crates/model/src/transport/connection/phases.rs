//! What a sender does in each phase: the time that it spends there, and the events that cost computation.
//!
//! Counted once for all variants, so that their computation can be compared (`docs/models/computation.md`).

use hopyard_engine::{Span, Time};

use super::Core;

/// The phase of a sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// The window is below the slow start threshold; also while the connection opens, and after a timeout.
    SlowStart,
    /// The window is at the slow start threshold, or above.
    Avoidance,
    /// Losses that were found without a timeout are repaired (fast retransmit and fast recovery).
    Recovery,
    /// The sender waits for a route, and only probes.
    Frozen,
}

/// What a sender did in one phase.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Work {
    /// The time in this phase.
    pub time: Span,
    /// Acknowledgements that arrived in it.
    pub acks: u64,
    /// Segments with payload sent in it, retransmissions included.
    pub segments: u64,
}

/// What a sender did in every phase.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Phases([Work; 4]);

impl Phases {
    /// What it did in a phase.
    #[must_use]
    pub const fn of(&self, phase: Phase) -> Work {
        self.0[phase as usize]
    }

    /// What it did since `before`.
    #[must_use]
    pub fn since(&self, before: &Self) -> Self {
        let pairs = self.0.iter().zip(&before.0);
        let mut left = pairs.map(|(now, then)| Work {
            time: now.time - then.time,
            acks: now.acks - then.acks,
            segments: now.segments - then.segments,
        });
        Self(std::array::from_fn(|_| left.next().expect("both have every phase")))
    }

    #[inline]
    const fn at(&mut self, phase: Phase) -> &mut Work {
        &mut self.0[phase as usize]
    }
}

impl Core {
    /// The phase that the sender is in.
    #[inline]
    pub(crate) fn phase(&self) -> Phase {
        if self.frozen.is_some() {
            Phase::Frozen
        } else if self.recovering {
            Phase::Recovery
        } else if self.cwnd < self.ssthresh {
            Phase::SlowStart
        } else {
            Phase::Avoidance
        }
    }

    /// Counts the time since the last event: the phase has not changed since.
    #[inline]
    pub(crate) fn spend(&mut self, now: Time) {
        let phase = self.phase();
        self.phases.at(phase).time += now.since(self.spent_until);
        self.spent_until = now;
    }

    /// The time until now counts in no phase: the connection is not open yet.
    #[inline]
    pub(crate) const fn skip_to(&mut self, now: Time) {
        self.spent_until = now;
    }

    /// An acknowledgement has arrived.
    #[inline]
    pub(crate) fn count_ack(&mut self) {
        let phase = self.phase();
        self.phases.at(phase).acks += 1;
    }

    /// A segment with payload is sent.
    #[inline]
    pub(crate) fn count_segment(&mut self) {
        let phase = self.phase();
        self.phases.at(phase).segments += 1;
    }

    /// What the sender did in every phase until now.
    pub(crate) fn phases_at(&self, now: Time) -> Phases {
        let mut phases = self.phases;
        phases.at(self.phase()).time += now.since(self.spent_until);
        phases
    }
}
