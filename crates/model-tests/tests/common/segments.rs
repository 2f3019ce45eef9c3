//! The TCP segments of a run.

use hopyard_engine::Time;
use hopyard_model::address::NodeId;
use hopyard_model::observe::{PacketEvent, Probe};
use hopyard_model::packet::{Body, Packet, TcpHeader};

/// The TCP segments that nodes passed to IP: when, the node, the header.
#[derive(Debug, Default)]
pub struct Segments(pub Vec<(Time, u32, TcpHeader)>);

impl Probe for Segments {
    fn on_packet(&mut self, now: Time, node: NodeId, packet: &Packet, event: PacketEvent) {
        if event == PacketEvent::Originated
            && let Body::Tcp(header) = packet.body
        {
            self.0.push((now, node.0, header));
        }
    }
}
