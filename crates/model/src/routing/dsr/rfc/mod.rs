//! DSR as in RFC 4728.

mod discovery;
mod maintenance;
mod requests;

use hopyard_engine::{Deadline, Prefetch, Rng, Span, Time};

use super::cache::Source;
use super::params::{Acknowledgement, Params};
use super::state::{State, Way, is_simple};
use crate::address::{Address, NodeId};
use crate::context::{Context, DropReason};
use crate::packet::{Body, DsrOption, Packet, PacketId, RouteError, SourceRoute};
use crate::params::Shared;
use crate::routing::{AfterOptions, Networks, Routes, Routing};
use requests::RequestTable;

/// A packet in the maintenance buffer (§4.5).
#[derive(Clone, Copy, Debug)]
struct Watched {
    /// A copy of the packet as it was sent.
    copy: PacketId,
    next_hop: Address,
    /// The number of its request for an acknowledgement; none while the node listens for the next hop.
    asked: Option<u16>,
    /// The number of its retransmissions.
    again: u8,
    /// The time at which the packet is sent again, or given up.
    due: Time,
}

/// The procedures of RFC 4728.
#[derive(Debug)]
pub struct Rfc4728 {
    state: State,
    requests: RequestTable,
    /// The maintenance buffer (§4.5): packets that the next hop has not acknowledged yet.
    watched: Vec<Watched>,
    /// The time at which each neighbour last acknowledged a packet.
    confirmed: Vec<(Address, Time)>,
    /// The number of the last request for an acknowledgement.
    ack_id: u16,
}

impl Rfc4728 {
    /// A node that knows nothing yet.
    #[must_use]
    pub fn new(params: &Shared<Params>, node: NodeId, rng: Rng) -> Self {
        Self {
            state: State::new(params, node, rng),
            requests: RequestTable::new(params.request_table_size.into(), params.request_table_ids.into()),
            watched: Vec::new(),
            confirmed: Vec::new(),
            ack_id: 0,
        }
    }

    /// Computes when the timer must next be called.
    fn settle(&mut self) {
        let search = self.requests.next();
        let watched = self.watched.iter().map(|it| it.due).min().unwrap_or(Time::NEVER);
        let state = &mut self.state;
        state.deadline = search.min(watched).min(state.buffer.next_expiry()).min(state.next_reply());
    }

    /// Sends a packet along a path (§8.1.3). This node made the packet, or the packet enters the network here. A
    /// neighbour needs no source route. A packet from outside has this node as the first hop of its route, so that the
    /// nodes on the route know the way back.
    fn send_along(&mut self, packet: PacketId, path: &[Address], delay: Span, cx: &mut Context) {
        let (next_hop, between) = (path[0], &path[..path.len() - 1]);
        let outside = self.state.is_outside(cx.packets[packet].destination, cx);
        let it = &mut cx.packets[packet];
        if !between.is_empty() {
            let route = if it.source == self.state.address {
                SourceRoute::new(between.to_vec())
            } else {
                SourceRoute::entering([&[self.state.address], between].concat())
            };
            // The cache has no route that does not fit.
            let Some(mut route) = route else {
                cx.drop_packet(self.state.node, packet, DropReason::NoRoute);
                return;
            };
            route.last_hop_external = outside;
            it.change_options(|options| options.push(DsrOption::SourceRoute(route)));
        }
        self.watch(packet, next_hop, cx);
        self.state.dispatch(packet, next_hop, delay, cx);
    }

    /// Sends a packet along a path of the cache. Without one, the node holds the packet (§8.1.1).
    fn originate(&mut self, packet: PacketId, cx: &mut Context) {
        let it = &cx.packets[packet];
        let (destination, is_error) = (it.destination, it.is_error());
        if let Some(path) = self.state.cache.take(destination, cx.now) {
            self.state.announce(destination, &path, cx);
            self.send_along(packet, &path, Span::ZERO, cx);
        } else if is_error {
            cx.drop_packet(self.state.node, packet, DropReason::NoRoute);
        } else {
            self.state.buffer.push(packet, cx);
            self.search(destination, cx);
        }
    }

    /// Sends the packets that have waited for a route.
    fn flush(&mut self, cx: &mut Context) {
        let mut waiting: Vec<Address> = self.state.buffer.iter().map(|id| cx.packets[id].destination).collect();
        waiting.sort_unstable();
        waiting.dedup();
        for destination in waiting {
            let Some(path) = self.state.cache.take(destination, cx.now) else { continue };
            if let Some(search) = self.requests.searches.get_mut(destination) {
                search.active = false;
            }
            self.state.announce(destination, &path, cx);
            for (place, packet) in self.state.buffer.take(destination, cx).into_iter().enumerate() {
                self.send_along(packet, &path, self.state.params.buffer_spacing * place as u64, cx);
            }
        }
    }

    /// Reads those options of a packet that are for this node. `is_mine`: the packet itself is for this node.
    fn read_options(&mut self, it: &Packet, from: Address, is_mine: bool, cx: &mut Context) {
        for option in it.options() {
            match option {
                DsrOption::RouteReply { addresses, .. } => {
                    let nodes = [&[it.destination], &addresses[..]].concat();
                    self.on_route(&nodes, is_mine, cx);
                }
                DsrOption::RouteError { error: RouteError::NodeUnreachable(to), source, destination, .. } => {
                    self.state.forget_link(*source, *to, cx);
                    if *destination == self.state.address && *source != self.state.address {
                        self.state.last_error = Some((*source, *to, cx.now));
                    }
                }
                DsrOption::Ack { identification, source, destination } if *destination == self.state.address => {
                    self.acknowledged(*source, *identification, cx);
                }
                DsrOption::AckRequest { identification } if from != self.state.address => {
                    self.acknowledge(from, *identification, cx);
                }
                _ => {}
            }
        }
        if is_mine {
            self.send_again(it.options(), cx);
        }
    }

    /// Sends a packet on another way after its route broke (§8.3.5). Its payload came back behind the error. The new
    /// route has the salvage count of the broken one.
    fn send_again(&mut self, options: &[DsrOption], cx: &mut Context) {
        let own = self.state.address;
        let options: Vec<&DsrOption> =
            options.iter().filter(|o| matches!(o, DsrOption::RouteError { .. } | DsrOption::Ack { .. })).collect();
        for (place, pair) in options.windows(2).enumerate() {
            let (DsrOption::RouteError { salvage, .. }, next) = (pair[0], pair[1]) else { continue };
            let (DsrOption::RouteError { source, destination, .. } | DsrOption::Ack { source, destination, .. }) = next
            else {
                continue;
            };
            if *source != own || *destination == own {
                continue;
            }
            // The link in question is forgotten already. An error is not worth a search.
            let Some(path) = self.state.cache.find(*destination, cx.now) else { return };
            let rest = options[place + 1..].iter().map(|&option| option.clone()).collect();
            let packet = self.state.control(*destination, rest, cx);
            if let Some(mut route) = SourceRoute::new(path[..path.len() - 1].to_vec()).filter(|_| path.len() > 1) {
                route.salvage = *salvage;
                cx.packets[packet].change_options(|options| options.push(DsrOption::SourceRoute(route)));
            }
            self.watch(packet, path[0], cx);
            self.state.dispatch(packet, path[0], Span::ZERO, cx);
            return;
        }
    }

    /// A reply tells a route: the node that asked, and the hops after this node (§8.2.6).
    fn on_route(&mut self, nodes: &[Address], is_mine: bool, cx: &mut Context) {
        if !is_simple(nodes) {
            return;
        }
        if is_mine {
            self.state.cache.add(&nodes[1..], Source::Asked, cx.now);
            // §4.3: the waits between searches begin anew.
            self.requests.searches.remove(nodes[nodes.len() - 1]);
        } else if let Some(place) = nodes.iter().position(|&node| node == self.state.address) {
            self.state.learn(nodes, place, true, cx.now);
        }
        let target = nodes.last().copied();
        // §8.2.5: somebody else has told a route that is not longer than ours.
        self.state.replies.retain(|reply| {
            let same = nodes.first() == Some(&reply.initiator) && target == reply.route.last().copied();
            !(same && nodes.len() - 1 <= reply.route.len())
        });
        self.flush(cx);
    }

    /// A packet was overheard that will reach this node only later: the source may leave out the hops between (§3.4.3).
    fn shorten(&mut self, way: &Way, sender: usize, from: Address, cx: &mut Context) {
        let own = self.state.address;
        let Some(later) = way.nodes[way.next..].iter().position(|&node| node == own) else { return };
        let place = way.next + later;
        if !self.state.params.gratuitous_replies || later == 0 || self.state.is_shortened(way.nodes[0], from, cx.now) {
            return;
        }
        let mut route = way.nodes[1..=sender].to_vec();
        route.extend_from_slice(&way.nodes[place..]);
        let back: Vec<Address> = way.nodes[..=sender].iter().rev().copied().collect();
        if let Some(packet) = self.state.reply(route, &back, cx) {
            self.watch(packet, back[0], cx);
            self.state.dispatch(packet, back[0], Span::ZERO, cx);
        }
    }
}

impl Routing for Rfc4728 {
    fn on_networks(&mut self, networks: &Networks) {
        self.state.networks = networks.clone();
    }

    fn route(&mut self, packet: PacketId, cx: &mut Context) {
        let it = &cx.packets[packet];
        if it.hops > 0 && it.source == self.state.address {
            cx.drop_packet(self.state.node, packet, DropReason::RoutingLoop);
        } else if it.ttl == 0 {
            cx.drop_packet(self.state.node, packet, DropReason::TtlExpired);
        } else {
            self.originate(packet, cx);
        }
        self.settle();
    }

    fn on_message(&mut self, packet: PacketId, _from: Address, cx: &mut Context) {
        cx.drop_packet(self.state.node, packet, DropReason::NoListener);
    }

    fn on_options(&mut self, packet: PacketId, from: Address, cx: &mut Context) -> AfterOptions {
        let it = &cx.packets[packet];
        let is_mine = cx.is_local(self.state.node, it.destination);
        let bare = matches!(it.options(), [DsrOption::SourceRoute(_)]);
        if !bare {
            let copy = it.clone();
            if let Some(DsrOption::RouteRequest { identification, target, addresses }) =
                copy.options().iter().find(|option| matches!(option, DsrOption::RouteRequest { .. }))
            {
                // An error that travels with a request is told first: the answer must not have its link.
                if copy.source != self.state.address {
                    self.read_options(&copy, from, false, cx);
                }
                self.on_request(packet, copy.source, *identification, *target, addresses, from, cx);
                self.settle();
                return AfterOptions::Taken;
            }
            self.read_options(&copy, from, is_mine, cx);
            if copy.options().iter().any(|option| matches!(option, DsrOption::AckRequest { .. })) {
                cx.packets[packet]
                    .change_options(|options| options.retain(|option| !matches!(option, DsrOption::AckRequest { .. })));
            }
        }
        let answer = self.after_source_route(packet, from, is_mine, cx);
        if let AfterOptions::Forward(next_hop) = answer
            && cx.packets[packet].ttl > 1
            && let Some(copy) = self.watch(packet, next_hop, cx)
        {
            // IP lowers the TTL of the packet itself.
            cx.packets[copy].ttl -= 1;
        }
        self.settle();
        answer
    }

    fn on_overheard(&mut self, packet: PacketId, from: Address, _to: Address, cx: &mut Context) {
        if self.state.params.acknowledgement == Acknowledgement::Passive {
            self.heard_passing_on(packet, cx);
        }
        let it = &cx.packets[packet];
        if it.options().is_empty() || it.source == self.state.address {
            return;
        }
        if it.options().iter().any(|o| matches!(o, DsrOption::RouteReply { .. } | DsrOption::RouteError { .. })) {
            let mut copy = it.clone();
            copy.change_options(|options| {
                options.retain(|o| matches!(o, DsrOption::RouteReply { .. } | DsrOption::RouteError { .. }));
            });
            self.read_options(&copy, from, false, cx);
        }
        let it = &cx.packets[packet];
        let is_read = it.source_route().is_none_or(|route| {
            let left = u64::from(route.segments_left());
            self.state.has_read(it, left, cx.now) && self.state.replies.is_empty()
        });
        if is_read {
            return self.settle();
        }
        let (Some(way), is_data) = (Way::of(it), !it.is_routing()) else { return };
        let Some(sender) = way.next.checked_sub(1).filter(|&place| way.nodes[place] == from) else { return };
        // §8.2.5: the node that asked uses a route that is not longer than the one that waits here.
        if !self.state.replies.is_empty() {
            let (source, destination) = (it.source, it.destination);
            self.state.replies.retain(|reply| {
                let same = reply.initiator == source && reply.route.last() == Some(&destination);
                !(same && way.nodes.len() - 1 <= reply.route.len())
            });
        }
        self.state.learn_overheard(&way.nodes, sender, true, cx.now);
        if is_data {
            self.shorten(&way, sender, from, cx);
        }
        self.flush(cx);
        self.settle();
    }

    fn on_link_failure(&mut self, packet: PacketId, next_hop: Address, reason: DropReason, cx: &mut Context) {
        if self.state.params.acknowledgement == Acknowledgement::LinkLayer {
            self.link_broken(packet, next_hop, reason, cx);
        } else {
            // The copy in the maintenance buffer tells, when its time is over.
            cx.drop_packet(self.state.node, packet, reason);
        }
        self.settle();
    }

    fn on_taken_back(&mut self, packet: PacketId, next_hop: Address, cx: &mut Context) {
        self.rescue(packet, next_hop, DropReason::BrokenLink, cx);
        self.settle();
    }

    fn on_timer(&mut self, cx: &mut Context) {
        self.state.buffer.expire(cx);
        self.send_due_replies(cx);
        self.search_again(cx);
        self.ask_again(cx);
        self.settle();
    }
}

impl Deadline for Rfc4728 {
    fn deadline(&self) -> Time {
        self.state.deadline
    }
}

impl Routes for Rfc4728 {
    fn lookup(&self, destination: Address) -> Option<(Address, u8)> {
        self.state.announced(destination).map(|path| (path[0], path.len() as u8))
    }

    fn source_route(&self, destination: Address) -> Option<Vec<Address>> {
        self.state.announced(destination).map(<[Address]>::to_vec)
    }

    fn held(&self) -> Vec<PacketId> {
        self.state.buffer.iter().chain(self.watched.iter().map(|it| it.copy)).collect()
    }
}

impl Prefetch<Packet> for Rfc4728 {}

impl Rfc4728 {
    /// The fate of a packet after its source route was read (§8.1.5).
    fn after_source_route(&mut self, packet: PacketId, from: Address, is_mine: bool, cx: &mut Context) -> AfterOptions {
        let it = &cx.packets[packet];
        let Some(route) = it.source_route() else {
            return if is_mine { AfterOptions::Deliver } else { self.leave(packet, cx) };
        };
        if route.next_hop(it.destination) == self.state.address
            && !self.state.has_read(it, 0x100, cx.now)
            && let Some(way) = Way::of(it)
        {
            if is_simple(&way.nodes) {
                self.state.learn(&way.nodes, way.next, true, cx.now);
            }
            self.state.trust(from);
            self.flush(cx);
        }
        if is_mine {
            return AfterOptions::Deliver;
        }
        let destination = cx.packets[packet].destination;
        let Context { packets, owners, .. } = &mut *cx;
        let next_hop = packets[packet].change_options(|options| {
            let route = options.iter_mut().find_map(|option| match option {
                DsrOption::SourceRoute(route) => Some(route),
                _ => None,
            })?;
            (owners.of(route.next_hop(destination)) == self.state.node && route.visit())
                .then(|| route.next_hop(destination))
        });
        match next_hop {
            // §8.1.5: the last hop is outside, and this node is the gateway.
            Some(next_hop) if next_hop == destination && self.state.is_gateway_to(destination, cx) => {
                self.leave(packet, cx)
            }
            Some(next_hop) => AfterOptions::Forward(next_hop),
            None => {
                cx.drop_packet(self.state.node, packet, DropReason::NoRoute);
                AfterOptions::Taken
            }
        }
    }

    /// A packet leaves the network here, without its options.
    fn leave(&self, packet: PacketId, cx: &mut Context) -> AfterOptions {
        cx.packets[packet].strip_options();
        if matches!(cx.packets[packet].body, Body::Empty) {
            // It had options only, which this node has read.
            cx.deliver(packet);
            return AfterOptions::Taken;
        }
        AfterOptions::Unknown
    }
}
