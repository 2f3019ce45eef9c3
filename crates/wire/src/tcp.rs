//! TCP (RFC 9293 §3.1) with the options of RFC 9293 §3.2 (MSS), RFC 7323 (window scale, timestamps) and RFC 2018
//! (SACK).
//!
//! Options have the order and the padding that Linux uses, so that its segments can be reproduced byte by byte.

use std::net::Ipv4Addr;

use super::checksum::Checksum;
use super::ipv4::Protocol;
use super::{Reader, WireError, Write};

const FORMAT: &str = "TCP";

/// The control bits.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub struct Flags(pub u8);

impl Flags {
    /// No more data follows.
    pub const FIN: Self = Self(0x01);
    /// Opens a connection.
    pub const SYN: Self = Self(0x02);
    /// There is no such connection.
    pub const RST: Self = Self(0x04);
    /// The receiver should deliver the data immediately (push).
    pub const PSH: Self = Self(0x08);
    /// The acknowledgement number is valid.
    pub const ACK: Self = Self(0x10);
    /// A segment of the other end was marked (RFC 3168 §6.1).
    pub const ECE: Self = Self(0x40);
    /// The congestion window was reduced (RFC 3168 §6.1).
    pub const CWR: Self = Self(0x80);

    /// Whether all bits of `other` are set.
    #[must_use]
    pub const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }
}

impl std::ops::BitOr for Flags {
    type Output = Self;
    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl std::fmt::Debug for Flags {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let names = ["FIN", "SYN", "RST", "PSH", "ACK", "URG", "ECE", "CWR"];
        f.debug_list()
            .entries(names.iter().enumerate().filter(|(bit, _)| self.0 & 1 << bit != 0).map(|(_, n)| n))
            .finish()
    }
}

/// The known options. Others are ignored (RFC 9293 §3.1).
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Options {
    /// The longest segment that the sender can receive (in a SYN only).
    pub mss: Option<u16>,
    /// The number of bits by which windows are shifted (in a SYN only; RFC 7323 §2).
    pub window_scale: Option<u8>,
    /// Whether selective acknowledgements are permitted (in a SYN only; RFC 2018 §2).
    pub sack_permitted: bool,
    /// The sender's timestamp, and the echoed timestamp of the peer (RFC 7323 §3).
    pub timestamps: Option<(u32, u32)>,
    /// Blocks received out of order: first byte, and first byte after the block (RFC 2018 §3).
    pub sack: Vec<(u32, u32)>,
}

const END: u8 = 0;
const NOP: u8 = 1;
const MSS: u8 = 2;
const WINDOW_SCALE: u8 = 3;
const SACK_PERMITTED: u8 = 4;
const SACK: u8 = 5;
const TIMESTAMPS: u8 = 8;

impl Options {
    fn parse(bytes: &[u8]) -> Result<Self, WireError> {
        let mut options = Self::default();
        let mut reader = Reader::new("TCP options", bytes);
        while !reader.bytes.is_empty() {
            let kind = reader.u8()?;
            match kind {
                END => break,
                NOP => continue,
                _ => {}
            }
            let length = reader.u8()?;
            let body = length.checked_sub(2).ok_or_else(|| reader.malformed("a length of 2 or more", length.into()))?;
            let body = reader.take(usize::from(body))?;
            let mut field = Reader::new("TCP options", body);
            let expect = |size: usize| {
                (body.len() == size)
                    .then_some(())
                    .ok_or_else(|| field.malformed("the length of its kind", length.into()))
            };
            match kind {
                MSS => {
                    expect(2)?;
                    options.mss = Some(field.u16()?);
                }
                WINDOW_SCALE => {
                    expect(1)?;
                    options.window_scale = Some(field.u8()?);
                }
                SACK_PERMITTED => {
                    expect(0)?;
                    options.sack_permitted = true;
                }
                SACK => {
                    if body.is_empty() || !body.len().is_multiple_of(8) {
                        return Err(field.malformed("the length of whole SACK blocks", length.into()));
                    }
                    options.sack.clear();
                    while !field.bytes.is_empty() {
                        options.sack.push((field.u32()?, field.u32()?));
                    }
                }
                TIMESTAMPS => {
                    expect(8)?;
                    options.timestamps = Some((field.u32()?, field.u32()?));
                }
                _ => {}
            }
        }
        Ok(options)
    }

    fn emit(&self, out: &mut Vec<u8>) {
        if let Some(mss) = self.mss {
            out.extend([MSS, 4]);
            out.u16(mss);
        }
        // As in Linux, the two bytes before the timestamps are the SACK-permitted option or padding.
        match (self.sack_permitted, self.timestamps) {
            (false, None) => {}
            (false, Some(_)) => out.extend([NOP, NOP]),
            (true, Some(_)) => out.extend([SACK_PERMITTED, 2]),
            (true, None) => out.extend([NOP, NOP, SACK_PERMITTED, 2]),
        }
        if let Some((value, echo)) = self.timestamps {
            out.extend([TIMESTAMPS, 10]);
            out.u32(value);
            out.u32(echo);
        }
        if let Some(shift) = self.window_scale {
            out.extend([NOP, WINDOW_SCALE, 3, shift]);
        }
        if !self.sack.is_empty() {
            // The caller refuses a length of more than 40 bytes.
            out.extend([NOP, NOP, SACK, (2 + 8 * self.sack.len()) as u8]);
            for &(start, end) in &self.sack {
                out.u32(start);
                out.u32(end);
            }
        }
    }
}

/// A header. Data offset and checksum are computed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    /// The sender's port.
    pub source_port: u16,
    /// The receiver's port.
    pub destination_port: u16,
    /// The sequence number of the first byte, or of the SYN.
    pub seq: u32,
    /// The next expected byte; valid if ACK is set.
    pub ack: u32,
    /// The control bits.
    pub flags: Flags,
    /// The window, before scaling.
    pub window: u16,
    /// The end of urgent data; valid if URG is set.
    pub urgent: u16,
    /// The options.
    pub options: Options,
}

impl Header {
    /// The header and the payload of a segment from `source` to `destination`.
    ///
    /// # Errors
    /// If the bytes end too early, a length is impossible, or the checksum does not match.
    pub fn parse(bytes: &[u8], source: Ipv4Addr, destination: Ipv4Addr) -> Result<(Self, &[u8]), WireError> {
        let mut reader = Reader::new(FORMAT, bytes);
        let (source_port, destination_port) = (reader.u16()?, reader.u16()?);
        let (seq, ack) = (reader.u32()?, reader.u32()?);
        let length = usize::from(reader.u8()? >> 4) * 4;
        if length < 20 {
            return Err(reader.malformed("a header of 20 bytes or more", length as u32));
        }
        let flags = Flags(reader.u8()?);
        let window = reader.u16()?;
        let _checksum = reader.u16()?;
        let urgent = reader.u16()?;
        let options = reader.take(length - 20)?;
        let sum = Checksum::new().pseudo_header(source, destination, Protocol::TCP.0, bytes.len()).bytes(bytes);
        if sum.finish() != 0 {
            return Err(WireError::Checksum { format: FORMAT });
        }
        let options = Options::parse(options)?;
        Ok((Self { source_port, destination_port, seq, ack, flags, window, urgent, options }, reader.bytes))
    }

    /// Appends the bytes of a segment from `source` to `destination`.
    ///
    /// # Errors
    /// If the options have more than 40 bytes, or the segment is too long for IP.
    pub fn emit(
        &self,
        payload: &[u8],
        source: Ipv4Addr,
        destination: Ipv4Addr,
        out: &mut Vec<u8>,
    ) -> Result<(), WireError> {
        let mut options = Vec::with_capacity(40);
        self.options.emit(&mut options);
        let length = 20 + options.len() + payload.len();
        for (unit, limit, found) in [("bytes of options", 40, options.len()), ("bytes", 0xffff - 20, length)] {
            if found > limit {
                return Err(WireError::TooLong { format: FORMAT, unit, limit, found });
            }
        }
        let start = out.len();
        out.u16(self.source_port);
        out.u16(self.destination_port);
        out.u32(self.seq);
        out.u32(self.ack);
        // The offset counts words of four bytes, in the upper half of its byte.
        out.u8(((20 + options.len()) * 4) as u8);
        out.u8(self.flags.0);
        out.u16(self.window);
        out.u16(0);
        out.u16(self.urgent);
        out.extend_from_slice(&options);
        out.extend_from_slice(payload);
        let sum = Checksum::new().pseudo_header(source, destination, Protocol::TCP.0, length).bytes(&out[start..]);
        out[start + 16..start + 18].copy_from_slice(&sum.finish().to_be_bytes());
        Ok(())
    }
}

#[cfg(test)]
mod tests;
