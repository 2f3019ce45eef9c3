//! A send buffer as Linux has it. The data that the application wrote lies in pieces, and the application waits when
//! they take too much memory.
//!
//! An application writes in calls, one after another. Each fills the last piece up, unless that was sent, and begins
//! others; the data there is sent before the next piece is begun. Memory is asked for only when a piece is begun. An
//! application that waits goes on when a third of the memory is free. The buffer grows with the congestion window, on
//! acknowledgements that leave the window with room.

use std::collections::VecDeque;

/// The headers of a segment, and its description: with its payload they take a power of two.
const HEADERS: u64 = 576;
const DESCRIPTOR: u64 = 256;
/// The segments that the buffer has room for, a few times, when the connection opens.
pub(super) const SEGMENTS: f64 = 10.0;

/// A piece that was not sent whole.
#[derive(Clone, Copy, Debug)]
pub(super) struct Piece {
    /// The sequence number after it.
    pub end: u64,
    /// Its last segment has PSH.
    pub push: bool,
}

/// The data that the application has written and TCP has not sent.
#[derive(Clone, Debug, Default)]
pub struct SendBuffer {
    /// The largest memory, in bytes; zero if there is no limit.
    pub(super) limit: u64,
    pub(super) pieces: VecDeque<Piece>,
    /// The bytes that the application has left to write of each write, and of the call at hand.
    pub(super) writes: VecDeque<u64>,
    pub(super) call: u64,
    /// The call at hand has written something.
    pub(super) begun: bool,
    /// The application waits for room.
    pub(super) waits: bool,
    /// The application has begun to wait on this event.
    pub(super) begins_to_wait: bool,
    /// An acknowledgement has arrived since room was looked for.
    pub(super) acknowledged: bool,
    /// The data before it was marked with PSH when it was written.
    pub(super) pushed: u64,
    /// The segment sent last ends a piece with PSH.
    ends_push: bool,
}

/// The data that the application has written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Written {
    /// Nothing: it waits, or has written all.
    Nothing,
    /// A full piece with more to follow: TCP sends one buffer of the first piece, and nothing of others.
    Piece {
        /// It is the first that was not sent whole.
        first: bool,
    },
    /// TCP sends what it can.
    All,
    /// The same, at the end of a call: the last piece may wait for others in the node.
    Call,
}

impl SendBuffer {
    /// A buffer that grows from its first size: a few times so many segments of `mss` bytes.
    pub fn growing(times: u64, mss: u32) -> Self {
        Self { limit: Self::room(times, SEGMENTS, mss), ..Self::default() }
    }

    /// The memory of so many segments, a few times.
    pub(super) fn room(times: u64, segments: f64, mss: u32) -> u64 {
        let each = (u64::from(mss) + HEADERS).next_power_of_two() + DESCRIPTOR;
        times * (segments as u64) * each
    }

    /// Whether there is a limit.
    pub const fn is_on(&self) -> bool {
        self.limit > 0
    }

    /// The largest memory, in bytes.
    #[cfg(test)]
    pub const fn limit(&self) -> u64 {
        self.limit
    }

    /// Whether the application waits for room.
    pub const fn waits(&self) -> bool {
        self.waits
    }

    /// Whether the application has written everything that it wanted to.
    pub fn is_done(&self) -> bool {
        self.writes.is_empty()
    }

    /// The application wants to write so many bytes.
    pub fn write(&mut self, bytes: u64) {
        self.writes.push_back(bytes);
    }

    /// An acknowledgement arrived.
    pub const fn on_ack(&mut self) {
        self.acknowledged = true;
    }

    /// An event at the sender begins.
    pub const fn begin(&mut self) {
        self.begins_to_wait = false;
    }

    /// The application writes no more, and data that was not sent is never sent.
    pub fn stop(&mut self) {
        self.pieces.clear();
        self.writes.clear();
        (self.call, self.begun) = (0, false);
    }

    /// The sent data reaches to `end`.
    pub fn on_sent(&mut self, end: u64) {
        self.ends_push = false;
        while self.pieces.front().is_some_and(|piece| piece.end <= end) {
            self.ends_push = self.pieces.pop_front().is_some_and(|piece| piece.push);
        }
    }

    /// Whether the segment sent last ends a piece with PSH.
    pub const fn ends_push(&self) -> bool {
        self.ends_push
    }

    /// The bytes of the piece that the next new segment lies in, from `next` on; and whether it is the last piece.
    pub fn piece(&self, next: u64) -> (u64, bool) {
        (self.pieces.front().map_or(0, |piece| piece.end - next), self.pieces.len() <= 1)
    }
}
