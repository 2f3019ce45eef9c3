//! Checks of hosts that move between networks, and of the agents that serve them.

use std::collections::{BTreeMap, BTreeSet};

use hopyard_model::params::NS2;
use hopyard_model::{agent, routing};

use super::links::Groups;
use super::mobile::{Router, has_parts, routers};
use super::resolved::{Resolved, chosen_routing};
use super::resolver::Resolver;
use crate::problem::one_of;

impl Resolver<'_> {
    /// Reports agents and hosts that cannot be.
    pub(super) fn check_mobile(&mut self, resolved: &Resolved) {
        if !has_parts(resolved) {
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
            self.check_served_wires(resolved, router);
            if let Some(other) = routers.iter().find(|it| {
                it.node == router.node
                    && it.list == "home_agent"
                    && router.list == "foreign_agent"
                    && (it.wires != router.wires || it.first != router.first || it.network != router.network)
            }) {
                let message = format!("node {} has other values in [[{}]]", router.node, other.list);
                self.problem(&path, message).expected =
                    Some("the same `network`, `wires` and `first` in both tables of a node".to_owned());
            }
            if router.list == "home_agent" && !resolved.mobile_hosts.iter().any(|host| host.home == router.node) {
                self.warning(&path, format!("node {} is the home agent of no host", router.node)).hint =
                    Some("name it as `home` in a [[mobile_host]]".to_owned());
            }
        }
        self.check_hosts(resolved);
        self.check_agent_ways(resolved, &routers);
        self.check_profile(resolved);
        self.check_orders(resolved);
    }

    fn check_served_wires(&mut self, resolved: &Resolved, router: &Router<'_>) {
        for &number in router.wires {
            let path = router.path("wires");
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

    fn check_hosts(&mut self, resolved: &Resolved) {
        let all = resolved.all_nodes();
        let mut homes: BTreeMap<u32, u32> = BTreeMap::new();
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
            if self.has(&home) && !resolved.home_agents.iter().any(|it| it.node == host.home) {
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
                if let Some(other) = homes.insert(node, host.home) {
                    let message = if other == host.home {
                        format!("node {node} is in two [[mobile_host]] tables")
                    } else {
                        format!("node {node} has two home agents, {other} and {}", host.home)
                    };
                    self.problem(&nodes, message).expected = Some("one home agent for each host".to_owned());
                }
                let is_agent = resolved.home_agents.iter().map(|it| it.node);
                if is_agent.chain(resolved.foreign_agents.iter().map(|it| it.node)).any(|agent| agent == node) {
                    self.problem(&nodes, format!("node {node} is an agent, and agents do not move between networks"))
                        .expected = Some("a node that is no agent".to_owned());
                    continue;
                }
                let to_home = |wire: &[u32; 2]| wire.contains(&node) && wire.contains(&host.home);
                let by_radio = node < resolved.nodes.count;
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
                }
            }
        }
    }

    /// Reports agents between which no wires lead.
    fn check_agent_ways(&mut self, resolved: &Resolved, routers: &[Router<'_>]) {
        let all = resolved.all_nodes();
        let mut groups = Groups::apart(all);
        let hosts: BTreeSet<u32> = resolved.mobile_hosts.iter().flat_map(|host| host.nodes.iter().copied()).collect();
        for (wire, _) in &resolved.wires {
            let [a, b] = wire.between;
            // A host passes nothing on.
            if a < all && b < all && !hosts.contains(&a) && !hosts.contains(&b) {
                groups.join(a, b);
            }
        }
        let homes = resolved.home_agents.iter().filter(|it| it.node < all);
        for home in homes {
            for router in routers.iter().filter(|it| it.list == "foreign_agent" && it.node < all) {
                let has_wire = resolved.wires.iter().any(|(wire, _)| wire.between.contains(&router.node));
                if has_wire && router.node != home.node && !groups.joins(home.node, router.node) {
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

    /// In ns-2, packets find the agents by DSDV.
    fn check_profile(&mut self, resolved: &Resolved) {
        let needs = resolved.agents.iter().any(|chosen| {
            let value = serde_json::Value::Object(chosen.values.clone());
            agent::Config::read(chosen.model.name, &value).is_ok_and(|it| it.needs_kept_routes())
        });
        let by_radio =
            resolved.mobile_hosts.iter().flat_map(|host| &host.nodes).any(|&node| node < resolved.nodes.count);
        let Some(routing) = chosen_routing(resolved) else { return };
        if needs && by_radio && !routing.keeps_routes() {
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
