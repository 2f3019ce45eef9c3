//! Which stations may receive a station's signals: for every station, a list of the stations near it.
//!
//! A list holds all stations within reach plus a margin. A station outside the list comes within reach only after the
//! two stations together have covered the margin. At their top speeds this takes a known time, and the list is valid
//! for that time. In a large network, a station that sends more rarely makes no use of a margin: its list is of the
//! moment, and holds the stations within reach alone. A transmission examines a few dozen stations, also in a network
//! of thousands. Lists are made from the plain array of all stations when these are few, from a grid when they are
//! many. The kind of search and the order within a list change no result, because the exact distance decides.

use hopyard_engine::{Span, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::paths::Paths;
use crate::mobility::{Leg, Position};

/// How lists of neighbours are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Search {
    /// The array up to 256 stations, the grid above.
    #[default]
    Auto,
    /// Look at every station.
    Array,
    /// Look at the cells around the station.
    Grid,
}

/// Above this many stations a grid is faster than the array.
const ARRAY_LIMIT: usize = 256;

/// The margin as a fraction of the reach. A larger margin makes longer lists that are valid for a longer time.
const MARGIN: f64 = 0.15;

/// A search puts so many stations right that are in one bin.
const CROWD: u32 = 16;

/// Lists of neighbours of all stations.
#[derive(Clone, Debug)]
pub struct Neighbours {
    paths: Paths,
    lists: Vec<List>,
    /// The squares of the distances found last.
    squares: Vec<f64>,
    /// The stations of a new list, each with the square of its distance.
    found: Vec<(f64, u32)>,
    /// Where each bin of a new list begins ([`in_bins`]).
    bins: Vec<u32>,
    reach: f64,
    margin: f64,
    top_speed: f64,
    moving: usize,
    epoch: u64,
    search: Search,
    grid: Grid,
    /// Whether the lists are given, and no distance changes them.
    are_given: bool,
}

/// The stations near another.
#[derive(Clone, Copy, Debug)]
pub struct Near<'a> {
    /// Their numbers.
    pub stations: &'a [u32],
    /// The squares of their distances, in square metres.
    pub squares: &'a [f64],
    /// The square of the reach. Stations beyond it are not within reach.
    pub reach_squared: f64,
    /// Where all stations are.
    pub paths: &'a Paths,
}

#[derive(Clone, Debug, Default)]
struct List {
    /// In almost the order of their distances at an earlier search. The distances are not kept here: for all stations
    /// they would not fit into the processor's cache.
    stations: Vec<u32>,
    made: Time,
    good_until: Time,
}

impl Neighbours {
    /// Lists over stations on these legs, which hear each other up to `reach` metres.
    #[must_use]
    pub fn new(legs: &[Leg], reach: f64, search: Search) -> Self {
        let search = match search {
            Search::Auto if legs.len() <= ARRAY_LIMIT => Search::Array,
            Search::Auto => Search::Grid,
            chosen => chosen,
        };
        let top_speed = headroom(legs.iter().map(Leg::speed).fold(0.0, f64::max));
        let moving = legs.iter().filter(|leg| !leg.is_pause()).count();
        let margin = reach * MARGIN;
        Self {
            lists: vec![List::default(); legs.len()],
            squares: Vec::new(),
            found: Vec::new(),
            bins: Vec::new(),
            paths: Paths::new(legs),
            reach,
            margin,
            top_speed,
            moving,
            epoch: 1,
            search,
            grid: Grid::default(),
            are_given: false,
        }
    }

    /// Given lists of the stations that hear each station, up to `reach` metres.
    #[must_use]
    pub fn of_lists(legs: &[Leg], reach: f64, lists: Vec<Vec<u32>>) -> Self {
        let list = |stations| List { stations, made: Time::ZERO, good_until: Time::NEVER };
        let lists = lists.into_iter().map(list).collect();
        Self { lists, are_given: true, ..Self::new(legs, reach, Search::Array) }
    }

    /// A number that changes whenever any distance may have changed, or zero while stations move.
    #[inline]
    #[must_use]
    pub const fn still_epoch(&self) -> u64 {
        if self.moving == 0 { self.epoch } else { 0 }
    }

    /// A station's position.
    #[inline]
    #[must_use]
    pub fn position(&self, station: usize, now: Time) -> Position {
        self.paths.position(station, now)
    }

    /// The next leg of a station.
    pub fn set_leg(&mut self, station: usize, leg: Leg) {
        let jump = self.paths.position(station, leg.start).distance(leg.from);
        self.moving += usize::from(!leg.is_pause());
        self.moving -= usize::from(!self.paths.is_pause(station));
        self.paths.set(station, &leg);
        self.epoch += 1;
        let speed = leg.speed();
        // A station that is faster than all before, or that jumps, breaks the bound on which all lists depend.
        if (speed > self.top_speed || jump > 1e-3) && !self.are_given {
            self.top_speed = self.top_speed.max(headroom(speed));
            for list in &mut self.lists {
                list.good_until = Time::ZERO;
            }
            self.grid.good_until = Time::ZERO;
        }
    }

    /// All stations, other than `station`, that may be within reach at `now`, with their distances.
    #[inline]
    pub fn near(&mut self, station: usize, now: Time) -> Near<'_> {
        if self.lists[station].good_until <= now {
            self.refresh(station, now);
        } else {
            self.paths.squares(station, &self.lists[station].stations, now, &mut self.squares);
        }
        let stations = &self.lists[station].stations;
        Near { stations, squares: &self.squares, reach_squared: self.reach * self.reach, paths: &self.paths }
    }

    /// Whether another station is in [`Neighbours::near`].
    pub fn is_near(&mut self, station: usize, other: usize, now: Time) -> bool {
        if self.lists[station].good_until <= now {
            self.refresh(station, now);
        }
        self.lists[station].stations.contains(&(other as u32))
    }

    /// Sets the order in which [`Neighbours::near`] gives the stations of its last result: `first`, then `others`.
    #[inline]
    pub fn keep_order(&mut self, station: usize, first: impl Iterator<Item = u32>, others: &[u32]) {
        let stations = &mut self.lists[station].stations;
        stations.clear();
        stations.extend(first);
        stations.extend_from_slice(others);
    }

    /// How long the margin lasts when both stations move towards each other at the top speed.
    fn holds(&self) -> Span {
        if self.top_speed > 0.0 { Span::from_secs_f64(self.margin / (2.0 * self.top_speed)) } else { Span::MAX }
    }

    /// Makes a station's list anew, with its squares.
    #[cold]
    fn refresh(&mut self, station: usize, now: Time) {
        let here = self.paths.position(station, now);
        let holds = self.holds();
        // Few stations are searched so fast that a list of the moment saves nothing.
        let is_reused = self.search == Search::Array || now.since(self.lists[station].made) < holds;
        let radius = if is_reused { self.reach + self.margin } else { self.reach };
        let bound = radius * radius;
        let paths = &self.paths;
        let found = &mut self.found;
        found.clear();
        let mut add = |other: u32| {
            let squared = here.distance_squared(paths.position(other as usize, now));
            if other as usize != station && squared <= bound {
                found.push((squared, other));
            }
        };
        if self.search == Search::Grid {
            if self.grid.good_until <= now {
                // In `holds` a station leaves its place in the grid by half the margin at most.
                self.grid.fill(paths, self.reach + 1.5 * self.margin, now);
                self.grid.good_until = now + holds;
            }
            self.grid.around(here, radius + 0.5 * self.margin, add);
        } else {
            (0..paths.len() as u32).for_each(&mut add);
        }
        let list = &mut self.lists[station];
        in_bins(found, bound, &mut self.bins, (&mut list.stations, &mut self.squares));
        list.made = now;
        list.good_until = if is_reused { now + holds } else { now };
    }
}

/// Puts stations almost in order of distance: into as many bins as there are stations, of equal steps of the square of
/// the distance, which is at most `bound`. Stations that are spread evenly over the plane are so over the bins, and a
/// search puts the few right that are not. Sorting would cost almost three times as much. Stations that crowd are
/// sorted.
fn in_bins(
    found: &mut [(f64, u32)],
    bound: f64,
    starts: &mut Vec<u32>,
    (stations, squares): (&mut Vec<u32>, &mut Vec<f64>),
) {
    /// Adding such a number rounds, and the lowest bits of the sum are the integer.
    const WHOLE: f64 = (1_u64 << 52) as f64;
    let count = found.len();
    let (scale, last) = (count as f64 / bound, count.saturating_sub(1));
    let bin = |squared: f64| ((squared * scale + WHOLE).to_bits() as u32 as usize).min(last);
    starts.clear();
    starts.resize(count + 1, 0);
    for &(squared, _) in &*found {
        starts[bin(squared) + 1] += 1;
    }
    // Every one is looked at, several at a time.
    if starts.iter().fold(0, |most, &count| count.max(most)) > CROWD {
        found.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
    }
    let mut all = 0;
    for start in starts.iter_mut() {
        all += *start;
        *start = all;
    }
    stations.clear();
    stations.resize(count, 0);
    squares.clear();
    squares.resize(count, 0.0);
    for &(squared, station) in &*found {
        let place = &mut starts[bin(squared)];
        (stations[*place as usize], squares[*place as usize]) = (station, squared);
        *place += 1;
    }
}

/// A little more than a speed: legs of one speed differ by rounding, and none of them should count as faster than all
/// before.
fn headroom(speed: f64) -> f64 {
    speed * 1.001
}

/// Nodes by cell of a square grid of the plane: a cell holds the nodes of every height. Cells are kept as one array of
/// stations, with their places when the grid was filled, and one of where each cell starts.
#[derive(Clone, Debug, Default)]
struct Grid {
    origin: (f64, f64),
    cell: f64,
    columns: usize,
    rows: usize,
    starts: Vec<u32>,
    stations: Vec<u32>,
    places: Vec<(f64, f64)>,
    good_until: Time,
}

/// A grid has at most this many cells on a side: scattered stations make cells larger, not more.
const MOST_CELLS: f64 = 1024.0;

/// The largest distance of a search, in cells.
const RINGS: f64 = 2.0;

impl Grid {
    /// Stations at their places of `now`, for searches up to `radius` metres.
    fn fill(&mut self, paths: &Paths, radius: f64, now: Time) {
        let places: Vec<(f64, f64)> =
            (0..paths.len()).map(|it| paths.position(it, now)).map(|it| (it.x, it.y)).collect();
        let low = |of: fn(&(f64, f64)) -> f64| places.iter().map(of).fold(f64::INFINITY, f64::min);
        let high = |of: fn(&(f64, f64)) -> f64| places.iter().map(of).fold(f64::NEG_INFINITY, f64::max);
        self.origin = (low(|it| it.0), low(|it| it.1));
        let (width, height) = (high(|it| it.0) - self.origin.0, high(|it| it.1) - self.origin.1);
        self.cell = (radius / RINGS).max(width / MOST_CELLS).max(height / MOST_CELLS);
        self.columns = (width / self.cell) as usize + 1;
        self.rows = (height / self.cell) as usize + 1;
        self.starts.clear();
        self.starts.resize(self.columns * self.rows + 1, 0);
        let cells: Vec<usize> = places.iter().map(|&it| self.column(it.0) + self.row(it.1) * self.columns).collect();
        for &cell in &cells {
            self.starts[cell + 1] += 1;
        }
        for i in 1..self.starts.len() {
            self.starts[i] += self.starts[i - 1];
        }
        let mut next = self.starts.clone();
        self.stations.clear();
        self.stations.resize(places.len(), 0);
        self.places.clear();
        self.places.resize(places.len(), (0.0, 0.0));
        for (station, (&cell, &place)) in cells.iter().zip(&places).enumerate() {
            self.stations[next[cell] as usize] = station as u32;
            self.places[next[cell] as usize] = place;
            next[cell] += 1;
        }
    }

    fn column(&self, x: f64) -> usize {
        (((x - self.origin.0) / self.cell).max(0.0) as usize).min(self.columns - 1)
    }

    fn row(&self, y: f64) -> usize {
        (((y - self.origin.1) / self.cell).max(0.0) as usize).min(self.rows - 1)
    }

    /// Every station whose place is within `radius` metres of `here` in the plane.
    fn around(&self, here: Position, radius: f64, mut each: impl FnMut(u32)) {
        let bound = radius * radius;
        let (left, right) = (self.column(here.x - radius), self.column(here.x + radius));
        for row in self.row(here.y - radius)..=self.row(here.y + radius) {
            let first = self.starts[row * self.columns + left] as usize;
            let last = self.starts[row * self.columns + right + 1] as usize;
            for (&station, place) in self.stations[first..last].iter().zip(&self.places[first..last]) {
                let (dx, dy) = (place.0 - here.x, place.1 - here.y);
                if dx * dx + dy * dy <= bound {
                    each(station);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use hopyard_engine::Streams;
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn stations_come_in_order_of_bins(
            squares in prop::collection::vec(0.0..=1.0_f64, 0..60), crowd in prop::sample::select(vec![1.0, 1e-3]),
        ) {
            let mut given: Vec<(f64, u32)> = squares.iter().map(|square| square * crowd).zip(0..).collect();
            let (mut bins, mut stations, mut found) = (vec![7], vec![7], vec![7.0]);
            in_bins(&mut given, 1.0, &mut bins, (&mut stations, &mut found));
            let last = squares.len().saturating_sub(1);
            let bin = |square: &f64| ((square * squares.len() as f64).round_ties_even() as usize).min(last);
            prop_assert!(found.is_sorted_by_key(bin));
            prop_assert!(squares.len() <= CROWD as usize || crowd == 1.0 || found.is_sorted());
            for (&station, square) in stations.iter().zip(found) {
                prop_assert_eq!(square, squares[station as usize] * crowd);
            }
            stations.sort_unstable();
            prop_assert_eq!(stations, (0..squares.len() as u32).collect::<Vec<_>>());
        }
    }

    fn found(neighbours: &mut Neighbours, station: usize, now: Time) -> Vec<u32> {
        let near = neighbours.near(station, now);
        let mut order = near.stations.to_vec();
        let within = near.stations.iter().zip(near.squares).filter(|it| *it.1 <= near.reach_squared);
        let mut stations: Vec<u32> = within.map(|it| *it.0).collect();
        // An order that is kept loses no station.
        order.reverse();
        let (first, others) = order.split_at(order.len() / 3);
        neighbours.keep_order(station, first.iter().copied(), others);
        stations.sort_unstable();
        stations
    }

    /// Nodes that move about, turn and pause, against a search of all pairs at every step.
    #[test]
    fn no_neighbour_is_ever_missed() {
        for search in [Search::Array, Search::Grid] {
            let mut rng = Streams::new(5, 0).stream("neighbours");
            let mut leg = |start: Time, from: Position, fastest: f64| Leg {
                start,
                from,
                velocity: (
                    rng.uniform_in(-fastest, fastest),
                    rng.uniform_in(-fastest, fastest),
                    rng.uniform_in(-fastest, fastest),
                ),
                until: Time::NEVER,
            };
            let mut legs: Vec<Leg> = (0..300)
                .map(|i| {
                    let (x, y, z) = (f64::from(i % 20) * 90.0, f64::from(i / 20) * 90.0, f64::from(i % 7) * 60.0);
                    leg(Time::ZERO, Position { x, y, z }, 5.0)
                })
                .collect();
            let mut neighbours = Neighbours::new(&legs, 250.0, search);
            for step in 0..200_u64 {
                let now = Time::from_nanos(step * 700_000_000);
                let turning = (step as usize * 7) % 300;
                // From the middle of the test on there are faster stations than any before.
                let next = leg(now, legs[turning].position(now), if step > 100 { 20.0 } else { 5.0 });
                legs[turning] = next;
                neighbours.set_leg(turning, next);
                for station in [turning, (step as usize * 13) % 300, 5] {
                    let here = legs[station].position(now);
                    let expected: Vec<u32> = (0..300_u32)
                        .filter(|&other| {
                            let there = legs[other as usize].position(now);
                            let way = there - here;
                            other as usize != station && way.x.powi(2) + way.y.powi(2) + way.z.powi(2) <= 62_500.0
                        })
                        .collect();
                    assert_eq!(
                        found(&mut neighbours, station, now),
                        expected,
                        "{search:?}, step {step}, station {station}"
                    );
                }
            }
        }
    }

    #[test]
    fn the_epoch_tells_when_nothing_moves() {
        let still = Leg::still(Time::ZERO, Position::default());
        let mut neighbours = Neighbours::new(&[still; 2], 100.0, Search::Auto);
        let first = neighbours.still_epoch();
        assert_ne!(first, 0);
        neighbours.set_leg(0, Leg { velocity: (0.0, 0.0, 1.0), ..still });
        assert_eq!(neighbours.still_epoch(), 0);
        neighbours.set_leg(0, Leg::still(Time::from_nanos(5), Position::ground(9.0, 0.0)));
        assert_ne!(neighbours.still_epoch(), 0);
        assert_ne!(neighbours.still_epoch(), first);
    }
}
