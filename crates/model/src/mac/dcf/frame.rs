//! The frames of the distributed coordination function.

use hopyard_engine::Span;

use crate::mac;
use crate::phy::frame::{Fields, Header};

/// The kinds of frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FrameKind {
    /// Request to send.
    Rts,
    /// Clear to send.
    Cts,
    /// A frame that carries a packet.
    #[default]
    Data,
    /// Acknowledgement of a data frame.
    Ack,
}

/// The fields of a frame of the DCF beyond the fields of every frame.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Control {
    /// The kind of the frame.
    pub kind: FrameKind,
    /// The duration field: how long the exchange continues after this frame (IEEE 802.11 §9.2.5.4).
    pub duration: Span,
    /// The transmitter's sequence number of a data frame.
    pub sequence: u16,
    /// Whether it is a data frame that was sent before; never so in other frames (IEEE 802.11-1999 §7.1.3.1.6).
    pub retry: bool,
    /// The ratio of signal to noise with which the sender of an ACK has received the frame. No radio has this field; it
    /// is for rate control that is said to know the ratio, and zero without.
    pub ratio: f32,
}

impl Fields for Control {}

impl mac::Control for Control {
    fn kind(&self) -> u8 {
        self.kind as u8
    }

    fn header(&self) -> Header {
        match self.kind {
            FrameKind::Rts => Header::Rts,
            FrameKind::Cts => Header::Cts,
            FrameKind::Ack => Header::Ack,
            FrameKind::Data => Header::Data { sequence: self.sequence, retry: self.retry },
        }
    }

    fn duration(&self) -> Span {
        self.duration
    }
}

/// A frame of the DCF.
pub type Frame = crate::phy::frame::Frame<Control>;
