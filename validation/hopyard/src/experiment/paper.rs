//! The paper of Oo and Othman in profile ns2, against ns-2: a chain of six and a grid of 25, static and mobile, with
//! every routing protocol and TCP variant; and 10 to 50 connections among fifty moving nodes.
//!
//! ns-2's figures name the protocols. Those that Hopyard does not have are left out.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context as _, Result};
use hopyard_model::link::RoutingPackets;
use hopyard_model::observe::Outcome;
use hopyard_model::routing;
use rayon::prelude::*;
use serde::Serialize;

use super::tcp::{drops, shown, small_segments};
use super::{Experiment, published};
use crate::comparison::{Bound, Measure, Table, compare};
use crate::figures::{self, Figures, rounded};
use crate::setup::{Scenario, chain};

/// Chain and grid.
pub const PAPER: Experiment = Experiment {
    name: "paper",
    title: "Chain and grid of Oo and Othman, static and mobile",
    run: |root, _| run(root, "paper", &paper_cases(root)?),
    compare: compare_paper,
    needs: &["paper.csv", "paper_drops.csv.gz"],
};

/// Ten to fifty connections.
pub const LOAD: Experiment = Experiment {
    name: "load",
    title: "Fifty random-waypoint nodes with 10 to 50 NewReno flows",
    run: |root, _| run(root, "load", &load_cases(root)?),
    compare: compare_load,
    needs: &["load.csv", "load_drops.csv.gz"],
};

/// The nodes of the grid are this far apart: the whole grid senses every sender.
const GRID_SPACING: f64 = 95.0;

/// The first seeds of Reno are run with Westwood too, which is compared with the paper alone.
const WESTWOOD_SEEDS: u32 = 5;

/// One run. Keys that a table does not have are empty, and left out.
#[derive(Clone, Debug, Default, Serialize)]
struct Key {
    topology: Option<String>,
    mobility: Option<String>,
    connections: Option<usize>,
    routing: String,
    tcp: String,
    seed: u32,
}

#[derive(Serialize)]
struct Row {
    topology: Option<String>,
    mobility: Option<String>,
    connections: Option<usize>,
    routing: String,
    tcp: String,
    seed: u32,
    sent: u64,
    received: u64,
    throughput_kbps: f64,
    delay_ms: Option<f64>,
    retransmissions: u64,
    timeouts: u64,
    plr_pct: f64,
    data_drops: u64,
    first_delivery_s: Option<f64>,
    /// Hops of the data packets that arrived, mean; and the least and the greatest mean of a flow.
    hops: Option<f64>,
    hops_least: Option<f64>,
    hops_most: Option<f64>,
    routing_sent: u64,
    routing_bytes: u64,
    digest: String,
}

#[derive(Serialize)]
struct DropRow {
    topology: Option<String>,
    mobility: Option<String>,
    connections: Option<usize>,
    routing: String,
    tcp: String,
    seed: u32,
    reason: String,
    kind: String,
    count: u64,
}

/// The cases of ns-2's table whose routing protocol is in the registry, each with the seeds that ns-2 has run.
fn cases_of(root: &Path, table: &str, columns: &[&str]) -> Result<Vec<Vec<String>>> {
    let ns2 = Figures::read(&root.join(format!("peers/data/ns2_{table}.csv")))?;
    let place = columns.iter().position(|&column| column == "routing").context("a column for routing")?;
    let known = |row: &Vec<&str>| routing::MODELS.iter().any(|model| model.name == row[place].to_lowercase());
    Ok(ns2.select(columns)?.filter(known).map(|row| row.into_iter().map(str::to_owned).collect()).collect())
}

fn paper_cases(root: &Path) -> Result<Vec<Key>> {
    let rows = cases_of(root, "paper", &["topology", "mobility", "routing", "tcp", "seed"])?;
    let mut cases = rows
        .into_iter()
        .map(|row| {
            let [topology, mobility, routing, tcp, seed] = <[String; 5]>::try_from(row).expect("five columns");
            let seed = seed.parse()?;
            Ok(Key { topology: Some(topology), mobility: Some(mobility), connections: None, routing, tcp, seed })
        })
        .collect::<Result<Vec<Key>>>()?;
    // The paper has Westwood, ns-2.35 has not.
    let reno = cases.iter().filter(|case| case.tcp == "Reno" && case.seed <= WESTWOOD_SEEDS);
    let westwood: Vec<Key> = reno.map(|case| Key { tcp: "Westwood".into(), ..case.clone() }).collect();
    cases.extend(westwood);
    Ok(cases)
}

fn load_cases(root: &Path) -> Result<Vec<Key>> {
    let rows = cases_of(root, "load", &["connections", "routing", "seed"])?;
    rows.into_iter()
        .map(|row| {
            let [connections, routing, seed] = <[String; 3]>::try_from(row).expect("three columns");
            let (connections, seed) = (Some(connections.parse()?), seed.parse()?);
            Ok(Key { connections, routing, tcp: "Newreno".into(), seed, ..Key::default() })
        })
        .collect()
}

impl Key {
    fn scenario(&self, root: &Path) -> Result<Scenario> {
        let protocol = self.routing.to_lowercase();
        let inputs = root.join("inputs/paper");
        let mobile = self.mobility.as_deref() == Some("mobile");
        let mut scenario = match self.topology.as_deref() {
            Some(topology) if mobile => Scenario::moving("ns2", &protocol, &inputs.join(format!("{topology}.tcl")))?,
            Some("chain") => Scenario::stationary("ns2", &protocol, &chain(6, 110.0))?,
            Some(_) => {
                let place = |i: u32| (f64::from(i % 5) * GRID_SPACING, f64::from(i / 5) * GRID_SPACING);
                Scenario::stationary("ns2", &protocol, &(0..25).map(place).collect::<Vec<_>>())?
            }
            None => {
                let movement = root.join(format!("inputs/rwp50/movement_{:02}.tcl", self.seed));
                Scenario::moving("ns2", &protocol, &movement)?
            }
        };
        scenario.rate(1, true);
        scenario.ranges(200, 550);
        if protocol == "dsr" {
            // ns-2's DSR runs on CMUPriQueue.
            scenario.spec.link.routing_packets = RoutingPackets::ByClass;
        }
        for (from, to, start) in self.flows(&inputs)? {
            scenario.add_tcp(from, to, start, &self.tcp, small_segments)?;
        }
        scenario.times(0.0, 360.0);
        Ok(scenario)
    }

    /// Source, destination and start of each flow.
    fn flows(&self, inputs: &Path) -> Result<Vec<(u32, u32, f64)>> {
        match (self.topology.as_deref(), self.connections) {
            (Some("chain"), _) => Ok(vec![(0, 5, 0.0)]),
            (Some(_), _) => Ok(vec![(0, 24, 100.0), (4, 20, 100.0)]),
            (None, connections) => {
                let file = inputs.join(format!("connections_{:02}.txt", self.seed));
                let text = std::fs::read_to_string(&file).with_context(|| format!("cannot read {}", file.display()))?;
                let flow = |line: &str| {
                    let words: Vec<&str> = line.split_whitespace().collect();
                    let [_, from, to, start, _] = words[..] else { anyhow::bail!("line \"{line}\"") };
                    Ok((from.parse()?, to.parse()?, start.parse()?))
                };
                text.lines().take(connections.context("a number of connections")?).map(flow).collect()
            }
        }
    }

    fn row(&self, outcome: &Outcome) -> Row {
        let flows = &outcome.flows;
        let arrived: u64 = flows.iter().map(|flow| flow.packets_arrived).sum();
        let delays: f64 =
            flows.iter().filter_map(|flow| flow.delay_ms.map(|delay| delay * flow.packets_arrived as f64)).sum();
        let hops = || flows.iter().filter_map(|flow| flow.hops);
        let all_hops: f64 =
            flows.iter().filter_map(|flow| flow.hops.map(|hops| hops * flow.packets_arrived as f64)).sum();
        let Self { topology, mobility, connections, routing, tcp, seed } = self.clone();
        Row {
            topology,
            mobility,
            connections,
            routing,
            tcp,
            seed,
            sent: flows.iter().map(|flow| flow.packets_sent).sum(),
            received: flows.iter().map(|flow| flow.packets_unique).sum(),
            throughput_kbps: rounded(flows.iter().map(|flow| flow.payload_kbps).sum()),
            delay_ms: (arrived > 0).then(|| rounded(delays / arrived as f64)),
            retransmissions: flows.iter().map(|flow| flow.retransmissions).sum(),
            timeouts: flows.iter().filter_map(|flow| flow.timeouts).sum(),
            plr_pct: rounded(flows.iter().map(|flow| flow.loss_ns2_percent).sum()),
            data_drops: flows.iter().map(|flow| flow.packets_dropped + flow.packets_queued).sum(),
            first_delivery_s: flows.iter().filter_map(|flow| flow.first_arrival_s).reduce(f64::min).map(rounded),
            hops: (arrived > 0).then(|| rounded(all_hops / arrived as f64)),
            hops_least: hops().reduce(f64::min).map(rounded),
            hops_most: hops().reduce(f64::max).map(rounded),
            routing_sent: outcome.nodes.iter().map(|node| node.routing_packets).sum(),
            routing_bytes: outcome.nodes.iter().map(|node| node.routing_bytes + node.piggybacked_bytes).sum(),
            digest: format!("{:016x}", outcome.digest),
        }
    }

    fn drops(&self, outcome: &Outcome) -> Vec<DropRow> {
        let mut counts: BTreeMap<(&str, &str), u64> = BTreeMap::new();
        for row in &outcome.drops {
            *counts.entry((row.reason, row.kind)).or_default() += row.count;
        }
        let left: u64 = outcome.flows.iter().map(|flow| flow.packets_queued).sum();
        if left > 0 {
            counts.insert(("end", "data"), left);
        }
        let row = |((reason, kind), count): ((&str, &str), u64)| {
            let Self { topology, mobility, connections, routing, tcp, seed } = self.clone();
            let (reason, kind) = (reason.to_owned(), kind.to_owned());
            DropRow { topology, mobility, connections, routing, tcp, seed, reason, kind, count }
        };
        counts.into_iter().map(row).collect()
    }
}

fn run(root: &Path, table: &str, cases: &[Key]) -> Result<()> {
    let results = cases
        .par_iter()
        .map(|case| {
            let outcome = case.scenario(root)?.run(case.seed)?;
            Ok((case.row(&outcome), case.drops(&outcome)))
        })
        .collect::<Result<Vec<_>>>()?;
    let (rows, drops): (Vec<Row>, Vec<Vec<DropRow>>) = results.into_iter().unzip();
    figures::write(&root.join("results").join(format!("{table}.csv")), &rows)?;
    let drops: Vec<DropRow> = drops.into_iter().flatten().collect();
    figures::write(&root.join("results").join(format!("{table}_drops.csv.gz")), &drops)
}

fn in_range(column: &'static str, title: &'static str) -> Measure {
    Measure { column, title, bound: Bound::InRange }
}

fn compare_paper(root: &Path) -> Result<Vec<Table>> {
    let keys = [("topology", "topology"), ("routing", "routing"), ("tcp", "TCP")];
    let (throughput, delay) = ("throughput, kbit/s, sum of the flows", "mean delay, ms");
    let (loss, routing) = (
        in_range("plr_pct", "loss rate as the paper counts it, %"),
        shown("routing_sent", "routing packets sent, each hop"),
    );
    let near = |column, title, fraction| Measure { column, title, bound: Bound::WithinOrInterval(fraction) };
    let at_rest = [near("throughput_kbps", throughput, 0.02), near("delay_ms", delay, 0.03), loss, routing];
    let moving = [in_range("throughput_kbps", throughput), in_range("delay_ms", delay), loss, routing];
    let groups = [("static", "Chain and grid at rest", at_rest), ("mobile", "Chain and grid in motion", moving)];
    let mut all = Vec::new();
    for (mobility, title, measures) in groups {
        let figures = |file: String| Figures::read(&root.join(file))?.only(&[("mobility", mobility)]);
        let (ours, ns2) = (figures("results/paper.csv".into())?, figures("peers/data/ns2_paper.csv".into())?);
        for measure in &measures {
            all.push(compare(title, "ns-2", &keys, measure, &ours, &ns2)?);
        }
    }
    all.extend(published::tables(root)?);
    Ok(all)
}

fn compare_load(root: &Path) -> Result<Vec<Table>> {
    let keys = [("connections", "connections"), ("routing", "routing")];
    let measures = [
        in_range("throughput_kbps", "throughput, kbit/s, sum of the flows"),
        in_range("delay_ms", "mean delay, ms"),
        in_range("plr_pct", "loss rate as the paper counts it, %"),
        shown("routing_sent", "routing packets sent, each hop"),
    ];
    let ours = Figures::read(&root.join("results/load.csv"))?;
    let ns2 = Figures::read(&root.join("peers/data/ns2_load.csv"))?;
    let title = "10 to 50 connections";
    let mut all: Vec<Table> =
        measures.iter().map(|it| compare(title, "ns-2", &keys, it, &ours, &ns2)).collect::<Result<_>>()?;
    all.push(drops(root, "load_drops.csv.gz", &keys)?);
    Ok(all)
}
