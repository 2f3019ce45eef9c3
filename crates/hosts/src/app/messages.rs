//! Messages: their sizes and intervals are drawn, and each may have a deadline.
//!
//! The source writes a message at the start and one after each interval, however many wait. Over UDP a message longer
//! than a datagram goes in several, and has arrived when all of them have. At the stop the source writes no more; what
//! it wrote is still sent. Nearest relative: `cbr`, whose packets these are if sizes and intervals are constant.

use hopyard_engine::units::Bytes;
use hopyard_engine::{Rng, Span, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::application::packet_or_stop;
use super::cbr::check_packet_size;
use super::input::Input;
use super::law::{Law, check_size};
use super::object::{Kind, Object};
use super::{Application, ApplicationFacts, Offer, Period};
use crate::params::{self, Fault};

/// Parameters of messages.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Params {
    /// Size of each message.
    pub size: Law<Bytes>,
    /// Time between the beginnings of two messages; at least 1 us, if less is drawn.
    pub interval: Law<Span>,
    /// Time within which a message should be delivered; "0 s" for none.
    pub deadline: Span,
    /// Largest payload of a packet over UDP. A longer message goes in several packets.
    pub packet_size: Bytes,
    /// How many messages are sent; 0 for no limit.
    pub messages: u64,
}

impl params::Params for Params {
    fn of_profile(_profile: &str) -> Self {
        Self {
            size: Law::Constant(Bytes::new(512)),
            interval: Law::Constant(Span::from_secs(1)),
            deadline: Span::ZERO,
            packet_size: Bytes::new(1_000),
            messages: 0,
        }
    }

    fn check(&self) -> Result<(), Fault> {
        check_size("size", &self.size)?;
        check_packet_size(self.packet_size)?;
        let read = !matches!(self.interval, Law::File { .. });
        if read && self.interval.most() < SHORTEST {
            return Err(Fault::new("interval", format!("expected at least {SHORTEST}, found {}", self.interval)));
        }
        Ok(())
    }
}

impl ApplicationFacts for Params {
    const HAS_OBJECTS: bool = true;

    fn packet_size(&self) -> Option<u64> {
        Some(self.packet_size.count())
    }

    fn largest(&self) -> Option<(&'static str, Bytes)> {
        Some(("size", self.size.most()))
    }

    fn inputs(&mut self) -> Vec<Input<'_>> {
        self.size.input("size").into_iter().chain(self.interval.input("interval")).collect()
    }
}

/// The shortest interval: messages at one instant would never end.
const SHORTEST: Span = Span::from_micros(1);

/// The source of messages.
#[derive(Clone, Debug)]
pub struct Messages {
    params: Params,
    period: Period,
    rng: Rng,
    /// How many numbers were taken of the files of sizes and of intervals.
    taken: [u64; 2],
    written: u64,
    next: Time,
}

impl Messages {
    /// A source for this period.
    #[must_use]
    pub fn new(params: &Params, period: Period, rng: Rng) -> Self {
        let next = packet_or_stop(period.start, period);
        Self { params: params.clone(), period, rng, taken: [0; 2], written: 0, next }
    }
}

impl Application for Messages {
    fn on_timer(&mut self, now: Time) -> Offer {
        let Self { params, rng, taken: [sizes, intervals], .. } = self;
        if now >= self.period.stop || (params.messages > 0 && self.written == params.messages) {
            self.next = Time::NEVER;
            return Offer::Close;
        }
        self.written += 1;
        let bytes = params.size.draw(rng, sizes).count();
        let interval = params.interval.draw(rng, intervals).max(SHORTEST);
        self.next = packet_or_stop(now + interval, self.period);
        Offer::Object(Object { kind: Kind::Message, bytes, page: 0, is_last: false, within: params.deadline })
    }

    fn deadline(&self) -> Time {
        self.next
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::testing::{offers, rng, seconds};
    use crate::params::{Params as _, RFC};

    fn sizes(params: &Params, stop: f64) -> Vec<(f64, u64)> {
        let mut source = Messages::new(params, Period { start: seconds(0.0), stop: seconds(stop) }, rng());
        let mut offers = offers(&mut source, Time::NEVER);
        assert!(matches!(offers.pop(), Some((_, Offer::Close))));
        let size = |(at, offer)| match offer {
            Offer::Object(Object { kind: Kind::Message, bytes, .. }) => (at, bytes),
            other => panic!("{other:?}"),
        };
        offers.into_iter().map(size).collect()
    }

    #[test]
    fn sizes_and_intervals_follow_their_laws() {
        let interval = "exponential(100 ms)".parse().expect("times");
        let size = "uniform(100 B, 300 B)".parse().expect("sizes");
        let found = sizes(&Params { interval, size, ..Params::of_profile(RFC) }, 2000.0);
        let mean = found.iter().map(|it| it.1 as f64).sum::<f64>() / found.len() as f64;
        // 20,000 arrivals have a standard deviation of 141, and the mean size one of 0.41.
        assert!(found.len().abs_diff(20_000) < 600 && (mean - 200.0).abs() < 1.7, "{} of {mean} B", found.len());
    }

    #[test]
    fn so_many_messages_are_sent() {
        let params = Params { messages: 3, ..Params::of_profile(RFC) };
        assert_eq!(sizes(&params, 1e6), [(0.0, 512), (1.0, 512), (2.0, 512)]);
        assert_eq!(sizes(&params, 1.5).len(), 2);
    }

    #[test]
    fn impossible_parameters_are_named() {
        let usual = || Params::of_profile(RFC);
        let fault = |params: Params| params.check().map_err(|fault| fault.parameter);
        assert_eq!(fault(Params { interval: Law::Constant(Span::ZERO), ..usual() }), Err("interval"));
        assert_eq!(fault(Params { size: Law::Constant(Bytes::new(0)), ..usual() }), Err("size"));
        assert_eq!(fault(Params { packet_size: Bytes::new(70_000), ..usual() }), Err("packet_size"));
        for law in ["exponential(0 B)", "pareto(0 B, 1.5)", "lognormal(0 B, 1)", "uniform(0 B, 0 B)"] {
            let size = law.parse().expect("sizes");
            assert_eq!(fault(Params { size, ..usual() }), Err("size"), "{law}");
        }
        for law in ["exponential(0 s)", "lognormal(999 ns, 1)"] {
            let interval = law.parse().expect("times");
            assert_eq!(fault(Params { interval, ..usual() }), Err("interval"), "{law}");
        }
        let interval: Law<Span> = "file(times.csv)".parse().expect("times");
        assert_eq!(fault(Params { interval, ..usual() }), Ok(()), "what a file says is not known yet");
    }
}
