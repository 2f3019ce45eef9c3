//! The part of a node among networks whose hosts move, in a run.

use super::spec::RoleSpec;
use crate::address::{Address, NodeId};
use crate::agent;
use crate::mobility::Leg;

/// What a node is for hosts that move between networks.
#[derive(Clone, Debug, Default)]
pub(super) struct Part {
    /// It is such a host.
    pub moves: bool,
    /// It serves such hosts, and takes packets out of tunnels that end at it.
    pub serves: bool,
    /// The hosts whose home agent it is, sorted.
    pub home_of: Vec<NodeId>,
    /// What these hosts send while they are away may come through tunnels (RFC 3024).
    pub takes_reverse_tunnels: bool,
    /// On which leg the node begins.
    pub leg: Option<Leg>,
    /// The care-of address at which the host is registered.
    pub care_of: Option<Address>,
}

impl Part {
    pub(super) fn of(role: &RoleSpec, agents: &[agent::Config], leg: Leg) -> Option<Box<Self>> {
        let part = match role {
            RoleSpec::Fixed => return None,
            RoleSpec::Router { hosts, .. } => {
                let mut home_of = hosts.clone();
                home_of.sort_unstable();
                let takes_reverse_tunnels = agents.iter().any(agent::Config::takes_reverse_tunnels);
                Self { serves: true, home_of, takes_reverse_tunnels, ..Self::default() }
            }
            RoleSpec::Host { .. } => Self { moves: true, ..Self::default() },
        };
        Some(Box::new(Self { leg: Some(leg), ..part }))
    }
}
