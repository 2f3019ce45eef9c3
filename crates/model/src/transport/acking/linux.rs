//! Acknowledgements as a Linux receiver sends them: at once while the connection is young, then for every second
//! segment or after a delay that follows the gaps between segments; at once for disorder, and in groups if it lasts.
//!
//! Read: RFC 5681 §4.2, RFC 1122 §4.2.3.2, RFC 2883, Linux's `ip-sysctl` on `tcp_comp_sack_nr` and
//! `tcp_comp_sack_delay_ns`, and captures of Linux 6.1 receivers. No code of the kernel was used. Left out: connections
//! with data in both directions, for which Linux leaves quick acknowledgements, the ticks of the timers, and the slack
//! of 0.1 ms that Linux allows the timer of compression.

use hopyard_engine::{Span, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{AckPolicy, Arrival, Verdict};
use crate::params::{self, Fault};

/// The parameters of Linux's acknowledgements.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Params {
    /// How many acknowledgements are sent at once when the connection begins, after a pause, and after a duplicate.
    pub quick: u32,
    /// The shortest delay of an acknowledgement.
    pub shortest: Span,
    /// The longest delay of an acknowledgement. RFC 1122 requires less than 500 ms.
    pub longest: Span,
    /// How many acknowledgements are sent at once for disorder without progress, before they are compressed.
    pub duplicates: u32,
    /// The number of segments that one compressed acknowledgement covers at most; 0 means no compression.
    /// `tcp_comp_sack_nr`.
    pub compressed: u32,
    /// The longest delay of a compressed acknowledgement, which is a twentieth of the round trip otherwise.
    /// `tcp_comp_sack_delay_ns`.
    pub compression: Span,
}

impl params::Params for Params {
    fn of_profile(_profile: &str) -> Self {
        Self {
            quick: 16,
            shortest: Span::from_millis(40),
            longest: Span::from_millis(200),
            duplicates: 3,
            compressed: 44,
            compression: Span::from_millis(1),
        }
    }

    fn check(&self) -> Result<(), Fault> {
        if self.shortest.is_zero() || self.shortest > self.longest {
            let problem = format!("expected more than 0 s and at most `longest`, found {}", self.shortest);
            return Err(Fault::new("shortest", problem));
        }
        if self.longest > Span::from_millis(500) {
            return Err(Fault::new("longest", format!("expected at most 500 ms (RFC 1122), found {}", self.longest)));
        }
        Ok(())
    }
}

/// What the round trip is longer by than a pause after which the sender begins anew.
const PAUSE: Span = Span::from_millis(200);
/// The pause while no round trip is known (RFC 6298 §2.1).
const FIRST_PAUSE: Span = Span::from_secs(1);

/// Acknowledges as Linux.
#[derive(Clone, Debug)]
pub struct Linux {
    params: Params,
    /// Acknowledgements that are still sent at once.
    quick: u32,
    /// The delay of an acknowledgement; nothing before the first segment.
    delay: Option<Span>,
    /// When data arrived last.
    last: Time,
    /// The payload of the largest segment.
    largest: u32,
    /// The smoothed round trip that the sender's echoes show.
    round_trip: Option<Span>,
    /// The number expected when disorder was acknowledged last, and how often it was at once.
    stuck: (u64, u32),
    /// Segments that the next compressed acknowledgement covers.
    waiting: u32,
    /// When it is sent, and when a delayed one is.
    compressed: Time,
    delayed: Time,
}

impl Linux {
    /// The policy with these parameters.
    #[must_use]
    pub fn new(params: &Params) -> Self {
        Self {
            params: params.clone(),
            quick: 0,
            delay: None,
            last: Time::ZERO,
            largest: 0,
            round_trip: None,
            stuck: (0, 0),
            waiting: 0,
            compressed: Time::NEVER,
            delayed: Time::NEVER,
        }
    }

    /// The gap before a segment sets the delay.
    fn follow(&mut self, now: Time) {
        let gap = now.since(self.last);
        self.last = now;
        let half = self.params.shortest / 2;
        let pause = self.round_trip.map_or(FIRST_PAUSE, |round_trip| round_trip + PAUSE);
        self.delay = Some(match self.delay {
            None => {
                self.quick = self.params.quick;
                self.params.shortest
            }
            Some(delay) if gap <= half => delay / 2 + half,
            Some(delay) if gap < delay => (delay / 2 + gap).min(pause),
            Some(delay) => {
                if gap > pause {
                    self.quick = self.params.quick;
                }
                delay
            }
        });
    }

    fn measure(&mut self, arrival: &Arrival) {
        self.largest = self.largest.max(arrival.len);
        // Only a full segment follows an acknowledgement at once.
        if let Some(sample) = arrival.round_trip.filter(|_| arrival.len == self.largest) {
            self.round_trip = Some(self.round_trip.map_or(sample, |average| (average * 7 + sample) / 8));
        }
    }

    /// Disorder without progress is acknowledged at once a few times, then in groups.
    fn compress(&mut self, arrival: &Arrival) -> Verdict {
        if self.stuck.0 != arrival.next {
            self.stuck = (arrival.next, 0);
        }
        if self.stuck.1 < self.params.duplicates || self.waiting >= self.params.compressed {
            self.stuck.1 = self.stuck.1.saturating_add(1);
            return Verdict::Now;
        }
        self.waiting += 1;
        if self.compressed == Time::NEVER {
            let part = self.round_trip.map_or(self.params.compression, |round_trip| round_trip / 20);
            self.compressed = arrival.now + part.min(self.params.compression);
        }
        Verdict::Later
    }
}

impl AckPolicy for Linux {
    fn on_arrival(&mut self, arrival: &Arrival) -> Verdict {
        if arrival.len > 0 {
            self.measure(arrival);
            self.follow(arrival.now);
        }
        if arrival.control {
            return Verdict::Now;
        }
        if arrival.duplicate {
            // Its acknowledgement may have been lost.
            self.quick = self.quick.max(self.params.quick);
            return Verdict::Now;
        }
        // A window that grows is announced at once.
        self.quick |= u32::from(arrival.grew);
        if self.quick > 0 {
            return Verdict::Now;
        }
        if arrival.gap && arrival.sack {
            return self.compress(arrival);
        }
        if !arrival.in_order || arrival.unacknowledged > u64::from(self.largest) {
            return Verdict::Now;
        }
        let delay = self.delay.unwrap_or(self.params.shortest);
        let limit = self.round_trip.map_or(self.params.longest, |round_trip| round_trip.max(self.params.shortest));
        self.delayed = self.delayed.min(arrival.now + delay.min(limit).min(self.params.longest));
        Verdict::Later
    }

    fn deadline(&self) -> Time {
        self.compressed.min(self.delayed)
    }

    fn on_expired(&mut self) {
        if self.delayed < self.compressed {
            // The sender is slower than was assumed.
            let pause = self.round_trip.map_or(FIRST_PAUSE, |round_trip| round_trip + PAUSE);
            self.delay = self.delay.map(|delay| (delay * 2).min(pause));
        }
    }

    fn on_acknowledged(&mut self) {
        self.waiting = 0;
        self.compressed = Time::NEVER;
        self.delayed = Time::NEVER;
        if self.quick == 1 {
            self.delay = self.delay.map(|_| self.params.shortest);
        }
        self.quick = self.quick.saturating_sub(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::params::{LINUX, Params as _};
    use crate::transport::acking::delayed::{self, Delayed};

    fn policy() -> Linux {
        Linux::new(&Params::of_profile(LINUX))
    }

    const fn at(micros: u64) -> Time {
        Time::from_nanos(micros * 1000)
    }

    /// The next segment of 1000 bytes in order, the `waiting`th that is not acknowledged.
    fn in_order(micros: u64, waiting: u64) -> Arrival {
        Arrival { in_order: true, len: 1000, unacknowledged: 1000 * waiting, ..Arrival::at(at(micros)) }
    }

    /// Segments in order every millisecond, and after which of them an acknowledgement is sent.
    fn answered(policy: &mut impl AckPolicy, from: u64, segments: u64) -> Vec<u64> {
        let (mut answered, mut waiting) = (Vec::new(), 0);
        for i in 0..segments {
            waiting += 1;
            if policy.on_arrival(&in_order(from + 1000 * i, waiting)) == Verdict::Now {
                policy.on_acknowledged();
                answered.push(i);
                waiting = 0;
            }
        }
        answered
    }

    #[test]
    fn the_first_sixteen_are_acknowledged_at_once_and_then_every_second() {
        let mut linux = policy();
        let expected: Vec<u64> = (0..16).chain([17, 19, 21, 23]).collect();
        assert_eq!(answered(&mut linux, 0, 24), expected);
        let mut delayed = Delayed::new(&delayed::Params::of_profile(LINUX));
        assert_eq!(answered(&mut delayed, 0, 8), [1, 3, 5, 7], "without quick acknowledgements");
    }

    #[test]
    fn a_window_that_grows_is_announced_with_each_segment() {
        let mut linux = policy();
        answered(&mut linux, 0, 16);
        let grown = Arrival { grew: true, ..in_order(20_000, 1) };
        assert_eq!(linux.on_arrival(&grown), Verdict::Now);
        linux.on_acknowledged();
        assert_eq!(linux.on_arrival(&in_order(21_000, 1)), Verdict::Later);
    }

    #[test]
    fn a_pause_and_a_duplicate_bring_quick_acknowledgements_back() {
        let mut linux = policy();
        answered(&mut linux, 0, 20);
        assert_eq!(answered(&mut linux, 500_000, 4), [1, 3], "half a second is no pause: no round trip is known");
        assert_eq!(answered(&mut linux, 2_000_000, 18), (0..16).chain([17]).collect::<Vec<_>>());
        let copy = Arrival { duplicate: true, len: 1000, ..Arrival::at(at(2_100_000)) };
        assert_eq!(linux.on_arrival(&copy), Verdict::Now);
        linux.on_acknowledged();
        assert_eq!(answered(&mut linux, 2_101_000, 4), [0, 1, 2, 3]);
    }

    #[test]
    fn the_delay_follows_the_gaps_and_doubles_when_it_was_too_short() {
        let mut linux = policy();
        answered(&mut linux, 0, 16);
        linux.on_arrival(&in_order(16_000, 1));
        assert_eq!(linux.deadline(), at(56_000), "40 ms");
        linux.on_expired();
        linux.on_acknowledged();
        // A gap of 50 ms: half of the doubled delay, and the gap.
        linux.on_arrival(&in_order(66_000, 1));
        assert_eq!(linux.deadline(), at(66_000 + 90_000));
        linux.on_acknowledged();
        linux.on_arrival(&Arrival { round_trip: Some(Span::from_millis(60)), ..in_order(67_000, 1) });
        assert_eq!(linux.deadline(), at(67_000 + 60_000), "not longer than the round trip");
    }

    #[test]
    fn lasting_disorder_is_compressed() {
        let mut linux = policy();
        answered(&mut linux, 0, 16);
        let beyond = |micros: u64| Arrival {
            gap: true,
            sack: true,
            len: 1000,
            next: 16_000,
            round_trip: Some(Span::from_millis(10)),
            ..Arrival::at(at(micros))
        };
        for i in 0..3 {
            assert_eq!(linux.on_arrival(&beyond(20_000 + i)), Verdict::Now, "duplicate {i}");
            linux.on_acknowledged();
        }
        for i in 0..44 {
            assert_eq!(linux.on_arrival(&beyond(20_010 + i)), Verdict::Later, "segment {i}");
        }
        assert_eq!(linux.deadline(), at(20_010 + 500), "a twentieth of the round trip");
        assert_eq!(linux.on_arrival(&beyond(20_400)), Verdict::Now, "one more than it may cover");
        linux.on_acknowledged();
        assert_eq!(linux.deadline(), Time::NEVER);
        assert_eq!(linux.on_arrival(&Arrival { sack: false, ..beyond(20_500) }), Verdict::Now, "without SACK");
        assert_eq!(linux.on_arrival(&Arrival { next: 17_000, ..beyond(20_600) }), Verdict::Now, "progress");
    }

    #[test]
    fn impossible_values_are_refused() {
        let fault = |params: Params| params.check().map_err(|fault| fault.parameter);
        let good = Params::of_profile(LINUX);
        assert_eq!(fault(good.clone()), Ok(()));
        assert_eq!(fault(Params { shortest: Span::ZERO, ..good.clone() }), Err("shortest"));
        assert_eq!(fault(Params { shortest: Span::from_millis(300), ..good.clone() }), Err("shortest"));
        assert_eq!(fault(Params { longest: Span::from_secs(1), ..good }), Err("longest"));
    }
}
