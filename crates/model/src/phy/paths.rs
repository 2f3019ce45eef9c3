//! Where stations are: their legs, in the form in which searches read them.
//!
//! Most networks are flat. Therefore heights are apart from the rest of the legs, and exist only when they differ. A
//! search of a flat network reads 40 bytes of each station, and does not compute with heights. Distances are the same
//! to the last bit.

use hopyard_engine::Time;

use crate::mobility::{Leg, Position};

/// The legs of all stations.
#[derive(Clone, Debug)]
pub struct Paths {
    lines: Vec<Line>,
    heights: Heights,
    travels: Vec<Travel>,
}

/// How far a station has travelled.
#[derive(Clone, Copy, Debug)]
struct Travel {
    /// Metres before its leg.
    before: f64,
    /// Metres a second on its leg.
    speed: f64,
}

/// A leg in the plane.
#[derive(Clone, Copy, Debug)]
struct Line {
    /// Nanoseconds since the start of the run. In the first 104 days of a run, such a number has no fraction, and
    /// differences are exact.
    start: f64,
    from: (f64, f64),
    velocity: (f64, f64),
}

/// The vertical part of a leg.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Climb {
    from: f64,
    velocity: f64,
}

#[derive(Clone, Debug)]
enum Heights {
    /// Every station has always been at this height.
    Same(f64),
    /// The climb of each station.
    Each(Vec<Climb>),
}

impl Line {
    fn of(leg: &Leg) -> Self {
        Self { start: nanos(leg.start), from: (leg.from.x, leg.from.y), velocity: (leg.velocity.0, leg.velocity.1) }
    }

    #[inline]
    fn at(&self, now: f64) -> (f64, f64) {
        let seconds = self.seconds(now);
        (self.from.0 + self.velocity.0 * seconds, self.from.1 + self.velocity.1 * seconds)
    }

    /// The seconds from the start of the leg to `now`, which is in nanoseconds.
    #[inline]
    fn seconds(&self, now: f64) -> f64 {
        let nanos = now - self.start;
        (if nanos > 0.0 { nanos } else { 0.0 }) / 1e9
    }
}

/// Nanoseconds since the start of the run.
#[inline]
fn nanos(time: Time) -> f64 {
    // The conversion of a signed number is one instruction. The number is the same, as no run takes centuries.
    time.nanos().cast_signed() as f64
}

impl Climb {
    fn of(leg: &Leg) -> Self {
        Self { from: leg.from.z, velocity: leg.velocity.2 }
    }
}

impl Paths {
    /// Stations on these legs.
    pub fn new(legs: &[Leg]) -> Self {
        let height = legs.first().map_or(0.0, |leg| leg.from.z);
        let is_level = legs.iter().map(Climb::of).all(|climb| climb == Climb { from: height, velocity: 0.0 });
        Self {
            lines: legs.iter().map(Line::of).collect(),
            travels: legs.iter().map(|leg| Travel { before: 0.0, speed: leg.speed() }).collect(),
            heights: if is_level { Heights::Same(height) } else { Heights::Each(legs.iter().map(Climb::of).collect()) },
        }
    }

    /// How many stations there are.
    pub fn len(&self) -> usize {
        self.lines.len()
    }

    /// The next leg of a station.
    pub fn set(&mut self, station: usize, leg: &Leg) {
        // A station that is placed elsewhere has travelled there.
        let jump = self.position(station, leg.start).distance(leg.from);
        self.travels[station] = Travel { before: self.travelled(station, leg.start) + jump, speed: leg.speed() };
        let climb = Climb::of(leg);
        if let Heights::Same(height) = self.heights {
            let level = Climb { from: height, velocity: 0.0 };
            if climb != level {
                self.heights = Heights::Each(vec![level; self.lines.len()]);
            }
        }
        if let Heights::Each(climbs) = &mut self.heights {
            climbs[station] = climb;
        }
        self.lines[station] = Line::of(leg);
    }

    /// Whether a station does not move.
    pub fn is_pause(&self, station: usize) -> bool {
        let climbs = match &self.heights {
            Heights::Same(_) => false,
            Heights::Each(climbs) => climbs[station].velocity != 0.0,
        };
        self.lines[station].velocity == (0.0, 0.0) && !climbs
    }

    /// The metres that a station has travelled.
    #[inline]
    pub fn travelled(&self, station: usize, now: Time) -> f64 {
        let Travel { before, speed } = self.travels[station];
        before + speed * self.lines[station].seconds(nanos(now))
    }

    /// A station's position.
    #[inline]
    pub fn position(&self, station: usize, now: Time) -> Position {
        let line = &self.lines[station];
        let now = nanos(now);
        let (x, y) = line.at(now);
        let z = match &self.heights {
            Heights::Same(height) => *height,
            Heights::Each(climbs) => climbs[station].from + climbs[station].velocity * line.seconds(now),
        };
        Position { x, y, z }
    }

    /// The squares of the distances from `station` to each of `stations`. They replace the content of `squares`.
    #[inline]
    pub fn squares(&self, station: usize, stations: &[u32], now: Time, squares: &mut Vec<f64>) {
        squares.clear();
        match &self.heights {
            Heights::Same(_) => {
                let now = nanos(now);
                let here = self.lines[station].at(now);
                squares.extend(stations.iter().map(|&station| {
                    let there = self.lines[station as usize].at(now);
                    let (dx, dy) = (there.0 - here.0, there.1 - here.1);
                    dx * dx + dy * dy
                }));
            }
            Heights::Each(_) => {
                let here = self.position(station, now);
                let squared = |&station: &u32| here.distance_squared(self.position(station as usize, now));
                squares.extend(stations.iter().map(squared));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use hopyard_engine::Span;
    use proptest::prelude::*;

    use super::*;

    fn squares(paths: &Paths, now: Time) -> Vec<u64> {
        let stations: Vec<u32> = (0..paths.len() as u32).collect();
        let mut found = Vec::new();
        paths.squares(0, &stations, now, &mut found);
        found.into_iter().map(f64::to_bits).collect()
    }

    fn leg(numbers: &[f64], flat: Option<f64>) -> Leg {
        let (z, up) = flat.map_or((numbers[2], numbers[5]), |height| (height, 0.0));
        let from = Position { x: numbers[0], y: numbers[1], z };
        Leg { start: Time::ZERO, from, velocity: (numbers[3], numbers[4], up), until: Time::NEVER }
    }

    proptest! {
        #[test]
        fn a_flat_network_has_the_distances_of_one_with_heights(
            places in prop::collection::vec(prop::collection::vec(-900.0..900.0_f64, 6), 1..9),
            height in prop::sample::select(vec![0.0, 1.5, -0.1]), seconds in 0.0..500.0_f64,
        ) {
            let legs: Vec<Leg> = places.iter().map(|numbers| leg(numbers, Some(height))).collect();
            let flat = Paths::new(&legs);
            prop_assert!(matches!(flat.heights, Heights::Same(_)));
            // A station that leaves the common height and returns.
            let mut other = flat.clone();
            other.set(0, &leg(&places[0], None));
            prop_assert!(matches!(other.heights, Heights::Each(_)));
            other.set(0, &legs[0]);
            let now = Time::ZERO + Span::from_secs_f64(seconds);
            prop_assert_eq!(squares(&flat, now), squares(&other, now));
            for (station, leg) in legs.iter().enumerate() {
                prop_assert_eq!(flat.position(station, now), other.position(station, now));
                prop_assert_eq!(flat.position(station, now), leg.position(now));
            }
        }

        #[test]
        fn positions_are_those_of_the_legs(
            places in prop::collection::vec(prop::collection::vec(-900.0..900.0_f64, 6), 1..9), seconds in 0.0..500.0_f64,
        ) {
            let legs: Vec<Leg> = places.iter().map(|numbers| leg(numbers, None)).collect();
            let mut later = Paths::new(&vec![Leg::still(Time::ZERO, Position::default()); legs.len()]);
            for (station, leg) in legs.iter().enumerate() {
                prop_assert!(later.is_pause(station));
                later.set(station, leg);
                prop_assert!(!later.is_pause(station));
            }
            let now = Time::ZERO + Span::from_secs_f64(seconds);
            let paths = Paths::new(&legs);
            prop_assert_eq!(squares(&paths, now), squares(&later, now));
            let here = legs[0].position(now);
            for (leg, squared) in legs.iter().zip(squares(&paths, now)) {
                prop_assert_eq!(here.distance_squared(leg.position(now)).to_bits(), squared);
            }
        }
    }

    #[test]
    fn a_station_that_only_climbs_moves() {
        let still = Leg::still(Time::ZERO, Position::default());
        let mut paths = Paths::new(&[still; 2]);
        paths.set(1, &Leg { velocity: (0.0, 0.0, 2.0), ..still });
        assert!(paths.is_pause(0) && !paths.is_pause(1));
        assert_eq!(paths.position(1, Time::ZERO + Span::from_secs(3)), Position { x: 0.0, y: 0.0, z: 6.0 });
    }

    #[test]
    fn ways_add_up_over_legs() {
        let still = Leg::still(Time::ZERO, Position::default());
        let at = |seconds| Time::ZERO + Span::from_secs(seconds);
        let mut paths = Paths::new(&[Leg { velocity: (3.0, 4.0, 0.0), ..still }]);
        assert_eq!([0, 1, 2].map(|seconds| paths.travelled(0, at(seconds))), [0.0, 5.0, 10.0]);
        paths.set(0, &Leg { start: at(2), from: Position::ground(6.0, 8.0), ..still });
        assert_eq!(paths.travelled(0, at(4)), 10.0);
        paths.set(0, &Leg { start: at(5), from: Position::ground(6.0, 8.0), velocity: (0.0, 0.0, -2.0), ..still });
        assert_eq!(paths.travelled(0, at(6)), 12.0);
        // A station that is placed elsewhere.
        paths.set(0, &Leg { start: at(6), from: Position { x: 6.0, y: 9.0, z: -2.0 }, ..still });
        assert_eq!(paths.travelled(0, at(9)), 13.0);
    }
}
