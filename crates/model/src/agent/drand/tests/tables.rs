//! Neighbours, conflicts, and what spreads by HELLOs.

use std::sync::Arc;

use proptest::prelude::*;

use super::super::tables::Tables;
use super::*;

/// Node 5, alone with slot 0 of round 1.
fn decided() -> Node {
    let mut node = Node::new(5, |_| {});
    assert_eq!(node.says_next().len(), 2);
    node
}

#[test]
fn the_larger_address_gives_up_a_slot_that_is_there_within_two_hops() {
    // A neighbour has the slot; or a neighbour of one; or a release or a relay says so.
    let near = |node| hello(Some(3), 1, &[entry(5, Some(0), 1), entry(node, Some(0), 1)]);
    let with = [(2, hello(Some(0), 1, &[entry(5, Some(0), 1)])), (9, near(2)), (2, release(1, 0))];
    for (from, message) in with {
        let mut node = decided();
        node.hears(from, message);
        assert_eq!(node.machine.slot(), None);
        assert_eq!(node.machine.counters().conflicts, 1);
        assert_eq!(node.assigned.last().map(|it| it.slot), Some(None));
        // It tries anew, in a later round.
        assert_eq!(node.says_next(), [(None, request(3))]);
    }
    // The smaller address keeps it.
    for (from, message) in [(7, hello(Some(0), 1, &[entry(5, Some(0), 1)])), (9, near(7)), (7, release(1, 0))] {
        let mut node = decided();
        node.hears(from, message);
        assert_eq!(node.machine.slot(), Some(0));
    }
}

#[test]
fn what_others_say_of_a_slot_that_was_given_up_is_no_conflict() {
    let mut node = decided();
    node.hears(2, hello(None, 4, &[entry(5, Some(0), 1)]));
    node.hears(9, hello(Some(3), 1, &[entry(5, Some(0), 1), entry(2, Some(0), 3)]));
    assert_eq!(node.machine.slot(), Some(0), "node 2 had the slot in round 3, and has none in round 4");
    node.hears(9, hello(Some(3), 1, &[entry(5, Some(0), 1), entry(2, Some(0), 5)]));
    assert_eq!(node.machine.slot(), None, "it has it again in round 5");
}

#[test]
fn a_node_that_starts_anew_goes_on_after_the_rounds_that_others_remember() {
    let mut node = Node::new(5, |_| {});
    assert_eq!(node.hears(2, hello(Some(0), 1, &[entry(5, Some(7), 40)])), []);
    assert_eq!(node.says_next(), [(None, request(42))]);
}

#[test]
fn hellos_list_who_is_heard_and_tell_what_is_known() {
    let mut node = Node::new(5, |it| it.settle = Span::from_secs(5000));
    node.hears(2, hello(Some(3), 1, &[entry(8, None, 2)]));
    node.hears(1, hello(None, 6, &[entry(5, None, 0)]));
    let said = node.waits();
    let [(None, Message::Hello(told))] = &said[..] else { panic!("{said:?}") };
    assert_eq!(*told.neighbours, [entry(1, None, 6), entry(2, Some(3), 1)]);
    assert_eq!((told.undecided, told.requesting, told.claim), (3, false, Claim::new(None, 0)));
    assert_eq!((told.largest, told.age), (Some(3), 0));
}

#[test]
fn the_largest_slot_spreads_with_its_age_and_is_forgotten() {
    let mut node = Node::new(5, |it| {
        (it.interval, it.settle, it.hold) = (Span::from_secs(1), Span::from_secs(5000), Span::from_secs(30));
        it.largest_hold = Span::from_secs(10);
    });
    while node.now.since(Time::ZERO) < Span::from_secs(20) {
        node.waits();
    }
    let begin = node.now;
    let Message::Hello(told) = hello(Some(1), 1, &[entry(5, None, 0)]) else { unreachable!("it is a HELLO") };
    let told = |slot, age| Message::Hello(Hello { largest: Some(slot), age, ..told.clone() });
    node.hears(2, told(30, 10_000));
    assert_eq!(node.machine.assigned().largest, Some(1), "too old");
    node.hears(2, told(20, 4_000));
    node.hears(2, told(10, 0));
    assert_eq!(node.machine.assigned().largest, Some(20));
    assert_eq!(node.machine.assigned().largest_near, Some(1));
    let said = node.waits();
    let [(None, Message::Hello(next))] = &said[..] else { panic!("{said:?}") };
    let passed = node.now.since(begin).nanos() / 1_000_000;
    assert_eq!(next.largest, Some(20));
    assert!((passed + 3_990..=passed + 4_000).contains(&u64::from(next.age)), "{} {passed}", next.age);
    while node.now.since(begin) < Span::from_secs(8) {
        node.waits();
    }
    assert_eq!(node.machine.assigned().largest, Some(1));
}

#[test]
fn an_older_list_does_not_undo_what_a_relay_has_told() {
    let mut tables = Tables::new(Address(5));
    let (now, hold) = (Time::ZERO + Span::from_secs(1), Span::from_secs(6));
    let hear = |tables: &mut Tables, message: Message| {
        let Message::Hello(hello) = message else { unreachable!("it is a HELLO") };
        tables.hear_hello(Address(2), &hello, now, hold, hold);
    };
    hear(&mut tables, hello(None, 0, &[entry(8, None, 3)]));
    tables.hear_from(Address(2), entry(8, Some(6), 4));
    hear(&mut tables, hello(None, 0, &[entry(8, None, 3)]));
    assert_eq!(tables.claim(Address(8)), Some(Claim::new(Some(6), 4)));
    assert_eq!(tables.known(), [entry(2, None, 0), entry(8, Some(6), 4)]);
    assert_eq!(tables.largest_near(), Some(6));
    // It is not heard any longer there.
    hear(&mut tables, hello(None, 0, &[]));
    assert_eq!((tables.claim(Address(8)), tables.largest_near()), (None, None));
    // Nothing is learned from nodes of which nothing else is known.
    tables.hear_from(Address(3), entry(9, Some(1), 1));
    assert_eq!(tables.known(), [entry(2, None, 0)]);
}

#[test]
fn hellos_share_their_list_while_it_is_the_same() {
    let mut tables = Tables::new(Address(5));
    let now = Time::ZERO + Span::from_secs(1);
    tables.hear(Address(2), Claim::new(Some(3), 1), now);
    let first = tables.heard_to_tell();
    tables.hear(Address(2), Claim::new(Some(3), 1), now);
    assert!(Arc::ptr_eq(&first, &tables.heard_to_tell()));
    tables.hear(Address(2), Claim::new(Some(4), 2), now);
    let second = tables.heard_to_tell();
    assert_eq!((&*first, &*second), (&[entry(2, Some(3), 1)][..], &[entry(2, Some(4), 2)][..]));
    assert!(Arc::ptr_eq(&second, &tables.heard_to_tell()));
    tables.prune(now + Span::from_secs(9), Span::from_secs(6), Span::from_secs(6));
    assert_eq!(*tables.heard_to_tell(), []);
}

/// A claim as a node makes it: within a round it first has no slot, and then one.
fn claim() -> impl Strategy<Value = (u32, Claim)> {
    let slot = |node: u32, round: u16| Some(((node as u16) * 7 + round) % 5);
    (0..9_u32, 0..4_u16, any::<bool>())
        .prop_map(move |(node, round, has)| (node, Claim::new(slot(node, round).filter(|_| has), round)))
}

proptest! {
    /// A list that HELLOs share says the same as equal lists do, whatever was heard in between.
    #[test]
    fn a_shared_list_is_heard_as_its_copies_are(
        lists in prop::collection::vec((0..4_u32, prop::collection::vec(claim(), 0..9)), 3),
        steps in prop::collection::vec((0..4_u8, 0..3_usize, claim()), 1..60),
    ) {
        let lists = lists.into_iter().map(|(from, mut list)| {
            list.retain(|it| it.0 != from);
            list.sort_by_key(|it| it.0);
            list.dedup_by_key(|it| it.0);
            let entries = list.into_iter().map(|(node, claim)| Entry { node: Address(node), claim });
            (from, entries.collect::<Arc<[Entry]>>())
        });
        let lists: Vec<_> = lists.collect();
        let (mut shared, mut copied) = (Tables::new(Address(4)), Tables::new(Address(4)));
        let (mut now, hold) = (Time::ZERO + Span::from_secs(1), Span::from_secs(6));
        for (kind, which, (node, claim)) in steps {
            now += Span::from_secs(1);
            let (from, list) = &lists[which];
            for (tables, list) in [(&mut shared, Arc::clone(list)), (&mut copied, Arc::from(&**list))] {
                match kind {
                    0 if node != 4 => tables.hear(Address(node), claim, now),
                    1 => tables.hear_from(Address(*from), Entry { node: Address(node), claim }),
                    _ => {
                        let hello = Hello {
                            requesting: false, claim: Claim::new(None, 0), undecided: 0, largest: None, age: 0,
                            neighbours: list,
                        };
                        let own = hello.neighbours.iter().find(|it| it.node == Address(4)).map(|it| it.claim);
                        let said = tables.hear_hello(Address(*from), &hello, now, hold, hold);
                        prop_assert_eq!(said, own);
                        let it = tables.neighbour(Address(*from)).expect("it was heard");
                        prop_assert_eq!(it.is_present(now, hold), own.is_some());
                    }
                }
            }
            prop_assert_eq!(shared.known(), copied.known());
            prop_assert_eq!(shared.heard(), copied.heard());
            prop_assert_eq!(shared.take_changed(), copied.take_changed());
            prop_assert_eq!(shared.known(), shared.counted().0);
        }
    }

    /// What is counted along the way is what the entries of all neighbours say.
    #[test]
    fn sums_are_those_of_all_entries(
        steps in prop::collection::vec((0..4_u8, claim(), prop::collection::vec(claim(), 0..9)), 1..60),
    ) {
        let (mut tables, mut now) = (Tables::new(Address(4)), Time::ZERO + Span::from_secs(1));
        let hold = Span::from_secs(6);
        for (kind, (from, claim), mut list) in steps {
            now += Span::from_secs(1);
            list.sort_by_key(|it| it.0);
            list.dedup_by_key(|it| it.0);
            let entries = list.iter().filter(|it| it.0 != from).map(|&(node, claim)| Entry { node: Address(node), claim });
            match kind {
                _ if from == 4 => tables.prune(now, hold, hold),
                0 => tables.hear(Address(from), claim, now),
                1 => entries.for_each(|entry| tables.hear_from(Address(from), entry)),
                _ => {
                    let neighbours = entries.collect();
                    let hello = Hello { requesting: false, claim, undecided: 0, largest: None, age: 0, neighbours };
                    tables.hear_hello(Address(from), &hello, now, hold, hold);
                }
            }
            let (known, undecided, largest) = tables.counted();
            prop_assert_eq!(tables.known(), known);
            prop_assert_eq!((tables.undecided(), tables.largest_near()), (undecided, largest));
        }
    }
}
