//! Why kernels in simulated time cannot start, or cannot go on.

use std::error::Error as StdError;
use std::io;
use std::time::Duration;

use hopyard_engine::Time;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
use rustix::io::Errno;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
use rustix::process::{Resource, getrlimit};

/// An error of kernels in simulated time. Each ends the run.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// This system cannot have user-mode kernels.
    #[error("kernels in simulated time need Linux on an x86-64 processor")]
    Unavailable,
    /// The system refuses something.
    #[error("{what}: {error}")]
    System {
        /// The attempt.
        what: String,
        /// The system's answer.
        error: io::Error,
    },
    /// This process can have no more file descriptors.
    #[error(
        "{what}: this process has all the file descriptors that it may have ({limit}): raise that limit (`ulimit -n`), \
         or make fewer runs at a time"
    )]
    Descriptors {
        /// The attempt.
        what: String,
        /// How many it may have.
        limit: u64,
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
        /// The last lines of its output.
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
        /// The last lines of its output.
        log: String,
    },
    /// A kernel sends an impossible message.
    #[error("the kernel of {kernel} broke the protocol at {at}: {what}")]
    Protocol {
        /// The name of the kernel.
        kernel: String,
        /// The simulated time.
        at: Time,
        /// The fault.
        what: String,
    },
    /// The agent of a kernel could not do something.
    #[error("{kernel}: {place} {value}: {error}")]
    Agent {
        /// The name of the kernel.
        kernel: String,
        /// The attempt.
        place: String,
        /// Its object.
        value: String,
        /// The answer of the kernel.
        error: io::Error,
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
    pub(crate) fn system(what: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        move |error| {
            let what = what.into();
            if error.raw_os_error() == Some(Errno::MFILE.raw_os_error()) {
                let limit = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
                return Self::Descriptors { what, limit };
            }
            Self::System { what, error }
        }
    }
}
