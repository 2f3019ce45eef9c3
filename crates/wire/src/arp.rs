//! ARP for IPv4 over EUI-48 links (RFC 826).

use std::net::Ipv4Addr;

use super::{HardwareAddress, Reader, WireError, Write};

const FORMAT: &str = "ARP";

/// The operation of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Who has the target's protocol address?
    Request,
    /// The sender has the requested address.
    Reply,
}

/// A message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message {
    /// Request or reply.
    pub operation: Operation,
    /// The sender's link address.
    pub sender_hardware: HardwareAddress,
    /// The sender's IP address.
    pub sender: Ipv4Addr,
    /// The target's link address; meaningless in a request.
    pub target_hardware: HardwareAddress,
    /// The target's IP address.
    pub target: Ipv4Addr,
}

impl Message {
    /// The message. Bytes after it are padding of the link layer.
    ///
    /// # Errors
    /// If the bytes end too early, the addresses are of another type, or the operation is unknown.
    pub fn parse(bytes: &[u8]) -> Result<Self, WireError> {
        let mut reader = Reader::new(FORMAT, bytes);
        let kinds = [
            ("hardware type 1 (Ethernet)", 1, u32::from(reader.u16()?)),
            ("protocol type 0x800 (IPv4)", 0x800, u32::from(reader.u16()?)),
            ("hardware addresses of 6 bytes", 6, u32::from(reader.u8()?)),
            ("protocol addresses of 4 bytes", 4, u32::from(reader.u8()?)),
        ];
        for (expected, value, found) in kinds {
            reader.constant(expected, value, found)?;
        }
        let operation = match reader.u16()? {
            1 => Operation::Request,
            2 => Operation::Reply,
            other => return Err(reader.malformed("operation 1 (request) or 2 (reply)", u32::from(other))),
        };
        Ok(Self {
            operation,
            sender_hardware: reader.hardware_address()?,
            sender: reader.address()?,
            target_hardware: reader.hardware_address()?,
            target: reader.address()?,
        })
    }

    /// Appends the message's 28 bytes.
    pub fn emit(&self, out: &mut Vec<u8>) {
        out.u16(1);
        out.u16(0x800);
        out.extend([6, 4]);
        out.u16(match self.operation {
            Operation::Request => 1,
            Operation::Reply => 2,
        });
        out.extend(self.sender_hardware.0);
        out.address(self.sender);
        out.extend(self.target_hardware.0);
        out.address(self.target);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::testing::{address, hardware_address, hex};

    #[test]
    fn the_request_of_linux() {
        let bytes = hex("0001 0800 06 04 0001 cea859574c44 0a010101 000000000000 0a010102");
        let message = Message::parse(&bytes).expect("sound");
        let expected = Message {
            operation: Operation::Request,
            sender_hardware: HardwareAddress([0xce, 0xa8, 0x59, 0x57, 0x4c, 0x44]),
            sender: Ipv4Addr::new(10, 1, 1, 1),
            target_hardware: HardwareAddress([0; 6]),
            target: Ipv4Addr::new(10, 1, 1, 2),
        };
        assert_eq!(message, expected);
        assert_eq!(message.sender_hardware.to_string(), "ce:a8:59:57:4c:44");
        let mut again = Vec::new();
        message.emit(&mut again);
        assert_eq!(again, bytes);
        assert!(Message::parse(&[&bytes[..], &[0; 18]].concat()).is_ok());
    }

    #[test]
    fn other_kinds_are_refused() {
        let sound = hex("0001 0800 06 04 0001 cea859574c44 0a010101 000000000000 0a010102");
        for (place, value, problem) in [
            (1, 6, "ARP: expected hardware type 1 (Ethernet), found 6"),
            (3, 6, "ARP: expected protocol type 0x800 (IPv4), found 2054"),
            (4, 8, "ARP: expected hardware addresses of 6 bytes, found 8"),
            (5, 6, "ARP: expected protocol addresses of 4 bytes, found 6"),
            (7, 3, "ARP: expected operation 1 (request) or 2 (reply), found 3"),
        ] {
            let mut bytes = sound.clone();
            bytes[place] = value;
            assert_eq!(Message::parse(&bytes).expect_err(problem).to_string(), problem);
        }
    }

    proptest! {
        #[test]
        fn what_is_emitted_is_parsed(
            request: bool, hardware in (hardware_address(), hardware_address()), ip in (address(), address()),
        ) {
            let message = Message {
                operation: if request { Operation::Request } else { Operation::Reply },
                sender_hardware: hardware.0, sender: ip.0, target_hardware: hardware.1, target: ip.1,
            };
            let mut bytes = Vec::new();
            message.emit(&mut bytes);
            prop_assert_eq!(bytes.len(), 28);
            prop_assert_eq!(Message::parse(&bytes), Ok(message));
        }
    }
}
