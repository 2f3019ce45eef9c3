//! The route cache (RFC 4728 §4.1): whole paths, or links from which paths are computed.
//!
//! A path is the hops after the node itself, the destination last.

use std::collections::{BTreeMap, VecDeque};

use hopyard_engine::{Span, Time};

use super::params::{CacheKind, LinkLifetime, Params};
use crate::address::Address;

/// How a path came to be known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// The node asked for it, or uses it.
    Asked,
    /// It was in a packet that the node forwarded or overheard.
    Noticed,
}

/// A route cache. No route in it has more hops than a source route may have (`route_hops`).
#[derive(Debug)]
pub enum Cache {
    /// Whole paths.
    Path(PathCache),
    /// Links.
    Link(LinkCache),
}

impl Cache {
    /// An empty cache of the node with this address.
    #[must_use]
    pub fn new(params: &Params, own: Address) -> Self {
        let timeout = if params.route_cache_timeout.is_zero() { Span::MAX } else { params.route_cache_timeout };
        match params.cache {
            CacheKind::Path => {
                let [primary, secondary] =
                    [params.primary_paths, params.secondary_paths].map(|size| Store::new(size.into()));
                Self::Path(PathCache { own, most: params.route_hops.into(), timeout, primary, secondary })
            }
            CacheKind::Link => Self::Link(LinkCache {
                own,
                most: params.route_hops.into(),
                timeout,
                by_stability: params.link_lifetime == LinkLifetime::Stability,
                links: BTreeMap::new(),
                stability: BTreeMap::new(),
            }),
        }
    }

    /// Adds a path.
    pub fn add(&mut self, path: &[Address], source: Source, now: Time) {
        if path.is_empty() {
            return;
        }
        match self {
            Self::Path(it) => {
                let (expires, most) = (it.expires(now), it.most);
                it.store(source).add(&path[..path.len().min(most)], expires);
            }
            Self::Link(it) => it.add(path, now),
        }
    }

    /// The shortest path to a destination.
    #[must_use]
    pub fn find(&self, destination: Address, now: Time) -> Option<Vec<Address>> {
        match self {
            Self::Path(it) => it.best(destination, now).map(|(_, _, path)| path.to_vec()),
            Self::Link(it) => it.find(destination, now),
        }
    }

    /// Whether there is a path to a destination.
    #[must_use]
    pub fn has(&self, destination: Address, now: Time) -> bool {
        match self {
            Self::Path(it) => [&it.primary, &it.secondary].iter().any(|store| store.has(destination, now)),
            Self::Link(it) => it.find(destination, now).is_some(),
        }
    }

    /// The shortest path to a destination, which the node is about to use.
    pub fn take(&mut self, destination: Address, now: Time) -> Option<Vec<Address>> {
        match self {
            Self::Path(it) => it.take(destination, now),
            Self::Link(it) => {
                let path = it.find(destination, now)?;
                it.used(&path, now);
                Some(path)
            }
        }
    }

    /// The link between two nodes, in this direction, does not work.
    pub fn remove_link(&mut self, from: Address, to: Address) {
        match self {
            Self::Path(it) => {
                let own = it.own;
                for store in [&mut it.primary, &mut it.secondary] {
                    store.remove_link(own, from, to);
                }
            }
            Self::Link(it) => it.remove_link(from, to),
        }
    }
}

/// A path with the time at which it is forgotten. An empty one is a free place.
#[derive(Clone, Debug)]
struct Path {
    hops: Vec<Address>,
    expires: Time,
}

/// How many sets of places an index has for nodes.
const ROWS: usize = 64;
/// The set of the places that are free.
const FREE: usize = ROWS;

/// Which places of a store have a node in their path, so that not every path must be searched. Nodes whose addresses
/// have the same remainder share a set: a place in it may lack the node.
#[derive(Debug)]
struct Index {
    /// Words of each set.
    words: usize,
    /// The sets one after the other, a bit for each place.
    bits: Vec<u64>,
}

impl Index {
    fn row(&self, row: usize) -> impl Iterator<Item = u64> + '_ {
        self.bits[row * self.words..][..self.words].iter().copied()
    }

    const fn of(node: Address) -> usize {
        node.0 as usize % ROWS
    }

    /// The places in a set, in order.
    fn places(words: impl Iterator<Item = u64>) -> impl Iterator<Item = usize> {
        words.enumerate().flat_map(|(word, mut bits)| {
            std::iter::from_fn(move || {
                let place = bits.trailing_zeros();
                bits &= bits.wrapping_sub(1);
                (place < u64::BITS).then(|| word * u64::BITS as usize + place as usize)
            })
        })
    }

    /// The places that may have this node.
    fn having(&self, node: Address) -> impl Iterator<Item = usize> + '_ {
        Self::places(self.row(Self::of(node)))
    }

    /// The places that may have both nodes.
    fn having_both(&self, a: Address, b: Address) -> impl Iterator<Item = usize> + '_ {
        Self::places(self.row(Self::of(a)).zip(self.row(Self::of(b))).map(|(a, b)| a & b))
    }

    /// The places that may have this node, and the free places.
    fn having_or_free(&self, node: Address) -> impl Iterator<Item = usize> + '_ {
        Self::places(self.row(Self::of(node)).zip(self.row(FREE)).map(|(a, b)| a | b))
    }

    /// The sets in which a place with this path is.
    fn rows(path: &[Address]) -> impl Iterator<Item = usize> + '_ {
        path.iter().map(|&hop| Self::of(hop)).chain(path.is_empty().then_some(FREE))
    }

    /// The path of a place changes.
    fn change(&mut self, place: usize, before: &[Address], after: &[Address]) {
        let (word, bit) = (place / u64::BITS as usize, 1 << (place % u64::BITS as usize));
        for row in Self::rows(before) {
            self.bits[row * self.words + word] &= !bit;
        }
        for row in Self::rows(after) {
            self.bits[row * self.words + word] |= bit;
        }
    }
}

/// A part of a path cache. Its places keep their order, and when all are taken, they are used again one after the
/// other.
#[derive(Debug)]
struct Store {
    size: usize,
    paths: Vec<Path>,
    index: Index,
    victim: usize,
}

impl Store {
    fn new(size: usize) -> Self {
        let words = size.div_ceil(u64::BITS as usize);
        let index = Index { words, bits: vec![0; (ROWS + 1) * words] };
        Self { size, paths: Vec::new(), index, victim: 0 }
    }

    fn add(&mut self, path: &[Address], expires: Time) {
        let place = self.index.having_or_free(path[0]).find(|&place| {
            let known = &self.paths[place].hops;
            known.starts_with(path) || path.starts_with(known)
        });
        let place = place.unwrap_or_else(|| {
            if self.paths.len() < self.size {
                self.paths.push(Path { hops: Vec::new(), expires });
                return self.paths.len() - 1;
            }
            let victim = self.victim;
            self.victim = (victim + 1) % self.size;
            victim
        });
        let known = &mut self.paths[place];
        known.expires = expires;
        // A longer path that begins with this one stays.
        if !known.hops.starts_with(path) {
            self.index.change(place, &known.hops, path);
            path.clone_into(&mut known.hops);
        }
    }

    fn has(&self, destination: Address, now: Time) -> bool {
        let mut paths = self.index.having(destination).map(|place| &self.paths[place]);
        paths.any(|path| path.hops.contains(&destination) && path.expires > now)
    }

    /// The place and the shortest path to a destination; of several, the first.
    fn best(&self, destination: Address, now: Time) -> Option<(usize, &[Address])> {
        let mut best: Option<(usize, &[Address])> = None;
        for place in self.index.having(destination) {
            let path = &self.paths[place];
            let most = best.map_or(path.hops.len(), |(_, best)| best.len() - 1).min(path.hops.len());
            if let Some(at) = path.hops[..most].iter().position(|&hop| hop == destination)
                && path.expires > now
            {
                best = Some((place, &path.hops[..=at]));
            }
        }
        best
    }

    fn remove_link(&mut self, own: Address, from: Address, to: Address) {
        let other = if from == own { to } else { from };
        let cut = |place: usize| {
            let hops = &self.paths[place].hops;
            let before = |hop: usize| hop.checked_sub(1).map_or(own, |before| hops[before]);
            (0..hops.len()).find(|&hop| hops[hop] == to && before(hop) == from).map(|hop| (place, hop))
        };
        let cuts: Vec<(usize, usize)> = self.index.having_both(to, other).filter_map(cut).collect();
        for (place, hop) in cuts {
            self.cut(place, hop);
        }
    }

    /// Forgets the hops of a path from this one on.
    fn cut(&mut self, place: usize, hop: usize) {
        let hops = &mut self.paths[place].hops;
        self.index.change(place, hops, &hops[..hop]);
        hops.truncate(hop);
    }
}

/// A path cache: one part for the routes that the node wants to keep, one for the routes that it came to know.
#[derive(Debug)]
pub struct PathCache {
    own: Address,
    /// Most hops of a path.
    most: usize,
    timeout: Span,
    primary: Store,
    secondary: Store,
}

impl PathCache {
    fn expires(&self, now: Time) -> Time {
        if self.timeout == Span::MAX { Time::NEVER } else { now + self.timeout }
    }

    const fn store(&mut self, source: Source) -> &mut Store {
        match source {
            Source::Asked => &mut self.primary,
            Source::Noticed => &mut self.secondary,
        }
    }

    /// A path of the second part is taken only if it is shorter.
    fn best(&self, destination: Address, now: Time) -> Option<(Source, usize, &[Address])> {
        let primary = self.primary.best(destination, now);
        let secondary = self.secondary.best(destination, now);
        match (primary, secondary) {
            (Some((place, path)), Some((_, other))) if path.len() <= other.len() => Some((Source::Asked, place, path)),
            (_, Some((place, path))) => Some((Source::Noticed, place, path)),
            (Some((place, path)), None) => Some((Source::Asked, place, path)),
            (None, None) => None,
        }
    }

    fn take(&mut self, destination: Address, now: Time) -> Option<Vec<Address>> {
        let (source, place, path) = self.best(destination, now)?;
        let path = path.to_vec();
        let expires = self.expires(now);
        match source {
            Source::Asked => self.primary.paths[place].expires = expires,
            Source::Noticed => {
                // The whole path moves, with what is behind the destination.
                self.primary.add(&self.secondary.paths[place].hops, expires);
                self.secondary.cut(place, 0);
            }
        }
        Some(path)
    }
}

/// The first stability of a node (RFC 4728 §9: InitStability).
const INITIAL_STABILITY: Span = Span::from_secs(25);
/// The least lifetime of a link (MinLifetime).
const LEAST_LIFETIME: Span = Span::from_secs(1);
/// The lifetime that use gives a link at least (UseExtends).
const USE_EXTENDS: Span = Span::from_secs(120);
/// By what the stability of a node grows when one of its links is used (StabilityIncrFactor).
const STABILITY_GROWS: u64 = 4;
/// By what it shrinks when one breaks (StabilityDecrFactor).
const STABILITY_SHRINKS: u64 = 2;
/// No stability grows beyond this.
const MOST_STABILITY: Span = Span::from_secs(3600);

/// A link cache: a path is computed over the links that are known, with the fewest hops.
#[derive(Debug)]
pub struct LinkCache {
    own: Address,
    /// Most hops of a path.
    most: usize,
    timeout: Span,
    by_stability: bool,
    /// From each node: where its links lead, and when each is forgotten.
    links: BTreeMap<Address, Vec<(Address, Time)>>,
    /// How long the links of a node may be expected to last.
    stability: BTreeMap<Address, Span>,
}

impl LinkCache {
    fn lifetime(&self, from: Address, to: Address) -> Span {
        if !self.by_stability {
            return self.timeout;
        }
        let of = |node| self.stability.get(&node).copied().unwrap_or(INITIAL_STABILITY);
        of(from).min(of(to)).max(LEAST_LIFETIME)
    }

    fn add(&mut self, path: &[Address], now: Time) {
        let mut from = self.own;
        for &to in path {
            let lifetime = self.lifetime(from, to);
            let expires = if lifetime == Span::MAX { Time::NEVER } else { now + lifetime };
            let links = self.links.entry(from).or_default();
            match links.iter_mut().find(|(known, _)| *known == to) {
                Some((_, until)) => *until = expires.max(*until),
                None => links.push((to, expires)),
            }
            from = to;
        }
    }

    /// The node uses a path: its links prove stable (RFC 4728 §4.1).
    fn used(&mut self, path: &[Address], now: Time) {
        let mut from = self.own;
        for &to in path {
            let Some((_, until)) =
                self.links.get_mut(&from).and_then(|links| links.iter_mut().find(|(known, _)| *known == to))
            else {
                return;
            };
            if !self.by_stability {
                *until = if self.timeout == Span::MAX { Time::NEVER } else { now + self.timeout };
            } else if until.since(now) < USE_EXTENDS {
                *until = now + USE_EXTENDS;
                for node in [from, to] {
                    let stability = self.stability.entry(node).or_insert(INITIAL_STABILITY);
                    *stability = (*stability * STABILITY_GROWS).min(MOST_STABILITY);
                }
            }
            from = to;
        }
    }

    fn remove_link(&mut self, from: Address, to: Address) {
        let Some(links) = self.links.get_mut(&from) else { return };
        let known = links.len();
        links.retain(|&(other, _)| other != to);
        if self.by_stability && links.len() < known {
            for node in [from, to] {
                let stability = self.stability.entry(node).or_insert(INITIAL_STABILITY);
                *stability = (*stability / STABILITY_SHRINKS).max(LEAST_LIFETIME);
            }
        }
    }

    /// A search in breadth: of several shortest paths, the one over the links that were learned first.
    fn find(&self, destination: Address, now: Time) -> Option<Vec<Address>> {
        let mut before: BTreeMap<Address, Address> = BTreeMap::from([(self.own, self.own)]);
        let mut next = VecDeque::from([self.own]);
        // How many hops the nodes are away that are next, and how many of these there are.
        let (mut hops, mut ring) = (1, 1);
        while let Some(node) = next.pop_front() {
            if ring == 0 {
                (hops, ring) = (hops + 1, next.len() + 1);
            }
            ring -= 1;
            if hops > self.most {
                return None;
            }
            for &(to, until) in self.links.get(&node).into_iter().flatten() {
                if until <= now || before.contains_key(&to) {
                    continue;
                }
                before.insert(to, node);
                if to == destination {
                    let mut path = vec![to];
                    let mut at = node;
                    while at != self.own {
                        path.push(at);
                        at = before[&at];
                    }
                    path.reverse();
                    return Some(path);
                }
                next.push_back(to);
            }
        }
        None
    }
}

#[cfg(test)]
mod tests;
