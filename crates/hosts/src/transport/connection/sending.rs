//! The steps of an event at a sender that every sender has.

use hopyard_engine::Time;

use super::core::Core;
use super::peer::Stage;
use super::scoreboard::Segment;
use crate::packet::TcpHeader;
use crate::transport::notice::NetworkEvent;

impl Core {
    /// The first step of every event.
    #[inline]
    pub(crate) fn begin(&mut self, now: Time, stage: Stage) {
        if stage == Stage::Closed {
            self.skip_to(now);
        } else {
            self.spend(now);
        }
        self.now = now;
        self.limited = false;
        self.pushes = false;
        self.burst = match self.params.max_burst {
            0 => u32::MAX,
            burst => burst,
        };
    }

    /// Whether an acknowledgement, which has `moved` the edge of the window or not, is a duplicate.
    pub(crate) fn is_duplicate(&self, header: &TcpHeader, moved: bool) -> bool {
        header.ack == self.una()
            && !self.board.is_empty()
            // RFC 5681 §2: a duplicate acknowledgement has no data, SYN or FIN and does not change the window.
            // RFC 6675 §2: one with SACK information may have data or change the window.
            && !(header.flags.syn || header.flags.fin || ((moved || header.len > 0) && header.sack.is_empty()))
    }

    /// Takes in an event of the network layer. Returns whether the congestion control is told.
    pub(crate) fn note_network(&mut self, event: NetworkEvent, stage: Stage) -> bool {
        match event {
            NetworkEvent::HopCount(hops) => self.hops = hops,
            NetworkEvent::Unreachable { .. } => {
                self.counters.notices += 1;
                // Before the connection is open there is no state to keep. The opening segment has its own timer.
                return stage == Stage::Open;
            }
            NetworkEvent::RouteLost | NetworkEvent::RouteRestored | NetworkEvent::CareOfChanged => {}
        }
        true
    }

    /// Adds the next new segment, which is sent at `departure`: a SYN, or data that the application wrote.
    #[inline]
    pub(crate) fn push_new(&mut self, syn: bool, departure: Time) -> Segment {
        let payload = if syn { 0 } else { self.new_payload() };
        let fin = !syn && self.ends_with(payload);
        self.fin_sent |= fin;
        let index = self.board.len();
        self.board.push(payload, syn, fin, departure);
        self.time_segment(self.board.max());
        *self.board.get(index).expect("the segment was just added")
    }

    /// Counts a segment that is sent.
    #[inline]
    pub(crate) fn count_sent(&mut self, segment: &Segment, retransmission: bool) {
        self.tail_probe = false;
        if segment.len > 0 {
            let bytes = u64::from(segment.len);
            self.counters.segments += 1;
            self.counters.bytes += bytes;
            self.count_segment();
            self.counters.retransmitted_segments += u64::from(retransmission);
            self.counters.retransmitted_bytes += if retransmission { bytes } else { 0 };
        }
    }
}
