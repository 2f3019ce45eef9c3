//! Acknowledgements that arrive late, as their timestamp shows (RFC 7323 §5.3 R1).

use hopyard_engine::{Span, Time};

use super::{Stage, TcpSender};
use crate::packet::TcpHeader;
use crate::transport::connection::is_earlier;

/// At most one acknowledgement without payload is answered in this time (`tcp_invalid_ratelimit`).
const INTERVAL: Span = Span::from_millis(500);

/// What an end remembers of acknowledgements that it has thrown away.
#[derive(Clone, Copy, Debug, Default)]
pub struct Outdated {
    /// When one was answered last.
    answered: Option<Time>,
    /// The event at hand is such an acknowledgement: nothing is sent but the answer.
    event: bool,
}

impl Outdated {
    /// An event at the sender begins.
    pub const fn begin(&mut self) {
        self.event = false;
    }

    /// Whether the event at hand is an outdated acknowledgement.
    pub const fn is_event(&self) -> bool {
        self.event
    }

    /// Whether one that arrives now is answered.
    fn is_answered(&mut self, now: Time) -> bool {
        let answers = self.answered.is_none_or(|answered| now.since(answered) >= INTERVAL);
        if answers {
            self.answered = Some(now);
        }
        answers
    }
}

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
        self.outdated.event = true;
        self.answer |= header.flags.fin || self.outdated.is_answered(self.core.now);
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
