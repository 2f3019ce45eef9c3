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
