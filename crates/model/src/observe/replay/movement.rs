//! The table of movement: a row for each leg of each node with a radio.

use hopyard_engine::{Span, Time};

use super::columns::{Written, micros};
use crate::address::NodeId;
use crate::mobility::{Leg, Position};

/// Positions are whole centimetres, counted from so far in the south-west and below, so that they are not negative.
const ORIGIN: f64 = 1e9;

/// A distance along an axis in centimetres from the origin.
fn centimetres(metres: f64) -> u64 {
    (metres * 100.0 + ORIGIN).round().clamp(0.0, 2.0 * ORIGIN) as u64
}

/// The table of legs up to the end of a run: node, begin and end, and the positions then.
pub fn table(legs: &[(NodeId, Leg)], duration: Span) -> Written {
    let end = Time::ZERO + duration;
    let rows: Vec<_> = legs.iter().map(|(node, leg)| row(u64::from(node.0), leg, leg.until.min(end))).collect();
    Written::new("legs", &["node", "begin", "end", "x0", "y0", "z0", "x1", "y1", "z1"], &rows, 0, rows.len() as u64)
}

fn row(node: u64, leg: &Leg, until: Time) -> [u64; 9] {
    let all = |at: Position| [at.x, at.y, at.z].map(centimetres);
    let ([x0, y0, z0], [x1, y1, z1]) = (all(leg.from), all(leg.position(until.max(leg.start))));
    [node, micros(leg.start), micros(until), x0, y0, z0, x1, y1, z1]
}
