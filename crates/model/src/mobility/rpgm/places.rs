//! Places of members around the centre of their group, and which of them a member can reach.

use hopyard_engine::Rng;

use super::params::Params;
use crate::mobility::leg::Position;

/// Where members may be, and how fast they may go there.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ring {
    radius: f64,
    /// The limits of the speed.
    low: f64,
    high: f64,
    draws: u32,
}

/// Where a leg ends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct End {
    pub place: Position,
    /// Whether no draw had an admissible speed.
    pub is_forced: bool,
}

/// How much a speed may be outside of its limits, as a part of it: the ends of legs are rounded to the nanosecond.
const ROUNDING: f64 = 1e-9;

impl Ring {
    pub(super) const fn new(params: &Params) -> Self {
        let (low, high) = (params.speed_min.metres_per_second(), params.speed_max.metres_per_second());
        Self { radius: params.radius.metres(), low, high, draws: params.draws }
    }

    pub(super) const fn radius(&self) -> f64 {
        self.radius
    }

    /// A vector of uniform length and uniform direction.
    pub(super) fn draw(&self, rng: &mut Rng) -> Position {
        // A point of the unit disc has a uniform direction, and takes fewer instructions than sine and cosine.
        loop {
            let (x, y) = (rng.uniform_in(-1.0, 1.0), rng.uniform_in(-1.0, 1.0));
            let square = x * x + y * y;
            if square > 0.0 && square < 1.0 {
                let scale = self.radius * rng.uniform() / libm::sqrt(square);
                return Position::ground(x * scale, y * scale);
            }
        }
    }

    /// The end of a member's leg that takes this time: `places` are where the member is, where the centre is now, and
    /// where it will be then.
    pub(super) fn destination(&self, places: [Position; 3], seconds: f64, rng: &mut Rng) -> End {
        let [here, now, then] = places;
        let (nearest, farthest) = (self.low * seconds, self.high * seconds);
        let squares = [nearest * (1.0 - ROUNDING), farthest * (1.0 + ROUNDING)].map(|way| way * way);
        let mut place = then;
        for _ in 0..self.draws {
            place = then + self.draw(rng);
            let way = here.distance_squared(place);
            if squares[0] <= way && way <= squares[1] {
                return End { place, is_forced: false };
            }
        }
        let way = if here.distance_squared(place) < squares[0] { nearest } else { farthest };
        // The member that keeps its place beside the centre has the centre's speed, which is admissible.
        let kept = then + (here - now);
        End { place: nearest_at(here, way, then, self.radius, place).unwrap_or(kept), is_forced: true }
    }
}

/// The point nearest to `wanted` among the points at the distance `way` from `here` and at most `radius` from `centre`.
fn nearest_at(here: Position, way: f64, centre: Position, radius: f64, wanted: Position) -> Option<Position> {
    let within = |place: Position| centre.distance(place) <= radius * (1.0 + ROUNDING);
    let toward = wanted - here;
    let length = libm::hypot(toward.x, toward.y);
    if length > 0.0 {
        let place = here + Position::ground(toward.x * way / length, toward.y * way / length);
        if within(place) {
            return Some(place);
        }
    }
    // Otherwise it is one of the two points of the circle around the member that are at the radius from the centre: the
    // distance to `wanted` increases along the circle on both sides.
    let across = centre - here;
    let apart = libm::hypot(across.x, across.y);
    let along = (apart * apart + way * way - radius * radius) / (2.0 * apart);
    let aside = libm::sqrt((way * way - along * along).max(0.0));
    let unit = Position::ground(across.x / apart, across.y / apart);
    let point = |side: f64| here + Position::ground(along * unit.x - side * unit.y, along * unit.y + side * unit.x);
    let points = [point(aside), point(-aside)];
    let best =
        if points[0].distance_squared(wanted) <= points[1].distance_squared(wanted) { points[0] } else { points[1] };
    // Without an intersection nothing is a number, or the point is elsewhere.
    (within(best) && (here.distance(best) - way).abs() <= way * ROUNDING).then_some(best)
}

#[cfg(test)]
mod tests {
    use hopyard_engine::Streams;
    use proptest::prelude::*;

    use super::*;

    const CENTRE: Position = Position::ground(100.0, 50.0);

    fn ring(low: f64, high: f64, draws: u32) -> Ring {
        Ring { radius: 20.0, low, high, draws }
    }

    #[test]
    fn a_draw_with_an_admissible_speed_ends_the_search() {
        let mut rng = Streams::new(3, 0).stream("draws");
        let here = Position::ground(90.0, 45.0);
        for _ in 0..1000 {
            let end = ring(1.0, 3.0, 1000).destination([here, CENTRE, CENTRE], 5.0, &mut rng);
            assert!(!end.is_forced);
            let way = here.distance(end.place);
            assert!((5.0 * (1.0 - 1e-9)..=15.0 * (1.0 + 1e-9)).contains(&way) && CENTRE.distance(end.place) <= 20.0);
        }
    }

    #[test]
    fn without_one_the_nearest_admissible_point_is_taken() {
        // The centre is 100 m ahead, and no place within its radius is nearer than 80 m: one draw at 80 m/s is rarely
        // slow enough.
        let here = Position::ground(0.0, 50.0);
        let mut forced = 0;
        for run in 0..200 {
            let (mut rng, mut same) = (Streams::new(4, run).stream("draws"), Streams::new(4, run).stream("draws"));
            let ring = ring(10.0, 85.0, 1);
            let end = ring.destination([here, here, CENTRE], 1.0, &mut rng);
            let wanted = CENTRE + ring.draw(&mut same);
            if !end.is_forced {
                assert_eq!(end.place, wanted);
                continue;
            }
            forced += 1;
            assert!((here.distance(end.place) - 85.0).abs() < 1e-6 && CENTRE.distance(end.place) < 20.0 + 1e-6);
            // No other point of the arc is nearer.
            for step in 0..3600 {
                let angle = f64::from(step) * std::f64::consts::PI / 1800.0;
                let other = here + Position::ground(85.0 * libm::cos(angle), 85.0 * libm::sin(angle));
                let is_nearer = other.distance(wanted) < end.place.distance(wanted) - 1e-9;
                assert!(!is_nearer || CENTRE.distance(other) > 20.0, "{other:?} {end:?}");
            }
        }
        assert!(forced > 100, "{forced}");
    }

    proptest! {
        /// Whatever the place in the group and the leg of the centre, a member finds an admissible end.
        #[test]
        fn there_is_always_an_end(
            length in 0.0..20.0_f64, angle in 0.0..std::f64::consts::TAU, x in -300.0..300.0_f64, y in -300.0..300.0_f64,
            speed in 1.0..4.0_f64, seed in any::<u64>(),
        ) {
            let then = Position::ground(x, y);
            let way = libm::hypot(x, y);
            prop_assume!(way > 1e-3);
            let here = Position::ground(length * libm::cos(angle), length * libm::sin(angle));
            let seconds = way / speed;
            let mut rng = Streams::new(seed, 0).stream("draws");
            let end = ring(1.0, 4.0, 1).destination([here, Position::default(), then], seconds, &mut rng);
            let speed = here.distance(end.place) / seconds;
            prop_assert!((1.0 - 1e-6..=4.0 + 1e-6).contains(&speed), "{speed} {end:?}");
            prop_assert!(then.distance(end.place) <= 20.0 + 1e-6, "{end:?}");
        }
    }
}
