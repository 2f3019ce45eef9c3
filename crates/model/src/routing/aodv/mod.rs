//! AODV: routes are looked for when they are needed, by flooding a request, and kept while they are used.
//!
//! Reference: RFC 3561 (Perkins, Belding-Royer, Das, 2003). There are three sets of procedures over the same state,
//! which the parameter `rules` selects. The procedures in `rfc` follow the RFC with HELLO messages, link-layer
//! feedback, expanding rings, rate limits, precursors, gratuitous replies, RREP-ACK with its blacklist, and local
//! repair (§6.12). Those in `ns2` do what ns-2.35 does, with which many papers were made:
//!
//! - The first search for a destination floods the whole network. A search starts from the last hop count, which is
//!   infinite at first, so that `ttl_start` has no effect. Later searches start at the last hop count plus two.
//! - Waits are twice the TTL times the time per hop that earlier discoveries took, times the number of floods so far.
//! - Retries, expired routes and repairs are checked every half second, and whenever a packet is sent.
//! - Errors are broadcast at once, whether or not a neighbour uses the route. There is no rate limit, blacklist or
//!   gratuitous reply.
//! - A link breaks only when a data packet fails. Other packets in the queue for that neighbour are dropped too, unless
//!   a repair begins: then they stay in the queue.
//! - The remaining lifetime in an intermediate node's reply is cut to whole seconds.
//! - A request with an old number of its originator renews no route. It is answered all the same: if the route to its
//!   originator is down, the answer goes to the first node of the network.
//!
//! The procedures in `uu` follow AODV-UU where it differs. Gateways to the Internet (`internet`, `rfc/gateways`) follow
//! AODV-UU under both.
//!
//! Left out: multicast (flags J, R), prefixes, and the wait after a reboot (§6.13), as nodes do not reboot here. Where
//! the RFC leaves a choice:
//!
//! - When a node's own packet cannot be sent, the node puts it back into the buffer and looks for a new route.
//! - When a packet in transit has no route, the precursors and the neighbour that sent it are told. The sequence number
//!   of a route that was already invalid does not grow.
//! - An error never lowers a sequence number.
//! - The first ring of a search may be larger than TTL_THRESHOLD (§6.4): the last hop count plus TTL_INCREMENT, or
//!   TTL_START.
//!
//! Validated by message exchanges between routers in `tests`, one for each rule. A property test shows that no packet
//! visits a node twice. Runs are compared with ns-2.35 on the same scenarios (docs/validation.md).

mod choices;
mod forwarding;
mod internet;
mod message;
mod ns2;
mod params;
mod rfc;
mod state;
mod table;
#[cfg(test)]
mod tests;
mod uu;

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
pub use message::{AodvMessage, Reply, Request, RouteError};
use ns2::Ns2;
pub use params::{Auto, Gateways, Locality, Params, RepairTimer, Rules, ToGateway};
use rfc::Rfc3561;
use uu::Uu;

/// Makes the enum of procedures.
macro_rules! procedures {
    ($($variant:ident, $summary:literal;)+) => {
        /// AODV at one node, with the procedures that the parameter `rules` selects.
        #[enum_dispatch(Routing, Routes)]
        #[derive(Debug)]
        pub enum Aodv {
            $(#[doc = $summary] $variant(Router<$variant>),)+
        }

        impl Aodv {
            /// AODV at `node`.
            #[must_use]
            pub fn new(params: &Shared<Params>, node: NodeId, _nodes: usize, rng: Rng) -> Self {
                match params.rules { $(Rules::$variant => Self::$variant(Router::new(params, node, rng)),)+ }
            }

            #[cfg(test)]
            fn state(&self) -> &state::State {
                match self { $(Self::$variant(it) => it.state(),)+ }
            }
        }

        forward_engine! { Aodv: $($variant),+ }
    };
}

procedures! {
    Rfc3561, "As in RFC 3561.";
    Ns2, "As in ns-2.35.";
    Uu, "As in AODV-UU.";
}
