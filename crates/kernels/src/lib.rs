//! Linux kernels in simulated time: unmodified TCP between devices of a simulated network.
//!
//! User-mode kernels run as processes of this machine, without any right. Their clock is ours. A kernel that has
//! nothing to do says when it wishes to go on. Then it waits for the message that this time has come ("time travel").
//! Their network devices are ours too: each frame is handed over in memory, and nothing happens while it is on its way.
//! So a run can be repeated bit for bit, and takes as long as its computation.
//!
//! [`Kernels`] owns the processes and the clock; a [`Network`] carries the frames.
//! `docs/linux/kernels.md` describes how this works, and its limits.

use std::path::PathBuf;

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

use agent::{Order, Report};
pub use error::Error;
use hopyard_engine::{Span, Time};
pub use network::{FromNetwork, Network, Port, Sending, Ticket};
pub use run::Kernels;
pub use settings::{Completion, Counters, Guest, Kind, Medium, Nic, Settings};

/// Boots a kernel alone, with this number of devices, whose agent carries out orders. Returns what the kernel calls
/// itself.
///
/// # Errors
/// If it cannot be started, or the agent could not do something.
pub fn trial(
    program: PathBuf,
    agent: &[u8],
    orders: &[Order],
    devices: u8,
    settings: Settings,
) -> Result<String, Error> {
    let guest = Guest {
        name: "a trial".to_owned(),
        program,
        initrd: initrd::archive(agent, orders, &[]),
        parameters: Vec::new(),
        memory: 32,
        devices: (0..devices).map(|device| [2, 0, 0, 0, 0, device].into()).collect(),
        seed: 1,
    };
    let mut kernels = Kernels::start(&[guest], settings)?;
    let at = Time::ZERO + Span::from_millis(1);
    let booted = kernels.advance(at, &mut network::Nothing, || false);
    let release = kernels.reports(0)?.into_iter().find_map(|(_, it)| match it {
        Report::Ready { release } => Some(release),
        _ => None,
    });
    booted?;
    let what = "its agent has not carried out its orders".to_owned();
    release.ok_or_else(|| Error::Protocol { kernel: "a trial".to_owned(), at, what })
}
