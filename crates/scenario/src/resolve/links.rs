//! The links of a network before the run: which radios are in range of each other, and which nodes wires join.

use std::collections::{BTreeMap, BTreeSet};

use hopyard_engine::Time;
use hopyard_engine::units::Rate;
use hopyard_model::link::arp::Resolution;
use hopyard_model::mac::{self, rate_control};
use hopyard_model::mobility::Position;
use hopyard_model::phy::error_rate::measured::Measured;
use hopyard_model::phy::error_rate::{chunk_success, thermal_noise};
use hopyard_model::phy::factors::Factors;
use hopyard_model::phy::fading;
use hopyard_model::phy::links::Links;
use hopyard_model::phy::mode::Mode;
use hopyard_model::phy::obstacles::{self, Obstacle};
use hopyard_model::phy::propagation::Channel;
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
    /// The pairs of nodes that exchange frames, the lower number first, where a file names them, and whether most
    /// frames without interference are received. No distance decides then, and the distances are infinite.
    pub(super) links: Option<BTreeMap<(u32, u32), bool>>,
    /// The boxes that shorten ranges.
    walls: Option<Walls>,
}

/// How surely frames are received between two nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sure {
    /// Some may be.
    Perhaps,
    /// Most are, without interference.
    Usually,
}

/// Obstacles, and the law that they weaken.
#[derive(Debug)]
struct Walls {
    obstacles: Vec<Obstacle>,
    channel: Channel,
    /// The least gains, perhaps and usually.
    least: (f64, f64),
}

/// The least gains of a channel, for the power that is sent.
struct Least {
    /// With a lower one, no frame is received.
    perhaps: f64,
    /// With this one, most frames without interference are received, in the median, in the mode for data that reaches
    /// farthest.
    usually: f64,
    /// The gain of a signal that is as strong as the noise.
    noise: f64,
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
        let on = radios(resolved);
        // Nodes that only radiate carry nothing.
        let nodes_of = |channel: usize| -> Vec<u32> {
            let talking = (0..resolved.talking()).zip(&on);
            talking.filter(|(_, its)| its.iter().any(|it| usize::from(*it) == channel)).map(|it| it.0).collect()
        };
        let every = std::iter::once(first).chain(further).enumerate();
        let reach = every.map(|(number, (radio, propagation, fading, modes))| {
            let (modes, needed) = modes?;
            let channel = propagation.config.channel();
            let nodes = nodes_of(number);
            // The best sender and the best receiver may be at both ends.
            let power = radio.transmit_power.watts() * Factors::of(radio, &channel, modes[0], &nodes).largest();
            let sent = (&channel, power);
            let data = &modes[..if needed == 1 { modes.len() } else { 1 }];
            let errors = resolved.errors_of(radio);
            let least = Least::of(radio, sent, &fading.config, (&modes, data), errors.as_deref())?;
            let reach = Self { nodes, most: 0.0, usual: 0.0, asked: None, shorter: None, links: None, walls: None };
            if let Some(links) = resolved.links_of(propagation) {
                let links = Some(exchanging(resolved, number, &links, &least));
                return Some(Self { most: f64::INFINITY, usual: f64::INFINITY, links, ..reach });
            }
            let most = channel.reach(least.perhaps);
            let usual = median_range(&channel, most, least.usually);
            let shorter = shorter(radio, sent, &modes[..needed], most, usual);
            let asked = match radio.receive {
                Receive::Every(Sensitivity::Range(range)) => Some(range.metres()),
                _ => None,
            };
            let obstacles: Vec<_> = resolved.obstacles.iter().map(|it| it.in_space()).collect();
            let least = (least.perhaps, least.usually);
            let walls = (!obstacles.is_empty()).then_some(Walls { obstacles, channel, least });
            Some(Self { most, usual, asked, shorter, walls, ..reach })
        });
        reach.collect()
    }
}

impl Reach {
    /// The distance within which frames are received so surely.
    fn range(&self, sure: Sure) -> f64 {
        match sure {
            Sure::Perhaps => self.most,
            // The range is found by halving, so it may lie a little too low.
            Sure::Usually => self.usual * (1.0 + 1e-9),
        }
    }

    /// Whether two nodes receive each other's frames so surely.
    pub(super) fn joins(&self, places: &[Position], (a, b): (u32, u32), sure: Sure) -> bool {
        if let Some(links) = &self.links {
            let usually = links.get(&(a.min(b), a.max(b)));
            return usually.is_some_and(|usually| *usually || sure == Sure::Perhaps);
        }
        let (one, other) = (places[a as usize], places[b as usize]);
        one.distance(other) <= self.range(sure) && self.walls.as_ref().is_none_or(|it| it.let_pass(one, other, sure))
    }

    /// Calls `each` for every pair of nodes that may receive each other's frames so surely, until it returns false.
    fn pairs(&self, places: &[Position], sure: Sure, mut each: impl FnMut(u32, u32) -> bool) {
        match &self.links {
            Some(links) => _ = links.keys().all(|&(a, b)| each(a, b)),
            None => near_pairs(places, &self.nodes, self.range(sure), each),
        }
    }

    /// Connects the nodes that receive each other's frames so surely.
    pub(super) fn join(&self, groups: &mut Groups, places: &[Position], sure: Sure) {
        self.pairs(places, sure, |a, b| {
            if groups.find(a) != groups.find(b) && self.joins(places, (a, b), sure) {
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
        self.pairs(places, Sure::Usually, |a, b| {
            *budget = budget.saturating_sub(1);
            if self.joins(places, (a, b), Sure::Usually)
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

    /// The longest distance between two nodes that usually receive each other's frames, and the nodes. Returns nothing
    /// if that takes more steps than the budget has left.
    pub(super) fn farthest(&self, places: &[Position], budget: &mut u64) -> Option<(f64, Option<(u32, u32)>)> {
        let mut farthest = (0.0, None);
        self.each_link(places, Sure::Usually, budget, |a, b| {
            let distance = places[a as usize].distance(places[b as usize]);
            if distance > farthest.0 {
                farthest = (distance, Some((a.min(b), a.max(b))));
            }
        })?;
        Some(farthest)
    }

    /// Calls `each` for every two nodes that receive each other's frames so surely. Returns nothing if that takes more
    /// steps than the budget has left.
    pub(super) fn each_link(
        &self,
        places: &[Position],
        sure: Sure,
        budget: &mut u64,
        mut each: impl FnMut(u32, u32),
    ) -> Option<()> {
        self.pairs(places, sure, |a, b| {
            *budget = budget.saturating_sub(1);
            if self.joins(places, (a, b), sure) {
                each(a, b);
            }
            *budget > 0
        });
        (*budget > 0).then_some(())
    }
}

impl Walls {
    fn let_pass(&self, one: Position, other: Position, sure: Sure) -> bool {
        let least = if sure == Sure::Perhaps { self.least.0 } else { self.least.1 };
        let passes = obstacles::passes(&self.obstacles, one, other);
        passes >= 1.0 || self.channel.between(one, other) * passes >= least
    }
}

impl Least {
    fn of(
        radio: &phy::Params,
        (channel, power): (&Channel, f64),
        fading: &fading::Config,
        (modes, data): (&[&'static Mode], &[&'static Mode]),
        errors: Option<&Measured>,
    ) -> Option<Self> {
        let strongest = fading::limit(channel.shadowing().iter().chain([&fading.fader()]));
        // No kind of reception decodes a frame that is weaker than `receive`, which may depend on the mode.
        let gain = |mode: &Mode| Some(radio.receive.of(mode)?.watts(channel, radio.transmit_power) / power);
        let least = modes.iter().filter_map(|mode| gain(mode)).fold(f64::INFINITY, f64::min);
        let data = || data.iter().copied().filter(|mode| mode.is_legacy() == modes[0].is_legacy());
        let thermal = thermal_noise(radio.noise_figure, modes[0].body.bandwidth).watts();
        let noise = thermal / radio.transmit_power.watts();
        if !radio.reception.has_bit_errors() {
            let usually = data().map(gain).collect::<Option<Vec<_>>>()?.into_iter().fold(f64::INFINITY, f64::min);
            return Some(Self { perhaps: least / strongest, usually, noise });
        }
        // A preamble is found above a ratio of signal to noise, and a frame must have no bit error.
        let needed = thermal / power;
        let found = needed * radio.preamble_sinr.factor();
        let usual = |mode: &'static Mode| {
            let needed = thermal_noise(radio.noise_figure, mode.body.bandwidth).watts() / power;
            Some(gain(mode)?.max(needed * radio.preamble_sinr.factor()).max(needed * decodable(mode, errors)))
        };
        let usually = data().map(usual).collect::<Option<Vec<_>>>()?.into_iter().fold(f64::INFINITY, f64::min);
        Some(Self { perhaps: least.max(found) / strongest, usually, noise })
    }
}

/// The pairs of a channel's file that exchange frames during the run, the lower number first, and whether most frames
/// are received. Where frames are acknowledged, or addresses are asked for, both directions are needed.
fn exchanging(resolved: &Resolved, number: usize, links: &Links, least: &Least) -> BTreeMap<(u32, u32), bool> {
    let mac = number.checked_sub(1).map_or(&resolved.mac, |further| &resolved.channels[further].mac);
    let answered = mac.config.reports_failures() || resolved.link.arp.resolution == Resolution::Arp;
    let end = Time::ZERO + resolved.head.duration;
    let gains: BTreeMap<_, _> = links.gains_until(end, least.noise).collect();
    let mut pairs = BTreeMap::new();
    for (&(from, to), &gain) in &gains {
        let back = gains.get(&(to, from)).copied().unwrap_or(0.0);
        let gain = if answered { gain.min(back) } else { gain.max(back) };
        // A decibel of the file is no exact factor.
        let reaches = |least: f64| gain * (1.0 + 1e-9) >= least;
        if reaches(least.perhaps) {
            pairs.insert((from.min(to), from.max(to)), reaches(least.usually));
        }
    }
    pairs
}

/// The rate of data frames, and the first rate of other frames that do not reach as far, with their distance.
fn shorter(
    radio: &phy::Params,
    (channel, power): (&Channel, f64),
    modes: &[&'static Mode],
    most: f64,
    usual: f64,
) -> Option<(Rate, Rate, f64)> {
    let (data, others) = modes.split_first()?;
    others.iter().find_map(|mode| {
        let gain = radio.receive.of(mode)?.watts(channel, radio.transmit_power) / power;
        let range = median_range(channel, most, gain);
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
    // The neighbours of a node are in its cell or in one of the eight cells around it. With the shortest ranges all
    // nodes may be in the last cell.
    let cell = |place: &Position| ((place.x / range).floor() as i64, (place.y / range).floor() as i64);
    let mut cells: BTreeMap<(i64, i64), Vec<u32>> = BTreeMap::new();
    for &node in nodes {
        cells.entry(cell(&places[node as usize])).or_default().push(node);
    }
    for (&(x, y), nodes) in &cells {
        // Each pair of cells is examined once.
        let (right, below, above) = (x.saturating_add(1), y.saturating_sub(1), y.saturating_add(1));
        for other in [(x, y), (right, below), (right, y), (right, above), (x, above)] {
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
    /// neighbours.
    pub(super) fn apart(&self, (a, b): (u32, u32)) -> Option<Apart> {
        if self.wires.contains(&(a.min(b), a.max(b))) {
            return None;
        }
        let on = |channel: &&Reach| [a, b].iter().all(|it| channel.nodes.binary_search(it).is_ok());
        let shared: Vec<_> = self.channels.iter().filter(on).collect();
        let Some(most) = shared.iter().map(|channel| channel.most).reduce(f64::max) else {
            return Some(Apart::NoChannel);
        };
        let places = self.places.filter(|places| places.len() > a.max(b) as usize)?;
        if shared.iter().any(|channel| channel.joins(places, (a, b), Sure::Perhaps)) {
            return None;
        }
        let distance = places[a as usize].distance(places[b as usize]);
        Some(match distance > most {
            true => Apart::Far { distance, most },
            false if most.is_infinite() => Apart::Unheard,
            false => Apart::Walled,
        })
    }
}

/// Why two nodes are no neighbours.
pub(super) enum Apart {
    /// Neither a channel nor a wire joins them.
    NoChannel,
    /// They stand farther apart than frames are received.
    Far { distance: f64, most: f64 },
    /// Obstacles weaken signals between them.
    Walled,
    /// By the file of links they do not exchange frames.
    Unheard,
}
