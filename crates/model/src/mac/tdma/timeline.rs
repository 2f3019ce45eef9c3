//! Where slots begin: contention parts, frames, who owns which slot, and the clocks of stations.
//!
//! A clock shows nanoseconds since the beginning of the run; its offset may make them negative. Slots are numbered in
//! their order. A round is a contention part, the slots that belong to nobody, and then the numbered slots. The frame
//! of a schedule that the scenario gives is one round.

use std::collections::BTreeMap;

use hopyard_engine::{Rng, Span, Time};

use super::params::{FrameRule, Params, Rule, Schedule};
use crate::address::NodeId;
use crate::context::Slots;
use crate::phy::Mode;

const BILLION: i128 = 1_000_000_000;

/// A station's clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Clock {
    /// Its reading at the beginning, in nanoseconds.
    offset: i64,
    /// How many nanoseconds it gains in a second.
    drift: i64,
}

impl Clock {
    /// A clock with this offset in nanoseconds, and a drift in nanoseconds a second.
    #[cfg(test)]
    #[must_use]
    pub const fn new(offset: i64, drift: i64) -> Self {
        Self { offset, drift }
    }

    /// The clock of a station: the clock in the lists, or a drawn one.
    #[must_use]
    pub fn of(params: &Params, station: usize, rng: &mut Rng) -> Self {
        let offset = params.clock_offsets.get(station).map(|micros| (micros * 1e3) as i64);
        let drift = params.clock_drifts.get(station).map(|ppm| (ppm * 1e3) as i64);
        // Exact clocks draw nothing.
        let mut drawn = |most: f64| if most > 0.0 { rng.uniform_in(-most, most) as i64 } else { 0 };
        Self {
            offset: offset.unwrap_or_else(|| drawn(params.clock_offset.nanos() as f64)),
            drift: drift.unwrap_or_else(|| drawn(params.clock_drift * 1e3)),
        }
    }

    /// The reading of the clock at a time.
    #[inline]
    #[must_use]
    pub fn shows(self, at: Time) -> i64 {
        let at = at.nanos() as i64;
        match self.drift {
            0 => at + self.offset,
            drift => at + self.offset + (i128::from(at) * i128::from(drift)).div_euclid(BILLION) as i64,
        }
    }

    /// The first time at which the clock shows this, or more.
    #[inline]
    #[must_use]
    pub fn when(self, shown: i64) -> Time {
        let since = (shown - self.offset).max(0);
        if self.drift == 0 {
            return Time::from_nanos(since as u64);
        }
        let about = i128::from(since) * BILLION / (BILLION + i128::from(self.drift));
        let mut at = (about as u64).saturating_sub(2);
        while self.shows(Time::from_nanos(at)) < shown {
            at += 1;
        }
        Time::from_nanos(at)
    }
}

/// Which slots a station owns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Own {
    /// None.
    Nothing,
    /// The slots of the schedule that the scenario gives.
    Listed,
    /// One in so many.
    Every {
        /// The number of the first one.
        slot: i64,
        /// The number of slots after which it comes again.
        period: i64,
    },
}

impl Own {
    /// The slots that were found during the run, under the rule of the frame. A slot beyond a fixed frame is none.
    #[must_use]
    pub fn found(slots: &Slots, params: &Params) -> Self {
        let Some(slot) = slots.own else { return Self::Nothing };
        let near = u64::from(slots.near.max(slot));
        let period = match params.frame {
            FrameRule::Global => near.max(u64::from(slots.known)) + 1,
            FrameRule::Local => (near + 1).next_power_of_two(),
            FrameRule::Fixed => u64::from(params.frame_slots),
        };
        if u64::from(slot) >= period {
            return Self::Nothing;
        }
        Self::Every { slot: i64::from(slot), period: period as i64 }
    }
}

/// The state that all stations of a channel share.
#[derive(Debug)]
pub struct Frames {
    /// The parameters.
    pub params: Params,
    /// The mode of all frames on the air.
    pub mode: &'static Mode,
    /// Lengths in nanoseconds: of a slot, of a contention part, of the time before the first slot of a round, of a
    /// round.
    slot: i64,
    contention: i64,
    before: i64,
    round: i64,
    /// Numbered slots in a round.
    slots: i64,
    /// The places of each station's slots within the round, in order.
    listed: Vec<Vec<u32>>,
}

impl Frames {
    /// The frames of the stations of these nodes.
    #[must_use]
    pub fn new(params: &Params, nodes: &[NodeId]) -> Self {
        let mut listed = vec![Vec::new(); nodes.len()];
        match &params.schedule {
            Schedule::Rule(Rule::Agent | Rule::Greedy | Rule::Frozen) => {}
            Schedule::Rule(Rule::InTurn) => {
                (0..).zip(&mut listed).for_each(|(place, slots): (u32, &mut Vec<u32>)| slots.push(place));
            }
            Schedule::Owners(owners) => {
                let stations: BTreeMap<u32, usize> = nodes.iter().enumerate().map(|(at, node)| (node.0, at)).collect();
                for (place, owner) in (0..).zip(owners) {
                    for station in owner.nodes().iter().filter_map(|node| stations.get(node)) {
                        // A node that is named twice owns the slot once.
                        if listed[*station].last() != Some(&place) {
                            listed[*station].push(place);
                        }
                    }
                }
            }
        }
        let slots = params.slots_between(nodes.len()).max(1);
        let all = u64::from(params.unused_slots) + slots;
        // Where parameters were not checked, a part without room for a slot is none.
        let contention = Some(params.contention_part(all)).filter(|part| *part >= params.least_part());
        let contention = contention.unwrap_or(Span::ZERO);
        let nanos = |span: Span| span.nanos() as i64;
        Self {
            slot: nanos(params.slot),
            contention: nanos(contention),
            before: nanos(contention + params.slot * u64::from(params.unused_slots)),
            round: nanos(contention + params.slot * all),
            slots: slots as i64,
            listed,
            mode: params.mode(),
            params: params.clone(),
        }
    }

    /// When the first round begins after a time, by an exact clock.
    #[must_use]
    pub const fn round_after(&self, at: Time) -> Time {
        Time::from_nanos((at.nanos() / self.round as u64 + 1) * self.round as u64)
    }

    /// When a slot begins.
    #[must_use]
    pub fn begin(&self, slot: i64) -> i64 {
        slot.div_euclid(self.slots) * self.round + self.before + slot.rem_euclid(self.slots) * self.slot
    }

    /// When a slot ends.
    #[must_use]
    pub fn end(&self, slot: i64) -> i64 {
        self.begin(slot) + self.slot
    }

    /// The length of a contention part.
    #[must_use]
    pub const fn contention_part(&self) -> Span {
        Span::from_nanos(self.contention as u64)
    }

    /// The slot that lasts at a time, if any does.
    #[must_use]
    pub fn slot_at(&self, at: i64) -> Option<i64> {
        let (round, within) = (at.div_euclid(self.round), at.rem_euclid(self.round) - self.before);
        (within >= 0).then(|| round * self.slots + within / self.slot)
    }

    /// The first slot that begins at this time or later.
    #[must_use]
    pub fn slot_from(&self, at: i64) -> i64 {
        let (round, within) = (at.div_euclid(self.round), at.rem_euclid(self.round) - self.before);
        round * self.slots + (within.max(0) as u64).div_ceil(self.slot as u64) as i64
    }

    /// When the contention part begins that lasts at a time, or that is the next one.
    #[must_use]
    pub fn contention_from(&self, at: i64) -> (i64, i64) {
        let round = at.div_euclid(self.round) + i64::from(at.rem_euclid(self.round) >= self.contention);
        (round * self.round, round * self.round + self.contention)
    }

    /// Whether there are contention parts.
    #[must_use]
    pub const fn has_contention(&self) -> bool {
        self.contention > 0
    }

    /// Whether a station owns a slot.
    #[must_use]
    pub fn owns(&self, own: Own, station: usize, slot: i64) -> bool {
        self.owned_from(own, station, slot) == Some(slot)
    }

    /// The first slot of a station with this number or a larger one.
    #[must_use]
    pub fn owned_from(&self, own: Own, station: usize, slot: i64) -> Option<i64> {
        match own {
            Own::Nothing => None,
            Own::Every { slot: first, period } => Some(slot + (first - slot).rem_euclid(period)),
            Own::Listed => {
                let (round, place) = (slot.div_euclid(self.slots), slot.rem_euclid(self.slots));
                let listed = self.listed.get(station)?;
                let next = listed.get(listed.partition_point(|&it| i64::from(it) < place));
                let first = listed.first()?;
                Some(match next {
                    Some(&place) => round * self.slots + i64::from(place),
                    None => (round + 1) * self.slots + i64::from(*first),
                })
            }
        }
    }

    /// How many slots a station owns from one slot to before another.
    #[must_use]
    pub fn owned(&self, own: Own, station: usize, from: i64, to: i64) -> u64 {
        let before = |slot: i64| match own {
            Own::Nothing => 0,
            Own::Every { slot: first, period } => (slot - first + period - 1).div_euclid(period),
            Own::Listed => {
                // A station that only radiates has no place in the list.
                let Some(listed) = self.listed.get(station) else { return 0 };
                let within = listed.partition_point(|&it| i64::from(it) < slot.rem_euclid(self.slots));
                slot.div_euclid(self.slots) * listed.len() as i64 + within as i64
            }
        };
        (before(to) - before(from)).max(0) as u64
    }
}
