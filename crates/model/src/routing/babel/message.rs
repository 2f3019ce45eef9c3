//! Babel's packets and messages.

use hopyard_wire::babel;
pub use hopyard_wire::babel::{HEADER, HOPS, INFINITY};

use crate::address::Address;

/// A packet.
pub type BabelPacket = babel::Packet<Address>;
/// A message in it.
pub type Message = babel::Message<Address>;
/// A route of the sender, or its retraction.
pub type Update = babel::Update<Address>;
/// The name of a router.
pub type RouterId = babel::RouterId<Address>;
/// The destination of routes.
pub type Target = babel::Target<Address>;

/// The multicast group of all Babel routers in reach, 224.0.0.111 (RFC 8966 §4).
pub const ROUTERS: Address = Address::local_group(111);

/// Whether a sequence number is newer than another one, modulo 2^16 (RFC 8966 §3.2.1).
#[must_use]
pub const fn newer(a: u16, b: u16) -> bool {
    a.wrapping_sub(b).cast_signed() > 0
}

/// A metric and a cost together. What is not less than infinity is infinity (RFC 8966 §3.5.2).
#[must_use]
pub const fn plus(metric: u16, cost: u16) -> u16 {
    metric.saturating_add(cost)
}
