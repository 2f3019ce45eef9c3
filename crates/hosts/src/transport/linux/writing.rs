//! The writes of the application into a limited send buffer.

use super::send_buffer::{Piece, SEGMENTS, SendBuffer, Written};
use super::state::State;

/// The bytes that Linux counts for a piece besides its payload.
const OVERHEAD: u64 = 1280;
/// The largest buffer (`tcp_wmem`).
const MOST: u64 = 4_194_304;
/// The largest piece, and the window above which pieces are of half of it.
const LARGEST_PIECE: u64 = 65_279;
const SMALL_WINDOW: u64 = 536;
/// How many segments an application that has more to write writes in one call.
const CALL: u64 = 44;

impl State {
    /// Room is looked for, if the application waits for it: after an acknowledgement, and whenever a buffer was sent.
    /// The send buffer grows to a few windows, or to as many times the segments that the network may reorder. What is
    /// sent because the application begins to wait lets it grow, but does not wake the application.
    pub fn look_for_room(&mut self, reordering: u32) {
        if !self.buffer.waits {
            return;
        }
        if self.core.in_network() < self.core.cwnd {
            let segments = self.core.cwnd.max(SEGMENTS).max(f64::from(reordering + 1));
            let room = SendBuffer::room(self.windows, segments, self.core.params.mss()).min(MOST);
            self.buffer.limit = self.buffer.limit.max(room);
            self.window_changed = self.core.now;
        }
        let taken = self.taken();
        self.buffer.waits = self.buffer.begins_to_wait || self.buffer.limit.saturating_sub(taken) < taken / 2;
    }

    /// The application writes as much as goes into one piece.
    pub fn admit(&mut self) -> Written {
        let mss = u64::from(self.core.params.mss());
        let Some(left) = self.buffer.writes.front().copied().filter(|_| !self.buffer.waits) else {
            return Written::Nothing;
        };
        if self.buffer.call == 0 {
            self.buffer.call = left.min(CALL * mss);
        }
        let call = self.buffer.call;
        let whole = self.whole_piece();
        let begin = |index: usize| match index.checked_sub(1) {
            Some(before) => self.buffer.pieces[before].end,
            None => self.core.board.max(),
        };
        let last = self.buffer.pieces.len().checked_sub(1);
        let room = last.map_or(0, |last| whole.saturating_sub(self.buffer.pieces[last].end - begin(last)));
        if room == 0 && self.taken() >= self.buffer.limit {
            (self.buffer.waits, self.buffer.begins_to_wait) = (true, true);
            // What was written of a call is sent, full segments or not.
            if self.buffer.begun {
                self.push_written();
                self.core.pushes = true;
                return Written::All;
            }
            return Written::Nothing;
        }
        if room == 0 {
            self.buffer.pieces.push_back(Piece { end: self.core.app_end, push: false });
        }
        let bytes = call.min(if room == 0 { whole } else { room });
        self.core.app_end += bytes;
        if let Some(piece) = self.buffer.pieces.back_mut() {
            piece.end = self.core.app_end;
            piece.push &= self.buffer.begun;
        }
        self.buffer.begun = bytes < call;
        self.buffer.call -= bytes;
        if left == bytes {
            self.buffer.writes.pop_front();
        } else if left < u64::MAX {
            self.buffer.writes[0] -= bytes;
        }
        let is_much = self.core.app_end > self.buffer.pushed + self.core.largest_window / 2;
        if !self.buffer.begun || is_much {
            self.push_written();
            return if self.buffer.begun { Written::All } else { Written::Call };
        }
        Written::Piece { first: self.buffer.pieces.len() == 1 }
    }

    /// The memory of the last piece, if another could be added to it and something is outstanding: then the piece waits
    /// while as much of this connection waits in the node (automatic corking).
    pub fn tail(&self) -> Option<u64> {
        let end = self.buffer.pieces.back()?.end;
        let begin = self.buffer.pieces.iter().rev().nth(1).map_or(self.core.board.max(), |before| before.end);
        let len = end - begin;
        (len < self.whole_piece() && !self.core.board.is_empty()).then_some(len + OVERHEAD)
    }

    /// The largest piece for the receiver's window.
    fn whole_piece(&self) -> u64 {
        let (mss, largest) = (u64::from(self.core.params.mss()), self.core.largest_window);
        let half = if largest > SMALL_WINDOW { largest / 2 } else { largest };
        (half.min(LARGEST_PIECE) / mss).max(1) * mss
    }

    /// The last piece gets PSH.
    fn push_written(&mut self) {
        self.buffer.pushed = self.core.app_end;
        if let Some(piece) = self.buffer.pieces.back_mut() {
            piece.push = true;
        }
    }

    /// The memory that the data takes which was written and is not acknowledged.
    fn taken(&self) -> u64 {
        let (mut sent, mut reported) = (0, false);
        for (segment, tag) in self.tagged(0) {
            // Segments that are reported lie in one piece with those before.
            sent += u64::from(!(tag.joined || (reported && segment.sacked)));
            reported = segment.sacked;
        }
        self.core.app_end.saturating_sub(self.core.una()) + OVERHEAD * (sent + self.buffer.pieces.len() as u64)
    }
}
