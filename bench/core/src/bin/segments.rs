//! Runs a scenario with a TCP variant and prints how many segments its flows have sent, so that their cost can be told
//! from the time of the whole process. Without arguments: the names of all variants.
//!
//! `hopyard-segments [FILE VARIANT [KEY=VALUE ...]]`

use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

use hopyard_model::transport::congestion;
use hopyard_model::world::{self, Transport, Watch};
use hopyard_scenario::Scenario;

fn run(path: &Path, variant: &str, settings: &[(String, String)]) -> Result<String, String> {
    let scenario = Scenario::open(path, settings).map_err(|problems| problems.to_string())?;
    let mut spec = scenario.spec(0);
    for flow in &mut spec.flows {
        // Not through the scenario, which would have a variant that waits for notices choose a routing that gives some.
        if let Transport::Tcp { config, .. } = &mut flow.transport {
            config.congestion =
                congestion::Config::of_profile(variant, scenario.profile()).map_err(|error| error.to_string())?;
        }
    }
    let outcome = world::simulate(&spec, &Watch::default()).map_err(|error| error.to_string())?;
    Ok(outcome.flows.iter().map(|flow| flow.packets_sent).sum::<u64>().to_string())
}

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let done = match words.as_slice() {
        [] => Ok(congestion::MODELS.iter().map(|model| model.name).collect::<Vec<_>>().join("\n")),
        [path, variant, settings @ ..] => {
            let settings = settings.iter().filter_map(|word| word.split_once('='));
            let settings: Vec<_> = settings.map(|(key, value)| (key.to_owned(), value.to_owned())).collect();
            run(Path::new(path), variant, &settings)
        }
        _ => Err("usage: hopyard-segments [FILE VARIANT [KEY=VALUE ...]]".to_owned()),
    };
    match done {
        Ok(line) => {
            let _ = writeln!(std::io::stdout(), "{line}");
            ExitCode::SUCCESS
        }
        Err(problem) => {
            let _ = writeln!(std::io::stderr(), "{problem}");
            ExitCode::from(2)
        }
    }
}
