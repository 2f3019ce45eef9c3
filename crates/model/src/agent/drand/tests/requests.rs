//! The node that asks for a slot.

use super::super::params::Lottery;
use super::*;

/// Node 5 with these neighbours, which hear it, and its request in round 1.
fn asking(neighbours: &[u32], change: impl FnOnce(&mut Params)) -> Node {
    let mut node = Node::new(5, change);
    for &neighbour in neighbours {
        assert_eq!(node.hears(neighbour, hello(None, 0, &[entry(5, None, 0)])), []);
    }
    assert_eq!(node.says_next(), [(None, request(1))]);
    node
}

#[test]
fn with_all_grants_it_takes_the_smallest_slot_that_is_free_within_two_hops() {
    let mut node = asking(&[1, 2], |_| {});
    assert_eq!(node.hears(1, grant(1, &[entry(1, Some(0), 3), entry(8, Some(1), 1)])), []);
    assert_eq!(node.machine.slot(), None);
    assert_eq!(node.hears(2, grant(1, &[entry(9, Some(3), 1)])), [(None, release(1, 2))]);
    assert_eq!(node.machine.slot(), Some(2));
    let expected = Assignment { slot: Some(2), largest_near: Some(3), largest: Some(3) };
    assert_eq!(node.assigned.last(), Some(&expected));
    // A repeated grant: the neighbour has not heard the release. A first one that comes late is not answered.
    assert_eq!(node.hears(2, grant_again(1)), [(Some(2), release(1, 2))]);
    assert_eq!(node.hears(2, grant(1, &[])), []);
}

#[test]
fn a_node_without_neighbours_takes_the_first_slot_at_once() {
    let mut node = Node::new(5, |_| {});
    assert_eq!(node.says_next(), [(None, request(1)), (None, release(1, 0))]);
    assert!(node.now.since(Time::ZERO) > node.params.settle);
}

#[test]
fn one_refusal_ends_the_request_and_a_stale_one_does_not() {
    let mut node = asking(&[1, 2], |_| {});
    assert_eq!(node.hears(1, Message::Reject { round: 0 }), []);
    assert_eq!(node.hears(1, grant(0, &[])), [], "a grant of an older round");
    assert_eq!(node.hears(1, Message::Reject { round: 1 }), [(None, Message::Fail { round: 1 })]);
    // The broadcast was lost: the neighbour that repeats its grant is told again.
    assert_eq!(node.hears(2, grant_again(1)), [(Some(2), Message::Fail { round: 1 })]);
    assert_eq!(node.says_next(), [(None, request(2))]);
    assert_eq!(node.hears(2, grant_again(1)), [], "the request of the new round is on its way");
    assert_eq!(node.hears(1, grant(2, &[])), []);
    assert_eq!(node.hears(2, grant(2, &[])), [(None, release(2, 0))]);
}

#[test]
fn those_that_have_not_answered_are_asked_again_and_then_the_request_has_failed() {
    let mut node = asking(&[1, 2], |it| (it.request_resends, it.try_jitter) = (2, 0.0));
    let asked = node.now;
    assert_eq!(node.hears(1, grant(1, &[])), []);
    for again in 1..=2 {
        assert_eq!(node.says_next(), [(Some(2), request_again(again, 1))]);
        assert_eq!(node.now.since(asked), Span::from_millis(150) * u64::from(again));
    }
    // Neighbour 2 has been heard within `silence`.
    assert_eq!(node.hears(2, Message::Reject { round: 0 }), []);
    assert_eq!(node.says_next(), [(None, Message::Fail { round: 1 })]);
}

#[test]
fn a_silent_neighbour_and_one_that_does_not_hear_the_node_are_left_out() {
    let mut node = asking(&[1, 2], |it| (it.request_resends, it.silence) = (1, Span::from_secs(2)));
    // Node 3 is heard, but does not list node 5.
    assert_eq!(node.hears(3, hello(Some(0), 4, &[])), []);
    assert_eq!(node.hears(1, grant(1, &[])), []);
    assert_eq!(node.says_next(), [(Some(2), request_again(1, 1)), (Some(3), request_again(1, 1))]);
    assert_eq!(node.says_next(), [(None, release(1, 1))], "slot 0 is that of node 3");
    assert_eq!(node.machine.counters().left_out, 2);
}

#[test]
fn a_neighbour_that_appears_while_the_request_waits_must_grant_it_too() {
    let mut node = asking(&[1], |_| {});
    assert_eq!(node.hears(4, hello(None, 0, &[entry(5, None, 1)])), []);
    assert_eq!(node.hears(1, grant(1, &[])), []);
    assert_eq!(node.says_next(), [(Some(4), request_again(1, 1))]);
    assert_eq!(node.hears(4, grant(1, &[])), [(None, release(1, 0))]);
}

#[test]
fn what_grants_have_told_is_followed_until_the_request_ends() {
    // Two neighbours; one of them grants, speaks of node 9 again, and then both are silent until they are forgotten.
    let taken = |later: Message| {
        let mut node = asking(&[1, 2], |it| {
            (it.interval, it.hold) = (Span::from_secs(1), Span::from_secs(12));
            (it.settle, it.first_delay, it.try_jitter) = (Span::ZERO, Span::from_secs(3), 0.0);
        });
        assert_eq!(node.hears(1, grant(1, &[entry(9, Some(0), 4)])), []);
        assert_eq!(node.hears(2, Message::Reject { round: 0 }), []);
        assert_eq!(node.hears(1, later), []);
        assert_eq!(node.says_next(), [(Some(2), request_again(1, 1))]);
        let said = node.says_next();
        assert_eq!(node.machine.tables().neighbours().len(), 0, "they are forgotten");
        said.into_iter().find(|it| !matches!(it.1, Message::Hello(_)))
    };
    let moved = |slot, round| hello(None, 0, &[entry(5, None, 1), entry(9, slot, round)]);
    assert_eq!(taken(moved(Some(0), 4)), Some((None, release(1, 1))), "node 9 has what the grant has told");
    assert_eq!(taken(moved(Some(1), 6)), Some((None, release(1, 0))), "node 9 has moved to slot 1");
    assert_eq!(taken(moved(None, 5)), Some((None, release(1, 0))), "node 9 has given its slot up");
    assert_eq!(taken(hello(None, 0, &[entry(5, None, 1)])), Some((None, release(1, 1))), "nothing newer is known");
}

#[test]
fn a_response_time_counts_from_the_request_that_is_answered() {
    let mut node = asking(&[1, 2, 3], |_| {});
    node.now += Span::from_millis(69);
    assert_eq!(node.hears(1, grant(1, &[])), []);
    assert_eq!(node.machine.delay(), Span::from_millis(70));
    assert_eq!(node.hears(2, grant_again(1)), []);
    assert_eq!(node.machine.delay(), Span::from_millis(70), "a repetition says nothing");
    // 150 ms after the request it is sent again. The answer to the first one comes after all.
    assert_eq!(node.says_next(), [(Some(3), request_again(1, 1))]);
    node.now += Span::from_millis(9);
    assert_eq!(node.hears(3, grant(1, &[])), [(None, release(1, 0))]);
    assert_eq!(node.machine.delay(), Span::from_millis(160));
    // Here, the second one is answered.
    let mut node = asking(&[1], |_| {});
    assert_eq!(node.says_next(), [(Some(1), request_again(1, 1))]);
    node.now += Span::from_millis(59);
    let second = Message::Grant { again: false, resends: 1, round: 1, decided: Vec::new() };
    assert_eq!(node.hears(1, second), [(None, release(1, 0))]);
    assert_eq!(node.machine.delay(), Span::from_millis(60));
}

/// How many tries a node makes for one request.
fn tries(lottery: Lottery, coin: f64) -> f64 {
    let mut node = Node::new(5, |it| (it.lottery, it.coin, it.try_jitter) = (lottery, coin, 0.0));
    // Four nodes have no slot: 5, 1, 8 and 9; node 2 has one. Node 1 tells of 20.
    let Message::Hello(mut told) = hello(None, 0, &[entry(5, None, 0), entry(8, None, 0), entry(9, None, 0)]) else {
        unreachable!("it is a HELLO")
    };
    told.undecided = 20;
    assert_eq!(node.hears(1, Message::Hello(told)), []);
    assert_eq!(node.hears(2, hello(Some(0), 1, &[entry(5, None, 0)])), []);
    let begin = Time::ZERO + node.params.settle;
    let (mut requests, mut round) = (0, 0);
    while requests < 3000 {
        assert_eq!(
            node.says_next(),
            [(
                None,
                request({
                    round += 1;
                    round
                })
            )]
        );
        node.hears(1, Message::Reject { round });
        requests += 1;
    }
    node.now.since(begin).seconds() / node.machine.delay().mul_f64(3.0).seconds() / f64::from(requests)
}

#[test]
fn the_lottery_is_won_as_often_as_coin_and_count_say() {
    let near = |found: f64, expected: f64| assert!((found / expected - 1.0).abs() < 0.06, "{found}, not {expected}");
    near(tries(Lottery::Own, 1.0), 4.0);
    near(tries(Lottery::Own, 0.5), 8.0);
    near(tries(Lottery::Largest, 1.0), 20.0);
}
