//! The work of a sender in each phase: the time that it spends there, and the events that cost computation.
//!
//! Counted once for all variants, so that their computation can be compared (`docs/models/computation.md`).

use hopyard_engine::Span;

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

/// The work of a sender in one phase.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Work {
    /// The time in this phase.
    pub time: Span,
    /// Acknowledgements that arrived in it.
    pub acks: u64,
    /// Segments with payload sent in it, retransmissions included.
    pub segments: u64,
}

/// The work of a sender in every phase.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Phases([Work; 4]);

impl Phases {
    /// Its work in a phase.
    #[must_use]
    pub const fn of(&self, phase: Phase) -> Work {
        self.0[phase as usize]
    }

    /// Its work since `before`.
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

    /// The sum of its work and other work.
    #[must_use]
    pub fn plus(&self, other: &Self) -> Self {
        let mut sum = *self;
        for (mine, its) in sum.0.iter_mut().zip(&other.0) {
            mine.time += its.time;
            mine.acks += its.acks;
            mine.segments += its.segments;
        }
        sum
    }

    #[inline]
    pub(super) const fn at(&mut self, phase: Phase) -> &mut Work {
        &mut self.0[phase as usize]
    }
}
