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

    fn sum_up(&mut self) {
        self.largest = self.list.iter().map(|it| it.claim.slot).fold(self.claim.slot, Option::max);
    }

    /// What it says of the slot of a node.
    fn says(&self, node: Address) -> Option<Claim> {
        if node == self.address {
            return Some(self.claim);
        }
        self.list.binary_search_by_key(&node, |entry| entry.node).ok().map(|place| self.list[place].claim)
    }
}

/// A node within two hops.
#[derive(Clone, Copy, Debug)]
struct Known {
    /// The node, and the latest that anybody has said of its slot.
    entry: Entry,
    /// How many neighbours speak of it; it counts as one itself if it is a neighbour.
    sources: u32,
    /// How many of them say the latest.
    latest: u32,
}

/// The tables of a node.
#[derive(Clone, Debug)]
pub struct Tables {
    node: Address,
    /// Sorted by address.
    neighbours: Vec<Neighbour>,
    /// The nodes within two hops, without this one, sorted by address. Messages change few of them, and they are asked for
    /// with every message.
    known: Vec<Known>,
    /// How many of them have no slot.
    undecided: usize,
    /// The largest slot of the neighbours and their lists.
    largest_near: Option<u16>,
    /// The largest slot that HELLOs have told of, and when a node within two hops of its owner has vouched for it.
    told: Option<(u16, Time)>,
    /// Whether nodes or slots have changed since it was last asked.
    changed: bool,
}

impl Tables {
    /// Those of a node that has heard nothing.
    #[must_use]
    pub const fn new(node: Address) -> Self {
        Self {
            node,
            neighbours: Vec::new(),
            known: Vec::new(),
            undecided: 0,
            largest_near: None,
            told: None,
            changed: false,
        }
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

    fn place_known(&self, node: Address) -> Result<usize, usize> {
        self.known.binary_search_by_key(&node, |it| it.entry.node)
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
                self.merge_claim(place, claim);
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
                self.gain(Entry { node: from, claim });
                self.largest_near = self.largest_near.max(claim.slot);
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
        let own = hello.neighbours.binary_search_by_key(&node, |entry| entry.node);
        it.symmetric_until = if own.is_ok() { now + hold } else { Time::ZERO };
        let (before, after) = match own {
            Ok(own) => (&hello.neighbours[..own], &hello.neighbours[own + 1..]),
            Err(_) => (&hello.neighbours[..], &[][..]),
        };
        let listed = before.iter().chain(after).copied();
        let are_same = it.list.len() == before.len() + after.len()
            && (it.list.iter().map(|it| it.node)).eq(listed.clone().map(|entry| entry.node));
        let news = if are_same { self.merge_claims(place, listed) } else { self.merge_list(place, listed) };
        if news {
            self.changed = true;
            self.hear_of_all(&hello.neighbours);
        }
        if let Some(slot) = hello.largest {
            let age = Span::from_millis(u64::from(hello.age));
            let since = Time::ZERO + now.since(Time::ZERO).saturating_sub(age);
            if age < largest_hold && self.told.is_none_or(|told| (slot, since) > told) {
                self.told = Some((slot, since));
            }
        }
    }

    /// As [`Self::merge_list`] for a HELLO that lists the nodes which the table has, as nearly all do. Returns whether it
    /// says anything else of them than the table.
    fn merge_claims(&mut self, place: usize, listed: impl Iterator<Item = Entry>) -> bool {
        let list = &mut self.neighbours[place].list;
        let (mut differs, mut newer) = (false, Vec::new());
        for (known, entry) in list.iter_mut().zip(listed) {
            if known.claim != entry.claim {
                differs = true;
                if !known.claim.is_newer(entry.claim) {
                    newer.push((*known, entry.claim));
                    *known = entry;
                }
            }
        }
        if !newer.is_empty() {
            self.neighbours[place].sum_up();
            for (before, claim) in newer {
                self.replace(before, claim);
            }
            self.sum_up();
        }
        differs
    }

    /// Takes up what the HELLO of a neighbour lists, and keeps what is newer of the nodes that are listed still.
    fn merge_list(&mut self, place: usize, listed: impl Iterator<Item = Entry> + Clone) -> bool {
        let before = std::mem::take(&mut self.neighbours[place].list);
        let mut list: Vec<Entry> = Vec::with_capacity(listed.clone().count());
        let (mut known, mut lost) = (before.iter().peekable(), Vec::new());
        for entry in listed {
            while let Some(&gone) = known.next_if(|it| it.node < entry.node) {
                lost.push(gone);
            }
            match known.next_if(|it| it.node == entry.node) {
                Some(&known) if known.claim == entry.claim || known.claim.is_newer(entry.claim) => list.push(known),
                replaced => {
                    list.push(entry);
                    self.gain(entry);
                    lost.extend(replaced);
                }
            }
        }
        lost.extend(known);
        let it = &mut self.neighbours[place];
        it.list = list;
        it.sum_up();
        for entry in lost {
            self.lose(entry);
        }
        self.sum_up();
        true
    }

    /// A neighbour has said what slot a node has that it hears.
    pub fn hear_from(&mut self, neighbour: Address, entry: Entry) {
        self.hear_of(entry.node, entry.claim);
        let (Ok(place), true) = (self.place(neighbour), entry.node != self.node) else { return };
        let it = &mut self.neighbours[place];
        if entry.node == neighbour {
            return;
        }
        let before = match it.list.binary_search_by_key(&entry.node, |known| known.node) {
            Ok(place) if entry.claim.is_newer(it.list[place].claim) => {
                Some(std::mem::replace(&mut it.list[place], entry))
            }
            Ok(_) => return,
            Err(place) => {
                it.list.insert(place, entry);
                None
            }
        };
        it.sum_up();
        match before {
            Some(before) => self.replace(before, entry.claim),
            None => self.gain(entry),
        }
        self.sum_up();
        self.changed = true;
    }

    /// Somebody has said what slot a node has. If it is a neighbour, that counts here as if it had said so itself.
    fn hear_of(&mut self, node: Address, claim: Claim) {
        if let Ok(place) = self.place(node) {
            self.merge_claim(place, claim);
        }
    }

    /// As [`Self::hear_of`], for entries that are sorted by node.
    fn hear_of_all(&mut self, entries: &[Entry]) {
        let mut place = 0;
        for entry in entries {
            while self.neighbours.get(place).is_some_and(|it| it.address < entry.node) {
                place += 1;
            }
            let Some(it) = self.neighbours.get(place) else { return };
            if it.address == entry.node && it.claim != entry.claim {
                self.merge_claim(place, entry.claim);
            }
        }
    }

    /// Takes up the claim of a neighbour if it is newer.
    fn merge_claim(&mut self, place: usize, claim: Claim) {
        let it = &mut self.neighbours[place];
        if claim.is_newer(it.claim) {
            let before = Entry { node: it.address, claim: it.claim };
            it.claim = claim;
            it.sum_up();
            self.replace(before, claim);
            self.sum_up();
            self.changed = true;
        }
    }

    fn sum_up(&mut self) {
        self.largest_near = self.neighbours.iter().fold(None, |largest, it| largest.max(it.largest));
    }

    /// One more speaks of a node.
    fn gain(&mut self, entry: Entry) {
        match self.place_known(entry.node) {
            Ok(place) => {
                self.known[place].sources += 1;
                self.add(place, entry.claim);
            }
            Err(place) => {
                self.known.insert(place, Known { entry, sources: 1, latest: 1 });
                self.undecided += usize::from(entry.claim.slot.is_none());
            }
        }
    }

    /// One that has spoken of a node says something else.
    fn replace(&mut self, before: Entry, claim: Claim) {
        if let Ok(place) = self.place_known(before.node) {
            self.add(place, claim);
            self.subtract(place, before.claim);
        }
    }

    /// One that has spoken of a node does so no more.
    fn lose(&mut self, before: Entry) {
        let Ok(place) = self.place_known(before.node) else { return };
        self.known[place].sources -= 1;
        if self.known[place].sources == 0 {
            let gone = self.known.remove(place);
            self.undecided -= usize::from(gone.entry.claim.slot.is_none());
        } else {
            self.subtract(place, before.claim);
        }
    }

    fn add(&mut self, place: usize, claim: Claim) {
        let it = &mut self.known[place];
        if claim == it.entry.claim {
            it.latest += 1;
        } else if claim.is_newer(it.entry.claim) {
            it.latest = 1;
            self.set_claim(place, claim);
        }
    }

    fn subtract(&mut self, place: usize, claim: Claim) {
        let it = &mut self.known[place];
        if claim != it.entry.claim {
            return;
        }
        it.latest -= 1;
        if it.latest == 0
            && let Some(claim) = self.search(self.known[place].entry.node)
        {
            let node = self.known[place].entry.node;
            let same = self.neighbours.iter().filter(|it| it.says(node) == Some(claim)).count();
            self.known[place].latest = same as u32;
            self.set_claim(place, claim);
        }
    }

    fn set_claim(&mut self, place: usize, claim: Claim) {
        let was = std::mem::replace(&mut self.known[place].entry.claim, claim);
        self.undecided -= usize::from(was.slot.is_none());
        self.undecided += usize::from(claim.slot.is_none());
    }

    /// The latest that neighbours say of the slot of a node.
    fn search(&self, node: Address) -> Option<Claim> {
        let said = self.neighbours.iter().filter_map(|it| it.says(node));
        said.reduce(|one, other| if other.is_newer(one) { other } else { one })
    }

    /// What [`Self::known`], [`Self::undecided`] and [`Self::largest_near`] must be by the entries of all neighbours.
    #[cfg(test)]
    pub(super) fn counted(&self) -> (Vec<Entry>, usize, Option<u16>) {
        let own = |it: &Neighbour| Entry { node: it.address, claim: it.claim };
        let mut known: Vec<Entry> =
            self.neighbours.iter().flat_map(|it| it.list.iter().copied().chain([own(it)])).collect();
        let largest = known.iter().map(|it| it.claim.slot).fold(None, Option::max);
        latest(&mut known);
        let undecided = known.iter().filter(|it| it.claim.slot.is_none()).count();
        (known, undecided, largest)
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
        let is_silent = |it: &mut Neighbour| now.since(it.heard) >= hold;
        let silent: Vec<Neighbour> = self.neighbours.extract_if(.., is_silent).collect();
        for it in &silent {
            self.changed = true;
            self.lose(Entry { node: it.address, claim: it.claim });
            for &entry in &it.list {
                self.lose(entry);
            }
        }
        if !silent.is_empty() {
            self.sum_up();
        }
        self.told = self.told.filter(|&(_, since)| now.since(since) < largest_hold);
    }

    /// The latest that is known of every node within two hops, without this one; sorted by address.
    #[must_use]
    pub fn known(&self) -> Vec<Entry> {
        self.known.iter().map(|it| it.entry).collect()
    }

    /// What is known of the slot of a node within two hops.
    #[must_use]
    pub fn claim(&self, node: Address) -> Option<Claim> {
        self.place_known(node).ok().map(|place| self.known[place].entry.claim)
    }

    /// A node within two hops that has this slot, and an address below that of this node.
    #[must_use]
    pub fn rival(&self, slot: u16) -> Option<Address> {
        let below = self.known.iter().map(|it| it.entry).take_while(|it| it.node < self.node);
        below.filter(|it| it.claim.slot == Some(slot)).map(|it| it.node).next()
    }

    /// How many nodes within two hops have no slot, without this one.
    #[must_use]
    pub const fn undecided(&self) -> usize {
        self.undecided
    }

    /// The neighbours with a slot.
    pub fn decided(&self) -> impl Iterator<Item = Entry> + '_ {
        let all = self.neighbours.iter().map(|it| Entry { node: it.address, claim: it.claim });
        all.filter(|it| it.claim.slot.is_some())
    }

    /// The largest slot that anybody within two hops is said to have, without that of this node.
    #[must_use]
    pub const fn largest_near(&self) -> Option<u16> {
        self.largest_near
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
