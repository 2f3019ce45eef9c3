//! The rules of the papers about paths: advertised hop counts, disjointness, replies.

use super::super::{Disjoint, Use};
use super::*;

#[test]
fn a_discovery_finds_two_disjoint_paths() {
    let mut net = linked(6, &quiet(), &TWO_WAYS);
    let packet = net.send_until(0, 5, 2_000);
    let expected = "\
240 0>* RREQ 2 0 hops to 5/? for 0/2 by 0 ttl 3 56 B
241 1>* RREQ 2 1 hops to 5/? for 0/2 by 1 ttl 2 56 B
241 3>* RREQ 2 1 hops to 5/? for 0/2 by 3 ttl 2 56 B
242 2>* RREQ 2 2 hops to 5/? for 0/2 by 1 ttl 1 56 B
242 4>* RREQ 2 2 hops to 5/? for 0/2 by 3 ttl 1 56 B
243 5>2 RREP 2 0 hops to 5/0 for 0 by 2 life 20 s ttl 35 56 B
244 2>1 RREP 2 1 hops to 5/0 for 0 by 2 life 20 s ttl 34 56 B
244 5>4 RREP 2 0 hops to 5/0 for 0 by 4 life 20 s ttl 35 56 B
245 1>0 RREP 2 2 hops to 5/0 for 0 by 2 life 20 s ttl 33 56 B
245 4>3 RREP 2 1 hops to 5/0 for 0 by 4 life 20 s ttl 34 56 B
246 3>0 RREP 2 2 hops to 5/0 for 0 by 4 life 20 s ttl 33 56 B";
    assert_eq!(net.talk[1..].join("\n"), expected, "the neighbours of the ends write themselves as first hops");
    assert_eq!(paths(&net, 0, 5), [(1, 2, 3), (3, 4, 3)]);
    assert_eq!(paths(&net, 5, 0), [(2, 1, 3), (4, 3, 3)], "and as many reverse paths");
    assert_eq!(net.ways[&packet], [0, 1, 2, 5].map(Address), "data go over the first path");
    net.check_account();
}

#[test]
fn the_advertised_hop_count_is_that_of_the_longest_path_and_does_not_change() {
    let mut net = network(1, &quiet());
    // Paths of 3 and 4 hops to node 9, then a request of node 8 for it: both are told as 4.
    net.inject(1, 0, 5, reply(1, 20, 2, 11)).inject(2, 0, 5, reply(1, 20, 3, 12));
    net.inject(3, 0, 5, request(1, 1, 13)).run_until(10);
    assert!(net.talk[0].starts_with("0 0>3 RREP 1 4 hops to 9/20"), "{:?}", net.talk);
    // From now on a path must come from a node that tells fewer than 4 hops.
    net.inject(4, 0, 5, reply(1, 20, 4, 14));
    assert_eq!(paths(&net, 0, 9).len(), 2);
    net.inject(4, 0, 5, reply(1, 20, 3, 14));
    assert_eq!(paths(&net, 0, 9), [(1, 11, 3), (2, 12, 4), (4, 14, 4)]);
    // A newer number begins anew, with any length.
    net.inject(4, 0, 5, reply(1, 21, 7, 14));
    assert_eq!(paths(&net, 0, 9), [(4, 14, 8)]);
    net.inject(5, 0, 5, request(2, 1, 15)).run_until(20);
    assert!(net.talk[1].starts_with("10 0>5 RREP 2 8 hops to 9/21"), "{:?}", net.talk);
}

#[test]
fn a_forwarded_request_tells_the_advertised_hop_count_and_later_copies_make_paths_only() {
    let mut net = network(1, &quiet());
    net.inject(1, 0, 5, request(1, 2, 11)).inject(2, 0, 5, request(1, 2, 12)).inject(3, 0, 5, request(1, 3, 13));
    assert_eq!(net.at(10).talk, ["0 0>* RREQ 1 3 hops to 9/? for 8/1 by 11 ttl 4 52 B"]);
    assert_eq!(paths(&net, 0, 8), [(1, 11, 3), (2, 12, 3)], "the third comes from a node as far away as this one");
}

#[test]
fn next_hops_and_last_hops_of_a_list_are_unique() {
    let mut net = network(1, &quiet());
    net.inject(1, 0, 5, reply(1, 20, 2, 11)).inject(2, 0, 5, reply(1, 20, 2, 11));
    net.inject(1, 0, 5, reply(1, 20, 2, 12));
    assert_eq!(paths(&net, 0, 9), [(1, 11, 3)]);
    net.inject(2, 0, 5, reply(1, 20, 2, 12));
    assert_eq!(paths(&net, 0, 9), [(1, 11, 3), (2, 12, 3)]);
}

#[test]
fn a_list_has_three_paths_that_differ_by_one_hop() {
    let mut net = network(1, &quiet());
    for (neighbour, hops) in [(1, 2), (2, 4), (3, 3), (4, 2), (5, 2)] {
        net.inject(neighbour, 0, 5, reply(1, 20, hops, 10 + neighbour));
    }
    assert_eq!(paths(&net, 0, 9), [(1, 11, 3), (3, 13, 4), (4, 14, 3)]);
    let mut net = network(1, &Params { max_paths: 1, ..quiet() });
    net.inject(1, 0, 5, reply(1, 20, 2, 11)).inject(2, 0, 5, reply(1, 20, 2, 12));
    assert_eq!(paths(&net, 0, 9), [(1, 11, 3)], "with one path it is AODV");
}

/// Links 0-1, 0-2, 1-3, 2-3, 3-4, 3-5, 4-6, 5-6: two paths that share node 3 and no link.
const TWO_DIAMONDS: [(u32, u32); 8] = [(0, 1), (0, 2), (1, 3), (2, 3), (3, 4), (3, 5), (4, 6), (5, 6)];

#[test]
fn link_disjoint_paths_may_meet_in_a_node() {
    let mut net = linked(7, &quiet(), &TWO_DIAMONDS);
    net.send_until(0, 6, 2_000);
    assert_eq!(paths(&net, 0, 6), [(1, 4, 4), (2, 5, 4)], "node 3 sends the second reply over its second reverse path");
    assert_eq!(paths(&net, 3, 6), [(4, 4, 2), (5, 5, 2)]);
}

#[test]
fn node_disjoint_paths_do_not_meet() {
    let params = Params { disjoint: Disjoint::Nodes, ..quiet() };
    let mut net = linked(7, &params, &TWO_DIAMONDS);
    net.send_until(0, 6, 2_000);
    assert_eq!(paths(&net, 0, 6).len(), 1, "node 3 passes on one reply for each discovery");
    let mut net = linked(6, &params, &TWO_WAYS);
    net.send_until(0, 5, 2_000);
    assert_eq!(paths(&net, 0, 5), [(1, 2, 3), (3, 4, 3)]);
}

/// The links on which messages that mention `what` went, in order.
fn links(net: &Network, what: &str) -> Vec<String> {
    let mut links: Vec<_> =
        net.said(what).iter().filter_map(|line| line.split(' ').nth(1).map(str::to_owned)).collect();
    links.sort_unstable();
    links
}

#[test]
fn the_destination_answers_every_copy_through_the_neighbour_that_sent_it() {
    let mut net = network(10, &quiet());
    // The first two copies have the same first hop: one reverse path, two replies.
    net.inject(1, 9, 5, request(1, 2, 11)).inject(2, 9, 5, request(1, 2, 11)).inject(3, 9, 5, request(1, 4, 13));
    assert_eq!(paths(&net, 9, 8), [(1, 11, 3)]);
    net.run_until(100);
    assert_eq!(links(&net, "RREP"), ["9>1", "9>2"], "the third copy is two hops longer than the first");
    assert!(net.talk[0].starts_with("0 9>1 RREP 1 0 hops to 9/0 for 8 by 1 "), "{:?}", net.talk);
}

#[test]
fn the_destination_answers_no_more_copies_than_it_may() {
    for (most, answered) in [(0, 5), (1, 1), (3, 3)] {
        let mut net = network(10, &Params { reply_copies: most, ..quiet() });
        for neighbour in 1..6 {
            net.inject(neighbour, 9, 5, request(1, 2, 10 + neighbour));
        }
        net.run_until(100);
        assert_eq!(links(&net, "RREP").len(), answered, "{most}: {:?}", net.talk);
        net.inject(6, 9, 5, request(2, 2, 16)).run_until(200);
        assert_eq!(links(&net, "RREP").len(), answered + 1, "{most}: the next request counts anew");
    }
}

#[test]
fn a_node_between_answers_once_for_each_unused_pair_of_paths() {
    let mut net = network(1, &quiet());
    net.inject(4, 0, 5, reply(1, 20, 2, 14)).inject(5, 0, 5, reply(1, 20, 2, 15));
    for (neighbour, by) in [(1, 11), (2, 12), (3, 13), (1, 11)] {
        net.inject(neighbour, 0, 5, request(2, 1, by));
    }
    net.run_until(100);
    let said: Vec<_> = net
        .talk
        .iter()
        .map(|line| line.split(" life").next().expect("a line").split_once(' ').expect("a time").1)
        .collect();
    // Two forward paths: two replies, although there are three reverse paths. The request goes no further.
    assert_eq!(said, ["0>1 RREP 2 3 hops to 9/20 for 8 by 14", "0>2 RREP 2 3 hops to 9/20 for 8 by 15"]);
}

#[test]
fn a_path_through_the_neighbour_that_asks_is_no_answer() {
    let mut net = network(1, &quiet());
    net.inject(1, 0, 5, reply(1, 20, 2, 11)).inject(1, 0, 5, request(2, 1, 11)).run_until(100);
    assert!(net.talk[0].contains("0>* RREQ 2"), "{:?}", net.talk);
    assert!(net.talk[0].contains("to 9/20 for 8"), "with the number that this node knows: {:?}", net.talk);
}

#[test]
fn each_reply_goes_back_over_another_reverse_path() {
    let mut net = network(1, &quiet());
    net.inject(1, 0, 5, request(1, 2, 11)).inject(2, 0, 5, request(1, 2, 12));
    for (neighbour, by) in [(4, 14), (4, 14), (5, 15), (6, 16)] {
        net.inject(neighbour, 0, 5, reply(1, 20, 2, by));
    }
    assert_eq!(paths(&net, 0, 9).len(), 3, "the last reply makes a path here all the same");
    net.run_until(100);
    assert_eq!(links(&net, "RREP"), ["0>1", "0>2"]);
    assert!(net.said("0>1 RREP 1 3 hops to 9/20 for 8 by 14").len() == 1, "{:?}", net.talk);
    assert!(net.said("0>2 RREP 1 3 hops to 9/20 for 8 by 15").len() == 1, "{:?}", net.talk);
}

#[test]
fn paths_may_take_turns() {
    let params = Params { path_use: Use::InTurn, ..quiet() };
    let mut net = linked(6, &params, &TWO_WAYS);
    net.send_until(0, 5, 2_000);
    let packets = [net.send(0, 5), net.send(0, 5)];
    net.run_until(3_000);
    let ways = packets.map(|packet| net.ways[&packet][1].0);
    assert!(ways == [1, 3] || ways == [3, 1], "{ways:?}");
    net.check_loops();
}
