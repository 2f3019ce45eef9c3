//! DSDV among nodes that do not move: nothing changes, so that the periodic updates are all that is sent.

use hopyard_engine::{Rng, Span, Streams};
use hopyard_model::world::Spec;

use crate::common::{chain, network, run};

/// Updates of a node per second without any trigger: intervals are uniform between 11.25 and 15 s.
const PERIODIC: f64 = 1.0 / 13.125;
/// When every node knows every other, and how long updates are counted after that, in seconds.
const SETTLED: u64 = 60;
const COUNTED: u64 = 300;

/// Nodes in rows and columns of a square.
fn grid(side: usize, spacing: f64) -> Vec<(f64, f64)> {
    (0..side * side).map(|node| ((node % side) as f64 * spacing, (node / side) as f64 * spacing)).collect()
}

/// Nodes at random places of a square, with about this number of neighbours each within 250 m.
fn drawn(nodes: usize, neighbours: f64, rng: &mut Rng) -> Vec<(f64, f64)> {
    let side = 250.0 * (std::f64::consts::PI * nodes as f64 / neighbours).sqrt();
    (0..nodes).map(|_| (side * rng.uniform(), side * rng.uniform())).collect()
}

fn sent(spec: &mut Spec, seconds: u64) -> u64 {
    spec.duration = Span::from_secs(seconds);
    run(spec).nodes.iter().map(|node| node.routing_packets).sum()
}

/// Updates of a node in each second, as a multiple of those that its period makes.
fn updates(places: &[(f64, f64)]) -> f64 {
    let mut spec = network("rfc", "dsdv", places);
    let sent = sent(&mut spec, SETTLED + COUNTED) - sent(&mut spec, SETTLED);
    sent as f64 / places.len() as f64 / COUNTED as f64 / PERIODIC
}

#[test]
fn nodes_at_rest_send_their_periodic_updates_alone() {
    let cell = drawn(50, 1000.0, &mut Streams::new(1, 0).stream("places"));
    let networks = [chain(10, 200.0), grid(5, 200.0), grid(7, 150.0), grid(10, 150.0), cell];
    for (number, places) in networks.iter().enumerate() {
        let found = updates(places);
        assert!((found - 1.0).abs() < 0.1, "network {number}: {found:.3} of the periodic updates");
    }
}

/// `NETWORKS=100 cargo test --release -p hopyard-model-tests --test models dsdv_at_rest::` draws more.
#[test]
fn nor_do_nodes_at_random_places_send_more() {
    let networks = option_env!("NETWORKS").map_or(6, |text| text.parse().expect("a number"));
    for seed in 0..networks {
        let mut rng = Streams::new(seed, 0).stream("places");
        let (nodes, neighbours) = (10 + rng.below(50) as usize, rng.uniform_in(4.0, 20.0));
        let found = updates(&drawn(nodes, neighbours, &mut rng));
        assert!((found - 1.0).abs() < 0.1, "seed {seed}: {found:.3} of the periodic updates of {nodes} nodes");
    }
}
