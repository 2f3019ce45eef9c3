//! The sum of many scattered paths between two radios, with memory.
//!
//! Read: C. Xiao, Y. C. Zheng, N. C. Beaulieu, "Novel Sum-of-Sinusoids Simulation Models for Rayleigh and Rician Fading
//! Channels", IEEE TWC 5(12), 2006, for the angles and phases; A. S. Akki, F. Haber, "A Statistical Model of
//! Mobile-to-Mobile Land Communication Channel", IEEE TVT 35(1), 1986, for two radios that both move. Angles and phases
//! follow from the key of the pair alone. The way that each radio has travelled turns the phases. Therefore the sum
//! stands still while the radios do, is continuous when they change their speeds, is equal in both directions, and is
//! computed for any time without the times before.

use std::fmt;
use std::str::FromStr;

use hopyard_engine::units::Frequency;
use hopyard_engine::{Span, as_text};

use super::signal::Signal;
use crate::params::Fault;
use crate::phy::draws::{Draws, mix};
use crate::phy::propagation::SPEED_OF_LIGHT;

/// The product of the coherence time and the largest Doppler shift (Rappaport 2002, equation 5.40.c).
const COHERENCE: f64 = 0.423;

/// The largest number of sinusoids.
const MOST: usize = 256;

/// How long signals between two radios fade alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Coherence {
    /// Until the radios have moved by a part of a wavelength.
    Movement,
    /// This time, whether they move or not; each transmission fades anew if it is zero.
    Time(Span),
}

const VALUES: &str = "\"movement\" or a time such as \"10 ms\"";

impl FromStr for Coherence {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "movement" => Ok(Self::Movement),
            _ => text.parse().map(Self::Time).map_err(|_| format!("expected {VALUES}, found \"{text}\"")),
        }
    }
}

impl fmt::Display for Coherence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Movement => f.write_str("movement"),
            Self::Time(span) => span.fmt(f),
        }
    }
}

as_text!(Coherence, "Coherence", VALUES, ["movement", "10 ms"]);

/// The check of the parameters.
pub(super) fn check(frequency: Frequency, sinusoids: u32) -> Result<(), Fault> {
    if !(frequency.hertz() > 0.0 && frequency.hertz().is_finite()) {
        return Err(Fault::new("frequency", format!("must be above zero, found {frequency}")));
    }
    let range = 8..=MOST as u32;
    Fault::unless("sinusoids", sinusoids, |it| range.contains(&it), format_args!("8 to {MOST}"))
}

/// The quantity that turns the phases of the paths.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Memory {
    /// The ways of the radios: turns for each metre.
    Ways(f64),
    /// Time: turns for each second.
    Time(f64),
    /// Nothing: each transmission has paths of its own.
    None,
}

/// The scattered paths of all pairs of radios.
#[derive(Clone, Debug)]
pub(super) struct Scatter {
    sinusoids: u32,
    memory: Memory,
    pairs: Pairs,
}

impl Scatter {
    pub(super) fn new(frequency: Frequency, coherence: Coherence, sinusoids: u32) -> Self {
        let memory = match coherence {
            Coherence::Movement => Memory::Ways(frequency.hertz() / SPEED_OF_LIGHT),
            Coherence::Time(Span::ZERO) => Memory::None,
            Coherence::Time(span) => Memory::Time(COHERENCE / span.seconds()),
        };
        Self { sinusoids, memory, pairs: Pairs::default() }
    }

    /// The largest power of the sum, which has a mean of one.
    pub(super) fn limit(&self) -> f64 {
        f64::from(self.sinusoids)
    }

    /// The sum as a complex number, whose mean power is one.
    pub(super) fn sum(&mut self, signal: &Signal) -> (f64, f64) {
        let all = f64::from(self.sinusoids);
        let [first, second] = signal.ways;
        let (real, imaginary) = match self.memory {
            Memory::Ways(turns) => {
                self.pairs.sum(signal.pair, self.sinusoids, |one, two| turns * (first * one + second * two))
            }
            Memory::Time(turns) => {
                let turned = turns * signal.at.seconds();
                self.pairs.sum(signal.pair, self.sinusoids, |one, _| turned * one)
            }
            Memory::None => {
                let mut draws = Draws::of(mix(signal.transmission));
                let (real, imaginary) = (draws.normal() * HALF_ROOT, draws.normal() * HALF_ROOT);
                let power = real * real + imaginary * imaginary;
                // A draw is cut where the sum of sinusoids ends: with 16 of them, once in 9 million draws.
                let cut = if power > all { libm::sqrt(all / power) } else { 1.0 };
                return (real * cut, imaginary * cut);
            }
        };
        let scale = 1.0 / all.sqrt();
        (real * scale, imaginary * scale)
    }

    /// The phase of the direct path, as a cosine and a sine. It turns with the distance where movement counts.
    pub(super) fn direct(&self, signal: &Signal) -> (f64, f64) {
        match self.memory {
            Memory::Ways(turns) => turn(turns * signal.distance_squared.sqrt()),
            _ => (1.0, 0.0),
        }
    }
}

/// The largest number of values that are kept: 32 MB. With 16 paths these are 87,381 pairs; 400 radios have 79,800. The
/// hash table takes 4 MB more.
const ROOM: usize = 1 << 22;

/// The constant part of the paths of pairs: directions and phases. It follows from the key of a pair, and is kept so
/// that it is computed once.
#[derive(Clone, Debug, Default)]
struct Pairs {
    /// A hash table of the keys of pairs, with their indices. At most half of the slots are in use.
    slots: Vec<(u64, u32)>,
    /// For each pair the cosines of the directions at one end, those at the other end, and the phases in turns.
    paths: Vec<f64>,
}

impl Pairs {
    /// The sums of the cosines and of the sines of the paths of a pair. `turned` gives the change of a path's phase
    /// since the beginning, from the cosines of its two directions.
    #[inline]
    fn sum(&mut self, pair: u64, count: u32, turned: impl Fn(f64, f64) -> f64) -> (f64, f64) {
        let size = 3 * count as usize;
        let paths = &self.remember(pair, count)[..size];
        let (one, rest) = paths.split_at(count as usize);
        let (two, phases) = rest.split_at(count as usize);
        let mut sum = (0.0, 0.0);
        let mut add = |(cosine, sine): (f64, f64)| sum = (sum.0 + cosine, sum.1 + sine);
        // Processors compute the waves of several paths at a time; the order of the additions stays.
        let ((ones, one), (twos, two), (whole, phases)) =
            (one.as_chunks::<TOGETHER>(), two.as_chunks::<TOGETHER>(), phases.as_chunks::<TOGETHER>());
        for ((one, two), phases) in ones.iter().zip(twos).zip(whole) {
            let waves: [_; TOGETHER] = std::array::from_fn(|path| turn(turned(one[path], two[path]) + phases[path]));
            waves.into_iter().for_each(&mut add);
        }
        for ((&one, &two), &phase) in one.iter().zip(two).zip(phases) {
            add(turn(turned(one, two) + phase));
        }
        sum
    }

    /// The numbers of a pair, and of others behind them.
    fn remember(&mut self, pair: u64, count: u32) -> &[f64] {
        let size = 3 * count as usize;
        let known = self.paths.len() / size;
        if self.slots.len() < 2 * (known + 1) {
            let slots = vec![FREE; 2 * self.slots.len().max(32)];
            for slot in std::mem::replace(&mut self.slots, slots).into_iter().filter(|slot| *slot != FREE) {
                let at = self.slot(slot.0);
                self.slots[at] = slot;
            }
        }
        let mut at = self.slot(pair);
        if self.slots[at] == FREE {
            if self.paths.len() + size > ROOM {
                self.paths.clear();
                self.slots.fill(FREE);
                at = self.slot(pair);
            }
            self.slots[at] = (pair, (self.paths.len() / size) as u32);
            append(pair, count, &mut self.paths);
        }
        &self.paths[self.slots[at].1 as usize * size..]
    }

    /// The slot of a pair, or the free one that it would have.
    fn slot(&self, pair: u64) -> usize {
        let last = self.slots.len() - 1;
        let mut at = mix(pair) as usize & last;
        while self.slots[at] != FREE && self.slots[at].0 != pair {
            at = (at + 1) & last;
        }
        at
    }
}

/// A free slot: nothing has this place.
const FREE: (u64, u32) = (0, u32::MAX);

/// The number of paths that are computed together.
const TOGETHER: usize = 8;

/// Appends what no signal changes in the paths of a pair.
fn append(pair: u64, count: u32, paths: &mut Vec<f64>) {
    let mut draws = Draws::of(mix(pair));
    // Paths leave one radio and reach the other in directions that are not related: each pair joins the sectors of
    // its two ends at random (a shuffle of Fisher and Yates). Under one rule for all paths, such as a shift, the
    // fading of a pair whose ends both move would be too fast or too slow for as long as the pair exists.
    let mut sectors: [u8; MOST] = std::array::from_fn(|sector| sector as u8);
    let (begin, all) = (paths.len(), f64::from(count));
    paths.resize(begin + 3 * count as usize, 0.0);
    let (ones, rest) = paths[begin..].split_at_mut(count as usize);
    let (twos, phases) = rest.split_at_mut(count as usize);
    for (path, ((one, two), phase)) in ones.iter_mut().zip(twos).zip(phases).enumerate() {
        let place = (path as f64 + draws.uniform()) / all;
        // The whole part of a draw chooses one of the sectors left, its fraction the place within the sector.
        let draw = draws.uniform() * (all - path as f64);
        let chosen = draw as u32;
        sectors.swap(path, path + chosen as usize);
        let other = (f64::from(sectors[path]) + (draw - f64::from(chosen))) / all;
        (*one, *two, *phase) = (turn(place).0, turn(other).0, draws.uniform());
    }
}

/// The root of one half.
const HALF_ROOT: f64 = std::f64::consts::FRAC_1_SQRT_2;

/// Numbers of about this size have no fraction, so that adding it rounds.
const WHOLE: f64 = 1.5 * (1_u64 << 52) as f64;

/// The cosine and the sine of an angle in turns, to nine digits. They are sums and products alone, so that they are the
/// same on every platform, and take a tenth of the time of exact ones.
#[inline]
fn turn(turns: f64) -> (f64, f64) {
    // From 2^51 turns on, the angle has no meaning; the limits keep the results between -1 and 1.
    let within = (turns - ((turns + WHOLE) - WHOLE)).clamp(-0.5, 0.5);
    let quarter = 0.25 - within.abs();
    (sine(quarter), sine((0.25 - quarter.abs()).copysign(within)))
}

/// The sine of an angle of at most a quarter turn: the terms of its series up to the thirteenth power.
#[inline]
fn sine(turns: f64) -> f64 {
    let angle = turns * (2.0 * std::f64::consts::PI);
    let square = angle * angle;
    let mut sum = 1.0;
    for factor in [156.0, 110.0, 72.0, 42.0, 20.0, 6.0] {
        sum = 1.0 - sum * square * (1.0 / factor);
    }
    angle * sum
}

#[cfg(test)]
pub(super) mod tests {
    use hopyard_engine::Time;

    use super::*;

    /// A signal between the radios of a pair, after one of them has travelled a way.
    pub fn after(pair: u64, way: f64) -> Signal {
        Signal { transmission: pair, pair, at: Time::ZERO, distance_squared: 1e4, ways: [way, 0.0], least: 0.0 }
    }

    fn scatter(frequency: f64) -> Scatter {
        Scatter::new(Frequency::new(frequency), Coherence::Movement, 16)
    }

    /// A frequency whose wavelength is a metre.
    pub const METRE: f64 = SPEED_OF_LIGHT;

    #[test]
    fn turns_are_cosines_and_sines() {
        for step in -4000..4000 {
            let turns = f64::from(step) * 0.001_7;
            let angle = turns * 2.0 * std::f64::consts::PI;
            let (cosine, sine) = turn(turns);
            assert!((cosine - libm::cos(angle)).abs() < 1e-9 && (sine - libm::sin(angle)).abs() < 1e-9, "{turns}");
        }
        for turns in [3e15, -1e16, 1e300] {
            let (cosine, sine) = turn(turns);
            assert!(cosine.abs() <= 1.0 + 1e-9 && sine.abs() <= 1.0 + 1e-9, "{turns}: {cosine} {sine}");
        }
    }

    /// The real part of the correlation of the sum with the sum after more ways, over many pairs.
    fn correlation(ways: [f64; 2]) -> f64 {
        let mut scatter = scatter(METRE);
        let pairs = 10_000;
        let product = |pair: u64| {
            let mut at = |ways| scatter.sum(&Signal { ways, ..after(pair, 0.0) });
            let (here, there) = (at([7.3, 4.1]), at([7.3 + ways[0], 4.1 + ways[1]]));
            here.0 * there.0 + here.1 * there.1
        };
        (0..pairs).map(product).sum::<f64>() / pairs as f64
    }

    #[test]
    fn the_autocorrelation_is_bessels_function_for_each_end() {
        let tau = 2.0 * std::f64::consts::PI;
        for way in [0.0, 0.1, 0.2, 0.3827, 0.6, 1.5] {
            for ways in [[way, 0.0], [0.0, way], [way, 0.2]] {
                let expected = libm::j0(tau * ways[0]) * libm::j0(tau * ways[1]);
                let found = correlation(ways);
                assert!((found - expected).abs() < 0.02, "{ways:?}: {found}, expected {expected}");
            }
        }
    }

    /// How often the power rises through half of its mean, for each wavelength that both radios of a pair travel.
    fn crossings(pair: u64) -> f64 {
        let mut scatter = scatter(METRE);
        let mut power = |way: f64| {
            let (real, imaginary) = scatter.sum(&Signal { ways: [way, way], ..after(pair, 0.0) });
            real * real + imaginary * imaginary
        };
        let (steps, ways) = (40, 100);
        let weak: Vec<bool> = (0..ways * steps).map(|step| power(f64::from(step) / f64::from(steps)) < 0.5).collect();
        weak.windows(2).filter(|it| it[0] && !it[1]).count() as f64 / f64::from(ways)
    }

    #[test]
    fn each_pair_crosses_a_level_as_often_as_two_moving_radios_do() {
        // Akki and Haber 1986: the shift of each end counts by its square, here twice that of one end.
        let rho = std::f64::consts::FRAC_1_SQRT_2;
        let expected = 2.0_f64.sqrt() * (2.0 * std::f64::consts::PI).sqrt() * rho * libm::exp(-rho * rho);
        let found: Vec<f64> = (0..24).map(crossings).collect();
        let mean = found.iter().sum::<f64>() / found.len() as f64;
        assert!((mean - expected).abs() < 0.12, "mean {mean}, expected {expected}");
        for crossings in found {
            assert!((crossings - expected).abs() < 0.7, "{crossings}, expected {expected}");
        }
    }

    #[test]
    fn a_given_time_is_that_of_the_doppler_shift() {
        let mut scatter = Scatter::new(Frequency::new(METRE), Coherence::Time(Span::from_millis(423)), 16);
        let product = |pair: u64| {
            let mut at =
                |millis: u64| scatter.sum(&Signal { at: Time::from_nanos(millis * 1_000_000), ..after(pair, 0.0) });
            let (here, there) = (at(9000), at(9200));
            here.0 * there.0 + here.1 * there.1
        };
        // One turn a second, for 200 ms.
        let found = (0..10_000).map(product).sum::<f64>() / 10_000.0;
        assert!((found - 0.6425).abs() < 0.02, "{found}");
    }

    #[test]
    fn pairs_and_transmissions_differ() {
        let power = |it: (f64, f64)| it.0 * it.0 + it.1 * it.1;
        let mut moving = scatter(METRE);
        assert_eq!(moving.sum(&after(1, 3.0)), moving.sum(&Signal { transmission: 9, ..after(1, 3.0) }));
        assert_ne!(moving.sum(&after(1, 3.0)), moving.sum(&after(2, 3.0)));
        let mut anew = Scatter::new(Frequency::new(METRE), Coherence::Time(Span::ZERO), 16);
        let mut draw = |key: u64| power(anew.sum(&Signal { transmission: key, ..after(1, 0.0) }));
        let n = 200_000;
        let weak = (0..n).filter(|key| draw(*key) < 0.1).count() as f64 / n as f64;
        assert!((weak - 0.095_16).abs() < 0.002, "{weak} of the powers are below a tenth of the mean");
        let covariance = (0..n).map(|key| (draw(key) - 1.0) * (draw(key + 1) - 1.0)).sum::<f64>() / n as f64;
        assert!(covariance.abs() < 0.01, "{covariance}");
    }

    /// The sum path by path, with nothing remembered.
    fn plain(signal: &Signal, count: u32) -> (f64, f64) {
        let all = f64::from(count);
        let mut draws = Draws::of(mix(signal.pair));
        let mut sectors: Vec<u32> = (0..count).collect();
        let mut sum = (0.0, 0.0);
        for path in 0..count {
            let one = turn((f64::from(path) + draws.uniform()) / all).0;
            let draw = draws.uniform() * f64::from(count - path);
            sectors.swap(path as usize, (path + draw as u32) as usize);
            let two = turn((f64::from(sectors[path as usize]) + (draw - libm::floor(draw))) / all).0;
            let (cosine, sine) = turn(signal.ways[0] * one + signal.ways[1] * two + draws.uniform());
            sum = (sum.0 + cosine, sum.1 + sine);
        }
        let scale = 1.0 / all.sqrt();
        (sum.0 * scale, sum.1 * scale)
    }

    #[test]
    fn remembered_pairs_have_the_paths_of_new_ones() {
        for count in [8, 16, 21, 256] {
            let mut scatter = Scatter::new(Frequency::new(METRE), Coherence::Movement, count);
            // With 256 paths the first are forgotten in between.
            let pairs = if count == 256 { ROOM as u64 / 768 + 300 } else { 300 };
            for way in [0.3, 25.0] {
                for pair in 0..pairs {
                    let signal = Signal { ways: [way, 3.0 * way], ..after(pair, 0.0) };
                    assert_eq!(scatter.sum(&signal), plain(&signal, count), "{count}, {pair}");
                }
                assert!(scatter.pairs.paths.len() <= ROOM);
            }
        }
    }
}
