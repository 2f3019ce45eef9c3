//! The modes of the frames with a packet, where rate control chooses them.

use hopyard_engine::Time;

use super::params::{Announcement, Timing};
use crate::address::InterfaceId;
use crate::mac::rate_control::{Answered, Attempt, Choice, Rates};
use crate::phy::Mode;

/// The links of a station, and the tries of the packet that it holds.
#[derive(Clone, Debug)]
pub(super) struct Adaptive {
    pub rates: Rates,
    attempt: Attempt,
    /// The ratio of signal to noise of the last frame for the station.
    pub level: f64,
}

impl Adaptive {
    pub const fn new(rates: Rates) -> Self {
        Self { rates, attempt: Attempt::NONE, level: 0.0 }
    }

    /// The mode of the first frame with a packet, and how the frame is announced.
    pub fn first(&mut self, to: InterfaceId, bytes: u32, timing: &Timing, now: Time) -> (&'static Mode, Announcement) {
        let chosen = self.attempt.begin(&mut self.rates, to, now);
        let choice = chosen.unwrap_or_else(|| Choice::of(timing.modes.data));
        (choice.mode, timing.announced_by(&choice, bytes))
    }

    /// A frame failed. Returns the mode of the next frame and its announcement, or nothing if the retry limit or rate
    /// control gives the packet up.
    pub fn retry(
        &mut self,
        bytes: u32,
        is_at_limit: bool,
        timing: &Timing,
        now: Time,
    ) -> Option<(&'static Mode, Announcement)> {
        let choice = self.attempt.fail(&mut self.rates, 1, is_at_limit, now)?;
        Some((choice.mode, timing.announced_by(&choice, bytes)))
    }

    /// The packet was acknowledged, with this ratio of signal to noise at the receiver, or given up. Returns the
    /// neighbour if the mode of its link changes.
    pub fn report(&mut self, acknowledged: Option<f32>, now: Time) -> Option<InterfaceId> {
        let answered = acknowledged.map(|ratio| Answered { sent: 1, delivered: 1, ratio });
        self.attempt.end(&mut self.rates, answered, now)
    }
}
