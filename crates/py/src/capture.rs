//! Captures of runs.

use std::collections::BTreeSet;
use std::path::PathBuf;

use hopyard_model::address::NodeId;
use hopyard_model::observe::capture::{Capture, Kind, Options};
use hopyard_model::observe::{Observer, Outcome};
use hopyard_model::world::{Spec, Watch, World};
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
    /// What the capture of a run holds, with comments about it.
    pub fn options(&self, comments: Vec<String>) -> Options {
        Options { comments, ..self.options.clone() }
    }
}

/// The kinds with these names; those that are usual without.
pub fn kinds_of(names: Option<Vec<String>>) -> PyResult<BTreeSet<Kind>> {
    names.map_or_else(|| Ok(Kind::USUAL.into()), |names| names.iter().map(|name| kind(name)).collect())
}

fn kind(name: &str) -> PyResult<Kind> {
    let found = Kind::ALL.into_iter().find(|kind| kind.name() == name);
    found.ok_or_else(|| {
        let names = Kind::ALL.map(Kind::name).join(", ");
        PyValueError::new_err(format!("expected kinds of capture ({names}), found {name:?}"))
    })
}

/// A run that has ended: its results, and why its capture is not complete, if so.
pub type Captured = (Outcome, Option<String>);

/// Makes a run, with a capture if there is a file for it. A run whose capture cannot be written goes on without it. The
/// file is opened, and emptied, when the network has been built: what was captured there before survives a scenario
/// that cannot be run.
pub fn run(spec: &Spec, watch: &Watch, file: Option<(PathBuf, Options)>) -> Result<Captured, String> {
    let world = World::new(spec).map_err(|error| error.to_string())?;
    let capture = file.map(|(path, options)| Capture::create(&path, options)).transpose();
    match capture {
        Ok(Some(capture)) => {
            let world = world.with_other(spec, (capture, Observer::new(spec.observe.recorded.clone())));
            let (outcome, (capture, _)) = world.run_watched(watch).map_err(|error| error.to_string())?;
            Ok((outcome, capture.finish().err().map(|error| error.to_string())))
        }
        without => {
            let outcome = world.run(watch).map_err(|error| error.to_string())?;
            Ok((outcome, without.err().map(|error| error.to_string())))
        }
    }
}
