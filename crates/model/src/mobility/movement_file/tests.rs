use hopyard_engine::{Streams, Time};
use serde_json::json;

use super::*;
use crate::mobility::files::Reading;
use crate::mobility::{Config, Movements, Position, Spec};

const SETDEST: &str = "# two nodes\n$node_(1) set X_ 1\n$node_(1) set Y_ 2\n$node_(2) set X_ 30\n$node_(2) set Y_ 40\n\
    $ns_ at 2 \"$node_(1) setdest 11 2 5\"\n";

fn read(text: &str) -> Movements {
    Movements::read("scene", text.as_bytes(), &Reading::default()).expect("a movement file")
}

fn build(value: &Value, node: u32, movements: Option<&Movements>) -> Result<Leg, BuildError> {
    let config = Config::read("movement_file", value).expect("parameters");
    let specs = vec![Spec { model: &config, start: Position::default(), movements, table: 0 }; node as usize + 1];
    Nodes::new(&specs, Streams::new(1, 0)).movement(NodeId(node)).map(|mut model| model.next_leg())
}

fn file(first_node: u32) -> Value {
    json!({
        "path": "scene.tcl", "format": "detect", "dimensions": "detect", "first_node": first_node,
        "nodes": "from_first_node", "origin": "first", "epoch": "detect",
    })
}

#[test]
fn a_node_follows_its_track_by_number() {
    let movements = read(SETDEST);
    assert_eq!(build(&file(1), 0, Some(&movements)).expect("node 1").from, Position::ground(1.0, 2.0));
    let still = build(&file(1), 1, Some(&movements)).expect("node 2");
    assert_eq!(still, Leg::still(Time::ZERO, Position::ground(30.0, 40.0)));
}

#[test]
fn nodes_of_a_file_with_gaps_are_taken_in_order_or_by_number() {
    let movements = read(&SETDEST.replace("(2)", "(4)"));
    let start = |nodes: Value, node| {
        let mut file = file(0);
        file["nodes"] = nodes;
        build(&file, node, Some(&movements)).map(|leg| (leg.from.x, leg.from.y))
    };
    assert_eq!((start(json!("all"), 0), start(json!("all"), 1)), (Ok((1.0, 2.0)), Ok((30.0, 40.0))));
    assert_eq!((start(json!([4, 1]), 0), start(json!([4, 1]), 1)), (Ok((30.0, 40.0)), Ok((1.0, 2.0))));
    assert!(start(json!("all"), 2).is_err() && start(json!([2]), 0).is_err());
    for (key, value, words) in [
        ("nodes", json!([1, 1]), "expected each node once, found 1 again"),
        ("nodes", json!([]), "or a list of numbers in the file such as [1, 4]"),
        ("first_node", json!(1), "expected 0 where `nodes` says"),
    ] {
        let mut file = file(0);
        file["nodes"] = json!("all");
        file[key] = value;
        let error = params::read::<Params>(&file).expect_err(words).to_string();
        assert!(error.contains(words), "{error}");
    }
}

#[test]
fn nodes_that_are_not_in_the_file_are_named() {
    let movements = read(SETDEST);
    let error = build(&file(1), 7, Some(&movements)).expect_err("no node 8").to_string();
    assert_eq!(error, "the movement file \"scene.tcl\" has no node 8; it has 2 nodes, 1 to 2");
    assert!(build(&file(u32::MAX), 7, Some(&movements)).is_err());
    let error = build(&file(1), 0, None).expect_err("not read").to_string();
    assert_eq!(error, "the movement file \"scene.tcl\" has not been read");
}
