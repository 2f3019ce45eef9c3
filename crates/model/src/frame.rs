//! Frames, as the medium carries them.

use hopyard_engine::Span;

use crate::packet::{NodeId, PacketId};

/// The kinds of frame of the distributed coordination function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FrameKind {
    /// Request to send.
    Rts,
    /// Clear to send.
    Cts,
    /// A frame that carries a packet.
    Data,
    /// Acknowledgement of a data frame.
    Ack,
}

/// A frame on the air.
#[derive(Clone, Copy, Debug)]
pub struct Frame {
    /// What kind of frame it is.
    pub kind: FrameKind,
    /// The station that sends it.
    pub transmitter: NodeId,
    /// The station that it is for, or [`NodeId::BROADCAST`].
    pub receiver: NodeId,
    /// The duration field: how long the exchange continues after this frame (IEEE 802.11 §9.2.5.4).
    pub duration: Span,
    /// The duration of the transmission, including the preamble.
    pub airtime: Span,
    /// Bytes from the MAC header to the frame check sequence.
    pub bytes: u32,
    /// Bits a second of the body, for the error model.
    pub rate: u32,
    /// The transmitter's sequence number of a data frame.
    pub sequence: u16,
    /// Whether the frame was sent before.
    pub retry: bool,
    /// The packet of a data frame. The transmitter's MAC owns it, or the medium when the frame is a broadcast.
    pub packet: Option<PacketId>,
}
