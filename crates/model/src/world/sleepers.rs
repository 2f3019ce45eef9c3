//! Radios that sleep at given times: when they do so next.

use hopyard_engine::{Span, Time};

use crate::address::{InterfaceId, NodeId};
use crate::channel::ChannelId;

/// A radio that sleeps at given times.
#[derive(Clone, Debug)]
pub(super) struct Sleeper {
    pub node: NodeId,
    pub interface: InterfaceId,
    pub channel: ChannelId,
    pub station: usize,
    /// The times, each from its beginning to its end.
    pub times: Vec<(Time, Time)>,
    pub every: Option<Span>,
    /// The place of the next of these times, and how often all of them have been.
    pub next: usize,
    pub rounds: u64,
}

impl Sleeper {
    /// The next time of sleep.
    pub fn span(&self) -> Option<(Time, Time)> {
        let &(from, to) = self.times.get(self.next)?;
        let passed = self.every.unwrap_or(Span::ZERO) * self.rounds;
        Some((from + passed, to + passed))
    }

    /// This time is over, or will be.
    pub fn step(&mut self) {
        self.next += 1;
        if self.next == self.times.len() && self.every.is_some() {
            (self.next, self.rounds) = (0, self.rounds + 1);
        }
    }
}
