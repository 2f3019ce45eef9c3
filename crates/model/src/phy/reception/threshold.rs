//! Reception by threshold: a frame is decoded when it is strong enough and, during all of its time, stronger than all
//! others together by the capture ratio.
//!
//! The rule of simulators that draw no bit errors, with the sum of all interferers instead of the strongest one. Left
//! out: noise, bit errors, and the detection of the preamble. Validated by the cases in `tests`.

use hopyard_engine::{Prefetch, Rng, Time};

use super::receiver::{Begin, End, Lost, NONE, Radio, Receiver, Signals, Strength, Verdict};
use crate::phy::frame::{Fields, Frame};

/// A radio that decodes by threshold.
#[derive(Clone, Debug)]
#[repr(align(64))]
pub struct Threshold {
    /// The transmission being received.
    locked: u32,
    signals: Signals,
    locked_power: f64,
    /// When the radio's own transmission ends.
    sending_until: Time,
    /// Another frame interfered with the frame being received.
    collided: bool,
    /// Frames lost to another frame.
    collisions: u32,
}

impl Default for Threshold {
    fn default() -> Self {
        Self {
            locked: NONE,
            signals: Signals::default(),
            locked_power: 0.0,
            sending_until: Time::ZERO,
            collided: false,
            collisions: 0,
        }
    }
}

impl Prefetch for Threshold {
    #[inline]
    fn prefetch(&self, (): &()) -> u32 {
        self.locked
    }
}

impl Radio for Threshold {
    #[inline]
    fn send(&mut self, until: Time) {
        self.sending_until = until;
        self.locked = NONE;
    }

    #[inline(always)]
    fn begin<C: Fields>(
        &mut self,
        transmission: u32,
        power: f64,
        now: Time,
        _end: Time,
        receiver: &Receiver<'_>,
        _frame: &Frame<C>,
    ) -> Begin {
        let Strength { is_decodable, is_strong } = self.signals.judge(power, receiver);
        if now < self.sending_until {
            // A radio that sends receives nothing. It senses the signal afterwards if the signal still lasts then.
        } else if is_strong {
            self.collisions += u32::from(self.locked != NONE);
            (self.locked, self.locked_power, self.collided) = (transmission, power, false);
        } else if self.locked == NONE {
            if is_decodable {
                // The frame is lost to those that began before it.
                (self.locked, self.locked_power, self.collided) = (transmission, power, true);
            }
        } else {
            let interference = self.signals.others(self.locked_power);
            self.collided |= self.locked_power < receiver.capture * interference;
        }
        if self.signals.count() == 1 { Begin::Busy } else { Begin::Nothing }
    }

    #[inline(always)]
    fn end(&mut self, transmission: u32, power: f64, _now: Time, _receiver: &Receiver<'_>, _rng: &mut Rng) -> End {
        self.signals.remove(power);
        let verdict = if self.locked != transmission {
            Verdict::Missed
        } else {
            self.locked = NONE;
            self.collisions += u32::from(self.collided);
            if self.collided { Verdict::Error } else { Verdict::Decoded }
        };
        End { verdict, idle: self.signals.count() == 0, others: self.signals.energy(), damaged: 0 }
    }

    fn lost(&self) -> Lost {
        Lost { collisions: u64::from(self.collisions), bit_errors: 0 }
    }
}
