//! DSDV: every node tells its neighbours its whole table from time to time, and its changes in between.
//!
//! To read: Perkins and Bhagwat, "Highly dynamic destination-sequenced distance-vector routing (DSDV) for mobile
//! computers", SIGCOMM 1994. Each destination numbers its own advertisements with even sequence numbers. The route with
//! the newest number is used, so that no loop can form. A broken link is advertised with the next odd number and an
//! infinite metric. A route that may still improve is used at once. It is advertised after a settling time, a weighted
//! mean of the times that earlier improvements took. The neighbour on the shorter way must have had its say before
//! that.
//!
//! [`Rules::Perkins1994`] follows the paper. Where the paper leaves a choice, it does what implementations do: updates
//! are sent over UDP, and a failure of the link layer breaks a link. [`Rules::Ns2`] does what ns-2.35 does:
//!
//! - *Every* finite route waits for twice the settling time before it is advertised. For the first route to a
//!   destination this is twelve seconds. The ends of a chain of six nodes therefore need about a minute to learn of
//!   each other.
//! - A newer sequence number never triggers an update, not even with another metric.
//! - A metric that was sent in a triggered update is sent again in each triggered update until the next full update.
//! - After a failure of the link layer the packet is lost, but the link counts as up. A link breaks after 45 s without
//!   updates.
//!
//! A node may have several radios. It tells each of its addresses, and its updates leave by all of them. A node with
//! radios and wires is a gateway (see `gateways`). Packets for hosts outside go to the nearest gateway, and from there
//! over the wires. Packets from outside enter where the wired network says, which has no part in DSDV.
//!
//! Left out: the division of a large table into several packets (an update has any size, as in ns-2), and the movement
//! of hosts between base stations. Also left out is an endless loop in ns-2: after an outdated update it takes the same
//! waiting packets out of the buffer and puts them back again.
//!
//! Validated by conversations between routers in the tests beside, one for each rule. Property tests show that next
//! hops never lead in a circle, and that no packet meets a node twice once links that are gone are forgotten. Runs
//! are compared with ns-2.35 on the same scenarios (docs/validation.md).

mod gateways;
mod message;
mod params;
mod table;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::net::Ipv4Addr;

use hopyard_engine::{Deadline, Prefetch, Rng, Span, Time};

use super::{Networks, Routes, Routing, RoutingFacts as _};
use crate::address::{Address, NodeId, Prefix};
use crate::context::{Action, Context, DropReason, Origin, RouteChange};
use crate::packet::{Body, Packet, PacketId, RoutingMessage};
use crate::params::Shared;
pub use message::{Advertisement, Update};
pub use params::{Gateways, Params, Rules};
use table::{Doubt, Entry, Table};

/// A packet that waits for a route.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    packet: PacketId,
    destination: Address,
    expires: Time,
}

/// DSDV at one node.
#[derive(Debug)]
pub struct Dsdv {
    node: NodeId,
    /// The address of the first interface, by which other nodes know this one.
    address: Address,
    /// All its addresses on radios.
    own: Vec<Address>,
    params: Shared<Params>,
    rng: Rng,
    /// The node's own sequence number, always even.
    sequence: u32,
    table: Table,
    gateways: gateways::Gateways,
    /// The last packet heard, and the neighbour that sent it.
    last_heard: Option<(PacketId, Address)>,
    /// Packets that wait, oldest first.
    waiting: VecDeque<Waiting>,
    /// When the next full update is due.
    update_at: Time,
    /// Before this time no update is triggered.
    quiet_until: Time,
    /// No entry triggers an update or is lost before this time.
    next_entry: Time,
}

impl Dsdv {
    /// DSDV at `node`.
    #[must_use]
    pub fn new(params: &Shared<Params>, node: NodeId, _nodes: usize, rng: Rng) -> Self {
        Self {
            node,
            address: node.into(),
            own: vec![node.into()],
            params: params.clone(),
            rng,
            sequence: 0,
            table: Table::default(),
            gateways: gateways::Gateways::default(),
            last_heard: None,
            waiting: VecDeque::new(),
            update_at: Time::NEVER,
            quiet_until: Time::ZERO,
            next_entry: Time::NEVER,
        }
    }

    /// The entry of one of the node's addresses, as a full update tells it.
    fn own_entry(&self, address: Address, now: Time) -> Entry {
        Entry {
            sequence: self.sequence,
            advertise_sequence: true,
            advertise_at: Time::ZERO,
            ..Entry::new(address, 0, Span::ZERO, now)
        }
    }

    /// A random time up to the next full update.
    fn interval(&mut self) -> Span {
        let jitter = self.params.update_jitter;
        self.params.update_interval.mul_f64(1.0 - jitter + jitter * self.rng.uniform())
    }

    fn announce(&self, entry: &Entry, cx: &mut Context) {
        let route = (entry.metric < self.params.infinity).then_some((entry.next_hop, entry.metric));
        let change = RouteChange { destination: entry.destination, route };
        cx.act(Action::RouteChanged { node: self.node, change });
    }

    /// Makes an update. It has all entries if `periodic` is set or if many entries have changed, otherwise only the
    /// changed ones. The node's own number advances with its periodic updates. If triggered updates advanced it too,
    /// each would begin a race of paths at all other nodes. Their triggered updates would begin more races. In ns-2
    /// triggered updates advance the number, but a newer number alone never triggers an update.
    fn make_update(&mut self, periodic: bool, now: Time) -> Option<Update> {
        let entries = self.table.entries();
        let news = entries.iter().filter(|entry| entry.is_news(now)).count();
        let full = periodic
            || news * usize::from(self.params.full_update_share) > entries.len()
                && news > usize::from(self.params.full_update_least);
        if periodic || full && self.params.rules == Rules::Ns2 {
            self.sequence = self.sequence.wrapping_add(2);
            for place in 0..self.own.len() {
                self.table.put(self.own_entry(self.own[place], now));
            }
        } else if news == 0 {
            return None;
        }
        let mut advertisements = Vec::with_capacity(if full { self.table.entries().len() } else { news });
        let mut networks = Vec::new();
        for entry in self.table.entries_mut() {
            if !(entry.is_news(now) || full && entry.advertise_at <= now) {
                continue;
            }
            let Entry { destination, metric, sequence, .. } = *entry;
            advertisements.push(Advertisement { destination, metric, sequence });
            if metric < self.params.infinity {
                networks.extend(self.gateways.of(destination).map(|prefix| (destination, prefix)));
            }
            entry.last_advertised = metric;
            entry.advertise_sequence = false;
            if full || self.params.rules == Rules::Perkins1994 {
                entry.advertise_metric = false;
            }
            if self.params.rules == Rules::Perkins1994 {
                entry.trigger_at = Time::NEVER;
            }
        }
        Some(Update { full, advertisements, networks })
    }

    fn send_update(&mut self, update: Update, cx: &mut Context) {
        let size = self.params.packet_size(&update);
        let (node, next_hop) = (self.node, Address::BROADCAST);
        let (ttl, message) = (self.params.update_ttl, RoutingMessage::new(update));
        let packet = cx.originate_routing(Origin::Own, self.address, next_hop, ttl, size, message);
        let at = cx.now + self.params.broadcast_jitter.mul_f64(self.rng.uniform());
        cx.act(Action::SendLater { node, packet, next_hop, at });
        self.quiet_until = cx.now + self.params.min_triggered_interval;
    }

    /// The time for a full update has come.
    fn update(&mut self, cx: &mut Context) {
        if let Some(update) = self.make_update(true, cx.now) {
            self.send_update(update, cx);
        }
        self.update_at = cx.now + self.interval();
    }

    /// Sets the time at which an entry triggers an update; it replaces an earlier setting.
    fn trigger(&mut self, destination: Address, at: Time) {
        if let Some(entry) = self.table.get_mut(destination) {
            entry.trigger_at = at;
            self.next_entry = self.next_entry.min(at);
        }
    }

    /// An entry triggers an update now. If the last update was too recent, this one is delayed. It then includes all
    /// entries that would trigger an update before it.
    fn triggered(&mut self, destination: Address, cx: &mut Context) {
        if cx.now < self.quiet_until && self.params.rules == Rules::Perkins1994 {
            return self.trigger(destination, self.quiet_until);
        }
        if cx.now < self.quiet_until {
            for entry in self.table.entries_mut().iter_mut().filter(|entry| entry.trigger_at < self.quiet_until) {
                entry.trigger_at = Time::NEVER;
            }
            self.trigger(destination, self.quiet_until);
            return;
        }
        if let Some(entry) = self.table.get_mut(destination) {
            entry.trigger_at = Time::NEVER;
        }
        if let Some(update) = self.make_update(false, cx.now) {
            if update.full && self.params.rules == Rules::Ns2 {
                self.update_at = cx.now + self.interval();
            }
            self.send_update(update, cx);
        }
    }

    /// The link to a neighbour is broken: all destinations behind it are unreachable, and this is advertised at once.
    fn break_link(&mut self, neighbour: Address, cx: &mut Context) {
        let (now, infinity) = (cx.now, self.params.infinity);
        let mut broken = Vec::new();
        for entry in self.table.entries_mut() {
            if entry.next_hop == neighbour && entry.metric < infinity && entry.metric > 0 {
                entry.metric = infinity;
                entry.sequence = entry.sequence.wrapping_add(1);
                (entry.advertise_metric, entry.advertise_sequence, entry.advertise_at) = (true, true, now);
                entry.doubt = None;
                entry.trigger_at = now;
                self.next_entry = now;
                if std::mem::replace(&mut entry.used, false) {
                    broken.push(*entry);
                }
            }
            if entry.destination == neighbour {
                entry.lost_at = Time::NEVER;
            }
        }
        for entry in broken {
            self.announce(&entry, cx);
        }
        for place in 0..self.table.entries().len() {
            self.hear_from_doubted(self.table.entries()[place], neighbour, now);
        }
        self.announce_outside(cx);
    }

    /// Announces what has changed of the routes to destinations outside that data go to.
    fn announce_outside(&mut self, cx: &mut Context) {
        let (table, infinity) = (&self.table, self.params.infinity);
        let way = |destination| self.gateways.way(destination, table, infinity, None);
        let used = self.gateways.outside().filter(|it| it.announced.is_some());
        let changed: Vec<_> = used
            .map(|it| (it.destination, it.announced, way(it.destination)))
            .filter(|(_, before, now)| before != now)
            .collect();
        for (destination, _, route) in changed {
            if let Some(outside) = self.gateways.get_mut(destination) {
                outside.announced = route;
            }
            cx.act(Action::RouteChanged { node: self.node, change: RouteChange { destination, route } });
        }
    }

    /// How long a new route waits until it is advertised, in ns-2.
    fn holds_back(&self, new: &Entry, old: Option<&Entry>) -> Span {
        let infinity = self.params.infinity;
        let waits = new.metric < infinity && old.is_none_or(|old| old.metric < infinity);
        if waits { new.settling_time.mul_f64(self.params.settling_factor) } else { Span::ZERO }
    }

    /// Sets from when on a new route may be advertised.
    ///
    /// A newer number over a longer way than the one told last is doubtful. Numbers travel with periodic updates, and
    /// the neighbour on the shorter way will probably tell that number too, or a still newer one. So the route waits
    /// until that neighbour has told its number or is lost. It also waits for its settling time: the mean time after
    /// which a way as short as the former one was back.
    fn doubt(&self, new: &mut Entry, old: Option<&Entry>, now: Time) {
        new.advertise_at = now;
        let known = |entry: &&Entry| entry.metric < self.params.infinity && entry.last_advertised > 0;
        let Some(old) = old.filter(known).filter(|_| new.metric < self.params.infinity) else {
            new.doubt = None;
            return;
        };
        match old.doubt {
            Some(doubt) if new.metric <= doubt.metric => {
                new.settle(now.since(doubt.since), self.params.settling_weight);
                new.doubt = None;
            }
            Some(doubt) => {
                new.advertise_at = old.advertise_at;
                if new.next_hop == doubt.next_hop {
                    self.believe(new, now);
                }
            }
            None if new.sequence != old.sequence && new.metric > old.last_advertised => {
                new.doubt = Some(Doubt { since: now, metric: old.last_advertised, next_hop: old.next_hop });
                new.advertise_at = Time::NEVER;
                if new.next_hop == old.next_hop {
                    self.believe(new, now);
                }
            }
            None => {}
        }
    }

    /// The neighbour on the way that was shorter has none any more, or is lost: the longer way waits for its settling
    /// time only.
    fn believe(&self, entry: &mut Entry, now: Time) {
        if let Some(doubt) = entry.doubt {
            let settled = doubt.since + entry.settling_time.mul_f64(self.params.settling_factor);
            entry.advertise_at = entry.advertise_at.min(settled.max(now));
        }
    }

    /// The neighbour that doubtful routes wait for has told that its way is no shorter, or is lost.
    fn hear_from_doubted(&mut self, mut entry: Entry, from: Address, now: Time) {
        if entry.doubt.is_some_and(|doubt| doubt.next_hop == from) {
            self.believe(&mut entry, now);
            self.table.put(entry);
            if entry.advertise_metric {
                self.trigger(entry.destination, entry.advertise_at);
            }
        }
    }

    /// One destination of an update.
    fn hear(&mut self, heard: Advertisement, networks: impl Iterator<Item = Prefix>, from: Address, cx: &mut Context) {
        let (now, infinity) = (cx.now, self.params.infinity);
        if self.own.contains(&heard.destination) {
            // Another node advertises this node as unreachable: it answers with a newer number at once. One that has
            // only not heard of the present number will.
            if heard.metric >= infinity {
                match self.params.rules {
                    Rules::Ns2 => self.update_at = now,
                    Rules::Perkins1994 if heard.sequence.wrapping_sub(self.sequence).cast_signed() > 0 => {
                        self.update_at = self.update_at.min(now.max(self.quiet_until));
                    }
                    Rules::Perkins1994 => {}
                }
            }
            return;
        }
        let old = self.table.get(heard.destination).copied();
        let mut new = old.unwrap_or(Entry::new(heard.destination, infinity, self.params.initial_settling_time, now));
        (new.next_hop, new.sequence, new.changed_at) = (from, heard.sequence, now);
        new.metric = if heard.metric < infinity { heard.metric + 1 } else { infinity };
        if let Some(old) = old.filter(|old| old.sequence != new.sequence) {
            if self.params.rules == Rules::Ns2 {
                new.settle(old.changed_at.since(old.new_sequence_at), self.params.settling_weight);
            }
            new.new_sequence_at = now;
        }
        if self.params.rules == Rules::Perkins1994 {
            self.doubt(&mut new, old.as_ref(), now);
        } else {
            new.advertise_at = now + self.holds_back(&new, old.as_ref());
        }
        let ahead = old.map_or(1, |old| new.sequence.wrapping_sub(old.sequence).cast_signed());
        let triggers = match old {
            None => {
                new.advertise_metric = new.metric < infinity;
                new.advertise_metric
            }
            Some(old) if ahead == 0 => {
                if new.metric >= old.metric {
                    self.hear_from_doubted(old, from, now);
                    self.flush(heard.destination, cx);
                    return;
                }
                new.advertise_metric = new.metric != old.last_advertised;
                new.advertise_metric
            }
            Some(old) if ahead > 0 => {
                new.advertise_sequence = true;
                new.advertise_metric = new.metric != old.last_advertised;
                self.params.rules == Rules::Perkins1994 && new.advertise_metric
            }
            Some(mut old) => {
                if new.metric >= infinity {
                    self.hear_from_doubted(old, from, now);
                    old = self.table.get(heard.destination).copied().unwrap_or(old);
                }
                if new.metric >= infinity && old.metric < infinity {
                    // The neighbour has not heard that the destination can be reached again.
                    (old.advertise_at, old.advertise_metric) = (now, true);
                    self.table.put(old);
                    self.trigger(heard.destination, now);
                }
                self.flush(heard.destination, cx);
                return;
            }
        };
        let lost = new.metric >= infinity;
        let changed = old.is_none_or(|old| (old.next_hop, old.metric) != (new.next_hop, new.metric));
        if new.used && changed {
            self.announce(&new, cx);
        }
        new.used &= !lost;
        self.table.put(new);
        // A gateway that cannot be reached keeps its networks, which nobody tells meanwhile.
        if !lost && self.gateways.set(heard.destination, networks) || lost && !self.gateways.is_empty() {
            self.announce_outside(cx);
            self.flush_outside(cx);
        }
        if triggers {
            self.trigger(heard.destination, new.advertise_at);
        } else if self.params.rules == Rules::Perkins1994 {
            // The route is again the one that was told last: what should have been told of another is superseded.
            self.trigger(heard.destination, Time::NEVER);
        }
        self.flush(heard.destination, cx);
    }

    /// Checks each packet before it is routed. Returns whether it is: one of this node's own that comes back has gone
    /// round.
    fn admits(&self, packet: PacketId, cx: &mut Context) -> bool {
        let it = &mut cx.packets[packet];
        if self.own.contains(&it.source) {
            if it.hops > 0 {
                cx.drop_packet(self.node, packet, DropReason::RoutingLoop);
                return false;
            }
            if self.params.data_ttl > 0 {
                it.ttl = self.params.data_ttl;
            }
        }
        true
    }

    /// ns-2 counts the IP header of a packet of this node once more.
    fn repeat_header(&self, packet: PacketId, cx: &mut Context) {
        let it = &mut cx.packets[packet];
        if self.own.contains(&it.source) && matches!(it.body, Body::Tcp(_) | Body::Control { .. }) {
            it.size += self.params.repeated_header.count() as u32;
        }
    }

    /// A packet of this node, or one on its way.
    fn forward(&mut self, packet: PacketId, cx: &mut Context) {
        self.repeat_header(packet, cx);
        let destination = cx.packets[packet].destination;
        let infinity = self.params.infinity;
        if let Some(entry) = self.table.get_mut(destination).filter(|entry| entry.metric < infinity) {
            let next_hop = entry.next_hop;
            if !std::mem::replace(&mut entry.used, true) {
                let entry = *entry;
                self.announce(&entry, cx);
            }
            cx.act(Action::Send { node: self.node, packet, next_hop });
            return;
        }
        self.gateways.note(destination, cx.owners.name(destination));
        let own = self.own.contains(&cx.packets[packet].source);
        let except = self.last_heard.filter(|heard| !own && heard.0 == packet).map(|heard| heard.1);
        if let Some(route) = self.gateways.way(destination, &self.table, infinity, except) {
            if let Some(outside) = self.gateways.get_mut(destination).filter(|it| it.announced.is_none()) {
                outside.announced = Some(route);
                let change = RouteChange { destination, route: Some(route) };
                cx.act(Action::RouteChanged { node: self.node, change });
            }
            cx.act(Action::Send { node: self.node, packet, next_hop: route.0 });
            return;
        }
        if own {
            // The source knows of the break: by an update, or because it is the source's own link.
            cx.unreachable(self.node, packet);
        }
        if self.table.get(destination).is_none() {
            self.table.put(Entry::new(destination, infinity, self.params.initial_settling_time, cx.now));
        }
        let timeout = self.params.buffer_timeout;
        let expires = if timeout.is_zero() { Time::NEVER } else { cx.now + timeout };
        self.waiting.push_back(Waiting { packet, destination, expires });
        let held = self.waiting.iter().filter(|waiting| waiting.destination == destination).count();
        if held > usize::from(self.params.buffer_packets)
            && let Some(place) = self.waiting.iter().position(|waiting| waiting.destination == destination)
            && let Some(oldest) = self.waiting.remove(place)
        {
            cx.drop_packet(self.node, oldest.packet, DropReason::RouteBufferFull);
        }
    }

    /// Sends the packets that have waited for a route, if there is one now.
    fn flush(&mut self, destination: Address, cx: &mut Context) {
        if self.waiting.iter().all(|waiting| waiting.destination != destination) || self.lookup(destination).is_none() {
            return;
        }
        let mut ready = Vec::new();
        self.waiting.retain(|waiting| {
            let keep = waiting.destination != destination;
            if !keep {
                ready.push(waiting.packet);
            }
            keep
        });
        for packet in ready {
            self.forward(packet, cx);
        }
    }

    /// Sends the packets that have waited for a gateway, if there is one now.
    fn flush_outside(&mut self, cx: &mut Context) {
        if self.waiting.is_empty() {
            return;
        }
        let outside: Vec<_> = self.gateways.outside().map(|it| it.destination).collect();
        for destination in outside {
            self.flush(destination, cx);
        }
    }

    /// The route to a destination that the node has heard by itself.
    fn own_route(&self, destination: Address) -> Option<(Address, u8)> {
        let entry = self.table.get(destination).filter(|entry| entry.metric < self.params.infinity)?;
        Some((entry.next_hop, entry.metric))
    }

    fn find_next_entry(&mut self) {
        let times = self.table.entries().iter().map(|entry| entry.trigger_at.min(entry.lost_at));
        self.next_entry = times.min().unwrap_or(Time::NEVER);
    }
}

impl Routing for Dsdv {
    fn on_networks(&mut self, networks: &Networks) {
        self.gateways = gateways::Gateways::new(networks);
        if networks.radios.is_empty() {
            return;
        }
        self.own = networks.radios.iter().map(|&(address, _)| address).collect();
        let announced = self.params.announced(&networks.wired, &networks.ad_hoc);
        self.gateways.set(self.address, announced.into_iter());
    }

    fn start(&mut self, cx: &mut Context) {
        for place in 0..self.own.len() {
            self.table.put(Entry { advertise_metric: true, ..self.own_entry(self.own[place], cx.now) });
        }
        self.sequence = 2;
        self.update_at = cx.now + self.params.startup_jitter.mul_f64(self.rng.uniform());
    }

    #[inline]
    fn route(&mut self, packet: PacketId, cx: &mut Context) {
        if self.admits(packet, cx) {
            self.forward(packet, cx);
        }
    }

    /// A destination in another network that the node has heard of by itself goes the shorter way, as in ns-2. Nothing
    /// waits for a route to the router.
    fn route_towards(&mut self, packet: PacketId, router: Address, node: NodeId, cx: &mut Context) {
        if !self.admits(packet, cx) {
            return;
        }
        let destination = cx.packets[packet].destination;
        if self.own_route(destination).is_some() {
            return self.forward(packet, cx);
        }
        match self.lookup(router) {
            Some((next_hop, _)) => {
                self.repeat_header(packet, cx);
                cx.act(Action::Send { node, packet, next_hop });
            }
            None => cx.drop_packet(node, packet, DropReason::NoRoute),
        }
    }

    fn on_message(&mut self, packet: PacketId, from: Address, cx: &mut Context) {
        let Some(update) = cx.packets[packet].message::<Update>() else {
            return cx.drop_packet(self.node, packet, DropReason::NoListener);
        };
        for &advertisement in &update.advertisements {
            self.hear(advertisement, update.networks_of(advertisement.destination), from, cx);
        }
        if self.table.get(from).is_none() {
            // A neighbour that has not yet advertised itself: its entry is not advertised, but keeps the time.
            let entry = Entry::new(from, 1, self.params.initial_settling_time, cx.now);
            self.table.put(entry);
        }
        let lost_at = cx.now + self.params.neighbour_hold();
        if let Some(entry) = self.table.get_mut(from) {
            entry.lost_at = lost_at;
            self.next_entry = self.next_entry.min(lost_at);
        }
        cx.deliver(packet);
    }

    #[inline]
    fn on_heard(&mut self, packet: PacketId, from: Address, _cx: &mut Context) {
        self.last_heard = Some((packet, from));
    }

    fn on_link_failure(&mut self, packet: PacketId, next_hop: Address, reason: DropReason, cx: &mut Context) {
        if !self.params.link_layer_detection {
            cx.drop_packet(self.node, packet, reason);
            return;
        }
        self.break_link(next_hop, cx);
        if self.params.rules == Rules::Perkins1994 {
            cx.act(Action::TakeBack { node: self.node, next_hop });
        }
        // Another neighbour may know the way by now, or soon.
        self.forward(packet, cx);
    }

    fn on_taken_back(&mut self, packet: PacketId, _next_hop: Address, cx: &mut Context) {
        if self.params.rules == Rules::Ns2 || cx.packets[packet].is_routing() {
            cx.drop_packet(self.node, packet, DropReason::BrokenLink);
        } else {
            self.forward(packet, cx);
        }
    }

    fn on_timer(&mut self, cx: &mut Context) {
        let now = cx.now;
        while let Some(oldest) = self.waiting.front().filter(|waiting| waiting.expires <= now) {
            cx.drop_packet(self.node, oldest.packet, DropReason::RouteTimeout);
            self.waiting.pop_front();
        }
        if self.update_at <= now {
            self.update(cx);
        }
        if self.next_entry <= now {
            let lost = self.table.entries().iter().filter(|entry| entry.lost_at <= now);
            let lost: Vec<_> = lost.map(|entry| entry.destination).collect();
            for neighbour in lost {
                self.break_link(neighbour, cx);
            }
            while let Some(due) = self.table.entries().iter().find(|entry| entry.trigger_at <= now) {
                self.triggered(due.destination, cx);
            }
            self.find_next_entry();
        }
    }
}

impl Deadline for Dsdv {
    #[inline]
    fn deadline(&self) -> Time {
        let oldest = self.waiting.front().map_or(Time::NEVER, |waiting| waiting.expires);
        self.update_at.min(self.next_entry).min(oldest)
    }
}

impl Routes for Dsdv {
    fn lookup(&self, destination: Address) -> Option<(Address, u8)> {
        let outside = || self.gateways.way(destination, &self.table, self.params.infinity, None);
        self.own_route(destination).or_else(outside)
    }

    fn lookup_named(&self, destination: Address, name: Ipv4Addr) -> Option<(Address, u8)> {
        self.lookup(destination).or_else(|| self.gateways.way_to(name, &self.table, self.params.infinity, None))
    }

    fn lookup_towards(&self, destination: Address, router: Address) -> Option<(Address, u8)> {
        self.own_route(destination).or_else(|| self.lookup(router))
    }

    fn held(&self) -> Vec<PacketId> {
        self.waiting.iter().map(|waiting| waiting.packet).collect()
    }
}

impl Prefetch<Packet> for Dsdv {}
