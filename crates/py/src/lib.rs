//! The Python binding of Hopyard's core. Python makes one call and gets tables. The interpreter is released during
//! runs. No other crate uses `PyO3`.

mod batch;
mod capture;
mod clock;
mod congestion;
mod errors;
mod gym;
mod linux;
#[cfg(target_os = "linux")]
mod live;
mod network;
mod order;
mod pool;
mod replay;
mod scenario;
mod simulation;
mod table;

/// The Python module of Hopyard's core.
#[pyo3::pymodule(gil_used = false)]
mod _core {
    use hopyard_model::observe::TABLES;
    use hopyard_model::observe::capture::Kind;
    use pyo3::exceptions::PyValueError;
    use pyo3::prelude::*;
    use pyo3::types::PyTuple;
    use statrs::distribution::{ContinuousCDF as _, StudentsT};

    #[pymodule_export]
    use crate::batch::{Batch, Run, State};
    #[pymodule_export]
    use crate::capture::Captures;
    #[pymodule_export]
    use crate::congestion::{Ack, Arrival, Before, ControllerState, Duplicate, Loss, RateSample, Route, Sent, Timeout};
    #[pymodule_export]
    use crate::gym::Episodes;
    #[pymodule_export]
    use crate::linux::try_kernel;
    #[cfg(target_os = "linux")]
    #[pymodule_export]
    use crate::live::Live;
    #[pymodule_export]
    use crate::scenario::{Scenario, key_parts, line_of, parse_set};
    #[pymodule_export]
    use crate::simulation::{Simulation, parse_time};
    #[pymodule_export]
    use crate::table::Table;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))?;
        module.add("BUILD", env!("HOPYARD_BUILD"))?;
        module.add("KINDS", hopyard_scenario::KINDS)?;
        module.add("TABLES", PyTuple::new(module.py(), TABLES)?)?;
        module.add("CAPTURE_KINDS", Kind::ALL.iter().map(|kind| kind.name()).collect::<Vec<_>>())?;
        module.add("USUAL_CAPTURE_KINDS", Kind::USUAL.map(Kind::name))
    }

    /// All models, or the models with this name or room, with their parameters and defaults, as JSON.
    #[pyfunction]
    #[pyo3(signature = (word=None))]
    fn models(word: Option<&str>) -> PyResult<String> {
        let found = match word {
            Some(word) => hopyard_scenario::find_models(word).map_err(PyValueError::new_err)?,
            None => hopyard_scenario::models(),
        };
        serde_json::to_string(&found).map_err(|error| PyValueError::new_err(error.to_string()))
    }

    /// The tables of results with the meaning and the unit of each column, as JSON.
    #[pyfunction]
    fn result_tables() -> PyResult<String> {
        serde_json::to_string(&hopyard_model::observe::tables())
            .map_err(|error| PyValueError::new_err(error.to_string()))
    }

    /// The quantities that can be sampled over time, with their units and meanings, as JSON.
    #[pyfunction]
    fn quantities() -> PyResult<String> {
        serde_json::to_string(&hopyard_model::world::columns::quantities())
            .map_err(|error| PyValueError::new_err(error.to_string()))
    }

    /// The quantile of Student's t distribution for this probability.
    #[pyfunction]
    fn student_t_quantile(probability: f64, degrees: f64) -> PyResult<f64> {
        let distribution =
            StudentsT::new(0.0, 1.0, degrees).map_err(|error| PyValueError::new_err(error.to_string()))?;
        if probability > 0.0 && probability < 1.0 {
            Ok(distribution.inverse_cdf(probability))
        } else {
            Err(PyValueError::new_err(format!("expected a probability between 0 and 1, found {probability}")))
        }
    }

    /// The JSON schema of scenario files.
    #[pyfunction]
    fn json_schema() -> String {
        format!("{:#}", hopyard_scenario::json_schema())
    }

    /// The commented scenario template of this kind.
    #[pyfunction]
    fn new_scenario(kind: &str) -> PyResult<String> {
        hopyard_scenario::new_scenario(kind).map_err(PyValueError::new_err)
    }
}
