//! Comments and documentation in Rust have at most 120 columns.
//!
//! rustfmt wraps code and leaves comments as they are. For Python, ruff checks every line.

use std::fs;
use std::path::{Path, PathBuf};

/// The columns that a line of a comment may have; `max_width` in `rustfmt.toml` is the same for code.
const COLUMNS: usize = 120;

/// The folders that have Rust sources.
const FOLDERS: [&str; 4] = ["crates", "bench", "fuzz", "validation"];

fn sources(directory: &Path, found: &mut Vec<PathBuf>) {
    let entries = fs::read_dir(directory).unwrap_or_else(|error| panic!("{}: {error}", directory.display()));
    for path in entries.map(|entry| entry.expect("an entry can be read").path()) {
        if path.is_dir() && path.file_name().is_some_and(|name| name != "target") {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

/// The numbers and columns of the comment lines that are too long.
fn too_long(text: &str) -> Vec<(usize, usize)> {
    let lines = text.lines().enumerate().map(|(index, line)| (index + 1, line));
    let comments = lines.filter(|(_, line)| line.trim_start().starts_with("//"));
    comments.map(|(number, line)| (number, line.chars().count())).filter(|(_, columns)| *columns > COLUMNS).collect()
}

#[test]
fn no_comment_is_too_long() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut files = Vec::new();
    for folder in FOLDERS {
        let before = files.len();
        sources(&root.join(folder), &mut files);
        assert!(files.len() > before, "{folder} has sources");
    }
    let mut faults = Vec::new();
    for path in files {
        let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let name = path.strip_prefix(&root).expect("it was found there").display();
        faults.extend(too_long(&text).iter().map(|(line, columns)| format!("{name}:{line}: {columns} columns")));
    }
    assert!(faults.is_empty(), "comments have at most {COLUMNS} columns: {faults:#?}");
}

#[test]
fn a_long_comment_is_found() {
    let comment = |columns: usize| format!("let x = 1;\n    // {}\n", "ü".repeat(columns - 7));
    assert_eq!(too_long(&comment(COLUMNS)), []);
    assert_eq!(too_long(&comment(COLUMNS + 1)), [(2, COLUMNS + 1)]);
    assert_eq!(too_long(&format!("let text = \"{}\";", "x".repeat(COLUMNS))), [], "code is left to rustfmt");
}
