//! Simulated time: integer nanoseconds since the start of the run.
//!
//! [`Time`] is an instant, [`Span`] a duration. They are different types, so that adding two instants does not compile.

use std::fmt;
use std::ops::{Add, AddAssign, Div, Mul, Sub, SubAssign};

/// Nanoseconds in a second.
const NANOS: u64 = 1_000_000_000;

/// An instant of simulated time, in nanoseconds since the start of the run.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Time(u64);

/// A non-negative duration in simulated time, in nanoseconds.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Span(u64);

impl Time {
    /// The start of the run.
    pub const ZERO: Self = Self(0);
    /// Later than every event: the deadline of an object without a deadline.
    pub const NEVER: Self = Self(u64::MAX);

    /// The instant `nanos` nanoseconds after the start.
    #[must_use]
    pub const fn from_nanos(nanos: u64) -> Self {
        Self(nanos)
    }

    /// Nanoseconds since the start of the run.
    #[must_use]
    pub const fn nanos(self) -> u64 {
        self.0
    }

    /// Seconds since the start of the run.
    #[must_use]
    pub fn seconds(self) -> f64 {
        self.0 as f64 / NANOS as f64
    }

    /// The duration from `earlier` to this instant, or zero if `earlier` is later.
    #[must_use]
    pub const fn since(self, earlier: Self) -> Span {
        Span(self.0.saturating_sub(earlier.0))
    }
}

impl Span {
    /// A duration of zero.
    pub const ZERO: Self = Self(0);
    /// The longest duration: longer than any run.
    pub const MAX: Self = Self(u64::MAX);

    /// A span of whole nanoseconds.
    #[must_use]
    pub const fn from_nanos(nanos: u64) -> Self {
        Self(nanos)
    }

    /// A span of whole microseconds.
    #[must_use]
    pub const fn from_micros(micros: u64) -> Self {
        Self(micros * 1_000)
    }

    /// A span of whole milliseconds.
    #[must_use]
    pub const fn from_millis(millis: u64) -> Self {
        Self(millis * 1_000_000)
    }

    /// A span of whole seconds.
    #[must_use]
    pub const fn from_secs(secs: u64) -> Self {
        Self(secs * NANOS)
    }

    /// The span nearest to `seconds`; negative values and NaN give zero, values out of range the longest span.
    #[must_use]
    pub fn from_secs_f64(seconds: f64) -> Self {
        // `as` saturates, and maps NaN to zero.
        Self(libm::round(seconds * NANOS as f64) as u64)
    }

    /// The span in nanoseconds.
    #[must_use]
    pub const fn nanos(self) -> u64 {
        self.0
    }

    /// The span in seconds.
    #[must_use]
    pub fn seconds(self) -> f64 {
        self.0 as f64 / NANOS as f64
    }

    /// This span times a non-negative factor, rounded to the nearest nanosecond.
    #[must_use]
    pub fn mul_f64(self, factor: f64) -> Self {
        Self(libm::round(self.0 as f64 * factor) as u64)
    }

    /// This span minus `other`, or zero if `other` is longer.
    #[must_use]
    pub const fn saturating_sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }

    /// Whether the span is zero.
    #[must_use]
    pub const fn is_zero(self) -> bool {
        self.0 == 0
    }
}

impl Add<Span> for Time {
    type Output = Self;
    fn add(self, span: Span) -> Self {
        Self(self.0.saturating_add(span.0))
    }
}

impl AddAssign<Span> for Time {
    fn add_assign(&mut self, span: Span) {
        *self = *self + span;
    }
}

impl Sub<Span> for Time {
    type Output = Self;
    fn sub(self, span: Span) -> Self {
        Self(self.0.saturating_sub(span.0))
    }
}

impl Add for Span {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl AddAssign for Span {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Sub for Span {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        debug_assert!(self.0 >= other.0, "negative span: {self} - {other}");
        Self(self.0.saturating_sub(other.0))
    }
}

impl SubAssign for Span {
    fn sub_assign(&mut self, other: Self) {
        *self = *self - other;
    }
}

impl Mul<u64> for Span {
    type Output = Self;
    fn mul(self, factor: u64) -> Self {
        Self(self.0.saturating_mul(factor))
    }
}

impl Div<u64> for Span {
    type Output = Self;
    fn div(self, divisor: u64) -> Self {
        Self(self.0 / divisor)
    }
}

impl fmt::Display for Span {
    /// Writes the span exactly, in the largest unit in which it is at least one: "2.8 s", "10 ms", "20 us", "0 s".
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (unit, name, digits) = match self.0 {
            0 => return f.write_str("0 s"),
            n if n >= NANOS => (NANOS, "s", 9),
            n if n >= 1_000_000 => (1_000_000, "ms", 6),
            n if n >= 1_000 => (1_000, "us", 3),
            _ => (1, "ns", 0),
        };
        let (whole, rest) = (self.0 / unit, self.0 % unit);
        if rest == 0 {
            write!(f, "{whole} {name}")
        } else {
            let fraction = format!("{rest:0digits$}");
            write!(f, "{whole}.{} {name}", fraction.trim_end_matches('0'))
        }
    }
}

impl fmt::Debug for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if *self == Self::NEVER {
            return f.write_str("never");
        }
        write!(f, "{}.{:09} s", self.0 / NANOS, self.0 % NANOS)
    }
}

impl fmt::Debug for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_print_exactly_in_their_largest_unit() {
        for (nanos, text) in [
            (0, "0 s"),
            (1, "1 ns"),
            (20_000, "20 us"),
            (1_500, "1.5 us"),
            (10_000_000, "10 ms"),
            (2_800_000_000, "2.8 s"),
            (360_000_000_000, "360 s"),
            (1_000_000_001, "1.000000001 s"),
        ] {
            assert_eq!(Span::from_nanos(nanos).to_string(), text);
        }
    }

    #[test]
    fn instants_saturate_at_never() {
        assert_eq!(Time::NEVER + Span::from_secs(1), Time::NEVER);
        assert_eq!(Time::from_nanos(5).since(Time::from_nanos(9)), Span::ZERO);
        assert_eq!(Span::from_secs_f64(-1.0), Span::ZERO);
        assert_eq!(Span::from_secs_f64(f64::NAN), Span::ZERO);
        assert_eq!(Span::from_secs_f64(0.025), Span::from_millis(25));
    }
}
