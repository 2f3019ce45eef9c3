//! Tests of the room: what its models have in common, and a small network to run them in.

use super::*;
use crate::context::Action;
use crate::packet::{Body, FlowId, Packet, UdpHeader};
use crate::params::{NS2, RFC};

/// A datagram of 512 bytes of payload.
pub fn datagram(cx: &mut Context, source: NodeId, destination: NodeId) -> PacketId {
    cx.originate(Packet {
        created: cx.now,
        source,
        destination,
        flow: FlowId(0),
        size: 540,
        ttl: 64,
        hops: 0,
        body: Body::Udp(UdpHeader { sequence: 0, len: 512 }),
    })
}

/// The next hops of the packets that were sent, in order.
pub fn sends(cx: &Context) -> Vec<NodeId> {
    cx.actions
        .iter()
        .filter_map(|action| match action {
            Action::Send { next_hop, .. } | Action::SendLater { next_hop, .. } => Some(*next_hop),
            _ => None,
        })
        .collect()
}

#[test]
fn every_model_is_built_from_its_written_defaults() {
    for model in MODELS {
        for profile in [RFC, NS2] {
            let defaults = (model.defaults)(profile);
            assert_eq!((model.check)(&defaults), Ok(()), "{model:?} {profile}");
            let config = Config::read(model.name, &defaults).expect("defaults are parameters");
            assert_eq!(Ok(&config), Config::of_profile(model.name, profile).as_ref());
            let rng = hopyard_engine::Streams::new(1, 0).node(0, "routing");
            assert_eq!(config.build(NodeId(0), 10, rng).held(), []);
        }
    }
}
