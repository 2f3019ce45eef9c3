//! RFC 3561 §6.10: local connectivity.

use super::*;

/// Of so many links between two nodes that send HELLO messages, of which the second loses some in a row: how many links
/// the first calls broken.
fn links_broken(links: u64, neighbour_expiry: Auto, hellos_lost: usize) -> usize {
    let params = Params { link_detection: LinkDetection::Hello, neighbour_expiry, ..Params::of_profile(RFC) };
    let broken = |seed| {
        let mut net = Network::new(&Config::Aodv(params.clone().into()), 3, seed, describe).chained(&[0, 1, 2]);
        // Datagrams one way: node 0 hears nothing from node 1 but HELLO messages.
        for round in 0..40 {
            if round == 10 {
                net.lost = vec!["1>* HELLO".to_owned(); hellos_lost];
            }
            net.run_until(200 * round);
            net.send(0, 2);
        }
        assert!(net.lost.is_empty());
        net.changes.iter().any(|(_, node, change)| node.0 == 0 && change.route.is_none())
    };
    (0..links).filter(|&seed| broken(seed)).count()
}

#[test]
fn s6_10_one_hello_may_be_lost_and_two_in_a_row_break_the_link() {
    assert_eq!(links_broken(200, Auto::Derived, 1), 0);
    assert_eq!(links_broken(20, Auto::Derived, 2), 20);
    // Without allowance for jitter one lost HELLO is one too many.
    assert_eq!(links_broken(20, Auto::Fixed(Span::from_secs(2)), 1), 20);
}
