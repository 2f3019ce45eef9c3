//! Byte formats of packets, for captures of the simulated network and for live traffic.
//!
//! Each format is a simple struct with `parse` and `emit`. The models of routing protocols and agents pass these
//! messages to one another. A model names nodes by its own type of address, which is the parameter of the message
//! (`A`); `emit` is given the IPv4 address of each. Parsed messages have IPv4 addresses. The simulator passes other
//! headers in types of its own, without bytes, and the writer of a capture converts them.
//!
//! Parsing checks lengths, versions and checksums. It accepts everything that a correct peer may send. No
//! bytes make it panic.
//!
//! Validated by round trips of arbitrary values, by bytes that Linux 6 sent, and by the examples of the RFCs.

use std::fmt;
use std::net::{Ipv4Addr, Ipv6Addr};

use hopyard_engine::Span;

pub mod aodv;
pub mod aomdv;
pub mod arp;
pub mod babel;
pub mod checksum;
pub mod cooked;
mod datagram;
pub mod drand;
pub mod dsdv;
pub mod dsr;
pub mod frames;
pub mod hwsim;
pub mod icmp;
pub mod ieee80211;
pub mod ipv4;
pub mod ipv6;
pub mod minimal;
pub mod mobile_ip;
pub mod ndp;
pub mod olsr;
pub mod pcapng;
mod prefix;
pub mod radiotap;
pub mod tcp;
pub mod udp;

pub use datagram::{Carrier, Datagram, MessagePart, Name};
pub use prefix::Prefix;

/// An error in bytes, or a value that has no encoding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WireError {
    /// The bytes end too early.
    #[error("{format}: expected {expected} bytes or more, found {found}")]
    Truncated {
        /// The format.
        format: &'static str,
        /// The smallest number of bytes.
        expected: usize,
        /// The actual number.
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
        /// The expected value.
        expected: &'static str,
        /// The field's value.
        found: u32,
    },
    /// A value is too long for its length field.
    #[error("{format}: expected at most {limit} {unit}, found {found}")]
    TooLong {
        /// The format.
        format: &'static str,
        /// The counted unit.
        unit: &'static str,
        /// The largest number.
        limit: usize,
        /// The actual number.
        found: usize,
    },
}

/// An address of the link layer (EUI-48).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HardwareAddress(pub [u8; 6]);

impl HardwareAddress {
    /// Every station.
    pub const BROADCAST: Self = Self([0xff; 6]);

    /// The interface identifier of the station in addresses of IPv6: its modified EUI-64 (RFC 4291, appendix A).
    #[must_use]
    pub const fn identifier(self) -> [u8; 8] {
        let [a, b, c, d, e, f] = self.0;
        [a ^ 2, b, c, 0xff, 0xfe, d, e, f]
    }

    /// The link-local address of IPv6 with that identifier (RFC 4291 §2.5.6).
    #[must_use]
    pub fn link_local(self) -> Ipv6Addr {
        let [a, b, c, d, e, f, g, h] = self.identifier();
        Ipv6Addr::from([0xfe, 0x80, 0, 0, 0, 0, 0, 0, a, b, c, d, e, f, g, h])
    }
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

/// Reads fields from the start of bytes, in network byte order unless stated otherwise.
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

    fn u32_le(&mut self) -> Result<u32, WireError> {
        self.array().map(u32::from_le_bytes)
    }

    /// Passes over padding up to a multiple of `size`, counted from the start.
    fn align(&mut self, size: usize) -> Result<(), WireError> {
        self.take(self.taken.next_multiple_of(size) - self.taken).map(drop)
    }

    fn u64(&mut self) -> Result<u64, WireError> {
        self.array().map(u64::from_be_bytes)
    }

    fn address(&mut self) -> Result<Ipv4Addr, WireError> {
        self.array::<4>().map(Ipv4Addr::from)
    }

    fn address6(&mut self) -> Result<Ipv6Addr, WireError> {
        self.array::<16>().map(Ipv6Addr::from)
    }

    /// A time in milliseconds, in 32 bits.
    fn milliseconds(&mut self) -> Result<Span, WireError> {
        self.u32().map(|it| Span::from_millis(it.into()))
    }

    /// Unreachable destinations with their sequence numbers.
    fn unreachable(&mut self, count: u8) -> Result<Vec<(Ipv4Addr, u32)>, WireError> {
        if count == 0 {
            return Err(self.malformed(UNREACHABLE, 0));
        }
        (0..count).map(|_| Ok((self.address()?, self.u32()?))).collect()
    }

    fn hardware_address(&mut self) -> Result<HardwareAddress, WireError> {
        self.array().map(HardwareAddress)
    }

    /// A field with only one possible value.
    fn constant(&self, expected: &'static str, value: u32, found: u32) -> Result<(), WireError> {
        if value == found { Ok(()) } else { Err(self.malformed(expected, found)) }
    }

    fn malformed(&self, expected: &'static str, found: u32) -> WireError {
        WireError::Malformed { format: self.format, expected, found }
    }
}

/// Appends fields to bytes, in network byte order unless stated otherwise.
trait Write {
    fn u8(&mut self, value: u8);
    fn u16(&mut self, value: u16);
    fn u16_le(&mut self, value: u16);
    fn u32(&mut self, value: u32);
    fn u32_le(&mut self, value: u32);
    fn address(&mut self, address: Ipv4Addr);
    fn milliseconds(&mut self, span: Span);
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

    fn u32_le(&mut self, value: u32) {
        self.extend_from_slice(&value.to_le_bytes());
    }

    fn address(&mut self, address: Ipv4Addr) {
        self.extend_from_slice(&address.octets());
    }

    /// Whole milliseconds in 32 bits, at most as many as fit.
    fn milliseconds(&mut self, span: Span) {
        self.u32(u32::try_from(span.nanos() / 1_000_000).unwrap_or(u32::MAX));
    }
}

const UNREACHABLE: &str = "at least one unreachable destination";

/// Appends a route error of AODV, or of AOMDV: its type, flags and number of destinations, and the destinations.
fn emit_unreachable<A: Copy>(
    format: &'static str,
    flags: u8,
    unreachable: &[(A, u32)],
    name: &dyn Fn(A) -> Ipv4Addr,
    out: &mut Vec<u8>,
) -> Result<(), WireError> {
    let (unit, found) = ("unreachable destinations", unreachable.len());
    match u8::try_from(found) {
        Ok(0) => return Err(WireError::Malformed { format, expected: UNREACHABLE, found: 0 }),
        Ok(count) => out.extend([3, flags, 0, count]),
        Err(_) => return Err(WireError::TooLong { format, unit, limit: 255, found }),
    }
    for &(destination, sequence) in unreachable {
        out.address(name(destination));
        out.u32(sequence);
    }
    Ok(())
}

#[cfg(test)]
mod testing;
