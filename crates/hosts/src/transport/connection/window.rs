//! Which segments may be sent: the application's data, the receiver's window and the congestion window.

use super::core::Core;
use super::params::{Close, Habits};
use crate::packet::TcpHeader;

impl Core {
    /// The right edge of the receiver's window.
    pub(crate) const fn edge(&self) -> u64 {
        self.edge
    }

    /// The receiver's window in bytes.
    #[inline]
    pub(crate) const fn advertised(&self) -> u64 {
        self.edge.saturating_sub(self.board.una())
    }

    /// Takes in the window that an acknowledgement announces, and returns whether its edge has moved. The window of an
    /// older acknowledgement does not count (RFC 9293 §3.10.7.4, fifth). A receiver should not move its edge back, but
    /// a sender must bear it (RFC 9293 §3.8.6).
    #[inline]
    pub(crate) fn update_window(&mut self, header: &TcpHeader) -> bool {
        if header.ack < self.edge_from {
            return false;
        }
        let window = u64::from(header.window.min(self.params.window_bytes()));
        let before = self.edge;
        self.edge_from = header.ack;
        self.edge = header.ack + window;
        self.largest_window = self.largest_window.max(window);
        self.edge != before
    }

    /// Takes in the window that the answer to the SYN announces (RFC 9293 §3.10.7.3). Until then, the sender had
    /// assumed the whole of its own parameter.
    pub(crate) fn open_window(&mut self, header: &TcpHeader) {
        let window = u64::from(header.window.min(self.params.window_bytes()));
        self.edge_from = header.ack;
        self.edge = header.ack + window;
        self.largest_window = window;
    }

    /// Bytes that the application has written and TCP has not sent.
    #[inline]
    pub(crate) fn unsent(&self) -> u64 {
        self.app_end.saturating_sub(self.board.max())
    }

    /// Whether a segment that is not full waits while data is outstanding, because the application may write more (RFC
    /// 9293 §3.7.4).
    #[inline]
    pub(crate) const fn holds_small(&self) -> bool {
        self.params.nagle && !self.closing && !self.pushes && self.small_end > self.una()
    }

    /// The payload of a new segment, or 0 when there is nothing to send, or not yet.
    #[inline]
    pub(crate) fn new_payload(&self) -> u32 {
        if let Some(end) = self.together_end {
            return (end - self.board.max()).min(u64::from(self.mss)) as u32;
        }
        // At most `mss`, so it fits.
        let payload = self.unsent().min(u64::from(self.mss)) as u32;
        if !self.board.is_empty() {
            return if payload < self.mss && self.holds_small() { 0 } else { payload };
        }
        // RFC 9293 §3.8.6.2.1 (3): with nothing outstanding, a part of a segment is sent if the window
        // has room for it and is at least half of the largest window.
        let advertised = self.advertised();
        if u64::from(payload) > advertised && advertised > 0 && advertised * 2 >= self.largest_window {
            advertised as u32
        } else {
            payload
        }
    }

    /// Whether the next new segment, with this payload, carries the FIN.
    #[inline]
    pub(crate) fn ends_with(&self, payload: u32) -> bool {
        self.closing
            && self.params.close == Close::Fin
            && !self.fin_sent
            && self.unsent() == u64::from(payload)
            && self.app_end > 0
    }

    /// The end of the payload of the segment at `index`, or of a new one there; nothing when there is no such segment.
    /// A FIN needs no room in a window: it costs the receiver no buffer.
    #[inline]
    fn end_of(&self, index: usize) -> Option<u64> {
        if let Some(segment) = self.board.get(index) {
            return Some(segment.end() - u64::from(segment.fin));
        }
        let payload = self.new_payload();
        (payload > 0 || self.ends_with(0)).then(|| self.board.max() + u64::from(payload))
    }

    /// The room in the receiver's window for the segment at `index`. Data that was sent before the window shrank may be
    /// sent again (RFC 9293 §3.8.6), new data not.
    #[inline]
    fn room(&self, index: usize) -> u64 {
        let advertised = self.advertised();
        if index < self.board.len() { advertised.max(self.board.flight()) } else { advertised }
    }

    /// Whether a segment may be outstanding under the receiver's window alone.
    pub(crate) fn fits_advertised(&self, index: usize) -> bool {
        self.end_of(index).is_some_and(|end| end.saturating_sub(self.una()) <= self.room(index))
    }

    /// Whether a segment may be outstanding with this many segments of window.
    pub(crate) fn fits(&self, index: usize, window: f64) -> bool {
        self.end_of(index).is_some_and(|end| end.saturating_sub(self.una()) <= self.bytes(window).min(self.room(index)))
    }

    /// The next segment in order, if the windows have room for it.
    #[inline]
    pub(crate) fn next_in_window(&self) -> Option<usize> {
        let index = self.board.next();
        self.fits(index, self.cwnd + self.inflation).then_some(index)
    }

    /// New data, if limited transmit allows it (RFC 3042). In ns-2 also data that is retransmitted after a timeout.
    pub(crate) fn next_limited(&self) -> Option<usize> {
        let index = self.board.next();
        if index < self.board.len() && self.params.habits != Habits::Ns2 {
            return None;
        }
        self.fits(index, self.cwnd + f64::from(self.duplicates)).then_some(index)
    }

    /// Records that limited transmit sent a segment.
    pub(crate) const fn count_limited(&mut self) {
        self.limited_sent += 1;
    }

    /// Retransmits the first unacknowledged segment, even if the window has no room.
    pub(crate) const fn retransmit_first(&mut self) {
        self.forced = Some(self.board.una());
    }

    /// Sends no segments in normal order on this event.
    pub(crate) const fn hold(&mut self) {
        self.burst = 0;
    }

    /// Sends at most this many segments on this event; 0 means no limit.
    pub(crate) fn limit_burst(&mut self, segments: u32) {
        if segments > 0 {
            self.burst = self.burst.min(segments);
        }
    }

    /// Sends one segment beyond the window on this event, if the parameters allow it.
    pub(crate) const fn limited_transmit(&mut self) {
        self.limited = self.params.limited_transmit;
    }
}
