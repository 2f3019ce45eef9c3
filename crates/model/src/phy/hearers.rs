//! The hearers of a transmission, with their delays and powers.
//!
//! A transmission examines all stations of its sender's list of neighbours. Distances, gains and delays are computed
//! for whole lists, array by array, which processors do several at a time.

use hopyard_engine::Time;

use super::factors::Factors;
use super::fading::{Fader, Fading as _, Signal};
use super::losses::Losses;
use super::neighbours::Neighbours;
use super::propagation::SPEED_OF_LIGHT;
use crate::mobility::{Leg, Position};

/// A radio that can sense a transmission.
#[derive(Clone, Copy, Debug)]
pub struct Hearer {
    /// Its station.
    pub station: u32,
    /// Propagation delay in nanoseconds.
    pub delay: u32,
    /// Received power in watts.
    pub power: f64,
}

impl Hearer {
    /// In a place that is filled later.
    const NONE: Self = Self { station: 0, delay: 0, power: 0.0 };

    /// Its place among the hearers: by delay, and by station where that is the same.
    #[inline]
    pub(super) const fn order(&self) -> u64 {
        (self.delay as u64) << 32 | self.station as u64
    }
}

/// The common properties of signals, and the search for their hearers.
#[derive(Clone, Debug)]
pub struct Hearers {
    losses: Losses,
    transmit_power: f64,
    /// What single stations have beside the others.
    factors: Factors,
    /// The weakest signal that is taken into account, in watts.
    floor: f64,
    neighbours: Neighbours,
    still: Vec<Still>,
    /// The number of each station's interface, on which its draws of fading depend.
    names: Vec<u32>,
    /// The models of fading, each with the key of all its draws.
    fading: Vec<(Fader, u64)>,
    /// The values of the last list examined, station by station: the received power, in watts, and the delay.
    powers: Vec<f64>,
    delays: Vec<u32>,
    /// The stations of a list that cannot sense a transmission.
    others: Vec<u32>,
    /// A bit for each station, all zero between searches.
    marks: Vec<u64>,
}

/// The hearers of a station, kept for as long as no station moves.
#[derive(Clone, Debug, Default)]
struct Still {
    epoch: u64,
    hearers: Box<[Hearer]>,
}

impl Hearers {
    /// The search among stations with these neighbours and interfaces. `floor` is the weakest signal, in watts, that is
    /// taken into account. `fading` is each model of fading, with the key of all its draws.
    #[must_use]
    pub fn new(
        losses: Losses,
        (transmit_power, floor, factors): (f64, f64, Factors),
        neighbours: Neighbours,
        names: Vec<u32>,
        fading: Vec<(Fader, u64)>,
    ) -> Self {
        Self {
            losses,
            transmit_power,
            factors,
            floor,
            neighbours,
            still: Vec::new(),
            names,
            fading,
            powers: Vec::new(),
            delays: Vec::new(),
            others: Vec::new(),
            marks: Vec::new(),
        }
    }

    /// A station begins its next leg.
    pub fn set_leg(&mut self, station: usize, leg: Leg) {
        self.neighbours.set_leg(station, leg);
    }

    /// Where a station is.
    #[must_use]
    pub fn position(&self, station: usize, now: Time) -> Position {
        self.neighbours.position(station, now)
    }

    /// The distance in metres up to which a signal has this power, in watts; nothing where distance alone does not
    /// decide.
    #[must_use]
    pub fn range(&self, threshold: f64) -> Option<f64> {
        let decides = self.fading.is_empty() && self.factors.are_alike();
        self.losses.range(threshold / self.transmit_power).filter(|_| decides)
    }

    /// Whether the power between two stations, fading aside, is the same in both directions.
    #[must_use]
    pub fn is_mutual(&self) -> bool {
        self.factors.are_alike() && self.losses.are_mutual()
    }

    /// The power of a station, in watts.
    fn transmitted(&self, station: usize) -> f64 {
        self.transmit_power * self.factors.sends(station)
    }

    /// The power, in watts, that `b` receives of a signal of `a`, fading aside.
    #[must_use]
    pub fn power(&self, a: usize, b: usize, now: Time) -> f64 {
        let (here, there) = (self.position(a, now), self.position(b, now));
        self.transmitted(a) * self.losses.median((a, here), (b, there), now) * self.factors.hears(b)
    }

    /// The stations that receive a signal of `station` with at least this power, in watts, fading aside; in order. They
    /// replace the content of `found`.
    pub fn in_range(&mut self, station: usize, threshold: f64, now: Time, found: &mut Vec<usize>) {
        // What only radiates sends no frames.
        let transmitted = if self.factors.jams(station) { 0.0 } else { self.transmitted(station) };
        let Self { losses, neighbours, powers, marks, factors, .. } = self;
        let near = neighbours.near(station, now);
        losses.medians(station, &near, now, powers);
        factors.apply(near.stations, powers);
        // Marks bring them in order.
        marks.resize(self.names.len().div_ceil(64), 0);
        for (&station, &gain) in near.stations.iter().zip(powers.iter()) {
            let mark = u64::from(transmitted * gain >= threshold);
            marks[station as usize / 64] |= mark << (station % 64);
        }
        found.clear();
        for (word, marks) in marks.iter_mut().enumerate() {
            let mut left = std::mem::take(marks);
            while left != 0 {
                found.push(64 * word + left.trailing_zeros() as usize);
                left &= left - 1;
            }
        }
    }

    /// Whether `other` is among those ([`Self::in_range`]).
    pub fn is_in_range(&mut self, station: usize, other: usize, threshold: f64, now: Time) -> bool {
        self.neighbours.is_near(station, other, now) && self.power(station, other, now) >= threshold
    }

    /// The hearers of a station's transmission, the first to be reached first. `count` is the number of transmissions
    /// of the station so far.
    pub fn find(&mut self, station: usize, count: u64, now: Time, hearers: &mut Vec<Hearer>) {
        hearers.clear();
        let epoch = self.neighbours.still_epoch();
        let constant = epoch != 0 && self.fading.is_empty() && !self.losses.change();
        if constant && let Some(still) = self.still.get(station).filter(|still| still.epoch == epoch) {
            return hearers.extend_from_slice(&still.hearers);
        }
        self.search(station, count, now, hearers);
        if constant {
            if self.still.is_empty() {
                self.still.resize(self.names.len(), Still::default());
            }
            self.still[station] = Still { epoch, hearers: hearers.as_slice().into() };
        }
    }

    fn search(&mut self, station: usize, count: u64, now: Time, hearers: &mut Vec<Hearer>) {
        let (transmitted, floor) = (self.transmitted(station), self.floor);
        let Self { losses, neighbours, names, powers, delays, others, factors, fading, .. } = self;
        let near = neighbours.near(station, now);
        // Draws depend on the transmission and the hearer only, not on which other stations are examined or send.
        let name = u64::from(names[station]);
        let this = (name << 40 | count).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let at_hearer = |station: u32| {
            let hearer = u64::from(names[station as usize]);
            this ^ (hearer << 32 | hearer)
        };
        losses.gains(station, &near, now, at_hearer, powers);
        let own_way = near.paths.travelled(station, now);
        let models = fading.len();
        for (number, (fader, key)) in fading.iter_mut().enumerate() {
            // A signal below the floor after the last model has no hearer. Rounding is far below the part taken off.
            let is_last = number + 1 == models;
            let weakest = if is_last { floor / transmitted * (1.0 - 1e-9) } else { 0.0 };
            for ((gain, &station), &distance_squared) in powers.iter_mut().zip(near.stations).zip(near.squares) {
                let hearer = u64::from(names[station as usize]);
                let way = near.paths.travelled(station as usize, now);
                *gain *= fader.factor(&Signal {
                    transmission: *key ^ at_hearer(station),
                    pair: *key ^ (name.min(hearer) << 32 | name.max(hearer)),
                    at: now,
                    distance_squared,
                    ways: if name < hearer { [own_way, way] } else { [way, own_way] },
                    least: weakest / (*gain * factors.hears(station as usize)),
                });
            }
        }
        powers.iter_mut().for_each(|power| *power *= transmitted);
        factors.apply(near.stations, powers);
        delays.clear();
        delays.extend(near.squares.iter().map(|&squared| delay_nanos(squared)));
        // What an earlier transmission has left in the places is overwritten.
        hearers.resize(near.stations.len(), Hearer::NONE);
        let (mut found, mut moved, mut last) = (0, 0, 0);
        let arrays = near.stations.iter().zip(near.squares).zip(powers.iter().zip(delays.iter()));
        for ((&station, &squared), (&power, &delay)) in arrays {
            if power >= floor && squared <= near.reach_squared {
                let hearer = Hearer { station, delay, power };
                let order = hearer.order();
                // They were in order at an earlier transmission of the same station, and still are, almost.
                if order >= last {
                    hearers[found] = hearer;
                    last = order;
                } else {
                    moved += insert(&mut hearers[..=found], hearer);
                }
                found += 1;
            }
        }
        hearers.truncate(found);
        // An order that is somewhat old costs less than a new one.
        if moved > found / 2 {
            let all = near.stations.iter().zip(near.squares).zip(powers.iter());
            let cannot =
                |&((_, squared), power): &((&u32, &f64), &f64)| *power < floor || *squared > near.reach_squared;
            others.clear();
            others.extend(all.filter(cannot).map(|((&station, _), _)| station));
            neighbours.keep_order(station, hearers.iter().map(|hearer| hearer.station), others);
        }
    }
}

/// Puts a hearer in its place among hearers in order. The last place is free. Returns by how many places others were
/// moved.
fn insert(hearers: &mut [Hearer], hearer: Hearer) -> usize {
    let order = hearer.order();
    let last = hearers.len() - 1;
    let mut place = last;
    while place > 0 && hearers[place - 1].order() > order {
        hearers[place] = hearers[place - 1];
        place -= 1;
    }
    hearers[place] = hearer;
    last - place
}

/// The propagation delay in nanoseconds over a distance whose square this is. It is rounded up, which keeps the
/// triangle inequality. With rounding to the nearest nanosecond, the sum of two short delays could be less than the
/// delay over the whole distance. A station could then sense another one that begins in the same slot.
#[inline]
pub(super) fn delay_nanos(distance_squared: f64) -> u32 {
    /// Numbers of this size have no fraction, so that adding it rounds, and the lowest bits of the sum are the integer.
    const WHOLE: f64 = (1_u64 << 52) as f64;
    // IEEE 754 defines the root to the last bit, so it is the same on every platform.
    let exact = distance_squared.sqrt() * 1e9 / SPEED_OF_LIGHT;
    let nearest = (exact + WHOLE) - WHOLE;
    let up = if nearest < exact { nearest + 1.0 } else { nearest };
    (up + WHOLE).to_bits() as u32
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn delays_are_rounded_up(distance in 0.0..25_000.0_f64) {
            let squared = distance * distance;
            let expected = libm::ceil(libm::sqrt(squared) * 1e9 / SPEED_OF_LIGHT);
            prop_assert_eq!(f64::from(delay_nanos(squared)), expected);
        }

        #[test]
        fn inserting_is_sorting(delays in prop::collection::vec((0_u32..9, 0_u32..9), 0..40)) {
            let mut hearers: Vec<Hearer> = Vec::new();
            let mut moved = 0;
            for &(delay, station) in &delays {
                hearers.push(Hearer::NONE);
                moved += insert(&mut hearers, Hearer { station, delay, power: 0.0 });
            }
            let mut sorted = delays.clone();
            sorted.sort_unstable();
            prop_assert_eq!(hearers.iter().map(|it| (it.delay, it.station)).collect::<Vec<_>>(), sorted);
            prop_assert_eq!(moved > 0, !delays.is_sorted());
        }
    }

    #[test]
    fn whole_delays_stay() {
        for nanos in [0_u32, 1, 2, 3, 500, 83_333] {
            let distance = f64::from(nanos) * SPEED_OF_LIGHT / 1e9;
            let delay = delay_nanos(distance * distance);
            assert!(delay == nanos || delay == nanos + 1, "{nanos} ns: {delay}");
        }
        assert_eq!((delay_nanos(0.0), delay_nanos(90.0 * 90.0), delay_nanos(300.0 * 300.0)), (0, 300, 1000));
    }
}
