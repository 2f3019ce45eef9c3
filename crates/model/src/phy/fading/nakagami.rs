//! Nakagami fading: the amplitude of a signal has Nakagami's distribution, and its power the gamma distribution.
//!
//! Read: M. Nakagami, The m-distribution, 1960; ns-3's documentation of `NakagamiPropagationLossModel`, for the three
//! distances and their defaults. With m = 1 it is Rayleigh fading; a larger m fades less. The mean of the factor is
//! one. All signals between two radios, in both directions, have the same factor for the coherence time, and
//! independent ones afterwards (block fading). Left out: correlation between blocks, and speed. Validated by its
//! moments and against the distribution of the power.

use hopyard_engine::Span;
use hopyard_engine::units::Distance;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::signal::{Fading, Signal};
use crate::params::{self, Fault};
use crate::phy::draws::{Draws, Gamma, mix};

/// The largest factor: a draw is cut there (with m = 0.5, once in 4·10^9 draws), so that a search limited to the
/// strongest draw changes no decision.
const LIMIT: f64 = 40.0;

/// Parameters of Nakagami fading.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Params {
    /// The parameter m at distances below `distance1`, at least 0.5.
    pub m0: f64,
    /// The parameter m from `distance1` to below `distance2`.
    pub m1: f64,
    /// The parameter m from `distance2` on.
    pub m2: f64,
    /// The first distance at which m changes.
    pub distance1: Distance,
    /// The second distance at which m changes.
    pub distance2: Distance,
    /// How long the signals between two radios fade alike; "0 s": each transmission fades anew.
    pub coherence: Span,
}

impl params::Params for Params {
    fn of_profile(_profile: &str) -> Self {
        Self {
            m0: 1.5,
            m1: 0.75,
            m2: 0.75,
            distance1: Distance::new(80.0),
            distance2: Distance::new(200.0),
            coherence: Span::ZERO,
        }
    }

    fn check(&self) -> Result<(), Fault> {
        for (parameter, m) in [("m0", self.m0), ("m1", self.m1), ("m2", self.m2)] {
            Fault::unless(parameter, m, |it| (0.5..=1000.0).contains(&it), "0.5 to 1000")?;
        }
        let least = self.distance1;
        Fault::unless("distance2", self.distance2, |it| it >= least, format_args!("at least `distance1`, {least}"))
    }
}

/// The compiled form.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Nakagami {
    m: [(f64, Gamma); 3],
    squares: [f64; 2],
    /// The coherence time in nanoseconds, at least one.
    block: u64,
}

impl Nakagami {
    /// Compiles the parameters.
    #[must_use]
    pub fn new(params: &Params) -> Self {
        Self {
            m: [params.m0, params.m1, params.m2].map(|m| (m, Gamma::of(m))),
            squares: [params.distance1, params.distance2].map(|it| it.metres() * it.metres()),
            block: params.coherence.nanos().max(1),
        }
    }
}

impl Fading for Nakagami {
    fn factor(&mut self, signal: &Signal) -> f64 {
        let [m0, m1, m2] = self.m;
        let (m, gamma) = match signal.distance_squared {
            near if near < self.squares[0] => m0,
            middle if middle < self.squares[1] => m1,
            _ => m2,
        };
        let key = mix(signal.pair) ^ (signal.at.nanos() / self.block);
        (gamma.draw(&mut Draws::of(key), signal.least * m) / m).min(LIMIT)
    }

    fn limit(&self) -> f64 {
        LIMIT
    }
}

#[cfg(test)]
mod tests {
    use hopyard_engine::Time;

    use super::*;
    use crate::params::{Params as _, RFC};

    #[test]
    fn powers_have_the_distribution_of_their_distance() {
        let params = Params { m2: 1.0, ..Params::of_profile(RFC) };
        let mut model = Nakagami::new(&params);
        // The share of powers below the mean, and below a tenth of it: P(m, m·x), with the incomplete gamma function.
        for (metres, m, below_mean, below_tenth) in
            [(79.9, 1.5, 0.608_37, 0.039_97), (80.0, 0.75, 0.651_59, 0.151_04), (200.0, 1.0, 0.632_12, 0.095_16)]
        {
            let draws: Vec<f64> = (0..200_000).map(|key| model.factor(&Signal::keyed(key, metres))).collect();
            let n = draws.len() as f64;
            let mean = draws.iter().sum::<f64>() / n;
            let variance = draws.iter().map(|it| (it - mean) * (it - mean)).sum::<f64>() / n;
            assert!((mean - 1.0).abs() < 0.01 && (variance * m - 1.0).abs() < 0.03, "{metres} m: {mean}, {variance}");
            let below = |limit: f64| draws.iter().filter(|&&it| it < limit).count() as f64 / n;
            assert!((below(1.0) - below_mean).abs() < 0.004, "{metres} m: {}", below(1.0));
            assert!((below(0.1) - below_tenth).abs() < 0.002, "{metres} m: {}", below(0.1));
        }
    }

    #[test]
    fn a_pair_fades_alike_for_the_coherence_time() {
        let params = Params { coherence: Span::from_millis(10), ..Params::of_profile(RFC) };
        let mut model = Nakagami::new(&params);
        let mut at = |pair, millis: u64, transmission| {
            let at = Time::from_nanos(millis * 1_000_000);
            model.factor(&Signal { transmission, pair, at, distance_squared: 1e4, ways: [0.0; 2], least: 0.0 })
        };
        assert_eq!(at(1, 0, 5), at(1, 9, 6));
        assert_ne!(at(1, 9, 5), at(1, 10, 5));
        assert_ne!(at(1, 0, 5), at(2, 0, 5));
    }

    #[test]
    fn impossible_values_are_named() {
        let fault = |change: fn(&mut Params)| crate::samples::fault(RFC, change).parameter;
        assert_eq!(fault(|it| it.m1 = 0.4), "m1");
        assert_eq!(fault(|it| it.distance2 = Distance::new(10.0)), "distance2");
    }
}
