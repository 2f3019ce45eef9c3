//! The modes of the frames with a packet, where rate control chooses them.

use hopyard_engine::Time;

use super::params::{Announcement, Timing};
use crate::address::InterfaceId;
use crate::mac::rate_control::{Choice, Outcome, Rates, Tries};
use crate::phy::Mode;

/// The links of a station, and the tries of the packet that it holds.
#[derive(Clone, Debug)]
pub(super) struct Adaptive {
    pub rates: Rates,
    tries: Tries,
    choice: Option<Choice>,
    /// The ratio of signal to noise of the last frame for the station.
    pub level: f64,
}

impl Adaptive {
    pub const fn new(rates: Rates) -> Self {
        Self { rates, tries: Tries { used: Vec::new(), probe: false }, choice: None, level: 0.0 }
    }

    /// The mode of the first frame with a packet, and how the frame is announced.
    pub fn first(&mut self, to: InterfaceId, bytes: u32, timing: &Timing, now: Time) -> (&'static Mode, Announcement) {
        self.tries.clear();
        let chosen = self.next(to, bytes, timing, now);
        chosen.unwrap_or((timing.modes.data, timing.announcement(timing.modes.data, bytes, false)))
    }

    /// The mode of the next frame, and how the frame is announced.
    fn next(
        &mut self,
        to: InterfaceId,
        bytes: u32,
        timing: &Timing,
        now: Time,
    ) -> Option<(&'static Mode, Announcement)> {
        self.choice = self.rates.choose(to, &self.tries, now);
        let Choice { mode, announced, .. } = self.choice?;
        let by = if announced { Announcement::Rts } else { timing.announcement(mode, bytes, false) };
        Some((mode, by))
    }

    /// A frame failed. Returns the mode of the next frame and its announcement, or nothing if the retry limit or rate
    /// control gives the packet up.
    pub fn retry(
        &mut self,
        (to, bytes): (InterfaceId, u32),
        is_at_limit: bool,
        timing: &Timing,
        now: Time,
    ) -> Option<(&'static Mode, Announcement)> {
        if let Some(choice) = self.choice {
            self.tries.add(&choice);
        }
        if is_at_limit && !self.rates.gives_up() { None } else { self.next(to, bytes, timing, now) }
    }

    /// The packet was acknowledged, with this ratio of signal to noise at the receiver, or given up. Returns whether
    /// the mode of the link changes.
    pub fn report(&mut self, to: InterfaceId, acknowledged: Option<f32>, now: Time) -> bool {
        if let Some(choice) = self.choice.filter(|_| acknowledged.is_some()) {
            self.tries.add(&choice);
        }
        let outcome = Outcome {
            tries: &self.tries,
            acknowledged: acknowledged.is_some(),
            sent: 1,
            delivered: u32::from(acknowledged.is_some()),
            ratio: acknowledged.map(f64::from),
        };
        // A packet whose announcements all failed says nothing of a mode.
        !self.tries.used.is_empty() && self.rates.report(to, &outcome, now)
    }
}
