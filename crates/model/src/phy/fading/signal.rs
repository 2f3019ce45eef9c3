//! The trait of every model of fading.

use hopyard_engine::Time;

/// A signal on its way from a transmitter to a hearer.
#[derive(Clone, Copy, Debug)]
pub struct Signal {
    /// A key of the transmission and the hearer.
    pub transmission: u64,
    /// A key of the two radios, equal for both directions.
    pub pair: u64,
    /// The time at which the transmission begins.
    pub at: Time,
    /// The square of the distance, in square metres.
    pub distance_squared: f64,
    /// The metres that each of the two radios has travelled so far, in an order that is equal for both directions.
    pub ways: [f64; 2],
    /// The factor below which the signal is not heard. In the place of a smaller one, a model may give any number below
    /// this one, if that is computed faster.
    pub least: f64,
}

/// A model of fading, ready for use.
pub trait Fading: Clone {
    /// The factor on the power of a signal. The same signal always has the same factor. A model may keep intermediate
    /// values.
    fn factor(&mut self, signal: &Signal) -> f64;

    /// The largest factor, which is never exceeded. The search for hearers looks as far as a signal with this factor
    /// can be heard.
    fn limit(&self) -> f64;

    /// Whether the factor is always one: the model is then left out of a run. A model that only weakens signals has a
    /// limit of one and is not such a model.
    fn is_none(&self) -> bool {
        false
    }
}

#[cfg(test)]
impl Signal {
    /// The signal of a transmission of a key, over a distance in metres.
    pub const fn keyed(key: u64, metres: f64) -> Self {
        let ways = [key as f64, 0.0];
        Self {
            transmission: key,
            pair: 7,
            at: Time::from_nanos(key),
            distance_squared: metres * metres,
            ways,
            least: 0.0,
        }
    }
}
