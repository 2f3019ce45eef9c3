//! Reference-point group mobility: the members of a group stay near a centre that moves to random destinations.
//!
//! References: X. Hong, M. Gerla, G. Pei, C.-C. Chiang, "A Group Mobility Model for Ad Hoc Wireless Networks", MSWiM
//! 1999 (the model); N. Aschenbruck, R. Ernst, E. Gerhards-Padilla, M. Schwamborn, "BonnMotion: a Mobility Scenario
//! Generation and Analysis Tool", SIMUTools 2010; BonnMotion 3.0.2, model `RPGM`, whose rules these are:
//!
//! - The centre of a group moves by random waypoint in the area, at least a radius from its edges.
//! - A member starts at the centre plus a vector of uniform length up to the radius and of uniform direction. At the
//!   end of each leg of the centre it has a new place, drawn in the same way, and it goes there in a straight line. The
//!   place is drawn again until the speed is within its limits. While the centre pauses, the member pauses.
//! - When another group's centre comes within the radius of a member, the member changes to that group with a given
//!   probability. The change comes at a uniform instant of the time in which the member would be near that centre
//!   during its leg.
//! - What happens before a given time is cut off, because the start is not in the steady state.
//!
//! Members draw from their own streams, and the group's centre from a stream of the group. So a member moves in the
//! same way whatever other members do, and every member has a copy of the centre's movement. Legs are made when they
//! are asked for: the memory does not grow with the duration.
//!
//! Deviations: BonnMotion draws without bound. Here the number of draws is a parameter. After these draws, the member
//! goes to the point nearest to the last draw that it reaches with an admissible speed, within the radius, and the leg
//! is counted. If several centres come near during a leg, the first one for which chance decides wins in both.
//! BonnMotion also counts centres that are near when a leg begins. It refuses nine changes of ten by a test whether a
//! change would need a higher speed. Here no change can need one. Left out: height.
//!
//! Validated by the tests of this module, and against sixteen movement files of BonnMotion 3.0.2 (validation).

mod centres;
mod params;
mod places;

use hopyard_engine::{Rng, Span, Time};

use self::centres::{Centres, Pass, Path};
pub use self::params::Params;
use self::places::Ring;
use super::{BuildError, Leg, Mobility, Nodes, Position};
use crate::address::NodeId;

/// The movement of the centre of the group whose first node is `head`, from the start of the movement, without a cut.
#[must_use]
pub fn centre(params: &Params, head: NodeId, nodes: &Nodes<'_>) -> Box<dyn Mobility> {
    Box::new(Path::new(params, head, nodes))
}

/// A member of a group.
#[derive(Debug)]
pub struct ReferencePointGroup(Box<Member>);

#[derive(Debug)]
struct Member {
    rng: Rng,
    centres: Centres,
    ring: Ring,
    change: f64,
    warm_up: Span,
    /// When and where the last leg ends, in the time of the movement before its cut.
    at: Time,
    here: Position,
    /// The leg in which the cut is, from the cut on.
    first: Option<Leg>,
    forced: u64,
    changes: u64,
}

impl ReferencePointGroup {
    /// A member whose places are drawn from its own stream.
    pub(super) fn build(params: &Params, node: NodeId, nodes: &Nodes<'_>) -> Result<Self, BuildError> {
        let table = nodes.spec(node)?.table;
        let mut centres = Centres::new(params, node, table, nodes);
        let (mut rng, ring) = (nodes.stream(node), Ring::new(params));
        let here = centres.leg(Time::ZERO).from + ring.draw(&mut rng);
        let (change, warm_up) = (params.change, params.warm_up);
        let mut member =
            Member { rng, centres, ring, change, warm_up, at: Time::ZERO, here, first: None, forced: 0, changes: 0 };
        let cut = Time::ZERO + warm_up;
        loop {
            let leg = member.travel();
            if leg.until > cut {
                member.first = Some(Leg { start: cut, from: leg.position(cut), ..leg });
                break;
            }
        }
        // What happened before the cut is no part of the run.
        (member.forced, member.changes) = (0, 0);
        Ok(Self(Box::new(member)))
    }
}

impl Member {
    /// The next leg, in the time of the movement before its cut.
    fn travel(&mut self) -> Leg {
        let centre = self.centres.leg(self.at);
        let to = if centre.is_pause() {
            self.here
        } else {
            let seconds = centre.until.since(self.at).seconds();
            let (now, then) = (centre.position(self.at), centre.position(centre.until));
            let end = self.ring.destination([self.here, now, then], seconds, &mut self.rng);
            self.forced += u64::from(end.is_forced);
            end.place
        };
        let mut leg = Leg::between(self.at, self.here, to, centre.until);
        (self.at, self.here) = (leg.until, to);
        if self.change > 0.0
            && let Some((group, at)) = self.other_group(&leg)
        {
            self.centres.change(group);
            self.changes += 1;
            (self.at, self.here) = (at, leg.position(at));
            leg.until = at;
        }
        leg
    }

    /// The group to which the member changes during a leg, and when.
    fn other_group(&mut self, leg: &Leg) -> Option<(usize, Time)> {
        let mut first: Option<(Pass, usize, Time)> = None;
        for (group, pass) in self.centres.passes(leg, self.ring.radius()) {
            let is_earlier = first.is_none_or(|(earlier, ..)| pass.comes < earlier.comes);
            if is_earlier && self.rng.uniform() < self.change {
                let at = pass.comes + self.rng.uniform() * (pass.goes - pass.comes);
                let at = leg.start + Span::from_secs_f64(at);
                if at > leg.start && at < leg.until {
                    first = Some((pass, group, at));
                }
            }
        }
        first.map(|(_, group, at)| (group, at))
    }
}

impl Mobility for ReferencePointGroup {
    fn next_leg(&mut self) -> Leg {
        let member = &mut *self.0;
        let leg = member.first.take().unwrap_or_else(|| member.travel());
        let cut = Time::ZERO + member.warm_up;
        let shifted = |time: Time| if time < Time::NEVER { Time::ZERO + time.since(cut) } else { time };
        Leg { start: shifted(leg.start), until: shifted(leg.until), ..leg }
    }

    fn counts(&self) -> Vec<u64> {
        vec![self.0.forced, self.0.changes]
    }
}

#[cfg(test)]
mod tests;
