//! Recorded tracks of every format.

use super::*;
use crate::mobility::files::Format;
use crate::mobility::files::globe::date;

fn read_bytes(bytes: &[u8], reading: &Reading) -> Result<Movements, String> {
    Movements::read("track", bytes, reading).map_err(|bad| bad.to_string())
}

fn read(text: &str) -> Movements {
    read_bytes(text.as_bytes(), &Reading::default()).unwrap_or_else(|bad| panic!("{bad}"))
}

fn refused(text: &str) -> String {
    read_bytes(text.as_bytes(), &Reading::default()).expect_err("a faulty file")
}

fn at(movements: &Movements, node: u32, seconds: f64) -> [f64; 3] {
    let track = movements.track(node).expect("a track");
    let Position { x, y, z } = track.position(Time::ZERO + Span::from_secs_f64(seconds));
    [x, y, z]
}

fn close(found: [f64; 3], expected: [f64; 3], error: f64) -> bool {
    found.iter().zip(expected).all(|(found, expected)| (found - expected).abs() <= error)
}

#[test]
fn tables_in_metres_are_as_they_are() {
    let text = "# flown\ntime;node;x;y;z\n0;2;0;0;50\n10;2;100;-50;70\n5;7;3;4;5\n";
    let movements = read(text);
    assert_eq!(movements.numbers().collect::<Vec<_>>(), [2, 7]);
    assert_eq!(at(&movements, 2, 5.0), [50.0, -25.0, 60.0]);
    assert_eq!((at(&movements, 7, 0.0), at(&movements, 7, 99.0)), ([3.0, 4.0, 5.0], [3.0, 4.0, 5.0]));
    // Without a column of nodes there is one. An epoch moves the start of the run.
    let shifted = Reading { epoch: Epoch::At(5.0), ..Reading::default() };
    let one = read_bytes(b"time,x,y\n0,0,0\n10,100,0\n", &shifted).expect("a track");
    assert_eq!((at(&one, 0, 0.0), at(&one, 0, 5.0)), ([50.0, 0.0, 0.0], [100.0, 0.0, 0.0]));
}

#[test]
fn degrees_have_the_lengths_of_the_ellipsoid() {
    let degree = |latitude: f64| {
        let origin = Globe { longitude: 179.9999, latitude, height: 100.0 };
        let there = Globe { longitude: -179.9991, latitude: latitude + 0.001, height: 130.0 };
        there.seen_from(origin)
    };
    // A thousandth of a degree of longitude and of latitude (WGS 84), across the date line.
    for (latitude, east, north) in [(0.0, 111.320, 110.574), (45.0, 78.847, 111.132), (60.0, 55.800, 111.412)] {
        let Position { x, y, z } = degree(latitude);
        assert!(close([x, y, z], [east, north, 30.0], 0.002), "{latitude}: {x}, {y}, {z}");
    }
}

#[test]
fn tables_of_the_globe_begin_at_their_first_place() {
    let text = "time,longitude,latitude,height\n0,8.5417,47.3769,408\n10,8.5427,47.3769,508\n";
    let movements = read(text);
    assert!(close(at(&movements, 0, 0.0), [0.0, 0.0, 408.0], 1e-9));
    let ([x, y, z], [half, ..]) = (at(&movements, 0, 10.0), at(&movements, 0, 5.0));
    assert!((x - 75.5).abs() < 0.1 && y.abs() < 1e-6 && z == 508.0 && (half - x / 2.0).abs() < 1e-6, "{x}, {y}, {z}");
    let origin = Origin::parse("8.5427 47.3769 408").expect("an origin");
    let other = read_bytes(text.as_bytes(), &Reading { origin, ..Reading::default() }).expect("a track");
    assert!(close(at(&other, 0, 0.0), [-x, 0.0, 0.0], 1e-6));
}

const GPX: &str = "<?xml version=\"1.0\"?>\n<gpx version=\"1.1\" xmlns=\"http://www.topografix.com/GPX/1/1\">\n\
    <metadata><time>2026-01-01T00:00:00Z</time></metadata>\n<trk><name>one</name><trkseg>\n\
    <trkpt lat=\"47.0\" lon=\"8.0\"><ele>400</ele><time>2026-05-01T10:00:00Z</time></trkpt>\n\
    <trkpt lat=\"47.001\" lon=\"8.0\"><ele>410</ele><time>2026-05-01T12:00:10.5+02:00</time></trkpt>\n\
    </trkseg></trk>\n<trk><trkseg><trkpt lat='47.0' lon='8.001'><time>2026-05-01T10:00:02Z</time></trkpt></trkseg></trk>\n\
    </gpx>\n";

#[test]
fn tracks_of_receivers_are_nodes_in_their_order() {
    let movements = read(GPX);
    assert_eq!(movements.len(), 2);
    assert!(close(at(&movements, 0, 10.5), [0.0, 111.17, 410.0], 0.01), "{:?}", at(&movements, 0, 10.5));
    assert!(close(at(&movements, 0, 5.25), [0.0, 55.59, 405.0], 0.01));
    assert!(close(at(&movements, 1, 0.0), [76.06, 0.0, 0.0], 0.01), "{:?}", at(&movements, 1, 0.0));
    let later = Reading { epoch: Epoch::parse("2026-05-01T10:00:05.25Z").expect("a time"), ..Reading::default() };
    assert!(close(at(&read_bytes(GPX.as_bytes(), &later).expect("tracks"), 0, 0.0), [0.0, 55.59, 405.0], 0.01));
}

#[test]
fn extensions_of_a_point_are_not_its_own() {
    let nested = "<extensions><ele>9</ele><time>2026-05-01T11:00:00Z</time></extensions></trkpt>";
    assert_eq!(read(&GPX.replace("</trkpt>", nested)), read(GPX));
}

#[test]
fn times_are_those_of_the_calendar() {
    for (text, seconds) in [
        ("1970-01-01T00:00:00Z", 0.0),
        ("2000-03-01T00:00:00Z", 951_868_800.0),
        ("2026-05-01T10:00:00.5Z", 1_777_629_600.5),
        ("2024-02-29 23:59:59+01:30", 1_709_245_799.0),
    ] {
        assert_eq!(date(text), Some(seconds), "{text}");
    }
    for text in ["2026-02-29T10:00:00Z", "2100-02-29T10:00:00Z", "2024-02-30T10:00:00Z", "2026-04-31T10:00:00Z"] {
        assert_eq!(date(text), None, "{text}");
    }
    assert!(date("2000-02-29T10:00:00Z").is_some() && date("2026-12-31T10:00:00Z").is_some());
    for text in ["2026-05-01", "2026-13-01T10:00:00Z", "yesterday", "2026-05-01T25:00:00Z", ""] {
        assert_eq!(date(text), None, "{text}");
    }
}

#[test]
fn faults_are_named_with_line_and_value() {
    let without = GPX.replace("<time>2026-05-01T10:00:00Z</time>", "").replace("<time>2026-05-01T10:00:02Z</time>", "");
    assert_eq!(
        refused(&without),
        "track:5: expected a point with a <time>, found: longitude 8, latitude 47\n\
         track:8: expected a point with a <time>, found: longitude 8.001, latitude 47"
    );
    let outlier = refused("time,lon,lat\n0,8,47\n1,8.001,47\n2,8,56\n3,8,95\n4,200,47\n");
    assert_eq!(
        outlier,
        "track:5: expected a latitude from -90 to 90 degrees, found: 3,8,95\n\
         track:6: expected a longitude from -180 to 180 degrees, found: 4,200,47\n\
         track:4: expected a position within 100 km of the first position, found: longitude 8, latitude 56, 1001 km away"
    );
    let back = refused("time,x,y\n5,0,0\n3,1,0\nx,1,1\n9,1\n");
    for fault in [
        "track:3: expected times of node 0 that increase, found: 3 s after 5 s",
        "track:4: expected a time in seconds, within 2.6e11 of zero, found: x,1,1",
        "track:5: expected 3 values, found: 9,1",
    ] {
        assert!(back.contains(fault), "{back}");
    }
    assert!(refused("time,x,y\n0,0,0\n1,1e6,0\n").contains("track:3: expected a position within 100 km of the first"));
    assert!(refused(&GPX.replace("</trkseg></trk>\n</gpx>", "")).contains("expected well-formed XML"));
    assert!(refused("<gpx></gpx>").contains("a track with points"));
    let table = Reading { format: Format::Csv, ..Reading::default() };
    let header = read_bytes(b"t,x,y\n0,0,0\n", &table).expect_err("no time");
    assert!(header.contains("track:1: expected a header with time, x, y (and z)"), "{header}");
}

/// A log with these messages: kind and content.
fn log(messages: &[(u8, Vec<u8>)]) -> Vec<u8> {
    let mut bytes = b"ULog\x01\x12\x35\x01\0\0\0\0\0\0\0\0".to_vec();
    for (kind, content) in messages {
        bytes.extend((content.len() as u16).to_le_bytes());
        bytes.push(*kind);
        bytes.extend(content);
    }
    bytes
}

fn subscription(number: u16, name: &str) -> (u8, Vec<u8>) {
    (b'A', [&[0][..], &number.to_le_bytes(), name.as_bytes()].concat())
}

fn data(number: u16, parts: &[&[u8]]) -> (u8, Vec<u8>) {
    (b'D', [&number.to_le_bytes()[..], &parts.concat()].concat())
}

#[test]
fn logs_of_px4_have_the_positions_of_their_vehicle() {
    let format = |text: &str| (b'F', text.as_bytes().to_vec());
    let global = |micros: u64, latitude: f64, height: f32, valid: u8| {
        let parts: [&[u8]; 6] = [
            &micros.to_le_bytes(),
            &[9; 12],
            &latitude.to_le_bytes(),
            &8.0_f64.to_le_bytes(),
            &height.to_le_bytes(),
            &[valid],
        ];
        data(3, &parts)
    };
    let mut messages = vec![
        format("inner:float[2] a;uint8_t b;uint8_t[3] _padding0;"),
        format(
            "vehicle_global_position:uint64_t timestamp;inner it;double lat;double lon;float alt;bool lat_lon_valid;",
        ),
        format("vehicle_local_position:uint64_t timestamp;float x;float y;float z;bool xy_valid;"),
        subscription(4, "vehicle_local_position"),
        data(
            4,
            &[&9_000_000_u64.to_le_bytes(), &1_f32.to_le_bytes(), &2_f32.to_le_bytes(), &(-3_f32).to_le_bytes(), &[1]],
        ),
        data(
            4,
            &[
                &19_000_000_u64.to_le_bytes(),
                &11_f32.to_le_bytes(),
                &2_f32.to_le_bytes(),
                &(-3_f32).to_le_bytes(),
                &[1],
            ],
        ),
    ];
    let read = |messages: &[(u8, Vec<u8>)]| read_bytes(&log(messages), &Reading::default());
    // North, east and down of where it started.
    let local = read(&messages).expect("a log");
    assert_eq!((at(&local, 0, 0.0), at(&local, 0, 5.0)), ([2.0, 1.0, 3.0], [2.0, 6.0, 3.0]));
    messages.extend([
        subscription(3, "vehicle_global_position"),
        global(10_000_000, 47.0, 400.0, 1),
        global(11_000_000, -80.0, 400.0, 0),
        global(12_000_000, 47.001, 420.0, 1),
    ]);
    let globe = read(&messages).expect("a log");
    assert!(close(at(&globe, 0, 2.0), [0.0, 111.17, 420.0], 0.01), "{:?}", at(&globe, 0, 2.0));
    messages.push(global(13_000_000, 56.0, 420.0, 1));
    let far = read(&messages).expect_err("an outlier");
    assert!(
        far.contains("a position within 100 km of the first position, found: longitude 8, latitude 56, 1001 km"),
        "{far}"
    );
    let mut cut = log(&messages[..6]);
    cut.truncate(cut.len() - 3);
    // As when the power fails: the messages before the last one count.
    let cut = read_bytes(&cut, &Reading::default()).expect("a log with half a message");
    assert_eq!(at(&cut, 0, 5.0), [2.0, 1.0, 3.0]);
    assert!(matches!(&cut.remarks()[..], [it] if it.ends_with("is cut: what comes before it was read")));
    assert_eq!(local.remarks(), Vec::<String>::new());
    assert!(read(&messages[..3]).expect_err("no position").contains("valid messages vehicle_global_position"));
}

#[test]
fn no_bytes_make_a_reader_panic() {
    let log = log(&[
        (b'F', b"vehicle_local_position:uint64_t timestamp;vehicle_local_position x;".to_vec()),
        subscription(1, "vehicle_local_position"),
        (b'A', vec![]),
        (b'D', vec![1]),
    ]);
    for end in 0..log.len() {
        let _ = read_bytes(&log[..end], &Reading::default());
    }
    for end in 0..GPX.len() {
        let _ = read_bytes(&GPX.as_bytes()[..end], &Reading::default());
    }
}

#[test]
fn impossible_speeds_are_refused() {
    // A satellite in a low orbit is possible.
    read("time,x,y\n0,0,0\n1,7800,0\n");
    let expected = "a speed of at most 10000 m/s of node 3, found: 90000 m in 0.000000001 s";
    let bad = refused("time,node,x,y\n0,3,0,0\n1,3,0,0\n1.000000001,3,90000,0\n");
    assert!(bad.starts_with(&format!("track:4: expected {expected}")), "{bad}");
    // A script may take a node out of range at once.
    read("0 0 0 1 20000 0 2 20000 0\n");
    let bonnmotion = refused("0 0 0 0.0001 90000 0 2 90000 0\n");
    let fast = "a speed of at most 300000000 m/s, found: 0.0001 90000 0: 90000 m in 0.0001 s, 9.000e8 m/s";
    assert_eq!(bonnmotion, format!("track:1: expected {fast}"));
    let setdest = refused("$node_(0) set X_ 1\n$node_(0) set Y_ 1\n$ns_ at 1 \"$node_(0) setdest 5 5 4e8\"\n");
    assert!(setdest.contains("track:3: expected a speed in metres a second, from 0 to 3e8"), "{setdest}");
}
