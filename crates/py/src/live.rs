//! A run in real time, with programs of this machine at its nodes.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use hopyard_engine::{Span, Time};
use hopyard_live::{Crossing, Kernel, Report, Settings, Tun, couple};
use hopyard_model::address::NodeId;
use hopyard_model::world::{Watch, World};
use pyo3::exceptions::{PyOSError, PyRuntimeError};
use pyo3::prelude::*;

use crate::errors::SimulationError;
use crate::network::Watching;
use crate::simulation::Simulation;
use crate::table::{Rows, Table, defect};

/// A simulation that goes on with the clock of this machine, and its TUN devices.
#[pyclass(frozen, module = "hopyard._core")]
pub struct Live {
    simulation: Py<Simulation>,
    settings: Settings,
    devices: Mutex<Vec<(NodeId, Tun)>>,
    crossings: Mutex<Vec<Crossing>>,
    watch: Watch,
    has_begun: AtomicBool,
}

#[pymethods]
impl Live {
    /// A live run of a simulation at time zero. `bound` is the lateness in nanoseconds which only a share of the
    /// packets, and of the events, may exceed. With `crossings`, each packet is recorded. `in_flight` packets of a node
    /// may wait until it has sent them; without it, all may.
    #[new]
    #[pyo3(signature = (simulation, bound, share, crossings, in_flight=None))]
    fn new(simulation: Py<Simulation>, bound: u64, share: f64, crossings: bool, in_flight: Option<usize>) -> Self {
        Self {
            simulation,
            settings: Settings { bound: Span::from_nanos(bound), share, crossings, in_flight },
            devices: Mutex::default(),
            crossings: Mutex::default(),
            watch: Watch::default(),
            has_begun: AtomicBool::new(false),
        }
    }

    /// Makes a TUN device in a network namespace, which is given by its file. It belongs to an attached node.
    fn open(&self, node: u32, namespace: PathBuf, name: &str) -> PyResult<()> {
        let device = Tun::create(&namespace, name).map_err(|error| PyOSError::new_err(error.to_string()))?;
        locked(&self.devices).push((NodeId(node), device));
        Ok(())
    }

    /// Runs to the end, or until `stop` is called, and returns the report as JSON. Other Python threads go on
    /// meanwhile. The devices are removed at the end.
    fn run(&self, py: Python<'_>) -> PyResult<String> {
        let (nodes, devices): (Vec<_>, Vec<_>) = std::mem::take(&mut *locked(&self.devices)).into_iter().unzip();
        let work = |world: &mut World<Watching>| {
            // What happens at time zero takes longer than any later event: the clock starts after it.
            world.advance(Time::ZERO, &self.watch);
            let mut host = Kernel::start(&devices)?;
            self.has_begun.store(true, Ordering::Release);
            couple(world, &mut host, &nodes, self.settings, &self.watch)
        };
        let report: Report = self
            .simulation
            .get()
            .work(py, work)?
            .map_err(|error| SimulationError::new_err(format!("the live run has failed: {error}")))?;
        let text = serde_json::to_string(&report).map_err(|error| PyRuntimeError::new_err(error.to_string()));
        *locked(&self.crossings) = report.crossings;
        text
    }

    /// Asks the run to end.
    fn stop(&self) {
        self.watch.cancel();
    }

    /// Whether the clock runs.
    #[getter]
    fn has_begun(&self) -> bool {
        self.has_begun.load(Ordering::Acquire)
    }

    /// The packets that have crossed between programs and the network, after the run, if they are recorded.
    fn crossings(&self) -> PyResult<Table> {
        let mut rows = Rows::of::<Crossing>().map_err(defect)?;
        rows.extend(0, 0, &locked(&self.crossings)).map_err(defect)?;
        rows.alone().map_err(defect)
    }
}

/// Nothing that holds such a lock can leave the content in disorder.
fn locked<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}
