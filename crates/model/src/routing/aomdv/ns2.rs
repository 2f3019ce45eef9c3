//! AOMDV as ns-2.35 does it.
//!
//! ns-2 looks at its tables every half second from time zero. Here only those looks are made that would find something;
//! their times are computed.

use hopyard_engine::{Rng, Span, Time};

use super::discovery;
use super::message::{AomdvMessage, Request};
use super::multipath::Multipath;
use super::params::Params;
use super::state::State;
use super::table::Learned;
use crate::address::{Address, NodeId};
use crate::context::{Action, Context, DropReason, Origin};
use crate::packet::PacketId;
use crate::params::Shared;
use crate::routing::common::on_demand::{Entry, Procedures, tick_from};
use crate::routing::common::{Searches, newer};

/// A destination that is or was looked for.
#[derive(Clone, Copy, Debug, Default)]
struct Search {
    /// Floods of the whole network so far.
    floods: u8,
    /// When the next request may be sent.
    retry_at: Time,
}

/// The procedures of ns-2.35.
#[derive(Debug)]
pub struct Ns2 {
    state: State,
    searches: Searches<Search>,
    /// When the next search must be looked at.
    next_search: Time,
}

impl Procedures for Ns2 {
    type Params = Params;

    fn new(params: &Shared<Params>, node: NodeId, rng: Rng) -> Self {
        // ns-2 starts at two and keeps a node's own number even. The number of a lost route is odd.
        Self { state: State::new(params, node, rng, 2), searches: Searches::default(), next_search: Time::NEVER }
    }

    fn state(&self) -> &State {
        &self.state
    }

    fn state_mut(&mut self) -> &mut State {
        &mut self.state
    }

    fn start(&mut self, cx: &mut Context) {
        if self.state.common.by_hello {
            self.state.hello_at = cx.now;
        }
    }

    #[inline]
    fn send_along(&mut self, packet: PacketId, delay: Span, cx: &mut Context) -> bool {
        self.forward(packet, delay, cx)
    }

    fn route_lacking(&mut self, packet: PacketId, cx: &mut Context) {
        let it = &cx.packets[packet];
        let (source, destination) = (it.source, it.destination);
        let sequence = self.state.table.entry(destination).sequence;
        if self.state.is_own(source, cx) {
            self.state.buffer.push(packet, cx);
            self.send_request(destination, cx);
        } else {
            cx.unreachable(self.state.node, packet);
            self.state.send_error(Origin::Own, &[(destination, sequence)], Span::ZERO, cx);
            cx.drop_packet(self.state.node, packet, DropReason::NoRoute);
        }
    }

    fn on_message(&mut self, packet: PacketId, message: &AomdvMessage, from: Address, cx: &mut Context) {
        discovery::on_message(self, packet, message, from, cx);
    }

    fn on_link_failure(&mut self, packet: PacketId, next_hop: Address, reason: DropReason, cx: &mut Context) {
        let it = &cx.packets[packet];
        if it.is_routing() || self.state.table.get(it.destination).is_none() {
            cx.drop_packet(self.state.node, packet, reason);
            return;
        }
        if !self.has_other(it.destination, next_hop) || !self.may_salvage(packet, cx) {
            cx.unreachable(self.state.node, packet);
        }
        self.cut_all(next_hop, cx);
        self.salvage_or_drop(packet, reason, cx);
        cx.act(Action::TakeBack { node: self.state.node, next_hop });
    }

    fn on_taken_back(&mut self, packet: PacketId, cx: &mut Context) {
        if cx.packets[packet].is_routing() {
            cx.drop_packet(self.state.node, packet, DropReason::BrokenLink);
            return;
        }
        if self.state.table.up(cx.packets[packet].destination).is_none() || !self.may_salvage(packet, cx) {
            cx.unreachable(self.state.node, packet);
        }
        self.salvage_or_drop(packet, DropReason::BrokenLink, cx);
    }

    fn on_timer(&mut self, cx: &mut Context) {
        if self.state.hello_at <= cx.now {
            self.hello(cx);
        }
        if tick_from(self.state.next_loss, self.state.params.hello_interval) <= cx.now {
            for neighbour in self.state.lost_neighbours(cx.now) {
                self.state.report_failures(neighbour, cx);
                self.state.sequence = self.state.sequence.wrapping_add(2);
                self.cut_all(neighbour, cx);
                cx.act(Action::TakeBack { node: self.state.node, next_hop: neighbour });
            }
        }
        self.purge(cx);
    }

    fn next_deadline(&self) -> Time {
        let next_expiry = match self.state.table.next_expiry() {
            Time::NEVER => Time::NEVER,
            // A path is found expired at the first look after its expiry, not at the same instant.
            expiry => tick_from(expiry + Span::from_nanos(1), self.state.params.purge_interval),
        };
        let loss = tick_from(self.state.next_loss, self.state.params.hello_interval);
        next_expiry.min(self.next_search).min(loss).min(self.state.hello_at)
    }
}

impl Multipath for Ns2 {
    fn request_forgotten(&self, now: Time) -> Time {
        // ns-2 looks for requests to forget as seldom as it may forget them.
        let memory = self.state.memory;
        tick_from(now + memory, memory)
    }

    fn number_for(&mut self, request: &Request) -> u32 {
        if newer(request.destination_sequence, self.state.sequence) {
            self.state.sequence = request.destination_sequence.wrapping_add(1);
        }
        self.state.sequence = self.state.sequence.wrapping_add(self.state.sequence % 2);
        self.state.sequence
    }

    /// A copy that shares only the first link with a known path gets no reply. One that shares the last link gets one
    /// if it is not longer.
    fn answers(&self, request: &Request, learned: Learned) -> bool {
        let hops = request.hops.saturating_add(1);
        let back = self.state.table.get(request.originator);
        learned.is_acceptable()
            && (learned != Learned::Overlaps
                || back
                    .and_then(|back| back.paths.iter().find(|path| path.last_hop == request.first_hop))
                    .is_some_and(|path| hops <= path.hops))
    }

    fn found(&mut self, destination: Address, cx: &mut Context) {
        if self.state.table.up(destination).is_none() {
            return;
        }
        self.state.table.entry(destination).last_ttl = 0;
        if let Some(search) = self.searches.get_mut(destination) {
            *search = Search::default();
        }
        if self.state.buffer.has(destination) {
            self.flush(destination, Span::ZERO, cx);
        }
        self.find_next_search();
    }

    fn on_error(&mut self, unreachable: &[(Address, u32)], from: Address, cx: &mut Context) {
        let mut lost = Vec::new();
        for &(destination, sequence) in unreachable {
            let Some(entry) = self.state.table.get_mut(destination) else { continue };
            let concerned = entry.paths.iter().any(|path| path.next_hop == from);
            if !concerned || newer(entry.sequence, sequence) {
                continue;
            }
            if newer(sequence, entry.highest_heard) {
                entry.highest_heard = sequence;
            }
            let raised = self.state.cut(destination, from, |entry| entry.highest_heard, Time::NEVER, cx);
            lost.extend(raised.map(|sequence| (destination, sequence)));
        }
        if !lost.is_empty() {
            let delay = self.state.jitter();
            self.state.send_error(Origin::Forwarded, &lost, delay, cx);
        }
    }

    fn on_hello(&mut self, sequence: u32, lifetime: Span, from: Address, cx: &mut Context) {
        let first = self.state.params.hello_interval * u64::from(self.state.params.allowed_hello_loss);
        let expiry = self.state.common.neighbour_expiry;
        self.state.meet_neighbour(from, cx.now + first, cx.now + expiry);
        // A HELLO is a reply about a neighbour: the last hop before it is this node.
        let this = self.state.address;
        if self.state.learn(from, sequence, 0, from, this, cx.now + lifetime, cx).is_known() {
            self.found(from, cx);
        }
    }
}

impl Ns2 {
    /// Whether some path to a destination avoids a neighbour.
    fn has_other(&self, destination: Address, neighbour: Address) -> bool {
        let entry = self.state.table.get(destination);
        entry.is_some_and(|entry| entry.paths.iter().any(|path| path.next_hop != neighbour))
    }

    /// A neighbour is gone: every path through it goes, and all in reach are told of routes that have no other.
    fn cut_all(&mut self, neighbour: Address, cx: &mut Context) {
        let mut lost = Vec::new();
        for destination in self.state.behind(neighbour) {
            let raised =
                self.state.cut(destination, neighbour, |entry| entry.sequence.wrapping_add(1), Time::NEVER, cx);
            lost.extend(raised.map(|sequence| (destination, sequence)));
        }
        self.state.send_error(Origin::Own, &lost, Span::ZERO, cx);
    }

    /// A packet that could not be sent takes another path, or is lost.
    fn salvage_or_drop(&mut self, packet: PacketId, reason: DropReason, cx: &mut Context) {
        if !self.salvage(packet, cx) {
            cx.drop_packet(self.state.node, packet, reason);
        }
    }

    /// Every node that has a route sends HELLO messages.
    fn hello(&mut self, cx: &mut Context) {
        if self.state.table.iter().any(Entry::is_up) {
            let lifetime = self.state.params.hello_interval * (1 + u64::from(self.state.params.allowed_hello_loss));
            let sequence = self.state.sequence;
            self.state.send_hello(|sender| AomdvMessage::Hello { sender, sequence, lifetime }, Span::ZERO, cx);
        }
        self.state.hello_at = cx.now + self.state.hello_interval();
    }

    /// Sends a request, unless the wait after the last one is not over.
    fn send_request(&mut self, destination: Address, cx: &mut Context) {
        let params = &self.state.params;
        let (diameter, threshold, increment) = (params.net_diameter, params.ttl_threshold, params.ttl_increment);
        let (start, retries, longest) = (params.ttl_start(), params.rreq_retries, params.max_request_wait());
        let per_hop = params.node_traversal_time;
        let search = self.searches.entry(destination);
        let entry = self.state.table.entry(destination);
        if entry.is_up() || search.retry_at > cx.now {
            self.find_next_search();
            return;
        }
        if search.floods > retries {
            *search = Search { floods: 0, retry_at: cx.now + longest };
            self.state.give_up(destination, cx);
            self.find_next_search();
            return;
        }
        // At first the last hop count is "infinite", so that the search begins with a flood of the network.
        let last = entry.last_ttl.max(entry.last_hops);
        let ttl = if last == 0 {
            start
        } else if last < threshold {
            last.saturating_add(increment)
        } else {
            search.floods += 1;
            diameter
        };
        entry.last_ttl = ttl;
        let wait = per_hop * (2 * u64::from(ttl)) * u64::from(search.floods.max(1));
        search.retry_at = cx.now + wait.min(longest);
        let destination_sequence = entry.sequence;
        self.state.request_id = self.state.request_id.wrapping_add(1);
        self.state.sequence = self.state.sequence.wrapping_add(2);
        let request = Request {
            id: self.state.request_id,
            hops: 0,
            destination,
            destination_sequence,
            unknown_sequence: false,
            originator: self.state.address,
            originator_sequence: self.state.sequence,
            first_hop: self.state.address,
        };
        self.state.send(AomdvMessage::Request(request), Address::BROADCAST, ttl, Span::ZERO, cx);
        self.find_next_search();
    }

    /// The destinations that are or were looked for, each with the time at which the next request may be sent.
    fn retries(&self) -> impl Iterator<Item = (Address, Time)> {
        self.searches.iter().map(|(destination, search)| (destination, search.retry_at))
    }

    /// Finds when a search must next be looked at.
    fn find_next_search(&mut self) {
        self.next_search = self.state.next_look(self.retries(), self.state.params.purge_interval);
    }

    /// ns-2's work of every half second: expired paths go, and requests are sent for destinations that have packets
    /// waiting.
    fn purge(&mut self, cx: &mut Context) {
        if self.state.table.next_expiry() < cx.now {
            for destination in self.state.expire_paths(cx) {
                let entry = self.state.table.entry(destination);
                let sequence = entry.sequence.wrapping_add(1);
                entry.go_down(sequence, Time::NEVER);
                entry.sequence |= 1;
            }
            self.state.table.find_next_expiry(|entry| Some(entry.next_change()));
        }
        if self.next_search <= cx.now {
            for destination in self.state.to_retry(self.retries(), cx.now) {
                self.send_request(destination, cx);
            }
            self.find_next_search();
        }
    }
}
