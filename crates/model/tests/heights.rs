//! Heights are a third coordinate like the others: they count in distances, and a common height has no effect.

mod common;

use hopyard_engine::Span;
use hopyard_engine::units::{Coordinate, Distance, Speed};
use hopyard_model::mobility::waypoints::{Order, Params};
use hopyard_model::mobility::{self, Position};

use common::{add_cbr, chain, network, run, scenarios, with_ranges};

/// How many of fifty datagrams arrive over these coordinates.
fn arrived(to: Position) -> u64 {
    let mut spec = network("rfc", "static", &[(0.0, 0.0), (0.0, 0.0)]);
    with_ranges(&mut spec, 250.0, 300.0);
    spec.nodes[0].start = Position { x: 3.0, y: -4.0, z: 5.0 };
    spec.nodes[1].start = spec.nodes[0].start + to;
    add_cbr(&mut spec, 0, 1, 256, Span::from_millis(20));
    spec.duration = Span::from_secs(1);
    run(&spec).flows[0].packets_arrived
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
    let mut spec = network("rfc", "static", &[(0.0, 0.0), (200.0, 0.0)]);
    with_ranges(&mut spec, 250.0, 300.0);
    let orders = vec![order(3, 300.0), order(6, 0.0)];
    spec.nodes[1].mobility = mobility::Config::Waypoints(Params { track: Vec::new(), orders });
    spec.link.queue_length = 1;
    add_cbr(&mut spec, 0, 1, 256, Span::from_millis(20));
    spec.duration = Span::from_secs(10);
    let outcome = run(&spec);
    // It is higher than 150 m from 3.5 s to 6.5 s. A datagram that waits in the queue at the end of this time still
    // arrives.
    let arrived = outcome.flows[0].packets_arrived;
    assert!((345..=354).contains(&arrived), "{arrived} datagrams of 500 arrive");
}
