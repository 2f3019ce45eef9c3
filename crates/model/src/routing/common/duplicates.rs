//! The messages of floods that a node has heard.

use hopyard_engine::Time;

use crate::address::Address;

/// The messages of one originator that were heard.
#[derive(Clone, Copy, Debug)]
struct Heard {
    originator: Address,
    /// The highest number heard.
    highest: u32,
    /// A bit for each of the last 64 numbers, set if the number was heard. The lowest bit belongs to the highest
    /// number. Zero marks an empty slot.
    bits: u64,
    /// The time at which the originator's messages are forgotten.
    forget: Time,
}

impl Heard {
    const EMPTY: Self = Self { originator: Address::BROADCAST, highest: 0, bits: 0, forget: Time::ZERO };

    /// Notes a number. Returns whether the number is new.
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

/// The messages heard. An originator numbers its messages one by one, so that a window of bits holds the recent ones; a
/// number that has left the window counts as heard.
///
/// Each message of a flood is heard from every neighbour, and all copies but the first are only looked up here. The
/// search must be fast, so this is a hash table with open addressing. The slot is computed from the originator's
/// number. If the slot is taken, the next free slot is used. The order of the slots has no influence on results.
#[derive(Debug, Default)]
pub struct Duplicates {
    /// The slots: none, or a power of two, at most three quarters of them in use.
    places: Vec<Heard>,
    used: usize,
}

impl Duplicates {
    /// Notes a message, which is remembered until `forget`. Returns whether the message is new.
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

    /// Loads the slot of an originator into the processor's cache; the value means nothing.
    #[inline]
    #[must_use]
    pub fn prefetch(&self, originator: Address) -> u32 {
        self.places.get(self.first_place(originator)).map_or(0, |heard| heard.highest)
    }

    /// The slot at which the search for an originator starts.
    #[inline]
    fn first_place(&self, originator: Address) -> usize {
        // Fibonacci hashing: a factor of 2^32 divided by the golden ratio spreads consecutive numbers. The high bits
        // mix best.
        (originator.0.wrapping_mul(0x9E37_79B9) >> 16) as usize & self.places.len().wrapping_sub(1)
    }

    /// The slot of an originator, or the empty slot where it belongs.
    #[inline]
    fn find(&self, originator: Address) -> usize {
        let mask = self.places.len() - 1;
        let mut place = self.first_place(originator);
        while self.places[place].bits != 0 && self.places[place].originator != originator {
            place = (place + 1) & mask;
        }
        place
    }

    /// Makes room, and forgets old entries.
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
    fn a_message_is_new_once_until_it_is_forgotten() {
        let mut duplicates = Duplicates::default();
        let at = Time::from_nanos;
        let note = |duplicates: &mut Duplicates, id, now| duplicates.note(Address(3), id, at(now), at(now + 100));
        assert!(note(&mut duplicates, 7, 0));
        assert!(!note(&mut duplicates, 7, 50));
        assert!(note(&mut duplicates, 9, 60));
        assert!(note(&mut duplicates, 8, 61), "a message overtaken by a later one is new all the same");
        assert!(!note(&mut duplicates, 8, 62) && !note(&mut duplicates, 9, 62));
        assert!(duplicates.note(Address(4), 9, at(62), at(162)), "numbers belong to their originator");
        assert!(note(&mut duplicates, 9, 161), "100 ns after it was last heard of, the originator is forgotten");
        assert!(note(&mut duplicates, 1000, 170));
        assert!(!note(&mut duplicates, 9, 171), "what has left the window counts as heard");
    }

    proptest! {
        /// Against a list of all that was heard.
        #[test]
        fn many_originators_are_kept_apart(
            heard in prop::collection::vec((0_u32..60, 0_u32..6, 0_u64..40), 0..400),
        ) {
            let mut duplicates = Duplicates::default();
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
                prop_assert_eq!(duplicates.note(Address(originator * 4096), id, now, forget), new);
            }
        }
    }
}
