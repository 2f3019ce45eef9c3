//! The kernels that `hopyard kernels build` has made.

#[path = "../../../engine/tests/common/skipped.rs"]
mod skipped;

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

pub use skipped::skipped;

/// The file that is written when a kernel is complete.
const ABOUT: &str = "kernel.json";

/// A built kernel, from the user's cache. Without one, the test is skipped.
pub struct Built {
    pub program: PathBuf,
    pub agent: Vec<u8>,
    /// The folder with its modules, if they were built.
    #[allow(dead_code, reason = "some programs need no modules")]
    modules: Option<PathBuf>,
}

impl Built {
    /// The module of a TCP variant. Without it, the test is skipped.
    #[allow(dead_code, reason = "some programs need no modules")]
    pub fn module(&self, variant: &str) -> Option<Vec<u8>> {
        let path = self.modules.as_ref().map(|it| it.join(format!("hopyard_{variant}.ko")));
        let found = path.as_ref().and_then(|it| std::fs::read(it).ok());
        if found.is_none() {
            skipped(format_args!(
                "no module {variant} for {}; `hopyard kernels build` makes it",
                self.program.display()
            ));
        }
        found
    }
}

/// The kernel of a version that `hopyard kernels build` has made, newest first.
pub fn built(version: &str) -> Option<Built> {
    let folder = std::env::var_os("HOPYARD_KERNELS").map(PathBuf::from).or_else(|| {
        let cache = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
        cache
            .or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".cache")))
            .map(|it| it.join("hopyard/kernels"))
    });
    let folder = folder.unwrap_or_else(|| "~/.cache/hopyard/kernels".into());
    let prefix = format!("{version}-");
    let all = std::fs::read_dir(&folder).into_iter().flatten().filter_map(|entry| Some(entry.ok()?.path()));
    let kernels = all.filter(|path| path.file_name().is_some_and(|it| it.to_string_lossy().starts_with(&prefix)));
    let made = kernels.filter(|path| path.join(ABOUT).exists());
    let Some(found) = made.max_by_key(|path| path.join(ABOUT).metadata().and_then(|it| it.modified()).ok()) else {
        let options = version.replace("+wifi", " --wifi");
        let folder = folder.display();
        skipped(format_args!("no kernel {version} in {folder}; `hopyard kernels build {options}` makes it"));
        return None;
    };
    let name = found.file_name().unwrap_or_default().to_string_lossy();
    let modules = Some(folder.join(format!("modules-{name}-{}", modules_key()))).filter(|it| it.is_dir());
    Some(Built { program: found.join("linux"), agent: agent().to_vec(), modules })
}

/// The key of this source's modules, as `modules_key` in `cache.py` computes it: a kernel may have modules of
/// other versions of the sources beside them.
fn modules_key() -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../kernels/hopyard_kernels/modules");
    let files = std::fs::read_dir(folder).expect("the modules' sources").filter_map(|it| Some(it.ok()?.path()));
    let mut sources: Vec<PathBuf> =
        files.filter(|it| it.extension().is_some_and(|it| it == "c" || it == "h")).collect();
    sources.sort();
    let mut lines = String::new();
    for source in &sources {
        let name = source.file_name().unwrap_or_default().to_string_lossy();
        lines += &format!("{name} {}\n", sha256(&std::fs::read(source).expect("a source can be read")));
    }
    sha256(lines.as_bytes())[..12].to_owned()
}

/// SHA-256 in hexadecimal, of the program `sha256sum`: building a kernel needs its package too.
fn sha256(bytes: &[u8]) -> String {
    let mut command = Command::new("sha256sum");
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("sha256sum");
    child.stdin.take().expect("a pipe").write_all(bytes).expect("sha256sum reads");
    let output = child.wait_with_output().expect("sha256sum ends");
    assert!(output.status.success(), "sha256sum failed");
    String::from_utf8_lossy(&output.stdout).split(' ').next().unwrap_or_default().to_owned()
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
