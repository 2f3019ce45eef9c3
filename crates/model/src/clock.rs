//! The clock of a run: its events, its timers, and how far it may go.

use hopyard_engine::{Armed, Deadline, Queue, Span, Time};

use crate::address::{Address, InterfaceId, NodeId};
use crate::channel::{ChannelId, Scheduled};
use crate::order;
use crate::packet::PacketId;
use crate::phy::medium::TransmissionId;

/// The kinds of events.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Event {
    /// The next edge of a transmission.
    Edge(ChannelId, TransmissionId),
    /// The first packet of the receive path reaches IP.
    Enter,
    /// A node's leg ends.
    Leg(u32),
    /// A packet goes to the link, after a jitter.
    Send(NodeId, PacketId, Address),
    /// Oracle routing receives the true connectivity.
    Connectivity,
    /// The simulator looks at who hears whom on a channel, and gives out slots.
    Look(ChannelId),
    /// The measuring window begins.
    Measure,
    /// A datagram comes from outside, or has left its node by a wire.
    Outside(u32),
    /// A radio falls asleep: its place among the radios that sleep.
    Sleep(u32),
    /// A node that only radiates begins a piece: its place among these nodes.
    Jam(u32),
}

impl From<Scheduled> for Event {
    #[inline]
    fn from(scheduled: Scheduled) -> Self {
        match scheduled {
            Scheduled::Edge(channel, transmission) => Self::Edge(channel, transmission),
            Scheduled::Enter => Self::Enter,
        }
    }
}

/// The object that a timer wakes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wake {
    /// The MAC of an interface.
    Mac(InterfaceId),
    /// The link of an interface: its address resolution.
    Link(InterfaceId),
    /// The routing protocol of a node.
    Routing(NodeId),
    /// The agents of a node.
    Agents(NodeId),
    /// A socket, with its application.
    Socket(u32),
    /// A wire.
    Wire(u32),
    /// The series.
    Sample,
    /// The battery of a node.
    Battery(NodeId),
}

/// How many objects of each kind have a timer. Timers of the same time run in the order of [`Wake`]'s kinds.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Objects {
    pub interfaces: u32,
    pub nodes: u32,
    pub sockets: u32,
    pub wires: u32,
    /// None if no battery can run dry.
    pub batteries: u32,
}

impl Objects {
    /// The first timer of each kind.
    const fn firsts(self) -> [u32; 8] {
        let Self { interfaces, nodes, sockets, wires, batteries: _ } = self;
        let counts = [interfaces, interfaces, nodes, nodes, sockets, wires, 1];
        let mut firsts = [0; 8];
        let mut kind = 0;
        while kind < counts.len() {
            firsts[kind + 1] = firsts[kind] + counts[kind];
            kind += 1;
        }
        firsts
    }
}

/// The events and timers of a run, and its limits.
#[derive(Debug)]
pub(crate) struct Clock {
    pub queue: Queue<Event>,
    /// When the run ends.
    pub end: Time,
    /// Until when the events are carried out now.
    pub horizon: Time,
    /// Whether each edge of a transmission has an event of its own.
    pub exact: bool,
    /// Events taken from the queue, or from the receive path.
    pub events: u64,
    /// The number of edges of transmissions among these.
    pub queued_edges: u64,
    /// The first timer of each kind.
    firsts: [u32; 8],
    /// The number of packets that were sent after a jitter.
    delayed: u32,
}

impl Clock {
    /// A clock at time zero, for a run of this duration with these objects.
    pub(crate) fn new(objects: Objects, duration: Span, exact: bool) -> Self {
        let firsts = objects.firsts();
        Self {
            queue: Queue::with_timers((firsts[7] + objects.batteries) as usize),
            end: Time::ZERO + duration,
            horizon: Time::ZERO,
            exact,
            events: 0,
            queued_edges: 0,
            firsts,
            delayed: 0,
        }
    }

    /// The timer of an object.
    #[inline]
    pub(crate) const fn timer(&self, of: Wake) -> u32 {
        let [macs, links, routing, agents, sockets, wires, sample, batteries] = self.firsts;
        match of {
            Wake::Mac(interface) => macs + interface.0,
            Wake::Link(interface) => links + interface.0,
            Wake::Routing(node) => routing + node.0,
            Wake::Agents(node) => agents + node.0,
            Wake::Socket(socket) => sockets + socket,
            Wake::Wire(wire) => wires + wire,
            Wake::Sample => sample,
            Wake::Battery(node) => batteries + node.0,
        }
    }

    /// The object that a timer wakes. MACs, whose timers are the most frequent, come first.
    #[inline]
    pub(crate) const fn wakes(&self, timer: u32) -> Wake {
        let [_, links, routing, agents, sockets, wires, sample, batteries] = self.firsts;
        if timer < links {
            Wake::Mac(InterfaceId(timer))
        } else if timer < routing {
            Wake::Link(InterfaceId(timer - links))
        } else if timer < agents {
            Wake::Routing(NodeId(timer - routing))
        } else if timer < sockets {
            Wake::Agents(NodeId(timer - agents))
        } else if timer < wires {
            Wake::Socket(timer - sockets)
        } else if timer < sample {
            Wake::Wire(timer - wires)
        } else if timer < batteries {
            Wake::Sample
        } else {
            Wake::Battery(NodeId(timer - batteries))
        }
    }

    /// Sets the timer of an object. [`Time::NEVER`] stops it.
    #[inline]
    pub(crate) fn set(&mut self, of: Wake, deadline: Time) {
        self.queue.set(self.timer(of), deadline);
    }

    /// Lends an object together with its timer, which is set when the loan ends.
    #[inline]
    pub(crate) fn lend<'a, T: Deadline>(&'a mut self, object: &'a mut T, of: Wake, now: Time) -> Armed<'a, T, Event> {
        let timer = self.timer(of);
        Armed::new(object, &mut self.queue, timer, now)
    }

    /// A node sends a packet later.
    pub(crate) fn send_later(&mut self, at: Time, node: NodeId, packet: PacketId, next_hop: Address) {
        self.delayed = self.delayed.wrapping_add(1);
        self.queue.push(at, order::delayed(node.0, self.delayed), Event::Send(node, packet, next_hop));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_timer_wakes_the_object_that_it_belongs_to() {
        let objects = Objects { interfaces: 3, nodes: 2, sockets: 8, wires: 1, batteries: 2 };
        let clock = Clock::new(objects, Span::from_secs(1), false);
        let all = (0..3).map(|n| Wake::Mac(InterfaceId(n))).chain((0..3).map(|n| Wake::Link(InterfaceId(n))));
        let all = all.chain((0..2).map(|n| Wake::Routing(NodeId(n)))).chain((0..2).map(|n| Wake::Agents(NodeId(n))));
        let all = all.chain((0..8).map(Wake::Socket)).chain([Wake::Wire(0), Wake::Sample]);
        let all: Vec<Wake> = all.chain((0..2).map(|n| Wake::Battery(NodeId(n)))).collect();
        for (timer, &wake) in (0..).zip(&all) {
            assert_eq!((clock.timer(wake), clock.wakes(timer)), (timer, wake));
        }
    }
}
