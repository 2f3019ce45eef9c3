//! The movements of a file's nodes.

use hopyard_engine::units::{Distance, Speed};
use hopyard_engine::{Span, Time};

use super::track::Track;
use crate::mobility::leg::Position;

/// The movements of a file's nodes.
#[derive(Clone, Debug, PartialEq)]
pub struct Movements {
    /// By number; some tools count from one, so that there may be gaps.
    tracks: Vec<Option<Track>>,
    /// What the file's comments say of it.
    pub record: Record,
}

impl Movements {
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
