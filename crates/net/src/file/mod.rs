//! Input files of scenarios: their text, their lines, and the faults that a reader finds.
//!
//! A caller reads the bytes, because models do no input.

mod bad_file;
pub mod table;

use std::borrow::Cow;
use std::io::Read;

pub use self::bad_file::{BadFile, BadLine};
pub use self::bad_file::{MAX_FAULTS, shown};

/// An inflated file is at most this many bytes long: two thousand nodes with a thousand legs each in setdest's format.
const MAX_TEXT: u64 = 256 << 20;
/// A file has at most this many lines: several times as many as setdest writes into a text of the largest size.
pub const MAX_LINES: usize = 10_000_000;

/// The text of a file, inflated if it is compressed with gzip; nothing if it has a fault.
pub fn text_of<'a>(bytes: &'a [u8], problems: &mut BadFile) -> Option<Cow<'a, [u8]>> {
    /// Editors of Windows begin a text in UTF-8 with a byte order mark.
    const MARK: &[u8] = b"\xef\xbb\xbf";
    let text = match inflate(bytes, problems)? {
        Cow::Borrowed(text) => Cow::Borrowed(text.strip_prefix(MARK).unwrap_or(text)),
        Cow::Owned(mut text) => {
            if text.starts_with(MARK) {
                text.drain(..MARK.len());
            }
            Cow::Owned(text)
        }
    };
    if text.iter().filter(|byte| **byte == b'\n').count() > MAX_LINES {
        problems.push(None, "", format!("at most {} million lines", MAX_LINES / 1_000_000));
        return None;
    }
    Some(text)
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

/// The lines with their numbers, from one; without line ends, and as text in which bytes that are none have been
/// replaced.
pub fn lines(text: &[u8]) -> impl Iterator<Item = (usize, Cow<'_, str>)> {
    text.split(|&byte| byte == b'\n').enumerate().map(|(i, line)| (i + 1, String::from_utf8_lossy(line)))
}
