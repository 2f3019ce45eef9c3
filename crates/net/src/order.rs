//! The order of simultaneous events: by kind, then by node or station, never by when they were scheduled.
//!
//! At one instant these come first, in this order. The measuring window begins, legs begin, radios fall asleep, the
//! oracle looks at the true connectivity, and greedy schedules are made. Signals end, packets reach IP, delayed
//! broadcasts are sent, nodes that only radiate begin a piece, and datagrams come from outside. Then the timers run:
//! MACs, links, routing protocols, agents, the sockets at sources, the sockets at destinations, and wires, each in
//! order of their numbers; series are sampled; and batteries run dry. Signals begin last: a station whose back-off
//! ends at the instant at which a signal arrives has not sensed it in time (IEEE 802.11-1999 §9.2), and sends. Such
//! ties are common, because stations count their slots from the end of the same frame.

use hopyard_engine::Rank;

/// The measuring window begins.
pub const MEASURE: Rank = Rank::new(0, 0, 0);
/// The oracle looks at the true connectivity. Legs, of the same kind, come before it.
pub const CONNECTIVITY: Rank = Rank::new(2, 0, 0);
/// The simulator looks at who hears whom on a channel, and gives out slots.
#[must_use]
pub const fn look(channel: u16) -> Rank {
    Rank::new(2, 1, channel as u32)
}

/// The first packet of the receive path reaches IP.
pub const ENTER: Rank = Rank::new(4, 0, 0);

/// A node's leg ends.
#[must_use]
pub const fn leg(node: u32) -> Rank {
    Rank::new(1, node, 0)
}

/// The radio of an interface falls asleep.
#[must_use]
pub const fn sleep(node: u32, interface: u32) -> Rank {
    Rank::new(1, node, 1 + interface)
}

/// A signal of a transmitter, which is an interface, ends at a station of its channel.
#[inline]
#[must_use]
pub const fn end(station: u32, transmitter: u32) -> Rank {
    Rank::new(3, station, transmitter)
}

/// A signal of a transmitter, which is an interface, begins at a station of its channel.
#[inline]
#[must_use]
pub const fn begin(station: u32, transmitter: u32) -> Rank {
    Rank::late(station, transmitter)
}

/// A node sends a packet that it has delayed. `number` counts the delayed packets.
#[must_use]
pub const fn delayed(node: u32, number: u32) -> Rank {
    Rank::new(5, node, number)
}

/// A node that only radiates, and so delays no packets, begins a piece.
#[must_use]
pub const fn jam(node: u32) -> Rank {
    Rank::new(5, node, 0)
}

/// A node's host, which is outside, passes a datagram to IP, or learns that one is sent. Which one is first is not a
/// matter of rank, whose detail has too few bits to number them.
#[must_use]
pub const fn outside(node: u32) -> Rank {
    Rank::new(6, node, 0)
}
