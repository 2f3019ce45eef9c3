//! The table of nodes.

use std::sync::LazyLock;

use hopyard_engine::{Span, Time};

use super::row::{Column, fields, row};
use crate::address::NodeId;
use crate::context::{Attojoules, Purpose, Spent, Tunnelled, joules};
use crate::link::queue;
use crate::params::Metric;
use crate::phy::reception::Lost;
use crate::{agent, mac, mobility};

/// The counts of a node in the whole run. The node's row is computed from this.
#[derive(Clone, Debug)]
pub struct NodeCounts {
    /// The node.
    pub node: NodeId,
    /// Until when they are counted.
    pub now: Time,
    /// Packets forwarded for others.
    pub forwarded: u64,
    /// Packets of the routing protocol.
    pub routing_packets: u64,
    /// The bytes of these.
    pub routing_bytes: u64,
    /// Bytes of the routing protocol in other packets.
    pub piggybacked_bytes: u64,
    /// Data packets for the node that arrived for the first time.
    pub data_packets: u64,
    /// Their payload that the applications received.
    pub data_bytes: u64,
    /// Frames of all radios.
    pub frames: u64,
    /// Unicast data frames.
    pub data_frames: u64,
    /// Broadcast frames.
    pub broadcasts: u64,
    /// Frames that the radios could not decode.
    pub lost: Lost,
    /// The mean length of the interface queues.
    pub queue_mean: f64,
    /// The maximum length of one of them.
    pub queue_max: u64,
    /// Packets dropped, of all kinds.
    pub dropped: u64,
    /// ICMP errors.
    pub icmp_errors: u64,
    /// Packets put into tunnels.
    pub tunnelled: Tunnelled,
    /// The times and the energy of the radios, if they are counted.
    pub spent: Option<Spent>,
    /// Whether the energy is counted, and not the times alone.
    pub is_metered: bool,
    /// The energy of receiving what was sent to the node, if it is counted.
    pub received: Option<Attojoules>,
    /// The energy of the full battery, if it is not endless.
    pub capacity: Option<Attojoules>,
    /// When the battery ran dry.
    pub died: Option<Time>,
    /// The counters of single models, in the order of [`own_columns`].
    pub own: Vec<Option<u64>>,
}

impl NodeCounts {
    fn time(&self, of: fn(&Spent) -> Span) -> Option<f64> {
        self.spent.as_ref().map(|spent| of(spent).seconds())
    }

    fn energy(&self, of: impl Fn(&Spent) -> Attojoules) -> Option<f64> {
        self.spent.as_ref().filter(|_| self.is_metered).map(|spent| joules(of(spent)))
    }

    fn purpose(&self, purpose: Purpose) -> Option<f64> {
        self.energy(|spent| spent.account.by_purpose[purpose as usize])
    }

    fn left(&self) -> Option<f64> {
        // The last nanosecond of a battery may take a little more than there was.
        self.spent.as_ref().zip(self.capacity).map(|(spent, full)| joules((full - spent.total()).max(0)))
    }
}

row! {
    /// A row for each node of each run. Counts belong to the whole run.
    pub struct NodeRow of it: NodeCounts {
        /// The node's number.
        node: u32 = it.node.0,
        /// Packets forwarded for others.
        forwarded: u64 ["packets"] = it.forwarded,
        /// Packets of the routing protocol that this node sent or forwarded.
        routing_packets: u64 ["packets"] = it.routing_packets,
        /// IP bytes of `routing_packets`.
        routing_bytes: u64 ["bytes"] = it.routing_bytes,
        /// Bytes of the routing protocol in other packets that this node sent or forwarded, such as source routes in
        /// data packets.
        piggybacked_bytes: u64 ["bytes"] = it.piggybacked_bytes,
        /// Data packets for this node that arrived for the first time.
        data_packets: u64 ["packets"] = it.data_packets,
        /// Payload that the applications at this node received in order, each byte once.
        data_bytes: u64 ["bytes"] = it.data_bytes,
        /// The simulated time of the run.
        simulated_s: f64 ["s"] = it.now.seconds(),
        /// Frames of every kind that the node sent.
        frames: u64 ["frames"] = it.frames,
        /// Unicast data frames sent, retries included.
        data_frames: u64 ["frames"] = it.data_frames,
        /// Broadcast frames sent.
        broadcasts: u64 ["frames"] = it.broadcasts,
        /// Frames that this radio could not decode because of other frames.
        collisions: u64 ["frames"] = it.lost.collisions,
        /// Frames that this radio could not decode because of bit errors.
        bit_errors: u64 ["frames"] = it.lost.bit_errors,
        /// Time-weighted mean length of the interface queue, in packets.
        queue_mean: f64 ["packets"] = it.queue_mean,
        /// The maximum length of the interface queue.
        queue_max: u64 ["packets"] = it.queue_max,
        /// Packets of all kinds that were dropped at this node.
        dropped: u64 ["packets"] = it.dropped,
        /// ICMP errors that this node sent.
        icmp_errors: u64 ["packets"] = it.icmp_errors,
        /// Packets that this node put into tunnels: of the scenario, of a routing protocol to its gateway, or of
        /// Mobile IP.
        tunnelled: u64 ["packets"] = it.tunnelled.packets,
        /// The bytes that this added, once for each of them.
        tunnel_bytes: u64 ["bytes"] = it.tunnelled.bytes,
        /// The time in which the node's radios sent, if energy is counted, as all columns from here to
        /// `battery_empty_s`.
        sending_s: Option<f64> ["s"] = it.time(|spent| spent.sending),
        /// The time in which they heard signals and did not send.
        hearing_s: Option<f64> ["s"] = it.time(|spent| spent.hearing),
        /// The time in which they did neither.
        idle_s: Option<f64> ["s"] = it.time(|spent| spent.idling),
        /// The time in which they slept.
        sleeping_s: Option<f64> ["s"] = it.time(|spent| spent.sleeping),
        /// The time in which they were off, because the battery was empty.
        off_s: Option<f64> ["s"] = it.time(|spent| spent.off),
        /// The energy that the node's radios took.
        energy_j: Option<f64> ["J"] = it.energy(Spent::total),
        /// The part of `energy_j` for sending.
        energy_send_j: Option<f64> ["J"] = it.energy(|spent| spent.send),
        /// The part of `energy_j` for hearing signals, or for the packets in them.
        energy_hear_j: Option<f64> ["J"] = it.energy(|spent| spent.hear),
        /// The part of `energy_hear_j` for packets of flows that were sent to this node.
        energy_receive_j: Option<f64> ["J"] = it.received.map(joules),
        /// The part of `energy_j` for being idle.
        energy_idle_j: Option<f64> ["J"] = it.energy(|spent| spent.idle),
        /// The part of `energy_j` for sleeping.
        energy_sleep_j: Option<f64> ["J"] = it.energy(|spent| spent.sleep),
        /// The part of `energy_send_j` for frames with payload.
        energy_data_j: Option<f64> ["J"] = it.purpose(Purpose::Data),
        /// The part of `energy_send_j` for frames with acknowledgements of TCP.
        energy_ack_j: Option<f64> ["J"] = it.purpose(Purpose::Ack),
        /// The part of `energy_send_j` for frames of the MAC itself, such as RTS, CTS and ACK.
        energy_mac_j: Option<f64> ["J"] = it.purpose(Purpose::Mac),
        /// The part of `energy_send_j` for frames with messages of routing.
        energy_routing_j: Option<f64> ["J"] = it.purpose(Purpose::Routing),
        /// The part of `energy_send_j` for frames of address resolution.
        energy_arp_j: Option<f64> ["J"] = it.purpose(Purpose::Arp),
        /// The part of `energy_send_j` for all other frames: agents, ICMP, datagrams from outside.
        energy_other_j: Option<f64> ["J"] = it.purpose(Purpose::Other),
        /// The part of `energy_send_j` for frames that the MAC sent again.
        energy_retries_j: Option<f64> ["J"] = it.energy(|spent| spent.account.again),
        /// The part of `energy_send_j` for segments that TCP sent again, at every hop.
        energy_retransmissions_j: Option<f64> ["J"] = it.energy(|spent| spent.account.retransmissions),
        /// The energy that is left in the node's battery, if the battery is not endless.
        energy_left_j: Option<f64> ["J"] = it.left(),
        /// Simulated time at which the node's battery ran dry.
        battery_empty_s: Option<f64> ["s"] = it.died.map(Time::seconds),
    }
    /// The counts of only the node's MACs, its movement model and its agents. Each counter has a column, in the order
    /// of [`own_columns`], with no value if the node has no such model.
    further own = it.own, described();
    /// The table of nodes, kept by columns: a network may have a million nodes, most of whose columns have one value.
    /// The rows are made when they are first looked at; [`Rows::parts`](super::Rows::parts) makes a few at a time.
    kept in NodeTable;
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
        let queues = queue::METRICS.iter().map(|it| ("Queue discipline", it));
        let rooms = macs.chain(movements).chain(agents).chain(queues);
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

/// The columns of the counters, each with the models that have it.
fn described() -> Vec<Column> {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observe::Rows as _;
    use crate::observe::row::Values;

    #[test]
    fn a_table_gives_back_its_rows_and_keeps_columns_of_one_value_once() {
        let counts = |node: u32| NodeCounts {
            node: NodeId(node),
            now: Time::from_nanos(3),
            forwarded: 0,
            routing_packets: 7,
            routing_bytes: 0,
            piggybacked_bytes: 0,
            data_packets: u64::from(node == 1500) << 40,
            data_bytes: 0,
            frames: 0,
            data_frames: 0,
            broadcasts: 0,
            lost: Lost::default(),
            queue_mean: 0.0,
            queue_max: 0,
            dropped: 0,
            icmp_errors: 0,
            tunnelled: Tunnelled::default(),
            spent: (node > 2).then(Spent::default),
            is_metered: true,
            received: None,
            capacity: None,
            died: None,
            own: vec![None, Some(5), (node == 0).then_some(1)],
        };
        let rows: Vec<NodeRow> = (0..2000).map(|node| NodeRow::of(counts(node))).collect();
        let table: NodeTable = rows.iter().cloned().collect();
        assert_eq!(table.parts().flat_map(std::borrow::Cow::into_owned).collect::<Vec<_>>(), rows);
        assert_eq!(table[..], rows);
        let is_one = |it: &Values<u64>| matches!(it, Values::Same(_));
        assert!(is_one(&table.routing_packets) && !is_one(&table.data_packets));
        assert!(NodeTable::default().is_empty());
    }

    #[test]
    fn counters_of_one_name_have_one_meaning() {
        let models: Vec<usize> = own_columns().iter().map(|it| it.models.len()).collect();
        assert!(models.contains(&1) && models.contains(&2), "some counters are of one model, others are shared");
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
