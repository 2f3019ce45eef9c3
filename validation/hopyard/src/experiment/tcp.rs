//! TCP over chains and over moving nodes.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context as _, Result};
use hopyard_engine::units::Bytes;
use hopyard_model::observe::Outcome;
use rayon::prelude::*;
use serde::Serialize;
use tabled::builder::Builder;
use tabled::settings::Style;

use super::Experiment;
use crate::comparison::{Bound, KeyColumn, Measure, Table, compare, digits};
use crate::figures::{self, Figures, rounded};
use crate::setup::{Scenario, chain};

/// One to eight hops.
pub const HOPS: Experiment = Experiment {
    name: "hops",
    title: "TCP over 1 to 8 hops with AODV",
    run: |root, _| run(root, "hops", &hops_cases()),
    compare: compare_hops,
    needs: &["hops.csv", "hops_drops.csv"],
};

/// One to eight hops against ns-3.
pub const HOPS_NS3: Experiment = Experiment {
    name: "ns3_hops",
    title: "TCP over 1 to 8 hops in profile rfc, against ns-3",
    run: |root, _| run_hops_ns3(root),
    compare: compare_hops_ns3,
    needs: &["ns3_hops.csv"],
};

/// The static chain of Oo and Othman.
pub const CHAIN: Experiment = Experiment {
    name: "chain",
    title: "The static chain of Oo and Othman",
    run: |root, _| run(root, "chain", &chain_cases()),
    compare: compare_chain,
    needs: &["chain.csv", "chain_drops.csv"],
};

/// Fifty moving nodes.
pub const RWP50: Experiment = Experiment {
    name: "rwp50",
    title: "Fifty random-waypoint nodes with twenty NewReno flows",
    run: |root, _| run(root, "rwp50", &rwp50_cases()),
    compare: compare_rwp50,
    needs: &["rwp50.csv", "rwp50_drops.csv"],
};

const SEEDS: std::ops::RangeInclusive<u32> = 1..=10;

/// One run. Keys that a table does not have are empty, and left out.
#[derive(Clone)]
struct Case {
    table: &'static str,
    hops: Option<u32>,
    routing: &'static str,
    variant: &'static str,
    seed: u32,
}

#[derive(Serialize)]
struct Row {
    hops: Option<u32>,
    routing: &'static str,
    tcp: &'static str,
    seed: u32,
    sent: u64,
    received: u64,
    throughput_kbps: f64,
    delay_ms: f64,
    retransmissions: u64,
    timeouts: u64,
    plr_pct: f64,
    data_drops: u64,
    first_delivery_s: Option<f64>,
    routing_sent: u64,
    mac_rts: u64,
    mac_cts: u64,
    mac_ack: u64,
    rts_failures: u64,
    given_up: u64,
    digest: String,
}

#[derive(Serialize)]
struct DropRow {
    hops: Option<u32>,
    routing: &'static str,
    tcp: &'static str,
    seed: u32,
    reason: String,
    kind: String,
    count: u64,
}

fn hops_cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for hops in 1..=8 {
        for variant in ["Newreno", "Vegas"] {
            // Over seven and eight hops, the runs differ by a factor of two: a mean needs many of them.
            for seed in if hops < 7 { SEEDS } else { 1..=40 } {
                cases.push(Case { table: "hops", hops: Some(hops), routing: "AODV", variant, seed });
            }
        }
    }
    cases
}

fn chain_cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for routing in ["AODV", "DSDV"] {
        for variant in ["Tahoe", "Reno", "Newreno", "Vegas"] {
            // DSDV needs about a minute to build the routes, and once in a while three: a mean wants many runs.
            for seed in if routing == "DSDV" { 1..=400 } else { SEEDS } {
                cases.push(Case { table: "chain", hops: None, routing, variant, seed });
            }
        }
    }
    cases
}

fn rwp50_cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for routing in ["AODV", "DSDV"] {
        for seed in SEEDS {
            cases.push(Case { table: "rwp50", hops: None, routing, variant: "Newreno", seed });
        }
    }
    cases
}

/// A chain of so many hops of 200 m at 2 Mb/s, and a transfer over it from second 1 to second 300.
pub(super) fn hops_scenario(protocol: &str, hops: u32, variant: &str) -> Result<Scenario> {
    let mut scenario = Scenario::stationary("ns2", protocol, &chain(hops + 1, 200.0))?;
    scenario.rate(2, true);
    scenario.ranges(250, 550);
    scenario.add_tcp(0, hops, 1.0, variant, |tcp| {
        tcp.segment_size = Bytes::new(1460);
        tcp.window = 32;
    })?;
    scenario.times(1.0, 300.0);
    Ok(scenario)
}

/// The segments and the window of Oo and Othman.
pub(super) const fn small_segments(tcp: &mut hopyard_model::transport::tcp::Params) {
    tcp.segment_size = Bytes::new(512);
    tcp.window = 20;
}

/// Adds the transfers of a file: on each line a kind, source, destination, start and stop.
pub(super) fn add_flows(
    scenario: &mut Scenario,
    file: &Path,
    variant: &str,
    change: fn(&mut hopyard_model::transport::tcp::Params),
) -> Result<()> {
    let traffic = std::fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
    for line in traffic.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [_, from, to, start, _] = words[..] else { anyhow::bail!("traffic line \"{line}\"") };
        scenario.add_tcp(from.parse()?, to.parse()?, start.parse()?, variant, change)?;
    }
    Ok(())
}

impl Case {
    fn scenario(&self, root: &Path) -> Result<Scenario> {
        let protocol = self.routing.to_lowercase();
        match self.table {
            "hops" => hops_scenario(&protocol, self.hops.context("a number of hops")?, self.variant),
            "chain" => {
                let mut scenario = Scenario::stationary("ns2", &protocol, &chain(6, 110.0))?;
                scenario.rate(1, true);
                scenario.ranges(200, 550);
                scenario.add_tcp(0, 5, 0.0, self.variant, small_segments)?;
                scenario.times(0.0, 360.0);
                Ok(scenario)
            }
            _ => {
                let inputs = root.join("inputs/rwp50");
                let movement = inputs.join(format!("movement_{:02}.tcl", self.seed));
                let mut scenario = Scenario::moving("ns2", &protocol, &movement)?;
                scenario.rate(1, true);
                scenario.ranges(200, 550);
                let file = inputs.join(format!("traffic_{:02}.txt", self.seed));
                add_flows(&mut scenario, &file, self.variant, small_segments)?;
                scenario.times(0.0, 360.0);
                Ok(scenario)
            }
        }
    }

    fn run(&self, root: &Path) -> Result<(Row, Vec<DropRow>)> {
        let outcome = self.scenario(root)?.run(self.seed)?;
        Ok((self.row(&outcome), self.drops(&outcome)))
    }

    fn row(&self, outcome: &Outcome) -> Row {
        let flows = &outcome.flows;
        let arrived: u64 = flows.iter().map(|flow| flow.packets_arrived).sum();
        let delays: f64 =
            flows.iter().filter_map(|flow| flow.delay_ms.map(|delay| delay * flow.packets_arrived as f64)).sum();
        let lost: u64 = flows.iter().map(|flow| flow.packets_dropped + flow.packets_queued).sum();
        let (mut rts, mut cts, mut acks, mut failures, mut given_up, mut routing) = (0, 0, 0, 0, 0, 0);
        for node in &outcome.nodes {
            rts += node.metric("rts").unwrap_or(0);
            cts += node.metric("cts").unwrap_or(0);
            acks += node.metric("acks").unwrap_or(0);
            failures += node.metric("rts_failures").unwrap_or(0);
            given_up += node.metric("given_up").unwrap_or(0);
            routing += node.routing_packets;
        }
        Row {
            hops: self.hops,
            routing: self.routing,
            tcp: self.variant,
            seed: self.seed,
            sent: flows.iter().map(|flow| flow.packets_sent).sum(),
            received: flows.iter().map(|flow| flow.packets_unique).sum(),
            throughput_kbps: rounded(flows.iter().map(|flow| flow.payload_kbps).sum()),
            delay_ms: rounded(delays / arrived as f64),
            retransmissions: flows.iter().map(|flow| flow.retransmissions).sum(),
            timeouts: flows.iter().filter_map(|flow| flow.timeouts).sum(),
            plr_pct: rounded(flows.iter().map(|flow| flow.loss_ns2_percent).sum()),
            data_drops: lost,
            first_delivery_s: flows.iter().filter_map(|flow| flow.first_arrival_s).reduce(f64::min).map(rounded),
            routing_sent: routing,
            mac_rts: rts,
            mac_cts: cts,
            mac_ack: acks,
            rts_failures: failures,
            given_up,
            digest: format!("{:016x}", outcome.digest),
        }
    }

    fn drops(&self, outcome: &Outcome) -> Vec<DropRow> {
        let mut counts: BTreeMap<(&str, &str), u64> = BTreeMap::new();
        for row in &outcome.drops {
            *counts.entry((row.reason, row.kind)).or_default() += row.count;
        }
        let left: u64 = outcome.flows.iter().map(|flow| flow.packets_queued).sum();
        if left > 0 {
            counts.insert(("end", "data"), left);
        }
        counts
            .into_iter()
            .map(|((reason, kind), count)| DropRow {
                hops: self.hops,
                routing: self.routing,
                tcp: self.variant,
                seed: self.seed,
                reason: reason.to_owned(),
                kind: kind.to_owned(),
                count,
            })
            .collect()
    }
}

fn run(root: &Path, table: &str, cases: &[Case]) -> Result<()> {
    let results = cases.par_iter().map(|case| case.run(root)).collect::<Result<Vec<_>>>()?;
    let (rows, drops): (Vec<Row>, Vec<Vec<DropRow>>) = results.into_iter().unzip();
    figures::write(&root.join("results").join(format!("{table}.csv")), &rows)?;
    figures::write(
        &root.join("results").join(format!("{table}_drops.csv")),
        &drops.into_iter().flatten().collect::<Vec<_>>(),
    )
}

const THROUGHPUT: Measure =
    Measure { column: "throughput_kbps", title: "throughput, kbit/s", bound: Bound::WithinOrInterval(0.03) };
const DELAY: Measure = Measure { column: "delay_ms", title: "mean delay, ms", bound: Bound::Shown };
const LOSS: Measure =
    Measure { column: "plr_pct", title: "loss rate as ns-2 scripts count it, %", bound: Bound::Shown };

/// A quantity of which nothing is required.
pub(super) const fn shown(column: &'static str, title: &'static str) -> Measure {
    Measure { column, title, bound: Bound::Shown }
}

/// Compares several quantities of one experiment.
fn tables(root: &Path, name: &str, title: &str, keys: &[KeyColumn], measures: &[Measure]) -> Result<Vec<Table>> {
    let ours = Figures::read(&root.join(format!("results/{name}.csv")))?;
    let ns2 = Figures::read(&root.join(format!("peers/data/ns2_{name}.csv")))?;
    measures.iter().map(|measure| compare(title, "ns-2", keys, measure, &ours, &ns2)).collect()
}

fn compare_hops(root: &Path) -> Result<Vec<Table>> {
    let keys = [("hops", "hops"), ("tcp", "TCP")];
    let measures = [
        THROUGHPUT,
        DELAY,
        shown("retransmissions", "retransmitted packets"),
        shown("timeouts", "timeouts"),
        shown("routing_sent", "routing packets sent"),
        shown("mac_rts", "RTS frames"),
    ];
    let mut all = tables(root, "hops", "Hops", &keys, &measures)?;
    all.push(drops(root, "hops_drops.csv", &keys)?);
    Ok(all)
}

#[derive(Serialize)]
struct Ns3Row {
    configuration: &'static str,
    hops: u32,
    tcp: &'static str,
    run: u32,
    goodput_kbps: f64,
}

/// ns-3's scenario in the profile rfc, with the TCP settings that its runs have.
fn run_hops_ns3(root: &Path) -> Result<()> {
    let mut cases = Vec::new();
    for tcp in ["TcpNewReno", "TcpVegas"] {
        for hops in 1..=8 {
            for run in 1..=5 {
                cases.push((tcp, hops, run));
            }
        }
    }
    let rows = cases
        .par_iter()
        .map(|&(tcp, hops, run)| {
            let mut scenario = Scenario::stationary("rfc", "aodv", &chain(hops + 1, 200.0))?;
            scenario.rate(2, true);
            scenario.ranges(250, 550);
            scenario.add_tcp(0, hops, 20.0, tcp, |tcp| {
                tcp.segment_size = Bytes::new(1460);
                tcp.window = 32;
                tcp.initial_window = 2;
                tcp.timestamps = false;
            })?;
            scenario.times(20.0, 80.0);
            let goodput_kbps = rounded(scenario.run(run)?.flows[0].goodput_kbps);
            Ok(Ns3Row { configuration: "w32", hops, tcp, run, goodput_kbps })
        })
        .collect::<Result<Vec<_>>>()?;
    figures::write(&root.join("results/ns3_hops.csv"), &rows)
}

fn compare_hops_ns3(root: &Path) -> Result<Vec<Table>> {
    let ours = Figures::read(&root.join("results/ns3_hops.csv"))?;
    let ns3 = Figures::read(&root.join("peers/data/ns3_hops.csv"))?.only(&[("configuration", "w32")])?;
    let keys = [("hops", "hops"), ("tcp", "TCP")];
    let goodput = Measure { column: "goodput_kbps", title: "goodput, kbit/s", bound: Bound::Within(0.05) };
    Ok(vec![compare("Hops", "ns-3", &keys, &goodput, &ours, &ns3)?])
}

fn compare_chain(root: &Path) -> Result<Vec<Table>> {
    let keys = [("routing", "routing"), ("tcp", "TCP")];
    let measures = [
        Measure { bound: Bound::Within(0.02), ..THROUGHPUT },
        Measure { bound: Bound::Within(0.02), ..DELAY },
        Measure { bound: Bound::InRange, ..LOSS },
        shown("routing_sent", "routing packets sent"),
    ];
    tables(root, "chain", "Chain", &keys, &measures)
}

fn compare_rwp50(root: &Path) -> Result<Vec<Table>> {
    let keys = [("routing", "routing")];
    let measures = [
        Measure { bound: Bound::Within(0.10), ..THROUGHPUT },
        DELAY,
        LOSS,
        shown("sent", "data packets sent"),
        shown("retransmissions", "retransmitted packets"),
        shown("timeouts", "timeouts"),
        shown("routing_sent", "routing packets sent, each hop"),
        shown("mac_rts", "RTS frames"),
        shown("mac_cts", "CTS frames"),
    ];
    let mut all = tables(root, "rwp50", "Fifty nodes", &keys, &measures)?;
    all.push(drops(root, "rwp50_drops.csv", &keys)?);
    Ok(all)
}

/// A reason for the loss of a packet.
struct Reason {
    text: &'static str,
    /// ns-2's layers and reasons.
    ns2: &'static [(&'static str, &'static str)],
    /// Ours.
    ours: &'static [&'static str],
}

/// ns-2's reasons for the loss of a packet, and ours for the same.
const REASONS: [Reason; 8] = [
    Reason {
        text: "next hop given up, with what was queued for it",
        ns2: &[("RTR", "CBK"), ("RTR", "SAL")],
        ours: &["retry_limit", "broken_link", "arp_failed"],
    },
    Reason { text: "no route", ns2: &[("RTR", "NRTE")], ours: &["no_route", "discovery_failed"] },
    Reason { text: "waited too long for a route", ns2: &[("RTR", "TOUT")], ours: &["route_timeout"] },
    Reason {
        text: "no room to wait for a route",
        ns2: &[("RTR", "IFQ"), ("RTR", "QFUL")],
        ours: &["route_buffer_full"],
    },
    Reason { text: "interface queue full", ns2: &[("IFQ", "---"), ("IFQ", "IFQ")], ours: &["queue_full"] },
    Reason { text: "waiting for an address, replaced", ns2: &[("IFQ", "ARP")], ours: &["arp_replaced"] },
    Reason {
        text: "hops used up, or back at the source",
        ns2: &[("RTR", "TTL"), ("RTR", "LOOP")],
        ours: &["ttl_expired", "routing_loop"],
    },
    Reason { text: "in an interface queue at the end", ns2: &[("IFQ", "END")], ours: &["end"] },
];

/// Lost data and ACK packets by reason, side by side: means over the seeds.
/// `file` is the name of our table, and of ns-2's behind its prefix.
pub(super) fn drops(root: &Path, file: &str, keys: &[KeyColumn]) -> Result<Table> {
    let names: Vec<&str> = keys.iter().map(|&(column, _)| column).collect();
    // The table of the runs: each case has its own number of them.
    let runs_file = file.trim_end_matches(".gz").replace("_drops", "");
    let read = |folder: &str, columns: &[&'static str]| -> Result<_> {
        let totals = Figures::read(&root.join(format!("{folder}{file}")))?;
        let totals = totals.totals(&[&names[..], columns].concat(), "count")?;
        let runs = Figures::read(&root.join(format!("{folder}{runs_file}")))?.samples(&names, "seed")?;
        Ok((totals, runs.into_iter().map(|(case, seeds)| (case, seeds.len())).collect::<BTreeMap<_, _>>()))
    };
    let (ours, runs) = read("results/", &["reason", "kind"])?;
    let (theirs, their_runs) = read("peers/data/ns2_", &["layer", "reason", "type"])?;
    let mut cases: Vec<Vec<String>> = ours.keys().map(|key| key[..names.len()].to_vec()).collect();
    cases.dedup();
    let mut builder = Builder::default();
    let mut heading: Vec<&str> = keys.iter().map(|&(_, heading)| heading).collect();
    heading.extend(["lost because", "data, ns-2", "data, Hopyard", "ACKs, ns-2", "ACKs, Hopyard"]);
    builder.push_record(heading);
    let sum = |map: &BTreeMap<Vec<String>, f64>, case: &[String], parts: &[&str]| {
        let key: Vec<String> = case.iter().cloned().chain(parts.iter().map(|&part| part.to_owned())).collect();
        map.get(&key).copied().unwrap_or(0.0)
    };
    for case in cases {
        let count = |runs: &BTreeMap<Vec<String>, usize>| runs.get(&case).map_or(f64::NAN, |&runs| runs as f64);
        let (runs, their_runs) = (count(&runs), count(&their_runs));
        for Reason { text, ns2: in_ns2, ours: here } in &REASONS {
            let ns2 = |kind| {
                let parts = in_ns2.iter().map(|&(layer, reason)| sum(&theirs, &case, &[layer, reason, kind]));
                parts.sum::<f64>() / their_runs
            };
            let mine = |kind| here.iter().map(|reason| sum(&ours, &case, &[reason, kind])).sum::<f64>() / runs;
            let counts = [ns2("tcp"), mine("data"), ns2("ack"), mine("ack")];
            if counts.iter().any(|&count| count > 0.0) {
                let mut record = case.clone();
                record.push((*text).to_owned());
                record.extend(counts.map(digits));
                builder.push_record(record);
            }
        }
    }
    Ok(Table {
        title: "Lost packets by reason, mean of the seeds".into(),
        text: builder.build().with(Style::markdown()).to_string(),
        bounded: 0,
        met: 0,
        worst: 0.0,
    })
}
