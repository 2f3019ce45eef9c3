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

/// A doubt about a value that is possible, but hardly meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Doubt {
    /// The parameter, and other parameters that may be the cause of the doubt.
    pub parameters: &'static [&'static str],
    /// The doubt.
    pub message: String,
    /// The expected value.
    pub expected: String,
}

/// The facts about an agent with these parameters, for the checks of a scenario and for a node.
pub trait AgentFacts {
    /// The UDP ports of the agent, and [`ICMP`] if messages of ICMP are for it. Messages for other ports do not reach
    /// the agent.
    const PORTS: &'static [u16];

    /// Whether it finds slots for the MACs of its node (`Action::SlotsAssigned`).
    const FINDS_SLOTS: bool = false;

    /// Whether the agent serves hosts that move between networks, in one of the parts of a node ([`super::Role`]).
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

    /// The parameter by which the agent has no keys with another agent; nothing if there are keys.
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

    /// The mean time after which a node without neighbours has a slot, if the agent finds slots, and the part of this
    /// time that each parameter causes.
    fn first_slot(&self) -> Vec<(&'static str, Span)> {
        Vec::new()
    }

    /// The longest of the messages that a node with so many neighbours sends again and again, with the headers of IP
    /// and UDP.
    fn longest_message(&self, _neighbours: usize) -> u32 {
        0
    }

    /// The doubts about values that are possible, but hardly meant.
    fn doubts(&self) -> Vec<Doubt> {
        Vec::new()
    }
}

/// An agent at one node.
#[enum_dispatch]
pub trait Agent {
    /// The values of its counters so far, in the order of [`AgentFacts::METRICS`]; nothing for an event that a node
    /// with its part does not count.
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

    /// The node decoded a packet that neighbour `from` sent to neighbour `to`. The packet is a copy on loan: the agent
    /// reads the packet and does not end it. Only agents that ask for such packets are called ([`Self::overhears`]).
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
