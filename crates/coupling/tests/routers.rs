//! Kernels that are nodes: real routing daemons over the MACs and radios of a simulated network. Without a built kernel,
//! or without a daemon, a test is skipped.

mod common;

use common::{at, scenario, skipped, with_kernel};
use hopyard_coupling::{Coupled, CouplingError, Options, Program, Routers, daemons};
use hopyard_engine::Time;
use hopyard_model::address::NodeId;
use hopyard_model::observe::Outcome;
use hopyard_model::world::Watch;

/// Four nodes in a row, each of which reaches the next one alone. `ROUTING` and further keys come behind it.
const CHAIN: &str = r#"
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

fn program(node: u32, start: u64, run: &str) -> Program {
    Program {
        node: NodeId(node),
        arguments: run.split(' ').map(str::to_owned).collect(),
        start: at(start),
        environment: Vec::new(),
        folder: "/tmp".into(),
    }
}

/// The options for a scenario with these programs besides those of its routing, if all of them are there.
fn options(text: &str, programs: &[Program]) -> Option<Options> {
    let scenario = scenario(text);
    let options = with_kernel("6.1")?;
    let programs: Vec<_> = programs.iter().cloned().chain(daemons(&scenario)).collect();
    if let Some(error) = programs.iter().find_map(|it| it.find().err()) {
        skipped(error);
        return None;
    }
    Some(Options { programs, routers: Routers::of(&scenario, &scenario.spec(0)), ..options })
}

fn started(text: &str, options: &Options) -> Result<Coupled<()>, CouplingError> {
    Coupled::start(&scenario(text).spec(0), &[], options, ())
}

/// The outcome of a run, and the output of the first programs.
fn run(text: &str, options: &Options) -> (Outcome, Vec<String>) {
    let spec = scenario(text).spec(0);
    let mut coupled = started(text, options).unwrap_or_else(|error| panic!("{error}"));
    coupled.advance(Time::ZERO + spec.duration, &Watch::default()).unwrap_or_else(|error| panic!("{error}"));
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    let output = coupled.programs().iter().map(|(_, state)| text(state.output[0].bytes()));
    let output = output.collect();
    (coupled.finish().expect("packets add up").0, output)
}

#[test]
fn babeld_finds_the_ways_of_a_chain_and_repeats_itself() {
    let text = format!("{CHAIN}routing = \"babeld\"\n");
    let programs = [program(0, 50_000, "ping -n -c 3 node3"), program(3, 52_000, "ping -n -c 3 node0-v6")];
    let Some(options) = options(&text, &programs) else { return };
    let (outcome, output) = run(&text, &options);
    for text in &output[..2] {
        assert!(text.contains("3 received, 0% packet loss"), "{output:#?}\n{:#?}", outcome.drops);
    }
    let changes = &outcome.route_changes;
    let of_ends = changes.iter().rfind(|it| (it.node, it.destination) == (0, 3));
    assert_eq!(of_ends.and_then(|it| it.path.as_deref()), Some("0 1 2 3"), "{changes:#?}");
    let (again, said) = run(&text, &options);
    assert_eq!((again.digest, said), (outcome.digest, output));
}
