//! Flows that no sequence of networks can carry are named, whatever the reason; those that can be carried are not.

use std::path::Path;

use hopyard_model::world::{Watch, simulate};
use hopyard_scenario::Scenario;

fn load(text: &str) -> Result<Scenario, String> {
    Scenario::load(text, "s.toml", Path::new(""), &[]).map_err(|problems| problems.to_string())
}

/// The scenario is refused, or read with warnings where the places of the nodes are the reason; this is said.
fn named(text: &str, words: &[&str]) {
    let warnings = |scenario: Scenario| scenario.warnings().iter().map(ToString::to_string).collect::<String>();
    let shown = load(text).map_or_else(|shown| shown, warnings);
    for word in words {
        assert!(shown.contains(word), "\"{word}\" is not in:\n{shown}");
    }
}

/// The scenario is accepted without a warning, and each flow delivers packets.
fn carried(text: &str) {
    let scenario = load(text).unwrap_or_else(|shown| panic!("{text}\n{shown}"));
    assert_eq!(scenario.warnings(), [], "{text}");
    let outcome = simulate(&scenario.spec(0), &Watch::default()).expect("packets add up");
    for flow in &outcome.flows {
        assert!(flow.packets_arrived > 0, "flow {} of {text}", flow.flow);
    }
}

fn with(protocol: &str, rest: &str) -> String {
    format!("duration = \"20 s\"\n[routing]\nprotocol = \"{protocol}\"\n{rest}")
}

const CBR: &str = "udp = true\ncbr.interval = \"500 ms\"\n";

/// Two groups of radios, far apart, with a wire between them.
const TWO_PARTS: &str = "[nodes]\npositions = [[0, 0], [200, 0], [9000, 0], [9200, 0]]\n[[wire]]\nbetween = [1, 2]\n";

#[test]
fn a_wire_between_radios_needs_a_protocol_that_crosses_it() {
    let flow = |from: u32, to: u32| format!("{TWO_PARTS}[[flow]]\nfrom = {from}\nto = {to}\n");
    for protocol in ["aodv", "dsdv"] {
        let words = ["s.toml:10:6", "leads over a wire between radios", protocol, "routing by static or oracle"];
        named(&with(protocol, &flow(0, 3)), &words);
        // The gateways themselves: the address of node 2 is on the channel, where its neighbours find it.
        named(&with(protocol, &flow(1, 2)), &["from node 1 to node 2 leads over a wire between radios"]);
        carried(&with(protocol, &flow(0, 1)));
    }
    for protocol in ["static", "oracle", "source_routes"] {
        carried(&with(protocol, &flow(0, 3)));
    }
}

#[test]
fn a_host_behind_a_gateway_needs_a_protocol_that_reaches_wires() {
    // 0 - 1 by radio, 1 - 2 - 3 by wire.
    let nodes = "[nodes]\ncount = 2\nwired = 2\n[[wire]]\nbetween = [1, 2]\n[[wire]]\nbetween = [2, 3]\n[[flow]]\n";
    let protocol = "aomdv";
    let able = "expected routing by static or oracle";
    // TCP needs both directions.
    named(&with(protocol, &format!("{nodes}from = 0\nto = 3\n")), &["carry the data", "node 3 has no radio", able]);
    named(&with(protocol, &format!("{nodes}from = 3\nto = 0\n")), &["carry the data", "node 3"]);
    named(&with(protocol, &format!("{nodes}from = 0\nto = 3\n{CBR}")), &["carry the data", "node 3 has no radio"]);
    // The table of the host leads to the gateway, whose protocol searches no routes for others.
    named(&with(protocol, &format!("{nodes}from = 3\nto = 0\n{CBR}")), &["carry the data", "node 3 has no radio"]);
    // To the gateway itself, and from it, wires lead.
    carried(&with(protocol, &format!("{nodes}from = 3\nto = 1\n")));
    carried(&with(protocol, &format!("{nodes}from = 1\nto = 3\n")));
    carried(&with("oracle", &format!("{nodes}from = 0\nto = 3\n")));
}

#[test]
fn a_gateway_carries_only_what_its_protocol_tells_of() {
    let nodes = "[nodes]\ncount = 2\nwired = 1\n[[wire]]\nbetween = [1, 2]\nnetwork = \"192.168.7.0/24\"\n[[flow]]\nfrom = 0\nto = 2\n";
    let olsr = |hna: &str| with("olsr", &format!("{hna}\n{nodes}"));
    for hna in [
        "",
        "olsr.hna = \"listed\"\nolsr.hna_networks = [\"192.168.0.0/16\"]",
        "olsr.hna = \"both\"\nolsr.hna_networks = [\"8.0.0.0/8\"]",
    ] {
        carried(&olsr(hna));
    }
    let other = olsr("olsr.hna = \"listed\"\nolsr.hna_networks = [\"192.168.8.0/24\"]");
    named(&other, &["carry the data of this flow", "node 2 has no radio, and no gateway of `olsr` leads there"]);
    carried(&with("dsdv", &format!("dsdv.gateways = \"default\"\n{nodes}")));
}

/// Tunnels that ordinary routes join to a circle: node 1 sends packets for node 3 back to node 0, from where they
/// return.
#[test]
fn a_circle_of_a_tunnel_and_routes_is_named() {
    let text = |carries: &str| {
        format!(
            "[nodes]\nwired = 4\n[[wire]]\nbetween = [0, 1]\n[[wire]]\nbetween = [1, 2]\n[[wire]]\nbetween = [2, 3]\n\
             network = \"172.20.0.0/24\"\n[[tunnel]]\nbetween = [1, 0]\n{carries} = [\"172.20.0.0/24\"]\n[[flow]]\n\
             from = 0\nto = 3\n{CBR}"
        )
    };
    for protocol in ["static", "oracle"] {
        named(&with(protocol, &text("carries")), &["carry the data", "they come back to a node where they have been"]);
        carried(&with(protocol, &text("carries_back")));
    }
    let radio = text("carries").replace("wired = 4", "count = 1\nwired = 4");
    let shifted = radio.replace("[2, 3]", "[3, 4]").replace("[1, 2]", "[2, 3]").replace("[0, 1]", "[1, 2]");
    let shifted = shifted.replace("[1, 0]", "[2, 1]").replace("from = 0\nto = 3", "from = 1\nto = 4");
    named(&with("aodv", &shifted), &["carry the data", "they come back to a node where they have been"]);
}

/// A gateway with a default route drops what its wires do not lead to: it knows of no other gateway's hosts.
#[test]
fn gateways_that_tell_of_hosts_behind_others_are_warned_of() {
    // Host 3 is behind node 0, host 4 behind node 2.
    let nodes = |more: &str| {
        format!(
            "[nodes]\ncount = 3\nwired = 2\n[[wire]]\nbetween = [0, 3]\n[[wire]]\nbetween = [2, 4]\n{more}\
             [[flow]]\nfrom = 1\nto = 4\n"
        )
    };
    let join = "[[wire]]\nbetween = [3, 4]\n";
    let every = "olsr.hna = \"listed\"\nolsr.hna_networks = [\"0.0.0.0/0\"]";
    for (protocol, default) in [("dsdv", "dsdv.gateways = \"default\""), ("olsr", every)] {
        let scenario = load(&with(protocol, &format!("{default}\n{}", nodes("")))).expect("it can run");
        let shown: Vec<_> = scenario.warnings().iter().map(ToString::to_string).collect();
        assert_eq!(shown.len(), 1, "{shown:?}");
        assert!(shown[0].contains("where node 0 is the nearest gateway") && shown[0].contains("node 4"), "{shown:?}");
        assert!(shown[0].contains("tell of the networks behind it"), "{shown:?}");
        carried(&with(protocol, &nodes("")));
        carried(&with(protocol, &format!("{default}\n{}", nodes(join))));
    }
}

#[test]
fn moving_radios_do_not_hide_a_host_that_no_wire_joins() {
    let text = "[nodes]\ncount = 9\nwired = 2\narea = [\"300 m\", \"300 m\"]\n[mobility]\nmodel = \"random_waypoint\"\n\
        [[wire]]\nbetween = [9, 10]\n[[flow]]\nfrom = 0\nto = 10\n";
    for protocol in ["aodv", "oracle"] {
        named(&with(protocol, text), &["no chain of radios or wires joins them", "need a [[wire]]"]);
    }
}

/// Distances say nothing of a host without a position: it needs a wire.
#[test]
fn a_host_without_a_wire_is_named() {
    for (from, to) in [(0, 3), (3, 0)] {
        let text = format!("[nodes]\ncount = 3\nwired = 1\n[[flow]]\nfrom = {from}\nto = {to}\n");
        for protocol in ["aodv", "olsr", "oracle"] {
            named(&with(protocol, &text), &["node 3 has neither a radio nor a wire", "[NODE, 3]` in a [[wire]]"]);
        }
    }
}

#[test]
fn a_tunnel_must_reach_its_end() {
    // Two islands of wires: 1 - 2 and 3 - 4. The tunnel leads from 2 to 3, which nothing joins. Node 0 has a radio.
    let text = |last: &str| {
        format!(
            "[nodes]\ncount = 1\nwired = 4\n[[wire]]\nbetween = [1, 2]\n{last}[[wire]]\nbetween = [3, 4]\n\
             network = \"172.20.0.0/24\"\n[[tunnel]]\nbetween = [2, 3]\ncarries = [\"172.20.0.0/24\"]\n\
             [[flow]]\nfrom = 1\nto = 4\n{CBR}"
        )
    };
    named(&with("dsdv", &text("")), &["holds the tunnel's own end, 172.20.0.1 of node 3"]);
    carried(&with("dsdv", &text("[[wire]]\nbetween = [2, 3]\n")));
    // Under a protocol that crosses wires, a tunnel into itself takes the packets.
    let looped = "[nodes]\nwired = 3\n[[wire]]\nbetween = [0, 1]\n[[wire]]\nbetween = [1, 2]\n[[tunnel]]\nbetween = [0, 2]\n\
        carries = [\"192.168.0.0/16\"]\n[[flow]]\nfrom = 0\nto = 2\n";
    named(&with("oracle", looped), &["carry the data", "a tunnel takes its packets"]);
}

#[test]
fn a_protocol_for_radios_needs_a_radio() {
    let wired = "[nodes]\nwired = 2\n[[wire]]\nbetween = [0, 1]\n[[flow]]\nfrom = 0\nto = 1\n";
    for protocol in ["aomdv", "dsdv", "dsr", "olsr"] {
        let words = [
            "s.toml:3:12",
            "finds routes over radio alone, and no node has a radio",
            protocol,
            "expected `static`, `oracle`",
        ];
        named(&with(protocol, wired), &words);
    }
    for protocol in ["static", "oracle", "source_routes"] {
        carried(&with(protocol, wired));
    }
    carried(&format!("duration = \"20 s\"\n{wired}"));
    // The default stands in a scenario that is written out in full.
    let whole = load(&format!("duration = \"20 s\"\n{wired}")).expect("sound").to_toml(true);
    assert!(whole.contains("protocol = \"aodv\""), "{whole}");
    carried(&whole);
}

#[test]
fn each_channel_has_its_own_range() {
    // The second channel reaches far, but only nodes 0 and 1 have a radio on it.
    let text = |nodes: &str, to: u32| {
        with(
            "oracle",
            &format!(
                "[nodes]\ncount = 3\nspacing = \"900 m\"\n[[channel]]\nnodes = {nodes}\nreceive = \"1000 m\"\n\
                 sense = \"2000 m\"\n[[flow]]\nfrom = 0\nto = {to}\n"
            ),
        )
    };
    carried(&text("[0, 1]", 1));
    named(&text("[0, 1]", 2), &["s.toml:13:6", "nodes 0 and 2 stand still", "over more than 1000 m"]);
    carried(&text("[0, 1, 2]", 2));
}

#[test]
fn noise_shortens_the_range_of_reception_with_bit_errors() {
    let text = |receive: &str, spacing: u32, reception: &str, rate: &str| {
        with(
            "static",
            &format!(
                "[nodes]\ncount = 2\nspacing = \"{spacing} m\"\n[radio]\nreceive = \"{receive}\"\nsense = \"6 km\"\n\
                 reception = \"{reception}\"\n[mac.dcf]\nrate = \"{rate}\"\n[[flow]]\nfrom = 0\nto = 1\n"
            ),
        )
    };
    carried(&text("250 m", 240, "sinr", "11 Mbps"));
    // 5 km is 23 dB below the noise of the receiver at 250 m plus 29 dB.
    named(&text("5 km", 4900, "sinr", "2 Mbps"), &["nodes 0 and 1 stand still", "no frame is received over more than"]);
    carried(&text("5 km", 4900, "threshold", "2 Mbps"));
    // A preamble is found farther away than a frame at 11 Mb/s has no bit error.
    let scenario = load(&text("5 km", 1000, "sinr", "11 Mbps")).unwrap_or_else(|shown| panic!("{shown}"));
    let shown: Vec<_> = scenario.warnings().iter().map(ToString::to_string).collect();
    // The first warning is of the range itself.
    assert!(shown.len() == 2 && shown[1].contains("can hardly be carried"), "{shown:?}");
    assert_eq!(load(&text("5 km", 1000, "sinr", "2 Mbps")).map(|it| it.warnings().len()), Ok(1));
}

#[test]
fn a_way_longer_than_the_time_to_live_is_named() {
    let chain = |nodes: u32, others: &str| {
        format!("[nodes]\ncount = {nodes}\n{others}[[flow]]\nfrom = 0\nto = {}\n", nodes - 1)
    };
    for protocol in ["static", "oracle", "aodv"] {
        let text = with(protocol, &chain(11, "")).replace("[routing]", "ip.ttl = 9\n[routing]");
        named(&text, &["s.toml:2:", "no packet of flow 0 arrives: its way has 10 hops, and `ttl` is 9", "at least 10"]);
        assert!(load(&text.replace("ip.ttl = 9", "ip.ttl = 10")).is_ok(), "{protocol}");
    }
    // Routes may be written for longer than the nodes' positions need, and wires are preferred to radio.
    let routes = "[routing.static]\nothers = \"chain\"\n";
    let text = format!("ip.ttl = 3\n[routing]\nprotocol = \"static\"\n{routes}{}", chain(5, "spacing = \"10 m\"\n"));
    named(&text, &["its way has 4 hops, and `ttl` is 3"]);
    let wires: String = (0..4).map(|n| format!("[[wire]]\nbetween = [{n}, {}]\n", n + 1)).collect();
    let text = format!("ip.ttl = 3\n[routing]\nprotocol = \"oracle\"\n{}{wires}", chain(5, "spacing = \"10 m\"\n"));
    named(&text, &["its way has 4 hops"]);
    let far = format!("ip.ttl = 2\n[routing]\nprotocol = \"static\"\n{}", chain(9, "spacing = \"100 m\"\n"));
    let flow = "[[flow]]\nfrom = 8\nto = 0\n[[flow]]\nfrom = 2\nto = 0\n";
    named(
        &format!("{far}{flow}"),
        &["no packet of flows 0 and 1 arrives: their ways have up to 4 hops, and `ttl` is 2"],
    );
}

#[test]
fn a_way_longer_than_any_route_of_the_protocol_is_named() {
    let text = |protocol: &str, nodes: u32, key: &str, value: u32| {
        let parameters = format!("[routing.{protocol}]\n{key} = {value}\n");
        let flow = format!("[[flow]]\nfrom = 0\nto = {}\n", nodes - 1);
        format!("[routing]\nprotocol = \"{protocol}\"\n{parameters}[nodes]\ncount = {nodes}\n{flow}")
    };
    for (protocol, key, value, longest) in [("dsdv", "infinity", 4, 3), ("dsr", "route_hops", 3, 3)] {
        assert!(load(&text(protocol, longest + 1, key, value)).is_ok(), "{protocol}");
        named(
            &text(protocol, longest + 3, key, value),
            &[
                "s.toml:4:",
                &format!("its way has {} hops, and `{key}` is {value}", longest + 2),
                &format!("`{key}` of at least {} in [routing.{protocol}]", value + 2),
            ],
        );
    }
}

#[test]
fn a_way_longer_than_a_search_goes_is_warned_of() {
    let warned = |protocol: &str, key: &str, most: u32, nodes: u32| {
        let flows = format!("[[flow]]\nfrom = 0\nto = {}\n[[flow]]\nfrom = 0\nto = 1\n", nodes - 1);
        let parameters = format!("[routing.{protocol}]\nprofile = \"rfc\"\n{key} = {most}\n");
        let text = format!("[routing]\nprotocol = \"{protocol}\"\n{parameters}[nodes]\ncount = {nodes}\n{flows}");
        let scenario = load(&text).unwrap_or_else(|shown| panic!("{shown}"));
        scenario.warnings().iter().map(ToString::to_string).filter(|it| it.contains("search")).collect::<Vec<_>>()
    };
    for (protocol, key) in [("aodv", "net_diameter"), ("aomdv", "net_diameter"), ("dsr", "discovery_hop_limit")] {
        assert_eq!(warned(protocol, key, 5, 6), <[String; 0]>::default(), "{protocol}");
        let shown = warned(protocol, key, 5, 8);
        let [shown] = &shown[..] else { panic!("{protocol}: {shown:?}") };
        let words = ["flow 0: its way has 7 hops, and a search", "goes no farther than 5", "s.toml:5:"];
        let words =
            words.map(str::to_owned).into_iter().chain([format!("`{key}` of at least 7 in [routing.{protocol}]")]);
        words.for_each(|words| assert!(shown.contains(&words), "\"{words}\" is not in:\n{shown}"));
    }
}

#[test]
fn the_hops_to_a_gateway_and_over_wires_count() {
    // Four radios in a row; wires lead from the last one over another host to host 5.
    let text = |protocol: &str, parameters: &str, from: u32, to: u32, ttl: u32| {
        let wires = "[[wire]]\nbetween = [3, 4]\n[[wire]]\nbetween = [4, 5]\n";
        let flow = format!("[[flow]]\nfrom = {from}\nto = {to}\n{CBR}");
        let routing = format!("[routing]\nprotocol = \"{protocol}\"\n[routing.{protocol}]\n{parameters}\n");
        format!("ip.ttl = {ttl}\nduration = \"20 s\"\n{routing}[nodes]\ncount = 4\nwired = 2\n{wires}{flow}")
    };
    let tunnel = "gateways = \"auto\"\nto_gateway = \"half_tunnel\"";
    let route = "gateways = \"auto\"\nto_gateway = \"default_route\"";
    for (protocol, parameters, from, to, hops) in [
        ("olsr", "", 0, 5, 5),
        ("olsr", "", 5, 0, 5),
        ("olsr", "", 0, 3, 3),
        ("dsdv", "", 1, 5, 4),
        ("aodv", route, 0, 5, 5),
        ("aodv", tunnel, 0, 5, 3),
        ("aodv", tunnel, 5, 0, 5),
    ] {
        carried(&text(protocol, parameters, from, to, hops));
        named(
            &text(protocol, parameters, from, to, hops - 1),
            &["s.toml:1:", &format!("its way has {hops} hops, and `ttl` is {}", hops - 1)],
        );
    }
    let short = text("aodv", "gateways = \"auto\"\nttl_start = 1\nnet_diameter = 2", 0, 5, 64);
    let scenario = load(&short).unwrap_or_else(|shown| panic!("{shown}"));
    let warnings: Vec<_> = scenario.warnings().iter().map(ToString::to_string).collect();
    let found = warnings.iter().any(|it| it.contains("its way has 3 hops, and a search"));
    assert!(found, "{warnings:?}");
}

#[test]
fn equal_mistakes_of_many_flows_are_one() {
    let flows = |range: std::ops::Range<u32>, to: u32| -> String {
        range.map(|from| format!("[[flow]]\nfrom = {from}\nto = {to}\n")).collect()
    };
    let nodes = "[nodes]\ncount = 200\nwired = 1\nspacing = \"10 m\"\n[[wire]]\nbetween = [199, 200]\n";
    let text = with("aomdv", &format!("{nodes}{}{}", flows(0..3, 5), flows(3..100, 200)));
    named(&text, &["flows 3 to 99: nothing can carry the data of these flows", "s.toml:21:6", "\n1 problem found\n"]);
    // Also those of other checks.
    let text =
        format!("duration = \"5 s\"\n[nodes]\ncount = 9\n{}", flows(0..5, 30).replace("to", "start = \"9 s\"\nto"));
    named(&text, &["flows 0 to 4: there is no such node", "flows 0 to 4: the flow starts after", "2 problems found"]);
    let text = format!("[nodes]\ncount = 60\nspacing = \"10 km\"\n{}", flows(1..50, 0));
    named(&text, &["flows 0 to 48: nothing can carry these flows: no chain"]);
}

#[test]
fn written_routes_lead_over_channels_and_wires() {
    let text = |channel: &str, wire: &str| {
        format!(
            "duration = \"5 s\"\n[nodes]\ncount = 3\nspacing = \"900 m\"\n{channel}{wire}[routing]\nprotocol = \"static\"\n\
             [routing.static]\nothers = \"drop\"\nroutes = [{{at = 0, to = 2, via = 1}}, {{at = 1, to = 2, via = 2}}, \
             {{at = 2, to = 0, via = 1}}, {{at = 1, to = 0, via = 0}}]\n[[flow]]\nfrom = 0\nto = 2\n"
        )
    };
    let far = "[[channel]]\nnodes = [0, 1, 2]\nreceive = \"1 km\"\nsense = \"2 km\"\n";
    let wire = "[[wire]]\nbetween = [1, 2]\n";
    // The first channel does not reach that far, but the second one does.
    carried(&text(far, ""));
    let near = far.replace("[0, 1, 2]", "[0, 1]");
    named(&text(&near, ""), &["nodes 0 and 2 stand still"]);
    carried(&text(&near, wire));
    let skipped = text(&near, wire).replace("at = 0, to = 2, via = 1", "at = 0, to = 2, via = 2");
    named(&skipped, &["from node 0 to node 2", "1800 m apart"]);
}

#[test]
fn the_scenarios_of_the_page_of_networks_carry_their_flows() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/guide/networks.md");
    let page = std::fs::read_to_string(page).expect("the page");
    let mut blocks: Vec<_> = page.split("```toml\n").skip(1).filter_map(|rest| rest.split_once("```")).collect();
    // A file of the reader's is not here.
    blocks.retain(|(text, _)| !text.contains("trace = "));
    assert_eq!(blocks.len(), 7);
    for (text, _) in blocks {
        carried(text);
    }
}
