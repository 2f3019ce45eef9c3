//! Messages as bytes.

use std::net::Ipv4Addr;

use hopyard_wire::{WireError, aodv};

use super::*;
use crate::packet::{Carrier, Message, Place};

fn address(node: Address) -> Ipv4Addr {
    Ipv4Addr::from_bits(0x0a00_0000 + node.0)
}

fn bytes(message: &AodvMessage) -> Vec<u8> {
    let mut out = Vec::new();
    let place = Place { source: Address(6), address: &address };
    assert_eq!(message.encode(&place, &mut out), Ok(Carrier::Udp(654)));
    out
}

/// What is on the wire, and nothing behind it.
fn parsed(message: &AodvMessage) -> aodv::Message {
    let bytes = bytes(message);
    let (parsed, rest) = aodv::Message::parse(&bytes).expect("sound");
    assert!(rest.is_empty());
    assert_eq!(parsed, message.on_the_wire(Address(6), &address));
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
    let hello = AodvMessage::Hello { sequence: 8, lifetime: Span::from_secs(2) };
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

#[test]
fn a_request_keeps_its_fields() {
    for flags in 0..8 {
        let [unknown_sequence, gratuitous, destination_only] = [1, 2, 4].map(|bit| flags & bit != 0);
        let request = Request { unknown_sequence, gratuitous, destination_only, hops: 5, id: 77, ..request() };
        let expected = aodv::RouteRequest {
            join: false,
            repair: false,
            gratuitous,
            destination_only,
            unknown_sequence,
            hop_count: 5,
            id: 77,
            destination: address(request.destination),
            destination_sequence: request.destination_sequence,
            originator: address(request.originator),
            originator_sequence: request.originator_sequence,
        };
        assert_eq!(parsed(&AodvMessage::Request(request)), aodv::Message::RouteRequest(expected));
    }
}

#[test]
fn a_reply_keeps_its_fields_and_a_hello_is_a_reply_about_its_sender() {
    let expected = aodv::RouteReply {
        repair: false,
        acknowledge: false,
        prefix_size: 0,
        hop_count: 3,
        destination: address(Address(9)),
        destination_sequence: 12,
        originator: address(Address(1)),
        lifetime: 3000,
    };
    assert_eq!(parsed(&AodvMessage::Reply(reply())), aodv::Message::RouteReply(expected));
    let asks = Reply { ack_required: true, lifetime: Span::from_secs(1 << 33), ..reply() };
    let expected = aodv::RouteReply { acknowledge: true, lifetime: u32::MAX, ..expected };
    assert_eq!(parsed(&AodvMessage::Reply(asks)), aodv::Message::RouteReply(expected));

    let hello = AodvMessage::Hello { sequence: 8, lifetime: Span::from_secs(2) };
    let expected = aodv::RouteReply {
        acknowledge: false,
        hop_count: 0,
        destination: address(Address(6)),
        destination_sequence: 8,
        originator: address(Address(6)),
        lifetime: 2000,
        ..expected
    };
    assert_eq!(parsed(&hello), aodv::Message::RouteReply(expected));
}

#[test]
fn an_error_keeps_its_destinations() {
    let unreachable = vec![(Address(4), 2), (Address(5), u32::MAX)];
    let expected = unreachable.iter().map(|&(node, sequence)| (address(node), sequence)).collect();
    let error = RouteError { no_delete: true, unreachable };
    let expected = aodv::RouteError { no_delete: true, unreachable: expected };
    assert_eq!(parsed(&AodvMessage::Error(error)), aodv::Message::RouteError(expected));
    assert_eq!(parsed(&AodvMessage::ReplyAck), aodv::Message::RouteReplyAck);
}

#[test]
fn more_destinations_than_an_error_can_hold_are_refused() {
    let place = Place { source: Address(6), address: &address };
    for (count, refused) in [(0, true), (255, false), (256, true)] {
        let result = AodvMessage::Error(error(count)).encode(&place, &mut Vec::new());
        assert_eq!(result.is_err(), refused, "{count}");
    }
    let limit = AodvMessage::Error(error(256)).encode(&place, &mut Vec::new());
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
