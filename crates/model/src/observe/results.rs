//! The tables of a run: flat rows, one for each flow, each node, each kind of drop, each sample.

use std::sync::LazyLock;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::row::{Column, Row, fields};
use crate::context::DropReason;
use crate::params::Metric;
use crate::{agent, mac, mobility};

/// A row for each node of each run. Counts belong to the whole run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NodeRow {
    /// The node's number.
    pub node: u32,
    /// Packets forwarded for others.
    #[schemars(extend("unit" = "packets"))]
    pub forwarded: u64,
    /// Packets of the routing protocol that this node sent or forwarded.
    #[schemars(extend("unit" = "packets"))]
    pub routing_packets: u64,
    /// IP bytes of `routing_packets`.
    #[schemars(extend("unit" = "bytes"))]
    pub routing_bytes: u64,
    /// Bytes of the routing protocol in other packets that this node sent or forwarded, such as source routes in data
    /// packets.
    #[schemars(extend("unit" = "bytes"))]
    pub piggybacked_bytes: u64,
    /// Data packets for this node that arrived for the first time.
    #[schemars(extend("unit" = "packets"))]
    pub data_packets: u64,
    /// Payload that the applications at this node received in order, each byte once.
    #[schemars(extend("unit" = "bytes"))]
    pub data_bytes: u64,
    /// The simulated time of the run.
    #[schemars(extend("unit" = "s"))]
    pub simulated_s: f64,
    /// Frames of every kind that the node sent.
    #[schemars(extend("unit" = "frames"))]
    pub frames: u64,
    /// Unicast data frames sent, retries included.
    #[schemars(extend("unit" = "frames"))]
    pub data_frames: u64,
    /// Broadcast frames sent.
    #[schemars(extend("unit" = "frames"))]
    pub broadcasts: u64,
    /// Frames that this radio could not decode because of other frames.
    #[schemars(extend("unit" = "frames"))]
    pub collisions: u64,
    /// Frames that this radio could not decode because of bit errors.
    #[schemars(extend("unit" = "frames"))]
    pub bit_errors: u64,
    /// Time-weighted mean length of the interface queue, in packets.
    #[schemars(extend("unit" = "packets"))]
    pub queue_mean: f64,
    /// The maximum length of the interface queue.
    #[schemars(extend("unit" = "packets"))]
    pub queue_max: u64,
    /// Packets of all kinds that were dropped at this node.
    #[schemars(extend("unit" = "packets"))]
    pub dropped: u64,
    /// ICMP errors that this node sent.
    #[schemars(extend("unit" = "packets"))]
    pub icmp_errors: u64,
    /// Packets that this node put into tunnels: of the scenario, of a routing protocol to its gateway, or of Mobile IP.
    #[schemars(extend("unit" = "packets"))]
    pub tunnelled: u64,
    /// The bytes that this added, once for each of them.
    #[schemars(extend("unit" = "bytes"))]
    pub tunnel_bytes: u64,
    /// The time in which the node's radios sent, if energy is counted, as all columns from here to `battery_empty_s`.
    #[schemars(extend("unit" = "s"))]
    pub sending_s: Option<f64>,
    /// The time in which they heard signals and did not send.
    #[schemars(extend("unit" = "s"))]
    pub hearing_s: Option<f64>,
    /// The time in which they did neither.
    #[schemars(extend("unit" = "s"))]
    pub idle_s: Option<f64>,
    /// The time in which they slept.
    #[schemars(extend("unit" = "s"))]
    pub sleeping_s: Option<f64>,
    /// The time in which they were off, because the battery was empty.
    #[schemars(extend("unit" = "s"))]
    pub off_s: Option<f64>,
    /// The energy that the node's radios took.
    #[schemars(extend("unit" = "J"))]
    pub energy_j: Option<f64>,
    /// The part of `energy_j` for sending.
    #[schemars(extend("unit" = "J"))]
    pub energy_send_j: Option<f64>,
    /// The part of `energy_j` for hearing signals, or for the packets in them.
    #[schemars(extend("unit" = "J"))]
    pub energy_hear_j: Option<f64>,
    /// The part of `energy_hear_j` for packets of flows that were sent to this node.
    #[schemars(extend("unit" = "J"))]
    pub energy_receive_j: Option<f64>,
    /// The part of `energy_j` for being idle.
    #[schemars(extend("unit" = "J"))]
    pub energy_idle_j: Option<f64>,
    /// The part of `energy_j` for sleeping.
    #[schemars(extend("unit" = "J"))]
    pub energy_sleep_j: Option<f64>,
    /// The part of `energy_send_j` for frames with payload.
    #[schemars(extend("unit" = "J"))]
    pub energy_data_j: Option<f64>,
    /// The part of `energy_send_j` for frames with acknowledgements of TCP.
    #[schemars(extend("unit" = "J"))]
    pub energy_ack_j: Option<f64>,
    /// The part of `energy_send_j` for frames of the MAC itself, such as RTS, CTS and ACK.
    #[schemars(extend("unit" = "J"))]
    pub energy_mac_j: Option<f64>,
    /// The part of `energy_send_j` for frames with messages of routing.
    #[schemars(extend("unit" = "J"))]
    pub energy_routing_j: Option<f64>,
    /// The part of `energy_send_j` for frames of address resolution.
    #[schemars(extend("unit" = "J"))]
    pub energy_arp_j: Option<f64>,
    /// The part of `energy_send_j` for all other frames: agents, ICMP, datagrams from outside.
    #[schemars(extend("unit" = "J"))]
    pub energy_other_j: Option<f64>,
    /// The part of `energy_send_j` for frames that the MAC sent again.
    #[schemars(extend("unit" = "J"))]
    pub energy_retries_j: Option<f64>,
    /// The part of `energy_send_j` for segments that TCP sent again, at every hop.
    #[schemars(extend("unit" = "J"))]
    pub energy_retransmissions_j: Option<f64>,
    /// The energy that is left in the node's battery, if the battery is not endless.
    #[schemars(extend("unit" = "J"))]
    pub energy_left_j: Option<f64>,
    /// Simulated time at which the node's battery ran dry.
    #[schemars(extend("unit" = "s"))]
    pub battery_empty_s: Option<f64>,
    /// The counts of only the node's MACs, its movement model and its agents. Each counter has a column, in the order
    /// of [`own_columns`], with no value if the node has no such model.
    #[serde(skip)]
    pub own: Vec<Option<u64>>,
}

/// A column of the table of nodes that belongs to single models: a counter, and the models that have it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnColumn {
    /// The counter.
    pub metric: Metric,
    /// The kind and the name of each model.
    pub models: Vec<(&'static str, &'static str)>,
}

/// The columns of the table of nodes that belong to single models. A counter that several models have with the same
/// unit and meaning is one column.
///
/// # Panics
/// If two different counters, or one of them and a column of every node, have the same name.
pub fn own_columns() -> &'static [OwnColumn] {
    static OWN: LazyLock<Vec<OwnColumn>> = LazyLock::new(|| {
        let macs = mac::METRICS.iter().map(|it| ("MAC", it));
        let movements = mobility::METRICS.iter().map(|it| ("Movement model", it));
        let agents = agent::METRICS.iter().map(|it| ("Agent", it));
        let rooms = macs.chain(movements).chain(agents);
        let counters = rooms.flat_map(|(kind, &(name, all))| all.iter().map(move |&metric| ((kind, name), metric)));
        let common = fields(&schemars::schema_for!(NodeRow));
        shared(&common, counters).unwrap_or_else(|fault| panic!("{fault}"))
    });
    &OWN
}

/// The columns of the counters of models, beside the columns of every node; or the two counters of one name, in a
/// sentence.
fn shared(
    common: &[Column],
    counters: impl Iterator<Item = ((&'static str, &'static str), Metric)>,
) -> Result<Vec<OwnColumn>, String> {
    let mut columns: Vec<OwnColumn> = Vec::new();
    for (model, metric) in counters {
        let owner = match columns.iter_mut().find(|it| it.metric.name == metric.name) {
            Some(column) if column.metric == metric => {
                column.models.push(model);
                continue;
            }
            Some(OwnColumn { models, .. }) => format!("{} `{}` has", models[0].0, models[0].1),
            None if common.iter().any(|it| it.name == metric.name) => "the table has for every node".to_owned(),
            None => {
                columns.push(OwnColumn { metric, models: vec![model] });
                continue;
            }
        };
        let ((kind, model), name) = (model, metric.name);
        return Err(format!(
            "{kind} `{model}` has the counter `{name}`, which {owner} already: give it another name, or the same unit and \
             meaning"
        ));
    }
    Ok(columns)
}

impl Row for NodeRow {
    fn further_columns() -> Vec<Column> {
        let column = |OwnColumn { metric, models }: &OwnColumn| {
            let models: Vec<_> = models.iter().map(|(kind, model)| format!("{kind} `{model}`")).collect();
            Column {
                name: metric.name.to_owned(),
                unit: metric.unit.to_owned(),
                meaning: format!("{}: {}", models.join(", "), metric.meaning.trim()),
                optional: true,
                values: Vec::new(),
            }
        };
        own_columns().iter().map(column).collect()
    }

    fn further(&self) -> &[Option<u64>] {
        &self.own
    }
}

impl NodeRow {
    /// The value of a counter that only one model has; nothing if the node has no such model.
    ///
    /// # Panics
    /// If no model has a counter of this name.
    #[must_use]
    pub fn metric(&self, name: &str) -> Option<u64> {
        let place = own_columns().iter().position(|it| it.metric.name == name);
        let place = place.unwrap_or_else(|| panic!("no model has a counter called {name}"));
        self.own.get(place).copied().flatten()
    }
}

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

/// A row for each node and type of message that its routing protocol or one of its agents sent or received. Counts
/// belong to the whole run; a transmission counts at every hop.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OverheadRow {
    /// The node's number.
    pub node: u32,
    /// Whose message it is: `routing` or `control` (agents).
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_of_one_name_have_one_meaning() {
        assert!(own_columns().iter().any(|it| it.models == [("MAC", "dcf")]));
        let common = fields(&schemars::schema_for!(NodeRow));
        let counter = |name, meaning| Metric { name, unit: "frames", meaning };
        let of = |own: &[(&'static str, &'static str, Metric)]| {
            shared(&common, own.iter().map(|&(kind, model, metric)| ((kind, model), metric)))
        };
        let dcf = ("MAC", "dcf", counter("acks", "ACKs sent."));
        let columns = of(&[dcf, ("MAC", "csma", counter("acks", "ACKs sent."))]).expect("one meaning");
        assert_eq!(columns, [OwnColumn { metric: dcf.2, models: vec![("MAC", "dcf"), ("MAC", "csma")] }]);
        let fault = of(&[dcf, ("MAC", "csma", counter("acks", "ACKs received."))]).expect_err("two meanings");
        let said = "MAC `csma` has the counter `acks`, which MAC `dcf` has already: give it another name, or the same \
                    unit and meaning";
        assert_eq!(fault, said);
        let fault = of(&[("Agent", "a", counter("node", ""))]).expect_err("a column of every node");
        let said = "Agent `a` has the counter `node`, which the table has for every node already";
        assert!(fault.starts_with(said), "{fault}");
    }
}
