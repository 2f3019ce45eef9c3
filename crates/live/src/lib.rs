//! Real programs on a simulated network, in real time.
//!
//! The simulated clock is the clock of the host from the start of the run. [`couple`] carries out each event when the
//! host's clock has reached its time. It puts in the packets that programs sent, at the time at which they were read.
//! It gives out the packets that reached the programs. The host is never exactly in time: the [`Report`] says how late
//! each event was.
//!
//! The loop needs the trait [`Host`] of the host. On Linux, [`Kernel`] is the system's clock with a TUN device for each
//! node whose programs are real; tests have a clock that they move themselves.

mod coupling;
mod host;
#[cfg(target_os = "linux")]
mod kernel;
mod lateness;
mod report;
#[cfg(target_os = "linux")]
mod tun;

pub use coupling::{Settings, couple};
pub use host::{Host, LiveError};
#[cfg(target_os = "linux")]
pub use kernel::Kernel;
pub use lateness::{Lateness, Summary};
pub use report::{Crossing, End, NodeReport, Refused, Report};
#[cfg(target_os = "linux")]
pub use tun::Tun;
