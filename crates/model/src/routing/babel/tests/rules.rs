//! Feasibility, sequence numbers, retractions and expiry.

use hopyard_engine::Span;

use super::*;
use crate::routing::common::Auto;
use message::newer;
use params::Smoothing;
use table::{Route, Source, Table};

const NOW: Time = Time::from_nanos(1_000_000_000);
const HOLD: Span = Span::from_secs(180);
const NOT_SMOOTHED: Smoothing = Smoothing { half_life: Span::ZERO, start: 0 };

fn destination(routes: &[(u32, u16, u16, u16)]) -> Table {
    let mut table = Table::default();
    let place = table.place_or_new(Address(5), RouterId::Of(Address(5)));
    let route = |&(neighbour, seqno, advertised, cost): &(u32, u16, u16, u16)| {
        let mut route = Route::new(Address(neighbour), seqno, advertised, NOW, HOLD);
        route.set_first(advertised + cost, NOW, NOT_SMOOTHED);
        route
    };
    table.all_mut()[place].routes = routes.iter().map(route).collect();
    table
}

#[test]
fn s3_2_1_sequence_numbers_go_on_after_the_largest() {
    assert!(newer(1, 0) && newer(0, 0xffff) && newer(0x7fff, 0) && !newer(0, 0) && !newer(0, 0x7fff));
}

#[test]
fn s3_5_1_an_update_is_feasible_if_it_is_newer_or_nearer_than_what_was_told() {
    let mut table = destination(&[]);
    let it = &mut table.all_mut()[0];
    assert!(it.is_feasible(7, 9000, NOW), "nothing was told");
    it.tell(7, 512, NOW, HOLD);
    for (seqno, metric, feasible) in
        [(7, 511, true), (7, 512, false), (8, 60_000, true), (6, 1, false), (6, INFINITY, true), (0x8006, 1, true)]
    {
        assert_eq!(it.is_feasible(seqno, metric, NOW), feasible, "{seqno} {metric}");
    }
    assert!(it.is_feasible(6, 60_000, NOW + HOLD), "the entry is too old");
}

#[test]
fn s3_7_3_the_feasibility_distance_falls_with_what_is_told_and_rises_with_a_new_number_alone() {
    let mut table = destination(&[]);
    let it = &mut table.all_mut()[0];
    let mut told = |seqno, metric| {
        it.tell(seqno, metric, NOW, HOLD);
        it.source.map(|Source { seqno, metric, .. }| (seqno, metric))
    };
    assert_eq!(told(7, 512), Some((7, 512)));
    assert_eq!(told(7, 700), Some((7, 512)));
    assert_eq!(told(7, 300), Some((7, 300)));
    assert_eq!(told(7, INFINITY), Some((7, 300)), "a retraction changes nothing");
    assert_eq!(told(8, 900), Some((8, 900)));
    assert_eq!(told(7, 100), Some((8, 900)));
}

#[test]
fn s3_6_the_best_feasible_route_is_selected() {
    // The best one may lead through this node.
    let mut table = destination(&[(1, 7, 600, 256), (2, 7, 500, 300), (3, 7, 400, 500), (4, 7, 520, 10)]);
    let it = &mut table.all_mut()[0];
    it.tell(7, 512, NOW, HOLD);
    it.select(0, NOW, NOT_SMOOTHED);
    assert_eq!((it.selected, it.metric()), (Some(Address(2)), 800));
    assert_eq!(it.wanted(NOW), 8);
    for route in &mut it.routes {
        route.set_metric(INFINITY, NOW, NOT_SMOOTHED);
    }
    it.select(0, NOW, NOT_SMOOTHED);
    assert_eq!((it.selected, it.metric()), (None, INFINITY));
}

#[test]
fn a3_a_route_that_is_better_for_a_moment_only_is_not_taken() {
    let smoothing = Smoothing { half_life: Span::from_secs(4), start: 0 };
    let mut table = destination(&[(1, 7, 256, 256), (2, 7, 256, 512)]);
    let it = &mut table.all_mut()[0];
    it.select(0, NOW, smoothing);
    assert_eq!(it.selected, Some(Address(1)));
    // The selected route is 700 from now on, and its mean still below the 768 of the other, which is now 600.
    it.routes[0].set_metric(700, NOW, smoothing);
    it.routes[1].set_metric(600, NOW, smoothing);
    let smoothed = |place: usize, after| it.routes[place].smoothed(NOW + Span::from_secs(after), smoothing);
    assert!((smoothed(0, 4) - 606.0).abs() < 0.01 && (smoothed(1, 4) - 684.0).abs() < 0.01);
    assert_eq!(smoothed(0, 24), 700.0, "a difference of less than 4 is none");
    // They meet where 700 - 188 x = 600 + 168 x: after 4 s · log2 3.56 = 7.33 s, whichever of them is told again.
    for changed in [0, 1] {
        it.selected = Some(Address(1));
        it.select(changed, NOW + Span::from_secs(7), smoothing);
        assert_eq!(it.selected, Some(Address(1)));
        it.select(changed, NOW + Span::from_secs(8), smoothing);
        assert_eq!(it.selected, Some(Address(2)));
    }
}

/// As babeld does. The RFC does not say where the mean begins.
#[test]
fn a3_a_new_route_and_one_that_comes_back_replace_no_other_for_a_while() {
    let smoothing = Smoothing { half_life: Span::from_secs(4), start: INFINITY / 2 };
    let mut table = destination(&[(1, 7, 768, 256), (2, 7, 256, 256)]);
    let it = &mut table.all_mut()[0];
    let (mut new, mut back) = (it.routes[1], it.routes[1]);
    new.set_first(512, NOW, smoothing);
    back.set_metric(INFINITY, NOW, smoothing);
    back.set_metric(512, NOW, smoothing);
    // 32767 comes below 1024 after 4 s · log2 (32255 / 512) = 23.9 s, and twice as much after 27.9 s.
    for (route, before, after) in [(new, 23, 24), (back, 27, 28)] {
        it.routes[1] = route;
        it.selected = Some(Address(1));
        it.select(1, NOW + Span::from_secs(before), smoothing);
        assert_eq!(it.selected, Some(Address(1)));
        it.select(1, NOW + Span::from_secs(after), smoothing);
        assert_eq!(it.selected, Some(Address(2)));
        // Without another one, it is taken at once.
        (it.selected, it.routes[0].metric) = (None, INFINITY);
        it.select(1, NOW, smoothing);
        assert_eq!(it.selected, Some(Address(2)));
        it.routes[0].metric = 1024;
    }
}

#[test]
fn s3_8_2_2_an_unfeasible_route_that_is_much_better_makes_the_node_ask_for_a_newer_number() {
    let mut net = network(&params(), 6);
    meet(&mut net, 1);
    tell(&mut net, 1, vec![about_5(7, 256)]);
    assert_eq!(net.route(0, 5), Some((1, 2)));
    // The node tells 512, so that 512 and more may lead back through it.
    net.run_until(3_000);
    assert!(!saying(&net, "U5=512").is_empty());
    tell(&mut net, 1, vec![about_5(7, 512)]);
    assert_eq!(net.route(0, 5), Some((1, 3)));
    net.run_until(3_400);
    assert!(saying(&net, "S5#64").is_empty(), "it is used as long as it is told");
    tell(&mut net, 1, vec![about_5(8, 512)]);
    assert_eq!(net.route(0, 5), Some((1, 3)));
    // A worse route of another neighbour is no reason to ask, a much better one is.
    meet(&mut net, 2);
    for (metric, asks) in [(800, 0), (900, 0)] {
        tell(net.at(8_000), 2, vec![about_5(7, metric)]);
        assert_eq!(net.route(0, 5), Some((1, 3)));
        net.run_until(8_500);
        assert_eq!(saying(&net, "S5#64").iter().filter(|it| it.1 == "0>2").count(), asks);
    }
    // A route that becomes much worse makes the node ask all neighbours for theirs.
    tell(&mut net, 1, vec![about_5(9, 2_000)]);
    net.run_until(10_000);
    assert_eq!(saying(&net, "Q5").iter().map(|it| it.1).collect::<Vec<_>>(), ["0>*"]);
    assert_eq!(saying(&net, "S5#64").iter().filter(|it| it.1 == "0>2").count(), 0);
    tell(&mut net, 2, vec![about_5(7, 900)]);
    net.run_until(11_600);
    assert_eq!(saying(&net, "S5#64").iter().filter(|it| it.1 == "0>2").count(), 1, "1156 would be better than 2256");
}

/// §2.6 of the RFC: a ring of four. Node 1 loses its link to node 0. The way around is longer than what it has told,
/// and nobody but node 0 can say that it makes no loop.
#[test]
fn s3_8_1_2_a_request_reaches_the_originator_hop_by_hop_which_advances_its_number_by_one() {
    let mut net = network(&params(), 4).chained(&[0, 1, 2, 3, 0]);
    assert_eq!((net.at(60_000).route(1, 0), net.route(2, 0).map(|it| it.1)), (Some((0, 1)), Some(2)));
    let (Model::Babel(origin), before) = (net.router(0), net.talk.len()) else { panic!("Babel") };
    let seqno = origin.0.seqno;
    net.part(0, 1);
    assert_eq!(net.at(120_000).route(1, 0), Some((2, 3)));
    let Model::Babel(origin) = net.router(0) else { panic!("Babel") };
    assert_eq!(origin.0.seqno, seqno.wrapping_add(1));
    let ways = |word: &str| -> Vec<_> {
        let lines = net.talk[before..].iter().map(|it| parsed(it));
        lines.filter(|it| it.2.contains(&word)).map(|it| (it.0, it.1.to_owned())).collect()
    };
    let (asked, forwarded, arrived) = (ways("S0#64"), ways("S0#63"), ways("S0#62"));
    let from_1 = asked.iter().find(|it| it.1.starts_with("1>")).expect("node 1 asks");
    assert!(forwarded.iter().any(|it| it.1 == "2>3") || asked.iter().any(|it| it.1.starts_with("2>")), "{asked:?}");
    assert!(forwarded.iter().chain(&arrived).any(|it| it.1 == "3>0"), "{forwarded:?} {arrived:?}");
    // A request waits for 0.56 to 1.56 s at each of three hops. The answer is urgent: within 169 ms at each.
    let change = net.talk[before..].iter().map(|it| parsed(it));
    let answered =
        change.filter(|it| it.1 == "2>*" && it.2.contains(&"U0=512") && it.0 >= from_1.0).map(|it| it.0).next();
    assert!(answered.is_some_and(|it| it - from_1.0 < 3_700), "{from_1:?} {answered:?}");
    net.check_account();
}

#[test]
fn s3_8_1_2_a_request_is_forwarded_once_and_not_beyond_its_hop_count() {
    let mut net = network(&params(), 7);
    for neighbour in [1, 2, 3] {
        meet(&mut net, neighbour);
    }
    tell(&mut net, 1, vec![about_5(7, 256)]);
    tell(&mut net, 2, vec![about_5(7, 500)]);
    net.run_until(5_000);
    let request = |seqno, hops| Message::SeqnoRequest {
        destination: Target::Host(Address(5)),
        router: RouterId::Of(Address(5)),
        seqno,
        hops,
    };
    let forwards = |net: &mut Network, from: u32, seqno, hops| {
        let before = net.talk.len();
        tell(net, from, vec![request(seqno, hops)]);
        let at = net.cx.now.nanos() / 1_000_000;
        net.run_until(at + 1_600);
        let lines: Vec<_> = net.talk[before..].iter().map(|it| parsed(it)).collect();
        let is_request = |it: &&(u64, &str, Vec<&str>)| it.2.iter().any(|it| it.starts_with('S'));
        lines.iter().filter(is_request).map(|it| format!("{} {}", it.1, it.2.join(" "))).collect::<Vec<_>>()
    };
    assert_eq!(forwards(&mut net, 3, 8, 1), Vec::<String>::new(), "its hop count is used up");
    assert_eq!(forwards(&mut net, 3, 8, 20), ["0>1 S5#19"]);
    assert_eq!(forwards(&mut net, 2, 8, 20), Vec::<String>::new(), "the same again");
    assert_eq!(forwards(&mut net, 3, 7, 20), Vec::<String>::new(), "the route has that number: an update answers");
    net.run_until(12_000);
    // Not to who asks, but to another one.
    assert_eq!(forwards(&mut net, 1, 9, 20), ["0>2 S5#19"]);
    assert!(saying(&net, "U5=512").iter().any(|it| it.0 >= 9_800 && it.0 < 10_000), "{:?}", net.talk);
}

#[test]
fn s3_8_1_the_originator_advances_its_number_by_one_and_answers_for_what_it_does_not_know() {
    let mut net = network(&params(), 7);
    meet(&mut net, 1);
    net.run_until(5_000);
    let seqno = |net: &Network| {
        let Model::Babel(it) = net.router(0) else { panic!("Babel") };
        it.0.seqno
    };
    let before = seqno(&net);
    let ask = |router: u32, ahead| Message::SeqnoRequest {
        destination: Target::Host(Address(0)),
        router: RouterId::Of(Address(router)),
        seqno: before.wrapping_add(ahead),
        hops: 1,
    };
    tell(&mut net, 1, vec![ask(0, 0), ask(3, 9)]);
    assert_eq!(seqno(&net), before);
    tell(&mut net, 1, vec![ask(0, 40)]);
    assert_eq!(seqno(&net), before.wrapping_add(1));
    tell(&mut net, 1, vec![Message::Request(Target::Host(Address(6)))]);
    net.run_until(10_100);
    assert_eq!(saying(&net, "U6=inf").len(), 1);
}

#[test]
fn s3_7_2_a_lost_route_is_retracted_at_once_and_again() {
    let mut net = chain(4).after(60_000);
    net.part(2, 3).run_until(160_000);
    assert_eq!([0, 1, 2].map(|node| net.route(node, 3)), [None; 3]);
    let said: Vec<_> = saying(&net, "U3=inf");
    let of = |way: &str| said.iter().filter(|it| it.1 == way).map(|it| it.0).collect::<Vec<_>>();
    let (first, next, last) = (of("2>*"), of("1>*"), of("0>*"));
    // Each missing Hello doubles the cost of the link. The ninth makes it infinite, 6.8 + 8 · 4 s after the last one
    // that came. That it is missing is noticed up to 7.5 s later. IHUs would hold for 120 s.
    assert!((93_000..109_000).contains(&first[0]), "{first:?}");
    assert!(next[0] - first[0] <= 203 && last[0] - next[0] <= 203, "{first:?} {next:?} {last:?}");
    for (time, after) in first[1..4].iter().zip([2_000, 4_000, 8_000]) {
        assert!((time - first[0]).abs_diff(after) <= 250, "{first:?}");
    }
    assert!(first.len() >= 5, "updates of all routes tell it too: {first:?}");
    net.check_account();
}

/// As babeld does.
#[test]
fn s3_7_2_what_is_told_after_a_retraction_is_repeated_also_if_there_is_a_route_again() {
    let mut net = network(&params(), 7);
    meet(&mut net, 1);
    tell(&mut net, 1, vec![about_5(7, 256)]);
    tell(net.at(5_000), 1, vec![about_5(7, INFINITY)]);
    net.run_until(5_500);
    assert_eq!((saying(&net, "U5=inf").len(), net.route(0, 5)), (1, None));
    tell(&mut net, 1, vec![about_5(7, 256)]);
    net.run_until(14_000);
    let urgent = |at: u64| saying(&net, "U5=512").iter().any(|it| (at + 56..=at + 169).contains(&it.0));
    assert!(urgent(7_000) && urgent(9_000) && urgent(13_000), "{:?}", saying(&net, "U5=512"));
    assert_eq!(saying(&net, "U5=inf").len(), 1);
}

/// As babeld does: a full update has it while the route with which it was lost is kept, five and a quarter intervals.
#[test]
fn s3_5_4_full_updates_tell_a_lost_destination_until_its_route_is_forgotten() {
    let mut net = network(&params(), 7);
    meet(&mut net, 1);
    tell(&mut net, 1, vec![about_5(7, 256)]);
    tell(net.at(5_000), 1, vec![about_5(7, INFINITY)]);
    net.run_until(200_000);
    let said: Vec<_> = saying(&net, "U5=inf").into_iter().map(|it| it.0).collect();
    // The last repetition comes 8 s after the retraction, and full updates every 16 s on average.
    let full = said.iter().filter(|at| (13_500..89_500).contains(*at)).count();
    assert!((3..=7).contains(&full) && said.iter().all(|at| *at < 91_500), "{said:?}");
    assert!(said.iter().any(|at| *at > 65_000), "{said:?}");
}

#[test]
fn limits_of_packets_delays_and_holds_are_those_of_babeld() {
    let usual = params();
    let payload = |ipv6: bool| Params { ipv6, ..params() }.payload_limit();
    assert_eq!([payload(true), payload(false)], [1_440, 1_472]);
    assert_eq!((usual.packet_delay(), usual.source_hold), (Span::from_secs(1), Span::from_secs(200)));
    let refused = |it: Params| it.check().err().map(|fault| fault.parameter);
    let delayed = |delay| Params { packet_delay: Auto::Fixed(delay), ..params() };
    assert_eq!(refused(delayed(Span::from_secs(2))), None, "half of the interval of Hellos");
    assert_eq!(refused(delayed(Span::from_millis(2_001))), Some("packet_delay"));
    let kept = |hold| Params { source_hold: hold, ..params() };
    assert_eq!(refused(kept(Span::from_secs(84))), None, "five and a quarter intervals of updates");
    assert_eq!(refused(kept(Span::from_millis(83_999))), Some("source_hold"));
}

/// As babeld does: what waits goes with a request. Otherwise it would wait for 56 ms at least.
#[test]
fn s3_8_a_request_takes_the_updates_that_wait_along() {
    let mut net = network(&params(), 7);
    meet(&mut net, 1);
    tell(&mut net, 1, vec![about_5(7, 256)]);
    tell(net.at(5_000), 1, vec![about_5(8, 2_000)]);
    net.run_until(5_013);
    let lines: Vec<_> = net.talk.iter().map(|it| parsed(it)).filter(|it| it.0 >= 5_007).collect();
    assert!(matches!(&lines[..], [(_, "0>*", words)] if words[..] == ["U5=2256", "Q5"]), "{lines:?}");
}

#[test]
fn s3_5_3_a_route_is_asked_for_before_it_expires_and_comes_back() {
    let mut net = network(&params(), 7);
    meet(&mut net, 1);
    tell(&mut net, 1, vec![about_5(7, 256)]);
    // Five and a quarter intervals of 16 s are 84 s, of which the last eighth begins at 73.5 s.
    net.run_until(73_400);
    assert_eq!((saying(&net, "Q5").len(), net.route(0, 5)), (0, Some((1, 2))));
    net.run_until(83_900);
    let asked = saying(&net, "Q5");
    assert!(asked.len() == 1 && asked[0].1 == "0>1" && asked[0].0 < 75_900, "{asked:?}");
    assert!(net.route(0, 5).is_some());
    assert_eq!(net.at(85_100).route(0, 5), None);
    tell(&mut net, 1, vec![about_5(7, 256)]);
    assert_eq!(net.route(0, 5), Some((1, 2)), "the same number is as near as before");
    // A neighbour that retracts everything.
    let all =
        Update { destination: Target::All, router: None, next_hop: None, seqno: 0, metric: INFINITY, interval: 0 };
    tell(&mut net, 1, vec![Message::Update(all)]);
    assert_eq!(net.route(0, 5), None);
}

#[test]
fn s3_5_3_a_shorter_interval_ends_the_hold_sooner() {
    let mut net = network(&params(), 7);
    meet(&mut net, 1);
    tell(&mut net, 1, vec![about_5(7, 256)]);
    net.run_until(10_000);
    let Message::Update(update) = about_5(7, 256) else { panic!("an update") };
    tell(&mut net, 1, vec![Message::Update(Update { interval: 100, ..update })]);
    // Five and a quarter intervals of 1 s; routes are looked at once a second.
    assert!(net.at(15_000).route(0, 5).is_some());
    assert_eq!(net.at(16_500).route(0, 5), None);
    // Once, in the last eighth of these 5.25 s: an eighth of this node's own hold would be longer than that.
    let asked = saying(&net, "Q5").into_iter().filter(|it| it.1 == "0>1").map(|it| it.0).collect::<Vec<_>>();
    assert!(matches!(asked[..], [at] if (14_590..16_500).contains(&at)), "{asked:?}");
}

#[test]
fn s3_8_2_2_an_older_number_of_the_selected_route_is_asked_about() {
    let mut net = network(&params(), 7);
    meet(&mut net, 1);
    tell(&mut net, 1, vec![about_5(7, 256)]);
    net.run_until(5_000);
    let asked = |net: &Network| net.talk.iter().filter(|line| line.contains("0>1") && line.contains(" S5")).count();
    assert_eq!(asked(&net), 0, "{:#?}", net.talk);
    tell(&mut net, 1, vec![about_5(6, 256)]);
    net.run_until(8_000);
    assert_eq!((asked(&net), net.route(0, 5)), (1, Some((1, 2))), "{:#?}", net.talk);
}

/// A neighbour that reads a request for all before the Hello beside it would answer that it does not hear this node.
#[test]
fn s3_1_a_hello_stands_first_in_its_packet_and_a_request_for_all_is_answered_by_an_ihu() {
    let net = network(&params(), 2).after(6_000);
    let first = net.talk.iter().map(|it| parsed(it)).find(|it| it.1 == "0>*").expect("node 0 speaks");
    assert_eq!(first.2[..2], ["H", "Q*"], "{first:?}");
    let mut net = network(&params(), 7);
    meet(&mut net, 1);
    net.run_until(23_000);
    let seen = net.talk.len();
    tell(&mut net, 1, vec![Message::Request(Target::All)]);
    net.run_until(24_600);
    let said: Vec<_> = net.talk[seen..].iter().map(|it| parsed(it)).collect();
    assert!(said.iter().any(|it| it.2.contains(&"I1=256") && !it.2.contains(&"H")), "{said:?}");
}
