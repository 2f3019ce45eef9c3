//! Networks whose nodes move, begin and stop.

use std::collections::BTreeMap;

use hopyard_engine::{Rng, Span, Streams, Time};
use hopyard_model::agent::drand::{Lottery, Params, Resends};
use hopyard_model::params::Params as _;
use proptest::prelude::*;

use super::network::{Network, Walkers};

/// How often the links follow the places.
const STEP: Span = Span::from_millis(100);

/// Since when pairs of nodes are linked.
#[derive(Default)]
struct Ages(BTreeMap<(u32, u32), Time>);

impl Ages {
    fn look(&mut self, links: &[Vec<u32>], now: Time) {
        let pairs = (0_u32..).zip(links).flat_map(|(node, near)| near.iter().map(move |&other| (node, other)));
        self.0 = pairs.map(|pair| (pair, self.0.get(&pair).copied().unwrap_or(now))).collect();
    }

    fn of(&self, one: u32, other: u32) -> Option<Time> {
        self.0.get(&(one, other)).copied()
    }

    /// Since when there has been a way of at most two hops between a pair that is there all the time, the longest one.
    fn of_way(&self, (one, other): (u32, u32), links: &[Vec<u32>]) -> Option<Time> {
        let over = |&by: &u32| Some(self.of(one, by)?.max(self.of(by, other)?));
        links[one as usize].iter().filter_map(over).chain(self.of(one, other)).min()
    }
}

/// A network in motion, and what becomes of its nodes.
#[derive(Clone, Debug)]
struct Motion {
    seed: u64,
    nodes: usize,
    degree: f64,
    loss: f64,
    speed: f64,
    lottery: Lottery,
    resends: Resends,
    /// Steps at which a node stops, or begins again.
    changes: Vec<(u32, usize)>,
    /// Steps at which a node begins that was not there before.
    late: Vec<(u32, usize)>,
    /// How many messages a node can send or hear until its battery is empty.
    batteries: Vec<(u64, usize)>,
}

fn plan() -> impl Strategy<Value = Motion> {
    let resends = prop_oneof![Just(Resends::Times(0)), Just(Resends::Times(5)), Just(Resends::Unlimited)];
    let lottery = prop_oneof![Just(Lottery::Own), Just(Lottery::Largest)];
    let loss = prop_oneof![Just(0.0), Just(0.1), Just(0.3), 0.0..0.3];
    let speed = prop_oneof![Just(0.0), 0.0..20.0];
    let changes = prop::collection::vec((0..400_u32, 0..40_usize), 0..12);
    let late = prop::collection::vec((1..400_u32, 0..40_usize), 0..6);
    let batteries = prop::collection::vec((1..500_u64, 0..40_usize), 0..6);
    let lives = (changes, late, batteries);
    (any::<u64>(), 2..24_usize, 2.0..9.0, loss, speed, lottery, resends, lives).prop_map(
        |(seed, nodes, degree, loss, speed, lottery, resends, (changes, late, batteries))| Motion {
            seed,
            nodes,
            degree,
            loss,
            speed,
            lottery,
            resends,
            changes,
            late,
            batteries,
        },
    )
}

/// Runs 40 s of motion, births and deaths, then lets the network be as it is.
fn check(plan: &Motion) -> Result<(), TestCaseError> {
    let params = Params { lottery: plan.lottery, grant_resends: plan.resends, ..Params::of_profile("rfc") };
    let mut walkers = Walkers::new(plan.nodes, plan.degree, 150.0, plan.seed);
    let mut network = Network::new(walkers.links(|_| true), &params, plan.loss, plan.seed);
    // Every violation is one that the tables of its nodes do not show.
    network.look_at_tables();
    let mut ages = Ages::default();
    for &(_, node) in &plan.late {
        network.stop((node % plan.nodes) as u32);
    }
    for &(charge, node) in &plan.batteries {
        network.charge[node % plan.nodes] = charge;
    }
    for step in 0..400 {
        for &(_, node) in plan.changes.iter().chain(&plan.late).filter(|it| it.0 == step) {
            let node = node % plan.nodes;
            if network.machines[node].is_some() {
                network.stop(node as u32);
            } else {
                let rng: Rng = Streams::new(plan.seed, u64::from(step)).node(node, "again");
                network.start(node as u32, rng);
            }
        }
        walkers.walk(plan.speed * STEP.seconds());
        network.set_links(walkers.links(|node| network.machines[node].is_some()));
        ages.look(&network.links, network.now);
        let until = network.now + STEP;
        network.run(until, |_| false);
        if plan.loss == 0.0 {
            // Nor could they show it: the first hop takes one HELLO, the second one another.
            for &pair in network.open().keys() {
                let since = ages.of_way(pair, &network.links).expect("they are within two hops");
                let since = since.max(network.changed[pair.0 as usize]).max(network.changed[pair.1 as usize]);
                let age = network.now.since(since);
                prop_assert!(age <= Span::from_millis(2020), "{pair:?} share a slot for {age}");
            }
        }
        for slot in network.slots().iter().flatten() {
            // As many slots as there are addresses are always enough.
            prop_assert!(usize::from(*slot) < plan.nodes, "slot {slot} of {} nodes", plan.nodes);
        }
    }
    network.charge.fill(u64::MAX);
    // At rest, all decide and no conflict stays. The last time counts, since losses may hide neighbours for a while.
    let mut calm = Time::ZERO;
    for _ in 0..120 {
        let until = network.now + Span::from_secs(1);
        network.run(until, |_| false);
        if !network.all_decided() || !network.open().is_empty() {
            calm = network.now;
        }
    }
    let quiet = network.now.since(calm);
    prop_assert!(quiet > Span::from_secs(5), "not at rest: {:?}, {:?}", network.slots(), network.open());
    // Once all have seen it, the largest slot is what HELLOs say, if the network is connected.
    let largest = network.slots().iter().copied().max().flatten();
    let assigned: Vec<_> = network.machines().map(|it| it.assigned()).collect();
    prop_assert!(assigned.iter().all(|it| it.slot <= it.largest_near && it.largest_near <= it.largest));
    if plan.loss == 0.0 && is_connected(&network) {
        prop_assert!(assigned.iter().all(|it| it.largest == largest), "{largest:?}, {assigned:?}");
    }
    Ok(())
}

fn is_connected(network: &Network) -> bool {
    let alive: Vec<u32> = (0_u32..).zip(&network.machines).filter(|it| it.1.is_some()).map(|it| it.0).collect();
    let mut found: Vec<u32> = alive.first().copied().into_iter().collect();
    let mut next = 0;
    while let Some(&node) = found.get(next) {
        for &other in &network.links[node as usize] {
            if !found.contains(&other) {
                found.push(other);
            }
        }
        next += 1;
    }
    found.len() == alive.len()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn a_violation_is_one_that_the_tables_cannot_show_yet_and_is_mended_at_rest(plan in plan()) {
        check(&plan)?;
    }
}

#[test]
fn where_nodes_move_there_are_violations_and_they_are_mended() {
    let mut walkers = Walkers::new(40, 8.0, 150.0, 3);
    let params = Params::of_profile("rfc");
    let mut network = Network::new(walkers.links(|_| true), &params, 0.0, 3);
    network.look_at_tables();
    let settled = Time::ZERO + Span::from_secs(20);
    network.run(settled, |_| false);
    assert!(network.all_decided());
    assert_eq!(network.violations, []);
    for _ in 0..600 {
        walkers.walk(1.0);
        network.set_links(walkers.links(|_| true));
        let until = network.now + STEP;
        network.run(until, |_| false);
    }
    let given_up: u64 = network.machines().map(|it| it.counters().conflicts).sum();
    assert!(network.violations.len() > 20 && given_up > 10, "{} {given_up}", network.violations.len());
    let longest = network.violations.iter().map(|it| it.until.since(it.from)).max().expect("there are some");
    assert!(longest < Span::from_secs(10), "{longest}");
}
