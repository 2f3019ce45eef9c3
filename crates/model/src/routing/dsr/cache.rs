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
                let store = |size: u16| Store { size: size.into(), paths: Vec::new(), victim: 0 };
                let [primary, secondary] = [store(params.primary_paths), store(params.secondary_paths)];
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

/// A part of a path cache. Its places keep their order, and when all are taken, they are used again one after the
/// other.
#[derive(Debug)]
struct Store {
    size: usize,
    paths: Vec<Path>,
    victim: usize,
}

impl Store {
    fn add(&mut self, path: &[Address], expires: Time) {
        for known in &mut self.paths {
            // Most paths begin with another hop.
            if known.hops.first().is_some_and(|&first| first != path[0]) {
                continue;
            }
            let common = known.hops.iter().zip(path).take_while(|(a, b)| a == b).count();
            if common == known.hops.len() || common == path.len() {
                known.hops.extend_from_slice(&path[common..]);
                known.expires = expires;
                return;
            }
        }
        let added = Path { hops: path.to_vec(), expires };
        if self.paths.len() < self.size {
            self.paths.push(added);
        } else {
            self.paths[self.victim] = added;
            self.victim = (self.victim + 1) % self.size;
        }
    }

    fn has(&self, destination: Address, now: Time) -> bool {
        self.paths.iter().any(|path| path.hops.contains(&destination) && path.expires > now)
    }

    /// The place and the shortest path to a destination; of several, the first.
    fn best(&self, destination: Address, now: Time) -> Option<(usize, &[Address])> {
        let mut best: Option<(usize, &[Address])> = None;
        for (place, path) in self.paths.iter().enumerate() {
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
        for path in &mut self.paths {
            let before = |place: usize| place.checked_sub(1).map_or(own, |before| path.hops[before]);
            let cut = (0..path.hops.len()).find(|&place| path.hops[place] == to && before(place) == from);
            if let Some(cut) = cut {
                path.hops.truncate(cut);
            }
        }
    }
}

/// A path cache: one part for the routes that the node wants to keep, one for those that it came to know.
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
                let whole = std::mem::take(&mut self.secondary.paths[place].hops);
                self.primary.add(&whole, expires);
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
