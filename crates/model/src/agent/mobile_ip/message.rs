//! Mobile IP's messages.

use std::net::Ipv4Addr;

use hopyard_wire::ipv4::{self, Protocol};
pub use hopyard_wire::mobile_ip::Proof;
use hopyard_wire::{WireError, icmp, mobile_ip, udp};

use crate::address::Address;
use crate::packet::{
    Carrier, IP_HEADER, Message as Encoded, MessagePart, RoutingMessage, UDP_HEADER, Undelivered, Unreachable,
};

/// The UDP port of registrations.
pub const PORT: u16 = 434;

/// ICMP's number among the protocols of IP.
const ICMP_PROTOCOL: u8 = 1;

/// An advertisement of an agent.
pub type Advertisement = mobile_ip::Advertisement<Address>;
/// A registration request.
pub type Request = mobile_ip::Request<Address>;
/// A registration reply.
pub type Reply = mobile_ip::Reply<Address>;

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
                Self::Advertisement(it) => it.bytes(),
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
                Self::Reply(it) => UDP_HEADER + it.bytes() + if ns2 { 4 } else { 0 },
                // The quote is the whole datagram: RFC 1812 §4.3.2.3 wants as much of it as 576 bytes hold.
                Self::Unreachable(_, it) => 8 + IP_HEADER + UDP_HEADER + it.bytes(),
            }
    }
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

    fn parts(&self, _: &mut dyn FnMut(MessagePart)) {}

    fn kinds(&self, each: &mut dyn FnMut(&'static str)) {
        each(self.kind());
    }

    fn encode(&self, name: &dyn Fn(Address) -> Ipv4Addr, out: &mut Vec<u8>) -> Result<Carrier, WireError> {
        match self {
            Self::Advertisement(it) => {
                it.emit(name, out)?;
                Ok(Carrier::Ip(ICMP_PROTOCOL))
            }
            Self::Solicitation => {
                icmp::Message::RouterSolicitation.emit(&[], out)?;
                Ok(Carrier::Ip(ICMP_PROTOCOL))
            }
            Self::Request(it) => {
                it.emit(name, out);
                Ok(Carrier::Udp(PORT))
            }
            Self::Reply(it) => {
                it.emit(name, out);
                Ok(Carrier::Udp(PORT))
            }
            Self::Unreachable(what, it) => {
                let (source, destination) = (name(what.source), name(what.destination));
                let (mut payload, mut datagram, mut quote) = (Vec::new(), Vec::new(), Vec::new());
                it.emit(name, &mut payload);
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
