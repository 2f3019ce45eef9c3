//! Energy by the state of the radio: it sends, it hears a signal, it is idle, or it sleeps, and each state draws its
//! power.
//!
//! Read: ns-2.35, mac/wireless-phy.cc and mobile/energy-model.cc; ns-3, WifiRadioEnergyModel; INET, the state-based
//! radio of 802.11. The constants called `wavelan` come from the literature on that card.
//!
//! While a radio sends, it pays for sending only, whatever it could hear. Signals that overlap are paid once.
//!
//! A radio sleeps when the scenario says so: no medium access protocol of this version asks for it. Left out: the power
//! and the time of a change from one state to another. ns-3 has one more state, at the power of an idle radio, for a
//! medium that is busy with a signal that the radio does not receive. Here `hears = "decodable"` does the same for
//! signals that are too weak. ns-2 pays for a whole frame at its start. Here each nanosecond is paid when it is over,
//! so that a battery runs dry at the right one.
//!
//! Validated: three nodes of ns-2.35 to the last digit that it prints (`docs/models/energy.md`).

use hopyard_engine::units::Draw;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Priced, Prices, nanowatts};
use crate::params::{self, NS2};

/// Which signals a radio hears.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Hears {
    /// Every signal that makes the medium busy.
    Sensed,
    /// Those only that are strong enough to be decoded.
    Decodable,
}

/// The powers of a radio.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Params {
    /// Power while the radio sends.
    pub send: Draw,
    /// Power while it hears a signal and does not send.
    pub hear: Draw,
    /// Power while it does neither.
    pub idle: Draw,
    /// Power while it sleeps, at the times that the scenario gives.
    pub sleep: Draw,
    /// Which signals it pays for: "sensed" (all that make the medium busy, also collisions and frames for others) or
    /// "decodable" (those strong enough to be decoded).
    pub hears: Hears,
}

impl params::Params for Params {
    const PROFILES: &'static [&'static str] = &["ns3", NS2, "inet", "wavelan"];

    fn of_profile(profile: &str) -> Self {
        let (send, hear, idle, sleep) = match profile {
            NS2 => (0.66, 0.395, 0.0, 0.0),
            "inet" => (2.5, 1.0, 0.5, 0.000_05),
            "wavelan" => (1.65, 1.4, 1.15, 0.045),
            // 0.380 A, 0.313 A, 0.273 A and 0.033 A at 3 V.
            _ => (1.14, 0.939, 0.819, 0.099),
        };
        let hears = if profile == NS2 { Hears::Sensed } else { Hears::Decodable };
        let [send, hear, idle, sleep] = [send, hear, idle, sleep].map(Draw::new);
        Self { send, hear, idle, sleep, hears }
    }
}

impl Priced for Params {
    fn prices(&self) -> Option<Prices> {
        Some(Prices {
            send: nanowatts(self.send),
            hear: nanowatts(self.hear),
            idle: nanowatts(self.idle),
            sleep: Some(nanowatts(self.sleep)),
            only_decodable: self.hears == Hears::Decodable,
            packets: None,
        })
    }
}
