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
pub mod source_routes;
pub mod static_routes;

use std::sync::Arc;

use hopyard_engine::{Rng, Span, Time};

use crate::address::{Address, NodeId};
use crate::context::Context;
use crate::packet::{Packet, PacketId};
pub use connectivity::Connectivity;

/// A routing protocol at one node.
pub trait Routing {
    /// Whether the protocol calls [`Context::unreachable`] for segments that it cannot forward. It does so at the node
    /// that finds the link broken, or at the source that has no route. To query it, use [`Config::reports_breaks`].
    const REPORTS_BREAKS: bool = false;

    /// Whether the protocol finds routes over wires as well as over radio.
    const CROSSES_WIRES: bool = false;

    /// The run starts; timers may be set.
    fn start(&mut self, cx: &mut Context);

    /// A packet for another node, originated here or to be forwarded. The protocol sends it (`Action::Send`), holds it,
    /// or drops it. IP has lowered the TTL of a forwarded packet already.
    fn route(&mut self, packet: PacketId, cx: &mut Context);

    /// A routing message arrived from neighbour `from`; the protocol now owns the packet and must end it
    /// (`Context::deliver`, or `Context::drop_packet`) or send it on. Its TTL is as it was sent: IP does not forward
    /// it.
    fn on_message(&mut self, packet: PacketId, from: Address, cx: &mut Context);

    /// A packet with options arrived from neighbour `from`, for this node or for another one. Its TTL is as it was
    /// sent. The protocol says what becomes of the packet; if it takes it, it owns it.
    fn on_options(&mut self, _packet: PacketId, _from: Address, _cx: &mut Context) -> AfterOptions {
        AfterOptions::Unknown
    }

    /// A packet of any kind arrived from neighbour `from`. Protocols that extend the lifetime of used routes need this.
    fn on_heard(&mut self, _packet: PacketId, _from: Address, _cx: &mut Context) {}

    /// Whether the protocol wants the packets in frames that the node's radios decode and that are for other nodes
    /// (promiscuous mode). It is asked once, before `start`.
    fn overhears(&self) -> bool {
        false
    }

    /// A packet of any kind was decoded that neighbour `from` sent to neighbour `to`. The packet is a copy on loan: the
    /// protocol reads it, and leaves it where it is. Only protocols that ask for it are called ([`Self::overhears`]).
    fn on_overheard(&mut self, _packet: PacketId, _from: Address, _to: Address, _cx: &mut Context) {}

    /// Reads the data that a packet which arrives soon will need, so that they are in the processor's cache. The value
    /// has no meaning.
    fn prefetch(&self, _packet: &Packet) -> u32 {
        0
    }

    /// The MAC gave up sending `packet` to `next_hop`. The protocol owns the packet now.
    fn on_link_failure(&mut self, packet: PacketId, next_hop: Address, cx: &mut Context);

    /// A packet that waited in the interface queue for `next_hop` comes back after `Action::TakeBack`. The protocol
    /// owns it now.
    fn on_taken_back(&mut self, packet: PacketId, next_hop: Address, cx: &mut Context);

    /// The deadline is reached.
    fn on_timer(&mut self, cx: &mut Context);

    /// When `on_timer` must next be called.
    fn deadline(&self) -> Time;

    /// The next hop and the hop count of a route that is in use, for measurement; it changes nothing.
    fn lookup(&self, destination: Address) -> Option<(Address, u8)>;

    /// The packets that are held. At the end of a run every packet must be accounted for.
    fn held(&self) -> Vec<PacketId>;

    /// Interval at which the protocol is given the true connectivity while nodes move; the first time is before
    /// `start`. [`Span::ZERO`] for a protocol that does not use it. No real protocol can know it.
    fn connectivity_interval(&self) -> Span {
        Span::ZERO
    }

    /// The true connectivity from now on. All nodes may share one object.
    fn on_connectivity(&mut self, _connectivity: &Arc<Connectivity>) {}
}

/// What becomes of a packet with options (RFC 4728).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AfterOptions {
    /// The packet is at its destination. IP removes the options and passes up what is behind them, if anything.
    Deliver,
    /// IP forwards the packet to this neighbour, if its time to live has not run out.
    Forward(Address),
    /// The protocol owns the packet: it keeps it, has sent it on, or has ended it.
    Taken,
    /// The protocol does not know the options. IP forwards the packet as one without options, and drops it at its
    /// destination.
    Unknown,
}

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
