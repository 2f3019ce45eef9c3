//! The rows of the table of modes.

use hopyard_engine::Span;
use hopyard_engine::units::{Frequency, Rate};

use super::row::{CodeRate, Coding, Constellation, DSSS_BANDWIDTH, Format, Guard, Mode, Modulation, Preamble};

/// The number of rows: DSSS; OFDM of 20 MHz in each band, of 10 and of 5 MHz; HT in each band, of each bandwidth and
/// guard interval; VHT of each bandwidth and guard interval, where 20 MHz lacks three modes, and 80 MHz one.
const ROWS: usize = 7 + 8 * 4 + 32 * 2 * 2 * 2 + (3 * 40 - 4) * 2;

/// Every mode. Those of DSSS come first; of equal rates, the mode with the long preamble comes first. A frame at 1 Mb/s
/// has the long one (802.11b §18.2.2.2).
pub static MODES: [Mode; ROWS] = rows();

use CodeRate::{FiveSixths, Half, ThreeQuarters, TwoThirds};
use Constellation::{Bpsk, Qam16, Qam64, Qam256, Qpsk};

/// Modulation and code of OFDM, from 6 to 54 Mb/s at 20 MHz (IEEE Std 802.11-2016 Table 17-4).
const OFDM: [(Constellation, CodeRate); 8] = [
    (Bpsk, Half),
    (Bpsk, ThreeQuarters),
    (Qpsk, Half),
    (Qpsk, ThreeQuarters),
    (Qam16, Half),
    (Qam16, ThreeQuarters),
    (Qam64, TwoThirds),
    (Qam64, ThreeQuarters),
];

/// Modulation and code of each MCS of VHT; HT has the first eight (IEEE Std 802.11-2016 §19.5, §21.5).
const MCS: [(Constellation, CodeRate); 10] = [
    (Bpsk, Half),
    (Qpsk, Half),
    (Qpsk, ThreeQuarters),
    (Qam16, Half),
    (Qam16, ThreeQuarters),
    (Qam64, TwoThirds),
    (Qam64, ThreeQuarters),
    (Qam64, FiveSixths),
    (Qam256, ThreeQuarters),
    (Qam256, FiveSixths),
];

/// The signal extension of the 2.4 GHz band (IEEE Std 802.11-2016 §18.3.2.4).
const EXTENSION: Span = Span::from_micros(6);

const fn rows() -> [Mode; ROWS] {
    const CHIPS: u64 = 11;
    // 11 Mchip/s in words of 8 chips (802.11b §18.4.6.5).
    let cck = (CHIPS, 8);
    let first = dsss(Modulation::Dbpsk, 1, (1, 1), Preamble::Long);
    let mut table = Table { rows: [first; ROWS], count: 1 };
    table.add(dsss(Modulation::Dqpsk, 2, (1, 1), Preamble::Long));
    table.add(dsss(Modulation::Dqpsk, 2, (1, 1), Preamble::Short));
    table.add(dsss(Modulation::Cck5, 4, cck, Preamble::Long));
    table.add(dsss(Modulation::Cck5, 4, cck, Preamble::Short));
    table.add(dsss(Modulation::Cck11, 8, cck, Preamble::Long));
    table.add(dsss(Modulation::Cck11, 8, cck, Preamble::Short));
    table.add_ofdm(1, EXTENSION);
    table.add_ofdm(1, Span::ZERO);
    table.add_ofdm(2, Span::ZERO);
    table.add_ofdm(4, Span::ZERO);
    let bandwidths = [20, 40, 80];
    let mut which = 0;
    while which < 2 * bandwidths.len() {
        let bandwidth = bandwidths[which / 2];
        let guard = if which.is_multiple_of(2) { Guard::Long } else { Guard::Short };
        if bandwidth < 80 {
            table.add_ht(bandwidth, guard, EXTENSION);
            table.add_ht(bandwidth, guard, Span::ZERO);
        }
        table.add_vht(bandwidth, guard);
        which += 1;
    }
    assert!(table.count == ROWS);
    table.rows
}

struct Table {
    rows: [Mode; ROWS],
    count: usize,
}

impl Table {
    const fn add(&mut self, mode: Mode) {
        self.rows[self.count] = Mode { row: self.count as u16, ..mode };
        self.count += 1;
    }

    const fn add_ofdm(&mut self, divisor: u32, extension: Span) {
        let mut index = 0;
        while index < OFDM.len() {
            self.add(ofdm(OFDM[index], divisor, extension));
            index += 1;
        }
    }

    const fn add_ht(&mut self, bandwidth: u32, guard: Guard, extension: Span) {
        let mut mcs = 0;
        while mcs < 32 {
            let streams = mcs / 8 + 1;
            let bits = bits(MCS[mcs as usize % 8], bandwidth, streams);
            let (Some(bits), format) = (bits, Format::Ht { mcs }) else { panic!("HT has every MCS") };
            // One encoder up to 320 Mb/s (IEEE Std 802.11-2016 §19.5).
            let encoders = bits.div_ceil(1280);
            self.add(mimo(format, MCS[mcs as usize % 8], (bandwidth, guard, streams), (bits, encoders), extension));
            mcs += 1;
        }
    }

    const fn add_vht(&mut self, bandwidth: u32, guard: Guard) {
        let mut which = 0;
        while which < 40 {
            let (streams, mcs) = (which / 10 + 1, which % 10);
            if let Some(bits) = bits(MCS[mcs as usize], bandwidth, streams) {
                // An encoder for each 540 Mb/s. The bits of a symbol must be whole, and the same for each encoder
                // (§21.5).
                let encoders = bits.div_ceil(2160);
                if bits.is_multiple_of(encoders) {
                    let format = Format::Vht { mcs, streams };
                    let channel = (bandwidth, guard, streams);
                    self.add(mimo(format, MCS[mcs as usize], channel, (bits, encoders), Span::ZERO));
                }
            }
            which += 1;
        }
    }
}

/// A mode of DSSS with so many bits in a symbol, and so many symbols in so many microseconds.
const fn dsss(modulation: Modulation, symbol_bits: u32, symbols: (u64, u64), preamble: Preamble) -> Mode {
    let symbols = (symbols.0, Span::from_micros(symbols.1));
    Mode {
        row: 0,
        format: Format::Dsss(preamble),
        guard: Guard::Long,
        body: coding(modulation, symbol_bits, symbols, 1, DSSS_BANDWIDTH),
        header: coding(Modulation::Dbpsk, 1, (1, Span::from_micros(1)), 1, DSSS_BANDWIDTH),
        preamble: preamble.span(),
        training: (Span::ZERO, Span::ZERO),
        symbols,
        granule: 1,
        extra_bits: 0,
        extension: Span::ZERO,
    }
}

/// A mode of OFDM whose clock is 20 MHz divided by `divisor`.
const fn ofdm(coded: (Constellation, CodeRate), divisor: u32, extension: Span) -> Mode {
    let clock = divisor as u64;
    let bandwidth = Frequency::new(20e6 / divisor as f64);
    let symbol = Span::from_micros(4 * clock);
    let Some(symbol_bits) = bits_of(coded, 48) else { panic!("every rate has whole bits") };
    Mode {
        row: 0,
        format: Format::Ofdm,
        guard: Guard::Long,
        body: coding(Modulation::Ofdm(coded.0, coded.1), symbol_bits, (1, symbol), 1, bandwidth),
        header: coding(Modulation::Ofdm(Bpsk, Half), 24, (1, symbol), 1, bandwidth),
        // Two trainings of 8 us, and a symbol with the header (§17.3.2).
        preamble: Span::from_micros(20 * clock),
        training: (Span::from_micros(16 * clock), Span::ZERO),
        symbols: (1, symbol),
        granule: 1,
        // Service field and tail.
        extra_bits: 16 + 6,
        extension,
    }
}

/// A mode of HT in the mixed format, or of VHT.
const fn mimo(
    format: Format,
    coded: (Constellation, CodeRate),
    (megahertz, guard, streams): (u32, Guard, u8),
    (symbol_bits, encoders): (u32, u32),
    extension: Span,
) -> Mode {
    let bandwidth = Frequency::new(megahertz as f64 * 1e6);
    let symbol = Span::from_nanos(if matches!(guard, Guard::Long) { 4000 } else { 3600 });
    let header = Span::from_micros(4);
    // One training for each stream, but not three.
    let long_trainings = if streams == 3 { 4 } else { streams as u64 };
    // VHT has the field SIG-B too, and a delimiter before the only frame of its aggregate (§21.3.2, §10.13.7).
    let (sig_b, delimiter) = if matches!(format, Format::Vht { .. }) { (4, 32) } else { (0, 0) };
    let training = 4 + 4 * long_trainings + sig_b;
    Mode {
        row: 0,
        format,
        guard,
        body: coding(Modulation::Ofdm(coded.0, coded.1), symbol_bits, (1, symbol), streams, bandwidth),
        header: coding(Modulation::Ofdm(Bpsk, Half), 24, (1, header), 1, bandwidth),
        // Legacy training, legacy header and that of HT or VHT: 16, 4 and 8 us (§19.3.2).
        preamble: Span::from_micros(28 + training),
        training: (Span::from_micros(16), Span::from_micros(training)),
        symbols: (1, symbol),
        // With the short guard interval, the time of the body is a multiple of the long symbol's (§19.4.3).
        granule: if matches!(guard, Guard::Long) { 1 } else { 4000 },
        extra_bits: 16 + 6 * encoders as u64 + delimiter,
        extension,
    }
}

const fn coding(
    modulation: Modulation,
    symbol_bits: u32,
    (symbols, time): (u64, Span),
    streams: u8,
    bandwidth: Frequency,
) -> Coding {
    let rate = Rate::from_bps(symbol_bits as u64 * symbols * 1_000_000_000 / time.nanos());
    Coding { modulation, rate, symbol_bits, streams, bandwidth, error_free: error_free(modulation) }
}

/// See [`Coding::error_free`].
pub(super) const fn error_free(modulation: Modulation) -> f64 {
    match modulation {
        Modulation::Dbpsk | Modulation::Dqpsk | Modulation::Cck5 | Modulation::Cck11 => 100.0,
        Modulation::Ofdm(Bpsk | Qpsk, _) => 100.0,
        Modulation::Ofdm(Qam16, _) => 300.0,
        Modulation::Ofdm(Qam64, _) => 1260.0,
        Modulation::Ofdm(Qam256, _) => 5100.0,
    }
}

/// Data bits of a symbol, over all streams.
const fn bits(coded: (Constellation, CodeRate), megahertz: u32, streams: u8) -> Option<u32> {
    let carriers = match megahertz {
        20 => 52,
        40 => 108,
        _ => 234,
    };
    bits_of(coded, carriers * streams as u32)
}

/// Data bits of so many carriers; nothing if they are no whole number.
const fn bits_of((constellation, code): (Constellation, CodeRate), carriers: u32) -> Option<u32> {
    let (of, all) = code.ratio();
    let bits = carriers * constellation.bits() * of;
    if bits.is_multiple_of(all) { Some(bits / all) } else { None }
}
