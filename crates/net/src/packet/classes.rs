//! Classes of packets, each with its own room in a queue.

use std::fmt;
use std::sync::Arc;

use super::Packet;
use crate::address::Address;

type Rule = dyn Fn(&Packet, Address) -> u8 + Send + Sync;

/// A rule that gives a packet to a neighbour its class.
#[derive(Clone)]
pub struct Classes(Arc<Rule>);

impl Classes {
    /// The classes by a rule.
    #[must_use]
    pub fn new(rule: impl Fn(&Packet, Address) -> u8 + Send + Sync + 'static) -> Self {
        Self(Arc::new(rule))
    }

    /// The class of a packet to a neighbour, or to all of them.
    #[must_use]
    pub fn of(&self, packet: &Packet, next_hop: Address) -> u8 {
        (self.0)(packet, next_hop)
    }
}

impl fmt::Debug for Classes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Classes")
    }
}
