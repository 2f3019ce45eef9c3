//! Positions, and legs: straight lines at constant speed.

use std::fmt;
use std::ops::{Add, Sub};

use enum_dispatch::enum_dispatch;
use hopyard_engine::{Span, Time};

/// A point in space, in metres.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub struct Position {
    /// Metres to the east.
    pub x: f64,
    /// Metres to the north.
    pub y: f64,
    /// Metres up.
    pub z: f64,
}

impl Position {
    /// A point at height zero.
    #[inline]
    #[must_use]
    pub const fn ground(x: f64, y: f64) -> Self {
        Self { x, y, z: 0.0 }
    }

    /// The square of the distance from here to `other`, in square metres.
    ///
    /// Between points of the same height, the distance is, to the last bit, the distance in the plane.
    #[inline]
    #[must_use]
    pub fn distance_squared(self, other: Self) -> f64 {
        let (dx, dy, dz) = (other.x - self.x, other.y - self.y, other.z - self.z);
        dx * dx + dy * dy + dz * dz
    }

    /// Metres from here to `other`.
    #[inline]
    #[must_use]
    pub fn distance(self, other: Self) -> f64 {
        libm::sqrt(self.distance_squared(other))
    }
}

/// A position and an offset.
impl Add for Position {
    type Output = Self;
    fn add(self, offset: Self) -> Self {
        Self { x: self.x + offset.x, y: self.y + offset.y, z: self.z + offset.z }
    }
}

/// The offset of a position from another.
impl Sub for Position {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        Self { x: self.x - other.x, y: self.y - other.y, z: self.z - other.z }
    }
}

/// A straight line at constant speed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Leg {
    /// When the leg starts.
    pub start: Time,
    /// Where it starts.
    pub from: Position,
    /// Metres a second to the east, to the north, and up; zero for a pause.
    pub velocity: (f64, f64, f64),
    /// When it ends; [`Time::NEVER`] if it lasts until the end of the run.
    pub until: Time,
}

impl Leg {
    /// A leg of a node that never moves.
    #[must_use]
    pub const fn still(start: Time, from: Position) -> Self {
        Self { start, from, velocity: (0.0, 0.0, 0.0), until: Time::NEVER }
    }

    /// The leg that leaves `from` at `start` and reaches `to` at `until`, which is later.
    #[must_use]
    pub fn between(start: Time, from: Position, to: Position, until: Time) -> Self {
        let seconds = until.since(start).seconds();
        let way = to - from;
        Self { start, from, velocity: (way.x / seconds, way.y / seconds, way.z / seconds), until }
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
        Position {
            x: self.from.x + self.velocity.0 * seconds,
            y: self.from.y + self.velocity.1 * seconds,
            z: self.from.z + self.velocity.2 * seconds,
        }
    }

    /// The speed in metres a second.
    #[must_use]
    pub fn speed(&self) -> f64 {
        libm::hypot(libm::hypot(self.velocity.0, self.velocity.1), self.velocity.2)
    }

    /// Whether the node does not move during the leg.
    #[must_use]
    pub fn is_pause(&self) -> bool {
        self.velocity == (0.0, 0.0, 0.0)
    }
}

/// A model of one node's movement.
#[enum_dispatch]
pub trait Mobility: fmt::Debug + Send {
    /// The next leg; it starts when and where the last one ended, and the first starts at time zero.
    /// Not called again after a leg that lasts for ever.
    fn next_leg(&mut self) -> Leg;

    /// The values of the model's own counters so far, in the order of its [`MobilityFacts::METRICS`].
    ///
    /// [`MobilityFacts::METRICS`]: super::MobilityFacts::METRICS
    fn counts(&self) -> Vec<u64> {
        Vec::new()
    }
}

impl<M: Mobility> Mobility for Box<M> {
    fn next_leg(&mut self) -> Leg {
        (**self).next_leg()
    }

    fn counts(&self) -> Vec<u64> {
        (**self).counts()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_leg_ends_where_it_is_bound_for() {
        let (from, to) = (Position::ground(1.0, 1.0), Position::ground(4.0, 5.0));
        let leg = Leg::toward(Time::ZERO + Span::from_secs(7), from, to, 2.0);
        assert_eq!(leg.until, Time::ZERO + Span::from_millis(9500));
        assert!(leg.position(leg.until).distance(to) < 1e-12);
        // A leg shorter than a nanosecond takes one nanosecond, so that time advances.
        assert_eq!(Leg::toward(Time::ZERO, from, Position::ground(1.0 + 1e-12, 1.0), 2.0).until, Time::from_nanos(1));
    }
}
