//! Source-based multipoint relays: a node sends a datagram on if the neighbour from which it came first has chosen the
//! node as a relay.
//!
//! Read: RFC 6621 appendix B; RFC 3626 §8.3 for the choice, which OLSR makes. Each node chooses relays that reach all
//! nodes two hops away, so that a datagram reaches everybody, over fewer senders than with `classic_flooding`. Copies
//! that come later, from neighbours that have chosen the node, change nothing.

use hopyard_engine::{Rng, Time};

use super::flooding::Flooding;
pub use super::flooding::Params;
use super::protocol::{Multicast, Previous};
use crate::address::NodeId;
use crate::context::Context;
use crate::packet::{Packet, PacketId};

/// Forwarding by relays at one node.
#[derive(Clone, Debug)]
pub struct SMpr(Flooding);

impl SMpr {
    /// Forwarding by relays at a node.
    #[must_use]
    pub fn new(params: &Params, _node: NodeId, rng: Rng) -> Self {
        Self(Flooding::new(params, rng))
    }
}

impl Multicast for SMpr {
    const NEEDS_RELAYS: bool = true;

    fn originate(&mut self, packet: PacketId, cx: &mut Context) {
        self.0.originate(packet, cx);
    }

    fn hears(&mut self, packet: &Packet, now: Time) -> bool {
        self.0.hears(packet, now)
    }

    fn relays(&mut self, _packet: &Packet, previous: Previous, now: Time) -> Option<Time> {
        previous.has_chosen.then(|| self.0.after_jitter(now))
    }
}
