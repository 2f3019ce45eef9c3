//! Tunnels that lead nowhere are refused before the run, with the key and a hint.

use std::path::Path;

use hopyard_scenario::Scenario;

/// Hosts 2 to 5 behind node 1, in a row of wires; wire n has the prefix 192.168.0.4n/30. Node 0 has a radio only.
fn scenario(rest: &str) -> String {
    format!(
        "duration = \"5 s\"\n[nodes]\ncount = 2\nspacing = \"100 m\"\nwired = 4\n[routing]\nprotocol = \"aodv\"\n\
         [routing.aodv]\ngateways = \"off\"\n[[wire]]\nbetween = [1, 2]\n[[wire]]\nbetween = [2, 3]\n[[wire]]\nbetween = [3, 4]\n[[wire]]\nbetween = [4, 5]\n\
         {rest}"
    )
}

fn read(rest: &str) -> Result<Scenario, String> {
    let text = scenario(rest);
    Scenario::load(&text, "tunnels.toml", Path::new(""), &[]).map_err(|problems| problems.to_string())
}

fn refused(rest: &str, words: &[&str]) {
    let shown = read(rest).expect_err("it is refused");
    for word in words {
        assert!(shown.contains(word), "\"{word}\":\n{shown}");
    }
}

const FLOW: &str = "[[flow]]\nfrom = 2\nto = 5\nudp = true\n";

#[test]
fn a_tunnel_does_not_carry_its_own_end() {
    // The end of the tunnel is the first interface of node 4: 192.168.0.10, on the wire from node 3.
    let tunnel = "[[tunnel]]\nbetween = [2, 4]\ncarries = [\"192.168.0.12/30\", \"192.168.0.8/30\"]\n";
    let words = ["192.168.0.8/30 holds the tunnel's own end, 192.168.0.10 of node 4", "carries", "prefixes without"];
    refused(&format!("{tunnel}{FLOW}"), &words);
    // The prefix of the wire is longer: it leads to the end.
    read(&format!("{}{FLOW}", tunnel.replace("192.168.0.8/30", "192.168.0.0/16"))).expect("the end is reached");
}

#[test]
fn tunnels_do_not_go_round_in_circles() {
    let fro = "[[tunnel]]\nbetween = [2, 3]\ncarries = [\"192.168.0.12/30\"]\ncarries_back = [\"192.168.0.12/30\"]\n";
    refused(&format!("{fro}{FLOW}"), &["packets for 192.168.0.12/30 go round in tunnels, from node 2 to 3 to 2"]);
    let mut round = String::new();
    for (from, to) in [(3, 1), (1, 2), (2, 3)] {
        round += &format!("[[tunnel]]\nbetween = [{from}, {to}]\ncarries = [\"192.168.0.12/30\"]\n");
    }
    let shown = read(&format!("{round}{FLOW}")).expect_err("it is refused");
    assert!(shown.contains("from node 1 to 2 to 3 to 1"), "{shown}");
    assert_eq!(shown.matches("go round").count(), 1, "{shown}");
    // A node of the circle keeps what is for itself.
    let each = "[[tunnel]]\nbetween = [2, 3]\ncarries = [\"192.168.0.0/16\"]\ncarries_back = [\"192.168.0.0/16\"]\n";
    read(&format!("{each}{FLOW}")).expect("each end has an address there");
}

#[test]
fn a_tunnel_for_nobody_is_warned_of() {
    let warned = |prefix: &str| {
        let tunnel = format!("[[tunnel]]\nbetween = [2, 4]\ncarries = [\"{prefix}\"]\n");
        let found = read(&format!("{tunnel}{FLOW}")).expect("it can run");
        found.warnings().iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
    };
    assert!(
        warned("10.77.0.0/16").contains("the tunnel carries nothing for 10.77.0.0/16"),
        "{}",
        warned("10.77.0.0/16")
    );
    assert_eq!(warned("192.168.0.12/30"), "");
}

/// AODV finds the gateway over radios, and the tunnel leads there: datagrams reach the host, but nothing comes back.
#[test]
fn datagrams_reach_a_wired_host_through_a_tunnel() {
    let tunnel = "[[tunnel]]\nbetween = [0, 1]\ncarries = [\"192.168.0.12/30\"]\n";
    let flow = |udp: bool| format!("[[flow]]\nfrom = 0\nto = 5\nudp = {udp}\n");
    let scenario = read(&format!("{tunnel}{}", flow(true))).expect("datagrams are carried");
    let outcome = hopyard_model::world::simulate(&scenario.spec(0), &hopyard_model::world::Watch::default())
        .expect("packets add up");
    assert!(outcome.flows[0].packets_arrived > 0, "{:?}", outcome.drops);
    refused(&format!("{tunnel}{}", flow(false)), &["finds no routes over wires"]);
    refused(&flow(true), &["finds no routes over wires"]);
}

#[test]
fn packets_fit_into_tunnels() {
    let tunnel = "[[tunnel]]\nbetween = [2, 4]\ncarries = [\"192.168.0.12/30\"]\n";
    // Within the first one: the end of the outer tunnel is node 3, and it carries the inner one's end.
    let outer = "[[tunnel]]\nbetween = [2, 3]\ncarries = [\"192.168.0.8/30\"]\n";
    let flow = |size: u32| format!("{FLOW}traffic = \"cbr\"\ncbr.packet_size = \"{size} B\"\n");
    // Only the longest packet that IP knows is the limit here, not what a wire takes.
    let read = |rest: &str| {
        let text = scenario(rest).replace("[[wire]]", "[[wire]]\nmtu = \"0 B\"");
        Scenario::load(&text, "tunnels.toml", Path::new(""), &[]).map_err(|problems| problems.to_string())
    };
    let refused = |rest: &str, words: [&str; 2]| {
        let shown = read(rest).expect_err("it is refused");
        assert!(words.iter().all(|word| shown.contains(word)), "{shown}");
    };
    // An IP header and one of UDP more: 65,515 B and 20 B are as long as an IP packet can be.
    read(&format!("{tunnel}{}", flow(65_487))).expect("it fits");
    refused(&format!("{tunnel}{}", flow(65_488)), ["a tunnel on their way adds 20 B", "at most 65515 B"]);
    read(&flow(65_507)).expect("no tunnel");
    read(&format!("{tunnel}{outer}{}", flow(65_467))).expect("it fits into both");
    refused(&format!("{tunnel}{outer}{}", flow(65_468)), ["adds 40 B", "at most 65495 B"]);
}

#[test]
fn packets_that_a_link_carries_without_the_tunnel_alone_are_warned_of() {
    let tunnel = "[[tunnel]]\nbetween = [2, 4]\ncarries = [\"192.168.0.12/30\"]\n";
    let warned = |size: u32| {
        let flow = format!("{FLOW}traffic = \"cbr\"\ncbr.packet_size = \"{size} B\"\n");
        let found = read(&format!("{tunnel}{flow}")).expect("it can run");
        found.warnings().iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
    };
    // A wire carries 2296 B: 20 B and 8 B are headers, and 20 B the tunnel's.
    assert_eq!(warned(2248), "");
    let warning = warned(2249);
    for word in ["are 2277 B with their headers", "adds 20 B: `dcf`, wire 0", "at most 2276 B"] {
        assert!(warning.contains(word), "\"{word}\":\n{warning}");
    }
}

#[test]
fn tunnels_of_one_node_lie_in_each_other_up_to_a_limit() {
    // A row of hosts 2 to 8; that of node n + 1 towards node n is the second address of wire n - 1.
    let row = |tunnels: u32| {
        let mut text = scenario("").replace("wired = 4", "wired = 7");
        for node in 5..8 {
            text += &format!("[[wire]]\nbetween = [{node}, {}]\n", node + 1);
        }
        // The first tunnel carries the address of node 8, each further one that of the end of the one before.
        for end in (0..tunnels).map(|place| 7 - place) {
            let carried = format!("192.168.0.{}/30", 4 * (end - 1));
            text += &format!("[[tunnel]]\nbetween = [2, {end}]\ncarries = [\"{carried}\"]\n");
        }
        text += "[[flow]]\nfrom = 2\nto = 8\nudp = true\n";
        Scenario::load(&text, "tunnels.toml", Path::new(""), &[]).map_err(|problems| problems.to_string())
    };
    for tunnels in 1..=4 {
        let scenario = row(tunnels).expect("it can run");
        let outcome = hopyard_model::world::simulate(&scenario.spec(0), &hopyard_model::world::Watch::default())
            .expect("packets add up");
        let flow = &outcome.flows[0];
        assert!(flow.packets_arrived + 2 > flow.packets_sent, "{tunnels}: {:?}", outcome.drops);
    }
    let shown = row(5).expect_err("a run would drop each packet");
    assert!(shown.contains("nothing carries them to the tunnel's end"), "{shown}");
}
