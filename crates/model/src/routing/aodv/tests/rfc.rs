//! RFC 3561, rule by rule.

use super::super::{Auto, LinkDetection};
use super::*;

/// The RFC's defaults without jitter, and with the link layer alone telling of broken links, so that no HELLO disturbs
/// a conversation. Lifetimes are short, so that tests are.
pub(super) fn quiet() -> Params {
    Params {
        link_detection: LinkDetection::LinkLayer,
        active_route_timeout: Auto::Fixed(Span::from_secs(3)),
        my_route_timeout: Auto::Fixed(Span::from_secs(6)),
        blacklist_timeout: Auto::Fixed(Span::from_millis(5600)),
        broadcast_jitter: Span::ZERO,
        ..Params::of_profile(RFC)
    }
}

/// One router, number 0, that hears what a test injects.
pub(super) fn alone(params: &Params) -> Network {
    network(1, params)
}

#[test]
fn a_discovery_over_three_hops_goes_by_the_book() {
    let mut net = chain(4, &quiet());
    let packet = net.send(0, 3);
    net.run_until(2_000);
    let expected = "\
0 0>* RREQ 1 0 hops to 3/? for 0/1 [UG] ttl 1 52 B
240 0>* RREQ 2 0 hops to 3/? for 0/2 [UG] ttl 3 52 B
241 1>* RREQ 2 1 hops to 3/? for 0/2 [UG] ttl 2 52 B
242 2>* RREQ 2 2 hops to 3/? for 0/2 [UG] ttl 1 52 B
243 3>2 RREP 0 hops to 3/0 for 0 life 6 s [] ttl 35 48 B
244 2>1 RREP 1 hops to 3/0 for 0 life 6 s [] ttl 34 48 B
245 1>0 RREP 2 hops to 3/0 for 0 life 6 s [] ttl 33 48 B";
    assert_eq!(net.talk.join("\n"), expected);
    assert_eq!(net.ways[&packet], [0, 1, 2, 3].map(Address));
    assert_eq!(net.arrived, [(packet, Time::from_nanos(249_000_000))]);
    net.check_account();
}

#[test]
fn a_request_leaves_reverse_routes_that_live_as_long_as_a_reply_may_take() {
    let mut net = chain(4, &quiet());
    net.part(2, 3);
    net.send_until(0, 9, 300);
    assert_eq!(net.route(1, 0), Some((0, 1)));
    assert_eq!(net.route(2, 0), Some((1, 2)), "§6.5: the sender of the request is the next hop back");
    // 2 * NET_TRAVERSAL_TIME - 2 * 2 hops * NODE_TRAVERSAL_TIME after the last flood, which reached node 2 at 4722 ms.
    net.run_until(4_722 + 5_440);
    assert_eq!(net.route(2, 0), Some((1, 2)));
    net.run_until(4_723 + 5_440);
    assert_eq!(net.route(2, 0), None);
}

#[test]
fn a_request_is_forwarded_once() {
    let mut net = alone(&quiet());
    net.inject(1, 0, 5, wrap(AodvMessage::Request(request())));
    net.inject(2, 0, 5, wrap(AodvMessage::Request(Request { hops: 0, ..request() })));
    net.run_until(10);
    assert_eq!(net.talk, ["0 0>* RREQ 1 2 hops to 9/? for 8/5 [U] ttl 4 52 B"]);
    assert_eq!(net.route(0, 8), Some((1, 2)), "§6.5: a duplicate is discarded before the reverse route is made");
    assert_eq!(net.route(0, 2), Some((2, 1)), "but its sender is a neighbour");
    // After PATH_DISCOVERY_TIME the number may come again.
    net.run_until(5_700);
    net.inject(1, 0, 5, wrap(AodvMessage::Request(request())));
    net.run_until(5_800);
    assert_eq!(net.talk.len(), 2);
}

#[test]
fn a_request_at_the_end_of_its_ring_stops() {
    let mut net = alone(&quiet());
    net.inject(1, 0, 1, wrap(AodvMessage::Request(request())));
    net.run_until(10);
    assert!(net.talk.is_empty());
    net.check_account();
}

#[test]
fn newer_sequence_numbers_win_and_equal_ones_only_with_fewer_hops() {
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
fn a_destination_answers_with_the_number_that_the_request_needs() {
    for (asked, answered) in [(Some(7), 7), (Some(0), 0), (Some(1), 1), (None, 0)] {
        let mut net = alone(&quiet());
        let request = Request {
            destination: Address(0),
            destination_sequence: asked.unwrap_or(0),
            unknown_sequence: asked.is_none(),
            ..request()
        };
        net.inject(1, 0, 5, wrap(AodvMessage::Request(request)));
        let expected = format!("0 0>1 RREP 0 hops to 0/{answered} for 8 life 6 s [] ttl 35 48 B");
        assert_eq!(net.talk, [expected], "{asked:?}");
    }
}

#[test]
fn a_node_on_the_way_answers_if_its_route_is_fresh_and_it_may() {
    let answered = |change: &dyn Fn(&mut Request)| {
        let mut net = alone(&quiet());
        net.inject(5, 0, 5, wrap(AodvMessage::Reply(Reply { originator: Address(0), ..reply() })));
        net.run_until(1_000);
        let mut request = request();
        change(&mut request);
        net.inject(1, 0, 5, wrap(AodvMessage::Request(request)));
        net.run_until(1_000);
        net.talk.join("\n")
    };
    let reply = "1000 0>1 RREP 2 hops to 9/20 for 8 life 5 s [] ttl 35 48 B";
    assert_eq!(answered(&|_| {}), reply, "§6.6.2: own number, own hop count, what is left of the lifetime");
    assert_eq!(answered(&|it| (it.unknown_sequence, it.destination_sequence) = (false, 20)), reply);
    let onward = "1000 0>* RREQ 1 2 hops to 9/21 for 8/5 [] ttl 4 52 B";
    assert_eq!(answered(&|it| (it.unknown_sequence, it.destination_sequence) = (false, 21)), onward);
    let onward = "1000 0>* RREQ 1 2 hops to 9/20 for 8/5 [D] ttl 4 52 B";
    assert_eq!(answered(&|it| it.destination_only = true), onward, "§6.5: the best number known goes along");
}

#[test]
fn a_gratuitous_reply_tells_the_destination_the_way_back() {
    for gratuitous in [true, false] {
        let mut net = chain(4, &Params { gratuitous_rrep: gratuitous, ..quiet() });
        net.send_until(1, 3, 1_000);
        net.talk.clear();
        let packet = net.send(0, 3);
        net.run_until(1_500);
        assert_eq!(net.said("1>0 RREP").len(), 1, "the node on the way answers");
        assert_eq!(net.said("1>2 RREP").len(), usize::from(gratuitous));
        assert_eq!(net.said("2>3 RREP 2 hops to 0").len(), usize::from(gratuitous));
        assert_eq!(net.route(3, 0), gratuitous.then_some((2, 3)));
        assert_eq!(net.ways[&packet].len(), 4);
    }
}

#[test]
fn an_error_goes_back_to_those_who_use_the_route() {
    let mut net = chain(5, &quiet());
    net.send_until(0, 4, 1_000);
    net.part(3, 4);
    net.talk.clear();
    net.changes.clear();
    net.send_until(0, 4, 1_100);
    // The number of the lost destination has been advanced; one neighbour uses each route, and is told alone.
    let expected = "\
1013 3>2 RERR 4/1 [] ttl 1 40 B
1014 2>1 RERR 4/1 [] ttl 1 40 B
1015 1>0 RERR 4/1 [] ttl 1 40 B";
    assert_eq!(net.talk.join("\n"), expected);
    assert!((0..4).all(|node| net.route(node, 4).is_none()));
    let lost: Vec<_> =
        net.changes.iter().map(|(_, node, change)| (node.0, change.destination.0, change.route)).collect();
    assert_eq!(lost, [(3, 4, None), (2, 4, None), (1, 4, None), (0, 4, None)]);
    assert_eq!(net.dropped(3, DropReason::RetryLimit), 1);
    net.check_account();
}

#[test]
fn an_error_to_several_users_is_broadcast() {
    // Nodes 0 and 1 both reach 4 through 2 and 3.
    let mut net = network(5, &quiet());
    net.chain(&[0, 2, 3, 4]);
    net.join(1, 2);
    net.send_until(0, 4, 1_000);
    net.send_until(1, 4, 2_000);
    net.part(3, 4);
    net.talk.clear();
    net.send_until(0, 4, 2_200);
    assert_eq!(net.said("RERR").len(), 2);
    assert_eq!(net.said("2>* RERR").len(), 1);
    assert!(net.route(0, 4).is_none() && net.route(1, 4).is_none());
}

#[test]
fn an_error_counts_only_from_the_next_hop() {
    let mut net = alone(&quiet());
    net.inject(1, 0, 5, wrap(AodvMessage::Reply(Reply { originator: Address(0), ..reply() })));
    let error = || wrap(AodvMessage::Error(RouteError { no_delete: false, unreachable: vec![(Address(9), 21)] }));
    net.inject(2, 0, 1, error());
    assert_eq!(net.route(0, 9), Some((1, 2)));
    net.inject(1, 0, 1, error());
    assert_eq!(net.route(0, 9), None);
    assert!(net.talk.is_empty(), "nobody uses the route");
    // The number in the error is kept: a reply must be as new.
    net.inject(1, 0, 5, wrap(AodvMessage::Reply(Reply { originator: Address(0), ..reply() })));
    assert_eq!(net.route(0, 9), None);
}

#[test]
fn data_without_a_route_are_reported_to_where_they_came_from() {
    let mut net = chain(3, &quiet());
    net.send_until(0, 2, 1_000);
    // Node 1 loses its route silently: the lifetimes at node 0 are kept up by a reply that nobody had asked for.
    net.inject(1, 0, 5, wrap(AodvMessage::Reply(Reply { destination: Address(9), originator: Address(0), ..reply() })));
    net.talk.clear();
    net.send_until(0, 9, 1_100);
    assert_eq!(net.talk, ["1001 1>0 RERR 9/0 [] ttl 1 40 B"]);
    assert_eq!(net.dropped(1, DropReason::NoRoute), 1);
    assert_eq!(net.route(0, 9), None);
}

/// A chain 0-1-2-3 with a detour 2-4-3, and a route from 0 to 3 in use; then the link 2-3 breaks.
fn broken_near_the_end(params: &Params, detour: bool) -> (Network, u64) {
    let mut net = network(5, params);
    net.chain(&[0, 1, 2, 3]);
    net.send_until(0, 3, 1_000);
    if detour {
        net.chain(&[2, 4, 3]);
    }
    net.part(2, 3);
    net.talk.clear();
    let packet = net.send(0, 3);
    net.run_until(2_000);
    net.check_account();
    (net, packet)
}

#[test]
fn a_local_repair_finds_a_detour_and_saves_the_packet() {
    let params = Params { local_repair: true, ..quiet() };
    let (net, packet) = broken_near_the_end(&params, true);
    let expected = "\
1012 2>* RREQ 1 0 hops to 3/1 for 2/1 [G] ttl 3 52 B
1013 1>* RREQ 1 1 hops to 3/1 for 2/1 [G] ttl 2 52 B
1013 4>* RREQ 1 1 hops to 3/1 for 2/1 [G] ttl 2 52 B
1014 0>* RREQ 1 2 hops to 3/1 for 2/1 [G] ttl 1 52 B
1014 3>4 RREP 0 hops to 3/1 for 2 life 6 s [] ttl 35 48 B
1015 4>2 RREP 1 hops to 3/1 for 2 life 6 s [] ttl 34 48 B
1016 2>1 RERR 3/1 [N] ttl 1 40 B
1017 1>0 RERR 3/1 [N] ttl 1 40 B";
    assert_eq!(net.talk.join("\n"), expected, "§6.12: TTL is the last distance plus LOCAL_ADD_TTL; longer: flag N");
    assert_eq!(net.ways[&packet], [0, 1, 2, 4, 3].map(Address));
    assert_eq!(net.route(0, 3), Some((1, 3)), "flag N keeps the route");
}

#[test]
fn a_local_repair_that_fails_ends_in_an_error() {
    let params = Params { local_repair: true, ..quiet() };
    let (net, packet) = broken_near_the_end(&params, false);
    assert_eq!(net.ways[&packet].last(), Some(&Address(2)));
    assert_eq!(net.dropped(2, DropReason::DiscoveryFailed), 1);
    // RING_TRAVERSAL_TIME of TTL 3 is 400 ms.
    assert_eq!(net.said("RERR"), ["1412 2>1 RERR 3/1 [] ttl 1 40 B", "1413 1>0 RERR 3/1 [] ttl 1 40 B"]);
    assert_eq!(net.route(0, 3), None);
}

#[test]
fn without_local_repair_the_source_looks_again() {
    let (mut net, packet) = broken_near_the_end(&quiet(), true);
    assert_eq!(net.dropped(2, DropReason::RetryLimit), 1);
    assert_eq!(net.ways[&packet].last(), Some(&Address(2)));
    net.talk.clear();
    let packet = net.send(0, 3);
    net.run_until(3_000);
    assert_eq!(net.ways[&packet], [0, 1, 2, 4, 3].map(Address));
    assert!(net.talk[0].contains("hops to 3/1") && net.talk[0].contains("ttl 5"), "§6.4: 3 hops + TTL_INCREMENT");
}

#[test]
fn only_near_destinations_are_repaired() {
    let params = Params { local_repair: true, max_repair_ttl: 1, ..quiet() };
    let mut net = chain(5, &params);
    net.send_until(0, 4, 1_000);
    net.part(2, 3);
    net.talk.clear();
    net.send_until(0, 4, 1_100);
    assert_eq!(net.said("RREQ").len(), 0, "the destination is two hops away");
    assert_eq!(net.said("RERR").len(), 2);
}

#[test]
fn other_routes_over_a_link_in_repair_are_repaired_when_they_are_needed() {
    let params = Params { local_repair: true, ..quiet() };
    let mut net = network(6, &params);
    net.chain(&[0, 1, 2, 3]);
    net.join(2, 5);
    net.send(0, 3);
    net.send_until(0, 2, 1_000);
    net.chain(&[1, 4, 2]);
    net.part(1, 2);
    net.send_until(0, 3, 1_200);
    assert_eq!(net.said("1>0 RERR 2").len(), 0);
    assert_eq!((net.route(1, 3), net.route(1, 2)), (Some((4, 3)), None));
    let packet = net.send(0, 2);
    net.run_until(1_400);
    assert_eq!(net.ways[&packet], [0, 1, 4, 2].map(Address));
    net.check_loops();
}

#[test]
fn rings_wait_as_long_as_their_ttl_asks_for_and_floods_twice_as_long_each() {
    let mut net = chain(2, &quiet());
    net.send_until(0, 9, 20_000);
    let asked: Vec<_> = net.said("0>* RREQ").iter().map(|line| line.split(' ').next().expect("a time")).collect();
    // RING_TRAVERSAL_TIME 240, 400, 560, 720 ms for TTL 1, 3, 5, 7; then NET_TRAVERSAL_TIME 2800 ms, and twice that.
    assert_eq!(asked, ["0", "240", "640", "1200", "1920", "4720"]);
    let numbers: Vec<_> = net.said("0>* RREQ").iter().map(|line| line.split(' ').nth(3).expect("a number")).collect();
    assert_eq!(numbers, ["1", "2", "3", "4", "5", "6"], "§6.3: each attempt has a number of its own");
    assert_eq!(net.dropped(0, DropReason::DiscoveryFailed), 1);
    net.check_account();
}

#[test]
fn a_search_for_a_known_destination_begins_with_a_ring_around_its_last_distance() {
    // Time and TTL of the requests after a break, for a destination that was so many hops away.
    let cases = [
        // RING_TRAVERSAL_TIME of TTL 5 and 7, 560 and 720 ms; then NET_TRAVERSAL_TIME 2800 ms, and twice that.
        (3, "0 5, 560 7, 1280 35, 4080 35"),
        // Beyond TTL_THRESHOLD, 7: one ring of 6 hops + TTL_INCREMENT, 800 ms, then floods.
        (6, "0 8, 800 35, 3600 35"),
        (34, "0 35, 2800 35"),
    ];
    for (hops, expected) in cases {
        let mut net = chain(hops + 1, &quiet());
        net.send_until(0, hops, 6_000);
        assert_eq!(net.arrived.len(), 1, "{hops} hops");
        net.part(0, 1);
        net.talk.clear();
        net.send(0, hops);
        net.run_until(6_000 + 12_000);
        let asked = net.said("0>* RREQ");
        let field = |line: &str, at: usize| line.split(' ').nth(at).and_then(|it| it.parse::<u32>().ok()).expect("it");
        let begin = field(asked[0], 0);
        let ttl = |line: &str| line.split("ttl ").nth(1).and_then(|it| it.split(' ').next()).expect("it").to_owned();
        let found: Vec<_> = asked.iter().map(|line| format!("{} {}", field(line, 0) - begin, ttl(line))).collect();
        assert_eq!(found.join(", "), expected, "{hops} hops");
    }
}

#[test]
fn requests_are_limited_to_ten_a_second() {
    let mut net = alone(&quiet());
    for destination in 10..23 {
        net.send(0, destination);
    }
    net.run_until(230);
    assert_eq!(net.talk.len(), 10);
    net.run_until(999);
    assert_eq!(net.talk.len(), 10, "not even for the second ring");
    net.run_until(1_999);
    assert_eq!(net.talk.len(), 20);
    let mut free = alone(&Params { rreq_ratelimit: 0, ..quiet() });
    (10..23).for_each(|destination| {
        free.send(0, destination);
    });
    free.run_until(230);
    assert_eq!(free.talk.len(), 13);
}

#[test]
fn errors_are_limited_to_ten_a_second() {
    let mut net = chain(2, &quiet());
    for destination in 10..30 {
        net.inject(
            1,
            0,
            5,
            wrap(AodvMessage::Reply(Reply { destination: Address(destination), originator: Address(0), ..reply() })),
        );
        net.send(0, destination);
    }
    net.run_until(900);
    assert_eq!(net.dropped(1, DropReason::NoRoute), 20);
    assert_eq!(net.said("RERR").len(), 10);
}

#[test]
fn a_route_lives_while_it_is_used() {
    let mut net = chain(3, &quiet());
    for round in 0..10 {
        net.run_until(round * 2_500);
        net.send(0, 2);
    }
    net.run_until(23_000);
    assert_eq!(net.said("0>* RREQ").len(), 2, "two rings at the beginning, none since");
    assert_eq!(net.route(1, 0), Some((0, 1)), "§6.2: so does the way back");
    // Last use at 22.5 s; MY_ROUTE_TIMEOUT is long over.
    net.run_until(25_499);
    assert_eq!(net.route(0, 2), Some((1, 2)));
    net.run_until(25_502);
    assert_eq!((net.route(0, 2), net.route(1, 2)), (None, None));
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
fn a_full_buffer_loses_the_oldest_and_an_old_packet_is_lost() {
    let mut net = alone(&Params { buffer_packets: 3, buffer_timeout: Span::from_secs(1), ..quiet() });
    for _ in 0..5 {
        net.send(0, 9);
    }
    assert_eq!(net.dropped(0, DropReason::RouteBufferFull), 2);
    net.run_until(999);
    assert_eq!(net.dropped(0, DropReason::RouteTimeout), 0);
    net.run_until(1_001);
    assert_eq!(net.dropped(0, DropReason::RouteTimeout), 3);
    net.check_account();
}

#[test]
fn a_source_keeps_its_own_packets_when_the_first_link_breaks() {
    let mut net = network(4, &quiet());
    net.chain(&[0, 1, 3]);
    net.send_until(0, 3, 1_000);
    net.chain(&[0, 2, 3]);
    net.part(0, 1);
    let sent = [net.send(0, 3), net.send(0, 3), net.send(0, 3)];
    net.run_until(3_000);
    for packet in sent {
        assert_eq!(net.ways[&packet], [0, 2, 3].map(Address));
    }
}

#[test]
fn a_reply_that_is_not_acknowledged_puts_the_neighbour_on_the_blacklist() {
    // Nothing but HELLO tells of broken links here, so that only the missing RREP-ACK can.
    let params = Params { request_rrep_ack: true, link_detection: LinkDetection::Hello, ..quiet() };
    let ask = |net: &mut Network, id| {
        net.inject(
            1,
            0,
            5,
            wrap(AodvMessage::Request(Request { id, originator_sequence: id, destination: Address(0), ..request() })),
        );
    };
    let mut net = network(2, &params);
    ask(&mut net, 1);
    net.run_until(49);
    ask(&mut net, 2);
    net.run_until(51);
    assert_eq!(net.said("0>1 RREP ").len(), 2, "NEXT_HOP_WAIT is 50 ms");
    ask(&mut net, 3);
    net.run_until(5_500);
    ask(&mut net, 4);
    net.run_until(5_600);
    assert_eq!(net.said("0>1 RREP ").len(), 2, "ignored for BLACKLIST_TIMEOUT");
    net.run_until(5_700);
    ask(&mut net, 5);
    assert_eq!(net.said("0>1 RREP ").len(), 3);

    let mut net = network(2, &params);
    net.join(0, 1);
    ask(&mut net, 1);
    net.run_until(100);
    assert_eq!(net.said("1>0 RREP-ACK").len(), 1);
    ask(&mut net, 2);
    net.run_until(200);
    assert_eq!(net.said("0>1 RREP ").len(), 2);
}

#[test]
fn a_reply_that_fails_puts_the_neighbour_on_the_blacklist() {
    // Node 1 hears node 0, but not the other way round.
    let mut net = network(3, &quiet());
    net.chain(&[1, 2, 0]);
    net.join(0, 1);
    net.mute(1, 0);
    let packet = net.send(0, 1);
    net.run_until(3_000);
    assert_eq!(net.ways[&packet], [0, 2, 1].map(Address), "the second request comes the other way");
    assert_eq!(net.dropped(1, DropReason::RetryLimit), 1);
}

#[test]
fn hello_messages_come_from_active_nodes_and_their_absence_breaks_a_link() {
    let params =
        Params { link_detection: LinkDetection::Hello, broadcast_jitter: Span::ZERO, ..Params::of_profile(RFC) };
    let mut net = chain(4, &params);
    for round in 0..50 {
        net.run_until(round * 200);
        net.send(0, 2);
    }
    assert_eq!(net.said("3>* HELLO").len(), 0, "node 3 has no part in it");
    for node in 0..3 {
        let hellos = net.said(&format!("{node}>* HELLO")).len();
        assert!((8..=10).contains(&hellos), "{hellos} from node {node}");
    }
    // Data come in from node 1, but nothing from node 2 any more; the link layer's failures do not count.
    net.part(1, 2);
    net.run_until(9_900);
    assert_eq!(net.route(1, 2), Some((2, 1)));
    for round in 50..65 {
        net.run_until(round * 200);
        net.send(0, 2);
    }
    let error = net.said("1>0 RERR 2").first().map(|line| line.split(' ').next().expect("a time").to_owned());
    let at: u64 = error.expect("an error").parse().expect("a time");
    assert!((10_800..=11_801).contains(&at), "two HELLO intervals after the last HELLO: {at}");
    assert!(net.dropped(1, DropReason::RetryLimit) > 0);
    net.run_until(60_000);
    net.talk.clear();
    net.run_until(90_000);
    assert!(net.said("HELLO").is_empty(), "an idle network is silent");
    net.check_account();
}

#[test]
fn idle_nodes_cost_nothing() {
    let mut net = chain(6, &Params::of_profile(RFC));
    net.run_until(1_000_000);
    assert_eq!(net.timer_calls, 0);
    assert_eq!(net.cx.ledger.originated, 0);
}
