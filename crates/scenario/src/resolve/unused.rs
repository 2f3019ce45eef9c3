//! Keys that do nothing beside the value of another key.

use std::collections::BTreeSet;

use hopyard_model::params::ModelInfo;
use serde_json::Value;

use super::idle::is_of_list;
use super::resolver::Resolver;
use crate::key::join;
use crate::merge::{PROFILE, profiles};
use crate::tree::{Kind, Table};
use crate::value::{Values, inline};

/// The keys that do nothing among these values of a model, each with the one that decides.
fn idle(info: &ModelInfo, values: &Values) -> Vec<(String, String)> {
    let unused = (info.unused)(&Value::Object(values.clone())).into_iter();
    let keys = unused.flat_map(|it| {
        it.parameters.iter().map(move |key| (join(it.table, key), join(it.table, it.by))).collect::<Vec<_>>()
    });
    keys.collect()
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
    /// says what would hold anyway is none of them. Tables of lists are of one flow, wire or channel alone.
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
        for (key, by) in idle(info, values) {
            if !gives(table, &key) || at(base, &key) == at(values, &key) {
                continue;
            }
            let why = at(values, &by).and_then(inline).map_or_else(|| format!("`{by}`"), |it| format!("`{by}` = {it}"));
            let (at, message) = (join(path, &key), format!("`{key}` does nothing here with {why}"));
            if is_of_list(path) {
                if self.idle.said.insert((info.name, key)) {
                    self.unused(&at, message);
                }
            } else {
                self.idle.shared.push((info, key, at, message));
            }
        }
    }

    /// A flow, wire or channel has these values of a model: keys for the whole scenario may do something there.
    pub(super) fn note_use(&mut self, info: &'static ModelInfo, values: &Values) {
        self.idle.in_use.insert(info.name);
        if self.idle.shared.iter().any(|(it, ..)| it.name == info.name && it.room == info.room) {
            let idle: BTreeSet<String> = idle(info, values).into_iter().map(|(key, _)| key).collect();
            self.idle.shared.retain(|(it, key, ..)| it.name != info.name || it.room != info.room || idle.contains(key));
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
                self.unused(&path, message);
            }
        }
    }
}
