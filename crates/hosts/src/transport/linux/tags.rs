//! The notes of Linux's sender on the segments of the scoreboard.
//!
//! The scoreboard belongs to every sender. Its changes go through this file, so that each of its segments has a tag.

use hopyard_engine::Time;

use super::state::{State, Tag};
use crate::packet::SackBlocks;
use crate::transport::connection::{Acked, Segment};

impl State {
    /// Every segment from that at `index` on, with its tag, in order.
    pub fn tagged(&self, index: usize) -> impl Iterator<Item = (&Segment, &Tag)> {
        self.core.board.iter().skip(index).zip(self.tags.iter().skip(index))
    }

    /// A segment is sent for the first time, at `departure`.
    pub fn push_new(&mut self, syn: bool, departure: Time) -> Segment {
        self.tags.push_back(Tag::default());
        self.core.push_new(syn, departure)
    }

    /// The segment at `index` is sent again, at `departure`.
    pub fn resend(&mut self, index: usize, departure: Time) -> Segment {
        let lost = self.core.board.get(index).is_some_and(|segment| segment.lost);
        let tag = &mut self.tags[index];
        *tag = Tag { repaired: tag.repaired || lost, resent: true, shared: false, untimed: false, ..*tag };
        self.core.board.resend(index, departure)
    }

    /// Removes the segments that `ack` covers. It must be new and not beyond the data sent.
    pub fn advance(&mut self, ack: u64) -> Acked {
        let acked = self.core.board.advance(ack, self.core.now);
        self.tags.drain(..acked.segments as usize);
        // The rest of a buffer is a buffer.
        self.split(0);
        acked
    }

    /// Marks the segments that `blocks` cover whole. They do not stay in one buffer with others.
    pub fn mark_sacked(&mut self, blocks: &SackBlocks) {
        for (start, end) in blocks.iter() {
            let mut index = self.core.board.index_of(start.max(self.core.una()));
            self.split(index);
            while let Some(segment) = self.core.board.get(index).filter(|segment| segment.end() <= end) {
                self.tags[index].repaired &= segment.sacked;
                self.tags[index].resent &= segment.sacked;
                index += 1;
            }
            self.split(index);
        }
        self.core.board.mark_sacked(blocks);
    }

    /// Marks the segment at `index` as lost. A probe that was sent again is lost with the second mark only.
    pub fn mark_lost(&mut self, index: usize) {
        if let Some(segment) = self.core.board.get(index).filter(|segment| !segment.sacked) {
            self.tags[index].resent &= !segment.lost && !self.tags[index].repaired;
        }
        self.core.mark_lost(index);
    }

    /// Segments that were marked as lost were only late.
    pub fn unmark_losses(&mut self) {
        self.core.board.unmark_losses();
        self.tags.iter_mut().for_each(|tag| tag.repaired = false);
    }

    /// Which segment is the first that is deemed lost, or was sent again for that and is not reported since.
    pub fn first_missing(&self) -> Option<usize> {
        self.tagged(0).position(|(segment, tag)| segment.lost || tag.repaired)
    }

    /// The segment at `index`, if it exists, begins a buffer.
    pub fn split(&mut self, index: usize) {
        if let Some(tag) = self.tags.get_mut(index) {
            tag.joined = false;
        }
    }

    /// How many segments from that at `index` on are in one buffer.
    pub fn together(&self, index: usize) -> u32 {
        1 + self.tags.iter().skip(index + 1).take_while(|tag| tag.joined).count() as u32
    }

    /// The segment at `index` is to be sent again. Small segments after it become a part of it, up to the size of a
    /// full segment, and as far as the receiver's window reaches. Each must have left by itself, and must not be
    /// reported.
    pub fn collapse(&mut self, index: usize) {
        let (edge, mss) = (self.core.edge(), self.core.params.mss());
        while let (Some(first), Some(next)) = (self.core.board.get(index), self.core.board.get(index + 1))
            && first.len + next.len <= mss
            && next.end() <= edge
            && self.is_alone(index)
            && self.is_alone(index + 1)
        {
            self.core.board.merge(index);
            self.tags[index].psh |= self.tags.remove(index + 1).is_some_and(|next| next.psh);
            if let Some(sampler) = &mut self.core.sampler {
                sampler.on_merged(index);
            }
        }
    }

    fn is_alone(&self, index: usize) -> bool {
        let segment = self.core.board.get(index).is_some_and(|segment| !segment.sacked && !segment.syn);
        segment && !self.tags[index].joined && self.together(index) == 1
    }
}

#[cfg(test)]
mod tests {
    use hopyard_engine::Streams;

    use super::*;
    use crate::params::{LINUX, Params as _};
    use crate::transport::connection::{Core, Params};

    fn sent(segments: usize) -> State {
        let core = Core::new(&Params::of_profile(LINUX), &mut Streams::new(1, 1).stream("test"));
        let mut state = State::new(core, 2);
        state.core.app_end = u64::MAX;
        for _ in 0..segments {
            state.push_new(false, Time::ZERO);
        }
        state
    }

    #[test]
    fn the_rest_of_a_buffer_is_a_buffer() {
        let mut state = sent(4);
        (1..3).for_each(|index| state.tags[index].joined = true);
        assert_eq!(state.together(0), 3);
        state.advance(1448);
        assert!(!state.tags[0].joined);
        assert_eq!((state.together(0), state.tags.len()), (2, 3));
    }

    #[test]
    fn a_probe_that_was_sent_again_is_lost_with_the_second_mark() {
        let mut state = sent(2);
        state.resend(0, Time::ZERO);
        state.mark_lost(0);
        assert!(state.tags[0].resent);
        state.mark_lost(0);
        assert!(!state.tags[0].resent);
        state.resend(0, Time::ZERO);
        assert_eq!(state.first_missing(), Some(0), "it was sent again because it was lost");
        state.mark_sacked(&SackBlocks::new(0, [(0, 1448)]));
        assert_eq!(state.first_missing(), None);
    }
}
