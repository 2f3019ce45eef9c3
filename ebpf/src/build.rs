//! The compilation of a variant for the running kernel.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::Error;

/// How a file of a variant begins and ends.
const PREFIX: &str = "hopyard_";
const SUFFIX: &str = ".c";

/// The folder with the sources of the variants.
#[derive(Clone, Debug)]
pub struct Sources(pub PathBuf);

impl Default for Sources {
    /// Those beside this crate.
    fn default() -> Self {
        Self(Path::new(env!("CARGO_MANIFEST_DIR")).join("../kernels/hopyard_kernels/modules"))
    }
}

impl Sources {
    /// The names of the variants, as the kernel knows them.
    ///
    /// # Errors
    ///
    /// If the folder cannot be read.
    pub fn variants(&self) -> Result<Vec<String>, Error> {
        let entries = fs::read_dir(&self.0).map_err(|error| Error::File(self.0.clone(), error))?;
        let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
        let mut variants: Vec<_> =
            names.filter_map(|it| Some(it.strip_prefix(PREFIX)?.strip_suffix(SUFFIX)?.to_owned())).collect();
        variants.sort();
        Ok(variants)
    }
}

/// Compiles a variant in a folder, and gives the object.
///
/// # Errors
///
/// If there is no such variant, the kernel has no types, or a compiler is not there or fails.
pub fn compile(sources: &Sources, variant: &str, folder: &Path) -> Result<PathBuf, Error> {
    let variants = sources.variants()?;
    if !variants.iter().any(|it| it == variant) {
        let (found, folder) = (variant.to_owned(), sources.0.clone());
        return Err(Error::Variant { found, folder, expected: variants.join(", ") });
    }
    let types = "/sys/kernel/btf/vmlinux";
    if !Path::new(types).exists() {
        return Err(Error::NoTypes);
    }
    let mut dump = Command::new("bpftool");
    let header = run("bpftool (package bpftool)", dump.args(["btf", "dump", "file", types, "format", "c"]))?;
    let path = folder.join("vmlinux.h");
    fs::write(&path, header).map_err(|error| Error::File(path, error))?;
    let object = folder.join(format!("{variant}.o"));
    let mut clang = Command::new("clang");
    clang.args(["-target", "bpf", "-O2", "-g", "-mcpu=v3", "-Wall", "-Werror", "-Wno-missing-declarations"]);
    clang.args(["-DHOPYARD_BPF", "-c", "-I"]).arg(folder).arg("-o").arg(&object);
    clang.arg(sources.0.join(format!("{PREFIX}{variant}{SUFFIX}")));
    run("clang (packages clang and libbpf-dev)", &mut clang)?;
    Ok(object)
}

fn run(program: &'static str, command: &mut Command) -> Result<Vec<u8>, Error> {
    let done = command.output().map_err(|error| Error::Program { program, why: error.to_string() })?;
    if done.status.success() {
        return Ok(done.stdout);
    }
    Err(Error::Program { program, why: String::from_utf8_lossy(&done.stderr).trim().to_owned() })
}
