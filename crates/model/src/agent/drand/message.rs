//! DRAND's messages, and what a node knows of another one's slot.

use std::fmt;
use std::net::Ipv4Addr;
use std::sync::Arc;

use hopyard_wire::{WireError, drand};

use crate::address::Address;
use crate::packet::{self, Carrier, Place};

/// Whether a round is later than another one. Rounds are 16 bits and wrap (RFC 1982 §3.2).
#[inline]
#[must_use]
pub const fn is_later(round: u16, than: u16) -> bool {
    (round.wrapping_sub(than) as i16) > 0
}

/// What is known of a node's slot, in 32 bits: the round, and the slot as it is on the wire. Tables compare several
/// hundred claims for each HELLO.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Claim(u32);

/// The slot that stands for none.
const NONE: u16 = u16::MAX;

impl Claim {
    /// The slot of a node, below 65535, or nothing, and the round in which the node took it, gave one up, or last asked
    /// for one.
    #[must_use]
    pub const fn new(slot: Option<u16>, round: u16) -> Self {
        let slot = match slot {
            Some(slot) => slot,
            None => NONE,
        };
        Self((round as u32) << 16 | slot as u32)
    }

    /// The slot, or nothing.
    #[inline]
    #[must_use]
    pub const fn slot(self) -> Option<u16> {
        match self.0 as u16 {
            NONE => None,
            slot => Some(slot),
        }
    }

    /// The round in which the node took the slot, gave one up, or last asked for one.
    #[inline]
    #[must_use]
    pub const fn round(self) -> u16 {
        (self.0 >> 16) as u16
    }

    /// The slots up to that of the node: zero without a slot.
    #[inline]
    #[must_use]
    pub const fn slots(self) -> u16 {
        (self.0 as u16).wrapping_add(1)
    }

    /// Whether it is more recent than another one of the same node. Within a round, a node first has no slot.
    #[inline]
    #[must_use]
    pub const fn is_newer(self, than: Self) -> bool {
        is_later(self.round(), than.round())
            || self.round() == than.round() && self.slot().is_some() && than.slot().is_none()
    }
}

impl fmt::Debug for Claim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Claim").field("slot", &self.slot()).field("round", &self.round()).finish()
    }
}

/// What a message says of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The node.
    pub node: Address,
    /// Its slot.
    pub claim: Claim,
}

impl Entry {
    /// All of it as one number, in the order in which the two words stand in memory.
    #[inline]
    #[must_use]
    pub const fn bits(self) -> u64 {
        (self.claim.0 as u64) << 32 | self.node.0 as u64
    }
}

/// Bytes of a HELLO without entries.
pub const HELLO: u32 = 16;

/// Bytes of an entry.
pub const ENTRY: u32 = 8;

/// A HELLO.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hello {
    /// Whether the sender waits for grants.
    pub requesting: bool,
    /// Its own slot.
    pub claim: Claim,
    /// How many nodes within two hops, itself among them, have no slot as far as it knows.
    pub undecided: u16,
    /// The largest slot of the network that it knows of.
    pub largest: Option<u16>,
    /// How many milliseconds ago a node within two hops of that slot's owner has vouched for it.
    pub age: u16,
    /// The neighbours that it hears, sorted. HELLOs share the list while the sender's does not change.
    pub neighbours: Arc<[Entry]>,
}

/// A message. Its sender is the source of the packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Message {
    /// The sender's neighbours and their slots.
    Hello(Hello),
    /// Asks all neighbours for a grant.
    Request {
        /// How often it has been sent before; at most 127.
        resends: u8,
        /// The sender's round.
        round: u16,
    },
    /// Promises to grant nobody else until the request has ended.
    Grant {
        /// Whether it is sent again.
        again: bool,
        /// How often the request had been sent before, so that its sender can tell the response time.
        resends: u8,
        /// The round of the request.
        round: u16,
        /// The sender and its neighbours, those that have a slot.
        decided: Vec<Entry>,
    },
    /// Refuses a grant.
    Reject {
        /// The round of the request.
        round: u16,
    },
    /// The request has ended without a slot.
    Fail {
        /// Its round.
        round: u16,
    },
    /// The sender has taken a slot.
    Release {
        /// The round in which it did.
        round: u16,
        /// The slot.
        slot: u16,
    },
    /// A neighbour of the sender has taken a slot.
    TwoHopRelease {
        /// The neighbour.
        node: Address,
        /// The round in which it did.
        round: u16,
        /// The slot.
        slot: u16,
    },
}

impl Message {
    /// Its bytes without the headers of IP and UDP.
    #[must_use]
    pub fn bytes(&self) -> u32 {
        match self {
            Self::Hello(hello) => HELLO + ENTRY * hello.neighbours.len() as u32,
            Self::Request { .. } | Self::Reject { .. } | Self::Fail { .. } => 4,
            Self::Grant { decided, .. } => 8 + ENTRY * decided.len() as u32,
            Self::Release { .. } => 8,
            Self::TwoHopRelease { .. } => 12,
        }
    }

    /// The message as it is on the wire.
    #[must_use]
    pub fn on_the_wire(&self, address: &dyn Fn(Address) -> Ipv4Addr) -> drand::Message {
        let entry =
            |it: &Entry| drand::Entry { node: address(it.node), slot: it.claim.slot(), round: it.claim.round() };
        match self {
            Self::Hello(it) => drand::Message::Hello(drand::Hello {
                requesting: it.requesting,
                round: it.claim.round(),
                slot: it.claim.slot(),
                undecided: it.undecided,
                largest: it.largest,
                age: it.age,
                neighbours: it.neighbours.iter().map(entry).collect(),
            }),
            &Self::Request { resends, round } => drand::Message::Request { resends, round },
            Self::Grant { again, resends, round, decided } => drand::Message::Grant(drand::Grant {
                again: *again,
                resends: *resends,
                round: *round,
                decided: decided.iter().map(entry).collect(),
            }),
            &Self::Reject { round } => drand::Message::Reject { round },
            &Self::Fail { round } => drand::Message::Fail { round },
            &Self::Release { round, slot } => drand::Message::Release { round, slot },
            &Self::TwoHopRelease { node, round, slot } => {
                drand::Message::TwoHopRelease { node: address(node), round, slot }
            }
        }
    }
}

impl packet::Message for Message {
    fn kind(&self) -> &'static str {
        match self {
            Self::Hello(_) => "HELLO",
            Self::Request { .. } => "request",
            Self::Grant { .. } => "grant",
            Self::Reject { .. } => "reject",
            Self::Fail { .. } => "fail",
            Self::Release { .. } => "release",
            Self::TwoHopRelease { .. } => "two_hop_release",
        }
    }

    fn kinds(&self, each: &mut dyn FnMut(&'static str)) {
        each(packet::Message::kind(self));
    }

    fn encode(&self, place: &Place<'_>, out: &mut Vec<u8>) -> Result<Carrier, WireError> {
        self.on_the_wire(place.address).emit(&|it| it, out)?;
        Ok(Carrier::Udp(PORT))
    }
}

/// The UDP port of the messages: one of the dynamic ports, which are assigned to nobody (RFC 6335 §6).
pub const PORT: u16 = 49_270;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::Message as _;

    #[test]
    fn sizes_are_those_of_the_bytes() {
        let entry = |slot| Entry { node: Address(3), claim: Claim::new(slot, 2) };
        let neighbours = [entry(None), entry(Some(1)), entry(Some(2))].into();
        let claim = Claim::new(None, 2);
        let hello = Hello { requesting: false, claim, undecided: 1, largest: None, age: 0, neighbours };
        let place = Place { source: Address(0), address: &|it| Ipv4Addr::from_bits(it.0) };
        for (message, expected) in [
            (Message::Hello(hello), 40),
            (Message::Request { resends: 0, round: 1 }, 4),
            (Message::Grant { again: false, resends: 0, round: 1, decided: vec![entry(Some(1)); 2] }, 24),
            (Message::Reject { round: 1 }, 4),
            (Message::Fail { round: 1 }, 4),
            (Message::Release { round: 1, slot: 2 }, 8),
            (Message::TwoHopRelease { node: Address(1), round: 1, slot: 2 }, 12),
        ] {
            let mut out = Vec::new();
            assert_eq!(message.encode(&place, &mut out), Ok(Carrier::Udp(PORT)));
            assert_eq!((message.bytes(), out.len()), (expected, expected as usize), "{message:?}");
            assert_eq!(drand::Message::parse(&out), Ok((message.on_the_wire(place.address), &[][..])));
        }
    }

    #[test]
    fn rounds_wrap_and_a_slot_follows_the_request_for_it() {
        let claim = Claim::new;
        assert!(claim(None, 1).is_newer(claim(Some(3), 0)));
        assert!(claim(None, 2).is_newer(claim(Some(3), 65_534)));
        assert!(!claim(Some(3), 65_534).is_newer(claim(None, 2)));
        assert!(claim(Some(3), 7).is_newer(claim(None, 7)));
        assert!(!claim(None, 7).is_newer(claim(Some(3), 7)));
        assert!(!claim(Some(3), 7).is_newer(claim(Some(3), 7)));
    }
}
