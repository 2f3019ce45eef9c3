//! Loops of every routing protocol in random mobile networks.

use std::path::Path;

use anyhow::Result;
use hopyard_model::params::{NS2, RFC};
use hopyard_model::routing;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use tabled::builder::Builder;
use tabled::settings::Style;

use super::{Experiment, Options};
use crate::comparison::Table;
use crate::figures::{self, Figures};
use crate::random_networks;

/// Loops, by protocol and profile.
pub const LOOP_FREEDOM: Experiment = Experiment {
    name: "loop_freedom",
    title: "Loops in random mobile networks",
    run,
    compare: |root| Ok(vec![table(root)?]),
    needs: &["loop_freedom.csv"],
};

/// How many networks each protocol meets in a profile: many where the specification promises something, fewer where
/// loops are only counted.
const NETWORKS: [(&str, u64); 2] = [(RFC, 10_000), (NS2, 1_000)];

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Row {
    routing: String,
    profile: String,
    promises_no_loops: bool,
    networks: u64,
    /// Paths of one hop or more that were followed.
    paths: u64,
    /// Of these, those that ended in a loop.
    loops: u64,
    networks_with_loops: u64,
    /// Datagrams that were sent.
    datagrams: u64,
    /// Of these, those that came back to a node which they had met.
    returned: u64,
    /// Of these, those that had been salvaged before (RFC 4728 §8.3.6).
    salvaged_returned: u64,
}

impl Row {
    fn add(mut self, other: &Self) -> Self {
        self.paths += other.paths;
        self.loops += other.loops;
        self.networks_with_loops += other.networks_with_loops;
        self.datagrams += other.datagrams;
        self.returned += other.returned;
        self.salvaged_returned += other.salvaged_returned;
        self
    }
}

fn run(root: &Path, options: &Options) -> Result<()> {
    let file = root.join("results/loop_freedom.csv");
    // The rows of protocols that are not looked at now stay as they are.
    let kept = match &options.routing[..] {
        [] => Vec::new(),
        _ => csv::Reader::from_path(&file)?.deserialize().collect::<Result<Vec<Row>, _>>()?,
    };
    let mut rows = Vec::new();
    for model in routing::MODELS {
        if !options.routing.is_empty() && !options.routing.iter().any(|name| name == model.name) {
            rows.extend(kept.iter().filter(|row| row.routing == model.name).cloned());
            continue;
        }
        for (profile, networks) in NETWORKS {
            let networks = options.networks.map_or(networks, |most| most.min(networks));
            let promises_no_loops = routing::Config::of_profile(model.name, profile)?.promises_no_loops();
            // A protocol without messages is told its routes, or knows the true connectivity.
            if !random_networks::has_messages(model.name, profile) {
                continue;
            }
            let row = |seen: &random_networks::Seen| Row {
                routing: model.name.to_owned(),
                profile: profile.to_owned(),
                promises_no_loops,
                networks,
                paths: seen.paths,
                loops: seen.loops,
                networks_with_loops: u64::from(seen.loops > 0),
                datagrams: seen.datagrams,
                returned: seen.returned + seen.salvaged_returned,
                salvaged_returned: seen.salvaged_returned,
            };
            let look = |number| row(&random_networks::look(&random_networks::network(model.name, profile, number)));
            let none = || row(&random_networks::Seen::default());
            rows.push((0..networks).into_par_iter().map(look).reduce(none, |a, b| a.add(&b)));
        }
    }
    figures::write(&file, &rows)
}

fn table(root: &Path) -> Result<Table> {
    let ours = Figures::read(&root.join("results/loop_freedom.csv"))?;
    let mut builder = Builder::default();
    builder.push_record([
        "routing",
        "profile",
        "networks",
        "paths followed",
        "loops",
        "networks with loops",
        "none promised",
        "datagrams",
        "came back to a node",
        "after salvaging",
    ]);
    let (mut bounded, mut met) = (0, 0);
    let columns = ["routing", "profile", "networks", "paths", "loops", "networks_with_loops", "promises_no_loops"];
    let columns = [&columns[..], &["datagrams", "returned", "salvaged_returned"]].concat();
    for row in ours.select(&columns)? {
        let promised = row[6] == "true";
        bounded += usize::from(promised);
        met += usize::from(promised && row[4] == "0");
        let last = if promised { "yes" } else { "" };
        builder.push_record(row[..6].iter().copied().chain([last]).chain(row[7..].iter().copied()));
    }
    let text = builder.build().with(Style::markdown()).to_string();
    Ok(Table { title: "Loops in random networks, where none is promised".into(), text, bounded, met, worst: 0.0 })
}
