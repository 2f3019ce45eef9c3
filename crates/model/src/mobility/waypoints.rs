//! Scripted movement. The scenario gives positions with times, or commands to move to a destination.
//!
//! A scenario gives one of the two lists. The node moves in straight lines between the positions of a track, at the
//! speed that follows from their times. Commands have the effect of ns-2's `setdest`, see [`Track::from_commands`].

use hopyard_engine::units::{Coordinate, Speed};
use hopyard_engine::{Span, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::files::track::{Command, FASTEST, Fix, Follower, Track, too_fast};
use super::{BuildError, Leg, Mobility, MobilityFacts, Nodes, Position, Step};
use crate::address::NodeId;
use crate::params::{self, Fault};

/// A position with its time.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Waypoint {
    /// The time at which the node is there, from the start of the run.
    pub at: Span,
    /// The place from west to east; to the west of the origin it is negative.
    pub x: Coordinate,
    /// The place from south to north; to the south of the origin it is negative.
    pub y: Coordinate,
    /// The height; zero if it is not given.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub z: Coordinate,
}

impl Waypoint {
    /// A waypoint at height zero.
    #[must_use]
    pub fn ground(at: Span, x: impl Into<Coordinate>, y: impl Into<Coordinate>) -> Self {
        Self { at, x: x.into(), y: y.into(), z: Coordinate::new(0.0) }
    }

    fn place(&self) -> Position {
        Position { x: self.x.metres(), y: self.y.metres(), z: self.z.metres() }
    }
}

fn is_zero(height: &Coordinate) -> bool {
    height.metres() == 0.0
}

/// A movement command.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Order {
    /// The time of the command, from the start of the run.
    pub at: Span,
    /// The destination's place from west to east; to the west of the origin it is negative.
    pub x: Coordinate,
    /// The destination's place from south to north; to the south of the origin it is negative.
    pub y: Coordinate,
    /// The height of the destination; the node keeps its height if it is not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Coordinate")]
    pub z: Option<Coordinate>,
    /// The speed; "0 m/s" stops the node.
    pub speed: Speed,
}

impl Order {
    /// A command after which the node keeps its height.
    #[must_use]
    pub fn level(at: Span, x: impl Into<Coordinate>, y: impl Into<Coordinate>, speed: Speed) -> Self {
        Self { at, x: x.into(), y: y.into(), z: None, speed }
    }
}

/// The script: one of the lists, or neither for a node that stays where the scenario puts it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Params {
    /// The positions of the node with their times, in order of time. The node is at the first position before the first
    /// time, and at the last position after the last time. The first position replaces the position that the scenario
    /// gives the node.
    pub track: Vec<Waypoint>,
    /// Commands with time, destination and speed, in order of time. The node starts at the position that the scenario
    /// gives. A command that is given before the node has arrived replaces the previous command.
    pub orders: Vec<Order>,
}

impl params::Params for Params {
    fn of_profile(_profile: &str) -> Self {
        Self { track: Vec::new(), orders: Vec::new() }
    }

    fn check(&self) -> Result<(), Fault> {
        if !self.track.is_empty() && !self.orders.is_empty() {
            return Err(Fault::new("orders", "expected a track or orders, found both"));
        }
        let wrong = |(place, pair): (usize, &[Waypoint])| {
            if pair[0].at >= pair[1].at {
                let why = format!("expected times that increase, found {} after {}", pair[1].at, pair[0].at);
                return Some((place + 1, why));
            }
            let seconds = (pair[1].at - pair[0].at).seconds();
            let (found, expected) = too_fast(pair[0].place(), pair[1].place(), seconds, FASTEST)?;
            Some((place + 1, format!("expected {expected}, found {found}")))
        };
        Fault::of_elements("track", self.track.windows(2).enumerate().filter_map(wrong).collect())?;
        let early = |(place, pair): (usize, &[Order])| {
            let why = || format!("expected times in order, found {} after {}", pair[1].at, pair[0].at);
            (pair[0].at > pair[1].at).then(|| (place + 1, why()))
        };
        Fault::of_elements("orders", self.orders.windows(2).enumerate().filter_map(early).collect())
    }
}

impl MobilityFacts for Params {
    fn script(&self) -> Vec<Step> {
        let starts = std::iter::once(Span::ZERO).chain(self.track.iter().map(|it| it.at));
        let track = self.track.iter().zip(starts);
        let track = track.map(|(it, from)| Step { key: "track", from, height: Some(it.z.metres()) });
        let orders = self.orders.iter();
        let orders = orders.map(|it| Step { key: "orders", from: it.at, height: it.z.map(Coordinate::metres) });
        track.chain(orders).collect()
    }
}

/// A node that follows its script.
#[derive(Clone, Debug)]
pub struct Waypoints(Follower);

impl Waypoints {
    /// A node with this script.
    pub(super) fn build(params: &Params, node: NodeId, nodes: &Nodes<'_>) -> Result<Self, BuildError> {
        let start = nodes.spec(node)?.start;
        let fixes: Vec<_> = params.track.iter().map(|w| Fix { at: Time::ZERO + w.at, position: w.place() }).collect();
        let track = Track::through(fixes).unwrap_or_else(|_| {
            let orders = params.orders.iter();
            let commands = orders.map(|o| Command {
                at: Time::ZERO + o.at,
                to: (o.x.metres(), o.y.metres()),
                height: o.z.map(Coordinate::metres),
                speed: o.speed.metres_per_second(),
            });
            Track::from_commands(start, commands)
        });
        Ok(Self(track.follow()))
    }
}

impl Mobility for Waypoints {
    fn next_leg(&mut self) -> Leg {
        self.0.next_leg()
    }
}

#[cfg(test)]
mod tests {
    use hopyard_engine::Streams;
    use serde_json::json;

    use super::super::{Config, Spec};
    use super::*;

    fn legs(value: &serde_json::Value) -> Vec<Leg> {
        let config = Config::Waypoints(params::read::<Params>(value).expect("parameters").into());
        let specs = [Spec { model: &config, start: Position::ground(7.0, 9.0), movements: None, table: 0 }];
        let mut node = Nodes::new(&specs, Streams::new(1, 0)).movement(NodeId(0)).expect("a node");
        std::iter::from_fn(move || Some(node.next_leg()))
            .scan(false, |over, leg| (!std::mem::replace(over, leg.until == Time::NEVER)).then_some(leg))
            .collect()
    }

    #[test]
    fn orders_start_where_the_scenario_puts_the_node() {
        let legs = legs(&json!({
            "track": [],
            "orders": [{ "at": "50 s", "x": "7 m", "y": "409 m", "speed": "10 m/s" }],
        }));
        assert_eq!(legs.len(), 3);
        assert_eq!(legs[0].until, Time::ZERO + Span::from_secs(50));
        assert_eq!((legs[1].velocity, legs[1].until), ((0.0, 10.0, 0.0), Time::ZERO + Span::from_secs(90)));
        assert_eq!(legs[2].from, Position::ground(7.0, 409.0));
    }

    #[test]
    fn a_track_says_where_the_node_is() {
        let legs = legs(&json!({
            "track": [{ "at": "0 s", "x": "0 m", "y": "0 m" }, { "at": "10 s", "x": "30 m", "y": "40 m" }],
            "orders": [],
        }));
        assert_eq!(legs[0].velocity, (3.0, 4.0, 0.0));
        assert_eq!(legs[1].from, Position::ground(30.0, 40.0));
    }

    #[test]
    fn nodes_go_west_and_south_of_the_origin() {
        let order = json!({ "at": "0 s", "x": "-23 m", "y": "-31 m", "speed": "10 m/s" });
        let away = legs(&json!({ "track": [], "orders": [order] }));
        assert_eq!((away[0].velocity, away[1].from), ((-6.0, -8.0, 0.0), Position::ground(-23.0, -31.0)));
        let track = json!([{ "at": "0 s", "x": "-5 m", "y": "0 m" }, { "at": "5 s", "x": "5 m", "y": "-10 m" }]);
        let across = legs(&json!({ "track": track, "orders": [] }));
        assert_eq!((across[0].from, across[1].from), (Position::ground(-5.0, 0.0), Position::ground(5.0, -10.0)));
    }

    #[test]
    fn heights_are_part_of_a_script() {
        let track = json!([
            { "at": "0 s", "x": "0 m", "y": "0 m", "z": "-20 m" }, { "at": "10 s", "x": "30 m", "y": "40 m" },
        ]);
        let up = legs(&json!({ "track": track, "orders": [] }));
        assert_eq!((up[0].velocity, up[1].from), ((3.0, 4.0, 2.0), Position::ground(30.0, 40.0)));
        let order = json!({ "at": "0 s", "x": "7 m", "y": "9 m", "z": "50 m", "speed": "10 m/s" });
        let down = json!({ "at": "9 s", "x": "7 m", "y": "19 m", "speed": "10 m/s" });
        let lift = legs(&json!({ "track": [], "orders": [order, down] }));
        assert_eq!((lift[0].velocity, lift[0].until), ((0.0, 0.0, 10.0), Time::ZERO + Span::from_secs(5)));
        assert_eq!(lift.last().map(|leg| leg.from), Some(Position { x: 7.0, y: 19.0, z: 50.0 }));
        // A height of zero is written as none, so that a scenario has one form.
        let params: Params = params::read(&json!({ "track": track, "orders": [] })).expect("parameters");
        assert_eq!(serde_json::to_value(params).expect("serialisable")["track"][1].get("z"), None);
    }

    #[test]
    fn without_a_script_the_node_stays() {
        assert_eq!(legs(&json!({ "track": [], "orders": [] })), [Leg::still(Time::ZERO, Position::ground(7.0, 9.0))]);
    }

    #[test]
    fn impossible_scripts_are_refused() {
        let waypoint = |at: &str| json!({ "at": at, "x": "0 m", "y": "0 m" });
        let order = json!({ "at": "1 s", "x": "0 m", "y": "0 m", "speed": "1 m/s" });
        for (value, found) in [
            (json!({ "track": [waypoint("2 s"), waypoint("2 s")], "orders": [] }), "found 2 s after 2 s"),
            (json!({ "track": [waypoint("2 s")], "orders": [order] }), "found both"),
            (json!({ "track": [{ "at": "2 s", "x": 4, "y": "1 m" }], "orders": [] }), "-50 m"),
            (
                json!({ "track": [waypoint("2 s"), { "at": "2.000000001 s", "x": "90 km", "y": "0 m" }], "orders": [] }),
                "a speed of at most 300000000 m/s, found 90000 m in 0.000000001 s, 9.000e13 m/s",
            ),
        ] {
            let error = params::read::<Params>(&value).expect_err("impossible").to_string();
            assert!(error.contains(found), "{error}");
        }
    }
}
