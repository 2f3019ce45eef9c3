use hopyard_engine::units::{Frequency, Rate};

use super::*;
use crate::params::Fault;

const MHZ: f64 = 1e6;

fn carrier(band: Band, megahertz: f64, guard: Guard) -> Carrier {
    Carrier { band, bandwidth: Frequency::new(megahertz * MHZ), guard }
}

fn named(carrier: Carrier, name: &str) -> &'static Mode {
    let name: Name = name.parse().expect("a name");
    let mut found = Mode::on(carrier).filter(|mode| mode.name() == name);
    let first = found.next().unwrap_or_else(|| panic!("{carrier:?} has {name}"));
    assert_eq!(found.next(), None, "one row");
    first
}

/// Times on the air in nanoseconds of frames with 1536, 76 and 14 bytes.
fn times(mode: &Mode) -> [u64; 3] {
    [1536, 76, 14].map(|bytes| mode.airtime(bytes).nanos())
}

#[test]
fn rates_follow_from_symbols() {
    assert_eq!(in_words(Mode::dsss()), "1, 2, 5.5 or 11 Mbps");
    for mode in &MODES {
        let bits = mode.symbols.0 * u64::from(mode.body.symbol_bits) * 1_000_000_000;
        assert_eq!(mode.rate().bps(), bits / mode.symbols.1.nanos(), "{mode:?}");
    }
    for mode in Mode::dsss() {
        for bytes in [0, 1, 14, 38, 1500, 2346] {
            assert_eq!(mode.airtime(bytes), mode.preamble + mode.rate().airtime(bytes), "{mode:?}");
        }
    }
}

#[test]
fn a_rate_without_a_row_is_refused_with_those_that_exist() {
    let of = |bps, preamble| Mode::of("rate", Rate::from_bps(bps), preamble).map(Mode::rate);
    assert_eq!(of(5_500_000, None), Ok(Rate::from_bps(5_500_000)));
    assert_eq!(of(6_000_000, None), Err(Fault::new("rate", "expected 1, 2, 5.5 or 11 Mbps, found 6 Mbps")));
    assert!(of(2_000_000, Some(Preamble::Short)).is_ok() && of(1_000_000, Some(Preamble::Short)).is_err());
}

#[test]
fn an_answer_is_not_faster_than_the_frame() {
    let of = |bps| Mode::of("rate", Rate::from_bps(bps), None).expect("a row");
    let basic = [of(1_000_000), of(5_500_000)];
    let answer = |bps| of(bps).answer(&basic).map(Mode::rate);
    assert_eq!(answer(11_000_000), Some(Rate::from_bps(5_500_000)));
    assert_eq!(answer(2_000_000), Some(Rate::from_bps(1_000_000)));
    assert_eq!(of(1_000_000).answer(&basic[1..]), None);
}

/// HT and VHT are answered as OFDM with the same modulation, and no form is answered in DSSS but DSSS.
#[test]
fn an_answer_is_in_ofdm() {
    let channel = carrier(Band::High, 20.0, Guard::Long);
    let mut basic: Vec<&Mode> = ["6 Mbps", "12 Mbps", "24 Mbps"].map(|name| named(channel, name)).to_vec();
    basic.extend(Mode::dsss());
    let answer = |carrier, name: &str| named(carrier, name).answer(&basic).map(|mode| mode.rate().bps() / 1_000_000);
    let by_mcs = [6, 12, 12, 24, 24, 24, 24, 24].map(Some);
    for streams in 0..4 {
        for (mcs, expected) in by_mcs.iter().enumerate() {
            let name = format!("mcs{}", 8 * streams + mcs);
            assert_eq!(answer(channel, &name), *expected);
        }
    }
    let wide = carrier(Band::High, 80.0, Guard::Short);
    assert_eq!(["vht-mcs1", "vht-mcs9-4ss"].map(|name| answer(wide, name)), [12, 24].map(Some));
    assert_eq!(["6 Mbps", "9 Mbps", "18 Mbps", "54 Mbps"].map(|name| answer(channel, name)), [6, 6, 12, 24].map(Some));
    assert_eq!(MODES[5].answer(&basic).map(Mode::rate), Some(MODES[5].rate()));
}

/// The times of ns-3.37's `tx-duration-test.cc`. It rounds no short guard intervals, and has no SIG-B.
#[test]
fn times_agree_with_those_of_ns3() {
    let us = |times: [u64; 3]| times.map(|time| time * 1000);
    let low = carrier(Band::Low, 20.0, Guard::Long);
    let high = carrier(Band::High, 20.0, Guard::Long);
    assert_eq!(times(named(high, "54 Mbps")), us([248, 32, 24]));
    assert_eq!(times(named(low, "54 Mbps")), us([254, 38, 30]));
    assert_eq!(times(named(high, "mcs7")), us([228, 48, 40]));
    assert_eq!(times(named(carrier(Band::High, 40.0, Guard::Long), "mcs7")), us([128, 44, 40]));
    // 1742.4, 126 and 57.6 us, of which the data are rounded up to 4 us.
    assert_eq!(times(named(carrier(Band::High, 20.0, Guard::Short), "mcs0")), us([1744, 128, 60]));
    assert_eq!(times(named(carrier(Band::High, 40.0, Guard::Short), "mcs7")), us([120, 44, 40]));
    // 4 us of SIG-B more, and the 4 bytes of a delimiter, which fit into the last symbol.
    assert_eq!(times(named(high, "vht-mcs8")), us([200, 52, 44]));
    assert_eq!(times(named(carrier(Band::High, 80.0, Guard::Long), "vht-mcs9")), us([72, 44, 44]));
    // Half and a quarter of the clock.
    let slow = |megahertz, rate| times(named(carrier(Band::High, megahertz, Guard::Long), rate));
    assert_eq!(slow(10.0, "27 Mbps"), us([496, 64, 48]));
    assert_eq!(slow(5.0, "13.5 Mbps"), us([992, 128, 96]));
}

/// The durations of frames of 200 modes and sizes against the formulas of the standard, written once more.
#[test]
fn durations_are_those_of_the_standard() {
    let carriers = |megahertz: u64| match megahertz {
        20 => 52,
        40 => 108,
        _ => 234,
    };
    // Coded bits of a carrier, and the code's rate in twelfths, by MCS.
    let mcs = [(1, 6), (2, 6), (2, 9), (4, 6), (4, 9), (6, 8), (6, 9), (6, 10), (8, 9), (8, 10)];
    let mut frames = 0;
    let mut state = 1_u64;
    let mut below = |limit: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % limit
    };
    while frames < 200 {
        let bytes = 14 + below(4000);
        let short = below(2) == 1;
        let guard = if short { Guard::Short } else { Guard::Long };
        let symbol = if short { 3600 } else { 4000 };
        let (band, extension) = if below(2) == 1 { (Band::Low, 6000) } else { (Band::High, 0) };
        let (name, channel, expected) = match below(3) {
            0 => {
                // §17.4.3: TXTIME = T_PREAMBLE + T_SIGNAL + T_SYM × ceil((16 + 8 LENGTH + 6) / N_DBPS).
                let (clock, band, extension) = match below(3) {
                    0 => (1, band, extension),
                    other => (2 * other, Band::High, 0),
                };
                let bits = [24, 36, 48, 72, 96, 144, 192, 216][below(8) as usize];
                let channel = carrier(band, 20.0 / clock as f64, Guard::Long);
                let symbols = (22 + 8 * bytes).div_ceil(bits);
                let rate = bits as f64 / 4.0 / clock as f64;
                (format!("{rate} Mbps"), channel, clock * (20_000 + 4000 * symbols) + extension)
            }
            1 => {
                // §19.4.3: mixed format; T_SYM × ceil(1.0 or 0.9 × N_SYM) with the short guard interval.
                let (index, megahertz) = (below(32), 20 * (1 + below(2)));
                let (coded, twelfths) = mcs[index as usize % 8];
                let streams = index / 8 + 1;
                let bits = carriers(megahertz) * streams * coded * twelfths / 12;
                let encoders = if bits * 1000 / symbol > if short { 350 } else { 320 } { 2 } else { 1 };
                let symbols = (16 + 8 * bytes + 6 * encoders).div_ceil(bits);
                let trainings = [1, 2, 4, 4][streams as usize - 1];
                let data = (symbols * symbol).div_ceil(4000) * 4000;
                let expected = (8 + 8 + 4 + 8 + 4 + 4 * trainings) * 1000 + data + extension;
                (format!("mcs{index}"), carrier(band, megahertz as f64, guard), expected)
            }
            _ => {
                // §21.4.3, with SIG-B, and the delimiter of 4 bytes before the only frame.
                let (index, streams, megahertz) = (below(10), 1 + below(4), [20, 40, 80][below(3) as usize]);
                let (coded, twelfths) = mcs[index as usize];
                if index == 9 && megahertz == 20 && streams != 3 || index == 6 && megahertz == 80 && streams == 3 {
                    continue;
                }
                let bits = carriers(megahertz) * streams * coded * twelfths / 12;
                let per_encoder = if short { 600 } else { 540 };
                let encoders = (bits * 1000).div_ceil(symbol * per_encoder);
                let symbols = (16 + 8 * (bytes + 4) + 6 * encoders).div_ceil(bits);
                let trainings = [1, 2, 4, 4][streams as usize - 1];
                let data = (symbols * symbol).div_ceil(4000) * 4000;
                let expected = (8 + 8 + 4 + 8 + 4 + 4 * trainings + 4) * 1000 + data;
                let channel = carrier(Band::High, megahertz as f64, guard);
                (format!("vht-mcs{index}-{streams}ss"), channel, expected)
            }
        };
        assert_eq!(named(channel, &name).airtime(bytes as u32).nanos(), expected, "{name} {channel:?} {bytes} B");
        frames += 1;
    }
}

/// Rates in units of 100 kb/s, as the standard's tables have them, and the modes that it has not.
#[test]
fn rates_are_those_of_the_standard() {
    let rate = |channel, name: &str| (named(channel, name).rate().bps() as f64 / 1e5).round() as u64;
    let on = |megahertz, guard| carrier(Band::High, megahertz, guard);
    let (long, short) = (Guard::Long, Guard::Short);
    let ht = |megahertz, guard| [0, 7, 15, 31].map(|mcs| rate(on(megahertz, guard), &format!("mcs{mcs}")));
    assert_eq!(ht(20.0, long), [65, 650, 1300, 2600]);
    assert_eq!(ht(20.0, short), [72, 722, 1444, 2889]);
    assert_eq!(ht(40.0, long), [135, 1350, 2700, 5400]);
    assert_eq!(ht(40.0, short), [150, 1500, 3000, 6000]);
    let vht = |megahertz, guard, name| rate(on(megahertz, guard), name);
    assert_eq!(vht(80.0, long, "vht-mcs9"), 3900);
    assert_eq!(vht(80.0, short, "vht-mcs9-4ss"), 17333);
    assert_eq!(vht(20.0, long, "vht-mcs9-3ss"), 2600);
    let missing = |megahertz, name: &str| {
        let name = name.parse::<Name>().expect("a name");
        Mode::on(on(megahertz, long)).all(|mode| mode.name() != name)
    };
    assert!(["vht-mcs9-1ss", "vht-mcs9-2ss", "vht-mcs9-4ss", "mcs32"].iter().all(|name| missing(20.0, name)));
    assert!(["vht-mcs6-3ss", "mcs0", "6 Mbps"].iter().all(|name| missing(80.0, name)));
    assert!(["vht-mcs0-5ss", "vht-mcs10-1ss"].iter().all(|name| missing(40.0, name)));
    assert_eq!(in_words(Mode::on(on(5.0, long))), "1.5, 2.25, 3, 4.5, 6, 9, 12 or 13.5 Mbps");
}
