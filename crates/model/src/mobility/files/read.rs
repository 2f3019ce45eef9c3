//! Reads a movement file of either format.

use super::movements::Movements;
use super::text::{Format, Reading};
use super::{bonnmotion, setdest};
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
        let movements = match reading.format {
            Format::Setdest => setdest::read(text, reading, &mut problems),
            Format::Bonnmotion => bonnmotion::read(text, reading, &mut problems),
            Format::Detect if is_bonnmotion(text) => bonnmotion::read(text, reading, &mut problems),
            Format::Detect => setdest::read(text, reading, &mut problems),
        };
        if problems.is_empty() && movements.is_empty() {
            problems.push(None, "", "at least one node");
            movements.others.report(&mut problems);
        }
        if problems.is_empty() { Ok(movements) } else { Err(problems) }
    }
}

/// Whether the first line that says something begins with a number.
fn is_bonnmotion(text: &[u8]) -> bool {
    lines(text)
        .find_map(|(_, line)| line.trim_start().chars().next().filter(|&c| c != '#'))
        .is_some_and(|c| c.is_ascii_digit() || matches!(c, '.' | '+' | '-'))
}

#[cfg(test)]
mod tests;
