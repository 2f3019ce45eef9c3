//! Wires that follow a file: their rate, delay and loss over time, or Mahimahi's opportunities to deliver packets.
//!
//! A table has the column `time_s` and at least one of `rate_mbps`, `delay_ms` and `loss`. A row holds from its time
//! on, until the next row begins.
//!
//! A file of opportunities has a whole number of milliseconds in each line, the format of mm-link (Netravali et al.,
//! "Mahimahi: accurate record-and-replay for HTTP", USENIX ATC 2015).

mod opportunities;
mod values;

use std::sync::Arc;

use hopyard_engine::units::Rate;

pub(super) use opportunities::Cursor;
pub use opportunities::Opportunities;
pub use values::{End, Values};

use crate::file::{BadFile, text_of};

/// The contents of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Format {
    /// A table of values over time.
    Values(End),
    /// Opportunities to deliver packets.
    Opportunities,
}

/// A file that was read.
#[derive(Clone, Debug)]
pub enum Trace {
    /// Values over time.
    Values(Arc<Values>),
    /// Opportunities to deliver packets.
    Opportunities(Arc<Opportunities>),
}

impl Format {
    /// Reads the bytes of a file, which may be compressed with gzip; `file` is its name, for messages.
    ///
    /// # Errors
    /// Every line that is faulty.
    pub fn read(self, file: &str, bytes: &[u8]) -> Result<Trace, BadFile> {
        let mut problems = BadFile::new(file);
        let Some(text) = text_of(bytes, &mut problems) else { return Err(problems) };
        let trace = match self {
            Self::Values(end) => Values::read(&text, end, &mut problems).map(|it| Trace::Values(Arc::new(it))),
            Self::Opportunities => {
                Opportunities::read(&text, &mut problems).map(|it| Trace::Opportunities(Arc::new(it)))
            }
        };
        trace.filter(|_| problems.is_empty()).ok_or(problems)
    }
}

impl Trace {
    /// The mean rate of packets of 1500 bytes, if the trace gives a rate: of one turn if the trace begins again, and of
    /// the time up to the last row otherwise. The mean is zero if the first row is the last one and has the rate zero.
    #[must_use]
    pub fn mean(&self) -> Option<Rate> {
        match self {
            Self::Values(values) => values.mean(),
            Self::Opportunities(opportunities) => Some(opportunities.mean()),
        }
    }

    /// The columns of a table that are in place of parameters of the wire: `rate` and `delay`.
    #[must_use]
    pub fn replaces(&self) -> Vec<&'static str> {
        match self {
            Self::Values(values) => values.replaces(),
            Self::Opportunities(_) => vec!["rate"],
        }
    }
}

#[cfg(test)]
mod tests;
