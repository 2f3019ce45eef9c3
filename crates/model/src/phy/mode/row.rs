//! A row of the table of modes, with the times and rates that follow from it.

use std::fmt;

use hopyard_engine::Span;
use hopyard_engine::units::{Frequency, Rate};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::name::Name;

/// The preamble of a frame of DSSS.
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
    /// OFDM with the convolutional code: each carrier has a point of this constellation.
    Ofdm(Constellation, CodeRate),
}

/// The points that a carrier of OFDM can have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Constellation {
    /// Two.
    Bpsk,
    /// Four.
    Qpsk,
    /// Sixteen.
    Qam16,
    /// 64.
    Qam64,
    /// 256.
    Qam256,
}

impl Constellation {
    /// Coded bits of a carrier.
    pub(super) const fn bits(self) -> u32 {
        match self {
            Self::Bpsk => 1,
            Self::Qpsk => 2,
            Self::Qam16 => 4,
            Self::Qam64 => 6,
            Self::Qam256 => 8,
        }
    }
}

/// The rate of the convolutional code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CodeRate {
    /// 1/2.
    Half,
    /// 2/3.
    TwoThirds,
    /// 3/4.
    ThreeQuarters,
    /// 5/6.
    FiveSixths,
}

impl CodeRate {
    /// Data bits, and coded bits.
    #[must_use]
    pub const fn ratio(self) -> (u32, u32) {
        match self {
            Self::Half => (1, 2),
            Self::TwoThirds => (2, 3),
            Self::ThreeQuarters => (3, 4),
            Self::FiveSixths => (5, 6),
        }
    }
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
    /// Spatial streams, among which the bits are divided.
    pub streams: u8,
    /// The bandwidth of the signal, in which noise is counted.
    pub bandwidth: Frequency,
    /// At this ratio of signal to noise and above, the probability of success is exactly one in double precision. Most
    /// frames meet no interference, and this limit saves them the computation of an exponential.
    pub error_free: f64,
}

/// The form of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// DSSS or HR-DSSS, with this preamble.
    Dsss(Preamble),
    /// OFDM as in 802.11a and 802.11g.
    Ofdm,
    /// High throughput (802.11n), in the mixed format.
    Ht {
        /// The index of modulation, code and streams.
        mcs: u8,
    },
    /// Very high throughput (802.11ac).
    Vht {
        /// The index of modulation and code.
        mcs: u8,
        /// Spatial streams.
        streams: u8,
    },
}

impl Format {
    /// Its place in the order in which radios learned to decode the formats.
    pub(crate) const fn age(self) -> u8 {
        match self {
            Self::Dsss(_) => 0,
            Self::Ofdm => 1,
            Self::Ht { .. } => 2,
            Self::Vht { .. } => 3,
        }
    }

    /// Whether a radio that knows nothing newer than another format cannot decode this one.
    #[must_use]
    pub const fn is_newer_than(self, other: Self) -> bool {
        self.age() > other.age()
    }
}

/// The time before each symbol of OFDM in which echoes of the last one may arrive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Guard {
    /// 0.8 us at a clock of 20 MHz.
    Long,
    /// 0.4 us; in HT and VHT only.
    Short,
}

/// The band of a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Band {
    /// 2.4 GHz, where a frame of OFDM or HT has a signal extension.
    #[serde(rename = "2.4 GHz")]
    Low,
    /// 5 GHz.
    #[serde(rename = "5 GHz")]
    High,
}

impl Band {
    /// Whether a frequency lies in the band (IEEE Std 802.11-2016 Annex E). The 5 GHz band begins with the channels at
    /// 4.9 GHz, and ends with those of vehicles at 5.9 GHz.
    #[must_use]
    pub fn has(self, frequency: Frequency) -> bool {
        let (low, high) = match self {
            Self::Low => (2.4e9, 2.5e9),
            Self::High => (4.9e9, 5.93e9),
        };
        (low..=high).contains(&frequency.hertz())
    }

    /// The name in scenarios.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Low => "2.4 GHz",
            Self::High => "5 GHz",
        }
    }

    /// The frequency of the first channel of 20 MHz.
    #[must_use]
    pub const fn first_channel(self) -> Frequency {
        match self {
            Self::Low => Frequency::new(2412e6),
            Self::High => Frequency::new(5180e6),
        }
    }
}

/// The properties that frames of OFDM, HT and VHT on a channel have in common.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Carrier {
    /// The band.
    pub band: Band,
    /// The bandwidth.
    pub bandwidth: Frequency,
    /// The guard interval.
    pub guard: Guard,
}

/// A mode.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mode {
    /// Its place in the table.
    pub row: u16,
    /// The form of its frames.
    pub format: Format,
    /// The guard interval.
    pub guard: Guard,
    /// The body, from the MAC header to the frame check sequence.
    pub body: Coding,
    /// The header of the physical layer.
    pub header: Coding,
    /// The time that preamble and header take.
    pub preamble: Span,
    /// The parts of that time before the header and behind it, in which there are no bits.
    pub training: (Span, Span),
    /// A number of symbols of the body, and the time that they take together.
    pub symbols: (u64, Span),
    /// The nanoseconds of which the time of the body is a multiple.
    pub granule: u64,
    /// Bits of the physical layer in the body: the service field and the tail of OFDM, and the delimiter of VHT.
    pub extra_bits: u64,
    /// The time after the body in which nothing is sent, and which belongs to the frame.
    pub extension: Span,
}

/// The bandwidth of a DSSS signal (IEEE Std 802.11-1999 §15.4.7.4).
pub const DSSS_BANDWIDTH: Frequency = Frequency::new(22e6);

/// The name; in HT and VHT, with bandwidth and guard interval.
impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let guard = if self.guard == Guard::Short { "short" } else { "long" };
        match self.is_legacy() {
            true => self.name().fmt(f),
            false => write!(f, "{} {} {guard}", self.name(), self.body.bandwidth),
        }
    }
}

impl Mode {
    /// The name in scenarios.
    #[must_use]
    pub const fn name(&self) -> Name {
        match self.format {
            Format::Dsss(_) | Format::Ofdm => Name::Rate(self.rate()),
            Format::Ht { mcs } => Name::Ht(mcs),
            Format::Vht { mcs, streams } => Name::Vht { mcs, streams },
        }
    }

    /// Data bits a second.
    #[must_use]
    pub const fn rate(&self) -> Rate {
        self.body.rate
    }

    /// The band of its frames; nothing for DSSS, which the first radios had at 914 MHz. Only the 2.4 GHz band has a
    /// signal extension.
    #[must_use]
    pub const fn band(&self) -> Option<Band> {
        match self.format {
            Format::Dsss(_) => None,
            _ if self.extension.is_zero() => Some(Band::High),
            _ => Some(Band::Low),
        }
    }

    /// Whether it is a mode of DSSS or OFDM.
    #[must_use]
    pub const fn is_legacy(&self) -> bool {
        matches!(self.format, Format::Dsss(_) | Format::Ofdm)
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
        let time = (symbols * time.nanos()).div_ceil(count).next_multiple_of(self.granule);
        Span::from_nanos(time + self.extension.nanos())
    }

    /// The time on the air of a frame whose body has so many bytes.
    #[must_use]
    pub const fn airtime(&self, bytes: u32) -> Span {
        Span::from_nanos(self.preamble.nanos() + self.body(bytes).nanos())
    }

    /// The rate by which the rate of answers is chosen: of HT and VHT, the rate of OFDM with the same modulation, and
    /// the same or the next slower code (IEEE Std 802.11-2016 Table 10-9).
    #[must_use]
    pub fn reference_rate(&self) -> Rate {
        use {CodeRate as Code, Constellation as Points};
        let (Format::Ht { .. } | Format::Vht { .. }, Modulation::Ofdm(points, code)) =
            (self.format, self.body.modulation)
        else {
            return self.rate();
        };
        Rate::from_bps(match (points, code) {
            (Points::Bpsk, _) => 6_000_000,
            (Points::Qpsk, Code::Half) => 12_000_000,
            (Points::Qpsk, _) => 18_000_000,
            (Points::Qam16, Code::Half) => 24_000_000,
            (Points::Qam16, _) => 36_000_000,
            (Points::Qam64, Code::TwoThirds) => 48_000_000,
            (Points::Qam64 | Points::Qam256, _) => 54_000_000,
        })
    }

    /// Whether frames in this mode are answered in another one: DSSS is answered in DSSS, all others in OFDM.
    #[must_use]
    pub fn is_answered_in(&self, other: &Self) -> bool {
        match other.format {
            Format::Dsss(_) => matches!(self.format, Format::Dsss(_)),
            Format::Ofdm => !matches!(self.format, Format::Dsss(_)),
            Format::Ht { .. } | Format::Vht { .. } => false,
        }
    }

    /// The mode of the answer to a frame in this mode: the fastest of the basic ones that is not faster than the frame
    /// (IEEE 802.11-1999 §9.6).
    #[must_use]
    pub fn answer(&self, basic: &[&'static Self]) -> Option<&'static Self> {
        let possible = |mode: &&Self| self.is_answered_in(mode) && mode.rate() <= self.reference_rate();
        basic.iter().copied().filter(possible).max_by_key(|mode| mode.rate())
    }
}
