//! A batch: runs of the cases of a comparison.

use std::time::Duration;

use hopyard_model::observe::{DecisionRow, DropRow, FlowRow, NodeRow, SeriesRow};
use hopyard_model::transport::congestion;
use hopyard_model::world::{Spec, Transport, World};
use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;

use crate::pool::{Ended, Pool, Progress};
use crate::scenario::Scenario;
use crate::table::{Rows, Table, defect};

/// Runs of scenarios, in threads of their own.
#[pyclass(frozen, module = "hopyard._core")]
pub struct Batch {
    pool: Pool,
    /// Case and run of each of the pool's runs.
    plan: Vec<(u32, u32)>,
    /// The simulated time of all runs at their end, in seconds.
    #[pyo3(get)]
    duration: f64,
}

/// How far a batch is.
#[pyclass(frozen, get_all, name = "Progress", module = "hopyard._core")]
pub struct State {
    /// Runs finished.
    finished: usize,
    /// Runs that could not be made or go on.
    failed: usize,
    /// Whether no run is under way and none will start.
    over: bool,
    /// Simulated time of all runs together, in seconds.
    simulated: f64,
}

/// A run that has ended.
#[pyclass(frozen, get_all, module = "hopyard._core")]
pub struct Run {
    /// The number of its case.
    case: u32,
    /// Its own number.
    run: u32,
    /// The digest of everything that happened: equal where everything was equal. Nothing for a run that failed.
    digest: Option<String>,
    /// Why it could not be made or go on; nothing for a run that is finished.
    error: Option<String>,
    /// How long it took, in seconds.
    wall_s: f64,
    /// How long its thread computed, in seconds.
    cpu_s: f64,
}

#[pymethods]
impl Batch {
    /// Starts the runs of all cases, a case after the other, on `jobs` threads (0: one for each core), but on no more than there
    /// are runs. `runs` has the numbers of the runs of each case.
    #[new]
    #[pyo3(signature = (cases, runs, jobs=0))]
    fn new(cases: Vec<PyRef<'_, Scenario>>, runs: Vec<Vec<u32>>, jobs: usize) -> PyResult<Self> {
        if cases.len() != runs.len() {
            let (cases, runs) = (cases.len(), runs.len());
            return Err(PyValueError::new_err(format!("expected runs of {cases} cases, found those of {runs}")));
        }
        let scenarios: Vec<_> = cases.iter().map(|case| case.inner()).collect();
        let mut plan = Vec::new();
        let mut duration = 0.0;
        for (number, (scenario, runs)) in (0..).zip(scenarios.iter().zip(runs)) {
            // No case has more runs than fit into 32 bits.
            duration += f64::from(u32::try_from(runs.len()).unwrap_or(u32::MAX)) * scenario.duration().seconds();
            plan.extend(runs.into_iter().map(|run| (number, run)));
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
        let pool = pool.map_err(|error| PyOSError::new_err(format!("no thread can be made: {error}")))?;
        Ok(Self { pool, plan, duration })
    }

    /// The number of runs.
    #[getter]
    fn runs(&self) -> usize {
        self.plan.len()
    }

    /// Waits until all runs have ended or many wait to be taken, but no longer than `timeout` seconds. Other threads of Python go
    /// on meanwhile.
    fn poll(&self, py: Python<'_>, timeout: f64) -> PyResult<State> {
        let timeout = Duration::try_from_secs_f64(timeout).map_err(|error| PyValueError::new_err(error.to_string()))?;
        let Progress { finished, failed, over, simulated } = py.detach(|| self.pool.wait(timeout));
        Ok(State { finished, failed, over, simulated })
    }

    /// Ends the runs that are under way and starts no more; those that are finished are kept.
    fn cancel(&self) {
        self.pool.cancel();
    }

    /// The runs that have ended since the last call, in the order of cases and runs, and the rows of those that are finished:
    /// flows, nodes, drops, series, decisions. They are not kept here.
    fn take(&self, py: Python<'_>) -> PyResult<(Vec<Run>, Tables)> {
        py.detach(|| {
            let ended = self.pool.take();
            let tables = self.gather(&ended)?;
            Ok((ended.into_iter().map(|run| self.record(run)).collect(), tables))
        })
        .map_err(|error: Defect| defect(error))
    }
}

/// Flows, nodes, drops, series, decisions.
type Tables = (Table, Table, Table, Table, Table);
type Defect = Box<dyn std::error::Error + Send + Sync>;

/// Whether a flow's window rule is written in Python.
fn has_rules(spec: &Spec) -> bool {
    spec.flows.iter().any(|flow| match &flow.transport {
        Transport::Tcp { config, .. } => matches!(config.congestion, congestion::Config::Custom(_)),
        Transport::Udp => false,
    })
}

impl Batch {
    fn gather(&self, ended: &[Ended]) -> Result<Tables, Defect> {
        let (mut flows, mut nodes) = (Rows::of::<FlowRow>()?, Rows::of::<NodeRow>()?);
        let (mut drops, mut series) = (Rows::of::<DropRow>()?, Rows::of::<SeriesRow>()?);
        let mut decisions = Rows::of::<DecisionRow>()?;
        for run in ended {
            let Ok(outcome) = &run.outcome else { continue };
            let (case, run) = self.plan[run.number];
            flows.extend(case, run, &outcome.flows)?;
            nodes.extend(case, run, &outcome.nodes)?;
            drops.extend(case, run, &outcome.drops)?;
            series.extend(case, run, &outcome.series)?;
            decisions.extend(case, run, &outcome.decisions)?;
        }
        Ok((flows.finish()?, nodes.finish()?, drops.finish()?, series.finish()?, decisions.finish()?))
    }

    fn record(&self, ended: Ended) -> Run {
        let (case, run) = self.plan[ended.number];
        let (digest, error) = match ended.outcome {
            Ok(outcome) => (Some(format!("{:016x}", outcome.digest)), None),
            Err(error) => (None, Some(error)),
        };
        Run { case, run, digest, error, wall_s: ended.wall.as_secs_f64(), cpu_s: ended.cpu.as_secs_f64() }
    }
}
