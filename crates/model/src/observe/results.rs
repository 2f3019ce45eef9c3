//! The tables of a run: flat rows, one for each kind of drop, each type of message, each sample.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::row::Row;
use crate::context::DropReason;

/// A row for each node, kind of packet and reason with at least one drop. Counts belong to the whole run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DropRow {
    /// The node's number.
    pub node: u32,
    /// The kind of packet: `data`, `ack`, `routing`, `arp`, `icmp`, `control` (agents) or `external` (datagrams
    /// from outside).
    #[schemars(extend("closed" = true))]
    pub kind: &'static str,
    /// Why the packets were dropped, such as `queue_full`.
    #[schemars(extend("values" = DropReason::ALL.iter().map(|it| it.name()).collect::<Vec<_>>()))]
    pub reason: &'static str,
    /// How many packets were dropped.
    #[schemars(extend("unit" = "packets"))]
    pub count: u64,
}

impl Row for DropRow {}

/// A row for each node and type of message that its routing protocol or one of its agents sent or received. Nodes that
/// are Linux kernels also have the messages of address resolution and neighbour discovery. Counts belong to the whole
/// run; a transmission counts at every hop.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OverheadRow {
    /// The node's number.
    pub node: u32,
    /// Whose message it is: `routing`, `control` (agents), or `arp` (address resolution of kernels).
    #[schemars(extend("closed" = true))]
    pub kind: &'static str,
    /// The type of the message, such as `RREQ`.
    pub message: &'static str,
    /// Messages sent or forwarded in packets of the protocol. A packet may carry several messages.
    #[schemars(extend("unit" = "messages"))]
    pub sent: u64,
    /// Their bytes. IP's header, and every other header of a packet with several messages, counts for the first one.
    #[schemars(extend("unit" = "bytes"))]
    pub sent_bytes: u64,
    /// How often these messages went out at radios. A broadcast at several interfaces is one message in `sent`, and
    /// counts here for each of them.
    #[schemars(extend("unit" = "messages"))]
    pub sent_radio: u64,
    /// The bytes of `sent_radio`.
    #[schemars(extend("unit" = "bytes"))]
    pub sent_radio_bytes: u64,
    /// How often they went out by wires, likewise.
    #[schemars(extend("unit" = "messages"))]
    pub sent_wire: u64,
    /// The bytes of `sent_wire`.
    #[schemars(extend("unit" = "bytes"))]
    pub sent_wire_bytes: u64,
    /// Messages that this node made, and did not forward for others. A message that a node sends in answer to one of
    /// the same type counts as forwarded.
    #[schemars(extend("unit" = "messages"))]
    pub originated: u64,
    /// Bytes of `originated`.
    #[schemars(extend("unit" = "bytes"))]
    pub originated_bytes: u64,
    /// Messages sent or forwarded within packets of others, such as source routes in data packets.
    #[schemars(extend("unit" = "messages"))]
    pub piggybacked: u64,
    /// Bytes of `piggybacked`.
    #[schemars(extend("unit" = "bytes"))]
    pub piggybacked_bytes: u64,
    /// Messages in packets from neighbours that reached this node, also those that it knew already.
    #[schemars(extend("unit" = "messages"))]
    pub received: u64,
}

impl Row for OverheadRow {}

/// A row for each sample of a quantity of a flow.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SeriesRow {
    /// The flow's number.
    pub flow: u32,
    /// Simulated time of the sample.
    #[schemars(extend("unit" = "s"))]
    pub time_s: f64,
    /// The name of the quantity.
    pub quantity: &'static str,
    /// The unit of `value`.
    pub unit: &'static str,
    /// The value of the quantity.
    pub value: f64,
}

impl Row for SeriesRow {}

/// A row for each program that ran at a node in simulated time (`[[host]]`).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ProgramRow {
    /// The program's number: 0, 1, 2 and so on in the order of the scenario.
    pub program: u32,
    /// The node's number.
    pub node: u32,
    /// The program and its arguments.
    pub command: String,
    /// Simulated time at which it began; empty if the run ended before.
    #[schemars(extend("unit" = "s"))]
    pub began_s: Option<f64>,
    /// Simulated time at which it ended by itself; empty if it ran until the end of the run.
    #[schemars(extend("unit" = "s"))]
    pub ended_s: Option<f64>,
    /// Its exit status if it ended by itself; 128 and the signal's number if a signal ended it.
    pub status: Option<i32>,
    /// What it wrote to its standard output.
    pub output: String,
    /// What it wrote to its standard error.
    pub errors: String,
}

impl Row for ProgramRow {}
