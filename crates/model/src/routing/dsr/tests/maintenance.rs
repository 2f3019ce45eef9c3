//! Route maintenance (RFC 4728 §8.3). Each test has the section of its rule in its name.

use super::*;

/// Node 0 has a route to node 3 through node 1, which knows two ways on: through node 2 and through node 4.
fn fork(change: impl FnOnce(&mut Params)) -> (Network, u32, u32) {
    let net = network(5, change).chained(&[0, 1, 2, 3]).chained(&[1, 4, 3]).having_sent(0, 3, 1_000);
    assert_eq!(net.arrived.len(), 1);
    let used = net.ways[&0][2].0;
    (net, used, 6 - used)
}

#[test]
fn s8_3_4_the_source_is_told_of_a_broken_link() {
    let mut net = chain(4, |_| {}).having_sent(0, 3, 1_000);
    net.part(2, 3).send_until(0, 3, 1_400);
    let error = "2->0 error of 2 for 0: NodeUnreachable(3) 0 route 0 1 [1]";
    assert_eq!(net.said(error).len(), 1, "{:?}", net.talk);
    assert_eq!(net.dropped(2, DropReason::RetryLimit), 1);
    assert_eq!(net.route(0, 3), None, "and the loss is announced");
    assert!(net.changes.iter().any(|(_, node, change)| *node == Address(0) && change.route.is_none()));
}

#[test]
fn s8_3_5_all_that_see_an_error_forget_the_link() {
    let mut net = network(5, |_| {}).chained(&[0, 1, 2, 3]).chained(&[4, 1]).having_sent(0, 3, 1_000);
    net.part(2, 3).send_until(0, 3, 1_400);
    // Node 1 has passed the error on, and node 4 has overheard it: both must ask.
    for node in [1, 4] {
        net.send(node, 3);
    }
    net.run_until(2_000);
    for node in [1, 4] {
        assert!(!net.said(&format!(" {node}>* {node}->* request")).is_empty(), "node {node}: {:?}", net.talk);
    }
}

/// The error of node 3 for node 0 meets one of node 1, as node 0 has gone from its side; node 3 knows another way.
fn error_meets_error(change: impl FnOnce(&mut Params)) -> Network {
    let mut net = network(7, change).chained(&[0, 1, 2, 3, 4]).having_sent(0, 4, 1_000).chained(&[6, 5, 0]);
    net.send_until(6, 0, 1_500);
    // Node 3 overhears the way of node 6 to node 0.
    net.join(3, 6).send_until(6, 0, 2_000);
    net.part(3, 4).send_until(0, 4, 2_006);
    net.part(0, 1).run_until(2_500);
    net
}

#[test]
fn s8_3_4_an_error_that_meets_an_error_goes_back_behind_it() {
    let net = error_meets_error(|_| {});
    let both = "1>2 1->3 error of 1 for 3: NodeUnreachable(0) 0 error of 3 for 0: NodeUnreachable(4) 0 route";
    assert_eq!(net.said(both).len(), 1, "{:?}", net.talk);
}

#[test]
fn s8_3_4_no_error_goes_back_beyond_the_total_salvage_count() {
    let net = error_meets_error(|params| params.max_salvage_count = 1);
    let one = "1>2 1->3 error of 1 for 3: NodeUnreachable(0) 0 route";
    assert_eq!(net.said(one).len(), 1, "{:?}", net.talk);
}

#[test]
fn s8_3_5_the_node_whose_error_comes_back_sends_it_another_way() {
    let net = error_meets_error(|_| {});
    let error = "3->0 error of 3 for 0: NodeUnreachable(4) 0 route 0";
    assert_eq!(net.said(&format!("5>0 {error} 0 [6 5]")).len(), 1, "{:?}", net.talk);
    assert_eq!(net.route(0, 4), None, "node 0 knows");
}

#[test]
fn s3_4_4_the_last_error_goes_with_the_next_request() {
    let mut net = chain(4, |_| {}).having_sent(0, 3, 1_000);
    net.part(2, 3).send_until(0, 3, 1_400);
    net.send_until(0, 3, 2_000);
    let error = "0->* request 3 for 3 [] error of 2 for 0: NodeUnreachable(3) 0";
    assert_eq!(net.said(error).len(), 1, "{:?}", net.talk);
    // It goes with the request to the neighbours and with the one that propagates, and then no more.
    net.run_until(20_000);
    let with_error = net.said(" 0>* 0->* request").iter().filter(|line| line.contains("error")).count();
    assert!(with_error == 2 && net.said(" 0>* 0->* request").len() > 4, "{:?}", net.talk);
}

#[test]
fn s8_3_6_a_packet_is_salvaged_along_another_route() {
    let (mut net, used, other) = fork(|_| {});
    net.part(1, used);
    let packet = net.send_until(0, 3, 1_500);
    assert_eq!(net.said(&format!("1>{other} 0->3 route 1 1 [1 {other}]")).len(), 1, "{:?}", net.talk);
    assert!(has_arrived(&net, packet));
    // The source is told all the same.
    assert_eq!(net.said("1->0 error of 1 for 0").len(), 1, "{:?}", net.talk);
    net.check_loops();
}

#[test]
fn s8_3_6_no_packet_is_salvaged_more_often_than_max_salvage_count() {
    let (mut net, used, _) = fork(|params| params.max_salvage_count = 0);
    net.part(1, used);
    let packet = net.send_until(0, 3, 1_500);
    assert!(!has_arrived(&net, packet));
    assert_eq!(net.dropped(1, DropReason::RetryLimit), 1);
}

#[test]
fn s8_3_4_the_error_of_a_salvaged_packet_goes_to_the_node_that_salvaged_it() {
    let (mut net, used, other) = fork(|_| {});
    net.part(1, used).part(other, 3).send_until(0, 3, 1_500);
    let error = format!("{other}>1 {other}->1 error of {other} for 1: NodeUnreachable(3) 1");
    assert_eq!(net.said(&error).len(), 1, "{:?}", net.talk);
}

#[test]
fn s8_3_6_a_packet_is_not_salvaged_back_along_its_way() {
    let (mut net, used, other) = fork(|_| {});
    net.part(used, 3);
    // The node at the broken link knows the other way round, through node 1, which the packet has met.
    net.send_until(used, 1, 1_200);
    let packet = net.send_until(0, 3, 1_400);
    assert!(!has_arrived(&net, packet), "{other}: {:?}", net.talk);
    net.check_loops();
    // The source knows better now.
    let packet = net.send_until(0, 3, 3_000);
    assert!(has_arrived(&net, packet));
    net.check_loops();
}

#[test]
fn s3_4_2_packets_in_the_queue_for_a_broken_link_are_saved_too() {
    let (mut net, used, _) = fork(|_| {});
    net.part(1, used);
    let packets: Vec<u64> = (0..4).map(|_| net.send(0, 3)).collect();
    net.run_until(1_600);
    assert!(packets.iter().all(|&packet| has_arrived(&net, packet)), "{:?}", net.talk);
    net.check_account();
}

#[test]
fn s8_3_4_the_source_tries_its_own_packet_another_way() {
    let mut net = network(4, |_| {}).chained(&[0, 1, 3]).chained(&[0, 2, 3]).having_sent(0, 3, 1_000);
    let used = net.ways[&0][1].0;
    net.part(0, used);
    let packet = net.send_until(0, 3, 1_100);
    assert!(has_arrived(&net, packet));
    assert_eq!(net.said("error").len(), 0);
    assert_eq!(net.route(0, 3), Some((3 - used, 2)));
}

#[test]
fn s3_4_3_a_node_that_hears_a_packet_too_early_tells_the_source() {
    let mut net = chain(3, |_| {}).having_sent(0, 2, 1_000).chained(&[0, 2]).having_sent(0, 2, 2_000);
    assert_eq!(net.said("2>0 2->0 reply [2]").len(), 1, "{:?}", net.talk);
    net.send_until(0, 2, 3_000);
    assert_eq!(net.ways[&2], [Address(0), Address(2)]);
    assert_eq!(net.route(0, 2), Some((2, 1)));
}

#[test]
fn s4_4_a_gratuitous_reply_is_not_repeated_within_a_second() {
    let mut net = chain(3, |_| {}).having_sent(0, 2, 1_000).chained(&[0, 2]);
    net.lost = vec!["2>0 2->0 reply".to_owned(), "2>0 2->0 reply".to_owned()];
    for millis in [1_100, 1_700, 1_900] {
        net.send_until(0, 2, millis);
    }
    assert_eq!(net.said("2>0 2->0 reply").len(), 1, "{:?}", net.talk);
    net.run_until(2_600);
    net.send_until(0, 2, 2_700);
    assert_eq!(net.said("2>0 2->0 reply").len(), 2, "{:?}", net.talk);
}

#[test]
fn s3_4_3_no_gratuitous_replies_where_they_are_off() {
    let mut net = chain(3, |params| params.gratuitous_replies = false).having_sent(0, 2, 1_000).chained(&[0, 2]);
    net.send_until(0, 2, 2_000);
    assert_eq!(net.said("2>0 2->0 reply").len(), 0);
}

#[test]
fn s8_3_3_a_next_hop_is_asked_and_acknowledges() {
    let mut net = chain(3, |params| params.acknowledgement = Acknowledgement::Network).having_sent(0, 2, 3_000);
    let before = (net.said(" asks ").len(), net.said(" ack ").len());
    net.send_until(0, 2, 4_000);
    assert_eq!(net.said("0>1 0->2 route 0 1 [1] asks").len(), 2, "{:?}", net.talk);
    assert_eq!((net.said(" asks ").len(), net.said(" ack ").len()), (before.0 + 2, before.1 + 2));
    assert_eq!(net.arrived.len(), 2);
    net.check_account();
}

#[test]
fn s8_3_3_a_next_hop_that_acknowledged_within_maint_holdoff_is_not_asked() {
    let mut net = chain(2, |params| params.acknowledgement = Acknowledgement::Network).having_sent(0, 1, 1_000);
    net.send_until(0, 1, 1_100);
    let asked = net.said("0>1 0->1 asks").len();
    net.send_until(0, 1, 1_200);
    assert_eq!(net.said("0>1 0->1 asks").len(), asked);
    net.send_until(0, 1, 2_000);
    net.send_until(0, 1, 3_000);
    assert_eq!(net.said("0>1 0->1 asks").len(), asked + 1);
}

#[test]
fn s8_3_3_without_an_acknowledgement_the_link_is_broken_after_max_maint_rexmt() {
    let mut net = chain(3, |params| params.acknowledgement = Acknowledgement::Network).having_sent(0, 2, 2_000);
    net.part(1, 2).send_until(0, 2, 6_000);
    assert_eq!(net.said("1>2 0->2 route 0 0 [1] asks 3 ttl 63").len(), 3, "{:?}", net.talk);
    assert_eq!(net.said("error of 1 for 0: NodeUnreachable(2) 0").len(), 1, "{:?}", net.talk);
    net.check_account();
}

#[test]
fn s4_5_a_full_maintenance_buffer_does_not_take_a_packet() {
    let change = |params: &mut Params| {
        (params.acknowledgement, params.maint_buffer_packets) = (Acknowledgement::Network, 1);
    };
    let mut net = chain(3, change).having_sent(0, 2, 2_000);
    net.part(0, 1);
    let before = net.talk.len();
    net.send(0, 2);
    net.send_until(0, 2, 6_000);
    let sent = net.talk[before..].iter().filter(|line| line.contains("0>1 0->2 route"));
    let (asked, bare): (Vec<_>, Vec<_>) = sent.partition(|line| line.contains("asks"));
    assert_eq!((asked.len(), bare.len()), (3, 1), "the first is watched, the second is not: {:?}", net.talk);
    net.check_account();
}

#[test]
fn s8_3_2_a_packet_that_is_heard_from_the_next_hop_needs_no_acknowledgement() {
    let net = chain(4, |params| params.acknowledgement = Acknowledgement::Passive).having_sent(0, 3, 2_000);
    assert_eq!(net.said("0>1 0->3 route 0 2 [1 2]").len(), 1, "{:?}", net.talk);
    assert_eq!(net.said("0->3 route 0 2 [1 2] asks").len(), 0);
    // The last hop passes nothing on: it is asked.
    assert_eq!(net.said("2>3 0->3 route 0 0 [1 2] asks").len(), 1, "{:?}", net.talk);
    net.check_account();
}

#[test]
fn s8_3_2_one_packet_that_is_heard_acknowledges_all_for_its_next_hop() {
    let mut net = chain(4, |params| params.acknowledgement = Acknowledgement::Passive).having_sent(0, 3, 2_000);
    // Node 1 sends the first one, and nobody hears it; the second one is heard before the first is overdue.
    net.lost = vec!["1>2 0->3 route".to_owned()];
    let before = net.said("0>1 0->3 route 0 2 [1 2]").len();
    net.send(0, 3);
    net.send_until(0, 3, 4_000);
    assert_eq!(net.said("0>1 0->3 route 0 2 [1 2]").len(), before + 2, "{:?}", net.talk);
    // Node 1, too, takes both for received: the rule trusts the link.
    assert_eq!(net.arrived.len(), 2);
    net.check_account();
}

#[test]
fn s8_3_2_a_packet_that_is_not_heard_is_sent_again_and_then_asks() {
    let mut net = chain(4, |params| params.acknowledgement = Acknowledgement::Passive).having_sent(0, 3, 2_000);
    net.part(0, 1).send_until(0, 3, 8_000);
    assert_eq!(net.said("0>1 0->3 route 0 2 [1 2] ttl").len(), 1 + 2, "{:?}", net.talk);
    assert_eq!(net.said("0>1 0->3 route 0 2 [1 2] asks").len(), 1 + 2, "{:?}", net.talk);
    assert_eq!(net.route(0, 3), None);
    net.check_account();
}

#[test]
fn the_source_of_a_segment_is_told_when_it_cannot_be_passed_on() {
    let mut net = chain(4, |_| {}).having_sent(0, 3, 1_000);
    net.part(2, 3);
    net.send_segment(0, 3);
    net.run_until(1_400);
    assert_eq!(net.said("2 cannot pass on segment 1 of 0").len(), 1, "{:?}", net.talk);
}
