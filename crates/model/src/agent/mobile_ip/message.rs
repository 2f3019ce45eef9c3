//! Mobile IP's messages, with addresses of the simulator, and their bytes.

use std::net::Ipv4Addr;

use hopyard_wire::mobile_ip::{self as wire, AgentAdvertisement, AgentExtension, AgentFlags, Code, RequestFlags};
use hopyard_wire::{WireError, icmp};

use crate::address::Address;
use crate::packet::{Carrier, IP_HEADER, Message as Encoded, Place, UDP_HEADER};

/// The UDP port of registrations.
pub const PORT: u16 = 434;

/// ICMP's number among the protocols of IP.
const ICMP_PROTOCOL: u8 = 1;

/// A security parameter index that is not reserved (RFC 5944 §3.5.1).
const SPI: u32 = 256;

/// The bytes of an authentication extension: type, length, SPI, authenticator.
const EXTENSION: u32 = 2 + 4 + wire::CHECK_VALUE as u32;

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
    /// The authenticator.
    pub proof: Proof,
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
    /// The authenticator.
    pub proof: Proof,
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
}

impl Message {
    /// The port for which it is: [`PORT`], or that which stands for ICMP.
    pub const fn port(&self) -> u16 {
        match self {
            Self::Advertisement(_) | Self::Solicitation => crate::agent::ICMP,
            Self::Request(_) | Self::Reply(_) => PORT,
        }
    }

    /// Its bytes with the headers of IP and UDP. `ns2` says whether they are counted as ns-2 does.
    pub fn bytes(&self, ns2: bool) -> u32 {
        let extension = |proof: Proof| if proof == Proof::None { 0 } else { EXTENSION };
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
                Self::Request(it) => UDP_HEADER + 24 + extension(it.proof),
                // ns-2 sends the request back.
                Self::Reply(it) => UDP_HEADER + if ns2 { 24 } else { 20 } + extension(it.proof),
            }
    }
}

/// The key that a host and its home agent share; a wrong one for a forged message.
fn key(home: Ipv4Addr, proof: Proof) -> Vec<u8> {
    let mut key = home.octets().to_vec();
    if proof == Proof::Forged {
        key.push(0);
    }
    key
}

fn authenticated(mut message: wire::Message, home: Ipv4Addr, proof: Proof) -> Result<wire::Message, WireError> {
    if proof != Proof::None {
        message.authenticate(wire::Association::MobileHome, SPI, &key(home, proof))?;
    }
    Ok(message)
}

impl Encoded for Message {
    fn kind(&self) -> &'static str {
        match self {
            Self::Advertisement(_) => "ADVERTISEMENT",
            Self::Solicitation => "SOLICITATION",
            Self::Request(_) => "REQUEST",
            Self::Reply(_) => "REPLY",
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
                let message = wire::Message::Request(wire::Request {
                    flags: it.flags,
                    lifetime: it.lifetime,
                    home_address: name(it.home),
                    home_agent: name(it.home_agent),
                    care_of: name(it.care_of),
                    identification: it.identification,
                    extensions: Vec::new(),
                });
                authenticated(message, name(it.home), it.proof)?.emit(out)?;
                Ok(Carrier::Udp(PORT))
            }
            Self::Reply(it) => {
                let message = wire::Message::Reply(wire::Reply {
                    code: it.code,
                    lifetime: it.lifetime,
                    home_address: name(it.home),
                    home_agent: name(it.home_agent),
                    identification: it.identification,
                    extensions: Vec::new(),
                });
                authenticated(message, name(it.home), it.proof)?.emit(out)?;
                Ok(Carrier::Udp(PORT))
            }
        }
    }
}
