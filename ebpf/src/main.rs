//! `hopyard-ebpf VARIANT [--set NAME=NUMBER]... [--cgroup FOLDER] [--sources FOLDER] [-- COMMAND...]`
//!
//! Loads a TCP variant into the running kernel: while COMMAND runs, or until standard input ends. Nothing else changes:
//! a socket has the variant if its program asks for it (`TCP_CONGESTION`, `iperf3 -C`).

use std::io::Read as _;
use std::path::PathBuf;
use std::process::{Command, ExitCode};

use hopyard_ebpf::{Error, Sources, compile, load};

const USAGE: &str =
    "usage: hopyard-ebpf VARIANT [--set NAME=NUMBER]... [--cgroup FOLDER] [--sources FOLDER] [-- COMMAND...]";
/// The control group of all sockets, where version 2 has the tree for itself, and where it has a part.
const GROUPS: [&str; 2] = ["/sys/fs/cgroup", "/sys/fs/cgroup/unified"];

struct Wanted {
    variant: String,
    parameters: Vec<(String, u32)>,
    group: PathBuf,
    sources: Sources,
    command: Vec<String>,
}

fn main() -> ExitCode {
    let wanted = match read(std::env::args().skip(1)) {
        Ok(wanted) => wanted,
        Err(problem) => {
            eprintln!("{problem}\n{USAGE}");
            return ExitCode::from(2);
        }
    };
    run(&wanted).unwrap_or_else(|error| {
        eprintln!("hopyard-ebpf: {error}");
        ExitCode::FAILURE
    })
}

fn read(mut arguments: impl Iterator<Item = String>) -> Result<Wanted, String> {
    let is_group = |it: &&str| PathBuf::from(it).join("cgroup.controllers").exists();
    let mut wanted = Wanted {
        variant: String::new(),
        parameters: Vec::new(),
        group: GROUPS.iter().find(|it| is_group(it)).unwrap_or(&GROUPS[0]).into(),
        sources: Sources::default(),
        command: Vec::new(),
    };
    while let Some(argument) = arguments.next() {
        let mut value = || arguments.next().ok_or(format!("{argument}: expected a value"));
        match argument.as_str() {
            "--set" => wanted.parameters.push(parameter(&value()?)?),
            "--cgroup" => wanted.group = value()?.into(),
            "--sources" => wanted.sources = Sources(value()?.into()),
            "--" => wanted.command = arguments.by_ref().collect(),
            _ if argument.starts_with('-') => return Err(format!("{argument}: there is no such option")),
            _ if wanted.variant.is_empty() => wanted.variant = argument,
            _ => return Err(format!("{argument}: expected one variant")),
        }
    }
    if wanted.variant.is_empty() {
        return Err("expected a variant".to_owned());
    }
    Ok(wanted)
}

fn parameter(text: &str) -> Result<(String, u32), String> {
    let problem = || format!("--set {text}: expected NAME=NUMBER, such as hops=4");
    let (name, value) = text.split_once('=').ok_or_else(problem)?;
    Ok((name.to_owned(), value.parse().map_err(|_| problem())?))
}

fn run(wanted: &Wanted) -> Result<ExitCode, Error> {
    let folder = std::env::temp_dir().join(format!("hopyard-ebpf-{}", std::process::id()));
    std::fs::create_dir(&folder).map_err(|error| Error::File(folder.clone(), error))?;
    let loaded = compile(&wanted.sources, &wanted.variant, &folder)
        .and_then(|object| load(&object, &wanted.variant, &wanted.parameters, &wanted.group));
    // What was compiled is in the kernel, or of no use.
    std::fs::remove_dir_all(&folder).map_err(|error| Error::File(folder, error))?;
    let _loaded = loaded?;
    let Some((program, arguments)) = wanted.command.split_first() else {
        println!("{} is loaded, until standard input ends", wanted.variant);
        let _ = std::io::stdin().read_to_end(&mut Vec::new());
        return Ok(ExitCode::SUCCESS);
    };
    let done = Command::new(program).args(arguments).status();
    let done = done.map_err(|error| Error::File(program.into(), error))?;
    Ok(ExitCode::from(u8::try_from(done.code().unwrap_or(1)).unwrap_or(1)))
}
