//! Packets: typed headers and a payload that is a length, never bytes.
//!
//! A packet lives in the [`PacketPool`] and is passed as a [`PacketId`]. The holder of the id owns the packet: it
//! passes the packet on, or removes it by a function of [`crate::context::Context`], which counts it. Rare headers are
//! behind a shared pointer, so that a packet stays small and a broadcast to many receivers copies little.

mod extension;

use std::any::Any;
use std::fmt;
use std::net::Ipv4Addr;
use std::sync::Arc;

use hopyard_engine::{Handle, Slab, Time};
use hopyard_wire::WireError;

pub use self::extension::{DsrOption, Extended, MOST_ADDRESSES, OPTIONS_HEADER, RouteError, SourceRoute};
use crate::address::Address;

/// The number of a flow, counted from zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FlowId(pub u32);

impl FlowId {
    /// The flow number of packets that belong to no flow: routing and address resolution.
    pub const NONE: Self = Self(u32::MAX);

    /// The flow's place in arrays over all flows.
    #[inline]
    #[must_use]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// A packet in the [`PacketPool`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PacketId(Handle);

/// The bytes of an IPv4 header without options (RFC 791 §3.1).
pub const IP_HEADER: u32 = 20;
/// The bytes of a TCP header without options (RFC 9293 §3.1).
pub const TCP_HEADER: u32 = 20;
/// The bytes of a UDP header (RFC 768).
pub const UDP_HEADER: u32 = 8;
/// The bytes of a notice of unreachability: an IP header, ICMP's, and its quote, an IP header and eight bytes (RFC
/// 792).
pub const UNREACHABLE: u32 = IP_HEADER + 8 + IP_HEADER + 8;

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
    /// What IP carries.
    pub body: Body,
}

/// What IP carries.
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
    /// A packet in a tunnel (IP in IP, RFC 2003). Counters see the inner packet.
    Tunnelled(Box<Packet>),
    /// Host unreachable: ICMP type 3, code 1 (RFC 792). It goes to the source of the segment that it quotes.
    Icmp(Quote),
    /// Options of DSR, and what IP carries behind them (RFC 4728). Counters see what IP carries.
    Extended(Arc<Extended>),
    /// Nothing: the packet has options only.
    Empty,
}

/// What an ICMP error quotes of a TCP segment: the IP header and eight bytes, which are the ports and the sequence
/// number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quote {
    /// The flow, which addresses and ports name on the wire.
    pub flow: FlowId,
    /// The source of the segment.
    pub source: Address,
    /// The destination of the segment.
    pub destination: Address,
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
}

/// The header of a TCP segment. Sequence numbers count bytes from zero and do not wrap; the wire format wraps them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct TcpHeader {
    /// The sequence number of the first byte.
    pub seq: u64,
    /// The next byte expected from the other side.
    pub ack: u64,
    /// Payload in bytes.
    pub len: u32,
    /// Bytes that the other side may send beyond `ack`.
    pub window: u32,
    /// Value of the timestamp option in milliseconds, and the value echoed (RFC 7323 §3).
    pub timestamps: Option<(u32, u32)>,
    /// Blocks received out of order (RFC 2018).
    pub sack: SackBlocks,
    /// SYN, ACK and FIN.
    pub flags: TcpFlags,
    /// Whether the payload was sent before: known to the simulator, not on the wire.
    pub retransmission: bool,
}

impl TcpHeader {
    /// The total length of the IP packet on the wire, in bytes, of a segment other than a SYN. Options fill whole
    /// words: two NOPs precede each (RFC 7323 appendix A, RFC 2018 §3).
    #[must_use]
    pub const fn length(&self) -> u32 {
        let timestamps = if self.timestamps.is_some() { 12 } else { 0 };
        let sack = if self.sack.is_empty() { 0 } else { 4 + 8 * self.sack.len() as u32 };
        IP_HEADER + TCP_HEADER + timestamps + sack + self.len
    }
}

/// The control bits that the simulator uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct TcpFlags {
    /// Opens a connection.
    pub syn: bool,
    /// The acknowledgement number counts.
    pub ack: bool,
    /// No more data follows.
    pub fin: bool,
}

/// Up to four blocks of bytes received out of order, the most recent first (RFC 2018 §3).
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub struct SackBlocks {
    /// Where each block starts and ends, in bytes beyond `base`.
    blocks: [(u32, u32); Self::MAX],
    base: u64,
    count: u8,
}

impl SackBlocks {
    /// The blocks that a header has room for (RFC 2018 §3).
    pub const MAX: usize = 4;

    /// Blocks given as (first byte, byte after the last), most recent first; those past the fourth are left out.
    /// `base` is a byte at or before all of them, normally the acknowledgement number.
    ///
    /// # Panics
    /// When a block lies before `base` or more than 2^32 bytes beyond it: no window is that large.
    #[must_use]
    pub fn new(base: u64, blocks: impl IntoIterator<Item = (u64, u64)>) -> Self {
        let mut sack = Self { base, ..Self::default() };
        for (start, end) in blocks.into_iter().take(Self::MAX) {
            let offset = |byte: u64| {
                byte.checked_sub(base)
                    .and_then(|o| u32::try_from(o).ok())
                    .expect("a SACK block lies within a window of its base")
            };
            sack.blocks[usize::from(sack.count)] = (offset(start), offset(end));
            sack.count += 1;
        }
        sack
    }

    /// The blocks as (first byte, byte after the last), most recent first.
    pub fn iter(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.blocks[..usize::from(self.count)]
            .iter()
            .map(|&(start, end)| (self.base + u64::from(start), self.base + u64::from(end)))
    }

    /// How many blocks there are.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.count as usize
    }

    /// Whether there is no block.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.count == 0
    }
}

impl fmt::Debug for SackBlocks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
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

/// What every routing message offers to code that does not know its type.
pub trait Message: Any + fmt::Debug + Send + Sync {
    /// A short name for counters and traces, such as "RREQ".
    fn kind(&self) -> &'static str;

    /// Appends the bytes of the message as the protocol's specification lays them out, without the headers of IP and
    /// UDP, and returns what carries them. A run needs no bytes; captures do.
    ///
    /// # Errors
    /// If a value has no encoding.
    fn encode(&self, place: &Place<'_>, out: &mut Vec<u8>) -> Result<Carrier, WireError>;
}

/// What the bytes of a message depend on besides the message.
#[derive(Clone, Copy)]
pub struct Place<'a> {
    /// The node that sends the message.
    pub source: Address,
    /// The address of a node.
    pub address: &'a dyn Fn(Address) -> Ipv4Addr,
}

/// What carries the messages of a routing protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Carrier {
    /// UDP, from this port to the same port.
    Udp(u16),
    /// IP, as this protocol.
    Ip(u8),
}

impl RoutingMessage {
    /// Wraps a protocol's message.
    #[must_use]
    pub fn new<M: Message>(message: M) -> Self {
        Self(Arc::new(message))
    }

    /// The message, if it is of type `M`.
    #[must_use]
    pub fn get<M: Message>(&self) -> Option<&M> {
        let any: &dyn Any = &*self.0;
        any.downcast_ref()
    }

    /// A short name for counters and traces, such as "RREQ".
    #[must_use]
    pub fn kind(&self) -> &'static str {
        self.0.kind()
    }

    /// Appends the bytes of the message, and returns what carries them (see [`Message::encode`]).
    ///
    /// # Errors
    /// If a value has no encoding.
    pub fn encode(&self, place: &Place<'_>, out: &mut Vec<u8>) -> Result<Carrier, WireError> {
        self.0.encode(place, out)
    }
}

impl fmt::Debug for RoutingMessage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&*self.0, f)
    }
}

impl Packet {
    /// What the packet carries within tunnels and behind options.
    #[inline]
    #[must_use]
    pub fn carried(&self) -> &Body {
        match &self.body {
            Body::Tunnelled(inner) => inner.carried(),
            Body::Extended(it) => match it.body() {
                Body::Tunnelled(inner) => inner.carried(),
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

    /// What an ICMP error about this packet quotes; `None` unless this is a TCP segment with payload.
    #[must_use]
    pub fn quote(&self) -> Option<Quote> {
        let quote = |packet: &Self, header: &TcpHeader| Quote {
            flow: packet.flow,
            source: packet.source,
            destination: packet.destination,
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
            Body::Tunnelled(inner) => inner.quote(),
            _ => None,
        }
    }

    /// What kind of packet this is, for counters and traces.
    #[must_use]
    pub fn kind(&self) -> PacketKind {
        self.body.kind()
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
            Self::Tunnelled(inner) => inner.kind(),
            Self::Icmp(_) => PacketKind::Icmp,
            Self::Extended(it) => it.body().kind(),
        }
    }
}

/// The kinds of packet that counters distinguish.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
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
}

impl PacketKind {
    /// Every kind, in order of its place in arrays.
    pub const ALL: [Self; 6] = [Self::Data, Self::Ack, Self::Routing, Self::Arp, Self::Icmp, Self::Control];

    /// The kind's name in tables.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Data => "data",
            Self::Ack => "ack",
            Self::Routing => "routing",
            Self::Arp => "arp",
            Self::Icmp => "icmp",
            Self::Control => "control",
        }
    }
}

/// Every packet that exists.
#[derive(Clone, Debug, Default)]
pub struct PacketPool(Slab<Packet>);

impl PacketPool {
    /// Puts a packet into the pool.
    pub fn insert(&mut self, packet: Packet) -> PacketId {
        PacketId(self.0.insert(packet))
    }

    /// Takes a packet out.
    pub fn remove(&mut self, id: PacketId) -> Packet {
        self.0.remove(id.0)
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
        impl Message for Hello {
            fn kind(&self) -> &'static str {
                "HELLO"
            }
            fn encode(&self, _: &Place<'_>, out: &mut Vec<u8>) -> Result<Carrier, WireError> {
                out.push(1);
                Ok(Carrier::Udp(1021))
            }
        }
        #[derive(Debug)]
        struct Other;
        impl Message for Other {
            fn kind(&self) -> &'static str {
                "OTHER"
            }
            fn encode(&self, _: &Place<'_>, out: &mut Vec<u8>) -> Result<Carrier, WireError> {
                out.push(1);
                Ok(Carrier::Udp(1021))
            }
        }
        let message = RoutingMessage::new(Hello(3));
        assert_eq!(message.get::<Hello>(), Some(&Hello(3)));
        assert!(message.get::<Other>().is_none());
    }
}
