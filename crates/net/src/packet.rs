//! Packets: typed headers and a payload that is a length, never bytes.
//!
//! A packet lives in the [`PacketPool`] and is passed as a [`PacketId`]. The holder of the id owns the packet. The
//! holder passes the packet on, or removes it by a function of [`crate::context::Context`], which counts it. Rare
//! headers are behind a shared pointer, so that a packet stays small and a broadcast to many receivers copies little.

mod classes;
mod dscp;
mod form;
mod mpdu;
mod notice;
mod sizes;
mod tcp_header;

use std::any::Any;
use std::fmt;
use std::net::Ipv4Addr;
use std::sync::Arc;

use hopyard_engine::{Handle, Slab, Time};
use hopyard_wire::{WireError, dsr};
use strum::{IntoStaticStr, VariantArray};

pub use hopyard_wire::dsr::MOST_ADDRESSES;
pub use hopyard_wire::{Carrier, Datagram, MessagePart};

pub use self::classes::Classes;
pub use self::dscp::Dscp;
pub use self::form::Form;
pub use self::mpdu::{AmpduStatus, Mpdu, Received, Series, Stage};
pub use self::notice::{Undelivered, Unreachable};
pub use self::sizes::{ETHERNET, IP_HEADER, MOST_BYTES, TCP_HEADER, TIMESTAMPS, UDP_HEADER, UNREACHABLE};
pub use self::tcp_header::{SackBlocks, TcpFlags, TcpHeader};
use crate::address::Address;

/// The number of a flow, counted from zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FlowId(pub u32);

impl FlowId {
    /// The flow number of packets that belong to no flow: routing and address resolution.
    pub const NONE: Self = Self(u32::MAX);

    /// The flow's place in arrays over all flows.
    #[inline]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// A packet in the [`PacketPool`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PacketId(Handle);

impl PacketId {
    /// The packet's place in the pool, which another packet takes when this one is gone.
    #[inline]
    #[must_use]
    pub const fn index(self) -> usize {
        self.0.index()
    }
}

/// A packet of the network layer, or an address resolution message.
#[derive(Clone, Debug)]
pub struct Packet {
    /// When the packet was originated; a retransmission is a new packet.
    pub created: Time,
    /// Source address.
    pub source: Address,
    /// Destination address.
    pub destination: Address,
    /// The flow it belongs to, or [`FlowId::NONE`].
    pub flow: FlowId,
    /// Size in bytes with all headers from IP up.
    pub size: u32,
    /// Hops it may still take.
    pub ttl: u8,
    /// Hops taken so far: link crossings, counted on arrival.
    pub hops: u8,
    /// How often it was sent along another path after a link had broken, if a protocol counts that; in no header.
    pub salvaged: u8,
    /// The second byte of the IP header: the differentiated services code point of its flow (RFC 2474), and below it
    /// two bits for congestion (RFC 3168 §5).
    pub class: u8,
    /// The payload of IP.
    pub body: Body,
}

/// The payload of IP.
#[derive(Clone, Debug)]
pub enum Body {
    /// A TCP segment.
    Tcp(TcpHeader),
    /// A UDP datagram of an application.
    Udp(UdpHeader),
    /// An address resolution message (RFC 826); travels in its own frame, not in IP.
    Arp(ArpMessage),
    /// A message of a routing protocol.
    Routing(RoutingMessage),
    /// A message of an agent.
    Control {
        /// The agent's UDP port.
        port: u16,
        /// The message.
        message: RoutingMessage,
    },
    /// A packet in a tunnel. Counters see the inner packet.
    Tunnelled(Form, Box<Packet>),
    /// Host unreachable: ICMP type 3, code 1 (RFC 792). It goes to the source of the segment that it quotes.
    Icmp(Quote),
    /// A datagram from outside: the bytes of an IPv4 datagram as it was put in, with its header.
    External(Arc<[u8]>),
    /// An Ethernet frame from outside with its header ([`ETHERNET`] bytes), which no IP of the simulator sees.
    Frame(Arc<[u8]>),
    /// A frame of 802.11 from outside, which no MAC of the simulator has made.
    Mpdu(Arc<Mpdu>),
    /// Options of DSR, and the payload of IP behind them (RFC 4728). Counters see the payload of IP.
    Extended(Arc<Extended>),
    /// Nothing: the packet has options only.
    Empty,
}

/// An option of DSR.
pub type DsrOption = dsr::DsrOption<Address>;
/// The error that a route error of DSR reports.
pub type RouteError = dsr::RouteError<Address>;
/// The source route of a packet of DSR.
pub type SourceRoute = dsr::SourceRoute<Address>;

/// Options of DSR, and the payload of IP behind their header. It is behind a shared pointer: packets without options do
/// not grow, and the copies of a broadcast share it until one is changed. [`Packet::size`] contains the bytes of the
/// header, as many as it has on each hop.
#[derive(Clone, Debug)]
pub struct Extended {
    options: Vec<DsrOption>,
    body: Body,
}

impl Extended {
    /// The payload of IP behind the header.
    #[must_use]
    pub const fn body(&self) -> &Body {
        &self.body
    }

    /// The bytes of the header with its options.
    #[must_use]
    pub fn header_bytes(&self) -> u32 {
        dsr::header_bytes(&self.options)
    }
}

/// The part of a TCP segment that an ICMP error quotes: the IP header and eight bytes, which are the ports and the
/// sequence number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quote {
    /// The flow, which addresses and ports name on the wire.
    pub flow: FlowId,
    /// The source of the segment.
    pub source: Address,
    /// The destination of the segment.
    pub destination: Address,
    /// The number of its connection within the flow.
    pub connection: u32,
    /// Its sequence number.
    pub seq: u64,
    /// Its total length on the wire, in bytes.
    pub length: u16,
    /// The hops that it could still take where it was quoted.
    pub ttl: u8,
}

/// The header of a UDP datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UdpHeader {
    /// The datagram's number within its flow, from zero: it lets the receiver count losses.
    pub sequence: u64,
    /// Payload in bytes.
    pub len: u32,
    /// The identification of its IP header, if its source numbers packets; others forbid fragments (RFC 6864 §4.1).
    pub identification: Option<u16>,
}

/// An address resolution message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArpMessage {
    /// Who has `target`?
    Request {
        /// The address asked for.
        target: Address,
    },
    /// The sender of this packet has the requested address.
    Reply,
}

/// A message of a routing protocol or of an agent, whose type only that protocol knows.
#[derive(Clone)]
pub struct RoutingMessage(Arc<dyn Message>);

/// A message and its notices, for code that does not know its type. A protocol writes [`Datagram`] for its messages,
/// which want no notice, or this.
pub trait Message: Any + fmt::Debug + Send + Sync {
    /// As [`Datagram::kind`].
    fn kind(&self) -> &'static str;

    /// As [`Datagram::parts`].
    fn parts(&self, each: &mut dyn FnMut(MessagePart));

    /// As [`Datagram::kinds`].
    fn kinds(&self, each: &mut dyn FnMut(&'static str));

    /// As [`Datagram::encode`]. A run needs no bytes; captures do.
    ///
    /// # Errors
    /// If a value has no encoding.
    fn encode(&self, name: &dyn Fn(Address) -> Ipv4Addr, out: &mut Vec<u8>) -> Result<Carrier, WireError>;

    /// Whether its source wants to know that it did not arrive, by an ICMP error. A message of ICMP does not (RFC 1122
    /// §3.2.2).
    fn wants_notice(&self) -> bool {
        false
    }

    /// The message of the ICMP error, and the bytes of its packet, for a message that wants one.
    fn notice(&self, _: &Undelivered) -> Option<(RoutingMessage, u32)> {
        None
    }
}

impl<M: Datagram<Address>> Message for M {
    fn kind(&self) -> &'static str {
        Datagram::kind(self)
    }

    fn parts(&self, each: &mut dyn FnMut(MessagePart)) {
        Datagram::parts(self, each);
    }

    fn kinds(&self, each: &mut dyn FnMut(&'static str)) {
        Datagram::kinds(self, each);
    }

    fn encode(&self, name: &dyn Fn(Address) -> Ipv4Addr, out: &mut Vec<u8>) -> Result<Carrier, WireError> {
        Datagram::encode(self, name, out)
    }
}

impl RoutingMessage {
    /// Wraps a protocol's message.
    #[must_use]
    pub fn new<M: Message>(message: M) -> Self {
        Self(Arc::new(message))
    }

    /// As [`Message::wants_notice`].
    #[must_use]
    pub fn wants_notice(&self) -> bool {
        self.0.wants_notice()
    }

    /// As [`Message::notice`].
    #[must_use]
    pub fn notice(&self, what: &Undelivered) -> Option<(RoutingMessage, u32)> {
        self.0.notice(what)
    }

    /// The message, if it is of type `M`.
    #[must_use]
    pub fn get<M: Message>(&self) -> Option<&M> {
        let any: &dyn Any = &*self.0;
        any.downcast_ref()
    }

    /// Whether this is the same message, which receivers share, and not only an equal one.
    #[inline]
    #[must_use]
    pub fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// A short name for counters and traces, such as "RREQ".
    #[must_use]
    pub fn kind(&self) -> &'static str {
        self.0.kind()
    }

    /// Names the messages of a packet that carries several ones (see [`Datagram::parts`]).
    pub fn parts(&self, each: &mut dyn FnMut(MessagePart)) {
        self.0.parts(each);
    }

    /// Names the types of all messages of the packet (see [`Datagram::kinds`]).
    pub fn kinds(&self, each: &mut dyn FnMut(&'static str)) {
        self.0.kinds(each);
    }

    /// Appends the bytes of the message, and returns what carries them (see [`Datagram::encode`]).
    ///
    /// # Errors
    /// If a value has no encoding.
    pub fn encode(&self, name: &dyn Fn(Address) -> Ipv4Addr, out: &mut Vec<u8>) -> Result<Carrier, WireError> {
        self.0.encode(name, out)
    }
}

impl fmt::Debug for RoutingMessage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&*self.0, f)
    }
}

impl Packet {
    /// The payload of the packet within tunnels and behind options.
    #[inline]
    #[must_use]
    pub fn carried(&self) -> &Body {
        match &self.body {
            Body::Tunnelled(_, inner) => inner.carried(),
            Body::Extended(it) => match it.body() {
                Body::Tunnelled(_, inner) => inner.carried(),
                body => body,
            },
            body => body,
        }
    }

    /// Whether this is a routing protocol's packet.
    #[inline]
    #[must_use]
    pub fn is_routing(&self) -> bool {
        match &self.body {
            Body::Routing(_) => true,
            Body::Extended(it) => matches!(it.body(), Body::Empty),
            _ => false,
        }
    }

    /// The message of a routing protocol or an agent in the packet, if it is of type `M`. Receivers share it.
    #[must_use]
    pub fn message<M: Message>(&self) -> Option<Arc<M>> {
        match &self.body {
            Body::Routing(message) | Body::Control { message, .. } if message.get::<M>().is_some() => {
                let any: Arc<dyn Any + Send + Sync> = message.0.clone();
                any.downcast().ok()
            }
            _ => None,
        }
    }

    /// The type of the routing protocol's or the agent's message in the packet.
    #[inline]
    #[must_use]
    pub fn message_kind(&self) -> Option<&'static str> {
        match &self.body {
            Body::Routing(message) | Body::Control { message, .. } => Some(message.kind()),
            _ => None,
        }
    }

    /// Whether this is an ICMP error. Its loss causes no further error (RFC 1122 §3.2.2), and routing does not search
    /// for a route for it.
    #[must_use]
    pub fn is_error(&self) -> bool {
        match &self.body {
            Body::Icmp(_) => true,
            Body::Extended(it) => matches!(it.body(), Body::Icmp(_)),
            _ => false,
        }
    }

    /// The part of this packet that an ICMP error quotes; `None` unless this is a TCP segment with payload.
    #[must_use]
    pub fn quote(&self) -> Option<Quote> {
        let quote = |packet: &Self, header: &TcpHeader| Quote {
            flow: packet.flow,
            source: packet.source,
            destination: packet.destination,
            connection: header.connection,
            seq: header.seq,
            // Parameters keep a segment within an IP packet.
            length: header.length() as u16,
            ttl: packet.ttl,
        };
        let body = match &self.body {
            Body::Extended(it) => it.body(),
            body => body,
        };
        match body {
            Body::Tcp(header) if header.len > 0 => Some(quote(self, header)),
            Body::Tunnelled(_, inner) => inner.quote(),
            _ => None,
        }
    }

    /// Whether this is a segment that TCP sends again.
    #[must_use]
    pub fn is_retransmission(&self) -> bool {
        let body = match &self.body {
            Body::Extended(it) => it.body(),
            body => body,
        };
        match body {
            Body::Tcp(header) => header.retransmission,
            Body::Tunnelled(_, inner) => inner.is_retransmission(),
            _ => false,
        }
    }

    /// The kind of this packet, for counters and traces.
    #[must_use]
    pub fn kind(&self) -> PacketKind {
        self.body.kind()
    }
}

/// The bits of a packet's class that say that a queue marked it (CE). Any other value than 0 says that its transport
/// understands marks (ECT).
pub const CONGESTION: u8 = 3;

/// The bits of a packet's class of a transport that understands marks: ECT(0), which senders use (RFC 8311 §4.1).
pub const CAPABLE: u8 = 2;

impl Packet {
    /// The differentiated services code point: 0 to 63.
    #[must_use]
    pub const fn dscp(&self) -> u8 {
        self.class >> 2
    }

    /// Whether a queue has marked the packet.
    #[must_use]
    pub const fn is_marked(&self) -> bool {
        self.class & CONGESTION == CONGESTION
    }

    /// Marks the packet if its transport understands that, and returns whether it does. A packet that was marked before
    /// counts again.
    pub const fn mark(&mut self) -> bool {
        let is_capable = self.class & CONGESTION != 0;
        if is_capable {
            self.class |= CONGESTION;
        }
        is_capable
    }

    /// The options of the packet, in order; none without the header.
    #[must_use]
    pub fn options(&self) -> &[DsrOption] {
        match &self.body {
            Body::Extended(it) => &it.options,
            _ => &[],
        }
    }

    /// The bytes that options add to a packet of another protocol, also within tunnels; none without options.
    #[inline]
    #[must_use]
    pub fn option_bytes(&self) -> Option<u32> {
        match &self.body {
            Body::Extended(it) => match it.body() {
                Body::Tunnelled(_, inner) => Some(it.header_bytes() + inner.option_bytes().unwrap_or(0)),
                _ => Some(it.header_bytes()),
            },
            Body::Tunnelled(_, inner) => inner.option_bytes(),
            _ => None,
        }
    }

    /// The packet's source route.
    #[must_use]
    pub fn source_route(&self) -> Option<&SourceRoute> {
        self.options().iter().find_map(|option| match option {
            DsrOption::SourceRoute(route) => Some(route),
            _ => None,
        })
    }

    /// Changes the options of the packet, and its size with them. The header is there as long as there is an option.
    pub fn change_options<R>(&mut self, change: impl FnOnce(&mut Vec<DsrOption>) -> R) -> R {
        let mut extended = match std::mem::replace(&mut self.body, Body::Empty) {
            Body::Extended(it) => it,
            body => Arc::new(Extended { options: Vec::new(), body }),
        };
        let it = Arc::make_mut(&mut extended);
        let before = dsr::header_bytes(&it.options);
        let result = change(&mut it.options);
        self.size = self.size - before + dsr::header_bytes(&it.options);
        self.body = if it.options.is_empty() { Arc::unwrap_or_clone(extended).body } else { Body::Extended(extended) };
        result
    }

    /// Removes the header with all options.
    pub fn strip_options(&mut self) -> Vec<DsrOption> {
        self.change_options(std::mem::take)
    }
}

impl Body {
    fn kind(&self) -> PacketKind {
        match self {
            Self::Tcp(header) if header.len > 0 || header.flags.syn && !header.flags.ack => PacketKind::Data,
            Self::Tcp(_) => PacketKind::Ack,
            Self::Udp(_) => PacketKind::Data,
            Self::Arp(_) => PacketKind::Arp,
            Self::Routing(_) | Self::Empty => PacketKind::Routing,
            Self::Control { .. } => PacketKind::Control,
            Self::Tunnelled(_, inner) => inner.kind(),
            Self::Icmp(_) => PacketKind::Icmp,
            Self::External(_) | Self::Frame(_) | Self::Mpdu(_) => PacketKind::External,
            Self::Extended(it) => it.body().kind(),
        }
    }
}

/// The kinds of packet that counters distinguish.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "snake_case")]
pub enum PacketKind {
    /// A segment or datagram that carries payload, or opens a connection.
    Data,
    /// A segment that only acknowledges.
    Ack,
    /// A routing message.
    Routing,
    /// An address resolution message.
    Arp,
    /// An ICMP error.
    Icmp,
    /// A message of an agent.
    Control,
    /// A datagram or a frame from outside.
    External,
}

impl PacketKind {
    /// Every kind, in order of its place in arrays.
    pub const ALL: &[Self] = Self::VARIANTS;

    /// The kind's name in tables.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// Every packet that exists.
#[derive(Clone, Debug, Default)]
pub struct PacketPool(Slab<Packet>);

impl PacketPool {
    /// Puts a packet into the pool.
    #[inline]
    pub fn insert(&mut self, packet: Packet) -> PacketId {
        PacketId(self.0.insert(packet))
    }

    /// Takes a packet out.
    #[inline]
    pub fn remove(&mut self, id: PacketId) -> Packet {
        self.0.remove(id.0)
    }

    /// Ends a packet that nobody reads any more.
    #[inline]
    pub fn discard(&mut self, id: PacketId) {
        self.0.discard(id.0);
    }

    /// How many packets exist.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether no packet exists.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Every packet.
    pub fn iter(&self) -> impl Iterator<Item = (PacketId, &Packet)> {
        self.0.iter().map(|(handle, packet)| (PacketId(handle), packet))
    }
}

impl std::ops::Index<PacketId> for PacketPool {
    type Output = Packet;
    #[inline]
    fn index(&self, id: PacketId) -> &Packet {
        &self.0[id.0]
    }
}

impl std::ops::IndexMut<PacketId> for PacketPool {
    #[inline]
    fn index_mut(&mut self, id: PacketId) -> &mut Packet {
        &mut self.0[id.0]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_stay_small() {
        assert!(size_of::<Packet>() <= 160, "{}", size_of::<Packet>());
    }

    #[test]
    fn sack_blocks_keep_their_bytes() {
        let blocks = [(5_000_000_000, 5_000_001_000), (5_000_003_000, 5_000_004_000)];
        let sack = SackBlocks::new(4_999_999_000, blocks);
        assert_eq!(sack.iter().collect::<Vec<_>>(), blocks);
        assert_eq!(SackBlocks::new(0, (0..9).map(|i| (i, i + 1))).len(), 4);
    }

    #[test]
    fn routing_messages_are_known_by_type() {
        #[derive(Debug, PartialEq)]
        struct Hello(u8);
        impl Datagram<Address> for Hello {
            fn kind(&self) -> &'static str {
                "HELLO"
            }
            fn encode(&self, _: &dyn Fn(Address) -> Ipv4Addr, out: &mut Vec<u8>) -> Result<Carrier, WireError> {
                out.push(1);
                Ok(Carrier::Udp(1021))
            }
        }
        #[derive(Debug)]
        struct Other;
        impl Datagram<Address> for Other {
            fn kind(&self) -> &'static str {
                "OTHER"
            }
            fn encode(&self, _: &dyn Fn(Address) -> Ipv4Addr, out: &mut Vec<u8>) -> Result<Carrier, WireError> {
                out.push(1);
                Ok(Carrier::Udp(1021))
            }
        }
        let message = RoutingMessage::new(Hello(3));
        assert_eq!(message.get::<Hello>(), Some(&Hello(3)));
        assert!(message.get::<Other>().is_none());
    }

    fn datagram() -> Packet {
        Packet {
            created: Time::ZERO,
            source: Address(0),
            destination: Address(9),
            flow: FlowId(0),
            size: 100,
            ttl: 32,
            hops: 0,
            salvaged: 0,
            class: 0,
            body: Body::Udp(UdpHeader { sequence: 0, len: 72, identification: None }),
        }
    }

    #[test]
    fn options_count_their_bytes_and_are_seen_through() {
        let mut packet = datagram();
        let copy = packet.clone();
        let route = SourceRoute::new(vec![Address(4); 3]).expect("it fits");
        packet.change_options(|options| options.push(DsrOption::SourceRoute(route.clone())));
        assert_eq!(packet.size, 100 + 4 + 4 + 3 * 4);
        packet.change_options(|options| options.push(DsrOption::AckRequest { identification: 1 }));
        assert_eq!((packet.size, packet.options().len()), (124, 2));
        assert_eq!((packet.kind(), packet.is_routing()), (PacketKind::Data, false));
        assert!(matches!(packet.carried(), Body::Udp(_)));
        assert_eq!(packet.source_route(), Some(&route));
        // A copy of a broadcast keeps its options when another one is changed.
        let mut changed = packet.clone();
        changed.change_options(|options| options.truncate(1));
        assert_eq!((changed.size, packet.size), (120, 124));
        assert_eq!(packet.strip_options().len(), 2);
        assert_eq!((packet.size, packet.options()), (copy.size, &[][..]));
        assert!(matches!(packet.body, Body::Udp(_)));
        packet.change_options(|_| {});
        assert!(matches!(packet.body, Body::Udp(_)), "without an option there is no header");
    }

    #[test]
    fn a_packet_of_options_alone_belongs_to_routing() {
        let mut packet = Packet { body: Body::Empty, size: 20, ..datagram() };
        let request = DsrOption::RouteRequest { identification: 3, target: Address(9), addresses: vec![Address(1)] };
        packet.change_options(|options| options.push(request));
        assert_eq!((packet.size, packet.kind(), packet.is_routing()), (36, PacketKind::Routing, true));
    }
}
