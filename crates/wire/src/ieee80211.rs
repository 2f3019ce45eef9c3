//! IEEE 802.11 frames (IEEE 802.11-2020 §9.2 and §9.3): data with and without QoS, RTS, CTS and ACK, block
//! acknowledgement and its agreement, with their frame check sequence.
//!
//! Left out: all other management frames, the fields of QoS besides the traffic identifier, encryption.

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
    /// The traffic identifier, below 16, of a frame with QoS.
    pub tid: Option<u8>,
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
    /// A request for a compressed block acknowledgement, or that acknowledgement.
    BlockAck(BlockAck),
    /// A request for an agreement on immediate block acknowledgement (ADDBA), or its acceptance.
    Addba(Addba),
}

/// A compressed block acknowledgement (§9.3.1.8), or the request for it (§9.3.1.7).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockAck {
    /// The time for which the medium is reserved after the frame, in microseconds.
    pub duration: u16,
    /// The station that it is for.
    pub receiver: HardwareAddress,
    /// The station that sends it.
    pub transmitter: HardwareAddress,
    /// The traffic identifier, below 16.
    pub tid: u8,
    /// The first sequence number, modulo 4096.
    pub start: u16,
    /// A bit for each of 64 numbers that were received; nothing in a request.
    pub received: Option<u64>,
}

/// An ADDBA request or response (§9.6.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Addba {
    /// The time for which the medium is reserved after the frame, in microseconds.
    pub duration: u16,
    /// The station that it is for.
    pub receiver: HardwareAddress,
    /// The station that sends it.
    pub transmitter: HardwareAddress,
    /// The ad hoc network.
    pub bssid: HardwareAddress,
    /// The number of the frame, modulo 4096.
    pub sequence: u16,
    /// Whether the frame was sent before.
    pub retry: bool,
    /// The traffic identifier, below 16.
    pub tid: u8,
    /// How many MPDUs the receiver stores, below 1024.
    pub window: u16,
    /// The first sequence number in a request; nothing in a response.
    pub start: Option<u16>,
}

const DATA: u8 = 0x08;
const RTS: u8 = 0xb4;
const CTS: u8 = 0xc4;
const ACK: u8 = 0xd4;
const QOS_DATA: u8 = 0x88;
const BLOCK_ACK_REQUEST: u8 = 0x84;
const BLOCK_ACK: u8 = 0x94;
const ACTION: u8 = 0xd0;

/// The bit of a compressed bitmap in the control field of a block acknowledgement.
const COMPRESSED: u16 = 0x0004;
/// The category of block acknowledgement among action frames, and its actions.
const CATEGORY: u8 = 3;
const REQUEST: u8 = 0;
const RESPONSE: u8 = 1;
/// The bit of the immediate policy in the parameters of an agreement.
const IMMEDIATE: u16 = 0x0002;

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
            DATA | QOS_DATA => return Self::parse_data(kind == QOS_DATA, flags, duration, reader),
            ACTION => {
                let addba = Addba::parse(flags, duration, &mut reader)?;
                reader.constant("no bytes after an agreement", 0, reader.bytes.len() as u32)?;
                return Ok((Self::Addba(addba), reader.bytes));
            }
            BLOCK_ACK | BLOCK_ACK_REQUEST => Self::BlockAck(BlockAck::parse(kind == BLOCK_ACK, duration, &mut reader)?),
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

    fn parse_data<'a>(
        has_qos: bool,
        flags: u8,
        duration: u16,
        mut reader: Reader<'a>,
    ) -> Result<(Self, &'a [u8]), WireError> {
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
        let tid = match has_qos {
            true => {
                let qos = reader.u16_le()?;
                reader.constant("a QoS control field with a traffic identifier alone", 0, u32::from(qos >> 4))?;
                Some(qos as u8)
            }
            false => None,
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
            tid,
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
                limit("as traffic identifier", 15, usize::from(data.tid.unwrap_or(0)))?;
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
            Self::BlockAck(it) => {
                limit("as sequence number", 4095, usize::from(it.start))?;
                limit("as traffic identifier", 15, usize::from(it.tid))?;
                it.emit(out);
            }
            Self::Addba(it) => {
                limit("as sequence number", 4095, usize::from(it.sequence.max(it.start.unwrap_or(0))))?;
                limit("as traffic identifier", 15, usize::from(it.tid))?;
                limit("MPDUs in a window", 1023, usize::from(it.window))?;
                it.emit(out);
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
        out.extend([if self.tid.is_some() { QOS_DATA } else { DATA }, flags]);
        out.u16_le(self.duration);
        out.extend(addresses.iter().flat_map(|address| address.0));
        out.u16_le(self.sequence << 4 | u16::from(self.fragment));
        out.extend(fourth.iter().flat_map(|address| address.0));
        if let Some(tid) = self.tid {
            out.u16_le(u16::from(tid));
        }
    }
}

impl BlockAck {
    fn parse(is_answer: bool, duration: u16, reader: &mut Reader<'_>) -> Result<Self, WireError> {
        let (receiver, transmitter) = (reader.hardware_address()?, reader.hardware_address()?);
        let (control, start) = (reader.u16_le()?, reader.u16_le()?);
        reader.constant("a compressed block acknowledgement", u32::from(COMPRESSED), u32::from(control & 0x0fff))?;
        reader.constant("no fragment number", 0, u32::from(start & 0xf))?;
        let received = if is_answer { Some(u64::from_le_bytes(reader.array()?)) } else { None };
        Ok(Self { duration, receiver, transmitter, tid: (control >> 12) as u8, start: start >> 4, received })
    }

    fn emit(&self, out: &mut Vec<u8>) {
        out.extend([if self.received.is_some() { BLOCK_ACK } else { BLOCK_ACK_REQUEST }, 0]);
        out.u16_le(self.duration);
        out.extend(self.receiver.0);
        out.extend(self.transmitter.0);
        out.u16_le(COMPRESSED | u16::from(self.tid) << 12);
        out.u16_le(self.start << 4);
        out.extend(self.received.iter().flat_map(|received| received.to_le_bytes()));
    }
}

impl Addba {
    fn parse(flags: u8, duration: u16, reader: &mut Reader<'_>) -> Result<Self, WireError> {
        reader.constant("no flags but that of a retry", 0, u32::from(flags & !RETRY))?;
        let (receiver, transmitter) = (reader.hardware_address()?, reader.hardware_address()?);
        let (bssid, sequence) = (reader.hardware_address()?, reader.u16_le()?);
        reader.constant("no fragment number", 0, u32::from(sequence & 0xf))?;
        let [category, action, _dialogue] = reader.array()?;
        reader.constant("the category of block acknowledgement (3)", u32::from(CATEGORY), u32::from(category))?;
        if !matches!(action, REQUEST | RESPONSE) {
            return Err(reader.malformed("an ADDBA request or response", u32::from(action)));
        }
        if action == RESPONSE {
            let status = reader.u16_le()?;
            reader.constant("success (0)", 0, u32::from(status))?;
        }
        let (parameters, timeout) = (reader.u16_le()?, reader.u16_le()?);
        reader.constant("the immediate policy without A-MSDU", u32::from(IMMEDIATE), u32::from(parameters & 3))?;
        reader.constant("no timeout", 0, u32::from(timeout))?;
        let start = if action == REQUEST { Some(reader.u16_le()?) } else { None };
        reader.constant("no fragment number", 0, u32::from(start.unwrap_or(0) & 0xf))?;
        Ok(Self {
            duration,
            receiver,
            transmitter,
            bssid,
            sequence: sequence >> 4,
            retry: flags & RETRY != 0,
            tid: (parameters >> 2 & 0xf) as u8,
            window: parameters >> 6,
            start: start.map(|start| start >> 4),
        })
    }

    fn emit(&self, out: &mut Vec<u8>) {
        out.extend([ACTION, if self.retry { RETRY } else { 0 }]);
        out.u16_le(self.duration);
        for address in [self.receiver, self.transmitter, self.bssid] {
            out.extend(address.0);
        }
        out.u16_le(self.sequence << 4);
        // The number of the dialogue is that of its only one.
        out.extend([CATEGORY, if self.start.is_some() { REQUEST } else { RESPONSE }, 1]);
        if self.start.is_none() {
            out.u16_le(0);
        }
        out.u16_le(IMMEDIATE | u16::from(self.tid) << 2 | self.window << 6);
        out.u16_le(0);
        if let Some(start) = self.start {
            out.u16_le(start << 4);
        }
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
    /// IPv6.
    pub const IPV6: Self = Self(0x86dd);

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
