//! Comparisons: a scenario under every combination of settings.

use crate::problem::{Problem, Problems};
use crate::scenario::Scenario;

/// More cases than this are a typing error.
const MOST_CASES: usize = 100_000;

/// One case of a comparison.
#[derive(Clone, Debug)]
pub struct Case {
    /// What sets it apart: each key of the comparison with the value that it has here.
    pub settings: Vec<(String, String)>,
    /// The scenario with these settings.
    pub scenario: Scenario,
}

impl Scenario {
    /// The scenario under every combination of the given values of keys; without keys, itself.
    ///
    /// Cases share seed and run numbers: run 3 of each meets the same movement, the same channel, the same pairs of nodes.
    /// The values of the last key change fastest.
    ///
    /// # Errors
    /// Everything that is wrong with any of the cases.
    pub fn expand(&self, sets: &[(String, Vec<String>)]) -> Result<Vec<Case>, Problems> {
        let count = sets.iter().try_fold(1_usize, |count, (_, values)| count.checked_mul(values.len()));
        if count.is_none_or(|count| count > MOST_CASES) {
            let problem = Problem::new("", None, "the comparison has too many cases");
            return Err(Problems(vec![problem.expected(format!("at most {MOST_CASES}"))]));
        }
        let mut all = vec![Vec::new()];
        for (key, values) in sets {
            let longer = |settings: &Vec<(String, String)>| {
                let settings = settings.clone();
                values.iter().map(move |value| {
                    let mut settings = settings.clone();
                    settings.push((key.clone(), value.clone()));
                    settings
                })
            };
            all = all.iter().flat_map(longer).collect();
        }
        let mut problems: Vec<Problem> = Vec::new();
        let mut cases = Vec::new();
        for settings in all {
            match self.with(&settings) {
                Ok(scenario) => cases.push(Case { settings, scenario }),
                Err(found) => {
                    let new: Vec<_> = found.0.into_iter().filter(|problem| !problems.contains(problem)).collect();
                    problems.extend(new);
                }
            }
        }
        Problems::from_list(problems).map_or(Ok(cases), Err)
    }
}

/// Takes apart what the command line gives: `flow.tcp=vegas,newreno` is a key and two values.
///
/// Commas within quotes, brackets and braces belong to the value: `nodes.area=["1 km", "2 km"],["2 km", "2 km"]` has two values.
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
            (None, '[' | '{') => depth += 1,
            (None, ']' | '}') => depth = depth.saturating_sub(1),
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
            scenario.expand(&[set("flow.tcp", &["vegas", "newreno"]), set("nodes.spacing", &["1 m", "2 m", "3 m"])]);
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
        let sets = [set("flow.tcp", &["vegsa", "newreno"]), set("nodes.spacing", &["1", "2 m"])];
        let problems = scenario.expand(&sets).expect_err("two values are wrong");
        assert_eq!(problems.0.len(), 2, "{problems}");
        let many: Vec<_> = (0..400).map(|i| format!("{i} m")).collect();
        let sets = [("a".to_owned(), many.clone()), ("b".to_owned(), many)];
        assert!(scenario.expand(&sets).is_err(), "160,000 cases");
    }
}
