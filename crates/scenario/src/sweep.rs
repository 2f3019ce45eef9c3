//! `[sweep]`: the comparison that a scenario file contains.
//!
//! Each key of the table is a key of the scenario, with the values to compare. The tables of `[[sweep.together]]` have
//! keys that change together. The table belongs to the file, not to a case: each case is the scenario with one
//! combination of values.

use std::sync::Arc;

use serde_json::{Map, Value};

use crate::axes::Axis;
use crate::problem::{Mark, Problem, Problems, Source};
use crate::tree::{Kind, Node, Table, parse_setting};
use crate::value::inline;

/// The section's name.
pub(crate) const SWEEP: &str = "sweep";
/// The key of the tables whose keys change together.
pub(crate) const TOGETHER: &str = "together";

/// A key with its values.
#[derive(Clone, Debug)]
struct Swept {
    key: String,
    mark: Mark,
    /// The value as the file has it.
    given: Value,
    /// The values, with ranges expanded: as text in the form of `--set`, and as they were read.
    values: Vec<(String, Node)>,
}

/// The comparison of a file: groups of keys that change together; most groups have one key.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sweep {
    groups: Vec<Vec<Swept>>,
}

impl Sweep {
    /// Removes the table from a scenario, which has no such key itself.
    pub(crate) fn take(tree: &mut Table, problems: &mut Vec<Problem>) -> Self {
        let Some(at) = tree.entries.iter().position(|entry| entry.key == SWEEP) else { return Self::default() };
        let entry = tree.entries.remove(at);
        let Kind::Table(table) = &entry.node.kind else {
            let message = format!("`{SWEEP}` is {}", entry.node.describe());
            problems.push(Problem::new(SWEEP, Some(&entry.node.mark), message).expected(EXPECTED));
            return Self::default();
        };
        let mut sweep = Self::default();
        for entry in &table.entries {
            if entry.key != TOGETHER {
                let mut keys = Vec::new();
                read(&entry.key, &entry.mark, &entry.node, &mut keys, problems);
                sweep.groups.extend(keys.into_iter().map(|key| vec![key]));
                continue;
            }
            let Kind::Array(items) = &entry.node.kind else {
                let problem = Problem::new(path(TOGETHER), Some(&entry.mark), "`together` has tables of keys");
                problems.push(problem.expected("[[sweep.together]]"));
                continue;
            };
            for item in items {
                let mut keys = Vec::new();
                match &item.kind {
                    Kind::Table(group) => {
                        for entry in &group.entries {
                            read(&entry.key, &entry.mark, &entry.node, &mut keys, problems);
                        }
                    }
                    _ => {
                        let message = format!("`together` has {}", item.describe());
                        let problem = Problem::new(path(TOGETHER), Some(&item.mark), message);
                        problems.push(problem.expected("a table of keys that change together"));
                    }
                }
                keys.sort_by_key(|swept| swept.mark.span.start);
                same_length(&keys, problems);
                sweep.groups.extend((!keys.is_empty()).then_some(keys));
            }
        }
        // In the order of the file, because the reader sorts keys by name.
        sweep.groups.sort_by_key(|group| group[0].mark.span.start);
        sweep.refuse_twice(problems);
        sweep
    }

    fn refuse_twice(&self, problems: &mut Vec<Problem>) {
        let mut known = Vec::new();
        for swept in self.groups.iter().flatten() {
            if known.contains(&&swept.key) {
                let problem =
                    Problem::new(path(&swept.key), Some(&swept.mark), format!("`{}` is given twice", swept.key));
                problems.push(problem.expected("each key once in [sweep]"));
            }
            known.push(&swept.key);
        }
    }

    /// The comparison that remains if `set` gives these keys, which replace the values of the file. Among the keys that
    /// change together with them, keys remain that have one value for all cases.
    pub(crate) fn without<'a>(&self, set: impl Iterator<Item = &'a str>) -> Self {
        let set: Vec<_> = set.map(str::trim).collect();
        let is_set = |swept: &Swept| set.contains(&swept.key.as_str());
        let left = |group: &Vec<Swept>| {
            if !group.iter().any(is_set) {
                return group.clone();
            }
            group.iter().filter(|swept| !is_set(swept) && swept.values.len() == 1).cloned().collect()
        };
        Self { groups: self.groups.iter().map(left).filter(|group| !group.is_empty()).collect() }
    }

    /// The axes of the comparison.
    pub(crate) fn axes(&self) -> Vec<Axis> {
        let axis = |group: &Vec<Swept>| {
            let rows = group.iter().map(|swept| swept.values.len()).max().unwrap_or(0);
            let value = |swept: &Swept, row: usize| swept.values[row.min(swept.values.len() - 1)].0.clone();
            let rows = (0..rows).map(|row| group.iter().map(|swept| value(swept, row)).collect()).collect();
            Axis { keys: group.iter().map(|swept| swept.key.clone()).collect(), rows }
        };
        self.groups.iter().map(axis).collect()
    }

    /// The place of a key in the file, and the value that it has for this text.
    pub(crate) fn find(&self, key: &str, text: &str) -> Option<(&Mark, &Node)> {
        let swept = self.groups.iter().flatten().find(|swept| swept.key == key)?;
        let (_, node) = swept.values.iter().find(|(value, _)| value == text)?;
        Some((&swept.mark, node))
    }

    /// The table in the form of a file; nothing if nothing is compared.
    pub(crate) fn to_value(&self) -> Option<Value> {
        let mut table = Map::new();
        let mut together = Vec::new();
        for group in &self.groups {
            let keys = group.iter().map(|swept| (swept.key.clone(), swept.given.clone()));
            match group.len() {
                1 => table.extend(keys),
                _ => together.push(Value::Object(keys.collect())),
            }
        }
        if !together.is_empty() {
            table.insert(TOGETHER.to_owned(), Value::Array(together));
        }
        (!table.is_empty()).then_some(Value::Object(table))
    }
}

const EXPECTED: &str = "a table of keys with lists of values, such as \"flow.tcp\" = [\"newreno\", \"vegas\"]";

fn path(key: &str) -> String {
    format!("{SWEEP}.{key}")
}

/// A key with its values, or the keys of a table if the key contains dots outside quotes.
fn read(key: &str, mark: &Mark, node: &Node, found: &mut Vec<Swept>, problems: &mut Vec<Problem>) {
    let items = match &node.kind {
        Kind::Table(table) => {
            for entry in &table.entries {
                read(&format!("{key}.{}", entry.key), &entry.mark, &entry.node, found, problems);
            }
            return;
        }
        Kind::Bad => return,
        Kind::Array(items) => items.iter().collect(),
        Kind::Scalar(_) => vec![node],
    };
    let before = problems.len();
    let mut values = Vec::new();
    for item in items.into_iter().filter(|item| !item.is_bad()) {
        let Some(text) = item.as_str() else {
            values.extend(inline(&item.to_value()).map(|text| (text, item.clone())));
            continue;
        };
        match Axis::new(key, &[text.to_owned()]) {
            Ok(axis) if axis.rows.concat() != [text] => {
                let number = |text: String| {
                    let source = Arc::new(Source::new(None, text.clone()));
                    let kind = parse_setting(&source, 0, problems).kind;
                    (text, Node { mark: item.mark.clone(), kind })
                };
                values.extend(axis.rows.into_iter().flatten().map(number));
            }
            Ok(_) => values.push((text.to_owned(), item.clone())),
            Err(Problems(wrong)) => problems.extend(wrong.into_iter().map(|mut problem| {
                problem.path = path(key);
                problem.mark = Some(item.mark.clone());
                problem
            })),
        }
    }
    if values.is_empty() {
        if problems.len() == before && !node.is_bad() {
            let problem = Problem::new(path(key), Some(&node.mark), format!("`{key}` has no values to compare"));
            problems.push(problem.expected("one value or more, such as [\"newreno\", \"vegas\"] or \"3..9\""));
        }
        return;
    }
    found.push(Swept { key: key.trim().to_owned(), mark: mark.clone(), given: node.to_value(), values });
}

/// Keys that change together must have the same number of values, or one value for all.
fn same_length(keys: &[Swept], problems: &mut Vec<Problem>) {
    let rows = keys.iter().map(|swept| swept.values.len()).max().unwrap_or(0);
    for swept in keys.iter().filter(|swept| ![1, rows].contains(&swept.values.len())) {
        let message = format!("`{}` has {} values, and another key of the table {rows}", swept.key, swept.values.len());
        let problem = Problem::new(path(&swept.key), Some(&swept.mark), message);
        problems.push(problem.expected(format!("{rows} values, or one for all")));
    }
}
