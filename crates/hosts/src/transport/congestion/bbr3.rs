//! BBR version 3: BBR that also bounds its rate and its data in flight by the losses that it sees.
//!
//! Read: draft-ietf-ccwg-bbr (N. Cardwell, I. Swett, J. Beshay; the working copy of 3 August 2026), whose sections are
//! cited below by their names, and whose appendix of test cases is in `bbr3/cases.rs`. As in version 1, a model of the
//! path has the largest delivery rate (of two cycles of probing) and the shortest round trip (of ten seconds). Besides,
//! losses give it two pairs of bounds. The long-term bound is the data in flight at which probing lost more than 2 %.
//! The short-term bounds follow the delivered rate and data of a round trip with losses; the next probe forgets them.
//! Decisions where the draft leaves some, or that Linux's `bbr3` has: losses of Startup count by acknowledgements that
//! report some, not by ranges; of the segments that one acknowledgement declares lost, the one with the largest share
//! of losses stands for all (HandleLostPacket); a cycle without samples does not forget the bandwidth; an
//! acknowledgement without a valid sample begins no round. Left out: ECN; the offload budget of QUIC. Only the profile
//! `linux` of TCP detects spurious losses, and so only with it are they undone. Validated by the draft's test cases,
//! and beside version 1 (`tests/delay_senders.rs`).

mod control;
mod machine;
mod model;
mod params;
mod phases;

use hopyard_engine::Time;

pub use self::machine::Bbr3;
use self::model::{Sample, State};
pub use self::params::Params;
use super::{Ack, Answer, Before, CongestionControl, Duplicate, Loss, Pace, RateSample, Sent, Timeout, View, Wants};

impl Bbr3 {
    /// `UpdateOnACK`.
    fn on_sample(&mut self, rate: &RateSample, view: &View) -> Answer {
        let segment = f64::from(view.segment);
        let segments = |bytes: u64| bytes as f64 / segment;
        let sample = Sample {
            rate: rate.rate().unwrap_or(0.0) / segment,
            delivered: segments(rate.delivered),
            acked: segments(rate.newly_delivered),
            app_limited: rate.app_limited,
            prior_delivered: rate.prior_delivered,
            total_delivered: rate.total_delivered,
            round_trip: rate.round_trip,
            in_flight: rate.sent_pipe,
            lost: view.lost - rate.prior_lost,
        };
        self.model.segment = segment;
        self.model.delivered = rate.total_delivered;
        self.cwnd = view.cwnd;
        self.drained = view.app_limited;
        if !view.recovering {
            // Nothing had to be repaired: a mark, or a loss that a probe has repaired.
            self.recovery = None;
        }
        if self.repair.is_some_and(|end| view.una >= end) {
            self.repair = None;
            self.cwnd = self.cwnd.max(self.prior_cwnd);
        }
        if let Some(lost) = rate.lost_segment {
            self.on_lost_segment(&lost, &sample, view);
        }
        self.update_model_and_state(&sample, view);
        self.set_pacing_rate(view);
        self.set_cwnd(&sample);
        Answer::Set { cwnd: self.cwnd, ssthresh: view.ssthresh }
    }

    /// `HandleSpuriousLossDetection`.
    pub(super) fn on_undo(&mut self, before: &Before, view: &View) -> Answer {
        self.cwnd = view.cwnd.max(self.prior_cwnd).max(before.cwnd);
        self.recovery = None;
        self.repair = None;
        self.handle_spurious_losses();
        self.bound_cwnd_for_model();
        Answer::Set { cwnd: self.cwnd, ssthresh: view.ssthresh.max(before.ssthresh) }
    }
}

impl CongestionControl for Bbr3 {
    fn on_ack(&mut self, ack: &Ack, view: &View) -> Answer {
        ack.rate.map_or(Answer::Keep, |sample| self.on_sample(&sample, view))
    }

    fn on_duplicate(&mut self, duplicate: &Duplicate, view: &View) -> Answer {
        duplicate.rate.map_or(Answer::Keep, |sample| self.on_sample(&sample, view))
    }

    fn on_loss(&mut self, _loss: &Loss, view: &View) -> Answer {
        self.cwnd = view.cwnd;
        self.save_cwnd();
        self.save_state();
        self.recovery = Some(self.model.rounds.count);
        Answer::Set { cwnd: view.cwnd, ssthresh: view.ssthresh }
    }

    fn on_recovered(&mut self, view: &View) -> Answer {
        self.recovery = None;
        self.cwnd = view.cwnd.max(self.prior_cwnd);
        self.bound_cwnd_for_model();
        Answer::Set { cwnd: self.cwnd, ssthresh: view.ssthresh }
    }

    fn on_timeout(&mut self, timeout: &Timeout, view: &View) -> Answer {
        if timeout.repeated == 0 {
            self.cwnd = view.cwnd;
            self.save_cwnd();
            self.save_state();
        }
        self.recovery = None;
        self.repair = Some(view.max);
        Answer::Set { cwnd: 1.0, ssthresh: view.ssthresh }
    }

    fn on_idle(&mut self, _restart: f64, _view: &View) -> Answer {
        // The window remains; the pacing rate limits what follows a pause ("Restarting From Idle").
        Answer::Keep
    }

    fn on_sent(&mut self, sent: &Sent, view: &View) {
        if sent.len == 0 {
            return;
        }
        if self.rate <= 0.0 {
            self.initial_cwnd = view.cwnd;
            self.pace_at_first(view);
            self.model.start(view.now);
        }
        if view.pipe + 1.0 > view.cwnd {
            self.limited_round = Some(self.model.rounds.count);
        }
        let first = !sent.retransmission && sent.seq == view.una;
        if first && std::mem::take(&mut self.drained) {
            self.restart_from_idle(view);
        }
    }

    fn on_timer(&mut self, view: &View) -> Answer {
        if view.now < std::mem::replace(&mut self.restore_at, Time::NEVER) {
            return Answer::Keep;
        }
        Answer::Set { cwnd: view.cwnd.max(self.prior_cwnd), ssthresh: view.ssthresh }
    }

    fn deadline(&self) -> Time {
        self.restore_at
    }

    fn pace(&self) -> Pace {
        Pace { quantum: self.quantum as u32, limits_itself: self.state == State::ProbeRtt, ..Pace::of(self.gap) }
    }

    fn bandwidth(&self) -> Option<f64> {
        Some(self.model.bw * self.model.segment).filter(|rate| *rate > 0.0)
    }

    fn wants(&self) -> Wants {
        Wants { rate: true, recovery_window: true, ..Wants::default() }
    }
}

#[cfg(test)]
mod cases;
#[cfg(test)]
mod tests;
