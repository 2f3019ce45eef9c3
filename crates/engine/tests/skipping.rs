//! A test that cannot run is counted as skipped: by a line of its own in a file, and by `make`, which reads this file.
#![cfg(unix)]

#[path = "common/skipped.rs"]
mod skipped;

use std::ffi::OsString;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;
use std::{env, fs};

use skipped::skipped;

/// The lines of the test below.
const LINES: &str =
    "skipped: no kernel 6.1\tskipping::lacks_two_things\nskipped: no tshark\tskipping::lacks_two_things\n";

#[test]
#[ignore = "a part of the others, which start it"]
fn lacks_two_things() {
    skipped("no tshark");
    skipped("no kernel\n  6.1");
    skipped("no tshark");
}

/// Starts the ignored test in a process of its own.
fn command() -> Command {
    let mut command = Command::new(env::current_exe().expect("this program"));
    command.args(["--exact", "lacks_two_things", "--ignored", "--test-threads=1"]);
    command
}

fn text(bytes: &[u8]) -> &str {
    str::from_utf8(bytes).expect("UTF-8")
}

#[test]
fn the_lines_of_several_processes_are_in_one_file() {
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join("skipped");
    // What an earlier run has left.
    let _ = fs::remove_file(&file);
    for _ in 0..2 {
        let done = command().env("HOPYARD_SKIPPED", &file).output().expect("started");
        assert!(done.status.success() && !text(&done.stderr).contains("skipped:"), "{done:?}");
    }
    let written = fs::read_to_string(&file).expect("lines");
    let mut lines: Vec<_> = written.lines().collect();
    assert_eq!(lines.len(), 6, "{written}");
    lines.sort_unstable();
    lines.dedup();
    assert_eq!(lines, LINES.lines().collect::<Vec<_>>());
    // Whoever starts one test by hand has no file.
    let done = command().env_remove("HOPYARD_SKIPPED").output().expect("started");
    assert!(done.status.success() && text(&done.stderr).contains("skipped: no tshark\tskipping::"), "{done:?}");
    let done = command().env("HOPYARD_SKIPPED", "/no/folder/skipped").output().expect("started");
    assert!(!done.status.success(), "a test that cannot be counted fails");
}

/// In the place of cargo, a program that runs the ignored test, and ends with a code.
#[test]
fn make_says_how_many_tests_were_skipped() {
    if Command::new("make").arg("--version").output().is_err() {
        return skipped("no make");
    }
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("skipping");
    // What an earlier run has left.
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).expect("a folder");
    let cargo = folder.join("cargo");
    fs::write(&cargo, "#!/bin/sh\n[ -z \"$RUNS\" ] || $RUNS >/dev/null\nexit $CODE\n").expect("written");
    fs::set_permissions(&cargo, fs::Permissions::from_mode(0o755)).expect("it can be started");
    let mut path = OsString::from(&folder);
    path.push(":");
    path.push(env::var_os("PATH").unwrap_or_default());
    let this = env::current_exe().expect("this program");
    let runs = format!("{} --exact lacks_two_things --ignored", this.display());
    for (runs, code, expected) in [("", 0, "0"), (&runs, 0, "1"), (&runs, 3, "1")] {
        let lines = if runs.is_empty() { "" } else { LINES };
        for target in ["test-rust", "test-fuzz", "test-ebpf"] {
            let mut make = Command::new("make");
            make.args(["--no-print-directory", target]).current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
            let done = make.env("PATH", &path).env("RUNS", runs).env("CODE", code.to_string());
            let done = done.env("TMPDIR", &folder).output().expect("started");
            let end = format!("\n{lines}{expected} Rust tests skipped\n");
            assert!(text(&done.stdout).ends_with(&end), "{target}: {done:?}");
            assert_eq!(done.status.success(), code == 0, "{target}: {done:?}");
            assert_eq!(fs::read_dir(&folder).expect("a folder").count(), 1, "{target}: its file is removed");
        }
    }
}
