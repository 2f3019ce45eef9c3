//! Programs of this machine that run in simulated time, at nodes: how they are found, and how they ended.
//!
//! A program sees the machine's file system through its kernel, and can change nothing of it. Its environment and its
//! working folder are given; nothing of the environment in which the simulation runs reaches it.

use std::collections::VecDeque;
use std::fs::{self, File};
use std::io::Read as _;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};

use hopyard_engine::Time;
use hopyard_kernels::agent::Order;
use hopyard_model::address::NodeId;

/// The search path of programs, in the guest and on this machine.
pub const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
/// The environment of every program besides its node's number and address; the variables of a scenario come on top
/// of it.
const ENVIRONMENT: [(&str, &str); 4] = [("PATH", PATH), ("HOME", "/tmp"), ("LANG", "C.UTF-8"), ("TZ", "UTC0")];
/// Folders in whose place a guest has empty ones of its own.
const HIDDEN: [&str; 4] = ["/tmp", "/run", "/var/tmp", "/dev/shm"];
/// The bytes that are kept of the beginning and of the end of a program's output.
const KEPT: usize = 64 * 1024;
/// The longest argument that Linux takes, and a variable with its name, in bytes.
const LONGEST: usize = 131_071;
/// How many scripts may be interpreted by scripts, as in Linux.
const MOST_SCRIPTS: usize = 5;

/// A program at a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// The node.
    pub node: NodeId,
    /// The name of the program, or its path, and its arguments.
    pub arguments: Vec<String>,
    /// When it begins.
    pub start: Time,
    /// Variables of its environment besides `NODE`, `ADDRESS`, `PATH`, `HOME`, `LANG` and `TZ`, or in their places.
    pub environment: Vec<(String, String)>,
    /// Its working folder: a path of the machine.
    pub folder: PathBuf,
}

/// The state of a program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProgramState {
    /// When it began.
    pub began: Option<Time>,
    /// The time at which it ended by itself, with its exit status; 128 and the number of the signal if one ended it.
    pub ended: Option<(Time, i32)>,
    /// Its standard output and its standard error.
    pub output: [Output; 2],
}

/// The output of a program to a stream. Of a long output it has the first and the last 64 kB.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Output {
    first: Vec<u8>,
    last: VecDeque<u8>,
    left_out: u64,
}

impl Output {
    /// The program has written more.
    pub(crate) fn extend(&mut self, bytes: &[u8]) {
        let room = KEPT - self.first.len();
        let (first, rest) = bytes.split_at(room.min(bytes.len()));
        self.first.extend(first);
        self.last.extend(rest);
        let over = self.last.len().saturating_sub(KEPT);
        self.last.drain(..over);
        self.left_out += over as u64;
    }

    /// The kept bytes. Where something is left out, a line says how much.
    #[must_use]
    pub fn bytes(&self) -> Vec<u8> {
        let line = match self.left_out {
            0 => String::new(),
            bytes => format!("\n[{bytes} bytes are left out here]\n"),
        };
        let (begin, end) = self.last.as_slices();
        [&self.first, line.as_bytes(), begin, end].concat()
    }
}

/// Why a program cannot run.
#[derive(Debug, thiserror::Error)]
pub enum ProgramError {
    /// There is no command.
    #[error("expected a program and its arguments, found nothing")]
    Nothing,
    /// No such program.
    #[error("there is no program `{name}` in {PATH}")]
    Missing {
        /// The name that was looked for.
        name: String,
    },
    /// A file that is needed is not there, or cannot be read.
    #[error("{}: {error}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The error of the system.
        error: std::io::Error,
    },
    /// A file is not one that can be run.
    #[error("{}: this is not a file that can be run", .0.display())]
    NotExecutable(PathBuf),
    /// A program needs a loader or an interpreter that is not there.
    #[error("{} needs {}, which is not there", program.display(), needed.display())]
    Interpreter {
        /// The program.
        program: PathBuf,
        /// The file that it names.
        needed: PathBuf,
    },
    /// The working folder is not there.
    #[error("the working folder {} is not there", .0.display())]
    Folder(PathBuf),
    /// A text with a zero in it, which no program can be given.
    #[error("expected a text without a zero byte, found {0:?}")]
    Zero(String),
    /// A text that is longer than Linux takes.
    #[error("expected arguments and variables of at most {LONGEST} bytes, found one of {0}")]
    Long(usize),
    /// A program in a folder that a guest has for itself.
    #[error("{}: a kernel has a {} of its own; expected a program in another folder, which may be below it",
        .0.display(), .0.parent().unwrap_or(.0).display())]
    Hidden(PathBuf),
}

impl Program {
    /// Looks for the program, for its loader or interpreter, and for the working folder.
    ///
    /// # Errors
    /// If something is not there. Nothing has been started then.
    pub fn find(&self) -> Result<PathBuf, ProgramError> {
        let name = self.arguments.first().filter(|it| !it.is_empty()).ok_or(ProgramError::Nothing)?;
        let pairs = self.environment.iter().flat_map(|(name, value)| [name, value]);
        if let Some(text) = self.arguments.iter().chain(pairs).find(|it| it.contains('\0')) {
            return Err(ProgramError::Zero(text.clone()));
        }
        let variables = self.environment.iter().map(|(name, value)| name.len() + 1 + value.len());
        let lengths = self.arguments.iter().map(String::len).chain(variables);
        if let Some(length) = lengths.max().filter(|it| *it > LONGEST) {
            return Err(ProgramError::Long(length));
        }
        if !self.folder.is_dir() || !self.folder.is_absolute() {
            return Err(ProgramError::Folder(self.folder.clone()));
        }
        let path = if name.contains('/') {
            self.folder.join(name)
        } else {
            let mut all = PATH.split(':').map(|folder| Path::new(folder).join(name));
            all.find(|it| is_executable(it)).ok_or_else(|| ProgramError::Missing { name: name.clone() })?
        };
        check(&path, 0)?;
        if HIDDEN.iter().any(|it| path.parent() == Some(Path::new(it))) {
            return Err(ProgramError::Hidden(path));
        }
        Ok(path)
    }

    /// The order to run the program at this path, at its node with this address.
    pub(crate) fn order(&self, number: u32, path: &Path, address: Ipv4Addr) -> Order {
        let own = self.environment.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        let is_set = |name: &str| self.environment.iter().any(|(it, _)| it == name);
        let [node, address] = [self.node.to_string(), address.to_string()];
        let of_node = [("NODE", node.as_str()), ("ADDRESS", address.as_str())];
        let given = ENVIRONMENT.into_iter().chain(of_node).filter(|(name, _)| !is_set(name));
        let mut texts = vec![self.folder.display().to_string(), path.display().to_string()];
        texts.extend_from_slice(&self.arguments);
        texts.extend(given.chain(own).map(|(name, value)| format!("{name}={value}")));
        Order::Program { number, start: self.start, arguments: self.arguments.len() as u32, texts }
    }

    /// The folders that the program needs, and that folders of the guest would hide.
    pub(crate) fn hidden(&self, path: &Path) -> impl Iterator<Item = PathBuf> + use<> {
        let all = [Some(self.folder.clone()), path.parent().map(Path::to_owned)];
        all.into_iter().flatten().filter(|it| HIDDEN.iter().any(|hidden| it.starts_with(hidden)))
    }
}

#[cfg(unix)]
fn is_executable(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    fs::metadata(path).is_ok_and(|it| it.is_file() && it.permissions().mode() & 0o111 != 0)
}

/// Nothing can be run in simulated time by a system without the permissions of Unix.
#[cfg(not(unix))]
fn is_executable(_: &Path) -> bool {
    false
}

/// The path that these bytes are.
fn path_of(bytes: &[u8]) -> PathBuf {
    #[cfg(unix)]
    return PathBuf::from(<std::ffi::OsStr as std::os::unix::ffi::OsStrExt>::from_bytes(bytes));
    #[cfg(not(unix))]
    return PathBuf::from(String::from_utf8_lossy(bytes).into_owned());
}

/// Checks that a file can be run, and so the program that loads or interprets it.
fn check(path: &Path, depth: usize) -> Result<(), ProgramError> {
    let about = |error| ProgramError::File { path: path.to_owned(), error };
    fs::metadata(path).map_err(about)?;
    if !is_executable(path) || depth > MOST_SCRIPTS {
        return Err(ProgramError::NotExecutable(path.to_owned()));
    }
    // The headers of a program, and the first line of a script, are at its begin.
    let mut head = Vec::new();
    File::open(path).and_then(|file| file.take(4096).read_to_end(&mut head)).map_err(about)?;
    let needed = match interpreter(&head) {
        Some(needed) => needed,
        None if head.starts_with(b"\x7fELF") => return Ok(()),
        None => return Err(ProgramError::NotExecutable(path.to_owned())),
    };
    if !is_executable(&needed) {
        return Err(ProgramError::Interpreter { program: path.to_owned(), needed });
    }
    check(&needed, depth + 1)
}

/// The loader that a program names (PT_INTERP of ELF-64), or the interpreter of a script.
fn interpreter(head: &[u8]) -> Option<PathBuf> {
    if let Some(line) = head.strip_prefix(b"#!") {
        let line = line.split(|&it| it == b'\n').next()?;
        let word = line.split(|it| b" \t".contains(it)).find(|it| !it.is_empty())?;
        return Some(path_of(word));
    }
    /// The type of a program header that names the loader.
    const INTERPRETER: u64 = 3;
    let number = |at: usize, length: usize| {
        let bytes = head.get(at..at.checked_add(length)?)?;
        Some(bytes.iter().rev().fold(0, |sum, &byte| sum << 8 | u64::from(byte)))
    };
    head.strip_prefix(b"\x7fELF\x02")?;
    let (headers, size, count) = (number(32, 8)?, number(54, 2)?, number(56, 2)?);
    let header = (0..count).find_map(|it| {
        let at = usize::try_from(headers.checked_add(it * size)?).ok()?;
        (number(at, 4)? == INTERPRETER).then_some(at)
    })?;
    let (begin, length) = (number(header + 8, 8)? as usize, number(header + 32, 8)? as usize);
    let name = head.get(begin..begin.checked_add(length)?)?;
    let name = name.split(|&it| it == 0).next()?;
    Some(path_of(name))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    fn program(arguments: &[&str]) -> Program {
        Program {
            node: NodeId(0),
            arguments: arguments.iter().map(|&it| it.to_owned()).collect(),
            start: Time::ZERO,
            environment: vec![("TZ".into(), "CET".into())],
            folder: "/".into(),
        }
    }

    #[test]
    fn a_program_of_the_system_is_found_with_its_loader() {
        let path = program(&["sh", "-c", "true"]).find().expect("every system has it");
        assert!(path.ends_with("sh"), "{}", path.display());
        assert_eq!(program(&["/bin/sh"]).find().expect("a path"), Path::new("/bin/sh"));
        let head = fs::read("/bin/sh").expect("readable");
        let loader = interpreter(&head[..4096]).expect("it has a loader");
        assert!(loader.is_absolute() && loader.exists(), "{}", loader.display());
    }

    #[test]
    fn what_is_not_there_is_named() {
        let text = |it: &Program| it.find().expect_err("not there").to_string();
        assert_eq!(
            text(&program(&["no-such-program", "x"])),
            format!("there is no program `no-such-program` in {PATH}")
        );
        assert!(text(&program(&["/no/such"])).starts_with("/no/such: No such file"));
        assert_eq!(text(&program(&[])), "expected a program and its arguments, found nothing");
        assert_eq!(text(&program(&["/etc/passwd"])), "/etc/passwd: this is not a file that can be run");
        let away = Program { folder: "/no/folder".into(), ..program(&["sh"]) };
        assert_eq!(text(&away), "the working folder /no/folder is not there");
        assert_eq!(text(&program(&["sh", "a\0"])), "expected a text without a zero byte, found \"a\\0\"");
        let long = text(&program(&["sh", &"x".repeat(131_072)]));
        assert_eq!(long, "expected arguments and variables of at most 131071 bytes, found one of 131072");
        assert!(program(&["sh", &"x".repeat(131_071)]).find().is_ok());
    }

    /// A kernel's own /tmp is empty, and a folder below it is shown there.
    #[test]
    fn a_program_in_a_folder_that_kernels_have_for_themselves_is_refused() {
        let script = Path::new("/tmp").join(format!("hopyard-hidden-{}", std::process::id()));
        fs::write(&script, "#!/bin/sh\n").expect("written");
        fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).expect("executable");
        let name = format!("./{}", script.file_name().expect("a name").to_string_lossy());
        let found = Program { folder: "/tmp".into(), ..program(&[&name]) }.find();
        fs::remove_file(&script).expect("removed");
        let found = found.expect_err("hidden").to_string();
        assert!(found.contains("a kernel has a /tmp of its own"), "{found}");
    }

    #[test]
    fn a_script_without_its_interpreter_is_refused() {
        let folder = std::env::temp_dir().join(format!("hopyard-programs-{}", std::process::id()));
        fs::create_dir_all(&folder).expect("a folder");
        let script = folder.join("script");
        fs::write(&script, "#! /no/interpreter -x\n").expect("written");
        fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).expect("executable");
        let found = program(&[&script.to_string_lossy()]).find().expect_err("no interpreter").to_string();
        fs::write(&script, "#!/bin/sh\n").expect("written");
        let good = program(&[&script.to_string_lossy()]).find();
        fs::remove_dir_all(&folder).expect("removed");
        assert_eq!(found, format!("{} needs /no/interpreter, which is not there", script.display()));
        assert_eq!(good.expect("it can be run"), script);
    }

    #[test]
    fn orders_have_the_arguments_and_the_environment() {
        let order = program(&["a", ""]).order(7, Path::new("/bin/a"), Ipv4Addr::new(10, 0, 0, 1));
        let path = format!("PATH={PATH}");
        let of_node = ["NODE=0", "ADDRESS=10.0.0.1", "TZ=CET"];
        let texts = [&["/", "/bin/a", "a", "", &path, "HOME=/tmp", "LANG=C.UTF-8"][..], &of_node].concat();
        let texts = texts.into_iter().map(str::to_owned).collect();
        assert_eq!(order, Order::Program { number: 7, start: Time::ZERO, arguments: 2, texts });
    }

    #[test]
    fn of_much_output_the_beginning_and_the_end_are_kept() {
        let mut output = Output::default();
        output.extend(b"begin ");
        assert_eq!(output.bytes(), b"begin ");
        // Numbers of eight characters, up to both limits.
        let rest: String = (0..2 * KEPT / 8).map(|it| format!("{it:07} ")).collect();
        output.extend(&rest.as_bytes()[6..]);
        assert_eq!(output.bytes(), format!("begin {}", &rest[6..]).as_bytes());
        for _ in 0..3 {
            output.extend(b" and more");
        }
        let text = String::from_utf8(output.bytes()).expect("a text");
        assert!(text.starts_with("begin 0 0000001 0000002 "), "{}", &text[..40]);
        assert!(text.ends_with(" 0016383  and more and more and more"), "{}", &text[text.len() - 40..]);
        let (first, last) = text.split_once("\n[27 bytes are left out here]\n").expect("a line says so");
        assert_eq!((first.len(), last.len()), (KEPT, KEPT));
    }
}
