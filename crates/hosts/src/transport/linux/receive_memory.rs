//! The memory of the data that a receiver holds: in order until the application reads it, and beyond gaps.
//!
//! A segment lies in a piece of memory of its own. One that follows in order becomes a part of the piece before it: it
//! is copied if the memory there has room for its payload, and linked to the piece otherwise. Then it needs no
//! description of its own.

/// The memory of a frame of Ethernet: the frame, room for headers, and its description.
const FRAME: u64 = 2176;
/// The least memory of a segment beyond its payload.
const LEAST: u64 = 704;
/// The payload that a frame's memory has room for.
const ROOM: u64 = 1456;
/// The part of the description that a linked segment does not need.
const DESCRIBED: u64 = 256;
/// So many segments lie in one piece at most.
const LINKED: u64 = 18;

/// The memory of a segment with `len` bytes of payload.
pub(super) fn of_segment(len: u64) -> u64 {
    FRAME.max(len + LEAST)
}

/// A piece of memory with data, from one sequence number to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Piece {
    from: u64,
    to: u64,
    memory: u64,
    /// The segments that were not copied, and the room behind the payload of a single one.
    segments: u64,
    room: u64,
}

impl Piece {
    fn new(from: u64, to: u64) -> Self {
        let len = to - from;
        Self { from, to, memory: of_segment(len), segments: 1, room: ROOM.saturating_sub(len) }
    }

    /// Takes in a piece, if that follows it and there is room for its segments. Returns whether it did.
    fn take(&mut self, next: &Self) -> bool {
        let len = next.to - next.from;
        if next.from != self.to {
            return false;
        }
        if len <= self.room {
            self.room -= len;
        } else if self.segments + next.segments <= LINKED {
            self.segments += next.segments;
            self.memory += next.memory - DESCRIBED;
            self.room = 0;
        } else {
            return false;
        }
        self.to = next.to;
        true
    }
}

/// The data that a receiver holds.
#[derive(Clone, Debug, Default)]
pub(super) struct Held {
    /// The data in order, and the data beyond gaps.
    in_order: Vec<Piece>,
    beyond: Vec<Piece>,
}

impl Held {
    /// All of the memory.
    pub fn memory(&self) -> u64 {
        self.in_order.iter().chain(&self.beyond).map(|piece| piece.memory).sum()
    }

    /// The end of each piece in order, with the memory that is taken when the application has read so far.
    pub fn frees(&self) -> impl Iterator<Item = (u64, u64)> {
        self.in_order.iter().scan(self.memory(), |taken, piece| {
            *taken -= piece.memory;
            Some((piece.to, *taken))
        })
    }

    /// A segment arrived in order.
    pub fn put(&mut self, from: u64, to: u64) {
        self.append(Piece::new(from, to));
    }

    fn append(&mut self, piece: Piece) {
        if !self.in_order.last_mut().is_some_and(|last| last.take(&piece)) {
            self.in_order.push(piece);
        }
    }

    /// Data beyond a gap is in order now, up to `next`.
    pub fn close_gap(&mut self, next: u64) {
        let count = self.beyond.partition_point(|piece| piece.from < next);
        for piece in self.beyond.drain(..count).collect::<Vec<_>>() {
            if self.in_order.last().is_none_or(|last| last.to < piece.to) {
                self.append(piece);
            }
        }
    }

    /// A segment arrived beyond a gap. Returns the memory of the piece that it begins, which is not counted yet when
    /// the window grows.
    pub fn put_beyond(&mut self, from: u64, to: u64) -> u64 {
        let place = self.beyond.partition_point(|piece| piece.from < from);
        let piece = Piece::new(from, to);
        if place > 0 && self.beyond[place - 1].take(&piece) {
            return 0;
        }
        let covered = self.beyond[place..].iter().take_while(|other| other.to <= to).count();
        self.beyond.splice(place..place + covered, [piece]);
        piece.memory
    }

    /// The application has read up to `read`. Returns the end of the first piece that it has read whole.
    pub fn read(&mut self, read: u64) -> Option<u64> {
        let count = self.in_order.iter().take_while(|piece| piece.to <= read).count();
        self.in_order.drain(..count).next().map(|first| first.to)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SEGMENT: u64 = 1448;

    fn in_order(count: u64, len: u64) -> Held {
        let mut held = Held::default();
        (0..count).for_each(|number| held.put(number * len, (number + 1) * len));
        held
    }

    #[test]
    fn segments_in_a_row_are_linked() {
        let memory = |count| in_order(count, SEGMENT).memory();
        assert_eq!((memory(1), memory(2)), (FRAME, 2 * FRAME - DESCRIBED));
        assert_eq!(memory(19), 19 * FRAME - 17 * DESCRIBED, "two pieces");
    }

    #[test]
    fn small_segments_are_copied_while_there_is_room() {
        assert_eq!(in_order(14, 100).memory(), FRAME);
        assert_eq!(in_order(15, 100).memory(), 2 * FRAME - DESCRIBED, "1456 bytes");
        assert_eq!(in_order(16, 100).memory(), 3 * FRAME - 2 * DESCRIBED, "what is linked is not filled up");
    }

    #[test]
    fn what_lies_beyond_a_gap_stays_in_its_pieces() {
        let mut held = Held::default();
        assert_eq!(held.put_beyond(SEGMENT, 2 * SEGMENT), FRAME);
        assert_eq!(held.put_beyond(2 * SEGMENT, 3 * SEGMENT), 0, "linked");
        assert_eq!(held.put_beyond(4 * SEGMENT, 5 * SEGMENT), FRAME, "another gap");
        assert_eq!(held.memory(), 3 * FRAME - DESCRIBED);
        held.put(0, SEGMENT);
        held.close_gap(3 * SEGMENT);
        assert_eq!((held.in_order.len(), held.beyond.len()), (1, 1));
        assert_eq!(held.read(3 * SEGMENT), Some(3 * SEGMENT));
        assert_eq!(held.memory(), FRAME);
    }

    #[test]
    fn a_segment_takes_the_place_of_those_that_it_covers() {
        let mut held = Held::default();
        held.put_beyond(1000, 1100);
        held.put_beyond(1200, 1300);
        held.put_beyond(1000, 1300);
        assert_eq!(held.memory(), FRAME);
        held.close_gap(1300);
        assert_eq!((held.read(1200), held.read(1300)), (None, Some(1300)));
    }
}
