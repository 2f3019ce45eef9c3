//! A router: one set of procedures as a routing protocol.

use hopyard_engine::{Deadline, Prefetch, Rng, Span, Time};

use super::{OnDemand, Radios, State};
use crate::address::{Address, NodeId};
use crate::context::{Context, DropReason};
use crate::packet::{Body, Packet, PacketId};
use crate::params::Shared;
use crate::routing::{Networks, Routes, Routing};

/// A set of procedures over the common state: the reactions of a node to packets, messages, broken links and time.
pub trait Procedures: Sized {
    /// The protocol's parameters.
    type Params: OnDemand;

    /// A node that knows nothing yet.
    fn new(params: &Shared<Self::Params>, node: NodeId, rng: Rng) -> Self;

    /// The common state.
    fn state(&self) -> &State<Self::Params>;

    /// The common state.
    fn state_mut(&mut self) -> &mut State<Self::Params>;

    /// The run starts.
    fn start(&mut self, _cx: &mut Context) {}

    /// Whether this message is ignored without a look at the rest of it.
    #[inline]
    fn ignores(&mut self, _message: &<Self::Params as OnDemand>::Message, _now: Time) -> bool {
        false
    }

    /// Sends a data packet along the valid route to its destination, after a delay, and extends the route's lifetime.
    /// Whether there is such a route.
    fn send_along(&mut self, packet: PacketId, delay: Span, cx: &mut Context) -> bool;

    /// A data packet has no valid route.
    fn route_lacking(&mut self, packet: PacketId, cx: &mut Context);

    /// A message arrived from a neighbour.
    fn on_message(
        &mut self,
        packet: PacketId,
        message: &<Self::Params as OnDemand>::Message,
        from: Address,
        cx: &mut Context,
    );

    /// A packet of any kind arrived from a neighbour. Whether that changed anything.
    #[inline]
    fn on_heard(&mut self, _packet: PacketId, _from: Address, _cx: &mut Context) -> bool {
        false
    }

    /// The link layer, whose failures count, could not deliver a packet.
    fn on_link_failure(&mut self, packet: PacketId, next_hop: Address, reason: DropReason, cx: &mut Context);

    /// A packet comes back from the interface queue.
    fn on_taken_back(&mut self, packet: PacketId, cx: &mut Context);

    /// The deadline is reached.
    fn on_timer(&mut self, cx: &mut Context);

    /// When the timer must next be called.
    fn next_deadline(&self) -> Time;

    /// Sends the packets that have waited for a route, so far apart.
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
pub struct Router<R>(R);

impl<R: Procedures> Router<R> {
    /// A router at `node`.
    #[must_use]
    pub fn new(params: &Shared<R::Params>, node: NodeId, rng: Rng) -> Self {
        Self(R::new(params, node, rng))
    }

    /// The state of the node.
    #[cfg(test)]
    pub fn state(&self) -> &State<R::Params> {
        self.0.state()
    }

    /// Computes when the timer must next be called. Needed after every change that can move this time.
    fn find_deadline(&mut self) {
        self.0.state_mut().deadline = self.0.next_deadline();
    }
}

impl<R: Procedures> Routing for Router<R> {
    fn on_networks(&mut self, networks: &Networks) {
        let state = self.0.state_mut();
        state.radios = Radios::new(&networks.radios);
        R::Params::on_networks(state, networks);
    }

    fn start(&mut self, cx: &mut Context) {
        self.0.start(cx);
        self.find_deadline();
    }

    #[inline]
    fn route(&mut self, packet: PacketId, cx: &mut Context) {
        let state = self.0.state();
        let is_own = state.is_own(cx.packets[packet].source, cx);
        let it = &mut cx.packets[packet];
        if is_own {
            if it.hops > 0 {
                cx.drop_packet(state.node, packet, DropReason::RoutingLoop);
                return;
            }
            let ttl = state.common.data_ttl;
            if ttl > 0 {
                it.ttl = ttl;
            }
            if matches!(it.body, Body::Tcp(_)) {
                it.size += state.params.repeated_header();
            }
        }
        if !self.0.send_along(packet, Span::ZERO, cx) {
            if cx.packets[packet].is_error() && self.0.state().is_source(cx.packets[packet].source, cx) {
                cx.drop_packet(self.0.state().node, packet, DropReason::NoRoute);
            } else {
                self.0.route_lacking(packet, cx);
            }
        }
        self.find_deadline();
    }

    fn on_message(&mut self, packet: PacketId, from: Address, cx: &mut Context) {
        let Body::Routing(message) = &cx.packets[packet].body else {
            cx.drop_packet(self.0.state().node, packet, DropReason::NoListener);
            return;
        };
        if let Some(message) = message.get()
            && self.0.ignores(message, cx.now)
        {
            cx.deliver(packet);
            return;
        }
        let message = message.clone();
        match message.get() {
            None => cx.drop_packet(self.0.state().node, packet, DropReason::NoListener),
            Some(message) => self.0.on_message(packet, message, from, cx),
        }
        self.find_deadline();
    }

    #[inline]
    fn on_heard(&mut self, packet: PacketId, from: Address, cx: &mut Context) {
        if self.0.on_heard(packet, from, cx) {
            self.find_deadline();
        }
    }

    fn on_link_failure(&mut self, packet: PacketId, next_hop: Address, reason: DropReason, cx: &mut Context) {
        let state = self.0.state_mut();
        if state.common.by_link_layer {
            self.0.on_link_failure(packet, next_hop, reason, cx);
        } else {
            state.note_failure(packet, next_hop, cx);
            cx.drop_packet(state.node, packet, reason);
        }
        self.find_deadline();
    }

    fn on_taken_back(&mut self, packet: PacketId, _next_hop: Address, cx: &mut Context) {
        self.0.on_taken_back(packet, cx);
        self.find_deadline();
    }

    fn on_timer(&mut self, cx: &mut Context) {
        self.0.on_timer(cx);
        self.find_deadline();
    }
}

impl<R: Procedures> Deadline for Router<R> {
    #[inline]
    fn deadline(&self) -> Time {
        let state = self.0.state();
        debug_assert_eq!(state.deadline, self.0.next_deadline(), "found anew after whatever changed it");
        state.deadline
    }
}

impl<R: Procedures> Routes for Router<R> {
    fn accepts_tunnels(&self) -> bool {
        R::Params::accepts_tunnels(self.0.state())
    }

    fn lookup(&self, destination: Address) -> Option<(Address, u8)> {
        R::Params::lookup(self.0.state(), destination)
    }

    fn tunnel_end(&self, destination: Address) -> Option<Address> {
        R::Params::tunnel_end(self.0.state(), destination)
    }

    fn has_way(&self, destination: Address, cx: &Context) -> bool {
        R::Params::has_way(self.0.state(), destination, cx)
    }

    fn held(&self) -> Vec<PacketId> {
        self.0.state().buffer.iter().collect()
    }
}

impl<R: Procedures> Prefetch<Packet> for Router<R> {
    #[inline]
    fn prefetch(&self, packet: &Packet) -> u32 {
        let state = self.0.state();
        match &packet.body {
            Body::Routing(message) => match message.get() {
                Some(message) => R::Params::prefetch(state, message),
                None => state.address.0,
            },
            _ => state.address.0,
        }
    }
}
