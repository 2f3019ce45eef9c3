//! RFC 3561 §6.11: errors, expiry and deletion.

use super::*;

/// Two ways from node 0 to node 2, through 1 and through 4; 3 and 5 are behind node 2. Node 0 reaches 3 through 1, and
/// then 5 through 4, so that node 2's route back to node 0 leads through 4.
fn two_ways(params: &Params) -> Network {
    let mut net = network(6, params).chained(&[0, 1, 2, 3]).chained(&[0, 4, 2, 5]);
    net.part(0, 4).send_until(0, 3, 1_000);
    net.join(0, 4).part(0, 1).send_until(0, 5, 2_000);
    net.join(0, 1);
    assert_eq!((net.route(0, 3), net.route(0, 5), net.route(2, 0)), (Some((1, 3)), Some((4, 3)), Some((4, 2))));
    net
}

#[test]
fn s6_11_an_error_goes_back_to_those_who_use_the_route() {
    let mut net = chain(5, &quiet()).having_sent(0, 4, 1_000);
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
fn s6_11_an_error_to_several_users_is_broadcast() {
    // Nodes 0 and 1 both reach 4 through 2 and 3.
    let mut net = network(5, &quiet()).chained(&[0, 2, 3, 4]).chained(&[1, 2]).having_sent(0, 4, 1_000);
    net.send_until(1, 4, 2_000);
    net.part(3, 4);
    net.talk.clear();
    net.send_until(0, 4, 2_200);
    assert_eq!(net.said("RERR").len(), 2);
    assert_eq!(net.said("2>* RERR").len(), 1);
    assert!(net.route(0, 4).is_none() && net.route(1, 4).is_none());
}

#[test]
fn s6_11_an_error_counts_only_from_the_next_hop() {
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
fn s6_11_data_without_a_route_are_reported_to_where_they_came_from() {
    let mut net = chain(3, &quiet()).having_sent(0, 2, 1_000);
    // Node 1 loses its route silently: the lifetimes at node 0 are kept up by a reply that nobody had asked for.
    net.inject(1, 0, 5, wrap(AodvMessage::Reply(Reply { destination: Address(9), originator: Address(0), ..reply() })));
    net.talk.clear();
    net.send_until(0, 9, 1_100);
    assert_eq!(net.talk, ["1001 1>0 RERR 9/0 [] ttl 1 40 B"]);
    assert_eq!(net.dropped(1, DropReason::NoRoute), 1);
    assert_eq!(net.route(0, 9), None);
}

#[test]
fn s6_11_errors_are_limited_to_ten_a_second() {
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
    assert_eq!(net.at(900).dropped(1, DropReason::NoRoute), 20);
    assert_eq!(net.said("RERR").len(), 10);
}

#[test]
fn s6_11_a_source_keeps_its_own_packets_when_the_first_link_breaks() {
    let mut net = network(4, &quiet()).chained(&[0, 1, 3]).having_sent(0, 3, 1_000).chained(&[0, 2, 3]);
    net.part(0, 1);
    let sent = [net.send(0, 3), net.send(0, 3), net.send(0, 3)];
    net.run_until(3_000);
    for packet in sent {
        assert_eq!(net.ways[&packet], [0, 2, 3].map(Address));
    }
}

#[test]
fn s6_11_an_error_about_data_without_a_route_goes_to_the_neighbour_that_sent_them() {
    let mut net = two_ways(&quiet());
    net.part(2, 3);
    net.lost.push("2>1 RERR".to_owned());
    net.talk.clear();
    for round in 0..50 {
        net.send(0, 3);
        net.send_until(0, 5, 2_000 + 100 * (round + 1));
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
fn s6_11_errors_about_data_without_a_route_do_not_advance_the_number_and_keep_the_entry() {
    // Every error is lost, so that node 0 sends on for longer than DELETE_PERIOD.
    let params = quiet();
    let mut net = chain(4, &params).having_sent(0, 3, 1_000);
    net.part(2, 3);
    net.talk.clear();
    let seconds = params.delete_period().nanos() / 1_000_000_000 + 10;
    for second in 1..seconds {
        net.lost.push("2>1 RERR".to_owned());
        net.send_until(0, 3, 1_000 + 1_000 * second);
    }
    let errors = net.said("2>1 RERR");
    assert_eq!(errors.len() as u64, seconds - 1, "an error for each packet");
    assert!(errors.iter().all(|line| line.contains("RERR 3/1 ")), "the number stays, and is not forgotten: {errors:?}");
}

#[test]
fn s6_11_precursors_are_forgotten_with_the_route() {
    let mut net = network(5, &Params { local_repair: true, ..quiet() }).chained(&[0, 1, 2, 3]);
    net.send(0, 3);
    net.send_until(0, 2, 1_000);
    net.chain(&[1, 4, 2]);
    net.part(1, 2);
    // The route to node 3 is repaired. That to node 2 is left until it is needed, which it never is.
    net.send(0, 3);
    let used = |net: &Network| match net.router(1) {
        Model::Aodv(router) => router.state().own.precursors.any(Address(2)),
        _ => unreachable!("all routers are AODV's"),
    };
    net.run_until(1_200);
    assert!(used(&net), "node 0 uses it");
    assert_eq!(net.at(120_000).route(1, 2), None);
    assert!(!used(&net));
}

#[test]
fn s6_11_one_error_names_every_destination_that_is_lost() {
    // Node 1 reaches 3, 4 and 2 over the link to node 2; node 0 uses the first two.
    let mut net = network(5, &quiet()).chained(&[0, 1, 2, 3]).chained(&[2, 4]).having_sent(0, 3, 1_000);
    net.send_until(0, 4, 2_000);
    net.part(1, 2);
    net.talk.clear();
    net.send_until(0, 3, 2_100);
    let errors = net.said("1>0 RERR");
    assert_eq!(errors.len(), 1);
    for destination in ["2/", "3/", "4/"] {
        assert!(errors[0].contains(&format!(" {destination}")), "{destination}: {errors:?}");
    }
}

#[test]
fn s6_11_nobody_is_told_of_a_route_that_nobody_uses() {
    let mut net = chain(3, &quiet()).having_sent(1, 2, 1_000);
    net.part(1, 2);
    net.talk.clear();
    net.send_until(1, 2, 1_100);
    assert_eq!(net.said("RERR").len(), 0, "node 1 is the only user");
}

#[test]
fn s6_11_an_error_never_lowers_a_number() {
    let mut net = alone(&quiet());
    net.inject(1, 0, 5, wrap(AodvMessage::Reply(Reply { originator: Address(0), ..reply() })));
    let error = RouteError { no_delete: false, unreachable: vec![(Address(9), 3)] };
    net.inject(1, 0, 1, wrap(AodvMessage::Error(error)));
    assert_eq!(net.route(0, 9), None);
    net.inject(
        2,
        0,
        5,
        wrap(AodvMessage::Reply(Reply { originator: Address(0), destination_sequence: 19, ..reply() })),
    );
    assert_eq!(net.route(0, 9), None, "19 is older than the 20 that was known");
}
