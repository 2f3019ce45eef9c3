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
    /// The packet that the frame carries.
    pub packet: Option<PacketId>,
    /// Whether the transmitter's MAC keeps the packet. Otherwise the medium owns it from the beginning of the
    /// transmission to its end.
    pub kept: bool,
    /// The fields that only the MAC knows.
    pub control: C,
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
