//! DSR: the source of a packet writes the whole route into it. Routes are looked for when they are needed, and all that
//! a node hears of them is kept in a cache.
//!
//! Reference: RFC 4728 (Johnson, Hu, Maltz, 2007). There are two sets of procedures over the same state, which the
//! parameter `rules` selects. The procedures in `rfc` follow the RFC. They have a path cache or a link cache, replies
//! from the cache after a wait that prevents storms, salvaging, gratuitous replies, a blacklist, and gateways to
//! outside (flags F and L). A node knows in one of three ways that the next hop has a packet: by the MAC, by passive
//! acknowledgements, or by Acknowledgement options. Those in `ns2` do what ns-2.35 does, with which many papers were
//! made:
//!
//! - Most data packets carry nothing: the flow state extension (§7) is on.
//! - A search sends pairs of requests, to the neighbours and then to all, with waits of half a second times four for
//!   each pair. The send buffer is looked at every 30 to 60 ms, and packets leave it 30 ms apart.
//! - Replies from the cache are sent at once. The cache has no timeout.
//! - A packet of another node that cannot be salvaged waits in the send buffer, and one request to the neighbours is
//!   sent for it.
//! - A node does not learn from the requests that it passes on, and not the way back of a packet.
//! - The queue of the link serves by class (`link.routing_packets = "by_class"`, the default with these rules): ns-2's
//!   DSR runs on a queue that serves TCP's acknowledgements before data.
//!
//! Left out: data that travel with a request (§8.2.1), several interfaces (§8.4), the Destination and Flow ID option
//! (§7.2.2), and flows under the RFC's rules. Also left out is the search for a route by which a reply returns over
//! links of one direction (§3.1). Where the RFC leaves a choice:
//!
//! - Every link is taken to work in both directions, as MACs with acknowledgements need.
//! - A salvaged packet does not go through a node that its source route says it has met. The route does not have the
//!   nodes that the packet met before it was salvaged last.
//! - A packet that a full maintenance buffer does not take is sent once, and nobody is asked whether it arrived.
//!
//! Validated by exchanges between nodes, one for each rule, in `tests`; by a property test that packets do not circle;
//! and against ns-2.35 on the same scenarios (docs/models/dsr.md).

mod cache;
mod ns2;
mod params;
mod rfc;
mod state;
#[cfg(test)]
mod tests;

use std::net::Ipv4Addr;

use enum_dispatch::enum_dispatch;
use hopyard_engine::Rng;

use super::{AfterOptions, Networks, Oracular, Routes, Routing};
use crate::address::{Address, NodeId};
use crate::context::{Context, DropReason};
use crate::packet::PacketId;
use crate::params::Shared;
use ns2::Ns2;
pub use params::{Acknowledgement, CacheKind, LinkLifetime, Params, Rules};
use rfc::Rfc4728;

/// Makes the enum of procedures, and forwards [`Routing`] to them.
macro_rules! procedures {
    ($($variant:ident, $summary:literal;)+) => {
        /// DSR at one node, with the procedures that the parameter `rules` selects.
        #[allow(clippy::large_enum_variant, reason = "the nodes of a run follow the same procedures")]
        #[enum_dispatch(Routing, Routes)]
        #[derive(Debug)]
        pub enum Dsr {
            $(#[doc = $summary] $variant($variant),)+
        }

        impl Dsr {
            /// DSR at `node`.
            #[must_use]
            pub fn new(params: &Shared<Params>, node: NodeId, _nodes: usize, rng: Rng) -> Self {
                match params.rules { $(Rules::$variant => Self::$variant($variant::new(params, node, rng)),)+ }
            }
        }

        forward_engine! { Dsr: $($variant),+ }
    };
}

procedures! {
    Rfc4728, "As in RFC 4728.";
    Ns2, "As in ns-2.35.";
}
