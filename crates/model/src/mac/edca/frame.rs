//! Frames of EDCA.

use std::sync::Arc;

use hopyard_engine::Span;

use super::category::Category;
use crate::mac;
use crate::phy::frame::{Fields, Header, Part};

/// The kinds of frames, each with the fields that only it has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FrameKind {
    /// Request to send.
    Rts,
    /// Clear to send.
    Cts,
    /// Acknowledgement.
    Ack,
    /// Compressed block acknowledgement: the numbers from `start` on that were received.
    BlockAck {
        /// The traffic identifier of the MPDUs.
        tid: u8,
        /// The first number; the lowest bit stands for it.
        start: u16,
        /// A bit for each of 64 numbers.
        received: u64,
    },
    /// Request for a block acknowledgement, which names the first number that may still come.
    BlockAckRequest {
        /// The first number.
        start: u16,
    },
    /// ADDBA request: block acknowledgement from a number on.
    AddbaRequest {
        /// The first number.
        start: u16,
    },
    /// ADDBA response, which accepts the request.
    AddbaResponse,
    /// A frame with one packet or several.
    #[default]
    Data,
}

/// The fields of a frame that only EDCA knows.
#[derive(Clone, Debug, Default)]
pub struct Control {
    /// The kind of the frame.
    pub kind: FrameKind,
    /// The duration field: how long the exchange continues after this frame (IEEE 802.11 §9.2.5.4).
    pub duration: Span,
    /// The category that it belongs to; nothing in a frame without QoS.
    pub category: Option<Category>,
    /// The transmitter's sequence number of a data frame with one MPDU.
    pub sequence: u16,
    /// Whether it is a frame that was sent before.
    pub retry: bool,
    /// The ratio of signal to noise of the answered frame at its receiver, which an answer tells rate control. No such
    /// field is on the air; it has no length.
    pub ratio: f32,
    /// The packets of a frame with several. Where it has several MPDUs, a block acknowledgement answers.
    pub parts: Option<Arc<[Part]>>,
}

impl Fields for Control {
    fn parts(&self) -> &[Part] {
        self.parts.as_deref().unwrap_or_default()
    }
}

impl Control {
    /// A frame without QoS, of a number that nobody looks at.
    pub(super) const fn plain(kind: FrameKind, duration: Span) -> Self {
        Self { kind, duration, category: None, sequence: 0, retry: false, ratio: 0.0, parts: None }
    }

    /// The MPDUs of a frame with several packets.
    pub fn mpdus(&self) -> impl Iterator<Item = &[Part]> {
        self.parts().chunk_by(|a, b| a.end == b.end)
    }

    /// Whether a data frame has several MPDUs.
    #[must_use]
    pub fn is_aggregate(&self) -> bool {
        self.mpdus().nth(1).is_some()
    }
}

impl mac::Control for Control {
    fn kind(&self) -> u8 {
        match self.kind {
            FrameKind::Rts | FrameKind::BlockAckRequest { .. } => 0,
            FrameKind::Cts => 1,
            FrameKind::Ack | FrameKind::BlockAck { .. } => 2,
            FrameKind::AddbaRequest { .. } | FrameKind::AddbaResponse | FrameKind::Data => 3,
        }
    }

    fn header(&self) -> Header {
        let tid = self.category.map_or(0, Category::tid);
        match self.kind {
            FrameKind::Rts => Header::Rts,
            FrameKind::Cts => Header::Cts,
            FrameKind::Ack => Header::Ack,
            FrameKind::BlockAck { tid, start, received } => Header::BlockAck { tid, start, received },
            FrameKind::BlockAckRequest { start } => Header::BlockAckRequest { tid, start },
            FrameKind::AddbaRequest { start } => Header::Addba { tid, start: Some(start), sequence: self.sequence },
            FrameKind::AddbaResponse => Header::Addba { tid, start: None, sequence: self.sequence },
            FrameKind::Data if self.category.is_none() => Header::Data { sequence: self.sequence, retry: self.retry },
            FrameKind::Data => Header::QosData { sequence: self.sequence, retry: self.retry, tid, aggregate: None },
        }
    }

    fn header_of(&self, part: &Part) -> Header {
        let (tid, Part { sequence, retry, end, .. }) = (self.category.map_or(0, Category::tid), *part);
        let is_last = self.parts().last().is_some_and(|last| last.end == end);
        let aggregate = self.is_aggregate().then_some(is_last);
        Header::QosData { sequence, retry, tid, aggregate }
    }

    fn duration(&self) -> Span {
        self.duration
    }
}

/// A frame of EDCA.
pub type Frame = crate::phy::frame::Frame<Control>;
