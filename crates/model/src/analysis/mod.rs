//! Closed forms: what the models must come to where arithmetic or published theory says it.
//!
//! Nothing here takes part in a run. Tests and validation compare runs with it.

pub mod dcf;
