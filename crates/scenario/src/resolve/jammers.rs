//! Checks of nodes that only radiate: their numbers, their channel, and that nothing else is asked of them.

use std::collections::BTreeSet;

use super::flow_faults::Place;
use super::networks::radios;
use super::resolved::Resolved;
use super::resolver::Resolver;
use crate::problem::ranges;

impl Resolver<'_> {
    /// Reports nodes that cannot be jammers.
    pub(super) fn check_jammers(&mut self, resolved: &Resolved) {
        let count = resolved.nodes.count;
        let numbers = |i| self.numbers(&format!("jammer.{i}.nodes"));
        let tables: Vec<Vec<u32>> = (0..resolved.jammers.len()).map(numbers).collect();
        let tables: Vec<&[u32]> = tables.iter().map(Vec::as_slice).collect();
        let before = self.problems.len();
        self.check_nodes_of_tables("jammer", "nobody radiates", &tables, count);
        let are_sound = self.problems.len() == before;
        let jamming: BTreeSet<u32> = tables.concat().into_iter().filter(|node| *node < count).collect();
        let (Some(&first), last) = (jamming.first(), count.saturating_sub(1)) else { return };
        let on = radios(resolved);
        for (i, it) in resolved.jammers.iter().enumerate() {
            let without = |node: &&u32| on.get(**node as usize).is_some_and(|its| !its.contains(&it.channel));
            let most = resolved.channels.len();
            if usize::from(it.channel) > most {
                let message = format!("there is no channel {}", it.channel);
                self.problem(&format!("jammer.{i}.channel"), message).expected = Some(match most {
                    0 => "0: the scenario has no [[channel]]".to_owned(),
                    _ => format!("0 to {most}"),
                });
            } else if let Some(node) = it.nodes.iter().find(without) {
                let message = format!("node {node} has no radio on channel {}", it.channel);
                self.problem(&format!("jammer.{i}.nodes"), message).expected =
                    Some(format!("nodes of [[channel]] number {}", it.channel));
            }
            if it.from >= resolved.head.duration && !self.is_faulty("duration") {
                let message = format!("nothing is radiated: the run ends at {}", resolved.head.duration);
                self.warning(&format!("jammer.{i}.from"), message);
            }
        }
        // So that the others have the same numbers, and thus the same draws and slots, with jammers and without.
        let others: Vec<u32> = (first..=last).filter(|node| !jamming.contains(node)).collect();
        if !are_sound {
            return;
        }
        if !others.is_empty() {
            let message = format!("behind the first node that only radiates, {first}, come others: {}", ranges(others));
            let number = u32::try_from(jamming.len()).unwrap_or(count);
            self.problem("jammer.0.nodes", message).expected =
                Some(format!("the last nodes with a radio: {}", ranges(count - number..count)));
            return;
        }
        self.check_parts_of_jammers(resolved, first..count);
    }

    /// Reports what else is asked of nodes that only radiate.
    fn check_parts_of_jammers(&mut self, resolved: &Resolved, jamming: std::ops::Range<u32>) {
        let message = |node: u32| format!("node {node} only radiates ([[jammer]])");
        for (i, (flow, _)) in resolved.flows.iter().enumerate() {
            for (key, node) in flow.ends() {
                if jamming.contains(&node) {
                    let fault = self.flow_problem(Place::Listed(i), key, message(node));
                    fault.of_many = "one end only radiates ([[jammer]])".to_owned();
                    fault.expected = Some("a node that sends and receives packets".to_owned());
                }
            }
        }
        let mut parts: Vec<(String, Vec<u32>)> = Vec::new();
        let mut add = |list: &str, key: &str, of: Vec<Vec<u32>>| {
            parts.extend(of.into_iter().enumerate().map(|(i, nodes)| (format!("{list}.{i}.{key}"), nodes)));
        };
        add("host", "node", resolved.hosts.iter().map(|it| it.node.nodes(0..0)).collect());
        add("wire", "between", resolved.wires.iter().map(|(it, _)| it.between.to_vec()).collect());
        add("home_agent", "node", resolved.home_agents.iter().map(|it| vec![it.node]).collect());
        add("foreign_agent", "node", resolved.foreign_agents.iter().map(|it| vec![it.node]).collect());
        add("mobile_host", "nodes", resolved.mobile_hosts.iter().map(|it| it.nodes.clone()).collect());
        let further = resolved.channels.iter().enumerate().map(|(i, it)| (format!("channel.{i}"), &it.radio));
        for (section, radio) in std::iter::once(("radio".to_owned(), &resolved.radio)).chain(further) {
            add(&format!("{section}.single"), "nodes", radio.single.iter().map(|it| it.nodes.clone()).collect());
        }
        for (path, nodes) in parts {
            if let Some(node) = nodes.into_iter().find(|node| jamming.contains(node)) {
                self.problem(&path, message(node)).expected = Some("a node that sends and receives packets".to_owned());
            }
        }
    }
}
