//! Single nodes whose radio differs: how far they reach and hear, which routes avoid links that work in one direction
//! alone, and what is refused.

use std::path::Path;

use hopyard_model::observe::Outcome;
use hopyard_model::world::{self, Watch};
use hopyard_scenario::Scenario;

fn load_with(text: &str, settings: &[(&str, &str)]) -> Result<Scenario, String> {
    let settings: Vec<_> = settings.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    Scenario::load(text, "t.toml", Path::new("."), &settings).map_err(|problems| problems.to_string())
}

fn run(scenario: &Scenario) -> Outcome {
    world::simulate(&scenario.spec(0), &Watch::default()).expect("packets add up")
}

/// Two-ray ground whose power falls with the fourth power of distance from 86 m on.
const PATH_LOSS: &str = "two_ray_ground.frequency = \"914 MHz\"\n";

/// Whether datagrams arrive over so many metres without an answer, when node 1 has these keys.
fn arrives(from: u32, metres: f64, single: &str) -> bool {
    let text = format!(
        "duration = \"1 s\"\n[nodes]\npositions = [[0, 0], [{metres}, 0]]\n[radio]\n{PATH_LOSS}\
         single = [{{ nodes = [1], {single} }}]\n[mac]\nmodel = \"tdma\"\n[link.arp]\nresolution = \"off\"\n\
         [routing]\nprotocol = \"static\"\n[traffic.cbr]\ninterval = \"50 ms\"\npackets = 10\n\
         [[flow]]\nfrom = {from}\nto = {}\nudp = true\ntraffic = \"cbr\"\n",
        1 - from
    );
    let arrived = run(&load_with(&text, &[]).expect("a scenario")).flows[0].packets_unique;
    assert!(arrived == 0 || arrived == 10, "{arrived} of 10 over {metres} m");
    arrived > 0
}

#[test]
fn each_direction_has_its_own_range() {
    let range = |db: f64| 250.0 * libm::pow(10.0, db / 40.0);
    for (single, from_it, to_it) in [
        // 24.5 dBm reach 250 m.
        ("transmit_power = \"10 dBm\"", range(-14.5), 250.0),
        ("transmit_power = \"30 dBm\"", range(5.5), 250.0),
        ("gain = \"6 dB\"", range(6.0), range(6.0)),
        ("gain = \"-3 dB\", transmit_power = \"27.5 dBm\"", 250.0, range(-3.0)),
        ("receive = \"100 m\"", 250.0, 100.0),
        ("receive = \"300 m\", gain = \"2 dB\"", range(2.0), 300.0 * range(2.0) / 250.0),
    ] {
        for (from, range) in [(1, from_it), (0, to_it)] {
            assert!(arrives(from, range - 0.05, single), "{single}, from {from} over less than {range} m");
            assert!(!arrives(from, range + 0.05, single), "{single}, from {from} over more than {range} m");
        }
    }
}

/// Node 1 hears node 0, which does not hear it; node 2 stands between them. The MAC reports no frame that is lost.
fn one_way(radio: &str, asks: bool) -> Outcome {
    let text = format!(
        "duration = \"30 s\"\n[nodes]\npositions = [[0, 0], [200, 0], [100, 0]]\n[radio]\n{PATH_LOSS}{radio}\n\
         [mac]\nmodel = \"tdma\"\n[routing]\nprotocol = \"aodv\"\n[routing.aodv]\nlink_detection = \"hello\"\n\
         request_rrep_ack = {asks}\n[traffic.cbr]\ninterval = \"100 ms\"\n\
         [[flow]]\nfrom = 0\nto = 1\nudp = true\ntraffic = \"cbr\"\n"
    );
    run(&load_with(&text, &[]).expect("a scenario"))
}

#[test]
fn aodv_finds_links_of_one_direction_with_acknowledged_replies_alone() {
    let weak = "single = [{ nodes = [1], transmit_power = \"10 dBm\" }]";
    let (asked, blind) = (one_way(weak, true), one_way(weak, false));
    // Node 1 ignores requests of node 0 (RFC 3561 §6.8), so that node 2 is the way.
    assert!(asked.flows[0].packets_unique >= 290, "{}", asked.flows[0].packets_unique);
    assert_eq!(asked.flows[0].hops, Some(2.0));
    assert_eq!(blind.flows[0].packets_unique, 0);
    let alike = one_way("", false);
    assert!(alike.flows[0].packets_unique >= 290 && alike.flows[0].hops == Some(1.0));
}

#[test]
fn settings_reach_single_nodes() {
    let text = "[nodes]\npositions = [[0, 0], [200, 0]]\n[[radio.single]]\nnodes = [1]\ntransmit_power = \"10 dBm\"\n\
                [[flow]]\nfrom = 0\nto = 1\n";
    let power = |settings: &[(&str, &str)]| {
        let spec = load_with(text, settings).expect("a scenario").spec(0);
        spec.channels[0].radio.single[0].transmit_power.map(|power| power.to_string())
    };
    assert_eq!(power(&[]).as_deref(), Some("1e-2 W"));
    let watt = Some("1e0 W".to_owned());
    assert_eq!(power(&[("radio.single.0.transmit_power", "30 dBm")]), watt);
    assert_eq!(power(&[("radio.single", "[{ nodes = [0], transmit_power = \"30 dBm\" }]")]), watt);
}

#[test]
fn no_single_node_leaves_the_hash() {
    let text = "[nodes]\npositions = [[0, 0], [200, 0]]\n[[flow]]\nfrom = 0\nto = 1\n";
    let hash = |settings: &[(&str, &str)]| load_with(text, settings).expect("a scenario").hash();
    assert_eq!(hash(&[]), hash(&[("radio.single", "[]")]));
    assert_ne!(hash(&[]), hash(&[("radio.single", "[{ nodes = [0], gain = \"3 dB\" }]")]));
}

#[test]
fn impossible_single_nodes_are_refused_at_once() {
    let text = "[nodes]\npositions = [[0, 0], [200, 0]]\n[radio]\nsingle = [\n\
                { nodes = [] , gain = \"3 dB\" },\n{ nodes = [0] },\n{ nodes = [0], gain = \"3 dB\" },\n\
                { nodes = [1], gain = \"200 dB\" },\n{ nodes = [7], receive = \"40 km\" },\n]\n\
                [[flow]]\nfrom = 0\nto = 1\n";
    let problems = load_with(text, &[]).expect_err("it is impossible");
    for expected in [
        "t.toml:5",
        "at least one node in `nodes`",
        "t.toml:6",
        "the radios differ in nothing",
        "t.toml:7",
        "found node 0 again",
        "t.toml:8",
        "-100 to 100 dB, found 200 dB",
        "t.toml:9",
        "at most 25 km; found 40 km",
    ] {
        assert!(problems.contains(expected), "{expected}: {problems}");
    }
    let two = "[nodes]\npositions = [[0, 0], [200, 0]]\n[[flow]]\nfrom = 0\nto = 1\n";
    let of = |single: &str, more: &[(&str, &str)]| {
        let settings: Vec<_> = std::iter::once(("radio.single", single)).chain(more.iter().copied()).collect();
        load_with(two, &settings).expect_err("it is impossible")
    };
    let problems = of("[{ nodes = [2, 0, 9], gain = \"1 dB\" }]", &[]);
    assert!(problems.contains("no node 2") && problems.contains("no node 9"), "{problems}");
    let disc = [("radio.propagation", "range_disc"), ("radio.reception", "threshold")];
    let problems = of("[{ nodes = [0], gain = \"1 dB\" }]", &disc);
    assert!(problems.contains("with `range_disc`, the ranges decide what is received"), "{problems}");
    for (receive, more) in [("50 dBm", ""), ("24.5 dBm", ""), ("28 dBm", ", gain = \"3 dB\"")] {
        let problems = of(&format!("[{{ nodes = [0], receive = \"{receive}\"{more} }}]"), &[]);
        assert!(problems.contains("expected `receive` below the strongest power that is sent"), "{problems}");
    }
    // Another node sends with more.
    let strong = "[{ nodes = [0], receive = \"25 dBm\" }, { nodes = [1], transmit_power = \"1 W\" }]";
    load_with(two, &[("radio.single", strong)]).expect("it is possible");
    let problems = of("[{ nodes = [0], power = \"1 W\" }]", &[]);
    assert!(problems.contains("a table with the key `power` in it"), "{problems}");
    // Every fault of every table, each at its own place.
    let problems = load_with(
        "[nodes]\npositions = [[0, 0], [200, 0]]\n[[radio.single]]\nnodes = [9]\ngain = \"3 m\"\nfoo = 1\n\
         [[radio.single]]\nnodes = [0]\n[[radio.single]]\nnodes = [0]\ngain = \"200 dB\"\n[[flow]]\nfrom = 0\nto = 1\n",
        &[],
    );
    let problems = problems.expect_err("it is impossible");
    for expected in [
        "t.toml:4:9",
        "no node 9",
        "t.toml:5:8",
        "the text \"3 m\" in it",
        "t.toml:6:1",
        "the key `foo` in it",
        "t.toml:7:1",
        "the radios differ in nothing",
        "t.toml:10:9",
        "found node 0 again",
        "t.toml:11:8",
        "found 200 dB",
        "6 problems",
    ] {
        assert!(problems.contains(expected), "{expected}: {problems}");
    }
}

/// The range of the best pair of nodes counts, also where no node is as good as [radio] says.
#[test]
fn nodes_that_are_all_too_weak_are_warned_of() {
    let text = "[nodes]\ncount = 3\nspacing = \"50 m\"\n[[flow]]\nfrom = 0\nto = 1\n";
    let warned = |nodes: &str, more: &str| {
        let single = format!("[{{ nodes = {nodes}, {more} }}]");
        let scenario = load_with(text, &[("radio.single", &single)]).expect("a scenario");
        scenario.warnings().iter().any(|it| it.to_string().contains("nothing can carry this flow"))
    };
    for weak in ["transmit_power = \"-60 dBm\"", "receive = \"1 m\"", "gain = \"-40 dB\""] {
        assert!(warned("[0, 1, 2]", weak), "{weak}");
        assert!(!warned("[0, 1]", weak), "{weak}: node 2 may be between");
    }
    assert!(!warned("[0, 1, 2]", "gain = \"1 dB\""));
}
