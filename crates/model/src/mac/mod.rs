//! Medium access control.
//!
//! A MAC receives what its radio senses and the frames that it decodes. It holds one packet at a time. It returns
//! frames to transmit, and one deadline. Every packet that it gives up goes back to routing as [`Action::LinkFailed`].
//!
//! [`Action::LinkFailed`]: crate::context::Action::LinkFailed

mod counters;
pub mod dcf;
pub mod edca;
mod protocol;
pub mod rate_control;
mod slotted;
pub mod tdma;

use hopyard_engine::Span;
use hopyard_engine::units::Rate;

pub use counters::{Counted, Counters};
pub use protocol::{Control, Identity, Mac, Outgoing, Sensed};
pub use slotted::{Round, Slotted};

use crate::address::NodeId;
use crate::packet::Classes;
use crate::params::{Fault, Metric, RFC};
use crate::phy::Mode;
pub use crate::phy::frame::Fate;

/// The list of all MACs: calls a macro with it. The registry, and the kinds of channels, come from this list.
///
/// A MAC whose procedures are several types lists them after the usual one: a name, and the type's parameter in angle
/// brackets. The first of them that follows the parameters (`follows`, a function of the type) is taken, otherwise the
/// usual one.
macro_rules! macs {
    ($macro:ident) => {
        $macro! {
            "dcf" => dcf::Dcf | DcfNs2<Ns2> | DcfMixed<Mixed>,
                "IEEE 802.11 distributed coordination function (IEEE 802.11-1999 §9.2) over the modes of 802.11b, g, a, n and ac";
            "edca" => edca::Edca,
                "IEEE 802.11 enhanced distributed channel access: four categories, with block acknowledgement and aggregation (IEEE Std 802.11-2016 §10.22 to §10.24)";
            "tdma" => tdma::Tdma,
                "Slotted access (TDMA): the owner of a slot sends (ns-2.35, mac/mac-tdma.cc), with slots of the scenario, of an agent, or of a greedy schedule";
        }
    };
}
pub(crate) use macs;

macro_rules! config {
    ($($name:literal => $module:ident :: $variant:ident $(| $kind:ident < $procedure:ident >)*, $summary:literal;)+) => {
        crate::registry! { "mac": $($name => $module::$variant, $summary;)+ }

        /// The counters of every MAC: columns of the table of nodes, in the order of the MACs.
        pub const METRICS: &[(&str, &[Metric])] =
            &[$(($name, <<$module::$variant as Mac>::Counters as Counters>::METRICS)),+];

        impl Config {
            /// The modes of all its frames under a rate control; the first is the mode of data frames.
            ///
            /// # Errors
            /// When no row of the table of modes has a rate.
            pub fn modes(&self, rates: &rate_control::Config) -> Result<Vec<&'static Mode>, Fault> {
                match self { $(Self::$variant(params) => <$module::$variant>::modes(params, rates),)+ }
            }

            /// The rate of data frames, where it is fixed.
            #[must_use]
            pub fn rate(&self) -> Option<Rate> {
                self.modes(&rate_control::Config::first(RFC)).ok()?.first().map(|mode| mode.rate())
            }

            /// Whether the MAC asks rate control for the mode of its frames.
            #[must_use]
            pub const fn adapts(&self) -> bool {
                match self { $(Self::$variant(_) => <$module::$variant as Mac>::ADAPTS,)+ }
            }

            /// Whether the MAC reports packets that it could not deliver to routing.
            #[must_use]
            pub fn reports_failures(&self) -> bool {
                match self { $(Self::$variant(params) => <$module::$variant>::reports_failures(params),)+ }
            }

            /// The size of the largest packet that the MAC can send, in bytes; nothing if it has no limit of its own.
            #[must_use]
            pub fn largest_packet(&self) -> Option<u32> {
                match self { $(Self::$variant(params) => <$module::$variant>::largest_packet(params),)+ }
            }

            /// The class of each packet, if packets of different classes do not share the room of the link's queue.
            #[must_use]
            pub fn classes(&self) -> Option<Classes> {
                match self { $(Self::$variant(params) => <$module::$variant>::classes(params),)+ }
            }

            /// The longest propagation delay with which a sender still hears that a frame was acknowledged, and the
            /// parameter that limits the delay. Nothing if frames are not acknowledged.
            #[must_use]
            pub fn answered_within(&self, rates: &rate_control::Config) -> Option<(Span, &'static str)> {
                match self { $(Self::$variant(params) => <$module::$variant>::answered_within(params, rates),)+ }
            }

            /// The limits within which a frame cannot carry two packets of this size, although the parameters ask for
            /// frames with several: each with the smallest value that lets it.
            #[must_use]
            pub fn too_tight(&self, rates: &rate_control::Config, size: u32) -> Vec<(&'static str, String)> {
                match self { $(Self::$variant(params) => <$module::$variant>::too_tight(params, rates, size),)+ }
            }

            /// The nodes that the parameters let send at the same time: a list for each slot of a frame.
            #[must_use]
            pub fn slots(&self, nodes: &[NodeId]) -> Vec<Vec<NodeId>> {
                match self { $(Self::$variant(params) => <$module::$variant>::slots(params, nodes),)+ }
            }

            /// The frame of those slots; nothing without slots that are known before the run.
            #[must_use]
            pub fn round(&self, nodes: &[NodeId]) -> Option<Round> {
                match self { $(Self::$variant(params) => <$module::$variant>::round(params, nodes),)+ }
            }

            /// The rest of a slot after as many frames with packets of this size as fit.
            #[must_use]
            pub fn spare(&self, size: u32) -> Option<Span> {
                match self { $(Self::$variant(params) => <$module::$variant>::spare(params, size),)+ }
            }

            /// Whether agents of the nodes must find slots for the MAC.
            #[must_use]
            pub fn needs_agent(&self) -> bool {
                match self { $(Self::$variant(params) => <$module::$variant>::needs_agent(params),)+ }
            }

            /// The stations that own no slot by the schedule that the parameters make of who hears whom.
            #[must_use]
            pub fn slotless(&self, neighbours: &[Vec<u32>]) -> Vec<u32> {
                match self { $(Self::$variant(params) => <$module::$variant>::slotless(params, neighbours),)+ }
            }

            /// The longest message of an agent that can be sent, headers included, and the parameter that limits it.
            #[must_use]
            pub fn largest_message(&self) -> Option<(u32, &'static str)> {
                match self { $(Self::$variant(params) => <$module::$variant>::largest_message(params),)+ }
            }

            /// Checks that stations of these nodes can share a channel.
            ///
            /// # Errors
            /// The first parameter that is impossible, and why.
            pub fn check_stations(&self, nodes: &[NodeId]) -> Result<(), Fault> {
                match self { $(Self::$variant(params) => <$module::$variant>::check_stations(params, nodes),)+ }
            }
        }
    };
}
macs!(config);
