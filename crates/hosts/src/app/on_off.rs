//! On/off traffic: bursts at a constant rate, with pauses between them.
//!
//! Reference: ns-2's `Application/Traffic/Exponential` (`tools/expoo.cc`). A burst has a whole number of packets, at
//! least one: the drawn duration divided by the interval, rounded. The pause is drawn separately and begins after the
//! interval of the last packet. ns-2 starts with a pause. Constant times follow the same rules without random numbers.
//! Validated by the mean rate.

use hopyard_engine::units::{Bytes, Rate};
use hopyard_engine::{Rng, Span, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::application::packet_or_stop;
use super::cbr::{check_packet_size, packet_interval};
use super::{Application, ApplicationFacts, Offer, Period};
use crate::params::{self, Fault, NS2, RFC};

/// How the times are distributed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Distribution {
    /// Exponentially: on/off is then a Markov process.
    Exponential,
    /// Always the mean.
    Constant,
}

/// What comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Begin {
    /// A burst, at the start of the flow.
    On,
    /// A pause and one interval (ns-2).
    Off,
}

/// Parameters of on/off traffic.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Params {
    /// Payload of each packet.
    pub packet_size: Bytes,
    /// Payload over time within a burst.
    pub rate: Rate,
    /// Mean length of a burst.
    pub on: Span,
    /// Mean length of a pause.
    pub off: Span,
    /// How both are distributed: "exponential" or "constant".
    pub distribution: Distribution,
    /// What comes first: "on" or "off".
    pub begin: Begin,
}

impl params::Params for Params {
    const PROFILES: &'static [&'static str] = &[RFC, NS2];

    fn of_profile(profile: &str) -> Self {
        let ns2 = profile == NS2;
        Self {
            packet_size: Bytes::new(if ns2 { 210 } else { 512 }),
            rate: Rate::from_bps(64_000),
            on: Span::from_millis(500),
            off: Span::from_millis(500),
            distribution: Distribution::Exponential,
            begin: if ns2 { Begin::Off } else { Begin::On },
        }
    }

    fn check(&self) -> Result<(), Fault> {
        check_packet_size(self.packet_size)?;
        if packet_interval(self.packet_size, self.rate).is_zero() {
            return Err(Fault::new("rate", format!("packets would follow one another at once: found {}", self.rate)));
        }
        if self.on.is_zero() {
            return Err(Fault::new("on", "expected a time above zero; `cbr` with an `interval` sends single packets"));
        }
        Ok(())
    }
}

impl ApplicationFacts for Params {
    fn packet_size(&self) -> Option<u64> {
        Some(self.packet_size.count())
    }
}

/// A source that alternates between bursts and pauses.
#[derive(Clone, Debug)]
pub struct OnOff {
    params: Params,
    interval: Span,
    /// The remaining packets of the burst.
    left: u64,
    period: Period,
    next: Time,
    rng: Rng,
}

impl OnOff {
    /// A source for this period.
    #[must_use]
    pub fn new(params: &Params, period: Period, rng: Rng) -> Self {
        let interval = packet_interval(params.packet_size, params.rate);
        let mut source = Self { params: params.clone(), interval, left: 0, period, next: period.start, rng };
        let gap = source.next_gap();
        if params.begin == Begin::Off {
            source.next += gap;
        }
        source.next = packet_or_stop(source.next, period);
        source
    }

    /// The time until the next packet. Counts this packet.
    fn next_gap(&mut self) -> Span {
        let mut gap = self.interval;
        if self.left == 0 {
            let packets = self.draw(self.params.on.seconds() / self.interval.seconds());
            self.left = (libm::round(packets) as u64).max(1);
            gap += Span::from_secs_f64(self.draw(self.params.off.seconds()));
        }
        self.left -= 1;
        gap
    }

    fn draw(&mut self, mean: f64) -> f64 {
        match self.params.distribution {
            Distribution::Exponential => self.rng.exponential(mean),
            Distribution::Constant => mean,
        }
    }
}

impl Application for OnOff {
    fn on_timer(&mut self, now: Time) -> Offer {
        if now >= self.period.stop {
            self.next = Time::NEVER;
            return Offer::Last(0);
        }
        let gap = self.next_gap();
        self.next = packet_or_stop(now + gap, self.period);
        Offer::Bytes(self.params.packet_size.count())
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
        let mut source = OnOff::new(params, Period { start: seconds(0.0), stop: seconds(stop) }, rng());
        let offers = offers(&mut source, Time::NEVER);
        offers.iter().filter(|(_, offer)| matches!(offer, Offer::Bytes(_))).map(|(time, _)| *time).collect()
    }

    fn constant() -> Params {
        Params {
            packet_size: Bytes::new(1000),
            rate: Rate::from_bps(80_000),
            on: Span::from_millis(300),
            off: Span::from_millis(700),
            distribution: Distribution::Constant,
            ..Params::of_profile(RFC)
        }
    }

    #[test]
    fn bursts_and_pauses_take_turns() {
        assert_eq!(times(&constant(), 2.0), [0.0, 0.1, 0.2, 1.0, 1.1, 1.2]);
        let ns2 = Params { begin: Begin::Off, ..constant() };
        assert_eq!(times(&ns2, 2.0), [0.8, 0.9, 1.0, 1.8, 1.9], "ns-2 pauses first, then waits one interval");
    }

    #[test]
    fn half_the_time_gives_half_the_rate() {
        // Bursts of 30 packets, so that rounding to whole packets has little effect.
        let params = Params { packet_size: Bytes::new(133), ..Params::of_profile(RFC) };
        let sent = times(&params, 10_000.0).len() as f64 * 133.0 * 8.0;
        // 10,000 pairs of exponential times: the share's standard error is 0.35 percent.
        assert!((sent / 10_000.0 / 32_000.0 - 1.0).abs() < 0.025, "{} bit/s", sent / 10_000.0);
    }

    #[test]
    fn pauses_are_exponential() {
        let times = times(&Params::of_profile(NS2), 20_000.0);
        let interval = 210.0 * 8.0 / 64_000.0;
        let pauses: Vec<f64> =
            times.windows(2).map(|pair| pair[1] - pair[0] - interval).filter(|&pause| pause > 1e-6).collect();
        let mean = pauses.iter().sum::<f64>() / pauses.len() as f64;
        assert!((mean - 0.5).abs() < 0.015, "mean {mean} s");
        // A share 1/e of exponential draws is longer than the mean.
        let longer = pauses.iter().filter(|&&pause| pause > 0.5).count() as f64 / pauses.len() as f64;
        assert!((longer - 0.3679).abs() < 0.015, "{longer}");
    }
}
