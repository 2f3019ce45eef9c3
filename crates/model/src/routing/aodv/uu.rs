//! AODV as AODV-UU 0.9 does it (Uppsala University), as it runs in ns-2.
//!
//! Reference: the sources of AODV-UU 0.9.6 and its port to ns-2; facts only, no code. It follows RFC 3561 but for what
//! stands here, for the constants of the profile `uu`, and for three steps of [`Rfc3561`] that ask for these rules:
//!
//! - A packet that the link layer gives back is dropped, also at its source, with all packets in the queue for that
//!   neighbour. Only a packet whose destination is being looked for waits, and one that a repair begins for.
//! - Routing messages that the link layer gives back do not break a link.
//! - Each flood of a search waits as long as a ring of that size; the waits do not double. A ring below TTL_THRESHOLD
//!   may grow beyond it (`search_on` and `send_request` in `rfc/discovery.rs`).
//! - A destination that is asked for with its present number takes the next one (`on_request` in `rfc/messages.rs`).
//!
//! Left out: the HELLO extension with the neighbours that a node hears, HELLO messages of idle nodes, multicast, and
//! the wait after a reboot. In AODV-UU all nodes send HELLO messages unless its option for active nodes is set.

use hopyard_engine::{Rng, Span, Time};

use super::message::AodvMessage;
use super::params::Params;
use super::rfc::Rfc3561;
use super::state::State;
use super::table::RouteState;
use crate::address::{Address, NodeId};
use crate::context::{Action, Context, DropReason};
use crate::packet::PacketId;
use crate::params::Shared;
use crate::routing::common::on_demand::Procedures;

/// The procedures of AODV-UU.
#[derive(Debug)]
pub struct Uu(Rfc3561);

impl Procedures for Uu {
    type Params = Params;

    fn new(params: &Shared<Params>, node: NodeId, rng: Rng) -> Self {
        Self(Rfc3561::new(params, node, rng))
    }

    fn state(&self) -> &State {
        self.0.state()
    }

    fn state_mut(&mut self) -> &mut State {
        self.0.state_mut()
    }

    fn start(&mut self, cx: &mut Context) {
        self.0.start(cx);
    }

    #[inline]
    fn send_along(&mut self, packet: PacketId, delay: Span, cx: &mut Context) -> bool {
        self.0.send_along(packet, delay, cx)
    }

    fn route_lacking(&mut self, packet: PacketId, cx: &mut Context) {
        self.0.route_lacking(packet, cx);
    }

    fn on_message(&mut self, packet: PacketId, message: &AodvMessage, from: Address, cx: &mut Context) {
        self.0.on_message(packet, message, from, cx);
    }

    #[inline]
    fn on_heard(&mut self, packet: PacketId, from: Address, cx: &mut Context) -> bool {
        self.0.on_heard(packet, from, cx)
    }

    fn on_link_failure(&mut self, packet: PacketId, next_hop: Address, reason: DropReason, cx: &mut Context) {
        let it = &cx.packets[packet];
        let (destination, source) = (it.destination, it.source);
        let state = self.0.state_mut();
        if it.is_routing() {
            return cx.drop_packet(state.node, packet, reason);
        }
        let route = state.table.get(destination).copied();
        if self.0.looks_for(destination) {
            return self.0.state_mut().buffer.push(packet, cx);
        }
        let state = self.0.state_mut();
        let up = route.filter(|route| route.state == RouteState::Up);
        let repair = state.params.local_repair
            && up.is_some_and(|route| route.next_hop == next_hop && route.hops <= state.params.max_repair_ttl());
        if repair {
            state.buffer.push(packet, cx);
            cx.act(Action::TakeBack { node: state.node, next_hop });
            self.0.break_link(next_hop, destination, cx);
            self.0.repair(destination, source, cx);
            return;
        }
        cx.unreachable(state.node, packet);
        cx.drop_packet(state.node, packet, reason);
        // A packet that was sent before the route changed says nothing of the present route.
        if up.is_none_or(|route| route.next_hop == next_hop) {
            cx.act(Action::TakeBack { node: state.node, next_hop });
        }
        if up.is_some_and(|route| route.next_hop == next_hop) {
            self.0.break_link(next_hop, Address::BROADCAST, cx);
        }
    }

    fn on_taken_back(&mut self, packet: PacketId, cx: &mut Context) {
        let it = &cx.packets[packet];
        if !it.is_routing() && self.0.looks_for(it.destination) {
            self.0.state_mut().buffer.push(packet, cx);
        } else {
            let node = self.0.state().node;
            cx.unreachable(node, packet);
            cx.drop_packet(node, packet, DropReason::BrokenLink);
        }
    }

    fn on_timer(&mut self, cx: &mut Context) {
        self.0.on_timer(cx);
    }

    #[inline]
    fn next_deadline(&self) -> Time {
        self.0.next_deadline()
    }
}
