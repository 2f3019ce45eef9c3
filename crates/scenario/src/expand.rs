//! Comparisons: a scenario under every combination of settings.

use std::collections::BTreeMap;

use crate::axes::{Axis, MOST_CASES};
use crate::external::Surroundings;
use crate::problem::{Mark, Problem, Problems};
use crate::scenario::Scenario;

/// One case of a comparison.
#[derive(Clone, Debug)]
pub struct Case {
    /// The distinction of the case: each key of the comparison with its value in this case.
    pub settings: Vec<(String, String)>,
    /// The scenario with these settings.
    pub scenario: Scenario,
}

impl Scenario {
    /// The scenario with every combination of the given values of keys and of the values of its `[sweep]`, which come
    /// first; without keys, the scenario itself. A given key replaces the same key of `[sweep]`.
    ///
    /// Cases have the same seed and run numbers: run 3 of each case has the same movement, the same channel and the
    /// same pairs of nodes. The values of the last key change fastest.
    ///
    /// # Errors
    /// All problems of all cases.
    pub fn expand(&self, axes: &[Axis]) -> Result<Vec<Case>, Problems> {
        let own = self.sweep.without(axes.iter().flat_map(|axis| &axis.keys).map(String::as_str));
        cases(&[&own.axes(), axes].concat(), |settings| self.with(settings))
    }

    /// Reads a scenario from text with every combination of the given values. Values of the text that a setting
    /// replaces may be wrong. `given` are settings of all cases. Otherwise as [`Scenario::load`] and
    /// [`Scenario::expand`].
    ///
    /// # Errors
    /// All problems of all cases.
    pub fn load_cases(
        text: &str,
        name: &str,
        around: impl Into<Surroundings>,
        given: &[(String, String)],
        axes: &[Axis],
    ) -> Result<Vec<Case>, Problems> {
        let unread = Self::unread(text, name, around);
        let set = axes.iter().flat_map(|axis| &axis.keys).chain(given.iter().map(|(key, _)| key));
        let own = unread.sweep(set.map(String::as_str)).map(|sweep| sweep.axes()).unwrap_or_default();
        cases(&[&own, axes].concat(), |settings| unread.read(&[given, settings].concat()))
    }
}

/// A case for every combination of the rows of the axes.
fn cases(
    axes: &[Axis],
    read: impl Fn(&[(String, String)]) -> Result<Scenario, Problems>,
) -> Result<Vec<Case>, Problems> {
    let count = axes.iter().try_fold(1_usize, |count, axis| count.checked_mul(axis.rows.len()));
    if count.is_none_or(|count| count > MOST_CASES) {
        let found = count.map_or_else(|| "more".to_owned(), |count| count.to_string());
        let problem = Problem::new("", None, format!("the comparison has too many cases: {found}"));
        return Err(Problems(vec![problem.expected(format!("at most {MOST_CASES}"))]));
    }
    let mut all = vec![Vec::new()];
    for axis in axes {
        let longer = |settings: &Vec<(String, String)>| {
            let settings = settings.clone();
            axis.rows.iter().map(move |row| {
                let mut settings = settings.clone();
                settings.extend(axis.keys.iter().cloned().zip(row.iter().cloned()));
                settings
            })
        };
        all = all.iter().flat_map(longer).collect();
    }
    // Each problem once, with the first case that has it and the number of cases that do.
    let mut problems: Vec<(Problem, String, usize)> = Vec::new();
    let mut known = BTreeMap::new();
    let mut cases = Vec::new();
    let mut tried = 0;
    for settings in all {
        tried += 1;
        match read(&settings) {
            Ok(scenario) => {
                let settings = shown(&settings, &scenario, &read);
                cases.push(Case { settings, scenario });
            }
            Err(found) => {
                let case =
                    || settings.iter().map(|(key, value)| format!("{key}={value}")).collect::<Vec<_>>().join(", ");
                for problem in found.0 {
                    let place = *known.entry(problem.identity()).or_insert_with(|| {
                        problems.push((problem, case(), 0));
                        problems.len() - 1
                    });
                    problems[place].2 += 1;
                }
            }
        }
        // What is wrong with so many cases is clear.
        if problems.len() >= MOST_PROBLEMS {
            break;
        }
    }
    // A problem in the file that not all cases have comes from the values of the case.
    let named = |(mut problem, case, count): (Problem, String, usize)| {
        if count < tried && !problem.mark.as_ref().is_some_and(Mark::is_setting) {
            problem.message += &format!(" (case {case})");
        }
        problem
    };
    Problems::from_list(problems.into_iter().map(named).collect()).map_or(Ok(cases), Err)
}

/// The settings of a case as tables show them: without the quotes of values that mean the same without.
fn shown(
    settings: &[(String, String)],
    scenario: &Scenario,
    read: &impl Fn(&[(String, String)]) -> Result<Scenario, Problems>,
) -> Vec<(String, String)> {
    let mut shown = settings.to_vec();
    for place in 0..shown.len() {
        let quoted = &shown[place].1;
        let inner = ['"', '\''].iter().find_map(|&quote| quoted.strip_prefix(quote)?.strip_suffix(quote));
        // These have a meaning of their own on the command line.
        let Some(bare) = inner.filter(|it| !it.contains([',', '"', '\'', '\\']) && !it.contains("..")) else {
            continue;
        };
        let mut plain = shown.clone();
        plain[place].1 = bare.to_owned();
        if read(&plain).is_ok_and(|it| it.hash() == scenario.hash() && it.to_value(true) == scenario.to_value(true)) {
            shown = plain;
        }
    }
    shown
}

/// After this number of problems no further cases are read.
const MOST_PROBLEMS: usize = 1000;

/// Splits an argument of the command line: `flow.tcp=vegas,newreno` is a key and two values.
///
/// Commas within quotes, parentheses, brackets and braces belong to the value:
/// `nodes.area=["1 km", "2 km"],["2 km", "2 km"]` has two values.
///
/// # Errors
/// When there is no key, or no value.
pub fn parse_set(text: &str) -> Result<(String, Vec<String>), Problems> {
    let wrong = |message: &str| {
        let problem = Problem::new("", None, format!("`--set {text}` {message}"));
        Problems(vec![problem.expected("KEY=VALUE or KEY=VALUE,VALUE, such as flow.tcp=vegas,newreno")])
    };
    let (key, values) = text.split_once('=').ok_or_else(|| wrong("has no `=`"))?;
    if key.trim().is_empty() {
        return Err(wrong("has no key"));
    }
    let (mut depth, mut quote, mut escaped) = (0_usize, None, false);
    let mut parts = vec![String::new()];
    for c in values.chars() {
        match (quote, c) {
            (None, ',') if depth == 0 => {
                parts.push(String::new());
                continue;
            }
            (None, '"' | '\'') => quote = Some(c),
            (None, '(' | '[' | '{') => depth += 1,
            (None, ')' | ']' | '}') => depth = depth.saturating_sub(1),
            (Some('"'), '\\') if !escaped => {
                escaped = true;
                if let Some(part) = parts.last_mut() {
                    part.push(c);
                }
                continue;
            }
            (Some(open), _) if c == open && !escaped => quote = None,
            _ => {}
        }
        escaped = false;
        if let Some(part) = parts.last_mut() {
            part.push(c);
        }
    }
    let parts: Vec<_> = parts.into_iter().map(|part| part.trim().to_owned()).collect();
    if parts.iter().any(String::is_empty) {
        return Err(wrong("has an empty value"));
    }
    Ok((key.trim().to_owned(), parts))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    fn set(key: &str, values: &[&str]) -> (String, Vec<String>) {
        (key.to_owned(), values.iter().map(|value| (*value).to_owned()).collect())
    }

    fn axis(key: &str, values: &[&str]) -> Axis {
        let (key, values) = set(key, values);
        Axis::new(&key, &values).unwrap_or_else(|problems| panic!("{problems}"))
    }

    #[test]
    fn sets_are_taken_apart() {
        for (text, key, values) in [
            ("flow.tcp=vegas,newreno", "flow.tcp", vec!["vegas", "newreno"]),
            ("mac.dcf.rate=2 Mbps, 11 Mbps", "mac.dcf.rate", vec!["2 Mbps", "11 Mbps"]),
            (
                "nodes.area=[\"1 m\", \"2 m\"],[\"3 m\",\"4 m\"]",
                "nodes.area",
                vec!["[\"1 m\", \"2 m\"]", "[\"3 m\",\"4 m\"]"],
            ),
            ("a.size=lognormal(5 kB, 1), 1 kB", "a.size", vec!["lognormal(5 kB, 1)", "1 kB"]),
            ("name=\"a, \\\" b\",'c,d'", "name", vec!["\"a, \\\" b\"", "'c,d'"]),
        ] {
            assert_eq!(parse_set(text).ok(), Some(set(key, &values)), "{text}");
        }
        for text in ["flow.tcp", "=3", "a=", "a=1,,2"] {
            assert!(parse_set(text).is_err(), "{text}");
        }
    }

    const TWO: &str = "[nodes]\ncount = 2\n[routing]\nprotocol = \"oracle\"\n[[flow]]\nfrom = 0\nto = 1\n";

    #[test]
    fn a_comparison_has_every_combination() {
        let scenario = Scenario::load(TWO, "two.toml", Path::new(""), &[]).unwrap_or_else(|p| panic!("{p}"));
        let cases =
            scenario.expand(&[axis("flow.tcp", &["vegas", "newreno"]), axis("nodes.spacing", &["1 m", "2 m", "3 m"])]);
        let cases = cases.unwrap_or_else(|p| panic!("{p}"));
        let settings: Vec<_> =
            cases.iter().map(|case| (case.settings[0].1.as_str(), case.settings[1].1.as_str())).collect();
        assert_eq!(
            settings,
            [
                ("vegas", "1 m"),
                ("vegas", "2 m"),
                ("vegas", "3 m"),
                ("newreno", "1 m"),
                ("newreno", "2 m"),
                ("newreno", "3 m")
            ]
        );
        let hashes: std::collections::BTreeSet<_> = cases.iter().map(|case| case.scenario.hash()).collect();
        assert_eq!(hashes.len(), 6);
        assert!(cases.iter().all(|case| (case.scenario.seed(), case.scenario.runs()) == (1, 10)));
        assert_eq!(scenario.expand(&[]).map(|cases| cases.len()).ok(), Some(1));
    }

    #[test]
    fn the_problems_of_all_cases_are_reported_once() {
        let scenario = Scenario::load(TWO, "two.toml", Path::new(""), &[]).unwrap_or_else(|p| panic!("{p}"));
        let sets = [axis("flow.tcp", &["vegsa", "newreno"]), axis("nodes.spacing", &["1", "2 m"])];
        let problems = scenario.expand(&sets).expect_err("two values are wrong");
        assert_eq!(problems.0.len(), 2, "{problems}");
        let sets = [axis("a", &["1..400"]), axis("b", &["1..400"])];
        let shown = scenario.expand(&sets).expect_err("160,000 cases").to_string();
        assert!(shown.contains("160000") && shown.contains("at most 10000"), "{shown}");
    }

    #[test]
    fn a_problem_of_some_cases_names_one_of_them() {
        let scenario = Scenario::load(TWO, "two.toml", Path::new(""), &[]).unwrap_or_else(|p| panic!("{p}"));
        let shown = scenario.expand(&[axis("nodes.count", &["2", "1"])]).expect_err("one node").to_string();
        assert!(shown.contains("there is no node 1 (case nodes.count=1)"), "{shown}");
        // A problem that all cases have, and one that shows its setting, name none.
        let text = TWO.replace("to = 1", "to = 9");
        let all = Scenario::load_cases(&text, "two.toml", Path::new(""), &[], &[axis("nodes.count", &["2", "2"])]);
        assert!(!all.expect_err("no node 9").to_string().contains("(case"));
        let shown = scenario.expand(&[axis("nodes.spacing", &["5 m", "1"])]).expect_err("no unit").to_string();
        assert!(!shown.contains("(case") && shown.contains("nodes.spacing=1"), "{shown}");
    }

    #[test]
    fn thousands_of_problems_do_not_hold_a_text_each() {
        let text: String = (0..300).map(|i| format!("unknown_{i} = 1\n")).collect();
        let wrong = Scenario::load_cases(&text, "two.toml", Path::new(""), &[], &[]).expect_err("unknown keys");
        let most = wrong.0.iter().map(|problem| problem.identity().iter().map(String::len).sum::<usize>()).max();
        assert!(wrong.0.len() >= 300 && most < Some(2000), "{most:?}");
    }

    #[test]
    fn what_a_setting_replaces_need_not_be_right() {
        let text = TWO.replace("to = 1", "to = 9");
        assert!(Scenario::load_cases(&text, "two.toml", Path::new(""), &[], &[]).is_err());
        let cases = Scenario::load_cases(&text, "two.toml", Path::new(""), &[], &[axis("flow.to", &["1"])]);
        assert_eq!(cases.map(|cases| cases.len()).ok(), Some(1));
    }

    #[test]
    fn keys_go_together_and_last_is_the_last_node() {
        let chain =
            Axis::new("nodes.count", &["3..9".to_owned()]).and_then(|it| it.with("flow.to", &["last".to_owned()]));
        let axes = [chain.unwrap_or_else(|problems| panic!("{problems}"))];
        let cases = Scenario::load_cases(TWO, "two.toml", Path::new(""), &[], &axes).unwrap_or_else(|p| panic!("{p}"));
        let ends: Vec<_> = cases.iter().map(|case| case.scenario.to_value(true)["flow"][0]["to"].as_u64()).collect();
        assert_eq!(ends, (2..=8).map(Some).collect::<Vec<_>>());
    }
}
