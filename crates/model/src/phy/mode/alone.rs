//! The mode of a radio that has one rate of its own, which is no rate of 802.11.
//!
//! A symbol is one bit of DBPSK, and the bandwidth has as many hertz as the rate has bits a second. So the ratio of
//! signal to noise equals the energy of a bit divided by the noise density. Noise is proportional to the rate: at
//! 64 kb/s it is 15 dB weaker than at 2 Mb/s. Bit errors are those of the formula for DBPSK in `error_rate` (Proakis
//! 2001, eq. 5.2-69). Left out: codes, and everything else by which radios of one rate differ.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use hopyard_engine::Span;
use hopyard_engine::units::{Frequency, Rate};

use super::row::{Coding, Format, Guard, Mode, Modulation, Preamble};
use super::table::{MODES, error_free};

impl Mode {
    /// The mode of a radio whose only rate is this. Its preamble is that of the radio.
    #[must_use]
    pub const fn alone(rate: Rate) -> Self {
        let bandwidth = Frequency::new(rate.bps() as f64);
        let modulation = Modulation::Dbpsk;
        let bits =
            Coding { modulation, rate, symbol_bits: 1, streams: 1, bandwidth, error_free: error_free(modulation) };
        Self {
            // Behind the rows of the table. A channel has one such mode.
            row: MODES.len() as u16,
            format: Format::Dsss(Preamble::Long),
            guard: Guard::Long,
            body: bits,
            header: bits,
            preamble: Span::ZERO,
            training: (Span::ZERO, Span::ZERO),
            symbols: (rate.bps(), Span::from_secs(1)),
            granule: 1,
            extra_bits: 0,
            extension: Span::ZERO,
        }
    }

    /// The same mode for frames, which keep no mode of their own. Each rate is kept once in a process.
    #[must_use]
    pub fn kept_alone(rate: Rate) -> &'static Self {
        static KEPT: Mutex<BTreeMap<Rate, &'static Mode>> = Mutex::new(BTreeMap::new());
        let mut kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
        kept.entry(rate).or_insert_with(|| Box::leak(Box::new(Self::alone(rate))))
    }
}

#[cfg(test)]
mod tests {
    use hopyard_engine::units::Ratio;

    use super::*;
    use crate::phy::error_rate::{chunk_success, thermal_noise};

    #[test]
    fn a_frame_takes_the_time_of_its_bits() {
        for (bps, bytes, nanos) in [(64_000, 1536, 192_000_000), (3, 1, 2_666_666_667), (1_000_000_000, 125, 1000)] {
            assert_eq!(Mode::alone(Rate::from_bps(bps)).airtime(bytes), Span::from_nanos(nanos), "{bps} bit/s");
        }
    }

    #[test]
    fn errors_are_those_of_a_bit_s_energy() {
        let mode = Mode::kept_alone(Rate::from_bps(64_000));
        // kTB of 64 kHz is -125.9 dBm.
        assert!((thermal_noise(Ratio::from_db(7.0), mode.body.bandwidth).dbm() + 118.9).abs() < 0.05);
        for db in [0.0, 5.0, 9.0] {
            let energy = Ratio::from_db(db).factor();
            let expected = libm::pow(1.0 - 0.5 * libm::exp(-energy), 8000.0);
            assert!((chunk_success(&mode.body, energy, 8000.0) - expected).abs() < 1e-9, "{db} dB");
        }
        assert!(std::ptr::eq(mode, Mode::kept_alone(Rate::from_bps(64_000))));
    }
}
