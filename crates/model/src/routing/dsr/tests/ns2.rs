//! The procedures of ns-2.35.

use super::*;

fn ns2(nodes: u32) -> Network {
    chain(nodes, |params| *params = Params::of_profile(NS2))
}

#[test]
fn the_bytes_of_requests_and_replies_are_those_of_ns2() {
    let net = ns2(6).having_sent(0, 5, 1_000);
    // From a trace of ns-2.35, less 58 bytes of the MAC.
    for (node, passed, bytes) in [(0, "", 32), (1, "1", 48), (2, "1 2", 68), (3, "1 2 3", 92), (4, "1 2 3 4", 120)] {
        let line = net.said(&format!(" {node}>* 0->* request 2 for 5 [{passed}]"))[0];
        assert!(line.ends_with(&format!(" {bytes} B")), "{line}");
    }
    let replies = net.said("5->0 reply [1 2 3 4 5]");
    assert!(replies.len() == 5 && replies.iter().all(|line| line.ends_with(" 76 B")), "{replies:?}");
}

#[test]
fn a_flow_is_established_by_four_packets_and_then_data_carry_nothing() {
    let mut net = ns2(4).having_sent(0, 3, 1_000);
    for millis in (2..8).map(|tenth| tenth * 500) {
        net.send_until(0, 3, millis);
    }
    // 540 bytes, 4 of the flow, 4 of the header, 4 of the timeout, 4 and 8 of the route.
    let route = net.said("0>1 0->3 flow 1 1 timeout 60 route 0 2 [1 2]");
    assert!(route.len() == 3 && route[0].ends_with(" 564 B"), "{:?}", net.talk);
    assert_eq!(net.said("1>2 0->3 flow 1 2 timeout 60 route 0 1 [1 2]").len(), 3);
    assert_eq!(net.arrived.len(), 7);
    // Five seconds later the route is written again.
    net.run_until(9_000);
    net.send_until(0, 3, 9_100);
    net.send_until(0, 3, 9_200);
    assert_eq!(net.said("0>1 0->3 flow 1 1 timeout 60 route 0 2 [1 2]").len(), 4);
    assert_eq!(net.arrived.len(), 9);
    net.check_loops();
}

#[test]
fn a_broken_link_of_a_flow_is_told_to_the_source_along_the_flow() {
    let mut net = ns2(4);
    for millis in [1_000, 1_100, 1_200, 1_300, 1_400] {
        net.send_until(0, 3, millis);
    }
    net.part(2, 3).send_until(0, 3, 1_450);
    assert_eq!(net.said("2>1 2->0 error of 2 for 0: NodeUnreachable(3) 0 route 0 1 [1]").len(), 1);
    // The packet waits where it is, and one request is sent for it.
    net.run_until(3_000);
    assert_eq!(net.said(" 2>* 2->* request").len(), 1, "{:?}", net.talk);
    net.check_account();
}

#[test]
fn a_reply_that_did_not_reach_the_next_hop_is_sent_again_by_its_source() {
    let mut net = ns2(3);
    net.send(0, 2);
    let mut millis = 0;
    while net.said(" 1>* 0->* request").is_empty() {
        millis += 1;
        net.run_until(millis);
    }
    // Then the target has the request, and its reply waits for up to 10 ms.
    net.at(millis + 1).part(1, 2);
    net.run_until(millis + 500);
    // The reply names the link that failed, but is the node's own, and so a route is looked for.
    let requests = net.said(" 2>* 2->* request");
    assert!(requests.len() == 2 && requests.iter().all(|line| line.contains(" for 0 ")), "{:?}", net.talk);
    net.join(1, 2).run_until(3_000);
    assert_eq!(net.arrived.len(), 1, "{:?}", net.talk);
    net.check_account();
}

#[test]
fn a_reply_for_another_node_waits_without_another_route() {
    let mut net = ns2(4);
    net.send(0, 3);
    let mut millis = 0;
    while net.said("3>2 3->0 reply").is_empty() {
        millis += 1;
        net.run_until(millis);
        if !net.said(" 2>* 0->* request").is_empty() {
            net.part(0, 1);
        }
    }
    net.run_until(millis + 200);
    assert_eq!(net.said("1>0 3->0 reply").len(), 1, "{:?}", net.talk);
    // Node 1 sends one request, to its neighbours alone, and has none of the replies dropped.
    assert_eq!(net.said(" 1>* 1->* request").len(), 1, "{:?}", net.talk);
    net.join(0, 1).run_until(5_000);
    assert_eq!(net.arrived.len(), 1, "{:?}", net.talk);
    net.check_account();
}

#[test]
fn the_route_of_a_salvaged_packet_is_not_read_by_who_heard_the_packet_before() {
    let mut net = network(6, |params| *params = Params::of_profile(NS2));
    net.join_all(&[(0, 1), (1, 2), (2, 3), (1, 4), (4, 3), (5, 0), (5, 1)]);
    // Node 1 knows both ways.
    net.send_until(1, 3, 1_000);
    net.send_until(0, 3, 2_000);
    let (way, other) = if net.said("0>1 0->3").iter().any(|line| line.contains("[1 2]")) { (2, 4) } else { (4, 2) };
    net.part(1, way).send_until(0, 3, 3_000);
    assert_eq!(net.said(&format!("1>{other} 0->3 route 1 ")).len(), 1, "{:?}", net.talk);
    // Node 5 heard the packet from node 0, then from node 1 with its new route, and that the link is broken.
    net.send_until(5, 3, 4_000);
    assert!(!net.said(" 5>* 5->* request").is_empty(), "{:?}", net.talk);
    assert_eq!(net.arrived.len(), 4);
}

#[test]
fn a_search_sends_pairs_of_requests_with_waits_of_half_a_second_times_four() {
    let net = ns2(1).having_sent(0, 9, 29_000);
    let sent = times(&net, "request");
    let mut expected = Vec::new();
    for pair in [0, 2_000, 10_000, 20_000] {
        expected.extend([pair, pair + 45]);
    }
    assert_eq!(sent.len(), expected.len(), "{sent:?}");
    for (sent, expected) in sent.iter().zip(expected) {
        assert!(sent.abs_diff(expected) < 350, "{sent} and {expected}");
    }
}

#[test]
fn packets_leave_the_buffer_thirty_milliseconds_apart() {
    let mut net = ns2(2);
    for _ in 0..3 {
        net.send(0, 1);
    }
    net.run_until(1_000);
    let arrived: Vec<u64> = net.arrived.iter().map(|&(_, at)| at.nanos() / 1_000_000).collect();
    assert_eq!([arrived[1] - arrived[0], arrived[2] - arrived[1]], [30, 30]);
}

#[test]
fn answers_from_the_cache_are_sent_at_once() {
    let net = ns2(4).having_sent(0, 3, 1_000).having_sent(1, 3, 2_000);
    assert!(net.said(" 1>* 1->*").is_empty(), "a node that passes packets on knows their routes: {:?}", net.talk);
}

#[test]
fn a_packet_that_waits_takes_a_number_at_each_look_for_a_request_that_is_not_sent() {
    let net = ns2(1).having_sent(0, 9, 29_000);
    // A look every 30 to 60 ms, 45 ms on average; eight of the requests are sent.
    let (looks, sent) = (29_000 / 45, 8);
    assert_eq!(times(&net, "request").len() as u64, sent);
    assert!(net.cx.ledger.numbered_only.abs_diff(looks - sent) < 50, "{:?}", net.cx.ledger);
    // With a route, nothing is looked at.
    let net = ns2(2).having_sent(0, 1, 29_000);
    assert!(net.cx.ledger.numbered_only < 5, "{:?}", net.cx.ledger);
}
