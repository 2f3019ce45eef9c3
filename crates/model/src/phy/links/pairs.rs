//! The pairs of a file, collected row by row.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use hopyard_engine::Time;

use super::Series;
use crate::file::BadFile;

/// The bound of node numbers in files.
const MAX_NODES: u32 = 1_000_000;

const A_NODE: &str = "the number of a node, below 1000000";

/// The pairs of a file, as they are read.
pub(super) struct Pairs<'a> {
    first_node: u32,
    pub(super) all: BTreeMap<(u32, u32), Series>,
    pub(super) problems: &'a mut BadFile,
}

impl<'a> Pairs<'a> {
    pub(super) fn new(first_node: u32, problems: &'a mut BadFile) -> Self {
        Self { first_node, all: BTreeMap::new(), problems }
    }

    /// The number in the scenario of a node of the file.
    pub(super) fn node(&self, text: &str) -> Result<u32, String> {
        let node = text.parse::<u32>().ok().filter(|node| *node < MAX_NODES).ok_or(A_NODE)?;
        let first = self.first_node;
        node.checked_sub(first).ok_or_else(|| format!("a node from `first_node` on, which is {first}"))
    }

    /// Whether a pair is known.
    pub(super) fn has(&self, from: u32, to: u32) -> bool {
        self.all.contains_key(&(from, to))
    }

    /// Gives the last value of a pair another value.
    pub(super) fn replace(&mut self, pair: (u32, u32), value: f64) {
        if let Some(last) = self.all.get_mut(&pair).and_then(|it| it.values.last_mut()) {
            last.1 = value;
        }
    }

    /// Adds a value that [`Quantity::read`] gave. `times` says whether rows have times.
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
        match self.all.entry((from, to)) {
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
