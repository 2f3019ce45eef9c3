//! A run that is made in steps.

#[cfg(target_os = "linux")]
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, TryLockError};
use std::thread;
use std::time::Duration;

use hopyard_engine::{Span, Time};
use hopyard_model::address::NodeId;
use hopyard_model::context::{Departure, DropReason};
use hopyard_model::observe::{
    DecisionRow, DetourRow, DropRow, FlowRow, HandoffRow, MobileEventRow, NodeRow, Observer, OverheadRow, PathRow,
    PositionRow, ProgramRow, QueueRow, RouteChangeRow, RouteRow, SegmentRow, SeriesRow, Totals,
};
use hopyard_model::world::{Advanced, InjectError, Watch, World};
use hopyard_scenario as core;
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyTuple};
use rustix::time::ClockId;
use serde::{Deserialize, Serialize};

use crate::batch::{Run, Tables, has_rules, node_rows, tables};
use crate::errors::SimulationError;
use crate::pool::clock;
use crate::scenario::Scenario;
use crate::table::{Rows, Table, defect};

/// How often a step looks for signals, such as Ctrl-C.
const LOOK: Duration = Duration::from_millis(50);

/// A run that goes on in steps, and whose network can be seen between them.
#[pyclass(frozen, module = "hopyard._core")]
pub struct Simulation {
    state: Mutex<State>,
    scenario: Arc<core::Scenario>,
    run: u32,
    /// Whether a congestion control is written in Python.
    has_rules: bool,
}

/// The world, until the run is finished or failed; and the time that was spent on it.
struct State {
    world: Option<Box<World<Observer>>>,
    spent: Duration,
}

#[pymethods]
impl Simulation {
    /// Builds the network of a run, at time zero.
    #[new]
    fn new(py: Python<'_>, scenario: &Scenario, run: u32) -> PyResult<Self> {
        let scenario = scenario.inner();
        if scenario.linux().is_some() {
            let message =
                "a simulation in steps cannot have flows with `stack = \"linux\"`, and no [[host]]: expected a run";
            return Err(PyValueError::new_err(message));
        }
        let began = clock(ClockId::Monotonic);
        let (world, has_rules) = py
            .detach(|| {
                let spec = scenario.spec(u64::from(run));
                World::with_probe(&spec, Observer::new(spec.observe.recorded.clone()))
                    .map(|world| (world, has_rules(&spec)))
            })
            .map_err(|error| SimulationError::new_err(error.to_string()))?;
        let state =
            Mutex::new(State { world: Some(Box::new(world)), spent: clock(ClockId::Monotonic).saturating_sub(began) });
        Ok(Self { state, scenario, run, has_rules })
    }

    /// Carries out all events up to and including a time, in nanoseconds, or to the end of the run. Returns whether
    /// more follows. Other Python threads go on meanwhile. A signal stops it between two events.
    fn advance(&self, py: Python<'_>, until: u64) -> PyResult<bool> {
        let mut state = self.state()?;
        let State { world, spent } = &mut *state;
        let it = world.as_mut().ok_or_else(over)?;
        let (began, watch, caller) = (clock(ClockId::Monotonic), Watch::default(), thread::current());
        let mut signal = Ok(());
        let done = AtomicBool::new(false);
        let advanced = py.detach(|| {
            thread::scope(|scope| {
                let step = || {
                    let mut advance = || it.advance(Time::from_nanos(until), &watch);
                    // A thread that is registered with Python acquires the interpreter much faster.
                    let advanced = if self.has_rules { Python::attach(|py| py.detach(advance)) } else { advance() };
                    // The thread itself has not ended yet when its caller wakes up.
                    done.store(true, Ordering::Release);
                    caller.unpark();
                    advanced
                };
                let worker = scope.spawn(step);
                while !done.load(Ordering::Acquire) && !worker.is_finished() {
                    thread::park_timeout(LOOK);
                    if !done.load(Ordering::Acquire) && !worker.is_finished() && signal.is_ok() {
                        signal = Python::attach(|py| py.check_signals());
                        if signal.is_err() {
                            watch.cancel();
                        }
                    }
                }
                worker.join()
            })
        });
        *spent += clock(ClockId::Monotonic).saturating_sub(began);
        let Ok(advanced) = advanced else {
            // The world may be in no order.
            *world = None;
            return Err(SimulationError::new_err(format!("run {} failed: an internal check did not hold", self.run)));
        };
        signal?;
        let failure = world.as_ref().and_then(|world| world.failure()).map(ToString::to_string);
        if let Some(failure) = failure {
            *world = None;
            return Err(SimulationError::new_err(format!("run {} failed: {failure}", self.run)));
        }
        Ok(advanced == Advanced::Reached)
    }

    /// Ends the run at the time that it has reached: what is known of it, and its tables.
    fn finish(&self, py: Python<'_>) -> PyResult<(Run, Tables)> {
        let mut state = self.state()?;
        let world = state.world.take().ok_or_else(over)?;
        let began = clock(ClockId::Monotonic);
        let (outcome, _) = py
            .detach(|| world.finish())
            .map_err(|error| SimulationError::new_err(format!("run {} failed: {error}", self.run)))?;
        let spent = (state.spent + clock(ClockId::Monotonic).saturating_sub(began)).as_secs_f64();
        let digest = format!("{:016x}", outcome.digest);
        let made = tables([(0, self.run, &outcome)]).map_err(defect)?;
        Ok((Run::done(0, self.run, digest, spent), made))
    }

    /// Lets the network go.
    fn close(&self) -> PyResult<()> {
        self.state()?.world = None;
        Ok(())
    }

    /// Whether the run can go on: it is neither finished nor closed, and has not failed.
    #[getter]
    fn is_open(&self) -> PyResult<bool> {
        Ok(self.state()?.world.is_some())
    }

    /// The simulated time, in nanoseconds.
    #[getter]
    fn now(&self) -> PyResult<u64> {
        self.look(|world| Ok(world.now().nanos()))
    }

    /// The simulated time at which the run ends, in nanoseconds.
    #[getter]
    fn end(&self) -> u64 {
        self.scenario.duration().nanos()
    }

    /// The digest of all that has happened.
    #[getter]
    fn digest(&self) -> PyResult<String> {
        self.look(|world| Ok(format!("{:016x}", world.digest())))
    }

    /// The rows of a table, as of now.
    fn table(&self, name: &str) -> PyResult<Table> {
        self.look(|world| match name {
            "flows" => rows::<FlowRow>(&world.flows()),
            "nodes" => nodes(&world.nodes()),
            "drops" => rows::<DropRow>(&world.drops()),
            "series" => rows::<SeriesRow>(world.series()),
            "decisions" => rows::<DecisionRow>(world.probe().decisions()),
            "overhead" => rows::<OverheadRow>(&world.overhead()),
            "route_changes" => rows::<RouteChangeRow>(world.probe().route_changes()),
            "paths" => rows::<PathRow>(&world.probe().paths()),
            "segments" => rows::<SegmentRow>(&world.probe().segments()),
            "handoffs" => rows::<HandoffRow>(&world.probe().handoffs(world.now())),
            "mobile_events" => rows::<MobileEventRow>(&world.probe().mobile_events(world.now())),
            "detours" => rows::<DetourRow>(&world.probe().detours()),
            // Runs in steps have no kernels, in which programs run.
            "programs" => rows::<ProgramRow>(&[]),
            "positions" => rows::<PositionRow>(&world.positions()),
            "queues" => rows::<QueueRow>(&world.queues()),
            _ => Err(PyValueError::new_err(format!("there is no table {name:?}"))),
        })
    }

    /// The ways that a node has to other nodes.
    fn routes(&self, node: u32) -> PyResult<Table> {
        self.look(|world| rows::<RouteRow>(&world.routes(known(world, node)?)))
    }

    /// The IPv4 addresses of a node's interfaces.
    fn addresses(&self, node: u32) -> PyResult<Vec<String>> {
        self.look(|world| Ok(world.addresses(known(world, node)?).iter().map(ToString::to_string).collect()))
    }

    /// The host of a node is outside from now on.
    fn attach(&self, node: u32) -> PyResult<()> {
        self.change(|world| world.attach(NodeId(node)))
    }

    /// Puts an IPv4 datagram in at a node and a time, and returns its number.
    fn inject(&self, node: u32, at: u64, datagram: &[u8]) -> PyResult<u64> {
        self.change(|world| world.inject(NodeId(node), Time::from_nanos(at), datagram)).map(|token| token.0)
    }

    /// Takes out what has left the network: time, node, address and bytes of a datagram, or time, node, number and
    /// error of a completion.
    fn egress<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyTuple>>> {
        let mut state = self.state()?;
        let world = state.world.as_mut().ok_or_else(over)?;
        let left = std::iter::from_fn(|| world.egress());
        left.map(|departure| match departure {
            Departure::Datagram { at, node, address, bytes } => {
                ("datagram", at.nanos(), node.0, address.to_string(), PyBytes::new(py, &bytes)).into_pyobject(py)
            }
            Departure::Completed { at, node, token, result } => {
                let error = result.err().map(DropReason::name);
                ("completion", at.nanos(), node.0, token.0, error).into_pyobject(py)
            }
        })
        .collect()
    }

    /// When the next event happens, in nanoseconds; nothing if none does before the end of the run.
    #[getter]
    fn next_event(&self) -> PyResult<Option<u64>> {
        self.look(|world| Ok(world.next_event().map(Time::nanos)))
    }

    /// Counters of packets from the start of the run.
    #[getter]
    fn counters<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let Totals { events, frames, originated, copied, delivered, handed_over, dropped, existing } =
            self.look(|world| Ok(world.totals()))?;
        let found = PyDict::new(py);
        let kinds = PyDict::new(py);
        for (kind, count) in originated {
            kinds.set_item(kind, count)?;
        }
        found.set_item("events", events)?;
        found.set_item("frames", frames)?;
        found.set_item("originated", kinds)?;
        for (name, count) in [
            ("copied", copied),
            ("delivered", delivered),
            ("handed_over", handed_over),
            ("dropped", dropped),
            ("existing", existing),
        ] {
            found.set_item(name, count)?;
        }
        Ok(found)
    }
}

impl Simulation {
    /// Lets work go on with the world in this thread. Other Python threads go on meanwhile.
    #[cfg(target_os = "linux")]
    pub fn work<T: Send>(&self, py: Python<'_>, work: impl FnOnce(&mut World<Observer>) -> T + Send) -> PyResult<T> {
        let mut state = self.state()?;
        let State { world, spent } = &mut *state;
        let it = world.as_mut().ok_or_else(over)?;
        let began = clock(ClockId::Monotonic);
        let done = py.detach(|| catch_unwind(AssertUnwindSafe(|| work(it))));
        *spent += clock(ClockId::Monotonic).saturating_sub(began);
        done.map_err(|_| {
            // The world may be in no order.
            *world = None;
            SimulationError::new_err(format!("run {} failed: an internal check did not hold", self.run))
        })
    }

    fn state(&self) -> PyResult<MutexGuard<'_, State>> {
        match self.state.try_lock() {
            Ok(state) => Ok(state),
            // A table could not be made; the world was only read.
            Err(TryLockError::Poisoned(poisoned)) => Ok(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => {
                Err(PyRuntimeError::new_err("the simulation is used by another thread: expected one at a time"))
            }
        }
    }

    fn change<T>(&self, change: impl FnOnce(&mut World<Observer>) -> Result<T, InjectError>) -> PyResult<T> {
        change(self.state()?.world.as_mut().ok_or_else(over)?).map_err(|error| PyValueError::new_err(error.to_string()))
    }

    fn look<T>(&self, look: impl FnOnce(&World<Observer>) -> PyResult<T>) -> PyResult<T> {
        look(self.state()?.world.as_ref().ok_or_else(over)?)
    }
}

/// A time or a duration, in nanoseconds.
#[pyfunction]
pub fn parse_time(text: &str) -> PyResult<u64> {
    text.parse::<Span>().map(Span::nanos).map_err(|error| PyValueError::new_err(error.to_string()))
}

fn over() -> PyErr {
    PyValueError::new_err("the simulation is over: it was finished or closed, or it failed")
}

fn known(world: &World<Observer>, node: u32) -> PyResult<NodeId> {
    let nodes = world.node_count();
    if (node as usize) < nodes {
        return Ok(NodeId(node));
    }
    Err(PyValueError::new_err(format!("expected a node from 0 to {}, found {node}", nodes - 1)))
}

/// The table of nodes, with the columns of single models.
fn nodes(rows: &[NodeRow]) -> PyResult<Table> {
    let mut table = node_rows().map_err(defect)?;
    table.extend(0, 0, rows).map_err(defect)?;
    rows.iter().for_each(|row| table.extend_columns(&row.own));
    table.alone().map_err(defect)
}

fn rows<R: Serialize + Deserialize<'static>>(rows: &[R]) -> PyResult<Table> {
    let mut table = Rows::of::<R>().map_err(defect)?;
    table.extend(0, 0, rows).map_err(defect)?;
    table.alone().map_err(defect)
}
