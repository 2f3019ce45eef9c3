//! Runs a scenario with a congestion control of your own, written in Rust, without a change to Hopyard itself: that of
//! `docs/custom-tcp/aimd.rs`, with the name `aimd:Aimd`. Prints the digest of each run.
//!
//! `cargo run --release -p hopyard-scenario --example own_rule -- SCENARIO [KEY=VALUE ...]`

#[path = "../../../docs/custom-tcp/aimd.rs"]
mod aimd;

use std::error::Error;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use aimd::{Aimd, Params};
use hopyard_engine::Rng;
use hopyard_model::params::{Params as _, read};
use hopyard_model::transport::congestion::CongestionControl;
use hopyard_model::transport::congestion::custom::{Custom, CustomRule};
use hopyard_model::world::{Watch, World};
use hopyard_scenario::{BadRule, CustomClass, CustomRules, Scenario, Surroundings};
use serde_json::{Map, Value, json};

const NAME: &str = "aimd:Aimd";

/// Finds this one congestion control.
#[derive(Debug)]
struct Rules;

/// The class of the congestion control: its parameters with their defaults.
#[derive(Debug)]
struct Class(Map<String, Value>);

/// The congestion control with its parameters.
#[derive(Debug)]
struct Rule(Params);

impl CustomRules for Rules {
    fn find(&self, name: &str, _folder: &Path) -> Result<Arc<dyn CustomClass>, BadRule> {
        if name != NAME {
            let message = format!("there is no rule `{name}`");
            return Err(BadRule { message, expected: Some(NAME.to_owned()), hint: None });
        }
        let defaults = json!(Params::of_profile("rfc"));
        Ok(Arc::new(Class(defaults.as_object().cloned().unwrap_or_default())))
    }
}

impl CustomClass for Class {
    fn defaults(&self) -> &Map<String, Value> {
        &self.0
    }

    fn rule(&self, parameters: &Map<String, Value>) -> Result<Custom, BadRule> {
        match read(&Value::Object(parameters.clone())) {
            Ok(params) => Ok(Custom::new(Arc::new(Rule(params)))),
            Err(error) => Err(BadRule { message: error.to_string(), expected: None, hint: None }),
        }
    }
}

impl CustomRule for Rule {
    fn name(&self) -> &str {
        NAME
    }

    fn identity(&self) -> Value {
        json!(self.0)
    }

    fn build(&self, _rng: Rng) -> Box<dyn CongestionControl + Send> {
        Box::new(Aimd::new(&self.0))
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut words = std::env::args().skip(1);
    let path = words.next().ok_or("which scenario?")?;
    let mut settings = vec![("flow.tcp".to_owned(), NAME.to_owned())];
    settings.extend(words.filter_map(|word| {
        let (key, value) = word.split_once('=')?;
        Some((key.to_owned(), value.to_owned()))
    }));
    let path = Path::new(&path);
    let folder = path.parent().unwrap_or(Path::new(""));
    let around = Surroundings::new(folder, Arc::new(Rules));
    let text = std::fs::read_to_string(path)?;
    let scenario = Scenario::load(&text, &path.display().to_string(), around, &settings)?;
    let mut out = std::io::stdout().lock();
    for run in 0..scenario.runs() {
        let outcome = World::new(&scenario.spec(u64::from(run)))?.run(&Watch::default())?;
        writeln!(out, "{:016x}", outcome.digest)?;
    }
    Ok(())
}
