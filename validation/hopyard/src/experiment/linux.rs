//! Captures of Linux's senders beside the profile `linux`: whether each segment leaves in the same order, and at the
//! same time.

use std::path::Path;

use anyhow::Result;
use serde::Serialize;
use tabled::builder::Builder;
use tabled::settings::Style;

use super::Experiment;
use crate::comparison::Table;
use crate::figures::{self, Figures};
use crate::linux::{self, SENDERS, link};

/// Every capture.
pub const LINUX: Experiment = Experiment {
    name: "linux",
    title: "Senders of Linux",
    run: |root, _| run(root),
    compare,
    needs: &["linux_captures.csv"],
};

#[derive(Serialize)]
struct Row {
    set: String,
    sender: String,
    case: String,
    /// Data segments that Linux and Hopyard sent.
    segments_linux: usize,
    segments: usize,
    /// The first that differs in order; the first before it that lies more than 1 ms apart.
    order: Option<usize>,
    time: Option<usize>,
    /// How much later the last one leaves, in percent.
    longer_pct: f64,
}

fn run(root: &Path) -> Result<()> {
    let rows: Vec<Row> = linux::cases()
        .into_iter()
        .map(|case| {
            let ours = link::run(&case, &linux::configuration(&case, "linux"));
            let agreement = linux::compare(&ours, &case.departures);
            Row {
                segments_linux: case.departures.len(),
                segments: ours.len(),
                order: agreement.order,
                time: agreement.time,
                longer_pct: (agreement.longer * 1e4).round() / 1e2,
                set: case.set,
                sender: case.sender,
                case: case.name,
            }
        })
        .collect();
    figures::write(&root.join("results/linux_captures.csv"), &rows)
}

/// A line a sender. Every case must agree in order.
fn compare(root: &Path) -> Result<Vec<Table>> {
    let file = Figures::read(&root.join("results/linux_captures.csv"))?;
    let rows: Vec<Vec<&str>> = file.select(&["set", "sender", "case", "order", "time", "longer_pct"])?.collect();
    let mut table = Table {
        title: "Segments sent in the profile `linux`, beside Linux 6.1".into(),
        text: String::new(),
        bounded: 0,
        met: 0,
        worst: 0.0,
    };
    let mut builder = Builder::default();
    builder.push_record([
        "set",
        "sender",
        "cases",
        "order equal",
        "time too",
        "order differs in",
        "only time differs in",
    ]);
    for set in ["plain", "nofrto", "tso1", "nohystart"] {
        for (sender, _) in SENDERS {
            let cases: Vec<&Vec<&str>> = rows.iter().filter(|row| row[0] == set && row[1] == sender).collect();
            if cases.is_empty() {
                continue;
            }
            let named = |holds: &dyn Fn(&[&str]) -> bool| -> Vec<&str> {
                cases.iter().filter(|row| holds(row)).map(|row| row[2]).collect()
            };
            let order = named(&|row| !row[3].is_empty());
            let time = named(&|row| row[3].is_empty() && !row[4].is_empty());
            let equal = cases.len() - order.len();
            for row in &cases {
                table.worst = f64::max(table.worst, row[5].parse::<f64>()?.abs());
            }
            table.bounded += cases.len();
            table.met += equal;
            builder.push_record([
                set.to_owned(),
                sender.to_owned(),
                cases.len().to_string(),
                equal.to_string(),
                (equal - time.len()).to_string(),
                order.join(" "),
                time.join(" "),
            ]);
        }
    }
    table.text = builder.build().with(Style::markdown()).to_string();
    Ok(vec![table])
}
