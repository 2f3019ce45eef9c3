//! The functions of a set of procedures that AOMDV needs besides, and the common steps of all sets for data packets.

use hopyard_engine::{Span, Time};

use super::message::Request;
use super::params::{Params, Use};
use super::table::Learned;
use crate::address::Address;
use crate::context::{Action, Context, DropReason, RouteChange};
use crate::packet::PacketId;
use crate::routing::common::on_demand::{Entry as _, Procedures};

/// A set of AOMDV's procedures.
pub trait Multipath: Procedures<Params = Params> {
    /// Until when a request that is heard now is remembered.
    fn request_forgotten(&self, now: Time) -> Time;

    /// The node's own sequence number for its reply to a request.
    fn number_for(&mut self, request: &Request) -> u32;

    /// Whether the destination answers a copy of a request, whose path was learned like this.
    fn answers(&self, request: &Request, learned: Learned) -> bool;

    /// There is a path to the destination: a search for it is over, and the packets that wait for it go.
    fn found(&mut self, destination: Address, cx: &mut Context);

    /// A request or a reply from a neighbour was handled.
    fn met(&mut self, _neighbour: Address, _cx: &mut Context) {}

    /// A data packet from `source` was sent on: its path is in use until then.
    fn on_use(&mut self, _source: Address, _until: Time, _cx: &Context) {}

    /// A route error arrived from a neighbour.
    fn on_error(&mut self, unreachable: &[(Address, u32)], from: Address, cx: &mut Context);

    /// A neighbour's HELLO, with its sequence number.
    fn on_hello(&mut self, sequence: u32, lifetime: Span, from: Address, cx: &mut Context);

    /// Whether a data packet that could not be sent may take another path.
    fn may_salvage(&self, packet: PacketId, cx: &Context) -> bool {
        cx.packets[packet].salvaged < self.state().params.max_salvage_count
    }

    /// Sends a data packet that could not be sent over another path, if there is one and it may take it. Whether it
    /// does.
    fn salvage(&mut self, packet: PacketId, cx: &mut Context) -> bool {
        if !self.may_salvage(packet, cx) || self.state().table.up(cx.packets[packet].destination).is_none() {
            return false;
        }
        cx.packets[packet].salvaged += 1;
        self.send_along(packet, Span::ZERO, cx)
    }

    /// Sends a data packet over a path to its destination, which lives on. Whether there is a path.
    #[inline]
    fn forward(&mut self, packet: PacketId, delay: Span, cx: &mut Context) -> bool {
        let state = self.state_mut();
        let it = &cx.packets[packet];
        let (source, destination, ttl) = (it.source, it.destination, it.ttl);
        let until = cx.now + state.params.active_route_timeout;
        let in_turn = state.params.path_use == Use::InTurn;
        let shared = !state.is_own(source, cx);
        let Some(entry) = state.table.get_mut(destination).filter(|entry| entry.is_up()) else { return false };
        if ttl == 0 {
            cx.drop_packet(state.node, packet, DropReason::TtlExpired);
            return true;
        }
        entry.shared |= shared;
        if !std::mem::replace(&mut entry.used, true) {
            let change = RouteChange { destination, route: entry.route() };
            cx.act(Action::RouteChanged { node: state.node, change });
        }
        let Some(path) = entry.choose(in_turn) else { return false };
        path.expires = path.expires.max(until);
        let next_hop = path.next_hop;
        state.table.expires(until);
        self.on_use(source, until, cx);
        self.state_mut().dispatch(packet, next_hop, delay, cx);
        true
    }
}
