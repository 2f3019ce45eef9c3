//! The kernels that `hopyard kernels build` has made.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// A built kernel, from the user's cache. Without one, the test says so and ends.
pub struct Built {
    pub program: PathBuf,
    pub agent: Vec<u8>,
    /// The folder with its modules, if they were built.
    #[allow(dead_code, reason = "some programs need no modules")]
    modules: Option<PathBuf>,
}

impl Built {
    /// The module of a TCP variant. Without it, the test says so and ends.
    #[allow(dead_code, reason = "some programs need no modules")]
    #[expect(clippy::print_stderr, reason = "whoever runs the tests should know that some compared nothing")]
    pub fn module(&self, variant: &str) -> Option<Vec<u8>> {
        let path = self.modules.as_ref().map(|it| it.join(format!("hopyard_{variant}.ko")));
        let found = path.as_ref().and_then(|it| std::fs::read(it).ok());
        if found.is_none() {
            eprintln!("skipped: no module {variant} for {}; `hopyard kernels build` makes it", self.program.display());
        }
        found
    }
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
    // The newest folder whose name begins so and that has a file of this kind.
    let newest = |prefix: String, marked: &str| {
        let all = std::fs::read_dir(&folder).into_iter().flatten().filter_map(|entry| Some(entry.ok()?.path()));
        let named = |path: &PathBuf| path.file_name().is_some_and(|it| it.to_string_lossy().starts_with(&prefix));
        let modified = |path: &PathBuf| path.join(marked).metadata().and_then(|it| it.modified()).ok();
        all.filter(|path| named(path) && path.join(marked).exists()).max_by_key(modified)
    };
    let Some(found) = newest(format!("{version}-"), "kernel.json") else {
        eprintln!("skipped: no kernel {version} in {}; `hopyard kernels build {version}` makes it", folder.display());
        return None;
    };
    let modules = newest(format!("modules-{version}-"), "");
    Some(Built { program: found.join("linux"), agent: agent().to_vec(), modules })
}

/// The agent of this source, compiled as `hopyard kernels build` does it: whoever has built the kernel has a compiler.
fn agent() -> &'static [u8] {
    static AGENT: OnceLock<Vec<u8>> = OnceLock::new();
    AGENT.get_or_init(|| {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../python/hopyard/kernels/guest");
        let files = std::fs::read_dir(folder).expect("the agent's sources").filter_map(|it| Some(it.ok()?.path()));
        let mut sources: Vec<PathBuf> = files.filter(|it| it.extension().is_some_and(|it| it == "c")).collect();
        // As `hopyard kernels build` does it.
        sources.sort();
        let program = std::env::temp_dir().join(format!("hopyard-agent-{}", std::process::id()));
        let mut command = Command::new("gcc");
        command.args(["-O2", "-static", "-pthread", "-o"]).arg(&program).args(sources);
        assert!(command.status().expect("a compiler").success(), "the agent cannot be compiled");
        let bytes = std::fs::read(&program).expect("the agent can be read");
        // What is left behind in a folder for temporary files does no harm.
        let _ = std::fs::remove_file(program);
        bytes
    })
}
