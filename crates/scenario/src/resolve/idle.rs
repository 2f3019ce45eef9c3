//! What is known of keys that do nothing, while a scenario is read.

use std::collections::BTreeSet;

use hopyard_model::params::ModelInfo;

use crate::catalogue::layout;

/// What is known of keys that do nothing.
#[derive(Default)]
pub(super) struct Idle {
    /// Keys of tables for the whole scenario: the model, the key, its path, and the warning if it needs one.
    pub(super) shared: Vec<(&'static ModelInfo, String, String, Option<String>)>,
    /// The paths of given keys that do nothing and have their defaults.
    pub(super) as_default: Vec<String>,
    /// The models and keys of tables of lists of which it has been said. Many flows may have the same.
    pub(super) said: BTreeSet<(&'static str, String)>,
    /// The models without a name to choose them by that are in use.
    pub(super) in_use: BTreeSet<&'static str>,
}

/// Whether a table may be one of several: that of a flow, a wire or a channel.
pub(super) fn is_of_list(path: &str) -> bool {
    layout(path.split('.').next().unwrap_or_default()).may_be_list()
}
