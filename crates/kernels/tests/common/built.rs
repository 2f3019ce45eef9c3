//! The kernels that `hopyard kernels build` has made.

use std::path::PathBuf;

/// A built kernel, from the user's cache. Without one, the test says so and ends.
#[derive(Debug)]
pub struct Built {
    pub version: String,
    pub program: PathBuf,
    pub agent: Vec<u8>,
}

/// The kernel of a version that `hopyard kernels build` has made, newest first.
#[expect(clippy::print_stderr, reason = "whoever runs the tests should know that some compared nothing")]
pub fn built(version: &str) -> Option<Built> {
    let folder = std::env::var_os("HOPYARD_KERNELS").map(PathBuf::from).or_else(|| {
        let cache = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
        cache
            .or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".cache")))
            .map(|it| it.join("hopyard/kernels"))
    })?;
    let all = std::fs::read_dir(&folder).into_iter().flatten().filter_map(|entry| Some(entry.ok()?.path()));
    let of_version = |path: &PathBuf| {
        let name = path.file_name().map(|it| it.to_string_lossy().into_owned());
        name.is_some_and(|it| it.starts_with(&format!("{version}-"))) && path.join("kernel.json").exists()
    };
    let modified = |path: &PathBuf| path.join("kernel.json").metadata().and_then(|it| it.modified()).ok();
    let Some(found) = all.filter(of_version).max_by_key(modified) else {
        eprintln!("skipped: no kernel {version} in {}; `hopyard kernels build {version}` makes it", folder.display());
        return None;
    };
    let agent = std::fs::read(found.join("agent")).expect("the agent can be read");
    Some(Built { version: version.to_owned(), program: found.join("linux"), agent })
}
