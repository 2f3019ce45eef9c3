//! A batch: the runs of all cases of a comparison.

use std::time::Duration;

use hopyard_model::observe::{self, Outcome, TableVisitor, visit_tables};
use hopyard_model::transport::congestion;
use hopyard_model::world::{Spec, Transport};
use hopyard_scenario as core;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{IntoPyDict, PyDict};

use crate::capture::{self, Captures};
use crate::linux::{self, Kernels};
use crate::order::Order;
use crate::pool::{Ended, Pool, Progress};
use crate::scenario::Scenario;
use crate::table::{Rows, Table, defect};

/// Runs of scenarios, in separate threads.
#[pyclass(frozen, module = "hopyard._core")]
pub struct Batch {
    pool: Pool,
    /// The case and the run number of each run of the pool.
    plan: Vec<(u32, u32)>,
    /// The simulated time of all runs at their end, in seconds.
    #[pyo3(get)]
    duration: f64,
}

/// The progress of a batch.
#[pyclass(frozen, get_all, name = "Progress", module = "hopyard._core")]
pub struct State {
    /// The number of finished runs.
    finished: usize,
    /// The number of failed runs.
    failed: usize,
    /// Whether no run is in progress and none will start.
    over: bool,
    /// The sum of the simulated times of all runs, in seconds.
    simulated: f64,
}

/// A run that has ended.
#[pyclass(frozen, get_all, module = "hopyard._core")]
pub struct Run {
    /// The number of its case.
    case: u32,
    /// The number of the run.
    run: u32,
    /// The digest of the run; `None` if the run failed.
    digest: Option<String>,
    /// Why the run failed; `None` if it is finished.
    error: Option<String>,
    /// Why the run's capture is not complete; `None` if it is, or none was wanted.
    capture_error: Option<String>,
    /// The elapsed time of the run, in seconds.
    wall_s: f64,
    /// The processor time of the run and of its kernels, in seconds.
    cpu_s: f64,
}

#[pymethods]
impl Batch {
    /// Starts the runs of all cases, the longest first as far as is known. `jobs` is the number of threads (0: one for
    /// each core); there are never more threads than runs. `runs` has the run numbers of each case, `captures` a file
    /// for each; `kernels` has the program and the agent of each version of Linux that the cases name.
    #[new]
    #[pyo3(signature = (cases, runs, jobs=0, captures=None, kernels=None))]
    fn new(
        cases: Vec<PyRef<'_, Scenario>>,
        runs: Vec<Vec<u32>>,
        jobs: usize,
        captures: Option<PyRef<'_, Captures>>,
        kernels: Option<Kernels>,
    ) -> PyResult<Self> {
        if cases.len() != runs.len() {
            let (cases, runs) = (cases.len(), runs.len());
            return Err(PyValueError::new_err(format!("expected runs of {cases} cases, found those of {runs}")));
        }
        let captures = captures.map(|captures| Captures::clone(&captures));
        if let Some(captures) = &captures
            && !captures.paths.iter().map(Vec::len).eq(runs.iter().map(Vec::len))
        {
            return Err(PyValueError::new_err("expected a capture for each run of each case"));
        }
        let about = |case: &Scenario| {
            let settings = case.settings().iter().map(|(key, value)| format!(", {key}={value}")).collect::<String>();
            format!("scenario {}{settings}", case.inner().name())
        };
        let about: Vec<String> = cases.iter().map(|case| about(case)).collect();
        let files: Vec<_> = captures.iter().flat_map(|captures| captures.paths.iter().flatten().cloned()).collect();
        let scenarios: Vec<_> = cases.iter().map(|case| case.inner()).collect();
        let mut plan = Vec::new();
        let mut duration = 0.0;
        let mut lengths = Vec::with_capacity(scenarios.len());
        for (number, (scenario, runs)) in (0..).zip(scenarios.iter().zip(runs)) {
            // The number of runs of a case fits into 32 bits.
            duration += f64::from(u32::try_from(runs.len()).unwrap_or(u32::MAX)) * scenario.duration().seconds();
            lengths.push((length(scenario), runs.len()));
            plan.extend(runs.into_iter().map(|run| (number, run)));
        }
        let numbers = plan.clone();
        let kernels = kernels.unwrap_or_default();
        let pool = Pool::start(Order::new(lengths), jobs, move |number, watch, others| {
            let (case, run) = numbers[number];
            let scenario = &scenarios[case as usize];
            let file = captures.as_ref().map(|captures| {
                let (hash, seed) = (scenario.hash(), scenario.seed());
                let about = &about[case as usize];
                let comment = format!("{about}, configuration {hash:016x}, seed {seed}, run {run}");
                (files[number].clone(), captures.options(vec![comment]))
            });
            let spec = scenario.spec(u64::from(run));
            let run = || match scenario.linux() {
                Some(linux) => linux::run(scenario, linux, &kernels, u64::from(run), (watch, others), file),
                None => capture::run(&spec, watch, file),
            };
            // A thread that is registered with Python acquires the interpreter much faster at each event of a Python
            // class.
            if has_rules(&spec) {
                watch.look_after_each_event();
                Python::attach(|py| py.detach(run))
            } else {
                run()
            }
        });
        Ok(Self { pool, plan, duration })
    }

    /// The number of runs.
    #[getter]
    fn runs(&self) -> usize {
        self.plan.len()
    }

    /// Waits until all runs have ended, until many ended runs wait to be collected, or for `timeout` seconds. Other
    /// Python threads continue meanwhile.
    fn poll(&self, py: Python<'_>, timeout: f64) -> PyResult<State> {
        let timeout = Duration::try_from_secs_f64(timeout).map_err(|error| PyValueError::new_err(error.to_string()))?;
        let Progress { finished, failed, over, simulated } = py.detach(|| self.pool.wait(timeout));
        Ok(State { finished, failed, over, simulated })
    }

    /// Stops the runs in progress and starts no more. Finished runs are kept.
    fn cancel(&self) {
        self.pool.cancel();
    }

    /// The runs that have ended since the last call, in the order of cases and runs, and the rows of the finished ones:
    /// each table by its name. The batch does not keep them.
    fn take<'py>(&self, py: Python<'py>) -> PyResult<(Vec<Run>, Bound<'py, PyDict>)> {
        let taken = py.detach(|| {
            let ended = self.pool.take();
            let tables = self.gather(&ended)?;
            Ok((ended.into_iter().map(|run| self.record(run)).collect(), tables))
        });
        let (runs, tables) = taken.map_err(|error: Defect| defect(error))?;
        Ok((runs, tables.into_py_dict(py)?))
    }
}

/// All tables by their names, in order.
pub type Tables = Vec<(&'static str, Table)>;
/// A table could not be made.
pub type Defect = Box<dyn std::error::Error + Send + Sync>;

/// The length of a run in comparison with the runs of other scenarios, roughly: with each node there are more frames at
/// a time.
fn length(scenario: &core::Scenario) -> f64 {
    scenario.duration().seconds() * f64::from(scenario.nodes())
}

/// Whether a flow's congestion control is written in Python.
pub fn has_rules(spec: &Spec) -> bool {
    spec.flows.iter().any(|flow| match &flow.transport {
        Transport::Tcp { config, .. } => matches!(config.congestion, congestion::Config::External(_)),
        Transport::Udp => false,
    })
}

/// The tables of runs: the case, the number and the outcome of each.
pub fn tables<'a>(runs: impl IntoIterator<Item = (u32, u32, &'a Outcome)>) -> Result<Tables, Defect> {
    struct Made<'a> {
        runs: Vec<(u32, u32, &'a Outcome)>,
        tables: Tables,
    }
    impl TableVisitor for Made<'_> {
        type Error = Defect;

        fn table<T: observe::Rows>(&mut self, name: &'static str, rows: fn(&Outcome) -> &T) -> Result<(), Defect> {
            let mut table = Rows::of_results::<T::Row>()?;
            for &(case, run, outcome) in &self.runs {
                for part in rows(outcome).parts() {
                    table.extend_results(case, run, &part)?;
                }
            }
            self.tables.push((name, table.finish()?));
            Ok(())
        }
    }
    let mut made = Made { runs: runs.into_iter().collect(), tables: Vec::new() };
    visit_tables(&mut made)?;
    Ok(made.tables)
}

impl Run {
    /// A run that has ended well in the calling thread.
    pub const fn done(case: u32, run: u32, digest: String, seconds: f64) -> Self {
        Self { case, run, digest: Some(digest), error: None, capture_error: None, wall_s: seconds, cpu_s: seconds }
    }
}

impl Batch {
    fn gather(&self, ended: &[Ended]) -> Result<Tables, Defect> {
        tables(ended.iter().filter_map(|ended| {
            let (case, run) = self.plan[ended.number];
            Some((case, run, &**ended.outcome.as_ref().ok()?))
        }))
    }

    fn record(&self, ended: Ended) -> Run {
        let (case, run) = self.plan[ended.number];
        let capture_error = ended.capture_error;
        let (digest, error) = match ended.outcome {
            Ok(outcome) => (Some(format!("{:016x}", outcome.digest)), None),
            Err(error) => (None, Some(error)),
        };
        let (wall_s, cpu_s) = (ended.wall.as_secs_f64(), ended.cpu.as_secs_f64());
        Run { case, run, digest, error, capture_error, wall_s, cpu_s }
    }
}
