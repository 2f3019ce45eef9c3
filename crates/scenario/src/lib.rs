//! Scenarios: read from TOML or built by a program, checked, compared, made into runs, written out, documented.
//!
//! A scenario's keys are fields of the models' `Params` and of the structs in [`sections`]. Keys, units and
//! defaults are defined only there. The reader puts the given values over the defaults and lets each struct check its
//! own keys, so that every problem of a file is found at once.

mod axes;
mod catalogue;
mod drawing;
mod expand;
mod external;
mod files;
mod flow_keys;
mod hash;
mod key;
mod linux;
mod locate;
mod merge;
mod models;
mod place;
mod placement;
mod problem;
mod resolve;
mod scenario;
mod schema;
pub mod sections;
mod setting;
mod spec;
mod sweep;
mod template;
mod tree;
mod value;
mod write;

pub use axes::Axis;
pub use expand::{Case, parse_set};
pub use external::{Declaration, ExternalControllers, Refusal, Surroundings};
pub use files::NamedFile;
pub use key::key_parts;
pub use linux::LinuxFlow;
pub use locate::line_of;
pub use models::{Model, Parameter, ProfileDefault, find_models, models};
pub use problem::{Location, Problem, Problems};
pub use scenario::Scenario;
pub use schema::json_schema;
pub use template::{KINDS, new_scenario};
