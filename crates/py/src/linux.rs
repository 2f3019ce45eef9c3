//! Runs with flows whose TCP is Linux's, or with programs in simulated time.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use hopyard_coupling::{Coupled, CouplingError, Options, Program, Routers, daemons};
use hopyard_engine::{Span, Time};
use hopyard_kernels::agent::Order;
use hopyard_kernels::{Completion, Error, Settings};
use hopyard_model::address::NodeId;
use hopyard_model::observe::capture::Options as CaptureOptions;
use hopyard_model::observe::{Outcome, Probes};
use hopyard_model::world::{Advanced, Spec, Watch, World};
use hopyard_scenario as core;
use hopyard_scenario::sections::{Host, Linux};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::capture::{Captured, Watched};
use crate::network::{self, Keeper};
use crate::replay;

/// The kernels that were built: for each version the program, the agent, and the folder of modules.
pub type Kernels = BTreeMap<String, (PathBuf, PathBuf, PathBuf)>;

/// How many steps a run has, between which it tells how far it is.
const STEPS: u64 = 100;

/// Makes a run, with a capture if there is a file for it, as [`crate::capture::run`] does. Adds the processor time of
/// its kernels to `others`.
pub fn run(
    scenario: &core::Scenario,
    linux: &Linux,
    kernels: &Kernels,
    run: u64,
    (watch, others): (&Watch, &mut Duration),
    file: Option<(PathBuf, CaptureOptions)>,
) -> Result<Captured, String> {
    let mut spec = scenario.spec(run);
    let flows = scenario.linux_flows(&mut spec);
    let options = options(scenario, linux, kernels, &spec)?;
    // What was captured before survives a scenario that cannot be run.
    World::new(&spec).map_err(|error| error.to_string())?;
    let mut watched = Watched::new(&spec, file);
    let (outcome, probes) = make(&spec, &flows, &options, watched.probes(), (watch, others))?;
    Ok((outcome, watched.finish(probes)))
}

fn make(
    spec: &Spec,
    flows: &[core::LinuxFlow],
    options: &Options,
    probes: Probes,
    (watch, others): (&Watch, &mut Duration),
) -> Result<(Outcome, Probes), String> {
    let text = |error: CouplingError| error.to_string();
    let mut coupled = Coupled::start(spec, flows, options, probes).map_err(text)?;
    let step = Span::from_nanos(spec.duration.nanos().div_ceil(STEPS).max(1));
    let mut until = Time::ZERO;
    let advanced = loop {
        until += step;
        match coupled.advance(until, watch) {
            Ok(Advanced::Reached) => {}
            other => break other,
        }
    };
    // Nobody can ask for it when the kernels have ended.
    *others += coupled.processor_time();
    advanced.map_err(text)?;
    coupled.finish().map_err(text)
}

/// How long a kernel may take for a step of a trial, in seconds.
const PATIENCE: u64 = 20;
/// How many devices a kernel has in a trial at the most.
const DEVICES: usize = 40;

/// Boots a kernel alone. Returns what it calls itself.
#[pyfunction]
pub fn try_kernel(py: Python<'_>, program: PathBuf, agent: PathBuf) -> PyResult<String> {
    py.detach(|| trial(program, &agent, &[], 1)).map_err(|error| PyValueError::new_err(error.to_string()))
}

/// The parameter of a scenario that a kernel does not take, and why, or another reason why it cannot be tried.
pub fn refused(scenario: &core::Scenario, program: PathBuf, agent: &Path) -> Option<String> {
    let linux = scenario.linux().filter(|it| !it.sysctls.is_empty())?;
    let orders: Vec<_> = linux.parameters().into_iter().map(|(path, value)| Order::Sysctl { path, value }).collect();
    match trial(program, agent, &orders, scenario.common_devices()).err()? {
        Error::Agent { value, error, .. } => {
            let (path, value) = value.split_once('=').unwrap_or((&value, ""));
            Some(format!("Linux {} does not take `{}={value}`: {error}", linux.kernel(), path.replace('/', ".")))
        }
        error => Some(error.to_string()),
    }
}

fn trial(program: PathBuf, agent: &Path, orders: &[Order], devices: usize) -> Result<String, Error> {
    let content = fs::read(agent).map_err(|error| Error::System { what: agent.display().to_string(), error })?;
    let patience = Duration::from_secs(PATIENCE);
    let settings = Settings { patience, memory_folder: memory_folder(), ..Settings::default() };
    hopyard_kernels::trial(program, &content, orders, devices.min(DEVICES) as u8, settings)
}

fn memory_folder() -> Option<PathBuf> {
    std::env::var_os("TMPDIR").map(PathBuf::from)
}

/// Builds the network of a run in steps, and starts its kernels. A recording of it has at most `most` rows a table.
pub fn start(
    scenario: &core::Scenario,
    linux: &Linux,
    kernels: &Kernels,
    run: u64,
    most: Option<usize>,
) -> Result<network::Kernels, String> {
    let mut spec = scenario.spec(run);
    let flows = scenario.linux_flows(&mut spec);
    let options = options(scenario, linux, kernels, &spec)?;
    let mut probes = spec.observe.recorded.probes();
    probes.extend(replay::probe(&spec, most));
    let make = move || Coupled::start(&spec, &flows, &options, probes);
    let (made, thread) = Keeper::make(make).map_err(|error| error.to_string())?;
    let coupled = made.map_err(|error| error.to_string())?;
    Ok(network::Kernels { coupled, thread, owner: std::process::id() })
}

/// The modules in a folder that are variants of the scenario's flows. The other variants are the kernel's own.
fn modules_of(scenario: &core::Scenario, folder: &Path) -> Result<BTreeMap<String, Vec<u8>>, String> {
    let mut found = BTreeMap::new();
    for variant in scenario.linux_variants() {
        let path = folder.join(format!("hopyard_{variant}.ko"));
        if path.exists() {
            let module = fs::read(&path).map_err(|error| format!("{}: {error}", path.display()))?;
            found.insert(variant, module);
        }
    }
    Ok(found)
}

/// The programs of a scenario.
pub fn programs(scenario: &core::Scenario) -> Vec<Program> {
    let program = |(_, node, host): (usize, NodeId, &Host)| Program {
        node,
        // A scenario with quotes that are not in pairs was refused.
        arguments: host.arguments().unwrap_or_default(),
        start: Time::ZERO + host.start,
        environment: host.variables(),
        folder: PathBuf::from(&host.folder),
    };
    scenario.hosts().map(program).collect()
}

fn options(scenario: &core::Scenario, linux: &Linux, kernels: &Kernels, spec: &Spec) -> Result<Options, String> {
    let version = &linux.kernel();
    let (program, agent, modules) = kernels.get(version).ok_or_else(|| format!("there is no kernel {version}"))?;
    let completion = match linux.completion {
        core::sections::Completion::Sent => Completion::Sent,
        core::sections::Completion::Immediate => Completion::Immediate,
    };
    Ok(Options {
        program: program.clone(),
        agent: fs::read(agent).map_err(|error| format!("{}: {error}", agent.display()))?,
        memory: linux.memory,
        // Runs differ in their random numbers.
        modules: modules_of(scenario, modules)?,
        seed: spec.seed ^ spec.run << 32,
        sample: linux.sample,
        sysctls: linux.parameters(),
        programs: programs(scenario).into_iter().chain(daemons(scenario, spec)).collect(),
        routers: Routers::of(scenario, spec),
        settings: Settings { completion, memory_folder: memory_folder(), ..Settings::default() },
    })
}
