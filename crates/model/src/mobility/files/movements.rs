//! The movements of a file's nodes.

use hopyard_engine::units::{Distance, Speed};
use hopyard_engine::{Span, Time};

use super::globe::Globe;
use super::track::{Fix, Track};
use crate::file::{BadFile, shown};
use crate::mobility::leg::Position;

/// The description of a line of a file for ns-2.
pub(super) const A_LINE: &str =
    "\"$node_(i) set X_ v\", \"$ns_ at t \"$node_(i) setdest x y s\"\", \"$god_ ...\" or a comment";

/// The movements of a file's nodes.
#[derive(Clone, Debug, PartialEq)]
pub struct Movements {
    /// By number; some tools count from one, so that there may be gaps.
    pub(super) tracks: Vec<Option<Track>>,
    /// The facts in the file's comments.
    pub record: Record,
    /// Lines of a script that are no part of the movement.
    pub(super) others: Others,
    /// Nodes without a start: number, and the first line that names the node.
    pub(super) without_start: Vec<(u32, usize)>,
    /// The fault of a log that is readable up to its end.
    pub(super) cut: Option<String>,
    /// The place and the time of a recorded track that became zero.
    pub(super) zero: Option<Zero>,
}

/// The zero of a recorded track.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Zero {
    /// The place on the globe that became (0, 0), if the track is on the globe.
    pub origin: Option<Globe>,
    /// The time in the file at which the run starts, in seconds.
    pub epoch: f64,
    /// The first and the last time in the file, in seconds.
    pub times: (f64, f64),
}

impl Movements {
    pub(super) fn new(tracks: Vec<Option<Track>>, record: Record) -> Self {
        Self { tracks, record, others: Others::default(), without_start: Vec::new(), cut: None, zero: None }
    }

    /// The place and the time of a recorded track that became zero.
    #[must_use]
    pub const fn zero(&self) -> Option<&Zero> {
        self.zero.as_ref()
    }

    /// When the first movement begins; nothing if no node moves.
    #[must_use]
    pub fn begin(&self) -> Option<Time> {
        let moves = |pair: &&[Fix]| pair[0].position != pair[1].position;
        let begins = |track: &Track| track.fixes().windows(2).find(moves).map(|pair| pair[0].at);
        self.tracks.iter().flatten().filter_map(begins).min()
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

    /// The remarks for a user who reads the file: lines that were not read, starts that are not in the
    /// file, and the end of a log that is cut.
    #[must_use]
    pub fn remarks(&self) -> Vec<String> {
        let starts = self.without_start.first().map(|(node, line)| {
            let more = match self.without_start.len() {
                1 => String::new(),
                2 => ", and so does 1 other node".to_owned(),
                count => format!(", and so do {} other nodes", count - 1),
            };
            format!("line {line}: node {node} starts at 0 m on each axis that no line sets, as in ns-2{more}")
        });
        self.others.remark().into_iter().chain(starts).chain(self.cut.clone()).collect()
    }

    /// When the last movement ends.
    #[must_use]
    pub fn end(&self) -> Time {
        let ends = self.tracks.iter().flatten().filter_map(|track| track.fixes().last());
        ends.map(|fix| fix.at).max().unwrap_or(Time::ZERO)
    }

    /// The lower south-western and the upper north-eastern corner of the smallest box that holds all positions.
    #[must_use]
    pub fn extent(&self) -> Option<(Position, Position)> {
        let positions = self.tracks.iter().flatten().flat_map(|track| track.fixes()).map(|fix| fix.position);
        positions.map(|p| (p, p)).reduce(|(low, high), (p, _)| {
            (
                Position { x: low.x.min(p.x), y: low.y.min(p.y), z: low.z.min(p.z) },
                Position { x: high.x.max(p.x), y: high.y.max(p.y), z: high.z.max(p.z) },
            )
        })
    }
}

/// How many other lines are kept with their text.
const MAX_SHOWN: usize = 3;

/// Lines of a script that are no part of the movement, for example lines that create the nodes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Others {
    /// The first ones: number and text.
    first: Vec<(usize, String)>,
    /// How many there are.
    count: usize,
}

impl Others {
    pub(super) fn push(&mut self, line: usize, text: &str) {
        self.count += 1;
        if self.first.len() < MAX_SHOWN {
            self.first.push((line, shown(text)));
        }
    }

    fn remark(&self) -> Option<String> {
        let named: Vec<_> = self.first.iter().map(|(line, text)| format!("line {line} \"{text}\"")).collect();
        let first = named.join(", ");
        match self.count {
            0 => None,
            1 => Some(format!("1 line that is no movement was not read: {first}")),
            count if count == named.len() => Some(format!("{count} lines that are no movement were not read: {first}")),
            count => Some(format!("{count} lines that are no movement were not read, first {first}")),
        }
    }

    /// Reports the first lines of a file that has nothing else.
    pub(super) fn report(&self, problems: &mut BadFile) {
        for (line, text) in &self.first {
            problems.push(Some(*line), text, A_LINE);
        }
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
