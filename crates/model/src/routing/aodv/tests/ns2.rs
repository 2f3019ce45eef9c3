//! ns-2's procedures.

use super::super::RepairTimer;
use super::*;
use crate::routing::Routes;

/// ns-2's defaults without jitter.
fn plain() -> Params {
    Params { broadcast_jitter: Span::ZERO, ..Params::of_profile(NS2) }
}

/// When each line was said, in milliseconds.
fn times(lines: &[&str]) -> Vec<u64> {
    lines.iter().map(|line| line.split(' ').next().expect("a time").parse().expect("a number")).collect()
}

#[test]
fn a_discovery_over_three_hops_goes_as_in_ns2() {
    let mut net = chain(4, &plain());
    let packet = net.send_until(0, 3, 2_000);
    let expected = "\
0 0>* RREQ 1 1 hops to 3/0 for 0/4 [] ttl 30 48 B
1 1>* RREQ 1 2 hops to 3/0 for 0/4 [] ttl 29 48 B
2 2>* RREQ 1 3 hops to 3/0 for 0/4 [] ttl 28 48 B
3 3>2 RREP 1 hops to 3/4 for 0 life 10 s [] ttl 30 44 B
4 2>1 RREP 2 hops to 3/4 for 0 life 10 s [] ttl 29 44 B
5 1>0 RREP 3 hops to 3/4 for 0 life 10 s [] ttl 28 44 B";
    assert_eq!(net.talk.join("\n"), expected);
    assert_eq!(net.ways[&packet], [0, 1, 2, 3].map(Address));
    assert_eq!(net.arrived, [(packet, Time::from_nanos(9_000_000))]);
    net.check_account();
}

#[test]
fn only_forwarded_broadcasts_are_delayed_by_chance() {
    let net = chain(3, &Params::of_profile(NS2)).having_sent(0, 9, 100);
    let at = times(&net.said("RREQ"));
    assert_eq!(at[0], 0);
    assert!((1..=11).contains(&at[1]) && (at[1] + 1..=at[1] + 12).contains(&at[2]) && at[2] > 2, "{at:?}");
}

#[test]
fn floods_are_repeated_at_half_second_ticks_with_growing_waits() {
    let mut net = chain(2, &plain()).having_sent(0, 9, 18_900);
    // Waits: 2 * 30 hops * 30 ms = 1.8 s, times the number of floods; then the next tick.
    assert_eq!(times(&net.said("0>* RREQ")), [0, 2_000, 6_000, 11_500]);
    assert_eq!(net.dropped(0, DropReason::DiscoveryFailed), 0);
    assert_eq!(net.at(19_000).dropped(0, DropReason::DiscoveryFailed), 1);
    // For ten seconds nobody is asked for the destination, but packets for it are held.
    net.run_until(20_000);
    net.send_until(0, 9, 28_900);
    assert_eq!(net.said("0>* RREQ").len(), 4);
    net.run_until(29_100);
    assert_eq!(times(&net.said("0>* RREQ"))[4..], [29_000]);
    net.check_account();
}

#[test]
fn later_searches_start_from_the_last_distance_and_wait_by_measure() {
    let mut net = chain(4, &plain()).having_sent(0, 3, 1_000);
    net.part(0, 1).send_until(0, 3, 1_010);
    assert_eq!(net.route(0, 3), None);
    net.talk.clear();
    net.send_until(0, 3, 9_000);
    // Three hops away before: TTL 5, then 7, then the network. One discovery took 6 ms over 3 hops: waits of 20, 28,
    // 120, 240, 360, 480 ms, so that each tick finds the last one over.
    let said = net.said("0>* RREQ");
    let ttls: Vec<_> = said.iter().map(|line| line.split(' ').nth(12).expect("a TTL")).collect();
    assert_eq!(ttls, ["5", "7", "30", "30", "30", "30"]);
    assert_eq!(times(&said), [1_011, 1_500, 2_000, 2_500, 3_000, 3_500]);
    assert_eq!(net.dropped(0, DropReason::DiscoveryFailed), 1);
}

#[test]
fn a_node_on_the_way_answers_in_whole_seconds() {
    let mut net = network(1, &plain());
    net.inject(
        5,
        0,
        5,
        wrap(AodvMessage::Reply(Reply { originator: Address(0), lifetime: Span::from_secs(10), ..reply() })),
    );
    net.run_until(2_300);
    net.inject(1, 0, 5, wrap(AodvMessage::Request(request())));
    assert_eq!(net.talk, ["2300 0>1 RREP 2 hops to 9/20 for 8 life 7 s [] ttl 30 44 B"]);
}

#[test]
fn an_answer_over_a_route_that_is_down_goes_to_the_first_node() {
    let mut net = network(2, &plain());
    net.inject(5, 1, 5, wrap(AodvMessage::Request(Request { destination: Address(7), ..request() })));
    net.inject(6, 1, 5, wrap(AodvMessage::Reply(Reply { originator: Address(1), ..reply() })));
    let unreachable = vec![(Address(8), 6)];
    net.inject(5, 1, 1, wrap(AodvMessage::Error(RouteError { no_delete: false, unreachable })));
    assert_eq!((net.route(1, 8), net.route(1, 9)), (None, Some((6, 1))));
    // Its originator has a lower number here than in the error.
    net.inject(5, 1, 5, wrap(AodvMessage::Request(Request { id: 2, ..request() })));
    assert_eq!(net.at(10).said("RREP"), ["1 1>0 RREP 2 hops to 9/20 for 8 life 6 s [] ttl 30 44 B"]);
}

#[test]
fn a_failed_packet_takes_the_queue_and_every_route_over_the_link_with_it() {
    let mut net = chain(4, &plain()).having_sent(0, 3, 1_000);
    net.part(1, 2);
    net.talk.clear();
    for _ in 0..4 {
        net.send(0, 3);
    }
    assert_eq!(net.at(1_030).dropped(1, DropReason::RetryLimit), 1);
    assert_eq!(net.dropped(1, DropReason::BrokenLink), 3, "one hop travelled, two to go: no repair");
    assert_eq!(net.said("RERR"), ["1011 1>* RERR 3/5 [] ttl 1 32 B"], "node 0's route has no user to tell");
    assert_eq!((net.route(0, 3), net.route(1, 3)), (None, None));
    net.check_account();
}

#[test]
fn a_failed_message_breaks_no_link() {
    let mut net = chain(2, &plain());
    net.mute(0, 1);
    net.inject(
        0,
        1,
        5,
        wrap(AodvMessage::Request(Request { destination: Address(1), originator: Address(0), ..request() })),
    );
    assert_eq!(net.at(100).dropped(1, DropReason::RetryLimit), 1);
    assert_eq!(net.route(1, 0), Some((0, 1)));
    assert!(net.said("RERR").is_empty());
}

/// A chain 0-1-2-3 whose last link breaks while in use, with or without a detour 2-4-3.
fn broken_near_the_end(params: &Params, detour: bool, at: u64) -> (Network, u64) {
    let mut net = network(5, params).chained(&[0, 1, 2, 3]).after(at - 1_000).having_sent(0, 3, at);
    if detour {
        net.chain(&[2, 4, 3]);
    }
    net.part(2, 3);
    net.talk.clear();
    let packet = net.send(0, 3);
    (net, packet)
}

#[test]
fn a_repair_near_the_destination_saves_the_packet() {
    let (mut net, packet) = broken_near_the_end(&plain(), true, 1_000);
    assert_eq!(net.at(2_000).ways[&packet], [0, 1, 2, 4, 3].map(Address));
    assert!(net.talk[0].starts_with("1012 2>* RREQ 1 1 hops to 3/4 for 2/4 [] ttl 30"), "{}", net.talk[0]);
    assert!(net.said("RERR").is_empty(), "nobody is told");
    net.check_account();
}

#[test]
fn a_repair_is_given_up_late_by_the_letter_and_in_time_by_intent() {
    for (timer, gone_by, errors) in [(RepairTimer::Literal, 23_500, 0), (RepairTimer::Intended, 11_900, 1)] {
        let (mut net, packet) = broken_near_the_end(&Params { repair_timer: timer, ..plain() }, false, 10_000);
        // Asked at 10.012 s, to be answered by 11.812 s; by the letter that is the delay, too.
        assert_eq!(net.at(11_700).ways[&packet].last(), Some(&Address(2)));
        assert_eq!(net.router(2).held().len(), 1);
        assert_eq!(net.at(gone_by).said("2>* RERR").len(), errors);
        assert_eq!(net.dropped(2, DropReason::DiscoveryFailed), errors as u64);
        assert_eq!(net.at(40_000).dropped(2, DropReason::DiscoveryFailed), 1);
        net.check_account();
    }
}

#[test]
fn an_unused_route_is_found_expired_at_a_tick() {
    let mut net = chain(3, &plain()).after(300).having_sent(0, 2, 10_400);
    // Node 0 used its route last at 0.304 s.
    assert_eq!(net.route(0, 2), Some((1, 2)));
    assert_eq!(net.at(10_499).route(0, 2), Some((1, 2)));
    assert_eq!(net.at(10_500).route(0, 2), None);
    // The way back was used by the reply at 0.303 s at node 1, and never at node 2: six seconds.
    let mut net = chain(3, &plain()).after(300).having_sent(0, 2, 6_499);
    assert_eq!(net.route(2, 0), Some((1, 2)));
    assert_eq!((net.at(6_500).route(2, 0), net.route(1, 0)), (None, Some((0, 1))));
}

#[test]
fn packets_leave_the_buffer_ten_milliseconds_apart() {
    let mut net = chain(2, &plain());
    for _ in 0..3 {
        net.send(0, 1);
    }
    net.run_until(1_000);
    let arrived: Vec<_> = net.arrived.iter().map(|(_, at)| at.nanos() / 1_000_000).collect();
    assert_eq!(arrived, [3, 13, 23]);
}

#[test]
fn a_packet_without_a_route_in_transit_is_reported_to_all() {
    let mut net = chain(2, &plain());
    net.inject(1, 0, 5, wrap(AodvMessage::Reply(Reply { originator: Address(0), ..reply() })));
    net.send_until(0, 9, 100);
    assert_eq!(net.said("RERR"), ["1 1>* RERR 9/0 [] ttl 1 32 B"]);
    assert_eq!(net.dropped(1, DropReason::NoRoute), 1);
    assert_eq!(net.route(0, 9), Some((1, 1)), "its number is older than the route's, which therefore stays");
}

#[test]
fn hello_messages_when_they_are_compiled_in() {
    let params = Params { link_detection: LinkDetection::Hello, ..plain() };
    let mut net = chain(3, &params).after(10_000);
    for node in 0..3 {
        let at = times(&net.said(&format!("{node}>* HELLO")));
        assert_eq!(at[0], 0, "all at once, used or not");
        assert!(at.windows(2).all(|pair| (749..=1_251).contains(&(pair[1] - pair[0]))), "{at:?}");
    }
    net.send_until(0, 2, 10_500);
    net.part(1, 2);
    assert_eq!(net.at(14_900).route(1, 2), Some((2, 1)));
    assert_eq!(net.at(16_000).route(1, 2), None, "4.5 s after the last HELLO, at a full second");
    assert_eq!(times(&net.said("1>* RERR"))[0] % 1_000, 0);
}

#[test]
fn idle_nodes_cost_nothing() {
    let net = chain(6, &plain()).after(1_000_000);
    assert_eq!(net.timer_calls, 0);
}
