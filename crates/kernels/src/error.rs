//! Why kernels in simulated time cannot start, or cannot go on.

use std::error::Error as StdError;
use std::io;
use std::time::Duration;

use hopyard_engine::Time;

/// An error of kernels in simulated time. Each ends the run.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// This system cannot have user-mode kernels.
    #[error("kernels in simulated time need Linux on an x86-64 processor")]
    Unavailable,
    /// The system refuses something.
    #[error("{what}: {error}")]
    System {
        /// What was attempted.
        what: String,
        /// The system's answer.
        error: io::Error,
    },
    /// A kernel ended by itself. Guests run until the end of the simulation, so it has panicked, or its init has ended
    /// it.
    #[error("the kernel of {kernel} ended at {at}: {how}; the end of its log:\n{log}")]
    Ended {
        /// The name of the kernel.
        kernel: String,
        /// The simulated time.
        at: Time,
        /// How the process ended.
        how: String,
        /// The last lines of what it wrote.
        log: String,
    },
    /// A kernel does not answer: a program in it computes without end, or it waits for something outside.
    #[error(
        "the kernel of {kernel} runs since the simulated time {at} and has not answered for {} s of real time: a program \
         in it computes without end, or the machine is overloaded; the end of its log:\n{log}",
        patience.as_secs_f64()
    )]
    Silent {
        /// The name of the kernel.
        kernel: String,
        /// The simulated time.
        at: Time,
        /// How long it was waited for.
        patience: Duration,
        /// The last lines of what it wrote.
        log: String,
    },
    /// A kernel says what cannot be.
    #[error("the kernel of {kernel} broke the protocol at {at}: {what}")]
    Protocol {
        /// The name of the kernel.
        kernel: String,
        /// The simulated time.
        at: Time,
        /// What is wrong.
        what: String,
    },
    /// The network cannot go on.
    #[error(transparent)]
    Network(Box<dyn StdError + Send + Sync>),
    /// The run was stopped from outside.
    #[error("the run was stopped at {0}")]
    Stopped(Time),
}

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
impl Error {
    /// An answer of the system to an attempt.
    #[cfg(all(target_os = "linux", target_arch = "x86_64"))]
    pub(crate) fn system(what: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        move |error| Self::System { what: what.into(), error }
    }
}
