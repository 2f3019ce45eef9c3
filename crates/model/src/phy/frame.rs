//! Frames, as the medium carries them.

use hopyard_engine::Span;

use super::mode::Mode;
use crate::address::InterfaceId;
use crate::packet::PacketId;

/// The header of a frame, as its MAC fills it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Header {
    /// Request to send (IEEE 802.11).
    Rts,
    /// Clear to send (IEEE 802.11).
    Cts,
    /// Acknowledgement (IEEE 802.11).
    Ack,
    /// A frame with a packet.
    Data {
        /// The transmitter's sequence number.
        sequence: u16,
        /// Whether the frame was sent before.
        retry: bool,
    },
    /// An MPDU of a frame with QoS (IEEE 802.11).
    QosData {
        /// The transmitter's sequence number.
        sequence: u16,
        /// Whether the MPDU was sent before.
        retry: bool,
        /// The traffic identifier.
        tid: u8,
        /// Of several MPDUs in a frame, whether it is the last one.
        aggregate: Option<bool>,
    },
    /// Compressed block acknowledgement (IEEE 802.11).
    BlockAck {
        /// The traffic identifier.
        tid: u8,
        /// The first number; the lowest bit stands for it.
        start: u16,
        /// A bit for each number that was received.
        received: u64,
    },
    /// Request for a block acknowledgement (IEEE 802.11).
    BlockAckRequest {
        /// The traffic identifier.
        tid: u8,
        /// The first number that may still come.
        start: u16,
    },
    /// A frame by which two stations agree on block acknowledgement (IEEE 802.11).
    Addba {
        /// The traffic identifier.
        tid: u8,
        /// The first number in a request; nothing in a response.
        start: Option<u16>,
        /// The transmitter's sequence number.
        sequence: u16,
    },
}

/// One of the packets of a frame that carries several.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// The packet.
    pub packet: PacketId,
    /// Bytes of the frame up to the end of the piece that the packet is in. A piece has its own check sequence, and
    /// thus its own fate; the packets of one piece have the same value.
    pub end: u32,
    /// The transmitter's sequence number of the piece.
    pub sequence: u16,
    /// Whether the piece was sent before.
    pub retry: bool,
}

/// The fields of a frame that only its MAC knows, as far as the medium asks for them.
pub trait Fields: Clone {
    /// The packets of a frame that carries several, in order, in at most 64 pieces. Such a frame has its first packet
    /// in [`Frame::packet`] too.
    #[inline(always)]
    fn parts(&self) -> &[Part] {
        &[]
    }
}

impl Fields for () {}

/// The number of the piece that each part is in.
pub fn pieces(parts: &[Part]) -> impl Iterator<Item = (u32, &Part)> {
    let mut piece = 0;
    parts.iter().enumerate().map(move |(place, part)| {
        piece += u32::from(place > 0 && parts[place - 1].end != part.end);
        (piece, part)
    })
}

/// A frame on the air. `C` holds the fields that only its MAC knows.
#[derive(Clone, Copy, Debug)]
pub struct Frame<C> {
    /// The interface that sends it.
    pub transmitter: InterfaceId,
    /// The interface that it is for, or [`InterfaceId::BROADCAST`].
    pub receiver: InterfaceId,
    /// The duration of the transmission, including the preamble.
    pub airtime: Span,
    /// Bytes from the MAC header to the frame check sequence.
    pub bytes: u32,
    /// The part of the airtime before the body: preamble and header of the physical layer.
    pub preamble: Span,
    /// How its bits are sent.
    pub mode: &'static Mode,
    /// The packet that the frame carries, the first one of several.
    pub packet: Option<PacketId>,
    /// Whether the transmitter's MAC keeps the packet. Otherwise the medium owns it from the beginning of the
    /// transmission to its end.
    pub kept: bool,
    /// The fields that only the MAC knows.
    pub control: C,
}

impl<C: Fields> Frame<C> {
    /// A frame without a packet from one interface to another, of a mode, a size and the time that these take.
    #[inline(always)]
    #[must_use]
    pub const fn plain(
        (transmitter, receiver): (InterfaceId, InterfaceId),
        (mode, bytes, airtime): (&'static Mode, u32, Span),
        control: C,
    ) -> Self {
        Self { transmitter, receiver, airtime, bytes, preamble: mode.preamble, mode, packet: None, kept: true, control }
    }

    /// Every packet that the frame carries.
    pub fn packets(&self) -> impl Iterator<Item = PacketId> {
        self.sound_packets(0)
    }

    /// Every packet in a piece that is not damaged; the lowest bit is the first piece.
    pub fn sound_packets(&self, damaged: u64) -> impl Iterator<Item = PacketId> {
        let parts = self.control.parts();
        let sound = pieces(parts).filter(move |(piece, _)| damaged >> piece & 1 == 0);
        self.packet.filter(|_| parts.is_empty()).into_iter().chain(sound.map(|(_, part)| part.packet))
    }
}

/// The fate of a frame at the receiver that it was for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It was decoded.
    Heard,
    /// The receiver was sending, or received another signal at the same time.
    Collision,
    /// The receiver was too far away, or the signal was too weak there for another reason.
    OutOfReach,
    /// Nothing disturbed it, and noise changed bits of it or hid its preamble.
    BitErrors,
    /// The receiver slept, or the transmitter did, which then did not send the frame.
    Asleep,
}
