//! 100, 200 and 400 moving nodes over AODV, against ns-2, movement by movement.
//!
//! One or two transfers between neighbours carry most of what a network of this kind delivers, and runs of one movement
//! differ by a tenth. So the movements are what is sampled: the ratio of each one's means, and its interval.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context as _, Result};
use rayon::prelude::*;
use serde::Serialize;
use tabled::builder::Builder;
use tabled::settings::Style;

use super::Experiment;
use super::tcp::{add_flows, small_segments};
use crate::comparison::{Table, digits};
use crate::figures::{self, Figures, Key, rounded};
use crate::setup::Scenario;
use crate::statistics::Sample;

/// Many moving nodes.
pub const LARGE: Experiment = Experiment {
    name: "large",
    title: "100, 200 and 400 random-waypoint nodes with AODV",
    run: |root, _| run(root),
    compare: tables,
    needs: &["large.csv"],
};

/// Runs of each movement.
const RUNS: u32 = 4;
const DURATION: f64 = 60.0;

#[derive(Serialize)]
struct Row {
    nodes: u32,
    seed: u32,
    run: u32,
    sent: u64,
    received: u64,
    throughput_kbps: f64,
    delay_ms: f64,
    hops: f64,
    retransmissions: u64,
    timeouts: u64,
    data_drops: u64,
    routing_sent: u64,
    digest: String,
}

fn row(root: &Path, nodes: u32, seed: u32, run: u32) -> Result<Row> {
    let inputs = root.join("inputs/large");
    let mut scenario = Scenario::moving("ns2", "aodv", &inputs.join(format!("movement_{nodes}_{seed:02}.tcl.gz")))?;
    scenario.rate(2, true);
    scenario.ranges(250, 550);
    let traffic = inputs.join(format!("traffic_{nodes}_{seed:02}.txt"));
    add_flows(&mut scenario, &traffic, "Newreno", small_segments)?;
    scenario.times(0.0, DURATION);
    let outcome = scenario.run(run)?;
    let flows = &outcome.flows;
    let arrived = flows.iter().map(|flow| flow.packets_arrived).sum::<u64>() as f64;
    let of_arrived = |value: fn(&hopyard_model::observe::FlowRow) -> Option<f64>| {
        let sums = flows.iter().filter_map(|flow| value(flow).map(|value| value * flow.packets_arrived as f64));
        rounded(sums.sum::<f64>() / arrived)
    };
    Ok(Row {
        nodes,
        seed,
        run,
        sent: flows.iter().map(|flow| flow.packets_sent).sum(),
        received: flows.iter().map(|flow| flow.packets_unique).sum(),
        throughput_kbps: rounded(flows.iter().map(|flow| flow.payload_kbps).sum()),
        delay_ms: of_arrived(|flow| flow.delay_ms),
        hops: of_arrived(|flow| flow.hops),
        retransmissions: flows.iter().map(|flow| flow.retransmissions).sum(),
        timeouts: flows.iter().filter_map(|flow| flow.timeouts).sum(),
        data_drops: flows.iter().map(|flow| flow.packets_dropped + flow.packets_queued).sum(),
        routing_sent: outcome.nodes.iter().map(|node| node.routing_packets).sum(),
        digest: format!("{:016x}", outcome.digest),
    })
}

/// Runs the movements that ns-2 has run.
fn run(root: &Path) -> Result<()> {
    let ns2 = Figures::read(&root.join("peers/data/ns2_large.csv"))?.only(&[("reach", "near")])?;
    let mut cases = Vec::new();
    for case in ns2.select(&["nodes", "seed"])? {
        let (nodes, seed) = (case[0].parse()?, case[1].parse()?);
        cases.extend((1..=RUNS).map(|run| (nodes, seed, run)));
    }
    let rows = cases.par_iter().map(|&(nodes, seed, run)| row(root, nodes, seed, run)).collect::<Result<Vec<_>>>()?;
    figures::write(&root.join("results/large.csv"), &rows)
}

const MEASURES: [(&str, &str); 7] = [
    ("throughput_kbps", "throughput, kbit/s"),
    ("delay_ms", "mean delay, ms"),
    ("hops", "hops of the packets that arrived"),
    ("retransmissions", "retransmitted packets"),
    ("timeouts", "timeouts"),
    ("data_drops", "lost data packets"),
    ("routing_sent", "routing packets sent, each hop"),
];

fn tables(root: &Path) -> Result<Vec<Table>> {
    let ours = Figures::read(&root.join("results/large.csv"))?;
    let ns2 = Figures::read(&root.join("peers/data/ns2_large.csv"))?;
    let near = ns2.clone().only(&[("reach", "near")])?;
    let all = ns2.only(&[("reach", "all")])?;
    Ok(vec![
        paired("Moving nodes, each movement beside ns-2's", ["ns-2", "Hopyard"], &near, &ours)?,
        paired("ns-2 with every frame given to every node, the same seeds", ["as it is", "every node"], &near, &all)?,
    ])
}

/// Means over the movements that both have, and the geometric mean of the ratios of each movement with its interval.
fn paired(title: &str, names: [&str; 2], before: &Figures, after: &Figures) -> Result<Table> {
    let mut builder = Builder::default();
    builder.push_record(["nodes", "quantity", "movements", names[0], names[1], "ratio", "95 % interval"]);
    for (column, quantity) in MEASURES {
        let mut groups: BTreeMap<u32, [Vec<f64>; 3]> = BTreeMap::new();
        let after: BTreeMap<Key, Sample> = after.samples(&["nodes", "seed"], column)?.into_iter().collect();
        for (key, sample) in before.samples(&["nodes", "seed"], column)? {
            let Some(other) = after.get(&key) else { continue };
            let nodes = key[0].parse().with_context(|| format!("\"{}\" is no number of nodes", key[0]))?;
            let [first, second, ratios] = groups.entry(nodes).or_default();
            first.push(sample.mean());
            second.push(other.mean());
            ratios.push((other.mean() / sample.mean()).ln());
        }
        for (nodes, [first, second, ratios]) in groups {
            let (movements, ratio) = (ratios.len(), Sample::new(ratios));
            let bound = |side: f64| (ratio.mean() + side * ratio.half_width()).exp();
            let interval =
                if movements < 2 { String::new() } else { format!("{:.3} to {:.3}", bound(-1.0), bound(1.0)) };
            builder.push_record([
                nodes.to_string(),
                quantity.to_owned(),
                movements.to_string(),
                digits(Sample::new(first).mean()),
                digits(Sample::new(second).mean()),
                format!("{:.3}", bound(0.0)),
                interval,
            ]);
        }
    }
    let text = builder.build().with(Style::markdown()).to_string();
    Ok(Table { title: title.into(), text, bounded: 0, met: 0, worst: 0.0 })
}
