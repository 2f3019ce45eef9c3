//! Why a single segment may wait although the window has room for it: segments are sent in pairs.
//!
//! Linux hands data to the interface in buffers of at least two segments (segmentation offload). A fast sender fills
//! larger buffers, with its data of about a millisecond. If the window has room for less than a buffer, the segments
//! wait for the next acknowledgement, so that they leave together. The segments do not wait if the sender was silent,
//! if the room is a good part of the window, or if the acknowledgement is not due soon. They do not wait either while
//! losses are repaired, or if they are the last data that the application wrote at once.

use hopyard_engine::{Span, Time};

use crate::transport::congestion::control::offload;
use crate::transport::linux::state::State;

/// The segments of a pair.
const PAIR: u32 = 2;
/// A sender that has sent nothing for longer does not wait.
const SILENCE: Span = Span::from_millis(1);
/// It waits only if the acknowledgement of the first segment is expected within this time, and half a round trip.
const SOON: Span = Span::from_millis(1);
/// A room of at least this part of the window is used: a third.
const PART: u64 = 3;
/// How much faster than a window in a round trip Linux believes that it sends: while the window is below half of the
/// threshold, and later.
const FASTER: [f64; 2] = [2.0, 1.2];
/// The data that an application writes is held in pieces of half of the window that a SYN can announce, in whole
/// segments.
const PIECE: u64 = 65_535 / 2;

#[derive(Clone, Debug, Default)]
pub struct Pairs {
    /// Segments that leave in one buffer with the one sent last, and all of that buffer.
    together: u32,
    whole: u32,
    /// The ends of buffers that were made, and could not be given to the node yet: the nearest last. If less is sent,
    /// the rest of a buffer stays one.
    made: Vec<u64>,
    /// How many segments had been cut from the first piece when the application wrote again; none if it was the initial
    /// window.
    first: Option<u64>,
    /// When a segment was sent last.
    sent: Time,
    /// A segment waits for the next event, and whether it does because the window has no room for its buffer.
    waiting: bool,
    by_window: bool,
    /// The application has filled a piece: its first buffer does not wait.
    pub at_once: bool,
}

impl Pairs {
    /// Whether the segment that is sent now is one of several in a buffer.
    pub const fn shares(&self) -> bool {
        self.together > 0 && self.whole > 1
    }

    /// Whether the segment that is sent now follows another in its buffer.
    pub const fn follows(&self) -> bool {
        self.together > 0 && self.together < self.whole
    }

    /// Whether the buffer that was begun last was sent.
    pub const fn has_sent_buffer(&self) -> bool {
        self.together == 0
    }

    /// The segments of the buffer that was begun last.
    pub fn whole(&self) -> u32 {
        self.whole.max(1)
    }

    /// The node has no room for the buffer that was begun last. It is made, and stays as it is.
    pub fn hold(&mut self, tcp: &State) {
        if self.together == 0 || self.together < self.whole {
            return;
        }
        let mss = u64::from(tcp.core.params.mss());
        let made = tcp.core.together_end.unwrap_or(tcp.core.board.max() + u64::from(self.whole) * mss);
        if made > tcp.core.app_end {
            // Nothing was cut from the last piece: the application may add to it.
            return;
        }
        self.made.retain(|end| *end > made);
        self.made.push(made);
        if tcp.core.board.max() / mss < u64::from(tcp.core.params.initial_window) {
            self.first = self.first.or(Some(made / mss));
        }
    }

    /// A segment was sent. Returns whether it is the last of a buffer of several: Linux sends such a buffer with PSH.
    pub const fn on_sent(&mut self, tcp: &mut State) -> bool {
        self.sent = tcp.core.now;
        let ends = self.together == 1 && self.whole > 1;
        self.together = self.together.saturating_sub(1);
        if self.together == 0 {
            tcp.core.together_end = None;
            self.waiting = self.at_once;
            self.by_window = false;
        }
        ends
    }

    /// An event at the sender, on which segments may be sent.
    pub const fn begin(&mut self) {
        self.together = 0;
        self.waiting = false;
        self.at_once = false;
    }

    /// The segments that leave in one buffer. A congestion control that sets the rate knows how many.
    pub fn buffer(tcp: &State) -> u32 {
        if let Some(quantum) = tcp.quantum {
            return quantum;
        }
        let Some(round_trip) = tcp.core.rtt.srtt().filter(|it| !it.is_zero()) else { return PAIR };
        let growing = tcp.core.cwnd < tcp.core.ssthresh / 2.0;
        let window = tcp.core.cwnd.max(tcp.core.board.len() as f64) * f64::from(tcp.core.params.mss());
        let rate = window * FASTER[usize::from(!growing)] / round_trip.seconds();
        offload::buffer(rate, tcp.core.min_rtt, tcp.core.params.mss(), PAIR)
    }

    /// Whether the next new segment waits. If not, the segments that leave with it are decided on.
    pub fn waits(&mut self, tcp: &mut State, repairs: bool) -> bool {
        if self.together > 0 || self.waiting {
            return self.waiting;
        }
        let mss = u64::from(tcp.core.params.mss());
        let (len, is_last) = self.piece(tcp);
        let advertised = tcp.core.edge().saturating_sub(tcp.core.board.max());
        if len.min(mss) > advertised || len == 0 {
            return false;
        }
        let room = (tcp.core.cwnd - tcp.core.in_network()).max(1.0) as u64 * mss;
        self.waiting = len > mss && !repairs && !self.at_once && self.is_worth_waiting(tcp, room, advertised);
        if !self.waiting {
            let half = ((tcp.core.cwnd / 2.0) as u64).max(1);
            let most = u64::from(Self::buffer(tcp)).min(half).min(room / mss) * mss;
            self.begin_buffer(tcp, len, most, is_last, advertised);
        }
        self.waiting
    }

    /// Whether the segments of the next piece wait for an acknowledgement that lets more of them leave together, if the
    /// window has `room` for them, and the receiver's window too. A segment that is not full may wait in any case.
    fn is_worth_waiting(&mut self, tcp: &State, room: u64, advertised: u64) -> bool {
        let mss = u64::from(tcp.core.params.mss());
        let (len, is_last) = self.piece(tcp);
        let is_tail = is_last && tcp.buffer.is_on();
        let limit = room.min(advertised);
        // Silence begins when pacing would have let a segment leave.
        let silent = tcp.core.now.since(self.sent.max(tcp.departs)) > SILENCE;
        let window = ((tcp.core.cwnd as u64).saturating_mul(mss)).min(tcp.core.advertised());
        if silent || limit >= u64::from(Self::buffer(tcp)) * mss || (!is_tail && limit >= len) || limit >= window / PART
        {
            return false;
        }
        let round_trip = tcp.core.rtt.srtt().unwrap_or(Span::ZERO);
        let soon = tcp
            .core
            .board
            .get(0)
            .is_some_and(|first| tcp.core.now.since(first.sent) + SOON.min(round_trip / 2) >= round_trip);
        self.by_window = room < advertised && room <= len;
        let by_receiver = advertised <= room && advertised <= len;
        // With the FIN nothing can be added to the piece.
        soon && (self.by_window || by_receiver || !is_tail || !tcp.core.closing)
    }

    /// Whether the segments that wait do so because the congestion window has no room for all of them.
    pub const fn waits_for_window(&self) -> bool {
        self.waiting && self.by_window
    }

    /// Decides on the segments that leave in one buffer, of a piece of `len` bytes: `most` bytes, and what the
    /// receiver's window has room for. The last one may be cut by that, or be the end of what was written. Then the
    /// Nagle algorithm may hold it.
    fn begin_buffer(&mut self, tcp: &mut State, len: u64, most: u64, is_last: bool, advertised: u64) {
        let mss = u64::from(tcp.core.params.mss());
        let fits = len.min(advertised);
        let bytes = if len <= mss {
            (!is_last).then_some(len)
        } else if most <= fits || (most <= advertised && !is_last) {
            Some(most.min(len))
        } else if !fits.is_multiple_of(mss) && tcp.core.holds_small() && !self.at_once {
            Some(fits / mss * mss)
        } else {
            Some(fits)
        };
        tcp.core.together_end = bytes.map(|bytes| tcp.core.board.max() + bytes);
        self.whole = bytes.map_or(1, |bytes| bytes.div_ceil(mss)) as u32;
        self.together = self.whole;
    }

    /// Whether the segment sent last is the last segment of the data that the application wrote, or ends a piece. The
    /// end of a piece counts only if the pieces since the last mark then have more than half of the largest window.
    /// Linux marks these with PSH.
    pub fn ends_push(tcp: &State) -> bool {
        if tcp.buffer.is_on() {
            return tcp.buffer.ends_push();
        }
        let mss = u64::from(tcp.core.params.mss());
        let piece = (PIECE / mss).max(1);
        let end = tcp.core.board.max();
        let first = u64::from(tcp.core.params.initial_window);
        let ends_second = |segment: u64| segment % (2 * piece) == piece;
        end >= tcp.core.app_end || (end / mss).checked_sub(first).is_some_and(ends_second)
    }

    /// How many segments from the one at `index` on leave together, of the `quantum` that pacing allows.
    pub fn together(&self, tcp: &State, index: usize, quantum: u32) -> u32 {
        let room = (tcp.core.cwnd - tcp.core.in_network()).max(1.0) as u32;
        let buffer = if index < tcp.core.board.len() { tcp.together(index) } else { self.whole() };
        quantum.min(buffer).min(room)
    }

    /// The bytes of the piece that the next new segment lies in, from that on, or of the buffer that was made there;
    /// and whether nothing was written after it.
    fn piece(&self, tcp: &State) -> (u64, bool) {
        let mss = u64::from(tcp.core.params.mss());
        let piece = (PIECE / mss).max(1);
        // The SYN takes number 0.
        let written = tcp.core.app_end.saturating_sub(tcp.core.board.max());
        // The first piece is filled up again after the initial window has left it, or as much of that as the node took.
        let first = self.first.unwrap_or(u64::from(tcp.core.params.initial_window));
        let place = (tcp.core.board.max() / mss).checked_sub(first).map_or(0, |segment| segment % piece);
        let made = self.made.iter().rev().find(|end| **end > tcp.core.board.max());
        let piece = if tcp.buffer.is_on() { tcp.buffer.piece(tcp.core.board.max()).0 } else { (piece - place) * mss };
        let len = made.map_or(piece, |end| end - tcp.core.board.max()).min(written);
        (len, len == written)
    }
}
