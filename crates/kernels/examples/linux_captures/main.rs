//! Records what Linux's senders send, for the comparison of the profile `linux` with it.
//!
//! `cargo run --release -p hopyard-kernels --example linux_captures -- NAME SEED` draws the cases of a set from the
//! seed, carries each of them out between two kernels in simulated time, and writes `cases.csv`, `departures.csv.gz`
//! and `acks.csv.gz` to `crates/model-tests/tests/data/linux/NAME`. It needs the kernels 6.1 and 6.12 (`hopyard
//! kernels build 6.1 6.12`). The same seed gives the same files. With a third argument, `written`, the applications
//! write pieces of drawn sizes at drawn times; `writes.csv.gz` has them. That needs the kernel 6.1 alone.

#[allow(dead_code, reason = "the recorder needs no modules")]
#[path = "../../tests/common/built.rs"]
mod built;
mod cases;
mod link;

use std::fmt::Write as _;
use std::io::{self, Write as _};
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use built::{Built, built};
use cases::Case;
use flate2::{Compression, GzBuilder};
use hopyard_engine::{Span, Time};
use hopyard_kernels::agent::{Order, Report};
use hopyard_kernels::{Completion, Guest, Kernels, Settings, initrd};
use link::Link;

/// The payload of a segment: an Ethernet frame with timestamps.
const SEGMENT: u64 = 1448;
/// What the application writes at once.
const CHUNK: u32 = 44 * SEGMENT as u32;
/// The longest time that a case may take, in seconds.
const LIMIT: u64 = 900;

fn mac(number: u8) -> [u8; 6] {
    [2, 0, 0, 0, 0, number + 1]
}

/// A kernel with a device and a role.
fn guest(built: &Built, case: &Case, number: u8, sysctls: &[&str], role: Order) -> Guest {
    let address = Ipv4Addr::new(10, 0, 0, number + 1);
    let sysctl = |text: &&str| {
        let (name, value) = text.split_once(' ').unwrap_or((text, ""));
        Order::Sysctl { path: format!("net/ipv4/{name}"), value: value.to_owned() }
    };
    let mut orders = vec![Order::Address { address, prefix: 24, arp: 0, device: "eth0".to_owned() }];
    orders.extend(sysctls.iter().map(sysctl));
    orders.push(role);
    Guest {
        name: format!("host {number}"),
        program: built.program.clone(),
        initrd: initrd::archive(&built.agent, &orders, &[]),
        parameters: vec!["ipv6.disable=1".to_owned()],
        memory: 256,
        devices: vec![mac(number).into()],
        seed: case.seed,
    }
}

/// Carries out a case: the link with its record.
fn record(case: &Case, built: &Built) -> Result<Link, String> {
    let (both, receiver) = case.sysctls();
    let source = Order::Source {
        to: Ipv4Addr::new(10, 0, 0, 2),
        port: 5001,
        own_port: 40_000,
        // Without timestamps, the segments would be longer.
        mss: if case.class == "notimestamps" { SEGMENT as u32 } else { 0 },
        chunk: CHUNK,
        start: Time::from_nanos(case.start),
        bytes: Some(case.segments * SEGMENT),
        stop: None,
        variant: case.sender.to_owned(),
        writes: case.writes.iter().flat_map(|(at, bytes)| [case.start + at, *bytes]).collect(),
    };
    let sink = Order::Sink { port: 5001, mss: 0 };
    let guests =
        [guest(built, case, 0, &both, source), guest(built, case, 1, &[both.clone(), receiver].concat(), sink)];
    let settings = Settings { completion: Completion::Immediate, ..Settings::default() };
    let mut kernels = Kernels::start(&guests, settings).map_err(|error| error.to_string())?;
    let mut link = Link::new(case);
    for second in 2..LIMIT {
        let until = Time::ZERO + Span::from_secs(second);
        kernels.advance(until, &mut link, || false).map_err(|error| error.to_string())?;
        for (_, report) in kernels.reports(0).map_err(|error| error.to_string())? {
            match report {
                Report::Broken { .. } => return Err(format!("the sender says: {report:?}")),
                Report::Sent { .. } => return Ok(link),
                _ => {}
            }
        }
    }
    Err(format!("not finished after {LIMIT} s"))
}

/// A list of numbers, with spaces between them.
fn list(numbers: impl IntoIterator<Item = impl ToString>) -> String {
    numbers.into_iter().map(|it| it.to_string()).collect::<Vec<_>>().join(" ")
}

/// A list of pairs, with a sign between both.
fn pairs<'a>(pairs: impl IntoIterator<Item = &'a (u64, u64)>, sign: char) -> String {
    list(pairs.into_iter().map(|(one, other)| format!("{one}{sign}{other}")))
}

/// The tables of a set.
struct Tables {
    cases: String,
    departures: String,
    acks: String,
    /// What the applications write, if it is not everything at once.
    writes: Option<String>,
}

impl Tables {
    fn new(written: bool) -> Self {
        let cases = "set,sender,case,rate_bps,delay_ns,segments,queue,segments_lost,acks_lost,outage_ns,stall_ns,\
                     late_ns,twice_ns,begin_ns\n";
        Self {
            cases: cases.to_owned(),
            departures: format!("set,sender,case,time_us,segment,again{}\n", if written { ",bytes" } else { "" }),
            acks: "set,sender,case,time_us,segments,window,blocks\n".to_owned(),
            writes: written.then(|| "set,sender,case,time_us,bytes\n".to_owned()),
        }
    }

    fn add(&mut self, case: &Case, link: &Link) -> Result<(), std::fmt::Error> {
        let name = format!("{},{},{}", case.class, case.sender, case.name);
        let begin = link.begin.map_or(0, Time::nanos);
        writeln!(
            self.cases,
            "{name},{},{},{},{},{},{},{},{},{},{},{begin}",
            case.rate,
            case.delay,
            case.segments,
            case.queue,
            list(&case.lost),
            list(&case.acks_lost),
            pairs(&case.outage, ' '),
            pairs(&case.stall, ' '),
            pairs(&case.late, ':'),
            pairs(&case.twice, ':'),
        )?;
        // The name stands in the first line of a case only.
        let named = |index: usize| if index == 0 { &*name } else { ",," };
        for (index, sent) in link.sent.iter().enumerate() {
            let (time, again) = (sent.time / 1000, u8::from(sent.again));
            write!(self.departures, "{},{time},{},{again}", named(index), sent.segment)?;
            if case.is_written() {
                write!(self.departures, ",{}", sent.bytes)?;
            }
            writeln!(self.departures)?;
        }
        if let Some(writes) = &mut self.writes {
            for (index, (at, bytes)) in case.writes.iter().enumerate() {
                writeln!(writes, "{},{},{bytes}", named(index), at / 1000)?;
            }
        }
        for (index, ack) in link.acks.iter().enumerate() {
            let (time, blocks) = (ack.time / 1000, pairs(&ack.blocks, '-'));
            writeln!(self.acks, "{},{time},{},{},{blocks}", named(index), ack.segments, ack.window)?;
        }
        Ok(())
    }

    fn write(&self, folder: &Path) -> io::Result<()> {
        std::fs::create_dir_all(folder)?;
        std::fs::write(folder.join("cases.csv"), &self.cases)?;
        let tables = [("departures.csv.gz", &self.departures), ("acks.csv.gz", &self.acks)];
        for (name, text) in tables.into_iter().chain(self.writes.iter().map(|it| ("writes.csv.gz", it))) {
            // Without a time of creation the files are the same each time.
            let mut packed =
                GzBuilder::new().mtime(0).write(std::fs::File::create(folder.join(name))?, Compression::best());
            packed.write_all(text.as_bytes())?;
            packed.finish()?;
        }
        Ok(())
    }
}

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            let _ = writeln!(io::stderr(), "{message}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), String> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (name, seed, written) = match &arguments[..] {
        [name, seed] => (name, seed, false),
        [name, seed, written] if written == "written" => (name, seed, true),
        _ => {
            return Err(
                "expected the name of the set and its seed, for example: seen 1, or: pieces 1 written".to_owned()
            );
        }
    };
    let seed: u64 = seed.parse().map_err(|_| format!("the seed is {seed:?}, expected an integer"))?;
    let kernel = |version| built(version).ok_or_else(|| format!("no kernel {version}"));
    let kernels = [kernel("6.1")?, kernel(if written { "6.1" } else { "6.12" })?];
    let cases = if written { cases::draw_written(seed) } else { cases::draw(seed) };
    let mut tables = Tables::new(written);
    let mut failed = 0;
    for (case, found) in cases.iter().zip(record_all(&cases, &kernels)) {
        match found {
            Ok(link) => tables.add(case, &link).map_err(|error| error.to_string())?,
            Err(_) => failed += 1,
        }
    }
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../model-tests/tests/data/linux").join(name);
    tables.write(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    if failed > 0 {
        return Err(format!("{failed} of {} cases failed, and are not in the tables", cases.len()));
    }
    Ok(())
}

/// Carries out all cases, several at the same time: no kernel depends on another case.
fn record_all(cases: &[Case], kernels: &[Built; 2]) -> Vec<Result<Link, String>> {
    let workers = std::thread::available_parallelism().map_or(1, |it| 2 * it.get());
    let next = AtomicUsize::new(0);
    let found = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    let Some(case) = cases.get(number) else { return };
                    let link = record(case, &kernels[usize::from(case.version == "6.12")]);
                    let outcome = match &link {
                        Ok(link) => format!("{} departures", link.sent.len()),
                        Err(error) => format!("failed: {error}"),
                    };
                    let name = format!("{} {} {}", case.class, case.sender, case.name);
                    let _ = writeln!(io::stderr(), "{} of {}: {name}: {outcome}", number + 1, cases.len());
                    found.lock().expect("no other thread has panicked").push((number, link));
                }
            });
        }
    });
    let mut found = found.into_inner().expect("no thread has panicked");
    found.sort_unstable_by_key(|it| it.0);
    found.into_iter().map(|it| it.1).collect()
}
