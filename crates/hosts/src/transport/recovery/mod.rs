//! Loss recovery: how a sender finds losses without a timeout and repairs them. It is chosen separately from the
//! congestion control.
//!
//! A recovery counts duplicate acknowledgements, decides what is retransmitted and when, and reports a loss to the
//! congestion control once for each necessary reduction. During a recovery it may inflate the window
//! (`Core::inflation`), or count the segments in the network. After a timeout all recoveries retransmit from the first
//! unacknowledged segment on.

mod fine_grained;
mod go_back_n;
mod newreno;
mod pipe;
mod prr;
mod rack;
mod reno;
mod sack;

use enum_dispatch::enum_dispatch;
use hopyard_engine::Time;

pub(crate) use self::prr::Prr;
use super::congestion::{CongestionControl, Controller};
use super::connection::{Acked, Core, Params};
use super::recovery_choice::{Proportional, RecoveryChoice, recoveries};
use crate::packet::TcpHeader;

macro_rules! recovery {
    ($($name:literal => $module:ident :: $variant:ident, $summary:literal;)+) => {
        /// The recovery of one connection.
        #[enum_dispatch]
        #[derive(Clone, Debug)]
        pub(crate) enum Recovery {
            $($variant($module::$variant),)+
        }

        impl Recovery {
            /// The recovery that the parameters name, or the congestion control's own.
            pub fn new(params: &Params, control: &Controller) -> Self {
                Self::of(params.recovery, params, control)
                    .or_else(|| Self::of(control.recovery(), params, control))
                    .or_else(|| Self::of(RecoveryChoice::STANDARD, params, control))
                    .expect("the standard recovery is one of the list")
            }

            fn of(choice: RecoveryChoice, params: &Params, control: &Controller) -> Option<Self> {
                match choice {
                    RecoveryChoice::Variant => None,
                    $(RecoveryChoice::$variant => {
                        Some(Self::$variant(<$module::$variant as Recovers>::new(params, control)))
                    })+
                }
            }

            /// Whether the receiver must report received segments by SACK.
            pub const fn wants_sack(&self) -> bool {
                match self { $(Self::$variant(_) => <$module::$variant as Recovers>::WANTS_SACK,)+ }
            }

            /// Whether the recovery marks segments on the scoreboard.
            pub const fn marks(&self) -> bool {
                match self { $(Self::$variant(_) => <$module::$variant as Recovers>::MARKS,)+ }
            }
        }
    };
}
recoveries!(recovery);

/// An event for a recovery: the acknowledgement's header and its coverage.
pub(crate) struct Arrival<'a> {
    pub header: &'a TcpHeader,
    pub acked: Acked,
}

/// A recovery's steps on each event.
// Here, and not before the enum, because the impl of the enum is made where the trait is.
#[enum_dispatch(Recovery)]
pub(crate) trait LossRecovery {
    /// An acknowledgement arrived that the scoreboard has not processed yet.
    fn inspect(&mut self, _core: &mut Core, _control: &mut Controller, _header: &TcpHeader) {}

    /// New data was acknowledged, and the scoreboard has processed it.
    fn on_ack(&mut self, core: &mut Core, control: &mut Controller, arrival: &Arrival<'_>);

    /// A duplicate acknowledgement arrived.
    fn on_duplicate(&mut self, core: &mut Core, control: &mut Controller, header: &TcpHeader);

    /// The retransmission timer has expired. The following steps are the same for all recoveries.
    fn on_timeout(&mut self, core: &mut Core);

    /// The next segment in normal order, counted from the first unacknowledged one, if the window has room.
    fn next(&mut self, core: &mut Core) -> Option<usize> {
        core.next_in_window()
    }

    /// The segment that `next` returned was sent.
    fn on_sent(&mut self, _core: &mut Core, _index: usize) {}

    /// When `on_timer` must be called.
    fn deadline(&self) -> Time {
        Time::NEVER
    }

    /// The deadline has been reached, or the call is early.
    fn on_timer(&mut self, _core: &mut Core, _control: &mut Controller) {}
}

/// How a recovery is made.
pub(crate) trait Recovers: LossRecovery + Sized {
    /// Whether the receiver must report received segments by SACK.
    const WANTS_SACK: bool = false;
    /// Whether the recovery marks reported and lost segments on the scoreboard.
    const MARKS: bool = Self::WANTS_SACK;

    /// The recovery of a connection with these parameters, under this congestion control.
    fn new(params: &Params, control: &Controller) -> Self;
}

/// Whether reductions are in proportion to the delivered data (RFC 9937). `by_itself` is the choice of the recovery
/// otherwise.
pub(crate) fn proportional(params: &Params, control: &Controller, by_itself: bool) -> bool {
    match params.prr {
        _ if control.wants().recovery_window => false,
        Proportional::Recovery => by_itself,
        choice => choice == Proportional::On,
    }
}
