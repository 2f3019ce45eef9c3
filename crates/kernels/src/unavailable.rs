//! The replacement on systems without user-mode kernels. It has the same functions, and the first one gives an error.

use std::time::Duration;

use hopyard_engine::Time;

use crate::agent::Report;
use crate::error::Error;
use crate::network::Network;
use crate::settings::{Counters, Guest, Settings};

/// Kernels in simulated time, which this system cannot have. The type has no value.
#[derive(Debug)]
pub enum Kernels {}

impl Kernels {
    /// Gives the error that there are no kernels.
    ///
    /// # Errors
    /// Always.
    pub fn start(_: &[Guest], _: Settings) -> Result<Self, Error> {
        Err(Error::Unavailable)
    }

    /// The simulated time.
    #[must_use]
    pub fn now(&self) -> Time {
        match *self {}
    }

    /// The traffic between a kernel and the simulation.
    #[must_use]
    pub fn counters(&self, _: usize) -> Counters {
        match *self {}
    }

    /// The time at which the first kernel wishes to run.
    #[must_use]
    pub fn next_wish(&self) -> Option<Time> {
        match *self {}
    }

    /// The number of kernels.
    #[must_use]
    pub fn len(&self) -> usize {
        match *self {}
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        match *self {}
    }

    /// The processor time of the kernels.
    #[must_use]
    pub fn processor_time(&self) -> Duration {
        match *self {}
    }

    /// The reports of a kernel's agent since the last call.
    ///
    /// # Errors
    /// Never.
    pub fn reports(&mut self, _: usize) -> Result<Vec<(Time, Report)>, Error> {
        match *self {}
    }

    /// Goes on until a time.
    ///
    /// # Errors
    /// Never.
    pub fn advance<N: Network>(&mut self, _: Time, _: &mut N, _: impl FnMut() -> bool) -> Result<(), Error> {
        match *self {}
    }
}
