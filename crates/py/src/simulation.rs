//! A run that is made in steps.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, TryLockError};
use std::thread;
use std::time::Duration;

use hopyard_coupling::Meters;
use hopyard_engine::{Span, Time};
use hopyard_model::address::NodeId;
use hopyard_model::context::{Departure, DropReason};
use hopyard_model::observe::replay::{Lengths, Origin};
use hopyard_model::observe::{self, Outcome, PositionRow, QueueRow, RouteRow, TableVisitor, Totals, visit_tables};
use hopyard_model::world::{Advanced, InjectError, Watch, World};
use hopyard_scenario as core;
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{IntoPyDict, PyBytes, PyDict, PyTuple};
use serde::{Deserialize, Serialize};

use crate::batch::{Defect, Run, has_rules, tables};
use crate::clock::Began;
use crate::errors::SimulationError;
use crate::linux::{self, Kernels};
use crate::network::{Network, Watching};
use crate::replay::{self, Recording};
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

/// The network, until the run is finished or failed; and the time that was spent on it.
struct State {
    network: Option<Network>,
    spent: Duration,
    /// What is sampled for a recording, if there is one, until the run is finished.
    lengths: Option<Lengths>,
    /// The recording of a finished run, until it is taken.
    recording: Option<Recording>,
}

#[pymethods]
impl Simulation {
    /// Builds the network of a run, at time zero. `kernels` has the program, the agent and the modules of each version
    /// of Linux that the scenario names. Without it, the scenario can have neither flows of Linux nor programs. With
    /// `rows`, the run is recorded, in tables with at most so many rows.
    #[new]
    #[pyo3(signature = (scenario, run, kernels=None, rows=None))]
    fn new(
        py: Python<'_>,
        scenario: &Scenario,
        run: u32,
        kernels: Option<Kernels>,
        rows: Option<usize>,
    ) -> PyResult<Self> {
        let scenario = scenario.inner();
        if scenario.linux().is_some() && kernels.is_none() {
            let message = "a live run cannot have flows with `stack = \"linux\"`, and no [[host]]: expected a run";
            return Err(PyValueError::new_err(message));
        }
        let began = Began::now();
        let build = || {
            let spec = scenario.spec(u64::from(run));
            let network = match scenario.linux().zip(kernels) {
                Some((linux, kernels)) => {
                    Network::Kernels(Box::new(linux::start(&scenario, linux, &kernels, u64::from(run), rows)?))
                }
                None => {
                    let mut probes = spec.observe.recorded.probes();
                    probes.extend(replay::probe(&spec, rows));
                    let world =
                        World::with_probe(&spec, (Meters::default(), probes)).map_err(|error| error.to_string())?;
                    Network::Alone(Box::new(world))
                }
            };
            let count = network.world().interface_count() as u32;
            let lengths = rows.map(|_| Lengths::new(count, spec.sampling_of_queues()));
            Ok((network, has_rules(&spec), lengths))
        };
        let (network, has_rules, lengths) =
            py.detach(build).map_err(|error: String| SimulationError::new_err(error))?;
        let state = State { network: Some(network), spent: began.elapsed(), lengths, recording: None };
        Ok(Self { state: Mutex::new(state), scenario, run, has_rules })
    }

    /// Carries out all events up to and including a time, in nanoseconds, or to the end of the run. Returns whether
    /// more follows. Other Python threads go on meanwhile. A signal stops it between two events.
    fn advance(&self, py: Python<'_>, until: u64) -> PyResult<bool> {
        let mut state = self.state()?;
        let State { network, spent, lengths, .. } = &mut *state;
        let it = network.as_mut().ok_or_else(over)?;
        let (began, watch, caller) = (Began::now(), Watch::default(), thread::current());
        if self.has_rules {
            watch.look_after_each_event();
        }
        let mut signal = Ok(());
        let done = AtomicBool::new(false);
        let mut step = || {
            let time = Time::from_nanos(until);
            let mut advance = || match lengths.as_mut() {
                Some(lengths) => replay::advance(lengths, it, time, &watch),
                None => it.advance(time, &watch),
            };
            // A thread that is registered with Python acquires the interpreter much faster.
            let advanced = if self.has_rules { Python::attach(|py| py.detach(advance)) } else { advance() };
            // The thread itself has not ended yet when its caller wakes up.
            done.store(true, Ordering::Release);
            caller.unpark();
            advanced
        };
        let advanced = py.detach(|| {
            let in_thread = thread::scope(|scope| {
                let worker = thread::Builder::new().spawn_scoped(scope, &mut step).ok()?;
                while !done.load(Ordering::Acquire) && !worker.is_finished() {
                    thread::park_timeout(LOOK);
                    if !done.load(Ordering::Acquire) && !worker.is_finished() && signal.is_ok() {
                        signal = Python::attach(|py| py.check_signals());
                        if signal.is_err() {
                            watch.cancel();
                        }
                    }
                }
                Some(worker.join())
            });
            // Where there can be no thread, nobody looks for signals meanwhile.
            in_thread.unwrap_or_else(|| catch_unwind(AssertUnwindSafe(step)))
        });
        *spent += began.elapsed();
        let advanced = advanced.unwrap_or_else(|_| Err("an internal check did not hold".to_owned()));
        if let Err(failure) = advanced {
            // The world may be in no order. Kernels end here.
            *network = None;
            signal?;
            return Err(SimulationError::new_err(format!("run {} failed: {failure}", self.run)));
        }
        signal?;
        Ok(advanced == Ok(Advanced::Reached))
    }

    /// Ends the run at the time that it has reached. Returns the facts about the run, and its tables.
    fn finish<'py>(&self, py: Python<'py>) -> PyResult<(Run, Bound<'py, PyDict>)> {
        let mut state = self.state()?;
        let network = state.network.take().ok_or_else(over)?;
        let began = Began::now();
        let ranges = network.world().ranges();
        let (outcome, probes) = py
            .detach(|| network.finish())
            .map_err(|error| SimulationError::new_err(format!("run {} failed: {error}", self.run)))?;
        let spent = (state.spent + began.elapsed()).as_secs_f64();
        if let Some(lengths) = state.lengths.take() {
            state.recording = Recording::of(probes, lengths, ranges, &outcome);
        }
        let digest = format!("{:016x}", outcome.digest);
        let made = tables([(0, self.run, &outcome)]).map_err(defect)?;
        Ok((Run::done(0, self.run, digest, spent), made.into_py_dict(py)?))
    }

    /// Takes the recording of the finished run: its bytes. `scenario` and `settings` are what the run is called.
    fn recording<'py>(
        &self,
        py: Python<'py>,
        scenario: String,
        settings: Vec<(String, String)>,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let missing = || PyValueError::new_err("there is no recording: expected a finished run that was recorded");
        let recording = self.lock()?.recording.take().ok_or_else(missing)?;
        let origin = Origin {
            scenario,
            settings,
            config: format!("{:016x}", self.scenario.hash()),
            seed: self.scenario.seed(),
            run: u64::from(self.run),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            digest: String::new(),
        };
        Ok(PyBytes::new(py, &py.detach(|| recording.finish(origin))?))
    }

    /// Lets the network go, and ends its kernels.
    fn close(&self) -> PyResult<()> {
        self.lock()?.network = None;
        Ok(())
    }

    /// Whether the run can go on: it is neither finished nor closed, and has not failed.
    #[getter]
    fn is_open(&self) -> PyResult<bool> {
        Ok(self.lock()?.network.is_some())
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
        let state = self.state()?;
        let network = state.network.as_ref().ok_or_else(over)?;
        match name {
            "positions" => rows::<PositionRow>(&network.world().positions()),
            "queues" => rows::<QueueRow>(&network.world().queues()),
            _ => results(name, &network.outcome(Some(name))),
        }
    }

    /// The ways that a node has to other nodes.
    fn routes(&self, node: u32) -> PyResult<Table> {
        self.look(|world| rows::<RouteRow>(&world.routes(known(world, node)?)))
    }

    /// The IPv4 addresses of a node's interfaces.
    fn addresses(&self, node: u32) -> PyResult<Vec<String>> {
        self.look(|world| Ok(world.addresses(known(world, node)?).iter().map(ToString::to_string).collect()))
    }

    /// The largest packets on the links of a node's interfaces, if there is a limit, in the order of its addresses.
    fn mtus(&self, node: u32) -> PyResult<Vec<Option<u32>>> {
        self.look(|world| Ok(world.mtus(known(world, node)?)))
    }

    /// For each node the nodes in its reach now.
    fn neighbours(&self) -> PyResult<Vec<Vec<u32>>> {
        let mut state = self.state()?;
        let world = state.network.as_mut().ok_or_else(over)?.alone().ok_or_else(has_kernels)?;
        Ok(world.neighbours().into_iter().map(|nodes| nodes.into_iter().map(|node| node.0).collect()).collect())
    }

    /// Gives a node another route to a destination: the next hop, and the number of hops over it.
    #[pyo3(signature = (node, destination, next_hop, hops))]
    fn steer(&self, node: u32, destination: u32, next_hop: Option<u32>, hops: u8) -> PyResult<()> {
        let mut state = self.state()?;
        let world = state.network.as_mut().ok_or_else(over)?.alone().ok_or_else(has_kernels)?;
        for each in [node, destination].into_iter().chain(next_hop) {
            known(world, each)?;
        }
        if node == destination || next_hop == Some(node) {
            return Err(PyValueError::new_err(format!("node {node}: expected a route to another node, found itself")));
        }
        if world.steer(NodeId(node), NodeId(destination), next_hop.map(|it| (NodeId(it), hops))) {
            return Ok(());
        }
        let message =
            format!("node {node}: expected routing.protocol = \"static\", whose routes can be given in steps");
        Err(PyValueError::new_err(message))
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
        let world = state.network.as_mut().ok_or_else(over)?.alone().ok_or_else(has_kernels)?;
        let left = std::iter::from_fn(|| world.egress());
        left.map(|departure| match departure {
            Departure::Frame { at, interface, bytes, .. } => {
                ("frame", at.nanos(), interface.0, PyBytes::new(py, &bytes)).into_pyobject(py)
            }
            Departure::NoCarrier { at, interface } => ("no carrier", at.nanos(), interface.0).into_pyobject(py),
            Departure::Datagram { at, node, address, bytes } => {
                ("datagram", at.nanos(), node.0, address.to_string(), PyBytes::new(py, &bytes)).into_pyobject(py)
            }
            Departure::Completed { at, node, token, result, .. } => {
                let error = result.err().map(DropReason::name);
                ("completion", at.nanos(), node.0, token.0, error).into_pyobject(py)
            }
        })
        .collect()
    }

    /// When the next event happens, in nanoseconds; nothing if none does before the end of the run.
    #[getter]
    fn next_event(&self) -> PyResult<Option<u64>> {
        Ok(self.state()?.network.as_ref().ok_or_else(over)?.next_event().map(Time::nanos))
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
    pub fn work<T: Send>(&self, py: Python<'_>, work: impl FnOnce(&mut World<Watching>) -> T + Send) -> PyResult<T> {
        let mut state = self.state()?;
        let State { network, spent, .. } = &mut *state;
        let it = network.as_mut().ok_or_else(over)?.alone().ok_or_else(has_kernels)?;
        let began = Began::now();
        let done = py.detach(|| catch_unwind(AssertUnwindSafe(|| work(it))));
        *spent += began.elapsed();
        done.map_err(|_| {
            // The world may be in no order.
            *network = None;
            SimulationError::new_err(format!("run {} failed: an internal check did not hold", self.run))
        })
    }

    /// The state, in the process that can use it.
    fn state(&self) -> PyResult<MutexGuard<'_, State>> {
        let state = self.lock()?;
        match state.network.as_ref().and_then(Network::foreign) {
            None => Ok(state),
            Some(owner) => Err(PyRuntimeError::new_err(format!(
                "the kernels of this simulation belong to process {owner}, and this one was forked from it: expected a \
                 simulation that was started in this process"
            ))),
        }
    }

    fn lock(&self) -> PyResult<MutexGuard<'_, State>> {
        match self.state.try_lock() {
            Ok(state) => Ok(state),
            // A table could not be made; the world was only read.
            Err(TryLockError::Poisoned(poisoned)) => Ok(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => {
                Err(PyRuntimeError::new_err("the simulation is used by another thread: expected one at a time"))
            }
        }
    }

    fn change<T>(&self, change: impl FnOnce(&mut World<Watching>) -> Result<T, InjectError>) -> PyResult<T> {
        let mut state = self.state()?;
        let world = state.network.as_mut().ok_or_else(over)?.alone().ok_or_else(has_kernels)?;
        change(world).map_err(|error| PyValueError::new_err(error.to_string()))
    }

    fn look<T>(&self, look: impl FnOnce(&World<Watching>) -> PyResult<T>) -> PyResult<T> {
        look(self.state()?.network.as_ref().ok_or_else(over)?.world())
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

fn has_kernels() -> PyErr {
    let message = "the hosts of this simulation are Linux kernels: expected one without flows with \
                   `stack = \"linux\"` and without [[host]], where datagrams come from outside";
    PyValueError::new_err(message)
}

fn known(world: &World<Watching>, node: u32) -> PyResult<NodeId> {
    let nodes = world.node_count();
    if (node as usize) < nodes {
        return Ok(NodeId(node));
    }
    Err(PyValueError::new_err(format!("expected a node from 0 to {}, found {node}", nodes - 1)))
}

/// The table of results with this name.
fn results(name: &str, outcome: &Outcome) -> PyResult<Table> {
    struct Found<'a> {
        name: &'a str,
        outcome: &'a Outcome,
        table: Option<Table>,
    }
    impl TableVisitor for Found<'_> {
        type Error = Defect;

        fn table<T: observe::Rows>(&mut self, name: &'static str, rows: fn(&Outcome) -> &T) -> Result<(), Defect> {
            if name == self.name {
                let mut table = Rows::of_results::<T::Row>()?;
                for part in rows(self.outcome).parts() {
                    table.extend_results(0, 0, &part)?;
                }
                self.table = Some(table.alone()?);
            }
            Ok(())
        }
    }
    let mut found = Found { name, outcome, table: None };
    visit_tables(&mut found).map_err(defect)?;
    found.table.ok_or_else(|| PyValueError::new_err(format!("there is no table {name:?}")))
}

fn rows<R: Serialize + Deserialize<'static>>(rows: &[R]) -> PyResult<Table> {
    let mut table = Rows::of::<R>().map_err(defect)?;
    table.extend(0, 0, rows).map_err(defect)?;
    table.alone().map_err(defect)
}
