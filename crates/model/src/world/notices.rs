//! ICMP errors about messages of agents that did not arrive (RFC 792). Their sources ask for them by the type of the
//! message.
//!
//! Left out: the limit on their rate (RFC 1812 §4.3.2.8), which registrations are far below.

use super::World;
use crate::address::{Address, NodeId};
use crate::agent::ICMP;
use crate::context::DropReason;
use crate::ip::{Arrival, Way};
use crate::observe::Probe;
use crate::packet::{Body, FlowId, Packet, Undelivered, Unreachable};
use crate::routing::Routing as _;

impl<P: Probe> World<P> {
    /// Tells the sources of messages that these did not arrive.
    pub(super) fn tell_undelivered(&mut self) {
        for (node, packet, reason) in std::mem::take(&mut self.cx.undelivered) {
            self.tell_source(node, &packet, reason);
        }
    }

    fn tell_source(&mut self, node: NodeId, packet: &Packet, reason: DropReason) {
        let Some(why) = self.unreachable(node, packet.destination, reason) else { return };
        let Body::Control { message, .. } = &packet.body else { return };
        let what = Undelivered { why, source: packet.source, destination: packet.destination, ttl: packet.ttl };
        let Some((message, size)) = message.notice(&what) else { return };
        let error = self.cx.originate(Packet {
            created: self.cx.now,
            source: node.into(),
            destination: packet.source,
            flow: FlowId::NONE,
            size,
            ttl: self.ttl,
            hops: 0,
            salvaged: 0,
            body: Body::Control { port: ICMP, message },
        });
        if self.cx.is_local(node, packet.source) {
            // It knows without a packet.
            self.pass(node, error, node.into(), Arrival::Agent(ICMP));
        } else {
            self.nodes[node.index()].icmp_errors += 1;
            self.route(node, error);
        }
        self.arm_routing(node.index());
    }

    /// What a router says about a packet that it could not deliver or pass on; nothing about one that a full queue, a
    /// battery or chance took.
    fn unreachable(&self, node: NodeId, destination: Address, reason: DropReason) -> Option<Unreachable> {
        match reason {
            DropReason::NoListener => Some(Unreachable::Port),
            DropReason::TtlExpired => Some(Unreachable::TimeExceeded),
            DropReason::NoRoute | DropReason::DiscoveryFailed | DropReason::RouteTimeout => Some(Unreachable::Network),
            // RFC 1812 §5.2.7.1: that the host is unreachable is said by the last router before it.
            DropReason::WireDown | DropReason::ArpFailed | DropReason::RetryLimit | DropReason::BrokenLink => {
                let next = match self.way(node, destination)? {
                    Way::Direct => Some(destination),
                    Way::Via(next) => Some(next),
                    Way::Protocol => {
                        let name = self.cx.owners.name(destination);
                        self.nodes[node.index()].routing.lookup_named(destination, name).map(|(next, _)| next)
                    }
                    _ => None,
                };
                let is_last = next.is_some_and(|next| self.cx.owners.of(next) == self.cx.owners.of(destination));
                Some(if is_last { Unreachable::Host } else { Unreachable::Network })
            }
            _ => None,
        }
    }
}
