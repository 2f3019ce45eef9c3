//! The roles of nodes among networks whose hosts move, as their agents and their IP know them.

use std::collections::BTreeMap;

use super::{RoleSpec, Spec};
use crate::address::{Address, InterfaceId, NodeId, Prefix};
use crate::agent::{self, AgentInterface, Role, Site};
use crate::mobility::Leg;
use crate::node::MobileRole;

/// The roles of the nodes that have one. `legs` are the first legs of all nodes.
pub(super) fn roles(spec: &Spec, legs: &[Leg]) -> BTreeMap<NodeId, MobileRole> {
    let role_of = |(&node, role): (&NodeId, &RoleSpec)| {
        let &leg = legs.get(node.index())?;
        let none = MobileRole { moves: false, serves: false, home_of: Vec::new(), takes_reverse_tunnels: false, leg };
        let role = match role {
            RoleSpec::Fixed => return None,
            RoleSpec::Router { hosts, .. } => {
                let mut home_of = hosts.clone();
                home_of.sort_unstable();
                let agents = &spec.nodes[node.index()].agents;
                let takes_reverse_tunnels = agents.iter().any(agent::Config::takes_reverse_tunnels);
                MobileRole { serves: true, home_of, takes_reverse_tunnels, ..none }
            }
            RoleSpec::Host { .. } => MobileRole { moves: true, ..none },
        };
        Some((node, role))
    };
    spec.roles.iter().filter_map(role_of).collect()
}

/// Where the agents of a node run. `ports` are the interfaces of all nodes.
pub(super) fn site(spec: &Spec, node: NodeId, ports: &[Vec<AgentInterface>], wire_ends: &[[InterfaceId; 2]]) -> Site {
    let own = |node: NodeId| ports.get(node.index()).map(Vec::as_slice).unwrap_or_default();
    let radio = |node: NodeId| own(node).iter().find(|port| port.is_radio).map(|port| port.interface);
    let role = match spec.role(node) {
        RoleSpec::Fixed => Role::Fixed,
        RoleSpec::Router { is_foreign, wires, hosts, first } => {
            let ends = wires.iter().filter_map(|&wire| {
                let place = usize::from(spec.wires.get(wire)?.ends.0 != node);
                Some(wire_ends.get(wire)?[place])
            });
            Role::Router {
                serves: radio(node).into_iter().chain(ends).collect(),
                is_foreign: *is_foreign,
                hosts: hosts.iter().map(|&host| host.into()).collect(),
                first: *first,
            }
        }
        RoleSpec::Host { agent, forged } => {
            let network = own(node).first().map_or(Prefix::DEFAULT, |port| port.prefix);
            // The agent's address in the home network, or its first one.
            let at_home = own(*agent).iter().find(|port| network.contains(port.name));
            let agent = at_home.map_or(Address::from(*agent), |port| port.interface.into());
            Role::Host { home: node.into(), agent, network, forged: forged.clone() }
        }
    };
    let orders = spec.orders.get(&node).cloned().unwrap_or_default();
    Site { node, interfaces: own(node).to_vec(), role, orders }
}
