//! AODV's tables: routes, precursors, requests heard.

use hopyard_engine::Time;

use crate::address::Address;

/// A hop count that means "no route", as ns-2 has it.
pub const INFINITY: u8 = 255;

/// Whether a route can be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RouteState {
    /// No.
    Down,
    /// Yes.
    Up,
    /// Not yet again: a local repair is under way.
    InRepair,
}

/// A route, or what is left of one. Small, because floods leave one at every node for every originator.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// Where it leads.
    pub destination: Address,
    /// The neighbour to which packets go.
    pub next_hop: Address,
    /// The destination's sequence number.
    pub sequence: u32,
    /// Hops to the destination.
    pub hops: u8,
    /// Hops when the route was last up.
    pub last_hops: u8,
    /// TTL of the last request, or the hop count that a reply has given since (ns-2).
    pub last_ttl: u8,
    /// Whether it can be used.
    pub state: RouteState,
    /// Whether a sequence number is known. Routes with an older number are then refused.
    pub known_sequence: bool,
    /// Whether the present route came with this number (RFC 3561: the valid sequence number flag). It is false for a
    /// neighbour from which a packet was heard but no number. Such a route is not offered to other nodes, and its
    /// number does not grow when the link breaks.
    pub own_sequence: bool,
    /// Whether data have gone this way since it came up, so that its changes are announced.
    pub used: bool,
    /// Whether a packet in transit may start a local repair (RFC 3561 §6.12).
    pub repairable: bool,
    /// When the route expires, or, when it is down, is forgotten.
    pub expires: Time,
}

/// Routes by destination.
#[derive(Debug)]
pub struct Table {
    entries: Vec<Entry>,
    /// No route expires before this time.
    next_expiry: Time,
}

impl Default for Table {
    fn default() -> Self {
        Self { entries: Vec::new(), next_expiry: Time::NEVER }
    }
}

impl Entry {
    /// The sequence number of the route when it becomes invalid (RFC 3561 §6.1, §6.11). It is one higher, so that nodes
    /// whose next hop is this node cannot offer their old route. It is raised only once for each number of the
    /// destination: the destination's next request must not have an older number.
    #[must_use]
    pub fn advanced(&self) -> u32 {
        self.sequence.wrapping_add(u32::from(self.known_sequence && self.own_sequence))
    }
}

impl Table {
    fn place(&self, destination: Address) -> Result<usize, usize> {
        self.entries.binary_search_by_key(&destination, |entry| entry.destination)
    }

    /// What is known of a destination.
    #[inline]
    #[must_use]
    pub fn get(&self, destination: Address) -> Option<&Entry> {
        self.place(destination).ok().map(|place| &self.entries[place])
    }

    /// What is known of a destination, to be changed. A change of `expires` is told to [`Table::expires`].
    #[inline]
    pub fn get_mut(&mut self, destination: Address) -> Option<&mut Entry> {
        self.place(destination).ok().map(|place| &mut self.entries[place])
    }

    /// The valid route to a destination.
    #[inline]
    #[must_use]
    pub fn up(&self, destination: Address) -> Option<&Entry> {
        self.get(destination).filter(|entry| entry.state == RouteState::Up)
    }

    /// The entry of a destination, which is made if there is none.
    pub fn entry(&mut self, destination: Address) -> &mut Entry {
        let place = self.place(destination).unwrap_or_else(|place| {
            let entry = Entry {
                destination,
                next_hop: destination,
                sequence: 0,
                hops: INFINITY,
                last_hops: INFINITY,
                last_ttl: 0,
                state: RouteState::Down,
                known_sequence: false,
                own_sequence: false,
                used: false,
                repairable: false,
                expires: Time::NEVER,
            };
            self.entries.insert(place, entry);
            place
        });
        &mut self.entries[place]
    }

    /// Some route now expires at this time.
    #[inline]
    pub fn expires(&mut self, at: Time) {
        self.next_expiry = self.next_expiry.min(at);
    }

    /// A time before which no route expires.
    #[inline]
    #[must_use]
    pub const fn next_expiry(&self) -> Time {
        self.next_expiry
    }

    /// Makes [`Table::next_expiry`] exact, of the entries that `counts`.
    pub fn find_next_expiry(&mut self, counts: impl Fn(&Entry) -> bool) {
        self.next_expiry =
            self.entries.iter().filter(|entry| counts(entry)).map(|entry| entry.expires).min().unwrap_or(Time::NEVER);
    }

    /// Every entry, by destination.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut Entry> {
        self.entries.iter_mut()
    }

    /// Forgets the entries that are not kept.
    pub fn retain(&mut self, keep: impl FnMut(&Entry) -> bool) {
        self.entries.retain(keep);
    }
}

/// For each destination the neighbours that use the route through this node. Sorted pairs, because few nodes have
/// precursors.
#[derive(Debug, Default)]
pub struct Precursors(Vec<(Address, Address)>);

impl Precursors {
    fn range(&self, destination: Address) -> std::ops::Range<usize> {
        let start = self.0.partition_point(|pair| pair.0 < destination);
        start..start + self.0[start..].partition_point(|pair| pair.0 == destination)
    }

    /// Neighbour `precursor` uses the route to `destination`.
    pub fn insert(&mut self, destination: Address, precursor: Address) {
        if let Err(place) = self.0.binary_search(&(destination, precursor)) {
            self.0.insert(place, (destination, precursor));
        }
    }

    /// The neighbours that use the route to `destination`.
    pub fn of(&self, destination: Address) -> impl Iterator<Item = Address> + '_ {
        self.0[self.range(destination)].iter().map(|pair| pair.1)
    }

    /// Whether some neighbour uses the route to `destination`.
    #[must_use]
    pub fn any(&self, destination: Address) -> bool {
        !self.range(destination).is_empty()
    }

    /// Forgets who uses the route to `destination`.
    pub fn clear(&mut self, destination: Address) {
        let range = self.range(destination);
        self.0.drain(range);
    }

    /// Neighbour `lost` uses no route any more.
    pub fn remove_neighbour(&mut self, lost: Address) {
        self.0.retain(|pair| pair.1 != lost);
    }
}

/// The requests of one originator that were heard.
#[derive(Clone, Copy, Debug)]
struct Heard {
    originator: Address,
    /// The highest number heard.
    highest: u32,
    /// Which of the last 64 numbers were heard. The lowest bit belongs to the highest number. Zero marks an empty slot.
    bits: u64,
    /// When the originator's requests are forgotten.
    forget: Time,
}

impl Heard {
    const EMPTY: Self = Self { originator: Address::BROADCAST, highest: 0, bits: 0, forget: Time::ZERO };

    /// Notes a number. Whether it is new.
    #[inline]
    fn note(&mut self, id: u32) -> bool {
        let ahead = id.wrapping_sub(self.highest).cast_signed();
        if ahead > 0 {
            self.bits = self.bits.checked_shl(ahead.unsigned_abs()).unwrap_or(0) | 1;
            self.highest = id;
            return true;
        }
        let Some(bit) = 1_u64.checked_shl(ahead.unsigned_abs()) else { return false };
        let new = self.bits & bit == 0;
        self.bits |= bit;
        new
    }
}

/// The requests heard. An originator numbers its requests one by one, so that a window of bits holds the recent ones; a
/// number that has left the window counts as heard.
///
/// Each request of a flood is heard from every neighbour, and all copies but the first are only looked up here. This
/// must be fast, so it is a hash table with open addressing: the slot is computed from the originator's number, and if
/// it is taken, the next free slot is used. The order of the slots has no influence on results.
#[derive(Debug, Default)]
pub struct Requests {
    /// None, or a power of two, at most three quarters of them in use.
    places: Vec<Heard>,
    used: usize,
}

impl Requests {
    /// Notes that a request is heard, to be remembered until `forget`. Whether it is new.
    #[inline]
    pub fn note(&mut self, originator: Address, id: u32, now: Time, forget: Time) -> bool {
        if 4 * self.used >= 3 * self.places.len() {
            self.grow(now);
        }
        let place = self.find(originator);
        let heard = &mut self.places[place];
        if heard.bits == 0 || heard.forget <= now {
            self.used += usize::from(heard.bits == 0);
            *heard = Heard { originator, highest: id, bits: 1, forget };
            return true;
        }
        let new = heard.note(id);
        if new {
            heard.forget = forget;
        }
        new
    }

    /// Reads where an originator's requests are noted into the cache; the value means nothing.
    #[inline]
    #[must_use]
    pub fn prefetch(&self, originator: Address) -> u32 {
        self.places.get(self.first_place(originator)).map_or(0, |heard| heard.highest)
    }

    /// Where the search for an originator's place starts.
    #[inline]
    fn first_place(&self, originator: Address) -> usize {
        // Fibonacci hashing: a factor of 2^32 divided by the golden ratio spreads consecutive numbers. The high bits
        // mix best.
        (originator.0.wrapping_mul(0x9E37_79B9) >> 16) as usize & self.places.len().wrapping_sub(1)
    }

    /// The place of an originator, or the empty one that it may have.
    #[inline]
    fn find(&self, originator: Address) -> usize {
        let mask = self.places.len() - 1;
        let mut place = self.first_place(originator);
        while self.places[place].bits != 0 && self.places[place].originator != originator {
            place = (place + 1) & mask;
        }
        place
    }

    /// Makes room, with what can be forgotten left out.
    #[cold]
    fn grow(&mut self, now: Time) {
        let kept: Vec<Heard> =
            self.places.iter().copied().filter(|heard| heard.bits != 0 && heard.forget > now).collect();
        self.used = kept.len();
        self.places.clear();
        self.places.resize((2 * kept.len()).next_power_of_two().max(4), Heard::EMPTY);
        for heard in kept {
            let place = self.find(heard.originator);
            self.places[place] = heard;
        }
    }
}

#[cfg(test)]
mod tests {
    use hopyard_engine::Span;
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn entries_stay_small() {
        assert!(size_of::<Entry>() <= 32, "{}", size_of::<Entry>());
    }

    #[test]
    fn precursors_belong_to_a_destination_and_a_neighbour() {
        let mut precursors = Precursors::default();
        for (destination, neighbour) in [(5, 2), (5, 1), (6, 2), (5, 2)] {
            precursors.insert(Address(destination), Address(neighbour));
        }
        assert_eq!(precursors.of(Address(5)).collect::<Vec<_>>(), [Address(1), Address(2)]);
        precursors.remove_neighbour(Address(2));
        assert!(precursors.any(Address(5)) && !precursors.any(Address(6)));
        precursors.clear(Address(5));
        assert!(!precursors.any(Address(5)));
    }

    #[test]
    fn a_request_is_new_once_until_it_is_forgotten() {
        let mut requests = Requests::default();
        let at = Time::from_nanos;
        let note = |requests: &mut Requests, id, now| requests.note(Address(3), id, at(now), at(now + 100));
        assert!(note(&mut requests, 7, 0));
        assert!(!note(&mut requests, 7, 50));
        assert!(note(&mut requests, 9, 60));
        assert!(note(&mut requests, 8, 61), "a request overtaken by a later one is new all the same");
        assert!(!note(&mut requests, 8, 62) && !note(&mut requests, 9, 62));
        assert!(requests.note(Address(4), 9, at(62), at(162)), "numbers belong to their originator");
        assert!(note(&mut requests, 9, 161), "100 ns after it was last heard of, the originator is forgotten");
        assert!(note(&mut requests, 1000, 170));
        assert!(!note(&mut requests, 9, 171), "what has left the window counts as heard");
    }

    proptest! {
        /// Against a list of all that was heard.
        #[test]
        fn many_originators_are_kept_apart(
            heard in prop::collection::vec((0_u32..60, 0_u32..6, 0_u64..40), 0..400),
        ) {
            let mut requests = Requests::default();
            let mut known: std::collections::BTreeMap<u32, (Time, Vec<u32>)> = std::collections::BTreeMap::new();
            let mut now = Time::ZERO;
            for (originator, id, pause) in heard {
                now += Span::from_nanos(pause);
                let forget = now + Span::from_nanos(1000);
                let (until, ids) = known.entry(originator).or_default();
                if *until <= now {
                    ids.clear();
                }
                let new = !ids.contains(&id);
                if new {
                    ids.push(id);
                    *until = forget;
                }
                prop_assert_eq!(requests.note(Address(originator * 4096), id, now, forget), new);
            }
        }
    }
}
