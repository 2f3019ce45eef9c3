//! Route discovery (RFC 4728 §8.2). Each test has the section of its rule in its name.

use super::*;

#[test]
fn s8_2_1_a_search_begins_with_the_neighbours_and_goes_on_after_30_ms() {
    let net = chain(4, |_| {}).having_sent(0, 3, 1_000);
    let requests = net.said("0>* ");
    assert_eq!(requests.len(), 2, "{requests:?}");
    assert!(requests[0].starts_with("0 ") && requests[0].contains(" ttl 1 "), "{}", requests[0]);
    assert!(requests[1].contains(" ttl 255 "), "{}", requests[1]);
    assert!((30..=40).contains(&times(&net, "0>* ")[1]), "{requests:?}");
    assert_eq!(net.arrived.len(), 1);
    net.check_account();
}

#[test]
fn s8_2_1_a_neighbour_answers_the_first_request() {
    let net = chain(2, |_| {}).having_sent(0, 1, 1_000);
    assert_eq!(net.said("request").len(), 1);
    assert_eq!(net.route(0, 1), Some((1, 1)));
}

#[test]
fn s8_2_1_the_wait_doubles_up_to_ten_seconds() {
    let net = network(2, |_| {}).having_sent(0, 1, 29_000);
    let sent = times(&net, "request");
    let expected = [0, 30, 530, 1_530, 3_530, 7_530, 15_530, 25_530];
    assert_eq!(sent.len(), expected.len(), "{sent:?}");
    for (sent, least) in sent.into_iter().zip(expected) {
        assert!((least..=least + 10).contains(&sent), "{sent}: {least} and the jitter");
    }
}

#[test]
fn s4_3_the_waits_go_on_doubling_after_a_search_without_a_reply() {
    let mut net = network(2, |params| params.max_request_rexmt = 2).having_sent(0, 1, 1_560);
    assert_eq!(net.dropped(0, DropReason::DiscoveryFailed), 1);
    net.send_until(0, 1, 5_000);
    // The third request that propagates is followed by a wait of two seconds.
    let expected = [0, 30, 530, 1_560, 1_590, 3_590];
    let sent = times(&net, "request");
    assert_eq!(sent.len(), expected.len(), "{sent:?}");
    for (sent, least) in sent.iter().zip(expected) {
        assert!((least..=least + 10).contains(sent), "{sent}: {least} and the jitter");
    }
}

#[test]
fn s4_3_a_search_waits_for_the_end_of_the_last_wait_unless_a_reply_came() {
    for replies in [false, true] {
        let mut net = network(2, |_| {}).having_sent(0, 1, if replies { 1_520 } else { 2_000 }).chained(&[0, 1]);
        if replies {
            net.run_until(2_100);
        } else {
            // Node 0 comes to know the route as the target of a request.
            net.send_until(1, 0, 2_100);
        }
        assert!(has_arrived(&net, 0), "{:?}", net.talk);
        net.part(0, 1).send_until(0, 1, 5_000);
        let sent = times(&net, " 0>* 0->* request");
        let next = if replies { 2_110 } else { 3_530 };
        assert_eq!(sent.len(), if replies { 8 } else { 6 }, "{sent:?}");
        assert!((next..=next + 10).contains(&sent[4]), "{sent:?}");
    }
}

#[test]
fn s8_2_1_a_search_without_the_neighbours_floods_at_once() {
    let net = chain(3, |params| params.nonpropagating = false).having_sent(0, 2, 1_000);
    let requests = net.said("0>* ");
    assert!(requests.len() == 1 && requests[0].contains(" ttl 255 "), "{requests:?}");
}

#[test]
fn s9_a_destination_is_given_up_after_max_request_rexmt() {
    let mut net = network(2, |params| params.max_request_rexmt = 2).having_sent(0, 1, 10_000);
    assert_eq!(times(&net, "request").len(), 3);
    assert_eq!(net.dropped(0, DropReason::DiscoveryFailed), 1);
    net.send_until(0, 1, 10_010);
    assert_eq!(times(&net, "request").len(), 4, "the next packet begins a search");
}

#[test]
fn s4_2_a_packet_waits_for_send_buffer_timeout() {
    let net = network(2, |params| params.send_buffer_timeout = Span::from_secs(2)).having_sent(0, 1, 10_000);
    assert_eq!(net.dropped(0, DropReason::RouteTimeout), 1);
    assert_eq!(times(&net, "request").len(), 4, "nobody waits any more");
}

#[test]
fn s8_2_2_a_request_collects_the_addresses_that_it_passes() {
    let net = chain(4, |_| {}).having_sent(0, 3, 1_000);
    assert_eq!(net.said("request 2 for 3 [1]").len(), 1);
    assert_eq!(net.said("request 2 for 3 [1 2]").len(), 1);
    // IP, header and option, and four bytes for each address.
    assert!(net.said("request 2 for 3 [1 2]")[0].ends_with(" ttl 253 40 B"), "{:?}", net.talk);
}

#[test]
fn s8_2_2_a_node_passes_a_request_on_once() {
    let mut net = network(5, |_| {}).joined(&[(0, 1), (0, 2), (1, 2), (1, 3), (2, 3), (3, 4)]);
    net.send_until(0, 4, 1_000);
    for node in 1..=3 {
        assert_eq!(net.said(&format!(" {node}>* 0->* request 2 ")).len(), 1, "{:?}", net.talk);
    }
}

#[test]
fn s8_2_2_the_target_answers_every_copy() {
    let net = network(4, |_| {}).chained(&[0, 1, 3]).chained(&[0, 2, 3]).having_sent(0, 3, 1_000);
    assert_eq!(net.said("3>1 3->0 reply [1 3]").len(), 1, "{:?}", net.talk);
    assert_eq!(net.said("3>2 3->0 reply [2 3]").len(), 1, "{:?}", net.talk);
}

#[test]
fn s8_2_2_a_request_ends_at_its_hop_limit() {
    let net = chain(4, |params| params.discovery_hop_limit = 2).having_sent(0, 3, 400);
    assert_eq!(net.said(" 2>* ").len(), 0);
    assert!(net.dropped(2, DropReason::TtlExpired) > 0);
}

#[test]
fn s8_2_2_a_request_ends_where_the_route_would_be_too_long() {
    let mut net = chain(5, |params| params.route_hops = 3).having_sent(0, 4, 400);
    assert_eq!(net.said(" 3>* ").len(), 0);
    net.send_until(0, 3, 2_000);
    assert_eq!(net.arrived.len(), 1, "three hops are not");
}

#[test]
fn s8_2_3_a_node_answers_for_others_from_its_cache() {
    let mut net = network(5, |params| params.promiscuous = false).chained(&[0, 1, 2, 3]).having_sent(0, 3, 1_000);
    net.join(4, 1).send_until(4, 3, 2_000);
    assert_eq!(net.said("1>4 1->4 reply [1 2 3]").len(), 1, "{:?}", net.talk);
    assert_eq!(net.said("request 1 for 3 [").len(), 2, "the neighbour knows: {:?}", net.talk);
    assert_eq!(net.arrived.len(), 2);
}

#[test]
fn s8_2_3_without_replies_from_the_cache_the_target_is_asked() {
    let mut net = network(5, |params| (params.promiscuous, params.reply_from_cache) = (false, false));
    net.chain(&[0, 1, 2, 3]);
    net.send_until(0, 3, 1_000);
    net.join(4, 1).send_until(4, 3, 2_000);
    assert_eq!(net.said("1>4 1->4 reply").len(), 0);
    assert_eq!(net.said("3->4 reply [1 2 3]").len(), 3);
}

#[test]
fn s8_2_3_no_answer_names_a_node_twice() {
    let mut net = chain(4, |_| {}).having_sent(0, 3, 1_000);
    net.part(2, 3);
    // Node 1 knows a route to node 3, which leads through node 2.
    net.send_until(2, 3, 5_000);
    assert_eq!(net.said("->2 reply").len(), 0, "{:?}", net.talk);
    net.check_loops();
}

#[test]
fn s8_2_5_answers_from_the_cache_wait_the_longer_the_route_and_are_left_out_after_a_shorter_one() {
    let holdoff = Span::from_millis(10);
    let mut net = network(5, |params| {
        (params.reply_holdoff, params.nonprop_request_timeout) = (holdoff, Span::from_millis(100));
    });
    net.chain(&[0, 1, 2, 3]);
    net.send_until(0, 3, 1_000);
    net.join(4, 1).join(4, 2).send_until(4, 3, 2_000);
    let sent = times(&net, "2>4 2->4 reply [2 3]");
    assert!(sent.len() == 1 && (1_011..=1_021).contains(&sent[0]), "{sent:?}");
    assert_eq!(net.said("1>4 1->4 reply").len(), 0, "node 1 heard the shorter one: {:?}", net.talk);
    assert_eq!(net.arrived.len(), 2);
}

#[test]
fn s8_2_6_the_packets_that_wait_leave_in_order_when_a_route_is_known() {
    let mut net = chain(3, |_| {});
    let sent: Vec<u64> = (0..5).map(|_| net.send(0, 2)).collect();
    assert_eq!(net.at(1_000).arrived.iter().map(|&(number, _)| number).collect::<Vec<_>>(), sent);
    assert_eq!(net.said("0>* ").len(), 2, "one search serves them all");
}

#[test]
fn s8_2_4_a_reply_that_is_lost_is_asked_for_again() {
    let mut net = chain(3, |_| {});
    net.lost = vec!["1>0 2->0 reply".to_owned()];
    net.send_until(0, 2, 2_000);
    assert_eq!(net.arrived.len(), 1);
    assert!(times(&net, "0>* ").iter().any(|at| (530..=540).contains(at)), "{:?}", net.talk);
}

#[test]
fn s3_3_1_a_node_that_overhears_a_route_needs_no_search() {
    for promiscuous in [true, false] {
        let mut net = network(5, |params| params.promiscuous = promiscuous).chained(&[0, 1, 2, 3]).chained(&[4, 1]);
        net.send_until(0, 3, 1_000);
        net.send_until(4, 3, 2_000);
        assert_eq!(net.said(" 4>* 4->* request").is_empty(), promiscuous, "{:?}", net.talk);
        assert_eq!(net.arrived.len(), 2);
    }
}

#[test]
fn s3_3_1_the_destination_knows_the_way_back() {
    let net = chain(4, |_| {}).having_sent(0, 3, 1_000).having_sent(3, 0, 2_000);
    assert_eq!(net.said(" 3>* ").len(), 0);
    assert_eq!((net.route(3, 0), net.arrived.len()), (Some((2, 3)), 2));
}

#[test]
fn s4_1_routes_are_forgotten_after_route_cache_timeout() {
    for cache in [CacheKind::Path, CacheKind::Link] {
        let mut net = chain(3, |params| (params.cache, params.route_cache_timeout) = (cache, Span::from_secs(1)));
        net.send_until(0, 2, 500);
        net.send_until(0, 2, 3_000);
        assert_eq!(net.said(" 0>* ").len(), 2);
        net.send_until(0, 2, 4_000);
        assert_eq!(net.said(" 0>* ").len(), 4, "{cache:?}");
        assert_eq!(net.arrived.len(), 3);
    }
}

#[test]
fn s4_6_requests_over_a_link_of_one_direction_are_ignored() {
    let mut net = chain(3, |_| {}).having_sent(1, 2, 1_000);
    net.mute(1, 0).send_until(0, 2, 1_900);
    // Node 1 answers the first request from its cache; the link layer says that node 0 did not get the reply.
    assert_eq!(net.said("1>0 1->0 reply").len(), 1, "{:?}", net.talk);
    assert_eq!(net.said(" 1>* 0->*").len(), 0, "{:?}", net.talk);
}

#[test]
fn s8_1_3_a_neighbour_needs_no_source_route_and_others_do() {
    let net = chain(4, |_| {}).having_sent(0, 3, 1_000).having_sent(0, 1, 2_000);
    assert_eq!(net.said("0>1 0->3 route 0 2 [1 2]").len(), 1);
    // 540 bytes, the header, the option, two addresses.
    assert!(net.said("1>2 0->3 route 0 1 [1 2]")[0].ends_with(" 556 B"));
    assert!(net.said("2>3 0->3 route 0 0 [1 2]")[0].ends_with(" 556 B"));
    assert_eq!(net.said("0>1 0->1").len(), 0, "{:?}", net.talk);
    assert_eq!(net.arrived.len(), 2);
}

/// Nodes 0 and 1 have radios; node 1 has a wire to the network of node 2.
#[test]
fn s6_3_a_gateway_answers_for_the_outside_and_sends_over_its_wires() {
    let mut net = chain(2, |_| {});
    let name = |network: u8, host: u8| Ipv4Addr::new(10, network, 0, host);
    net.cx.owners = Owners::new(4, Vec::new(), vec![name(0, 1), name(0, 2), name(9, 1), name(7, 1)]);
    let (radio, wired) = (Prefix::of(name(0, 0), 16), Prefix::of(name(9, 0), 16));
    let ad_hoc: Arc<[Prefix]> = Arc::new([radio]);
    for (node, wired) in [(0, vec![]), (1, vec![wired])] {
        let radios = vec![(Address(node), radio)];
        net.attach(node, &Networks { radios, wires: Vec::new(), ad_hoc: Arc::clone(&ad_hoc), wired });
    }
    net.send_until(0, 2, 1_000);
    assert_eq!(net.said("1>0 1->0 reply [1 2] L").len(), 1, "{:?}", net.talk);
    assert_eq!(net.said("0>1 0->2 route 0 1 [1] L").len(), 1, "{:?}", net.talk);
    assert_eq!(net.said("1 sends a packet for 2 over its wires").len(), 1, "{:?}", net.talk);
    // Nobody has a wire to node 3.
    net.send_until(0, 3, 2_000);
    assert_eq!(net.said("3] L").len(), 0);
}
