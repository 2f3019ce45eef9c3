//! Small networks, one for each rule, named after the rule and its section in RFC 3626.

mod floods;
mod gateways;
mod neighbours;
mod peers;
mod routes;

use std::sync::Arc;

use hopyard_engine::{Span, Streams};

use super::*;
use crate::address::Prefix;
use crate::context::{Origin, Owners, RouteChange};
use crate::packet::RoutingMessage;
use crate::params::{Params as _, RFC};
use crate::routing::tests::network::Network;
use crate::routing::tests::{datagram, sends};
use crate::routing::{Config, Networks};
use LinkType::{Asymmetric, Lost, Symmetric};
use NeighbourType::{Mpr, Not};

/// OLSR with the RFC's defaults.
fn defaults() -> Params {
    Params::of_profile(RFC)
}

/// Nodes without links, seed 1.
fn network(params: &Params, nodes: usize) -> Network {
    Network::new(&Config::Olsr(params.clone().into()), nodes, 1, |message| message.kind().to_owned())
}

/// A time in seconds.
fn at(seconds: f64) -> Time {
    Time::ZERO + Span::from_secs_f64(seconds)
}

/// Node 0 by itself: a test speaks for the others.
struct Alone {
    it: Olsr,
    cx: Context,
    /// The packets that it has sent, each with its time and its interface.
    sent: Vec<(Time, Address, OlsrPacket)>,
    changes: Vec<RouteChange>,
    /// The neighbours that have chosen it as a relay, each time with the time until which that holds.
    chosen: Vec<(u32, Time)>,
    /// The numbers of the packets and messages that the test makes.
    numbers: u16,
}

/// What a HELLO of a test lists.
type Lists<'a> = &'a [(u32, LinkType, NeighbourType)];

impl Alone {
    fn new(params: &Params) -> Self {
        let mut it = Olsr::new(&params.clone().into(), NodeId(0), 10, Streams::new(1, 0).node(0, "routing"));
        let mut cx = Context::default();
        it.start(&mut cx);
        Self { it, cx, sent: Vec::new(), changes: Vec::new(), chosen: Vec::new(), numbers: 0 }
    }

    /// With two radios, 0 and 10, and with wires. Interfaces 0 to 9 are on the first channel, 10 to 19 on the second
    /// one: 11 is the second interface of node 1. From 20 on they are on wires.
    fn with_networks(params: &Params, radios: usize, wired: &[&str]) -> Self {
        let mut alone = Self::new(params);
        let prefix = |text: &str| text.parse::<Prefix>().expect("a prefix");
        let channels = [prefix("10.0.0.0/24"), prefix("10.0.1.0/24")];
        let own = [(Address(0), channels[0]), (Address(10), channels[1])];
        let networks = Networks {
            radios: own[..radios].to_vec(),
            wires: Vec::new(),
            ad_hoc: channels.into(),
            wired: wired.iter().map(|text| prefix(text)).collect(),
        };
        let names = (0..30).map(|n: u8| match n {
            0..20 => Ipv4Addr::new(10, 0, n / 10, n + 1),
            _ => Ipv4Addr::new(192, 168, n - 20, 1),
        });
        alone.cx.owners = Owners::new(10, (0..20).map(|n| NodeId(n % 10)).collect(), names.collect());
        alone.it = Olsr::new(&params.clone().into(), NodeId(0), 10, Streams::new(1, 0).node(0, "routing"));
        alone.it.on_networks(&networks);
        alone.it.start(&mut alone.cx);
        alone
    }

    fn collect(&mut self) {
        for action in std::mem::take(&mut self.cx.actions) {
            match action {
                Action::SendBy { interface, packet, .. } => {
                    let Body::Routing(message) = &self.cx.packets[packet].body else { panic!("only messages") };
                    let it = message.get::<OlsrPacket>().expect("a packet of OLSR").clone();
                    assert_eq!(self.cx.packets[packet].size, it.size() + 28);
                    self.sent.push((self.cx.now, interface.into(), it));
                    self.cx.hand_over(packet);
                }
                Action::RouteChanged { change, .. } => self.changes.push(change),
                Action::Chosen { by, until, .. } => self.chosen.push((by.0, until)),
                other => panic!("nobody asked for {other:?}"),
            }
        }
    }

    /// Runs until this many seconds after the start.
    fn run(&mut self, seconds: f64) -> &mut Self {
        while self.it.deadline() <= at(seconds) {
            self.cx.now = self.it.deadline();
            self.it.on_timer(&mut self.cx);
            self.collect();
        }
        self.cx.now = at(seconds);
        self
    }

    fn message(&mut self, originator: u32, validity: f64, ttl: u8, content: Content) -> OlsrMessage {
        self.numbers += 1;
        let vtime = message::to_code(Span::from_secs_f64(validity));
        OlsrMessage { vtime, originator: Address(originator), ttl, hops: 0, sequence: self.numbers, content }
    }

    /// Gives it a message from a neighbour's interface.
    fn hear(&mut self, from: u32, message: OlsrMessage) -> &mut Self {
        self.numbers += 1;
        self.hear_packet(from, OlsrPacket { sequence: self.numbers, messages: vec![message] });
        self
    }

    fn hear_packet(&mut self, from: u32, packet: OlsrPacket) {
        let message = RoutingMessage::new(packet);
        let packet = self.cx.originate_routing(Origin::Own, Address(from), Address::BROADCAST, 1, 60, message);
        self.it.on_message(packet, Address(from), &mut self.cx);
    }

    fn hello_content(willingness: u8, listed: Lists<'_>) -> Content {
        let listed = listed.iter().map(|&(address, link, neighbour)| Listed {
            address: Address(address),
            link,
            neighbour,
            quality: (0, 0),
        });
        let hello = Hello { htime: 0x05, willingness, qualities: false, listed: listed.collect() };
        Content::Hello(Arc::new(hello))
    }

    fn hello_with(&mut self, from: u32, willingness: u8, listed: Lists<'_>) -> &mut Self {
        let message = self.message(from, 6.0, 1, Self::hello_content(willingness, listed));
        self.hear(from, message);
        self
    }

    fn hello(&mut self, from: u32, listed: Lists<'_>) -> &mut Self {
        self.hello_with(from, 3, listed);
        self
    }

    /// A HELLO of a symmetric neighbour that has these neighbours itself.
    fn neighbour(&mut self, from: u32, others: &[u32]) -> &mut Self {
        let mut listed = vec![(0, Symmetric, NeighbourType::Symmetric)];
        listed.extend(others.iter().map(|&it| (it, Symmetric, NeighbourType::Symmetric)));
        self.hello(from, &listed);
        self
    }

    /// A HELLO of a symmetric neighbour that has chosen this node as its relay.
    fn selector(&mut self, from: u32) -> &mut Self {
        self.hello(from, &[(0, Symmetric, Mpr)]);
        self
    }

    /// A TC that neighbour `from` passes on.
    fn tc(&mut self, from: u32, originator: u32, ansn: u16, advertised: &[u32]) -> &mut Self {
        let advertised = advertised.iter().map(|&it| Address(it)).collect();
        let tc = Tc { ansn, advertised, qualities: Vec::new() };
        let message = self.message(originator, 15.0, 200, Content::Tc(Arc::new(tc)));
        self.hear(from, message);
        self
    }

    fn hna(&mut self, from: u32, gateway: u32, network: &str) -> &mut Self {
        let content = Content::Hna(Arc::from([network.parse::<Prefix>().expect("a prefix")]));
        let message = self.message(gateway, 15.0, 200, content);
        self.hear(from, message);
        self
    }

    fn route(&self, to: u32) -> Option<(u32, u8)> {
        self.it.lookup(Address(to)).map(|(next_hop, hops)| (next_hop.0, hops))
    }

    /// Where a datagram goes.
    fn send(&mut self, to: u32) -> Option<u32> {
        let packet = datagram(&mut self.cx, Address(0), Address(to));
        let dropped = self.cx.ledger.dropped;
        self.it.route(packet, &mut self.cx);
        let next_hop = sends(&self.cx).pop().map(|it| it.0);
        assert_eq!(next_hop.is_none(), self.cx.ledger.dropped > dropped);
        if next_hop.is_some() {
            self.cx.hand_over(packet);
        }
        self.cx.actions.retain(|action| !matches!(action, Action::Send { .. }));
        self.collect();
        next_hop
    }

    /// The messages of a kind that it has sent, with their times.
    fn messages(&self, kind: &str) -> Vec<(Time, &OlsrMessage)> {
        let all = self.sent.iter().flat_map(|(time, _, packet)| packet.messages.iter().map(|it| (*time, it)));
        all.filter(|(_, it)| it.kind() == kind).collect()
    }

    /// What its last HELLO says of an address.
    fn says(&self, address: u32) -> Option<(LinkType, NeighbourType)> {
        let hellos = self.messages("HELLO");
        let Some((_, OlsrMessage { content: Content::Hello(hello), .. })) = hellos.last() else { return None };
        hello.listed.iter().find(|it| it.address == Address(address)).map(|it| (it.link, it.neighbour))
    }

    /// The relays in its last HELLO.
    fn relays(&mut self) -> Vec<u32> {
        let now = self.cx.now;
        self.it.0.choose_relays(now);
        self.it.0.neighbours.iter().filter(|it| it.relay).map(|it| it.main.0).collect()
    }

    /// The TC messages that it has sent: time, ANSN, advertised set.
    fn tcs(&self) -> Vec<(Time, u16, Vec<u32>)> {
        let of = |(time, message): (Time, &OlsrMessage)| match &message.content {
            Content::Tc(tc) => (time, tc.ansn, tc.advertised.iter().map(|it| it.0).collect()),
            other => panic!("no TC: {other:?}"),
        };
        self.messages("TC").into_iter().filter(|it| it.1.originator == Address(0)).map(of).collect()
    }
}
