//! The flows of a run whose TCP is Linux's, and the programs in simulated time.

use std::collections::BTreeSet;

use hopyard_engine::{Rng, Streams, Time};
use hopyard_model::address::NodeId;
use hopyard_model::app::{self, Application as _, Offer, Period};
use hopyard_model::mac;
use hopyard_model::transport::congestion::{self, CongestionControl as _, Controller};
use hopyard_model::world::{FlowSpec, Spec, Transport};

use crate::scenario::Scenario;
use crate::sections::{Host, Linux, Stack, Wifi};

/// A flow between two Linux kernels.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinuxFlow {
    /// Its number among all flows of the run.
    pub number: usize,
    /// The node that sends.
    pub from: NodeId,
    /// The node that receives.
    pub to: NodeId,
    /// The TCP variant, by the kernel's name.
    pub variant: String,
    /// When the source connects.
    pub start: Time,
    /// How many bytes it sends; without end if there is no number.
    pub bytes: Option<u64>,
    /// When its application stops, if it sends without end until then.
    pub stop: Option<Time>,
    /// The writes of its application with their times, if it does not offer everything at its start.
    pub writes: Vec<(Time, u64)>,
    /// The payload of a full segment, in bytes, as far as datagrams of 1500 bytes allow.
    pub segment: u32,
    /// Whether the variant uses notices of segments that routing cannot forward.
    pub notices: bool,
}

/// The data that a flow's application offers to Linux.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Offered {
    bytes: Option<u64>,
    stop: Option<Time>,
    writes: Vec<(Time, u64)>,
}

/// The data that an application offers in a run of this length. Its source has the random numbers that it has in a flow
/// of this simulator: both stacks get the same data at the same times.
fn offered(config: &app::Config, period: Period, end: Time, random: Rng) -> Offered {
    let mut source = config.source(period, random);
    let mut found = Offered::default();
    while source.deadline() < end {
        let at = source.deadline();
        match source.on_timer(at) {
            // Traffic that gives connections up, or opens several, has answers, which flows of Linux have not.
            Offer::Unlimited | Offer::Nothing | Offer::Close | Offer::Abort | Offer::Open(_) => {}
            Offer::Bytes(bytes) => found.writes.push((at, bytes)),
            Offer::Object(object) => found.writes.push((at, object.bytes)),
            Offer::Last(0) => found.stop = found.writes.is_empty().then_some(at),
            Offer::Last(bytes) if found.writes.is_empty() => found.bytes = Some(bytes),
            Offer::Last(bytes) => found.writes.push((at, bytes)),
        }
    }
    found
}

impl Scenario {
    /// The settings of the kernels of this scenario; nothing if it has no flow of Linux, no program and no Linux nodes.
    #[must_use]
    pub fn linux(&self) -> Option<&Linux> {
        self.resolved.uses_linux().then_some(&self.resolved.linux)
    }

    /// The nodes that are Linux kernels, and route themselves.
    #[must_use]
    pub fn linux_nodes(&self) -> Vec<NodeId> {
        self.resolved.linux_nodes().into_iter().map(NodeId).collect()
    }

    /// The option of the kernel that nodes need which are kernels; nothing if no node is one.
    #[must_use]
    pub fn kernel_option(&self) -> Option<&'static str> {
        let linux = self.linux().filter(|_| !self.resolved.linux_nodes().is_empty())?;
        let has_ht = |params: &mac::edca::Params| params.dcf.standard == mac::dcf::Amendment::N;
        match &self.resolved.mac.config {
            // Without it, Minstrel-HT learns nothing of frames of a session.
            mac::Config::Edca(params) if self.resolved.has_wifi() && has_ht(params) => {
                Some("CONFIG_MAC80211_HWSIM_AMPDU")
            }
            _ => Some(linux.option()),
        }
    }

    /// The programs that run at nodes in simulated time, each with its place among the `[[host]]` and with its node.
    pub fn hosts(&self) -> impl Iterator<Item = (usize, NodeId, &Host)> {
        self.resolved.programs().map(|(place, node, host)| (place, NodeId(node), host))
    }

    /// The names of the TCP variants of the flows of Linux, each once, in alphabetical order.
    #[must_use]
    pub fn linux_variants(&self) -> Vec<String> {
        let flows = self.linux_flows(&mut self.spec(0));
        let mut names: Vec<_> = flows.into_iter().map(|flow| flow.variant).collect();
        names.sort();
        names.dedup();
        names
    }

    /// The TCP variants of the flows, if Linux has all of them too: with `flow.stack = "linux"` the scenario runs with
    /// Linux's TCP. Empty if some flow has Linux's already, is no TCP, or has a variant that Linux lacks.
    #[must_use]
    pub fn twins(&self) -> BTreeSet<&'static str> {
        let variant = |flow: &FlowSpec, stack| match &flow.transport {
            Transport::Tcp { config, .. } if stack == Stack::Hopyard => {
                congestion::MODELS.iter().find(|it| it.has_twin && it.name == config.congestion.name())
            }
            _ => None,
        };
        let flows = self.spec(0).flows;
        let found = flows.iter().zip(self.resolved.stacks()).map(|(flow, stack)| Some(variant(flow, stack)?.name));
        found.collect::<Option<_>>().unwrap_or_default()
    }

    /// How many kernels a run has: one for each node that is one, has an end of a flow of Linux, or has a program.
    #[must_use]
    pub fn kernels(&self) -> usize {
        let flows = self.linux_flows(&mut self.spec(0));
        let of_flows = flows.into_iter().flat_map(|flow| [flow.from, flow.to]);
        let nodes = of_flows.chain(self.hosts().map(|it| it.1));
        let nodes = nodes.chain(self.linux_nodes());
        nodes.collect::<BTreeSet<_>>().len()
    }

    /// How many network devices these kernels have together, or more: one each, and with programs one for each
    /// interface of its node.
    #[must_use]
    pub fn kernel_devices(&self) -> usize {
        self.devices().iter().sum()
    }

    /// How many wired network devices each of these kernels has, or more. With Linux's Wi-Fi they have none.
    #[must_use]
    pub fn common_devices(&self) -> usize {
        if self.resolved.linux.wifi != Wifi::Off {
            return 0;
        }
        self.devices().into_iter().min().unwrap_or(1)
    }

    fn devices(&self) -> Vec<usize> {
        let hosts = self.hosts().map(|it| it.1).collect::<BTreeSet<_>>();
        let spec = self.spec(0);
        let interfaces = |node: NodeId| {
            let radios = spec.nodes.get(node.index()).map_or(0, |it| it.radios.len());
            let wires = spec.wires.iter().filter(|wire| wire.ends.0 == node || wire.ends.1 == node).count();
            (radios + wires).max(1)
        };
        let others = self.kernels() - hosts.len();
        hosts.into_iter().map(interfaces).chain(std::iter::repeat_n(1, others)).collect()
    }

    /// How many of these kernels have programs.
    #[must_use]
    pub fn kernels_with_programs(&self) -> usize {
        let daemons = self.resolved.linux_nodes().into_iter().filter(|_| self.resolved.linux.routing().has_daemon());
        self.resolved.programs().map(|it| it.1).chain(daemons).collect::<BTreeSet<_>>().len()
    }

    /// The flows of Linux in the specification of a run. In the specification they do nothing from now on: their places
    /// among the flows stay, and so do the numbers of the others.
    #[must_use]
    pub fn linux_flows(&self, spec: &mut Spec) -> Vec<LinuxFlow> {
        let (streams, end) = (Streams::new(spec.seed, spec.run), Time::ZERO + spec.duration);
        let flows = spec.flows.iter_mut().zip(self.resolved.stacks()).enumerate();
        let linux = flows.filter(|(_, (_, stack))| *stack == Stack::Linux);
        linux.filter_map(|(number, (flow, _))| taken(number, flow, &self.resolved.linux, &streams, end)).collect()
    }
}

/// A flow of Linux; in the specification it starts after every run.
fn taken(number: usize, flow: &mut FlowSpec, linux: &Linux, streams: &Streams, end: Time) -> Option<LinuxFlow> {
    // A scenario with a flow of Linux over UDP was refused.
    let Transport::Tcp { config, .. } = &flow.transport else { return None };
    let random = streams.stream(&format!("flow/{number}/traffic"));
    let Offered { bytes, stop, writes } =
        offered(&flow.traffic, Period { start: flow.start, stop: flow.stop }, end, random);
    let found = LinuxFlow {
        number,
        from: flow.from,
        to: flow.to,
        variant: linux.name_of(config.congestion.name()).to_owned(),
        start: flow.start,
        bytes,
        stop,
        writes,
        segment: u32::try_from(config.tcp.segment_size.count()).unwrap_or(u32::MAX),
        notices: Controller::new(&config.congestion, streams.stream("linux")).wants().notices,
    };
    (flow.start, flow.stop) = (Time::NEVER, Time::NEVER);
    Some(found)
}
