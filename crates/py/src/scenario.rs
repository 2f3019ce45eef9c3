//! Scenarios in Python.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use hopyard_coupling::{Program, ProgramError, daemon_fault};
use hopyard_engine::Streams;
use hopyard_model::transport::tcp::TcpSender;
use hopyard_model::world::{FlowSpec, NodeSpec, Transport};
use hopyard_scenario as core;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::capture::kinds_of;
use crate::congestion::PythonControllers;
use crate::errors::scenario_error;

/// A key with one value, or with several values to compare.
type Setting<T> = (String, T);

/// A complete and valid scenario. It is immutable.
#[pyclass(frozen, module = "hopyard._core")]
pub struct Scenario {
    inner: Arc<core::Scenario>,
    /// The keys that are compared, and this case's values.
    settings: Vec<Setting<String>>,
}

impl Scenario {
    /// The scenario itself.
    pub fn inner(&self) -> Arc<core::Scenario> {
        Arc::clone(&self.inner)
    }

    /// The keys that are compared, and this case's values.
    pub fn settings(&self) -> &[Setting<String>] {
        &self.settings
    }

    fn new(inner: core::Scenario, settings: Vec<Setting<String>>) -> Self {
        Self { inner: Arc::new(inner), settings }
    }

    fn cases<F>(py: Python<'_>, read: F) -> PyResult<Vec<Self>>
    where
        F: FnOnce() -> Result<Vec<core::Case>, core::Problems> + Send,
    {
        match py.detach(read) {
            Ok(cases) => Ok(cases.into_iter().map(|case| Self::new(case.scenario, case.settings)).collect()),
            Err(problems) => Err(scenario_error(py, &problems)),
        }
    }

    /// Calls the core with the interpreter released; the files that it names may be large.
    fn read<F>(py: Python<'_>, read: F) -> PyResult<Self>
    where
        F: FnOnce() -> Result<core::Scenario, core::Problems> + Send,
    {
        match py.detach(read) {
            Ok(scenario) => Ok(Self::new(scenario, Vec::new())),
            Err(problems) => Err(scenario_error(py, &problems)),
        }
    }
}

/// Keys that go together, each with its values.
type Together = Vec<Setting<Vec<String>>>;

fn read_axes(axes: &[Together]) -> Result<Vec<core::Axis>, core::Problems> {
    let axis = |keys: &Together| {
        let [(key, values), others @ ..] = keys.as_slice() else { return Ok(None) };
        let first = core::Axis::new(key, values)?;
        others.iter().try_fold(first, |axis, (key, values)| axis.with(key, values)).map(Some)
    };
    axes.iter().filter_map(|keys| axis(keys).transpose()).collect()
}

/// The names that a scenario in this folder may use: files there, and classes of Python's.
fn around(folder: &Path) -> core::Surroundings {
    core::Surroundings::new(folder, Arc::new(PythonControllers))
}

#[pymethods]
impl Scenario {
    /// Reads a scenario from text. `name` is the name of its file; `base` is the folder of the files that it names.
    #[staticmethod]
    fn parse(py: Python<'_>, text: &str, name: &str, base: PathBuf) -> PyResult<Self> {
        Self::read(py, || core::Scenario::load(text, name, around(&base), &[]))
    }

    /// Makes a scenario from a JSON object of its keys.
    #[staticmethod]
    fn from_json(py: Python<'_>, text: &str, base: PathBuf) -> PyResult<Self> {
        let value = serde_json::from_str(text).map_err(|error| PyValueError::new_err(error.to_string()))?;
        Self::read(py, || core::Scenario::from_value(&value, around(&base)))
    }

    /// The scenario with other values of some keys, given as TOML or as bare words.
    #[pyo3(name = "with_settings")]
    fn with(&self, py: Python<'_>, settings: Vec<Setting<String>>) -> PyResult<Self> {
        Self::read(py, || self.inner.with(&settings))
    }

    /// The scenario under every combination of the values of keys.
    fn expand(&self, py: Python<'_>, axes: Vec<Together>) -> PyResult<Vec<Self>> {
        Self::cases(py, || self.inner.expand(&read_axes(&axes)?))
    }

    /// Reads a scenario from text under every combination of the values of keys; `given` are settings of all cases.
    #[staticmethod]
    fn parse_cases(
        py: Python<'_>,
        text: &str,
        name: &str,
        base: PathBuf,
        given: Vec<Setting<String>>,
        axes: Vec<Together>,
    ) -> PyResult<Vec<Self>> {
        Self::cases(py, || core::Scenario::load_cases(text, name, around(&base), &given, &read_axes(&axes)?))
    }

    /// The hash of everything that influences the results.
    #[getter]
    pub fn hash(&self) -> String {
        format!("{:016x}", self.inner.hash())
    }

    /// Warnings: values that are valid but probably not intended. Each has the form of a compiler message.
    #[getter]
    fn warnings(&self) -> Vec<String> {
        self.inner.warnings().iter().map(core::Problem::as_warning).collect()
    }

    /// The given keys and tables that do nothing here, each with its text among `warnings`; without one if the key has
    /// its default.
    #[getter]
    fn unused(&self) -> Vec<(String, Option<String>)> {
        let unused = self.inner.warnings().iter().filter(|problem| problem.unused);
        let warned = unused.map(|problem| (problem.path.clone(), Some(problem.as_warning())));
        warned.chain(self.inner.idle().iter().map(|key| (key.clone(), None))).collect()
    }

    /// The files that the scenario names: name, hash and content.
    fn files<'py>(&self, py: Python<'py>) -> Vec<(String, String, Bound<'py, PyBytes>)> {
        let named = |file: core::NamedFile| (file.path, format!("{:016x}", file.hash), PyBytes::new(py, &file.bytes));
        self.inner.files().into_iter().map(named).collect()
    }

    /// The version of Linux that flows of this scenario have; nothing if no flow is one of Linux.
    #[getter]
    fn linux(&self) -> Option<String> {
        self.inner.linux().map(core::sections::Linux::kernel)
    }

    /// The option of the kernel that nodes need which are kernels; nothing if no node is one.
    fn kernel_option(&self) -> Option<&'static str> {
        self.inner.kernel_option()
    }

    /// Raises `ScenarioError` if programs in simulated time cannot run on this machine. The place of the first one with
    /// an error stands for all that have the same error.
    fn check_programs(&self, py: Python<'_>) -> PyResult<()> {
        let programs = crate::linux::programs(&self.inner);
        let places = self.inner.hosts().map(|it| it.0);
        let fault = |(place, program): (usize, &Program)| {
            let error = program.find().err()?;
            let key = if matches!(error, ProgramError::Folder(_)) { "folder" } else { "run" };
            Some((format!("host.{place}.{key}"), error.to_string()))
        };
        // Of each error the first place, and how many programs have it.
        let mut found: Vec<((String, String), u32)> = Vec::new();
        for (place, error) in places.zip(&programs).filter_map(fault) {
            match found.iter_mut().find(|((_, before), _)| *before == error) {
                Some((_, count)) => *count += 1,
                None => found.push(((place, error), 1)),
            }
        }
        let told = found.into_iter().map(|((place, error), count)| match count {
            1 => (place, error),
            _ => (place, format!("{error} ({count} programs)")),
        });
        let of_routing = daemon_fault(&self.inner).map(|error| ("linux.routing".to_owned(), error));
        let told = told.chain(of_routing);
        self.inner.problems_at(told).map_or(Ok(()), |problems| Err(scenario_error(py, &problems)))
    }

    /// The parameters of the kernels, as they stand in the scenario.
    fn sysctls(&self) -> Vec<String> {
        self.inner.linux().map(|linux| linux.sysctls.clone()).unwrap_or_default()
    }

    /// Raises `ScenarioError` if this kernel does not take a parameter of the scenario.
    fn try_sysctls(&self, py: Python<'_>, program: PathBuf, agent: PathBuf) -> PyResult<()> {
        let refused = py.detach(|| crate::linux::refused(&self.inner, program, &agent));
        let found = refused.map(|text| ("linux.sysctls".to_owned(), text));
        self.inner.problems_at(found).map_or(Ok(()), |problems| Err(scenario_error(py, &problems)))
    }

    /// How many kernels a run has.
    fn kernels(&self) -> usize {
        self.inner.kernels()
    }

    /// How many network devices these kernels have together, or more.
    fn kernel_devices(&self) -> usize {
        self.inner.kernel_devices()
    }

    /// How many of these kernels have programs.
    fn kernels_with_programs(&self) -> usize {
        self.inner.kernels_with_programs()
    }

    /// The most memory that the kernels of a run can take, in bytes: all that each has.
    fn kernel_memory(&self) -> u64 {
        let Some(linux) = self.inner.linux() else { return 0 };
        let with_programs = self.inner.kernels_with_programs();
        let of = |kernels: usize, memory: u32| (kernels as u64 * u64::from(memory)) << 20;
        let more = linux.memory.max(hopyard_coupling::LEAST_WITH_PROGRAMS);
        of(self.inner.kernels() - with_programs, linux.memory) + of(with_programs, more)
    }

    /// The TCP variants of the flows, if Linux has all of them too.
    fn twins(&self) -> Vec<&'static str> {
        self.inner.twins().into_iter().collect()
    }

    /// The names of the TCP variants of the flows of Linux.
    fn linux_variants(&self) -> Vec<String> {
        self.inner.linux_variants()
    }

    /// The types of messages that its routing protocols and its agents send.
    fn messages(&self) -> BTreeSet<&'static str> {
        let nodes = self.inner.spec(0).nodes;
        let of = |node: NodeSpec| {
            let agents = node.agents.iter().flat_map(|agent| agent.messages());
            node.routing.messages().iter().chain(agents).copied().collect::<Vec<_>>()
        };
        nodes.into_iter().flat_map(of).collect()
    }

    /// For each flow, the name that results give to its transport, and whether its sender classifies losses. Flows of
    /// Linux are not among them.
    fn transports(&self) -> Vec<(String, bool)> {
        let of = |transport: Transport| match transport {
            Transport::Udp => ("udp".to_owned(), false),
            Transport::Tcp { config, .. } => {
                let sender = TcpSender::new(&config, Streams::new(0, 0).stream("tcp"));
                (config.congestion.name().to_owned(), sender.classifies())
            }
        };
        self.inner.spec(0).flows.into_iter().map(|flow| of(flow.transport)).collect()
    }

    /// For each flow of results, the flow that it answers; nothing for the flows of the scenario, which come first.
    fn answered(&self) -> Vec<Option<u32>> {
        let flows = self.inner.spec(0).flows;
        let answers = (0..).zip(&flows).filter(|(_, flow)| flow.traffic.is_answered()).map(|(number, _)| Some(number));
        flows.iter().map(|_| None).chain(answers).collect()
    }

    /// The labels of the flows of results.
    fn labels(&self) -> BTreeSet<String> {
        let of = |flow: FlowSpec| {
            let answers = flow.traffic.is_answered().then(|| flow.label_of_answers());
            answers.into_iter().chain([flow.label])
        };
        self.inner.spec(0).flows.into_iter().flat_map(of).filter(|label| !label.is_empty()).collect()
    }

    /// The name of the scenario.
    #[getter]
    fn name(&self) -> &str {
        self.inner.name()
    }

    /// The seed of all random streams.
    #[getter]
    fn seed(&self) -> u64 {
        self.inner.seed()
    }

    /// The memory that a run takes at the least, in bytes.
    #[getter]
    fn memory(&self) -> u64 {
        self.inner.memory()
    }

    /// The number of nodes, with or without a radio.
    #[getter]
    fn nodes(&self) -> u32 {
        self.inner.nodes()
    }

    /// The most bytes that a capture of a run at these nodes, or at all nodes, may have. The bound assumes that every
    /// radio decodes short frames and every wire is full of short packets, all the time.
    #[pyo3(signature = (nodes=None, kinds=None))]
    fn capture_bytes(&self, py: Python<'_>, nodes: Option<Vec<u32>>, kinds: Option<Vec<String>>) -> PyResult<u64> {
        let kinds = kinds_of(kinds)?;
        Ok(py.detach(|| self.inner.capture_bytes(nodes.as_deref(), &kinds)))
    }

    /// The number of runs of the scenario.
    #[getter]
    fn runs(&self) -> u32 {
        self.inner.runs()
    }

    /// The keys that are compared, and this case's values.
    #[getter(settings)]
    fn compared(&self) -> Vec<Setting<String>> {
        self.settings.clone()
    }

    /// The keys as a JSON object, with or without the keys that have their defaults.
    fn to_json(&self, defaults: bool) -> String {
        self.inner.to_value(defaults).to_string()
    }

    /// The keys as a scenario file, with or without the keys that have their defaults.
    fn to_toml(&self, defaults: bool) -> String {
        self.inner.to_toml(defaults)
    }
}

/// The parts of a dotted key. A part that contains other characters than letters, digits, _ and - is quoted, as in
/// TOML.
#[pyfunction]
pub fn key_parts(key: &str) -> PyResult<Vec<String>> {
    core::key_parts(key).map_err(|error| {
        PyValueError::new_err(format!(
            "expected a dotted key such as 'mac.dcf.rate', found {key:?}: {error}; a part with other characters \
             than letters, digits, _ and - stands in quotes"
        ))
    })
}

/// The line of a key in a TOML text, from 1 on, or the line of the nearest table above it.
#[pyfunction]
pub fn line_of(text: &str, path: Vec<String>) -> Option<usize> {
    core::line_of(text, &path)
}

/// Splits `KEY=V1,V2`.
#[pyfunction]
pub fn parse_set(py: Python<'_>, text: &str) -> PyResult<Setting<Vec<String>>> {
    core::parse_set(text).map_err(|problems| scenario_error(py, &problems))
}
