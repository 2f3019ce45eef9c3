//! Route discovery (RFC 4728 §8.2).

use hopyard_engine::Span;

use super::Rfc4728;
use crate::address::Address;
use crate::context::{Context, DropReason};
use crate::packet::{DsrOption, PacketId};
use crate::routing::dsr::cache::Source;
use crate::routing::dsr::state::{HeldReply, is_simple};

impl Rfc4728 {
    /// Looks for a destination, unless the node does so already. After a search without a reply, the next one may have
    /// to wait (§4.3).
    pub(super) fn search(&mut self, destination: Address, cx: &mut Context) {
        let search = self.requests.search(destination);
        if search.active {
            return;
        }
        (search.active, search.requests) = (true, None);
        if search.next_at <= cx.now {
            self.begin_search(destination, cx);
        }
    }

    fn begin_search(&mut self, destination: Address, cx: &mut Context) {
        let params = &self.state.params;
        let search = self.requests.search(destination);
        search.requests = Some(0);
        if params.nonpropagating {
            search.next_at = cx.now + params.nonprop_request_timeout;
            self.send_request(destination, false, cx);
        } else {
            self.search_farther(destination, 0, cx);
        }
    }

    /// Sends the next request that propagates, and doubles the wait (§8.2.1, §4.3).
    fn search_farther(&mut self, destination: Address, requests: u8, cx: &mut Context) {
        let (period, longest) = (self.state.params.request_period, self.state.params.max_request_period);
        let search = self.requests.search(destination);
        if requests >= self.state.params.max_request_rexmt {
            search.active = false;
            for packet in self.state.buffer.take(destination, cx) {
                cx.unreachable(self.state.node, packet);
                cx.drop_packet(self.state.node, packet, DropReason::DiscoveryFailed);
            }
            return;
        }
        let wait = (period * (1 << search.unanswered.min(20))).min(longest);
        search.requests = Some(requests + 1);
        search.unanswered = search.unanswered.saturating_add(1);
        search.next_at = cx.now + wait;
        self.send_request(destination, true, cx);
    }

    fn send_request(&mut self, destination: Address, propagating: bool, cx: &mut Context) {
        let packet = self.state.request(destination, propagating, cx);
        // Two nodes whose first requests collided would else collide again each time.
        let delay = if propagating { self.state.jitter() } else { Span::ZERO };
        self.state.dispatch(packet, Address::BROADCAST, delay, cx);
    }

    /// Goes on with the searches that are due, as long as packets wait.
    pub(super) fn search_again(&mut self, cx: &mut Context) {
        for destination in self.requests.due(cx.now) {
            let search = self.requests.search(destination);
            match search.requests {
                _ if !self.state.buffer.has(destination) => search.active = false,
                Some(requests) => self.search_farther(destination, requests, cx),
                None => self.begin_search(destination, cx),
            }
        }
    }

    /// A request arrived (§8.2.2).
    #[allow(clippy::too_many_arguments, reason = "the fields of the option, and how it came")]
    pub(super) fn on_request(
        &mut self,
        packet: PacketId,
        initiator: Address,
        identification: u16,
        target: Address,
        passed: &[Address],
        from: Address,
        cx: &mut Context,
    ) {
        let own = self.state.address;
        if initiator == own || passed.contains(&own) {
            cx.deliver(packet);
            return;
        }
        let back: Vec<Address> = passed.iter().rev().copied().chain([initiator]).collect();
        let is_target = cx.is_local(self.state.node, target);
        let route = || [passed, &[own]].concat();
        if is_target || self.state.is_gateway_to(target, cx) {
            // The target answers every copy. A gateway answers for an address outside of the network, and says so.
            let mut route = route();
            if !is_target {
                route.push(target);
            }
            if route.len() > usize::from(self.state.params.route_hops) {
                cx.deliver(packet);
                return;
            }
            self.state.cache.add(&back, Source::Asked, cx.now);
            if let Some(reply) = self.state.reply(route, &back, cx) {
                let delay = self.state.jitter();
                self.watch(reply, back[0], cx);
                self.state.dispatch(reply, back[0], delay, cx);
            }
            cx.deliver(packet);
            self.flush(cx);
            return;
        }
        if self.state.distrusts(from, cx.now) || !self.requests.note(initiator, identification, target) {
            cx.deliver(packet);
            return;
        }
        self.state.cache.add(&back, Source::Noticed, cx.now);
        if self.reply_from_cache(initiator, target, route(), &back, cx) {
            cx.deliver(packet);
        } else {
            self.pass_on(packet, passed.len(), cx);
        }
        self.flush(cx);
    }

    /// Answers a request from the cache, after a while (§8.2.3, §8.2.5). Whether it can.
    fn reply_from_cache(
        &mut self,
        initiator: Address,
        target: Address,
        mut route: Vec<Address>,
        back: &[Address],
        cx: &mut Context,
    ) -> bool {
        if !self.state.params.reply_from_cache {
            return false;
        }
        let Some(rest) = self.state.cache.find(target, cx.now) else { return false };
        route.extend_from_slice(&rest);
        if route.len() > usize::from(self.state.params.route_hops) || route.contains(&initiator) || !is_simple(&route) {
            return false;
        }
        let delay = (route.len() - 1) as f64 + self.state.rng.uniform();
        let at = cx.now + self.state.params.reply_holdoff.mul_f64(delay);
        self.state.replies.push(HeldReply { at, initiator, route, back: back.to_vec() });
        true
    }

    /// Sends the replies whose wait is over.
    pub(super) fn send_due_replies(&mut self, cx: &mut Context) {
        while let Some(place) = self.state.replies.iter().position(|reply| reply.at <= cx.now) {
            let HeldReply { route, back, .. } = self.state.replies.remove(place);
            if let Some(reply) = self.state.reply(route, &back, cx) {
                self.watch(reply, back[0], cx);
                self.state.dispatch(reply, back[0], Span::ZERO, cx);
            }
        }
    }

    /// Passes a request on, with this node's address behind the addresses of the nodes before (§8.2.2).
    fn pass_on(&mut self, packet: PacketId, passed: usize, cx: &mut Context) {
        let it = &mut cx.packets[packet];
        if it.ttl <= 1 {
            cx.drop_packet(self.state.node, packet, DropReason::TtlExpired);
            return;
        }
        if passed + 2 > usize::from(self.state.params.route_hops) {
            cx.drop_packet(self.state.node, packet, DropReason::NoRoute);
            return;
        }
        it.ttl -= 1;
        let own = self.state.address;
        it.change_options(|options| {
            for option in options {
                if let DsrOption::RouteRequest { addresses, .. } = option {
                    addresses.push(own);
                }
            }
        });
        let delay = self.state.jitter();
        self.state.dispatch(packet, Address::BROADCAST, delay, cx);
    }
}
