//! Buffers of several segments that are sent again: in one buffer again, if all of them are lost and the window has
//! room for them. Otherwise the buffer is cut up, and its parts lose the flag PSH that it was sent with.

use super::pairs::Pairs;
use crate::transport::linux::state::State;

/// The buffer that is being sent again.
#[derive(Clone, Copy, Debug, Default)]
pub struct Resending {
    /// Its segments, and the segments that are not sent yet.
    whole: u32,
    left: u32,
    /// The first sequence number of the next one.
    next: u64,
}

impl Resending {
    /// An event at the sender begins.
    pub const fn begin(&mut self) {
        self.left = 0;
    }

    /// The segment at `index` is to be sent again: as the next one of the buffer, or as the first one of another.
    pub fn choose(&mut self, tcp: &State, index: usize) {
        let Some(segment) = tcp.core.board.get(index) else { return };
        if self.left > 0 && segment.seq == self.next {
            return;
        }
        let followers = tcp.tagged(index + 1).take_while(|(it, tag)| tag.joined && it.lost).count() as u32;
        let room = (tcp.core.cwnd - tcp.core.in_network()).max(1.0) as u32;
        self.whole = (1 + followers).min(room).min(Pairs::buffer(tcp));
        self.left = self.whole;
    }

    /// The segment at `index` was sent again; one that did not wait for the window was sent by itself.
    pub fn on_sent(&mut self, tcp: &mut State, index: usize) {
        let several = self.left > 0 && self.whole > 1;
        let follows = several && self.left < self.whole;
        self.left = self.left.saturating_sub(1);
        self.next = tcp.core.board.get(index).map_or(0, |segment| segment.end());
        let tag = &mut tcp.tags[index];
        tag.ends_buffer = several && self.left == 0;
        tag.shared |= several;
        tag.joined |= follows;
    }
}
