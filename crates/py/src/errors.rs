//! Converts errors of the core to the Python exceptions of `hopyard.errors`.

use hopyard_scenario::{Location, Problem, Problems};
use pyo3::import_exception;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyType;

import_exception!(hopyard.errors, ScenarioError);
import_exception!(hopyard.errors, SimulationError);

/// The number of problems that an exception has as objects. Its message has the number of all.
const MOST_OBJECTS: usize = 500;

/// A scenario's problems as `hopyard.ScenarioError`.
pub fn scenario_error(py: Python<'_>, problems: &Problems) -> PyErr {
    match problems.0.iter().take(MOST_OBJECTS).map(|problem| problem_object(py, problem)).collect::<PyResult<Vec<_>>>()
    {
        Ok(list) => ScenarioError::new_err((problems.to_string(), problems.coloured(), list)),
        Err(error) => error,
    }
}

fn problem_object(py: Python<'_>, problem: &Problem) -> PyResult<Py<PyAny>> {
    static CLASS: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    let file = problem.file();
    let (line, column, text) = match problem.location() {
        Some(Location { line, column, text, .. }) => (Some(line), Some(column), Some(text)),
        None => (None, None, None),
    };
    let Problem { path, message, expected, hint, .. } = problem;
    let class = CLASS.import(py, "hopyard.errors", "Problem")?;
    Ok(class.call1((path, message, expected, hint, file, line, column, text))?.unbind())
}
