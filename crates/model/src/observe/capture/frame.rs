//! Frames of the DCF as 802.11 frames of an ad hoc network, and a radio's knowledge of them.

use hopyard_engine::Span;
use hopyard_engine::units::{Frequency, Power};
use hopyard_wire::ieee80211::{Addba, Addresses, BlockAck, Data, EtherType, Header};
use hopyard_wire::radiotap::{self as tap, Aggregate, Channel, Index};
use hopyard_wire::{HardwareAddress, WireError, checksum};

use crate::phy::Mode;
use crate::phy::mode::{Format, Guard, Preamble};

/// A frame in the values of the standard.
///
/// A data frame has 36 bytes more than its packet: 24 of the MAC header, 8 of LLC and SNAP, 4 of the check sequence.
/// The profile `rfc` counts the same. The profile `ns2` counts 34; the capture has the real 36. Frames of slotted
/// access are captured in the same form, with a duration of zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame<'a> {
    /// The kind of the frame.
    pub kind: FrameKind<'a>,
    /// The duration field: how long the exchange continues after this frame.
    pub duration: Span,
    /// The station that sends it. A CTS and an ACK do not contain it.
    pub transmitter: HardwareAddress,
    /// The station that it is for.
    pub receiver: HardwareAddress,
    /// Whether it is captured with a wrong check sequence, as a receiver has it after a collision.
    pub damaged: bool,
}

/// The kinds of frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameKind<'a> {
    /// Request to send.
    Rts,
    /// Clear to send.
    Cts,
    /// Acknowledgement.
    Ack,
    /// A frame that carries a packet.
    Data {
        /// The protocol of the packet.
        protocol: EtherType,
        /// The bytes of the packet.
        packet: &'a [u8],
        /// The transmitter's sequence number, modulo 4096.
        sequence: u16,
        /// Whether the frame was sent before.
        retry: bool,
        /// The identifier of the ad hoc network.
        bssid: HardwareAddress,
        /// The traffic identifier of a frame with QoS, which has two bytes more.
        tid: Option<u8>,
    },
    /// Compressed block acknowledgement, or a request for it.
    BlockAck {
        /// The traffic identifier.
        tid: u8,
        /// The first sequence number.
        start: u16,
        /// A bit for each number that was received; nothing in a request.
        received: Option<u64>,
    },
    /// An agreement on block acknowledgement.
    Addba {
        /// The traffic identifier.
        tid: u8,
        /// The first sequence number in a request; nothing in a response.
        start: Option<u16>,
        /// The transmitter's sequence number.
        sequence: u16,
        /// The identifier of the ad hoc network.
        bssid: HardwareAddress,
    },
}

/// How many MPDUs a station stores (IEEE 802.11-2016 §9.4.1.14).
const WINDOW: u16 = 64;

/// The longest duration that the field can express, in microseconds (IEEE 802.11 §9.2.4.2).
const LONGEST: u64 = 0x7fff;

impl Frame<'_> {
    /// The usual identifier of the ad hoc network on a channel with this number: a locally administered address that no
    /// station has.
    #[must_use]
    pub const fn network(channel: u32) -> HardwareAddress {
        let [a, b, c, d] = channel.to_be_bytes();
        HardwareAddress([0x06, 0, a, b, c, d])
    }

    /// Appends the frame's bytes with its check sequence.
    ///
    /// # Errors
    /// If a control frame were to carry a packet; so none with these kinds.
    pub fn emit(&self, out: &mut Vec<u8>) -> Result<(), WireError> {
        let (receiver, transmitter) = (self.receiver, self.transmitter);
        // A fraction of a microsecond counts as a whole one (IEEE 802.11 §9.2.5.1).
        let duration = self.duration.nanos().div_ceil(1000).min(LONGEST) as u16;
        match self.kind {
            FrameKind::Rts => Header::Rts { duration, receiver, transmitter }.emit(&[], out)?,
            FrameKind::Cts => Header::Cts { duration, receiver }.emit(&[], out)?,
            FrameKind::Ack => Header::Ack { duration, receiver }.emit(&[], out)?,
            FrameKind::BlockAck { tid, start, received } => {
                let frame = BlockAck { duration, receiver, transmitter, tid, start, received };
                Header::BlockAck(frame).emit(&[], out)?;
            }
            FrameKind::Addba { tid, start, sequence, bssid } => {
                let (window, retry) = (WINDOW, false);
                let frame = Addba { duration, receiver, transmitter, bssid, sequence, retry, tid, window, start };
                Header::Addba(frame).emit(&[], out)?;
            }
            FrameKind::Data { protocol, packet, sequence, retry, bssid, tid } => {
                let header = Header::Data(Data {
                    duration,
                    addresses: Addresses::AdHoc { destination: receiver, source: transmitter, bssid },
                    sequence: sequence & 0x0fff,
                    fragment: 0,
                    more_fragments: false,
                    retry,
                    power_management: false,
                    more_data: false,
                    tid,
                });
                let mut body = Vec::with_capacity(8 + packet.len());
                protocol.emit(&mut body);
                body.extend_from_slice(packet);
                header.emit(&body, out)?;
            }
        }
        if self.damaged {
            spoil(out);
        }
        Ok(())
    }

    /// Appends a frame that a station outside has made whole, with its check sequence.
    pub fn of_station(bytes: &[u8], damaged: bool, out: &mut Vec<u8>) {
        out.extend_from_slice(bytes);
        out.extend(checksum::frame_check_sequence(bytes).to_le_bytes());
        if damaged {
            spoil(out);
        }
    }
}

/// The check sequence at the end becomes wrong.
fn spoil(out: &mut [u8]) {
    if let Some(check_sequence) = out.last_chunk_mut::<4>() {
        *check_sequence = check_sequence.map(|byte| !byte);
    }
}

/// The radiotap header of a frame: its rate and preamble, or its index with bandwidth and guard interval; the channel's
/// frequency if the propagation model has one, or the first channel of the mode's band where that frequency is not in
/// the band; and the power that was received; the transmitter receives none.
#[must_use]
pub fn radiotap(
    mode: &Mode,
    preamble: Span,
    frequency: Option<Frequency>,
    signal: Option<Power>,
    damaged: bool,
    aggregate: Option<Aggregate>,
) -> tap::Header {
    let megahertz = (mode.body.bandwidth.hertz() / 1e6).round() as u16;
    let modulation = match (mode.format, megahertz) {
        (Format::Dsss(_), _) => Channel::CCK,
        (_, 5) => Channel::OFDM | Channel::QUARTER_CLOCK,
        (_, 10) => Channel::OFDM | Channel::HALF_CLOCK,
        _ => Channel::OFDM,
    };
    let short_guard = mode.guard == Guard::Short;
    let index = match mode.format {
        Format::Dsss(_) | Format::Ofdm => None,
        Format::Ht { mcs } => Some(Index { mcs, streams: None, megahertz, short_guard }),
        Format::Vht { mcs, streams } => Some(Index { mcs, streams: Some(streams), megahertz, short_guard }),
    };
    let rate = if index.is_none() { tap::Header::rate_of(mode.rate().bps() as u32) } else { None };
    let channel = |given: Frequency| {
        let frequency = match mode.band() {
            Some(band) if !band.has(given) => band.first_channel(),
            _ => given,
        };
        let megahertz = (frequency.hertz() / 1e6).round() as u16;
        let band = match megahertz {
            2400..2500 => Channel::BAND_2GHZ,
            4900..5930 => Channel::BAND_5GHZ,
            _ => 0,
        };
        Channel { frequency: megahertz, flags: modulation | band }
    };
    tap::Header {
        short_preamble: preamble == Preamble::Short.span(),
        has_check_sequence: true,
        bad_check_sequence: damaged,
        rate,
        index,
        channel: frequency.map(channel),
        signal: signal.map(|power| power.dbm().round() as i8),
        aggregate,
    }
}

#[cfg(test)]
mod tests {
    use super::super::station_of;
    use super::*;
    use crate::address::InterfaceId;
    use crate::phy::mode::{Band, Carrier, MODES};

    const A: HardwareAddress = station_of(InterfaceId(0));
    const B: HardwareAddress = station_of(InterfaceId(1));

    fn emitted(frame: &Frame<'_>) -> Vec<u8> {
        let mut bytes = Vec::new();
        frame.emit(&mut bytes).expect("it has an encoding");
        bytes
    }

    const RTS: Frame<'_> = Frame {
        kind: FrameKind::Rts,
        duration: Span::from_nanos(1_000_001),
        transmitter: A,
        receiver: B,
        damaged: false,
    };

    #[test]
    fn control_frames_have_the_sizes_of_the_dcf() {
        let bytes = emitted(&RTS);
        assert_eq!(bytes.len(), 20);
        let (header, _) = Header::parse(&bytes).expect("sound");
        assert_eq!(header, Header::Rts { duration: 1001, receiver: B, transmitter: A });
        for kind in [FrameKind::Cts, FrameKind::Ack] {
            assert_eq!(emitted(&Frame { kind, ..RTS }).len(), 14);
        }
    }

    #[test]
    fn a_data_frame_adds_36_bytes() {
        let packet = [7; 50];
        let bssid = Frame::network(2);
        let kind = FrameKind::Data {
            protocol: EtherType::IPV4,
            packet: &packet,
            sequence: 5000,
            retry: true,
            bssid,
            tid: None,
        };
        let bytes = emitted(&Frame { kind, duration: Span::from_secs(1), ..RTS });
        assert_eq!(bytes.len(), 36 + packet.len());
        let (Header::Data(data), body) = Header::parse(&bytes).expect("sound") else { panic!("it carries data") };
        assert_eq!((data.duration, data.sequence, data.retry), (0x7fff, 904, true));
        let addresses = Addresses::AdHoc { destination: B, source: A, bssid };
        assert_eq!(data.addresses, addresses);
        assert_eq!(EtherType::parse(body), Ok((EtherType::IPV4, &packet[..])));
    }

    #[test]
    fn a_damaged_frame_fails_its_check() {
        let sound = emitted(&RTS);
        let damaged = emitted(&Frame { damaged: true, ..RTS });
        assert_eq!(damaged.len(), sound.len());
        assert!(Header::parse(&sound).is_ok());
        assert!(matches!(Header::parse(&damaged), Err(WireError::Checksum { .. })));
    }

    #[test]
    fn a_radio_knows_rate_frequency_and_power() {
        let header = |row: usize, frequency, dbm: Option<f64>| {
            let (mode, frequency) = (&MODES[row], Some(Frequency::new(frequency)));
            radiotap(mode, mode.preamble, frequency, dbm.map(Power::from_dbm), false, None)
        };
        // 5.5 Mb/s with the short preamble.
        let at_2_ghz = header(4, 2412e6, Some(-81.6));
        assert_eq!((at_2_ghz.rate, at_2_ghz.short_preamble, at_2_ghz.signal), (Some(11), true, Some(-82)));
        let flags = Channel::CCK | Channel::BAND_2GHZ;
        assert_eq!(at_2_ghz.channel, Some(Channel { frequency: 2412, flags }));
        let wavelan = header(1, 914e6, None);
        assert!(!wavelan.short_preamble);
        assert_eq!((wavelan.channel, wavelan.signal), (Some(Channel { frequency: 914, flags: Channel::CCK }), None));
        // A station next to the transmitter, and one that receives nothing.
        assert_eq!([200.0, -500.0].map(|dbm| header(0, 914e6, Some(dbm)).signal), [Some(127), Some(-128)]);
        let without = radiotap(&MODES[0], Span::ZERO, None, None, true, None);
        assert_eq!((without.bad_check_sequence, without.channel), (true, None));
    }

    #[test]
    fn a_channel_lies_in_the_band_of_its_frames() {
        for (band, given, expected) in [
            (Band::High, 2412e6, (5180, Channel::OFDM | Channel::BAND_5GHZ)),
            (Band::High, 5240e6, (5240, Channel::OFDM | Channel::BAND_5GHZ)),
            (Band::Low, 5180e6, (2412, Channel::OFDM | Channel::BAND_2GHZ)),
            (Band::Low, 2437e6, (2437, Channel::OFDM | Channel::BAND_2GHZ)),
        ] {
            let carrier = Carrier { band, bandwidth: Frequency::new(20e6), guard: Guard::Long };
            let mode = Mode::on(carrier).find(|mode| mode.format == Format::Ofdm).expect("a row");
            let header = radiotap(mode, mode.preamble, Some(Frequency::new(given)), None, false, None);
            assert_eq!(header.channel.map(|it| (it.frequency, it.flags)), Some(expected), "{given} in {band:?}");
        }
    }

    #[test]
    fn a_radio_knows_the_index_of_ht_and_vht() {
        let header = |name: &str, megahertz: f64, guard| {
            let carrier = Carrier { band: Band::High, bandwidth: Frequency::new(megahertz * 1e6), guard };
            let mode = Mode::on(carrier).find(|mode| mode.name().to_string() == name).expect("a row");
            let found = radiotap(mode, mode.preamble, Some(Frequency::new(5180e6)), None, false, None);
            (found.rate, found.index, found.channel.map(|channel| channel.flags))
        };
        let flags = Some(Channel::OFDM | Channel::BAND_5GHZ);
        assert_eq!(header("54 Mbps", 20.0, Guard::Long), (Some(108), None, flags));
        let half = Some(Channel::OFDM | Channel::BAND_5GHZ | Channel::HALF_CLOCK);
        assert_eq!(header("4.5 Mbps", 10.0, Guard::Long), (Some(9), None, half));
        let index = Index { mcs: 15, streams: None, megahertz: 40, short_guard: true };
        assert_eq!(header("mcs15", 40.0, Guard::Short), (None, Some(index), flags));
        let index = Index { mcs: 9, streams: Some(2), megahertz: 80, short_guard: false };
        assert_eq!(header("vht-mcs9-2ss", 80.0, Guard::Long), (None, Some(index), flags));
    }
}
