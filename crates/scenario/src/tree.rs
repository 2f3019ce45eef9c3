//! The text of a scenario before it is interpreted: a tree in which every key and value knows its place in the text.

use std::sync::Arc;

use serde_json::{Map, Number, Value};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::merge::key_parts;
use crate::problem::{Mark, Problem, SETTING, Source};
use crate::resolve::is_tcp_only;
use crate::sweep::Sweep;

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
            Kind::Array(_) => "a list".to_owned(),
            Kind::Table(_) => "a table".to_owned(),
            Kind::Bad => "a value that cannot be read".to_owned(),
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

/// Puts a setting into the tree: `path` is a dotted key, `value` is TOML or bare words.
///
/// A key of a list of tables applies to every table of the list (`flow.tcp`), or with a number to one table
/// (`flow.0.tcp`).
///
/// The values of the scenario's own `[sweep]` keep their place in the file.
pub(crate) fn apply_setting(root: &mut Table, path: &str, value: &str, sweep: &Sweep, problems: &mut Vec<Problem>) {
    let path = path.trim();
    let source = Arc::new(Source::new(Some(SETTING.to_owned()), format!("{path}={value}")));
    let key_mark = Mark::new(&source, 0..path.len());
    let parts = match key_parts(path) {
        Ok(parts) => parts,
        Err(error) => {
            let problem = Problem::new(path, Some(&key_mark), format!("`{path}` is not a key: {error}"));
            let problem = problem.expected("a dotted key such as `mac.dcf.rate`");
            problems.push(problem.hint("a part with other characters than letters, digits, _ and - stands in quotes"));
            return;
        }
    };
    let steps: Vec<_> = parts.iter().map(String::as_str).collect();
    let setting = match sweep.find(path, value) {
        Some((mark, node)) => Setting { node: node.clone(), key_mark: mark.clone() },
        None => Setting { node: parse_setting(&source, path.len() + 1, problems), key_mark },
    };
    // Randomly drawn flows are flows too: a setting for every flow applies to them.
    let to_all = steps[0] == "flow" && steps.get(1).is_some_and(|step| !is_number(step));
    let drawn = if to_all { root.get("flows") } else { None };
    if let Some(Kind::Table(table)) = drawn.map(|entry| &entry.node.kind) {
        if !skips(table, &steps[1..]) {
            let steps: Vec<&str> = std::iter::once("flows").chain(steps[1..].iter().copied()).collect();
            descend(root, &steps, path, &setting, problems);
        }
        if root.get("flow").is_none() {
            return;
        }
    }
    descend(root, &steps, path, &setting, problems);
}

struct Setting {
    key_mark: Mark,
    node: Node,
}

fn descend(table: &mut Table, steps: &[&str], path: &str, setting: &Setting, problems: &mut Vec<Problem>) {
    let [step, rest @ ..] = steps else { return };
    if rest.is_empty() {
        table.set(step, &setting.key_mark, setting.node.clone());
        return;
    }
    if table.get(step).is_none() {
        let node = Node { mark: setting.key_mark.clone(), kind: Kind::Table(Table::default()) };
        table.set(step, &setting.key_mark, node);
    }
    let Some(below) = table.get_mut(step) else { return };
    match &mut below.kind {
        Kind::Table(table) => descend(table, rest, path, setting, problems),
        Kind::Array(items) => {
            let count = items.len();
            let (range, rest) = match rest {
                [first, rest @ ..] if is_number(first) => {
                    let index = first.parse::<usize>().unwrap_or(usize::MAX);
                    if index >= count || rest.is_empty() {
                        let problem = Problem::new(
                            path,
                            Some(&setting.key_mark),
                            format!("there is no `{step}.{first}` to set a key of"),
                        );
                        problems.push(problem.expected(format!("a number below {count}, and a key after it")));
                        return;
                    }
                    (index..index + 1, rest)
                }
                _ => (0..count, rest),
            };
            for item in &mut items[range] {
                if let Kind::Table(table) = &mut item.kind
                    && !(*step == "flow" && skips(table, rest))
                {
                    descend(table, rest, path, setting, problems);
                }
            }
        }
        Kind::Bad => {}
        Kind::Scalar(_) => {
            let found = format!("`{step}` is {}, and has no keys", below.describe());
            problems.push(Problem::new(path, Some(&setting.key_mark), found));
        }
    }
}

fn is_number(step: &str) -> bool {
    step.bytes().all(|b| b.is_ascii_digit())
}

/// A comparison of TCP variants does not change UDP flows.
fn skips(flow: &Table, rest: &[&str]) -> bool {
    let is_udp = flow.get("udp").is_some_and(|udp| matches!(udp.node.kind, Kind::Scalar(Value::Bool(true))));
    is_udp && rest.first().is_some_and(|key| is_tcp_only(key))
}

/// A program's scenario as TOML, so that it is read in the same way as a file.
pub(crate) fn value_to_toml(value: &Value) -> Option<toml::Value> {
    Some(match value {
        Value::Null => return None,
        Value::Bool(flag) => (*flag).into(),
        Value::Number(number) => match (number.as_i64(), number.as_f64()) {
            (Some(integer), _) => integer.into(),
            // TOML has no integers of more than 63 bits. The reader reports what was expected.
            (None, Some(float)) => float.into(),
            (None, None) => return None,
        },
        Value::String(text) => text.clone().into(),
        Value::Array(items) => toml::Value::Array(items.iter().filter_map(value_to_toml).collect()),
        Value::Object(map) => {
            toml::Value::Table(map.iter().filter_map(|(k, v)| Some((k.clone(), value_to_toml(v)?))).collect())
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> (Table, Vec<Problem>) {
        let mut problems = Vec::new();
        let source = Arc::new(Source::new(Some("t.toml".to_owned()), text.to_owned()));
        (parse(&source, &mut problems), problems)
    }

    fn set(text: &str, settings: &[(&str, &str)]) -> (Value, Vec<Problem>) {
        let (mut table, mut problems) = read(text);
        for (path, value) in settings {
            apply_setting(&mut table, path, value, &Sweep::default(), &mut problems);
        }
        (Value::Object(table.to_map()), problems)
    }

    #[test]
    fn every_syntax_error_is_reported() {
        let (table, problems) = read("a = \n[x\n[y]\nrate = 2 Mbps\nn = 1\nn = 2\nbig = 99999999999999999999\n");
        let lines: Vec<_> = problems.iter().filter_map(|p| p.location().map(|l| l.line)).collect();
        for line in [1, 2, 4, 6, 7] {
            assert!(lines.contains(&line), "line {line}: {problems:?}");
        }
        // What is between the errors is read.
        assert_eq!(Value::Object(table.to_map())["y"]["n"], 1);
    }

    #[test]
    fn settings_are_toml_or_bare_words() {
        let settings = [
            ("routing.protocol", "dsdv"),
            ("mac.dcf.rate", "2 Mbps"),
            ("mac.dcf.basic_rate", "\"1 Mbps\""),
            ("tcp.window", "20"),
            ("radio.capture", "true"),
            ("nodes.area", "[\"1 m\", \"2 m\"]"),
        ];
        let (value, problems) = set("[tcp]\nwindow = 1\n", &settings);
        assert_eq!(problems, []);
        assert_eq!(
            value,
            serde_json::json!({
                "tcp": {"window": 20}, "routing": {"protocol": "dsdv"},
                "mac": {"dcf": {"rate": "2 Mbps", "basic_rate": "1 Mbps"}},
                "radio": {"capture": true}, "nodes": {"area": ["1 m", "2 m"]}
            })
        );
    }

    #[test]
    fn a_setting_goes_to_every_flow_or_to_one() {
        let flows = "[[flow]]\nfrom = 0\n[[flow]]\nfrom = 1\n[[flow]]\nudp = true\n";
        let (value, problems) = set(flows, &[("flow.tcp", "vegas"), ("flow.1.tcp", "reno"), ("flow.start", "1 s")]);
        assert_eq!(problems, []);
        let tcp: Vec<_> = (0..3).map(|i| value["flow"][i]["tcp"].as_str()).collect();
        assert_eq!(tcp, [Some("vegas"), Some("reno"), None]);
        assert_eq!(value["flow"][2]["start"], "1 s");
    }

    #[test]
    fn a_setting_of_every_flow_goes_to_drawn_flows_too() {
        let (value, problems) = set("[flows]\nrandom = 3\n", &[("flow.tcp", "vegas"), ("flow.vegas.alpha", "2")]);
        assert_eq!(problems, []);
        assert_eq!(value, serde_json::json!({"flows": {"random": 3, "tcp": "vegas", "vegas": {"alpha": 2}}}));
        let (value, problems) = set("[flows]\nudp = true\n[[flow]]\nfrom = 0\n", &[("flow.tcp", "reno")]);
        assert_eq!(problems, []);
        assert_eq!(value, serde_json::json!({"flows": {"udp": true}, "flow": [{"from": 0, "tcp": "reno"}]}));
    }

    #[test]
    fn impossible_settings_are_problems() {
        for (path, value) in [("flow.9.tcp", "reno"), ("a.b", "1"), ("", "1"), ("x..y", "1"), ("x", "[1"), ("x", "\"a")]
        {
            let (_, problems) = set("a = 1\n[[flow]]\nfrom = 0\n", &[(path, value)]);
            assert_eq!(problems.len(), 1, "{path}={value}: {problems:?}");
            assert_eq!(problems[0].location().map(|l| l.file).as_deref(), Some("--set"));
        }
    }
}
