//! Closed forms: the values that models must reach according to arithmetic or published theory.
//!
//! No run uses this module. Tests and validation compare runs with it.

pub mod dcf;
