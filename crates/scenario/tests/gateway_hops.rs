//! A node that moves past a chain with a gateway: the hop counts of Karlsson and Kassler, "TCP Performance in Mobile Ad
//! Hoc Networks Connected to the Internet" (2009), Table 2, with AODV-UU and half tunnels. The whole run of 900 s is
//! an experiment of `validation`; here are its first 215 s.

use std::path::Path;

use hopyard_engine::Span;
use hopyard_model::world::{Watch, simulate};
use hopyard_scenario::Scenario;

/// How far a change may be from the published time, in seconds.
const NEAR: f64 = 1.5;

/// The published changes: time in seconds, hops to the gateway.
const PUBLISHED: [(f64, f64); 16] = [
    (20.3, 2.0),
    (27.6, 1.0),
    (38.1, 2.0),
    (47.7, 3.0),
    (60.2, 2.0),
    (66.7, 1.0),
    (73.6, 2.0),
    (80.2, 3.0),
    (105.2, 2.0),
    (125.7, 1.0),
    (145.2, 2.0),
    (165.6, 3.0),
    (177.7, 2.0),
    (188.6, 1.0),
    (197.7, 2.0),
    (207.8, 3.0),
];

#[test]
fn the_hop_count_to_the_gateway_changes_when_the_paper_says() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../validation/inputs/gateway/chain5plus1.toml");
    let scenario = Scenario::open(&file, &[]).unwrap_or_else(|problems| panic!("{problems}"));
    assert_eq!(scenario.warnings().len(), 0, "{:?}", scenario.warnings());
    let mut spec = scenario.spec(0);
    spec.duration = Span::from_secs(215);
    let outcome = simulate(&spec, &Watch::default()).expect("packets add up");
    let mut changes: Vec<(f64, f64)> = Vec::new();
    for row in outcome.series.iter().filter(|row| row.quantity == "hops") {
        if changes.last().is_none_or(|&(_, before)| before != row.value) {
            changes.push((row.time_s, row.value));
        }
    }
    let hops = |changes: &[(f64, f64)]| changes.iter().map(|it| it.1 as u32).collect::<Vec<_>>();
    assert_eq!(hops(&changes), hops(&PUBLISHED), "{changes:?}");
    for (ours, published) in changes.iter().zip(&PUBLISHED) {
        assert!((ours.0 - published.0).abs() <= NEAR, "{ours:?} for {published:?}");
    }
}
