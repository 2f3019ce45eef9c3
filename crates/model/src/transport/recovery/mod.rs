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

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use self::fine_grained::FineGrained;
use self::go_back_n::GoBackN;
use self::newreno::NewReno;
use self::pipe::Pipe;
pub(crate) use self::prr::Prr;
use self::rack::Rack;
use self::reno::Reno;
use self::sack::Sack;
use hopyard_engine::Time;

use super::congestion::{CongestionControl, Controller};
use super::tcp::{Acked, Core, Params};
use crate::packet::TcpHeader;

/// Which recovery a connection uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Choice {
    /// The recovery that belongs to the congestion control.
    Variant,
    /// Duplicate acknowledgements act as a timeout: everything from the first unacknowledged segment again (Tahoe).
    GoBackN,
    /// Fast retransmit and fast recovery, which the first new acknowledgement ends (RFC 5681 §3.2).
    Reno,
    /// RFC 6582: partial acknowledgements cause retransmissions; only the first of them restarts the timer
    /// ("impatient").
    NewReno,
    /// As `new_reno`, but every partial acknowledgement restarts the timer (RFC 3782 §4, "slow but steady").
    SlowButSteady,
    /// Selective acknowledgements, RFC 6675.
    Sack,
    /// Selective acknowledgements with RACK-TLP (RFC 8985): losses are detected by time, and tail loss probes are sent.
    Rack,
    /// Selective acknowledgements, the pipe algorithm of ns-2's Sack1.
    Pipe,
    /// Vegas's timeout for each segment, checked on duplicate acknowledgements and on the first acknowledgements of new
    /// data.
    FineGrained,
}

/// Whether a recovery reduces the window in proportion to the delivered data (RFC 9937).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Proportional {
    /// As usual for the recovery: yes for `rack`, no for `sack`.
    Recovery,
    /// Yes, if the recovery is `rack` or `sack`.
    On,
    /// No.
    Off,
}

/// An event for a recovery: the acknowledgement's header and what it covers.
pub(crate) struct Arrival<'a> {
    pub header: &'a TcpHeader,
    pub acked: Acked,
}

/// What a recovery does on each event.
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
fn resolve(params: &Params, control: &Controller) -> Choice {
    match params.recovery {
        Choice::Variant => control.recovery(),
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
            Choice::GoBackN => Self::GoBackN(GoBackN),
            // An external congestion control that names no recovery gets the standard one.
            Choice::NewReno | Choice::Variant => Self::NewReno(NewReno::new(true)),
            Choice::SlowButSteady => Self::NewReno(NewReno::new(false)),
            Choice::Reno => Self::Reno(Reno::default()),
            Choice::Sack => Self::Sack(Sack::new(proportional(false))),
            Choice::Rack => Self::Rack(Rack::new(proportional(true), control.governs_recovery())),
            Choice::Pipe => Self::Pipe(Pipe::default()),
            Choice::FineGrained => Self::FineGrained(FineGrained::default()),
        }
    }

    /// Whether the receiver must report received segments by SACK.
    pub const fn wants_sack(&self) -> bool {
        matches!(self, Self::Sack(_) | Self::Rack(_) | Self::Pipe(_))
    }
}
