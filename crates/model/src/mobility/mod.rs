//! Positions of nodes as functions of time, in legs.
//!
//! A leg is a straight line at constant speed. The world asks a model for the next leg when the current one ends. There
//! is one event for each leg, and none for the steps within it.

pub mod circuit;
pub mod files;
pub mod gauss_markov;
pub mod group;
mod grouping;
mod leg;
pub mod movement_file;
pub mod random_waypoint;
pub mod roaming_group;
pub mod rpgm;
mod spec;
pub mod stationary;
mod sum;
pub mod waypoints;

use enum_dispatch::enum_dispatch;
use hopyard_engine::Rng;

pub use self::files::Movements;
pub use self::grouping::Grouping;
pub use self::leg::{Leg, Mobility, Position};
pub use self::spec::{Area, BuildError, Configured, Membership, MobilityFacts, Nodes, Spec, Step};
use crate::address::NodeId;
use crate::params::Metric;
use crate::registry;

/// Defines the registry of movement models, and the enum that holds one of them.
///
/// A model's module holds `Params`, which implements [`MobilityFacts`], and a type of the variant's name, which
/// implements [`Mobility`] and has `build(&Params, NodeId, &Nodes) -> Result<Self, BuildError>`.
macro_rules! models {
    ($($name:literal => $module:ident :: $variant:ident, $summary:literal;)+) => {
        registry! { "mobility": $($name => $module::$variant, $summary;)+ }

        impl Config {
            /// The movement of `node`, which is one of `nodes` and has these parameters.
            ///
            /// # Errors
            /// When a movement file is missing or has no such node, or a group has no leader.
            pub fn build(&self, node: NodeId, nodes: &Nodes<'_>) -> Result<Model, BuildError> {
                match self {
                    $(Self::$variant(params) => {
                        $module::$variant::build(params, node, nodes).map(Box::new).map(Model::$variant)
                    })+
                }
            }

            /// Whether the model has start positions of its own ([`MobilityFacts::OWN_START`]).
            #[must_use]
            pub const fn has_own_start(&self) -> bool {
                match self { $(Self::$variant(_) => <$module::Params as MobilityFacts>::OWN_START,)+ }
            }

            /// Whether nodes stay where the scenario places them ([`MobilityFacts::STATIONARY`]).
            #[must_use]
            pub const fn is_stationary(&self) -> bool {
                match self { $(Self::$variant(_) => <$module::Params as MobilityFacts>::STATIONARY,)+ }
            }

            /// Whether the model reads a movement file ([`MobilityFacts::READS_FILE`]).
            #[must_use]
            pub const fn reads_file(&self) -> bool {
                match self { $(Self::$variant(_) => <$module::Params as MobilityFacts>::READS_FILE,)+ }
            }

            /// The area in which nodes move ([`MobilityFacts::area`]).
            #[must_use]
            pub fn area(&self) -> Option<Area> {
                match self { $(Self::$variant(params) => params.area(),)+ }
            }

            /// The movements of a script ([`MobilityFacts::script`]).
            #[must_use]
            pub fn script(&self) -> Vec<Step> {
                match self { $(Self::$variant(params) => params.script(),)+ }
            }
        }

        impl Configured for Config {
            fn movement(&self, node: NodeId, nodes: &Nodes<'_>) -> Result<Box<dyn Mobility>, BuildError> {
                self.build(node, nodes).map(|model| Box::new(model) as Box<dyn Mobility>)
            }

            fn membership(&self) -> Option<Membership> {
                match self { $(Self::$variant(params) => params.membership(),)+ }
            }

            fn own_motion(&self, rng: Rng) -> Option<Box<dyn Mobility>> {
                match self { $(Self::$variant(params) => params.own_motion(rng),)+ }
            }

            fn grouping(&self) -> Option<Grouping> {
                match self { $(Self::$variant(params) => params.grouping(),)+ }
            }
        }

        /// The counters of every model that has some: columns of the table of nodes, in the order of the models.
        pub const METRICS: &[(&str, &[Metric])] = &[$(($name, <$module::Params as MobilityFacts>::METRICS)),+];

        /// The movement of one node under any model. It is asked once for each leg, and a node that stays is not as
        /// large as one that moves.
        #[enum_dispatch(Mobility)]
        #[derive(Debug)]
        pub enum Model {
            $(#[doc = $summary] $variant(Box<$module::$variant>),)+
        }

        impl Model {
            /// Its counters; [`Mobility::counts`] has their values.
            #[must_use]
            pub const fn metrics(&self) -> &'static [Metric] {
                match self { $(Self::$variant(_) => <$module::Params as MobilityFacts>::METRICS,)+ }
            }
        }
    };
}

models! {
    "stationary" => stationary::Stationary, "Nodes stay at the positions that the scenario gives.";
    "waypoints" => waypoints::Waypoints, "Nodes follow a list of positions at given times, or of movement commands.";
    "random_waypoint" => random_waypoint::RandomWaypoint,
        "Nodes move to random destinations, with pauses (Johnson and Maltz 1996; Navidi and Camp 2004).";
    "gauss_markov" => gauss_markov::GaussMarkov,
        "Nodes change speed, direction and pitch by steps that remember the last one (Liang and Haas 1999).";
    "circuit" => circuit::Circuit, "Nodes fly circles or eights.";
    "movement_file" => movement_file::MovementFile,
        "Nodes move as a file describes: of ns-2's setdest, of BonnMotion, or a recorded track (CSV, GPX, ULog).";
    "group" => group::Group, "Nodes follow a leader at fixed offsets.";
    "roaming_group" => roaming_group::RoamingGroup,
        "Nodes follow a leader, and each moves a little around its own place beside it.";
    "reference_point_group" => rpgm::ReferencePointGroup,
        "Groups whose members stay near a centre that moves to random destinations (Hong et al. 1999; BonnMotion 3.0.2).";
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
        let start = Position::ground(3.0, 4.0);
        let leader = Config::of_profile("stationary", "rfc").expect("a model");
        let leader = Spec { model: &leader, start: Position::default(), movements: None, table: 0 };
        for model in MODELS {
            let mut values = (model.defaults)("rfc");
            if let Ok(config) = Config::read(model.name, &values)
                && config.membership().is_some()
            {
                values["leader"] = 1.into();
            }
            let config = Config::read(model.name, &values).expect("defaults are possible");
            assert_eq!(config.name(), model.name);
            let specs = [Spec { model: &config, start, movements: Some(&file), table: 1 }, leader];
            let leg = Nodes::new(&specs, Streams::new(1, 0))
                .movement(NodeId(0))
                .map(|mut node| node.next_leg())
                .expect("all that a model needs is there");
            assert_eq!(leg.start, Time::ZERO, "{}", model.name);
            let starts_there = !config.has_own_start() && config.membership().is_none_or(|place| place.is_rigid);
            if starts_there || config.reads_file() {
                assert_eq!(leg.from, start, "{}", model.name);
            }
            if config.is_stationary() {
                assert_eq!(leg, Leg::still(Time::ZERO, start), "{}", model.name);
            }
        }
        assert!(matches!(Config::of_profile("randomwaypoint", "rfc"), Err(ParamsError::UnknownModel { .. })));
    }
}
