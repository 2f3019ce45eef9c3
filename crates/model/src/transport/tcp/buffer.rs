//! The receive buffer, the window that the receiver announces, and the application that reads from the buffer.
//!
//! Without a reading rate the application reads data at once, and the receiver always announces the whole buffer. With
//! a reading rate, unread data takes room: the window shrinks when data arrives and grows when the application reads
//! it. The announced right edge never moves back, and moves on by a full segment or half the buffer at least, so that
//! no silly window arises (RFC 9293 §3.8.6.2.2). The reader is a steady stream: it takes bytes at its rate while there
//! are any. A buffer that grows announces less than its room at first ([`Growth`]). There an application that reads at
//! once reads when the segment has been processed, and acknowledged if it is acknowledged at once.

use hopyard_engine::{Span, Time};

use super::trip::Trip;
use crate::transport::connection::{Habits, Params, Reader};
use crate::transport::linux::{Growth, ReceiveWindow};

/// A segment with new data.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Data {
    /// Its payload in bytes.
    pub len: u32,
    /// It lies beyond a gap.
    pub ahead: bool,
    /// SACK reports what lies beyond a gap.
    pub sack: bool,
    /// The memory that lies beyond gaps, without the memory of this segment.
    pub held: u64,
    /// If it lies beyond a gap: so many bytes lie before it in the same block.
    pub follows: u64,
}

/// The window if it were announced now.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Room {
    /// It is not smaller than the one that was announced last.
    pub lasts: bool,
    /// Less than half of the buffer is free.
    pub cramped: bool,
}

/// A receive buffer. Sequence numbers throughout.
#[derive(Clone, Debug)]
pub(crate) struct Buffer {
    size: u64,
    segment: u64,
    /// Bytes the application reads in a nanosecond; 0 when it reads at once.
    rate: f64,
    /// In order and not read, as of `at`.
    unread: f64,
    at: Time,
    /// The right edge that was announced last, and the window that it came with.
    edge: u64,
    announced: u64,
    /// When the window is to be announced though nothing arrives.
    update: Time,
    /// The growth of the window, if it is not fixed; and the bytes in order that are read when the event is over.
    growth: Option<Box<Growth>>,
    arrived: u64,
}

impl Buffer {
    pub fn new(params: &Params) -> Self {
        let growth = (params.habits == Habits::Linux && params.linux.receive_window == ReceiveWindow::Growing)
            .then(|| Box::new(Growth::new(params)));
        let size = growth.as_ref().map_or_else(|| u64::from(params.window_bytes()), |growth| growth.room());
        let edge = growth.as_ref().map_or(size, |growth| growth.first());
        Self {
            size,
            segment: u64::from(params.mss()),
            rate: match params.reader {
                Reader::AtOnce => 0.0,
                Reader::Steady => params.read_rate.bps() as f64 / 8e9,
            },
            unread: 0.0,
            at: Time::ZERO,
            edge,
            announced: edge,
            update: Time::NEVER,
            growth,
            arrived: 0,
        }
    }

    fn reads_at_once(&self) -> bool {
        self.rate == 0.0
    }

    fn read(&mut self, now: Time) {
        self.unread = (self.unread - now.since(self.at).nanos() as f64 * self.rate).max(0.0);
        self.at = now;
    }

    /// The connection is open.
    pub fn open(&mut self, now: Time) {
        if let Some(growth) = &mut self.growth {
            growth.open(now);
        }
    }

    /// `bytes` more are in order.
    pub fn fill(&mut self, bytes: u64, now: Time) {
        if !self.reads_at_once() {
            self.read(now);
            self.unread += bytes as f64;
        } else if self.growth.is_some() {
            self.arrived += bytes;
        }
    }

    /// A segment with new data arrived. Without SACK, data beyond a gap does not let the limit of the window grow: all
    /// duplicate acknowledgements have the same window. Returns whether the limit has grown.
    pub fn on_segment(&mut self, data: &Data) -> bool {
        let waiting = self.taken_in_order();
        let Some(growth) = &mut self.growth else { return false };
        // What begins a piece beyond a gap is counted later.
        let own = if !data.ahead {
            growth.taken(data.len.into())
        } else if growth.fills_piece(data.follows) {
            0
        } else {
            growth.taken(data.follows + u64::from(data.len)) - growth.taken(data.follows)
        };
        (!data.ahead || data.sack) && growth.grow(data.len, waiting + data.held + own)
    }

    /// The memory that so many bytes in a row take. Where no memory is counted, it is nothing.
    pub fn taken(&self, bytes: u64) -> u64 {
        self.growth.as_ref().map_or(0, |growth| growth.taken(bytes))
    }

    /// The memory of data that is in order and was not read.
    fn taken_in_order(&self) -> u64 {
        let unread = self.taken(self.unread_bytes());
        unread + self.growth.as_ref().map_or(0, |growth| growth.taken_with_gap(self.arrived))
    }

    /// The application reads what it can, of the data before `next`.
    pub fn on_read(&mut self, next: u64, trip: &Trip, now: Time) {
        if !self.reads_at_once() {
            self.read(now);
        }
        let waiting = self.unread_bytes();
        let Some(growth) = &mut self.growth else { return };
        let arrived = std::mem::take(&mut self.arrived);
        growth.on_read(next - waiting.min(next), arrived, trip.micros(), now);
        self.size = growth.room();
    }

    /// Bytes in order that the application has not read. A byte is free when it has been read completely. The rounding
    /// error of the sum of fractions is less than a byte.
    fn unread_bytes(&self) -> u64 {
        libm::ceil(self.unread - 1e-6).max(0.0) as u64
    }

    /// The number includes the bytes that the reader will read at once.
    pub fn waiting(&self) -> u64 {
        self.unread_bytes() + self.arrived
    }

    /// The window that was announced last.
    pub const fn announced(&self) -> u64 {
        self.announced
    }

    /// The window if it were announced now, with `held` bytes of memory beyond gaps.
    pub fn room(&self, held: u64) -> Room {
        let Some(growth) = &self.growth else { return Room { lasts: true, cramped: false } };
        let window = growth.window(self.taken_in_order() + held);
        Room { lasts: window.bytes >= self.announced, cramped: window.cramped }
    }

    /// Whether reading has made so much room that the sender must know of it: the window at least doubles, from less
    /// than half of the largest one.
    pub fn opens(&self, next: u64, held: u64) -> bool {
        let Some(growth) = &self.growth else { return false };
        let left = self.edge.saturating_sub(next);
        let window = growth.window(self.taken_in_order() + held).bytes;
        2 * left <= growth.clamp() && window > 0 && window >= 2 * left
    }

    /// The first sequence number that does not fit, when `next` is expected.
    pub fn limit(&self, next: u64) -> u64 {
        if self.reads_at_once() && self.growth.is_none() { next + self.size } else { self.edge }
    }

    /// By how much the edge must be able to move before it does.
    fn step(&self) -> u64 {
        (self.size / 2).min(self.segment)
    }

    /// The window to announce with `next` expected and `held` bytes of memory beyond gaps.
    pub fn announce(&mut self, next: u64, held: u64, now: Time) -> u32 {
        if self.reads_at_once() && self.growth.is_none() {
            self.announced = self.size;
            return self.size as u32;
        }
        self.read(now);
        let waiting = self.waiting();
        if let Some(growth) = &self.growth {
            // What was announced is not taken back.
            let left = self.edge.saturating_sub(next);
            let window = growth.window(self.taken_in_order() + held).bytes;
            self.edge = next + if window < left { growth.whole(left) } else { window };
        } else {
            let free = next + self.size.saturating_sub(waiting);
            if free >= self.edge + self.step() || waiting == 0 {
                self.edge = self.edge.max(free);
            }
        }
        // A FIN takes a sequence number but no room, so it may arrive when the window is closed.
        self.edge = self.edge.max(next);
        self.update = Time::NEVER;
        self.announced = self.edge - next;
        if self.announced < self.segment.min(self.size) && self.unread > 0.0 {
            // The sender may wait for room: tell it when there is enough.
            let enough = (next + self.size).saturating_sub(self.edge + self.step()) as f64;
            let wait = (self.unread - enough).max(0.0) / self.rate;
            self.update = now + Span::from_nanos(libm::ceil(wait) as u64).max(Span::from_micros(1));
        }
        self.announced as u32
    }

    /// The window to announce in a SYN, after which `next` is expected.
    pub fn announce_first(&mut self, next: u64, now: Time) -> u32 {
        let Some(growth) = &self.growth else { return self.announce(next, 0, now) };
        self.announced = growth.first();
        self.edge = next + self.announced;
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

    fn buffer(reader: Reader) -> Buffer {
        let read_rate = Rate::from_bps(8000);
        let rfc = Params::of_profile(RFC);
        Buffer::new(&Params { segment_size: Bytes::new(1000), window: 4, reader, read_rate, ..rfc })
    }

    #[test]
    fn an_application_that_reads_at_once_leaves_the_window_open() {
        let mut buffer = buffer(Reader::AtOnce);
        buffer.fill(4000, Time::ZERO);
        assert_eq!((buffer.announce(4000, 0, Time::ZERO), buffer.limit(4000)), (4000, 8000));
        assert_eq!(buffer.deadline(), Time::NEVER);
    }

    #[test]
    fn the_window_shrinks_and_opens_by_whole_segments() {
        // A thousand bytes a second.
        let mut buffer = buffer(Reader::Steady);
        buffer.fill(4000, Time::ZERO);
        assert_eq!(buffer.announce(4000, 0, Time::ZERO), 0);
        assert_eq!(buffer.deadline(), Time::ZERO + Span::from_secs(1), "when a segment fits");
        let early = Time::ZERO + Span::from_millis(900);
        assert_eq!(buffer.announce(4000, 0, early), 0, "900 bytes would be a silly window");
        let now = buffer.deadline();
        assert_eq!(now, Time::ZERO + Span::from_secs(1));
        assert_eq!(buffer.announce(4000, 0, now), 1000);
        assert_eq!((buffer.limit(4000), buffer.deadline()), (5000, Time::NEVER));
    }

    #[test]
    fn a_fin_may_come_to_a_closed_window() {
        let mut buffer = buffer(Reader::Steady);
        buffer.fill(4000, Time::ZERO);
        assert_eq!(buffer.announce(4000, 0, Time::ZERO), 0);
        assert_eq!(buffer.announce(4001, 0, Time::ZERO), 0);
        assert_eq!(buffer.limit(4001), 4001);
    }

    #[test]
    fn the_edge_never_moves_back() {
        let mut buffer = buffer(Reader::Steady);
        assert_eq!(buffer.announce(0, 0, Time::ZERO), 4000);
        buffer.fill(1000, Time::ZERO);
        assert_eq!(buffer.announce(1000, 0, Time::ZERO), 3000);
        assert_eq!(buffer.limit(1000), 4000);
    }
}
