//! The control parameters: pacing rate, quantum, and window.

use hopyard_engine::Span;

use super::machine::Bbr3;
use super::model::{Sample, State};
use crate::transport::congestion::View;

/// The bytes of the largest quantum.
const LARGEST_QUANTUM: f64 = 65_536.0;
/// Quanta that the sender, the network and the receiver hold (`UpdateOffloadBudget`).
const QUANTA: f64 = 3.0;
/// Segments of room for the probe.
const PROBE_ROOM: f64 = 2.0;
/// The round trip before the first sample.
const FIRST_ROUND_TRIP: f64 = 0.001;

impl Bbr3 {
    /// The gains of pacing rate and window in the present state.
    const fn gains(&self) -> (f64, f64) {
        let params = &self.params;
        match self.state {
            State::Startup => (params.startup_pacing_gain, params.cwnd_gain),
            State::Drain => (params.drain_pacing_gain, params.cwnd_gain),
            State::Down => (params.down_pacing_gain, params.cwnd_gain),
            State::Cruise | State::Refill => (1.0, params.cwnd_gain),
            State::Up => (params.up_pacing_gain, params.up_cwnd_gain),
            State::ProbeRtt => (1.0, params.probe_rtt_cwnd_gain),
        }
    }

    // Pacing.

    fn pace(&mut self, rate: f64, view: &View) {
        self.rate = rate;
        self.gap = if rate > 0.0 { Span::from_secs_f64(1.0 / rate) } else { Span::ZERO };
        let segment = f64::from(view.segment);
        self.quantum =
            if self.params.bursts { libm::floor((rate / 1000.0).min(LARGEST_QUANTUM / segment)).max(2.0) } else { 1.0 };
    }

    /// `InitPacingRate`.
    pub(super) fn pace_at_first(&mut self, view: &View) {
        self.seen_rtt = view.srtt.is_some();
        let round_trip = view.srtt.map_or(FIRST_ROUND_TRIP, |srtt| srtt.seconds().max(1e-6));
        self.pace(self.params.startup_pacing_gain * view.cwnd / round_trip, view);
    }

    pub(super) fn pace_with(&mut self, gain: f64, view: &View) {
        let rate = gain * self.model.bw * (1.0 - self.params.pacing_margin);
        if rate > 0.0 && (self.model.full.reached || rate > self.rate) {
            self.pace(rate, view);
        }
    }

    pub(super) fn set_pacing_rate(&mut self, view: &View) {
        if !self.seen_rtt && view.srtt.is_some() {
            self.pace_at_first(view);
        }
        self.pace_with(self.gains().0, view);
    }

    // Data in flight.

    /// `BDPMultiple`.
    pub(super) fn bdp(&self, gain: f64) -> f64 {
        self.product(self.model.bw, gain)
    }

    fn product(&self, bw: f64, gain: f64) -> f64 {
        self.model.min_rtt.map_or(self.initial_cwnd, |min_rtt| gain * bw * min_rtt.seconds())
    }

    /// `QuantizationBudget`.
    fn quantized(&self, inflight: f64) -> f64 {
        let inflight = inflight.max(QUANTA * self.quantum).max(self.params.min_window);
        if self.state == State::Up { inflight + PROBE_ROOM } else { inflight }
    }

    /// `Inflight`, with a gain of 1.
    pub(super) fn inflight(&self, bw: f64) -> f64 {
        self.quantized(self.product(bw, 1.0))
    }

    pub(super) fn target_inflight(&self) -> f64 {
        self.bdp(1.0).min(self.cwnd)
    }

    /// `InflightWithHeadroom`.
    pub(super) fn with_headroom(&self) -> f64 {
        let bound = self.model.inflight_longterm;
        if bound.is_infinite() {
            return bound;
        }
        (bound - (self.params.headroom * bound).max(1.0)).max(self.params.min_window)
    }

    // The window.

    pub(super) fn save_cwnd(&mut self) {
        let good = self.recovery.is_none() && self.repair.is_none() && self.state != State::ProbeRtt;
        self.prior_cwnd = if good { self.cwnd } else { self.prior_cwnd.max(self.cwnd) };
    }

    pub(super) fn probe_rtt_cwnd(&self) -> f64 {
        self.bdp(self.params.probe_rtt_cwnd_gain).max(self.params.min_window)
    }

    pub(super) fn set_cwnd(&mut self, sample: &Sample) {
        let max_inflight = self.quantized(self.bdp(self.gains().1) + self.model.extra);
        let delivered = sample.total_delivered as f64 / self.model.segment;
        if self.model.full.reached {
            self.cwnd = (self.cwnd + sample.acked).min(max_inflight);
        } else if self.cwnd < max_inflight || delivered < self.initial_cwnd {
            self.cwnd += sample.acked;
        }
        self.cwnd = self.cwnd.max(self.params.min_window);
        if self.state == State::ProbeRtt {
            self.cwnd = self.cwnd.min(self.probe_rtt_cwnd());
        }
        self.bound_cwnd_for_model();
    }

    pub(super) fn bound_cwnd_for_model(&mut self) {
        let longterm = match self.state {
            State::Cruise | State::ProbeRtt => self.with_headroom(),
            state if state.is_probe_bw() => self.model.inflight_longterm,
            _ => f64::INFINITY,
        };
        let bound = longterm.min(self.model.inflight_shortterm).max(self.params.min_window);
        self.cwnd = self.cwnd.min(bound);
    }
}
