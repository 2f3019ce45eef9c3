//! Reception at one radio: which frame it receives, which signals interfere, and whether the frame can be decoded.
//!
//! A model of reception is a file with a type that implements [`Radio`], named after the variant of its entry in the
//! list below, and the entry.

mod ns2;
mod receiver;
mod sinr;
mod threshold;

use hopyard_engine::Time;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use receiver::{Begin, End, Level, Lost, Radio, Receiver, Verdict};

/// Makes the enum of models, and the enum of the radios of a channel.
macro_rules! models {
    ($($name:literal => $module:ident :: $variant:ident, $summary:literal;)+) => {
        /// Which frames a radio can decode.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
        pub enum Reception {
            $(#[doc = $summary] #[serde(rename = $name)] $variant,)+
        }

        impl Reception {
            /// Every model.
            pub const ALL: &[Self] = &[$(Self::$variant,)+];

            /// Whether the model compares powers ([`Radio::COMPARES_POWERS`]).
            #[must_use]
            pub const fn compares_powers(self) -> bool {
                match self { $(Self::$variant => <$module::$variant as Radio>::COMPARES_POWERS,)+ }
            }

            /// Whether noise causes bit errors in the model ([`Radio::BIT_ERRORS`]).
            #[must_use]
            pub const fn has_bit_errors(self) -> bool {
                match self { $(Self::$variant => <$module::$variant as Radio>::BIT_ERRORS,)+ }
            }

            /// The radios of this number of stations.
            #[must_use]
            pub fn radios(self, stations: usize) -> Radios {
                match self { $(Self::$variant => Radios::$variant(vec![Default::default(); stations]),)+ }
            }
        }

        /// The radios of all stations of a channel.
        #[derive(Clone, Debug)]
        pub enum Radios {
            $(#[doc = $summary] $variant(Vec<$module::$variant>),)+
        }

        impl Radios {
            /// How many stations there are.
            #[must_use]
            pub fn stations(&self) -> usize {
                match self { $(Self::$variant(radios) => radios.len(),)+ }
            }

            /// See [`Radio::send`].
            pub fn send(&mut self, station: usize, until: Time) {
                match self { $(Self::$variant(radios) => radios[station].send(until),)+ }
            }

            /// See [`Radio::lost`].
            #[must_use]
            pub fn lost(&self, station: usize) -> Lost {
                match self { $(Self::$variant(radios) => radios[station].lost(),)+ }
            }

            #[cfg(test)]
            fn size(&self) -> usize {
                match self { $(Self::$variant(radios) => size_of_val(&radios[0]),)+ }
            }
        }

        /// Evaluates an expression with the radios of any model. It is compiled for each model, so that nothing in it
        /// has to ask which one it is.
        macro_rules! each_model {
            ($any:expr, $radios:ident => $call:expr) => {
                match $any { $($crate::phy::reception::Radios::$variant($radios) => $call,)+ }
            };
        }
        pub(super) use each_model;
    };
}

models! {
    "threshold" => threshold::Threshold,
        "A frame is decoded when it is strong enough and, during all of its time, stronger than all others together by \
         the capture ratio. A frame that comes later and is stronger than the one being received by the capture ratio is \
         received instead.";
    "ns2" => ns2::Ns2,
        "As ns-2 does it: a frame being received is kept when a later one is weaker by the capture ratio; otherwise both \
         are lost, also when the later one is far stronger, or too weak to be decoded.";
    "sinr" => sinr::Sinr,
        "Bit errors are drawn from the ratio of signal to noise and interference, with the error rates of DSSS, for each \
         chunk of constant interference. The receiver must find the preamble first: a few microseconds after the frame \
         begins, the ratio must be at least `preamble_sinr`.";
}
#[cfg(test)]
mod tests;
