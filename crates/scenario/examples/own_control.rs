//! Runs a scenario with a congestion control of your own, written in Rust, without a change to Hopyard itself: that of
//! `docs/guide/custom-tcp/aimd.rs`, with the name `aimd:Aimd`. Prints the digest of each run.
//!
//! `cargo run --release -p hopyard-scenario --example own_control -- SCENARIO [KEY=VALUE ...]`

#[path = "../../../docs/guide/custom-tcp/aimd.rs"]
mod aimd;

use std::error::Error;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use aimd::{Aimd, Params};
use hopyard_model::params::{Params as _, read};
use hopyard_model::transport::congestion::ExternalControl;
use hopyard_model::transport::congestion::external::ExternalConfig;
use hopyard_model::world::{self, Watch};
use hopyard_scenario::{Declaration, ExternalControllers, Refusal, Scenario, Surroundings};
use serde_json::{Map, Value, json};

const NAME: &str = "aimd:Aimd";

/// Finds this one congestion control.
#[derive(Debug)]
struct Own;

impl ExternalControllers for Own {
    fn find(&self, name: &str, _folder: &Path) -> Result<Declaration, Refusal> {
        if name != NAME {
            let message = format!("there is no congestion control `{name}`");
            return Err(Refusal { message, expected: Some(NAME.to_owned()), hint: None });
        }
        let defaults = json!(Params::of_profile("rfc"));
        Ok(Declaration::new(defaults.as_object().cloned().unwrap_or_default(), configure))
    }
}

/// The congestion control with these parameters.
fn configure(parameters: &Map<String, Value>) -> Result<ExternalConfig, Refusal> {
    let params: Params = read(&Value::Object(parameters.clone())).map_err(|error| Refusal {
        message: error.to_string(),
        expected: None,
        hint: None,
    })?;
    let identity = json!(params);
    let build = move |_| -> Box<dyn ExternalControl> { Box::new(Aimd::new(&params)) };
    Ok(ExternalConfig::new(NAME, identity, build))
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
    let around = Surroundings::new(folder, Arc::new(Own));
    let text = std::fs::read_to_string(path)?;
    let scenario = Scenario::load(&text, &path.display().to_string(), around, &settings)?;
    let mut out = std::io::stdout().lock();
    for run in 0..scenario.runs() {
        let outcome = world::simulate(&scenario.spec(u64::from(run)), &Watch::default())?;
        writeln!(out, "{:016x}", outcome.digest)?;
    }
    Ok(())
}
