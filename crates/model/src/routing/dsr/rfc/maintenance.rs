//! Route maintenance (RFC 4728 §8.3).

use hopyard_engine::{Span, Time};

use super::{Rfc4728, Watched};
use crate::address::Address;
use crate::context::{Action, Context, DropReason};
use crate::packet::{Body, DsrOption, Packet, PacketId, RouteError, SourceRoute};
use crate::routing::dsr::params::Acknowledgement;
use crate::routing::dsr::state::Way;

/// Whether two packets are the same one, at different hops.
fn is_same(a: &Packet, b: &Packet) -> bool {
    (a.source, a.destination, a.flow, a.created) == (b.source, b.destination, b.flow, b.created)
        && a.is_routing() == b.is_routing()
}

impl Rfc4728 {
    /// A packet is about to be sent to a neighbour: keeps a copy until the neighbour has it (§8.3), if that is not
    /// known otherwise.
    pub(super) fn watch(&mut self, packet: PacketId, next_hop: Address, cx: &mut Context) -> Option<PacketId> {
        if self.state.params.acknowledgement == Acknowledgement::LinkLayer {
            return None;
        }
        let since = cx.now.nanos().saturating_sub(self.state.params.maint_holdoff.nanos());
        let passes_on = cx.packets[packet].destination != next_hop;
        let listens = self.state.params.acknowledgement == Acknowledgement::Passive && passes_on;
        if !listens && self.confirmed.iter().any(|&(known, at)| known == next_hop && at.nanos() > since) {
            return None;
        }
        // §4.5: a full buffer does not take the packet, which is sent all the same.
        if self.watched.len() >= usize::from(self.state.params.maint_buffer_packets) {
            return None;
        }
        let (asked, wait) = if listens {
            (None, self.state.params.passive_ack_timeout)
        } else {
            (Some(self.ask(packet, cx)), self.state.params.ack_timeout)
        };
        let copy = cx.copy(packet);
        self.watched.push(Watched { copy, next_hop, asked, again: 0, due: cx.now + wait });
        Some(copy)
    }

    /// Adds a request for an acknowledgement to a packet (§8.3.3).
    fn ask(&mut self, packet: PacketId, cx: &mut Context) -> u16 {
        self.ack_id = self.ack_id.wrapping_add(1);
        let identification = self.ack_id;
        cx.packets[packet].change_options(|options| options.push(DsrOption::AckRequest { identification }));
        identification
    }

    /// A neighbour asks for an acknowledgement.
    pub(super) fn acknowledge(&self, neighbour: Address, identification: u16, cx: &mut Context) {
        let ack = DsrOption::Ack { identification, source: self.state.address, destination: neighbour };
        let packet = self.state.control(neighbour, vec![ack], cx);
        cx.packets[packet].ttl = 1;
        self.state.dispatch(packet, neighbour, Span::ZERO, cx);
    }

    /// A neighbour has acknowledged a packet.
    pub(super) fn acknowledged(&mut self, neighbour: Address, identification: u16, cx: &mut Context) {
        if let Some(place) =
            self.watched.iter().position(|it| it.next_hop == neighbour && it.asked == Some(identification))
        {
            cx.hand_over(self.watched.remove(place).copy);
            self.confirm(neighbour, cx.now);
        }
    }

    fn confirm(&mut self, neighbour: Address, now: Time) {
        self.state.trust(neighbour);
        match self.confirmed.iter_mut().find(|known| known.0 == neighbour) {
            Some(known) => known.1 = now,
            None => self.confirmed.push((neighbour, now)),
        }
    }

    /// A packet was heard from another node: if it is one that waits here, and has come farther along its source route,
    /// its next hop has it. Then all packets that wait for this next hop are acknowledged (§8.3.2).
    pub(super) fn heard_passing_on(&mut self, packet: PacketId, cx: &mut Context) {
        let heard = &cx.packets[packet];
        let Some(left) = heard.source_route().map(SourceRoute::segments_left) else { return };
        let passed = |it: &&Watched| {
            let sent = &cx.packets[it.copy];
            sent.source_route().is_some_and(|route| left < route.segments_left()) && is_same(sent, heard)
        };
        let Some(next_hop) = self.watched.iter().find(passed).map(|it| it.next_hop) else { return };
        self.watched.retain(|it| {
            let keep = it.next_hop != next_hop;
            if !keep {
                cx.hand_over(it.copy);
            }
            keep
        });
        self.confirm(next_hop, cx.now);
    }

    /// Sends the packets again whose acknowledgement is overdue, or takes their links for broken.
    pub(super) fn ask_again(&mut self, cx: &mut Context) {
        while let Some(place) = self.watched.iter().position(|it| it.due <= cx.now) {
            let mut it = self.watched.remove(place);
            let params = &self.state.params;
            match it.asked {
                None if it.again < params.try_passive_acks => it.due = cx.now + params.passive_ack_timeout,
                Some(_) if it.again < params.max_maint_rexmt => it.due = cx.now + params.ack_timeout,
                None => {
                    // §8.3.2: then the next hop is asked.
                    it.due = cx.now + params.ack_timeout;
                    (it.asked, it.again) = (Some(self.ask(it.copy, cx)), 0);
                    let packet = cx.copy(it.copy);
                    self.state.dispatch(packet, it.next_hop, Span::ZERO, cx);
                    self.watched.push(it);
                    continue;
                }
                Some(_) => {
                    self.link_broken(it.copy, it.next_hop, DropReason::RetryLimit, cx);
                    continue;
                }
            }
            it.again += 1;
            let packet = cx.copy(it.copy);
            self.state.dispatch(packet, it.next_hop, Span::ZERO, cx);
            self.watched.push(it);
        }
    }

    /// A packet did not reach its next hop: the link is broken (§8.3.4).
    pub(super) fn link_broken(&mut self, packet: PacketId, next_hop: Address, reason: DropReason, cx: &mut Context) {
        self.state.forget_link(self.state.address, next_hop, cx);
        self.state.distrust(next_hop, cx.now);
        self.confirmed.retain(|known| known.0 != next_hop);
        self.rescue(packet, next_hop, reason, cx);
        // §3.4.2: the packets in the queue for that neighbour meet the same error.
        cx.act(Action::TakeBack { node: self.state.node, next_hop });
        let waiting: Vec<Watched> = self.watched.iter().copied().filter(|it| it.next_hop == next_hop).collect();
        self.watched.retain(|it| it.next_hop != next_hop);
        for it in waiting {
            self.rescue(it.copy, next_hop, DropReason::BrokenLink, cx);
        }
    }

    /// Tells the source of a packet of the broken link, and saves the packet if that is possible.
    pub(super) fn rescue(&mut self, packet: PacketId, next_hop: Address, reason: DropReason, cx: &mut Context) {
        let own = self.state.address;
        cx.packets[packet].change_options(|options| {
            options.retain(|option| !matches!(option, DsrOption::AckRequest { .. }));
        });
        let it = &cx.packets[packet];
        let way = Way::of(it);
        let salvaged = it.source_route().map_or(0, |route| route.salvage);
        // The node that is told: the source, or the one that salvaged the packet last (§8.3.4).
        let told = way.as_ref().map_or(it.source, |way| way.nodes[0]);
        let is_control = it.is_routing();
        // A packet from outside that enters the network here is this node's to send, as if it were its own.
        let entered = it.source_route().is_none_or(|route| route.first_hop_external && route.addresses()[0] == own);
        let enters = it.source != own && entered;
        if (told == own || enters) && salvaged == 0 {
            if is_control {
                cx.drop_packet(self.state.node, packet, reason);
                return;
            }
            // The packet is sent along another route, or a new one is looked for.
            cx.packets[packet].strip_options();
            let destination = cx.packets[packet].destination;
            if !self.state.cache.has(destination, cx.now) {
                cx.unreachable(self.state.node, packet);
            }
            self.originate(packet, cx);
            return;
        }
        if told != own {
            self.send_error(packet, way.as_ref(), next_hop, told, salvaged, cx);
        }
        if is_control || !self.salvage(packet, way.as_ref(), salvaged, cx) {
            cx.unreachable(self.state.node, packet);
            cx.drop_packet(self.state.node, packet, reason);
        }
    }

    /// The errors and acknowledgements in a packet that go on with the error which the packet met (§8.3.4). They keep
    /// their order. They go on as far as the total salvage count of the errors, with the new one, does not exceed its
    /// limit (§6.4).
    fn carried(&self, packet: &Packet, salvage: u8) -> Vec<DsrOption> {
        let mut total = 1 + u32::from(salvage);
        let fits = |option: &&DsrOption| {
            if let DsrOption::RouteError { salvage, .. } = option {
                total += 1 + u32::from(*salvage);
            }
            total <= self.state.params.max_salvage_count.into()
        };
        let carried = packet.options().iter();
        let carried = carried.filter(|o| matches!(o, DsrOption::RouteError { .. } | DsrOption::Ack { .. }));
        carried.take_while(fits).cloned().collect()
    }

    /// Sends an error, with the errors that the packet carries (§8.3.4).
    fn send_error(
        &mut self,
        packet: PacketId,
        way: Option<&Way>,
        unreachable: Address,
        told: Address,
        salvage: u8,
        cx: &mut Context,
    ) {
        let own = self.state.address;
        let error = RouteError::NodeUnreachable(unreachable);
        let mut options = vec![DsrOption::RouteError { error, salvage, source: own, destination: told }];
        options.append(&mut self.carried(&cx.packets[packet], salvage));
        // Back along the way that the packet came, if it is known.
        let back = way.and_then(|way| {
            let place = way.nodes[..way.next].iter().rposition(|&node| node == own)?;
            Some(way.nodes[..place].iter().rev().copied().collect::<Vec<_>>())
        });
        let Some(back) = back.or_else(|| self.state.cache.find(told, cx.now)).filter(|back| !back.is_empty()) else {
            return;
        };
        let error = self.state.control(told, options, cx);
        self.send_along(error, &back, Span::ZERO, cx);
    }

    /// Sends a packet of another node along a path of this node (§8.3.6). Whether there is one. It does not lead
    /// through a node that the packet is known to have met.
    fn salvage(&mut self, packet: PacketId, way: Option<&Way>, salvaged: u8, cx: &mut Context) -> bool {
        if salvaged >= self.state.params.max_salvage_count {
            return false;
        }
        let it = &cx.packets[packet];
        let Some(path) = self.state.cache.find(it.destination, cx.now) else { return false };
        let met = way.map_or(&[][..], |way| &way.nodes[..way.next]);
        if path.iter().any(|hop| *hop == it.source || *hop == self.state.address || met.contains(hop)) || it.ttl == 0 {
            return false;
        }
        let addresses = [&[self.state.address], &path[..path.len() - 1]].concat();
        let Some(mut route) = SourceRoute::salvaged(addresses, salvaged + 1) else { return false };
        route.last_hop_external = self.state.is_outside(it.destination, cx);
        cx.packets[packet].change_options(|options| {
            options.retain(|option| !matches!(option, DsrOption::SourceRoute(_)));
            options.push(DsrOption::SourceRoute(route));
        });
        debug_assert!(!matches!(cx.packets[packet].body, Body::Empty));
        self.watch(packet, path[0], cx);
        self.state.dispatch(packet, path[0], Span::ZERO, cx);
        true
    }
}
