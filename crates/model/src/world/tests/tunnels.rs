//! Packets in tunnels.

use crate::address::{Address, Prefix};
use crate::context::{DropReason, WayChange};
use crate::ip::Way;
use crate::packet::{Body, FlowId, Form, Packet, PacketKind, UdpHeader};

use super::*;

/// The fate of one packet from node 0 to node 2. Node 0 has wires to both others. It puts packets for node 2 into a
/// tunnel to node 1, to which these ways lead. The numbers are those of all dropped packets, and of loops.
fn fate(ways: &[WayChange]) -> (u64, u64) {
    let mut spec = Spec::network(RFC);
    spec.duration = Span::from_secs(1);
    for _ in 0..3 {
        let routing = routing::Config::of_profile("static", RFC).expect("a protocol");
        let mut node = NodeSpec::stationary(mobility::Position::default(), routing);
        node.radios.clear();
        spec.nodes.push(node);
    }
    for to in [1, 2] {
        let params = wired::Params::of_profile(RFC);
        spec.wires.push(WireSpec { ends: (NodeId(0), NodeId(to)), params, network: None });
    }
    let mut world = World::new(&spec).expect("a world");
    let host = |world: &World, node: u32| Prefix::of(world.cx.owners.name(Address(node)), 32);
    let into = Way::Into { to: Address(1), form: Form::IpInIp };
    let (end, target) = (host(&world, 1), host(&world, 2));
    world.nodes[0].set_way(target, WayChange::Only(into), &mut world.cx);
    for &way in ways {
        world.nodes[0].set_way(end, way, &mut world.cx);
    }
    let packet = world.cx.originate(Packet {
        created: Time::ZERO,
        source: Address(0),
        destination: Address(2),
        flow: FlowId(0),
        size: 100,
        ttl: 64,
        hops: 0,
        salvaged: 0,
        class: 0,
        body: Body::Udp(UdpHeader { sequence: 0, len: 72, identification: None }),
    });
    world.route(NodeId(0), packet);
    world.advance(Time::NEVER, &Watch::default());
    let (dropped, drops) = (world.cx.ledger.dropped, world.cx.drops.clone());
    let loops = [PacketKind::Data, PacketKind::Control].map(|it| drops.get(NodeId(0), it, DropReason::RoutingLoop));
    world.finish().expect("packets add up");
    (dropped, loops.iter().sum())
}

#[test]
fn of_several_ways_to_its_end_only_that_through_the_tunnel_itself_goes_round() {
    let (direct, round) = (Way::Via(Address(1)), Way::Into { to: Address(1), form: Form::IpInIp });
    let (dropped, loops) = fate(&[WayChange::Only(direct)]);
    assert_eq!(loops, 0, "{dropped} dropped");
    // Whichever is the first one, a copy of the outer packet is lost, and no other packet.
    for ways in [[direct, round], [round, direct]] {
        let (more, loops) = fate(&[WayChange::Only(ways[0]), WayChange::Also(ways[1])]);
        assert_eq!((more, loops), (dropped + 1, 1), "{ways:?}");
    }
    assert_eq!(fate(&[WayChange::Only(round)]), (1, 1));
}
