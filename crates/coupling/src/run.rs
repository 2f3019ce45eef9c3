//! A world and its kernels under one clock.

use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv4Addr;
use std::time::Duration;

use hopyard_engine::{Span, Streams, Time};
use hopyard_kernels::agent::Report;
use hopyard_kernels::{Counters, Kernels};
use hopyard_model::address::NodeId;
use hopyard_model::observe::{DropRow, FlowRow, NodeRow, NodeTable, Outcome, PacketsLeft, Probe};
use hopyard_model::world::{
    Advanced, BuildError, InjectError, MOST_FLOWS, MOST_PROGRAMS, Quantity, RunError, Spec, Watch, World,
};
use hopyard_scenario::LinuxFlow;

use crate::hosts::Hosts;
use crate::meter::{Ends, Measured, Meters};
use crate::orders::{Options, Site, flow_of, guest, ports};
use crate::outcome::{self, Sampled};
use crate::programs::{Program, ProgramError, ProgramState};
use crate::routers::Routers;
use crate::routes::RouteEvents;
use crate::state::{FlowState, Sample};
use crate::stations::Stations;

/// How long before the end of a run the programs that have not ended are told to end, so that their output is known.
const ENDING: Span = Span::from_millis(2);
/// The number of samples after which the reports of kernels are read, so that the reports of a long run take little
/// room on the disk.
const READ_AFTER: u64 = 1000;

/// How many lines of the output of a daemon that has failed an error shows.
const LAST_LINES: usize = 20;

/// Why kernels and a network cannot go on together.
#[derive(Debug, thiserror::Error)]
pub enum CouplingError {
    /// A kernel, or the network.
    #[error(transparent)]
    Kernels(#[from] hopyard_kernels::Error),
    /// The network cannot be built.
    #[error(transparent)]
    Build(#[from] BuildError),
    /// The run has failed.
    #[error(transparent)]
    Run(#[from] RunError),
    /// A node cannot have a kernel.
    #[error(transparent)]
    Attach(#[from] InjectError),
    /// A node has a kernel as the host of a node of Hopyard, beside nodes that are kernels.
    #[error("expected a kernel at one of the {nodes} nodes that are kernels, found node {node}")]
    Mixed {
        /// The node.
        node: NodeId,
        /// How many nodes are kernels.
        nodes: usize,
    },
    /// The program that does the routing of a node has failed.
    #[error("the routing of node {node}, `{command}`, ended at {at} with status {status}; it said:\n{said}")]
    Daemon {
        /// The node.
        node: NodeId,
        /// The program.
        command: String,
        /// When.
        at: Time,
        /// Its exit status.
        status: i32,
        /// The end of its output.
        said: String,
    },
    /// A flow goes from a node to itself, or from or to a node without an address.
    #[error("flow {flow}: expected two different nodes with addresses, found {from} and {to}")]
    Ends {
        /// The flow.
        flow: usize,
        /// Its source.
        from: NodeId,
        /// Its destination.
        to: NodeId,
    },
    /// There are more flows than ports.
    #[error("expected at most {MOST_FLOWS} flows of kernels, found {0}")]
    Flows(usize),
    /// A program is at a node that does not exist, or has no address.
    #[error("program {program}: expected a node with an address, found {node}")]
    Place {
        /// The number of the program.
        program: usize,
        /// The node.
        node: NodeId,
    },
    /// There are more programs than a kernel's agent can have.
    #[error("expected at most {MOST_PROGRAMS} programs, found {0}")]
    Programs(usize),
    /// A program cannot run.
    #[error("program {program}: {error}")]
    Program {
        /// The number of the program.
        program: usize,
        /// Why.
        error: ProgramError,
    },
}

/// The data that the applications at a node received over flows of kernels: packets that brought something new, and
/// bytes.
type Received = BTreeMap<u32, (u64, u64)>;

fn add_received(mut row: NodeRow, received: &Received) -> NodeRow {
    let (packets, bytes) = received.get(&row.node).copied().unwrap_or_default();
    row.data_packets += packets;
    row.data_bytes += bytes;
    row
}

/// A world whose nodes have Linux kernels as hosts.
pub struct Coupled<P: Probe> {
    // First, so that the processes end first.
    kernels: Kernels,
    hosts: Hosts<(Meters, P)>,
    /// The addresses and ports of each flow.
    ends: Vec<Ends>,
    nodes: Vec<NodeId>,
    flows: Vec<FlowState>,
    samples: Vec<Sample>,
    programs: Vec<(Program, ProgramState)>,
    /// The nodes that are kernels, if there are any; the changes of their routes; and the node of each address.
    routers: Option<Routers>,
    routes: RouteEvents,
    owners: BTreeMap<Ipv4Addr, NodeId>,
    quantities: Vec<Quantity>,
    measure_from: Time,
    /// The time between two samples.
    interval: Span,
    end: Time,
    /// When programs are told to end.
    last: Time,
    /// Timeouts and fast retransmits that each kernel had counted when the measuring began.
    before: Vec<[u64; 2]>,
    /// The counts of each kernel up to now.
    counted: Vec<[u64; 2]>,
    /// Timeouts of each flow's socket at that time, and whether the kernel tells them.
    own_before: Vec<Option<u64>>,
}

impl<P: Probe> Coupled<P> {
    /// Builds the network of a run, and starts a kernel for each node with an end of a flow.
    ///
    /// # Errors
    /// If a flow cannot be, or a kernel cannot be started.
    pub fn start(spec: &Spec, flows: &[LinuxFlow], options: &Options, probe: P) -> Result<Self, CouplingError> {
        if flows.len() > MOST_FLOWS {
            return Err(CouplingError::Flows(flows.len()));
        }
        if options.programs.len() > MOST_PROGRAMS {
            return Err(CouplingError::Programs(options.programs.len()));
        }
        let paths = options.routers.is_some() && spec.observe.recorded.paths;
        let meters = Meters::new(spec.measure_from, options.sample, flows, paths);
        let world = World::with_probe(spec, (meters, probe))?;
        let addresses: Vec<_> = (0..world.node_count() as u32).map(|it| world.addresses(NodeId(it)).to_vec()).collect();
        let mtus: Vec<_> = (0..addresses.len() as u32).map(|it| world.mtus(NodeId(it))).collect();
        let is_host = |node: NodeId| addresses.get(node.index()).is_some_and(|it| !it.is_empty());
        let mut nodes = BTreeSet::new();
        for (number, flow) in flows.iter().enumerate() {
            if flow.from == flow.to || !is_host(flow.from) || !is_host(flow.to) {
                return Err(CouplingError::Ends { flow: number, from: flow.from, to: flow.to });
            }
            nodes.extend([flow.from, flow.to]);
        }
        let mut paths = Vec::new();
        for (number, program) in options.programs.iter().enumerate() {
            if !is_host(program.node) {
                return Err(CouplingError::Place { program: number, node: program.node });
            }
            paths.push(program.find().map_err(|error| CouplingError::Program { program: number, error })?);
            nodes.insert(program.node);
        }
        let routers = options.routers.as_ref();
        nodes.extend(routers.iter().flat_map(|it| &it.nodes));
        if let Some((&node, it)) = routers.and_then(|it| Some((nodes.iter().find(|node| !it.has(**node))?, it))) {
            return Err(CouplingError::Mixed { node, nodes: it.nodes.len() });
        }
        let routes = routers.map_or_else(|| Ok(BTreeMap::new()), |it| it.static_routes(spec))?;
        let end = Time::ZERO + spec.duration;
        let site =
            Site { addresses: &addresses, mtus: &mtus, routes: &routes, paths: &paths, from: spec.measure_from, end };
        let address = |node: NodeId| site.first(node);
        let nodes: Vec<NodeId> = nodes.into_iter().collect();
        let ends = flows.iter().enumerate().map(|(number, flow)| {
            let (source, sink) = ports(number);
            (address(flow.from), source, address(flow.to), sink)
        });
        let ends: Vec<Ends> = ends.collect();
        let room = spec.link.queue_limit.capacity(spec.link.queue_length);
        let stations = || Stations::new(&nodes, room, Streams::new(spec.seed, spec.run), end);
        let mut hosts = if let Some(wireless) = routers.and_then(|it| it.wireless.as_ref()) {
            Hosts::of_radios(world, nodes.clone(), stations(), (wireless, spec))?
        } else if routers.is_some() {
            Hosts::of_nodes(world, nodes.clone(), stations())?
        } else {
            let devices = nodes.iter().map(|&node| site.devices(node, options).to_vec()).collect();
            Hosts::new(world, nodes.clone(), devices)?
        };
        if routers.is_none() {
            flows.iter().filter(|it| it.notices).try_for_each(|it| hosts.world.notify(it.from))?;
        }
        let guests: Vec<_> = nodes.iter().map(|&node| guest(node, flows, options, &site)).collect();
        let kernels = Kernels::start(&guests, options.settings.clone())?;
        let state = |flow: &LinuxFlow| {
            let ends_here = |it: &&LinuxFlow| it.from == flow.from || it.to == flow.from;
            let is_alone = flows.iter().filter(ends_here).nth(1).is_none()
                && !options.programs.iter().any(|it| it.node == flow.from);
            FlowState {
                flow: flow.clone(),
                measured: Measured::new(spec.measure_from),
                connected: None,
                finished: None,
                broken: None,
                timeouts: is_alone.then_some(0),
                fast_retransmits: is_alone.then_some(0),
            }
        };
        let (measure_from, before, own_before) =
            (spec.measure_from, vec![[0; 2]; guests.len()], vec![None; flows.len()]);
        let flows = flows.iter().map(state).collect();
        let programs = options.programs.iter().map(|it| (it.clone(), ProgramState::default())).collect();
        let last = Time::from_nanos(end.nanos().saturating_sub(ENDING.nanos()));
        Ok(Self {
            kernels,
            hosts,
            ends,
            nodes,
            flows,
            samples: Vec::new(),
            programs,
            routers: options.routers.clone(),
            routes: RouteEvents::default(),
            owners: (0..).zip(&addresses).filter_map(|(node, it)| Some((*it.first()?, NodeId(node)))).collect(),
            quantities: spec.observe.series.clone(),
            measure_from,
            interval: options.sample,
            end,
            last,
            counted: before.clone(),
            before,
            own_before,
        })
    }

    /// Carries out all events up to and including a time, in the network and in the kernels. The watch can stop the run
    /// between two events; the run can go on then.
    ///
    /// # Errors
    /// If a kernel or the network cannot go on.
    pub fn advance(&mut self, until: Time, watch: &Watch) -> Result<Advanced, CouplingError> {
        // Without samples there are few reports.
        let piece = self.interval.nanos().saturating_mul(READ_AFTER);
        let mut next = if piece == 0 { until } else { self.kernels.now() };
        let mut stopped = false;
        while !stopped {
            next = Time::from_nanos(next.nanos().saturating_add(piece)).min(until);
            let advanced = self.kernels.advance(next, &mut self.hosts, || watch.is_cancelled());
            // What an agent says of an error comes before the end of its kernel.
            self.read()?;
            self.check_daemons()?;
            stopped = match advanced {
                Err(hopyard_kernels::Error::Stopped(_)) => true,
                other => other.map(|()| false)?,
            };
            if next == until {
                break;
            }
        }
        // The kernels report one after the other, each in the order of time.
        self.samples.sort_by_key(|it| (it.at, it.flow));
        self.routes.sort();
        // No event is left before this time; the world goes on to it.
        Ok(if stopped { Advanced::Cancelled } else { self.hosts.world.advance(until, watch) })
    }

    /// Reads the reports of the kernels.
    fn read(&mut self) -> Result<(), CouplingError> {
        for kernel in 0..self.kernels.len() {
            // A part of them at a time: programs may have written much.
            while let reports = self.kernels.reports(kernel)?
                && !reports.is_empty()
            {
                reports.into_iter().for_each(|(at, report)| self.report(kernel, at, report));
            }
        }
        Ok(())
    }

    /// The routing of a node has to go on: without it, what follows would be of another network. A program that puts
    /// itself into the background has ended well.
    fn check_daemons(&self) -> Result<(), CouplingError> {
        let Some(routers) = &self.routers else { return Ok(()) };
        let failed = |(_, state): &&(Program, ProgramState)| state.ended.is_some_and(|(_, status)| status != 0);
        let Some((it, state)) = self.programs.iter().filter(failed).find(|(it, _)| routers.has_daemon(it)) else {
            return Ok(());
        };
        let (at, status) = state.ended.unwrap_or_default();
        let [output, errors] = state.output.each_ref().map(|it| String::from_utf8_lossy(&it.bytes()).into_owned());
        let said = if errors.is_empty() { output } else { errors };
        let lines: Vec<&str> = said.lines().collect();
        let said = lines[lines.len().saturating_sub(LAST_LINES)..].join("\n");
        Err(CouplingError::Daemon { node: it.node, command: it.arguments.join(" "), at, status, said })
    }

    /// The processor time of the kernels and of the programs in them, so far.
    pub fn processor_time(&self) -> Duration {
        self.kernels.processor_time()
    }

    /// The world.
    pub fn world(&self) -> &World<(Meters, P)> {
        &self.hosts.world
    }

    /// Ends the run at the time that it has reached. Returns its results and the probe.
    ///
    /// # Errors
    /// If packets do not add up.
    pub fn finish(self) -> Result<(Outcome, P), CouplingError> {
        let outcome = self.outcome(None);
        let Self { kernels, hosts, .. } = self;
        // The kernels end before the network does.
        drop(kernels);
        let (_, (_, probe)) = hosts.world.finish()?;
        Ok((outcome, probe))
    }

    /// The results up to now: all tables, or the one with this name.
    pub fn outcome(&self, only: Option<&str>) -> Outcome {
        let (world, (meters, _)) = (&self.hosts.world, self.hosts.world.probe());
        let flows = || self.flows.iter().zip(&self.ends).enumerate();
        let samples = |flow| self.samples.iter().filter(|it| it.flow == flow).copied().collect::<Vec<_>>();
        let mut outcome = world.outcome(only);
        let own_changes = std::mem::take(&mut outcome.route_changes);
        let routes = self.routes.beside(&own_changes);
        outcome.fill(only, world.now(), |report| {
            report.table(|| {
                let counts = world.flow_counts();
                let mut rows: Vec<_> = counts.iter().map(FlowRow::of).collect();
                let (anywhere, queued) = (meters.among(world.under_way()), meters.among(world.queued()));
                for (flow, (state, &ends)) in flows() {
                    let [anywhere, queued] = [&anywhere, &queued].map(|it| it.get(&ends).copied().unwrap_or_default());
                    let left = PacketsLeft { anywhere, queued };
                    let number = state.flow.number;
                    if let (Some(row), Some(measured)) = (rows.get_mut(number), meters.measured(ends)) {
                        *row = outcome::flow(&counts[number], state, measured, left, &samples(flow));
                        if self.routers.is_some() {
                            let flow = &state.flow;
                            row.route_changes = routes.changes(flow.from, flow.to, self.measure_from);
                        }
                    }
                }
                rows
            });
            report.table(|| {
                let mut rows = world.series().to_vec();
                for (flow, (state, &ends)) in flows() {
                    let (number, quantities) = (state.flow.number, &self.quantities);
                    let (samples, hops) = (samples(flow), routes.hops(state.flow.from, state.flow.to));
                    let (interval, end) = (self.interval, world.now());
                    let sampled = Sampled { samples: &samples, meters, ends, hops: &hops, interval, end };
                    outcome::series(&mut rows, number, quantities, sampled);
                }
                rows
            });
            report.table(|| {
                let received = self.received();
                world.nodes().map(|row| add_received(row, &received)).collect::<NodeTable>()
            });
            report.table(|| {
                // The network has delivered what a kernel has not received.
                let row =
                    |(node, reason, count): (NodeId, _, _)| DropRow { node: node.0, kind: "external", reason, count };
                world.drops().into_iter().chain(self.lost().into_iter().map(row)).collect::<Vec<_>>()
            });
            if let Some(routers) = &self.routers {
                let ends: Vec<_> =
                    self.flows.iter().map(|it| (it.flow.number as u32, it.flow.from, it.flow.to)).collect();
                report.table(|| self.routes.rows(routers.routes, &ends, own_changes.clone()));
                report.table(|| meters.paths());
            }
            report.table(|| {
                let programs = self.programs.iter().zip(0..);
                programs.map(|((it, state), number)| outcome::program(number, it, state)).collect::<Vec<_>>()
            });
        });
        outcome
    }

    fn received(&self) -> Received {
        let (meters, _) = self.hosts.world.probe();
        let mut all = Received::default();
        for (state, &ends) in self.flows.iter().zip(&self.ends) {
            let Some(Measured { packets, .. }) = meters.measured(ends) else { continue };
            let of_node = all.entry(state.flow.to.0).or_default();
            *of_node = (of_node.0 + packets.total_unique(), of_node.1 + packets.total_delivered());
        }
        all
    }

    /// When the network or a kernel does something next, if one does before the end of the run. Kernels have no wishes
    /// before the first step.
    pub fn next_event(&self) -> Option<Time> {
        let wish = self.kernels.next_wish().filter(|at| *at <= self.end);
        self.hosts.world.next_event().into_iter().chain(wish).min()
    }

    /// The states of the flows.
    pub fn flows(&self) -> Vec<FlowState> {
        let (meters, _) = self.hosts.world.probe();
        let all = self.flows.iter().zip(&self.ends);
        let measured = |(state, ends): (&FlowState, &Ends)| match meters.measured(*ends) {
            Some(measured) => FlowState { measured: measured.clone(), ..state.clone() },
            None => state.clone(),
        };
        all.map(measured).collect()
    }

    /// The samples of the sending sockets since the last call, in the order of time.
    pub fn samples(&mut self) -> Vec<Sample> {
        std::mem::take(&mut self.samples)
    }

    /// The programs, and their states.
    pub fn programs(&self) -> &[(Program, ProgramState)] {
        &self.programs
    }

    /// The nodes with kernels, and the traffic between each kernel and the simulation.
    pub fn counters(&self) -> impl Iterator<Item = (NodeId, Counters)> {
        self.nodes.iter().enumerate().map(|(kernel, &node)| (node, self.kernels.counters(kernel)))
    }

    /// The frames that were lost between kernels and network: node, why, and how many.
    pub fn lost(&self) -> Vec<(NodeId, &'static str, u64)> {
        let refused = self.hosts.refused.iter().map(|(&(node, why), &count)| (node, why, count));
        let received = self
            .counters()
            .flat_map(|(node, it)| [(node, "no_receive_buffer", it.no_buffer), (node, "device_down", it.down)]);
        refused.chain(received.filter(|it| it.2 > 0)).collect()
    }

    /// The nodes with kernels.
    pub fn nodes(&self) -> BTreeSet<NodeId> {
        self.nodes.iter().copied().collect()
    }

    /// Takes the counts of a kernel up to a time.
    fn count(&mut self, kernel: usize, at: Time, counted: [u64; 2]) {
        self.counted[kernel] = counted;
        if at <= self.measure_from {
            self.before[kernel] = counted;
            return;
        }
        let (node, before) = (self.nodes[kernel], self.before[kernel]);
        let [timeouts, fast] = [counted[0] - before[0], counted[1] - before[1]];
        for (it, own) in self.flows.iter_mut().zip(&self.own_before).filter(|(it, _)| it.flow.from == node) {
            it.fast_retransmits = it.fast_retransmits.map(|_| fast);
            // What the socket itself tells is newer, or the same.
            // Those before the connection is open are of the SYN.
            let is_known = own.is_some() || it.connected.is_none();
            it.timeouts = it.timeouts.map(|known| if is_known { known } else { timeouts });
        }
    }

    /// The timeouts that a flow's socket had up to a time, if its kernel tells them.
    fn count_timeouts(&mut self, flow: usize, at: Time, timeouts: Option<u64>) {
        let Some(timeouts) = timeouts else { return };
        let before = if at <= self.measure_from { timeouts } else { self.own_before[flow].unwrap_or_default() };
        self.own_before[flow] = Some(before);
        self.flows[flow].timeouts = Some(timeouts - before);
    }

    /// Takes a report of an agent.
    fn report(&mut self, kernel: usize, at: Time, report: Report) {
        let node = self.nodes[kernel];
        let of_port = |port| flow_of(port).filter(|it| self.flows.get(*it).is_some_and(|it| it.flow.from == node));
        match report {
            Report::Connected { port, timeouts } => {
                if let Some(flow) = of_port(port) {
                    self.flows[flow].connected = Some(at);
                    // Timeouts of the SYN are none of the data's.
                    self.before[kernel][0] = self.counted[kernel][0];
                    self.own_before[flow] = timeouts;
                }
            }
            Report::Sent { port, timeouts, .. } => {
                if let Some(flow) = of_port(port) {
                    self.flows[flow].finished = Some(at);
                    self.count_timeouts(flow, at, timeouts);
                }
            }
            Report::Broken { port, number } => {
                if let Some(flow) = of_port(port) {
                    self.flows[flow].broken = Some((at, number.unsigned_abs()));
                }
            }
            Report::Counters { timeouts, fast } => self.count(kernel, at, [timeouts, fast]),
            Report::Began { program } => {
                if let Some((_, state)) = self.programs.get_mut(program as usize) {
                    state.began = Some(at);
                }
            }
            Report::Output { program, stream, bytes } => {
                if let Some((_, state)) = self.programs.get_mut(program as usize) {
                    state.output[usize::from(stream == 2)].extend(&bytes);
                }
            }
            // What ends after it was told to has not ended by itself.
            Report::Ended { program, status, signal } if at < self.last => {
                if let Some((_, state)) = self.programs.get_mut(program as usize) {
                    state.ended = Some((at, if signal > 0 { 128 + signal } else { status }));
                }
            }
            Report::Socket {
                port,
                peer,
                state,
                cwnd,
                ssthresh,
                srtt,
                rto,
                unacknowledged,
                retransmissions,
                timeouts,
            } => {
                // A socket of a program may have the port of a flow's source.
                let Some(flow) = of_port(port).filter(|it| ports(*it).1 == peer) else { return };
                self.count_timeouts(flow, at, timeouts);
                // Those at the begin of the measuring and at the end are for the counters only.
                if at.nanos().is_multiple_of(self.interval.nanos().max(1)) {
                    self.samples.push(Sample {
                        at,
                        flow,
                        cwnd,
                        // Linux has no threshold yet: 0x7fffffff (TCP_INFINITE_SSTHRESH).
                        ssthresh: Some(ssthresh).filter(|it| *it < 0x7fff_ffff),
                        srtt_ms: f64::from(srtt) / 1000.0,
                        rto_ms: f64::from(rto) / 1000.0,
                        unacknowledged,
                        retransmissions,
                        state,
                    });
                }
            }
            // A daemon that is told to end may take its routes away.
            Report::Route { added, prefix, addresses, .. } if at < self.last => {
                let owner = |address| self.owners.get(&address).copied();
                let event =
                    self.routers.as_ref().and_then(|it| it.route_event((at, node), (added, prefix), &addresses, owner));
                event.into_iter().for_each(|it| self.routes.push(it));
            }
            Report::Ready { .. }
            | Report::Failed { .. }
            | Report::Accepted { .. }
            | Report::Received { .. }
            | Report::Ended { .. }
            | Report::Route { .. }
            | Report::Answer { .. } => {}
        }
    }
}

#[cfg(test)]
#[path = "estimates_tests.rs"]
mod tests;
