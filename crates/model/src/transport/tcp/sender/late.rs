//! Acknowledgements that arrive late, as their timestamp shows (RFC 7323 §5.3 R1).

use hopyard_engine::Span;

use super::{Stage, TcpSender};
use crate::packet::TcpHeader;
use crate::transport::connection::is_earlier;

impl TcpSender {
    /// Remembers the receiver's timestamp. Returns whether the acknowledgement counts; one that does not is answered.
    pub(super) fn note_timestamp(&mut self, header: &TcpHeader) -> bool {
        let Some((value, _)) = header.timestamps else { return true };
        if !self.core.params.paws || self.stage != Stage::Open {
            self.peer_timestamp = value;
            return true;
        }
        if !self.is_outdated(value, header) {
            if !is_earlier(value, self.peer_timestamp) {
                self.peer_timestamp = value;
            }
            return true;
        }
        self.core.counters.outdated_acks += 1;
        self.answer |= self.outdated.note(self.core.now, header.flags.fin);
        false
    }

    /// Whether the timestamp is older than that of an acknowledgement that counted, by more than rounding can explain.
    /// A duplicate that changes nothing may be late: it counts if it is younger than a retransmission timeout.
    fn is_outdated(&self, value: u32, header: &TcpHeader) -> bool {
        if !is_earlier(value.wrapping_add(1), self.peer_timestamp) {
            return false;
        }
        let is_duplicate = header.len == 0
            && !header.flags.fin
            && header.ack == self.core.una()
            && u64::from(header.window) <= self.core.advertised();
        let late = Span::from_millis(self.peer_timestamp.wrapping_sub(value).into());
        !is_duplicate || late > self.core.rtt.timeout()
    }
}
