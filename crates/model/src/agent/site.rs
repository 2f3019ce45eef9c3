//! Where an agent runs: its node, the node's interfaces, and the node's part among networks whose hosts move.

use std::net::Ipv4Addr;

use hopyard_engine::Time;

use super::orders::Orders;
use crate::address::{Address, InterfaceId, NodeId, Prefix};

/// The place of an agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Site {
    /// The node.
    pub node: NodeId,
    /// The interfaces of the node that reach others, the first one first.
    pub interfaces: Vec<AgentInterface>,
    /// The node's part.
    pub role: Role,
    /// The faults that the scenario orders it to have.
    pub orders: Orders,
}

impl Site {
    /// A node, for an agent that needs only its number.
    #[must_use]
    pub fn of(node: NodeId) -> Self {
        Self { node, interfaces: Vec::new(), role: Role::Fixed, orders: Orders::default() }
    }
}

/// An interface, as an agent sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AgentInterface {
    /// Its number.
    pub interface: InterfaceId,
    /// Its IPv4 address.
    pub name: Ipv4Addr,
    /// The prefix of the network in which it has the address.
    pub prefix: Prefix,
    /// Whether it is at a channel, and not at a wire.
    pub is_radio: bool,
}

/// The part of a node among networks whose hosts move and keep their addresses.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Role {
    /// It neither moves between networks nor serves such hosts.
    #[default]
    Fixed,
    /// It serves hosts on some of its interfaces: its own ones as their home agent, others as a foreign agent.
    Router {
        /// The interfaces on which it serves.
        serves: Vec<InterfaceId>,
        /// Whether it serves hosts of other networks.
        is_foreign: bool,
        /// The home addresses of the hosts whose home agent it is.
        hosts: Vec<Address>,
        /// When it first advertises, if that is given.
        first: Option<Time>,
    },
    /// It moves between networks.
    Host {
        /// Its home address: the address of its first interface.
        home: Address,
        /// The address of its home agent in the home network.
        agent: Address,
        /// The prefix of its home network.
        network: Prefix,
        /// The times in which its messages are not authentic: the home agent cannot check their authenticators.
        forged: Vec<(Time, Time)>,
    },
}
