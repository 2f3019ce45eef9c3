//! A receive window that grows with the application's reading, as in Linux.
//!
//! Read: M. Fisk and W. Feng, "Dynamic Right-Sizing in TCP", 2001; the documentation of the sysctls `tcp_rmem`,
//! `tcp_adv_win_scale` and `tcp_moderate_rcvbuf`; captures of Linux receivers. Two values limit the window. The memory
//! of the buffer is doubled and more when the application reads more in a round trip than in the one before; half of it
//! holds data. The limit of the window rises by twice a segment with each segment that arrives. Therefore a receiver
//! whose segments do not come announces no more than before.
//!
//! A segment takes more memory than its payload (`receive_memory.rs`). A segment that arrives is acknowledged before
//! the application reads it. Therefore the window holds a segment less then than after the application has read. Data
//! beyond a gap cannot be read, and takes room as long as the gap is open.

use hopyard_engine::Time;

use super::receive_memory::of_segment;
use crate::packet::TIMESTAMPS;
use crate::transport::connection::{Connect, Params};

/// Segments smaller than this do not let the window grow.
const SMALL: u64 = 128;
/// The segments with which the application's reading in a round trip is compared at first: a sender's initial window.
const FIRST_READ: u64 = 10;
/// The memory at first: the second value of `tcp_rmem`.
const FIRST_MEMORY: u64 = 131_072;
/// The least memory that is planned for a segment beyond its payload: its description, and its headers.
const DESCRIPTION: u64 = 576;
const HEADERS: u64 = 256;
/// The memory for a segment is enlarged in these steps until half of it holds the payload.
const STEP: u64 = 128;
/// A window without a scale (RFC 7323 §2.2).
const UNSCALED: u64 = 65_535;

/// The data that the application may read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Window {
    /// The window to be announced, in bytes.
    pub bytes: u64,
    /// Less than half of the room is left.
    pub cramped: bool,
}

#[derive(Clone, Debug)]
pub(crate) struct Growth {
    segment: u64,
    /// The payload of a full segment, as far as the receiver knows.
    pub full: u64,
    /// The largest memory, and the present one.
    most: u64,
    memory: u64,
    /// The largest window for this memory, and the largest to be announced now.
    clamp: u64,
    limit: u64,
    /// The window that the SYN announces.
    first: u64,
    /// The unit of the window in the header, less one.
    grain: u64,
    /// The start of the count of the application's reading, with its time, and the bytes read in the round trip before.
    read_from: (u64, Time),
    read_before: u64,
}

impl Growth {
    pub fn new(params: &Params) -> Self {
        let segment = u64::from(params.mss());
        let most = 2 * u64::from(params.window_bytes());
        let memory = FIRST_MEMORY.min(most);
        let room = memory / 2;
        let first = (room.min(UNSCALED) / segment * segment).max(segment.min(room));
        // One segment is held in reserve.
        let clamp = room.saturating_sub(segment).max((2 * segment).min(room));
        let scales = params.connect == Connect::ThreeWay;
        // The scale is chosen for the memory.
        let shift = (0..14).find(|shift| most >> shift <= UNSCALED).unwrap_or(14);
        let limit = first.min(clamp);
        Self {
            segment,
            full: segment,
            most,
            memory,
            clamp,
            limit,
            first,
            grain: if scales { (1 << shift) - 1 } else { 0 },
            read_from: (u64::from(scales), Time::ZERO),
            read_before: limit.min(FIRST_READ * segment),
        }
    }

    /// The window that the SYN announces: it has no scale.
    pub const fn first(&self) -> u64 {
        self.first
    }

    /// The window of a SYN that opens the connection, in whole segments with their options: the other end may not want
    /// these.
    pub fn first_of_opener(&self, params: &Params) -> u64 {
        let segment = self.segment + if params.timestamps { u64::from(TIMESTAMPS) } else { 0 };
        (self.room().min(UNSCALED) / segment * segment).max(segment.min(self.room()))
    }

    /// The next whole unit of the window in the header.
    pub const fn whole(&self, window: u64) -> u64 {
        (window + self.grain) & !self.grain
    }

    /// The payload that there is room for besides so much memory.
    const fn free(&self, taken: u64) -> u64 {
        self.memory.saturating_sub(taken).div_ceil(2)
    }

    /// The window with so much of the memory taken.
    pub fn window(&self, taken: u64) -> Window {
        let room = self.memory / 2;
        let whole = self.clamp.min(room);
        let mut free = self.free(taken);
        let cramped = free < whole / 2;
        if cramped {
            free &= !self.grain;
            // No silly window (RFC 9293 §3.8.6.2.2).
            if free < room / 16 || free < self.full.min(whole) {
                return Window { bytes: 0, cramped };
            }
        }
        Window { bytes: self.whole(free.min(self.limit)), cramped }
    }

    /// Whether the sender, to whom so much of the window is left, must know of the window with so much of the memory
    /// taken.
    pub fn opens(&self, left: u64, taken: u64) -> bool {
        let window = self.window(taken).bytes;
        2 * left <= self.clamp && window > 0 && window >= 2 * left
    }

    /// The room of the buffer.
    pub const fn room(&self) -> u64 {
        self.memory / 2
    }

    /// The connection is open.
    pub const fn open(&mut self, now: Time) {
        self.read_from.1 = now;
    }

    /// The limit grows with a segment of `len` bytes, if the buffer has room beside the taken bytes. A small segment
    /// counts only beyond a gap. Returns whether the limit has grown.
    pub fn grow(&mut self, len: u64, is_ahead: bool, taken: u64) -> bool {
        let room = self.clamp.min(self.free(taken)).saturating_sub(self.limit);
        if (len < SMALL && !is_ahead) || room == 0 {
            return false;
        }
        let step = self.step(len);
        if step > 0 {
            self.limit += room.min(step.max(2 * len));
        }
        step > 0
    }

    /// By how much a segment of `len` bytes lets the limit grow. One that is small beside its memory does only while
    /// the limit is a small part of the largest window.
    fn step(&self, len: u64) -> u64 {
        let mut memory = of_segment(len) / 2;
        if memory <= len {
            return 2 * self.segment;
        }
        memory /= 2;
        let mut part = self.most / 4;
        while self.limit <= part {
            if memory <= len {
                return 2 * self.full;
            }
            memory /= 2;
            part /= 2;
        }
        0
    }

    /// The application has read up to `read`; the round trip in microseconds is `trip`.
    pub fn on_read(&mut self, read: u64, trip: u64, now: Time) {
        let (from, since) = self.read_from;
        if trip == 0 || now.since(since).nanos() / 1000 < trip {
            return;
        }
        let amount = read.saturating_sub(from);
        if amount > self.read_before {
            // Twice the amount, for slow start, and the same share of growth again twice.
            let base = 2 * amount + 16 * self.segment;
            let more = u128::from(base) * u128::from(amount - self.read_before) / u128::from(self.read_before.max(1));
            let wanted = u128::from(base) + 2 * more;
            let segments = u64::try_from(wanted).unwrap_or(u64::MAX) / self.segment;
            let memory = segments.saturating_mul(self.per_segment()).min(self.most);
            if memory > self.memory {
                self.memory = memory;
                self.clamp = memory / 2;
            }
            self.read_before = amount;
        }
        self.read_from = (read, now);
    }

    /// The memory that is planned for a segment.
    fn per_segment(&self) -> u64 {
        let least = self.segment + HEADERS + DESCRIPTION;
        least + (2 * self.segment).saturating_sub(least).div_ceil(STEP) * STEP
    }
}

#[cfg(test)]
mod tests {
    use hopyard_engine::Span;

    use super::*;
    use crate::params::{LINUX, Params as _};

    const SEGMENT: u64 = 1448;
    /// A round trip of 20 ms, in microseconds.
    const TRIP: u64 = 20_000;

    fn at(millis: u64) -> Time {
        Time::ZERO + Span::from_millis(millis)
    }

    fn growth() -> Growth {
        Growth::new(&Params::of_profile(LINUX))
    }

    #[test]
    fn it_begins_with_64_kib_less_a_segment() {
        let growth = growth();
        assert_eq!((growth.first(), growth.limit), (45 * SEGMENT, 65_536 - SEGMENT));
        // Units of 128 bytes hold 6 MiB in 16 bits.
        assert_eq!((growth.grain, growth.window(0)), (127, Window { bytes: 64_128, cramped: false }));
        let half = growth.window(31_000);
        assert!(!half.cramped && half.bytes < 64_128, "{half:?}");
        assert!(growth.window(70_000).cramped);
        assert_eq!(growth.window(FIRST_MEMORY - 2000).bytes, 0, "less than a segment");
    }

    #[test]
    fn the_limit_follows_the_room_by_twice_a_segment() {
        let mut growth = growth();
        assert!(!growth.grow(1448, false, 2176), "no room beyond the first window");
        (growth.memory, growth.clamp) = (292_000, 146_000);
        assert!(growth.grow(1448, false, 2176));
        assert_eq!(growth.limit, 65_536 + SEGMENT);
        assert!(!growth.grow(100, false, 0), "a small segment");
        assert!(!growth.grow(1448, false, 210_000), "unread data takes the room");
        assert_eq!(growth.limit, 65_536 + SEGMENT);
        assert!(growth.grow(600, false, 2176), "half of the memory holds less than 600 bytes: by two full segments");
        assert_eq!(growth.limit, 65_536 + 3 * SEGMENT);
        assert!(growth.grow(100, true, 0), "beyond a gap a small segment counts");
    }

    #[test]
    fn the_memory_grows_when_more_is_read_in_a_round_trip_than_before() {
        let mut growth = growth();
        growth.open(at(1000));
        growth.on_read(1 + 12 * SEGMENT, 0, at(1100));
        assert_eq!(growth.room(), 65_536, "the round trip is not known");
        growth.on_read(1 + 10 * SEGMENT, TRIP, at(1100));
        assert_eq!(growth.room(), 65_536, "no more than an initial window");
        growth.on_read(1 + 40 * SEGMENT, TRIP, at(1110));
        assert_eq!(growth.room(), 65_536, "within the round trip");
        growth.on_read(1 + 23 * SEGMENT, TRIP, at(1200));
        // 13 segments after 10: 2 * 13 + 16, and twice 42 * (13 - 10) / 10, in whole segments of 2920 bytes of memory.
        assert_eq!((growth.memory, growth.clamp), (67 * 2920, 67 * 1460));
        growth.on_read(1 + 10_000 * SEGMENT, TRIP, at(1300));
        assert_eq!(growth.room(), 2172 * SEGMENT, "the parameter `window`");
    }
}
