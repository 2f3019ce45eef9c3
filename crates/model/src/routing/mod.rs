//! Routing protocols: one file or folder each.
//!
//! A protocol learns of its neighbours only by packets and by the feedback of the link layer. For each packet it
//! answers with actions: send the packet to a neighbour, hold it (the protocol keeps the id), or drop it for a reason.
//!
//! A new protocol is a module with `Params` and a type named after its registry entry, which has `new(&Params, Address,
//! nodes: usize, Rng)` and implements [`Routing`]; then the `mod` line and its line in the registry below.

pub mod aodv;
pub mod connectivity;
pub mod dsdv;
pub mod oracle;
mod protocol;
pub mod source_routes;
pub mod static_routes;

use std::sync::Arc;

use hopyard_engine::{Rng, Span, Time};

use crate::address::{Address, NodeId};
use crate::context::Context;
use crate::packet::{Packet, PacketId};
pub use connectivity::Connectivity;
pub use protocol::{AfterOptions, Facts, Prescribed, Routing};

/// Makes the registry, the enum of protocols, and the forwarding of [`Routing`] to each.
macro_rules! protocols {
    ($($name:literal => $module:ident :: $variant:ident, $summary:literal;)+) => {
        crate::registry! { "routing": $($name => $module::$variant, $summary;)+ }

        /// One node's routing protocol. An enum, so that calls are dispatched without a pointer.
        #[allow(clippy::large_enum_variant, reason = "the nodes of a run use the same protocol, mostly a large one")]
        #[derive(Debug)]
        pub enum Model {
            $(#[doc = $summary] $variant($module::$variant),)+
        }

        impl Config {
            /// Whether this protocol can notify a TCP that reacts to notices of broken routes.
            #[must_use]
            pub const fn reports_breaks(&self) -> bool {
                match self { $(Self::$variant(_) => <$module::$variant as Routing>::REPORTS_BREAKS,)+ }
            }

            /// Whether the protocol finds routes over wires, and not over radios only.
            #[must_use]
            pub const fn crosses_wires(&self) -> bool {
                match self { $(Self::$variant(_) => <$module::$variant as Routing>::CROSSES_WIRES,)+ }
            }

            /// Whether ns-2 numbers the protocol's messages ([`Facts::NUMBERED_BY_NS2`]).
            #[must_use]
            pub const fn numbered_by_ns2(&self) -> bool {
                match self { $(Self::$variant(_) => <$module::Params as Facts>::NUMBERED_BY_NS2,)+ }
            }

            /// The nodes that the parameters name ([`Facts::named_nodes`]).
            #[must_use]
            pub fn named_nodes(&self) -> Vec<(String, u32)> {
                match self { $(Self::$variant(params) => params.named_nodes(),)+ }
            }

            /// The way that the parameters prescribe ([`Facts::prescribed`]).
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

        impl Routing for Model {
            fn start(&mut self, cx: &mut Context) {
                match self { $(Self::$variant(it) => it.start(cx),)+ }
            }
            #[inline]
            fn route(&mut self, packet: PacketId, cx: &mut Context) {
                match self { $(Self::$variant(it) => it.route(packet, cx),)+ }
            }
            fn on_message(&mut self, packet: PacketId, from: Address, cx: &mut Context) {
                match self { $(Self::$variant(it) => it.on_message(packet, from, cx),)+ }
            }
            fn on_options(&mut self, packet: PacketId, from: Address, cx: &mut Context) -> AfterOptions {
                match self { $(Self::$variant(it) => it.on_options(packet, from, cx),)+ }
            }
            #[inline]
            fn on_heard(&mut self, packet: PacketId, from: Address, cx: &mut Context) {
                match self { $(Self::$variant(it) => it.on_heard(packet, from, cx),)+ }
            }
            fn overhears(&self) -> bool {
                match self { $(Self::$variant(it) => it.overhears(),)+ }
            }
            fn on_overheard(&mut self, packet: PacketId, from: Address, to: Address, cx: &mut Context) {
                match self { $(Self::$variant(it) => it.on_overheard(packet, from, to, cx),)+ }
            }
            #[inline]
            fn prefetch(&self, packet: &Packet) -> u32 {
                match self { $(Self::$variant(it) => it.prefetch(packet),)+ }
            }
            fn on_link_failure(&mut self, packet: PacketId, next_hop: Address, cx: &mut Context) {
                match self { $(Self::$variant(it) => it.on_link_failure(packet, next_hop, cx),)+ }
            }
            fn on_taken_back(&mut self, packet: PacketId, next_hop: Address, cx: &mut Context) {
                match self { $(Self::$variant(it) => it.on_taken_back(packet, next_hop, cx),)+ }
            }
            fn on_timer(&mut self, cx: &mut Context) {
                match self { $(Self::$variant(it) => it.on_timer(cx),)+ }
            }
            #[inline]
            fn deadline(&self) -> Time {
                match self { $(Self::$variant(it) => it.deadline(),)+ }
            }
            fn lookup(&self, destination: Address) -> Option<(Address, u8)> {
                match self { $(Self::$variant(it) => it.lookup(destination),)+ }
            }
            fn held(&self) -> Vec<PacketId> {
                match self { $(Self::$variant(it) => it.held(),)+ }
            }
            fn connectivity_interval(&self) -> Span {
                match self { $(Self::$variant(it) => it.connectivity_interval(),)+ }
            }
            fn on_connectivity(&mut self, connectivity: &Arc<Connectivity>) {
                match self { $(Self::$variant(it) => it.on_connectivity(connectivity),)+ }
            }
        }
    };
}

#[cfg(test)]
mod tests;

protocols! {
    "static" => static_routes::StaticRoutes, "Routes given in the scenario; they never change";
    "oracle" => oracle::Oracle,
        "Shortest paths over the true connectivity without routing packets: the best possible routing";
    "aodv" => aodv::Aodv, "Ad hoc on-demand distance vector routing (RFC 3561, or as in ns-2)";
    "source_routes" => source_routes::SourceRoutes,
        "Paths known without messages, which the source writes into each packet (the Source Route option, RFC 4728)";
    "dsdv" => dsdv::Dsdv,
        "Destination-sequenced distance vector routing (Perkins and Bhagwat 1994, or as in ns-2)";
}
