//! A scenario: the values of a file or a program, completed with all defaults and checked.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use hopyard_engine::Span;
use hopyard_model::link::wired::trace::Trace;
use hopyard_model::observe::capture;
use serde_json::{Value, json};

use crate::external::Surroundings;
use crate::files::{Files, MOST_SCENARIO, NamedFile, in_megabytes, read_bounded};
use crate::hash::hash;
use crate::problem::{Problem, Problems, Source};
use crate::resolve::{Resolved, resolve};
use crate::setting::apply_setting;
use crate::sweep::{SWEEP, Sweep};
use crate::tree::{Kind, Table, parse};
use crate::value::Values;
use crate::write;

/// The bytes in a capture of a frame with a packet of 40 bytes and of its ACK, divided by the bytes that would fit into
/// the time of this exchange at 1 Mb/s. Each record has about 60 bytes of its own, and a segment up to 150 bytes of
/// comments.
const FRAMED: f64 = 3.0;
/// As [`FRAMED`], for the shortest packet on a wire: an acknowledgement of 40 bytes, with a record and its options.
const PACKED: f64 = 4.0;

/// A scenario that is complete and possible.
#[derive(Clone, Debug)]
pub struct Scenario {
    source: Arc<Source>,
    files: Files,
    settings: Vec<(String, String)>,
    given: Values,
    /// The part of the file's comparison that no setting has replaced.
    pub(crate) sweep: Sweep,
    pub(crate) resolved: Arc<Resolved>,
    warnings: Vec<Problem>,
    idle: Vec<String>,
}

impl Scenario {
    /// Reads a scenario from text.
    ///
    /// `name` is the file's name in messages. Files and congestion controls that the scenario names are searched in its
    /// surroundings; this can simply be the folder of its files. `settings` are keys with values that replace the
    /// values of the text, as TOML or bare words: `("flow.tcp", "vegas")`, `("mac.dcf.rate", "2 Mbps")`.
    ///
    /// # Errors
    /// All problems of the scenario.
    pub fn load(
        text: &str,
        name: &str,
        around: impl Into<Surroundings>,
        settings: &[(String, String)],
    ) -> Result<Self, Problems> {
        let source = Source::new(Some(name.to_owned()), text.to_owned());
        Self::read(Arc::new(source), Files::new(around.into()), settings.to_vec())
    }

    /// Reads a scenario file. Files that it names are in the same folder. `settings` are as for [`Scenario::load`].
    ///
    /// # Errors
    /// All problems of the scenario, or that the file cannot be read.
    pub fn open(path: &Path, settings: &[(String, String)]) -> Result<Self, Problems> {
        let wrong = |fault: String| {
            let problem = Problem::new("", None, format!("the scenario {} cannot be read: {fault}", path.display()));
            Problems(vec![problem.expected(format!("a text file of at most {}", in_megabytes(MOST_SCENARIO)))])
        };
        let bytes = read_bounded(path, MOST_SCENARIO).map_err(|fault| wrong(fault.to_string()))?;
        let text = String::from_utf8(bytes).map_err(|error| wrong(error.to_string()))?;
        let base_dir = path.parent().unwrap_or_else(|| Path::new(""));
        Self::load(&text, &path.display().to_string(), base_dir, settings)
    }

    /// Makes a scenario from a program's data, which has the structure of a file. The same data gives the same
    /// scenario.
    ///
    /// # Errors
    /// All problems of the scenario.
    pub fn from_value(value: &Value, around: impl Into<Surroundings>) -> Result<Self, Problems> {
        let Some(values) = value.as_object() else {
            let problem = Problem::new("", None, format!("`{value}` is not a scenario"));
            return Err(Problems(vec![problem.expected("a table of keys and sections")]));
        };
        let text = write::to_toml(values);
        Self::read(Arc::new(Source::new(None, text)), Files::new(around.into()), Vec::new())
    }

    /// A scenario's text before it is read.
    pub(crate) fn unread(text: &str, name: &str, around: impl Into<Surroundings>) -> Unread {
        let source = Source::new(Some(name.to_owned()), text.to_owned());
        Unread { source: Arc::new(source), files: Files::new(around.into()) }
    }

    fn read(source: Arc<Source>, files: Files, settings: Vec<(String, String)>) -> Result<Self, Problems> {
        let mut problems = Vec::new();
        let (mut tree, sweep) = tree(&source, &settings, &mut problems);
        if tree.get("name").is_none()
            && let Some(stem) = source.name.as_deref().and_then(|name| Path::new(name).file_stem())
        {
            apply_setting(&mut tree, "name", &json!(stem.to_string_lossy()).to_string(), &sweep, &mut problems);
        }
        let outcome = resolve(&tree, &files);
        problems.extend(outcome.problems);
        let named = |problem: Problem| problem.in_source(&source);
        let warnings = outcome.warnings.into_iter().map(named).collect();
        match (Problems::from_list(problems.into_iter().map(named).collect()), outcome.resolved) {
            (None, Some(resolved)) => {
                let given = canonical(&tree.to_map(), &resolved.complete);
                let resolved = Arc::new(resolved);
                let sweep = sweep.without(settings.iter().map(|(key, _)| key.as_str()));
                Ok(Self { source, files, settings, given, sweep, resolved, warnings, idle: outcome.idle })
            }
            (Some(problems), _) => Err(problems),
            // A scenario is rejected only with a problem.
            (None, None) => Err(Problems(vec![Problem::new("", None, "the scenario is incomplete")])),
        }
    }

    /// The scenario with further settings, which replace its own.
    ///
    /// # Errors
    /// All problems of the result.
    pub fn with(&self, settings: &[(String, String)]) -> Result<Self, Problems> {
        let settings = self.settings.iter().chain(settings).cloned().collect();
        Self::read(Arc::clone(&self.source), self.files.clone(), settings)
    }

    /// The faults of values of this scenario on the machine where it is to run, each with its place: dotted keys, and
    /// the found value. Nothing if there are none.
    #[must_use]
    pub fn problems_at(&self, found: impl IntoIterator<Item = (String, String)>) -> Option<Problems> {
        // A scenario that was read has no other problems.
        let (tree, _) = tree(&self.source, &self.settings, &mut Vec::new());
        let problem = |(path, message): (String, String)| {
            let mark = tree.place(&path);
            Problem::new(path, mark.as_ref(), message).in_source(&self.source)
        };
        Problems::from_list(found.into_iter().map(problem).collect())
    }

    /// The name of the results.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.resolved.head.name
    }

    /// The source of the models' defaults: "rfc", "ns2" or "linux".
    #[must_use]
    pub fn profile(&self) -> &str {
        &self.resolved.head.profile
    }

    /// The duration of each run.
    #[must_use]
    pub fn duration(&self) -> Span {
        self.resolved.head.duration
    }

    /// The number of runs.
    #[must_use]
    pub fn runs(&self) -> u32 {
        self.resolved.head.runs
    }

    /// The seed of all random streams.
    #[must_use]
    pub fn seed(&self) -> u64 {
        self.resolved.head.seed
    }

    /// The number of nodes, with or without a radio.
    #[must_use]
    pub fn nodes(&self) -> u32 {
        self.resolved.all_nodes()
    }

    /// The memory that a run takes at the least, in bytes.
    #[must_use]
    pub fn memory(&self) -> u64 {
        self.resolved.memory()
    }

    /// The most bytes that a capture of a run at these nodes, or at all nodes, may have. The bound assumes that every
    /// radio decodes the shortest frames and every wire carries the shortest packets, all the time and in each
    /// direction. Packets that hosts pass on, and packets that nodes drop, count as much as that, each. A wire
    /// with a trace counts with the mean of its rates.
    #[must_use]
    pub fn capture_bytes(&self, nodes: Option<&[u32]>, kinds: &BTreeSet<capture::Kind>) -> u64 {
        let spec = self.spec(0);
        let nodes = nodes.map(|nodes| nodes.iter().copied().collect::<BTreeSet<u32>>());
        let is_captured = |node: u32| nodes.as_ref().is_none_or(|nodes| nodes.contains(&node));
        let (mut radios, mut wires) = (0.0, 0.0);
        for (number, node) in (0..).zip(&spec.nodes) {
            if is_captured(number) {
                let rates =
                    node.radios.iter().filter_map(|&it| Some(spec.channels[usize::from(it)].mac.rate()?.bps() as f64));
                radios += rates.sum::<f64>() * FRAMED;
            }
        }
        for (number, wire) in spec.wires.iter().enumerate() {
            let ends = [wire.ends.0, wire.ends.1].into_iter().filter(|node| is_captured(node.0)).count();
            // Each end sees both directions.
            let traces = spec.wire_traces.get(&number);
            let rate = |direction: usize| {
                let traced = traces.and_then(|of| of[direction].iter().find_map(Trace::mean));
                traced.unwrap_or(wire.params.rate).bps() as f64
            };
            wires += ends as f64 * (rate(0) + rate(1)) * PACKED;
        }
        let both = radios + wires;
        let bits: f64 = (kinds.iter())
            .map(|kind| match kind {
                capture::Kind::Radio => radios,
                // A frame is decoded or damaged.
                capture::Kind::Damaged if kinds.contains(&capture::Kind::Radio) => 0.0,
                capture::Kind::Damaged => radios,
                capture::Kind::Wire => wires,
                capture::Kind::Host | capture::Kind::Drops => both,
            })
            .sum();
        (bits / 8.0 * spec.duration.seconds()) as u64
    }

    /// The files that the scenario names, as they were read. With them the scenario can be read again
    /// anywhere.
    #[must_use]
    pub fn files(&self) -> Vec<NamedFile> {
        let movements = self.resolved.files.iter().map(|(params, file)| file.named(&params.path));
        let links = self.resolved.links.iter().map(|(params, file)| file.named(&params.path));
        let errors = self.resolved.errors.iter().map(|(path, file)| file.named(path));
        let traffic = self.resolved.traffic.iter().map(|((_, path), file)| file.named(path));
        let traces = self.resolved.traces.iter().map(|((_, path), file)| file.named(path));
        movements.chain(links).chain(errors).chain(traffic).chain(traces).collect()
    }

    /// Warnings: values that are possible, but may not be intended.
    #[must_use]
    pub fn warnings(&self) -> &[Problem] {
        &self.warnings
    }

    /// The given keys that do nothing here and have their defaults: no warning names them.
    #[must_use]
    pub fn idle(&self) -> &[String] {
        &self.idle
    }

    /// The scenario as data in canonical form: with all defaults that apply, or only the given values.
    #[must_use]
    pub fn to_value(&self, defaults: bool) -> Value {
        Value::Object(self.values(defaults))
    }

    /// The scenario as TOML in canonical form: with all defaults that apply, or only the given values. When it is read
    /// again, the scenario has the same hash.
    #[must_use]
    pub fn to_toml(&self, defaults: bool) -> String {
        write::to_toml(&self.values(defaults))
    }

    fn values(&self, defaults: bool) -> Values {
        let mut values = if defaults { self.resolved.complete.clone() } else { self.given.clone() };
        values.extend(self.sweep.to_value().map(|sweep| (SWEEP.to_owned(), sweep)));
        values
    }

    /// The configuration hash: equal for scenarios with the same meaning, on every platform.
    ///
    /// A run depends on this hash, its seed and its number. The name, the number of runs, the sampled series and
    /// `[simulator]` change no run, and therefore do not change the hash. The way in which a value is written, a
    /// default that is given explicitly, and the folder of a movement file do not change it either.
    #[must_use]
    pub fn hash(&self) -> u64 {
        hash(&self.resolved)
    }
}

/// The keys of a text with settings over them, and the comparison of the text.
fn tree(source: &Arc<Source>, settings: &[(String, String)], problems: &mut Vec<Problem>) -> (Table, Sweep) {
    let mut tree = parse(source, problems);
    let sweep = Sweep::take(&mut tree, problems);
    for (key, value) in settings {
        apply_setting(&mut tree, key, value, &sweep, problems);
    }
    name_last_node(&mut tree);
    (tree, sweep)
}

/// Text, and the names that it may use. The cases of a comparison share what has already been read.
pub(crate) struct Unread {
    source: Arc<Source>,
    files: Files,
}

impl Unread {
    /// The keys that the text compares besides these. Its problems are reported when the scenario is read.
    pub(crate) fn sweep<'a>(&self, set: impl Iterator<Item = &'a str>) -> Result<Sweep, ()> {
        let mut problems = Vec::new();
        let sweep = Sweep::take(&mut parse(&self.source, &mut Vec::new()), &mut problems);
        if problems.is_empty() { Ok(sweep.without(set)) } else { Err(()) }
    }

    pub(crate) fn read(&self, settings: &[(String, String)]) -> Result<Scenario, Problems> {
        Scenario::read(Arc::clone(&self.source), self.files.clone(), settings.to_vec())
    }
}

/// Replaces the word `last` at the ends of flows by the number of the last node, if the number of nodes is given.
fn name_last_node(tree: &mut Table) {
    let Some(Kind::Table(nodes)) = tree.get("nodes").map(|entry| &entry.node.kind) else { return };
    let number = |key: &str| match nodes.get(key).map(|entry| &entry.node.kind) {
        Some(Kind::Scalar(value)) => value.as_u64(),
        Some(Kind::Array(places)) => Some(places.len() as u64),
        _ => None,
    };
    let Some(radios) = number("count").or_else(|| number("positions")) else { return };
    let Some(last) = (radios + number("wired").unwrap_or(0)).checked_sub(1) else { return };
    let Some(Kind::Array(flows)) = tree.get_mut("flow").map(|node| &mut node.kind) else { return };
    for flow in flows {
        let Kind::Table(flow) = &mut flow.kind else { continue };
        for key in ["from", "to"] {
            if let Some(end) = flow.get_mut(key)
                && end.as_str() == Some("last")
            {
                end.kind = Kind::Scalar(json!(last));
            }
        }
    }
}

/// The given values of a scenario, in the form of the complete scenario.
fn canonical(given: &Values, complete: &Values) -> Values {
    let form = |value: &Value, full: &Value| match (value, full) {
        (Value::Object(value), Value::Object(full)) => Value::Object(canonical(value, full)),
        (Value::Array(values), Value::Array(full)) if values.len() == full.len() => {
            let items = values.iter().zip(full).map(|(value, full)| match (value, full) {
                (Value::Object(value), Value::Object(full)) => Value::Object(canonical(value, full)),
                _ => full.clone(),
            });
            items.collect()
        }
        _ => full.clone(),
    };
    // In the order of the complete scenario; then what the complete scenario leaves out, such as parameters of a model
    // that is not used.
    let known = complete.iter().filter_map(|(key, full)| Some((key.clone(), form(given.get(key)?, full))));
    let rest =
        given.iter().filter(|(key, _)| !complete.contains_key(*key)).map(|(key, value)| (key.clone(), value.clone()));
    known.chain(rest).collect()
}
