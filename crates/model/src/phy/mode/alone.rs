//! The mode of a radio that has one rate of its own, which is no rate of 802.11.
//!
//! A symbol is one bit of DBPSK, and the bandwidth has as many hertz as the rate has bits a second. So the ratio of
//! signal to noise equals the energy of a bit divided by the noise density. Noise is proportional to the rate: at
//! 64 kb/s it is 15 dB weaker than at 2 Mb/s. Bit errors are those of the formula for DBPSK in `error_rate` (Proakis
//! 2001, eq. 5.2-69). The header has as many bits as its time allows at the rate, and at most the 48 of DSSS. Left out:
//! codes, and everything else by which radios of one rate differ.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use hopyard_engine::Span;
use hopyard_engine::units::{Frequency, Rate};

use super::row::{Coding, Format, Guard, Mode, Modulation, Preamble};
use super::table::{MODES, error_free};

/// The bits of the header of DSSS (IEEE Std 802.11-2016 §16.2.2.3), all of which must be right.
const HEADER_BITS: f64 = 48.0;

impl Mode {
    /// The mode of a radio whose only rate is this. The preamble with the header takes this time, which is a parameter
    /// of the radio and not in the mode.
    #[must_use]
    pub fn alone(rate: Rate, preamble: Span) -> Self {
        let bandwidth = Frequency::new(rate.bps() as f64);
        let modulation = Modulation::Dbpsk;
        let bits =
            Coding { modulation, rate, symbol_bits: 1, streams: 1, bandwidth, error_free: error_free(modulation) };
        // The header's bits fill its time. Each has the errors of a bit of the body, so its band is as narrow.
        let share = (HEADER_BITS / (preamble.seconds() * rate.bps() as f64)).min(1.0);
        let slower = Rate::from_bps((rate.bps() as f64 * share) as u64);
        let header = Coding { rate: slower, bandwidth: Frequency::new(slower.bps() as f64), ..bits };
        Self {
            // Behind the rows of the table. A channel has one such mode.
            row: MODES.len() as u16,
            format: Format::Dsss(Preamble::Long),
            guard: Guard::Long,
            body: bits,
            header,
            preamble: Span::ZERO,
            training: (Span::ZERO, Span::ZERO),
            symbols: (rate.bps(), Span::from_secs(1)),
            granule: 1,
            extra_bits: 0,
            extension: Span::ZERO,
        }
    }

    /// The same mode for frames, which keep no mode of their own. Each is kept once in a process.
    #[must_use]
    pub fn kept_alone(rate: Rate, preamble: Span) -> &'static Self {
        static KEPT: Mutex<BTreeMap<(Rate, Span), &'static Mode>> = Mutex::new(BTreeMap::new());
        let mut kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
        kept.entry((rate, preamble)).or_insert_with(|| Box::leak(Box::new(Self::alone(rate, preamble))))
    }
}

#[cfg(test)]
mod tests {
    use hopyard_engine::units::Ratio;

    use super::*;
    use crate::phy::error_rate::{chunk_success, thermal_noise};

    const PREAMBLE: Span = Span::from_micros(192);

    #[test]
    fn a_frame_takes_the_time_of_its_bits() {
        for (bps, bytes, nanos) in [(64_000, 1536, 192_000_000), (3, 1, 2_666_666_667), (1_000_000_000, 125, 1000)] {
            assert_eq!(
                Mode::alone(Rate::from_bps(bps), Span::ZERO).airtime(bytes),
                Span::from_nanos(nanos),
                "{bps} bit/s"
            );
        }
    }

    #[test]
    fn errors_are_those_of_a_bit_s_energy() {
        let kept = || Mode::kept_alone(Rate::from_bps(64_000), PREAMBLE);
        let mode = kept();
        // kTB of 64 kHz is -125.9 dBm.
        assert!((thermal_noise(Ratio::from_db(7.0), mode.body.bandwidth).dbm() + 118.9).abs() < 0.05);
        for db in [0.0, 5.0, 9.0] {
            let energy = Ratio::from_db(db).factor();
            let expected = libm::pow(1.0 - 0.5 * libm::exp(-energy), 8000.0);
            assert!((chunk_success(&mode.body, energy, 8000.0) - expected).abs() < 1e-9, "{db} dB");
        }
        assert!(std::ptr::eq(mode, kept()));
    }

    #[test]
    fn a_header_has_at_most_the_bits_of_dsss() {
        for (bps, bits) in [(64_000, 12.288), (250_000, 48.0), (5_000_000, 48.0), (1_000_000_000, 48.0)] {
            let header = Mode::alone(Rate::from_bps(bps), PREAMBLE).header;
            assert!((header.rate.bps() as f64 * PREAMBLE.seconds() - bits).abs() < 1e-6, "{bps} bit/s");
            // A bit of the header is as often wrong as one of the body.
            let expected = libm::pow(1.0 - 0.5 * libm::exp(-9.0), bits);
            assert!((chunk_success(&header, 9.0, bits) - expected).abs() < 1e-9, "{bps} bit/s");
        }
        assert_eq!(Mode::alone(Rate::from_bps(64_000), Span::ZERO).header.rate, Rate::from_bps(64_000));
    }
}
