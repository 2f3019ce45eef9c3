//! The destination of a flow without answers.

use hopyard_engine::Time;

use super::{Application, Offer};

/// An application that reads, and writes nothing.
#[derive(Clone, Copy, Debug)]
pub struct Sink;

impl Application for Sink {
    fn on_timer(&mut self, _now: Time) -> Offer {
        Offer::Nothing
    }

    fn deadline(&self) -> Time {
        Time::NEVER
    }
}
