//! Mobile IP (RFC 5944): the messages of registration, which UDP carries to and from port 434.
//!
//! [`advertisement`] has the extensions of router advertisements by which agents are found, [`Code`] the answers to
//! requests. Reverse tunnels add an extension and codes (RFC 3024). Authenticators are bytes here; [`check_value`] is
//! what the simulator writes into them.

use std::net::Ipv4Addr;

use super::{Reader, WireError, Write};

pub mod advertisement;
mod code;

pub use advertisement::{AgentAdvertisement, AgentExtension, AgentFlags};
pub use code::{Code, Denier};

const FORMAT: &str = "Mobile IP";

/// The lifetime that stands for ever, of a registration as in an agent's advertisement (§2.1.1, §3.3).
pub const FOREVER: u16 = 0xffff;

/// The flags of a registration request (§3.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct RequestFlags(pub u8);

impl RequestFlags {
    /// S: the home agent keeps the mobile node's earlier bindings.
    pub const SIMULTANEOUS: Self = Self(0x80);
    /// B: the home agent tunnels broadcast datagrams, too.
    pub const BROADCAST: Self = Self(0x40);
    /// D: the mobile node itself is the end of the tunnel; its care-of address is co-located.
    pub const DECAPSULATION: Self = Self(0x20);
    /// M: the home agent uses minimal encapsulation (RFC 2004).
    pub const MINIMAL_ENCAPSULATION: Self = Self(0x10);
    /// G: the home agent uses GRE.
    pub const GRE: Self = Self(0x08);
    /// r: sent as zero, ignored on reception.
    pub const RESERVED_R: Self = Self(0x04);
    /// T: a reverse tunnel is asked for (RFC 3024 §3.2).
    pub const REVERSE_TUNNEL: Self = Self(0x02);
    /// x: sent as zero, ignored on reception.
    pub const RESERVED_X: Self = Self(0x01);

    /// Whether all bits of `other` are set.
    #[must_use]
    pub const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }
}

impl std::ops::BitOr for RequestFlags {
    type Output = Self;
    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

/// A registration request (§3.3), 24 bytes and its extensions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// What is asked for.
    pub flags: RequestFlags,
    /// For how many seconds; 0 asks for the end of the registration, [`FOREVER`] for one without an end.
    pub lifetime: u16,
    /// The mobile node.
    pub home_address: Ipv4Addr,
    /// Its home agent.
    pub home_agent: Ipv4Addr,
    /// The end of the tunnel.
    pub care_of: Ipv4Addr,
    /// Matches replies with requests, and protects against replay.
    pub identification: u64,
    /// The extensions, in order.
    pub extensions: Vec<Extension>,
}

/// A registration reply (§3.4), 20 bytes and its extensions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reply {
    /// Whether the registration is accepted, and if not, why.
    pub code: Code,
    /// For how many seconds; meaningless in a refusal, unless its reason is the lifetime.
    pub lifetime: u16,
    /// The mobile node.
    pub home_address: Ipv4Addr,
    /// Its home agent.
    pub home_agent: Ipv4Addr,
    /// That of the request, or in part, by the style of replay protection (§5.7).
    pub identification: u64,
    /// The extensions, in order.
    pub extensions: Vec<Extension>,
}

/// Who authenticates a message to whom (§3.5).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Association {
    /// Type 32: mobile node and home agent. Each request and each reply of a home agent has it.
    MobileHome,
    /// Type 33: mobile node and foreign agent.
    MobileForeign,
    /// Type 34: foreign agent and home agent.
    ForeignHome,
}

impl Association {
    /// The type of the extension.
    #[must_use]
    pub const fn kind(self) -> u8 {
        match self {
            Self::MobileHome => 32,
            Self::MobileForeign => 33,
            Self::ForeignHome => 34,
        }
    }
}

/// An authentication extension (§3.5.2 to §3.5.4), 6 bytes and its authenticator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Authentication {
    /// Who authenticates to whom.
    pub association: Association,
    /// The security parameter index: it selects key and algorithm among those that both sides know. 0 to 255 are
    /// reserved.
    pub spi: u32,
    /// The authenticator, at most 251 bytes.
    pub authenticator: Vec<u8>,
}

/// An extension of a request or a reply (§1.8).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Extension {
    /// Type 0: a byte without meaning, which has no length.
    Padding,
    /// Types 32 to 34.
    Authentication(Authentication),
    /// Type 130: the foreign agent takes what the mobile node sends in a tunnel, and only that (RFC 3024 §3.3).
    EncapsulatingDelivery,
    /// An extension that this crate does not know and its receiver may pass over.
    Skippable {
        /// Its type; at least 128.
        kind: u8,
        /// Its data, at most 255 bytes.
        data: Vec<u8>,
    },
}

const REQUEST: u8 = 1;
const REPLY: u8 = 3;
const PADDING: u8 = 0;
const ENCAPSULATING_DELIVERY: u8 = 130;
/// Types from this one on may be passed over (§1.8).
const SKIPPABLE: u8 = 128;

/// The type and the data of an extension; the data of padding is nothing.
fn type_and_data<'a>(reader: &mut Reader<'a>) -> Result<(u8, &'a [u8]), WireError> {
    let kind = reader.u8()?;
    if kind == PADDING {
        return Ok((kind, &[]));
    }
    let length = reader.u8()?;
    Ok((kind, reader.take(usize::from(length))?))
}

/// Appends an extension's type, length and data.
fn emit_data(format: &'static str, kind: u8, data: &[u8], out: &mut Vec<u8>) -> Result<(), WireError> {
    let found = data.len();
    let too_long = |_| WireError::TooLong { format, unit: "bytes of an extension", limit: 255, found };
    let length = u8::try_from(found).map_err(too_long)?;
    out.extend([kind, length]);
    out.extend_from_slice(data);
    Ok(())
}

/// A type that stands for an extension that nobody may pass over, or has a meaning of its own.
fn check_skippable(format: &'static str, kind: u8, known: &[u8]) -> Result<(), WireError> {
    if kind < SKIPPABLE || known.contains(&kind) {
        let expected = "the type of an unknown extension that may be passed over, 128 or more";
        return Err(WireError::Malformed { format, expected, found: u32::from(kind) });
    }
    Ok(())
}

impl Extension {
    fn parse_all(reader: &mut Reader<'_>) -> Result<Vec<Self>, WireError> {
        let mut extensions = Vec::new();
        while !reader.bytes.is_empty() {
            let (kind, data) = type_and_data(reader)?;
            extensions.push(match kind {
                PADDING => Self::Padding,
                32..=34 => {
                    let association = [Association::MobileHome, Association::MobileForeign, Association::ForeignHome]
                        [usize::from(kind - 32)];
                    let mut inner = Reader::new("authentication extension of Mobile IP", data);
                    let spi = inner.u32()?;
                    Self::Authentication(Authentication { association, spi, authenticator: inner.bytes.to_vec() })
                }
                ENCAPSULATING_DELIVERY => {
                    reader.constant("an encapsulating delivery style extension without data", 0, data.len() as u32)?;
                    Self::EncapsulatingDelivery
                }
                SKIPPABLE.. => Self::Skippable { kind, data: data.to_vec() },
                _ => return Err(reader.malformed("an extension of type 0, 32 to 34, or 128 or more", u32::from(kind))),
            });
        }
        Ok(extensions)
    }

    /// Appends the extension's bytes.
    ///
    /// # Errors
    /// If its data are too long, or a skippable one has a type below 128 or one that is known.
    pub fn emit(&self, out: &mut Vec<u8>) -> Result<(), WireError> {
        match self {
            Self::Padding => out.u8(PADDING),
            Self::Authentication(it) => {
                let data = [&it.spi.to_be_bytes(), &it.authenticator[..]].concat();
                emit_data(FORMAT, it.association.kind(), &data, out)?;
            }
            Self::EncapsulatingDelivery => emit_data(FORMAT, ENCAPSULATING_DELIVERY, &[], out)?,
            Self::Skippable { kind, data } => {
                check_skippable(FORMAT, *kind, &[ENCAPSULATING_DELIVERY])?;
                emit_data(FORMAT, *kind, data, out)?;
            }
        }
        Ok(())
    }
}

/// A message: the payload of a UDP datagram.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Message {
    /// Type 1.
    Request(Request),
    /// Type 3.
    Reply(Reply),
}

impl Message {
    /// The message. All bytes belong to it.
    ///
    /// # Errors
    /// If the bytes end too early, the message or an extension that may not be passed over is of an unknown type, or an
    /// extension has an impossible length. Such a message is discarded silently (§1.8).
    pub fn parse(bytes: &[u8]) -> Result<Self, WireError> {
        let mut reader = Reader::new(FORMAT, bytes);
        let (kind, second, lifetime) = (reader.u8()?, reader.u8()?, reader.u16()?);
        if ![REQUEST, REPLY].contains(&kind) {
            return Err(reader.malformed("type 1 (request) or 3 (reply)", u32::from(kind)));
        }
        let (home_address, home_agent) = (reader.address()?, reader.address()?);
        if kind == REQUEST {
            let flags = RequestFlags(second);
            let (care_of, identification) = (reader.address()?, reader.u64()?);
            let extensions = Extension::parse_all(&mut reader)?;
            Ok(Self::Request(Request {
                flags,
                lifetime,
                home_address,
                home_agent,
                care_of,
                identification,
                extensions,
            }))
        } else {
            let (code, identification) = (Code(second), reader.u64()?);
            let extensions = Extension::parse_all(&mut reader)?;
            Ok(Self::Reply(Reply { code, lifetime, home_address, home_agent, identification, extensions }))
        }
    }

    /// The extensions, in order.
    #[must_use]
    pub fn extensions(&self) -> &[Extension] {
        match self {
            Self::Request(request) => &request.extensions,
            Self::Reply(reply) => &reply.extensions,
        }
    }

    fn extensions_mut(&mut self) -> &mut Vec<Extension> {
        match self {
            Self::Request(request) => &mut request.extensions,
            Self::Reply(reply) => &mut reply.extensions,
        }
    }

    /// Appends the message's bytes.
    ///
    /// # Errors
    /// As [`Extension::emit`].
    pub fn emit(&self, out: &mut Vec<u8>) -> Result<(), WireError> {
        self.emit_up_to(self.extensions().len(), out)
    }

    /// The message with the first `count` of its extensions.
    fn emit_up_to(&self, count: usize, out: &mut Vec<u8>) -> Result<(), WireError> {
        match self {
            Self::Request(it) => {
                out.extend([REQUEST, it.flags.0]);
                out.u16(it.lifetime);
                out.address(it.home_address);
                out.address(it.home_agent);
                out.address(it.care_of);
                out.extend(it.identification.to_be_bytes());
            }
            Self::Reply(it) => {
                out.extend([REPLY, it.code.0]);
                out.u16(it.lifetime);
                out.address(it.home_address);
                out.address(it.home_agent);
                out.extend(it.identification.to_be_bytes());
            }
        }
        self.extensions()[..count].iter().try_for_each(|extension| extension.emit(out))
    }

    /// What the authentication extension at this place among the extensions protects (§3.5.1): everything before it,
    /// and its own type, length and SPI. Nothing if there is no such extension there.
    ///
    /// # Errors
    /// As [`Extension::emit`].
    pub fn protected(&self, place: usize) -> Result<Option<Vec<u8>>, WireError> {
        let Some(Extension::Authentication(it)) = self.extensions().get(place) else { return Ok(None) };
        let mut bytes = Vec::new();
        self.emit_up_to(place + 1, &mut bytes)?;
        bytes.truncate(bytes.len() - it.authenticator.len());
        Ok(Some(bytes))
    }

    /// Appends an authentication extension with the [`check_value`] of a key.
    ///
    /// # Errors
    /// As [`Extension::emit`], of the extensions before it.
    pub fn authenticate(&mut self, association: Association, spi: u32, key: &[u8]) -> Result<(), WireError> {
        let mut protected = Vec::new();
        self.emit(&mut protected)?;
        protected.extend([association.kind(), 4 + CHECK_VALUE as u8]);
        protected.u32(spi);
        let authenticator = check_value(key, &protected).to_vec();
        self.extensions_mut().push(Extension::Authentication(Authentication { association, spi, authenticator }));
        Ok(())
    }

    /// Whether the message has exactly one authentication extension of this association, and its authenticator is the
    /// [`check_value`] of this key.
    #[must_use]
    pub fn is_authentic(&self, association: Association, key: &[u8]) -> bool {
        let places = self.extensions().iter().enumerate().filter_map(|(place, extension)| match extension {
            Extension::Authentication(it) if it.association == association => Some((place, it)),
            _ => None,
        });
        let found: Vec<_> = places.collect();
        let [(place, it)] = found[..] else { return false };
        let Ok(Some(protected)) = self.protected(place) else { return false };
        it.authenticator == check_value(key, &protected)
    }
}

/// The bytes of a [`check_value`], as many as of HMAC-MD5.
pub const CHECK_VALUE: usize = 16;

/// The simulator's placeholder for HMAC-MD5, the default algorithm of authenticators (§5.1): a value of the same size
/// that depends on each bit of the key and of the protected bytes. It is NOT cryptography: everybody can find other
/// bytes with the same value, or the key. Two hashes FNV-1a of 64 bits from different starts, over the length of the
/// key, the key and the bytes.
#[must_use]
pub fn check_value(key: &[u8], protected: &[u8]) -> [u8; CHECK_VALUE] {
    const PRIME: u64 = 0x0100_0000_01b3;
    const STARTS: [u64; 2] = [0xcbf2_9ce4_8422_2325, 0x8422_2325_cbf2_9ce4];
    let mut value = [0; CHECK_VALUE];
    let length = (key.len() as u64).to_be_bytes();
    for (start, half) in STARTS.into_iter().zip(value.chunks_exact_mut(8)) {
        let bytes = length.iter().chain(key).chain(protected);
        let hash = bytes.fold(start, |hash, &byte| (hash ^ u64::from(byte)).wrapping_mul(PRIME));
        half.copy_from_slice(&hash.to_be_bytes());
    }
    value
}

#[cfg(test)]
mod tests;
