//! Messages as bytes.

use std::net::Ipv4Addr;

use hopyard_wire::{WireError, aodv};

use super::*;
use crate::packet::{Carrier, Datagram as _};

fn address(node: Address) -> Ipv4Addr {
    Ipv4Addr::from_bits(0x0a00_0000 + node.0)
}

fn bytes(message: &AodvMessage) -> Vec<u8> {
    let mut out = Vec::new();
    let name = &address;
    assert_eq!(message.encode(name, &mut out), Ok(Carrier::Udp(654)));
    out
}

fn parsed(message: &AodvMessage) -> aodv::Message {
    let bytes = bytes(message);
    let (parsed, rest) = aodv::Message::parse(&bytes).expect("sound");
    assert!(rest.is_empty());
    parsed
}

fn reply() -> Reply {
    Reply {
        hops: 3,
        destination: Address(9),
        destination_sequence: 12,
        originator: Address(1),
        lifetime: Span::from_nanos(3_000_999_999),
        ack_required: false,
        internet: None,
        sent: Time::ZERO,
    }
}

fn error(count: usize) -> RouteError {
    RouteError { no_delete: false, unreachable: vec![(Address(9), 13); count] }
}

/// A message of every kind.
fn messages() -> Vec<AodvMessage> {
    let hello = AodvMessage::Hello { sender: Address(6), sequence: 8, lifetime: Span::from_secs(2) };
    let mut messages = vec![
        AodvMessage::Request(request()),
        AodvMessage::Reply(reply()),
        AodvMessage::Error(error(1)),
        AodvMessage::Error(error(255)),
        AodvMessage::ReplyAck,
        hello,
    ];
    // A new kind needs its line above.
    messages.retain(|message| match message {
        AodvMessage::Request(_)
        | AodvMessage::Reply(_)
        | AodvMessage::Error(_)
        | AodvMessage::ReplyAck
        | AodvMessage::Hello { .. } => true,
    });
    messages
}

#[test]
fn messages_have_the_bytes_that_are_counted_for_them() {
    for message in messages() {
        // IP and UDP add 28 bytes.
        let size = bytes(&message).len() as u32 + 28;
        assert_eq!(Params::of_profile(RFC).packet_size(&message), size, "{message:?}");
        // ns-2 counts no UDP header, and four bytes more in requests and replies, for a time.
        let time = match message {
            AodvMessage::Request(_) | AodvMessage::Reply(_) | AodvMessage::Hello { .. } => 4,
            AodvMessage::Error(_) | AodvMessage::ReplyAck => 0,
        };
        assert_eq!(Params::of_profile(NS2).packet_size(&message), size - 8 + time, "{message:?}");
    }
}

/// Bytes have the addresses that the user knows, and lifetimes in whole milliseconds.
#[test]
fn messages_keep_their_fields() {
    let at = |node| address(Address(node));
    let Request { hops, id, destination_sequence, unknown_sequence, gratuitous, destination_only, .. } = request();
    let expected = aodv::RouteRequest {
        hops,
        id,
        destination: at(9),
        destination_sequence,
        unknown_sequence,
        gratuitous,
        destination_only,
        originator: at(8),
        originator_sequence: 5,
        sent: Time::ZERO,
    };
    assert_eq!(parsed(&AodvMessage::Request(request())), aodv::Message::Request(expected));
    let expected = aodv::RouteReply {
        hops: 3,
        destination: at(9),
        destination_sequence: 12,
        originator: at(1),
        lifetime: Span::from_secs(3),
        ack_required: false,
        internet: Some(at(20)),
        sent: Time::ZERO,
    };
    let reply = Reply { internet: Some(Address(20)), ..reply() };
    assert_eq!(parsed(&AodvMessage::Reply(reply)), aodv::Message::Reply(expected));
    let error = RouteError { no_delete: true, unreachable: vec![(Address(4), 2), (Address(5), u32::MAX)] };
    let expected = aodv::RouteError { no_delete: true, unreachable: vec![(at(4), 2), (at(5), u32::MAX)] };
    assert_eq!(parsed(&AodvMessage::Error(error)), aodv::Message::Error(expected));
    let hello = AodvMessage::Hello { sender: Address(6), sequence: 8, lifetime: Span::from_secs(2) };
    let expected = aodv::Message::Hello { sender: at(6), sequence: 8, lifetime: Span::from_secs(2) };
    assert_eq!(parsed(&hello), expected);
}

#[test]
fn more_destinations_than_an_error_can_hold_are_refused() {
    let name = &address;
    for (count, refused) in [(0, true), (255, false), (256, true)] {
        let result = AodvMessage::Error(error(count)).encode(name, &mut Vec::new());
        assert_eq!(result.is_err(), refused, "{count}");
    }
    let limit = AodvMessage::Error(error(256)).encode(name, &mut Vec::new());
    assert!(matches!(limit, Err(WireError::TooLong { limit: 255, found: 256, .. })));
}

/// §6.9: a HELLO is valid for as long as its sender may stay silent, of two HELLO messages; ns-2 adds one to its three.
#[test]
fn a_hello_lives_as_long_as_silence_is_allowed() {
    for (profile, expected) in [(RFC, "HELLO for 2 s"), (NS2, "HELLO for 4 s")] {
        let params = Params { link_detection: LinkDetection::Hello, ..Params::of_profile(profile) };
        let mut net = Network::new(&Config::Aodv(params.into()), 3, 7, |message| match message.get() {
            Some(AodvMessage::Hello { lifetime, .. }) => format!("HELLO for {lifetime}"),
            _ => "other".to_owned(),
        });
        net.chain(&[0, 1, 2]);
        net.send_until(0, 2, 5_000);
        let hellos = net.said("HELLO");
        assert!(hellos.len() >= 6 && hellos.iter().all(|line| line.contains(expected)), "{hellos:?}");
    }
}
