//! IEEE 802.11 frames (IEEE 802.11-2020 §9.2 and §9.3): data, RTS, CTS and ACK, with their frame check sequence.
//!
//! Left out: management frames, QoS data, encryption.

use super::{HardwareAddress, Reader, WireError, Write, checksum};

const FORMAT: &str = "IEEE 802.11";

/// The addresses of a data frame. Their meaning depends on the bits To DS and From DS (§9.3.2.1, table 9-30).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Addresses {
    /// Between stations without an access point.
    AdHoc {
        /// The destination of the frame.
        destination: HardwareAddress,
        /// The source of the frame.
        source: HardwareAddress,
        /// The ad hoc network.
        bssid: HardwareAddress,
    },
    /// From a station to its access point.
    ToAccessPoint {
        /// The access point.
        bssid: HardwareAddress,
        /// The source of the frame.
        source: HardwareAddress,
        /// The destination of the frame.
        destination: HardwareAddress,
    },
    /// From an access point to a station.
    FromAccessPoint {
        /// The destination of the frame.
        destination: HardwareAddress,
        /// The access point.
        bssid: HardwareAddress,
        /// The source of the frame.
        source: HardwareAddress,
    },
    /// Between access points.
    Bridge {
        /// The next access point.
        receiver: HardwareAddress,
        /// This access point.
        transmitter: HardwareAddress,
        /// The destination of the frame.
        destination: HardwareAddress,
        /// The source of the frame.
        source: HardwareAddress,
    },
}

/// The header of a data frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Data {
    /// The time for which the medium is reserved after the frame, in microseconds.
    pub duration: u16,
    /// The addresses.
    pub addresses: Addresses,
    /// The number of the frame's payload, modulo 4096.
    pub sequence: u16,
    /// The number of the fragment, below 16.
    pub fragment: u8,
    /// Whether fragments follow.
    pub more_fragments: bool,
    /// Whether the frame was sent before.
    pub retry: bool,
    /// Whether the sender goes to sleep after the exchange.
    pub power_management: bool,
    /// Whether more is buffered for the receiver.
    pub more_data: bool,
}

/// A frame without its payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Header {
    /// A data frame.
    Data(Data),
    /// A request to send (RTS).
    Rts {
        /// The time for which the medium is reserved after the frame, in microseconds.
        duration: u16,
        /// The receiver of the request.
        receiver: HardwareAddress,
        /// The sender of the request.
        transmitter: HardwareAddress,
    },
    /// A permission to send (CTS).
    Cts {
        /// The time for which the medium is reserved after the frame, in microseconds.
        duration: u16,
        /// The station that may send.
        receiver: HardwareAddress,
    },
    /// An acknowledgement (ACK) of the previous frame.
    Ack {
        /// Zero, except after a fragment that is not the last one.
        duration: u16,
        /// The station whose frame is acknowledged.
        receiver: HardwareAddress,
    },
}

const DATA: u8 = 0x08;
const RTS: u8 = 0xb4;
const CTS: u8 = 0xc4;
const ACK: u8 = 0xd4;

const TO_DS: u8 = 0x01;
const FROM_DS: u8 = 0x02;
const MORE_FRAGMENTS: u8 = 0x04;
const RETRY: u8 = 0x08;
const POWER_MANAGEMENT: u8 = 0x10;
const MORE_DATA: u8 = 0x20;
const PROTECTED: u8 = 0x40;
const ORDER: u8 = 0x80;

impl Header {
    /// The header and the payload of a frame. Its last four bytes are the check sequence. Only data frames have a
    /// payload.
    ///
    /// # Errors
    /// If the bytes end too early, the check sequence does not match, or the type of the frame is unknown.
    pub fn parse(bytes: &[u8]) -> Result<(Self, &[u8]), WireError> {
        let (frame, sequence) = bytes.split_last_chunk::<4>().ok_or(WireError::Truncated {
            format: FORMAT,
            expected: 14,
            found: bytes.len(),
        })?;
        let mut reader = Reader::new(FORMAT, frame);
        if checksum::frame_check_sequence(frame) != u32::from_le_bytes(*sequence) {
            return Err(WireError::Checksum { format: FORMAT });
        }
        let (kind, flags) = (reader.u8()?, reader.u8()?);
        let duration = reader.u16_le()?;
        let header = match kind {
            DATA => return Self::parse_data(flags, duration, reader),
            RTS => {
                Self::Rts { duration, receiver: reader.hardware_address()?, transmitter: reader.hardware_address()? }
            }
            CTS => Self::Cts { duration, receiver: reader.hardware_address()? },
            ACK => Self::Ack { duration, receiver: reader.hardware_address()? },
            _ => return Err(reader.malformed("a data, RTS, CTS or ACK frame", u32::from(kind))),
        };
        reader.constant("no flags in a control frame", 0, u32::from(flags))?;
        reader.constant("no bytes after a control frame", 0, reader.bytes.len() as u32)?;
        Ok((header, reader.bytes))
    }

    fn parse_data<'a>(flags: u8, duration: u16, mut reader: Reader<'a>) -> Result<(Self, &'a [u8]), WireError> {
        reader.constant("a frame that is not encrypted", 0, u32::from(flags & PROTECTED))?;
        reader.constant("a frame without the order flag", 0, u32::from(flags & ORDER))?;
        let (first, second, third) =
            (reader.hardware_address()?, reader.hardware_address()?, reader.hardware_address()?);
        let control = reader.u16_le()?;
        let addresses = match (flags & TO_DS != 0, flags & FROM_DS != 0) {
            (false, false) => Addresses::AdHoc { destination: first, source: second, bssid: third },
            (true, false) => Addresses::ToAccessPoint { bssid: first, source: second, destination: third },
            (false, true) => Addresses::FromAccessPoint { destination: first, bssid: second, source: third },
            (true, true) => Addresses::Bridge {
                receiver: first,
                transmitter: second,
                destination: third,
                source: reader.hardware_address()?,
            },
        };
        let data = Data {
            duration,
            addresses,
            sequence: control >> 4,
            fragment: (control & 0xf) as u8,
            more_fragments: flags & MORE_FRAGMENTS != 0,
            retry: flags & RETRY != 0,
            power_management: flags & POWER_MANAGEMENT != 0,
            more_data: flags & MORE_DATA != 0,
        };
        Ok((Self::Data(data), reader.bytes))
    }

    /// Appends the frame's bytes with its check sequence. Control frames have no payload.
    ///
    /// # Errors
    /// If a sequence or fragment number is out of range, or a control frame has a payload.
    pub fn emit(&self, payload: &[u8], out: &mut Vec<u8>) -> Result<(), WireError> {
        let start = out.len();
        let limit = |unit, limit, found| {
            if found > limit { Err(WireError::TooLong { format: FORMAT, unit, limit, found }) } else { Ok(()) }
        };
        match *self {
            Self::Data(data) => {
                limit("as sequence number", 4095, usize::from(data.sequence))?;
                limit("as fragment number", 15, usize::from(data.fragment))?;
                data.emit(out);
            }
            Self::Rts { duration, receiver, transmitter } => {
                out.extend([RTS, 0]);
                out.u16_le(duration);
                out.extend(receiver.0);
                out.extend(transmitter.0);
            }
            Self::Cts { duration, receiver } | Self::Ack { duration, receiver } => {
                out.extend([if matches!(self, Self::Cts { .. }) { CTS } else { ACK }, 0]);
                out.u16_le(duration);
                out.extend(receiver.0);
            }
        }
        if !matches!(self, Self::Data(_)) {
            limit("bytes after a control frame", 0, payload.len())?;
        }
        out.extend_from_slice(payload);
        let sequence = checksum::frame_check_sequence(&out[start..]);
        out.extend(sequence.to_le_bytes());
        Ok(())
    }
}

impl Data {
    fn emit(&self, out: &mut Vec<u8>) {
        let (ds, addresses, fourth) = match self.addresses {
            Addresses::AdHoc { destination, source, bssid } => (0, [destination, source, bssid], None),
            Addresses::ToAccessPoint { bssid, source, destination } => (TO_DS, [bssid, source, destination], None),
            Addresses::FromAccessPoint { destination, bssid, source } => (FROM_DS, [destination, bssid, source], None),
            Addresses::Bridge { receiver, transmitter, destination, source } => {
                (TO_DS | FROM_DS, [receiver, transmitter, destination], Some(source))
            }
        };
        let flag = |set: bool, bit: u8| if set { bit } else { 0 };
        let flags = ds
            | flag(self.more_fragments, MORE_FRAGMENTS)
            | flag(self.retry, RETRY)
            | flag(self.power_management, POWER_MANAGEMENT)
            | flag(self.more_data, MORE_DATA);
        out.extend([DATA, flags]);
        out.u16_le(self.duration);
        out.extend(addresses.iter().flat_map(|address| address.0));
        out.u16_le(self.sequence << 4 | u16::from(self.fragment));
        out.extend(fourth.iter().flat_map(|address| address.0));
    }
}

/// The protocol of a data frame's payload, as in Ethernet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EtherType(pub u16);

impl EtherType {
    /// IPv4.
    pub const IPV4: Self = Self(0x0800);
    /// ARP.
    pub const ARP: Self = Self(0x0806);

    /// The protocol and its bytes in a data frame's payload, after the LLC and SNAP headers (RFC 1042).
    ///
    /// # Errors
    /// If the bytes end too early or do not begin with these headers.
    pub fn parse(bytes: &[u8]) -> Result<(Self, &[u8]), WireError> {
        let mut reader = Reader::new("LLC/SNAP", bytes);
        let (sap, control, oui) = (reader.u16()?, reader.u8()?, reader.array::<3>()?);
        reader.constant("SNAP service access points (0xaaaa)", 0xaaaa, u32::from(sap))?;
        reader.constant("unnumbered information (3)", 3, u32::from(control))?;
        reader.constant("the organisation 0 (Ethernet)", 0, u32::from_be_bytes([0, oui[0], oui[1], oui[2]]))?;
        Ok((Self(reader.u16()?), reader.bytes))
    }

    /// Appends the LLC and SNAP headers, eight bytes.
    pub fn emit(self, out: &mut Vec<u8>) {
        out.extend([0xaa, 0xaa, 3, 0, 0, 0]);
        out.u16(self.0);
    }
}

#[cfg(test)]
mod tests;
