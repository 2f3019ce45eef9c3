//! Forced drops: which segments a sender sends when chosen packets of one window are lost on a wired bottleneck.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context as _, Result};
use hopyard_engine::{Span, Time};
use serde::Serialize;
use tabled::builder::Builder;
use tabled::settings::Style;

use super::Experiment;
use crate::comparison::Table;
use crate::figures::{self, Figures};
use crate::two_links::{Kind, run_ns2};

/// Every variant, every configuration, every set of losses.
pub const DROPS: Experiment = Experiment {
    name: "drops",
    title: "Forced drops",
    run: |root, _| run(root),
    compare,
    needs: &["forced_drops.csv"],
};

/// A segment sent: when, which, and whether again.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Sent {
    time: f64,
    segment: i64,
    again: bool,
}

#[derive(Serialize)]
struct Row {
    cfg: String,
    tcp: String,
    case: String,
    drops: String,
    segments_ns2: usize,
    segments: usize,
    again: usize,
    first_difference: Option<usize>,
    time_error_ms: f64,
}

type Case = (String, String, String, String);

/// ns-2's segments of each case, in the order of the file.
fn reference(root: &Path) -> Result<Vec<(Case, Vec<Sent>)>> {
    let file = Figures::read(&root.join("peers/data/ns2_forced_drops.csv.gz"))?;
    let mut order = Vec::new();
    let mut cases: BTreeMap<Case, Vec<Sent>> = BTreeMap::new();
    for row in file.select(&["cfg", "tcp", "case", "drops", "event", "time", "seqno", "rtx"])? {
        let case: Case = (row[0].into(), row[1].into(), row[2].into(), row[3].into());
        if !cases.contains_key(&case) {
            order.push(case.clone());
        }
        let sent = cases.entry(case).or_default();
        if row[4] == "send" {
            sent.push(Sent { time: row[5].parse()?, segment: row[6].parse()?, again: row[7] == "1" });
        }
    }
    order
        .into_iter()
        .map(|case| {
            let sent = cases.remove(&case).context("a case that was just read")?;
            Ok((case, sent))
        })
        .collect()
}

fn ours(case: &Case, until: f64) -> Result<Vec<Sent>> {
    let drops = case.3.split_whitespace().map(str::parse).collect::<Result<Vec<u64>, _>>()?;
    // The reference's times are cut to microseconds.
    let until = Time::ZERO + Span::from_secs_f64(until) + Span::from_micros(1);
    let events = run_ns2(&case.0, &case.1, &drops);
    Ok(events
        .iter()
        .filter(|event| event.kind != Kind::Ack && event.time <= until)
        .map(|event| Sent { time: event.time.seconds(), segment: event.segment, again: event.kind == Kind::Resend })
        .collect())
}

fn run(root: &Path) -> Result<()> {
    let mut rows = Vec::new();
    for (case, reference) in reference(root)? {
        let ours = ours(&case, reference.last().map_or(0.0, |sent| sent.time))?;
        let pairs = || ours.iter().zip(&reference);
        let differs = |(a, b): (&Sent, &Sent)| (a.segment, a.again) != (b.segment, b.again);
        let difference = pairs()
            .position(differs)
            .or_else(|| (ours.len() != reference.len()).then(|| ours.len().min(reference.len())));
        let error = pairs().map(|(a, b)| (a.time - b.time).abs()).fold(0.0, f64::max);
        let (cfg, tcp, name, drops) = case;
        rows.push(Row {
            cfg,
            tcp,
            case: name,
            drops,
            segments_ns2: reference.len(),
            segments: ours.len(),
            again: reference.iter().filter(|sent| sent.again).count(),
            first_difference: difference,
            time_error_ms: (error * 1e6).round() / 1e3,
        });
    }
    figures::write(&root.join("results/forced_drops.csv"), &rows)
}

/// A line for each variant and configuration: over its cases, from no loss to four and the loss of a retransmission.
fn compare(root: &Path) -> Result<Vec<Table>> {
    let file = Figures::read(&root.join("results/forced_drops.csv"))?;
    let mut builder = Builder::default();
    builder.push_record([
        "configuration",
        "TCP",
        "losses",
        "segments, ns-2",
        "Hopyard",
        "of these again",
        "first difference",
        "largest difference of time, ms",
        "required",
        "met",
    ]);
    let mut table =
        Table { title: "Segments sent with forced drops".into(), text: String::new(), bounded: 0, met: 0, worst: 0.0 };
    let columns = ["cfg", "tcp", "case", "segments_ns2", "segments", "again", "first_difference", "time_error_ms"];
    for row in file.select(&columns)? {
        let error: f64 = row[7].parse()?;
        let met = row[6].is_empty() && row[3] == row[4] && error <= 1.0;
        table.bounded += 1;
        table.met += usize::from(met);
        let mut record: Vec<String> = row.iter().map(|&part| part.to_owned()).collect();
        record[2] = record[2].trim_start_matches("drop").replace('_', " ");
        if record[6].is_empty() {
            record[6] = "none".into();
        }
        record.extend(["all equal, 1 ms".to_owned(), if met { "yes" } else { "**no**" }.to_owned()]);
        builder.push_record(record);
    }
    table.text = builder.build().with(Style::markdown()).to_string();
    Ok(vec![table])
}
