//! The state of a network at one moment of a run: rows for positions, queues and routes, and counters of packets.

use serde::{Deserialize, Serialize};

/// A row for each node with a radio: where it is, and how it moves.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PositionRow {
    /// The node's number.
    pub node: u32,
    /// Metres to the east.
    pub x_m: f64,
    /// Metres to the north.
    pub y_m: f64,
    /// Metres up.
    pub z_m: f64,
}

/// A row for each queue: one at each radio, and one at each end of a wire.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct QueueRow {
    /// The node's number.
    pub node: u32,
    /// The IPv4 address of the interface.
    pub interface: String,
    /// The attachment of the interface: `radio` or `wire`.
    pub attached: &'static str,
    /// The packets that wait now. The one that is being sent has left the queue.
    pub packets: u64,
    /// The time-weighted mean length since the start of the run, in packets.
    pub mean: f64,
    /// The maximum length since the start of the run, in packets.
    pub max: u64,
}

/// A row for each destination to which a node has a way.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RouteRow {
    /// The number of the destination's node.
    pub destination: u32,
    /// The IPv4 address of the destination.
    pub address: String,
    /// The number of the next hop's node.
    pub next_hop: u32,
    /// The IPv4 address of the next hop. Through a tunnel, this is its other end.
    pub next_address: String,
    /// How many hops the routing protocol counts to the destination; nothing where the table of prefixes decides.
    pub hops: Option<u8>,
}

/// Counters of packets from the start of the run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Events carried out.
    pub events: u64,
    /// Frames sent.
    pub frames: u64,
    /// Packets made, by kind.
    pub originated: Vec<(&'static str, u64)>,
    /// Copies made by receivers of a frame.
    pub copied: u64,
    /// Packets that reached the protocol that they were for.
    pub delivered: u64,
    /// The senders' copies of frames that were acknowledged or broadcast.
    pub handed_over: u64,
    /// Packets dropped for any reason.
    pub dropped: u64,
    /// Packets that exist now. Each packet that was made or copied is delivered, handed over, dropped, or exists.
    pub existing: u64,
}
