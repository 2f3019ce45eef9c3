//! Reception as in ns-2.35: `mac/mac-802_11.cc`, `recv` and `collision`.
//!
//! A radio compares a frame with the one that it is receiving, and with no other. A frame that is too weak to be
//! decoded occupies the radio as any other. Left out: nothing. Validated by the cases in `tests`, and against ns-2.35
//! on the same scenarios.

use hopyard_engine::{Prefetch, Rng, Time};

use super::receiver::{Begin, End, Lost, NONE, Radio, Receiver, Verdict};
use crate::phy::frame::{Fields, Frame};

/// A radio that decodes as in ns-2.35.
#[derive(Clone, Debug)]
#[repr(align(64))]
pub struct Ns2 {
    /// The transmission being received.
    locked: u32,
    locked_power: f64,
    /// When the frame being received ends here.
    locked_end: Time,
    /// When the radio's own transmission ends.
    sending_until: Time,
    /// The frame being received was too weak, the radio was sending, or another frame interfered with it.
    damaged: bool,
    /// Frames lost to another frame.
    collisions: u32,
}

impl Default for Ns2 {
    fn default() -> Self {
        Self {
            locked: NONE,
            locked_power: 0.0,
            locked_end: Time::ZERO,
            sending_until: Time::ZERO,
            damaged: false,
            collisions: 0,
        }
    }
}

impl Prefetch for Ns2 {
    #[inline]
    fn prefetch(&self, (): &()) -> u32 {
        self.locked
    }
}

impl Radio for Ns2 {
    #[inline]
    fn send(&mut self, until: Time) {
        self.sending_until = until;
        self.damaged = true;
    }

    #[inline(always)]
    fn begin<C: Fields>(
        &mut self,
        transmission: u32,
        power: f64,
        now: Time,
        end: Time,
        receiver: &Receiver<'_>,
        _frame: &Frame<C>,
    ) -> Begin {
        let damaged = now < self.sending_until || power < receiver.threshold;
        if self.locked == NONE {
            (self.locked, self.locked_power, self.locked_end) = (transmission, power, end);
            self.damaged = damaged;
            return Begin::Busy;
        }
        if self.locked_power >= receiver.capture * power {
            return Begin::Ignored(end);
        }
        // Both frames are lost. The radio keeps the one that ends later.
        self.damaged = true;
        self.collisions += 1;
        if end > self.locked_end {
            (self.locked, self.locked_power, self.locked_end) = (transmission, power, end);
        }
        Begin::Nothing
    }

    #[inline(always)]
    fn end(&mut self, transmission: u32, _power: f64, now: Time, _receiver: &Receiver<'_>, _rng: &mut Rng) -> End {
        if self.locked != transmission {
            return End { verdict: Verdict::Missed, idle: false, others: 0, damaged: 0 };
        }
        self.locked = NONE;
        let verdict = if now < self.sending_until {
            Verdict::Missed
        } else if self.damaged {
            Verdict::Error
        } else {
            Verdict::Decoded
        };
        End { verdict, idle: true, others: 0, damaged: 0 }
    }

    fn lost(&self) -> Lost {
        Lost { collisions: u64::from(self.collisions), bit_errors: 0 }
    }
}
