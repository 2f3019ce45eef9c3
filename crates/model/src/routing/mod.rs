//! Routing protocols: one file or folder each.
//!
//! A protocol learns of its neighbours only by packets and by the feedback of the link layer. For each packet it
//! answers with actions: send the packet to a neighbour, hold it (the protocol keeps the id), or drop it for a reason.
//!
//! A new protocol is a module with `Params` and a type named after its registry entry. The type has `new(&Params,
//! NodeId, nodes: usize, Rng)` and implements [`Routing`]. The `mod` line and a line in the registry below make it
//! known.

// The traits come before the protocols with several sets of procedures, which are enums that dispatch them.
#[macro_use]
mod protocol;

pub mod aodv;
pub mod aomdv;
pub mod babel;
mod common;
pub mod connectivity;
pub mod dsdv;
pub mod dsr;
pub mod olsr;
pub mod oracle;
pub mod source_routes;
pub mod static_routes;

use std::net::Ipv4Addr;

use enum_dispatch::enum_dispatch;
use hopyard_engine::{Rng, Span};

use crate::address::{Address, NodeId, Prefix};
use crate::context::{Context, DropReason, Owners};
use crate::packet::{PacketId, RoutingMessage};
pub use connectivity::Connectivity;
pub use protocol::{AfterOptions, MostHops, Networks, Oracular, Prescribed, Routes, Routing, RoutingFacts, SETTLED};

/// Makes the registry and the enum of protocols.
macro_rules! protocols {
    ($($name:literal => $module:ident :: $variant:ident, $summary:literal;)+) => {
        crate::registry! { "routing": $($name => $module::$variant, $summary;)+ }

        /// One node's routing protocol. An enum, so that calls are dispatched without a pointer.
        #[allow(clippy::large_enum_variant, reason = "the nodes of a run use the same protocol, mostly a large one")]
        #[enum_dispatch(Routing, Routes)]
        #[derive(Debug)]
        pub enum Model {
            $(#[doc = $summary] $variant($module::$variant),)+
        }

        impl Config {
            /// The types of its messages ([`RoutingFacts::MESSAGES`]).
            #[must_use]
            pub const fn messages(&self) -> &'static [&'static str] {
                match self { $(Self::$variant(_) => <$module::Params as RoutingFacts>::MESSAGES,)+ }
            }

            /// Whether this protocol can notify a TCP that reacts to notices of broken routes.
            #[must_use]
            pub const fn reports_breaks(&self) -> bool {
                match self { $(Self::$variant(_) => <$module::Params as RoutingFacts>::REPORTS_BREAKS,)+ }
            }

            /// Whether the protocol finds routes over wires, and not over radios only.
            #[must_use]
            pub const fn crosses_wires(&self) -> bool {
                match self { $(Self::$variant(_) => <$module::Params as RoutingFacts>::CROSSES_WIRES,)+ }
            }

            /// Whether a node with a radio reaches hosts that have wires only ([`RoutingFacts::reaches_wires`]).
            #[must_use]
            pub fn reaches_wires(&self) -> bool {
                match self { $(Self::$variant(params) => params.reaches_wires(),)+ }
            }

            /// Whether the protocol uses all radios of a node ([`RoutingFacts::USES_ALL_RADIOS`]).
            #[must_use]
            pub const fn uses_all_radios(&self) -> bool {
                match self { $(Self::$variant(_) => <$module::Params as RoutingFacts>::USES_ALL_RADIOS,)+ }
            }

            /// Whether nodes choose relays among their neighbours ([`RoutingFacts::CHOOSES_RELAYS`]).
            #[must_use]
            pub const fn chooses_relays(&self) -> bool {
                match self { $(Self::$variant(_) => <$module::Params as RoutingFacts>::CHOOSES_RELAYS,)+ }
            }

            /// Whether ns-2 numbers the protocol's messages ([`RoutingFacts::NUMBERED_BY_NS2`]).
            #[must_use]
            pub const fn numbered_by_ns2(&self) -> bool {
                match self { $(Self::$variant(_) => <$module::Params as RoutingFacts>::NUMBERED_BY_NS2,)+ }
            }

            /// The networks that a gateway tells of ([`RoutingFacts::announced`]).
            #[must_use]
            pub fn announced(&self, wired: &[Prefix], ad_hoc: &[Prefix]) -> Vec<Prefix> {
                match self { $(Self::$variant(params) => params.announced(wired, ad_hoc),)+ }
            }

            /// The nodes that the parameters make gateways ([`RoutingFacts::gateway_nodes`]).
            #[must_use]
            pub fn gateway_nodes(&self) -> Vec<(String, u32)> {
                match self { $(Self::$variant(params) => params.gateway_nodes(),)+ }
            }

            /// The doubts about the parameters ([`RoutingFacts::doubts`]).
            #[must_use]
            pub fn doubts(&self) -> Vec<(&'static str, String)> {
                match self { $(Self::$variant(params) => params.doubts(),)+ }
            }

            /// Whether nodes keep routes to all nodes in reach ([`RoutingFacts::keeps_routes`]).
            #[must_use]
            pub fn keeps_routes(&self) -> bool {
                match self { $(Self::$variant(params) => params.keeps_routes(),)+ }
            }

            /// Which parameter makes broken links known from the MAC alone ([`RoutingFacts::needs_link_failures`]).
            #[must_use]
            pub fn needs_link_failures(&self) -> Option<(&'static str, &'static str)> {
                match self { $(Self::$variant(params) => params.needs_link_failures(),)+ }
            }

            /// Whether the protocol reads packets that are for other nodes ([`RoutingFacts::overhears`]).
            #[must_use]
            pub fn overhears(&self) -> bool {
                match self { $(Self::$variant(params) => params.overhears(),)+ }
            }

            /// How long a node waits for a sign of its next hop ([`RoutingFacts::waits_for_next_hop`]).
            #[must_use]
            pub fn waits_for_next_hop(&self) -> Option<(&'static str, Span)> {
                match self { $(Self::$variant(params) => params.waits_for_next_hop(),)+ }
            }

            /// The part that needs the queue that serves by class ([`RoutingFacts::needs_queue_by_class`]).
            #[must_use]
            pub fn needs_queue_by_class(&self) -> Option<&'static str> {
                match self { $(Self::$variant(params) => params.needs_queue_by_class(),)+ }
            }

            /// Whether the protocol is specified to have no loop ([`RoutingFacts::promises_no_loops`]).
            #[must_use]
            pub fn promises_no_loops(&self) -> bool {
                match self { $(Self::$variant(params) => params.promises_no_loops(),)+ }
            }

            /// When routes are known ([`RoutingFacts::settles_within`]).
            #[must_use]
            pub fn settles_within(&self) -> Span {
                match self { $(Self::$variant(params) => params.settles_within(),)+ }
            }

            /// The most hops that a route can have ([`RoutingFacts::most_hops`]).
            #[must_use]
            pub fn most_hops(&self) -> Option<MostHops> {
                match self { $(Self::$variant(params) => params.most_hops(),)+ }
            }

            /// The most hops over which a search finds a destination ([`RoutingFacts::search_hops`]).
            #[must_use]
            pub fn search_hops(&self) -> Option<MostHops> {
                match self { $(Self::$variant(params) => params.search_hops(),)+ }
            }

            /// The bytes that are added to data packets ([`RoutingFacts::added_bytes`]).
            #[must_use]
            pub fn added_bytes(&self, hops: u32) -> u32 {
                match self { $(Self::$variant(params) => params.added_bytes(hops),)+ }
            }

            /// Whether packets go to gateways in tunnels ([`RoutingFacts::tunnels_to_gateways`]).
            #[must_use]
            pub fn tunnels_to_gateways(&self) -> bool {
                match self { $(Self::$variant(params) => params.tunnels_to_gateways(),)+ }
            }

            /// The nodes that the parameters name ([`RoutingFacts::named_nodes`]).
            #[must_use]
            pub fn named_nodes(&self) -> Vec<(String, u32)> {
                match self { $(Self::$variant(params) => params.named_nodes(),)+ }
            }

            /// The networks that gateways announce ([`RoutingFacts::announced_networks`]).
            #[must_use]
            pub fn announced_networks(&self) -> Vec<(String, Prefix)> {
                match self { $(Self::$variant(params) => params.announced_networks(),)+ }
            }

            /// The way that the parameters prescribe ([`RoutingFacts::prescribed`]).
            #[must_use]
            pub fn prescribed(&self, from: u32, to: u32) -> Prescribed {
                match self { $(Self::$variant(params) => params.prescribed(from, to),)+ }
            }

            /// The protocol at `node`, one of `nodes`; `rng` is its own stream.
            #[must_use]
            pub fn build(&self, node: NodeId, nodes: usize, rng: Rng) -> Model {
                match self {
                    $(Self::$variant(params) => Model::$variant($module::$variant::new(params, node, nodes, rng)),)+
                }
            }
        }

        forward_engine! { Model: $($variant),+ }
    };
}

/// The message of a router that is not simulated, from the payload of UDP over IPv6 at a port; nothing if no protocol
/// here can read it.
#[must_use]
pub fn read(port: u16, payload: &[u8], owners: &Owners) -> Option<RoutingMessage> {
    (port == babel::PORT).then(|| babel::read(payload, owners).ok().map(RoutingMessage::new)).flatten()
}

#[cfg(test)]
mod tests;

protocols! {
    "static" => static_routes::StaticRoutes, "Routes given in the scenario; they never change";
    "oracle" => oracle::Oracle,
        "Shortest paths over the true connectivity without routing packets: the best possible routing";
    "aodv" => aodv::Aodv, "Ad hoc on-demand distance vector routing (RFC 3561, or as in ns-2 or AODV-UU)";
    "aomdv" => aomdv::Aomdv, "AODV that finds several disjoint paths at once (Marina and Das 2006, or as in ns-2)";
    "source_routes" => source_routes::SourceRoutes,
        "Paths known without messages, which the source writes into each packet (the Source Route option, RFC 4728)";
    "dsdv" => dsdv::Dsdv,
        "Destination-sequenced distance vector routing (Perkins and Bhagwat 1994, or as in ns-2)";
    "olsr" => olsr::Olsr, "Optimized link state routing (RFC 3626)";
    "babel" => babel::Babel, "Babel, which avoids loops and weighs links by their losses (RFC 8966)";
    "dsr" => dsr::Dsr, "Dynamic source routing (RFC 4728, or as in ns-2)";
}
