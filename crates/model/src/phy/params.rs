//! Parameters of the radio: power, sensitivity, reception.

use std::collections::BTreeMap;
use std::fmt;

use hopyard_engine::units::{Distance, Power, Ratio};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, de};

use super::error_rate::thermal_noise;
use super::mode::{Mode, Name};
use super::propagation::Channel;
use super::reception::{Receiver, Reception};
use super::sensitivity::Sensitivity;
use super::single::{self, Single};
use crate::params::{self, Fault, Unused, unused_where};

/// The weakest frame that can be decoded, which may depend on its mode.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Receive {
    /// In every mode.
    Every(Sensitivity),
    /// In each of these modes.
    ByMode(BTreeMap<Name, Sensitivity>),
}

const RECEIVE: &str = "a range such as \"250 m\", a power such as \"-64 dBm\", or one of them for each mode, such as \
                       { \"1 Mbps\" = \"250 m\", \"11 Mbps\" = \"100 m\" } or { \"6 Mbps\" = \"250 m\", mcs7 = \"60 m\" }";

impl Receive {
    /// Every value.
    pub fn values(&self) -> impl Iterator<Item = Sensitivity> {
        let (every, by_mode) = match self {
            Self::Every(value) => (Some(*value), None),
            Self::ByMode(values) => (None, Some(values.values().copied())),
        };
        every.into_iter().chain(by_mode.into_iter().flatten())
    }

    /// The value for a mode; nothing if none is given for it.
    #[must_use]
    pub fn of(&self, mode: &Mode) -> Option<Sensitivity> {
        match self {
            Self::Every(value) => Some(*value),
            Self::ByMode(values) => values.get(&mode.name()).copied(),
        }
    }
}

impl From<Sensitivity> for Receive {
    fn from(value: Sensitivity) -> Self {
        Self::Every(value)
    }
}

impl<'de> Deserialize<'de> for Receive {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl<'de> de::Visitor<'de> for Visitor {
            type Value = Receive;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(RECEIVE)
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<Receive, E> {
                text.parse().map(Receive::Every).map_err(|_| E::invalid_value(de::Unexpected::Str(text), &self))
            }
            fn visit_map<A: de::MapAccess<'de>>(self, mut map: A) -> Result<Receive, A::Error> {
                let mut values = BTreeMap::new();
                while let Some((name, value)) = map.next_entry::<Name, Sensitivity>()? {
                    if values.insert(name, value).is_some() {
                        return Err(de::Error::custom(format!("{name} is given twice")));
                    }
                }
                Ok(Receive::ByMode(values))
            }
        }
        deserializer.deserialize_any(Visitor)
    }
}

impl JsonSchema for Receive {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Receive".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": ["string", "object"],
            "description": RECEIVE,
            "additionalProperties": { "type": "string" },
            "examples": ["250 m", "-64 dBm", { "1 Mbps": "250 m", "11 Mbps": "100 m" }],
        })
    }
}

/// Parameters of every radio.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Params {
    /// Transmitted power.
    pub transmit_power: Power,
    /// The weakest frame that can be decoded, as a range or a power: one for all frames, or one for each mode.
    pub receive: Receive,
    /// The weakest signal that makes the medium busy, as a range or a power. Weaker signals are ignored, also as
    /// interference.
    pub sense: Sensitivity,
    /// By how much a frame must be stronger than another to be received in spite of it.
    pub capture: Ratio,
    /// Which frames can be decoded.
    pub reception: Reception,
    /// The ratio of signal to noise and interference at which a receiver finds a preamble; for "sinr" only.
    pub preamble_sinr: Ratio,
    /// Noise figure of the receiver; for "sinr" only.
    pub noise_figure: Ratio,
    /// A file with error rates (CSV with the columns mode, size in bytes, snr_db and per), relative to the folder of
    /// the scenario, in the place of the formulas for the modes that it names; empty for none. For "sinr" only.
    pub error_rates: String,
    /// Nodes whose radio differs: a list of tables with `nodes` (their numbers) and at least one of `transmit_power`,
    /// `gain` (of the antenna, for sending and receiving) and `receive` (the weakest data frame; thresholds and noise
    /// differ by as many decibels).
    pub single: Vec<Single>,
}

impl params::Params for Params {
    const PROFILES: &'static [&'static str] = &[params::RFC, params::NS2];

    fn of_profile(profile: &str) -> Self {
        Self {
            transmit_power: Power::from_watts(0.281_838_15),
            receive: Sensitivity::Range(Distance::new(250.0)).into(),
            sense: Sensitivity::Range(Distance::new(550.0)),
            capture: Ratio::from_db(10.0),
            reception: if profile == params::NS2 { Reception::Ns2 } else { Reception::Sinr },
            preamble_sinr: Ratio::from_db(4.0),
            noise_figure: Ratio::from_db(7.0),
            error_rates: String::new(),
            single: Vec::new(),
        }
    }

    fn check(&self) -> Result<(), Fault> {
        if let Receive::ByMode(values) = &self.receive {
            if values.is_empty() {
                return Err(Fault::new("receive", "expected a value for at least one mode, found an empty table"));
            }
            if let Some(name) = values.keys().find(|name| !name.is_known()) {
                let expected = "expected rates of DSSS or OFDM, mcs0 to mcs31, or vht-mcs0-1ss to vht-mcs9-4ss";
                return Err(Fault::new("receive", format!("{expected}; found {name}, which no standard has")));
            }
        }
        for receive in self.receive.values() {
            match (receive, self.sense) {
                (Sensitivity::Range(receive), Sensitivity::Range(sense)) if sense < receive => {
                    let problem = format!("expected at least the receive range, {receive}; found {sense}");
                    return Err(Fault::new("sense", problem));
                }
                (Sensitivity::Threshold(receive), Sensitivity::Threshold(sense)) if sense > receive => {
                    let problem = format!("expected at most the receive power, {receive}; found {sense}");
                    return Err(Fault::new("sense", problem));
                }
                _ => {}
            }
        }
        let all = || self.receive.values().map(|value| ("receive", value)).chain([("sense", self.sense)]);
        for (parameter, value) in all() {
            if let Some(problem) = value.beyond_horizon() {
                return Err(Fault::new(parameter, problem));
            }
        }
        let sent = self.transmit_power;
        Fault::unless("transmit_power", sent, |it| it.watts() > 0.0 && it.watts().is_finite(), "a power above zero")?;
        for (parameter, value) in all() {
            // No radio would hear any other: a signal is never received with more power than it was sent.
            if let Sensitivity::Threshold(power) = value
                && power >= sent
            {
                let problem = format!("expected less than the transmitted power, {sent}; found {power}");
                return Err(Fault::new(parameter, problem));
            }
        }
        Fault::unless("capture", self.capture, |it| it.factor() >= 1.0, "at least 0 dB")?;
        single::check(&self.single, sent)
    }

    fn unused(&self) -> Vec<Unused> {
        unused_where([(
            self.reception != Reception::Sinr,
            "reception",
            &["preamble_sinr", "noise_figure", "error_rates"],
        )])
    }
}

impl Params {
    /// The first of these modes for which no weakest frame is given.
    #[must_use]
    pub fn lacking(&self, modes: &[&'static Mode]) -> Option<&'static Mode> {
        modes.iter().copied().find(|mode| self.receive.of(mode).is_none())
    }

    /// The values that the radios share, for frames in a mode.
    ///
    /// # Panics
    /// When no weakest frame is given for the mode ([`Params::lacking`]).
    #[must_use]
    pub fn receiver(&self, channel: &Channel, mode: &Mode) -> Receiver<'static> {
        let receive = self.receive.of(mode).expect("every mode has a weakest frame");
        Receiver {
            threshold: receive.watts(channel, self.transmit_power),
            capture: self.capture.factor(),
            preamble_sinr: self.preamble_sinr.factor(),
            noise: thermal_noise(self.noise_figure, mode.body.bandwidth).watts(),
            errors: None,
        }
    }
}
