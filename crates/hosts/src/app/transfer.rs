//! A bounded transfer: a file of a given size. All its data is available at the start.
//!
//! If the flow stops earlier, no new data is sent after the stop.

use hopyard_engine::units::Bytes;
use hopyard_engine::{Rng, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Application, ApplicationFacts, Offer, Period};
use crate::params::{self, Fault};

/// Parameters of a bounded transfer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Params {
    /// The file's size.
    pub size: Bytes,
}

impl params::Params for Params {
    fn of_profile(_profile: &str) -> Self {
        Self { size: Bytes::new(1_000_000) }
    }

    fn check(&self) -> Result<(), Fault> {
        if self.size.count() == 0 {
            return Err(Fault::new("size", "must be above zero, found 0 B"));
        }
        Ok(())
    }
}

impl ApplicationFacts for Params {
    const NEEDS_TCP: bool = true;
}

/// A bounded transfer.
#[derive(Clone, Debug)]
pub struct Transfer {
    size: u64,
    period: Period,
    deadline: Time,
}

impl Transfer {
    /// A source that offers its file at the start of this period.
    #[must_use]
    pub fn new(params: &Params, period: Period, _rng: Rng) -> Self {
        Self { size: params.size.count(), period, deadline: period.start.min(period.stop) }
    }
}

impl Application for Transfer {
    fn on_timer(&mut self, now: Time) -> Offer {
        self.deadline = Time::NEVER;
        Offer::Last(if now < self.period.stop { self.size } else { 0 })
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
    fn the_file_is_offered_once() {
        let params = Params { size: Bytes::new(20_000) };
        let mut source = Transfer::new(&params, Period { start: seconds(2.0), stop: Time::NEVER }, rng());
        assert_eq!(offers(&mut source, Time::NEVER), [(2.0, Offer::Last(20_000))]);
    }
}
