//! The experiments, and the report on all of them.

mod chains;
mod closed_forms;
mod dcf;
mod drand;
mod drops;
mod drops_ns3;
mod edca;
mod fading;
mod full_tcp;
mod gateway;
mod groups;
mod large;
mod linux;
mod loop_freedom;
mod loops;
mod mobile_ip;
mod modes;
mod olsr;
pub mod packetdrill;
mod paper;
mod published;
mod rates;
mod tcp;
mod tdma;

use std::path::{Path, PathBuf};

use anyhow::Result;
use tabled::builder::Builder;
use tabled::settings::Style;

use crate::comparison::Table;

/// What the command line asks of the experiments.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Random networks for each protocol and profile, at most; nothing for all.
    pub networks: Option<u64>,
    /// The protocols in which loops are looked for; empty for all.
    pub routing: Vec<String>,
    /// A folder with movement files of BonnMotion, whose figures are to be taken again.
    pub bonnmotion: Option<PathBuf>,
}

/// One experiment.
pub struct Experiment {
    /// Its name on the command line.
    pub name: &'static str,
    /// Its heading.
    pub title: &'static str,
    /// Runs it and writes our figures.
    pub run: fn(&Path, &Options) -> Result<()>,
    /// Compares our figures with others'.
    pub compare: fn(&Path) -> Result<Vec<Table>>,
    /// Our figures, without which nothing can be compared.
    pub needs: &'static [&'static str],
}

/// All experiments, in the order of the report.
pub const EXPERIMENTS: &[Experiment] = &[
    dcf::ONE_STATION,
    dcf::CONTENTION,
    closed_forms::CLOSED_FORMS,
    modes::ONE_STATION,
    modes::CONTENTION,
    edca::EDCA,
    rates::RATES,
    fading::DELIVERY,
    fading::RATES,
    tdma::TDMA,
    drops::DROPS,
    drops_ns3::DROPS_NS3,
    full_tcp::FULL_TCP,
    packetdrill::PACKETDRILL,
    linux::LINUX,
    tcp::HOPS,
    tcp::HOPS_NS3,
    tcp::CHAIN,
    chains::CHAINS,
    loops::LOOPS,
    loop_freedom::LOOP_FREEDOM,
    tcp::RWP50,
    large::LARGE,
    olsr::OLSR,
    gateway::GATEWAY,
    mobile_ip::MOBILE_IP,
    groups::GROUPS,
    drand::DRAND,
    paper::PAPER,
    paper::LOAD,
];

/// The report.
pub struct Report {
    /// All tables, in Markdown.
    pub text: String,
    /// A line for each table.
    pub summary: String,
}

/// Makes the tables of all experiments whose figures are there.
pub fn report(root: &Path) -> Result<Report> {
    let mut summary = Builder::default();
    summary.push_record(["comparison", "cells", "met", "largest difference"]);
    let mut sections = String::new();
    for experiment in EXPERIMENTS {
        if !experiment.needs.iter().all(|file| root.join("results").join(file).exists()) {
            continue;
        }
        sections += &format!("\n## {}\n", experiment.title);
        for table in (experiment.compare)(root)? {
            sections += &format!("\n### {}\n\n{}\n", table.title, table.text);
            if table.bounded > 0 {
                summary.push_record([
                    table.title.clone(),
                    table.bounded.to_string(),
                    table.met.to_string(),
                    format!("{:+.2} %", table.worst),
                ]);
            }
        }
    }
    let summary = summary.build().with(Style::markdown()).to_string() + "\n";
    let text = format!(
        "# Hopyard against ns-2, ns-3 and closed forms\n\nMade by `make validate`. Means over seeds, with 95 % \
         confidence intervals. `docs/validation.md` explains the comparisons and the remaining differences.\n\n\
         {summary}{sections}"
    );
    Ok(Report { text, summary })
}

#[cfg(test)]
mod tests;
