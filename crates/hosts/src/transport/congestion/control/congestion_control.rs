//! The trait of every congestion control.

use auto_impl::auto_impl;
use enum_dispatch::enum_dispatch;
use hopyard_engine::Time;

use super::answer::{Answer, Pace, Wants};
use super::event::{Ack, Arrived, Before, Condition, Duplicate, Loss, Sent, Timeout};
use super::view::View;
use crate::transport::notice::NetworkEvent;
use crate::transport::recovery_choice::RecoveryChoice;

/// The congestion control of a TCP variant.
///
/// Every method but `on_ack`, `on_loss` and `on_timeout` has a default that does nothing.
#[enum_dispatch]
#[auto_impl(Box)]
pub trait CongestionControl {
    /// An acknowledgement arrived: called for each, before what it means for losses is known.
    fn on_arrival(&mut self, _arrived: &Arrived, _view: &View) -> Answer {
        Answer::Keep
    }

    /// New data was acknowledged. Most variants leave the window alone during recovery.
    fn on_ack(&mut self, ack: &Ack, view: &View) -> Answer;

    /// A duplicate acknowledgement arrived. Recovery counts it; a variant that counts delivered data wants to know.
    fn on_duplicate(&mut self, _duplicate: &Duplicate, _view: &View) -> Answer {
        Answer::Keep
    }

    /// A loss was found without a timeout.
    fn on_loss(&mut self, loss: &Loss, view: &View) -> Answer;

    /// The retransmission timer expired with data outstanding.
    fn on_timeout(&mut self, timeout: &Timeout, view: &View) -> Answer;

    /// A recovery ends, before `on_ack` is called with [`Phase::Recovered`](super::Phase::Recovered).
    fn on_recovered(&mut self, _view: &View) -> Answer {
        Answer::Keep
    }

    /// A segment was sent.
    fn on_sent(&mut self, _sent: &Sent, _view: &View) {}

    /// The route to the receiver was lost, restored, or changed its length; or a segment could not be delivered, where
    /// the variant [wants](Self::wants) notices.
    fn on_network(&mut self, _event: NetworkEvent, _view: &View) -> Answer {
        Answer::Keep
    }

    /// Data is to be sent after a pause longer than the retransmission timeout; `restart` is the window that the
    /// parameters ask for.
    fn on_idle(&mut self, restart: f64, view: &View) -> Answer {
        Answer::Set { cwnd: view.cwnd.min(restart), ssthresh: view.ssthresh }
    }

    /// The variant's own deadline is reached.
    fn on_timer(&mut self, _view: &View) -> Answer {
        Answer::Keep
    }

    /// When `on_timer` must be called.
    fn deadline(&self) -> Time {
        Time::NEVER
    }

    /// How the variant spaces its segments now.
    fn pace(&self) -> Pace {
        Pace::NONE
    }

    /// The bandwidth that the variant estimates, in bytes per second; nothing when it estimates none, or none yet.
    fn bandwidth(&self) -> Option<f64> {
        None
    }

    /// The wishes of the variant to the sender. Asked once, when the connection is made.
    fn wants(&self) -> Wants {
        Wants::default()
    }

    /// How this variant repairs losses unless the scenario says otherwise: with selective acknowledgements (RFC 6675).
    fn recovery(&self) -> RecoveryChoice {
        RecoveryChoice::Sack
    }
}

/// A congestion control from outside this crate, for example one that a user writes.
#[auto_impl(Box)]
pub trait ExternalControl: CongestionControl + Send {
    /// The loss that reduced the window was none: the window and the threshold as they were before. The variant that
    /// Linux has in mind returns to the larger ones.
    fn on_undo(&mut self, before: &Before, view: &View) -> Answer {
        before.restored(view)
    }

    /// The sender begins or ends to see losses or reordering, or to repair losses; only Linux's TCP says so.
    fn on_condition(&mut self, _condition: Condition, _view: &View) {}

    /// The error of a congestion control that cannot continue; it ends the run and is reported once. One that has
    /// failed must answer [`Answer::Keep`] from then on.
    fn failure(&mut self) -> Option<String> {
        None
    }
}
