//! RFC 3561 §6.7: receiving and forwarding replies.

use super::*;
use crate::address::NodeId;
use crate::context::Owners;

#[test]
fn s6_7_a_discovery_over_three_hops() {
    let mut net = chain(4, &quiet());
    let packet = net.send_until(0, 3, 2_000);
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
fn s6_7_a_reply_about_a_neighbour_whose_link_was_broken_goes_on() {
    let mut net = chain(3, &quiet()).having_sent(0, 2, 1_000);
    net.part(1, 2).send_until(0, 2, 2_000);
    assert_eq!((net.route(0, 2), net.route(1, 2)), (None, None));
    net.join(1, 2);
    net.talk.clear();
    let packet = net.send_until(0, 2, 2_100);
    // Node 1 knows the number that node 2 answers with: its own error had advanced it.
    assert_eq!(net.said("RREP 0 hops to 2/1").len(), 1);
    assert_eq!(net.said("1>0 RREP 1 hops to 2/1").len(), 1, "{:?}", net.talk);
    assert_eq!(net.ways[&packet], [0, 1, 2].map(Address), "found by the first request");
}

#[test]
fn s6_7_a_reply_of_a_neighbour_that_was_only_heard_since_its_link_broke_goes_on() {
    let mut net = network(4, &quiet()).chained(&[0, 1, 2, 3]).having_sent(0, 2, 1_000);
    net.part(1, 2).send_until(0, 2, 2_000);
    net.join(1, 2);
    // Node 2 passes on the request of another: node 1 hears that it is there, and not which number it has.
    net.send_until(3, 0, 2_200);
    assert_eq!(net.route(1, 2), Some((2, 1)));
    net.talk.clear();
    let packet = net.send_until(0, 2, 2_400);
    assert_eq!(net.said("1>0 RREP 1 hops to 2/").len(), 1, "{:?}", net.talk);
    assert_eq!(net.ways[&packet], [0, 1, 2].map(Address), "found by the first request");
}

#[test]
fn s6_7_a_reply_without_a_way_back_is_dropped() {
    let mut net = alone(&quiet());
    net.inject(1, 0, 5, wrap(AodvMessage::Reply(reply())));
    assert_eq!(net.dropped(0, DropReason::NoRoute), 1);
    assert_eq!(net.route(0, 9), Some((1, 2)), "but its route is learned");
}

#[test]
fn s6_7_a_reply_that_is_no_news_goes_no_further() {
    let mut net = network(3, &quiet()).chained(&[0, 2]);
    net.inject(2, 0, 1, wrap(AodvMessage::Request(Request { originator: Address(2), hops: 0, ..request() })));
    let told = |net: &mut Network, from, sequence, hops| {
        net.talk.clear();
        let reply = Reply { originator: Address(2), destination_sequence: sequence, hops, ..reply() };
        net.inject(from, 0, 5, wrap(AodvMessage::Reply(reply)));
        net.run_until(net.cx.now.nanos() / 1_000_000 + 10);
        net.said("0>2 RREP").len()
    };
    assert_eq!(told(&mut net, 1, 20, 3), 1);
    assert_eq!(told(&mut net, 1, 19, 0), 0, "an older number");
    assert_eq!(told(&mut net, 1, 20, 3), 0, "the same again");
    assert_eq!(told(&mut net, 1, 20, 1), 1, "fewer hops");
    assert_eq!(told(&mut net, 1, 21, 9), 1, "a newer number");
}

#[test]
fn s6_7_a_reply_makes_the_nodes_that_it_passes_users_of_the_route() {
    let net = chain(4, &quiet()).having_sent(0, 3, 1_000);
    let users = |net: &Network, node, destination| match net.router(node) {
        Model::Aodv(router) => {
            router.state().own.precursors.of(Address(destination)).map(|it| it.0).collect::<Vec<_>>()
        }
        _ => unreachable!("all routers are AODV's"),
    };
    assert_eq!(users(&net, 1, 3), [0], "node 0 reaches node 3 by node 1");
    assert_eq!(users(&net, 2, 3), [1]);
    assert_eq!(users(&net, 1, 2), [0], "and by node 2 behind it");
}

#[test]
fn s6_7_the_node_to_which_a_reply_goes_uses_the_route() {
    // A request of node 8 comes by node 7, and an earlier one, which it has overtaken, by node 6. Node 0 answers the
    // latter: the reply goes the newer way back, to node 7.
    let mut net = network(8, &quiet()).chained(&[5, 0, 6]).chained(&[0, 7]);
    net.inject(5, 0, 1, wrap(AodvMessage::Reply(Reply { originator: Address(0), hops: 0, ..reply() })));
    let later = Request { id: 2, originator_sequence: 6, destination: Address(11), ..request() };
    net.inject(7, 0, 5, wrap(AodvMessage::Request(later))).inject(6, 0, 5, wrap(AodvMessage::Request(request())));
    net.run_until(100);
    assert_eq!(net.said("0>7 RREP 1 hops to 9/20 for 8").len(), 1, "{:?}", net.talk);
    net.inject(5, 0, 1, wrap(AodvMessage::Error(RouteError { no_delete: false, unreachable: vec![(Address(9), 21)] })));
    net.run_until(200);
    assert_eq!(net.said("0>* RERR 9/21").len(), 1, "not node 6 alone: {:?}", net.talk);
}

#[test]
fn s6_6_3_a_gratuitous_reply_to_any_address_of_a_node_has_arrived() {
    let mut net = alone(&quiet());
    // Address 20 is a further one of node 0.
    net.cx.owners = Owners::new(20, vec![NodeId(0)], Vec::new());
    net.inject(7, 0, 5, wrap(AodvMessage::Reply(Reply { originator: Address(20), ..reply() })));
    assert_eq!((net.at(100).route(0, 9), net.dropped(0, DropReason::NoRoute)), (Some((7, 2)), 0));
    net.check_account();
}
