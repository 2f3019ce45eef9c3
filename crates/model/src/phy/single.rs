//! Single nodes whose radio differs from the others' of its channel: power, antenna gain, sensitivity.

use std::collections::BTreeSet;

use hopyard_engine::units::{Power, Ratio};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::sensitivity::Sensitivity;
use crate::params::Fault;

/// Nodes whose radio differs from the others'.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Single {
    /// The numbers of these nodes.
    pub nodes: Vec<u32>,
    /// Their transmitted power; the power of the channel's radios if it is not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transmit_power: Option<Power>,
    /// Their antenna gain, with which they send and receive.
    #[serde(default = "none", skip_serializing_if = "is_none")]
    pub gain: Ratio,
    /// Their sensitivity: the weakest data frame that they can decode, as a range or a power, without the gain of
    /// their antennas. It is that of the channel's radios if it is not given. It moves their other thresholds and their
    /// noise by as many decibels.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub receive: Option<Sensitivity>,
}

const fn none() -> Ratio {
    Ratio::from_factor(1.0)
}

fn is_none(gain: &Ratio) -> bool {
    *gain == none()
}

/// The largest gain or loss of an antenna.
const MOST_GAIN: f64 = 1e10;

/// Checks a list of single nodes beside others that have this transmitted power.
///
/// # Errors
/// Every element that is impossible, and why.
pub(super) fn check(list: &[Single], transmit_power: Power) -> Result<(), Fault> {
    let mut seen = BTreeSet::new();
    let sent = |it: &Single| it.transmit_power.unwrap_or(transmit_power).watts() * it.gain.factor();
    // A signal is never received with more power than another node sent, but for the gain of the antenna.
    let threshold = |place: usize, it: &Single| match it.receive? {
        Sensitivity::Threshold(power) => {
            let others = list.iter().enumerate().filter(|(other, its)| *other != place || its.nodes.len() > 1);
            let strongest = others.map(|(_, its)| sent(its)).fold(transmit_power.watts(), f64::max);
            let most = Power::from_watts(strongest * it.gain.factor());
            (power.watts() >= most.watts())
                .then(|| format!("expected `receive` below the strongest power that is sent, {most}; found {power}"))
        }
        receive => receive.beyond_horizon(),
    };
    let faults = list.iter().enumerate().flat_map(|(place, it)| {
        let twice = it.nodes.iter().copied().filter(|node| !seen.insert(*node)).last();
        let gain = it.gain.factor();
        let faults = [
            it.nodes.is_empty().then(|| "expected at least one node in `nodes`".to_owned()),
            twice.map(|node| format!("expected each node once in `nodes`, found node {node} again")),
            (!(1.0 / MOST_GAIN..=MOST_GAIN).contains(&gain))
                .then(|| format!("expected a `gain` of -100 to 100 dB, found {}", it.gain)),
            (it.transmit_power.is_none() && is_none(&it.gain) && it.receive.is_none())
                .then(|| "expected `transmit_power`, `gain` or `receive`: the radios differ in nothing".to_owned()),
            threshold(place, it).map(|fault| fault.replacen("a range", "a `receive`", 1)),
        ];
        faults.into_iter().flatten().map(move |fault| (place, fault)).collect::<Vec<_>>()
    });
    Fault::of_elements("single", faults.collect())
}
