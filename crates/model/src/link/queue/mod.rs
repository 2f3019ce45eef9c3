//! The queues of interfaces: packets that wait for a MAC or for a wire, and the disciplines that they wait under.
//!
//! A queue discipline is a file with `Params` and a type that implements [`QueueDiscipline`], and its entry in the list
//! below. At a radio whose MAC has classes of packets, each class has a queue of its own.

mod codel;
mod discipline;
mod drop_tail;
mod fq_codel;
mod interface;
mod meter;
mod red;
#[cfg(test)]
mod tests;

use hopyard_engine::Rng;

pub use discipline::{Desk, Item, MARKS, QueueDiscipline, Room, Takes};
pub use interface::{InterfaceQueue, Limit, Maker, RoutingPackets};
pub use meter::{LengthMeter, LengthStatistics};

use crate::address::NodeId;
use crate::context::Context;
use crate::params::Metric;

/// Makes the registry, and the enum that forwards to one of the disciplines.
macro_rules! disciplines {
    ($($name:literal => $module:ident :: $variant:ident, $summary:literal;)+) => {
        crate::registry! { "queue": $($name => $module::$variant, $summary;)+ }

        /// A queue with one of the disciplines.
        #[derive(Clone, Debug)]
        enum Discipline {
            $(#[doc = $summary] $variant(Box<$module::$variant>),)+
        }

        /// The counters of every discipline: columns of the table of nodes, in the order of the disciplines.
        pub const METRICS: &[(&str, &[Metric])] =
            &[$(($name, <$module::$variant as QueueDiscipline>::METRICS)),+];

        impl Config {
            /// The parameter that is the length of the queue, if the discipline has one of its own.
            #[must_use]
            pub const fn own_length(&self) -> Option<&'static str> {
                match self { $(Self::$variant(_) => <$module::$variant as QueueDiscipline>::OWN_LENGTH,)+ }
            }

            fn discipline(&self, room: &Room, draws: Rng) -> Discipline {
                match self {
                    $(Self::$variant(params) => Discipline::$variant(Box::new($module::$variant::new(params, room, draws))),)+
                }
            }
        }

        impl Line {
            /// A packet comes.
            pub fn push(&mut self, item: Item, cx: &mut Context) {
                let mut desk = Desk { node: self.node, marks: &mut self.marks, cx };
                match &mut self.discipline { $(Discipline::$variant(queue) => queue.push(item, &mut desk),)+ }
            }

            /// The interface takes the next packet, or the next one among those that its MAC takes.
            pub fn pop(&mut self, takes: Option<Takes<'_>>, cx: &mut Context) -> Option<Item> {
                let mut desk = Desk { node: self.node, marks: &mut self.marks, cx };
                match &mut self.discipline { $(Discipline::$variant(queue) => queue.pop(takes, &mut desk),)+ }
            }

            /// Keeps the packets for which the function says so.
            pub fn retain(&mut self, keep: &mut dyn FnMut(&Item) -> bool) {
                match &mut self.discipline { $(Discipline::$variant(queue) => queue.retain(keep),)+ }
            }

            /// The packets that wait.
            pub fn items(&self) -> Box<dyn Iterator<Item = &Item> + '_> {
                match &self.discipline { $(Discipline::$variant(queue) => queue.items(),)+ }
            }

            /// How many packets wait.
            #[must_use]
            pub fn len(&self) -> usize {
                match &self.discipline { $(Discipline::$variant(queue) => queue.waiting(),)+ }
            }
        }
    };
}

disciplines! {
    "drop_tail" => drop_tail::DropTail, "A packet that finds the queue full is dropped.";
    "red" => red::Red, "Random early detection (Floyd and Jacobson 1993): packets are dropped or marked at random, the more the longer the mean queue.";
    "codel" => codel::CoDel, "Controlled delay (RFC 8289): packets are dropped or marked when all have waited too long for a while.";
    "fq_codel" => fq_codel::FqCoDel, "Flow queue CoDel (RFC 8290): a queue with CoDel for each flow, served in turn, new flows first.";
}

/// The queue of one interface, or of one class of packets at a radio.
#[derive(Clone, Debug)]
pub struct Line {
    node: NodeId,
    discipline: Discipline,
    /// The packets that were marked.
    marks: u64,
}

impl Line {
    /// An empty queue of a node.
    #[must_use]
    pub fn new(node: NodeId, config: &Config, room: &Room, draws: Rng) -> Self {
        Self { node, discipline: config.discipline(room, draws), marks: 0 }
    }

    /// How many packets the queue has marked.
    #[must_use]
    pub const fn marks(&self) -> u64 {
        self.marks
    }

    /// Whether no packet waits.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl Config {
    /// Whether packets only wait, and are dropped only when the queue is full.
    #[must_use]
    pub const fn is_drop_tail(&self) -> bool {
        matches!(self, Self::DropTail(_))
    }

    /// A parameter, and the length, that a queue of so many packets never reaches.
    #[must_use]
    pub fn beyond(&self, packets: usize) -> Option<(&'static str, f64)> {
        let Self::Red(params) = self else { return None };
        let thresholds = [("min_threshold", params.min_threshold), ("max_threshold", params.max_threshold)];
        thresholds.into_iter().find(|(_, length)| *length > packets as f64)
    }
}
