//! The meaning of a scenario: the complete values of each section, and the selected models.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Deref;
use std::sync::Arc;

use hopyard_model::app::Format;
use hopyard_model::channel::energy;
use hopyard_model::link::wired::trace::{self, Trace};
use hopyard_model::link::{queue, wired};
use hopyard_model::mac::rate_control;
use hopyard_model::mobility::{self, Position, movement_file};
use hopyard_model::params::{ModelInfo, ParamsError};
use hopyard_model::phy::error_rate::measured::Measured;
use hopyard_model::phy::links::Links;
use hopyard_model::phy::propagation::table;
use hopyard_model::phy::{self, fading, propagation};
use hopyard_model::transport::congestion::external::ExternalConfig;
use hopyard_model::transport::{acking, congestion, tcp};
use hopyard_model::{agent, app, ip, link, mac, multicast, routing};
use serde::de::DeserializeOwned;
use serde::{Serialize, Serializer};
use serde_json::Value;

use crate::catalogue::Config;
use crate::files::{ErrorFile, LinkFile, MovementFile, TraceFile, TrafficFile};
use crate::problem::Problem;
use crate::sections::{
    ALL, Address, Battery, Channel, Energy, Flow, Flows, ForeignAgent, Group, Head, HomeAgent, Host, Jammer, Linux,
    Measure, MobileHost, Movement, Nodes, Obstacle, Simulator, Sleep, Stack, System, Tunnel, Wifi, Wire,
};
use crate::value::Values;

/// A section's values as typed data, which the same type has already checked.
pub(crate) fn typed<T: DeserializeOwned>(values: &Values) -> T {
    T::deserialize(&Value::Object(values.clone())).expect("a section was read by its own type")
}

/// The parameters of a section, with their written form.
#[derive(Clone, Debug)]
pub(crate) struct Typed<P> {
    params: P,
    pub values: Values,
}

impl<P: DeserializeOwned> Typed<P> {
    pub(crate) fn new(values: Values) -> Self {
        Self { params: typed(&values), values }
    }
}

/// In its written form.
impl<P> Serialize for Typed<P> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.values.serialize(serializer)
    }
}

impl<P> Deref for Typed<P> {
    type Target = P;

    fn deref(&self) -> &P {
        &self.params
    }
}

/// A model with all its parameters, and their written form.
#[derive(Clone, Debug)]
pub(crate) struct Chosen<C> {
    pub model: &'static ModelInfo,
    pub config: C,
    pub values: Values,
}

impl<C: Config> Chosen<C> {
    pub(crate) fn new(model: &'static ModelInfo, values: Values) -> Self {
        let config = C::read(model.name, &Value::Object(values.clone())).expect("a section was read by its own type");
        Self { model, config, values }
    }

    /// The same model with other values of these parameters, if it can have them.
    pub(crate) fn with(&self, given: &[(&str, Value)]) -> Option<C> {
        let mut values = self.values.clone();
        values.extend(given.iter().map(|(key, value)| ((*key).to_owned(), value.clone())));
        C::read(self.model.name, &Value::Object(values)).ok()
    }
}

/// A movement model. The area of the nodes is a default of its parameters, which may not fit the others.
pub(crate) type Moving = Chosen<Result<mobility::Config, ParamsError>>;

impl Moving {
    /// The model, if its parameters fit together.
    pub(crate) fn sound(&self) -> Option<&mobility::Config> {
        self.config.as_ref().ok()
    }

    /// The parameters of a movement file.
    pub(crate) fn file(&self) -> Option<&movement_file::Params> {
        match self.sound()? {
            mobility::Config::MovementFile(params) => Some(params),
            _ => None,
        }
    }
}

impl Chosen<propagation::Config> {
    /// The parameters of a file of links.
    pub(crate) fn table(&self) -> Option<&table::Params> {
        match &self.config {
            propagation::Config::Table(params) => Some(params),
            _ => None,
        }
    }
}

/// A flow's congestion control.
#[derive(Clone, Debug)]
pub(crate) enum Congestion {
    /// A model.
    Model(Chosen<congestion::Config>),
    /// An external congestion control.
    External(ExternalConfig),
}

/// The transport and the traffic of flows.
#[derive(Clone, Debug)]
pub(crate) struct FlowKind {
    /// Nothing for UDP.
    pub tcp: Option<TcpKind>,
    pub traffic: Chosen<app::Config>,
}

impl FlowKind {
    /// The number of flows in results: one for each direction with data.
    fn results(&self) -> u64 {
        1 + u64::from(self.traffic.config.is_answered())
    }
}

/// A flow's TCP.
#[derive(Clone, Debug)]
pub(crate) struct TcpKind {
    /// The parameters that all variants share.
    pub machine: Typed<tcp::Params>,
    pub congestion: Congestion,
    pub acking: Chosen<acking::Config>,
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
    pub radio: Typed<phy::Params>,
    pub propagation: Chosen<propagation::Config>,
    pub fading: Chosen<fading::Config>,
    pub mac: Chosen<mac::Config>,
    pub rates: Chosen<rate_control::Config>,
}

/// The meaning of a scenario.
#[derive(Clone, Debug)]
pub(crate) struct Resolved {
    pub head: Head,
    pub nodes: Nodes,
    /// The positions of nodes, if they are the same in every run.
    pub positions: Vec<Position>,
    pub mobility: Moving,
    pub movements: Vec<(Movement, Moving)>,
    /// The movement files of each `mobility` or `movements` that names one.
    pub files: BTreeMap<movement_file::Params, Arc<MovementFile>>,
    /// The files of links of each channel whose path loss names one.
    pub links: BTreeMap<table::Params, Arc<LinkFile>>,
    /// The files with error rates of each channel that names one, by their names.
    pub errors: BTreeMap<String, Arc<ErrorFile>>,
    /// The files of sizes and times that the traffic of flows names.
    pub traffic: BTreeMap<(Format, String), Arc<TrafficFile>>,
    /// The files that wires follow.
    pub traces: BTreeMap<(trace::Format, String), Arc<TraceFile>>,
    pub radio: Typed<phy::Params>,
    pub propagation: Chosen<propagation::Config>,
    pub fading: Chosen<fading::Config>,
    pub mac: Chosen<mac::Config>,
    pub rates: Chosen<rate_control::Config>,
    pub channels: Vec<FurtherChannel>,
    pub obstacles: Vec<Obstacle>,
    pub jammers: Vec<Jammer>,
    pub energy: Energy,
    pub energy_model: Chosen<energy::Config>,
    pub batteries: Vec<Battery>,
    pub sleeps: Vec<Sleep>,
    pub addresses: Vec<Address>,
    pub link: Typed<link::Params>,
    pub queue: Chosen<queue::Config>,
    pub ip: Typed<ip::Params>,
    pub routing: Chosen<routing::Config>,
    pub agents: Vec<Chosen<agent::Config>>,
    pub multicast: Chosen<multicast::Config>,
    pub groups: Vec<Group>,
    pub flows: Vec<(Flow, FlowKind)>,
    pub random_flows: Vec<RandomFlows>,
    pub linux: Linux,
    pub hosts: Vec<Host>,
    pub wires: Vec<(Wire, Typed<wired::Params>)>,
    /// The discipline of the queues of each wire.
    pub wire_queues: Vec<Chosen<queue::Config>>,
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
    /// The given keys that do nothing and have their defaults.
    pub idle: Vec<String>,
}

/// The memory that a node needs in a run, at least. It was measured as the growth of the process in runs of 1 s without
/// flows: under AODV a node took 2.3 kB with 100,000 nodes and with a million. Routes and queues of a longer run need
/// more.
const BYTES_A_NODE: u64 = 2_000;

/// The memory that a flow needs in a run, at least: for the most part its histogram of delays, which grows with the
/// longest delay. It was measured as 24.8 kB for each of 4,000 flows of NewReno in a run of 0.1 s.
const BYTES_A_FLOW: u64 = 24_000;

impl Resolved {
    /// The number of nodes, with or without a radio.
    pub(crate) fn all_nodes(&self) -> u32 {
        self.nodes.count.saturating_add(self.nodes.wired)
    }

    /// The number of nodes with a radio that send and receive packets. Those that only radiate come after them.
    pub(crate) fn talking(&self) -> u32 {
        let jamming = self.jammers.iter().map(|it| it.nodes.len() as u32).sum();
        self.nodes.count.saturating_sub(jamming)
    }

    /// The stacks of the flows, in their order, from the number of flows that each set has.
    pub(crate) fn stacks(&self) -> impl Iterator<Item = Stack> {
        let listed = self.flows.iter().map(|(flow, _)| flow.stack);
        let drawn = self.random_flows.iter().flat_map(|set| {
            let count = set.flows.number(self.talking()) as usize;
            std::iter::repeat_n(set.flows.stack, count)
        });
        listed.chain(drawn)
    }

    /// Whether a scenario has kernels.
    pub(crate) fn uses_linux(&self) -> bool {
        let is_router = self.nodes.system == System::Linux;
        is_router || !self.hosts.is_empty() || self.stacks().any(|stack| stack == Stack::Linux)
    }

    /// The numbers of the nodes that are Linux kernels, in order.
    pub(crate) fn linux_nodes(&self) -> Vec<u32> {
        match (self.nodes.system, self.linux.nodes.as_slice()) {
            (System::Hopyard, _) => Vec::new(),
            (System::Linux, []) => (0..self.talking()).collect(),
            (System::Linux, some) => some.iter().copied().collect::<BTreeSet<_>>().into_iter().collect(),
        }
    }

    /// Whether nodes have Linux's own Wi-Fi.
    pub(crate) fn has_wifi(&self) -> bool {
        self.nodes.system == System::Linux && self.linux.wifi != Wifi::Off
    }

    /// Whether some nodes are Linux kernels, and others are not.
    pub(crate) fn mixes_systems(&self) -> bool {
        (1..self.talking() as usize).contains(&self.linux_nodes().len())
    }

    /// The programs that run at nodes, in their order, each with its place among the `[[host]]` and with its node.
    pub(crate) fn programs(&self) -> impl Iterator<Item = (usize, u32, &Host)> {
        let all = move || (0..self.talking()).chain(self.nodes.count..self.all_nodes());
        let at_nodes =
            move |(place, host): (usize, &'_ Host)| host.node.nodes(all()).into_iter().map(move |node| (place, node));
        self.hosts.iter().enumerate().flat_map(at_nodes).map(|(place, node)| (place, node, &self.hosts[place]))
    }

    /// Whether no node moves.
    pub(crate) fn stand_still(&self) -> bool {
        let still = |chosen: &Moving| chosen.sound().is_some_and(|model| model.is_stationary());
        still(&self.mobility) && self.movements.iter().all(|(_, chosen)| still(chosen))
    }

    /// The longest distance between two nodes, as far as areas and files say, in metres.
    pub(crate) fn across(&self) -> f64 {
        let models = std::iter::once(&self.mobility).chain(self.movements.iter().map(|(_, chosen)| chosen));
        let mut corners = Vec::new();
        for chosen in models {
            let file = || self.file(chosen).and_then(|file| file.meaning.extent());
            let area = chosen.sound().and_then(|model| model.area()).map(|area| (area.low, area.high));
            match area.or_else(file) {
                Some((low, high)) => corners.extend([low, high]),
                // A node that stands still, or is drawn once, is where the nodes are placed.
                None if chosen.sound().is_some_and(|model| model.is_stationary()) => {
                    let [x, y] = self.nodes.area.map(|length| length.metres());
                    corners
                        .extend(self.positions.iter().copied().chain([Position { x, y, z: 0.0 }, Position::default()]));
                }
                None => return f64::INFINITY,
            }
        }
        let span = |axis: fn(&Position) -> f64| {
            let (low, high) = corners.iter().map(axis).fold((f64::MAX, f64::MIN), |it, v| (it.0.min(v), it.1.max(v)));
            high - low
        };
        let (x, y, z) = (span(|it| it.x), span(|it| it.y), span(|it| it.z));
        (x * x + y * y + z * z).sqrt()
    }

    /// The movement file of a model that reads one.
    pub(crate) fn file(&self, chosen: &Moving) -> Option<&Arc<MovementFile>> {
        self.files.get(chosen.file()?)
    }

    /// The links of a channel whose path loss names a file.
    pub(crate) fn links_of(&self, chosen: &Chosen<propagation::Config>) -> Option<Arc<Links>> {
        self.links.get(chosen.table()?).map(|file| Arc::clone(&file.meaning))
    }

    /// The error rates of a channel whose radios name a file.
    pub(crate) fn errors_of(&self, radio: &phy::Params) -> Option<Arc<Measured>> {
        self.errors.get(&radio.error_rates).map(|file| Arc::clone(&file.meaning))
    }

    /// The traces that a wire follows in each direction.
    pub(crate) fn traces_of(&self, link: &wired::Params) -> [Vec<Trace>; 2] {
        let read = |(_, format, path): (_, trace::Format, &str)| {
            self.traces.get(&(format, path.to_owned())).map(|file| (*file.meaning).clone())
        };
        link.traces().map(|of| of.into_iter().filter_map(read).collect())
    }

    /// The members of a group, which exist once the groups are checked.
    pub(crate) fn members(&self, name: &str) -> Vec<u32> {
        if name == ALL {
            return (0..self.talking()).collect();
        }
        let mut members = self.groups.iter().find(|it| it.name == name).map_or(Vec::new(), |it| it.members.clone());
        members.sort_unstable();
        members
    }

    /// The destinations of a flow, each of which has a flow in the results.
    pub(crate) fn receivers(&self, flow: &Flow) -> Vec<u32> {
        let Some(name) = flow.to.group() else { return flow.to.nodes().to_vec() };
        let mut members = self.members(name);
        members.retain(|node| *node != flow.from);
        members
    }

    /// The number of flows in results: the listed ones, the drawn ones, and the answers to both.
    pub(crate) fn all_flows(&self) -> u64 {
        let listed = self.flows.iter().map(|(flow, kind)| self.receivers(flow).len() as u64 * kind.results());
        let drawn =
            self.random_flows.iter().map(|set| u64::from(set.flows.number(self.talking())) * set.kind.results());
        listed.chain(drawn).sum()
    }

    /// Transport and traffic of each flow in results: the listed flows, the flows of each set, the further destinations
    /// of listed flows, and the answers.
    pub(crate) fn kinds(&self) -> impl Iterator<Item = &FlowKind> {
        let scenario = || {
            let listed = self.flows.iter().map(|(_, kind)| kind);
            let drawn = self
                .random_flows
                .iter()
                .flat_map(|set| std::iter::repeat_n(&set.kind, set.flows.number(self.talking()) as usize));
            let further = self
                .flows
                .iter()
                .flat_map(|(flow, kind)| std::iter::repeat_n(kind, self.receivers(flow).len().saturating_sub(1)));
            listed.chain(drawn).chain(further)
        };
        scenario().chain(scenario().filter(|kind| kind.traffic.config.is_answered()))
    }

    /// The memory that a run takes at the least, in bytes.
    pub(crate) fn memory(&self) -> u64 {
        u64::from(self.all_nodes()) * BYTES_A_NODE + self.all_flows() * BYTES_A_FLOW
    }
}
