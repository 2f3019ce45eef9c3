//! Nodes that only radiate.

use hopyard_engine::units::Power;
use hopyard_engine::{Span, Time};
use hopyard_model::address::NodeId;
use hopyard_model::params::{Fault, Params, RFC};
use hopyard_model::phy;
use hopyard_model::world::JammerSpec;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::flow_keys::Until;

/// `[[jammer]]`: nodes that only radiate. Others hear them as interference and as a busy medium; nobody decodes them,
/// and they send and receive no packets.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Jammer {
    /// The numbers of these nodes, which must be the last ones with a radio.
    pub nodes: Vec<u32>,
    /// The channel on which they radiate: 0 for that of `[radio]`, 1 for the first `[[channel]]`, and so on.
    pub channel: u16,
    /// The power that each radiates.
    pub transmit_power: Power,
    /// When the first period begins.
    pub from: Span,
    /// When they stop: a time, or "end" for the end of the run.
    pub until: Until,
    /// The length of a period.
    pub period: Span,
    /// The share of each period, from its beginning, in which they radiate; 1 for all the time.
    pub duty: f64,
}

impl Default for Jammer {
    fn default() -> Self {
        Self {
            nodes: Vec::new(),
            channel: 0,
            transmit_power: phy::Params::of_profile(RFC).transmit_power,
            from: Span::ZERO,
            until: Until::End,
            period: Span::from_millis(100),
            duty: 1.0,
        }
    }
}

/// The shortest time of radiation.
const SHORTEST: Span = Span::from_micros(1);

section!(Jammer, |jammer| {
    let (period, duty) = (jammer.period, jammer.duty);
    if !(duty > 0.0 && duty <= 1.0) {
        return Err(Fault::new("duty", format!("expected a share above 0, at most 1; found {duty}")));
    }
    if period.mul_f64(duty) < SHORTEST {
        let found = period.mul_f64(duty);
        return Err(Fault::new(
            "period",
            format!("expected at least {SHORTEST} of radiation in each period; {duty} of {period} is {found}"),
        ));
    }
    match jammer.until {
        Until::At(until) if until <= jammer.from => {
            Err(Fault::new("until", format!("expected more than `from`, {}; found {until}", jammer.from)))
        }
        _ => Ok(()),
    }
});

impl Jammer {
    /// Its nodes in a run of this duration.
    pub(crate) fn specs(&self, duration: Span) -> impl Iterator<Item = JammerSpec> + '_ {
        self.nodes.iter().map(move |&node| JammerSpec {
            node: NodeId(node),
            channel: self.channel,
            power: self.transmit_power,
            from: Time::ZERO + self.from,
            until: self.until.time(duration),
            period: self.period,
            on: self.period.mul_f64(self.duty),
        })
    }
}
