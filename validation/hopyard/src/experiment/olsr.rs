//! OLSR beside ns-3's: the chain of Oo and Othman, fifty nodes at rest, fifty moving nodes.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context as _, Result};
use hopyard_engine::{Span, Time};
use hopyard_model::address::NodeId;
use hopyard_model::observe::Outcome;
use hopyard_model::params::Params as _;
use hopyard_model::routing;
use hopyard_model::world::{Watch, World};
use rayon::prelude::*;
use serde::Serialize;

use super::Experiment;
use super::tcp::{add_flows, shown, small_segments};
use crate::comparison::{Bound, Measure, Table, compare};
use crate::figures::{self, Figures, rounded};
use crate::setup::{Scenario, chain};

/// OLSR over a radio against ns-3.
pub const OLSR: Experiment = Experiment {
    name: "olsr",
    title: "OLSR against ns-3: a chain, fifty nodes at rest, fifty moving nodes",
    run: |root, _| run(root),
    compare: tables,
    needs: &["ns3_olsr_radio.csv"],
};

/// From this second on everything but the first routes is measured, as in ns-3's runs.
const MEASURE_FROM: u32 = 30;
/// How often routes are compared with the graph.
const LOOK: Span = Span::from_millis(100);
/// The range in metres.
const RANGE: u32 = 200;

#[derive(Clone, Copy)]
struct Case {
    scenario: &'static str,
    /// The profile of OLSR's parameters; all else is of the profile `rfc`.
    parameters: &'static str,
    run: u32,
}

/// A row of our figures: as ns-3's, with the profile of OLSR's parameters.
#[derive(Serialize)]
struct Row {
    scenario: &'static str,
    parameters: &'static str,
    run: u32,
    goodput_kbps: Option<f64>,
    data_hops: Option<f64>,
    packets_per_s: f64,
    bytes_per_s: f64,
    hello_per_s: f64,
    tc_per_s: f64,
    tc_forwarded_per_s: f64,
    converged_s: Option<f64>,
    routes_pct: f64,
    route_hops: f64,
    shortest_hops: Option<f64>,
}

/// What nodes knew at the looks.
#[derive(Default)]
struct Known {
    converged_s: Option<f64>,
    /// Pairs of nodes that the graph connects.
    pairs: u64,
    /// Of these, those with a route.
    routes: u64,
    route_hops: u64,
    shortest_hops: u64,
}

/// Counters of a run up to some time.
#[derive(Default)]
struct Sent {
    messages: BTreeMap<&'static str, (u64, u64)>,
    packets: u64,
    bytes: u64,
}

impl Sent {
    fn of(outcome: &Outcome) -> Self {
        let mut it = Self::default();
        for row in outcome.overhead.iter().filter(|row| row.kind == "routing") {
            let (sent, originated) = it.messages.entry(row.message).or_default();
            *sent += row.sent;
            *originated += row.originated;
        }
        it.packets = outcome.nodes.iter().map(|node| node.routing_packets).sum();
        it.bytes = outcome.nodes.iter().map(|node| node.routing_bytes).sum();
        it
    }
}

impl Case {
    fn duration(self) -> u32 {
        match self.scenario {
            "chain" => 150,
            "rest" => 90,
            _ => 200,
        }
    }

    fn scenario(self, root: &Path) -> Result<Scenario> {
        let inputs = root.join("inputs/rwp50");
        let movement = inputs.join(format!("movement_{:02}.tcl", self.run));
        let mut scenario = match self.scenario {
            "chain" => Scenario::stationary("rfc", "olsr", &chain(6, 110.0))?,
            "rest" => Scenario::stationary("rfc", "olsr", &places(&movement)?)?,
            _ => Scenario::moving("rfc", "olsr", &movement)?,
        };
        let config = routing::Config::Olsr(routing::olsr::Params::of_profile(self.parameters).into());
        scenario.spec.nodes.iter_mut().for_each(|node| node.routing = config.clone());
        scenario.rate(1, true);
        scenario.ranges(RANGE, 550);
        // The settings of TCP that ns-3's runs have.
        let tcp: fn(&mut hopyard_model::transport::tcp::Params) = |tcp| {
            small_segments(tcp);
            (tcp.initial_window, tcp.timestamps) = (2, false);
        };
        match self.scenario {
            "chain" => scenario.add_tcp(0, 5, f64::from(MEASURE_FROM), "newreno", tcp)?,
            "moving" => add_flows(&mut scenario, &inputs.join(format!("traffic_{:02}.txt", self.run)), "newreno", tcp)?,
            _ => {}
        }
        Ok(scenario)
    }

    fn run(self, root: &Path) -> Result<Row> {
        let mut scenario = self.scenario(root)?;
        // The same run up to the time from which on is measured.
        scenario.times(0.0, f64::from(MEASURE_FROM));
        let before = Sent::of(&scenario.run(self.run)?);
        scenario.times(f64::from(MEASURE_FROM), f64::from(self.duration()));
        scenario.spec.run = u64::from(self.run);
        let (known, outcome) = look(&scenario)?;
        let all = Sent::of(&outcome);
        let seconds = f64::from(self.duration() - MEASURE_FROM);
        let per_s = |now: u64, then: u64| rounded((now - then) as f64 / seconds);
        let message = |name: &str| {
            let [now, then] = [&all, &before].map(|it| it.messages.get(name).copied().unwrap_or_default());
            (per_s(now.1, then.1), per_s(now.0 - now.1, then.0 - then.1))
        };
        let ratio = |a: u64, b: u64| (b > 0).then(|| rounded(a as f64 / b as f64));
        let arrived: u64 = outcome.flows.iter().map(|flow| flow.packets_arrived).sum();
        let hops = outcome.flows.iter().filter_map(|flow| Some(flow.hops? * flow.packets_arrived as f64)).sum::<f64>();
        let carries = self.scenario != "rest";
        let is_moving = self.scenario == "moving";
        Ok(Row {
            scenario: self.scenario,
            parameters: self.parameters,
            run: self.run,
            goodput_kbps: carries.then(|| rounded(outcome.flows.iter().map(|flow| flow.goodput_kbps).sum())),
            data_hops: (arrived > 0).then(|| rounded(hops / arrived as f64)),
            packets_per_s: per_s(all.packets, before.packets),
            bytes_per_s: per_s(all.bytes, before.bytes),
            hello_per_s: message("HELLO").0,
            tc_per_s: message("TC").0,
            tc_forwarded_per_s: message("TC").1,
            converged_s: known.converged_s.filter(|_| !is_moving),
            routes_pct: rounded(100.0 * known.routes as f64 / known.pairs as f64),
            route_hops: ratio(known.route_hops, known.routes).context("there are routes")?,
            shortest_hops: ratio(known.shortest_hops, known.routes).filter(|_| !is_moving),
        })
    }
}

/// The places at the start of a movement file.
fn places(file: &Path) -> Result<Vec<(f64, f64)>> {
    let text = std::fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
    let coordinate = |name: &str| -> Result<Vec<f64>> {
        let values = text.lines().filter_map(|line| line.split_once(name)?.1.split_whitespace().next());
        values.map(|it| Ok(it.parse::<f64>()?)).collect()
    };
    Ok(coordinate(" set X_ ")?.into_iter().zip(coordinate(" set Y_ ")?).collect())
}

/// Runs a scenario, and compares all routes with the graph at every look.
fn look(scenario: &Scenario) -> Result<(Known, Outcome)> {
    let mut world = World::new(&scenario.spec)?;
    let mut known = Known::default();
    let mut at = Time::ZERO;
    while at + LOOK < world.end() {
        at += LOOK;
        world.advance(at, &Watch::default());
        let places = world.positions();
        let near = |a: usize, b: usize| {
            let (a, b) = (&places[a], &places[b]);
            (a.x_m - b.x_m).hypot(a.y_m - b.y_m) < f64::from(RANGE)
        };
        let nodes = places.len();
        let graph: Vec<Vec<usize>> =
            (0..nodes).map(|a| (0..nodes).filter(|&b| a != b && near(a, b)).collect()).collect();
        let mut all = true;
        for from in 0..nodes {
            let shortest = shortest(&graph, from);
            let mut hops = vec![0; nodes];
            for row in world.routes(NodeId(from as u32)) {
                hops[row.destination as usize] = u64::from(row.hops.unwrap_or(0));
            }
            all &= hops == shortest;
            if at > Time::ZERO + Span::from_secs(u64::from(MEASURE_FROM)) {
                for (&found, &least) in hops.iter().zip(&shortest).filter(|&(_, &least)| least > 0) {
                    known.pairs += 1;
                    if found > 0 {
                        known.routes += 1;
                        known.route_hops += found;
                        known.shortest_hops += least;
                    }
                }
            }
        }
        if all {
            known.converged_s.get_or_insert(at.seconds());
        }
    }
    let (outcome, ()) = world.run_watched(&Watch::default()).map_err(|unaccounted| anyhow::anyhow!(unaccounted))?;
    Ok((known, outcome))
}

/// Hops from a node to all others, 0 where there is no path.
fn shortest(graph: &[Vec<usize>], from: usize) -> Vec<u64> {
    let mut hops = vec![0; graph.len()];
    let mut reached = vec![from];
    let mut next = 0;
    while let Some(&node) = reached.get(next) {
        next += 1;
        for &to in graph[node].iter().filter(|&&to| to != from) {
            if hops[to] == 0 {
                hops[to] = hops[node] + 1;
                reached.push(to);
            }
        }
    }
    hops
}

fn run(root: &Path) -> Result<()> {
    let mut cases = Vec::new();
    for (scenario, runs) in [("chain", 5), ("rest", 10), ("moving", 2)] {
        for parameters in ["rfc", "ns2"] {
            cases.extend((1..=runs).map(|run| Case { scenario, parameters, run }));
        }
    }
    let rows = cases.par_iter().map(|case| case.run(root)).collect::<Result<Vec<_>>>()?;
    figures::write(&root.join("results/ns3_olsr_radio.csv"), &rows)
}

const MEASURES: [Measure; 11] = [
    shown("goodput_kbps", "goodput of all flows, kbit/s"),
    shown("data_hops", "hops of the data packets that arrived"),
    shown("converged_s", "first time at which every node has all shortest routes, s"),
    shown("routes_pct", "pairs of connected nodes with a route, % of the time"),
    Measure { column: "route_hops", title: "hops of the routes", bound: Bound::Within(0.01) },
    shown("shortest_hops", "hops of the shortest paths of these pairs"),
    shown("hello_per_s", "HELLO messages per second"),
    shown("tc_per_s", "TC messages per second, made"),
    shown("tc_forwarded_per_s", "TC messages per second, forwarded"),
    shown("packets_per_s", "OLSR packets per second"),
    shown("bytes_per_s", "bytes of OLSR per second, with the headers of IP and UDP"),
];

fn tables(root: &Path) -> Result<Vec<Table>> {
    let ns3 = Figures::read(&root.join("peers/data/ns3_olsr_radio.csv"))?;
    let mut tables = Vec::new();
    for (parameters, title) in [("rfc", "OLSR"), ("ns2", "OLSR with the parameters of profile ns2")] {
        let ours = Figures::read(&root.join("results/ns3_olsr_radio.csv"))?.only(&[("parameters", parameters)])?;
        for measure in &MEASURES {
            tables.push(compare(title, "ns-3", &[("scenario", "scenario")], measure, &ours, &ns3)?);
        }
    }
    Ok(tables)
}
