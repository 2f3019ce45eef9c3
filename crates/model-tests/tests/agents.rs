//! Agents in whole networks.

use hopyard_engine::units::Distance;
use hopyard_engine::{Span, Time};
use hopyard_model::address::{Address, NodeId};
use hopyard_model::agent::{self, Model, neighbours};
use hopyard_model::link::wired;
use hopyard_model::mac;
use hopyard_model::mobility::{self, waypoints};
use hopyard_model::observe::{Passage, Probe};
use hopyard_model::packet::{Packet, PacketKind};
use hopyard_model::params::Params as _;
use hopyard_model::world::{Spec, Watch, WireSpec, World};

use crate::common::{add_cbr, add_tcp, network, ranged, run, with_ranges};

/// Nine nodes on a grid of 200 m. Those beside each other hear each other, those across a square do not.
fn grid() -> Spec {
    let places: Vec<_> = (0..9).map(|n| (f64::from(n % 3) * 200.0, f64::from(n / 3) * 200.0)).collect();
    let mut spec = ranged(network("rfc", "static", &places), 250.0, 550.0);
    spec.nodes
        .iter_mut()
        .for_each(|node| node.agents = vec![agent::Config::of_profile("neighbours", "rfc").expect("an agent")]);
    Spec { duration: Span::from_secs(60), ..spec }
}

/// The one-hop and two-hop lists of a node.
fn lists<P: Probe>(world: &World<P>, node: u32) -> (Vec<u32>, Vec<u32>) {
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
    spec.nodes[0].mobility = mobility::Config::Waypoints(waypoints::Params { track, orders: Vec::new() }.into());
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

/// A node between two others hears what they send to each other, under every MAC: it knows them as long as they send,
/// although they have no agent. One that does not ask hears nothing of it.
#[test]
fn frames_for_others_are_overheard_under_every_mac() {
    for mac in mac::MODELS.iter().map(|model| model.name) {
        let heard = |overhear: bool, at: u64| {
            let mut spec = ranged(
                network("rfc", "static", &[(0.0, 0.0), (200.0, 0.0), (100.0, 50.0), (320.0, 0.0)]),
                250.0,
                550.0,
            );
            spec.channels[0].mac = mac::Config::of_profile(mac, "rfc").expect("a MAC");
            let params = neighbours::Params { overhear, ..neighbours::Params::of_profile("rfc") };
            for listener in [2, 3] {
                spec.nodes[listener].agents = vec![agent::Config::Neighbours(params.clone().into())];
            }
            add_cbr(&mut spec, 0, 1, 200, Span::from_millis(100));
            spec.flows[0].stop = Time::ZERO + Span::from_secs(10);
            let mut world = World::new(&spec).expect("a world");
            world.advance(Time::ZERO + Span::from_secs(at), &Watch::default());
            let lists = [2, 3].map(|node| {
                let [Model::Neighbours(agent)] = world.agents(NodeId(node)) else { panic!("one agent") };
                let others = agent.heard(world.now()).into_iter().map(|address| address.0);
                others.filter(|&other| other < 2).collect::<Vec<_>>()
            });
            world.advance(Time::NEVER, &Watch::default());
            world.finish().expect("packets add up");
            lists
        };
        let nobody: [Vec<u32>; 2] = Default::default();
        assert_eq!(heard(true, 5), [vec![0, 1], vec![1]], "{mac}: node 1 has answered an ARP request");
        assert_eq!(heard(true, 15), [vec![0], vec![]], "{mac}: node 0 was heard last at 10 s");
        assert_eq!(heard(true, 17), nobody, "{mac}");
        assert_eq!(heard(false, 5), nobody, "{mac}");
    }
}

/// A wire from one node to another.
fn wire(spec: &mut Spec, a: u32, b: u32) {
    let params = wired::Params::of_profile("rfc");
    spec.wires.push(WireSpec { ends: (NodeId(a), NodeId(b)), params, network: None });
}

/// Hosts and routers in a row, and a gateway to two nodes with radios: an agent finds its neighbours on wires and on
/// radios, on whichever interface they are.
#[test]
fn agents_find_neighbours_over_wires() {
    // Wires 0 - 1 - 2 - 3, radios 3, 4 and 5.
    let mut spec =
        network("rfc", "aodv", &[(0.0, 0.0), (0.0, 0.0), (0.0, 0.0), (0.0, 0.0), (200.0, 0.0), (400.0, 0.0)]);
    with_ranges(&mut spec, 250.0, 550.0);
    spec.nodes
        .iter_mut()
        .for_each(|node| node.agents = vec![agent::Config::of_profile("neighbours", "rfc").expect("an agent")]);
    for (a, b) in [(0, 1), (1, 2), (2, 3)] {
        spec.nodes[a as usize].radios.clear();
        wire(&mut spec, a, b);
    }
    add_cbr(&mut spec, 3, 5, 200, Span::from_millis(200));
    spec.duration = Span::from_secs(30);

    #[derive(Debug, Default)]
    struct OnWires(Vec<PacketKind>);
    impl Probe for OnWires {
        fn on_passage(&mut self, _: Time, packet: &Packet, passage: Passage) {
            let Passage::WireEntered(_) = passage else { return };
            self.0.push(packet.kind());
        }
    }
    let mut world = World::with_probe(&spec, OnWires::default()).expect("a world");
    world.advance(Time::ZERO + Span::from_secs(20), &Watch::default());
    for (node, near, far) in [
        (0, vec![1], vec![2]),
        (1, vec![0, 2], vec![3]),
        (2, vec![1, 3], vec![0, 4]),
        (3, vec![2, 4], vec![1, 5]),
        (5, vec![4], vec![3]),
    ] {
        assert_eq!(lists(&world, node), (near, far), "node {node}");
    }
    world.advance(Time::NEVER, &Watch::default());
    let (outcome, probe) = world.finish().expect("packets add up");
    // AODV runs on radios only: its requests and HELLOs do not enter wires. The messages of agents do, at 6 ends.
    let count = |kind| probe.0.iter().filter(|it| **it == kind).count();
    assert!(outcome.nodes[3].routing_packets > 0 && count(PacketKind::Routing) == 0);
    assert!((6 * 14..=6 * 21).contains(&count(PacketKind::Control)), "{}", count(PacketKind::Control));
}

#[test]
fn two_agents_with_one_port_are_refused() {
    let mut spec = grid();
    let again = spec.nodes[4].agents[0].clone();
    spec.nodes[4].agents.push(again);
    let error = World::new(&spec).expect_err("one port").to_string();
    assert_eq!(error, "node 4 runs the agents `neighbours` and `neighbours`, which both are reached at UDP port 49269");
}

/// Nodes with DRAND in the world: those of a row hear each other, and the row after the next one is out of reach.
fn with_drand(mac: &str) -> Spec {
    let mut spec = grid();
    // A round trip over slots takes up to two frames, and one more for the link address.
    let first_delay = Span::from_millis(if mac == "tdma" { 200 } else { 50 });
    let params = agent::drand::Params { first_delay, ..agent::drand::Params::of_profile("rfc") };
    spec.nodes.iter_mut().for_each(|node| node.agents = vec![agent::Config::Drand(params.clone().into())]);
    spec.channels[0].mac = mac::Config::of_profile(mac, "rfc").expect("a MAC");
    spec
}

fn drand<P: Probe>(world: &World<P>, node: u32) -> &agent::drand::Drand {
    let [Model::Drand(agent)] = world.agents(NodeId(node)) else { panic!("one agent") };
    agent
}

#[test]
fn drand_gives_a_grid_slots_that_none_shares_within_two_hops() {
    for mac in mac::MODELS {
        let mut world = World::new(&with_drand(mac.name)).expect("a world");
        world.advance(Time::ZERO + Span::from_secs(50), &Watch::default());
        let all: Vec<_> = (0..9).map(|node| drand(&world, node).machine().assigned()).collect();
        let links: Vec<Vec<u32>> = (0..9_u32)
            .map(|node| {
                let steps = |other: u32| (node % 3).abs_diff(other % 3) + (node / 3).abs_diff(other / 3);
                (0..9).filter(|&other| steps(other) == 1).collect()
            })
            .collect();
        let slots: Vec<_> = all.iter().map(|it| it.slot).collect();
        assert!(slots.iter().all(Option::is_some), "{}: {slots:?}", mac.name);
        assert_eq!(mac::tdma::colouring::conflicts(&links, &slots), [], "{}: {slots:?}", mac.name);
        let largest = slots.iter().copied().max().flatten();
        // The node in the middle has all others within two hops.
        assert!(largest <= Some(8) && largest >= Some(4), "{}: {slots:?}", mac.name);
        assert!(all.iter().all(|it| it.largest == largest), "{}: {all:?}", mac.name);
        for (node, known) in (0_u32..).zip(&all) {
            let near =
                links[node as usize].iter().chain(links[node as usize].iter().flat_map(|&it| &links[it as usize]));
            let expected = near.filter_map(|&it| slots[it as usize]).max().max(known.slot);
            assert_eq!(known.largest_near, expected, "{}: node {node}", mac.name);
        }
    }
}

#[test]
fn a_node_that_comes_with_the_slot_of_another_one_gives_it_up() {
    let mut spec = with_drand("dcf");
    let point =
        |seconds, x, y| waypoints::Waypoint::ground(Span::from_secs(seconds), Distance::new(x), Distance::new(y));
    // Node 8 is alone until it goes to the corner of node 0.
    let track = vec![point(0, 9000.0, 9000.0), point(30, 9000.0, 9000.0), point(31, 0.0, 1.0)];
    spec.nodes[8].mobility = mobility::Config::Waypoints(waypoints::Params { track, orders: Vec::new() }.into());
    let mut world = World::new(&spec).expect("a world");
    world.advance(Time::ZERO + Span::from_secs(30), &Watch::default());
    let alone = drand(&world, 8).machine().slot();
    assert_eq!(alone, Some(0));
    let before: Vec<_> = (0..8).map(|node| drand(&world, node).machine().slot()).collect();
    assert!([0, 1, 2, 3, 4, 6].iter().any(|&near| before[near] == alone), "{before:?}");
    world.advance(Time::ZERO + Span::from_secs(45), &Watch::default());
    let after: Vec<_> = (0..8).map(|node| drand(&world, node).machine().slot()).collect();
    // The others have smaller addresses, and are not disturbed.
    assert_eq!(after, before);
    let slot = drand(&world, 8).machine().slot();
    assert!(slot.is_some());
    for near in [0, 1, 2, 3, 4, 6] {
        assert_ne!(slot, before[near], "node {near}: {before:?}");
    }
}
