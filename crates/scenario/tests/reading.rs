//! Scenario files as people write them: read, completed, written out, and refused with reasons.

use std::path::Path;

use hopyard_engine::Span;
use hopyard_scenario::{Problems, Scenario};
use serde_json::{Value, json};

const CHAIN: &str = r#"
name = "chain"
profile = "ns2"
duration = "360 s"
seed = 7

[nodes]
count = 6
spacing = "110 m"

[radio]
receive = "200 m"

[mac.dcf]
rate = "1 Mbps"

[routing]
protocol = "static"
[routing.static]
others = "chain"

[tcp.vegas]
alpha = 1

[[flow]]
from = 0
to = 5
tcp = "vegas"
[flow.vegas]
beta = 3

[[flow]]
from = 5
to = 0
start = "10 s"
"#;

fn settings(settings: &[(&str, &str)]) -> Vec<(String, String)> {
    settings.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
}

fn load(text: &str) -> Result<Scenario, Problems> {
    Scenario::load(text, "chain.toml", Path::new(""), &[])
}

fn chain() -> Scenario {
    load(CHAIN).unwrap_or_else(|problems| panic!("{problems}"))
}

/// The problems of a text, each as its line (0 where it has none) and message.
fn problems(text: &str) -> Vec<(usize, String)> {
    let problems = load(text).expect_err("it is wrong").0;
    problems.iter().map(|p| (p.location().map_or(0, |l| l.line), p.message.clone())).collect()
}

/// Whether there is one problem, in this line, whose rendering has all of these words.
fn assert_problem(text: &str, line: usize, words: &[&str]) {
    let problems = load(text).expect_err(text);
    assert_eq!(problems.0.len(), 1, "{problems}");
    let shown = problems.to_string();
    assert_eq!(problems.0[0].location().map_or(0, |l| l.line), line, "{shown}");
    for word in words {
        assert!(shown.contains(word), "\"{word}\" is not in:\n{shown}");
    }
}

#[test]
fn a_scenario_has_every_default() {
    let scenario = chain();
    assert_eq!((scenario.name(), scenario.profile(), scenario.runs(), scenario.seed()), ("chain", "ns2", 10, 7));
    assert_eq!((scenario.duration(), scenario.nodes()), (Span::from_secs(360), 6));
    assert_eq!(scenario.warnings(), []);
    let value = scenario.to_value(true);
    assert_eq!(value["radio"]["receive"], "200 m");
    assert_eq!(value["radio"]["reception"], "ns2", "the profile's default");
    assert_eq!(value["mac"]["dcf"]["rate"], "1 Mbps");
    assert_eq!(value["flow"][0]["vegas"], json!({"beta": 3.0}));
    assert_eq!(value["flow"][1]["acking"], "every", "the profile's default");
    assert_eq!(value["tcp"]["vegas"]["alpha"], 1.0);
    assert_eq!(value["link"]["queue_limit"], "exclusive");
}

#[test]
fn what_is_written_reads_back_as_the_same_scenario() {
    let scenario = chain();
    for defaults in [true, false] {
        let text = scenario.to_toml(defaults);
        let again = load(&text).unwrap_or_else(|problems| panic!("{text}\n{problems}"));
        assert_eq!(again.hash(), scenario.hash(), "{text}");
        assert_eq!(again.to_toml(defaults), text, "the form is canonical");
        let value = scenario.to_value(defaults);
        let again = Scenario::from_value(&value, Path::new("")).unwrap_or_else(|problems| panic!("{problems}"));
        assert_eq!(again.hash(), scenario.hash());
        assert_eq!(again.to_value(true), scenario.to_value(true));
    }
    // What was given is no more than was given.
    assert_eq!(scenario.to_value(false)["radio"], json!({"receive": "200 m"}));
}

#[test]
fn a_model_may_take_another_profile_than_the_scenario() {
    let changed = |changes: &[(&str, &str)]| {
        Scenario::load(CHAIN, "chain.toml", Path::new(""), &settings(changes)).unwrap_or_else(|p| panic!("{p}"))
    };
    let value = changed(&[("tcp.profile", "rfc"), ("flow.0.vegas.profile", "rfc")]).to_value(true);
    assert_eq!((&value["tcp"]["segment_size"], &value["link"]["queue_limit"]), (&json!("1448 B"), &json!("exclusive")));
    assert_eq!(value["flow"][0]["vegas"]["habits"], "rfc", "the profile stands for all of its values");
    assert_eq!(value["flow"][0]["vegas"]["beta"], 3.0, "what the table gives besides holds");
    assert_eq!(value["tcp"]["vegas"]["habits"], "ns2", "other flows keep the scenario's");
    let scenario = changed(&[("tcp.profile", "rfc"), ("tcp.window", "7"), ("flow.0.vegas.profile", "rfc")]);
    assert_eq!(scenario.to_value(true)["tcp"]["window"], 7);
    for defaults in [true, false] {
        let text = scenario.to_toml(defaults);
        let again = load(&text).unwrap_or_else(|problems| panic!("{text}\n{problems}"));
        assert_eq!(again.hash(), scenario.hash(), "{text}");
    }
    assert_ne!(changed(&[("tcp.profile", "rfc")]).hash(), chain().hash());
    assert_eq!(changed(&[("tcp.profile", "ns2")]).hash(), chain().hash());
    let wrong = "[nodes]\ncount = 2\n[tcp]\nprofile = \"rcf\"\n[[flow]]\nfrom = 0\nto = 1\n";
    assert_problem(wrong, 4, &["`profile` is", "expected `rfc`, `ns2` or `linux`", "did you mean \"rfc\"?"]);
    // A model that has but one set of defaults has no such key.
    let none = "[nodes]\ncount = 2\n[mobility.stationary]\nprofile = \"rfc\"\n[[flow]]\nfrom = 0\nto = 1\n";
    assert_problem(none, 4, &["has no key `profile`"]);
}

#[test]
fn the_hash_is_of_what_matters() {
    let hash = |changes: &[(&str, &str)]| {
        Scenario::load(CHAIN, "chain.toml", Path::new(""), &settings(changes)).unwrap_or_else(|p| panic!("{p}")).hash()
    };
    let same = hash(&[]);
    for changes in [
        ("name", "other"),
        ("runs", "3"),
        ("seed", "9"),
        ("mac.dcf.rate", "1000 kbps"),
        ("simulator.exact", "true"),
        ("measure.series", "[\"cwnd\"]"),
        ("measure.interval", "1 s"),
        ("flow.1.tcp", "newreno"),
        ("tcp.vegas.alpha", "1.0"),
        ("routing.oracle.interval", "2 s"),
    ] {
        assert_eq!(hash(&[changes]), same, "{changes:?}");
    }
    for changes in [
        ("duration", "361 s"),
        ("mac.dcf.rate", "2 Mbps"),
        ("flow.1.tcp", "vegas"),
        ("tcp.vegas.alpha", "2"),
        ("flow.0.start", "1 s"),
        ("nodes.spacing", "111 m"),
        ("measure.from", "1 s"),
        ("link.arp.delay", "1 s"),
    ] {
        assert_ne!(hash(&[changes]), same, "{changes:?}");
    }
}

#[test]
fn everything_that_is_wrong_is_reported_at_once() {
    let text = r#"
durration = "10 s"
[nodes]
count = 3
spacing = 200
[mac]
model = "dcff"
[mac.dcf]
rate = "2 m"
[radio]
capture = true
[routing]
protocol = "static"
window = 20
[[flow]]
from = 0
to = 9
[[flow]]
from = 1
to = 1
start = "400 s"
[[flow]]
from = 2
[bogus]
x = 1
"#;
    let found = problems(text);
    let lines: Vec<_> = found.iter().map(|(line, _)| *line).collect();
    for line in [2, 5, 7, 9, 11, 14, 22, 24] {
        assert!(lines.contains(&line), "line {line}: {found:#?}");
    }
}

#[test]
fn a_problem_says_what_was_expected_and_the_nearest_name() {
    let with = |section: &str| {
        format!("[nodes]\ncount = 2\n[routing]\nprotocol = \"static\"\n{section}\n[[flow]]\nfrom = 0\nto = 1\n")
    };
    assert_problem(
        &with("[mac]\nmodle = \"dcf\""),
        6,
        &["[mac] has no key `modle`", "did you mean `model`?", "chain.toml:6:1"],
    );
    assert_problem(&with("[radio]\nreceive = \"250\""), 6, &["the text \"250\"", "expected a range such as \"250 m\""]);
    assert_problem(&with("[mac.dcf]\nrate = 2"), 6, &["`rate` is `2`", "2 Mbps"]);
    assert_problem(&with("[mac.dcf]\ncw_min = -1"), 6, &["`cw_min` is `-1`", "a whole number from 0 to 4294967295"]);
    assert_problem(&with("[radio]\nreception = \"snr\""), 6, &["did you mean \"sinr\"?"]);
    assert_problem(
        &with("[radio]\npropagation = \"range_disc\"\nreception = \"sinr\""),
        7,
        &["`range_disc` gives all signals about the same power", "expected \"threshold\" or \"ns2\""],
    );
    assert_problem(&with("[radio]\npropagation = \"range_disc\""), 5, &["write `reception = \"threshold\"`"]);
    assert_problem(&with("[tcp.newrno]"), 5, &["did you mean `newreno`?"]);
    assert_problem(
        &with("[radio]\nbandwidth = \"22 MHz\""),
        6,
        &["[radio] has no key `bandwidth`", "those of [radio] are", "`noise_figure`"],
    );
    assert_problem(&with("[link]\nwindow = 3"), 6, &["`window` is a key of [tcp]"]);
    assert_problem(
        &with("[tcp]\nread_rate = \"1 Mbps\""),
        6,
        &["no key `read_rate`", "`reader` in [tcp] is \"at_once\""],
    );
    assert_problem(&with("[tcp]\nreader = \"steady\""), 6, &["expected \"at_once\" or a rate such as \"1 Mbps\""]);
    assert_problem(
        &with("[link.arp]\nlifetme = \"1 s\""),
        6,
        &["[link.arp] has no key `lifetme`", "did you mean `lifetime`?"],
    );
    // A key of another model of the room is no mistyped one, and keys of tables below are near too.
    assert_problem(
        &with("[mac.dcf]\nmax_ampdu = \"0 B\""),
        6,
        &["[mac.dcf] has no key `max_ampdu`", "`max_ampdu` is a key of [mac.edca]"],
    );
    assert_problem(
        &with("[mac.edca]\naggregation = true"),
        6,
        &["did you mean `aggregate` in `background`, `best_effort`, `video` or `voice`?"],
    );
    // One letter is not near another one.
    let other = with("[mac.dcf]\nstandard = \"p\"");
    assert!(!load(&other).expect_err("no standard").to_string().contains("did you mean"));
    assert_problem(&other, 6, &["expected", "`b`"]);
    assert_problem(&with("[link]\narp = 3"), 6, &["`arp` is `3`", "expected a table"]);
    assert_problem(&with("[ip]\nttl = 300"), 6, &["`ttl` is `300`"]);
    assert_problem(&with("[ip]\nttl = 0"), 6, &["at least one hop"]);
    assert_problem(&with("[mobility.random_waypoint]\nspeed_max = \"0.5 m/s\""), 6, &["at least speed_min"]);
    assert_problem(&with("[[mac]]"), 5, &["expected one [mac]"]);
    assert_problem(&with("[wire]\nbetween = [0, 1]"), 5, &["expected [[wire]]"]);
}

#[test]
fn a_pair_of_keys_is_judged_together() {
    let text = |section: &str| {
        format!(
            "[nodes]\ncount = 2\n[mobility.random_waypoint]\n{section}\n[[flow]]\nfrom = 0\nto = 1\n[routing]\n\
             protocol = \"oracle\""
        )
    };
    // Alone, the lowest speed would be above the highest of the defaults.
    assert!(load(&text("speed_min = \"30 m/s\"\nspeed_max = \"40 m/s\"")).is_ok());
    assert_problem(&text("speed_min = \"30 m/s\"\nspeed_max = \"25 m/s\""), 5, &["at least speed_min (30 m/s)"]);
    // The other key of the pair is at fault: it is the one that is given.
    assert_problem(&text("speed_min = \"30 m/s\""), 4, &["at least speed_min (30 m/s)"]);
}

#[test]
fn nodes_flows_and_wires_must_fit() {
    let with = |changes: &str| format!("duration = \"10 s\"\n{changes}\n[routing]\nprotocol = \"oracle\"\n");
    let flow = "[[flow]]\nfrom = 0\nto = 1\n";
    assert_problem(&with(&format!("[nodes]\nwired = 0\n{flow}")), 2, &["the number of nodes is not given"]);
    assert_problem(
        &with("[nodes]\ncount = 2\n[[flow]]\nfrom = 0\nto = 2"),
        6,
        &["there is no node 2", "expected 0 to 1"],
    );
    assert_problem(&with("[nodes]\ncount = 2\n[[flow]]\nfrom = 1\nto = 1"), 6, &["goes from node 1 to itself"]);
    assert_problem(&with("[nodes]\ncount = 2\n[[flow]]\nfrom = 1"), 4, &["[[flow]] has no `to`"]);
    assert_problem(
        &with(&format!("[nodes]\ncount = 2\n{flow}start = \"3 s\"\nstop = \"2 s\"")),
        8,
        &["before it starts", "more than 3 s"],
    );
    assert_problem(&with(&format!("[nodes]\ncount = 2\n{flow}start = \"10 s\"")), 7, &["after the end"]);
    assert_problem(
        &with(&format!("[nodes]\ncount = 2\n{flow}udp = true\nwindow = 3")),
        8,
        &["`window` is a key of TCP, and this flow uses UDP"],
    );
    assert_problem(&with(&format!("[nodes]\ncount = 2\n{flow}udp = true\ntraffic = \"ftp\"")), 8, &["`cbr`"]);
    assert_problem(&with(&format!("[nodes]\ncount = 2\nplacement = \"uniform\"\n{flow}")), 4, &["`area` in [nodes]"]);
    assert_problem(
        &with(&format!("[nodes]\ncount = 9\narea = [\"1 km\", \"1 km\"]\n{flow}")),
        4,
        &["too small: node 6 stands at 1200 m"],
    );
    assert_problem(
        &with(&format!("[nodes]\ncount = 3\npositions = [[0, 0], [1, 0]]\n{flow}")),
        4,
        &["3 nodes, and 2 positions"],
    );
    assert_problem(
        &with(&format!("[nodes]\ncount = 2\nplacement = \"mobility\"\n{flow}")),
        4,
        &["does not say where nodes start"],
    );
    assert_problem(&with("[nodes]\ncount = 3\n[flows]\nrandom = 7"), 5, &["expected at most 6"]);
    assert_problem(
        &with(&format!("[nodes]\ncount = 2\n{flow}[[wire]]\nbetween = [1, 2]")),
        8,
        &["there is no node 2", "`wired` in [nodes]"],
    );
    assert_problem(&with(&format!("[nodes]\ncount = 2\n{flow}[[wire]]\nbetween = [1, 1]")), 8, &["expected two nodes"]);
    let twice = "[[wire]]\nbetween = [0, 1]\n[[wire]]\nbetween = [1, 0]\n";
    assert_problem(&with(&format!("[nodes]\ncount = 2\n{flow}{twice}")), 10, &["joined already"]);
    assert_problem(
        &with(&format!("[nodes]\ncount = 2\n{flow}[[movement]]\nnodes = [0, 2]")),
        8,
        &["there is no node 2"],
    );
    assert_problem(
        &with(&format!("[nodes]\ncount = 2\n{flow}[measure]\nfrom = \"20 s\"")),
        8,
        &["nothing is measured"],
    );
    assert_problem(
        &with(&format!("[nodes]\ncount = 2\n{flow}[measure]\nseries = [\"cwnd\", \"srrt\"]")),
        8,
        &["did you mean \"srtt\"?"],
    );
}

#[test]
fn flows_without_a_route_are_refused() {
    let text = |routes: &str, flow: &str| {
        format!(
            "[nodes]\ncount = 3\n[routing]\nprotocol = \"static\"\n[routing.static]\nothers = \"drop\"\n\
             routes = {routes}\n[[flow]]\nfrom = 0\nto = 2\n{flow}"
        )
    };
    let there = "[{at = 0, to = 2, via = 1}, {at = 1, to = 2, via = 2}]";
    let both =
        "[{at = 0, to = 2, via = 1}, {at = 1, to = 2, via = 2}, {at = 2, to = 0, via = 1}, {at = 1, to = 0, via = 0}]";
    assert_problem(&text(there, ""), 9, &["acknowledgements", "no route from node 2 to node 0"]);
    assert!(load(&text(there, "udp = true")).is_ok());
    assert!(load(&text(both, "")).is_ok());
}

#[test]
fn movement_files_are_read_and_must_fit() {
    let directory = std::env::temp_dir().join(format!("hopyard-scenario-{}", std::process::id()));
    std::fs::create_dir_all(&directory).expect("a directory");
    let lines = |n: u32| {
        (0..n)
            .map(|i| format!("$node_({i}) set X_ {i}.0\n$node_({i}) set Y_ 1.0\n$node_({i}) set Z_ 0.0\n"))
            .collect::<String>()
    };
    std::fs::write(directory.join("three.tcl"), lines(3)).expect("a file");
    std::fs::write(directory.join("same.tcl"), lines(3)).expect("a file");
    std::fs::write(directory.join("bad.tcl"), lines(2) + "$node_(x) set X_ 1\n").expect("a file");
    let text = |count: &str, path: &str| {
        format!(
            "[nodes]\n{count}\n[mobility]\nmodel = \"movement_file\"\n[mobility.movement_file]\n{path}\n\
             [[flow]]\nfrom = 0\nto = 2\n[routing]\nprotocol = \"oracle\""
        )
    };
    let load = |text: &str| Scenario::load(text, "moving.toml", &directory, &[]);
    let one = load(&text("", "path = \"three.tcl\"")).unwrap_or_else(|p| panic!("{p}"));
    assert_eq!(one.nodes(), 3);
    assert_eq!(one.to_value(true)["nodes"]["placement"], "mobility");
    let same = load(&text("count = 3", "path = \"same.tcl\"")).unwrap_or_else(|p| panic!("{p}"));
    assert_eq!(one.hash(), same.hash(), "the content counts, not the name");
    std::fs::write(directory.join("same.tcl"), lines(3) + "# changed\n").expect("a file");
    let changed = load(&text("", "path = \"same.tcl\"")).unwrap_or_else(|p| panic!("{p}"));
    assert_ne!(one.hash(), changed.hash());
    for (count, path, line, words) in [
        ("count = 4", "path = \"three.tcl\"", 2, "[nodes] has 4 nodes, and the movement file has 3"),
        ("", "path = \"none.tcl\"", 6, "cannot be read"),
        ("", "path = \"bad.tcl\"", 6, "bad.tcl:7"),
        ("", "first_node = 0", 5, "is not named"),
        ("count = 3", "path = \"three.tcl\"\nfirst_node = 1", 2, "the movement file has 2"),
    ] {
        let problems = load(&text(count, path)).expect_err(path);
        assert!(problems.to_string().contains(words), "{problems}");
        assert_eq!(problems.0[0].location().map(|l| l.line), Some(line), "{problems}");
    }
    std::fs::remove_dir_all(&directory).expect("it was there");
}

#[test]
fn what_may_not_be_meant_is_a_warning() {
    let text =
        "[nodes]\ncount = 2\nwired = 1\n[routing]\nprotocol = \"oracle\"\n[routing.static]\nothers = \"chain\"\n";
    let scenario = load(text).unwrap_or_else(|p| panic!("{p}"));
    let warnings: Vec<_> = scenario.warnings().iter().map(ToString::to_string).collect();
    assert_eq!(warnings.len(), 3, "{warnings:?}");
    let all = warnings.join("\n");
    assert!(
        all.contains("[routing.static] is not used")
            && all.contains("node 2 has neither")
            && all.contains("nothing is sent"),
        "{all}"
    );
    assert!(scenario.warnings()[0].as_warning().starts_with("warning"));
}

#[test]
fn a_comparison_of_variants_leaves_udp_flows_alone() {
    let text = format!("{CHAIN}\n[[flow]]\nfrom = 1\nto = 2\nudp = true\n");
    let scenario =
        Scenario::load(&text, "t.toml", Path::new(""), &settings(&[("flow.tcp", "newreno"), ("flow.window", "7")]));
    let value = scenario.unwrap_or_else(|p| panic!("{p}")).to_value(true);
    let column = |key: &str| (0..3).map(|i| value["flow"][i][key].clone()).collect::<Vec<_>>();
    assert_eq!(column("tcp"), [json!("newreno"), json!("newreno"), Value::Null]);
    assert_eq!(column("window"), [json!(7), json!(7), Value::Null]);
}

#[test]
fn problems_with_settings_and_programs_say_where() {
    let problems =
        Scenario::load(CHAIN, "c.toml", Path::new(""), &settings(&[("flow.tcp", "vegsa"), ("mac.dcf.rat", "1 Mbps")]));
    let shown = problems.expect_err("both are wrong").to_string();
    assert!(shown.contains("flow.tcp=vegsa") && shown.contains("did you mean \"vegas\"?"), "{shown}");
    assert!(shown.contains("mac.dcf.rat=1 Mbps") && shown.contains("did you mean `rate`?"), "{shown}");
    let value = json!({"nodes": {"count": 2}, "mac": {"dcf": {"rate": 2}}, "flow": [{"from": 0, "to": 1}]});
    let shown = Scenario::from_value(&value, Path::new("")).expect_err("the rate has no unit").to_string();
    assert!(shown.contains("mac.dcf.rate") && shown.contains("2 Mbps"), "{shown}");
    assert!(Scenario::from_value(&json!([1]), Path::new("")).is_err());
}

#[test]
fn random_flows_take_the_area_and_their_own_keys() {
    let text = "[nodes]\ncount = 5\narea = [\"300 m\", \"200 m\"]\n[mobility]\nmodel = \"random_waypoint\"\n\
        [routing]\nprotocol = \"oracle\"\n\
                [flows]\nrandom = 4\nstart = [\"0 s\", \"50 s\"]\ntcp = \"vegas\"\nwindow = 9\n";
    let value = load(text).unwrap_or_else(|p| panic!("{p}")).to_value(true);
    assert_eq!(value["mobility"]["random_waypoint"]["width"], "300 m");
    assert_eq!(value["flows"]["window"], 9);
    assert_eq!(value["nodes"]["placement"], "mobility");
}

#[test]
fn a_tcp_that_waits_for_notices_needs_routing_that_gives_them() {
    let text = |routing: &str, flow: &str| {
        format!("[nodes]\ncount = 3\nplacement = \"chain\"\n[routing]\nprotocol = \"{routing}\"\n{flow}")
    };
    let one = "[[flow]]\nfrom = 0\nto = 2\ntcp = \"elfn\"";
    let wanted = ["`elfn` needs to be told of broken routes, and `static` tells of none", "aodv", "dsdv", "oracle"];
    assert_problem(&text("static", one), 9, &wanted);
    assert_problem(&text("static", "[flows]\nrandom = 1\ntcp = \"elfn\""), 8, &wanted);
    for routing in ["aodv", "dsdv", "olsr", "oracle"] {
        assert!(load(&text(routing, one)).is_ok(), "{routing}");
    }
    assert!(load(&text("static", &one.replace("elfn", "newreno"))).is_ok());
}

#[test]
fn what_comes_too_late_to_matter_is_warned_of() {
    let warnings = |text: &str| {
        let scenario = Scenario::load(text, "s.toml", Path::new(""), &[]).unwrap_or_else(|it| panic!("{it}"));
        scenario.warnings().iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    let text = |flow: &str, more: &str| {
        format!(
            "duration = \"20 s\"\n[nodes]\ncount = 2\nspacing = \"100 m\"\n[measure]\nfrom = \"10 s\"\n[[flow]]\nfrom = 0\n\
             to = 1\n{flow}\n{more}"
        )
    };
    assert_eq!(warnings(&text("stop = \"10001 ms\"", "")), Vec::<String>::new());
    let found = warnings(&text("stop = \"10 s\"", ""));
    assert!(
        found.len() == 1 && found[0].contains("the flow stops at 10 s, before anything of it is measured"),
        "{found:?}"
    );
    assert!(found[0].contains("s.toml:10:") && found[0].contains("more than `from` in [measure], 10 s"), "{found:?}");
    let moves = |list: &str| text("", &format!("[[movement]]\nnodes = [1]\nmodel = \"waypoints\"\nwaypoints.{list}\n"));
    for (list, late) in [
        // The node is on its way to the last position at the end of the run.
        ("track = [{ at = \"19 s\", x = \"0 m\", y = \"0 m\" }, { at = \"30 s\", x = \"9 m\", y = \"0 m\" }]", None),
        (
            "track = [{ at = \"20 s\", x = \"0 m\", y = \"0 m\" }, { at = \"30 s\", x = \"9 m\", y = \"0 m\" }]",
            Some("nothing moves at 20 s: the run ends at 20 s"),
        ),
        ("orders = [{ at = \"19 s\", x = \"9 m\", y = \"0 m\", speed = \"1 m/s\" }]", None),
        (
            "orders = [{ at = \"25 s\", x = \"9 m\", y = \"0 m\", speed = \"1 m/s\" }]",
            Some("nothing moves at 25 s: the run ends at 20 s"),
        ),
    ] {
        let found = warnings(&moves(list));
        match late {
            None => assert_eq!(found, Vec::<String>::new(), "{list}"),
            Some(late) => assert!(found.len() == 1 && found[0].contains(late), "{list}: {found:?}"),
        }
    }
}

#[test]
fn heights_that_the_propagation_model_does_not_know_are_warned_of() {
    let warnings = |model: &str, heights: [u32; 2], more: &str| {
        let text = format!(
            "[nodes]\npositions = [[0, 0, {}], [90, 0, {}]]\n[radio]\npropagation = \
             \"{model}\"\n[[flow]]\nfrom = 0\nto = 1\n{more}",
            heights[0], heights[1]
        );
        let scenario = Scenario::load(&text, "s.toml", Path::new(""), &[]).unwrap_or_else(|it| panic!("{it}"));
        scenario.warnings().iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    let found = warnings("two_ray_ground", [0, 50], "");
    let words = "`two_ray_ground` takes all antennas as equally high: the heights of nodes, 0 m to 50 m, count in";
    assert!(found.len() == 1 && found[0].contains(words), "{found:?}");
    assert!(found[0].contains("s.toml:4:") && found[0].contains("free_space"), "{found:?}");
    for (model, heights) in [("two_ray_ground", [50, 50]), ("free_space", [0, 50]), ("log_distance", [0, 50])] {
        assert_eq!(warnings(model, heights, ""), Vec::<String>::new(), "{model}");
    }
    let climbs = "[[movement]]\nnodes = [1]\nmodel = \"waypoints\"\nwaypoints.orders = [{ at = \"1 s\", x = \"9 m\", \
                  y = \"0 m\", z = \"30 m\", speed = \"1 m/s\" }]\n";
    assert_eq!(warnings("two_ray_ground", [5, 5], climbs).len(), 1);
}
