//! Requests and replies. Both sets of procedures handle them in the same way, except for the questions in
//! [`Multipath`].

use hopyard_engine::{Span, Time};

use super::message::{AomdvMessage, Reply, Request};
use super::multipath::Multipath;
use super::params::{Disjoint, Rules};
use super::requests::Ends;
use super::state::State;
use crate::address::Address;
use crate::context::{Context, DropReason};
use crate::packet::PacketId;
use crate::routing::common::newer;

/// A message arrived from a neighbour.
pub fn on_message<P: Multipath>(it: &mut P, packet: PacketId, message: &AomdvMessage, from: Address, cx: &mut Context) {
    match message {
        // A neighbour's request or reply about itself is learned first: it has the neighbour's number.
        AomdvMessage::Request(request) => {
            on_request(it, packet, *request, from, cx);
            it.met(from, cx);
        }
        AomdvMessage::Reply(reply) => {
            on_reply(it, packet, *reply, from, cx);
            it.met(from, cx);
        }
        AomdvMessage::Error(unreachable) => {
            it.on_error(unreachable, from, cx);
            cx.deliver(packet);
        }
        AomdvMessage::Hello { sequence, lifetime, .. } => {
            it.on_hello(*sequence, *lifetime, from, cx);
            cx.deliver(packet);
        }
    }
}

/// A copy of a request arrived from a neighbour.
fn on_request<P: Multipath>(it: &mut P, packet: PacketId, mut request: Request, from: Address, cx: &mut Context) {
    let forget = it.request_forgotten(cx.now);
    let state = it.state_mut();
    if request.originator == state.address {
        cx.deliver(packet);
        return;
    }
    let new = state.heard.note(request.originator, request.id, cx.now, forget);
    if request.hops == 0 {
        request.first_hop = state.address;
    }
    // Every copy may give a reverse path, not only the first.
    let expires = cx.now + state.params.reverse_route_life(request.hops.saturating_add(1));
    let (originator, number) = (request.originator, request.originator_sequence);
    let learned = state.learn(originator, number, request.hops, from, request.first_hop, expires, cx);
    if state.is_own(request.destination, cx) {
        if it.answers(&request, learned) && may_reply(it.state_mut(), &request, cx.now) {
            it.found(originator, cx);
            let sequence = it.number_for(&request);
            let reply = Reply {
                hops: 0,
                destination: request.destination,
                destination_sequence: sequence,
                originator,
                lifetime: it.state().params.my_route_timeout,
                id: request.id,
                first_hop: from,
            };
            // Each reply goes back through the neighbour that sent the copy.
            let ttl = it.state().params.net_diameter;
            it.state_mut().send(AomdvMessage::Reply(reply), from, ttl, Span::ZERO, cx);
        }
        cx.deliver(packet);
        return;
    }
    if !learned.is_acceptable() {
        cx.deliver(packet);
        return;
    }
    it.found(originator, cx);
    let own_way = it.state().params.own_way(from);
    let fresh = it.state().table.get(request.destination).is_some_and(|entry| {
        entry.numbered
            && entry.paths.iter().any(own_way)
            && (request.unknown_sequence || !newer(request.destination_sequence, entry.sequence))
    });
    if fresh {
        if learned.is_known() {
            reply_from_table(it, &request, from, cx);
        }
        cx.deliver(packet);
        return;
    }
    if !new {
        cx.deliver(packet);
        return;
    }
    let state = it.state_mut();
    let ttl = cx.packets[packet].ttl.saturating_sub(1);
    if ttl == 0 {
        // The end of a ring is no loss. ns-2 counts it as one.
        match state.params.rules {
            Rules::Marina2006 => drop(cx.deliver(packet)),
            Rules::Ns2 => cx.drop_packet(state.node, packet, DropReason::TtlExpired),
        }
        return;
    }
    if let Some(entry) = state.table.get(request.destination).filter(|entry| entry.known_sequence)
        && (request.unknown_sequence || newer(entry.sequence, request.destination_sequence))
    {
        (request.destination_sequence, request.unknown_sequence) = (entry.sequence, false);
    }
    let one_each = state.params.disjoint == Disjoint::Nodes;
    let back = state.table.entry(originator);
    request.hops = back.advertise();
    if let Some(path) = back.paths.first().filter(|_| one_each) {
        request.first_hop = path.last_hop;
    }
    let delay = state.jitter();
    state.send_on(packet, AomdvMessage::Request(request), Address::BROADCAST, ttl, delay, cx);
}

/// Whether the destination of a request may reply to one more copy of it; counts the reply. In a crowd nearly every
/// node sends a copy on, and the replies to all of them would leave no room for data.
fn may_reply(state: &mut State, request: &Request, now: Time) -> bool {
    let most = state.params.reply_copies;
    let Some(heard) = state.heard.get_mut(request.originator, request.id, now) else { return true };
    let may = most == 0 || heard.replies < most;
    heard.replies = heard.replies.saturating_add(u8::from(may));
    may
}

/// A node between answers a request. If paths are to be node-disjoint, it answers once for each discovery. Otherwise it
/// answers once for each pair of a reverse path and a forward path that are both unused.
fn reply_from_table<P: Multipath>(it: &mut P, request: &Request, from: Address, cx: &mut Context) {
    let state = it.state_mut();
    let node_disjoint = state.params.disjoint == Disjoint::Nodes;
    let Some(heard) = state.heard.get_mut(request.originator, request.id, cx.now) else { return };
    let entry = state.table.entry(request.destination);
    let back: Ends = (from, request.first_hop);
    let own_way = state.params.own_way(from);
    let mut paths = entry.paths.iter().filter(|path| own_way(path));
    let path = if node_disjoint {
        paths.next().filter(|_| !heard.answered)
    } else {
        paths
            .find(|path| !heard.forward.contains(&(path.next_hop, path.last_hop)))
            .filter(|_| !heard.reverse.contains(&back))
    };
    let Some(&path) = path else { return };
    heard.answered = true;
    if !node_disjoint {
        heard.reverse.push(back);
        heard.forward.push((path.next_hop, path.last_hop));
    }
    entry.shared = true;
    let reply = Reply {
        hops: entry.advertise(),
        destination: request.destination,
        destination_sequence: entry.sequence,
        originator: request.originator,
        lifetime: path.expires.since(cx.now),
        id: request.id,
        first_hop: path.last_hop,
    };
    state.send(AomdvMessage::Reply(reply), from, state.params.net_diameter, Span::ZERO, cx);
}

/// A reply arrived from a neighbour.
fn on_reply<P: Multipath>(it: &mut P, packet: PacketId, mut reply: Reply, from: Address, cx: &mut Context) {
    let state = it.state_mut();
    let (destination, number) = (reply.destination, reply.destination_sequence);
    let known = !state.is_own(destination, cx) && {
        let expires = cx.now + reply.lifetime;
        state.learn(destination, number, reply.hops, from, reply.first_hop, expires, cx).is_known()
    };
    if known {
        it.found(destination, cx);
    }
    let state = it.state_mut();
    if !known || reply.originator == state.address {
        cx.deliver(packet);
        return;
    }
    let node_disjoint = state.params.disjoint == Disjoint::Nodes;
    let Some(heard) =
        state.heard.get_mut(reply.originator, reply.id, cx.now).filter(|_| state.table.up(reply.originator).is_some())
    else {
        cx.drop_packet(state.node, packet, DropReason::NoRoute);
        return;
    };
    let until = cx.now + state.params.active_route_timeout;
    let forward: Ends = (from, reply.first_hop);
    let back = state.table.get_mut(reply.originator).and_then(|back| {
        if node_disjoint {
            back.paths.first_mut().filter(|_| !heard.answered)
        } else if heard.forward.contains(&forward) {
            None
        } else {
            back.paths.iter_mut().find(|path| !heard.reverse.contains(&(path.next_hop, path.last_hop)))
        }
    });
    let Some(back) = back else {
        // Every reverse path has carried a reply: this one gives no further path that is disjoint.
        cx.deliver(packet);
        return;
    };
    heard.answered = true;
    if !node_disjoint {
        heard.reverse.push((back.next_hop, back.last_hop));
        heard.forward.push(forward);
    }
    back.expires = back.expires.max(until);
    let next_hop = back.next_hop;
    state.table.expires(until);
    let ttl = cx.packets[packet].ttl.saturating_sub(1);
    if ttl == 0 {
        cx.drop_packet(state.node, packet, DropReason::TtlExpired);
        return;
    }
    let entry = state.table.entry(destination);
    entry.shared = true;
    reply.hops = entry.advertise();
    if let Some(path) = entry.paths.first().filter(|_| node_disjoint) {
        reply.first_hop = path.last_hop;
    }
    state.send_on(packet, AomdvMessage::Reply(reply), next_hop, ttl, Span::ZERO, cx);
}
