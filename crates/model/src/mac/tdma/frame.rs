//! The fields of frames for slotted access.

use crate::mac;
use crate::phy::frame::{Fields, Header};

/// The kinds of frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Kind {
    /// A frame with a packet.
    #[default]
    Data,
    /// An acknowledgement.
    Ack,
    /// A message on the ideal channel beside this one.
    OutOfBand,
}

/// The fields of a frame that only this MAC knows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Control {
    /// The kind of the frame.
    pub kind: Kind,
    /// The transmitter's sequence number of a packet for a slot, and of its acknowledgement.
    pub sequence: u16,
    /// Whether the packet was sent before.
    pub retry: bool,
    /// Whether the receiver acknowledges the frame.
    pub answer: bool,
}

impl Control {
    /// A frame with a packet that nobody acknowledges.
    pub const DATA: Self = Self { kind: Kind::Data, sequence: 0, retry: false, answer: false };
}

impl Fields for Control {}

impl mac::Control for Control {
    fn kind(&self) -> u8 {
        self.kind as u8
    }

    fn header(&self) -> Header {
        match self.kind {
            Kind::Ack => Header::Ack,
            Kind::Data | Kind::OutOfBand => Header::Data { sequence: self.sequence, retry: self.retry },
        }
    }

    fn is_out_of_band(&self) -> bool {
        self.kind == Kind::OutOfBand
    }
}
