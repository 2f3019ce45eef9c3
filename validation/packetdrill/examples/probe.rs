//! Probe.
#![allow(clippy::print_stdout)]
fn main() {
    for path in std::env::args().skip(1) {
        let text = std::fs::read_to_string(&path).unwrap();
        match hopyard_packetdrill::parse::parse(&text) {
            Ok(script) => println!("ok {path} {}", script.events.len()),
            Err(error) => println!("BAD {path}: {error}"),
        }
    }
}
