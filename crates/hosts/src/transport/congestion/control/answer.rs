//! The answers of a congestion control, and how it judges losses.

use hopyard_engine::Span;
use strum::IntoStaticStr;

/// The causes that a variant which distinguishes causes of loss can decide on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
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
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// The sign that showed a loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq, IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum Sign {
    /// Duplicate acknowledgements, or a fine-grained timeout checked on one.
    DuplicateAcks,
    /// The retransmission timer.
    Timeout,
}

impl Sign {
    /// Its name in tables.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.into()
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
    /// Stop: keep windows, timeout and round-trip estimate, and stop the retransmission timer. Until an acknowledgement
    /// arrives or the variant answers `Thaw`, send only the first unacknowledged segment, every `probe`. A sender that
    /// is frozen already stays as it is.
    Freeze {
        /// Time between probes.
        probe: Span,
        /// The state that the end of the freeze restores.
        restore: Restore,
    },
    /// End the freeze: the state is restored, and the retransmission timer restarts.
    Thaw,
}

/// How a variant spaces its segments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pace {
    /// The least time between two segments; zero for a sender that does not pace.
    pub gap: Span,
    /// Segments that a pacing sender sends together. As many gaps pass before it may send the next ones.
    pub quantum: u32,
    /// The rate in bytes per second and the bytes of a segment, where the gaps of several segments are computed from
    /// them (Linux's BBR).
    pub exact: Option<(u64, u32)>,
    /// Whether the congestion control itself sends less than the network could take. Rate samples of data that it sends
    /// now then count as limited by the application (BBR's PROBE_RTT).
    pub limits_itself: bool,
}

impl Pace {
    /// A sender that does not pace.
    pub const NONE: Self = Self::of(Span::ZERO);

    /// Segments one by one, with this gap.
    #[must_use]
    pub const fn of(gap: Span) -> Self {
        Self { gap, quantum: 1, exact: None, limits_itself: false }
    }

    /// The least time between so many bytes that are sent together and the next segment, with full ones of `segment`
    /// bytes.
    #[must_use]
    pub fn gap_after(&self, bytes: u64, segment: u32) -> Span {
        match self.exact {
            Some((rate, _)) => (bytes * 1_000_000_000).checked_div(rate).map_or(Span::ZERO, Span::from_nanos),
            None => Span::from_nanos(self.gap.nanos() * bytes / u64::from(segment.max(1))),
        }
    }

    /// The least time between so many segments that are sent together and the next one.
    #[must_use]
    pub fn gap_of(&self, segments: u32) -> Span {
        let Some((rate, segment)) = self.exact else { return self.gap * u64::from(segments) };
        let bytes = u64::from(segments) * u64::from(segment);
        (bytes * 1_000_000_000).checked_div(rate).map_or(Span::ZERO, Span::from_nanos)
    }
}

/// The wishes of a variant to the sender.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wants {
    /// Acknowledgements carry a [`RateSample`](super::RateSample). Nothing is kept of segments for a congestion control
    /// that does not want it.
    pub rate: bool,
    /// Nodes send a notice if they cannot forward a segment. Only then does the sender receive
    /// [`NetworkEvent::Unreachable`](crate::transport::notice::NetworkEvent::Unreachable).
    pub notices: bool,
    /// The congestion control sets the window during recovery too, from `on_ack` and `on_duplicate`: proportional rate
    /// reduction is then off.
    pub recovery_window: bool,
}
