//! Where one program has the tests of many files, no file is left out of it.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

#[test]
fn each_file_of_tests_is_a_program_or_a_module_of_one() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let read = |path: &Path| fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    for name in ["coupling", "model-tests", "scenario"] {
        let folder = crates.join(name).join("tests");
        let manifest: toml::Table = read(&crates.join(name).join("Cargo.toml")).parse().expect("it is TOML");
        assert_eq!(manifest["package"].get("autotests"), Some(&false.into()), "{name} lists its programs");
        let mut known = BTreeSet::new();
        for program in manifest["test"].as_array().expect("programs") {
            let program = program["name"].as_str().expect("a name");
            known.insert(program.to_owned());
            let Ok(text) = fs::read_to_string(folder.join(format!("{program}.rs"))) else { continue };
            let modules = text.lines().filter_map(|line| line.strip_prefix("mod ")?.strip_suffix(';'));
            known.extend(modules.map(str::to_owned));
        }
        for entry in fs::read_dir(&folder).expect("a folder of tests") {
            let path = entry.expect("an entry can be read").path();
            let has_tests = path.extension().is_some_and(|it| it == "rs") || path.join("main.rs").exists();
            let stem = path.file_stem().expect("a name").to_string_lossy();
            assert!(!has_tests || known.contains(&*stem), "{} is not compiled", path.display());
        }
    }
}
