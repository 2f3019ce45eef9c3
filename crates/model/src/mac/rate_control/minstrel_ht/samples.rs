//! The rates that a link probes.

use hopyard_engine::Rng;

use super::groups::{Groups, MOST};
use super::statistics::{Statistics, percent};

/// The number of rates that are candidates for a probe, for each kind of probe.
const CANDIDATES: usize = 5;

/// The kinds of probes: the next faster rate of each group; a random faster one; one between the chosen ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Next,
    Jump,
    Slow,
}

/// The kinds in turn.
const TURNS: [Kind; 6] = [Kind::Next, Kind::Jump, Kind::Next, Kind::Jump, Kind::Next, Kind::Slow];

/// Random orders of the places of a group.
#[derive(Clone, Debug)]
pub(super) struct Table([[u8; MOST]; MOST]);

impl Table {
    pub fn drawn(rng: &mut Rng) -> Self {
        const FREE: u8 = u8::MAX;
        let mut columns = [[FREE; MOST]; MOST];
        for column in &mut columns {
            for place in 0..MOST {
                let mut at = (place + rng.below(MOST as u64) as usize) % MOST;
                while column[at] != FREE {
                    at = (at + 1) % MOST;
                }
                column[at] = place as u8;
            }
        }
        Self(columns)
    }
}

/// The candidates of a kind, and the group from which the last one came.
#[derive(Clone, Copy, Debug, Default)]
struct Bucket {
    rates: [Option<u16>; CANDIDATES],
    group: usize,
}

impl Bucket {
    /// Whether a rate is among the first candidates, up to a gap.
    fn has(&self, rate: u16) -> bool {
        self.rates.iter().map_while(|it| *it).any(|it| it == rate)
    }

    /// Keeps those candidates that are still of use. As in Linux, a first candidate that need not move is not counted,
    /// so that the next one takes its place. Returns how many are counted.
    fn keep(&mut self, is_of_use: impl Fn(u16) -> bool) -> usize {
        let mut count = 0;
        for place in 0..CANDIDATES {
            let Some(rate) = self.rates[place] else { continue };
            if !is_of_use(rate) {
                self.rates[place] = None;
            } else if place != count {
                self.rates[place] = None;
                self.rates[count] = Some(rate);
                count += 1;
            }
        }
        count
    }
}

/// The candidates of a link.
#[derive(Clone, Debug)]
pub(super) struct Samples {
    buckets: [Bucket; 3],
    /// The turn of the next probe.
    turn: usize,
    /// The next column and row of the table, for each group.
    places: Vec<(usize, usize)>,
}

impl Samples {
    pub fn new(groups: &Groups) -> Self {
        let count = groups.groups.len();
        // Linux begins behind the first of all groups, which belongs to HT.
        let group = if groups.begins_with_ht() { 0 } else { count - 1 };
        Self { buckets: [Bucket { group, ..Bucket::default() }; 3], turn: 0, places: vec![(0, 0); count] }
    }

    /// The next rate to be probed, if there is one of the kind whose turn it is.
    pub fn next(&mut self) -> Option<u16> {
        let kind = TURNS[self.turn];
        self.turn = (self.turn + 1) % TURNS.len();
        self.buckets[kind as usize].rates.iter_mut().find_map(Option::take)
    }

    /// Finds new candidates, after the rates in use have changed.
    pub fn refill(&mut self, statistics: &Statistics, groups: &Groups, table: &Table) {
        let time = |rate| groups.duration(rate);
        let times = [statistics.fastest[0], statistics.fastest[1], statistics.surest].map(time);
        let used = (times.into_iter().min().unwrap_or(0), times.into_iter().max().unwrap_or(0));
        let is_faster = |rate| time(rate) < used.0;
        let mut count = self.buckets[Kind::Next as usize].keep(is_faster);
        while count < CANDIDATES {
            let found = self.next_faster(times[0], groups);
            self.buckets[Kind::Next as usize].rates[count] = found;
            if found.is_none() {
                break;
            }
            count += 1;
        }
        let mut count = self.buckets[Kind::Jump as usize].keep(is_faster);
        let mut slow = self.buckets[Kind::Slow as usize].keep(|rate| time(rate) > used.0 && time(rate) < used.1);
        while count < CANDIDATES {
            let found = self.jump(used, &mut slow, statistics, groups, table);
            self.buckets[Kind::Jump as usize].rates[count] = found;
            if found.is_none() {
                break;
            }
            count += 1;
        }
    }

    /// The slowest rate of another group that is faster than the fastest one in use.
    fn next_faster(&mut self, fastest: u32, groups: &Groups) -> Option<u16> {
        let bucket = &mut self.buckets[Kind::Next as usize];
        for _ in 0..groups.groups.len() {
            bucket.group = (bucket.group + 1) % groups.groups.len();
            let slowest = groups.slowest_below(bucket.group, fastest).and_then(|place| groups.at(bucket.group, place));
            if let Some(rate) = slowest.filter(|&rate| !bucket.has(rate)) {
                return Some(rate);
            }
        }
        None
    }

    /// A random rate of another group that is faster than those in use. On the way, rates between the fastest and the
    /// slowest one in use become candidates of their own, of which there are `slow` so far.
    fn jump(
        &mut self,
        (fastest, slowest): (u32, u32),
        slow: &mut usize,
        statistics: &Statistics,
        groups: &Groups,
        table: &Table,
    ) -> Option<u16> {
        for _ in 0..groups.groups.len() {
            let jumps = &mut self.buckets[Kind::Jump as usize];
            jumps.group = (jumps.group + 1) % groups.groups.len();
            let group = jumps.group;
            let most = if *slow < CANDIDATES { slowest } else { fastest };
            let Some(least) = groups.slowest_below(group, most) else { continue };
            let Some(rate) = self.draw(group, least, groups, table) else { continue };
            let time = groups.duration(rate);
            if time < fastest {
                if !self.buckets[Kind::Jump as usize].has(rate) {
                    return Some(rate);
                }
                continue;
            }
            let bucket = &mut self.buckets[Kind::Slow as usize];
            let is_sure = statistics.probability(rate) > percent(95);
            if bucket.has(rate) || *slow >= CANDIDATES || time >= slowest || is_sure {
                continue;
            }
            bucket.rates[*slow] = Some(rate);
            *slow += 1;
        }
        None
    }

    /// The next rate of a group in the random order of the table, from a place of the group on.
    fn draw(&mut self, group: usize, least: usize, groups: &Groups, table: &Table) -> Option<u16> {
        let (column, row) = &mut self.places[group];
        for _ in 0..MOST {
            let place = usize::from(table.0[*column][*row]);
            *row += 1;
            if *row == MOST {
                (*row, *column) = (0, (*column + 1) % MOST);
            }
            if let Some(rate) = groups.at(group, place).filter(|_| place >= least) {
                return Some(rate);
            }
        }
        None
    }
}
