//! Heights are a third coordinate like the others: they count in distances, and a common height has no effect.

use hopyard_engine::Span;
use hopyard_engine::units::{Coordinate, Distance, Speed};
use hopyard_model::mobility::waypoints::{Order, Params, Waypoint};
use hopyard_model::mobility::{self, Position};
use proptest::prelude::*;

use crate::common::{add_cbr, add_tcp, chain, network, ranged, run, run_for, scenarios};

/// Coordinates in whole metres.
type Place = (i32, i32, i32);

/// How many of fifty datagrams arrive over these coordinates.
fn arrived(to: Position) -> u64 {
    let mut spec = ranged(network("rfc", "static", &[(0.0, 0.0), (0.0, 0.0)]), 250.0, 300.0);
    spec.nodes[0].start = Position { x: 3.0, y: -4.0, z: 5.0 };
    spec.nodes[1].start = spec.nodes[0].start + to;
    add_cbr(&mut spec, 0, 1, 256, Span::from_millis(20));
    run_for(&mut spec, 1).flows[0].packets_arrived
}

#[test]
fn a_frame_reaches_as_far_up_as_along_the_ground() {
    for (x, y, z) in
        [(249.0, 0.0, 0.0), (0.0, 0.0, 249.0), (0.0, 0.0, -249.0), (200.0, 0.0, 149.0), (140.0, 140.0, 150.0)]
    {
        assert!(arrived(Position { x, y, z }) >= 48, "({x}, {y}, {z}) is within reach");
    }
    for (x, y, z) in
        [(251.0, 0.0, 0.0), (0.0, 0.0, 251.0), (0.0, 0.0, -251.0), (200.0, 0.0, 151.0), (150.0, 150.0, 150.0)]
    {
        assert_eq!(arrived(Position { x, y, z }), 0, "({x}, {y}, {z}) is out of reach");
    }
}

#[test]
fn a_chain_is_the_same_in_every_direction() {
    let expected = run(&scenarios::chain_of_six("aodv"));
    assert!(expected.flows[0].delivered_bytes > 0);
    for axis in
        [|way: f64| Position { y: way, ..Position::default() }, |way: f64| Position { z: way, ..Position::default() }]
    {
        let mut spec = scenarios::chain_of_six("aodv");
        for (node, (way, _)) in spec.nodes.iter_mut().zip(chain(6, 200.0)) {
            node.start = axis(way);
        }
        let found = run(&spec);
        assert_eq!((found.digest, &found.flows), (expected.digest, &expected.flows));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, ..ProptestConfig::default() })]

    /// Coordinates are whole metres, so that no sum of squares is rounded, in whatever order.
    #[test]
    fn a_network_that_is_turned_gives_the_same_run(
        places in prop::collection::hash_set((0..350_i32, 0..280_i32, 0..270_i32), 12),
        climber in (0..3_i32, 0..3_i32, 0..3_i32),
    ) {
        let as_drawn = |&(x, y, z): &Place| (x, y, z);
        let upright = |&(x, y, z): &Place| (z, y, x);
        let turned = |&(x, y, z): &Place| (y, z, x);
        let mut places: Vec<_> = places.into_iter().collect();
        places.sort_unstable();
        let spec = |turn: &dyn Fn(&Place) -> Place| {
            let mut spec = ranged(network("ns2", "aodv", &[(0.0, 0.0); 12]), 150.0, 320.0);
            for (node, place) in spec.nodes.iter_mut().zip(&places) {
                let (x, y, z) = turn(place);
                node.start = Position { x: f64::from(x), y: f64::from(y), z: f64::from(z) };
            }
            // One waypoint a second, whole metres away, so that velocities are whole numbers too.
            let step = turn(&climber);
            let from = turn(&places[7]);
            let track = (0..7).map(|second| Waypoint {
                at: Span::from_secs(second as u64),
                x: Coordinate::new(f64::from(from.0 + second * step.0)),
                y: Coordinate::new(f64::from(from.1 + second * step.1)),
                z: Coordinate::new(f64::from(from.2 + second * step.2)),
            });
            spec.nodes[7].mobility =
                mobility::Config::Waypoints(Params { track: track.collect(), orders: Vec::new() }.into());
            add_tcp(&mut spec, 0, 11, "ns2", "newreno", |_| {});
            add_cbr(&mut spec, 7, 3, 256, Span::from_millis(50));
            hopyard_model::world::Spec { duration: Span::from_secs(6), ..spec }
        };
        let expected = run(&spec(&as_drawn));
        prop_assert!(expected.frames > 0);
        for other in [run(&spec(&upright)), run(&spec(&turned))] {
            prop_assert_eq!((other.digest, &other.flows), (expected.digest, &expected.flows));
        }
    }
}

#[test]
fn a_common_height_has_no_effect() {
    let mut lifted = 0;
    for (name, spec) in scenarios::all() {
        // Nodes that draw their own positions have none of the scenario's heights.
        if spec.nodes.iter().any(|node| node.mobility.has_own_start()) {
            continue;
        }
        let mut above = spec.clone();
        for node in &mut above.nodes {
            node.start.z += 1024.0;
        }
        let (expected, found) = (run(&spec), run(&above));
        assert_eq!((found.digest, &found.flows), (expected.digest, &expected.flows), "{name}");
        lifted += 1;
    }
    assert!(lifted >= 5, "only {lifted} scenarios have no node that draws its position");
}

#[test]
fn a_node_that_climbs_loses_its_link_and_finds_it_again() {
    let metres = Distance::new;
    let order = |at, z| Order {
        z: Some(Coordinate::new(z)),
        ..Order::level(Span::from_secs(at), metres(200.0), metres(0.0), Speed::new(300.0))
    };
    let mut spec = ranged(network("rfc", "static", &[(0.0, 0.0), (200.0, 0.0)]), 250.0, 300.0);
    let orders = vec![order(3, 300.0), order(6, 0.0)];
    spec.nodes[1].mobility = mobility::Config::Waypoints(Params { track: Vec::new(), orders }.into());
    spec.link.queue_length = 1;
    add_cbr(&mut spec, 0, 1, 256, Span::from_millis(20));
    let outcome = run_for(&mut spec, 10);
    // It is higher than 150 m from 3.5 s to 6.5 s. A datagram that waits in the queue at the end of this time still
    // arrives.
    let arrived = outcome.flows[0].packets_arrived;
    assert!((345..=354).contains(&arrived), "{arrived} datagrams of 500 arrive");
}
