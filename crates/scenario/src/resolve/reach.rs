//! Checks which nodes can reach each other, to find flows that no radio, wire or route can carry before the run.
//!
//! A certain fault is an error: stationary nodes beyond every range, static routes over more than a range, or a wired
//! host under a protocol that uses radios only. A likely fault is a warning: stationary nodes beyond the usual range
//! under shadowing, all nodes at one point, or a network of drawn or moving nodes that are too far apart to be
//! connected.

use std::collections::BTreeMap;

use hopyard_engine::Streams;
use hopyard_model::mobility::Position;
use hopyard_model::radio;
use hopyard_model::radio::propagation::{self, Channel};
use hopyard_model::routing::{self, Prescribed};
use serde_json::Value;

use super::resolved::{Chosen, Resolved, chosen_routing, mobility};
use super::resolver::Resolver;
use crate::placement::{draw_flows, uniform};
use crate::sections::{Flow, Placement};
use crate::value::Values;

/// The number of runs that are checked if nodes are drawn.
const RUNS: u64 = 10;

/// The distances within which frames may be received.
struct Ranges {
    /// Frames are never received at a larger distance.
    most: f64,
    /// The distance at which a frame without interference is just received, in the median.
    usual: f64,
}

impl Ranges {
    /// The ranges of the channel that reaches farthest.
    fn of(resolved: &Resolved) -> Option<Self> {
        let further = resolved.channels.iter().map(|channel| (&channel.radio, &channel.propagation));
        let every = std::iter::once((&resolved.radio, &resolved.propagation)).chain(further);
        every.map(|(radio, propagation)| Self::on(radio, propagation)).try_fold(
            Self { most: 0.0, usual: 0.0 },
            |known, next| {
                let next = next?;
                Some(Self { most: known.most.max(next.most), usual: known.usual.max(next.usual) })
            },
        )
    }

    fn on(radio: &Values, propagation: &Chosen) -> Option<Self> {
        let radio: radio::Params = serde_json::from_value(Value::Object(radio.clone())).ok()?;
        let values = Value::Object(propagation.values.clone());
        let channel = propagation::Config::read(propagation.model.name, &values).ok()?.channel();
        let power = radio.transmit_power;
        // No kind of reception decodes a frame that is weaker than `receive`.
        let gain = radio.receive.watts(&channel, power) / power.watts();
        let most = channel.reach(gain);
        Some(Self { most, usual: median_range(&channel, most, gain) })
    }
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

/// Groups of nodes that are connected.
struct Groups(Vec<u32>);

impl Groups {
    /// Two nodes are connected if they are within `range` of each other, or if a wire connects them. `all` also counts
    /// nodes without a radio.
    fn new(places: &[Position], range: f64, all: u32, wires: impl Iterator<Item = [u32; 2]>) -> Self {
        let mut groups = Self((0..all).collect());
        // The neighbours of a node are in its cell or in one of the eight cells around it.
        let cell = |place: &Position| ((place.x / range).floor() as i64, (place.y / range).floor() as i64);
        let mut cells: BTreeMap<(i64, i64), Vec<u32>> = BTreeMap::new();
        for (node, place) in (0..).zip(places) {
            cells.entry(cell(place)).or_default().push(node);
        }
        for (&(x, y), nodes) in &cells {
            // Each pair of cells is examined once.
            for other in [(x, y), (x + 1, y - 1), (x + 1, y), (x + 1, y + 1), (x, y + 1)] {
                for &b in cells.get(&other).into_iter().flatten() {
                    for &a in nodes {
                        if groups.find(a) != groups.find(b) && places[a as usize].distance(places[b as usize]) <= range
                        {
                            groups.join(a, b);
                        }
                    }
                }
            }
        }
        for [a, b] in wires.filter(|ends| ends.iter().all(|end| *end < all)) {
            groups.join(a, b);
        }
        groups
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

    fn join(&mut self, a: u32, b: u32) {
        let (a, b) = (self.find(a), self.find(b));
        self.0[a.max(b) as usize] = a.min(b);
    }
}

impl Resolver<'_> {
    /// Reports flows that cannot be carried at all.
    pub(super) fn check_reach(&mut self, resolved: &Resolved) {
        self.check_wired_hosts(resolved);
        let Some(ranges) = Ranges::of(resolved) else { return };
        let still = |chosen: &Chosen| mobility(chosen).is_some_and(|model| model.is_stationary());
        let all_still = still(&resolved.mobility) && resolved.movements.iter().all(|(_, chosen)| still(chosen));
        let radios = resolved.nodes.count;
        let all = radios.saturating_add(resolved.nodes.wired);
        let wires = || resolved.wires.iter().map(|(wire, _)| wire.between);
        if all_still && resolved.positions.len() == radios as usize {
            let mut groups = Groups::new(&resolved.positions, ranges.most, all, wires());
            // The range is found by halving, so it may lie a little too low.
            let mut usual = Groups::new(&resolved.positions, ranges.usual * (1.0 + 1e-9), all, wires());
            for (i, (flow, kind)) in resolved.flows.iter().enumerate() {
                if flow.from >= all || flow.to >= all {
                    continue;
                }
                if groups.find(flow.from) != groups.find(flow.to) {
                    self.out_of_range(i, flow, &ranges);
                } else if usual.find(flow.from) != usual.find(flow.to) {
                    let (from, to, range) = (flow.from, flow.to, ranges.usual);
                    let message = format!(
                        "this flow can hardly be carried: on each chain of nodes from {from} to {to} two stand farther \
                         apart than the usual range of {range:.0} m"
                    );
                    self.warning(&format!("flow.{i}.to"), message);
                } else if resolved.channels.is_empty() && wires().next().is_none() {
                    self.check_hops(resolved, i, flow, kind.tcp.is_some(), &ranges);
                }
            }
            let places = &resolved.positions;
            if radios > 1 && places.iter().all(|place| place.distance(places[0]) == 0.0) {
                self.warning("nodes", format!("all {radios} nodes stand at one point"));
            }
            let mut connected = |nodes: std::ops::Range<u32>| {
                let mut nodes = nodes.map(|node| groups.find(node));
                let first = nodes.next();
                nodes.all(|group| Some(group) == first)
            };
            if resolved.random_flows.as_ref().is_some_and(|(flows, _)| flows.random > 0)
                && radios > 1
                && !connected(0..radios)
            {
                self.warning("flows.random", "some pairs of nodes are out of range of each other in every run");
            }
        } else if radios > 1 && wires().next().is_none() {
            self.check_drawn(resolved, &ranges, all_still);
        }
    }

    fn out_of_range(&mut self, index: usize, flow: &Flow, ranges: &Ranges) {
        let (from, to) = (flow.from, flow.to);
        let message = format!(
            "nothing can carry this flow: nodes {from} and {to} stand still, and no chain of radios or wires joins them"
        );
        let problem = self.problem(&format!("flow.{index}.to"), message);
        problem.expected = Some("a node that `from` can reach".to_owned());
        let most = ranges.most;
        problem.hint =
            Some(format!("no frame is received over more than {most:.0} m: nodes must stand closer together"));
    }

    /// Reports prescribed routes that lead over more than the range of any radio.
    fn check_hops(&mut self, resolved: &Resolved, index: usize, flow: &Flow, tcp: bool, ranges: &Ranges) {
        let Some(config) = chosen_routing(resolved) else { return };
        let ways = [("to", flow.from, flow.to, "data"), ("from", flow.to, flow.from, "acknowledgements")];
        for (key, from, to, what) in ways.into_iter().take(if tcp { 2 } else { 1 }) {
            let apart = |(a, b): &(u32, u32)| match (
                resolved.positions.get(*a as usize),
                resolved.positions.get(*b as usize),
            ) {
                (Some(a), Some(b)) => a.distance(*b),
                _ => 0.0,
            };
            let Prescribed::Hops(hops) = config.prescribed(from, to) else { continue };
            if let Some(hop) = hops.iter().find(|hop| apart(hop) > ranges.most) {
                let (a, b) = hop;
                let message = format!(
                    "nothing can carry the {what} of this flow: [routing.{}] sends them from node {a} to node {b}, which \
                     stand {:.0} m apart",
                    config.name(),
                    apart(hop)
                );
                let most = ranges.most;
                self.problem(&format!("flow.{index}.{key}"), message).hint =
                    Some(format!("no frame is received over more than {most:.0} m: give routes with more hops"));
                return;
            }
        }
    }

    /// Drawn or moving nodes.
    fn check_drawn(&mut self, resolved: &Resolved, ranges: &Ranges, all_still: bool) {
        let radios = resolved.nodes.count;
        if all_still && resolved.nodes.placement == Placement::Uniform {
            let runs = RUNS.min(u64::from(resolved.head.runs));
            let carried = (0..runs).any(|run| {
                let streams = Streams::new(resolved.head.seed, run);
                let places = uniform(&resolved.nodes, streams.stream("placement"));
                let mut groups = Groups::new(&places, ranges.usual, radios, std::iter::empty());
                let drawn = resolved.random_flows.iter().flat_map(|(flows, _)| {
                    let drawn = draw_flows(flows.random, radios, flows.start, streams.stream("flows"));
                    drawn.into_iter().map(|flow| (flow.from, flow.to)).collect::<Vec<_>>()
                });
                let listed = resolved.flows.iter().map(|(flow, _)| (flow.from, flow.to));
                let mut pairs = drawn.chain(listed.filter(|(from, to)| *from < radios && *to < radios)).peekable();
                pairs.peek().is_none() || pairs.any(|(from, to)| groups.find(from) == groups.find(to))
            });
            if !carried {
                let [width, height] = resolved.nodes.area;
                let message = format!(
                    "no flow can be carried in the first {runs} runs: {radios} nodes in {width} by {height} are too \
                     far apart for a range of {:.0} m",
                    ranges.usual
                );
                self.warning("nodes.area", message);
            }
            return;
        }
        if resolved.movements.is_empty()
            && let Some(area) = mobility(&resolved.mobility).and_then(|model| model.area())
        {
            let [width, height] = area.map(|length| length.metres());
            let range = ranges.usual;
            // With fewer neighbours than one on average, most nodes have none.
            let neighbours = f64::from(radios - 1) * (std::f64::consts::PI * range * range / (width * height)).min(1.0);
            if neighbours < 1.0 {
                let message = format!(
                    "the network is hardly ever connected: a node has {neighbours:.2} neighbours on average, with \
                     {radios} nodes in {width} m by {height} m and a range of {range:.0} m"
                );
                self.warning("nodes.count", message);
            }
        }
    }

    /// Nodes with wires only, under a protocol that uses radios only.
    fn check_wired_hosts(&mut self, resolved: &Resolved) {
        let routing = resolved.routing.model.name;
        let profile = &resolved.head.profile;
        let over_wires = |name: &str| routing::Config::of_profile(name, profile).is_ok_and(|it| it.crosses_wires());
        if over_wires(routing) || resolved.nodes.wired == 0 {
            return;
        }
        let radios = resolved.nodes.count;
        let all = radios.saturating_add(resolved.nodes.wired);
        let able: Vec<_> = routing::MODELS.iter().map(|model| model.name).filter(|name| over_wires(name)).collect();
        // Hosts that wires alone join find each other whatever the protocol.
        let mut wired = Groups::new(&[], 1.0, all, resolved.wires.iter().map(|(wire, _)| wire.between));
        for (i, (flow, _)) in resolved.flows.iter().enumerate() {
            if flow.from < all && flow.to < all && wired.find(flow.from) == wired.find(flow.to) {
                continue;
            }
            let ends = [("from", flow.from), ("to", flow.to)];
            if let Some((key, node)) = ends.into_iter().find(|(_, node)| (radios..all).contains(node)) {
                let message = format!(
                    "nothing can carry this flow: node {node} has no radio, and `{routing}` finds no routes over wires"
                );
                let problem = self.problem(&format!("flow.{i}.{key}"), message);
                problem.expected = Some(format!("routing by {}", able.join(" or ")));
            }
        }
    }
}
