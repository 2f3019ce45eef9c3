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
mod rack_linux;
mod reno;
mod sack;

use hopyard_engine::{Span, Time};

use self::loss_recovery::Recovers;
pub(crate) use self::loss_recovery::{Arrival, LossRecovery};
use super::congestion::{CongestionControl, Controller};
use super::connection::{Core, Params};
use super::recovery_choice::{RecoveryChoice, recoveries};
use crate::packet::TcpHeader;

macro_rules! recovery {
    ($($name:literal => $module:ident :: $variant:ident, $summary:literal;)+) => {
        /// The recovery of one connection.
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
        }

        impl Recovery {
            /// Whether the recovery marks segments on the scoreboard.
            pub const fn marks(&self) -> bool {
                match self { $(Self::$variant(_) => <$module::$variant as Recovers>::MARKS,)+ }
            }

            /// Whether data counts as in Linux.
            pub const fn counts_as_linux(&self) -> bool {
                match self { $(Self::$variant(_) => <$module::$variant as Recovers>::AS_LINUX,)+ }
            }
        }

        impl LossRecovery for Recovery {
            fn on_event(&mut self) {
                match self { $(Self::$variant(it) => it.on_event(),)+ }
            }
            fn on_written(&mut self) {
                match self { $(Self::$variant(it) => it.on_written(),)+ }
            }
            fn on_pause(&mut self, core: &mut Core) {
                match self { $(Self::$variant(it) => it.on_pause(core),)+ }
            }
            fn largest_buffer(&self, core: &Core) -> u32 {
                match self { $(Self::$variant(it) => it.largest_buffer(core),)+ }
            }
            fn inspect(&mut self, core: &mut Core, control: &mut Controller, header: &TcpHeader) {
                match self { $(Self::$variant(it) => it.inspect(core, control, header),)+ }
            }
            fn on_ack(&mut self, core: &mut Core, control: &mut Controller, arrival: &Arrival<'_>) {
                match self { $(Self::$variant(it) => it.on_ack(core, control, arrival),)+ }
            }
            fn on_opened(&mut self, core: &mut Core, opened: Option<Span>) {
                match self { $(Self::$variant(it) => it.on_opened(core, opened),)+ }
            }
            fn reordering(&self) -> Option<u32> {
                match self { $(Self::$variant(it) => it.reordering(),)+ }
            }
            fn repeats_timeout(&self, core: &Core) -> u32 {
                match self { $(Self::$variant(it) => it.repeats_timeout(core),)+ }
            }
            fn after_timeout(&mut self, core: &mut Core, control: &mut Controller) {
                match self { $(Self::$variant(it) => it.after_timeout(core, control),)+ }
            }
            fn on_forced(&mut self, core: &mut Core, index: usize) {
                match self { $(Self::$variant(it) => it.on_forced(core, index),)+ }
            }
            fn on_held(&mut self, core: &mut Core) {
                match self { $(Self::$variant(it) => it.on_held(core),)+ }
            }
            fn on_refused(&mut self, core: &mut Core) {
                match self { $(Self::$variant(it) => it.on_refused(core),)+ }
            }
            fn together(&self, core: &Core, index: usize, quantum: u32) -> u32 {
                match self { $(Self::$variant(it) => it.together(core, index, quantum),)+ }
            }
            fn buffer(&self, core: &Core, index: usize) -> Option<u32> {
                match self { $(Self::$variant(it) => it.buffer(core, index),)+ }
            }
            fn sets_timer(&self) -> bool {
                match self { $(Self::$variant(it) => it.sets_timer(),)+ }
            }
            fn on_duplicate(&mut self, core: &mut Core, control: &mut Controller, header: &TcpHeader) {
                match self { $(Self::$variant(it) => it.on_duplicate(core, control, header),)+ }
            }
            fn on_old(&mut self, core: &mut Core, control: &mut Controller, header: &TcpHeader) {
                match self { $(Self::$variant(it) => it.on_old(core, control, header),)+ }
            }
            fn on_timeout(&mut self, core: &mut Core) {
                match self { $(Self::$variant(it) => it.on_timeout(core),)+ }
            }
            fn next(&mut self, core: &mut Core) -> Option<usize> {
                match self { $(Self::$variant(it) => it.next(core),)+ }
            }
            fn on_sent(&mut self, core: &mut Core, index: usize) {
                match self { $(Self::$variant(it) => it.on_sent(core, index),)+ }
            }
            fn deadline(&self) -> Time {
                match self { $(Self::$variant(it) => it.deadline(),)+ }
            }
            fn on_timer(&mut self, core: &mut Core, control: &mut Controller) {
                match self { $(Self::$variant(it) => it.on_timer(core, control),)+ }
            }
        }
    };
}
recoveries!(recovery);
