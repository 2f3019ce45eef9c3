//! Vehicles that move as recorded tracks, each with a file of its own.

use std::fs;

use hopyard_model::address::NodeId;
use hopyard_model::mobility::{Nodes, Position, Spec};
use hopyard_scenario::Scenario;

fn track(longitude: &str, time: &str) -> String {
    format!("<gpx><trk><trkseg><trkpt lat=\"47\" lon=\"{longitude}\"><ele>450</ele>{time}</trkpt></trkseg></trk></gpx>")
}

const TEXT: &str = "[nodes]\ncount = 2\n[routing]\nprotocol = \"oracle\"\n[[flow]]\nfrom = 0\nto = 1\n\
    [mobility.movement_file]\norigin = \"8 47 400\"\nepoch = \"2026-05-01T10:00:00Z\"\nnodes = \"first\"\n\
    [[movement]]\nnodes = [0]\nmodel = \"movement_file\"\nmovement_file.path = \"a.gpx\"\n\
    [[movement]]\nnodes = [1]\nmodel = \"movement_file\"\nmovement_file.path = \"b.gpx\"\n";

#[test]
fn each_vehicle_has_a_file_and_all_have_one_origin() {
    let folder = std::env::temp_dir().join(format!("hopyard-tracks-{}", std::process::id()));
    fs::create_dir_all(&folder).expect("a folder");
    let write = |name: &str, text: String| fs::write(folder.join(name), text).expect("a file");
    let time = "<time>2026-05-01T10:00:03Z</time>";
    write("a.gpx", track("8", time));
    write("b.gpx", track("8.001", time));
    let load = || Scenario::load(TEXT, "t.toml", &*folder, &[]).map_err(|problems| problems.to_string());
    let spec = load().expect("a scenario").spec(0);
    let specs: Vec<Spec<'_>> = spec
        .nodes
        .iter()
        .map(|node| Spec {
            model: &node.mobility,
            start: node.start,
            movements: node.movements.as_deref(),
            table: node.table,
        })
        .collect();
    let nodes = Nodes::new(&specs, hopyard_engine::Streams::new(1, 0));
    let places: Vec<Position> =
        (0..2).map(|node| nodes.movement(NodeId(node)).expect("a node").next_leg().from).collect();
    assert_eq!(places[0], Position { x: 0.0, y: 0.0, z: 50.0 });
    assert!((places[1].x - 76.06).abs() < 0.01 && places[1].z == 50.0, "{places:?}");

    write("b.gpx", track("8.001", ""));
    write("a.gpx", track("20", time));
    let problems = load().expect_err("two faults");
    for fault in [
        "a.gpx:1: expected a position within 100 km of the origin, found: longitude 20, latitude 47, 913 km away",
        "b.gpx:1: expected a point with a <time>, found: longitude 8.001, latitude 47",
    ] {
        assert!(problems.contains(fault), "{problems}");
    }
    let _ = fs::remove_dir_all(&folder);
}

/// The warnings of a scenario of two vehicles with a file each.
fn warnings(name: &str, [a, b]: [&str; 2], text: &str) -> Vec<String> {
    let folder = std::env::temp_dir().join(format!("hopyard-tracks-{name}-{}", std::process::id()));
    fs::create_dir_all(&folder).expect("a folder");
    fs::write(folder.join("a.gpx"), a).expect("a file");
    fs::write(folder.join("b.gpx"), b).expect("a file");
    let text = format!("duration = \"5 s\"\n{text}");
    let scenario = Scenario::load(&text, "t.toml", &*folder, &[]).unwrap_or_else(|problems| panic!("{problems}"));
    let _ = fs::remove_dir_all(&folder);
    scenario.warnings().iter().map(ToString::to_string).collect()
}

fn at(seconds: u32) -> String {
    format!("<time>2026-05-01T10:00:{seconds:02}Z</time>")
}

#[test]
fn files_with_different_zeros_are_warned_of() {
    let without = TEXT.replace("origin = \"8 47 400\"\nepoch = \"2026-05-01T10:00:00Z\"\n", "");
    let one = |key: &str| without.replacen("nodes = \"first\"", &format!("nodes = \"first\"\n{key}"), 1);
    let (place, time) = (["do not lie on one map", "`origin`"], ["and the run starts both at once", "`epoch`"]);
    let files = [track("8", &at(0)), track("8.001", &at(3))];
    let of = |name: &str, text: &str| {
        warnings(name, [&files[0], &files[1]], &format!("{text}[radio]\npropagation = \"free_space\"\n")).join("\n")
    };
    for (name, text, says) in [
        ("none", without.clone(), [true, true]),
        ("origin", one("origin = \"8 47\""), [false, true]),
        ("epoch", one("epoch = \"2026-05-01T10:00:00Z\""), [true, false]),
        ("both", TEXT.to_owned(), [false, false]),
    ] {
        let warnings = of(name, &text);
        let said = [place, time].map(|words| words.iter().all(|word| warnings.contains(word)));
        assert_eq!(said, says, "{name}: {warnings}");
        assert_eq!(warnings.is_empty(), says == [false, false], "{name}: {warnings}");
    }
    let all = of("values", &without);
    assert!(all.contains("one `origin` for all files, such as \"8 47\""), "{all}");
    assert!(all.contains("one `epoch` for all files, such as \"1777629600\""), "{all}");
    // The given one of two is right.
    let second = without.replace(
        "movement_file.path = \"b.gpx\"",
        "movement_file.path = \"b.gpx\"\nmovement_file.origin = \"8.1 46.9\"",
    );
    let given = of("given", &second);
    assert!(given.contains("such as \"8.1 46.9\""), "{given}");
}

#[test]
fn files_in_which_nothing_moves_during_the_run_are_warned_of() {
    let table = "[nodes]\nplacement = \"mobility\"\n[routing]\nprotocol = \"oracle\"\n[[flow]]\nfrom = 0\nto = 1\n\
                 [mobility]\nmodel = \"movement_file\"\n[mobility.movement_file]\npath = \"a.gpx\"\n";
    let rows = |from: u64| format!("time,node,x,y\n{from},0,0,0\n{from},1,50,0\n{0},0,10,0\n{0},1,60,0\n", from + 10);
    let setdest = |at: u32| {
        let places = "$node_(0) set X_ 0\n$node_(0) set Y_ 0\n$node_(1) set X_ 50\n$node_(1) set Y_ 0\n";
        format!("{places}$ns_ at {at} \"$node_(1) setdest 60 0 5\"\n")
    };
    for (name, file, keys, words) in [
        ("inside", rows(2), "", ""),
        ("after", rows(1_777_000_000), "", "1777000000 s, is 1777000000.000 s after the start of the run"),
        ("first", rows(1_777_000_000), "epoch = \"first\"\n", ""),
        (
            "before",
            rows(2),
            "epoch = \"12\"\n",
            "the last time in a.gpx, 12 s, is not after the start of the run, 12 s",
        ),
        ("late", setdest(7), "", "the first movement in a.gpx is at 7 s, and the run ends at 5 s"),
        ("moves", setdest(4), "", ""),
    ] {
        let warnings = warnings(name, [&file, ""], &format!("{table}{keys}")).join("\n");
        assert!(warnings.contains(words), "{name}: {warnings}");
        assert_eq!(warnings.is_empty(), words.is_empty(), "{name}: {warnings}");
    }
}
