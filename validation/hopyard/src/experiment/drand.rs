//! DRAND in random networks of machines: its invariants, messages and times, without and with losses, and in motion.

use std::path::Path;

use anyhow::Result;
use hopyard_engine::{Span, Time};
use hopyard_model::agent::drand::{Lottery, Params, Resends};
use hopyard_model::mac::tdma::colouring;
use hopyard_model::params::{Params as _, RFC};
use rayon::prelude::*;
use serde::Serialize;
use tabled::builder::Builder;
use tabled::settings::Style;

use super::{Experiment, Options};
use crate::comparison::Table;
use crate::drand_network::{Network, Walkers, numbered};
use crate::figures::{self, Figures, rounded};

/// DRAND in random networks.
pub const DRAND: Experiment = Experiment {
    name: "drand",
    title: "DRAND in random networks",
    run,
    compare,
    needs: &["drand_networks.csv", "drand_loss.csv", "drand_moving.csv"],
};

const NETWORKS: u64 = 1_000;
/// So many of them for what is only shown beside: grants without a bound, and the other lottery.
const FEWER: u64 = 100;
const STEP: Span = Span::from_millis(100);

/// A network without loss.
#[derive(Clone, Debug, Serialize)]
struct NetworkRow {
    network: u64,
    nodes: usize,
    links: usize,
    /// The most other nodes within two hops of one (δ2).
    within_two_hops: usize,
    slots: u16,
    greedy_slots: u16,
    /// Pairs of nodes within two hops that had the same slot at any time.
    shared: usize,
    /// Nodes that lack a smaller slot within two hops.
    gaps: usize,
    /// Messages without HELLOs.
    messages: u64,
    /// From the first lottery that may be held to the last decision.
    seconds: f64,
}

/// All networks under one loss and one set of parameters.
#[derive(Clone, Debug, Default, Serialize)]
struct LossRow {
    loss: f64,
    grant_resends: String,
    lottery: String,
    networks: u64,
    nodes: u64,
    /// Networks in which all had a slot in the end, and none shared one within two hops.
    sound: u64,
    /// Networks with a slot above the most nodes within two hops.
    too_many_slots: u64,
    networks_with_conflicts: u64,
    conflicts: u64,
    /// How long they lasted.
    mean_seconds: f64,
    p95_seconds: f64,
    longest_seconds: f64,
    /// Slots given up.
    given_up: u64,
    /// Grants forgotten after the last resend.
    forgotten: u64,
    /// Neighbours left out by a request.
    left_out: u64,
    messages_per_node: f64,
    hellos_per_node: f64,
    /// From the first lottery that may be held to the time when all have a slot, for each node within two hops (δ2), in
    /// request periods (T_A) of a response time as it is at first.
    periods: f64,
}

/// Nodes in motion under one schedule.
#[derive(Clone, Debug, Serialize)]
struct MovingRow {
    speed: f64,
    schedule: String,
    nodes: usize,
    degree: f64,
    /// The share of nodes that share their slot with one within two hops, over time.
    in_conflict: f64,
    /// The share of nodes without a slot, over time.
    without_slot: f64,
    conflicts_per_second: f64,
    mean_seconds: f64,
    p95_seconds: f64,
    given_up_per_second: f64,
    /// The largest slot in use, and one, over time.
    slots: f64,
}

/// What one network shows.
struct Seen {
    network: Network,
    within_two_hops: usize,
    /// When all had a slot for the first time.
    decided: Option<Time>,
}

/// Runs a network until all have a slot, and until nothing has changed for ten seconds.
fn look(number: u64, params: &Params, loss: f64) -> Seen {
    let links = numbered(number).links();
    let within_two_hops = colouring::most_rivals(&links);
    let mut network = Network::new(links, params, loss, number);
    let limit = Time::ZERO + Span::from_secs(1200);
    let decided = network.run(limit, Network::all_decided).then_some(network.now);
    let quiet =
        |it: &Network| it.all_decided() && it.open().is_empty() && it.now.since(it.last_change) > Span::from_secs(10);
    network.run(limit, quiet);
    Seen { network, within_two_hops, decided }
}

fn slots(slots: &[Option<u16>]) -> u16 {
    slots.iter().flatten().max().map_or(0, |largest| largest + 1)
}

fn gaps(network: &Network) -> usize {
    let (links, slots) = (&network.links, network.slots());
    let lacks = |&node: &usize| {
        let near = links[node].iter().chain(links[node].iter().flat_map(|&it| &links[it as usize]));
        let there: Vec<u16> = near.filter_map(|&it| slots[it as usize]).collect();
        (0..slots[node].unwrap_or(0)).any(|smaller| !there.contains(&smaller))
    };
    (0..links.len()).filter(lacks).count()
}

fn network_row(number: u64, Seen { network, within_two_hops, .. }: &Seen, params: &Params) -> NetworkRow {
    let within_two_hops = *within_two_hops;
    let greedy: Vec<_> = colouring::greedy(&network.links).into_iter().map(Some).collect();
    NetworkRow {
        network: number,
        nodes: network.links.len(),
        links: network.links.iter().map(Vec::len).sum::<usize>() / 2,
        within_two_hops,
        slots: slots(network.slots()),
        greedy_slots: slots(&greedy),
        shared: network.violations.len() + network.open().len(),
        gaps: gaps(network),
        messages: network.messages(),
        seconds: rounded(network.last_change.seconds() - params.settle.seconds()),
    }
}

/// Mean, 95th percentile and maximum.
fn times(mut seconds: Vec<f64>) -> [f64; 3] {
    seconds.sort_unstable_by(f64::total_cmp);
    let Some(&longest) = seconds.last() else { return [0.0; 3] };
    let mean = seconds.iter().sum::<f64>() / seconds.len() as f64;
    [mean, seconds[(seconds.len() - 1) * 95 / 100], longest].map(rounded)
}

/// All networks under these parameters: what they show together, and, without loss, each of them.
fn loss_row(loss: f64, resends: Resends, lottery: Lottery, networks: u64) -> (LossRow, Vec<NetworkRow>) {
    let params = Params { grant_resends: resends, lottery, ..Params::of_profile(RFC) };
    let parts: Vec<(LossRow, Vec<f64>, NetworkRow)> = (0..networks)
        .into_par_iter()
        .map(|number| {
            let seen = look(number, &params, loss);
            let single = network_row(number, &seen, &params);
            let Seen { network, within_two_hops, decided } = seen;
            let all: Vec<f64> = network.violations.iter().map(|it| it.until.since(it.from).seconds()).collect();
            let sum = |of: fn(hopyard_model::agent::drand::machine::Counters) -> u64| {
                network.machines().map(|it| of(it.counters())).sum()
            };
            let start = params.settle.seconds();
            let period = params.first_delay.seconds() * params.factor * within_two_hops.max(1) as f64;
            let hellos = network.sent.get("HELLO").copied().unwrap_or(0);
            let row = LossRow {
                nodes: network.links.len() as u64,
                sound: u64::from(network.all_decided() && network.open().is_empty()),
                too_many_slots: u64::from(usize::from(slots(network.slots())) > within_two_hops + 1),
                networks_with_conflicts: u64::from(!all.is_empty()),
                conflicts: all.len() as u64,
                given_up: sum(|it| it.conflicts),
                forgotten: sum(|it| it.forgotten),
                left_out: sum(|it| it.left_out),
                messages_per_node: network.messages() as f64 / network.links.len() as f64,
                hellos_per_node: hellos as f64 / network.links.len() as f64,
                periods: decided.map_or(f64::NAN, |at| (at.seconds() - start) / period),
                ..LossRow::default()
            };
            (row, all, single)
        })
        .collect();
    let mean = |of: fn(&LossRow) -> f64| rounded(parts.iter().map(|it| of(&it.0)).sum::<f64>() / parts.len() as f64);
    let sum = |of: fn(&LossRow) -> u64| parts.iter().map(|it| of(&it.0)).sum::<u64>();
    let [mean_seconds, p95_seconds, longest_seconds] = times(parts.iter().flat_map(|it| it.1.clone()).collect());
    let row = LossRow {
        loss,
        grant_resends: match resends {
            Resends::Times(most) => most.to_string(),
            Resends::Unlimited => "unlimited".to_owned(),
        },
        lottery: if lottery == Lottery::Own { "own" } else { "largest" }.to_owned(),
        networks,
        nodes: sum(|it| it.nodes),
        sound: sum(|it| it.sound),
        too_many_slots: sum(|it| it.too_many_slots),
        networks_with_conflicts: sum(|it| it.networks_with_conflicts),
        conflicts: sum(|it| it.conflicts),
        mean_seconds,
        p95_seconds,
        longest_seconds,
        given_up: sum(|it| it.given_up),
        forgotten: sum(|it| it.forgotten),
        left_out: sum(|it| it.left_out),
        messages_per_node: mean(|it| it.messages_per_node),
        hellos_per_node: mean(|it| it.hellos_per_node),
        periods: mean(|it| it.periods),
    };
    (row, parts.into_iter().map(|it| it.2).collect())
}

/// Nodes, and their mean degree with the border left out of account, like the paper's 96 nodes and its 18.
const MOVING: [(usize, f64); 2] = [(18, 6.0), (96, 12.0)];
const SPEEDS: [f64; 6] = [0.0, 1.0, 2.0, 5.0, 10.0, 20.0];
/// DRAND with its parameters as they are; DRAND that leaves out neighbours sooner; the bounds.
const SCHEDULES: [&str; 4] = ["drand", "drand, silence 1.2 s", "frozen", "greedy"];
/// After this time the nodes move, for so many steps.
const SETTLED: Span = Span::from_secs(60);
const STEPS: usize = 600;
const MOVEMENTS: u64 = 6;

fn moving_row(speed: f64, schedule: &str, (nodes, degree): (usize, f64)) -> MovingRow {
    struct Part {
        in_conflict: usize,
        without_slot: usize,
        slots: usize,
        given_up: u64,
        seconds: Vec<f64>,
    }
    let part = |seed: u64| {
        let mut params = Params::of_profile(RFC);
        let is_drand = schedule.starts_with("drand");
        if schedule.ends_with("1.2 s") {
            params.silence = Span::from_millis(1200);
        }
        let mut walkers = Walkers::new(nodes, degree, 150.0, seed);
        let mut network = Network::new(walkers.links(|_| true), &params, 0.0, seed);
        let given_up = |it: &Network| it.machines().map(|it| it.counters().conflicts).sum::<u64>();
        let frozen: Vec<_> = colouring::greedy(&network.links).into_iter().map(Some).collect();
        let settled = Time::ZERO + SETTLED;
        if is_drand {
            network.run(settled, |_| false);
        }
        let before = (given_up(&network), network.violations.len());
        let mut part = Part { in_conflict: 0, without_slot: 0, slots: 0, given_up: 0, seconds: Vec::new() };
        let mut since = std::collections::BTreeMap::new();
        for _ in 0..STEPS {
            walkers.walk(speed * STEP.seconds());
            let links = walkers.links(|_| true);
            let (pairs, current): (Vec<(u32, u32)>, Vec<Option<u16>>) = match schedule {
                _ if is_drand => {
                    network.set_links(links);
                    let until = network.now + STEP;
                    network.run(until, |_| false);
                    (network.open().keys().copied().collect(), network.slots().to_vec())
                }
                "frozen" => (colouring::conflicts(&links, &frozen), frozen.clone()),
                _ => {
                    let slots: Vec<_> = colouring::greedy(&links).into_iter().map(Some).collect();
                    (colouring::conflicts(&links, &slots), slots)
                }
            };
            let mut touched: Vec<u32> = pairs.iter().flat_map(|&(one, other)| [one, other]).collect();
            touched.sort_unstable();
            touched.dedup();
            part.in_conflict += touched.len();
            part.without_slot += current.iter().filter(|it| it.is_none()).count();
            part.slots += usize::from(slots(&current));
            if !is_drand {
                // Conflicts of fixed slots end by movement only.
                let ended: Vec<_> = since.keys().copied().filter(|it| pairs.binary_search(it).is_err()).collect();
                part.seconds.extend(ended.iter().filter_map(|it| since.remove(it)).map(|n: usize| n as f64 * 0.1));
                for pair in pairs {
                    *since.entry(pair).or_insert(0) += 1;
                }
            }
        }
        if is_drand {
            part.given_up = given_up(&network) - before.0;
            part.seconds = network.violations[before.1..].iter().map(|it| it.until.since(it.from).seconds()).collect();
        }
        part
    };
    let parts: Vec<Part> = (0..MOVEMENTS).into_par_iter().map(part).collect();
    let steps = (STEPS as u64 * MOVEMENTS) as f64;
    let time = steps * STEP.seconds();
    let share = |of: fn(&Part) -> usize| rounded(parts.iter().map(of).sum::<usize>() as f64 / steps / nodes as f64);
    let seconds: Vec<f64> = parts.iter().flat_map(|it| it.seconds.clone()).collect();
    let conflicts_per_second = rounded(seconds.len() as f64 / time);
    let [mean_seconds, p95_seconds, _] = times(seconds);
    MovingRow {
        speed,
        schedule: schedule.to_owned(),
        nodes,
        degree,
        in_conflict: share(|it| it.in_conflict),
        without_slot: share(|it| it.without_slot),
        conflicts_per_second,
        mean_seconds,
        p95_seconds,
        given_up_per_second: rounded(parts.iter().map(|it| it.given_up).sum::<u64>() as f64 / time),
        slots: rounded(parts.iter().map(|it| it.slots).sum::<usize>() as f64 / steps),
    }
}

fn run(root: &Path, options: &Options) -> Result<()> {
    let networks = options.networks.map_or(NETWORKS, |most| most.min(NETWORKS));
    let file = root.join("results/drand_loss.csv");
    let (row, single) = loss_row(0.0, Resends::Times(5), Lottery::Own, networks);
    figures::write(&root.join("results/drand_networks.csv"), &single)?;
    let mut rows = vec![row];
    for (loss, resends, lottery, networks) in [
        (0.1, Resends::Times(5), Lottery::Own, networks),
        (0.3, Resends::Times(5), Lottery::Own, networks),
        (0.1, Resends::Unlimited, Lottery::Own, networks.min(FEWER)),
        (0.3, Resends::Unlimited, Lottery::Own, networks.min(FEWER)),
        (0.0, Resends::Times(5), Lottery::Largest, networks.min(FEWER)),
    ] {
        rows.push(loss_row(loss, resends, lottery, networks).0);
        figures::write(&file, &rows)?;
    }
    let mut rows = Vec::new();
    for network in MOVING {
        for speed in SPEEDS {
            rows.extend(SCHEDULES.map(|schedule| moving_row(speed, schedule, network)));
        }
    }
    figures::write(&root.join("results/drand_moving.csv"), &rows)
}

/// Shows some columns of a file.
fn shown(figures: &Figures, title: &str, columns: &[(&str, &str)]) -> Result<Table> {
    let mut builder = Builder::default();
    builder.push_record(columns.iter().map(|it| it.1));
    for row in figures.select(&columns.iter().map(|it| it.0).collect::<Vec<_>>())? {
        builder.push_record(row);
    }
    let text = builder.build().with(Style::markdown()).to_string();
    Ok(Table { title: title.to_owned(), text, bounded: 0, met: 0, worst: 0.0 })
}

/// The slope of a line through the origin and the two means: seconds for each node within two hops.
fn slope(points: &[(f64, f64)]) -> (f64, f64, f64) {
    let n = points.len() as f64;
    let (x, y) = (points.iter().map(|it| it.0).sum::<f64>() / n, points.iter().map(|it| it.1).sum::<f64>() / n);
    let of = |f: fn(f64, f64) -> f64| points.iter().map(|it| f(it.0 - x, it.1 - y)).sum::<f64>();
    let (xx, xy, yy) = (of(|a, _| a * a), of(|a, b| a * b), of(|_, b| b * b));
    (xy / xx, y - xy / xx * x, xy * xy / (xx * yy))
}

/// What must hold in every network without loss, and in how many it does.
fn invariants(root: &Path) -> Result<Table> {
    let file = Figures::read(&root.join("results/drand_networks.csv"))?;
    let columns =
        ["nodes", "links", "within_two_hops", "slots", "greedy_slots", "shared", "gaps", "messages", "seconds"];
    let mut rows = Vec::new();
    for row in file.select(&columns)? {
        rows.push(row.iter().map(|cell| cell.parse()).collect::<Result<Vec<f64>, _>>()?);
    }
    let period = 0.15;
    let least = |row: &[f64]| 2.0 * row[0] + 4.0 * row[1];
    let count = |holds: &dyn Fn(&[f64]) -> bool| rows.iter().filter(|row| holds(row)).count();
    let all = |of: &dyn Fn(&[f64]) -> f64| rows.iter().map(|row| of(row)).sum::<f64>();
    let periods = |row: &[f64]| row[8] / row[2] / period;
    let (slope, start, explained) = slope(&rows.iter().map(|row| (row[2], row[8])).collect::<Vec<_>>());
    let mean = all(&|row| row[8]) / all(&|row| row[2]) / period;
    let mut builder = Builder::default();
    builder.push_record(["what", "networks, or value", "of"]);
    let mut required = vec![
        ("no slot shared within two hops at any instant", count(&|row| row[5] == 0.0)),
        ("no gaps", count(&|row| row[6] == 0.0)),
        ("at most δ2 + 1 slots", count(&|row| row[3] <= row[2] + 1.0)),
        ("at least 2n + 4m messages", count(&|row| row[7] >= least(row))),
    ];
    let met = required.iter().filter(|it| it.1 == rows.len()).count();
    let bounded = required.len();
    required.push(("messages at most 10 % above 2n + 4m", count(&|row| row[7] <= 1.1 * least(row))));
    required.push(("1.2 to 2.5 T_A for each node within two hops", count(&|row| (1.2..=2.5).contains(&periods(row)))));
    for (what, found) in required {
        builder.push_record([what.to_owned(), found.to_string(), rows.len().to_string()]);
    }
    let values = [
        (
            "messages above 2n + 4m, all networks together",
            format!("{:.2} %", 100.0 * (all(&|it| it[7]) / all(&least) - 1.0)),
        ),
        ("mean time to the last decision, T_A for each node within two hops", format!("{mean:.2}")),
        ("line through all networks: T_A for each node within two hops", format!("{:.2}", slope / period)),
        ("the same line: seconds at none, and share of the variance explained", format!("{start:.2}, {explained:.2}")),
        (
            "slots, all networks together, for one of the greedy schedule",
            format!("{:.3}", all(&|it| it[3]) / all(&|it| it[4])),
        ),
    ];
    for (what, value) in values {
        builder.push_record([what.to_owned(), value, String::new()]);
    }
    let text = builder.build().with(Style::markdown()).to_string();
    Ok(Table { title: "DRAND without loss: invariants".to_owned(), text, bounded, met, worst: 0.0 })
}

fn compare(root: &Path) -> Result<Vec<Table>> {
    let loss = Figures::read(&root.join("results/drand_loss.csv"))?;
    let loss = shown(
        &loss,
        "DRAND with losses",
        &[
            ("loss", "loss"),
            ("grant_resends", "resends of a grant"),
            ("lottery", "lottery"),
            ("networks", "networks"),
            ("sound", "sound in the end"),
            ("too_many_slots", "more than δ2 + 1 slots"),
            ("networks_with_conflicts", "with conflicts on the way"),
            ("conflicts", "conflicts"),
            ("mean_seconds", "mean, s"),
            ("p95_seconds", "95 %, s"),
            ("longest_seconds", "longest, s"),
            ("forgotten", "grants forgotten"),
            ("left_out", "neighbours left out"),
            ("messages_per_node", "messages per node"),
            ("periods", "T_A per node within two hops"),
        ],
    )?;
    let moving = Figures::read(&root.join("results/drand_moving.csv"))?;
    let moving = shown(
        &moving,
        "DRAND in motion, beside a frozen schedule and one that knows all",
        &[
            ("nodes", "nodes"),
            ("speed", "speed, m/s"),
            ("schedule", "schedule"),
            ("in_conflict", "share of nodes in conflict"),
            ("without_slot", "without a slot"),
            ("conflicts_per_second", "conflicts ended per s"),
            ("mean_seconds", "mean, s"),
            ("p95_seconds", "95 %, s"),
            ("slots", "slots in use"),
        ],
    )?;
    Ok(vec![invariants(root)?, loss, moving])
}
