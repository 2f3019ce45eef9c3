use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;
use hopyard_engine::units::Distance;
use hopyard_engine::{Span, Time};
use proptest::prelude::*;

use super::super::text::Format;
use super::*;

const READING: Reading = Reading::of(Format::Bonnmotion);

fn parse(text: &str) -> Result<Movements, BadFile> {
    Movements::read("rwp.movements", text.as_bytes(), &READING)
}

fn fix_at(at: f64, x: f64, y: f64) -> Fix {
    Fix { at: Time::ZERO + Span::from_secs_f64(at), position: Position::ground(x, y) }
}

fn fix_above(at: f64, x: f64, y: f64, z: f64) -> Fix {
    Fix { at: Time::ZERO + Span::from_secs_f64(at), position: Position { x, y, z } }
}

/// Two nodes as BonnMotion 3 prints them: no fixed number of digits, a pause as a repeated position.
const PLANE: &str = "0.0 118.52904417263353 241.0873920116648 287.10365528417306 351.2290475183306 158.40171893361527 \
    322.91840077215319 351.2290475183306 158.40171893361527 600.0 301.7720041893327 309.15520836104475\n\
    0.0 11.4402873351901 359.1180264417733 2.0193355417205561 11.4402873351901 359.1180264417733\n";

#[test]
fn waypoints_of_two_coordinates() {
    let movements = parse(PLANE).expect("a file");
    assert_eq!(movements.len(), 2);
    let fixes = movements.track(0).expect("a node").fixes();
    assert_eq!(fixes.len(), 4);
    assert_eq!(fixes[1], fix_at(287.103_655_284_173_06, 351.229_047_518_330_6, 158.401_718_933_615_27));
    assert_eq!(fixes[1].position, fixes[2].position);
    assert_eq!(movements.end(), Time::ZERO + Span::from_secs(600));
}

#[test]
fn waypoints_with_heights_are_recognised() {
    let text = "# a comment\n0.0 10.0 20.0 1.5 5.0 30.0 20.0 1.5\n0.0 1.0 2.0 1.5 7.0 3.0 4.0 9.25 8.0 3.5 4.0 -1.5\n";
    let movements = parse(text).expect("a file");
    let first = [fix_above(0.0, 10.0, 20.0, 1.5), fix_above(5.0, 30.0, 20.0, 1.5)];
    assert_eq!(movements.track(0).map(Track::fixes), Some(&first[..]));
    let second = movements.track(1).expect("a node").fixes();
    assert_eq!(second.iter().map(|fix| fix.position.z).collect::<Vec<_>>(), [1.5, 9.25, -1.5]);
    // As waypoints without heights, times would fall.
    let plain = Reading { dimensions: Dimensions::Two, ..READING };
    assert!(Movements::read("rwp.movements", text.as_bytes(), &plain).is_err());
    let wrong = parse("0.0 1.0 2.0 1.5 7.0 3.0 4.0 1.5\n0.0 10.0 20.0 high\n").expect_err("no height").to_string();
    assert!(
        wrong.contains("2: expected a coordinate in metres") && wrong.contains("found: 0.0 10.0 20.0 high"),
        "{wrong}"
    );
}

#[test]
fn compressed_files_are_inflated() {
    let mut gzip = GzEncoder::new(Vec::new(), Compression::default());
    gzip.write_all(PLANE.as_bytes()).expect("a vector takes all");
    let bytes = gzip.finish().expect("a vector takes all");
    let detect = Reading::default();
    assert_eq!(Movements::read("rwp.movements.gz", &bytes, &detect), parse(PLANE));
    let cut = Movements::read("rwp.movements.gz", &bytes[..bytes.len() / 2], &detect).expect_err("half a file");
    assert!(cut.to_string().starts_with("rwp.movements.gz: expected an undamaged gzip file, found: "), "{cut}");
}

#[test]
fn broken_waypoints_are_named() {
    for (text, expected) in [
        ("0 1 1\n0 1 1 5 2", "rwp.movements:2: expected waypoints of time, x and y, found: 5 2"),
        ("0 1 1 5 2 x", "1: expected a coordinate in metres, within 1e9 m of the origin, found: 5 2 x"),
        ("0 1 1 -5 2 2", "1: expected a time in seconds, from 0 to 1.6e9, found: -5 2 2"),
        ("0 1 1 5 2 2 4 3 3", "1: expected times that increase, found: 4 3 3"),
        ("0 1 1 5 2 2 5 3 3", "1: expected times that increase, found: 5 3 3"),
        ("0 1 1\n\n0 1 1\n", "2: expected a node on every line, found an empty one"),
        ("# nothing\n\n", "rwp.movements: expected at least one node"),
        ("0 1 1 5 20 2", "1: expected a position in the area, 10 by 10 m, found: 5 20 2"),
    ] {
        let area = Some((Distance::new(10.0), Distance::new(10.0)));
        let broken = Movements::read("rwp.movements", text.as_bytes(), &Reading { area, ..READING });
        let broken = broken.expect_err(text).to_string();
        assert!(broken.contains(expected), "{broken}\n  lacks {expected}");
    }
}

proptest! {
    #[test]
    fn what_is_written_is_read(
        nodes in prop::collection::vec(
            prop::collection::vec((0.001..100.0_f64, 0.0..900.0_f64, 0.0..900.0_f64), 1..30), 1..8),
        heights: bool,
    ) {
        let mut text = String::new();
        let mut expected = Vec::new();
        for steps in nodes {
            let mut at = 0.0;
            let mut fixes = Vec::new();
            for (step, x, y) in steps {
                // Heights of both signs.
                let z = if heights { 450.0 - x } else { 0.0 };
                fixes.push(fix_above(at, x, y, z));
                text += &if heights { format!("{at} {x} {y} {z} ") } else { format!("{at} {x} {y} ") };
                at += step;
            }
            text += "\n";
            expected.push(fixes);
        }
        let dimensions = if heights { Dimensions::Three } else { Dimensions::Two };
        let reading = Reading { dimensions, ..READING };
        let movements = Movements::read("rwp", text.as_bytes(), &reading).expect("well formed");
        prop_assert_eq!(movements.len(), expected.len());
        for (i, fixes) in (0_u32..).zip(expected) {
            prop_assert_eq!(movements.track(i).map(Track::fixes), Some(&fixes[..]));
        }
    }

    #[test]
    fn no_numbers_upset_the_reader(
        words in prop::collection::vec(prop::sample::select(vec![
            "0", "0.0", "1", "2", "3.5", "1e-320", "-1", "1e9", "1.6e9", "nan", "x", "\n", "\n", "#", "",
        ]), 0..100)
    ) {
        let _ = parse(&words.join(" "));
    }

    #[test]
    fn no_bytes_upset_the_reader(mut bytes in prop::collection::vec(any::<u8>(), 0..200), gzip: bool) {
        if gzip {
            bytes.splice(0..0, [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3]);
        }
        let _ = Movements::read("rwp", &bytes, &Reading::default());
    }
}
