//! The digest of a run: 64 bits that change if anything in the run changes.
//!
//! The digest is not a cryptographic hash. Each word is added with a multiplication and a rotation. This takes about a
//! nanosecond, so that every run can have a digest. Two runs with the same digest did the same things in the same
//! order.

/// A running 64-bit digest of a sequence of words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Digest(u64);

/// An odd constant whose ones and zeros are evenly distributed: the fraction of the golden ratio.
const SPREAD: u64 = 0x9E37_79B9_7F4A_7C15;

impl Default for Digest {
    fn default() -> Self {
        Self(SPREAD)
    }
}

impl Digest {
    /// Adds one word to the digest.
    #[inline]
    pub fn fold(&mut self, word: u64) {
        self.0 = (self.0 ^ word).wrapping_mul(SPREAD).rotate_left(29);
    }

    /// The digest of all words so far. A last mixing step makes the last words change every bit.
    #[must_use]
    pub fn value(self) -> u64 {
        let mut x = self.0;
        x = (x ^ (x >> 32)).wrapping_mul(SPREAD);
        x = (x ^ (x >> 29)).wrapping_mul(SPREAD);
        x ^ (x >> 32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(words: &[u64]) -> u64 {
        let mut digest = Digest::default();
        for &word in words {
            digest.fold(word);
        }
        digest.value()
    }

    #[test]
    fn order_and_every_word_count() {
        assert_ne!(of(&[1, 2, 3]), of(&[1, 3, 2]));
        assert_ne!(of(&[1, 2, 3]), of(&[1, 2]));
        assert_ne!(of(&[1, 2, 3]), of(&[1, 2, 4]));
        assert_eq!(of(&[1, 2, 3]), of(&[1, 2, 3]));
    }

    #[test]
    fn value_is_pinned() {
        // A stored digest must stay comparable between versions of this crate.
        assert_eq!(of(&[]), Digest::default().value());
        assert_eq!(of(&[7, 11]), 0x7F0B_2C5E_733B_20C6, "{:#x}", of(&[7, 11]));
    }
}
