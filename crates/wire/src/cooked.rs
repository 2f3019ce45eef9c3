//! Linux "cooked" captures (LINKTYPE_LINUX_SLL of libpcap): a header that carries any protocol and needs no receiver.
//!
//! A capture with link type 113 has this header in front of each packet. Read: the registry's page of the link type
//! (<https://www.tcpdump.org/linktypes/LINKTYPE_LINUX_SLL.html>). Left out: link addresses of another length than six
//! bytes, and the values of the packet type other than "sent by this host".

use super::ieee80211::EtherType;
use super::{HardwareAddress, Reader, WireError, Write};

const FORMAT: &str = "Linux cooked header";
/// The packet was sent by the host that captures.
const SENT: u16 = 4;
/// ARPHRD_ETHER: a device with addresses as in Ethernet.
const ETHERNET: u16 = 1;

/// The header of a packet that the host sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// The link address of the host.
    pub sender: HardwareAddress,
    /// The protocol of the packet.
    pub protocol: EtherType,
}

impl Header {
    /// The bytes of a header.
    pub const BYTES: usize = 16;

    /// The header and the packet behind it.
    ///
    /// # Errors
    /// If the bytes end too early, or a field has a value that is left out.
    pub fn parse(bytes: &[u8]) -> Result<(Self, &[u8]), WireError> {
        let mut reader = Reader::new(FORMAT, bytes);
        for (expected, value) in [("a packet of this host", SENT), ("Ethernet", ETHERNET), ("an address of 6 bytes", 6)]
        {
            let found = reader.u16()?;
            reader.constant(expected, u32::from(value), u32::from(found))?;
        }
        let sender = reader.hardware_address()?;
        let _padding = reader.u16()?;
        Ok((Self { sender, protocol: EtherType(reader.u16()?) }, reader.bytes))
    }

    /// Appends the header's bytes. The packet follows them.
    pub fn emit(&self, out: &mut Vec<u8>) {
        for field in [SENT, ETHERNET, 6] {
            out.u16(field);
        }
        out.extend(self.sender.0);
        out.u16(0);
        out.u16(self.protocol.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::hex;

    #[test]
    fn a_header_is_laid_out_as_the_registry_says() {
        let header = Header { sender: HardwareAddress([2, 0, 0, 0, 0, 7]), protocol: EtherType::ARP };
        let mut bytes = Vec::new();
        header.emit(&mut bytes);
        assert_eq!(bytes, hex("0004 0001 0006 020000000007 0000 0806"));
        assert_eq!(bytes.len(), Header::BYTES);
        bytes.push(9);
        assert_eq!(Header::parse(&bytes), Ok((header, &[9][..])));
    }

    #[test]
    fn other_headers_are_refused() {
        let sound = hex("0004 0001 0006 020000000007 0000 0806");
        assert!(matches!(Header::parse(&sound[..15]), Err(WireError::Truncated { .. })));
        for place in [1, 3, 5] {
            let mut wrong = sound.clone();
            wrong[place] += 1;
            assert!(matches!(Header::parse(&wrong), Err(WireError::Malformed { .. })), "{place}");
        }
    }
}
