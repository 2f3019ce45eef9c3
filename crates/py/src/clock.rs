//! The clocks that tell what a run costs. Models do not see them.

use std::time::{Duration, Instant};

/// The moment at which a thread has begun something.
pub struct Began {
    at: Instant,
    processor: Option<Duration>,
}

impl Began {
    /// This moment.
    #[expect(clippy::disallowed_methods, reason = "the cost of a run is measured, and no model sees it")]
    pub fn now() -> Self {
        Self { at: Instant::now(), processor: processor() }
    }

    /// The time that has elapsed.
    pub fn elapsed(&self) -> Duration {
        self.at.elapsed()
    }

    /// The processor time of the same thread since then. Where the system tells none, it is the elapsed time.
    pub fn processor(&self) -> Duration {
        match (processor(), self.processor) {
            (Some(now), Some(then)) => now.saturating_sub(then),
            _ => self.elapsed(),
        }
    }
}

/// The processor time of the calling thread.
#[cfg(all(unix, not(target_family = "wasm")))]
fn processor() -> Option<Duration> {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Some(Duration::new(time.tv_sec.unsigned_abs(), time.tv_nsec.unsigned_abs().try_into().unwrap_or(0)))
}

#[cfg(not(all(unix, not(target_family = "wasm"))))]
const fn processor() -> Option<Duration> {
    None
}
