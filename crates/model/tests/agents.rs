//! Agents in whole networks.

mod common;

use common::{add_tcp, network, run, with_ranges};
use hopyard_engine::units::Distance;
use hopyard_engine::{Span, Time};
use hopyard_model::address::{Address, NodeId};
use hopyard_model::agent::{self, Model};
use hopyard_model::mobility::{self, waypoints};
use hopyard_model::world::{Spec, Watch, World};

/// Nine nodes on a grid of 200 m. Those beside each other hear each other, those across a square do not.
fn grid() -> Spec {
    let places: Vec<_> = (0..9).map(|n| (f64::from(n % 3) * 200.0, f64::from(n / 3) * 200.0)).collect();
    let mut spec = network("rfc", "static", &places);
    with_ranges(&mut spec, 250.0, 550.0);
    for node in &mut spec.nodes {
        node.agents = vec![agent::Config::of_profile("neighbours", "rfc").expect("an agent")];
    }
    spec.duration = Span::from_secs(60);
    spec
}

/// The one-hop and two-hop lists of a node.
fn lists(world: &World, node: u32) -> (Vec<u32>, Vec<u32>) {
    let [Model::Neighbours(agent)] = world.agents(NodeId(node)) else { panic!("one agent") };
    let numbers = |list: Vec<Address>| list.iter().map(|address| address.0).collect();
    (numbers(agent.one_hop(world.now())), numbers(agent.two_hop(world.now())))
}

#[test]
fn the_lists_equal_the_geometry_of_a_grid() {
    let mut world = World::new(&grid()).expect("a world");
    world.advance(Time::ZERO + Span::from_secs(30), &Watch::default());
    for node in 0..9_u32 {
        let steps = |other: u32| (node % 3).abs_diff(other % 3) + (node / 3).abs_diff(other / 3);
        let within = |count: u32| (0..9).filter(|&other| steps(other) == count).collect::<Vec<_>>();
        assert_eq!(lists(&world, node), (within(1), within(2)), "node {node}");
    }
}

#[test]
fn a_node_that_leaves_is_forgotten_within_the_hold_time() {
    let mut spec = grid();
    let point =
        |seconds, x| waypoints::Waypoint::ground(Span::from_secs(seconds), Distance::new(x), Distance::new(0.0));
    let track = vec![point(20, 0.0), point(21, 9000.0)];
    spec.nodes[0].mobility = mobility::Config::Waypoints(waypoints::Params { track, orders: Vec::new() });
    let mut world = World::new(&spec).expect("a world");
    world.advance(Time::ZERO + Span::from_secs(20), &Watch::default());
    assert_eq!(lists(&world, 1).0, [0, 2, 4]);
    assert_eq!(lists(&world, 0).1, [2, 4, 6]);
    world.advance(Time::ZERO + Span::from_secs(28), &Watch::default());
    assert_eq!(lists(&world, 1).0, [2, 4]);
    assert_eq!(lists(&world, 0), (vec![], vec![]));
}

/// Agents share the medium with flows, packets add up, and the messages are counted as what they are.
#[test]
fn agents_and_flows_share_the_medium() {
    let mut with = grid();
    add_tcp(&mut with, 0, 8, "rfc", "newreno", |_| {});
    let mut without = with.clone();
    for node in &mut without.nodes {
        node.agents.clear();
    }
    let (with, without) = (run(&with), run(&without));
    let broadcasts =
        |outcome: &hopyard_model::observe::Outcome| outcome.nodes.iter().map(|n| n.broadcasts).sum::<u64>();
    // Nine nodes, 60 s, an interval of 1.5 to 2 s.
    assert!((270..360).contains(&(broadcasts(&with) - broadcasts(&without))), "{}", broadcasts(&with));
    assert_eq!(with.nodes.iter().map(|node| node.routing_packets).sum::<u64>(), 0);
    let [a, b] = [&with, &without].map(|it| it.flows[0].goodput_kbps);
    assert!(a < b && a > 0.8 * b, "{a} kbit/s with agents, {b} without");
    assert_eq!(run(&grid()).digest, run(&grid()).digest);
}
