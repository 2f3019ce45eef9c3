//! Copa: moves its rate towards a target that is the smaller, the longer the queue of the path is.
//!
//! Read: V. Arun and H. Balakrishnan, "Copa: Practical Delay-Based Congestion Control for the Internet", NSDI 2018. The
//! queueing delay `d` is the shortest round trip of the last half of a smoothed one, less the shortest one of ten
//! seconds. The target is `1 / (δ d)` segments per second (§2.1). Below it each acknowledged segment adds `v / (δ W)`
//! segments to the window `W`, above it as many leave. `v` doubles in each round trip once the direction has been the
//! same for three (§2.1, step 3). Segments are paced at twice the window in a round trip. In slow start the window
//! doubles until the target is reached. The queue of Copa alone is nearly empty once in five round trips; if it is not,
//! others fill it, and δ becomes smaller by the rule of Reno until the queue is nearly empty again (§2.2). Losses
//! change δ alone: the delay rules the window in a recovery too. Added, as in the open implementations: `v` returns to
//! 1 as soon as the direction changes, and the window changes at most twofold in a round trip. A timeout starts again
//! with one segment, because §2 does not treat timeouts. The window does not grow while the application or the
//! receiver holds the sender back. Validated by values computed by hand, and by the published queue and utilisation on
//! a bottleneck (`tests/delay_senders.rs`).

use std::collections::VecDeque;

use hopyard_engine::{Span, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Ack, Answer, CongestionControl, Duplicate, Loss, Pace, Phase, RateSample, Timeout, View, Wants};
use crate::params::{self, Fault};

/// The smallest window.
const SMALLEST: f64 = 2.0;
/// The number of round trips in one direction from which the velocity doubles.
const STEADY: u32 = 3;

/// Copa's parameters.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Params {
    /// The weight of delay against throughput (δ): alone, a flow keeps about 1/δ segments in the queue.
    pub delta: f64,
    /// For how long the shortest round trip is remembered.
    pub min_rtt_window: Span,
    /// Whether δ becomes smaller while others fill the queue (§2.2).
    pub competitive: bool,
    /// The number of round trips without a nearly empty queue after which others fill it.
    pub empty_rounds: u32,
    /// The share of the variation of the round trip below which the queue is nearly empty.
    pub nearly_empty: f64,
    /// The longest of so many last round trips says how far the delay varies.
    pub variation_rounds: u32,
}

impl params::Params for Params {
    fn of_profile(_profile: &str) -> Self {
        Self {
            delta: 0.5,
            min_rtt_window: Span::from_secs(10),
            competitive: true,
            empty_rounds: 5,
            nearly_empty: 0.1,
            variation_rounds: 4,
        }
    }

    fn check(&self) -> Result<(), Fault> {
        Fault::unless("delta", self.delta, |it| it > 0.0 && it <= 1.0, "more than 0 and at most 1")?;
        Fault::unless("min_rtt_window", self.min_rtt_window, |it| !it.is_zero(), "more than 0 s")?;
        Fault::unless("nearly_empty", self.nearly_empty, |it| it > 0.0 && it < 1.0, "more than 0 and less than 1")?;
        let rounds = [("empty_rounds", self.empty_rounds), ("variation_rounds", self.variation_rounds)];
        if let Some((name, _)) = rounds.into_iter().find(|(_, rounds)| *rounds == 0) {
            return Err(Fault::new(name, "expected at least 1, found 0"));
        }
        Ok(())
    }

    fn unused(&self) -> Vec<params::Unused> {
        let keys: &[&str] = &["empty_rounds", "nearly_empty", "variation_rounds"];
        params::unused_where([(!self.competitive, "competitive", keys)])
    }
}

/// The round trips of a recent time, of which only those are kept that may still be the shortest or the longest.
#[derive(Clone, Debug, Default)]
struct Recent {
    samples: VecDeque<(Time, Span)>,
}

impl Recent {
    /// Adds a sample. Of those younger than `window`, the first one of which no later one is `better` is at the front.
    fn add(&mut self, now: Time, sample: Span, window: Span, better: fn(Span, Span) -> bool) -> Span {
        while self.samples.back().is_some_and(|(_, last)| !better(*last, sample)) {
            self.samples.pop_back();
        }
        self.samples.push_back((now, sample));
        while self.samples.front().is_some_and(|(time, _)| now.since(*time) > window) {
            self.samples.pop_front();
        }
        self.samples.front().map_or(sample, |(_, best)| *best)
    }
}

/// The way in which the window changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Direction {
    Up,
    Down,
}

/// Copa's congestion control.
#[derive(Clone, Debug)]
pub struct Copa {
    params: Params,
    /// The round trips of ten seconds, of half a round trip and of four round trips.
    base: Recent,
    standing: Recent,
    longest: Recent,
    /// 1/δ.
    weight: f64,
    starting: bool,
    velocity: f64,
    direction: Direction,
    /// The number of round trips with this direction.
    steady: u32,
    /// A window ends when more than this is acknowledged, and its size at its beginning.
    window: (u64, f64),
    /// When the queue was nearly empty last.
    empty: Time,
    /// A segment was lost in this window.
    lost: bool,
    gap: Span,
}

impl Copa {
    /// The congestion control with these parameters.
    #[must_use]
    pub fn new(params: &Params) -> Self {
        Self {
            base: Recent::default(),
            standing: Recent::default(),
            longest: Recent::default(),
            weight: 1.0 / params.delta,
            starting: true,
            velocity: 1.0,
            direction: Direction::Up,
            steady: 0,
            window: (0, 0.0),
            empty: Time::ZERO,
            lost: false,
            gap: Span::ZERO,
            params: params.clone(),
        }
    }

    /// Takes in the round trip of the newest of so many segments that one acknowledgement covers. Returns the standing
    /// round trip and the queueing delay.
    fn measure(&mut self, round_trip: Span, segments: u32, view: &View) -> (Span, Span) {
        let smoothed = view.srtt.unwrap_or(round_trip);
        let now = view.now;
        let shorter = |a: Span, b: Span| a < b;
        let base = self.base.add(now, round_trip, self.params.min_rtt_window, shorter);
        let standing = self.standing.add(now, round_trip, smoothed / 2, shorter);
        let recent = smoothed * u64::from(self.params.variation_rounds);
        let longest = self.longest.add(now, round_trip, recent, |a, b| a > b);
        let queueing = standing - base;
        let variation = (longest - base).seconds();
        // Segments acknowledged together came together, as those sent for them do. The newest one waits for the others
        // even if the queue is empty otherwise. The window says how long a segment takes.
        let together = f64::from(segments.saturating_sub(1)) * standing.seconds() / view.cwnd.max(1.0);
        let others = queueing.seconds() - together;
        if others <= 0.0 || others < self.params.nearly_empty * variation {
            self.empty = now;
        }
        if !self.is_competing(smoothed, now) {
            self.weight = 1.0 / self.params.delta;
        }
        (standing, queueing)
    }

    /// Whether others fill the queue.
    fn is_competing(&self, smoothed: Span, now: Time) -> bool {
        self.params.competitive && now.since(self.empty) > smoothed * u64::from(self.params.empty_rounds)
    }

    fn turn(&mut self, direction: Direction) {
        if std::mem::replace(&mut self.direction, direction) != direction {
            self.velocity = 1.0;
            self.steady = 0;
        }
    }

    /// A window has ended: the velocity of the next one, and δ.
    fn end_window(&mut self, view: &View) {
        let (_, before) = std::mem::replace(&mut self.window, (view.next, view.cwnd));
        let lost = std::mem::take(&mut self.lost);
        if !lost && view.srtt.is_some_and(|smoothed| self.is_competing(smoothed, view.now)) {
            self.weight += 1.0;
        }
        if self.starting {
            return;
        }
        let direction = if view.cwnd > before { Direction::Up } else { Direction::Down };
        if direction == self.direction {
            self.steady += 1;
            if self.steady >= STEADY {
                // At most twofold in a round trip.
                self.velocity = (2.0 * self.velocity).min((view.cwnd / self.weight).max(1.0));
            }
        }
        self.turn(direction);
    }

    /// Moves the window after `bytes` were delivered, the newest of them after this round trip. `grows` says that the
    /// window may become larger.
    fn follow(&mut self, round_trip: Option<Span>, bytes: u64, grows: bool, view: &View) -> Answer {
        let Some(round_trip) = round_trip else { return Answer::Keep };
        let (standing, queueing) = self.measure(round_trip, bytes.div_ceil(view.segment.into()) as u32, view);
        if standing.is_zero() {
            return Answer::Keep;
        }
        let acked = bytes as f64 / f64::from(view.segment);
        // Without a queue, the target has no limit.
        let below = view.cwnd * queueing.seconds() <= self.weight * standing.seconds();
        let mut cwnd = view.cwnd;
        if self.starting && below {
            cwnd += if grows { acked } else { 0.0 };
        } else {
            self.starting = false;
            let step = self.velocity * self.weight * acked / view.cwnd;
            if below && grows {
                self.turn(Direction::Up);
                cwnd += step;
            } else if !below {
                self.turn(Direction::Down);
                cwnd = (cwnd - step).max(SMALLEST.min(cwnd));
            }
        }
        self.gap = standing / (2.0 * cwnd).max(1.0) as u64;
        let ssthresh = if self.starting { view.ssthresh } else { view.ssthresh.min(cwnd) };
        Answer::Set { cwnd, ssthresh }
    }
}

/// Whether neither the application nor the receiver holds the sender back.
fn has_room(view: &View) -> bool {
    !view.app_limited && view.cwnd < view.advertised
}

/// The round trip of the newest segment that a sample delivers, and the bytes that it delivers.
fn delivered(sample: Option<&RateSample>) -> (Option<Span>, u64) {
    sample.map_or((None, 0), |sample| (sample.round_trip, sample.newly_delivered))
}

impl CongestionControl for Copa {
    fn on_ack(&mut self, ack: &Ack, view: &View) -> Answer {
        if view.una > self.window.0 {
            self.end_window(view);
        }
        // In a recovery an acknowledgement may cover much that SACK has reported before.
        let (round_trip, bytes) =
            if ack.phase == Phase::Open { (ack.round_trip, ack.counted) } else { delivered(ack.rate.as_ref()) };
        let room = ack.window_limited || has_room(view);
        // Otherwise a mark is reported, and the window does not grow (RFC 3168 §6.1.2).
        let grows = room && (ack.phase != Phase::Partial || view.recovering);
        self.follow(round_trip.filter(|_| ack.bytes > 0), bytes, grows, view)
    }

    fn on_duplicate(&mut self, duplicate: &Duplicate, view: &View) -> Answer {
        if !view.recovering {
            return Answer::Keep;
        }
        let (round_trip, bytes) = delivered(duplicate.rate.as_ref());
        self.follow(round_trip.filter(|_| bytes > 0), bytes, has_room(view), view)
    }

    fn on_loss(&mut self, _loss: &Loss, _view: &View) -> Answer {
        self.lost = true;
        self.weight = (self.weight / 2.0).max(1.0 / self.params.delta);
        Answer::Keep
    }

    fn on_timeout(&mut self, timeout: &Timeout, view: &View) -> Answer {
        self.starting = true;
        self.velocity = 1.0;
        self.steady = 0;
        self.weight = (self.weight / 2.0).max(1.0 / self.params.delta);
        let ssthresh = if timeout.repeated > 0 { view.ssthresh } else { (view.cwnd / 2.0).max(SMALLEST) };
        Answer::Set { cwnd: 1.0, ssthresh }
    }

    fn pace(&self) -> Pace {
        Pace::of(self.gap)
    }

    fn wants(&self) -> Wants {
        Wants { rate: true, recovery_window: true, ..Wants::default() }
    }
}

#[cfg(test)]
mod tests;
