//! From a scenario to the specification of one run.

use std::collections::BTreeMap;
use std::sync::Arc;

use hopyard_engine::{Span, Streams, Time};
use hopyard_model::address::NodeId;
use hopyard_model::agent;
use hopyard_model::link::wired;
use hopyard_model::mac;
use hopyard_model::mobility::Position;
use hopyard_model::observe::Recorded;
use hopyard_model::packet::Dscp;
use hopyard_model::routing::{self, static_routes};
use hopyard_model::transport::{congestion, tcp};
use hopyard_model::world::{
    Cast, ChannelSpec, EnergySpec, FlowSpec, GroupSpec, MediumSpec, NodeSpec, ObserveSpec, SleepSpec, Spec, Transport,
    TunnelSpec, WireSpec,
};

use crate::drawing::{drawn_flows, tables};
use crate::placement::uniform;
use crate::resolve::{Congestion, FlowKind, FurtherChannel, Moving, Resolved, TcpKind, Typed, orders, roles, served};
use crate::scenario::Scenario;
use crate::sections::{ALL, Address, Flow, Obstacle, Placement, Sleep, To, Tunnel, Until, Wire, addresses};

fn congestion(congestion: &Congestion) -> congestion::Config {
    match congestion {
        Congestion::Model(chosen) => chosen.config.clone(),
        Congestion::External(external) => congestion::Config::External(external.clone()),
    }
}

impl Scenario {
    /// The specification of run number `run`. The same scenario, seed and number give the same specification. Runs
    /// differ in their random numbers. All cases of a comparison use the same random numbers, whatever else they
    /// change.
    #[must_use]
    pub fn spec(&self, run: u64) -> Spec {
        let resolved = &*self.resolved;
        let streams = Streams::new(resolved.head.seed, run);
        let mut spec = Spec::network(&resolved.head.profile);
        spec.seed = resolved.head.seed;
        spec.run = run;
        spec.duration = resolved.head.duration;
        spec.measure_from = Time::ZERO + resolved.measure.from;
        spec.nodes = nodes(resolved, &streams);
        spec.channels[0].radio = (*resolved.radio).clone();
        spec.channels[0].propagation = resolved.propagation.config.clone();
        spec.channels[0].errors = resolved.errors_of(&resolved.radio);
        spec.channels[0].links = resolved.links_of(&resolved.propagation);
        spec.channels[0].fading = resolved.fading.config.clone();
        spec.channels[0].mac = resolved.mac.config.clone();
        if let (true, mac::Config::Edca(params)) = (resolved.has_wifi(), &mut spec.channels[0].mac) {
            params.dcf.carries_stations = true;
        }
        spec.channels[0].rates = resolved.rates.config.clone();
        spec.channels[0].network = resolved.nodes.network.prefix();
        let channel = |it: &FurtherChannel| ChannelSpec {
            radio: (*it.radio).clone(),
            propagation: it.propagation.config.clone(),
            links: resolved.links_of(&it.propagation),
            errors: resolved.errors_of(&it.radio),
            fading: it.fading.config.clone(),
            mac: it.mac.config.clone(),
            rates: it.rates.config.clone(),
            network: it.channel.network.prefix(),
        };
        spec.obstacles = resolved.obstacles.iter().map(Obstacle::in_space).collect();
        spec.channels.extend(resolved.channels.iter().map(channel));
        let address = |it: &Address| Some((NodeId(it.node), it.address.parse().ok()?));
        spec.addresses = resolved.addresses.iter().filter_map(address).collect();
        spec.jammers = resolved.jammers.iter().flat_map(|it| it.specs(resolved.head.duration)).collect();
        spec.energy = energy_spec(resolved);
        spec.link = (*resolved.link).clone();
        spec.queue = resolved.queue.config.clone();
        spec.ip = (*resolved.ip).clone();
        let wire = |(wire, link): &(Wire, Typed<wired::Params>)| {
            let [a, b] = wire.between;
            WireSpec { ends: (NodeId(a), NodeId(b)), params: (**link).clone(), network: wire.network.prefix() }
        };
        spec.wires = resolved.wires.iter().map(wire).collect();
        let traces = resolved.wires.iter().map(|(_, link)| resolved.traces_of(link)).enumerate();
        spec.wire_traces = traces.filter(|(_, [there, back])| !(there.is_empty() && back.is_empty())).collect();
        spec.wire_queues = resolved.wire_queues.iter().map(|it| it.config.clone()).enumerate().collect();
        let prefixes = |list: &[String]| list.iter().filter_map(|text| text.parse().ok()).collect();
        let tunnel = |it: &Tunnel| TunnelSpec {
            ends: (NodeId(it.between[0]), NodeId(it.between[1])),
            carries: [prefixes(&it.carries), prefixes(&it.carries_back)],
        };
        spec.tunnels = resolved.tunnels.iter().map(tunnel).collect();
        spec.roles = roles(resolved);
        spec.orders = orders(resolved);
        spec.served = served(resolved);
        spec.flows = flows(resolved, &streams);
        spec.multicast = resolved.multicast.config.clone();
        (spec.groups, spec.casts) = groups(resolved);
        let measure = &resolved.measure;
        let recorded = Recorded {
            routes: measure.routes,
            rates: measure.rates,
            paths: measure.paths,
            segments: measure.segments.clone(),
            mobile_events: measure.mobile_events,
        };
        spec.observe = ObserveSpec { series: measure.series.clone(), interval: measure.interval, recorded };
        spec.medium = MediumSpec { exact: resolved.simulator.exact, search: resolved.simulator.search };
        spec
    }
}

fn energy_spec(resolved: &Resolved) -> EnergySpec {
    let mut batteries = vec![resolved.energy.battery; resolved.nodes.count as usize];
    for battery in &resolved.batteries {
        for node in &battery.nodes {
            batteries[*node as usize] = battery.capacity;
        }
    }
    let at = |span: Span| Time::ZERO + span;
    let of_nodes = |it: &Sleep| {
        let times: Vec<_> = it.times.iter().map(|part| (at(part.from), at(part.to))).collect();
        let every = Some(it.every).filter(|every| !every.is_zero());
        let spec = move |&node: &u32| SleepSpec { node: NodeId(node), times: times.clone(), every };
        it.nodes.iter().map(spec).collect::<Vec<_>>()
    };
    let sleeps = resolved.sleeps.iter().flat_map(of_nodes).collect();
    EnergySpec { model: resolved.energy_model.config.clone(), batteries, sleeps }
}

fn nodes(resolved: &Resolved, streams: &Streams) -> Vec<NodeSpec> {
    let drawn = if resolved.nodes.placement == Placement::Uniform {
        uniform(&resolved.nodes, streams.stream("placement"))
    } else {
        Vec::new()
    };
    let routing = &resolved.routing.config;
    let movement = |chosen: &Moving| {
        let movements = resolved.file(chosen).map(|file| Arc::clone(&file.meaning));
        (chosen.config.clone().expect("parameters that do not fit the area were reported"), movements)
    };
    let place = |node: u32| {
        let node = node as usize;
        resolved.positions.get(node).or_else(|| drawn.get(node)).copied().unwrap_or_default()
    };
    let (mobility, movements) = movement(&resolved.mobility);
    let radio = |node: u32| NodeSpec {
        mobility: mobility.clone(),
        movements: movements.clone(),
        ..NodeSpec::stationary(place(node), routing.clone())
    };
    let mut nodes: Vec<_> = (0..resolved.nodes.count).map(radio).collect();
    for (node, table) in nodes.iter_mut().zip(tables(resolved)) {
        node.table = table;
    }
    for (moved, chosen) in &resolved.movements {
        let (mobility, movements) = movement(chosen);
        for node in &moved.nodes {
            let node = &mut nodes[*node as usize];
            node.mobility = mobility.clone();
            node.movements.clone_from(&movements);
        }
    }
    let wired = |_| NodeSpec { radios: Vec::new(), ..NodeSpec::stationary(Position::default(), routing.clone()) };
    nodes.extend((0..resolved.nodes.wired).map(wired));
    let roles = roles(resolved);
    for (number, node) in (0..).zip(&mut nodes) {
        // Agents that serve hosts which move have nothing to do elsewhere.
        let runs = |agent: &&agent::Config| roles.contains_key(&NodeId(number)) || !agent.serves_moving_hosts();
        node.agents = resolved.agents.iter().map(|it| &it.config).filter(runs).cloned().collect();
    }
    // Those route nothing that only radiate, or whose routing is a kernel's.
    for node in resolved.linux_nodes().into_iter().chain(resolved.talking()..resolved.nodes.count) {
        let node = &mut nodes[node as usize];
        node.routing = routing::Config::StaticRoutes(static_routes::Params::silent().into());
        node.agents = Vec::new();
    }
    for (number, further) in (1..).zip(&resolved.channels) {
        for node in &further.channel.nodes {
            nodes[*node as usize].radios.push(number);
        }
    }
    nodes
}

/// The groups, and the further destinations of flows.
fn groups(resolved: &Resolved) -> (Vec<GroupSpec>, BTreeMap<usize, Cast>) {
    if !resolved.flows.iter().any(|(flow, _)| !matches!(flow.to, To::Node(_))) {
        return Default::default();
    }
    let names: Vec<&str> = resolved.groups.iter().map(|it| &*it.name).chain([ALL]).collect();
    let group = |(name, address): (&&str, _)| {
        let members = resolved.members(name).into_iter().map(NodeId).collect();
        GroupSpec { address, members }
    };
    let groups = names.iter().zip(addresses(&resolved.groups)).map(group).collect();
    let cast = |flow: &Flow| match &flow.to {
        To::Node(_) => None,
        To::Nodes(nodes) => Some(Cast::Each(nodes.iter().copied().map(NodeId).collect())),
        To::Group(name) => Some(Cast::Group(names.iter().position(|it| it == name)?)),
    };
    let casts = resolved.flows.iter().enumerate().filter_map(|(i, (flow, _))| Some((i, cast(flow)?))).collect();
    (groups, casts)
}

fn flows(resolved: &Resolved, streams: &Streams) -> Vec<FlowSpec> {
    let duration = resolved.head.duration;
    let flow = |from: u32, to: u32, start: Span, stop: Until, label: &str, dscp: Dscp, kind: &FlowKind| FlowSpec {
        from: NodeId(from),
        to: NodeId(to),
        start: Time::ZERO + start,
        stop: match stop {
            Until::End => Time::NEVER,
            Until::At(_) => stop.time(duration),
        },
        traffic: kind.traffic.config.clone(),
        transport: match &kind.tcp {
            None => Transport::Udp,
            Some(TcpKind { machine, congestion: chosen, acking: acks }) => Transport::Tcp {
                config: Box::new(tcp::Config { tcp: (**machine).clone(), congestion: congestion(chosen) }),
                acking: acks.config.clone(),
            },
        },
        label: label.to_owned(),
        dscp: dscp.bits(),
    };
    let mut flows: Vec<_> = resolved
        .flows
        .iter()
        .map(|(it, kind)| (it, resolved.receivers(it).first().copied().unwrap_or_default(), kind))
        .map(|(it, to, kind)| flow(it.from, to, it.start, it.stop, &it.label, it.dscp, kind))
        .collect();
    for (set, drawn) in resolved.random_flows.iter().zip(drawn_flows(resolved, streams)) {
        flows.extend(
            drawn
                .into_iter()
                .map(|it| flow(it.from, it.to, it.start, set.flows.stop, &set.flows.label, set.flows.dscp, &set.kind)),
        );
    }
    flows
}
