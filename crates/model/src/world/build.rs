//! Building a world from its specification.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use hopyard_engine::units::Rate;
use hopyard_engine::{Rank, Span, Streams, Time};

use super::addressing::{AddressError, AddressPlan, Layout, Network};
use super::batteries::{Batteries, Energy};
use super::{Cast, Knowledge, NodeSpec, Progress, RoleSpec, Sampling, Spec, Transport, World};
use super::{ends, roles, wired_routes};
use crate::address::{Address, InterfaceId, NodeId, Prefix};
use crate::agent::{self, AgentInterface};
use crate::channel::{AnyChannel, ChannelId, ChannelModels, Station};
use crate::clock::{Clock, Event, Objects, Wake};
use crate::context::{Context, Owners, Prices, Spending};
use crate::ip::{Table, Way};
use crate::link::wired::Direction;
use crate::link::{Link, Maker, ReceivePath, Room, Wired};
use crate::mobility::{self, Leg, Mobility};
use crate::node::{Agents, Attachment, Border, Groups, Interface, Node, Topology};
use crate::observe::{Probe, own_columns};
use crate::order;
use crate::params::Fault;
use crate::phy::mode;
use crate::routing::{Connectivity, Networks, Routing};

/// A specification from which no world can be built.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BuildError {
    /// A node's movement cannot be built.
    #[error("node {node}: {source}")]
    Mobility {
        /// The node.
        node: usize,
        /// Why.
        source: mobility::BuildError,
    },
    /// A flow or wire names a node that does not exist.
    #[error("{what} {number} names node {node}; there are {nodes} nodes, counted from 0")]
    NoSuchNode {
        /// "flow" or "wire".
        what: &'static str,
        /// Its number.
        number: usize,
        /// The node.
        node: NodeId,
        /// How many nodes there are.
        nodes: usize,
    },
    /// The addresses cannot be.
    #[error("{}", errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))]
    Addresses {
        /// Everything that cannot be.
        errors: Vec<AddressError>,
    },
    /// A node has a radio on a channel that does not exist, or two on one channel.
    #[error("node {node} has {} on channel {channel}; there are {channels} channels, counted from 0",
        if *twice { "two radios" } else { "a radio" })]
    Channel {
        /// The node.
        node: NodeId,
        /// The channel.
        channel: u16,
        /// How many channels there are.
        channels: usize,
        /// Whether it has two radios there.
        twice: bool,
    },
    /// There are more nodes, or interfaces, than a run can have.
    #[error(
        "there are {found} nodes, further radios, and ends of wires and tunnels; expected at most {}",
        Rank::OBJECTS
    )]
    TooMany {
        /// How many.
        found: usize,
    },
    /// A flow with data both ways does not open at both ends.
    #[error("flow {flow} has data both ways, for which TCP's `connect` must be \"three_way\"")]
    OneWay {
        /// The flow.
        flow: usize,
    },
    /// The MAC of a channel sends frames at a rate that no mode has.
    #[error("channel {channel}: `{mac}`: {fault}")]
    NoMode {
        /// The channel.
        channel: usize,
        /// The MAC.
        mac: &'static str,
        /// The parameter.
        fault: Fault,
    },
    /// The MAC of a channel sends frames in a mode for which its radios have no weakest frame.
    #[error("channel {channel}: `{mac}` sends frames at {mode}, for which `receive` has no value")]
    NoSensitivity {
        /// The channel.
        channel: usize,
        /// The MAC.
        mac: &'static str,
        /// The mode.
        mode: mode::Name,
    },
    /// Two agents of a node have the same port.
    #[error("node {node} runs the agents `{one}` and `{other}`, which both are reached at UDP port {port}")]
    SamePort {
        /// The node.
        node: NodeId,
        /// An agent.
        one: &'static str,
        /// Another one, or the same.
        other: &'static str,
        /// The port.
        port: u16,
    },
    /// A flow cannot go to a group.
    #[error("flow {flow} cannot go to a group: {why}")]
    Group {
        /// The flow.
        flow: usize,
        /// Why.
        why: &'static str,
    },
    /// A flow or wire leads from a node to itself.
    #[error("{what} {number} leads from node {node} to itself")]
    ToItself {
        /// "flow" or "wire".
        what: &'static str,
        /// Its number.
        number: usize,
        /// The node.
        node: NodeId,
    },
}

impl World {
    /// The world of a specification, at time zero, which nobody watches.
    ///
    /// # Errors
    /// As [`World::with_probe`].
    pub fn new(spec: &Spec) -> Result<Self, BuildError> {
        Self::with_probe(spec, ())
    }
}

impl<P: Probe> World<P> {
    /// The world of a specification, at time zero.
    ///
    /// # Errors
    /// When a flow or wire names a node that does not exist, a movement file lacks a node, or a MAC sends at a rate for
    /// which its radios have no error model.
    pub fn with_probe(spec: &Spec, probe: P) -> Result<Self, BuildError> {
        Self::watched(spec, || probe)
    }

    /// The same with a probe that is made when nothing stands against the network any more.
    ///
    /// # Errors
    /// As [`World::with_probe`].
    pub fn watched(spec: &Spec, probe: impl FnOnce() -> P) -> Result<Self, BuildError> {
        check_ends(spec)?;
        check_count(spec)?;
        check_channels(spec)?;
        check_rates(spec)?;
        check_agents(spec)?;
        check_groups(spec)?;
        if let Some(flow) = ends::one_way(spec) {
            return Err(BuildError::OneWay { flow });
        }
        let streams = Streams::new(spec.seed, spec.run);
        let count = spec.nodes.len();
        let mut legs: Vec<Leg> = Vec::with_capacity(count);
        let mut nodes = Vec::with_capacity(count);
        let places: Vec<_> = spec.nodes.iter().map(NodeSpec::movement).collect();
        let places = mobility::Nodes::new(&places, streams);
        for (number, node) in spec.nodes.iter().enumerate() {
            let id = NodeId(number as u32);
            let mut mobility =
                node.mobility.build(id, &places).map_err(|source| BuildError::Mobility { node: number, source })?;
            let leg = mobility.next_leg();
            legs.push(leg);
            nodes.push(Node {
                routing: node.routing.build(id, count, streams.node(number, "routing")),
                id,
                table: None,
                link: None,
                further: Vec::new(),
                agents: Agents::default(),
                mobility,
                flows: Vec::new(),
                groups: None,
                care_of: None,
                told: BTreeMap::new(),
                routing_protocol: node.routing.name(),
                routing_overhears: node.routing.overhears(),
                routes_wires: node.routing.crosses_wires(),
                numbered_by_ns2: node.routing.numbered_by_ns2(),
                forwarded: 0,
                routing_packets: 0,
                routing_bytes: 0,
                icmp_errors: 0,
            });
        }
        let (flows, sockets) = ends::build(spec, &streams);
        // No route leads to a group.
        for (number, flow) in flows.iter().enumerate().filter(|(_, flow)| flow.group.is_none()) {
            nodes[flow.from.index()].flows.push(number);
        }
        join_groups(spec, &mut nodes, &streams);
        let oracles = nodes.iter_mut().filter_map(|node| node.routing.oracle());
        let connectivity_interval =
            oracles.map(|oracle| oracle.connectivity_interval()).filter(|span| !span.is_zero()).min();
        let mut stations: Vec<Vec<Station>> = spec.channels.iter().map(|_| Vec::new()).collect();
        let first = |node: u32| Interface { node: NodeId(node), attachment: Attachment::Nothing };
        let mut topology = Topology {
            interfaces: (0..count as u32).map(first).collect(),
            further: BTreeMap::new(),
            mtus: spec.channels.iter().map(|it| it.mac.largest_packet()).collect(),
            roles: roles::roles(spec, &legs),
            ip: spec.ip.clone(),
        };
        let link_of = Link::maker(&spec.link);
        let classes: Vec<_> = spec.channels.iter().map(|it| it.mac.classes()).collect();
        // First interfaces have the nodes' numbers, so all of them come before the further ones.
        for further in [false, true] {
            for (number, leg) in legs.iter().enumerate() {
                let radios = &spec.nodes[number].radios;
                for &channel in if further { radios.get(1..) } else { radios.get(..1) }.unwrap_or_default() {
                    let node = NodeId(number as u32);
                    let stations = &mut stations[usize::from(channel)];
                    let (channel, station) = (ChannelId(channel), stations.len() as u32);
                    let interface = topology.attach(node, Attachment::Radio { channel, station }, further);
                    let stream = |purpose: &str| match further {
                        false => streams.node(number, purpose),
                        true => streams.stream(&format!("node/{number}/channel/{}/{purpose}", channel.0)),
                    };
                    let mut link = Box::new(link_of(node, interface.into(), stream("arp")));
                    if let Some(classes) = &classes[channel.index()] {
                        link.set_classes(classes.clone());
                    }
                    if !spec.queue.is_drop_tail() {
                        let it = &spec.channels[channel.index()];
                        let rate = it.mac.modes(&it.rates).ok().and_then(|modes| Some(modes.first()?.rate()));
                        let rate = rate.unwrap_or(Rate::from_bps(1_000_000));
                        let room = Room { packets: spec.link.queue_length as usize, rate, delay: Span::ZERO };
                        let name = format!("node/{number}/channel/{}", channel.0);
                        link.set_discipline(Maker { config: spec.queue.clone(), room, streams, name });
                    }
                    let it = &mut nodes[number];
                    if further {
                        it.further.push((interface, Some(link)))
                    } else {
                        it.link = Some(link)
                    }
                    let (backoff, reception, rates) = (stream("backoff"), stream("reception"), stream("rates"));
                    let jams = spec.jammers.iter().find(|it| it.node == node).map(|it| it.power);
                    stations.push(Station { interface, node, leg: *leg, backoff, reception, rates, jams });
                }
            }
        }
        // Before the channels are made, when the network takes the most memory.
        let next_legs = legs.iter().zip(0..).filter(|(leg, _)| leg.until < Time::NEVER);
        let next_legs: Vec<(Time, u32)> = next_legs.map(|(leg, node)| (leg.until, node)).collect();
        drop(legs);
        let numbering = ends::numbering(spec);
        let mut wires = Vec::with_capacity(spec.wires.len());
        for (number, wire) in spec.wires.iter().enumerate() {
            let ends =
                [(wire.ends.0, Direction::Forward), (wire.ends.1, Direction::Backward)].map(|(node, direction)| {
                    (node, attach(&mut nodes, &mut topology, node, Attachment::Wire { wire: number, direction }, false))
                });
            let stream = |direction| streams.stream(&format!("wire/{number}/{direction}"));
            let params = &wire.params;
            let mut wire = Wired::new(params, ends, [stream("forward"), stream("backward")]).numbered(&numbering);
            if let Some(traces) = spec.wire_traces.get(&number) {
                wire = wire.traced(traces);
            }
            if let Some(config) = spec.wire_queues.get(&number).filter(|config| !config.is_drop_tail()) {
                wire = wire.disciplined(params, config, [stream("forward/queue"), stream("backward/queue")]);
            }
            wires.push(wire);
        }
        let mut tunnels = Vec::new();
        for tunnel in &spec.tunnels {
            let ((a, b), [carries, carries_back]) = (tunnel.ends, &tunnel.carries);
            for (node, to, carries) in [(a, b, carries), (b, a, carries_back)] {
                let attachment = Attachment::Tunnel { to: to.into() };
                let interface = attach(&mut nodes, &mut topology, node, attachment, true);
                tunnels.push((node, interface, carries));
            }
        }
        let addresses = plan_addresses(spec)?;
        debug_assert_eq!(addresses.names.len(), topology.interfaces.len(), "one rule numbers the interfaces");
        let further = topology.interfaces[count..].iter().map(|it| it.node).collect();
        fill_tables(spec, &mut nodes, &addresses);
        tell_networks(&mut nodes, &topology, &addresses);
        for (node, interface, carries) in tunnels {
            let table = nodes[node.index()].table.get_or_insert_with(|| Box::new(Table::of_protocol()));
            for &prefix in carries {
                table.insert(prefix, Way::Tunnel(interface));
            }
        }
        build_agents(spec, &mut nodes, &topology, &addresses, &streams);
        let owners = Owners::new(count as u32, further, addresses.names);
        let prices = spec.energy.model.prices();
        // What measures the time that radios send, hear and sleep is what makes them sleep.
        let metered = prices.or_else(|| (!spec.energy.sleeps.is_empty()).then_some(Prices::NOTHING));
        // Counters with the name of another one are found before the run, and not when its tables are made.
        let _ = own_columns();
        let spending = prices.map(|prices| Box::new(Spending::new(&prices, flows.len(), topology.interfaces.len())));
        let battery = |node: usize| spec.energy.batteries.get(node).and_then(|battery| battery.capacity());
        let batteries = prices.and_then(|_| Batteries::new((0..count).map(battery).collect()));
        let objects = Objects {
            interfaces: topology.interfaces.len() as u32,
            nodes: count as u32,
            sockets: sockets.len() as u32,
            wires: spec.wires.len() as u32,
            batteries: if batteries.is_some() { count as u32 } else { 0 },
        };
        let mut clock = Clock::new(objects, spec.duration, spec.medium.exact);
        let mut channels = Vec::with_capacity(spec.channels.len());
        for (number, (channel, stations)) in spec.channels.iter().zip(stations).enumerate() {
            let plan = ChannelModels {
                radio: &channel.radio,
                propagation: &channel.propagation,
                links: channel.links.as_ref(),
                errors: channel.errors.as_ref(),
                obstacles: &spec.obstacles,
                fading: &channel.fading,
                mac: &channel.mac,
                rates: &channel.rates,
                search: spec.medium.search,
                energy: metered.map(|prices| (prices, clock.timer(Wake::Battery(NodeId(0))))),
            };
            channels.push(AnyChannel::new(ChannelId(number as u16), &plan, stations, &streams));
        }
        for interface in &topology.interfaces {
            if let Attachment::Radio { channel, station } = interface.attachment
                && nodes[interface.node.index()].overhears()
            {
                let channel: &mut AnyChannel = &mut channels[channel.index()];
                channel.listen(station as usize);
            }
        }
        for (until, node) in next_legs {
            clock.queue.push(until, order::leg(node), Event::Leg(node));
        }
        let probe = probe();
        let mut world = Self {
            cx: Context { owners, is_watched: probe.watches(), spending, ..Context::default() },
            probe,
            clock,
            progress: Progress { seed: spec.seed, run: spec.run, ..Progress::default() },
            topology,
            nodes,
            channels,
            receive_path: ReceivePath::new(spec.link.processing_delay),
            wires,
            border: Border::default(),
            sockets,
            flows,
            knowledge: Knowledge {
                connectivity: Arc::new(Connectivity::default()),
                interval: connectivity_interval.unwrap_or(Span::ZERO),
            },
            sampling: Sampling {
                quantities: spec.observe.series.clone(),
                interval: spec.observe.interval.max(Span::from_micros(1)),
                series: Vec::new(),
                numbered_before: 0,
            },
            energy: Energy { is_metered: prices.is_some(), batteries, sleepers: Vec::new() },
            jammers: Vec::new(),
        };
        world.plan_sleep(&spec.energy.sleeps);
        world.plan_jammers(&spec.jammers);
        world.tell_network(spec);
        Ok(world)
    }
}

/// Gives every interface its IPv4 address.
fn plan_addresses(spec: &Spec) -> Result<AddressPlan, BuildError> {
    let layout = Layout {
        radios: spec.nodes.iter().map(|node| &*node.radios).collect(),
        channels: spec.channels.iter().map(|channel| channel.network).collect(),
        wires: spec.wires.iter().map(|wire| ([wire.ends.0, wire.ends.1], wire.network)).collect(),
        served: spec.served.iter().map(|it| (it.router, it.prefix, &*it.members)).collect(),
        tunnels: spec.tunnels.iter().map(|tunnel| [tunnel.ends.0, tunnel.ends.1]).collect(),
        addresses: spec.addresses.clone(),
    };
    layout.plan().map_err(|errors| BuildError::Addresses { errors })
}

/// Gives the nodes with wires their tables. If their routing protocol crosses wires, these have the networks of agents
/// alone.
fn fill_tables(spec: &Spec, nodes: &mut [Node], addresses: &AddressPlan) {
    let delays: Vec<[Span; 2]> =
        spec.wires.iter().map(|wire| [wire.params.delay, wire.params.delay_back.or(wire.params.delay)]).collect();
    let asks = |node: NodeId| !spec.nodes[node.index()].routing.crosses_wires();
    for (node, table) in wired_routes::tables(addresses, &delays, nodes.len(), asks) {
        nodes[node.index()].table = Some(Box::new(table));
    }
    // A protocol that crosses wires may know where a host is. Its address belongs to its home network all the same, so
    // that wires lead there by way of the agent (RFC 5944 §1.6).
    let networks = addresses.prefixes.iter().filter(|(network, _)| matches!(network, Network::Served(_)));
    let served: BTreeSet<Prefix> = networks.map(|(_, &prefix)| prefix).collect();
    let stays = |node: NodeId| !matches!(spec.role(node), RoleSpec::Host { .. });
    let other = |node: NodeId| !served.is_empty() && !asks(node) && stays(node);
    for (node, table) in wired_routes::tables(addresses, &delays, nodes.len(), other) {
        let own = nodes[node.index()].table.get_or_insert_with(|| Box::new(Table::of_protocol()));
        for (prefix, way) in table.iter().filter(|(prefix, _)| served.contains(prefix)) {
            own.insert(prefix, way);
        }
    }
}

/// Gives the nodes with radios their parts in multicast groups, if a flow goes to one.
fn join_groups(spec: &Spec, nodes: &mut [Node], streams: &Streams) {
    if !spec.casts.values().any(|cast| matches!(cast, Cast::Group(_))) {
        return;
    }
    for (number, node) in nodes.iter_mut().enumerate().filter(|(number, _)| !spec.nodes[*number].radios.is_empty()) {
        let model = spec.multicast.build(node.id, streams.node(number, "multicast"));
        let joined = spec.groups.iter().filter(|group| group.members.binary_search(&node.id).is_ok());
        let mut member_of: Vec<_> = joined.filter_map(|group| Address::of_group(group.address)).collect();
        member_of.sort_unstable();
        node.groups = Some(Box::new(Groups { model, member_of, chosen_by: BTreeMap::new() }));
    }
}

/// Builds the agents of each node, which learn its interfaces and its part.
fn build_agents(spec: &Spec, nodes: &mut [Node], topology: &Topology, addresses: &AddressPlan, streams: &Streams) {
    let mut ports: Vec<Vec<AgentInterface>> = vec![Vec::new(); nodes.len()];
    let mut wire_ends = vec![[InterfaceId::BROADCAST; 2]; spec.wires.len()];
    if !spec.roles.is_empty() {
        let networks = addresses.of_interfaces();
        for (number, it) in topology.interfaces.iter().enumerate() {
            let interface = InterfaceId(number as u32);
            let is_radio = match it.attachment {
                Attachment::Radio { .. } => {
                    if let Some(link) = nodes[it.node.index()].link(interface) {
                        link.set_network(networks.get(&interface).copied().unwrap_or(Prefix::DEFAULT));
                    }
                    true
                }
                Attachment::Wire { wire, direction } => {
                    wire_ends[wire][usize::from(direction == Direction::Backward)] = interface;
                    false
                }
                Attachment::Tunnel { .. } | Attachment::Nothing => continue,
            };
            if let Some(&prefix) = networks.get(&interface) {
                ports[it.node.index()].push(AgentInterface {
                    interface,
                    name: addresses.names[number],
                    prefix,
                    is_radio,
                });
            }
        }
    }
    for (number, node) in spec.nodes.iter().enumerate().filter(|(_, node)| !node.agents.is_empty()) {
        let site = roles::site(spec, NodeId(number as u32), &ports, &wire_ends);
        let agents = node
            .agents
            .iter()
            .map(|agent| agent.build(&site, streams.stream(&format!("node/{number}/agent/{}", agent.name()))));
        nodes[number].agents = Agents(agents.collect());
    }
}

/// Tells each routing protocol what its node is attached to.
fn tell_networks(nodes: &mut [Node], topology: &Topology, addresses: &AddressPlan) {
    let of = |network: Network| addresses.prefixes.get(&network).copied();
    let channels =
        addresses.prefixes.iter().filter(|(network, _)| matches!(network, Network::Channel(_) | Network::Served(_)));
    let served = addresses.served();
    let networks: BTreeSet<Prefix> = addresses.prefixes.values().copied().collect();
    let ad_hoc: Arc<[Prefix]> = channels.map(|(_, &prefix)| prefix).collect();
    let mut ends = BTreeMap::new();
    for (number, it) in topology.interfaces.iter().enumerate() {
        if let Attachment::Wire { wire, direction } = it.attachment {
            ends.insert((wire, direction == Direction::Backward), Address::from(InterfaceId(number as u32)));
        }
    }
    for node in nodes {
        let wires = node.interfaces().filter_map(|interface| match topology.attachment(interface) {
            Attachment::Wire { wire, direction } if node.routes_wires => {
                let other = ends.get(&(wire, direction != Direction::Backward));
                other.map(|&other| (interface.into(), other))
            }
            _ => None,
        });
        let wires = wires.collect();
        let radios = node.interfaces().filter_map(|interface| match topology.attachment(interface) {
            Attachment::Radio { channel, .. } => {
                let network = served.get(&interface).copied().unwrap_or(Network::Channel(channel.index()));
                Some((interface.into(), of(network).unwrap_or(Prefix::DEFAULT)))
            }
            _ => None,
        });
        // A host route to a network is no network of its own.
        let is_network = |prefix: Prefix| networks.contains(&prefix);
        let wired = node.table.iter().flat_map(|table| table.iter()).filter_map(|(prefix, way)| match way {
            Way::Direct | Way::Via(_) => Some(prefix).filter(|prefix| is_network(*prefix)),
            Way::Protocol | Way::Tunnel(_) | Way::Towards(_) | Way::Into { .. } | Way::Nowhere => None,
        });
        let (radios, wired) = (radios.collect(), wired.collect());
        let own = Networks { radios, wires, ad_hoc: Arc::clone(&ad_hoc), wired };
        node.routing.on_networks(&own);
    }
}

/// Attaches a node to something that has no link ([`Topology::attach`]).
fn attach(
    nodes: &mut [Node],
    topology: &mut Topology,
    node: NodeId,
    attachment: Attachment,
    further: bool,
) -> InterfaceId {
    let interface = topology.attach(node, attachment, further);
    if interface != InterfaceId::from(node) {
        nodes[node.index()].further.push((interface, None));
    }
    interface
}

/// The order of simultaneous events has room for so many interfaces.
fn check_count(spec: &Spec) -> Result<(), BuildError> {
    let further = spec.nodes.iter().map(|node| node.radios.len().saturating_sub(1)).sum::<usize>();
    let found = spec.nodes.len() + further + 2 * (spec.wires.len() + spec.tunnels.len());
    if found > Rank::OBJECTS as usize { Err(BuildError::TooMany { found }) } else { Ok(()) }
}

fn check_channels(spec: &Spec) -> Result<(), BuildError> {
    let channels = spec.channels.len();
    for (number, node) in spec.nodes.iter().enumerate() {
        for (place, &channel) in node.radios.iter().enumerate() {
            let twice = node.radios[..place].contains(&channel);
            if twice || usize::from(channel) >= channels {
                return Err(BuildError::Channel { node: NodeId(number as u32), channel, channels, twice });
            }
        }
    }
    Ok(())
}

fn check_rates(spec: &Spec) -> Result<(), BuildError> {
    for (channel, it) in spec.channels.iter().enumerate() {
        let mac = it.mac.name();
        let modes = it.mac.modes(&it.rates).map_err(|fault| BuildError::NoMode { channel, mac, fault })?;
        if let Some(mode) = it.radio.lacking(&modes) {
            return Err(BuildError::NoSensitivity { channel, mac, mode: mode.name() });
        }
    }
    Ok(())
}

fn check_agents(spec: &Spec) -> Result<(), BuildError> {
    for (number, node) in spec.nodes.iter().enumerate() {
        if let Err((one, other, port)) = agent::check(&node.agents) {
            let (one, other) = (one.name(), other.name());
            return Err(BuildError::SamePort { node: NodeId(number as u32), one, other, port });
        }
    }
    Ok(())
}

fn check_groups(spec: &Spec) -> Result<(), BuildError> {
    for (&flow, cast) in &spec.casts {
        let (Cast::Group(group), Some(it)) = (cast, spec.flows.get(flow)) else { continue };
        let of_group = spec.groups.get(*group);
        let has_radio = |node: NodeId| spec.nodes.get(node.index()).is_some_and(|node| !node.radios.is_empty());
        let why = if of_group.is_none_or(|group| !group.members.contains(&it.to)) {
            "its destination is no member"
        } else if of_group.is_some_and(|it| !Address::of_group(it.address).is_some_and(Address::is_wide_group)) {
            "the address of the group is none of a group that is forwarded"
        } else if of_group.is_some_and(|group| !group.members.iter().chain([&it.from]).all(|node| has_radio(*node))) {
            "a node has no radio"
        } else if !matches!(it.transport, Transport::Udp) {
            "TCP has one destination"
        } else if it.traffic.is_answered() {
            "its traffic is answered"
        } else if spec.multicast.needs_relays() && !spec.nodes.iter().any(|node| node.routing.chooses_relays()) {
            "its packets need relays, which no routing protocol chooses"
        } else {
            continue;
        };
        return Err(BuildError::Group { flow, why });
    }
    Ok(())
}

fn check_ends(spec: &Spec) -> Result<(), BuildError> {
    let nodes = spec.nodes.len();
    let flows = spec.flows.iter().enumerate().map(|(number, flow)| ("flow", number, flow.from, flow.to));
    let wires = spec.wires.iter().enumerate().map(|(number, wire)| ("wire", number, wire.ends.0, wire.ends.1));
    let tunnels = spec.tunnels.iter().enumerate().map(|(number, it)| ("tunnel", number, it.ends.0, it.ends.1));
    for (what, number, a, b) in flows.chain(wires).chain(tunnels) {
        if let Some(node) = [a, b].into_iter().find(|node| node.index() >= nodes) {
            return Err(BuildError::NoSuchNode { what, number, node, nodes });
        }
        if a == b {
            return Err(BuildError::ToItself { what, number, node: a });
        }
    }
    Ok(())
}
