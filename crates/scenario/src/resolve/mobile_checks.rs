//! Checks of hosts that move between networks, and of the agents that serve them.

use std::collections::{BTreeMap, BTreeSet};

use hopyard_model::params::{NS2, RFC};
use hopyard_model::{agent, routing};

use super::flow_faults::Place;
use super::links::Groups;
use super::mobile::{Router, has_parts, routers};
use super::resolved::Resolved;
use super::resolver::Resolver;
use crate::problem::one_of;
use crate::sections::{First, Flow};

/// Why a node stays in one network: a wire joins it to a node that is no agent.
fn stays(resolved: &Resolved, node: u32) -> Option<String> {
    let is_agent = |other: u32| {
        let homes = resolved.home_agents.iter().map(|it| it.node);
        homes.chain(resolved.foreign_agents.iter().map(|it| it.node)).any(|agent| agent == other)
    };
    resolved.wires.iter().enumerate().find_map(|(number, (wire, _))| {
        let [a, b] = wire.between;
        let other = if a == node { b } else { a };
        let is_fixed = [a, b].contains(&node) && a != b && !is_agent(other);
        is_fixed.then(|| {
            format!(
                "node {node} does not move between networks: wire {number} joins it to node {other}, which is no agent"
            )
        })
    })
}

/// Whether a home agent advertises on a wire to a node.
fn serves_by_wire(resolved: &Resolved, agent: u32, node: u32) -> bool {
    let of_agent = resolved.home_agents.iter().filter(|it| it.node == agent);
    let wires = of_agent.flat_map(|it| &it.wires).filter_map(|&number| resolved.wires.get(number as usize));
    wires.into_iter().any(|(wire, _)| wire.between.contains(&node))
}

impl Resolver<'_> {
    /// Reports agents and hosts that cannot be.
    pub(super) fn check_mobile(&mut self, resolved: &Resolved) {
        if !has_parts(resolved) {
            let serves = |name: &str| agent::Config::of_profile(name, RFC).is_ok_and(|it| it.serves_moving_hosts());
            if let Some(idle) = resolved.agents.iter().find(|it| serves(it.model.name)) {
                let message = format!("`{}` has nothing to do: no node is an agent or moves", idle.model.name);
                self.warning("agents.run", message).expected =
                    Some("[[home_agent]], [[foreign_agent]] and [[mobile_host]]".to_owned());
            }
            return;
        }
        let all = resolved.all_nodes();
        let routers = routers(resolved);
        let wires_of = |node: u32| resolved.wires.iter().any(|(wire, _)| wire.between.contains(&node));
        for router in &routers {
            let path = router.path("node");
            if !self.has(&path) || self.is_faulty(&format!("{}.{}", router.list, router.place)) {
                continue;
            }
            if router.node >= all {
                self.no_node(&path, router.node, all, "nodes");
                continue;
            }
            let twice =
                routers.iter().any(|it| it.list == router.list && it.place < router.place && it.node == router.node);
            if twice {
                self.problem(&path, format!("node {} has another [[{}]] already", router.node, router.list)).expected =
                    Some("one table for each agent".to_owned());
            }
            if !wires_of(router.node) {
                let message =
                    format!("node {} has no wire, so that nobody in other networks can reach it", router.node);
                let problem = self.problem(&path, message);
                problem.expected = Some("an agent with a wire".to_owned());
                problem.hint = Some("add a [[wire]] between it and a router".to_owned());
            }
            if router.node >= resolved.nodes.count && router.wires.is_empty() {
                let message =
                    format!("node {} has no radio and serves on no wire, so that no host hears it", router.node);
                self.problem(&path, message).expected = Some("a node with a radio, or `wires`".to_owned());
            }
            if router.node >= resolved.nodes.count && router.network.prefix().is_some() {
                let message = format!("node {} has no radio, and so no network on it", router.node);
                let problem = self.problem(&router.path("network"), message);
                problem.expected = Some("a node with a radio, or no `network`".to_owned());
                problem.hint = Some("hosts on a wire are in its network: `network` in [[wire]]".to_owned());
            }
            if let First::At(first) = router.first
                && first >= resolved.head.duration
            {
                let end = resolved.head.duration;
                let message = format!("node {} first advertises at {first}, and the run ends at {end}", router.node);
                self.warning(&router.path("first"), message).expected = Some("a time before the end".to_owned());
            }
            self.check_served_wires(resolved, router);
            if router.list == "foreign_agent"
                && let Some(other) = routers.iter().find(|it| it.node == router.node && it.list == "home_agent")
            {
                self.check_both(router, other);
            }
            if router.list == "home_agent" && !resolved.mobile_hosts.iter().any(|host| host.home == router.node) {
                self.warning(&path, format!("node {} is the home agent of no host", router.node)).hint =
                    Some("name it as `home` in a [[mobile_host]]".to_owned());
            }
        }
        let fixed = self.check_hosts(resolved);
        self.check_agent_ways(resolved, &routers, &fixed);
        self.check_profile(resolved);
        self.check_orders(resolved);
        self.check_agent_tunnels(resolved);
        self.check_doubts(resolved);
    }

    /// Reports keys that differ in the two tables of a node.
    fn check_both(&mut self, foreign: &Router<'_>, home: &Router<'_>) {
        let prefix =
            |it: &Router<'_>| it.network.prefix().map_or_else(|| "\"auto\"".to_owned(), |it| format!("\"{it}\""));
        let values = |it: &Router<'_>| [prefix(it), format!("{:?}", it.wires), format!("\"{}\"", it.first)];
        for ((key, here), there) in ["network", "wires", "first"].into_iter().zip(values(foreign)).zip(values(home)) {
            if here == there {
                continue;
            }
            // The table that leaves the key out has the default, and the other one the value that is meant.
            let message =
                format!("node {} has `{key}` {here} as a foreign agent, and {there} as a home agent", foreign.node);
            let path = foreign.path(key);
            let path = if self.has(&path) { path } else { foreign.path("node") };
            let problem = self.problem(&path, message);
            problem.expected = Some(format!("the same `{key}` in both tables of a node"));
        }
    }

    fn check_served_wires(&mut self, resolved: &Resolved, router: &Router<'_>) {
        for (place, &number) in router.wires.iter().enumerate() {
            let path = router.path("wires");
            if router.wires[..place].contains(&number) {
                self.problem(&path, format!("wire {number} is in the list twice")).expected =
                    Some("each wire once".to_owned());
                continue;
            }
            match resolved.wires.get(number as usize) {
                None => {
                    let message = format!("there is no wire {number}");
                    let count = resolved.wires.len();
                    self.problem(&path, message).expected = Some(match count {
                        0 => "a [[wire]]: the scenario has none".to_owned(),
                        _ => format!("numbers of wires from 0 to {}", count - 1),
                    });
                }
                Some((wire, _)) if !wire.between.contains(&router.node) => {
                    let [a, b] = wire.between;
                    let message = format!("wire {number} joins nodes {a} and {b}, and not node {}", router.node);
                    self.problem(&path, message).expected = Some("wires of this node".to_owned());
                }
                Some(_) => {}
            }
        }
    }

    /// Reports hosts that cannot be. Returns the hosts that do not move.
    fn check_hosts(&mut self, resolved: &Resolved) -> BTreeSet<u32> {
        let all = resolved.all_nodes();
        let mut fixed = BTreeSet::new();
        let mut homes: BTreeMap<u32, (usize, u32)> = BTreeMap::new();
        for (i, host) in resolved.mobile_hosts.iter().enumerate() {
            if self.is_faulty(&format!("mobile_host.{i}")) {
                continue;
            }
            let (nodes, home) = (format!("mobile_host.{i}.nodes"), format!("mobile_host.{i}.home"));
            if host.nodes.is_empty() && self.has(&nodes) {
                self.problem(&nodes, "`nodes` is an empty list: no node moves between networks").expected =
                    Some("at least one node".to_owned());
            }
            let there = resolved.home_agents.iter().map(|it| it.node).filter(|&node| node < all);
            let agents: Vec<String> = there.map(|node| node.to_string()).collect();
            if self.has(&home) && host.home >= all {
                self.no_node(&home, host.home, all, "nodes");
            } else if self.has(&home) && !resolved.home_agents.iter().any(|it| it.node == host.home) {
                let problem = self.problem(&home, format!("node {} is no home agent", host.home));
                problem.expected = Some(match agents.is_empty() {
                    true => "a node with a [[home_agent]]: the scenario has none".to_owned(),
                    false => format!("a node with a [[home_agent]]: {}", one_of(agents.iter().map(String::as_str))),
                });
            }
            for &node in &host.nodes {
                if node >= all {
                    self.no_node(&nodes, node, all, "nodes");
                    continue;
                }
                if let Some((table, other)) = homes.insert(node, (i, host.home)) {
                    let (message, expected) = if table == i {
                        (format!("node {node} is in the list twice"), "each node once")
                    } else if other == host.home {
                        (format!("node {node} is in two [[mobile_host]] tables"), "one table for each host")
                    } else {
                        let message = format!("node {node} has two home agents, {other} and {}", host.home);
                        (message, "one home agent for each host")
                    };
                    self.problem(&nodes, message).expected = Some(expected.to_owned());
                    if table == i {
                        continue;
                    }
                }
                let is_agent = resolved.home_agents.iter().map(|it| it.node);
                if is_agent.chain(resolved.foreign_agents.iter().map(|it| it.node)).any(|agent| agent == node) {
                    self.problem(&nodes, format!("node {node} is an agent, and agents do not move between networks"))
                        .expected = Some("a node that is no agent".to_owned());
                    fixed.insert(node);
                    continue;
                }
                if let Some(message) = stays(resolved, node) {
                    let problem = self.problem(&nodes, message);
                    problem.expected = Some("a node that wires join to agents alone".to_owned());
                    problem.hint = Some("a host moves from radio to radio, or from wire to wire of agents".to_owned());
                    fixed.insert(node);
                    continue;
                }
                let to_home = |wire: &[u32; 2]| wire.contains(&node) && wire.contains(&host.home);
                let by_radio = node < resolved.nodes.count;
                if host.home >= all {
                    continue;
                }
                if by_radio && host.home >= resolved.nodes.count {
                    let message = format!(
                        "node {node} has a radio, and its home agent, node {}, has none: it is outside the home \
                                 network",
                        host.home
                    );
                    self.problem(&nodes, message).expected = Some("a home agent with a radio".to_owned());
                } else if !by_radio && !resolved.wires.iter().any(|(wire, _)| to_home(&wire.between)) {
                    let message =
                        format!("node {node} has neither a radio nor a wire to its home agent, node {}", host.home);
                    let problem = self.problem(&nodes, message);
                    problem.expected = Some("a node with a radio".to_owned());
                    problem.hint = Some("nodes with a radio are counted in `count` of [nodes]".to_owned());
                    fixed.insert(node);
                } else if !by_radio && !serves_by_wire(resolved, host.home, node) {
                    let message = format!(
                        "node {node} has no radio, and its home agent, node {}, advertises on no wire to it: it never \
                         is at home",
                        host.home
                    );
                    let problem = self.problem(&nodes, message);
                    problem.expected = Some("a wire on which the home agent advertises".to_owned());
                    problem.hint = Some("`wires` in [[home_agent]] lists such wires".to_owned());
                    fixed.insert(node);
                }
            }
        }
        fixed
    }

    /// Reports agents between which no wires lead.
    fn check_agent_ways(&mut self, resolved: &Resolved, routers: &[Router<'_>], fixed: &BTreeSet<u32>) {
        let all = resolved.all_nodes();
        let mut groups = Groups::apart(all);
        let hosts = resolved.mobile_hosts.iter().flat_map(|host| host.nodes.iter().copied());
        // What is wrong with a node that does not move was said of it, and not of the agents around it.
        let hosts: BTreeSet<u32> = hosts.filter(|node| !fixed.contains(node)).collect();
        for (wire, _) in &resolved.wires {
            let [a, b] = wire.between;
            // A host passes nothing on.
            if a < all && b < all && !hosts.contains(&a) && !hosts.contains(&b) {
                groups.join(a, b);
            }
        }
        // An agent without any wire was reported.
        let has_wire = |node: u32| node < all && resolved.wires.iter().any(|(wire, _)| wire.between.contains(&node));
        for home in resolved.home_agents.iter().filter(|it| has_wire(it.node)) {
            for router in routers.iter().filter(|it| it.list == "foreign_agent" && has_wire(it.node)) {
                if router.node != home.node && !groups.joins(home.node, router.node) {
                    let message = format!(
                        "no wires lead from node {} to the home agent at node {}, so that it cannot register its hosts",
                        router.node, home.node
                    );
                    self.problem(&router.path("node"), message).expected =
                        Some("wires between the agents, directly or by way of routers".to_owned());
                }
            }
        }
    }

    /// Warns of parameters of the agents that are hardly meant.
    fn check_doubts(&mut self, resolved: &Resolved) {
        if self.is_faulty("agents") {
            return;
        }
        for chosen in &resolved.agents {
            for doubt in chosen.config.doubts() {
                let paths = doubt.parameters.iter().map(|key| format!("agents.{}.{key}", chosen.model.name));
                let paths: Vec<String> = paths.collect();
                // The parameter that the scenario gives is the one to change.
                let Some(path) = paths.iter().find(|path| self.has(path)).or(paths.first()) else { continue };
                self.warning(path, doubt.message).expected = Some(doubt.expected);
            }
        }
    }

    /// Warns of a flow between a host and a node of the ad hoc network. The packets of the host go to its agent. The
    /// agent has no way to nodes out of the reach of its radio, or has one that leads back over the host.
    pub(super) fn check_mobile_ends(&mut self, at: Place, resolved: &Resolved, flow: &Flow) {
        let moves = |node: u32| resolved.mobile_hosts.iter().any(|it| it.nodes.contains(&node));
        let homes = resolved.home_agents.iter().map(|it| it.node);
        let agents: BTreeSet<u32> = homes.chain(resolved.foreign_agents.iter().map(|it| it.node)).collect();
        let is_other = |node: u32| node < resolved.nodes.count && !moves(node) && !agents.contains(&node);
        let of_pair = |(from, to): (u32, u32)| {
            let down = moves(to) && is_other(from);
            if moves(from) && is_other(to) { Some(("to", from, to)) } else { down.then_some(("from", to, from)) }
        };
        let Some((key, host, other)) = flow.pairs().find_map(of_pair) else { return };
        let message = format!(
            "node {host} sends all packets to its agent, and that may have no way to node {other}, which is no agent \
             and moves between no networks"
        );
        let fault = self.flow_problem(at, key, message);
        fault.is_warning = true;
        fault.of_many = "hosts that move between networks send all packets to their agents, and those may have no way \
                         to nodes of the ad hoc network"
            .to_owned();
        fault.expected = Some("a node with wires only, an agent, or a host that moves between networks".to_owned());
    }

    /// In ns-2, packets find the agents by DSDV.
    fn check_profile(&mut self, resolved: &Resolved) {
        let needs = resolved.agents.iter().any(|chosen| chosen.config.needs_kept_routes());
        let by_radio =
            resolved.mobile_hosts.iter().flat_map(|host| &host.nodes).any(|&node| node < resolved.nodes.count);
        if needs && by_radio && !resolved.routing.config.keeps_routes() {
            let names: Vec<&str> = routing::MODELS
                .iter()
                .filter(|model| routing::Config::of_profile(model.name, NS2).is_ok_and(|it| it.keeps_routes()))
                .map(|model| model.name)
                .collect();
            let message = format!(
                "hosts and agents of profile `ns2` find each other by routes that a protocol keeps, and `{}` keeps none",
                resolved.routing.model.name
            );
            self.problem("routing.protocol", message).expected = Some(one_of(names));
        }
    }
}
