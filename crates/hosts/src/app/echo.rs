//! Echo (RFC 862): the source writes messages, and the destination sends back what arrives.
//!
//! The source writes a message at the start and one after each interval, whether answers arrive or not. Over TCP the
//! destination writes back the bytes that arrive in order, when they arrive, whatever the bounds of messages. Over UDP
//! it sends back each datagram. At the stop the source writes no more; what it wrote is still sent. Then it closes its
//! direction, and when all its data has arrived, the destination closes the other one. Validated by the bytes that come
//! back and by the round trip of a message.

use hopyard_engine::units::Bytes;
use hopyard_engine::{Rng, Span, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::application::packet_or_stop;
use super::cbr::check_packet_size;
use super::{Application, ApplicationFacts, Change, Offer, Period};
use crate::params::{self, Fault};

/// Parameters of an echo.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Params {
    /// Size of each message; over UDP it is the payload of a packet.
    pub size: Bytes,
    /// Time between the beginnings of two messages.
    pub interval: Span,
}

impl params::Params for Params {
    fn of_profile(_profile: &str) -> Self {
        Self { size: Bytes::new(512), interval: Span::from_secs(1) }
    }

    fn check(&self) -> Result<(), Fault> {
        check_packet_size(self.size).map_err(|fault| Fault { parameter: "size", ..fault })?;
        Fault::unless("interval", self.interval, |it| it >= Span::from_micros(1), "at least 1 us")?;
        Ok(())
    }
}

impl ApplicationFacts for Params {
    fn packet_size(&self) -> Option<u64> {
        Some(self.size.count())
    }
}

/// The source of messages.
#[derive(Clone, Debug)]
pub struct Echo {
    size: u64,
    interval: Span,
    period: Period,
    next: Time,
}

impl Echo {
    /// A source for this period.
    #[must_use]
    pub fn new(params: &Params, period: Period, _rng: Rng) -> Self {
        let next = packet_or_stop(period.start, period);
        Self { size: params.size.count(), interval: params.interval, period, next }
    }
}

impl Application for Echo {
    fn on_timer(&mut self, now: Time) -> Offer {
        if now >= self.period.stop {
            self.next = Time::NEVER;
            return Offer::Close;
        }
        self.next = packet_or_stop(now + self.interval, self.period);
        Offer::Bytes(self.size)
    }

    fn deadline(&self) -> Time {
        self.next
    }
}

/// The destination, which sends back what arrives.
#[derive(Clone, Debug)]
pub struct Answers;

impl Answers {
    /// A destination that has received nothing.
    #[must_use]
    pub fn new(_params: &Params, _rng: Rng) -> Self {
        Self
    }
}

impl Application for Answers {
    fn on_timer(&mut self, _now: Time) -> Offer {
        Offer::Nothing
    }

    fn deadline(&self) -> Time {
        Time::NEVER
    }

    fn on_received(&mut self, bytes: u64, _now: Time) -> Offer {
        Offer::Bytes(bytes)
    }

    fn on_change(&mut self, change: Change, _now: Time) -> Offer {
        if change == Change::Ended { Offer::Close } else { Offer::Nothing }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::testing::{offers, rng, seconds};
    use crate::params::{Params as _, RFC};

    #[test]
    fn messages_come_at_even_intervals_until_the_stop() {
        let period = Period { start: seconds(1.0), stop: seconds(3.5) };
        let mut source = Echo::new(&Params::of_profile(RFC), period, rng());
        let message = Offer::Bytes(512);
        let expected = [(1.0, message), (2.0, message), (3.0, message), (3.5, Offer::Close)];
        assert_eq!(offers(&mut source, Time::NEVER), expected);
    }

    #[test]
    fn what_arrives_is_written_back() {
        let mut answers = Answers::new(&Params::of_profile(RFC), rng());
        assert_eq!(answers.on_received(700, seconds(1.0)), Offer::Bytes(700));
        assert_eq!((answers.on_change(Change::Ended, seconds(2.0)), answers.deadline()), (Offer::Close, Time::NEVER));
    }
}
