//! Random waypoint: draw a destination in a rectangle or a box, and a speed; go there in a straight line, pause, and
//! draw again.
//!
//! References: D. B. Johnson, D. A. Maltz, "Dynamic Source Routing in Ad Hoc Wireless Networks", 1996 (the model); T.
//! Camp, J. Boleng, V. Davies, "A Survey of Mobility Models for Ad Hoc Network Research", WCMC 2002 (its transient); W.
//! Navidi, T. Camp, "Stationary Distributions for the Random Waypoint Mobility Model", IEEE TMC 3(1), 2004 (the
//! steady-state start).
//!
//! With a uniform start, nodes are not yet in the steady state. Slow legs last longer, so that the mean speed decreases
//! for hundreds of seconds, and nodes concentrate in the middle. The steady-state start draws position, speed and
//! remaining pause from their stationary distributions, so that there is no transient. A minimum speed of zero is
//! refused, because the mean speed would decrease without end.
//!
//! Left out: setdest's clipped normal speeds; BonnMotion's attraction points.
//!
//! Validated by the tests of this module: mean leg length and mean speed against their closed forms, the density
//! against its known shape, and the absence of a transient.

use hopyard_engine::units::{Coordinate, Distance, Speed};
use hopyard_engine::{Rng, Span, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Area, BuildError, Leg, Mobility, MobilityFacts, Nodes, Position};
use crate::address::NodeId;
use crate::params::{self, Fault};

/// How a node starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Start {
    /// At a place drawn uniformly, setting out at once: what most tools do, with a transient.
    Uniform,
    /// At a place drawn uniformly, with a pause: the start of the model's first paper and of setdest's first version.
    /// If the pause lasts as long as the run, nobody moves.
    Pause,
    /// In the steady state: no transient (Navidi and Camp 2004).
    SteadyState,
}

/// The area, the speeds and the pauses.
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
    /// The lowest height at which nodes move.
    pub bottom: Coordinate,
    /// The highest height. If it is the lowest one too, nodes move in a plane.
    pub top: Coordinate,
    /// The minimum speed. It must be above zero, because otherwise the mean speed would decrease without end.
    pub speed_min: Speed,
    /// The maximum speed; speeds are drawn uniformly.
    pub speed_max: Speed,
    /// The shortest pause at a destination.
    pub pause_min: Span,
    /// The longest pause; pauses are drawn uniformly.
    pub pause_max: Span,
    /// How a node starts: "steady_state", "uniform", or "pause" (a uniform place, and a pause first).
    pub start: Start,
}

/// The shortest mean time of the longest leg and a pause, in seconds. Time has whole nanoseconds.
const SHORTEST: f64 = 1e-6;

impl params::Params for Params {
    fn of_profile(_profile: &str) -> Self {
        Self {
            x: Coordinate::new(0.0),
            y: Coordinate::new(0.0),
            width: Distance::new(1000.0),
            height: Distance::new(1000.0),
            bottom: Coordinate::new(0.0),
            top: Coordinate::new(0.0),
            speed_min: Speed::new(1.0),
            speed_max: Speed::new(20.0),
            pause_min: Span::ZERO,
            pause_max: Span::ZERO,
            start: Start::SteadyState,
        }
    }

    fn check(&self) -> Result<(), Fault> {
        for (name, length) in [("width", self.width), ("height", self.height)] {
            Fault::unless(name, length, |it| it.metres() > 0.0, "a length above zero")?;
        }
        Fault::unless("top", self.top, |it| it >= self.bottom, format_args!("at least `bottom` ({})", self.bottom))?;
        if self.speed_min.metres_per_second() <= 0.0 {
            return Err(Fault::new(
                "speed_min",
                "expected a speed above zero, found 0 m/s: legs at a speed near zero never end, and the mean speed of \
                 all nodes decreases without end",
            ));
        }
        if self.speed_max < self.speed_min {
            let problem = format!("expected at least speed_min ({}), found {}", self.speed_min, self.speed_max);
            return Err(Fault::new("speed_max", problem));
        }
        let least = self.pause_min;
        Fault::unless("pause_max", self.pause_max, |it| it >= least, format_args!("at least pause_min ({least})"))?;
        let longest = self.diagonal();
        if longest * self.mean_slowness() + self.mean_pause() < SHORTEST {
            let problem = format!(
                "no leg can keep this speed: the longest one is {}; expected that it takes {SHORTEST} s in the mean, found \
                 {}",
                Distance::new(longest),
                self.speed_max
            );
            return Err(Fault::new("speed_max", problem));
        }
        Ok(())
    }
}

impl Params {
    /// The mean time of a leg, in seconds: mean length times mean of 1/speed.
    #[must_use]
    pub fn mean_journey(&self) -> f64 {
        self.mean_leg() * self.mean_slowness()
    }

    /// The mean speed over time in the steady state, pauses included, in metres a second.
    #[cfg(test)]
    fn mean_speed(&self) -> f64 {
        self.mean_leg() / (self.mean_journey() + self.mean_pause())
    }

    /// The mean length of a leg, in metres.
    fn mean_leg(&self) -> f64 {
        let depth = self.depth();
        if depth > 0.0 {
            mean_leg_in_box([self.width.metres(), self.height.metres(), depth])
        } else {
            mean_leg(self.width, self.height)
        }
    }

    fn depth(&self) -> f64 {
        self.top.metres() - self.bottom.metres()
    }

    /// The longest leg, in metres.
    fn diagonal(&self) -> f64 {
        let flat = libm::hypot(self.width.metres(), self.height.metres());
        if self.depth() > 0.0 { libm::hypot(flat, self.depth()) } else { flat }
    }

    /// The mean of 1/speed over legs, in seconds a metre.
    fn mean_slowness(&self) -> f64 {
        let (low, high) = (self.speed_min.metres_per_second(), self.speed_max.metres_per_second());
        if high > low { libm::log(high / low) / (high - low) } else { 1.0 / low }
    }

    fn mean_pause(&self) -> f64 {
        (self.pause_min.seconds() + self.pause_max.seconds()) / 2.0
    }
}

/// The mean distance of two points drawn uniformly in a rectangle, in metres.
///
/// Ghosh, "Random distances within a rectangle and between two rectangles", 1951; quoted by Navidi and Camp 2004.
#[must_use]
pub fn mean_leg(width: Distance, height: Distance) -> f64 {
    let (a, b) = (width.metres(), height.metres());
    let d = libm::sqrt(a * a + b * b);
    let (a2, b2) = (a * a, b * b);
    (a2 * a / b2 + b2 * b / a2 + d * (3.0 - a2 / b2 - b2 / a2)) / 15.0
        + (b2 / a * libm::log((a + d) / b) + a2 / b * libm::log((b + d) / a)) / 6.0
}

/// The mean distance of two points drawn uniformly in a box with these sides, in metres.
///
/// The differences of the coordinates have triangular densities. The mean is integrated numerically over them; Robbins
/// 1978 has the closed form of the cube, 0.6617 times its side.
#[must_use]
pub fn mean_leg_in_box(sides: [f64; 3]) -> f64 {
    const PARTS: u32 = 16;
    // Simpson's rule over a difference as a part of the side, whose density is 2(1 - u).
    let weighted = |part: u32| {
        let place = f64::from(part) / f64::from(PARTS);
        let weight = if part == 0 { 1.0 } else { f64::from(2 + 2 * (part % 2)) };
        (place, weight / f64::from(3 * PARTS) * 2.0 * (1.0 - place))
    };
    let places: Vec<_> = (0..PARTS).map(weighted).collect();
    let [a, b, c] = sides;
    let mut sum = 0.0;
    for (u, of_u) in &places {
        for (v, of_v) in &places {
            let flat = (a * u) * (a * u) + (b * v) * (b * v);
            let column = places.iter().map(|(w, weight)| weight * libm::sqrt(flat + (c * w) * (c * w)));
            sum += of_u * of_v * column.sum::<f64>();
        }
    }
    sum
}

impl MobilityFacts for Params {
    const OWN_START: bool = true;

    fn area(&self) -> Option<Area> {
        let area = Area::new([self.x, self.y], [self.width, self.height]);
        Some(area.between(self.bottom.metres(), self.top.metres()))
    }
}

/// A node that goes from waypoint to waypoint.
#[derive(Clone, Debug)]
pub struct RandomWaypoint {
    params: Params,
    rng: Rng,
    /// When and where the last returned leg ends, seen from the corner of the area; initially the start.
    at: Time,
    here: Position,
    next: Next,
}

/// The next step of a node after its current leg.
#[derive(Clone, Copy, Debug)]
enum Next {
    /// It draws a destination and moves there.
    SetOut,
    /// It pauses for a newly drawn time.
    Pause,
    /// It finishes the pause that had begun before the run.
    RestOfPause(Span),
    /// It finishes the leg that had begun before the run: destination and speed.
    RestOfJourney(Position, f64),
}

impl RandomWaypoint {
    /// A node whose start and legs are drawn from its own stream.
    pub(super) fn build(params: &Params, node: NodeId, nodes: &Nodes<'_>) -> Result<Self, BuildError> {
        Ok(Self::new(params, nodes.stream(node)))
    }

    /// A path whose start and legs are drawn from `rng`.
    pub(super) fn new(params: &Params, mut rng: Rng) -> Self {
        let (here, next) = match params.start {
            Start::Uniform => (uniform_position(params, &mut rng), Next::SetOut),
            Start::Pause => (uniform_position(params, &mut rng), Next::Pause),
            Start::SteadyState => steady_state(params, &mut rng),
        };
        Self { params: params.clone(), rng, at: Time::ZERO, here, next }
    }

    /// A leg to the destination, or `None` if the node is already there.
    fn journey(&mut self, to: Position, speed: f64) -> Option<Leg> {
        let leg = (to != self.here).then(|| Leg::toward(self.at, self.here, to, speed));
        self.next = Next::Pause;
        self.here = to;
        leg
    }

    /// A pause, or `None` if its duration is zero.
    fn pause(&mut self, span: Span) -> Option<Leg> {
        self.next = Next::SetOut;
        (!span.is_zero()).then(|| Leg::between(self.at, self.here, self.here, self.at + span))
    }
}

impl Mobility for RandomWaypoint {
    fn next_leg(&mut self) -> Leg {
        loop {
            let leg = match self.next {
                Next::SetOut => {
                    let to = uniform_position(&self.params, &mut self.rng);
                    let (low, high) = (self.params.speed_min, self.params.speed_max);
                    let speed = self.rng.uniform_in(low.metres_per_second(), high.metres_per_second());
                    self.journey(to, speed)
                }
                Next::RestOfJourney(to, speed) => self.journey(to, speed),
                Next::Pause => {
                    let (low, high) = (self.params.pause_min.seconds(), self.params.pause_max.seconds());
                    let span = Span::from_secs_f64(self.rng.uniform_in(low, high));
                    self.pause(span)
                }
                Next::RestOfPause(span) => self.pause(span),
            };
            if let Some(leg) = leg {
                self.at = leg.until;
                let (x, y, z) = (self.params.x.metres(), self.params.y.metres(), self.params.bottom.metres());
                let corner = Position { x, y, z };
                return Leg { from: leg.from + corner, ..leg };
            }
        }
    }
}

fn uniform_position(params: &Params, rng: &mut Rng) -> Position {
    let (x, y) = (rng.uniform_in(0.0, params.width.metres()), rng.uniform_in(0.0, params.height.metres()));
    // A plane has one height, which is not drawn.
    let z = if params.depth() > 0.0 { rng.uniform_in(0.0, params.depth()) } else { 0.0 };
    Position { x, y, z }
}

/// Position and activity in the steady state (Navidi and Camp 2004, §5).
fn steady_state(params: &Params, rng: &mut Rng) -> (Position, Next) {
    let paused = params.mean_pause() / (params.mean_pause() + params.mean_journey());
    if rng.uniform() < paused {
        return (uniform_position(params, rng), Next::RestOfPause(residual_pause(params, rng)));
    }
    // The probability of a leg is proportional to its length; the position on it is uniform.
    let diagonal = params.diagonal();
    let (from, to) = loop {
        let (from, to) = (uniform_position(params, rng), uniform_position(params, rng));
        if rng.uniform() * diagonal < from.distance(to) {
            break (from, to);
        }
    };
    let done = rng.uniform();
    let way = to - from;
    let here = from + Position { x: done * way.x, y: done * way.y, z: done * way.z };
    // The density of the speed is proportional to 1/v.
    let (low, high) = (params.speed_min.metres_per_second(), params.speed_max.metres_per_second());
    let speed = low * libm::pow(high / low, rng.uniform());
    (here, Next::RestOfJourney(to, speed))
}

/// The remaining time of a pause. Its density is proportional to the tail of the distribution of pauses.
fn residual_pause(params: &Params, rng: &mut Rng) -> Span {
    let (low, high) = (params.pause_min.seconds(), params.pause_max.seconds());
    let u = rng.uniform();
    let seconds = if u * (low + high) < 2.0 * low {
        u * (low + high) / 2.0
    } else {
        high - libm::sqrt((1.0 - u) * (high * high - low * low))
    };
    Span::from_secs_f64(seconds)
}

#[cfg(test)]
mod tests;
