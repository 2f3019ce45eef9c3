//! The extensions of router advertisements by which mobility agents are found (RFC 5944 §2.1).

use std::net::Ipv4Addr;

use super::{PADDING, SKIPPABLE, check_skippable, emit_data, type_and_data};
use crate::{Reader, WireError, Write};

const FORMAT: &str = "agent advertisement";
const AGENT: u8 = 16;
const PREFIX_LENGTHS: u8 = 19;

/// The flags of a mobility agent (§2.1.1; U is of RFC 3519, X and I are of RFC 3543).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct AgentFlags(pub u16);

impl AgentFlags {
    /// R: mobile nodes must register with this agent, even with a co-located care-of address.
    pub const REGISTRATION_REQUIRED: Self = Self(0x8000);
    /// B: the foreign agent takes no more registrations.
    pub const BUSY: Self = Self(0x4000);
    /// H: the agent is a home agent on this link.
    pub const HOME_AGENT: Self = Self(0x2000);
    /// F: the agent is a foreign agent on this link.
    pub const FOREIGN_AGENT: Self = Self(0x1000);
    /// M: it receives tunnels with minimal encapsulation (RFC 2004).
    pub const MINIMAL_ENCAPSULATION: Self = Self(0x0800);
    /// G: it receives tunnels with GRE.
    pub const GRE: Self = Self(0x0400);
    /// r: sent as zero, ignored on reception.
    pub const RESERVED_R: Self = Self(0x0200);
    /// T: it supports reverse tunnels (RFC 3024).
    pub const REVERSE_TUNNEL: Self = Self(0x0100);
    /// U: it supports tunnels in UDP.
    pub const UDP_TUNNEL: Self = Self(0x0080);
    /// X: it supports the revocation of registrations.
    pub const REVOCATION: Self = Self(0x0040);
    /// I: it supports telling the mobile node of a revocation.
    pub const REVOCATION_INFORM: Self = Self(0x0020);
    /// All flags. The other bits are reserved: sent as zero, ignored on reception.
    pub const ALL: Self = Self(0xffe0);

    /// Whether all bits of `other` are set.
    #[must_use]
    pub const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }
}

impl std::ops::BitOr for AgentFlags {
    type Output = Self;
    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

/// The mobility agent advertisement extension (§2.1.1), 8 bytes and 4 for each care-of address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentAdvertisement {
    /// The number of the advertisement since the agent began. 256 follows on 65535: smaller numbers say that the agent
    /// has begun anew (§2.3.2).
    pub sequence: u16,
    /// The longest registration that the agent takes, in seconds; [`super::FOREVER`] for any.
    pub registration_lifetime: u16,
    /// What the agent is and can.
    pub flags: AgentFlags,
    /// The care-of addresses that it offers, at most 62; a foreign agent offers at least one.
    pub care_of: Vec<Ipv4Addr>,
}

/// An extension of a router advertisement (§1.8).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AgentExtension {
    /// Type 0: a byte without meaning, which has no length (§2.1.3).
    Padding,
    /// Type 16.
    Agent(AgentAdvertisement),
    /// Type 19: the length of the prefix of each router in the advertisement, in order, at most 32 (§2.1.2).
    PrefixLengths(Vec<u8>),
    /// An extension that this crate does not know and its receiver may pass over.
    Skippable {
        /// Its type; at least 128.
        kind: u8,
        /// Its data, at most 255 bytes.
        data: Vec<u8>,
    },
}

impl AgentExtension {
    /// The extensions that follow so many routers in a router advertisement, up to the end of the bytes.
    ///
    /// # Errors
    /// If the bytes end too early, an extension is unknown and may not be passed over, or has an impossible length, or
    /// there is not one prefix length for each router.
    pub fn parse_all(bytes: &[u8], routers: usize) -> Result<Vec<Self>, WireError> {
        let mut reader = Reader::new(FORMAT, bytes);
        let mut extensions = Vec::new();
        while !reader.bytes.is_empty() {
            let (kind, data) = type_and_data(&mut reader)?;
            let length = data.len() as u32;
            extensions.push(match kind {
                PADDING => Self::Padding,
                AGENT => {
                    if length < 6 || length % 4 != 2 {
                        return Err(reader.malformed("a length of 6 and 4 for each care-of address", length));
                    }
                    let mut inner = Reader::new(FORMAT, data);
                    let (sequence, registration_lifetime) = (inner.u16()?, inner.u16()?);
                    let flags = AgentFlags(inner.u16()? & AgentFlags::ALL.0);
                    let care_of = inner.bytes.chunks_exact(4).map(|it| Ipv4Addr::new(it[0], it[1], it[2], it[3]));
                    let care_of = care_of.collect();
                    Self::Agent(AgentAdvertisement { sequence, registration_lifetime, flags, care_of })
                }
                PREFIX_LENGTHS => {
                    if data.len() != routers {
                        return Err(reader.malformed("one prefix length for each router", length));
                    }
                    check_lengths(data)?;
                    Self::PrefixLengths(data.to_vec())
                }
                SKIPPABLE.. => Self::Skippable { kind, data: data.to_vec() },
                _ => return Err(reader.malformed("an extension of type 0, 16, 19, or 128 or more", u32::from(kind))),
            });
        }
        Ok(extensions)
    }

    /// Appends the extension's bytes.
    ///
    /// # Errors
    /// If it is too long, a prefix is longer than 32 bits, or a skippable one has a type below 128.
    pub fn emit(&self, out: &mut Vec<u8>) -> Result<(), WireError> {
        match self {
            Self::Padding => out.u8(PADDING),
            Self::Agent(it) => {
                let mut data = Vec::with_capacity(6 + 4 * it.care_of.len());
                data.u16(it.sequence);
                data.u16(it.registration_lifetime);
                data.u16(it.flags.0 & AgentFlags::ALL.0);
                it.care_of.iter().for_each(|&address| data.address(address));
                emit_data(FORMAT, AGENT, &data, out)?;
            }
            Self::PrefixLengths(lengths) => {
                check_lengths(lengths)?;
                emit_data(FORMAT, PREFIX_LENGTHS, lengths, out)?;
            }
            Self::Skippable { kind, data } => {
                check_skippable(FORMAT, *kind, &[])?;
                emit_data(FORMAT, *kind, data, out)?;
            }
        }
        Ok(())
    }
}

fn check_lengths(lengths: &[u8]) -> Result<(), WireError> {
    match lengths.iter().find(|&&length| length > 32) {
        Some(&length) => {
            let (expected, found) = ("a prefix length of at most 32", u32::from(length));
            Err(WireError::Malformed { format: FORMAT, expected, found })
        }
        None => Ok(()),
    }
}
