//! Modes: how the bits of a frame are sent. One table has all of them.
//!
//! The time of a frame on the air, its bit errors, the rate of its answer and its rate in a capture follow from its
//! mode. A rate of a scenario that is in no row is refused where the scenario is read.
//!
//! Read: IEEE Std 802.11-1999 §15 (DSSS), IEEE Std 802.11b-1999 §18 (HR-DSSS). Left out: the header behind a short
//! preamble is sent at 2 Mb/s (§18.2.2.2), and has the bit errors of 1 Mb/s.

use hopyard_engine::Span;
use hopyard_engine::units::{Frequency, Rate};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::params::Fault;

/// The preamble in front of every frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Preamble {
    /// 144 bits and a 48 bit header at 1 Mb/s: 192 us.
    Long,
    /// 72 bits at 1 Mb/s and a 48 bit header at 2 Mb/s: 96 us (802.11b §18.2.2.2).
    Short,
}

impl Preamble {
    /// The time that the preamble takes, with the header of the physical layer.
    #[must_use]
    pub const fn span(self) -> Span {
        match self {
            Self::Long => Span::from_micros(192),
            Self::Short => Span::from_micros(96),
        }
    }
}

/// Modulation and code of a frame's bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Modulation {
    /// DBPSK with the Barker sequence, 1 Mb/s.
    Dbpsk,
    /// DQPSK with the Barker sequence, 2 Mb/s.
    Dqpsk,
    /// Complementary code keying, 5.5 Mb/s.
    Cck5,
    /// Complementary code keying, 11 Mb/s.
    Cck11,
}

/// How a part of a frame is modulated and coded, from which its bit errors follow.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Coding {
    /// Modulation and code.
    pub modulation: Modulation,
    /// Data bits a second.
    pub rate: Rate,
    /// Data bits in a symbol.
    pub symbol_bits: u32,
    /// The bandwidth of the signal, in which noise is counted.
    pub bandwidth: Frequency,
}

/// A mode.
#[derive(Debug, PartialEq)]
pub struct Mode {
    /// The body, from the MAC header to the frame check sequence.
    pub body: Coding,
    /// Preamble and header of the physical layer.
    pub header: Coding,
    /// The time that preamble and header take.
    pub preamble: Span,
    /// So many symbols of the body take this time.
    pub symbols: (u64, Span),
    /// Bits of the physical layer in the body: the service field and the tail of OFDM.
    pub extra_bits: u64,
    /// The time after the body in which nothing is sent, and which belongs to the frame.
    pub extension: Span,
}

/// The bandwidth of a DSSS signal (IEEE Std 802.11-1999 §15.4.7.4).
pub const DSSS_BANDWIDTH: Frequency = Frequency::new(22e6);

/// Every mode: of equal rates, that with the long preamble comes first. A frame at 1 Mb/s has the long one
/// (802.11b §18.2.2.2).
pub static MODES: [Mode; 7] = [
    Mode::dsss(Modulation::Dbpsk, 1, (1, 1), Preamble::Long),
    Mode::dsss(Modulation::Dqpsk, 2, (1, 1), Preamble::Long),
    Mode::dsss(Modulation::Dqpsk, 2, (1, 1), Preamble::Short),
    // 11 Mchip/s in words of 8 chips (802.11b §18.4.6.5).
    Mode::dsss(Modulation::Cck5, 4, (11, 8), Preamble::Long),
    Mode::dsss(Modulation::Cck5, 4, (11, 8), Preamble::Short),
    Mode::dsss(Modulation::Cck11, 8, (11, 8), Preamble::Long),
    Mode::dsss(Modulation::Cck11, 8, (11, 8), Preamble::Short),
];

impl Coding {
    /// A signal of DSSS with so many bits in a symbol, and so many symbols in so many microseconds.
    const fn dsss(modulation: Modulation, symbol_bits: u32, (symbols, micros): (u64, u64)) -> Self {
        let rate = Rate::from_bps(symbol_bits as u64 * symbols * 1_000_000 / micros);
        Self { modulation, rate, symbol_bits, bandwidth: DSSS_BANDWIDTH }
    }
}

impl Mode {
    const fn dsss(modulation: Modulation, symbol_bits: u32, symbols: (u64, u64), preamble: Preamble) -> Self {
        Self {
            body: Coding::dsss(modulation, symbol_bits, symbols),
            header: Coding::dsss(Modulation::Dbpsk, 1, (1, 1)),
            preamble: preamble.span(),
            symbols: (symbols.0, Span::from_micros(symbols.1)),
            extra_bits: 0,
            extension: Span::ZERO,
        }
    }

    /// The mode of a rate, which the parameter of this name has, with a preamble; with the long one if none is given.
    ///
    /// # Errors
    /// When no row has the rate; the fault names the existing rates. When only the long preamble has it.
    pub fn of(parameter: &'static str, rate: Rate, preamble: Option<Preamble>) -> Result<&'static Self, Fault> {
        let mut rows = MODES.iter().filter(|mode| mode.rate() == rate);
        let Some(first) = rows.next() else {
            let rates: Vec<String> = Self::rates().iter().map(|rate| rate.to_string().replace(" Mbps", "")).collect();
            let (last, others) = rates.split_last().expect("the table has rows");
            let expected = format!("{} or {last} Mbps", others.join(", "));
            return Err(Fault::new(parameter, format!("expected {expected}, found {rate}")));
        };
        match preamble {
            Some(Preamble::Short) => {
                let short = rows.find(|mode| mode.has_short_preamble());
                short.ok_or_else(|| Fault::new(parameter, format!("a frame at {rate} has the long preamble")))
            }
            Some(Preamble::Long) | None => Ok(first),
        }
    }

    /// The rates of all modes, the slowest first.
    #[must_use]
    pub fn rates() -> Vec<Rate> {
        let mut rates: Vec<Rate> = MODES.iter().map(Self::rate).collect();
        rates.sort_unstable();
        rates.dedup();
        rates
    }

    /// Data bits a second.
    #[must_use]
    pub const fn rate(&self) -> Rate {
        self.body.rate
    }

    /// Whether the preamble is the short one of 802.11b.
    #[must_use]
    pub fn has_short_preamble(&self) -> bool {
        self.preamble == Preamble::Short.span()
    }

    /// The time that a body of so many bytes takes: whole symbols, rounded up to a nanosecond.
    #[must_use]
    pub const fn body(&self, bytes: u32) -> Span {
        let (count, time) = self.symbols;
        let symbols = (8 * bytes as u64 + self.extra_bits).div_ceil(self.body.symbol_bits as u64);
        Span::from_nanos((symbols * time.nanos()).div_ceil(count) + self.extension.nanos())
    }

    /// The time on the air of a frame whose body has so many bytes.
    #[must_use]
    pub const fn airtime(&self, bytes: u32) -> Span {
        Span::from_nanos(self.preamble.nanos() + self.body(bytes).nanos())
    }

    /// The mode of the answer to a frame in this mode: the fastest of the basic ones that is not faster than the frame
    /// (IEEE 802.11-1999 §9.6).
    #[must_use]
    pub fn answer(&self, basic: &[&'static Self]) -> Option<&'static Self> {
        basic.iter().copied().filter(|mode| mode.rate() <= self.rate()).max_by_key(|mode| mode.rate())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_follow_from_symbols() {
        let rates: Vec<u64> = Mode::rates().iter().map(|rate| rate.bps()).collect();
        assert_eq!(rates, [1_000_000, 2_000_000, 5_500_000, 11_000_000]);
        for mode in &MODES {
            assert_eq!(
                mode.rate().bps() * mode.symbols.1.nanos(),
                mode.symbols.0 * u64::from(mode.body.symbol_bits) * 1_000_000_000
            );
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

    /// A row of OFDM has the same fields. The times are those of 802.11a at 54 Mb/s, of 802.11g with its extension of
    /// 6 us, and of half of the clock.
    #[test]
    fn ofdm_needs_no_other_fields() {
        let ofdm = |time, preamble, extension| Mode {
            body: Coding { symbol_bits: 216, ..MODES[0].body },
            header: MODES[0].header,
            preamble: Span::from_micros(preamble),
            symbols: (1, Span::from_micros(time)),
            extra_bits: 22,
            extension: Span::from_micros(extension),
        };
        let times = |mode: Mode| [1536, 76, 14].map(|bytes| mode.airtime(bytes).nanos() / 1000);
        assert_eq!(times(ofdm(4, 20, 0)), [248, 32, 24]);
        assert_eq!(times(ofdm(4, 20, 6)), [254, 38, 30]);
        assert_eq!(times(ofdm(8, 40, 0)), [496, 64, 48]);
    }
}
