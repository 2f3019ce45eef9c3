//! Packets, floods, and topology (§3, 9, 15).

use super::*;
use crate::params::Params as _;
use crate::routing::common::Auto;

#[test]
fn s3_4_1_only_messages_from_selectors_are_forwarded() {
    let mut node = Alone::new(&defaults());
    node.selector(1).neighbour(2, &[]).tc(2, 7, 1, &[8]).tc(1, 6, 1, &[9]).run(1.0);
    let forwarded: Vec<_> = node.messages("TC").iter().map(|it| it.1.originator.0).filter(|&it| it != 0).collect();
    assert_eq!(forwarded, [6]);
}

#[test]
fn s3_4_1_a_forwarded_message_has_taken_a_hop() {
    let mut node = Alone::new(&defaults());
    node.selector(1).tc(1, 6, 1, &[9]).run(1.0);
    let forwarded = node.messages("TC").into_iter().find(|it| it.1.originator == Address(6)).expect("it was sent on").1;
    assert_eq!((forwarded.ttl, forwarded.hops), (199, 1));
}

#[test]
fn s3_4_1_floods_of_neighbours_that_are_not_symmetric_are_ignored() {
    let mut node = Alone::new(&defaults());
    assert_eq!(node.neighbour(2, &[6]).hello(1, &[]).tc(1, 6, 1, &[9]).route(9), None);
    let seen = node.it.0.duplicates.seen(Address(6), node.numbers - 1, 0, node.cx.now);
    assert_eq!(seen, Seen::New, "from a symmetric neighbour it will be news");
    assert_eq!(node.tc(2, 6, 1, &[9]).route(9), Some((2, 3)));
}

#[test]
fn s3_4_1_a_message_is_forwarded_once() {
    let mut node = Alone::new(&defaults());
    node.selector(1).selector(2);
    let tc = Tc { ansn: 1, advertised: vec![Address(9)], qualities: Vec::new() };
    let message = node.message(6, 15.0, 9, Content::Tc(Arc::new(tc)));
    for from in [1, 2, 1] {
        node.hear(from, message.clone());
    }
    node.run(1.0);
    assert_eq!(node.messages("TC").iter().filter(|it| it.1.originator == Address(6)).count(), 1);
}

#[test]
fn s3_4_1_a_message_first_heard_from_another_neighbour_is_not_forwarded_for_a_selector() {
    let mut node = Alone::new(&defaults());
    node.neighbour(1, &[]).selector(2);
    let tc = Tc { ansn: 1, advertised: vec![Address(9)], qualities: Vec::new() };
    let message = node.message(6, 15.0, 9, Content::Tc(Arc::new(tc)));
    node.hear(1, message.clone()).hear(2, message).run(1.0);
    assert_eq!(node.messages("TC").iter().filter(|it| it.1.originator == Address(6)).count(), 0);
}

#[test]
fn s3_4_1_a_message_that_another_interface_received_is_considered_again() {
    let mut node = Alone::with_networks(&defaults(), 2, &[]);
    node.neighbour(1, &[]).hello(12, &[(10, Symmetric, Mpr)]);
    let tc = Tc { ansn: 1, advertised: vec![Address(9)], qualities: Vec::new() };
    let message = node.message(6, 15.0, 9, Content::Tc(Arc::new(tc)));
    node.hear(1, message.clone()).hear(12, message.clone()).hear(12, message).run(1.0);
    let of_six = |it: &&(Time, Address, OlsrPacket)| it.2.messages.iter().any(|it| it.originator == Address(6));
    let by: Vec<_> = node.sent.iter().filter(of_six).map(|it| it.1).collect();
    assert_eq!(by, [Address(0), Address(10)], "once, by every interface");
}

#[test]
fn s3_4_1_a_message_with_ttl_one_is_processed_but_not_forwarded() {
    let mut node = Alone::new(&defaults());
    node.hello(1, &[(0, Symmetric, Mpr), (6, Symmetric, NeighbourType::Symmetric)]);
    let tc = Tc { ansn: 1, advertised: vec![Address(9)], qualities: Vec::new() };
    let message = node.message(6, 15.0, 1, Content::Tc(Arc::new(tc)));
    assert_eq!(node.hear(1, message).run(1.0).route(9), Some((1, 3)));
    assert!(node.messages("TC").iter().all(|it| it.1.originator == Address(0)));
}

#[test]
fn s3_4_a_nodes_own_messages_are_ignored() {
    let mut node = Alone::new(&defaults());
    assert_eq!(node.selector(1).tc(1, 0, 1, &[9]).run(1.0).route(9), None);
    assert!(node.it.0.topology.of(Address(0)).is_none());
}

#[test]
fn s3_4_a_message_is_a_duplicate_until_dup_hold_time_has_passed() {
    let mut node = Alone::new(&Params { duplicate_hold: Span::from_secs(4), ..defaults() });
    node.neighbour(1, &[6]);
    let hna = Content::Hna(Arc::from([Prefix::DEFAULT]));
    let message = node.message(6, 1.0, 9, hna);
    let known = |node: &Alone| node.it.0.gateways.to(Ipv4Addr::LOCALHOST).count();
    node.hear(1, message.clone());
    assert_eq!(known(&node), 1);
    node.run(3.9).hear(1, message.clone());
    assert_eq!(known(&node), 0, "it has expired, and the copy is not processed");
    node.run(4.1).hear(1, message);
    assert_eq!(known(&node), 1);
}

#[test]
fn s3_5_intervals_are_shortened_by_up_to_maxjitter() {
    let mut node = Alone::new(&defaults());
    node.run(400.0);
    let times: Vec<f64> = node.messages("HELLO").iter().map(|it| it.0.seconds()).collect();
    let intervals: Vec<f64> = times.windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert!(intervals.iter().all(|it| (1.5..=2.0).contains(it)), "{intervals:?}");
    let mean = intervals.iter().sum::<f64>() / intervals.len() as f64;
    assert!((mean - 1.75).abs() < 0.05, "{mean}");
}

/// Mean time between messages of a kind, in seconds.
fn mean_interval(params: &Params, radios: usize, kind: &str, seconds: f64) -> f64 {
    let mut node = Alone::with_networks(params, radios, &["192.0.2.0/24"]);
    node.selector(1);
    for second in 1..(seconds as u32) {
        node.run(f64::from(second)).selector(1);
    }
    let mut times: Vec<f64> = node.messages(kind).iter().map(|it| it.0.seconds()).filter(|&it| it > 5.0).collect();
    times.dedup(); // each radio sends one
    assert!(times.len() > 3, "{kind}: {times:?}");
    (times[times.len() - 1] - times[0]) / (times.len() - 1) as f64
}

#[test]
fn s3_5_an_interval_is_shortened_by_its_own_part_whatever_the_other_intervals_are() {
    let seconds = Span::from_secs;
    for (hello, other) in [(2, 5), (20, 5), (40, 5), (4, 1), (20, 1), (1, 20)] {
        let params = Params {
            hello_interval: seconds(hello),
            tc_interval: seconds(other),
            mid_interval: seconds(other),
            hna_interval: seconds(other),
            ..defaults()
        };
        for (kind, asked) in [("HELLO", hello), ("TC", other), ("MID", other), ("HNA", other)] {
            let found = mean_interval(&params, 2, kind, 200.0) / asked as f64;
            assert!((0.8..=1.0).contains(&found), "{kind}, HELLO {hello} s, others {other} s: {found:.2} of {asked} s");
        }
    }
}

#[test]
fn s3_5_maxjitter_is_at_most_half_of_the_shortest_interval() {
    let tc_interval = Span::from_secs(1);
    let half = |millis| Params { tc_interval, max_jitter: Auto::Fixed(Span::from_millis(millis)), ..defaults() };
    assert_eq!(half(500).check().ok(), Some(()));
    let fault = half(501).check().expect_err("it is too long");
    assert!(fault.problem.contains("half of tc_interval, 1 s"), "{}", fault.problem);
}

#[test]
fn s3_5_messages_that_are_forwarded_share_a_packet_within_its_limits() {
    let packets = |packet_messages, bytes| {
        let packet_limit = hopyard_engine::units::Bytes::new(bytes);
        let mut node = Alone::new(&Params { packet_messages, packet_limit, ..defaults() });
        node.selector(1);
        for originator in 2..8 {
            node.tc(1, originator, 1, &[9]);
        }
        node.run(1.0);
        let tcs = |it: &OlsrPacket| it.messages.iter().filter(|it| it.kind() == "TC").count();
        node.sent.iter().map(|it| tcs(&it.2)).filter(|&it| it > 1).collect::<Vec<_>>()
    };
    assert_eq!(packets(0, 1500), [6]);
    assert_eq!(packets(4, 1500), [4, 2]);
    // 28 bytes of headers, 4 of the packet, 20 of each message.
    assert_eq!(packets(0, 92), [3, 3]);
}

#[test]
fn s3_5_forwarded_messages_wait_no_longer_than_maxjitter() {
    for number in 0..20 {
        let mut node = Alone::new(&defaults());
        node.selector(1);
        let start = 0.1 * f64::from(number);
        node.run(start).tc(1, 6, 1, &[9]).run(start + 1.0);
        let sent = node.messages("TC").into_iter().find(|it| it.1.originator == Address(6)).expect("it was sent on").0;
        assert!(sent.since(at(start)) <= Span::from_millis(500), "{sent}");
    }
}

#[test]
fn s5_2_only_nodes_with_several_interfaces_send_mids() {
    let mids = |radios| {
        let mut node = Alone::with_networks(&defaults(), radios, &[]);
        node.run(6.0);
        node.messages("MID").first().map(|it| it.1.content.clone())
    };
    assert_eq!(mids(1), None);
    assert_eq!(mids(2), Some(Content::Mid(Arc::from([Address(10)]))));
}

#[test]
fn s5_4_a_mid_names_the_interfaces_of_a_node_until_it_expires() {
    let mut node = Alone::new(&defaults());
    node.neighbour(1, &[16]);
    assert_eq!((node.route(16), node.route(6)), (Some((1, 2)), None));
    let message = node.message(6, 4.0, 9, Content::Mid(Arc::from([Address(16)])));
    node.hear(1, message);
    assert_eq!((node.route(16), node.route(6)), (Some((1, 2)), Some((1, 2))), "the same node");
    assert_eq!(node.run(3.0).neighbour(1, &[16]).route(6), Some((1, 2)));
    node.run(4.1).neighbour(1, &[16]);
    assert_eq!((node.route(16), node.route(6)), (Some((1, 2)), None));
}

#[test]
fn s9_3_a_node_without_selectors_sends_no_tc() {
    let mut node = Alone::new(&defaults());
    assert_eq!(node.neighbour(1, &[5]).run(5.5).tcs(), []);
}

#[test]
fn s9_3_the_ansn_rises_when_the_selectors_change_and_only_then() {
    let mut node = Alone::new(&defaults());
    for second in 0..40 {
        node.selector(1);
        if second >= 20 {
            node.selector(2);
        }
        node.run(f64::from(second));
    }
    let tcs = node.tcs();
    let (first, later): (Vec<_>, Vec<_>) = tcs.iter().partition(|it| it.2 == [1]);
    assert!(first.len() >= 3 && later.len() >= 3, "{tcs:?}");
    assert!(first.iter().all(|it| it.1 == first[0].1), "{tcs:?}");
    assert!(later.iter().all(|it| it.1 == first[0].1 + 1 && it.2 == [1, 2]), "{tcs:?}");
}

#[test]
fn s9_3_empty_tcs_are_sent_for_top_hold_time_after_the_last_selector() {
    let mut node = Alone::new(&defaults());
    for second in 0..10 {
        node.selector(1).run(f64::from(second));
    }
    let empty: Vec<_> = node.run(60.0).tcs().into_iter().filter(|it| it.2.is_empty()).collect();
    let lasts = empty[empty.len() - 1].0.since(empty[0].0).seconds();
    assert!((3..=5).contains(&empty.len()) && lasts < 15.0, "{empty:?}");
}

#[test]
fn s9_3_the_loss_of_a_selector_brings_the_next_tc_forward() {
    let waits = |early_tc| {
        let params = Params { early_tc, tc_interval: Span::from_secs(20), ..defaults() };
        let mut node = Alone::new(&params);
        node.selector(1);
        for second in 0..24 {
            node.selector(2).run(f64::from(second));
        }
        node.tcs().iter().find(|it| it.2 == [2]).map(|it| it.0.seconds())
    };
    // Node 1 is silent from the beginning, and lost after six seconds.
    let early = waits(EarlyTc::Lost).expect("it is told");
    assert!((6.0..6.51).contains(&early), "{early}");
    assert!(waits(EarlyTc::Off).is_none_or(|it| it > 6.51));
}

#[test]
fn s9_5_an_older_ansn_is_ignored() {
    let mut node = Alone::new(&defaults());
    node.neighbour(1, &[6]).tc(1, 6, 5, &[7]).tc(1, 6, 4, &[8]);
    assert_eq!((node.route(7), node.route(8)), (Some((1, 3)), None));
    node.tc(1, 6, 6, &[8]);
    assert_eq!((node.route(7), node.route(8)), (None, Some((1, 3))));
}

#[test]
fn s9_5_a_tc_is_forgotten_when_its_validity_is_over() {
    let mut node = Alone::new(&defaults());
    node.neighbour(1, &[6]).tc(1, 6, 5, &[7]);
    for second in 1..=14 {
        node.run(f64::from(second)).neighbour(1, &[6]);
    }
    assert_eq!(node.route(7), Some((1, 3)));
    node.run(15.1);
    assert_eq!((node.route(6), node.route(7)), (Some((1, 2)), None));
}

#[test]
fn s15_1_tc_redundancy_says_what_is_advertised() {
    let advertised = |tc_redundancy| {
        let mut node = Alone::new(&Params { tc_redundancy, ..defaults() });
        for second in 0..6 {
            node.selector(1).neighbour(2, &[5]).neighbour(3, &[]).run(f64::from(second));
        }
        node.tcs().pop().map(|it| it.2)
    };
    assert_eq!(advertised(0), Some(vec![1]), "the selectors");
    assert_eq!(advertised(1), Some(vec![1, 2]), "and the relays");
    assert_eq!(advertised(2), Some(vec![1, 2, 3]), "and all symmetric neighbours");
}
