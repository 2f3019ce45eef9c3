//! Bit errors of 802.11 DSSS, HR-DSSS, OFDM, HT and VHT by signal to noise ratio.
//!
//! OFDM, HT and VHT: see `ofdm`. Error rates of a file: see `measured`. The rest of this page is about DSSS.
//!
//! Read: DBPSK, Proakis, Digital Communications, 4th edition, eq. 5.2-69; DQPSK, Ferrari and Corazza, Electronics
//! Letters 40 (2004) 1284, eq. 8; CCK, Pursley and Royster, IEEE Trans. Communications 57 (2009) 440, eq. 17 and 18.
//! Both CCK rates send biorthogonal signals: a symbol is one of 16 signals at 5.5 Mb/s, and two of 16, each with half
//! of the energy, at 11 Mb/s.
//!
//! As ns-3's DSSS model does, the CCK detector is given half of the symbol's energy (3 dB) against ideal coherent
//! detection, so that both simulators' receivers are alike. The CCK rates are computed from the integral. ns-3 has
//! polynomials for builds without a numerical library, which are about 3 dB away from this integral. Left out: fading
//! within a chunk, and any correlation of bit errors. Validated against values integrated with another program.

pub mod measured;
mod ofdm;

use std::sync::OnceLock;

use hopyard_engine::units::{Frequency, Power, Ratio};

use super::mode::{Coding, Modulation};

/// The noise of a receiver in a bandwidth: k·T·B at 290 K, raised by its noise figure.
#[must_use]
pub fn thermal_noise(noise_figure: Ratio, bandwidth: Frequency) -> Power {
    const BOLTZMANN: f64 = 1.380_649e-23;
    const TEMPERATURE: f64 = 290.0;
    Power::from_watts(BOLTZMANN * TEMPERATURE * bandwidth.hertz() * noise_figure.factor())
}

/// The probability that `bits` bits arrive without an error while signal over noise and interference, in the band of
/// the signal, is `sinr` (a factor).
#[must_use]
pub fn chunk_success(coding: &Coding, sinr: f64, bits: f64) -> f64 {
    libm::exp(bits * log_bit_success(coding, sinr))
}

/// The natural logarithm of the probability that a bit is right.
fn log_bit_success(coding: &Coding, sinr: f64) -> f64 {
    // Energy over noise density, of a bit, and of a symbol less the 3 dB of the CCK detector.
    let bit = || sinr * coding.bandwidth.hertz() / coding.rate.bps() as f64;
    let symbol = || {
        let symbols = coding.rate.bps() as f64 / f64::from(coding.symbol_bits);
        sinr * coding.bandwidth.hertz() / symbols / 2.0
    };
    match coding.modulation {
        Modulation::Dbpsk => libm::log1p(-dbpsk(bit())),
        Modulation::Dqpsk => libm::log1p(-dqpsk(bit())),
        // Four bits a symbol.
        Modulation::Cck5 => libm::log1p(-biorthogonal_16(symbol())) / 4.0,
        // Eight bits a symbol, which is right if both halves are.
        Modulation::Cck11 => libm::log1p(-biorthogonal_16(symbol() / 2.0)) / 4.0,
        Modulation::Ofdm(points, code) => {
            libm::log1p(-ofdm::first_event(points, code, sinr)) / f64::from(coding.streams)
        }
    }
}

/// Bit error rate of DBPSK at this energy of a bit over noise density.
fn dbpsk(energy: f64) -> f64 {
    0.5 * libm::exp(-energy)
}

/// Bit error rate of DQPSK: an approximation for high ratios. Below -13 dB it would exceed one half, so it is limited
/// to one half.
fn dqpsk(energy: f64) -> f64 {
    use std::f64::consts::{PI, SQRT_2};
    let rate = (SQRT_2 + 1.0) / libm::sqrt(8.0 * PI * SQRT_2 * energy) * libm::exp(-(2.0 - SQRT_2) * energy);
    rate.min(0.5)
}

/// Steps of the table of symbol errors, in energy over noise density.
const STEP: f64 = 0.25;
/// Entries of the table; beyond the last one an error is rarer than once in 10^17 symbols.
const ENTRIES: usize = 322;

/// The symbol error rate of 16 biorthogonal signals at this energy over noise density.
fn biorthogonal_16(energy: f64) -> f64 {
    static TABLE: OnceLock<Vec<f64>> = OnceLock::new();
    let table = TABLE.get_or_init(|| (0..ENTRIES).map(|i| libm::log(integrate_16(i as f64 * STEP))).collect());
    let place = energy.max(0.0) / STEP;
    let index = (place as usize).min(ENTRIES - 2);
    let (low, high) = (table[index], table[index + 1]);
    // Beyond the table the last slope is continued: the logarithm is almost a straight line there.
    libm::exp(low + (high - low) * (place - index as f64))
}

/// The integral behind [`biorthogonal_16`]: one minus the probability that the right one of eight correlators is the
/// largest in magnitude and has the right sign. It is 1 - ∫ (2Φ(x+β)-1)^7 φ(x) dx over x > -β, with β² twice the
/// energy.
fn integrate_16(energy: f64) -> f64 {
    const DX: f64 = 0.125;
    const SQRT_TAU_INVERSE: f64 = 0.398_942_280_401_432_7;
    let beta = libm::sqrt(2.0 * energy);
    // The integral is over the error itself and not over its complement, so that small values stay exact. Its integrand
    // is smooth and vanishes at both ends, so that the trapezoid rule is as good as any (Trefethen and Weideman 2014).
    let sum: f64 = (-120..=80)
        .map(|i| {
            let x = f64::from(i) * DX;
            let other = libm::erfc((x + beta) * std::f64::consts::FRAC_1_SQRT_2);
            let error = if other >= 1.0 { 1.0 } else { -libm::expm1(7.0 * libm::log1p(-other)) };
            error * libm::exp(-0.5 * x * x)
        })
        .sum();
    sum * DX * SQRT_TAU_INVERSE
}

#[cfg(test)]
mod tests {
    use super::super::mode::{DSSS_BANDWIDTH, MODES};
    use super::*;

    /// The codings of 1, 2, 5.5 and 11 Mb/s.
    fn codings() -> [&'static Coding; 4] {
        [0, 1, 3, 5].map(|row: usize| &MODES[row].body)
    }

    /// Energy over noise density, symbol error rate (mpmath 1.3, 25 digits).
    const INTEGRALS: &[(f64, f64)] = &[
        (0.5, 7.36884778517e-1),
        (1.0, 6.04346158954e-1),
        (2.0, 4.00046813261e-1),
        (4.0, 1.64480971581e-1),
        (5.6, 7.7468046463e-2),
        (8.0, 2.39987977407e-2),
        (12.0, 3.19765243074e-3),
        (16.0, 4.11101752446e-4),
        (24.0, 6.61859481621e-6),
        (40.0, 1.77572926471e-9),
        (72.3, 1.29392647327e-16),
    ];
    /// For 1, 2, 5.5 and 11 Mb/s.
    const HALF_SUCCESS: [f64; 4] = [-4.037, 0.493, 3.112, 6.122];

    fn close(found: f64, expected: f64, relative: f64) -> bool {
        (found / expected - 1.0).abs() < relative
    }

    #[test]
    fn noise_is_that_of_the_link_budget() {
        // -174 dBm/Hz + 10 log10(22 MHz) + 7 dB.
        let noise = thermal_noise(Ratio::from_db(7.0), DSSS_BANDWIDTH);
        assert!((noise.dbm() + 93.55).abs() < 0.05, "{} dBm", noise.dbm());
    }

    #[test]
    fn symbol_errors_agree_with_an_independent_integral() {
        // Adaptive quadrature in 25 digits of φ(x)·(1-(1-erfc((x+β)/√2))^7) from -β on, plus Φ(-β).
        for (energy, expected) in INTEGRALS {
            assert!(close(integrate_16(*energy), *expected, 1e-6), "{} at {energy}", integrate_16(*energy));
            assert!(close(biorthogonal_16(*energy), *expected, 5e-3), "{} at {energy}", biorthogonal_16(*energy));
        }
    }

    #[test]
    fn one_signal_of_sixteen_is_guessed_right_without_energy() {
        assert!(close(integrate_16(0.0), 15.0 / 16.0, 1e-9), "{}", integrate_16(0.0));
    }

    #[test]
    fn symbol_errors_approach_the_union_bound() {
        // Fourteen neighbours at √2 of the energy's root: 14 Q(√(Es/N0)); the antipode is far.
        for energy in [30.0, 60.0] {
            let bound = 7.0 * libm::erfc(libm::sqrt(energy / 2.0));
            assert!(close(biorthogonal_16(energy), bound, 0.02), "{}", biorthogonal_16(energy));
        }
    }

    #[test]
    fn slow_rates_withstand_more() {
        for db in -12..16 {
            let sinr = libm::pow(10.0, f64::from(db) / 10.0);
            let success = codings().map(|coding| chunk_success(coding, sinr, 8192.0));
            assert!(success.windows(2).all(|pair| pair[0] >= pair[1]), "{success:?} at {db} dB");
            assert!(success.iter().all(|p| (0.0..=1.0).contains(p)));
        }
    }

    #[test]
    fn a_kilobyte_needs_its_signal_to_noise_ratio() {
        // Where half of all 1024-byte frames arrive, in dB, by bisection of the formulas in another program.
        for (coding, expected) in codings().into_iter().zip(HALF_SUCCESS) {
            let success = |db: f64| chunk_success(coding, libm::pow(10.0, db / 10.0), 8192.0);
            assert!(success(expected - 0.02) < 0.5 && success(expected + 0.02) > 0.5, "{coding:?}");
        }
    }

    #[test]
    fn chunks_multiply() {
        let [slowest, .., fastest] = codings();
        let whole = chunk_success(fastest, 4.0, 1000.0);
        let parts = chunk_success(fastest, 4.0, 300.0) * chunk_success(fastest, 4.0, 700.0);
        assert!(close(parts, whole, 1e-12));
        assert!(close(chunk_success(slowest, 0.0, 8.0), 1.0 / 256.0, 1e-12));
        assert_eq!(chunk_success(fastest, 1e4, 12_000.0), 1.0);
    }
}
