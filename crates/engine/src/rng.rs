//! Random streams, each with a name that states its purpose.
//!
//! A stream is seeded by a hash of (seed, run, name), such as `"node/7/backoff"`. Adding a node or changing the TCP
//! variant therefore changes no other stream, and compared variants have the same movement and the same channel. The
//! hash is XXH3 and the generator is xoshiro256++. Both are specified, so that results do not depend on the platform or
//! on a library.

use rand_core::{RngCore, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use xxhash_rust::xxh3::xxh3_64_with_seed;

/// The source of all random streams of one run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Streams {
    root: u64,
}

impl Streams {
    /// The streams of run number `run` with this seed.
    #[must_use]
    pub fn new(seed: u64, run: u64) -> Self {
        Self { root: xxh3_64_with_seed(&run.to_le_bytes(), seed) }
    }

    /// The stream of this name, from its beginning.
    #[must_use]
    pub fn stream(&self, name: &str) -> Rng {
        Rng(Xoshiro256PlusPlus::seed_from_u64(xxh3_64_with_seed(name.as_bytes(), self.root)))
    }

    /// The stream `node/<node>/<purpose>`.
    #[must_use]
    pub fn node(&self, node: usize, purpose: &str) -> Rng {
        self.stream(&format!("node/{node}/{purpose}"))
    }
}

/// One random stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rng(Xoshiro256PlusPlus);

impl Rng {
    /// The next 64 random bits.
    #[inline]
    pub fn next_u64(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// A real number, uniform in [0, 1), with 53 random bits.
    #[inline]
    pub fn uniform(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 * (1.0 / (1_u64 << 53) as f64)
    }

    /// A real number, uniform in [low, high).
    #[inline]
    pub fn uniform_in(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.uniform()
    }

    /// An integer, uniform in [0, bound), without bias (Lemire 2019). `bound` must not be zero.
    #[inline]
    pub fn below(&mut self, bound: u64) -> u64 {
        debug_assert!(bound > 0, "an empty range has no random element");
        loop {
            let product = u128::from(self.next_u64()) * u128::from(bound);
            let low = product as u64;
            // Without the first (2^64 mod bound) products, each result has the same number of products.
            if low >= bound || low >= bound.wrapping_neg() % bound {
                return (product >> 64) as u64;
            }
        }
    }

    /// A standard normal deviate (polar method). `libm` gives the same value on every platform.
    pub fn normal(&mut self) -> f64 {
        loop {
            let (u, v) = (self.uniform_in(-1.0, 1.0), self.uniform_in(-1.0, 1.0));
            let s = u * u + v * v;
            if s > 0.0 && s < 1.0 {
                return u * libm::sqrt(-2.0 * libm::log(s) / s);
            }
        }
    }

    /// An exponential deviate with this mean.
    pub fn exponential(&mut self, mean: f64) -> f64 {
        -mean * libm::log(1.0 - self.uniform())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_depend_on_seed_run_and_name_alone() {
        let first = |seed, run, name: &str| Streams::new(seed, run).stream(name).next_u64();
        assert_eq!(first(1, 0, "node/7/backoff"), first(1, 0, "node/7/backoff"));
        assert_ne!(first(1, 0, "node/7/backoff"), first(1, 0, "node/8/backoff"));
        assert_ne!(first(1, 0, "node/7/backoff"), first(1, 1, "node/7/backoff"));
        assert_ne!(first(1, 0, "node/7/backoff"), first(2, 0, "node/7/backoff"));
        assert_eq!(Streams::new(1, 0).node(7, "backoff"), Streams::new(1, 0).stream("node/7/backoff"));
    }

    #[test]
    fn below_is_uniform() {
        let mut rng = Streams::new(3, 0).stream("test");
        let mut counts = [0_u32; 31];
        for _ in 0..310_000 {
            counts[rng.below(31) as usize] += 1;
        }
        // Chi-square with 30 degrees of freedom: one value in a thousand is above 59.7.
        let chi2: f64 = counts.iter().map(|&c| (f64::from(c) - 1e4).powi(2) / 1e4).sum();
        assert!(chi2 < 59.7, "chi-square {chi2}");
    }

    #[test]
    fn deviates_have_their_moments() {
        let mut rng = Streams::new(3, 0).stream("moments");
        let n = 200_000;
        let (mut sum, mut squares, mut exponential) = (0.0, 0.0, 0.0);
        for _ in 0..n {
            let x = rng.normal();
            sum += x;
            squares += x * x;
            exponential += rng.exponential(2.0);
        }
        let n = f64::from(n);
        assert!((sum / n).abs() < 0.01);
        assert!((squares / n - 1.0).abs() < 0.02);
        assert!((exponential / n - 2.0).abs() < 0.02);
    }
}
