//! Movement from a file: the common part of both formats.
//!
//! [`super::setdest`] reads the files of ns-2's setdest and of the many tools that write the same format,
//! [`super::bonnmotion`] the native files of BonnMotion. Both can be compressed with gzip. The caller reads the bytes,
//! because models do no input.
//!
//! Reading is strict. Every line that cannot be understood is counted, the first twenty are reported with their text,
//! and reading ends at the thousandth. A position outside the area is an error: ns-2.35 stops with a Tcl error in the
//! middle of the run when a destination lies outside. The plane is two-dimensional: a file whose heights differ is
//! refused.

use std::borrow::Cow;
use std::fmt;
use std::io::Read;

use hopyard_engine::units::{Distance, Speed};
use hopyard_engine::{Rng, Span, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::track::{Follower, Track};
use super::{BuildError, Leg, Mobility, Position, Spec, bonnmotion, setdest};
use crate::address::NodeId;
use crate::params;

/// Node numbers in files stay below this, so that a mistyped number does not fill the memory.
pub(super) const MAX_NODES: u32 = 1_000_000;
/// Positions lie within this many metres of the origin.
const MAX_COORDINATE: f64 = 1e9;
/// Times lie below this many seconds: fifty years.
const MAX_SECONDS: f64 = 1.6e9;
/// An inflated file is at most this many bytes long: two thousand nodes with a thousand legs each in setdest's format.
const MAX_TEXT: u64 = 256 << 20;
/// A file has at most this many lines: several times as many as setdest writes into a text of the largest size.
const MAX_LINES: usize = 10_000_000;
/// How many broken lines are reported with their text.
const MAX_REPORTED: usize = 20;
/// After this many faults the rest of a file is not read: the answer would take long and say nothing new.
pub(super) const MAX_FAULTS: usize = 1_000;

/// The formats of movement files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Format {
    /// Detected from the first line that is not a comment.
    Detect,
    /// ns-2's Tcl lines.
    Setdest,
    /// BonnMotion's native format.
    Bonnmotion,
}

/// How many coordinates a BonnMotion file gives for each time; the file itself does not say, nor reliably does its
/// `.params`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Dimensions {
    /// The number for which all times increase; two if both are possible.
    Detect,
    /// Time, x and y.
    Two,
    /// Time, x, y and height.
    Three,
}

/// Which file, and how to read it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Params {
    /// The file, relative to the folder of the scenario; ".gz" files are decompressed.
    pub path: String,
    /// Its format: "setdest", "bonnmotion", or "detect".
    pub format: Format,
    /// For BonnMotion files, how many coordinates there are: "two", "three", or "detect".
    pub dimensions: Dimensions,
    /// The number that the scenario's first node has in the file; some tools count from one.
    pub first_node: u32,
}

impl params::Params for Params {
    fn of_profile(_profile: &str) -> Self {
        Self { path: String::new(), format: Format::Detect, dimensions: Dimensions::Detect, first_node: 0 }
    }
}

/// A node that follows its track in the file.
#[derive(Clone, Debug)]
pub struct MovementFile(Follower);

impl MovementFile {
    /// The movement of `node` as the file prescribes it.
    pub(super) fn build(params: &Params, node: NodeId, spec: &Spec<'_>, _: Rng) -> Result<Self, BuildError> {
        let movements = spec.movements.ok_or_else(|| BuildError::NotRead { path: params.path.clone() })?;
        let number = u64::from(params.first_node) + u64::from(node.0);
        let track = u32::try_from(number).ok().and_then(|number| movements.track(number)).ok_or_else(|| {
            let mut numbers = movements.numbers();
            let first = numbers.next().unwrap_or(0);
            let last = numbers.next_back().unwrap_or(first);
            BuildError::NoSuchNode { path: params.path.clone(), number, nodes: movements.len(), first, last }
        })?;
        Ok(Self(track.follow()))
    }
}

impl Mobility for MovementFile {
    fn next_leg(&mut self) -> Leg {
        self.0.next_leg()
    }
}

/// How a file is to be read.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reading {
    /// The format.
    pub format: Format,
    /// For BonnMotion files, how many coordinates there are.
    pub dimensions: Dimensions,
    /// The area that positions must not leave, width and height, its border included; unchecked when it is not given.
    pub area: Option<(Distance, Distance)>,
}

impl Default for Reading {
    fn default() -> Self {
        Self { format: Format::Detect, dimensions: Dimensions::Detect, area: None }
    }
}

/// The movements of a file's nodes.
#[derive(Clone, Debug, PartialEq)]
pub struct Movements {
    /// By number; some tools count from one, so that there may be gaps.
    tracks: Vec<Option<Track>>,
    /// What the file's comments say of it.
    pub record: Record,
}

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
        if text.iter().filter(|byte| **byte == b'\n').count() > MAX_LINES {
            problems.push(None, "", format!("at most {} million lines", MAX_LINES / 1_000_000));
            return Err(problems);
        }
        let movements = match reading.format {
            Format::Setdest => setdest::read(&text, reading, &mut problems),
            Format::Bonnmotion => bonnmotion::read(&text, reading, &mut problems),
            Format::Detect if is_bonnmotion(&text) => bonnmotion::read(&text, reading, &mut problems),
            Format::Detect => setdest::read(&text, reading, &mut problems),
        };
        if problems.is_empty() && movements.is_empty() {
            problems.push(None, "", "at least one node");
        }
        if problems.is_empty() { Ok(movements) } else { Err(problems) }
    }

    pub(super) fn new(tracks: Vec<Option<Track>>, record: Record) -> Self {
        Self { tracks, record }
    }

    /// The track of the node with this number in the file.
    #[must_use]
    pub fn track(&self, number: u32) -> Option<&Track> {
        self.tracks.get(number as usize)?.as_ref()
    }

    /// The numbers of the file's nodes, in increasing order.
    pub fn numbers(&self) -> impl DoubleEndedIterator<Item = u32> + '_ {
        self.tracks.iter().enumerate().filter_map(|(number, track)| track.as_ref().map(|_| number as u32))
    }

    /// How many nodes there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.tracks.iter().flatten().count()
    }

    /// Whether the file has no node.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// When the last movement ends.
    #[must_use]
    pub fn end(&self) -> Time {
        let ends = self.tracks.iter().flatten().filter_map(|track| track.fixes().last());
        ends.map(|fix| fix.at).max().unwrap_or(Time::ZERO)
    }

    /// The south-western and the north-eastern corner of the smallest rectangle that holds all positions.
    #[must_use]
    pub fn extent(&self) -> Option<(Position, Position)> {
        let positions = self.tracks.iter().flatten().flat_map(|track| track.fixes()).map(|fix| fix.position);
        positions.map(|p| (p, p)).reduce(|(low, high), (p, _)| {
            (Position { x: low.x.min(p.x), y: low.y.min(p.y) }, Position { x: high.x.max(p.x), y: high.y.max(p.y) })
        })
    }
}

/// The content of a file's comments: the header and the trailer of setdest. Nothing depends on it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Record {
    /// How many nodes.
    pub nodes: Option<u32>,
    /// 1 for speeds drawn uniformly, 2 for normal ones (second version).
    pub speed_type: Option<u32>,
    /// The lowest speed (second version).
    pub min_speed: Option<Speed>,
    /// The highest speed.
    pub max_speed: Option<Speed>,
    /// The mean speed in the steady state (second version).
    pub average_speed: Option<Speed>,
    /// 1 for constant pauses, 2 for uniform ones (second version).
    pub pause_type: Option<u32>,
    /// The pause, or its median.
    pub pause: Option<Span>,
    /// The area's length from west to east.
    pub width: Option<Distance>,
    /// The area's length from south to north.
    pub height: Option<Distance>,
    /// How often a destination could not be reached, by shortest paths at a range of 250 m.
    pub destinations_unreachable: Option<u64>,
    /// How often a shortest path changed its length.
    pub route_changes: Option<u64>,
    /// How often a link came or went.
    pub link_changes: Option<u64>,
    /// Route changes and link changes of each node, by its number in the file.
    pub node_changes: Vec<NodeChanges>,
}

/// One line of the trailer's table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NodeChanges {
    /// The node's number.
    pub node: u32,
    /// How often one of its shortest paths changed its length.
    pub route_changes: u64,
    /// How often one of its links came or went.
    pub link_changes: u64,
}

/// A line that cannot be read, or an error of the whole file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadLine {
    /// The line's number, counted from one; `None` for an error of the whole file.
    pub line: Option<usize>,
    /// The wrong text, shortened.
    pub found: String,
    /// What was expected.
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

/// A movement file that cannot be read: the first twenty faults, and how many were found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadFile {
    /// The file's name.
    pub file: String,
    /// The first faults.
    pub lines: Vec<BadLine>,
    /// How many faults there are in what was read.
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

impl BadFile {
    pub(super) fn new(file: &str) -> Self {
        Self { file: file.to_owned(), lines: Vec::new(), count: 0, ended_at: None }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Whether there are so many faults that this line and those after it are not to be read.
    pub(super) fn ends_at(&mut self, line: usize) -> bool {
        let ends = self.count >= MAX_FAULTS;
        if ends {
            self.ended_at = Some(line);
        }
        ends
    }

    /// Adds a fault, in full when it is one of the first.
    pub(super) fn push(&mut self, line: Option<usize>, found: &str, expected: impl Into<String>) {
        self.count += 1;
        if self.lines.len() < MAX_REPORTED {
            let found = found.trim();
            // Control characters would disturb a terminal.
            let printable = |c: char| if c.is_control() { char::REPLACEMENT_CHARACTER } else { c };
            let mut shown: String = found.chars().take(100).map(printable).collect();
            if found.chars().nth(100).is_some() {
                shown.push_str(" ...");
            }
            self.lines.push(BadLine { line, found: shown, expected: expected.into() });
        }
    }
}

/// The bytes themselves, or what is inside when they are compressed with gzip (RFC 1952).
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
pub(super) fn lines(text: &[u8]) -> impl Iterator<Item = (usize, Cow<'_, str>)> {
    text.split(|&byte| byte == b'\n').enumerate().map(|(i, line)| (i + 1, String::from_utf8_lossy(line)))
}

/// Whether the first line that says something begins with a number.
fn is_bonnmotion(text: &[u8]) -> bool {
    lines(text)
        .find_map(|(_, line)| line.trim_start().chars().next().filter(|&c| c != '#'))
        .is_some_and(|c| c.is_ascii_digit() || matches!(c, '.' | '+' | '-'))
}

/// A number of moderate size.
fn number(text: &str) -> Option<f64> {
    text.parse::<f64>().ok().filter(|value| value.abs() <= MAX_COORDINATE)
}

pub(super) const COORDINATE: &str = "a coordinate in metres, within 1e9 m of the origin";
pub(super) const TIME: &str = "a time in seconds, from 0 to 1.6e9";
pub(super) const SPEED: &str = "a speed in metres a second, 0 or more";

/// A coordinate in metres.
pub(super) fn coordinate(text: &str) -> Result<f64, &'static str> {
    number(text).ok_or(COORDINATE)
}

/// A time in seconds.
pub(super) fn time(text: &str) -> Result<Time, &'static str> {
    let seconds = text.parse::<f64>().ok().filter(|seconds| (0.0..=MAX_SECONDS).contains(seconds)).ok_or(TIME)?;
    Ok(Time::ZERO + Span::from_secs_f64(seconds))
}

/// A speed in metres a second.
pub(super) fn speed(text: &str) -> Result<f64, &'static str> {
    number(text).filter(|&speed| speed >= 0.0).ok_or(SPEED)
}

/// Whether a position lies in the area, up to what twelve decimals cannot say.
pub(super) fn within(area: Option<(Distance, Distance)>, position: Position) -> Result<(), String> {
    const MARGIN: f64 = 1e-6;
    match area {
        Some((width, height))
            if !(-MARGIN..=width.metres() + MARGIN).contains(&position.x)
                || !(-MARGIN..=height.metres() + MARGIN).contains(&position.y) =>
        {
            Err(format!("a position in the area, {} by {} m", width.metres(), height.metres()))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests;
