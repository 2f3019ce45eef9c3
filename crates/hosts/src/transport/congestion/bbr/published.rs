//! BBR as published, in real numbers. The sections belong to draft-cardwell-iccrg-bbr-congestion-control-00.

use hopyard_engine::{Rng, Span, Time};

use super::model::{self, Aggregation, LongTerm, MaxFilter};
use super::params::{FULL_GROWTH, LARGEST_QUANTUM, Mode, Params, SLOW};
use super::steps::{self, Cycle, Full, Gains, Rounds};
use crate::transport::congestion::{
    Ack, Answer, CongestionControl, Duplicate, Loss, Pace, RateSample, Sent, Timeout, View, Wants,
};

/// Whether losses are being repaired.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Repair {
    Not,
    /// Found by acknowledgements.
    Recovery,
    /// Found by a timeout; it ends when this is acknowledged.
    Timeout(u64),
}

/// BBR's congestion control. Rates are bytes of payload per second.
#[derive(Clone, Debug)]
pub struct Published {
    params: Params,
    gains: Gains<f64>,
    mode: Mode,
    pacing_gain: f64,
    cwnd_gain: f64,
    /// The bandwidth, by rounds.
    bandwidth: MaxFilter,
    long_term: LongTerm,
    aggregation: Aggregation,
    /// Round trips by delivered bytes.
    rounds: Rounds,
    min_rtt: Option<Span>,
    /// The same in seconds, divided by the bytes of a segment: computed once and not on each acknowledgement.
    min_rtt_per_byte: f64,
    min_rtt_at: Time,
    full: Full<f64>,
    cycle: Cycle,
    /// When PROBE_RTT may end after the window is drained, and whether a round has passed since then.
    probe_done: Option<Time>,
    probe_round_done: bool,
    /// The pacing rate, and the resulting time between segments.
    rate: f64,
    gap: Span,
    /// Segments that are sent together.
    quantum: f64,
    seen_rtt: bool,
    /// When the last segment was sent.
    sent: Time,
    repair: Repair,
    /// Sends no more than is delivered: the first round of a recovery.
    conservation: bool,
    /// The window before losses or PROBE_RTT reduced it.
    prior_cwnd: f64,
    /// Segments delivered by the last acknowledgement, and bytes delivered in total.
    acked: f64,
    delivered: u64,
    /// The application had no more data; it resumes after a pause.
    drained: bool,
    idle_restart: bool,
    /// When the window is restored, because PROBE_RTT has ended with a sent segment and not with an acknowledgement.
    restore_at: Time,
}

impl Published {
    /// The congestion control with these parameters.
    #[must_use]
    pub fn new(params: &Params) -> Self {
        Self {
            gains: Gains { high: params.high_gain, drain: 1.0 / params.high_gain, cwnd: params.cwnd_gain, one: 1.0 },
            mode: Mode::Startup,
            pacing_gain: params.high_gain,
            cwnd_gain: params.high_gain,
            bandwidth: MaxFilter::new(u64::from(params.bandwidth_rounds)),
            long_term: LongTerm::default(),
            aggregation: Aggregation::default(),
            rounds: Rounds::default(),
            min_rtt: None,
            min_rtt_per_byte: 0.0,
            min_rtt_at: Time::ZERO,
            full: Full::default(),
            cycle: Cycle::new(params.first_phase),
            probe_done: None,
            probe_round_done: false,
            rate: 0.0,
            gap: Span::ZERO,
            quantum: 1.0,
            seen_rtt: false,
            sent: Time::ZERO,
            repair: Repair::Not,
            conservation: false,
            prior_cwnd: 0.0,
            acked: 0.0,
            delivered: 0,
            drained: false,
            idle_restart: false,
            restore_at: Time::NEVER,
            params: params.clone(),
        }
    }

    /// The current state.
    #[must_use]
    pub const fn mode(&self) -> Mode {
        self.mode
    }

    /// The bandwidth in use: the bandwidth of the policer, if there is one.
    fn estimate(&self) -> f64 {
        self.long_term.rate().unwrap_or_else(|| self.bandwidth.max())
    }

    fn pace_at(&mut self, rate: f64, view: &View) {
        self.rate = rate;
        self.gap = if rate > 0.0 { Span::from_secs_f64(f64::from(view.segment) / rate) } else { Span::ZERO };
        let least = if rate < SLOW as f64 { 1.0 } else { 2.0 };
        self.quantum = model::floor(rate / 1024.0 / f64::from(view.segment)).clamp(least, LARGEST_QUANTUM as f64);
    }

    /// The rate before the first sample: the window in a round trip, or in a millisecond (§4.2.1).
    fn pace_at_first(&mut self, view: &View) {
        self.seen_rtt = view.srtt.is_some();
        let round_trip = view.srtt.unwrap_or(Span::from_millis(1)).seconds().max(1e-6);
        let rate = self.params.high_gain * view.cwnd * f64::from(view.segment) / round_trip;
        self.pace_at(rate * (1.0 - self.params.pacing_margin), view);
    }

    /// §4.2.1: the rate only increases before the pipe is full.
    fn set_pacing_rate(&mut self, gain: f64, view: &View) {
        if !self.seen_rtt && view.srtt.is_some() {
            self.pace_at_first(view);
        }
        let rate = gain * self.estimate() * (1.0 - self.params.pacing_margin);
        if (self.full.reached && rate != self.rate) || rate > self.rate {
            self.pace_at(rate, view);
        }
    }

    /// `gain` times bandwidth times shortest round-trip time, in segments (§4.2.3.2).
    fn product(&self, bandwidth: f64, gain: f64) -> f64 {
        if self.min_rtt.is_none() {
            return model::INITIAL_WINDOW;
        }
        let product = gain * bandwidth * self.min_rtt_per_byte;
        if self.params.whole_segments { model::ceil(product) } else { product }
    }

    /// Additions to the window: three quanta for sender, network and receiver, and room for the probe.
    fn with_quanta(&self, window: f64) -> f64 {
        let mut window = window + 3.0 * self.quantum;
        if self.params.whole_segments {
            window = 2.0 * model::ceil(window / 2.0);
        }
        if self.mode == Mode::ProbeBandwidth && self.cycle.probes() { window + 2.0 } else { window }
    }

    fn target_in_flight(&self, gain: f64) -> f64 {
        self.with_quanta(self.product(self.bandwidth.max(), gain))
    }

    /// How many of `in_flight` segments will be in the network when the next one may be sent.
    fn at_next_departure(&self, in_flight: f64, view: &View) -> f64 {
        let departs = self.sent + self.gap;
        let delivered = self.estimate() * departs.since(view.now.min(departs)).seconds() / f64::from(view.segment);
        let leaving = if self.pacing_gain > 1.0 { self.quantum } else { 0.0 };
        (in_flight + leaving - model::floor(delivered)).max(0.0)
    }

    /// §4.1.1.1 and §4.1.1.3.
    fn update_bandwidth(&mut self, sample: &RateSample, view: &View) {
        self.rounds.begins = false;
        let Some(rate) = sample.rate() else { return };
        if self.rounds.update(sample.prior_delivered, sample.total_delivered) {
            self.conservation = false;
        }
        if self.params.long_term {
            self.sample_long_term(sample.newly_lost > 0, sample.app_limited, sample.total_delivered, view);
        }
        // A sample that the application limited does not measure the path, unless it is above the estimate.
        if !sample.app_limited || rate >= self.bandwidth.max() {
            self.bandwidth.update(self.rounds.count, rate);
        }
    }

    fn sample_long_term(&mut self, loss: bool, app_limited: bool, delivered: u64, view: &View) {
        let event = model::Round {
            now: view.now,
            start: self.rounds.begins,
            cruising: self.mode == Mode::ProbeBandwidth,
            loss,
            app_limited,
            lost: view.lost * f64::from(view.segment),
            delivered: delivered as f64,
        };
        match self.long_term.update(&event) {
            model::Verdict::Nothing => {}
            model::Verdict::Policed => self.pacing_gain = 1.0,
            model::Verdict::Expired => self.enter_probe_bandwidth(view),
        }
    }

    fn enter_probe_bandwidth(&mut self, view: &View) {
        self.mode = Mode::ProbeBandwidth;
        self.cycle.begin(view.now);
    }

    fn leave_probe_rtt(&mut self, view: &View) {
        if self.full.reached {
            self.enter_probe_bandwidth(view);
        } else {
            self.mode = Mode::Startup;
        }
    }

    /// §4.3.4.3.
    fn update_cycle(&mut self, sample: &RateSample, view: &View) {
        if self.mode != Mode::ProbeBandwidth {
            return;
        }
        let whole = self.min_rtt.is_none_or(|min_rtt| view.now.since(self.cycle.since) > min_rtt);
        let in_flight = || self.at_next_departure(sample.prior_pipe, view);
        let target = |gain| self.target_in_flight(gain);
        if steps::is_over([self.pacing_gain, 1.0], whole, sample.newly_lost > 0, in_flight, target) {
            self.cycle.advance(view.now);
        }
    }

    /// §4.3.2.2.
    fn check_full(&mut self, sample: &RateSample) {
        if self.rounds.begins && !sample.app_limited {
            self.full.check(self.bandwidth.max(), |bandwidth| bandwidth * FULL_GROWTH);
        }
    }

    /// §4.3.3; returns the threshold to report when STARTUP has ended.
    fn check_drain(&mut self, view: &View) -> f64 {
        let mut ssthresh = view.ssthresh;
        if self.mode == Mode::Startup && self.full.reached {
            self.mode = Mode::Drain;
            ssthresh = self.target_in_flight(1.0);
        }
        if self.mode == Mode::Drain && self.at_next_departure(view.pipe, view) <= self.target_in_flight(1.0) {
            self.enter_probe_bandwidth(view);
        }
        ssthresh
    }

    /// §4.1.2.3 and §4.3.5; `cwnd` is restored when PROBE_RTT ends.
    fn update_min_rtt(&mut self, sample: &RateSample, cwnd: &mut f64, view: &View) {
        let expired = view.now.since(self.min_rtt_at) > self.params.min_rtt_window;
        if let Some(round_trip) = sample.round_trip
            && (expired || self.min_rtt.is_none_or(|least| round_trip <= least))
        {
            self.set_min_rtt(round_trip, view);
        }
        if expired && !self.idle_restart && self.mode != Mode::ProbeRtt {
            self.mode = Mode::ProbeRtt;
            self.save_cwnd(view);
            self.probe_done = None;
        }
        if self.mode == Mode::ProbeRtt {
            match self.probe_done {
                None if view.pipe <= f64::from(self.params.min_window) => {
                    self.probe_done = Some(view.now + self.params.probe_rtt_time);
                    self.probe_round_done = false;
                    self.rounds.restart(sample.total_delivered);
                }
                None => {}
                Some(_) => {
                    self.probe_round_done |= self.rounds.begins;
                    self.end_probe_rtt(cwnd, view);
                }
            }
        }
        if sample.delivered > 0 {
            self.idle_restart = false;
        }
    }

    fn set_min_rtt(&mut self, round_trip: Span, view: &View) {
        self.min_rtt = Some(round_trip);
        self.min_rtt_per_byte = round_trip.seconds() / f64::from(view.segment);
        self.min_rtt_at = view.now;
    }

    fn end_probe_rtt(&mut self, cwnd: &mut f64, view: &View) {
        if self.probe_round_done && self.probe_done.is_some_and(|done| view.now > done) {
            self.min_rtt_at = view.now;
            *cwnd = cwnd.max(self.prior_cwnd);
            self.leave_probe_rtt(view);
        }
    }

    fn update_gains(&mut self) {
        let policed = self.long_term.rate().is_some();
        (self.pacing_gain, self.cwnd_gain) = self.gains.of(self.mode, policed, self.cycle.gain());
    }

    /// Stores the window, but not one that losses or PROBE_RTT have reduced (§4.2.3.4).
    fn save_cwnd(&mut self, view: &View) {
        let good = self.repair == Repair::Not && self.mode != Mode::ProbeRtt;
        self.prior_cwnd = if good { view.cwnd } else { self.prior_cwnd.max(view.cwnd) };
    }

    /// §4.2.3: the window after an acknowledgement that delivers something.
    fn next_window(&mut self, mut cwnd: f64, sample: &RateSample, view: &View) -> f64 {
        let segment = f64::from(view.segment);
        let least = f64::from(self.params.min_window);
        cwnd = (cwnd - sample.newly_lost as f64 / segment).max(1.0);
        if self.conservation {
            cwnd = cwnd.max(view.pipe + self.acked);
        } else {
            let extra = if self.full.reached && self.params.aggregation {
                self.aggregation.extra().min(self.estimate() * model::LARGEST_BURST / segment)
            } else {
                0.0
            };
            let target = self.with_quanta(self.product(self.estimate(), self.cwnd_gain) + extra);
            if self.full.reached {
                cwnd = (cwnd + self.acked).min(target);
            } else if cwnd < target || sample.total_delivered as f64 / segment < model::INITIAL_WINDOW {
                cwnd += self.acked;
            }
            cwnd = cwnd.max(least);
        }
        if self.mode == Mode::ProbeRtt { cwnd.min(least) } else { cwnd }
    }

    /// Everything on an acknowledgement (§3.3).
    fn on_sample(&mut self, sample: &RateSample, view: &View) -> Answer {
        self.acked = sample.newly_delivered as f64 / f64::from(view.segment);
        self.delivered = sample.total_delivered;
        self.drained = view.app_limited;
        let mut cwnd = view.cwnd;
        if let Repair::Timeout(point) = self.repair
            && view.una >= point
        {
            cwnd = self.restored(view);
        }
        self.update_bandwidth(sample, view);
        if self.params.aggregation && sample.interval.is_some() {
            let rate = self.estimate() / f64::from(view.segment);
            let delivers = |span: Span| model::floor(rate * span.seconds());
            self.aggregation.update(view.now, self.rounds.begins, delivers, self.acked, view.cwnd);
        }
        self.update_cycle(sample, view);
        self.check_full(sample);
        let ssthresh = self.check_drain(view);
        self.update_min_rtt(sample, &mut cwnd, view);
        self.update_gains();
        self.set_pacing_rate(self.pacing_gain, view);
        if self.acked > 0.0 {
            cwnd = self.next_window(cwnd, sample, view);
        } else if self.mode == Mode::ProbeRtt {
            cwnd = cwnd.min(f64::from(self.params.min_window));
        }
        Answer::Set { cwnd, ssthresh }
    }

    /// The window when losses are repaired (§4.2.3.4).
    fn restored(&mut self, view: &View) -> f64 {
        self.repair = Repair::Not;
        self.conservation = false;
        view.cwnd.max(self.prior_cwnd)
    }
}

impl Published {
    pub fn seed(&mut self, rng: Rng) {
        self.cycle.seed(rng);
    }
}

impl CongestionControl for Published {
    fn on_ack(&mut self, ack: &Ack, view: &View) -> Answer {
        ack.rate.map_or(Answer::Keep, |sample| self.on_sample(&sample, view))
    }

    fn on_duplicate(&mut self, duplicate: &Duplicate, view: &View) -> Answer {
        duplicate.rate.map_or(Answer::Keep, |sample| self.on_sample(&sample, view))
    }

    fn on_loss(&mut self, _loss: &Loss, view: &View) -> Answer {
        self.save_cwnd(view);
        self.repair = Repair::Recovery;
        // A round of packet conservation: the data in the network, and a segment for each one that arrived.
        self.conservation = true;
        self.rounds.restart(self.delivered);
        Answer::Set { cwnd: (view.pipe + self.acked).max(1.0), ssthresh: view.ssthresh }
    }

    fn on_recovered(&mut self, view: &View) -> Answer {
        Answer::Set { cwnd: self.restored(view), ssthresh: view.ssthresh }
    }

    fn on_timeout(&mut self, _timeout: &Timeout, view: &View) -> Answer {
        self.save_cwnd(view);
        self.repair = Repair::Timeout(view.max);
        self.conservation = false;
        // The path may have changed: BBR checks again whether the pipe is full. The timeout ends a round.
        self.full.bandwidth = 0.0;
        self.rounds.begins = true;
        if self.params.long_term {
            self.sample_long_term(true, false, self.delivered, view);
        }
        Answer::Set { cwnd: 1.0, ssthresh: view.ssthresh }
    }

    fn on_idle(&mut self, _restart: f64, _view: &View) -> Answer {
        // The pacing rate also applies after a pause (§4.3.4.4).
        Answer::Keep
    }

    fn on_sent(&mut self, sent: &Sent, view: &View) {
        if sent.len == 0 {
            return;
        }
        if self.rate <= 0.0 {
            self.pace_at_first(view);
            self.min_rtt_at = view.now;
        }
        let first = !sent.retransmission && sent.seq == view.una;
        if first && std::mem::take(&mut self.drained) {
            self.idle_restart = true;
            self.aggregation.restart(view.now);
            if self.mode == Mode::ProbeBandwidth {
                self.set_pacing_rate(1.0, view);
            } else if self.mode == Mode::ProbeRtt && self.probe_done.is_some_and(|done| view.now > done) {
                // The pause has emptied the path, so no further round trip is necessary.
                self.min_rtt_at = view.now;
                self.restore_at = view.now;
                self.leave_probe_rtt(view);
            }
        }
        self.sent = view.now;
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
        // At most 127.
        let quantum = if self.params.bursts { self.quantum as u32 } else { 1 };
        Pace { quantum, limits_itself: self.mode == Mode::ProbeRtt, ..Pace::of(self.gap) }
    }

    fn bandwidth(&self) -> Option<f64> {
        Some(self.estimate()).filter(|rate| *rate > 0.0)
    }

    fn wants(&self) -> Wants {
        Wants { rate: true, recovery_window: true, ..Wants::default() }
    }
}

#[cfg(test)]
mod tests;
