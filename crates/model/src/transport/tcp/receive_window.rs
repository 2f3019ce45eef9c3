//! A receive window that grows with what the application reads, as in Linux.
//!
//! Read: M. Fisk and W. Feng, "Dynamic Right-Sizing in TCP", 2001; the documentation of the sysctls `tcp_rmem` and
//! `tcp_moderate_rcvbuf`; captures of Linux receivers. Two values limit the window. The room of the buffer is doubled
//! and more when the application reads more in a round trip than in the one before. The limit of the window follows by
//! twice a segment with each segment that arrives, so that a receiver whose segments do not come announces no more than
//! it has announced. The receiver measures the round trip by the timestamps that are echoed to it, and by the time in
//! which a window of data arrives.
//!
//! Left out: the memory that a segment takes beyond its payload. Linux counts it, half of the buffer on the whole, so
//! that the window holds half of `tcp_rmem`; here payload counts.

#[cfg(test)]
use hopyard_engine::Span;
use hopyard_engine::Time;

use crate::packet::TcpHeader;
use crate::transport::connection::{Connect, Params, milliseconds};

/// Segments smaller than this do not let the window grow.
const SMALL: u32 = 128;
/// What the application reads in a round trip is compared with this many segments at first: a sender's initial window.
const FIRST_READ: u64 = 10;
/// The room of the buffer at first: half of the second value of `tcp_rmem`.
const FIRST_ROOM: u64 = 65_536;
/// A window without a scale (RFC 7323 §2.2).
const UNSCALED: u64 = 65_535;

#[derive(Clone, Debug)]
pub(crate) struct Growth {
    segment: u64,
    /// The largest room.
    most: u64,
    /// The room for data that was not read, in bytes.
    room: u64,
    /// The largest window to be announced.
    limit: u64,
    /// The unit of the window in the header, less one.
    grain: u64,
    /// Eight times the smoothed round trip in microseconds; 0 before the first sample.
    trip: u64,
    /// The echo that gave the last sample.
    echo: u32,
    /// When this arrives, a window of data has arrived since then.
    window_ends: Option<(u64, Time)>,
    /// What the application reads is counted from here, since then; and what it had read in the round trip before.
    read_from: (u64, Time),
    read_before: u64,
}

impl Growth {
    pub fn new(params: &Params) -> Self {
        let segment = u64::from(params.mss());
        let most = u64::from(params.window_bytes());
        let room = FIRST_ROOM.min(most);
        let first = (room.min(UNSCALED) / segment * segment).max(segment.min(room));
        let scales = params.connect == Connect::ThreeWay;
        // The scale is chosen for the memory, which is twice the window.
        let shift = (0..14).find(|shift| (2 * most) >> shift <= UNSCALED).unwrap_or(14);
        Self {
            segment,
            most,
            room,
            limit: first,
            grain: if scales { (1 << shift) - 1 } else { 0 },
            trip: 0,
            echo: 0,
            window_ends: None,
            read_from: (u64::from(scales), Time::ZERO),
            read_before: first.min(FIRST_READ * segment),
        }
    }

    /// The window with so many bytes unread.
    pub fn window(&self, unread: u64) -> u64 {
        let free = self.room.saturating_sub(unread);
        // No silly window (RFC 9293 §3.8.6.2.2).
        if free < self.room / 16 || free < self.segment.min(self.room) {
            return 0;
        }
        (free.min(self.limit) + self.grain) & !self.grain
    }

    /// The room of the buffer.
    pub const fn room(&self) -> u64 {
        self.room
    }

    /// The smoothed round trip, after the first sample.
    #[cfg(test)]
    fn round_trip(&self) -> Option<Span> {
        (self.trip > 0).then(|| Span::from_micros(self.trip / 8))
    }

    /// A segment with data arrived: measures the round trip by the timestamp that it echoes.
    pub fn on_segment(&mut self, header: &TcpHeader, now: Time) {
        let Some((_, echo)) = header.timestamps else { return };
        if echo == self.echo || u64::from(header.len) < self.segment {
            return;
        }
        self.echo = echo;
        let elapsed = milliseconds(now).wrapping_sub(echo);
        if elapsed <= u32::MAX / 2 {
            let sample = u64::from(elapsed.max(1)) * 1000;
            self.trip = if self.trip == 0 { sample * 8 } else { self.trip - self.trip / 8 + sample };
        }
    }

    /// Data arrived in order up to `next`, of a window of `window` bytes.
    pub fn on_data(&mut self, next: u64, window: u64, now: Time) {
        if let Some((end, since)) = self.window_ends {
            if next < end {
                return;
            }
            let sample = (now.since(since).nanos() / 1000).max(1) * 8;
            self.trip = if self.trip == 0 { sample } else { self.trip.min(sample) };
        }
        self.window_ends = Some((next + window, now));
    }

    /// The limit grows with a segment of `len` bytes, if the buffer, with `unread` bytes in it besides, has room.
    /// Returns whether it has grown.
    pub fn grow(&mut self, len: u32, unread: u64) -> bool {
        let taken = unread + u64::from(len);
        let room = self.room.saturating_sub(taken).saturating_sub(self.limit);
        if len < SMALL || room == 0 {
            return false;
        }
        self.limit += room.min(2 * self.segment.max(u64::from(len)));
        true
    }

    /// The application has read up to `read`.
    pub fn on_read(&mut self, read: u64, now: Time) {
        let (from, since) = self.read_from;
        let elapsed = now.since(since).nanos() / 1000;
        if self.trip == 0 || elapsed < self.trip / 8 {
            return;
        }
        let amount = read - from;
        if amount > self.read_before {
            // Twice the amount, for slow start, and the same share of growth again twice.
            let base = 2 * amount + 16 * self.segment;
            let more = u128::from(base) * u128::from(amount - self.read_before) / u128::from(self.read_before.max(1));
            let wanted = u128::from(base) + 2 * more;
            let wanted = u64::try_from(wanted).unwrap_or(u64::MAX).min(self.most);
            let whole = if wanted == self.most { wanted } else { wanted / self.segment * self.segment };
            self.room = self.room.max(whole);
            self.read_before = amount;
        }
        self.read_from = (read, now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::params::{LINUX, Params as _};

    const SEGMENT: u64 = 1448;

    fn at(millis: u64) -> Time {
        Time::ZERO + Span::from_millis(millis)
    }

    fn growth() -> Growth {
        Growth::new(&Params::of_profile(LINUX))
    }

    fn echoing(millis: u32) -> TcpHeader {
        TcpHeader { len: SEGMENT as u32, timestamps: Some((0, millis)), ..TcpHeader::default() }
    }

    #[test]
    fn it_begins_with_the_whole_segments_of_64_kib() {
        let growth = growth();
        assert_eq!(growth.limit, 45 * SEGMENT);
        // Units of 128 bytes hold 6 MiB in 16 bits.
        assert_eq!((growth.grain, growth.window(0)), (127, 65_280));
        assert_eq!(growth.window(FIRST_ROOM - 1000), 0, "less than a segment");
        assert_eq!(growth.window(FIRST_ROOM - 10 * SEGMENT), 14_592);
    }

    #[test]
    fn the_limit_follows_the_room_by_twice_a_segment() {
        let mut growth = growth();
        assert!(!growth.grow(1448, 0), "no room beyond the first window");
        growth.room = 100 * SEGMENT;
        assert!(growth.grow(1448, 0));
        assert_eq!(growth.limit, 47 * SEGMENT);
        assert!(!growth.grow(100, 0), "a small segment");
        assert!(!growth.grow(1448, 60 * SEGMENT), "unread data takes the room");
        assert_eq!(growth.limit, 47 * SEGMENT);
    }

    #[test]
    fn the_round_trip_is_measured_by_echoes_and_by_windows() {
        let mut growth = growth();
        assert_eq!(growth.round_trip(), None);
        growth.on_segment(&echoing(100), at(120));
        growth.on_segment(&echoing(100), at(500));
        assert_eq!(growth.round_trip(), Some(Span::from_millis(20)), "one sample for each echo");
        growth.on_segment(&echoing(128), at(156));
        assert_eq!(growth.round_trip(), Some(Span::from_millis(21)));
        // A window that takes longer does not count, a shorter one does.
        growth.on_data(1, 5000, at(200));
        growth.on_data(5001, 5000, at(240));
        assert_eq!(growth.round_trip(), Some(Span::from_millis(21)));
        growth.on_data(10_001, 5000, at(250));
        assert_eq!(growth.round_trip(), Some(Span::from_millis(10)));
    }

    #[test]
    fn the_room_grows_when_more_is_read_in_a_round_trip_than_before() {
        let mut growth = growth();
        growth.on_read(5 * SEGMENT, at(1000));
        assert_eq!(growth.room(), FIRST_ROOM, "the round trip is not known");
        growth.on_segment(&echoing(1000), at(1100));
        growth.on_read(1 + 10 * SEGMENT, at(1100));
        assert_eq!(growth.room(), FIRST_ROOM, "no more than an initial window");
        growth.on_read(1 + 40 * SEGMENT, at(1150));
        assert_eq!(growth.room(), FIRST_ROOM, "within the round trip");
        growth.on_read(1 + 30 * SEGMENT, at(1200));
        // 20 segments after 10: 2 * 20 + 16, and twice 56 * (20 - 10) / 10.
        assert_eq!(growth.room(), 168 * SEGMENT);
        growth.on_read(1 + 10_000 * SEGMENT, at(1300));
        assert_eq!(growth.room(), 2172 * SEGMENT, "the parameter `window`");
    }
}
