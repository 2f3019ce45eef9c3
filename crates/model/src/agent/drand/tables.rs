//! The neighbours of a node, one and two hops away, and their slots.
//!
//! A neighbour is a node that is heard. The table keeps, for each neighbour, the slot that it last announced, and the
//! nodes that it hears with their slots. Where several nodes speak of the slot of one, the latest round counts. Nothing
//! is forgotten between two calls of [`Tables::prune`], so that what the tables show changes only there and with
//! messages.

use std::sync::Arc;

use hopyard_engine::{Span, Time};

use super::message::{Claim, Entry, Hello};
use crate::address::Address;

/// A node that is heard. The claim for its own slot stands apart ([`Tables::heard`]).
#[derive(Clone, Debug)]
pub struct Neighbour {
    address: Address,
    /// When its last message came.
    heard: Time,
    /// Until when its HELLOs say that it hears this node.
    symmetric_until: Time,
    /// How many nodes without a slot it has told of.
    undecided: u16,
    /// The nodes that it hears, without this one; sorted.
    list: Vec<Entry>,
    /// The list of its last HELLO, and the entry for this node's slot.
    said: Option<Arc<[Entry]>>,
    said_of_this: Option<Claim>,
    /// Where that stands in the list: mostly in the next one too.
    at: usize,
    /// Whether `list` is the list of other nodes in that HELLO, so that the same list has nothing new.
    as_said: bool,
    /// The largest slot of it and its list, as [`Claim::slots`].
    largest: u16,
    /// The round of its last release that this node has relayed.
    relayed: Option<u16>,
    /// How many neighbours had come until it came, itself counted.
    number: u64,
    /// How many of them have been looked for in its list.
    looked_for: u64,
}

impl Neighbour {
    /// Its address.
    #[must_use]
    pub const fn address(&self) -> Address {
        self.address
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

    fn sum_up(&mut self, own: Claim) {
        self.largest = self.list.iter().fold(own.slots(), |largest, it| largest.max(it.claim.slots()));
    }

    /// One of the claims of it and its list has changed.
    fn replaced(&mut self, own: Claim, before: Claim, claim: Claim) {
        if claim.slots() >= self.largest {
            self.largest = claim.slots();
        } else if before.slots() == self.largest {
            self.sum_up(own);
        }
    }

    /// Its claims for the slot of a node, and for its own.
    fn says(&self, own: Claim, node: Address) -> Option<Claim> {
        if node == self.address {
            return Some(own);
        }
        self.list.binary_search_by_key(&node, |entry| entry.node).ok().map(|place| self.list[place].claim)
    }
}

/// A node within two hops.
#[derive(Clone, Copy, Debug)]
struct Known {
    /// The node, and the latest that anybody has said of its slot.
    entry: Entry,
    /// The number of neighbours that speak of the node; the node itself counts as one if it is a neighbour.
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
    /// The known claim of each for its own slot, in the same order.
    heard: Vec<Entry>,
    /// The nodes within two hops, without this one, sorted by address. Messages change few of them, and they are asked
    /// for with every message.
    known: Vec<Known>,
    /// How many of them have no slot.
    undecided: usize,
    /// The largest slot of the neighbours and their lists, as [`Claim::slots`].
    largest_near: u16,
    /// The largest slot that HELLOs have told of, and when a node within two hops of its owner has vouched for it.
    told: Option<(u16, Time)>,
    /// Whether nodes or slots have changed since it was last asked.
    changed: bool,
    /// How many neighbours have come so far.
    came: u64,
    /// A slot that no node with a smaller address has, by the present entries of `known`.
    unrivalled: Option<u16>,
    /// Room for the entries that a list loses, and for the entries that it gains.
    lost: Vec<Entry>,
    gained: Vec<Entry>,
    /// The list of this node's last HELLO.
    told_list: Option<Arc<[Entry]>>,
}

impl Tables {
    /// The tables of a node that has heard nothing.
    #[must_use]
    pub const fn new(node: Address) -> Self {
        Self {
            node,
            neighbours: Vec::new(),
            heard: Vec::new(),
            known: Vec::new(),
            undecided: 0,
            largest_near: 0,
            told: None,
            changed: false,
            came: 0,
            unrivalled: None,
            lost: Vec::new(),
            gained: Vec::new(),
            told_list: None,
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

    /// The known claim of each of them for its own slot.
    #[must_use]
    pub fn heard(&self) -> &[Entry] {
        &self.heard
    }

    /// The same for a HELLO: the list of the last one, while it is the same.
    #[must_use]
    pub fn heard_to_tell(&mut self) -> Arc<[Entry]> {
        match &self.told_list {
            Some(list) if **list == *self.heard => Arc::clone(list),
            _ => Arc::clone(self.told_list.insert(Arc::from(&*self.heard))),
        }
    }

    /// The known claim for the slot of a neighbour, from messages that are not relayed farther.
    #[must_use]
    pub fn claim_of_neighbour(&self, address: Address) -> Option<Claim> {
        self.place(address).ok().map(|place| self.heard[place].claim)
    }

    fn place(&self, address: Address) -> Result<usize, usize> {
        self.heard.binary_search_by_key(&address, |it| it.node)
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

    /// A node has sent a message with its slot.
    pub fn hear(&mut self, from: Address, claim: Claim, now: Time) {
        self.hear_at(from, claim, now);
    }

    /// See [`Self::hear`]. Returns the node's place among the neighbours.
    fn hear_at(&mut self, from: Address, claim: Claim, now: Time) -> usize {
        match self.place(from) {
            Ok(place) => {
                self.neighbours[place].heard = now;
                if self.heard[place].claim != claim {
                    self.merge_claim(place, claim);
                }
                place
            }
            Err(place) => {
                self.changed = true;
                self.came += 1;
                let neighbour = Neighbour {
                    address: from,
                    heard: now,
                    symmetric_until: Time::ZERO,
                    undecided: 0,
                    list: Vec::new(),
                    said: None,
                    said_of_this: None,
                    at: 0,
                    as_said: false,
                    largest: claim.slots(),
                    relayed: None,
                    number: self.came,
                    looked_for: self.came,
                };
                let entry = Entry { node: from, claim };
                self.neighbours.insert(place, neighbour);
                self.heard.insert(place, entry);
                self.gain(entry);
                self.largest_near = self.largest_near.max(claim.slots());
                place
            }
        }
    }

    /// A node has sent a HELLO. A neighbour stays symmetric for `hold` after a HELLO that lists this node. Returns what
    /// the HELLO says of this node's slot.
    pub fn hear_hello(
        &mut self,
        from: Address,
        hello: &Hello,
        now: Time,
        hold: Span,
        largest_hold: Span,
    ) -> Option<Claim> {
        let place = self.hear_at(from, hello.claim, now);
        let (node, it) = (self.node, &mut self.neighbours[place]);
        it.undecided = hello.undecided;
        let same = it.said.as_ref().is_some_and(|said| Arc::ptr_eq(said, &hello.neighbours));
        if !(same && it.as_said) {
            let own = match hello.neighbours.get(it.at) {
                Some(entry) if entry.node == node => Ok(it.at),
                _ => hello.neighbours.binary_search_by_key(&node, |entry| entry.node),
            };
            it.at = own.unwrap_or(it.at);
            if !same {
                it.said = Some(Arc::clone(&hello.neighbours));
                it.said_of_this = own.ok().map(|own| hello.neighbours[own].claim);
            }
            self.hear_listed(place, &hello.neighbours, own);
        }
        // A HELLO lists all nodes that its sender hears. One without this node ends the symmetry at once.
        let it = &mut self.neighbours[place];
        it.symmetric_until = if it.said_of_this.is_some() { now + hold } else { Time::ZERO };
        let said_of_this = it.said_of_this;
        if let Some(slot) = hello.largest {
            let age = Span::from_millis(u64::from(hello.age));
            let since = Time::ZERO + now.since(Time::ZERO).saturating_sub(age);
            if age < largest_hold && self.told.is_none_or(|told| (slot, since) > told) {
                self.told = Some((slot, since));
            }
        }
        said_of_this
    }

    /// The list of a HELLO of a neighbour, with the place of this node in it.
    fn hear_listed(&mut self, place: usize, listed: &[Entry], own: Result<usize, usize>) {
        let (before, after) = match own {
            Ok(own) => (&listed[..own], &listed[own + 1..]),
            Err(_) => (listed, &[][..]),
        };
        if self.merge_list(place, before, after) {
            self.changed = true;
            self.hear_of_new(place, listed);
            debug_assert!(
                listed.iter().all(|it| self.claim_of_neighbour(it.node).is_none_or(|known| !it.claim.is_newer(known))),
                "what a HELLO says of neighbours is heard"
            );
        }
    }

    /// Takes up what the HELLO of a neighbour lists, in two parts, and keeps what is newer of the nodes that are listed
    /// still. Returns whether the HELLO has an unknown entry; `gained` are the new entries.
    fn merge_list(&mut self, place: usize, first: &[Entry], second: &[Entry]) -> bool {
        let mut list = std::mem::take(&mut self.neighbours[place].list);
        let mut lost = std::mem::take(&mut self.lost);
        list.reserve((first.len() + second.len()).saturating_sub(list.len()));
        let was = self.neighbours[place].largest;
        let (mut at, mut differs, mut kept, mut falls) = (0, false, false, false);
        self.gained.clear();
        for mut rest in [first, second] {
            loop {
                // Most of a list is known.
                let same = common(rest, &list[at..]);
                at += same;
                let Some((&entry, others)) = rest[same..].split_first() else { break };
                differs = true;
                while list.get(at).is_some_and(|it| it.node < entry.node) {
                    lost.push(list.remove(at));
                }
                match list.get_mut(at) {
                    Some(it) if it.node == entry.node => {
                        if it.claim.is_newer(entry.claim) {
                            kept = true;
                        } else if it.claim != entry.claim {
                            let before = std::mem::replace(it, entry);
                            falls |= before.claim.slots() == was;
                            if !self.gain_for(before, entry.claim) {
                                lost.push(before);
                            }
                            self.gained.push(entry);
                        }
                    }
                    _ => {
                        list.insert(at, entry);
                        self.gain(entry);
                        self.gained.push(entry);
                    }
                }
                at += 1;
                rest = others;
            }
        }
        differs |= at < list.len();
        lost.extend(list.drain(at..));
        let it = &mut self.neighbours[place];
        (it.list, it.as_said) = (list, !kept);
        if !(self.gained.is_empty() && lost.is_empty()) {
            let gained = self.gained.iter().fold(0, |largest, it| largest.max(it.claim.slots()));
            if gained >= was {
                it.largest = gained;
            } else if falls || lost.iter().any(|it| it.claim.slots() == was) {
                it.sum_up(self.heard[place].claim);
            }
            for entry in lost.drain(..) {
                self.lose(entry);
            }
            self.largest_changed(place, was);
        }
        self.lost = lost;
        differs
    }

    /// A neighbour has said what slots nodes have that it hears. Most of it is known.
    pub fn hear_list(&mut self, neighbour: Address, entries: &[Entry]) {
        let Ok(place) = self.place(neighbour) else {
            return entries.iter().for_each(|&entry| self.hear_from(neighbour, entry));
        };
        let (mut near, mut far) = (0, 0);
        for &entry in entries {
            let is_before = |it: &Entry| it.node < entry.node;
            let list = &self.neighbours[place].list;
            while self.heard.get(near).is_some_and(is_before) {
                near += 1;
            }
            while list.get(far).is_some_and(is_before) {
                far += 1;
            }
            let is_heard = self.heard.get(near).is_none_or(|it| it.node > entry.node || it.claim == entry.claim);
            // Entries are mostly in order. Of others, the places say nothing.
            let is_heard = is_heard && (near == 0 || self.heard[near - 1].node < entry.node);
            if !(is_heard && list.get(far) == Some(&entry)) {
                self.hear_from(neighbour, entry);
            }
        }
    }

    /// A neighbour has said what slot a node has that it hears.
    pub fn hear_from(&mut self, neighbour: Address, entry: Entry) {
        self.hear_of(entry.node, entry.claim);
        if entry.node == neighbour || entry.node == self.node {
            return;
        }
        let Ok(place) = self.place(neighbour) else { return };
        let it = &mut self.neighbours[place];
        let was = it.largest;
        match it.list.binary_search_by_key(&entry.node, |known| known.node) {
            Ok(known) if entry.claim.is_newer(it.list[known].claim) => {
                it.as_said = false;
                let before = std::mem::replace(&mut it.list[known], entry);
                it.replaced(self.heard[place].claim, before.claim, entry.claim);
                self.replace(before, entry.claim);
            }
            Ok(_) => return,
            Err(known) => {
                it.as_said = false;
                it.list.insert(known, entry);
                it.largest = it.largest.max(entry.claim.slots());
                self.gain(entry);
            }
        }
        self.largest_changed(place, was);
        self.changed = true;
    }

    /// Somebody has said what slot a node has. If the node is a neighbour, the entry counts here as if the node itself
    /// had said so.
    fn hear_of(&mut self, node: Address, claim: Claim) {
        if let Ok(place) = self.place(node) {
            self.merge_claim(place, claim);
        }
    }

    /// As [`Self::hear_of`], for the list of a neighbour: the entries that its list has gained, and all its entries for
    /// neighbours that came since this node last looked for them there. This node has heard the rest before.
    fn hear_of_new(&mut self, place: usize, entries: &[Entry]) {
        let looked_for = self.neighbours[place].looked_for;
        if looked_for < self.came {
            let mut all = true;
            // What the list has is what the HELLO says, or newer.
            let as_said = self.neighbours[place].as_said;
            for near in 0..self.neighbours.len() {
                if self.neighbours[near].number > looked_for
                    && let Ok(at) = entries.binary_search_by_key(&self.heard[near].node, |it| it.node)
                {
                    self.merge_claim(near, entries[at].claim);
                    // Where the list has something newer, a later HELLO may still say that.
                    all &= as_said
                        || self.neighbours[place]
                            .list
                            .binary_search_by_key(&entries[at].node, |it| it.node)
                            .is_ok_and(|known| self.neighbours[place].list[known] == entries[at]);
                }
            }
            if all {
                self.neighbours[place].looked_for = self.came;
            }
        }
        let gained = std::mem::take(&mut self.gained);
        gained.iter().for_each(|it| self.hear_of(it.node, it.claim));
        self.gained = gained;
    }

    /// Takes up the claim of a neighbour if it is newer.
    fn merge_claim(&mut self, place: usize, claim: Claim) {
        let before = self.heard[place];
        if claim.is_newer(before.claim) {
            self.heard[place].claim = claim;
            let it = &mut self.neighbours[place];
            let was = it.largest;
            it.replaced(claim, before.claim, claim);
            self.replace(before, claim);
            self.largest_changed(place, was);
            self.changed = true;
        }
    }

    /// The largest slot of a neighbour and its list was another one.
    fn largest_changed(&mut self, place: usize, was: u16) {
        let largest = self.neighbours[place].largest;
        if largest >= self.largest_near {
            self.largest_near = largest;
        } else if was == self.largest_near {
            self.sum_up();
        }
    }

    fn sum_up(&mut self) {
        self.largest_near = self.neighbours.iter().fold(0, |largest, it| largest.max(it.largest));
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
                self.unrivalled = None;
                self.undecided += usize::from(entry.claim.slot().is_none());
            }
        }
    }

    /// One that has spoken of a node says something else, but its list is not at hand. Returns whether that is all: if
    /// not, [`Self::lose`] must follow.
    fn gain_for(&mut self, before: Entry, claim: Claim) -> bool {
        let Ok(place) = self.place_known(before.node) else { return true };
        self.add(place, claim);
        let it = &mut self.known[place];
        let was_latest = before.claim == it.entry.claim;
        it.sources += u32::from(was_latest);
        !was_latest
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
            self.undecided -= usize::from(gone.entry.claim.slot().is_none());
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
            let same = self.said(node).filter(|said| *said == claim).count();
            self.known[place].latest = same as u32;
            self.set_claim(place, claim);
        }
    }

    fn set_claim(&mut self, place: usize, claim: Claim) {
        let was = std::mem::replace(&mut self.known[place].entry.claim, claim);
        self.unrivalled = None;
        self.undecided -= usize::from(was.slot().is_none());
        self.undecided += usize::from(claim.slot().is_none());
    }

    /// The claims of neighbours for the slot of a node.
    fn said(&self, node: Address) -> impl Iterator<Item = Claim> {
        self.neighbours.iter().zip(&self.heard).filter_map(move |(it, own)| it.says(own.claim, node))
    }

    /// The latest of it.
    fn search(&self, node: Address) -> Option<Claim> {
        self.said(node).reduce(|one, other| if other.is_newer(one) { other } else { one })
    }

    /// The values that [`Self::known`], [`Self::undecided`] and [`Self::largest_near`] must have, by the entries of all
    /// neighbours.
    #[cfg(test)]
    pub(super) fn counted(&self) -> (Vec<Entry>, usize, Option<u16>) {
        let lists = self.neighbours.iter().flat_map(|it| &it.list);
        let mut known: Vec<Entry> = lists.chain(&self.heard).copied().collect();
        let largest = known.iter().map(|it| it.claim.slot()).fold(None, Option::max);
        latest(&mut known);
        let undecided = known.iter().filter(|it| it.claim.slot().is_none()).count();
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
        let is_silent = |it: &Neighbour| now.since(it.heard) >= hold;
        if self.neighbours.iter().any(is_silent) {
            let gone: Vec<Neighbour> = self.neighbours.extract_if(.., |it| is_silent(it)).collect();
            let mut silent = gone.iter().peekable();
            let is_gone = |it: &mut Entry| silent.next_if(|gone| gone.address == it.node).is_some();
            let claims: Vec<Entry> = self.heard.extract_if(.., is_gone).collect();
            for (it, own) in gone.iter().zip(claims) {
                self.lose(own);
                it.list.iter().for_each(|&entry| self.lose(entry));
            }
            self.changed = true;
            self.sum_up();
        }
        self.told = self.told.filter(|&(_, since)| now.since(since) < largest_hold);
    }

    /// The latest that is known of every node within two hops, without this one; sorted by address.
    #[must_use]
    pub fn known(&self) -> Vec<Entry> {
        self.known.iter().map(|it| it.entry).collect()
    }

    /// The known claim for the slot of a node within two hops.
    #[must_use]
    pub fn claim(&self, node: Address) -> Option<Claim> {
        self.place_known(node).ok().map(|place| self.known[place].entry.claim)
    }

    /// Whether a node within two hops has this slot, and a lower address than this node.
    #[must_use]
    pub fn has_rival(&mut self, slot: u16) -> bool {
        if self.unrivalled == Some(slot) {
            return false;
        }
        let below = &self.known[..self.known.partition_point(|it| it.entry.node < self.node)];
        let found = below.iter().any(|it| it.entry.claim.slot() == Some(slot));
        self.unrivalled = (!found).then_some(slot);
        found
    }

    /// How many nodes within two hops have no slot, without this one.
    #[must_use]
    pub const fn undecided(&self) -> usize {
        self.undecided
    }

    /// The neighbours with a slot.
    pub fn decided(&self) -> impl Iterator<Item = Entry> + '_ {
        self.heard.iter().copied().filter(|it| it.claim.slot().is_some())
    }

    /// The largest slot that anybody within two hops is said to have, without the slot of this node.
    #[must_use]
    pub const fn largest_near(&self) -> Option<u16> {
        self.largest_near.checked_sub(1)
    }

    /// The largest slot of the network that HELLOs have told of, and when a node within two hops of its owner has
    /// vouched for it.
    #[must_use]
    pub const fn told(&self) -> Option<(u16, Time)> {
        self.told
    }
}

/// All of an entry as one number, in the order in which the two words stand in memory.
#[inline]
const fn bits(entry: &Entry) -> u64 {
    (entry.claim.bits() as u64) << 32 | entry.node.0 as u64
}

/// How many entries are the same at the beginning of two lists. Four are compared at once.
fn common(one: &[Entry], other: &[Entry]) -> usize {
    let fours = one.as_chunks::<4>().0.iter().zip(other.as_chunks::<4>().0);
    let differ = |(a, b): &(&[Entry; 4], &[Entry; 4])| (0..4).fold(0, |any, n| any | (bits(&a[n]) ^ bits(&b[n]))) != 0;
    let from = 4 * fours.take_while(|it| !differ(it)).count();
    let rest = one[from..].iter().zip(&other[from..]);
    from + rest.take_while(|(a, b)| bits(a) == bits(b)).count()
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
