//! Random early detection (RED): packets are dropped or marked at random, the more the longer the mean queue.
//!
//! S. Floyd and V. Jacobson, Random early detection gateways for congestion avoidance, IEEE/ACM Transactions on
//! Networking 1(4), 1993; the gentle variant and thresholds by the rate of the link as in ns-2.35 (`queue/red.cc`, read
//! for the facts). Left out: adaptive RED. Validated by the probabilities of the paper, and against ns-2.35
//! (`docs/validation.md`).

use std::collections::VecDeque;

use hopyard_engine::units::Bytes;
use hopyard_engine::{Rng, Span, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::MARKS;
use super::discipline::{Desk, Item, QueueDiscipline, Room, Takes};
use crate::context::DropReason;
use crate::params::{self, Fault, Metric, NS2, RFC};

/// Parameters of RED.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Params {
    /// The mean length, in packets, from which packets are dropped; 0: half of what the link sends in `target_delay`,
    /// and at least 5.
    pub min_threshold: f64,
    /// The mean length at which the probability is `max_probability`; 0: three times the smaller threshold.
    pub max_threshold: f64,
    /// The weight of each packet's arrival in the mean; 0: by the rate of the link, so that the mean follows within
    /// ten round-trip times of 100 ms or more.
    pub weight: f64,
    /// The probability of a drop at `max_threshold`.
    pub max_probability: f64,
    /// Whether the probability grows from there to 1 at twice `max_threshold`, instead of at once.
    pub gentle: bool,
    /// Whether at least one packet in the probability's inverse passes between two drops. In the paper the number is
    /// uniform from 1 to this inverse; with `wait` it is uniform from there to twice as many.
    pub wait: bool,
    /// Whether the length counts in bytes, and large packets are dropped more often.
    pub bytes: bool,
    /// The mean size of packets, by which thresholds and rates are counted.
    pub mean_size: Bytes,
    /// The delay by which `min_threshold` is chosen, if it is 0.
    pub target_delay: Span,
    /// Whether packets are marked instead of dropped, where their transport understands that (ECN, RFC 3168).
    pub ecn: bool,
    /// The probability from which such packets are dropped too.
    pub mark_below: f64,
}

impl params::Params for Params {
    const PROFILES: &'static [&'static str] = &[RFC, NS2];

    fn of_profile(profile: &str) -> Self {
        let ns2 = profile == NS2;
        Self {
            min_threshold: if ns2 { 0.0 } else { 5.0 },
            max_threshold: if ns2 { 0.0 } else { 15.0 },
            weight: if ns2 { 0.0 } else { 0.002 },
            max_probability: 0.1,
            gentle: true,
            wait: ns2,
            bytes: ns2,
            mean_size: Bytes::new(500),
            target_delay: Span::from_millis(5),
            ecn: false,
            mark_below: if ns2 { 0.1 } else { 1.0 },
        }
    }

    fn check(&self) -> Result<(), Fault> {
        for (parameter, value, most) in [
            ("min_threshold", self.min_threshold, f64::MAX),
            ("max_threshold", self.max_threshold, f64::MAX),
            ("weight", self.weight, 1.0),
            ("max_probability", self.max_probability, 1.0),
            ("mark_below", self.mark_below, 1.0),
        ] {
            if !(0.0..=most).contains(&value) {
                let expected = if most > 1.0 { "at least 0" } else { "from 0 to 1" };
                return Err(Fault::new(parameter, format!("expected a number {expected}, found {value}")));
            }
        }
        if self.max_threshold > 0.0 && self.max_threshold <= self.min_threshold {
            let (min, max) = (self.min_threshold, self.max_threshold);
            return Err(Fault::new(
                "max_threshold",
                format!("expected 0 or more than `min_threshold` ({min}), found {max}"),
            ));
        }
        Fault::unless("mean_size", self.mean_size, |it| it.count() > 0, "at least 1 B")?;
        Ok(())
    }

    fn unused(&self) -> Vec<params::Unused> {
        params::unused_where([
            (self.min_threshold > 0.0, "min_threshold", &["target_delay"]),
            (!self.ecn, "ecn", &["mark_below"]),
        ])
    }
}

/// A queue that drops at random before it is full.
#[derive(Clone, Debug)]
pub struct Red {
    params: Params,
    /// The thresholds, and the length at which the queue is full, in packets or bytes.
    min: f64,
    max: f64,
    limit: f64,
    weight: f64,
    /// Packets of mean size that the link sends in a second.
    pace: f64,
    mean: f64,
    /// Since when the link is idle, if it is.
    idle: Option<Time>,
    /// Packets and bytes that came since the last drop, or since the mean was below the threshold.
    packets: u64,
    bytes: u64,
    /// Whether the mean was above the threshold when the last packet came.
    is_above: bool,
    draws: Rng,
    items: VecDeque<Item>,
    /// The sum of the bytes that wait.
    waiting: u64,
}

impl Red {
    /// The length, in packets or bytes.
    fn length(&self) -> f64 {
        if self.params.bytes { self.waiting as f64 } else { self.items.len() as f64 }
    }

    /// The probability of a drop by the mean length alone (`p_b` in the paper).
    fn chance(&self) -> f64 {
        let most = self.params.max_probability;
        match self.mean {
            mean if mean < self.max => most * (mean - self.min) / (self.max - self.min),
            mean if self.params.gentle => ((1.0 - most) * mean / self.max + 2.0 * most - 1.0).min(1.0),
            _ => 1.0,
        }
    }

    /// The probability that this packet is dropped, so that drops have equal distances (`p_a` in the paper).
    fn spaced(&self, chance: f64, size: u32) -> f64 {
        let mean_size = self.params.mean_size.count();
        let count = if self.params.bytes { self.bytes / mean_size } else { self.packets } as f64;
        let product = count * chance;
        let spaced = match self.params.wait {
            true if product < 1.0 => 0.0,
            true if product < 2.0 => chance / (2.0 - product),
            false if product < 1.0 => chance / (1.0 - product),
            _ => 1.0,
        };
        let scaled =
            if self.params.bytes && spaced < 1.0 { spaced * f64::from(size) / mean_size as f64 } else { spaced };
        scaled.min(1.0)
    }

    /// The mean follows the length. For the time that the link was idle, as if so many packets had come to an empty
    /// queue.
    fn update_mean(&mut self, now: Time) {
        let missed = self.idle.take().map_or(0.0, |since| (self.pace * now.since(since).seconds()).floor());
        self.mean = self.mean * libm::pow(1.0 - self.weight, missed + 1.0) + self.weight * self.length();
    }

    fn restart(&mut self) {
        (self.packets, self.bytes) = (0, 0);
    }
}

impl QueueDiscipline for Red {
    type Params = Params;

    const METRICS: &'static [Metric] = &[MARKS];

    fn new(params: &Params, room: &Room, draws: Rng) -> Self {
        let mean_size = params.mean_size.count() as f64;
        let pace = room.rate.bps() as f64 / (8.0 * mean_size);
        let min = match params.min_threshold {
            given if given > 0.0 => given,
            _ => (params.target_delay.seconds() * pace / 2.0).max(5.0),
        };
        let max = if params.max_threshold > 0.0 { params.max_threshold } else { 3.0 * min };
        let trip = (3.0 * (room.delay.seconds() + 1.0 / pace)).max(0.1);
        let weight = if params.weight > 0.0 { params.weight } else { 1.0 - libm::exp(-1.0 / (10.0 * trip * pace)) };
        let unit = if params.bytes { mean_size } else { 1.0 };
        Self {
            params: params.clone(),
            min: min * unit,
            max: max * unit,
            limit: room.packets as f64 * unit,
            weight,
            pace,
            mean: 0.0,
            idle: Some(Time::ZERO),
            packets: 0,
            bytes: 0,
            is_above: false,
            draws,
            items: VecDeque::new(),
            waiting: 0,
        }
    }

    fn push(&mut self, item: Item, desk: &mut Desk<'_>) {
        self.update_mean(desk.now());
        self.packets += 1;
        self.bytes += u64::from(item.size);
        let mut is_early = false;
        if self.mean < self.min || self.length() <= 1.0 {
            self.is_above = false;
        } else if !self.is_above {
            // The first packet above the threshold is kept, and the count begins.
            (self.packets, self.bytes, self.is_above) = (1, u64::from(item.size), true);
        } else {
            let chance = self.chance();
            let spaced = self.spaced(chance, item.size);
            if self.draws.uniform() <= spaced {
                self.restart();
                is_early = !(self.params.ecn && chance < self.params.mark_below && desk.mark(&item));
            }
        }
        if self.length() >= self.limit {
            self.restart();
            desk.drop(&item, DropReason::QueueFull);
        } else if is_early {
            desk.drop(&item, DropReason::QueueEarly);
        } else {
            self.waiting += u64::from(item.size);
            self.items.push_back(item);
        }
    }

    fn pop(&mut self, takes: Option<Takes<'_>>, desk: &mut Desk<'_>) -> Option<Item> {
        if self.items.is_empty() {
            self.idle.get_or_insert(desk.now());
        }
        let item = self.items.remove(desk.first(&self.items, takes)?)?;
        self.waiting -= u64::from(item.size);
        Some(item)
    }

    fn retain(&mut self, keep: &mut dyn FnMut(&Item) -> bool) {
        self.items.retain(keep);
        self.waiting = self.items.iter().map(|item| u64::from(item.size)).sum();
    }

    fn items(&self) -> Box<dyn Iterator<Item = &Item> + '_> {
        Box::new(self.items.iter())
    }
}
