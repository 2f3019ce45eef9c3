//! Lost links, expiry, errors, HELLO messages.

use super::*;
use crate::context::DropReason;

/// A network in which node 0 knows two paths to node 5, at 2000 ms.
fn ready(params: &Params) -> Network {
    let mut net = linked(6, params, &TWO_WAYS);
    net.send_until(0, 5, 2_000);
    assert_eq!(paths(&net, 0, 5), [(1, 2, 3), (3, 4, 3)]);
    net.talk.clear();
    net.changes.clear();
    net
}

#[test]
fn when_the_first_path_fails_the_next_one_takes_over() {
    let mut net = ready(&quiet());
    net.part(0, 1);
    let packet = net.send_until(0, 5, 3_000);
    assert_eq!(net.ways[&packet], [0, 3, 4, 5].map(Address), "the packet is salvaged");
    assert_eq!(paths(&net, 0, 5), [(3, 4, 3)]);
    assert!(net.talk.is_empty(), "no search, no error: {:?}", net.talk);
    let changes: Vec<_> = net.changes.iter().map(|(.., change)| (change.destination.0, change.route)).collect();
    assert_eq!(changes[0], (5, Some((Address(3), 3))), "the change of the route is announced");
    net.check_account();
}

#[test]
fn without_salvaging_a_packet_waits_at_its_source() {
    let mut net = ready(&Params { max_salvage_count: 0, ..quiet() });
    net.part(0, 1);
    let packet = net.send_until(0, 5, 3_000);
    assert_eq!(net.ways[&packet], [0, 3, 4, 5].map(Address), "it leaves the buffer at once by the other path");
    net.check_account();
}

#[test]
fn a_packet_is_salvaged_in_the_middle_of_its_way() {
    let mut net = linked(7, &quiet(), &[(0, 3), (3, 4), (3, 5), (4, 6), (5, 6)]);
    net.send_until(0, 6, 2_000);
    assert_eq!(paths(&net, 3, 6), [(4, 4, 2), (5, 5, 2)]);
    net.talk.clear();
    net.part(3, 4);
    let packet = net.send_until(0, 6, 3_000);
    assert_eq!(net.ways[&packet], [0, 3, 5, 6].map(Address));
    assert!(net.said("RERR").is_empty(), "{:?}", net.talk);
}

#[test]
fn a_packet_is_salvaged_so_often_only() {
    for profile in [RFC, NS2] {
        for (before, arrives) in [(9, true), (10, false)] {
            let params = Params { disjoint: Disjoint::Links, ..quiet_of(profile) };
            let mut net = linked(7, &params, &[(0, 3), (3, 4), (3, 5), (4, 6), (5, 6)]);
            net.send_until(0, 6, 2_000);
            assert_eq!(paths(&net, 3, 6).len(), 2, "{profile}");
            net.part(3, 4);
            let packet = net.send(0, 6);
            let on_its_way = net.cx.packets.iter().find(|(_, it)| !it.is_routing()).expect("the packet").0;
            net.cx.packets[on_its_way].salvaged = before;
            net.run_until(3_000);
            let way: &[u32] = if arrives { &[0, 3, 5, 6] } else { &[0, 3] };
            assert_eq!(net.ways[&packet], way.iter().copied().map(Address).collect::<Vec<_>>(), "{profile}");
            assert_eq!(net.dropped(3, DropReason::RetryLimit), u64::from(!arrives), "{profile}");
            assert_eq!(paths(&net, 3, 6), [(5, 5, 2)], "the other path is there");
            net.check_account();
        }
    }
}

#[test]
fn an_error_is_sent_only_for_the_last_path() {
    let mut net = linked(7, &quiet(), &[(0, 3), (3, 4), (3, 5), (4, 6), (5, 6)]);
    net.send_until(0, 6, 2_000);
    net.talk.clear();
    net.part(3, 4).send_until(0, 6, 3_000);
    assert!(net.said("RERR").is_empty());
    net.part(3, 5).send_until(0, 6, 3_100);
    assert_eq!(net.said("3>* RERR").len(), 1, "{:?}", net.talk);
    assert!(net.said("3>* RERR")[0].contains("RERR 6/1"), "the number is raised: {:?}", net.talk);
    assert_eq!(paths(&net, 0, 6), [], "the source has no other path");
    assert_eq!(net.dropped(3, DropReason::RetryLimit), 1);
    let lost = net.changes.iter().any(|(_, node, change)| *node == Address(0) && change.route.is_none());
    assert!(lost, "the loss is announced: {:?}", net.changes);
    net.check_account();
}

#[test]
fn a_route_that_nobody_else_uses_is_lost_without_an_error() {
    let mut net = ready(&quiet());
    net.part(0, 1).part(0, 3).send_until(0, 5, 2_050);
    assert!(net.said("RERR").iter().all(|line| !line.contains(" 0>*")), "{:?}", net.talk);
    assert!(net.said("0>* RREQ").len() == 1, "it looks again at once: {:?}", net.talk);
}

#[test]
fn an_error_removes_the_paths_through_its_sender_and_goes_on_only_if_no_other_is_left() {
    let mut net = network(1, &quiet());
    net.inject(1, 0, 5, reply(1, 20, 2, 11)).inject(2, 0, 5, reply(1, 20, 2, 12));
    net.inject(3, 0, 5, request(2, 1, 13)).run_until(10);
    net.talk.clear();
    let error = |sequence| wrap(AomdvMessage::Error(vec![(Address(9), sequence)]));
    net.inject(4, 0, 1, error(23));
    assert_eq!(paths(&net, 0, 9).len(), 2, "no path leads through node 4");
    net.inject(1, 0, 1, error(23));
    assert_eq!(paths(&net, 0, 9), [(2, 12, 3)]);
    assert!(net.at(30).talk.is_empty());
    net.inject(2, 0, 1, error(21)).run_until(50);
    assert_eq!(paths(&net, 0, 9), []);
    assert!(net.talk[0].contains("RERR 9/23"), "the highest number that was heard: {:?}", net.talk);
}

#[test]
fn a_data_packet_without_a_path_in_transit_is_reported() {
    let mut net = linked(4, &quiet(), &[(0, 1), (1, 2), (2, 3)]);
    net.send_until(0, 3, 2_000);
    net.talk.clear();
    // Node 1 hears of the break from nobody, and has no path to forward the packet on.
    net.part(1, 2).send_until(0, 3, 2_100);
    assert_eq!(net.said("1>* RERR 3/1").len(), 1, "{:?}", net.talk);
    net.check_account();
}

#[test]
fn every_path_expires_by_itself() {
    let mut net = ready(&quiet());
    // The first path is used; the other one lives for 20 s after its reply, which came at 247 ms.
    for second in 2..30 {
        net.send_until(0, 5, second * 1_000);
        let expected: &[_] = if second <= 20 { &[(1, 2, 3), (3, 4, 3)] } else { &[(1, 2, 3)] };
        assert_eq!(paths(&net, 0, 5), expected, "after {second} s");
    }
    net.run_until(37_900);
    assert_eq!(paths(&net, 0, 5).len(), 1, "ten seconds after the last packet");
    net.run_until(38_100);
    assert_eq!(paths(&net, 0, 5).len(), 0);
    assert!(net.said("RERR").is_empty(), "nobody is told of what expires");
    let sequence = aomdv(&net, 0).state().table.get(Address(5)).map(|entry| entry.sequence);
    assert_eq!(sequence, Some(1), "it counts as lost: its number is raised");
    net.run_until(90_000);
    assert!(aomdv(&net, 0).state().table.get(Address(5)).is_none(), "later it is forgotten");
}

#[test]
fn a_copy_of_a_known_path_lets_it_live_on() {
    let mut net = network(1, &quiet());
    net.inject(1, 0, 5, reply(1, 20, 2, 11)).run_until(4_000);
    net.inject(1, 0, 5, reply(1, 20, 2, 11)).run_until(9_900);
    assert_eq!(paths(&net, 0, 9), [(1, 11, 3)]);
    net.run_until(10_100);
    assert_eq!(paths(&net, 0, 9), []);
}

#[test]
fn a_neighbour_that_says_nothing_is_lost() {
    let params = Params { link_detection: LinkDetection::Hello, ..Params::of_profile(RFC) };
    let mut net = linked(3, &params, &[(0, 1), (1, 2)]);
    for second in 1..10 {
        net.send_until(0, 2, second * 1_000);
    }
    assert!(net.said("1>* HELLO").len() >= 5, "{:?}", net.talk);
    net.part(0, 1).run_until(12_000);
    assert_eq!(paths(&net, 0, 2), [], "2.07 s after its last HELLO");
    net.check_account();
}

#[test]
fn the_buffer_drops_the_oldest_and_what_waits_too_long() {
    let params = Params { buffer_packets: 2, rreq_retries: 9, ..quiet() };
    let mut net = network(1, &params);
    for _ in 0..3 {
        net.send(0, 9);
    }
    assert_eq!(net.dropped(0, DropReason::RouteBufferFull), 1);
    assert_eq!(net.at(31_000).dropped(0, DropReason::RouteTimeout), 2);
    net.check_account();
}
