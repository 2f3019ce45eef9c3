//! The receive buffer, the window that the receiver announces, and the application that reads from the buffer.
//!
//! Without a reading rate the application reads data at once, and the receiver always announces the whole buffer. With
//! a reading rate, unread data takes room: the window shrinks when data arrives and grows when the application reads
//! it. The announced right edge never moves back, and moves on by a full segment or half the buffer at least, so that
//! no silly window arises (RFC 9293 §3.8.6.2.2). The reader is a steady stream: it takes bytes at its rate while there
//! are any.

use hopyard_engine::{Span, Time};

use super::params::{Params, Reader};

/// A receive buffer. Sequence numbers throughout.
#[derive(Clone, Debug)]
pub(crate) struct Buffer {
    pub size: u64,
    segment: u64,
    /// Bytes the application reads in a nanosecond; 0 when it reads at once.
    rate: f64,
    /// Bytes in order that were not read at the time `at`.
    unread: f64,
    at: Time,
    /// The right edge that was announced last, and the window that it came with.
    pub edge: u64,
    pub announced: u64,
    /// When the window is to be announced though nothing arrives.
    update: Time,
}

impl Buffer {
    pub fn new(params: &Params) -> Self {
        let size = u64::from(params.window_bytes());
        Self {
            size,
            segment: u64::from(params.mss()),
            rate: match params.reader {
                Reader::AtOnce => 0.0,
                Reader::Steady(rate) => rate.bps() as f64 / 8e9,
            },
            unread: 0.0,
            at: Time::ZERO,
            edge: size,
            announced: size,
            update: Time::NEVER,
        }
    }

    pub const fn reads_at_once(&self) -> bool {
        self.rate == 0.0
    }

    /// The application reads what it can.
    pub fn read(&mut self, now: Time) {
        self.unread = (self.unread - now.since(self.at).nanos() as f64 * self.rate).max(0.0);
        self.at = now;
    }

    /// `bytes` more are in order.
    pub fn fill(&mut self, bytes: u64, now: Time) {
        if !self.reads_at_once() {
            self.read(now);
            self.unread += bytes as f64;
        }
    }

    /// Bytes in order that the application has not read. A byte is free when it has been read completely. The rounding
    /// error of the sum of fractions is less than a byte.
    pub fn unread(&self) -> u64 {
        libm::ceil(self.unread - 1e-6).max(0.0) as u64
    }

    /// The first sequence number that does not fit, when `next` is expected.
    pub const fn limit(&self, next: u64) -> u64 {
        if self.reads_at_once() { next + self.size } else { self.edge }
    }

    /// By how much the edge must be able to move before it does.
    fn step(&self) -> u64 {
        (self.size / 2).min(self.segment)
    }

    /// The window to announce with `next` expected.
    pub fn announce(&mut self, next: u64, now: Time) -> u32 {
        if self.reads_at_once() {
            self.announced = self.size;
            return self.size as u32;
        }
        self.read(now);
        let waiting = self.unread();
        let free = next + self.size.saturating_sub(waiting);
        let moves = free >= self.edge + self.step() || waiting == 0;
        let edge = if moves { self.edge.max(free) } else { self.edge };
        let enough = (next + self.size).saturating_sub(edge.max(next) + self.step());
        self.settle(edge, next, Some(enough), now)
    }

    /// Moves the edge, and returns the window to announce with `next` expected. There is room for more when no more
    /// than `enough` bytes are unread, if ever.
    pub fn settle(&mut self, edge: u64, next: u64, enough: Option<u64>, now: Time) -> u32 {
        // A FIN takes a sequence number but no room, so it may arrive when the window is closed.
        self.edge = edge.max(next);
        self.update = Time::NEVER;
        self.announced = self.edge - next;
        if let Some(enough) = enough
            && self.announced < self.segment.min(self.size)
            && self.unread > 0.0
        {
            // The sender may wait for room: tell it when there is enough.
            let wait = (self.unread - enough as f64).max(0.0) / self.rate;
            self.update = now + Span::from_nanos(libm::ceil(wait) as u64).max(Span::from_micros(1));
        }
        self.announced as u32
    }

    /// When the window must be announced though nothing arrives.
    pub const fn deadline(&self) -> Time {
        self.update
    }
}

#[cfg(test)]
mod tests {
    use hopyard_engine::units::{Bytes, Rate};

    use super::*;
    use crate::params::{Params as _, RFC};

    const STEADY: Reader = Reader::Steady(Rate::from_bps(8000));

    fn buffer(reader: Reader) -> Buffer {
        let rfc = Params::of_profile(RFC);
        Buffer::new(&Params { segment_size: Bytes::new(1000), window: 4, reader, ..rfc })
    }

    #[test]
    fn an_application_that_reads_at_once_leaves_the_window_open() {
        let mut buffer = buffer(Reader::AtOnce);
        buffer.fill(4000, Time::ZERO);
        assert_eq!((buffer.announce(4000, Time::ZERO), buffer.limit(4000)), (4000, 8000));
        assert_eq!(buffer.deadline(), Time::NEVER);
    }

    #[test]
    fn the_window_shrinks_and_opens_by_whole_segments() {
        // A thousand bytes a second.
        let mut buffer = buffer(STEADY);
        buffer.fill(4000, Time::ZERO);
        assert_eq!(buffer.announce(4000, Time::ZERO), 0);
        assert_eq!(buffer.deadline(), Time::ZERO + Span::from_secs(1), "when a segment fits");
        let early = Time::ZERO + Span::from_millis(900);
        assert_eq!(buffer.announce(4000, early), 0, "900 bytes would be a silly window");
        let now = buffer.deadline();
        assert_eq!(now, Time::ZERO + Span::from_secs(1));
        assert_eq!(buffer.announce(4000, now), 1000);
        assert_eq!((buffer.limit(4000), buffer.deadline()), (5000, Time::NEVER));
    }

    #[test]
    fn a_fin_may_come_to_a_closed_window() {
        let mut buffer = buffer(STEADY);
        buffer.fill(4000, Time::ZERO);
        assert_eq!(buffer.announce(4000, Time::ZERO), 0);
        assert_eq!(buffer.announce(4001, Time::ZERO), 0);
        assert_eq!(buffer.limit(4001), 4001);
    }

    #[test]
    fn the_edge_never_moves_back() {
        let mut buffer = buffer(STEADY);
        assert_eq!(buffer.announce(0, Time::ZERO), 4000);
        buffer.fill(1000, Time::ZERO);
        assert_eq!(buffer.announce(1000, Time::ZERO), 3000);
        assert_eq!(buffer.limit(1000), 4000);
    }
}
