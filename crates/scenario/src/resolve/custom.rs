//! The parameters of congestion controls that are not models.

use std::sync::Arc;

use hopyard_model::params::ParamsError;
use hopyard_model::transport::congestion::custom::Custom;
use serde_json::{Value, json};

use super::resolver::Resolver;
use crate::catalogue::{is_custom, where_belongs};
use crate::custom::{BadRule, CustomClass};
use crate::key::join;
use crate::merge::{Judge, Section};
use crate::problem::Problem;
use crate::tree::{Entry, Kind, Node, Table};
use crate::value::Values;

/// Checks parameters against the types of their defaults.
struct Declared<'a>(&'a Values);

impl Judge for Declared<'_> {
    fn defaults(&self, _profile: &str) -> Value {
        Value::Object(self.0.clone())
    }

    fn canonical(&self, value: &Value) -> Result<Value, ParamsError> {
        let mut canonical = Values::new();
        for (key, default) in self.0 {
            let value = value.get(key).unwrap_or(default);
            let wanted = match (default, value) {
                (Value::Bool(_), Value::Bool(_)) | (Value::String(_), Value::String(_)) => Ok(value.clone()),
                (Value::Number(default), Value::Number(number)) if default.is_f64() => Ok(json!(number.as_f64())),
                (Value::Number(_), Value::Number(number)) if !number.is_f64() => Ok(value.clone()),
                (Value::Bool(_), _) => Err("true or false"),
                (Value::String(_), _) => Err("text in quotes"),
                (Value::Number(default), _) if default.is_f64() => Err("a number"),
                _ => Err("a whole number"),
            };
            match wanted {
                Ok(value) => canonical.insert(key.clone(), value),
                Err(kind) => return Err(ParamsError::Malformed(format!("expected {kind}, found {value}"))),
            };
        }
        Ok(Value::Object(canonical))
    }
}

impl Resolver<'_> {
    /// What a name stands for. An unknown name is reported once.
    fn class(&mut self, name: &str, path: &str) -> Option<Arc<dyn CustomClass>> {
        if let Some(known) = self.classes.get(name) {
            return known.clone();
        }
        let found = match self.files.rule(name) {
            Ok(class) => Some(class),
            Err(bad) => {
                self.bad_rule(path, bad);
                None
            }
        };
        self.classes.insert(name.to_owned(), found.clone());
        found
    }

    fn bad_rule(&mut self, path: &str, bad: BadRule) {
        let problem = self.problem(path, bad.message);
        problem.expected = bad.expected;
        problem.hint = bad.hint;
    }

    /// The parameters of a congestion control: those of its table over those of `base`.
    fn custom_values(&mut self, class: &dyn CustomClass, base: Values, path: String, entry: &Entry) -> Values {
        let Kind::Table(table) = &entry.node.kind else { return base };
        let judge = Declared(class.defaults());
        let section = Section { path, parts: vec![(&judge, base)], tables: vec![], profiles: &[] };
        section.read(Some(table), Some(&entry.node.mark), where_belongs, &mut self.problems).remove(0)
    }

    /// Reads the tables of external congestion controls in a section that applies to the whole scenario.
    pub(super) fn shared_custom(&mut self, section: &str, table: &Table) {
        for entry in table.entries.iter().filter(|entry| is_custom(&entry.key)) {
            let path = join(section, &entry.key);
            let Some(class) = self.class(&entry.key, &path) else { continue };
            let values = self.custom_values(&*class, class.defaults().clone(), path, entry);
            self.custom.insert(entry.key.clone(), values);
        }
    }

    /// The congestion control that a flow names, with the parameters of the flow's own table. The given ones are added
    /// to `sparse`.
    pub(super) fn custom_variant(
        &mut self,
        path: &str,
        table: &Table,
        name: &str,
        sparse: &mut Values,
    ) -> Option<Custom> {
        for other in table.entries.iter().filter(|entry| is_custom(&entry.key) && entry.key != name) {
            let message = format!("`{}` is not used here: the congestion model is `{name}`", other.key);
            self.warnings.push(Problem::new(join(path, &other.key), Some(&other.mark), message).unused());
        }
        let class = self.class(name, &join(path, "tcp"))?;
        let base = self.custom.get(name).unwrap_or(class.defaults()).clone();
        self.used_custom.insert(name.to_owned(), base.clone());
        let mut values = base;
        if let Some(entry) = table.get(name) {
            values = self.custom_values(&*class, values, join(path, name), entry);
            if let Entry { node: Node { kind: Kind::Table(given), .. }, .. } = entry {
                let given = given.entries.iter().filter_map(|e| Some((e.key.clone(), values.get(&e.key)?.clone())));
                sparse.insert(name.to_owned(), Value::Object(given.collect()));
            }
        }
        class.rule(&values).map_err(|bad| self.bad_rule(&join(path, "tcp"), bad)).ok()
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::custom::{CustomRules, Surroundings};
    use crate::scenario::Scenario;
    use hopyard_engine::Rng;
    use hopyard_model::transport::congestion::custom::CustomRule;
    use hopyard_model::transport::congestion::{Config, CongestionControl, Controller};

    /// Knows `my.rules:Slow`, which accepts a share below one.
    #[derive(Debug)]
    struct Rules;

    #[derive(Debug)]
    struct Slow(Values);

    impl CustomRules for Rules {
        fn find(&self, name: &str, folder: &Path) -> Result<Arc<dyn CustomClass>, BadRule> {
            if name == "my.rules:Slow" {
                let defaults = json!({"share": 0.5, "count": 3, "mode": "a", "fast": false});
                return Ok(Arc::new(Slow(defaults.as_object().cloned().unwrap_or_default())));
            }
            let message = format!("`{name}` is not in {}", folder.display());
            Err(BadRule { message, expected: Some("Slow".to_owned()), hint: Some("write it".to_owned()) })
        }
    }

    impl CustomClass for Slow {
        fn defaults(&self) -> &Values {
            &self.0
        }
        fn rule(&self, parameters: &Values) -> Result<Custom, BadRule> {
            if parameters["share"].as_f64() >= Some(1.0) {
                return Err(BadRule { message: "share is too large".to_owned(), expected: None, hint: None });
            }
            Ok(Custom::new(Arc::new(Self(parameters.clone()))))
        }
    }

    impl CustomRule for Slow {
        fn name(&self) -> &str {
            "my.rules:Slow"
        }
        fn identity(&self) -> Value {
            Value::Object(self.0.clone())
        }
        fn build(&self, rng: Rng) -> Box<dyn CongestionControl + Send> {
            let reno = Config::of_profile("reno", "rfc").unwrap_or_else(|error| panic!("{error}"));
            Box::new(Controller::new(&reno, rng))
        }
    }

    const TWO: &str = "[nodes]\ncount = 3\n[routing]\nprotocol = \"oracle\"\n\
        [[flow]]\nfrom = 0\nto = 1\n[[flow]]\nfrom = 1\nto = 2\n";

    fn load(more: &str, settings: &[(&str, &str)]) -> Result<Scenario, String> {
        let settings: Vec<_> = settings.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        let surroundings = Surroundings::new(Path::new("here"), Arc::new(Rules));
        Scenario::load(&format!("{TWO}{more}"), "two.toml", surroundings, &settings).map_err(|p| p.to_string())
    }

    fn parameters(scenario: &Scenario, flow: usize) -> Value {
        use hopyard_model::world::Transport;
        let Transport::Tcp { config, .. } = &scenario.spec(0).flows[flow].transport else { panic!("it is TCP") };
        let Config::Custom(rule) = &config.congestion else { panic!("it is from outside") };
        rule.identity()
    }

    #[test]
    fn parameters_come_from_the_scenario_the_flow_and_the_defaults() {
        let more = "tcp = \"my.rules:Slow\"\n[flow.\"my.rules:Slow\"]\ncount = 9\n[tcp.\"my.rules:Slow\"]\nshare = 0\n";
        let settings = [("flow.tcp", "my.rules:Slow"), ("tcp.\"my.rules:Slow\".mode", "b")];
        let scenario = load(more, &settings).unwrap_or_else(|p| panic!("{p}"));
        assert_eq!(parameters(&scenario, 0), json!({"share": 0.0, "count": 3, "mode": "b", "fast": false}));
        assert_eq!(parameters(&scenario, 1), json!({"share": 0.0, "count": 9, "mode": "b", "fast": false}));
        assert_eq!(scenario.warnings(), []);
        // The written scenario gives the same scenario when it is read.
        for defaults in [true, false] {
            let text = scenario.to_toml(defaults);
            let surroundings = Surroundings::new(Path::new(""), Arc::new(Rules));
            let again =
                Scenario::load(&text, "again.toml", surroundings, &[]).unwrap_or_else(|p| panic!("{text}\n{p}"));
            assert_eq!(again.hash(), scenario.hash(), "{text}");
        }
        let other = scenario.with(&[("flow.1.\"my.rules:Slow\".count".to_owned(), "8".to_owned())]);
        let other = other.unwrap_or_else(|p| panic!("{p}"));
        assert_eq!(parameters(&other, 1)["count"], 8);
        assert_ne!(other.hash(), scenario.hash());
    }

    #[test]
    fn what_does_not_fit_is_reported_with_its_place() {
        let more = "[tcp.\"my.rules:Slow\"]\nshar = 0.1\nshare = \"half\"\ncount = 1.5\nfast = 1\n";
        let text = load(more, &[("flow.tcp", "my.rules:Slow")]).expect_err("four keys are wrong");
        for words in [
            "two.toml:12:1",
            "did you mean `share`?",
            "expected a number",
            "expected a whole number",
            "expected true or false",
            "[tcp.\"my.rules:Slow\"] has no key `shar`",
            "4 problems",
        ] {
            assert!(text.contains(words), "{words}: {text}");
        }
        let text = load("tcp = \"my.rules:Slow\"\n[tcp.\"my.rules:Slow\"]\nshare = 2.0\n", &[]).expect_err("too large");
        assert!(text.contains("two.toml:11:7") && text.contains("share is too large"), "{text}");
        let text = load("[tcp.\"my.rules:Slow\"]\nshare = 2.0\n", &[]).unwrap_or_else(|p| panic!("{p}"));
        assert!(text.warnings()[0].message.contains("not used"), "{:?}", text.warnings());
    }

    #[test]
    fn a_rule_that_is_not_there_is_reported_once_in_the_words_of_whoever_looked() {
        let text = load("", &[("flow.tcp", "my.rules:Fast")]).expect_err("there is no such rule");
        for words in ["`my.rules:Fast` is not in here", "expected Slow", "help: write it", "1 problem found"] {
            assert!(text.contains(words), "{words}: {text}");
        }
    }

    #[test]
    fn a_program_without_rules_says_so() {
        let settings = [("flow.tcp".to_owned(), "my.rules:Slow".to_owned())];
        let text = Scenario::load(TWO, "two.toml", Path::new(""), &settings).expect_err("nobody knows it").to_string();
        assert!(text.contains("this program knows no rules from outside"), "{text}");
        let settings = [("flow.tcp".to_owned(), "Slow".to_owned())];
        let text = Scenario::load(TWO, "two.toml", Path::new(""), &settings).expect_err("no model").to_string();
        assert!(text.contains("`module:Class`"), "{text}");
    }
}
