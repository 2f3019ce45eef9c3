//! The retransmission timeout: RFC 6298, ns-2's integer arithmetic, and Linux's.

use hopyard_engine::{Rng, Span, Time};

use super::params::{Habits, Params};
use crate::transport::linux::Smoother;

/// Smooths round-trip samples into a retransmission timeout, and backs it off.
#[derive(Clone, Debug, PartialEq)]
pub struct Estimator {
    kind: Kind,
    min: Span,
    max: Span,
    tick: Span,
    /// By how much the timeout that samples give is multiplied.
    factor: f64,
}

#[derive(Clone, Debug, PartialEq)]
enum Kind {
    Rfc {
        /// SRTT and RTTVAR, after the first sample.
        smoothed: Option<(Span, Span)>,
        rto: Span,
    },
    Linux {
        smoother: Smoother,
        rto: Span,
    },
    Ns2 {
        /// Eight times the smoothed round trip in ticks; 0 before the first sample and after a long back-off.
        srtt: i64,
        /// Four times the mean deviation in ticks.
        rttvar: i64,
        /// The timeout without minimum and back-off, in seconds.
        current: f64,
        backoff: u64,
        /// The phase of the sender's clock within a tick.
        phase: Span,
    },
}

/// A round trip that was measured.
#[derive(Clone, Copy, Debug)]
pub struct Sample {
    pub round_trip: Span,
    /// When the segment was sent.
    pub sent: Time,
    /// Whether timestamps measured it; ns-2 rounds such a time to the nearest tick.
    pub exact: bool,
    /// The first sequence number not acknowledged, and the first never sent.
    pub una: u64,
    pub next: u64,
}

/// ns-2's `rttvar_init_` of 12 s.
const NS2_FIRST_DEVIATION: u64 = 12;

impl Estimator {
    /// An estimator without samples. ns-2's clock starts with a random phase, which comes from `rng`.
    #[must_use]
    pub fn new(params: &Params, rng: &mut Rng) -> Self {
        let kind = match params.habits {
            Habits::Linux => Kind::Linux { smoother: Smoother::new(params.min_rto), rto: params.initial_rto },
            Habits::Rfc => Kind::Rfc { smoothed: None, rto: params.initial_rto },
            Habits::Ns2 => Kind::Ns2 {
                srtt: 0,
                rttvar: ((Span::from_secs(NS2_FIRST_DEVIATION).nanos() / params.tick.nanos()) as i64) << 2,
                current: params.initial_rto.seconds(),
                backoff: 1,
                phase: params.tick.mul_f64(rng.uniform()),
            },
        };
        Self { kind, min: params.min_rto, max: params.max_rto, tick: params.tick, factor: params.timeout_factor }
    }

    /// Sets the phase of the sender's clock, for comparison with an ns-2 run whose phase is known.
    pub fn set_phase(&mut self, start: Span) {
        if let Kind::Ns2 { phase, .. } = &mut self.kind {
            *phase = start;
        }
    }

    /// A round trip was measured.
    pub fn sample(&mut self, sample: &Sample) {
        let (min, max, tick, factor) = (self.min, self.max, self.tick, self.factor);
        let &Sample { round_trip, sent, exact, una, next } = sample;
        match &mut self.kind {
            Kind::Rfc { smoothed, rto } => {
                // RFC 6298 §2.2 and §2.3.
                let (srtt, rttvar) = match *smoothed {
                    None => (round_trip, round_trip / 2),
                    Some((srtt, rttvar)) => {
                        let deviation = srtt.saturating_sub(round_trip) + round_trip.saturating_sub(srtt);
                        ((srtt * 7 + round_trip) / 8, (rttvar * 3 + deviation) / 4)
                    }
                };
                *smoothed = Some((srtt, rttvar));
                *rto = (srtt + tick.max(rttvar * 4)).mul_f64(factor).max(min).min(max);
            }
            Kind::Linux { smoother, rto } => {
                smoother.sample(round_trip, una, next);
                // The minimum is a part of it.
                let timeout = smoother.timeout().mul_f64(factor).min(max);
                *rto = tick * timeout.nanos().div_ceil(tick.nanos());
            }
            Kind::Ns2 { srtt, rttvar, current, phase, .. } => {
                let ticks = if exact {
                    (round_trip.nanos() + tick.nanos() / 2) / tick.nanos()
                } else {
                    let offset = (sent + *phase).nanos() % tick.nanos();
                    (round_trip.nanos() + offset) / tick.nanos()
                };
                let ticks = (ticks as i64).max(1);
                if *srtt == 0 {
                    *srtt = ticks << 3;
                    *rttvar = ticks << 1;
                } else {
                    let delta = ticks - (*srtt >> 3);
                    *srtt = (*srtt + delta).max(1);
                    *rttvar = (*rttvar + delta.abs() - (*rttvar >> 2)).max(1);
                }
                *current = (((*rttvar << 3) + *srtt) >> 3) as f64 * tick.seconds() * factor;
            }
        }
    }

    /// The retransmission timeout now.
    #[must_use]
    pub fn timeout(&self) -> Span {
        match &self.kind {
            Kind::Rfc { rto, .. } | Kind::Linux { rto, .. } => *rto,
            // The minimum comes before the back-off, the maximum after; two ticks at least.
            Kind::Ns2 { current, backoff, .. } => {
                Span::from_secs_f64(current.max(self.min.seconds()) * *backoff as f64).min(self.max).max(self.tick * 2)
            }
        }
    }

    /// The timer expired (RFC 6298 §5.5).
    pub fn back_off(&mut self) {
        let below_max = self.timeout() < self.max;
        let max = self.max;
        match &mut self.kind {
            Kind::Rfc { rto, .. } | Kind::Linux { rto, .. } => *rto = (*rto * 2).min(max),
            Kind::Ns2 { srtt, rttvar, backoff, .. } => {
                if *backoff < 64 || below_max {
                    *backoff <<= 1;
                }
                if *backoff > 8 {
                    // After so long a back-off the smoothed value is no longer used: the next sample starts a new
                    // average.
                    *rttvar += *srtt >> 3;
                    *srtt = 0;
                }
            }
        }
    }

    /// New data was acknowledged without doubt about which transmission: ns-2 then ends the back-off even without a
    /// sample.
    pub fn end_back_off(&mut self) {
        if let Kind::Ns2 { backoff, .. } = &mut self.kind {
            *backoff = 1;
        }
    }

    /// Multiplies the timeout, in place of doubling it.
    pub fn rescale(&mut self, factor: f64) {
        let (min, max) = (self.min, self.max);
        match &mut self.kind {
            Kind::Rfc { rto, .. } | Kind::Linux { rto, .. } => *rto = rto.mul_f64(factor).max(min).min(max),
            // The minimum counts first: the timeout in use is what is multiplied.
            Kind::Ns2 { current, .. } => *current = (current.max(min.seconds()) * factor).min(max.seconds()),
        }
    }

    /// The opening segment was lost, and gave no sample: data starts with three seconds (RFC 6298 §5.7).
    pub fn after_lost_opening(&mut self) {
        let fallback = Span::from_secs(3).max(self.min).min(self.max);
        match &mut self.kind {
            Kind::Rfc { smoothed: None, rto } => *rto = fallback,
            Kind::Linux { smoother, rto } if smoother.srtt().is_none() => *rto = fallback,
            _ => {}
        }
    }

    /// The smoothed round trip, after the first sample.
    #[must_use]
    pub fn srtt(&self) -> Option<Span> {
        match &self.kind {
            Kind::Rfc { smoothed, .. } => smoothed.map(|(srtt, _)| srtt),
            Kind::Linux { smoother, .. } => smoother.srtt(),
            Kind::Ns2 { srtt, .. } => (*srtt > 0).then(|| self.tick.mul_f64(*srtt as f64 / 8.0)),
        }
    }
}

#[cfg(test)]
mod tests {
    use hopyard_engine::Streams;

    use super::*;
    use crate::params::Params as _;

    fn estimator(profile: &str) -> Estimator {
        let mut estimator = Estimator::new(&Params::of_profile(profile), &mut Streams::new(1, 0).stream("test"));
        estimator.set_phase(Span::ZERO);
        estimator
    }

    fn sample(estimator: &mut Estimator, millis: u64) {
        let round_trip = Span::from_millis(millis);
        estimator.sample(&Sample { round_trip, sent: Time::ZERO, exact: false, una: 0, next: 0 });
    }

    #[test]
    fn rfc_6298_by_hand() {
        let mut e = estimator("rfc");
        assert_eq!(e.timeout(), Span::from_secs(1));
        // SRTT 400, RTTVAR 200: 1200 ms.
        sample(&mut e, 400);
        assert_eq!((e.timeout(), e.srtt()), (Span::from_millis(1200), Some(Span::from_millis(400))));
        // RTTVAR 3/4 200 + 1/4 400 = 250, SRTT 7/8 400 + 1/8 800 = 450: 1450 ms.
        sample(&mut e, 800);
        assert_eq!((e.timeout(), e.srtt()), (Span::from_millis(1450), Some(Span::from_millis(450))));
        e.back_off();
        e.back_off();
        assert_eq!(e.timeout(), Span::from_millis(5800));
        (0..9).for_each(|_| e.back_off());
        assert_eq!(e.timeout(), Span::from_secs(60));
        // A valid sample ends the back-off; the minimum is one second.
        (0..40).for_each(|_| sample(&mut e, 20));
        assert_eq!(e.timeout(), Span::from_secs(1));
    }

    #[test]
    fn the_timeout_may_be_multiplied() {
        for (profile, millis) in [("rfc", 6000), ("ns2", 6000)] {
            let params = Params { timeout_factor: 5.0, ..Params::of_profile(profile) };
            let mut e = Estimator::new(&params, &mut Streams::new(1, 0).stream("test"));
            e.set_phase(Span::ZERO);
            sample(&mut e, 400);
            // Five times 1200 ms, SRTT and four times RTTVAR.
            assert_eq!(e.timeout(), Span::from_millis(millis), "{profile}");
        }
    }

    #[test]
    fn ns2_counts_whole_ticks() {
        let mut e = estimator("ns2");
        assert_eq!(e.timeout(), Span::from_secs(3));
        // 21 ticks of 10 ms: 21 + 4 * 10.5 = 63 ticks.
        sample(&mut e, 215);
        assert_eq!(e.timeout(), Span::from_millis(630));
        // Late in a tick the same round trip is one tick more: srtt 8 * 21 + 1, rttvar 42 + 1 - 10.
        e.set_phase(Span::from_millis(6));
        sample(&mut e, 215);
        assert_eq!(e.timeout(), Span::from_millis(540));
        assert_eq!(e.srtt(), Some(Span::from_micros(211_250)));
    }

    #[test]
    fn ns2_applies_the_minimum_before_the_back_off() {
        let mut e = estimator("ns2");
        (0..60).for_each(|_| sample(&mut e, 10));
        assert_eq!(e.timeout(), Span::from_millis(200));
        e.back_off();
        assert_eq!(e.timeout(), Span::from_millis(400));
        (0..3).for_each(|_| e.back_off());
        // After sixteen back-offs the average is discarded: the next sample starts a new one.
        assert_eq!((e.timeout(), e.srtt()), (Span::from_millis(3200), None));
        e.end_back_off();
        sample(&mut e, 100);
        assert_eq!(e.timeout(), Span::from_millis(300));
        (0..20).for_each(|_| e.back_off());
        assert_eq!(e.timeout(), Span::from_secs(60));
    }

    #[test]
    fn rescaling_takes_the_place_of_doubling() {
        for (profile, longest) in [("rfc", 60), ("ns2", 60)] {
            for millis in [1000, 5] {
                let mut e = estimator(profile);
                (0..60).for_each(|_| sample(&mut e, millis));
                let before = e.timeout();
                e.rescale(1.5);
                assert_eq!(e.timeout(), before.mul_f64(1.5), "{profile}, {millis} ms");
                (0..20).for_each(|_| e.rescale(1.5));
                assert_eq!(e.timeout(), Span::from_secs(longest), "{profile}, {millis} ms");
            }
        }
    }
}
