//! Constant bit rate: packets of one size at equal intervals.
//!
//! Reference: ns-2's `Application/Traffic/CBR` (`tools/cbr_traffic.cc`). The first packet is sent at the start. Jitter
//! changes each interval by an independent uniform random number. A jitter of 1 (ns-2's `random_`) changes it by up to
//! half of the interval. Validated against the mean interval and its bounds.

use hopyard_engine::units::{Bytes, Rate};
use hopyard_engine::{Rng, Span, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::application::packet_or_stop;
use super::{Application, ApplicationFacts, Offer, Period};
use crate::params::{self, Fault, NS2, RFC, Unused, unused_where};

/// Parameters of constant bit rate traffic.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Params {
    /// Payload of each packet.
    pub packet_size: Bytes,
    /// Payload over time; it gives the interval where none is set.
    pub rate: Rate,
    /// Time between two packets; "0 s" for what the rate gives.
    pub interval: Span,
    /// Width of the random part of an interval over the interval: 0 for none, 1 for half an interval more or less.
    pub jitter: f64,
    /// How many packets are sent; 0 for no limit.
    pub packets: u64,
}

impl params::Params for Params {
    const PROFILES: &'static [&'static str] = &[RFC, NS2];

    fn of_profile(profile: &str) -> Self {
        // Studies of ad hoc routing usually send four packets of 512 bytes per second (since Broch et al., MobiCom
        // 1998).
        let (packet_size, rate) = if profile == NS2 { (210, 448_000) } else { (512, 16_384) };
        Self {
            packet_size: Bytes::new(packet_size),
            rate: Rate::from_bps(rate),
            interval: Span::ZERO,
            jitter: 0.0,
            packets: 0,
        }
    }

    fn check(&self) -> Result<(), Fault> {
        check_packet_size(self.packet_size)?;
        if self.interval() < Span::from_nanos(2) {
            return Err(Fault::new("rate", format!("packets would follow one another at once: found {}", self.rate)));
        }
        // A rate that is not a profile's was given, and would change nothing.
        let rate_is_given = ![RFC, NS2].iter().any(|profile| Self::of_profile(profile).rate == self.rate);
        if rate_is_given && !self.interval.is_zero() && self.interval != packet_interval(self.packet_size, self.rate) {
            let by_rate = packet_interval(self.packet_size, self.rate);
            return Err(Fault::new(
                "interval",
                format!(
                    "expected `rate` or `interval`, not both: {} means {by_rate}, found {}",
                    self.rate, self.interval
                ),
            ));
        }
        if !(0.0..=2.0).contains(&self.jitter) {
            return Err(Fault::new("jitter", format!("must lie between 0 and 2, found {}", self.jitter)));
        }
        Ok(())
    }

    fn unused(&self) -> Vec<Unused> {
        unused_where([(!self.interval.is_zero(), "interval", &["rate"])])
    }
}

impl ApplicationFacts for Params {
    fn packet_size(&self) -> Option<u64> {
        Some(self.packet_size.count())
    }
}

impl Params {
    /// The time between two packets, without jitter.
    fn interval(&self) -> Span {
        if self.interval.is_zero() { packet_interval(self.packet_size, self.rate) } else { self.interval }
    }
}

/// The time between packets of this size at this rate.
pub(super) fn packet_interval(packet_size: Bytes, rate: Rate) -> Span {
    Span::from_secs_f64(packet_size.count() as f64 * 8.0 / rate.bps() as f64)
}

/// Checks that IP can carry packets of this size (RFC 791 §3.1: 65,535 bytes with headers).
pub(super) fn check_packet_size(packet_size: Bytes) -> Result<(), Fault> {
    if !(1..=65_507).contains(&packet_size.count()) {
        return Err(Fault::new("packet_size", format!("must lie between 1 B and 65507 B, found {packet_size}")));
    }
    Ok(())
}

/// A source of constant bit rate.
#[derive(Clone, Debug)]
pub struct Cbr {
    packet_size: u64,
    interval: Span,
    jitter: f64,
    /// Packets still to be sent.
    left: u64,
    period: Period,
    next: Time,
    rng: Rng,
}

impl Cbr {
    /// A source for this period.
    #[must_use]
    pub fn new(params: &Params, period: Period, rng: Rng) -> Self {
        Self {
            packet_size: params.packet_size.count(),
            interval: params.interval(),
            jitter: params.jitter,
            left: if params.packets == 0 { u64::MAX } else { params.packets },
            period,
            next: packet_or_stop(period.start, period),
            rng,
        }
    }
}

impl Application for Cbr {
    fn on_timer(&mut self, now: Time) -> Offer {
        if now >= self.period.stop {
            self.next = Time::NEVER;
            return Offer::Last(0);
        }
        self.left -= 1;
        if self.left == 0 {
            self.next = Time::NEVER;
            return Offer::Last(self.packet_size);
        }
        let interval = if self.jitter > 0.0 {
            self.interval.mul_f64(1.0 + self.jitter * self.rng.uniform_in(-0.5, 0.5))
        } else {
            self.interval
        };
        self.next = packet_or_stop(now + interval, self.period);
        Offer::Bytes(self.packet_size)
    }

    fn deadline(&self) -> Time {
        self.next
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::testing::{offers, rng, seconds};
    use crate::params::Params as _;

    fn times(params: &Params, stop: f64) -> Vec<f64> {
        let mut source = Cbr::new(params, Period { start: seconds(1.0), stop: seconds(stop) }, rng());
        let offers = offers(&mut source, Time::NEVER);
        offers.iter().filter(|(_, offer)| *offer == Offer::Bytes(512)).map(|(time, _)| *time).collect()
    }

    #[test]
    fn packets_come_at_even_intervals_from_the_start_on() {
        assert_eq!(times(&Params::of_profile(RFC), 2.0), [1.0, 1.25, 1.5, 1.75], "none at the stop");
        let params = Params { interval: Span::from_millis(400), ..Params::of_profile(RFC) };
        assert_eq!(times(&params, 2.0), [1.0, 1.4, 1.8]);
    }

    #[test]
    fn jitter_moves_each_interval_by_up_to_a_half() {
        let params = Params { jitter: 1.0, ..Params::of_profile(RFC) };
        let times = times(&params, 2501.0);
        let intervals: Vec<f64> = times.windows(2).map(|pair| pair[1] - pair[0]).collect();
        let (shortest, longest) = intervals
            .iter()
            .fold((f64::MAX, 0.0_f64), |(low, high), &interval| (low.min(interval), high.max(interval)));
        assert!((0.125..0.1253).contains(&shortest) && (0.3747..0.375).contains(&longest), "{shortest} {longest}");
        // The standard error of the mean is 0.25 / √12 / √10000.
        let mean = intervals.iter().sum::<f64>() / intervals.len() as f64;
        assert!((mean - 0.25).abs() < 0.003, "{mean}");
    }

    #[test]
    fn a_number_of_packets_ends_it() {
        let params = Params { packets: 3, ..Params::of_profile(RFC) };
        let mut source = Cbr::new(&params, Period { start: seconds(0.0), stop: Time::NEVER }, rng());
        let offered: Vec<_> = offers(&mut source, Time::NEVER).into_iter().map(|(_, offer)| offer).collect();
        assert_eq!(offered, [Offer::Bytes(512), Offer::Bytes(512), Offer::Last(512)]);
    }
}
