//! Flows that nothing can carry are refused where that is certain, and warned of where it is likely.

use std::path::Path;

use hopyard_scenario::Scenario;

fn load(text: &str) -> Result<Vec<String>, String> {
    let scenario = Scenario::load(text, "s.toml", Path::new(""), &[]).map_err(|problems| problems.to_string())?;
    Ok(scenario.warnings().iter().map(ToString::to_string).collect())
}

fn refused(text: &str, words: &[&str]) {
    let shown = load(text).expect_err(text);
    for word in words {
        assert!(shown.contains(word), "\"{word}\" is not in:\n{shown}");
    }
}

/// The scenario is read, and the one warning has these words.
fn warned(text: &str, words: &[&str]) {
    let warnings = load(text).unwrap_or_else(|shown| panic!("{shown}"));
    let is_said = |warning: &String| words.iter().all(|word| warning.contains(word));
    assert!(warnings.iter().filter(|it| is_said(it)).count() == 1, "{words:?} are not in {warnings:?}");
}

const WIRED: &str = "[nodes]\ncount = 4\nwired = 2\n[[flow]]\nfrom = 0\nto = 5\n[[wire]]\nbetween = [3, 4]\n\
    [[wire]]\nbetween = [4, 5]\n";

/// The range is then no distance at all, and the nodes lie more ranges apart than a number counts.
#[test]
fn the_least_power_reaches_nobody() {
    let text = "[nodes]\ncount = 3\nspacing = \"200 m\"\n[radio]\ntransmit_power = \"1e-30 W\"\n";
    let words = ["nothing can carry this flow", "no frame is received over more than 0 m"];
    warned(&format!("{text}[[flow]]\nfrom = 0\nto = 2\n"), &words);
}

#[test]
fn a_wired_host_needs_a_protocol_that_finds_routes_over_wires() {
    for protocol in ["dsdv", "aodv"] {
        let text = format!("{WIRED}[routing]\nprotocol = \"{protocol}\"\n[routing.{protocol}]\ngateways = \"off\"\n");
        refused(&text, &["s.toml:6:6", "node 5 has no radio", protocol, "expected routing by static or oracle"]);
    }
    let text = format!("{WIRED}[routing]\nprotocol = \"aomdv\"\n");
    refused(&text, &["s.toml:6:6", "node 5 has no radio", "aomdv", "expected routing by static or oracle"]);
    for protocol in ["oracle", "olsr", "dsdv", "dsr", "babel"] {
        assert_eq!(load(&format!("{WIRED}[routing]\nprotocol = \"{protocol}\"\n")), Ok(vec![]));
    }
    let text = format!("{WIRED}[routing]\nprotocol = \"olsr\"\n[routing.olsr]\nhna = \"off\"\n");
    refused(&text, &["s.toml:6:6", "node 5 has no radio", "expected routing by static or oracle"]);
}

#[test]
fn a_protocol_without_gateways_is_not_what_is_expected_of_it() {
    for (protocol, keys, others) in [
        ("aodv", "gateways = \"off\"", "static or oracle or source_routes or dsdv or olsr or babel or dsr"),
        ("dsdv", "gateways = \"off\"", "static or oracle or aodv or source_routes or olsr or babel or dsr"),
        ("olsr", "hna = \"off\"", "static or oracle or aodv or source_routes or dsdv or babel or dsr"),
        ("dsr", "profile = \"ns2\"", "static or oracle or aodv or source_routes or dsdv or olsr or babel"),
    ] {
        let text = format!("{WIRED}[routing]\nprotocol = \"{protocol}\"\n[routing.{protocol}]\n{keys}\n");
        let hint = format!("`{protocol}` has gateways with the defaults of `rfc`");
        refused(&text, &[&format!("expected routing by {others}\n"), &hint]);
    }
    let shown = load(&format!("{WIRED}[routing]\nprotocol = \"aomdv\"\n")).expect_err("no gateways");
    assert!(!shown.contains("has gateways"), "{shown}");
    // The profile of the scenario is the cause.
    refused(
        &format!("profile = \"ns2\"\n{WIRED}[routing]\nprotocol = \"aodv\"\n"),
        &["`aodv` has gateways with the defaults of `rfc` and `uu`: see its profile"],
    );
    // A gateway that tells of another network.
    let text = format!(
        "{WIRED}[routing]\nprotocol = \"olsr\"\n[routing.olsr]\nhna = \"listed\"\nhna_networks = \
         [\"203.0.113.0/24\"]\n"
    );
    refused(&text, &["no gateway of `olsr` leads there", "[routing.olsr] says which nodes are gateways"]);
}

#[test]
fn a_protocol_for_one_radio_has_the_first_channel_alone() {
    let text = |protocol: &str, spacing: u32| {
        format!(
            "[nodes]\ncount = 3\nspacing = \"{spacing} m\"\n[routing]\nprotocol = \"{protocol}\"\n[[channel]]\n\
             nodes = [0, 1, 2]\nreceive = \"1000 m\"\nsense = \"2000 m\"\n[[flow]]\nfrom = 0\nto = 2\n"
        )
    };
    let alone = "`dsr` uses the radios on the first channel alone";
    warned(&text("dsr", 900), &["nothing can carry this flow", "more than 250 m", alone]);
    let warnings = load(&text("dsr", 200)).expect("the first channel carries the flow");
    assert!(warnings.len() == 1 && warnings[0].contains(alone), "{warnings:?}");
    for protocol in ["aodv", "aomdv", "dsdv", "olsr", "oracle", "static", "source_routes"] {
        assert_eq!(load(&text(protocol, 900)), Ok(vec![]), "{protocol}");
    }
}

#[test]
fn networks_that_no_gateway_announces_are_warned_of() {
    let keys = "[routing]\nprotocol = \"olsr\"\n[routing.olsr]\nhna = \"both\"\nhna_networks = [\"0.0.0.0/0\"]\n";
    assert_eq!(load(&format!("{WIRED}{keys}")), Ok(vec![]));
    let warnings = load(&format!("[nodes]\ncount = 3\n[[flow]]\nfrom = 0\nto = 2\n{keys}")).expect("a scenario");
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    assert!(warnings[0].contains("nobody announces 0.0.0.0/0: no node has both a radio and a wire"), "{warnings:?}");
}

#[test]
fn a_gateway_joins_wired_hosts_to_the_ad_hoc_network() {
    let text =
        |gateways: &str| format!("{WIRED}[routing]\nprotocol = \"aodv\"\n[routing.aodv]\ngateways = {gateways}\n");
    for gateways in ["\"auto\"", "[3]"] {
        assert_eq!(load(&text(gateways)), Ok(vec![]));
    }
    refused(&text("[3, 1]"), &["node 1 cannot be a gateway: it has no wire", "s.toml:14:"]);
    refused(&text("[4]"), &["node 4 cannot be a gateway: it has no radio", "nodes with a radio and a wire"]);
    refused(&text("[9]"), &["there is no node 9"]);
    refused(&text("[3, 3]"), &["node 3 is in the list twice", "s.toml:14:16", "expected each node once"]);
    refused(&text("\"on\""), &["\"auto\", \"off\", or a list of nodes such as [4, 9]", "\"on\""]);
    refused(&text("[-1]"), &["a list of nodes"]);
    refused(&text("[]"), &["\"off\", or a list of nodes such as [4, 9]", "is an empty list"]);
    // A host whose wires lead to no gateway.
    let text = "[nodes]\ncount = 2\nwired = 3\n[[flow]]\nfrom = 0\nto = 4\n[[wire]]\nbetween = [1, 2]\n\
        [[wire]]\nbetween = [3, 4]\n[routing]\nprotocol = \"aodv\"\n";
    refused(text, &["s.toml:6:6", "no chain of radios or wires joins them"]);
    refused(
        &format!("profile = \"ns2\"\n{WIRED}[routing]\nprotocol = \"aodv\"\n[routing.aodv]\ngateways = \"auto\"\n"),
        &["expected \"off\" under the rules of ns-2"],
    );
}

#[test]
fn a_direction_of_a_wire_has_a_rate_or_the_same() {
    let text = |more: &str| {
        format!("[nodes]\ncount = 2\nwired = 1\n[[wire]]\nbetween = [1, 2]\n{more}\n[[flow]]\nfrom = 0\nto = 2\n")
    };
    for more in ["rate_back = \"8 Mbps\"\ndelay_back = \"1 ms\"", "rate_back = \"same\"", "delay_back = \"0 s\""] {
        assert_eq!(load(&text(more)), Ok(vec![]), "{more}");
    }
    for (more, words) in [
        ("rate_back = 3", "a rate above zero"),
        ("rate_back = \"0 Mbps\"", "a rate above zero"),
        ("rate_back = \"fast\"", "or \"same\""),
        ("delay_back = \"3\"", "a time such as"),
        ("delay_back = \"-1 ms\"", "or \"same\""),
    ] {
        refused(&text(more), &["s.toml:6:", words]);
    }
}

#[test]
fn lifetimes_that_undo_each_other_are_warned_of() {
    let text = |more: &str| {
        format!(
            "[nodes]\ncount = 2\n[[flow]]\nfrom = 0\nto = 1\n[routing]\nprotocol = \"aodv\"\n[routing.aodv]\n{more}\n"
        )
    };
    assert_eq!(load(&text("")), Ok(vec![]));
    for (more, words) in [
        ("delete_period = \"1 s\"", "1 s is less than 10 s: a node may forget a sequence number"),
        ("path_discovery_time = \"100 ms\"", "100 ms is less than 2.8 s"),
        ("link_detection = \"link_layer\"\nactive_route_timeout = \"20 ms\"", "20 ms is less than 240 ms"),
    ] {
        let warnings = load(&text(more)).expect("a warning is no error");
        assert!(warnings.len() == 1 && warnings[0].contains(words), "{more}: {warnings:?}");
    }
}

#[test]
fn ns2s_dsr_has_its_queue_where_the_scenario_names_none() {
    let text = |queue: &str| {
        format!(
            "profile = \"ns2\"\nduration = \"5 s\"\n[nodes]\ncount = 2\n[routing]\n\
            protocol = \"dsr\"\n{queue}[[flow]]\nfrom = 0\nto = 1\n"
        )
    };
    let queue = |text: &str| {
        let scenario = Scenario::load(text, "s.toml", Path::new(""), &[]).unwrap_or_else(|shown| panic!("{shown}"));
        scenario.to_value(true)["link"]["routing_packets"].clone()
    };
    assert_eq!(load(&text("")), Ok(Vec::new()));
    assert_eq!(queue(&text("")), "by_class");
    assert_eq!(queue(&text("[link]\nqueue_length = 20\n")), "by_class");
    // What the scenario says stands.
    let other = text("[link]\nrouting_packets = \"at_head\"\n");
    let warnings = load(&other).expect("it is possible");
    assert!(warnings.len() == 1 && warnings[0].contains("expected \"by_class\""), "{warnings:?}");
    assert_eq!(queue(&other), "at_head");
    assert_eq!(queue(&text("").replace("dsr", "aodv")), "at_head", "the profile's own");
    // The rules decide, and not the profile.
    assert_eq!(load(&text("[routing.dsr]\nrules = \"rfc4728\"\nflow_state = false\n")), Ok(Vec::new()));
}

#[test]
fn still_nodes_beyond_every_range_are_warned_of() {
    let text = |nodes: &str| format!("[nodes]\n{nodes}\n[[flow]]\nfrom = 0\nto = 2\n");
    warned(&text("count = 3\nspacing = \"10 km\""), &["s.toml:6:6", "nothing can carry this flow", "nodes 0 and 2"]);
    warned(&text("positions = [[0, 0], [200, 0], [1000, 0]]"), &["nodes 0 and 2 stand still"]);
    assert_eq!(load(&text("count = 3\nspacing = \"200 m\"")), Ok(vec![]));
    // A wire joins what is out of range.
    let wire = "[[wire]]\nbetween = [1, 2]\n[routing]\nprotocol = \"oracle\"\n";
    assert_eq!(load(&(text("positions = [[0, 0], [200, 0], [1000, 0]]") + wire)), Ok(vec![]));
}

#[test]
fn a_sweep_passes_the_range_under_every_protocol() {
    for model in hopyard_model::routing::MODELS {
        let text = |spacing: u32| {
            format!(
                "[nodes]\ncount = 3\nspacing = \"{spacing} m\"\n[routing]\nprotocol = \"{}\"\n[[flow]]\nfrom = 0\nto = 2\n",
                model.name
            )
        };
        assert_eq!(load(&text(200)), Ok(vec![]), "{}", model.name);
        warned(&text(300), &["nothing can carry this flow: nodes 0 and 2 stand still"]);
        // A gateway out of range.
        let wired = text(300).replace("to = 2", "to = 3").replace("[routing]", "wired = 1\n[routing]");
        let wired = wired + "[[wire]]\nbetween = [2, 3]\n";
        if load(&wired.replace("300 m", "200 m")) == Ok(vec![]) {
            warned(&wired, &["nothing can carry this flow"]);
        }
    }
    // More hops than a packet lives, and than a route of DSR has.
    let chain = "[nodes]\ncount = 80\n[[flow]]\nfrom = 0\nto = 79\n[routing]\nprotocol = ";
    warned(&format!("{chain}\"olsr\"\n"), &["no packet of flow 0 arrives: its way has 79 hops"]);
    warned(&format!("{chain}\"dsr\"\n"), &["its way has 79 hops", "`route_hops` is 16"]);
    // No place mends what has neither a radio nor a wire, or no common channel.
    let text = "[nodes]\ncount = 2\nspacing = \"900 m\"\nwired = 1\n[[flow]]\nfrom = 0\nto = 2\n";
    refused(text, &["node 2 has neither a radio nor a wire"]);
}

#[test]
fn nodes_that_leave_the_area_at_random_are_warned_of() {
    let text = |model: &str, keys: &str, area: &str| {
        format!(
            "[nodes]\ncount = 18\narea = [\"{area}\", \"800 m\"]\n[mobility]\nmodel = \"{model}\"\n[mobility.{model}]\n\
             width = \"800 m\"\nheight = \"700 m\"\n{keys}\n[[flow]]\nfrom = 0\nto = 1\n"
        )
    };
    for model in ["random_waypoint", "reference_point_group"] {
        assert_eq!(load(&text(model, "", "800 m")), Ok(vec![]), "{model}");
        assert_eq!(load(&text(model, "x = \"50 m\"\ny = \"100 m\"", "850 m")), Ok(vec![]), "{model}");
        warned(&text(model, "", "700 m"), &["nodes leave the area of 700 m by 800 m", "0 m, 0 m and 800 m, 700 m"]);
        warned(&text(model, "x = \"1 m\"", "800 m"), &["nodes leave the area", "1 m, 0 m and 801 m, 700 m"]);
        warned(&text(model, "y = \"-1 m\"", "800 m"), &["nodes leave the area", "0 m, -1 m and 800 m, 699 m"]);
    }
}

#[test]
fn frames_that_are_sensed_and_not_received_carry_nothing() {
    let text = |spacing: &str, radio: &str| {
        format!("[nodes]\ncount = 4\nspacing = \"{spacing} m\"\n[radio]\n{radio}\n[[flow]]\nfrom = 0\nto = 3\n")
    };
    for reception in ["sinr", "threshold", "ns2"] {
        let radio = format!("receive = \"250 m\"\nsense = \"550 m\"\nreception = \"{reception}\"");
        for spacing in ["251", "400", "549", "600"] {
            warned(&text(spacing, &radio), &["nodes 0 and 3 stand still", "over more than 250 m"]);
        }
        assert_eq!(load(&text("249", &radio)), Ok(vec![]));
    }
    // With shadowing, a frame may be received beyond the usual range.
    let shadowed = "propagation = \"log_distance\"\nreception = \"threshold\"";
    let far = (50..2000)
        .step_by(50)
        .map(|spacing| load(&text(&spacing.to_string(), shadowed)))
        .find(|found| *found != Ok(vec![]))
        .expect("two kilometres are too far");
    let warnings = far.unwrap_or_else(|shown| panic!("{shown}"));
    assert!(warnings.len() == 1 && warnings[0].contains("can hardly be carried"), "{warnings:?}");
}

#[test]
fn the_farthest_rate_decides_who_is_out_of_reach() {
    let text = |spacing: u32, receive: &str| {
        let nodes = format!("[nodes]\ncount = 2\nspacing = \"{spacing} m\"\n");
        let radio = format!("[radio]\nreception = \"threshold\"\nreceive = {receive}\n");
        format!("{nodes}{radio}[mac.dcf]\nrate = \"11 Mbps\"\n[[flow]]\nfrom = 0\nto = 1\n")
    };
    let both = "{ \"1 Mbps\" = \"300 m\", \"11 Mbps\" = \"-60 dBm\" }";
    warned(&text(200, both), &["can hardly be carried", "usual range of 166 m"]);
    assert_eq!(load(&text(100, both)), Ok(vec![]));
    // Rate control takes the slowest rate there.
    let every =
        "{ \"1 Mbps\" = \"300 m\", \"2 Mbps\" = \"250 m\", \"5.5 Mbps\" = \"190 m\", \"11 Mbps\" = \"-60 dBm\" }";
    let adapting =
        |spacing| text(spacing, every).replace("[mac.dcf]", "[mac]\nrate_control = \"minstrel_ht\"\n[mac.dcf]");
    assert_eq!(load(&adapting(290)), Ok(vec![]));
    warned(&adapting(310), &["nodes 0 and 1 stand still", "over more than 300 m"]);
    assert_eq!(load(&text(200, "\"250 m\"")), Ok(vec![]));
    let receive = "s.toml:6:1";
    refused(
        &text(200, "{ \"1 Mbps\" = \"250 m\" }"),
        &[receive, "no value for 11 Mbps", "`dcf`", "values for \"11 Mbps\" and \"1 Mbps\""],
    );
    refused(&text(200, "{ \"7 Mbps\" = \"250 m\" }"), &[receive, "mcs0 to mcs31", "found 7 Mbps"]);
    refused(&text(200, "{ \"fast\" = \"250 m\" }"), &[receive, "a rate above zero such as \"2 Mbps\"", "fast"]);
    refused(&text(200, "{ \"1 Mbps\" = \"1 m\", \"1000 kbps\" = \"2 m\" }"), &[receive, "1 Mbps is given twice"]);
    refused(&text(200, "{ \"1 Mbps\" = \"250 m\", \"11 Mbps\" = \"551 m\" }"), &[receive, "551 m"]);
    refused(&text(200, "{}"), &[receive, "at least one mode"]);
}

#[test]
fn heights_count_in_distances() {
    let text = |height: u32| {
        format!(
            "radio.propagation = \"free_space\"\n[nodes]\npositions = [[0, 0], [150, 0, {height}]]\n[[flow]]\nfrom = 0\n\
             to = 1\n"
        )
    };
    assert_eq!(load(&text(199)), Ok(vec![]));
    warned(&text(300), &["nodes 0 and 1 stand still"]);
    // Nodes one above the other are not at one point.
    assert_eq!(load(&text(9).replace("150, 0", "0, 0")), Ok(vec![]));
}

#[test]
fn nodes_at_one_point_are_warned_of() {
    let warnings = load("[nodes]\npositions = [[5, 5], [5, 5]]\n[[flow]]\nfrom = 0\nto = 1\n");
    let warnings = warnings.unwrap_or_else(|shown| panic!("{shown}"));
    assert!(warnings.len() == 1 && warnings[0].contains("all 2 nodes stand at one point"), "{warnings:?}");
}

#[test]
fn static_routes_over_more_than_a_range_are_warned_of() {
    let text = |others: &str, routes: &str| {
        format!(
            "[nodes]\ncount = 4\nspacing = \"200 m\"\n[radio]\nreceive = \"250 m\"\nsense = \"550 m\"\n[routing]\n\
             protocol = \"static\"\n[routing.static]\nothers = \"{others}\"\nroutes = [{routes}]\n[[flow]]\nfrom = 0\n\
             to = 3\n"
        )
    };
    warned(&text("direct", ""), &["the data of this flow", "from node 0 to node 3", "600 m apart"]);
    let there = "{at = 0, to = 3, via = 1}, {at = 1, to = 3, via = 2}";
    warned(&text("direct", there), &["the acknowledgements of this flow", "from node 3 to node 0"]);
    warned(&text("shortest", "{at = 0, to = 3, via = 2}"), &["from node 0 to node 2", "400 m apart"]);
    refused(&text("drop", ""), &["have no route from node 0 to node 3"]);
    for others in ["shortest", "chain"] {
        assert_eq!(load(&text(others, "")), Ok(vec![]));
    }
}

#[test]
fn static_routes_name_nodes_that_are_there() {
    let routes = "[{at = 9, to = 2, via = 0}, {at = 0, to = 2, via = 77}]";
    let text = format!(
        "[nodes]\ncount = 3\n[routing]\nprotocol = \"static\"\n[routing.static]\nroutes = {routes}\n[[flow]]\n\
         from = 0\nto = 1\n"
    );
    let shown = load(&text).expect_err("nodes 9 and 77 are not there");
    assert!(shown.contains("s.toml:6") && (shown.contains("no node 9") || shown.contains("node 9")), "{shown}");
}

#[test]
fn networks_that_are_likely_never_connected_are_warned_of() {
    let text = |model: &str, width: &str| {
        format!(
            "[nodes]\ncount = 10\nplacement = \"{model}\"\narea = [\"{width}\", \"{width}\"]\n[flows]\nrandom = 2\n"
        )
    };
    let warnings = load(&text("uniform", "40 km")).unwrap_or_else(|shown| panic!("{shown}"));
    assert!(warnings.len() == 1 && warnings[0].contains("too far apart"), "{warnings:?}");
    assert_eq!(load(&text("uniform", "500 m")), Ok(vec![]));
    let moving = |width: &str| text("mobility", width) + "[mobility]\nmodel = \"random_waypoint\"\n";
    let warnings = load(&moving("20 km")).unwrap_or_else(|shown| panic!("{shown}"));
    assert!(warnings.len() == 1 && warnings[0].contains("hardly ever connected"), "{warnings:?}");
    let warnings = load(&moving("1 km")).unwrap_or_else(|shown| panic!("{shown}"));
    assert!(warnings.len() == 1 && warnings[0].contains("often parted: a node has 1.77 neighbours"), "{warnings:?}");
    assert_eq!(load(&moving("600 m")), Ok(vec![]));
}

#[test]
fn movement_files_are_numbered_from_the_first_node_without_gaps() {
    let directory = std::env::temp_dir().join(format!("hopyard-reach-{}", std::process::id()));
    std::fs::create_dir_all(&directory).expect("a directory");
    let write = |name: &str, nodes: &[u32]| {
        let text: String =
            nodes.iter().map(|i| format!("$node_({i}) set X_ {i}.0\n$node_({i}) set Y_ 1.0\n")).collect();
        std::fs::write(directory.join(name), text).expect("a file");
    };
    write("from_one.tcl", &[1, 2, 3]);
    write("gap.tcl", &[0, 1, 3]);
    let load = |keys: &str, nodes: &str| {
        let text = format!(
            "[nodes]\n{nodes}\n[mobility]\nmodel = \"movement_file\"\n[mobility.movement_file]\n{keys}\n\
             [[flow]]\nfrom = 0\nto = 2\n"
        );
        Scenario::load(&text, "s.toml", &directory, &[]).map_err(|problems| problems.to_string())
    };
    let one = "path = \"from_one.tcl\"";
    for (keys, nodes, words) in [
        (one, "", "`first_node = 1`"),
        (one, "count = 3", "`first_node = 1`"),
        ("path = \"gap.tcl\"", "", "has no node 2, but nodes before and after it"),
        ("path = \"gap.tcl\"", "", "`nodes = \"all\"`"),
        ("path = \"gap.tcl\"\nnodes = [3, 0, 2]", "", "the movement file has no node 2"),
        ("path = \"gap.tcl\"\nnodes = \"all\"", "count = 4", "and the movement file has 3"),
        ("path = \"from_one.tcl\"\nfirst_node = 99", "", "expected 1 for all nodes of the file"),
        ("path = \"from_one.tcl\"\nfirst_node = 1", "placement = \"grid\"", "\"mobility\", or no `placement`"),
        ("path = \"from_one.tcl\"\nfirst_node = 1", "positions = [[0, 0], [1, 0], [2, 0]]", "no `positions`"),
        ("path = \"from_one.tcl\"\nfirst_node = 1", "area = [\"2 m\", \"2 m\"]", "leave the area"),
        ("path = \".\"", "", "it is not a regular file"),
    ] {
        let shown = load(keys, nodes).expect_err(keys);
        assert!(shown.contains(words) && shown.ends_with("\n1 problem found\n"), "{words}: {shown}");
    }
    for nodes in ["\"all\"", "[3, 0, 1]"] {
        let scenario = load(&format!("path = \"gap.tcl\"\nnodes = {nodes}"), "").unwrap_or_else(|p| panic!("{p}"));
        assert_eq!((scenario.nodes(), scenario.warnings().len()), (3, 0), "{nodes}");
    }
    std::fs::write(
        directory.join("script.tcl"),
        "set ns [new Simulator]\n$ns at 1 \"$node_(0) setdest 5 5 1\"\n\
        $node_(1) set X_ 9\n$node_(1) set Y_ 9\n$node_(2) set X_ 9\n$node_(2) set Y_ 9\n$ns run\n",
    )
    .expect("a file");
    let script = load("path = \"script.tcl\"", "").unwrap_or_else(|p| panic!("{p}"));
    let warnings: Vec<_> = script.warnings().iter().map(ToString::to_string).collect();
    let said = "script.tcl: 2 lines that are no movement were not read: line 1 \"set ns [new Simulator]\", line 7";
    assert!(warnings.len() == 2 && warnings[0].contains(said), "{warnings:?}");
    assert!(warnings[1].contains("line 2: node 0 starts at 0 m"), "{warnings:?}");
    assert!(load("path = \"from_one.tcl\"\nfirst_node = 1", "area = [\"9 m\", \"9 m\"]").is_ok());
    #[cfg(unix)]
    {
        let shown = load("path = \"/dev/zero\"", "").expect_err("it has no end");
        assert!(shown.contains("/dev/zero cannot be read: it is not a regular file"), "{shown}");
    }
    std::fs::remove_dir_all(&directory).expect("it was there");
}

#[test]
fn a_range_that_noise_cuts_is_said_also_of_nodes_that_move() {
    let text = |radio: &str| {
        format!(
            "[nodes]\ncount = 20\narea = [\"2000 m\", \"2000 m\"]\n[mobility]\nmodel = \"random_waypoint\"\n[radio]\n\
             {radio}\n[[flow]]\nfrom = 0\nto = 1\n"
        )
    };
    warned(
        &text("receive = \"2000 m\"\nsense = \"3000 m\""),
        &["s.toml:7:1", "noise ends the range before 2000 m", "no frame is received over more than 1065 m"],
    );
    // The preamble is found, and the frame has bit errors.
    warned(
        &text("receive = \"1000 m\"\nsense = \"3000 m\"")
            .replace("[[flow]]", "[mac.dcf]\nrate = \"11 Mbps\"\n[[flow]]"),
        &["noise ends the range before 1000 m", "most frames of 1000 B are lost over more than"],
    );
    let none = |text: &str| {
        let warnings = load(text).expect(text);
        assert!(warnings.iter().all(|it| !it.contains("noise")), "{warnings:?}");
    };
    none(&text("receive = \"600 m\"\nsense = \"1000 m\""));
    // A power asks for no distance, and other kinds of reception know no noise.
    none(&text("receive = \"-100 dBm\"\nsense = \"-110 dBm\""));
    none(&text("receive = \"2000 m\"\nsense = \"3000 m\"\nreception = \"threshold\""));
}

#[test]
fn a_basic_rate_that_does_not_reach_as_far_as_data_is_said() {
    let text = |slow: &str, fast: &str| {
        format!(
            "[nodes]\ncount = 3\nspacing = \"200 m\"\n[radio]\nreceive = {{ \"1 Mbps\" = \"{slow}\", \"11 Mbps\" = \
             \"{fast}\" }}\nreception = \"threshold\"\n[mac.dcf]\nrate = \"11 Mbps\"\n[[flow]]\nfrom = 0\nto = 2\n"
        )
    };
    let (data, slow) = ("and data at 11 Mbps 250 m: nothing is delivered between", "frames at 1 Mbps");
    warned(&text("150 m", "250 m"), &["s.toml:5:1", slow, "acknowledgements and broadcasts, reach 150 m", data]);
    for (slow, fast) in [("250 m", "250 m"), ("300 m", "250 m")] {
        let warnings = load(&text(slow, fast)).expect("it is sound");
        assert!(warnings.is_empty(), "{warnings:?}");
    }
    // A further channel has its own.
    let further = "[[channel]]\nnodes = [0, 1]\nreceive = { \"1 Mbps\" = \"-50 dBm\", \"11 Mbps\" = \"-70 dBm\" }\n\
                   [channel.dcf]\nrate = \"11 Mbps\"\n";
    warned(&format!("{}{further}", text("250 m", "250 m")), &["s.toml:14:1", slow, "and data at 11 Mbps"]);
}

#[test]
fn obstacles_between_nodes_that_stand_still_shorten_the_range() {
    let text = |loss: u32, more: &str| {
        format!(
            "[nodes]\npositions = [[0, 0], [50, 0], [25, 60]]\n[[obstacle]]\nfrom = [\"10 m\", \"-5 m\"]\n\
             to = [\"20 m\", \"{}\"]\nloss = \"{loss} dB\"\n[[flow]]\nfrom = 0\nto = 1\n{more}",
            if more.is_empty() { "5 m" } else { "90 m" }
        )
    };
    assert_eq!(load(&text(10, "[radio]\n")), Ok(vec![]), "a weak one");
    assert_eq!(load(&text(60, "")), Ok(vec![]), "there is a way around it");
    let words = ["nothing can carry this flow", "nor through too much `loss` of [[obstacle]]"];
    warned(&text(60, "[radio]\n"), &words);
    let route = "[routing]\nprotocol = \"static\"\n[[routing.static.routes]]\nat = 0\nto = 1\nvia = 1\n";
    warned(&text(60, "[radio]\n").replace("[radio]\n", route), &["nothing can carry this flow"]);
}
