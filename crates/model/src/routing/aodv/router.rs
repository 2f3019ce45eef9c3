//! A router: one set of procedures as a routing protocol.

use hopyard_engine::{Rng, Span, Time};

use super::message::{AodvMessage, Request};
use super::params::Params;
use super::state::State;
use super::table::RouteState;
use crate::address::{Address, NodeId};
use crate::context::{Action, Context, DropReason, RouteChange};
use crate::packet::{Body, Packet, PacketId};

/// A set of procedures over the common state: what a node does with packets, messages, broken links and time.
pub trait Procedures: Sized {
    /// A node that knows nothing yet.
    fn new(params: &Params, node: NodeId, rng: Rng) -> Self;

    /// The common state.
    fn state(&self) -> &State;

    /// The common state.
    fn state_mut(&mut self) -> &mut State;

    /// The run starts.
    fn start(&mut self, _cx: &mut Context) {}

    /// Whether this request is ignored without a look at the rest of the message.
    #[inline]
    fn ignores(&mut self, _request: &Request, _now: Time) -> bool {
        false
    }

    /// A data packet goes from `source` through `next_hop` to its destination: which routes stay valid until `until`.
    fn extend(&mut self, source: Address, destination: Address, next_hop: Address, until: Time);

    /// A data packet has no valid route.
    fn route_lacking(&mut self, packet: PacketId, cx: &mut Context);

    /// A message arrived from a neighbour.
    fn on_message(&mut self, packet: PacketId, message: &AodvMessage, from: Address, cx: &mut Context);

    /// A packet of any kind arrived from a neighbour. Whether that changed anything.
    #[inline]
    fn on_heard(&mut self, _packet: PacketId, _from: Address, _cx: &mut Context) -> bool {
        false
    }

    /// The link layer, whose failures count, could not deliver a packet.
    fn on_link_failure(&mut self, packet: PacketId, next_hop: Address, cx: &mut Context);

    /// A packet comes back from the interface queue.
    fn on_taken_back(&mut self, packet: PacketId, cx: &mut Context);

    /// The deadline is reached.
    fn on_timer(&mut self, cx: &mut Context);

    /// When the timer must next be called.
    fn next_deadline(&self) -> Time;

    /// Sends a data packet along the valid route to its destination, and extends the route's lifetime. Whether there is
    /// such a route.
    #[inline]
    fn send_along(&mut self, packet: PacketId, delay: Span, cx: &mut Context) -> bool {
        let state = self.state_mut();
        let it = &cx.packets[packet];
        let (source, destination, ttl) = (it.source, it.destination, it.ttl);
        let Some(route) = state.table.get_mut(destination).filter(|route| route.state == RouteState::Up) else {
            return false;
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
        let until = cx.now + state.params.active_route_timeout();
        self.extend(source, destination, next_hop, until);
        self.state_mut().dispatch(packet, next_hop, delay, cx);
        true
    }

    /// Sends the packets that have waited for a route.
    fn flush(&mut self, destination: Address, spacing: Span, cx: &mut Context) {
        for (place, packet) in self.state_mut().buffer.take(destination, cx).into_iter().enumerate() {
            if !self.send_along(packet, spacing * place as u64, cx) {
                cx.drop_packet(self.state().node, packet, DropReason::NoRoute);
            }
        }
    }
}

/// A router that follows these procedures.
#[derive(Debug)]
pub struct Router<P>(P);

impl<P: Procedures> Router<P> {
    /// A router at `node`.
    #[must_use]
    pub fn new(params: &Params, node: NodeId, rng: Rng) -> Self {
        Self(P::new(params, node, rng))
    }

    /// What the node knows.
    #[cfg(test)]
    pub fn state(&self) -> &State {
        self.0.state()
    }

    /// Computes when the timer must next be called. Needed after every change that can move this time.
    fn find_deadline(&mut self) {
        self.0.state_mut().deadline = self.0.next_deadline();
    }
}

/// What a routing protocol is asked for.
impl<P: Procedures> Router<P> {
    pub fn start(&mut self, cx: &mut Context) {
        self.0.start(cx);
        self.find_deadline();
    }

    #[inline]
    pub fn route(&mut self, packet: PacketId, cx: &mut Context) {
        let state = self.0.state();
        let it = &mut cx.packets[packet];
        let is_own = it.source == state.address;
        if is_own {
            if it.hops > 0 {
                cx.drop_packet(state.node, packet, DropReason::RoutingLoop);
                return;
            }
            if state.params.data_ttl > 0 {
                it.ttl = state.params.data_ttl;
            }
        }
        if !self.0.send_along(packet, Span::ZERO, cx) {
            if is_own && cx.packets[packet].is_error() {
                cx.drop_packet(self.0.state().node, packet, DropReason::NoRoute);
            } else {
                self.0.route_lacking(packet, cx);
            }
        }
        self.find_deadline();
    }

    pub fn on_message(&mut self, packet: PacketId, from: Address, cx: &mut Context) {
        let Body::Routing(message) = &cx.packets[packet].body else {
            cx.drop_packet(self.0.state().node, packet, DropReason::NoListener);
            return;
        };
        if let Some(AodvMessage::Request(request)) = message.get::<AodvMessage>()
            && self.0.ignores(request, cx.now)
        {
            cx.deliver(packet);
            return;
        }
        let message = message.clone();
        match message.get::<AodvMessage>() {
            None => cx.drop_packet(self.0.state().node, packet, DropReason::NoListener),
            Some(message) => self.0.on_message(packet, message, from, cx),
        }
        self.find_deadline();
    }

    #[inline]
    pub fn on_heard(&mut self, packet: PacketId, from: Address, cx: &mut Context) {
        if self.0.on_heard(packet, from, cx) {
            self.find_deadline();
        }
    }

    #[inline]
    pub fn prefetch(&self, packet: &Packet) -> u32 {
        let state = self.0.state();
        match &packet.body {
            Body::Routing(message) => match message.get::<AodvMessage>() {
                Some(AodvMessage::Request(request)) => state.heard.prefetch(request.originator),
                _ => state.address.0,
            },
            _ => state.address.0,
        }
    }

    pub fn on_link_failure(&mut self, packet: PacketId, next_hop: Address, cx: &mut Context) {
        let state = self.0.state_mut();
        if state.params.by_link_layer() {
            self.0.on_link_failure(packet, next_hop, cx);
        } else {
            state.note_failure(packet, next_hop, cx);
            cx.drop_packet(state.node, packet, cx.link_failure);
        }
        self.find_deadline();
    }

    pub fn on_taken_back(&mut self, packet: PacketId, cx: &mut Context) {
        self.0.on_taken_back(packet, cx);
        self.find_deadline();
    }

    pub fn on_timer(&mut self, cx: &mut Context) {
        self.0.on_timer(cx);
        self.find_deadline();
    }

    #[inline]
    pub fn deadline(&self) -> Time {
        let state = self.0.state();
        debug_assert_eq!(state.deadline, self.0.next_deadline(), "found anew after whatever changed it");
        state.deadline
    }

    pub fn lookup(&self, destination: Address) -> Option<(Address, u8)> {
        self.0.state().table.up(destination).map(|route| (route.next_hop, route.hops))
    }

    pub fn held(&self) -> Vec<PacketId> {
        self.0.state().buffer.iter().collect()
    }
}
