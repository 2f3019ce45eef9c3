//! The bytes of messages: as many as are counted, and with the authenticators that they claim to have.

use hopyard_wire::ipv4;
use hopyard_wire::mobile_ip as wire;
use hopyard_wire::{icmp, udp};

use super::*;
use crate::packet::Message as _;

fn encoded(message: &Message) -> Vec<u8> {
    let mut bytes = Vec::new();
    message.encode(&name, &mut bytes).expect("it has an encoding");
    bytes
}

const PROOFS: [Proof; 4] = [Proof::None, Proof::Right, Proof::Forged, Proof::Malformed];

#[test]
fn messages_have_as_many_bytes_as_are_counted() {
    for proof in PROOFS {
        for foreign_proof in &PROOFS[..3] {
            for agent_proof in &PROOFS[..3] {
                let (foreign_proof, agent_proof) = (*foreign_proof, *agent_proof);
                for encapsulating in [false, true] {
                    let it = Request { proof, foreign_proof, agent_proof, encapsulating, ..request(0) };
                    let counted = Message::Request(it).bytes(false) as usize;
                    assert_eq!(encoded(&Message::Request(it)).len() + 28, counted, "{it:?}");
                    let what = Undelivered { why: Unreachable::Port, source: FA, destination: HA, ttl: 9 };
                    let error = Message::Unreachable(what, it);
                    assert_eq!(encoded(&error).len() + 20, error.bytes(false) as usize);
                    assert_eq!(error.bytes(false) as usize, counted + 28);
                }
                let it = Reply { proof, foreign_proof, agent_proof, ..reply(&request(0), Code::ACCEPTED) };
                assert_eq!(encoded(&Message::Reply(it)).len() + 28, Message::Reply(it).bytes(false) as usize, "{it:?}");
            }
        }
    }
}

#[test]
fn s3_5_each_authenticator_is_read_as_it_was_made() {
    let all = Request { encapsulating: true, foreign_proof: Proof::Right, agent_proof: Proof::Right, ..request(0) };
    let forged = Request { foreign_proof: Proof::Forged, agent_proof: Proof::Forged, ..all };
    for sent in [all, forged] {
        let bytes = encoded(&Message::Request(sent));
        // RFC 3024 §3.3: the delivery style stands behind the authenticator for the home agent.
        assert_eq!([24, 46, 48, 70].map(|place| bytes[place]), [32, 130, 33, 34]);
        let Ok(wire::Message::Request(it)) = wire::Message::parse(&bytes, name(FA)) else { panic!("it is a request") };
        assert_eq!((it.home, it.home_agent, it.care_of), (name(MH), name(HA), name(FA)));
        let read = (it.proof, it.foreign_proof, it.agent_proof);
        assert_eq!(read, (Proof::Right, sent.foreign_proof, sent.agent_proof));
    }
}

#[test]
fn s1_8_a_poorly_formed_message_cannot_be_parsed() {
    for message in [
        Message::Request(Request { proof: Proof::Malformed, ..request(0) }),
        Message::Reply(Reply { proof: Proof::Malformed, ..reply(&request(0), Code::ACCEPTED) }),
    ] {
        assert!(wire::Message::parse(&encoded(&message), name(FA)).is_err());
    }
}

#[test]
fn an_icmp_error_quotes_the_request() {
    for (why, expected) in [
        (Unreachable::Network, Some(icmp::Unreachable::NETWORK)),
        (Unreachable::Host, Some(icmp::Unreachable::HOST)),
        (Unreachable::Port, Some(icmp::Unreachable::PORT)),
        (Unreachable::TooLong { mtu: 576 }, Some(icmp::Unreachable::FRAGMENTATION_NEEDED)),
        (Unreachable::TimeExceeded, None),
    ] {
        let what = Undelivered { why, source: FA, destination: HA, ttl: 9 };
        let bytes = encoded(&Message::Unreachable(what, request(0)));
        let (message, quote) = icmp::Message::parse(&bytes).expect("sound");
        match expected {
            Some(code) => {
                let next_hop_mtu = if matches!(why, Unreachable::TooLong { .. }) { 576 } else { 0 };
                assert_eq!(message, icmp::Message::DestinationUnreachable { code, next_hop_mtu });
            }
            None => assert_eq!(message, icmp::Message::TimeExceeded { code: 0 }),
        }
        let (header, payload) = ipv4::Header::parse(quote).expect("a whole datagram");
        assert_eq!((header.source, header.destination, header.ttl), (name(FA), name(HA), 9));
        let (ports, payload) = udp::Header::parse(payload, name(FA), name(HA)).expect("sound");
        assert_eq!((ports.source_port, ports.destination_port), (434, 434));
        assert_eq!(payload, encoded(&Message::Request(request(0))));
    }
}
