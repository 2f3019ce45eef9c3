use hopyard_engine::{Span, Time};

use super::super::globe::Epoch;
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

/// A file with a fault is told in the words of its own format, not in those of another one.
#[test]
fn the_format_of_a_faulty_file_is_found_out_by_its_first_line_or_its_ending() {
    let columns = "a header with time, x, y (and z), or time, longitude, latitude";
    for (file, text, expected) in [
        ("t.csv", "time,node,x,y,z,battery\n0,0,0,0,10,99\n", columns),
        ("t.csv", "Time,x,y\n0,0,0\n", columns),
        ("track", "timestamp,lat,lon,alt\n0,47,8,400\n", columns),
        ("track", "time;x\t;z\n0;47;8\n", columns),
        ("T.CSV.gz", "time x y\n0 1 2\n", columns),
        ("t.csv", "0,1,2\n", columns),
        ("t.tsv", "time x y\n0 1 2\n", columns),
        ("t.gpx", "latitude 47\n", "a track with points: <trk>"),
        ("t.gpx", "47.1,8.2\n", "a track with points: <trk>"),
        ("t.csv", "<gpx></gpx>", "a track with points: <trk>"),
        ("t.csv", "$node_(0) set X_ east\n", "a coordinate in metres"),
        ("t.txt", "node 0 at 1 2\n", "$node_(i) set X_ v"),
    ] {
        let shown = Movements::read(file, text.as_bytes(), &Reading::default()).expect_err(text).to_string();
        assert!(shown.contains(expected), "{text}: {shown}");
    }
    // Where the first line says enough, the ending does not count.
    for file in ["t.csv", "t.gpx", "t"] {
        assert_eq!(Movements::read(file, SETDEST.as_bytes(), &Reading::default()).map(|it| it.len()), Ok(2));
    }
    assert!(Movements::read("t.log", b"time,x,y\n0,1,2\n", &Reading::default()).is_ok());
}

#[test]
fn angles_and_times_are_told_as_such() {
    for (text, expected) in [
        ("time,lon,lat\n0,east,47\n", "a longitude from -180 to 180 degrees"),
        ("time,lon,lat\n0,8,north\n", "a latitude from -90 to 90 degrees"),
        ("time,lon,lat,alt\n0,8,47,high\n", "a height within 100000 m"),
        ("time,x,y\n0,east,0\n", "a coordinate in metres"),
        ("time,x,y\n1e30,0,0\n", "a time in seconds, within 2.6e11"),
        ("time,x,y\n\"0,0,0\n", "a time in seconds"),
        ("time,x,y\n0,\"0,0\n", "a coordinate in metres"),
    ] {
        let shown = Movements::read("t.csv", text.as_bytes(), &Reading::default()).expect_err(text).to_string();
        assert!(shown.contains(expected), "{text}: {shown}");
    }
    for text in ["1e30", "-3e11", "inf", "NaN"] {
        assert!(Epoch::parse(text).expect_err(text).contains("a time in seconds, within 2.6e11"), "{text}");
    }
    assert!(Epoch::parse("1777000000").is_ok() && Epoch::parse("9999-12-31T23:59:59Z").is_ok());
    assert!(Movements::read("t.csv", b"\"time\",\"x\",\"y\"\n\"0\",\"0\",0\n", &Reading::default()).is_ok());
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
