//! Compares TCP's behaviour with ns-2.35's, segment by segment, over two wired links with segments lost by order.
//!
//! `cargo run --example forced_drops -- REFERENCE.csv [PHASE_NANOSECONDS]` prints a line a case: segments sent and acknowledgements
//! received by both, where they first differ, and the largest differences of time, window and threshold.
#![allow(clippy::print_stdout, reason = "a program that prints a table")]

#[allow(dead_code, reason = "the tests use more of it")]
#[path = "../tests/two_links/mod.rs"]
mod two_links;

use hopyard_engine::Span;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let path = arguments.next().ok_or("the reference file is missing")?;
    let phase = Span::from_nanos(arguments.next().map_or(Ok(0), |text| text.parse())?);
    let text = std::fs::read_to_string(path)?;
    println!("case ours reference first-difference time cwnd ssthresh");
    for ((set, variant, case), drops, reference) in two_links::read_reference(&text) {
        let events = two_links::run_ns2(&set, &variant, &drops, phase);
        let result = two_links::compare(&events, &reference);
        println!(
            "{set}/{variant}/{case} {} {} {} {} {:.4} {:.4}",
            result.segments,
            result.reference,
            result.mismatch.map_or("none".to_owned(), |index| {
                let show = |list: &[two_links::Event]| {
                    list.get(index).map_or("-".to_owned(), |e| format!("{:?}:{}@{}", e.kind, e.segment, e.time))
                };
                format!("#{index}:{}/{}", show(&events), show(&reference))
            }),
            result.time_error,
            result.cwnd_error,
            result.ssthresh_error,
        );
    }
    Ok(())
}
