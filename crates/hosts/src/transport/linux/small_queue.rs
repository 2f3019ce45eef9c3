//! How much of a connection's data may wait in its own node, as Linux limits it (TCP small queues).
//!
//! A host with this limit learns when its interface has sent a segment, and gives it the next one only then. The queue
//! of the interface stays short, and its wait is no part of the round trip.
//!
//! It knows too which segments are still there, and sends none of them again: behind a broken route a segment may wait
//! for seconds, longer than the retransmission timeout. A buffer of several segments is cut up on its way to the
//! interface. The host does not know the fate of the parts.

use hopyard_engine::Span;

/// The data that the pacing rate sends in this part of a second may always wait: a power of two in Linux.
const PARTS_OF_A_SECOND: f64 = 1024.0;
/// Pieces that may always wait.
const PIECES: u64 = 2;
/// The bytes that Linux counts for a buffer besides its payload: its descriptor, and the memory for headers.
const OVERHEAD: u64 = 1280;
/// A buffer of several segments is cut up on its way to the interface. Each segment is copied then. One piece of
/// memory, of a power of two, has its payload, its headers and the description of both; the descriptor comes in
/// addition.
const HEADERS: u64 = 576;
const DESCRIPTOR: u64 = 256;

/// The data of one connection that is in the queues of its node.
#[derive(Clone, Debug, Default)]
pub struct SmallQueue {
    /// Payload of two segments, or of one if they do not leave in pairs; zero if there is no limit.
    piece: u64,
    /// The memory of the segments in the queues of the node, as Linux counts it.
    queued: u64,
    /// A segment had to wait for those, and none of them has left since.
    is_waiting: bool,
    /// Payload that is left of the piece whose first segment has left.
    rest: u64,
    /// The first sequence numbers of the segments in the queues, and the memory of each.
    segments: Vec<(u64, u64)>,
}

impl SmallQueue {
    /// Nothing is queued. A `piece` is the data that the sender passes on at once, in bytes of payload.
    pub const fn new(piece: Option<u64>) -> Self {
        Self {
            piece: if let Some(piece) = piece { piece } else { 0 },
            queued: 0,
            is_waiting: false,
            rest: 0,
            segments: Vec::new(),
        }
    }

    /// Whether there is a limit.
    pub const fn is_on(&self) -> bool {
        self.piece > 0
    }

    /// The sender begins to send: the rest of a former piece begins a new one.
    pub const fn begin(&mut self) {
        self.rest = 0;
    }

    /// Whether a segment of this payload may be given to the node. It may while less waits there than two pieces, each
    /// as large as the piece that begins with this segment. The second segment of a piece may always be. A
    /// retransmission may while less than twice the limit waits. The payload of the `piece` is known if the sender
    /// forms pieces.
    pub fn allows(
        &mut self,
        len: u64,
        is_retransmission: bool,
        piece: Option<u64>,
        rate: impl FnOnce() -> f64,
    ) -> bool {
        if !self.is_on() {
            return true;
        }
        if self.rest >= len && len > 0 {
            self.rest -= len;
            return true;
        }
        let piece = piece.unwrap_or(self.piece);
        let limit = (PIECES * (piece + OVERHEAD)).max((rate() / PARTS_OF_A_SECOND) as u64);
        let limit = if is_retransmission { 2 * limit } else { limit };
        let allows = self.queued < limit;
        self.is_waiting |= !allows;
        self.rest = if allows { piece.saturating_sub(len) } else { 0 };
        allows
    }

    /// Whether something is in the queues of the node.
    pub const fn is_used(&self) -> bool {
        self.queued > 0
    }

    /// Whether segments of so much memory are in the queues of the node.
    pub const fn holds(&self, memory: u64) -> bool {
        self.is_on() && self.queued >= memory
    }

    /// The segment with this sequence number and payload is in the queues of the node, by itself or `cut` from a buffer
    /// of several.
    pub fn on_queued(&mut self, seq: u64, len: u64, cut: bool) {
        let memory = match len {
            0 => 0,
            _ if cut => (len + HEADERS).next_power_of_two() + DESCRIPTOR,
            _ => len + OVERHEAD,
        };
        self.queued += memory;
        self.segments.push((seq, memory));
    }

    /// Whether the segment with this sequence number is there.
    pub fn has(&self, seq: u64) -> bool {
        self.segments.iter().any(|segment| segment.0 == seq)
    }

    /// The sender waits until a segment has left.
    pub const fn wait(&mut self) {
        self.is_waiting = true;
    }

    /// It has left them, or was dropped there. Returns whether a segment waited for that.
    pub fn on_left(&mut self, seq: u64) -> bool {
        if let Some(place) = self.segments.iter().position(|segment| segment.0 == seq) {
            self.queued -= self.segments.swap_remove(place).1;
        }
        std::mem::replace(&mut self.is_waiting, false)
    }
}

/// The rate, in bytes per second, that Linux assumes for a sender without pacing. It is twice the window in a round
/// trip while the window is below half of the threshold, else 1.2 times the window.
pub fn assumed_rate(window: f64, threshold: f64, round_trip: Option<Span>, segment: f64) -> f64 {
    let factor = if window < threshold / 2.0 { 2.0 } else { 1.2 };
    round_trip.map_or(0.0, |it| factor * window * segment / it.seconds().max(1e-6))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The payload of a segment.
    const LEN: u64 = 1448;

    /// Gives new segments, in pieces of so many, until one has to wait.
    fn fill(queue: &mut SmallQueue, piece: u64, len: u64, rate: f64) -> u64 {
        queue.begin();
        let mut given = 0;
        while queue.allows(len, false, Some(piece * len), || rate) {
            queue.on_queued(given, len, piece > 1);
            given += 1;
        }
        given
    }

    #[test]
    fn two_pieces_may_wait() {
        for piece in [1, 2] {
            let mut queue = SmallQueue::new(Some(piece * LEN));
            assert_eq!(fill(&mut queue, piece, LEN, 0.0), 2 * piece);
            assert_eq!(fill(&mut queue, piece, LEN, 0.0), 0);
            // One has left: a whole piece follows.
            assert!(queue.on_left(0));
            assert!(!queue.on_left(9000), "nobody waits any more");
            assert_eq!(fill(&mut queue, piece, LEN, 0.0), piece);
        }
    }

    #[test]
    fn small_segments_need_more_memory_than_their_share() {
        for (len, follows) in [(LEN, 2), (988, 0)] {
            let mut queue = SmallQueue::new(Some(2 * len));
            assert_eq!(fill(&mut queue, 2, len, 0.0), 4);
            queue.on_left(0);
            assert_eq!(fill(&mut queue, 2, len, 0.0), follows, "behind three of {len}");
        }
    }

    #[test]
    fn the_limit_is_that_of_the_piece_which_is_sent() {
        let queue = |waiting: u64| {
            let mut queue = SmallQueue::new(Some(2 * LEN));
            (0..waiting).for_each(|seq| queue.on_queued(seq, LEN, false));
            queue
        };
        let one = |queue: &mut SmallQueue, again| queue.allows(LEN, again, Some(LEN), || 0.0);
        let two = |queue: &mut SmallQueue, again| queue.allows(LEN, again, Some(2 * LEN), || 0.0);
        assert!(one(&mut queue(1), false) && !one(&mut queue(2), false), "as of a sender that paces slowly");
        let mut behind_two = queue(2);
        assert!(two(&mut behind_two, false) && two(&mut behind_two, false), "both segments of a pair");
        // What is sent again has twice the room.
        assert!(one(&mut queue(3), true) && !one(&mut queue(4), true));
        assert!(two(&mut queue(4), true));
    }

    #[test]
    fn a_segment_that_is_cut_from_a_buffer_is_copied_into_a_power_of_two() {
        // A retransmission by itself: four that left by themselves are as much as its limit, four that were cut less.
        for (cut, allows) in [(false, false), (true, true)] {
            let mut queue = SmallQueue::new(Some(2 * LEN));
            (0..4).for_each(|seq| queue.on_queued(seq, LEN, cut));
            assert_eq!(queue.allows(LEN, true, Some(LEN), || 0.0), allows, "{cut}");
        }
        let mut queue = SmallQueue::new(None);
        let mut memory = |len| {
            let before = queue.queued;
            queue.on_queued(0, len, true);
            queue.queued - before
        };
        assert_eq!([448, 449, 1472, 1473].map(&mut memory), [1280, 2304, 2304, 4352]);
    }

    #[test]
    fn whoever_waited_is_told_even_if_another_was_sent_since() {
        let mut queue = SmallQueue::new(Some(2 * LEN));
        (0..2).for_each(|seq| queue.on_queued(seq, LEN, false));
        assert!(!queue.allows(LEN, false, Some(LEN), || 0.0));
        assert!(queue.allows(LEN, false, Some(2 * LEN), || 0.0));
        assert!(queue.on_left(0));
    }

    #[test]
    fn what_the_rate_sends_in_a_millisecond_may_wait() {
        let mut queue = SmallQueue::new(Some(LEN));
        assert_eq!(fill(&mut queue, 1, LEN, 10.0 * (LEN + OVERHEAD) as f64 * 1024.0), 10);
        let second = Span::from_secs(1);
        assert_eq!(assumed_rate(10.0, 65_535.0, Some(second), 1000.0), 20_000.0);
        assert_eq!(assumed_rate(10.0, 20.0, Some(second), 1000.0), 12_000.0);
        assert_eq!(assumed_rate(10.0, 20.0, None, 1000.0), 0.0);
    }

    #[test]
    fn without_a_limit_all_may_wait() {
        let mut queue = SmallQueue::new(None);
        queue.on_queued(0, 1 << 40, false);
        assert!(!queue.is_on() && queue.allows(LEN, false, None, || 0.0));
    }

    #[test]
    fn a_segment_is_there_until_all_its_copies_have_left() {
        let mut queue = SmallQueue::new(Some(LEN));
        [1, 1001, 1].iter().for_each(|seq| queue.on_queued(*seq, LEN, false));
        assert!(!queue.on_left(1) && queue.has(1));
        queue.wait();
        assert!(queue.on_left(1) && !queue.has(1) && queue.has(1001));
    }
}
