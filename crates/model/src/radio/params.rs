//! Parameters of the radio: power, sensitivity, reception.

use std::fmt;
use std::str::FromStr;

use hopyard_engine::units::{Distance, Power, Ratio};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use super::error_rate::thermal_noise;
use super::propagation::Channel;
use super::reception::{Receiver, Reception};
use crate::params::{self, Fault};

/// Signals beyond this distance in metres are ignored. A signal travels 25 km in less time than the shortest preamble
/// of the DCF takes, so that it begins at the farthest hearer before it ends at the nearest one, and a transmission is
/// one part of the medium.
pub(super) const HORIZON: f64 = 25_000.0;

/// The weakest usable signal, given as a power, or as the distance at which a signal has this power.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Sensitivity {
    /// The power that arrives at this distance from a transmitter with the radio's power.
    Range(Distance),
    /// This power.
    Threshold(Power),
}

const SENSITIVITY: &str = "a range such as \"250 m\" or a power such as \"-64 dBm\"";

impl FromStr for Sensitivity {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        text.parse()
            .map(Self::Range)
            .or_else(|_| text.parse().map(Self::Threshold))
            .map_err(|_| format!("expected {SENSITIVITY}, found \"{text}\""))
    }
}

impl fmt::Display for Sensitivity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Range(range) => range.fmt(f),
            Self::Threshold(power) => power.fmt(f),
        }
    }
}

impl Serialize for Sensitivity {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Sensitivity {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl de::Visitor<'_> for Visitor {
            type Value = Sensitivity;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(SENSITIVITY)
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<Sensitivity, E> {
                text.parse().map_err(E::custom)
            }
        }
        deserializer.deserialize_str(Visitor)
    }
}

impl JsonSchema for Sensitivity {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Sensitivity".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "description": SENSITIVITY, "examples": ["250 m", "-64 dBm"] })
    }
}

/// Parameters of every radio.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Params {
    /// Transmitted power.
    pub transmit_power: Power,
    /// The weakest frame that can be decoded, as a range or a power.
    pub receive: Sensitivity,
    /// The weakest signal that makes the medium busy, as a range or a power. Weaker signals are ignored, also as
    /// interference.
    pub sense: Sensitivity,
    /// By how much a frame must be stronger than another to be received in spite of it.
    pub capture: Ratio,
    /// Which frames can be decoded: "threshold", "ns2" or "sinr".
    pub reception: Reception,
    /// The ratio of signal to noise and interference at which a receiver finds a preamble; for "sinr" only.
    pub preamble_sinr: Ratio,
    /// Noise figure of the receiver; for "sinr" only.
    pub noise_figure: Ratio,
}

impl params::Params for Params {
    const PROFILES: &'static [&'static str] = &[params::RFC, params::NS2];

    fn of_profile(profile: &str) -> Self {
        Self {
            transmit_power: Power::from_watts(0.281_838_15),
            receive: Sensitivity::Range(Distance::new(250.0)),
            sense: Sensitivity::Range(Distance::new(550.0)),
            capture: Ratio::from_db(10.0),
            reception: if profile == params::NS2 { Reception::Ns2 } else { Reception::Sinr },
            preamble_sinr: Ratio::from_db(4.0),
            noise_figure: Ratio::from_db(7.0),
        }
    }

    fn check(&self) -> Result<(), Fault> {
        match (self.receive, self.sense) {
            (Sensitivity::Range(receive), Sensitivity::Range(sense)) if sense < receive => {
                return Err(Fault::new(
                    "sense",
                    format!("expected at least the receive range, {receive}; found {sense}"),
                ));
            }
            (Sensitivity::Threshold(receive), Sensitivity::Threshold(sense)) if sense > receive => {
                return Err(Fault::new(
                    "sense",
                    format!("expected at most the receive power, {receive}; found {sense}"),
                ));
            }
            _ => {}
        }
        for (parameter, value) in [("receive", self.receive), ("sense", self.sense)] {
            if let Sensitivity::Range(range) = value
                && !(range.metres() > 0.0 && range.metres() <= HORIZON)
            {
                return Err(Fault::new(
                    parameter,
                    format!("expected a range above zero, at most {} km; found {range}", HORIZON / 1e3),
                ));
            }
        }
        if !(self.transmit_power.watts() > 0.0 && self.transmit_power.watts().is_finite()) {
            return Err(Fault::new(
                "transmit_power",
                format!("expected a power above zero, found {}", self.transmit_power),
            ));
        }
        for (parameter, value) in [("receive", self.receive), ("sense", self.sense)] {
            // No radio would hear any other: a signal is never received with more power than it was sent.
            if let Sensitivity::Threshold(power) = value
                && power >= self.transmit_power
            {
                return Err(Fault::new(
                    parameter,
                    format!("expected less than the transmitted power, {}; found {power}", self.transmit_power),
                ));
            }
        }
        if self.capture.factor() < 1.0 {
            return Err(Fault::new("capture", format!("expected at least 0 dB, found {}", self.capture)));
        }
        Ok(())
    }
}

impl Sensitivity {
    /// The weakest usable power, in watts.
    #[must_use]
    pub fn watts(self, channel: &Channel, transmit_power: Power) -> f64 {
        match self {
            Self::Range(range) => channel.threshold_for(transmit_power, range).watts(),
            Self::Threshold(power) => power.watts(),
        }
    }
}

impl Params {
    /// What the radios share.
    #[must_use]
    pub fn receiver(&self, channel: &Channel) -> Receiver {
        Receiver {
            threshold: self.receive.watts(channel, self.transmit_power),
            capture: self.capture.factor(),
            preamble_sinr: self.preamble_sinr.factor(),
            noise: thermal_noise(self.noise_figure).watts(),
        }
    }
}
