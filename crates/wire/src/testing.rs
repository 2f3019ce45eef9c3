//! Functions for the tests of all formats.

use std::net::Ipv4Addr;

use proptest::prelude::*;

use super::HardwareAddress;

/// Two nodes of examples.
pub(super) const A: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
pub(super) const B: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 9);

/// Bytes written as in a dump. Spaces are ignored.
pub(super) fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<_> = text.chars().filter_map(|c| c.to_digit(16)).collect();
    digits.chunks(2).map(|pair| (pair[0] << 4 | pair[1]) as u8).collect()
}

pub(super) fn address() -> impl Strategy<Value = Ipv4Addr> {
    any::<u32>().prop_map(Ipv4Addr::from)
}

pub(super) fn hardware_address() -> impl Strategy<Value = HardwareAddress> {
    any::<[u8; 6]>().prop_map(HardwareAddress)
}

pub(super) fn bytes(longest: usize) -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(any::<u8>(), 0..=longest)
}

/// The properties of a format whose `Message` begins with its type, for the messages that `message()` draws. The macro
/// makes `emitted` and two tests: any message is parsed again before any `rest`, and no bytes upset the parser.
macro_rules! holds_of_messages {
    (rest: $rest:literal, types: $types:expr, bytes: $bytes:literal) => {
        fn emitted(message: &Message) -> Vec<u8> {
            let mut bytes = Vec::new();
            message.emit(&|it| it, &mut bytes).expect("in range");
            bytes
        }

        /// Whether each of these texts is refused, and with these words.
        fn refuses(texts: &[(&str, &str)]) {
            for (text, problem) in texts {
                let error = Message::parse(&$crate::testing::hex(text)).expect_err(text);
                assert_eq!(error.to_string(), *problem);
            }
        }

        proptest! {
            #[test]
            fn what_is_emitted_is_parsed(message in message(), rest in $crate::testing::bytes($rest)) {
                // An extension of a reply of AODV belongs to the message.
                prop_assume!(!rest.starts_with(&[4, 4]));
                let mut bytes = emitted(&message);
                bytes.extend_from_slice(&rest);
                prop_assert_eq!(Message::parse(&bytes), Ok((message, &rest[..])));
            }

            #[test]
            fn no_bytes_upset_the_parser(bytes in $crate::testing::bytes($bytes), kind in $types) {
                let _ = Message::parse(&bytes);
                let _ = Message::parse(&[&[kind], &bytes[..]].concat());
            }
        }
    };
}

pub(super) use holds_of_messages;
