//! The network layer: the next step of a node for a packet that arrived.
//!
//! Read: RFC 791 §3.2, RFC 1812 §5.3.1 (TTL), RFC 792 and RFC 1812 §4.3.2 and §5.2.7.1. The world sends "host
//! unreachable" where routing says that a packet cannot be passed on, and "time exceeded" about datagrams of hosts
//! outside. Left out: fragmentation (frames carry any packet), options, the other ICMP messages, and the checksum (the
//! simulated channel has no undetected errors).

mod table;

use hopyard_engine::Span;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::address::Address;
use crate::packet::{Body, Packet};
use crate::params::{self, Fault};

pub use table::Table;

pub use crate::context::{Way, WayChange};

/// How many tunnels a packet may be in at once: the default of RFC 2473 §6.6. RFC 2003 names no number.
pub const MOST_TUNNELS: usize = 4;

/// Parameters of the network layer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Params {
    /// Time to live of data packets, in hops.
    pub ttl: u8,
    /// Least time between two ICMP errors of a node about segments of one flow (RFC 1812 §4.3.2.8). They are sent to
    /// TCP variants that ask for them.
    pub unreachable_interval: Span,
}

impl params::Params for Params {
    const PROFILES: &'static [&'static str] = &[params::RFC, params::NS2];

    fn of_profile(profile: &str) -> Self {
        Self { ttl: if profile == params::NS2 { 32 } else { 64 }, unreachable_interval: Span::from_millis(100) }
    }

    fn check(&self) -> Result<(), Fault> {
        if self.ttl == 0 { Err(Fault::new("ttl", "expected at least one hop")) } else { Ok(()) }
    }
}

/// The next step of a node for a packet that arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrival {
    /// It is for a transport protocol of this node.
    Local,
    /// It is a routing message.
    Routing,
    /// It has options, which the routing protocol must see first.
    Options,
    /// It is for the agent with this port.
    Agent(u16),
    /// It is a datagram for a multicast group, which the node may forward, whether or not it is a member.
    Group,
    /// It is forwarded. Its TTL has been lowered.
    Forward,
    /// It would be forwarded, but its time to live has run out.
    Expired,
}

/// Counts the hop by which `packet` came to a node, and returns what to do with the packet. `is_local` says whether an
/// address is the node's.
#[inline]
pub fn arrive(packet: &mut Packet, is_local: impl Fn(Address) -> bool) -> Arrival {
    packet.hops = packet.hops.saturating_add(1);
    arrive_again(packet, is_local)
}

/// As [`arrive`], for a packet whose hop was counted before: its options were taken off, or it came out of a tunnel. A
/// tunnel is one hop for the time to live, and has counted this hop (RFC 2003 §3.1).
#[inline]
pub fn arrive_again(packet: &mut Packet, is_local: impl Fn(Address) -> bool) -> Arrival {
    match packet.body {
        Body::Routing(_) => return Arrival::Routing,
        Body::Extended(_) => return Arrival::Options,
        _ => {}
    }
    if is_local(packet.destination) || packet.destination.is_group() {
        return match packet.body {
            Body::Control { port, .. } => Arrival::Agent(port),
            Body::Udp(_) if packet.destination.is_wide_group() => Arrival::Group,
            _ => Arrival::Local,
        };
    }
    forward(packet)
}

/// Lowers the time to live of a packet that is to be forwarded, if it has not run out.
#[inline]
pub const fn forward(packet: &mut Packet) -> Arrival {
    if packet.ttl <= 1 {
        return Arrival::Expired;
    }
    packet.ttl -= 1;
    Arrival::Forward
}

#[cfg(test)]
mod tests {

    use super::*;
    use crate::packet::UdpHeader;

    #[test]
    fn the_ttl_limits_the_hops() {
        let mut packet = Packet {
            destination: Address(9),
            ttl: 3,
            ..crate::samples::packet(100, Body::Udp(UdpHeader { sequence: 0, len: 72, identification: None }))
        };
        assert_eq!(arrive(&mut packet, |it| it == Address(1)), Arrival::Forward);
        assert_eq!(arrive(&mut packet, |it| it == Address(2)), Arrival::Forward);
        assert_eq!((packet.ttl, packet.hops), (1, 2));
        assert_eq!(arrive(&mut packet, |it| it == Address(3)), Arrival::Expired);
        assert_eq!(arrive(&mut packet, |it| it == Address(9)), Arrival::Local);
    }
}
