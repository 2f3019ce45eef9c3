//! Runs one run of a scenario as a plain Rust program and prints what was done as one line of JSON: the core's speed,
//! without Python. Time and memory are measured from outside, as those of the peers are.
//!
//! `hopyard-bench FILE [until=SPAN] [KEY=VALUE ...]`
//!
//! `until` ends the run before its time, also before flows that start later, which a scenario would refuse.

use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

use hopyard_engine::Span;
use hopyard_model::world::{self, Watch};
use hopyard_scenario::Scenario;
use serde_json::json;

fn run(path: &Path, settings: &[(String, String)], until: Option<Span>) -> Result<String, String> {
    let scenario = Scenario::open(path, settings).map_err(|problems| problems.to_string())?;
    let mut spec = scenario.spec(0);
    spec.duration = until.unwrap_or(spec.duration).min(spec.duration);
    let outcome = world::simulate(&spec, &Watch::default()).map_err(|error| error.to_string())?;
    let line = json!({
        "scenario": scenario.name(),
        "nodes": spec.nodes.len(),
        "simulated_s": outcome.simulated,
        "goodput_kbps": outcome.flows.iter().fold(0.0, |sum, flow| sum + flow.goodput_kbps),
        "frames_sent": outcome.frames,
        "receptions": outcome.receptions,
        "events": outcome.events,
        "peak_mb": peak_mb(),
        "digest": format!("{:016x}", outcome.digest),
    });
    Ok(line.to_string())
}

/// The most memory that this process has had, in MB: what the system counts for a child begins with what its parent
/// had. Nothing where the system does not say.
fn peak_mb() -> Option<f64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let words = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kilobytes: f64 = words.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kilobytes / 1024.0)
}

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let Some(path) = arguments.next() else {
        let _ = writeln!(std::io::stderr(), "usage: hopyard-bench FILE [until=SPAN] [KEY=VALUE ...]");
        return ExitCode::from(2);
    };
    let mut settings: Vec<(String, String)> = arguments
        .filter_map(|word| word.split_once('=').map(|(key, value)| (key.to_owned(), value.to_owned())))
        .collect();
    let until = settings.iter().position(|(key, _)| key == "until").map(|place| settings.remove(place).1);
    let until = until.map(|text| text.parse::<Span>()).transpose().map_err(|error| format!("until: {error}"));
    match until.and_then(|until| run(Path::new(&path), &settings, until)) {
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
