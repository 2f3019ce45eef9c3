//! Westwood+ as Linux computes it: whole ticks, whole bytes in a tick, and the growth of Reno in whole segments.
//!
//! The acknowledgement at hand ends a window of the sampling with the round trip that the acknowledgement before it
//! gave, and counts in that window. Round trips are rounded to the nearest tick.

use hopyard_engine::{Span, Time};

use crate::transport::congestion::control::Whole;
use crate::transport::congestion::{
    Ack, Answer, Arrived, CongestionControl, Loss, Phase, RecoveryChoice, Sent, Timeout, View,
};

/// The tick of the kernel's clock (HZ 250).
const TICK: Span = Span::from_millis(4);
/// The round trip before the first sample.
const FIRST_RTT: Span = Span::from_secs(20);

/// The constants of the computation.
#[derive(Clone, Copy, Debug)]
pub struct Constants {
    /// The shortest window of the sampling.
    pub min_window: Span,
}

/// Westwood+'s congestion control as in Linux. Times are in ticks, rates in bytes per tick.
#[derive(Clone, Debug)]
pub struct Linux {
    constants: Constants,
    whole: Whole,
    /// When the window of the sampling began, and the bytes acknowledged in it.
    began: Option<u64>,
    bytes: u64,
    /// Bytes that duplicate acknowledgements have counted in advance.
    advance: u64,
    una: Option<u64>,
    rtt: u64,
    min_rtt: u64,
    replace_min_rtt: bool,
    inner: u64,
    bandwidth: u64,
}

impl Linux {
    /// The congestion control with these constants.
    #[must_use]
    pub fn new(constants: Constants) -> Self {
        let first = ticks(FIRST_RTT);
        Self {
            constants,
            whole: Whole::default(),
            began: None,
            bytes: 0,
            advance: 0,
            una: None,
            rtt: first,
            min_rtt: first,
            replace_min_rtt: true,
            inner: 0,
            bandwidth: 0,
        }
    }

    /// How much an acknowledgement reports: a duplicate one segment, which later acknowledgements do not count again.
    fn count(&mut self, bytes: u64, segment: u64) -> u64 {
        if bytes == 0 {
            self.advance += segment;
            return segment;
        }
        if bytes <= segment {
            return bytes;
        }
        if self.advance >= bytes {
            self.advance -= bytes;
            return segment;
        }
        bytes - std::mem::take(&mut self.advance)
    }

    fn filter(&mut self, sample: u64) {
        if self.inner == 0 && self.bandwidth == 0 {
            (self.inner, self.bandwidth) = (sample, sample);
        } else {
            self.inner = (7 * self.inner + sample) / 8;
            self.bandwidth = (7 * self.bandwidth + self.inner) / 8;
        }
    }

    /// The segments that the path holds.
    fn pipe(&self, view: &View) -> f64 {
        ((self.bandwidth * self.min_rtt / u64::from(view.segment)) as f64).max(2.0)
    }
}

/// Whole ticks.
const fn ticks(span: Span) -> u64 {
    span.nanos() / TICK.nanos()
}

impl CongestionControl for Linux {
    fn on_arrival(&mut self, arrived: &Arrived, view: &View) -> Answer {
        let now = ticks(view.now.since(Time::ZERO));
        if let Some(round_trip) = arrived.round_trip {
            self.rtt = round_trip.nanos().div_ceil(TICK.nanos());
        }
        let began = *self.began.get_or_insert(now);
        // The first acknowledgement counts as a duplicate one, as in Linux.
        let before = self.una.replace(view.una).unwrap_or(view.una);
        let least = ticks(self.constants.min_window).max(self.rtt);
        if now - began > least {
            let sample = std::mem::take(&mut self.bytes) / (now - began);
            self.filter(sample);
            self.began = Some(now);
        }
        self.bytes += self.count(view.una - before, u64::from(view.segment));
        self.min_rtt = if std::mem::take(&mut self.replace_min_rtt) { self.rtt } else { self.min_rtt.min(self.rtt) };
        Answer::Keep
    }

    fn on_ack(&mut self, ack: &Ack, view: &View) -> Answer {
        if ack.phase != Phase::Open || !ack.window_limited {
            return Answer::Keep;
        }
        Answer::Set { cwnd: self.whole.grown(ack, view), ssthresh: view.ssthresh }
    }

    fn on_loss(&mut self, _loss: &Loss, view: &View) -> Answer {
        self.whole.forget();
        let ssthresh = libm::floor(view.cwnd / 2.0).max(2.0);
        Answer::Set { cwnd: ssthresh, ssthresh }
    }

    fn on_timeout(&mut self, timeout: &Timeout, view: &View) -> Answer {
        self.whole.forget();
        if timeout.repeated > 0 {
            return Answer::Set { cwnd: 1.0, ssthresh: view.ssthresh };
        }
        self.replace_min_rtt = true;
        Answer::Set { cwnd: 1.0, ssthresh: self.pipe(view) }
    }

    fn on_recovered(&mut self, view: &View) -> Answer {
        let pipe = self.pipe(view);
        Answer::Set { cwnd: pipe, ssthresh: pipe }
    }

    fn on_sent(&mut self, sent: &Sent, view: &View) {
        // Not with the opening, but with the first data.
        if sent.len > 0 {
            let now = ticks(view.now.since(Time::ZERO));
            self.began.get_or_insert(now);
        }
    }

    fn bandwidth(&self) -> Option<f64> {
        (self.bandwidth > 0).then(|| self.bandwidth as f64 / TICK.seconds())
    }

    fn recovery(&self) -> RecoveryChoice {
        RecoveryChoice::Rack
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::params::{LINUX, Params as _};
    use crate::transport::congestion::testing::{LOSS, set, view};
    use crate::transport::congestion::westwood_plus::Params;

    /// After acknowledgements of 1000 bytes every 10 ms for 60 s, with round trips of 100 ms.
    fn westwood() -> (Linux, View) {
        let mut westwood = Linux::new(Params::of_profile(LINUX).linux());
        let mut at = view(20.0);
        for number in 1..6000 {
            at = View { now: Time::ZERO + Span::from_millis(10 * number), una: 1000 * number, ..at };
            westwood.on_arrival(&Arrived { round_trip: Some(Span::from_millis(100)) }, &at);
        }
        (westwood, at)
    }

    #[test]
    fn the_estimate_is_in_whole_bytes_of_a_tick() {
        let (westwood, _) = westwood();
        // 400 bytes in 4 ms; each average loses up to 7.
        assert!((386..=400).contains(&westwood.bandwidth), "{}", westwood.bandwidth);
    }

    #[test]
    fn a_recovery_ends_at_what_the_path_holds() {
        let (mut westwood, at) = westwood();
        assert_eq!(set(westwood.on_loss(&LOSS, &at)), (10.0, 10.0), "until then half");
        let pipe = f64::from((westwood.bandwidth * 25 / 1000) as u32);
        assert_eq!(set(westwood.on_recovered(&at)), (pipe, pipe));
        assert_eq!(set(westwood.on_timeout(&Timeout { repeated: 0 }, &at)), (1.0, pipe));
        assert!(westwood.replace_min_rtt);
    }
}
