mod rates;
mod slots;
mod tunnels;

use hopyard_wire::{WireError, ipv4};

use super::*;
use crate::address::Address;
use crate::context::{Departure, Origin, Token, Waiter};
use crate::link::wired;
use crate::packet::{Carrier, Datagram, IP_HEADER, RoutingMessage, UDP_HEADER};
use crate::params::{Params as _, RFC};
use crate::{mobility, node, routing};

#[derive(Debug)]
struct Note;

impl Datagram<Address> for Note {
    fn kind(&self) -> &'static str {
        "NOTE"
    }

    fn encode(&self, _: &dyn Fn(Address) -> Ipv4Addr, _: &mut Vec<u8>) -> Result<Carrier, WireError> {
        Ok(Carrier::Udp(1021))
    }
}

/// A broadcast of a routing protocol by a node with two wires. The values are the number of packets that were dropped
/// at the other ends, where nobody knows the message, and the number of copies.
fn broadcast_of(protocol: &str) -> (u64, u64) {
    let routing = routing::Config::of_profile(protocol, RFC).expect("a protocol");
    let mut spec = Spec::network(RFC);
    spec.duration = Span::from_secs(1);
    for _ in 0..3 {
        let mut node = NodeSpec::stationary(mobility::Position::default(), routing.clone());
        node.radios.clear();
        spec.nodes.push(node);
    }
    for to in [1, 2] {
        let params = wired::Params::of_profile(RFC);
        spec.wires.push(WireSpec { ends: (NodeId(0), NodeId(to)), params, network: None });
    }
    let mut world = World::new(&spec).expect("a world");
    let size = IP_HEADER + UDP_HEADER;
    let packet =
        world.cx.originate_routing(Origin::Own, Address(0), Address::BROADCAST, 1, size, RoutingMessage::new(Note));
    world.send(NodeId(0), packet, Address::BROADCAST);
    world.advance(Time::NEVER, &Watch::default());
    let ledger = world.cx.ledger;
    world.finish().expect("packets add up");
    (ledger.dropped, ledger.copied)
}

/// Two nodes, with a wire from the first to the second.
fn wired_pair() -> World {
    let mut spec = Spec::network(RFC);
    spec.duration = Span::from_secs(1);
    for _ in 0..2 {
        let routing = routing::Config::of_profile("oracle", RFC).expect("a protocol");
        let mut node = NodeSpec::stationary(mobility::Position::default(), routing);
        node.radios.clear();
        spec.nodes.push(node);
    }
    let params = wired::Params::of_profile(RFC);
    spec.wires.push(WireSpec { ends: (NodeId(0), NodeId(1)), params, network: None });
    World::new(&spec).expect("a world")
}

/// An IPv4 datagram of the experimental protocol 253, with one byte.
fn datagram(world: &World, byte: u8) -> Vec<u8> {
    let [source, destination] = [0, 1].map(|node| world.addresses(NodeId(node))[0]);
    let mut bytes = Vec::new();
    let header = ipv4::Header::new(ipv4::Protocol(253), source, destination, 64);
    header.emit(&[byte], &mut bytes).expect("short enough");
    bytes
}

/// A run has more datagrams than a rank of the queue has room for.
#[test]
fn datagrams_of_one_time_stay_in_order_however_many_there_were_before() {
    let mut world = wired_pair();
    for node in [NodeId(0), NodeId(1)] {
        world.attach(node).expect("it is there");
    }
    world.border.scheduled = (1 << 20) - 3;
    for byte in 0..8 {
        let bytes = datagram(&world, byte);
        world.inject(NodeId(0), Time::ZERO, &bytes).expect("it can be put in");
    }
    world.advance(Time::NEVER, &Watch::default());
    let order: Vec<u8> = std::iter::from_fn(|| world.egress())
        .filter_map(|it| match it {
            Departure::Datagram { bytes, .. } => bytes.last().copied(),
            Departure::Frame { .. } | Departure::NoCarrier { .. } | Departure::Completed { .. } => None,
        })
        .collect();
    assert_eq!(order, [0, 1, 2, 3, 4, 5, 6, 7]);
}

#[test]
fn a_datagram_for_which_the_queue_has_no_room_is_refused() {
    let mut world = wired_pair();
    world.attach(NodeId(0)).expect("it is there");
    let bytes = datagram(&world, 0);
    let waiter = |number| Waiter::Host(NodeId(0), Token(number));
    let due = |number| ((Time::ZERO, NodeId(0), number), node::Due::Sent { waiter: waiter(number) });
    world.border.due = (1..node::MOST_DUE as u64).map(due).collect();
    assert_eq!(world.inject(NodeId(0), Time::ZERO, &bytes), Ok(Token(0)));
    assert_eq!(world.inject(NodeId(0), Time::ZERO, &bytes), Err(InjectError::Full));
}

/// Messages of a routing protocol enter wires only where the protocol runs on them.
#[test]
fn routing_broadcasts_reach_wires_where_the_protocol_runs() {
    for model in routing::MODELS {
        let crosses = routing::Config::of_profile(model.name, RFC).is_ok_and(|it| it.crosses_wires());
        let expected = if crosses { (2, 1) } else { (0, 0) };
        assert_eq!(broadcast_of(model.name), expected, "{}", model.name);
    }
}

/// A scenario of 100,000 nodes describes each of them; nodes with equal models share their parameters.
#[test]
fn the_description_of_a_node_is_small() {
    assert!(size_of::<NodeSpec>() <= 128, "{} bytes", size_of::<NodeSpec>());
}

/// A network of a million idle nodes has as many of these.
#[test]
fn a_node_and_its_link_are_small() {
    assert!(size_of::<Node>() <= 896, "{} bytes", size_of::<Node>());
    assert!(size_of::<crate::link::Link>() <= 320, "{} bytes", size_of::<crate::link::Link>());
}
