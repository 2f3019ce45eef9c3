//! The host: the clock of the system, and TUN devices.

use std::io;
use std::num::NonZeroU64;
use std::time::Duration;

use hopyard_engine::Time;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::thread::set_current_timer_slack;
use rustix::time::{ClockId, clock_gettime};

use crate::host::Host;
use crate::tun::Tun;

/// The clock of the system from the start of the run, and the devices.
#[derive(Debug)]
pub struct Kernel<'a> {
    start: Duration,
    devices: &'a [Tun],
}

impl<'a> Kernel<'a> {
    /// The run starts now, in this thread. The system wakes the thread up as exactly as it can from now on: otherwise
    /// it may take 50 µs longer, to save power.
    ///
    /// # Errors
    /// If the system refuses that.
    pub fn start(devices: &'a [Tun]) -> io::Result<Self> {
        set_current_timer_slack(NonZeroU64::new(1))?;
        Ok(Self { start: clock(), devices })
    }
}

/// The monotonic clock of the system.
fn clock() -> Duration {
    let time = clock_gettime(ClockId::Monotonic);
    // It begins at zero, and its nanoseconds are below 10^9.
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

impl Host for Kernel<'_> {
    fn now(&mut self) -> Time {
        // A run ends before 2^64 ns, which are 584 years.
        Time::from_nanos(clock().saturating_sub(self.start).as_nanos() as u64)
    }

    fn wait(&mut self, until: Time, open: &[bool]) -> io::Result<()> {
        let left = until.since(self.now()).nanos();
        // Both parts are below 2^34.
        let left = Timespec { tv_sec: (left / 1_000_000_000) as i64, tv_nsec: (left % 1_000_000_000) as _ };
        let open = self.devices.iter().zip(open).filter(|(_, open)| **open);
        let mut watched: Vec<_> = open.map(|(it, _)| PollFd::new(it, PollFlags::IN)).collect();
        match poll(&mut watched, Some(&left)) {
            Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    fn receive(&mut self, device: usize, buffer: &mut [u8]) -> io::Result<Option<usize>> {
        self.devices[device].receive(buffer)
    }

    fn send(&mut self, device: usize, datagram: &[u8]) -> io::Result<()> {
        self.devices[device].send(datagram)
    }
}
