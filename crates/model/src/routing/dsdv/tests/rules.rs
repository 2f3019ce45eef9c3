//! The rules of Perkins and Bhagwat 1994, one by one, and where ns-2 differs.

use super::*;

/// The updates that were sent, from the text after the sender on.
fn updates(net: &Network) -> Vec<&str> {
    net.talk.iter().filter_map(|line| line.split_once("0>* ").map(|(_, what)| what)).collect()
}

#[test]
fn a_node_numbers_its_full_updates_with_even_numbers() {
    for profile in [RFC, NS2] {
        let net = network(1, &exact(profile)).after(50_000);
        let own: Vec<_> = updates(&net).iter().map(|it| it.split(' ').nth(1).expect("an entry")).collect();
        assert_eq!(own, ["0:0/4", "0:0/6", "0:0/8", "0:0/10"], "{profile}: two more each time");
    }
}

#[test]
fn a_metric_is_one_more_than_that_of_the_neighbour() {
    let mut net = network(1, &exact(RFC));
    tell(&mut net, 1, &[(1, 0, 2), (7, 4, 2), (8, 248, 2), (9, 250, 3)]);
    assert_eq!([1, 7, 8].map(|node| net.route(0, node)), [Some((1, 1)), Some((1, 5)), Some((1, 249))]);
    assert_eq!(net.route(0, 9), None, "infinity stays infinity");
}

#[test]
fn an_unknown_destination_that_cannot_be_reached_is_no_news() {
    for profile in [RFC, NS2] {
        let mut net = network(1, &exact(profile));
        tell(net.at(1_500), 1, &[(9, 250, 3)]);
        net.run_until(14_000);
        assert_eq!(net.talk.len(), 1, "{profile}: {:?}", net.talk);
    }
}

#[test]
fn an_odd_number_gives_way_to_the_next_even_one_of_the_destination() {
    for profile in [RFC, NS2] {
        let mut net = network(1, &exact(profile));
        tell(&mut net, 1, &[(9, 1, 10)]);
        tell(&mut net, 1, &[(9, 250, 11)]);
        tell(&mut net, 2, &[(9, 1, 10)]);
        assert_eq!(net.route(0, 9), None, "{profile}: a node that has not heard of the break must not be believed");
        tell(&mut net, 2, &[(9, 1, 12)]);
        assert_eq!(net.route(0, 9), Some((2, 2)), "{profile}");
    }
}

#[test]
fn numbers_go_on_after_the_largest() {
    let mut net = network(1, &exact(RFC));
    tell(&mut net, 1, &[(9, 1, u32::MAX - 1)]);
    tell(&mut net, 2, &[(9, 5, 2)]);
    assert_eq!(net.route(0, 9), Some((2, 6)), "2 is newer");
    tell(&mut net, 1, &[(9, 1, u32::MAX - 1)]);
    assert_eq!(net.route(0, 9), Some((2, 6)));
}

#[test]
fn an_incremental_update_has_what_changed_and_a_full_one_has_all() {
    let mut net = network(1, &exact(RFC));
    tell(net.at(1_500), 1, &[(1, 0, 4), (7, 1, 4)]);
    tell(net.at(5_000), 1, &[(1, 0, 4), (7, 1, 4), (8, 1, 4)]);
    net.run_until(16_000);
    let expected = ["full 0:0/4", "news 1:1/4 7:2/4", "news 8:2/4", "full 0:0/6 1:1/4 7:2/4 8:2/4"];
    let said: Vec<_> = updates(&net).iter().map(|it| it.split(" ttl").next().expect("entries")).collect();
    assert_eq!(said, expected);
}

#[test]
fn a_newer_number_alone_triggers_nothing() {
    for profile in [RFC, NS2] {
        let mut net = network(1, &exact(profile));
        tell(net.at(1_500), 1, &[(1, 0, 4)]);
        net.run_until(16_000);
        net.talk.clear();
        tell(&mut net, 1, &[(1, 0, 6)]);
        net.run_until(29_000);
        assert!(net.talk.is_empty(), "{profile}: {:?}", net.talk);
        net.run_until(46_000);
        assert!(!net.said("1:1/6").is_empty(), "{profile}: the next full update tells it: {:?}", net.talk);
    }
}

#[test]
fn a_shorter_way_with_the_same_number_is_told_at_once() {
    let mut net = network(1, &exact(RFC));
    tell(net.at(1_500), 1, &[(9, 5, 10)]);
    tell(net.at(5_000), 2, &[(9, 2, 10)]);
    net.run_until(5_100);
    assert_eq!(times(&net.said("9:3/10")), [5_000]);
}

#[test]
fn under_ns2_a_changed_metric_is_repeated_until_the_next_full_update() {
    let repeated = |profile| {
        let mut net = network(1, &exact(profile));
        tell(net.at(16_000), 1, &[(9, 1, 10)]);
        tell(net.at(17_500), 1, &[(8, 1, 10)]);
        net.run_until(29_900);
        net.said("news").iter().filter(|line| line.contains("9:2/10")).count()
    };
    assert_eq!((repeated(RFC), repeated(NS2)), (1, 2), "at 28 s, and in the update of the other destination at 29.5 s");
}

#[test]
fn all_destinations_behind_a_lost_neighbour_are_told_in_one_update() {
    let mut net = network(3, &exact(RFC)).chained(&[0, 1]);
    tell(net.at(3_000), 1, &[(1, 0, 6), (7, 1, 4), (8, 2, 4)]);
    net.run_until(8_000);
    net.talk.clear();
    net.part(0, 1).send_until(0, 8, 8_500);
    let said: Vec<_> = updates(&net);
    assert!(said[0].starts_with("news 1:250/7 7:250/5 8:250/5"), "{said:?}");
    assert_eq!([1, 7, 8].map(|node| net.route(0, node)), [None; 3]);
}

#[test]
fn any_update_keeps_a_neighbour_and_silence_of_three_intervals_loses_it() {
    for profile in [RFC, NS2] {
        let mut net = network(1, &exact(profile));
        tell(net.at(1_000), 1, &[(1, 0, 4), (9, 1, 4)]);
        tell(net.at(41_000), 1, &[]);
        assert_eq!(net.at(85_900).route(0, 9), Some((1, 2)), "{profile}: an update without news counts");
        assert_eq!((net.at(86_100).route(0, 9), net.route(0, 1)), (None, None), "{profile}: 45 s later");
    }
}

#[test]
fn packets_for_a_lost_neighbour_take_another_way() {
    // 0-1-3 and 0-2-3. Node 0 sends several packets; the first fails, and the others come back from the queue.
    let mut net = network(4, &exact(RFC)).joined(&[(0, 1), (1, 3), (0, 2), (2, 3)]).after(10_000);
    let (first, _) = net.route(0, 3).expect("a route");
    net.part(0, first);
    let packets: Vec<_> = (0..3).map(|_| net.send(0, 3)).collect();
    net.run_until(40_000);
    for packet in packets {
        assert_eq!(net.ways[&packet], [0, 3 - first, 3].map(Address), "after node 3 has told a newer number");
    }
    net.check_account();
}

#[test]
fn waiting_packets_leave_in_the_order_in_which_they_came() {
    for profile in [RFC, NS2] {
        let mut net = network(2, &exact(profile)).after(1_000);
        let packets: Vec<_> = (0..4).map(|_| net.send(0, 1)).collect();
        net.join(0, 1).run_until(20_000);
        let arrived: Vec<_> = net.arrived.iter().map(|&(number, _)| number).collect();
        assert_eq!(arrived, packets, "{profile}");
    }
}

#[test]
fn an_update_goes_one_hop() {
    let mut net = network(3, &exact(RFC)).chained(&[0, 1]);
    assert!(net.at(20_000).said("0>").iter().all(|line| line.contains("0>* ") && line.contains(" ttl 1 ")));
    assert_eq!(net.route(2, 0), None);
}
