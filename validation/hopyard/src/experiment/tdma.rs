//! Slotted access: saturated nodes against ns-2's, and chains and lone packets against the arithmetic of the slots.

use std::path::Path;

use anyhow::Result;
use hopyard_engine::units::Rate;
use hopyard_engine::{Span, Time};
use hopyard_model::link::arp::Resolution;
use hopyard_model::mac;
use hopyard_model::mac::tdma::{self, Owner, Packing, Schedule};
use hopyard_model::params::Params as _;
use rayon::prelude::*;
use serde::Serialize;

use super::Experiment;
use crate::comparison::{Bound, Measure, Table, compare};
use crate::figures::{self, Figures, rounded};
use crate::setup::{Scenario, chain};

/// Fixed slots, in one hop and in chains.
pub const TDMA: Experiment = Experiment {
    name: "tdma",
    title: "Slotted access against ns-2 and closed forms",
    run: |root, _| run(root),
    compare: compare_slots,
    needs: &["tdma.csv", "tdma_chains.csv", "tdma_chains_theory.csv", "tdma_delays.csv", "tdma_delays_theory.csv"],
};

/// Frames before the measurement, and in it.
const BEFORE: u64 = 100;
const MEASURED: u64 = 2000;

const PAYLOAD: u32 = 512;
/// IP and UDP.
const HEADERS: u32 = 28;
const SLOT: Span = Span::from_millis(13);
const SPACING: f64 = 200.0;

#[derive(Serialize)]
struct Row {
    nodes: u32,
    rate_mbps: u32,
    slot_bytes: u32,
    payload_bytes: u32,
    packets_per_second_per_node: f64,
}

#[derive(Serialize)]
struct Chain {
    hops: u32,
    slots: u32,
    packing: &'static str,
    packets_per_second: f64,
}

#[derive(Serialize)]
struct Delay {
    hops: u32,
    order: &'static str,
    delay_us: f64,
}

fn with_slots(scenario: &mut Scenario, profile: &str, change: impl FnOnce(&mut tdma::Params)) -> Result<tdma::Params> {
    let mut params = tdma::Params::of_profile(profile);
    change(&mut params);
    params.check()?;
    scenario.spec.channels[0].mac = mac::Config::Tdma(params.clone().into());
    Ok(params)
}

/// Packets a second of each node when every node sends to the next one as fast as it may.
fn saturated(nodes: u32, rate_mbps: u32, slot_bytes: u32, payload_bytes: u32) -> Result<f64> {
    let mut scenario = Scenario::stationary("ns2", "static", &chain(nodes, 1.0))?;
    let params = with_slots(&mut scenario, "ns2", |it| {
        it.rate = Rate::from_bps(u64::from(rate_mbps) * 1_000_000);
        it.slot = it.rate.airtime(slot_bytes);
    })?;
    let frame = params.slot * u64::from(nodes + 1);
    // A frame longer than its slot goes into the next one in ns-2, and is dropped here.
    let most = params.largest_packet() - HEADERS - 1;
    for node in 0..nodes {
        let interval_us = frame.seconds() * 0.5e6;
        scenario.add_cbr(node, (node + 1) % nodes, 0.0, payload_bytes.min(most), interval_us);
    }
    scenario.spec.measure_from = Time::ZERO + frame * BEFORE;
    scenario.spec.duration = frame * (BEFORE + MEASURED);
    let outcome = scenario.run(0)?;
    let packets: u64 = outcome.flows.iter().map(|flow| flow.packets_arrived).sum();
    Ok(packets as f64 / f64::from(nodes) / (frame * MEASURED).seconds())
}

/// A chain whose nodes hear their neighbours only, at 1 Mb/s, and know all addresses.
fn slotted_chain(hops: u32, change: impl FnOnce(&mut tdma::Params)) -> Result<(Scenario, tdma::Params)> {
    let mut scenario = Scenario::stationary("rfc", "oracle", &chain(hops + 1, SPACING))?;
    scenario.ranges(250, 250);
    scenario.spec.link.arp.resolution = Resolution::Off;
    let params = with_slots(&mut scenario, "rfc", |it| {
        (it.rate, it.slot) = (Rate::from_bps(1_000_000), SLOT);
        change(it);
    })?;
    Ok((scenario, params))
}

/// The owners of each slot when nodes so many hops apart share one.
fn shared(hops: u32, slots: u32) -> Schedule {
    let of = |slot: u32| (slot..=hops).step_by(slots as usize).collect();
    Schedule::Owners((0..slots).map(|slot| Owner::Nodes(of(slot))).collect())
}

/// Packets a second through a chain with a source that always has one: the simulated figure, and the closed form.
fn through(hops: u32, slots: u32, packing: Packing) -> Result<(f64, f64)> {
    let (mut scenario, params) = slotted_chain(hops, |it| (it.packing, it.schedule) = (packing, shared(hops, slots)))?;
    let airtime = params.airtime(PAYLOAD + HEADERS);
    let fit = match packing {
        Packing::Fit => SLOT.nanos() / airtime.nanos(),
        Packing::One => 1,
    };
    let frame = SLOT * u64::from(slots);
    scenario.add_cbr(0, hops, 0.0, PAYLOAD, SLOT.seconds() * 1e6 / 4.0);
    scenario.spec.measure_from = Time::ZERO + frame * BEFORE;
    scenario.spec.duration = frame * (BEFORE + MEASURED);
    let arrived = scenario.run(0)?.flows[0].packets_arrived;
    Ok((arrived as f64 / (frame * MEASURED).seconds(), fit as f64 / frame.seconds()))
}

/// The delay of a lone packet in microseconds, given to the first node at the beginning of a frame: the simulated one,
/// and that of the arithmetic. In the order of the chain, a hop takes a slot; against it, a frame less one slot.
fn lone(hops: u32, along: bool) -> Result<(f64, f64)> {
    let mut owners: Vec<Owner> = (0..=hops).map(Owner::Node).collect();
    if !along {
        owners.reverse();
    }
    let (mut scenario, params) = slotted_chain(hops, |it| it.schedule = Schedule::Owners(owners))?;
    scenario.add_cbr(0, hops, 0.0, PAYLOAD, 1e8);
    scenario.spec.duration = Span::from_secs(5);
    let flow = scenario.run(0)?.flows.remove(0);
    let nanoseconds = (flow.delay_ms.unwrap_or(f64::NAN) * 1e6).round();
    let hops = u64::from(hops);
    let (wait, hop) = if along { (0, 1) } else { (hops, hops) };
    // 200 m at the speed of light of the model, rounded up.
    let last = params.airtime(PAYLOAD + HEADERS) + Span::from_nanos((SPACING / 0.3).ceil() as u64);
    let expected = SLOT * wait + SLOT * (hop * (hops - 1)) + last;
    Ok((nanoseconds / 1e3, expected.nanos() as f64 / 1e3))
}

fn run(root: &Path) -> Result<()> {
    let peer = Figures::read(&root.join("peers/data/ns2_tdma.csv"))?;
    let columns = ["nodes", "rate_mbps", "slot_bytes", "payload_bytes"];
    let cases = peer
        .select(&columns)?
        .map(|row| Ok(row.iter().map(|cell| cell.parse()).collect::<Result<Vec<u32>, _>>()?))
        .collect::<Result<Vec<_>>>()?;
    let rows = cases
        .par_iter()
        .map(|case| {
            let [nodes, rate_mbps, slot_bytes, payload_bytes] = case[..] else { anyhow::bail!("four columns") };
            let found = saturated(nodes, rate_mbps, slot_bytes, payload_bytes)?;
            let packets_per_second_per_node = (found * 1e6).round() / 1e6;
            Ok(Row { nodes, rate_mbps, slot_bytes, payload_bytes, packets_per_second_per_node })
        })
        .collect::<Result<Vec<_>>>()?;
    figures::write(&root.join("results/tdma.csv"), &rows)?;

    let (mut chains, mut chains_theory) = (Vec::new(), Vec::new());
    for hops in 1..=8 {
        for (packing, name) in [(Packing::Fit, "fit"), (Packing::One, "one")] {
            let mut lengths = vec![hops + 1];
            lengths.extend((hops > 2).then_some(3));
            for slots in lengths {
                let (found, expected) = through(hops, slots, packing)?;
                let row = |value| Chain { hops, slots, packing: name, packets_per_second: rounded(value) };
                chains.push(row(found));
                chains_theory.push(row(expected));
            }
        }
    }
    figures::write(&root.join("results/tdma_chains.csv"), &chains)?;
    figures::write(&root.join("results/tdma_chains_theory.csv"), &chains_theory)?;

    let (mut delays, mut delays_theory) = (Vec::new(), Vec::new());
    for hops in 1..=8 {
        for (along, order) in [(true, "along the chain"), (false, "against it")] {
            let (found, expected) = lone(hops, along)?;
            delays.push(Delay { hops, order, delay_us: found });
            delays_theory.push(Delay { hops, order, delay_us: expected });
        }
    }
    figures::write(&root.join("results/tdma_delays.csv"), &delays)?;
    figures::write(&root.join("results/tdma_delays_theory.csv"), &delays_theory)
}

fn compare_slots(root: &Path) -> Result<Vec<Table>> {
    let read = |name: &str| Figures::read(&root.join(name));
    let one_hop = compare(
        "Saturated nodes with slots in turn, profile ns2",
        "ns-2.35",
        &[("nodes", "nodes"), ("rate_mbps", "rate, Mb/s"), ("slot_bytes", "slot, B"), ("payload_bytes", "payload, B")],
        &Measure {
            column: "packets_per_second_per_node",
            title: "packets a second of each node",
            bound: Bound::Within(0.001),
        },
        &read("results/tdma.csv")?,
        &read("peers/data/ns2_tdma.csv")?,
    )?;
    let chains = compare(
        "Saturated chains, profile rfc, slots of 13 ms",
        "closed form",
        &[("hops", "hops"), ("slots", "slots in a frame"), ("packing", "packing")],
        &Measure { column: "packets_per_second", title: "packets a second", bound: Bound::Within(0.001) },
        &read("results/tdma_chains.csv")?,
        &read("results/tdma_chains_theory.csv")?,
    )?;
    let delays = compare(
        "A lone packet over a chain, slots of 13 ms",
        "arithmetic",
        &[("hops", "hops"), ("order", "order of slots")],
        &Measure { column: "delay_us", title: "delay, µs", bound: Bound::Within(0.0) },
        &read("results/tdma_delays.csv")?,
        &read("results/tdma_delays_theory.csv")?,
    )?;
    Ok(vec![one_hop, chains, delays])
}
