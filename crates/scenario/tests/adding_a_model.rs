//! A model is one file and its registry entry: this test adds a TCP variant in this way to a copy of the source.
//!
//! A program in the copy then lists the model, finds it in the schema, selects it in a scenario and runs the scenario.
//! Nothing else in the copy is changed.

use std::fs;
use std::path::Path;
use std::process::Command;

/// The file of the model.
const MODEL: &str = r#"//! Shy: a window that never changes.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Ack, Answer, CongestionControl, Loss, RecoveryChoice, Timeout, View};
use crate::params;

/// Parameters of the shy variant.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Params {
    /// The window in segments, from the first acknowledgement on.
    pub segments: f64,
}

impl params::Params for Params {
    fn of_profile(_profile: &str) -> Self {
        Self { segments: 2.0 }
    }
}

/// The rule.
#[derive(Clone, Debug)]
pub struct Shy(Params);

impl Shy {
    /// The congestion control with these parameters.
    #[must_use]
    pub fn new(params: &Params) -> Self {
        Self(params.clone())
    }
}

impl CongestionControl for Shy {
    fn on_ack(&mut self, _ack: &Ack, view: &View) -> Answer {
        Answer::Set { cwnd: self.0.segments, ssthresh: view.ssthresh }
    }
    fn on_loss(&mut self, _loss: &Loss, _view: &View) -> Answer {
        Answer::Keep
    }
    fn on_timeout(&mut self, _timeout: &Timeout, _view: &View) -> Answer {
        Answer::Keep
    }
    fn recovery(&self) -> RecoveryChoice {
        RecoveryChoice::GoBackN
    }
}
"#;

/// The program that looks for it.
const PROGRAM: &str = r##"
use std::path::Path;
use hopyard_model::world::{Watch, World};
use hopyard_scenario::{Scenario, find_models, json_schema, new_scenario};

fn main() {
    let model = find_models("shy").expect("the list has it").remove(0);
    assert_eq!((model.room, model.section.as_str()), ("congestion", "[tcp.shy]"));
    assert_eq!(model.parameters[0].default("rfc"), "2.0");
    assert_eq!(json_schema()["properties"]["tcp"]["properties"]["shy"]["$ref"], "#/$defs/congestion.shy");
    let settings = [("flow.tcp", "shy"), ("tcp.shy.segments", "3"), ("duration", "5 s")];
    let settings = settings.map(|(key, value)| (key.to_owned(), value.to_owned()));
    let text = new_scenario("wired").expect("a template");
    let scenario = Scenario::load(&text, "t.toml", Path::new(""), &settings).unwrap_or_else(|p| panic!("{p}"));
    let world = World::new(&scenario.spec(0)).expect("it can be built");
    let outcome = world.run(&Watch::default()).expect("every packet is accounted for");
    assert_eq!(outcome.flows[0].transport, "shy");
    assert!(outcome.flows[0].goodput_kbps > 0.0);
    print!("the shy variant ran");
}
"##;

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap_or_else(|error| panic!("{}: {error}", to.display()));
    for entry in fs::read_dir(from).expect("it is a directory").filter_map(Result::ok) {
        let (path, to) = (entry.path(), to.join(entry.file_name()));
        if path.is_dir() {
            copy(&path, &to);
        } else {
            fs::copy(&path, &to).unwrap_or_else(|error| panic!("{}: {error}", to.display()));
        }
    }
}

fn edit(path: &Path, at: &str, insert: &str) {
    let text = fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    assert_eq!(text.matches(at).count(), 1, "{at} stands once in {}", path.display());
    fs::write(path, text.replace(at, &format!("{insert}{at}"))).expect("it can be written");
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
fn one_file_and_one_registry_entry_add_a_model() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let temporary = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let target = temporary.parent().expect("it is within the target folder");
    let fixture = temporary.join("adding-a-model");
    if fixture.exists() {
        fs::remove_dir_all(&fixture).expect("an old copy can go");
    }
    // With all members, dependencies have the same features as in the workspace, whose builds of them are then used.
    let crates = [
        "crates/engine",
        "crates/wire",
        "crates/model",
        "crates/scenario",
        "crates/py",
        "bench/core",
        "validation/hopyard",
    ];
    for member in crates.map(Path::new) {
        copy(&root.join(member).join("src"), &fixture.join(member).join("src"));
        let manifest = member.join("Cargo.toml");
        fs::copy(root.join(&manifest), fixture.join(&manifest)).expect("a crate has a manifest");
    }
    // With another version: Cargo would take the copy for the workspace itself, and would not compile a changed source
    // again, because the source of what it finds in the target folder has not changed.
    for file in ["Cargo.toml", "Cargo.lock"] {
        let text = fs::read_to_string(root.join(file)).expect("the workspace has it");
        let text = of_another_version(&text);
        fs::write(fixture.join(file), text).expect("it can be written");
    }
    let examples = fixture.join("crates/scenario/examples");
    fs::create_dir_all(&examples).expect("a directory can be made");
    fs::write(examples.join("look.rs"), PROGRAM).expect("it can be written");

    // One file and its entry: the line with the module, and the line with the model.
    let room = fixture.join("crates/model/src/transport/congestion");
    fs::write(room.join("shy.rs"), MODEL).expect("it can be written");
    edit(&room.join("mod.rs"), "pub mod tahoe;", "pub mod shy;\n");
    edit(
        &room.join("mod.rs"),
        "    \"tahoe\" => ",
        "    \"shy\" => shy::Shy, \"Shy: a window that never changes.\";\n",
    );

    let built = Command::new(env!("CARGO"))
        .args(["build", "--quiet", "--offline", "--locked", "--workspace", "--example", "look"])
        .current_dir(&fixture)
        .env("CARGO_TARGET_DIR", target)
        .output()
        .expect("cargo runs");
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    let output = Command::new(target.join("debug/examples/look")).output().expect("it was built");
    let (said, errors) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{errors}");
    assert_eq!(said, "the shy variant ran");
}
