//! Random networks of agents and hosts that die, return and forget: every packet is accounted for, and under static
//! routing none goes round in circles.

use std::collections::BTreeMap;

use hopyard_engine::Time;
use hopyard_model::address::{Address, NodeId};
use hopyard_model::agent;
use hopyard_model::context::DropReason;
use hopyard_model::observe::{Outcome, PacketEvent, Passage, Probe};
use hopyard_model::packet::{Packet, PacketKind};
use hopyard_model::world::{self, Spec, Watch, World};
use proptest::test_runner::Config;
use rayon::ThreadPoolBuilder;
use rayon::prelude::*;

use super::random::numbered;

/// Networks in which packets once went round. A packet came to a foreign agent through the tunnel of a home agent, from
/// a visitor there for a host that was no visitor, and the foreign agent sent the packet back to this home agent. In
/// 6676 the home agent was the sender's foreign agent too. In 7486 and 9570 each of two agents is the home agent of a
/// host that is or was at the other agent: a packet of the forward tunnel, for a host that had left, was taken for a
/// packet of a reverse tunnel.
const FORMER: [u64; 4] = [332, 6676, 7486, 9570];

/// How often a node may receive a packet from the same neighbour with the same outer header. Each binding of its host
/// has a copy, with an outer header of its own; a copy of the MAC whose acknowledgement is lost is dropped there.
///
/// With reverse tunnels a node may receive a packet twice. Where each of two agents is the home agent of a host at the
/// other agent, a packet between these hosts goes through the reverse tunnel to the home network of its destination,
/// and back through the forward tunnel, which has the same two ends.
fn most_visits(spec: &Spec) -> u32 {
    let is_reverse = agent::Config::takes_reverse_tunnels;
    if spec.nodes.iter().flat_map(|node| &node.agents).any(is_reverse) { 2 } else { 1 }
}

/// The number of networks: a fifth of the cases of other properties.
fn networks() -> u64 {
    u64::from(Config::default().cases / 5)
}

/// A packet at a node: its number, its outer header, the neighbour that sent it, and the node.
type Visit = (u32, Time, Address, Address, NodeId, NodeId);

/// The way of each packet of data.
#[derive(Debug, Default)]
struct Ways {
    visits: BTreeMap<Visit, u32>,
    /// The dropped packets that would have gone round in circles, or whose time to live ended.
    circles: Vec<(Time, NodeId, DropReason, PacketKind)>,
    tunnelled: u64,
}

impl Probe for Ways {
    fn on_packet(&mut self, now: Time, node: NodeId, packet: &Packet, event: PacketEvent) {
        match event {
            PacketEvent::Hop { from } if packet.kind() == PacketKind::Data => {
                let visit = (packet.flow.0, packet.created, packet.source, packet.destination, from, node);
                *self.visits.entry(visit).or_default() += 1;
            }
            PacketEvent::Dropped(reason) => {
                // A message between neighbours has a time to live of 1, which ends at the first node that is not meant.
                let is_for_neighbour = packet.kind() == PacketKind::Control && packet.hops == 1;
                if reason == DropReason::RoutingLoop || (reason == DropReason::TtlExpired && !is_for_neighbour) {
                    self.circles.push((now, node, reason, packet.kind()));
                }
            }
            _ => {}
        }
    }

    fn on_passage(&mut self, _: Time, _: &Packet, passage: Passage) {
        let Passage::AgentTunnelEntered { .. } = passage else { return };
        self.tunnelled += 1;
    }
}

/// Whether packets must not go round in circles. Under DSDV (profile `ns2`) some do. Each host leads packets for other
/// networks towards its own base station, and two hosts that are each other's next hop there pass them to and fro. An
/// agent leaves the way to a visitor to DSDV, which may lead to the home agent, and that one into the tunnel again. In
/// both cases the time to live ends it. There, packets must add up only.
fn promises_no_circles(spec: &Spec) -> bool {
    spec.nodes.iter().all(|node| node.routing.name() == "static")
}

/// Runs a network, and returns what is wrong with it, the packets that entered tunnels, and those that arrived.
fn look(number: u64) -> (Option<String>, u64, u64) {
    let spec = numbered(number);
    let world = match World::with_probe(&spec, Ways::default()) {
        Ok(world) => world,
        Err(error) => return (Some(format!("network {number}: {error}")), 0, 0),
    };
    let (outcome, ways) = match world.run_watched(&Watch::default()) {
        Ok(it) => it,
        Err(error) => return (Some(format!("network {number}: {error}")), 0, 0),
    };
    let ends = |it: &&hopyard_model::observe::FlowRow| {
        it.packets_sent > it.packets_arrived + it.packets_dropped + it.packets_left
    };
    let (promises, most) = (promises_no_circles(&spec), most_visits(&spec));
    let wrong = if let Some((visit, count)) = ways.visits.iter().find(|(_, count)| promises && **count > most) {
        Some(format!("network {number}: {count} times {visit:?}"))
    } else if let Some(first) = ways.circles.first().filter(|_| promises) {
        Some(format!("network {number}: {} circles, first {first:?}", ways.circles.len()))
    } else {
        outcome.flows.iter().find(ends).map(|flow| format!("network {number}: {flow:?}"))
    };
    (wrong, ways.tunnelled, outcome.flows.iter().map(|flow| flow.packets_arrived).sum())
}

#[test]
fn packets_add_up_and_under_static_routing_none_goes_round_in_circles() {
    let found: Vec<_> = (0..networks()).chain(FORMER).collect::<Vec<_>>().into_par_iter().map(look).collect();
    let wrong: Vec<&String> = found.iter().filter_map(|it| it.0.as_ref()).collect();
    let first = &wrong[..wrong.len().min(10)];
    assert!(wrong.is_empty(), "{} of {} networks: {first:#?}", wrong.len(), found.len());
    // The networks use tunnels, and packets arrive.
    let (tunnelled, arrived) = found.iter().fold((0, 0), |sum, it| (sum.0 + it.1, sum.1 + it.2));
    assert!(tunnelled > 50 * networks() && arrived > 200 * networks(), "{tunnelled} tunnelled, {arrived} arrived");
}

fn digest(outcome: &Outcome) -> u64 {
    outcome.digest
}

#[test]
fn threads_observers_and_the_exact_medium_change_nothing() {
    let numbers = 0..(networks() / 5).min(200);
    let plain = |number: u64| digest(&world::simulate(&numbered(number), &Watch::default()).expect("sums"));
    let alone: Vec<u64> = numbers.clone().map(plain).collect();
    for threads in [1, 2, 8] {
        let pool = ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
        let among: Vec<u64> = pool.install(|| numbers.clone().into_par_iter().map(plain).collect());
        assert_eq!(among, alone, "{threads} threads");
    }
    for (number, expected) in numbers.zip(alone) {
        let mut spec = numbered(number);
        let watched = World::with_probe(&spec, Ways::default()).expect("a world").run_watched(&Watch::default());
        assert_eq!(digest(&watched.expect("packets add up").0), expected, "network {number}, with a probe");
        spec.medium.exact = true;
        let exact = world::simulate(&spec, &Watch::default()).expect("packets add up");
        assert_eq!(digest(&exact), expected, "network {number}, with one event for each edge of a signal");
    }
}
