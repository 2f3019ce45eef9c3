//! The way from the MACs up to IP, for all nodes in one line.
//!
//! It takes equally long at every node, so that who came first leaves first. The line has one event in the queue, for the
//! packet in front; the others hold their places in the order of scheduling. A broadcast that fifteen neighbours hear is then
//! one event rather than fifteen.

use std::collections::VecDeque;

use hopyard_engine::{Order, Span, Time};

use crate::packet::{NodeId, PacketId};

/// A packet on its way up.
#[derive(Clone, Copy, Debug)]
pub struct Rising {
    /// When it reaches IP.
    pub at: Time,
    /// Its place among what happens then.
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
    /// How many in front have been given by [`Upward::coming`].
    seen: usize,
}

impl Upward {
    /// An empty line, through which a packet takes `delay`.
    #[must_use]
    pub const fn new(delay: Span) -> Self {
        Self { delay, line: VecDeque::new(), seen: 0 }
    }

    /// Whether packets take no time, and need not stand in line.
    #[inline]
    #[must_use]
    pub const fn is_instant(&self) -> bool {
        self.delay.is_zero()
    }

    /// A packet starts on its way. When this gives a time, an event must be pushed for it, at this order.
    #[inline]
    #[must_use = "the time given must be scheduled"]
    pub fn push(&mut self, node: NodeId, packet: PacketId, from: NodeId, now: Time, order: Order) -> Option<Time> {
        let at = now + self.delay;
        let first = self.line.is_empty();
        self.line.push_back(Rising { at, order, node, packet, from });
        first.then_some(at)
    }

    /// Takes the packet in front, whose time has come.
    #[inline]
    pub fn pop(&mut self) -> Option<Rising> {
        self.seen = self.seen.saturating_sub(1);
        self.line.pop_front()
    }

    /// Those that come next: all in line, once the last of those given before has left it; none until then.
    #[inline]
    pub fn coming(&mut self) -> impl Iterator<Item = &Rising> {
        let from = if self.seen == 0 { 0 } else { self.line.len() };
        self.seen = self.seen.max(self.line.len() - from);
        self.line.range(from..)
    }

    /// The packet in front.
    #[inline]
    #[must_use]
    pub fn front(&self) -> Option<&Rising> {
        self.line.front()
    }

    /// Every packet that is here.
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
