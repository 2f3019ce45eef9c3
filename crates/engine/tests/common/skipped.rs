//! Tests that cannot run on this machine. They count as skipped, not as passed.
//!
//! Each test program that has such tests includes this file by its path.

use std::fmt::Display;
use std::fs::OpenOptions;
use std::io::Write as _;

/// Counts the test of this thread as skipped, at least in part, for a reason. The line goes to the end of the file
/// that `HOPYARD_SKIPPED` names, which `make test-rust` prints and counts; without the variable, to standard error.
pub fn skipped(why: impl Display) {
    let thread = std::thread::current();
    let test = thread.name().unwrap_or("a thread without a name");
    // An error may have several lines.
    let why = why.to_string().split_whitespace().collect::<Vec<_>>().join(" ");
    let line = format!("skipped: {why}\t{}::{test}\n", env!("CARGO_CRATE_NAME"));
    let written = match std::env::var_os("HOPYARD_SKIPPED") {
        // One write a line: other tests add theirs meanwhile.
        Some(file) => {
            let opened = OpenOptions::new().create(true).append(true).open(file);
            opened.and_then(|mut it| it.write_all(line.as_bytes()))
        }
        // Not by `eprintln`, which the test harness hides when a test passes.
        None => std::io::stderr().write_all(line.as_bytes()),
    };
    written.unwrap_or_else(|error| panic!("a skipped test cannot be counted in HOPYARD_SKIPPED: {error}"));
}
