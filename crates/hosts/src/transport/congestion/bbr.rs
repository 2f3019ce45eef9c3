//! BBR version 1: sends at the largest rate at which the network has recently delivered. The outstanding data is about
//! that rate multiplied by the shortest round-trip time.
//!
//! Read: N. Cardwell, Y. Cheng, C. S. Gunn, S. Hassas Yeganeh, V. Jacobson, "BBR: Congestion-Based Congestion Control",
//! ACM Queue 14(5), 2016; draft-cardwell-iccrg-bbr-congestion-control-00 (the draft, whose sections are cited below);
//! Linux's `tcp_bbr` for later additions: long-term sampling (policers), compensation for aggregated acknowledgements,
//! the margin of the pacing rate, even windows. BBR has two models of the path. The bandwidth is the largest delivery
//! rate of ten round trips. The propagation delay is the shortest round-trip time of ten seconds. A loss changes
//! neither of them. During a loss recovery the window follows the delivered data; at its end it is restored. Left out
//! of the published computation: the reset after a spurious loss detection. `linux.rs` has the computation of Linux, in
//! whole numbers. Validated by its steady state, by tests against CUBIC and NewReno (`tests/modern.rs`), against
//! ns-3.37 (`tests/drops_ns3.rs`), and against captures of Linux (`tests/linux_captures.rs`).

mod linux;
mod model;
mod params;
mod published;
mod steps;

use hopyard_engine::{Rng, Time};

use self::linux::Linux;
pub use self::params::{Mode, Params};
use self::published::Published;
use super::control::{Arithmetic, two_computations};
use super::{
    Ack, Answer, Arrived, Before, Condition, CongestionControl, Duplicate, Loss, NetworkEvent, Pace, RecoveryChoice,
    Sent, Timeout, View, Wants,
};

two_computations!(Bbr, "BBR's congestion control.", arithmetic == Arithmetic::Linux);

impl Bbr {
    /// The sender's own random stream, given before anything happens.
    pub fn seed(&mut self, rng: Rng) {
        match self {
            Self::Published(published) => published.seed(rng),
            Self::Linux(linux) => linux.seed(rng),
        }
    }

    pub(super) fn on_opened(&mut self, view: &View) {
        if let Self::Linux(linux) = self {
            linux.on_opened(view);
        }
    }

    pub(super) fn on_undo(&mut self, before: &Before, view: &View) -> Answer {
        match self {
            Self::Published(_) => before.restored(view),
            Self::Linux(linux) => linux.on_undo(before, view),
        }
    }

    pub(super) fn on_condition(&mut self, condition: Condition) {
        if let Self::Linux(linux) = self {
            linux.on_condition(condition);
        }
    }
}
