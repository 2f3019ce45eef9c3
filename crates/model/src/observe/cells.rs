//! The times at which hosts that move between networks enter and leave the range of agents. Positions decide, and not
//! the messages that hosts hear.

use std::collections::BTreeMap;

use hopyard_engine::{Span, Time};

use super::network::MobileView;
use crate::address::NodeId;
use crate::mobility::Leg;

/// The part by which a distance squared may exceed the range squared, because of rounding: a host at rest at exactly
/// the range is within it.
const MARGIN: f64 = 1e-12;

/// The entry of a host into the range of an agent, or its exit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Crossing {
    pub at: Time,
    pub agent: NodeId,
    /// Whether it is an entry.
    pub enters: bool,
}

/// A host and an agent on one channel.
#[derive(Clone, Debug)]
struct Pair {
    host: usize,
    agent: usize,
    /// The square of the range, in square metres.
    reach: f64,
    is_inside: bool,
    /// The time up to which crossings are known.
    known: Time,
}

impl Pair {
    /// Finds the crossings up to a time, while both are on these legs.
    fn crossings(&self, host: &Leg, agent: &Leg, until: Time) -> [Option<(Time, bool)>; 2] {
        let offset = host.position(self.known) - agent.position(self.known);
        let (v, w) = (host.velocity, agent.velocity);
        let (vx, vy, vz) = (v.0 - w.0, v.1 - w.1, v.2 - w.2);
        // The square of the distance is a t² + 2 b t + c.
        let a = vx * vx + vy * vy + vz * vz;
        let b = offset.x * vx + offset.y * vy + offset.z * vz;
        let c = offset.x * offset.x + offset.y * offset.y + offset.z * offset.z - self.reach;
        let root = b * b - a * c;
        if a <= 0.0 || root <= 0.0 {
            return [None; 2];
        }
        let length = until.since(self.known).seconds();
        let root = libm::sqrt(root);
        let inside = |seconds: f64| seconds > 0.0 && seconds <= length;
        let at = |seconds: f64| self.known + Span::from_secs_f64(seconds);
        [((-b - root) / a, true), ((-b + root) / a, false)]
            .map(|(seconds, enters)| inside(seconds).then(|| (at(seconds), enters)))
    }
}

/// The crossings of all hosts so far.
#[derive(Clone, Debug, Default)]
pub(super) struct Cells {
    /// The watched nodes, sorted, each with its present leg.
    nodes: Vec<(NodeId, Leg)>,
    pairs: Vec<Pair>,
    found: BTreeMap<NodeId, Vec<Crossing>>,
}

impl Cells {
    pub fn of(view: &MobileView) -> Self {
        let mut nodes: Vec<(NodeId, Leg)> = view.stations.iter().map(|it| (it.node, it.leg)).collect();
        nodes.sort_by_key(|(node, _)| *node);
        let place = |node: NodeId| nodes.binary_search_by_key(&node, |(it, _)| *it).ok();
        let mut pairs = Vec::new();
        for host in view.stations.iter().filter(|it| view.hosts.contains(&it.node)) {
            for agent in view.stations.iter().filter(|it| it.channel == host.channel && view.agents.contains(&it.node))
            {
                if let (Some(host), Some(agent), Some(range)) = (place(host.node), place(agent.node), agent.range) {
                    let start = Time::ZERO;
                    let away = nodes[host].1.position(start).distance_squared(nodes[agent].1.position(start));
                    let reach = range * range * (1.0 + MARGIN);
                    pairs.push(Pair { host, agent, reach, is_inside: away <= reach, known: start });
                }
            }
        }
        Self { nodes, pairs, found: BTreeMap::new() }
    }

    /// A node begins another leg.
    pub fn on_leg(&mut self, node: NodeId, leg: &Leg) {
        let Ok(place) = self.nodes.binary_search_by_key(&node, |(it, _)| *it) else { return };
        self.look(leg.start, |pair| pair.host == place || pair.agent == place);
        self.nodes[place].1 = *leg;
    }

    /// Finds the crossings up to a time.
    pub fn advance(&mut self, now: Time) {
        self.look(now, |_| true);
    }

    fn look(&mut self, until: Time, concerns: impl Fn(&Pair) -> bool) {
        let Self { nodes, pairs, found } = self;
        for pair in pairs.iter_mut().filter(|pair| concerns(pair) && pair.known < until) {
            let [(host, host_leg), (agent, agent_leg)] = [nodes[pair.host], nodes[pair.agent]];
            for (at, enters) in pair.crossings(&host_leg, &agent_leg, until).into_iter().flatten() {
                if pair.is_inside != enters {
                    pair.is_inside = enters;
                    found.entry(host).or_default().push(Crossing { at, agent, enters });
                }
            }
            pair.known = until;
        }
    }

    /// The crossings that were found for a host, in order.
    pub fn of_host(&self, host: NodeId) -> Vec<Crossing> {
        let mut crossings = self.found.get(&host).cloned().unwrap_or_default();
        crossings.sort_by_key(|it| (it.at, it.agent));
        crossings
    }

    /// The hosts with crossings.
    pub fn hosts(&self) -> impl Iterator<Item = NodeId> + '_ {
        self.found.keys().copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mobility::Position;
    use crate::observe::network::StationView;

    fn at(seconds: f64) -> Time {
        Time::ZERO + Span::from_secs_f64(seconds)
    }

    fn leg(start: f64, x: f64, speed: f64, until: Time) -> Leg {
        Leg { start: at(start), from: Position::ground(x, 100.0), velocity: (speed, 0.0, 0.0), until }
    }

    /// The places of Nashiry et al.: the host starts at exactly the range of its home agent, and the cells touch.
    fn cells() -> Cells {
        let station = |node, leg, range| StationView { node: NodeId(node), channel: 0, leg, range };
        let agent = |x| Leg::still(Time::ZERO, Position::ground(x, 300.0));
        Cells::of(&MobileView {
            hosts: vec![NodeId(2)],
            agents: vec![NodeId(0), NodeId(1)],
            stations: vec![
                station(0, agent(200.0), Some(250.0)),
                station(1, agent(500.0), Some(250.0)),
                station(2, leg(0.0, 50.0, 0.0, at(10.0)), Some(250.0)),
            ],
            ways: Vec::new(),
        })
    }

    #[test]
    fn a_host_crosses_borders_at_the_times_of_arithmetic() {
        let mut cells = cells();
        // At 15 m/s from 50 m to 650 m, and back after a pause of 1 s.
        cells.on_leg(NodeId(2), &leg(10.0, 50.0, 15.0, at(50.0)));
        cells.on_leg(NodeId(2), &leg(50.0, 650.0, 0.0, at(51.0)));
        cells.on_leg(NodeId(2), &leg(51.0, 650.0, -15.0, at(91.0)));
        cells.advance(at(91.0));
        let found = cells.of_host(NodeId(2));
        let seen: Vec<_> = found.iter().map(|it| (it.agent.0, it.enters)).collect();
        assert_eq!(seen, [(0, false), (1, true), (0, true), (1, false)]);
        for (crossing, time) in found.iter().zip([30.0, 30.0, 71.0, 71.0]) {
            assert!((crossing.at.seconds() - time).abs() < 1e-6, "{crossing:?}");
        }
    }

    #[test]
    fn crossings_do_not_depend_on_when_they_are_looked_for() {
        let (mut once, mut often) = (cells(), cells());
        for (cells, steps) in [(&mut once, 1), (&mut often, 400)] {
            cells.on_leg(NodeId(2), &leg(10.0, 50.0, 15.0, at(50.0)));
            (1..=steps).for_each(|step| cells.advance(at(50.0 * f64::from(step) / f64::from(steps))));
        }
        let times = |cells: &Cells| -> Vec<_> {
            cells.of_host(NodeId(2)).iter().map(|it| ((it.at.seconds() * 1e6) as u64, it.agent, it.enters)).collect()
        };
        assert_eq!(times(&once), times(&often));
        assert_eq!(times(&once).len(), 2);
    }
}
