//! Routing protocols: one file or folder each.
//!
//! A protocol sees its neighbours only through packets and through the link's feedback. It is asked for the way of each
//! packet and answers with actions: send it to a neighbour, hold it (the protocol keeps the id), or drop it for a reason.

use hopyard_engine::Time;

use crate::context::Context;
use crate::packet::{NodeId, PacketId};

/// A routing protocol at one node.
pub trait Routing {
    /// The run starts; timers may be set.
    fn start(&mut self, cx: &mut Context);

    /// A packet for another node, originated here or to be forwarded. The protocol sends it (`Action::Send`), holds it, or
    /// drops it. IP has lowered the TTL of a forwarded packet already.
    fn route(&mut self, packet: PacketId, cx: &mut Context);

    /// A routing message arrived from neighbour `from`; the protocol now owns the packet and must end it
    /// (`Context::deliver`, or `Context::drop_packet`) or send it on.
    fn on_message(&mut self, packet: PacketId, from: NodeId, cx: &mut Context);

    /// A packet of any kind arrived from neighbour `from`: protocols that keep routes alive by use look at it.
    fn on_heard(&mut self, _packet: PacketId, _from: NodeId, _cx: &mut Context) {}

    /// The MAC gave up sending `packet` to `next_hop`. The protocol owns the packet now.
    fn on_link_failure(&mut self, packet: PacketId, next_hop: NodeId, cx: &mut Context);

    /// A packet that waited in the interface queue for `next_hop` comes back after `Action::TakeBack`. The protocol owns it now.
    fn on_taken_back(&mut self, packet: PacketId, next_hop: NodeId, cx: &mut Context);

    /// The deadline is reached.
    fn on_timer(&mut self, cx: &mut Context);

    /// When `on_timer` must next be called.
    fn deadline(&self) -> Time;

    /// The next hop and the hop count of a route that is in use, for measurement; it changes nothing.
    fn lookup(&self, destination: NodeId) -> Option<(NodeId, u8)>;

    /// The packets that are held, for the account at the end of the run.
    fn held(&self) -> Vec<PacketId>;
}
