//! Rate control: the mode of each frame to a neighbour, by the fates of earlier ones.
//!
//! Before each try of a packet or an aggregate the MAC asks for a mode. It reports the outcome when the packets are
//! acknowledged or given up. Each link, from a station to a neighbour, has a state of its own, which begins with the
//! first frame. The categories of a station share it, as in Linux and ns-3.
//!
//! A rate control is a file with `Params` and a type that implements [`RateControl`], and its entry in the list below.

mod aarf;
mod arf;
mod attempt;
mod candidates;
mod control;
mod fixed;
mod ideal;
mod links;
mod minstrel_ht;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use hopyard_engine::{Rng, Time};

pub use attempt::{Answered, Attempt};
pub use candidates::Candidates;
pub use control::{Belief, Choice, Outcome, RateControl, Tries, Used};
use links::Links;

use crate::address::InterfaceId;

/// Makes the registry, and the enum that forwards to one of the rate controls.
macro_rules! controls {
    ($($name:literal => $module:ident :: $variant:ident, $summary:literal;)+) => {
        crate::registry! { "rate_control": $($name => $module::$variant, $summary;)+ }

        /// The links of a station, each with its rate control.
        #[derive(Clone, Debug)]
        pub enum Rates {
            $(#[doc = $summary] $variant(Links<$module::$variant>),)+
        }

        impl Config {
            /// The first station's list of links, which is empty. `draws` has one random source for each station of
            /// the channel.
            #[must_use]
            pub fn rates(&self, candidates: &Candidates, draws: Vec<Rng>) -> Rates {
                match self { $(Self::$variant(params) => Rates::$variant(Links::new(&**params, candidates, draws)),)+ }
            }
        }

        impl Rates {
            /// Another station's list of links, which is empty.
            #[must_use]
            pub fn of_station(&self, station: usize) -> Self {
                match self { $(Self::$variant(links) => Self::$variant(links.of_station(station)),)+ }
            }

            /// Whether the rate control says when a packet is given up.
            #[must_use]
            pub const fn gives_up(&self) -> bool {
                match self { $(Self::$variant(_) => <$module::$variant as RateControl>::GIVES_UP,)+ }
            }

            /// The mode of the next frame to a neighbour ([`RateControl::choose`]).
            pub fn choose(&mut self, to: InterfaceId, tries: &Tries, now: Time) -> Option<Choice> {
                match self { $(Self::$variant(links) => links.choose(to, tries, now),)+ }
            }

            /// A packet to a neighbour has been acknowledged or given up. Returns whether the mode of the link changes.
            pub fn report(&mut self, to: InterfaceId, outcome: &Outcome<'_>, now: Time) -> bool {
                match self { $(Self::$variant(links) => links.report(to, outcome, now),)+ }
            }

            /// The belief about the link to a neighbour, if a frame was sent to it.
            #[must_use]
            pub fn belief(&self, to: InterfaceId) -> Option<Belief> {
                match self { $(Self::$variant(links) => links.belief(to),)+ }
            }
        }
    };
}

controls! {
    "fixed" => fixed::Fixed, "One mode for all frames: the parameter `rate` of the MAC.";
    "arf" => arf::Arf, "Automatic rate fallback (Kamerman and Monteban 1997): a step up after ten successes, a step down after two failures.";
    "aarf" => aarf::Aarf, "Adaptive ARF (Lacage et al. 2004): each step up that fails doubles the wait for the next.";
    "ideal" => ideal::Ideal, "The fastest mode that the receiver's ratio of signal to noise allows, which each acknowledgement tells.";
    "minstrel_ht" => minstrel_ht::MinstrelHt, "Minstrel-HT as in Linux 6.1: the mode with the largest expected throughput, by filtered success rates and probes.";
}

/// The rate control of a channel.
#[derive(Clone, Debug)]
pub struct Setup<'a> {
    /// The chosen rate control.
    pub config: &'a Config,
    /// A source of draws for each station.
    pub draws: Vec<Rng>,
    /// The ratio of signal to noise of the weakest frame that radios decode in a mode, by its row, for modes in which
    /// that is more than in another mode.
    pub floors: BTreeMap<u16, f64>,
}

impl Config {
    /// Whether the mode never changes.
    #[must_use]
    pub const fn is_fixed(&self) -> bool {
        matches!(self, Self::Fixed(_))
    }
}
