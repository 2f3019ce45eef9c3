//! The options header of DSR (RFC 4728 §6). It stands between the IP header and the payload of IP, as IP protocol 48.
//!
//! Parts of the flow state extension (§7): the header, the Timeout option and the errors. Left out: the Destination and
//! Flow ID option (§7.2.2) and the Previous Hop Address extension (§7.4.1).

use std::net::Ipv4Addr;

use super::ipv4::Protocol;
use super::{Reader, WireError, Write};

const FORMAT: &str = "DSR";

/// The bytes of the header before its options (§6.1), and of the header of the flow state extension (§7.1).
pub const FIXED: u32 = 4;

/// The greatest number of addresses in an option: its length field counts up to 255 bytes.
pub const MOST_ADDRESSES: usize = 62;

/// An option.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DsrOption<A = Ipv4Addr> {
    /// Type 1, a route request (§6.2), which travels in a broadcast packet.
    RouteRequest {
        /// The number of the request among the requests of its initiator, which is the packet's source.
        identification: u16,
        /// The node that is searched.
        target: A,
        /// The nodes that have forwarded the request, in order; at most [`MOST_ADDRESSES`].
        addresses: Vec<A>,
    },
    /// Type 2, a route reply (§6.3).
    RouteReply {
        /// L: whether the last hop is outside of the DSR network.
        last_hop_external: bool,
        /// The route: the hops after its source, the target included; at most [`MOST_ADDRESSES`].
        addresses: Vec<A>,
    },
    /// Type 3, a route error (§6.4).
    RouteError {
        /// The reported error.
        error: RouteError<A>,
        /// How often the packet that met the error had been salvaged, below 16.
        salvage: u8,
        /// The node that found the error.
        source: A,
        /// The node that is told.
        destination: A,
    },
    /// Type 160, a request for an acknowledgement by the next hop (§6.5).
    AckRequest {
        /// The number of the request among the requests of its sender to the next hop.
        identification: u16,
    },
    /// Type 32, an acknowledgement (§6.6).
    Ack {
        /// The number of the request.
        identification: u16,
        /// The node that acknowledges.
        source: A,
        /// The node that asked.
        destination: A,
    },
    /// Type 96, a source route (§6.7).
    SourceRoute(SourceRoute<A>),
    /// Type 128, how long nodes remember the flow that the packet establishes (§7.2.1), in seconds.
    Timeout(u16),
    /// The header of the flow state extension (§7.1), which stands before the others and needs none of them.
    Flow {
        /// The number of the flow among the flows of the packet's source.
        identification: u16,
        /// How many hops the packet has taken along the flow, below 128.
        hops: u8,
    },
}

/// The error that a route error reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RouteError<A = Ipv4Addr> {
    /// Type 1: the next hop cannot be reached (§6.4.1).
    NodeUnreachable(A),
    /// Type 3: the node does not know an option of this type (§6.4.3).
    OptionNotSupported(u8),
    /// Type 129: the flow to this destination with this number is not known (§7.3.1).
    UnknownFlow(A, u16),
    /// Type 130: no default flow to this destination is known (§7.3.2).
    DefaultFlowUnknown(A),
}

/// The source route of a packet: the hops between its source and its destination (§6.7).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceRoute<A = Ipv4Addr> {
    /// Whether the first hop is outside of the network that uses DSR.
    pub first_hop_external: bool,
    /// Whether the last hop is outside of the network that uses DSR.
    pub last_hop_external: bool,
    /// How often the packet has been salvaged, below 16.
    pub salvage: u8,
    segments_left: u8,
    addresses: Vec<A>,
}

impl<A: Copy> SourceRoute<A> {
    /// A route at its source, over these hops in order. Nothing if it has more hops than fit, [`MOST_ADDRESSES`].
    #[must_use]
    pub fn new(addresses: Vec<A>) -> Option<Self> {
        let segments_left = u8::try_from(addresses.len()).ok().filter(|_| addresses.len() <= MOST_ADDRESSES)?;
        Some(Self { first_hop_external: false, last_hop_external: false, salvage: 0, segments_left, addresses })
    }

    /// A route at a node that salvages the packet: the node itself stands first, and has been visited (§8.3.6). Nothing
    /// if it has more hops than fit, or no hop at all.
    #[must_use]
    pub fn salvaged(addresses: Vec<A>, salvage: u8) -> Option<Self> {
        let mut route = Self::new(addresses)?;
        route.salvage = salvage;
        route.visit().then_some(route)
    }

    /// A route at a gateway for a packet from outside: the gateway itself stands first, and has been visited. The flag
    /// F says that the hop to it is not one of the network (§6.7). Nothing if it has more hops than fit, or no hop.
    #[must_use]
    pub fn entering(addresses: Vec<A>) -> Option<Self> {
        let mut route = Self::new(addresses)?;
        route.first_hop_external = true;
        route.visit().then_some(route)
    }

    /// The hops between source and destination, including the hops that the packet has passed.
    #[must_use]
    pub fn addresses(&self) -> &[A] {
        &self.addresses
    }

    /// How many of the hops are still to be visited.
    #[must_use]
    pub const fn segments_left(&self) -> u8 {
        self.segments_left
    }

    /// The hop that the packet goes to now: the next one of the route, or the packet's destination after the last.
    #[must_use]
    pub fn next_hop(&self, destination: A) -> A {
        let place = self.addresses.len() - usize::from(self.segments_left);
        self.addresses.get(place).copied().unwrap_or(destination)
    }

    /// The packet has reached the next hop of the route (§8.1.5). False if the route was at its end already.
    pub const fn visit(&mut self) -> bool {
        match self.segments_left.checked_sub(1) {
            Some(left) => {
                self.segments_left = left;
                true
            }
            None => false,
        }
    }
}

impl<A> RouteError<A> {
    const fn number(&self) -> u8 {
        match self {
            Self::NodeUnreachable(_) => 1,
            Self::OptionNotSupported(_) => 3,
            Self::UnknownFlow(..) => 129,
            Self::DefaultFlowUnknown(_) => 130,
        }
    }
}

impl<A: Copy> DsrOption<A> {
    /// Every name of [`Self::kind`].
    pub const KINDS: [&'static str; 8] =
        ["route_request", "route_reply", "route_error", "ack_request", "ack", "source_route", "timeout", "flow"];

    /// A short name for counters.
    #[must_use]
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::RouteRequest { .. } => "route_request",
            Self::RouteReply { .. } => "route_reply",
            Self::RouteError { .. } => "route_error",
            Self::AckRequest { .. } => "ack_request",
            Self::Ack { .. } => "ack",
            Self::SourceRoute(_) => "source_route",
            Self::Timeout(_) => "timeout",
            Self::Flow { .. } => "flow",
        }
    }

    /// The bytes of the option, its type and its length included.
    #[must_use]
    pub const fn bytes(&self) -> u32 {
        match self {
            Self::RouteRequest { addresses, .. } => 8 + 4 * addresses.len() as u32,
            Self::RouteReply { addresses, .. } => 3 + 4 * addresses.len() as u32,
            Self::RouteError { error: RouteError::NodeUnreachable(_), .. } => 16,
            Self::RouteError { error: RouteError::OptionNotSupported(_), .. } => 13,
            Self::RouteError { error: RouteError::UnknownFlow(..), .. } => 18,
            Self::RouteError { error: RouteError::DefaultFlowUnknown(_), .. } => 16,
            Self::AckRequest { .. } | Self::Timeout(_) | Self::Flow { .. } => 4,
            Self::Ack { .. } => 12,
            Self::SourceRoute(route) => 4 + 4 * route.addresses.len() as u32,
        }
    }

    const fn is_flow(&self) -> bool {
        matches!(self, Self::Flow { .. })
    }

    fn emit(&self, name: &dyn Fn(A) -> Ipv4Addr, out: &mut Vec<u8>) -> Result<(), WireError> {
        limit("bytes of an option", 2 + 0xff, self.bytes() as usize)?;
        let mut head = |number| out.extend([number, (self.bytes() - 2) as u8]);
        match self {
            Self::RouteRequest { identification, target, addresses } => {
                head(1);
                out.u16(*identification);
                out.address(name(*target));
                addresses.iter().for_each(|&address| out.address(name(address)));
            }
            Self::RouteReply { last_hop_external, addresses } => {
                head(2);
                out.u8(u8::from(*last_hop_external) << 7);
                addresses.iter().for_each(|&address| out.address(name(address)));
            }
            Self::RouteError { error, salvage, source, destination } => {
                limit("salvages", 0x0f, usize::from(*salvage))?;
                head(3);
                out.extend([error.number(), *salvage]);
                out.address(name(*source));
                out.address(name(*destination));
                match *error {
                    RouteError::NodeUnreachable(address) | RouteError::DefaultFlowUnknown(address) => {
                        out.address(name(address));
                    }
                    RouteError::OptionNotSupported(kind) => out.u8(kind),
                    RouteError::UnknownFlow(address, flow) => {
                        out.address(name(address));
                        out.u16(flow);
                    }
                }
            }
            Self::AckRequest { identification } => {
                head(160);
                out.u16(*identification);
            }
            Self::Ack { identification, source, destination } => {
                head(32);
                out.u16(*identification);
                out.address(name(*source));
                out.address(name(*destination));
            }
            Self::SourceRoute(route) => {
                limit("salvages", 0x0f, usize::from(route.salvage))?;
                head(96);
                let flags = u16::from(route.first_hop_external) << 15 | u16::from(route.last_hop_external) << 14;
                out.u16(flags | u16::from(route.salvage) << 6 | u16::from(route.segments_left));
                route.addresses.iter().for_each(|&address| out.address(name(address)));
            }
            Self::Timeout(seconds) => {
                head(128);
                out.u16(*seconds);
            }
            // It has a header of its own.
            Self::Flow { .. } => {}
        }
        Ok(())
    }
}

impl DsrOption {
    fn parse(kind: u8, data: &[u8]) -> Result<Self, WireError> {
        let mut reader = Reader::new(FORMAT, data);
        let option = match kind {
            1 => Self::RouteRequest {
                identification: reader.u16()?,
                target: reader.address()?,
                addresses: addresses(&mut reader)?,
            },
            2 => {
                let last_hop_external = reader.u8()? & 0x80 != 0;
                Self::RouteReply { last_hop_external, addresses: addresses(&mut reader)? }
            }
            3 => {
                let (kind, salvage) = (reader.u8()?, reader.u8()? & 0x0f);
                let (source, destination) = (reader.address()?, reader.address()?);
                let error = match kind {
                    1 => RouteError::NodeUnreachable(reader.address()?),
                    3 => RouteError::OptionNotSupported(reader.u8()?),
                    129 => RouteError::UnknownFlow(reader.address()?, reader.u16()?),
                    130 => RouteError::DefaultFlowUnknown(reader.address()?),
                    _ => return Err(reader.malformed("an error of type 1, 3, 129 or 130", u32::from(kind))),
                };
                Self::RouteError { error, salvage, source, destination }
            }
            32 => {
                Self::Ack { identification: reader.u16()?, source: reader.address()?, destination: reader.address()? }
            }
            96 => {
                let fields = reader.u16()?;
                let (segments_left, addresses) = ((fields & 0x3f) as u8, addresses(&mut reader)?);
                if usize::from(segments_left) > addresses.len() {
                    // §8.1.5: such a packet is discarded.
                    return Err(reader.malformed("no more segments left than addresses", u32::from(segments_left)));
                }
                Self::SourceRoute(SourceRoute {
                    first_hop_external: fields & 0x8000 != 0,
                    last_hop_external: fields & 0x4000 != 0,
                    salvage: (fields >> 6 & 0x0f) as u8,
                    segments_left,
                    addresses,
                })
            }
            128 => Self::Timeout(reader.u16()?),
            160 => Self::AckRequest { identification: reader.u16()? },
            _ => return Err(reader.malformed("an option of type 1, 2, 3, 32, 96, 128 or 160", u32::from(kind))),
        };
        match reader.bytes {
            [] => Ok(option),
            rest => Err(reader.malformed("no bytes after the option's fields", rest.len() as u32)),
        }
    }
}

/// The addresses that fill the rest of an option.
fn addresses(reader: &mut Reader<'_>) -> Result<Vec<Ipv4Addr>, WireError> {
    let mut addresses = Vec::with_capacity(reader.bytes.len() / 4);
    while !reader.bytes.is_empty() {
        addresses.push(reader.address()?);
    }
    Ok(addresses)
}

fn limit(unit: &'static str, limit: usize, found: usize) -> Result<(), WireError> {
    if found > limit { Err(WireError::TooLong { format: FORMAT, unit, limit, found }) } else { Ok(()) }
}

/// The bytes of the header with these options; none without an option. The header of the flow state extension stands
/// before the header of the options, or alone (§7.1).
#[must_use]
pub fn header_bytes<A: Copy>(options: &[DsrOption<A>]) -> u32 {
    let header = if options.iter().all(DsrOption::is_flow) { 0 } else { FIXED };
    header + options.iter().map(DsrOption::bytes).sum::<u32>()
}

/// Appends the header with its options, and the `payload`, which is of the protocol `next`;
/// [`Protocol::NO_NEXT_HEADER`] for nothing. `name` gives the address that bytes have.
///
/// # Errors
/// If a value is too large for its field.
pub fn emit<A: Copy>(
    options: &[DsrOption<A>],
    next: Protocol,
    payload: &[u8],
    name: &dyn Fn(A) -> Ipv4Addr,
    out: &mut Vec<u8>,
) -> Result<(), WireError> {
    let stands_alone = !options.is_empty() && options.iter().all(DsrOption::is_flow);
    if let Some(&DsrOption::Flow { identification, hops }) = options.iter().find(|option| option.is_flow()) {
        limit("hops of a flow", usize::from(!FLOW), usize::from(hops))?;
        out.extend([if stands_alone { next } else { Protocol::DSR }.0, FLOW | hops]);
        out.u16(identification);
    }
    if !stands_alone {
        let length = options.iter().filter(|option| !option.is_flow()).map(DsrOption::bytes).sum::<u32>();
        limit("bytes", 0xffff, length as usize)?;
        out.extend([next.0, 0]);
        out.u16(length as u16);
    }
    options.iter().try_for_each(|option| option.emit(name, out))?;
    out.extend_from_slice(payload);
    Ok(())
}

/// The header and its options, as they are parsed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    /// The protocol after the header; [`Protocol::NO_NEXT_HEADER`] for nothing.
    pub next: Protocol,
    /// The options, in order.
    pub options: Vec<DsrOption>,
}

impl Header {
    /// The header, and the bytes after it. Padding (Pad1 and PadN, §6.8) is left out.
    ///
    /// # Errors
    /// If the bytes end too early, an option is unknown, or its length does not fit its fields.
    pub fn parse(bytes: &[u8]) -> Result<(Self, &[u8]), WireError> {
        let mut reader = Reader::new(FORMAT, bytes);
        let (mut next, mut flags) = (Protocol(reader.u8()?), reader.u8()?);
        let mut options = Vec::new();
        // §7.1: F marks the header of the flow state extension, which has another form.
        if flags & FLOW != 0 {
            options.push(DsrOption::Flow { identification: reader.u16()?, hops: flags & !FLOW });
            if next != Protocol::DSR {
                return Ok((Self { next, options }, reader.bytes));
            }
            (next, flags) = (Protocol(reader.u8()?), reader.u8()?);
        }
        reader.constant("one flow state header", 0, u32::from(flags & FLOW))?;
        let length = usize::from(reader.u16()?);
        let mut inside = Reader::new(FORMAT, reader.take(length)?);
        while !inside.bytes.is_empty() {
            match inside.u8()? {
                PAD_1 => {}
                kind => {
                    let length = inside.u8()?;
                    let data = inside.take(usize::from(length))?;
                    if kind != PAD_N {
                        options.push(DsrOption::parse(kind, data)?);
                    }
                }
            }
        }
        Ok((Self { next, options }, reader.bytes))
    }
}

/// The flag of the flow state header.
const FLOW: u8 = 0x80;
/// The type of one byte of padding.
const PAD_1: u8 = 224;
/// The type of padding with a length.
const PAD_N: u8 = 0;

#[cfg(test)]
mod tests;
