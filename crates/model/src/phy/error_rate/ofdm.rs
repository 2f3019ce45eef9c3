//! Bit errors of OFDM with the convolutional code, by the "NIST" model.
//!
//! Read: Pei and Henderson, Validation of OFDM error rate model in ns-3 (2010). The model is the union bound of the
//! code with hard decisions. The weights of the code and of its punctured forms come from the papers that Pei and
//! Henderson cite. ns-3's `NistErrorRateModel` computes the same.
//!
//! Every carrier has the ratio of signal to noise of the frame, so that neither bandwidth nor guard interval changes
//! the errors. Every spatial stream has this ratio too, and all streams of a frame arrive or none: errors are drawn for
//! the bits of one stream. Left out: correlation of errors within a frame, and frequency-selective channels.

use crate::phy::mode::{CodeRate, Constellation};

/// The error rate of coded bits at a ratio of signal to noise in each carrier, with Gray coding.
fn coded_bits(points: Constellation, sinr: f64) -> f64 {
    let error = |factor: f64, scale: f64| factor * libm::erfc(libm::sqrt(sinr / scale));
    match points {
        Constellation::Bpsk => error(0.5, 1.0),
        Constellation::Qpsk => error(0.5, 2.0),
        Constellation::Qam16 => error(3.0 / 8.0, 10.0),
        Constellation::Qam64 => error(7.0 / 24.0, 42.0),
        Constellation::Qam256 => error(15.0 / 64.0, 170.0),
    }
}

/// The weights of the code: data bits a step of the decoder, the distance of the nearest wrong path, the step from
/// one distance to the next, and the bits in error over all paths of each distance.
const fn weights(code: CodeRate) -> (f64, u32, u32, &'static [f64]) {
    match code {
        CodeRate::Half => (
            1.0,
            10,
            2,
            &[36.0, 211.0, 1404.0, 11_633.0, 77_433.0, 502_690.0, 3_322_763.0, 21_292_910.0, 134_365_911.0],
        ),
        CodeRate::TwoThirds => {
            (2.0, 6, 1, &[3.0, 70.0, 285.0, 1276.0, 6160.0, 27_128.0, 117_019.0, 498_860.0, 2_103_891.0, 8_784_123.0])
        }
        CodeRate::ThreeQuarters => (
            3.0,
            5,
            1,
            &[
                42.0,
                201.0,
                1492.0,
                10_469.0,
                62_935.0,
                379_644.0,
                2_253_373.0,
                13_073_811.0,
                75_152_755.0,
                428_005_675.0,
            ],
        ),
        CodeRate::FiveSixths => (
            5.0,
            4,
            1,
            &[
                92.0,
                528.0,
                8694.0,
                79_453.0,
                792_114.0,
                7_375_573.0,
                67_884_974.0,
                610_875_423.0,
                5_427_275_376.0,
                47_664_215_639.0,
            ],
        ),
    }
}

/// The probability that the decoder errs at a bit: the union bound over wrong paths, each with the Chernoff bound.
pub(super) fn first_event(points: Constellation, code: CodeRate, sinr: f64) -> f64 {
    let p = coded_bits(points, sinr);
    let chernoff = libm::sqrt(4.0 * p * (1.0 - p));
    let (bits, nearest, step, weights) = weights(code);
    let ratio = power(chernoff, step);
    let sum = weights.iter().rev().fold(0.0, |sum, weight| sum * ratio + weight);
    (sum * power(chernoff, nearest) / (2.0 * bits)).min(1.0)
}

fn power(base: f64, exponent: u32) -> f64 {
    (0..exponent).fold(1.0, |power, _| power * base)
}

#[cfg(test)]
mod tests {
    use hopyard_engine::units::{Frequency, Ratio};

    use super::super::{chunk_success, thermal_noise};
    use crate::phy::mode::{Band, Carrier, Guard, Mode, Name};

    fn mode(name: &str, megahertz: f64) -> &'static Mode {
        let carrier = Carrier { band: Band::High, bandwidth: Frequency::new(megahertz * 1e6), guard: Guard::Long };
        let name: Name = name.parse().expect("a name");
        Mode::on(carrier).find(|mode| mode.name() == name).expect("a row")
    }

    fn success(mode: &Mode, db: f64, bits: f64) -> f64 {
        chunk_success(&mode.body, Ratio::from_db(db).factor(), bits)
    }

    /// The probability that 2000 bytes arrive: ns-3.37's `wifi-error-rate-models-test.cc`.
    #[test]
    fn ns3_has_the_same_probabilities() {
        for (rate, db, expected) in [
            ("6 Mbps", 3.0, 0.020),
            ("6 Mbps", 4.0, 0.885),
            ("6 Mbps", 5.0, 0.997),
            ("9 Mbps", 6.0, 0.097),
            ("9 Mbps", 7.0, 0.918),
            ("12 Mbps", 6.0, 0.0174),
            ("12 Mbps", 7.0, 0.881),
            ("18 Mbps", 9.5, 0.623),
            ("18 Mbps", 10.5, 0.985),
            ("24 Mbps", 13.0, 0.495),
            ("24 Mbps", 14.0, 0.974),
            ("36 Mbps", 15.5, 0.012),
            ("36 Mbps", 16.5, 0.818),
            ("48 Mbps", 21.0, 0.649),
            ("48 Mbps", 22.0, 0.983),
            ("54 Mbps", 22.0, 0.410),
            ("54 Mbps", 23.0, 0.958),
        ] {
            let found = success(mode(rate, 20.0), db, 16_000.0);
            assert!((found - expected).abs() < 0.0006, "{rate} at {db} dB: {found} for {expected}");
        }
        // 2 ms of HT, with one stream and with two.
        for (name, bits) in [("mcs0", 13_000.0), ("mcs8", 26_000.0)] {
            let found = success(mode(name, 20.0), 4.0, bits);
            assert!((found - 0.905_685).abs() < 1e-6, "{name}: {found}");
        }
    }

    /// The ratios in dB at which half, 90 % and 99 % of frames of 1000 bytes arrive, computed by another program.
    #[test]
    fn frames_of_1000_bytes_arrive_from_their_ratios_on() {
        for (name, ratios) in [
            ("6 Mbps", [3.30, 3.85, 4.48]),
            ("9 Mbps", [6.16, 6.73, 7.41]),
            ("12 Mbps", [6.31, 6.86, 7.49]),
            ("18 Mbps", [9.17, 9.74, 10.42]),
            ("24 Mbps", [12.78, 13.38, 14.08]),
            ("36 Mbps", [15.88, 16.48, 17.19]),
            ("48 Mbps", [20.62, 21.23, 21.94]),
            ("54 Mbps", [21.85, 22.49, 23.23]),
            ("mcs7", [23.01, 23.65, 24.39]),
            ("vht-mcs8", [27.68, 28.35, 29.12]),
            ("vht-mcs9-3ss", [28.90, 29.56, 30.33]),
        ] {
            let mode = mode(name, 20.0);
            let bits = 8000.0 * f64::from(mode.body.streams);
            for (db, expected) in ratios.into_iter().zip([0.5, 0.9, 0.99]) {
                let (less, more) = (success(mode, db - 0.01, bits), success(mode, db + 0.01, bits));
                assert!(less < expected && expected < more, "{name} at {db} dB: {less} to {more} for {expected}");
            }
        }
    }

    #[test]
    fn noise_follows_the_bandwidth() {
        for (megahertz, expected) in [(5.0, -99.99), (10.0, -96.97), (20.0, -93.97), (40.0, -90.96), (80.0, -87.94)] {
            let noise = thermal_noise(Ratio::from_db(7.0), Frequency::new(megahertz * 1e6));
            assert!((noise.dbm() - expected).abs() < 0.01, "{megahertz} MHz: {} dBm", noise.dbm());
        }
    }
}
