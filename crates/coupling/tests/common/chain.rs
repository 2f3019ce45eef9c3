//! Four kernels that are nodes, in a row.

use hopyard_coupling::{Coupled, CouplingError, Options, Program, Routers, daemons};
use hopyard_engine::Time;
use hopyard_model::address::NodeId;
use hopyard_model::observe::{Outcome, Probe};
use hopyard_model::world::Watch;

use super::{at, scenario, skipped, with_kernel};

/// Four nodes in a row, each of which reaches the next one alone. `ROUTING` and further keys come behind it.
pub const CHAIN: &str = r#"
duration = "60 s"
[nodes]
count = 4
spacing = "200 m"
system = "linux"
[radio]
receive = "250 m"
sense = "550 m"
[measure]
routes = "all"
[linux]
"#;

pub fn program(node: u32, start: u64, run: &str) -> Program {
    Program {
        node: NodeId(node),
        arguments: run.split(' ').map(str::to_owned).collect(),
        start: at(start),
        environment: Vec::new(),
        folder: "/tmp".into(),
    }
}

/// The options for a scenario with these programs besides those of its routing, if all of them are there.
pub fn options(text: &str, programs: &[Program]) -> Option<Options> {
    let scenario = scenario(text);
    let options = with_kernel("6.1")?;
    // Those that earlier versions of Hopyard have built have neither IPv6 nor batman-adv.
    let built = std::fs::read_to_string(options.program.with_file_name("config")).unwrap_or_default();
    if !built.contains("CONFIG_BATMAN_ADV=y") {
        skipped("kernel 6.1 was built without batman-adv; `hopyard kernels build 6.1` builds it anew");
        return None;
    }
    let programs: Vec<_> = programs.iter().cloned().chain(daemons(&scenario, &scenario.spec(0))).collect();
    if let Some(error) = programs.iter().find_map(|it| it.find().err()) {
        skipped(error);
        return None;
    }
    Some(Options { programs, routers: Routers::of(&scenario, &scenario.spec(0)), ..options })
}

pub fn started(text: &str, options: &Options) -> Result<Coupled<()>, CouplingError> {
    start(text, options, ())
}

fn start<P: Probe>(text: &str, options: &Options, probe: P) -> Result<Coupled<P>, CouplingError> {
    let scenario = scenario(text);
    let mut spec = scenario.spec(0);
    let flows = scenario.linux_flows(&mut spec);
    Coupled::start(&spec, &flows, options, probe)
}

/// The outcome of a run, and the output of the programs.
pub fn run(text: &str, options: &Options) -> (Outcome, Vec<String>) {
    let (outcome, output, ()) = run_with(text, options, ());
    (outcome, output)
}

/// The same, with the probe that has watched.
pub fn run_with<P: Probe>(text: &str, options: &Options, probe: P) -> (Outcome, Vec<String>, P) {
    let spec = scenario(text).spec(0);
    let mut coupled = start(text, options, probe).unwrap_or_else(|error| panic!("{error}"));
    coupled.advance(Time::ZERO + spec.duration, &Watch::default()).unwrap_or_else(|error| panic!("{error}"));
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    let output = coupled.programs().iter().map(|(_, state)| text(state.output[0].bytes()));
    let output = output.collect();
    let (outcome, probe) = coupled.finish().expect("packets add up");
    (outcome, output, probe)
}
