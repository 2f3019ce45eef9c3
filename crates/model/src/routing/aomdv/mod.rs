//! AOMDV: AODV that finds several paths at once, so that another one is there when a link breaks.
//!
//! To read: Marina and Das, "On-demand multipath distance vector routing in ad hoc networks", ICNP 2001, and "Ad hoc
//! on-demand multipath distance vector routing", Wireless Communications and Mobile Computing 6 (2006). A node keeps a
//! list of paths to each destination. The node tells its neighbours one hop count for all paths of a list: the hop
//! count of the longest path when the node first tells one. The node accepts further paths only from nodes that tell
//! fewer hops, so that no path has a loop. The paths of a list have different next hops and different last hops: so
//! they share no link.
//!
//! There are two sets of procedures over the same state, which the parameter `rules` selects. Both handle requests and
//! replies in the same way (`discovery`). The procedures in `marina` follow the papers; searches, sequence numbers,
//! rate limits, HELLO messages and errors follow AODV (RFC 3561), which the papers refer to. Those in `ns2` do what
//! ns-2.35 does:
//!
//! - HELLO messages alone tell of broken links, and every node that has any route sends them. (The link layer's
//!   feedback is a choice at compile time in ns-2. `link_detection` chooses it here.)
//! - Paths share no node, because each node passes on one reply for each discovery.
//! - The first search for a destination floods the whole network, and no wait is longer than a second.
//! - Expired paths and searches are looked at every half second.
//! - A lost packet is not put back at its source.
//!
//! Left out:
//!
//! - Gateways.
//! - Precursors: an error is broadcast if another node may use the route. So do both papers' simulations.
//! - ns-2's local repair, which it has only with the link layer's feedback: it compares the hops that the packet has
//!   come with a variable that is never set.
//! - Packets that ns-2 forgets without a trace when they have waited too long are dropped here.
//!
//! Where the papers leave a choice: the destination answers every copy of a request that came without a loop and is not
//! much longer than others. A packet that no path can carry waits at its source for a new route.
//!
//! Validated by message exchanges between routers in `tests`, one for each rule. A property test shows that no packet
//! visits a node twice. Runs are compared with ns-2.35 on the same scenarios (docs/models/aomdv.md).

mod discovery;
mod marina;
mod message;
mod multipath;
mod ns2;
mod params;
mod requests;
mod state;
mod table;
#[cfg(test)]
mod tests;

use std::net::Ipv4Addr;

use enum_dispatch::enum_dispatch;
use hopyard_engine::Rng;

pub use super::common::LinkDetection;
use super::common::on_demand::Router;
use super::{AfterOptions, Networks, Oracular, Routes, Routing};
use crate::address::{Address, NodeId};
use crate::context::{Context, DropReason};
use crate::packet::PacketId;
use crate::params::Shared;
use marina::Marina2006;
pub use message::{AomdvMessage, Reply, Request};
use ns2::Ns2;
pub use params::{Disjoint, Params, Rules, Use};

/// Makes the enum of procedures.
macro_rules! procedures {
    ($($variant:ident, $summary:literal;)+) => {
        /// AOMDV at one node, with the procedures that the parameter `rules` selects.
        #[enum_dispatch(Routing, Routes)]
        #[derive(Debug)]
        pub enum Aomdv {
            $(#[doc = $summary] $variant(Router<$variant>),)+
        }

        impl Aomdv {
            /// AOMDV at `node`.
            #[must_use]
            pub fn new(params: &Shared<Params>, node: NodeId, _nodes: usize, rng: Rng) -> Self {
                match params.rules { $(Rules::$variant => Self::$variant(Router::new(params, node, rng)),)+ }
            }

            #[cfg(test)]
            fn state(&self) -> &state::State {
                match self { $(Self::$variant(it) => it.state(),)+ }
            }
        }

        forward_engine! { Aomdv: $($variant),+ }
    };
}

procedures! {
    Marina2006, "As in the papers of Marina and Das.";
    Ns2, "As in ns-2.35.";
}
