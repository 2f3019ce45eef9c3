//! Obstacles between nodes.

use hopyard_engine::units::{Coordinate, Ratio};
use hopyard_model::mobility::Position;
use hopyard_model::params::{Fault, Params};
use hopyard_model::phy::obstacles;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// `[[obstacle]]`: a box that weakens the signals whose direct path meets it, on every channel.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Obstacle {
    /// Its south-western corner: to the east and to the north.
    pub from: [Coordinate; 2],
    /// Its north-eastern corner.
    pub to: [Coordinate; 2],
    /// The height at which it begins.
    pub bottom: Coordinate,
    /// The height at which it ends.
    pub top: Coordinate,
    /// By how much it weakens signals, however long their path through it is.
    pub loss: Ratio,
}

impl Default for Obstacle {
    fn default() -> Self {
        let zero = Coordinate::new(0.0);
        let (one, top) = (Coordinate::new(1.0), Coordinate::new(1000.0));
        Self { from: [zero; 2], to: [one; 2], bottom: zero, top, loss: Ratio::from_factor(1.0) }
    }
}

section!(Obstacle, |obstacle| {
    for (axis, direction) in ["east", "north"].into_iter().enumerate() {
        let (from, to) = (obstacle.from[axis], obstacle.to[axis]);
        Fault::unless("to", to, |it| it > from, format_args!("more than {from} to the {direction}"))?;
    }
    if obstacle.top <= obstacle.bottom {
        let problem = format!("expected more than `bottom` ({}), found {}", obstacle.bottom, obstacle.top);
        return Err(Fault::new("top", problem));
    }
    Fault::unless("loss", obstacle.loss, |it| it.factor() >= 1.0, "at least 0 dB")?;
    Ok(())
});

impl Obstacle {
    /// The box.
    pub(crate) fn in_space(&self) -> obstacles::Obstacle {
        let corner = |[x, y]: [Coordinate; 2], z: Coordinate| Position { x: x.metres(), y: y.metres(), z: z.metres() };
        obstacles::Obstacle::new(corner(self.from, self.bottom), corner(self.to, self.top), self.loss)
    }
}
