//! Conversations between DSDV routers.

mod gateways;
mod rules;

use std::net::Ipv4Addr;

use hopyard_engine::Span;
use hopyard_wire::dsdv;

use super::{Advertisement, Params, Update};
use crate::address::{Address, NodeId};
use crate::context::{Context, DropReason, Origin};
use crate::packet::{Body, Carrier, Datagram, RoutingMessage, TcpHeader};
use crate::params::{NS2, Params as _, RFC};
use crate::routing::tests::network::Network;
use crate::routing::tests::{datagram, sends};
use crate::routing::{Config, Routes, Routing};

/// "full" or "news", then each destination as number:metric/sequence.
fn describe(message: &RoutingMessage) -> String {
    let update = message.get::<Update>().expect("an update");
    let list = update.advertisements.iter();
    let mut list: Vec<_> = list.map(|it| format!("{}:{}/{}", it.destination, it.metric, it.sequence)).collect();
    list.extend(update.networks.iter().map(|(gateway, prefix)| format!("{prefix} by {gateway}")));
    format!("{} {}", if update.full { "full" } else { "news" }, list.join(" "))
}

fn network(nodes: usize, params: &Params) -> Network {
    Network::new(&Config::Dsdv(params.clone().into()), nodes, 11, describe)
}

/// A profile's defaults without anything left to chance.
fn exact(profile: &str) -> Params {
    Params {
        startup_jitter: Span::ZERO,
        broadcast_jitter: Span::ZERO,
        update_jitter: 0.0,
        ..Params::of_profile(profile)
    }
}

/// Gives router 0 an update of its neighbour `from`, with (destination, metric, sequence) each.
fn tell(net: &mut Network, from: u32, advertisements: &[(u32, u8, u32)]) {
    let advertisements = advertisements
        .iter()
        .map(|&(destination, metric, sequence)| Advertisement { destination: Address(destination), metric, sequence })
        .collect();
    net.inject(from, 0, 1, RoutingMessage::new(Update { full: false, advertisements, networks: Vec::new() }));
}

fn times(lines: &[&str]) -> Vec<u64> {
    lines.iter().map(|line| line.split(' ').next().expect("a time").parse().expect("a number")).collect()
}

#[test]
fn three_nodes_learn_of_each_other() {
    let mut net = network(3, &exact(RFC)).chained(&[0, 1, 2]).after(3_000);
    let expected = "\
0 0>* full 0:0/4 ttl 1 40 B
0 1>* full 1:0/4 ttl 1 40 B
0 2>* full 2:0/4 ttl 1 40 B
1000 0>* news 1:1/4 ttl 1 40 B
1000 1>* news 0:1/4 2:1/4 ttl 1 52 B
1000 2>* news 1:1/4 ttl 1 40 B
2000 0>* news 2:2/4 ttl 1 40 B
2000 2>* news 0:2/4 ttl 1 40 B";
    assert_eq!(
        net.talk.join("\n"),
        expected,
        "news is told at once, but no sooner than a second after the last update"
    );
    assert_eq!((net.route(0, 2), net.route(2, 0)), (Some((1, 2)), Some((1, 2))));
    let packet = net.send_until(0, 2, 3_100);
    assert_eq!(net.ways[&packet], [0, 1, 2].map(Address));
    net.check_account();
}

#[test]
fn the_profiles_are_told_apart_by_when_a_chain_of_six_is_known() {
    let known = |profile, seed| {
        let config = Config::Dsdv(Params::of_profile(profile).into());
        let mut net = Network::new(&config, 6, seed, describe).chained(&[0, 1, 2, 3, 4, 5]);
        (1..200).find(|&second| {
            net.run_until(second * 1_000);
            net.route(0, 5).is_some()
        })
    };
    for seed in 0..5 {
        let (paper, ns2) = (known(RFC, seed).expect("a route"), known(NS2, seed).expect("a route"));
        assert!(paper <= 8, "seed {seed}: {paper} s");
        // Twelve seconds of settling at each of four relays.
        assert!((40..=75).contains(&ns2), "seed {seed}: {ns2} s");
    }
}

#[test]
fn a_newer_number_wins_and_an_equal_one_with_fewer_hops() {
    for profile in [RFC, NS2] {
        let mut net = network(1, &exact(profile));
        let mut told = |from, metric, sequence| {
            tell(&mut net, from, &[(9, metric, sequence)]);
            net.route(0, 9)
        };
        assert_eq!(told(1, 3, 10), Some((1, 4)));
        assert_eq!(told(2, 3, 10), Some((1, 4)), "equal and as far");
        assert_eq!(told(2, 2, 10), Some((2, 3)), "equal and nearer");
        assert_eq!(told(3, 1, 8), Some((2, 3)), "older");
        assert_eq!(told(3, 7, 12), Some((3, 8)), "newer, however far");
        assert_eq!(told(1, 250, 13), None, "an odd number: the link is broken");
        assert_eq!(told(2, 2, 12), None);
        assert_eq!(told(2, 2, 14), Some((2, 3)));
    }
}

#[test]
fn a_worse_route_is_used_at_once_and_told_when_it_has_settled() {
    let mut net = network(1, &exact(RFC));
    tell(net.at(1_500), 1, &[(9, 1, 10)]);
    assert_eq!(net.at(3_500).said("9:2/10").len(), 1, "a new destination is told at once");
    // The next number comes over the longer way first, and two seconds later over the shorter. That weighs an eighth.
    tell(&mut net, 2, &[(9, 4, 12)]);
    assert_eq!(net.route(0, 9), Some((2, 5)));
    assert!(net.at(5_500).said("9:5").is_empty());
    tell(&mut net, 1, &[(9, 1, 12)]);
    assert_eq!(net.route(0, 9), Some((1, 2)));
    assert!(net.at(14_000).said("9:5").is_empty(), "the longer way was never told");
    // Again, without the shorter way. The neighbour on it has not told the number yet.
    tell(net.at(16_000), 2, &[(9, 4, 14)]);
    assert!(net.at(40_000).said("9:5").is_empty());
    // Its way is as long as the other. It took 2 s once until the shorter way was back: the mean is 7/8 of 6 s and an
    // eighth of that, and twice that is over.
    tell(&mut net, 1, &[(9, 4, 14)]);
    net.run_until(41_000);
    assert_eq!(times(&net.said("9:5/14")), [40_000]);
}

#[test]
fn a_longer_way_is_told_after_the_settling_time() {
    let mut net = network(1, &exact(RFC));
    tell(net.at(1_500), 1, &[(9, 1, 10)]);
    tell(net.at(16_000), 2, &[(9, 4, 12)]);
    tell(net.at(17_000), 1, &[(9, 4, 12)]);
    assert!(net.at(27_900).said("9:5").is_empty());
    net.run_until(28_100);
    assert_eq!(times(&net.said("9:5/12")), [28_000], "twice the 6 s of the start");
}

#[test]
fn numbers_that_had_nothing_to_settle_do_not_shorten_the_settling_time() {
    let mut net = network(1, &exact(RFC));
    for number in 1..20 {
        tell(net.at(u64::from(number) * 1_000 + 500), 1, &[(9, 1, 2 * number)]);
    }
    tell(net.at(31_000), 1, &[(9, 4, 40)]);
    assert!(net.at(42_900).said("9:5").is_empty());
    net.run_until(43_100);
    assert_eq!(times(&net.said("9:5/40")), [43_000]);
}

#[test]
fn a_way_that_is_back_in_time_is_not_told_again() {
    let mut net = network(1, &Params { initial_settling_time: Span::from_millis(100), ..exact(RFC) });
    tell(net.at(1_500), 1, &[(9, 1, 10)]);
    net.run_until(3_500);
    // A longer way and, before it may be told, the one that was told last: no update tells the number alone.
    tell(&mut net, 1, &[(9, 4, 12)]);
    tell(net.at(3_600), 2, &[(9, 1, 12)]);
    net.run_until(14_000);
    assert_eq!(net.said("0>*").len(), 2, "{:?}", net.talk);
}

#[test]
fn a_longer_way_is_told_when_the_link_to_the_shorter_breaks() {
    let mut net = network(1, &exact(RFC));
    tell(net.at(1_500), 1, &[(9, 1, 10)]);
    tell(net.at(16_000), 2, &[(9, 4, 12)]);
    assert!(net.at(46_400).said("9:5").is_empty());
    // Three updates of neighbour 1 have not come.
    net.run_until(46_600);
    assert_eq!(times(&net.said("9:5/12")), [46_500]);
}

#[test]
fn under_ns2_every_route_settles_before_it_is_told() {
    let mut net = network(1, &exact(NS2));
    tell(net.at(16_000), 1, &[(9, 1, 10)]);
    assert_eq!(net.route(0, 9), Some((1, 2)));
    assert!(net.at(27_900).said("9:2").is_empty());
    net.run_until(28_100);
    assert_eq!(times(&net.said("9:2/10")), [28_000]);
    // A newer number with another metric triggers nothing; the next full update tells it.
    net.talk.clear();
    tell(&mut net, 1, &[(9, 3, 12)]);
    assert!(net.at(44_000).said("9:4").is_empty());
    net.run_until(45_100);
    assert_eq!(times(&net.said("9:4/12")), [45_000]);
}

#[test]
fn a_broken_link_is_told_at_once_with_an_odd_number() {
    let mut net = network(4, &exact(RFC)).chained(&[0, 1, 2, 3]);
    assert_eq!(net.at(10_000).route(0, 3), Some((1, 3)));
    net.part(2, 3);
    net.talk.clear();
    net.changes.clear();
    let packet = net.send_until(0, 3, 11_000);
    assert_eq!(net.said("3:250/5").len(), 3);
    assert!(net.talk[0].starts_with("10012 2>* news 3:250/5"), "{}", net.talk[0]);
    assert!((0..3).all(|node| net.route(node, 3).is_none()));
    assert_eq!(net.router(2).held().len(), 1, "the packet waits where it is");
    let lost: Vec<_> =
        net.changes.iter().filter(|(.., change)| change.route.is_none()).map(|(_, node, _)| node.0).collect();
    assert_eq!(lost, [2, 1, 0]);
    net.join(2, 3);
    assert_eq!(net.at(20_000).ways[&packet], [0, 1, 2, 3].map(Address), "node 3 heard that it was lost, and answered");
    net.check_account();
}

#[test]
fn under_ns2_a_failed_packet_is_lost_and_the_route_stays() {
    let mut net = network(2, &exact(NS2)).chained(&[0, 1]).after(16_000);
    net.part(0, 1).send_until(0, 1, 17_000);
    assert_eq!(net.dropped(0, DropReason::RetryLimit), 1);
    assert_eq!(net.route(0, 1), Some((1, 1)));
    // Three intervals after the last update, which came at 15 s.
    assert_eq!(net.at(59_900).route(0, 1), Some((1, 1)));
    assert_eq!(net.at(60_100).route(0, 1), None);
    // It has just told its table, and may speak again a second later.
    net.run_until(61_100);
    assert!(net.talk.iter().any(|line| line.contains("0>*") && line.contains("1:250/7")), "{:?}", net.talk);
}

#[test]
fn triggered_updates_keep_a_second_apart() {
    let mut net = network(1, &exact(RFC)).after(5_000);
    for destination in 10..20 {
        tell(&mut net, 1, &[(destination, 1, 2)]);
        net.run_until(5_000 + u64::from(destination - 9) * 100);
    }
    net.run_until(9_000);
    let at = times(&net.said("0>*"));
    assert_eq!(at, [0, 5_000, 6_000], "the first at once, the others together");
}

#[test]
fn a_triggered_update_becomes_a_full_one_when_much_has_changed() {
    let mut net = network(1, &exact(RFC));
    tell(net.at(5_000), 1, &[(1, 0, 4), (6, 1, 2), (7, 1, 2)]);
    net.run_until(6_500);
    assert!(net.talk[1].contains("news 1:1/4 6:2/2 7:2/2"), "three are too few: {:?}", net.talk);
    tell(&mut net, 1, &[(1, 0, 6), (6, 3, 4), (7, 3, 4), (8, 1, 2), (9, 1, 2), (10, 1, 2), (11, 1, 2)]);
    net.run_until(7_600);
    // The number of the node itself is that of its last periodic update, and the next one comes when it would have
    // come.
    assert!(net.talk[2].contains("full 0:0/4 "), "{:?}", net.talk);
    net.run_until(15_100);
    assert_eq!(times(&net.said("full")), [0, 6_500, 15_000]);
    assert_eq!(times(&net.said("0:0/6")), [15_000]);
}

#[test]
fn under_ns2_a_full_triggered_update_takes_the_place_of_the_next_periodic_one() {
    let mut net = network(1, &Params { initial_settling_time: Span::ZERO, ..exact(NS2) });
    tell(net.at(5_000), 1, &[(1, 0, 4), (6, 1, 2), (7, 1, 2), (8, 1, 2)]);
    net.run_until(19_900);
    assert_eq!(times(&net.said("full")), [0, 5_000], "{:?}", net.talk);
    assert_eq!(times(&net.said("0:0/6")), [5_000]);
    net.run_until(20_100);
    assert_eq!(times(&net.said("0:0/8")), [20_000]);
}

#[test]
fn a_node_that_is_called_unreachable_with_an_old_number_has_answered_already() {
    for (profile, answers) in [(RFC, 0), (NS2, 1)] {
        let mut net = network(1, &exact(profile));
        tell(net.at(5_000), 1, &[(0, 250, 3)]);
        net.run_until(5_200);
        assert_eq!(net.talk.len() - 1, answers, "{profile}: {:?}", net.talk);
    }
}

#[test]
fn answers_to_being_called_unreachable_keep_a_second_apart() {
    let mut net = network(1, &exact(RFC));
    tell(net.at(5_000), 1, &[(0, 250, 5)]);
    tell(net.at(5_200), 1, &[(0, 250, 7)]);
    net.run_until(6_500);
    assert_eq!(times(&net.said("0>*")), [0, 5_000, 6_000]);
}

#[test]
fn a_node_answers_with_a_newer_number_when_it_is_called_unreachable() {
    for profile in [RFC, NS2] {
        let mut net = network(1, &exact(profile));
        tell(net.at(5_000), 1, &[(0, 3, 77)]);
        assert_eq!(net.at(5_100).talk.len(), 1, "any other news of itself is ignored");
        tell(&mut net, 1, &[(0, 250, 5)]);
        net.run_until(5_200);
        assert!(net.talk[1].starts_with("5100 0>* full 0:0/6"), "{:?}", net.talk);
    }
}

#[test]
fn a_neighbour_that_knows_of_no_route_is_told_of_a_newer_one() {
    for profile in [RFC, NS2] {
        let mut net = network(1, &exact(profile));
        tell(net.at(5_000), 1, &[(9, 2, 10)]);
        net.run_until(40_000);
        net.talk.clear();
        tell(&mut net, 2, &[(9, 250, 9)]);
        net.run_until(40_100);
        assert!(net.talk[0].starts_with("40000 0>* news"), "{profile}: {:?}", net.talk);
        assert!(net.talk[0].contains("9:3/10"));
        assert_eq!(net.route(0, 9), Some((1, 3)));
    }
}

#[test]
fn five_packets_wait_for_each_destination() {
    for (profile, expired) in [(RFC, 5), (NS2, 0)] {
        let mut net = network(1, &exact(profile)).after(1_000);
        let sent: Vec<_> = (0..7).map(|_| net.send(0, 9)).collect();
        net.send(0, 8);
        assert_eq!(net.dropped(0, DropReason::RouteBufferFull), 2);
        assert_eq!(net.router(0).held().len(), 6);
        assert_eq!(net.at(40_000).dropped(0, DropReason::RouteTimeout), if expired > 0 { 6 } else { 0 });
        tell(&mut net, 1, &[(9, 1, 10)]);
        assert_eq!(net.router(0).held().len(), if expired > 0 { 0 } else { 1 });
        assert_eq!(sent.len() as u64 - 2 - expired, if expired > 0 { 0 } else { 5 });
        net.check_account();
    }
}

#[test]
fn under_ns2_tcp_pays_for_its_ip_header_twice() {
    for (profile, size, ttl) in [(RFC, 552, 64), (NS2, 572, 32)] {
        let config = Config::Dsdv(exact(profile).into());
        let mut router = config.build(NodeId(0), 2, hopyard_engine::Streams::new(1, 0).node(0, "routing"));
        let mut cx = Context::default();
        router.start(&mut cx);
        let advertisements = vec![Advertisement { destination: Address(1), metric: 0, sequence: 4 }];
        let update = RoutingMessage::new(Update { full: true, advertisements, networks: Vec::new() });
        let packet = cx.originate_routing(Origin::Own, Address(1), Address::BROADCAST, 1, 32, update);
        router.on_message(packet, Address(1), &mut cx);
        let segment = datagram(&mut cx, Address(0), Address(1));
        cx.packets[segment].body = Body::Tcp(TcpHeader { len: 512, ..TcpHeader::default() });
        cx.packets[segment].size = 552;
        router.route(segment, &mut cx);
        assert_eq!(sends(&cx), [Address(1)]);
        assert_eq!((cx.packets[segment].size, cx.packets[segment].ttl), (size, ttl));
    }
}

#[test]
fn a_packet_that_is_led_towards_a_router_goes_by_a_route_of_its_own_or_by_the_routers() {
    let config = Config::Dsdv(exact(NS2).into());
    let mut router = config.build(NodeId(0), 4, hopyard_engine::Streams::new(1, 0).node(0, "routing"));
    let mut cx = Context::default();
    router.start(&mut cx);
    let hear = |router: &mut crate::routing::Model, from: u32, advertisements: &[(u32, u8)], cx: &mut Context| {
        let of = |&(to, metric)| Advertisement { destination: Address(to), metric, sequence: 4 };
        let advertisements = advertisements.iter().map(of).collect();
        let update = RoutingMessage::new(Update { full: true, advertisements, networks: Vec::new() });
        let packet = cx.originate_routing(Origin::Own, Address(from), Address::BROADCAST, 1, 32, update);
        router.on_message(packet, Address(from), cx);
    };
    let towards = |router: &mut crate::routing::Model, to: u32, hops: u8, cx: &mut Context| {
        let packet = datagram(cx, Address(0), Address(to));
        cx.packets[packet].body = Body::Tcp(TcpHeader { len: 512, ..TcpHeader::default() });
        (cx.packets[packet].size, cx.packets[packet].hops) = (552, hops);
        router.route_towards(packet, Address(1), NodeId(0), cx);
        packet
    };
    let dropped = |cx: &Context, reason| cx.drops.get(NodeId(0), crate::packet::PacketKind::Data, reason);
    // Without a route to the router, nothing waits.
    towards(&mut router, 9, 0, &mut cx);
    assert_eq!((dropped(&cx, DropReason::NoRoute), router.held().len()), (1, 0));
    hear(&mut router, 1, &[(1, 0)], &mut cx);
    hear(&mut router, 2, &[(2, 0), (3, 1)], &mut cx);
    assert!(sends(&cx).is_empty());
    let out = towards(&mut router, 9, 0, &mut cx);
    assert_eq!((cx.packets[out].size, cx.packets[out].ttl), (572, 32));
    // Node 3 is known by way of node 2.
    towards(&mut router, 3, 0, &mut cx);
    assert_eq!(sends(&cx), [Address(1), Address(2)]);
    assert_eq!(router.lookup_towards(Address(9), Address(1)), Some((Address(1), 1)));
    assert_eq!(router.lookup_towards(Address(3), Address(1)), Some((Address(2), 2)));
    // One of its own that has come back has gone round.
    towards(&mut router, 9, 2, &mut cx);
    assert_eq!(dropped(&cx, DropReason::RoutingLoop), 1);
    assert_eq!(sends(&cx).len(), 2);
}

#[test]
fn a_packet_keeps_the_reason_for_which_the_link_gave_it_back() {
    for reason in [DropReason::ArpFailed, DropReason::RetryLimit] {
        let mut net = network(2, &exact(NS2)).chained(&[0, 1]).after(16_000);
        net.reason = reason;
        net.fail_segment(0, 1, 0, 1);
        assert_eq!((net.dropped(0, reason), net.cx.ledger.dropped), (1, 1), "{reason:?}");
    }
}

#[test]
fn a_packet_that_comes_back_to_its_source_is_a_loop() {
    let mut cx = Context::default();
    let packet = datagram(&mut cx, Address(0), Address(1));
    cx.packets[packet].hops = 2;
    let config = Config::Dsdv(exact(RFC).into());
    let mut router = config.build(NodeId(0), 2, hopyard_engine::Streams::new(1, 0).node(0, "routing"));
    router.route(packet, &mut cx);
    assert_eq!(cx.drops.get(NodeId(0), crate::packet::PacketKind::Data, DropReason::RoutingLoop), 1);
}

#[test]
fn an_update_has_the_bytes_that_are_counted_for_it() {
    let advertisements: Vec<_> = (0..40)
        .map(|number| Advertisement { destination: Address(number), metric: 250 - number as u8, sequence: 7 * number })
        .collect();
    for count in [0, 1, 40] {
        let update =
            Update { full: count == 40, advertisements: advertisements[..count].to_vec(), networks: Vec::new() };
        let address = |it: Address| Ipv4Addr::from_bits(it.0);
        let mut bytes = Vec::new();
        let carrier = update.encode(&address, &mut bytes);
        assert_eq!(carrier, Ok(Carrier::Udp(1021)));
        let read = dsdv::Update::parse(&bytes).expect("whole entries");
        let entries = read.advertisements.iter().map(|it| Advertisement {
            destination: Address(it.destination.to_bits()),
            metric: it.metric,
            sequence: it.sequence,
        });
        assert_eq!(entries.collect::<Vec<_>>(), update.advertisements);
        // IP and UDP add 28 bytes. ns-2 counts no UDP header.
        let size = bytes.len() as u32 + 28;
        let counted = [RFC, NS2].map(|profile| Params::of_profile(profile).packet_size(&update));
        assert_eq!(counted, [size, size - 8]);
    }
}

#[test]
fn jitter_takes_half_of_an_interval_at_most() {
    let with = |update_jitter| Params { update_jitter, ..Params::of_profile(RFC) }.check();
    assert_eq!(with(0.5), Ok(()));
    let fault = with(0.51).expect_err("more than half");
    assert_eq!((fault.parameter, &*fault.problem), ("update_jitter", "expected 0 to 0.5, found 0.51"));
    // Nor may a triggered update overtake the one before it.
    let params = Params { broadcast_jitter: Span::from_secs(1), ..Params::of_profile(RFC) };
    let fault = params.check().expect_err("as long as the least time between updates");
    assert_eq!(fault.parameter, "broadcast_jitter");
}
