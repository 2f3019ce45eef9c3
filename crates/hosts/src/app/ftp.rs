//! FTP: an endless file.
//!
//! As in ns-2's `Application/FTP`, there is always data to send from start to stop. After the stop no new data is sent,
//! but losses of older data are still repaired. Left out: FTP's control connection (RFC 959).

use hopyard_engine::{Rng, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Application, ApplicationFacts, Offer, Period};
use crate::params;

/// A file without end has no parameters.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Params {}

impl params::Params for Params {
    fn of_profile(_profile: &str) -> Self {
        Self {}
    }
}

impl ApplicationFacts for Params {
    const NEEDS_TCP: bool = true;
}

/// An endless file.
#[derive(Clone, Debug)]
pub struct Ftp {
    period: Period,
    deadline: Time,
}

impl Ftp {
    /// A source for this period.
    #[must_use]
    pub fn new(_params: &Params, period: Period, _rng: Rng) -> Self {
        Self { period, deadline: period.start.min(period.stop) }
    }
}

impl Application for Ftp {
    fn on_timer(&mut self, now: Time) -> Offer {
        if now < self.period.stop {
            self.deadline = self.period.stop;
            Offer::Unlimited
        } else {
            self.deadline = Time::NEVER;
            Offer::Last(0)
        }
    }

    fn deadline(&self) -> Time {
        self.deadline
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::testing::{offers, rng, seconds};

    #[test]
    fn there_is_always_more_until_the_stop() {
        let mut source = Ftp::new(&Params {}, Period { start: seconds(1.0), stop: seconds(5.0) }, rng());
        assert_eq!(offers(&mut source, Time::NEVER), [(1.0, Offer::Unlimited), (5.0, Offer::Last(0))]);
        let mut source = Ftp::new(&Params {}, Period { start: Time::ZERO, stop: Time::NEVER }, rng());
        assert_eq!(offers(&mut source, Time::NEVER), [(0.0, Offer::Unlimited)]);
    }
}
