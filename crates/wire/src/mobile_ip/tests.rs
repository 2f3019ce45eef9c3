use proptest::prelude::*;

use super::*;
use crate::checksum;
use crate::testing::{address, bytes, hex};

const HOME: Ipv4Addr = Ipv4Addr::new(10, 1, 0, 9);
const HOME_AGENT: Ipv4Addr = Ipv4Addr::new(10, 1, 0, 1);
const CARE_OF: Ipv4Addr = Ipv4Addr::new(10, 2, 0, 1);

fn request() -> Request {
    Request {
        flags: RequestFlags::SIMULTANEOUS | RequestFlags::REVERSE_TUNNEL,
        lifetime: 300,
        home: HOME,
        home_agent: HOME_AGENT,
        care_of: CARE_OF,
        identification: 0x0123_4567_89ab_cdef,
        proof: Proof::Right,
        encapsulating: true,
        foreign_proof: Proof::None,
        agent_proof: Proof::None,
        wants_notice: false,
    }
}

fn reply() -> Reply {
    Reply {
        code: Code::HA_IDENTIFICATION,
        lifetime: 0,
        home: HOME,
        home_agent: HOME_AGENT,
        identification: 0xfedc_ba98_7654_3210,
        proof: Proof::Right,
        foreign_proof: Proof::None,
        agent_proof: Proof::Forged,
        care_of: CARE_OF,
    }
}

fn emitted(message: &Message) -> Vec<u8> {
    let mut out = Vec::new();
    match message {
        Message::Request(it) => it.emit(&|it| it, &mut out),
        Message::Reply(it) => it.emit(&|it| it, &mut out),
    }
    out
}

#[test]
fn a_request_as_in_the_figure_of_rfc_5944() {
    // Type 1, flags S and T, lifetime 300 s; home address, home agent, care-of address, identification. Then type 32,
    // length 20, SPI 256 and an authenticator of 16 bytes; type 130 without data.
    let start = hex("01 82 012c 0a010009 0a010001 0a020001 0123456789abcdef 20 14 00000100");
    // Type, length and SPI of the extension are protected, its authenticator and what follows are not (§3.5.1).
    let expected = [&start[..], &check_value(&HOME.octets(), &start), &hex("82 00")].concat();
    assert_eq!(emitted(&Message::Request(request())), expected);
    assert_eq!((request().bytes() as usize, expected.len()), (24 + 22 + 2, 24 + 22 + 2));
    assert_eq!(Message::parse(&expected, HOME), Ok(Message::Request(request())));
}

#[test]
fn a_reply_as_in_the_figure_of_rfc_5944() {
    // Type 3, code 133, lifetime 0; home address, home agent, identification; types 32 and 34.
    let start = hex("03 85 0000 0a010009 0a010001 fedcba9876543210 20 14 00000100");
    let first = [&start[..], &check_value(&HOME.octets(), &start), &hex("22 14 00000100")].concat();
    let key = [&CARE_OF.octets()[..], &HOME_AGENT.octets(), &[0]].concat();
    let expected = [&first[..], &check_value(&key, &first)].concat();
    assert_eq!(emitted(&Message::Reply(reply())), expected);
    assert_eq!((reply().bytes() as usize, expected.len()), (20 + 2 * 22, 20 + 2 * 22));
    assert_eq!(Message::parse(&expected, CARE_OF), Ok(Message::Reply(reply())));
    // An unknown extension that may be passed over, and a byte of padding.
    let longer = [&expected[..], &hex("c8 03 010203 00")].concat();
    assert_eq!(Message::parse(&longer, CARE_OF), Ok(Message::Reply(reply())));
}

#[test]
fn each_flag_has_its_bit() {
    // S B D M G r T x, from the highest bit on.
    let flags = [
        RequestFlags::SIMULTANEOUS,
        RequestFlags::BROADCAST,
        RequestFlags::DECAPSULATION,
        RequestFlags::MINIMAL_ENCAPSULATION,
        RequestFlags::GRE,
        RequestFlags::RESERVED_R,
        RequestFlags::REVERSE_TUNNEL,
        RequestFlags::RESERVED_X,
    ];
    assert_eq!(flags.map(|flag| flag.0), [7, 6, 5, 4, 3, 2, 1, 0].map(|bit| 1 << bit));
    // R B H F M G r T U X I, from the highest bit on; five bits are reserved.
    let flags = [
        AgentFlags::REGISTRATION_REQUIRED,
        AgentFlags::BUSY,
        AgentFlags::HOME_AGENT,
        AgentFlags::FOREIGN_AGENT,
        AgentFlags::MINIMAL_ENCAPSULATION,
        AgentFlags::GRE,
        AgentFlags::RESERVED_R,
        AgentFlags::REVERSE_TUNNEL,
        AgentFlags::UDP_TUNNEL,
        AgentFlags::REVOCATION,
        AgentFlags::REVOCATION_INFORM,
    ];
    assert_eq!(flags.map(|flag| flag.0), [15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5].map(|bit| 1 << bit));
    assert_eq!(flags.into_iter().reduce(|a, b| a | b), Some(AgentFlags::ALL));
    assert!(AgentFlags::ALL.contains(AgentFlags::BUSY) && !AgentFlags::GRE.contains(AgentFlags::BUSY));
    assert!(!RequestFlags::GRE.contains(RequestFlags::GRE | RequestFlags::BROADCAST));
}

fn with_sum(mut bytes: Vec<u8>) -> Vec<u8> {
    let sum = checksum::Checksum::new().bytes(&bytes).finish();
    bytes[2..4].copy_from_slice(&sum.to_be_bytes());
    bytes
}

#[test]
fn an_agent_advertisement_as_in_the_figures_of_rfc_5944() {
    let flags = AgentFlags::REGISTRATION_REQUIRED | AgentFlags::FOREIGN_AGENT | AgentFlags::REVERSE_TUNNEL;
    let agent = Advertisement {
        agent: CARE_OF,
        sequence: 256,
        lifetime: 9,
        registration_lifetime: 3,
        flags,
        care_of: Some(CARE_OF),
        prefix_length: Some(24),
    };
    // One router. Then type 16, length 6 + 4, sequence number 256, lifetime 3 s, flags R, F and T, a care-of address;
    // and type 19 with the length of the prefix.
    let head = "09 00 0000 01 02 0009 0a020001 00000000";
    let bytes = with_sum(hex(&format!("{head} 10 0a 0100 0003 9100 0a020001 13 01 18")));
    let mut out = Vec::new();
    agent.emit(&|it| it, &mut out).expect("a short prefix");
    assert_eq!((&out, agent.bytes() as usize), (&bytes, bytes.len()));
    assert_eq!(Advertisement::parse(&bytes), Ok(agent));
    // Reserved bits and further care-of addresses are ignored, and padding.
    let reserved = with_sum(hex(&format!("{head} 10 0e 0100 0003 911f 0a020001 0a020002 13 01 18 00")));
    assert_eq!(Advertisement::parse(&reserved), Ok(agent));
    // With one care-of address and no prefix, the message has 28 bytes, and 48 with the header of IP.
    assert_eq!(Advertisement { prefix_length: None, ..agent }.bytes(), 28);
    assert!(Advertisement { prefix_length: Some(33), ..agent }.emit(&|it| it, &mut out).is_err());

    let said = |text: &str| Advertisement::parse(&with_sum(hex(text))).expect_err("unsound").to_string();
    let says = |extensions: &str| said(&format!("{head} {extensions}"));
    let format = "agent advertisement: expected";
    assert_eq!(says("20 04 00000100"), format!("{format} an extension of type 0, 16, 19, or 128 or more, found 32"));
    let length = format!("{format} a length of 6 and 4 for each care-of address, found");
    assert_eq!(says("10 08 0000 0000 0000 0000"), format!("{length} 8"));
    assert_eq!(says("10 02 0000"), format!("{length} 2"));
    assert_eq!(says("13 02 1818"), format!("{format} one prefix length for each router, found 2"));
    assert_eq!(says("13 01 21"), format!("{format} a prefix length of at most 32, found 33"));
    assert_eq!(says(""), format!("{format} the extension of an agent, found 0"));
    assert_eq!(said("09 00 0000 00 02 0009"), format!("{format} a router, found 0"));
    assert_eq!(said("0a 00 0000 00000000"), format!("{format} a router advertisement, found 10"));
}

#[test]
fn unknown_extensions_below_128_are_not_passed_over() {
    let start = "03 00 012c 0a010009 0a010001 0000000000000001";
    let said = |text: &str| Message::parse(&hex(&format!("{start} {text}")), HOME).expect_err("unsound").to_string();
    let expected = "Mobile IP: expected an extension of type 0, 32 to 34, or 128 or more, found";
    assert_eq!(said("24 01 00"), format!("{expected} 36"));
    assert_eq!(said("10 06 0000 0000 0000"), format!("{expected} 16"), "it belongs to advertisements");
    assert_eq!(said("83 05 00"), "Mobile IP: expected 27 bytes or more, found 23");
    let short = "authentication extension of Mobile IP: expected 4 bytes or more, found 3";
    assert_eq!(said("21 03 000000"), short);
    let data = "Mobile IP: expected an encapsulating delivery style extension without data, found 1";
    assert_eq!(said("82 01 00"), data);
    let said = Message::parse(&hex("02 00 012c 0a010009 0a010001 0000000000000001"), HOME).expect_err("unsound");
    assert_eq!(said.to_string(), "Mobile IP: expected type 1 (request) or 3 (reply), found 2");
}

#[test]
fn two_authenticators_of_one_kind_are_not_accepted() {
    let mut bytes = emitted(&Message::Request(Request { encapsulating: false, ..request() }));
    authenticate(Association::MobileHome, [HOME, HOME_AGENT, CARE_OF], Proof::Right, 0, &mut bytes);
    let Ok(Message::Request(twice)) = Message::parse(&bytes, HOME) else { panic!("it is a request") };
    assert_eq!(twice.proof, Proof::Forged);
}

#[test]
fn a_poorly_formed_message_cannot_be_parsed() {
    let bytes = emitted(&Message::Request(Request { proof: Proof::Malformed, ..request() }));
    assert_eq!(bytes.len() as u32, Request { proof: Proof::Malformed, ..request() }.bytes());
    assert!(Message::parse(&bytes, HOME).is_err());
}

#[test]
fn the_check_value_is_fixed() {
    // FNV-1a over eight zero bytes, the length of a key of no bytes.
    let by_hand = |start: u64| {
        let mut hash = start;
        for _ in 0..8 {
            hash = hash.wrapping_mul((1 << 40) + 0x1b3);
        }
        hash.to_be_bytes()
    };
    let expected = [by_hand(0xcbf2_9ce4_8422_2325), by_hand(0x8422_2325_cbf2_9ce4)].concat();
    assert_eq!(check_value(&[], &[])[..], expected);
    assert_ne!(check_value(b"ab", b"c"), check_value(b"a", b"bc"), "the key has an end");
}

fn message() -> impl Strategy<Value = Message> {
    let proof = || prop::sample::select(vec![Proof::None, Proof::Right, Proof::Forged]);
    let numbers = any::<(u8, u16, u64, bool, bool)>();
    (numbers, address(), address(), address(), proof(), proof(), proof()).prop_map(
        |((second, lifetime, identification, encapsulating, asks), home, home_agent, care_of, a, b, c)| {
            let (proof, foreign_proof, agent_proof) = (a, b, c);
            if asks {
                Message::Request(Request {
                    flags: RequestFlags(second),
                    lifetime,
                    home,
                    home_agent,
                    care_of,
                    identification,
                    proof,
                    encapsulating,
                    foreign_proof,
                    agent_proof,
                    wants_notice: false,
                })
            } else {
                let code = Code(second);
                Message::Reply(Reply {
                    code,
                    lifetime,
                    home,
                    home_agent,
                    identification,
                    proof,
                    foreign_proof,
                    agent_proof,
                    care_of,
                })
            }
        },
    )
}

/// The care-of address and the authenticators of a message.
fn proofs(message: &Message) -> (Ipv4Addr, [Proof; 3]) {
    match message {
        Message::Request(it) => (it.care_of, [it.proof, it.foreign_proof, it.agent_proof]),
        Message::Reply(it) => (it.care_of, [it.proof, it.foreign_proof, it.agent_proof]),
    }
}

proptest! {
    #[test]
    fn what_is_emitted_is_parsed(message in message()) {
        prop_assert_eq!(Message::parse(&emitted(&message), proofs(&message).0), Ok(message));
    }

    /// Each bit of what is protected matters, and each bit of the authenticator.
    #[test]
    fn one_bit_makes_another_authenticator(message in message(), place: prop::sample::Index, bit in 0..8_u8) {
        let (care_of, _) = proofs(&message);
        let mut message = message;
        let (Message::Request(Request { agent_proof, .. }) | Message::Reply(Reply { agent_proof, .. })) = &mut message;
        *agent_proof = Proof::Right;
        let mut wrong = emitted(&message);
        let place = place.index(wrong.len());
        wrong[place] ^= 1 << bit;
        // A changed type or length may make another message, which is no more authentic.
        if let Ok(wrong) = Message::parse(&wrong, care_of) {
            prop_assert_ne!(proofs(&wrong).1[2], Proof::Right);
        }
    }

    #[test]
    fn no_bytes_upset_the_parser(bytes in bytes(80), kind in 0..4_u8) {
        let _ = Message::parse(&bytes, HOME);
        let _ = Message::parse(&[&[kind], &bytes[..]].concat(), HOME);
        let _ = Advertisement::parse(&bytes);
        let message = [&[9, 0, 0, 0, 1, 2, 0, 9, 10, 2, 0, 1, 0, 0, 0, 0], &bytes[..]].concat();
        let _ = Advertisement::parse(&with_sum(message));
    }
}
