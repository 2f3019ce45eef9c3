//! The success rates of a link's modes, and the modes that follow from them.

use hopyard_engine::Span;

use super::groups::Groups;
use crate::mac::rate_control::control::Outcome;

/// One, as a probability.
const ONE: u32 = 1 << 12;

/// The coefficients of the filter of success rates: of the new value, and of the last two results. It is a low pass of
/// second order with a period of sixteen intervals.
const FILTER: [i32; 3] = [1173, 5273, -2350];

/// A share in percent, as a probability.
pub(super) const fn percent(share: u32) -> u32 {
    share * ONE / 100
}

/// A probability as a number from 0 to 1.
pub(super) fn fraction(probability: u32) -> f64 {
    f64::from(probability) / f64::from(ONE)
}

/// The record of a rate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Record {
    /// Since the last renewal.
    attempts: u32,
    successes: u32,
    /// The filtered success rate, and the one before.
    pub probability: u32,
    before: u32,
    is_tried: bool,
    /// The expected throughput.
    throughput: u32,
}

impl Record {
    /// A success rate enters the filter. A rate that was never sampled nor inherited takes it as it is.
    pub fn filter(&mut self, rate: u32) {
        let rate = rate.max(1);
        if self.probability == 0 {
            (self.before, self.probability) = (rate, rate);
            return;
        }
        let [new, last, before] = FILTER;
        let sum = new * rate as i32 + last * self.probability as i32 + before * self.before as i32;
        let value = sum >> 12;
        self.before = self.probability;
        self.probability = if value < 0 { 1 } else { (value as u32).min(ONE) };
    }

    fn renew(&mut self) {
        if let Some(rate) = (self.successes * ONE).checked_div(self.attempts) {
            self.filter(rate);
            self.is_tried = true;
        }
        (self.attempts, self.successes) = (0, 0);
    }

    /// Whether the rate has suddenly died.
    const fn is_dead(&self) -> bool {
        self.attempts > 30 && self.successes < self.attempts / 4
    }
}

/// The best rates of a group.
#[derive(Clone, Copy, Debug, Default)]
struct Best {
    fastest: [u16; 2],
    surest: u16,
}

/// The records of all rates of a link.
#[derive(Clone, Debug)]
pub(super) struct Statistics {
    records: Vec<Record>,
    best: Vec<Best>,
    /// The rates with the largest throughput, in order.
    pub fastest: [u16; 4],
    /// The rate that succeeds most surely.
    pub surest: u16,
    /// The average number of MPDUs of a frame, as a multiple of [`ONE`].
    pub length: u32,
    /// Frames and MPDUs since the last renewal.
    frames: u32,
    mpdus: u32,
}

impl Statistics {
    pub fn new(groups: &Groups) -> Self {
        Self {
            records: vec![Record::default(); groups.rates.len()],
            best: vec![Best::default(); groups.groups.len()],
            fastest: [0; 4],
            surest: 0,
            length: ONE,
            frames: 0,
            mpdus: 0,
        }
    }

    pub fn probability(&self, rate: u16) -> u32 {
        self.records[usize::from(rate)].probability
    }

    /// Counts the frames of an outcome: all MPDUs of each try, and those that arrived with the last mode.
    pub fn count(&mut self, outcome: &Outcome<'_>, groups: &Groups) {
        self.frames += 1;
        self.mpdus += outcome.sent;
        for (place, used) in outcome.tries.used.iter().enumerate() {
            let Some(rate) = groups.rate(used.mode) else { continue };
            let record = &mut self.records[usize::from(rate)];
            record.attempts += used.mpdus;
            if place + 1 == outcome.tries.used.len() {
                record.successes += outcome.delivered;
            }
        }
    }

    /// Leaves a fast rate that has suddenly died for the best of a group below. Returns whether anything has changed.
    pub fn fall(&mut self, groups: &Groups) -> bool {
        let mut changed = false;
        for place in 0..2 {
            let rate = self.fastest[place];
            if !self.records[usize::from(rate)].is_dead() {
                continue;
            }
            changed = true;
            let number = usize::from(groups.rates[usize::from(rate)].group);
            let streams = groups.groups[number].streams;
            let below = (0..number).rev().find(|&other| groups.groups[other].streams <= streams);
            if let Some(below) = below {
                self.fastest[place] = self.best[below].fastest[place];
            }
        }
        changed
    }

    /// The number of MPDUs by which the overhead of a frame is divided.
    fn length(&self, is_legacy: bool) -> u32 {
        if is_legacy { 1 } else { self.length / ONE }
    }

    /// The expected throughput of a rate, in tens of packets of 1200 bytes a second.
    pub fn throughput(&self, rate: u16) -> u32 {
        self.records[usize::from(rate)].throughput
    }

    /// Computes the expected throughput of a rate from its probability.
    fn estimate(&mut self, rate: u16, groups: &Groups) {
        let probability = self.probability(rate);
        let group = groups.group(rate);
        let time = 1000 * group.overhead / self.length(group.is_legacy) + groups.duration(rate);
        // Collisions keep any rate from success now and then.
        let expected = 100 * (probability.min(percent(90)) * 1_000_000 / time) / ONE;
        self.records[usize::from(rate)].throughput = if probability < percent(10) { 0 } else { expected };
    }

    /// Filters the success rates of the last interval, and chooses anew.
    pub fn renew(&mut self, groups: &Groups) {
        if let Some(length) = (self.mpdus * ONE).checked_div(self.frames) {
            let (old, new) = (self.length as i32, length as i32);
            self.length = (old + (128 - 96) * (new - old) / 128) as u32;
            (self.frames, self.mpdus) = (0, 0);
        }
        // Every list begins with the slowest rate, as it was known before.
        self.fastest = [0; 4];
        groups.groups.iter().for_each(|group| self.estimate(group.first(), groups));
        for (number, group) in groups.groups.iter().enumerate() {
            let mut of_group = [group.first(); 4];
            // A rate that was never tried succeeds as surely as a tried one above it.
            let mut above = 0;
            for rate in group.each().rev() {
                let record = &mut self.records[usize::from(rate)];
                record.renew();
                if record.is_tried {
                    above = above.max(record.probability);
                } else {
                    record.probability = record.probability.max(above);
                }
                self.estimate(rate, groups);
                if self.throughput(rate) > 0 {
                    self.fastest = self.ranked(self.fastest, rate);
                    of_group = self.ranked(of_group, rate);
                }
            }
            self.best[number].fastest = [of_group[0], of_group[1]];
        }
        self.choose_surest(groups);
    }

    /// A list of rates in order of throughput, then of success, with another one in its place.
    fn ranked(&self, mut list: [u16; 4], rate: u16) -> [u16; 4] {
        let merit = |rate| (self.throughput(rate), self.probability(rate));
        let place = list.iter().rposition(|&other| merit(other) >= merit(rate)).map_or(0, |last| last + 1);
        if place < list.len() {
            list[place..].rotate_right(1);
            list[place] = rate;
        }
        list
    }

    /// Chooses the rate that succeeds most surely. Of those that succeed three times in four, it is the fastest.
    fn choose_surest(&mut self, groups: &Groups) {
        let fastest = self.fastest[0];
        let mut surest = 0;
        for (number, group) in groups.groups.iter().enumerate() {
            let mut of_group = group.first();
            for rate in group.each() {
                let is_faster = groups.duration(fastest) > groups.duration(rate);
                if is_faster && self.probability(rate) < self.probability(fastest) {
                    continue;
                }
                let is_sure = self.probability(rate) > percent(75);
                let merit = |rate| if is_sure { self.throughput(rate) } else { self.probability(rate) };
                for best in [&mut surest, &mut of_group] {
                    if merit(rate) > merit(*best) {
                        *best = rate;
                    }
                }
            }
            self.best[number].surest = of_group;
        }
        self.surest = surest;
        // Fewer streams are more robust.
        let streams = groups.group(fastest).streams;
        let mut most = 0;
        for (group, best) in groups.groups.iter().zip(&self.best).filter(|(group, _)| !group.is_legacy) {
            let throughput = self.throughput(best.surest);
            if group.streams < streams && throughput > most {
                (self.surest, most) = (best.surest, throughput);
            }
        }
    }

    /// How often a stage of the chain tries a rate: at most so many times, in at most so much time.
    pub fn tries(&self, rate: u16, announced: bool, (most, time): (u32, Span), groups: &Groups) -> u32 {
        if self.probability(rate) < percent(20) {
            return 2;
        }
        let group = groups.group(rate);
        let data = groups.duration(rate) * self.length(group.is_legacy) / 1000;
        let plain = group.overhead + data;
        let (mut window, mut contention) = (15_u32, 0);
        let mut slots = || {
            let mean = (9 * window) >> 1;
            window = (2 * window + 1).min(1023);
            mean
        };
        contention += slots() + slots();
        let (mut spent, mut spent_announced) =
            (contention + 2 * plain, contention + 2 * (group.overhead_announced + data));
        let (mut tries, mut tries_announced) = (2, 2);
        let time = (time.nanos() / 1000) as u32;
        // The tries with an RTS are counted as long as there are tries without.
        loop {
            let contention = slots();
            spent += contention + plain;
            spent_announced += contention + group.overhead_announced + data;
            tries_announced += u32::from(spent_announced < time);
            if spent >= time {
                break;
            }
            tries += 1;
            if tries >= most {
                break;
            }
        }
        if announced { tries_announced } else { tries }
    }
}
