//! Where nodes are: position as a function of time, in legs.
//!
//! A leg is a straight line at constant speed. A model is asked for the next leg when the present one ends: one event a leg,
//! never one a step.

use hopyard_engine::Time;

/// A point in the plane, in metres.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub struct Position {
    /// Metres to the east.
    pub x: f64,
    /// Metres to the north.
    pub y: f64,
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
    /// When it ends; [`Time::NEVER`] when the node stays so to the end of the run.
    pub until: Time,
}

impl Leg {
    /// A node that stays where it is for ever.
    #[must_use]
    pub const fn still(start: Time, from: Position) -> Self {
        Self { start, from, velocity: (0.0, 0.0), until: Time::NEVER }
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
