//! Hosts that move between networks, and the agents that serve them: their parts and their networks.

use std::collections::BTreeMap;

use hopyard_engine::Time;
use hopyard_model::address::{NodeId, Prefix};
use hopyard_model::world::{AddressPlan, Network, RoleSpec, ServedSpec};

use super::resolved::Resolved;
use crate::sections::{First, ForeignAgent, HomeAgent};

/// The keys that the tables of a home agent and of a foreign agent share.
#[derive(Clone, Copy, Debug)]
pub(super) struct Router<'a> {
    /// The list of its table.
    pub(super) list: &'static str,
    pub(super) place: usize,
    pub(super) node: u32,
    pub(super) network: crate::sections::Network,
    pub(super) wires: &'a [u32],
    pub(super) first: First,
}

impl Router<'_> {
    /// The path of one of its keys.
    pub(super) fn path(&self, key: &str) -> String {
        format!("{}.{}.{key}", self.list, self.place)
    }
}

/// The tables of all agents.
pub(super) fn routers(resolved: &Resolved) -> Vec<Router<'_>> {
    let home = |(place, it): (usize, &'_ HomeAgent)| (place, it.node, it.network, it.first);
    let foreign = |(place, it): (usize, &'_ ForeignAgent)| (place, it.node, it.network, it.first);
    let homes = resolved.home_agents.iter().enumerate().map(|each| {
        let (place, node, network, first) = home(each);
        Router { list: "home_agent", place, node, network, wires: &each.1.wires, first }
    });
    let foreigns = resolved.foreign_agents.iter().enumerate().map(|each| {
        let (place, node, network, first) = foreign(each);
        Router { list: "foreign_agent", place, node, network, wires: &each.1.wires, first }
    });
    homes.chain(foreigns).collect()
}

/// Whether a scenario has hosts that move between networks, or agents for such hosts.
pub(super) fn has_parts(resolved: &Resolved) -> bool {
    !(resolved.home_agents.is_empty() && resolved.foreign_agents.is_empty() && resolved.mobile_hosts.is_empty())
}

/// The parts of nodes that have one.
pub(crate) fn roles(resolved: &Resolved) -> BTreeMap<NodeId, RoleSpec> {
    let mut roles = BTreeMap::new();
    for host in &resolved.mobile_hosts {
        let forged: Vec<_> = host.forged.iter().map(|it| (Time::ZERO + it.from, Time::ZERO + it.to)).collect();
        for &node in &host.nodes {
            roles.insert(NodeId(node), RoleSpec::Host { agent: NodeId(host.home), forged: forged.clone() });
        }
    }
    for router in routers(resolved) {
        let hosts = resolved.mobile_hosts.iter().filter(|host| host.home == router.node && router.list == "home_agent");
        let hosts: Vec<NodeId> = hosts.flat_map(|host| &host.nodes).copied().map(NodeId).collect();
        let first = match router.first {
            First::Random => None,
            First::At(span) => Some(Time::ZERO + span),
        };
        let is_foreign = router.list == "foreign_agent";
        let wires: Vec<usize> = router.wires.iter().map(|&wire| wire as usize).collect();
        match roles.entry(NodeId(router.node)).or_insert(RoleSpec::Fixed) {
            RoleSpec::Router { is_foreign: foreign, hosts: own, .. } => {
                *foreign |= is_foreign;
                own.extend(hosts);
            }
            role => *role = RoleSpec::Router { is_foreign, wires, hosts, first },
        }
    }
    roles
}

/// The networks of agents with radios, and their hosts that are at home there.
pub(crate) fn served(resolved: &Resolved) -> Vec<ServedSpec> {
    let radios = resolved.nodes.count;
    let mut served: Vec<ServedSpec> = Vec::new();
    for router in routers(resolved).into_iter().filter(|router| router.node < radios) {
        let its = resolved.mobile_hosts.iter().filter(|host| host.home == router.node && router.list == "home_agent");
        let members = its.flat_map(|host| &host.nodes).copied().filter(|&node| node < radios).map(NodeId);
        match served.iter_mut().find(|it| it.router.0 == router.node) {
            Some(same) => {
                same.members.extend(members);
                same.prefix = same.prefix.or(router.network.prefix());
            }
            None => served.push(ServedSpec {
                router: NodeId(router.node),
                prefix: router.network.prefix(),
                members: members.collect(),
            }),
        }
    }
    served
}

/// The path of the table that gives a served network its prefix.
pub(super) fn served_path(resolved: &Resolved, number: usize) -> String {
    let node = served(resolved).get(number).map(|it| it.router.0);
    let found = routers(resolved).into_iter().find(|router| Some(router.node) == node);
    found.map_or_else(|| "home_agent".to_owned(), |router| router.path("network"))
}

/// The prefix of each network of an agent, of a plan that could be made.
pub(super) fn prefixes(plan: &AddressPlan) -> Vec<Prefix> {
    let served = plan.prefixes.iter().filter(|(network, _)| matches!(network, Network::Served(_)));
    served.map(|(_, &prefix)| prefix).collect()
}
