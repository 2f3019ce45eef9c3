//! A chain with a gateway to the Internet, and a node that moves past it: Karlsson and Kassler, "TCP Performance in
//! Mobile Ad Hoc Networks Connected to the Internet" (2009), with AODV-UU and half tunnels, and with DSDV.

use std::path::Path;

use anyhow::{Result, anyhow};
use hopyard_engine::units::Rate;
use hopyard_engine::{Span, Time};
use hopyard_model::address::NodeId;
use hopyard_model::routing;
use hopyard_model::transport::congestion;
use hopyard_model::world::{self, FlowSpec, Spec, Transport, Watch};
use hopyard_scenario::Scenario;
use rayon::prelude::*;
use serde::Serialize;
use tabled::builder::Builder;
use tabled::settings::Style;

use super::Experiment;
use crate::comparison::Table;
use crate::figures::{self, Figures};
use crate::statistics::Sample;

/// When the number of hops to the gateway changes, and the throughput with two uplinks.
pub const GATEWAY: Experiment = Experiment {
    name: "gateway",
    title: "A gateway to the Internet in the middle of a chain",
    run: |root, _| run(root),
    compare: compare_hops,
    needs: &["gateway_hops.csv", "gateway_throughput.csv"],
};

const SEEDS: u32 = 10;

/// How far a change may be from the published one, in seconds.
const NEAR: f64 = 1.5;

#[derive(Serialize)]
struct Change {
    entry: String,
    hops: u32,
    published_s: f64,
    ours_s: Option<f64>,
}

#[derive(Serialize)]
struct Throughput {
    scenario: &'static str,
    uplink: &'static str,
    routing: &'static str,
    tcp: &'static str,
    seed: u32,
    throughput_kbps: f64,
    goodput_kbps: f64,
    route_changes: u64,
}

/// A flow: source, destination, start and stop in seconds.
type Planned = (u32, u32, u64, u64);

/// The traffic of both mobility scenarios; the host is node 5 or 6.
const TRAFFIC: [(&str, &str, &[Planned]); 8] = [
    ("chain5 one flow", "chain5", &[(0, 5, 20, 880)]),
    ("chain5 and one in the MANET", "chain5", &[(0, 5, 20, 880), (4, 0, 20, 880)]),
    ("chain5 two overlapping", "chain5", &[(0, 5, 20, 440), (4, 5, 220, 880)]),
    ("chain5 two at once", "chain5", &[(0, 5, 20, 880), (4, 5, 20, 880)]),
    ("chain5+1 one flow", "chain5plus1", &[(5, 6, 20, 880)]),
    ("chain5+1 two overlapping", "chain5plus1", &[(0, 6, 20, 440), (5, 6, 220, 880)]),
    ("chain5+1 in the MANET", "chain5plus1", &[(5, 0, 20, 880)]),
    ("chain5+1 two at once", "chain5plus1", &[(0, 6, 20, 880), (5, 6, 20, 880)]),
];

const UPLINKS: [(&str, u64, u64); 2] = [("100 Mb/s 2 ms", 100_000_000, 2), ("756 kb/s 25 ms", 756_000, 25)];

const ROUTING: [&str; 2] = ["aodv_uu", "dsdv"];

const SENDERS: [&str; 3] = ["newreno", "vegas", "adaptive_pacing"];

/// A cell of the table of throughputs: scenario, uplink, routing, TCP.
type Cell = [&'static str; 4];

/// What the paper says of two cells.
struct Claim {
    text: &'static str,
    column: &'static str,
    /// The difference of the second cell from the first: in percent, or in kbit/s.
    in_percent: bool,
    published: &'static str,
    cells: [Cell; 2],
}

const FIVE: &str = "chain5 one flow";
const SIX: &str = "chain5+1 one flow";
const FAST: &str = UPLINKS[0].0;
const SLOW: &str = UPLINKS[1].0;

/// The paper has no table of throughputs: its text has these differences, and its figures have bars without numbers.
const CLAIMS: [Claim; 12] = [
    claim(
        "chain 5: TCP-AP is below Vegas",
        false,
        "-20",
        [FIVE, FAST, "aodv_uu", "vegas"],
        [FIVE, FAST, "aodv_uu", AP],
    ),
    claim("chain 5+1: Vegas is above NewReno", false, "above", in_six("newreno"), in_six("vegas")),
    claim("chain 5+1: TCP-AP is below NewReno", false, "below", in_six("newreno"), in_six(AP)),
    claim("chain 5+1: TCP-AP is below Vegas", false, "below", in_six("vegas"), in_six(AP)),
    claim(
        "chain 5+1: the slow uplink costs NewReno",
        true,
        "-10",
        in_six("newreno"),
        [SIX, SLOW, "aodv_uu", "newreno"],
    ),
    claim("chain 5+1: the slow uplink costs Vegas", true, "-10", in_six("vegas"), [SIX, SLOW, "aodv_uu", "vegas"]),
    claim("chain 5+1: the slow uplink costs TCP-AP", true, "-50", in_six(AP), [SIX, SLOW, "aodv_uu", AP]),
    goodput("chain 5+1: DSDV costs NewReno", "-12", in_six("newreno"), [SIX, FAST, "dsdv", "newreno"]),
    goodput("chain 5+1: DSDV costs Vegas", "-21", in_six("vegas"), [SIX, FAST, "dsdv", "vegas"]),
    goodput("chain 5+1: DSDV costs TCP-AP", "-4", in_six(AP), [SIX, FAST, "dsdv", AP]),
    goodput("chain 5: DSDV costs NewReno", "-4", [FIVE, FAST, "aodv_uu", "newreno"], [FIVE, FAST, "dsdv", "newreno"]),
    goodput("chain 5: DSDV costs Vegas", "-2", [FIVE, FAST, "aodv_uu", "vegas"], [FIVE, FAST, "dsdv", "vegas"]),
];

const AP: &str = "adaptive_pacing";

const fn in_six(tcp: &'static str) -> Cell {
    [SIX, FAST, "aodv_uu", tcp]
}

const fn claim(text: &'static str, in_percent: bool, published: &'static str, first: Cell, second: Cell) -> Claim {
    Claim { text, column: "throughput_kbps", in_percent, published, cells: [first, second] }
}

const fn goodput(text: &'static str, published: &'static str, first: Cell, second: Cell) -> Claim {
    Claim { text, column: "goodput_kbps", in_percent: true, published, cells: [first, second] }
}

fn open(root: &Path, name: &str) -> Result<Spec> {
    let file = root.join(format!("inputs/gateway/{name}.toml"));
    let scenario = Scenario::open(&file, &[]).map_err(|problems| anyhow!("{problems}"))?;
    Ok(scenario.spec(0))
}

/// Puts these flows in the place of the scenario's flow.
fn plan(spec: &mut Spec, planned: &[Planned], tcp: &str) -> Result<()> {
    let mut template = spec.flows[0].clone();
    if tcp != "vegas"
        && let Transport::Tcp { config, .. } = &mut template.transport
    {
        // The paper ran its authors' agent for ns-2, not the formulas of their earlier paper.
        let profile = if tcp == AP { "agent" } else { "ns2" };
        config.congestion = congestion::Config::of_profile(tcp, profile)?;
    }
    let at = |seconds| Time::ZERO + Span::from_secs(seconds);
    let flow = |&(from, to, start, stop): &Planned| FlowSpec {
        from: NodeId(from),
        to: NodeId(to),
        start: at(start),
        stop: at(stop),
        ..template.clone()
    };
    spec.flows = planned.iter().map(flow).collect();
    Ok(())
}

fn run(root: &Path) -> Result<()> {
    hop_changes(root)?;
    let mut cases = Vec::new();
    for traffic in TRAFFIC {
        for uplink in UPLINKS {
            for routing in ROUTING {
                for tcp in SENDERS {
                    cases.extend((1..=SEEDS).map(|seed| (traffic, uplink, routing, tcp, seed)));
                }
            }
        }
    }
    let rows = cases
        .par_iter()
        .map(|&((scenario, file, flows), (uplink, rate, delay), routing, tcp, seed)| {
            let mut spec = open(root, file)?;
            spec.seed = u64::from(seed);
            spec.observe.series.clear();
            spec.wires[0].params.rate = Rate::from_bps(rate);
            spec.wires[0].params.delay = Span::from_millis(delay);
            plan(&mut spec, flows, tcp)?;
            if routing == "dsdv" {
                let config = routing::Config::of_profile(routing, "ns2")?;
                spec.nodes.iter_mut().for_each(|node| node.routing = config.clone());
            }
            let outcome = world::simulate(&spec, &Watch::default())?;
            // Over the 860 s in which the flows of all scenarios together run.
            let total =
                |of: &dyn Fn(&hopyard_model::observe::FlowRow) -> f64| outcome.flows.iter().map(of).sum::<f64>();
            Ok(Throughput {
                scenario,
                uplink,
                routing,
                tcp,
                seed,
                throughput_kbps: total(&|flow| flow.throughput_kbps) * 900.0 / 860.0,
                goodput_kbps: total(&|flow| flow.goodput_kbps) * 900.0 / 860.0,
                route_changes: outcome.flows.iter().map(|flow| flow.route_changes).sum(),
            })
        })
        .collect::<Result<Vec<_>>>()?;
    figures::write(&root.join("results/gateway_throughput.csv"), &rows)
}

/// When the moving node has a route with another number of hops, beside Table 2.
fn hop_changes(root: &Path) -> Result<()> {
    let spec = open(root, "chain5plus1")?;
    let outcome = world::simulate(&spec, &Watch::default())?;
    let mut changes: Vec<(f64, u32)> = Vec::new();
    for row in outcome.series.iter().filter(|row| row.quantity == "hops") {
        let hops = row.value as u32;
        if changes.last().is_none_or(|&(_, before)| before != hops) {
            changes.push((row.time_s, hops));
        }
    }
    let published = Figures::read(&root.join("peers/data/karlsson_kassler_hops.csv"))?;
    let mut rows = Vec::new();
    for row in published.select(&["entry", "time_s", "hops"])? {
        let (published_s, hops) = (row[1].parse::<f64>()?, row[2].parse::<u32>()?);
        let place = changes.iter().position(|&(at, ours)| ours == hops && (at - published_s).abs() <= NEAR);
        let ours_s = place.map(|place| changes.remove(place).0);
        rows.push(Change { entry: row[0].to_owned(), hops, published_s, ours_s });
    }
    // Changes that the paper does not have.
    let more =
        changes.into_iter().map(|(at, hops)| Change { entry: "more".to_owned(), hops, published_s: at, ours_s: None });
    rows.extend(more);
    figures::write(&root.join("results/gateway_hops.csv"), &rows)
}

fn compare_hops(root: &Path) -> Result<Vec<Table>> {
    let ours = Figures::read(&root.join("results/gateway_hops.csv"))?;
    let mut text = Builder::default();
    text.push_record(["entry", "hops", "published, s", "Hopyard, s", "difference, s", "met"]);
    let (mut bounded, mut met, mut worst) = (0, 0, 0.0_f64);
    for row in ours.select(&["entry", "hops", "published_s", "ours_s"])? {
        let difference = match row[3] {
            "" => None,
            at => Some(at.parse::<f64>()? - row[2].parse::<f64>()?),
        };
        bounded += 1;
        met += usize::from(difference.is_some());
        if let Some(it) = difference {
            worst = worst.max(100.0 * it.abs() / row[2].parse::<f64>()?);
        }
        let shown = difference.map(|it| format!("{it:+.2}")).unwrap_or_default();
        let verdict = if difference.is_some() { "yes" } else { "no" };
        text.push_record([row[0], row[1], row[2], row[3], &shown, verdict]);
    }
    let hops = Table {
        title: "Gateway: times at which the hop count changes, s".to_owned(),
        text: text.build().with(Style::markdown()).to_string(),
        bounded,
        met,
        worst,
    };
    let figures = Figures::read(&root.join("results/gateway_throughput.csv"))?;
    let mut text = Builder::default();
    text.push_record([
        "scenario",
        "uplink",
        "routing",
        "TCP",
        "throughput, kbit/s",
        "goodput, kbit/s",
        "route changes",
    ]);
    let keys = ["scenario", "uplink", "routing", "tcp"];
    let columns = ["throughput_kbps", "goodput_kbps", "route_changes"];
    let samples = columns.map(|column| figures.samples(&keys, column));
    let [throughput, goodput, changes] = samples;
    for ((key, throughput), (goodput, changes)) in
        throughput?.into_iter().zip(goodput?.into_iter().zip(changes?).map(|(a, b)| (a.1, b.1)))
    {
        let show = |it: &Sample| format!("{:.1} ± {:.1}", it.mean(), it.half_width());
        let [scenario, uplink, routing, tcp] = [&key[0], &key[1], &key[2], &key[3]];
        text.push_record([scenario, uplink, routing, tcp, &show(&throughput), &show(&goodput), &show(&changes)]);
    }
    let throughput = Table {
        title: "Gateway: throughput of all flows, by uplink".to_owned(),
        text: text.build().with(Style::markdown()).to_string(),
        bounded: 0,
        met: 0,
        worst: 0.0,
    };
    Ok(vec![hops, throughput, compare_claims(&figures)?])
}

/// The claims of the text about differences, with the seeds in pairs.
fn compare_claims(figures: &Figures) -> Result<Table> {
    let mut text = Builder::default();
    text.push_record(["claim", "unit", "published", "Hopyard", "direction", "size"]);
    for claim in &CLAIMS {
        let [first, second] = claim.cells.map(|cell| of_cell(figures, &cell, claim.column));
        let differences = first?.into_iter().zip(second?).map(|(first, second)| match claim.in_percent {
            true => 100.0 * (second / first - 1.0),
            false => second - first,
        });
        let sample = Sample::new(differences.collect());
        let (mean, half) = (sample.mean(), sample.half_width());
        let number = claim.published.parse::<f64>().ok();
        let sign = number.unwrap_or(if claim.published == "above" { 1.0 } else { -1.0 });
        let direction = match mean {
            _ if mean.abs() <= half => "not shown",
            _ if mean * sign > 0.0 => "yes",
            _ => "**no**",
        };
        let size = match number {
            None => "",
            Some(number) if (mean - number).abs() <= half => "yes",
            Some(_) => "**no**",
        };
        let unit = if claim.in_percent { "%" } else { "kbit/s" };
        text.push_record([claim.text, unit, claim.published, &format!("{mean:+.1} ± {half:.1}"), direction, size]);
    }
    Ok(Table {
        title: "Gateway: what the paper says of throughput and, with DSDV, of goodput".to_owned(),
        text: text.build().with(Style::markdown()).to_string(),
        bounded: 0,
        met: 0,
        worst: 0.0,
    })
}

/// The figures of a cell, in order of the seeds.
fn of_cell(figures: &Figures, cell: &Cell, column: &str) -> Result<Vec<f64>> {
    let rows = figures.select(&["scenario", "uplink", "routing", "tcp", column])?;
    rows.filter(|row| row[..4] == cell[..]).map(|row| Ok(row[4].parse()?)).collect()
}
