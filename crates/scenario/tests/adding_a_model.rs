//! A model is one file and its entry in a list: this test adds one to every list, in a copy of the source.
//!
//! The models are those of `docs/adding`: the test takes the files and the lines from the pages. A program in the copy
//! then lists every model, finds it in the schema, selects it in a scenario and runs the scenario. Tests of the copy
//! that go through the lists meet the models too. Nothing else in the copy is changed.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The pages, each called after the list that it adds a model to. A probe needs no list.
const PAGES: [&str; 18] = [
    "congestion",
    "recovery",
    "acking",
    "routing",
    "routing-message",
    "agent",
    "multicast",
    "mac",
    "mac-acknowledged",
    "rate_control",
    "queue",
    "energy",
    "reception",
    "propagation",
    "fading",
    "mobility",
    "traffic",
    "probe",
];

/// The program that looks for the models.
const PROGRAM: &str = r##"
use std::path::Path;
use hopyard_engine::Time;
use hopyard_model::address::NodeId;
use hopyard_model::agent::Model;
use hopyard_model::observe::Outcome;
use hopyard_model::world::{self, Watch, World};
use hopyard_scenario::{Scenario, find_models, json_schema, new_scenario};

fn scenario(settings: &[(&str, &str)]) -> Scenario {
    let mut all = vec![("duration".to_owned(), "5 s".to_owned()), ("runs".to_owned(), "1".to_owned())];
    all.extend(settings.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())));
    let text = new_scenario("chain").expect("a template");
    Scenario::load(&text, "t.toml", Path::new(""), &all).unwrap_or_else(|p| panic!("{settings:?}: {p}"))
}

fn run(settings: &[(&str, &str)]) -> Outcome {
    world::simulate(&scenario(settings).spec(0), &Watch::default()).unwrap_or_else(|error| panic!("{settings:?}: {error}"))
}

fn main() {
    // Every model is listed, has its section, and stands in the schema.
    let schema = json_schema().to_string();
    for (name, room, section) in [
        ("shy", "congestion", "[tcp.shy]"),
        ("third", "acking", "[acking.third]"),
        ("direct", "routing", "[routing.direct]"),
        ("nearby", "routing", "[routing.nearby]"),
        ("listener", "agent", "[agents.listener]"),
        ("gossip", "multicast", "[multicast.gossip]"),
        ("aloha", "mac", "[mac.aloha]"),
        ("patient", "mac", "[mac.patient]"),
        ("timid", "rate_control", "[mac.timid]"),
        ("head_drop", "queue", "[link.head_drop]"),
        ("flat", "energy", "[energy.flat]"),
        ("cube", "propagation", "[radio.cube]"),
        ("exponential", "fading", "[radio.exponential]"),
        ("drift", "mobility", "[mobility.drift]"),
        ("burst", "traffic", "[traffic.burst]"),
    ] {
        let model = find_models(name).unwrap_or_else(|error| panic!("{error}")).remove(0);
        assert_eq!((model.room, model.section.as_str()), (room, section));
        assert!(schema.contains(&format!("\"#/$defs/{room}.{name}\"")), "{room}.{name} is in the schema");
    }
    assert!(schema.contains("\"timer_only\"") && schema.contains("\"alone\""));

    // Each can be selected, and does what it says.
    let plain = run(&[]);
    let last = run(&[("flow.tcp", "shy"), ("tcp.shy.segments", "3")]);
    assert_eq!(last.flows[0].transport, "shy");
    assert!(last.flows[0].goodput_kbps > 0.0);
    let timer = run(&[("tcp.recovery", "timer_only")]);
    assert_eq!(timer.flows[0].fast_retransmits, Some(0));
    assert!(timer.flows[0].delivered_bytes > 0);
    let third = run(&[("flow.acking", "third")]);
    assert_ne!(third.digest, plain.digest);
    let direct = run(&[("routing.protocol", "direct"), ("flow.to", "1")]);
    assert_eq!(direct.flows[0].routing, "direct");
    assert_eq!((direct.flows[0].hops, direct.nodes[0].routing_packets), (Some(1.0), 0));
    let aloha = run(&[("mac.model", "aloha"), ("routing.protocol", "direct"), ("flow.to", "1")]);
    let bytes = aloha.nodes[0].metric("bytes_sent").expect("a column of its own");
    assert!(bytes > 1000 && aloha.nodes[0].metric("rts").is_none());
    // Two hops, by messages that the table of messages counts, over a MAC whose frames are answered.
    let far = [("routing.protocol", "nearby"), ("flow.to", "2"), ("flow.start", "2 s")];
    let nearby = run(&far);
    assert_eq!((nearby.flows[0].routing, nearby.flows[0].hops), ("nearby", Some(2.0)));
    assert!(nearby.overhead.iter().any(|row| row.message == "HELLO" && row.originated > 4 && row.received > 4));
    let patient = |settings: &[(&str, &str)]| run(&[&far[..], &[("mac.model", "patient")], settings].concat());
    let sum = |outcome: &Outcome, name| outcome.nodes.iter().filter_map(|node| node.metric(name)).sum::<u64>();
    let many = patient(&[]);
    assert!(many.flows[0].delivered_bytes > 100_000 && many.flows[0].hops == Some(2.0));
    assert!(sum(&many, "sent_again") > sum(&many, "heard_again") && sum(&many, "heard_again") > 0, "answers get lost");
    // One segment at a time meets no other frame: each is answered at once.
    let one = patient(&[("tcp.window", "1")]);
    assert!(one.flows[0].delivered_bytes > 10_000 && sum(&one, "sent_again") == 0);
    // Without a second try, packets come back to routing.
    let hasty = patient(&[("mac.patient.retry_limit", "0")]);
    assert!(hasty.drops.iter().any(|row| row.reason == "retry_limit") && sum(&hasty, "sent_again") == 0);
    let timid = run(&[("mac.rate_control", "timid"), ("measure.rates", "true"), ("routing.protocol", "static")]);
    assert!(timid.rate_changes.iter().any(|row| row.rate_kbps == 11_000.0) && timid.digest != plain.digest);
    let head = run(&[("link.queue", "head_drop"), ("link.head_drop.limit", "1")]);
    assert!(head.drops.iter().any(|row| row.reason == "queue_full") && head.digest != plain.digest);
    let text = "duration = \"5 s\"\n[nodes]\ncount = 7\n[routing]\nprotocol = \"static\"\n[multicast]\nprotocol = \"gossip\"\n\
                [[flow]]\nfrom = 0\nto = \"all\"\nudp = true\ntraffic = \"cbr\"\n";
    let [gossip, always, never] = ["0.7", "1.0", "0.0"].map(|probability| {
        let settings = [("multicast.gossip.probability".to_owned(), probability.to_owned())];
        let scenario = Scenario::load(text, "t.toml", Path::new(""), &settings).unwrap_or_else(|p| panic!("{p}"));
        world::simulate(&scenario.spec(0), &Watch::default()).expect("packets add up")
    });
    let reached = |outcome: &Outcome| outcome.flows.iter().map(|flow| flow.packets_unique).sum::<u64>();
    assert!(reached(&never) > 0 && reached(&never) < reached(&gossip) && reached(&gossip) < reached(&always));
    assert!(never.nodes.iter().all(|node| node.forwarded == 0) && never.flows.len() == 6);
    let flat = run(&[("energy.model", "flat"), ("energy.flat.power", "2 W")]);
    assert!(flat.nodes.iter().all(|node| node.energy_j == Some(10.0)), "2 W for 5 s");
    assert!(plain.nodes.iter().all(|node| node.energy_j.is_none()) && flat.digest == plain.digest);
    let alone = run(&[("radio.reception", "alone")]);
    assert_eq!(alone.nodes.iter().map(|node| node.collisions + node.bit_errors).sum::<u64>(), 0);
    assert!(plain.nodes.iter().map(|node| node.collisions + node.bit_errors).sum::<u64>() > 0);
    assert!(run(&[("radio.propagation", "cube"), ("radio.cube.at_one_metre", "1e-3")]).flows[0].delivered_bytes > 0);
    let faded = run(&[("radio.fading", "exponential")]);
    assert!(faded.digest != plain.digest && faded.flows[0].delivered_bytes < plain.flows[0].delivered_bytes);
    // All nodes together stay where they are to one another; one that drifts away alone is lost.
    assert_eq!(run(&[("mobility.model", "drift"), ("mobility.drift.speed", "10 m/s")]).digest, plain.digest);
    let text = new_scenario("chain").expect("a template");
    let text = format!("{text}\n[[movement]]\nnodes = [6]\nmodel = \"drift\"\n[movement.drift]\nspeed = \"99 m/s\"\n");
    let settings = [("duration".to_owned(), "5 s".to_owned())];
    let leaving = Scenario::load(&text, "t.toml", Path::new(""), &settings).unwrap_or_else(|p| panic!("{p}"));
    let drift = world::simulate(&leaving.spec(0), &Watch::default()).expect("packets add up");
    assert!(drift.flows[0].delivered_bytes < plain.flows[0].delivered_bytes);
    let burst = run(&[("flow.traffic", "burst"), ("traffic.burst.packets", "7")]);
    assert_eq!((burst.flows[0].delivered_bytes, burst.flows[1].delivered_bytes), (7 * 512, 40));
    assert_eq!(burst.flows[1].answers, Some(0));
    let mut world = World::new(&scenario(&[("agents.run", "[\"listener\"]")]).spec(0)).expect("a world");
    world.advance(Time::NEVER, &Watch::default());
    let [Model::Listener(agent)] = world.agents(NodeId(1)) else { panic!("one agent") };
    assert!(agent.overheard > 10, "{} packets overheard", agent.overheard);
    world.finish().expect("packets add up");

    // Two agents with one port cannot be told apart; a parameter outside of its range is refused with its line.
    let text = "[nodes]\ncount = 2\n[agents]\nrun = [\"listener\", \"listener\"]\n[acking.third]\ndelay = \"0 s\"\n";
    let problems = Scenario::load(text, "t.toml", Path::new(""), &[]).expect_err("two problems").to_string();
    assert!(problems.contains("listed twice") && problems.contains("above zero"), "{problems}");
    print!("every model ran");
}
"##;

/// A file that a page shows, or lines that it inserts before an anchor.
#[derive(Debug)]
enum Step {
    File(PathBuf, String),
    Lines(PathBuf, String, String),
}

/// The steps of a page: a paragraph "`path`:" or "In `path`, before `anchor`:" says what the code below it is.
fn steps(page: &str) -> Vec<Step> {
    let mut steps = Vec::new();
    let mut lines = page.lines();
    let mut said: Vec<&str> = Vec::new();
    while let Some(line) = lines.next() {
        if line.starts_with('`') && line.ends_with("`:") || line.starts_with("In `") && line.ends_with("`:") {
            said = line.split('`').collect();
        }
        if line == "```rust" {
            let code: Vec<_> = lines.by_ref().take_while(|line| *line != "```").collect();
            let code = code.join("\n") + "\n";
            match said[..] {
                ["", path, ":"] => steps.push(Step::File(path.into(), code)),
                ["In ", path, ", before ", anchor, ":"] => {
                    steps.push(Step::Lines(path.into(), anchor.to_owned(), code));
                }
                _ => panic!("nothing says what this code is: {code}"),
            }
        }
    }
    steps
}

/// The files of the copy, by their paths in it.
#[derive(Default)]
struct Tree(BTreeMap<PathBuf, Vec<u8>>);

impl Tree {
    fn copy(&mut self, root: &Path, folder: &Path) {
        for entry in fs::read_dir(root.join(folder)).expect("it is a directory").filter_map(Result::ok) {
            let path = folder.join(entry.file_name());
            if entry.path().is_dir() {
                self.copy(root, &path);
            } else {
                let bytes = fs::read(entry.path()).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
                self.0.insert(path, bytes);
            }
        }
    }

    fn edit(&mut self, path: &Path, at: &str, insert: &str) {
        let bytes = self.0.get_mut(path).unwrap_or_else(|| panic!("there is no {}", path.display()));
        let text = str::from_utf8(bytes).expect("source is text");
        assert_eq!(text.matches(at).count(), 1, "{at} stands once in {}", path.display());
        *bytes = text.replace(at, &format!("{insert}{at}")).into_bytes();
    }

    /// Writes the files. A file whose content is the same is not written again, so that Cargo compiles only what has
    /// changed since the last test.
    fn write(&self, fixture: &Path) {
        let mut folders = vec![fixture.to_path_buf()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok) {
                let path = entry.path();
                if path.is_dir() {
                    folders.push(path);
                } else if !self.0.contains_key(path.strip_prefix(fixture).expect("it is in there")) {
                    fs::remove_file(path).expect("an old file can go");
                }
            }
        }
        for (path, bytes) in &self.0 {
            let path = fixture.join(path);
            if fs::read(&path).ok().as_ref() != Some(bytes) {
                fs::create_dir_all(path.parent().expect("a folder")).expect("it can be made");
                fs::write(&path, bytes).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
            }
        }
    }
}

/// The workspace's manifest or lock file with another version of the workspace's own packages.
fn of_another_version(text: &str) -> String {
    let own = format!("version = \"{}\"", env!("CARGO_PKG_VERSION"));
    let mut name = "";
    let change = |line: &'_ str| -> String {
        if line.starts_with("name = ") || line.starts_with('[') {
            name = if line.contains("\"hopyard-") || line == "[workspace.package]" { "own" } else { "" };
        }
        if name == "own" && line == own { "version = \"0.0.0\"".to_owned() } else { line.to_owned() }
    };
    let changed: Vec<_> = text.lines().map(change).collect();
    let changed = changed.join("\n") + "\n";
    assert_ne!(changed, text, "{own} stands in it");
    changed
}

#[test]
fn one_file_and_one_entry_add_a_model_to_every_list() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let temporary = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let target = temporary.parent().expect("it is within the target folder");
    let fixture = temporary.join("adding-a-model");
    let mut tree = Tree::default();
    // With all members, dependencies have the same features as in the workspace, whose builds of them are then used.
    let crates = [
        "crates/engine",
        "crates/wire",
        "crates/net",
        "crates/hosts",
        "crates/model",
        "crates/kernels",
        "crates/coupling",
        "crates/live",
        "crates/scenario",
        "crates/py",
        "bench/core",
        "validation/hopyard",
        "validation/packetdrill",
    ];
    for member in crates.map(Path::new) {
        tree.copy(&root, &member.join("src"));
        let manifest = member.join("Cargo.toml");
        let bytes = fs::read(root.join(&manifest)).expect("a crate has a manifest");
        tree.0.insert(manifest, bytes);
    }
    // With another version: Cargo would take the copy for the workspace itself, and would not compile a changed source
    // again, because the source of what it finds in the target folder has not changed.
    for file in ["Cargo.toml", "Cargo.lock"] {
        let text = fs::read_to_string(root.join(file)).expect("the workspace has it");
        tree.0.insert(file.into(), of_another_version(&text).into_bytes());
    }
    let mut touched: BTreeMap<&str, Vec<PathBuf>> = BTreeMap::new();
    for name in PAGES {
        let page = root.join(format!("docs/adding/{name}.md"));
        let page = fs::read_to_string(&page).unwrap_or_else(|error| panic!("{}: {error}", page.display()));
        for step in steps(&page) {
            match step {
                Step::File(path, code) => {
                    let former = tree.0.insert(path.clone(), code.into_bytes());
                    assert!(former.is_none(), "{name}: {} is a new file", path.display());
                    touched.entry(name).or_default().push(path);
                }
                Step::Lines(path, anchor, code) => tree.edit(&path, &anchor, &code),
            }
        }
        assert_eq!(touched.get(name).map(Vec::len), Some(1), "{name}: one file");
    }
    tree.0.insert("crates/scenario/examples/look.rs".into(), PROGRAM.into());
    tree.copy(&root, Path::new("crates/model-tests"));
    let test = Path::new("crates/scenario/tests/bad_values.rs");
    tree.0.insert(test.into(), fs::read(root.join(test)).expect("the test is there"));
    // The programs of all tests have only those here that go through the lists.
    tree.0.insert("crates/scenario/tests/scenarios.rs".into(), "mod bad_values;\n".into());
    let models = "mod common;\nmod conservation;\n#[path = \"golden/main.rs\"]\nmod golden;\n";
    tree.0.insert("crates/model-tests/tests/models.rs".into(), models.into());
    // A manifest names it.
    tree.0.insert("crates/coupling/tests/coupled.rs".into(), Vec::new());
    tree.write(&fixture);

    let built = Command::new(env!("CARGO"))
        .args(["build", "--quiet", "--offline", "--locked", "--workspace", "--example", "look"])
        .args(["--example", "count_frames"])
        .current_dir(&fixture)
        .env("CARGO_TARGET_DIR", target)
        .output()
        .expect("cargo runs");
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    let run = |program: &str| {
        let output = Command::new(target.join("debug/examples").join(program)).output().expect("it was built");
        assert!(output.status.success(), "{program}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    assert_eq!(run("look"), "every model ran");
    assert!(run("count_frames").contains("times decoded"));

    // The test of conservation goes through the lists, and so meets the models in random networks. The golden tables go
    // through them too: they have other rows, and must be made without a line that names a model. So does the test that
    // gives impossible values to every parameter.
    let tested = Command::new(env!("CARGO"))
        .args(["test", "--quiet", "--offline", "--locked", "--workspace", "--test", "models", "--test", "scenarios"])
        .args(["--", "conservation::every_packet_is_accounted_for", "golden::", "bad_values::"])
        .current_dir(&fixture)
        .env("CARGO_TARGET_DIR", target)
        .envs([("INSTA_FORCE_PASS", "1"), ("INSTA_UPDATE", "no")])
        .output()
        .expect("cargo runs");
    let said = String::from_utf8_lossy(&tested.stdout).into_owned() + &String::from_utf8_lossy(&tested.stderr);
    assert!(tested.status.success() && said.contains("running ") && !said.contains("running 0 tests"), "{said}");
}

/// Every list has a page, and the page leads to the others.
#[test]
fn every_list_has_its_page() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/adding");
    let index = fs::read_to_string(folder.join("index.md")).expect("an index");
    let rooms: std::collections::BTreeSet<&str> = hopyard_scenario::models().iter().map(|model| model.room).collect();
    for room in rooms {
        // Sections of a scenario, and what there is only one of.
        if ["scenario", "radio", "link", "ip", "tcp"].contains(&room) {
            continue;
        }
        assert!(PAGES.contains(&room), "{room} has no page");
    }
    for name in PAGES {
        assert!(index.contains(&format!("({name}.md)")), "the index leads to {name}");
    }
}
