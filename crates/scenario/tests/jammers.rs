//! Nodes that only radiate: what they change in a scenario, and what is refused.

use std::path::Path;

use hopyard_model::world::{self, Spec, Watch};
use hopyard_scenario::Scenario;

fn load(text: &str, settings: &[(&str, &str)]) -> Result<Scenario, String> {
    let settings: Vec<_> = settings.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    Scenario::load(text, "t.toml", Path::new("."), &settings).map_err(|problems| problems.to_string())
}

const FIVE: &str = "[nodes]\ncount = 5\nplacement = \"uniform\"\narea = [\"300 m\", \"300 m\"]\n[routing]\n\
                    protocol = \"olsr\"\n[mac]\nmodel = \"tdma\"\n[flows]\nrandom = 6\n[agents]\nrun = [\"neighbours\"]\n";

fn with_jammer(more: &str) -> String {
    format!("{}[[jammer]]\nnodes = [5, 6]\n{more}", FIVE.replace("count = 5", "count = 7"))
}

/// The flows, the slots of a frame, and the places of the first five nodes.
fn facts(spec: &Spec) -> impl PartialEq + std::fmt::Debug + use<> {
    let flows: Vec<_> = spec.flows.iter().map(|flow| (flow.from, flow.to, flow.start)).collect();
    let places: Vec<_> = spec.nodes.iter().take(5).map(|node| node.start).collect();
    (flows, places)
}

#[test]
fn the_others_are_as_without_jammers() {
    let (without, with) = (load(FIVE, &[]).expect("it is possible"), load(&with_jammer(""), &[]).expect("it is too"));
    assert_eq!(facts(&with.spec(3)), facts(&without.spec(3)));
    let run = |scenario: &Scenario| world::simulate(&scenario.spec(0), &Watch::default()).expect("packets add up");
    // Far away, they change nothing: slots and routing are the same.
    let quiet = load(&with_jammer("transmit_power = \"-60 dBm\"\n"), &[]).expect("it is possible");
    let (one, other) = (run(&without), run(&quiet));
    assert_eq!(quiet.spec(0).nodes.len(), 7);
    assert_eq!(one.flows.len(), other.flows.len());
    for (one, other) in one.flows.iter().zip(&other.flows) {
        assert_eq!((one.packets_arrived, one.delay_p50_ms), (other.packets_arrived, other.delay_p50_ms));
    }
    let silent = &other.nodes[5];
    assert_eq!((silent.frames, silent.routing_packets, silent.data_packets), (0, 0, 0));
    let jammed = run(&with);
    assert!(jammed.flows.iter().map(|flow| flow.packets_arrived).sum::<u64>() == 0, "all are within its reach");
}

#[test]
fn keys_have_their_meaning() {
    let text =
        with_jammer("transmit_power = \"20 dBm\"\nfrom = \"2 s\"\nuntil = \"3 s\"\nperiod = \"10 ms\"\nduty = 0.25\n");
    let scenario = load(&text, &[]).expect("it is possible");
    let [one, other] = &scenario.spec(0).jammers[..] else { panic!("two nodes radiate") };
    assert_eq!((one.node.0, other.node.0, one.channel), (5, 6, 0));
    assert_eq!((one.from.seconds(), one.until.seconds(), one.period.seconds()), (2.0, 3.0, 0.01));
    assert!((one.on.seconds() - 0.0025).abs() < 1e-12 && (one.power.dbm() - 20.0).abs() < 1e-9);
    assert_ne!(scenario.hash(), load(&with_jammer(""), &[]).expect("it is possible").hash());
    let all = load(&with_jammer(""), &[("jammer.duty", "0.25")]).expect("it is possible");
    assert!((all.spec(0).jammers[1].on.seconds() - 0.025).abs() < 1e-12);
}

#[test]
fn impossible_jammers_are_refused_at_once() {
    let refused = |text: &str, words: &[&str]| {
        let shown = load(text, &[]).expect_err(text);
        for word in words {
            assert!(shown.contains(word), "\"{word}\" is not in:\n{shown}");
        }
    };
    let radios = "[nodes]\ncount = 4\n[[flow]]\nfrom = 0\nto = 1\n";
    refused(
        &format!(
            "{radios}[[jammer]]\nnodes = []\n[[jammer]]\nnodes = [9]\nchannel = 2\n[[jammer]]\nnodes = [3, 3]\n\
             [[jammer]]\nnodes = [2]\nduty = 1.5\n[[jammer]]\nnodes = [1]\nperiod = \"10 us\"\nduty = 0.01\n\
             [[jammer]]\nnodes = [0]\nfrom = \"3 s\"\nuntil = \"2 s\"\n"
        ),
        &[
            "t.toml:7:",
            "nobody radiates",
            "t.toml:9:",
            "no node 9",
            "t.toml:10:",
            "no channel 2",
            "[[channel]]",
            "t.toml:12:",
            "node 3 is in the list twice",
            "t.toml:15:",
            "at most 1; found 1.5",
            "t.toml:18:",
            "at least 1 us of radiation in each period; 0.01 of 10 us is 100 ns",
            "t.toml:23:",
            "more than `from`, 3 s; found 2 s",
        ],
    );
    // A fault of one key hides none of another, nor of another table.
    refused(
        &format!(
            "{radios}[[jammer]]\nnodes = [9]\nduty = 5\nfrom = \"9 s\"\nuntil = \"1 s\"\n[[jammer]]\nnodes = []\n\
             period = \"0 s\"\n[[jammer]]\nnodes = [0]\nchannel = 4\nduty = \"x\"\n"
        ),
        &[
            "no node 9",
            "at most 1; found 5",
            "more than `from`, 9 s",
            "nobody radiates",
            "1 of 0 s is 0 s",
            "no channel 4",
            "`duty` is the text \"x\"",
            "7 problems",
        ],
    );
    refused(
        &format!("{radios}[[jammer]]\nnodes = [1]\n"),
        &[
            "t.toml:7:",
            "behind the first node that only radiates, 1, come others: 2 and 3",
            "the last nodes with a radio: 3",
        ],
    );
    refused(
        &format!(
            "{radios}[[flow]]\nfrom = 3\nto = 2\n[[wire]]\nbetween = [0, 3]\n[[host]]\nnode = 3\nrun = \"true\"\n\
             [radio]\nsingle = [{{ nodes = [3], gain = \"3 dB\" }}]\n[[jammer]]\nnodes = [3]\n"
        ),
        &["t.toml:7:", "t.toml:10:", "t.toml:12:", "t.toml:15:", "node 3 only radiates ([[jammer]])", "4 problems"],
    );
    refused(
        &format!("{radios}[radio]\npropagation = \"range_disc\"\nreception = \"threshold\"\n[[jammer]]\nnodes = [3]\n"),
        &["with `range_disc`, the ranges decide what is received"],
    );
    refused(
        &format!("{radios}[[channel]]\nnodes = [0, 1]\n[[jammer]]\nnodes = [3]\nchannel = 1\n"),
        &["node 3 has no radio on channel 1"],
    );
}
