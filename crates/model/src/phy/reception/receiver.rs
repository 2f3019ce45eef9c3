//! The trait of every model of reception, with its arguments and answers.
//!
//! Powers are added as integers (attowatts), so that the order of edges cannot change a sum.

use std::fmt::Debug;

use hopyard_engine::units::{Power, Ratio};
use hopyard_engine::{Prefetch, Rng, Time};

use crate::phy::error_rate::measured::Measured;
use crate::phy::frame::{Fields, Frame};

/// The values that all radios of a channel share.
#[derive(Clone, Copy, Debug)]
pub struct Receiver<'a> {
    /// The weakest frame that can be decoded, in watts.
    pub threshold: f64,
    /// By how much a frame must be stronger than another to be received in spite of it.
    pub capture: f64,
    /// The ratio of signal to noise and interference at which a preamble is found.
    pub preamble_sinr: f64,
    /// Thermal noise in watts.
    pub noise: f64,
    /// Error rates in the place of the formulas.
    pub errors: Option<&'a Measured>,
}

/// The consequence of the beginning of a signal for the MAC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Begin {
    /// Nothing new: the medium was busy.
    Nothing,
    /// The medium turned busy.
    Busy,
    /// The signal, which ends at this time, is ignored because the radio receives a stronger one (ns-2's capture).
    Ignored(Time),
}

/// The consequence of the end of a signal for the MAC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct End {
    /// The fate of the frame.
    pub verdict: Verdict,
    /// Whether the medium is idle now.
    pub idle: bool,
    /// The power of the signals that remain, in attowatts; zero where the model does not add powers.
    pub others: u64,
    /// The pieces of a decoded frame that have bit errors: the lowest bit is the first.
    pub damaged: u64,
}

/// How a frame came to a receiver that decoded it.
#[derive(Clone, Copy, Debug)]
pub struct Level {
    power: f64,
    others: u64,
    noise: f64,
    damaged: u64,
}

impl Level {
    /// The level of a frame that was received with this power, in watts, beside other signals and noise.
    #[inline]
    #[must_use]
    pub const fn new(power: f64, others: u64, noise: f64) -> Self {
        Self { power, others, noise, damaged: 0 }
    }

    /// The same where some pieces of the frame have bit errors.
    #[inline]
    #[must_use]
    pub const fn damaged(self, damaged: u64) -> Self {
        Self { damaged, ..self }
    }

    /// Whether a piece of the frame has no bit errors.
    #[must_use]
    pub const fn is_sound(&self, piece: u32) -> bool {
        self.damaged >> piece & 1 == 0
    }

    /// The received power.
    #[must_use]
    pub const fn power(&self) -> Power {
        Power::from_watts(self.power)
    }

    /// The ratio of its power to the power of noise and of the other signals at its end.
    #[must_use]
    pub fn sinr(&self) -> Ratio {
        Ratio::from_factor(self.power / (self.noise + self.others as f64 / ATTO))
    }
}

/// The fate of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It was not being received, or the radio was sending.
    Missed,
    /// Its preamble was not found because of noise, so that it was not being received.
    Unfound,
    /// It was received in error.
    Error,
    /// It was received with bit errors, although no other signal disturbed it.
    Noise,
    /// It was decoded.
    Decoded,
}

/// Frames that a radio has lost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lost {
    /// To another frame.
    pub collisions: u64,
    /// To bit errors.
    pub bit_errors: u64,
}

/// One radio, as a model of reception sees it. Every edge of every signal reads or writes it, so that it should fit
/// into one cache line.
pub trait Radio: Clone + Debug + Default + Prefetch {
    /// Whether the model compares the powers of signals in more than their order.
    const COMPARES_POWERS: bool = false;

    /// Whether noise causes bit errors, so that a frame that is strong enough may still not be decoded.
    const BIT_ERRORS: bool = false;

    /// The radio starts to send; a frame being received is lost.
    fn send(&mut self, until: Time);

    /// A signal of this power begins; it ends at `end`.
    fn begin<C: Fields>(
        &mut self,
        transmission: u32,
        power: f64,
        now: Time,
        end: Time,
        receiver: &Receiver<'_>,
        frame: &Frame<C>,
    ) -> Begin;

    /// A signal of this power ends.
    fn end(&mut self, transmission: u32, power: f64, now: Time, receiver: &Receiver<'_>, rng: &mut Rng) -> End;

    /// Frames that the radio has lost.
    fn lost(&self) -> Lost;
}

/// No transmission.
pub const NONE: u32 = u32::MAX;

/// Attowatts in a watt.
const ATTO: f64 = 1e18;

/// The signals in the air that are strong enough to be sensed.
#[derive(Clone, Copy, Debug, Default)]
pub struct Signals {
    count: u32,
    /// The power of all of them, in attowatts.
    energy: u64,
}

/// The meaning of the power of a signal that begins, for a receiver that may lock on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Strength {
    /// It can be decoded when nothing disturbs it.
    pub is_decodable: bool,
    /// It can be decoded, and the medium was idle, or it is stronger than all others by the capture ratio.
    pub is_strong: bool,
}

impl Signals {
    /// A signal of this power begins.
    #[inline]
    pub fn add(&mut self, power: f64) {
        self.count += 1;
        self.energy = self.energy.saturating_add(attowatts(power));
    }

    /// A signal of this power begins, and is compared with the others.
    #[inline(always)]
    pub fn judge(&mut self, power: f64, receiver: &Receiver<'_>) -> Strength {
        let others = self.power();
        self.add(power);
        let is_decodable = power >= receiver.threshold;
        Strength { is_decodable, is_strong: is_decodable && (others == 0.0 || power >= receiver.capture * others) }
    }

    /// A signal of this power ends.
    #[inline]
    pub fn remove(&mut self, power: f64) {
        self.count -= 1;
        self.energy = self.energy.saturating_sub(attowatts(power));
    }

    /// How many signals there are.
    #[inline]
    #[must_use]
    pub const fn count(&self) -> u32 {
        self.count
    }

    /// The power of all signals, in attowatts.
    #[inline]
    #[must_use]
    pub const fn energy(&self) -> u64 {
        self.energy
    }

    /// The power of all signals, in watts.
    #[inline]
    #[must_use]
    pub fn power(&self) -> f64 {
        self.energy as f64 / ATTO
    }

    /// The power of all signals but one of this power, in watts.
    #[inline]
    #[must_use]
    pub fn others(&self, power: f64) -> f64 {
        self.energy.saturating_sub(attowatts(power)) as f64 / ATTO
    }
}

fn attowatts(power: f64) -> u64 {
    (power * ATTO) as u64
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Whatever the order of ends, the remaining power is the sum of the rest, to the last attowatt.
        #[test]
        fn sums_do_not_depend_on_the_order(
            powers in prop::collection::vec(1e-14_f64..1e-6, 1..20),
            order in prop::collection::vec(any::<prop::sample::Index>(), 20),
        ) {
            let mut signals = Signals::default();
            let mut left = powers.clone();
            left.iter().for_each(|&power| signals.add(power));
            for index in order.iter().take(powers.len()) {
                prop_assert_eq!(signals.energy, left.iter().map(|&power| attowatts(power)).sum::<u64>());
                signals.remove(left.remove(index.index(left.len())));
            }
            prop_assert_eq!((signals.energy, signals.count()), (0, 0));
        }
    }
}
