//! The messages between Linux's `mac80211_hwsim` and a radio outside the kernel: generic netlink
//! (`drivers/net/wireless/mac80211_hwsim.h` of Linux 6.1), in the byte order of the machine, which is little-endian.
//!
//! A message has a header of netlink (16 bytes, of which the length counts), a header of generic netlink (4 bytes, of
//! which the command counts), and attributes. The parser passes over attributes and messages that it does not know.

use super::{HardwareAddress, Reader, WireError, Write};

const FORMAT: &str = "mac80211_hwsim";

/// How many rates a series has.
pub const STAGES: usize = 4;
/// Bytes of the two headers.
const HEADER: usize = 20;

const FRAME: u8 = 2;
const TX_INFO: u8 = 3;
const ADD_ADDRESS: u8 = 7;
const DELETE_ADDRESS: u8 = 8;

/// The attributes of messages.
mod attribute {
    pub const RECEIVER: u16 = 1;
    pub const TRANSMITTER: u16 = 2;
    pub const FRAME: u16 = 3;
    pub const FLAGS: u16 = 4;
    pub const RATE: u16 = 5;
    pub const SIGNAL: u16 = 6;
    pub const SERIES: u16 = 7;
    pub const COOKIE: u16 = 8;
    pub const FREQUENCY: u16 = 19;
    pub const RATE_FLAGS: u16 = 21;
    /// The bits of a type that say nothing of the attribute: nested, byte order of the network.
    pub const TYPE: u16 = 0x3fff;
}

/// Flags of a frame and of its status.
pub mod flags {
    /// The kernel wants the status.
    pub const WANTS_STATUS: u32 = 1;
    /// Nobody acknowledges the frame.
    pub const NO_ACK: u32 = 2;
    /// The frame was acknowledged.
    pub const ACKNOWLEDGED: u32 = 4;
    /// The frame belongs to a session of block acknowledgement. This flag and those below are of Hopyard's patch
    /// (`wifi-hwsim-aggregates-6.1.patch`).
    pub const AMPDU: u32 = 8;
    /// The frame tries a rate for rate control.
    pub const PROBE: u32 = 16;
    /// The bit where a status has the number of MPDUs of the frame that it reports.
    pub const SENT: u32 = 8;
    /// The bit where it has the number of those among them that were acknowledged.
    pub const ACKNOWLEDGED_OF: u32 = 16;
}

/// Flags of a rate of a series.
pub mod rate_flags {
    /// An RTS announces the frame.
    pub const RTS: u16 = 1;
    /// A CTS to the station itself announces it.
    pub const CTS_TO_SELF: u16 = 2;
    /// The rate is a modulation and coding scheme of HT.
    pub const HT: u16 = 8;
    /// The bandwidth is 40 MHz.
    pub const WIDE: u16 = 32;
    /// The guard interval is the short one.
    pub const SHORT_GUARD: u16 = 128;
    /// The rate is one of VHT.
    pub const VHT: u16 = 256;
}

/// A stage of the series of rates in which a frame is tried.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stage {
    /// The rate's place in the list of the band; without [`rate_flags::HT`] and [`rate_flags::VHT`] those of 802.11b
    /// and g, or of 802.11a. Negative: the series has ended.
    pub rate: i8,
    /// How often the frame is tried in it, or was tried.
    pub tries: u8,
    /// See [`rate_flags`]. A status has none.
    pub flags: u16,
}

/// A message of a kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FromKernel {
    /// A frame to be sent.
    Frame(Outgoing),
    /// A station has this address from now on.
    AddAddress {
        /// The number of its radio.
        radio: HardwareAddress,
        /// The address.
        address: HardwareAddress,
    },
    /// A station has this address no more.
    DeleteAddress {
        /// The number of its radio.
        radio: HardwareAddress,
        /// The address.
        address: HardwareAddress,
    },
    /// Another message, by the number of its command.
    Other(u8),
}

/// A frame that a kernel sends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outgoing {
    /// The number of the radio.
    pub radio: HardwareAddress,
    /// The 802.11 frame without its check sequence.
    pub frame: Vec<u8>,
    /// See [`flags`].
    pub flags: u32,
    /// The frequency of the channel in MHz.
    pub frequency: u32,
    /// The series of rates.
    pub series: [Stage; STAGES],
    /// The number by which the kernel knows the frame in its status.
    pub cookie: u64,
}

/// A message to a kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ToKernel<'a> {
    /// A frame that the radio has received.
    Frame {
        /// The number of the radio in this kernel.
        radio: HardwareAddress,
        /// The 802.11 frame without its check sequence.
        frame: &'a [u8],
        /// The rate's place in the list of the band.
        rate: u32,
        /// The received power in dBm.
        signal: i32,
        /// The frequency of the channel in MHz.
        frequency: u32,
    },
    /// The fate of a frame that the kernel has sent.
    Status {
        /// The number of the radio.
        radio: HardwareAddress,
        /// The flags of the frame, and whether it was acknowledged.
        flags: u32,
        /// The power of the acknowledgement in dBm.
        signal: i32,
        /// The rates in which the frame was tried, in the order of its series. Their flags count with `ampdu` alone.
        series: [Stage; STAGES],
        /// Of a frame of a session, the number of MPDUs that were on the air with it in these rates, and how many of
        /// them were acknowledged; nothing if the status of another one of them tells.
        ampdu: Option<(u8, u8)>,
        /// The number by which the kernel knows the frame.
        cookie: u64,
    },
}

impl FromKernel {
    /// The message in these bytes. Bytes after its length are room of the buffer.
    ///
    /// # Errors
    /// If the bytes end too early, or a frame lacks its radio, its bytes or its number.
    pub fn parse(bytes: &[u8]) -> Result<Self, WireError> {
        let mut reader = Reader::new(FORMAT, bytes);
        let length = reader.u32_le()? as usize;
        if length < HEADER {
            return Err(reader.malformed("a message of at least 20 bytes", length as u32));
        }
        let whole =
            bytes.get(..length).ok_or(WireError::Truncated { format: FORMAT, expected: length, found: bytes.len() })?;
        let command = whole[HEADER - 4];
        let mut reader = Reader::new(FORMAT, whole);
        reader.take(HEADER)?;
        let (mut radio, mut receiver, mut frame, mut cookie) = (None, None, None, None);
        let (mut flags, mut frequency, mut series) = (0, 0, [Stage { rate: -1, ..Stage::default() }; STAGES]);
        // What is shorter than the header of an attribute is padding.
        while reader.bytes.len() >= 4 {
            let (size, kind) = (usize::from(reader.u16_le()?), reader.u16_le()? & attribute::TYPE);
            let content =
                size.checked_sub(4).ok_or(reader.malformed("an attribute of at least 4 bytes", size as u32))?;
            let mut of = Reader { format: FORMAT, bytes: reader.take(content)?, taken: 0 };
            // The last attribute needs no padding.
            reader.take((size.next_multiple_of(4) - size).min(reader.bytes.len()))?;
            match kind {
                attribute::RECEIVER => receiver = Some(of.hardware_address()?),
                attribute::TRANSMITTER => radio = Some(of.hardware_address()?),
                attribute::FRAME => frame = Some(of.bytes.to_vec()),
                attribute::FLAGS => flags = of.u32_le()?,
                attribute::FREQUENCY => frequency = of.u32_le()?,
                attribute::COOKIE => cookie = Some(u64::from(of.u32_le()?) | u64::from(of.u32_le()?) << 32),
                attribute::SERIES => {
                    for stage in &mut series {
                        (stage.rate, stage.tries) = (of.u8()?.cast_signed(), of.u8()?);
                    }
                }
                attribute::RATE_FLAGS => {
                    for stage in &mut series {
                        of.u8()?;
                        stage.flags = of.u16_le()?;
                    }
                }
                _ => {}
            }
        }
        let lacks = |expected| WireError::Malformed { format: FORMAT, expected, found: command.into() };
        let address = || Some((radio?, receiver?));
        let without = "a radio and an address with the command";
        Ok(match command {
            FRAME => Self::Frame(Outgoing {
                radio: radio.ok_or(lacks("a radio with the command"))?,
                frame: frame.ok_or(lacks("a frame with the command"))?,
                cookie: cookie.ok_or(lacks("a cookie with the command"))?,
                flags,
                frequency,
                series,
            }),
            ADD_ADDRESS => {
                let (radio, address) = address().ok_or(lacks(without))?;
                Self::AddAddress { radio, address }
            }
            DELETE_ADDRESS => {
                let (radio, address) = address().ok_or(lacks(without))?;
                Self::DeleteAddress { radio, address }
            }
            other => Self::Other(other),
        })
    }

    /// The message as bytes, as a kernel writes it.
    pub fn emit(&self, out: &mut Vec<u8>) {
        match self {
            Self::Frame(it) => {
                let mut message = Message::begin(FRAME, out);
                message.attribute(attribute::TRANSMITTER, &it.radio.0);
                message.attribute(attribute::FRAME, &it.frame);
                message.attribute(attribute::FLAGS, &it.flags.to_le_bytes());
                message.attribute(attribute::FREQUENCY, &it.frequency.to_le_bytes());
                message.attribute(attribute::SERIES, &pairs(&it.series));
                message.attribute(attribute::RATE_FLAGS, &with_flags(&it.series));
                message.attribute(attribute::COOKIE, &it.cookie.to_le_bytes());
                message.end();
            }
            Self::AddAddress { radio, address } | Self::DeleteAddress { radio, address } => {
                let is_new = matches!(self, Self::AddAddress { .. });
                let mut message = Message::begin(if is_new { ADD_ADDRESS } else { DELETE_ADDRESS }, out);
                message.attribute(attribute::TRANSMITTER, &radio.0);
                message.attribute(attribute::RECEIVER, &address.0);
                message.end();
            }
            Self::Other(command) => Message::begin(*command, out).end(),
        }
    }
}

impl ToKernel<'_> {
    /// The message as bytes, for a kernel.
    pub fn emit(&self, out: &mut Vec<u8>) {
        match self {
            Self::Frame { radio, frame, rate, signal, frequency } => {
                let mut message = Message::begin(FRAME, out);
                message.attribute(attribute::RECEIVER, &radio.0);
                message.attribute(attribute::FRAME, frame);
                message.attribute(attribute::RATE, &rate.to_le_bytes());
                message.attribute(attribute::SIGNAL, &signal.to_le_bytes());
                message.attribute(attribute::FREQUENCY, &frequency.to_le_bytes());
                message.end();
            }
            Self::Status { radio, flags, signal, series, ampdu, cookie } => {
                let mut message = Message::begin(TX_INFO, out);
                let (sent, acknowledged) = ampdu.unwrap_or_default();
                let counts = u32::from(sent) << flags::SENT | u32::from(acknowledged) << flags::ACKNOWLEDGED_OF;
                message.attribute(attribute::TRANSMITTER, &radio.0);
                message.attribute(attribute::FLAGS, &(flags | counts).to_le_bytes());
                message.attribute(attribute::SIGNAL, &signal.to_le_bytes());
                message.attribute(attribute::SERIES, &pairs(series));
                if ampdu.is_some() {
                    message.attribute(attribute::RATE_FLAGS, &with_flags(series));
                }
                message.attribute(attribute::COOKIE, &cookie.to_le_bytes());
                message.end();
            }
        }
    }
}

/// Rates and tries, by turns.
fn pairs(series: &[Stage; STAGES]) -> Vec<u8> {
    series.iter().flat_map(|stage| [stage.rate.cast_unsigned(), stage.tries]).collect()
}

/// Rates and flags, by turns.
fn with_flags(series: &[Stage; STAGES]) -> Vec<u8> {
    let each = series.iter().map(|stage| (stage.rate.cast_unsigned(), stage.flags.to_le_bytes()));
    each.flat_map(|(rate, [low, high])| [rate, low, high]).collect()
}

/// A message that is being written.
struct Message<'a> {
    start: usize,
    out: &'a mut Vec<u8>,
}

impl<'a> Message<'a> {
    fn begin(command: u8, out: &'a mut Vec<u8>) -> Self {
        let start = out.len();
        out.u32_le(0);
        // Any type of netlink: neither side looks at it. Flags, number and port are not used.
        out.u16_le(0x10);
        out.extend([0; 10]);
        out.extend([command, 1, 0, 0]);
        Self { start, out }
    }

    fn attribute(&mut self, kind: u16, content: &[u8]) {
        // Frames are shorter than 3.7 kB, the room of a kernel's buffer.
        self.out.u16_le((4 + content.len()) as u16);
        self.out.u16_le(kind);
        self.out.extend(content);
        // Padding counts from the start of the message.
        let written = self.out.len() - self.start;
        self.out.resize(self.start + written.next_multiple_of(4), 0);
    }

    fn end(self) {
        let length = (self.out.len() - self.start) as u32;
        self.out[self.start..self.start + 4].copy_from_slice(&length.to_le_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RADIO: HardwareAddress = HardwareAddress([0x42, 0, 0, 0, 0, 0]);

    fn stage(rate: i8, tries: u8, flags: u16) -> Stage {
        Stage { rate, tries, flags }
    }

    /// The bytes of a message as Linux 6.1 writes it, field by field from its source (`mac80211_hwsim_tx_frame_nl`).
    #[test]
    fn a_frame_of_a_kernel_is_read() {
        let attributes: [&[u8]; 7] = [
            &[10, 0, 2, 0, 0x42, 0, 0, 0, 0, 0, 0, 0],
            &[7, 0, 3, 0, 0x80, 0, 7, 0],
            &[8, 0, 4, 0, 1, 0, 0, 0],
            &[8, 0, 19, 0, 0x85, 9, 0, 0],
            &[12, 0, 7, 0, 11, 2, 4, 3, 0xff, 0, 0xff, 0],
            &[16, 0, 21, 0, 11, 0, 0, 4, 1, 0, 0xff, 0, 0, 0xff, 0, 0],
            &[12, 0, 8, 0, 1, 0, 0, 0, 2, 0, 0, 0],
        ];
        let mut bytes = vec![0, 0, 0, 0, 0x1c, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 1, 0, 0];
        attributes.iter().for_each(|it| bytes.extend(*it));
        bytes[0] = bytes.len() as u8;
        // The room of the buffer.
        bytes.extend([0xee; 40]);
        let none = stage(-1, 0, 0);
        let expected = Outgoing {
            radio: RADIO,
            frame: vec![0x80, 0, 7],
            flags: flags::WANTS_STATUS,
            frequency: 2437,
            series: [stage(11, 2, 0), stage(4, 3, rate_flags::RTS), none, none],
            cookie: 0x2_0000_0001,
        };
        assert_eq!(FromKernel::parse(&bytes), Ok(FromKernel::Frame(expected)));
    }

    #[test]
    fn messages_come_back_as_they_were() {
        let address = HardwareAddress([2, 0, 0, 0, 0, 1]);
        let frame = Outgoing {
            radio: RADIO,
            frame: vec![8, 1, 2, 3, 4],
            flags: flags::NO_ACK,
            frequency: 2412,
            series: [stage(0, 1, 0), stage(-1, 0, 0), stage(-1, 0, 0), stage(-1, 0, 0)],
            cookie: u64::MAX,
        };
        let all = [
            FromKernel::Frame(frame),
            FromKernel::AddAddress { radio: RADIO, address },
            FromKernel::DeleteAddress { radio: RADIO, address },
            FromKernel::Other(1),
        ];
        for message in all {
            let mut bytes = Vec::new();
            message.emit(&mut bytes);
            assert_eq!(FromKernel::parse(&bytes), Ok(message));
        }
    }

    #[test]
    fn a_status_has_its_attributes() {
        let mut bytes = Vec::new();
        let series = [stage(11, 2, 0), stage(4, 1, 1), stage(-1, 0, 0), stage(-1, 0, 0)];
        let mut status = ToKernel::Status { radio: RADIO, flags: 5, signal: -60, series, ampdu: None, cookie: 9 };
        status.emit(&mut bytes);
        let (head, rest) = bytes.split_at(HEADER);
        assert_eq!((head[0] as usize, head[16]), (bytes.len(), TX_INFO));
        assert_eq!(rest[..12], [10, 0, 2, 0, 0x42, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(rest[12..28], [8, 0, 4, 0, 5, 0, 0, 0, 8, 0, 6, 0, 0xc4, 0xff, 0xff, 0xff]);
        assert_eq!(rest[28..40], [12, 0, 7, 0, 11, 2, 4, 1, 0xff, 0, 0xff, 0]);
        assert_eq!(rest[40..], [12, 0, 8, 0, 9, 0, 0, 0, 0, 0, 0, 0]);
        // With the fate of an A-MPDU, whose rates have their flags.
        let ToKernel::Status { ampdu, .. } = &mut status else { unreachable!("it is one") };
        *ampdu = Some((20, 17));
        let mut bytes = Vec::new();
        status.emit(&mut bytes);
        let rest = &bytes[HEADER..];
        assert_eq!(rest[12..20], [8, 0, 4, 0, 5, 20, 17, 0]);
        assert_eq!(rest[40..56], [16, 0, 21, 0, 11, 0, 0, 4, 1, 0, 0xff, 0, 0, 0xff, 0, 0]);
    }

    #[test]
    fn what_is_cut_off_or_incomplete_is_refused() {
        let mut bytes = Vec::new();
        FromKernel::Other(FRAME).emit(&mut bytes);
        let text = |bytes: &[u8]| FromKernel::parse(bytes).map_err(|error| error.to_string());
        let lacks = "mac80211_hwsim: expected a radio with the command, found 2";
        assert_eq!(text(&bytes), Err(lacks.to_owned()));
        assert_eq!(text(&bytes[..10]), Err("mac80211_hwsim: expected 20 bytes or more, found 10".to_owned()));
        bytes[0] = 19;
        assert!(text(&bytes).is_err());
        // An attribute that is longer than its message.
        let long = [&[24, 0, 0, 0][..], &[0; 12], &[2, 1, 0, 0, 9, 0, 3, 0]].concat();
        assert!(text(&long).is_err());
    }
}
