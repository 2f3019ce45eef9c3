//! The trait of every agent.

use enum_dispatch::enum_dispatch;
use hopyard_engine::{Span, Time};

use super::orders::Keys;
use crate::address::Address;
use crate::context::Context;
use crate::packet::PacketId;
use crate::params::Metric;

/// Stands for ICMP, which has no ports, among the ports of an agent. UDP gives the port to nobody (RFC 768).
pub const ICMP: u16 = 0;

/// A value that is possible and hardly meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Doubt {
    /// The parameter, and others from which the doubt may come too.
    pub parameters: &'static [&'static str],
    /// The doubt.
    pub message: String,
    /// The expected value.
    pub expected: String,
}

/// The facts about an agent with these parameters, for the checks of a scenario and for a node.
pub trait Facts {
    /// The UDP ports at which it is reached, and [`ICMP`] if messages of ICMP are for it. A message for any other one
    /// does not come to it.
    const PORTS: &'static [u16];

    /// Whether it finds slots for the MACs of its node (`Action::SlotsAssigned`).
    const FINDS_SLOTS: bool = false;

    /// Whether it serves hosts that move between networks, and is such a host's part in this ([`super::Role`]).
    const SERVES_MOVING_HOSTS: bool = false;

    /// The types of its messages, as [`Message::kind`](crate::packet::Message::kind) and the parts of a message name
    /// them.
    const MESSAGES: &'static [&'static str] = &[];

    /// Its own counters: columns of the table of nodes.
    const METRICS: &'static [Metric] = &[];

    /// Whether it needs a routing protocol that keeps routes between neighbours.
    fn needs_kept_routes(&self) -> bool {
        false
    }

    /// The parameter which says that the agent has no keys with another agent; nothing if there are keys.
    fn lacks_keys(&self, _: Keys) -> Option<&'static str> {
        None
    }

    /// Whether packets of hosts that are away come to it through tunnels.
    fn takes_reverse_tunnels(&self) -> bool {
        false
    }

    /// How many bytes its tunnels add to a packet for a host that is away.
    fn tunnel_bytes(&self) -> u32 {
        0
    }

    /// From when on a node without neighbours has a slot, as a mean, if the agent finds slots; and how much of that
    /// hangs on each parameter that may be too large, from the first one on.
    fn first_slot(&self) -> Vec<(&'static str, Span)> {
        Vec::new()
    }

    /// The longest of the messages that a node with so many neighbours sends again and again, with the headers of IP
    /// and UDP.
    fn longest_message(&self, _neighbours: usize) -> u32 {
        0
    }

    /// Values that are possible and hardly meant: each parameter with what is doubtful about it, and what is expected.
    fn doubts(&self) -> Vec<Doubt> {
        Vec::new()
    }
}

/// An agent at one node.
#[enum_dispatch]
pub trait Agent {
    /// The values of its counters so far, in the order of [`Facts::METRICS`]; nothing for an event that a node with its
    /// part does not count.
    fn counts(&self) -> Vec<Option<u64>> {
        Vec::new()
    }

    /// The run starts; timers may be set.
    fn start(&mut self, cx: &mut Context);

    /// A message arrived from neighbour `from`. The agent now owns the packet and must end it (`Context::deliver`, or
    /// `Context::drop_packet`) or send it on.
    fn on_message(&mut self, packet: PacketId, from: Address, cx: &mut Context);

    /// Whether the agent wants the packets in frames that the node's radios decode and that are for other nodes
    /// (promiscuous mode). It is asked once, before `start`.
    fn overhears(&self) -> bool {
        false
    }

    /// A packet of any kind was decoded that neighbour `from` sent to neighbour `to`. The packet is a copy on loan: the
    /// agent reads it, and leaves it where it is. Only agents that ask for it are called ([`Self::overhears`]).
    fn on_overheard(&mut self, _packet: PacketId, _from: Address, _to: Address, _cx: &mut Context) {}

    /// The deadline is reached.
    fn on_timer(&mut self, cx: &mut Context);

    /// When `on_timer` must next be called.
    fn deadline(&self) -> Time;

    /// The packets that are held. At the end of a run every packet must be accounted for.
    fn held(&self) -> Vec<PacketId> {
        Vec::new()
    }
}
