//! Packets that wait for a route.

use std::collections::VecDeque;

use hopyard_engine::{Span, Time};

use crate::address::{Address, NodeId};
use crate::context::{Context, DropReason};
use crate::packet::PacketId;

/// A packet that waits.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    packet: PacketId,
    destination: Address,
    expires: Time,
}

/// The packets that wait at a node, in order of arrival, which is the order of their expiry too.
#[derive(Debug)]
pub struct SendBuffer {
    node: NodeId,
    limit: usize,
    timeout: Span,
    waiting: VecDeque<Waiting>,
}

impl SendBuffer {
    /// A buffer of `node` for `limit` packets, each for at most `timeout`.
    #[must_use]
    pub const fn new(node: NodeId, limit: usize, timeout: Span) -> Self {
        Self { node, limit, timeout, waiting: VecDeque::new() }
    }

    /// Holds a packet. When the buffer is full the oldest packet is dropped.
    pub fn push(&mut self, packet: PacketId, cx: &mut Context) {
        self.expire(cx);
        if self.waiting.len() == self.limit
            && let Some(oldest) = self.waiting.pop_front()
        {
            cx.drop_packet(self.node, oldest.packet, DropReason::RouteBufferFull);
        }
        let destination = cx.packets[packet].destination;
        self.waiting.push_back(Waiting { packet, destination, expires: cx.now + self.timeout });
    }

    /// Drops the packets that have waited too long.
    pub fn expire(&mut self, cx: &mut Context) {
        while let Some(oldest) = self.waiting.front().filter(|waiting| waiting.expires < cx.now) {
            cx.drop_packet(self.node, oldest.packet, DropReason::RouteTimeout);
            self.waiting.pop_front();
        }
    }

    /// Takes out the packets for a destination, oldest first.
    pub fn take(&mut self, destination: Address, cx: &mut Context) -> Vec<PacketId> {
        self.expire(cx);
        if !self.has(destination) {
            return Vec::new();
        }
        let mut taken = Vec::new();
        self.waiting.retain(|waiting| {
            let keep = waiting.destination != destination;
            if !keep {
                taken.push(waiting.packet);
            }
            keep
        });
        taken
    }

    /// Takes out one packet.
    pub fn remove(&mut self, packet: PacketId) {
        self.waiting.retain(|waiting| waiting.packet != packet);
    }

    /// Whether a packet for the destination waits.
    #[must_use]
    pub fn has(&self, destination: Address) -> bool {
        self.waiting.iter().any(|waiting| waiting.destination == destination)
    }

    /// The instant after which the oldest packet has waited too long.
    #[must_use]
    pub fn next_expiry(&self) -> Time {
        self.waiting.front().map_or(Time::NEVER, |oldest| oldest.expires + Span::from_nanos(1))
    }

    /// The packets, oldest first.
    pub fn iter(&self) -> impl Iterator<Item = PacketId> + '_ {
        self.waiting.iter().map(|waiting| waiting.packet)
    }
}
