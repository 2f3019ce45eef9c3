//! The parameters of congestion controls that are not models.

use hopyard_model::params::ParamsError;
use hopyard_model::transport::congestion::external::ExternalConfig;
use serde_json::{Value, json};

use super::resolver::Resolver;
use crate::catalogue::{is_external, where_belongs};
use crate::external::{Declaration, Refusal};
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
    /// The declaration that a name stands for. An unknown name is reported once.
    fn declaration(&mut self, name: &str, path: &str) -> Option<Declaration> {
        if let Some(known) = self.declarations.get(name) {
            return known.clone();
        }
        let found = match self.files.controller(name) {
            Ok(declaration) => Some(declaration),
            Err(refusal) => {
                self.refuse(path, refusal);
                None
            }
        };
        self.declarations.insert(name.to_owned(), found.clone());
        found
    }

    fn refuse(&mut self, path: &str, refusal: Refusal) {
        let problem = self.problem(path, refusal.message);
        problem.expected = refusal.expected;
        problem.hint = refusal.hint;
    }

    /// The parameters of a congestion control: the parameters of its table over the parameters of `base`.
    fn external_values(&mut self, declaration: &Declaration, base: Values, path: String, entry: &Entry) -> Values {
        let Kind::Table(table) = &entry.node.kind else { return base };
        let judge = Declared(declaration.defaults());
        let section = Section { path, parts: vec![(&judge, base)], tables: vec![], profiles: &[] };
        section.read(Some(table), Some(&entry.node.mark), where_belongs, &mut self.problems).remove(0)
    }

    /// Reads the tables of external congestion controls in a section that applies to the whole scenario.
    pub(super) fn shared_external(&mut self, section: &str, table: &Table) {
        for entry in table.entries.iter().filter(|entry| is_external(&entry.key)) {
            let path = join(section, &entry.key);
            let Some(declaration) = self.declaration(&entry.key, &path) else { continue };
            let values = self.external_values(&declaration, declaration.defaults().clone(), path, entry);
            self.external.insert(entry.key.clone(), values);
        }
    }

    /// The congestion control that a flow names, with the parameters of the flow's own table. The given ones are added
    /// to `sparse`.
    pub(super) fn external_congestion(
        &mut self,
        path: &str,
        table: &Table,
        name: &str,
        sparse: &mut Values,
    ) -> Option<ExternalConfig> {
        for other in table.entries.iter().filter(|entry| is_external(&entry.key) && entry.key != name) {
            let message = format!("`{}` is not used here: the congestion model is `{name}`", other.key);
            self.warnings.push(Problem::new(join(path, &other.key), Some(&other.mark), message).unused());
        }
        let declaration = self.declaration(name, &join(path, "tcp"))?;
        let base = self.external.get(name).unwrap_or(declaration.defaults()).clone();
        self.used_external.insert(name.to_owned(), base.clone());
        let mut values = base;
        if let Some(entry) = table.get(name) {
            values = self.external_values(&declaration, values, join(path, name), entry);
            if let Entry { node: Node { kind: Kind::Table(given), .. }, .. } = entry {
                let given = given.entries.iter().filter_map(|e| Some((e.key.clone(), values.get(&e.key)?.clone())));
                sparse.insert(name.to_owned(), Value::Object(given.collect()));
            }
        }
        declaration.configure(&values).map_err(|refusal| self.refuse(&join(path, "tcp"), refusal)).ok()
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::sync::Arc;

    use super::*;
    use crate::external::{ExternalControllers, Surroundings};
    use crate::scenario::Scenario;
    use hopyard_model::transport::congestion::{Config, Controller, ExternalControl};

    /// Knows `my.module:Slow`, which accepts a share below one.
    #[derive(Debug)]
    struct Controllers;

    fn slow(parameters: &Values) -> Result<ExternalConfig, Refusal> {
        if parameters["share"].as_f64() >= Some(1.0) {
            return Err(Refusal { message: "share is too large".to_owned(), expected: None, hint: None });
        }
        let reno = Config::of_profile("reno", "rfc").unwrap_or_else(|error| panic!("{error}"));
        let build = move |rng| -> Box<dyn ExternalControl> { Box::new(Controller::new(&reno, rng)) };
        Ok(ExternalConfig::new("my.module:Slow", Value::Object(parameters.clone()), build))
    }

    impl ExternalControllers for Controllers {
        fn find(&self, name: &str, folder: &Path) -> Result<Declaration, Refusal> {
            if name == "my.module:Slow" {
                let defaults = json!({"share": 0.5, "count": 3, "mode": "a", "fast": false});
                return Ok(Declaration::new(defaults.as_object().cloned().unwrap_or_default(), slow));
            }
            let message = format!("`{name}` is not in {}", folder.display());
            Err(Refusal { message, expected: Some("Slow".to_owned()), hint: Some("write it".to_owned()) })
        }
    }

    const TWO: &str = "[nodes]\ncount = 3\n[routing]\nprotocol = \"oracle\"\n\
        [[flow]]\nfrom = 0\nto = 1\n[[flow]]\nfrom = 1\nto = 2\n";

    fn load(more: &str, settings: &[(&str, &str)]) -> Result<Scenario, String> {
        let settings: Vec<_> = settings.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        let surroundings = Surroundings::new(Path::new("here"), Arc::new(Controllers));
        Scenario::load(&format!("{TWO}{more}"), "two.toml", surroundings, &settings).map_err(|p| p.to_string())
    }

    fn parameters(scenario: &Scenario, flow: usize) -> Value {
        use hopyard_model::world::Transport;
        let Transport::Tcp { config, .. } = &scenario.spec(0).flows[flow].transport else { panic!("it is TCP") };
        let Config::External(external) = &config.congestion else { panic!("it is from outside") };
        external.identity().clone()
    }

    #[test]
    fn parameters_come_from_the_scenario_the_flow_and_the_defaults() {
        let more =
            "tcp = \"my.module:Slow\"\n[flow.\"my.module:Slow\"]\ncount = 9\n[tcp.\"my.module:Slow\"]\nshare = 0\n";
        let settings = [("flow.tcp", "my.module:Slow"), ("tcp.\"my.module:Slow\".mode", "b")];
        let scenario = load(more, &settings).unwrap_or_else(|p| panic!("{p}"));
        assert_eq!(parameters(&scenario, 0), json!({"share": 0.0, "count": 3, "mode": "b", "fast": false}));
        assert_eq!(parameters(&scenario, 1), json!({"share": 0.0, "count": 9, "mode": "b", "fast": false}));
        assert_eq!(scenario.warnings(), []);
        // The written scenario gives the same scenario when it is read.
        for defaults in [true, false] {
            let text = scenario.to_toml(defaults);
            let surroundings = Surroundings::new(Path::new(""), Arc::new(Controllers));
            let again =
                Scenario::load(&text, "again.toml", surroundings, &[]).unwrap_or_else(|p| panic!("{text}\n{p}"));
            assert_eq!(again.hash(), scenario.hash(), "{text}");
        }
        let other = scenario.with(&[("flow.1.\"my.module:Slow\".count".to_owned(), "8".to_owned())]);
        let other = other.unwrap_or_else(|p| panic!("{p}"));
        assert_eq!(parameters(&other, 1)["count"], 8);
        assert_ne!(other.hash(), scenario.hash());
    }

    #[test]
    fn what_does_not_fit_is_reported_with_its_place() {
        let more = "[tcp.\"my.module:Slow\"]\nshar = 0.1\nshare = \"half\"\ncount = 1.5\nfast = 1\n";
        let text = load(more, &[("flow.tcp", "my.module:Slow")]).expect_err("four keys are wrong");
        for words in [
            "two.toml:12:1",
            "did you mean `share`?",
            "expected a number",
            "expected a whole number",
            "expected true or false",
            "[tcp.\"my.module:Slow\"] has no key `shar`",
            "4 problems",
        ] {
            assert!(text.contains(words), "{words}: {text}");
        }
        let text =
            load("tcp = \"my.module:Slow\"\n[tcp.\"my.module:Slow\"]\nshare = 2.0\n", &[]).expect_err("too large");
        assert!(text.contains("two.toml:11:7") && text.contains("share is too large"), "{text}");
        let text = load("[tcp.\"my.module:Slow\"]\nshare = 2.0\n", &[]).unwrap_or_else(|p| panic!("{p}"));
        assert!(text.warnings()[0].message.contains("not used"), "{:?}", text.warnings());
    }

    #[test]
    fn what_is_not_there_is_reported_once_in_the_words_of_whoever_looked() {
        let text = load("", &[("flow.tcp", "my.module:Fast")]).expect_err("there is no such class");
        for words in ["`my.module:Fast` is not in here", "expected Slow", "help: write it", "1 problem found"] {
            assert!(text.contains(words), "{words}: {text}");
        }
    }

    #[test]
    fn a_program_that_knows_none_says_so() {
        let settings = [("flow.tcp".to_owned(), "my.module:Slow".to_owned())];
        let text = Scenario::load(TWO, "two.toml", Path::new(""), &settings).expect_err("nobody knows it").to_string();
        assert!(text.contains("this program knows no congestion control but its models"), "{text}");
        let settings = [("flow.tcp".to_owned(), "Slow".to_owned())];
        let text = Scenario::load(TWO, "two.toml", Path::new(""), &settings).expect_err("no model").to_string();
        assert!(text.contains("`module:Class`"), "{text}");
    }
}
