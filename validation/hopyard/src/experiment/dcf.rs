//! Saturated senders of datagrams around one receiver.

use std::path::Path;

use anyhow::Result;
use rayon::prelude::*;
use serde::Serialize;

use super::Experiment;
use crate::comparison::{Bound, KeyColumn, Measure, Table, compare};
use crate::figures::{self, Figures, rounded};
use crate::setup::{Scenario, chain, circle};

/// One DCF station alone.
pub const ONE_STATION: Experiment = Experiment {
    name: "dcf",
    title: "One saturated DCF station",
    run: |root, _| run(root, "dcf.csv", &one_station_cases()),
    compare: compare_one_station,
    needs: &["dcf.csv"],
};

/// Several DCF stations.
pub const CONTENTION: Experiment = Experiment {
    name: "contend",
    title: "Contending and hidden DCF stations",
    run: |root, _| run(root, "contend.csv", &contention_cases()),
    compare: compare_contention,
    needs: &["contend.csv"],
};

const WARM_UP_S: f64 = 5.0;

#[derive(Clone, Copy)]
struct Case {
    scenario: &'static str,
    size: u32,
    rate_mbps: u32,
    rts: bool,
    senders: u32,
    seed: u32,
    measured_s: f64,
}

#[derive(Serialize)]
struct Row {
    scenario: &'static str,
    size: u32,
    rate_mbps: u32,
    rts: u8,
    range_m: u32,
    sense_m: u32,
    senders: u32,
    seed: u32,
    measured_s: f64,
    packets: u64,
    throughput_kbps: f64,
    jain: f64,
}

fn one_station_cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for size in [64, 512, 1000, 1460] {
        for rate_mbps in [1, 2, 11] {
            for rts in [true, false] {
                for seed in 1..=5 {
                    cases.push(Case { scenario: "onehop", size, rate_mbps, rts, senders: 1, seed, measured_s: 20.0 });
                }
            }
        }
    }
    cases
}

fn contention_cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for (scenario, senders, measured_s) in
        [("contend", 2, 10.0), ("contend", 5, 10.0), ("contend", 10, 10.0), ("hidden", 2, 100.0)]
    {
        for size in [512, 1460] {
            for rate_mbps in [1, 2, 11] {
                for rts in [true, false] {
                    // Long collisions make the throughput of ten senders vary most at the lowest rate.
                    let varies = (senders, size, rate_mbps, rts) == (10, 1460, 1, false);
                    for seed in 1..=if varies { 40 } else { 10 } {
                        cases.push(Case { scenario, size, rate_mbps, rts, senders, seed, measured_s });
                    }
                }
            }
        }
    }
    cases
}

/// The time in microseconds that one station alone needs for a datagram.
fn cycle_us(size: u32, rate_mbps: u32, rts: bool) -> f64 {
    let handshake = if rts { 352.0 + 10.0 + 304.0 + 10.0 } else { 0.0 };
    50.0 + 15.5 * 20.0 + handshake + 192.0 + f64::from((size + 62) * 8) / f64::from(rate_mbps) + 10.0 + 304.0
}

impl Case {
    fn run(&self) -> Result<Row> {
        let hidden = self.scenario == "hidden";
        let places = match self.scenario {
            "onehop" => chain(2, 100.0),
            "hidden" => vec![(200.0, 0.0), (0.0, 0.0), (400.0, 0.0)],
            _ => circle(self.senders, 100.0),
        };
        let sense = if hidden { 250 } else { 550 };
        let mut scenario = Scenario::stationary("ns2", "static", &places)?;
        scenario.rate(self.rate_mbps, self.rts);
        scenario.ranges(250, sense);
        // A quarter more than one sender could send alone, so that no queue runs dry.
        let interval = 0.8 * cycle_us(self.size, self.rate_mbps, self.rts);
        for sender in 1..=self.senders {
            scenario.add_cbr(sender, 0, 1.0 + 0.01 * f64::from(sender), self.size, interval);
        }
        scenario.times(WARM_UP_S, WARM_UP_S + self.measured_s);
        let outcome = scenario.run(self.seed)?;
        let shares: Vec<f64> = outcome.flows.iter().map(|flow| flow.packets_unique as f64).collect();
        let packets = outcome.flows.iter().map(|flow| flow.packets_unique).sum::<u64>();
        let squares: f64 = shares.iter().map(|share| share * share).sum();
        let total: f64 = shares.iter().sum();
        Ok(Row {
            scenario: self.scenario,
            size: self.size,
            rate_mbps: self.rate_mbps,
            rts: u8::from(self.rts),
            range_m: 250,
            sense_m: sense,
            senders: self.senders,
            seed: self.seed,
            measured_s: self.measured_s,
            packets,
            throughput_kbps: rounded(packets as f64 * f64::from(self.size) * 8.0 / self.measured_s / 1000.0),
            jain: rounded(total * total / (shares.len() as f64 * squares)),
        })
    }
}

fn run(root: &Path, file: &str, cases: &[Case]) -> Result<()> {
    let rows = cases.par_iter().map(Case::run).collect::<Result<Vec<_>>>()?;
    figures::write(&root.join("results").join(file), &rows)
}

const CELL: [KeyColumn; 4] =
    [("senders", "senders"), ("size", "payload, B"), ("rate_mbps", "rate, Mb/s"), ("rts", "RTS")];
const THROUGHPUT: Measure =
    Measure { column: "throughput_kbps", title: "throughput, kbit/s", bound: Bound::Within(0.01) };
const FAIRNESS: Measure = Measure { column: "jain", title: "Jain's fairness index", bound: Bound::Shown };

fn compare_one_station(root: &Path) -> Result<Vec<Table>> {
    let ours = Figures::read(&root.join("results/dcf.csv"))?;
    let ns2 = Figures::read(&root.join("peers/data/ns2_dcf.csv"))?;
    let ns3 = Figures::read(&root.join("peers/data/ns3_dcf.csv"))?;
    let shown = Measure { bound: Bound::Shown, ..THROUGHPUT };
    Ok(vec![
        compare("One station against ns-2", "ns-2", &CELL[1..], &THROUGHPUT, &ours, &ns2)?,
        compare("One station in profile ns2 against ns-3", "ns-3", &CELL[1..], &shown, &ours, &ns3)?,
    ])
}

fn compare_contention(root: &Path) -> Result<Vec<Table>> {
    let ours = |scenario| Figures::read(&root.join("results/contend.csv"))?.only(&[("scenario", scenario)]);
    let ns2 = |scenario| Figures::read(&root.join("peers/data/ns2_contend.csv"))?.only(&[("scenario", scenario)]);
    let ns3 = Figures::read(&root.join("peers/data/ns3_contend.csv"))?;
    let bound = |fraction| Measure { bound: Bound::Within(fraction), ..THROUGHPUT };
    let shown = Measure { bound: Bound::Shown, ..THROUGHPUT };
    let (contend, hidden) = (ours("contend")?, ours("hidden")?);
    Ok(vec![
        compare("Contending senders against ns-2", "ns-2", &CELL, &bound(0.03), &contend, &ns2("contend")?)?,
        compare("Hidden senders against ns-2", "ns-2", &CELL[1..], &bound(0.05), &hidden, &ns2("hidden")?)?,
        compare("Hidden senders against ns-2", "ns-2", &CELL[1..], &FAIRNESS, &hidden, &ns2("hidden")?)?,
        compare("Contending senders in profile ns2 against ns-3", "ns-3", &CELL, &shown, &contend, &ns3)?,
    ])
}
