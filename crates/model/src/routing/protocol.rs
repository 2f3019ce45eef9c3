//! What a routing protocol is asked.

use std::sync::Arc;

use hopyard_engine::{Span, Time};

use super::connectivity::Connectivity;
use crate::address::Address;
use crate::context::Context;
use crate::packet::{Packet, PacketId};
use crate::params::Params;

/// What the checks of a scenario and the tables of results ask about a protocol with these parameters.
pub trait Facts: Params {
    /// Whether ns-2 gives the protocol's messages numbers of packets (`loss_ns2_percent`).
    const NUMBERED_BY_NS2: bool = true;

    /// The nodes that the parameters name, each with its key within the parameters, such as "routes.0.via".
    fn named_nodes(&self) -> Vec<(String, u32)> {
        Vec::new()
    }

    /// The way from a node to another one, as far as the parameters prescribe it.
    fn prescribed(&self, _from: u32, _to: u32) -> Prescribed {
        Prescribed::Nothing
    }
}

/// A way that the parameters of a protocol prescribe.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Prescribed {
    /// The protocol finds the way.
    Nothing,
    /// The way begins with these hops, each from a node to the next one; a way without hops is found by the protocol.
    Hops(Vec<(u32, u32)>),
    /// There is no way.
    Unreachable,
}

/// A routing protocol at one node.
pub trait Routing {
    /// Whether the protocol calls [`Context::unreachable`] for segments that it cannot forward. It does so at the node
    /// that finds the link broken, or at the source that has no route.
    /// To query it, use [`Config::reports_breaks`](super::Config::reports_breaks).
    const REPORTS_BREAKS: bool = false;

    /// Whether the protocol finds routes over wires as well as over radio. If so, its broadcasts go to the other ends
    /// of wires too.
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
