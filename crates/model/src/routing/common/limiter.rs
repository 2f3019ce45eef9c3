//! Limits of rates, such as the limits of RFC 3561 §6.3 and §6.11.

use std::collections::VecDeque;

use hopyard_engine::{Span, Time};

/// The span over which rates are limited.
const SECOND: Span = Span::from_secs(1);

/// A limit on the number of messages in any second.
#[derive(Debug)]
pub struct Limiter {
    limit: usize,
    sent: VecDeque<Time>,
}

impl Limiter {
    /// At most `limit` messages a second; zero for no limit.
    #[must_use]
    pub const fn new(limit: u16) -> Self {
        Self { limit: limit as usize, sent: VecDeque::new() }
    }

    /// Counts a message.
    ///
    /// # Errors
    ///
    /// The time at which the message may be sent, if that is later.
    pub fn pass(&mut self, now: Time) -> Result<(), Time> {
        if self.limit == 0 {
            return Ok(());
        }
        if self.sent.len() == self.limit {
            match self.sent.front() {
                Some(&oldest) if now.since(oldest) < SECOND => return Err(oldest + SECOND),
                _ => self.sent.pop_front(),
            };
        }
        self.sent.push_back(now);
        Ok(())
    }
}
