//! The way from the MACs up to IP: one line of packets for all nodes.
//!
//! The delay is the same at every node, so packets leave in the order in which they came. The line has one event in the
//! event queue, for its first packet. The others keep their order numbers. A broadcast that fifteen neighbours receive
//! is thus one event instead of fifteen.

use std::collections::VecDeque;

use hopyard_engine::{Order, Span, Time};

use crate::packet::{NodeId, PacketId};

/// A packet on its way up.
#[derive(Clone, Copy, Debug)]
pub struct Rising {
    /// When it reaches IP.
    pub at: Time,
    /// Its order among the events of that time.
    pub order: Order,
    /// Where.
    pub node: NodeId,
    /// What.
    pub packet: PacketId,
    /// The neighbour that sent it.
    pub from: NodeId,
}

/// Packets on their way up, in order of time.
#[derive(Clone, Debug)]
pub struct Upward {
    delay: Span,
    line: VecDeque<Rising>,
    /// How many of the first packets [`Upward::coming`] has returned already.
    seen: usize,
}

impl Upward {
    /// An empty line, through which a packet takes `delay`.
    #[must_use]
    pub const fn new(delay: Span) -> Self {
        Self { delay, line: VecDeque::new(), seen: 0 }
    }

    /// Whether the delay is zero, so that packets need not wait in the line.
    #[inline]
    #[must_use]
    pub const fn is_instant(&self) -> bool {
        self.delay.is_zero()
    }

    /// Adds a packet. If the result is a time and an order, the caller must push an event for them.
    #[inline]
    #[must_use = "the time given must be scheduled"]
    pub fn push(&mut self, node: NodeId, packet: PacketId, from: NodeId, now: Time, order: Order) -> Option<Time> {
        let at = now + self.delay;
        let first = self.line.is_empty();
        self.line.push_back(Rising { at, order, node, packet, from });
        first.then_some(at)
    }

    /// Removes the first packet, whose time has come.
    #[inline]
    pub fn pop(&mut self) -> Option<Rising> {
        self.seen = self.seen.saturating_sub(1);
        self.line.pop_front()
    }

    /// The packets that come next. Once all packets of the last call have left, these are all packets in the line;
    /// before that, there are none.
    #[inline]
    pub fn coming(&mut self) -> impl Iterator<Item = &Rising> {
        let from = if self.seen == 0 { 0 } else { self.line.len() };
        self.seen = self.seen.max(self.line.len() - from);
        self.line.range(from..)
    }

    /// The first packet.
    #[inline]
    #[must_use]
    pub fn front(&self) -> Option<&Rising> {
        self.line.front()
    }

    /// Every packet in the line.
    pub fn held(&self) -> impl Iterator<Item = PacketId> + '_ {
        self.line.iter().map(|rising| rising.packet)
    }
}

#[cfg(test)]
mod tests {
    use hopyard_engine::Queue;

    use super::*;
    use crate::context::Context;
    use crate::link::test_packets::data;

    #[test]
    fn packets_go_up_in_turn_after_the_delay() {
        let mut queue = Queue::<()>::default();
        let mut cx = Context::default();
        let mut upward = Upward::new(Span::from_micros(25));
        let packets = [data(&mut cx), data(&mut cx)];
        let mut push = |nanos, node, packet| {
            upward.push(NodeId(node), packet, NodeId(9), Time::from_nanos(nanos), queue.reserve(1))
        };
        assert_eq!(push(100, 1, packets[0]), Some(Time::from_nanos(25_100)), "the first needs an event");
        assert_eq!(push(300, 2, packets[1]), None, "the second does not yet");
        assert_eq!(upward.held().collect::<Vec<_>>(), packets);
        assert_eq!(upward.coming().count(), 2);
        let first = upward.pop().expect("the first");
        assert_eq!(upward.coming().count(), 0, "the second was among them");
        assert_eq!((first.node, first.packet, first.from), (NodeId(1), packets[0], NodeId(9)));
        let second = upward.front().expect("the second");
        assert_eq!((second.at, second.node), (Time::from_nanos(25_300), NodeId(2)));
        assert!(second.order > first.order);
        assert!(!upward.is_instant() && Upward::new(Span::ZERO).is_instant());
    }
}
