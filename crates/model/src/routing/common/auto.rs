//! Times that may follow from other parameters.

use hopyard_engine::{Span, word_or};

/// A time, or "auto": derived from other parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Auto {
    /// Derived, as the parameter's description says.
    Derived,
    /// This long.
    Fixed(Span),
}

impl Auto {
    /// The time, which is `derived` unless it is fixed.
    #[must_use]
    pub fn or(self, derived: Span) -> Span {
        match self {
            Self::Derived => derived,
            Self::Fixed(span) => span,
        }
    }
}

const AUTO: &str = "a time such as \"10 ms\", or \"auto\"";

word_or!(Auto { "auto" => Derived, Fixed }, "TimeOrAuto", AUTO, ["10 ms", "auto"]);
