//! The state machine.

use hopyard_engine::Span;

use super::machine::{AckPhase, Bbr3, Undo};
use super::model::{Sample, State};
use crate::transport::congestion::{LostSegment, View};

/// The largest exponent of the long-term bound's growth in a round.
const MOST_DOUBLINGS: u32 = 30;
/// The round trips after which Drain ends in any case.
const DRAIN_ROUNDS: u64 = 3;

impl Bbr3 {
    /// `UpdateModelAndState`.
    pub(super) fn update_model_and_state(&mut self, sample: &Sample, view: &View) {
        self.model.update_latest(sample);
        self.model.update_signals(sample, self.state, self.cwnd, &self.params);
        self.model.update_aggregation(sample, view.now, self.cwnd, &self.params);
        self.model.full.check(sample, self.model.rounds.begins);
        self.check_startup_done(sample);
        self.check_drain_done(view);
        self.update_cycle(sample, view);
        self.model.update_min_rtt(sample, view.now, &self.params);
        self.check_probe_rtt(sample, view);
        self.model.advance_latest(sample);
        self.model.bound_bw();
    }

    // Startup and Drain.

    fn check_startup_done(&mut self, sample: &Sample) {
        // `CheckStartupHighLoss`.
        let whole_round = self.recovery.is_some_and(|since| self.model.rounds.count > since);
        if self.state == State::Startup
            && self.model.loss_round_start
            && whole_round
            && self.model.loss_events >= self.params.startup_losses
            && self.is_too_high(sample)
        {
            self.undo.state = Some(State::Startup);
            self.model.full.reached = true;
            self.model.full.now = true;
            self.model.inflight_longterm = self.bdp(1.0).max(self.model.inflight_latest);
        }
        if self.state == State::Startup && self.model.full.reached {
            self.state = State::Drain;
            self.drain_round = self.model.rounds.count;
        }
    }

    fn check_drain_done(&mut self, view: &View) {
        let late = self.model.rounds.count > self.drain_round + DRAIN_ROUNDS;
        if self.state == State::Drain && (view.pipe <= self.inflight(self.model.bw) || late) {
            self.start_down(view);
        }
    }

    // The states of ProbeBW.

    fn start_down(&mut self, view: &View) {
        self.model.reset_signals();
        self.cycle.per_growth = f64::INFINITY;
        // `PickProbeWait`.
        let (round, share) = self.rng.as_mut().map_or((0, 0.0), |rng| (rng.below(2), rng.uniform()));
        self.model.rounds.since_probe = round;
        let spread = self.params.probe_wait_spread.seconds() * share;
        self.cycle.wait = self.params.probe_wait + Span::from_secs_f64(spread);
        self.cycle.since = view.now;
        self.cycle.phase = AckPhase::ProbeStopping;
        self.model.start_round();
        self.state = State::Down;
    }

    fn start_refill(&mut self) {
        self.model.reset_shortterm();
        self.cycle.up_rounds = 0;
        self.cycle.up_acked = 0.0;
        self.cycle.precautionary = false;
        self.cycle.phase = AckPhase::Refilling;
        self.model.start_round();
        self.state = State::Refill;
    }

    fn start_up(&mut self, sample: &Sample) {
        self.cycle.phase = AckPhase::ProbeStarting;
        self.model.start_round();
        self.model.full.restart(sample.rate);
        self.state = State::Up;
        self.raise_slope();
    }

    /// `UpdateProbeBWCyclePhase`.
    fn update_cycle(&mut self, sample: &Sample, view: &View) {
        if !self.model.full.reached || self.adapt_longterm(sample) {
            return;
        }
        if self.state == State::Up {
            if self.is_time_to_go_down(sample, view) {
                self.cycle.too_high = false;
                self.start_down(view);
            }
            return;
        }
        match self.state {
            State::Down | State::Cruise if self.is_time_to_probe(view) => self.start_refill(),
            State::Down if self.is_time_to_cruise(view) => self.state = State::Cruise,
            State::Refill if self.model.rounds.begins => {
                self.cycle.is_probe_sample = true;
                self.start_up(sample);
            }
            _ => {}
        }
    }

    fn is_time_to_probe(&self, view: &View) -> bool {
        let rounds = self.target_inflight().min(f64::from(self.params.probe_rounds));
        view.now > self.cycle.since + self.cycle.wait || self.model.rounds.since_probe as f64 >= rounds
    }

    fn is_time_to_cruise(&self, view: &View) -> bool {
        view.pipe <= self.with_headroom() && view.pipe <= self.inflight(self.model.max_bw())
    }

    fn is_time_to_go_down(&mut self, sample: &Sample, view: &View) -> bool {
        if self.cycle.too_high && view.pipe >= self.model.inflight_longterm {
            self.cycle.precautionary = true;
            return true;
        }
        if self.is_cwnd_limited() && self.cwnd >= self.model.inflight_longterm {
            // The long-term bound limits the bandwidth.
            self.model.full.restart(sample.rate);
            return false;
        }
        self.model.full.now
    }

    /// Whether the window was used entirely in the last round trip.
    fn is_cwnd_limited(&self) -> bool {
        self.limited_round.is_some_and(|round| round + 1 >= self.model.rounds.count)
    }

    fn raise_slope(&mut self) {
        let growth = f64::from(1_u32 << self.cycle.up_rounds);
        self.cycle.up_rounds = (self.cycle.up_rounds + 1).min(MOST_DOUBLINGS);
        self.cycle.per_growth = (self.cwnd / growth).max(1.0);
    }

    /// `ProbeInflightLongtermUpward`.
    fn raise_longterm(&mut self, sample: &Sample) {
        if !self.is_cwnd_limited() || self.cwnd < self.model.inflight_longterm {
            return;
        }
        self.cycle.up_acked += sample.acked;
        if self.cycle.up_acked >= self.cycle.per_growth {
            let growth = libm::floor(self.cycle.up_acked / self.cycle.per_growth);
            self.cycle.up_acked -= growth * self.cycle.per_growth;
            self.model.inflight_longterm += growth;
        }
        if self.model.rounds.begins {
            self.raise_slope();
        }
    }

    /// `AdaptLongTermModel`. Returns whether it has changed the state.
    fn adapt_longterm(&mut self, sample: &Sample) -> bool {
        let begins = self.model.rounds.begins;
        if self.cycle.phase == AckPhase::ProbeStarting && begins {
            self.cycle.phase = AckPhase::ProbeFeedback;
        }
        if self.cycle.phase == AckPhase::ProbeStopping && begins {
            self.cycle.is_probe_sample = false;
            self.cycle.phase = AckPhase::Init;
            if self.state.is_probe_bw() {
                if !sample.app_limited {
                    self.model.advance_max_bw();
                }
                if self.cycle.precautionary && !self.cycle.too_high {
                    self.start_refill();
                    return true;
                }
            }
        }
        if !self.is_too_high(sample) && self.model.inflight_longterm.is_finite() {
            self.model.inflight_longterm = self.model.inflight_longterm.max(sample.in_flight);
            if self.state == State::Up {
                self.raise_longterm(sample);
            }
        }
        false
    }

    // Losses.

    /// `IsInflightTooHigh`.
    fn is_too_high(&self, sample: &Sample) -> bool {
        sample.lost > sample.in_flight * self.params.loss_threshold
    }

    /// `HandleLostPacket`, for the segment with the largest share of losses.
    pub(super) fn on_lost_segment(&mut self, lost: &LostSegment, sample: &Sample, view: &View) {
        if self.model.note_loss() {
            self.save_cwnd();
            self.save_state();
        }
        let seen = Sample { in_flight: lost.sent_pipe, lost: lost.lost, app_limited: lost.app_limited, ..*sample };
        if !self.cycle.is_probe_sample || !self.is_too_high(&seen) {
            return;
        }
        // `InflightAtLoss`: where in this segment the share of losses was exceeded.
        let before = lost.sent_pipe - 1.0;
        let threshold = self.params.loss_threshold;
        let prefix = (threshold * before - (lost.lost - 1.0)) / (1.0 - threshold);
        self.handle_too_high(&Sample { in_flight: before + prefix, ..seen }, view);
    }

    fn handle_too_high(&mut self, sample: &Sample, view: &View) {
        self.cycle.too_high = true;
        self.cycle.is_probe_sample = false;
        if !sample.app_limited {
            self.model.inflight_longterm = sample.in_flight.max(self.target_inflight() * self.params.beta);
        }
        if self.state == State::Up {
            self.undo.state = Some(State::Up);
            self.start_down(view);
        }
    }

    /// `SaveStateUponLoss`.
    pub(super) const fn save_state(&mut self) {
        self.undo = Undo {
            state: None,
            bw_shortterm: self.model.bw_shortterm,
            inflight_shortterm: self.model.inflight_shortterm,
            inflight_longterm: self.model.inflight_longterm,
        };
    }

    pub(super) fn handle_spurious_losses(&mut self) {
        self.model.loss_in_round = false;
        self.model.full.restart(0.0);
        self.model.bw_shortterm = self.model.bw_shortterm.max(self.undo.bw_shortterm);
        self.model.inflight_shortterm = self.model.inflight_shortterm.max(self.undo.inflight_shortterm);
        self.model.inflight_longterm = self.model.inflight_longterm.max(self.undo.inflight_longterm);
        match self.undo.state.take() {
            Some(State::Startup) if self.state != State::Startup => {
                self.model.full.reached = false;
                if self.state != State::ProbeRtt {
                    self.state = State::Startup;
                }
            }
            Some(State::Up) if self.state != State::Up && self.state != State::ProbeRtt => {
                self.start_refill();
            }
            _ => {}
        }
    }

    // ProbeRTT, and pauses.

    fn check_probe_rtt(&mut self, sample: &Sample, view: &View) {
        if self.state != State::ProbeRtt && self.model.probe_rtt_expired && !self.idle_restart {
            self.save_cwnd();
            self.state = State::ProbeRtt;
            self.probe_done = None;
            self.cycle.phase = AckPhase::ProbeStopping;
            self.model.start_round();
        }
        if self.state == State::ProbeRtt {
            self.handle_probe_rtt(view);
        }
        if sample.delivered > 0.0 {
            self.idle_restart = false;
        }
    }

    fn handle_probe_rtt(&mut self, view: &View) {
        if self.probe_done.is_none() {
            if view.pipe <= self.probe_rtt_cwnd() {
                self.probe_done = Some(view.now + self.params.probe_rtt_time);
                self.probe_round_done = false;
                self.model.start_round();
            }
            return;
        }
        self.probe_round_done |= self.model.rounds.begins;
        if self.probe_round_done && self.is_probe_rtt_done(view) {
            self.cwnd = self.cwnd.max(self.prior_cwnd);
            self.exit_probe_rtt(view);
        }
    }

    fn is_probe_rtt_done(&self, view: &View) -> bool {
        self.probe_done.is_some_and(|done| view.now > done)
    }

    fn exit_probe_rtt(&mut self, view: &View) {
        self.model.probe_min_at = view.now;
        self.model.reset_shortterm();
        if self.model.full.reached {
            self.start_down(view);
            self.state = State::Cruise;
        } else {
            self.state = State::Startup;
        }
    }

    /// `HandleRestartFromIdle`.
    pub(super) fn restart_from_idle(&mut self, view: &View) {
        self.idle_restart = true;
        self.model.extra_since = view.now;
        if self.state.is_probe_bw() {
            self.pace_with(1.0, view);
        } else if self.state == State::ProbeRtt && self.is_probe_rtt_done(view) {
            self.exit_probe_rtt(view);
            self.restore_at = view.now;
        }
    }
}
