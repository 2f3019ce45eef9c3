//! Requests and replies (RFC 3561 §6.5 to §6.8).

use hopyard_engine::{Span, Time};

use super::super::message::{AodvMessage, Reply, Request};
use super::super::params::Rules;
use super::super::table::{Entry, RouteState};
use super::Rfc3561;
use crate::address::Address;
use crate::context::{Context, DropReason};
use crate::packet::{Body, PacketId};
use crate::routing::common::newer;

impl Rfc3561 {
    /// Handles a message.
    pub(super) fn receive(&mut self, packet: PacketId, message: &AodvMessage, from: Address, cx: &mut Context) {
        match message {
            AodvMessage::Request(request) => self.on_request(packet, *request, from, cx),
            AodvMessage::Reply(reply) => self.on_reply(packet, *reply, from, cx),
            AodvMessage::Error(error) => {
                self.on_error(error, from, cx);
                cx.deliver(packet);
            }
            AodvMessage::Hello { sequence, .. } => {
                self.on_hello(*sequence, from, cx);
                cx.deliver(packet);
            }
            AodvMessage::ReplyAck => {
                self.awaited_acks.retain(|&(neighbour, _)| neighbour != from);
                cx.deliver(packet);
            }
        }
    }

    /// The neighbour that a message came from can be reached (§6.5, first paragraph): a route without a sequence
    /// number.
    fn meet(&mut self, neighbour: Address, cx: &mut Context) {
        let least = cx.now + self.state.common.active_route_timeout;
        let route = self.state.table.entry(neighbour);
        let expires = if route.state == RouteState::Up {
            route.expires.max(least)
        } else {
            route.own_sequence = false;
            least
        };
        self.bring_up(neighbour, neighbour, 1, expires, cx);
    }

    fn on_request(&mut self, packet: PacketId, mut request: Request, from: Address, cx: &mut Context) {
        self.blacklist.retain(|&(_, until)| until > cx.now);
        // §6.8: the sender does not hear this node, so a route to it would not work.
        let ignored = self.blacklist.iter().any(|&(neighbour, _)| neighbour == from);
        if ignored {
            cx.deliver(packet);
            return;
        }
        self.meet(from, cx);
        if request.originator == self.state.address {
            cx.deliver(packet);
            return;
        }
        let forget = cx.now + self.state.params.path_discovery_time();
        if !self.state.heard.note(request.originator, request.id, cx.now, forget) {
            cx.deliver(packet);
            return;
        }
        request.hops = request.hops.saturating_add(1);
        let mismatch = |back: &Entry| back.next_hop != from && !newer(request.originator_sequence, back.sequence);
        if self.state.params.drop_mismatched_requests && self.state.table.up(request.originator).is_some_and(mismatch) {
            cx.deliver(packet);
            return;
        }
        let least = cx.now + self.state.params.reverse_route_life(request.hops);
        let expires = self.state.table.up(request.originator).map_or(least, |back| back.expires.max(least));
        if !self.learn(request.originator, from, request.hops, request.originator_sequence, expires, cx) {
            self.keep(request.originator, least);
        }
        if self.state.is_own(request.destination, cx) {
            // §6.1: at least what the originator knows; §6.6.1: one more where it asks for that.
            if newer(request.destination_sequence, self.state.sequence) && !request.unknown_sequence {
                self.state.sequence = request.destination_sequence;
            } else if self.state.params.rules == Rules::Uu
                && request.destination_sequence == self.state.sequence
                && !request.unknown_sequence
            {
                self.state.sequence = self.state.sequence.wrapping_add(1);
            }
            let lifetime = self.state.params.my_route_timeout();
            self.reply(request.originator, request.destination, 0, self.state.sequence, lifetime, cx);
            cx.deliver(packet);
            return;
        }
        if self.state.own.internet.serves(request.destination, cx) && self.answer_for(&request, cx) {
            cx.deliver(packet);
            return;
        }
        let known = self.state.table.get(request.destination).filter(|route| route.known_sequence).copied();
        if let Some(route) = known.filter(|route| {
            let fresh = request.unknown_sequence || !newer(request.destination_sequence, route.sequence);
            // A route whose next hop is the sender of the request would be a loop of two nodes.
            route.state == RouteState::Up
                && route.own_sequence
                && fresh
                && route.next_hop != from
                && !request.destination_only
        }) {
            self.reply_from_table(&request, route.next_hop, from, cx);
            cx.deliver(packet);
            return;
        }
        let ttl = cx.packets[packet].ttl.saturating_sub(1);
        if ttl == 0 {
            cx.deliver(packet);
            return;
        }
        if let Some(route) = known
            && (request.unknown_sequence || newer(route.sequence, request.destination_sequence))
        {
            (request.destination_sequence, request.unknown_sequence) = (route.sequence, false);
        }
        let delay = self.state.jitter();
        self.state.send_on(packet, AodvMessage::Request(request), Address::BROADCAST, ttl, delay, cx);
    }

    /// An intermediate node answers (§6.6.2), and tells the destination of the originator if that is asked for
    /// (§6.6.3).
    fn reply_from_table(&mut self, request: &Request, onward: Address, from: Address, cx: &mut Context) {
        let (originator, destination) = (request.originator, request.destination);
        let Some(route) = self.state.table.up(destination).copied() else { return };
        self.state.own.precursors.insert(destination, from);
        self.state.own.precursors.insert(originator, onward);
        // §6.7: whoever gets a reply uses the route. A newer request may have shown another way back.
        if let Some(back) = self.state.table.up(originator) {
            self.state.own.precursors.insert(destination, back.next_hop);
        }
        self.reply(originator, destination, route.hops, route.sequence, route.expires.since(cx.now), cx);
        if request.gratuitous
            && let Some(back) = self.state.table.up(originator).copied()
        {
            let lifetime = back.expires.since(cx.now);
            self.reply(destination, originator, back.hops, request.originator_sequence, lifetime, cx);
        }
    }

    /// Sends a reply to `originator` about `destination`.
    fn reply(
        &mut self,
        originator: Address,
        destination: Address,
        hops: u8,
        sequence: u32,
        lifetime: Span,
        cx: &mut Context,
    ) {
        let reply = Reply {
            hops,
            destination,
            destination_sequence: sequence,
            originator,
            lifetime,
            ack_required: false,
            internet: None,
            sent: Time::ZERO,
        };
        self.send_reply(reply, cx);
    }

    /// Sends a new reply along the reverse route.
    pub(super) fn send_reply(&mut self, mut reply: Reply, cx: &mut Context) {
        let Some(next_hop) = self.state.table.up(reply.originator).map(|back| back.next_hop) else { return };
        reply.ack_required = self.await_ack(next_hop, cx);
        self.state.send(AodvMessage::Reply(reply), next_hop, self.state.params.net_diameter, Span::ZERO, cx);
    }

    /// Whether a reply to this neighbour asks for an acknowledgement, for which this node then waits (§6.8).
    fn await_ack(&mut self, next_hop: Address, cx: &Context) -> bool {
        let ask = self.state.params.request_rrep_ack;
        if ask && !self.awaited_acks.iter().any(|&(neighbour, _)| neighbour == next_hop) {
            self.awaited_acks.push((next_hop, cx.now + self.state.params.next_hop_wait()));
        }
        ask
    }

    /// Requests from this neighbour are ignored for a while, since it does not hear this node (§6.8).
    pub(super) fn ignore(&mut self, neighbour: Address, cx: &Context) {
        self.blacklist.retain(|&(other, _)| other != neighbour);
        self.blacklist.push((neighbour, cx.now + self.state.params.blacklist_timeout()));
    }

    /// A routing message could not be delivered to a neighbour.
    pub(super) fn on_message_lost(&mut self, packet: PacketId, next_hop: Address, cx: &Context) {
        if let Body::Routing(message) = &cx.packets[packet].body
            && matches!(message.get(), Some(AodvMessage::Reply(_)))
        {
            self.awaited_acks.retain(|&(neighbour, _)| neighbour != next_hop);
            self.ignore(next_hop, cx);
        }
    }

    fn on_reply(&mut self, packet: PacketId, mut reply: Reply, from: Address, cx: &mut Context) {
        if reply.ack_required {
            self.state.send(AodvMessage::ReplyAck, from, 1, Span::ZERO, cx);
        }
        reply.hops = reply.hops.saturating_add(1);
        let expires = cx.now + reply.lifetime;
        let news = !self.state.is_own(reply.destination, cx)
            && self.learn(reply.destination, from, reply.hops, reply.destination_sequence, expires, cx);
        // This comes after the route of the reply is learned. Otherwise a neighbour's reply about itself would find its
        // route valid, would change nothing, and would not be forwarded.
        self.meet(from, cx);
        if let Some(host) = reply.internet.filter(|_| news) {
            self.on_gateway(host, reply.destination, reply.originator, cx);
        }
        // §6.7: only a reply that has made or changed a route is forwarded.
        if !news || self.state.is_own(reply.originator, cx) {
            cx.deliver(packet);
            return;
        }
        let Some(back) = self.state.table.up(reply.originator).map(|back| back.next_hop) else {
            cx.drop_packet(self.state.node, packet, DropReason::NoRoute);
            return;
        };
        let ttl = cx.packets[packet].ttl.saturating_sub(1);
        if ttl == 0 {
            cx.drop_packet(self.state.node, packet, DropReason::TtlExpired);
            return;
        }
        self.state.own.precursors.insert(reply.destination, back);
        self.state.own.precursors.insert(from, back);
        self.keep(reply.originator, cx.now + self.state.common.active_route_timeout);
        reply.ack_required = self.await_ack(back, cx);
        self.state.send_on(packet, AodvMessage::Reply(reply), back, ttl, Span::ZERO, cx);
    }
}
