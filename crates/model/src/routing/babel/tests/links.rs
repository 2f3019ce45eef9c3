//! Links, intervals, packets, and the choice of a path by them.

use super::*;

#[test]
fn a_chain_knows_its_ends_by_triggered_updates() {
    let mut net = chain(5);
    let next_hops = |net: &Network| [(0, 4), (4, 0), (2, 3)].map(|(from, to)| net.route(from, to).map(|it| it.0));
    assert_eq!(next_hops(&net), [Some(1), Some(3), Some(3)]);
    // New links cost much, and that they cost less by now is told with the next update of all routes alone.
    assert!(net.route(0, 4).is_some_and(|it| it.1 > 4));
    net.run_until(200_000);
    assert_eq!([net.route(0, 4), net.route(4, 0), net.route(2, 3)], [Some((1, 4)), Some((3, 4)), Some((3, 1))]);
    // §3.8.1.1: each asks for all routes once.
    assert_eq!(saying(&net, "Q*").len(), 5);
    net.check_account();
}

#[test]
fn b_hellos_come_every_four_seconds_and_ihus_with_every_third_where_nothing_is_lost() {
    let net = chain(2).after(400_000);
    let hellos: Vec<_> = saying(&net, "H").into_iter().filter(|it| it.1 == "0>*").map(|it| it.0).collect();
    assert!((95..=105).contains(&hellos.len()), "{} Hellos in 400 s", hellos.len());
    for pair in hellos.windows(2) {
        // Three to five seconds pass, and each waits for another 0.56 to 1.56 s.
        assert!((1_990..=6_010).contains(&(pair[1] - pair[0])), "{pair:?}");
    }
    // From the sixteenth Hello on, the link counts as one without losses.
    let late = |word| saying(&net, word).into_iter().filter(|it| it.0 > 80_000 && it.1 == "0>*").count();
    assert!(late("I1=256").abs_diff(late("H").div_ceil(3)) <= 1 && late("H") > 70, "{}", late("I1=256"));
    // All routes every 16 s, in the same packet or another one.
    assert!((17..=23).contains(&late("U1=256")), "{}", late("U1=256"));
    assert!(net.talk.iter().all(|line| parsed(line).2.len() <= 6), "packets of two nodes are short");
}

#[test]
fn s3_1_messages_share_packets_and_no_packet_is_longer_than_the_limit() {
    let params = Params { packet_limit: hopyard_engine::units::Bytes::new(512), ..params() };
    let mut net = network(&params, 40);
    for node in 1..40 {
        net.join(0, node);
    }
    net.run_until(60_000);
    let size = |line: &String| line.rsplit(' ').nth(1).and_then(|it| it.parse::<u32>().ok()).expect("a size");
    let longest = net.talk.iter().map(size).max();
    assert!(longest.is_some_and(|it| it <= 512 && it > 490), "{longest:?}");
    let of_hub: Vec<_> = net.talk.iter().map(|it| parsed(it)).filter(|it| it.1 == "0>*").collect();
    let messages: usize = of_hub.iter().map(|it| it.2.len()).sum();
    assert!(messages > 10 * of_hub.len(), "{messages} messages in {} packets", of_hub.len());
}

#[test]
fn a_link_is_used_only_if_both_hear_each_other() {
    let mut net = network(&params(), 2).chained(&[0, 1]);
    net.mute(1, 0).run_until(60_000);
    // Node 1 hears node 0, and is not told that node 0 hears it.
    assert_eq!((net.route(0, 1), net.route(1, 0)), (None, None));
}

/// Between nodes 0 and 2, half of the Hellos are lost, and both links of node 1 lose none: 512 instead of 1024. DSDV
/// and OLSR take the short way, on which every second packet fails.
#[test]
fn a_path_of_two_good_links_is_better_than_a_bad_one_unlike_in_dsdv_and_olsr() {
    let next_hop = |config: &Config| {
        let mut net = Network::new(config, 3, 3, |message| message.kind().to_owned()).chained(&[0, 1, 2]);
        for step in 1..60 {
            net.run_until(step * 2_000);
            if step % 2 == 0 {
                net.join(0, 2)
            } else {
                net.part(0, 2)
            };
        }
        net.route(0, 2).map(|it| it.0)
    };
    assert_eq!(next_hop(&Config::Babel(params().into())), Some(1));
    assert_eq!(next_hop(&Config::Dsdv(dsdv::Params::of_profile(RFC).into())), Some(2));
    assert_eq!(next_hop(&Config::Olsr(olsr::Params::of_profile(RFC).into())), Some(2));
}

/// §3.7.4, and §A.2.1 with appendix B: over a wire, two of three Hellos make a link of cost 96.
#[test]
fn over_a_wire_a_route_is_not_told_to_where_it_leads() {
    for split_horizon in [true, false] {
        let config = Config::Babel(Params { split_horizon, ..params() }.into());
        let networks = |own, other| Networks { wires: vec![(Address(own), Address(other))], ..Networks::default() };
        let networks = [(0, networks(0, 1)), (1, networks(1, 0))];
        let mut net = Network::attached(&config, 2, 3, describe, &networks);
        net.join(0, 1);
        assert_eq!(net.at(100_000).router(0).lookup(Address(1)), Some((Address(1), 1)));
        assert!(!saying(&net, "I1=96").is_empty());
        assert_eq!(saying(&net, "U1=96").is_empty(), split_horizon);
    }
    // Over radio it is told: others may hear it.
    let net = chain(2).after(100_000);
    assert!(!saying(&net, "U1=256").is_empty());
}
