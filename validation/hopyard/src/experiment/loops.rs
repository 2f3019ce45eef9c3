//! Loops of ns-2's AODV: a chain of four whose last node leaves while datagrams go to it.

use std::path::Path;

use anyhow::Result;
use rayon::prelude::*;
use serde::Serialize;

use super::Experiment;
use crate::comparison::{Bound, Measure, Table, compare};
use crate::figures::{self, Figures};
use crate::setup::Scenario;

/// Datagrams that go to and fro until their TTL runs out.
pub const LOOPS: Experiment = Experiment {
    name: "loops",
    title: "Loops of ns-2's AODV in a chain of four whose last node leaves",
    run: |root, _| run(root),
    compare: compare_loops,
    needs: &["loops.csv"],
};

const SEEDS: u32 = 10;

#[derive(Serialize)]
struct Row {
    leaves_s: &'static str,
    interval_s: &'static str,
    seed: u32,
    ttl_drops: u64,
}

fn run(root: &Path) -> Result<()> {
    let mut cases = Vec::new();
    for leaves in ["1.3", "2.3", "3.3", "4.3", "5.3", "7.3"] {
        for interval in ["0.7", "1.0", "1.5", "2.5", "3.0", "4.0"] {
            cases.extend((1..=SEEDS).map(|seed| (leaves, interval, seed)));
        }
    }
    let rows = cases
        .par_iter()
        .map(|&(leaves_s, interval_s, seed)| {
            let file = root.join(format!("inputs/loops/leave_{leaves_s}.tcl"));
            let mut scenario = Scenario::moving("ns2", "aodv", &file)?;
            scenario.rate(1, true);
            scenario.ranges(250, 550);
            scenario.add_cbr(0, 3, 1.0, 512, interval_s.parse::<f64>()? * 1e6);
            scenario.even_intervals();
            scenario.times(0.0, 60.0);
            let outcome = scenario.run(seed)?;
            let ttl_drops = outcome.drops.iter().filter(|row| row.reason == "ttl_expired").map(|row| row.count).sum();
            Ok(Row { leaves_s, interval_s, seed, ttl_drops })
        })
        .collect::<Result<Vec<_>>>()?;
    figures::write(&root.join("results/loops.csv"), &rows)
}

fn compare_loops(root: &Path) -> Result<Vec<Table>> {
    let ours = Figures::read(&root.join("results/loops.csv"))?;
    let ns2 = Figures::read(&root.join("peers/data/ns2_loops.csv"))?;
    let keys = [("leaves_s", "leaves, s"), ("interval_s", "interval, s")];
    // Where all seeds of ns-2 give the same count, ours must be that count. In a few cells some seeds of either
    // simulator give no loop; there the mean must lie in the interval of ns-2's mean.
    let measure =
        Measure { column: "ttl_drops", title: "datagrams whose TTL ran out", bound: Bound::WithinOrInterval(0.0) };
    Ok(vec![compare("Loops", "ns-2", &keys, &measure, &ours, &ns2)?])
}
