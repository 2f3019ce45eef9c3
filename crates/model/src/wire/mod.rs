//! Byte formats: what a capture of the simulated network shows, and what live traffic would carry.
//!
//! The simulator itself passes typed headers ([`crate::packet`]) and never bytes; nothing here is on the run path. Each format
//! is a plain struct with `parse` and `emit`, independent of the protocol models: whoever writes a capture converts.
//! Parsing checks lengths, versions and checksums; it accepts whatever a sound peer may send, and does not panic on any bytes.
//!
//! Validated by round trips over arbitrary values, by bytes that Linux 6 sent, and by the examples of the RFCs.

use std::fmt;
use std::net::Ipv4Addr;

pub mod aodv;
pub mod arp;
pub mod checksum;
pub mod dsdv;
pub mod icmp;
pub mod ieee80211;
pub mod ipv4;
pub mod tcp;
pub mod udp;

/// Bytes that are not what they should be, or a value that has no bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WireError {
    /// The bytes end too early.
    #[error("{format}: expected {expected} bytes or more, found {found}")]
    Truncated {
        /// The format.
        format: &'static str,
        /// How many bytes are needed at least.
        expected: usize,
        /// How many there are.
        found: usize,
    },
    /// A checksum does not match the bytes.
    #[error("{format}: the checksum does not match")]
    Checksum {
        /// The format.
        format: &'static str,
    },
    /// A field has a value that it cannot have.
    #[error("{format}: expected {expected}, found {found}")]
    Malformed {
        /// The format.
        format: &'static str,
        /// What was expected.
        expected: &'static str,
        /// The field's value.
        found: u32,
    },
    /// A value is too long for its length field.
    #[error("{format}: expected at most {limit} {unit}, found {found}")]
    TooLong {
        /// The format.
        format: &'static str,
        /// What is counted.
        unit: &'static str,
        /// How many there may be.
        limit: usize,
        /// How many there are.
        found: usize,
    },
}

/// An address of the link layer (EUI-48).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HardwareAddress(pub [u8; 6]);

impl HardwareAddress {
    /// Every station.
    pub const BROADCAST: Self = Self([0xff; 6]);
}

impl fmt::Display for HardwareAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, c, d, e, g] = self.0;
        write!(f, "{a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}:{g:02x}")
    }
}

impl fmt::Debug for HardwareAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Takes fields off the front of bytes, in network order where not said otherwise.
struct Reader<'a> {
    format: &'static str,
    bytes: &'a [u8],
    taken: usize,
}

impl<'a> Reader<'a> {
    fn new(format: &'static str, bytes: &'a [u8]) -> Self {
        Self { format, bytes, taken: 0 }
    }

    fn take(&mut self, count: usize) -> Result<&'a [u8], WireError> {
        let (head, rest) = self.bytes.split_at_checked(count).ok_or(WireError::Truncated {
            format: self.format,
            expected: self.taken + count,
            found: self.taken + self.bytes.len(),
        })?;
        self.bytes = rest;
        self.taken += count;
        Ok(head)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], WireError> {
        let mut array = [0; N];
        array.copy_from_slice(self.take(N)?);
        Ok(array)
    }

    fn u8(&mut self) -> Result<u8, WireError> {
        self.array().map(u8::from_be_bytes)
    }

    fn u16(&mut self) -> Result<u16, WireError> {
        self.array().map(u16::from_be_bytes)
    }

    fn u16_le(&mut self) -> Result<u16, WireError> {
        self.array().map(u16::from_le_bytes)
    }

    fn u32(&mut self) -> Result<u32, WireError> {
        self.array().map(u32::from_be_bytes)
    }

    fn address(&mut self) -> Result<Ipv4Addr, WireError> {
        self.array::<4>().map(Ipv4Addr::from)
    }

    fn hardware_address(&mut self) -> Result<HardwareAddress, WireError> {
        self.array().map(HardwareAddress)
    }

    /// A field with only one value possible.
    fn constant(&self, expected: &'static str, value: u32, found: u32) -> Result<(), WireError> {
        if value == found { Ok(()) } else { Err(self.malformed(expected, found)) }
    }

    fn malformed(&self, expected: &'static str, found: u32) -> WireError {
        WireError::Malformed { format: self.format, expected, found }
    }
}

/// Appends fields to bytes, in network order where not said otherwise.
trait Write {
    fn u8(&mut self, value: u8);
    fn u16(&mut self, value: u16);
    fn u16_le(&mut self, value: u16);
    fn u32(&mut self, value: u32);
    fn address(&mut self, address: Ipv4Addr);
}

impl Write for Vec<u8> {
    fn u8(&mut self, value: u8) {
        self.push(value);
    }

    fn u16(&mut self, value: u16) {
        self.extend_from_slice(&value.to_be_bytes());
    }

    fn u16_le(&mut self, value: u16) {
        self.extend_from_slice(&value.to_le_bytes());
    }

    fn u32(&mut self, value: u32) {
        self.extend_from_slice(&value.to_be_bytes());
    }

    fn address(&mut self, address: Ipv4Addr) {
        self.extend_from_slice(&address.octets());
    }
}

#[cfg(test)]
mod testing;
