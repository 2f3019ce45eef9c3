//! Gateways, in conversations between routers. Address 9 is that of a host outside, 192.168.0.9.

use std::net::Ipv4Addr;

use super::super::ToGateway;
use super::*;
use crate::address::Prefix;
use crate::context::Owners;
use crate::routing::Networks;

/// Routers without links, of which some are gateways to the host.
fn with_gateways(nodes: u32, params: &Params, gateways: &[u32]) -> Network {
    let prefix = |text: &str| text.parse::<Prefix>().expect("a prefix");
    let networks = |node| Networks {
        radios: vec![(Address(node), prefix("10.0.0.0/16"))],
        wires: Vec::new(),
        ad_hoc: [prefix("10.0.0.0/16")].into(),
        wired: if gateways.contains(&node) { vec![prefix("192.168.0.0/24")] } else { Vec::new() },
    };
    let all: Vec<_> = (0..nodes).map(|node| (node, networks(node))).collect();
    let mut net = Network::attached(&Config::Aodv(params.clone().into()), nodes as usize, 7, describe, &all);
    let name = |number: u8| if number < 9 { [10, 0, 0, number + 1] } else { [192, 168, 0, number] };
    net.gateways = gateways.to_vec();
    net.cx.owners = Owners::new(20, Vec::new(), (0..20).map(|number| Ipv4Addr::from(name(number))).collect());
    net
}

/// The gateway is node 3, by way of nodes 1 and 2. Node 4 is as near, and has not heard that node 3 is a gateway.
fn moved_away(to_gateway: ToGateway) -> Network {
    let mut net = with_gateways(5, &Params { to_gateway, ..rfc3561::quiet() }, &[3]);
    net.chain(&[0, 1, 2, 3]);
    net.send_until(0, 9, 1_000);
    assert_eq!(net.said("reaches 9").len(), 3, "{:?}", net.talk);
    // The gateway looks for node 0, which it reaches over node 4 now: so do the others reach the gateway.
    net.chain(&[1, 4, 3]);
    net.part(2, 3).send_until(3, 0, 1_500);
    assert_eq!((net.route(0, 3), net.route(1, 3)), (Some((1, 3)), Some((4, 2))));
    net
}

#[test]
fn default_route_a_host_that_the_next_node_does_not_know_is_looked_for_again() {
    let mut net = moved_away(ToGateway::DefaultRoute);
    let lost = net.send_until(0, 9, 1_600);
    assert_eq!(net.ways[&lost], [0, 1, 4].map(Address), "node 4 has no default route");
    assert_eq!(net.said("4>1 RERR 9/").len(), 1);
    let second = net.send_until(0, 9, 2_500);
    assert_eq!(net.ways[&second], [0, 1, 4, 3].map(Address), "{:?}", net.talk);
    net.check_loops();
}

#[test]
fn half_tunnel_an_error_that_comes_back_is_no_reason_for_a_search() {
    let mut net = with_gateways(2, &rfc3561::quiet(), &[1]);
    net.join(0, 1).send_until(0, 9, 1_000);
    assert_eq!((net.route(0, 9), net.ways.len()), (Some((1, 1)), 1));
    net.part(0, 1);
    net.talk.clear();
    // Node 0 has not asked for host 10, and tells it by the gateway that it knows.
    net.send_error(0, 10);
    assert_eq!(net.at(5_000).talk, Vec::<String>::new());
    assert_eq!(net.dropped(0, DropReason::RetryLimit), 1);
    net.check_account();
}
