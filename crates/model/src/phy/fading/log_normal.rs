//! Log-normal shadowing.
//!
//! Read: T. S. Rappaport, Wireless Communications, 2nd edition 2002, §4.9. Each reception of each transmission is
//! shadowed independently, as in ns-2: draws are correlated neither in time nor in space. This models fading rather
//! than buildings. The median of the factor is one. Validated by its moments.

use hopyard_engine::units::Ratio;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::signal::{Fading, Signal};
use crate::params::{self, Fault};
use crate::phy::draws::Draws;

/// The largest distance of a draw from its mean, in standard deviations. A draw is cut there (twice in 10^9 draws), so
/// that a search limited to the strongest draw changes no decision.
const LIMIT: f64 = 6.0;

/// Parameters of log-normal shadowing.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Params {
    /// Standard deviation of the power.
    pub sigma: Ratio,
}

impl params::Params for Params {
    fn of_profile(_profile: &str) -> Self {
        Self { sigma: Ratio::from_db(4.0) }
    }

    fn check(&self) -> Result<(), Fault> {
        check("sigma", self.sigma)
    }
}

/// The check of a standard deviation.
pub fn check(parameter: &'static str, sigma: Ratio) -> Result<(), Fault> {
    match sigma.factor() < 1.0 {
        true => Err(Fault::new(parameter, format!("must not be negative, found {sigma}"))),
        false => Ok(()),
    }
}

/// The compiled form: the standard deviation of the natural logarithm of the power.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LogNormal(f64);

impl LogNormal {
    /// Compiles the parameters.
    #[must_use]
    pub fn new(params: &Params) -> Self {
        Self::of(params.sigma)
    }

    /// The model with this standard deviation.
    #[must_use]
    pub fn of(sigma: Ratio) -> Self {
        Self(libm::log(sigma.factor()))
    }
}

impl Fading for LogNormal {
    fn factor(&mut self, signal: &Signal) -> f64 {
        libm::exp(self.0 * Draws::of(signal.transmission).normal().clamp(-LIMIT, LIMIT))
    }

    fn limit(&self) -> f64 {
        libm::exp(self.0 * LIMIT)
    }

    fn is_none(&self) -> bool {
        self.0 == 0.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_has_its_standard_deviation_in_decibels() {
        let mut model = LogNormal::of(Ratio::from_db(4.0));
        let mut draw = |key: u64| 10.0 * libm::log10(model.factor(&Signal::keyed(key, 100.0)));
        let n = 200_000_u32;
        let draws: Vec<f64> = (0..n).map(|key| draw(u64::from(key))).collect();
        let n = f64::from(n);
        let mean = draws.iter().sum::<f64>() / n;
        let variance = draws.iter().map(|draw| (draw - mean) * (draw - mean)).sum::<f64>() / n;
        assert!(mean.abs() < 0.03, "mean {mean} dB");
        assert!((libm::sqrt(variance) - 4.0).abs() < 0.03, "standard deviation {} dB", libm::sqrt(variance));
        // Keys of the same transmission, and of the same receiver, differ in few bits: their draws must not be alike.
        for stride in [1, 1 << 32] {
            let covariance = draws.iter().zip(0..).map(|(it, key)| it * draw(key + stride)).sum::<f64>() / n;
            assert!((covariance / variance).abs() < 0.01, "correlation {}", covariance / variance);
        }
    }

    #[test]
    fn without_a_deviation_there_is_no_draw() {
        let mut model = LogNormal::of(Ratio::from_db(0.0));
        assert!(model.is_none() && model.factor(&Signal::keyed(17, 100.0)) == 1.0);
        assert!(!LogNormal::of(Ratio::from_db(0.1)).is_none());
    }
}
