//! The state of an OLSR node: its links and neighbours, the topology, and the paths that follow.

use std::net::Ipv4Addr;
use std::sync::{Arc, OnceLock};

use hopyard_engine::{Rng, Span, Time};

use super::duplicates::Duplicates;
use super::links::{self, Link, Neighbour};
use super::message::{self, Hello, OlsrMessage, Tc};
use super::mpr::{self, Candidate, WILL_NEVER};
use super::params::{EarlyTc, Metric, Params};
use super::topology::{Change, Gateways, Interfaces, Topology};
use super::tree::{Graph, Tree};
use crate::address::{Address, NodeId, Prefix};
use crate::context::Context;
use crate::params::Shared;
use crate::routing::Networks;

/// A change of a route in use is announced at the next packet, but not later than this.
const ANNOUNCED_WITHIN: Span = Span::from_millis(100);
/// A radio of the node.
#[derive(Debug)]
pub struct Radio {
    /// Its address.
    pub address: Address,
    /// The number of its next packet.
    pub sequence: u16,
    /// Its last HELLO, which is sent again as it is while nothing changes.
    pub hello: Option<Arc<Hello>>,
}

/// A destination to which packets go.
#[derive(Clone, Copy, Debug)]
pub struct Used {
    pub destination: Address,
    /// Its address in the scenario, by which gateways are found.
    pub name: Ipv4Addr,
    /// The route that was announced last.
    pub route: Option<(Address, u8)>,
    /// When the last packet went there.
    pub last: Time,
}

/// The state of a node.
#[derive(Debug)]
pub struct State {
    pub node: NodeId,
    /// The main address (§3.2).
    pub main: Address,
    /// The addresses of all radios; the first one is the main address.
    pub own: Vec<Address>,
    pub radios: Vec<Radio>,
    /// The prefix of each radio's channel, and the prefixes of all channels.
    prefixes: Vec<Prefix>,
    pub ad_hoc: Arc<[Prefix]>,
    /// The networks to which wires lead.
    pub wired: Vec<Prefix>,
    pub params: Shared<Params>,
    pub rng: Rng,
    /// By the address of the neighbour's interface.
    pub links: Vec<Link>,
    /// No link changes by itself before this time.
    pub next_change: Time,
    /// By main address.
    pub neighbours: Vec<Neighbour>,
    /// Neighbours that have chosen the node as a relay just now, each with the time until which the choice holds, or
    /// that can no longer.
    pub chosen: Vec<(Address, Time)>,
    /// Whether the relays must be chosen again.
    relays_doubtful: bool,
    /// Room for the 2-hop tuples of a HELLO.
    reached: Vec<(Address, u32)>,
    pub duplicates: Duplicates,
    pub topology: Topology,
    pub interfaces: Interfaces,
    pub gateways: Gateways,
    pub tree: Tree,
    /// A tree for questions that must change nothing, while the other one is doubtful.
    pub fresh: OnceLock<Box<Tree>>,
    pub used: Vec<Used>,
    /// When changes of used routes are announced at the latest.
    pub announce_at: Time,
    /// The time at which the timer is next to be called. Every packet asks for it, and every change that can move it
    /// sets it.
    pub due: Time,
    /// Messages that wait, each for one radio or for all.
    pub queue: Vec<(Option<usize>, OlsrMessage)>,
    /// When they are sent.
    pub emit_at: Time,
    pub hello_at: Time,
    pub tc_at: Time,
    pub mid_at: Time,
    pub hna_at: Time,
    /// The number of the next message.
    pub sequence: u16,
    /// The last TC.
    pub tc: Option<Arc<Tc>>,
    /// Until when empty TCs are sent (§9.3).
    pub empty_until: Time,
}

/// The graph that a node knows.
pub struct Known<'a> {
    pub neighbours: &'a [Neighbour],
    pub topology: &'a Topology,
    pub metric: Metric,
}

impl Graph for Known<'_> {
    fn neighbours(&self, mut visit: impl FnMut(u32, u32, u32)) {
        for it in self.neighbours.iter().filter(|it| it.symmetric) {
            visit(it.main.0, it.via.0, it.cost);
        }
    }

    fn edges(&self, from: u32, near: bool, mut visit: impl FnMut(u32, u32)) {
        if near && let Ok(place) = self.neighbours.binary_search_by_key(&from, |it| it.main.0) {
            let it = &self.neighbours[place];
            if it.symmetric {
                // §10, step 2: 2-hop neighbours, over those that are willing to relay.
                if it.willingness != WILL_NEVER {
                    it.reaches.iter().for_each(|&(to, cost)| visit(to.0, cost));
                }
                return;
            }
        }
        let Some(tc) = self.topology.of(Address(from)) else { return };
        match self.metric {
            Metric::Hops => tc.advertised.iter().for_each(|to| visit(to.0, 1)),
            Metric::Etx => tc.advertised.iter().zip(&tc.qualities).for_each(|(to, &quality)| {
                if let Some(cost) = links::cost(quality) {
                    visit(to.0, cost);
                }
            }),
        }
    }
}

/// Goes through two sorted lists: the elements that only the first one has, and the elements that only the second one
/// has.
fn differences<T>(
    old: &[T],
    new: &[T],
    address: impl Fn(&T) -> Address,
    mut gone: impl FnMut(Address),
    mut come: impl FnMut(Address),
) {
    let (mut i, mut j) = (0, 0);
    while i < old.len() || j < new.len() {
        match (old.get(i).map(&address), new.get(j).map(&address)) {
            (Some(a), Some(b)) if a == b => (i, j) = (i + 1, j + 1),
            (Some(a), b) if b.is_none_or(|b| a < b) => {
                gone(a);
                i += 1;
            }
            (_, Some(b)) => {
                come(b);
                j += 1;
            }
            (_, None) => i += 1,
        }
    }
}

/// Tells the tree which edges from a node have changed. Whether paths may have changed.
fn edges_changed<T>(
    tree: &mut Tree,
    graph: &Known<'_>,
    from: Address,
    (old, new): (&[T], &[T]),
    address: impl Fn(&T) -> Address,
) -> bool {
    let mut changed = false;
    let mut added = Vec::new();
    differences(old, new, address, |gone| changed |= tree.remove(from.0, gone.0), |come| added.push(come));
    for to in added {
        changed |= tree.add(from.0, to.0, graph);
    }
    changed
}

impl State {
    /// A node that knows nothing, with one radio until it is told of others.
    #[must_use]
    pub fn new(params: &Shared<Params>, node: NodeId, rng: Rng) -> Self {
        let main = Address::from(node);
        Self {
            node,
            main,
            own: vec![main],
            radios: vec![Radio { address: main, sequence: 0, hello: None }],
            prefixes: vec![Prefix::DEFAULT],
            ad_hoc: Arc::from([Prefix::DEFAULT]),
            wired: Vec::new(),
            params: params.clone(),
            rng,
            links: Vec::new(),
            next_change: Time::NEVER,
            neighbours: Vec::new(),
            chosen: Vec::new(),
            relays_doubtful: false,
            reached: Vec::new(),
            duplicates: Duplicates::new(1),
            topology: Topology::new(),
            interfaces: Interfaces::new(),
            gateways: Gateways::new(),
            tree: Tree::default(),
            fresh: OnceLock::new(),
            used: Vec::new(),
            announce_at: Time::NEVER,
            queue: Vec::new(),
            due: Time::NEVER,
            emit_at: Time::NEVER,
            hello_at: Time::NEVER,
            tc_at: Time::NEVER,
            mid_at: Time::NEVER,
            hna_at: Time::NEVER,
            sequence: 0,
            tc: None,
            empty_until: Time::ZERO,
        }
    }

    /// The networks of the node.
    pub fn on_networks(&mut self, networks: &Networks) {
        self.own = networks.radios.iter().map(|it| it.0).collect();
        self.main = self.own.first().copied().unwrap_or(self.main);
        self.radios = self.own.iter().map(|&address| Radio { address, sequence: 0, hello: None }).collect();
        self.prefixes = networks.radios.iter().map(|it| it.1).collect();
        self.ad_hoc = Arc::clone(&networks.ad_hoc);
        self.wired.clone_from(&networks.wired);
        self.duplicates = Duplicates::new(self.radios.len());
    }

    /// Which radio hears a neighbour's interface: that on its channel.
    pub fn radio_of(&self, from: Address, cx: &Context) -> usize {
        if self.radios.len() < 2 {
            return 0;
        }
        let name = cx.owners.name(from);
        self.prefixes.iter().position(|prefix| prefix.contains(name)).unwrap_or(0)
    }

    /// The link to a neighbour's interface.
    pub fn link(&self, address: Address) -> Result<usize, usize> {
        self.links.binary_search_by_key(&address, |link| link.address)
    }

    fn neighbour_place(&self, main: Address) -> Result<usize, usize> {
        self.neighbours.binary_search_by_key(&main, |it| it.main)
    }

    /// A neighbour, by its main address.
    pub fn neighbour(&self, main: Address) -> Option<&Neighbour> {
        self.neighbour_place(main).ok().map(|place| &self.neighbours[place])
    }

    /// Whether every packet says something of the quality of its link.
    pub fn watches_links(&self) -> bool {
        self.params.hysteresis || self.params.metric == Metric::Etx
    }

    /// Something happened to links or topology that may change routes in use.
    fn routes_changed(&mut self, now: Time) {
        self.fresh.take();
        if !self.used.is_empty() {
            self.announce_at = self.announce_at.min(now + ANNOUNCED_WITHIN);
        }
    }

    fn invalidate(&mut self, now: Time) {
        self.tree.invalidate();
        self.routes_changed(now);
    }

    /// A link may have become symmetric, or may be so no longer (§8.1, 8.5).
    pub fn link_changed(&mut self, place: usize, now: Time) {
        let link = &mut self.links[place];
        self.next_change = self.next_change.min(link.next_change(now, &self.params));
        let symmetric = link.is_symmetric(now);
        let main = link.main;
        if std::mem::replace(&mut link.was_symmetric, symmetric) != symmetric || self.params.metric == Metric::Etx {
            self.neighbour_changed(main, now);
        }
    }

    /// Derives what a neighbour is from the links to it.
    fn neighbour_changed(&mut self, main: Address, now: Time) {
        let mut exists = false;
        let mut best: Option<(u32, Address)> = None;
        for link in self.links.iter().filter(|link| link.main == main) {
            exists = true;
            let cost = match self.params.metric {
                Metric::Hops => Some(1),
                Metric::Etx => links::cost(link.qualities(&self.params)),
            };
            if let Some(cost) = cost.filter(|_| link.is_symmetric(now)) {
                best = Some(best.map_or((cost, link.address), |best| best.min((cost, link.address))));
            }
        }
        let Ok(place) = self.neighbour_place(main) else { return };
        let it = &mut self.neighbours[place];
        let before = (it.symmetric, it.via, it.cost);
        it.symmetric = best.is_some();
        (it.cost, it.via) = best.unwrap_or((u32::MAX, it.via));
        let after = (it.symmetric, it.via, it.cost);
        if !it.symmetric {
            // §8.5: what the neighbour has told of others, and its selection of this node, end with the link.
            it.relay = false;
            it.reaches.clear();
            it.reaches_until = Time::ZERO;
            // Also if its time ends at this instant.
            if before.0 && it.selector_until > Time::ZERO {
                it.selector_until = Time::ZERO;
                self.chosen.push((main, Time::ZERO));
                self.selectors_changed(true, now);
            }
        }
        // With several radios, the link of one may have changed while that of another keeps the neighbour: each has
        // relays of its own (§8.3.1).
        if before.0 != after.0 || self.radios.len() > 1 {
            self.relays_doubtful = true;
        }
        if before != after {
            self.invalidate(now);
        }
        if !exists && let Ok(place) = self.neighbour_place(main) {
            self.neighbours.remove(place);
        }
    }

    /// The MPR selector set has changed (§9.3).
    fn selectors_changed(&mut self, lost: bool, now: Time) {
        if self.params.early_tc == EarlyTc::Any || lost && self.params.early_tc == EarlyTc::Lost {
            let jitter = self.jitter();
            self.tc_at = self.tc_at.min(now + jitter);
        }
    }

    /// A random time up to MAXJITTER.
    pub fn jitter(&mut self) -> Span {
        self.params.max_jitter().mul_f64(self.rng.uniform())
    }

    /// A HELLO has come from a neighbour's interface (§7.1.1, 8.1.1, 8.2.1, 8.4.1).
    pub fn hear_hello(
        &mut self,
        from: Address,
        radio: usize,
        it: &OlsrMessage,
        hello: &Arc<Hello>,
        packet: u16,
        now: Time,
    ) {
        let validity = message::of_code(it.vtime);
        let main = it.originator;
        let place = self.link(from).unwrap_or_else(|place| {
            let mut link = Link::new(from, radio, main, &self.params);
            link.packet(packet, now, &self.params);
            self.links.insert(place, link);
            place
        });
        let link = &mut self.links[place];
        let repeated = link.main == main && link.hello.as_ref().is_some_and(|old| Arc::ptr_eq(old, hello));
        if !repeated {
            let (mention, selects) = links::mentions(hello, self.radios[radio].address, &self.own);
            (link.listed_as, link.selects) = (mention.map(|it| it.link), selects);
            link.quality_there = mention.map_or(0, |it| it.quality.0);
            link.main = main;
        }
        link.hello_interval = message::of_code(hello.htime);
        // A HELLO may come later than announced by what jitter adds.
        link.hello_due = now + link.hello_interval.mul_f64(1.5);
        link.heard_until = now + validity;
        match link.listed_as {
            Some(message::LinkType::Lost) => link.symmetric_until = Time::ZERO,
            Some(_) => {
                link.symmetric_until = now + validity;
                link.until = link.symmetric_until + self.params.neighbour_hold();
            }
            None => {}
        }
        link.until = link.until.max(link.heard_until);
        let selects = link.selects;
        let known = self.neighbour_place(main);
        let at = known.unwrap_or_else(|at| {
            self.neighbours.insert(at, Neighbour::new(main));
            at
        });
        if known.is_err() {
            // The link may have been that of another neighbour until now.
            self.links[place].was_symmetric = false;
        }
        if std::mem::replace(&mut self.neighbours[at].willingness, hello.willingness) != hello.willingness {
            self.relays_doubtful = true;
            self.invalidate(now);
        }
        self.link_changed(place, now);
        if let Ok(at) = self.neighbour_place(main)
            && self.neighbours[at].symmetric
        {
            self.hear_neighbours(at, hello, repeated, now + validity, now);
            if selects {
                let new = self.neighbours[at].selector_until <= now;
                self.neighbours[at].selector_until = now + validity;
                self.chosen.push((main, now + validity));
                if new {
                    self.selectors_changed(false, now);
                }
            }
            // A HELLO without the selection does not end it (§8.4.1): two relays overlap until MS_time.
        }
        self.links[place].hello = Some(Arc::clone(hello));
    }

    /// The 2-hop tuples of a symmetric neighbour (§8.2.1).
    fn hear_neighbours(&mut self, at: usize, hello: &Hello, repeated: bool, until: Time, now: Time) {
        let it = &mut self.neighbours[at];
        let expired = it.reaches_until <= now;
        it.reaches_until = until;
        self.next_change = self.next_change.min(until);
        if repeated && !expired {
            return;
        }
        let mut reaches = std::mem::take(&mut self.reached);
        reaches.clear();
        reaches.reserve(hello.listed.len());
        reaches.extend(
            links::reached(hello, self.params.metric)
                .map(|(address, cost)| (self.interfaces.main(address), cost))
                .filter(|it| it.0 != self.main),
        );
        if !self.interfaces.is_empty() || !reaches.is_sorted_by_key(|it| it.0) {
            reaches.sort_unstable();
            reaches.dedup_by_key(|it| it.0);
        }
        if self.neighbours[at].reaches == reaches {
            self.reached = reaches;
        } else {
            self.set_reaches(at, reaches, now);
        }
    }

    /// Replaces the 2-hop tuples of a neighbour by other ones.
    fn set_reaches(&mut self, at: usize, reaches: Vec<(Address, u32)>, now: Time) {
        let it = &mut self.neighbours[at];
        self.relays_doubtful = true;
        let main = it.main;
        // The next list is put where the former one was.
        self.reached = std::mem::replace(&mut it.reaches, reaches);
        if self.params.metric == Metric::Etx || !self.tree.is_valid() {
            return self.invalidate(now);
        }
        let it = &self.neighbours[at];
        if it.willingness == WILL_NEVER {
            return;
        }
        let graph = Known { neighbours: &self.neighbours, topology: &self.topology, metric: self.params.metric };
        if edges_changed(&mut self.tree, &graph, main, (&self.reached, &it.reaches), |it| it.0) {
            self.routes_changed(now);
        }
    }

    /// A TC has come (§9.5).
    pub fn hear_tc(&mut self, last: Address, tc: &Arc<Tc>, until: Time, now: Time) {
        let (change, old) = self.topology.hear(last, tc, until);
        if change == Change::Replaced {
            self.topology_changed(last, old.as_deref(), Some(tc), now);
        }
    }

    fn topology_changed(&mut self, last: Address, old: Option<&Tc>, new: Option<&Tc>, now: Time) {
        if self.params.metric == Metric::Etx || !self.tree.is_valid() {
            return self.invalidate(now);
        }
        // What neighbours advertise is not used: their HELLO messages say it (§10, step 3 begins with h = 2).
        if self.neighbour(last).is_some_and(|it| it.symmetric) {
            return;
        }
        fn of(tc: Option<&Tc>) -> &[Address] {
            tc.map_or(&[], |tc| &tc.advertised)
        }
        let graph = Known { neighbours: &self.neighbours, topology: &self.topology, metric: self.params.metric };
        if edges_changed(&mut self.tree, &graph, last, (of(old), of(new)), |&it| it) {
            self.routes_changed(now);
        }
    }

    /// A MID has come (§5.4).
    pub fn hear_mid(&mut self, main: Address, interfaces: &[Address], until: Time, now: Time) {
        if self.interfaces.hear(main, interfaces, until) {
            self.interfaces_changed(now);
        }
    }

    /// The main addresses of 2-hop neighbours may have changed.
    fn interfaces_changed(&mut self, now: Time) {
        for it in &mut self.neighbours {
            for reached in &mut it.reaches {
                reached.0 = self.interfaces.main(reached.0);
            }
            it.reaches.retain(|reached| reached.0 != self.main);
            it.reaches.sort_unstable();
            it.reaches.dedup_by_key(|reached| reached.0);
        }
        // The next HELLO of each neighbour is read again.
        for link in &mut self.links {
            link.hello = None;
        }
        self.relays_doubtful = true;
        self.invalidate(now);
    }

    /// An HNA has come (§12.5).
    pub fn hear_hna(&mut self, gateway: Address, networks: &[Prefix], until: Time, now: Time) {
        self.gateways.hear(gateway, networks, until);
        self.routes_changed(now);
    }

    /// Removes what has expired.
    pub fn expire(&mut self, now: Time) {
        if self.next_change <= now {
            self.expire_links(now);
        }
        if self.topology.next_expiry <= now {
            for (last, old) in self.topology.expire(now) {
                self.topology_changed(last, Some(&old), None, now);
            }
        }
        if self.interfaces.next_expiry <= now && self.interfaces.expire(now) {
            self.interfaces_changed(now);
        }
        if self.gateways.next_expiry <= now && self.gateways.expire(now) {
            self.routes_changed(now);
        }
    }

    fn expire_links(&mut self, now: Time) {
        self.next_change = Time::NEVER;
        let watches = self.watches_links();
        let mut place = 0;
        while place < self.links.len() {
            let link = &mut self.links[place];
            if watches && link.hello_due <= now {
                link.missing_hello(now, &self.params);
            }
            if link.until <= now {
                let link = self.links.remove(place);
                self.neighbour_changed(link.main, now);
            } else {
                self.link_changed(place, now);
                place += 1;
            }
        }
        for at in 0..self.neighbours.len() {
            let it = &self.neighbours[at];
            if it.reaches_until > now {
                self.next_change = self.next_change.min(it.reaches_until);
            } else if !it.reaches.is_empty() {
                self.set_reaches(at, Vec::new(), now);
            }
            let until = self.neighbours[at].selector_until;
            if until > now {
                self.next_change = self.next_change.min(until);
            } else if until > Time::ZERO {
                // The link still works: those that do not have ended the selection above (§8.5).
                self.neighbours[at].selector_until = Time::ZERO;
                self.selectors_changed(false, now);
            }
        }
    }

    /// The link layer says that a link is broken (§13).
    pub fn link_broken(&mut self, address: Address, now: Time) {
        if let Ok(place) = self.link(address) {
            let until = now + self.params.neighbour_hold();
            (self.links[place].lost_until, self.links[place].until) = (until, until);
            self.link_changed(place, now);
        }
    }

    /// Chooses the relays, if their choice is doubtful: the relays of each interface, together (§8.3).
    pub fn choose_relays(&mut self, now: Time) {
        if !std::mem::replace(&mut self.relays_doubtful, false) {
            return;
        }
        let count = self.neighbours.len();
        let mut relay = vec![false; count];
        let mut symmetric = Vec::with_capacity(count);
        symmetric.extend(self.neighbours.iter().filter(|it| it.symmetric).map(|it| it.main));
        let (mut places, mut candidates) = (Vec::with_capacity(count), Vec::with_capacity(count));
        for radio in 0..self.radios.len() {
            let linked = |it: &Neighbour| {
                let mut links = self.links.iter();
                links.any(|link| link.main == it.main && link.radio == radio && link.is_symmetric(now))
            };
            places.clear();
            candidates.clear();
            for (at, it) in self.neighbours.iter().enumerate() {
                if it.symmetric && (self.radios.len() == 1 || linked(it)) {
                    places.push(at);
                    candidates.push(Candidate { willingness: it.willingness, reaches: &it.reaches });
                }
            }
            let chosen = mpr::select(&candidates, &symmetric, u32::from(self.params.mpr_coverage));
            for (&at, chosen) in places.iter().zip(chosen) {
                relay[at] |= chosen;
            }
        }
        for (it, relay) in self.neighbours.iter_mut().zip(relay) {
            it.relay = relay;
        }
    }

    /// Whether neither relays nor routes have to be computed again.
    #[cfg(test)]
    pub fn is_settled(&self) -> bool {
        !self.relays_doubtful && self.tree.is_valid()
    }
}
