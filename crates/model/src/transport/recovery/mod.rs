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

use enum_dispatch::enum_dispatch;
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

/// The recovery of one connection.
#[enum_dispatch(LossRecovery)]
#[derive(Clone, Debug)]
pub(crate) enum Recovery {
    GoBackN(GoBackN),
    Reno(Reno),
    NewReno(NewReno),
    Sack(Sack),
    Rack(Rack),
    Pipe(Pipe),
    FineGrained(FineGrained),
}

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
