//! Forced drops beside ns-3: which segments SACK, CUBIC, Westwood+ and BBR send, and with which windows, when chosen
//! packets of one window are lost on a wired bottleneck.

use std::path::Path;

use anyhow::{Context as _, Result};
use serde::Serialize;
use tabled::builder::Builder;
use tabled::settings::Style;

use super::Experiment;
use crate::comparison::Table;
use crate::figures::{self, Figures};
use crate::ns3::{self, SentSegment};

/// Every variant, both recoveries, every set of losses.
pub const DROPS_NS3: Experiment = Experiment {
    name: "drops_ns3",
    title: "Forced drops, ns-3",
    run: |root, _| run(root),
    compare,
    needs: &["ns3_forced_drops.csv"],
};

#[derive(Serialize)]
struct Row {
    tcp: String,
    recovery: String,
    drops: String,
    hopyard: &'static str,
    /// Whether the algorithm is the same.
    same: bool,
    segments_ns3: usize,
    segments: usize,
    again: usize,
    same_again: bool,
    first_difference: Option<usize>,
    window_pct: f64,
    time_ms: f64,
    last_ns3_s: f64,
    last_s: f64,
}

/// From the first segment to the last, in seconds.
fn duration(sent: &[SentSegment]) -> f64 {
    let time = |it: Option<&SentSegment>| it.map_or(0.0, |sent| sent.time);
    time(sent.last()) - time(sent.first())
}

fn rounded(value: f64, digits: i32) -> f64 {
    (value * 10_f64.powi(digits)).round() / 10_f64.powi(digits)
}

fn run(root: &Path) -> Result<()> {
    let path = root.join("peers/data/ns3_forced_drops.csv");
    let text = std::fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
    let mut rows = Vec::new();
    for case in ns3::read(&text) {
        for rival in ns3::rivals(&case.tcp) {
            let ours = ns3::run(&rival.congestion, &case);
            let result = ns3::compare(&ours, &case.sent);
            let drops: Vec<String> = case.drops.iter().map(u64::to_string).collect();
            rows.push(Row {
                tcp: case.tcp.clone(),
                recovery: case.recovery.clone(),
                drops: if drops.is_empty() { "none".into() } else { drops.join(" ") },
                hopyard: rival.name,
                same: rival.is_same(&case),
                segments_ns3: case.sent.len(),
                segments: result.segments,
                again: ours.iter().filter(|sent| sent.again).count(),
                same_again: result.same_again,
                first_difference: result.first_difference,
                window_pct: rounded(result.window * 100.0, 2),
                time_ms: rounded(result.time * 1e3, 2),
                last_ns3_s: rounded(duration(&case.sent), 4),
                last_s: rounded(duration(&ours), 4),
            });
        }
    }
    figures::write(&root.join("results/ns3_forced_drops.csv"), &rows)
}

/// A line a case. Where the algorithm is the same, the segments must be, and windows within 1 %.
fn compare(root: &Path) -> Result<Vec<Table>> {
    let file = Figures::read(&root.join("results/ns3_forced_drops.csv"))?;
    let mut builder = Builder::default();
    builder.push_record([
        "ns-3",
        "recovery",
        "lost",
        "Hopyard",
        "sent again",
        "the same again",
        "first difference in order",
        "largest difference of the window, %",
        "of time, ms",
        "last segment, ns-3, s",
        "Hopyard, s",
        "required",
        "met",
    ]);
    let mut table = Table {
        title: "Segments sent and windows with forced drops, beside ns-3".into(),
        text: String::new(),
        bounded: 0,
        met: 0,
        worst: 0.0,
    };
    let columns = [
        "tcp",
        "recovery",
        "drops",
        "hopyard",
        "again",
        "same_again",
        "first_difference",
        "window_pct",
        "time_ms",
        "last_ns3_s",
        "last_s",
        "same",
    ];
    for row in file.select(&columns)? {
        let mut record: Vec<String> = row.iter().take(11).map(|&part| part.to_owned()).collect();
        record[5] = if row[5] == "true" { "yes" } else { "**no**" }.into();
        if record[6].is_empty() {
            record[6] = "none".into();
        }
        if row[11] == "true" {
            let window: f64 = row[7].parse()?;
            let met = row[6].is_empty() && row[5] == "true" && window < 1.0;
            table.bounded += 1;
            table.met += usize::from(met);
            table.worst = f64::max(table.worst, window);
            record.extend(["all equal, 1 %".to_owned(), if met { "yes" } else { "**no**" }.to_owned()]);
        } else {
            record.extend([String::new(), String::new()]);
        }
        builder.push_record(record);
    }
    table.text = builder.build().with(Style::markdown()).to_string();
    Ok(vec![table])
}
