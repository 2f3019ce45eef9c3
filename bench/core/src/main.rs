//! Runs one run of a scenario as a plain Rust program and prints what was done as one line of JSON: the core's speed, without
//! Python. Time and memory are measured from outside, as those of the peers are.
//!
//! `hopyard-bench FILE [KEY=VALUE ...]`

use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

use hopyard_model::world::{Watch, World};
use hopyard_scenario::Scenario;
use serde_json::json;

fn run(path: &Path, settings: &[(String, String)]) -> Result<String, String> {
    let scenario = Scenario::open(path, settings).map_err(|problems| problems.to_string())?;
    let spec = scenario.spec(0);
    let world = World::new(&spec).map_err(|error| error.to_string())?;
    let outcome = world.run(&Watch::default()).map_err(|error| error.to_string())?;
    let line = json!({
        "scenario": scenario.name(),
        "nodes": spec.nodes.len(),
        "simulated_s": outcome.simulated,
        "goodput_kbps": outcome.flows.iter().map(|flow| flow.payload_kbps).sum::<f64>(),
        "frames_sent": outcome.frames,
        "receptions": outcome.receptions,
        "events": outcome.events,
        "peak_mb": peak_mb(),
        "digest": format!("{:016x}", outcome.digest),
    });
    Ok(line.to_string())
}

/// The most memory that this process has had, in MB: what the system counts for a child begins with what its parent had. Nothing
/// where the system does not say.
fn peak_mb() -> Option<f64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let words = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kilobytes: f64 = words.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kilobytes / 1024.0)
}

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let Some(path) = arguments.next() else {
        let _ = writeln!(std::io::stderr(), "usage: hopyard-bench FILE [KEY=VALUE ...]");
        return ExitCode::from(2);
    };
    let settings: Vec<(String, String)> = arguments
        .filter_map(|word| word.split_once('=').map(|(key, value)| (key.to_owned(), value.to_owned())))
        .collect();
    match run(Path::new(&path), &settings) {
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
