//! Whether the networks of a scenario can carry a flow at all, as far as that is certain before the run.
//!
//! The check follows a packet from node to node, as the run would carry it. Nodes with wires and tunnels have tables.
//! Radio carries the packet wherever the routing protocol owns the prefix of the destination. The protocol says whether
//! it finds routes over wires itself, and whether it reaches wired hosts over a gateway. Whatever moves, or is drawn,
//! counts as in reach.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv4Addr;

use hopyard_model::address::{Address, NodeId, Prefix};
use hopyard_model::context::Owners;
use hopyard_model::ip::{MOST_TUNNELS, Table, Way};
use hopyard_model::mobility::Position;
use hopyard_model::packet::Form;
use hopyard_model::routing::{self, Connectivity, Prescribed};
use hopyard_model::world::{AddressPlan, Network, tables};

use super::links::{Checks, Groups, Reach, Sure};
use super::mobile::served;
use super::networks::{network_layout, radios};
use super::resolved::Resolved;

/// Which nodes have links that join them.
pub(super) struct Links {
    /// Over radio alone.
    radio: Groups,
    /// Over radio and wires.
    pub(super) all: Groups,
}

impl Links {
    /// The links among `all` nodes: the links of each channel, and `wires`. Without `places`, all
    /// radios of a channel are in reach of each other.
    pub(super) fn new(
        channels: &[Reach],
        places: Option<&[Position]>,
        sure: Sure,
        all: u32,
        wires: &BTreeSet<(u32, u32)>,
    ) -> Self {
        let mut radio = Groups::apart(all);
        for channel in channels {
            match (places, channel.nodes.first()) {
                (Some(places), _) => channel.join(&mut radio, places, sure),
                (None, Some(&first)) => channel.nodes.iter().for_each(|&node| radio.join(first, node)),
                (None, None) => {}
            }
        }
        let mut all = radio.clone();
        for &(a, b) in wires {
            all.join(a, b);
        }
        Self { radio, all }
    }
}

/// Packets of a flow that do not arrive.
pub(super) struct Lost {
    pub(super) from: u32,
    pub(super) to: u32,
    /// Which: the data or the acknowledgements.
    pub(super) what: &'static str,
    pub(super) how: How,
}

/// How packets are lost.
pub(super) enum How {
    /// Nothing leads from a node to the next one.
    NoWay,
    /// A tunnel takes them, and they do not come out of it.
    InTunnel,
    /// They come back to a node where they have been: a tunnel and the routes between its ends lead in a circle.
    Circle,
}

/// How packets find their way.
pub(super) struct Ways<'a> {
    plan: AddressPlan,
    /// The node of each address.
    owners: Vec<NodeId>,
    tables: BTreeMap<NodeId, Table>,
    /// The other end of each end of a tunnel.
    tunnels: BTreeMap<Address, NodeId>,
    crosses: bool,
    reaches: bool,
    /// Whether packets for hosts behind a gateway go to it in a tunnel.
    to_gateways: bool,
    /// The gateways, each with the networks that it tells the ad hoc network of.
    gateways: BTreeMap<NodeId, Vec<Prefix>>,
    /// The paths of the protocol, where they are known and tunnels may take packets out of them.
    paths: Option<Paths<'a>>,
    /// The hosts that move between networks. Agents set the ways to them and from them during the run.
    mobile: BTreeSet<u32>,
}

/// The paths of a protocol that crosses wires, among nodes that stand still.
struct Paths<'a> {
    routing: &'a routing::Config,
    connectivity: Connectivity,
    links: u64,
    /// How many steps are left.
    steps: Cell<u64>,
}

impl Paths<'_> {
    /// The next node on the path to another one, if that is known.
    fn next(&self, at: NodeId, to: NodeId) -> Option<NodeId> {
        match self.routing.prescribed(at.0, to.0) {
            Prescribed::Hops(hops) if !hops.is_empty() => return hops.first().map(|hop| NodeId(hop.1)),
            Prescribed::Hops(_) | Prescribed::Nothing => {}
            Prescribed::Unreachable => return None,
        }
        self.steps.set(self.steps.get().checked_sub(self.links)?);
        let (first, _) = self.connectivity.shortest_path(at, Address(to.0))?;
        Some(self.connectivity.owner(first))
    }
}

impl<'a> Ways<'a> {
    /// The ways of a scenario without other mistakes.
    pub(super) fn of(checks: &Checks<'a>) -> Option<Self> {
        let resolved = checks.resolved;
        let routing = checks.routing;
        let all = resolved.all_nodes();
        let radios = radios(resolved);
        let served = served(resolved);
        let plan = network_layout(resolved, &radios, &served, Vec::new()).plan().ok()?;
        let mut owners = vec![NodeId(0); plan.names.len()];
        for &(node, address) in plan.members.values().flatten() {
            owners[address.index()] = node;
        }
        let delays = resolved.wires.iter().map(|(_, link)| [link.delay, link.delay_back.or(link.delay)]);
        let delays: Vec<_> = delays.collect();
        let mut tables = tables(&plan, &delays, all as usize, |_| !routing.crosses_wires());
        let mut tunnels = BTreeMap::new();
        for (number, it) in resolved.tunnels.iter().enumerate() {
            let Some([(a, at_a), (b, at_b)]) = plan.members.get(&Network::Tunnel(number)).map(Vec::as_slice) else {
                continue;
            };
            for (node, at, end, carries) in [(*a, *at_a, *b, &it.carries), (*b, *at_b, *a, &it.carries_back)] {
                let table = tables.entry(node).or_insert_with(Table::of_protocol);
                for prefix in carries.iter().filter_map(|text| text.parse::<Prefix>().ok()) {
                    table.insert(prefix, Way::Tunnel(at.into()));
                }
                tunnels.insert(at, end);
            }
        }
        let (crosses, reaches) = (routing.crosses_wires(), routing.reaches_wires());
        let to_gateways = routing.tunnels_to_gateways();
        let gateways = gateways(resolved, routing, &plan, &tables);
        // Without tunnels, nothing but the protocol decides on the way.
        let follows = crosses && !resolved.tunnels.is_empty();
        let links = follows.then(|| connectivity(checks, true)).flatten();
        let paths =
            links.map(|(connectivity, links)| Paths { routing, connectivity, links, steps: Cell::new(MOST_STEPS) });
        let mobile = resolved.mobile_hosts.iter().flat_map(|host| host.nodes.iter().copied()).collect();
        Some(Self { plan, owners, tables, tunnels, crosses, reaches, to_gateways, gateways, paths, mobile })
    }

    /// The packets of a flow that nothing carries: from where to where, which, and how they are lost.
    pub(super) fn lost(&self, links: &mut Links, from: u32, to: u32, tcp: bool) -> Option<Lost> {
        if self.mobile.contains(&from) || self.mobile.contains(&to) {
            return None;
        }
        let ways = [((from, to), "data"), ((to, from), "acknowledgements")];
        let mut ways = ways.into_iter().take(if tcp { 2 } else { 1 });
        ways.find_map(|((from, to), what)| {
            let how = self.carry(links, NodeId(from), NodeId(to), 0).err()?;
            Some(Lost { from, to, what, how })
        })
    }

    /// How many bytes tunnels add to the packets from a node to another one, where they add most.
    pub(super) fn longer(&self, links: &mut Links, from: u32, to: u32) -> u32 {
        if self.mobile.contains(&from) || self.mobile.contains(&to) {
            return 0;
        }
        self.carry(links, NodeId(from), NodeId(to), 0).unwrap_or(0)
    }

    /// A gateway in reach of a node that tells of a destination as much as any other one, but whose wires do not lead
    /// there. Packets that take this gateway are lost.
    pub(super) fn misleads(&self, links: &mut Links, from: u32, to: u32) -> Option<NodeId> {
        let name = self.plan.names[to as usize];
        if self.mobile.contains(&from) || self.mobile.contains(&to) {
            return None;
        }
        let of_protocol = self.tables.get(&NodeId(from)).is_none_or(|it| it.lookup(name) == Some(Way::Protocol));
        if self.crosses || !of_protocol || self.joins_radios(links, from, to) {
            return None;
        }
        let in_reach: Vec<_> = self.gateways.keys().filter(|node| links.radio.joins(from, node.0)).collect();
        let told = |node: &NodeId| self.tells(*node, name);
        let longest = in_reach.iter().filter_map(|node| told(node)).max()?;
        let leads = |node: &NodeId| {
            let way = self.tables.get(node).and_then(|table| table.lookup(name));
            matches!(way, Some(Way::Direct | Way::Via(_) | Way::Tunnel(_)))
        };
        in_reach.into_iter().copied().find(|node| told(node) == Some(longest) && !leads(node))
    }

    /// The length of the longest prefix by which a gateway tells of an address; nothing if it does not tell of the
    /// address.
    fn tells(&self, gateway: NodeId, name: Ipv4Addr) -> Option<u8> {
        // No node looks for an address of a channel by a shorter prefix than the channel's.
        let channels = self.plan.prefixes.iter().filter(|(network, _)| matches!(network, Network::Channel(_)));
        let least = channels.filter(|(_, it)| it.contains(name)).map(|(_, it)| it.length()).max().unwrap_or(0);
        let told = self.gateways.get(&gateway)?.iter().filter(|it| it.contains(name)).map(|it| it.length());
        told.max().filter(|&length| length >= least)
    }

    /// Whether two nodes with a radio reach each other.
    pub(super) fn joins_radios(&self, links: &mut Links, a: u32, b: u32) -> bool {
        if self.crosses { links.all.joins(a, b) } else { links.radio.joins(a, b) }
    }

    /// Follows packets from a node to the first address of another one. If they do not arrive, says how they are lost.
    /// Otherwise returns how many bytes the outer headers have where they have most.
    fn carry(&self, links: &mut Links, from: NodeId, to: NodeId, depth: usize) -> Result<u32, How> {
        let name = self.plan.names[to.index()];
        let way = |node: NodeId| match self.tables.get(&node) {
            None => Some(Way::Protocol),
            Some(table) => table.lookup(name),
        };
        let (mut at, mut seen, mut longer) = (from, BTreeSet::new(), 0);
        while at != to {
            if !seen.insert(at) {
                return Err(How::Circle);
            }
            at = match way(at) {
                None => return Err(How::NoWay),
                Some(Way::Direct) => to,
                Some(Way::Via(next_hop)) => self.owners[next_hop.index()],
                // Only agents set such ways, and none does before the run.
                Some(Way::Towards(_) | Way::Into { .. } | Way::Nowhere) => return Err(How::NoWay),
                Some(Way::Tunnel(interface)) => {
                    let Some(&end) = self.tunnels.get(&interface.into()) else { return Err(How::InTunnel) };
                    // The outer packet must not enter the same tunnel. It may enter another one of this node.
                    let outer = self.plan.names[end.index()];
                    let again = self.tables.get(&at).and_then(|table| table.lookup(outer));
                    let is_loop = again == Some(Way::Tunnel(interface)) || depth >= MOST_TUNNELS;
                    if is_loop {
                        return Err(How::InTunnel);
                    }
                    let outer = self.carry(links, at, end, depth + 1).map_err(|_| How::InTunnel)?;
                    longer = longer.max(outer + Form::IpInIp.bytes(false));
                    end
                }
                // A protocol that knows nothing of wires finds no route for packets that come from them.
                Some(Way::Protocol) if at != from && !self.reaches && !self.crosses => return Err(How::NoWay),
                Some(Way::Protocol) if self.joins_radios(links, at.0, to.0) => {
                    // On the path, another node may have a tunnel for the destination.
                    self.paths.as_ref().and_then(|paths| paths.next(at, to)).unwrap_or(to)
                }
                Some(Way::Protocol) if self.reaches && !self.crosses => {
                    // A gateway in reach that tells of the destination, and knows a way over its wires.
                    let leads = |node: NodeId| matches!(way(node), Some(Way::Direct | Way::Via(_) | Way::Tunnel(_)));
                    let mut nodes = self
                        .gateways
                        .keys()
                        .copied()
                        .filter(|node| !seen.contains(node) && leads(*node) && self.tells(*node, name).is_some());
                    let Some(gateway) = nodes.find(|node| links.radio.joins(at.0, node.0)) else {
                        return Err(How::NoWay);
                    };
                    if self.to_gateways {
                        longer = longer.max(Form::IpInIp.bytes(false));
                    }
                    gateway
                }
                Some(Way::Protocol) => return Err(How::NoWay),
            };
        }
        Ok(longer)
    }
}

/// The gateways of a protocol, each with the networks that it tells the ad hoc network of.
fn gateways(
    resolved: &Resolved,
    routing: &routing::Config,
    plan: &AddressPlan,
    tables: &BTreeMap<NodeId, Table>,
) -> BTreeMap<NodeId, Vec<Prefix>> {
    let channels = plan.prefixes.iter().filter(|(network, _)| matches!(network, Network::Channel(_)));
    let ad_hoc: Vec<Prefix> = channels.map(|(_, &prefix)| prefix).collect();
    let named: BTreeSet<u32> = routing.gateway_nodes().into_iter().map(|(_, node)| node).collect();
    let may = |node: &NodeId| node.0 < resolved.nodes.count && (named.is_empty() || named.contains(&node.0));
    let networks: BTreeSet<Prefix> = plan.prefixes.values().copied().collect();
    let told = |table: &Table| {
        let over_wires = table.iter().filter(|(_, way)| matches!(way, Way::Direct | Way::Via(_)));
        // A host route to a network is no network of its own.
        let wired: Vec<_> = over_wires.map(|(prefix, _)| prefix).filter(|prefix| networks.contains(prefix)).collect();
        routing.announced(&wired, &ad_hoc)
    };
    tables.iter().filter(|(node, _)| may(node)).map(|(&node, table)| (node, told(table))).collect()
}

/// More work than this, in steps, is not done to count hops.
const MOST_STEPS: u64 = 50_000_000;

/// The links between nodes that stand still, those over wires included or not, and how many there are.
fn connectivity(checks: &Checks<'_>, over_wires: bool) -> Option<(Connectivity, u64)> {
    let (resolved, places) = (checks.resolved, checks.places?);
    let all = resolved.all_nodes();
    let mut lists: Vec<Vec<Address>> = vec![Vec::new(); all as usize];
    let mut budget = MOST_STEPS;
    for channel in checks.channels {
        channel.each_link(places, Sure::Perhaps, &mut budget, |a, b| {
            lists[a as usize].push(Address(b));
            lists[b as usize].push(Address(a));
        })?;
    }
    // The ends of wires have addresses of their own, so that their delays are known.
    let (mut further, mut ends) = (Vec::new(), Vec::new());
    for (wire, link) in resolved.wires.iter().filter(|_| over_wires) {
        let [a, b] = wire.between;
        for (from, to, delay) in [(a, b, link.delay), (b, a, link.delay_back.or(link.delay))] {
            let address = Address(all + further.len() as u32);
            further.push(NodeId(to));
            ends.push((address, delay));
            lists[from as usize].push(address);
        }
    }
    let links = lists.iter().map(Vec::len).sum::<usize>() + lists.len();
    let owners = Owners::new(all, further, Vec::new());
    Some((Connectivity::new(lists, owners).with_wires(ends), links as u64))
}

/// How many hops a way has at least; 0 where that is not known.
#[derive(Clone, Copy, Default)]
pub(super) struct Length {
    /// All hops.
    pub(super) all: u32,
    /// The hops that the routing protocol finds: to or from a gateway, if one end is behind it.
    pub(super) routed: u32,
}

/// Counts the hops of ways.
pub(super) struct Hops<'a> {
    routing: &'a routing::Config,
    /// The links, where the way over them is known: nodes stand still, and the protocol takes a shortest way over them.
    connectivity: Option<Connectivity>,
    /// How many steps are left.
    steps: u64,
    links: u64,
    /// How many nodes have a radio. The others have wires only.
    radios: u32,
    /// The nodes at the other ends of a node's wires.
    wires: BTreeMap<u32, Vec<u32>>,
}

impl<'a> Hops<'a> {
    pub(super) fn new(checks: &Checks<'a>) -> Self {
        let routing = checks.routing;
        let known = checks.resolved.tunnels.is_empty();
        let (connectivity, links) = known.then(|| connectivity(checks, routing.crosses_wires())).flatten().unzip();
        let mut wires: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
        for &(a, b) in &checks.wires {
            wires.entry(a).or_default().push(b);
            wires.entry(b).or_default().push(a);
        }
        let radios = checks.resolved.nodes.count;
        Self { routing, connectivity, steps: MOST_STEPS, links: links.unwrap_or(0), radios, wires }
    }

    /// How many hops a packet takes at least.
    pub(super) fn count(&mut self, from: u32, to: u32) -> Length {
        let is_host = |node: u32| node >= self.radios;
        if self.routing.crosses_wires() || !is_host(from) && !is_host(to) {
            let hops = self.found(from, to);
            return Length { all: hops, routed: hops };
        }
        let (node, host) = if is_host(to) { (from, to) } else { (to, from) };
        if is_host(node) || !self.routing.reaches_wires() || !self.routing.named_nodes().is_empty() {
            return Length::default();
        }
        self.over_gateway(node, host).unwrap_or_default()
    }

    /// The hops between a node with a radio and a host behind gateways: over the nearest gateway at least.
    fn over_gateway(&mut self, node: u32, host: u32) -> Option<Length> {
        let mut least: Option<Length> = None;
        for (gateway, wired) in self.wired_hops(host).into_iter().filter(|(end, _)| *end < self.radios) {
            self.steps = self.steps.checked_sub(self.links)?;
            let path = self.connectivity.as_ref()?.shortest_path(NodeId(node), Address(gateway));
            let Some(routed) = (if gateway == node { Some(0) } else { path.map(|it| it.1) }) else { continue };
            let before = least.unwrap_or(Length { all: u32::MAX, routed: u32::MAX });
            least = Some(Length { all: before.all.min(routed + wired), routed: before.routed.min(routed) });
        }
        least
    }

    /// The nodes that wires join to a host, each with the hops to it.
    fn wired_hops(&self, host: u32) -> BTreeMap<u32, u32> {
        let mut hops = BTreeMap::from([(host, 0)]);
        let mut reached = vec![host];
        let mut next = 0;
        while let Some(&node) = reached.get(next) {
            next += 1;
            for &to in self.wires.get(&node).into_iter().flatten() {
                if !hops.contains_key(&to) {
                    hops.insert(to, hops[&node] + 1);
                    reached.push(to);
                }
            }
        }
        hops
    }

    /// The hops of the way that the protocol finds, or that its parameters prescribe.
    fn found(&mut self, from: u32, to: u32) -> u32 {
        let (mut at, mut hops) = (from, 0);
        // A way with more hops than any time to live is a loop.
        while at != to && hops <= 256 {
            let written = match self.routing.prescribed(at, to) {
                Prescribed::Hops(written) => written,
                Prescribed::Nothing => Vec::new(),
                Prescribed::Unreachable => return 0,
            };
            if let Some(&(_, last)) = written.last() {
                hops += written.len() as u32;
                at = last;
                continue;
            }
            let Some(connectivity) = &self.connectivity else { return hops };
            if self.steps < self.links {
                return hops;
            }
            self.steps -= self.links;
            let Some((first, rest)) = connectivity.shortest_path(NodeId(at), Address(to)) else { return hops };
            if self.routing.named_nodes().is_empty() {
                return hops + rest;
            }
            // The next node may have a written route.
            (at, hops) = (connectivity.owner(first).0, hops + 1);
        }
        hops
    }
}
