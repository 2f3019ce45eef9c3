//! Babel: a distance-vector protocol that makes no loops, with metrics of links that lose packets.
//!
//! To read: RFC 8966. Neighbours hear each other's Hellos, and say so (IHU, §3.4); from both follows the cost of a link
//! (appendix A: expected transmissions over radio, 2 of 3 over wires). Each node tells its routes with metric and the
//! sequence number of the router that originates the destination (§3.7). It uses a route only if its metric is smaller
//! than any that the node has told itself with that number (the feasibility condition, §3.5.1), so that no loop forms
//! even while news spreads. Where all routes have become unfeasible, a request makes the originator advance its number
//! (§3.8). Messages wait for a random time and share packets; retractions and answers are urgent.
//!
//! Every node originates the addresses of its radios and wires. The protocol runs over both.
//!
//! Left open by the RFC, and done here as in babeld 1.12.1: when missing Hellos are noticed, where the smoothed metric
//! of a route begins, which changes of a metric are told before the next update of all routes, that a metric which
//! grows much makes the node ask its neighbours for their routes, how much better an unfeasible route must be to be
//! worth a request, when updates leave, and what is repeated. A node does not answer a request for all routes if it
//! told all of them less than ten Hello intervals ago.
//!
//! Left out: prefixes of networks, prefixes of IPv6, unicast Hellos, acknowledgements, filters (§A.4) and all
//! extensions. A failure of the link layer changes no route, as in the RFC and in babeld.
//!
//! Validated by small networks in the tests beside, one for each rule, and against babeld 1.12.1
//! (docs/models/babel.md).

mod emission;
mod message;
mod neighbours;
mod params;
mod pending;
mod requests;
mod state;
mod table;
#[cfg(test)]
mod tests;

use hopyard_engine::{Deadline, Prefetch, Rng, Time};

use super::{Networks, Routes, Routing};
use crate::address::{Address, NodeId};
use crate::context::{Action, Context, DropReason};
use crate::packet::{Packet, PacketId};
use crate::params::Shared;
pub use hopyard_wire::babel::PORT;
pub use message::{BabelPacket, Message, Neighbour, RouterId, Target, Update, read};
pub use params::{Estimate, Params};
use state::State;

/// Babel at one node.
#[derive(Debug)]
pub struct Babel(State);

impl Babel {
    /// Babel at `node`.
    #[must_use]
    pub fn new(params: &Shared<Params>, node: NodeId, _nodes: usize, rng: Rng) -> Self {
        Self(State::new(params, node, rng))
    }
}

impl Routing for Babel {
    fn on_networks(&mut self, networks: &Networks) {
        self.0.on_networks(networks);
    }

    fn start(&mut self, cx: &mut Context) {
        self.0.start(cx.now);
        self.0.due = self.0.deadline();
    }

    #[inline]
    fn route(&mut self, packet: PacketId, cx: &mut Context) {
        let it = &mut self.0;
        let node = it.node;
        let place = it.table.place(cx.packets[packet].destination);
        let next_hop = place.and_then(|place| Some((place, it.table.all()[place].route()?.neighbour)));
        let Some((place, next_hop)) = next_hop else {
            cx.unreachable(node, packet);
            cx.drop_packet(node, packet, DropReason::NoRoute);
            return;
        };
        if !std::mem::replace(&mut it.table.all_mut()[place].used, true) {
            it.announce(place, cx);
        }
        cx.act(Action::Send { node, packet, next_hop });
    }

    fn on_message(&mut self, packet: PacketId, from: Address, cx: &mut Context) {
        let Some(babel) = cx.packets[packet].message::<BabelPacket>() else {
            return cx.drop_packet(self.0.node, packet, DropReason::NoListener);
        };
        self.0.receive(babel.messages(), from, cx);
        self.0.due = self.0.deadline();
        cx.end(packet);
    }

    fn on_link_failure(&mut self, packet: PacketId, _next_hop: Address, reason: DropReason, cx: &mut Context) {
        cx.drop_packet(self.0.node, packet, reason);
    }

    fn on_taken_back(&mut self, packet: PacketId, _next_hop: Address, cx: &mut Context) {
        cx.drop_packet(self.0.node, packet, DropReason::BrokenLink);
    }

    fn on_timer(&mut self, cx: &mut Context) {
        self.0.expire(cx);
        self.0.repeat(cx.now);
        self.0.emit(cx);
        self.0.due = self.0.deadline();
    }
}

impl Deadline for Babel {
    #[inline]
    fn deadline(&self) -> Time {
        debug_assert_eq!(self.0.due, self.0.deadline());
        self.0.due
    }
}

impl Routes for Babel {
    fn lookup(&self, destination: Address) -> Option<(Address, u8)> {
        self.0.lookup(destination)
    }
}

impl Prefetch<Packet> for Babel {}
