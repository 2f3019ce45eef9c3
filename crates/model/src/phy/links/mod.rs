//! Links as data: for each pair of nodes, in each direction, the loss of its signals, their ratio to noise, or the
//! share of frames that arrive.
//!
//! The readers understand a table with a header (`csv`), the pathloss events of EMANE (`eel`), the configuration of
//! wmediumd (`wmediumd`), and a square of numbers (`matrix`). A pair that the file does not name is deaf. Reading
//! is strict: every faulty row is counted, and the first twenty are reported with line, value and expectation.

mod csv;
mod eel;
mod gains;
mod matrix;
mod pairs;
mod read;
mod wmediumd;

use std::collections::{BTreeMap, BTreeSet};

use hopyard_engine::Time;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use self::gains::{Gains, Levels, Named};
pub use self::read::Reading;
use crate::file::{BadFile, MAX_FAULTS};

/// The formats of files of links.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Format {
    /// Detected from the first line that says something.
    Detect,
    /// Rows below a header.
    Csv,
    /// EMANE's event log.
    Eel,
    /// wmediumd's configuration.
    Wmediumd,
    /// A square of losses in decibels.
    Matrix,
}

/// The value between two times of a pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Between {
    /// As in the format: EMANE's event logs hold, and all others are linear.
    Detect,
    /// The value of the earlier time. Before its first time, a pair is deaf.
    Hold,
    /// On a straight line from value to value. Before its first time, a pair has the first value.
    Linear,
}

/// The meaning of the values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quantity {
    /// The loss on the way, in decibels; infinite for a deaf pair.
    Loss,
    /// The ratio of signal to noise, in decibels; minus infinite for a deaf pair.
    Snr,
    /// The share of frames that arrive.
    Delivery,
}

impl Quantity {
    const fn expected(self) -> &'static str {
        match self {
            Self::Loss => "a loss of 0 to 400 dB, or inf",
            Self::Snr => "a ratio of signal to noise of -200 to 200 dB, or -inf",
            Self::Delivery => "a delivery ratio of 0 to 1",
        }
    }

    /// The value of a text, which is larger for a better link.
    fn read(self, text: &str) -> Option<f64> {
        let value: f64 = text.parse().ok()?;
        let (low, high) = match self {
            Self::Loss => (0.0, 400.0),
            Self::Snr => (-200.0, 200.0),
            Self::Delivery => (0.0, 1.0),
        };
        match (self, value) {
            (Self::Loss, f64::INFINITY) | (Self::Snr, f64::NEG_INFINITY) => Some(f64::NEG_INFINITY),
            (_, value) if !(low..=high).contains(&value) => None,
            (Self::Loss, value) => Some(-value),
            _ => Some(value),
        }
    }
}

/// The values of a pair, in order of time.
#[derive(Clone, Debug, PartialEq)]
struct Series {
    /// The first line that names the pair.
    line: usize,
    /// Each value with its time; larger values are better links.
    values: Vec<(Time, f64)>,
}

/// The links of a file.
#[derive(Clone, Debug, PartialEq)]
pub struct Links {
    quantity: Quantity,
    holds: bool,
    /// By the nodes that send and hear, as the scenario numbers them.
    pairs: BTreeMap<(u32, u32), Series>,
    first_node: u32,
    /// The remarks for a user who reads the file.
    remarks: Vec<String>,
}

impl Links {
    /// The meaning of the values.
    #[must_use]
    pub const fn quantity(&self) -> Quantity {
        self.quantity
    }

    /// Remarks for the user about lines of the file that were not read.
    #[must_use]
    pub fn remarks(&self) -> &[String] {
        &self.remarks
    }

    /// Whether a link has different values in time.
    #[must_use]
    pub fn change(&self) -> bool {
        self.pairs.values().any(|series| series.values.len() > 1)
    }

    /// The pairs in which the second node may hear the first.
    pub fn pairs(&self) -> impl Iterator<Item = (u32, u32)> + '_ {
        self.pairs
            .iter()
            .filter(|(_, series)| series.values.iter().any(|it| self.is_heard(it.1)))
            .map(|(pair, _)| *pair)
    }

    fn is_heard(&self, value: f64) -> bool {
        match self.quantity {
            Quantity::Delivery => value > 0.0,
            Quantity::Loss | Quantity::Snr => value > f64::NEG_INFINITY,
        }
    }

    /// The pairs in which the second node may hear the first before `end`, each with the best gain until then; a
    /// delivery ratio has an infinite one. `noise` is the gain of a signal that is as strong as the noise.
    pub fn gains_until(&self, end: Time, noise: f64) -> impl Iterator<Item = ((u32, u32), f64)> + '_ {
        let best = move |series: &Series| {
            // Between two times a value may lie on the way to the later one.
            let begun = series.values.partition_point(|(at, _)| *at < end) + usize::from(!self.holds);
            let values = series.values.iter().take(begun).map(|it| it.1).filter(|value| self.is_heard(*value));
            values.reduce(f64::max)
        };
        let gain = move |value: f64| match self.quantity {
            Quantity::Delivery => f64::INFINITY,
            Quantity::Snr => noise * libm::pow(10.0, value / 10.0),
            Quantity::Loss => libm::pow(10.0, value / 10.0),
        };
        self.pairs.iter().filter_map(move |(pair, series)| Some((*pair, gain(best(series)?))))
    }

    /// The first time of all pairs, and whether a pair is deaf before its own first time.
    #[must_use]
    pub fn begin(&self) -> (Time, bool) {
        let firsts = self.pairs.values().filter_map(|series| series.values.first());
        (firsts.map(|(at, _)| *at).min().unwrap_or(Time::ZERO), self.holds)
    }

    /// Checks that the nodes of all pairs are among these, which have a radio on the channel.
    ///
    /// # Errors
    /// Every pair with another node; `file` is the name of the file.
    pub fn check_nodes(&self, file: &str, nodes: &BTreeSet<u32>) -> Result<(), BadFile> {
        let mut problems = BadFile::new(file);
        // A pair and its reverse may come from one row.
        let absent = self.pairs.iter().flat_map(|(pair, series)| [pair.0, pair.1].map(|node| (series.line, node)));
        let absent: BTreeSet<_> = absent.filter(|(_, node)| !nodes.contains(node)).take(MAX_FAULTS).collect();
        let number = |node: u32| u64::from(node) + u64::from(self.first_node);
        let expected = match nodes.last() {
            Some(&last) if nodes.len() as u64 == number(last) + 1 - number(0) => {
                let (first, next) = (self.first_node, number(last) + 1);
                let from_next = self.pairs.keys().all(|(from, to)| *from > 0 && *to > 0 && from.max(to) <= &(last + 1));
                let hint = match from_next {
                    true => format!("; `first_node = {}` takes the file's nodes {} to {next}", first + 1, first + 1),
                    false => String::new(),
                };
                format!("a node of this channel, {first} to {} in the file{hint}", number(last))
            }
            _ => "a node with a radio on this channel".to_owned(),
        };
        for (line, node) in absent {
            problems.push(Some(line), &format!("node {}", number(node)), expected.as_str());
            problems.ends_at(line);
        }
        if problems.is_empty() { Ok(()) } else { Err(problems) }
    }
}

#[cfg(test)]
mod tests;
