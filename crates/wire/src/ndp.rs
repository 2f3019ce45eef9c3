//! The question and the answer of neighbour discovery over IPv6 (RFC 4861 §4.3, 4.4): who has an address?

use std::net::Ipv6Addr;

use super::checksum::Checksum;
use super::ipv4::Protocol;
use super::{HardwareAddress, Reader, WireError};

const FORMAT: &str = "neighbour discovery";

/// The hop limit of all messages: no router has passed them on (§3.1).
pub const HOP_LIMIT: u8 = 255;

const SOLICITATION: u8 = 135;
const ADVERTISEMENT: u8 = 136;
/// An advertisement's flags: it answers, and replaces what was known (§4.4).
const SOLICITED: u8 = 0x40;
const OVERRIDE: u8 = 0x20;
/// The options with a link address, of the sender and of the target (§4.6.1).
const SOURCE_OPTION: u8 = 1;
const TARGET_OPTION: u8 = 2;

/// A message. Options other than the link address are left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Message {
    /// Who has this address?
    Solicitation {
        /// The address.
        target: Ipv6Addr,
        /// The asker's link address; nothing while the asker has no address yet.
        source: Option<HardwareAddress>,
    },
    /// The answer of the owner.
    Advertisement {
        /// The address.
        target: Ipv6Addr,
        /// Its link address.
        link: Option<HardwareAddress>,
    },
}

impl Message {
    /// The message in the payload of ICMPv6 from `source` to `destination`.
    ///
    /// # Errors
    /// If the bytes end too early, the message is another one, an option has no length, or the checksum does not match.
    pub fn parse(bytes: &[u8], source: Ipv6Addr, destination: Ipv6Addr) -> Result<Self, WireError> {
        let mut reader = Reader::new(FORMAT, bytes);
        let (kind, _code, _checksum) = (reader.u8()?, reader.u8()?, reader.u16()?);
        let sum = Checksum::new().pseudo_header(source, destination, Protocol::ICMPV6.0, bytes.len()).bytes(bytes);
        if sum.finish() != 0 {
            return Err(WireError::Checksum { format: FORMAT });
        }
        let _flags = reader.u32()?;
        let target = reader.address6()?;
        let mut link = |wanted: u8| -> Result<_, WireError> {
            let mut found = None;
            while !reader.bytes.is_empty() {
                let (option, units) = (reader.u8()?, reader.u8()?);
                if units == 0 {
                    return Err(reader.malformed("an option of 8 bytes or more", 0));
                }
                let value = reader.take(usize::from(units) * 8 - 2)?;
                found = value.first_chunk().filter(|_| option == wanted).map(|it| HardwareAddress(*it)).or(found);
            }
            Ok(found)
        };
        match kind {
            SOLICITATION => Ok(Self::Solicitation { target, source: link(SOURCE_OPTION)? }),
            ADVERTISEMENT => Ok(Self::Advertisement { target, link: link(TARGET_OPTION)? }),
            other => Err(reader.malformed("type 135 (solicitation) or 136 (advertisement)", other.into())),
        }
    }

    /// Appends the payload of ICMPv6 from `source` to `destination`.
    pub fn emit(&self, source: Ipv6Addr, destination: Ipv6Addr, out: &mut Vec<u8>) {
        let start = out.len();
        let (kind, flags, target, option, link) = match *self {
            Self::Solicitation { target, source } => (SOLICITATION, 0, target, SOURCE_OPTION, source),
            Self::Advertisement { target, link } => (ADVERTISEMENT, SOLICITED | OVERRIDE, target, TARGET_OPTION, link),
        };
        out.extend([kind, 0, 0, 0, flags, 0, 0, 0]);
        out.extend(target.octets());
        if let Some(HardwareAddress(link)) = link {
            out.extend([option, 1]);
            out.extend(link);
        }
        let bytes = &out[start..];
        let sum = Checksum::new().pseudo_header(source, destination, Protocol::ICMPV6.0, bytes.len()).bytes(bytes);
        out[start + 2..start + 4].copy_from_slice(&sum.finish().to_be_bytes());
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::testing::{bytes, hardware_address, hex};

    const ASKER: HardwareAddress = HardwareAddress([2, 0, 0, 0, 0, 1]);
    const OWNER: HardwareAddress = HardwareAddress([2, 0, 0, 0, 0, 2]);

    /// The fields by hand, after RFC 4861; the checksums make the sums zero.
    #[test]
    fn question_and_answer_are_laid_out_as_in_the_rfc() {
        let (asker, owner) = (ASKER.link_local(), OWNER.link_local());
        let group: Ipv6Addr = "ff02::1:ff00:2".parse().expect("an address");
        let question = Message::Solicitation { target: owner, source: Some(ASKER) };
        let answer = Message::Advertisement { target: owner, link: Some(OWNER) };
        for (message, to, text) in [
            (question, group, "87 00 @ 00000000 fe80000000000000 000000fffe000002 01 01 020000000001"),
            (answer, asker, "88 00 @ 60000000 fe80000000000000 000000fffe000002 02 01 020000000002"),
        ] {
            let from = if message == question { asker } else { owner };
            let mut out = Vec::new();
            message.emit(from, to, &mut out);
            let sum = format!("{:02x}{:02x}", out[2], out[3]);
            assert_eq!(out, hex(&text.replace('@', &sum)));
            assert_eq!(Message::parse(&out, from, to), Ok(message));
            assert_eq!(
                Message::parse(&out, from, Ipv6Addr::LOCALHOST),
                Err(WireError::Checksum { format: "neighbour discovery" })
            );
        }
        let mut out = Vec::new();
        Message::Solicitation { target: owner, source: None }.emit(asker, group, &mut out);
        assert_eq!(out.len(), 24);
    }

    #[test]
    fn other_messages_are_refused() {
        let (from, to) = (ASKER.link_local(), OWNER.link_local());
        for (change, problem) in [
            ((0, 133), "neighbour discovery: expected type 135 (solicitation) or 136 (advertisement), found 133"),
            ((25, 0), "neighbour discovery: expected an option of 8 bytes or more, found 0"),
            ((25, 2), "neighbour discovery: expected 40 bytes or more, found 32"),
        ] {
            let mut out = Vec::new();
            Message::Solicitation { target: to, source: Some(ASKER) }.emit(from, to, &mut out);
            out[change.0] = change.1;
            out[2..4].fill(0);
            let sum = Checksum::new().pseudo_header(from, to, 58, out.len()).bytes(&out).finish();
            out[2..4].copy_from_slice(&sum.to_be_bytes());
            assert_eq!(Message::parse(&out, from, to).expect_err(problem).to_string(), problem);
        }
    }

    proptest! {
        #[test]
        fn what_is_emitted_is_parsed(
            addresses: [u128; 3], link in proptest::option::of(hardware_address()), asks: bool,
        ) {
            let [target, from, to] = addresses.map(Ipv6Addr::from_bits);
            let message = if asks {
                Message::Solicitation { target, source: link }
            } else {
                Message::Advertisement { target, link }
            };
            let mut out = Vec::new();
            message.emit(from, to, &mut out);
            prop_assert_eq!(Message::parse(&out, from, to), Ok(message));
        }

        #[test]
        fn no_bytes_upset_the_parser(bytes in bytes(60)) {
            let _ = Message::parse(&bytes, Ipv6Addr::UNSPECIFIED, Ipv6Addr::LOCALHOST);
        }
    }
}
