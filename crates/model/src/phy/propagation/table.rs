//! Path loss from a file: the links of [`crate::phy::links`].
//!
//! The file names the pairs of nodes that hear each other. Positions count in propagation delays alone. A range in
//! metres means the power that free space leaves at that distance. Validated against the closed forms of delivery
//! ratios with retries.

use hopyard_engine::units::{Frequency, Ratio};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Carrier, PathLoss, free_space};
use crate::params::{self, NS2, RFC};
use crate::phy::links::{Between, Format, Reading};

/// The file, and the way to read it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Params {
    /// The file, relative to the folder of the scenario; ".gz" files are decompressed.
    pub path: String,
    /// Its format: "csv", "eel" (EMANE), "wmediumd", "matrix" (losses in decibels), or "detect".
    pub format: Format,
    /// The value between two times of a pair: "hold" (the earlier value), "linear", or "detect" (EMANE's files hold,
    /// and all others are linear).
    pub between: Between,
    /// The number that the scenario's first node has in the file; EMANE counts from one.
    pub first_node: u32,
}

impl params::Params for Params {
    const PROFILES: &'static [&'static str] = &[RFC, NS2];

    fn of_profile(_profile: &str) -> Self {
        let Reading { format, between, first_node } = Reading::default();
        Self { path: String::new(), format, between, first_node }
    }
}

impl Params {
    /// How the file is to be read.
    #[must_use]
    pub const fn reading(&self) -> Reading {
        Reading { format: self.format, between: self.between, first_node: self.first_node }
    }
}

impl Carrier for Params {}

/// The compiled form: free space, for ranges in metres.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Table(free_space::FreeSpace);

impl Table {
    /// Compiles the parameters.
    #[must_use]
    pub fn new(_params: &Params) -> Self {
        let isotropic = Ratio::from_factor(1.0);
        Self(free_space::FreeSpace::new(&free_space::Params {
            frequency: Frequency::new(2412e6),
            antenna_gain: isotropic,
            system_loss: isotropic,
        }))
    }
}

impl PathLoss for Table {
    fn gain(&self, distance_squared: f64) -> f64 {
        self.0.gain(distance_squared)
    }

    fn reach(&self, gain: f64) -> f64 {
        self.0.reach(gain)
    }
}
