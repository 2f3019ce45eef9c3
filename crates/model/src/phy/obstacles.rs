//! Obstacles: boxes that take a part of the power of every signal whose direct path they meet.
//!
//! The loss of a box is the same however long the path through it is. Left out: reflection and diffraction.

use hopyard_engine::units::Ratio;

use crate::mobility::Position;

/// A box, with its sides along the axes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Obstacle {
    low: Position,
    high: Position,
    /// The fraction of the power that passes.
    passes: f64,
}

impl Obstacle {
    /// The box between these corners, with this loss.
    #[must_use]
    pub fn new(low: Position, high: Position, loss: Ratio) -> Self {
        Self { low, high, passes: 1.0 / loss.factor() }
    }

    /// The lowest and the highest corner.
    #[must_use]
    pub const fn corners(&self) -> (Position, Position) {
        (self.low, self.high)
    }

    /// Whether a straight line between two places meets the box.
    #[must_use]
    pub fn meets(&self, one: Position, other: Position) -> bool {
        let way = other - one;
        // The part of the line that is between the two planes of each axis.
        let (mut first, mut last) = (0.0_f64, 1.0_f64);
        for (from, along, low, high) in [
            (one.x, way.x, self.low.x, self.high.x),
            (one.y, way.y, self.low.y, self.high.y),
            (one.z, way.z, self.low.z, self.high.z),
        ] {
            if along == 0.0 {
                if !(low..=high).contains(&from) {
                    return false;
                }
                continue;
            }
            let (enters, leaves) = ((low - from) / along, (high - from) / along);
            first = first.max(enters.min(leaves));
            last = last.min(enters.max(leaves));
        }
        first <= last
    }
}

/// The fraction of the power that passes all obstacles between two places. It is equal in both directions.
#[must_use]
pub fn passes(obstacles: &[Obstacle], one: Position, other: Position) -> f64 {
    // A line has the same rounding errors in both directions if it begins at the same end.
    let (one, other) = if (one.x, one.y, one.z) <= (other.x, other.y, other.z) { (one, other) } else { (other, one) };
    obstacles.iter().filter(|it| it.meets(one, other)).map(|it| it.passes).product()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_that_meet_a_box_lose_its_share() {
        let at = |x: f64, y: f64, z: f64| Position { x, y, z };
        let house = Obstacle::new(at(10.0, 10.0, 0.0), at(20.0, 30.0, 8.0), Ratio::from_db(10.0));
        let tower = Obstacle::new(at(40.0, -5.0, 0.0), at(45.0, 40.0, 90.0), Ratio::from_db(20.0));
        let both = [house, tower];
        for (one, other, expected) in [
            // Through the house, past it, over it, and into it.
            (at(0.0, 15.0, 1.0), at(30.0, 15.0, 1.0), 0.1),
            (at(0.0, 5.0, 1.0), at(30.0, 5.0, 1.0), 1.0),
            (at(0.0, 15.0, 9.0), at(30.0, 15.0, 9.0), 1.0),
            (at(0.0, 15.0, 1.0), at(15.0, 15.0, 1.0), 0.1),
            // Down from the air to its far side, through its roof, and from higher up.
            (at(0.0, 15.0, 20.0), at(25.0, 15.0, 0.0), 0.1),
            (at(0.0, 15.0, 60.0), at(25.0, 15.0, 0.0), 1.0),
            // Through both, and along an edge.
            (at(0.0, 15.0, 1.0), at(60.0, 15.0, 1.0), 0.001),
            (at(10.0, 0.0, 1.0), at(10.0, 50.0, 1.0), 0.1),
            (at(15.0, 15.0, 1.0), at(15.0, 15.0, 1.0), 0.1),
        ] {
            for found in [passes(&both, one, other), passes(&both, other, one)] {
                assert!((found - expected).abs() < 1e-12, "{one:?} to {other:?}: {found}");
            }
        }
    }
}
