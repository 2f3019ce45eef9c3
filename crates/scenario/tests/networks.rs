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
        ("there is no node 8", "[1, 8]", "expected 0 to 5"),
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
fn a_channel_has_one_mac() {
    let text = "[nodes]\ncount = 2\n[mac]\nmodel = [\"dcf\", \"tdma\"]\n[[channel]]\nnodes = [0]\nmac = [\"dcf\"]\n";
    let shown = refused(text);
    assert_said(text, &shown, "`model` has a list in it", "model = ", "expected text in quotes");
    assert_said(text, &shown, "`mac` has a list in it", "mac = [", "expected text in quotes");
    // The table of a MAC that the channel does not use has no effect, and a warning says so.
    let text = "[nodes]\ncount = 2\n[[channel]]\nnodes = [0, 1]\nmac = \"dcf\"\ntdma.slot = \"9 ms\"\n[[flow]]\nfrom = 0\nto = 1\n";
    let scenario = Scenario::load(text, "bad.toml", Path::new(""), &[]).unwrap_or_else(|problems| panic!("{problems}"));
    let warnings: Vec<_> = scenario.warnings().iter().map(|it| (it.message.clone(), it.location())).collect();
    let (message, location) = warnings.first().expect("a warning");
    assert!(message.contains("`tdma` is not used here: the mac model is `dcf`"), "{warnings:?}");
    assert_eq!(location.as_ref().map(|it| it.line), Some(6));
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
