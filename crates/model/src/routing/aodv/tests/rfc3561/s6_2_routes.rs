//! RFC 3561 §6.2: table entries and lifetimes.

use super::*;

#[test]
fn s6_2_newer_sequence_numbers_win_and_equal_ones_only_with_fewer_hops() {
    let mut net = alone(&quiet());
    let mut told = |from, sequence, hops| {
        net.inject(from, 0, 5, wrap(AodvMessage::Reply(Reply { destination_sequence: sequence, hops, ..reply() })));
        net.route(0, 9)
    };
    assert_eq!(told(1, u32::MAX - 1, 3), Some((1, 4)));
    assert_eq!(told(2, u32::MAX - 1, 3), Some((1, 4)), "the same number and distance is no news");
    assert_eq!(told(2, u32::MAX - 1, 2), Some((2, 3)), "fewer hops are");
    assert_eq!(told(3, 1, 7), Some((3, 8)), "1 follows 2^32 - 2, however long the way");
    assert_eq!(told(1, u32::MAX, 0), Some((3, 8)), "an older number is never news");
}

#[test]
fn s6_2_a_route_lives_while_it_is_used() {
    let mut net = chain(3, &quiet());
    for round in 0..10 {
        net.run_until(round * 2_500);
        net.send(0, 2);
    }
    assert_eq!(net.at(23_000).said("0>* RREQ").len(), 2, "two rings at the beginning, none since");
    assert_eq!(net.route(1, 0), Some((0, 1)), "§6.2: so does the way back");
    // Last use at 22.5 s; MY_ROUTE_TIMEOUT is long over.
    assert_eq!(net.at(25_499).route(0, 2), Some((1, 2)));
    assert_eq!((net.at(25_502).route(0, 2), net.route(1, 2)), (None, None));
    // Within DELETE_PERIOD the number is remembered, and the distance; after it nothing is.
    net.run_until(30_000);
    net.talk.clear();
    net.send_until(0, 2, 30_100);
    assert!(net.talk[0].contains("to 2/1 ") && net.talk[0].contains("ttl 4"), "{}", net.talk[0]);
    net.run_until(60_000);
    net.talk.clear();
    net.send_until(0, 2, 60_100);
    assert!(net.talk[0].contains("to 2/? ") && net.talk[0].contains("ttl 1"), "{}", net.talk[0]);
}

#[test]
fn s6_2_data_that_arrive_keep_the_way_back_alive_however_links_are_watched() {
    for link_detection in [LinkDetection::LinkLayer, LinkDetection::Hello, LinkDetection::Both] {
        let mut net = chain(4, &Params { link_detection, ..quiet() });
        for round in 0..50 {
            net.run_until(200 * round);
            net.send(0, 3);
        }
        assert_eq!((net.route(3, 0), net.route(3, 2)), (Some((2, 3)), Some((2, 1))), "{link_detection:?}");
        // Three seconds after the last datagram it is over.
        assert_eq!(net.at(200 * 49 + 3_010).route(3, 0), None, "{link_detection:?}");
    }
}

#[test]
fn s6_2_a_route_without_a_known_number_is_replaced_by_any() {
    let mut net = alone(&quiet());
    // Node 1 is heard, without a number; then a reply of another gives a longer way to it, with a number.
    net.inject(1, 0, 1, wrap(AodvMessage::Request(request())));
    assert_eq!(net.route(0, 1), Some((1, 1)));
    net.inject(2, 0, 5, wrap(AodvMessage::Reply(Reply { destination: Address(1), originator: Address(0), ..reply() })));
    assert_eq!(net.route(0, 1), Some((2, 2)));
}

#[test]
fn s6_2_data_extend_the_lifetimes_of_both_ends_and_both_neighbours() {
    let mut net = chain(5, &quiet()).having_sent(0, 4, 1_000);
    for round in 1..8 {
        net.run_until(1_000 * round);
        net.send(0, 4);
    }
    // MY_ROUTE_TIMEOUT is over; the last datagram went at 7 s.
    net.run_until(9_900);
    for (destination, route) in [(4, (3, 2)), (0, (1, 2)), (3, (3, 1)), (1, (1, 1))] {
        assert_eq!(net.route(2, destination), Some(route), "to {destination}");
    }
    net.run_until(10_100);
    assert!([4, 0, 3, 1].iter().all(|&destination| net.route(2, destination).is_none()));
}
