//! RFC 3561 §6.5: receiving and forwarding requests.

use super::*;

#[test]
fn s6_5_a_request_leaves_reverse_routes_that_live_as_long_as_a_reply_may_take() {
    let mut net = chain(4, &quiet());
    net.part(2, 3).send_until(0, 9, 300);
    assert_eq!(net.route(1, 0), Some((0, 1)));
    assert_eq!(net.route(2, 0), Some((1, 2)), "§6.5: the sender of the request is the next hop back");
    // 2 * NET_TRAVERSAL_TIME - 2 * 2 hops * NODE_TRAVERSAL_TIME after the last flood, which reached node 2 at 4722 ms.
    assert_eq!(net.at(4_722 + 5_440).route(2, 0), Some((1, 2)));
    assert_eq!(net.at(4_723 + 5_440).route(2, 0), None);
}

#[test]
fn s6_5_a_request_is_forwarded_once() {
    let mut net = alone(&quiet());
    net.inject(1, 0, 5, wrap(AodvMessage::Request(request())));
    net.inject(2, 0, 5, wrap(AodvMessage::Request(Request { hops: 0, ..request() })));
    assert_eq!(net.at(10).talk, ["0 0>* RREQ 1 2 hops to 9/? for 8/5 [U] ttl 4 52 B"]);
    assert_eq!(net.route(0, 8), Some((1, 2)), "§6.5: a duplicate is discarded before the reverse route is made");
    assert_eq!(net.route(0, 2), Some((2, 1)), "but its sender is a neighbour");
    // After PATH_DISCOVERY_TIME the number may come again.
    net.run_until(5_700);
    net.inject(1, 0, 5, wrap(AodvMessage::Request(request())));
    assert_eq!(net.at(5_800).talk.len(), 2);
}

#[test]
fn s6_5_a_request_at_the_end_of_its_ring_stops() {
    let mut net = alone(&quiet());
    net.inject(1, 0, 1, wrap(AodvMessage::Request(request())));
    assert!(net.at(10).talk.is_empty());
    net.check_account();
}

#[test]
fn s6_5_a_request_of_its_own_tells_a_node_of_its_neighbour() {
    let mut net = chain(2, &quiet());
    net.part(0, 1).send_until(0, 9, 100);
    assert_eq!(net.route(0, 1), None);
    net.inject(1, 0, 1, wrap(AodvMessage::Request(Request { originator: Address(0), hops: 1, ..request() })));
    assert_eq!(net.route(0, 1), Some((1, 1)), "§6.5, first paragraph");
    assert_eq!(net.route(0, 0), None);
}

#[test]
fn s6_5_a_request_goes_on_with_the_greatest_number_known() {
    let mut net = alone(&quiet());
    net.inject(5, 0, 5, wrap(AodvMessage::Reply(Reply { originator: Address(0), ..reply() })));
    assert_eq!(net.at(8_000).route(0, 9), None, "expired: its number is 21 now");
    for (id, asked, passed_on) in [(1, 7, 21), (2, 30, 30)] {
        net.talk.clear();
        let request = Request { id, unknown_sequence: false, destination_sequence: asked, ..request() };
        net.inject(1, 0, 5, wrap(AodvMessage::Request(request))).run_until(8_000 + 100 * u64::from(id));
        assert_eq!(net.said(&format!("hops to 9/{passed_on} ")).len(), 1, "{:?}", net.talk);
    }
}

#[test]
fn s6_5_a_duplicate_makes_no_better_reverse_route() {
    // The shorter way comes second: it is not taken, or the reply would go back over nodes that have forgotten nothing.
    let mut net = alone(&quiet());
    net.inject(1, 0, 5, wrap(AodvMessage::Request(Request { hops: 5, ..request() })));
    net.inject(2, 0, 5, wrap(AodvMessage::Request(Request { hops: 1, ..request() })));
    assert_eq!(net.route(0, 8), Some((1, 6)));
}
