//! RFC 3561: how broken links are noticed, who is told, and how long routes are kept.

use super::super::{Auto, LinkDetection};
use super::rfc::{alone, quiet};
use super::*;
use crate::routing::Model;

/// Two ways from node 0 to node 2, through 1 and through 4; 3 and 5 are behind node 2. Node 0 reaches 3 through 1, and
/// then 5 through 4, so that node 2's route back to node 0 leads through 4.
fn two_ways(params: &Params) -> Network {
    let mut net = network(6, params);
    net.chain(&[0, 1, 2, 3]);
    net.chain(&[0, 4, 2, 5]);
    net.part(0, 4);
    net.send_until(0, 3, 1_000);
    net.join(0, 4);
    net.part(0, 1);
    net.send_until(0, 5, 2_000);
    net.join(0, 1);
    assert_eq!((net.route(0, 3), net.route(0, 5), net.route(2, 0)), (Some((1, 3)), Some((4, 3)), Some((4, 2))));
    net
}

#[test]
fn an_error_about_data_without_a_route_goes_to_the_neighbour_that_sent_them() {
    let mut net = two_ways(&quiet());
    net.part(2, 3);
    net.lost.push("2>1 RERR".to_owned());
    net.talk.clear();
    for round in 0..50 {
        net.send(0, 3);
        net.send(0, 5);
        net.run_until(2_000 + 100 * (round + 1));
    }
    assert!(net.lost.is_empty(), "the first error was lost");
    let errors = net.said("2>");
    let errors: Vec<_> = errors.iter().filter(|line| line.contains("RERR")).collect();
    assert_eq!(errors.len(), 2, "{errors:?}");
    assert!(errors[1].contains("2>1 RERR 3/1 "), "the second packet is reported to where it came from: {errors:?}");
    assert_eq!(net.dropped(2, DropReason::NoRoute), 1);
    assert_eq!(net.route(0, 3), None);
    assert_eq!(net.route(0, 5), Some((4, 3)), "the other flow goes on");
    net.check_account();
}

#[test]
fn errors_about_data_without_a_route_do_not_advance_the_number_and_keep_the_entry() {
    // Every error is lost, so that node 0 sends on for longer than DELETE_PERIOD.
    let params = quiet();
    let mut net = chain(4, &params);
    net.send_until(0, 3, 1_000);
    net.part(2, 3);
    net.talk.clear();
    let seconds = params.delete_period().nanos() / 1_000_000_000 + 10;
    for second in 1..seconds {
        net.lost.push("2>1 RERR".to_owned());
        net.send(0, 3);
        net.run_until(1_000 + 1_000 * second);
    }
    let errors = net.said("2>1 RERR");
    assert_eq!(errors.len() as u64, seconds - 1, "an error for each packet");
    assert!(errors.iter().all(|line| line.contains("RERR 3/1 ")), "the number stays, and is not forgotten: {errors:?}");
}

/// Of so many links between two nodes that send HELLO messages, of which the second loses some in a row: how many links
/// the first calls broken.
fn links_broken(links: u64, neighbour_expiry: Auto, hellos_lost: usize) -> usize {
    let params = Params { link_detection: LinkDetection::Hello, neighbour_expiry, ..Params::of_profile(RFC) };
    let broken = |seed| {
        let mut net = Network::new(&Config::Aodv(params.clone()), 3, seed, describe);
        net.chain(&[0, 1, 2]);
        // Datagrams one way: node 0 hears nothing from node 1 but HELLO messages.
        for round in 0..40 {
            if round == 10 {
                net.lost = vec!["1>* HELLO".to_owned(); hellos_lost];
            }
            net.run_until(200 * round);
            net.send(0, 2);
        }
        assert!(net.lost.is_empty());
        net.changes.iter().any(|(_, node, change)| node.0 == 0 && change.route.is_none())
    };
    (0..links).filter(|&seed| broken(seed)).count()
}

#[test]
fn one_hello_may_be_lost_and_two_in_a_row_break_the_link() {
    assert_eq!(links_broken(200, Auto::Derived, 1), 0);
    assert_eq!(links_broken(20, Auto::Derived, 2), 20);
    // Without allowance for jitter one lost HELLO is one too many.
    assert_eq!(links_broken(20, Auto::Fixed(Span::from_secs(2)), 1), 20);
}

#[test]
fn a_reply_about_a_neighbour_whose_link_was_broken_goes_on() {
    let mut net = chain(3, &quiet());
    net.send_until(0, 2, 1_000);
    net.part(1, 2);
    net.send_until(0, 2, 2_000);
    assert_eq!((net.route(0, 2), net.route(1, 2)), (None, None));
    net.join(1, 2);
    net.talk.clear();
    let packet = net.send(0, 2);
    net.run_until(2_100);
    // Node 1 knows the number that node 2 answers with: its own error had advanced it.
    assert_eq!(net.said("RREP 0 hops to 2/1").len(), 1);
    assert_eq!(net.said("1>0 RREP 1 hops to 2/1").len(), 1, "{:?}", net.talk);
    assert_eq!(net.ways[&packet], [0, 1, 2].map(Address), "found by the first request");
}

#[test]
fn the_number_of_a_neighbour_that_is_only_heard_does_not_grow() {
    let mut net = alone(&quiet());
    let from_8 = |sequence| Request { originator_sequence: sequence, id: sequence, hops: 0, ..request() };
    net.inject(8, 0, 5, wrap(AodvMessage::Request(from_8(5))));
    net.run_until(6_000);
    assert_eq!(net.route(0, 8), None, "expired, and the number is 6 now");
    for second in [7, 11, 15] {
        net.run_until(1_000 * second);
        net.inject(8, 0, 5, wrap(AodvMessage::Reply(Reply { originator: Address(0), ..reply() })));
        assert_eq!(net.route(0, 8), Some((8, 1)), "a neighbour, whatever its number");
        net.talk.clear();
        let asked = Request { originator: Address(7), destination: Address(8), id: second as u32, ..request() };
        net.inject(7, 0, 5, wrap(AodvMessage::Request(asked)));
        net.run_until(1_000 * second + 100);
        assert_eq!(net.said("RREP").len(), 0, "a route without a number of its own is not offered to others");
        assert_eq!(net.said("0>* RREQ").len(), 1);
    }
    net.run_until(19_000);
    assert_eq!(net.route(0, 8), None);
    // Node 8 asks for the first time since: its number is 6, and that is news.
    net.inject(7, 0, 5, wrap(AodvMessage::Request(Request { hops: 1, ..from_8(6) })));
    assert_eq!(net.route(0, 8), Some((7, 2)));
}

#[test]
fn an_entry_is_kept_while_it_is_looked_for() {
    let params = Params { delete_period: Auto::Fixed(Span::from_secs(8)), ..quiet() };
    let mut net = chain(3, &params);
    net.send_until(0, 2, 1_000);
    net.part(1, 2);
    net.send(0, 2);
    // The route is invalid since 1 s, and would be forgotten at 9 s. A search that begins shortly before takes ten
    // seconds.
    net.run_until(8_900);
    assert_eq!(net.route(0, 2), None);
    net.send(0, 2);
    net.talk.clear();
    net.send_until(0, 2, 30_000);
    let asked = net.said("0>* RREQ");
    assert!(asked.len() >= 3, "{asked:?}");
    assert!(asked.iter().all(|line| line.contains("to 2/1 ")), "each request asks for the number: {asked:?}");
    // After that nothing of it is left.
    net.run_until(60_000);
    net.talk.clear();
    net.send(0, 2);
    assert!(net.talk[0].contains("to 2/? "), "{}", net.talk[0]);
}

#[test]
fn data_that_arrive_keep_the_way_back_alive_however_links_are_watched() {
    for link_detection in [LinkDetection::LinkLayer, LinkDetection::Hello, LinkDetection::Both] {
        let mut net = chain(4, &Params { link_detection, ..quiet() });
        for round in 0..50 {
            net.run_until(200 * round);
            net.send(0, 3);
        }
        assert_eq!((net.route(3, 0), net.route(3, 2)), (Some((2, 3)), Some((2, 1))), "{link_detection:?}");
        // Three seconds after the last datagram it is over.
        net.run_until(200 * 49 + 3_010);
        assert_eq!(net.route(3, 0), None, "{link_detection:?}");
    }
}

#[test]
fn a_request_of_its_own_tells_a_node_of_its_neighbour() {
    let mut net = chain(2, &quiet());
    net.part(0, 1);
    net.send_until(0, 9, 100);
    assert_eq!(net.route(0, 1), None);
    net.inject(1, 0, 1, wrap(AodvMessage::Request(Request { originator: Address(0), hops: 1, ..request() })));
    assert_eq!(net.route(0, 1), Some((1, 1)), "§6.5, first paragraph");
    assert_eq!(net.route(0, 0), None);
}

#[test]
fn a_repair_leaves_what_is_too_far_to_the_sources() {
    // Nodes 3 and 6 are behind node 2; a repair may ask for destinations two hops away, and 6 is four hops from node 1.
    let params = Params { local_repair: true, max_repair_ttl: 2, ..quiet() };
    let mut net = network(7, &params);
    net.chain(&[0, 1, 2, 3, 4, 6]);
    net.send_until(0, 6, 1_000);
    net.send_until(0, 3, 2_000);
    assert_eq!((net.route(1, 6), net.route(1, 3)), (Some((2, 4)), Some((2, 2))));
    net.part(1, 2);
    net.talk.clear();
    net.send_until(0, 3, 2_015);
    assert_eq!(net.said("1>* RREQ").len(), 1, "node 3 is near enough: {:?}", net.talk);
    assert_eq!(net.said("1>0 RERR 6/").len(), 1, "node 6 is not: {:?}", net.talk);
    // A near one may be repaired when data come for it, but not after its lifetime.
    let mut net = network(5, &Params { local_repair: true, ..quiet() });
    net.chain(&[0, 1, 2, 3]);
    net.join(2, 4);
    net.send_until(0, 4, 1_000);
    net.send_until(0, 3, 2_000);
    net.part(1, 2);
    net.send(0, 3);
    // The repair of node 3 fails; a second after ACTIVE_ROUTE_TIMEOUT there comes data for node 4.
    net.run_until(6_000);
    net.talk.clear();
    net.send_until(0, 4, 6_100);
    assert_eq!(net.said("1>* RREQ").len(), 0, "{:?}", net.talk);
    assert_eq!(net.said("1>0 RERR 4/").len(), 1, "{:?}", net.talk);
}

#[test]
fn a_packet_that_waits_for_a_repair_is_not_unreachable() {
    let mut net = chain(4, &Params { local_repair: true, ..quiet() });
    net.send_segment(0, 3);
    net.run_until(1_000);
    net.part(2, 3);
    net.talk.clear();
    net.send_segment(0, 3);
    net.run_until(1_013);
    assert_eq!(net.said("2>* RREQ").len(), 1, "the repair is under way");
    // A second one had been given to the link before the first one failed.
    net.fail_segment(0, 3, 2, 3);
    assert!(net.said("cannot pass on").is_empty(), "{:?}", net.talk);
    net.check_account();
}

#[test]
fn a_reply_of_a_neighbour_that_was_only_heard_since_its_link_broke_goes_on() {
    let mut net = network(4, &quiet());
    net.chain(&[0, 1, 2, 3]);
    net.send_until(0, 2, 1_000);
    net.part(1, 2);
    net.send_until(0, 2, 2_000);
    net.join(1, 2);
    // Node 2 passes on the request of another: node 1 hears that it is there, and not which number it has.
    net.send_until(3, 0, 2_200);
    assert_eq!(net.route(1, 2), Some((2, 1)));
    net.talk.clear();
    let packet = net.send(0, 2);
    net.run_until(2_400);
    assert_eq!(net.said("1>0 RREP 1 hops to 2/").len(), 1, "{:?}", net.talk);
    assert_eq!(net.ways[&packet], [0, 1, 2].map(Address), "found by the first request");
}

#[test]
fn precursors_are_forgotten_with_the_route() {
    let mut net = network(5, &Params { local_repair: true, ..quiet() });
    net.chain(&[0, 1, 2, 3]);
    net.send(0, 3);
    net.send_until(0, 2, 1_000);
    net.chain(&[1, 4, 2]);
    net.part(1, 2);
    // The route to node 3 is repaired. That to node 2 is left until it is needed, which it never is.
    net.send(0, 3);
    let used = |net: &Network| match net.router(1) {
        Model::Aodv(router) => router.state().precursors.any(Address(2)),
        _ => unreachable!("all routers are AODV's"),
    };
    net.run_until(1_200);
    assert!(used(&net), "node 0 uses it");
    net.run_until(120_000);
    assert_eq!(net.route(1, 2), None);
    assert!(!used(&net));
}
