//! Agents and hosts that move between networks: what cannot be is refused before the run, with the key and its line.

use std::path::Path;

use hopyard_model::address::NodeId;
use hopyard_model::world::RoleSpec;
use hopyard_scenario::Scenario;

/// Nodes 0 to 2 have radios; nodes 0 and 1 are joined by way of the router, node 3.
const NETWORK: &str = "duration = \"5 s\"\n[nodes]\ncount = 3\nspacing = \"100 m\"\nwired = 1\n[routing]\n\
    protocol = \"aodv\"\n[[wire]]\nbetween = [0, 3]\n[[wire]]\nbetween = [3, 1]\n";
const HOME: &str = "[[home_agent]]\nnode = 0\n";
const FOREIGN: &str = "[[foreign_agent]]\nnode = 1\n";
const FLOW: &str = "[[flow]]\nfrom = 3\nto = 2\n";
const HOST: &str = "[[mobile_host]]\nnodes = [2]\nhome = 0\n";

fn read(text: &str) -> Result<Scenario, String> {
    Scenario::load(text, "mobile.toml", Path::new(""), &[]).map_err(|problems| problems.to_string())
}

fn refused(tables: &[&str], words: &[&str]) {
    let shown = read(&format!("{NETWORK}{}", tables.concat())).expect_err("it is refused");
    for word in words {
        assert!(shown.contains(word), "\"{word}\":\n{shown}");
    }
}

#[test]
fn tables_become_parts_of_nodes() {
    let spec = read(&[NETWORK, HOME, FOREIGN, HOST].concat()).expect("it can run").spec(0);
    assert!(matches!(spec.role(NodeId(0)), RoleSpec::Router { is_foreign: false, hosts, .. } if hosts.len() == 1));
    assert!(matches!(spec.role(NodeId(1)), RoleSpec::Router { is_foreign: true, hosts, .. } if hosts.is_empty()));
    assert!(matches!(spec.role(NodeId(2)), RoleSpec::Host { agent, .. } if agent.0 == 0));
    assert_eq!(*spec.role(NodeId(3)), RoleSpec::Fixed);
    assert_eq!(spec.nodes.iter().map(|node| node.agents.len()).collect::<Vec<_>>(), [1, 1, 1, 0]);
    let routers: Vec<u32> = spec.served.iter().map(|it| it.router.0).collect();
    assert_eq!(routers, [0, 1]);
}

#[test]
fn a_host_has_one_home_agent_and_a_radio() {
    refused(&[FOREIGN, HOST], &["node 0 is no home agent", "mobile.toml:", "the scenario has none"]);
    let second = "[[home_agent]]\nnode = 1\n[[mobile_host]]\nnodes = [2]\nhome = 1\n";
    refused(&[HOME, HOST, second], &["node 2 has two home agents, 0 and 1"]);
    let fixed = HOST.replace("[2]", "[0]");
    refused(&[HOME, FOREIGN, &fixed], &["node 0 is an agent"]);
    let router = HOST.replace("[2]", "[3]").replace("home = 0", "home = 1");
    let far = NETWORK.replace("wired = 1", "wired = 2") + &HOME.replace('0', "1") + &router.replace("[3]", "[4]");
    let shown = read(&far).expect_err("it is refused");
    assert!(shown.contains("neither a radio nor a wire to its home agent, node 1"), "{shown}");
}

#[test]
fn agents_reach_each_other_over_wires() {
    let lone = "[[foreign_agent]]\nnode = 2\n[[mobile_host]]\nnodes = [1]\nhome = 0\n";
    refused(&[HOME, lone], &["node 2 has no wire", "add a [[wire]]"]);
    let apart = [NETWORK, HOME, FOREIGN, HOST].concat().replace("wired = 1", "wired = 2").replace("[3, 1]", "[4, 1]");
    let shown = read(&apart).expect_err("it is refused");
    assert!(shown.contains("no wires lead from node 1 to the home agent at node 0"), "{shown}");
}

#[test]
fn prefixes_of_agents_do_not_overlap() {
    let (home, foreign) =
        (format!("{HOME}network = \"10.1.0.0/16\"\n"), format!("{FOREIGN}network = \"10.1.2.0/24\"\n"));
    refused(&[&home, &foreign, HOST], &["overlapping prefixes, 10.1.0.0/16 and 10.1.2.0/24"]);
}

#[test]
fn the_profile_of_ns2_needs_routes_that_a_protocol_keeps() {
    let text = format!("profile = \"ns2\"\n{}", [NETWORK, HOME, FOREIGN, HOST].concat());
    let shown = read(&text).expect_err("it is refused");
    assert!(shown.contains("`aodv` keeps none"), "{shown}");
    read(&text.replace("\"aodv\"", "\"dsdv\"")).expect("DSDV keeps routes");
}

#[test]
fn all_faults_are_told_at_once() {
    let tables = "[[home_agent]]\nnode = 9\n[[mobile_host]]\nnodes = [8]\nhome = 7\n";
    refused(&[tables], &["there is no node 9", "there is no node 8", "there is no node 7", "3 problems found"]);
}

/// The number of the line with these words.
fn line(text: &str, words: &str) -> usize {
    1 + text.lines().position(|line| line.contains(words)).unwrap_or_else(|| panic!("{words}"))
}

/// Whether one problem or warning has this message, in the line with these words, with this said below it.
fn said(text: &str, shown: &str, message: &str, at: &str, below: &str) {
    let problem = shown.split("\n\n").find(|it| it.contains(message)).unwrap_or_else(|| panic!("{message}:\n{shown}"));
    assert!(problem.contains(&format!("mobile.toml:{}:", line(text, at))), "line of \"{at}\":\n{problem}");
    assert!(problem.contains(below), "\"{below}\":\n{problem}");
}

/// The warnings of a scenario that can run.
fn warnings(text: &str) -> String {
    let scenario = read(text).unwrap_or_else(|problems| panic!("{problems}"));
    scenario.warnings().iter().map(ToString::to_string).collect::<Vec<_>>().join("\n\n")
}

/// Every mistake that networks of Mobile IP can have.
const BAD: &str = r#"profile = "ns2"
duration = "5 s"
[nodes]
count = 6
spacing = "100 m"
wired = 5
[routing]
protocol = "static"
[agents.mobile_ip]
registration_lifetime = 0
advertised_lifetime = 0
[[home_agent]]
node = 0
network = "10.1.0.0/16"
wires = [0, 0, 8]
[[home_agent]]
node = 1 # no wire
[[home_agent]]
node = 77
[[foreign_agent]]
node = 2
network = "10.1.2.0/24"
[[foreign_agent]]
node = 9 # apart
network = "10.8.0.0/16"
[[mobile_host]]
nodes = [3, 99]
home = 3
[[mobile_host]]
nodes = [5] # first
home = 0
[[mobile_host]]
nodes = [5] # second
home = 1
[[mobile_host]]
nodes = [6, 6] # no radio
home = 0
[[mobile_host]]
nodes = [10] # fixed
home = 0
[[mobile_host]]
nodes = [2] # an agent
home = 0
[[address]]
node = 0
address = "10.9.0.1"
[[address]]
node = 2
address = "10.1.2.9"
[[wire]]
between = [0, 7]
[[wire]]
between = [7, 2]
[[wire]]
between = [7, 0]
[[wire]]
between = [8, 9]
[[wire]]
between = [10, 7]
down = [{ from = "3 s", to = "4 s" }, { from = "1 s", to = "2 s" }]
[[flow]]
from = 7
to = 4
udp = true
traffic = "cbr"
cbr.packet_size = "65507 B"
[[mobile_host]]
nodes = [4]
home = 0
forged = [{ from = "1 s", to = "3 s" }, { from = "2 s", to = "4 s" }]
"#;

#[test]
fn every_mistake_is_told_at_once() {
    let shown = read(BAD).expect_err("it is refused");
    let expected = [
        ("`static` keeps none", "\"static\"", "`dsdv`"),
        ("`registration_lifetime` cannot be `0`", "registration_lifetime", "a lifetime of zero ends a registration"),
        ("`advertised_lifetime` cannot be `0`", "advertised_lifetime", "must not be less than `beacon`, which is 1 s"),
        ("wire 0 is in the list twice", "wires = [0, 0, 8]", "each wire once"),
        ("there is no wire 8", "wires = [0, 0, 8]", "numbers of wires from 0 to 4"),
        ("node 1 has no wire", "# no wire", "add a [[wire]]"),
        ("there is no node 77", "node = 77", "0 to 10: there are 11 nodes"),
        ("overlapping prefixes, 10.1.0.0/16 and 10.1.2.0/24", "10.1.2.0/24", "another prefix"),
        ("no wires lead from node 9 to the home agent at node 0", "# apart", "directly or by way of routers"),
        ("node 9 has no radio, and so no network on it", "10.8.0.0/16", "`network` in [[wire]]"),
        ("there is no node 99", "[3, 99]", "0 to 10"),
        ("node 3 is no home agent", "home = 3", "`0` or `1`"),
        ("`forged` cannot have this element", "forged =", "begins before the last one ends, which is at 3 s"),
        ("node 5 has two home agents, 0 and 1", "# second", "one home agent for each host"),
        ("node 6 is in the list twice", "# no radio", "each node once"),
        ("node 6 has neither a radio nor a wire to its home agent", "# no radio", "`count` of [nodes]"),
        ("node 10 does not move between networks: wire 4 joins it to node 7", "# fixed", "wires join to agents alone"),
        ("node 2 is an agent", "# an agent", "a node that is no agent"),
        ("node 0 has no interface in whose prefix the address 10.9.0.1 is", "10.9.0.1", "an address in 10.1.0.0/16"),
        ("nodes 7 and 0 are joined already", "between = [7, 0]", "one wire between two nodes"),
        ("`down` cannot have this element", "down =", "the link goes down at 1 s, but is down already, until 4 s"),
        ("packets of 65507 B are 65535 B with their headers", "traffic =", "packets of at most 65515 B"),
    ];
    for (message, at, below) in expected {
        said(BAD, &shown, message, at, below);
    }
    // Some are said of two tables.
    let count = shown.lines().filter(|line| line.starts_with("error: ")).count();
    assert!(shown.contains(&format!("\n{count} problems found")), "{shown}");
    assert!(count < expected.len() + 4, "few follow from others: {count}\n{shown}");
}

#[test]
fn a_lifetime_of_less_than_three_beacons_is_warned_of_in_the_procedure_of_the_rfc() {
    let text = |more: &str| format!("{}[agents.mobile_ip]\n{more}", [NETWORK, HOME, FOREIGN, HOST, FLOW].concat());
    for (more, at, below) in [
        ("advertised_lifetime = 2\n", "advertised_lifetime", "at least 3, or a `beacon` of at most 666 ms"),
        ("beacon = \"1.5 s\"\n", "beacon", "at least 5, or a `beacon` of at most 1 s"),
    ] {
        let shown = warnings(&text(more));
        said(&text(more), &shown, "less than three times `beacon`", at, below);
    }
    for more in ["", "advertised_lifetime = 9\nbeacon = \"3 s\"\n", "procedure = \"ns2\"\nadvertised_lifetime = 2\n"] {
        let text = text(more).replace("\"aodv\"", "\"dsdv\"");
        assert_eq!(warnings(&text), "", "{more}");
    }
}

#[test]
fn what_has_no_effect_is_warned_of() {
    let text =
        [NETWORK, HOME, "first = \"9 s\"\n", FOREIGN, HOST, "forged = [{ from = \"7 s\", to = \"8 s\" }]\n"].concat();
    let text = text.replace("[3, 1]", "[3, 1]\ndown = [{ from = \"6 s\" }]");
    let shown = warnings(&text);
    said(&text, &shown, "node 0 first advertises at 9 s", "first =", "before the end");
    said(&text, &shown, "nothing happens at 7 s: the run ends at 5 s", "forged =", "before the end of the run");
    said(&text, &shown, "the wire does not go down at 6 s", "down =", "before the end of the run");
    let idle = format!("{NETWORK}[agents]\nrun = [\"mobile_ip\"]\n");
    said(&idle, &warnings(&idle), "no node is an agent or moves", "run =", "[[mobile_host]]");
}

#[test]
fn a_flow_between_a_host_and_a_node_of_the_ad_hoc_network_is_warned_of() {
    let network = NETWORK.replace("count = 3", "count = 4").replace("[0, 3]", "[0, 4]").replace("[3, 1]", "[4, 1]");
    let text = |from: u32, to: u32| {
        format!("{network}{HOME}{FOREIGN}{HOST}[[flow]]\nfrom = {from}\nto = {to}\n").replace("aodv", "static")
    };
    for (from, to, at) in [(2, 3, "to ="), (3, 2, "from =")] {
        let shown = warnings(&text(from, to));
        said(&text(from, to), &shown, "may have no way to node 3", at, "a node with wires only");
    }
    for (from, to) in [(2, 0), (1, 2), (4, 2), (3, 0)] {
        assert_eq!(warnings(&text(from, to)), "", "{from} to {to}");
    }
}

#[test]
fn a_host_on_wires_has_one_to_its_home_agent_on_which_that_advertises() {
    let text = |wires: &str| {
        let home = format!("{HOME}{wires}");
        let host = HOST.replace("[2]", "[4]");
        let wires = "[[wire]]\nbetween = [0, 4]\n[[wire]]\nbetween = [4, 1]\n";
        [NETWORK, &home, FOREIGN, &host, wires].concat().replace("wired = 1", "wired = 2")
    };
    read(&text("wires = [2]\n")).expect("it can be at home");
    let shown = read(&text("")).expect_err("it is refused");
    said(
        &text(""),
        &shown,
        "node 0, advertises on no wire to it: it never is at home",
        "nodes = [4]",
        "[[home_agent]]",
    );
    assert!(shown.contains("1 problem found"), "{shown}");
}

#[test]
fn both_tables_of_a_node_have_the_same_keys() {
    let both =
        format!("{HOME}network = \"10.1.0.0/16\"\nwires = [0]\n[[foreign_agent]]\nnode = 0 # both\nfirst = \"1 s\"\n");
    let text = [NETWORK, &both, FOREIGN, HOST].concat();
    let shown = read(&text).expect_err("it is refused");
    for (words, at) in [
        ("`network` \"auto\" as a foreign agent, and \"10.1.0.0/16\" as a home agent", "# both"),
        ("`wires` [] as a foreign agent, and [0]", "# both"),
        ("`first` \"1 s\" as a foreign agent, and \"random\"", "first ="),
    ] {
        said(&text, &shown, words, at, "in both tables of a node");
    }
}

#[test]
fn packets_fit_into_the_tunnels_of_hosts() {
    let text = |from: u32, to: u32, size: u32, keys: &str| {
        let flow = format!(
            "[[flow]]\nfrom = {from}\nto = {to}\nudp = true\ntraffic = \"cbr\"\ncbr.packet_size = \"{size} B\"\n"
        );
        // Any packet of IP fits into a wire.
        let network = NETWORK.replace("[[wire]]\n", "[[wire]]\nmtu = \"0 B\"\n");
        format!("{}{keys}", [&network, HOME, FOREIGN, HOST, &flow, "[agents.mobile_ip]\n"].concat())
    };
    // An IP header and one of UDP more: 65,515 B and 20 B are as long as an IP packet can be.
    read(&text(3, 2, 65_487, "")).expect("it fits");
    let shown = read(&text(3, 2, 65_488, "")).expect_err("a byte too many");
    said(&text(3, 2, 65_488, ""), &shown, "the tunnel of host 2, while it is away, adds 20 B", "traffic", "65515 B");
    read(&text(3, 2, 65_495, "tunnel = \"minimal\"\n")).expect("12 B fit");
    let shown = read(&text(3, 2, 65_496, "tunnel = \"minimal\"\n")).expect_err("a byte too many");
    assert!(shown.contains("adds 12 B"), "{shown}");
    // From the host, no tunnel is on the way, unless there are reverse tunnels.
    read(&text(2, 3, 65_507, "")).expect("no tunnel");
    let shown = read(&text(2, 3, 65_507, "reverse_tunnel = true\n")).expect_err("20 bytes too many");
    assert!(shown.contains("adds 20 B"), "{shown}");
}

#[test]
fn addresses_of_hosts_are_in_the_network_of_their_home_agent() {
    let address = |node: u32, address: &str| format!("[[address]]\nnode = {node}\naddress = \"{address}\"\n");
    let home = format!("{HOME}network = \"10.1.0.0/24\"\n");
    let good = [NETWORK, &home, FOREIGN, HOST, &address(2, "10.1.0.77")].concat();
    let spec = read(&good).expect("it can run").spec(0);
    let world = hopyard_model::world::World::new(&spec).expect("a world");
    let names = |node: u32| world.addresses(NodeId(node)).iter().map(ToString::to_string).collect::<Vec<_>>();
    assert_eq!(names(2), ["10.1.0.77"]);
    assert_eq!(names(0)[0], "10.1.0.1");
    // The second network that agents serve, and so the second prefix for such networks.
    assert_eq!(names(1)[0], "172.16.1.1");
    let bad = [NETWORK, &home, FOREIGN, HOST, &address(2, "172.16.1.9"), &address(0, "10.1.0.255")].concat();
    let shown = read(&bad).expect_err("it is refused");
    let expected = "an address in 10.1.0.0/24, the network of its home agent, node 0";
    said(&bad, &shown, "node 2 has no interface in whose prefix the address 172.16.1.9 is", "172.16.1.9", expected);
    let expected = "expected an address of a host in 10.1.0.0/24, the prefix of the network of the agent at node 0";
    said(&bad, &shown, expected, "10.1.0.255", "belong to no host");
}

#[test]
fn a_list_in_the_place_of_the_table_of_a_model_is_refused() {
    // It has no effect, and nothing would say so.
    let parameters = "[[agents.mobile_ip]]\nbeacon = \"3 s\"\n";
    let text = [NETWORK, HOME, FOREIGN, HOST, FLOW, parameters].concat();
    let shown = read(&text).expect_err("it is refused");
    said(&text, &shown, "`mobile_ip` is the list", "[[agents.mobile_ip]]", "a table, [agents.mobile_ip]");
}
