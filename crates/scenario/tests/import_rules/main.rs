//! Imports point downward only, protocol rooms do not know one another, and no files import one another in a circle.
//!
//! engine ← wire ← packet, params ← protocol rooms ← node ← world ← scenario, live ← py. The source is taken apart into
//! tokens, so that neither a comment nor a string counts as an import, and code within macros does. [`graph`] defines
//! what counts as a use of one file by another.

mod graph;
mod sizes;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use proc_macro2::{Delimiter, TokenStream, TokenTree};

/// The parts that every room of the model may know besides itself: headers, parameters, the context of a handler.
const COMMON: &[&str] = &["file", "address", "packet", "params", "context", "order", "registry", "samples"];

/// The rooms of the model, from the bottom up, each with the rooms that it may know besides [`COMMON`].
const ROOMS: &[(&str, &[&str])] = &[
    ("file", &[]),
    ("address", &[]),
    ("packet", &[]),
    ("params", &[]),
    ("order", &[]),
    // What tests of several rooms build.
    ("samples", &[]),
    ("context", &[]),
    ("mobility", &[]),
    ("phy", &["mobility"]),
    ("mac", &["phy"]),
    ("link", &[]),
    ("ip", &[]),
    ("agent", &[]),
    ("multicast", &[]),
    // Oracles use the true connectivity, which follows from positions.
    ("routing", &["mobility"]),
    ("transport", &[]),
    ("app", &[]),
    ("host", &["app", "transport"]),
    ("observe", &["mobility", "phy", "mac", "link", "agent", "transport", "app"]),
    ("channel", &["mobility", "phy", "mac", "link", "observe"]),
    ("clock", &["phy", "channel"]),
    ("node", &["mobility", "mac", "link", "ip", "agent", "multicast", "routing", "observe", "channel", "clock"]),
    (
        "world",
        &[
            "mobility",
            "phy",
            "mac",
            "link",
            "ip",
            "agent",
            "multicast",
            "routing",
            "transport",
            "app",
            "host",
            "observe",
            "channel",
            "clock",
            "node",
        ],
    ),
];

/// The crates, from the bottom up, each with the crates of the workspace that it may name.
const CRATES: &[(&str, &[&str])] = &[
    ("engine", &[]),
    ("wire", &["hopyard_engine"]),
    ("net", &["hopyard_engine", "hopyard_wire"]),
    ("hosts", &["hopyard_engine", "hopyard_net"]),
    ("model", &["hopyard_engine", "hopyard_hosts", "hopyard_net", "hopyard_wire"]),
    ("kernels", &["hopyard_engine"]),
    ("scenario", &["hopyard_engine", "hopyard_model"]),
    ("coupling", &["hopyard_engine", "hopyard_kernels", "hopyard_model", "hopyard_scenario", "hopyard_wire"]),
    ("live", &["hopyard_engine", "hopyard_model"]),
    (
        "py",
        &["hopyard_coupling", "hopyard_engine", "hopyard_kernels", "hopyard_live", "hopyard_model", "hopyard_scenario"],
    ),
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn sources(directory: &Path, kind: &str, found: &mut Vec<PathBuf>) {
    let Ok(entries) = fs::read_dir(directory) else { return };
    for path in entries.filter_map(|entry| Some(entry.ok()?.path())) {
        if path.is_dir() {
            sources(&path, kind, found);
        } else if path.extension().is_some_and(|extension| extension == kind) {
            found.push(path);
        }
    }
}

/// The first steps of all paths that begin with one of `starts`: `crate::a::b` and `crate::{a, c::d}` give a and c.
fn imports(tokens: TokenStream, starts: &[&str], found: &mut BTreeMap<String, BTreeSet<String>>) {
    let tokens: Vec<_> = tokens.into_iter().collect();
    let is =
        |index: usize, wanted: char| matches!(tokens.get(index), Some(TokenTree::Punct(p)) if p.as_char() == wanted);
    for (i, token) in tokens.iter().enumerate() {
        match token {
            TokenTree::Group(group) => imports(group.stream(), starts, found),
            TokenTree::Ident(ident) if starts.contains(&ident.to_string().as_str()) => {
                let steps = found.entry(ident.to_string()).or_default();
                // A path of another crate may hold the same word: `other::params::…` is not ours.
                if is(i + 1, ':') && is(i + 2, ':') && !(i > 0 && is(i - 1, ':')) {
                    match tokens.get(i + 3) {
                        Some(TokenTree::Ident(step)) => drop(steps.insert(step.to_string())),
                        Some(TokenTree::Group(group)) if group.delimiter() == Delimiter::Brace => {
                            steps.extend(first_steps(group.stream()));
                        }
                        _ => {}
                    }
                }
            }
            _ => {}
        }
    }
}

/// The first words of the parts of `{a, b::c, d::{e, f}}`.
fn first_steps(tokens: TokenStream) -> Vec<String> {
    let mut steps = Vec::new();
    let mut at_start = true;
    for token in tokens {
        match token {
            TokenTree::Ident(ident) if at_start => {
                steps.push(ident.to_string());
                at_start = false;
            }
            TokenTree::Punct(punct) if punct.as_char() == ',' => at_start = true,
            _ => {}
        }
    }
    steps
}

fn tokens(path: &Path) -> TokenStream {
    let text = fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    text.parse().unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The imports in one file of the model that break the rules among rooms.
fn broken(room: &str, file: TokenStream) -> Vec<String> {
    let mut found = BTreeMap::new();
    imports(file, &["crate", "hopyard_hosts", "hopyard_model", "hopyard_net"], &mut found);
    let names: BTreeSet<_> = found.into_values().flatten().collect();
    let may = ROOMS.iter().find(|(name, _)| *name == room).map_or(&[][..], |(_, may)| *may);
    let is_room = |name: &str| ROOMS.iter().any(|(room, _)| *room == name);
    names
        .into_iter()
        .filter(|name| {
            is_room(name) && name != room && !COMMON.contains(&name.as_str()) && !may.contains(&name.as_str())
        })
        .map(|name| format!("{room} knows {name}"))
        .collect()
}

#[test]
fn rooms_do_not_know_one_another() {
    let mut faults = Vec::new();
    let mut seen = BTreeSet::new();
    for name in ["net", "hosts", "model"] {
        let source = root().join("crates").join(name).join("src");
        let mut files = Vec::new();
        sources(&source, "rs", &mut files);
        for path in &files {
            let within = path.strip_prefix(&source).expect("it was found there");
            let room = within.iter().next().map(|step| step.to_string_lossy().trim_end_matches(".rs").to_owned());
            let room = room.expect("a path has a first step");
            if room == "lib" {
                continue;
            }
            faults
                .extend(broken(&room, tokens(path)).into_iter().map(|it| format!("{name}/{}: {it}", within.display())));
            seen.insert(room);
        }
    }
    assert_eq!(seen.len(), ROOMS.len(), "each room is found: {seen:?}");
    let unknown: Vec<_> = seen.iter().filter(|room| !ROOMS.iter().any(|(name, _)| name == room)).collect();
    assert!(unknown.is_empty(), "a new room needs its line in this test: {unknown:?}");
    assert!(faults.is_empty(), "{faults:#?}");
}

#[test]
fn crates_know_those_below_them_only() {
    let all: Vec<String> = CRATES.iter().map(|(name, _)| format!("hopyard_{name}")).chain(["pyo3".into()]).collect();
    let all: Vec<&str> = all.iter().map(String::as_str).collect();
    let mut faults = Vec::new();
    for (name, may) in CRATES {
        let mut files = Vec::new();
        sources(&root().join("crates").join(name).join("src"), "rs", &mut files);
        for path in files {
            let mut found = BTreeMap::new();
            imports(tokens(&path), &all, &mut found);
            let own = format!("hopyard_{name}");
            let wrong = found.into_keys().filter(|krate| *krate != own && !may.contains(&krate.as_str()));
            let wrong = wrong.filter(|krate| !(krate == "pyo3" && *name == "py"));
            faults.extend(wrong.map(|krate| format!("{}: knows {krate}", path.display())));
        }
        let manifest = fs::read_to_string(root().join("crates").join(name).join("Cargo.toml")).unwrap_or_default();
        if *name != "py" && manifest.contains("pyo3") {
            faults.push(format!("crates/{name}/Cargo.toml: knows pyo3"));
        }
    }
    assert!(faults.is_empty(), "{faults:#?}");
}

#[test]
fn no_files_import_one_another_in_a_circle() {
    let mut faults = Vec::new();
    for (name, _) in CRATES {
        let source = root().join("crates").join(name).join("src");
        let mut files = Vec::new();
        sources(&source, "rs", &mut files);
        let within = |path: &'_ PathBuf| path.strip_prefix(&source).expect("it was found there").to_owned();
        let files: Vec<_> = files.iter().map(|path| (within(path), tokens(path))).collect();
        let uses = graph::Crate::new(files.iter().map(|(path, tokens)| (path.as_path(), tokens.clone()))).uses();
        assert!(uses.len() > 3, "{name}: {} files", uses.len());
        for circle in graph::circles(&uses) {
            let arrows = circle.iter().flat_map(|unit| uses[unit].iter().map(move |(used, path)| (unit, used, path)));
            let arrows = arrows.filter(|(_, used, _)| circle.contains(*used));
            let arrows: Vec<_> = arrows.map(|(unit, used, path)| format!("{unit} -> {used} ({path})")).collect();
            faults.push(format!("{name}: a circle of {} files:\n    {}", circle.len(), arrows.join("\n    ")));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn the_rules_can_be_broken() {
    let faults = |room: &str, text: &str| broken(room, text.parse().expect("it is Rust"));
    assert_eq!(faults("transport", "use crate::routing::Routing;"), ["transport knows routing"]);
    assert_eq!(
        faults("link", "use crate::{context::Context, mac::{self, dcf}, world};"),
        ["link knows mac", "link knows world"]
    );
    assert_eq!(faults("mac", "fn f() { let x = vec![crate::link::Link::new()]; }"), ["mac knows link"]);
    assert_eq!(
        faults(
            "mac",
            "// crate::link\nconst X: &str = \"crate::link\"; use crate::phy::frame::Frame; use crate::mac::x;"
        ),
        [""; 0]
    );
}
