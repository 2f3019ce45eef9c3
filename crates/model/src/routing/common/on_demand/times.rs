//! Times as messages and tables have them.

use hopyard_engine::{Span, Time};

/// The first multiple of `interval` at or after `at`: ns-2 looks at its tables at such times.
#[must_use]
pub fn tick_from(at: Time, interval: Span) -> Time {
    if at == Time::NEVER {
        return at;
    }
    Time::from_nanos(at.nanos().div_ceil(interval.nanos()).saturating_mul(interval.nanos()))
}

/// A lifetime on the wire: whole milliseconds.
#[must_use]
pub fn milliseconds(span: Span) -> u32 {
    u32::try_from(span.nanos() / 1_000_000).unwrap_or(u32::MAX)
}
