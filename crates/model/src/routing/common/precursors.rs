//! Who uses the routes through a node.

use crate::address::Address;

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

#[cfg(test)]
mod tests {
    use super::*;

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
}
