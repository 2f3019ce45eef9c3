//! Mobile IP (RFC 5944): the messages of registration, which UDP carries to and from port 434, and the
//! [`Advertisement`]s by which agents are found. [`Code`] has the answers to requests. Reverse tunnels add an extension
//! and codes (RFC 3024).
//!
//! A message says of each authenticator whether it is right ([`Proof`]). The bytes of authenticators are values of a
//! simple hash, and its keys are the addresses of two nodes. Extensions that a receiver may pass over are passed over.

use std::net::Ipv4Addr;

use super::{Reader, WireError, Write};

mod advertisement;
mod code;

pub use advertisement::{Advertisement, AgentFlags};
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

/// A registration request (§3.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request<A = Ipv4Addr> {
    /// The wishes of the host.
    pub flags: RequestFlags,
    /// The number of seconds; 0 asks for the end of the registration, [`FOREVER`] for a registration without an end.
    pub lifetime: u16,
    /// The home address of the host.
    pub home: A,
    /// Its home agent.
    pub home_agent: A,
    /// The end of the tunnel; the home address for a host that is at home.
    pub care_of: A,
    /// Matches replies with requests, and protects against replay.
    pub identification: u64,
    /// The authenticator for the home agent.
    pub proof: Proof,
    /// Whether it asks for the encapsulating delivery style (RFC 3024 §3.3).
    pub encapsulating: bool,
    /// The authenticator for the foreign agent, which takes it off (§3.5.3).
    pub foreign_proof: Proof,
    /// The authenticator of the foreign agent for the home agent (§3.5.4).
    pub agent_proof: Proof,
    /// Whether its source wants to know that it did not arrive. No byte carries this: ns-2's routers tell nobody.
    pub wants_notice: bool,
}

/// A registration reply (§3.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reply<A = Ipv4Addr> {
    /// Whether the registration is accepted, and if not, why.
    pub code: Code,
    /// The number of seconds; meaningless in a refusal, unless its reason is the lifetime.
    pub lifetime: u16,
    /// The home address of the host.
    pub home: A,
    /// Its home agent.
    pub home_agent: A,
    /// The identification of the request, whose upper half the home agent may change (§5.7).
    pub identification: u64,
    /// The authenticator of the home agent for the host.
    pub proof: Proof,
    /// The authenticator of the foreign agent for the host.
    pub foreign_proof: Proof,
    /// The authenticator of the home agent for the foreign agent, which takes it off.
    pub agent_proof: Proof,
    /// The care-of address of the request, which no byte carries: ns-2 sends the request's packet back.
    pub care_of: A,
}

/// A message of registration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Message {
    /// Type 1.
    Request(Request),
    /// Type 3.
    Reply(Reply),
}

/// The authenticator of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Proof {
    /// It has none.
    None,
    /// It was made with the right key.
    Right,
    /// It was made with another key, or there is more than one.
    Forged,
    /// It is too short for the index of a key: the message is poorly formed, and cannot be parsed.
    Malformed,
}

impl Proof {
    /// The authenticator of a node that has a key, or has none for this.
    #[must_use]
    pub const fn of(has_key: bool, is_forged: bool) -> Self {
        match (has_key, is_forged) {
            (false, _) => Self::None,
            (true, false) => Self::Right,
            (true, true) => Self::Forged,
        }
    }

    /// The bytes of its extension: type, length, SPI, authenticator.
    const fn bytes(self) -> u32 {
        match self {
            Self::None => 0,
            Self::Right | Self::Forged => 2 + 4 + CHECK_VALUE as u32,
            Self::Malformed => MALFORMED.len() as u32,
        }
    }
}

/// A security parameter index that is not reserved (§3.5.1).
const SPI: u32 = 256;

/// An authentication extension that ends before its SPI does.
const MALFORMED: [u8; 4] = [32, 2, 0, 0];

const REQUEST: u8 = 1;
const REPLY: u8 = 3;
const PADDING: u8 = 0;
/// The extension of the encapsulating delivery style: the foreign agent takes what the mobile node sends in a tunnel,
/// and only that (RFC 3024 §3.3).
const ENCAPSULATING_DELIVERY: u8 = 130;
/// Types from this one on may be passed over (§1.8).
const SKIPPABLE: u8 = 128;

/// Who authenticates a message to whom (§3.5).
#[derive(Clone, Copy, PartialEq, Eq)]
enum Association {
    /// Type 32: mobile node and home agent. Each request and each reply of a home agent has it (§3.5.2).
    MobileHome,
    /// Type 33: mobile node and foreign agent (§3.5.3).
    MobileForeign,
    /// Type 34: foreign agent and home agent (§3.5.4).
    ForeignHome,
}

impl Association {
    /// The type of the extension.
    const fn kind(self) -> u8 {
        match self {
            Self::MobileHome => 32,
            Self::MobileForeign => 33,
            Self::ForeignHome => 34,
        }
    }

    /// The key that two nodes share in the simulator: their addresses. A home address alone is the key of a host and
    /// its home agent. A forged authenticator has a longer key.
    fn key(self, [home, home_agent, care_of]: [Ipv4Addr; 3], is_forged: bool) -> Vec<u8> {
        let nodes = match self {
            Self::MobileHome => vec![home],
            Self::MobileForeign => vec![home, care_of],
            Self::ForeignHome => vec![care_of, home_agent],
        };
        let mut key: Vec<u8> = nodes.iter().flat_map(Ipv4Addr::octets).collect();
        key.extend(is_forged.then_some(0));
        key
    }
}

/// The type and the data of an extension; the data of padding is nothing.
fn type_and_data<'a>(reader: &mut Reader<'a>) -> Result<(u8, &'a [u8]), WireError> {
    let kind = reader.u8()?;
    if kind == PADDING {
        return Ok((kind, &[]));
    }
    let length = reader.u8()?;
    Ok((kind, reader.take(usize::from(length))?))
}

/// Appends an authentication extension (§3.5.1) to the message that begins at `start`. The extension protects
/// everything before it, and its own type, length and SPI.
fn authenticate(association: Association, nodes: [Ipv4Addr; 3], proof: Proof, start: usize, out: &mut Vec<u8>) {
    if matches!(proof, Proof::None | Proof::Malformed) {
        return;
    }
    out.extend([association.kind(), 4 + CHECK_VALUE as u8]);
    out.u32(SPI);
    let value = check_value(&association.key(nodes, proof == Proof::Forged), &out[start..]);
    out.extend(value);
}

impl<A: Copy> Request<A> {
    /// Its bytes with its extensions.
    #[must_use]
    pub const fn bytes(&self) -> u32 {
        let style = if self.encapsulating { 2 } else { 0 };
        24 + self.proof.bytes() + style + self.foreign_proof.bytes() + self.agent_proof.bytes()
    }

    /// Appends the message's bytes. `name` gives the address that bytes have.
    pub fn emit(&self, name: &dyn Fn(A) -> Ipv4Addr, out: &mut Vec<u8>) {
        let start = out.len();
        let nodes = [self.home, self.home_agent, self.care_of].map(name);
        out.extend([REQUEST, self.flags.0]);
        out.u16(self.lifetime);
        nodes.into_iter().for_each(|it| out.address(it));
        out.extend(self.identification.to_be_bytes());
        authenticate(Association::MobileHome, nodes, self.proof, start, out);
        // RFC 3024 §3.3: behind the authenticator for the home agent, before that for the foreign one.
        if self.encapsulating {
            out.extend([ENCAPSULATING_DELIVERY, 0]);
        }
        finish(nodes, [self.proof, self.foreign_proof, self.agent_proof], start, out);
    }
}

impl<A: Copy> Reply<A> {
    /// Its bytes with its extensions.
    #[must_use]
    pub const fn bytes(&self) -> u32 {
        20 + self.proof.bytes() + self.foreign_proof.bytes() + self.agent_proof.bytes()
    }

    /// Appends the message's bytes. `name` gives the address that bytes have.
    pub fn emit(&self, name: &dyn Fn(A) -> Ipv4Addr, out: &mut Vec<u8>) {
        let start = out.len();
        let nodes = [self.home, self.home_agent, self.care_of].map(name);
        out.extend([REPLY, self.code.0]);
        out.u16(self.lifetime);
        nodes[..2].iter().for_each(|&it| out.address(it));
        out.extend(self.identification.to_be_bytes());
        authenticate(Association::MobileHome, nodes, self.proof, start, out);
        finish(nodes, [self.proof, self.foreign_proof, self.agent_proof], start, out);
    }
}

/// Appends the authenticators behind the authenticator of the host and its home agent. Behind a poorly formed message
/// stands what should be that one.
fn finish(nodes: [Ipv4Addr; 3], [first, foreign, agent]: [Proof; 3], start: usize, out: &mut Vec<u8>) {
    authenticate(Association::MobileForeign, nodes, foreign, start, out);
    authenticate(Association::ForeignHome, nodes, agent, start, out);
    if first == Proof::Malformed {
        out.extend(MALFORMED);
    }
}

impl Message {
    /// The message. All bytes belong to it. A reply has the care-of address of the request that it answers, `care_of`.
    ///
    /// # Errors
    /// If the bytes end too early, the message or an extension that may not be passed over is of an unknown type, or an
    /// extension has an impossible length. Such a message is discarded silently (§1.8).
    pub fn parse(bytes: &[u8], care_of: Ipv4Addr) -> Result<Self, WireError> {
        let mut reader = Reader::new(FORMAT, bytes);
        let (kind, second, lifetime) = (reader.u8()?, reader.u8()?, reader.u16()?);
        if ![REQUEST, REPLY].contains(&kind) {
            return Err(reader.malformed("type 1 (request) or 3 (reply)", u32::from(kind)));
        }
        let (home, home_agent) = (reader.address()?, reader.address()?);
        let care_of = if kind == REQUEST { reader.address()? } else { care_of };
        let identification = reader.u64()?;
        let (mut proofs, mut encapsulating) = ([Proof::None; 3], false);
        while !reader.bytes.is_empty() {
            let start = reader.taken;
            match type_and_data(&mut reader)? {
                (PADDING, _) => {}
                (kind @ 32..=34, data) => {
                    let place = usize::from(kind - 32);
                    let association =
                        [Association::MobileHome, Association::MobileForeign, Association::ForeignHome][place];
                    let mut inner = Reader::new("authentication extension of Mobile IP", data);
                    let _spi = inner.u32()?;
                    let key = association.key([home, home_agent, care_of], false);
                    let is_right = inner.bytes == check_value(&key, &bytes[..start + 6]);
                    proofs[place] = Proof::of(true, !is_right || proofs[place] != Proof::None);
                }
                (ENCAPSULATING_DELIVERY, data) => {
                    reader.constant("an encapsulating delivery style extension without data", 0, data.len() as u32)?;
                    encapsulating = true;
                }
                (SKIPPABLE.., _) => {}
                (kind, _) => {
                    return Err(reader.malformed("an extension of type 0, 32 to 34, or 128 or more", u32::from(kind)));
                }
            }
        }
        let [proof, foreign_proof, agent_proof] = proofs;
        Ok(if kind == REQUEST {
            Self::Request(Request {
                flags: RequestFlags(second),
                lifetime,
                home,
                home_agent,
                care_of,
                identification,
                proof,
                encapsulating,
                foreign_proof,
                agent_proof,
                wants_notice: false,
            })
        } else {
            Self::Reply(Reply {
                code: Code(second),
                lifetime,
                home,
                home_agent,
                identification,
                proof,
                foreign_proof,
                agent_proof,
                care_of,
            })
        })
    }
}

/// The bytes of a [`check_value`], as many as of HMAC-MD5.
const CHECK_VALUE: usize = 16;

/// The simulator's placeholder for HMAC-MD5, the default algorithm of authenticators (§5.1). The value has the same
/// size, and depends on each bit of the key and of the protected bytes. It is NOT cryptography: everybody can find
/// other bytes with the same value, or the key. Two hashes FNV-1a of 64 bits from different starts, over the length of
/// the key, the key and the bytes.
fn check_value(key: &[u8], protected: &[u8]) -> [u8; CHECK_VALUE] {
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
