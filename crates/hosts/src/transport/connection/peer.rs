//! A sender's knowledge of the other end, and the headers that it sends there.

use hopyard_engine::{Span, Time};

use super::core::Core;
use super::header::milliseconds;
use super::scoreboard::Segment;
use crate::packet::{TcpFlags, TcpHeader};

/// How far the opening has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    /// The application has written nothing yet.
    Closed,
    /// The opening segment is not answered.
    Opening,
    Open,
}

/// The other end, as the sender knows it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Peer {
    /// Its latest timestamp.
    pub timestamp: u32,
    /// Its next sequence number.
    pub next: u64,
    /// It has closed its half.
    pub closed: bool,
    /// It has closed before this end did.
    pub closed_first: bool,
    /// One of its segments is to be acknowledged.
    pub answer: bool,
    /// It opened the connection.
    pub opened: bool,
}

impl Peer {
    /// A segment with FIN arrived.
    pub fn on_fin(&mut self, header: &TcpHeader) {
        if header.seq == self.next {
            self.next += 1;
            self.closed = true;
        }
        self.answer = true;
    }

    /// The header of a segment that is sent now.
    pub fn header(&self, core: &Core, segment: &Segment, retransmission: bool) -> TcpHeader {
        TcpHeader {
            len: segment.len,
            flags: TcpFlags { syn: segment.syn, ack: !segment.syn, fin: segment.fin, ..TcpFlags::default() },
            retransmission: retransmission && !segment.syn,
            ..self.bare(core, segment.seq)
        }
    }

    /// A probe of the receiver's window. The receiver must answer a segment without payload and with a number before
    /// the window (RFC 9293 §3.10.7.4).
    pub fn probe(&self, core: &mut Core) -> TcpHeader {
        core.counters.window_probes += 1;
        self.bare(core, core.una().saturating_sub(1))
    }

    /// A segment without payload, with this sequence number.
    pub fn bare(&self, core: &Core, seq: u64) -> TcpHeader {
        TcpHeader {
            seq,
            ack: self.next,
            window: core.params.window_bytes(),
            timestamps: core.params.timestamps.then(|| (milliseconds(core.now), self.timestamp)),
            flags: TcpFlags { ack: true, ..TcpFlags::default() },
            ..TcpHeader::default()
        }
    }
}

/// The timer that probes a receiver's window in which nothing fits (RFC 9293 §3.8.6.1).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Persist {
    /// When the window is probed next, and how long the probe after that waits.
    pub at: Time,
    wait: Option<Span>,
    /// A probe is to be sent.
    pub due: bool,
}

impl Persist {
    pub const fn new() -> Self {
        Self { at: Time::NEVER, wait: None, due: false }
    }

    /// The window has changed.
    pub const fn stop(&mut self) {
        self.at = Time::NEVER;
        self.wait = None;
    }

    /// The deadline may have been reached.
    pub fn on_timer(&mut self, core: &Core) {
        if core.now >= self.at {
            self.at = Time::NEVER;
            self.due = core.new_payload() > 0 && !core.fits_advertised(0);
        }
    }

    /// With nothing outstanding and no room for a segment in the window, only a timer can continue the transfer.
    /// Returns whether that is the retransmission timer, because the receiver's window has room.
    pub fn guard(&mut self, core: &Core) -> bool {
        if !core.board.is_empty() || core.rto != Time::NEVER || core.new_payload() == 0 {
            return false;
        }
        if core.fits_advertised(0) {
            return true;
        }
        if self.at == Time::NEVER {
            // After a retransmission timeout, then with exponential back-off.
            let wait = self.wait.unwrap_or(core.rtt.timeout());
            self.wait = Some((wait * 2).min(core.params.max_rto));
            self.at = core.now + wait;
        }
        false
    }
}
