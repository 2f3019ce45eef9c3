//! A table with an entry for each destination.

use std::fmt::Debug;

use hopyard_engine::Time;

use crate::address::Address;

/// A hop count that means "not known", as ns-2 has it.
pub const INFINITY: u8 = 255;

/// The entry of a table for a destination.
pub trait Entry: Debug {
    /// The entry of a destination at first: nothing is known.
    fn new(destination: Address) -> Self;

    /// The destination.
    fn destination(&self) -> Address;

    /// Whether there is a valid route.
    fn is_up(&self) -> bool;

    /// The next hop and the hops of the valid route.
    fn route(&self) -> Option<(Address, u8)>;
}

/// Entries by destination.
#[derive(Debug)]
pub struct Table<E> {
    entries: Vec<E>,
    /// Nothing expires before this time.
    next_expiry: Time,
}

impl<E> Default for Table<E> {
    fn default() -> Self {
        Self { entries: Vec::new(), next_expiry: Time::NEVER }
    }
}

impl<E: Entry> Table<E> {
    fn place(&self, destination: Address) -> Result<usize, usize> {
        self.entries.binary_search_by_key(&destination, E::destination)
    }

    /// The entry of a destination.
    #[inline]
    #[must_use]
    pub fn get(&self, destination: Address) -> Option<&E> {
        self.place(destination).ok().map(|place| &self.entries[place])
    }

    /// The entry of a destination, to be changed. A new expiry is told to [`Table::expires`].
    #[inline]
    pub fn get_mut(&mut self, destination: Address) -> Option<&mut E> {
        self.place(destination).ok().map(|place| &mut self.entries[place])
    }

    /// The entry of a destination to which there is a valid route.
    #[inline]
    #[must_use]
    pub fn up(&self, destination: Address) -> Option<&E> {
        self.get(destination).filter(|entry| entry.is_up())
    }

    /// The entry of a destination, which is made if there is none.
    pub fn entry(&mut self, destination: Address) -> &mut E {
        let place = self.place(destination).unwrap_or_else(|place| {
            self.entries.insert(place, E::new(destination));
            place
        });
        &mut self.entries[place]
    }

    /// Something now expires at this time.
    #[inline]
    pub fn expires(&mut self, at: Time) {
        self.next_expiry = self.next_expiry.min(at);
    }

    /// A time before which nothing expires.
    #[inline]
    #[must_use]
    pub const fn next_expiry(&self) -> Time {
        self.next_expiry
    }

    /// Makes [`Table::next_expiry`] exact: the least of the times that `expiry` gives.
    pub fn find_next_expiry(&mut self, expiry: impl Fn(&E) -> Option<Time>) {
        self.next_expiry = self.entries.iter().filter_map(expiry).min().unwrap_or(Time::NEVER);
    }

    /// Every entry, by destination.
    pub fn iter(&self) -> impl Iterator<Item = &E> {
        self.entries.iter()
    }

    /// Every entry, by destination, to be changed.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut E> {
        self.entries.iter_mut()
    }

    /// Forgets the entries that are not kept.
    pub fn retain(&mut self, keep: impl FnMut(&E) -> bool) {
        self.entries.retain(keep);
    }
}
