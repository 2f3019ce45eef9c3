//! The modes of Minstrel-HT, in groups with the same bandwidth, guard interval and streams.

use crate::mac::rate_control::candidates::Candidates;
use crate::phy::Mode;
use crate::phy::mode::{Format, Guard};

/// The most rates of a group.
pub(super) const MOST: usize = 10;

/// The bits of sixteen packets of 1200 bytes, by which the time of a packet is counted.
const BITS: u64 = 16 * 1200 * 8;

/// A mode, as Minstrel-HT knows it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry {
    pub mode: &'static Mode,
    pub group: u8,
    /// The time of a packet of 1200 bytes, in nanoseconds.
    pub duration: u32,
}

/// Rates that differ in modulation and code only.
#[derive(Clone, Debug)]
pub(super) struct Group {
    /// The index of the rate in each place: that of its modulation and code.
    pub rates: [Option<u16>; MOST],
    pub streams: u8,
    /// Whether it is of DSSS or OFDM, which do not aggregate.
    pub is_legacy: bool,
    /// The time beside a frame's own, and the time with an RTS, in microseconds.
    pub overhead: u32,
    pub overhead_announced: u32,
}

impl Group {
    /// The indices of its rates, the slowest first.
    pub fn each(&self) -> impl DoubleEndedIterator<Item = u16> {
        self.rates.iter().copied().flatten()
    }

    /// The index of the slowest rate.
    pub fn first(&self) -> u16 {
        self.each().next().expect("a group has rates")
    }
}

/// All groups, in Linux's order: HT or VHT by bandwidth, guard interval and streams; or DSSS, then OFDM.
#[derive(Clone, Debug)]
pub(super) struct Groups {
    pub groups: Vec<Group>,
    pub rates: Vec<Entry>,
    /// The index of each mode's rate, by the row of the mode.
    places: Vec<u16>,
}

impl Groups {
    pub fn of(candidates: &Candidates) -> Self {
        let usual = candidates.usual;
        // A station with HT sends nothing older to another one, and a station with VHT no HT.
        let kind = |mode: &Mode| match mode.format {
            Format::Dsss(_) | Format::Ofdm => 0,
            Format::Ht { .. } => 1,
            Format::Vht { .. } => 2,
        };
        let mut modes: Vec<_> = candidates.modes.iter().copied().filter(|mode| kind(mode) == kind(usual)).collect();
        let key = |mode: &Mode| match mode.format {
            Format::Dsss(_) => (0, 0, 0),
            Format::Ofdm => (1, 0, 0),
            _ => (mode.body.bandwidth.hertz() as u64, u8::from(mode.guard == Guard::Short), mode.body.streams),
        };
        modes.sort_by_key(|mode| (key(mode), mode.rate()));
        let has_dsss = modes.iter().any(|mode| matches!(mode.format, Format::Dsss(_)));
        let mut all = Self { groups: Vec::new(), rates: Vec::new(), places: Vec::new() };
        let (mut last, mut rounded) = (None, 0);
        for mode in modes {
            if last != Some(key(mode)) {
                last = Some(key(mode));
                all.groups.push(group(mode, has_dsss));
                // Linux keeps each time of a group in 16 bits, without the low bits that are too many for the longest.
                rounded = (u32::BITS - duration(mode).leading_zeros()).saturating_sub(16);
            }
            let number = all.groups.len() - 1;
            let group = &mut all.groups[number];
            let place = place_of(mode).unwrap_or_else(|| group.each().count());
            let index = all.rates.len() as u16;
            group.rates[place] = Some(index);
            all.rates.push(Entry { mode, group: number as u8, duration: duration(mode) >> rounded << rounded });
            let row = usize::from(mode.row);
            all.places.resize(all.places.len().max(row + 1), u16::MAX);
            all.places[row] = index;
        }
        all
    }

    /// The group of a rate.
    pub fn group(&self, rate: u16) -> &Group {
        &self.groups[usize::from(self.rates[usize::from(rate)].group)]
    }

    /// Whether the first group is of HT.
    pub fn begins_with_ht(&self) -> bool {
        matches!(self.rates[0].mode.format, Format::Ht { .. })
    }

    /// The rate in a place of a group.
    pub fn at(&self, group: usize, place: usize) -> Option<u16> {
        self.groups[group].rates[place]
    }

    /// The first place of a group whose rate needs less than a time for a packet.
    pub fn slowest_below(&self, group: usize, time: u32) -> Option<usize> {
        let rates = self.groups[group].rates;
        rates.iter().position(|rate| rate.is_some_and(|rate| self.duration(rate) < time))
    }

    pub fn duration(&self, rate: u16) -> u32 {
        self.rates[usize::from(rate)].duration
    }

    /// The index of a mode's rate.
    pub fn rate(&self, mode: &Mode) -> Option<u16> {
        self.places.get(usize::from(mode.row)).copied().filter(|index| *index != u16::MAX)
    }
}

/// The place of a mode in its group; nothing for DSSS and OFDM, which are counted.
const fn place_of(mode: &Mode) -> Option<usize> {
    match mode.format {
        Format::Ht { mcs } => Some(mcs as usize % 8),
        Format::Vht { mcs, .. } => Some(mcs as usize),
        Format::Dsss(_) | Format::Ofdm => None,
    }
}

/// An empty group for modes such as this one.
fn group(mode: &Mode, has_dsss: bool) -> Group {
    let clock = (20e6 / mode.body.bandwidth.hertz()).max(1.0) as u32;
    // The acknowledgement at the lowest rate, and for HT an empty frame at 6 Mb/s as well: 10 bytes, with SIFS.
    let answer = match () {
        () if !mode.is_legacy() => 60,
        () if has_dsss => 218,
        () => 60 * clock,
    };
    let overhead = if mode.is_legacy() { answer } else { answer + 48 };
    Group {
        rates: [None; MOST],
        streams: mode.body.streams,
        is_legacy: mode.is_legacy(),
        overhead,
        overhead_announced: overhead + 2 * answer,
    }
}

/// The time of a packet of 1200 bytes in a mode, in nanoseconds.
fn duration(mode: &Mode) -> u32 {
    let bits = u64::from(mode.body.symbol_bits);
    let nanoseconds = match mode.format {
        // SIFS, preamble, and 1204 bytes.
        Format::Dsss(preamble) => {
            10_000 + preamble.span().nanos() + 8_000_000_000 * 1204 / mode.rate().bps() / 1000 * 1000
        }
        // SIFS with signal extension, preamble and header, and the whole symbols of 1204 bytes.
        Format::Ofdm => 36_000 + 4000 * ((16 + 8 * 1204 * 10 + 6) / (bits * 10)),
        Format::Ht { .. } | Format::Vht { .. } => {
            let symbols = BITS.div_ceil(bits);
            let time = if mode.guard == Guard::Short { (symbols * 18_000 + 4000) / 5 } else { symbols * 4000 };
            time / 16
        }
    };
    nanoseconds as u32
}
