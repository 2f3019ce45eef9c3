//! Gateways to the Internet, as AODV-UU has them: replies for hosts outside, and their use by the originators.

use hopyard_engine::Time;

use super::super::message::{Reply, Request};
use super::super::params::{Locality, ToGateway};
use super::{Outcry, Rfc3561};
use crate::address::Address;
use crate::context::Context;
use crate::packet::{Body, PacketId};
use crate::routing::common::on_demand::Procedures as _;

impl Rfc3561 {
    /// A gateway answers a request for a host that its wires lead to, with a reply about itself (RREP-I). Its own
    /// sequence number grows, or nodes that know the gateway would not forward the reply. Whether the request ends
    /// here: not if only a search without an answer tells which hosts are outside.
    pub(super) fn answer_for(&mut self, request: &Request, cx: &mut Context) -> bool {
        self.state.sequence = self.state.sequence.wrapping_add(1);
        let reply = Reply {
            hops: 0,
            destination: self.state.address,
            destination_sequence: self.state.sequence,
            originator: request.originator,
            lifetime: self.state.params.gateway_lifetime(),
            ack_required: false,
            internet: Some(request.destination),
            sent: Time::ZERO,
        };
        self.send_reply(reply, cx);
        self.state.params.locality == Locality::Prefix
    }

    /// A gateway answered `originator` for a host. The originator binds the host to the gateway; where each node sends
    /// packets towards a gateway, the nodes on the way do so too. A node that has bound the host to a gateway farther
    /// away changes to the nearer one.
    pub(super) fn on_gateway(&mut self, host: Address, gateway: Address, originator: Address, cx: &mut Context) {
        self.state.own.internet.meet(gateway);
        let hops = |state: &Self, gateway: Address| state.state.table.up(gateway).map(|route| route.hops);
        let nearer = self.searches.get_mut(host).map(|search| search.own.gateway);
        match nearer {
            // The search goes on; the nearest gateway waits for its end.
            Some(other) if self.state.params.locality == Locality::NoAnswer => {
                let other = other.and_then(|other| hops(self, other));
                if other.is_none_or(|other| hops(self, gateway).is_some_and(|hops| hops < other))
                    && let Some(search) = self.searches.get_mut(host)
                {
                    search.own.gateway = Some(gateway);
                }
            }
            _ => {
                let on_the_way = self.state.params.to_gateway == ToGateway::DefaultRoute;
                if originator == self.state.address || on_the_way || self.state.own.internet.has(host) {
                    self.reach_by(host, gateway, cx);
                }
            }
        }
    }

    /// Binds a host to a gateway, and sends the packets that wait for it. Whether there is a route to the gateway.
    pub(super) fn reach_by(&mut self, host: Address, gateway: Address, cx: &mut Context) -> bool {
        self.state.own.internet.bind(host, gateway, self.state.node, &self.state.table, cx);
        if self.state.to_gateway(host, false, cx).is_none() {
            return false;
        }
        self.searches.end(host);
        if self.state.buffer.has(host) {
            self.flush(host, self.state.params.buffer_spacing, cx);
        }
        true
    }

    /// Takes a packet of this node out of its tunnel to a gateway, which cannot be reached as it was: another gateway
    /// may reach its destination.
    pub(super) fn take_out(&self, packet: PacketId, cx: &mut Context) {
        let it = &cx.packets[packet];
        if let Body::Tunnelled(_, inner) = &it.body
            && self.state.is_own(it.source, cx)
            && self.state.own.internet.is_known(it.destination)
            && (inner.is_error() || self.state.own.internet.has(inner.destination))
        {
            cx.decapsulate(packet);
        }
    }

    /// A neighbour to which packets for a host go, on the way to a gateway, has no way there: it has not heard that
    /// this is a gateway. Those who use the way over this node are told (only where each node sends packets towards
    /// a gateway).
    pub(super) fn on_host_error(
        &mut self,
        host: Address,
        sequence: u32,
        from: Address,
        outcry: &mut Outcry,
        cx: &mut Context,
    ) {
        let route = self.state.to_gateway(host, false, cx);
        let Some(route) = route.filter(|route| route.next_hop == from).copied() else { return };
        self.state.own.internet.host_lost(host, route.hops, self.state.node, cx);
        outcry.unreachable.push((host, sequence));
        outcry.recipients.extend(self.state.own.precursors.of(route.destination));
    }
}
