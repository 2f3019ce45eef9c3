//! Reception with bit errors, which are drawn from the ratio of signal to noise and interference (SINR).
//!
//! Read: the error rates in `error_rate`, and ns-3's `ThresholdPreambleDetectionModel`, for how long a receiver
//! looks for a preamble. Left out: fading within a frame, and the energy that a receiver needs for its clock. Validated
//! by the cases in `tests`, and against ns-3.37 on the same scenarios.

use hopyard_engine::{Prefetch, Rng, Span, Time};

use super::receiver::{Begin, End, Lost, NONE, Radio, Receiver, Signals, Strength, Verdict};
use crate::phy::error_rate::chunk_success;
use crate::phy::error_rate::measured::CurveId;
use crate::phy::frame::{Fields, Frame, pieces};
use crate::phy::mode::{Coding, MODES, Mode};

/// How long a receiver looks at a signal before it decides whether this is a preamble: the value of ns-3's
/// `ThresholdPreambleDetectionModel`.
const DETECTION: Span = Span::from_micros(4);

/// A radio whose bit errors are drawn.
#[derive(Clone, Debug)]
#[repr(align(64))]
pub struct Sinr {
    /// The transmission being received.
    locked: u32,
    signals: Signals,
    locked_power: f64,
    /// When the frame being received ends here.
    locked_end: Time,
    /// When the radio's own transmission ends.
    sending_until: Time,
    /// Frames lost to another frame.
    collisions: u32,
    /// The transmission whose preamble was not found because of noise alone.
    unfound: u32,
    /// The bits of the frame being received; absent until the first frame.
    bits: Option<Box<Bits>>,
}

/// The bits of the frame being received.
#[derive(Clone, Debug)]
struct Bits {
    /// The probability that all bits up to `counted_until` are right.
    success: f64,
    counted_until: Time,
    /// When the receiver decides whether it has found the preamble.
    detection: Time,
    /// It has found the preamble.
    detected: bool,
    /// When the header begins and ends.
    header: (Time, Time),
    /// When the body begins and ends.
    body: (Time, Time),
    mode: &'static Mode,
    /// The bytes of the body.
    bytes: u32,
    /// The error rates of the body, if a file has them; then the header has none of its own.
    curve: Option<CurveId>,
    /// The ratio of signal to noise from which on no bit is wrong.
    error_free: f64,
    /// Thermal noise in the band of the frame, in watts.
    noise: f64,
    /// Another signal came with some of the bits.
    disturbed: bool,
    /// Frames lost to bit errors.
    errors: u64,
    /// The pieces of a frame that has several: when each ends, and the probability that its bits are right.
    pieces: Vec<(Time, f64)>,
}

impl Default for Bits {
    fn default() -> Self {
        Self {
            success: 1.0,
            counted_until: Time::ZERO,
            detection: Time::ZERO,
            detected: false,
            header: (Time::ZERO, Time::ZERO),
            body: (Time::ZERO, Time::ZERO),
            mode: &MODES[0],
            bytes: 0,
            curve: None,
            error_free: 0.0,
            noise: 0.0,
            disturbed: false,
            errors: 0,
            pieces: Vec::new(),
        }
    }
}

impl Default for Sinr {
    fn default() -> Self {
        Self {
            locked: NONE,
            signals: Signals::default(),
            locked_power: 0.0,
            locked_end: Time::ZERO,
            sending_until: Time::ZERO,
            collisions: 0,
            unfound: NONE,
            bits: None,
        }
    }
}

impl Prefetch for Sinr {
    #[inline]
    fn prefetch(&self, (): &()) -> u32 {
        self.locked
    }
}

impl Radio for Sinr {
    const COMPARES_POWERS: bool = true;
    const BIT_ERRORS: bool = true;

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
        end: Time,
        receiver: &Receiver<'_>,
        frame: &Frame<C>,
    ) -> Begin {
        self.count_bits(now, receiver);
        let Strength { is_decodable, is_strong } = self.signals.judge(power, receiver);
        if now < self.sending_until {
            // A radio that sends receives nothing. It senses the signal afterwards if the signal still lasts then.
        } else if is_strong {
            self.collisions += u32::from(self.locked != NONE);
            self.lock(transmission, power, (now, end), receiver, frame);
        } else if self.locked == NONE {
            if is_decodable {
                self.lock(transmission, power, (now, end), receiver, frame);
            }
        } else {
            // Until it has found a preamble, the receiver switches to a stronger frame.
            let deciding = self.bits.as_ref().is_some_and(|bits| now < bits.detection);
            if deciding && is_decodable && power > self.locked_power {
                self.collisions += 1;
                self.lock(transmission, power, (now, end), receiver, frame);
            }
        }
        if self.signals.count() == 1 { Begin::Busy } else { Begin::Nothing }
    }

    #[inline(always)]
    fn end(&mut self, transmission: u32, power: f64, now: Time, receiver: &Receiver<'_>, rng: &mut Rng) -> End {
        self.count_bits(now, receiver);
        self.signals.remove(power);
        let mut damaged = 0;
        let verdict = if self.locked != transmission {
            if self.unfound != transmission {
                Verdict::Missed
            } else {
                self.unfound = NONE;
                Verdict::Unfound
            }
        } else {
            self.locked = NONE;
            match self.has_bit_error(rng, &mut damaged) {
                false => Verdict::Decoded,
                true if self.bits.as_ref().is_some_and(|bits| bits.disturbed) => Verdict::Error,
                true => Verdict::Noise,
            }
        };
        End { verdict, idle: self.signals.count() == 0, others: self.signals.energy(), damaged }
    }

    fn lost(&self) -> Lost {
        let bit_errors = self.bits.as_ref().map_or(0, |bits| bits.errors);
        Lost { collisions: u64::from(self.collisions), bit_errors }
    }
}

impl Sinr {
    /// The probability that all bits up to `now` are right.
    #[cfg(test)]
    pub fn success(&mut self, now: Time, receiver: &Receiver<'_>) -> f64 {
        self.count_bits(now, receiver);
        self.bits.as_ref().expect("bits were counted").success
    }

    /// Draws whether a bit of the frame that has ended was wrong; in every piece, if it has several.
    fn has_bit_error(&mut self, rng: &mut Rng, damaged: &mut u64) -> bool {
        let bits = self.bits.get_or_insert_default();
        let mut error = bits.success < 1.0 && rng.uniform() >= bits.success;
        if !bits.pieces.is_empty() && !error {
            for (place, &(_, success)) in bits.pieces.iter().enumerate() {
                *damaged |= u64::from(success < 1.0 && rng.uniform() >= success) << place;
            }
            error = damaged.count_ones() as usize == bits.pieces.len();
        }
        bits.errors += u64::from(error);
        error
    }

    /// Counts the bits received since the last edge, during which interference was constant.
    #[inline]
    fn count_bits(&mut self, now: Time, receiver: &Receiver<'_>) {
        if self.locked != NONE {
            self.count_bits_until(now, receiver);
        }
    }

    fn count_bits_until(&mut self, now: Time, receiver: &Receiver<'_>) {
        let interference = self.signals.others(self.locked_power);
        let bits = self.bits.get_or_insert_default();
        let sinr = self.locked_power / (bits.noise + interference);
        if !bits.detected && now >= bits.detection {
            bits.detected = sinr >= receiver.preamble_sinr;
            if !bits.detected {
                // The receiver searches for a preamble again. No frame has begun since the time of the decision.
                if interference == 0.0 {
                    self.unfound = self.locked;
                }
                self.locked = NONE;
                bits.errors += u64::from(interference == 0.0);
                self.collisions += u32::from(interference > 0.0);
                return;
            }
        }
        bits.disturbed |= interference > 0.0;
        if sinr >= bits.error_free {
            bits.counted_until = now;
            return;
        }
        if !bits.pieces.is_empty() || bits.curve.is_some() {
            return bits.count_pieces(now, sinr, receiver);
        }
        let Mode { header, body, .. } = bits.mode;
        let begin = bits.counted_until;
        for (coding, from, until) in [
            (header, begin.max(bits.header.0), now.min(bits.header.1)),
            (body, begin.max(bits.body.0), now.min(bits.body.1)),
        ] {
            let count = until.since(from).seconds() * coding.rate.bps() as f64;
            if count > 0.0 {
                bits.success *= chunk_success(coding, sinr, count);
            }
        }
        bits.counted_until = bits.counted_until.max(now);
    }

    fn lock<C: Fields>(
        &mut self,
        transmission: u32,
        power: f64,
        (now, end): (Time, Time),
        receiver: &Receiver<'_>,
        frame: &Frame<C>,
    ) {
        self.locked = transmission;
        self.locked_power = power;
        self.locked_end = end;
        let bits = self.bits.get_or_insert_default();
        let (start, body) = (end - frame.airtime, end - frame.airtime + frame.preamble);
        let (before, behind) = frame.mode.training;
        bits.header = (start + before, body - behind);
        bits.body = (body, end - frame.mode.extension);
        bits.mode = frame.mode;
        bits.error_free = frame.mode.body.error_free;
        bits.noise = receiver.noise;
        bits.success = 1.0;
        bits.counted_until = now;
        bits.detection = now + DETECTION;
        bits.detected = false;
        bits.disturbed = false;
        let parts = frame.control.parts();
        bits.pieces.clear();
        bits.curve = None;
        if let Some(errors) = receiver.errors {
            let pieces_of = pieces(parts).last().map_or(1, |(last, _)| last + 1);
            bits.bytes = frame.bytes;
            bits.curve = errors.curve(frame.mode, frame.bytes / pieces_of);
            bits.error_free = bits.curve.map_or(bits.error_free, |curve| errors.error_free(curve));
        }
        if !parts.is_empty() {
            // Each piece takes the share of the body that it has of the bytes.
            let whole = bits.body.1.since(bits.body.0).nanos();
            for (piece, part) in pieces(parts) {
                let end = bits.body.0 + Span::from_nanos(whole * u64::from(part.end) / u64::from(frame.bytes));
                bits.pieces.truncate(piece as usize);
                bits.pieces.push((end, 1.0));
            }
        }
    }
}

impl Bits {
    /// Counts the bits up to `now` of a frame with several pieces, or with the error rates of a file. Those of the
    /// header count for all pieces.
    #[cold]
    fn count_pieces(&mut self, now: Time, sinr: f64, receiver: &Receiver<'_>) {
        let Mode { header, body, .. } = self.mode;
        let begin = self.counted_until;
        let measured = receiver.errors.zip(self.curve);
        let bytes_a_second = f64::from(self.bytes) / self.body.1.since(self.body.0).seconds();
        let success = |coding: &Coding, (from, until): (Time, Time), is_body: bool| {
            let seconds = now.min(until).since(begin.max(from)).seconds();
            match measured {
                _ if seconds <= 0.0 => 1.0,
                Some((errors, curve)) if is_body => errors.success(curve, sinr, seconds * bytes_a_second),
                Some(_) => 1.0,
                None => chunk_success(coding, sinr, seconds * coding.rate.bps() as f64),
            }
        };
        self.success *= success(header, self.header, false);
        if self.pieces.is_empty() {
            self.success *= success(body, self.body, true);
        }
        let mut from = self.body.0;
        for (until, of_piece) in &mut self.pieces {
            *of_piece *= success(body, (from, *until), true);
            from = *until;
        }
        self.counted_until = begin.max(now);
    }
}
