//! Congestion controls that are not models: `tcp = "module:Class"` names one that another program provides, such as
//! one written in Python.
//!
//! This crate knows the form of the name, where it may be used, and how its parameters are read. A program gives
//! [`ExternalControllers`] with the scenario's [`Surroundings`]; they find what the name stands for.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use hopyard_model::transport::congestion::external::ExternalConfig;
use serde_json::{Map, Value};

/// The reason why a congestion control cannot be used, in the form of a scenario's problem.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The fault.
    pub message: String,
    /// The expected value, if it is known.
    pub expected: Option<String>,
    /// A hint for the user.
    pub hint: Option<String>,
}

/// Makes the configuration of a congestion control from its parameters.
type Configure = dyn Fn(&Map<String, Value>) -> Result<ExternalConfig, Refusal> + Send + Sync;

/// A congestion control that is not a model, before a scenario sets its parameters.
#[derive(Clone)]
pub struct Declaration {
    defaults: Map<String, Value>,
    configure: Arc<Configure>,
}

impl Declaration {
    /// A congestion control with these defaults of its parameters. The type of a default is the type of the parameter:
    /// an integer, another number, text, or a truth value. `configure` gets a value for each of them, and may refuse
    /// them.
    #[must_use]
    pub fn new(
        defaults: Map<String, Value>,
        configure: impl Fn(&Map<String, Value>) -> Result<ExternalConfig, Refusal> + Send + Sync + 'static,
    ) -> Self {
        Self { defaults, configure: Arc::new(configure) }
    }

    /// Its parameters with their defaults.
    #[must_use]
    pub fn defaults(&self) -> &Map<String, Value> {
        &self.defaults
    }

    /// The congestion control with these parameters, which are complete.
    ///
    /// # Errors
    /// When it refuses them.
    pub fn configure(&self, parameters: &Map<String, Value>) -> Result<ExternalConfig, Refusal> {
        (self.configure)(parameters)
    }
}

impl fmt::Debug for Declaration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Declaration").field("defaults", &self.defaults).finish_non_exhaustive()
    }
}

/// Finds congestion controls that are not models.
pub trait ExternalControllers: fmt::Debug + Send + Sync {
    /// The class of a name such as `my_module:MyTcp` in a scenario in `folder`.
    ///
    /// # Errors
    /// When it does not exist, or lacks a required part.
    fn find(&self, name: &str, folder: &Path) -> Result<Declaration, Refusal>;
}

/// The names outside itself that a scenario may use: files in a folder, and congestion controls.
#[derive(Clone, Debug, Default)]
pub struct Surroundings {
    pub(crate) folder: PathBuf,
    pub(crate) controllers: Option<Arc<dyn ExternalControllers>>,
}

impl Surroundings {
    /// Files in a folder, and the congestion controls that `controllers` find.
    #[must_use]
    pub fn new(folder: &Path, controllers: Arc<dyn ExternalControllers>) -> Self {
        Self { folder: folder.to_owned(), controllers: Some(controllers) }
    }
}

impl From<&Path> for Surroundings {
    fn from(folder: &Path) -> Self {
        Self { folder: folder.to_owned(), controllers: None }
    }
}

impl From<&PathBuf> for Surroundings {
    fn from(folder: &PathBuf) -> Self {
        folder.as_path().into()
    }
}
