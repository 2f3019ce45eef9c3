//! Medium access that does not suit what uses it is refused, or warned of.

use std::path::Path;

use hopyard_model::world::{self, Watch};
use hopyard_scenario::Scenario;

/// The warnings of a scenario with slots.
fn load(text: &str) -> Result<Vec<String>, String> {
    contended(&format!("[mac]\nmodel = \"tdma\"\n{text}"))
}

/// The warnings of a scenario.
fn contended(text: &str) -> Result<Vec<String>, String> {
    let scenario = Scenario::load(text, "s.toml", Path::new(""), &[]).map_err(|problems| problems.to_string())?;
    Ok(scenario.warnings().iter().map(ToString::to_string).collect())
}

fn refused(text: &str, words: &[&str]) {
    let shown = load(text).expect_err(text);
    for word in words {
        assert!(shown.contains(word), "\"{word}\" is not in:\n{shown}");
    }
}

const CHAIN: &str = "[nodes]\ncount = 4\nspacing = \"200 m\"\n[radio]\nreceive = \"250 m\"\nsense = \"300 m\"\n\
                     [[flow]]\nfrom = 0\nto = 3\n";

#[test]
fn routing_that_waits_for_reports_of_the_mac_needs_a_mac_that_gives_them() {
    for (protocol, given, others) in [
        ("aodv", "link_detection = \"link_layer\"", "`link_detection = \"hello\"`"),
        ("aomdv", "link_detection = \"link_layer\"", "`link_detection = \"hello\"`"),
        ("dsr", "acknowledgement = \"link_layer\"", "`acknowledgement = \"network\"`"),
    ] {
        let routing = format!("{CHAIN}[routing]\nprotocol = \"{protocol}\"\n[routing.{protocol}]\n{given}\n");
        let said = format!("`{protocol}` learns of broken links from the MAC alone, and `tdma` reports none");
        refused(&routing, &[&said, "s.toml:15:", "or a MAC that acknowledges", others]);
        assert_eq!(
            load(&format!("tdma.acknowledge = true\ntdma.slot = \"7 ms\"\n{routing}")),
            Ok(vec![]),
            "{protocol}"
        );
        // The default of the profile is the cause.
        let text = format!("{CHAIN}[routing]\nprotocol = \"aodv\"\n[routing.aodv]\nprofile = \"ns2\"\n");
        refused(&text, &["`aodv` learns of broken links"]);
    }
    for protocol in ["olsr", "dsdv", "oracle", "aodv"] {
        assert_eq!(load(&format!("{CHAIN}[routing]\nprotocol = \"{protocol}\"\n")), Ok(vec![]), "{protocol}");
    }
}

/// Each thing that the hint says, alone, makes a scenario that is accepted.
#[test]
fn hints_of_reports_lead_to_a_scenario_that_runs() {
    for profile in ["rfc", "ns2"] {
        for (protocol, choices) in [("aodv", 2), ("aomdv", 2), ("dsr", if profile == "ns2" { 1 } else { 2 })] {
            let given = match protocol {
                "dsr" => "acknowledgement = \"link_layer\"",
                _ => "link_detection = \"link_layer\"",
            };
            let text = format!("{CHAIN}[routing]\nprotocol = \"{protocol}\"\n[routing.{protocol}]\n{given}\n");
            let load = |settings: &[(String, String)]| {
                let text = format!("profile = \"{profile}\"\n[mac]\nmodel = \"tdma\"\n{text}");
                Scenario::load(&text, "s.toml", Path::new(""), settings)
            };
            let said = load(&[]).expect_err(protocol).to_string();
            let hint = said.split("help: write ").nth(1).expect("a hint").lines().next().unwrap_or_default();
            let parts: Vec<&str> = hint.split(", or ").collect();
            assert_eq!(parts.len(), choices, "{profile} {protocol}: {hint}");
            for part in parts {
                let (keys, section) = part.trim_end_matches(']').rsplit_once(" in [").expect("a section");
                let settings: Vec<(String, String)> = (keys.split('`').skip(1).step_by(2))
                    .map(|line| {
                        let (key, value) = line.split_once(" = ").expect("a key and a value");
                        (format!("{section}.{key}"), value.trim_matches('"').to_owned())
                    })
                    .collect();
                if let Err(problems) = load(&settings) {
                    panic!("{profile} {protocol}, {part}: {problems}");
                }
            }
        }
    }
}

#[test]
fn packets_that_no_slot_can_carry_are_refused() {
    // 5 ms at 1 Mb/s less the preamble are 601 bytes, 36 of them the header. In the microsecond beyond, they arrive.
    let slot = "tdma.rate = \"1 Mbps\"\ntdma.slot = \"5001 us\"\n";
    refused(
        &format!("{slot}{CHAIN}tcp = \"newreno\"\n"),
        &["segments of 1448 B are 1500 B with their headers, and `tdma` can send none", "at most 565 B", "s.toml:14:"],
    );
    let udp = |size: u32| format!("{slot}{CHAIN}udp = true\ntraffic = \"cbr\"\ncbr.packet_size = \"{size} B\"\n");
    refused(&udp(538), &["packets of 538 B are 566 B with their headers", "at most 565 B, headers included"]);
    assert_eq!(load(&udp(537)), Ok(vec![]));
}

/// Two nodes with a radio, a flow with these keys, and more.
fn pair(profile: &str, flow: &str, more: &str) -> Result<Vec<String>, String> {
    let text = format!("profile = \"{profile}\"\n{}{flow}\n{more}", CHAIN.replace("count = 4", "count = 2"));
    let text = text.replace("to = 3", "to = 1");
    let scenario = Scenario::load(&text, "s.toml", Path::new(""), &[]).map_err(|problems| problems.to_string())?;
    Ok(scenario.warnings().iter().map(ToString::to_string).collect())
}

#[test]
fn packets_that_no_frame_carries_are_refused() {
    let udp = |size: u32| format!("udp = true\ntraffic = \"cbr\"\ncbr.packet_size = \"{size} B\"");
    let refused = |profile: &str, flow: &str, words: &[&str]| {
        let shown = pair(profile, flow, "").expect_err(flow);
        for word in words {
            assert!(shown.contains(word), "\"{word}\" is not in:\n{shown}");
        }
    };
    assert_eq!(pair("rfc", &udp(2268), ""), Ok(vec![]));
    for size in [2269, 8000, 60_000] {
        let what = format!("packets of {size} B are {} B with their headers, and `dcf` can send none", size + 28);
        refused("rfc", &udp(size), &[&what, "at most 2296 B, headers included", "s.toml:12:"]);
    }
    // 52 bytes of headers, with timestamps.
    let tcp = |size: u32| format!("tcp.segment_size = \"{size} B\"");
    let with = |profile: &str, size: u32| pair(profile, "", &format!("[tcp]\n{}", tcp(size).replace("tcp.", "")));
    assert_eq!(with("rfc", 2244), Ok(vec![]));
    let shown = with("rfc", 9000).expect_err("no frame carries it");
    assert!(shown.contains("segments of 9000 B are 9052 B") && shown.contains("segment_size = \"2244 B\""), "{shown}");
    // ns-2 has no limit.
    assert_eq!(pair("ns2", &udp(8000), ""), Ok(vec![]));
}

#[test]
fn packets_that_some_links_drop_are_warned_of() {
    let text = "[nodes]\ncount = 3\nspacing = \"200 m\"\n[radio]\nreceive = \"250 m\"\n[[wire]]\nbetween = [1, 2]\n\
                mtu = \"1000 B\"\n[routing]\nprotocol = \"oracle\"\n[[flow]]\nfrom = 0\nto = 2\n";
    let load = |text: &str| {
        let scenario = Scenario::load(text, "s.toml", Path::new(""), &[]).expect("it can be run");
        scenario.warnings().iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    let warnings = load(text);
    let said = |it: &String| it.contains("segments of 1448 B are 1500 B with their headers: wire 0 drops them");
    assert!(warnings.iter().any(said), "{warnings:?}");
    assert!(!load(&text.replace("1000 B", "1500 B")).iter().any(said));
}

#[test]
fn a_slot_of_two_nodes_within_two_hops_is_warned_of_with_the_pair() {
    let with = |list: &str, nodes: &str| load(&format!("tdma.schedule = {list}\n{nodes}"));
    let warned = |list: &str, words: &str| {
        let warnings = with(list, CHAIN).expect("a warning is no error");
        assert_eq!(warnings.len(), 1, "{list}: {warnings:?}");
        assert!(warnings[0].contains(words) && warnings[0].contains("s.toml:3:"), "{}", warnings[0]);
    };
    warned("[[0, 1], 2, 3]", "slot 0 belongs to nodes 0 and 1, which hear each other at the start");
    warned("[0, [1, 3], 2]", "slot 1 belongs to nodes 1 and 3, which node 2 hears both at the start");
    warned(
        "[[0, 1, 2, 3]]",
        "slot 0 belongs to nodes 0 and 1, which hear each other at the start (and 4 more such pairs)",
    );
    assert_eq!(with("[[0, 3], 1, 2]", CHAIN), Ok(vec![]), "three hops apart");
    assert_eq!(with("[0, 1, 2, 3, 0]", CHAIN), Ok(vec![]), "several slots of one node");
    // Nobody knows where drawn nodes are.
    let drawn = CHAIN
        .replace("count = 4\n", "count = 4\nplacement = \"uniform\"\n")
        .replace("spacing = \"200 m\"", "area = [\"300 m\", \"300 m\"]");
    assert_eq!(with("[[0, 1], 2, 3]", &drawn), Ok(vec![]));
}

#[test]
fn acknowledgements_that_come_too_late_are_warned_of() {
    let with = |given: &str, range: u32| {
        let nodes = CHAIN.replace("200 m", "240 m").replace("250 m", &format!("{range} m")).replace("300 m", "900 m");
        load(&format!("tdma.acknowledge = true\ntdma.slot = \"7 ms\"\n{given}{nodes}"))
    };
    for (range, given) in [(590, ""), (800, "tdma.propagation = \"3 us\"\n")] {
        assert_eq!(with(given, range), Ok(vec![]), "{range} m");
    }
    let warnings = with("", 800).expect("a warning is no error");
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    let pair = "nodes 0 and 3, which receive each other's frames, are 720 m apart";
    for word in ["from farther than 600 m come too late", pair, "at least 3 us"] {
        assert!(warnings[0].contains(word), "\"{word}\" is not in: {}", warnings[0]);
    }
    let nodes = CHAIN.replace("250 m", "800 m").replace("300 m", "900 m");
    assert_eq!(load(&nodes), Ok(vec![]), "nothing is acknowledged");
}

/// A channel of three nodes at these places, with slots in turn for frames of 2496 us, and data of both to node 2.
fn full_slots(places: &str, tdma: &str) -> Result<Vec<String>, String> {
    let flow = |from: u32| format!("[[flow]]\nfrom = {from}\nto = 2\nudp = true\ntraffic = \"cbr\"\n");
    load(&format!("{tdma}\n[nodes]\npositions = {places}\n[routing]\nprotocol = \"oracle\"\n{}{}", flow(0), flow(1)))
}

#[test]
fn slots_that_frames_fill_are_warned_of_where_they_reach_into_the_next() {
    let full = "tdma.slot = \"2496 us\"";
    let far_first = "[[240, 0], [0, 0], [40, 0]]";
    let warnings = full_slots(far_first, full).expect("a warning is no error");
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    for words in
        ["packets of 540 B leave 0 s of a slot", "from node 0 has not ended there when the slot of node 1", "1 us"]
    {
        assert!(warnings[0].contains(words), "\"{words}\" is not in {}", warnings[0]);
    }
    // 240 m are 0.8 us.
    assert_eq!(full_slots(far_first, "tdma.slot = \"2497 us\""), Ok(vec![]));
    assert_eq!(full_slots(far_first, "tdma.slot = \"2497 us\"\ntdma.guard = \"1 us\""), Ok(vec![]));
    // Twice as many frames fill a slot of twice the length.
    assert_eq!(full_slots(far_first, "tdma.slot = \"4992 us\"").expect("a warning").len(), 1);
    assert_eq!(full_slots(far_first, "tdma.slot = \"4992 us\"\ntdma.packing = \"one\""), Ok(vec![]));
}

#[test]
fn answers_of_the_next_hop_that_need_longer_than_three_rounds_are_warned_of() {
    let with = |slot: &str, rule: &str| {
        let dsr = format!("[routing]\nprotocol = \"dsr\"\ndsr.acknowledgement = \"{rule}\"\n");
        load(&format!("tdma.slot = \"{slot}\"\n{CHAIN}{dsr}"))
    };
    assert_eq!(with("8 ms", "passive"), Ok(vec![]));
    let warnings = with("9 ms", "passive").expect("a warning is no error");
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    for words in ["100 ms is less than three rounds of `tdma`, 108 ms", "at least 108 ms"] {
        assert!(warnings[0].contains(words), "\"{words}\" is not in {}", warnings[0]);
    }
    assert_eq!(with("41 ms", "network"), Ok(vec![]));
    let warnings = with("42 ms", "network").expect("a warning is no error");
    assert!(warnings.len() == 1 && warnings[0].contains("504 ms"), "{warnings:?}");
}

#[test]
fn impossible_slots_are_refused_with_their_place() {
    for (given, words) in [
        ("tdma.slot = \"1 ms\"\ntdma.guard = \"1 ms\"\n", "`guard` cannot be"),
        ("tdma.slot = \"200 us\"\n", "40 bytes as in the smallest packets of routing"),
        ("tdma.schedule = \"drand\"\n", "\"in_turn\", \"agent\", \"greedy\", \"frozen\" or a list of node numbers"),
        ("tdma.schedule = [0, [], 1]\n", "slot 1 has no owner"),
        ("tdma.schedule = [0, [1, 7], 2, 3]\n", "expected nodes with a radio on this channel, found 7"),
        ("tdma.schedule = [0, -1, 2, 3]\n", "a node number, or a list of node numbers"),
        ("tdma.schedule = [0, 0.5, 2, 3]\n", "a node number, or a list of node numbers"),
        ("tdma.contention = \"much\"\n", "\"auto\", or a number"),
        ("tdma.contention = true\n", "\"auto\", or a number"),
        ("tdma.clock_offsets = [0.0, 1.5]\n", "a value for each of 4 nodes, found 2"),
        ("tdma.schedule = \"agent\"\ntdma.contention = 0\n", "agents find slots by messages"),
    ] {
        refused(&format!("{given}{CHAIN}"), &[words, "s.toml:"]);
    }
    // However many nodes have no slot, the message stays short.
    let many = CHAIN.replace("count = 4\n", "count = 2000\n");
    let errors = load(&format!("tdma.schedule = [0, 1]\n{many}")).expect_err("1998 nodes without a slot").to_string();
    assert!(errors.contains("nodes 2, 3, 4, 5, 6 and 1993 more own no slot") && errors.len() < 1000, "{errors}");
    let fine =
        "tdma.schedule = \"agent\"\ntdma.frame = \"local\"\ntdma.contention = 0.2\ntdma.empty_slots = \"contend\"\n";
    assert_eq!(load(&format!("{fine}{CHAIN}[agents]\nrun = [\"drand\"]\n")), Ok(vec![]));
    for rule in ["greedy", "frozen"] {
        assert_eq!(load(&format!("tdma.schedule = \"{rule}\"\n{CHAIN}")), Ok(vec![]), "{rule}");
    }
}

#[test]
fn slots_that_no_agent_finds_are_warned_of() {
    for agents in ["", "[agents]\nrun = []\n", "[agents]\nrun = [\"neighbours\"]\n"] {
        let warnings = load(&format!("tdma.schedule = \"agent\"\n{CHAIN}{agents}")).expect("a warning is no error");
        assert_eq!(warnings.len(), 1, "{agents}: {warnings:?}");
        for word in ["no node ever has a slot", "s.toml:3:", "\"drand\"", "write `run = [\"drand\"]` in [agents]"] {
            assert!(warnings[0].contains(word), "\"{word}\" is not in: {}", warnings[0]);
        }
    }
    let drand = "[agents]\nrun = [\"neighbours\", \"drand\"]\n";
    assert_eq!(load(&format!("tdma.schedule = \"agent\"\n{CHAIN}{drand}")), Ok(vec![]));
}

/// The only warning of a scenario, which has all of these words.
fn one_warning(text: &str, words: &[&str]) {
    let warnings = load(text).expect("a warning is no error");
    assert_eq!(warnings.len(), 1, "{text}: {warnings:?}");
    for word in words {
        assert!(warnings[0].contains(word), "\"{word}\" is not in: {}", warnings[0]);
    }
}

#[test]
fn a_fixed_frame_with_too_few_slots_for_a_greedy_schedule_is_warned_of() {
    for rule in ["greedy", "frozen"] {
        let with = |slots: u32| {
            format!("tdma.schedule = \"{rule}\"\ntdma.frame = \"fixed\"\ntdma.frame_slots = {slots}\n{CHAIN}")
        };
        // Of four nodes in a chain, the last one uses the slot of the first one again.
        assert_eq!(load(&with(3)), Ok(vec![]), "{rule}");
        let place = ["the frame has too few slots at the start", "s.toml:5:", "as many slots as the schedule needs"];
        one_warning(&with(2), &[&place[..], &["node 2 has none"]].concat());
        one_warning(&with(1), &[&place[..], &["2 nodes have none, node 1 among them"]].concat());
        assert_eq!(load(&with(1).replace("fixed", "global")), Ok(vec![]), "{rule}");
    }
    let agent = format!("tdma.schedule = \"agent\"\ntdma.frame = \"fixed\"\ntdma.frame_slots = 3\n{CHAIN}");
    assert_eq!(load(&format!("{agent}[agents]\nrun = [\"drand\"]\n")), Ok(vec![]), "seen in the run");
}

#[test]
fn slots_that_agents_find_after_the_end_are_warned_of() {
    let load = |duration: &str, given: &str| {
        let drand = format!("[agents]\nrun = [\"drand\"]\n{given}\n");
        let mac = "[mac]\nmodel = \"tdma\"\ntdma.schedule = \"agent\"";
        let text = format!("duration = \"{duration}\"\n{mac}\n{CHAIN}{drand}");
        let scenario = Scenario::load(&text, "s.toml", Path::new(""), &[]).expect("warnings are no errors");
        scenario.warnings().iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    assert_eq!(load("6 s", ""), Vec::<String>::new());
    for (duration, given, words) in [
        ("5 s", "", ["a node finds a slot after about 5.15", "the run ends at 5 s"]),
        ("60 s", "drand.settle = \"60 s\"", ["a node finds a slot after about 60.15", "the run ends at 60 s"]),
        ("60 s", "drand.coin = 0.002", ["a node finds a slot after about 80", "s.toml:16:"]),
    ] {
        let warnings = load(duration, given);
        assert_eq!(warnings.len(), 1, "{duration} {given}: {warnings:?}");
        for word in words {
            assert!(warnings[0].contains(word), "\"{word}\" is not in: {}", warnings[0]);
        }
    }
}

#[test]
fn messages_that_no_slot_of_the_contention_part_can_carry_are_warned_of() {
    let nodes = CHAIN.replace("spacing = \"200 m\"", "spacing = \"10 m\"").replace("count = 4", "count = 20");
    let with =
        |given: &str| format!("tdma.schedule = \"agent\"\n{given}{nodes}[agents]\nrun = [\"neighbours\", \"drand\"]\n");
    let random = "tdma.contention_access = \"random_slot\"\n";
    one_warning(
        &with(random),
        &[
            "messages of `drand` are dropped",
            "which has 19 neighbours",
            "is 196 B with its headers",
            "at most 166 B fit",
        ],
    );
    let longer = format!("{random}tdma.contention_slot = \"1.2 ms\"\n");
    for given in ["", &longer, &format!("{random}tdma.control = \"out_of_band\"\n")] {
        assert_eq!(load(&with(given)), Ok(vec![]), "{given}");
    }
}

#[test]
fn a_network_without_nodes_and_a_set_without_flows_are_warned_of() {
    one_warning("[nodes]\ncount = 0\n", &["there are no nodes", "at least one node", "s.toml:4:"]);
    let none = "[nodes]\ncount = 4\nspacing = \"200 m\"\n[[flows]]\nrandom = 0\n";
    one_warning(none, &["`random` is 0: this set has no flows", "s.toml:7:"]);
}

#[test]
fn slots_have_any_rate() {
    let text = "tdma.slot = \"250 ms\"\ntdma.rate = \"64 kbps\"\n[nodes]\ncount = 3\nspacing = \"200 m\"\n\
                [[flow]]\nfrom = 0\nto = 1\n";
    assert_eq!(load(text), Ok(vec![]));
    refused(&text.replace("64 kbps", "2 Gbps"), &["s.toml:4:", "expected at most 1 Gbps, found 2 Gbps"]);
    // The smallest packets do not fit.
    refused(&text.replace("64 kbps", "1 kbps"), &["s.toml:3:", "expected at least 608.192 ms"]);
}

#[test]
fn nodes_too_far_apart_for_acknowledgements_are_warned_of() {
    let text = |profile: &str, metres: u32, mac: &str| {
        format!(
            "profile = \"{profile}\"\nduration = \"500 ms\"\n[nodes]\npositions = [[0, 0], [{metres}, 0], [100, 0]]\n\
             [radio]\ntransmit_power = \"50 dBm\"\npropagation = \"free_space\"\nreceive = \"7 km\"\n\
             sense = \"20 km\"\n[routing]\nprotocol = \"oracle\"\n[[flow]]\nfrom = 0\nto = 1\n{mac}"
        )
    };
    let edca = "[radio.free_space]\nfrequency = \"5.18 GHz\"\n[mac]\nmodel = \"edca\"\n[mac.edca]\nstandard = \"n\"\n";
    let a = "[radio.free_space]\nfrequency = \"5.18 GHz\"\n[mac.dcf]\nstandard = \"a\"\nrate = \"24 Mbps\"\n";
    let arf =
        "[radio.free_space]\nfrequency = \"5.18 GHz\"\n[mac]\nrate_control = \"arf\"\n[mac.dcf]\nstandard = \"a\"\n";
    for (profile, metres, mac, late) in [
        ("rfc", 6500, "", None),
        ("rfc", 4000, edca, None),
        ("rfc", 5000, edca, Some(("mac.edca", 17))),
        ("rfc", 5000, &format!("{edca}max_propagation = \"17 us\"\n"), None),
        ("rfc", 4400, a, None),
        ("rfc", 4600, a, Some(("mac.dcf", 16))),
        ("rfc", 4600, arf, Some(("mac.dcf", 16))),
        ("ns2", 590, "", None),
        ("ns2", 700, "", Some(("mac.dcf", 3))),
    ] {
        let text = text(profile, metres, mac);
        let warnings = contended(&text).unwrap_or_else(|shown| panic!("{shown}"));
        let said: Vec<_> = warnings.iter().filter(|it| it.contains("come too late")).collect();
        let Some((_, least)) = late else {
            assert_eq!(said.len(), 0, "{text}: {said:?}");
            continue;
        };
        let whose = format!("nodes 0 and 1, which receive each other's frames, are {metres} m apart");
        let is_whole = |it: &&String| it.contains(&whose) && it.contains(&format!("at least {least} us"));
        assert!(matches!(&said[..], [one] if is_whole(one)), "{text}: {warnings:?}");
    }
    // The warning says what the run does.
    let delivered = |mac: &str| {
        let mac = format!("{edca}rate = \"mcs3\"\n{mac}");
        let scenario = Scenario::load(&text("rfc", 5000, &mac), "s.toml", Path::new(""), &[]).expect("a scenario");
        world::simulate(&scenario.spec(0), &Watch::default()).expect("packets add up").flows[0].delivered_bytes
    };
    let (late, heard) = (delivered(""), delivered("max_propagation = \"17 us\"\n"));
    assert!(late * 20 < heard, "{late} and {heard} bytes");
    // Of nodes that move, the range and the area decide.
    let roam = |width: u32| {
        format!(
            "profile = \"ns2\"\n[nodes]\ncount = 9\narea = [\"{width} m\", \"300 m\"]\n\
             [mobility]\nmodel = \"random_waypoint\"\n[radio]\nreceive = \"900 m\"\nsense = \"2 km\"\n\
             [[flow]]\nfrom = 0\nto = 1\n"
        )
    };
    let late = "acknowledgements from farther than 600 m come too late, and the range is 900 m";
    let wide = contended(&roam(1000)).expect("a scenario");
    assert!(matches!(&wide[..], [one] if one.contains(late)), "{wide:?}");
    assert_eq!(contended(&roam(400)), Ok(vec![]));
}

#[test]
fn limits_within_which_no_two_packets_fit_are_warned_of() {
    let text = |keys: &str| {
        format!(
            "[nodes]\npositions = [[0, 0], [50, 0]]\n[[flow]]\nfrom = 0\nto = 1\n[tcp]\nsegment_size = \"1000 B\"\n\
             [mac]\nmodel = \"edca\"\n[mac.edca]\nstandard = \"n\"\nband = \"2.4 GHz\"\n{keys}"
        )
    };
    for (keys, words) in [
        ("", None),
        // Two MPDUs with packets of 1052 B, a header of 38 B and a delimiter each, the first padded.
        ("max_ampdu = \"2190 B\"\n", None),
        ("max_ampdu = \"2189 B\"\n", Some("`max_ampdu` allows")),
        ("max_ampdu_time = \"1 us\"\n", Some("`max_ampdu_time` allows")),
        ("max_amsdu = \"100 B\"\n", Some("`max_amsdu` allows")),
        ("max_amsdu = \"3839 B\"\n", None),
    ] {
        let warnings = contended(&text(keys)).unwrap_or_else(|shown| panic!("{shown}"));
        let is_said =
            |it: &String, words| it.contains("no two segments of 1000 B fit in the frame") && it.contains(words);
        match words {
            Some(words) => assert!(matches!(&warnings[..], [one] if is_said(one, words)), "{keys}: {warnings:?}"),
            None => assert_eq!(warnings, [""; 0], "{keys}"),
        }
    }
}
