//! Captures of runs.

use std::any::Any;
use std::collections::BTreeSet;
use std::path::PathBuf;

use hopyard_model::address::NodeId;
use hopyard_model::observe::capture::{Capture, Kind, Options};
use hopyard_model::observe::{Outcome, Probe, Probes, Recorded};
use hopyard_model::world::{self, Spec, Watch, World};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// Where the captures of a batch go, and what they hold.
#[pyclass(frozen, module = "hopyard._core")]
#[derive(Clone)]
pub struct Captures {
    /// A file for each run of each case.
    pub paths: Vec<Vec<PathBuf>>,
    options: Options,
}

#[pymethods]
impl Captures {
    /// `paths` has a file for each run of each case. Without `nodes`, all nodes are captured.
    #[new]
    #[pyo3(signature = (paths, nodes=None, kinds=None))]
    fn new(paths: Vec<Vec<PathBuf>>, nodes: Option<Vec<u32>>, kinds: Option<Vec<String>>) -> PyResult<Self> {
        let nodes = nodes.map(|all| all.into_iter().map(NodeId).collect());
        Ok(Self { paths, options: Options { nodes, kinds: kinds_of(kinds)?, ..Options::default() } })
    }
}

impl Captures {
    /// The contents of the capture of a run, with comments about it.
    pub fn options(&self, comments: Vec<String>) -> Options {
        Options { comments, ..self.options.clone() }
    }
}

/// The kinds with these names; without names, the usual ones.
pub fn kinds_of(names: Option<Vec<String>>) -> PyResult<BTreeSet<Kind>> {
    names.map_or_else(|| Ok(Kind::USUAL.into()), |names| names.iter().map(|name| kind(name)).collect())
}

fn kind(name: &str) -> PyResult<Kind> {
    let found = Kind::ALL.iter().copied().find(|kind| kind.name() == name);
    found.ok_or_else(|| {
        let names = Kind::ALL.iter().map(|kind| kind.name()).collect::<Vec<_>>().join(", ");
        PyValueError::new_err(format!("expected kinds of capture ({names}), found {name:?}"))
    })
}

/// A run that has ended: its results, and why its capture is not complete, if so.
pub type Captured = (Outcome, Option<String>);

/// The probes of a run: the probes that its results need, and its capture if there is a file for it.
pub struct Watched {
    recorded: Recorded,
    file: Option<(PathBuf, Options)>,
    /// Why the capture could not begin.
    error: Option<String>,
}

impl Watched {
    pub fn new(spec: &Spec, file: Option<(PathBuf, Options)>) -> Self {
        Self { recorded: spec.observe.recorded.clone(), file, error: None }
    }

    /// Makes the probes. The file of the capture is opened, and emptied. An earlier capture there survives a scenario
    /// that cannot be run, if this is called when the network can be built. A run whose capture cannot be written goes
    /// on without it.
    pub fn probes(&mut self) -> Probes {
        let mut probes = self.recorded.probes();
        match self.file.take().map(|(path, options)| Capture::create(&path, options)).transpose() {
            Ok(capture) => probes.extend(capture.map(|it| Box::new(it) as Box<dyn Probe + Send>)),
            Err(error) => self.error = Some(error.to_string()),
        }
        probes
    }

    /// Ends the capture when the run has ended, and tells why it is not complete, if so.
    pub fn finish(self, probes: Probes) -> Option<String> {
        let captures = probes.into_iter().filter_map(|probe| (probe as Box<dyn Any>).downcast().ok());
        let errors = captures.filter_map(|capture: Box<Capture>| capture.finish().err());
        self.error.or(errors.map(|error| error.to_string()).next())
    }
}

/// Makes a run, with a capture if there is a file for it.
pub fn run(spec: &Spec, watch: &Watch, file: Option<(PathBuf, Options)>) -> Result<Captured, String> {
    if file.is_none() && !spec.needs_probes() {
        // Nobody who watches costs nothing.
        return world::simulate(spec, watch).map(|outcome| (outcome, None)).map_err(|error| error.to_string());
    }
    let mut watched = Watched::new(spec, file);
    let world = World::watched(spec, || watched.probes()).map_err(|error| error.to_string())?;
    let (outcome, probes) = world.run_watched(watch).map_err(|error| error.to_string())?;
    Ok((outcome, watched.finish(probes)))
}
