//! Checks of networks: which nodes are on which channel, wire and tunnel, and which prefixes and addresses they have.

use std::collections::{BTreeMap, BTreeSet};

use hopyard_model::address::{NodeId, Prefix};
use hopyard_model::mac;
use hopyard_model::world::{AddressError, Layout, Network, ServedSpec};

use super::mobile::{prefixes, served, served_path};
use super::resolved::{Chosen, Resolved};
use super::resolver::Resolver;
use super::tunnels::Tunnels;
use crate::problem::ranges;

/// A limit against typing errors, on the number of channels beyond the first.
const MOST_CHANNELS: usize = 1000;

/// Which nodes have a radio on a channel.
fn stations(nodes: &[NodeId]) -> String {
    let numbers: Vec<u32> = nodes.iter().map(|node| node.0).collect();
    match nodes {
        [] => "no node has a radio on this channel".to_owned(),
        [one] => format!("node {one} has a radio on this channel"),
        _ => format!("nodes {} have a radio on this channel", ranges(numbers)),
    }
}

/// The key that gives the prefix of a network.
fn network_path(resolved: &Resolved, network: Network) -> String {
    match network {
        Network::Channel(0) => "nodes.network".to_owned(),
        Network::Channel(number) => format!("channel.{}.network", number - 1),
        Network::Wire(number) => format!("wire.{number}.network"),
        Network::Tunnel(number) => format!("tunnel.{number}"),
        Network::Served(number) => served_path(resolved, number),
    }
}

/// The remedy for addresses that cannot be.
const fn hint(error: &AddressError) -> &'static str {
    match error {
        AddressError::Overlap { .. } => {
            "give one of them another prefix, or leave it out: prefixes that are not given do not overlap"
        }
        AddressError::Reserved { .. } => "a private prefix, such as \"10.1.0.0/16\" or \"172.29.0.0/16\", is free",
        AddressError::NoPrefix { .. } => "all prefixes for such networks are in use: give one with `network`",
        AddressError::Full { .. } => "a shorter prefix, such as one with /16, has room for more interfaces",
        AddressError::Outside { .. } => "the first and the last address of a prefix belong to no host",
        AddressError::Again { .. } => "an interface has one address: leave one of the tables out",
        AddressError::Twice { .. } => {
            "give one of them another address, or leave it out: addresses that are not given are different"
        }
        AddressError::Nowhere { .. } => {
            "a node has an interface for each of its channels and wires; their keys `network` give prefixes"
        }
    }
}

/// The message of an error. A network that an agent serves is named after its agent.
fn said(error: &AddressError, served: &[ServedSpec]) -> String {
    let mut message = error.to_string();
    // The longest number first: another one may be the begin of it.
    for (number, it) in served.iter().enumerate().rev() {
        let network = Network::Served(number).to_string();
        message = message.replace(&network, &format!("the network of the agent at node {}", it.router));
    }
    message
}

/// The prefixes in which a node has addresses, where they are known.
fn of_node(resolved: &Resolved, layout: &Layout<'_>, node: NodeId) -> Option<String> {
    let moves = resolved.mobile_hosts.iter().find(|host| host.nodes.contains(&node.0));
    let of = moves.map_or_else(String::new, |host| format!(", the network of its home agent, node {}", host.home));
    let Ok(plan) = (Layout { addresses: Vec::new(), ..layout.clone() }).plan() else {
        // A prefix that is given is known all the same.
        let own = layout.served.iter().find(|(router, _, members)| *router == node || members.contains(&node));
        return own.and_then(|it| it.1).map(|prefix| format!("an address in {prefix}{of}"));
    };
    let is_tunnel = |network: &Network| matches!(network, Network::Tunnel(_));
    let own = plan.members.iter().filter(|(network, _)| !is_tunnel(network));
    let own = own.filter(|(_, members)| members.iter().any(|(member, _)| *member == node));
    let prefixes: Vec<String> = own.filter_map(|(it, _)| plan.prefixes.get(it)).map(ToString::to_string).collect();
    match &prefixes[..] {
        [] => None,
        [one] => Some(format!("an address in {one}{of}")),
        _ => Some(format!("an address in {}", prefixes.join(" or "))),
    }
}

/// The channels on which each node has a radio, as far as these nodes are there.
pub(super) fn radios(resolved: &Resolved) -> Vec<Vec<u16>> {
    let mut radios: Vec<Vec<u16>> =
        (0..resolved.all_nodes()).map(|node| vec![0; usize::from(node < resolved.nodes.count)]).collect();
    for (number, it) in (1..=u16::MAX).zip(&resolved.channels) {
        for node in &it.channel.nodes {
            if let Some(channels) = radios.get_mut(*node as usize)
                && channels.last() != Some(&number)
                && *node < resolved.nodes.count
            {
                channels.push(number);
            }
        }
    }
    radios
}

/// The networks of a scenario whose nodes are all there. `addresses` are the given addresses.
pub(super) fn network_layout<'a>(
    resolved: &Resolved,
    radios: &'a [Vec<u16>],
    served: &'a [ServedSpec],
    addresses: Vec<(NodeId, std::net::Ipv4Addr)>,
) -> Layout<'a> {
    let all = resolved.all_nodes();
    let there = |node: u32| NodeId(if node < all { node } else { 0 });
    let further = resolved.channels.iter().map(|it| it.channel.network.prefix());
    Layout {
        radios: radios.iter().map(|channels| &**channels).collect(),
        channels: std::iter::once(resolved.nodes.network.prefix()).chain(further).collect(),
        wires: (resolved.wires.iter()).map(|(wire, _)| (wire.between.map(there), wire.network.prefix())).collect(),
        served: served.iter().map(|it| (there(it.router.0), it.prefix, &*it.members)).collect(),
        tunnels: resolved.tunnels.iter().map(|it| it.between.map(there)).collect(),
        addresses,
    }
}

impl Resolver<'_> {
    /// Reports channels, wires, tunnels and addresses that cannot be.
    pub(super) fn check_networks(&mut self, resolved: &Resolved) {
        self.check_wires(resolved);
        for number in 0..resolved.channels.len() {
            if number >= MOST_CHANNELS {
                let message = format!("there are more than {MOST_CHANNELS} further channels");
                self.problem(&format!("channel.{number}"), message);
                break;
            }
            if !self.is_faulty(&format!("channel.{number}")) {
                self.check_channel(resolved, number);
            }
        }
        self.check_addresses(resolved);
        self.check_tunnels(resolved);
        if !self.is_faulty("mac") {
            let nodes: Vec<NodeId> = (0..resolved.talking()).map(NodeId).collect();
            self.check_stations("mac", &resolved.mac, &nodes);
        }
    }

    /// Reports nodes that have no radio on a further channel.
    fn check_channel(&mut self, resolved: &Resolved, number: usize) {
        let it = &resolved.channels[number];
        let path = format!("channel.{number}.nodes");
        if it.channel.nodes.is_empty() && self.has(&path) {
            self.problem(&path, "`nodes` is an empty list: no node has a radio on this channel").expected =
                Some("at least one node".to_owned());
        }
        let (radios, all) = (resolved.nodes.count, resolved.all_nodes());
        let (mut seen, mut twice) = (BTreeSet::new(), BTreeSet::new());
        for node in &it.channel.nodes {
            if !seen.insert(*node) {
                twice.insert(*node);
            }
        }
        let missing: Vec<u32> = seen.iter().copied().filter(|node| *node >= all).collect();
        self.no_nodes(&path, &missing, radios, "nodes with a radio");
        let wired: Vec<u32> = seen.iter().copied().filter(|node| (radios..all).contains(node)).collect();
        if !wired.is_empty() {
            let (subject, belong) = if wired.len() == 1 { ("node", "belongs") } else { ("nodes", "belong") };
            let message = format!(
                "{subject} {} {belong} to the `wired` ones, which have neither a radio nor a position",
                ranges(wired)
            );
            let problem = self.problem(&path, message);
            problem.expected = Some(match radios {
                0 => "nodes of `count` in [nodes]".to_owned(),
                _ => format!("nodes with a radio, 0 to {}", radios - 1),
            });
            problem.hint = Some("count a node with a radio in `count` of [nodes], and not in `wired`".to_owned());
        }
        if !twice.is_empty() {
            let (subject, have) = if twice.len() == 1 { ("node", "has") } else { ("nodes", "have") };
            self.problem(&path, format!("{subject} {} {have} two radios on this channel", ranges(twice))).expected =
                Some("each node once".to_owned());
        }
        let talking = it.channel.nodes.iter().copied().filter(|node| *node < resolved.talking());
        let nodes: Vec<NodeId> = talking.map(NodeId).collect();
        self.check_stations(&format!("channel.{number}"), &it.mac, &nodes);
    }

    /// Reports stations that cannot share a channel.
    fn check_stations(&mut self, section: &str, mac: &Chosen<mac::Config>, nodes: &[NodeId]) {
        let model = mac.model.name;
        if let Err(fault) = mac.config.check_stations(nodes) {
            self.problem(&format!("{section}.{model}.{}", fault.parameter), fault.problem).hint = Some(stations(nodes));
        }
    }

    /// Reports prefixes and addresses that cannot be.
    fn check_addresses(&mut self, resolved: &Resolved) {
        let all = resolved.all_nodes();
        let mut addresses = Vec::new();
        let mut tables = Vec::new();
        for (i, it) in resolved.addresses.iter().enumerate() {
            let is_there = it.node < all;
            if self.is_faulty(&format!("address.{i}")) || !self.has(&format!("address.{i}.node")) {
                continue;
            }
            if !is_there {
                self.no_node(&format!("address.{i}.node"), it.node, all, "nodes");
            }
            match it.address.parse() {
                Ok(address) if is_there => {
                    addresses.push((NodeId(it.node), address));
                    tables.push(i);
                }
                Ok(_) => {}
                Err(_) => {
                    let message = format!("\"{}\" is no IPv4 address", it.address);
                    self.problem(&format!("address.{i}.address"), message).expected =
                        Some("an address such as \"10.1.0.7\"".to_owned());
                }
            }
        }
        if all == 0 {
            return;
        }
        let radios = radios(resolved);
        let served = served(resolved);
        let layout = network_layout(resolved, &radios, &served, addresses.clone());
        let plan = layout.plan();
        for error in plan.as_ref().err().into_iter().flatten() {
            // The last table that gives the address: an earlier one was there first.
            let given = |address: std::net::Ipv4Addr, of: Option<NodeId>| {
                let names = |(node, it): &(NodeId, _)| *it == address && of.is_none_or(|of| of == *node);
                let place = addresses.iter().rposition(names).map_or(0, |place| tables[place]);
                format!("address.{place}.address")
            };
            let path = match error {
                AddressError::Overlap { one, other, .. } => {
                    // The prefix that the scenario gives is the one to change.
                    let paths = [network_path(resolved, *other), network_path(resolved, *one)];
                    paths.iter().find(|path| self.has(path)).unwrap_or(&paths[0]).clone()
                }
                AddressError::Full { network, .. }
                | AddressError::Reserved { network, .. }
                | AddressError::NoPrefix { network } => network_path(resolved, *network),
                AddressError::Outside { address, .. } | AddressError::Twice { address, .. } => given(*address, None),
                AddressError::Nowhere { node, address } | AddressError::Again { node, address, .. } => {
                    given(*address, Some(*node))
                }
            };
            let expected = match error {
                AddressError::Nowhere { node, .. } => of_node(resolved, &layout, *node),
                _ => None,
            };
            let problem = self.problem(&path, said(error, &served));
            problem.hint = Some(hint(error).to_owned());
            problem.expected = expected;
        }
        if let Ok(plan) = &plan {
            let channels = plan.prefixes.iter().filter(|(network, _)| matches!(network, Network::Channel(_)));
            let of_agents = prefixes(plan);
            let ad_hoc: Vec<_> = channels.map(|(_, &prefix)| prefix).chain(of_agents).collect();
            self.check_announced(resolved, &ad_hoc);
            self.check_tunnel_ways(&Tunnels::new(resolved, plan));
        } else {
            // The prefixes that are given are known all the same.
            self.check_announced(resolved, &layout.channels.iter().copied().flatten().collect::<Vec<_>>());
        }
    }

    /// Reports tunnels that cannot be.
    fn check_tunnels(&mut self, resolved: &Resolved) {
        let all = resolved.all_nodes();
        for (i, it) in resolved.tunnels.iter().enumerate() {
            let path = format!("tunnel.{i}.between");
            if self.is_faulty(&format!("tunnel.{i}")) || !self.has(&path) {
                continue;
            }
            let [a, b] = it.between;
            for node in [a, b].into_iter().filter(|node| *node >= all) {
                self.no_node(&path, node, all, "nodes");
            }
            if a == b {
                self.problem(&path, "a tunnel leads from one node to another").expected = Some("two nodes".to_owned());
            }
            for (key, list) in [("carries", &it.carries), ("carries_back", &it.carries_back)] {
                for text in list {
                    if let Err(message) = text.parse::<Prefix>() {
                        self.problem(&format!("tunnel.{i}.{key}"), message);
                    }
                }
            }
            if it.carries.is_empty() && it.carries_back.is_empty() {
                self.problem(&format!("tunnel.{i}"), "the tunnel carries nothing").expected =
                    Some("`carries` or `carries_back` with a prefix such as \"10.9.0.0/16\"".to_owned());
            }
        }
    }

    /// Reports wires that cannot be.
    fn check_wires(&mut self, resolved: &Resolved) {
        let (radios, all) = (resolved.nodes.count, resolved.all_nodes());
        let mut joined: BTreeMap<(u32, u32), usize> = BTreeMap::new();
        for (i, (wire, _)) in resolved.wires.iter().enumerate() {
            let path = format!("wire.{i}.between");
            if !self.has(&path) || self.is_faulty(&format!("wire.{i}")) {
                continue;
            }
            let [a, b] = wire.between;
            for node in [a, b].into_iter().filter(|node| *node >= all) {
                self.no_node(&path, node, all, "nodes");
                let hint = "`wired` in [nodes] adds nodes that have wires only";
                if let Some(problem) = self.problems.last_mut() {
                    problem.hint = Some(hint.to_owned());
                }
            }
            if a == b {
                self.problem(&path, "a wire leads from one node to another").expected = Some("two nodes".to_owned());
            } else if let Some(other) = joined.insert((a.min(b), a.max(b)), i) {
                let message = format!("nodes {a} and {b} are joined already: [[wire]] number {other} joins them");
                self.problem(&path, message).expected = Some("one wire between two nodes".to_owned());
            }
        }
        let end = resolved.head.duration;
        for (i, (_, link)) in resolved.wires.iter().enumerate() {
            let path = format!("wire.{i}.down");
            if let Some(late) = link.down.iter().find(|it| it.from >= end)
                && self.has(&path)
            {
                let message = format!("the wire does not go down at {}: the run ends at {end}", late.from);
                self.warning(&path, message).expected = Some("times before the end of the run".to_owned());
            }
        }
        let ends: BTreeSet<u32> = joined.keys().flat_map(|(a, b)| [*a, *b]).collect();
        let loose: Vec<u32> = (radios..all).filter(|node| !ends.contains(node)).collect();
        if let [first, rest @ ..] = &loose[..] {
            let message = match rest {
                [] => format!("node {first} has neither a radio nor a wire"),
                _ => format!("nodes {} have neither a radio nor a wire", ranges(loose)),
            };
            self.warning("nodes.wired", message);
        }
    }
}
