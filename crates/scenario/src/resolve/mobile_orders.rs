//! The faults that agents and hosts are ordered to have: they begin anew, deny, or send messages that others cannot
//! accept.

use std::collections::BTreeMap;

use hopyard_engine::{Span, Time};
use hopyard_model::address::{Address, NodeId};
use hopyard_model::agent::{During, Keys, Orders};

use super::resolved::Resolved;
use super::resolver::Resolver;
use crate::sections::{Denial, Interval};

fn at(span: Span) -> Time {
    Time::ZERO + span
}

fn during(intervals: &[Interval]) -> impl Iterator<Item = During> + '_ {
    intervals.iter().map(|it| (at(it.from), at(it.to)))
}

fn denials(denials: &[Denial]) -> impl Iterator<Item = (u8, During)> + '_ {
    denials.iter().map(|it| (it.code, (at(it.from), at(it.to))))
}

/// The orders of nodes that have any.
pub(crate) fn orders(resolved: &Resolved) -> BTreeMap<NodeId, Orders> {
    let mut orders: BTreeMap<NodeId, Orders> = BTreeMap::new();
    let stops = |restarts: &[Span], down: &[Interval]| {
        restarts.iter().map(|&span| (at(span), at(span))).chain(during(down)).collect::<Vec<During>>()
    };
    for it in &resolved.home_agents {
        let its = orders.entry(NodeId(it.node)).or_default();
        its.stops.extend(stops(&it.restarts, &it.down));
        its.denials.extend(denials(&it.deny));
        its.no_homes.extend(it.refuses.iter().map(|&node| Address::from(NodeId(node))));
        its.forged.extend(during(&it.forged));
        its.malformed.extend(during(&it.malformed));
    }
    for it in &resolved.foreign_agents {
        let its = orders.entry(NodeId(it.node)).or_default();
        its.stops.extend(stops(&it.restarts, &it.down));
        its.denials.extend(denials(&it.deny));
        its.no_visits.extend(it.refuses.iter().map(|&node| Address::from(NodeId(node))));
        its.forged.extend(during(&it.forged));
    }
    for it in &resolved.mobile_hosts {
        for &node in &it.nodes {
            let its = orders.entry(NodeId(node)).or_default();
            its.forged.extend(during(&it.forged_foreign));
            its.malformed.extend(during(&it.malformed));
        }
    }
    for its in orders.values_mut() {
        // A node that is both a home and a foreign agent has one agent, which stops at the times of both tables. It
        // cannot begin anew while it is down.
        its.stops.sort_unstable();
        its.stops.dedup_by(|next, before| {
            let meets = next.0 <= before.1;
            if meets {
                before.1 = before.1.max(next.1);
            }
            meets
        });
    }
    orders.retain(|_, its| *its != Orders::default());
    orders
}

impl Resolver<'_> {
    /// Reports orders about nodes that are no such hosts, and warns of those without an effect.
    pub(super) fn check_orders(&mut self, resolved: &Resolved) {
        let refusals = |list: &'static str, all: Vec<&[u32]>| -> Vec<(String, Vec<u32>)> {
            let its = all.into_iter().enumerate();
            its.map(|(place, nodes)| (format!("{list}.{place}.refuses"), nodes.to_vec())).collect()
        };
        let homes = refusals("home_agent", resolved.home_agents.iter().map(|it| &*it.refuses).collect());
        let foreigns = refusals("foreign_agent", resolved.foreign_agents.iter().map(|it| &*it.refuses).collect());
        for (path, node) in homes
            .into_iter()
            .chain(foreigns)
            .flat_map(|(path, nodes)| nodes.into_iter().map(move |it| (path.clone(), it)))
        {
            if !resolved.mobile_hosts.iter().any(|host| host.nodes.contains(&node)) {
                self.problem(&path, format!("node {node} is no host that moves between networks")).expected =
                    Some("nodes of a [[mobile_host]]".to_owned());
            }
        }
        self.check_late_orders(resolved);
        self.check_restarts_while_down(resolved);
        let mut keyed: Vec<(String, Keys)> = Vec::new();
        let has_any = |it: &[Interval]| !it.is_empty();
        for (i, _) in resolved.home_agents.iter().enumerate().filter(|(_, it)| has_any(&it.forged)) {
            keyed.push((format!("home_agent.{i}.forged"), Keys::Agents));
        }
        for (i, _) in resolved.foreign_agents.iter().enumerate().filter(|(_, it)| has_any(&it.forged)) {
            keyed.push((format!("foreign_agent.{i}.forged"), Keys::Agents));
        }
        for (i, it) in resolved.mobile_hosts.iter().enumerate() {
            if has_any(&it.forged) {
                keyed.push((format!("mobile_host.{i}.forged"), Keys::Home));
            }
            if has_any(&it.forged_foreign) {
                keyed.push((format!("mobile_host.{i}.forged_foreign"), Keys::Foreign));
            }
        }
        let configs: Vec<_> =
            resolved.agents.iter().map(|it| &it.config).filter(|it| it.serves_moving_hosts()).collect();
        for (path, keys) in keyed {
            if let Some(parameter) = configs.iter().find_map(|it| it.lacks_keys(keys)) {
                let message =
                    format!("this has no effect: messages have no such authenticator (`{parameter}` is false)");
                self.warning(&path, message).hint = Some(format!("set `{parameter} = true`"));
            }
        }
    }
    /// Warns of orders for times after the end of the run.
    fn check_late_orders(&mut self, resolved: &Resolved) {
        let mut begins: Vec<(String, Vec<Span>)> = Vec::new();
        let mut add = |list: &str, place: usize, key: &str, times: Vec<Span>| {
            begins.push((format!("{list}.{place}.{key}"), times));
        };
        let of = |intervals: &[Interval]| intervals.iter().map(|it| it.from).collect::<Vec<Span>>();
        let codes = |denials: &[Denial]| denials.iter().map(|it| it.from).collect::<Vec<Span>>();
        for (i, it) in resolved.home_agents.iter().enumerate() {
            add("home_agent", i, "restarts", it.restarts.clone());
            add("home_agent", i, "down", of(&it.down));
            add("home_agent", i, "deny", codes(&it.deny));
            add("home_agent", i, "forged", of(&it.forged));
            add("home_agent", i, "malformed", of(&it.malformed));
        }
        for (i, it) in resolved.foreign_agents.iter().enumerate() {
            add("foreign_agent", i, "restarts", it.restarts.clone());
            add("foreign_agent", i, "down", of(&it.down));
            add("foreign_agent", i, "deny", codes(&it.deny));
            add("foreign_agent", i, "forged", of(&it.forged));
        }
        for (i, it) in resolved.mobile_hosts.iter().enumerate() {
            add("mobile_host", i, "forged", of(&it.forged));
            add("mobile_host", i, "forged_foreign", of(&it.forged_foreign));
            add("mobile_host", i, "malformed", of(&it.malformed));
        }
        let end = resolved.head.duration;
        for (path, times) in begins {
            if let Some(late) = times.into_iter().find(|&from| from >= end) {
                let message = format!("nothing happens at {late}: the run ends at {end}");
                self.warning(&path, message).expected = Some("times before the end of the run".to_owned());
            }
        }
    }

    /// Warns of agents that are ordered to begin anew while they do not run.
    fn check_restarts_while_down(&mut self, resolved: &Resolved) {
        let homes = resolved.home_agents.iter().map(|it| ("home_agent", it.node, &it.restarts, &it.down));
        let foreigns = resolved.foreign_agents.iter().map(|it| ("foreign_agent", it.node, &it.restarts, &it.down));
        let (homes, foreigns): (Vec<_>, Vec<_>) = (homes.collect(), foreigns.collect());
        for all in [&homes, &foreigns] {
            for (place, (list, node, restarts, _)) in all.iter().enumerate() {
                let others = homes.iter().chain(&foreigns).filter(|it| it.1 == *node);
                let down: Vec<&Interval> = others.flat_map(|it| it.3).collect();
                if let Some(at) = restarts.iter().find(|at| down.iter().any(|it| it.from <= **at && **at < it.to)) {
                    let message = format!("the agent at node {node} does not begin anew at {at}: it is down then");
                    self.warning(&format!("{list}.{place}.restarts"), message).expected =
                        Some("times at which it runs".to_owned());
                }
            }
        }
    }
}
