//! The options header of DSR (RFC 4728 §6). It stands between the IP header and what IP carries, as IP protocol 48.
//!
//! Of the flow state extension (§7): the header, the Timeout option and the errors.

use std::net::Ipv4Addr;

use super::ipv4::Protocol;
use super::{Reader, WireError, Write};

const FORMAT: &str = "DSR";

/// The bytes of the header before its options (§6.1).
pub const FIXED: usize = 4;

/// An option.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DsrOption {
    /// Type 1, a route request (§6.2).
    RouteRequest {
        /// The number of the request among those of its initiator.
        identification: u16,
        /// The node that is searched.
        target: Ipv4Addr,
        /// The nodes that have forwarded the request, in order.
        addresses: Vec<Ipv4Addr>,
    },
    /// Type 2, a route reply (§6.3).
    RouteReply {
        /// L: whether the last hop is outside of the DSR network.
        last_hop_external: bool,
        /// The route: the hops after its source, the target included.
        addresses: Vec<Ipv4Addr>,
    },
    /// Type 3, a route error (§6.4).
    RouteError {
        /// What is wrong.
        error: RouteError,
        /// How often the packet that met the error had been salvaged, below 16.
        salvage: u8,
        /// The node that found the error.
        source: Ipv4Addr,
        /// The node that is told.
        destination: Ipv4Addr,
    },
    /// Type 160, a request for an acknowledgement by the next hop (§6.5).
    AckRequest {
        /// The number of the request among those of its sender to the next hop.
        identification: u16,
    },
    /// Type 32, an acknowledgement (§6.6).
    Ack {
        /// The number of the request.
        identification: u16,
        /// The node that acknowledges.
        source: Ipv4Addr,
        /// The node that asked.
        destination: Ipv4Addr,
    },
    /// Type 96, a source route (§6.7).
    SourceRoute {
        /// F: whether the first hop is outside of the DSR network.
        first_hop_external: bool,
        /// L: whether the last hop is outside of the DSR network.
        last_hop_external: bool,
        /// How often the packet has been salvaged, below 16.
        salvage: u8,
        /// How many of the addresses are still to be visited, below 64.
        segments_left: u8,
        /// The hops between the source and the destination of the packet.
        addresses: Vec<Ipv4Addr>,
    },
    /// Type 128, how long a flow is remembered (§7.2.1).
    Timeout {
        /// In seconds.
        seconds: u16,
    },
}

/// What a route error reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RouteError {
    /// Type 1: the next hop cannot be reached (§6.4.1).
    NodeUnreachable(Ipv4Addr),
    /// Type 3: the node does not know an option of this type (§6.4.3).
    OptionNotSupported(u8),
    /// Type 129: the flow to this destination with this number is not known (§7.3.1).
    UnknownFlow(Ipv4Addr, u16),
    /// Type 130: no default flow to this destination is known (§7.3.2).
    DefaultFlowUnknown(Ipv4Addr),
}

impl RouteError {
    const fn kind(self) -> u8 {
        match self {
            Self::NodeUnreachable(_) => 1,
            Self::OptionNotSupported(_) => 3,
            Self::UnknownFlow(..) => 129,
            Self::DefaultFlowUnknown(_) => 130,
        }
    }
}

impl DsrOption {
    /// The bytes of the option, its type and its length included.
    #[must_use]
    pub const fn len(&self) -> usize {
        match self {
            Self::RouteRequest { addresses, .. } => 8 + 4 * addresses.len(),
            Self::RouteReply { addresses, .. } => 3 + 4 * addresses.len(),
            Self::RouteError { error: RouteError::NodeUnreachable(_), .. } => 16,
            Self::RouteError { error: RouteError::OptionNotSupported(_), .. } => 13,
            Self::RouteError { error: RouteError::UnknownFlow(..), .. } => 18,
            Self::RouteError { error: RouteError::DefaultFlowUnknown(_), .. } => 16,
            Self::AckRequest { .. } | Self::Timeout { .. } => 4,
            Self::Ack { .. } => 12,
            Self::SourceRoute { addresses, .. } => 4 + 4 * addresses.len(),
        }
    }

    /// Whether the option has no bytes: no option has.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        false
    }

    const fn kind(&self) -> u8 {
        match self {
            Self::RouteRequest { .. } => 1,
            Self::RouteReply { .. } => 2,
            Self::RouteError { .. } => 3,
            Self::Ack { .. } => 32,
            Self::SourceRoute { .. } => 96,
            Self::Timeout { .. } => 128,
            Self::AckRequest { .. } => 160,
        }
    }

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
                let route = Self::SourceRoute {
                    first_hop_external: fields & 0x8000 != 0,
                    last_hop_external: fields & 0x4000 != 0,
                    salvage: (fields >> 6 & 0x0f) as u8,
                    segments_left: (fields & 0x3f) as u8,
                    addresses: addresses(&mut reader)?,
                };
                if let Self::SourceRoute { segments_left, addresses, .. } = &route
                    && usize::from(*segments_left) > addresses.len()
                {
                    // §8.1.5: such a packet is discarded.
                    return Err(reader.malformed("no more segments left than addresses", u32::from(*segments_left)));
                }
                route
            }
            128 => Self::Timeout { seconds: reader.u16()? },
            160 => Self::AckRequest { identification: reader.u16()? },
            _ => return Err(reader.malformed("an option of type 1, 2, 3, 32, 96, 128 or 160", u32::from(kind))),
        };
        match reader.bytes {
            [] => Ok(option),
            rest => Err(reader.malformed("no bytes after the option's fields", rest.len() as u32)),
        }
    }

    fn emit(&self, out: &mut Vec<u8>) -> Result<(), WireError> {
        limit("bytes of an option", 2 + 0xff, self.len())?;
        out.u8(self.kind());
        out.u8((self.len() - 2) as u8);
        match self {
            Self::RouteRequest { identification, target, addresses } => {
                out.u16(*identification);
                out.address(*target);
                addresses.iter().for_each(|address| out.address(*address));
            }
            Self::RouteReply { last_hop_external, addresses } => {
                out.u8(u8::from(*last_hop_external) << 7);
                addresses.iter().for_each(|address| out.address(*address));
            }
            Self::RouteError { error, salvage, source, destination } => {
                limit("salvages", 0x0f, usize::from(*salvage))?;
                out.u8(error.kind());
                out.u8(*salvage);
                out.address(*source);
                out.address(*destination);
                match *error {
                    RouteError::NodeUnreachable(address) => out.address(address),
                    RouteError::OptionNotSupported(kind) => out.u8(kind),
                    RouteError::UnknownFlow(address, flow) => {
                        out.address(address);
                        out.u16(flow);
                    }
                    RouteError::DefaultFlowUnknown(address) => out.address(address),
                }
            }
            Self::AckRequest { identification } => out.u16(*identification),
            Self::Timeout { seconds } => out.u16(*seconds),
            Self::Ack { identification, source, destination } => {
                out.u16(*identification);
                out.address(*source);
                out.address(*destination);
            }
            Self::SourceRoute { first_hop_external, last_hop_external, salvage, segments_left, addresses } => {
                limit("salvages", 0x0f, usize::from(*salvage))?;
                limit("segments left", addresses.len().min(0x3f), usize::from(*segments_left))?;
                let flags = u16::from(*first_hop_external) << 15 | u16::from(*last_hop_external) << 14;
                out.u16(flags | u16::from(*salvage) << 6 | u16::from(*segments_left));
                addresses.iter().for_each(|address| out.address(*address));
            }
        }
        Ok(())
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

/// The header of the flow state extension (§7.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flow {
    /// The number of the flow among those of the packet's source.
    pub identification: u16,
    /// How many hops the packet has taken, below 128.
    pub hops: u8,
}

/// The header and its options.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    /// The header of the flow state extension, which stands first. Without options it stands alone.
    pub flow: Option<Flow>,
    /// What follows the header; [`Protocol::NO_NEXT_HEADER`] for nothing.
    pub next: Protocol,
    /// The options, in order.
    pub options: Vec<DsrOption>,
}

impl Header {
    /// The bytes of the header with its options.
    #[must_use]
    pub fn len(&self) -> usize {
        let options: usize = self.options.iter().map(DsrOption::len).sum();
        let header = if self.stands_alone() { 0 } else { FIXED };
        header + options + if self.flow.is_some() { FIXED } else { 0 }
    }

    /// Whether the header has no bytes: every header has some.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        false
    }

    /// Whether the flow state header needs no other.
    const fn stands_alone(&self) -> bool {
        self.flow.is_some() && self.options.is_empty()
    }

    /// The header, and what follows it. Padding (Pad1 and PadN, §6.8) is left out.
    ///
    /// # Errors
    /// If the bytes end too early, an option is unknown, or its length is not that of its fields.
    pub fn parse(bytes: &[u8]) -> Result<(Self, &[u8]), WireError> {
        let mut reader = Reader::new(FORMAT, bytes);
        let (mut next, mut flags) = (Protocol(reader.u8()?), reader.u8()?);
        let mut flow = None;
        // §7.1: F marks the header of the flow state extension, which has another form.
        if flags & FLOW != 0 {
            flow = Some(Flow { identification: reader.u16()?, hops: flags & !FLOW });
            if next != Protocol::DSR {
                return Ok((Self { flow, next, options: Vec::new() }, reader.bytes));
            }
            (next, flags) = (Protocol(reader.u8()?), reader.u8()?);
        }
        reader.constant("one flow state header", 0, u32::from(flags & FLOW))?;
        let length = usize::from(reader.u16()?);
        let mut inside = Reader::new(FORMAT, reader.take(length)?);
        let mut options = Vec::new();
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
        Ok((Self { flow, next, options }, reader.bytes))
    }

    /// Appends the header with its options; `payload` follows it.
    ///
    /// # Errors
    /// If a value is too large for its field.
    pub fn emit(&self, payload: &[u8], out: &mut Vec<u8>) -> Result<(), WireError> {
        let length = self.options.iter().map(DsrOption::len).sum();
        limit("bytes", 0xffff, length)?;
        if let Some(flow) = self.flow {
            limit("hops of a flow", usize::from(!FLOW), usize::from(flow.hops))?;
            out.u8(if self.stands_alone() { self.next } else { Protocol::DSR }.0);
            out.u8(FLOW | flow.hops);
            out.u16(flow.identification);
        }
        if !self.stands_alone() {
            out.u8(self.next.0);
            out.u8(0);
            out.u16(length as u16);
        }
        for option in &self.options {
            option.emit(out)?;
        }
        out.extend_from_slice(payload);
        Ok(())
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
