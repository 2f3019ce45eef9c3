//! Inputs for fuzz targets: sound texts, spoilt by edits that know where words and lines begin.
//!
//! Random bytes hardly ever get past the first word of a line. So a target also starts from sound texts (its seeds) and
//! applies a few random edits, with the words that its reader knows and some that are hard on any reader. What is
//! edited, and how, is drawn by bolero, which can shrink it when a target fails.

use bolero::TypeGenerator;

/// One change to a text. Places count from the start and wrap around at the end.
#[derive(Clone, Debug, TypeGenerator)]
pub enum Edit {
    /// Puts a word in the place of another.
    ReplaceWord {
        /// Which word of the text.
        place: u16,
        /// Which word of the vocabulary.
        word: u16,
    },
    /// Puts a word before another.
    InsertWord {
        /// Which word of the text.
        place: u16,
        /// Which word of the vocabulary.
        word: u16,
    },
    /// Takes a word away.
    DeleteWord {
        /// Which word of the text.
        place: u16,
    },
    /// Copies a line to the place before another.
    CopyLine {
        /// Which line.
        from: u16,
        /// Before which.
        to: u16,
    },
    /// Takes a line away.
    DeleteLine {
        /// Which line.
        place: u16,
    },
    /// Overwrites a byte.
    Byte {
        /// Which byte.
        place: u16,
        /// With what.
        value: u8,
    },
    /// Ends the text early.
    Cut {
        /// After how many bytes.
        place: u16,
    },
}

/// Which seed to start from, and what to do to it.
#[derive(Clone, Debug, TypeGenerator)]
pub struct Spoilt {
    /// Which seed.
    pub seed: u8,
    /// The edits; only the first twelve count.
    pub edits: Vec<Edit>,
}

/// Numbers and signs that are hard on any reader.
const HARD_WORDS: &[&str] = &[
    "",
    "0",
    "-0",
    "-1",
    "1",
    "1e9",
    "-1e9",
    "1e-320",
    "1e308",
    "1e400",
    "nan",
    "inf",
    "-inf",
    "0x10",
    "1_000",
    "00001",
    "1.",
    ".5",
    "+",
    "-",
    ".",
    "18446744073709551616",
    "4294967295",
    "4294967296",
    "é",
    "\u{feff}",
    "\u{0}",
    "\r",
    "\n",
    "#",
    "\"",
    "{",
    "}",
    "[",
    "]",
    "(",
    ")",
    "$",
    ";",
    ",",
    "=",
    ":",
    "|",
    "\\",
];

impl Spoilt {
    /// The text.
    ///
    /// # Panics
    /// When there is no seed.
    #[must_use]
    pub fn text(&self, seeds: &[&str], vocabulary: &[&str]) -> Vec<u8> {
        let mut text = seeds[usize::from(self.seed) % seeds.len()].as_bytes().to_vec();
        for edit in self.edits.iter().take(12) {
            edit.apply(&mut text, vocabulary);
        }
        text
    }
}

impl Edit {
    fn apply(&self, text: &mut Vec<u8>, vocabulary: &[&str]) {
        let word_of = |word: u16| {
            let word = usize::from(word) % (vocabulary.len() + HARD_WORDS.len());
            vocabulary.get(word).unwrap_or_else(|| &HARD_WORDS[word - vocabulary.len()]).bytes()
        };
        match *self {
            Self::ReplaceWord { place, word } => {
                let (start, end) = span(text, place, |byte| byte.is_ascii_whitespace());
                text.splice(start..end, word_of(word));
            }
            Self::InsertWord { place, word } => {
                let (start, _) = span(text, place, |byte| byte.is_ascii_whitespace());
                text.splice(start..start, word_of(word).chain([b' ']));
            }
            Self::DeleteWord { place } => {
                let (start, end) = span(text, place, |byte| byte.is_ascii_whitespace());
                text.drain(start..end);
            }
            Self::CopyLine { from, to } => {
                let (start, end) = span(text, from, |byte| byte == b'\n');
                let line: Vec<_> = text[start..end].iter().copied().chain([b'\n']).collect();
                let (start, _) = span(text, to, |byte| byte == b'\n');
                text.splice(start..start, line);
            }
            Self::DeleteLine { place } => {
                let (start, end) = span(text, place, |byte| byte == b'\n');
                text.drain(start..(end + 1).min(text.len()));
            }
            Self::Byte { place, value } => {
                let length = text.len().max(1);
                if let Some(byte) = text.get_mut(usize::from(place) % length) {
                    *byte = value;
                }
            }
            Self::Cut { place } => text.truncate(usize::from(place) % (text.len() + 1)),
        }
    }
}

/// Where a piece between separators starts and ends.
fn span(text: &[u8], place: u16, separates: fn(u8) -> bool) -> (usize, usize) {
    let mut starts: Vec<_> =
        (0..text.len()).filter(|&i| !separates(text[i]) && (i == 0 || separates(text[i - 1]))).collect();
    if starts.is_empty() {
        starts.push(0);
    }
    let start = starts[usize::from(place) % starts.len()];
    let length = text[start..].iter().position(|&byte| separates(byte)).unwrap_or(text.len() - start);
    (start, start + length)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edited(text: &str, edits: &[Edit]) -> String {
        let spoilt = Spoilt { seed: 0, edits: edits.to_vec() };
        String::from_utf8(spoilt.text(&[text], &["set", "at"])).expect("the edits keep text")
    }

    #[test]
    fn edits_know_words_and_lines() {
        let text = "one two\nthree\n";
        assert_eq!(edited(text, &[Edit::ReplaceWord { place: 1, word: 0 }]), "one set\nthree\n");
        assert_eq!(edited(text, &[Edit::InsertWord { place: 5, word: 1 }]), "one two\nat three\n");
        assert_eq!(edited(text, &[Edit::DeleteWord { place: 0 }]), " two\nthree\n");
        assert_eq!(edited(text, &[Edit::CopyLine { from: 1, to: 0 }]), "three\none two\nthree\n");
        assert_eq!(edited(text, &[Edit::DeleteLine { place: 0 }]), "three\n");
        assert_eq!(edited(text, &[Edit::Byte { place: 2, value: b'!' }]), "on! two\nthree\n");
        assert_eq!(edited(text, &[Edit::Cut { place: 3 }]), "one");
    }

    #[test]
    fn an_empty_text_can_be_edited() {
        let edits = [
            Edit::DeleteWord { place: 7 },
            Edit::DeleteLine { place: 7 },
            Edit::Byte { place: 7, value: 7 },
            Edit::Cut { place: 7 },
            Edit::CopyLine { from: 7, to: 7 },
            Edit::ReplaceWord { place: 7, word: 1 },
        ];
        assert_eq!(edited("", &edits), "at\n");
    }
}
