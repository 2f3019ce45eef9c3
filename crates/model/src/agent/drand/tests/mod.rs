//! One machine, message by message. Networks of machines are in `tests/drand/` of this crate.
