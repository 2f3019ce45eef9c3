//! Classic flooding: every node sends each datagram on once.
//!
//! Read: RFC 6621 §2 and §6. The relay set is the whole network, for which a node needs to know nothing of its
//! neighbours. Nearest relative: `s_mpr`, with fewer relays.

use hopyard_engine::{Rng, Time};

use super::flooding::Flooding;
pub use super::flooding::Params;
use super::protocol::{Multicast, Previous};
use crate::address::NodeId;
use crate::context::Context;
use crate::packet::{Packet, PacketId};

/// Classic flooding at one node.
#[derive(Clone, Debug)]
pub struct ClassicFlooding(Flooding);

impl ClassicFlooding {
    /// Classic flooding at a node.
    #[must_use]
    pub fn new(params: &Params, _node: NodeId, rng: Rng) -> Self {
        Self(Flooding::new(params, rng))
    }
}

impl Multicast for ClassicFlooding {
    fn originate(&mut self, packet: PacketId, cx: &mut Context) {
        self.0.originate(packet, cx);
    }

    fn hears(&mut self, packet: &Packet, now: Time) -> bool {
        self.0.hears(packet, now)
    }

    fn relays(&mut self, _packet: &Packet, _previous: Previous, now: Time) -> Option<Time> {
        Some(self.0.after_jitter(now))
    }
}
