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
/// A room of at least this part of the window is used.
const PART: f64 = 1.0 / 3.0;
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
    /// A segment waits for the next event, and whether it does because of the receiver's window.
    waiting: bool,
    by_receiver: bool,
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
        let made = tcp.core.board.max() + u64::from(self.whole) * mss;
        self.made.retain(|end| *end > made);
        self.made.push(made);
        if tcp.core.board.max() / mss < u64::from(tcp.core.params.initial_window) {
            self.first = self.first.or(Some(made / mss));
        }
    }

    /// A segment was sent. Returns whether it is the last of a buffer of several: Linux sends such a buffer with PSH.
    pub const fn on_sent(&mut self, now: Time) -> bool {
        self.sent = now;
        let ends = self.together == 1 && self.whole > 1;
        self.together = self.together.saturating_sub(1);
        ends
    }

    /// An event at the sender, on which segments may be sent.
    pub const fn begin(&mut self) {
        self.together = 0;
        self.waiting = false;
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

    /// Whether the next new segment waits, if the window has room for `room` of it.
    pub fn waits(&mut self, tcp: &State, room: f64, repairs: bool) -> bool {
        if self.together > 0 || self.waiting {
            return self.waiting;
        }
        let advertised = tcp.core.segments(tcp.core.advertised().saturating_sub(tcp.core.board.flight()));
        self.by_receiver = advertised <= room;
        let room = room.min(advertised);
        let whole = Self::buffer(tcp).min(self.left_in_piece(tcp).max(1));
        let more = Self::may_get_more(tcp);
        let wanted = if more { Self::buffer(tcp) } else { whole };
        if room >= f64::from(wanted) {
            self.begin_buffer(tcp, whole);
            return false;
        }
        // Silence begins when pacing would have let a segment leave.
        let silent = tcp.core.now.since(self.sent.max(tcp.departs)) > SILENCE;
        let ample = room >= tcp.core.cwnd.min(tcp.core.segments(tcp.core.advertised())) * PART;
        let round_trip = tcp.core.rtt.srtt().unwrap_or(Span::ZERO);
        let soon = tcp
            .core
            .board
            .get(0)
            .is_some_and(|first| tcp.core.now.since(first.sent) + SOON.min(round_trip / 2) >= round_trip);
        self.waiting = !repairs && !silent && !ample && soon;
        if !self.waiting {
            self.begin_buffer(tcp, whole.min(room as u32));
        }
        self.waiting
    }

    /// Whether a segment waits although the congestion window has room.
    pub const fn waits_for_receiver(&self) -> bool {
        self.waiting && self.by_receiver
    }

    /// The next segments leave in one buffer: half of the window at most, so that there are two at least.
    fn begin_buffer(&mut self, tcp: &State, segments: u32) {
        let half = (tcp.core.cwnd / 2.0) as u32;
        let fits = tcp.core.advertised().saturating_sub(tcp.core.board.flight()) / u64::from(tcp.core.params.mss());
        self.whole = segments.min(half).min(u32::try_from(fits).unwrap_or(u32::MAX)).max(1);
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

    /// Whether the application may still add to the piece that the next new segments lie in: of more than a segment.
    fn may_get_more(tcp: &State) -> bool {
        let (bytes, last) = tcp.buffer.piece(tcp.core.board.max());
        tcp.buffer.is_on() && last && bytes > u64::from(tcp.core.params.mss()) && !tcp.core.closing
    }

    /// How many segments from the one at `index` on leave together, of the `quantum` that pacing allows.
    pub fn together(&self, tcp: &State, index: usize, quantum: u32) -> u32 {
        let room = (tcp.core.cwnd - tcp.core.in_network()).max(1.0) as u32;
        let buffer = if index < tcp.core.board.len() {
            tcp.core.board.buffer(index)
        } else {
            // Two buffers at least share the window.
            self.left_in_piece(tcp).min((tcp.core.cwnd / 2.0).max(1.0) as u32)
        };
        quantum.min(buffer).min(room)
    }

    /// Segments of the piece that the next new one lies in, with it; or of the buffer that was made there.
    fn left_in_piece(&self, tcp: &State) -> u32 {
        let mss = u64::from(tcp.core.params.mss());
        let piece = (PIECE / mss).max(1);
        // The SYN takes number 0.
        let written = tcp.core.app_end.saturating_sub(tcp.core.board.max()).div_ceil(mss);
        // The first piece is filled up again after the initial window has left it, or as much of that as the node took.
        let first = self.first.unwrap_or(u64::from(tcp.core.params.initial_window));
        let place = (tcp.core.board.max() / mss).checked_sub(first).map_or(0, |segment| segment % piece);
        let made = self.made.iter().rev().find(|end| **end > tcp.core.board.max());
        let piece =
            if tcp.buffer.is_on() { tcp.buffer.piece(tcp.core.board.max()).0.div_ceil(mss) } else { piece - place };
        let end = made.map_or(piece, |end| (end - tcp.core.board.max()).div_ceil(mss));
        end.min(written) as u32
    }
}
