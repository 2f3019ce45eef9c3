//! The files that a scenario names: they are read, and compared with the nodes and radios that they speak of.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use hopyard_engine::Time;
use hopyard_engine::units::Frequency;
use hopyard_model::app::Format;
use hopyard_model::file::BadFile;
use hopyard_model::link::wired::trace;
use hopyard_model::phy::links::{Links, Quantity};
use hopyard_model::phy::propagation::table;
use hopyard_model::phy::{self, Sensitivity};
use serde::Deserialize as _;

use super::networks::radios;
use super::resolved::Resolved;
use super::resolver::Resolver;
use crate::files::{BrokenLinks, FileError, MOST_INPUT, in_megabytes};

/// The channels, each with its section and with the section of its path loss.
fn channels(resolved: &Resolved) -> impl Iterator<Item = (String, &phy::Params, Option<&table::Params>)> {
    let further = resolved.channels.iter().enumerate();
    let further = further.map(|(i, it)| (format!("channel.{i}"), &*it.radio, it.propagation.table()));
    std::iter::once(("radio".to_owned(), &*resolved.radio, resolved.propagation.table())).chain(further)
}

const LINK_FILE: &str = "file of links";

/// The nodes with a radio on a channel.
fn nodes_on(radios: &[Vec<u16>], channel: usize) -> BTreeSet<u32> {
    let has = |channels: &[u16]| channels.iter().any(|it| usize::from(*it) == channel);
    (0..).zip(radios).filter(|(_, channels)| has(channels)).map(|(node, _)| node).collect()
}

/// "the file of links has 3 mistakes".
fn mistakes(kind: &str, bad: &BadFile) -> String {
    match (bad.count, bad.ended_at) {
        (1, _) => format!("the {kind} has one mistake"),
        (count, None) => format!("the {kind} has {count} mistakes"),
        (count, Some(_)) => format!("the {kind} has at least {count} mistakes"),
    }
}

impl Resolver<'_> {
    pub(super) fn read_files(&mut self, resolved: &mut Resolved) {
        let mut users = vec![("mobility".to_owned(), &resolved.mobility)];
        users.extend(resolved.movements.iter().enumerate().map(|(i, (_, chosen))| (format!("movement.{i}"), chosen)));
        let mut files = BTreeMap::new();
        for (section, chosen) in users {
            let Some(params) = chosen.file() else { continue };
            let section = format!("{section}.{}", chosen.model.name);
            if self.is_unnamed(&section, "movement file", &params.path) {
                continue;
            }
            match self.files.movements(params) {
                Ok(file) => {
                    for remark in file.meaning.remarks() {
                        let message = format!("the movement file {}: {remark}", params.path);
                        self.warning(&format!("{section}.path"), message);
                    }
                    files.insert(params.clone(), file);
                }
                Err(error) => self.unreadable(&format!("{section}.path"), "movement file", error),
            }
        }
        let mut links = BTreeMap::new();
        for (channel, (section, _, params)) in channels(resolved).enumerate() {
            let Some(params) = params else { continue };
            let section = format!("{section}.table");
            if self.is_unnamed(&section, LINK_FILE, &params.path) {
                continue;
            }
            match self.files.links(params) {
                Ok(file) => {
                    for remark in file.meaning.remarks() {
                        let message = format!("the file of links {}: {remark}", params.path);
                        self.warning(&format!("{section}.path"), message);
                    }
                    links.insert(params.clone(), file);
                }
                Err(fault) => {
                    let (error, sound) = *fault;
                    if let (FileError::Broken(bad), Some(sound)) = (&error, sound) {
                        let problem = self.problems.len();
                        self.broken_links.push(BrokenLinks { problem, channel, bad: bad.clone(), sound });
                    }
                    self.unreadable(&format!("{section}.path"), LINK_FILE, error);
                }
            }
        }
        let mut errors = BTreeMap::new();
        let named = channels(resolved).filter(|(_, radio, _)| !radio.error_rates.is_empty());
        for (section, path) in named.map(|(section, radio, _)| (section, radio.error_rates.clone())) {
            match self.files.errors(&path) {
                Ok(file) => _ = errors.insert(path, file),
                Err(error) => self.unreadable(&format!("{section}.error_rates"), "file with error rates", error),
            }
        }
        (resolved.files, resolved.links, resolved.errors) = (files, links, errors);
        self.read_traffic(resolved);
        self.read_traces(resolved);
    }

    /// Reads the files that the traffic of flows names, and gives the flows what is in them.
    fn read_traffic(&mut self, resolved: &mut Resolved) {
        let sets = resolved.random_flows.iter_mut().map(|set| (set.path(), &mut set.kind));
        let listed = resolved.flows.iter_mut().enumerate();
        let listed = listed.map(|(number, (_, kind))| (format!("flow.{number}"), kind));
        let mut known = BTreeMap::new();
        for (path, kind) in sets.chain(listed) {
            let model = kind.traffic.model.name;
            for input in kind.traffic.config.inputs() {
                let own = format!("{path}.{model}.{}", input.key);
                let section = if self.is_written(&own) { path.as_str() } else { "traffic" };
                let what = match input.format {
                    Format::Sizes => "file of sizes",
                    Format::Times => "file of times",
                    Format::Packets => "file of packets",
                };
                let place = format!("{section}.{model}.{}", input.key);
                if self.problems.iter().any(|problem| problem.path == place) {
                    continue;
                }
                let named = (input.format, input.path.to_owned());
                if named.1.is_empty() {
                    self.is_unnamed(&format!("{section}.{model}"), what, "");
                    continue;
                }
                match self.files.traffic(&named) {
                    Ok(file) => {
                        *input.entries = Arc::clone(&file.meaning);
                        known.insert(named, file);
                    }
                    Err(error) => self.unreadable(&place, what, error),
                }
            }
        }
        resolved.traffic = known;
    }

    /// Reads the files that wires follow.
    fn read_traces(&mut self, resolved: &mut Resolved) {
        let mut known = BTreeMap::new();
        for (number, (_, link)) in resolved.wires.iter().enumerate() {
            let replaced = link.traces().map(|of| {
                let mut replaced = BTreeMap::new();
                for (key, format, path) in of {
                    let place = format!("wire.{number}.{key}");
                    let what = match format {
                        trace::Format::Values(_) => "trace",
                        trace::Format::Opportunities => "file of opportunities",
                    };
                    let named = (format, path.to_owned());
                    match self.files.trace(&named) {
                        Ok(file) => {
                            for parameter in file.meaning.replaces() {
                                if let Some(other) = replaced.insert(parameter, key) {
                                    let message = format!("both `{other}` and `{key}` give the {parameter}");
                                    self.problem(&place, message).expected =
                                        Some(format!("one of the two, or a table without {parameter}"));
                                }
                            }
                            known.insert(named, file);
                        }
                        Err(error) => self.unreadable(&place, what, error),
                    }
                }
                replaced
            });
            self.warn_of_replaced(number, &replaced);
        }
        resolved.traces = known;
    }

    /// Warns of parameters of a wire that traces replace in each direction.
    fn warn_of_replaced(&mut self, number: usize, [there, back]: &[BTreeMap<&'static str, &'static str>; 2]) {
        for parameter in ["rate", "delay"] {
            let [own, own_back] = [parameter.to_owned(), format!("{parameter}_back")];
            let is_written = |it: &Self, key: &str| it.has(&format!("wire.{number}.{key}"));
            // The parameter counts for both directions if the way back has none.
            let counts_back = !back.contains_key(parameter) && !is_written(self, &own_back);
            for (key, by) in [(own, there.get(parameter).filter(|_| !counts_back)), (own_back, back.get(parameter))] {
                if let Some(by) = by.filter(|_| is_written(self, &key)) {
                    let message = format!("`{key}` does nothing here: `{by}` gives the {parameter}");
                    self.unused(&format!("wire.{number}.{key}"), message);
                }
            }
        }
    }

    /// Whether the table of a flow, or of drawn flows, gives a key itself.
    fn is_written(&self, path: &str) -> bool {
        let (first, rest) = path.split_once('.').unwrap_or((path, ""));
        let written = self.complete.get(first);
        written.is_some_and(|value| value.pointer(&format!("/{}", rest.replace('.', "/"))).is_some())
    }

    fn is_unnamed(&mut self, section: &str, kind: &str, path: &str) -> bool {
        if path.is_empty() {
            self.problem(&format!("{section}.path"), format!("the {kind} is not named")).expected =
                Some(format!("`path` in [{section}]"));
        }
        path.is_empty()
    }

    fn unreadable(&mut self, path: &str, kind: &str, error: FileError) {
        match error {
            FileError::Missing(file, error) => {
                self.problem(path, format!("the file {} cannot be read: {error}", file.display())).expected =
                    Some("a file beside the scenario".to_owned());
            }
            FileError::Unusable(file, fault) => {
                self.problem(path, format!("{} cannot be read: {fault}", file.display())).expected =
                    Some(format!("a {kind} of at most {}", in_megabytes(MOST_INPUT)));
            }
            FileError::Broken(bad) => self.problem(path, mistakes(kind, &bad)).hint = Some(bad.to_string()),
        }
    }

    /// Warns of fading whose wavelength is not that of path loss.
    pub(super) fn check_wavelengths(&mut self, resolved: &Resolved) {
        let further = resolved.channels.iter().enumerate();
        let further = further.map(|(i, it)| (format!("channel.{i}"), &it.propagation, &it.fading));
        let first = ("radio".to_owned(), &resolved.propagation, &resolved.fading);
        for (section, propagation, fading) in std::iter::once(first).chain(further) {
            let carrier = propagation.config.frequency().map(|frequency| frequency.to_string());
            let own = fading.values.get("frequency").and_then(|value| value.as_str());
            let Some((carrier, own)) = carrier.zip(own).filter(|(carrier, own)| carrier != own) else { continue };
            let message = format!("fading has the wavelength of {own}, and path loss that of {carrier}");
            self.warning(&format!("{section}.{}.frequency", fading.model.name), message).expected = Some(carrier);
        }
    }

    /// Warns of path loss and fading whose frequency is not in the band of the channel's frames.
    pub(super) fn check_bands(&mut self, resolved: &Resolved) {
        let further = resolved.channels.iter().enumerate();
        let further = further.map(|(i, it)| {
            let section = format!("channel.{i}");
            ((section.clone(), section), (&it.propagation, &it.fading), (&it.mac, &it.rates))
        });
        let first = (
            ("radio".to_owned(), "mac".to_owned()),
            (&resolved.propagation, &resolved.fading),
            (&resolved.mac, &resolved.rates),
        );
        for ((section, of_mac), (propagation, fading), (mac, rates)) in std::iter::once(first).chain(further) {
            let Some(standard) = mac.values.get("standard").and_then(|it| it.as_str()) else { continue };
            let modes = mac.config.modes(&rates.config).unwrap_or_default();
            let Some(band) = modes.first().and_then(|mode| mode.band()) else { continue };
            if self.is_faulty(&section) || self.is_faulty(&of_mac) {
                continue;
            }
            let own = fading.values.get("frequency").and_then(|it| Frequency::deserialize(it).ok());
            let carriers = [(propagation.model.name, propagation.config.frequency()), (fading.model.name, own)];
            let outside = carriers.into_iter().filter_map(|(model, it)| Some((model, it.filter(|it| !band.has(*it))?)));
            let outside: Vec<_> = outside.collect();
            let Some((model, _)) = outside.first() else { continue };
            let keys = |named: &dyn Fn(&(&str, Frequency)) -> String| {
                outside.iter().map(named).collect::<Vec<_>>().join(" and ")
            };
            let message = format!(
                "`standard = \"{standard}\"` of [{of_mac}.{}] sends at {}, and {}",
                mac.model.name,
                band.name(),
                keys(&|(model, it)| format!("`{model}` has the wavelength of {it}"))
            );
            self.warning(&format!("{section}.{model}.frequency"), message).expected = Some(format!(
                "`frequency = \"{}\"` in {}",
                band.first_channel(),
                keys(&|(model, _)| format!("[{section}.{model}]"))
            ));
        }
    }

    /// Warns of obstacles where the links of files decide alone.
    pub(super) fn check_obstacles(&mut self, resolved: &Resolved) {
        let all_named = channels(resolved).all(|(.., table)| table.is_some());
        if all_named && !resolved.obstacles.is_empty() {
            let message = "obstacles do nothing here: the links of a file hold whatever stands between the nodes";
            self.unused("obstacle.0", message.to_owned());
        }
    }

    /// Warns of links that begin after the end of the run.
    fn check_late_links(&mut self, resolved: &Resolved, section: &str, path: &str, links: &Links) {
        let end = resolved.head.duration;
        let (begin, deaf) = links.begin();
        if begin < Time::ZERO + end || self.is_faulty("duration") {
            return;
        }
        let then = if deaf { "no node hears another" } else { "each pair has its first value all the time" };
        let begin = begin.since(Time::ZERO);
        let message = format!("the first time in {path} is {begin}, and the run ends at {end}: {then}");
        self.warning(&format!("{section}.table.path"), message).expected =
            Some("times before the end of the run".to_owned());
    }

    /// Adds links of nodes without a radio on the channel to the faults of files that were read before the nodes were
    /// known.
    fn check_broken_links(&mut self, on: &[Vec<u16>]) {
        for BrokenLinks { problem, channel, mut bad, sound } in std::mem::take(&mut self.broken_links) {
            let Err(absent) = sound.check_nodes(&bad.file, &nodes_on(on, channel)) else { continue };
            bad.merge(absent);
            if let Some(problem) = self.problems.get_mut(problem) {
                problem.message = mistakes(LINK_FILE, &bad);
                problem.hint = Some(bad.to_string());
            }
        }
    }

    /// Reports links of nodes that have no radio on the channel, and ranges in metres beside links, which have none.
    pub(super) fn check_links(&mut self, resolved: &Resolved) {
        let on = radios(resolved);
        self.check_broken_links(&on);
        for (channel, (section, radio, params)) in channels(resolved).enumerate() {
            let Some((params, file)) = params.and_then(|params| Some((params, resolved.links.get(params)?))) else {
                continue;
            };
            if let Err(bad) = file.meaning.check_nodes(&params.path, &nodes_on(&on, channel)) {
                self.unreadable(&format!("{section}.table.path"), LINK_FILE, FileError::Broken(bad));
            }
            self.check_late_links(resolved, &section, &params.path, &file.meaning);
            if file.meaning.quantity() == Quantity::Delivery {
                continue;
            }
            let is_range = |value: &Sensitivity| matches!(value, Sensitivity::Range(_));
            for (key, value) in [("receive", radio.receive.values().find(is_range)), ("sense", Some(radio.sense))] {
                let Some(value) = value.filter(is_range) else { continue };
                let message = format!("`{key}` is {value}, and the links of a file have no range");
                let problem = self.problem(&format!("{section}.{key}"), message);
                problem.expected = Some("a power such as \"-85 dBm\"".to_owned());
                problem.hint =
                    Some(format!("write `{key}` in [{}] as a power", section.split('.').next().unwrap_or("")));
            }
        }
    }
}
