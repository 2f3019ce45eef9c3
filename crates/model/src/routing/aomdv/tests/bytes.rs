//! Messages as bytes.

use std::net::Ipv4Addr;

use hopyard_wire::aomdv;

use super::*;
use crate::packet::{Carrier, Datagram as _};

fn address(node: Address) -> Ipv4Addr {
    Ipv4Addr::from_bits(0x0a00_0000 + node.0)
}

fn bytes(message: &RoutingMessage) -> Vec<u8> {
    let mut out = Vec::new();
    let name = &address;
    assert_eq!(message.encode(name, &mut out), Ok(Carrier::Udp(1022)));
    out
}

fn messages() -> [RoutingMessage; 5] {
    [
        request(1, 2, 3),
        reply(1, 20, 2, 11),
        wrap(AomdvMessage::Error(vec![(Address(9), 13)])),
        wrap(AomdvMessage::Error(vec![(Address(9), 13); 255])),
        wrap(AomdvMessage::Hello { sender: Address(6), sequence: 8, lifetime: Span::from_secs(2) }),
    ]
}

#[test]
fn messages_have_the_bytes_that_are_counted_for_them() {
    for wrapped in messages() {
        let message: &AomdvMessage = wrapped.get().expect("a message of AOMDV");
        // IP and UDP add 28 bytes.
        let size = bytes(&wrapped).len() as u32 + 28;
        assert_eq!(Params::of_profile(RFC).packet_size(message), size, "{message:?}");
        // ns-2 counts no UDP header, and four bytes more for a time in all but errors.
        let time = if matches!(message, AomdvMessage::Error(_)) { 0 } else { 4 };
        assert_eq!(Params::of_profile(NS2).packet_size(message), size - 8 + time, "{message:?}");
    }
}

#[test]
fn messages_keep_their_fields() {
    let parsed = aomdv::Message::parse(&bytes(&reply(7, 20, 2, 11))).expect("sound").0;
    let expected = aomdv::RouteReply {
        hops: 2,
        destination: address(Address(9)),
        destination_sequence: 20,
        originator: address(Address(8)),
        lifetime: Span::from_secs(6),
        id: 7,
        first_hop: address(Address(11)),
    };
    assert_eq!(parsed, aomdv::Message::Reply(expected));
}

#[test]
fn more_destinations_than_an_error_can_hold_are_refused() {
    let name = &address;
    for (count, refused) in [(0, true), (255, false), (256, true)] {
        let error = AomdvMessage::Error(vec![(Address(9), 13); count]);
        assert_eq!(error.encode(name, &mut Vec::new()).is_err(), refused, "{count}");
    }
}
