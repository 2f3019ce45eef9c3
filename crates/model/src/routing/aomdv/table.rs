//! The entries of AOMDV's table for each destination: a list of paths, and the rule by which a path may enter it.

use hopyard_engine::Time;

use crate::address::Address;
use crate::routing::common::newer;
use crate::routing::common::on_demand::{self, INFINITY};

/// A path to a destination.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Path {
    /// The neighbour to which packets go.
    pub next_hop: Address,
    /// The neighbour of the destination through which the path leads; this node itself where the path has one hop.
    pub last_hop: Address,
    /// Hops to the destination.
    pub hops: u8,
    /// When the path expires.
    pub expires: Time,
}

/// The fate of a path that a neighbour advertised.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Learned {
    /// It is in the list now.
    Added,
    /// It was in the list, and lives on.
    Refreshed,
    /// Another path of the list has its next hop or its last hop: the two would share a link.
    Overlaps,
    /// It is disjoint from the others, but the list is full.
    Full,
    /// It is disjoint from the others, but too much longer than the shortest.
    TooLong,
    /// It has an older sequence number, or it could contain a loop: its advertiser is not nearer to the destination
    /// than this node has said to be itself.
    Refused,
}

impl Learned {
    /// Whether the path is in the list.
    #[must_use]
    pub const fn is_known(self) -> bool {
        matches!(self, Self::Added | Self::Refreshed)
    }

    /// Whether the path could be used, if not beside the others: it has no loop, and is not much longer.
    #[must_use]
    pub const fn is_acceptable(self) -> bool {
        !matches!(self, Self::TooLong | Self::Refused)
    }
}

/// The limits of a list.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Most paths to a destination.
    pub paths: usize,
    /// By how many hops a path may be longer than the shortest one.
    pub difference: u8,
}

/// The state of a destination.
#[derive(Clone, Debug)]
pub struct Entry {
    /// The destination.
    pub destination: Address,
    /// Its sequence number.
    pub sequence: u32,
    /// The highest number of it in a route error, which is taken over when the last path is lost.
    pub highest_heard: u32,
    /// Whether a sequence number is known. Paths with an older number are then refused.
    pub known_sequence: bool,
    /// Whether the paths were advertised with the sequence number. If the destination is a neighbour that was only
    /// heard (RFC 3561 §6.5), the number is a lower bound. This node then uses the path, and does not offer it to
    /// others.
    pub numbered: bool,
    /// The hop count that this node tells its neighbours: the hop count of its longest path when it first tells one. It
    /// stays until there is a newer sequence number. [`INFINITY`] before that.
    pub advertised: u8,
    /// Hops of the longest path that was known last.
    pub last_hops: u8,
    /// TTL of the last request (ns-2).
    pub last_ttl: u8,
    /// Whether data go this way, so that changes are announced.
    pub used: bool,
    /// Whether other nodes may use this route, so that they must be told when it is lost.
    pub shared: bool,
    /// Which path takes the next packet, if the paths take turns.
    turn: u8,
    /// When the entry is forgotten, if it has no path.
    pub forget: Time,
    /// The paths, oldest first.
    pub paths: Vec<Path>,
}

impl on_demand::Entry for Entry {
    fn new(destination: Address) -> Self {
        Self {
            destination,
            sequence: 0,
            highest_heard: 0,
            known_sequence: false,
            numbered: false,
            advertised: INFINITY,
            last_hops: INFINITY,
            last_ttl: 0,
            used: false,
            shared: false,
            turn: 0,
            forget: Time::NEVER,
            paths: Vec::new(),
        }
    }

    #[inline]
    fn destination(&self) -> Address {
        self.destination
    }

    #[inline]
    fn is_up(&self) -> bool {
        !self.paths.is_empty()
    }

    /// The hops of the path that is used first.
    fn route(&self) -> Option<(Address, u8)> {
        self.paths.first().map(|path| (path.next_hop, path.hops))
    }
}

impl Entry {
    /// The hop count to tell a neighbour; from now on it stays the same.
    pub fn advertise(&mut self) -> u8 {
        if self.advertised == INFINITY {
            self.advertised = self.longest();
        }
        self.advertised
    }

    fn longest(&self) -> u8 {
        self.paths.iter().map(|path| path.hops).max().unwrap_or(INFINITY)
    }

    /// The route update rule: a neighbour, `path.next_hop`, advertises a route with this sequence number.
    ///
    /// With a newer number the list begins anew; a neighbour that was only heard stays where it is, one hop away. With
    /// the same number the path must come from a node that advertises fewer hops than this one. The pairs (sequence
    /// number, advertised hops) then decrease strictly along every path, so that no path contains a loop. Paths with
    /// different next hops and different last hops share no link, because each node in between forwards only one copy
    /// of a request.
    pub fn learn(&mut self, sequence: u32, path: Path, limits: Limits) -> Learned {
        let news = !self.known_sequence || newer(sequence, self.sequence);
        if news {
            (self.sequence, self.known_sequence, self.advertised) = (sequence, true, INFINITY);
            let heard = !std::mem::replace(&mut self.numbered, false);
            self.paths.retain(|known| heard && known.next_hop == self.destination);
        } else if sequence != self.sequence || self.advertised < path.hops {
            return Learned::Refused;
        }
        let same = |known: &&mut Path| known.next_hop == path.next_hop && known.last_hop == path.last_hop;
        if let Some(known) = self.paths.iter_mut().find(same) {
            known.expires = known.expires.max(path.expires);
            self.numbered = true;
            return if news { Learned::Added } else { Learned::Refreshed };
        }
        if self.paths.iter().any(|known| known.next_hop == path.next_hop || known.last_hop == path.last_hop) {
            return Learned::Overlaps;
        }
        let shortest = self.paths.iter().map(|known| known.hops).min().unwrap_or(path.hops);
        if path.hops.saturating_sub(shortest) > limits.difference {
            return Learned::TooLong;
        }
        if self.paths.len() >= limits.paths {
            return Learned::Full;
        }
        self.numbered = true;
        self.paths.push(path);
        self.last_hops = self.longest();
        Learned::Added
    }

    /// The destination itself was heard (RFC 3561 §6.5, first paragraph). It is one hop away, which no loop can make
    /// wrong. Its path takes the place of the longest path if the list is full.
    pub fn meet(&mut self, path: Path, limits: Limits) {
        if let Some(known) = self.paths.iter_mut().find(|known| known.next_hop == path.next_hop) {
            known.expires = known.expires.max(path.expires);
            return;
        }
        self.numbered &= !self.paths.is_empty();
        if self.paths.len() >= limits.paths
            && let Some((longest, _)) = self.paths.iter().enumerate().max_by_key(|(_, known)| known.hops)
        {
            self.paths.remove(longest);
        }
        self.paths.push(path);
        self.last_hops = self.longest();
    }

    /// The path for the next packet: the first one, or each in turn.
    #[inline]
    pub fn choose(&mut self, in_turn: bool) -> Option<&mut Path> {
        let place = if in_turn && self.paths.len() > 1 {
            self.turn = self.turn.wrapping_add(1);
            usize::from(self.turn) % self.paths.len()
        } else {
            0
        };
        self.paths.get_mut(place)
    }

    /// No path is left. The destination's number is raised, so that nodes whose paths lead through this one cannot
    /// offer them (RFC 3561 §6.11). A path with the new number may have any length.
    pub fn go_down(&mut self, sequence: u32, forget: Time) {
        self.sequence = if newer(self.highest_heard, sequence) { self.highest_heard } else { sequence };
        self.advertised = INFINITY;
        self.forget = forget;
    }

    /// The number of the route when it has lost its last path.
    #[must_use]
    pub fn raised(&self) -> u32 {
        self.sequence.wrapping_add(u32::from(self.known_sequence && self.numbered))
    }

    /// When the first of its paths expires, or, without paths, when it is forgotten.
    #[must_use]
    pub fn next_change(&self) -> Time {
        self.paths.iter().map(|path| path.expires).min().unwrap_or(self.forget)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::routing::common::on_demand::Entry as _;

    const LIMITS: Limits = Limits { paths: 3, difference: 1 };

    fn path(next_hop: u32, last_hop: u32, hops: u8) -> Path {
        Path { next_hop: Address(next_hop), last_hop: Address(last_hop), hops, expires: Time::from_nanos(5) }
    }

    #[test]
    fn the_advertised_hop_count_is_that_of_the_longest_path_and_stays() {
        let mut entry = Entry::new(Address(9));
        assert_eq!(entry.learn(2, path(1, 11, 3), LIMITS), Learned::Added);
        assert_eq!(entry.learn(2, path(2, 12, 4), LIMITS), Learned::Added);
        assert_eq!(entry.advertise(), 4);
        assert_eq!(
            entry.learn(2, path(3, 13, 5), LIMITS),
            Learned::Refused,
            "its advertiser is 4 hops away, as this one"
        );
        assert_eq!(entry.learn(2, path(3, 13, 4), LIMITS), Learned::Added);
        entry.paths.retain(|path| path.hops == 3);
        assert_eq!(entry.advertise(), 4, "although the longer paths are gone");
        assert_eq!(entry.learn(3, path(4, 14, 9), LIMITS), Learned::Added);
        assert_eq!((entry.paths.len(), entry.advertise()), (1, 9), "a newer number begins anew");
        assert_eq!(entry.learn(2, path(5, 15, 1), LIMITS), Learned::Refused, "an older one");
    }

    #[test]
    fn next_hops_and_last_hops_are_unique() {
        let mut entry = Entry::new(Address(9));
        entry.learn(2, path(1, 11, 3), LIMITS);
        assert_eq!(entry.learn(2, path(1, 12, 3), LIMITS), Learned::Overlaps, "the first link would be shared");
        assert_eq!(entry.learn(2, path(2, 11, 3), LIMITS), Learned::Overlaps, "the last link would be shared");
        let later = Path { expires: Time::from_nanos(8), ..path(1, 11, 3) };
        assert_eq!(entry.learn(2, later, LIMITS), Learned::Refreshed);
        assert_eq!(entry.paths, [later]);
    }

    #[test]
    fn paths_are_few_and_of_similar_length() {
        let mut entry = Entry::new(Address(9));
        entry.learn(2, path(1, 11, 3), LIMITS);
        assert_eq!(entry.learn(2, path(2, 12, 5), LIMITS), Learned::TooLong);
        assert_eq!(entry.learn(2, path(2, 12, 4), LIMITS), Learned::Added);
        assert_eq!(entry.learn(2, path(3, 13, 3), LIMITS), Learned::Added);
        assert_eq!(entry.learn(2, path(4, 14, 3), LIMITS), Learned::Full);
        assert_eq!(entry.learn(2, path(4, 14, 6), LIMITS), Learned::TooLong, "said before that the list is full");
    }

    #[test]
    fn a_neighbour_that_was_only_heard_has_a_path_and_no_number() {
        // This node is 0, the destination 9.
        let mut entry = Entry::new(Address(9));
        entry.meet(path(9, 0, 1), LIMITS);
        assert_eq!((entry.paths.len(), entry.numbered, entry.raised()), (1, false, 0));
        let later = Path { expires: Time::from_nanos(8), ..path(9, 0, 1) };
        entry.meet(later, LIMITS);
        assert_eq!(entry.paths, [later]);
        // A number that another node knows is that of its path; the neighbour stays where it was heard.
        assert_eq!(entry.learn(4, path(2, 12, 2), LIMITS), Learned::Added);
        assert_eq!((&entry.paths[..], entry.numbered), (&[later, path(2, 12, 2)][..], true));
        // Its own number makes the path one with a number, and no second one.
        let mut entry = Entry::new(Address(9));
        entry.meet(path(9, 0, 1), LIMITS);
        assert_eq!(entry.learn(4, path(9, 0, 1), LIMITS), Learned::Added);
        assert_eq!((entry.paths.len(), entry.numbered, entry.raised()), (1, true, 5));
        // A path without a number gives none to be raised: nobody was offered it.
        entry.paths.clear();
        entry.go_down(5, Time::NEVER);
        entry.meet(path(9, 0, 1), LIMITS);
        assert_eq!((entry.numbered, entry.raised()), (false, 5));
    }

    #[test]
    fn a_neighbour_takes_the_place_of_the_longest_path() {
        let mut entry = Entry::new(Address(9));
        for (place, hops) in [(1, 3), (2, 4), (3, 3)] {
            assert_eq!(entry.learn(2, path(place, 10 + place, hops), LIMITS), Learned::Added);
        }
        entry.meet(path(9, 0, 1), LIMITS);
        assert_eq!(entry.paths, [path(1, 11, 3), path(3, 13, 3), path(9, 0, 1)]);
        assert!(entry.numbered, "the others have it");
    }

    #[test]
    fn paths_may_take_turns() {
        let mut entry = Entry::new(Address(9));
        entry.learn(2, path(1, 11, 3), LIMITS);
        entry.learn(2, path(2, 12, 3), LIMITS);
        let mut next = |in_turn| entry.choose(in_turn).map(|path| path.next_hop.0);
        assert_eq!([next(false), next(false)], [Some(1), Some(1)]);
        assert_eq!([next(true), next(true), next(true)], [Some(2), Some(1), Some(2)]);
    }
}
