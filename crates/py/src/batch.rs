//! A batch: all runs of all cases of a comparison.

use std::time::Duration;

use hopyard_model::observe::{DecisionRow, DropRow, FlowRow, NodeRow, SeriesRow};
use hopyard_model::transport::congestion;
use hopyard_model::world::{Spec, Transport, World};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::errors::SimulationError;
use crate::pool::{Pool, Progress};
use crate::scenario::Scenario;
use crate::table::{Origin, Rows, Table, defect};

/// Runs of scenarios, in threads of their own.
#[pyclass(frozen, module = "hopyard._core")]
pub struct Batch {
    pool: Pool,
    /// Case and run of each of the pool's runs.
    plan: Vec<(u32, u32)>,
    origins: Vec<Origin>,
    /// The simulated time of all runs at their end, in seconds.
    #[pyo3(get)]
    duration: f64,
}

/// How far a batch is.
#[pyclass(frozen, get_all, name = "Progress", module = "hopyard._core")]
pub struct State {
    /// Runs finished.
    finished: usize,
    /// Runs that have come to an end in any way.
    ended: usize,
    /// Simulated time of all runs together, in seconds.
    simulated: f64,
}

#[pymethods]
impl Batch {
    /// Starts the runs of all cases, a case after the other, on `jobs` threads (0: one for each core).
    #[new]
    #[pyo3(signature = (cases, runs=None, jobs=0))]
    fn new(cases: Vec<PyRef<'_, Scenario>>, runs: Option<u32>, jobs: usize) -> PyResult<Self> {
        if cases.is_empty() {
            return Err(PyValueError::new_err("there is no scenario to run"));
        }
        let scenarios: Vec<_> = cases.iter().map(|case| case.inner()).collect();
        let mut plan = Vec::new();
        let mut origins = Vec::new();
        let mut duration = 0.0;
        for (number, (case, scenario)) in (0..).zip(cases.iter().zip(&scenarios)) {
            let count = runs.unwrap_or_else(|| scenario.runs());
            plan.extend((0..count).map(|run| (number, run)));
            duration += f64::from(count) * scenario.duration().seconds();
            origins.push(Origin {
                scenario: scenario.name().to_owned(),
                settings: case.settings().to_vec(),
                seed: scenario.seed(),
                config: format!("{:016x}", scenario.hash()),
            });
        }
        let numbers = plan.clone();
        let pool = Pool::start(plan.len(), jobs, move |number, watch| {
            let (case, run) = numbers[number];
            let spec = scenarios[case as usize].spec(u64::from(run));
            let run = || {
                let world = World::new(&spec).map_err(|error| error.to_string())?;
                world.run(watch).map_err(|error| error.to_string())
            };
            // A thread that Python knows takes the interpreter for an event of a rule at a fraction of the cost.
            if has_rules(&spec) { Python::attach(|py| py.detach(run)) } else { run() }
        });
        let pool = pool.map_err(|error| PyValueError::new_err(error.to_string()))?;
        Ok(Self { pool, plan, origins, duration })
    }

    /// The number of runs.
    #[getter]
    fn runs(&self) -> usize {
        self.plan.len()
    }

    /// Waits until all runs have ended, but no longer than `timeout` seconds. Other threads of Python go on meanwhile.
    fn poll(&self, py: Python<'_>, timeout: f64) -> PyResult<State> {
        let timeout = Duration::try_from_secs_f64(timeout).map_err(|error| PyValueError::new_err(error.to_string()))?;
        let Progress { finished, ended, simulated } = py.detach(|| self.pool.wait(timeout));
        if ended == self.plan.len()
            && let Some((number, message)) = self.pool.failure()
        {
            let (case, run) = self.plan[number];
            let Origin { scenario, settings, seed, .. } = &self.origins[case as usize];
            let settings: String = settings.iter().map(|(key, value)| format!(" {key}={value}")).collect();
            let text = format!("run {run} of {scenario}{settings} with seed {seed} failed: {message}");
            return Err(SimulationError::new_err(text));
        }
        Ok(State { finished, ended, simulated })
    }

    /// Ends the runs; those that are finished are kept.
    fn cancel(&self) {
        self.pool.cancel();
    }

    /// The digest of each finished run, by case and run: equal where everything that happened was equal.
    fn digests(&self) -> Vec<(u32, u32, u64)> {
        let mut digests = Vec::new();
        let visit = |number: usize, outcome: &hopyard_model::observe::Outcome| {
            let (case, run) = self.plan[number];
            digests.push((case, run, outcome.digest));
            Ok::<_, std::convert::Infallible>(())
        };
        let Ok(()) = self.pool.each_finished(visit);
        digests
    }

    /// The tables of the finished runs, in the order of cases and runs: flows, nodes, drops, series, decisions.
    fn tables(&self, py: Python<'_>) -> PyResult<Tables> {
        py.detach(|| self.gather()).map_err(defect)
    }
}

/// Flows, nodes, drops, series, decisions.
type Tables = (Table, Table, Table, Table, Table);

/// Whether a flow's window rule is written in Python.
fn has_rules(spec: &Spec) -> bool {
    spec.flows.iter().any(|flow| match &flow.transport {
        Transport::Tcp { config, .. } => matches!(config.congestion, congestion::Config::Custom(_)),
        Transport::Udp => false,
    })
}

impl Batch {
    fn gather(&self) -> Result<Tables, Box<dyn std::error::Error + Send + Sync>> {
        let (mut flows, mut nodes) = (Rows::of::<FlowRow>()?, Rows::of::<NodeRow>()?);
        let (mut drops, mut series) = (Rows::of::<DropRow>()?, Rows::of::<SeriesRow>()?);
        let mut decisions = Rows::of::<DecisionRow>()?;
        self.pool.each_finished(|number, outcome| {
            let (case, run) = self.plan[number];
            flows.extend(case, run, &outcome.flows)?;
            nodes.extend(case, run, &outcome.nodes)?;
            drops.extend(case, run, &outcome.drops)?;
            series.extend(case, run, &outcome.series)?;
            decisions.extend(case, run, &outcome.decisions)
        })?;
        let finish = |rows: Rows| rows.finish(&self.origins, env!("CARGO_PKG_VERSION"));
        Ok((finish(flows)?, finish(nodes)?, finish(drops)?, finish(series)?, finish(decisions)?))
    }
}
