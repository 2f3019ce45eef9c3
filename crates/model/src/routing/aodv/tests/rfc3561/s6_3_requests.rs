//! RFC 3561 §6.3: originating requests.

use super::*;

#[test]
fn s6_3_requests_are_limited_to_ten_a_second() {
    let mut net = alone(&quiet());
    for destination in 10..23 {
        net.send(0, destination);
    }
    assert_eq!(net.at(230).talk.len(), 10);
    assert_eq!(net.at(999).talk.len(), 10, "not even for the second ring");
    assert_eq!(net.at(1_999).talk.len(), 20);
    let mut free = alone(&Params { rreq_ratelimit: 0, ..quiet() });
    (10..23).for_each(|destination| {
        free.send(0, destination);
    });
    free.run_until(230);
    assert_eq!(free.talk.len(), 13);
}

#[test]
fn s6_3_a_full_buffer_loses_the_oldest_and_an_old_packet_is_lost() {
    let mut net = alone(&Params { buffer_packets: 3, buffer_timeout: Span::from_secs(1), ..quiet() });
    for _ in 0..5 {
        net.send(0, 9);
    }
    assert_eq!(net.dropped(0, DropReason::RouteBufferFull), 2);
    assert_eq!(net.at(999).dropped(0, DropReason::RouteTimeout), 0);
    assert_eq!(net.at(1_001).dropped(0, DropReason::RouteTimeout), 3);
    net.check_account();
}

#[test]
fn s6_3_one_search_serves_all_packets_for_a_destination_in_order() {
    let mut net = chain(3, &quiet());
    let sent = [net.send(0, 2), net.send(0, 2), net.send(0, 2)];
    assert_eq!(net.at(1_000).said("0>* RREQ").len(), 2, "two rings, whatever waits");
    assert_eq!(net.arrived.iter().map(|it| it.0).collect::<Vec<_>>(), sent);
}

#[test]
fn s6_3_after_the_last_flood_the_packets_are_dropped_and_the_destination_is_unreachable() {
    let mut net = chain(2, &quiet());
    net.send_segment(0, 9);
    net.send_segment(0, 9);
    assert_eq!(net.at(20_000).dropped(0, DropReason::DiscoveryFailed), 2);
    assert_eq!(net.said("cannot pass on").len(), 2);
    net.check_account();
}
