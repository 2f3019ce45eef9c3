//! The links of a network before the run: which radios are in range of each other, and which nodes wires join.

use std::collections::{BTreeMap, BTreeSet};

use hopyard_engine::units::Rate;
use hopyard_model::mac::{self, rate_control};
use hopyard_model::mobility::Position;
use hopyard_model::phy::error_rate::measured::Measured;
use hopyard_model::phy::error_rate::{chunk_success, thermal_noise};
use hopyard_model::phy::fading;
use hopyard_model::phy::mode::Mode;
use hopyard_model::phy::propagation::{self, Channel};
use hopyard_model::phy::{self, Receive, Sensitivity};
use hopyard_model::routing;

use super::networks::radios;
use super::resolved::{Chosen, Resolved};

/// A frame of this size, in bits, is received more often than not within the usual range.
const FRAME: f64 = 8000.0;

/// A channel: the nodes with a radio on it, and the distances within which frames may be received.
#[derive(Debug)]
pub(super) struct Reach {
    pub(super) nodes: Vec<u32>,
    /// Frames are never received at a larger distance.
    pub(super) most: f64,
    /// The distance within which most frames without interference are received, in the median.
    pub(super) usual: f64,
    /// The distance that `receive` says, if it says one for all modes.
    pub(super) asked: Option<f64>,
    /// The rate of data frames, and a rate of other frames with the shorter distance to which `receive` limits these.
    pub(super) shorter: Option<(Rate, Rate, f64)>,
    /// The pairs of nodes of which one hears the other, the lower number first, where a file names them and no distance
    /// decides. Then the distances are infinite.
    pub(super) links: Option<BTreeSet<(u32, u32)>>,
}

impl Reach {
    /// Every channel.
    pub(super) fn of(resolved: &Resolved) -> Option<Vec<Self>> {
        let modes = |mac: &Chosen<mac::Config>, rates: &Chosen<rate_control::Config>| {
            let every = mac.config.modes(&rates.config).ok()?;
            // Rate control avoids modes that do not reach a neighbour.
            let count = if rates.config.is_fixed() { every.len() } else { 1 };
            Some((every, count))
        };
        let further =
            resolved.channels.iter().map(|it| (&it.radio, &it.propagation, &it.fading, modes(&it.mac, &it.rates)));
        let first = (&resolved.radio, &resolved.propagation, &resolved.fading, modes(&resolved.mac, &resolved.rates));
        let mut channels = std::iter::once(first)
            .chain(further)
            .map(|(radio, propagation, fading, modes)| {
                if let Some(links) = resolved.links_of(propagation) {
                    let links = links.pairs().map(|(a, b)| (a.min(b), a.max(b))).collect();
                    let (most, usual) = (f64::INFINITY, f64::INFINITY);
                    return Some(Self {
                        nodes: Vec::new(),
                        most,
                        usual,
                        asked: None,
                        shorter: None,
                        links: Some(links),
                    });
                }
                let (modes, needed) = modes?;
                let errors = resolved.errors_of(radio);
                let data = &modes[..if needed == 1 { modes.len() } else { 1 }];
                let models = (&propagation.config, &fading.config);
                let (most, usual) = ranges(radio, models, (&modes, data), errors.as_deref())?;
                let shorter = shorter(radio, &propagation.config, &modes[..needed], most, usual);
                let asked = match radio.receive {
                    Receive::Every(Sensitivity::Range(range)) => Some(range.metres()),
                    _ => None,
                };
                Some(Self { nodes: Vec::new(), most, usual, asked, shorter, links: None })
            })
            .collect::<Option<Vec<_>>>()?;
        let jams = |node: u32| (resolved.talking()..resolved.nodes.count).contains(&node);
        for (node, on) in (0..).zip(radios(resolved)).filter(|(node, _)| !jams(*node)) {
            for channel in on {
                channels[usize::from(channel)].nodes.push(node);
            }
        }
        Some(channels)
    }
}

impl Reach {
    /// Whether two nodes are within a range of each other, or a file joins them.
    pub(super) fn joins(&self, places: &[Position], (a, b): (u32, u32), range: f64) -> bool {
        match &self.links {
            Some(links) => links.contains(&(a.min(b), a.max(b))),
            None => places[a as usize].distance(places[b as usize]) <= range,
        }
    }

    /// Calls `each` for every pair of nodes that may be within a range of each other, until it returns false.
    fn pairs(&self, places: &[Position], range: f64, mut each: impl FnMut(u32, u32) -> bool) {
        match &self.links {
            Some(links) => _ = links.iter().all(|&(a, b)| each(a, b)),
            None => near_pairs(places, &self.nodes, range, each),
        }
    }

    /// Connects the nodes that are within a range of each other.
    pub(super) fn join(&self, groups: &mut Groups, places: &[Position], range: f64) {
        self.pairs(places, range, |a, b| {
            if groups.find(a) != groups.find(b) && self.joins(places, (a, b), range) {
                groups.join(a, b);
            }
            true
        });
    }

    /// The nodes within the usual range of each node of the channel, as places in `nodes`, sorted. Returns nothing if
    /// that takes more steps than the budget has left.
    pub(super) fn neighbours(&self, places: &[Position], budget: &mut u64) -> Option<Vec<Vec<u32>>> {
        let mut near = vec![Vec::new(); self.nodes.len()];
        let place = |node: u32| self.nodes.binary_search(&node).ok();
        self.pairs(places, self.usual, |a, b| {
            *budget = budget.saturating_sub(1);
            if self.joins(places, (a, b), self.usual)
                && let (Some(a), Some(b)) = (place(a), place(b))
            {
                near[a].push(b as u32);
                near[b].push(a as u32);
            }
            *budget > 0
        });
        near.iter_mut().for_each(|list: &mut Vec<u32>| list.sort_unstable());
        (*budget > 0).then_some(near)
    }

    /// Calls `each` for every two nodes that are in range of each other. Returns nothing if that takes more steps than
    /// the budget has left.
    pub(super) fn each_link(
        &self,
        places: &[Position],
        budget: &mut u64,
        mut each: impl FnMut(u32, u32),
    ) -> Option<()> {
        self.pairs(places, self.most, |a, b| {
            *budget = budget.saturating_sub(1);
            if self.joins(places, (a, b), self.most) {
                each(a, b);
            }
            *budget > 0
        });
        (*budget > 0).then_some(())
    }
}

/// The largest and the usual distance over which frames are received. The usual one is that of the mode of `data` that
/// reaches farthest.
fn ranges(
    radio: &phy::Params,
    (propagation, fading): (&propagation::Config, &fading::Config),
    (modes, data): (&[&'static Mode], &[&'static Mode]),
    errors: Option<&Measured>,
) -> Option<(f64, f64)> {
    let channel = propagation.channel();
    let strongest = fading::limit(channel.shadowing().iter().chain([&fading.fader()]));
    // The best of the single nodes may be at both ends.
    let power = radio.transmit_power.watts() * radio.best(&channel, modes[0]);
    // No kind of reception decodes a frame that is weaker than `receive`, which may depend on the mode.
    let gain = |mode: &Mode| Some(radio.receive.of(mode)?.watts(&channel, radio.transmit_power) / power);
    let least = modes.iter().filter_map(|mode| gain(mode)).fold(f64::INFINITY, f64::min);
    let data = || data.iter().copied().filter(|mode| mode.is_legacy() == modes[0].is_legacy());
    if !radio.reception.has_bit_errors() {
        let most = channel.reach(least / strongest);
        let usual = data().map(gain).collect::<Option<Vec<_>>>()?.into_iter().fold(f64::INFINITY, f64::min);
        return Some((most, median_range(&channel, most, usual)));
    }
    // A preamble is found above a ratio of signal to noise, and a frame must have no bit error.
    let noise = thermal_noise(radio.noise_figure, modes[0].body.bandwidth).watts() / power;
    let found = noise * radio.preamble_sinr.factor();
    let most = channel.reach(least.max(found) / strongest);
    let needed = |mode: &'static Mode| {
        let noise = thermal_noise(radio.noise_figure, mode.body.bandwidth).watts() / power;
        Some(gain(mode)?.max(noise * radio.preamble_sinr.factor()).max(noise * decodable(mode, errors)))
    };
    let usual = data().map(needed).collect::<Option<Vec<_>>>()?.into_iter().fold(f64::INFINITY, f64::min);
    Some((most, median_range(&channel, most, usual)))
}

/// The rate of data frames, and the first rate of other frames that do not reach as far, with their distance.
fn shorter(
    radio: &phy::Params,
    propagation: &propagation::Config,
    modes: &[&'static Mode],
    most: f64,
    usual: f64,
) -> Option<(Rate, Rate, f64)> {
    let channel = propagation.channel();
    let (data, others) = modes.split_first()?;
    let power = radio.transmit_power.watts() * radio.best(&channel, data);
    others.iter().find_map(|mode| {
        let gain = radio.receive.of(mode)?.watts(&channel, radio.transmit_power) / power;
        let range = median_range(&channel, most, gain);
        // The ranges are found by halving.
        (range < usual * 0.99).then(|| (data.rate(), mode.rate(), range))
    })
}

/// The ratio of signal to noise at which half of all frames are received.
fn decodable(mode: &Mode, errors: Option<&Measured>) -> f64 {
    // A table ends at 100 dB.
    const MOST: f64 = 1e10;
    let curve = errors.and_then(|errors| Some((errors, errors.curve(mode, FRAME as u32 / 8)?)));
    let success = |ratio| match curve {
        Some((errors, curve)) => errors.success(curve, ratio, FRAME / 8.0),
        None => chunk_success(&mode.body, ratio, FRAME),
    };
    let (mut few, mut many) = (0.0, if curve.is_some() { MOST } else { mode.body.error_free });
    for _ in 0..60 {
        let middle = 0.5 * (few + many);
        if success(middle) >= 0.5 { many = middle } else { few = middle }
    }
    many
}

/// The distance at which the median gain falls below `gain`; it is less than `reach`.
fn median_range(channel: &Channel, reach: f64, gain: f64) -> f64 {
    let (mut near, mut far) = (0.0, reach);
    for _ in 0..60 {
        let middle = 0.5 * (near + far);
        if channel.gain(middle * middle) >= gain { near = middle } else { far = middle }
    }
    far
}

/// Calls `each` for every pair of nodes that may be within `range` of each other, until it returns false.
fn near_pairs(places: &[Position], nodes: &[u32], range: f64, mut each: impl FnMut(u32, u32) -> bool) {
    // The neighbours of a node are in its cell or in one of the eight cells around it.
    let cell = |place: &Position| ((place.x / range).floor() as i64, (place.y / range).floor() as i64);
    let mut cells: BTreeMap<(i64, i64), Vec<u32>> = BTreeMap::new();
    for &node in nodes {
        cells.entry(cell(&places[node as usize])).or_default().push(node);
    }
    for (&(x, y), nodes) in &cells {
        // Each pair of cells is examined once.
        for other in [(x, y), (x + 1, y - 1), (x + 1, y), (x + 1, y + 1), (x, y + 1)] {
            for &b in cells.get(&other).into_iter().flatten() {
                for &a in nodes {
                    // Within a cell, each pair of nodes is examined once.
                    if (other != (x, y) || a < b) && !each(a, b) {
                        return;
                    }
                }
            }
        }
    }
}

/// Groups of nodes that are connected.
#[derive(Clone, Debug)]
pub(super) struct Groups(Vec<u32>);

impl Groups {
    /// So many nodes, each on its own.
    pub(super) fn apart(all: u32) -> Self {
        Self((0..all).collect())
    }

    /// Whether two nodes are connected.
    pub(super) fn joins(&mut self, a: u32, b: u32) -> bool {
        self.find(a) == self.find(b)
    }

    fn find(&mut self, node: u32) -> u32 {
        let mut at = node;
        while self.0[at as usize] != at {
            let above = self.0[at as usize];
            self.0[at as usize] = self.0[above as usize];
            at = above;
        }
        at
    }

    pub(super) fn join(&mut self, a: u32, b: u32) {
        let (a, b) = (self.find(a), self.find(b));
        self.0[a.max(b) as usize] = a.min(b);
    }
}

/// The parts of a scenario that decide whether packets of a flow can arrive.
pub(super) struct Checks<'a> {
    pub(super) resolved: &'a Resolved,
    pub(super) channels: &'a [Reach],
    /// The positions of the nodes with a radio, if they never change.
    pub(super) places: Option<&'a [Position]>,
    pub(super) routing: &'a routing::Config,
    /// The pairs of nodes that wires join.
    pub(super) wires: BTreeSet<(u32, u32)>,
}

impl Checks<'_> {
    /// The reason why the second node of a hop is certainly no neighbour of the first. Nothing if they may be
    /// neighbours; otherwise their distance and the range of their channel, if they have a channel in common.
    pub(super) fn apart(&self, (a, b): (u32, u32)) -> Option<Option<(f64, f64)>> {
        if self.wires.contains(&(a.min(b), a.max(b))) {
            return None;
        }
        let on = |channel: &&Reach| [a, b].iter().all(|it| channel.nodes.binary_search(it).is_ok());
        let is_open = |channel: &&Reach| channel.links.as_ref().is_none_or(|it| it.contains(&(a.min(b), a.max(b))));
        let shared = self.channels.iter().filter(on).filter(is_open);
        let most =
            shared.map(|channel| channel.most).fold(None, |most: Option<f64>, it| Some(most.map_or(it, |m| m.max(it))));
        let Some(most) = most else { return Some(None) };
        let [a, b] = [a, b].map(|node| self.places?.get(node as usize).copied());
        let distance = a?.distance(b?);
        (distance > most).then_some(Some((distance, most)))
    }
}
