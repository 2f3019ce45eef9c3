//! Gauss-Markov movement in space: speed, direction and pitch change by steps, each from its former value.
//!
//! Read: B. Liang, Z. J. Haas, "Predictive Distance-Based Mobility Management for PCS Networks", INFOCOM 1999 (the
//! process); T. Camp, J. Boleng, V. Davies, WCMC 2002, §2.5 (speed and direction as processes); ns-3's
//! `GaussMarkovMobilityModel`, for the pitch. At each step, a value x becomes αx + (1 - α)·mean + √(1 - α²)·N(0, σ²).
//!
//! A node that meets the border of its box is reflected there. Its mean direction and pitch are reflected too, so that
//! the next step does not lead back to the border. Each node has a mean direction of its own. Places are uniform in the
//! box and speeds are in the steady state at the start, so that there is no transient. Left out: the margin of Camp et
//! al. within which nodes turn away from the border. Validated against the closed forms of the process: mean, variance
//! and autocorrelation.

use hopyard_engine::units::{Coordinate, Distance, Speed};
use hopyard_engine::{Rng, Span, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Area, BuildError, Leg, Mobility, MobilityFacts, Nodes, Position};
use crate::address::NodeId;
use crate::params::{self, Fault};

/// The box, and the processes of speed, direction and pitch.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Params {
    /// The western edge of the box.
    pub x: Coordinate,
    /// The southern edge of the box.
    pub y: Coordinate,
    /// The box's length from west to east.
    pub width: Distance,
    /// The box's length from south to north.
    pub height: Distance,
    /// The lowest height at which nodes move.
    pub bottom: Coordinate,
    /// The largest height at which nodes move. If it equals `bottom`, nodes move in a plane.
    pub top: Coordinate,
    /// The share of the former value in a value, 0 to 1: 0 draws each step anew, 1 changes nothing.
    pub alpha: f64,
    /// The time between two steps.
    pub step: Span,
    /// The mean speed.
    pub speed_mean: Speed,
    /// The standard deviation of the speed. A node whose speed would be below zero stands still.
    pub speed_sigma: Speed,
    /// The standard deviation of the direction, in degrees.
    pub direction_sigma: f64,
    /// The standard deviation of the pitch around level flight, in degrees.
    pub pitch_sigma: f64,
}

impl params::Params for Params {
    fn of_profile(_profile: &str) -> Self {
        Self {
            x: Coordinate::new(0.0),
            y: Coordinate::new(0.0),
            width: Distance::new(1000.0),
            height: Distance::new(1000.0),
            bottom: Coordinate::new(50.0),
            top: Coordinate::new(150.0),
            alpha: 0.85,
            step: Span::from_secs(1),
            speed_mean: Speed::new(10.0),
            speed_sigma: Speed::new(2.0),
            direction_sigma: 45.0,
            pitch_sigma: 5.0,
        }
    }

    fn check(&self) -> Result<(), Fault> {
        for (name, length) in [("width", self.width), ("height", self.height)] {
            Fault::unless(name, length, |it| it.metres() > 0.0, "a length above zero")?;
        }
        Fault::unless("top", self.top, |it| it >= self.bottom, format_args!("at least `bottom` ({})", self.bottom))?;
        Fault::unless("alpha", self.alpha, |it| (0.0..=1.0).contains(&it), "0 to 1")?;
        Fault::unless("step", self.step, |it| it >= Span::from_millis(1), "at least 1 ms")?;
        for (name, sigma, most) in
            [("direction_sigma", self.direction_sigma, 360.0), ("pitch_sigma", self.pitch_sigma, 90.0)]
        {
            Fault::unless(name, sigma, |it| (0.0..=most).contains(&it), format_args!("0 to {most} degrees"))?;
        }
        // A leg between two walls takes a step's share of the time: many reflections a step are no movement.
        let sides = [self.width.metres(), self.height.metres(), self.top.metres() - self.bottom.metres()];
        let least = sides.into_iter().filter(|side| *side > 0.0).fold(f64::INFINITY, f64::min);
        let fastest = self.speed_mean.metres_per_second() + 6.0 * self.speed_sigma.metres_per_second();
        if fastest * self.step.seconds() > 100.0 * least {
            let problem = format!(
                "expected steps that are at most 100 times as long as the box, whose shortest side is {least} m; found \
                 {} at up to {fastest} m/s",
                self.step
            );
            return Err(Fault::new("step", problem));
        }
        Ok(())
    }
}

impl MobilityFacts for Params {
    const OWN_START: bool = true;

    fn area(&self) -> Option<Area> {
        let area = Area::new([self.x, self.y], [self.width, self.height]);
        Some(area.between(self.bottom.metres(), self.top.metres()))
    }
}

/// A Gauss-Markov process: each value depends on the one before.
#[derive(Clone, Copy, Debug)]
struct Process {
    mean: f64,
    sigma: f64,
    value: f64,
}

impl Process {
    /// A process in its steady state.
    fn new(mean: f64, sigma: f64, rng: &mut Rng) -> Self {
        Self { mean, sigma, value: mean + sigma * rng.normal() }
    }

    fn step(&mut self, alpha: f64, rng: &mut Rng) {
        let change = self.sigma * libm::sqrt(1.0 - alpha * alpha) * rng.normal();
        self.value = alpha * self.value + (1.0 - alpha) * self.mean + change;
    }

    /// Turns the value and its mean to their mirror images on the other side of an angle.
    fn mirror(&mut self, angle: f64) {
        (self.value, self.mean) = (angle - self.value, angle - self.mean);
    }
}

/// A node with this movement.
#[derive(Clone, Debug)]
pub struct GaussMarkov {
    params: Params,
    rng: Rng,
    at: Time,
    here: Position,
    step_ends: Time,
    speed: Process,
    direction: Process,
    pitch: Process,
}

impl GaussMarkov {
    /// A node whose movement is drawn from its own stream.
    pub(super) fn build(params: &Params, node: NodeId, nodes: &Nodes<'_>) -> Result<Self, BuildError> {
        let mut rng = nodes.stream(node);
        let Area { low, high } = params.area().expect("the model has an area");
        let mut between = |low: f64, high: f64| if high > low { rng.uniform_in(low, high) } else { low };
        let here = Position { x: between(low.x, high.x), y: between(low.y, high.y), z: between(low.z, high.z) };
        let direction = between(0.0, 2.0 * std::f64::consts::PI);
        let speeds = (params.speed_mean.metres_per_second(), params.speed_sigma.metres_per_second());
        Ok(Self {
            params: params.clone(),
            at: Time::ZERO,
            here,
            step_ends: Time::ZERO + params.step,
            speed: Process::new(speeds.0, speeds.1, &mut rng),
            direction: Process::new(direction, params.direction_sigma.to_radians(), &mut rng),
            pitch: Process::new(0.0, params.pitch_sigma.to_radians(), &mut rng),
            rng,
        })
    }

    fn velocity(&self) -> [f64; 3] {
        let speed = self.speed.value.max(0.0);
        let (direction, pitch) = (self.direction.value, self.pitch.value);
        let level = if self.params.top > self.params.bottom { libm::cos(pitch) } else { 1.0 };
        let up = if self.params.top > self.params.bottom { libm::sin(pitch) } else { 0.0 };
        [speed * libm::cos(direction) * level, speed * libm::sin(direction) * level, speed * up]
    }
}

impl Mobility for GaussMarkov {
    fn next_leg(&mut self) -> Leg {
        let velocity = self.velocity();
        let Area { low, high } = self.params.area().expect("the model has an area");
        let rest = self.step_ends.since(self.at).seconds();
        let place = [self.here.x, self.here.y, self.here.z];
        let (lows, highs) = ([low.x, low.y, low.z], [high.x, high.y, high.z]);
        // The wall that it meets first.
        let meets = |axis: usize| {
            let wall = if velocity[axis] > 0.0 { highs[axis] } else { lows[axis] };
            let seconds = if velocity[axis] == 0.0 { f64::INFINITY } else { (wall - place[axis]) / velocity[axis] };
            (seconds.max(0.0), axis, wall)
        };
        let (seconds, axis, wall) = (0..3).map(meets).fold((rest, 3, 0.0), |a, b| if b.0 < a.0 { b } else { a });
        let until = match axis {
            3 => self.step_ends,
            _ => (self.at + Span::from_secs_f64(seconds).max(Span::from_nanos(1))).min(self.step_ends),
        };
        let start = self.at;
        let leg = Leg { start, from: self.here, velocity: (velocity[0], velocity[1], velocity[2]), until };
        let mut end = leg.position(until);
        // Rounding leads out of the box by less than a nanosecond's way.
        (end.x, end.y, end.z) = (end.x.clamp(low.x, high.x), end.y.clamp(low.y, high.y), end.z.clamp(low.z, high.z));
        match axis {
            0 => (end.x, ()) = (wall, self.direction.mirror(std::f64::consts::PI)),
            1 => (end.y, ()) = (wall, self.direction.mirror(0.0)),
            2 => (end.z, ()) = (wall, self.pitch.mirror(0.0)),
            _ => {}
        }
        (self.at, self.here) = (until, end);
        if until == self.step_ends {
            let (alpha, rng) = (self.params.alpha, &mut self.rng);
            for process in [&mut self.speed, &mut self.direction, &mut self.pitch] {
                process.step(alpha, rng);
            }
            self.step_ends += self.params.step;
        }
        leg
    }
}

#[cfg(test)]
mod tests {
    use hopyard_engine::Streams;

    use super::super::{Config, Spec};
    use super::*;
    use crate::params::Params as _;

    fn legs(params: Params, node: u32, seconds: u64) -> Vec<Leg> {
        let config = Config::GaussMarkov(params.into());
        let specs = [Spec { model: &config, start: Position::default(), movements: None, table: 0 }; 8];
        let mut node = Nodes::new(&specs, Streams::new(3, 0)).movement(NodeId(node)).expect("a node");
        let end = Time::ZERO + Span::from_secs(seconds);
        let mut legs = vec![node.next_leg()];
        while legs.last().is_some_and(|leg| leg.until < end) {
            legs.push(node.next_leg());
        }
        legs
    }

    /// A box in which nobody meets a wall.
    fn open() -> Params {
        let mut params = Params::of_profile("rfc");
        (params.x, params.y) = (Coordinate::new(-4e8), Coordinate::new(-4e8));
        (params.width, params.height) = (Distance::new(8e8), Distance::new(8e8));
        (params.bottom, params.top) = (Coordinate::new(-4e8), Coordinate::new(4e8));
        params
    }

    #[test]
    fn the_speed_is_a_process_with_its_mean_variance_and_memory() {
        for alpha in [0.0, 0.5, 0.85] {
            let params = Params { alpha, ..open() };
            let speeds: Vec<f64> = (0..8)
                .flat_map(|node| legs(params.clone(), node, 20_000).into_iter().map(|leg| leg.speed() - 10.0))
                .collect();
            let n = speeds.len() as f64;
            let mean = speeds.iter().sum::<f64>() / n;
            let correlated =
                |lag: usize| speeds.iter().zip(&speeds[lag..]).map(|(a, b)| (a - mean) * (b - mean)).sum::<f64>() / n;
            let variance = correlated(0);
            assert!(mean.abs() < 0.08 && (variance / 4.0 - 1.0).abs() < 0.05, "{alpha}: {mean}, {variance}");
            for lag in [1, 2, 5] {
                let found = correlated(lag) / variance;
                assert!((found - alpha.powi(lag as i32)).abs() < 0.03, "alpha {alpha}, lag {lag}: {found}");
            }
        }
    }

    #[test]
    fn a_path_is_continuous_and_stays_in_its_box() {
        let params = Params { width: Distance::new(60.0), height: Distance::new(300.0), ..Params::of_profile("rfc") };
        let (mut reflections, mut lowest, mut highest) = (0, f64::MAX, f64::MIN);
        for node in 0..8 {
            let legs = legs(params.clone(), node, 2000);
            for pair in legs.windows(2) {
                let end = pair[0].position(pair[0].until);
                assert_eq!(pair[0].until, pair[1].start);
                assert!(end.distance(pair[1].from) < 1e-6, "{pair:?}");
                let Position { x, y, z } = pair[1].from;
                assert!((0.0..=60.0).contains(&x) && (0.0..=300.0).contains(&y) && (50.0..=150.0).contains(&z));
                (lowest, highest) = (lowest.min(z), highest.max(z));
                reflections += usize::from(pair[0].until.nanos() % 1_000_000_000 != 0);
            }
        }
        assert!(reflections > 1000 && lowest < 60.0 && highest > 140.0, "{reflections}, {lowest} to {highest} m");
    }

    #[test]
    fn places_are_uniform_at_all_times() {
        // Four fifths of the box are beyond a tenth of each border. Random waypoint has more of its nodes there.
        let params = Params { width: Distance::new(100.0), alpha: 0.5, ..Params::of_profile("rfc") };
        let all: Vec<_> = (0..8).flat_map(|node| legs(params.clone(), node, 20_000)).collect();
        let within = |leg: &&Leg| (10.0..90.0).contains(&leg.position(leg.start + Span::from_nanos(1)).x);
        let seconds = |leg: &Leg| leg.until.since(leg.start).seconds();
        let share = all.iter().filter(within).map(seconds).sum::<f64>() / all.iter().map(seconds).sum::<f64>();
        assert!((share - 0.8).abs() < 0.03, "{share}");
    }

    #[test]
    fn a_box_without_height_is_a_plane() {
        let flat = Params { top: Coordinate::new(50.0), ..Params::of_profile("rfc") };
        assert!(legs(flat, 0, 500).iter().all(|leg| leg.from.z == 50.0 && leg.velocity.2 == 0.0));
    }

    #[test]
    fn impossible_values_are_named() {
        let of = |change: fn(&mut Params)| crate::samples::fault("rfc", change).parameter;
        assert_eq!(of(|it| it.alpha = 1.5), "alpha");
        assert_eq!(of(|it| it.top = Coordinate::new(1.0)), "top");
        assert_eq!(of(|it| it.step = Span::ZERO), "step");
        assert_eq!(of(|it| it.speed_mean = Speed::new(1e6)), "step");
        assert_eq!(of(|it| it.pitch_sigma = -1.0), "pitch_sigma");
    }
}
