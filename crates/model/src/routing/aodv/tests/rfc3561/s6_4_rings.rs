//! RFC 3561 §6.4: expanding rings.

use super::*;

#[test]
fn s6_4_rings_wait_as_long_as_their_ttl_asks_for_and_floods_twice_as_long_each() {
    let net = chain(2, &quiet()).having_sent(0, 9, 20_000);
    let asked: Vec<_> = net.said("0>* RREQ").iter().map(|line| line.split(' ').next().expect("a time")).collect();
    // RING_TRAVERSAL_TIME 240, 400, 560, 720 ms for TTL 1, 3, 5, 7; then NET_TRAVERSAL_TIME 2800 ms, and twice that.
    assert_eq!(asked, ["0", "240", "640", "1200", "1920", "4720"]);
    let numbers: Vec<_> = net.said("0>* RREQ").iter().map(|line| line.split(' ').nth(3).expect("a number")).collect();
    assert_eq!(numbers, ["1", "2", "3", "4", "5", "6"], "§6.3: each attempt has a number of its own");
    assert_eq!(net.dropped(0, DropReason::DiscoveryFailed), 1);
    net.check_account();
}

#[test]
fn s6_4_a_search_for_a_known_destination_begins_with_a_ring_around_its_last_distance() {
    // Time and TTL of the requests after a break, for a destination that was so many hops away.
    let cases = [
        // RING_TRAVERSAL_TIME of TTL 5 and 7, 560 and 720 ms; then NET_TRAVERSAL_TIME 2800 ms, and twice that.
        (3, "0 5, 560 7, 1280 35, 4080 35"),
        // Beyond TTL_THRESHOLD, 7: one ring of 6 hops + TTL_INCREMENT, 800 ms, then floods.
        (6, "0 8, 800 35, 3600 35"),
        (34, "0 35, 2800 35"),
    ];
    for (hops, expected) in cases {
        let mut net = chain(hops + 1, &quiet()).having_sent(0, hops, 6_000);
        assert_eq!(net.arrived.len(), 1, "{hops} hops");
        net.part(0, 1);
        net.talk.clear();
        net.send_until(0, hops, 6_000 + 12_000);
        let asked = net.said("0>* RREQ");
        let field = |line: &str, at: usize| line.split(' ').nth(at).and_then(|it| it.parse::<u32>().ok()).expect("it");
        let begin = field(asked[0], 0);
        let ttl = |line: &str| line.split("ttl ").nth(1).and_then(|it| it.split(' ').next()).expect("it").to_owned();
        let found: Vec<_> = asked.iter().map(|line| format!("{} {}", field(line, 0) - begin, ttl(line))).collect();
        assert_eq!(found.join(", "), expected, "{hops} hops");
    }
}

#[test]
fn s6_4_an_entry_is_kept_while_it_is_looked_for() {
    let params = Params { delete_period: Auto::Fixed(Span::from_secs(8)), ..quiet() };
    let mut net = chain(3, &params).having_sent(0, 2, 1_000);
    net.part(1, 2);
    net.send(0, 2);
    // The route is invalid since 1 s, and would be forgotten at 9 s. A search that begins shortly before takes ten
    // seconds.
    assert_eq!(net.at(8_900).route(0, 2), None);
    net.send(0, 2);
    net.talk.clear();
    net.send_until(0, 2, 30_000);
    let asked = net.said("0>* RREQ");
    assert!(asked.len() >= 3, "{asked:?}");
    assert!(asked.iter().all(|line| line.contains("to 2/1 ")), "each request asks for the number: {asked:?}");
    // After that nothing of it is left.
    net.run_until(60_000);
    net.talk.clear();
    net.send(0, 2);
    assert!(net.talk[0].contains("to 2/? "), "{}", net.talk[0]);
}
