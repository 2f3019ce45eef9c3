//! Forwarding of data packets, for all sets of procedures.

use hopyard_engine::{Span, Time};

use super::params::{Params, ToGateway};
use super::table::{Entry, RouteState};
use crate::address::Address;
use crate::context::{Action, Context, DropReason, RouteChange};
use crate::packet::{Form, PacketId};
use crate::routing::common::on_demand::Procedures;

/// The functions of a set of procedures that AODV needs besides.
pub trait Forwarding: Procedures<Params = Params> {
    /// A data packet goes from `source` through `next_hop` to its destination: which routes stay valid until `until`.
    fn extend(&mut self, source: Address, destination: Address, next_hop: Address, until: Time);

    /// Sends a data packet along the valid route to its destination, and extends the route's lifetime. Whether there is
    /// such a route, or one to a gateway.
    #[inline]
    fn forward(&mut self, packet: PacketId, delay: Span, cx: &mut Context) -> bool {
        let state = self.state_mut();
        let it = &cx.packets[packet];
        let (source, destination, ttl) = (it.source, it.destination, it.ttl);
        let Some(route) = state.table.get_mut(destination).filter(|route| route.state == RouteState::Up) else {
            return self.forward_outside(packet, delay, cx);
        };
        if ttl == 0 {
            cx.drop_packet(state.node, packet, DropReason::TtlExpired);
            return true;
        }
        let (next_hop, hops) = (route.next_hop, route.hops);
        if !std::mem::replace(&mut route.used, true) {
            let change = RouteChange { destination, route: Some((next_hop, hops)) };
            cx.act(Action::RouteChanged { node: state.node, change });
        }
        let until = cx.now + state.common.active_route_timeout;
        self.extend(source, destination, next_hop, until);
        self.state_mut().dispatch(packet, next_hop, delay, cx);
        true
    }

    /// Sends a packet to a gateway, if its destination is outside the ad hoc network and there is a route to a gateway
    /// that reaches it. Whether there is.
    fn forward_outside(&mut self, packet: PacketId, delay: Span, cx: &mut Context) -> bool {
        let state = self.state_mut();
        if state.own.internet.knows_none() {
            return false;
        }
        let it = &cx.packets[packet];
        let (source, destination, ttl, is_error) = (it.source, it.destination, it.ttl, it.is_error());
        let by_default = state.params.to_gateway == ToGateway::DefaultRoute;
        // Only the source puts packets into a tunnel.
        if !by_default && !state.is_own(source, cx) {
            return false;
        }
        let Some(&Entry { destination: gateway, next_hop, hops, .. }) = state.to_gateway(destination, is_error, cx)
        else {
            return false;
        };
        state.own.internet.use_host(destination, (next_hop, hops), state.node, cx);
        if !by_default {
            cx.encapsulate(packet, source, gateway, ttl, Form::IpInIp);
            return self.send_along(packet, delay, cx);
        }
        if ttl == 0 {
            cx.drop_packet(state.node, packet, DropReason::TtlExpired);
            return true;
        }
        let until = cx.now + state.common.active_route_timeout;
        self.extend(source, gateway, next_hop, until);
        self.state_mut().dispatch(packet, next_hop, delay, cx);
        true
    }
}
