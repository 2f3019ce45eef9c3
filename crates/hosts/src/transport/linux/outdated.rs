//! The sender's memory of acknowledgements that came late (RFC 7323 §5.3 R1).

use hopyard_engine::{Span, Time};

/// At most one acknowledgement without payload is answered in this time (`tcp_invalid_ratelimit`).
const INTERVAL: Span = Span::from_millis(500);

/// The memory of an end about acknowledgements that it has thrown away.
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

    /// One has arrived. Returns whether it is answered.
    pub fn note(&mut self, now: Time, has_fin: bool) -> bool {
        self.event = true;
        let answers = has_fin || self.answered.is_none_or(|answered| now.since(answered) >= INTERVAL);
        if answers && !has_fin {
            self.answered = Some(now);
        }
        answers
    }
}
