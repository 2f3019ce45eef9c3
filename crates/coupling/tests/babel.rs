//! Babel judged by babeld in the same network: a ring of five nodes whose links lose nothing, one of which breaks and
//! comes back. All nodes are Hopyard's, or all are kernels with babeld, or some are. Without a kernel or without babeld
//! a test is skipped.
//!
//! `cargo test -p hopyard-coupling --test coupled babel:: -- --ignored` makes `validation/babel/runs.csv` and
//! `causes.csv`.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::net::Ipv4Addr;
use std::ops::Range;
use std::path::Path;

use hopyard_coupling::{Coupled, Options, Routers, daemons};
use hopyard_engine::Time;
use hopyard_model::address::{Address, InterfaceId, NodeId};
use hopyard_model::observe::capture::{Flow, Names, packet, station_of};
use hopyard_model::observe::{FrameEdge, FrameView, NetworkView, Outcome, Probe};
use hopyard_model::phy::frame::Header;
use hopyard_model::world::{Watch, World};
use hopyard_scenario::Scenario;
use hopyard_wire::babel::{Message, Packet, Target};
use hopyard_wire::ieee80211::EtherType;
use hopyard_wire::{ipv6, udp};

use crate::common::{at, skipped, with_kernel};

const NODES: u32 = 5;
/// When the messages are counted, when the tables are looked at, and when the link from 3 to 4 breaks and comes back.
const COUNTED: Range<u64> = 80_000..190_000;
const AT_REST: u64 = 199_000;
const BREAK: u64 = 200_000;
const REPAIR: u64 = 300_000;
const END: u64 = 400_000;
/// How often the tables of Hopyard's nodes are looked at, in milliseconds.
const LOOK: u64 = 100;
/// A network: its name, the numbers of its kernels, the routing of these, and keys of `[routing.babel]`.
type Kind = (&'static str, &'static [u32], &'static str, &'static str);

const ALL: [u32; NODES as usize] = [0, 1, 2, 3, 4];
/// babeld that tells IPv4 addresses only. The next one does not smooth metrics.
const BABELD_IPV4: &str = "babeld -I /tmp/pid -S /tmp/state -C 'interface eth0 type wireless' -C 'redistribute local \
                           ip 0.0.0.0/0 allow' -C 'redistribute local deny' eth0";
const BABELD_UNSMOOTHED: &str =
    "babeld -M 0 -I /tmp/pid -S /tmp/state -C 'interface eth0 type wireless' -C 'redistribute local' eth0";
/// Which nodes run babeld: none, all, either half, one, two neighbours, and all without IPv6 addresses.
const KINDS: [Kind; 7] = [
    ("hopyard", &[], "", ""),
    ("babeld", &ALL, "babeld", ""),
    ("babeld at 0, 2, 4", &[0, 2, 4], "babeld", ""),
    ("babeld at 1, 3", &[1, 3], "babeld", ""),
    ("babeld at 3", &[3], "babeld", ""),
    ("babeld at 3, 4", &[3, 4], "babeld", ""),
    ("babeld, IPv4 only", &ALL, BABELD_IPV4, ""),
];
/// What babeld does beyond RFC 8966, each time without one of its rules.
const CAUSES: [Kind; 7] = [
    ("babeld, no smoothed metric", &ALL, BABELD_UNSMOOTHED, ""),
    ("hopyard, no smoothed metric", &[], "", "smoothing = \"0 s\""),
    ("hopyard, new routes not above their metric", &[], "", "smoothing_start = 0"),
    ("hopyard, missing Hellos noticed at once", &[], "", "look_interval = \"0 s\""),
    ("hopyard, Hellos missing after 1.5 intervals", &[], "", "hello_hold = 1.5"),
    ("hopyard, requests and Hellos without delay", &[], "", "packet_delay = \"10 ms\""),
    ("hopyard, updates without delay", &[], "", "update_delay = \"10 ms\""),
];

/// The scenario.
fn text(&(_, kernels, routing, keys): &Kind, seed: u64) -> String {
    let linux = match kernels {
        [] => String::new(),
        all if all.len() == NODES as usize => format!("[linux]\nrouting = \"{routing}\"\n"),
        some => format!("[linux]\nrouting = \"{routing}\"\nnodes = {some:?}\n"),
    };
    let own = format!("[routing]\nprotocol = \"babel\"\n[routing.babel]\nipv6 = true\n{keys}\n");
    let system = if kernels.is_empty() { "hopyard" } else { "linux" };
    let own = if kernels.len() == NODES as usize { String::new() } else { own };
    format!(
        "duration = \"{} ms\"\nseed = {seed}\n[nodes]\ncount = {NODES}\nplacement = \"circle\"\nradius = \"50 m\"\nsystem \
         = \"{system}\"\n[radio]\npropagation = \"table\"\ntable.path = \"links.csv\"\ntable.between = \
         \"hold\"\nreceive = \"-85 dBm\"\nsense = \"-95 dBm\"\n[measure]\nroutes = \"all\"\n{own}{linux}",
        END
    )
}

/// The links: those of the ring lose nothing. The others are heard and not understood, so that nobody is hidden.
fn links() -> String {
    let mut text = "from,to,time,delivery\n".to_owned();
    for (from, to) in (0..NODES).flat_map(|from| (0..NODES).map(move |to| (from, to))).filter(|(from, to)| from != to) {
        let changes: &[(u64, u32)] = match (from.min(to), from.max(to)) {
            (3, 4) => &[(0, 1), (BREAK, 0), (REPAIR, 1)],
            (a, b) if b - a == 1 || b - a == NODES - 1 => &[(0, 1)],
            _ => &[(0, 0)],
        };
        for (time, delivery) in changes {
            writeln!(text, "{from},{to},{},{delivery}", time / 1000).expect("a string takes all");
        }
    }
    text
}

fn scenario(kind: &Kind, seed: u64) -> Scenario {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("babel-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    std::fs::write(folder.join("links.csv"), links()).expect("written");
    let name = folder.join("test.toml").display().to_string();
    Scenario::load(&text(kind, seed), &name, Path::new(&folder), &[]).unwrap_or_else(|it| panic!("{it}"))
}

/// What each node sends on the air: the same bytes are read whoever sends them.
#[derive(Debug)]
struct Ear {
    /// When messages count, in milliseconds.
    counted: Range<u64>,
    addresses: Vec<Ipv4Addr>,
    /// By node: packets, their bytes of IPv6, Hellos, IHUs, updates of IPv4 addresses, requests.
    sent: Vec<[u64; 6]>,
    /// Of all nodes together, without repetitions by the MAC: packets, bytes, Hellos, IHUs, updates, requests for a
    /// route, requests for a number; then the packets that the MAC repeated.
    fresh: [u64; 8],
    /// The metric that a node has told last, by node and destination.
    told: BTreeMap<(u32, u32), u16>,
}

impl Ear {
    const fn new(counted: Range<u64>) -> Self {
        Self { counted, addresses: Vec::new(), sent: Vec::new(), fresh: [0; 8], told: BTreeMap::new() }
    }

    fn messages(&self, frame: &FrameView<'_>) -> Option<(usize, Vec<Message>)> {
        let address = |it: Address| self.addresses.get(it.index()).copied().unwrap_or(Ipv4Addr::UNSPECIFIED);
        let names = Names { address: &address, station: &station_of, flow: &Flow::udp };
        let mut bytes = Vec::new();
        if packet(frame.packet?, &names, &mut bytes).ok()? != EtherType::IPV6 {
            return None;
        }
        let (header, body) = ipv6::Header::parse(&bytes).ok()?;
        let (ports, payload) = udp::Header::parse(body, header.source, header.destination).ok()?;
        let (babel, _) = (ports.destination_port == 6696).then(|| Packet::parse(payload).expect("sound"))?;
        Some((bytes.len(), babel.messages().to_vec()))
    }
}

impl Probe for Ear {
    fn on_start(&mut self, network: &NetworkView<'_>) {
        self.addresses = network.interfaces.iter().map(|it| it.address).collect();
        self.sent = vec![[0; 6]; network.nodes];
    }

    fn on_frame(&mut self, now: Time, interface: InterfaceId, frame: &FrameView<'_>, edge: FrameEdge) {
        let Some((bytes, messages)) = (edge == FrameEdge::Sent).then(|| self.messages(frame)).flatten() else { return };
        let counts = (at(self.counted.start)..at(self.counted.end)).contains(&now);
        let of = |address: &Ipv4Addr| self.addresses.iter().position(|it| it == address);
        let mut seen = [1, bytes as u64, 0, 0, 0, 0];
        let mut seqno_requests = 0;
        for message in messages {
            let place = match message {
                Message::Hello { .. } => 2,
                Message::Ihu { .. } => 3,
                Message::Update(it) => {
                    if let Target::Host(address) = it.destination
                        && let Some(destination) = of(&address)
                    {
                        self.told.insert((interface.0, destination as u32), it.metric);
                    }
                    4
                }
                Message::SeqnoRequest { .. } => {
                    seqno_requests += 1;
                    5
                }
                _ => 5,
            };
            seen[place] += 1;
        }
        if counts {
            let is_repeated = matches!(frame.header, Header::Data { retry: true, .. });
            let fresh = match seen {
                _ if is_repeated => [0, 0, 0, 0, 0, 0, 0, 1],
                [a, b, c, d, e, f] => [a, b, c, d, e, f - seqno_requests, seqno_requests, 0],
            };
            self.fresh.iter_mut().zip(fresh).for_each(|(sum, it)| *sum += it);
            self.sent[interface.index()].iter_mut().zip(seen).for_each(|(sum, it)| *sum += it);
        }
    }
}

/// A change of a route: time in milliseconds, node, destination, next hop.
type Change = (u64, u32, u32, Option<u32>);

/// What a run shows.
struct Run {
    changes: Vec<Change>,
    /// What each node had told when nothing changed any more.
    told: BTreeMap<(u32, u32), u16>,
    sent: Vec<[u64; 6]>,
}

impl Run {
    /// The next hops at a time.
    fn table(&self, time: u64) -> BTreeMap<(u32, u32), u32> {
        let mut table = BTreeMap::new();
        for &(_, node, destination, next) in self.changes.iter().take_while(|it| it.0 < time) {
            match next {
                Some(next) => table.insert((node, destination), next),
                None => table.remove(&(node, destination)),
            };
        }
        table
    }

    /// Seconds from a time until each node has the routes that it has at another time.
    fn settled(&self, from: u64, to: u64) -> [f64; NODES as usize] {
        let mut last = [0.0; NODES as usize];
        for &(time, node, ..) in self.changes.iter().filter(|it| (from..to).contains(&it.0)) {
            last[node as usize] = (time - from) as f64 / 1000.0;
        }
        last
    }

    /// The times at which next hops led in a circle for longer than two looks at the tables.
    fn loops(&self) -> Vec<u64> {
        let mut found = Vec::new();
        let times: Vec<u64> = self.changes.iter().map(|it| it.0).collect();
        for (&time, next) in times.iter().zip(times.iter().skip(1).chain([&END])) {
            if next - time <= 2 * LOOK {
                continue;
            }
            let table = self.table(time + 1);
            let circles = |(node, destination): (u32, u32)| {
                let mut place = node;
                (0..NODES).all(|_| table.get(&(place, destination)).inspect(|next| place = **next).is_some())
            };
            if table.keys().any(|&ends| circles(ends)) {
                found.push(time);
            }
        }
        found
    }
}

/// The options of a run, if a kernel and the daemon are there.
fn options(scenario: &Scenario) -> Option<Options> {
    let options = with_kernel("6.1")?;
    let programs = daemons(scenario, &scenario.spec(0));
    if let Some(error) = programs.iter().find_map(|it| it.find().err()) {
        skipped(error);
        return None;
    }
    let seed = scenario.spec(0).seed;
    Some(Options { programs, seed, routers: Routers::of(scenario, &scenario.spec(0)), ..options })
}

/// Notes the changes of the tables of Hopyard's nodes since the last look.
fn look<P: Probe>(world: &World<P>, own: &[u32], time: u64, known: &mut BTreeMap<(u32, u32), u32>) -> Vec<Change> {
    let mut changes = Vec::new();
    for &node in own {
        let rows = world.routes(NodeId(node));
        let now: BTreeMap<u32, u32> = rows.iter().map(|it| (it.destination, it.next_hop)).collect();
        for destination in (0..NODES).filter(|it| *it != node) {
            let (before, after) = (known.get(&(node, destination)).copied(), now.get(&destination).copied());
            if before != after {
                changes.push((time, node, destination, after));
                match after {
                    Some(next) => known.insert((node, destination), next),
                    None => known.remove(&(node, destination)),
                };
            }
        }
    }
    changes
}

fn run(kind: &Kind, seed: u64) -> Option<Run> {
    let (scenario, kernels) = (scenario(kind, seed), kind.1);
    let spec = scenario.spec(0);
    let own: Vec<u32> = (0..NODES).filter(|it| !kernels.contains(it)).collect();
    let (mut changes, mut known, mut told) = (Vec::new(), BTreeMap::new(), BTreeMap::new());
    let watch = Watch::default();
    let (outcome, ear): (Outcome, Ear) = if kernels.is_empty() {
        let mut world = World::with_probe(&spec, Ear::new(COUNTED)).expect("a network");
        for time in (LOOK..=END).step_by(LOOK as usize) {
            world.advance(at(time), &watch);
            changes.extend(look(&world, &own, time, &mut known));
            if time == AT_REST {
                told.clone_from(&world.probe().told);
            }
        }
        world.finish().expect("packets add up")
    } else {
        let mut coupled = Coupled::start(&spec, &[], &options(&scenario)?, Ear::new(COUNTED)).expect("it starts");
        // Kernels tell their changes themselves.
        let step = if own.is_empty() { AT_REST } else { LOOK };
        for time in (step..END).step_by(step as usize).chain([END]) {
            coupled.advance(at(time), &watch).unwrap_or_else(|error| panic!("{error}"));
            changes.extend(look(coupled.world(), &own, time, &mut known));
            if time == AT_REST {
                told.clone_from(&coupled.world().probe().1.told);
            }
        }
        coupled.finish().expect("packets add up")
    };
    let millis = |seconds: f64| (seconds * 1000.0) as u64;
    let of_kernels = outcome.route_changes.iter().filter(|it| kernels.contains(&it.node));
    changes.extend(of_kernels.map(|it| (millis(it.time_s), it.node, it.destination, it.next_hop)));
    changes.sort_by_key(|it| it.0);
    Some(Run { changes, told, sent: ear.sent })
}

/// The next hops of the ring, and without the link from 3 to 4.
fn expected(whole: bool) -> BTreeMap<(u32, u32), u32> {
    let ends = (0..NODES).flat_map(|from| (0..NODES).map(move |to| (from, to))).filter(|(from, to)| from != to);
    let next = |from: u32, to: u32| {
        let ahead = (to + NODES - from) % NODES;
        let broken = (0..ahead).any(|it| (from + it) % NODES == 3);
        let forward = if whole { ahead <= NODES / 2 } else { !broken };
        if forward { (from + 1) % NODES } else { (from + NODES - 1) % NODES }
    };
    ends.map(|(from, to)| ((from, to), next(from, to))).collect()
}

/// The metric of every route on the ring where nothing is lost.
fn metrics() -> BTreeMap<(u32, u32), u16> {
    let hops = |from: u32, to: u32| from.abs_diff(to).min(NODES - from.abs_diff(to)) as u16;
    (0..NODES).flat_map(|from| (0..NODES).map(move |to| ((from, to), 256 * hops(from, to)))).collect()
}

/// At rest all nodes of all mixtures have the same next hops and tell the same metrics; after the break and the repair
/// too; and no next hops lead in a circle.
#[test]
fn tables_are_the_same_whoever_routes() {
    for kind in KINDS {
        let (name, Some(run)) = (kind.0, run(&kind, 1)) else { return };
        assert_eq!(run.table(AT_REST), expected(true), "{name}");
        assert_eq!(run.told, metrics(), "{name}");
        assert_eq!(run.table(REPAIR), expected(false), "{name}: {:?}", run.changes);
        assert_eq!(run.table(END), expected(true), "{name}: {:?}", run.changes);
        assert_eq!(run.loops(), [0_u64; 0], "{name}");
    }
}

/// All runs, for `validation/babel`.
#[test]
#[ignore = "it takes minutes"]
fn all_seeds() {
    write("runs.csv", &KINDS);
    write("causes.csv", &CAUSES);
}

/// Makes a file of runs with twenty seeds.
fn write(file: &str, kinds: &[Kind]) {
    let head = "network,seed,node,kernel,same_at_rest,same_metrics,broken_s,same_broken,repaired_s,same_repaired,loops,packets,\
                bytes,hellos,ihus,updates,requests\n";
    let mut rows = head.to_owned();
    for kind in kinds {
        let (name, kernels) = (kind.0, kind.1);
        for seed in 1..=20 {
            let Some(run) = run(kind, seed) else { return };
            let (broken, repaired) = (run.settled(BREAK, REPAIR), run.settled(REPAIR, END));
            let of = |table: BTreeMap<(u32, u32), u32>, node| table.into_iter().filter(move |it| it.0.0 == node);
            let same = |time, whole, node| of(run.table(time), node).eq(of(expected(whole), node));
            for node in 0..NODES {
                let told = |all: &BTreeMap<(u32, u32), u16>| {
                    all.iter().filter(|it| it.0.0 == node).map(|it| *it.1).collect::<Vec<_>>()
                };
                let (place, loops) = (node as usize, run.loops().len());
                let counts = run.sent[place].map(|it| it.to_string()).join(",");
                let (rest, after, end) = (same(AT_REST, true, node), same(REPAIR, false, node), same(END, true, node));
                writeln!(
                    rows,
                    "\"{name}\",{seed},{node},{},{rest},{},{:.1},{after},{:.1},{end},{loops},{counts}",
                    kernels.contains(&node),
                    told(&run.told) == told(&metrics()),
                    broken[place],
                    repaired[place],
                )
                .expect("a string takes all");
            }
        }
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../validation/babel").join(file);
    std::fs::write(path, rows).expect("written");
}

/// Fifty nodes in a square kilometre, which stand still or move, for `validation/babel/fifty.csv`: messages a node and
/// second from 30 s to 70 s, in packets that the MAC sends the first time, and packets that it repeats.
#[test]
#[ignore = "it takes minutes"]
fn fifty_nodes() {
    const FIFTY: u32 = 50;
    const COUNTED: Range<u64> = 30_000..70_000;
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../validation/babel/fifty.csv");
    let mut rows =
        "network,speed_m_s,seed,packets,bytes,hellos,ihus,updates,requests,seqno_requests,repeated\n".to_owned();
    for (name, system) in [("hopyard", "hopyard"), ("babeld, IPv4 only", "linux")] {
        for (speed, seed) in [(0, 1), (0, 2)].into_iter().chain((1..=8).map(|seed| (5, seed))) {
            let (placement, mobility) = match speed {
                0 => ("placement = \"uniform\"", String::new()),
                _ => {
                    let (model, key) = ("[mobility]\nmodel = \"random_waypoint\"\n", "random_waypoint.speed");
                    ("", format!("{model}{key}_min = \"{speed} m/s\"\n{key}_max = \"{speed} m/s\"\n"))
                }
            };
            let routing = match system {
                "linux" => format!("[linux]\nrouting = \"{BABELD_IPV4}\"\n"),
                _ => "[routing]\nprotocol = \"babel\"\nbabel.ipv6 = true\n".to_owned(),
            };
            let nodes =
                format!("[nodes]\ncount = {FIFTY}\nsystem = \"{system}\"\n{placement}\narea = [\"1 km\", \"1 km\"]\n");
            let radio = "[radio]\nreceive = \"250 m\"\nsense = \"550 m\"\n";
            let text = format!("duration = \"{} ms\"\nseed = {seed}\n{nodes}{radio}{mobility}{routing}", COUNTED.end);
            let scenario = Scenario::load(&text, "fifty.toml", Path::new(""), &[]).unwrap_or_else(|it| panic!("{it}"));
            let (spec, watch) = (scenario.spec(0), Watch::default());
            let (_, ear): (Outcome, Ear) = if system == "linux" {
                let Some(options) = options(&scenario) else { return };
                let mut coupled = Coupled::start(&spec, &[], &options, Ear::new(COUNTED)).expect("it starts");
                coupled.advance(at(COUNTED.end), &watch).unwrap_or_else(|error| panic!("{error}"));
                coupled.finish().expect("packets add up")
            } else {
                let mut world = World::with_probe(&spec, Ear::new(COUNTED)).expect("a network");
                world.advance(at(COUNTED.end), &watch);
                world.finish().expect("packets add up")
            };
            let scale = f64::from(FIFTY) * (COUNTED.end - COUNTED.start) as f64 / 1000.0;
            let counts = ear.fresh.map(|it| format!("{:.3}", it as f64 / scale));
            writeln!(rows, "\"{name}\",{speed},{seed},{}", counts.join(",")).expect("a string takes all");
            std::fs::write(&path, &rows).expect("written");
        }
    }
}
