//! TCP from a host that moves between the cells of a home agent and a foreign agent, Mobile IP with DSDV, as in ns-2.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use anyhow::{Result, anyhow};
use hopyard_engine::units::{Bytes, Distance};
use hopyard_engine::{Span, Time};
use hopyard_model::address::{Address, NodeId};
use hopyard_model::app;
use hopyard_model::context::{MobileChange, MobileEvent};
use hopyard_model::mobility::{self, waypoints};
use hopyard_model::observe::{PacketEvent, Probe};
use hopyard_model::packet::{Body, Packet, PacketKind};
use hopyard_model::params::Params as _;
use hopyard_model::transport::{acking, congestion};
use hopyard_model::world::{Spec, Transport, Watch, World};
use hopyard_scenario::Scenario;
use rayon::prelude::*;
use serde::Serialize;

use super::Experiment;
use crate::comparison::{Bound, Measure, Table, compare};
use crate::figures::{self, Figures};

/// Throughput, its course, handoffs, and the bytes of messages.
pub const MOBILE_IP: Experiment = Experiment {
    name: "mobile_ip",
    title: "Mobile IP with DSDV: a host that moves between two cells",
    run: |root, _| run(root),
    compare: compare_all,
    needs: &[
        "mobile_ip.csv",
        "mobile_ip_series.csv",
        "mobile_ip_handoffs.csv",
        "mobile_ip_sizes.csv",
        "mobile_ip_loops.csv",
    ],
};

const SEEDS: u32 = 20;
const LOOP_SEEDS: u32 = 6;
const PAIRS: [(&str, &str); 5] =
    [("Newreno", "every"), ("Newreno", "delayed"), ("Vegas", "every"), ("Vegas", "delayed"), ("Sack1", "every")];
const START: f64 = 10.0;
const STOP: f64 = 150.0;
const INTERVAL: u32 = 7;
const SEGMENT_BITS: f64 = 8000.0;
/// When the host is half way between the agents, at 15 m/s.
const BORDERS: [f64; 3] = [30.0, 71.0, 112.0];
const HOME: NodeId = NodeId(0);
const FOREIGN: NodeId = NodeId(1);
const HOST: NodeId = NodeId(2);

/// A run: speed in m/s, sender, acknowledgements, seed.
type Case = (u32, &'static str, &'static str, u32);

#[derive(Serialize)]
struct Row {
    speed: u32,
    tcp: &'static str,
    acking: &'static str,
    seed: u32,
    throughput_kbps: f64,
    acks: u64,
}

#[derive(Serialize)]
struct Bin {
    speed: u32,
    tcp: &'static str,
    acking: &'static str,
    seed: u32,
    from_s: u32,
    throughput_kbps: f64,
}

#[derive(Serialize)]
struct Handoff {
    tcp: &'static str,
    acking: &'static str,
    seed: u32,
    crossing: usize,
    wait_s: Option<f64>,
}

#[derive(Serialize)]
struct Size {
    message: String,
    bytes: u32,
}

/// What is counted in a run.
#[derive(Debug, Default)]
struct Seen {
    delivered: BTreeSet<u64>,
    arrivals: Vec<f64>,
    acks: u64,
    registered: Vec<(f64, Address)>,
    sizes: BTreeMap<(String, u32), u32>,
}

impl Probe for Seen {
    fn on_packet(&mut self, now: Time, node: NodeId, packet: &Packet, event: PacketEvent) {
        match event {
            PacketEvent::Delivered => {
                let Body::Tcp(header) = &packet.body else { return };
                if node == HOST {
                    self.acks += 1;
                } else if header.len > 0 && self.delivered.insert(header.seq) {
                    self.arrivals.push(now.seconds());
                }
            }
            PacketEvent::Hop { from } => {
                let by_radio = |node: NodeId| node <= HOST;
                if packet.kind() == PacketKind::Control
                    && by_radio(from)
                    && by_radio(node)
                    && let Some(kind) = packet.message_kind()
                {
                    *self.sizes.entry((kind.to_lowercase(), packet.size)).or_default() += 1;
                }
            }
            _ => {}
        }
    }

    fn on_mobile(&mut self, now: Time, node: NodeId, event: &MobileEvent) {
        if let MobileChange::Registered { agent, .. } = event.what
            && node == HOST
        {
            self.registered.push((now.seconds(), agent));
        }
    }
}

/// To the other end and back, with a pause of 1 s at each.
fn to_and_fro(speed: f64) -> mobility::Config {
    let place = |at: f64, x: f64| {
        let (x, y) = (Distance::new(x), Distance::new(100.0));
        waypoints::Waypoint::ground(Span::from_secs_f64(at), x, y)
    };
    let (mut at, mut x) = (START, 50.0);
    let mut track = vec![place(at, x)];
    while at < STOP {
        x = 700.0 - x;
        at += 600.0 / speed;
        track.extend([place(at, x), place(at + 1.0, x)]);
        at += 1.0;
    }
    mobility::Config::Waypoints(waypoints::Params { track, orders: Vec::new() }.into())
}

fn spec(root: &Path, (speed, tcp, acks, seed): Case) -> Result<Spec> {
    let settings = [("profile".to_owned(), "\"ns2\"".to_owned())];
    let file = root.join("../studies/nashiry/a.toml");
    let scenario = Scenario::open(&file, &settings).map_err(|problems| anyhow!("{problems}"))?;
    let mut spec = scenario.spec(u64::from(seed));
    if speed > 0 {
        spec.nodes[HOST.index()].mobility = to_and_fro(f64::from(speed));
    }
    if let Transport::Tcp { config, acking: its } = &mut spec.flows[0].transport {
        let name = if tcp == "Sack1" { "sack".to_owned() } else { tcp.to_lowercase() };
        config.congestion = congestion::Config::of_profile(&name, "ns2")?;
        *its = acking::Config::of_profile(acks, "ns2")?;
    }
    Ok(spec)
}

fn kbps(packets: usize, seconds: f64) -> f64 {
    packets as f64 * SEGMENT_BITS / 1000.0 / seconds
}

fn bins(case: Case, seen: &Seen) -> Vec<Bin> {
    let (speed, tcp, acking, seed) = case;
    let starts = (0..).map(|place| place * INTERVAL).take_while(|&at| f64::from(at) < STOP);
    let bin = |from_s: u32| {
        let (from, end) = (f64::from(from_s), f64::from(from_s + INTERVAL).min(STOP));
        let packets = seen.arrivals.iter().filter(|at| (from..end).contains(*at)).count();
        Bin { speed, tcp, acking, seed, from_s, throughput_kbps: kbps(packets, end - from) }
    };
    starts.map(bin).collect()
}

fn handoffs((speed, tcp, acking, seed): Case, seen: &Seen) -> Vec<Handoff> {
    if speed == 0 {
        return Vec::new();
    }
    let ends = BORDERS[1..].iter().copied().chain([STOP]);
    let one = |(place, (border, end)): (usize, (f64, f64))| {
        let agent = if place % 2 == 0 { FOREIGN } else { HOME };
        let is_it = |it: &&(f64, Address)| (border..end).contains(&it.0) && it.1 == agent.into();
        let wait_s = seen.registered.iter().find(is_it).map(|it| it.0 - border);
        Handoff { tcp, acking, seed, crossing: place + 1, wait_s }
    };
    BORDERS.into_iter().zip(ends).enumerate().map(one).collect()
}

fn run(root: &Path) -> Result<()> {
    let mut cases: Vec<Case> = Vec::new();
    for speed in [0, 15] {
        for (tcp, acking) in PAIRS {
            cases.extend((1..=SEEDS).map(|seed| (speed, tcp, acking, seed)));
        }
    }
    let runs = cases
        .par_iter()
        .map(|&case| {
            let world = World::with_probe(&spec(root, case)?, Seen::default())?;
            Ok(world.run_watched(&Watch::default()).map_err(|unaccounted| anyhow!(unaccounted))?.1)
        })
        .collect::<Result<Vec<Seen>>>()?;
    let all = || cases.iter().copied().zip(&runs);
    let rows = all().map(|((speed, tcp, acking, seed), seen)| Row {
        speed,
        tcp,
        acking,
        seed,
        throughput_kbps: kbps(seen.arrivals.len(), STOP - START),
        acks: seen.acks,
    });
    figures::write(&root.join("results/mobile_ip.csv"), &rows.collect::<Vec<_>>())?;
    let series: Vec<Bin> = all().flat_map(|(case, seen)| bins(case, seen)).collect();
    figures::write(&root.join("results/mobile_ip_series.csv"), &series)?;
    let handoffs: Vec<Handoff> = all().flat_map(|(case, seen)| handoffs(case, seen)).collect();
    figures::write(&root.join("results/mobile_ip_handoffs.csv"), &handoffs)?;
    let first = runs.first().map(|seen| seen.sizes.keys()).into_iter().flatten();
    let sizes: Vec<Size> = first.map(|(message, bytes)| Size { message: message.clone(), bytes: *bytes }).collect();
    figures::write(&root.join("results/mobile_ip_sizes.csv"), &sizes)?;
    run_loops(root)
}

#[derive(Serialize)]
struct Round {
    seed: u32,
    ttl_drops: u64,
    most_visits: u32,
    delivered: u64,
}

/// How often each datagram came to the home agent by radio, by the time at which it was made.
#[derive(Debug, Default)]
struct Visits(BTreeMap<Time, u32>);

impl Probe for Visits {
    fn on_packet(&mut self, _: Time, node: NodeId, packet: &Packet, event: PacketEvent) {
        let PacketEvent::Hop { from } = event else { return };
        if packet.kind() == PacketKind::Data && node == HOME && [FOREIGN, HOST].contains(&from) {
            *self.0.entry(packet.created).or_default() += 1;
        }
    }
}

/// A host that goes to and fro between two agents that hear each other, with a datagram every 0.1 s to it.
fn loop_spec(root: &Path, seed: u32) -> Result<Spec> {
    let mut spec = spec(root, (0, "Newreno", "every", seed))?;
    for (node, x) in [(HOME, 500.0), (FOREIGN, 700.0), (HOST, 800.0)] {
        spec.nodes[node.index()].start = mobility::Position::ground(x, 300.0);
    }
    let place = |at: f64, x: f64| {
        let (x, y) = (Distance::new(x), Distance::new(300.0));
        waypoints::Waypoint::ground(Span::from_secs_f64(at), x, y)
    };
    let (mut at, mut x) = (5.0, 800.0);
    let mut track = vec![place(at, x)];
    while at < 300.0 {
        x = 1200.0 - x;
        track.extend([place(at + 1.0, x), place(at + 4.3, x)]);
        at += 4.3;
    }
    spec.nodes[HOST.index()].mobility =
        mobility::Config::Waypoints(waypoints::Params { track, orders: Vec::new() }.into());
    let mut params = app::cbr::Params::of_profile("ns2");
    // ns-2 counts 200 bytes with all headers.
    (params.packet_size, params.interval) = (Bytes::new(172), Span::from_millis(100));
    let flow = &mut spec.flows[0];
    (flow.from, flow.to) = (flow.to, flow.from);
    flow.start = Time::ZERO + Span::from_secs(1);
    flow.traffic = app::Config::Cbr(params.into());
    flow.transport = Transport::Udp;
    spec.measure_from = Time::ZERO;
    spec.duration = Span::from_secs(300);
    Ok(spec)
}

fn run_loops(root: &Path) -> Result<()> {
    let rows = (1..=LOOP_SEEDS)
        .into_par_iter()
        .map(|seed| {
            let world = World::with_probe(&loop_spec(root, seed)?, Visits::default())?;
            let (outcome, visits) = world.run_watched(&Watch::default()).map_err(|unaccounted| anyhow!(unaccounted))?;
            let expired = outcome.drops.iter().filter(|row| row.reason == "ttl_expired" && row.kind == "data");
            Ok(Round {
                seed,
                ttl_drops: expired.map(|row| row.count).sum(),
                most_visits: visits.0.values().copied().max().unwrap_or(0),
                delivered: outcome.flows[0].packets_arrived,
            })
        })
        .collect::<Result<Vec<_>>>()?;
    figures::write(&root.join("results/mobile_ip_loops.csv"), &rows)
}

fn compare_all(root: &Path) -> Result<Vec<Table>> {
    let read = |name: &str, peer: &str| -> Result<[Figures; 2]> {
        Ok([
            Figures::read(&root.join(format!("results/{name}.csv")))?,
            Figures::read(&root.join(format!("peers/data/ns2_{name}{peer}")))?,
        ])
    };
    let throughput = |bound| Measure { column: "throughput_kbps", title: "throughput, kbit/s", bound };
    let keys = [("speed", "m/s"), ("tcp", "TCP"), ("acking", "ACKs")];
    let [ours, ns2] = read("mobile_ip", ".csv")?;
    let all = compare("Mobile IP", "ns-2", &keys, &throughput(Bound::WithinOrInterval(0.01)), &ours, &ns2)?;
    let acks = Measure { column: "acks", title: "acknowledgements at the host", bound: Bound::WithinOrInterval(0.01) };
    let acks = compare("Mobile IP", "ns-2", &keys, &acks, &ours, &ns2)?;
    let [ours, ns2] = read("mobile_ip_handoffs", ".csv")?;
    let wait = Measure {
        column: "wait_s",
        title: "s from the border to the registration",
        bound: Bound::WithinOrInterval(0.1),
    };
    let handoffs = compare("Mobile IP", "ns-2", &[("crossing", "crossing")], &wait, &ours, &ns2)?;
    let [ours, ns2] = read("mobile_ip_series", ".csv.gz")?;
    let (ours, ns2) = (ours.only(&[("speed", "15")])?, ns2.only(&[("speed", "15")])?);
    let course = compare(
        "Mobile IP at 15 m/s, all senders",
        "ns-2",
        &[("from_s", "from, s")],
        &throughput(Bound::WithinOrInterval(0.02)),
        &ours,
        &ns2,
    )?;
    let [ours, ns2] = read("mobile_ip_loops", ".csv")?;
    let drops = Measure { column: "ttl_drops", title: "datagrams whose TTL ran out", bound: Bound::InRange };
    let visits =
        Measure { column: "most_visits", title: "visits of one datagram at the home agent", bound: Bound::Shown };
    let loops = "Mobile IP with DSDV, a host between two agents";
    let drops = compare(loops, "ns-2", &[], &drops, &ours, &ns2)?;
    let visits = compare(loops, "ns-2", &[], &visits, &ours, &ns2)?;
    Ok(vec![all, acks, handoffs, course, drops, visits])
}
