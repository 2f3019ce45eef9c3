//! Reading state into the processor's cache before it is needed.
//!
//! With thousands of objects, little of their state is in the cache. If each event read the state of its own object,
//! every read would have to wait for the memory. Where the next objects are known, all are read at once, before any is
//! needed, and the waits overlap.

use std::hint;

/// Up to this number of objects, their state stays in the cache, and nothing is read ahead.
const CACHED: usize = 500;

/// An object whose state can be read ahead. `Cue` is what comes to the object soon.
pub trait Prefetch<Cue: ?Sized = ()> {
    /// Reads the state that the cue will need. The value has no meaning.
    #[inline]
    fn prefetch(&self, _cue: &Cue) -> u32 {
        0
    }
}

/// Whether so many objects are too many for the cache.
#[inline]
#[must_use]
pub const fn is_worth_reading_ahead(objects: usize) -> bool {
    objects > CACHED
}

/// Makes all the reads of an iterator over values of [`Prefetch::prefetch`], which the compiler could leave out.
#[inline]
pub fn read_ahead(reads: impl Iterator<Item = u32>) {
    hint::black_box(reads.fold(0, u32::wrapping_add));
}
