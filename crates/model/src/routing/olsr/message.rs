//! OLSR's packets and messages.

use hopyard_wire::olsr;
pub use hopyard_wire::olsr::{LinkType, NeighbourType, of_code, to_code};

use crate::address::Address;

/// A packet.
pub type OlsrPacket = olsr::Packet<Address>;
/// A message with its header.
pub type OlsrMessage = olsr::Message<Address>;
/// The content of a message.
pub type Content = olsr::Content<Address>;
/// A HELLO.
pub type Hello = olsr::Hello<Address>;
/// A neighbour in a HELLO.
pub type Listed = olsr::Listed<Address>;
/// A TC.
pub type Tc = olsr::Tc<Address>;

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;
    use crate::address::Prefix;
    use crate::packet::{Carrier, Datagram as _};

    #[test]
    fn s3_3_sizes_are_those_of_the_formats() {
        let listed = |address, link, neighbour| Listed { address: Address(address), link, neighbour, quality: (0, 0) };
        let hello = Hello {
            htime: 5,
            willingness: 3,
            qualities: false,
            listed: vec![
                listed(1, LinkType::Symmetric, NeighbourType::Symmetric),
                listed(2, LinkType::Asymmetric, NeighbourType::Not),
                listed(3, LinkType::Symmetric, NeighbourType::Symmetric),
            ],
        };
        let message = |content| OlsrMessage { vtime: 0, originator: Address(0), ttl: 1, hops: 0, sequence: 0, content };
        let hello = message(Content::Hello(hello.into()));
        assert_eq!(hello.size(), 12 + 4 + (4 + 8) + (4 + 4));
        let tc = message(Content::Tc(Tc { ansn: 0, advertised: vec![Address(1); 3], qualities: vec![] }.into()));
        assert_eq!(tc.size(), 12 + 4 + 12);
        assert_eq!(message(Content::Mid(vec![Address(4)].into())).size(), 16);
        assert_eq!(message(Content::Hna(vec![Prefix::DEFAULT].into())).size(), 20);
        let packet = OlsrPacket { sequence: 7, messages: vec![hello, tc] };
        assert_eq!((packet.size(), packet.kind()), (4 + 36 + 28, "OLSR"));
        let mut out = Vec::new();
        let name = &|it: Address| Ipv4Addr::from_bits(it.0);
        assert_eq!(packet.encode(name, &mut out), Ok(Carrier::Udp(698)));
        assert_eq!(out.len(), packet.size() as usize);
    }

    #[test]
    fn s3_3_each_message_of_a_packet_is_named_and_says_whether_it_is_forwarded() {
        let message = |hops, networks: usize| {
            let content = Content::Hna(vec![Prefix::DEFAULT; networks].into());
            OlsrMessage { vtime: 0, originator: Address(0), ttl: 9, hops, sequence: 0, content }
        };
        let tc = Content::Tc(Tc { ansn: 0, advertised: vec![Address(1)], qualities: vec![] }.into());
        let tc = OlsrMessage { content: tc, ..message(2, 0) };
        let packet = OlsrPacket { sequence: 7, messages: vec![message(0, 2), tc, message(1, 1)] };
        let mut parts = Vec::new();
        packet.parts(&mut |part| parts.push((part.kind, part.bytes, part.forwarded)));
        assert_eq!(parts, [("HNA", 28, false), ("TC", 20, true), ("HNA", 20, true)]);
        assert_eq!(parts.iter().map(|it| it.1).sum::<u32>() + OlsrPacket::HEADER, packet.size());
    }
}
