//! Reference-point group mobility: the members of a group stay near a centre that moves to random destinations.
//!
//! References: X. Hong, M. Gerla, G. Pei, C.-C. Chiang, "A Group Mobility Model for Ad Hoc Wireless Networks", MSWiM
//! 1999 (the model); N. Aschenbruck, R. Ernst, E. Gerhards-Padilla, M. Schwamborn, "BonnMotion: a Mobility Scenario
//! Generation and Analysis Tool", SIMUTools 2010; BonnMotion 3.0.2, model `RPGM`, whose rules these are:
//!
//! - The centre of a group moves by random waypoint in the area, at least a radius from its edges.
//! - A member starts at the centre plus a vector of uniform length up to the radius and of uniform direction. At the end
//!   of each leg of the centre it has a new place, drawn in the same way, and it goes there in a straight line. The place
//!   is drawn again until the speed is within its limits. While the centre pauses, the member pauses.
//! - When another group's centre comes within the radius of a member, the member changes to that group with a given
//!   probability, at a uniform instant of the time in which it would be near that centre during its leg.
//! - What happens before a given time is cut off, because the start is not in the steady state.
//!
//! Members draw from their own streams, and the group's centre from a stream of the group. So a member moves in the same
//! way whatever other members do, and every member has a copy of the centre's movement. Legs are made when they are
//! asked for: the memory does not grow with the duration.
//!
//! Deviations: BonnMotion draws without bound. Here the number of draws is a parameter; after these, the member goes to
//! the point with an admissible speed that is nearest to the last draw, within the radius, and the leg is counted. Of
//! several centres that come near during a leg, the first one for which chance decides wins in both; BonnMotion also
//! tests whether a change would need a higher speed, which cannot happen here. Left out: height.
//!
//! Validated by the tests of this module, and against sixteen movement files of BonnMotion 3.0.2 (validation).

mod centres;
mod places;

use hopyard_engine::units::{Distance, Speed};
use hopyard_engine::{Rng, Span, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use self::centres::{Centres, Pass, Path};
use self::places::Ring;
use super::{BuildError, Facts, Grouping, Leg, Mobility, Nodes, Position};
use crate::address::NodeId;
use crate::params::{self, Fault, Metric, RFC};

/// The area, the groups, and how they move.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Params {
    /// The area's length from west to east.
    pub width: Distance,
    /// The area's length from south to north.
    pub height: Distance,
    /// The number of groups. The nodes are shared out evenly, in the order of their numbers. 0: the sizes are drawn.
    pub groups: u32,
    /// The mean size of a group whose size is drawn. Groups are formed of nodes with successive numbers until none is
    /// left.
    pub size_mean: f64,
    /// The standard deviation of the size, which is normally distributed, rounded, and at least one.
    pub size_spread: f64,
    /// The largest distance of a member from the centre when the centre is at the end of a leg.
    pub radius: Distance,
    /// The minimum speed of centres and members. It must be above zero, because otherwise the mean speed would decrease
    /// without end.
    pub speed_min: Speed,
    /// The maximum speed of centres and members; the speeds of centres are drawn uniformly.
    pub speed_max: Speed,
    /// The longest pause of a group at a destination; pauses are drawn uniformly from zero on.
    pub pause_max: Span,
    /// The probability that a member changes to another group whose centre comes within the radius.
    pub change: f64,
    /// How many places are drawn for a member at most, until its speed is within the limits. Then it goes to the nearest
    /// point that has an admissible speed, and the leg is counted in `legs_forced`.
    pub draws: u32,
    /// How much of the movement is cut off at its start, which is not in the steady state.
    pub warm_up: Span,
}

/// The profile with the defaults of BonnMotion.
const BONNMOTION: &str = "bonnmotion";

impl params::Params for Params {
    const PROFILES: &'static [&'static str] = &[RFC, BONNMOTION];

    fn of_profile(profile: &str) -> Self {
        let usual = Self {
            width: Distance::new(1000.0),
            height: Distance::new(1000.0),
            groups: 0,
            size_mean: 6.0,
            size_spread: 0.0,
            radius: Distance::new(250.0),
            speed_min: Speed::new(1.5),
            speed_max: Speed::new(5.0),
            pause_max: Span::ZERO,
            change: 0.0,
            draws: 1000,
            warm_up: Span::from_secs(3600),
        };
        if profile != BONNMOTION {
            return usual;
        }
        Self {
            size_mean: 3.0,
            size_spread: 2.0,
            radius: Distance::new(2.5),
            speed_min: Speed::new(0.5),
            speed_max: Speed::new(1.5),
            pause_max: Span::from_secs(60),
            change: 0.01,
            ..usual
        }
    }

    fn check(&self) -> Result<(), Fault> {
        for (name, length) in [("width", self.width), ("height", self.height)] {
            if length.metres() <= 0.0 {
                return Err(Fault::new(name, format!("expected a length above zero, found {length}")));
            }
        }
        if !(self.size_mean.is_finite() && self.size_mean >= 1.0) {
            return Err(Fault::new("size_mean", format!("expected at least 1, found {}", self.size_mean)));
        }
        if !(self.size_spread.is_finite() && self.size_spread >= 0.0) {
            return Err(Fault::new("size_spread", format!("expected 0 or more, found {}", self.size_spread)));
        }
        if self.groups > 0 && self.size_spread > 0.0 {
            let problem = format!("expected 0 where `groups` gives equal sizes, found {}", self.size_spread);
            return Err(Fault::new("size_spread", problem));
        }
        let shorter = if self.height < self.width { self.height } else { self.width };
        if 2.0 * self.radius.metres() > shorter.metres() {
            let problem =
                format!("expected at most half of the area's shorter side ({shorter}), found {}", self.radius);
            return Err(Fault::new("radius", problem));
        }
        self.check_speeds()?;
        if !(0.0..=1.0).contains(&self.change) {
            return Err(Fault::new("change", format!("expected a probability from 0 to 1, found {}", self.change)));
        }
        if self.draws == 0 {
            return Err(Fault::new("draws", "expected at least 1, found 0"));
        }
        Ok(())
    }
}

/// A leg that takes less time cannot have a speed that is drawn: its end is rounded to the nanosecond.
const SHORTEST_LEG: f64 = 1e-6;

impl Params {
    fn check_speeds(&self) -> Result<(), Fault> {
        if self.speed_min.metres_per_second() <= 0.0 {
            let problem = "expected a speed above zero, found 0 m/s: legs at a speed near zero never end, and the mean \
                           speed of all nodes decreases without end";
            return Err(Fault::new("speed_min", problem));
        }
        if self.speed_max < self.speed_min {
            let (low, high) = (self.speed_min, self.speed_max);
            let problem = format!("expected at least speed_min ({low}), found {high}: no leg can keep both limits");
            return Err(Fault::new("speed_max", problem));
        }
        let longest = self.longest_leg();
        if longest <= 0.0 {
            let problem = format!(
                "no leg can keep a speed: the area of {} by {} leaves the centre no room to move; \
                 expected less than half of the longer side, found {}",
                self.width, self.height, self.radius
            );
            return Err(Fault::new("radius", problem));
        }
        if longest / self.speed_min.metres_per_second() < SHORTEST_LEG {
            let problem = format!(
                "no leg can keep this speed: the longest way of a centre is {longest} m; expected less \
                 than {} m/s, found {}",
                longest / SHORTEST_LEG,
                self.speed_min
            );
            return Err(Fault::new("speed_min", problem));
        }
        Ok(())
    }

    /// The longest way of a centre, in metres.
    fn longest_leg(&self) -> f64 {
        let room = |length: Distance| length.metres() - 2.0 * self.radius.metres();
        libm::hypot(room(self.width), room(self.height))
    }
}

impl Facts for Params {
    const OWN_START: bool = true;

    const METRICS: &'static [Metric] = &[
        Metric {
            name: "legs_forced",
            unit: "legs",
            meaning: "Legs whose end was not drawn: no draw had a speed within the limits.",
        },
        Metric { name: "group_changes", unit: "changes", meaning: "How often the node changed to another group." },
    ];

    fn grouping(&self) -> Option<Grouping> {
        Some(Grouping { groups: self.groups, size_mean: self.size_mean, size_spread: self.size_spread })
    }
}

/// The movement of the centre of the group whose first node is `head`, from the start of its movement on, without a cut.
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
