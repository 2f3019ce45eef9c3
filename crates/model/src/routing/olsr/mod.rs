//! OLSR: every node knows the network from the links that multipoint relays flood, and computes shortest paths.
//!
//! To read: RFC 3626. HELLO messages tell neighbours which links work (§6 to 8). Each node chooses relays among its
//! neighbours that cover its 2-hop neighbours (§8.3). Only relays forward floods (§3.4.1), and only they tell in TC
//! messages who has chosen them (§9). That is enough for shortest paths to all nodes (§10). MID messages name the
//! further interfaces of a node (§5), HNA messages the networks behind a gateway (§12). Optional parts: notification by
//! the link layer (§13), hysteresis (§14), more links in TC messages (§15), more relays (§16).
//!
//! Beyond the RFC: paths by expected transmissions (De Couto et al., MobiCom 2003), with the message types of olsrd.
//!
//! The profile `ns2` follows UM-OLSR for ns-2, which has the constants of the RFC. A node's own messages wait for a
//! random time too, a packet has at most four messages, and no TC is brought forward.
//!
//! Left out: IPv6 (§17), nodes that forget their numbers, and messages in parts: every HELLO and TC lists everything.
//! The next hop does not depend on the willingness of nodes on paths of equal length (§10 leaves that open).
//!
//! Validated by small networks in the tests beside, one for each rule. On random graphs, relays are compared with all
//! subsets, routes with breadth-first search, and both with ns-3.37 (docs/validation.md).

mod duplicates;
mod emission;
mod links;
mod message;
mod mpr;
mod params;
mod routes;
mod state;
#[cfg(test)]
mod tests;
mod topology;
mod tree;

use std::net::Ipv4Addr;

use hopyard_engine::{Deadline, Prefetch, Rng, Time};

use super::{Networks, Routes, Routing};
use crate::address::{Address, NodeId};
use crate::context::{Action, Context, DropReason};
use crate::packet::{Body, Packet, PacketId};
use crate::params::Shared;
use duplicates::Seen;
pub use message::{Content, Hello, LinkType, Listed, NeighbourType, OlsrMessage, OlsrPacket, Tc};
pub use params::{Announced, EarlyTc, Metric, Params};
use state::State;

/// OLSR at one node.
#[derive(Debug)]
pub struct Olsr(State);

impl Olsr {
    /// OLSR at `node`.
    #[must_use]
    pub fn new(params: &Shared<Params>, node: NodeId, _nodes: usize, rng: Rng) -> Self {
        Self(State::new(params, node, rng))
    }

    /// The messages of a packet (§3.4).
    fn receive(&mut self, packet: &OlsrPacket, from: Address, cx: &Context) {
        let it = &mut self.0;
        let now = cx.now;
        let radio = it.radio_of(from, cx);
        // A link that nothing watches changes by HELLOs, or at a time that is known.
        if (it.watches_links() || it.next_change <= now)
            && let Ok(place) = it.link(from)
        {
            it.links[place].packet(packet.sequence, now, &it.params);
            it.link_changed(place, now);
        }
        for message in &packet.messages {
            if message.originator == it.main || message.ttl == 0 {
                continue;
            }
            if let Content::Hello(hello) = &message.content {
                it.hear_hello(from, radio, message, hello, packet.sequence, now);
                continue;
            }
            let seen = it.duplicates.seen(message.originator, message.sequence, radio, now);
            if seen == Seen::Done {
                continue;
            }
            // Floods of nodes that are not symmetric neighbours are ignored (§3.4.1, 5.4, 9.5, 12.5).
            let Some(link) = it.link(from).ok().map(|place| &it.links[place]).filter(|link| link.is_symmetric(now))
            else {
                continue;
            };
            let relays = it.neighbour(link.main).is_some_and(|neighbour| neighbour.selector_until > now);
            if seen == Seen::New {
                let until = now + message::of_code(message.vtime);
                match &message.content {
                    Content::Hello(_) | Content::Other { .. } => {}
                    Content::Tc(tc) => it.hear_tc(message.originator, tc, until, now),
                    Content::Mid(interfaces) => it.hear_mid(message.originator, interfaces, until, now),
                    Content::Hna(networks) => it.hear_hna(message.originator, networks, until, now),
                }
            }
            let forwards = relays && message.ttl > 1;
            let forget = now + it.params.duplicate_hold;
            it.duplicates.note(message.originator, message.sequence, radio, forwards, now, forget);
            if forwards {
                it.forward(message, now);
            }
        }
    }

    /// Tells the node which neighbours have chosen it as a relay.
    fn tell_choices(&mut self, cx: &mut Context) {
        let node = self.0.node;
        for (by, until) in self.0.chosen.drain(..) {
            cx.act(Action::Chosen { node, by, until });
        }
    }

    fn forward(&mut self, packet: PacketId, otherwise: DropReason, cx: &mut Context) {
        let node = self.0.node;
        match self.0.route(cx.packets[packet].destination, cx) {
            Some((next_hop, _)) => cx.act(Action::Send { node, packet, next_hop }),
            None => {
                cx.unreachable(node, packet);
                cx.drop_packet(node, packet, otherwise);
            }
        }
    }
}

impl Routing for Olsr {
    fn on_networks(&mut self, networks: &Networks) {
        self.0.on_networks(networks);
    }

    fn start(&mut self, cx: &mut Context) {
        self.0.start(cx.now);
        self.0.due = self.0.deadline();
    }

    #[inline]
    fn route(&mut self, packet: PacketId, cx: &mut Context) {
        self.forward(packet, DropReason::NoRoute, cx);
    }

    fn on_message(&mut self, packet: PacketId, from: Address, cx: &mut Context) {
        let Some(messages) = cx.packets[packet].message::<OlsrPacket>() else {
            return cx.drop_packet(self.0.node, packet, DropReason::NoListener);
        };
        self.receive(&messages, from, cx);
        self.tell_choices(cx);
        self.0.due = self.0.deadline();
        cx.end(packet);
    }

    fn on_link_failure(&mut self, packet: PacketId, next_hop: Address, reason: DropReason, cx: &mut Context) {
        if !self.0.params.link_layer_notification {
            cx.drop_packet(self.0.node, packet, reason);
            return;
        }
        self.0.link_broken(next_hop, cx.now);
        self.tell_choices(cx);
        self.0.due = self.0.deadline();
        cx.act(Action::TakeBack { node: self.0.node, next_hop });
        self.forward(packet, reason, cx);
    }

    fn on_taken_back(&mut self, packet: PacketId, _next_hop: Address, cx: &mut Context) {
        self.forward(packet, DropReason::BrokenLink, cx);
    }

    fn on_timer(&mut self, cx: &mut Context) {
        self.0.expire(cx.now);
        self.tell_choices(cx);
        self.0.emit(cx);
        if self.0.announce_at <= cx.now {
            self.0.announce_changes(cx);
        }
        self.0.due = self.0.deadline();
    }
}

impl Deadline for Olsr {
    #[inline]
    fn deadline(&self) -> Time {
        debug_assert_eq!(self.0.due, self.0.deadline());
        self.0.due
    }
}

impl Routes for Olsr {
    fn lookup(&self, destination: Address) -> Option<(Address, u8)> {
        self.0.lookup(destination)
    }

    fn lookup_named(&self, destination: Address, name: Ipv4Addr) -> Option<(Address, u8)> {
        self.0.lookup_named(destination, Some(name))
    }
}

impl Prefetch<Packet> for Olsr {
    fn prefetch(&self, packet: &Packet) -> u32 {
        let Body::Routing(message) = &packet.body else { return 0 };
        let Some(it) = message.get::<OlsrPacket>() else { return 0 };
        it.messages.iter().fold(0, |sum, message| sum ^ self.0.duplicates.prefetch(message.originator))
    }
}
