//! Conversations between Babel routers in small networks, by the sections of RFC 8966.

mod links;
mod peers;
mod rules;

use std::fmt::Write as _;
use std::net::Ipv4Addr;

use super::*;
use crate::packet::RoutingMessage;
use crate::params::{Params as _, RFC};
use crate::routing::tests::network::Network;
use crate::routing::{Config, Model, dsdv, olsr};
use message::INFINITY;

fn params() -> Params {
    Params::of_profile(RFC)
}

/// A packet in a line: H for a Hello, `I1=256` for an IHU, `U3=512` for an update, `Q3` for a request, `S3#64` for a
/// seqno request with its hop count.
fn describe(message: &RoutingMessage) -> String {
    let mut line = String::new();
    let place = |it: Target| match it {
        Target::Host(it) => it.to_string(),
        Target::Network(_) | Target::All => "*".to_owned(),
    };
    for it in message.get::<BabelPacket>().expect("Babel's").messages() {
        match *it {
            Message::Hello { .. } => line.push_str(" H"),
            Message::Ihu { rxcost, address, .. } => {
                let Some(Neighbour::Ipv4(address)) = address else { panic!("a name") };
                write!(line, " I{address}={rxcost}").expect("a string takes all");
            }
            Message::Update(it) if it.metric == INFINITY => {
                write!(line, " U{}=inf", place(it.destination)).expect("a string takes all");
            }
            Message::Update(it) => {
                write!(line, " U{}={}", place(it.destination), it.metric).expect("a string takes all");
            }
            Message::Request(it) => write!(line, " Q{}", place(it)).expect("a string takes all"),
            Message::SeqnoRequest { destination, hops, .. } => {
                write!(line, " S{}#{hops}", place(destination)).expect("a string takes all");
            }
            Message::AckRequest { .. } | Message::Ack { .. } => line.push_str(" ACK"),
        }
    }
    line.trim_start().to_owned()
}

fn network(params: &Params, nodes: usize) -> Network {
    Network::new(&Config::Babel(params.clone().into()), nodes, 3, describe)
}

/// A chain of nodes, after 40 s.
fn chain(nodes: u32) -> Network {
    let mut net = network(&params(), nodes as usize);
    net.chain(&(0..nodes).collect::<Vec<_>>());
    net.run_until(40_000);
    net
}

/// A line of talk in milliseconds, sender and receiver, and its words.
fn parsed(line: &str) -> (u64, &str, Vec<&str>) {
    let mut words = line.split(' ');
    let millis = words.next().and_then(|it| it.parse().ok()).expect("a time");
    let way = words.next().expect("a way");
    (millis, way, words.take_while(|it| *it != "ttl").collect())
}

/// The packets that have a word, each with its time and way.
fn saying<'a>(net: &'a Network, word: &str) -> Vec<(u64, &'a str)> {
    let lines = net.talk.iter().map(|line| parsed(line));
    lines.filter(|(_, _, words)| words.contains(&word)).map(|(millis, way, _)| (millis, way)).collect()
}

/// A message from a neighbour to node 0.
fn tell(net: &mut Network, from: u32, messages: Vec<Message>) {
    let packets = BabelPacket::pack(messages, 1400, &|_| Ipv4Addr::UNSPECIFIED).expect("it has an encoding");
    for packet in packets {
        net.inject(from, 0, 1, RoutingMessage::new(packet));
    }
}

/// Makes a neighbour of node 0 without losses, which stays so for ten minutes.
fn meet(net: &mut Network, neighbour: u32) {
    let hello = |seqno| Message::Hello { unicast: false, seqno, interval: 60_000 };
    let ihu = Message::Ihu { rxcost: 256, interval: 60_000, address: Some(Neighbour::Ipv4(Address(0))) };
    tell(net, neighbour, (0..16).map(hello).chain([ihu]).collect());
}

/// An update about node 5, for 16 s.
fn about_5(seqno: u16, metric: u16) -> Message {
    let router = (metric != INFINITY).then_some(RouterId::Of(Address(5)));
    Message::Update(Update {
        destination: Target::Host(Address(5)),
        router,
        next_hop: None,
        seqno,
        metric,
        interval: 1600,
    })
}
