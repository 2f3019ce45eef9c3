use proptest::prelude::*;

use super::*;
use crate::icmp;
use crate::testing::{address, bytes, hex};

const HOME: Ipv4Addr = Ipv4Addr::new(10, 1, 0, 9);
const HOME_AGENT: Ipv4Addr = Ipv4Addr::new(10, 1, 0, 1);
const CARE_OF: Ipv4Addr = Ipv4Addr::new(10, 2, 0, 1);

fn emitted(message: &Message) -> Vec<u8> {
    let mut bytes = Vec::new();
    message.emit(&mut bytes).expect("short enough");
    bytes
}

#[test]
fn a_request_as_in_the_figure_of_rfc_5944() {
    // Type 1, flags S and T, lifetime 300 s; home address, home agent, care-of address, identification. Then type 32,
    // length 20, SPI 256 and an authenticator of 16 bytes; type 130 without data.
    let bytes = hex("01 82 012c 0a010009 0a010001 0a020001 0123456789abcdef \
        20 14 00000100 000102030405060708090a0b0c0d0e0f 82 00");
    let authentication =
        Authentication { association: Association::MobileHome, spi: 256, authenticator: (0..16).collect() };
    let request = Request {
        flags: RequestFlags::SIMULTANEOUS | RequestFlags::REVERSE_TUNNEL,
        lifetime: 300,
        home_address: HOME,
        home_agent: HOME_AGENT,
        care_of: CARE_OF,
        identification: 0x0123_4567_89ab_cdef,
        extensions: vec![Extension::Authentication(authentication), Extension::EncapsulatingDelivery],
    };
    let message = Message::Request(request);
    assert_eq!(Message::parse(&bytes), Ok(message.clone()));
    assert_eq!(emitted(&message), bytes);
    // 24 bytes of request, 22 of authentication, and 2.
    assert_eq!(bytes.len(), 24 + 22 + 2);
    // Type, length and SPI of the extension are protected, its authenticator and what follows are not (§3.5.1).
    assert_eq!(message.protected(0), Ok(Some(bytes[..30].to_vec())));
    assert_eq!(message.protected(1), Ok(None), "it is no authentication");
    assert_eq!(message.protected(2), Ok(None));
}

#[test]
fn a_reply_as_in_the_figure_of_rfc_5944() {
    // Type 3, code 133, lifetime 0; home address, home agent, identification. An unknown extension that may be passed
    // over stands between two authentications, and a byte of padding at the end.
    let bytes = hex("03 85 0000 0a010009 0a010001 fedcba9876543210 \
        20 06 00000101 abcd c8 03 010203 22 04 ffffffff 00");
    let authentication =
        |association, spi, authenticator| Extension::Authentication(Authentication { association, spi, authenticator });
    let message = Message::Reply(Reply {
        code: Code::HA_IDENTIFICATION,
        lifetime: 0,
        home_address: HOME,
        home_agent: HOME_AGENT,
        identification: 0xfedc_ba98_7654_3210,
        extensions: vec![
            authentication(Association::MobileHome, 257, vec![0xab, 0xcd]),
            Extension::Skippable { kind: 200, data: vec![1, 2, 3] },
            authentication(Association::ForeignHome, u32::MAX, vec![]),
            Extension::Padding,
        ],
    });
    assert_eq!(Message::parse(&bytes), Ok(message.clone()));
    assert_eq!(emitted(&message), bytes);
    assert_eq!(message.protected(2), Ok(Some(bytes[..bytes.len() - 1].to_vec())));
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

#[test]
fn an_agent_advertisement_as_in_the_figures_of_rfc_5944() {
    // Type 16, length 6 + 4 · 2, sequence number 256, lifetime 3 s, flags R, F and T, two care-of addresses. Then type
    // 19 with the lengths of the prefixes of two routers, and a byte of padding.
    let bytes = hex("10 0e 0100 0003 9100 0a020001 0a020002 13 02 18 10 00");
    let flags = AgentFlags::REGISTRATION_REQUIRED | AgentFlags::FOREIGN_AGENT | AgentFlags::REVERSE_TUNNEL;
    let care_of = vec![CARE_OF, Ipv4Addr::new(10, 2, 0, 2)];
    let agent = AgentAdvertisement { sequence: 256, registration_lifetime: 3, flags, care_of };
    let extensions =
        [AgentExtension::Agent(agent.clone()), AgentExtension::PrefixLengths(vec![24, 16]), AgentExtension::Padding];
    assert_eq!(AgentExtension::parse_all(&bytes, 2), Ok(extensions.to_vec()));
    let mut again = Vec::new();
    extensions.iter().try_for_each(|extension| extension.emit(&mut again)).expect("short enough");
    assert_eq!(again, bytes);
    // Reserved bits are ignored.
    let reserved = hex("10 0e 0100 0003 911f 0a020001 0a020002");
    assert_eq!(AgentExtension::parse_all(&reserved, 2), Ok(extensions[..1].to_vec()));
    // With one router and one care-of address, the message has 28 bytes, and 48 with the header of IP.
    let router = icmp::Router { address: CARE_OF, preference: 0 };
    let message = icmp::Message::RouterAdvertisement { common_traffic: true, lifetime: 3, routers: vec![router] };
    let mut extension = Vec::new();
    AgentExtension::Agent(AgentAdvertisement { care_of: vec![CARE_OF], ..agent }).emit(&mut extension).expect("short");
    let mut bytes = Vec::new();
    message.emit(&extension, &mut bytes).expect("one router");
    assert_eq!(bytes.len(), 28);
    assert_eq!(icmp::Message::parse(&bytes), Ok((message, &extension[..])));
}

#[test]
fn unknown_extensions_below_128_are_not_passed_over() {
    let start = "03 00 012c 0a010009 0a010001 0000000000000001";
    let said = |text: &str| Message::parse(&hex(&format!("{start} {text}"))).expect_err("unsound").to_string();
    let expected = "Mobile IP: expected an extension of type 0, 32 to 34, or 128 or more, found";
    assert_eq!(said("24 01 00"), format!("{expected} 36"));
    assert_eq!(said("10 06 0000 0000 0000"), format!("{expected} 16"), "it belongs to advertisements");
    assert_eq!(said("83 05 00"), "Mobile IP: expected 27 bytes or more, found 23");
    let short = "authentication extension of Mobile IP: expected 4 bytes or more, found 3";
    assert_eq!(said("21 03 000000"), short);
    let data = "Mobile IP: expected an encapsulating delivery style extension without data, found 1";
    assert_eq!(said("82 01 00"), data);
    let said = |text: &str| AgentExtension::parse_all(&hex(text), 1).expect_err("unsound").to_string();
    let format = "agent advertisement: expected";
    assert_eq!(said("20 04 00000100"), format!("{format} an extension of type 0, 16, 19, or 128 or more, found 32"));
    assert_eq!(
        said("10 08 0000 0000 0000 0000"),
        format!("{format} a length of 6 and 4 for each care-of address, found 8")
    );
    assert_eq!(said("10 02 0000"), format!("{format} a length of 6 and 4 for each care-of address, found 2"));
    assert_eq!(said("13 02 1818"), format!("{format} one prefix length for each router, found 2"));
    assert_eq!(said("13 01 21"), format!("{format} a prefix length of at most 32, found 33"));
    let said = Message::parse(&hex("02 00 012c 0a010009 0a010001 0000000000000001")).expect_err("unsound");
    assert_eq!(said.to_string(), "Mobile IP: expected type 1 (request) or 3 (reply), found 2");
}

#[test]
fn what_has_no_encoding_is_refused() {
    let mut out = Vec::new();
    for kind in [0, 32, 127, 130] {
        assert!(Extension::Skippable { kind, data: vec![] }.emit(&mut out).is_err(), "{kind}");
    }
    for kind in [0, 16, 127] {
        assert!(AgentExtension::Skippable { kind, data: vec![] }.emit(&mut out).is_err(), "{kind}");
    }
    let authenticator = vec![0; 252];
    let long = Authentication { association: Association::MobileHome, spi: 256, authenticator };
    let error = Extension::Authentication(long).emit(&mut out).expect_err("too long");
    assert_eq!(error.to_string(), "Mobile IP: expected at most 255 bytes of an extension, found 256");
    let agent = AgentAdvertisement {
        sequence: 0,
        registration_lifetime: FOREVER,
        flags: AgentFlags::default(),
        care_of: vec![CARE_OF; 63],
    };
    assert!(AgentExtension::Agent(agent).emit(&mut out).is_err());
    assert!(AgentExtension::PrefixLengths(vec![33]).emit(&mut out).is_err());
}

fn request() -> Request {
    Request {
        flags: RequestFlags::default(),
        lifetime: 300,
        home_address: HOME,
        home_agent: HOME_AGENT,
        care_of: CARE_OF,
        identification: 1,
        extensions: vec![],
    }
}

#[test]
fn each_association_has_an_authenticator_of_its_own() {
    let mut message = Message::Request(request());
    message.authenticate(Association::MobileHome, 256, b"home").expect("short");
    message.authenticate(Association::MobileForeign, 300, b"foreign").expect("short");
    assert_eq!(emitted(&message).len(), 24 + 2 * 22);
    assert!(message.is_authentic(Association::MobileHome, b"home"));
    assert!(message.is_authentic(Association::MobileForeign, b"foreign"));
    assert!(!message.is_authentic(Association::MobileForeign, b"home"), "another key");
    assert!(!message.is_authentic(Association::ForeignHome, b"home"), "there is none");
    // The foreign agent takes away what was for it alone; the other remains valid.
    let Message::Request(request) = &mut message else { panic!("it is one") };
    request.extensions.pop();
    assert!(message.is_authentic(Association::MobileHome, b"home"));
    // Two of one kind are not accepted.
    message.authenticate(Association::MobileHome, 256, b"home").expect("short");
    assert!(!message.is_authentic(Association::MobileHome, b"home"));
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

fn extension() -> impl Strategy<Value = Extension> {
    let association =
        prop::sample::select(vec![Association::MobileHome, Association::MobileForeign, Association::ForeignHome]);
    let authentication = (association, any::<u32>(), bytes(20)).prop_map(|(association, spi, authenticator)| {
        Extension::Authentication(Authentication { association, spi, authenticator })
    });
    let unknown = (128..=255_u8).prop_filter("a known type", |kind| *kind != ENCAPSULATING_DELIVERY);
    prop_oneof![
        Just(Extension::Padding),
        authentication,
        Just(Extension::EncapsulatingDelivery),
        (unknown, bytes(9)).prop_map(|(kind, data)| Extension::Skippable { kind, data }),
    ]
}

fn message() -> impl Strategy<Value = Message> {
    let common = (any::<(u8, u16, u64)>(), address(), address(), prop::collection::vec(extension(), 0..4));
    (common, prop::option::of(address())).prop_map(|(common, care_of)| {
        let ((second, lifetime, identification), home_address, home_agent, extensions) = common;
        match care_of {
            Some(care_of) => Message::Request(Request {
                flags: RequestFlags(second),
                lifetime,
                home_address,
                home_agent,
                care_of,
                identification,
                extensions,
            }),
            None => {
                let code = Code(second);
                Message::Reply(Reply { code, lifetime, home_address, home_agent, identification, extensions })
            }
        }
    })
}

fn agent_extension(routers: usize) -> impl Strategy<Value = AgentExtension> {
    let agent = (any::<(u16, u16)>(), any::<u16>(), prop::collection::vec(address(), 0..4)).prop_map(
        |((sequence, registration_lifetime), flags, care_of)| {
            let flags = AgentFlags(flags & AgentFlags::ALL.0);
            AgentExtension::Agent(AgentAdvertisement { sequence, registration_lifetime, flags, care_of })
        },
    );
    prop_oneof![
        Just(AgentExtension::Padding),
        agent,
        prop::collection::vec(0..=32_u8, routers).prop_map(AgentExtension::PrefixLengths),
        (128..=255_u8, bytes(9)).prop_map(|(kind, data)| AgentExtension::Skippable { kind, data }),
    ]
}

proptest! {
    #[test]
    fn what_is_emitted_is_parsed(message in message()) {
        let bytes = emitted(&message);
        prop_assert_eq!(Message::parse(&bytes), Ok(message));
    }

    #[test]
    fn extensions_that_are_emitted_are_parsed(
        (routers, extensions) in
            (0..4_usize).prop_flat_map(|n| (Just(n), prop::collection::vec(agent_extension(n), 0..4))),
    ) {
        let mut bytes = Vec::new();
        for extension in &extensions {
            extension.emit(&mut bytes).expect("short");
        }
        prop_assert_eq!(AgentExtension::parse_all(&bytes, routers), Ok(extensions));
    }

    /// Each bit of the key and of what is protected matters.
    #[test]
    fn one_bit_makes_another_authenticator(
        message in message(), key in bytes(20), spi: u32, place: prop::sample::Index, bit in 0..8_u8,
    ) {
        let mut message = message;
        message.extensions_mut().retain(|it| !matches!(it, Extension::Authentication(_)));
        message.authenticate(Association::ForeignHome, spi, &key).expect("short");
        prop_assert!(message.is_authentic(Association::ForeignHome, &key));
        let bytes = emitted(&message);
        let place = place.index(bytes.len());
        let mut wrong = bytes;
        wrong[place] ^= 1 << bit;
        // A changed type or length may make another message, which is no more authentic.
        if let Ok(wrong) = Message::parse(&wrong) {
            prop_assert!(!wrong.is_authentic(Association::ForeignHome, &key));
        }
        if let Some(first) = key.first() {
            let other = [&[first ^ 1 << bit], &key[1..]].concat();
            prop_assert!(!message.is_authentic(Association::ForeignHome, &other));
        }
    }

    #[test]
    fn no_bytes_upset_the_parser(bytes in bytes(80), kind in 0..4_u8, routers in 0..3_usize) {
        let _ = Message::parse(&bytes);
        let _ = Message::parse(&[&[kind], &bytes[..]].concat());
        let _ = AgentExtension::parse_all(&bytes, routers);
    }
}
