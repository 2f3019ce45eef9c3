//! The sum of several movements.

use hopyard_engine::Time;

use super::leg::{Leg, Mobility, Position};

/// Movements that are added. Each is a straight line between its own waypoints, and so is the sum between the waypoints
/// of all of them.
#[derive(Debug)]
pub(super) struct Sum {
    parts: Vec<(Box<dyn Mobility>, Leg)>,
    offset: Position,
    /// When the next leg starts.
    at: Time,
}

impl Sum {
    /// The sum of movements and a constant offset.
    pub(super) fn new(movements: Vec<Box<dyn Mobility>>, offset: Position) -> Self {
        let first = |mut movement: Box<dyn Mobility>| {
            let leg = movement.next_leg();
            (movement, leg)
        };
        Self { parts: movements.into_iter().map(first).collect(), offset, at: Time::ZERO }
    }
}

impl Mobility for Sum {
    fn next_leg(&mut self) -> Leg {
        let start = self.at;
        for (movement, leg) in &mut self.parts {
            while leg.until <= start {
                *leg = movement.next_leg();
            }
        }
        let mut sum = Leg { start, from: self.offset, velocity: (0.0, 0.0, 0.0), until: Time::NEVER };
        for (_, leg) in &self.parts {
            sum.from = sum.from + leg.position(start);
            let (east, north, up) = sum.velocity;
            sum.velocity = (east + leg.velocity.0, north + leg.velocity.1, up + leg.velocity.2);
            sum.until = sum.until.min(leg.until);
        }
        self.at = sum.until;
        sum
    }
}
