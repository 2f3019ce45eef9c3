//! Reads a movement file of any format.

use super::movements::Movements;
use super::text::{Format, Reading};
use super::{bonnmotion, csv, gpx, setdest, ulog};
use crate::file::{BadFile, lines, text_of};

impl Movements {
    /// Reads the bytes of a movement file; `file` is its name, for messages.
    ///
    /// # Errors
    /// Every line that is broken.
    pub fn read(file: &str, bytes: &[u8], reading: &Reading) -> Result<Self, BadFile> {
        let mut problems = BadFile::new(file);
        let Some(text) = text_of(bytes, &mut problems) else {
            return Err(problems);
        };
        let text = &*text;
        let format = match reading.format {
            Format::Detect => detect(file, text),
            format => format,
        };
        let movements = match format {
            Format::Setdest | Format::Detect => setdest::read(text, reading, &mut problems),
            Format::Bonnmotion => bonnmotion::read(text, reading, &mut problems),
            Format::Csv => csv::read(text, reading, &mut problems),
            Format::Gpx => gpx::read(text, reading, &mut problems),
            Format::Ulog if text.starts_with(ulog::MAGIC) => ulog::read(text, reading, &mut problems),
            Format::Ulog => {
                problems.push(None, "", "a log of PX4, which begins with \"ULog\"");
                return Err(problems);
            }
        };
        if problems.is_empty() && movements.is_empty() {
            problems.push(None, "", "at least one node");
            movements.others.report(&mut problems);
        }
        if problems.is_empty() { Ok(movements) } else { Err(problems) }
    }
}

/// The format, as the first bytes say, or the first line that says something. Where that line is not certain, the
/// ending of the file's name decides.
fn detect(file: &str, text: &[u8]) -> Format {
    let ends_with = |ending: &str| {
        let name = file.strip_suffix(".gz").unwrap_or(file);
        name.rsplit_once('.').is_some_and(|(_, it)| it.eq_ignore_ascii_case(ending))
    };
    let mut said = lines(text).map(|(_, line)| line.trim().to_owned());
    let Some(line) = said.find(|line| !line.is_empty() && !line.starts_with('#')) else { return Format::Setdest };
    match line.chars().next() {
        _ if text.starts_with(ulog::MAGIC) => Format::Ulog,
        Some('<') => Format::Gpx,
        Some('$') => Format::Setdest,
        _ if csv::is_header(&line) || ends_with("csv") || ends_with("tsv") => Format::Csv,
        _ if ends_with("gpx") => Format::Gpx,
        Some(c) if c.is_ascii_digit() || matches!(c, '.' | '+' | '-') => Format::Bonnmotion,
        // Tcl has no commas and no tabs between its words.
        _ if line.contains([',', '\t']) => Format::Csv,
        _ => Format::Setdest,
    }
}

#[cfg(test)]
mod tests;
