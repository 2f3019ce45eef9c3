use hopyard_wire::WireError;

use super::*;
use crate::link::wired;
use crate::packet::{Carrier, IP_HEADER, Message, Place, RoutingMessage, UDP_HEADER};
use crate::params::{Params as _, RFC};
use crate::routing;

#[derive(Debug)]
struct Note;

impl Message for Note {
    fn kind(&self) -> &'static str {
        "NOTE"
    }

    fn encode(&self, _: &Place<'_>, _: &mut Vec<u8>) -> Result<Carrier, WireError> {
        Ok(Carrier::Udp(1021))
    }
}

/// A broadcast of a routing protocol by a node with two wires: how many packets were dropped at the other ends, where
/// nobody knows the message, and how many were copied.
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
    let packet = world.cx.originate_routing(Address(0), Address::BROADCAST, 1, size, RoutingMessage::new(Note));
    world.send(NodeId(0), packet, Address::BROADCAST);
    world.advance(Time::NEVER, &Watch::default());
    let ledger = world.cx.ledger;
    world.finish().expect("packets add up");
    (ledger.dropped, ledger.copied)
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
