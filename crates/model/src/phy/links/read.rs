//! Reads a file of links of any format.

use std::collections::BTreeMap;

use super::pairs::Pairs;
use super::{Between, Format, Links, Quantity, csv, eel, matrix, wmediumd};
use crate::file::{BadFile, lines, text_of};

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
        let (links, problems) = Self::read_sound(file, bytes, reading);
        if problems.is_empty() { Ok(links) } else { Err(problems) }
    }

    /// Reads the sound rows of the bytes of a file, and says which rows are faulty.
    #[must_use]
    pub fn read_sound(file: &str, bytes: &[u8], reading: &Reading) -> (Self, BadFile) {
        let mut problems = BadFile::new(file);
        let Some(text) = text_of(bytes, &mut problems) else {
            let (pairs, first_node) = (BTreeMap::new(), reading.first_node);
            let links = Self { quantity: Quantity::Loss, holds: false, pairs, first_node, remarks: Vec::new() };
            return (links, problems);
        };
        let format = match reading.format {
            Format::Detect => detect(&text),
            format => format,
        };
        let mut pairs = Pairs::new(reading.first_node, &mut problems);
        let (quantity, remarks) = match format {
            Format::Eel => (Quantity::Loss, eel::read(&text, &mut pairs)),
            Format::Wmediumd => wmediumd::read(&text, &mut pairs),
            Format::Matrix => {
                matrix::read(&text, &mut pairs, reading.format == Format::Detect);
                (Quantity::Loss, Vec::new())
            }
            Format::Csv | Format::Detect => (csv::read(&text, &mut pairs), Vec::new()),
        };
        let pairs = pairs.all;
        if problems.is_empty() && pairs.is_empty() {
            problems.push(None, "", "at least one pair of nodes");
        }
        let holds = match reading.between {
            Between::Detect => format == Format::Eel,
            between => between == Between::Hold,
        };
        let links = Self { quantity, holds, pairs, first_node: reading.first_node, remarks };
        (links, problems)
    }
}

/// The format, by the first line that is no comment.
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
        // A comment of several lines begins with these signs in no other format.
        line if line.starts_with("/*") || line.contains('{') || line.ends_with([':', '=']) => Format::Wmediumd,
        line if line.split([',', ' ', '\t', ';']).filter(|word| !word.is_empty()).all(is_number) => Format::Matrix,
        _ => Format::Csv,
    }
}
