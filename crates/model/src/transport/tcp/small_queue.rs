//! How much of a connection's data may wait in its own node, as Linux limits it (TCP small queues).
//!
//! A host with this limit learns when its interface has sent a segment, and gives it the next one only then. The queue
//! of the interface stays short, and its wait is no part of the round trip.
//!
//! It knows too which segments are still there, and sends none of them again: behind a broken route a segment may wait
//! for seconds, longer than the retransmission timeout. A buffer of several segments is cut up on its way to the
//! interface; what becomes of its parts, the host does not know.

use hopyard_engine::Span;

/// What the pacing rate sends in this part of a second may always wait: a power of two in Linux.
const PARTS_OF_A_SECOND: f64 = 1024.0;
/// Pieces that may always wait.
const PIECES: u64 = 2;
/// What Linux counts for a buffer besides its payload, in bytes: its descriptor and the room for headers.
const OVERHEAD: u64 = 1280;

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
    /// Nothing is queued. A `piece` is what the sender passes on at once, in bytes of payload.
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

    /// Whether a segment of this payload may be given to the node: while less waits there than two pieces, each as
    /// large as the one that begins with this segment. The second segment of a piece may always be. A retransmission
    /// may while less than twice the limit waits. The payload of the `piece` is known if the sender forms pieces.
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

    /// The segment with this sequence number and payload is in the queues of the node. One that is `shared` is half of a
    /// buffer.
    pub fn on_queued(&mut self, seq: u64, len: u64, shared: bool) {
        let memory = if len == 0 { 0 } else { len + if shared { OVERHEAD / 2 } else { OVERHEAD } };
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

/// The rate at which Linux assumes that a sender without pacing sends, in bytes per second: twice the window in a round
/// trip while the window is below half of the threshold, else 1.2 times.
pub fn assumed_rate(window: f64, threshold: f64, round_trip: Option<Span>, segment: f64) -> f64 {
    let factor = if window < threshold / 2.0 { 2.0 } else { 1.2 };
    round_trip.map_or(0.0, |it| factor * window * segment / it.seconds().max(1e-6))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Gives new segments of 1000 bytes, in pieces of this payload, until one has to wait.
    fn fill(queue: &mut SmallQueue, piece: u64, rate: f64) -> u64 {
        queue.begin();
        let mut given = 0;
        while queue.allows(1000, false, Some(piece), || rate) {
            queue.on_queued(1000 * given, 1000, piece > 1000);
            given += 1;
        }
        given
    }

    #[test]
    fn two_pieces_may_wait() {
        for piece in [1000, 2000] {
            let mut queue = SmallQueue::new(Some(piece));
            assert_eq!(fill(&mut queue, piece, 0.0), piece / 500);
            assert_eq!(fill(&mut queue, piece, 0.0), 0);
            // One has left: a whole piece follows.
            assert!(queue.on_left(0));
            assert!(!queue.on_left(9000), "nobody waits any more");
            assert_eq!(fill(&mut queue, piece, 0.0), piece / 1000);
        }
    }

    #[test]
    fn the_limit_is_that_of_the_piece_which_is_sent() {
        let queue = |shared: &[bool]| {
            let mut queue = SmallQueue::new(Some(2000));
            shared.iter().for_each(|shared| queue.on_queued(0, 1000, *shared));
            queue
        };
        let one = |queue: &mut SmallQueue, again| queue.allows(1000, again, Some(1000), || 0.0);
        let two = |queue: &mut SmallQueue, again| queue.allows(1000, again, Some(2000), || 0.0);
        let (pair, singles) = ([true, true], [false, false]);
        assert!(one(&mut queue(&pair), false), "a single segment behind a pair");
        assert!(!one(&mut queue(&singles), false), "and behind two single ones, as of a sender that paces slowly");
        let mut queue_of_two = queue(&singles);
        assert!(two(&mut queue_of_two, false) && two(&mut queue_of_two, false), "both segments of a pair");
        // What is sent again has twice the room.
        assert!(one(&mut queue(&[false; 3]), true) && !one(&mut queue(&[false; 4]), true));
        assert!(two(&mut queue(&[false; 4]), true));
    }

    #[test]
    fn whoever_waited_is_told_even_if_another_was_sent_since() {
        let mut queue = SmallQueue::new(Some(2000));
        (0..2).for_each(|seq| queue.on_queued(seq, 1000, false));
        assert!(!queue.allows(1000, false, Some(1000), || 0.0));
        assert!(queue.allows(1000, false, Some(2000), || 0.0));
        assert!(queue.on_left(0));
    }

    #[test]
    fn what_the_rate_sends_in_a_millisecond_may_wait() {
        let mut queue = SmallQueue::new(Some(1000));
        assert_eq!(fill(&mut queue, 1000, 10.0 * 2280.0 * 1024.0), 10);
        let second = Span::from_secs(1);
        assert_eq!(assumed_rate(10.0, 65_535.0, Some(second), 1000.0), 20_000.0);
        assert_eq!(assumed_rate(10.0, 20.0, Some(second), 1000.0), 12_000.0);
        assert_eq!(assumed_rate(10.0, 20.0, None, 1000.0), 0.0);
    }

    #[test]
    fn without_a_limit_all_may_wait() {
        let mut queue = SmallQueue::new(None);
        queue.on_queued(0, 1 << 40, false);
        assert!(!queue.is_on() && queue.allows(1000, false, None, || 0.0));
    }

    #[test]
    fn a_segment_is_there_until_all_its_copies_have_left() {
        let mut queue = SmallQueue::new(Some(1000));
        queue.on_queued(1, 1000, false);
        queue.on_queued(1001, 1000, false);
        queue.on_queued(1, 1000, false);
        assert!(!queue.on_left(1) && queue.has(1));
        queue.wait();
        assert!(queue.on_left(1) && !queue.has(1) && queue.has(1001));
    }
}
