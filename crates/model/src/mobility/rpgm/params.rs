//! The parameters of groups, and which of them are impossible.

use hopyard_engine::Span;
use hopyard_engine::units::{Coordinate, Distance, Speed};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::mobility::{Area, Grouping, MobilityFacts};
use crate::params::{self, Fault, Metric, RFC, Unused, unused_where};

/// The area, the groups, and how they move.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Params {
    /// The western edge of the area.
    pub x: Coordinate,
    /// The southern edge of the area.
    pub y: Coordinate,
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
    /// How many places are drawn for a member at most, until its speed is within the limits. Then it goes to the
    /// nearest point that has an admissible speed, and the leg is counted in `legs_forced`.
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
            x: Coordinate::new(0.0),
            y: Coordinate::new(0.0),
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
            Fault::unless(name, length, |it| it.metres() > 0.0, "a length above zero")?;
        }
        Fault::unless("size_mean", self.size_mean, |it| it.is_finite() && it >= 1.0, "at least 1")?;
        Fault::unless("size_spread", self.size_spread, |it| it.is_finite() && it >= 0.0, "0 or more")?;
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
        Fault::unless("change", self.change, |it| (0.0..=1.0).contains(&it), "a probability from 0 to 1")?;
        let most = self.longest_leg() / 2.0 / self.speed_max.metres_per_second() * MOST_LEGS;
        Fault::unless(
            "warm_up",
            self.warm_up,
            |it| it.seconds() <= most,
            format_args!("at most {most:.0} s, in which a centre makes about {MOST_LEGS} legs"),
        )?;
        Fault::unless("draws", self.draws, |it| it > 0, "at least 1")?;
        Ok(())
    }

    fn unused(&self) -> Vec<Unused> {
        unused_where([(self.groups > 0, "groups", &["size_mean", "size_spread"])])
    }
}

/// So many legs of a centre may be cut off. They are made when the run is built.
const MOST_LEGS: f64 = 1e5;

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

impl MobilityFacts for Params {
    const OWN_START: bool = true;

    const METRICS: &'static [Metric] = &[
        Metric {
            name: "legs_forced",
            unit: "legs",
            meaning: "Legs whose end was not drawn: no draw had a speed within the limits.",
        },
        Metric { name: "group_changes", unit: "changes", meaning: "How often the node changed to another group." },
    ];

    fn area(&self) -> Option<Area> {
        Some(Area::new([self.x, self.y], [self.width, self.height]))
    }

    fn grouping(&self) -> Option<Grouping> {
        Some(Grouping { groups: self.groups, size_mean: self.size_mean, size_spread: self.size_spread })
    }
}
