//! Delayed acknowledgements: one for every second segment, or after a delay. A segment out of order is acknowledged at
//! once.
//!
//! Read: RFC 1122 §4.2.3.2, RFC 5681 §4.2; for the profile `ns2`, ns-2.35's `DelAckSink` with `RFC2581_immediate_ack_`
//! and `SYN_immediate_ack_`. Deviation: RFC 5681 counts only full-sized segments; here every segment with payload
//! counts, as in ns-2.

use hopyard_engine::{Span, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{AckPolicy, Arrival, Order, Verdict};
use crate::params::{self, Fault, NS2, RFC};

/// The parameters of delayed acknowledgements.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Params {
    /// The maximum delay. rfc: RFC 1122 requires less than 500 ms; ns2: `interval_`.
    pub interval: Span,
    /// The maximum number of segments in order that one acknowledgement covers. RFC 5681 §4.2.
    pub segments: u32,
    /// Whether the first segment is acknowledged at once if the connection opens without a SYN. ns2:
    /// ns-2: `SYN_immediate_ack_`.
    pub first_at_once: bool,
    /// Whether the acknowledgement of a duplicate of the last segment in order may be delayed. rfc: RFC 5681 §4.2.
    pub delay_copies: bool,
}

impl params::Params for Params {
    const PROFILES: &'static [&'static str] = &[RFC, NS2];

    fn of_profile(profile: &str) -> Self {
        let ns2 = profile == NS2;
        Self {
            interval: Span::from_millis(if ns2 { 100 } else { 200 }),
            segments: 2,
            first_at_once: ns2,
            delay_copies: ns2,
        }
    }

    fn check(&self) -> Result<(), Fault> {
        Fault::unless("segments", self.segments, |it| it > 0, "at least 1")?;
        if self.interval.is_zero() || self.interval > Span::from_millis(500) {
            let problem = format!("expected more than 0 s and at most 500 ms (RFC 1122), found {}", self.interval);
            return Err(Fault::new("interval", problem));
        }
        Ok(())
    }
}

/// Delays acknowledgements.
#[derive(Clone, Debug)]
pub struct Delayed {
    params: Params,
    waiting: u32,
    deadline: Time,
}

impl Delayed {
    /// The policy with these parameters.
    #[must_use]
    pub fn new(params: &Params) -> Self {
        Self { params: params.clone(), waiting: 0, deadline: Time::NEVER }
    }
}

impl AckPolicy for Delayed {
    fn on_arrival(&mut self, arrival: &Arrival) -> Verdict {
        let is_copy = arrival.order == Order::LastAgain;
        let may_wait = arrival.order == Order::Next || (self.params.delay_copies && is_copy);
        if !may_wait || arrival.control || (self.params.first_at_once && arrival.first) {
            return Verdict::Now;
        }
        self.waiting += 1;
        if self.waiting >= self.params.segments {
            return Verdict::Now;
        }
        if self.deadline == Time::NEVER {
            self.deadline = arrival.now + self.params.interval;
        }
        Verdict::Later
    }

    fn deadline(&self) -> Time {
        self.deadline
    }

    fn on_acknowledged(&mut self) {
        self.waiting = 0;
        self.deadline = Time::NEVER;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::params::Params as _;

    fn arrival(millis: u64, order: Order) -> Arrival {
        Arrival { order, ..Arrival::at(Time::ZERO + Span::from_millis(millis)) }
    }

    #[test]
    fn every_second_segment_is_acknowledged_and_disorder_at_once() {
        let mut policy = Delayed::new(&Params::of_profile(NS2));
        assert_eq!(policy.on_arrival(&arrival(10, Order::Next)), Verdict::Later);
        assert_eq!(policy.deadline(), Time::ZERO + Span::from_millis(110));
        assert_eq!(policy.on_arrival(&arrival(20, Order::Next)), Verdict::Now);
        policy.on_acknowledged();
        assert_eq!(policy.deadline(), Time::NEVER);
        assert_eq!(policy.on_arrival(&arrival(30, Order::Ahead)), Verdict::Now);
    }

    #[test]
    fn ns2_delays_for_a_copy_of_the_last_segment_but_not_for_the_first() {
        for (profile, first, copy) in [(RFC, Verdict::Later, Verdict::Now), (NS2, Verdict::Now, Verdict::Later)] {
            let mut policy = Delayed::new(&Params::of_profile(profile));
            assert_eq!(policy.on_arrival(&Arrival { first: true, ..arrival(10, Order::Next) }), first, "{profile}");
            policy.on_acknowledged();
            assert_eq!(policy.on_arrival(&arrival(20, Order::LastAgain)), copy, "{profile}");
        }
    }
}
