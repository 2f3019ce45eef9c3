//! BBR's models of the path: the largest bandwidth, the aggregation of acknowledgements, policers.

use std::collections::VecDeque;

use hopyard_engine::{Span, Time};

/// The window before the first measurement, in segments (RFC 6928).
pub const INITIAL_WINDOW: f64 = 10.0;
/// The duration for which an aggregation of acknowledgements is compensated, in seconds.
pub const LARGEST_BURST: f64 = 0.1;

/// The integer part of a number that is not negative: as `libm::floor`, at a tenth of the cost, because it is computed
/// on each acknowledgement.
pub const fn floor(value: f64) -> f64 {
    value as u64 as f64
}

/// The smallest integer that is not below a number, which must not be negative.
pub const fn ceil(value: f64) -> f64 {
    let whole = floor(value);
    if whole < value { whole + 1.0 } else { whole }
}

/// The largest value of the last rounds.
#[derive(Clone, Debug)]
pub struct MaxFilter {
    window: u64,
    /// Values that may become the largest, each smaller and later than the previous one.
    values: VecDeque<(u64, f64)>,
}

impl MaxFilter {
    /// The number of rounds.
    pub const fn new(window: u64) -> Self {
        Self { window, values: VecDeque::new() }
    }

    /// A value of this round, which is not before the last one.
    pub fn update(&mut self, round: u64, value: f64) {
        while self.values.back().is_some_and(|(_, last)| *last <= value) {
            self.values.pop_back();
        }
        self.values.push_back((round, value));
        while self.values.front().is_some_and(|(first, _)| round - first > self.window) {
            self.values.pop_front();
        }
    }

    /// The largest value; zero before the first one.
    pub fn max(&self) -> f64 {
        self.values.front().map_or(0.0, |(_, value)| *value)
    }
}

/// The largest value of the last rounds, from three candidates.
///
/// The second is the largest value since the first, and the third is the largest since the second. If none came for a
/// quarter or half of the window, the present value is taken. When the first is too old, the second takes its place.
#[derive(Clone, Copy, Debug, Default)]
pub struct WindowedMax {
    window: u64,
    /// Rounds and values.
    candidates: [(u64, u64); 3],
}

impl WindowedMax {
    /// A maximum over so many rounds.
    pub fn over(window: u64) -> Self {
        Self { window, ..Self::default() }
    }

    /// The largest value; zero before the first one.
    pub const fn max(&self) -> u64 {
        self.candidates[0].1
    }

    /// A value of this round, which is not before the last one.
    pub fn update(&mut self, round: u64, value: u64) {
        let new = (round, value);
        let [first, second, third] = &mut self.candidates;
        if value >= first.1 || round - third.0 > self.window {
            self.candidates = [new; 3];
            return;
        }
        if value >= second.1 {
            (*second, *third) = (new, new);
        } else if value >= third.1 {
            *third = new;
        }
        let age = round - first.0;
        if age > self.window {
            (*first, *second, *third) = (*second, *third, new);
            if round - first.0 > self.window {
                (*first, *second, *third) = (*second, *third, new);
            }
        } else if second.0 == first.0 && age > self.window / 4 {
            (*second, *third) = (new, new);
        } else if third.0 == second.0 && age > self.window / 2 {
            *third = new;
        }
    }
}

/// How much more data is acknowledged at once than the bandwidth explains: the largest excess of the last five to ten
/// rounds, in segments.
#[derive(Clone, Debug, Default)]
pub struct Aggregation {
    excess: [f64; 2],
    current: usize,
    rounds: u32,
    /// The time since which acknowledgements arrive faster than the bandwidth, and the segments that they acknowledged.
    since: Time,
    acked: f64,
}

impl Aggregation {
    const ROUNDS: u32 = 5;

    /// The largest excess.
    pub const fn extra(&self) -> f64 {
        self.excess[0].max(self.excess[1])
    }

    /// The sender was silent.
    pub const fn restart(&mut self, now: Time) {
        self.since = now;
        self.acked = 0.0;
    }

    /// `acked` segments were delivered, by a window of `cwnd`; the bandwidth explains `delivers` whole segments in a
    /// time.
    pub fn update(&mut self, now: Time, round_start: bool, delivers: impl Fn(Span) -> f64, acked: f64, cwnd: f64) {
        if round_start {
            self.rounds += 1;
            if self.rounds >= Self::ROUNDS {
                self.rounds = 0;
                self.current = 1 - self.current;
                self.excess[self.current] = 0.0;
            }
        }
        let mut expected = delivers(now.since(self.since));
        if self.acked <= expected {
            self.restart(now);
            expected = 0.0;
        }
        self.acked += acked;
        let excess = (self.acked - expected).min(cwnd);
        self.excess[self.current] = self.excess[self.current].max(excess);
    }
}

/// The input of long-term sampling on each acknowledgement and on a timeout. Amounts are in bytes.
#[derive(Clone, Copy, Debug)]
pub struct Round {
    pub now: Time,
    /// The acknowledgement begins a round.
    pub start: bool,
    /// In PROBE_BW.
    pub cruising: bool,
    /// Something was lost.
    pub loss: bool,
    pub app_limited: bool,
    /// Lost and delivered bytes so far.
    pub lost: f64,
    pub delivered: f64,
}

/// The result of long-term sampling.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    Nothing,
    /// The path has a policer: use its rate.
    Policed,
    /// The policer's rate has been used long enough: probe for more bandwidth again.
    Expired,
}

/// Detects policers: two intervals from loss to loss, of at least four rounds each, with many losses and the same rate.
#[derive(Clone, Debug, Default)]
pub struct LongTerm {
    sampling: bool,
    policed: bool,
    /// The rate of the last interval, or of the policer, in bytes per second.
    found: Option<f64>,
    rounds: u32,
    /// The beginning of the interval.
    since: Time,
    lost: f64,
    delivered: f64,
}

impl LongTerm {
    const INTERVAL_ROUNDS: u32 = 4;
    /// Lost bytes for each delivered byte.
    const MUCH_LOSS: f64 = 50.0 / 256.0;
    const SAME_RATIO: f64 = 1.0 / 8.0;
    /// Bytes per second.
    const SAME_RATE: f64 = 500.0;
    const POLICED_ROUNDS: u32 = 48;

    /// The policer's rate, if there is one.
    pub fn rate(&self) -> Option<f64> {
        self.found.filter(|_| self.policed)
    }

    fn begin_interval(&mut self, round: &Round) {
        self.since = round.now;
        self.lost = round.lost;
        self.delivered = round.delivered;
        self.rounds = 0;
    }

    fn reset(&mut self, round: &Round) {
        *self = Self::default();
        self.begin_interval(round);
    }

    pub fn update(&mut self, round: &Round) -> Verdict {
        if self.policed {
            if round.cruising && round.start {
                self.rounds += 1;
                if self.rounds >= Self::POLICED_ROUNDS {
                    self.reset(round);
                    return Verdict::Expired;
                }
            }
            return Verdict::Nothing;
        }
        // The first loss shows that a policer has no tokens left: before it the rate is too high.
        if !self.sampling {
            if !round.loss {
                return Verdict::Nothing;
            }
            self.begin_interval(round);
            self.sampling = true;
        }
        if round.app_limited {
            self.reset(round);
            return Verdict::Nothing;
        }
        self.rounds += u32::from(round.start);
        if self.rounds < Self::INTERVAL_ROUNDS {
            return Verdict::Nothing;
        }
        if self.rounds > 4 * Self::INTERVAL_ROUNDS {
            self.reset(round);
            return Verdict::Nothing;
        }
        // An interval ends with a loss, when there are no tokens left again.
        let (lost, delivered) = (round.lost - self.lost, round.delivered - self.delivered);
        let elapsed = round.now.since(self.since).seconds();
        if !round.loss || delivered <= 0.0 || lost < Self::MUCH_LOSS * delivered || elapsed < 0.001 {
            return Verdict::Nothing;
        }
        self.end_interval(delivered / elapsed, round)
    }

    fn end_interval(&mut self, rate: f64, round: &Round) -> Verdict {
        if let Some(before) = self.found {
            let difference = (rate - before).abs();
            if difference <= Self::SAME_RATIO * before || difference <= Self::SAME_RATE {
                self.found = Some(f64::midpoint(rate, before));
                self.policed = true;
                self.rounds = 0;
                return Verdict::Policed;
            }
        }
        self.found = Some(rate);
        self.begin_interval(round);
        Verdict::Nothing
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_filter_forgets_after_its_window() {
        let mut filter = MaxFilter::new(10);
        assert_eq!(filter.max(), 0.0);
        for (round, value) in [(1, 50.0), (2, 90.0), (3, 70.0), (5, 80.0)] {
            filter.update(round, value);
        }
        assert_eq!(filter.max(), 90.0);
        filter.update(12, 10.0);
        assert_eq!(filter.max(), 90.0, "ten rounds old");
        filter.update(13, 10.0);
        assert_eq!(filter.max(), 80.0);
        filter.update(40, 20.0);
        assert_eq!(filter.max(), 20.0);
    }

    #[test]
    fn bursts_leave_their_excess() {
        let mut aggregation = Aggregation::default();
        let delivers = |span: Span| floor(100.0 * span.seconds());
        let at = |millis: u64| Time::ZERO + Span::from_millis(millis);
        // 100 segments a second, and acknowledgements of one each 10 ms: nothing but the one at hand is in excess.
        for step in 1..200 {
            aggregation.update(at(10 * step), step % 10 == 0, delivers, 1.0, 1000.0);
        }
        assert!(aggregation.extra() <= 2.0, "{}", aggregation.extra());
        // Twenty at once every 200 ms.
        for step in 11..20 {
            for _ in 0..20 {
                aggregation.update(at(200 * step), false, delivers, 1.0, 1000.0);
            }
        }
        assert!((19.0..=22.0).contains(&aggregation.extra()), "{}", aggregation.extra());
        // Ten rounds later it is forgotten.
        for step in 500..620 {
            aggregation.update(at(10 * step), step % 10 == 0, delivers, 1.0, 1000.0);
        }
        assert!(aggregation.extra() <= 2.0, "{}", aggregation.extra());
    }

    /// Rounds of 100 ms with these rates in bytes per second and shares lost; the first verdict, and the round in which
    /// it falls.
    fn police(rates: &[f64], share: f64) -> (LongTerm, Option<(usize, Verdict)>) {
        let mut sampler = LongTerm::default();
        let mut verdict = None;
        let mut round = Round {
            now: Time::ZERO,
            start: true,
            cruising: true,
            loss: true,
            app_limited: false,
            lost: 0.0,
            delivered: 0.0,
        };
        for (index, rate) in rates.iter().enumerate() {
            round.now += Span::from_millis(100);
            round.delivered += rate * 0.1;
            round.lost += rate * 0.1 * share;
            let found = sampler.update(&round);
            if found != Verdict::Nothing && verdict.is_none() {
                verdict = Some((index, found));
            }
        }
        (sampler, verdict)
    }

    #[test]
    fn constant_loss_at_a_constant_rate_is_a_policer() {
        let (sampler, verdict) = police(&[1e6; 9], 0.25);
        // Four rounds each.
        assert_eq!(verdict, Some((7, Verdict::Policed)));
        assert!((sampler.rate().expect("a policer") - 1e6).abs() < 0.05e6);
        // It is believed for 48 rounds.
        let (sampler, _) = police(&[1e6; 55], 0.25);
        assert!(sampler.rate().is_some());
        let (sampler, _) = police(&[1e6; 56], 0.25);
        assert!(sampler.rate().is_none());
    }

    #[test]
    fn little_loss_or_changing_rates_are_none() {
        assert_eq!(police(&[1e6; 40], 0.1).1, None);
        let halving: Vec<f64> = (0..40).map(|round| if round / 4 % 2 == 0 { 1e6 } else { 3e6 }).collect();
        assert_eq!(police(&halving, 0.25).1, None);
    }
}
