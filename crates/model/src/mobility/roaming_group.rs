//! Members of a group that move around their own places beside the leader.
//!
//! A member's position is the sum of the leader's position, an offset, and the member's own motion: random waypoint in
//! a small square whose centre is the offset. Both motions are straight lines between waypoints, and so is their sum.
//! The leader is a node of any model. If it is a member itself, its own motion is part of what the member follows.
//!
//! Reference: ns-3.37, `GroupMobilityHelper` and `HierarchicalMobilityModel`: a child's position is the position of its
//! own model, added to the parent's. There the own model is any model; here it is random waypoint, in its steady state
//! from the start. Left out: turns of the leader (an offset keeps its direction). Validated by the tests of this
//! module: the difference of a member and its leader is the random waypoint of the member's own stream, and stays in
//! its square.

use hopyard_engine::units::{Coordinate, Distance, Speed};
use hopyard_engine::{Rng, Span};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::group::{Group, Leader, Offset};
use super::random_waypoint::{self, RandomWaypoint, Start};
use super::{BuildError, Leg, Membership, Mobility, MobilityFacts, Nodes, Position};
use crate::address::NodeId;
use crate::params::{self, Fault};

/// Whom a member follows, and how it moves around its place.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Params {
    /// The number of the node that the members follow. It may be a member of a group itself.
    pub leader: Leader,
    /// The offset from the leader of the place around which the member moves, to the east, to the north and, if it is
    /// not zero, up. "positions": the difference of the positions that the scenario gives the member and its leader.
    pub offset: Offset,
    /// The distance that a member goes from its place to the east, to the west, to the north and to the south. It is
    /// half the side of the square in which the member moves.
    pub range: Distance,
    /// The minimum speed of a member beside its leader. It must be above zero.
    pub speed_min: Speed,
    /// The maximum speed of a member beside its leader; speeds are drawn uniformly. The speed over ground is the sum of
    /// the leader's velocity and this one.
    pub speed_max: Speed,
    /// The shortest pause of the member's own motion.
    pub pause_min: Span,
    /// The longest pause of the member's own motion; pauses are drawn uniformly.
    pub pause_max: Span,
}

impl params::Params for Params {
    fn of_profile(_profile: &str) -> Self {
        Self {
            leader: Leader::None,
            offset: Offset::Positions,
            range: Distance::new(20.0),
            speed_min: Speed::new(0.1),
            speed_max: Speed::new(1.0),
            pause_min: Span::ZERO,
            pause_max: Span::ZERO,
        }
    }

    fn check(&self) -> Result<(), Fault> {
        if self.range.metres() <= 0.0 {
            let problem =
                format!("expected a distance above zero, found {}; the model `group` keeps places", self.range);
            return Err(Fault::new("range", problem));
        }
        self.own().check()
    }
}

impl Params {
    /// The own motion, in a square that begins at the origin.
    fn own(&self) -> random_waypoint::Params {
        let side = Distance::new(2.0 * self.range.metres());
        random_waypoint::Params {
            x: Coordinate::new(0.0),
            y: Coordinate::new(0.0),
            width: side,
            height: side,
            bottom: Coordinate::new(0.0),
            top: Coordinate::new(0.0),
            speed_min: self.speed_min,
            speed_max: self.speed_max,
            pause_min: self.pause_min,
            pause_max: self.pause_max,
            start: Start::SteadyState,
        }
    }
}

impl MobilityFacts for Params {
    fn membership(&self) -> Option<Membership> {
        Some(Membership { leader: self.leader.node(), offset: self.offset.metres(), is_rigid: false })
    }

    fn own_motion(&self, rng: Rng) -> Option<Box<dyn Mobility>> {
        let half = self.range.metres();
        let own = RandomWaypoint::new(&self.own(), rng);
        Some(Box::new(Centred { own, corner: Position::ground(-half, -half) }))
    }
}

/// A motion whose square has its centre at the origin.
#[derive(Debug)]
struct Centred {
    own: RandomWaypoint,
    corner: Position,
}

impl Mobility for Centred {
    fn next_leg(&mut self) -> Leg {
        let leg = self.own.next_leg();
        Leg { from: leg.from + self.corner, ..leg }
    }
}

/// A node that moves around its place beside another.
#[derive(Debug)]
pub struct RoamingGroup(Group);

impl RoamingGroup {
    /// A member, with its own copy of the leader's movement.
    pub(super) fn build(_: &Params, node: NodeId, nodes: &Nodes<'_>) -> Result<Self, BuildError> {
        Group::following(node, nodes).map(Self)
    }
}

impl Mobility for RoamingGroup {
    fn next_leg(&mut self) -> Leg {
        self.0.next_leg()
    }
}

#[cfg(test)]
mod tests;
