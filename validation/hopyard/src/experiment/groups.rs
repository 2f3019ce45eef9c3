//! Reference-point groups against movement files of BonnMotion: how far apart the members of a group are.

use std::path::Path;

use anyhow::{Context as _, Result, anyhow};
use hopyard_engine::{Span, Streams, Time};
use hopyard_model::address::NodeId;
use hopyard_model::mobility::files::Reading;
use hopyard_model::mobility::{Config, Leg, Movements, Nodes, Position, Spec};
use rayon::prelude::*;
use serde::Serialize;

use super::{Experiment, Options};
use crate::comparison::{Bound, Measure, Table, compare};
use crate::figures::{self, Figures, rounded};

/// Groups of six nodes with the numbers of the tactical network.
pub const GROUPS: Experiment = Experiment {
    name: "groups",
    title: "Reference-point groups of six nodes",
    run,
    compare: compare_groups,
    needs: &["groups.csv"],
};

/// Nodes with successive numbers are a group.
const GROUP: usize = 6;
/// Pairs nearer than this are within reach of each other.
const NEAR: f64 = 150.0;
/// Positions are taken every 30 s from the start to the end.
const INSTANTS: u64 = 12;
const STEP: Span = Span::from_secs(30);

/// The nodes of a file or of a run, and how many of them there are.
const CASES: [(usize, u64); 3] = [(18, 200), (96, 200), (24_000, 8)];

/// The figures of one file, or of one run.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Row {
    pub nodes: usize,
    pub seed: u64,
    /// The share of the pairs of a group that are near each other.
    pub near: f64,
    /// The mean distance of the nodes of a pair.
    pub distance_m: f64,
    /// The lowest and the highest speed of a leg.
    pub slowest: f64,
    pub fastest: f64,
}

fn run(root: &Path, options: &Options) -> Result<()> {
    if let Some(folder) = &options.bonnmotion {
        figures::write(&root.join("peers/data/bonnmotion_groups.csv"), &of_files(folder)?)?;
    }
    let runs: Vec<_> = CASES.iter().flat_map(|&(nodes, runs)| (1..=runs).map(move |seed| (nodes, seed))).collect();
    let rows = runs.par_iter().map(|&(nodes, seed)| simulated(nodes, seed)).collect::<Result<Vec<_>>>()?;
    figures::write(&root.join("results/groups.csv"), &rows)
}

/// The legs of a node until the last instant.
pub fn simulated(nodes: usize, seed: u64) -> Result<Row> {
    let model = Config::of_profile("reference_point_group", "rfc")?;
    let specs = vec![Spec { model: &model, start: Position::default(), movements: None, table: 0 }; nodes];
    let all = Nodes::new(&specs, Streams::new(seed, 0));
    let end = Time::ZERO + Span::from_nanos(INSTANTS * STEP.nanos());
    let legs = (0..nodes as u32).map(|node| {
        let mut model = all.movement(NodeId(node))?;
        let mut legs = vec![model.next_leg()];
        while legs[legs.len() - 1].until <= end {
            legs.push(model.next_leg());
        }
        Ok(legs)
    });
    measured(seed, &legs.collect::<Result<Vec<_>>>()?)
}

/// The figures of every file in a folder that is called NAME-SEED.movements.gz.
fn of_files(folder: &Path) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for entry in std::fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))? {
        let path = entry?.path();
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let Some(stem) = name.strip_suffix(".movements.gz") else { continue };
        let seed = stem.rsplit_once('-').and_then(|(_, seed)| seed.parse().ok());
        rows.push(of_file(&path, seed.ok_or_else(|| anyhow!("{name} is not called NAME-SEED.movements.gz"))?)?);
    }
    rows.sort_by_key(|row| (row.nodes, row.seed));
    Ok(rows)
}

/// The figures of a file of BonnMotion.
pub fn of_file(path: &Path, seed: u64) -> Result<Row> {
    let name = path.display().to_string();
    let bytes = std::fs::read(path).with_context(|| format!("cannot read {name}"))?;
    let file = Movements::read(&name, &bytes, &Reading::default()).map_err(|bad| anyhow!("{name}: {bad}"))?;
    let legs = file.numbers().map(|number| {
        let fixes = file.track(number).map(|track| track.fixes()).unwrap_or_default();
        let between = fixes.windows(2).map(|pair| {
            let [a, b] = pair else { unreachable!("windows of two") };
            Leg::between(a.at, a.position, b.position, b.at)
        });
        let last = fixes.last().map(|fix| Leg::still(fix.at, fix.position));
        between.chain(last).collect::<Vec<_>>()
    });
    measured(seed, &legs.collect::<Vec<_>>())
}

/// The figures of nodes, each with its legs.
fn measured(seed: u64, nodes: &[Vec<Leg>]) -> Result<Row> {
    let (mut pairs, mut near, mut sum) = (0_u64, 0_u64, 0.0);
    for group in nodes.chunks(GROUP) {
        for instant in 0..=INSTANTS {
            let time = Time::ZERO + Span::from_nanos(instant * STEP.nanos());
            let places = group.iter().map(|legs| {
                let leg = legs.get(legs.partition_point(|leg| leg.until <= time));
                leg.map(|leg| leg.position(time)).ok_or_else(|| anyhow!("a movement ends before {} s", time.seconds()))
            });
            let places = places.collect::<Result<Vec<_>>>()?;
            for (i, place) in places.iter().enumerate() {
                for other in &places[..i] {
                    let distance = place.distance(*other);
                    pairs += 1;
                    near += u64::from(distance <= NEAR);
                    sum += distance;
                }
            }
        }
    }
    let speeds = nodes.iter().flatten().filter(|leg| !leg.is_pause()).map(Leg::speed);
    let (slowest, fastest) =
        speeds.fold((f64::INFINITY, 0.0_f64), |(low, high), speed| (low.min(speed), high.max(speed)));
    Ok(Row {
        nodes: nodes.len(),
        seed,
        near: rounded(near as f64 / pairs as f64),
        distance_m: rounded(sum / pairs as f64),
        slowest: rounded(slowest),
        fastest: rounded(fastest),
    })
}

fn compare_groups(root: &Path) -> Result<Vec<Table>> {
    let ours = Figures::read(&root.join("results/groups.csv"))?;
    let theirs = Figures::read(&root.join("peers/data/bonnmotion_groups.csv"))?;
    let measures = [
        Measure { column: "near", title: "share of pairs within 150 m", bound: Bound::WithinOrInterval(0.01) },
        Measure { column: "distance_m", title: "mean distance of pairs, m", bound: Bound::WithinOrInterval(0.01) },
    ];
    let table = |measure| compare("Groups", "BonnMotion", &[("nodes", "nodes")], measure, &ours, &theirs);
    measures.iter().map(table).collect()
}
