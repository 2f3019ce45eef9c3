//! Links as gains between the stations of a channel.

use std::sync::Arc;

use hopyard_engine::Time;

use super::{Links, Quantity};
use crate::phy::draws::Draws;

/// The powers of a channel, in watts.
#[derive(Clone, Copy, Debug)]
pub struct Levels {
    /// The power of every sender.
    pub transmit: f64,
    /// Thermal noise.
    pub noise: f64,
    /// The weakest signal that is taken into account.
    pub floor: f64,
    /// The weakest and the strongest power with which a frame can be decoded, over the modes.
    pub thresholds: (f64, f64),
}

/// The links of a channel, whose stations are named by their nodes.
#[derive(Clone, Debug)]
pub struct Named {
    /// The links.
    pub links: Arc<Links>,
    /// The node of each station, in order.
    pub nodes: Vec<u32>,
    /// The key of all draws.
    pub key: u64,
}

impl Named {
    /// The gains at these powers.
    #[must_use]
    pub fn gains(&self, levels: &Levels) -> Gains {
        Gains::new(&self.links, &self.nodes, levels, self.key)
    }
}

/// The gains between the stations of a channel. A pair that no link joins has no entry.
#[derive(Clone, Debug)]
pub struct Gains {
    quantity: Quantity,
    holds: bool,
    /// The place of each station's first link, and the end of the last one's.
    starts: Vec<u32>,
    /// The hearers of each station, in order.
    hearers: Vec<u32>,
    /// The value of each link, or where its values begin and end.
    values: Vec<Value>,
    times: Vec<(Time, f64)>,
    /// The gain at zero decibels.
    unit: f64,
    /// The gains of a frame that arrives, and of one that is lost.
    arrives: f64,
    lost: f64,
    /// The key of all draws.
    key: u64,
}

#[derive(Clone, Copy, Debug)]
enum Value {
    /// At all times: a gain, or a delivery ratio.
    Same(f64),
    /// In time, as decibels or as a ratio.
    InTime(u32, u32),
}

impl Gains {
    /// The gains between stations with these nodes, in order.
    ///
    /// A frame that arrives by a delivery ratio is 30 dB above the noise and above the threshold of every mode, so that
    /// only another frame disturbs it. A frame that is lost is sensed, and cannot be decoded.
    fn new(links: &Links, nodes: &[u32], levels: &Levels, key: u64) -> Self {
        const MARGIN: f64 = 1000.0;
        let (weakest, strongest) = levels.thresholds;
        let unit = match links.quantity {
            Quantity::Snr => levels.noise / levels.transmit,
            _ => 1.0,
        };
        let mut gains = Self {
            quantity: links.quantity,
            holds: links.holds,
            starts: vec![0],
            hearers: Vec::new(),
            values: Vec::new(),
            times: Vec::new(),
            unit,
            arrives: MARGIN * strongest.max(levels.noise) / levels.transmit,
            // Rounding must not put the power below the floor.
            lost: if levels.floor < weakest { levels.floor / levels.transmit * (1.0 + 1e-9) } else { 0.0 },
            key,
        };
        let station = |node: u32| nodes.binary_search(&node).ok().map(|place| place as u32);
        for &from in nodes {
            for ((_, to), series) in links.pairs.range((from, 0)..=(from, u32::MAX)) {
                let Some(to) = station(*to) else { continue };
                let value = match series.values.as_slice() {
                    [(at, value)] if !links.holds || *at == Time::ZERO => {
                        Value::Same(if links.quantity == Quantity::Delivery { *value } else { gains.linear(*value) })
                    }
                    many => {
                        let start = gains.times.len() as u32;
                        gains.times.extend_from_slice(many);
                        Value::InTime(start, gains.times.len() as u32)
                    }
                };
                gains.hearers.push(to);
                gains.values.push(value);
            }
            gains.starts.push(gains.hearers.len() as u32);
        }
        gains
    }

    /// The stations that may hear each station.
    #[must_use]
    pub fn lists(&self) -> Vec<Vec<u32>> {
        self.starts.windows(2).map(|at| self.hearers[at[0] as usize..at[1] as usize].to_vec()).collect()
    }

    /// Whether signals between stations that stand still differ in time.
    #[must_use]
    pub fn change(&self) -> bool {
        self.quantity == Quantity::Delivery || !self.times.is_empty()
    }

    fn linear(&self, decibels: f64) -> f64 {
        self.unit * libm::pow(10.0, decibels / 10.0)
    }

    /// The gain from one station to another, of a frame that arrives if any does; zero where there is no link.
    #[must_use]
    pub fn median(&self, from: usize, to: u32, now: Time) -> f64 {
        match (self.value(from, to, now), self.quantity) {
            (None, _) => 0.0,
            (Some(ratio), Quantity::Delivery) => {
                if ratio > 0.0 {
                    self.arrives
                } else {
                    self.lost
                }
            }
            (Some(gain), _) => gain,
        }
    }

    /// The gain of one signal. `transmission` is the key of its transmission and its hearer.
    #[must_use]
    pub fn gain(&self, from: usize, to: u32, now: Time, transmission: u64) -> f64 {
        match (self.value(from, to, now), self.quantity) {
            (None, _) => 0.0,
            (Some(ratio), Quantity::Delivery) => {
                if Draws::of(self.key ^ transmission).uniform() < ratio {
                    self.arrives
                } else {
                    self.lost
                }
            }
            (Some(gain), _) => gain,
        }
    }

    /// The gain, or the delivery ratio, of a link.
    fn value(&self, from: usize, to: u32, now: Time) -> Option<f64> {
        let (start, end) = (self.starts[from] as usize, self.starts[from + 1] as usize);
        let place = start + self.hearers[start..end].binary_search(&to).ok()?;
        let (start, end) = match self.values[place] {
            Value::Same(value) => return Some(value),
            Value::InTime(start, end) => (start as usize, end as usize),
        };
        let series = &self.times[start..end];
        let value = match (series.partition_point(|(at, _)| *at <= now), self.holds) {
            (0, true) => return None,
            (0, false) => series[0].1,
            (next, holds) => {
                let (since, value) = series[next - 1];
                match series.get(next) {
                    // Beside a time at which the pair is deaf, the earlier value holds.
                    Some((until, then)) if !holds && value.is_finite() && then.is_finite() => {
                        value + (then - value) * (now.since(since).seconds() / until.since(since).seconds())
                    }
                    _ => value,
                }
            }
        };
        Some(if self.quantity == Quantity::Delivery { value } else { self.linear(value) })
    }
}
