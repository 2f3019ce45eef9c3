//! Agents: protocols that exchange control messages and do not route. One file or folder each.
//!
//! A node may have several agents. A message finds its agent by port. An agent sends messages by the actions of its
//! context: `Action::Send` to a neighbour or to all of them, `Action::Route` to a node farther away.
//!
//! A new agent is a module with `Params` and a type named after its registry entry. The type has `new(&Params, &Site,
//! Rng)` and implements [`Agent`]. The `mod` line and a line in the registry below make it known.

pub mod drand;
pub mod mobile_ip;
pub mod neighbours;
mod orders;
mod protocol;
mod site;

use enum_dispatch::enum_dispatch;
use hopyard_engine::{Rng, Span, Time};

pub use orders::{During, Keys, Orders, is_during};
pub use protocol::{Agent, AgentFacts, Doubt, ICMP};
pub use site::{AgentInterface, Role, Site};

use crate::address::Address;
use crate::context::Context;
use crate::packet::PacketId;
use crate::params::Metric;

/// Makes the registry and the enum of agents.
macro_rules! agents {
    ($($name:literal => $module:ident :: $variant:ident, $summary:literal;)+) => {
        crate::registry! { "agent": $($name => $module::$variant, $summary;)+ }

        /// An agent. An enum, so that calls are dispatched without a pointer.
        #[enum_dispatch(Agent)]
        #[derive(Debug)]
        pub enum Model {
            $(#[doc = $summary] $variant($module::$variant),)+
        }

        /// The counters of every agent: columns of the table of nodes, in the order of the agents.
        pub const METRICS: &[(&str, &[Metric])] = &[$(($name, <$module::Params as AgentFacts>::METRICS)),+];

        impl Config {
            /// The agent at a place; `rng` is its own stream.
            #[must_use]
            pub fn build(&self, site: &Site, rng: Rng) -> Model {
                match self { $(Self::$variant(params) => Model::$variant($module::$variant::new(params, site, rng)),)+ }
            }

            /// The UDP ports at which the agent is reached.
            #[must_use]
            pub const fn ports(&self) -> &'static [u16] {
                match self { $(Self::$variant(_) => <$module::Params as AgentFacts>::PORTS,)+ }
            }

            /// The types of its messages ([`AgentFacts::MESSAGES`]).
            #[must_use]
            pub const fn messages(&self) -> &'static [&'static str] {
                match self { $(Self::$variant(_) => <$module::Params as AgentFacts>::MESSAGES,)+ }
            }

            /// Whether the agent finds slots for the MACs of its node.
            #[must_use]
            pub const fn finds_slots(&self) -> bool {
                match self { $(Self::$variant(_) => <$module::Params as AgentFacts>::FINDS_SLOTS,)+ }
            }

            /// Whether packets of hosts that are away come to the agent through tunnels.
            #[must_use]
            pub fn takes_reverse_tunnels(&self) -> bool {
                match self { $(Self::$variant(params) => AgentFacts::takes_reverse_tunnels(&**params),)+ }
            }

            /// How many bytes the tunnels of the agent add to a packet for a host that is away.
            #[must_use]
            pub fn tunnel_bytes(&self) -> u32 {
                match self { $(Self::$variant(params) => AgentFacts::tunnel_bytes(&**params),)+ }
            }

            /// From when on a node has a slot ([`AgentFacts::first_slot`]).
            #[must_use]
            pub fn first_slot(&self) -> Vec<(&'static str, Span)> {
                match self { $(Self::$variant(params) => AgentFacts::first_slot(&**params),)+ }
            }

            /// The longest message that is sent again and again ([`AgentFacts::longest_message`]).
            #[must_use]
            pub fn longest_message(&self, neighbours: usize) -> u32 {
                match self { $(Self::$variant(params) => AgentFacts::longest_message(&**params, neighbours),)+ }
            }

            /// What is doubtful about the parameters ([`AgentFacts::doubts`]).
            #[must_use]
            pub fn doubts(&self) -> Vec<Doubt> {
                match self { $(Self::$variant(params) => AgentFacts::doubts(&**params),)+ }
            }

            /// Whether the agent needs a routing protocol that keeps routes between neighbours.
            #[must_use]
            pub fn needs_kept_routes(&self) -> bool {
                match self { $(Self::$variant(params) => AgentFacts::needs_kept_routes(&**params),)+ }
            }

            /// Which parameter says that the agent has no keys with another one.
            #[must_use]
            pub fn lacks_keys(&self, keys: Keys) -> Option<&'static str> {
                match self { $(Self::$variant(params) => AgentFacts::lacks_keys(&**params, keys),)+ }
            }

            /// Whether the agent serves hosts that move between networks.
            #[must_use]
            pub const fn serves_moving_hosts(&self) -> bool {
                match self { $(Self::$variant(_) => <$module::Params as AgentFacts>::SERVES_MOVING_HOSTS,)+ }
            }
        }

        impl Model {
            /// The UDP ports at which the agent is reached.
            #[must_use]
            pub const fn ports(&self) -> &'static [u16] {
                match self { $(Self::$variant(_) => <$module::Params as AgentFacts>::PORTS,)+ }
            }

            /// Its counters; [`Agent::counts`] has their values.
            #[must_use]
            pub const fn metrics(&self) -> &'static [Metric] {
                match self { $(Self::$variant(_) => <$module::Params as AgentFacts>::METRICS,)+ }
            }
        }
    };
}

/// Checks that the agents of a node are reached at different ports.
///
/// # Errors
/// The first two with the same port, and the port.
pub fn check(agents: &[Config]) -> Result<(), (&Config, &Config, u16)> {
    for (place, other) in agents.iter().enumerate() {
        for one in &agents[..place] {
            if let Some(&port) = one.ports().iter().find(|port| other.ports().contains(port)) {
                return Err((one, other, port));
            }
        }
    }
    Ok(())
}

agents! {
    "drand" => drand::Drand,
        "DRAND: nodes agree among themselves on slots for TDMA (Rhee, Warrier, Min and Xu, MobiHoc 2006)";
    "mobile_ip" => mobile_ip::MobileIp,
        "Mobile IP: home agents, foreign agents, and hosts that move between networks (RFC 5944)";
    "neighbours" => neighbours::Neighbours,
        "Neighbour discovery: HELLO messages with the list of neighbours (as in RFC 6130 and RFC 3626)";
}
