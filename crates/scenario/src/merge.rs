//! Merges a scenario's keys with a model's defaults, and reports every key that does not fit.
//!
//! Each key is first checked alone: the model's own reader checks the type and the unit of the value. Then all keys
//! that passed are checked together. A fault that the model finds is reported for the key that it names.

use std::collections::BTreeSet;

use hopyard_model::params::{ModelInfo, ParamsError};
use serde_json::Value;

use crate::key::join;
use crate::problem::{Mark, Problem, nearest, one_of};
use crate::tree::{Entry, Kind, Node, Table};
use crate::value::{Values, inline};

/// The keys of one section: the keys of a model's parameters, and other keys that are possible there.
pub(crate) struct Section<'a> {
    /// The section's dotted path, such as `mac.dcf`; empty for the top level of the file.
    pub path: String,
    /// The parts of the section, with the default values of their keys.
    pub parts: Vec<(&'a dyn Judge, Values)>,
    /// Tables that are possible in the section, and that are read elsewhere.
    pub tables: Vec<&'a str>,
    /// The profiles that a key `profile` of the section can select; none if the section has no such key.
    pub profiles: &'static [&'static str],
}

/// The key with which a model's table selects another profile than the scenario's.
pub(crate) const PROFILE: &str = "profile";

/// The profiles that the table of a model's parameters can select.
pub(crate) fn profiles(info: &ModelInfo) -> &'static [&'static str] {
    if info.room == "scenario" || info.profiles.len() < 2 { &[] } else { info.profiles }
}

/// Checks the values of a section's keys.
pub(crate) trait Judge {
    /// The defaults under a profile.
    fn defaults(&self, profile: &str) -> Value;

    /// Defaults where these keys are given, on some of which other defaults may depend.
    fn led(&self, defaults: Values, _given: &Values) -> Values {
        defaults
    }

    /// Values in their canonical form.
    ///
    /// # Errors
    /// When they have the wrong type or unit, or are an impossible combination.
    fn canonical(&self, values: &Value) -> Result<Value, ParamsError>;
}

impl Judge for ModelInfo {
    fn defaults(&self, profile: &str) -> Value {
        (self.defaults)(profile)
    }

    fn led(&self, defaults: Values, given: &Values) -> Values {
        match (self.led)(&Value::Object(defaults.clone()), given) {
            Value::Object(led) => led,
            _ => defaults,
        }
    }

    fn canonical(&self, values: &Value) -> Result<Value, ParamsError> {
        (self.canonical)(values)
    }
}

impl Section<'_> {
    /// The dotted path of a key of this section.
    pub(crate) fn key(&self, key: &str) -> String {
        join(&self.path, key)
    }

    /// Reads the section. The result has one object for each of its parts.
    ///
    /// `elsewhere` names the sections to which a misplaced key would belong.
    pub(crate) fn read(
        mut self,
        table: Option<&Table>,
        header: Option<&Mark>,
        elsewhere: impl Fn(&str) -> Option<String>,
        problems: &mut Vec<Problem>,
    ) -> Vec<Values> {
        let empty = Table::default();
        let table = table.unwrap_or(&empty);
        if let Some(entry) = table.get(PROFILE)
            && !self.profiles.is_empty()
        {
            self.take_profile(entry, problems);
        }
        let mut given: Vec<Vec<Leaf<'_>>> = self.parts.iter().map(|_| Vec::new()).collect();
        for entry in &table.entries {
            if entry.key == PROFILE && !self.profiles.is_empty() {
                continue;
            }
            if let Some(part) = self.parts.iter().position(|(_, values)| values.contains_key(&entry.key)) {
                let default = &self.parts[part].1[&entry.key];
                self.leaves(entry, default, &mut Vec::new(), &mut given[part], problems);
            } else if self.tables.contains(&entry.key.as_str()) {
                // At the top, some sections are lists. The parameters of a model are one table.
                let is_list = matches!(entry.node.kind, Kind::Array(_)) && !self.path.is_empty();
                if is_list || matches!(entry.node.kind, Kind::Scalar(_)) {
                    let found = format!("`{}` is {}", entry.key, entry.node.describe());
                    let problem = Problem::new(self.key(&entry.key), Some(&entry.node.mark), found);
                    problems.push(problem.expected(format!("a table, [{}]", self.key(&entry.key))));
                }
            } else {
                let known = self.parts.iter().flat_map(|(_, values)| values.keys().map(String::as_str));
                let profile = (!self.profiles.is_empty()).then_some(PROFILE);
                let known: Vec<_> = known.chain(self.tables.iter().copied()).chain(profile).collect();
                let values = self.parts.iter().flat_map(|(_, values)| values);
                let tables = values.filter_map(|(key, value)| Some((key.as_str(), value.as_object()?)));
                let below: Vec<_> =
                    tables.flat_map(|(key, table)| table.keys().map(move |below| (key, below.as_str()))).collect();
                problems.push(unknown(&self.path, entry, (&known, &below), &elsewhere));
            }
        }
        let parts = self.parts.iter().zip(given);
        parts
            .map(|((judge, base), leaves)| {
                let whole = leaves.iter().filter(|leaf| leaf.path.len() == 1);
                let given = whole.map(|leaf| (leaf.path[0].to_owned(), leaf.value.clone())).collect();
                self.merge(*judge, &judge.led(base.clone(), &given), leaves, header, problems)
            })
            .collect()
    }

    /// Starts with the defaults of the profile that the section selects.
    fn take_profile(&mut self, entry: &Entry, problems: &mut Vec<Problem>) {
        let Some(profile) = entry.node.as_str().and_then(|name| self.profiles.iter().find(|known| **known == name))
        else {
            let found = format!("`{PROFILE}` is {}", entry.node.describe());
            let problem = Problem::new(self.key(PROFILE), Some(&entry.node.mark), found);
            let problem = problem.expected(one_of(self.profiles.iter().copied()));
            let hint = entry.node.as_str().and_then(|name| nearest(name, self.profiles.iter().copied()));
            problems.push(match hint {
                Some(name) => problem.hint(format!("did you mean \"{name}\"?")),
                None => problem,
            });
            return;
        };
        for (info, base) in &mut self.parts {
            if let Value::Object(values) = info.defaults(profile) {
                *base = values;
            }
        }
    }

    /// The values under a key, each with its path. A parameter that is itself a table is merged with its defaults key
    /// by key.
    fn leaves<'t>(
        &self,
        entry: &'t Entry,
        default: &Value,
        above: &mut Vec<&'t str>,
        leaves: &mut Vec<Leaf<'t>>,
        problems: &mut Vec<Problem>,
    ) {
        above.push(&entry.key);
        match (&entry.node.kind, default) {
            (Kind::Table(table), Value::Object(defaults)) => {
                for below in &table.entries {
                    if let Some(default) = defaults.get(&below.key) {
                        self.leaves(below, default, above, leaves, problems);
                    } else {
                        let known: Vec<_> = defaults.keys().map(String::as_str).collect();
                        problems.push(unknown(&self.key(&above.join(".")), below, (&known, &[]), |_| None));
                    }
                }
            }
            // Serde would take the elements of a list for the values of the keys, in their order.
            (Kind::Array(_), Value::Object(_)) => {
                let found = format!("`{}` is {}", above.join("."), entry.node.describe());
                let problem = Problem::new(self.key(&above.join(".")), Some(&entry.node.mark), found);
                problems.push(problem.expected("a table".to_owned()));
            }
            // A value that cannot be read already has its problem.
            _ if entry.node.is_bad() => {}
            _ => leaves.push(Leaf {
                path: above.clone(),
                node: &entry.node,
                value: entry.node.to_value(),
                said: BTreeSet::new(),
            }),
        }
        above.pop();
    }

    /// The values of one part, merged with the given keys. Keys that do not fit are reported and left out.
    fn merge(
        &self,
        judge: &dyn Judge,
        base: &Values,
        mut leaves: Vec<Leaf<'_>>,
        header: Option<&Mark>,
        problems: &mut Vec<Problem>,
    ) -> Values {
        let with = |leaves: &mut dyn Iterator<Item = &Leaf<'_>>| {
            let mut values = Value::Object(base.clone());
            for leaf in leaves {
                let place = leaf.path.iter().try_fold(&mut values, |value, step| value.get_mut(*step));
                if let Some(place) = place {
                    *place = leaf.value.clone();
                }
            }
            values
        };
        let mut left_out = Vec::new();
        leaves.retain_mut(|leaf| match judge.canonical(&with(&mut std::iter::once(&*leaf))) {
            Err(ParamsError::Malformed(message)) => {
                let path = self.key(&leaf.path.join("."));
                let wrong = wrong_elements(judge, base, leaf);
                for Wrong { mark, message, .. } in &wrong {
                    let mut problem = malformed(&path, leaf, &Expected::of(judge, base, leaf, message));
                    problem.mark = Some((*mark).clone());
                    problems.push(problem);
                }
                if wrong.is_empty() {
                    problems.push(malformed(&path, leaf, &Expected::of(judge, base, leaf, &message)));
                }
                // Without the wrong keys of its tables, a list may show what else is wrong.
                for Wrong { place, key, .. } in wrong {
                    leaf.said.insert(place);
                    if let (Some(key), Some(Value::Object(table))) = (key, leaf.value.get_mut(place)) {
                        table.remove(key);
                    }
                }
                let remains =
                    !matches!(judge.canonical(&with(&mut std::iter::once(&*leaf))), Err(ParamsError::Malformed(_)));
                if !remains {
                    left_out.extend(leaf.path.clone());
                }
                remains
            }
            _ => true,
        });
        let mut reported = Vec::new();
        loop {
            let fault = match judge.canonical(&with(&mut leaves.iter())) {
                Ok(Value::Object(values)) => return values,
                Ok(_) => return base.clone(),
                Err(ParamsError::Fault(fault)) => fault,
                Err(other) => {
                    problems.push(Problem::new(&self.path, header, other.to_string()));
                    return base.clone();
                }
            };
            // The faulty key, or another key whose removal removes the fault.
            let named = |leaf: &Leaf<'_>| [leaf.path.first(), leaf.path.last()].contains(&Some(&fault.parameter));
            let without = |i: usize| {
                judge.canonical(&with(&mut leaves.iter().enumerate().filter(|(j, _)| *j != i).map(|(_, leaf)| leaf)))
            };
            let named_at = leaves.iter().position(named);
            // Another key that was given, and that does not fit the named one.
            let beside = (0..leaves.len()).find(|&i| Some(i) != named_at && without(i).is_ok());
            let is_setting = |i: usize| leaves[i].node.mark.is_setting();
            let culprit = match (named_at, beside) {
                // What is set on top of the scenario does not fit what the scenario has.
                (Some(named), Some(beside)) if is_setting(beside) && !is_setting(named) => Some(beside),
                (named, beside) => named.or(beside),
            };
            let other = if culprit == named_at { beside } else { named_at };
            let given = other.map(|i| (leaves[i].path.join("."), leaves[i].node.describe()));
            // When a key is removed, its default may be incompatible with the keys that were given together with it.
            // Such a key is left out too, so that the faults of others are found.
            if reported.contains(&fault.parameter) {
                let other_fault = |i: &usize| match without(*i) {
                    Err(ParamsError::Fault(other)) => other.parameter != fault.parameter,
                    _ => true,
                };
                let Some(partner) = (0..leaves.len()).find(other_fault) else { return base.clone() };
                leaves.remove(partner);
                continue;
            }
            let leaf = culprit.map(|index| leaves.remove(index)).or_else(|| leaves.pop());
            // The parameter is given, and what is wrong with its value has been said.
            if left_out.contains(&fault.parameter) {
                if leaf.is_none() {
                    return base.clone();
                }
                continue;
            }
            reported.push(fault.parameter);
            let path = leaf.as_ref().map_or(fault.parameter.to_owned(), |leaf| leaf.path.join("."));
            if let Some(Leaf { node: Node { kind: Kind::Array(items), .. }, .. }) = leaf.as_ref().filter(|it| named(it))
                && fault.elements.iter().any(|(place, _)| *place < items.len())
            {
                let said = leaf.as_ref().map(|leaf| &leaf.said);
                for (place, words) in fault.elements.iter().filter(|it| said.is_none_or(|said| !said.contains(&it.0))) {
                    let mark = items.get(*place).map(|item| mark_in(item, words)).or(header);
                    let problem = Problem::new(self.key(&path), mark, format!("`{path}` cannot have this element"));
                    problems.push(expectation(problem, words));
                }
                if leaves.is_empty() {
                    return base.clone();
                }
                continue;
            }
            let mark = leaf.as_ref().map(|leaf| &leaf.node.mark).or(header);
            let problem = |message: String| Problem::new(self.key(&path), mark, message);
            problems.push(match &leaf {
                Some(leaf) if !named(leaf) => {
                    let (value, other) = (leaf.node.describe(), fault.parameter);
                    let message = format!("`{path}` is {value}, which does not fit `{other}`");
                    problem(message).hint(match &given {
                        Some((key, value)) => format!("`{key}` is {value}: {}", fault.problem),
                        None => {
                            let default = base.get(other).and_then(inline).map(|it| format!(" = {it}"));
                            let default = default.unwrap_or_default();
                            format!("`{other}{default}` is the default: {}; give `{other}` too", fault.problem)
                        }
                    })
                }
                Some(leaf) => {
                    let message = format!("`{path}` cannot be {}", leaf.node.describe_this());
                    let mut problem = expectation(problem(message), &fault.problem);
                    if let (Some((key, value)), None) = (&given, &problem.hint) {
                        problem.hint = Some(format!("`{key}` is {value}: one of them has to change"));
                    }
                    problem
                }
                None => expectation(problem(format!("the value of `{path}` is not possible")), &fault.problem),
            });
            if leaves.is_empty() {
                return base.clone();
            }
        }
    }
}

/// The place of a fault in an element of a list: that of the first key which the words name, or of the element.
fn mark_in<'t>(item: &'t Node, words: &str) -> &'t Mark {
    let Kind::Table(table) = &item.kind else { return &item.mark };
    let named = words.split('`').skip(1).step_by(2).find_map(|key| table.get(key));
    named.map_or(&item.mark, |entry| &entry.node.mark)
}

/// A fault in an element of a list.
struct Wrong<'t> {
    /// The place of the element in the list.
    place: usize,
    /// The key of the element, if that is a table, without which the fault is gone.
    key: Option<&'t str>,
    mark: &'t Mark,
    message: String,
}

/// The elements of a list that are wrong, each by itself, and the keys of those that are tables.
fn wrong_elements<'t>(judge: &dyn Judge, base: &Values, leaf: &Leaf<'t>) -> Vec<Wrong<'t>> {
    let Kind::Array(items) = &leaf.node.kind else { return Vec::new() };
    let mut values = Value::Object(base.clone());
    let Some(place) = leaf.path.iter().try_fold(&mut values, |value, step| value.get_mut(*step)) else {
        return Vec::new();
    };
    // Where a list is one of several kinds of values, an element says nothing alone.
    let Value::Array(default) = &*place else { return Vec::new() };
    let default = default.clone();
    // A list of a fixed length has a default of this length.
    if !default.is_empty() && default.len() != items.len() {
        return Vec::new();
    }
    let mut fault = |number: usize, item: Value| {
        let mut alone = default.clone();
        match alone.get_mut(number) {
            Some(value) => *value = item,
            None => alone.push(item),
        }
        if let Some(place) = leaf.path.iter().try_fold(&mut values, |value, step| value.get_mut(*step)) {
            *place = Value::Array(alone);
        }
        match judge.canonical(&values) {
            Err(ParamsError::Malformed(message)) => Some(message),
            _ => None,
        }
    };
    let mut wrong = Vec::new();
    for (place, item) in items.iter().enumerate() {
        let mut message = fault(place, item.to_value());
        if let Kind::Table(table) = &item.kind {
            let mut rest = table.to_map();
            // The wrong key is the one without which another fault is found, or none.
            while let Some(found) = message.take() {
                let lacks_key = found.starts_with("missing field");
                let mut there = table.entries.iter().filter(|entry| !lacks_key && rest.contains_key(&entry.key));
                let culprit = there.find_map(|entry| {
                    let mut without = rest.clone();
                    without.remove(&entry.key);
                    let then = fault(place, Value::Object(without));
                    (then.as_ref() != Some(&found)).then_some((entry, then))
                });
                let Some((entry, then)) = culprit else {
                    wrong.push(Wrong { place, key: None, mark: &item.mark, message: found });
                    break;
                };
                let mark = if found.starts_with("unknown field") { &entry.mark } else { &entry.node.mark };
                wrong.push(Wrong { place, key: Some(&entry.key), mark, message: found });
                rest.remove(&entry.key);
                // A key that is missing now is the wrong one, or was meant by it.
                message = then.filter(|then| !then.starts_with("missing field"));
            }
        } else if let Some(message) = message {
            wrong.push(Wrong { place, key: None, mark: &item.mark, message });
        }
    }
    wrong
}

/// A value that a scenario gives, and the keys below the section that lead to it.
struct Leaf<'t> {
    path: Vec<&'t str>,
    node: &'t Node,
    /// The value as far as it can be read.
    value: Value,
    /// The elements of a list whose faults are reported.
    said: BTreeSet<usize>,
}

/// An unknown key. Beside the keys that are known there, `below` has those of tables among them.
fn unknown(
    path: &str,
    entry: &Entry,
    (known, below): (&[&str], &[(&str, &str)]),
    elsewhere: impl Fn(&str) -> Option<String>,
) -> Problem {
    let title = if path.is_empty() { "a scenario".to_owned() } else { format!("[{path}]") };
    let problem =
        Problem::new(join(path, &entry.key), Some(&entry.mark), format!("{title} has no key `{}`", entry.key));
    let keys = || one_of(known.iter().copied()).replace(" or ", " and ");
    let place = elsewhere(&entry.key);
    // The key of another model of the same room is no mistyped one of this model.
    let room = path.rsplit_once('.').map(|(room, _)| format!("[{room}."));
    let is_near = |place: &String| room.as_ref().is_some_and(|room| place.contains(room));
    let is_mistyped = !place.as_ref().is_some_and(is_near);
    if let Some(name) = nearest(&entry.key, known.iter().copied()).filter(|_| is_mistyped) {
        problem.hint(format!("did you mean `{name}`?"))
    } else if let Some(name) = nearest(&entry.key, below.iter().map(|it| it.1)).filter(|_| is_mistyped) {
        let tables = below.iter().filter(|it| it.1 == name).map(|it| it.0);
        problem.hint(format!("did you mean `{name}` in {}?", one_of(tables)))
    } else if let Some(place) = place {
        // The key may belong to the other section, or may have been removed from this one.
        let here = if path.is_empty() || known.is_empty() {
            String::new()
        } else {
            format!("; those of {title} are {}", keys())
        };
        problem.hint(format!("{place}{here}"))
    } else if known.is_empty() {
        problem.hint(format!("{title} has no keys"))
    } else {
        problem.hint(format!("its keys are {}", keys()))
    }
}

/// A problem with a value that a model refused, in the model's words: as the expectation if it begins with "expected",
/// otherwise as a hint.
fn expectation(problem: Problem, words: &str) -> Problem {
    match words.strip_prefix("expected ") {
        Some(expected) => problem.expected(expected),
        None => problem.hint(words),
    }
}

/// The end of serde's message about a table whose only key is a word that stands alone.
const UNIT: &str = ", expected unit";

/// The message of serde about a value of the wrong type or unit: "invalid type: integer `2`, expected a rate …".
struct Expected {
    message: String,
    /// The words that can stand here, as serde names them, where it does not say so itself.
    words: Option<String>,
    /// How many values the list has, if it is one of a fixed length.
    length: Option<usize>,
}

impl Expected {
    fn of(judge: &dyn Judge, base: &Values, leaf: &Leaf<'_>, message: &str) -> Self {
        let mut values = Value::Object(base.clone());
        let mut place = leaf.path.iter().try_fold(&mut values, |value, step| value.get_mut(*step));
        let length = place.as_deref().and_then(Value::as_array).map(Vec::len).filter(|length| *length > 0);
        let mut words = None;
        if (message.ends_with("expected string or map") || message.ends_with(UNIT))
            && let Some(place) = place.as_mut().filter(|place| place.is_string())
        {
            // Of a word that none of the choices is, serde tells the choices.
            **place = Value::from("");
            if let Err(ParamsError::Malformed(message)) = judge.canonical(&values) {
                words = message.rsplit_once(", expected ").map(|(_, words)| words.to_owned());
            }
        }
        Self { message: message.to_owned(), words, length }
    }
}

/// Whether what serde found is the value itself, and not a value inside it.
fn is_whole(node: &Node, found: &str) -> bool {
    match &node.kind {
        Kind::Array(items) => match found.strip_prefix("invalid length ") {
            Some(length) => length.parse() == Ok(items.len()),
            None => found == "invalid type: sequence" && !items.iter().any(|it| matches!(it.kind, Kind::Array(_))),
        },
        Kind::Table(table) => {
            found == "invalid type: map" && table.entries.iter().all(|it| matches!(it.node.kind, Kind::Scalar(_)))
        }
        _ => true,
    }
}

/// A value of the wrong type or unit.
fn malformed(path: &str, leaf: &Leaf<'_>, wrong: &Expected) -> Problem {
    let (node, message) = (leaf.node, wrong.message.as_str());
    let key = leaf.path.join(".");
    let problem = |message: String| Problem::new(path, Some(&node.mark), message);
    let split = message.strip_prefix("expected ").and_then(|rest| rest.rsplit_once(", found ")).map(|(a, b)| (b, a));
    let Some((found, expected)) = split.or_else(|| message.rsplit_once(", expected ")) else {
        return match message.split('`').collect::<Vec<_>>().as_slice() {
            ["missing field ", name, ""] => {
                problem(format!("a table of `{key}` has no `{name}`")).expected(format!("the key `{name}`"))
            }
            _ => problem(format!("`{key}` cannot be {}", node.describe_this())).hint(message),
        };
    };
    // The marked value is a list or a table; the wrong value is inside it.
    let is_inner = !is_whole(node, found) && !message.ends_with(UNIT);
    let expected = match wrong.length.filter(|_| !is_inner) {
        Some(length) if expected.ends_with(" in array") || expected.starts_with("an array of length ") => {
            format!("a list of {length} values")
        }
        _ => kind_in_words(wrong.words.as_deref().unwrap_or(expected)),
    };
    let message = match is_inner.then(|| inner(found)) {
        Some(Some(value)) => format!("`{key}` has {value} in it"),
        _ if matches!(&node.kind, Kind::Array(items) if items.is_empty()) => format!("`{key}` is an empty list"),
        _ => format!("`{key}` is {}", node.describe()),
    };
    let alternatives: Vec<_> = expected.split('`').skip(1).step_by(2).collect();
    let word = node.as_str().or_else(|| found.split('`').nth(1));
    let hint = word.and_then(|text| nearest(text, alternatives)).map(|name| format!("did you mean \"{name}\"?"));
    // A list of values is a comparison where keys are set: it has no brackets of its own.
    let in_brackets =
        |text| format!("in brackets it is one, [\"{text}\"]; to compare several, give a list of such lists");
    let hint = hint.or_else(|| node.as_str().filter(|_| expected == "a list").map(in_brackets));
    let problem = problem(message).expected(expected.clone());
    match hint {
        Some(hint) => problem.hint(hint),
        None => problem,
    }
}

/// A type as serde names it, in plain words.
fn kind_in_words(expected: &str) -> String {
    let whole = |low: i128, high: i128| format!("a whole number from {low} to {high}");
    match expected {
        "u8" => whole(0, u8::MAX.into()),
        "u16" => whole(0, u16::MAX.into()),
        "u32" => whole(0, u32::MAX.into()),
        // TOML has no larger integers.
        "u64" | "usize" => whole(0, i64::MAX.into()),
        "i8" => whole(i8::MIN.into(), i8::MAX.into()),
        "i16" => whole(i16::MIN.into(), i16::MAX.into()),
        "i32" => whole(i32::MIN.into(), i32::MAX.into()),
        "i64" | "isize" => whole(i64::MIN.into(), i64::MAX.into()),
        "f32" | "f64" => "a number".to_owned(),
        "a boolean" => "true or false".to_owned(),
        "a string" => "text in quotes".to_owned(),
        "a sequence" => "a list".to_owned(),
        "a map" => "a table".to_owned(),
        "string or map" => "a word in quotes".to_owned(),
        other if other.starts_with("struct ") => "a table".to_owned(),
        other => match other.strip_prefix("an array of length ") {
            Some(length) => format!("{length} values in each list"),
            // serde does not report the expected length.
            None if other == "fewer elements in array" => "fewer values in each list".to_owned(),
            None => other
                .strip_prefix("one of ")
                .map_or_else(|| other.to_owned(), |names| one_of(names.split('`').skip(1).step_by(2))),
        },
    }
}

/// The value that serde found in a list or table, in plain words.
fn inner(found: &str) -> Option<String> {
    let rest = |prefix: &str| found.strip_prefix(prefix);
    if let Some(word) = rest("unknown variant ") {
        return Some(format!("the word {word}"));
    }
    if let Some(key) = rest("unknown field ") {
        return Some(format!("a table with the key {key}"));
    }
    if let Some(length) = rest("invalid length ") {
        return Some(format!("a list of {length}"));
    }
    let Some(value) = rest("invalid type: ").or_else(|| rest("invalid value: ")) else {
        // The reader of a quantity shows the text itself.
        return found.starts_with('"').then(|| format!("the text {found}"));
    };
    Some(match value.split_once(' ') {
        Some(("integer" | "boolean", value)) => value.to_owned(),
        Some(("floating", value)) => value.trim_start_matches("point ").to_owned(),
        Some(("string", value)) => format!("the text {value}"),
        _ if value == "sequence" => "a list".to_owned(),
        _ if value == "map" => "a table".to_owned(),
        _ => value.to_owned(),
    })
}
