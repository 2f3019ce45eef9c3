//! Positions of nodes as functions of time, in legs.
//!
//! A leg is a straight line at constant speed. The world asks a model for the next leg when the current one ends. There
//! is one event for each leg, and none for the steps within it.

pub mod files;
mod leg;
pub mod movement_file;
pub mod random_waypoint;
mod spec;
pub mod stationary;
pub mod waypoints;

use enum_dispatch::enum_dispatch;
use hopyard_engine::Rng;

pub use self::files::Movements;
pub use self::leg::{Leg, Mobility, Position};
pub use self::spec::{BuildError, Spec};
use crate::address::NodeId;
use crate::registry;

/// Defines the registry of movement models, and the enum that holds one of them.
///
/// A model's module holds `Params` and a type of the variant's name, which implements [`Mobility`] and has
/// `build(&Params, NodeId, &Spec, Rng) -> Result<Self, BuildError>`.
macro_rules! models {
    ($($name:literal => $module:ident :: $variant:ident, $summary:literal;)+) => {
        registry! { "mobility": $($name => $module::$variant, $summary;)+ }

        impl Config {
            /// The movement of `node`; a model that draws takes `rng`, the node's own stream for movement.
            ///
            /// # Errors
            /// When a movement file is missing, or has no such node.
            pub fn build(&self, node: NodeId, spec: &Spec<'_>, rng: Rng) -> Result<Model, BuildError> {
                match self {
                    $(Self::$variant(params) => {
                        $module::$variant::build(params, node, spec, rng).map(Model::$variant)
                    })+
                }
            }
        }

        /// The movement of one node under any model.
        #[enum_dispatch(Mobility)]
        #[derive(Clone, Debug)]
        pub enum Model {
            $(#[doc = $summary] $variant($module::$variant),)+
        }
    };
}

models! {
    "stationary" => stationary::Stationary, "Nodes stay at the positions that the scenario gives.";
    "waypoints" => waypoints::Waypoints, "Nodes follow a list of positions at given times, or of movement commands.";
    "random_waypoint" => random_waypoint::RandomWaypoint,
        "Nodes move to random destinations, with pauses (Johnson and Maltz 1996; Navidi and Camp 2004).";
    "movement_file" => movement_file::MovementFile,
        "Nodes move as a file of ns-2's setdest or of BonnMotion describes.";
}

#[cfg(test)]
mod tests {
    use hopyard_engine::{Streams, Time};

    use super::*;
    use crate::params::ParamsError;

    #[test]
    fn every_model_is_built_from_its_defaults_and_starts_at_time_zero() {
        let file = Movements::read("scene", b"$node_(0) set X_ 3\n$node_(0) set Y_ 4\n", &files::Reading::default());
        let file = file.expect("a movement file");
        let spec = Spec { start: Position { x: 3.0, y: 4.0 }, movements: Some(&file) };
        for model in MODELS {
            let config = Config::read(model.name, &(model.defaults)("rfc")).expect("defaults are possible");
            assert_eq!(config.name(), model.name);
            let leg = config
                .build(NodeId(0), &spec, Streams::new(1, 0).node(0, "mobility"))
                .map(|mut node| node.next_leg())
                .expect("all that a model needs is there");
            assert_eq!(leg.start, Time::ZERO, "{}", model.name);
            if model.name != "random_waypoint" {
                assert_eq!(leg, Leg::still(Time::ZERO, spec.start), "{}", model.name);
            }
        }
        assert!(matches!(Config::of_profile("randomwaypoint", "rfc"), Err(ParamsError::UnknownModel { .. })));
    }
}
