use proptest::prelude::*;

use super::super::text::Format;
use super::super::track::Fix;
use super::*;
use crate::mobility::leg::{Leg, Mobility as _};

const READING: Reading = Reading::of(Format::Setdest);

fn parse(text: &str) -> Result<Movements, BadFile> {
    Movements::read("scene.tcl", text.as_bytes(), &READING)
}

fn secs(seconds: f64) -> Time {
    Time::ZERO + Span::from_secs_f64(seconds)
}

/// The positions were printed by ns-2.35 while it ran the file: lines of time, node, x and y.
fn agrees_with_ns2(text: &str, positions: &str) {
    let movements = parse(text).expect("ns-2 reads it");
    let mut checked = 0;
    for line in positions.lines() {
        let values: Vec<f64> = line.split(' ').map(|word| word.parse().expect("a number")).collect();
        let there = Position::ground(values[2], values[3]);
        let here = movements.track(values[1] as u32).expect("a node of the file").position(secs(values[0]));
        // A nanosecond at 20 m/s, and nine decimals.
        assert!(here.distance(there) < 3e-8, "{line}: {here:?}");
        checked += 1;
    }
    assert!(checked >= 24, "{checked}");
}

#[test]
fn nodes_are_where_ns2_has_them() {
    agrees_with_ns2(include_str!("data/v1.tcl"), include_str!("data/v1.positions"));
    agrees_with_ns2(include_str!("data/v2.tcl"), include_str!("data/v2.positions"));
}

#[test]
fn replaced_and_stopped_journeys_are_those_of_ns2() {
    agrees_with_ns2(include_str!("data/script.tcl"), include_str!("data/script.positions"));
}

#[test]
fn the_statistics_of_both_versions_are_kept() {
    let second = parse(include_str!("data/v2.tcl")).expect("a file of setdest").record;
    assert_eq!(second.nodes, Some(4));
    assert_eq!((second.speed_type, second.pause_type), (Some(1), Some(1)));
    assert_eq!((second.min_speed, second.max_speed), (Some(Speed::new(1.0)), Some(Speed::new(20.0))));
    assert!(second.average_speed.is_some_and(|speed| (2.0..8.0).contains(&speed.metres_per_second())));
    assert_eq!(second.pause, Some(Span::from_secs(5)));
    assert_eq!((second.width, second.height), (Some(Distance::new(500.0)), Some(Distance::new(300.0))));
    assert_eq!(second.destinations_unreachable, Some(3));
    assert_eq!((second.route_changes, second.link_changes), (Some(11), Some(7)));
    assert_eq!(second.node_changes.len(), 4);
    assert_eq!(second.node_changes[2], NodeChanges { node: 2, route_changes: 8, link_changes: 5 });

    let first = parse(include_str!("data/v1.tcl")).expect("a file of setdest").record;
    assert_eq!((first.nodes, first.pause, first.speed_type), (Some(3), Some(Span::from_secs(2)), None));
    let old = "# nodes: 50, pause: 600.00, max speed: 20.00  max x = 670.00, max y: 660.00\n$node_(1) set X_ 1\n\
        $node_(1) set Y_ 1";
    let old = parse(old).expect("a file of old").record;
    assert_eq!((old.nodes, old.height), (Some(50), Some(Distance::new(660.0))));
}

#[test]
fn every_way_to_write_a_line_is_understood() {
    let text = "set god_ [God instance]\r\n\
        $node_(0) set X_ 0.5\r\n\t$node_(0)   set Y_ +2e1 ;\r\n$node_(0) set Z_ 0;# flat\n\n\
        $ns at 1 {$node_(0) setdest 10.5 20 5};\n  $ns_ at 3.0 \" $node_(0) setdest 10.5 0 1.25 \" ; # on\n\
        $god_ set-dist 0 1 16777215\n$ns_ at 4 \"$god_ set-dist 0 1 2\"";
    let movements = parse(text).expect("well formed");
    let fix = |at, x, y| Fix { at: secs(at), position: Position::ground(x, y) };
    let fixes = [fix(0.0, 0.5, 20.0), fix(1.0, 0.5, 20.0), fix(3.0, 10.5, 20.0), fix(19.0, 10.5, 0.0)];
    assert_eq!(movements.track(0).map(Track::fixes), Some(&fixes[..]));
}

#[test]
fn nodes_keep_the_heights_at_which_they_start() {
    let text = "$node_(0) set X_ 1\n$node_(0) set Y_ 2\n$node_(0) set Z_ 30.5\n$node_(1) set X_ 9\n$node_(1) set Y_ 2\n\
        $ns_ at 1 \"$node_(0) setdest 9 2 4\"\n";
    let movements = parse(text).expect("well formed");
    let heights = |node| movements.track(node).map(|track| track.fixes().iter().map(|fix| fix.position.z).collect());
    assert_eq!((heights(0), heights(1)), (Some(vec![30.5; 3]), Some(vec![0.0])));
    assert_eq!(movements.end(), secs(3.0));
    let (low, high) = movements.extent().expect("positions");
    assert_eq!((low.z, high.z), (0.0, 30.5));
}

#[test]
fn nodes_may_be_numbered_from_one() {
    let movements =
        parse("$node_(1) set X_ 1\n$node_(1) set Y_ 2\n$node_(3) set X_ 1\n$node_(3) set Y_ 2\n").expect("a file");
    assert_eq!(movements.numbers().collect::<Vec<_>>(), [1, 3]);
    assert_eq!(movements.len(), 2);
    assert!(movements.track(0).is_none() && movements.track(2).is_none() && movements.track(4).is_none());
}

/// What is said of one line, after a good start.
fn complaint(line: &str) -> String {
    let text = format!("$node_(0) set X_ 5\n$node_(0) set Y_ 5\n{line}\n");
    parse(&text).expect_err(line).to_string()
}

#[test]
fn broken_lines_are_named() {
    for (line, expected) in [
        (
            "$ns_ at 1.0 \"$node_(0) setdest 10 20\"",
            "scene.tcl:3: expected three numbers after setdest: x, y and speed, \
            found: $ns_ at 1.0 \"$node_(0) setdest 10 20\"",
        ),
        ("$ns_ at 1.0 \"$node_(0) setdest 10 20 30 40\"", "3: expected three numbers"),
        ("$ns_ at 1.0 \"$node_(0) setdest 10 twenty 1\"", "3: expected a coordinate in metres"),
        ("$ns_ at 1.0 \"$node_(0) setdest 10 inf 1\"", "3: expected a coordinate in metres"),
        ("$ns_ at 1.0 \"$node_(0) setdest 10 2 -1\"", "3: expected a speed in metres a second, from 0 to 3e8"),
        ("$ns_ at 1.0 \"$node_(0) setdest 10 2 NaN\"", "3: expected a speed"),
        ("$ns_ at soon \"$node_(0) setdest 10 2 1\"", "3: expected a time in seconds"),
        ("$ns_ at -1 \"$node_(0) setdest 10 2 1\"", "3: expected a time in seconds"),
        ("$ns_ at 1.0 $node_(0) setdest 10 2 1", "3: expected a command in quotes or braces"),
        ("$ns_ at 1.0 \"$node_(0) setdest 10 2 1", "3: expected a command in quotes or braces"),
        ("$ns_ at 1.0 \"$node_(0) set X_\"", "3: expected a coordinate"),
        ("$ns_ at 1.0 \"$node_($i) setdest 10 2 1\"", "3: expected a node such as $node_(7)"),
        ("$node_(1000000) set X_ 1", "3: expected a node such as $node_(7), numbered below 1000000"),
        ("$node_(0) set X_ 7", "3: expected one X_ for each node, and node 0 has it already"),
        ("$node_(0) get X_", "3: expected \"set X_ v\" (or Y_, Z_) or \"setdest x y s\""),
        ("$node_(0) set Z_", "3: expected a coordinate"),
        ("$node_(0) set Z_ 1 2", "3: expected nothing after the coordinate"),
        ("for {set i 0} {$i < 3} {incr i} { $node_($i) set X_ 1 }", "3: expected \"$node_(i) set X_ v\""),
        ("$node_(0) set Z_ 0; $node_(1) set Z_ 0", "3: expected one command a line"),
        ("\u{7}bell setdest", "found: \u{fffd}bell"),
    ] {
        let complaint = complaint(line);
        assert!(complaint.contains(expected), "{complaint}\n  lacks {expected}");
        assert_eq!(complaint.lines().count(), 1, "{complaint}");
    }
}

#[test]
fn what_a_broken_line_was_to_say_is_not_missed() {
    let text = "$node_(0) set X_ 1oo\n$node_(0) set Y_ 2\n$ns_ at 1.0 \"$node_(1) setdest 1 2\"\n$node_(2) set X_ 1\n";
    let shown = parse(text).expect_err("two broken lines").to_string();
    let lines: Vec<_> = shown.lines().map(|line| line.split(", found").next().unwrap_or_default()).collect();
    assert_eq!(
        lines,
        [
            "scene.tcl:1: expected a coordinate in metres, within 1e9 m of the origin",
            "scene.tcl:3: expected three numbers after setdest: x, y and speed",
        ]
    );
}

#[test]
fn all_broken_lines_are_counted_and_the_first_twenty_shown() {
    let broken = parse(&"setdest nonsense\n".repeat(50)).expect_err("nonsense");
    assert_eq!((broken.count, broken.lines.len()), (50, 20));
    assert_eq!(broken.lines[19].line, Some(20));
    assert!(broken.to_string().ends_with("scene.tcl: and 30 more"));
}

#[test]
fn positions_outside_the_area_are_named() {
    let text = "$node_(0) set X_ 100\n$node_(0) set Y_ 700\n$ns_ at 1 \"$node_(0) setdest 670.5 1 1\"\n\
        $ns_ at 2 \"$node_(0) setdest 670 0 1\"";
    let area = Some((Distance::new(670.0), Distance::new(670.0)));
    let broken = Movements::read("scene.tcl", text.as_bytes(), &Reading { area, ..READING }).expect_err("outside");
    let lines: Vec<_> = broken.to_string().lines().map(str::to_owned).collect();
    assert_eq!(lines.len(), 2);
    assert!(lines[0].starts_with("scene.tcl:3: expected a position in the area, 670 by 670 m, found:"), "{}", lines[0]);
    assert_eq!(
        lines[1],
        "scene.tcl:1: expected a position in the area, 670 by 670 m, found: node 0 starts at (100, 700)"
    );
}

/// Where nodes are at a time, and what is said of the file.
fn read(text: &str, times: &[f64]) -> (Vec<Vec<(f64, f64)>>, Vec<String>) {
    let movements = parse(text).unwrap_or_else(|bad| panic!("{bad}"));
    let place = |track: &Track, time| track.position(secs(time));
    let places = |node| {
        let track = movements.track(node).expect("a node");
        times.iter().map(|time| place(track, *time)).map(|at| (at.x, at.y)).collect()
    };
    (movements.numbers().map(places).collect(), movements.remarks())
}

#[test]
fn a_comment_needs_no_semicolon() {
    let text = "$ns_ at 1.0 \"$node_(1) setdest 150.0 60.0 10.0\" # on\n$node_(0) set X_ 10.0\t# vehicle: a_0\n\
        $node_(0) set Y_ 20.0\n$node_(1) set X_ 50.0 #a\n$node_(1) set Y_ 60.0\n";
    let still = vec![(10.0, 20.0); 3];
    assert_eq!(read(text, &[0.0, 3.0, 11.0]), (vec![still, vec![(50.0, 60.0), (70.0, 60.0), (150.0, 60.0)]], vec![]));
}

#[test]
fn a_node_without_a_start_starts_at_the_origin() {
    let text = "$ns_ at 1.0 \"$node_(0) setdest 30.0 40.0 10.0\"\n$node_(1) set X_ 50.0\n";
    let (places, remarks) = read(text, &[1.0, 3.5, 6.0]);
    assert_eq!(places, [vec![(0.0, 0.0), (15.0, 20.0), (30.0, 40.0)], vec![(50.0, 0.0); 3]]);
    let said = "line 1: node 0 starts at 0 m on each axis that no line sets, as in ns-2, and so does 1 other node";
    assert_eq!(remarks, [said]);
}

#[test]
fn other_lines_of_a_script_are_counted_and_named() {
    let start = "$node_(0) set X_ 1\n$node_(0) set Y_ 2\n";
    let (_, remarks) = read(&format!("set ns_ [new Simulator]\n{start}"), &[]);
    assert_eq!(remarks, ["1 line that is no movement was not read: line 1 \"set ns_ [new Simulator]\""]);
    let script =
        format!("# all\nset val(nn) 2\nset a 1; set b 2\n{start}$ns_ at 0.0 \"$node_(0) label S\"\n$ns_ run\n");
    let (places, remarks) = read(&script, &[5.0]);
    assert_eq!(places, [[(1.0, 2.0)]]);
    let said =
        "4 lines that are no movement were not read, first line 2 \"set val(nn) 2\", line 3 \"set a 1; set b 2\"";
    assert!(remarks.len() == 1 && remarks[0].starts_with(said), "{remarks:?}");
    // A file of nothing else is no movement file.
    let shown = parse("hello\nworld\n").expect_err("no node").to_string();
    assert!(shown.contains("at least one node") && shown.contains("scene.tcl:1:"), "{shown}");
}

#[test]
fn a_node_at_rest_can_be_placed_elsewhere() {
    let start = "$node_(0) set X_ 50.0\n$node_(0) set Y_ 60.0\n$ns_ at 5.0 \"$node_(0) set X_ 90.0\"\n";
    let script = format!("{start}$ns_ at 5 \"$node_(0) set Y_ 0\"\n$ns_ at 5 \"$node_(0) setdest 90 10 1\"\n");
    assert_eq!(
        read(&script, &[0.0, 4.999, 5.0, 9.0, 15.0]).0,
        [[(50.0, 60.0), (50.0, 60.0), (90.0, 0.0), (90.0, 4.0), (90.0, 10.0)]]
    );
    let mut follower = parse(&script).expect("a script").track(0).expect("a node").follow();
    let legs = [follower.next_leg(), follower.next_leg(), follower.next_leg()];
    assert!(legs[0].is_pause() && legs[0].until == secs(5.0), "no leg leads from place to place");
    assert_eq!((legs[1].from, legs[1].velocity), (Position::ground(90.0, 0.0), (0.0, 1.0, 0.0)));
    assert_eq!(legs[2], Leg::still(secs(15.0), Position::ground(90.0, 10.0)));
    // At the start it is the start.
    let (places, _) = read(&start.replace("at 5.0", "at 0.0"), &[0.0]);
    assert_eq!(places, [[(90.0, 60.0)]]);
    // ns-2 and ns-3 do not agree on a node that is under way.
    let shown = parse(&format!("{start}$ns_ at 4 \"$node_(0) setdest 9 9 1\"\n")).expect_err("under way").to_string();
    assert_eq!(shown, "scene.tcl:3: expected node 0 at rest when it is placed elsewhere: it is under way");
}

/// Where a node starts, and its moves: time, destination and speed.
type Script = ((f64, f64), Vec<(f64, f64, f64, f64)>);

/// A file as setdest would write it.
fn written(nodes: &[Script]) -> String {
    use std::fmt::Write;
    let mut text = String::new();
    for (i, ((x, y), _)) in nodes.iter().enumerate() {
        for (axis, value) in [("X", x), ("Y", y), ("Z", &0.0)] {
            writeln!(text, "$node_({i}) set {axis}_ {value:.12}").expect("a string takes all");
        }
    }
    for (i, (_, moves)) in nodes.iter().enumerate() {
        for (at, x, y, speed) in moves {
            writeln!(text, "$ns_ at {at:.12} \"$node_({i}) setdest {x:.12} {y:.12} {speed:.12}\"")
                .expect("a string takes all");
        }
    }
    text
}

proptest! {
    #[test]
    fn what_is_written_is_read(
        nodes in prop::collection::vec(
            ((0.0..900.0_f64, 0.0..900.0_f64),
             prop::collection::vec((0.0..500.0_f64, 0.0..900.0_f64, 0.0..900.0_f64, 0.0..30.0_f64), 0..20)), 1..6)
    ) {
        let movements = parse(&written(&nodes)).expect("well formed");
        prop_assert_eq!(movements.len(), nodes.len());
        for (i, ((x, y), moves)) in (0_u32..).zip(nodes) {
            let mut moves = moves;
            moves.sort_by_key(|m| secs(m.0));
            let command = |&(at, x, y, speed)| Command { at: secs(at), to: (x, y), height: None, speed };
            let commands = moves.iter().map(command);
            let expected = Track::from_commands(Position::ground(x, y), commands);
            let track = movements.track(i).expect("a node");
            for time in 0..60 {
                let time = secs(f64::from(time) * 10.0);
                prop_assert!(track.position(time).distance(expected.position(time)) < 1e-6);
            }
        }
    }

    #[test]
    fn no_words_upset_the_reader(
        words in prop::collection::vec(prop::sample::select(vec![
            "$node_(0)", "$node_(1)", "$node_(", "set", "setdest", "X_", "Y_", "Z_", "$ns_", "at", "\"", "{", "}", ";",
            "#", "1.5", "0", "-3", "1e300", "\n", "\n", "\r\n", "$god_", "set-dist", "nodes:", "|", "é", "1e-320",
            "1.6e9",
        ]), 0..120)
    ) {
        let text = words.join(" ");
        if let Err(broken) = parse(&text) {
            prop_assert!(broken.count >= broken.lines.len() && !broken.lines.is_empty());
        }
    }
}
