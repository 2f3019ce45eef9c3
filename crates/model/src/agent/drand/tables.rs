//! What a node knows of its neighbours, one and two hops away, and of their slots.
//!
//! A neighbour is a node that is heard. Of each, the table has what it has last said of its own slot, and what it has
//! said of the nodes that it hears itself. Where several nodes speak of the slot of one, the latest round counts.
//! Nothing is forgotten between two calls of [`Tables::prune`], so that what the tables show changes only there and
//! with messages.

use hopyard_engine::{Span, Time};

use super::message::{Claim, Entry, Hello};
use crate::address::Address;

/// A node that is heard.
#[derive(Clone, Debug)]
pub struct Neighbour {
    address: Address,
    /// When its last message came.
    heard: Time,
    /// Until when its HELLOs say that it hears this node.
    symmetric_until: Time,
    claim: Claim,
    /// How many nodes without a slot it has told of.
    undecided: u16,
    /// The nodes that it hears, without this one; sorted.
    list: Vec<Entry>,
    /// The largest slot of it and its list.
    largest: Option<u16>,
    /// The round of its last release that this node has relayed.
    relayed: Option<u16>,
}

impl Neighbour {
    /// Its address.
    #[must_use]
    pub const fn address(&self) -> Address {
        self.address
    }

    /// What is known of its own slot.
    #[must_use]
    pub const fn claim(&self) -> Claim {
        self.claim
    }

    /// How many nodes without a slot it has told of.
    #[must_use]
    pub const fn undecided(&self) -> u16 {
        self.undecided
    }

    /// Whether it hears this node, and this node has heard it within a time.
    #[must_use]
    pub fn is_present(&self, now: Time, silence: Span) -> bool {
        self.symmetric_until > now && now.since(self.heard) < silence
    }

    /// Takes up a claim if it is newer, and says whether it is.
    fn merge_claim(&mut self, claim: Claim) -> bool {
        let is_newer = claim.is_newer(self.claim);
        if is_newer {
            self.claim = claim;
            self.sum_up();
        }
        is_newer
    }

    fn sum_up(&mut self) {
        self.largest = self.list.iter().map(|it| it.claim.slot).fold(self.claim.slot, Option::max);
    }
}

/// The tables of a node.
#[derive(Clone, Debug)]
pub struct Tables {
    node: Address,
    /// Sorted by address.
    neighbours: Vec<Neighbour>,
    /// The largest slot that HELLOs have told of, and when a node within two hops of its owner has vouched for it.
    told: Option<(u16, Time)>,
    /// Whether nodes or slots have changed since it was last asked.
    changed: bool,
}

impl Tables {
    /// Those of a node that has heard nothing.
    #[must_use]
    pub const fn new(node: Address) -> Self {
        Self { node, neighbours: Vec::new(), told: None, changed: false }
    }

    /// The nodes that are heard, sorted by address.
    #[must_use]
    pub fn neighbours(&self) -> &[Neighbour] {
        &self.neighbours
    }

    /// The neighbour with an address.
    #[must_use]
    pub fn neighbour(&self, address: Address) -> Option<&Neighbour> {
        self.place(address).ok().map(|place| &self.neighbours[place])
    }

    fn place(&self, address: Address) -> Result<usize, usize> {
        self.neighbours.binary_search_by_key(&address, |it| it.address)
    }

    /// A node has sent a message that says nothing of its own slot. It does not become a neighbour by that, because its
    /// round is unknown.
    pub fn refresh(&mut self, from: Address, now: Time) {
        if let Ok(place) = self.place(from) {
            self.neighbours[place].heard = now;
        }
    }

    /// A node has sent a message that says what slot it has.
    pub fn hear(&mut self, from: Address, claim: Claim, now: Time) {
        match self.place(from) {
            Ok(place) => {
                self.neighbours[place].heard = now;
                self.changed |= self.neighbours[place].merge_claim(claim);
            }
            Err(place) => {
                self.changed = true;
                let neighbour = Neighbour {
                    address: from,
                    heard: now,
                    symmetric_until: Time::ZERO,
                    claim,
                    undecided: 0,
                    list: Vec::new(),
                    largest: claim.slot,
                    relayed: None,
                };
                self.neighbours.insert(place, neighbour);
            }
        }
    }

    /// A node has sent a HELLO. A neighbour stays symmetric for `hold` after a HELLO that lists this node.
    pub fn hear_hello(&mut self, from: Address, hello: &Hello, now: Time, hold: Span, largest_hold: Span) {
        self.hear(from, hello.claim, now);
        let Ok(place) = self.place(from) else { return };
        let (node, it) = (self.node, &mut self.neighbours[place]);
        it.undecided = hello.undecided;
        // A HELLO lists all nodes that its sender hears. One without this node ends the symmetry at once.
        let is_listed = hello.neighbours.binary_search_by_key(&node, |entry| entry.node).is_ok();
        it.symmetric_until = if is_listed { now + hold } else { Time::ZERO };
        let mut list: Vec<Entry> = hello.neighbours.iter().filter(|entry| entry.node != node).copied().collect();
        if list != it.list {
            let mut known = it.list.iter().peekable();
            for entry in &mut list {
                while known.next_if(|it| it.node < entry.node).is_some() {}
                if let Some(known) = known.next_if(|it| it.node == entry.node && it.claim.is_newer(entry.claim)) {
                    *entry = *known;
                }
            }
            it.list = list;
            it.sum_up();
            self.changed = true;
            for entry in &hello.neighbours {
                self.hear_of(entry.node, entry.claim);
            }
        }
        if let Some(slot) = hello.largest {
            let age = Span::from_millis(u64::from(hello.age));
            let since = Time::ZERO + now.since(Time::ZERO).saturating_sub(age);
            if age < largest_hold && self.told.is_none_or(|told| (slot, since) > told) {
                self.told = Some((slot, since));
            }
        }
    }

    /// A neighbour has said what slot a node has that it hears.
    pub fn hear_from(&mut self, neighbour: Address, entry: Entry) {
        self.hear_of(entry.node, entry.claim);
        let (Ok(place), true) = (self.place(neighbour), entry.node != self.node) else { return };
        let it = &mut self.neighbours[place];
        if entry.node == neighbour {
            return;
        }
        match it.list.binary_search_by_key(&entry.node, |known| known.node) {
            Ok(place) if entry.claim.is_newer(it.list[place].claim) => it.list[place] = entry,
            Ok(_) => return,
            Err(place) => it.list.insert(place, entry),
        }
        it.sum_up();
        self.changed = true;
    }

    /// Somebody has said what slot a node has. If it is a neighbour, that counts here as if it had said so itself.
    fn hear_of(&mut self, node: Address, claim: Claim) {
        if let Ok(place) = self.place(node) {
            self.changed |= self.neighbours[place].merge_claim(claim);
        }
    }

    /// Whether nodes or slots have changed since it was last asked.
    pub const fn take_changed(&mut self) -> bool {
        std::mem::replace(&mut self.changed, false)
    }

    /// Whether the release of a neighbour in a round is to be relayed: once.
    pub fn relay(&mut self, address: Address, round: u16) -> bool {
        let Ok(place) = self.place(address) else { return false };
        self.neighbours[place].relayed.replace(round) != Some(round)
    }

    /// Forgets neighbours that have been silent for `hold`, and a largest slot that nobody has vouched for within
    /// `largest_hold`.
    pub fn prune(&mut self, now: Time, hold: Span, largest_hold: Span) {
        let before = self.neighbours.len();
        self.neighbours.retain(|it| now.since(it.heard) < hold);
        self.changed |= self.neighbours.len() < before;
        self.told = self.told.filter(|&(_, since)| now.since(since) < largest_hold);
    }

    /// The latest that is known of every node within two hops, without this one; sorted by address.
    #[must_use]
    pub fn known(&self) -> Vec<Entry> {
        let all = self.neighbours.iter();
        let mut known: Vec<Entry> = Vec::with_capacity(all.clone().map(|it| 1 + it.list.len()).sum());
        for it in all {
            known.push(Entry { node: it.address, claim: it.claim });
            known.extend(&it.list);
        }
        latest(&mut known);
        known
    }

    /// What is known of the slot of a node within two hops.
    #[must_use]
    pub fn claim(&self, node: Address) -> Option<Claim> {
        let listed = self.neighbours.iter().filter_map(|it| {
            it.list.binary_search_by_key(&node, |entry| entry.node).ok().map(|place| it.list[place].claim)
        });
        let own = self.neighbour(node).map(|it| it.claim);
        own.into_iter().chain(listed).reduce(|one, other| if other.is_newer(one) { other } else { one })
    }

    /// A node within two hops that has this slot, and an address below that of this node.
    #[must_use]
    pub fn rival(&self, slot: u16) -> Option<Address> {
        let has = |entry: &Entry| entry.claim.slot == Some(slot) && entry.node < self.node;
        let entries = self.neighbours.iter().flat_map(|it| {
            let own = Entry { node: it.address, claim: it.claim };
            std::iter::once(own).chain(it.list.iter().copied())
        });
        // One may speak of a slot that its owner has given up since.
        entries.filter(has).map(|it| it.node).find(|&node| self.claim(node).is_some_and(|it| it.slot == Some(slot)))
    }

    /// The neighbours with a slot.
    pub fn decided(&self) -> impl Iterator<Item = Entry> + '_ {
        let all = self.neighbours.iter().map(|it| Entry { node: it.address, claim: it.claim });
        all.filter(|it| it.claim.slot.is_some())
    }

    /// The largest slot within two hops, without that of this node.
    #[must_use]
    pub fn largest_near(&self) -> Option<u16> {
        self.neighbours.iter().fold(None, |largest, it| largest.max(it.largest))
    }

    /// The largest slot of the network that HELLOs have told of, and when a node within two hops of its owner has
    /// vouched for it.
    #[must_use]
    pub const fn told(&self) -> Option<(u16, Time)> {
        self.told
    }
}

/// Sorts by address and leaves the latest entry of each node.
pub fn latest(entries: &mut Vec<Entry>) {
    entries.sort_unstable_by_key(|it| it.node);
    entries.dedup_by(|next, kept| {
        let same = next.node == kept.node;
        if same && next.claim.is_newer(kept.claim) {
            *kept = *next;
        }
        same
    });
}
