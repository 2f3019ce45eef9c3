//! A node: its interfaces, IP, its routing protocol and its agents.
//!
//! A packet passes the functions [`Node::receive`], [`Node::route`] and [`Node::send`], each in a file of its own. They
//! see the node, and around it the network: the channels and wires that its interfaces are attached to, the clock, the
//! context and the probe. They do not see another node.

mod border;
mod counting;
mod groups;
mod membership;
mod mobile;
mod notices;
mod receive;
mod role;
mod route;
mod send;
mod topology;
mod tunnel;

use std::collections::BTreeMap;

use hopyard_engine::{Armed, Deadline, Time};

pub(crate) use self::border::{Border, Due, Kept, MOST_DUE};
pub(crate) use self::membership::Groups;
pub(crate) use self::topology::{Attachment, Interface, Topology};
use crate::address::{Address, InterfaceId, NodeId};
use crate::agent::{self, Agent as _};
use crate::channel::AnyChannel;
use crate::clock::{Clock, Event, Wake};
use crate::context::Context;
use crate::ip::Table;
use crate::link::{Link, Wired};
use crate::mobility;
use crate::observe::{PacketEvent, Probe};
use crate::packet::PacketId;
use crate::routing::{self, Routes as _, Routing as _};
pub(crate) use role::MobileRole;

/// A node's layers above the MAC. The fields that every received packet needs come first.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Node {
    pub routing: routing::Model,
    pub id: NodeId,
    /// Which way packets go; without a table, the routing protocol decides for all.
    pub table: Option<Box<Table>>,
    /// The link of the first interface, which has the number of the node; none if it has no radio.
    pub link: Option<Box<Link>>,
    /// The interfaces beyond the first, each with its link if it has a radio.
    pub further: Vec<(InterfaceId, Option<Box<Link>>)>,
    pub agents: Agents,
    pub mobility: mobility::Model,
    /// The flows that start here.
    pub flows: Vec<usize>,
    /// Its part in multicast groups, where there are any.
    pub groups: Option<Box<Groups>>,
    /// The care-of address at which the node is registered, if it is a host that moves between networks.
    pub care_of: Option<Address>,
    /// When the node last told a host outside about a connection.
    pub told: BTreeMap<border::Ends, Time>,
    pub routing_protocol: &'static str,
    /// Whether the routing protocol reads the packets that are for other nodes.
    pub routing_overhears: bool,
    /// Whether the routing protocol finds routes over wires, and runs on them.
    pub routes_wires: bool,
    /// Whether ns-2 numbers the routing protocol's messages.
    pub numbered_by_ns2: bool,
    pub forwarded: u64,
    pub routing_packets: u64,
    pub routing_bytes: u64,
    pub icmp_errors: u64,
}

/// The agents of a node, which have one timer.
#[derive(Debug, Default)]
pub(crate) struct Agents(pub Vec<agent::Model>);

impl Deadline for Agents {
    #[inline]
    fn deadline(&self) -> Time {
        self.0.iter().map(agent::Agent::deadline).min().unwrap_or(Time::NEVER)
    }
}

/// The network around a node.
#[derive(Debug)]
pub(crate) struct Around<'a, P> {
    pub cx: &'a mut Context,
    pub clock: &'a mut Clock,
    pub channels: &'a mut [AnyChannel],
    pub wires: &'a mut [Wired],
    pub border: &'a mut Border,
    pub topology: &'a Topology,
    pub probe: &'a mut P,
}

impl<P: Probe> Around<'_, P> {
    /// See [`tell_drops`].
    fn tell_drops(&mut self) {
        tell_drops(self.cx, self.probe);
    }

    /// Makes a call whose actions are carried out before actions that were requested earlier.
    pub(crate) fn first(&mut self, call: impl FnOnce(&mut Self)) {
        let pending = self.cx.actions.len();
        call(self);
        let asked = self.cx.actions.len() - pending;
        self.cx.actions.rotate_right(asked);
    }

    /// The size of the largest packet that the link of an interface carries, IP header included. Nothing if any packet
    /// fits, or if the interface has no link of its own, such as the interface of a tunnel.
    pub(crate) fn mtu(&self, interface: InterfaceId) -> Option<u32> {
        self.topology.mtu(interface, self.wires)
    }
}

/// Tells the probe which packets were dropped, and which of them are lost.
#[inline]
pub(crate) fn tell_drops<P: Probe>(cx: &mut Context, probe: &mut P) {
    if !cx.has_drops() || !probe.watches() {
        return;
    }
    for (at, node, packet, reason) in cx.dropped.drain(..) {
        probe.on_packet(at, node, &packet, PacketEvent::Dropped(reason));
    }
    for (at, node, packet, reason) in cx.lost.drain(..) {
        probe.on_packet(at, node, &packet, PacketEvent::Lost(reason));
    }
}

impl Node {
    /// The interfaces, the first one first.
    pub(crate) fn interfaces(&self) -> impl Iterator<Item = InterfaceId> + '_ {
        std::iter::once(self.id.into()).chain(self.further.iter().map(|(interface, _)| *interface))
    }

    /// The interface at a place of [`Self::interfaces`].
    pub(crate) fn interface(&self, place: usize) -> Option<InterfaceId> {
        match place.checked_sub(1) {
            None => Some(self.id.into()),
            Some(place) => self.further.get(place).map(|(interface, _)| *interface),
        }
    }

    /// The links of the interfaces with a radio.
    pub(crate) fn links(&self) -> impl Iterator<Item = &Link> {
        self.link.iter().chain(self.further.iter().filter_map(|(_, link)| link.as_ref())).map(|link| &**link)
    }

    /// The link of an interface of the node, to look at; nothing if it has no radio.
    pub(crate) fn link_of(&self, interface: InterfaceId) -> Option<&Link> {
        if interface == InterfaceId::from(self.id) {
            return self.link.as_deref();
        }
        self.further.iter().find(|(it, _)| *it == interface)?.1.as_deref()
    }

    /// The link of an interface of the node; nothing if it has no radio.
    #[inline]
    pub(crate) fn link(&mut self, interface: InterfaceId) -> Option<&mut Link> {
        if interface == InterfaceId::from(self.id) {
            return self.link.as_deref_mut();
        }
        self.further.iter_mut().find(|(it, _)| *it == interface)?.1.as_deref_mut()
    }

    /// The routing protocol, which will be called at its deadline.
    #[inline]
    fn routing<'a>(&'a mut self, clock: &'a mut Clock, now: Time) -> Armed<'a, routing::Model, Event> {
        clock.lend(&mut self.routing, Wake::Routing(self.id), now)
    }

    /// The agents, which will be called at their deadline.
    fn agents<'a>(&'a mut self, clock: &'a mut Clock, now: Time) -> Armed<'a, Agents, Event> {
        clock.lend(&mut self.agents, Wake::Agents(self.id), now)
    }

    /// The run begins for the routing protocol.
    pub(crate) fn start_routing<P: Probe>(&mut self, around: &mut Around<'_, P>) {
        self.routing(around.clock, around.cx.now).start(around.cx);
    }

    /// The run begins for the agents.
    pub(crate) fn start_agents<P: Probe>(&mut self, around: &mut Around<'_, P>) {
        for agent in &mut self.agents(around.clock, around.cx.now).0 {
            agent.start(around.cx);
        }
    }

    /// The deadline of the routing protocol is reached.
    #[inline]
    pub(crate) fn on_routing_timer<P: Probe>(&mut self, around: &mut Around<'_, P>) {
        self.routing(around.clock, around.cx.now).on_timer(around.cx);
    }

    /// The deadline of an agent is reached.
    pub(crate) fn on_agent_timer<P: Probe>(&mut self, around: &mut Around<'_, P>) {
        let now = around.cx.now;
        for agent in self.agents(around.clock, now).0.iter_mut().filter(|agent| agent.deadline() <= now) {
            agent.on_timer(around.cx);
        }
    }

    /// The packets that the routing protocol and the agents hold.
    pub(crate) fn held(&self) -> Vec<PacketId> {
        let mut held = self.routing.held();
        held.extend(self.agents.0.iter().flat_map(agent::Agent::held));
        held
    }

    /// Whether the routing protocol or an agent reads the packets that are for other nodes.
    pub(crate) fn overhears(&self) -> bool {
        self.routing_overhears || self.agents.0.iter().any(agent::Agent::overhears)
    }
}
