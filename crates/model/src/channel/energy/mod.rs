//! The energy that radios take: the models, and their costs.
//!
//! Times are whole nanoseconds and powers whole nanowatts, so that an energy is a whole number of attojoules: sums are
//! exact, and the same in any order. A model is a file with its parameters, which set the prices ([`Prices`]), and an
//! entry in the list below.

mod gauge;
pub mod off;
pub mod per_packet;
mod price;
pub mod state;

pub use crate::context::{Account, FrameClass, Purpose, Spent};
pub use gauge::{Gauge, Heard, Load, Meter};
use price::nanowatts;
pub use price::{Attojoules, Battery, PacketPrices, Price, Priced, Prices, attojoules, joules};

/// The list of all models: calls a macro with it.
macro_rules! energies {
    ($macro:ident) => {
        $macro! {
            "off" => off::Off, "Energy is not counted.";
            "state" => state::State,
                "Power times time in each state of the radio: sending, hearing, idle (ns-2.35, ns-3, INET)";
            "per_packet" => per_packet::PerPacket,
                "A cost for each packet sent, received or discarded, linear in its size (Feeney and Nilsson, 2001)";
        }
    };
}

macro_rules! config {
    ($($name:literal => $module:ident :: $variant:ident, $summary:literal;)+) => {
        crate::registry! { "energy": $($name => $module::$variant, $summary;)+ }

        impl Config {
            /// The prices of a radio; nothing if energy is not counted.
            #[must_use]
            pub fn prices(&self) -> Option<Prices> {
                match self { $(Self::$variant(params) => params.prices(),)+ }
            }
        }
    };
}
energies!(config);

#[cfg(test)]
mod tests;
