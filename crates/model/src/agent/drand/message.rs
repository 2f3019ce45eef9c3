//! DRAND's messages, and the claims of nodes for slots.

use hopyard_wire::drand;
pub use hopyard_wire::drand::{Claim, ENTRY, HELLO, PORT, is_later};

use crate::address::Address;

/// A message.
pub type Message = drand::Message<Address>;
/// A HELLO.
pub type Hello = drand::Hello<Address>;
/// A node and its slot.
pub type Entry = drand::Entry<Address>;

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;
    use crate::packet::{Carrier, Datagram as _};

    #[test]
    fn sizes_are_those_of_the_bytes() {
        let entry = |slot| Entry { node: Address(3), claim: Claim::new(slot, 2) };
        let neighbours = [entry(None), entry(Some(1)), entry(Some(2))].into();
        let claim = Claim::new(None, 2);
        let hello = Hello { requesting: false, claim, undecided: 1, largest: None, age: 0, neighbours };
        let name = &|it: Address| Ipv4Addr::from_bits(it.0);
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
            assert_eq!(message.encode(name, &mut out), Ok(Carrier::Udp(PORT)));
            assert_eq!((message.bytes(), out.len()), (expected, expected as usize), "{message:?}");
        }
    }
}
