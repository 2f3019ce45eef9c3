//! The packets of Babel (RFC 8966 §4), which UDP carries on port 6696, without extensions.
//!
//! A packet has a header of four bytes and TLVs. Here a packet is a list of messages. The TLVs that only set the state
//! of the parser (Router-Id, Next Hop, Pad) are no messages: the writer puts them where a message needs them. It
//! writes whole prefixes, as babeld does for IPv4. The parser also reads prefixes that leave out the bytes of an
//! earlier update (§4.5).
//!
//! Prefixes are IPv4 (AE 1). UDP over IPv4 or IPv6 carries the packets. In IHUs the parser also knows link-local
//! addresses of IPv6 (AE 3). An update with another encoding only sets the parser's state. All else with an unknown
//! encoding is passed over (§4.1.4).

use std::net::{Ipv4Addr, Ipv6Addr};

use super::{Carrier, Datagram, MessagePart, Name, Prefix, Reader, WireError, Write};

const FORMAT: &str = "Babel";

/// The UDP port (§4).
pub const PORT: u16 = 6696;
/// The metric or cost of what cannot be reached (§2.1).
pub const INFINITY: u16 = 0xffff;
/// The hop count of a new seqno request (§3.8.2.1).
pub const HOPS: u8 = 64;
/// That of babeld 1.12.1.
const HOPS_OF_BABELD: u8 = 127;
/// Bytes of a packet's header (§4.2).
pub const HEADER: u32 = 4;
/// A packet takes an update only where so many bytes are free, which no update needs (babeld 1.12.1).
const ROOM: u32 = 78;

const MAGIC: u8 = 42;
const VERSION: u8 = 2;
/// The first four bytes of a router-id made from an IPv4 address, in modified EUI-64 format (RFC 5214 §6.1).
const OF_IPV4: [u8; 4] = [0x00, 0x00, 0x5e, 0xfe];

/// The group of all Babel routers in reach, for packets over IPv6 (§4).
pub const GROUP6: Ipv6Addr = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 1, 6);

/// The name of the router that originates a prefix (§4.1.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum RouterId<A = Ipv4Addr> {
    /// One made from an address of the router.
    Of(A),
    /// Another one.
    Other([u8; 8]),
}

/// The neighbour that an IHU is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Neighbour<A = Ipv4Addr> {
    /// The one with this address (AE 1).
    Ipv4(A),
    /// The one whose link-local address of IPv6 has this interface identifier (AE 3).
    LinkLocal([u8; 8]),
}

/// The destination of routes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target<A = Ipv4Addr> {
    /// One address: a prefix of 32 bits.
    Host(A),
    /// A shorter prefix.
    Network(Prefix),
    /// Every destination (AE 0).
    All,
}

/// An update (§4.6.9): a route of the sender, or the retraction of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Update<A = Ipv4Addr> {
    /// Where the route leads. Only a retraction is about every destination.
    pub destination: Target<A>,
    /// The router that originates the prefix. A retraction needs none, and the parser gives none.
    pub router: Option<RouterId<A>>,
    /// The neighbour that packets go to, if it is not the sender (§4.6.8).
    pub next_hop: Option<A>,
    /// The originator's sequence number.
    pub seqno: u16,
    /// The sender's distance to the destination, or [`INFINITY`].
    pub metric: u16,
    /// The time until the next one at most, in hundredths of a second.
    pub interval: u16,
}

/// A message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Message<A = Ipv4Addr> {
    /// The receiver shall acknowledge the packet (§4.6.3).
    AckRequest {
        /// What the answer repeats.
        opaque: u16,
        /// The time within which the answer is due, in hundredths of a second.
        interval: u16,
    },
    /// The answer (§4.6.4).
    Ack {
        /// What the request said.
        opaque: u16,
    },
    /// A sign of life (§4.6.5).
    Hello {
        /// Whether it is for one neighbour, and counted apart.
        unicast: bool,
        /// Its number.
        seqno: u16,
        /// The time until the next one, in hundredths of a second; 0 if none is promised.
        interval: u16,
    },
    /// "I heard you" (§4.6.6).
    Ihu {
        /// The cost of receiving from that neighbour, or [`INFINITY`].
        rxcost: u16,
        /// The time until the next one at most, in hundredths of a second.
        interval: u16,
        /// The neighbour that was heard; nothing in a packet to it alone (AE 0).
        address: Option<Neighbour<A>>,
    },
    /// A route, or its end.
    Update(Update<A>),
    /// A request for an update (§4.6.10).
    Request(Target<A>),
    /// A request for an update with a seqno at least as new as this one (§4.6.11).
    SeqnoRequest {
        /// The destination.
        destination: Target<A>,
        /// The router whose seqno it is.
        router: RouterId<A>,
        /// The seqno.
        seqno: u16,
        /// How often it may still be forwarded.
        hops: u8,
    },
}

/// A packet (§4.2).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Packet<A = Ipv4Addr> {
    messages: Vec<Message<A>>,
    /// The size of each message in bytes. It includes the TLVs that have to stand before the message.
    sizes: Vec<u8>,
    /// Whether UDP over IPv6 carries it.
    over_ipv6: bool,
}

impl<A> Message<A> {
    /// A short name for counters.
    #[must_use]
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::AckRequest { .. } => "ACK_REQUEST",
            Self::Ack { .. } => "ACK",
            Self::Hello { .. } => "HELLO",
            Self::Ihu { .. } => "IHU",
            Self::Update(_) => "UPDATE",
            Self::Request(_) => "REQUEST",
            Self::SeqnoRequest { .. } => "SEQNO_REQUEST",
        }
    }
}

/// Whether a seqno request with this hop count was forwarded. No request goes over 63 hops.
#[must_use]
pub const fn is_forwarded(hops: u8) -> bool {
    hops != HOPS && hops != HOPS_OF_BABELD
}

/// The bytes that a prefix needs.
const fn octets(length: u8) -> usize {
    length.div_ceil(8) as usize
}

/// What the messages of a packet that were written before let a later one leave out (§4.5).
#[derive(Default)]
struct Writer {
    router: Option<[u8; 8]>,
    next_hop: Option<Ipv4Addr>,
}

impl Writer {
    /// Appends a message, with the TLVs that set the parser's state for it.
    fn message<A: Name>(
        &mut self,
        message: &Message<A>,
        name: &dyn Fn(A) -> Ipv4Addr,
        out: &mut Vec<u8>,
    ) -> Result<(), WireError> {
        match *message {
            Message::AckRequest { opaque, interval } => {
                out.extend([2, 6, 0, 0]);
                out.u16(opaque);
                out.u16(interval);
            }
            Message::Ack { opaque } => {
                out.extend([3, 2]);
                out.u16(opaque);
            }
            Message::Hello { unicast, seqno, interval } => {
                out.extend([4, 6, if unicast { 0x80 } else { 0 }, 0]);
                out.u16(seqno);
                out.u16(interval);
            }
            Message::Ihu { rxcost, interval, address } => {
                out.extend(match address {
                    None => [5, 6, 0, 0],
                    Some(Neighbour::Ipv4(_)) => [5, 10, 1, 0],
                    Some(Neighbour::LinkLocal(_)) => [5, 14, 3, 0],
                });
                out.u16(rxcost);
                out.u16(interval);
                match address {
                    None => {}
                    Some(Neighbour::Ipv4(address)) => out.address(name(address)),
                    Some(Neighbour::LinkLocal(identifier)) => out.extend(identifier),
                }
            }
            Message::Update(ref update) => self.update(update, name, out)?,
            Message::Request(destination) => {
                let (ae, length, bytes) = encoded(destination, name);
                out.extend([9, 2 + octets(length) as u8, ae, length]);
                out.extend_from_slice(&bytes[..octets(length)]);
            }
            Message::SeqnoRequest { destination, router, seqno, hops } => {
                let (ae, length, bytes) = encoded(destination, name);
                out.extend([10, 14 + octets(length) as u8, ae, length]);
                out.u16(seqno);
                out.extend([hops, 0]);
                out.extend(router.bytes(name));
                out.extend_from_slice(&bytes[..octets(length)]);
            }
        }
        Ok(())
    }

    fn update<A: Name>(
        &mut self,
        it: &Update<A>,
        name: &dyn Fn(A) -> Ipv4Addr,
        out: &mut Vec<u8>,
    ) -> Result<(), WireError> {
        let malformed = |expected| Err(WireError::Malformed { format: FORMAT, expected, found: it.metric.into() });
        if it.metric != INFINITY {
            if it.destination == Target::All {
                return malformed("an infinite metric of a retraction of everything");
            }
            if it.router.is_none() {
                return malformed("an infinite metric without a router-id");
            }
        }
        if let Some(router) = it.router.map(|it| it.bytes(name))
            && self.router.replace(router) != Some(router)
        {
            out.extend([6, 10, 0, 0]);
            out.extend(router);
        }
        let next_hop = it.next_hop.map(name);
        if next_hop != self.next_hop {
            // No TLV says "the sender" again.
            let Some(next_hop) = next_hop else { return malformed("a next hop, as an update before has one") };
            self.next_hop = Some(next_hop);
            out.extend([7, 6, 1, 0]);
            out.address(next_hop);
        }
        let (ae, length, bytes) = encoded(it.destination, name);
        let whole = octets(length);
        out.extend([8, (10 + whole) as u8, ae, 0, length, 0]);
        out.u16(it.interval);
        out.u16(it.seqno);
        out.u16(it.metric);
        out.extend_from_slice(&bytes[..whole]);
        Ok(())
    }
}

impl<A: Name> RouterId<A> {
    fn bytes(self, name: &dyn Fn(A) -> Ipv4Addr) -> [u8; 8] {
        match self {
            Self::Of(address) => RouterId::of_ipv4(name(address)),
            Self::Other(bytes) => bytes,
        }
    }
}

impl RouterId {
    /// The router-id that is made from an address.
    #[must_use]
    pub const fn of_ipv4(address: Ipv4Addr) -> [u8; 8] {
        let ([a, b, c, d], [e, f, g, h]) = (OF_IPV4, address.octets());
        [a, b, c, d, e, f, g, h]
    }

    fn of(bytes: [u8; 8]) -> Self {
        match bytes {
            [a, b, c, d, rest @ ..] if [a, b, c, d] == OF_IPV4 => Self::Of(rest.into()),
            other => Self::Other(other),
        }
    }
}

/// The address encoding of a destination, the length of its prefix, and its bytes.
fn encoded<A: Name>(destination: Target<A>, name: &dyn Fn(A) -> Ipv4Addr) -> (u8, u8, [u8; 4]) {
    match destination {
        Target::Host(address) => (1, 32, name(address).octets()),
        Target::Network(prefix) => (1, prefix.length(), prefix.first().octets()),
        Target::All => (0, 0, [0; 4]),
    }
}

impl<A: Name> Packet<A> {
    /// Packs messages in their order into packets of at most `limit` bytes, and each into one of its own that is longer
    /// alone. `name` gives the address that bytes have.
    ///
    /// # Errors
    /// If a message has no encoding.
    pub fn pack(
        messages: impl IntoIterator<Item = Message<A>>,
        limit: u32,
        name: &dyn Fn(A) -> Ipv4Addr,
    ) -> Result<Vec<Self>, WireError> {
        let mut packets: Vec<Self> = Vec::new();
        let (mut writer, mut size, mut scratch) = (Writer::default(), u32::MAX, Vec::new());
        for message in messages {
            scratch.clear();
            writer.message(&message, name, &mut scratch)?;
            let room = if matches!(message, Message::Update(_)) { ROOM } else { scratch.len() as u32 };
            if size.saturating_add(room) > limit {
                packets.push(Self::empty());
                (writer, size) = (Writer::default(), HEADER);
                scratch.clear();
                writer.message(&message, name, &mut scratch)?;
            }
            size += scratch.len() as u32;
            if let Some(packet) = packets.last_mut() {
                packet.messages.push(message);
                packet.sizes.push(scratch.len() as u8);
            }
        }
        Ok(packets)
    }

    /// A packet without messages.
    #[must_use]
    pub const fn empty() -> Self {
        Self { messages: Vec::new(), sizes: Vec::new(), over_ipv6: false }
    }

    /// The same, carried by UDP over IPv6.
    #[must_use]
    pub fn over_ipv6(self) -> Self {
        Self { over_ipv6: true, ..self }
    }

    /// Its messages.
    #[must_use]
    pub fn messages(&self) -> &[Message<A>] {
        &self.messages
    }

    /// Bytes of the packet.
    #[must_use]
    pub fn size(&self) -> u32 {
        HEADER + self.sizes.iter().map(|&it| u32::from(it)).sum::<u32>()
    }

    /// Appends the packet's bytes.
    ///
    /// # Errors
    /// If a message has no encoding, or the packet is too long for its length field.
    pub fn emit(&self, name: &dyn Fn(A) -> Ipv4Addr, out: &mut Vec<u8>) -> Result<(), WireError> {
        out.extend([MAGIC, VERSION, 0, 0]);
        let (start, mut writer) = (out.len(), Writer::default());
        for message in &self.messages {
            writer.message(message, name, out)?;
        }
        let (found, limit) = (out.len() - start, usize::from(u16::MAX));
        let length =
            u16::try_from(found).map_err(|_| WireError::TooLong { format: FORMAT, unit: "bytes", limit, found })?;
        out[start - 2..start].copy_from_slice(&length.to_be_bytes());
        Ok(())
    }
}

/// The state of the parser (§4.5).
#[derive(Default)]
struct State {
    router: Option<[u8; 8]>,
    next_hop: Option<Ipv4Addr>,
    /// The default prefixes of AE 1, 2 and 3, with their bytes on the left.
    prefixes: [Option<[u8; 16]>; 3],
}

impl Packet {
    /// The packet, and the bytes after it. TLVs of unknown types, with mandatory sub-TLVs that are unknown (§4.4), or
    /// with content that is malformed (§4.6.9) are passed over, each alone.
    ///
    /// # Errors
    /// If the bytes are none of Babel's, or a TLV is longer than its packet.
    pub fn parse(bytes: &[u8]) -> Result<(Self, &[u8]), WireError> {
        let mut reader = Reader::new(FORMAT, bytes);
        let (magic, version, length) = (reader.u8()?, reader.u8()?, reader.u16()?);
        reader.constant("the magic number 42", MAGIC.into(), magic.into())?;
        reader.constant("version 2", VERSION.into(), version.into())?;
        let mut body = Reader::new(FORMAT, reader.take(length.into())?);
        let (mut state, mut messages) = (State::default(), Vec::new());
        while !body.bytes.is_empty() {
            let kind = body.u8()?;
            // Pad1 has no length.
            if kind != 0 {
                let length = body.u8()?;
                let mut tlv = Reader::new(FORMAT, body.take(length.into())?);
                if let Ok(Some(message)) = state.message(kind, &mut tlv)
                    && knows_mandatory(&mut tlv) == Ok(true)
                {
                    messages.push(message);
                }
            }
        }
        Ok((Self::whole(messages)?, reader.bytes))
    }

    /// The packet of these messages, however long.
    fn whole(messages: Vec<Message>) -> Result<Self, WireError> {
        let mut packets = Self::pack(messages, u32::MAX - 1, &|it| it)?;
        Ok(packets.pop().unwrap_or(Self::empty()))
    }
}

/// Whether the sub-TLVs that follow let the TLV be used: none of them is mandatory, since none is known (§4.4).
fn knows_mandatory(reader: &mut Reader<'_>) -> Result<bool, WireError> {
    let mut known = true;
    while !reader.bytes.is_empty() {
        let kind = reader.u8()?;
        if kind != 0 {
            let length = reader.u8()?;
            reader.take(length.into())?;
            known &= kind < 0x80;
        }
    }
    Ok(known)
}

impl State {
    /// The message in a TLV; nothing if the TLV only sets the state, or is to be passed over.
    fn message(&mut self, kind: u8, reader: &mut Reader<'_>) -> Result<Option<Message>, WireError> {
        Ok(Some(match kind {
            2 => {
                let _reserved = reader.u16()?;
                Message::AckRequest { opaque: reader.u16()?, interval: reader.u16()? }
            }
            3 => Message::Ack { opaque: reader.u16()? },
            4 => {
                let flags = reader.u16()?;
                Message::Hello { unicast: flags & 0x8000 != 0, seqno: reader.u16()?, interval: reader.u16()? }
            }
            5 => {
                let (ae, _reserved) = (reader.u8()?, reader.u8()?);
                let (rxcost, interval) = (reader.u16()?, reader.u16()?);
                match ae {
                    0 => Message::Ihu { rxcost, interval, address: None },
                    1 => Message::Ihu { rxcost, interval, address: Some(Neighbour::Ipv4(reader.address()?)) },
                    3 => Message::Ihu { rxcost, interval, address: Some(Neighbour::LinkLocal(reader.array()?)) },
                    _ => return Ok(None),
                }
            }
            6 => {
                let _reserved = reader.u16()?;
                self.router = Some(reader.array()?);
                return Ok(None);
            }
            7 => {
                let (ae, _reserved) = (reader.u8()?, reader.u8()?);
                if ae == 1 {
                    self.next_hop = Some(reader.address()?);
                }
                return Ok(None);
            }
            8 => return self.update(reader),
            9 => {
                let (ae, length) = (reader.u8()?, reader.u8()?);
                match self.destination(reader, ae, length, 0)? {
                    Some((destination, _)) => Message::Request(destination),
                    None => return Ok(None),
                }
            }
            10 => {
                let (ae, length, seqno) = (reader.u8()?, reader.u8()?, reader.u16()?);
                let (hops, _reserved, router) = (reader.u8()?, reader.u8()?, RouterId::of(reader.array()?));
                match self.destination(reader, ae, length, 0)? {
                    // §4.6.11: a request for every destination is ignored.
                    Some((Target::All, _)) | None => return Ok(None),
                    Some((destination, _)) => Message::SeqnoRequest { destination, router, seqno, hops },
                }
            }
            _ => return Ok(None),
        }))
    }

    fn update(&mut self, reader: &mut Reader<'_>) -> Result<Option<Message>, WireError> {
        let (ae, flags, length, omitted) = (reader.u8()?, reader.u8()?, reader.u8()?, reader.u8()?);
        let (interval, seqno, metric) = (reader.u16()?, reader.u16()?, reader.u16()?);
        let Some((destination, bytes)) = self.destination(reader, ae, length, omitted)? else {
            // What an unknown encoding leaves in the state, nobody can read either.
            return self.ignored(ae, flags, length, omitted, reader);
        };
        if ae == 1 {
            self.note(ae, flags, bytes);
        }
        if destination == Target::All && metric != INFINITY {
            return Err(reader.malformed("an infinite metric of a retraction of everything", metric.into()));
        }
        let router = match self.router {
            _ if metric == INFINITY => None,
            None => return Err(reader.malformed("a router-id before an update", metric.into())),
            Some(bytes) => Some(RouterId::of(bytes)),
        };
        let next_hop = self.next_hop;
        Ok(Some(Message::Update(Update { destination, router, next_hop, seqno, metric, interval })))
    }

    /// Reads an update of an IPv6 prefix for the state that it sets.
    fn ignored(
        &mut self,
        ae: u8,
        flags: u8,
        length: u8,
        omitted: u8,
        reader: &mut Reader<'_>,
    ) -> Result<Option<Message>, WireError> {
        if ae == 2 {
            let bytes = self.bytes(reader, ae, length, omitted)?;
            self.note(ae, flags, bytes);
        }
        Ok(None)
    }

    /// Sets the default prefix (flag 0x80) and the router-id (flag 0x40) from the prefix of an update.
    fn note(&mut self, ae: u8, flags: u8, bytes: [u8; 16]) {
        if flags & 0x80 != 0 {
            self.prefixes[usize::from(ae) - 1] = Some(bytes);
        }
        if flags & 0x40 != 0 {
            // The last eight bytes of an address; a shorter one has zeros before it.
            let mut router = [0; 8];
            if ae == 1 {
                router[4..].copy_from_slice(&bytes[..4])
            } else {
                router.copy_from_slice(&bytes[8..])
            }
            self.router = Some(router);
        }
    }

    /// The bytes of a prefix, with those that are left out.
    fn bytes(&self, reader: &mut Reader<'_>, ae: u8, length: u8, omitted: u8) -> Result<[u8; 16], WireError> {
        let most = if ae == 1 { 32 } else { 128 };
        if length > most {
            let expected = if ae == 1 { "a prefix of 32 bits or less" } else { "a prefix of 128 bits or less" };
            return Err(reader.malformed(expected, length.into()));
        }
        let (omitted, whole) = (usize::from(omitted), octets(length));
        let mut bytes = [0; 16];
        if omitted > 0 {
            let before = self.prefixes[usize::from(ae) - 1];
            let Some(before) = before.filter(|_| omitted <= whole) else {
                return Err(reader.malformed("no bytes left out that no update has said", omitted as u32));
            };
            bytes[..omitted].copy_from_slice(&before[..omitted]);
        }
        bytes[omitted..whole].copy_from_slice(reader.take(whole - omitted)?);
        Ok(bytes)
    }

    /// A destination and its bytes; nothing if its encoding is not known here.
    fn destination(
        &self,
        reader: &mut Reader<'_>,
        ae: u8,
        length: u8,
        omitted: u8,
    ) -> Result<Option<(Target, [u8; 16])>, WireError> {
        match ae {
            // §4.6.9, §4.6.10: with a length, it is to be ignored.
            0 if (length, omitted) != (0, 0) => Ok(None),
            0 => Ok(Some((Target::All, [0; 16]))),
            1 => {
                let bytes = self.bytes(reader, ae, length, omitted)?;
                let address = Ipv4Addr::new(bytes[0], bytes[1], bytes[2], bytes[3]);
                let host = length == 32;
                let it = if host { Target::Host(address) } else { Target::Network(Prefix::of(address, length)) };
                Ok(Some((it, bytes)))
            }
            _ => Ok(None),
        }
    }
}

impl<A: Name> Datagram<A> for Packet<A> {
    fn kind(&self) -> &'static str {
        let mut kinds = self.messages.iter().map(Message::kind);
        let first = kinds.next().unwrap_or("BABEL");
        if kinds.all(|kind| kind == first) { first } else { "BABEL" }
    }

    fn parts(&self, each: &mut dyn FnMut(MessagePart)) {
        for (message, &bytes) in self.messages.iter().zip(&self.sizes) {
            let forwarded = matches!(message, Message::SeqnoRequest { hops, .. } if is_forwarded(*hops));
            each(MessagePart { kind: message.kind(), bytes: bytes.into(), forwarded });
        }
    }

    fn encode(&self, name: &dyn Fn(A) -> Ipv4Addr, out: &mut Vec<u8>) -> Result<Carrier, WireError> {
        self.emit(name, out)?;
        Ok(if self.over_ipv6 { Carrier::Udp6(PORT, GROUP6) } else { Carrier::Udp(PORT) })
    }
}

#[cfg(test)]
mod tests;
