//! The energy that radios take, and the batteries of nodes.

use hopyard_engine::Span;
use hopyard_model::channel::energy as model;
use hopyard_model::params::{Fault, Params};
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

/// `[[sleep]]`: nodes whose radios sleep at given times.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Sleep {
    /// The numbers of these nodes.
    pub nodes: Vec<u32>,
    /// When their radios sleep, in order. A radio that is sending then sleeps when it has sent its frame.
    pub times: Vec<Interval>,
    /// After how long the times come again, until the end of the run; "0 s": never.
    pub every: Span,
}

/// A part of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Interval {
    /// When it begins, from the start of the run.
    pub from: Span,
    /// When it ends.
    pub to: Span,
}

section!(Sleep, |sleep| {
    let mut faults = Vec::new();
    let mut before = Span::ZERO;
    for (place, &Interval { from, to }) in sleep.times.iter().enumerate() {
        if to <= from {
            faults.push((place, format!("sleep from {from} to {to} has no length: it must end after it begins")));
        } else if from < before {
            faults.push((place, format!("sleep from {from} begins before the last one ends, which is at {before}")));
        }
        before = before.max(to);
    }
    Fault::of_elements("times", faults)?;
    if let Some(first) = sleep.times.first()
        && !sleep.every.is_zero()
        && before.saturating_sub(first.from) > sleep.every
    {
        let problem = format!(
            "expected \"0 s\" or at least {}, the time from the begin of the first sleep to the end of the last; found {}",
            before.saturating_sub(first.from),
            sleep.every
        );
        return Err(Fault::new("every", problem));
    }
    Ok(())
});
