//! The trait of every congestion control.

use auto_impl::auto_impl;
use enum_dispatch::enum_dispatch;
use hopyard_engine::{Rng, Span, Time};

use super::answer::{Answer, Decision};
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
    /// The sender's own random stream, given before anything happens; a congestion control that draws keeps it.
    fn seed(&mut self, _rng: Rng) {}

    /// The opening was answered. Not called if the connection opens without an exchange.
    fn on_opened(&mut self, _view: &View) {}

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

    /// The loss that reduced the window was none: the window and the threshold as they were before. The variant that
    /// Linux has in mind returns to the larger ones.
    fn on_undo(&mut self, before: &Before, view: &View) -> Answer {
        Answer::Set { cwnd: view.cwnd.max(before.cwnd), ssthresh: view.ssthresh.max(before.ssthresh) }
    }

    /// The sender begins or ends to see losses or reordering, or to repair losses; only `rack_linux` says so.
    fn on_condition(&mut self, _condition: Condition, _view: &View) {}

    /// A segment was sent.
    fn on_sent(&mut self, _sent: &Sent, _view: &View) {}

    /// The route to the receiver was lost, restored, or changed its length; or a segment could not be delivered, where
    /// [`wants_notices`](Self::wants_notices).
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

    /// The least time between two segments; zero for a sender that does not pace.
    fn pacing_gap(&self) -> Span {
        Span::ZERO
    }

    /// The least time between so many segments that are sent together and the next one.
    fn pacing_gap_of(&self, segments: u32) -> Span {
        self.pacing_gap() * u64::from(segments)
    }

    /// Segments that a pacing sender sends together. As many gaps pass before it may send the next ones.
    fn pacing_quantum(&self) -> u32 {
        1
    }

    /// The bandwidth that the variant estimates, in bytes per second; nothing when it estimates none, or none yet.
    fn bandwidth(&self) -> Option<f64> {
        None
    }

    /// Whether this variant distinguishes causes of loss. The world then records what is needed to compare its
    /// decisions with the true causes.
    fn classifies(&self) -> bool {
        false
    }

    /// How the loss just answered was judged; asked after each `on_loss` and `on_timeout`.
    fn decision(&mut self) -> Option<Decision> {
        None
    }

    /// Whether acknowledgements are to carry a [`RateSample`](super::RateSample). Asked once, when the connection is
    /// made; nothing is kept of segments for a congestion control that does not want it.
    fn wants_rate(&self) -> bool {
        false
    }

    /// Whether the congestion control itself sends less than the network could take. Rate samples of data that it sends
    /// now then count as limited by the application (BBR's PROBE_RTT). Asked after each event that carries a sample.
    fn limits_itself(&self) -> bool {
        false
    }

    /// Whether the congestion control sets the window during recovery too, from `on_ack` and `on_duplicate`:
    /// proportional rate reduction is then off.
    fn governs_recovery(&self) -> bool {
        false
    }

    /// Whether nodes shall send a notice if they cannot forward a segment. Only then does the sender receive
    /// [`NetworkEvent::Unreachable`].
    fn wants_notices(&self) -> bool {
        false
    }

    /// How this variant repairs losses unless the scenario says otherwise.
    fn recovery(&self) -> RecoveryChoice;

    /// Whether IP and TCP headers count in the size of data packets; only ns-2's Vegas leaves them out.
    fn charges_headers(&self) -> bool {
        true
    }

    /// Whether under `connect = "ns2"` the first segment already carries data; only ns-2's Vegas does that.
    fn opens_with_data(&self) -> bool {
        false
    }

    /// The error of a congestion control that cannot continue; it ends the run and is reported once. Only those from
    /// outside this crate can fail; one that has failed must answer [`Answer::Keep`] from then on.
    fn failure(&mut self) -> Option<String> {
        None
    }
}
