//! Keys that do nothing beside the value of another key.

use std::collections::BTreeMap;

use hopyard_model::params::ModelInfo;
use serde_json::Value;

use super::idle::is_of_list;
use super::resolver::Resolver;
use crate::merge::{PROFILE, profiles};
use crate::tree::{Kind, Table};
use crate::value::{Values, inline};

/// The keys that do nothing among these values of a model, each with the one that decides; nothing decides where the
/// network has no wires.
fn idle(info: &ModelInfo, values: &Values, wires: bool) -> BTreeMap<String, Option<String>> {
    let of_wires = info.for_wires.iter().filter(|_| !wires).map(|key| ((*key).to_owned(), None));
    let mut found: BTreeMap<_, _> = of_wires.collect();
    for it in (info.unused)(&Value::Object(values.clone())) {
        // Parameters in tables are named by their paths.
        let path = |key: &str| if it.table.is_empty() { key.to_owned() } else { format!("{}.{key}", it.table) };
        found.extend(it.parameters.iter().map(|key| (path(key), Some(path(it.by)))));
    }
    found
}

/// The value of a key, which may stand in a table.
fn at<'v>(values: &'v Values, key: &str) -> Option<&'v Value> {
    let mut steps = key.split('.');
    let first = values.get(steps.next()?)?;
    steps.try_fold(first, |value, step| value.get(step))
}

/// Whether a table gives a key.
fn gives(table: &Table, key: &str) -> bool {
    let (first, rest) = key.split_once('.').map_or((key, None), |(first, rest)| (first, Some(rest)));
    match (table.get(first).map(|entry| &entry.node.kind), rest) {
        (Some(Kind::Table(below)), Some(rest)) => gives(below, rest),
        (found, None) => found.is_some(),
        _ => false,
    }
}

impl Resolver<'_> {
    /// Notes the keys of a model's table that do nothing, with the values that they would have had and have. A key that
    /// says what would hold anyway needs no warning; another case of a comparison may give it another value. Tables of
    /// lists are of one flow, wire or channel alone.
    pub(super) fn note_unused(
        &mut self,
        info: &'static ModelInfo,
        path: &str,
        table: Option<&Table>,
        base: &Values,
        values: &Values,
    ) {
        let Some(table) = table else { return };
        let own = table.get(PROFILE).filter(|_| !profiles(info).is_empty()).and_then(|entry| entry.node.as_str());
        let own = own.map(|profile| (info.defaults)(profile));
        let base = own.as_ref().and_then(Value::as_object).unwrap_or(base);
        for (key, by) in idle(info, values, self.has_wires()) {
            if !gives(table, &key) {
                continue;
            }
            let value = |by: &String| at(values, by).and_then(inline).map_or_else(String::new, |it| format!(" = {it}"));
            let why = by.map_or("in a network without wires".to_owned(), |by| format!("with `{by}`{}", value(&by)));
            let message = (at(base, &key) != at(values, &key)).then(|| format!("`{key}` does nothing here {why}"));
            let at = format!("{path}.{key}");
            if !is_of_list(path) {
                self.idle.shared.push((info, key, at, message));
            } else if message.is_none() || self.idle.said.insert((info.name, key)) {
                self.note_idle(at, message);
            }
        }
    }

    fn has_wires(&self) -> bool {
        self.root.get("wire").is_some()
    }

    fn note_idle(&mut self, path: String, message: Option<String>) {
        match message {
            Some(message) => self.unused(&path, message),
            None => self.idle.as_default.push(path),
        }
    }

    /// A flow, wire or channel has these values of a model: keys for the whole scenario may do something there.
    pub(super) fn note_use(&mut self, info: &'static ModelInfo, values: &Values) {
        self.idle.in_use.insert(info.name);
        if self.idle.shared.iter().any(|(it, ..)| it.name == info.name && it.room == info.room) {
            let idle = idle(info, values, self.has_wires());
            let is_another = |it: &ModelInfo| it.name != info.name || it.room != info.room;
            self.idle.shared.retain(|(it, key, ..)| is_another(it) || idle.contains_key(key));
        }
    }

    /// Warns of the keys for the whole scenario that do nothing anywhere.
    pub(super) fn warn_of_idle(&mut self) {
        for (info, _, path, message) in std::mem::take(&mut self.idle.shared) {
            let is_used = match info.room {
                "tcp" => self.idle.in_use.contains(info.name),
                "radio" | "link" | "ip" => true,
                room => self.used.contains(&(room, info.name)),
            };
            if is_used {
                self.note_idle(path, message);
            }
        }
    }
}
