//! Where one program has the tests of many files, no file is left out of it.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    let found = fs::read_dir(folder).into_iter().flatten();
    found.map(|entry| entry.expect("an entry can be read").path()).collect()
}

/// The Rust files in a folder and below it.
fn files(folder: &Path) -> Vec<PathBuf> {
    let (folders, files): (Vec<_>, Vec<_>) = entries(folder).into_iter().partition(|path| path.is_dir());
    let own = files.into_iter().filter(|path| path.extension().is_some_and(|it| it == "rs"));
    own.chain(folders.iter().flat_map(|it| self::files(it))).collect()
}

/// The module of a line such as `pub mod this;`.
fn module(line: &str) -> Option<&str> {
    let (before, rest) = line.trim_start().split_once("mod ")?;
    if !(before.is_empty() || before.starts_with("pub")) {
        return None;
    }
    Some(rest.split_once(';')?.0)
}

#[test]
fn each_file_of_tests_is_a_program_or_a_module_of_one() {
    let crates = fs::canonicalize(Path::new(env!("CARGO_MANIFEST_DIR")).join("..")).expect("the folder of crates");
    let mut programs = 0;
    for package in entries(&crates) {
        let manifest: toml::Table = read(&package.join("Cargo.toml")).parse().expect("it is TOML");
        // Otherwise cargo finds each file.
        if manifest["package"].get("autotests") != Some(&false.into()) {
            continue;
        }
        let listed = manifest["test"].as_array().expect("a package without `autotests` lists its programs");
        let listed = listed.iter().map(|program| program["name"].as_str().expect("a name").to_owned());
        let mut known: BTreeSet<String> = listed.collect();
        programs += known.len();
        let files = files(&package.join("tests"));
        for path in &files {
            known.extend(read(path).lines().filter_map(module).map(str::to_owned));
        }
        let missing = files.iter().filter(|path| {
            let name = path.file_stem().expect("a name").to_string_lossy();
            let is_folder = name == "main" || name == "mod";
            let folder = path.parent().and_then(Path::file_name).expect("a folder").to_string_lossy();
            !known.contains(if is_folder { &*folder } else { &*name })
        });
        let missing: Vec<&PathBuf> = missing.collect();
        assert!(missing.is_empty(), "in no program of tests: expected a line `mod NAME;` for each of {missing:?}");
    }
    assert!(programs > 3, "{programs} programs");
}
