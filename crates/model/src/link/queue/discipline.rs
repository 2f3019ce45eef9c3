//! The trait of every queue discipline, and the values that it works with.

use std::collections::VecDeque;
use std::fmt::Debug;

use hopyard_engine::units::Rate;
use hopyard_engine::{Rng, Span, Time};

use crate::address::{Address, NodeId};
use crate::context::{Context, DropReason};
use crate::packet::{Packet, PacketId};
use crate::params::{Metric, Params};

/// The counter of every discipline that marks packets.
pub const MARKS: Metric = Metric {
    name: "queue_marks",
    unit: "packets",
    meaning: "Packets that the node's queues marked instead of dropping them (ECN, RFC 3168).",
};

/// A packet that waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Item {
    /// The packet.
    pub packet: PacketId,
    /// The neighbour that it goes to; on a wire, the packet's destination.
    pub next_hop: Address,
    /// Its size in bytes, with all headers from IP up.
    pub size: u32,
    /// When it came.
    pub entered: Time,
}

/// The choice of a MAC among the packets that wait.
pub type Takes<'a> = &'a dyn Fn(&Packet, Address) -> bool;

/// The interface that a queue belongs to.
#[derive(Clone, Copy, Debug)]
pub struct Room {
    /// The length that the scenario gives the queue, in packets.
    pub packets: usize,
    /// The rate at which the interface sends, as far as it is known before the run.
    pub rate: Rate,
    /// The propagation delay of the wire; zero at a radio.
    pub delay: Span,
}

/// The surroundings of a queue while it works: it drops and marks packets here.
#[derive(Debug)]
pub struct Desk<'a> {
    /// The node of the queue.
    pub node: NodeId,
    /// The packets that the queue has marked.
    pub marks: &'a mut u64,
    /// The packets, and the account of them.
    pub cx: &'a mut Context,
}

impl Desk<'_> {
    /// The time.
    #[must_use]
    pub const fn now(&self) -> Time {
        self.cx.now
    }

    /// Drops a packet that has left the queue.
    pub fn drop(&mut self, item: &Item, reason: DropReason) {
        self.cx.drop_packet(self.node, item.packet, reason);
    }

    /// Marks a packet, if its transport understands marks (RFC 3168 §5), and returns whether it did.
    pub fn mark(&mut self, item: &Item) -> bool {
        let marked = self.cx.packets[item.packet].mark();
        *self.marks += u64::from(marked);
        marked
    }

    /// The place of the first of some packets that the MAC takes.
    #[must_use]
    pub fn first(&self, items: &VecDeque<Item>, takes: Option<Takes<'_>>) -> Option<usize> {
        let Some(takes) = takes else { return (!items.is_empty()).then_some(0) };
        items.iter().position(|item| takes(&self.cx.packets[item.packet], item.next_hop))
    }
}

/// The discipline of a queue: which packets wait, which are dropped or marked, and which leaves next.
///
/// Every packet passes the queue, even when the interface is idle. Of a packet that the queue drops it calls
/// [`Desk::drop`], and keeps nothing.
pub trait QueueDiscipline: Clone + Debug {
    /// Its parameters.
    type Params: Params;

    /// The counters that its queues have: of a discipline that marks packets, [`MARKS`].
    const METRICS: &'static [Metric] = &[];

    /// The parameter that is the length of the queue, if it is not the length that the scenario gives the interface.
    const OWN_LENGTH: Option<&'static str> = None;

    /// An empty queue.
    fn new(params: &Self::Params, room: &Room, draws: Rng) -> Self;

    /// A packet comes.
    fn push(&mut self, item: Item, desk: &mut Desk<'_>);

    /// The interface takes the next packet, or the next one among those that its MAC takes.
    fn pop(&mut self, takes: Option<Takes<'_>>, desk: &mut Desk<'_>) -> Option<Item>;

    /// Keeps the packets for which the function says so. The others are not dropped here.
    fn retain(&mut self, keep: &mut dyn FnMut(&Item) -> bool);

    /// The packets that wait.
    fn items(&self) -> Box<dyn Iterator<Item = &Item> + '_>;

    /// How many packets wait.
    fn waiting(&self) -> usize {
        self.items().count()
    }
}
