//! Recordings of runs: they change nothing, and they have what happened.

use std::collections::BTreeMap;
use std::io::Read as _;

use flate2::read::ZlibDecoder;
use hopyard_engine::{Span, Time};
use hopyard_model::observe::replay::{Lengths, MAGIC, MOST_ROWS, Origin, Replay};
use hopyard_model::observe::{Outcome, PathRow};
use hopyard_model::params::RFC;
use hopyard_model::world::{Spec, Watch, World};
use serde_json::Value;

use crate::common::{self, add_cbr, run, run_with, scenarios};

/// Positions are centimetres, counted from so far in the south-west.
const ORIGIN: f64 = 1e9;

/// A recording that was read: the header, and each table by columns.
struct Recording {
    header: Value,
    tables: BTreeMap<String, BTreeMap<String, Vec<i64>>>,
}

impl Recording {
    fn read(bytes: &[u8]) -> Self {
        let packed = bytes.strip_prefix(MAGIC).expect("it begins so");
        let mut all = Vec::new();
        ZlibDecoder::new(packed).read_to_end(&mut all).expect("it is whole");
        let (length, rest) = all.split_first_chunk().expect("the length of the header");
        let (header, mut rest) = rest.split_at(u32::from_le_bytes(*length) as usize);
        let header: Value = serde_json::from_slice(header).expect("JSON");
        let mut tables = BTreeMap::new();
        for table in header["tables"].as_array().expect("tables") {
            let mut columns = BTreeMap::new();
            for column in table["columns"].as_array().expect("columns") {
                let (mine, others) = rest.split_at(column[1].as_u64().expect("a length") as usize);
                rest = others;
                let values = sums(mine);
                assert_eq!(values.len() as u64, table["rows"].as_u64().expect("a number"));
                columns.insert(column[0].as_str().expect("a name").to_owned(), values);
            }
            tables.insert(table["name"].as_str().expect("a name").to_owned(), columns);
        }
        assert!(rest.is_empty(), "{} bytes belong to no column", rest.len());
        Self { header, tables }
    }

    fn column(&self, table: &str, column: &str) -> &[i64] {
        &self.tables[table][column]
    }
}

/// The values of a column, which has their differences.
fn sums(mut bytes: &[u8]) -> Vec<i64> {
    let (mut values, mut sum) = (Vec::new(), 0i64);
    while !bytes.is_empty() {
        let last = bytes.iter().position(|byte| byte & 0x80 == 0).expect("a number ends");
        let coded = bytes[..=last].iter().rev().fold(0u64, |found, byte| found << 7 | u64::from(byte & 0x7f));
        sum += (coded >> 1) as i64 ^ -((coded & 1) as i64);
        values.push(sum);
        bytes = &bytes[last + 1..];
    }
    values
}

/// Makes a run with a recording, and looks at it on the way.
fn record(spec: &Spec, most: usize, look: impl Fn(&World<Replay>)) -> (Outcome, Recording) {
    let mut world = World::with_probe(spec, Replay::new(spec.scene(), most)).expect("a world");
    let mut lengths = Lengths::new(world.interface_count() as u32, spec.sampling_of_queues());
    while lengths.due() < Time::ZERO + spec.duration {
        world.advance(lengths.due(), &Watch::default());
        lengths.note(|interface| world.waiting(interface));
        look(&world);
    }
    let ranges = world.ranges();
    let (outcome, replay) = world.run_watched(&Watch::default()).expect("packets add up");
    let origin = Origin {
        scenario: "test".to_owned(),
        settings: vec![("flow.tcp".to_owned(), "newreno".to_owned())],
        config: String::new(),
        seed: spec.seed,
        run: spec.run,
        version: String::new(),
        digest: format!("{:016x}", outcome.digest),
    };
    let bytes = replay.finish(&origin, &ranges, lengths).expect("memory takes it");
    (outcome, Recording::read(&bytes))
}

/// The scenarios whose recordings are compared with their results: radio and wires, movement, jammers, groups.
fn some() -> impl Iterator<Item = (String, Spec)> {
    const SOME: [&str; 7] = ["hidden terminals", "wired", "gateways", "groups", "heights", "jammers", "moving, aodv"];
    scenarios::all().into_iter().filter(|(name, _)| SOME.contains(&name.as_str()))
}

#[test]
fn a_recording_changes_nothing_and_counts_what_the_results_count() {
    assert_eq!(some().count(), 7);
    for (name, spec) in some() {
        let expected = run(&spec);
        let (found, recording) = record(&spec, MOST_ROWS, |_| {});
        assert_eq!(found.digest, expected.digest, "{name}");
        assert_eq!(recording.header["origin"]["digest"], format!("{:016x}", expected.digest));
        assert_eq!(recording.column("frames", "begin").len() as u64, expected.frames, "{name}: frames");
        let mut drops: BTreeMap<&str, u64> = BTreeMap::new();
        for &reason in recording.column("drops", "reason") {
            *drops.entry(recording.header["reasons"][reason as usize].as_str().expect("a word")).or_default() += 1;
        }
        let mut counted: BTreeMap<&str, u64> = BTreeMap::new();
        for row in &expected.drops {
            *counted.entry(row.reason).or_default() += row.count;
        }
        assert_eq!(drops, counted, "{name}: drops");
    }
}

#[test]
fn legs_are_where_the_nodes_are() {
    let spec = scenarios::moving(RFC, "aodv");
    let mut places: Vec<(i64, Vec<(f64, f64)>)> = Vec::new();
    let seen = std::cell::RefCell::new(&mut places);
    let (_, recording) = record(&spec, MOST_ROWS, |world| {
        let at = world.positions().into_iter().map(|row| (row.x_m, row.y_m)).collect();
        seen.borrow_mut().push(((world.now().nanos() / 1000) as i64, at));
    });
    let column = |name: &'static str| recording.column("legs", name);
    let metres = |stored: f64| (stored - ORIGIN) / 100.0;
    let mut moved = 0.0_f64;
    for (now, at) in &places {
        for (node, &(x, y)) in at.iter().enumerate() {
            let is_its = |&leg: &usize| column("node")[leg] == node as i64 && column("begin")[leg] <= *now;
            let leg = (0..column("node").len()).rfind(is_its).expect("a leg");
            let (begin, end) = (column("begin")[leg], column("end")[leg]);
            let part = ((now - begin) as f64 / (end - begin).max(1) as f64).min(1.0);
            let along = |from: &'static str, to: &'static str| {
                let (from, to) = (column(from)[leg] as f64, column(to)[leg] as f64);
                metres(from + (to - from) * part)
            };
            let away = libm::hypot(along("x0", "x1") - x, along("y0", "y1") - y);
            // Each axis is rounded to a centimetre.
            assert!(away < 0.01, "node {node} at {now} µs: {away} m");
            moved = moved.max((x - at[0].0).abs());
        }
    }
    assert!(moved > 1.0, "nothing is told apart where all nodes are in one place");
}

#[test]
fn paths_are_those_of_the_results() {
    let mut spec = scenarios::moving(RFC, "aodv");
    spec.observe.recorded.paths = true;
    let rows: Vec<PathRow> = {
        let probes = spec.observe.recorded.probes();
        run_with(&spec, probes).0.paths
    };
    let (_, recording) = record(&spec, MOST_ROWS, |_| {});
    let text = |path: &Value| {
        path.as_array().expect("nodes").iter().map(|node| node.to_string()).collect::<Vec<_>>().join(" ")
    };
    let mut found: Vec<_> = recording.header["paths"].as_array().expect("paths").iter().map(text).collect();
    let delivered = rows.into_iter().filter(|row| row.fate == "delivered").map(|row| row.path);
    let mut expected: Vec<_> = delivered.collect();
    found.sort();
    expected.sort();
    expected.dedup();
    assert_eq!(found, expected);
    assert!(found.len() > 1, "one path tells nothing apart");
}

#[test]
fn frames_that_do_not_arrive_are_told_apart() {
    // Node 2 is out of reach of both.
    let mut spec = common::network(RFC, "oracle", &[(0.0, 0.0), (200.0, 0.0), (5000.0, 0.0)]);
    spec.duration = Span::from_secs(2);
    add_cbr(&mut spec, 0, 1, 500, Span::from_millis(100));
    let (outcome, recording) = record(&spec, MOST_ROWS, |_| {});
    assert_eq!(recording.header["ranges"][0].as_f64().map(f64::round), Some(250.0));
    let column = |name| recording.column("frames", name);
    assert!(outcome.frames > 10);
    for row in 0..column("begin").len() {
        let (sender, receiver, decoded) = (column("sender")[row], column("receiver")[row], column("decoded")[row]);
        assert!(sender < 2 && receiver < 3, "node 2 is silent");
        assert_eq!(decoded, 1, "one node hears each frame, addressed or not");
    }
    let shapes = recording.header["shapes"].as_array().expect("shapes");
    let data = shapes.iter().find(|shape| shape["content"] == "data").expect("data");
    assert!(data["airtime"].as_u64() > Some(2_000_000), "500 bytes at 2 Mbit/s are two milliseconds");
}

#[test]
fn a_long_run_is_thinned_and_says_so() {
    let spec = scenarios::moving(RFC, "aodv");
    let (outcome, whole) = record(&spec, MOST_ROWS, |_| {});
    let (again, thin) = record(&spec, 200, |_| {});
    assert_eq!(outcome.digest, again.digest);
    let frames = |it: &Recording| it.header["tables"].as_array().and_then(|all| all.get(1).cloned()).expect("frames");
    let (table, slice) = (frames(&thin), thin.header["slice"].as_i64().expect("a length"));
    let level = table["level"].as_u64().expect("a level");
    assert!(level > 0 && table["rows"].as_u64() <= Some(200), "{table}");
    assert_eq!(table["seen"], frames(&whole)["rows"]);
    let kept = |begin: &&i64| (**begin / slice) % (1 << level) == 0;
    let expected: Vec<i64> = whole.column("frames", "begin").iter().filter(kept).copied().collect();
    assert_eq!(thin.column("frames", "begin"), expected, "a slice that is kept is whole");
}
