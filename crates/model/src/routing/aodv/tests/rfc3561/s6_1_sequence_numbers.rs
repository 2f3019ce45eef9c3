//! RFC 3561 §6.1: sequence numbers.

use super::*;

#[test]
fn s6_1_the_number_of_a_neighbour_that_is_only_heard_does_not_grow() {
    let mut net = alone(&quiet());
    let from_8 = |sequence| Request { originator_sequence: sequence, id: sequence, hops: 0, ..request() };
    net.inject(8, 0, 5, wrap(AodvMessage::Request(from_8(5))));
    assert_eq!(net.at(6_000).route(0, 8), None, "expired, and the number is 6 now");
    for second in [7, 11, 15] {
        net.run_until(1_000 * second);
        net.inject(8, 0, 5, wrap(AodvMessage::Reply(Reply { originator: Address(0), ..reply() })));
        assert_eq!(net.route(0, 8), Some((8, 1)), "a neighbour, whatever its number");
        net.talk.clear();
        let asked = Request { originator: Address(7), destination: Address(8), id: second as u32, ..request() };
        net.inject(7, 0, 5, wrap(AodvMessage::Request(asked))).run_until(1_000 * second + 100);
        assert_eq!(net.said("RREP").len(), 0, "a route without a number of its own is not offered to others");
        assert_eq!(net.said("0>* RREQ").len(), 1);
    }
    assert_eq!(net.at(19_000).route(0, 8), None);
    // Node 8 asks for the first time since: its number is 6, and that is news.
    net.inject(7, 0, 5, wrap(AodvMessage::Request(Request { hops: 1, ..from_8(6) })));
    assert_eq!(net.route(0, 8), Some((7, 2)));
}

#[test]
fn s6_1_a_node_advances_its_number_before_each_request() {
    let net = chain(2, &quiet()).having_sent(0, 9, 1_000);
    let asked = net.said("0>* RREQ");
    assert_eq!(asked.len(), 3);
    for (place, line) in asked.iter().enumerate() {
        assert!(line.contains(&format!("for 0/{} ", place + 1)), "{line}");
    }
}

#[test]
fn s6_1_a_number_that_wraps_is_newer() {
    let mut net = alone(&quiet());
    let from = |sequence, id| Request { originator_sequence: sequence, id, ..request() };
    net.inject(1, 0, 1, wrap(AodvMessage::Request(from(u32::MAX, 1))));
    assert_eq!(net.route(0, 8), Some((1, 2)));
    net.inject(2, 0, 1, wrap(AodvMessage::Request(Request { hops: 4, ..from(0, 2) })));
    assert_eq!(net.route(0, 8), Some((2, 5)), "0 follows 2^32 - 1");
    net.inject(3, 0, 1, wrap(AodvMessage::Request(from(u32::MAX, 3))));
    assert_eq!(net.route(0, 8), Some((2, 5)));
}
