//! Reads a file of links of any format, and collects its pairs.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use hopyard_engine::Time;

use super::{Between, Format, Links, Quantity, Series, csv, eel, matrix, wmediumd};
use crate::file::{BadFile, lines, text_of};

/// Node numbers in files stay below this.
const MAX_NODES: u32 = 1_000_000;

pub(super) const A_NODE: &str = "the number of a node, below 1000000";

/// How a file is to be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reading {
    /// The format.
    pub format: Format,
    /// The value between two times.
    pub between: Between,
    /// The number that the scenario's first node has in the file.
    pub first_node: u32,
}

impl Default for Reading {
    fn default() -> Self {
        Self { format: Format::Detect, between: Between::Detect, first_node: 0 }
    }
}

impl Links {
    /// Reads the bytes of a file, which may be compressed with gzip; `file` is its name, for messages.
    ///
    /// # Errors
    /// Every row that is faulty.
    pub fn read(file: &str, bytes: &[u8], reading: &Reading) -> Result<Self, BadFile> {
        let mut problems = BadFile::new(file);
        let Some(text) = text_of(bytes, &mut problems) else { return Err(problems) };
        let format = match reading.format {
            Format::Detect => detect(&text),
            format => format,
        };
        let mut pairs = Pairs { first_node: reading.first_node, pairs: BTreeMap::new(), problems: &mut problems };
        let (quantity, remarks) = match format {
            Format::Eel => (Quantity::Loss, eel::read(&text, &mut pairs)),
            Format::Wmediumd => wmediumd::read(&text, &mut pairs),
            Format::Matrix => (Quantity::Loss, matrix::read(&text, &mut pairs)),
            Format::Csv | Format::Detect => (csv::read(&text, &mut pairs), Vec::new()),
        };
        let pairs = pairs.pairs;
        if problems.is_empty() && pairs.is_empty() {
            problems.push(None, "", "at least one pair of nodes");
        }
        let holds = match reading.between {
            Between::Detect => format == Format::Eel,
            between => between == Between::Hold,
        };
        let links = Self { quantity, holds, pairs, first_node: reading.first_node, remarks };
        if problems.is_empty() { Ok(links) } else { Err(problems) }
    }
}

/// The format, as the first line says that is no comment.
fn detect(text: &[u8]) -> Format {
    let Some(line) = lines(text).map(|(_, line)| line).find(|line| {
        let line = line.trim();
        !line.is_empty() && !line.starts_with('#') && !line.starts_with("//")
    }) else {
        return Format::Csv;
    };
    let is_number = |word: &str| word.parse::<f64>().is_ok();
    match line.trim() {
        line if line.contains("nem:") => Format::Eel,
        line if line.contains('{') || line.ends_with([':', '=']) => Format::Wmediumd,
        line if line.split([',', ' ', '\t', ';']).filter(|word| !word.is_empty()).all(is_number) => Format::Matrix,
        _ => Format::Csv,
    }
}

/// The pairs of a file, as they are read.
pub(super) struct Pairs<'a> {
    first_node: u32,
    pairs: BTreeMap<(u32, u32), Series>,
    pub(super) problems: &'a mut BadFile,
}

impl Pairs<'_> {
    /// The number in the scenario of a node of the file.
    pub(super) fn node(&self, text: &str) -> Result<u32, String> {
        let node = text.parse::<u32>().ok().filter(|node| *node < MAX_NODES).ok_or(A_NODE)?;
        let first = self.first_node;
        node.checked_sub(first).ok_or_else(|| format!("a node from `first_node` on, which is {first}"))
    }

    /// Whether a pair is known.
    pub(super) fn has(&self, from: u32, to: u32) -> bool {
        self.pairs.contains_key(&(from, to))
    }

    /// Adds a value, which is one that [`Quantity::read`] gave. `times` says whether rows have times.
    pub(super) fn add(
        &mut self,
        line: usize,
        (from, to): (u32, u32),
        (at, value): (Time, f64),
        times: bool,
    ) -> Result<(), String> {
        if from == to {
            return Err("two different nodes".to_owned());
        }
        match self.pairs.entry((from, to)) {
            Entry::Vacant(entry) => {
                entry.insert(Series { line, values: vec![(at, value)] });
            }
            Entry::Occupied(entry) if !times => {
                return Err(format!("each pair once: line {} has it", entry.get().line));
            }
            Entry::Occupied(mut entry) => match entry.get().values.last() {
                Some((last, _)) if *last > at => {
                    return Err(format!("times of a pair that increase: this one comes after {} s", last.seconds()));
                }
                Some((last, _)) if *last == at => {
                    return Err(format!("each pair once for each time: {} s is there already", last.seconds()));
                }
                _ => entry.get_mut().values.push((at, value)),
            },
        }
        Ok(())
    }
}

/// A time in seconds.
pub(super) fn time(text: &str) -> Option<f64> {
    text.parse::<f64>().ok().filter(|seconds| seconds.abs() <= 1.6e9)
}
