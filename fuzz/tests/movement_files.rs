//! Fuzz targets: the readers of movement files of every format, and of files of links.
//!
//! Whatever the bytes, a reader returns; what it accepts can be followed, and what it refuses it names.

use bolero::check;
use hopyard_engine::Time;
use hopyard_fuzz::Spoilt;
use hopyard_model::file::BadFile;
use hopyard_model::mobility::files::{Dimensions, Format, Movements, Reading};
use hopyard_model::mobility::{Mobility, Position};
use hopyard_model::phy::links::{self, Links};

const SETDEST: Reading = Reading::of(Format::Setdest);
const BONNMOTION: Reading = Reading::of(Format::Bonnmotion);
const CSV: Reading = Reading::of(Format::Csv);
const GPX: Reading = Reading::of(Format::Gpx);

/// Checks all that holds of any result.
fn check_reading(bytes: &[u8], reading: &Reading) {
    match Movements::read("file", bytes, reading) {
        Ok(movements) => check_movements(&movements),
        Err(bad) => check_complaint(bytes, &bad),
    }
}

/// Nodes move without jumps other than those of the file, in bounds, for a finite number of legs.
fn check_movements(movements: &Movements) {
    assert!(!movements.is_empty());
    assert!(movements.remarks().iter().all(|it| !it.contains(char::is_control)));
    for number in movements.numbers() {
        let track = movements.track(number).expect("the number is in the file");
        let mut follower = track.follow();
        let mut leg = follower.next_leg();
        assert_eq!(leg.start, Time::ZERO);
        for legs in 0.. {
            assert!(legs <= track.fixes().len(), "one leg for each fix, and one before the first");
            assert!([leg.from.x, leg.from.y, leg.from.z].iter().all(|it| it.abs() <= 1e9), "{leg:?}");
            if leg.until == Time::NEVER {
                break;
            }
            assert!(leg.until > leg.start, "{leg:?}");
            let next = follower.next_leg();
            assert_eq!(next.start, leg.until);
            // Two legs meet but for rounding, which grows with distance and speed.
            let end = leg.position(leg.until);
            let extent = |at: Position| at.x.abs() + at.y.abs() + at.z.abs();
            let scale = 1.0 + extent(leg.from) + extent(next.from);
            let is_placed = track.fixes().windows(2).any(|pair| pair[0].at == next.start && pair[1].at == next.start);
            assert!(is_placed || end.distance(next.from) <= 1e-9 * scale, "{leg:?} ends far from {next:?}");
            leg = next;
        }
    }
}

/// Complaints name lines that exist, each with what was expected.
fn check_complaint(bytes: &[u8], bad: &BadFile) {
    assert!(bad.count >= bad.lines.len() && bad.lines.len() == bad.count.min(20));
    let lines = bytes.split(|&byte| byte == b'\n').count();
    let compressed = bytes.starts_with(&[0x1f, 0x8b]);
    for line in &bad.lines {
        assert!(compressed || line.line.is_none_or(|number| (1..=lines).contains(&number)), "{line}");
        assert!(!line.expected.is_empty());
        assert!(!line.to_string().contains(char::is_control), "{line:?}");
    }
}

const SETDEST_SEEDS: &[&str] = &[
    "#\n# nodes: 2, speed type: 1, min speed: 1.00, max speed: 20.00\n\
     # avg speed: 5.65, pause type: 1, pause: 5.00, max x: 500.00, max y: 300.00\n#\n\
     $node_(0) set X_ 129.165899792339\n$node_(0) set Y_ 39.866551778336\n$node_(0) set Z_ 0.000000000000\n\
     $node_(1) set X_ 212.269925780628\n$node_(1) set Y_ 159.273607104297\n$node_(1) set Z_ 0.000000000000\n\
     $ns_ at 0.000000000000 \"$node_(1) setdest 359.290481366315 153.953925246004 8.633307435719\"\n\
     $god_ set-dist 0 1 16777215\n$ns_ at 5.452847148851 \"$god_ set-dist 0 1 1\"\n\
     $ns_ at 17.040603140402 \"$node_(1) setdest 359.290481366315 153.953925246004 0.000000000000\"\n\
     $ns_ at 22.040603140402 \"$node_(1) setdest 442.840140920773 262.729325831798 8.492757068131\"\n\
     #\n# Destination Unreachables: 7\n#\n# Route Changes: 14\n#\n# Link Changes: 9\n#\n\
     # Node | Route Changes | Link Changes\n#    0 |            10 |            4\n\
     #    1 |             8 |            7\n#\n",
    "set god_ [God instance]\n$ns at 3 {$node_(2) setdest 10.5 20 5};\n$node_(2) setdest 0 1 2.5 ;# now\n\
     $node_(2) set Y_ 1\r\n$node_(2) set X_ 0.5\r\n$ns_ at 3 \"$node_(2) setdest 90 20 1\"\n",
];

const SETDEST_WORDS: &[&str] = &[
    "$node_(0)",
    "$node_(1)",
    "$node_(7)",
    "$node_(999999)",
    "$node_(-1)",
    "$node_()",
    "$n(1)",
    "set",
    "setdest",
    "X_",
    "Y_",
    "Z_",
    "$ns_",
    "$ns",
    "at",
    "\"$node_(1)",
    "{$node_(1)",
    "$god_",
    "reset",
    "\"$god_",
    "set-dist",
    "5\"",
    "5}",
    "nodes:",
    "#",
];

const BONNMOTION_SEEDS: &[&str] = &[
    "0.0 118.52904417263353 241.0873920116648 287.10365528417306 351.2290475183306 158.40171893361527 \
     322.91840077215319 \
     351.2290475183306 158.40171893361527 600.0 301.7720041893327 309.15520836104475\n\
     0.0 11.4402873351901 359.1180264417733\n",
    "# heights\n0.0 1.0 2.0 1.5 7.0 3.0 4.0 1.5 8.0 3.5 4.0 1.5\n0.0 10.0 20.0 1.5 5.0 30.0 20.0 1.5\n",
];

const CSV_SEEDS: &[&str] = &[
    "time,node,x,y,z\n0,0,1,2,50\n0,1,5,5,50\n3.5,0,9,-2,60\n",
    "time;longitude;latitude\n0;8.5417;47.3769\n1;8.5418;47.3769\n",
];

const GPX_SEEDS: &[&str] =
    &["<?xml version=\"1.0\"?>\n<gpx><trk><trkseg>\n<trkpt lat=\"47\" lon=\"8\"><ele>400</ele>\n\
     <time>2026-05-01T10:00:00Z</time></trkpt>\n<trkpt lat=\"47.001\" lon=\"8\"><time>2026-05-01T10:00:10.5Z</time>\n\
     </trkpt></trkseg></trk></gpx>\n"];

const LINK_SEEDS: &[&str] = &[
    "time,from,to,loss_db\n0,0,1,80\n1,0,1,90\n0,1,0,inf\n",
    "0 nem:1 pathloss nem:2,90 nem:3,95,97\n5 nem:1 location gps 1,2,3\n",
    "ifaces : { ids = [\"02:00:00:00:00:00\", \"02:00:00:00:01:00\"]; links = ((0, 1, 20)); };\n",
    "0 80\n81 0\n",
];

#[test]
fn tables_and_receivers_tracks_spoilt() {
    check!().with_type::<Spoilt>().for_each(|spoilt| {
        check_reading(&spoilt.text(CSV_SEEDS, &["nan", "-1", "1e9", "time"]), &CSV);
        check_reading(
            &spoilt.text(GPX_SEEDS, &["<trk>", "</trk>", "<time>", "<trkpt lat='1' lon='2'/>", "&#0;"]),
            &GPX,
        );
    });
}

#[test]
fn logs_of_px4_any_bytes() {
    check!().for_each(|bytes: &[u8]| {
        let log = [b"ULog\x01\x12\x35\x01\0\0\0\0\0\0\0\0", bytes].concat();
        check_reading(&log, &Reading::of(Format::Ulog));
    });
}

#[test]
fn links_spoilt() {
    check!().with_type::<Spoilt>().for_each(|spoilt| {
        let bytes = spoilt.text(LINK_SEEDS, &["nan", "-1", "inf", "{", ")", "nem:", "snr_db", "delivery"]);
        if let Err(bad) = Links::read("file", &bytes, &links::Reading::default()) {
            check_complaint(&bytes, &bad);
        }
    });
}

#[test]
fn setdest_any_bytes() {
    check!().for_each(|bytes: &[u8]| check_reading(bytes, &SETDEST));
}

#[test]
fn setdest_spoilt_files() {
    check!().with_type::<Spoilt>().for_each(|spoilt| {
        check_reading(&spoilt.text(SETDEST_SEEDS, SETDEST_WORDS), &SETDEST);
    });
}

#[test]
fn bonnmotion_any_bytes() {
    check!().for_each(|bytes: &[u8]| check_reading(bytes, &BONNMOTION));
}

#[test]
fn bonnmotion_spoilt_files() {
    check!().with_type::<(Spoilt, bool)>().for_each(|(spoilt, detect)| {
        let dimensions = if *detect { Dimensions::Detect } else { Dimensions::Two };
        check_reading(&spoilt.text(BONNMOTION_SEEDS, &[]), &Reading { dimensions, ..BONNMOTION });
    });
}

#[test]
fn seeds_are_sound() {
    for (seeds, reading) in
        [(SETDEST_SEEDS, SETDEST), (BONNMOTION_SEEDS, BONNMOTION), (CSV_SEEDS, CSV), (GPX_SEEDS, GPX)]
    {
        for seed in seeds {
            let movements = Movements::read("seed", seed.as_bytes(), &reading).unwrap_or_else(|bad| panic!("{bad}"));
            check_movements(&movements);
        }
    }
}
