//! Checks of multicast groups, and of flows with several destinations.

use std::collections::{BTreeMap, BTreeSet};

use hopyard_model::{multicast, routing};

use super::flow_faults::Place;
use super::resolved::{FlowKind, Resolved};
use super::resolver::Resolver;
use crate::catalogue::Config as _;
use crate::problem::{nearest, one_of, ranges};
use crate::sections::{ALL, Flow, Stack, To};

impl Resolver<'_> {
    /// Leaves the section of forwarding out of the written scenario where no flow goes to a group.
    pub(super) fn leave_out_multicast(&mut self, flows: &[(Flow, FlowKind)]) {
        if flows.iter().any(|(flow, _)| flow.to.group().is_some()) {
            return;
        }
        self.used.retain(|(room, _)| *room != multicast::Config::ROOM);
        self.complete.remove("multicast");
        if self.table("multicast").is_some() {
            self.unused("multicast", "[multicast] is not used: no flow goes to a group".to_owned());
        }
    }

    /// Reports groups that cannot be, and flows that cannot go to a group or to several nodes.
    pub(super) fn check_multicast(&mut self, resolved: &Resolved) {
        let radios = resolved.talking();
        let (mut names, mut addresses) = (BTreeMap::new(), BTreeMap::new());
        for (i, group) in resolved.groups.iter().enumerate() {
            if self.is_faulty(&format!("group.{i}")) {
                continue;
            }
            let path = |key: &str| format!("group.{i}.{key}");
            if let Some(other) = names.insert(&group.name, i) {
                let message = format!("[[group]] number {other} is called {:?} too", group.name);
                self.problem(&path("name"), message).expected = Some("a name of its own".to_owned());
            }
            if let Some(other) = group.given().and_then(|address| addresses.insert(address, i)) {
                let message = format!("[[group]] number {other} has the address {} too", group.address);
                self.problem(&path("address"), message).expected = Some("an address of its own".to_owned());
            }
            let mut members = group.members.clone();
            members.sort_unstable();
            let all = resolved.all_nodes();
            let missing: Vec<u32> = members.iter().copied().filter(|node| *node >= all).collect();
            self.no_nodes(&path("members"), &missing, all, "nodes");
            let without: Vec<u32> = members.into_iter().filter(|node| (radios..all).contains(node)).collect();
            if !without.is_empty() {
                let message = format!("datagrams for a group go by radio, which {} not have", do_nodes(&without));
                self.problem(&path("members"), message).expected = Some(format!("nodes from 0 to {}", radios - 1));
            }
            let is_used = |flow: &Flow| flow.to.group() == Some(&group.name);
            if !resolved.flows.iter().any(|(flow, _)| is_used(flow)) {
                self.warning(&path("name"), format!("no flow goes to the group {:?}", group.name));
            }
        }
        for (i, (flow, kind)) in resolved.flows.iter().enumerate() {
            if self.is_faulty(&format!("flow.{i}")) {
                continue;
            }
            match &flow.to {
                To::Node(_) => {}
                To::Nodes(nodes) => self.check_list(i, flow, nodes),
                To::Group(name) => self.check_flow_to_group(resolved, i, flow, name, kind),
            }
        }
    }

    /// Warns of members of groups that no chain of radios joins to the sender.
    pub(super) fn check_members(&mut self, resolved: &Resolved, mut joins: impl FnMut(u32, u32) -> bool) {
        for (i, (flow, _)) in resolved.flows.iter().enumerate() {
            let Some(name) = flow.to.group() else { continue };
            let lost: Vec<u32> = resolved.receivers(flow).into_iter().filter(|to| !joins(flow.from, *to)).collect();
            if !lost.is_empty() {
                let message = format!(
                    "no chain of radios joins node {} to all of the group {name:?}: not to {}",
                    flow.from,
                    ranges(lost)
                );
                let fault = self.flow_problem(Place::Listed(i), "to", message);
                fault.is_warning = true;
                fault.of_many = "no chain of radios joins the sender to all of its group".to_owned();
            }
        }
    }

    fn check_list(&mut self, index: usize, flow: &Flow, nodes: &[u32]) {
        let twice = nodes.iter().enumerate().find(|(place, node)| nodes[..*place].contains(node));
        let problem = match (nodes.is_empty(), twice) {
            (true, _) => Some(("the flow goes to nobody".to_owned(), "at least one node")),
            (_, Some((_, node))) => Some((format!("node {node} is in the list twice"), "each node once")),
            _ => None,
        };
        if let Some((message, expected)) = problem {
            self.flow_problem(Place::Listed(index), "to", message).expected = Some(expected.to_owned());
        }
        if flow.stack == Stack::Linux && nodes.len() > 1 {
            let fault = self.flow_problem(Place::Listed(index), "to", "a flow of Linux has one destination");
            fault.expected = Some("one node".to_owned());
            fault.hint = Some("write a [[flow]] for each destination".to_owned());
        }
    }

    fn check_flow_to_group(&mut self, resolved: &Resolved, index: usize, flow: &Flow, name: &str, kind: &FlowKind) {
        let at = Place::Listed(index);
        let names: BTreeSet<&str> = resolved.groups.iter().map(|group| &*group.name).chain([ALL]).collect();
        if !names.contains(name) {
            let hint = nearest(name, names.iter().copied()).map(|it| format!("did you mean {it:?}?"));
            let fault = self.flow_problem(at, "to", format!("there is no group {name:?}"));
            fault.expected = Some(format!("a whole number, \"last\", a list of numbers, or {}", one_of(names)));
            fault.hint = hint;
            return;
        }
        if kind.tcp.is_some() {
            let fault = self.flow_problem(at, "to", format!("TCP has one destination, and {name:?} is a group"));
            fault.of_many = "TCP has one destination, and they go to groups".to_owned();
            fault.expected = Some("`udp = true`, or a node".to_owned());
        } else if kind.traffic.config.is_answered() {
            let source = kind.traffic.model.name;
            let message = format!("`{source}` is answered by one node, and {name:?} is a group");
            self.flow_problem(at, "traffic", message).expected = Some("traffic without answers, or a node".to_owned());
        }
        let radios = resolved.talking();
        if (radios..resolved.all_nodes()).contains(&flow.from) {
            let message = format!("datagrams for a group go by radio, which node {} does not have", flow.from);
            self.flow_problem(at, "from", message).expected = Some("a node with a radio".to_owned());
        } else if flow.from < radios && resolved.receivers(flow).is_empty() {
            let message = format!("nobody but the sender, node {}, is in the group {name:?}", flow.from);
            self.flow_problem(at, "to", message).expected = Some("a group with another member".to_owned());
        }
        let (protocol, routing) = (&resolved.multicast, resolved.routing.model.name);
        if protocol.config.needs_relays() && !resolved.routing.config.chooses_relays() {
            let profile = &resolved.head.profile;
            let chooses = |name: &&str| routing::Config::of_profile(name, profile).is_ok_and(|it| it.chooses_relays());
            let able: Vec<_> = routing::MODELS.iter().map(|model| model.name).filter(chooses).collect();
            let message = format!("`{}` needs relays, and `{routing}` chooses none", protocol.model.name);
            if !self.problems.iter().any(|it| it.path == "multicast.protocol") {
                self.problem("multicast.protocol", message).expected = Some(format!("routing by {}", one_of(able)));
            }
        }
    }
}

/// "node 4 does" or "nodes 4 and 5 do".
fn do_nodes(nodes: &[u32]) -> String {
    let (noun, verb) = if nodes.len() == 1 { ("node", "does") } else { ("nodes", "do") };
    format!("{noun} {} {verb}", ranges(nodes.iter().copied()))
}
