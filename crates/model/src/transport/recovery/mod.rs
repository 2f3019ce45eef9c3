//! Loss recovery: how a sender finds losses without a timeout and repairs them. It is chosen separately from the
//! congestion control.
//!
//! A recovery counts duplicate acknowledgements, decides what is retransmitted and when, and reports a loss to the
//! congestion control once for each necessary reduction. During a recovery it may inflate the window
//! (`Core::inflation`), or count the segments in the network. After a timeout all recoveries retransmit from the first
//! unacknowledged segment on.

mod fine_grained;
mod go_back_n;
mod loss_recovery;
mod newreno;
mod pipe;
mod prr;
mod rack;
mod reno;
mod sack;

use hopyard_engine::Time;

use self::fine_grained::FineGrained;
use self::go_back_n::GoBackN;
pub(crate) use self::loss_recovery::{Arrival, LossRecovery};
use self::newreno::NewReno;
use self::pipe::Pipe;
use self::rack::Rack;
use self::reno::Reno;
use self::sack::Sack;
use super::congestion::{CongestionControl, Controller};
use super::connection::{Core, Params};
use super::recovery_choice::{Proportional, RecoveryChoice};
use crate::packet::TcpHeader;

macro_rules! recoveries {
    ($($variant:ident),+) => {
        /// The recovery of one connection.
        #[derive(Clone, Debug)]
        pub(crate) enum Recovery {
            $($variant($variant),)+
        }

        impl LossRecovery for Recovery {
            #[inline]
            fn inspect(&mut self, core: &mut Core, control: &mut Controller, header: &TcpHeader) {
                match self { $(Self::$variant(recovery) => recovery.inspect(core, control, header),)+ }
            }

            #[inline]
            fn on_ack(&mut self, core: &mut Core, control: &mut Controller, arrival: &Arrival<'_>) {
                match self { $(Self::$variant(recovery) => recovery.on_ack(core, control, arrival),)+ }
            }

            #[inline]
            fn on_duplicate(&mut self, core: &mut Core, control: &mut Controller, header: &TcpHeader) {
                match self { $(Self::$variant(recovery) => recovery.on_duplicate(core, control, header),)+ }
            }

            fn on_timeout(&mut self, core: &mut Core) {
                match self { $(Self::$variant(recovery) => recovery.on_timeout(core),)+ }
            }

            #[inline]
            fn next(&mut self, core: &mut Core) -> Option<usize> {
                match self { $(Self::$variant(recovery) => recovery.next(core),)+ }
            }

            #[inline]
            fn on_sent(&mut self, core: &mut Core, index: usize) {
                match self { $(Self::$variant(recovery) => recovery.on_sent(core, index),)+ }
            }

            #[inline]
            fn deadline(&self) -> Time {
                match self { $(Self::$variant(recovery) => recovery.deadline(),)+ }
            }

            fn on_timer(&mut self, core: &mut Core, control: &mut Controller) {
                match self { $(Self::$variant(recovery) => recovery.on_timer(core, control),)+ }
            }
        }
    };
}

recoveries!(GoBackN, Reno, NewReno, Sack, Rack, Pipe, FineGrained);

/// The recovery that the parameters name, or the congestion control's own.
fn resolve(params: &Params, control: &Controller) -> RecoveryChoice {
    match params.recovery {
        RecoveryChoice::Variant => control.recovery(),
        choice => choice,
    }
}

impl Recovery {
    /// The recovery that the parameters name, or the congestion control's own.
    pub fn new(params: &Params, control: &Controller) -> Self {
        let proportional = |by_itself: bool| match params.prr {
            _ if control.governs_recovery() => false,
            Proportional::Recovery => by_itself,
            choice => choice == Proportional::On,
        };
        match resolve(params, control) {
            RecoveryChoice::GoBackN => Self::GoBackN(GoBackN),
            // An external congestion control that names no recovery gets the standard one.
            RecoveryChoice::NewReno | RecoveryChoice::Variant => Self::NewReno(NewReno::new(true)),
            RecoveryChoice::SlowButSteady => Self::NewReno(NewReno::new(false)),
            RecoveryChoice::Reno => Self::Reno(Reno::default()),
            RecoveryChoice::Sack => Self::Sack(Sack::new(proportional(false))),
            RecoveryChoice::Rack => Self::Rack(Rack::new(proportional(true), control.governs_recovery())),
            RecoveryChoice::Pipe => Self::Pipe(Pipe::default()),
            RecoveryChoice::FineGrained => Self::FineGrained(FineGrained::default()),
        }
    }

    /// Whether the receiver must report received segments by SACK.
    pub const fn wants_sack(&self) -> bool {
        matches!(self, Self::Sack(_) | Self::Rack(_) | Self::Pipe(_))
    }
}
