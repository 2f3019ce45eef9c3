//! Positions of nodes as functions of time, in legs.
//!
//! A leg is a straight line at constant speed. The world asks a model for the next leg when the current one ends. There
//! is one event for each leg, and none for the steps within it.

use hopyard_engine::{Rng, Span, Time};

use crate::address::NodeId;
use crate::registry;

pub mod bonnmotion;
pub mod movement_file;
pub mod random_waypoint;
pub mod setdest;
pub mod stationary;
pub mod track;
pub mod waypoints;

pub use movement_file::Movements;

/// A point in the plane, in metres.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub struct Position {
    /// Metres to the east.
    pub x: f64,
    /// Metres to the north.
    pub y: f64,
}

impl Position {
    /// Metres from here to `other`.
    #[inline]
    #[must_use]
    pub fn distance(self, other: Self) -> f64 {
        let (dx, dy) = (other.x - self.x, other.y - self.y);
        libm::sqrt(dx * dx + dy * dy)
    }
}

/// A straight line at constant speed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Leg {
    /// When the leg starts.
    pub start: Time,
    /// Where it starts.
    pub from: Position,
    /// Metres a second to the east and to the north; zero for a pause.
    pub velocity: (f64, f64),
    /// When it ends; [`Time::NEVER`] if it lasts until the end of the run.
    pub until: Time,
}

impl Leg {
    /// A leg of a node that never moves.
    #[must_use]
    pub const fn still(start: Time, from: Position) -> Self {
        Self { start, from, velocity: (0.0, 0.0), until: Time::NEVER }
    }

    /// The leg that leaves `from` at `start` and reaches `to` at `until`, which is later.
    #[must_use]
    pub fn between(start: Time, from: Position, to: Position, until: Time) -> Self {
        let seconds = until.since(start).seconds();
        Self { start, from, velocity: ((to.x - from.x) / seconds, (to.y - from.y) / seconds), until }
    }

    /// The leg from `from` to `to` at `speed` metres a second; its end is rounded to the nanosecond, and takes at least
    /// one.
    #[must_use]
    pub fn toward(start: Time, from: Position, to: Position, speed: f64) -> Self {
        let span = Span::from_secs_f64(from.distance(to) / speed);
        Self::between(start, from, to, start + span.max(Span::from_nanos(1)))
    }

    /// The position at `time`, which lies within the leg.
    #[inline]
    #[must_use]
    pub fn position(&self, time: Time) -> Position {
        let seconds = time.since(self.start).seconds();
        Position { x: self.from.x + self.velocity.0 * seconds, y: self.from.y + self.velocity.1 * seconds }
    }

    /// Whether the node does not move during the leg.
    #[must_use]
    pub fn is_pause(&self) -> bool {
        self.velocity == (0.0, 0.0)
    }
}

/// A model of one node's movement.
pub trait Mobility {
    /// The next leg; it starts when and where the last one ended, and the first starts at time zero.
    /// Not called again after a leg that lasts for ever.
    fn next_leg(&mut self) -> Leg;
}

/// What a model needs besides its parameters.
#[derive(Clone, Copy, Debug)]
pub struct Spec<'a> {
    /// Where the scenario places the node. A model that draws or reads its own start position ignores it.
    pub start: Position,
    /// The movement file that the parameters name. The caller has read it, because models do no input.
    pub movements: Option<&'a Movements>,
}

/// A node's movement cannot be built.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BuildError {
    /// The parameters name a movement file, and the caller did not read it.
    #[error("the movement file \"{path}\" has not been read")]
    NotRead {
        /// The file.
        path: String,
    },
    /// The movement file has no such node.
    #[error("the movement file \"{path}\" has no node {number}; it has {nodes} nodes, {first} to {last}")]
    NoSuchNode {
        /// The file.
        path: String,
        /// The node's number in the file.
        number: u64,
        /// How many nodes the file has.
        nodes: usize,
        /// The lowest number in the file.
        first: u32,
        /// The highest.
        last: u32,
    },
}

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
        #[derive(Clone, Debug)]
        pub enum Model {
            $(#[doc = $summary] $variant($module::$variant),)+
        }

        impl Mobility for Model {
            fn next_leg(&mut self) -> Leg {
                match self { $(Self::$variant(model) => model.next_leg(),)+ }
            }
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
    use hopyard_engine::Streams;

    use super::*;
    use crate::params::ParamsError;

    #[test]
    fn every_model_is_built_from_its_defaults_and_starts_at_time_zero() {
        let file =
            Movements::read("scene", b"$node_(0) set X_ 3\n$node_(0) set Y_ 4\n", &movement_file::Reading::default());
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

    #[test]
    fn a_leg_ends_where_it_is_bound_for() {
        let (from, to) = (Position { x: 1.0, y: 1.0 }, Position { x: 4.0, y: 5.0 });
        let leg = Leg::toward(Time::ZERO + Span::from_secs(7), from, to, 2.0);
        assert_eq!(leg.until, Time::ZERO + Span::from_millis(9500));
        assert!(leg.position(leg.until).distance(to) < 1e-12);
        // A leg shorter than a nanosecond takes one nanosecond, so that time advances.
        assert_eq!(Leg::toward(Time::ZERO, from, Position { x: 1.0 + 1e-12, y: 1.0 }, 2.0).until, Time::from_nanos(1));
    }
}
