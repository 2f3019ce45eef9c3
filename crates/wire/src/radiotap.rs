//! Radiotap: the knowledge of a receiver or transmitter about an 802.11 frame besides its bytes
//! (<https://www.radiotap.org>).
//!
//! A capture with link type 127 has this header in front of each frame. All fields are little-endian. A field begins at
//! a multiple of its own size, counted from the start of the header.
//!
//! Left out: all fields but flags, rate, channel, signal, MCS, A-MPDU and VHT. `parse` passes over the others.

use super::{Reader, WireError, Write};

const FORMAT: &str = "radiotap";

/// The channel of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Channel {
    /// The frequency in MHz.
    pub frequency: u16,
    /// The kind of channel, such as [`Channel::CCK`] and [`Channel::BAND_2GHZ`] together.
    pub flags: u16,
}

impl Channel {
    /// The modulation of 802.11 and 802.11b (DSSS, CCK).
    pub const CCK: u16 = 0x0020;
    /// The modulation of 802.11a and 802.11g.
    pub const OFDM: u16 = 0x0040;
    /// A channel of the 2.4 GHz band.
    pub const BAND_2GHZ: u16 = 0x0080;
    /// A channel of the 5 GHz band.
    pub const BAND_5GHZ: u16 = 0x0100;
    /// A channel of 10 MHz.
    pub const HALF_CLOCK: u16 = 0x4000;
    /// A channel of 5 MHz.
    pub const QUARTER_CLOCK: u16 = 0x8000;
}

/// The modulation, code and streams of a frame of 802.11n or 802.11ac.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Index {
    /// The index of modulation and code; in 802.11n, of the streams too.
    pub mcs: u8,
    /// The number of spatial streams in 802.11ac; nothing in 802.11n.
    pub streams: Option<u8>,
    /// The bandwidth in MHz: 20, 40 or, in 802.11ac, 80.
    pub megahertz: u16,
    /// Whether the guard interval is the short one.
    pub short_guard: bool,
}

/// The place of an MPDU in a frame with several.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Aggregate {
    /// A number that all MPDUs of the frame have.
    pub reference: u32,
    /// Whether it is the last one.
    pub is_last: bool,
}

/// A header.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Header {
    /// Whether the frame was sent with the short preamble.
    pub short_preamble: bool,
    /// Whether the bytes of the frame end with its check sequence.
    pub has_check_sequence: bool,
    /// Whether the check sequence does not match the received bytes.
    pub bad_check_sequence: bool,
    /// The rate in units of 500 kb/s.
    pub rate: Option<u8>,
    /// What a frame of 802.11n or 802.11ac has instead of a rate.
    pub index: Option<Index>,
    /// The channel.
    pub channel: Option<Channel>,
    /// The received power in dBm; a transmitter has none.
    pub signal: Option<i8>,
    /// The frame that an MPDU was in with others.
    pub aggregate: Option<Aggregate>,
}

// Bits of the field "present", which are also the order of the fields.
const TSFT: u32 = 1 << 0;
const FLAGS: u32 = 1 << 1;
const RATE: u32 = 1 << 2;
const CHANNEL: u32 = 1 << 3;
const FHSS: u32 = 1 << 4;
const SIGNAL: u32 = 1 << 5;
const MCS: u32 = 1 << 19;
const AGGREGATE: u32 = 1 << 20;
const VHT: u32 = 1 << 21;
const MORE: u32 = 1 << 31;
/// The fields between signal and MCS, which the header does not have.
const BETWEEN: u32 = 0x0007_ffc0;

// Bits of the field "flags".
const SHORT_PREAMBLE: u8 = 0x02;
const CHECK_SEQUENCE: u8 = 0x10;
const BAD_CHECK_SEQUENCE: u8 = 0x40;

// Which parts of the field "MCS" are known (bandwidth, index, guard interval, format, code, streams of STBC and of
// extension, of which there are none), and its flags.
const MCS_KNOWN: u8 = 0x7f;
const MCS_BANDWIDTH: u8 = 0x03;
const MCS_40_MHZ: u8 = 0x01;
const MCS_SHORT_GUARD: u8 = 0x04;

// The flags of the field "A-MPDU": it is known which MPDU is the last one, and this is it.
const LAST_KNOWN: u16 = 0x0004;
const IS_LAST: u16 = 0x0008;

// Which parts of the field "VHT" are known (STBC, guard interval, bandwidth), and its flags.
const VHT_KNOWN: u16 = 0x0045;
const VHT_SHORT_GUARD: u8 = 0x04;
/// The numbers of the bandwidths of the field "VHT".
const VHT_BANDWIDTHS: [(u8, u16); 3] = [(0, 20), (1, 40), (4, 80)];

impl Header {
    /// A rate in units of 500 kb/s, from bits a second. `None` if the field cannot express the rate.
    #[must_use]
    pub fn rate_of(bits_per_second: u32) -> Option<u8> {
        let units = u8::try_from(bits_per_second / 500_000).ok()?;
        (units > 0 && bits_per_second.is_multiple_of(500_000)).then_some(units)
    }

    /// The header and the frame behind it.
    ///
    /// # Errors
    /// If the bytes end too early, the version is not 0, or the length does not hold the fields.
    pub fn parse(bytes: &[u8]) -> Result<(Self, &[u8]), WireError> {
        let mut reader = Reader::new(FORMAT, bytes);
        let version = reader.u8()?;
        reader.constant("version 0", 0, u32::from(version))?;
        let _padding = reader.u8()?;
        let length = usize::from(reader.u16_le()?);
        let frame =
            bytes.get(length..).ok_or(WireError::Truncated { format: FORMAT, expected: length, found: bytes.len() })?;
        if length < 8 {
            return Err(reader.malformed("a length of 8 or more", length as u32));
        }
        let mut reader = Reader::new(FORMAT, &bytes[..length]);
        reader.take(4)?;
        let present = reader.u32_le()?;
        let mut more = present;
        while more & MORE != 0 {
            more = reader.u32_le()?;
        }
        let mut header = Self::default();
        if present & TSFT != 0 {
            reader.align(8)?;
            reader.take(8)?;
        }
        if present & FLAGS != 0 {
            let flags = reader.u8()?;
            header.short_preamble = flags & SHORT_PREAMBLE != 0;
            header.has_check_sequence = flags & CHECK_SEQUENCE != 0;
            header.bad_check_sequence = flags & BAD_CHECK_SEQUENCE != 0;
        }
        if present & RATE != 0 {
            header.rate = Some(reader.u8()?);
        }
        if present & CHANNEL != 0 {
            reader.align(2)?;
            header.channel = Some(Channel { frequency: reader.u16_le()?, flags: reader.u16_le()? });
        }
        if present & FHSS != 0 {
            reader.take(2)?;
        }
        if present & SIGNAL != 0 {
            header.signal = Some(reader.u8()?.cast_signed());
        }
        // The fields between signal and MCS are none of those that the header has.
        if present & (BETWEEN | MCS) == MCS {
            let [_known, flags, mcs] = reader.array()?;
            let megahertz = if flags & MCS_BANDWIDTH == MCS_40_MHZ { 40 } else { 20 };
            header.index = Some(Index { mcs, streams: None, megahertz, short_guard: flags & MCS_SHORT_GUARD != 0 });
        }
        if present & (BETWEEN | AGGREGATE) == AGGREGATE {
            reader.align(4)?;
            let (reference, flags) = (reader.u32_le()?, reader.u16_le()?);
            reader.take(2)?;
            header.aggregate = Some(Aggregate { reference, is_last: flags & IS_LAST != 0 });
        }
        if present & (BETWEEN | VHT) == VHT {
            reader.align(2)?;
            let _known = reader.u16_le()?;
            let [flags, bandwidth, user] = reader.array()?;
            reader.take(7)?;
            let known = VHT_BANDWIDTHS.iter().find(|it| it.0 == bandwidth);
            header.index = known.map(|&(_, megahertz)| Index {
                mcs: user >> 4,
                streams: Some(user & 0x0f),
                megahertz,
                short_guard: flags & VHT_SHORT_GUARD != 0,
            });
        }
        Ok((header, frame))
    }

    /// Appends the header's bytes. The frame follows them.
    pub fn emit(&self, out: &mut Vec<u8>) {
        let start = out.len();
        let bit = |present: bool, bit: u32| if present { bit } else { 0 };
        let present = FLAGS
            | bit(self.rate.is_some(), RATE)
            | bit(self.channel.is_some(), CHANNEL)
            | bit(self.signal.is_some(), SIGNAL)
            | bit(self.aggregate.is_some(), AGGREGATE)
            | self.index.map_or(0, |index| if index.streams.is_some() { VHT } else { MCS });
        out.extend([0, 0, 0, 0]);
        out.u32_le(present);
        let flag = |set: bool, flag: u8| if set { flag } else { 0 };
        out.u8(flag(self.short_preamble, SHORT_PREAMBLE)
            | flag(self.has_check_sequence, CHECK_SEQUENCE)
            | flag(self.bad_check_sequence, BAD_CHECK_SEQUENCE));
        if let Some(rate) = self.rate {
            out.u8(rate);
        }
        if let Some(channel) = self.channel {
            out.resize(start + (out.len() - start).next_multiple_of(2), 0);
            out.u16_le(channel.frequency);
            out.u16_le(channel.flags);
        }
        if let Some(signal) = self.signal {
            out.u8(signal.cast_unsigned());
        }
        if let Some(Index { mcs, streams: None, megahertz, short_guard }) = self.index {
            let bandwidth = if megahertz == 40 { MCS_40_MHZ } else { 0 };
            out.extend([MCS_KNOWN, bandwidth | flag(short_guard, MCS_SHORT_GUARD), mcs]);
        }
        if let Some(Aggregate { reference, is_last }) = self.aggregate {
            out.resize(start + (out.len() - start).next_multiple_of(4), 0);
            out.u32_le(reference);
            out.u16_le(LAST_KNOWN | if is_last { IS_LAST } else { 0 });
            // A checksum that is not known, and a byte that is reserved.
            out.extend([0; 2]);
        }
        if let Some(Index { mcs, streams: Some(streams), megahertz, short_guard }) = self.index {
            out.resize(start + (out.len() - start).next_multiple_of(2), 0);
            out.u16_le(VHT_KNOWN);
            let number = VHT_BANDWIDTHS.iter().find(|it| it.1 == megahertz).map_or(0, |it| it.0);
            out.extend([flag(short_guard, VHT_SHORT_GUARD), number, mcs << 4 | streams & 0x0f]);
            // Three further users, the code, a group, and a partial identifier.
            out.extend([0; 7]);
        }
        let length = (out.len() - start) as u16;
        out[start + 2..start + 4].copy_from_slice(&length.to_le_bytes());
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::testing::{bytes, hex};

    fn emitted(header: &Header) -> Vec<u8> {
        let mut bytes = Vec::new();
        header.emit(&mut bytes);
        bytes
    }

    #[test]
    fn a_header_is_laid_out_as_the_standard_says() {
        let header = Header {
            has_check_sequence: true,
            rate: Header::rate_of(5_500_000),
            channel: Some(Channel { frequency: 2412, flags: Channel::CCK | Channel::BAND_2GHZ }),
            signal: Some(-82),
            ..Header::default()
        };
        assert_eq!(emitted(&header), hex("00 00 0f00 2e000000 10 0b 6c09 a000 ae"));
        // Without the rate, a byte of padding leads to the channel.
        let header = Header { rate: None, signal: None, short_preamble: true, ..header };
        assert_eq!(emitted(&header), hex("00 00 0e00 0a000000 12 00 6c09 a000"));
        // 802.11n with 40 MHz and the short guard interval; 802.11ac with two streams in 80 MHz.
        let index = Index { mcs: 7, streams: None, megahertz: 40, short_guard: true };
        let header = Header { index: Some(index), channel: None, short_preamble: false, signal: Some(-60), ..header };
        assert_eq!(emitted(&header), hex("00 00 0d00 22000800 10 c4 7f0507"));
        let index = Index { mcs: 9, streams: Some(2), megahertz: 80, short_guard: false };
        let header = Header { index: Some(index), ..header };
        assert_eq!(emitted(&header), hex("00 00 1600 22002000 10 c4 4500 00 04 92 000000 00 00 0000"));
    }

    #[test]
    fn other_fields_are_passed_over() {
        // Two words of presence; time, flags, rate, channel, hopping, signal, noise.
        let text = "00 00 2100 7f000080 00000000 00000000 0807060504030201 10 02 6c09 a000 0506 ae a1 000000 ffff";
        let mut bytes = hex(text);
        bytes[2] = (bytes.len() - 2) as u8;
        let (header, frame) = Header::parse(&bytes).expect("sound");
        assert_eq!((header.rate, header.signal, frame), (Some(2), Some(-82), &[0xff, 0xff][..]));
    }

    #[test]
    fn impossible_headers_are_refused() {
        for (text, problem) in [
            ("01 00 0800 00000000", "radiotap: expected version 0, found 1"),
            ("00 00 0700 00000000", "radiotap: expected a length of 8 or more, found 7"),
            ("00 00 0900 00000000", "radiotap: expected 9 bytes or more, found 8"),
            ("00 00 0800 02000000", "radiotap: expected 9 bytes or more, found 8"),
            ("00 00 0800 00000080", "radiotap: expected 12 bytes or more, found 8"),
        ] {
            assert_eq!(Header::parse(&hex(text)).expect_err(text).to_string(), problem);
        }
    }

    #[test]
    fn rates_that_the_field_cannot_express_are_left_out() {
        assert_eq!([1_000_000, 11_000_000, 127_500_000].map(Header::rate_of), [Some(2), Some(22), Some(255)]);
        assert_eq!([0, 250_000, 1_250_000, 128_000_000].map(Header::rate_of), [None; 4]);
    }

    proptest! {
        #[test]
        fn what_is_emitted_is_parsed(
            flags: [bool; 3], rate: Option<u8>, channel: Option<(u16, u16)>, signal: Option<i8>,
            index: Option<(u8, bool, prop::sample::Index, bool)>, aggregate: Option<(u32, bool)>, frame in bytes(40),
        ) {
            let index = index.map(|(mcs, is_vht, bandwidth, short_guard)| match is_vht {
                true => {
                    let (mcs, streams, megahertz) = (mcs % 10, Some(mcs % 8 + 1), *bandwidth.get(&[20, 40, 80]));
                    Index { mcs, streams, megahertz, short_guard }
                }
                false => Index { mcs, streams: None, megahertz: *bandwidth.get(&[20, 40]), short_guard },
            });
            let [short_preamble, has_check_sequence, bad_check_sequence] = flags;
            let channel = channel.map(|(frequency, flags)| Channel { frequency, flags });
            let aggregate = aggregate.map(|(reference, is_last)| Aggregate { reference, is_last });
            let header = Header {
                short_preamble,
                has_check_sequence,
                bad_check_sequence,
                rate,
                channel,
                signal,
                index,
                aggregate,
            };
            let mut bytes = emitted(&header);
            bytes.extend_from_slice(&frame);
            prop_assert_eq!(Header::parse(&bytes), Ok((header, &frame[..])));
        }

        #[test]
        fn no_bytes_upset_the_parser(mut bytes in bytes(60)) {
            let _ = Header::parse(&bytes);
            bytes.splice(..bytes.len().min(2), [0, 0]);
            let _ = Header::parse(&bytes);
        }
    }
}
