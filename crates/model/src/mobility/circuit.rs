//! Circuits: nodes that fly circles, or eights of two circles that touch, at constant speed and height.
//!
//! A circle is a polygon of 72 sides, whose corners lie on it: a node is never more than a thousandth of the radius
//! inside it. Left out: wind, and turns that a plane cannot fly. Validated against the length of the polygon.

use hopyard_engine::units::{Coordinate, Distance, Speed};
use hopyard_engine::{Span, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{BuildError, Leg, Mobility, MobilityFacts, Nodes, Position};
use crate::address::NodeId;
use crate::params::{self, Fault};

/// The sides of a circle.
const SIDES: u32 = 72;

/// The form of a circuit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Shape {
    /// A circle to the left.
    Circle,
    /// A circle to the left in the west, then one to the right in the east; they touch in the middle.
    Eight,
}

/// Where a node begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Start {
    /// The nodes of a table are evenly spread over the circuit.
    Even,
    /// At a place drawn uniformly.
    Random,
}

/// The circuit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Params {
    /// "circle", or "eight" (two circles side by side).
    pub shape: Shape,
    /// The middle's place from west to east.
    pub x: Coordinate,
    /// The middle's place from south to north.
    pub y: Coordinate,
    /// The height.
    pub z: Coordinate,
    /// The radius of each circle.
    pub radius: Distance,
    /// The speed.
    pub speed: Speed,
    /// How nodes start: "even" (spread over the circuit, those of one table together), or "random".
    pub start: Start,
}

impl params::Params for Params {
    fn of_profile(_profile: &str) -> Self {
        Self {
            shape: Shape::Circle,
            x: Coordinate::new(0.0),
            y: Coordinate::new(0.0),
            z: Coordinate::new(100.0),
            radius: Distance::new(100.0),
            speed: Speed::new(10.0),
            start: Start::Even,
        }
    }

    fn check(&self) -> Result<(), Fault> {
        Fault::unless("radius", self.radius, |it| it.metres() > 0.0, "a radius above zero")?;
        Fault::unless("speed", self.speed, |it| it.metres_per_second() > 0.0, "a speed above zero")?;
        if self.side() / self.speed.metres_per_second() < 1e-6 {
            let problem = format!("expected at least 1 us for a 72nd of the circle, found {}", self.speed);
            return Err(Fault::new("speed", problem));
        }
        Ok(())
    }
}

impl Params {
    /// The length of a side in metres.
    fn side(&self) -> f64 {
        2.0 * self.radius.metres() * libm::sin(std::f64::consts::PI / f64::from(SIDES))
    }

    /// The number of sides of the circuit.
    const fn sides(&self) -> u32 {
        match self.shape {
            Shape::Circle => SIDES,
            Shape::Eight => 2 * SIDES,
        }
    }

    /// A corner.
    fn corner(&self, number: u32) -> Position {
        let angle = 2.0 * std::f64::consts::PI * f64::from(number % SIDES) / f64::from(SIDES);
        let radius = self.radius.metres();
        let (east, north) = (radius * libm::cos(angle), radius * libm::sin(angle));
        let (x, y) = match self.shape {
            Shape::Circle => (east, north),
            Shape::Eight if number % self.sides() < SIDES => (east - radius, north),
            Shape::Eight => (radius - east, north),
        };
        Position { x: self.x.metres() + x, y: self.y.metres() + y, z: self.z.metres() }
    }
}

impl MobilityFacts for Params {
    const OWN_START: bool = true;

    fn script(&self) -> Vec<super::Step> {
        vec![super::Step { key: "z", from: Span::ZERO, height: Some(self.z.metres()) }]
    }
}

/// A node on a circuit.
#[derive(Clone, Debug)]
pub struct Circuit {
    params: Params,
    at: Time,
    here: Position,
    /// The corner to which the next leg leads.
    next: u32,
}

impl Circuit {
    /// A node on the circuit.
    pub(super) fn build(params: &Params, node: NodeId, nodes: &Nodes<'_>) -> Result<Self, BuildError> {
        let share = match params.start {
            Start::Even => {
                let (place, count) = nodes.place_in_table(node);
                place as f64 / count as f64
            }
            Start::Random => nodes.stream(node).uniform(),
        };
        let sides = share * f64::from(params.sides());
        let (side, part) = (sides as u32, sides - sides.floor());
        let (from, to) = (params.corner(side), params.corner(side + 1));
        let way = to - from;
        let here = Position { x: from.x + part * way.x, y: from.y + part * way.y, z: from.z };
        Ok(Self { params: params.clone(), at: Time::ZERO, here, next: side + 1 })
    }
}

impl Mobility for Circuit {
    fn next_leg(&mut self) -> Leg {
        let to = self.params.corner(self.next);
        let leg = Leg::toward(self.at, self.here, to, self.params.speed.metres_per_second());
        (self.at, self.here, self.next) = (leg.until, to, (self.next + 1) % self.params.sides());
        leg
    }
}

#[cfg(test)]
mod tests {
    use hopyard_engine::Streams;

    use super::super::{Config, Spec};
    use super::*;
    use crate::params::Params as _;

    fn round(shape: Shape) -> Params {
        Params { shape, x: Coordinate::new(500.0), ..Params::of_profile("rfc") }
    }

    /// The legs of a node for as long as the circuit has sides.
    fn legs(params: &Params, node: u32) -> Vec<Leg> {
        let config = Config::Circuit(params.clone().into());
        let specs = [Spec { model: &config, start: Position::default(), movements: None, table: 0 }; 4];
        let mut node = Nodes::new(&specs, Streams::new(3, 0)).movement(NodeId(node)).expect("a node");
        (0..params.sides()).map(|_| node.next_leg()).collect()
    }

    #[test]
    fn a_round_takes_the_time_of_its_length() {
        for (shape, circles) in [(Shape::Circle, 1.0), (Shape::Eight, 2.0)] {
            let params = round(shape);
            let legs = legs(&params, 0);
            let end = legs.last().expect("a leg");
            assert!(end.position(end.until).distance(legs[0].from) < 1e-6, "{shape:?} ends where it began");
            let expected = circles * 2.0 * std::f64::consts::PI * 100.0 / 10.0;
            let found = end.until.since(Time::ZERO).seconds();
            assert!((found / expected - 1.0).abs() < 4e-4, "{shape:?}: {found} s, expected {expected}");
            assert!(legs.iter().all(|leg| (leg.speed() - 10.0).abs() < 1e-6 && leg.from.z == 100.0));
        }
    }

    #[test]
    fn nodes_are_on_their_circles() {
        let distance = |leg: &Leg, x: f64| leg.from.distance(Position { x, y: 0.0, z: 100.0 });
        assert!(legs(&round(Shape::Circle), 1).iter().all(|leg| (distance(leg, 500.0) / 100.0 - 1.0).abs() < 1e-3));
        let eight = legs(&round(Shape::Eight), 0);
        let (west, east) = eight.split_at(SIDES as usize);
        assert!(west.iter().all(|leg| (distance(leg, 400.0) - 100.0).abs() < 1e-9));
        assert!(east.iter().all(|leg| (distance(leg, 600.0) - 100.0).abs() < 1e-9));
        // The turn is to the left in the west, and to the right in the east.
        let turn = |a: &Leg, b: &Leg| a.velocity.0 * b.velocity.1 - a.velocity.1 * b.velocity.0;
        assert!(turn(&west[3], &west[4]) > 0.0 && turn(&east[3], &east[4]) < 0.0);
    }

    #[test]
    fn nodes_of_a_table_are_spread() {
        let places: Vec<_> = (0..4).map(|node| legs(&round(Shape::Circle), node)[0].from).collect();
        for pair in places.windows(2) {
            assert!((pair[0].distance(pair[1]) - 100.0 * libm::sqrt(2.0)).abs() < 1e-6, "{places:?}");
        }
        let random = Params { start: Start::Random, ..round(Shape::Circle) };
        assert_ne!(legs(&random, 0)[0].from, legs(&random, 1)[0].from);
    }
}
