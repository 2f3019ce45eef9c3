//! Probe.
#![allow(clippy::print_stdout)]
use hopyard_packetdrill::play::Outcome;
fn main() {
    let mut args: Vec<String> = std::env::args().skip(1).collect();
    let profile = args.remove(0);
    for path in args {
        let text = std::fs::read_to_string(&path).unwrap();
        let script = hopyard_packetdrill::parse::parse(&text).unwrap();
        let folder = std::path::Path::new(&path).parent().unwrap().to_owned();
        let report =
            hopyard_packetdrill::play::play(&script, &profile, &|name| std::fs::read_to_string(folder.join(name)).ok())
                .unwrap();
        match report.outcome {
            Outcome::Passed => {
                println!("PASS {path} {} {} {:?}", report.segments, report.assertions, report.not_compared)
            }
            Outcome::Failed(failure) => println!("FAIL {path} {failure}"),
            Outcome::NotApplicable(reasons) => {
                let texts: Vec<String> = reasons.iter().map(ToString::to_string).collect();
                println!("NA {path} {}", texts.join("; "));
            }
        }
    }
}
