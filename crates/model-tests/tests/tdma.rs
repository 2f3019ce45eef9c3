//! Slotted access in whole networks: packets a second beside ns-2's, hidden stations, losses.

use std::sync::Arc;

use hopyard_engine::units::{Distance, Power, Rate, Speed};
use hopyard_engine::{Span, Streams, Time};
use hopyard_model::context::DropReason;
use hopyard_model::link::arp::Resolution;
use hopyard_model::mac::{self, tdma};
use hopyard_model::mobility::{self, random_waypoint};
use hopyard_model::observe::Outcome;
use hopyard_model::params::Params as _;
use hopyard_model::phy::links::{self, Links};
use hopyard_model::phy::{Reception, propagation};
use hopyard_model::routing::static_routes::{self, Others};
use hopyard_model::world::Spec;
use hopyard_model::{agent, phy, routing};

use crate::common::{add_cbr, add_tcp, chain, mbps, network, ranged, run, run_for, with_ranges};

fn with_tdma(spec: &mut Spec, profile: &str, change: impl FnOnce(&mut tdma::Params)) {
    let mut params = tdma::Params::of_profile(profile);
    change(&mut params);
    params.check().expect("possible parameters");
    spec.channels[0].mac = mac::Config::Tdma(params.into());
}

fn dropped(outcome: &Outcome, reason: DropReason) -> u64 {
    outcome.drops.iter().filter(|row| row.reason == reason.name()).map(|row| row.count).sum()
}

/// Every node sends to the next one as fast as it may. The rates of ns-2.35 are from `mac/mac-tdma.cc` on the same
/// network; they are 1 / ((nodes + 1) slots), as its closed form says. The comparison with all of them is a program
/// (`hopyard-validation --only tdma`).
#[test]
fn saturated_nodes_send_as_many_packets_as_in_ns2() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../validation/peers/data/ns2_tdma.csv");
    let text = std::fs::read_to_string(path).expect("the rates of ns-2");
    let mut compared = 0;
    for line in text.lines().skip(1) {
        let cells: Vec<f64> = line.split(',').map(|cell| cell.parse().expect("a number")).collect();
        let [nodes, rate, slot_bytes, payload, expected, _] = cells[..] else { panic!("{line}") };
        if !(nodes < 5.0 && [200.0, 1100.0].contains(&slot_bytes) || nodes > 9.0 && slot_bytes == 576.0) {
            continue;
        }
        let count = nodes as usize;
        let mut spec = network("ns2", "static", &chain(count, 1.0));
        let mut frame = Span::ZERO;
        with_tdma(&mut spec, "ns2", |tdma| {
            tdma.rate = mbps(rate);
            tdma.slot = tdma.rate.airtime(slot_bytes as u32);
            frame = tdma.slot * (count as u64 + 1);
        });
        // In ns-2 the payload has no influence, because a frame may be longer than its slot. Here it must fit, and end
        // at the receiver before the next slot begins.
        let payload = payload.min(slot_bytes - 81.0);
        for node in 0..count as u32 {
            // Twice as many as may be sent.
            add_cbr(&mut spec, node, (node + 1) % count as u32, payload as u64, frame / 2);
        }
        (spec.duration, spec.measure_from) = (frame * 1100, Time::ZERO + frame * 100);
        let outcome = run(&spec);
        for flow in &outcome.flows {
            let found = flow.packets_arrived as f64 / (frame * 1000).seconds();
            let difference = (found / expected - 1.0).abs();
            assert!(difference <= 0.001, "{line}: flow {} has {found} packets a second", flow.flow);
        }
        compared += 1;
    }
    assert_eq!(compared, 10, "cells of ns-2");
}

/// A chain whose nodes hear their neighbours only, and know all addresses; 1 Mb/s and slots of 13 ms.
fn slotted_chain(nodes: usize, change: impl FnOnce(&mut tdma::Params)) -> Spec {
    let mut spec = ranged(network("rfc", "oracle", &chain(nodes, 200.0)), 250.0, 250.0);
    spec.link.arp.resolution = Resolution::Off;
    with_tdma(&mut spec, "rfc", |tdma| {
        (tdma.rate, tdma.slot) = (mbps(1.0), SLOT);
        change(tdma);
    });
    spec
}

const SLOT: Span = Span::from_millis(13);

/// 512 bytes with the headers of UDP, IP and the MAC at 1 Mb/s, behind the preamble.
const AIRTIME: Span = Span::from_micros(192 + 8 * (512 + 8 + 20 + 36));

fn owners(list: &[u32]) -> tdma::Schedule {
    tdma::Schedule::Owners(list.iter().copied().map(tdma::Owner::Node).collect())
}

/// Through a chain with a source that always has a packet, as many packets pass in each frame as fit into a slot. The
/// frame has a slot for each node, or three where nodes three hops apart share them.
#[test]
fn a_saturated_chain_carries_a_slot_full_of_packets_in_each_frame() {
    for hops in [1, 2, 3, 5, 8] {
        for (packing, fit) in [(tdma::Packing::Fit, 2), (tdma::Packing::One, 1)] {
            for shared in [false, true] {
                let nodes = hops + 1;
                let slots = if shared { nodes.min(3) } else { nodes };
                let mut spec = slotted_chain(nodes, |tdma| {
                    tdma.packing = packing;
                    let of = |slot: usize| (slot as u32..nodes as u32).step_by(slots).collect();
                    let list = (0..slots).map(|slot| tdma::Owner::Nodes(of(slot)));
                    tdma.schedule = tdma::Schedule::Owners(list.collect());
                });
                add_cbr(&mut spec, 0, hops as u32, 512, SLOT / 3);
                let frame = SLOT * slots as u64;
                (spec.duration, spec.measure_from) = (frame * 320, Time::ZERO + frame * 20);
                let arrived = run(&spec).flows[0].packets_arrived;
                assert_eq!(arrived, 300 * fit, "{hops} hops, {slots} slots, {packing:?}");
            }
        }
    }
}

/// When a packet that is given to the first node of a path at a time arrives at the last one: each node waits for its
/// slot, and a hop takes the frame's duration and 200 m.
fn arrival(given: Time, path: &[u32], order: &[u32]) -> Time {
    let delay = Span::from_nanos(667);
    let frame = SLOT * order.len() as u64;
    path[..path.len() - 1].iter().fold(given, |now, node| {
        let slot = order.iter().position(|owner| owner == node).expect("every node has a slot") as u64;
        let mut begin = Time::ZERO + SLOT * slot;
        while begin + SLOT < now + AIRTIME {
            begin += frame;
        }
        begin.max(now) + AIRTIME + delay
    })
}

#[test]
fn a_lone_packet_takes_the_time_that_the_order_of_slots_says() {
    for hops in [1_u32, 2, 3, 5, 8] {
        let nodes = hops + 1;
        let along: Vec<u32> = (0..nodes).collect();
        let against: Vec<u32> = along.iter().rev().copied().collect();
        let mixed: Vec<u32> = (0..nodes).step_by(2).chain((1..nodes).step_by(2)).collect();
        for order in [&along, &against, &mixed] {
            for start in [0, 7_654_321, 20_000_001, 1_000_000_007] {
                let mut spec = slotted_chain(nodes as usize, |tdma| tdma.schedule = owners(order));
                add_cbr(&mut spec, 0, hops, 512, Span::from_secs(100));
                spec.flows[0].start = Time::from_nanos(start);
                let flow = run_for(&mut spec, 4).flows.remove(0);
                assert_eq!((flow.packets_sent, flow.packets_arrived), (1, 1));
                let expected = arrival(Time::from_nanos(start), &along, order).since(Time::from_nanos(start));
                let found = (flow.delay_ms.expect("it arrived") * 1e6).round() as u64;
                assert_eq!(found, expected.nanos(), "{hops} hops, {order:?}, from {start} ns");
            }
        }
    }
}

/// Along the order of slots, a hop takes a slot; against it, a frame less one slot.
#[test]
fn the_order_of_slots_decides_how_long_a_hop_takes() {
    let path: Vec<u32> = (0..6).collect();
    let against: Vec<u32> = path.iter().rev().copied().collect();
    let last = AIRTIME + Span::from_nanos(667);
    assert_eq!(arrival(Time::ZERO, &path, &path), Time::ZERO + SLOT * 4 + last);
    assert_eq!(arrival(Time::ZERO, &path, &against), Time::ZERO + SLOT * 5 + SLOT * 5 * 4 + last);
}

/// Two stations that do not hear each other send to one between them: with slots nothing is lost, with DCF much is.
#[test]
fn hidden_stations_do_not_disturb_each_other() {
    let collisions = |slotted: bool| {
        let mut spec = ranged(network("rfc", "static", &chain(3, 200.0)), 250.0, 250.0);
        if slotted {
            with_tdma(&mut spec, "rfc", |_| {});
        }
        add_cbr(&mut spec, 0, 1, 512, Span::from_millis(20));
        add_cbr(&mut spec, 2, 1, 512, Span::from_millis(20));
        let outcome = run_for(&mut spec, 10);
        let arrived: u64 = outcome.flows.iter().map(|flow| flow.packets_arrived).sum();
        assert!(arrived > 600, "{arrived} packets arrived");
        outcome.nodes.iter().map(|node| node.collisions).sum::<u64>()
    };
    assert_eq!(collisions(true), 0);
    assert!(collisions(false) > 50);
}

/// Two stations that own the same slot: the packets of both are lost, and counted.
#[test]
fn a_slot_with_two_owners_within_reach_loses_their_packets() {
    // Nodes 0 and 3 send in the first slot. Node 1 is as far from node 3 as from node 0.
    let mut spec = network("rfc", "static", &[(0.0, 0.0), (100.0, 0.0), (100.0, 50.0), (200.0, 0.0)]);
    add_cbr(&mut spec, 0, 1, 512, Span::from_millis(50));
    add_cbr(&mut spec, 3, 1, 512, Span::from_millis(50));
    spec.duration = Span::from_secs(5);
    let lost = |shared: bool| {
        let mut spec = spec.clone();
        with_tdma(&mut spec, "rfc", |tdma| {
            tdma.schedule = tdma::Schedule::Owners((0..4).map(tdma::Owner::Node).collect());
        });
        let alone = run(&spec);
        if !shared {
            return dropped(&alone, DropReason::Collision);
        }
        with_tdma(&mut spec, "rfc", |tdma| tdma.slot = Span::from_micros(100_000));
        spec.flows.truncate(1);
        // A receiver out of reach: nobody acknowledges, so nobody sends again.
        spec.nodes[1].start.x = 900.0;
        let routes = static_routes::Params { others: Others::Direct, ..static_routes::Params::of_profile("rfc") };
        spec.nodes[0].routing = routing::Config::StaticRoutes(routes.into());
        let outcome = run(&spec);
        assert!(outcome.flows[0].packets_arrived == 0);
        dropped(&outcome, DropReason::OutOfReach) + dropped(&outcome, DropReason::ArpFailed)
    };
    assert_eq!(lost(false), 0);
    assert!(lost(true) > 0);
}

/// A packet that is longer than a slot is dropped, and those that fit go on.
#[test]
fn packets_longer_than_a_slot_are_dropped() {
    let mut spec = network("rfc", "static", &chain(2, 100.0));
    with_tdma(&mut spec, "rfc", |tdma| tdma.slot = Span::from_millis(3));
    add_cbr(&mut spec, 0, 1, 1000, Span::from_millis(100));
    add_cbr(&mut spec, 0, 1, 200, Span::from_millis(100));
    let outcome = run_for(&mut spec, 5);
    assert_eq!(outcome.flows[0].packets_arrived, 0);
    assert_eq!(dropped(&outcome, DropReason::TooLong), outcome.flows[0].packets_sent);
    assert!(outcome.flows[1].packets_arrived + 1 >= outcome.flows[1].packets_sent, "{:?}", outcome.flows[1]);
}

/// A node's own counters: slots that were used, and that were not. They belong to nodes with this MAC only.
#[test]
fn slots_are_columns_of_the_nodes() {
    let mut spec = network("rfc", "static", &chain(4, 100.0));
    with_tdma(&mut spec, "rfc", |tdma| tdma.packing = tdma::Packing::One);
    let dcf = mac::Config::of_profile("dcf", "rfc").expect("DCF");
    spec.channels.push(hopyard_model::world::ChannelSpec { mac: dcf, ..spec.channels[0].clone() });
    spec.nodes[2].radios = vec![0, 1];
    spec.nodes[3].radios = vec![1];
    add_cbr(&mut spec, 0, 1, 512, Span::from_millis(2));
    add_cbr(&mut spec, 2, 3, 512, Span::from_millis(50));
    let outcome = run_for(&mut spec, 10);
    let metrics = |node: usize| ["slots", "slots_unused", "rts"].map(|name| outcome.nodes[node].metric(name));
    // Three nodes share frames of 19.5 ms.
    let slots = 10_000_000 / 19_500 + 1;
    let [owned, unused, rts] = metrics(0);
    assert_eq!((owned, rts), (Some(slots), None));
    assert_eq!(unused.map(|unused| unused + outcome.nodes[0].frames), Some(slots));
    assert!(unused < Some(3), "node 0 sends without a pause: {unused:?}");
    assert_eq!(metrics(1)[1].map(|unused| unused + outcome.nodes[1].frames), Some(slots), "node 1 answers to ARP only");
    assert!(metrics(2).iter().all(Option::is_some), "both MACs");
    assert_eq!(metrics(3)[..2], [None, None]);
    assert!(outcome.nodes[2].frames > outcome.nodes[2].data_frames, "control frames count");
}

fn own(outcome: &Outcome, name: &str) -> u64 {
    outcome.nodes.iter().filter_map(|node| node.metric(name)).sum()
}

/// Each frame for one node is heard, in a conflict, out of reach, or has bit errors, and its packet is lost for that
/// reason.
#[test]
fn every_frame_ends_in_one_of_four_ways() {
    let sum = |outcome: &Outcome| {
        let fates = ["frames_heard", "frames_in_conflict", "frames_out_of_reach", "frames_with_bit_errors"];
        let counts = fates.map(|name| own(outcome, name));
        let sent = outcome.nodes.iter().map(|node| node.data_frames).sum::<u64>();
        // A frame may be on the air at the end.
        assert!(counts.iter().sum::<u64>() + 1 >= sent && sent >= counts.iter().sum::<u64>(), "{counts:?} of {sent}");
        let lost = [DropReason::Collision, DropReason::OutOfReach, DropReason::BitErrors];
        assert_eq!(lost.map(|reason| dropped(outcome, reason))[..], counts[1..]);
        counts
    };
    // A node that walks out of reach, while nodes 0 and 2 share a slot.
    let mut spec = slotted_chain(3, |tdma| {
        tdma.schedule = tdma::Schedule::Owners(vec![tdma::Owner::Nodes(vec![0, 2]), tdma::Owner::Node(1)]);
    });
    let routes = static_routes::Params { others: Others::Direct, ..static_routes::Params::of_profile("rfc") };
    spec.nodes.iter_mut().for_each(|node| node.routing = routing::Config::StaticRoutes(routes.clone().into()));
    add_cbr(&mut spec, 0, 1, 512, Span::from_millis(50));
    add_cbr(&mut spec, 2, 1, 512, Span::from_millis(170));
    add_cbr(&mut spec, 0, 2, 512, Span::from_millis(130));
    spec.duration = Span::from_secs(20);
    let [heard, conflict, beyond, errors] = sum(&run(&spec));
    assert!(heard > 100 && conflict > 50 && beyond > 100, "{heard} {conflict} {beyond}");
    assert_eq!(errors, 0);
    // At the edge of what noise allows, nobody else sends.
    let mut spec = slotted_chain(2, |_| {});
    spec.channels[0].radio.reception = Reception::Sinr;
    let weakest = phy::Sensitivity::Threshold("-100 dBm".parse().expect("a power"));
    (spec.channels[0].radio.receive, spec.channels[0].radio.sense) = (weakest.into(), weakest);
    add_cbr(&mut spec, 0, 1, 1000, Span::from_millis(50));
    spec.nodes.iter_mut().for_each(|node| node.routing = routing::Config::StaticRoutes(routes.clone().into()));
    spec.duration = Span::from_secs(20);
    let far = (1..200).map(|step| f64::from(step) * 20.0).find_map(|distance| {
        spec.nodes[1].start.x = distance;
        let counts = sum(&run(&spec));
        (counts[3] > 20).then_some(counts)
    });
    let [_, conflict, _, errors] = far.expect("somewhere noise disturbs");
    assert!(conflict == 0 && errors > 20, "{conflict} {errors}");
}

/// Frames of one slot follow each other without a gap. At a node that comes closer, the second one does not begin
/// before the first one has ended.
#[test]
fn frames_of_one_slot_do_not_disturb_each_other() {
    let mut spec = ranged(network("rfc", "oracle", &chain(24, 20.0)), 250.0, 250.0);
    with_tdma(&mut spec, "rfc", |_| {});
    let movement = random_waypoint::Params {
        width: Distance::new(700.0),
        height: Distance::new(700.0),
        speed_min: Speed::new(30.0),
        speed_max: Speed::new(60.0),
        ..random_waypoint::Params::of_profile("rfc")
    };
    for (number, node) in (0_u32..).zip(&mut spec.nodes) {
        node.mobility = mobility::Config::RandomWaypoint(movement.clone().into());
        node.start.y = f64::from(number % 5) * 100.0;
    }
    (0..12).for_each(|flow| add_cbr(&mut spec, flow, 23 - flow, 512, Span::from_millis(100)));
    let outcome = run_for(&mut spec, 20);
    assert!(own(&outcome, "frames_heard") > 2_000, "{} frames", own(&outcome, "frames_heard"));
    assert_eq!(own(&outcome, "frames_in_conflict"), 0, "every slot has one owner");
    spec.medium.exact = true;
    assert_eq!(run(&spec).digest, outcome.digest);
}

/// Clocks that differ by less than the guard do no harm; without a guard they do.
#[test]
fn the_guard_guards_against_clocks_that_differ() {
    let conflicts = |guard: u64, offset: f64, drift: f64| {
        let mut spec = slotted_chain(3, |tdma| {
            (tdma.slot, tdma.guard) = (AIRTIME + Span::from_micros(guard), Span::from_micros(guard));
            tdma.clock_offsets = vec![-offset, 0.0, offset];
            tdma.clock_drifts = vec![0.0, 0.0, drift];
        });
        // The frame of node 1 comes just before that of node 2, which sends to it.
        add_cbr(&mut spec, 0, 1, 512, Span::from_millis(17));
        add_cbr(&mut spec, 1, 0, 512, Span::from_millis(17));
        add_cbr(&mut spec, 2, 1, 512, Span::from_millis(17));
        let outcome = run_for(&mut spec, 10);
        own(&outcome, "frames_in_conflict")
    };
    assert_eq!(conflicts(20, 9.0, 0.0), 0);
    assert!(conflicts(1, 9.0, 0.0) > 100, "clocks that differ, and no guard");
    assert_eq!(conflicts(20, 0.0, 1.0), 0, "1 ppm of 10 s is 10 us");
    assert!(conflicts(20, 0.0, 10.0) > 100, "10 ppm of 10 s is 100 us");
}

/// The only node with packets gets its own slot, or nearly all of them if others' empty slots may be borrowed.
#[test]
fn empty_slots_can_be_borrowed() {
    let with = |empty_slots: tdma::EmptySlots, senders: &[u32]| {
        let mut spec = slotted_chain(4, |tdma| tdma.empty_slots = empty_slots);
        spec.nodes.iter_mut().for_each(|node| node.start.x *= 0.1);
        for &node in senders {
            add_cbr(&mut spec, node, 3 - node, 1400, Span::from_millis(10));
        }
        spec.duration = Span::from_secs(13) * 4;
        run(&spec)
    };
    let alone = with(tdma::EmptySlots::Unused, &[0]);
    assert_eq!((own(&alone, "slots_borrowed"), alone.flows[0].packets_arrived), (0, 1000));
    let borrowing = with(tdma::EmptySlots::Contend, &[0]);
    assert_eq!(own(&borrowing, "slots_borrowed"), 3 * own(&alone, "slots") / 4);
    assert_eq!(borrowing.flows[0].packets_arrived, 4000, "every slot of every node");
    assert_eq!(own(&borrowing, "frames_in_conflict"), 0);
    // Nodes that all have packets leave no slot empty.
    let all = with(tdma::EmptySlots::Contend, &[0, 1, 2, 3]);
    assert!(own(&all, "slots_borrowed") < 10, "{}", own(&all, "slots_borrowed"));
    // Two that contend for the slots of two others now and then draw the same back-off.
    let two = with(tdma::EmptySlots::Contend, &[0, 3]);
    let conflicts = own(&two, "frames_in_conflict");
    assert!((20..200).contains(&conflicts), "{conflicts} of 2000 slots, one in 32 of which is drawn twice");
}

/// A slot in which the owner sends several frames is not empty between them, nor before an acknowledgement.
#[test]
fn nobody_borrows_a_slot_between_the_frames_of_its_owner() {
    for acknowledge in [false, true] {
        let mut spec = slotted_chain(2, |tdma| {
            (tdma.empty_slots, tdma.acknowledge) = (tdma::EmptySlots::Contend, acknowledge);
            tdma.schedule = owners(&[0, 0, 0, 0, 1]);
        });
        // Three or four frames in a slot; both nodes always have packets.
        add_cbr(&mut spec, 0, 1, 300, Span::from_millis(2));
        add_cbr(&mut spec, 1, 0, 300, Span::from_millis(5));
        let outcome = run_for(&mut spec, 20);
        assert_eq!(own(&outcome, "frames_in_conflict"), 0, "acknowledged: {acknowledge}");
        assert!(outcome.flows.iter().all(|flow| flow.packets_arrived > 500));
    }
}

/// With acknowledgements, a lost frame is sent again, and a receiver that is gone is reported.
#[test]
fn acknowledged_frames_are_repeated_and_reported() {
    let mut spec = slotted_chain(3, |tdma| {
        (tdma.acknowledge, tdma.retry_limit) = (true, 2);
        tdma.schedule = tdma::Schedule::Owners(vec![tdma::Owner::Nodes(vec![0, 2]), tdma::Owner::Node(1)]);
    });
    add_cbr(&mut spec, 0, 1, 512, Span::from_millis(40));
    add_cbr(&mut spec, 2, 1, 512, Span::from_millis(410));
    let outcome = run_for(&mut spec, 20);
    let sent = outcome.nodes.iter().map(|node| node.data_frames).sum::<u64>();
    let packets = outcome.flows.iter().map(|flow| flow.packets_arrived).sum::<u64>();
    assert_eq!(packets, outcome.flows.iter().map(|flow| flow.packets_unique).sum::<u64>(), "repeats are not delivered");
    assert!(own(&outcome, "frames_in_conflict") > 10 && sent > packets + 10);
    assert_eq!(dropped(&outcome, DropReason::Collision), 0, "the MAC keeps its packets");
    // Node 1 is out of reach: three frames for each packet that is given up.
    spec.nodes[1].start.y = 400.0;
    let routes = static_routes::Params { others: Others::Direct, ..static_routes::Params::of_profile("rfc") };
    spec.nodes.iter_mut().for_each(|node| node.routing = routing::Config::StaticRoutes(routes.clone().into()));
    spec.flows.truncate(1);
    let outcome = run(&spec);
    let given_up = dropped(&outcome, DropReason::RetryLimit);
    assert!(given_up > 100);
    assert!(own(&outcome, "frames_out_of_reach") - 3 * given_up < 3);
}

/// Whatever the parameters, packets add up, and one event for each edge gives the same run.
#[test]
fn every_combination_of_parameters_accounts_for_its_packets() {
    use tdma::{Access, ControlPlace, EmptySlots, Owner, Packing, Rule, Schedule, Share};
    let hello = agent::Config::of_profile("neighbours", "rfc").expect("an agent");
    let mut sent = 0;
    for case in 0..60_u64 {
        let mut rng = Streams::new(case, 0).stream("parameters");
        let mut pick = |choices: u64| rng.below(choices);
        let mut spec = network("rfc", "aodv", &chain(7, 150.0));
        let reception = [Reception::Threshold, Reception::Ns2, Reception::Sinr][pick(3) as usize];
        spec.channels[0].radio.reception = reception;
        with_ranges(&mut spec, 250.0, 250.0 + 50.0 * pick(7) as f64);
        spec.nodes.iter_mut().for_each(|node| node.agents = vec![hello.clone()]);
        with_tdma(&mut spec, "rfc", |tdma| {
            tdma.rate = mbps([1.0, 2.0, 11.0][pick(3) as usize]);
            tdma.slot = Span::from_millis(8 + pick(10));
            tdma.guard = Span::from_micros(pick(3) * 50);
            tdma.packing = [Packing::Fit, Packing::One][pick(2) as usize];
            tdma.unused_slots = pick(3) as u32;
            let list = (0..7).map(|node| Owner::Nodes(vec![node, (node + 3) % 7])).collect();
            tdma.schedule = [Schedule::Rule(Rule::InTurn), Schedule::Rule(Rule::Agent), Schedule::Owners(list)]
                [pick(3) as usize]
                .clone();
            tdma.frame_slots = 2 + pick(9) as u32;
            tdma.contention = Share::Of(0.15 + 0.1 * pick(3) as f64);
            tdma.contention_access = [Access::Sense, Access::RandomSlot][pick(2) as usize];
            tdma.control =
                [ControlPlace::Contention, ControlPlace::OwnSlots, ControlPlace::OutOfBand][pick(3) as usize];
            tdma.empty_slots = [EmptySlots::Unused, EmptySlots::Contend][pick(2) as usize];
            tdma.acknowledge = pick(2) == 1;
            tdma.retry_limit = pick(3) as u32;
            tdma.clock_offset = Span::from_micros(pick(2) * 40);
            tdma.clock_drift = 100.0 * pick(2) as f64;
        });
        add_cbr(&mut spec, 0, 6, 512, Span::from_millis(60));
        add_cbr(&mut spec, 4, 1, 900, Span::from_millis(90));
        add_tcp(&mut spec, 5, 2, "rfc", "newreno", |_| {});
        let found = run_for(&mut spec, 6);
        spec.medium.exact = true;
        assert_eq!(run(&spec).digest, found.digest, "case {case}");
        sent += found.frames;
    }
    assert!(sent > 20_000, "{sent} frames");
}

/// A slot of 250 ms holds one packet of 1500 bytes at 64 kb/s, or three of 500. Of three nodes, one has a slot in
/// three, and so less than a third of the rate.
#[test]
fn a_slow_rate_carries_what_its_slots_hold() {
    for (rate, payload, fit) in [(64_000_u64, 1472, 1), (64_000, 472, 3), (9600, 200, 1), (3_000_000, 1472, 58)] {
        let mut spec = network("rfc", "static", &chain(3, 200.0));
        spec.link.arp.resolution = Resolution::Off;
        let slot = Span::from_millis(250);
        with_tdma(&mut spec, "rfc", |tdma| (tdma.rate, tdma.slot) = (Rate::from_bps(rate), slot));
        add_cbr(&mut spec, 0, 1, payload, slot * 3 / (fit + 1));
        (spec.duration, spec.measure_from) = (slot * 3 * 120, Time::ZERO + slot * 3 * 20);
        let arrived = run(&spec).flows[0].packets_arrived;
        assert_eq!(arrived, fit * 100, "{payload} B at {rate} bit/s");
        let share = (arrived * (payload + 28) * 8) as f64 / (slot * 300).seconds() / rate as f64;
        assert!(share < 1.0 / 3.0, "{share} of {rate} bit/s");
    }
}

/// A link that 1 Mb/s cannot use is good enough for 64 kb/s, whose noise is less by the ratio of the bandwidths. A
/// frame arrives as often as the error rate of DBPSK says.
#[test]
fn a_slow_rate_has_less_noise() {
    let arrived = |rate: u64, dbm: f64| {
        let mut spec = network("rfc", "static", &[(0.0, 0.0), (10.0, 0.0)]);
        let weakest = |dbm: f64| phy::Sensitivity::Threshold(Power::from_dbm(dbm));
        let radio = &mut spec.channels[0].radio;
        (radio.receive, radio.sense) = (weakest(-130.0).into(), weakest(-130.0));
        let rows = format!("from,to,loss_db\n0,1,{0}\n1,0,{0}\n", radio.transmit_power.dbm() - dbm);
        let links = Links::read("links", rows.as_bytes(), &links::Reading::default()).expect("links");
        spec.channels[0].links = Some(Arc::new(links));
        spec.channels[0].propagation = propagation::Config::of_profile("table", "rfc").expect("a table");
        spec.link.arp.resolution = Resolution::Off;
        with_tdma(&mut spec, "rfc", |tdma| {
            (tdma.rate, tdma.slot, tdma.preamble) =
                (Rate::from_bps(rate), Span::from_millis(100), Span::from_millis(1));
        });
        add_cbr(&mut spec, 0, 1, 472, Span::from_millis(300));
        run_for(&mut spec, 1200).flows[0].packets_arrived as f64 / 4000.0
    };
    assert!(arrived(64_000, -105.0) > 0.999 && arrived(1_000_000, -105.0) < 0.001);
    // kTB of 64 kHz at 290 K with a noise figure of 7 dB.
    let noise = 1.380_649e-23 * 290.0 * 64e3 * libm::pow(10.0, 0.7);
    for db in [8.0, 9.0, 10.0] {
        let dbm = 10.0 * libm::log10(noise * 1e3) + db;
        let wrong = 0.5 * libm::exp(-libm::pow(10.0, db / 10.0));
        // 536 bytes, and the header's bits in the preamble.
        let expected = libm::pow(1.0 - wrong, 8.0 * 536.0 + 64.0);
        let error = (expected * (1.0 - expected) / 4000.0).sqrt();
        let found = arrived(64_000, dbm);
        assert!((found - expected).abs() < 4.0 * error + 0.001, "{db} dB: {found} for {expected}");
    }
}
