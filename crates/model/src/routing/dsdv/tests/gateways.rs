//! Gateways, and nodes with several addresses.

use super::*;
use crate::address::Prefix;
use crate::context::Owners;
use crate::routing::Networks;
use crate::routing::dsdv::Gateways;

fn prefix(text: &str) -> Prefix {
    text.parse().expect("a prefix")
}

/// The networks of a node in the ad hoc network 10.0.0.0/16, with these behind it.
fn networks(node: u32, wired: &[&str]) -> Networks {
    Networks {
        radios: vec![(Address(node), prefix("10.0.0.0/16"))],
        wires: Vec::new(),
        ad_hoc: [prefix("10.0.0.0/16")].into(),
        wired: wired.iter().map(|text| prefix(text)).collect(),
    }
}

/// Nodes in a row, of which some are gateways. Address 9 is that of a host outside, 192.168.0.9.
fn with_gateways(nodes: u32, params: &Params, gateways: &[(u32, &[&str])]) -> Network {
    let behind = |node| gateways.iter().find(|it| it.0 == node).map_or(&[][..], |it| it.1);
    let all: Vec<_> = (0..nodes).map(|node| (node, networks(node, behind(node)))).collect();
    let mut net = Network::attached(&Config::Dsdv(params.clone().into()), nodes as usize, 11, describe, &all);
    let name = |number: u8| if number < 9 { [10, 0, 0, number + 1] } else { [192, 168, 0, number] };
    net.cx.owners = Owners::new(20, Vec::new(), (0..20).map(|number| Ipv4Addr::from(name(number))).collect());
    net.chain(&(0..nodes).collect::<Vec<_>>());
    net
}

#[test]
fn a_gateway_tells_its_networks_as_further_entries() {
    let mut net = with_gateways(3, &exact(RFC), &[(2, &["192.168.0.0/30", "192.168.0.8/30"])]);
    net.run_until(3_000);
    // Twelve bytes for each entry.
    assert_eq!(net.talk[2], "0 2>* full 2:0/4 192.168.0.0/30 by 2 192.168.0.8/30 by 2 ttl 1 64 B");
    assert_eq!(net.said("1>* news 0:1/4 2:1/4 192.168.0.0/30 by 2 192.168.0.8/30 by 2 ttl 1 76 B").len(), 1);
    let packet = net.send(0, 9);
    assert_eq!(net.route(0, 9), Some((1, 3)), "one hop more than to the gateway");
    assert_eq!(net.at(3_100).ways[&packet], [0, 1, 2].map(Address), "at the gateway, IP takes over");
    let one_default = Params { gateways: Gateways::Default, ..exact(RFC) };
    let net = with_gateways(3, &one_default, &[(2, &["192.168.0.0/30", "192.168.0.8/30"])]);
    assert_eq!(net.route(0, 9), None);
    let mut net = with_gateways(3, &one_default, &[(2, &["192.168.0.0/30", "192.168.0.8/30"])]);
    assert_eq!(net.at(3_000).talk[2], "0 2>* full 2:0/4 0.0.0.0/0 by 2 ttl 1 52 B");
    net.send(0, 9);
    assert_eq!(net.route(0, 9), Some((1, 3)));
    let mut net = with_gateways(3, &Params { gateways: Gateways::Off, ..exact(RFC) }, &[(2, &["192.168.0.0/16"])]);
    assert_eq!(net.at(3_000).talk[2], "0 2>* full 2:0/4 ttl 1 40 B");
}

#[test]
fn the_nearest_of_two_gateways_is_used_and_the_other_takes_over() {
    let behind: &[&str] = &["192.168.0.0/24"];
    let mut net = with_gateways(5, &exact(RFC), &[(0, behind), (4, behind)]);
    net.run_until(10_000);
    let packets = [net.send(1, 9), net.send(3, 9)];
    assert_eq!(net.at(10_100).ways[&packets[0]], [1, 0].map(Address));
    assert_eq!(net.ways[&packets[1]], [3, 4].map(Address));
    net.changes.clear();
    net.part(0, 1);
    let packet = net.send_until(1, 9, 10_200);
    assert_eq!(
        net.ways[&packet],
        [1, 2, 3, 4].map(Address),
        "the packet that found the link broken goes the other way"
    );
    let change = net.changes.iter().find(|(_, node, change)| *node == Address(1) && change.destination == Address(9));
    assert_eq!(change.expect("it is announced").2.route, Some((Address(2), 4)));
    // It comes back, and is the nearest again.
    net.join(0, 1).run_until(40_000);
    let packet = net.send_until(1, 9, 40_100);
    assert_eq!(net.ways[&packet], [1, 0].map(Address));
}

#[test]
fn packets_wait_for_a_gateway() {
    let mut net = with_gateways(3, &exact(RFC), &[(2, &["192.168.0.0/24"])]);
    net.part(1, 2).run_until(5_000);
    let packet = net.send_until(0, 9, 6_000);
    assert_eq!(net.router(0).held().len(), 1);
    net.join(1, 2);
    assert_eq!(net.at(30_000).ways[&packet], [0, 1, 2].map(Address));
}

#[test]
fn the_loss_of_the_last_gateway_is_announced() {
    let mut net = with_gateways(3, &exact(RFC), &[(2, &["192.168.0.0/24"])]);
    net.run_until(5_000);
    net.send_until(0, 9, 5_100);
    net.changes.clear();
    net.part(1, 2).send_until(0, 9, 8_000);
    let lost = |node| {
        net.changes.iter().any(|(_, at, it)| *at == Address(node) && it.destination == Address(9) && it.route.is_none())
    };
    assert!(lost(0) && lost(1), "{:?}", net.changes);
}

#[test]
fn a_node_tells_each_of_its_addresses() {
    let mut two = networks(1, &[]);
    two.radios.push((Address(5), prefix("172.16.0.0/16")));
    let mut net = Network::attached(&Config::Dsdv(exact(RFC).into()), 2, 11, describe, &[(1, two)]);
    net.join(0, 1);
    assert_eq!(net.at(2_000).talk[1], "0 1>* full 1:0/4 5:0/4 ttl 1 52 B");
    assert_eq!((net.route(0, 1), net.route(0, 5)), (Some((1, 1)), Some((1, 1))));
    // Called unreachable at its second address, it answers too.
    let advertisements = vec![Advertisement { destination: Address(5), metric: 250, sequence: 5 }];
    net.inject(0, 1, 1, RoutingMessage::new(Update { full: false, advertisements, networks: Vec::new() }));
    net.run_until(2_200);
    assert!(net.talk.last().expect("an answer").contains("1>* full"), "{:?}", net.talk);
}

#[test]
fn networks_have_the_bytes_that_are_counted_for_them() {
    let advertisements = vec![
        Advertisement { destination: Address(3), metric: 1, sequence: 8 },
        Advertisement { destination: Address(4), metric: 2, sequence: 6 },
    ];
    let update = Update { full: true, advertisements, networks: vec![(Address(3), prefix("192.168.4.0/22"))] };
    let address = |it: Address| Ipv4Addr::from_bits(it.0);
    let mut bytes = Vec::new();
    let carrier = update.encode(&address, &mut bytes);
    assert_eq!(carrier, Ok(Carrier::Udp(1021)));
    assert_eq!(bytes.len() as u32 + 28, Params::of_profile(RFC).packet_size(&update));
    let read = dsdv::Update::parse(&bytes).expect("whole entries");
    assert_eq!((read.entries(), read.networks), (3, vec![(address(Address(3)), prefix("192.168.4.0/22"))]));
    assert_eq!(bytes[12..24], [192, 168, 4, 0, 0, 0, 0, 8, 0, 2, 23, 0], "it follows its gateway");
}
