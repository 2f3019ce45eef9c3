//! LEDBAT: background traffic, which leaves as soon as others use the path. It keeps its own queue at a target delay.
//!
//! Read: RFC 6817; for the profile `ns3`, ns-3.37's `TcpLedbat`. The queueing delay is the shortest of the last few
//! one-way delays, less the shortest one of the last minutes. In each round trip the window grows by at most one
//! segment: by the share of the target that the queueing delay is short of it. Above the target it shrinks in the same
//! way. A loss halves it (§2.4.2). One-way delays are differences of the timestamps of both ends (RFC 7323), in whole
//! milliseconds; a constant offset of the clocks has no effect. Without timestamps round trips take their place, so
//! that queues of acknowledgements count as well. Deviations: the profile `rfc` starts with TCP's initial window
//! instead of `INIT_CWND` unless `[tcp]` says otherwise; a timeout follows RFC 6298. Left out: the correction of clock
//! skew and of re-routing, for which §3.4 leaves the method open; the base delay forgets by minutes. The profile `ns3`
//! has ns-3's slow start, its shorter memory of delays and its threshold below the window. Validated by values computed
//! by hand, by the queue on a bottleneck (`tests/delay_senders.rs`), and against ns-3.37 (`tests/windows.rs`).

use std::collections::VecDeque;

use hopyard_engine::Span;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Ack, Answer, CongestionControl, Loss, Phase, Timeout, View};
use crate::params::{self, Fault, RFC};

const NS3: &str = "ns3";
/// The most minutes and samples that a flow keeps.
const MOST: u32 = 10_000;
/// The time for which one value of the base delay stands.
const MINUTE: Span = Span::from_secs(60);

/// LEDBAT's parameters. Windows count segments.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Params {
    /// `TARGET`: the queueing delay that LEDBAT keeps; at most 100 ms (RFC 6817 §2.5).
    pub target: Span,
    /// `GAIN`: the growth in a round trip without a queue, in segments; at most 1 (RFC 6817 §2.5).
    pub gain: f64,
    /// `BASE_HISTORY`: the number of minutes for which the shortest delay is remembered.
    pub base_history: u32,
    /// `CURRENT_FILTER`: the number of samples of which the shortest one is the present delay. rfc: 4; ns3: 3.
    pub current_filter: u32,
    /// `ALLOWED_INCREASE`: the number of segments by which the window may exceed the outstanding data. rfc: 1; ns3: 0,
    /// with which it never grows after slow start.
    pub allowed_increase: f64,
    /// `MIN_CWND`: the smallest window, except after a timeout.
    pub min_window: f64,
    /// Whether the window grows as in TCP's slow start until the first loss. rfc: off; ns3: on.
    pub slow_start: bool,
}

impl params::Params for Params {
    const PROFILES: &'static [&'static str] = &[RFC, NS3];

    fn of_profile(profile: &str) -> Self {
        let ns3 = profile == NS3;
        Self {
            target: Span::from_millis(100),
            gain: 1.0,
            base_history: if ns3 { 9 } else { 10 },
            current_filter: if ns3 { 3 } else { 4 },
            allowed_increase: if ns3 { 0.0 } else { 1.0 },
            min_window: 2.0,
            slow_start: ns3,
        }
    }

    fn check(&self) -> Result<(), Fault> {
        if self.target.is_zero() || self.target > Span::from_millis(100) {
            let problem = format!("expected more than 0 s and at most 100 ms (RFC 6817 §2.5), found {}", self.target);
            return Err(Fault::new("target", problem));
        }
        Fault::unless("gain", self.gain, |it| it > 0.0 && it <= 1.0, "more than 0 and at most 1 (RFC 6817 §2.5)")?;
        let counts = [("base_history", self.base_history), ("current_filter", self.current_filter)];
        if let Some((name, count)) = counts.into_iter().find(|(_, count)| !(1..=MOST).contains(count)) {
            return Err(Fault::new(name, format!("expected 1 to {MOST}, found {count}")));
        }
        let windows = [("allowed_increase", self.allowed_increase, 0.0), ("min_window", self.min_window, 1.0)];
        let wrong = windows.into_iter().find(|(_, value, least)| !(value >= least && value.is_finite()));
        if let Some((name, value, least)) = wrong {
            return Err(Fault::new(name, format!("expected at least {least} segments, found {value}")));
        }
        Ok(())
    }
}

/// LEDBAT's congestion control.
#[derive(Clone, Debug)]
pub struct Ledbat {
    params: Params,
    /// The shortest delay of each of the last minutes, and the number of the last one.
    base: VecDeque<Span>,
    minute: u64,
    /// The last delays.
    current: VecDeque<Span>,
    /// The window has never been reduced, and grows as in slow start.
    starting: bool,
}

impl Ledbat {
    /// The congestion control with these parameters.
    #[must_use]
    pub fn new(params: &Params) -> Self {
        Self {
            base: VecDeque::with_capacity(params.base_history as usize),
            minute: 0,
            current: VecDeque::with_capacity(params.current_filter as usize),
            starting: params.slow_start,
            params: params.clone(),
        }
    }

    /// §2.4.2: `update_base_delay` and `update_current_delay`.
    fn measure(&mut self, delay: Span, view: &View) {
        let minute = view.now.nanos() / MINUTE.nanos();
        let same = std::mem::replace(&mut self.minute, minute) == minute;
        match self.base.back_mut() {
            Some(last) if same => *last = (*last).min(delay),
            _ => {
                if self.base.len() == self.params.base_history as usize {
                    self.base.pop_front();
                }
                self.base.push_back(delay);
            }
        }
        if self.current.len() == self.params.current_filter as usize {
            self.current.pop_front();
        }
        self.current.push_back(delay);
    }

    /// The queueing delay, after the first sample. If the newest delays are shorter than the remembered ones, it is
    /// zero and not negative: the window never grows faster than TCP's.
    fn queueing(&self) -> Option<Span> {
        let (current, base) = (self.current.iter().min()?, self.base.iter().min()?);
        Some(current.saturating_sub(*base))
    }

    fn halved(&self, view: &View) -> f64 {
        (view.cwnd / 2.0).max(self.params.min_window).min(view.cwnd)
    }
}

impl CongestionControl for Ledbat {
    fn on_ack(&mut self, ack: &Ack, view: &View) -> Answer {
        if let Some(delay) = ack.one_way.or(ack.round_trip).filter(|_| ack.bytes > 0) {
            self.measure(delay, view);
        }
        if ack.phase != Phase::Open {
            return Answer::Keep;
        }
        let acked = ack.counted as f64 / f64::from(view.segment);
        if self.starting && view.cwnd <= view.ssthresh {
            let growth = if ack.window_limited { acked.min(1.0) } else { 0.0 };
            return Answer::Set { cwnd: view.cwnd + growth, ssthresh: view.ssthresh };
        }
        let Some(queueing) = self.queueing() else { return Answer::Keep };
        let target = self.params.target.seconds();
        let off_target = (target - queueing.seconds()) / target;
        let grown = view.cwnd + self.params.gain * off_target * acked / view.cwnd;
        // The outstanding data as it was before this acknowledgement.
        let allowed = view.flight + acked + self.params.allowed_increase;
        let cwnd = grown.min(allowed.max(view.cwnd)).max(self.params.min_window.min(view.cwnd));
        Answer::Set { cwnd, ssthresh: view.ssthresh.min(cwnd) }
    }

    fn on_loss(&mut self, _loss: &Loss, view: &View) -> Answer {
        self.starting = false;
        let cwnd = self.halved(view);
        Answer::Set { cwnd, ssthresh: cwnd }
    }

    fn on_timeout(&mut self, timeout: &Timeout, view: &View) -> Answer {
        self.starting = self.params.slow_start;
        let ssthresh = if timeout.repeated > 0 { view.ssthresh } else { self.halved(view) };
        Answer::Set { cwnd: 1.0, ssthresh }
    }
}

#[cfg(test)]
mod tests;
