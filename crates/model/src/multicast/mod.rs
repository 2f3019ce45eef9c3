//! Forwarding of datagrams to multicast groups: one file each.
//!
//! A datagram for a group is broadcast by its source. A node that hears the datagram for the first time delivers it, if
//! it is a member of the group, and may broadcast it again. The protocol here decides on that. It knows a datagram that
//! was heard before, and is asked about each new one.
//!
//! A new protocol is a module with `Params` and a type that implements [`Multicast`], with `new(&Params, NodeId, Rng)`.
//! The `mod` line and a line in the registry below make it known.

pub mod classic_flooding;
mod duplicates;
mod flooding;
mod protocol;
pub mod s_mpr;

use hopyard_engine::{Rng, Time};

pub use duplicates::{By, Duplicates};
pub use flooding::{Flooding, Params};
pub use protocol::{Multicast, Previous};

use crate::address::NodeId;
use crate::context::Context;
use crate::packet::{Packet, PacketId};

/// Makes the registry, and the enum that forwards to one of the protocols.
macro_rules! protocols {
    ($($name:literal => $module:ident :: $variant:ident, $summary:literal;)+) => {
        crate::registry! { "multicast": $($name => $module::$variant, $summary;)+ }

        /// The protocol at one node.
        #[derive(Clone, Debug)]
        pub enum Model {
            $(#[doc = $summary] $variant($module::$variant),)+
        }

        impl Config {
            /// The protocol at a node; `rng` is its own stream.
            #[must_use]
            pub fn build(&self, node: NodeId, rng: Rng) -> Model {
                match self { $(Self::$variant(params) => Model::$variant($module::$variant::new(params, node, rng)),)+ }
            }

            /// Whether neighbours must choose relays among each other ([`Multicast::NEEDS_RELAYS`]).
            #[must_use]
            pub const fn needs_relays(&self) -> bool {
                match self { $(Self::$variant(_) => <$module::$variant as Multicast>::NEEDS_RELAYS,)+ }
            }
        }

        impl Model {
            /// As [`Multicast::originate`].
            pub fn originate(&mut self, packet: PacketId, cx: &mut Context) {
                match self { $(Self::$variant(it) => it.originate(packet, cx),)+ }
            }

            /// As [`Multicast::hears`].
            pub fn hears(&mut self, packet: &Packet, now: Time) -> bool {
                match self { $(Self::$variant(it) => it.hears(packet, now),)+ }
            }

            /// As [`Multicast::relays`].
            pub fn relays(&mut self, packet: &Packet, previous: Previous, now: Time) -> Option<Time> {
                match self { $(Self::$variant(it) => it.relays(packet, previous, now),)+ }
            }
        }
    };
}

protocols! {
    "classic_flooding" => classic_flooding::ClassicFlooding,
        "Every node sends each datagram once (classic flooding of RFC 6621)";
    "s_mpr" => s_mpr::SMpr,
        "Only the relays send a datagram again that its sender has chosen in OLSR (S-MPR, RFC 6621 appendix B)";
}
