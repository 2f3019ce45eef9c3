//! RFC 3561 §6.9: HELLO messages.

use super::*;

#[test]
fn s6_9_hello_messages_come_from_active_nodes_and_their_absence_breaks_a_link() {
    let params =
        Params { link_detection: LinkDetection::Hello, broadcast_jitter: Span::ZERO, ..Params::of_profile(RFC) };
    let mut net = chain(4, &params);
    for round in 0..50 {
        net.run_until(round * 200);
        net.send(0, 2);
    }
    assert_eq!(net.said("3>* HELLO").len(), 0, "node 3 has no part in it");
    for node in 0..3 {
        let hellos = net.said(&format!("{node}>* HELLO")).len();
        assert!((8..=10).contains(&hellos), "{hellos} from node {node}");
    }
    // Data come in from node 1, but nothing from node 2 any more; the link layer's failures do not count.
    net.part(1, 2);
    assert_eq!(net.at(9_900).route(1, 2), Some((2, 1)));
    for round in 50..65 {
        net.run_until(round * 200);
        net.send(0, 2);
    }
    let error = net.said("1>0 RERR 2").first().map(|line| line.split(' ').next().expect("a time").to_owned());
    let at: u64 = error.expect("an error").parse().expect("a time");
    assert!((10_800..=11_801).contains(&at), "two HELLO intervals after the last HELLO: {at}");
    assert!(net.dropped(1, DropReason::RetryLimit) > 0);
    net.run_until(60_000);
    net.talk.clear();
    assert!(net.at(90_000).said("HELLO").is_empty(), "an idle network is silent");
    net.check_account();
}

#[test]
fn s6_9_idle_nodes_cost_nothing() {
    let net = chain(6, &Params::of_profile(RFC)).after(1_000_000);
    assert_eq!(net.timer_calls, 0);
    assert_eq!(net.cx.ledger.originated, 0);
}

#[test]
fn s6_9_a_broadcast_takes_the_place_of_a_hello() {
    let params = Params { broadcast_jitter: Span::ZERO, ..Params::of_profile(RFC) };
    let mut net = chain(2, &params);
    // Node 0 is active, and looks for somebody new every 300 ms.
    for round in 0..20 {
        net.run_until(300 * round);
        net.send(0, 1);
        net.send(0, 100 + round as u32);
    }
    assert!(net.at(6_000).said("0>* RREQ").len() > 15);
    assert_eq!(net.said("0>* HELLO").len(), 0);
    assert!(net.said("1>* HELLO").is_empty(), "node 1 passes them on, which counts too");
}
