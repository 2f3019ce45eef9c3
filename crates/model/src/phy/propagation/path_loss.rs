//! The trait of every path loss model.

use hopyard_engine::units::{Frequency, Ratio};

use crate::mobility::Position;
use crate::params::Fault;
use crate::phy::fading::log_normal::LogNormal;

/// Metres per second, rounded as in ns-2, whose wavelengths and propagation delays the `ns2` profile must meet.
pub const SPEED_OF_LIGHT: f64 = 3e8;

/// A path loss model, ready for use.
pub trait PathLoss: Copy {
    /// Whether the gain depends on the places of both ends ([`PathLoss::between`]) and not on their distance alone.
    const SITED: bool = false;

    /// The median of received power over transmitted power, at this distance squared in m². At most one, and falling
    /// with distance. Where places count, this is the most at a distance.
    fn gain(&self, distance_squared: f64) -> f64;

    /// The gain between two places, which is equal in both directions.
    fn between(&self, one: Position, other: Position) -> f64 {
        self.gain(one.distance_squared(other))
    }

    /// The gains at each of these distances squared. They replace the content of `gains`.
    fn gains(&self, squares: &[f64], gains: &mut Vec<f64>) {
        // A model in registers. Of fields in memory, the compiler would load the one that a distance selects, and
        // compute the gains one by one.
        let model = *self;
        gains.clear();
        gains.extend(squares.iter().map(|&squared| model.gain(squared)));
    }

    /// The distance in metres beyond which no gain is as high as `gain`.
    fn reach(&self, gain: f64) -> f64;

    /// The fading that belongs to the model, if it has any.
    fn shadowing(&self) -> Option<LogNormal> {
        None
    }
}

/// The carrier of the signals, which a model's parameters may say.
pub trait Carrier {
    /// Whether all signals that arrive have about the same power, so that no ratio of powers means anything.
    const EQUAL_POWERS: bool = false;

    /// Whether all antennas are taken as equally high, wherever the nodes are.
    const EQUAL_HEIGHTS: bool = false;

    /// Its frequency, if the model depends on it.
    fn frequency(&self) -> Option<Frequency> {
        None
    }
}

/// Friis's equation without the distance: (λ/4π)² · G² / L, in m².
pub(super) fn friis(frequency: Frequency, antenna_gain: Ratio, system_loss: Ratio) -> f64 {
    let wavelength = SPEED_OF_LIGHT / frequency.hertz();
    let root = wavelength / (4.0 * std::f64::consts::PI) * antenna_gain.factor();
    root * root / system_loss.factor()
}

/// The check that all of these are above zero.
pub(super) fn positive(values: &[(&'static str, f64)]) -> Result<(), Fault> {
    match values.iter().find(|(_, value)| !(*value > 0.0 && value.is_finite())) {
        Some((parameter, value)) => Err(Fault::new(parameter, format!("must be above zero, found {value}"))),
        None => Ok(()),
    }
}
