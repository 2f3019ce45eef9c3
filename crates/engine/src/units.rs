//! Quantities with units, read and written as text: "2 Mbps", "250 m", "10 ms", "-82 dBm".
//!
//! A number without a unit is refused, so that the reader of a scenario never has to guess. Serialised data contains a
//! quantity as text, so that defaults, schema and documentation show units.

use std::fmt;
use std::str::FromStr;

use crate::as_text;
use crate::time::{Span, Time};

/// Text that is not the quantity expected.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected {expected}, found \"{found}\"")]
pub struct UnitError {
    expected: &'static str,
    found: String,
}

/// Splits "2.5 Mbps" into its number and its unit; the space may be left out.
fn split(text: &str) -> Option<(f64, &str)> {
    let text = text.trim();
    // The longest prefix that is a number: "1e3 us" has an exponent, "1 eV" has none.
    let (number, rest) = (1..=text.len())
        .rev()
        .filter_map(|end| Some((text.get(..end)?.trim_end(), text.get(end..)?)))
        .find_map(|(head, rest)| {
            head.ends_with(|c: char| c.is_ascii_digit() || c == '.').then_some((head.parse::<f64>().ok()?, rest))
        })?;
    number.is_finite().then(|| (number, rest.trim()))
}

/// Reads a number with one of `units`, each with its factor.
fn scaled(text: &str, expected: &'static str, units: &[(&str, f64)]) -> Result<f64, UnitError> {
    split(text)
        .and_then(|(number, unit)| {
            // The micro sign (U+00B5) and the Greek letter mu (U+03BC) look the same.
            let unit = unit.replace(['\u{b5}', '\u{3bc}'], "u");
            units.iter().find(|(name, _)| *name == unit).map(|(_, factor)| number * factor)
        })
        .filter(|value| value.is_finite())
        .ok_or_else(|| UnitError { expected, found: text.to_owned() })
}

/// Writes `value` in the largest unit, from the base unit up, in which the value is at least one and its text reads
/// back as the same value. `units` begins with the base unit.
fn write_scaled(f: &mut fmt::Formatter<'_>, value: f64, units: &[(&str, f64)]) -> fmt::Result {
    let (name, factor) = units
        .iter()
        .rev()
        .filter(|(_, factor)| *factor >= 1.0)
        .find(|(_, factor)| value.abs() >= *factor && value / factor * factor == value)
        .or_else(|| units.first())
        .expect("a quantity has units");
    write!(f, "{} {name}", value / factor)
}

/// Declares a quantity held as `f64` in its base unit.
macro_rules! quantity {
    ($(#[$doc:meta])* $type:ident, $base:ident, $least:literal to $most:literal, $expected:literal, $example:literal,
     [$(($unit:literal, $factor:expr)),+]) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, PartialOrd, Default)]
        pub struct $type(f64);

        impl $type {
            const UNITS: &'static [(&'static str, f64)] = &[$(($unit, $factor)),+];

            #[doc = concat!("The quantity of `value` in its base unit (", stringify!($base), ").")]
            #[must_use]
            pub const fn new(value: f64) -> Self {
                Self(value)
            }

            #[doc = concat!("The value in ", stringify!($base), ".")]
            #[must_use]
            pub const fn $base(self) -> f64 {
                self.0
            }
        }

        impl FromStr for $type {
            type Err = UnitError;
            fn from_str(text: &str) -> Result<Self, UnitError> {
                let value = scaled(text, $expected, Self::UNITS)?;
                if !($least..=$most).contains(&value) {
                    return Err(UnitError { expected: $expected, found: text.to_owned() });
                }
                // The sum with zero is zero for "-0 m" too.
                Ok(Self(value + 0.0))
            }
        }

        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write_scaled(f, self.0, Self::UNITS)
            }
        }

        as_text!($type, stringify!($type), $expected, [$example]);
    };
}

quantity!(
    /// A length in metres.
    Distance, metres, 0.0 to 1e9, "a distance such as \"250 m\", up to 1e9 m", "250 m",
    [("m", 1.0), ("mm", 1e-3), ("cm", 1e-2), ("km", 1e3)]
);
quantity!(
    /// A position along an axis, or a distance with its direction along it, in metres.
    Coordinate, metres, -1e9 to 1e9, "a distance along an axis such as \"-50 m\", within 1e9 m of zero", "-50 m",
    [("m", 1.0), ("mm", 1e-3), ("cm", 1e-2), ("km", 1e3)]
);
quantity!(
    /// A speed in metres per second.
    Speed, metres_per_second, 0.0 to 3e8, "a speed such as \"10 m/s\", up to 3e8 m/s", "10 m/s",
    [("m/s", 1.0), ("km/h", 1.0 / 3.6)]
);
quantity!(
    /// A frequency in hertz.
    Frequency, hertz, 0.0 to 1e15, "a frequency such as \"914 MHz\", up to 1e15 Hz", "914 MHz",
    [("Hz", 1.0), ("kHz", 1e3), ("MHz", 1e6), ("GHz", 1e9)]
);
quantity!(
    /// A power that a device draws, in watts. Unlike the power of a signal, it can be zero.
    Draw, watts, 0.0 to 1e6, "a power drawn such as \"0.66 W\" or \"0 W\", up to 1e6 W", "0.66 W",
    [("W", 1.0), ("uW", 1e-6), ("mW", 1e-3), ("kW", 1e3)]
);
quantity!(
    /// An energy in joules.
    Energy, joules, 0.0 to 1e12, "an energy such as \"420 uJ\" or \"100 J\", up to 1e12 J", "100 J",
    [("J", 1.0), ("nJ", 1e-9), ("uJ", 1e-6), ("mJ", 1e-3), ("kJ", 1e3)]
);
quantity!(
    /// An energy for each byte, in microjoules. A negative one saves energy.
    EnergyPerByte, microjoules, -1e6 to 1e6, "an energy for each byte such as \"1.9 uJ/B\", within 1e6 uJ/B of zero",
    "1.9 uJ/B", [("uJ/B", 1.0), ("nJ/B", 1e-3), ("mJ/B", 1e3)]
);

/// A data rate in bits per second.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Default, Hash)]
pub struct Rate(u64);

impl Rate {
    const UNITS: &'static [(&'static str, f64)] = &[("bps", 1.0), ("kbps", 1e3), ("Mbps", 1e6), ("Gbps", 1e9)];

    /// A rate in bits per second.
    #[must_use]
    pub const fn from_bps(bps: u64) -> Self {
        Self(bps)
    }

    /// Bits per second.
    #[must_use]
    pub const fn bps(self) -> u64 {
        self.0
    }

    /// The time to send `bytes` bytes at this rate, rounded up to a nanosecond; [`Span::MAX`] if the rate is zero.
    #[must_use]
    pub const fn airtime(self, bytes: u32) -> Span {
        if self.0 == 0 {
            return Span::MAX;
        }
        Span::from_nanos((bytes as u64 * 8 * 1_000_000_000).div_ceil(self.0))
    }
}

impl FromStr for Rate {
    type Err = UnitError;
    fn from_str(text: &str) -> Result<Self, UnitError> {
        let bps = scaled(text, RATE, Self::UNITS)?;
        if !(1.0..=1e15).contains(&bps) {
            return Err(UnitError { expected: RATE, found: text.to_owned() });
        }
        Ok(Self(libm::round(bps) as u64))
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_scaled(f, self.0 as f64, Self::UNITS)
    }
}

const RATE: &str = "a rate above zero such as \"2 Mbps\", up to 1e15 bps";
as_text!(Rate, "Rate", RATE, ["2 Mbps"]);

/// A power in watts.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd, Default)]
pub struct Power(f64);

impl Power {
    /// A power in watts.
    #[must_use]
    pub const fn from_watts(watts: f64) -> Self {
        Self(watts)
    }

    /// The power of `dbm` decibels over a milliwatt.
    #[must_use]
    pub fn from_dbm(dbm: f64) -> Self {
        Self(1e-3 * libm::pow(10.0, dbm / 10.0))
    }

    /// Watts.
    #[must_use]
    pub const fn watts(self) -> f64 {
        self.0
    }

    /// Decibels over a milliwatt.
    #[must_use]
    pub fn dbm(self) -> f64 {
        10.0 * libm::log10(self.0 * 1e3)
    }
}

/// No radio comes near these bounds; beyond them sums and products of powers would overflow or vanish.
const POWERS: std::ops::RangeInclusive<f64> = 1e-30..=1e12;
const POWER: &str = "a power such as \"15 dBm\" or \"0.28 W\", from 1e-30 W to 1e12 W";

impl FromStr for Power {
    type Err = UnitError;
    fn from_str(text: &str) -> Result<Self, UnitError> {
        let error = || UnitError { expected: POWER, found: text.to_owned() };
        let (number, unit) = split(text).ok_or_else(error)?;
        let power = match unit {
            "dBm" => Self::from_dbm(number),
            _ => Self(scaled(text, POWER, &[("W", 1.0), ("mW", 1e-3), ("uW", 1e-6), ("nW", 1e-9), ("pW", 1e-12)])?),
        };
        POWERS.contains(&power.0).then_some(power).ok_or_else(error)
    }
}

impl fmt::Display for Power {
    /// Writes watts, in full precision, so that reading the text back gives the same power.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:e} W", self.0)
    }
}

as_text!(Power, "Power", POWER, ["15 dBm"]);

/// A ratio of powers, held as a plain factor and written in decibels.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct Ratio(f64);

impl Ratio {
    /// A ratio given as a factor.
    #[must_use]
    pub const fn from_factor(factor: f64) -> Self {
        Self(factor)
    }

    /// A ratio given in decibels.
    #[must_use]
    pub fn from_db(db: f64) -> Self {
        Self(libm::pow(10.0, db / 10.0))
    }

    /// The ratio as a factor.
    #[must_use]
    pub const fn factor(self) -> f64 {
        self.0
    }
}

/// Decibels either way; beyond them products of ratios and powers would overflow or vanish.
const MOST_DECIBELS: f64 = 300.0;
const RATIO: &str = "a ratio in decibels such as \"10 dB\", from -300 dB to 300 dB";

impl FromStr for Ratio {
    type Err = UnitError;
    fn from_str(text: &str) -> Result<Self, UnitError> {
        let db = scaled(text, RATIO, &[("dB", 1.0)])?;
        if db.abs() > MOST_DECIBELS {
            return Err(UnitError { expected: RATIO, found: text.to_owned() });
        }
        Ok(Self::from_db(db))
    }
}

impl fmt::Display for Ratio {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let db = 10.0 * libm::log10(self.0);
        // The logarithm is rarely exact: "3 dB" must not be written as "2.9999999999999996 dB".
        let text =
            (0..=15).map(|digits| format!("{db:.digits$}")).find(|text| text.parse().map(Self::from_db) == Ok(*self));
        write!(f, "{} dB", text.unwrap_or_else(|| db.to_string()))
    }
}

as_text!(Ratio, "Ratio", RATIO, ["10 dB"]);

/// A count of bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Default, Hash)]
pub struct Bytes(u64);

impl Bytes {
    /// A count of bytes.
    #[must_use]
    pub const fn new(count: u64) -> Self {
        Self(count)
    }

    /// The count.
    #[must_use]
    pub const fn count(self) -> u64 {
        self.0
    }
}

const BYTES: &str = "a whole number of bytes such as \"512 B\" or \"1 MB\", up to 1e15 B";

impl FromStr for Bytes {
    type Err = UnitError;
    fn from_str(text: &str) -> Result<Self, UnitError> {
        let count = scaled(text, BYTES, &[("B", 1.0), ("kB", 1e3), ("MB", 1e6), ("GB", 1e9)])?;
        if !(0.0..=1e15).contains(&count) || libm::trunc(count) != count {
            return Err(UnitError { expected: BYTES, found: text.to_owned() });
        }
        Ok(Self(count as u64))
    }
}

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} B", self.0)
    }
}

as_text!(Bytes, "Bytes", BYTES, ["512 B"]);

const SPAN: &str = "a time such as \"10 ms\" or \"360 s\", up to 50 years";
const SPAN_UNITS: &[(&str, f64)] = &[("ns", 1.0), ("us", 1e3), ("ms", 1e6), ("s", 1e9), ("min", 6e10), ("h", 3.6e12)];

impl FromStr for Span {
    type Err = UnitError;
    fn from_str(text: &str) -> Result<Self, UnitError> {
        let nanos = scaled(text, SPAN, SPAN_UNITS)?;
        // 64 bits of nanoseconds are five hundred years. A scenario may use a tenth of that.
        if !(0.0..=1.6e18).contains(&nanos) {
            return Err(UnitError { expected: SPAN, found: text.to_owned() });
        }
        Ok(Self::from_nanos(libm::round(nanos) as u64))
    }
}

as_text!(Span, "Span", SPAN, ["10 ms"]);

impl FromStr for Time {
    type Err = UnitError;
    fn from_str(text: &str) -> Result<Self, UnitError> {
        text.parse::<Span>().map(|span| Self::ZERO + span)
    }
}

/// A distance to the east, to the north, or up.
impl From<Distance> for Coordinate {
    fn from(distance: Distance) -> Self {
        Self::new(distance.metres())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_read_with_its_unit() {
        assert_eq!("2 Mbps".parse(), Ok(Rate::from_bps(2_000_000)));
        assert_eq!("5.5Mbps".parse(), Ok(Rate::from_bps(5_500_000)));
        assert_eq!("250 m".parse(), Ok(Distance::new(250.0)));
        assert_eq!("-2.5 km".parse(), Ok(Coordinate::new(-2500.0)));
        assert_eq!("-0 m".parse::<Coordinate>().map(|zero| zero.to_string()).as_deref(), Ok("0 m"));
        assert_eq!("10 ms".parse(), Ok(Span::from_millis(10)));
        assert_eq!("1e3 us".parse(), Ok(Span::from_millis(1)));
        assert_eq!("0 s".parse(), Ok(Span::ZERO));
        assert_eq!("512 B".parse(), Ok(Bytes::new(512)));
        let power: Power = "-82 dBm".parse().expect("a power");
        assert!((power.watts() - 6.309_573e-12).abs() < 1e-17);
        let ratio: Ratio = "10 dB".parse().expect("a ratio");
        assert!((ratio.factor() - 10.0).abs() < 1e-12);
    }

    #[test]
    fn the_field_s_other_units_are_read() {
        for micro in ["5 us", "5 µs", "5 \u{3bc}s"] {
            assert_eq!(micro.parse(), Ok(Span::from_micros(5)), "{micro}");
        }
        assert_eq!("36 km/h".parse(), Ok(Speed::new(10.0)));
        assert_eq!("250 mm".parse(), Ok(Distance::new(0.25)));
        assert_eq!("25 cm".parse(), Ok(Distance::new(0.25)));
        assert_eq!("3 µW".parse::<Power>(), "3 uW".parse());
        assert_eq!(Distance::new(0.25).to_string(), "0.25 m");
    }

    #[test]
    fn quantities_that_would_overflow_are_refused_with_their_range() {
        fn refused<T: FromStr<Err = UnitError> + fmt::Debug>(text: &str, range: &str) {
            let error = text.parse::<T>().expect_err(text).to_string();
            assert!(error.contains(range) && error.contains(text), "{error}");
        }
        for text in ["3100 dB", "-3300 dB", "1e9 dB", "301 dB"] {
            refused::<Ratio>(text, "-300 dB to 300 dB");
        }
        for text in ["3100 dBm", "-400 dBm", "0 W", "1e300 W"] {
            refused::<Power>(text, "1e-30 W to 1e12 W");
        }
        refused::<Distance>("1e300 km", "up to 1e9 m");
        refused::<Speed>("1e300 m/s", "up to 3e8 m/s");
        refused::<Frequency>("1e300 GHz", "up to 1e15 Hz");
        // What is accepted reads back from what is written.
        for text in ["300 dB", "-300 dB", "-273.15 dB"] {
            let ratio: Ratio = text.parse().unwrap_or_else(|error| panic!("{error}"));
            assert_eq!(ratio.to_string().parse(), Ok(ratio));
        }
    }

    #[test]
    fn energies_and_powers_drawn_are_read() {
        assert_eq!("0.66 W".parse(), Ok(Draw::new(0.66)));
        assert_eq!("0 W".parse(), Ok(Draw::new(0.0)));
        assert_eq!("50 uW".parse(), Ok(Draw::new(50.0 * 1e-6)));
        assert_eq!("420 uJ".parse(), Ok(Energy::new(420.0 * 1e-6)));
        assert_eq!("-0.49 uJ/B".parse(), Ok(EnergyPerByte::new(-0.49)));
        let error = "-0.66 W".parse::<Draw>().expect_err("negative").to_string();
        assert!(error.contains("\"0.66 W\"") && error.contains("found \"-0.66 W\""), "{error}");
        assert!("-1 J".parse::<Energy>().is_err() && "1 W".parse::<Energy>().is_err());
    }

    #[test]
    fn wrong_units_and_bare_numbers_are_refused() {
        for text in ["2", "2 m", "", "fast", "-1 Mbps", "0 bps", "nan Mbps", "1e400 Mbps"] {
            let error = text.parse::<Rate>().expect_err(text).to_string();
            assert!(error.contains("2 Mbps") && error.contains(text), "{error}");
        }
        assert!("-5 ms".parse::<Span>().is_err());
        assert!("1.5 B".parse::<Bytes>().is_err());
        assert!("-250 m".parse::<Distance>().is_err());
        assert!("-2e9 m".parse::<Coordinate>().is_err());
    }

    #[test]
    fn what_is_written_reads_back() {
        for text in ["2 Mbps", "5.5 Mbps", "800 kbps", "1 bps"] {
            assert_eq!(text.parse::<Rate>().map(|r| r.to_string()).as_deref(), Ok(text));
        }
        for text in ["3 dB", "10 dB", "-0.7 dB", "12.345 dB"] {
            assert_eq!(text.parse::<Ratio>().map(|r| r.to_string()).as_deref(), Ok(text));
        }
        // Reading 1.001 km would give 1000.9999999999999 m.
        for metres in [1_001.0, 1_234.567, 4_999.3, 0.1, 250.0] {
            let distance = Distance::new(metres);
            assert_eq!(distance.to_string().parse(), Ok(distance), "{distance}");
            let coordinate = Coordinate::new(-metres);
            assert_eq!(coordinate.to_string().parse(), Ok(coordinate), "{coordinate}");
        }
        let power = Power::from_watts(0.281_838_15);
        assert_eq!(power.to_string().parse(), Ok(power));
        assert_eq!(serde_json::to_string(&Span::from_millis(2800)).ok().as_deref(), Some("\"2.8 s\""));
        assert_eq!(serde_json::from_str::<Span>("\"2.8 s\"").ok(), Some(Span::from_millis(2800)));
        assert!(serde_json::from_str::<Span>("3").is_err());
    }

    #[test]
    fn airtime_rounds_up() {
        assert_eq!(Rate::from_bps(1_000_000).airtime(14), Span::from_micros(112));
        assert_eq!(Rate::from_bps(11_000_000).airtime(1), Span::from_nanos(728));
    }
}
