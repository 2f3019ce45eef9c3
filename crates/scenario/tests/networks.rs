//! Networks that cannot be: every mistake is said at once, each with its line and what to do about it.

use std::path::Path;

use hopyard_scenario::Scenario;

fn refused(text: &str) -> String {
    Scenario::load(text, "bad.toml", Path::new(""), &[]).expect_err("it is refused").to_string()
}

/// The number of the line that contains some words.
fn line(text: &str, words: &str) -> usize {
    1 + text.lines().position(|line| line.contains(words)).unwrap_or_else(|| panic!("{words}"))
}

/// Whether one problem has this message, in the line with these words, with this said below it.
fn assert_said(text: &str, shown: &str, message: &str, at: &str, below: &str) {
    let problem = shown.split("\n\n").find(|it| it.contains(message)).unwrap_or_else(|| panic!("{message}:\n{shown}"));
    assert!(problem.contains(&format!("bad.toml:{}:", line(text, at))), "line of \"{at}\":\n{problem}");
    assert!(problem.contains(below), "\"{below}\":\n{problem}");
}

const BAD: &str = r#"duration = "5 s"
[nodes]
count = 5
spacing = "100 m"
wired = 1
network = "10.1.0.0/16"
[routing]
protocol = "oracle"
[mac]
model = "tdma"
tdma.schedule = [0, 1, 2, 3, 4, 9]
[[channel]]
nodes = [1, 8]
network = "10.1.4.0/24"
[[channel]]
nodes = [2, 2]
[[address]]
node = 0
address = "10.1.0.9"
[[address]]
node = 1
address = "10.1.0.9" # again
[[address]]
node = 2
address = "192.168.77.1"
[[address]]
node = 7
address = "10.1.0.10"
[[address]]
node = 4
address = "10.1.0.0"
[[wire]]
between = [3, 7]
[[tunnel]]
between = [0, 11]
carries = ["10.9.0.0/16"]
[[flow]]
from = 0
to = 1
"#;

#[test]
fn every_mistake_of_a_network_is_said_at_once() {
    let shown = refused(BAD);
    for (message, at, below) in [
        ("expected nodes with a radio on this channel, found 9", "tdma.schedule", "nodes 0 to 4 have a radio"),
        ("there is no node 8", "[1, 8]", "expected 0 to 4: there are 5 nodes with a radio"),
        ("node 2 has two radios on this channel", "[2, 2]", "expected each node once"),
        ("overlapping prefixes, 10.1.0.0/16 and 10.1.4.0/24", "10.1.4.0/24", "give one of them another prefix"),
        ("two interfaces of channel 0 have the address 10.1.0.9", "# again", "another address"),
        (
            "node 2 has no interface in whose prefix the address 192.168.77.1",
            "192.168.77.1",
            "for each of its channels",
        ),
        ("there is no node 7", "node = 7", "expected 0 to 5"),
        ("expected an address of a host in 10.1.0.0/16", "\"10.1.0.0\"", "belong to no host"),
        ("there is no node 7", "[3, 7]", "`wired` in [nodes] adds nodes that have wires only"),
        ("there is no node 11", "[0, 11]", "expected 0 to 5"),
    ] {
        if message == "there is no node 7" {
            let at = format!("bad.toml:{}:", line(BAD, at));
            let problem = shown.split("\n\n").find(|it| it.contains(message) && it.contains(&at));
            assert!(problem.is_some_and(|it| it.contains(below)), "{at} {below}:\n{shown}");
        } else {
            assert_said(BAD, &shown, message, at, below);
        }
    }
    assert!(shown.contains("10 problems found"), "{shown}");
}

#[test]
fn networks_announced_within_the_ad_hoc_network_are_said_beside_wrong_addresses() {
    let text = "[nodes]\ncount = 3\nnetwork = \"10.0.0.0/8\"\n[routing]\nprotocol = \"olsr\"\nolsr.hna = \"listed\"\n\
        olsr.hna_networks = [\"10.2.0.0/16\"]\n[[wire]]\nbetween = [0, 1]\nnetwork = \"10.1.0.0/16\"\n\
        [[flow]]\nfrom = 0\nto = 1\n";
    let shown = refused(text);
    assert_said(text, &shown, "overlapping prefixes, 10.0.0.0/8 and 10.1.0.0/16", "10.1.0.0/16", "another prefix");
    assert_said(text, &shown, "10.2.0.0/16 is a part of the ad hoc network", "10.2.0.0/16", "beyond the gateways");
    assert!(shown.contains("2 problems found"), "{shown}");
}

/// The scenario is read without a mistake, with this many warnings.
fn accepted(text: &str, warnings: usize) -> Scenario {
    let scenario = Scenario::load(text, "bad.toml", Path::new(""), &[]).unwrap_or_else(|problems| panic!("{problems}"));
    assert_eq!(scenario.warnings().len(), warnings, "{:?}", scenario.warnings());
    scenario
}

#[test]
fn wired_nodes_have_no_radio_on_any_channel() {
    let text =
        "[nodes]\ncount = 3\nwired = 4\n[[channel]]\nnodes = [1, 3, 5, 6, 9, 10, 11]\n[[flow]]\nfrom = 0\nto = 1\n";
    let shown = refused(text);
    assert_said(text, &shown, "nodes 3, 5 and 6 belong to the `wired` ones", "nodes = [1", "radio, 0 to 2");
    assert_said(text, &shown, "there are no nodes 9 to 11", "nodes = [1", "there are 3 nodes with a radio");
    assert_said(text, &shown, "nodes 3, 5 and 6", "nodes = [1", "in `count` of [nodes], and not in `wired`");
}

#[test]
fn an_interface_is_given_one_address_and_a_free_prefix() {
    let text = r#"[nodes]
count = 3
network = "127.0.0.0/8"
[[address]]
node = 1
address = "127.0.0.7"
[[address]]
node = 1
address = "127.0.0.8"
[[channel]]
nodes = [0, 1]
network = "224.0.0.0/4"
[[wire]]
between = [0, 2]
network = "169.254.3.0/24"
[[flow]]
from = 0
to = 1
"#;
    let shown = refused(text);
    for (message, at, below) in [
        ("channel 0 cannot have the prefix 127.0.0.0/8", "\"127.0.0.0/8\"", "a private prefix"),
        ("channel 1 cannot have the prefix 224.0.0.0/4", "224.0.0.0/4", "a private prefix"),
        ("wire 0 cannot have the prefix 169.254.3.0/24", "169.254.3.0/24", "a private prefix"),
        (
            "the interface of node 1 on channel 0 is given a second address, 127.0.0.8 besides 127.0.0.7",
            "127.0.0.8",
            "an interface has one address",
        ),
    ] {
        assert_said(text, &shown, message, at, below);
    }
    assert!(shown.contains("4 problems found"), "{shown}");
}

#[test]
fn prefixes_that_are_not_given_leave_room_for_those_that_are() {
    let flow = "[[flow]]\nfrom = 0\nto = 1\n[routing]\nprotocol = \"oracle\"\n";
    let wires = "[[wire]]\nbetween = [0, 2]\n[[wire]]\nbetween = [1, 2]\n";
    accepted(&format!("[nodes]\ncount = 3\nnetwork = \"192.168.0.0/29\"\n{wires}{flow}"), 0);
    let channel = "[[channel]]\nnodes = [0, 1]\nnetwork = \"10.1.0.0/16\"\n";
    accepted(&format!("[nodes]\ncount = 3\n{channel}{flow}"), 0);
    // More channels than 172.16.0.0/12 has prefixes.
    let spec =
        accepted(&format!("[nodes]\ncount = 3\n{}{flow}", "[[channel]]\nnodes = [0, 1]\n".repeat(40)), 0).spec(0);
    let world = hopyard_model::world::World::new(&spec).expect("a world");
    let node = hopyard_model::address::NodeId(1);
    assert_eq!(world.addresses(node).last().map(ToString::to_string).as_deref(), Some("100.87.0.2"));
    let text = format!("[nodes]\ncount = 3\n{}{flow}", "[[channel]]\nnodes = [0, 1]\n".repeat(90));
    let shown = refused(&text);
    assert!(shown.contains("no prefix is left for channel 81") && shown.contains("give one with `network`"), "{shown}");
    assert!(shown.ends_with("\n1 problem found\n"), "{shown}");
}

#[test]
fn a_million_hosts_without_a_wire_are_one_warning() {
    let flow = "[[flow]]\nfrom = 0\nto = 1\n[[wire]]\nbetween = [2, 3]\n";
    let scenario = accepted(&format!("[nodes]\ncount = 2\nwired = 50000\n{flow}"), 1);
    let message = &scenario.warnings()[0].message;
    assert_eq!(message, "nodes 4 to 50001 have neither a radio nor a wire");
}

#[test]
fn a_channel_has_one_mac() {
    let text = "[nodes]\ncount = 2\n[mac]\nmodel = [\"dcf\", \"tdma\"]\n[[channel]]\nnodes = [0]\nmac = [\"dcf\"]\n";
    let shown = refused(text);
    assert_said(text, &shown, "`model` is the list `[\"dcf\", \"tdma\"]`", "model = ", "expected text in quotes");
    assert_said(text, &shown, "`mac` is the list `[\"dcf\"]`", "mac = [", "expected text in quotes");
    // The table of a MAC that the channel does not use has no effect, and a warning says so.
    let text = "[nodes]\ncount = 2\n[[channel]]\nnodes = [0, 1]\nmac = \"dcf\"\ntdma.slot = \"9 ms\"\n[[flow]]\nfrom = 0\nto = 1\n";
    let scenario = Scenario::load(text, "bad.toml", Path::new(""), &[]).unwrap_or_else(|problems| panic!("{problems}"));
    let warnings: Vec<_> = scenario.warnings().iter().map(|it| (it.message.clone(), it.location())).collect();
    let (message, location) = warnings.first().expect("a warning");
    assert!(message.contains("`tdma` is not used here: the mac model is `dcf`"), "{warnings:?}");
    assert_eq!(location.as_ref().map(|it| it.line), Some(6));
}

/// One rule for all rooms: the table of a model in its section is the default of the tables in lists, and one of a
/// model that nothing selects is warned of.
#[test]
fn tables_of_models_are_defaults_or_not_used() {
    let text = |mac: &str, own: &str| {
        format!(
            "[nodes]\ncount = 2\n[mac.tdma]\nslot = \"9 ms\"\n[radio.log_distance]\nexponent = 2.5\n[[channel]]\n\
             nodes = [0, 1]\nmac = \"{mac}\"\npropagation = \"log_distance\"\n{own}[[flow]]\nfrom = 0\nto = 1\n"
        )
    };
    let slot = |scenario: &Scenario| match &scenario.spec(0).channels[1].mac {
        hopyard_model::mac::Config::Tdma(params) => params.slot.to_string(),
        other => panic!("{other:?}"),
    };
    assert_eq!(slot(&accepted(&text("tdma", ""), 0)), "9 ms");
    assert_eq!(slot(&accepted(&text("tdma", "tdma.schedule = [0, 1]\n"), 0)), "9 ms");
    assert_eq!(slot(&accepted(&text("tdma", "tdma.slot = \"8 ms\"\n"), 0)), "8 ms");
    let scenario = accepted(&text("dcf", ""), 1);
    assert_eq!(scenario.warnings()[0].message, "[mac.tdma] is not used: the scenario has no mac model `tdma`");
}

#[test]
fn groups_need_a_leader_and_form_no_circle() {
    let text = r#"[nodes]
count = 5
spacing = "100 m"
[[movement]]
nodes = [1]
model = "group"
[[movement]]
nodes = [2]
group.leader = 3
model = "group"
[[movement]]
nodes = [3]
group.leader = 2 # a circle
model = "group"
[[movement]]
nodes = [4]
group.leader = 4
model = "group"
"#;
    let shown = refused(text);
    assert_said(text, &shown, "the group has no leader", "[[movement]]", "expected `leader` in [movement.group]");
    assert_said(text, &shown, "node 4 follows itself", "group.leader = 4", "expected another node");
    let circle = text.replace(
        "model = \"group\"\n[[movement]]\nnodes = [2]",
        "group.leader = 0\nmodel = \"group\"\n[[movement]]\nnodes = [2]",
    );
    let circle = circle.replace("group.leader = 4", "group.leader = 0");
    let shown = refused(&circle);
    assert_said(
        &circle,
        &shown,
        "nodes 2 and 3 follow each other in a circle",
        "group.leader = 3",
        "another movement model",
    );
}

#[test]
fn a_wrong_element_of_a_list_hides_no_other_mistake() {
    let text = r#"[nodes]
count = 3
[[channel]]
nodes = [0, "a", 1, -2, 2.5]
[[channel]]
nodes = [0]
mac = "csma"
[[channel]]
nodes = [0, 7]
[[movement]]
nodes = [1]
model = "teleport"
[[movement]]
nodes = [8]
[[flow]]
from = 0
to = 1
traffic = "nothing"
[[flow]]
from = 0
to = 9
[[wire]]
between = ["x", "y"]
[measure]
series = ["cwnd", "cwmd", "rtt", 3]
"#;
    let shown = refused(text);
    for (message, at, below) in [
        ("`nodes` has the text \"a\" in it", "\"a\"", "a whole number"),
        ("`nodes` has `-2` in it", "\"a\"", "a whole number"),
        ("`nodes` has `2.5` in it", "\"a\"", "a whole number"),
        ("`csma`", "csma", "dcf"),
        ("there is no node 7", "[0, 7]", "0 to 2"),
        ("`teleport`", "teleport", "waypoints"),
        ("there is no node 8", "[8]", "0 to 2"),
        ("`nothing`", "nothing", "ftp"),
        ("there is no node 9", "to = 9", "0 to 2"),
        ("`between` has the text \"x\" in it", "\"x\"", "a whole number"),
        ("`between` has the text \"y\" in it", "\"x\"", "a whole number"),
        ("`series` has the word `cwmd` in it", "cwmd", "`cwnd`"),
    ] {
        assert_said(text, &shown, message, at, below);
    }
    assert!(shown.contains("14 problems found"), "{shown}");
}

#[test]
fn a_wire_goes_down_when_it_is_up() {
    let text = r#"[nodes]
count = 3
[routing]
protocol = "oracle"
[[wire]]
between = [0, 1]
[[wire.down]]
from = "0 s"
to = "2 s"
[[wire.down]]
from = "1.5 s" # too early
to = "3 s"
[[wire.down]]
from = "7 s" # backwards
to = "6 s"
[[wire]]
between = [1, 2]
down = [
    { from = "5 s" }, # for ever
    { from = "8 s", to = "9 s" }, # late
    { from = "8 s", until = "9 s" },
]
[[flow]]
from = 0
to = 2
"#;
    for (text, places) in [
        (text.to_owned(), ["10:1", "13:1", "21:21"]),
        (text.replace("    { from = \"8 s\", until = \"9 s\" },\n", ""), ["10:1", "13:1", "20:5"]),
    ] {
        let shown = refused(&text);
        for (place, below) in places.into_iter().zip([
            "the link goes down at 1.5 s, but is down already, until 2 s",
            "the link is down from 7 s to 6 s: it must come up after it goes down",
            if text.contains("until =") {
                "expected `from` or `to`"
            } else {
                "down at 8 s, but is down already, for ever"
            },
        ]) {
            let problem = shown.split("\n\n").find(|it| it.contains(below));
            let problem = problem.unwrap_or_else(|| panic!("{below}:\n{shown}"));
            assert!(problem.contains(&format!("bad.toml:{place}")), "{place}:\n{problem}");
        }
        let count = if text.contains("until =") { 4 } else { 3 };
        assert!(shown.contains(&format!("{count} problems found")), "{shown}");
    }
    let wire = |down: &str| {
        let text = format!("[nodes]\ncount = 2\n[[wire]]\nbetween = [0, 1]\n{down}\n[[flow]]\nfrom = 0\nto = 1\n");
        let scenario = Scenario::load(&text, "good.toml", Path::new(""), &[]).unwrap_or_else(|p| panic!("{p}"));
        (scenario.hash(), scenario.to_value(true)["wire"][0]["down"].clone())
    };
    let (plain, none) = wire("");
    let (listed, at) = wire("down = [{ from = \"7250 ms\", to = \"9.25 s\" }, { from = \"20 s\" }]");
    let (tables, _) = wire("[[wire.down]]\nfrom = \"7.25 s\"\nto = \"9.25 s\"\n[[wire.down]]\nfrom = \"20 s\"");
    assert_eq!(none, serde_json::json!([]));
    assert_eq!(at, serde_json::json!([{"from": "7.25 s", "to": "9.25 s"}, {"from": "20 s"}]));
    assert!(listed == tables && listed != plain);
}

#[test]
fn a_wire_replays_a_schedule() {
    let text = |replay: &str| {
        format!("[nodes]\nwired = 2\n[[wire]]\nbetween = [0, 1]\n{replay}\n[[flow]]\nfrom = 0\nto = 1\n")
    };
    let wire = |replay: &str| {
        let scenario = Scenario::load(&text(replay), "good.toml", Path::new(""), &[]).unwrap_or_else(|p| panic!("{p}"));
        (scenario.hash(), scenario.to_value(true)["wire"][0]["replay"].clone())
    };
    let (listed, shown) =
        wire("replay = [{ from = \"0 s\", delay = \"7250 us\" }, { from = \"2 s\", delay = \"9 ms\", loss = 0.5 }]");
    let (tables, _) = wire(
        "[[wire.replay]]\nfrom = \"0 ms\"\ndelay = \"7.25 ms\"\n[[wire.replay]]\nfrom = \"2 s\"\ndelay = \"9 ms\"\nloss = 0.5",
    );
    let (packets, _) =
        wire("replay = [{ packet = 0, delay = \"7250 us\" }, { packet = 2, delay = \"9 ms\", loss = 0.5 }]");
    let (back, _) =
        wire("replay_back = [{ packet = 0, delay = \"7250 us\" }, { packet = 2, delay = \"9 ms\", loss = 0.5 }]");
    let first = serde_json::json!({"from": "0 s", "delay": "7.25 ms", "loss": 0.0});
    assert_eq!(shown, serde_json::json!([first, {"from": "2 s", "delay": "9 ms", "loss": 0.5}]));
    assert!(listed == tables && listed != packets && packets != back, "{listed:x} {tables:x} {packets:x} {back:x}");
    let shown = refused(&text(
        "replay = [\n{ delay = \"1 ms\" },\n{ from = \"1 s\", delay = \"1 ms\", loss = 2.0 },\n{ packet = 3, delay = \"1 ms\" }]",
    ));
    for (place, below) in [
        ("6:1", "an entry begins at a time, `from`, or with a `packet`"),
        ("7:40", "`loss` must lie between 0 and 1, found 2"),
        ("8:1", "all entries of a direction begin at times, or all of them with packets"),
    ] {
        let problem = shown.split("\n\n").find(|it| it.contains(below));
        let problem = problem.unwrap_or_else(|| panic!("{below}:\n{shown}"));
        assert!(problem.contains(&format!("bad.toml:{place}")), "{place}:\n{problem}");
    }
    assert!(shown.contains("3 problems found"), "{shown}");
}
