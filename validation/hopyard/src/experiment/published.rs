//! Tables 1 to 6 of Oo and Othman, "The Effect of Packet Losses and Delay on TCP Traffic over Wireless Ad Hoc Networks"
//! (2011), beside Hopyard and ns-2.35.
//!
//! A published figure is of one run of ns-2.34 with an unknown seed. It agrees with a simulator here if it is within
//! the range of the simulator's seeds, or if the mean of the seeds is near.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context as _, Result};
use tabled::builder::Builder;
use tabled::settings::Style;

use crate::comparison::{Table, digits};
use crate::figures::{Figures, Key};
use crate::statistics::Sample;

/// How far a mean may be from a published figure that is outside of the seeds' range.
const NEAR: f64 = 0.05;
/// Half of the last digit that the loss rates are printed with.
const LOSS_ROUNDING: f64 = 0.005;
/// The grid has two transfers; the paper gives their mean.
const GRID_TRANSFERS: f64 = 2.0;

/// The figures of one simulator: by column, the samples of each case.
type Samples = BTreeMap<&'static str, BTreeMap<Key, Sample>>;

/// A printed figure.
struct Cell<'a> {
    table: &'a str,
    topology: &'a str,
    mobility: &'a str,
    routing: &'a str,
    tcp: &'a str,
    column: &'static str,
    published: &'a str,
    value: f64,
}

/// Whether a simulator has the printed figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    Agrees,
    /// The figure is that of both transfers, where others of its table are means of the two.
    AgreesAsSum,
    Differs,
}

impl Verdict {
    /// Compares a printed figure with the means of two transfers, or the figures of one.
    fn of(value: f64, sample: &Sample, rounding: f64, is_mean_of_two: bool) -> Self {
        let agrees = |value: f64| {
            let (low, high) = sample.range();
            (low - rounding..=high + rounding).contains(&value) || (sample.mean() / value - 1.0).abs() <= NEAR
        };
        if agrees(value) {
            Self::Agrees
        } else if is_mean_of_two && agrees(value / GRID_TRANSFERS) {
            Self::AgreesAsSum
        } else {
            Self::Differs
        }
    }

    const fn text(self) -> &'static str {
        match self {
            Self::Agrees => "yes",
            Self::AgreesAsSum => "as the sum of both",
            Self::Differs => "**no**",
        }
    }
}

/// What the paper does not tell, or tells otherwise than its figures need, by topology, mobility and protocol. The last
/// part says why cells differ; it is printed only where some do.
const REASONS: [(&str, &str, &str, &str); 14] = [
    (
        "chain",
        "static",
        "DSDV",
        "throughput without Vegas: the paper's 97.5 leaves out the start, in which DSDV has no route (97.5 is the rate \
         afterwards); Vegas' 74.4 includes it",
    ),
    ("chain", "static", "DSR", "not known"),
    ("chain", "static", "AODV", "not known"),
    ("chain", "mobile", "DSDV", MOVEMENT),
    ("chain", "mobile", "DSR", MOVEMENT),
    ("chain", "mobile", "AODV", MOVEMENT),
    ("grid", "static", "DSDV", SPACING),
    ("grid", "static", "DSR", "throughput of 90.5 is near the sum of both transfers; otherwise as for AODV"),
    (
        "grid",
        "static",
        "AODV",
        "the spacing and the start are not told, and four or five hops by chance; with a loss rate of 0.00 no \
         packet may be in a queue at the end",
    ),
    ("grid", "static", "AOMDV", SPACING),
    ("grid", "mobile", "DSDV", GRID_MOVEMENT),
    ("grid", "mobile", "DSR", GRID_MOVEMENT),
    ("grid", "mobile", "AODV", SPACING),
    ("grid", "mobile", "AOMDV", SPACING),
];
const MOVEMENT: &str = "neither direction nor distance of the two nodes is told; those used here fit AODV best";
const SPACING: &str = "neither the spacing nor the start of the transfers is told";
const GRID_MOVEMENT: &str = "the distance of the moving nodes is not told; delays of a fifth and throughput of up to \
                             four times the grid at rest were reached by no movement tried in ns-2";
/// Why there is no figure of ns-2.
const WESTWOOD: &str = "Westwood was a patch of ns-2.34 that is not at hand";

const COLUMNS: [(&str, &str); 3] =
    [("plr_pct", "packet loss rate, %"), ("delay_ms", "mean delay, ms"), ("throughput_kbps", "throughput, kbit/s")];

/// One table for each of the paper's, and one of what agrees.
pub fn tables(root: &Path) -> Result<Vec<Table>> {
    let published = Figures::read(&root.join("peers/data/oo_othman.csv"))?;
    let rows = published.select(&["table", "topology", "mobility", "routing", "tcp", "column", "published"])?;
    let cells = rows.map(|row| cell(&row)).collect::<Result<Vec<_>>>()?;
    let ours = samples(&root.join("results/paper.csv"))?;
    let ns2 = samples(&root.join("peers/data/ns2_paper.csv"))?;
    let mut numbers: Vec<&str> = cells.iter().map(|cell| cell.table).collect();
    numbers.dedup();
    let of = |number: &&str| cells.iter().filter(|cell| cell.table == *number).collect::<Vec<_>>();
    let mut all: Vec<Table> = numbers.iter().map(|number| beside(&of(number), &ours, &ns2)).collect();
    all.push(overview(&cells, &ours, &ns2));
    Ok(all)
}

fn cell<'a>(row: &[&'a str]) -> Result<Cell<'a>> {
    let &[table, topology, mobility, routing, tcp, column, published] = row else { anyhow::bail!("seven columns") };
    let value = published.parse().with_context(|| format!("column published: \"{published}\" is no number"))?;
    let known = COLUMNS.iter().find(|(name, _)| *name == column);
    let (column, _) = *known.with_context(|| format!("column column: \"{column}\" is no quantity"))?;
    Ok(Cell { table, topology, mobility, routing, tcp, column, published, value })
}

fn samples(path: &Path) -> Result<Samples> {
    let figures = Figures::read(path)?;
    let keys = ["topology", "mobility", "routing", "tcp"];
    COLUMNS.iter().map(|&(column, _)| Ok((column, figures.samples(&keys, column)?.into_iter().collect()))).collect()
}

impl Cell<'_> {
    /// What a simulator has for the cell: of the two transfers of the grid, the mean throughput.
    fn sample(&self, all: &Samples) -> Option<Sample> {
        let key: Key = [self.topology, self.mobility, self.routing, self.tcp].map(str::to_owned).to_vec();
        let found = all[self.column].get(&key).filter(|sample| sample.len() > 0)?;
        Some(if self.is_mean_of_two() { found.scaled(1.0 / GRID_TRANSFERS) } else { found.clone() })
    }

    fn is_mean_of_two(&self) -> bool {
        self.topology == "grid" && self.column == "throughput_kbps"
    }

    fn verdict(&self, sample: &Sample) -> Verdict {
        let rounding = if self.column == "plr_pct" { LOSS_ROUNDING } else { 0.0 };
        Verdict::of(self.value, sample, rounding, self.is_mean_of_two())
    }
}

/// One of the paper's tables.
fn beside(cells: &[&Cell], ours: &Samples, ns2: &Samples) -> Table {
    let first = cells[0];
    let quantity = COLUMNS.iter().find(|(name, _)| *name == first.column).map_or("", |(_, title)| *title);
    let what = if first.is_mean_of_two() { ", mean of the two transfers" } else { "" };
    let mut builder = Builder::default();
    let heading = ["routing", "mobility", "TCP", "paper"];
    let each = ["range of seeds", "to the paper's", "agrees"];
    let simulators = ["Hopyard", "ns-2"].map(|name| [&[name], &each[..]].concat()).concat();
    builder.push_record(heading.into_iter().chain(simulators));
    let title = format!("Table {} of the paper, {}: {quantity}{what}", first.table, first.topology);
    let mut table = Table { title, text: String::new(), bounded: 0, met: 0, worst: 0.0 };
    for cell in cells {
        let mut record = [cell.routing, cell.mobility, cell.tcp, cell.published].map(str::to_owned).to_vec();
        for (place, simulator) in [ours, ns2].into_iter().enumerate() {
            let Some(sample) = cell.sample(simulator) else {
                record.extend([const { String::new() }; 4]);
                continue;
            };
            let ((low, high), ratio) = (sample.range(), sample.mean() / cell.value);
            let verdict = cell.verdict(&sample);
            record.extend([
                digits(sample.mean()),
                format!("{} to {}", digits(low), digits(high)),
                if ratio.is_finite() { format!("{ratio:.3}") } else { String::new() },
                verdict.text().to_owned(),
            ]);
            if place == 0 {
                table.bounded += 1;
                table.met += usize::from(verdict != Verdict::Differs);
                let percent = 100.0 * (ratio - 1.0);
                if percent.is_finite() && percent.abs() > table.worst.abs() {
                    table.worst = percent;
                }
            }
        }
        builder.push_record(record);
    }
    table.text = builder.build().with(Style::markdown()).to_string();
    table
}

/// How many cells agree, by topology, mobility and protocol, and why the others do not.
fn overview(cells: &[Cell], ours: &Samples, ns2: &Samples) -> Table {
    let mut builder = Builder::default();
    builder.push_record([
        "topology",
        "mobility",
        "routing",
        "senders",
        "cells",
        "Hopyard agrees",
        "ns-2 agrees",
        "both differ in the same direction",
        "why cells differ",
    ]);
    for (topology, mobility, routing, reason) in REASONS {
        for westwood in [false, true] {
            let group = cells.iter().filter(|cell| {
                (cell.topology, cell.mobility, cell.routing) == (topology, mobility, routing)
                    && (cell.tcp == "Westwood") == westwood
            });
            let (mut count, mut agree, mut same, mut of_ns2) = (0, [0; 2], 0, 0);
            for cell in group {
                let both = [ours, ns2].map(|simulator| cell.sample(simulator));
                let verdicts = both.each_ref().map(|it| it.as_ref().map(|sample| cell.verdict(sample)));
                count += 1;
                of_ns2 += usize::from(both[1].is_some());
                for (agree, verdict) in agree.iter_mut().zip(verdicts) {
                    *agree += usize::from(verdict.is_some_and(|it| it != Verdict::Differs));
                }
                if let [Some(one), Some(other)] = &both
                    && verdicts == [Some(Verdict::Differs); 2]
                {
                    same += usize::from((one.mean() > cell.value) == (other.mean() > cell.value));
                }
            }
            let why = match (agree[0] == count && (of_ns2 == 0 || agree[1] == count), westwood) {
                (true, _) => "",
                (_, true) => WESTWOOD,
                (_, false) => reason,
            };
            let senders = if westwood { "Westwood" } else { "Tahoe, Reno, NewReno, Vegas" };
            let ns2 = if of_ns2 == 0 { String::new() } else { agree[1].to_string() };
            let same = if of_ns2 == 0 { String::new() } else { same.to_string() };
            let (count, agree) = (count.to_string(), agree[0].to_string());
            let record = [topology, mobility, routing, senders, &count, &agree, &ns2, &same, why];
            builder.push_record(record);
        }
    }
    Table {
        title: "The paper's tables: cells that agree".into(),
        text: builder.build().with(Style::markdown()).to_string(),
        bounded: 0,
        met: 0,
        worst: 0.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_figure_agrees_in_the_range_of_the_seeds_near_the_mean_or_as_a_sum() {
        let sample = Sample::new(vec![38.0, 40.0, 42.0]);
        let verdict = |value, of_two| Verdict::of(value, &sample, 0.0, of_two);
        assert_eq!(verdict(38.0, true), Verdict::Agrees);
        // 40 is 4.9 % less than 42.06, and 5.2 % less than 42.2.
        assert_eq!(verdict(42.06, true), Verdict::Agrees);
        assert_eq!(verdict(42.2, true), Verdict::Differs);
        assert_eq!(verdict(80.3, true), Verdict::AgreesAsSum);
        assert_eq!(verdict(80.3, false), Verdict::Differs);
        let rare = Sample::new(vec![0.004, 0.012]);
        assert_eq!(Verdict::of(0.0, &rare, LOSS_ROUNDING, false), Verdict::Agrees);
        assert_eq!(Verdict::of(0.0, &rare, 0.003, false), Verdict::Differs);
    }

    #[test]
    fn every_printed_figure_is_in_one_table_and_has_a_reason() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let published = Figures::read(&root.join("peers/data/oo_othman.csv")).expect("the printed figures");
        let columns = ["table", "topology", "mobility", "routing", "tcp", "column", "published"];
        let rows: Vec<Vec<&str>> = published.select(&columns).expect("the columns").collect();
        let cells: Vec<Cell> = rows.iter().map(|row| cell(row).expect("a cell")).collect();
        // Five senders, at rest and in motion: three protocols over the chain, four over the grid.
        assert_eq!(cells.len(), 3 * 2 * 5 * (3 + 4));
        for cell in &cells {
            let place = (cell.topology, cell.mobility, cell.routing);
            assert_eq!(REASONS.iter().filter(|it| (it.0, it.1, it.2) == place).count(), 1, "{place:?}");
        }
        let fault = cell(&["1", "chain", "static", "DSR", "Reno", "plr_pct", "?"]).err().expect("a fault");
        assert!(fault.to_string().contains("\"?\" is no number"));
    }
}
