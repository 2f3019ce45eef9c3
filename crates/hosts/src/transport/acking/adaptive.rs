//! Adaptive delayed acknowledgements (TCP-DAA): one acknowledgement for up to four segments while the channel is good,
//! for two after a sign of loss.
//!
//! Read: R. de Oliveira and T. Braun, "A Dynamic Adaptive Acknowledgment Strategy for TCP over Multihop Wireless
//! Networks", IEEE INFOCOM 2005, and "A Smart TCP Acknowledgment Approach for Multihop Wireless Networks", IEEE
//! Transactions on Mobile Computing 6(2), 2007. Only their abstracts and descriptions in later papers were available,
//! not the full texts. These sources confirm the delaying window. It begins at one segment, and grows to four with
//! segments that arrive in order. It falls to two on a sign of loss or when a segment is late, and then grows by one.
//! These sources do not confirm the rate of the first growth (`startup`), the weights of the average (`alpha`, `kappa`)
//! and the following rules. The gaps between all arrivals in order count. Every arrival restarts the timer. A fall ends
//! the first growth. An acknowledgement covers as many segments as the window held when the first of them arrived. Our
//! own choice: a maximum delay, which RFC 1122 requires. The papers also change the sender. Use `[tcp]` for this:
//! `duplicate_threshold = 2`, `timeout_factor = 5`, and a window of few segments (`max_cwnd = 4`).

use hopyard_engine::{Span, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{AckPolicy, Arrival, Order, Verdict};
use crate::params::{self, Fault};

/// The parameters of adaptive delayed acknowledgements.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Params {
    /// The maximum number of segments in order that one acknowledgement covers: 4.
    pub segments: u32,
    /// The growth of the delaying window for each arrival in order, in segments, until the window is full for the first
    /// time: 0.3. Later it is one.
    pub startup: f64,
    /// The weight of the old value in the average of the gaps between arrivals: 0.75.
    pub alpha: f64,
    /// How much later than two average gaps a segment may arrive, as a share of the average gap: 0.2.
    pub kappa: f64,
    /// The maximum delay: 500 ms (RFC 1122 §4.2.3.2).
    pub interval: Span,
}

impl params::Params for Params {
    fn of_profile(_profile: &str) -> Self {
        Self { segments: 4, startup: 0.3, alpha: 0.75, kappa: 0.2, interval: Span::from_millis(500) }
    }

    fn check(&self) -> Result<(), Fault> {
        Fault::unless("segments", self.segments, |it| it >= 2, "at least 2")?;
        Fault::unless("startup", self.startup, |it| it > 0.0 && it <= 1.0, "more than 0 and at most 1")?;
        Fault::unless("alpha", self.alpha, |it| (0.0..1.0).contains(&it), "at least 0 and less than 1")?;
        Fault::unless("kappa", self.kappa, |it| it >= 0.0 && it.is_finite(), "at least 0")?;
        if self.interval.is_zero() || self.interval > Span::from_millis(500) {
            let problem = format!("expected more than 0 s and at most 500 ms (RFC 1122), found {}", self.interval);
            return Err(Fault::new("interval", problem));
        }
        Ok(())
    }
}

/// The delaying window after a sign of loss.
const FALLEN: f64 = 2.0;

/// Delays acknowledgements by an adaptive window.
#[derive(Clone, Debug)]
pub struct Adaptive {
    params: Params,
    /// The delaying window in segments.
    window: f64,
    /// The window has not been full yet, and there was no sign of loss.
    starting: bool,
    waiting: u32,
    /// The number of segments that the next acknowledgement will cover: the window in whole segments when the first of
    /// them arrived.
    covered: u32,
    last: Option<Time>,
    /// The average gap between arrivals.
    gap: Option<Span>,
    deadline: Time,
}

impl Adaptive {
    /// The policy with these parameters.
    #[must_use]
    pub fn new(params: &Params) -> Self {
        Self {
            params: params.clone(),
            window: 1.0,
            starting: true,
            waiting: 0,
            covered: 1,
            last: None,
            gap: None,
            deadline: Time::NEVER,
        }
    }

    fn fall(&mut self) {
        self.window = FALLEN;
        self.starting = false;
    }

    fn average(&mut self, now: Time) {
        if let Some(last) = self.last.replace(now) {
            let gap = now.since(last);
            let alpha = self.params.alpha;
            self.gap = Some(self.gap.map_or(gap, |average| average.mul_f64(alpha) + gap.mul_f64(1.0 - alpha)));
        }
    }

    fn widen(&mut self) {
        let most = f64::from(self.params.segments);
        self.window = (self.window + if self.starting { self.params.startup } else { 1.0 }).min(most);
        self.starting &= self.window < most;
    }
}

impl AckPolicy for Adaptive {
    fn on_arrival(&mut self, arrival: &Arrival) -> Verdict {
        if arrival.control {
            return Verdict::Now;
        }
        if arrival.order != Order::Next {
            self.last = None;
            self.fall();
            return Verdict::Now;
        }
        self.average(arrival.now);
        if self.waiting == 0 {
            // `check` limits its size.
            self.covered = libm::floor(self.window) as u32;
        }
        self.waiting += 1;
        self.widen();
        if self.waiting >= self.covered {
            return Verdict::Now;
        }
        let wait = self.gap.map_or(self.params.interval, |gap| gap.mul_f64(2.0 + self.params.kappa));
        self.deadline = arrival.now + wait.min(self.params.interval);
        Verdict::Later
    }

    fn deadline(&self) -> Time {
        self.deadline
    }

    fn on_expired(&mut self, _now: Time) -> Verdict {
        self.fall();
        Verdict::Now
    }

    fn on_acknowledged(&mut self) {
        self.waiting = 0;
        self.deadline = Time::NEVER;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::params::{Params as _, RFC};
    use crate::transport::acking::delayed::{self, Delayed};

    fn arrival(millis: u64, in_order: bool) -> Arrival {
        let order = if in_order { Order::Next } else { Order::Ahead };
        Arrival { order, ..Arrival::at(Time::ZERO + Span::from_millis(millis)) }
    }

    /// At which of `segments` arrivals in order, every 10 ms from `from` on, an acknowledgement goes out.
    fn answered(policy: &mut impl AckPolicy, from: u64, segments: u64) -> Vec<u64> {
        let mut answered = Vec::new();
        for i in 0..segments {
            if policy.on_arrival(&arrival(from + 10 * i, true)) == Verdict::Now {
                policy.on_acknowledged();
                answered.push(i);
            }
        }
        answered
    }

    fn adaptive() -> Adaptive {
        Adaptive::new(&Params::of_profile(RFC))
    }

    #[test]
    fn the_delaying_window_grows_to_four() {
        // It is 1, then 1.3, 1.6, 1.9, 2.2 and so on: four segments from the twelfth arrival on.
        let mut policy = adaptive();
        assert_eq!(answered(&mut policy, 0, 25), [0, 1, 2, 3, 5, 7, 10, 14, 18, 22]);
        let mut delayed = Delayed::new(&delayed::Params::of_profile(RFC));
        assert_eq!(answered(&mut delayed, 0, 8), [1, 3, 5, 7], "every second, always");
    }

    #[test]
    fn disorder_is_answered_at_once_and_halves_the_window() {
        let mut policy = adaptive();
        answered(&mut policy, 0, 23);
        assert_eq!(policy.on_arrival(&arrival(230, false)), Verdict::Now);
        policy.on_acknowledged();
        // Two, by which time it has grown to four.
        assert_eq!(answered(&mut policy, 240, 12), [1, 5, 9]);
    }

    #[test]
    fn a_late_segment_is_not_waited_for() {
        let mut policy = adaptive();
        answered(&mut policy, 0, 23);
        assert_eq!(policy.on_arrival(&arrival(230, true)), Verdict::Later);
        // 2.2 average gaps of 10 ms.
        assert_eq!(policy.deadline(), Time::ZERO + Span::from_millis(252));
        policy.on_expired(policy.deadline());
        policy.on_acknowledged();
        assert_eq!((policy.window, policy.deadline()), (2.0, Time::NEVER));
    }

    #[test]
    fn the_average_follows_the_gaps() {
        let mut policy = adaptive();
        answered(&mut policy, 0, 23);
        policy.on_arrival(&arrival(260, true));
        // 3/4 of 10 ms and 1/4 of 40 ms.
        assert_eq!(policy.gap, Some(Span::from_micros(17_500)));
    }

    #[test]
    fn impossible_values_are_refused() {
        let fault = |params: Params| params.check().map_err(|fault| fault.parameter);
        let good = Params::of_profile(RFC);
        assert_eq!(fault(good.clone()), Ok(()));
        assert_eq!(fault(Params { segments: 1, ..good.clone() }), Err("segments"));
        assert_eq!(fault(Params { startup: 0.0, ..good.clone() }), Err("startup"));
        assert_eq!(fault(Params { alpha: 1.0, ..good.clone() }), Err("alpha"));
        assert_eq!(fault(Params { kappa: f64::NAN, ..good.clone() }), Err("kappa"));
        assert_eq!(fault(Params { interval: Span::from_secs(1), ..good }), Err("interval"));
    }
}
