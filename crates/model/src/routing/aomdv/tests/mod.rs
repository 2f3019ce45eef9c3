//! Conversations between AOMDV routers.

mod bytes;
mod ns2;
mod paths;
mod rule;
mod upkeep;

use hopyard_engine::Span;

use super::{Aomdv, AomdvMessage, Disjoint, LinkDetection, Params, Reply, Request};
use crate::address::Address;
use crate::context::DropReason;
use crate::packet::RoutingMessage;
use crate::params::{NS2, Params as _, RFC};
use crate::routing::tests::network::Network;
use crate::routing::{Config, Model};

/// A message as one line.
fn describe(message: &RoutingMessage) -> String {
    match message.get::<AomdvMessage>().expect("a message of AOMDV") {
        AomdvMessage::Request(it) => {
            let Request { id, hops, destination, originator, originator_sequence, first_hop, .. } = it;
            let sequence = if it.unknown_sequence { "?".to_owned() } else { it.destination_sequence.to_string() };
            format!(
                "RREQ {id} {hops} hops to {destination}/{sequence} for {originator}/{originator_sequence} by {first_hop}"
            )
        }
        AomdvMessage::Reply(it) => {
            let Reply { hops, destination, destination_sequence, originator, lifetime, id, first_hop } = it;
            format!(
                "RREP {id} {hops} hops to {destination}/{destination_sequence} for {originator} by {first_hop} life \
                 {lifetime}"
            )
        }
        AomdvMessage::Error(unreachable) => {
            let list: Vec<_> = unreachable.iter().map(|(node, sequence)| format!("{node}/{sequence}")).collect();
            format!("RERR {}", list.join(" "))
        }
        AomdvMessage::Hello { sequence, .. } => format!("HELLO {sequence}"),
    }
}

/// The defaults of the papers' procedures without jitter, and with the link layer alone telling of broken links, so
/// that no HELLO disturbs a conversation.
fn quiet() -> Params {
    quiet_of(RFC)
}

/// The same of any profile.
fn quiet_of(profile: &str) -> Params {
    Params { link_detection: LinkDetection::LinkLayer, broadcast_jitter: Span::ZERO, ..Params::of_profile(profile) }
}

/// So many routers, without links.
fn network(nodes: usize, params: &Params) -> Network {
    Network::new(&Config::Aomdv(params.clone().into()), nodes, 7, describe)
}

/// So many routers with these links.
fn linked(nodes: usize, params: &Params, links: &[(u32, u32)]) -> Network {
    let mut net = network(nodes, params);
    for &(a, b) in links {
        net.join(a, b);
    }
    net
}

/// Two ways from 0 to 5 that share no node: 0-1-2-5 and 0-3-4-5.
const TWO_WAYS: [(u32, u32); 6] = [(0, 1), (1, 2), (2, 5), (0, 3), (3, 4), (4, 5)];

fn aomdv(net: &Network, node: u32) -> &Aomdv {
    let Model::Aomdv(router) = net.router(node) else { panic!("node {node} has another protocol") };
    router
}

/// A node's paths to a destination, oldest first: next hop, last hop, hops.
fn paths(net: &Network, node: u32, destination: u32) -> Vec<(u32, u32, u8)> {
    let entry = aomdv(net, node).state().table.get(Address(destination));
    let paths = entry.map_or(&[][..], |entry| &entry.paths);
    paths.iter().map(|path| (path.next_hop.0, path.last_hop.0, path.hops)).collect()
}

/// A request that a test hands to a router: for node 9, by node 8, whose neighbour `by` took it; the sender is `hops`
/// away from node 8.
fn request(id: u32, hops: u8, by: u32) -> RoutingMessage {
    wrap(AomdvMessage::Request(Request {
        id,
        hops,
        destination: Address(9),
        destination_sequence: 0,
        unknown_sequence: true,
        originator: Address(8),
        originator_sequence: id,
        first_hop: Address(by),
    }))
}

/// A reply that a test hands to a router, to a request of node 8. Node 9 is `hops` away from the sender, through the
/// neighbour `by` of node 9.
fn reply(id: u32, sequence: u32, hops: u8, by: u32) -> RoutingMessage {
    wrap(AomdvMessage::Reply(Reply {
        hops,
        destination: Address(9),
        destination_sequence: sequence,
        originator: Address(8),
        lifetime: Span::from_secs(6),
        id,
        first_hop: Address(by),
    }))
}

fn wrap(message: AomdvMessage) -> RoutingMessage {
    RoutingMessage::new(message)
}

#[test]
fn rings_wait_as_long_as_their_ttl_asks_for_and_floods_twice_as_long_each() {
    let link_detection = LinkDetection::LinkLayer;
    let params = Params { link_detection, broadcast_jitter: Span::ZERO, ..Params::of_profile(RFC) };
    let mut net = linked(2, &params, &[(0, 1)]);
    net.send_until(0, 9, 20_000);
    let asked: Vec<_> = net.said("0>* RREQ").iter().map(|line| line.split(' ').next().expect("a time")).collect();
    // As in AODV: 240, 400, 560, 720 ms for TTL 1, 3, 5, 7; then NET_TRAVERSAL_TIME 2800 ms, and twice that.
    assert_eq!(asked, ["0", "240", "640", "1200", "1920", "4720"]);
    assert_eq!(net.dropped(0, DropReason::DiscoveryFailed), 1);
}

#[test]
fn the_profiles_are_told_apart_by_how_they_search() {
    // Node 9 is not there. The papers' search goes ring by ring, as AODV's; ns-2's begins with a flood of the network.
    let ttls = |profile| {
        let params = Params { link_detection: LinkDetection::LinkLayer, ..Params::of_profile(profile) };
        let mut net = linked(2, &params, &[(0, 1)]);
        net.send_until(0, 9, 60_000);
        net.check_account();
        let lines = net.said("0>* RREQ");
        let ttl = |line: &&str| line.split(" ttl ").nth(1).and_then(|rest| rest.split(' ').next()).map(str::to_owned);
        let ttls: Option<Vec<_>> = lines.iter().map(ttl).collect();
        ttls.expect("TTLs").join(" ")
    };
    assert_eq!(ttls(RFC), "1 3 5 7 35 35");
    assert_eq!(ttls(NS2), "30 30 30 30");
}
