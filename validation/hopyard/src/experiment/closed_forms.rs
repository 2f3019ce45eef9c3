//! Saturated stations against closed forms: arithmetic for one, Bianchi's model for more.

use std::path::Path;

use anyhow::Result;
use hopyard_engine::units::Rate;
use hopyard_model::phy::Reception;
use rayon::prelude::*;
use serde::Serialize;

use super::Experiment;
use crate::comparison::{Bound, Measure, Table, compare};
use crate::figures::{self, Figures, rounded};
use crate::saturation::Dcf;
use crate::setup::{Scenario, circle};

/// One to twenty stations around a receiver.
pub const CLOSED_FORMS: Experiment = Experiment {
    name: "closed_forms",
    title: "Saturated stations against closed forms, profile rfc",
    run: |root, _| run(root),
    compare: compare_forms,
    needs: &["closed_forms.csv", "closed_forms_theory.csv"],
};

const PAYLOAD: u32 = 1000;
/// IP and UDP.
const HEADERS: u32 = 28;
/// Bytes of MAC header, LLC/SNAP and frame check that the profile adds.
const OVERHEAD: u64 = 36;
const MEASURED_S: f64 = 20.0;

#[derive(Serialize)]
struct Row {
    rate_mbps: u32,
    rts: u8,
    senders: u32,
    seed: u32,
    throughput_kbps: f64,
}

fn theory(rate_mbps: u32, rts: bool, senders: u32) -> f64 {
    let rate = |mbps: u32| Rate::from_bps(u64::from(mbps) * 1_000_000);
    let mut dcf = Dcf::ieee80211b(rate(rate_mbps), rate(1), false, rts);
    dcf.overhead = hopyard_engine::units::Bytes::new(OVERHEAD);
    let size = PAYLOAD + HEADERS;
    let throughput =
        if senders == 1 { dcf.one_station(size, PAYLOAD) } else { dcf.saturation(senders, size, PAYLOAD).throughput };
    throughput / 1000.0
}

fn simulated(rate_mbps: u32, rts: bool, senders: u32, seed: u32) -> Result<f64> {
    let mut scenario = Scenario::stationary("rfc", "static", &circle(senders, 100.0))?;
    scenario.rate(rate_mbps, rts);
    scenario.ranges(250, 550);
    // The closed form lets a collision destroy every frame, and all who sense it wait an EIFS. With `sinr` no EIFS
    // follows a preamble that was not found.
    scenario.spec.channels[0].radio.reception = Reception::Threshold;
    let alone_us = f64::from(PAYLOAD) * 8e3 / theory(rate_mbps, rts, 1);
    for sender in 1..=senders {
        scenario.add_cbr(sender, 0, 1.0 + 0.01 * f64::from(sender), PAYLOAD, 0.8 * alone_us);
    }
    scenario.times(5.0, 5.0 + MEASURED_S);
    let outcome = scenario.run(seed)?;
    let packets: u64 = outcome.flows.iter().map(|flow| flow.packets_unique).sum();
    Ok(packets as f64 * f64::from(PAYLOAD) * 8.0 / MEASURED_S / 1000.0)
}

fn run(root: &Path) -> Result<()> {
    let mut cases = Vec::new();
    for rate_mbps in [1, 2, 11] {
        for rts in [true, false] {
            for senders in [1, 2, 3, 5, 10, 15, 20] {
                cases.push((rate_mbps, rts, senders));
            }
        }
    }
    let expected: Vec<Row> = cases
        .iter()
        .map(|&(rate_mbps, rts, senders)| Row {
            rate_mbps,
            rts: u8::from(rts),
            senders,
            seed: 0,
            throughput_kbps: rounded(theory(rate_mbps, rts, senders)),
        })
        .collect();
    let runs: Vec<_> = cases.iter().flat_map(|&case| (1..=5).map(move |seed| (case, seed))).collect();
    let rows = runs
        .par_iter()
        .map(|&((rate_mbps, rts, senders), seed)| {
            let throughput_kbps = rounded(simulated(rate_mbps, rts, senders, seed)?);
            Ok(Row { rate_mbps, rts: u8::from(rts), senders, seed, throughput_kbps })
        })
        .collect::<Result<Vec<_>>>()?;
    figures::write(&root.join("results/closed_forms_theory.csv"), &expected)?;
    figures::write(&root.join("results/closed_forms.csv"), &rows)
}

fn compare_forms(root: &Path) -> Result<Vec<Table>> {
    let ours = Figures::read(&root.join("results/closed_forms.csv"))?;
    let theory = Figures::read(&root.join("results/closed_forms_theory.csv"))?;
    let keys = [("senders", "stations"), ("rate_mbps", "rate, Mb/s"), ("rts", "RTS")];
    let measure = Measure { column: "throughput_kbps", title: "throughput, kbit/s", bound: Bound::Within(0.03) };
    Ok(vec![compare("Stations against closed forms", "closed form", &keys, &measure, &ours, &theory)?])
}
