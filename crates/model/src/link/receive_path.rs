//! The way from the MACs up to IP: one line of packets for all interfaces.
//!
//! The delay is the same at every interface, so packets leave in the order in which they came. The line has one event
//! in the event queue, for its first packet. A broadcast that fifteen neighbours receive is thus one event instead of
//! fifteen.

use std::collections::VecDeque;

use hopyard_engine::{Span, Time};

use crate::address::InterfaceId;
use crate::packet::PacketId;

/// A packet on its way up.
#[derive(Clone, Copy, Debug)]
pub struct Arriving {
    /// When it reaches IP.
    pub at: Time,
    /// Where.
    pub interface: InterfaceId,
    /// What.
    pub packet: PacketId,
    /// The neighbour's interface that sent it.
    pub from: InterfaceId,
}

/// Packets on their way up, in order of time.
#[derive(Clone, Debug)]
pub struct ReceivePath {
    delay: Span,
    line: VecDeque<Arriving>,
    /// How many of the first packets [`ReceivePath::coming`] has returned already.
    seen: usize,
}

impl ReceivePath {
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

    /// Adds a packet. If the result is a time, the caller must push an event for it.
    #[inline]
    #[must_use = "the time given must be scheduled"]
    pub fn push(&mut self, interface: InterfaceId, packet: PacketId, from: InterfaceId, now: Time) -> Option<Time> {
        let at = now + self.delay;
        let first = self.line.is_empty();
        self.line.push_back(Arriving { at, interface, packet, from });
        first.then_some(at)
    }

    /// Removes the first packet, whose time has come.
    #[inline]
    pub fn pop(&mut self) -> Option<Arriving> {
        self.seen = self.seen.saturating_sub(1);
        self.line.pop_front()
    }

    /// The packets that come next. Once all packets of the last call have left, these are all packets in the line;
    /// before that, there are none.
    #[inline]
    pub fn coming(&mut self) -> impl Iterator<Item = &Arriving> {
        let from = if self.seen == 0 { 0 } else { self.line.len() };
        self.seen = self.seen.max(self.line.len() - from);
        self.line.range(from..)
    }

    /// The first packet.
    #[inline]
    #[must_use]
    pub fn front(&self) -> Option<&Arriving> {
        self.line.front()
    }

    /// Takes out the packets at these interfaces. The pending event may come before the first of the remaining packets.
    pub fn take_out(&mut self, at: impl Fn(InterfaceId) -> bool) -> Vec<PacketId> {
        let taken = self.line.iter().filter(|it| at(it.interface)).map(|it| it.packet).collect();
        self.line.retain(|it| !at(it.interface));
        self.seen = 0;
        taken
    }

    /// Every packet in the line.
    pub fn held(&self) -> impl Iterator<Item = PacketId> + '_ {
        self.line.iter().map(|arriving| arriving.packet)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::context::Context;
    use crate::link::test_packets::data;

    #[test]
    fn packets_go_up_in_turn_after_the_delay() {
        let mut cx = Context::default();
        let mut path = ReceivePath::new(Span::from_micros(25));
        let packets = [data(&mut cx), data(&mut cx)];
        let mut push = |nanos, interface, packet| {
            path.push(InterfaceId(interface), packet, InterfaceId(9), Time::from_nanos(nanos))
        };
        assert_eq!(push(100, 1, packets[0]), Some(Time::from_nanos(25_100)), "the first needs an event");
        assert_eq!(push(300, 2, packets[1]), None, "the second does not yet");
        assert_eq!(path.held().collect::<Vec<_>>(), packets);
        assert_eq!(path.coming().count(), 2);
        let first = path.pop().expect("the first");
        assert_eq!(path.coming().count(), 0, "the second was among them");
        assert_eq!((first.interface, first.packet, first.from), (InterfaceId(1), packets[0], InterfaceId(9)));
        assert_eq!(path.take_out(|interface| interface == InterfaceId(1)), []);
        let second = path.front().expect("the second");
        assert_eq!((second.at, second.interface), (Time::from_nanos(25_300), InterfaceId(2)));
        assert!(!path.is_instant() && ReceivePath::new(Span::ZERO).is_instant());
    }
}
