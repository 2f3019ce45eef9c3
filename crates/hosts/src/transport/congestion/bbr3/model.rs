//! The model of the path: rounds, bandwidth, round trips, aggregation, and the signals of losses.

use std::collections::VecDeque;

use hopyard_engine::{Span, Time};

use super::params::Params;

/// A round with less growth of the bandwidth than this may be the last; and the number of such rounds that say that the
/// pipe is full ("Exiting Acceleration Based on Bandwidth Plateau").
const FULL_GROWTH: f64 = 1.25;
const FULL_ROUNDS: u32 = 3;

/// The sample of an acknowledgement. Amounts are in segments, rates in segments per second.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sample {
    /// Zero if the sample is not valid.
    pub rate: f64,
    /// Delivered since the newest segment now delivered was sent.
    pub delivered: f64,
    pub acked: f64,
    pub app_limited: bool,
    /// In bytes: delivered in all when that segment was sent, and now.
    pub prior_delivered: u64,
    pub total_delivered: u64,
    pub round_trip: Option<Span>,
    /// In flight when that segment was sent, and deemed lost since then.
    pub in_flight: f64,
    pub lost: f64,
}

impl Sample {
    /// Whether the acknowledgement delivers something, in a time from which a rate follows. No round begins with
    /// another one, because it names no segment that was sent in a round.
    fn is_valid(&self) -> bool {
        self.rate > 0.0 && self.acked > 0.0
    }
}

/// A state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum State {
    /// Searches the bandwidth exponentially.
    #[default]
    Startup,
    /// Drains the queue of Startup.
    Drain,
    /// `ProbeBW_DOWN`: sends less than the path delivers.
    Down,
    /// `ProbeBW_CRUISE`: sends as much as the path delivers.
    Cruise,
    /// `ProbeBW_REFILL`: fills the pipe for a round trip.
    Refill,
    /// `ProbeBW_UP`: sends more than the path delivers.
    Up,
    /// Measures the shortest round trip.
    ProbeRtt,
}

impl State {
    /// `IsProbingBW`.
    pub const fn probes_bandwidth(self) -> bool {
        matches!(self, Self::Startup | Self::Refill | Self::Up)
    }

    /// `IsInAProbeBWState`.
    pub const fn is_probe_bw(self) -> bool {
        matches!(self, Self::Down | Self::Cruise | Self::Refill | Self::Up)
    }
}

/// Round trips, counted by delivered bytes ("Tracking Packet-Timed Round Trips").
#[derive(Clone, Copy, Debug, Default)]
pub struct Rounds {
    pub count: u64,
    /// Whether the acknowledgement at hand begins one.
    pub begins: bool,
    /// A round ends with a segment that was sent after so many bytes were delivered.
    end: u64,
    /// Rounds since the last probe for bandwidth.
    pub since_probe: u64,
}

impl Rounds {
    fn update(&mut self, sample: &Sample) {
        self.begins = sample.is_valid() && sample.prior_delivered >= self.end;
        if self.begins {
            self.end = sample.total_delivered;
            self.count += 1;
            self.since_probe += 1;
        }
    }
}

/// Whether the rate has stopped growing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Full {
    bandwidth: f64,
    count: u32,
    /// Since the search began.
    pub now: bool,
    /// Ever.
    pub reached: bool,
}

impl Full {
    /// `ResetFullBW`, with a rate to grow from.
    pub const fn restart(&mut self, bandwidth: f64) {
        (self.bandwidth, self.count, self.now) = (bandwidth, 0, false);
    }

    /// `CheckFullBWReached`.
    pub fn check(&mut self, sample: &Sample, begins: bool) {
        if self.now || !begins || sample.app_limited {
            return;
        }
        if sample.rate >= FULL_GROWTH * self.bandwidth {
            self.restart(sample.rate);
            return;
        }
        self.count += 1;
        self.now = self.count >= FULL_ROUNDS;
        self.reached |= self.now;
    }
}

/// The largest value of the last rounds.
#[derive(Clone, Debug, Default)]
struct MaxFilter {
    /// Rounds and values; the values decrease.
    values: VecDeque<(u64, f64)>,
}

impl MaxFilter {
    fn update(&mut self, round: u64, value: f64, window: u64) -> f64 {
        while self.values.back().is_some_and(|(_, last)| *last <= value) {
            self.values.pop_back();
        }
        self.values.push_back((round, value));
        while self.values.front().is_some_and(|(first, _)| round - first > window) {
            self.values.pop_front();
        }
        self.values.front().map_or(value, |(_, largest)| *largest)
    }
}

/// The model of the path. Amounts are in segments, rates in segments per second.
#[derive(Clone, Debug)]
pub struct Model {
    pub rounds: Rounds,
    pub full: Full,
    /// The largest rates of the previous and the present cycle.
    largest: [f64; 2],
    /// The bandwidth in use (`BBR.bw`).
    pub bw: f64,
    pub bw_shortterm: f64,
    pub inflight_shortterm: f64,
    pub inflight_longterm: f64,
    /// The largest rate and delivery of the present round trip.
    bw_latest: f64,
    pub inflight_latest: f64,
    /// The round trip in which losses are summed ends as [`Rounds`]; whether it ends now, and has losses.
    loss_round_end: u64,
    pub loss_round_start: bool,
    pub loss_in_round: bool,
    /// Acknowledgements with losses in this round.
    pub loss_events: u32,
    /// The shortest round trip of ten seconds, and when it was measured.
    pub min_rtt: Option<Span>,
    min_rtt_at: Time,
    /// The shortest round trip that puts off `ProbeRTT`, and when it was measured.
    probe_min: Option<Span>,
    pub probe_min_at: Time,
    pub probe_rtt_expired: bool,
    /// `BBR.extra_acked`, its filter, and the present sample.
    pub extra: f64,
    extra_filter: MaxFilter,
    pub extra_since: Time,
    extra_delivered: f64,
    /// Payload of a full segment in bytes, and the bytes delivered in all.
    pub segment: f64,
    pub delivered: u64,
}

impl Default for Model {
    fn default() -> Self {
        Self {
            rounds: Rounds::default(),
            full: Full::default(),
            largest: [0.0; 2],
            bw: 0.0,
            bw_shortterm: f64::INFINITY,
            inflight_shortterm: f64::INFINITY,
            inflight_longterm: f64::INFINITY,
            bw_latest: 0.0,
            inflight_latest: 0.0,
            loss_round_end: 0,
            loss_round_start: false,
            loss_in_round: false,
            loss_events: 0,
            min_rtt: None,
            min_rtt_at: Time::ZERO,
            probe_min: None,
            probe_min_at: Time::ZERO,
            probe_rtt_expired: false,
            extra: 0.0,
            extra_filter: MaxFilter::default(),
            extra_since: Time::ZERO,
            extra_delivered: 0.0,
            segment: 0.0,
            delivered: 0,
        }
    }
}

impl Model {
    /// The first segment is sent.
    pub const fn start(&mut self, now: Time) {
        self.min_rtt_at = now;
        self.probe_min_at = now;
        self.extra_since = now;
    }

    /// `StartRound`.
    pub const fn start_round(&mut self) {
        self.rounds.end = self.delivered;
    }

    /// `BBR.max_bw`.
    pub const fn max_bw(&self) -> f64 {
        self.largest[0].max(self.largest[1])
    }

    /// `UpdateLatestDeliverySignals`.
    pub fn update_latest(&mut self, sample: &Sample) {
        self.bw_latest = self.bw_latest.max(sample.rate);
        self.inflight_latest = self.inflight_latest.max(sample.delivered);
        self.loss_round_start = sample.is_valid() && sample.prior_delivered >= self.loss_round_end;
        if self.loss_round_start {
            self.loss_round_end = self.delivered;
        }
    }

    /// `AdvanceLatestDeliverySignals`.
    pub const fn advance_latest(&mut self, sample: &Sample) {
        if self.loss_round_start {
            self.bw_latest = sample.rate;
            self.inflight_latest = sample.delivered;
            self.loss_events = 0;
        }
    }

    /// `ResetCongestionSignals`.
    pub const fn reset_signals(&mut self) {
        self.loss_in_round = false;
        self.bw_latest = 0.0;
        self.inflight_latest = 0.0;
    }

    /// `ResetShortTermModel`.
    pub const fn reset_shortterm(&mut self) {
        self.bw_shortterm = f64::INFINITY;
        self.inflight_shortterm = f64::INFINITY;
    }

    /// `NoteLoss`. Returns whether it is the first loss of the round.
    pub const fn note_loss(&mut self) -> bool {
        let first = !self.loss_in_round;
        if first {
            self.loss_round_end = self.delivered;
        }
        self.loss_in_round = true;
        self.loss_events += 1;
        first
    }

    /// `UpdateMaxBw`.
    fn update_max_bw(&mut self, sample: &Sample) {
        self.rounds.update(sample);
        if sample.rate > 0.0 && (sample.rate >= self.max_bw() || !sample.app_limited) {
            self.largest[1] = self.largest[1].max(sample.rate);
        }
    }

    /// `AdvanceMaxBwFilter`.
    pub fn advance_max_bw(&mut self) {
        if self.largest[1] > 0.0 {
            self.largest = [self.largest[1], 0.0];
        }
    }

    /// `UpdateCongestionSignals`.
    pub fn update_signals(&mut self, sample: &Sample, state: State, cwnd: f64, params: &Params) {
        self.update_max_bw(sample);
        if !self.loss_round_start {
            return;
        }
        if self.loss_in_round && !state.probes_bandwidth() {
            // `InitLowerBounds`, `LossLowerBounds`.
            let initial = |bound: f64, value: f64| if bound.is_infinite() { value } else { bound };
            let bw = initial(self.bw_shortterm, self.max_bw());
            let inflight = initial(self.inflight_shortterm, cwnd);
            self.bw_shortterm = self.bw_latest.max(params.beta * bw);
            self.inflight_shortterm = self.inflight_latest.max(params.beta * inflight);
        }
        self.loss_in_round = false;
    }

    /// `BoundBWForModel`.
    pub const fn bound_bw(&mut self) {
        self.bw = self.max_bw().min(self.bw_shortterm);
    }

    /// `UpdateACKAggregation`.
    pub fn update_aggregation(&mut self, sample: &Sample, now: Time, cwnd: f64, params: &Params) {
        let mut expected = self.bw * now.since(self.extra_since).seconds();
        if self.extra_delivered <= expected {
            self.extra_delivered = 0.0;
            self.extra_since = now;
            expected = 0.0;
        }
        self.extra_delivered += sample.acked;
        let extra = (self.extra_delivered - expected).min(cwnd);
        let window = if self.full.reached { u64::from(params.extra_acked_rounds) } else { 1 };
        self.extra = self.extra_filter.update(self.rounds.count, extra, window);
    }

    /// `UpdateMinRTT`.
    pub fn update_min_rtt(&mut self, sample: &Sample, now: Time, params: &Params) {
        self.probe_rtt_expired = now > self.probe_min_at + params.probe_rtt_interval;
        if let Some(round_trip) = sample.round_trip
            && (self.probe_rtt_expired || self.probe_min.is_none_or(|min| round_trip < min))
        {
            self.probe_min = Some(round_trip);
            self.probe_min_at = now;
        }
        let Some(probe_min) = self.probe_min else { return };
        let expired = now > self.min_rtt_at + params.min_rtt_window;
        if expired || self.min_rtt.is_none_or(|min| probe_min < min) {
            self.min_rtt = Some(probe_min);
            self.min_rtt_at = self.probe_min_at;
        }
    }
}
