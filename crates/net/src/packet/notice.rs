//! Notices to the source of a message that it did not arrive: ICMP errors (RFC 792, RFC 1812 §4.3.3, §5.2.7).

use crate::address::Address;

/// Why a message did not arrive, as an ICMP error says it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unreachable {
    /// No way leads to the network of its destination: type 3, code 0.
    Network,
    /// The last router cannot reach its destination: type 3, code 1.
    Host,
    /// No program of its destination takes it: type 3, code 3.
    Port,
    /// It is longer than the next link carries, and must not be fragmented: type 3, code 4.
    TooLong {
        /// How long it may be (RFC 1191 §4).
        mtu: u16,
    },
    /// Its time to live ran out: type 11, code 0.
    TimeExceeded,
}

/// A message that did not arrive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Undelivered {
    /// Why.
    pub why: Unreachable,
    /// The source of its packet.
    pub source: Address,
    /// The destination of its packet.
    pub destination: Address,
    /// The time to live that was left.
    pub ttl: u8,
}
