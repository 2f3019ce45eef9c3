//! The node that is asked for a grant.

use super::super::params::Resends;
use super::*;

/// Node 5, which knows a few slots.
fn asked(change: impl FnOnce(&mut Params)) -> Node {
    let mut node = Node::new(5, |it| {
        it.settle = Span::from_secs(1000);
        change(it);
    });
    assert_eq!(node.hears(1, hello(Some(4), 9, &[entry(5, None, 0), entry(7, Some(2), 1)])), []);
    assert_eq!(node.hears(2, hello(None, 0, &[entry(5, None, 0)])), []);
    node
}

#[test]
fn a_grant_tells_the_slots_of_the_node_and_its_neighbours() {
    let mut node = asked(|_| {});
    assert_eq!(node.hears(2, request(1)), [(Some(2), grant(1, &[entry(1, Some(4), 9)]))]);
    // Nobody else is granted until the request has ended.
    assert_eq!(node.hears(1, request(10)), [(Some(1), Message::Reject { round: 10 })]);
    assert_eq!(node.hears(2, release(1, 0)), [(None, Message::TwoHopRelease { node: Address(2), round: 1, slot: 0 })]);
    assert_eq!(node.hears(1, request(10)), [(Some(1), grant(10, &[entry(2, Some(0), 1)]))]);
}

#[test]
fn a_repeated_request_is_granted_again_and_a_stale_one_ignored() {
    let mut node = asked(|_| {});
    assert_eq!(node.hears(2, request(3)).len(), 1);
    let answer = Message::Grant { again: false, resends: 2, round: 3, decided: vec![entry(1, Some(4), 9)] };
    assert_eq!(node.hears(2, request_again(2, 3)), [(Some(2), answer)]);
    assert_eq!(node.hears(2, request(2)), [], "an older round");
    assert_eq!(node.hears(2, request(4)), [(Some(2), grant(4, &[entry(1, Some(4), 9)]))], "a later one");
    assert_eq!(node.hears(2, Message::Fail { round: 3 }), [], "the end of the older one");
    assert_eq!(node.hears(1, request(10)), [(Some(1), Message::Reject { round: 10 })]);
    assert_eq!(node.hears(2, Message::Fail { round: 4 }), []);
    assert_eq!(node.hears(1, request(11)).len(), 1);
    assert!(matches!(node.said()[..], []));
}

#[test]
fn a_grant_is_repeated_so_often_and_then_forgotten() {
    let mut node = asked(|it| it.grant_resends = Resends::Times(2));
    node.hears(2, request(3));
    let begin = node.now;
    for again in 1..=2 {
        let said = node.waits();
        assert!(matches!(said[..], [(Some(2), Message::Grant { again: true, round: 3, .. })]), "{said:?}");
        assert_eq!(node.now.since(begin), Span::from_millis(50) * again);
    }
    assert_eq!(node.waits(), []);
    assert_eq!(node.machine.counters().forgotten, 1);
    assert!(matches!(node.hears(1, request(10))[..], [(Some(1), Message::Grant { .. })]));
    // Without a limit it is kept.
    let mut node = asked(|it| it.grant_resends = Resends::Unlimited);
    node.hears(2, request(3));
    for _ in 0..1000 {
        assert!(matches!(node.waits()[..], [(Some(2), Message::Grant { again: true, .. })]));
    }
    assert_eq!(node.hears(1, request(10)), [(Some(1), Message::Reject { round: 10 })]);
}

#[test]
fn the_end_of_a_request_is_learned_from_hellos_and_relays_too() {
    let relayed = Message::TwoHopRelease { node: Address(2), round: 3, slot: 0 };
    let granting = || {
        let mut node = asked(|_| {});
        assert_eq!(node.hears(2, request(3)).len(), 1);
        node
    };
    // A HELLO with the slot; one of an older round; one that still waits; one that waits no longer.
    assert_eq!(granting().hears(2, hello(Some(0), 3, &[entry(5, None, 0)])), [(None, relayed.clone())]);
    let mut node = granting();
    assert_eq!(node.hears(2, hello(Some(0), 2, &[entry(5, None, 0)])), []);
    let Message::Hello(waits) = hello(None, 3, &[entry(5, None, 0)]) else { unreachable!("it is a HELLO") };
    assert_eq!(node.hears(2, Message::Hello(Hello { requesting: true, ..waits })), []);
    assert_eq!(node.hears(1, request(10)), [(Some(1), Message::Reject { round: 10 })]);
    assert_eq!(node.hears(2, hello(None, 3, &[entry(5, None, 0)])), []);
    assert!(matches!(node.hears(1, request(10))[..], [(Some(1), Message::Grant { .. })]));
    // The relay of another neighbour. The release itself is not relayed a second time.
    let mut node = granting();
    assert_eq!(node.hears(1, relayed.clone()), [(None, relayed)]);
    assert_eq!(node.hears(2, release(3, 0)), []);
}

#[test]
fn a_holder_that_is_gone_is_forgotten_with_the_neighbour() {
    let mut node = asked(|it| {
        (it.interval, it.hold, it.grant_resends) = (Span::from_secs(1), Span::from_secs(3), Resends::Unlimited);
    });
    node.hears(2, request(3));
    while node.now.since(Time::ZERO) < Span::from_secs(5) {
        node.waits();
    }
    assert_eq!(node.machine.tables().neighbours().len(), 0);
    assert_eq!(node.hears(1, request(10)), [(Some(1), grant(10, &[]))]);
}

#[test]
fn a_node_with_a_slot_grants_too_and_keeps_it() {
    let mut node = Node::new(5, |_| {});
    assert_eq!(node.says_next().len(), 2);
    assert_eq!(node.hears(2, request(1)), [(Some(2), grant(1, &[entry(5, Some(0), 1)]))]);
    assert_eq!(node.machine.slot(), Some(0));
    // It answers for its own request while it grants another one.
    assert_eq!(node.hears(3, grant_again(1)), [(Some(3), release(1, 0))]);
    assert_eq!(node.hears(3, request(1)), [(Some(3), Message::Reject { round: 1 })]);
}
