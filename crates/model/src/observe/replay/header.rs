//! The header of a replay: the facts about the run, and the words that its tables refer to by number.

use serde::Serialize;

/// The origin of a run.
#[derive(Clone, Debug, Serialize)]
pub struct Origin {
    /// The name of the scenario.
    pub scenario: String,
    /// The settings of this case, as key and value.
    pub settings: Vec<(String, String)>,
    /// The hash of the configuration.
    pub config: String,
    /// The seed.
    pub seed: u64,
    /// The number of the run.
    pub run: u64,
    /// The version of the simulator.
    pub version: String,
    /// The digest of the run.
    pub digest: String,
}

/// An interface.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Interface {
    /// Its node.
    pub node: u32,
    /// The number of its channel, if it is a radio.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub channel: Option<u16>,
    /// The node at the other end, if it is an end of a wire.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wire: Option<u32>,
}

/// A flow.
#[derive(Clone, Debug, Serialize)]
pub struct Flow {
    /// The node that the data come from.
    pub from: u32,
    /// The node that the data go to.
    pub to: u32,
    /// Its label.
    pub label: String,
    /// Whether its transport is TCP of the simulator.
    pub tcp: bool,
}

/// An obstacle: a box, in metres, as it is seen from above.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Obstacle {
    /// The corner in the south-west.
    pub low: [f64; 2],
    /// The corner in the north-east.
    pub high: [f64; 2],
}

/// A jammer. Times are in microseconds.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Jammer {
    /// Its node.
    pub node: u32,
    /// When its first period begins.
    pub from: u64,
    /// When it stops.
    pub until: u64,
    /// The time from period to period.
    pub period: u64,
    /// How long it radiates in each period.
    pub on: u64,
}

/// What frames have in common.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Shape {
    /// The kind of the frame, such as `rts` or `data`.
    pub kind: &'static str,
    /// The kind of the packet in it, or nothing.
    pub content: &'static str,
    /// Whether it was sent before.
    pub retry: bool,
    /// The time on the air in nanoseconds.
    pub airtime: u64,
    /// The way in which its bits are sent, such as `2 Mbps`.
    pub mode: String,
}

/// A table, as the header describes it.
#[derive(Clone, Debug, Serialize)]
pub struct Table {
    /// Its name.
    pub name: &'static str,
    /// The number of rows.
    pub rows: usize,
    /// The number of rows before it was thinned.
    pub seen: u64,
    /// Every 2^level-th slice has its rows in the table.
    pub level: u32,
    /// Columns: the name, and the length in bytes.
    pub columns: Vec<(&'static str, usize)>,
}

/// The header.
#[derive(Debug, Serialize)]
pub struct Header<'a> {
    /// The origin of the run.
    pub origin: &'a Origin,
    /// How long the run lasts, in microseconds.
    pub duration: u64,
    /// How long a slice of it is, in microseconds.
    pub slice: u64,
    /// The number of nodes.
    pub nodes: usize,
    /// The interfaces, in the order of their numbers.
    pub interfaces: &'a [Interface],
    /// The flows, in the order of their numbers.
    pub flows: &'a [Flow],
    /// For each channel the distance in metres up to which a broadcast can be decoded, if distance alone decides.
    pub ranges: &'a [Option<f64>],
    /// The obstacles.
    pub obstacles: &'a [Obstacle],
    /// The jammers.
    pub jammers: &'a [Jammer],
    /// The shapes of frames.
    pub shapes: Vec<Shape>,
    /// The reasons of drops.
    pub reasons: Vec<&'static str>,
    /// The kinds of packets that were dropped.
    pub contents: Vec<&'static str>,
    /// The paths of data packets, each from its first node to its last one.
    pub paths: Vec<Vec<u32>>,
    /// The tables.
    pub tables: Vec<Table>,
}
