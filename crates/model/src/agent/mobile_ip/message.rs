//! Mobile IP's messages, with addresses of the simulator, and their bytes.

use std::net::Ipv4Addr;

use hopyard_wire::ipv4::{self, Protocol};
use hopyard_wire::mobile_ip::{
    self as wire, AgentAdvertisement, AgentExtension, AgentFlags, Association, Code, RequestFlags,
};
use hopyard_wire::{WireError, icmp, udp};

use crate::address::Address;
use crate::packet::{
    Carrier, IP_HEADER, Message as Encoded, Place, RoutingMessage, UDP_HEADER, Undelivered, Unreachable,
};

/// The UDP port of registrations.
pub const PORT: u16 = 434;

/// ICMP's number among the protocols of IP.
const ICMP_PROTOCOL: u8 = 1;

/// A security parameter index that is not reserved (RFC 5944 §3.5.1).
const SPI: u32 = 256;

/// The bytes of an authentication extension: type, length, SPI, authenticator.
const EXTENSION: u32 = 2 + 4 + wire::CHECK_VALUE as u32;

/// An authentication extension that ends before its SPI does.
const MALFORMED: [u8; 4] = [32, 2, 0, 0];

/// An advertisement of an agent (RFC 5944 §2.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Advertisement {
    /// The address of the agent's interface.
    pub agent: Address,
    /// The number of the advertisement since the agent began.
    pub sequence: u16,
    /// For how many seconds it is valid.
    pub lifetime: u16,
    /// The longest registration, in seconds.
    pub registration_lifetime: u16,
    /// What the agent is and can.
    pub flags: AgentFlags,
    /// Its care-of address. A home agent alone offers none; ns-2's names its own address all the same.
    pub care_of: Option<Address>,
    /// How long the prefix of the agent's network is, if it says so (RFC 5944 §2.1.2).
    pub prefix_length: Option<u8>,
}

/// A registration request (RFC 5944 §3.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// What is asked for.
    pub flags: RequestFlags,
    /// For how many seconds; 0 ends a registration.
    pub lifetime: u16,
    /// The home address of the host.
    pub home: Address,
    /// Its home agent.
    pub home_agent: Address,
    /// The end of the tunnel; the home address for a host that is at home.
    pub care_of: Address,
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

/// A registration reply (RFC 5944 §3.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reply {
    /// The answer.
    pub code: Code,
    /// For how many seconds.
    pub lifetime: u16,
    /// The home address of the host.
    pub home: Address,
    /// Its home agent.
    pub home_agent: Address,
    /// That of the request, whose upper half the home agent may change.
    pub identification: u64,
    /// The authenticator of the home agent for the host.
    pub proof: Proof,
    /// The authenticator of the foreign agent for the host.
    pub foreign_proof: Proof,
    /// The authenticator of the home agent for the foreign agent, which takes it off.
    pub agent_proof: Proof,
    /// The care-of address of the request, which no byte carries: ns-2 sends the request's packet back.
    pub care_of: Address,
}

/// The authenticator of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Proof {
    /// It has none.
    None,
    /// It was made with the right key.
    Right,
    /// It was made with another key.
    Forged,
    /// It is too short for the index of a key: the message is poorly formed.
    Malformed,
}

impl Proof {
    /// The authenticator of a node that has a key, or has none for this.
    pub(super) const fn of(has_key: bool, is_forged: bool) -> Self {
        match (has_key, is_forged) {
            (false, _) => Self::None,
            (true, false) => Self::Right,
            (true, true) => Self::Forged,
        }
    }

    /// The bytes of its extension.
    const fn bytes(self) -> u32 {
        match self {
            Self::None => 0,
            Self::Right | Self::Forged => EXTENSION,
            Self::Malformed => MALFORMED.len() as u32,
        }
    }
}

/// A message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Message {
    /// An agent advertises itself.
    Advertisement(Advertisement),
    /// A host asks for advertisements.
    Solicitation,
    /// A host asks to be registered.
    Request(Request),
    /// The answer.
    Reply(Reply),
    /// A request that a foreign agent has passed on did not arrive: an ICMP error.
    Unreachable(Undelivered, Request),
}

impl Message {
    /// The port for which it is: [`PORT`], or that which stands for ICMP.
    pub const fn port(&self) -> u16 {
        match self {
            Self::Advertisement(_) | Self::Solicitation | Self::Unreachable(..) => crate::agent::ICMP,
            Self::Request(_) | Self::Reply(_) => PORT,
        }
    }

    /// Its bytes with the headers of IP and UDP. `ns2` says whether they are counted as ns-2 does.
    pub fn bytes(&self, ns2: bool) -> u32 {
        IP_HEADER
            + match self {
                // ICMP 8, a router 8, the extension 8; a care-of address 4; the extension with a length of a prefix 3.
                Self::Advertisement(it) => {
                    24 + if it.care_of.is_some() { 4 } else { 0 } + if it.prefix_length.is_some() { 3 } else { 0 }
                }
                // ns-2 has one size for all messages that are no advertisements.
                Self::Solicitation => {
                    if ns2 {
                        UDP_HEADER + 24
                    } else {
                        8
                    }
                }
                Self::Request(it) => UDP_HEADER + it.bytes(),
                // ns-2 sends the request back.
                Self::Reply(it) => {
                    let proofs = it.proof.bytes() + it.foreign_proof.bytes() + it.agent_proof.bytes();
                    UDP_HEADER + if ns2 { 24 } else { 20 } + proofs
                }
                // The quote is the whole datagram: RFC 1812 §4.3.2.3 wants as much of it as 576 bytes hold.
                Self::Unreachable(_, it) => 8 + IP_HEADER + UDP_HEADER + it.bytes(),
            }
    }
}

impl Request {
    /// Its bytes with its extensions.
    const fn bytes(&self) -> u32 {
        let style = if self.encapsulating { 2 } else { 0 };
        24 + self.proof.bytes() + style + self.foreign_proof.bytes() + self.agent_proof.bytes()
    }

    fn encode(&self, name: &dyn Fn(Address) -> Ipv4Addr, out: &mut Vec<u8>) -> Result<(), WireError> {
        let mut message = wire::Message::Request(wire::Request {
            flags: self.flags,
            lifetime: self.lifetime,
            home_address: name(self.home),
            home_agent: name(self.home_agent),
            care_of: name(self.care_of),
            identification: self.identification,
            extensions: Vec::new(),
        });
        authenticate(&mut message, Association::MobileHome, [self.home, self.home_agent].map(name), self.proof)?;
        // RFC 3024 §3.3: behind the authenticator for the home agent, before that for the foreign one.
        if let (wire::Message::Request(it), true) = (&mut message, self.encapsulating) {
            it.extensions.push(wire::Extension::EncapsulatingDelivery);
        }
        authenticate(
            &mut message,
            Association::MobileForeign,
            [self.home, self.care_of].map(name),
            self.foreign_proof,
        )?;
        let agents = [self.care_of, self.home_agent].map(name);
        authenticate(&mut message, Association::ForeignHome, agents, self.agent_proof)?;
        emit(&message, self.proof, out)
    }
}

impl Reply {
    fn encode(&self, name: &dyn Fn(Address) -> Ipv4Addr, out: &mut Vec<u8>) -> Result<(), WireError> {
        let mut message = wire::Message::Reply(wire::Reply {
            code: self.code,
            lifetime: self.lifetime,
            home_address: name(self.home),
            home_agent: name(self.home_agent),
            identification: self.identification,
            extensions: Vec::new(),
        });
        authenticate(&mut message, Association::MobileHome, [self.home, self.home_agent].map(name), self.proof)?;
        authenticate(
            &mut message,
            Association::MobileForeign,
            [self.home, self.care_of].map(name),
            self.foreign_proof,
        )?;
        let agents = [self.care_of, self.home_agent].map(name);
        authenticate(&mut message, Association::ForeignHome, agents, self.agent_proof)?;
        emit(&message, self.proof, out)
    }
}

/// Appends an authenticator with the key that two nodes share: their addresses. A home address alone is the key of a
/// host and its home agent; a forged authenticator has a longer key.
fn authenticate(
    message: &mut wire::Message,
    association: Association,
    [a, b]: [Ipv4Addr; 2],
    proof: Proof,
) -> Result<(), WireError> {
    let mut key = a.octets().to_vec();
    if association != Association::MobileHome {
        key.extend(b.octets());
    }
    match proof {
        Proof::None | Proof::Malformed => return Ok(()),
        Proof::Right => {}
        Proof::Forged => key.push(0),
    }
    message.authenticate(association, SPI, &key)
}

/// Appends the bytes of a message; behind a poorly formed one stands what should be the authenticator.
fn emit(message: &wire::Message, proof: Proof, out: &mut Vec<u8>) -> Result<(), WireError> {
    message.emit(out)?;
    if proof == Proof::Malformed {
        out.extend(MALFORMED);
    }
    Ok(())
}

impl Encoded for Message {
    fn kind(&self) -> &'static str {
        match self {
            Self::Advertisement(_) => "ADVERTISEMENT",
            Self::Solicitation => "SOLICITATION",
            Self::Request(_) => "REQUEST",
            Self::Reply(_) => "REPLY",
            Self::Unreachable(..) => "UNREACHABLE",
        }
    }

    fn encode(&self, place: &Place<'_>, out: &mut Vec<u8>) -> Result<Carrier, WireError> {
        let name = |address: Address| (place.address)(address);
        match self {
            Self::Advertisement(it) => {
                let agent = AgentExtension::Agent(AgentAdvertisement {
                    sequence: it.sequence,
                    registration_lifetime: it.registration_lifetime,
                    flags: it.flags,
                    care_of: it.care_of.map(name).into_iter().collect(),
                });
                let mut extensions = Vec::new();
                agent.emit(&mut extensions)?;
                if let Some(length) = it.prefix_length {
                    AgentExtension::PrefixLengths(vec![length]).emit(&mut extensions)?;
                }
                let routers = vec![icmp::Router { address: name(it.agent), preference: 0 }];
                let message =
                    icmp::Message::RouterAdvertisement { common_traffic: true, lifetime: it.lifetime, routers };
                message.emit(&extensions, out)?;
                Ok(Carrier::Ip(ICMP_PROTOCOL))
            }
            Self::Solicitation => {
                icmp::Message::RouterSolicitation.emit(&[], out)?;
                Ok(Carrier::Ip(ICMP_PROTOCOL))
            }
            Self::Request(it) => {
                it.encode(&name, out)?;
                Ok(Carrier::Udp(PORT))
            }
            Self::Reply(it) => {
                it.encode(&name, out)?;
                Ok(Carrier::Udp(PORT))
            }
            Self::Unreachable(what, it) => {
                let (source, destination) = (name(what.source), name(what.destination));
                let (mut payload, mut datagram, mut quote) = (Vec::new(), Vec::new(), Vec::new());
                it.encode(&name, &mut payload)?;
                let ports = udp::Header { source_port: PORT, destination_port: PORT };
                ports.emit(&payload, source, destination, &mut datagram)?;
                let ip = ipv4::Header::new(Protocol::UDP, source, destination, what.ttl);
                ipv4::Header { dont_fragment: true, ..ip }.emit(&datagram, &mut quote)?;
                let (code, next_hop_mtu) = match what.why {
                    Unreachable::Network => (icmp::Unreachable::NETWORK, 0),
                    Unreachable::Host => (icmp::Unreachable::HOST, 0),
                    Unreachable::Port => (icmp::Unreachable::PORT, 0),
                    Unreachable::TooLong { mtu } => (icmp::Unreachable::FRAGMENTATION_NEEDED, mtu),
                    Unreachable::TimeExceeded => {
                        icmp::Message::TimeExceeded { code: 0 }.emit(&quote, out)?;
                        return Ok(Carrier::Ip(ICMP_PROTOCOL));
                    }
                };
                icmp::Message::DestinationUnreachable { code, next_hop_mtu }.emit(&quote, out)?;
                Ok(Carrier::Ip(ICMP_PROTOCOL))
            }
        }
    }

    fn wants_notice(&self) -> bool {
        matches!(self, Self::Request(it) if it.wants_notice)
    }

    fn notice(&self, what: &Undelivered) -> Option<(RoutingMessage, u32)> {
        let Self::Request(it) = self else { return None };
        let notice = Self::Unreachable(*what, *it);
        Some((RoutingMessage::new(notice), notice.bytes(false)))
    }
}
