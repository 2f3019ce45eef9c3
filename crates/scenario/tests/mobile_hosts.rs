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
    refused(&[tables], &["there is no node 9", "there is no node 8", "node 7 is no home agent", "3 problems found"]);
}
