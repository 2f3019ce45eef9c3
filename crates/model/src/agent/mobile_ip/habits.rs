//! The changes that ns-2 makes to the messages of all its agents (read for the facts: `dsdv/dsdv.cc`).
//!
//! By radio, each message passes the node's DSDV. DSDV adds an IP header to the bytes that the node originates, and
//! delays broadcasts. A reply is the packet of the request, and an agent passes on the packet that came. Therefore
//! bytes that were added stay.

use std::collections::VecDeque;

use hopyard_engine::{Rng, Span, Streams, Time};

use super::message::Message;
use crate::address::InterfaceId;

/// The longest time that a broadcast by radio waits.
const BROADCAST_JITTER: Span = Span::from_millis(10);

/// The changes that ns-2 makes to the messages of agents and hosts.
#[derive(Clone, Debug)]
pub(super) struct Habits {
    rng: Rng,
    /// The bytes of the message that is handled.
    pub came_with: Option<u32>,
    /// Broadcasts that wait, and when they leave.
    waiting: VecDeque<(Time, Message, InterfaceId)>,
}

impl Habits {
    pub fn new(rng: &mut Rng) -> Self {
        let rng = Streams::new(rng.next_u64(), 0).stream("broadcasts");
        Self { rng, came_with: None, waiting: VecDeque::new() }
    }

    /// The bytes of a message, without the bytes that the routing protocol adds.
    pub fn bytes(&self, message: &Message) -> u32 {
        match message {
            Message::Request(_) | Message::Reply(_) => self.came_with.unwrap_or_else(|| message.bytes(true)),
            Message::Advertisement(_) | Message::Solicitation | Message::Unreachable(..) => message.bytes(true),
        }
    }

    pub fn delay(&mut self, message: Message, interface: InterfaceId, now: Time) {
        self.waiting.push_back((now + BROADCAST_JITTER.mul_f64(self.rng.uniform()), message, interface));
    }

    pub fn deadline(&self) -> Time {
        self.waiting.iter().map(|it| it.0).min().unwrap_or(Time::NEVER)
    }

    /// A broadcast whose time has come.
    pub fn due(&mut self, now: Time) -> Option<(Message, InterfaceId)> {
        let place = self.waiting.iter().position(|it| it.0 <= now)?;
        self.waiting.remove(place).map(|(_, message, interface)| (message, interface))
    }
}
