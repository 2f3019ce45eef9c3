//! AODV-UU: what differs from the RFC, rule by rule.

use super::super::params::UU;
use super::super::{Auto, LinkDetection};
use super::*;

fn quiet() -> Params {
    Params { broadcast_jitter: Span::ZERO, ..Params::of_profile(UU) }
}

#[test]
fn the_constants_are_those_of_its_source() {
    let uu = Params::of_profile(UU);
    let times = [uu.active_route_timeout(), uu.my_route_timeout(), uu.delete_period(), uu.path_discovery_time()];
    assert_eq!(times, [10_000, 20_000, 10_000, 5_600].map(Span::from_millis));
    assert_eq!((uu.ttl_start(), uu.neighbour_expiry()), (1, Span::from_millis(2050)));
    assert_eq!((uu.buffer_packets, uu.buffer_timeout), (512, Span::from_secs(10)));
}

#[test]
fn floods_wait_as_long_as_a_ring_of_their_size() {
    let net = chain(2, &quiet()).having_sent(0, 9, 20_000);
    let asked: Vec<_> = net.said("0>* RREQ").iter().map(|line| line.split(' ').next().expect("a time")).collect();
    // Rings of TTL 1, 3, 5, 7: 240, 400, 560, 720 ms; floods of TTL 35: 2960 ms each.
    assert_eq!(asked, ["0", "240", "640", "1200", "1920", "4880"]);
    assert_eq!(net.dropped(0, DropReason::DiscoveryFailed), 1);
    net.check_account();
}

#[test]
fn packets_that_the_link_gives_back_are_dropped_also_at_their_source() {
    let broken = |params: &Params| {
        let mut net = network(4, params).chained(&[0, 1, 3]).having_sent(0, 3, 1_000).chained(&[0, 2, 3]);
        net.part(0, 1);
        let sent = [net.send(0, 3), net.send(0, 3)];
        net.run_until(3_000);
        net.check_account();
        sent.map(|packet| net.ways[&packet].len())
    };
    assert_eq!(broken(&quiet()), [1, 1]);
    assert_eq!(broken(&rfc3561::quiet()), [3, 3], "the RFC's source keeps them");
}

#[test]
fn a_message_that_is_lost_breaks_no_link() {
    let mut net = chain(3, &quiet()).having_sent(0, 2, 1_000);
    net.part(0, 1);
    // Node 1 answers for node 2; the reply does not arrive.
    net.inject(
        0,
        1,
        5,
        wrap(AodvMessage::Request(Request {
            id: 9,
            hops: 0,
            originator: Address(0),
            destination: Address(2),
            ..request()
        })),
    );
    assert_eq!(net.at(1_100).said("1>0 RREP").len(), 2);
    assert_eq!(net.route(1, 0), Some((0, 1)), "still up");
}

#[test]
fn a_ring_may_grow_past_the_threshold() {
    // Four hops away when it was last seen: rings of 6 and 8, then floods.
    let mut net = chain(5, &quiet()).having_sent(0, 4, 3_000);
    net.part(0, 1).send_until(0, 4, 3_100);
    net.talk.clear();
    net.send_until(0, 4, 20_000);
    let ttls: Vec<_> = net
        .said("0>* RREQ")
        .iter()
        .map(|line| line.split("ttl ").nth(1).and_then(|it| it.split(' ').next()).expect("a TTL"))
        .collect();
    assert_eq!(ttls, ["6", "8", "35", "35"]);
}

#[test]
fn only_tcp_asks_for_gratuitous_replies() {
    let params = Params { gratuitous_rrep: true, ..quiet() };
    let mut net = chain(2, &params);
    net.send(0, 8);
    net.send_segment(0, 9);
    net.run_until(10);
    assert_eq!((net.said("to 8/? for 0/1 [U]").len(), net.said("to 9/? for 0/2 [UG]").len()), (1, 1), "{:?}", net.talk);
}

#[test]
fn a_neighbour_is_accepted_after_several_hellos_in_a_row() {
    let params = Params {
        link_detection: LinkDetection::Hello,
        hellos_to_accept: 3,
        active_route_timeout: Auto::Fixed(Span::from_secs(3)),
        ..quiet()
    };
    let mut net = network(1, &params);
    let hello = || wrap(AodvMessage::Hello { sender: Address(1), sequence: 4, lifetime: Span::from_secs(2) });
    for (at, known) in [(0, false), (1_000, false), (3_000, false), (4_000, false), (5_000, true)] {
        net.run_until(at);
        net.inject(1, 0, 1, hello());
        assert_eq!(net.route(0, 1).is_some(), known, "at {at} ms: the third of an unbroken row");
    }
}

#[test]
fn a_request_that_came_another_way_than_the_route_back_can_be_ignored() {
    for drops in [false, true] {
        let mut net = network(1, &Params { drop_mismatched_requests: drops, ..quiet() });
        net.inject(1, 0, 5, wrap(AodvMessage::Request(request())));
        // A later request with an old number, over another neighbour.
        net.inject(2, 0, 5, wrap(AodvMessage::Request(Request { id: 2, ..request() })));
        assert_eq!(net.at(100).said("0>* RREQ").len(), 2 - usize::from(drops));
    }
}

#[test]
fn a_destination_that_is_asked_for_its_present_number_takes_the_next_one() {
    let numbers = |params: &Params| {
        let mut net = network(9, params).chained(&[0, 8]);
        for id in [1, 2] {
            let request = Request {
                id,
                destination: Address(0),
                destination_sequence: 5,
                unknown_sequence: false,
                originator_sequence: 5 + id,
                ..request()
            };
            net.inject(8, 0, 5, wrap(AodvMessage::Request(request))).run_until(100 * u64::from(id));
        }
        [net.said("to 0/5 ").len(), net.said("to 0/6 ").len()]
    };
    assert_eq!(numbers(&quiet()), [1, 1]);
    assert_eq!(numbers(&rfc3561::quiet()), [2, 0], "RFC 3561 §6.6.1");
}
