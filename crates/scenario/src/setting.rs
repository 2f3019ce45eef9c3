//! Settings: keys with values that a program or the command line puts over the values of a file.

use std::sync::Arc;

use serde_json::Value;

use crate::catalogue::is_tcp_only;
use crate::key::key_parts;
use crate::problem::{Mark, Problem, SETTING, Source};
use crate::sweep::Sweep;
use crate::tree::{Kind, Node, Table, parse_setting};

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
    if let Some(kind @ (Kind::Table(_) | Kind::Array(_))) = drawn.map(|entry| &entry.node.kind) {
        // In a list of sets, those over UDP are left out one by one.
        let skipped = matches!(kind, Kind::Table(table) if skips(table, &steps[1..]));
        if !skipped {
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
                    && !(["flow", "flows"].contains(step) && skips(table, rest))
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::parse;

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
