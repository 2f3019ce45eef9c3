//! A send buffer as Linux has it: what the application has written lies in pieces, and it waits when they take too much
//! memory.
//!
//! An application writes in calls, one after another. Each fills the last piece up, unless that was sent, and begins
//! others; what lies there is sent before the next piece is begun. Memory is asked for only when a piece is begun. An
//! application that waits goes on when a third of the memory is free. The buffer grows with the congestion window, on
//! acknowledgements that leave the window with room.

use std::collections::VecDeque;

use super::core::Core;

/// What Linux counts for a piece besides its payload, in bytes.
const OVERHEAD: u64 = 1280;
/// The headers of a segment, and what describes it: with its payload they take a power of two.
const HEADERS: u64 = 576;
const DESCRIPTOR: u64 = 256;
/// The segments that the buffer has room for, twice, when the connection opens.
const SEGMENTS: f64 = 10.0;
/// The largest buffer (`tcp_wmem`).
const MOST: u64 = 4_194_304;
/// The largest piece, and the window above which pieces are of half of it.
const LARGEST_PIECE: u64 = 65_279;
const SMALL_WINDOW: u64 = 536;
/// How many segments an application that has more to write writes in one call.
const CALL: u64 = 44;

/// A piece that was not sent whole.
#[derive(Clone, Copy, Debug)]
struct Piece {
    /// The sequence number after it.
    end: u64,
    /// Its last segment has PSH.
    push: bool,
}

/// What the application has written and TCP has not sent.
#[derive(Clone, Debug, Default)]
pub struct SendBuffer {
    /// The largest memory, in bytes; zero if there is no limit.
    limit: u64,
    pieces: VecDeque<Piece>,
    /// What the application has left to write of each write, and of the call at hand.
    writes: VecDeque<u64>,
    call: u64,
    /// The call at hand has written something.
    begun: bool,
    /// The application waits for room.
    waits: bool,
    /// An acknowledgement has arrived since room was looked for, and how many segments were sent since.
    acknowledged: bool,
    sent: u32,
    /// The data before it was marked with PSH when it was written.
    pushed: u64,
    /// The segment sent last ends a piece with PSH.
    ends_push: bool,
}

/// What the application has written.
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
}

impl SendBuffer {
    /// A buffer that grows from its first size, for segments of `mss` bytes.
    pub fn growing(mss: u32) -> Self {
        Self { limit: Self::room(2, SEGMENTS, mss), ..Self::default() }
    }

    /// The memory of so many segments, a few times.
    fn room(times: u64, segments: f64, mss: u32) -> u64 {
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
        self.sent = 0;
    }

    /// The application writes no more, and what was not sent is never sent.
    pub fn stop(&mut self) {
        self.pieces.clear();
        self.writes.clear();
        (self.call, self.begun) = (0, false);
    }

    /// What was sent reaches to `end`.
    pub fn on_sent(&mut self, end: u64) {
        self.ends_push = false;
        self.sent += 1;
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

impl Core {
    /// The application writes as much as goes into one piece.
    /// The buffer has room for `times` windows; TCP sends `together` segments at once.
    pub(crate) fn admit(&mut self, times: u64, together: u32) -> Written {
        let mss = u64::from(self.mss);
        if std::mem::take(&mut self.buffer.acknowledged) && self.buffer.waits {
            // What is sent in a second buffer is not sent yet when room is looked for.
            let later = self.buffer.sent.saturating_sub(together);
            if self.in_network() - f64::from(later) < self.cwnd {
                let room = SendBuffer::room(times, self.cwnd.max(SEGMENTS), self.mss).min(MOST);
                self.buffer.limit = self.buffer.limit.max(room);
                self.window_changed = self.now;
            }
            self.buffer.waits = 3 * self.taken() > 2 * self.buffer.limit;
        }
        let Some(left) = self.buffer.writes.front().copied().filter(|_| !self.buffer.waits) else {
            return Written::Nothing;
        };
        if self.buffer.call == 0 {
            self.buffer.call = left.min(CALL * mss);
        }
        let call = self.buffer.call;
        let half = if self.largest_window > SMALL_WINDOW { self.largest_window / 2 } else { self.largest_window };
        let whole = (half.min(LARGEST_PIECE) / mss).max(1) * mss;
        let begin = |index: usize| match index.checked_sub(1) {
            Some(before) => self.buffer.pieces[before].end,
            None => self.board.max(),
        };
        let last = self.buffer.pieces.len().checked_sub(1);
        let room = last.map_or(0, |last| whole.saturating_sub(self.buffer.pieces[last].end - begin(last)));
        if room == 0 && self.taken() >= self.buffer.limit {
            self.buffer.waits = true;
            // What was written of a call is sent, full segments or not.
            if self.buffer.begun {
                self.push_written();
                self.pushes = true;
                return Written::All;
            }
            return Written::Nothing;
        }
        if room == 0 {
            self.buffer.pieces.push_back(Piece { end: self.app_end, push: false });
        }
        let bytes = call.min(if room == 0 { whole } else { room });
        self.app_end += bytes;
        if let Some(piece) = self.buffer.pieces.back_mut() {
            piece.end = self.app_end;
            piece.push &= self.buffer.begun;
        }
        self.buffer.begun = bytes < call;
        self.buffer.call -= bytes;
        if left == bytes {
            self.buffer.writes.pop_front();
        } else if left < u64::MAX {
            self.buffer.writes[0] -= bytes;
        }
        if !self.buffer.begun || self.app_end > self.buffer.pushed + self.largest_window / 2 {
            self.push_written();
            return Written::All;
        }
        Written::Piece { first: self.buffer.pieces.len() == 1 }
    }

    /// The last piece gets PSH.
    fn push_written(&mut self) {
        self.buffer.pushed = self.app_end;
        if let Some(piece) = self.buffer.pieces.back_mut() {
            piece.push = true;
        }
    }

    /// The memory that the data takes which was written and is not acknowledged.
    fn taken(&self) -> u64 {
        let (mut sent, mut reported) = (0, false);
        for segment in self.board.iter() {
            // Segments that are reported lie in one piece with those before.
            sent += u64::from(!(segment.joined || (reported && segment.sacked)));
            reported = segment.sacked;
        }
        self.app_end.saturating_sub(self.una()) + OVERHEAD * (sent + self.buffer.pieces.len() as u64)
    }
}
