//! What the tests of networks with kernels have in common.
#![allow(dead_code, unused_imports, reason = "each test program uses a part")]

#[path = "../../../kernels/tests/common/built.rs"]
mod built;
pub mod chain;

use std::collections::BTreeMap;
use std::path::Path;

pub use built::{Built, built, skipped};
use hopyard_coupling::Options;
use hopyard_engine::{Span, Time};
use hopyard_kernels::Settings;
use hopyard_model::world::Spec;
use hopyard_scenario::Scenario;

/// The versions that can be built.
pub const VERSIONS: [&str; 2] = ["6.1", "6.12"];

/// A scenario without problems.
pub fn scenario(text: &str) -> Scenario {
    Scenario::load(text, "test.toml", Path::new(""), &[]).unwrap_or_else(|problems| panic!("{problems}"))
}

/// The first run of a scenario.
pub fn spec(text: &str) -> Spec {
    scenario(text).spec(0)
}

/// A time in milliseconds.
pub fn at(milliseconds: u64) -> Time {
    Time::ZERO + Span::from_millis(milliseconds)
}

/// Options for a kernel that is not there: what is refused before a kernel starts does not need one.
pub fn without_kernel() -> Options {
    Options {
        program: "/no/kernel".into(),
        agent: Vec::new(),
        modules: BTreeMap::new(),
        memory: 32,
        seed: 1,
        sample: Span::ZERO,
        sysctls: Vec::new(),
        programs: Vec::new(),
        routers: None,
        settings: Settings::default(),
    }
}

/// Options for a built kernel. Without one, the test is skipped.
pub fn with_kernel(version: &str) -> Option<Options> {
    let Built { program, agent, .. } = built(version)?;
    Some(Options { program, agent, ..without_kernel() })
}
