//! Scenarios: read from TOML or built by a program, checked, expanded into runs, written out, documented.

pub(crate) mod catalogue;
mod check;
mod expand;
mod files;
pub(crate) mod merge;
mod placement;
pub(crate) mod problem;
pub(crate) mod resolve;
mod scenario;
pub mod sections;
pub(crate) mod tree;
mod write;

pub use expand::{Case, parse_set};
pub use problem::{Location, Problem, Problems};
pub use scenario::Scenario;
