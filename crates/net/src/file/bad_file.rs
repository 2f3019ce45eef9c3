//! The faults of an input file.

use std::fmt;

/// How many broken lines are reported with their text.
const MAX_REPORTED: usize = 20;
/// After this many faults the rest of a file is not read: the answer would take long and say nothing new.
pub const MAX_FAULTS: usize = 1_000;

/// A line that cannot be read, or an error of the whole file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadLine {
    /// The line's number, counted from one; `None` for an error of the whole file.
    pub line: Option<usize>,
    /// The wrong text, shortened.
    pub found: String,
    /// The expected text.
    pub expected: String,
}

impl fmt::Display for BadLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(line) = self.line {
            write!(f, "{line}: ")?;
        }
        write!(f, "expected {}", self.expected)?;
        if self.found.is_empty() { Ok(()) } else { write!(f, ", found: {}", self.found) }
    }
}

/// A file that cannot be read: the first twenty faults, and how many were found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadFile {
    /// The file's name.
    pub file: String,
    /// The first faults.
    pub lines: Vec<BadLine>,
    /// The number of faults in the part that was read.
    pub count: usize,
    /// The line at which reading ended because there were too many faults; `None` if the whole file was read.
    pub ended_at: Option<usize>,
}

impl std::error::Error for BadFile {}

impl fmt::Display for BadFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, line) in self.lines.iter().enumerate() {
            let newline = if i == 0 { "" } else { "\n" };
            let space = if line.line.is_some() { "" } else { " " };
            write!(f, "{newline}{}:{space}{line}", self.file)?;
        }
        match (self.count - self.lines.len(), self.ended_at) {
            (0, _) => Ok(()),
            (more, None) => write!(f, "\n{}: and {more} more", self.file),
            (more, Some(line)) => write!(f, "\n{}: and {more} more up to line {line}, where reading ended", self.file),
        }
    }
}

/// The text of a line as it is shown: shortened, and without control characters, which would disturb a terminal.
pub fn shown(found: &str) -> String {
    let found = found.trim();
    let printable = |c: char| if c.is_control() { char::REPLACEMENT_CHARACTER } else { c };
    let mut shown: String = found.chars().take(100).map(printable).collect();
    if found.chars().nth(100).is_some() {
        shown.push_str(" ...");
    }
    shown
}

impl BadFile {
    /// No fault yet.
    pub fn new(file: &str) -> Self {
        Self { file: file.to_owned(), lines: Vec::new(), count: 0, ended_at: None }
    }

    /// Whether no fault was found.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Whether there are so many faults that this line and the lines after it are not to be read.
    pub fn ends_at(&mut self, line: usize) -> bool {
        let ends = self.count >= MAX_FAULTS;
        if ends {
            self.ended_at = Some(line);
        }
        ends
    }

    /// Adds the faults that another check of the file found.
    pub fn merge(&mut self, other: Self) {
        self.count += other.count;
        self.lines.extend(other.lines);
        self.lines.sort_by_key(|line| line.line);
        self.lines.truncate(MAX_REPORTED);
        self.ended_at = self.ended_at.or(other.ended_at);
    }

    /// Adds a fault, in full when it is one of the first.
    pub fn push(&mut self, line: Option<usize>, found: &str, expected: impl Into<String>) {
        self.count += 1;
        if self.lines.len() < MAX_REPORTED {
            self.lines.push(BadLine { line, found: shown(found), expected: expected.into() });
        }
    }
}
