//! The sending of an agent's messages, and its reports.

use hopyard_engine::{Rng, Time};
use hopyard_wire::mobile_ip::RequestFlags;

use super::habits::Habits;
use super::message::Message;
use super::params::Procedure;
use crate::address::{Address, InterfaceId, NodeId, Prefix};
use crate::agent::{AgentInterface, Orders, Site};
use crate::context::{Action, Context, MobileChange, MobileEvent, Origin, Way, WayChange};
use crate::packet::{Body, FlowId, IP_HEADER, Packet, PacketId, RoutingMessage};

/// The time to live of a registration that crosses a network; messages between neighbours have 1.
const FAR: u8 = 64;

/// The time to live of a request that must come from a neighbour: no router has lowered it.
pub(super) const NEAR: u8 = 255;

/// How a message has come.
#[derive(Clone, Copy, Debug)]
pub(super) struct Arrived {
    /// The source of its packet.
    pub source: Address,
    /// The neighbour that has sent it here.
    pub from: Address,
    /// The address to which it was sent.
    pub to: Address,
    /// The time to live that was left.
    pub ttl: u8,
}

/// A node as its agent sees it, with the procedure's rules for messages.
#[derive(Clone, Debug)]
pub(super) struct Sending {
    pub node: NodeId,
    /// The faults that it is ordered to have.
    pub orders: Orders,
    ports: Vec<AgentInterface>,
    /// In ns-2's procedure.
    ns2: Option<Habits>,
}

impl Sending {
    pub fn new(site: &Site, procedure: Procedure, rng: &mut Rng) -> Self {
        let ns2 = (procedure == Procedure::Ns2).then(|| Habits::new(rng));
        Self { node: site.node, orders: site.orders.clone(), ports: site.interfaces.clone(), ns2 }
    }

    /// A message with so many bytes is handled from now on, or none.
    pub fn handles(&mut self, bytes: Option<u32>) {
        if let Some(ns2) = &mut self.ns2 {
            ns2.came_with = bytes;
        }
    }

    /// When the next broadcast that waits leaves.
    pub fn deadline(&self) -> Time {
        self.ns2.as_ref().map_or(Time::NEVER, Habits::deadline)
    }

    /// Sends the broadcasts whose time has come.
    pub fn on_timer(&mut self, cx: &mut Context) {
        while let Some((message, interface)) = self.ns2.as_mut().and_then(|ns2| ns2.due(cx.now)) {
            self.broadcast_now(message, interface, cx);
        }
    }

    /// The node's first address.
    pub fn address(&self) -> Address {
        self.ports.first().map_or(Address::from(self.node), |port| port.interface.into())
    }

    /// The interface in whose network a neighbour's address is.
    pub fn port_to(&self, neighbour: Address, cx: &Context) -> Option<InterfaceId> {
        let name = cx.owners.name(neighbour);
        let its = self.ports.iter().filter(|port| port.prefix.contains(name));
        its.max_by_key(|port| port.prefix.length()).map(|port| port.interface)
    }

    /// The interface at the wire at whose other end a neighbour's address is.
    pub fn wire_to(&self, neighbour: Address, cx: &Context) -> Option<InterfaceId> {
        let name = cx.owners.name(neighbour);
        self.ports.iter().find(|port| !port.is_radio && port.prefix.contains(name)).map(|port| port.interface)
    }

    /// Whether a neighbour's address is at the other end of a wire of the node.
    pub fn is_by_wire(&self, neighbour: Address, cx: &Context) -> bool {
        self.wire_to(neighbour, cx).is_some()
    }

    /// Whether an interface is a radio's.
    pub fn is_radio(&self, interface: InterfaceId) -> bool {
        self.ports.iter().any(|port| port.interface == interface && port.is_radio)
    }

    /// The length of the prefix of an interface's network.
    pub fn prefix_length(&self, interface: InterfaceId) -> Option<u8> {
        self.ports.iter().find(|port| port.interface == interface).map(|port| port.prefix.length())
    }

    /// Whether the prefix of one of the node's networks contains an address.
    pub fn is_local(&self, address: Address, cx: &Context) -> bool {
        let name = cx.owners.name(address);
        self.ports.iter().any(|port| port.prefix.contains(name))
    }

    /// The node's own interfaces.
    pub fn interfaces(&self) -> impl Iterator<Item = InterfaceId> + '_ {
        self.ports.iter().map(|port| port.interface)
    }

    fn packet(
        &self,
        origin: Origin,
        message: Message,
        source: Address,
        destination: Address,
        ttl: u8,
        cx: &mut Context,
    ) -> PacketId {
        let size = match &self.ns2 {
            None => message.bytes(false),
            Some(ns2) => ns2.bytes(&message),
        };
        let packet = Packet {
            created: cx.now,
            source,
            destination,
            flow: FlowId::NONE,
            size,
            ttl,
            hops: 0,
            salvaged: 0,
            class: 0,
            body: Body::Control { port: message.port(), message: RoutingMessage::new(message) },
        };
        cx.originate_as(origin, packet)
    }

    /// To all neighbours at an interface.
    pub fn broadcast(&mut self, message: Message, interface: InterfaceId, cx: &mut Context) {
        let is_radio = self.is_radio(interface);
        match self.ns2.as_mut().filter(|_| is_radio) {
            Some(ns2) => ns2.delay(message, interface, cx.now),
            None => self.broadcast_now(message, interface, cx),
        }
    }

    fn broadcast_now(&self, message: Message, interface: InterfaceId, cx: &mut Context) {
        let packet = self.packet(Origin::Own, message, interface.into(), Address::BROADCAST, 1, cx);
        self.repeat_header(packet, self.is_radio(interface), cx);
        cx.act(Action::SendBy { interface, packet, next_hop: Address::BROADCAST });
    }

    /// The time to live of a message that a neighbour gets, or any other node. The time to live of a request for a
    /// reverse tunnel tells the foreign agent whether the host is a neighbour (RFC 3024 §4.1.1).
    fn ttl(message: &Message, other: u8) -> u8 {
        match message {
            Message::Request(it) if it.flags.contains(RequestFlags::REVERSE_TUNNEL) && !it.wants_notice => NEAR,
            _ => other,
        }
    }

    /// A message that leaves by a radio and is not routed has passed ns-2's routing protocol all the same.
    fn repeat_header(&self, packet: PacketId, by_radio: bool, cx: &mut Context) {
        if self.ns2.is_some() && by_radio {
            cx.packets[packet].size += IP_HEADER;
        }
    }

    /// To a neighbour, whatever the tables say.
    pub fn to_neighbour(
        &self,
        origin: Origin,
        message: Message,
        source: Address,
        to: Address,
        next_hop: Address,
        cx: &mut Context,
    ) {
        let packet = self.packet(origin, message, source, to, Self::ttl(&message, 1), cx);
        self.repeat_header(packet, self.wire_to(next_hop, cx).is_none(), cx);
        cx.act(Action::Send { node: self.node, packet, next_hop });
    }

    /// To a node anywhere, as IP says.
    pub fn by_ip(&self, origin: Origin, message: Message, source: Address, to: Address, cx: &mut Context) {
        let packet = self.packet(origin, message, source, to, Self::ttl(&message, FAR), cx);
        cx.act(Action::Route { node: self.node, packet });
    }

    /// A neighbour is known by its message, so that nobody asks for its link address (RFC 5944 §3.6.1.1, §4.6). In
    /// ns-2, they ask.
    pub fn learn(&self, neighbour: Address, until: Time, cx: &mut Context) {
        if self.ns2.is_none() {
            cx.act(Action::Learn { node: self.node, neighbour, until });
        }
    }

    /// Sets the way to a host.
    pub fn host_way(&self, host: Address, change: WayChange, cx: &mut Context) {
        let prefix = Prefix::of(cx.owners.name(host), 32);
        cx.act(Action::SetWay { node: self.node, prefix, change });
    }

    /// Sets the way to all that no other entry leads to.
    pub fn default_way(&self, change: WayChange, cx: &mut Context) {
        cx.act(Action::SetWay { node: self.node, prefix: Prefix::DEFAULT, change });
    }

    /// Sets the way of all packets from a host.
    pub fn source_way(&self, source: Address, way: Option<Way>, cx: &mut Context) {
        cx.act(Action::SetSourceWay { node: self.node, source, way });
    }

    pub fn tell(&self, host: Address, what: MobileChange, cx: &mut Context) {
        cx.act(Action::Mobile { node: self.node, event: MobileEvent { host, what } });
    }
}

/// An identification that counts time as NTP does: seconds in the upper half, their fraction in the lower one (RFC 5944
/// §5.7.1).
pub(super) fn timestamp(cx: &Context) -> u64 {
    let nanos = cx.now.nanos();
    // The first second of a run is not zero.
    let seconds = nanos / 1_000_000_000 + 1;
    let fraction = ((nanos % 1_000_000_000) << 32) / 1_000_000_000;
    seconds << 32 | fraction
}
