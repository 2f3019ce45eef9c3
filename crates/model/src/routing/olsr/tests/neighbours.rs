//! Links, neighbours and relays (§6 to 8, 13, 14, 16).

use super::*;

#[test]
fn s6_2_a_hello_lists_a_heard_neighbour_as_asymmetric_and_then_as_symmetric() {
    let mut node = Alone::new(&defaults());
    assert_eq!(node.hello(1, &[]).run(2.0).says(1), Some((Asymmetric, Not)));
    assert_eq!(node.hello(1, &[(0, Asymmetric, Not)]).run(4.5).says(1), Some((Symmetric, NeighbourType::Symmetric)));
    assert_eq!(node.says(2), None);
}

#[test]
fn s6_2_a_hello_carries_willingness_and_both_times() {
    let mut node = Alone::new(&Params { willingness: 6, ..defaults() });
    node.run(3.0);
    let (_, message) = node.messages("HELLO")[0];
    let Content::Hello(hello) = &message.content else { panic!("it is a HELLO") };
    assert_eq!((message.vtime, hello.htime, hello.willingness), (0x86, 0x05, 6));
    assert_eq!((message.ttl, message.hops, message.size()), (1, 0, 16));
}

#[test]
fn s7_1_1_a_link_works_when_the_neighbour_lists_it_and_not_before() {
    let mut node = Alone::new(&defaults());
    assert_eq!(node.hello(1, &[(5, Symmetric, NeighbourType::Symmetric)]).route(1), None);
    assert_eq!(node.hello(1, &[(0, Asymmetric, Not)]).route(1), Some((1, 1)));
}

#[test]
fn s7_1_1_a_link_said_to_be_lost_does_not_work() {
    let mut node = Alone::new(&defaults());
    assert_eq!(node.neighbour(1, &[]).route(1), Some((1, 1)));
    assert_eq!(node.hello(1, &[(0, Lost, Not)]).route(1), None);
    assert_eq!(node.run(2.5).says(1), Some((Asymmetric, Not)));
}

#[test]
fn s7_1_1_a_silent_neighbour_is_lost_after_its_validity_and_listed_as_lost_for_as_long_again() {
    let mut node = Alone::new(&defaults());
    assert_eq!(node.neighbour(1, &[]).run(5.9).route(1), Some((1, 1)));
    assert_eq!(node.run(6.1).route(1), None);
    assert_eq!(node.run(11.5).says(1), Some((Lost, Not)));
    node.run(15.0);
    assert_eq!((node.says(1), node.it.0.links.len(), node.it.0.neighbours.len()), (None, 0, 0));
}

#[test]
fn s8_1_1_willingness_is_that_of_the_last_hello() {
    let mut node = Alone::new(&defaults());
    node.neighbour(1, &[5]).neighbour(2, &[5]);
    node.hello_with(2, 6, &[(0, Symmetric, NeighbourType::Symmetric), (5, Symmetric, NeighbourType::Symmetric)]);
    assert_eq!(node.relays(), [2]);
    node.hello_with(2, 1, &[(0, Symmetric, NeighbourType::Symmetric), (5, Symmetric, NeighbourType::Symmetric)]);
    assert_eq!(node.relays(), [1]);
}

#[test]
fn s8_2_1_only_symmetric_neighbours_tell_of_two_hop_neighbours() {
    let mut node = Alone::new(&defaults());
    assert_eq!(node.hello(1, &[(5, Symmetric, NeighbourType::Symmetric)]).route(5), None);
    assert_eq!(node.neighbour(1, &[5]).route(5), Some((1, 2)));
}

#[test]
fn s8_2_1_what_a_neighbour_lists_as_no_neighbour_is_no_two_hop_neighbour() {
    let mut node = Alone::new(&defaults());
    assert_eq!(node.neighbour(1, &[5]).route(5), Some((1, 2)));
    node.hello(1, &[(0, Symmetric, NeighbourType::Symmetric), (5, Asymmetric, Not)]);
    assert_eq!((node.route(5), node.route(1)), (None, Some((1, 1))));
}

#[test]
fn s8_2_1_this_node_is_not_its_own_two_hop_neighbour() {
    let mut node = Alone::new(&defaults());
    node.neighbour(1, &[]);
    assert!(node.it.0.neighbours[0].reaches.is_empty());
    assert_eq!(node.relays(), [0_u32; 0]);
}

#[test]
fn s8_3_1_the_only_way_to_a_two_hop_neighbour_is_an_mpr() {
    let mut node = Alone::new(&defaults());
    node.neighbour(1, &[5, 6, 7]).neighbour(2, &[5, 6, 8]).neighbour(3, &[5, 6, 7]);
    assert!(node.relays().contains(&2), "only 2 leads to 8");
    assert_eq!(node.relays().len(), 2);
}

#[test]
fn s8_3_1_a_neighbour_that_is_always_willing_is_an_mpr_even_if_it_covers_nothing() {
    let mut node = Alone::new(&defaults());
    assert_eq!(node.hello_with(1, 7, &[(0, Symmetric, NeighbourType::Symmetric)]).neighbour(2, &[5]).relays(), [1, 2]);
}

#[test]
fn s8_3_1_a_neighbour_that_is_never_willing_is_no_mpr_and_no_way_to_others() {
    let mut node = Alone::new(&defaults());
    node.hello_with(1, 0, &[(0, Symmetric, NeighbourType::Symmetric), (5, Symmetric, NeighbourType::Symmetric)]);
    assert_eq!(node.relays(), [0_u32; 0]);
    assert_eq!((node.route(1), node.route(5)), (Some((1, 1)), None));
}

#[test]
fn s8_3_1_symmetric_neighbours_need_no_cover() {
    let mut node = Alone::new(&defaults());
    assert_eq!(node.neighbour(1, &[2]).neighbour(2, &[1]).relays(), [0_u32; 0]);
}

#[test]
fn s8_3_1_of_equally_willing_neighbours_the_one_that_covers_most_is_taken() {
    let mut node = Alone::new(&defaults());
    assert_eq!(node.neighbour(1, &[5, 6]).neighbour(2, &[5, 6, 7]).neighbour(3, &[7]).relays(), [2]);
}

#[test]
fn s8_3_1_every_interface_has_its_relays() {
    // Node 5 is heard over channel 0 by node 1 and over channel 1 by node 2: each interface needs one.
    let mut node = Alone::with_networks(&defaults(), 2, &[]);
    node.neighbour(1, &[5]);
    node.hello(12, &[(10, Symmetric, NeighbourType::Symmetric), (5, Symmetric, NeighbourType::Symmetric)]);
    assert_eq!(node.relays(), [1, 12]);
}

#[test]
fn s8_4_1_a_hello_that_lists_this_node_as_mpr_makes_a_selector_for_its_validity() {
    let mut node = Alone::new(&defaults());
    node.selector(1);
    assert!(node.it.0.neighbours[0].selector_until > node.cx.now);
    node.run(6.1);
    assert!(node.it.0.neighbours.iter().all(|it| it.selector_until <= node.cx.now));
}

#[test]
fn s8_5_the_node_learns_who_has_chosen_it_and_whose_choice_ends_with_the_link() {
    let mut node = Alone::new(&Params { link_layer_notification: true, ..defaults() });
    node.selector(1).neighbour(2, &[]);
    node.collect();
    let validity = Span::from_secs(6);
    assert_eq!(node.chosen, [(1, at(0.0) + validity)], "the other one has not");
    node.run(2.0).selector(1);
    node.collect();
    assert_eq!(node.chosen[1..], [(1, at(2.0) + validity)]);
    let packet = datagram(&mut node.cx, Address(0), Address(1));
    node.it.on_link_failure(packet, Address(1), DropReason::RetryLimit, &mut node.cx);
    node.cx.actions.retain(|action| matches!(action, Action::Chosen { .. }));
    node.collect();
    assert_eq!(node.chosen[2..], [(1, Time::ZERO)]);
}

#[test]
fn s8_4_1_a_selector_that_chooses_others_is_one_until_its_time_ends() {
    let mut node = Alone::new(&defaults());
    node.selector(1);
    for seconds in [2.0, 4.0, 5.9] {
        node.run(seconds).neighbour(1, &[]);
    }
    assert!(node.it.0.neighbours[0].selector_until > node.cx.now, "only time or a broken link ends it");
    node.run(6.1);
    assert!(node.it.0.neighbours[0].selector_until <= node.cx.now);
    // Its link works, so that no TC is brought forward (§9.3).
    assert!(node.it.0.tc_at > at(6.6) || node.tcs().last().is_some_and(|tc| tc.0 > at(5.9)));
}

#[test]
fn s8_5_what_a_lost_neighbour_has_told_of_others_is_forgotten() {
    let mut node = Alone::new(&Params { hysteresis: true, ..defaults() });
    let listed = [(0, Symmetric, NeighbourType::Symmetric), (5, Symmetric, NeighbourType::Symmetric)];
    let hello = Alone::hello_content(3, &listed);
    let say = |node: &mut Alone, number: u16, ttl: u8, content: Content| {
        let message = node.message(1, 6.0, ttl, content);
        node.hear_packet(1, OlsrPacket { sequence: number, messages: vec![message] });
    };
    for number in 1..=4 {
        say(&mut node, number, 1, hello.clone());
    }
    assert_eq!((node.route(1), node.route(5)), (Some((1, 1)), Some((1, 2))));
    // Six losses; then other messages make the link good again.
    let tc = Content::Tc(Arc::new(Tc { ansn: 1, advertised: Vec::new(), qualities: Vec::new() }));
    for number in [11, 12, 13] {
        say(&mut node, number, 9, tc.clone());
    }
    assert_eq!((node.route(1), node.route(5)), (Some((1, 1)), None), "until its next HELLO");
    say(&mut node, 14, 1, hello);
    assert_eq!(node.route(5), Some((1, 2)));
}

#[test]
fn s13_a_failure_of_the_link_layer_makes_a_link_lost() {
    for notified in [true, false] {
        let mut node = Alone::new(&Params { link_layer_notification: notified, ..defaults() });
        assert_eq!(node.neighbour(1, &[5]).neighbour(2, &[5]).send(5), Some(1));
        let packet = datagram(&mut node.cx, Address(0), Address(5));
        node.it.on_link_failure(packet, Address(1), DropReason::RetryLimit, &mut node.cx);
        if !notified {
            assert_eq!(node.route(5), Some((1, 2)), "only HELLO messages count");
            continue;
        }
        assert_eq!(sends(&node.cx), [Address(2)], "the packet takes the other way");
        assert!(node.cx.actions.iter().any(|it| matches!(it, Action::TakeBack { next_hop: Address(1), .. })));
        node.cx.actions.clear();
        assert_eq!((node.route(1), node.route(5)), (Some((2, 3)), Some((2, 2))).min((None, Some((2, 2)))));
        assert_eq!(node.run(2.5).says(1), Some((Lost, Not)));
    }
}

#[test]
fn s14_with_hysteresis_a_link_is_used_after_several_packets_and_lost_after_several_losses() {
    let params = Params { hysteresis: true, ..defaults() };
    let mut node = Alone::new(&params);
    let content = Alone::hello_content(3, &[(0, Symmetric, NeighbourType::Symmetric)]);
    let mut number = 0;
    let mut say = |node: &mut Alone, gap: u16| {
        number += gap;
        let message = node.message(1, 6.0, 1, content.clone());
        node.hear_packet(1, OlsrPacket { sequence: number, messages: vec![message] });
        node.route(1).is_some()
    };
    // The quality is 0.5, 0.75, 0.875: above 0.8 with the third packet.
    assert_eq!([1, 1, 1].map(|gap| say(&mut node, gap)), [false, false, true]);
    // One loss and one packet: 0.4375, 0.71875. Three losses: below 0.3, although a packet follows.
    assert!(say(&mut node, 2), "a link is lost later than it is accepted");
    assert!(!say(&mut node, 4));
    assert_eq!(node.run(2.5).says(1), Some((Lost, Not)));
    assert_eq!([1, 1].map(|gap| say(&mut node, gap)), [false, true], "0.77 and 0.89");
}

#[test]
fn s14_2_a_pending_link_is_not_listed() {
    let mut node = Alone::new(&Params { hysteresis: true, ..defaults() });
    assert_eq!(node.hello(1, &[]).run(2.5).says(1), None);
}

#[test]
fn s14_3_a_pending_link_of_low_quality_is_listed_as_lost() {
    let mut node = Alone::new(&Params { hysteresis: true, ..defaults() });
    node.hello(1, &[]);
    // The HELLO that is missing at 3 s makes 0.25 of 0.5.
    assert_eq!(node.run(4.9).says(1), Some((Lost, Not)));
    // L_LOST_LINK_time is L_time at most, with which the tuple goes.
    node.run(8.5);
    assert_eq!((node.says(1), node.it.0.links.len()), (None, 0));
}

#[test]
fn s14_3_a_packet_that_arrives_does_not_prolong_the_time_for_which_a_link_is_lost() {
    // With so small a weight, many packets in a row leave the quality below 0.3.
    let mut node = Alone::new(&Params { hysteresis: true, hysteresis_scaling: 0.1, ..defaults() });
    let say = |node: &mut Alone, number: u16| {
        let message = node.message(1, 6.0, 1, Alone::hello_content(3, &[(0, Symmetric, NeighbourType::Symmetric)]));
        node.hear_packet(1, OlsrPacket { sequence: number, messages: vec![message] });
        let link = &node.it.0.links[0];
        (link.pending, link.lost_until)
    };
    assert_eq!([1, 2].map(|number| say(&mut node, number)), [(true, Time::ZERO); 2], "new, but not lost");
    node.run(1.0);
    assert_eq!(say(&mut node, 4), (true, at(1.0 + 6.0)), "a loss");
    node.run(2.0);
    assert_eq!(say(&mut node, 5), (true, at(1.0 + 6.0)), "no loss");
}

#[test]
fn s14_3_hellos_that_stay_away_are_losses() {
    let mut node = Alone::new(&Params { hysteresis: true, ..defaults() });
    for number in 1..=4 {
        let content = Alone::hello_content(3, &[(0, Symmetric, NeighbourType::Symmetric)]);
        let message = node.message(1, 6.0, 1, content);
        node.hear_packet(1, OlsrPacket { sequence: number, messages: vec![message] });
    }
    assert!(node.run(2.9).route(1).is_some());
    node.run(5.1);
    // Missing at 3 s and at 5 s: from 0.94 to 0.23.
    assert!(node.route(1).is_none());
}

#[test]
fn s8_3_1_relays_are_chosen_anew_when_one_of_two_links_to_a_neighbour_changes() {
    for (lost, way) in [(true, "as its HELLO says"), (false, "by silence")] {
        let mut node = Alone::with_networks(&defaults(), 2, &[]);
        // Node 1 has both channels, node 2 the second one alone. Both reach node 5.
        let hello = |node: &mut Alone, main: u32, from: u32, own: u32, link: LinkType| {
            let both = NeighbourType::Symmetric;
            let content = Alone::hello_content(3, &[(own, link, both), (5, Symmetric, both)]);
            let message = node.message(main, 6.0, 1, content);
            node.hear(from, message);
        };
        hello(&mut node, 1, 1, 0, Symmetric);
        hello(&mut node, 1, 11, 10, Symmetric);
        hello(&mut node, 12, 12, 10, Symmetric);
        assert_eq!(node.relays(), [1], "one relay is enough on each channel");
        for second in 1..=7 {
            node.run(f64::from(second));
            hello(&mut node, 1, 1, 0, Symmetric);
            hello(&mut node, 12, 12, 10, Symmetric);
            if lost && second == 1 {
                hello(&mut node, 1, 11, 10, Lost);
                assert_eq!(node.relays(), [1, 12], "{way}");
            }
        }
        assert_eq!(node.relays(), [1, 12], "{way}");
    }
}

#[test]
fn s16_with_mpr_coverage_two_hop_neighbours_have_several_relays() {
    let relays = |mpr_coverage| {
        let mut node = Alone::new(&Params { mpr_coverage, ..defaults() });
        for relay in 1..=4 {
            node.neighbour(relay, &[6, 7]);
        }
        node.relays().len()
    };
    assert_eq!([1, 2, 3, 9].map(relays), [1, 2, 3, 4]);
}

#[test]
fn a_hello_that_repeats_what_is_known_changes_nothing() {
    let mut node = Alone::new(&defaults());
    let content = Alone::hello_content(3, &[(0, Symmetric, Mpr), (5, Symmetric, NeighbourType::Symmetric)]);
    let say = |node: &mut Alone| {
        let message = node.message(1, 6.0, 1, content.clone());
        node.hear(1, message);
    };
    say(&mut node);
    assert_eq!(node.send(5), Some(1));
    node.relays();
    for _ in 0..3 {
        node.run(node.cx.now.seconds() + 1.0);
        say(&mut node);
        assert!(node.it.0.is_settled(), "neither relays nor routes are to be computed again");
    }
    node.neighbour(1, &[5, 6]);
    assert!(!node.it.0.is_settled());
}
