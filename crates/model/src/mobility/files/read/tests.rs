use hopyard_engine::{Span, Time};

use super::*;
use crate::file::{MAX_FAULTS, MAX_LINES};
use crate::mobility::leg::Position;

const SETDEST: &str = "# two nodes\n$node_(1) set X_ 1\n$node_(1) set Y_ 2\n$node_(2) set X_ 30\n$node_(2) set Y_ 40\n\
    $ns_ at 2 \"$node_(1) setdest 11 2 5\"\n";

fn read(text: &str) -> Movements {
    Movements::read("scene", text.as_bytes(), &Reading::default()).expect("a movement file")
}

#[test]
fn the_format_is_found_out() {
    assert_eq!(read(SETDEST).numbers().collect::<Vec<_>>(), [1, 2]);
    assert_eq!(read("\n# a comment\n 0.0 5 6 10 7 8\n".trim_start()).numbers().collect::<Vec<_>>(), [0]);
    assert_eq!(read(&format!("\u{feff}{SETDEST}")), read(SETDEST), "a byte order mark");
    assert_eq!(read("\u{feff}0.0 5 6 10 7 8\n"), read("0.0 5 6 10 7 8\n"));
    let broken = Movements::read("scene", b"", &Reading::default()).expect_err("nothing");
    assert_eq!(broken.to_string(), "scene: expected at least one node");
}

#[test]
fn the_extent_and_the_end_are_those_of_the_tracks() {
    let movements = read(SETDEST);
    assert_eq!(movements.extent(), Some((Position::ground(1.0, 2.0), Position::ground(30.0, 40.0))));
    assert_eq!(movements.end(), Time::ZERO + Span::from_secs(4));
}

#[test]
fn large_files_are_read_whole() {
    use std::fmt::Write;
    let mut text = String::new();
    for node in 0..500 {
        writeln!(text, "$node_({node}) set X_ {node}.25\n$node_({node}) set Y_ 1.5").expect("a string takes all");
    }
    for step in 1..=100 {
        for node in 0..500 {
            writeln!(text, "$ns_ at {step}.125 \"$node_({node}) setdest {}.5 {step}.75 10.0\"", (node * step) % 900)
                .expect("a string takes all");
        }
    }
    let movements = read(&text);
    assert_eq!(movements.len(), 500);
    assert!(movements.numbers().filter_map(|number| movements.track(number)).all(|track| track.fixes().len() > 100));
}

#[test]
fn reading_ends_after_many_faults() {
    for (line, format) in [("setdest nonsense\n", Format::Setdest), ("1 2\n", Format::Bonnmotion)] {
        let reading = Reading { format, ..Reading::default() };
        let broken = Movements::read("scene", line.repeat(1_000_000).as_bytes(), &reading).expect_err("nonsense");
        assert_eq!((broken.count, broken.ended_at), (MAX_FAULTS, Some(MAX_FAULTS + 1)));
        let shown = broken.to_string();
        assert!(shown.ends_with("scene: and 980 more up to line 1001, where reading ended"), "{shown}");
    }
}

#[test]
fn a_file_has_a_bounded_number_of_lines() {
    let broken = Movements::read("scene", &vec![b'\n'; MAX_LINES + 1], &Reading::default()).expect_err("many lines");
    assert_eq!(broken.to_string(), "scene: expected at most 10 million lines");
}
