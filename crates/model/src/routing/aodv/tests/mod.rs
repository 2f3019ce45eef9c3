//! Conversations between AODV routers.

mod bytes;
mod drops;
mod gateways;
mod notices;
mod ns2;
mod rfc3561;
mod uu;

use hopyard_engine::{Span, Time};

use super::{AodvMessage, LinkDetection, Params, Reply, Request, RouteError};
use crate::address::Address;
use crate::context::DropReason;
use crate::packet::RoutingMessage;
use crate::params::{NS2, Params as _, RFC};
use crate::routing::Config;
use crate::routing::tests::network::Network;

/// A message as one line: fields in the order of the RFC's pictures, and flags.
fn describe(message: &RoutingMessage) -> String {
    let flag = |set: bool, name: &'static str| if set { name } else { "" };
    match message.get::<AodvMessage>().expect("a message of AODV") {
        AodvMessage::Request(it) => {
            let flags =
                [flag(it.unknown_sequence, "U"), flag(it.gratuitous, "G"), flag(it.destination_only, "D")].concat();
            let Request { hops, id, destination, destination_sequence, originator, originator_sequence, .. } = it;
            let sequence = if it.unknown_sequence { "?".to_owned() } else { destination_sequence.to_string() };
            format!(
                "RREQ {id} {hops} hops to {destination}/{sequence} for {originator}/{originator_sequence} [{flags}]"
            )
        }
        AodvMessage::Reply(it) => {
            let Reply { hops, destination, destination_sequence, originator, lifetime, ack_required, internet, .. } =
                it;
            let flags = flag(*ack_required, "A");
            let host = internet.map(|host| format!(" reaches {host}")).unwrap_or_default();
            format!(
                "RREP {hops} hops to {destination}/{destination_sequence} for {originator} life {lifetime} \
                 [{flags}]{host}"
            )
        }
        AodvMessage::Error(RouteError { no_delete, unreachable }) => {
            let list: Vec<_> = unreachable.iter().map(|(node, sequence)| format!("{node}/{sequence}")).collect();
            format!("RERR {} [{}]", list.join(" "), flag(*no_delete, "N"))
        }
        AodvMessage::ReplyAck => "RREP-ACK".to_owned(),
        AodvMessage::Hello { sequence, .. } => format!("HELLO {sequence}"),
    }
}

/// So many routers, without links.
fn network(nodes: usize, params: &Params) -> Network {
    Network::new(&Config::Aodv(params.clone().into()), nodes, 7, describe)
}

/// A chain 0-1-2-… of routers.
fn chain(nodes: u32, params: &Params) -> Network {
    let mut net = network(nodes as usize, params);
    net.chain(&(0..nodes).collect::<Vec<_>>());
    net
}

/// A request that a test hands to a router: for node 9, by node 8, which is one hop from the sender.
fn request() -> Request {
    Request {
        id: 1,
        hops: 1,
        destination: Address(9),
        destination_sequence: 0,
        unknown_sequence: true,
        gratuitous: false,
        destination_only: false,
        originator: Address(8),
        originator_sequence: 5,
        sent: Time::ZERO,
    }
}

/// A reply that a test hands to a router: node 9 is one hop from the sender; node 8 had asked.
fn reply() -> Reply {
    Reply {
        hops: 1,
        destination: Address(9),
        destination_sequence: 20,
        originator: Address(8),
        lifetime: Span::from_secs(6),
        ack_required: false,
        internet: None,
        sent: Time::ZERO,
    }
}

fn wrap(message: AodvMessage) -> RoutingMessage {
    RoutingMessage::new(message)
}

#[test]
fn the_profiles_are_told_apart_by_how_they_search() {
    // Node 9 is not there. The RFC's search goes ring by ring, ns-2's begins with a flood of the network.
    let ttls = |profile| {
        let net = chain(2, &Params::of_profile(profile)).having_sent(0, 9, 60_000);
        net.check_account();
        let ttls: Vec<_> = net
            .said("0>* RREQ")
            .into_iter()
            .map(|line| line.split(" ttl ").nth(1).and_then(|rest| rest.split(' ').next()).expect("a TTL").to_owned())
            .collect();
        (ttls.join(" "), net.dropped(0, DropReason::DiscoveryFailed))
    };
    assert_eq!(ttls(RFC), ("2 4 6 35 35".to_owned(), 1));
    assert_eq!(ttls(NS2), ("30 30 30 30".to_owned(), 1));
}
