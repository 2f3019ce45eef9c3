//! Minstrel-HT: the mode with the largest expected throughput, by filtered success rates and by probes.
//!
//! Read: Linux 6.1, `net/mac80211/rc80211_minstrel_ht.c`, for the procedure and its constants; the words and the code
//! are Hopyard's. A chain of four stages is the table of a driver with four rates. Its stages are the three modes with
//! the largest throughput, and the one that succeeds most surely. A packet is given up when all tries of the chain have
//! failed.
//!
//! Left out: modes of DSSS beside HT, limits of A-MSDU, driver flags, jiffies (times are exact). Validated by the
//! arithmetic of Linux, and against ns-3.37's Minstrel-HT (`docs/validation.md`).

mod groups;
mod samples;
mod statistics;

use hopyard_engine::units::Rate;
use hopyard_engine::{Rng, Span, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use self::groups::{Entry, Groups};
use self::samples::{Samples, Table};
use self::statistics::{Statistics, fraction};
use super::candidates::Candidates;
use super::control::{Belief, Choice, Outcome, RateControl, Tries};
use super::links::Links;
use crate::address::InterfaceId;
use crate::params::{self, Fault};
use crate::phy::Mode;

/// The stages of a chain.
const STAGES: usize = 4;

/// Parameters of Minstrel-HT.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Params {
    /// The time after which the next outcome renews the statistics.
    pub interval: Span,
    /// The time in which at most one probe is sent, beside one at each renewal.
    pub probe_interval: Span,
    /// The largest number of tries of a stage: 7 in Linux, 10 with the driver ath9k, 11 with mac80211_hwsim.
    pub most_tries: u32,
    /// The longest time of all tries of a stage, contention included.
    pub stage_time: Span,
}

impl params::Params for Params {
    fn of_profile(_profile: &str) -> Self {
        Self {
            interval: Span::from_millis(50),
            probe_interval: Span::from_millis(20),
            most_tries: 7,
            stage_time: Span::from_millis(6),
        }
    }

    fn check(&self) -> Result<(), Fault> {
        if self.interval.is_zero() {
            return Err(Fault::new("interval", "expected a time above zero"));
        }
        Fault::unless("most_tries", self.most_tries, |it| it >= 2, "at least 2")?;
        Ok(())
    }
}

/// The state that all links of a channel share.
#[derive(Clone, Debug)]
pub struct Shared {
    params: Params,
    groups: Groups,
    /// The order of probes, of each station.
    tables: Vec<Table>,
}

/// A stage of the chain: an index of a rate, and how often it is tried.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Stage {
    rate: u16,
    tries: u32,
}

/// A link.
#[derive(Clone, Debug)]
pub struct MinstrelHt {
    station: usize,
    statistics: Statistics,
    samples: Samples,
    chain: [Stage; STAGES],
    /// When the statistics were renewed last.
    renewed: Time,
    /// From when on a probe may be sent.
    probe: Time,
}

impl MinstrelHt {
    fn renew(&mut self, now: Time, shared: &Shared) {
        self.statistics.renew(&shared.groups);
        self.samples.refill(&self.statistics, &shared.groups, &shared.tables[self.station]);
        (self.renewed, self.probe) = (now, now);
    }

    fn set_chain(&mut self, shared: &Shared) {
        let Statistics { fastest, surest, .. } = self.statistics;
        let rates = [fastest[0], fastest[1], fastest[2], surest];
        let limits = (shared.params.most_tries, shared.params.stage_time);
        for (place, (stage, rate)) in self.chain.iter_mut().zip(rates).enumerate() {
            *stage = Stage { rate, tries: self.statistics.tries(rate, place > 0, limits, &shared.groups) };
        }
    }
}

impl Links<MinstrelHt> {
    /// The probability that a frame to a neighbour is acknowledged in each mode; nothing before the first frame to it.
    #[must_use]
    pub fn estimates(&self, to: InterfaceId) -> Vec<(&'static Mode, f64)> {
        let Some((link, shared)) = self.known(to) else { return Vec::new() };
        let estimate = |(rate, entry): (u16, &Entry)| (entry.mode, fraction(link.statistics.probability(rate)));
        (0..).zip(&shared.groups.rates).map(estimate).collect()
    }
}

impl RateControl for MinstrelHt {
    type Params = Params;
    type Shared = Shared;

    const GIVES_UP: bool = true;

    fn share(params: &Params, candidates: &Candidates, draws: Vec<Rng>) -> Shared {
        let tables = draws.into_iter().map(|mut rng| Table::drawn(&mut rng)).collect();
        Shared { params: params.clone(), groups: Groups::of(candidates), tables }
    }

    fn new(station: usize, now: Time, shared: &Shared) -> Self {
        let mut link = Self {
            station,
            statistics: Statistics::new(&shared.groups),
            samples: Samples::new(&shared.groups),
            chain: [Stage::default(); STAGES],
            renewed: now,
            probe: now,
        };
        link.renew(now, shared);
        link.set_chain(shared);
        link
    }

    fn choose(&mut self, tries: &Tries, now: Time, shared: &Shared) -> Option<Choice> {
        let mode = |rate: u16| shared.groups.rates[usize::from(rate)].mode;
        if tries.used.is_empty() && self.probe <= now {
            self.probe = now + shared.params.probe_interval;
            if let Some(rate) = self.samples.next() {
                return Some(Choice { mode: mode(rate), announced: false, probe: true });
            }
        }
        // A probe takes the place of the first stage.
        let (skipped, mut spent) = if tries.probe { (1, tries.count() - 1) } else { (0, tries.count()) };
        for (place, stage) in self.chain.iter().enumerate().skip(skipped) {
            match spent.checked_sub(stage.tries) {
                Some(rest) => spent = rest,
                None => return Some(Choice { announced: place > 0, ..Choice::of(mode(stage.rate)) }),
            }
        }
        None
    }

    fn report(&mut self, outcome: &Outcome<'_>, now: Time, shared: &Shared) {
        self.statistics.count(outcome, &shared.groups);
        let mut changed = self.statistics.fall(&shared.groups);
        if now > self.renewed + shared.params.interval {
            self.renew(now, shared);
            changed = true;
        }
        if changed {
            self.set_chain(shared);
        }
    }

    fn belief(&self, shared: &Shared) -> Belief {
        let rate = self.chain[0].rate;
        let throughput = u64::from(self.statistics.throughput(rate));
        Belief {
            mode: shared.groups.rates[usize::from(rate)].mode,
            probability: Some(fraction(self.statistics.probability(rate))),
            // Ten packets of 1200 bytes a second, in Linux's kbit/s of 1024 bits.
            throughput: Some(Rate::from_bps(throughput * 10 * 1200 * 8 / 1024 * 1000)),
        }
    }
}

#[cfg(test)]
mod tests;
