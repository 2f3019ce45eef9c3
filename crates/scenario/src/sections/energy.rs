//! The energy that radios take, and the batteries of nodes.

use hopyard_model::channel::energy as model;
use hopyard_model::params::Params;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// `[energy]`: the energy that radios take; the parameters of the model are in `[energy.NAME]`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Energy {
    /// How energy is counted: "off", "state" or "per_packet".
    pub model: String,
    /// The energy in the full battery of every node with a radio: one such as "100 J", or "endless". A node whose
    /// battery is empty stops.
    pub battery: model::Battery,
}

impl Default for Energy {
    fn default() -> Self {
        Self { model: "off".to_owned(), battery: model::Battery::Endless }
    }
}

section!(Energy);

/// `[[battery]]`: nodes with another battery than the rest.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Battery {
    /// The numbers of these nodes.
    pub nodes: Vec<u32>,
    /// The energy in each one's full battery, such as "100 J", or "endless".
    pub capacity: model::Battery,
}

section!(Battery);
