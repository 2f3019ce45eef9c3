//! The answers of a congestion control, and how it judges losses.

use hopyard_engine::Span;

/// The causes that a variant which distinguishes causes of loss can decide on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// A full queue.
    Congestion,
    /// A frame that the channel spoilt: noise, fading, interference.
    Wireless,
    /// A link of the route that broke.
    LinkFailure,
}

impl Cause {
    /// Its name in tables.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Congestion => "congestion",
            Self::Wireless => "wireless",
            Self::LinkFailure => "link_failure",
        }
    }
}

/// The sign that showed a loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sign {
    /// Duplicate acknowledgements, or a fine-grained timeout checked on one.
    DuplicateAcks,
    /// The retransmission timer.
    Timeout,
}

impl Sign {
    /// Its name in tables.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::DuplicateAcks => "duplicate_acks",
            Self::Timeout => "timeout",
        }
    }
}

/// The classification of a loss by a variant that distinguishes causes of loss, and its evidence.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Decision {
    /// The cause that it assumes.
    pub cause: Cause,
    /// The sign of the loss.
    pub by: Sign,
    /// The quantity it judged by; which one, the variant says (WELCOME: round trips that had grown).
    pub evidence: f64,
    /// The value of `evidence` beyond which a loss counts as congestion.
    pub limit: f64,
    /// How many round trips the evidence is made from.
    pub samples: u32,
    /// Its own average of the round trip.
    pub filtered: Option<Span>,
    /// The last round trip.
    pub last: Option<Span>,
}

/// The state that the end of a freeze restores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Restore {
    /// Windows, timeout and round-trip estimate as they were when the freeze began.
    AtFreeze,
    /// As they were before the first timeout since the last new acknowledgement, if there was one; otherwise as
    /// `AtFreeze`.
    BeforeTimeout,
}

/// The answer of a variant to an event.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Answer {
    /// Nothing.
    Keep,
    /// Set congestion window and slow start threshold, in segments: growth and cuts alike.
    Set {
        /// The congestion window.
        cwnd: f64,
        /// The slow start threshold.
        ssthresh: f64,
    },
    /// As `Set`, and multiply the retransmission timeout by `rto`; after a timeout this replaces the doubling.
    Rescale {
        /// The congestion window.
        cwnd: f64,
        /// The slow start threshold.
        ssthresh: f64,
        /// The factor.
        rto: f64,
    },
    /// Stop: keep windows, timeout and round-trip estimate, stop the retransmission timer, and send nothing but the
    /// first unacknowledged segment every `probe`, until an acknowledgement arrives or the variant answers `Thaw`. A
    /// sender that is frozen already stays as it is.
    Freeze {
        /// Time between probes.
        probe: Span,
        /// The state that the end of the freeze restores.
        restore: Restore,
    },
    /// End the freeze: the state is restored, and the retransmission timer restarts.
    Thaw,
}
