//! AODV and AOMDV at nodes with several radios: RFC 3561 §6.14. The name of each test of AODV begins with the section.

use std::collections::BTreeSet;

use hopyard_engine::units::{Distance, Speed};
use hopyard_engine::{Span, Time};
use hopyard_model::address::{InterfaceId, NodeId};
use hopyard_model::context::Departure;
use hopyard_model::mobility::{self, waypoints};
use hopyard_model::observe::{FrameEdge, FrameView, Probe};
use hopyard_model::packet::Body;
use hopyard_model::routing::aodv::AodvMessage;
use hopyard_model::routing::aomdv::AomdvMessage;
use hopyard_model::world::{self, Advanced, Spec, Watch, World};
use hopyard_wire::ipv4::{Header, Protocol};
use hopyard_wire::udp;

use crate::common::{add_cbr, chain, network, run_with};

/// Messages on the air: kind, sending interface, source address, receiving interface.
#[derive(Debug, Default)]
struct Talk(Vec<(Time, &'static str, u32, u32, u32)>);

impl Probe for Talk {
    fn on_frame(&mut self, now: Time, interface: InterfaceId, frame: &FrameView<'_>, edge: FrameEdge) {
        if edge != FrameEdge::Sent {
            return;
        }
        let Some(packet) = frame.packet else { return };
        let Body::Routing(message) = &packet.body else { return };
        let of_aodv = message.get().map(|message| match message {
            AodvMessage::Request(_) => "RREQ",
            AodvMessage::Hello { .. } => "HELLO",
            AodvMessage::Error(_) => "RERR",
            AodvMessage::Reply(_) | AodvMessage::ReplyAck => "",
        });
        let of_aomdv = message.get().map(|message| match message {
            AomdvMessage::Request(_) => "RREQ",
            AomdvMessage::Hello { .. } => "HELLO",
            AomdvMessage::Error(_) => "RERR",
            AomdvMessage::Reply(_) => "",
        });
        let kind = of_aodv.or(of_aomdv).expect("a message of one of the two");
        self.0.push((now, kind, interface.0, packet.source.0, frame.receiver.0));
    }
}

/// A row of five nodes; 0 to 2 on one channel, 2 to 4 on another. Node 2 has both radios: interface 2 and interface 5.
fn joined() -> Spec {
    joined_by("rfc", "aodv")
}

/// The same with another protocol.
fn joined_by(profile: &str, protocol: &str) -> Spec {
    let mut spec = network(profile, protocol, &chain(5, 200.0));
    spec.channels.push(spec.channels[0].clone());
    for node in [3, 4] {
        spec.nodes[node].radios = vec![1];
    }
    spec.nodes[2].radios = vec![0, 1];
    Spec { duration: Span::from_secs(10), ..spec }
}

fn talk(spec: &Spec) -> Vec<(Time, &'static str, u32, u32, u32)> {
    let (_, talk) = run_with(spec, Talk::default());
    talk.0
}

#[test]
fn s6_14_requests_leave_by_all_radios() {
    requests_leave_by_all_radios(joined());
}

#[test]
fn requests_of_aomdv_leave_by_all_radios() {
    for profile in ["rfc", "ns2"] {
        requests_leave_by_all_radios(joined_by(profile, "aomdv"));
    }
}

fn requests_leave_by_all_radios(mut spec: Spec) {
    add_cbr(&mut spec, 0, 4, 500, Span::from_millis(100));
    let talk = talk(&spec);
    let senders: BTreeSet<u32> = talk.iter().filter(|it| it.1 == "RREQ").map(|it| it.2).collect();
    assert!(senders.is_superset(&BTreeSet::from([0, 1, 2, 5, 3])), "{senders:?}");
}

#[test]
fn s6_14_a_hello_leaves_by_each_radio_with_the_address_there() {
    a_hello_leaves_by_each_radio(joined());
}

#[test]
fn a_hello_of_aomdv_leaves_by_each_radio_with_the_address_there() {
    for profile in ["rfc", "ns2"] {
        a_hello_leaves_by_each_radio(joined_by(profile, "aomdv"));
    }
}

fn a_hello_leaves_by_each_radio(mut spec: Spec) {
    add_cbr(&mut spec, 0, 4, 500, Span::from_millis(100));
    let talk = talk(&spec);
    let hellos: BTreeSet<_> = talk.iter().filter(|it| it.1 == "HELLO").map(|it| (it.2, it.3)).collect();
    assert!(hellos.contains(&(2, 2)) && hellos.contains(&(5, 5)), "{hellos:?}");
    assert!(hellos.iter().all(|(interface, source)| interface == source));
}

#[test]
fn s6_14_an_error_leaves_only_by_radios_with_users_of_the_route() {
    // Node 4 leaves; node 3 tells node 2, and node 2 tells node 1. Nobody on the second channel uses a route by node 2.
    let mut spec = joined();
    let order =
        waypoints::Order::level(Span::from_secs(3), Distance::new(5000.0), Distance::new(0.0), Speed::new(400.0));
    spec.nodes[4].mobility =
        mobility::Config::Waypoints(waypoints::Params { track: Vec::new(), orders: vec![order] }.into());
    add_cbr(&mut spec, 0, 4, 500, Span::from_millis(100));
    let errors: Vec<_> = talk(&spec).into_iter().filter(|it| it.1 == "RERR").collect();
    let pairs: BTreeSet<_> = errors.iter().map(|it| (it.2, it.4)).collect();
    assert!(pairs.contains(&(3, 5)), "node 3 tells node 2: {pairs:?}");
    assert!(pairs.contains(&(2, 1)), "node 2 tells node 1: {pairs:?}");
    assert!(errors.iter().all(|it| it.2 != 5), "and nobody on the other channel: {errors:?}");
}

#[test]
fn s6_14_the_second_address_of_a_node_is_reached() {
    the_second_address_of_a_node_is_reached(&joined());
}

#[test]
fn aomdv_reaches_the_second_address_of_a_node() {
    for profile in ["rfc", "ns2"] {
        the_second_address_of_a_node_is_reached(&joined_by(profile, "aomdv"));
    }
}

#[test]
fn data_over_aomdv_cross_from_one_channel_to_another() {
    for profile in ["rfc", "ns2"] {
        let mut spec = joined_by(profile, "aomdv");
        add_cbr(&mut spec, 0, 4, 500, Span::from_millis(100));
        let outcome = world::simulate(&spec, &Watch::default()).expect("packets add up");
        assert!(outcome.flows[0].packets_unique > 90, "{profile}: {:?}", outcome.flows[0]);
    }
}

fn the_second_address_of_a_node_is_reached(spec: &Spec) {
    let mut world = World::new(spec).expect("a world");
    for node in [0, 2] {
        world.attach(NodeId(node)).expect("it is there");
    }
    let (host, second) = (world.addresses(NodeId(0))[0], world.addresses(NodeId(2))[1]);
    assert_eq!(second.octets()[..2], [172, 16]);
    let datagram = |source, destination| {
        let (mut body, mut bytes) = (Vec::new(), Vec::new());
        let ports = udp::Header { source_port: 5353, destination_port: 9 };
        ports.emit(b"hello", source, destination, &mut body).expect("short enough");
        Header::new(Protocol::UDP, source, destination, 64).emit(&body, &mut bytes).expect("short enough");
        bytes
    };
    let at = |milliseconds| Time::ZERO + Span::from_millis(milliseconds);
    world.inject(NodeId(0), at(100), &datagram(host, second)).expect("an address of the network");
    // And back, from the second address.
    world.inject(NodeId(2), at(2_000), &datagram(second, host)).expect("an address of the node");
    assert_eq!(world.advance(Time::NEVER, &Watch::default()), Advanced::Ended);
    let arrived: Vec<_> = std::iter::from_fn(|| world.egress())
        .filter_map(|it| match it {
            Departure::Datagram { node, address, .. } => Some((node.0, address)),
            Departure::Frame { .. } | Departure::NoCarrier { .. } | Departure::Completed { .. } => None,
        })
        .collect();
    assert_eq!(arrived, [(2, second), (0, host)]);
    world.finish().expect("packets add up");
}
