//! What ns-2.35 does in another way.

use super::*;
use crate::context::{Context, DropReason, Origin};
use crate::packet::{Body, TcpHeader};
use crate::routing::tests::{datagram, sends};
use crate::routing::{Routes as _, Routing as _};

/// ns-2's defaults without jitter of broadcasts.
fn ns2() -> Params {
    Params { broadcast_jitter: Span::ZERO, ..Params::of_profile(NS2) }
}

/// The same with the link layer's feedback, and no HELLO messages.
fn by_link_layer() -> Params {
    Params { link_detection: LinkDetection::LinkLayer, ..ns2() }
}

#[test]
fn numbers_of_nodes_are_even_and_sizes_are_those_of_ns2() {
    let mut net = linked(6, &by_link_layer(), &TWO_WAYS);
    net.send_until(0, 5, 100);
    assert_eq!(net.talk[0], "0 0>* RREQ 1 0 hops to 5/0 for 0/4 by 0 ttl 30 52 B");
    assert!(net.said("5>2 RREP 1 0 hops to 5/2 for 0 by 2 life 10 s ttl 30 52 B").len() == 1, "{:?}", net.talk);
    assert_eq!(paths(&net, 0, 5), [(1, 2, 3), (3, 4, 3)]);
}

#[test]
fn every_node_with_a_route_says_hello_and_a_link_breaks_by_silence_alone() {
    let mut net = linked(4, &ns2(), &[(0, 1), (1, 2)]);
    assert!(net.at(3_000).talk.is_empty(), "nobody has a route yet");
    net.send_until(0, 2, 8_000);
    let hellos = net.said("2>* HELLO");
    assert!((4..=6).contains(&hellos.len()), "{}", hellos.len());
    assert!(hellos[0].ends_with("ttl 1 44 B"), "{hellos:?}");
    assert!(net.said("3>*").is_empty());
    net.part(0, 1).send_until(0, 2, 8_100);
    assert_eq!(net.dropped(0, DropReason::RetryLimit), 1, "a failure of the link layer changes nothing");
    assert!(!paths(&net, 0, 2).is_empty());
    net.run_until(13_600);
    assert_eq!(paths(&net, 0, 2), []);
    net.check_account();
}

#[test]
fn searches_wait_a_second_at_most_and_give_up_after_four_floods() {
    let net = network(1, &by_link_layer()).having_sent(0, 9, 10_000);
    let at: Vec<_> = net.talk.iter().map(|line| line.split(' ').next().expect("a time")).collect();
    assert_eq!(at, ["0", "1000", "2000", "3000"]);
    assert_eq!(net.dropped(0, DropReason::DiscoveryFailed), 1);
    net.check_account();
}

#[test]
fn expired_paths_are_found_every_half_second_and_their_number_becomes_odd() {
    let mut net = network(1, &by_link_layer()).after(100);
    net.inject(1, 0, 5, reply(1, 20, 2, 11)).run_until(6_400);
    assert_eq!(paths(&net, 0, 9).len(), 1, "it expired at 6.1 s");
    net.run_until(6_600);
    let entry = aomdv(&net, 0).state().table.get(Address(9)).map(|entry| (entry.sequence, entry.paths.len()));
    assert_eq!(entry, Some((21, 0)));
}

#[test]
fn with_the_link_layers_feedback_a_packet_is_salvaged_or_lost() {
    let mut net = linked(6, &by_link_layer(), &TWO_WAYS);
    net.send_until(0, 5, 100);
    net.part(0, 1);
    let packet = net.send_until(0, 5, 200);
    assert_eq!(net.ways[&packet], [0, 3, 4, 5].map(Address));
    net.part(0, 3).send_until(0, 5, 300);
    assert_eq!(net.dropped(0, DropReason::RetryLimit), 1, "it is not put back at its source");
    net.check_account();
}

#[test]
fn a_copy_that_shares_the_first_link_gets_no_reply() {
    let mut net = network(10, &by_link_layer());
    net.inject(1, 9, 5, request(2, 2, 11)).inject(1, 9, 5, request(2, 2, 12)).run_until(100);
    assert_eq!(net.said("9>").len(), 1, "{:?}", net.talk);
    net.inject(2, 9, 5, request(2, 2, 11));
    assert_eq!(net.at(200).said("9>").len(), 2, "one that shares the last link does");
}

#[test]
fn a_segment_pays_for_its_ip_header_twice_but_once_only() {
    for (profile, size, ttl) in [(RFC, 552, 64), (NS2, 572, 30)] {
        let params = Params { link_detection: LinkDetection::LinkLayer, ..Params::of_profile(profile) };
        let rng = hopyard_engine::Streams::new(1, 0).node(0, "routing");
        let mut router = Config::Aomdv(params.into()).build(crate::address::NodeId(0), 2, rng);
        let mut cx = Context::default();
        router.start(&mut cx);
        let segment = datagram(&mut cx, Address(0), Address(9));
        cx.packets[segment].body = Body::Tcp(TcpHeader { len: 512, ..TcpHeader::default() });
        cx.packets[segment].size = 552;
        router.route(segment, &mut cx);
        assert_eq!(router.held(), [segment], "it waits for a route");
        let message = cx.originate_routing(Origin::Own, Address(1), Address(0), 5, 52, reply(1, 20, 0, 0));
        router.on_message(message, Address(1), &mut cx);
        assert_eq!(sends(&cx).last(), Some(&Address(1)));
        assert_eq!((cx.packets[segment].size, cx.packets[segment].ttl), (size, ttl));
    }
}
