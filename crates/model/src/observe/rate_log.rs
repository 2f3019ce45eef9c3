//! A probe that records the rates of links, as rate control changes them.

use hopyard_engine::Time;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::network::NetworkView;
use super::probe::Probe;
use super::row::{Report, Row};
use crate::address::{InterfaceId, NodeId};
use crate::mac::rate_control::Belief;

/// A row for each change of the mode that rate control uses for the frames from a node to a neighbour, from the start
/// of the run, in the order of time. The rows exist if `measure.rates` is set.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RateChangeRow {
    /// Simulated time of the change.
    #[schemars(extend("unit" = "s"))]
    pub time_s: f64,
    /// The number of the node that sends.
    pub node: u32,
    /// The number of the neighbour's node.
    pub neighbour: u32,
    /// The mode of frames from then on, probes aside: a rate, or the name of a mode of HT or VHT with its bandwidth and
    /// guard interval, such as "mcs7 40 MHz short".
    pub mode: String,
    /// The rate of this mode.
    #[schemars(extend("unit" = "kbit/s"))]
    pub rate_kbps: f64,
    /// Rate control's estimate of the probability that a frame in this mode is acknowledged, if it makes one.
    pub probability: Option<f64>,
    /// Rate control's estimate of the throughput of this mode, if it makes one.
    #[schemars(extend("unit" = "kbit/s"))]
    pub throughput_kbps: Option<f64>,
}

impl Row for RateChangeRow {}

/// The changes so far.
#[derive(Clone, Debug, Default)]
pub struct RateLog {
    /// The nodes of the interfaces.
    nodes: Vec<NodeId>,
    rows: Vec<RateChangeRow>,
}

impl Probe for RateLog {
    fn on_start(&mut self, network: &NetworkView<'_>) {
        self.nodes = network.interfaces.iter().map(|it| it.node).collect();
    }

    fn on_rate_changed(&mut self, now: Time, interface: InterfaceId, neighbour: InterfaceId, belief: &Belief) {
        let node = |interface: InterfaceId| self.nodes[interface.0 as usize].0;
        let Belief { mode, probability, throughput } = *belief;
        self.rows.push(RateChangeRow {
            time_s: now.seconds(),
            node: node(interface),
            neighbour: node(neighbour),
            mode: mode.to_string(),
            rate_kbps: mode.rate().bps() as f64 / 1e3,
            probability,
            throughput_kbps: throughput.map(|rate| rate.bps() as f64 / 1e3),
        });
    }

    fn report(&self, report: &mut Report<'_>) {
        report.table(|| self.rows.clone());
    }
}
