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

/// More than rounding can change a product of a few numbers.
const SLACK: f64 = 1.0 + 1e-9;

/// The distance of a point with two normal coordinates from their origin: a uniform number above zero, whose logarithm
/// it is computed from.
#[derive(Clone, Copy, Debug)]
struct Radius(f64);

impl Radius {
    /// The largest value that its square can have. It is at most 0.12 above the value.
    #[inline]
    fn most_squared(self) -> f64 {
        // With the number as (1 + f) / 2^e, its logarithm is log(1 + f) - e log 2, and log(1 + f) is at least f log 2.
        let bits = self.0.to_bits();
        let exponent = 1023.0 - (bits >> 52) as f64;
        let fraction = f64::from_bits((bits & ((1 << 52) - 1)) | 1023 << 52) - 1.0;
        2.0 * std::f64::consts::LN_2 * (exponent - fraction)
    }
}

/// A coordinate of the point at a radius, in the direction that is given as a part of a turn.
#[inline]
fn normal(radius: Radius, turn: f64) -> f64 {
    libm::sqrt(-2.0 * libm::log(radius.0)) * libm::cos(2.0 * std::f64::consts::PI * turn)
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
        let radius = self.radius();
        normal(radius, self.uniform())
    }

    fn radius(&mut self) -> Radius {
        Radius((self.bits() + 1.0) * UNIT)
    }
}

/// The gamma distribution of a shape, with scale one (Marsaglia and Tsang 2000).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Gamma {
    shape: f64,
    d: f64,
    c: f64,
}

impl Gamma {
    /// The distribution of this shape.
    #[must_use]
    pub fn of(shape: f64) -> Self {
        // A shape below one is drawn with the shape that is larger by one.
        let d = if shape < 1.0 { shape + 1.0 } else { shape } - 1.0 / 3.0;
        Self { shape, d, c: 1.0 / libm::sqrt(9.0 * d) }
    }

    /// A draw. A result below `least` is not exact, only below `least`: where bounds show this, the slow functions are
    /// not computed.
    #[must_use]
    pub fn draw(&self, draws: &mut Draws, least: f64) -> f64 {
        if self.shape >= 1.0 {
            return self.above_one(draws, least);
        }
        let uniform = 1.0 - draws.uniform();
        let found = self.above_one(draws, least / uniform);
        // The exponent is above one, and the base at most one.
        if uniform * found * SLACK < least {
            return 0.0;
        }
        libm::pow(uniform, 1.0 / self.shape) * found
    }

    fn above_one(&self, draws: &mut Draws, least: f64) -> f64 {
        let Self { d, c, .. } = *self;
        loop {
            let (radius, turn) = (draws.radius(), draws.uniform());
            let most = radius.most_squared();
            // Then 1 + c x is above zero for every x of this radius, and the next number decides.
            let decides = (c * c * most * SLACK < 1.0).then(|| draws.uniform());
            let accepts = |x_squared: f64| {
                // A bound of the comparison of logarithms below, for every d from 2/3 on (Marsaglia and Tsang 2000).
                decides.is_some_and(|uniform| uniform > 0.0331 * x_squared * x_squared + (SLACK - 1.0))
            };
            if accepts(most) {
                let largest = if (0.25..=0.75).contains(&turn) { 1.0 } else { 1.0 + c * most.sqrt() };
                if d * largest * largest * largest * SLACK < least {
                    return 0.0;
                }
            }
            let x = normal(radius, turn);
            let root = 1.0 + c * x;
            let v = root * root * root;
            if v <= 0.0 {
                continue;
            }
            if accepts(x * x) {
                return d * v;
            }
            let uniform = decides.unwrap_or_else(|| draws.uniform());
            if libm::log(1.0 - uniform) < 0.5 * x * x + d * (1.0 - v + libm::log(v)) {
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
            let found = moments(|key| Gamma::of(shape).draw(&mut Draws::of(key), 0.0));
            assert!(close(found, (shape, shape)), "{shape}: {found:?}");
        }
    }

    #[test]
    fn a_sequence_depends_on_its_key_alone() {
        let of = |key| {
            let mut draws = Draws::of(key);
            [draws.uniform(), draws.normal(), Gamma::of(0.75).draw(&mut draws, 0.0)].map(f64::to_bits)
        };
        assert_eq!(of(17), of(17));
        assert!(of(17).iter().zip(of(18)).all(|(one, other)| *one != other));
    }

    /// The method as it is published, without a bound.
    fn gamma(draws: &mut Draws, shape: f64) -> f64 {
        if shape < 1.0 {
            let power = libm::pow(1.0 - draws.uniform(), 1.0 / shape);
            return power * gamma(draws, shape + 1.0);
        }
        let d = shape - 1.0 / 3.0;
        let c = 1.0 / libm::sqrt(9.0 * d);
        loop {
            let x = draws.normal();
            let root = 1.0 + c * x;
            let v = root * root * root;
            if v > 0.0 && libm::log(1.0 - draws.uniform()) < 0.5 * x * x + d * (1.0 - v + libm::log(v)) {
                return d * v;
            }
        }
    }

    #[test]
    fn bounds_change_no_draw_that_matters() {
        for shape in [0.5, 0.75, 0.999, 1.0, 1.5, 4.0, 1000.0] {
            let (mut below, mut zero) = (0, 0);
            for key in 0..100_000 {
                let expected = gamma(&mut Draws::of(key), shape);
                let all = Gamma::of(shape).draw(&mut Draws::of(key), 0.0);
                assert_eq!(all.to_bits(), expected.to_bits(), "{shape}, {key}");
                // From far below the draw to far above, and at its very value.
                for least in [0.5, 1.0, 2.0].map(|part| part * expected).into_iter().chain([0.1, 1.0, 5.0]) {
                    let found = Gamma::of(shape).draw(&mut Draws::of(key), least);
                    assert!(
                        if expected < least { found < least } else { found == expected },
                        "{shape}, {key}, {least}"
                    );
                    below += u32::from(expected < least);
                    zero += u32::from(found == 0.0);
                }
            }
            // The bounds are of use.
            assert!(zero > below / 5, "{shape}: {zero} of {below}");
        }
    }

    #[test]
    fn a_radius_is_below_its_bound() {
        for key in 0..100_000 {
            let radius = Draws::of(key).radius();
            let (square, most) = (-2.0 * libm::log(radius.0), radius.most_squared());
            assert!(square <= most * SLACK && most < square + 0.13, "{square} {most}");
        }
        assert_eq!(Radius(1.0).most_squared(), 0.0);
    }
}
