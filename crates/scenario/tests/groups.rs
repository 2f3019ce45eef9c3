//! Groups in scenarios: members keep their offsets, and whom nobody can follow is reported with its place.

use std::path::Path;

use hopyard_engine::Streams;
use hopyard_model::address::NodeId;
use hopyard_model::mobility::{Leg, Nodes};
use hopyard_model::world::{self, NodeSpec, Watch};
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
    assert!(world::simulate(&scenario.spec(0), &Watch::default()).is_ok());
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

const FORMED: &str = "duration = \"20 s\"\n[mobility]\nmodel = \"reference_point_group\"\n";

/// What loading says, without the flow that `load` adds.
fn shown(text: &str) -> String {
    match Scenario::load(text, "s.toml", Path::new(""), &[]) {
        Ok(scenario) => scenario.warnings().iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"),
        Err(problems) => problems.to_string(),
    }
}

#[test]
fn groups_are_formed_in_the_order_of_the_numbers() {
    let scenario = load(&format!("{FORMED}[nodes]\ncount = 14\n")).unwrap_or_else(|shown| panic!("{shown}"));
    let spec = scenario.spec(0);
    let specs: Vec<_> = spec.nodes.iter().map(NodeSpec::movement).collect();
    let nodes = Nodes::new(&specs, Streams::new(spec.seed, 0));
    let heads: Vec<u32> = (0..14).map(|node| nodes.head(NodeId(node)).0).collect();
    assert_eq!(heads, [0, 0, 0, 0, 0, 0, 6, 6, 6, 6, 6, 6, 12, 12]);
    // Tables form their own groups; nodes that do not move are in none.
    let table = "[[movement]]\nnodes = [1, 3, 9]\nmodel = \"stationary\"\n[[movement]]\nnodes = [2, 4, 5, 7]\n\
        model = \"reference_point_group\"\nreference_point_group.groups = 2\n";
    let scenario = load(&format!("{FORMED}[nodes]\ncount = 10\n{table}")).unwrap_or_else(|shown| panic!("{shown}"));
    let spec = scenario.spec(0);
    let specs: Vec<_> = spec.nodes.iter().map(NodeSpec::movement).collect();
    let nodes = Nodes::new(&specs, Streams::new(spec.seed, 0));
    let heads: Vec<u32> = (0..10).map(|node| nodes.head(NodeId(node)).0).collect();
    assert_eq!(heads, [0, 1, 2, 3, 2, 5, 0, 5, 0, 9]);
    let outcome = world::simulate(&spec, &Watch::default()).expect("packets add up");
    assert_eq!(outcome.nodes[1].metric("legs_forced"), None, "it does not move");
    assert!(outcome.nodes[0].metric("legs_forced").is_some() && outcome.nodes[0].metric("group_changes") == Some(0));
}

#[test]
fn impossible_groups_are_reported_with_their_place() {
    let text = |keys: &str| format!("{FORMED}[mobility.reference_point_group]\n{keys}\n[nodes]\ncount = 8\n");
    for (keys, words) in [
        ("radius = \"600 m\"", "at most half of the area's shorter side (1 km), found 600 m"),
        ("radius = \"500 m\"", "leaves the centre no room to move"),
        ("groups = 9", "there are 9 groups, and only 8 nodes to form them"),
        ("speed_min = \"6 m/s\"", "no leg can keep both limits"),
        ("speed_max = \"1 m/s\"", "no leg can keep both limits"),
        ("speed_min = \"0 m/s\"", "a speed above zero"),
        ("radius = \"-1 m\"", "-1 m"),
        ("size_mean = -6.0", "at least 1, found -6"),
        ("size_spread = -1.0", "0 or more, found -1"),
        ("groups = -2", "-2"),
        ("speed_max = \"-5 m/s\"", "-5 m/s"),
        ("change = 2.0", "a probability from 0 to 1, found 2"),
        ("warm_up = \"-5 s\"", "-5 s"),
    ] {
        let shown = load(&text(keys)).expect_err(keys);
        assert!(shown.contains(words) && shown.contains("s.toml:5:"), "{keys}: {shown}");
        assert!(shown.contains("1 problem found"), "{keys}: {shown}");
    }
    // All at once, and an area of [nodes] that leaves no room for the default.
    let many = load(&text("radius = \"600 m\"\nsize_spread = -1.0\nchange = 2.0")).expect_err("three");
    assert!(many.contains("3 problems found"), "{many}");
    let small = load(&format!("{FORMED}[nodes]\ncount = 8\narea = [\"400 m\", \"900 m\"]\n")).expect_err("too small");
    assert!(small.contains("`radius` does not fit") && small.contains("shorter side (400 m), found 250 m"), "{small}");
    let table = "[[movement]]\nnodes = [0, 1]\nmodel = \"reference_point_group\"\nreference_point_group.groups = 3\n";
    let shown = load(&format!("duration = \"20 s\"\n[nodes]\ncount = 8\n{table}")).expect_err("three of two");
    assert!(shown.contains("there are 3 groups, and only 2 nodes") && shown.contains("s.toml:7:"), "{shown}");
    // As many groups as nodes are possible.
    assert!(load(&text("groups = 8")).is_ok());
}

#[test]
fn a_profile_of_the_model_keeps_the_area_of_the_nodes() {
    let text = |keys: &str| {
        let table = format!("[mobility.reference_point_group]\nprofile = \"bonnmotion\"\n{keys}");
        let scenario = load(&format!("{FORMED}{table}[nodes]\ncount = 8\narea = [\"90 m\", \"70 m\"]\n"));
        scenario.unwrap_or_else(|shown| panic!("{shown}")).to_value(true)["mobility"]["reference_point_group"].clone()
    };
    let values = text("");
    assert_eq!([&values["width"], &values["height"], &values["radius"]], ["90 m", "70 m", "2.5 m"]);
    let values = text("height = \"30 m\"\n");
    assert_eq!([&values["width"], &values["height"]], ["90 m", "30 m"]);
}

#[test]
fn flows_are_drawn_within_and_between_groups() {
    let sets = "[[flows]]\nrandom = 2\npairs = \"within_group\"\ntcp = \"vegas\"\nstart = [\"1 s\", \"2 s\"]\n\
        [[flows]]\nshare = 0.5\nudp = true\npairs = \"between_groups\"\nstart = [\"5 s\", \"5 s\"]\nstop = \"9 s\"\n\
        [flows.cbr]\nrate = \"20 kbps\"\n[[flows]]\nrandom = 1\ntcp = \"cubic\"\nwindow = 9\n";
    let text = format!(
        "{FORMED}[mobility.reference_point_group]\nsize_mean = 3.0\nsize_spread = 1.0\n[nodes]\ncount = 11\n{sets}"
    );
    let scenario = Scenario::load(&text, "s.toml", Path::new(""), &[]).unwrap_or_else(|shown| panic!("{shown}"));
    assert_eq!(scenario.warnings(), []);
    let mut pairs = std::collections::BTreeSet::new();
    for run in 0..20 {
        let spec = scenario.spec(run);
        let specs: Vec<_> = spec.nodes.iter().map(NodeSpec::movement).collect();
        let nodes = Nodes::new(&specs, Streams::new(spec.seed, run));
        assert_eq!(spec.flows.len(), 2 + 5 + 1);
        for (number, flow) in spec.flows.iter().enumerate() {
            let same = nodes.head(flow.from) == nodes.head(flow.to);
            let udp = matches!(flow.transport, world::Transport::Udp);
            assert_eq!(udp, (2..7).contains(&number));
            assert!(number == 7 || same == (number < 2), "{number}: {flow:?}");
            pairs.insert((flow.from, flow.to));
        }
    }
    assert!(pairs.len() > 60, "{} pairs", pairs.len());
    // Written out and read again, it is the same; another share is not.
    let again = Scenario::load(&scenario.to_toml(true), "s.toml", Path::new(""), &[]).unwrap_or_else(|p| panic!("{p}"));
    assert_eq!(again.hash(), scenario.hash());
    let other = [("flows.1.share".to_owned(), "0.6".to_owned())];
    let other = Scenario::load(&text, "s.toml", Path::new(""), &other).unwrap_or_else(|p| panic!("{p}"));
    assert_ne!(other.hash(), scenario.hash());
    // A comparison of variants applies to the sets over TCP.
    let tcp = [("flow.tcp".to_owned(), "veno".to_owned())];
    let tcp = Scenario::load(&text, "s.toml", Path::new(""), &tcp).unwrap_or_else(|p| panic!("{p}")).to_value(true);
    assert_eq!((&tcp["flows"][0]["tcp"], &tcp["flows"][2]["tcp"]), (&"veno".into(), &"veno".into()));
    assert!(tcp["flows"][1].get("tcp").is_none());
}

#[test]
fn a_list_of_one_set_is_the_set() {
    let text =
        |header: &str| format!("{FORMED}[nodes]\ncount = 11\n{header}\nrandom = 4\nstart = [\"1 s\", \"9 s\"]\n");
    let load = |text: String| Scenario::load(&text, "s.toml", Path::new(""), &[]).unwrap_or_else(|p| panic!("{p}"));
    let (one, list) = (load(text("[flows]")), load(text("[[flows]]")));
    assert_eq!(one.hash(), list.hash());
    let ends = |scenario: &Scenario| -> Vec<_> {
        scenario.spec(3).flows.iter().map(|flow| (flow.from, flow.to, flow.start)).collect()
    };
    assert_eq!(ends(&one), ends(&list));
}

#[test]
fn sets_that_cannot_be_drawn_are_reported() {
    let text = |groups: &str, set: &str| {
        format!("{FORMED}[mobility.reference_point_group]\n{groups}\n[nodes]\ncount = 8\n[[flows]]\n{set}\n")
    };
    for (groups, set, words) in [
        ("groups = 8", "random = 1\npairs = \"within_group\"", "every group has one node"),
        ("size_mean = 1.0", "share = 0.5\npairs = \"within_group\"", "every group has one node"),
        ("groups = 1", "random = 1\npairs = \"between_groups\"", "all nodes are in one group"),
        ("groups = 4", "random = 9\npairs = \"within_group\"", "there are only 8 ordered pairs within a group"),
        ("groups = 7", "share = 1.0\npairs = \"within_group\"", "`share` asks for 8 sources, and only 2 nodes"),
        ("groups = 4", "random = 57", "8 nodes with a radio make only 56 ordered pairs"),
        ("groups = 4", "pairs = \"any\"", "[[flows]] has no `random`"),
        ("groups = 4", "random = 1\nshare = 0.5", "either `random` or `share`"),
        ("groups = 4", "share = 1.5", "a share from 0 to 1"),
        ("groups = 4", "random = 1\npairs = \"inside\"", "within_group"),
        ("groups = 4", "random = 1\ntraffic = \"ftpp\"", "did you mean \"ftp\"?"),
        ("groups = 4", "random = 1\nudp = true\ntraffic = \"ftp\"", "`ftp` needs TCP"),
        ("groups = 4", "random = 1\nstart = [\"30 s\", \"31 s\"]", "after the end of the run"),
    ] {
        let shown = shown(&text(groups, set));
        assert!(shown.contains(words) && shown.contains("1 problem found"), "{groups}, {set}: {shown}");
    }
    // Without groups there are none to draw within.
    let shown_of = shown("duration = \"9 s\"\n[nodes]\ncount = 4\n[flows]\nrandom = 1\npairs = \"within_group\"\n");
    assert!(shown_of.contains("every group has one node") && shown_of.contains("s.toml:6:"), "{shown_of}");
    // Sizes that are drawn: in some run of many there are only groups of one.
    let drawn = shown(
        &text("size_mean = 1.0\nsize_spread = 0.7", "random = 1\npairs = \"within_group\"")
            .replace("count = 8", "count = 2"),
    );
    assert!(drawn.contains("every group has one node in run"), "{drawn}");
    // A share that rounds to none is a warning.
    let none =
        shown(&text("groups = 4", "share = 0.1").replace("[nodes]", "[routing]\nprotocol = \"oracle\"\n[nodes]"));
    assert!(none.contains("nobody sends: 0.1 of 8 nodes is 0.800, rounded down to none"), "{none}");
    assert!(!none.contains("problem found"), "{none}");
    // Both sets of a list are reported, each at its place.
    let two =
        text("groups = 8", "random = 1\npairs = \"within_group\"\n[[flows]]\nshare = 0.5\npairs = \"within_group\"");
    let shown = shown(&two);
    assert!(
        shown.contains("2 problems found") && shown.contains("s.toml:10:") && shown.contains("s.toml:13:"),
        "{shown}"
    );
}

#[test]
fn roaming_members_follow_the_rules_of_members() {
    let text = |keys: &str| {
        format!(
            "duration = \"20 s\"\n[nodes]\ncount = 6\nplacement = \"grid\"\ncolumns = 3\nspacing = \"50 m\"\n\
         [[movement]]\nnodes = [0, 3]\nmodel = \"random_waypoint\"\n\
         [[movement]]\nnodes = [1, 2]\nmodel = \"roaming_group\"\n[movement.roaming_group]\n{keys}\n"
        )
    };
    let scenario = load(&text("leader = 0\noffset = [\"9 m\", \"0 m\"]")).unwrap_or_else(|shown| panic!("{shown}"));
    assert_eq!(scenario.warnings(), [], "members with one offset are not at one place");
    let spec = scenario.spec(0);
    let specs: Vec<_> = spec.nodes.iter().map(NodeSpec::movement).collect();
    let nodes = Nodes::new(&specs, Streams::new(spec.seed, 0));
    assert_eq!([0, 1, 2, 3, 4].map(|node| nodes.head(NodeId(node)).0), [0, 0, 0, 3, 4]);
    for (keys, words) in [
        ("leader = 2", "node 2 follows itself"),
        ("leader = 9", "there is no node 9"),
        ("range = \"5 m\"", "the group has no leader"),
        ("leader = 0\nrange = \"0 m\"", "a distance above zero"),
        ("leader = 0\nspeed_min = \"2 m/s\"", "speed_min (2 m/s)"),
    ] {
        let shown = load(&text(keys)).expect_err(keys);
        assert!(shown.contains(words), "{keys}: {shown}");
    }
}
