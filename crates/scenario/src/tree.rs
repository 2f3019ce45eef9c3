//! The text of a scenario before it is interpreted: a tree in which every key and value knows its place in the text.

use std::sync::Arc;

use serde_json::{Map, Number, Value};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::key::key_parts;
use crate::problem::{Mark, Problem, Source};
use crate::value::inline;

/// Lists and tables with more values or characters are not written out in a problem.
const MOST_INLINE: (usize, usize) = (8, 40);

/// A value and its place.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    pub mark: Mark,
    pub kind: Kind,
}

/// The kind and content of a value.
#[derive(Clone, Debug)]
pub(crate) enum Kind {
    /// Text, a number, true or false.
    Scalar(Value),
    /// `[…]`, or the tables under `[[name]]`.
    Array(Vec<Node>),
    /// `[name]` or `{…}`.
    Table(Table),
    /// Something that cannot be read, and that was reported.
    Bad,
}

/// Keys with their values.
#[derive(Clone, Debug, Default)]
pub(crate) struct Table {
    pub entries: Vec<Entry>,
}

/// A key, its place, its value.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub key: String,
    pub mark: Mark,
    pub node: Node,
}

impl Node {
    /// The value without its places.
    pub(crate) fn to_value(&self) -> Value {
        match &self.kind {
            Kind::Scalar(value) => value.clone(),
            Kind::Array(items) => items.iter().map(Self::to_value).collect(),
            Kind::Table(table) => Value::Object(table.to_map()),
            Kind::Bad => Value::Null,
        }
    }

    /// The kind of the value, in the words of a problem.
    pub(crate) fn describe(&self) -> String {
        match &self.kind {
            Kind::Scalar(Value::String(text)) => format!("the text \"{text}\""),
            Kind::Scalar(value) => format!("`{value}`"),
            Kind::Array(_) => self.inline().map_or("a list".to_owned(), |text| format!("the list `{text}`")),
            Kind::Table(_) => self.inline().map_or("a table".to_owned(), |text| format!("the table `{text}`")),
            Kind::Bad => "a value that cannot be read".to_owned(),
        }
    }

    /// A list or a table on one line, if it is short and can be read.
    fn inline(&self) -> Option<String> {
        let length = match &self.kind {
            Kind::Array(items) => items.len(),
            Kind::Table(table) => table.entries.len(),
            Kind::Scalar(_) | Kind::Bad => 0,
        };
        let (values, characters) = MOST_INLINE;
        let is_short = length <= values && !self.is_bad();
        is_short.then(|| inline(&self.to_value())).flatten().filter(|text| text.len() <= characters)
    }

    /// The value in the words of a problem with its content: the kind of a list or a table is right.
    pub(crate) fn describe_this(&self) -> String {
        match &self.kind {
            Kind::Array(_) => "this list".to_owned(),
            Kind::Table(_) => "this table".to_owned(),
            Kind::Scalar(_) | Kind::Bad => self.describe(),
        }
    }

    /// Whether the value, or a value inside it, cannot be read. A problem has been reported for it.
    pub(crate) fn is_bad(&self) -> bool {
        match &self.kind {
            Kind::Scalar(_) => false,
            Kind::Array(items) => items.iter().any(Self::is_bad),
            Kind::Table(table) => table.entries.iter().any(|entry| entry.node.is_bad()),
            Kind::Bad => true,
        }
    }

    /// The value as text, if it is text.
    pub(crate) fn as_str(&self) -> Option<&str> {
        match &self.kind {
            Kind::Scalar(Value::String(text)) => Some(text),
            _ => None,
        }
    }
}

impl Table {
    /// The place of a dotted key in the text, or of the nearest table that contains it.
    pub(crate) fn place(&self, path: &str) -> Option<Mark> {
        let mut best = None;
        let mut node: Option<&Node> = None;
        for step in key_parts(path).unwrap_or_default() {
            let table = match node.map(|node| &node.kind) {
                None => self,
                Some(Kind::Table(table)) => table,
                Some(Kind::Array(items)) => {
                    node = step.parse::<usize>().ok().and_then(|index| items.get(index));
                    best = node.map(|node| node.mark.clone()).or(best);
                    if node.is_none() {
                        return best;
                    }
                    continue;
                }
                Some(Kind::Scalar(_) | Kind::Bad) => return best,
            };
            let Some(entry) = table.get(&step) else { return best };
            node = Some(&entry.node);
            // The place of a table is its header; the place of a key in it is its value.
            best = Some(entry.node.mark.clone());
        }
        best
    }

    /// The value of a dotted key.
    pub(crate) fn node(&self, path: &str) -> Option<&Node> {
        let mut steps = key_parts(path).unwrap_or_default().into_iter();
        let mut node = &self.get(&steps.next()?)?.node;
        for step in steps {
            node = match &node.kind {
                Kind::Table(table) => &table.get(&step)?.node,
                Kind::Array(items) => items.get(step.parse::<usize>().ok()?)?,
                Kind::Scalar(_) | Kind::Bad => return None,
            };
        }
        Some(node)
    }

    pub(crate) fn get(&self, key: &str) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.key == key)
    }

    pub(crate) fn get_mut(&mut self, key: &str) -> Option<&mut Node> {
        self.entries.iter_mut().find(|entry| entry.key == key).map(|entry| &mut entry.node)
    }

    /// The keys and values without their places.
    pub(crate) fn to_map(&self) -> Map<String, Value> {
        self.entries.iter().map(|entry| (entry.key.clone(), entry.node.to_value())).collect()
    }

    /// Gives a key a value, and replaces the old value if there is one.
    pub(crate) fn set(&mut self, key: &str, mark: &Mark, node: Node) {
        if let Some(old) = self.entries.iter_mut().find(|entry| entry.key == key) {
            old.mark = mark.clone();
            old.node = node;
        } else {
            self.entries.push(Entry { key: key.to_owned(), mark: mark.clone(), node });
        }
    }
}

/// Reads TOML. A part that cannot be read becomes a problem; the rest is still read.
pub(crate) fn parse(source: &Arc<Source>, problems: &mut Vec<Problem>) -> Table {
    let (table, errors) = DeTable::parse_recoverable(&source.text);
    for error in errors {
        let mark = error.span().map(|span| Mark::new(source, span));
        let mut problem =
            Problem::new("", mark.as_ref(), format!("the file cannot be read as TOML: {}", error.message()));
        if error.message().contains("must be quoted") {
            problem = problem.hint("text and values with units stand in quotes: \"2 Mbps\"");
        }
        problems.push(problem);
    }
    Reader { source, problems, offset: 0 }.table(table.get_ref())
}

/// Reads the value of a setting: TOML, or bare words.
///
/// `source` holds `key=value`, the value starting at byte `offset`.
pub(crate) fn parse_setting(source: &Arc<Source>, offset: usize, problems: &mut Vec<Problem>) -> Node {
    let text = &source.text[offset..];
    let mark = Mark::new(source, offset..source.text.len());
    match DeValue::parse(text) {
        Ok(value) if !value.get_ref().is_datetime() => Reader { source, problems, offset }.node(&value),
        Err(error) if text.trim_start().starts_with(['"', '\'', '[', '{']) => {
            let at = error.span().map_or(mark, |span| Mark::new(source, offset + span.start..offset + span.end));
            problems.push(Problem::new(
                "",
                Some(&at),
                format!("the value cannot be read as TOML: {}", error.message()),
            ));
            Node { mark: at, kind: Kind::Bad }
        }
        _ => Node { mark, kind: Kind::Scalar(Value::String(text.trim().to_owned())) },
    }
}

struct Reader<'a> {
    source: &'a Arc<Source>,
    problems: &'a mut Vec<Problem>,
    offset: usize,
}

impl Reader<'_> {
    fn mark<T>(&self, spanned: &Spanned<T>) -> Mark {
        Mark::new(self.source, spanned.span().start + self.offset..spanned.span().end + self.offset)
    }

    fn table(&mut self, table: &DeTable<'_>) -> Table {
        let entries = table
            .iter()
            .map(|(key, value)| Entry { key: key.get_ref().to_string(), mark: self.mark(key), node: self.node(value) })
            .collect();
        Table { entries }
    }

    fn node(&mut self, value: &Spanned<DeValue<'_>>) -> Node {
        let mark = self.mark(value);
        let kind = match value.get_ref() {
            DeValue::String(text) => Kind::Scalar(Value::String(text.to_string())),
            DeValue::Boolean(flag) => Kind::Scalar(Value::Bool(*flag)),
            DeValue::Integer(integer) => {
                let number = i64::from_str_radix(integer.as_str(), integer.radix()).ok().map(Number::from);
                let expected = format!("a whole number from {} to {}", i64::MIN, i64::MAX);
                self.number(&mark, number, expected)
            }
            DeValue::Float(float) => {
                let number = float.as_str().parse().ok().and_then(Number::from_f64);
                self.number(&mark, number, "a finite number".to_owned())
            }
            DeValue::Datetime(date) => Kind::Scalar(Value::String(date.to_string())),
            DeValue::Array(items) => Kind::Array(items.iter().map(|item| self.node(item)).collect()),
            DeValue::Table(table) => Kind::Table(self.table(table)),
        };
        Node { mark, kind }
    }

    fn number(&mut self, mark: &Mark, number: Option<Number>, expected: String) -> Kind {
        let Some(number) = number else {
            let text = &self.source.text[mark.span.clone()];
            self.problems.push(Problem::new("", Some(mark), format!("`{text}` is out of range")).expected(expected));
            return Kind::Bad;
        };
        Kind::Scalar(Value::Number(number))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_syntax_error_is_reported() {
        let mut problems = Vec::new();
        let text = "a = \n[x\n[y]\nrate = 2 Mbps\nn = 1\nn = 2\nbig = 99999999999999999999\n";
        let table = parse(&Arc::new(Source::new(Some("t.toml".to_owned()), text.to_owned())), &mut problems);
        let lines: Vec<_> = problems.iter().filter_map(|p| p.location().map(|l| l.line)).collect();
        for line in [1, 2, 4, 6, 7] {
            assert!(lines.contains(&line), "line {line}: {problems:?}");
        }
        // What is between the errors is read.
        assert_eq!(Value::Object(table.to_map())["y"]["n"], 1);
    }
}
