//! Linux kernels in simulated time: unmodified TCP between devices of a simulated network.
//!
//! User-mode kernels run as processes of this machine, without any right. Their clock is ours. A kernel that has
//! nothing to do says when it wishes to go on. Then it waits for the message that this time has come ("time travel").
//! Their network devices are ours too: each frame is handed over in memory, and nothing happens while it is on its way.
//! So a run can be repeated bit for bit, and takes as long as its computation.
//!
//! [`Kernels`] owns the processes and the clock; a [`Network`] carries the frames.
//! `docs/linux/kernels.md` describes how this works, and its limits.

pub mod agent;
mod error;
pub mod initrd;
mod network;
mod settings;

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod calendar;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod device;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod guest;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod memory;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod processor;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod raw;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod ring;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod run;
#[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
#[path = "unavailable.rs"]
mod run;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod time_socket;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod vhost;

pub use error::Error;
pub use network::{Departure, Network, Port, Sending, Ticket};
pub use run::Kernels;
pub use settings::{Completion, Counters, Guest, Settings};
