//! The destinations that a node looks for.

use crate::address::Address;

/// The notes of each destination that is looked for, by destination. Few nodes look for more than one.
#[derive(Debug)]
pub struct Searches<S>(Vec<(Address, S)>);

impl<S> Default for Searches<S> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<S: Default> Searches<S> {
    fn place(&self, destination: Address) -> Result<usize, usize> {
        self.0.binary_search_by_key(&destination, |search| search.0)
    }

    /// The search for a destination.
    pub fn get_mut(&mut self, destination: Address) -> Option<&mut S> {
        self.place(destination).ok().map(|place| &mut self.0[place].1)
    }

    /// The search for a destination, which is made if there is none.
    pub fn entry(&mut self, destination: Address) -> &mut S {
        let place = self.place(destination).unwrap_or_else(|place| {
            self.0.insert(place, (destination, S::default()));
            place
        });
        &mut self.0[place].1
    }

    /// Ends the search for a destination.
    pub fn remove(&mut self, destination: Address) -> Option<S> {
        self.place(destination).ok().map(|place| self.0.remove(place).1)
    }

    /// All searches with their destinations, in the order of these.
    pub fn iter(&self) -> impl Iterator<Item = (Address, &S)> {
        self.0.iter().map(|(destination, search)| (*destination, search))
    }
}
