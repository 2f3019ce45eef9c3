//! Advertisements of mobility agents: router advertisements of ICMP with extensions (RFC 5944 §2.1).

use std::net::Ipv4Addr;

use super::{PADDING, SKIPPABLE, type_and_data};
use crate::icmp::{Message, Router};
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

/// An advertisement of an agent (§2.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Advertisement<A = Ipv4Addr> {
    /// The address of the agent's interface.
    pub agent: A,
    /// The number of the advertisement since the agent began. 256 follows on 65535: smaller numbers say that the agent
    /// has begun anew (§2.3.2).
    pub sequence: u16,
    /// The number of seconds for which it is valid.
    pub lifetime: u16,
    /// The longest registration that the agent takes, in seconds; [`super::FOREVER`] for any.
    pub registration_lifetime: u16,
    /// The properties of the agent.
    pub flags: AgentFlags,
    /// Its care-of address, the first if it offers several. A home agent alone offers none; ns-2's names its own
    /// address all the same.
    pub care_of: Option<A>,
    /// How long the prefix of the agent's network is, at most 32, if it says so (§2.1.2).
    pub prefix_length: Option<u8>,
}

impl<A: Copy> Advertisement<A> {
    /// Its bytes: ICMP 8, a router 8, the extension 8; a care-of address 4; the extension with a length of a prefix 3.
    #[must_use]
    pub const fn bytes(&self) -> u32 {
        24 + if self.care_of.is_some() { 4 } else { 0 } + if self.prefix_length.is_some() { 3 } else { 0 }
    }

    /// Appends the bytes of the ICMP message. `name` gives the address that bytes have.
    ///
    /// # Errors
    /// If a prefix is longer than 32 bits.
    pub fn emit(&self, name: &dyn Fn(A) -> Ipv4Addr, out: &mut Vec<u8>) -> Result<(), WireError> {
        let mut extensions = vec![AGENT, if self.care_of.is_some() { 10 } else { 6 }];
        extensions.u16(self.sequence);
        extensions.u16(self.registration_lifetime);
        extensions.u16(self.flags.0 & AgentFlags::ALL.0);
        if let Some(care_of) = self.care_of {
            extensions.address(name(care_of));
        }
        if let Some(length) = self.prefix_length {
            check_length(length)?;
            extensions.extend([PREFIX_LENGTHS, 1, length]);
        }
        let routers = vec![Router { address: name(self.agent), preference: 0 }];
        Message::RouterAdvertisement { common_traffic: true, lifetime: self.lifetime, routers }.emit(&extensions, out)
    }
}

impl Advertisement {
    /// The advertisement in an ICMP message, with its first router.
    ///
    /// # Errors
    /// If the message is unsound or none of an agent. If an extension has an impossible length, or is unknown and may
    /// not be passed over. If there is not one prefix length for each router.
    pub fn parse(bytes: &[u8]) -> Result<Self, WireError> {
        let (message, extensions) = Message::parse(bytes)?;
        let mut reader = Reader::new(FORMAT, extensions);
        let Message::RouterAdvertisement { lifetime, routers, .. } = message else {
            return Err(reader.malformed("a router advertisement", bytes[0].into()));
        };
        let Some(agent) = routers.first().map(|it| it.address) else {
            return Err(reader.malformed("a router", 0));
        };
        let (mut found, mut prefix_length) = (None, None);
        while !reader.bytes.is_empty() {
            let (kind, data) = type_and_data(&mut reader)?;
            let length = data.len() as u32;
            match kind {
                PADDING | SKIPPABLE.. => {}
                AGENT => {
                    if length < 6 || length % 4 != 2 {
                        return Err(reader.malformed("a length of 6 and 4 for each care-of address", length));
                    }
                    let mut inner = Reader::new(FORMAT, data);
                    let (sequence, registration_lifetime) = (inner.u16()?, inner.u16()?);
                    let flags = AgentFlags(inner.u16()? & AgentFlags::ALL.0);
                    let care_of = inner.address().ok();
                    found = Some((sequence, registration_lifetime, flags, care_of));
                }
                PREFIX_LENGTHS => {
                    if data.len() != routers.len() {
                        return Err(reader.malformed("one prefix length for each router", length));
                    }
                    data.iter().try_for_each(|&length| check_length(length))?;
                    prefix_length = data.first().copied();
                }
                _ => return Err(reader.malformed("an extension of type 0, 16, 19, or 128 or more", u32::from(kind))),
            }
        }
        let (sequence, registration_lifetime, flags, care_of) =
            found.ok_or_else(|| reader.malformed("the extension of an agent", 0))?;
        Ok(Self { agent, sequence, lifetime, registration_lifetime, flags, care_of, prefix_length })
    }
}

fn check_length(length: u8) -> Result<(), WireError> {
    if length <= 32 {
        return Ok(());
    }
    let (expected, found) = ("a prefix length of at most 32", u32::from(length));
    Err(WireError::Malformed { format: FORMAT, expected, found })
}
