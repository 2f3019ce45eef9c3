//! Runs a scenario file without Python, for work on a model. Prints what each flow delivered, and the digest.
//!
//! `cargo run -p hopyard-scenario --example run -- SCENARIO [KEY=VALUE ...]`

use std::error::Error;
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

use hopyard_model::world::{self, Watch};
use hopyard_scenario::Scenario;

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // A closed stderr hears nothing.
            drop(writeln!(std::io::stderr(), "{error}"));
            ExitCode::from(2)
        }
    }
}

fn run() -> Result<(), Box<dyn Error>> {
    let mut words = std::env::args().skip(1);
    let path = words.next().ok_or("expected a scenario file, and then KEY=VALUE for each key to change")?;
    let setting = |word: String| -> Result<(String, String), String> {
        let (key, value) = word.split_once('=').ok_or(format!("expected KEY=VALUE, found {word}"))?;
        Ok((key.to_owned(), value.to_owned()))
    };
    let settings = words.map(setting).collect::<Result<Vec<_>, _>>()?;
    let text = std::fs::read_to_string(&path).map_err(|error| format!("{path}: {error}"))?;
    let folder = Path::new(&path).parent().unwrap_or(Path::new(""));
    let scenario = Scenario::load(&text, &path, folder, &settings)?;
    let mut out = std::io::stdout().lock();
    for warning in scenario.warnings() {
        writeln!(out, "{}", warning.as_warning())?;
    }
    for run in 0..u64::from(scenario.runs()) {
        let outcome = world::simulate(&scenario.spec(run), &Watch::default())?;
        for flow in &outcome.flows {
            writeln!(out, "run {run}, flow {}: {} bytes delivered", flow.flow, flow.delivered_bytes)?;
        }
        let (events, frames) = (outcome.events, outcome.frames);
        writeln!(out, "run {run}: {events} events, {frames} frames, digest {:016x}", outcome.digest)?;
    }
    Ok(())
}
