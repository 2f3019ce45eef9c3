//! Networks that do not change.

use hopyard_engine::{Span, Streams, Time};
use hopyard_model::agent::drand::{Lottery, Params, Resends};
use hopyard_model::mac::tdma::colouring;
use hopyard_model::params::Params as _;

use super::network::{Network, Places, numbered};

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

/// A network that is small enough for a test: 10 to 50 nodes of mean degree 3 to 12.
fn small(number: u64) -> Places {
    let mut rng = Streams::new(number, 0).stream("small");
    let nodes = 10 + rng.below(41) as usize;
    Places::random(nodes, rng.uniform_in(3.0, 12.0).min(nodes as f64 - 1.0), &mut rng)
}

#[test]
fn without_loss_no_slot_is_shared_at_any_instant_and_there_are_no_gaps() {
    let params = Params::of_profile(RFC);
    let (mut messages, mut needed, mut seconds, mut near) = (0, 0, 0.0, 0);
    for number in 0..30 {
        let network = decide(&small(number), &params, 0.0, number);
        assert_eq!(network.violations, []);
        assert!(network.open().is_empty(), "{number}");
        let links = &network.links;
        let most = colouring::most_rivals(links);
        let largest = network.slots().iter().copied().max().flatten().expect("all have slots");
        assert!(usize::from(largest) <= most, "{number}: slot {largest}, {most} within two hops");
        assert!(has_no_gaps(&network), "{number}");
        let least = 2 * links.len() as u64 + 2 * links.iter().map(Vec::len).sum::<usize>() as u64;
        assert!(network.messages() >= least, "{number}: {} messages, at least {least}", network.messages());
        messages += network.messages();
        needed += least;
        seconds += network.last_change.seconds() - params.settle.seconds();
        near += most;
    }
    assert!(messages * 100 <= needed * 107, "{messages} messages, at least {needed}");
    // A request period is three times the first delay.
    let periods = seconds / near as f64 / 0.15;
    assert!((1.4..2.2).contains(&periods), "{periods}");
}

#[test]
fn the_lottery_among_the_most_takes_longer() {
    let last = |lottery| {
        let params = Params { lottery, ..Params::of_profile(RFC) };
        let all = (0..12).map(|number| decide(&small(number), &params, 0.0, number).last_change.seconds() - 5.0);
        all.sum::<f64>()
    };
    let ratio = last(Lottery::Largest) / last(Lottery::Own);
    assert!((1.1..1.8).contains(&ratio), "{ratio}");
}

#[test]
fn granters_that_never_forget_keep_the_schedule_whatever_is_lost() {
    // Neighbours are known before the first request, and nobody forgets them.
    let hour = Span::from_secs(3600);
    let settle = Span::from_secs(40);
    let params =
        Params { hold: hour, silence: hour, grant_resends: Resends::Unlimited, settle, ..Params::of_profile(RFC) };
    for number in 0..12 {
        let loss = [0.1, 0.3, 0.5][number as usize % 3];
        let network = decide(&small(number), &params, loss, number);
        assert_eq!(network.violations, []);
        assert!(network.open().is_empty(), "{number}");
    }
}

#[test]
fn granters_that_forget_at_once_break_the_schedule_and_it_is_mended() {
    let params = Params { grant_resends: Resends::Times(0), ..Params::of_profile(RFC) };
    let (mut conflicts, mut given_up) = (0, 0);
    for number in 0..12 {
        let mut network = decide(&small(number), &params, 0.3, number);
        let end = network.now + Span::from_secs(20);
        network.run(end, |_| false);
        assert!(network.all_decided() && network.open().is_empty(), "{number}");
        assert!(network.violations.iter().all(|it| it.until.since(it.from) < Span::from_secs(10)), "{number}");
        conflicts += network.violations.len();
        given_up += network.machines().map(|it| it.counters().conflicts).sum::<u64>();
        let largest = network.slots().iter().copied().max().flatten().expect("all have slots");
        assert!(usize::from(largest) <= colouring::most_rivals(&network.links), "{number}");
    }
    assert!(conflicts > 0 && given_up > 0, "{conflicts} {given_up}");
}

/// One of the networks of the validation, whose numbers of nodes and links the results have.
#[test]
fn the_networks_of_the_validation_are_what_their_numbers_say() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../validation/results/drand_networks.csv");
    let text = std::fs::read_to_string(path).expect("the results");
    for number in [0, 7, 999] {
        let row: Vec<f64> = (text.lines().nth(1 + number).expect("a row").split(','))
            .map(|cell| cell.parse().expect("a number"))
            .collect();
        let places = numbered(number as u64);
        let links = places.links();
        let found = [number, links.len(), links.iter().map(Vec::len).sum::<usize>() / 2];
        assert_eq!(found.map(|it| it as f64), row[..3]);
    }
}

/// How much work a large network is; `valgrind --tool=callgrind` and `perf stat` tell.
#[test]
#[ignore = "large; run it by its name, with an optimised model"]
fn a_thousand_nodes_of_degree_12_decide() {
    let places = Places::random(1000, 12.0, &mut Streams::new(1, 0).stream("large"));
    let network = decide(&places, &Params::of_profile(RFC), 0.0, 1);
    assert_eq!(network.violations, []);
    assert!(network.open().is_empty());
}
