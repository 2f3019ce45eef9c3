//! The congestion control of each TCP variant, one file each.
//!
//! A variant receives distinct events and returns an [`Answer`]. It does not repair losses
//! ([`crate::transport::recovery`] does), keeps no retransmission timer and sends nothing. Windows count segments.
//!
//! Adding a variant is one file here and one line in the list below.

// The trait comes before the variants of two computations, which are enums that dispatch it.
pub mod control;

pub mod adaptive_pacing;
pub mod bbr;
pub mod bbr3;
pub mod compound;
pub mod copa;
pub mod cubic;
pub mod elfn;
pub mod external;
pub mod htcp;
pub mod illinois;
pub mod ledbat;
pub mod newreno;
pub mod reno;
pub mod sack;
pub mod tahoe;
pub mod vegas;
pub mod veno;
pub mod welcome;
pub mod westwood;
pub mod westwood_plus;
pub mod yeah;

#[cfg(test)]
mod testing;

use enum_dispatch::enum_dispatch;
use hopyard_engine::{Rng, Time};

pub use self::control::{
    Ack, Answer, Arrived, Before, Cause, Condition, CongestionControl, Decision, Duplicate, ExternalControl, Loss,
    LostSegment, Pace, Phase, RateSample, Restore, Sent, Sign, Timeout, View, Wants,
};
pub use super::notice::NetworkEvent;
pub use super::recovery_choice::RecoveryChoice;

/// Makes the registry, and the enum that forwards every event to the variant in use without a virtual call.
macro_rules! variants {
    ($($name:literal => $module:ident :: $variant:ident, $summary:literal $(, $property:ident($($value:literal)?))*;)+) => {
        crate::registry! {
            "congestion" + External(external::ExternalConfig):
                $($name => $module::$variant, $summary $(, $property($($value)?))*;)+
        }

        /// The congestion control of one connection.
        #[enum_dispatch(CongestionControl)]
        pub enum Controller {
            $(#[doc = $summary] $variant($module::$variant),)+
            /// A congestion control from outside this crate.
            External(Box<dyn ExternalControl>),
        }

        impl Controller {
            /// The congestion control that a configuration names. `rng` is the sender's own stream.
            #[must_use]
            pub fn new(config: &Config, rng: Rng) -> Self {
                let mut control = match config {
                    $(Config::$variant(params) => Self::$variant($module::$variant::new(params)),)+
                    Config::External(external) => return Self::External(external.build(rng)),
                };
                match &mut control {
                    Self::Bbr(bbr) => bbr.seed(rng),
                    Self::Bbr3(bbr) => bbr.seed(rng),
                    _ => {}
                }
                control
            }
        }
    };
}

variants! {
    "tahoe" => tahoe::Tahoe, "Tahoe: one segment after every loss (Jacobson 1988).", nearest_in_linux("reno");
    "reno" => reno::Reno, "Reno: half the window after a fast retransmission (RFC 5681).", twin_in_linux();
    "newreno" => newreno::NewReno, "NewReno: Reno that repairs several losses in one recovery (RFC 6582).", nearest_in_linux("reno");
    "sack" => sack::Sack, "SACK: Reno's window with selective acknowledgements (RFC 6675).", nearest_in_linux("reno");
    "elfn" => elfn::Elfn,
        "ELFN: NewReno that stops after a notice of a broken route, and then resumes (Holland and Vaidya 1999).", twin_in_linux();
    "adaptive_pacing" => adaptive_pacing::AdaptivePacing,
        "Adaptive Pacing (TCP-AP): NewReno with segments spaced by the delay of four hops (ElRakabawy et al. 2005).", twin_in_linux();
    "vegas" => vegas::Vegas, "Vegas: keeps a few segments queued (Brakmo and Peterson 1995).", twin_in_linux();
    "bbr" => bbr::Bbr, "BBR version 1: paces at the rate at which the network delivers (Cardwell et al. 2016).", twin_in_linux();
    "cubic" => cubic::Cubic, "CUBIC: the window is a cubic function of the time since the last loss (RFC 9438).", twin_in_linux();
    "westwood" => westwood::Westwood,
        "Westwood: a bandwidth estimated from each acknowledgement sets the window (Mascolo et al. 2001).", nearest_in_linux("westwood");
    "westwood_plus" => westwood_plus::WestwoodPlus,
        "Westwood+: Westwood with one bandwidth sample in each round trip (Grieco and Mascolo 2004).", twin_in_linux_as("westwood");
    "veno" => veno::Veno, "Veno: the queue distinguishes random losses from congestion (Fu and Liew 2003).", twin_in_linux();
    "illinois" => illinois::Illinois,
        "Illinois: the queueing delay controls the growth and the reduction of the window (Liu et al. 2008).", twin_in_linux();
    "htcp" => htcp::Htcp,
        "H-TCP: the window grows faster with the time since the last loss (Leith and Shorten 2004).", twin_in_linux();
    "yeah" => yeah::Yeah,
        "YeAH: grows fast while the queue is short, and as Reno while it is long (Baiocchi et al. 2007).", twin_in_linux();
    "compound" => compound::Compound,
        "Compound TCP: Reno's window, and a window that grows fast without a queue (Tan et al. 2006).", nearest_in_linux("reno");
    "copa" => copa::Copa,
        "Copa: a target rate that decreases with the queueing delay (Arun and Balakrishnan 2018).", nearest_in_linux("vegas");
    "ledbat" => ledbat::Ledbat,
        "LEDBAT: background traffic that keeps its own queue at a target delay (RFC 6817).", nearest_in_linux("vegas");
    "bbr3" => bbr3::Bbr3,
        "BBR version 3: BBR bounded by the losses that it sees (draft-ietf-ccwg-bbr).", nearest_in_linux("bbr");
    "welcome" => welcome::Welcome,
        "WELCOME: distinguishes congestion, channel losses and broken links (Ghaleb-Seddik et al. 2012).", twin_in_linux();
}

impl Config {
    /// As [`Controller::answers_marks`].
    #[must_use]
    pub const fn answers_marks(&self) -> bool {
        !matches!(self, Self::Bbr(_) | Self::Bbr3(_))
    }
}

impl std::fmt::Debug for Controller {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Controller")
    }
}

/// The events and answers of few variants.
impl Controller {
    /// The opening was answered. Not called if the connection opens without an exchange.
    pub fn on_opened(&mut self, view: &View) {
        if let Self::Bbr(bbr) = self {
            bbr.on_opened(view);
        }
    }

    /// The loss that reduced the window was none: the window and the threshold as they were before.
    pub fn on_undo(&mut self, before: &Before, view: &View) -> Answer {
        match self {
            Self::Bbr(bbr) => bbr.on_undo(before, view),
            Self::Bbr3(bbr) => bbr.on_undo(before, view),
            Self::Welcome(welcome) => welcome.on_undo(before, view),
            Self::External(control) => control.on_undo(before, view),
            _ => before.restored(view),
        }
    }

    /// The sender begins or ends to see losses or reordering, or to repair losses; only Linux's TCP says so.
    pub fn on_condition(&mut self, condition: Condition, view: &View) {
        match self {
            Self::Bbr(bbr) => bbr.on_condition(condition),
            Self::Vegas(vegas) => vegas.on_condition(condition, view),
            Self::Veno(veno) => veno.on_condition(condition),
            Self::Yeah(yeah) => yeah.on_condition(condition, view),
            Self::External(control) => control.on_condition(condition, view),
            _ => {}
        }
    }

    /// Whether this variant distinguishes causes of loss. The world then records what is needed to compare its
    /// decisions with the true causes.
    #[must_use]
    pub const fn classifies(&self) -> bool {
        matches!(self, Self::Welcome(_))
    }

    /// How the loss just answered was judged; asked after each `on_loss` and `on_timeout`.
    pub fn decision(&mut self) -> Option<Decision> {
        match self {
            Self::Welcome(welcome) => welcome.decision(),
            _ => None,
        }
    }

    /// Whether it is ns-2's Vegas: its first segment carries data, and headers do not count in the size of its
    /// segments.
    #[must_use]
    pub fn is_ns2_vegas(&self) -> bool {
        matches!(self, Self::Vegas(vegas) if vegas.is_ns2())
    }

    /// Whether marks of queues would slow this variant down: only then may queues mark its segments instead of dropping
    /// them.
    #[must_use]
    pub const fn answers_marks(&self) -> bool {
        !matches!(self, Self::Bbr(_) | Self::Bbr3(_))
    }

    /// The error of a congestion control from outside this crate, if it failed; reported once.
    pub fn failure(&mut self) -> Option<String> {
        match self {
            Self::External(control) => control.failure(),
            _ => None,
        }
    }
}

/// A variant may be wrapped in a congestion control from outside.
impl ExternalControl for Controller {
    fn on_undo(&mut self, before: &Before, view: &View) -> Answer {
        Self::on_undo(self, before, view)
    }

    fn on_condition(&mut self, condition: Condition, view: &View) {
        Self::on_condition(self, condition, view);
    }

    fn failure(&mut self) -> Option<String> {
        Self::failure(self)
    }
}
