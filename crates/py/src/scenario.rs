//! Scenarios as Python sees them.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use hopyard_scenario as core;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::errors::scenario_error;
use crate::rule::PythonRules;

/// A key with a value, or with several that are compared.
type Setting<T> = (String, T);

/// A scenario that is complete and possible; it does not change.
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

    /// Calls the core with the interpreter released; movement files may be large.
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

/// What a scenario in this folder may name: files there, and classes of Python's.
fn around(folder: &Path) -> core::Surroundings {
    core::Surroundings::new(folder, Arc::new(PythonRules))
}

#[pymethods]
impl Scenario {
    /// Reads a scenario from text; `name` is the file's, `base` the folder of the files that it names.
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

    /// The scenario with other values of some keys, as TOML or bare words.
    #[pyo3(name = "with_settings")]
    fn with(&self, py: Python<'_>, settings: Vec<Setting<String>>) -> PyResult<Self> {
        Self::read(py, || self.inner.with(&settings))
    }

    /// The scenario under every combination of the values of keys.
    fn expand(&self, py: Python<'_>, settings: Vec<Setting<Vec<String>>>) -> PyResult<Vec<Self>> {
        match py.detach(|| self.inner.expand(&settings)) {
            Ok(cases) => Ok(cases.into_iter().map(|case| Self::new(case.scenario, case.settings)).collect()),
            Err(problems) => Err(scenario_error(py, &problems)),
        }
    }

    /// The hash of what the scenario means.
    #[getter]
    pub fn hash(&self) -> String {
        format!("{:016x}", self.inner.hash())
    }

    /// What is possible, but may not be meant; each as a compiler would show it.
    #[getter]
    fn warnings(&self) -> Vec<String> {
        self.inner.warnings().iter().map(core::Problem::as_warning).collect()
    }

    /// The movement files that the scenario names: the name, the hash and what the file holds.
    fn files<'py>(&self, py: Python<'py>) -> Vec<(String, String, Bound<'py, PyBytes>)> {
        let named = |file: core::NamedFile| (file.path, format!("{:016x}", file.hash), PyBytes::new(py, &file.bytes));
        self.inner.files().into_iter().map(named).collect()
    }

    /// What results are called after.
    #[getter]
    fn name(&self) -> &str {
        self.inner.name()
    }

    /// The seed of all random streams.
    #[getter]
    fn seed(&self) -> u64 {
        self.inner.seed()
    }

    /// How many runs the scenario asks for.
    #[getter]
    fn runs(&self) -> u32 {
        self.inner.runs()
    }

    /// The keys that are compared, and this case's values.
    #[getter(settings)]
    fn compared(&self) -> Vec<Setting<String>> {
        self.settings.clone()
    }

    /// The keys as a JSON object, with those that have their defaults or without.
    fn to_json(&self, defaults: bool) -> String {
        self.inner.to_value(defaults).to_string()
    }

    /// The keys as a scenario file, with those that have their defaults or without.
    fn to_toml(&self, defaults: bool) -> String {
        self.inner.to_toml(defaults)
    }
}

/// Takes `KEY=V1,V2` apart.
#[pyfunction]
pub fn parse_set(py: Python<'_>, text: &str) -> PyResult<Setting<Vec<String>>> {
    core::parse_set(text).map_err(|problems| scenario_error(py, &problems))
}
