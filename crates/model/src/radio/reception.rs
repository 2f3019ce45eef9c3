//! Reception at one radio: which frame it receives, which signals interfere, and whether the frame can be decoded.
//!
//! Powers are added as integers (attowatts), so that the order of edges cannot change a sum.

use hopyard_engine::units::Rate;
use hopyard_engine::{Rng, Span, Time};

use super::error_rate::{Modulation, chunk_success, thermal_noise};
use super::propagation::Channel;
use super::{Params, Reception};
use crate::frame::Frame;

/// What all radios of a run share.
#[derive(Clone, Copy, Debug)]
pub struct Receiver {
    reception: Reception,
    /// The weakest frame that can be decoded, in watts.
    threshold: f64,
    capture: f64,
    /// The ratio of signal to noise and interference at which a preamble is found.
    preamble_sinr: f64,
    /// Thermal noise in watts.
    noise: f64,
    /// How long the preamble and the PLCP header last, which are sent at 1 Mb/s.
    preamble: Span,
}

impl Receiver {
    /// The receiver of radios with these parameters.
    #[must_use]
    pub fn new(params: &Params, channel: &Channel, preamble: Span) -> Self {
        Self {
            reception: params.reception,
            threshold: params.receive.watts(channel, params.transmit_power),
            capture: params.capture.factor(),
            preamble_sinr: params.preamble_sinr.factor(),
            noise: thermal_noise(params.noise_figure).watts(),
            preamble,
        }
    }

    /// The weakest frame that can be decoded, in watts.
    #[must_use]
    pub const fn threshold(&self) -> f64 {
        self.threshold
    }
}

/// No transmission.
const NONE: u32 = u32::MAX;

/// Attowatts in a watt.
const ATTO: f64 = 1e18;

/// How long a receiver looks at a signal before it decides whether this is a preamble: the value of ns-3's
/// `ThresholdPreambleDetectionModel`.
const DETECTION: Span = Span::from_micros(4);

/// At this ratio (20 dB) and above, the probability of success is exactly one in double precision for all modulations.
/// Most frames meet no interference, and this limit saves them the computation of an exponential.
const ERROR_FREE: f64 = 100.0;

/// The state of one radio: it fits into one cache line, because every edge of every signal reads or writes it.
#[derive(Clone, Debug)]
#[repr(align(64))]
pub struct Radio {
    /// The transmission being received.
    locked: u32,
    /// Signals in the air that are strong enough to be sensed.
    signals: u32,
    locked_power: f64,
    /// When the frame being received ends here.
    locked_end: Time,
    /// When the radio's own transmission ends.
    sending_until: Time,
    /// The power of all signals in the air, in attowatts.
    energy: u64,
    /// Another frame interfered with the frame being received.
    collided: bool,
    /// The frame being received was too weak, or the radio was sending.
    damaged: bool,
    /// Frames lost to another frame.
    collisions: u32,
    /// The bits of the frame being received; absent until the first frame whose bit errors are drawn.
    bits: Option<Box<Bits>>,
}

/// The bits of the frame being received, where their errors are drawn.
#[derive(Clone, Debug)]
struct Bits {
    /// The probability that all bits up to `counted_until` are right.
    success: f64,
    counted_until: Time,
    /// When the receiver decides whether it has found the preamble.
    detection: Time,
    /// It has found the preamble.
    detected: bool,
    airtime: Span,
    rate: u32,
    /// Frames lost to bit errors.
    errors: u64,
}

impl Default for Bits {
    fn default() -> Self {
        Self {
            success: 1.0,
            counted_until: Time::ZERO,
            detection: Time::ZERO,
            detected: false,
            airtime: Span::ZERO,
            rate: 0,
            errors: 0,
        }
    }
}

impl Default for Radio {
    fn default() -> Self {
        Self {
            locked: NONE,
            signals: 0,
            locked_power: 0.0,
            locked_end: Time::ZERO,
            sending_until: Time::ZERO,
            energy: 0,
            collided: false,
            damaged: false,
            collisions: 0,
            bits: None,
        }
    }
}

/// What the beginning of a signal means to the MAC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Begin {
    /// Nothing new: the medium was busy.
    Nothing,
    /// The medium turned busy.
    Busy,
    /// The signal, which ends at this time, is ignored because the radio receives a stronger one (ns-2's capture).
    Ignored(Time),
}

/// What the end of a signal means to the MAC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct End {
    /// What became of the frame.
    pub verdict: Verdict,
    /// Whether the medium is idle now.
    pub idle: bool,
}

/// What became of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It was not being received, or the radio was sending.
    Missed,
    /// It was received in error.
    Error,
    /// It was decoded.
    Decoded,
}

impl Radio {
    /// Reads the radio's state into the processor's cache. The value has no meaning.
    #[inline]
    #[must_use]
    pub const fn prefetch(&self) -> u32 {
        self.locked
    }

    /// The radio starts to send; a frame being received is lost.
    pub fn send(&mut self, until: Time, receiver: &Receiver) {
        self.sending_until = until;
        if receiver.reception == Reception::Ns2 {
            self.damaged = true;
        } else {
            self.locked = NONE;
        }
    }

    /// A signal of this power begins; it ends at `end`.
    #[inline]
    pub fn begin<C>(
        &mut self,
        transmission: u32,
        power: f64,
        now: Time,
        end: Time,
        receiver: &Receiver,
        frame: &Frame<C>,
    ) -> Begin {
        if receiver.reception == Reception::Ns2 {
            return self.begin_ns2(transmission, power, now, end, receiver);
        }
        let others = self.energy as f64 / ATTO;
        self.count_bits(now, receiver);
        self.signals += 1;
        self.energy = self.energy.saturating_add(attowatts(power));
        let strong = power >= receiver.threshold && (others == 0.0 || power >= receiver.capture * others);
        if now < self.sending_until {
            // A radio that sends receives nothing. It senses the signal afterwards if the signal still lasts then.
        } else if strong {
            // The medium was idle, or this frame is stronger than all others by the capture ratio.
            if self.locked != NONE {
                self.collisions += 1;
            }
            self.lock(transmission, power, now, end, frame, receiver);
        } else if self.locked == NONE {
            if power >= receiver.threshold {
                self.lock(transmission, power, now, end, frame, receiver);
                // By threshold, the frame is lost to those that began before it.
                self.collided = receiver.reception == Reception::Threshold;
            }
        } else if receiver.reception == Reception::Sinr {
            // Until it has found a preamble, the receiver switches to a stronger frame.
            let deciding = self.bits.as_ref().is_some_and(|bits| now < bits.detection);
            if deciding && power >= receiver.threshold && power > self.locked_power {
                self.collisions += 1;
                self.lock(transmission, power, now, end, frame, receiver);
            }
        } else {
            let interference = self.energy.saturating_sub(attowatts(self.locked_power)) as f64 / ATTO;
            self.collided |= self.locked_power < receiver.capture * interference;
        }
        if self.signals == 1 { Begin::Busy } else { Begin::Nothing }
    }

    /// Reception as in ns-2.35, `mac/mac-802_11.cc`, `recv` and `collision`.
    fn begin_ns2(&mut self, transmission: u32, power: f64, now: Time, end: Time, receiver: &Receiver) -> Begin {
        let damaged = now < self.sending_until || power < receiver.threshold;
        if self.locked == NONE {
            (self.locked, self.locked_power, self.locked_end) = (transmission, power, end);
            (self.damaged, self.collided) = (damaged, false);
            return Begin::Busy;
        }
        if self.locked_power >= receiver.capture * power {
            return Begin::Ignored(end);
        }
        // Both frames are lost. The radio keeps the one that ends later.
        self.collided = true;
        self.collisions += 1;
        if end > self.locked_end {
            (self.locked, self.locked_power, self.locked_end) = (transmission, power, end);
            self.damaged = damaged;
        }
        Begin::Nothing
    }

    /// A signal of this power ends.
    #[inline]
    pub fn end(&mut self, transmission: u32, power: f64, now: Time, receiver: &Receiver, rng: &mut Rng) -> End {
        if receiver.reception == Reception::Ns2 {
            if self.locked != transmission {
                return End { verdict: Verdict::Missed, idle: false };
            }
            self.locked = NONE;
            let verdict = if now < self.sending_until {
                Verdict::Missed
            } else if self.collided || self.damaged {
                Verdict::Error
            } else {
                Verdict::Decoded
            };
            return End { verdict, idle: true };
        }
        self.count_bits(now, receiver);
        self.signals -= 1;
        self.energy = self.energy.saturating_sub(attowatts(power));
        let verdict = if self.locked != transmission {
            Verdict::Missed
        } else {
            self.locked = NONE;
            if self.collided {
                self.collisions += 1;
                Verdict::Error
            } else if receiver.reception == Reception::Sinr && self.has_bit_error(rng) {
                Verdict::Error
            } else {
                Verdict::Decoded
            }
        };
        End { verdict, idle: self.signals == 0 }
    }

    /// Frames lost to another frame.
    #[must_use]
    pub fn collisions(&self) -> u64 {
        u64::from(self.collisions)
    }

    /// Frames lost to bit errors.
    #[must_use]
    pub fn bit_errors(&self) -> u64 {
        self.bits.as_ref().map_or(0, |bits| bits.errors)
    }

    /// Draws whether a bit of the frame that has ended was wrong.
    fn has_bit_error(&mut self, rng: &mut Rng) -> bool {
        let bits = self.bits.get_or_insert_default();
        let error = bits.success < 1.0 && rng.uniform() >= bits.success;
        bits.errors += u64::from(error);
        error
    }

    /// Counts the bits received since the last edge, during which interference was constant.
    #[inline]
    fn count_bits(&mut self, now: Time, receiver: &Receiver) {
        if receiver.reception == Reception::Sinr && self.locked != NONE {
            self.count_bits_until(now, receiver);
        }
    }

    fn count_bits_until(&mut self, now: Time, receiver: &Receiver) {
        let interference = self.energy.saturating_sub(attowatts(self.locked_power)) as f64 / ATTO;
        let sinr = self.locked_power / (receiver.noise + interference);
        let bits = self.bits.get_or_insert_default();
        if !bits.detected && now >= bits.detection {
            bits.detected = sinr >= receiver.preamble_sinr;
            if !bits.detected {
                // The receiver searches for a preamble again. No frame has begun since the time of the decision.
                self.locked = NONE;
                bits.errors += u64::from(interference == 0.0);
                self.collisions += u32::from(interference > 0.0);
                return;
            }
        }
        if sinr >= ERROR_FREE {
            bits.counted_until = now;
            return;
        }
        // Preamble and header are sent at 1 Mb/s, the body at the frame's rate.
        let body = self.locked_end - bits.airtime + receiver.preamble;
        let rate = Rate::from_bps(u64::from(bits.rate));
        let modulation = Modulation::of_rate(rate).unwrap_or(Modulation::Dbpsk);
        let header = bits.counted_until.min(body);
        for (modulation, from, until) in
            [(Modulation::Dbpsk, header, now.min(body)), (modulation, bits.counted_until.max(body), now)]
        {
            let count = until.since(from).seconds() * modulation.rate().bps() as f64;
            if count > 0.0 {
                bits.success *= chunk_success(modulation, sinr, count);
            }
        }
        bits.counted_until = bits.counted_until.max(now);
    }

    fn lock<C>(&mut self, transmission: u32, power: f64, now: Time, end: Time, frame: &Frame<C>, receiver: &Receiver) {
        self.locked = transmission;
        self.locked_power = power;
        self.locked_end = end;
        self.collided = false;
        if receiver.reception == Reception::Sinr {
            let bits = self.bits.get_or_insert_default();
            bits.airtime = frame.airtime;
            bits.rate = frame.rate;
            bits.success = 1.0;
            bits.counted_until = now;
            bits.detection = now + DETECTION;
            bits.detected = false;
        }
    }
}

fn attowatts(power: f64) -> u64 {
    (power * ATTO) as u64
}

#[cfg(test)]
mod tests;
