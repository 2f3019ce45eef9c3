//! The options header of DSR (RFC 4728 §6). It stands between the IP header and what IP carries, as IP protocol 48.
//!
//! Left out: the options of the flow state extension (§7).

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
}

/// What a route error reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RouteError {
    /// Type 1: the next hop cannot be reached (§6.4.1).
    NodeUnreachable(Ipv4Addr),
    /// Type 3: the node does not know an option of this type (§6.4.3).
    OptionNotSupported(u8),
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
            Self::AckRequest { .. } => 4,
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
                    _ => return Err(reader.malformed("an error of type 1 or 3", u32::from(kind))),
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
            160 => Self::AckRequest { identification: reader.u16()? },
            _ => return Err(reader.malformed("an option of type 1, 2, 3, 32, 96 or 160", u32::from(kind))),
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
                out.u8(if matches!(error, RouteError::NodeUnreachable(_)) { 1 } else { 3 });
                out.u8(*salvage);
                out.address(*source);
                out.address(*destination);
                match *error {
                    RouteError::NodeUnreachable(address) => out.address(address),
                    RouteError::OptionNotSupported(kind) => out.u8(kind),
                }
            }
            Self::AckRequest { identification } => out.u16(*identification),
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

/// The header and its options.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    /// What follows the header; [`Protocol::NO_NEXT_HEADER`] for nothing.
    pub next: Protocol,
    /// The options, in order.
    pub options: Vec<DsrOption>,
}

impl Header {
    /// The bytes of the header with its options.
    #[must_use]
    pub fn len(&self) -> usize {
        FIXED + self.options.iter().map(DsrOption::len).sum::<usize>()
    }

    /// Whether the header has no bytes: every header has some.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        false
    }

    /// The header, and what follows it. Padding (Pad1 and PadN, §6.8) is left out.
    ///
    /// # Errors
    /// If the bytes end too early, an option is unknown, or its length is not that of its fields.
    pub fn parse(bytes: &[u8]) -> Result<(Self, &[u8]), WireError> {
        let mut reader = Reader::new(FORMAT, bytes);
        let next = Protocol(reader.u8()?);
        let flags = reader.u8()?;
        // §6.1: F marks the header of the flow state extension, which has another form.
        reader.constant("no flow state header", 0, u32::from(flags >> 7))?;
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
        Ok((Self { next, options }, reader.bytes))
    }

    /// Appends the header with its options; `payload` follows it.
    ///
    /// # Errors
    /// If a value is too large for its field.
    pub fn emit(&self, payload: &[u8], out: &mut Vec<u8>) -> Result<(), WireError> {
        limit("bytes", 0xffff, self.len() - FIXED)?;
        out.u8(self.next.0);
        out.u8(0);
        out.u16((self.len() - FIXED) as u16);
        for option in &self.options {
            option.emit(out)?;
        }
        out.extend_from_slice(payload);
        Ok(())
    }
}

/// The type of one byte of padding.
const PAD_1: u8 = 224;
/// The type of padding with a length.
const PAD_N: u8 = 0;

#[cfg(test)]
mod tests;
