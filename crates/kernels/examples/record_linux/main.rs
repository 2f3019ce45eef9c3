//! Records captures of Linux's TCP, in simulated time: `cargo run -p hopyard-kernels --example record_linux -- NAME SEED`.
//!
//! Draws cases from the seed, lets two kernels carry out each over one link, and writes `NAME_cases.csv` and
//! `NAME.csv.gz` to `crates/model/tests/data/linux`. The same seed gives the same files, on any number of threads. The
//! kernels come from `hopyard kernels build`; `crates/model/tests/data/README.md` describes the files.

mod cases;
mod link;
mod transfer;

#[allow(dead_code, reason = "the tests use more of it")]
#[path = "../../tests/common/built.rs"]
mod built;

use std::error::Error;
use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use flate2::{Compression, GzBuilder};

use transfer::Capture;

/// How many cases are recorded at once.
const THREADS: usize = 2;

#[expect(clippy::print_stderr, reason = "a program that is run by hand")]
fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [name, seed] = &arguments[..] else {
        return Err("expected NAME SEED, for instance `seen 1`".into());
    };
    let seed: u64 = seed.parse().map_err(|_| format!("the seed is {seed:?}, and must be a whole number"))?;
    let cases = cases::draw(seed);
    let kernels = ["6.1", "6.12"].map(built::built);
    let (next, captures) = (AtomicUsize::new(0), Mutex::new(cases.iter().map(|_| None).collect::<Vec<_>>()));
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                while let Some(case) = cases.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let built = kernels.iter().flatten().find(|built| built.version == case.kernel);
                    let capture = built
                        .ok_or_else(|| format!("there is no kernel {}", case.kernel))
                        .and_then(|built| transfer::record(built, case));
                    eprintln!("{} {} {}: {}", case.number, case.class, case.sender, summary(&capture));
                    captures.lock().expect("no thread has failed")[case.number] = Some(capture);
                }
            });
        }
    });
    let captures: Vec<Capture> =
        captures.into_inner()?.into_iter().map(|it| it.expect("each was recorded")).collect::<Result<_, _>>()?;
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../model/tests/data/linux");
    let mut table = format!("{}\n", cases::COLUMNS);
    let mut lines = String::from("case,from,time_us,segment,again,sack\n");
    for (case, capture) in cases.iter().zip(&captures) {
        writeln!(table, "{}", case.line(name, capture.syn))?;
        capture.write(case.number, &mut lines)?;
    }
    fs::write(folder.join(format!("{name}_cases.csv")), table)?;
    // Neither a name nor a time is in the header, so that the file is the same each time.
    let file = fs::File::create(folder.join(format!("{name}.csv.gz")))?;
    let mut packed = GzBuilder::new().mtime(0).write(file, Compression::best());
    packed.write_all(lines.as_bytes())?;
    packed.finish()?;
    Ok(())
}

fn summary(capture: &Result<Capture, String>) -> String {
    match capture {
        Ok(capture) => format!("{} departures, {} acknowledgements", capture.departures.len(), capture.answers.len()),
        Err(error) => error.clone(),
    }
}
