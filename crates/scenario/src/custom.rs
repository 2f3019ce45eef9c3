//! Congestion controls that are not models: `tcp = "module:Class"` names one that another program provides, such as
//! one written in Python.
//!
//! This crate knows the form of the name, where it may be used, and how its parameters are read. A program gives a
//! [`CustomRules`] with the scenario's [`Surroundings`]; this finds what the name stands for.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use hopyard_model::transport::congestion::custom::Custom;
use serde_json::{Map, Value};

/// The reason why a congestion control cannot be used, in the form of a scenario's problem.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadRule {
    /// What is wrong.
    pub message: String,
    /// What was expected, if this is known.
    pub expected: Option<String>,
    /// A hint for the user.
    pub hint: Option<String>,
}

/// A class of external congestion control, whose parameters a scenario may set.
pub trait CustomClass: fmt::Debug + Send + Sync {
    /// Its parameters with their defaults. The type of a default is the type of the parameter: an integer, another
    /// number, text, or a truth value.
    fn defaults(&self) -> &Map<String, Value>;

    /// The congestion control with these parameters, all of which are given.
    ///
    /// # Errors
    /// When it refuses them.
    fn rule(&self, parameters: &Map<String, Value>) -> Result<Custom, BadRule>;
}

/// Finds external congestion controls.
pub trait CustomRules: fmt::Debug + Send + Sync {
    /// What a name such as `my_module:MyTcp` stands for in a scenario in `folder`.
    ///
    /// # Errors
    /// When it does not exist, or lacks a required part.
    fn find(&self, name: &str, folder: &Path) -> Result<Arc<dyn CustomClass>, BadRule>;
}

/// What a scenario may name outside itself: files in a folder, and congestion controls.
#[derive(Clone, Debug, Default)]
pub struct Surroundings {
    pub(crate) folder: PathBuf,
    pub(crate) rules: Option<Arc<dyn CustomRules>>,
}

impl Surroundings {
    /// Files in a folder, and congestion controls that `rules` finds.
    #[must_use]
    pub fn new(folder: &Path, rules: Arc<dyn CustomRules>) -> Self {
        Self { folder: folder.to_owned(), rules: Some(rules) }
    }
}

impl From<&Path> for Surroundings {
    fn from(folder: &Path) -> Self {
        Self { folder: folder.to_owned(), rules: None }
    }
}

impl From<&PathBuf> for Surroundings {
    fn from(folder: &PathBuf) -> Self {
        folder.as_path().into()
    }
}
