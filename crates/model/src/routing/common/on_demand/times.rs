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
