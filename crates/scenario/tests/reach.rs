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

const WIRED: &str = "[nodes]\ncount = 4\nwired = 2\n[[flow]]\nfrom = 0\nto = 5\n[[wire]]\nbetween = [3, 4]\n\
    [[wire]]\nbetween = [4, 5]\n";

#[test]
fn a_wired_host_needs_a_protocol_that_finds_routes_over_wires() {
    for protocol in ["aodv", "dsdv"] {
        let text = format!("{WIRED}[routing]\nprotocol = \"{protocol}\"\n");
        refused(&text, &["s.toml:6:6", "node 5 has no radio", protocol, "expected routing by static or oracle"]);
    }
    assert_eq!(load(&format!("{WIRED}[routing]\nprotocol = \"oracle\"\n")), Ok(vec![]));
}

#[test]
fn still_nodes_beyond_every_range_are_refused() {
    let text = |nodes: &str| format!("[nodes]\n{nodes}\n[[flow]]\nfrom = 0\nto = 2\n");
    refused(&text("count = 3\nspacing = \"10 km\""), &["s.toml:6:6", "nothing can carry this flow", "nodes 0 and 2"]);
    refused(&text("positions = [[0, 0], [200, 0], [1000, 0]]"), &["nodes 0 and 2 stand still"]);
    assert_eq!(load(&text("count = 3\nspacing = \"200 m\"")), Ok(vec![]));
    // A wire joins what is out of range.
    let wire = "[[wire]]\nbetween = [1, 2]\n[routing]\nprotocol = \"oracle\"\n";
    assert_eq!(load(&(text("positions = [[0, 0], [200, 0], [1000, 0]]") + wire)), Ok(vec![]));
}

#[test]
fn frames_that_are_sensed_and_not_received_carry_nothing() {
    let text = |spacing: &str, radio: &str| {
        format!("[nodes]\ncount = 4\nspacing = \"{spacing} m\"\n[radio]\n{radio}\n[[flow]]\nfrom = 0\nto = 3\n")
    };
    for reception in ["sinr", "threshold", "ns2"] {
        let radio = format!("receive = \"250 m\"\nsense = \"550 m\"\nreception = \"{reception}\"");
        for spacing in ["251", "400", "549", "600"] {
            refused(&text(spacing, &radio), &["nodes 0 and 3 stand still", "over more than 250 m"]);
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
fn heights_count_in_distances() {
    let text = |height: u32| format!("[nodes]\npositions = [[0, 0], [150, 0, {height}]]\n[[flow]]\nfrom = 0\nto = 1\n");
    assert_eq!(load(&text(199)), Ok(vec![]));
    refused(&text(300), &["nodes 0 and 1 stand still"]);
    // Nodes one above the other are not at one point.
    let above = "[nodes]\npositions = [[5, 5], [5, 5, 9]]\n[[flow]]\nfrom = 0\nto = 1\n";
    assert_eq!(load(above), Ok(vec![]));
}

#[test]
fn nodes_at_one_point_are_warned_of() {
    let warnings = load("[nodes]\npositions = [[5, 5], [5, 5]]\n[[flow]]\nfrom = 0\nto = 1\n");
    let warnings = warnings.unwrap_or_else(|shown| panic!("{shown}"));
    assert!(warnings.len() == 1 && warnings[0].contains("all 2 nodes stand at one point"), "{warnings:?}");
}

#[test]
fn static_routes_over_more_than_a_range_are_refused() {
    let text = |others: &str, routes: &str| {
        format!(
            "[nodes]\ncount = 4\nspacing = \"200 m\"\n[radio]\nreceive = \"250 m\"\nsense = \"550 m\"\n[routing]\n\
             protocol = \"static\"\n[routing.static]\nothers = \"{others}\"\nroutes = [{routes}]\n[[flow]]\nfrom = 0\n\
             to = 3\n"
        )
    };
    refused(&text("direct", ""), &["the data of this flow", "from node 0 to node 3", "600 m apart"]);
    let there = "{at = 0, to = 3, via = 1}, {at = 1, to = 3, via = 2}";
    refused(&text("direct", there), &["the acknowledgements of this flow", "from node 3 to node 0"]);
    refused(&text("shortest", "{at = 0, to = 3, via = 2}"), &["from node 0 to node 2", "400 m apart"]);
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
    assert_eq!(load(&moving("1 km")), Ok(vec![]));
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
        ("path = \"from_one.tcl\"\nfirst_node = 99", "", "expected 1 for all nodes of the file"),
        ("path = \"from_one.tcl\"\nfirst_node = 1", "placement = \"grid\"", "\"mobility\", or no `placement`"),
        ("path = \"from_one.tcl\"\nfirst_node = 1", "positions = [[0, 0], [1, 0], [2, 0]]", "no `positions`"),
        ("path = \"from_one.tcl\"\nfirst_node = 1", "area = [\"2 m\", \"2 m\"]", "leave the area"),
        ("path = \".\"", "", "it is not a regular file"),
    ] {
        let shown = load(keys, nodes).expect_err(keys);
        assert!(shown.contains(words) && shown.ends_with("\n1 problem found\n"), "{words}: {shown}");
    }
    assert!(load("path = \"from_one.tcl\"\nfirst_node = 1", "area = [\"9 m\", \"9 m\"]").is_ok());
    #[cfg(unix)]
    {
        let shown = load("path = \"/dev/zero\"", "").expect_err("it has no end");
        assert!(shown.contains("/dev/zero cannot be read: it is not a regular file"), "{shown}");
    }
    std::fs::remove_dir_all(&directory).expect("it was there");
}
