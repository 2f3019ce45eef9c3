//! A slab: values in one array, accessed by small handles. It allocates no memory after it has reached its largest
//! size.

/// A handle to a value in a [`Slab`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Handle(u32);

impl Handle {
    /// The handle's index in the slab.
    #[must_use]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// Values in one array. Free places are reused; the place that was freed last is reused first.
#[derive(Clone, Debug)]
pub struct Slab<T> {
    entries: Vec<Option<T>>,
    free: Vec<u32>,
}

impl<T> Default for Slab<T> {
    fn default() -> Self {
        Self { entries: Vec::new(), free: Vec::new() }
    }
}

impl<T> Slab<T> {
    /// Stores a value.
    ///
    /// # Panics
    /// If the slab would hold more than 2^32 values.
    pub fn insert(&mut self, value: T) -> Handle {
        if let Some(index) = self.free.pop() {
            self.entries[index as usize] = Some(value);
            Handle(index)
        } else {
            let index = u32::try_from(self.entries.len()).expect("a slab holds at most 2^32 values");
            self.entries.push(Some(value));
            Handle(index)
        }
    }

    /// Removes and returns a value.
    ///
    /// # Panics
    /// If the value was removed before: a handle can be used once.
    pub fn remove(&mut self, handle: Handle) -> T {
        let value = self.entries[handle.index()].take().expect("the handle's value was taken out before");
        self.free.push(handle.0);
        value
    }

    /// Drops a value where it is.
    ///
    /// # Panics
    /// If the value was removed before: a handle can be used once.
    #[inline]
    pub fn discard(&mut self, handle: Handle) {
        let entry = &mut self.entries[handle.index()];
        assert!(entry.is_some(), "the handle's value was taken out before");
        *entry = None;
        self.free.push(handle.0);
    }

    /// The number of values.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len() - self.free.len()
    }

    /// Whether there is no value.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// All values with their handles, in order of handles.
    pub fn iter(&self) -> impl Iterator<Item = (Handle, &T)> {
        self.entries.iter().enumerate().filter_map(|(i, e)| e.as_ref().map(|value| (Handle(i as u32), value)))
    }
}

impl<T> std::ops::Index<Handle> for Slab<T> {
    type Output = T;
    #[inline]
    fn index(&self, handle: Handle) -> &T {
        self.entries[handle.index()].as_ref().expect("the handle's value was taken out before")
    }
}

impl<T> std::ops::IndexMut<Handle> for Slab<T> {
    #[inline]
    fn index_mut(&mut self, handle: Handle) -> &mut T {
        self.entries[handle.index()].as_mut().expect("the handle's value was taken out before")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_used_again() {
        let mut slab = Slab::default();
        let a = slab.insert("a");
        let b = slab.insert("b");
        assert_eq!((slab[a], slab[b], slab.len()), ("a", "b", 2));
        assert_eq!(slab.remove(a), "a");
        let c = slab.insert("c");
        assert_eq!(c.index(), a.index());
        assert_eq!(slab.iter().map(|(_, v)| *v).collect::<Vec<_>>(), ["c", "b"]);
        slab.discard(b);
        assert_eq!((slab.len(), slab.insert("d").index()), (1, b.index()));
    }

    #[test]
    #[should_panic(expected = "taken out before")]
    fn a_handle_is_used_once() {
        let mut slab = Slab::default();
        let a = slab.insert(1);
        slab.remove(a);
        let _ = slab[a];
    }

    #[test]
    #[should_panic(expected = "taken out before")]
    fn a_value_is_discarded_once() {
        let mut slab = Slab::default();
        let a = slab.insert(1);
        slab.discard(a);
        slab.discard(a);
    }
}
