//! RFC 3561 §6.12: local repair.

use super::*;

/// A chain 0-1-2-3 with a detour 2-4-3, and a route from 0 to 3 in use; then the link 2-3 breaks.
fn broken_near_the_end(params: &Params, detour: bool) -> (Network, u64) {
    let mut net = network(5, params).chained(&[0, 1, 2, 3]).having_sent(0, 3, 1_000);
    if detour {
        net.chain(&[2, 4, 3]);
    }
    net.part(2, 3);
    net.talk.clear();
    let packet = net.send_until(0, 3, 2_000);
    net.check_account();
    (net, packet)
}

#[test]
fn s6_12_a_local_repair_finds_a_detour_and_saves_the_packet() {
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
fn s6_12_a_local_repair_that_fails_ends_in_an_error() {
    let params = Params { local_repair: true, ..quiet() };
    let (net, packet) = broken_near_the_end(&params, false);
    assert_eq!(net.ways[&packet].last(), Some(&Address(2)));
    assert_eq!(net.dropped(2, DropReason::DiscoveryFailed), 1);
    // RING_TRAVERSAL_TIME of TTL 3 is 400 ms.
    assert_eq!(net.said("RERR"), ["1412 2>1 RERR 3/1 [] ttl 1 40 B", "1413 1>0 RERR 3/1 [] ttl 1 40 B"]);
    assert_eq!(net.route(0, 3), None);
}

#[test]
fn s6_12_without_local_repair_the_source_looks_again() {
    let (mut net, packet) = broken_near_the_end(&quiet(), true);
    assert_eq!(net.dropped(2, DropReason::RetryLimit), 1);
    assert_eq!(net.ways[&packet].last(), Some(&Address(2)));
    net.talk.clear();
    let packet = net.send_until(0, 3, 3_000);
    assert_eq!(net.ways[&packet], [0, 1, 2, 4, 3].map(Address));
    assert!(net.talk[0].contains("hops to 3/1") && net.talk[0].contains("ttl 5"), "§6.4: 3 hops + TTL_INCREMENT");
}

#[test]
fn s6_12_only_near_destinations_are_repaired() {
    let params = Params { local_repair: true, max_repair_ttl: 1, ..quiet() };
    let mut net = chain(5, &params).having_sent(0, 4, 1_000);
    net.part(2, 3);
    net.talk.clear();
    net.send_until(0, 4, 1_100);
    assert_eq!(net.said("RREQ").len(), 0, "the destination is two hops away");
    assert_eq!(net.said("RERR").len(), 2);
}

#[test]
fn s6_12_other_routes_over_a_link_in_repair_are_repaired_when_they_are_needed() {
    let params = Params { local_repair: true, ..quiet() };
    let mut net = network(6, &params).chained(&[0, 1, 2, 3]).chained(&[2, 5]);
    net.send(0, 3);
    net.send_until(0, 2, 1_000);
    net.chain(&[1, 4, 2]);
    net.part(1, 2).send_until(0, 3, 1_200);
    assert_eq!(net.said("1>0 RERR 2").len(), 0);
    assert_eq!((net.route(1, 3), net.route(1, 2)), (Some((4, 3)), None));
    let packet = net.send_until(0, 2, 1_400);
    assert_eq!(net.ways[&packet], [0, 1, 4, 2].map(Address));
    net.check_loops();
}

#[test]
fn s6_12_a_repair_leaves_what_is_too_far_to_the_sources() {
    // Nodes 3 and 6 are behind node 2; a repair may ask for destinations two hops away, and 6 is four hops from node 1.
    let params = Params { local_repair: true, max_repair_ttl: 2, ..quiet() };
    let mut net = network(7, &params).chained(&[0, 1, 2, 3, 4, 6]).having_sent(0, 6, 1_000).having_sent(0, 3, 2_000);
    assert_eq!((net.route(1, 6), net.route(1, 3)), (Some((2, 4)), Some((2, 2))));
    net.part(1, 2);
    net.talk.clear();
    net.send_until(0, 3, 2_015);
    assert_eq!(net.said("1>* RREQ").len(), 1, "node 3 is near enough: {:?}", net.talk);
    assert_eq!(net.said("1>0 RERR 6/").len(), 1, "node 6 is not: {:?}", net.talk);
    // A near one may be repaired when data come for it, but not after its lifetime.
    let mut net = network(5, &Params { local_repair: true, ..quiet() }).chained(&[0, 1, 2, 3]).chained(&[2, 4]);
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
fn s6_12_a_packet_that_waits_for_a_repair_is_not_unreachable() {
    let mut net = chain(4, &Params { local_repair: true, ..quiet() });
    net.send_segment(0, 3);
    net.at(1_000).part(2, 3);
    net.talk.clear();
    net.send_segment(0, 3);
    assert_eq!(net.at(1_013).said("2>* RREQ").len(), 1, "the repair is under way");
    // A second one had been given to the link before the first one failed.
    net.fail_segment(0, 3, 2, 3);
    assert!(net.said("cannot pass on").is_empty(), "{:?}", net.talk);
    net.check_account();
}

#[test]
fn s6_12_the_flag_of_a_route_left_to_be_repaired_ends_for_good() {
    // As above; the error about node 4 is lost, and node 0 sends once more.
    let mut net = network(5, &Params { local_repair: true, ..quiet() }).chained(&[0, 1, 2, 3]).chained(&[2, 4]);
    net.send_until(0, 4, 1_000);
    net.send_until(0, 3, 2_000);
    net.part(1, 2).send_until(0, 3, 6_000);
    net.talk.clear();
    net.lost.push("1>0 RERR 4/".to_owned());
    net.send_until(0, 4, 6_100);
    net.send_until(0, 4, 6_200);
    assert_eq!((net.said("1>* RREQ").len(), net.said("1>0 RERR 4/").len()), (0, 2), "{:?}", net.talk);
}

#[test]
fn s6_12_a_node_goes_on_to_look_for_the_destination_of_its_own_packets() {
    let mut net = chain(4, &Params { local_repair: true, ..quiet() }).having_sent(0, 3, 1_000);
    net.part(2, 3);
    let passing = net.send_until(0, 3, 1_050);
    let own = net.send(2, 3);
    // The repair fails after 400 ms.
    assert_eq!(net.at(1_500).ways[&passing].last(), Some(&Address(2)));
    assert_eq!(net.dropped(2, DropReason::DiscoveryFailed), 1, "the packet of node 0");
    net.join(2, 3);
    assert_eq!(net.at(10_000).ways[&own], [2, 3].map(Address), "§6.3: the repair was no search for this packet");
    net.check_account();
}
