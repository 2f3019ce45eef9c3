//! Nodes that are Linux kernels: what a scenario says of them, and what it cannot say.

use std::path::Path;

use hopyard_model::address::NodeId;
use hopyard_model::routing;
use hopyard_scenario::Scenario;
use hopyard_scenario::sections::LinuxRouting;

/// Three such nodes. Keys of [nodes] come behind.
const NODES: &str = "duration = \"10 s\"\n[nodes]\ncount = 3\nspacing = \"200 m\"\n";
const LINUX: &str = "system = \"linux\"\n";

fn read(text: &str) -> Result<Scenario, String> {
    Scenario::load(&format!("{NODES}{text}"), "test.toml", Path::new(""), &[]).map_err(|problems| problems.to_string())
}

fn load(text: &str) -> Scenario {
    read(text).unwrap_or_else(|problems| panic!("{problems}"))
}

#[test]
fn every_node_has_a_kernel_and_no_routing_of_hopyard() {
    let scenario = load(&format!("{LINUX}[linux]\nrouting = \"babeld\"\n"));
    assert_eq!((scenario.linux_nodes().len(), scenario.kernels(), scenario.kernels_with_programs()), (3, 3, 3));
    assert_eq!(scenario.linux().map(|it| (it.routing(), it.router_mtu())), Some((LinuxRouting::Babeld, 1500)));
    let all = scenario.spec(0).nodes;
    assert!(all.iter().all(|node| matches!(node.routing, routing::Config::StaticRoutes(_))));
    assert!(!scenario.to_toml(true).contains("[routing]"));
    assert!(scenario.warnings().is_empty(), "daemons send");
    // Batman-adv is in the kernel, and has room for its headers.
    let batman = load(&format!("{LINUX}[linux]\nrouting = \"batman_v\"\n"));
    assert_eq!((batman.kernels(), batman.kernels_with_programs()), (3, 0));
    assert_eq!(batman.linux().map(|it| it.router_mtu()), Some(1532));
    // Those that only radiate have none.
    let jammed = load(&format!("{LINUX}[[jammer]]\nnodes = [2]\n"));
    assert_eq!((jammed.linux_nodes().len(), jammed.kernels()), (2, 2));
    let hopyard = load("");
    assert!(hopyard.linux().is_none() && hopyard.linux_nodes().is_empty());
}

/// The way has 49 hops: AODV would search 35, and with one hop of life nothing would arrive.
#[test]
fn limits_of_hopyards_packets_and_routing_are_not_those_of_kernels() {
    let chain = NODES.replace("count = 3", "count = 50");
    let rest = "[ip]\nttl = 1\n[[flow]]\nfrom = 0\nto = 49\n";
    let warnings = |text: &str| {
        let text = format!("{chain}{text}");
        let scenario = Scenario::load(&text, "test.toml", Path::new(""), &[]).unwrap_or_else(|it| panic!("{it}"));
        scenario.warnings().iter().map(ToString::to_string).filter(|it| it.contains("hops")).collect::<Vec<_>>()
    };
    let kernels = format!("{LINUX}{rest}stack = \"linux\"\ntcp = \"cubic\"\n[linux]\nrouting = \"babeld\"\n");
    assert_eq!(warnings(&kernels), [""; 0]);
    assert_eq!(warnings(rest).len(), 2);
}

#[test]
fn layers_that_only_hopyards_nodes_have_are_warned_of_where_all_are_kernels() {
    let warnings = |text: &str| load(text).warnings().iter().map(|it| it.path.clone()).collect::<Vec<_>>();
    let layers = "[ip]\nttl = 9\n[link]\nqueue_length = 9\nrouting_packets = \"in_turn\"\narp.hold = 2\n";
    let babeld = "[linux]\nrouting = \"babeld\"\n";
    assert_eq!(warnings(&format!("{LINUX}{layers}{babeld}")), ["ip.ttl", "link.arp", "link.routing_packets"]);
    assert_eq!(warnings(&format!("{LINUX}[ip]\nttl = 64\n{babeld}")), [""; 0], "it would hold anyway");
    let of_ns2 = |ttl: u8| warnings(&format!("{LINUX}[ip]\nprofile = \"ns2\"\nttl = {ttl}\n{babeld}"));
    assert_eq!((of_ns2(32), of_ns2(64)), (vec![], vec!["ip.ttl".to_owned()]));
    let mixed = format!("{MIXED}routing = \"babeld\"\n{layers}");
    assert_eq!(warnings(&mixed), [""; 0], "two nodes are Hopyard's");
    let complete = load(&format!("{LINUX}{babeld}")).to_toml(true);
    let again = Scenario::load(&complete, "test.toml", Path::new(""), &[]).unwrap_or_else(|it| panic!("{it}"));
    assert!(
        !again.warnings().iter().any(|it| it.path.starts_with("ip.") || it.path.starts_with("link.")),
        "{complete}"
    );
}

#[test]
fn the_routing_of_kernels_is_in_the_hash_where_there_are_any() {
    let hash = |text: &str| load(text).hash();
    assert_eq!(hash(""), hash("system = \"hopyard\"\n"));
    let of = |routing: &str| hash(&format!("{LINUX}[linux]\nrouting = \"{routing}\"\n"));
    let all = [hash(""), hash(LINUX), of("babeld"), of("batman_iv"), of("batman_v"), of("ospf")];
    assert_eq!(hash(LINUX), of("static"));
    assert!((1..all.len()).all(|it| !all[..it].contains(&all[it])), "{all:?}");
}

#[test]
fn a_program_runs_at_one_node_at_several_or_at_all() {
    let nodes = |text: &str| load(text).hosts().map(|it| it.1.0).collect::<Vec<_>>();
    let host = |node: &str| format!("[[host]]\nnode = {node}\nrun = \"true\"\n");
    let jammer = "[[jammer]]\nnodes = [2]\n";
    assert_eq!(nodes(&format!("{LINUX}{}{}", host("\"all\""), host("1"))), [0, 1, 2, 1]);
    assert_eq!(nodes(&format!("{LINUX}{jammer}{}", host("\"all\""))), [0, 1]);
    assert_eq!(nodes(&host("[2, 0]")), [2, 0]);
    let all = load(&host("\"all\""));
    assert_eq!((all.kernels(), all.kernels_with_programs(), all.kernel_devices()), (3, 3, 3));
    assert!(all.to_toml(true).contains("node = \"all\""), "{}", all.to_toml(true));
    for (node, expected) in [
        ("[0, 3]", "3"),
        ("[]", "expected at least one node, and each once, found none"),
        ("[1, 1]", "found 1 again"),
        ("\"some\"", "expected the number of a node, a list of numbers, or \"all\""),
        ("-1", "expected the number of a node, a list of numbers, or \"all\""),
    ] {
        let found = read(&host(node)).expect_err("refused");
        assert!(found.contains(expected), "{node}: {found}");
    }
    let found = read(&format!("{LINUX}{jammer}{}", host("[0, 2]"))).expect_err("refused");
    assert!(found.contains("node 2 only radiates"), "{found}");
}

#[test]
fn what_kernels_as_nodes_cannot_have_is_refused() {
    for (text, expected) in [
        ("[routing]\nprotocol = \"aodv\"\n", "have the routing of Linux, and not that of Hopyard"),
        ("[linux]\nmtu = 3000\n", "the MAC does not carry datagrams of 3000 bytes"),
        ("[linux]\nmtu = 300\n", "expected 0 or 1280 to 65535, found 300"),
        ("[linux]\nrouting = \"babeld 'x\"\n", "or a command with quotes in pairs"),
        ("[mac.dcf]\nmax_msdu = \"1508 B\"\n[linux]\nrouting = \"batman_v\"\n", "1532 bytes, which `routing` needs"),
        ("[[flow]]\nfrom = 0\nto = 2\n", "Hopyard's flows cannot go over nodes"),
        ("[[channel]]\nnodes = [0, 1]\n", "cannot have a second radio"),
        ("wired = 1\n[[wire]]\nbetween = [0, 3]\n", "cannot have wires"),
        ("wired = 1\n", "there are no wires"),
    ] {
        let found = read(&format!("{LINUX}{text}")).expect_err("refused");
        assert!(found.contains(expected), "{text}: {found}");
    }
    let flow = "[[flow]]\nfrom = 0\nto = 2\nstack = \"linux\"\ntcp = \"cubic\"\n";
    load(&format!("{LINUX}{flow}"));
    let narrow = read(&format!("{LINUX}{flow}[linux]\nrouting = \"batman_iv\"\nmtu = 1500\n")).expect_err("refused");
    assert!(narrow.contains("in fragments") && narrow.contains("at least 1532"), "{narrow}");
    let other = read("system = \"bsd\"\n").expect_err("refused");
    assert!(other.contains("linux"), "{other}");
}

/// The last node is a kernel; keys of [linux] and further tables come behind.
const MIXED: &str =
    "system = \"linux\"\n[routing]\nprotocol = \"babel\"\n[routing.babel]\nipv6 = true\n[linux]\nnodes = [2]\n";

#[test]
fn some_nodes_are_kernels_and_the_others_speak_their_protocol() {
    let scenario = load(&format!("{MIXED}routing = \"babeld\"\n[[flow]]\nfrom = 0\nto = 1\n"));
    assert_eq!(scenario.linux_nodes(), [NodeId(2)]);
    assert_eq!((scenario.kernels(), scenario.kernels_with_programs()), (1, 1));
    let is_babel: Vec<bool> =
        scenario.spec(0).nodes.iter().map(|it| matches!(it.routing, routing::Config::Babel(_))).collect();
    assert_eq!(is_babel, [true, true, false]);
    let again = scenario.to_toml(true);
    assert!(again.contains("[routing]") && again.contains("nodes = [2]"), "{again}");
    let hash = |text: &str| load(&format!("{MIXED}routing = \"babeld\"\n{text}")).hash();
    let all = load(&format!("{LINUX}[linux]\nrouting = \"babeld\"\n")).hash();
    assert!(hash("") != all && hash("") == hash(""));
    let other = MIXED.replace("[2]", "[1]");
    assert_ne!(load(&format!("{other}routing = \"babeld\"\n")).hash(), hash(""));
    // Where all are listed, nothing is mixed.
    let whole = "system = \"linux\"\n[linux]\nnodes = [0, 1, 2]\nrouting = \"batman_v\"\n";
    assert_eq!(load(whole).linux_nodes().len(), 3);
    load("system = \"linux\"\n[routing]\nprotocol = \"static\"\n[linux]\nnodes = [0]\n");
}

#[test]
fn a_mixture_that_cannot_be_is_refused_with_the_reason() {
    let flow = |from, to, stack: &str| format!("routing = \"babeld\"\n[[flow]]\nfrom = {from}\nto = {to}\n{stack}");
    let linux = "stack = \"linux\"\ntcp = \"cubic\"\n";
    for (text, expected) in [
        ("routing = \"batman_v\"\n".to_owned(), "Hopyard has no protocol that speaks to `batman_v` of kernels"),
        ("routing = \"ospf\"\n".to_owned(), "no protocol that speaks to `ospf`"),
        ("routing = \"babeld\"\nwifi = \"ibss\"\n".to_owned(), "do not understand the frames of Linux's Wi-Fi"),
        ("routing = \"static\"\n".to_owned(), "nodes with `babel` do not understand kernels with `static`"),
        (flow(0, 2, ""), "node 2 is a kernel, and the flow is Hopyard's"),
        (flow(2, 0, linux), "node 0 is no kernel, and the flow is Linux's"),
        ("routing = \"babeld\"\n[flows]\nrandom = 2\n".to_owned(), "drawn among kernels and others alike"),
        ("routing = \"babeld\"\n[[host]]\nnode = 1\nrun = \"true\"\n".to_owned(), "node 1 is no kernel"),
    ] {
        let found = read(&format!("{MIXED}{text}")).expect_err("refused");
        assert!(found.contains(expected), "{text}: {found}");
    }
    for (before, after, expected) in [
        ("ipv6 = true", "ipv6 = false", "expected `ipv6 = true` in [routing.babel]"),
        ("[2]", "[3]", "there is no node 3"),
        ("[2]", "[1, 1]", "node 1 is listed twice"),
        (
            "babel\"\n[routing.babel]\nipv6 = true",
            "olsr\"",
            "nodes with `olsr` do not understand kernels with `babeld`",
        ),
    ] {
        let found = read(&format!("{}routing = \"babeld\"\n", MIXED.replace(before, after))).expect_err("refused");
        assert!(found.contains(expected), "{after}: {found}");
    }
}

#[test]
fn a_node_that_is_not_there_is_the_only_error_of_its_list() {
    let found = read(&format!("{LINUX}[linux]\nnodes = [0, 1, 3]\nrouting = \"batman_v\"\n")).expect_err("refused");
    assert!(found.contains("there is no node 3") && found.contains("1 problem found"), "{found}");
    let twice = read(&MIXED.replace("[2]", "[1, 1]")).expect_err("refused");
    assert!(twice.contains("node 1 is listed twice") && twice.contains("1 problem found"), "{twice}");
}

#[test]
fn keys_without_such_nodes_are_named() {
    let scenario = load("[[host]]\nnode = 0\nrun = \"true\"\n[linux]\nrouting = \"babeld\"\n");
    let warnings: Vec<_> = scenario.warnings().iter().map(ToString::to_string).collect();
    assert!(warnings.iter().any(|it| it.contains("`routing` is not used")), "{warnings:#?}");
}
