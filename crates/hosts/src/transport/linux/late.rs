//! Acknowledgements that arrive late, as their timestamp shows (RFC 7323 §5.3 R1).

use hopyard_engine::Span;

use super::sender::Sender;
use crate::packet::TcpHeader;
use crate::transport::connection::{Stage, is_earlier};

impl Sender {
    /// Remembers the receiver's timestamp. Returns whether the acknowledgement counts; one that does not is answered.
    pub(super) fn note_timestamp(&mut self, header: &TcpHeader) -> bool {
        let Some((value, _)) = header.timestamps else { return true };
        if self.stage != Stage::Open {
            self.peer.timestamp = value;
            return true;
        }
        if !self.is_outdated(value, header) {
            if !is_earlier(value, self.peer.timestamp) {
                self.peer.timestamp = value;
            }
            return true;
        }
        self.tcp.core.counters.outdated_acks += 1;
        self.peer.answer |= self.outdated.note(self.tcp.core.now, header.flags.fin);
        false
    }

    /// Whether the timestamp is older than the timestamp of an acknowledgement that counted, by more than rounding can
    /// explain. A duplicate that changes nothing may be late: it counts if it is younger than a retransmission timeout.
    fn is_outdated(&self, value: u32, header: &TcpHeader) -> bool {
        if !is_earlier(value.wrapping_add(1), self.peer.timestamp) {
            return false;
        }
        let is_duplicate = header.len == 0
            && !header.flags.fin
            && header.ack == self.tcp.core.una()
            && u64::from(header.window) <= self.tcp.core.advertised();
        let late = Span::from_millis(self.peer.timestamp.wrapping_sub(value).into());
        !is_duplicate || late > self.tcp.core.rtt.timeout()
    }
}
