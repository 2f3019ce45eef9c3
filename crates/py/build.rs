//! Computes the identity of the build: a hash of the sources on which results depend.
//!
//! Two builds of one version may differ. Equal sources have equal identities on every machine and at any time.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use xxhash_rust::xxh3::Xxh3;

/// The crates that decide what a run gives.
const CRATES: [&str; 8] = ["engine", "wire", "net", "hosts", "model", "scenario", "kernels", "coupling"];

fn main() -> io::Result<()> {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut hash = Xxh3::new();
    for name in CRATES {
        let folder = crates.join(name).join("src");
        println!("cargo::rerun-if-changed={}", folder.display());
        let mut files = Vec::new();
        sources(&folder, &mut files)?;
        files.sort();
        for path in files {
            let within: Vec<_> =
                path.strip_prefix(&folder).unwrap_or(&path).iter().map(|it| it.to_string_lossy()).collect();
            let content = fs::read(&path)?;
            hash.update(format!("{name}/{} {}\n", within.join("/"), content.len()).as_bytes());
            hash.update(&content);
        }
    }
    println!("cargo::rustc-env=HOPYARD_BUILD={:012x}", hash.digest() >> 16);
    Ok(())
}

/// The Rust files of a folder and of those in it, without tests, which decide nothing.
fn sources(folder: &Path, found: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let is_test = path.file_stem().is_some_and(|stem| stem == "tests");
        if path.is_dir() && !is_test {
            sources(&path, found)?;
        } else if path.extension().is_some_and(|end| end == "rs") && !is_test {
            found.push(path);
        }
    }
    Ok(())
}
