//! The meaning of a scenario: the complete values of each section, and the selected models.

use std::collections::BTreeMap;
use std::sync::Arc;

use hopyard_model::mobility::{self, Position, movement_file};
use hopyard_model::params::ModelInfo;
use hopyard_model::routing;
use hopyard_model::transport::congestion::external::ExternalConfig;
use serde_json::Value;

use crate::files::MovementFile;
use crate::problem::Problem;
use crate::sections::{
    Address, Battery, Channel, Energy, Flow, Flows, ForeignAgent, Head, HomeAgent, Host, Linux, Measure, MobileHost,
    Movement, Nodes, Simulator, Sleep, Tunnel, Wire,
};
use crate::value::Values;

/// A model with all its parameters.
#[derive(Clone, Debug)]
pub(crate) struct Chosen {
    pub model: &'static ModelInfo,
    pub values: Values,
}

/// A flow's congestion control.
#[derive(Clone, Debug)]
pub(crate) enum Congestion {
    /// A model.
    Model(Chosen),
    /// An external congestion control.
    External(ExternalConfig),
}

/// The transport and the traffic of flows.
#[derive(Clone, Debug)]
pub(crate) struct FlowKind {
    /// Nothing for UDP.
    pub tcp: Option<TcpKind>,
    pub traffic: Chosen,
}

/// A flow's TCP.
#[derive(Clone, Debug)]
pub(crate) struct TcpKind {
    /// The parameters that all variants share.
    pub machine: Values,
    pub congestion: Congestion,
    pub acking: Chosen,
}

/// A set of randomly drawn flows.
#[derive(Clone, Debug)]
pub(crate) struct RandomFlows {
    pub flows: Flows,
    pub kind: FlowKind,
    /// Its number in the list `[[flows]]`; nothing for `[flows]`.
    pub number: Option<usize>,
}

impl RandomFlows {
    /// The path of its table.
    pub(crate) fn path(&self) -> String {
        self.number.map_or_else(|| "flows".to_owned(), |number| format!("flows.{number}"))
    }

    /// The path of the key that says how many flows there are.
    pub(crate) fn number_path(&self) -> String {
        format!("{}.{}", self.path(), self.flows.number_key())
    }
}

/// A channel beyond the first.
#[derive(Clone, Debug)]
pub(crate) struct FurtherChannel {
    pub channel: Channel,
    pub radio: Values,
    pub propagation: Chosen,
    pub fading: Chosen,
    pub mac: Chosen,
}

/// The meaning of a scenario.
#[derive(Clone, Debug)]
pub(crate) struct Resolved {
    pub head: Head,
    pub nodes: Nodes,
    /// The positions of nodes, if they are the same in every run.
    pub positions: Vec<Position>,
    pub mobility: Chosen,
    pub movements: Vec<(Movement, Chosen)>,
    /// The movement files of each `mobility` or `movements` that names one, by its parameters.
    pub files: BTreeMap<String, Arc<MovementFile>>,
    pub radio: Values,
    pub propagation: Chosen,
    pub fading: Chosen,
    pub mac: Chosen,
    pub channels: Vec<FurtherChannel>,
    pub energy: Energy,
    pub energy_model: Chosen,
    pub batteries: Vec<Battery>,
    pub sleeps: Vec<Sleep>,
    pub addresses: Vec<Address>,
    pub link: Values,
    pub ip: Values,
    pub routing: Chosen,
    pub agents: Vec<Chosen>,
    pub flows: Vec<(Flow, FlowKind)>,
    pub random_flows: Vec<RandomFlows>,
    pub linux: Linux,
    pub hosts: Vec<Host>,
    pub wires: Vec<(Wire, Values)>,
    pub tunnels: Vec<Tunnel>,
    pub home_agents: Vec<HomeAgent>,
    pub foreign_agents: Vec<ForeignAgent>,
    pub mobile_hosts: Vec<MobileHost>,
    pub measure: Measure,
    pub simulator: Simulator,
    /// The whole scenario with every default that applies.
    pub complete: Values,
}

/// The result of reading a scenario.
pub(crate) struct Outcome {
    pub resolved: Option<Resolved>,
    pub problems: Vec<Problem>,
    pub warnings: Vec<Problem>,
}

/// A movement model with its parameters.
pub(crate) fn mobility(chosen: &Chosen) -> Option<mobility::Config> {
    mobility::Config::read(chosen.model.name, &Value::Object(chosen.values.clone())).ok()
}

/// The parameters of a movement file as one key.
/// The parameters of a movement file.
pub(crate) fn file_params(chosen: &Chosen) -> Option<movement_file::Params> {
    serde_json::from_value(Value::Object(chosen.values.clone())).ok()
}

pub(crate) fn file_key(chosen: &Chosen) -> Option<String> {
    mobility(chosen)?.reads_file().then(|| Value::Object(chosen.values.clone()).to_string())
}

/// The memory that a node needs in a run, at least. It was measured as the growth of the process in runs of 0.1 s with
/// one flow. Under AODV a node took 2.8 kB with 20,000 nodes and 2.4 kB with 100,000; under DSDV it took 5.6 kB with
/// either number. Routes and queues of a longer run need more.
const BYTES_A_NODE: u64 = 2_500;

/// The memory that a flow needs in a run, at least: for the most part its histogram of delays, which grows with the
/// longest delay. It was measured as 20.6 kB for each of 4,000 flows of NewReno in a run of 0.1 s.
const BYTES_A_FLOW: u64 = 20_000;

impl Resolved {
    /// The number of nodes, with or without a radio.
    pub(crate) fn all_nodes(&self) -> u32 {
        self.nodes.count.saturating_add(self.nodes.wired)
    }

    /// The number of flows, the drawn ones included.
    pub(crate) fn all_flows(&self) -> u64 {
        let drawn = self.random_flows.iter().map(|set| u64::from(set.flows.number(self.nodes.count)));
        self.flows.len() as u64 + drawn.sum::<u64>()
    }

    /// The transport and traffic of a flow: the listed flows come first, then the flows of each set.
    pub(crate) fn kind(&self, flow: u32) -> Option<&FlowKind> {
        if let Some((_, kind)) = self.flows.get(flow as usize) {
            return Some(kind);
        }
        let mut after = u64::from(flow) - self.flows.len() as u64;
        self.random_flows.iter().find_map(|set| {
            let count = u64::from(set.flows.number(self.nodes.count));
            let is_here = after < count;
            after = after.saturating_sub(count);
            is_here.then_some(&set.kind)
        })
    }

    /// The memory that a run takes at the least, in bytes.
    pub(crate) fn memory(&self) -> u64 {
        u64::from(self.all_nodes()) * BYTES_A_NODE + self.all_flows() * BYTES_A_FLOW
    }
}

/// The routing protocol with its parameters, if they are sound.
pub(super) fn chosen_routing(resolved: &Resolved) -> Option<routing::Config> {
    routing_config(&resolved.routing)
}

/// A routing protocol with its parameters, if these are valid.
pub(super) fn routing_config(Chosen { model, values }: &Chosen) -> Option<routing::Config> {
    routing::Config::read(model.name, &Value::Object(values.clone())).ok()
}
