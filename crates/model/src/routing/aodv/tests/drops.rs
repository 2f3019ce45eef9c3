//! The reasons under which AODV loses packets, where the other tests do not name them.

use super::*;
use crate::address::NodeId;
use crate::context::Context;
use crate::routing::Routing;
use crate::routing::tests::datagram;

/// A profile's defaults without local repair.
fn without_repair(profile: &str) -> Params {
    Params { local_repair: false, ..Params::of_profile(profile) }
}

#[test]
fn a_packet_keeps_the_reason_for_which_the_link_gave_it_back() {
    for profile in [RFC, NS2] {
        for reason in [DropReason::ArpFailed, DropReason::RetryLimit] {
            let mut net = chain(4, &without_repair(profile)).having_sent(0, 3, 5_000);
            assert_eq!(net.route(1, 3), Some((2, 2)), "{profile}");
            net.reason = reason;
            net.fail_segment(0, 3, 1, 2);
            assert_eq!(net.dropped(1, reason), 1, "{profile}: {reason:?}");
            assert_eq!(net.cx.ledger.dropped, 1, "{profile}: {reason:?}");
        }
    }
}

#[test]
fn a_packet_that_comes_back_to_its_source_is_a_loop() {
    for profile in [RFC, NS2] {
        let mut cx = Context::default();
        let config = Config::Aodv(Params::of_profile(profile).into());
        let mut router = config.build(NodeId(0), 2, hopyard_engine::Streams::new(1, 0).node(0, "routing"));
        let packet = datagram(&mut cx, Address(0), Address(1));
        cx.packets[packet].hops = 2;
        router.route(packet, &mut cx);
        let kind = crate::packet::PacketKind::Data;
        assert_eq!(cx.drops.get(NodeId(0), kind, DropReason::RoutingLoop), 1, "{profile}");
    }
}
