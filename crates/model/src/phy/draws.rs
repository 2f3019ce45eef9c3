//! Draws that depend on a key alone, and not on any draw before: fading of a pair of radios does not depend on who
//! else sends.

/// 2^64 over the golden ratio: the step between SplitMix64's states.
const STEP: u64 = 0x9e37_79b9_7f4a_7c15;
/// The distance between two numbers that [`Draws::uniform`] may give.
const UNIT: f64 = 1.0 / (1_u64 << 53) as f64;

/// The output function of SplitMix64 (Steele, Lea, Flood 2014): every bit of the key reaches every bit of the result.
#[inline]
#[must_use]
pub const fn mix(key: u64) -> u64 {
    let key = (key ^ (key >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let key = (key ^ (key >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    key ^ (key >> 31)
}

/// A sequence of draws that depends on a key. The bits of keys need not look random.
#[derive(Clone, Copy, Debug)]
pub struct Draws {
    state: u64,
}

impl Draws {
    /// The sequence of a key.
    #[inline]
    #[must_use]
    pub const fn of(key: u64) -> Self {
        // The key itself is mixed first: keys one step apart would otherwise share a half of their draws.
        Self { state: mix(key ^ STEP) }
    }

    /// 53 bits, as a number.
    #[inline]
    fn bits(&mut self) -> f64 {
        self.state = self.state.wrapping_add(STEP);
        (mix(self.state) >> 11) as f64
    }

    /// A uniform number from zero up to one, which is never drawn.
    #[inline]
    #[must_use]
    pub fn uniform(&mut self) -> f64 {
        self.bits() * UNIT
    }

    /// A standard normal deviate (Box and Muller 1958).
    #[must_use]
    pub fn normal(&mut self) -> f64 {
        let radius = libm::sqrt(-2.0 * libm::log((self.bits() + 1.0) * UNIT));
        let angle = 2.0 * std::f64::consts::PI * self.uniform();
        radius * libm::cos(angle)
    }

    /// A draw of the gamma distribution of this shape and scale one (Marsaglia and Tsang 2000).
    #[must_use]
    pub fn gamma(&mut self, shape: f64) -> f64 {
        if shape < 1.0 {
            let power = libm::pow(1.0 - self.uniform(), 1.0 / shape);
            return power * self.gamma(shape + 1.0);
        }
        let d = shape - 1.0 / 3.0;
        let c = 1.0 / libm::sqrt(9.0 * d);
        loop {
            let x = self.normal();
            let root = 1.0 + c * x;
            let v = root * root * root;
            if v > 0.0 && libm::log(1.0 - self.uniform()) < 0.5 * x * x + d * (1.0 - v + libm::log(v)) {
                return d * v;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn moments(draw: impl Fn(u64) -> f64) -> (f64, f64) {
        const N: u64 = 200_000;
        let draws: Vec<f64> = (0..N).map(draw).collect();
        let mean = draws.iter().sum::<f64>() / N as f64;
        (mean, draws.iter().map(|draw| (draw - mean) * (draw - mean)).sum::<f64>() / N as f64)
    }

    #[test]
    fn draws_have_the_moments_of_their_distributions() {
        let close = |(mean, variance): (f64, f64), expected: (f64, f64)| {
            (mean - expected.0).abs() < 0.01 && (variance / expected.1 - 1.0).abs() < 0.02
        };
        assert!(close(moments(|key| Draws::of(key).uniform()), (0.5, 1.0 / 12.0)));
        assert!(close(moments(|key| Draws::of(key).normal()), (0.0, 1.0)));
        for shape in [0.5, 0.75, 1.0, 1.5, 4.0] {
            let found = moments(|key| Draws::of(key).gamma(shape));
            assert!(close(found, (shape, shape)), "{shape}: {found:?}");
        }
    }

    #[test]
    fn a_sequence_depends_on_its_key_alone() {
        let of = |key| {
            let mut draws = Draws::of(key);
            [draws.uniform(), draws.normal(), draws.gamma(0.75)].map(f64::to_bits)
        };
        assert_eq!(of(17), of(17));
        assert!(of(17).iter().zip(of(18)).all(|(one, other)| *one != other));
    }
}
