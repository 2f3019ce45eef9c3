//! BBR as Linux computes it: whole numbers, and losses as the state of the sender's loss recovery shows them.
//!
//! Bandwidths are whole numbers of 2^-24 segments in a microsecond, gains are 256ths, times are whole microseconds, and
//! the times of PROBE_RTT are ticks. The opening counts as a delivered segment. Read besides: K. Nichols' filter of a
//! windowed maximum with three values (`WindowedMax`); and for PROBE_RTT, which only a shorter round trip puts off, R.
//! Sharpelletti's correction of Linux 5.10.

use hopyard_engine::{Rng, Span, Time};

use super::model::{self, Aggregation, LongTerm, Round, Verdict, WindowedMax};
use super::params::{LARGEST_QUANTUM, Mode, Params, SLOW};
use super::steps::{self, Cycle, Full, Gains, Rounds};
use crate::transport::congestion::control::offload;
use crate::transport::congestion::{
    Ack, Answer, Arrived, Before, Condition, CongestionControl, Duplicate, Loss, Pace, RateSample, RecoveryChoice,
    Sent, Timeout, View, Wants,
};

/// The binary places of a bandwidth and of a gain.
const PLACES: u32 = 24;
const GAIN: u32 = 8;
const ONE: u64 = 1 << GAIN;
/// The gain of a round of STARTUP that still fills the pipe.
const FULL_GROWTH: u64 = 5 * ONE / 4;
/// The tick of the kernel's clock (HZ 250).
const TICK: Span = Span::from_millis(4);

/// The constants of the computation.
#[derive(Clone, Copy, Debug)]
pub struct Constants {
    /// In 256ths.
    gains: Gains<u64>,
    /// The filters' rounds, and the times in ticks.
    bandwidth_rounds: u64,
    min_rtt_window: u64,
    probe_rtt_time: u64,
    min_window: u64,
    /// The share of the bandwidth that is used, in millionths.
    used: u64,
    bursts: bool,
    whole_segments: bool,
    long_term: bool,
    aggregation: bool,
    first_phase: u32,
}

impl Params {
    /// The constants in the computation of Linux.
    pub(super) fn linux(&self) -> Constants {
        let gain = |gain: f64| (gain * ONE as f64) as u64;
        Constants {
            gains: Gains {
                high: gain(self.high_gain),
                drain: gain(1.0 / self.high_gain),
                cwnd: gain(self.cwnd_gain),
                one: ONE,
            },
            bandwidth_rounds: self.bandwidth_rounds.into(),
            min_rtt_window: ticks(self.min_rtt_window),
            probe_rtt_time: ticks(self.probe_rtt_time),
            min_window: self.min_window.into(),
            used: libm::round(1e6 * (1.0 - self.pacing_margin)) as u64,
            bursts: self.bursts,
            whole_segments: self.whole_segments,
            long_term: self.long_term,
            aggregation: self.aggregation,
            first_phase: self.first_phase,
        }
    }
}

/// Whole ticks.
const fn ticks(span: Span) -> u64 {
    span.nanos() / TICK.nanos()
}

/// Whole microseconds.
const fn micros(span: Span) -> u64 {
    span.nanos() / 1000
}

/// The delivery that an acknowledgement reports. Amounts are in segments.
#[derive(Clone, Copy, Debug)]
struct Delivery {
    /// Nothing if the sample is not valid.
    bandwidth: Option<u64>,
    app_limited: bool,
    /// Delivered in all when the segment was sent that is delivered now.
    prior: u64,
    acked: u64,
    lost: u64,
    prior_pipe: u64,
    round_trip: Option<Span>,
}

/// BBR's congestion control as in Linux.
#[derive(Clone, Debug)]
pub struct Linux {
    constants: Constants,
    mode: Mode,
    pacing_gain: u64,
    cwnd_gain: u64,
    bandwidth: WindowedMax,
    long_term: LongTerm,
    aggregation: Aggregation,
    /// Segments delivered in all, without the opening, and when the last ones were.
    delivered: u64,
    delivered_at: Time,
    /// Round trips by delivered segments.
    rounds: Rounds,
    /// The shortest round trip in microseconds, and the tick of its measurement.
    min_rtt: Option<u64>,
    min_rtt_at: u64,
    /// The shortest round trip of the connection, and the last one.
    shortest: Option<Span>,
    last_rtt: Option<Span>,
    full: Full<u64>,
    cycle: Cycle,
    /// The tick at which PROBE_RTT may end, once the window is drained, and whether a round has passed since then.
    probe_done: Option<u64>,
    probe_round_done: bool,
    /// The pacing rate in bytes per second; zero before the connection is open.
    rate: u64,
    gap: Span,
    /// Segments that are sent together, and the segments that the window has room for besides.
    together: u32,
    goal: u64,
    seen_rtt: bool,
    /// Payload of a full segment in bytes.
    segment: u32,
    /// When the next segment may leave.
    departs: Time,
    /// The state of loss recovery, and its state when the window was last computed.
    condition: Condition,
    noted: Condition,
    /// Where the repair after a timeout ends, if the recovery in use does not tell its state.
    repaired_at: Option<u64>,
    conservation: bool,
    prior_cwnd: u64,
    idle_restart: bool,
    /// When the window is restored, because PROBE_RTT has ended with a sent segment and not with an acknowledgement.
    restore_at: Time,
}

impl Linux {
    /// The congestion control with these constants.
    #[must_use]
    pub fn new(constants: Constants) -> Self {
        Self {
            mode: Mode::Startup,
            pacing_gain: constants.gains.high,
            cwnd_gain: constants.gains.high,
            bandwidth: WindowedMax::over(constants.bandwidth_rounds),
            long_term: LongTerm::default(),
            aggregation: Aggregation::default(),
            delivered: 0,
            delivered_at: Time::ZERO,
            rounds: Rounds::default(),
            min_rtt: None,
            min_rtt_at: 0,
            shortest: None,
            last_rtt: None,
            full: Full::default(),
            cycle: Cycle::new(constants.first_phase),
            probe_done: None,
            probe_round_done: false,
            rate: 0,
            gap: Span::ZERO,
            together: 1,
            goal: 1,
            seen_rtt: false,
            segment: 0,
            departs: Time::ZERO,
            condition: Condition::Open,
            noted: Condition::Open,
            repaired_at: None,
            conservation: false,
            prior_cwnd: 0,
            idle_restart: false,
            restore_at: Time::NEVER,
            constants,
        }
    }

    /// The bandwidth in use: the bandwidth of the policer, if there is one.
    fn estimate(&self, view: &View) -> u64 {
        let policed = self.long_term.rate();
        policed.map_or(self.bandwidth.max(), |rate| of_bytes(rate, view))
    }

    // Pacing.

    /// The pacing rate of a bandwidth.
    fn paced(&self, bandwidth: u64, gain: u64, view: &View) -> u64 {
        let bytes = (u128::from(bandwidth) * u128::from(view.segment) * u128::from(gain)) >> GAIN;
        ((bytes * u128::from(self.constants.used)) >> PLACES) as u64
    }

    fn pace(&mut self, rate: u64, view: &View) {
        self.rate = rate;
        let gap = (u64::from(view.segment) * 1_000_000_000).checked_div(rate);
        self.gap = gap.map_or(Span::ZERO, Span::from_nanos);
        let least = if rate < SLOW { 1 } else { 2 };
        self.together = offload::buffer(rate as f64, self.shortest, view.segment, least);
        self.goal = u64::from(offload::paced(rate as f64, view.segment, least)).min(LARGEST_QUANTUM);
    }

    /// The rate before the first sample: the window in a round trip, or in a millisecond.
    fn pace_at_first(&mut self, view: &View) {
        self.seen_rtt = view.srtt.is_some();
        let round_trip = view.srtt.map_or(1000, |srtt| micros(srtt).max(1));
        let bandwidth = ((view.cwnd as u64) << PLACES) / round_trip;
        self.pace(self.paced(bandwidth, self.constants.gains.high, view), view);
    }

    /// The rate only increases before the pipe is full.
    fn set_pacing_rate(&mut self, gain: u64, view: &View) {
        let rate = self.paced(self.estimate(view), gain, view);
        if !self.seen_rtt && view.srtt.is_some() {
            self.pace_at_first(view);
        }
        if self.full.reached || rate > self.rate {
            self.pace(rate, view);
        }
    }

    // What the window aims at.

    /// `gain` times bandwidth times shortest round-trip time, in segments.
    fn product(&self, bandwidth: u64, gain: u64) -> u64 {
        let Some(min_rtt) = self.min_rtt else { return model::INITIAL_WINDOW as u64 };
        let product = (u128::from(bandwidth) * u128::from(min_rtt) * u128::from(gain)) >> GAIN;
        product.div_ceil(1 << PLACES) as u64
    }

    /// Additions to the window: three quanta for sender, network and receiver, and room for the probe.
    fn with_quanta(&self, window: u64) -> u64 {
        let mut window = window + 3 * self.goal;
        if self.constants.whole_segments {
            window = window.next_multiple_of(2);
        }
        if self.mode == Mode::ProbeBandwidth && self.cycle.probes() { window + 2 } else { window }
    }

    fn target_in_flight(&self, gain: u64) -> u64 {
        self.with_quanta(self.product(self.bandwidth.max(), gain))
    }

    /// How many of `in_flight` segments will be in the network when the next one may be sent.
    fn at_next_departure(&self, in_flight: u64, view: &View) -> u64 {
        let wait = micros(self.departs.since(view.now));
        let delivered = delivers(self.estimate(view), wait);
        let leaving = if self.pacing_gain > ONE { self.goal } else { 0 };
        (in_flight + leaving).saturating_sub(delivered)
    }

    // The steps of each acknowledgement.

    fn update_bandwidth(&mut self, delivery: &Delivery, view: &View) {
        self.rounds.begins = false;
        let Some(bandwidth) = delivery.bandwidth else { return };
        if self.rounds.update(delivery.prior, self.delivered) {
            self.conservation = false;
        }
        self.sample_long_term(delivery.lost > 0, delivery.app_limited, view);
        // A sample that the application limited does not measure the path, unless it is above the estimate.
        if !delivery.app_limited || bandwidth >= self.bandwidth.max() {
            self.bandwidth.update(self.rounds.count, bandwidth);
        }
    }

    fn sample_long_term(&mut self, loss: bool, app_limited: bool, view: &View) {
        if !self.constants.long_term {
            return;
        }
        let segment = f64::from(view.segment);
        let event = Round {
            now: self.delivered_at,
            start: self.rounds.begins,
            cruising: self.mode == Mode::ProbeBandwidth,
            loss,
            app_limited,
            lost: view.lost * segment,
            delivered: self.delivered as f64 * segment,
        };
        match self.long_term.update(&event) {
            Verdict::Nothing => {}
            Verdict::Policed => self.pacing_gain = ONE,
            Verdict::Expired => self.enter_probe_bandwidth(),
        }
    }

    fn update_aggregation(&mut self, delivery: &Delivery, view: &View) {
        if self.constants.aggregation && delivery.bandwidth.is_some() && delivery.acked > 0 {
            let bandwidth = self.estimate(view);
            let explained = |span: Span| delivers(bandwidth, micros(span)) as f64;
            let acked = delivery.acked as f64;
            self.aggregation.update(self.delivered_at, self.rounds.begins, explained, acked, view.cwnd);
        }
    }

    fn enter_probe_bandwidth(&mut self) {
        self.mode = Mode::ProbeBandwidth;
        self.cycle.begin(self.delivered_at);
    }

    fn leave_probe_rtt(&mut self) {
        if self.full.reached {
            self.enter_probe_bandwidth();
        } else {
            self.mode = Mode::Startup;
        }
    }

    fn update_cycle(&mut self, delivery: &Delivery, view: &View) {
        if self.mode != Mode::ProbeBandwidth {
            return;
        }
        let whole = self.min_rtt.is_some_and(|min_rtt| micros(self.delivered_at.since(self.cycle.since)) > min_rtt);
        let in_flight = || self.at_next_departure(delivery.prior_pipe, view);
        let target = |gain| self.target_in_flight(gain);
        if steps::is_over([self.pacing_gain, ONE], whole, delivery.lost > 0, in_flight, target) {
            self.cycle.advance(self.delivered_at);
        }
    }

    fn check_full(&mut self, delivery: &Delivery) {
        if self.rounds.begins && !delivery.app_limited {
            self.full.check(self.bandwidth.max(), |bandwidth| (bandwidth * FULL_GROWTH) >> GAIN);
        }
    }

    /// Returns the threshold to report when STARTUP has ended.
    fn check_drain(&mut self, view: &View) -> f64 {
        let mut ssthresh = view.ssthresh;
        if self.mode == Mode::Startup && self.full.reached {
            self.mode = Mode::Drain;
            ssthresh = self.target_in_flight(ONE) as f64;
        }
        if self.mode == Mode::Drain && self.at_next_departure(view.pipe as u64, view) <= self.target_in_flight(ONE) {
            self.enter_probe_bandwidth();
        }
        ssthresh
    }

    /// `cwnd` is restored when PROBE_RTT ends.
    fn update_min_rtt(&mut self, delivery: &Delivery, cwnd: &mut u64, view: &View) {
        let now = ticks(view.now.since(Time::ZERO));
        let expired = now > self.min_rtt_at + self.constants.min_rtt_window;
        if let Some(round_trip) = delivery.round_trip.map(micros)
            && (expired || self.min_rtt.is_none_or(|least| round_trip < least))
        {
            self.min_rtt = Some(round_trip);
            self.min_rtt_at = now;
        }
        if expired && !self.idle_restart && self.mode != Mode::ProbeRtt {
            self.mode = Mode::ProbeRtt;
            self.save_cwnd(view);
            self.probe_done = None;
        }
        if self.mode == Mode::ProbeRtt {
            if self.probe_done.is_some() {
                self.probe_round_done |= self.rounds.begins;
                if self.probe_round_done {
                    self.end_probe_rtt(cwnd, view);
                }
            } else if view.pipe as u64 <= self.constants.min_window {
                self.probe_done = Some(now + self.constants.probe_rtt_time);
                self.probe_round_done = false;
                self.rounds.restart(self.delivered);
            }
        }
        if delivery.bandwidth.is_some() {
            self.idle_restart = false;
        }
    }

    fn end_probe_rtt(&mut self, cwnd: &mut u64, view: &View) {
        let now = ticks(view.now.since(Time::ZERO));
        if self.probe_done.is_some_and(|done| now > done) {
            self.min_rtt_at = now;
            *cwnd = (*cwnd).max(self.prior_cwnd);
            self.leave_probe_rtt();
        }
    }

    fn update_gains(&mut self) {
        let policed = self.long_term.rate().is_some();
        let phase = (self.cycle.gain() * ONE as f64) as u64;
        (self.pacing_gain, self.cwnd_gain) = self.constants.gains.of(self.mode, policed, phase);
    }

    // The window.

    /// Stores the window, but not one that losses or PROBE_RTT have reduced.
    fn save_cwnd(&mut self, view: &View) {
        let cwnd = view.cwnd as u64;
        let good = !repairs(self.noted) && self.mode != Mode::ProbeRtt;
        self.prior_cwnd = if good { cwnd } else { self.prior_cwnd.max(cwnd) };
    }

    /// The window after an acknowledgement that delivers something.
    fn next_window(&mut self, cwnd: u64, delivery: &Delivery, view: &View) -> u64 {
        let (pipe, acked) = (view.pipe as u64, delivery.acked);
        let mut cwnd = if delivery.lost > 0 { cwnd.saturating_sub(delivery.lost).max(1) } else { cwnd };
        let noted = std::mem::replace(&mut self.noted, self.condition);
        if self.condition == Condition::Recovery && noted != Condition::Recovery {
            // A round of packet conservation.
            self.conservation = true;
            self.rounds.restart(self.delivered);
            cwnd = pipe + acked;
        } else if repairs(noted) && !repairs(self.condition) {
            cwnd = cwnd.max(self.prior_cwnd);
            self.conservation = false;
        }
        if self.conservation {
            return cwnd.max(pipe + acked);
        }
        let bandwidth = self.estimate(view);
        let extra = if self.full.reached && self.constants.aggregation {
            (self.aggregation.extra() as u64).min(delivers(bandwidth, (model::LARGEST_BURST * 1e6) as u64))
        } else {
            0
        };
        let target = self.with_quanta(self.product(bandwidth, self.cwnd_gain) + extra);
        if self.full.reached {
            cwnd = (cwnd + acked).min(target);
        } else if cwnd < target || self.delivered + 1 < model::INITIAL_WINDOW as u64 {
            cwnd += acked;
        }
        cwnd.max(self.constants.min_window)
    }

    /// Everything on an acknowledgement.
    fn on_sample(&mut self, sample: &RateSample, view: &View) -> Answer {
        let count = |bytes: u64| bytes.div_ceil(u64::from(view.segment));
        let delivery = Delivery {
            bandwidth: sample.interval.map(micros).and_then(|it| (count(sample.delivered) << PLACES).checked_div(it)),
            app_limited: sample.app_limited,
            prior: count(sample.prior_delivered),
            acked: count(sample.newly_delivered),
            lost: count(sample.newly_lost),
            prior_pipe: sample.prior_pipe as u64,
            round_trip: self.last_rtt.take(),
        };
        self.delivered = count(sample.total_delivered);
        if delivery.acked > 0 {
            self.delivered_at = whole(view.now);
        }
        if self.repaired_at.is_some_and(|end| view.una >= end) {
            self.repaired_at = None;
            self.condition = Condition::Open;
        }
        let mut cwnd = view.cwnd as u64;
        self.update_bandwidth(&delivery, view);
        self.update_aggregation(&delivery, view);
        self.update_cycle(&delivery, view);
        self.check_full(&delivery);
        let ssthresh = self.check_drain(view);
        self.update_min_rtt(&delivery, &mut cwnd, view);
        self.update_gains();
        self.set_pacing_rate(self.pacing_gain, view);
        if delivery.acked > 0 {
            cwnd = self.next_window(cwnd, &delivery, view);
        }
        if self.mode == Mode::ProbeRtt {
            cwnd = cwnd.min(self.constants.min_window);
        }
        Answer::Set { cwnd: cwnd as f64, ssthresh }
    }
}

/// The segments that a bandwidth delivers in so many microseconds.
fn delivers(bandwidth: u64, micros: u64) -> u64 {
    ((u128::from(bandwidth) * u128::from(micros)) >> PLACES) as u64
}

/// Bytes per second as a bandwidth.
fn of_bytes(rate: f64, view: &View) -> u64 {
    (rate / f64::from(view.segment) / 1e6 * (1 << PLACES) as f64) as u64
}

/// The time in whole microseconds.
const fn whole(time: Time) -> Time {
    Time::from_nanos(time.nanos() / 1000 * 1000)
}

const fn repairs(condition: Condition) -> bool {
    matches!(condition, Condition::Recovery | Condition::Loss)
}

impl Linux {
    pub fn seed(&mut self, rng: Rng) {
        self.cycle.seed(rng);
    }

    pub fn on_opened(&mut self, view: &View) {
        self.segment = view.segment;
        self.shortest = view.srtt;
        self.min_rtt = view.srtt.map(micros);
        self.min_rtt_at = ticks(view.now.since(Time::ZERO));
        self.aggregation.restart(whole(view.now));
        self.pace_at_first(view);
    }

    pub fn on_undo(&mut self, _before: &Before, view: &View) -> Answer {
        (self.full.bandwidth, self.full.rounds) = (0, 0);
        self.long_term = LongTerm::default();
        Answer::Set { cwnd: view.cwnd, ssthresh: view.ssthresh }
    }

    pub fn on_condition(&mut self, condition: Condition) {
        self.repaired_at = None;
        self.condition = condition;
    }
}

impl CongestionControl for Linux {
    fn on_arrival(&mut self, arrived: &Arrived, _view: &View) -> Answer {
        self.last_rtt = arrived.round_trip;
        if let Some(round_trip) = arrived.round_trip {
            self.shortest = Some(self.shortest.map_or(round_trip, |shortest| shortest.min(round_trip)));
        }
        Answer::Keep
    }

    fn on_ack(&mut self, ack: &Ack, view: &View) -> Answer {
        ack.rate.map_or(Answer::Keep, |sample| self.on_sample(&sample, view))
    }

    fn on_duplicate(&mut self, duplicate: &Duplicate, view: &View) -> Answer {
        duplicate.rate.map_or(Answer::Keep, |sample| self.on_sample(&sample, view))
    }

    fn on_loss(&mut self, _loss: &Loss, view: &View) -> Answer {
        self.save_cwnd(view);
        self.condition = Condition::Recovery;
        Answer::Keep
    }

    fn on_recovered(&mut self, _view: &View) -> Answer {
        if self.condition == Condition::Recovery {
            self.condition = Condition::Open;
        }
        Answer::Keep
    }

    /// The pipe may not be full after all.
    fn on_timeout(&mut self, timeout: &Timeout, view: &View) -> Answer {
        if timeout.repeated == 0 {
            self.save_cwnd(view);
        }
        self.repaired_at = Some(view.max);
        self.condition = Condition::Loss;
        self.noted = Condition::Loss;
        // The path may have changed: BBR checks again whether the pipe is full. The timeout ends a round.
        self.full.bandwidth = 0;
        self.rounds.begins = true;
        self.sample_long_term(true, false, view);
        Answer::Set { cwnd: 1.0, ssthresh: view.ssthresh }
    }

    fn on_idle(&mut self, _restart: f64, _view: &View) -> Answer {
        // The pacing rate also applies after a pause.
        Answer::Keep
    }

    fn on_sent(&mut self, sent: &Sent, view: &View) {
        if sent.len == 0 {
            return;
        }
        if sent.seq == view.una && !sent.retransmission {
            self.delivered_at = whole(view.now);
        }
        if self.rate == 0 {
            self.on_opened(view);
        }
        if view.pipe <= 1.0 && sent.app_limited {
            self.idle_restart = true;
            self.aggregation.restart(whole(view.now));
            if self.mode == Mode::ProbeBandwidth {
                self.set_pacing_rate(ONE, view);
            } else if self.mode == Mode::ProbeRtt {
                // The pause has emptied the path, so no further round trip is necessary.
                let mut cwnd = 0;
                self.end_probe_rtt(&mut cwnd, view);
                if self.mode != Mode::ProbeRtt {
                    self.restore_at = view.now;
                }
            }
        }
        self.departs = sent.departs;
    }

    fn on_timer(&mut self, view: &View) -> Answer {
        if view.now < std::mem::replace(&mut self.restore_at, Time::NEVER) {
            return Answer::Keep;
        }
        Answer::Set { cwnd: view.cwnd.max(self.prior_cwnd as f64), ssthresh: view.ssthresh }
    }

    fn deadline(&self) -> Time {
        self.restore_at
    }

    fn pace(&self) -> Pace {
        Pace {
            gap: self.gap,
            quantum: if self.constants.bursts { self.together } else { 1 },
            exact: Some((self.rate, self.segment)),
            limits_itself: self.mode == Mode::ProbeRtt,
        }
    }

    fn bandwidth(&self) -> Option<f64> {
        let policed = self.long_term.rate();
        let rate =
            policed.unwrap_or(self.bandwidth.max() as f64 * 1e6 * f64::from(self.segment) / (1 << PLACES) as f64);
        Some(rate).filter(|rate| *rate > 0.0)
    }

    fn wants(&self) -> Wants {
        Wants { rate: true, recovery_window: true, ..Wants::default() }
    }

    fn recovery(&self) -> RecoveryChoice {
        RecoveryChoice::Rack
    }
}

#[cfg(test)]
mod tests;
