//! Networks that do not change.

use hopyard_engine::{Span, Time};
use hopyard_model::agent::drand::{Params, Resends, colouring};
use hopyard_model::params::Params as _;

use crate::network::{Network, Places, numbered};

const RFC: &str = "rfc";

/// Runs until all nodes have a slot, and for a while longer.
fn decide(places: &Places, params: &Params, loss: f64, seed: u64) -> Network {
    let mut network = Network::new(places.links(), params, loss, seed);
    let limit = Time::ZERO + Span::from_secs(600);
    assert!(network.run(limit, Network::all_decided), "some have not decided");
    let end = network.now + Span::from_secs(10);
    network.run(end, |_| false);
    network
}

/// A node with a slot has every smaller one within two hops.
fn has_no_gaps(network: &Network) -> bool {
    let links = &network.links;
    (0..links.len()).all(|node| {
        let near = links[node].iter().chain(links[node].iter().flat_map(|&it| &links[it as usize]));
        let slots: Vec<_> = near.filter_map(|&it| network.slots()[it as usize]).collect();
        (0..network.slots()[node].unwrap_or(0)).all(|smaller| slots.contains(&smaller))
    })
}

#[test]
fn without_loss_no_slot_is_shared_at_any_instant_and_there_are_no_gaps() {
    let params = Params::of_profile(RFC);
    for number in 0..25 {
        let places = numbered(number);
        let network = decide(&places, &params, 0.0, number);
        assert_eq!(network.violations, []);
        assert!(network.open().is_empty(), "{number}");
        let links = &network.links;
        let most = colouring::most_within_two_hops(links);
        let largest = network.slots().iter().copied().max().flatten().expect("all have slots");
        assert!(usize::from(largest) <= most, "{number}: slot {largest}, {most} within two hops");
        assert!(has_no_gaps(&network), "{number}");
        let count = links.iter().map(Vec::len).sum::<usize>() as u64;
        let least = 2 * links.len() as u64 + 2 * count;
        let messages = network.messages();
        println!(
            "{number}: n {} m {} most {most} largest {largest} messages {messages} / {least} last {} {:?}",
            links.len(),
            count / 2,
            network.last_change.seconds() - 5.0,
            network.sent
        );
        assert!((least..=least + least / 10).contains(&messages), "{number}: {messages} messages, at least {least}");
    }
}

#[test]
fn granters_that_never_forget_keep_the_schedule_whatever_is_lost() {
    // Neighbours are known before the first request, and nobody forgets them.
    let hour = Span::from_secs(3600);
    let settle = Span::from_secs(40);
    let params =
        Params { hold: hour, silence: hour, grant_resends: Resends::Unlimited, settle, ..Params::of_profile(RFC) };
    for number in 0..25 {
        let loss = [0.1, 0.3, 0.5][number as usize % 3];
        let network = decide(&numbered(number), &params, loss, number);
        assert_eq!(network.violations, []);
        assert!(network.open().is_empty(), "{number}");
        println!(
            "{number}: n {} last {} {:?}",
            network.links.len(),
            network.last_change.seconds() - 40.0,
            network.sent
        );
    }
}
