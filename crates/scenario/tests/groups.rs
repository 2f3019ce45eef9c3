//! Groups in scenarios: members keep their offsets, and whom nobody can follow is reported with its place.

use std::path::Path;

use hopyard_engine::Streams;
use hopyard_model::address::NodeId;
use hopyard_model::mobility::{Leg, Nodes};
use hopyard_model::world::{NodeSpec, Watch, World};
use hopyard_scenario::Scenario;

fn load(text: &str) -> Result<Scenario, String> {
    Scenario::load(&format!("{text}[[flow]]\nfrom = 0\nto = 1\n"), "s.toml", Path::new(""), &[])
        .map_err(|problems| problems.to_string())
}

/// The first legs of every node in a run.
fn legs(scenario: &Scenario, run: u64) -> Vec<Vec<Leg>> {
    let spec = scenario.spec(run);
    let specs: Vec<_> = spec.nodes.iter().map(NodeSpec::movement).collect();
    let nodes = Nodes::new(&specs, Streams::new(spec.seed, run));
    (0..specs.len() as u32)
        .map(|node| {
            let mut model = nodes.movement(NodeId(node)).expect("a movement");
            (0..10).map(|_| model.next_leg()).collect()
        })
        .collect()
}

fn offset(leader: &Leg, member: &Leg) -> (f64, f64) {
    assert_eq!((leader.start, leader.until), (member.start, member.until));
    assert_eq!(leader.velocity, member.velocity);
    let way = member.from - leader.from;
    ((way.x * 1e6).round() / 1e6, (way.y * 1e6).round() / 1e6)
}

const LEADERS: &str = "duration = \"20 s\"\n[nodes]\ncount = 6\nplacement = \"grid\"\ncolumns = 3\nspacing = \"50 m\"\n\
    [[movement]]\nnodes = [0, 3]\nmodel = \"random_waypoint\"\n";

#[test]
fn positions_give_the_shape_of_a_group() {
    let text = format!(
        "{LEADERS}[[movement]]\nnodes = [1, 2]\nmodel = \"group\"\n[movement.group]\nleader = 0\n\
         [[movement]]\nnodes = [4, 5]\nmodel = \"group\"\ngroup.leader = 3\n"
    );
    let scenario = load(&text).unwrap_or_else(|shown| panic!("{shown}"));
    let alone = load(LEADERS).unwrap_or_else(|shown| panic!("{shown}"));
    for run in 0..3 {
        let (legs, alone) = (legs(&scenario, run), legs(&alone, run));
        for leader in [0, 3] {
            assert_eq!(legs[leader], alone[leader], "members disturb no leader");
            for (leg, ahead) in legs[leader + 1].iter().zip(&legs[leader]) {
                assert_eq!(offset(ahead, leg), (50.0, 0.0));
            }
            for (leg, ahead) in legs[leader + 2].iter().zip(&legs[leader]) {
                assert_eq!(offset(ahead, leg), (100.0, 0.0));
            }
        }
        assert_ne!(legs[0], legs[3]);
    }
    // A fixed offset goes before the positions, and the order of the tables has no effect.
    let text = "duration = \"20 s\"\n[mobility]\nmodel = \"group\"\n[mobility.group]\nleader = 2\n\
        offset = [\"-5 m\", \"0.5 km\"]\n[nodes]\ncount = 3\n[[movement]]\nnodes = [1]\nmodel = \"group\"\n\
        [[movement]]\nnodes = [2]\nmodel = \"random_waypoint\"\n[movement.random_waypoint]\nspeed_min = \"2 m/s\"\n";
    let scenario = load(text).unwrap_or_else(|shown| panic!("{shown}"));
    let legs = legs(&scenario, 0);
    assert_eq!((offset(&legs[2][4], &legs[0][4]), offset(&legs[2][4], &legs[1][4])), ((-5.0, 500.0), (-5.0, 500.0)));
    let world = World::new(&scenario.spec(0)).expect("it can be built");
    assert!(world.run(&Watch::default()).is_ok());
}

#[test]
fn every_fault_is_reported_with_its_line() {
    let text = "duration = \"20 s\"\n[nodes]\ncount = 9\n\
        [[movement]]\nnodes = [0]\nmodel = \"group\"\n\
        [[movement]]\nnodes = [1, 2]\nmodel = \"group\"\n[movement.group]\nleader = 2\n\
        [[movement]]\nnodes = [3]\nmodel = \"group\"\n[movement.group]\nleader = 9\n\
        [[movement]]\nnodes = [4, 7]\nmodel = \"group\"\n[movement.group]\nleader = 5\n\
        [[movement]]\nnodes = [5]\nmodel = \"group\"\n[movement.group]\nleader = 6\n\
        [[movement]]\nnodes = [6]\nmodel = \"group\"\n[movement.group]\nleader = 5\n";
    let shown = load(text).expect_err("four faults");
    for words in [
        "the group has no leader\n --> s.toml:4:1",
        "`leader` in [movement.group]: the number of the node that is followed",
        "node 2 follows itself\n  --> s.toml:11:10",
        "leave node 2 out of `nodes`",
        "there is no node 9\n  --> s.toml:16:10",
        "0 to 8: there are 9 nodes with a radio",
        "nodes 5 and 6 follow each other in a circle\n  --> s.toml:26:10",
        "a leader that follows none of them",
        "\n4 problems found\n",
    ] {
        assert!(shown.contains(words), "{words}: {shown}");
    }
}

#[test]
fn a_leader_of_all_nodes_needs_a_model_of_its_own() {
    let common = "[nodes]\ncount = 3\n[mobility]\nmodel = \"group\"\n";
    let shown = load(common).expect_err("no leader");
    assert!(shown.contains("no leader") && shown.contains("[mobility.group]"), "{shown}");
    let shown = load(&format!("{common}[mobility.group]\nleader = 0\n")).expect_err("it follows itself");
    assert!(shown.contains("node 0 follows itself") && shown.contains("in a [[movement]] table"), "{shown}");
    assert!(shown.contains("s.toml:6:10"), "{shown}");
    let other =
        "[mobility.group]\nleader = 0\n[[movement]]\nnodes = [0]\nmodel = \"group\"\n[movement.group]\nleader = 2\n";
    let shown = load(&format!("{common}{other}")).expect_err("a circle");
    assert!(shown.contains("nodes 0 and 2 follow each other in a circle") && shown.contains("s.toml:11"), "{shown}");
    let fine = "[mobility.group]\nleader = 0\n[[movement]]\nnodes = [0]\nmodel = \"stationary\"\n";
    assert!(load(&format!("{common}{fine}")).is_ok());
}

#[test]
fn offsets_follow_from_something_and_differ() {
    let text = |offset: &str| {
        format!(
            "duration = \"20 s\"\n[nodes]\ncount = 4\n[mobility]\nmodel = \"random_waypoint\"\n\
             [[movement]]\nnodes = [1, 3]\nmodel = \"group\"\n[movement.group]\nleader = 0\n{offset}"
        )
    };
    let shown = load(&text("")).expect_err("no positions");
    let words =
        ["the offset of node 1 follows", "`offset` in [movement.group]", "`placement` or `positions` in [nodes]"];
    assert!(words.iter().all(|words| shown.contains(words)), "{shown}");
    let warnings = load(&text("offset = [\"50 m\", \"0 m\"]\n")).unwrap_or_else(|shown| panic!("{shown}"));
    let shown: Vec<_> = warnings.warnings().iter().map(ToString::to_string).collect();
    assert!(shown.len() == 1 && shown[0].contains("nodes 1 and 3 have the same offset"), "{shown:?}");
}
