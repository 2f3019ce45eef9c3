//! Reads a movement file of either format.

use std::borrow::Cow;
use std::io::Read;

use super::bad_file::BadFile;
use super::movements::Movements;
use super::text::{Format, Reading, lines};
use super::{bonnmotion, setdest};

/// An inflated file is at most this many bytes long: two thousand nodes with a thousand legs each in setdest's format.
const MAX_TEXT: u64 = 256 << 20;
/// A file has at most this many lines: several times as many as setdest writes into a text of the largest size.
const MAX_LINES: usize = 10_000_000;

impl Movements {
    /// Reads the bytes of a movement file; `file` is its name, for messages.
    ///
    /// # Errors
    /// Every line that is broken.
    pub fn read(file: &str, bytes: &[u8], reading: &Reading) -> Result<Self, BadFile> {
        let mut problems = BadFile::new(file);
        let Some(text) = inflate(bytes, &mut problems) else {
            return Err(problems);
        };
        // Editors of Windows begin a text in UTF-8 with a byte order mark.
        let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&text);
        if text.iter().filter(|byte| **byte == b'\n').count() > MAX_LINES {
            problems.push(None, "", format!("at most {} million lines", MAX_LINES / 1_000_000));
            return Err(problems);
        }
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

/// The bytes themselves, or their content when they are compressed with gzip (RFC 1952).
fn inflate<'a>(bytes: &'a [u8], problems: &mut BadFile) -> Option<Cow<'a, [u8]>> {
    if !bytes.starts_with(&[0x1f, 0x8b]) {
        return Some(Cow::Borrowed(bytes));
    }
    let mut text = Vec::new();
    // Several gzip members in succession are one file (RFC 1952 §2.2).
    match flate2::read::MultiGzDecoder::new(bytes).take(MAX_TEXT + 1).read_to_end(&mut text) {
        Ok(length) if length as u64 <= MAX_TEXT => Some(Cow::Owned(text)),
        Ok(_) => {
            problems.push(None, "", format!("at most {} MiB of inflated text", MAX_TEXT >> 20));
            None
        }
        Err(error) => {
            problems.push(None, &error.to_string(), "an undamaged gzip file");
            None
        }
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
