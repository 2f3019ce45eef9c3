//! The flows of a run whose TCP is Linux's, and the programs in simulated time.

use std::collections::BTreeSet;

use hopyard_engine::{Streams, Time};
use hopyard_model::address::NodeId;
use hopyard_model::traffic::{Offer, Period, Traffic as _};
use hopyard_model::transport::congestion::{CongestionControl as _, Controller};
use hopyard_model::world::{FlowSpec, Spec, Transport};

use crate::resolve::Resolved;
use crate::scenario::Scenario;
use crate::sections::{Host, Linux, Stack};

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
    /// The payload of a full segment, in bytes, as far as datagrams of 1500 bytes allow.
    pub segment: u32,
    /// Whether the variant uses notices of segments that routing cannot forward.
    pub notices: bool,
}

/// What a source offers to Linux: bytes, or data without end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Offered(pub Option<u64>);

/// What a flow's application offers, if it offers all of it at its start.
pub(crate) fn offered(traffic: &hopyard_model::traffic::Config, streams: &Streams) -> Option<Offered> {
    let mut source = traffic.source(Period { start: Time::ZERO, stop: Time::NEVER }, streams.stream("linux"));
    match source.on_timer(Time::ZERO) {
        Offer::Unlimited => Some(Offered(None)),
        Offer::Last(bytes) => Some(Offered(Some(bytes))),
        Offer::Bytes(_) => None,
    }
}

/// The stacks of the flows, in their order, from the number of flows that each set has.
fn stacks(resolved: &Resolved) -> impl Iterator<Item = Stack> {
    let listed = resolved.flows.iter().map(|(flow, _)| flow.stack);
    let drawn = resolved.random_flows.iter().flat_map(|set| {
        let count = set.flows.number(resolved.nodes.count) as usize;
        std::iter::repeat_n(set.flows.stack, count)
    });
    listed.chain(drawn)
}

impl Scenario {
    /// What holds for the kernels of this scenario; nothing if it has no flow of Linux and no program.
    #[must_use]
    pub fn linux(&self) -> Option<&Linux> {
        let is_used = !self.resolved.hosts.is_empty() || stacks(&self.resolved).any(|stack| stack == Stack::Linux);
        is_used.then_some(&self.resolved.linux)
    }

    /// The programs that run at nodes in simulated time.
    #[must_use]
    pub fn hosts(&self) -> &[Host] {
        &self.resolved.hosts
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

    /// How many kernels a run has: one for each node with an end of a flow of Linux, or with a program.
    #[must_use]
    pub fn kernels(&self) -> usize {
        let flows = self.linux_flows(&mut self.spec(0));
        let of_flows = flows.into_iter().flat_map(|flow| [flow.from, flow.to]);
        let nodes = of_flows.chain(self.resolved.hosts.iter().map(|host| NodeId(host.node)));
        nodes.collect::<BTreeSet<_>>().len()
    }

    /// The flows of Linux in the specification of a run. In the specification they do nothing from now on: their places
    /// among the flows stay, and so do the numbers of the others.
    #[must_use]
    pub fn linux_flows(&self, spec: &mut Spec) -> Vec<LinuxFlow> {
        let streams = Streams::new(spec.seed, spec.run);
        let flows = spec.flows.iter_mut().zip(stacks(&self.resolved)).enumerate();
        let linux = flows.filter(|(_, (_, stack))| *stack == Stack::Linux);
        linux.filter_map(|(number, (flow, _))| taken(number, flow, &self.resolved.linux, &streams)).collect()
    }
}

/// A flow of Linux; in the specification it starts after every run.
fn taken(number: usize, flow: &mut FlowSpec, linux: &Linux, streams: &Streams) -> Option<LinuxFlow> {
    // A scenario with a flow of Linux over UDP, or with another traffic, was refused.
    let Transport::Tcp { config, .. } = &flow.transport else { return None };
    let Offered(bytes) = offered(&flow.traffic, streams)?;
    let found = LinuxFlow {
        number,
        from: flow.from,
        to: flow.to,
        variant: linux.name_of(config.congestion.name()).to_owned(),
        start: flow.start,
        bytes,
        segment: u32::try_from(config.tcp.segment_size.count()).unwrap_or(u32::MAX),
        notices: Controller::new(&config.congestion, streams.stream("linux")).wants_notices(),
    };
    (flow.start, flow.stop) = (Time::NEVER, Time::NEVER);
    Some(found)
}
