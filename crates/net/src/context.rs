//! The part of the world that a protocol's handler sees: the time, the packets, and a list of the actions that it
//! requests.
//!
//! A handler never calls another layer. It pushes [`Action`]s, which the world carries out first in, first out, after
//! the handler has returned. So no handler is re-entered, and each layer can be tested with an empty context.

mod account;
mod copies;
mod drop_counts;
mod drop_reason;
mod mobile;
mod outside;
mod overhead;
mod price;
mod purpose;
mod sending;
mod spending;
mod way;

use std::collections::VecDeque;
use std::net::Ipv4Addr;
use std::sync::Arc;

use hopyard_engine::{Digest, Time};

pub use self::account::Airtimes;
pub use self::account::{Account, Spent};
pub use self::copies::{Copies, Record};
use self::copies::{End, Ended};
pub use self::drop_counts::DropCounts;
pub use self::drop_reason::DropReason;
pub use self::mobile::{MobileChange, MobileEvent};
pub use self::outside::{Departure, Effort, Outside, Token, Untold};
pub use self::overhead::{Media, Origin, Overhead, Tally};
pub use self::price::{Attojoules, PacketPrices, Price, Prices, joules};
pub use self::purpose::{FrameClass, Purpose};
pub use self::sending::{Sending, Waiter};
pub use self::spending::{Shares, Spending};
pub use self::way::{Way, WayChange};
use crate::address::{Address, InterfaceId, NodeId, Prefix};
use crate::packet::{
    Body, CONGESTION, FlowId, Form, Packet, PacketId, PacketKind, PacketPool, Quote, RoutingMessage, Unreachable,
};

/// A change of a route, which routing announces to metrics, to TCP variants that use hop counts, and to ELFN.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RouteChange {
    /// Where the route leads.
    pub destination: Address,
    /// The next hop and the number of hops, or nothing when the route is lost.
    pub route: Option<(Address, u8)>,
}

/// The slots that an agent has found for its node, numbered from zero.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Slots {
    /// The node's own slot; nothing if the node has none, or gave it up.
    pub own: Option<u32>,
    /// The largest slot of the node and of all nodes within two hops of it, as far as the agent knows.
    pub near: u32,
    /// The largest slot that the agent has heard of, of any node.
    pub known: u32,
}

/// An action that a handler requests.
#[derive(Clone, Copy, Debug)]
pub enum Action {
    /// IP asks routing for the next hop of a packet.
    Route {
        /// Where.
        node: NodeId,
        /// What.
        packet: PacketId,
    },
    /// Routing sends the packet to a neighbour, or broadcasts it.
    Send {
        /// Where.
        node: NodeId,
        /// What.
        packet: PacketId,
        /// The neighbour, or [`Address::BROADCAST`].
        next_hop: Address,
    },
    /// Send a packet to a neighbour by one interface. A broadcast leaves by this interface alone.
    SendBy {
        /// The interface, one of the node that sends.
        interface: InterfaceId,
        /// The packet, which the interface owns from then on.
        packet: PacketId,
        /// The neighbour at that interface, or broadcast.
        next_hop: Address,
    },
    /// As `Send`, after a delay (such as a broadcast jitter).
    SendLater {
        /// Where.
        node: NodeId,
        /// What.
        packet: PacketId,
        /// The neighbour, or [`Address::BROADCAST`].
        next_hop: Address,
        /// When.
        at: Time,
    },
    /// Routing takes back the packets queued for a next hop; each comes back through `Routing::on_taken_back`.
    TakeBack {
        /// Where.
        node: NodeId,
        /// The next hop.
        next_hop: Address,
    },
    /// A segment cannot be forwarded. Its source is told, if it uses such notices.
    Unreachable {
        /// Where.
        node: NodeId,
        /// The segment.
        quote: Quote,
    },
    /// A segment has left the node at which it began, whose sender waits for that.
    LeftNode {
        /// Its flow.
        flow: FlowId,
        /// Its first sequence number.
        seq: u64,
    },
    /// The hosts outside are told whose datagrams cannot be forwarded (`Outside::tell`).
    UnreachableOutside,
    /// The sources of messages that did not arrive are told, if these want that (`Context::undelivered`).
    Undelivered,
    /// A route changed.
    RouteChanged {
        /// Where.
        node: NodeId,
        /// How.
        change: RouteChange,
    },
    /// A neighbour has chosen the node as a relay of floods.
    Chosen {
        /// Where.
        node: NodeId,
        /// The neighbour.
        by: Address,
        /// Until when the choice holds; a time in the past ends it.
        until: Time,
    },
    /// An agent has found slots for the MACs of its node, or its knowledge of the slots of others has changed.
    SlotsAssigned {
        /// Where.
        node: NodeId,
        /// Which.
        slots: Slots,
    },
    /// An agent changes which way packets for a prefix go from its node.
    SetWay {
        /// Where.
        node: NodeId,
        /// The prefix. A host's prefix has 32 bits, the prefix of the default route none.
        prefix: Prefix,
        /// How.
        change: WayChange,
    },
    /// An agent changes which way packets go that its node passes on for a source, whatever their destination.
    SetSourceWay {
        /// Where.
        node: NodeId,
        /// The source.
        source: Address,
        /// The way; without one, the destination decides again.
        way: Option<Way>,
    },
    /// The packets that are queued for a neighbour go another way, as the table of the node says now.
    Reroute {
        /// Where.
        node: NodeId,
        /// The neighbour.
        next_hop: Address,
    },
    /// An interface answers for an address that another node has, and tells its neighbours so; or it no longer does
    /// (proxy ARP, RFC 1027).
    Proxy {
        /// The interface.
        interface: InterfaceId,
        /// The address.
        address: Address,
        /// Whether it answers from now on.
        answers: bool,
    },
    /// A node knows the link address of a neighbour that it has heard, until a time.
    Learn {
        /// Where.
        node: NodeId,
        /// The neighbour.
        neighbour: Address,
        /// Until when.
        until: Time,
    },
    /// A node tells its neighbours the link address of its own address (gratuitous ARP, RFC 5227 §3).
    Announce {
        /// By which interface.
        interface: InterfaceId,
        /// The address.
        address: Address,
    },
    /// An agent tells of its work for a host that moves, or of its findings.
    Mobile {
        /// Where.
        node: NodeId,
        /// What.
        event: MobileEvent,
    },
    /// A packet goes up to the link from the MAC.
    Arrived {
        /// Where.
        interface: InterfaceId,
        /// What.
        packet: PacketId,
        /// The neighbour's interface that sent it.
        from: InterfaceId,
    },
    /// A packet goes up to IP from the link, or from a wire.
    Receive {
        /// Where.
        interface: InterfaceId,
        /// What.
        packet: PacketId,
        /// The neighbour's interface that sent it.
        from: InterfaceId,
    },
    /// A frame with a packet was decoded that is for another station, at a node that asked for such frames
    /// (promiscuous mode). The packet is a copy, which the world ends.
    Overheard {
        /// Where.
        interface: InterfaceId,
        /// What.
        packet: PacketId,
        /// The interface that sent it.
        from: InterfaceId,
        /// The interface that it is for.
        to: InterfaceId,
    },
    /// Address resolution or the MAC could not deliver a packet to a neighbour, and gives it back.
    LinkFailed {
        /// Where.
        interface: InterfaceId,
        /// What.
        packet: PacketId,
        /// The neighbour's interface.
        to: InterfaceId,
        /// Why.
        reason: DropReason,
    },
    /// Rate control has changed the mode of frames to a neighbour.
    RateChanged {
        /// Where.
        interface: InterfaceId,
        /// The neighbour's interface.
        neighbour: InterfaceId,
    },
    /// The MAC can take another packet.
    MacReady {
        /// Where.
        interface: InterfaceId,
    },
}

/// The account of packets. Every packet that was made or copied was delivered, handed over or dropped, or still exists.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ledger {
    /// Packets made by transport, routing and address resolution.
    pub originated: u64,
    /// The number of each kind among these.
    pub originated_by_kind: [u64; PacketKind::ALL.len()],
    /// Packets that routing made ready and did not send. They do not exist, but ns-2 has given them a number.
    pub numbered_only: u64,
    /// Copies made by receivers of a frame.
    pub copied: u64,
    /// Packets that reached the protocol they were for.
    pub delivered: u64,
    /// The sender's copies of frames that were acknowledged or broadcast.
    pub handed_over: u64,
    /// Packets dropped, for any reason.
    pub dropped: u64,
}

impl Ledger {
    /// How many packets must still exist.
    #[must_use]
    pub const fn outstanding(&self) -> u64 {
        (self.originated + self.copied).wrapping_sub(self.delivered + self.handed_over + self.dropped)
    }
}

/// The drops among the data packets of a flow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FlowDrops {
    /// Lost packets: all their copies have ended, and none arrived.
    pub packets: u64,
    /// Dropped copies. Two copies of one packet count twice, even if a third one arrived.
    pub copies: u64,
}

impl FlowDrops {
    /// The drops since `before`.
    #[must_use]
    pub const fn since(&self, before: &Self) -> Self {
        Self { packets: self.packets - before.packets, copies: self.copies - before.copies }
    }
}

/// The packets that a node has put into tunnels.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tunnelled {
    /// Packets.
    pub packets: u64,
    /// The bytes by which they became longer.
    pub bytes: u64,
}

/// Which node has an address. The first interface of each node has the node's number as its address.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Owners {
    nodes: u32,
    further: Vec<NodeId>,
    names: Arc<[Ipv4Addr]>,
}

impl Owners {
    /// So many nodes, each with one interface, the nodes of the further interfaces in order, and the IPv4 address of
    /// every interface.
    #[must_use]
    pub fn new(nodes: u32, further: Vec<NodeId>, names: Vec<Ipv4Addr>) -> Self {
        Self { nodes, further, names: names.into() }
    }

    /// The IPv4 address that the user knows.
    #[must_use]
    pub fn name(&self, address: Address) -> Ipv4Addr {
        let named = || self.names.get(address.index()).copied().unwrap_or(Ipv4Addr::UNSPECIFIED);
        address.group().unwrap_or_else(named)
    }

    /// The address that the user knows by this IPv4 address.
    #[must_use]
    pub fn find(&self, name: Ipv4Addr) -> Option<Address> {
        // The addresses of a channel follow one another.
        let likely = name.to_bits().wrapping_sub(self.names.first()?.to_bits()) as usize;
        let place = match self.names.get(likely) {
            Some(it) if *it == name => likely,
            _ => self.names.iter().position(|it| *it == name)?,
        };
        Some(Address(place as u32))
    }

    /// The node that has an address. The broadcast address and multicast groups have no node.
    #[inline]
    #[must_use]
    pub fn of(&self, address: Address) -> NodeId {
        match address.0.checked_sub(self.nodes) {
            Some(place) => self.further.get(place as usize).copied().unwrap_or(NodeId(address.0)),
            None => NodeId(address.0),
        }
    }
}

/// The part of the world that a handler sees.
#[derive(Debug, Default)]
pub struct Context {
    /// The time.
    pub now: Time,
    /// Every packet that exists.
    pub packets: PacketPool,
    /// The nodes that have the addresses beyond first interfaces, and the number of first interfaces.
    pub owners: Owners,
    /// The actions that handlers have requested, first in, first out.
    pub actions: VecDeque<Action>,
    /// The digest of all that has happened.
    pub digest: Digest,
    /// The account of all packets.
    pub ledger: Ledger,
    /// Drops by node, kind and reason.
    pub drops: DropCounts,
    /// Counts of lost and dropped data packets, by flow.
    pub flow_drops: Vec<FlowDrops>,
    /// The copies of each packet, and whether one of them has arrived.
    pub copies: Copies,
    /// The messages of routing protocols and agents, by node and type.
    pub overhead: Overhead,
    /// The packets that each node has put into tunnels; a node beyond the end, nothing.
    pub tunnelled: Vec<Tunnelled>,
    /// What packets of flows have cost, if energy is counted.
    pub spending: Option<Box<Spending>>,
    /// The datagrams between the network and those outside.
    pub outside: Outside,
    /// Packets whose sending by their first node is reported.
    pub sending: Sending,
    /// Whether somebody watches the run.
    pub is_watched: bool,
    /// The packets dropped since the probe was last told, if somebody watches.
    pub dropped: Vec<(Time, NodeId, Packet, DropReason)>,
    /// The packets lost since then, each with the node and the reason of its last drop.
    pub lost: Vec<(Time, NodeId, Packet, DropReason)>,
    /// Messages that were dropped where, and why, whose sources want to know ([`Action::Undelivered`]).
    pub undelivered: Vec<(NodeId, Packet, DropReason)>,
}

impl Context {
    /// Whether an address is one of a node's.
    #[inline]
    #[must_use]
    pub fn is_local(&self, node: NodeId, address: Address) -> bool {
        self.owners.of(address) == node
    }

    /// Requests an action.
    #[inline]
    pub fn act(&mut self, action: Action) {
        self.actions.push_back(action);
    }

    /// Tells a packet's source that routing cannot forward the packet, because a link is broken or there is no route.
    /// This applies to segments with payload only, and to the datagrams of hosts outside that want notices. Call it
    /// before the packet is dropped and before the route error is sent.
    pub fn unreachable(&mut self, node: NodeId, packet: PacketId) {
        let it = &self.packets[packet];
        if let Some(quote) = it.quote() {
            self.act(Action::Unreachable { node, quote });
        } else if let Body::External(bytes) = &it.body
            && self.outside.wants_notices(self.owners.of(it.source))
        {
            let datagram = bytes.clone();
            self.outside.tell(Untold { node, why: Unreachable::Host, source: it.source, ttl: it.ttl, datagram });
            self.act(Action::UnreachableOutside);
        }
    }

    /// Makes a packet of a node's own.
    #[inline]
    pub fn originate(&mut self, packet: Packet) -> PacketId {
        self.originate_as(Origin::Own, packet)
    }

    /// Makes a packet; `origin` says whose message is in it.
    pub fn originate_as(&mut self, origin: Origin, packet: Packet) -> PacketId {
        self.ledger.originated += 1;
        self.ledger.originated_by_kind[packet.kind() as usize] += 1;
        if let Body::Routing(_) | Body::Control { .. } = &packet.body {
            self.overhead.on_originated(self.owners.of(packet.source), &packet, origin);
        }
        let id = self.packets.insert(packet);
        let packet = &self.packets[id];
        if let Some(record) = self.copies.on_originated(id, packet)
            && let Some(spending) = &mut self.spending
        {
            spending.on_originated(record, packet);
        }
        id
    }

    /// Makes a packet with a routing message. `size` includes the IP and UDP headers, which the caller has added.
    pub fn originate_routing(
        &mut self,
        origin: Origin,
        source: Address,
        destination: Address,
        ttl: u8,
        size: u32,
        message: RoutingMessage,
    ) -> PacketId {
        let created = self.now;
        let packet = Packet {
            created,
            source,
            destination,
            flow: FlowId::NONE,
            size,
            ttl,
            hops: 0,
            salvaged: 0,
            class: 0,
            body: Body::Routing(message),
        };
        self.originate_as(origin, packet)
    }

    /// Puts a packet into another one, which goes to the other end of a tunnel. The handle stays. `ttl` is the outer
    /// time to live of IP in IP (RFC 2003 §3.1); minimal encapsulation keeps the packet's own (RFC 2004 §3.1).
    pub fn encapsulate(&mut self, id: PacketId, source: Address, destination: Address, ttl: u8, form: Form) {
        let node = self.owners.of(source).index();
        let packet = &mut self.packets[id];
        let bytes = form.bytes(packet.source == source);
        if self.tunnelled.len() <= node {
            self.tunnelled.resize(node + 1, Tunnelled::default());
        }
        self.tunnelled[node].packets += 1;
        self.tunnelled[node].bytes += u64::from(bytes);
        let outer = Packet {
            created: packet.created,
            source,
            destination,
            flow: packet.flow,
            size: packet.size + bytes,
            ttl: if form == Form::Minimal { packet.ttl } else { ttl },
            hops: 0,
            salvaged: 0,
            // The outer header takes the marks too (RFC 6040 §4.1).
            class: packet.class,
            body: Body::Empty,
        };
        let inner = std::mem::replace(packet, outer);
        packet.body = Body::Tunnelled(form, Box::new(inner));
    }

    /// Takes the inner packet out of one that has come through a tunnel, and returns whether there was one. It counts
    /// the hops of the tunnel.
    pub fn decapsulate(&mut self, id: PacketId) -> bool {
        let packet = &mut self.packets[id];
        let (hops, ttl) = (packet.hops, packet.ttl);
        match std::mem::replace(&mut packet.body, Body::Empty) {
            Body::Tunnelled(form, inner) => {
                let class = packet.class;
                *packet = *inner;
                // A mark of the tunnel stays (RFC 6040 §4.2).
                if class & CONGESTION == CONGESTION {
                    packet.mark();
                }
                packet.hops = packet.hops.saturating_add(hops);
                if form == Form::Minimal {
                    packet.ttl = ttl;
                }
                true
            }
            body => {
                packet.body = body;
                false
            }
        }
    }

    /// Whether the probe is to be told of packets that were dropped or lost.
    #[inline]
    pub fn has_drops(&self) -> bool {
        !(self.dropped.is_empty() && self.lost.is_empty())
    }

    /// Drops a packet for a reason.
    pub fn drop_packet(&mut self, node: NodeId, id: PacketId, reason: DropReason) {
        if let Body::Control { message, .. } = &self.packets[id].body
            && message.wants_notice()
        {
            self.undelivered.push((node, self.packets[id].clone(), reason));
            self.act(Action::Undelivered);
        }
        if reason == DropReason::TtlExpired
            && let Packet { source, ttl, body: Body::External(bytes), .. } = &self.packets[id]
        {
            // RFC 1812 §5.3.1: a router says so of every datagram.
            let notice =
                Untold { node, why: Unreachable::TimeExceeded, source: *source, ttl: *ttl, datagram: bytes.clone() };
            self.outside.tell(notice);
            self.act(Action::UnreachableOutside);
        }
        self.lose(node, id, reason);
    }

    /// The same for a packet that the node knows no more of: it was on its way to another one.
    pub fn lose(&mut self, node: NodeId, id: PacketId, reason: DropReason) {
        self.end_of(id, End::Dropped(node, reason));
        let packet = self.packets.remove(id);
        self.complete(id, Err(reason));
        self.ledger.dropped += 1;
        self.digest.fold(self.now.nanos() ^ (u64::from(node.0) << 8 | reason as u64));
        let kind = packet.kind();
        self.drops.count(node, kind, reason);
        if kind == PacketKind::Data {
            self.drops_of(packet.flow).copies += 1;
        }
        if self.is_watched {
            self.dropped.push((self.now, node, packet, reason));
        }
    }

    /// Removes a packet that has reached the protocol for which it was sent.
    pub fn deliver(&mut self, id: PacketId) -> Packet {
        self.deliver_copy(id).0
    }

    /// The same; also returns whether it is the first copy of the packet that arrives.
    #[inline]
    pub fn deliver_copy(&mut self, id: PacketId) -> (Packet, bool) {
        self.ledger.delivered += 1;
        let is_first = self.end_of(id, End::Delivered);
        (self.packets.remove(id), is_first)
    }

    /// The same for a packet that has been read.
    #[inline]
    pub fn end(&mut self, id: PacketId) {
        self.ledger.delivered += 1;
        self.packets.discard(id);
    }

    /// Removes the sender's copy of a packet that the next hop has received, or that was broadcast; or a copy that was
    /// only overheard.
    pub fn hand_over(&mut self, id: PacketId) {
        self.ledger.handed_over += 1;
        self.end_of(id, End::HandedOver);
        self.packets.discard(id);
        self.complete(id, Ok(()));
    }

    /// A node has sent a packet or has given it up. At the first node somebody may wait for that.
    #[inline]
    pub fn complete(&mut self, id: PacketId, result: Result<(), DropReason>) {
        if !self.sending.is_empty() {
            self.tell_completed(id, result);
        }
    }

    #[cold]
    fn tell_completed(&mut self, id: PacketId, result: Result<(), DropReason>) {
        match self.sending.take(id) {
            Some((Waiter::Host(node, token), effort)) => {
                self.outside.leave(Departure::Completed { at: self.now, node, token, effort, result });
            }
            Some((Waiter::Sender { flow, seq, .. }, _)) => self.act(Action::LeftNode { flow, seq }),
            None => {}
        }
    }

    /// Makes a receiver's copy of a packet that is being transmitted.
    pub fn copy(&mut self, id: PacketId) -> PacketId {
        let packet = self.packets[id].clone();
        self.ledger.copied += 1;
        let copy = self.packets.insert(packet);
        self.copies.on_copied(id, copy);
        copy
    }

    #[inline(always)]
    fn end_of(&mut self, id: PacketId, end: End) -> bool {
        let Some(ended) = self.copies.on_ended(id, end) else { return true };
        if let Some(spending) = &mut self.spending {
            spending.on_ended(&ended, end == End::Delivered);
        }
        if ended.lost.is_some() {
            self.count_lost(id, ended);
        }
        ended.is_first
    }

    /// Out of the way of the packets that arrive.
    #[cold]
    #[inline(never)]
    fn count_lost(&mut self, id: PacketId, ended: Ended) {
        let Some((node, reason)) = ended.lost else { return };
        let packet = &self.packets[id];
        if self.is_watched {
            self.lost.push((self.now, node, packet.clone(), reason));
        }
        if packet.kind() == PacketKind::Data {
            let flow = packet.flow;
            self.drops_of(flow).packets += 1;
        }
    }

    fn drops_of(&mut self, flow: FlowId) -> &mut FlowDrops {
        let flow = flow.index();
        if self.flow_drops.len() <= flow {
            self.flow_drops.resize(flow + 1, FlowDrops::default());
        }
        &mut self.flow_drops[flow]
    }
}

#[cfg(test)]
mod tests;
