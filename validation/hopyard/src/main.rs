//! Hopyard's side of the comparison: runs the peers' scenarios, writes our figures beside theirs, and makes the tables.
//!
//! `hopyard-validation [--only dcf,chain,...] [--jobs N] [--networks N] [--routing dsr,...]` runs the experiments, each
//! to its own files in `validation/results`, and then makes `validation/RESULTS.md` from all the figures that are
//! there, ours and the peers'. The same seeds give the same figures, whatever the number of jobs.
//!
//! `hopyard-validation packetdrill NAME=FOLDER...` plays packetdrill's scripts, which are not in this repository.

mod comparison;
#[allow(dead_code, reason = "the tests of the model use more of it")]
#[path = "../../../crates/model-tests/tests/drand/network.rs"]
mod drand_network;
mod experiment;
mod figures;
#[allow(dead_code, reason = "the tests of the model use more of it")]
#[path = "../../../crates/model-tests/tests/linux/mod.rs"]
mod linux;
#[path = "../../../crates/model-tests/tests/two_links/ns3.rs"]
mod ns3;
#[path = "../../../crates/model-tests/tests/common/loops.rs"]
mod random_networks;
mod saturation;
mod setup;
mod statistics;
#[allow(dead_code, reason = "the tests of the model use more of it")]
#[path = "../../../crates/model-tests/tests/two_links/mod.rs"]
mod two_links;

use std::io::Write as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use clap::{Parser, Subcommand};

use experiment::{EXPERIMENTS, Options};

/// Compares Hopyard with ns-2, ns-3 and closed forms.
#[derive(Debug, Parser)]
#[command(args_conflicts_with_subcommands = true)]
struct Arguments {
    #[command(subcommand)]
    command: Option<Command>,
    /// Experiments to run, separated by commas; all if not given, "none" to make the tables alone.
    #[arg(long, value_delimiter = ',')]
    only: Vec<String>,
    /// Runs at the same time; all cores if not given.
    #[arg(long, default_value_t = 0)]
    jobs: usize,
    /// Random networks in which loops are looked for, for each protocol and profile; all if not given.
    #[arg(long)]
    networks: Option<u64>,
    /// Routing protocols in which loops are looked for, separated by commas; all if not given. The rows of the others
    /// stay as they are.
    #[arg(long, value_delimiter = ',')]
    routing: Vec<String>,
    /// A folder with movement files of BonnMotion: their figures are taken again. Otherwise those of the last time
    /// stay.
    #[arg(long)]
    bonnmotion: Option<PathBuf>,
}

/// What is done instead of the experiments.
#[derive(Debug, Subcommand)]
enum Command {
    /// Plays packetdrill's scripts against the TCP sender and receiver, and writes results/packetdrill.csv.
    Packetdrill {
        /// Folders with scripts (*.pkt), each FOLDER or NAME=FOLDER; the name stands in the results.
        #[arg(required = true)]
        folders: Vec<String>,
        /// Profiles of TCP, separated by commas; that which is most like Linux if not given.
        #[arg(long, value_delimiter = ',')]
        profile: Vec<String>,
    },
}

/// The folder `validation` of the repository.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn main() -> Result<()> {
    let arguments = Arguments::parse();
    let names: Vec<&str> = EXPERIMENTS.iter().map(|it| it.name).collect();
    for name in &arguments.only {
        anyhow::ensure!(
            name == "none" || names.contains(&name.as_str()),
            "no experiment \"{name}\"; there are {}",
            names.join(", ")
        );
    }
    for name in &arguments.routing {
        let known: Vec<&str> = hopyard_model::routing::MODELS.iter().map(|model| model.name).collect();
        anyhow::ensure!(
            known.contains(&name.as_str()),
            "no routing protocol \"{name}\"; there are {}",
            known.join(", ")
        );
    }
    let root = root();
    std::fs::create_dir_all(root.join("results")).context("cannot make validation/results")?;
    if let Some(Command::Packetdrill { folders, profile }) = &arguments.command {
        let failed = experiment::packetdrill::play_folders(&root, folders, profile)?;
        let mut out = std::io::stdout().lock();
        failed.iter().try_for_each(|line| writeln!(out, "{line}"))?;
        return report(&root, &mut out);
    }
    let pool = rayon::ThreadPoolBuilder::new().num_threads(arguments.jobs).build()?;
    let options =
        Options { networks: arguments.networks, routing: arguments.routing, bonnmotion: arguments.bonnmotion };
    let mut out = std::io::stdout().lock();
    for experiment in EXPERIMENTS {
        if arguments.only.is_empty() || arguments.only.iter().any(|name| name == experiment.name) {
            writeln!(out, "{} ...", experiment.name)?;
            pool.install(|| (experiment.run)(&root, &options))
                .with_context(|| format!("experiment {}", experiment.name))?;
        }
    }
    report(&root, &mut out)
}

/// Makes the tables from all figures that are there.
fn report(root: &Path, out: &mut impl std::io::Write) -> Result<()> {
    let report = experiment::report(root)?;
    std::fs::write(root.join("RESULTS.md"), &report.text)?;
    write!(out, "{}", report.summary)?;
    writeln!(out, "\nTables: validation/RESULTS.md; our figures: validation/results")?;
    Ok(())
}
