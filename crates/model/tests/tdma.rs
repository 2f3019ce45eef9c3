//! Slotted access in whole networks: packets a second beside ns-2's, hidden stations, losses.

mod common;

use common::{add_cbr, chain, mbps, network, run, with_ranges};
use hopyard_engine::{Span, Time};
use hopyard_model::context::DropReason;
use hopyard_model::mac::{self, tdma};
use hopyard_model::observe::Outcome;
use hopyard_model::params::Params as _;
use hopyard_model::routing;
use hopyard_model::routing::static_routes::{self, Others};
use hopyard_model::world::Spec;

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
/// network; they are 1 / ((nodes + 1) slots), as its closed form says.
#[test]
fn saturated_nodes_send_as_many_packets_as_in_ns2() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../validation/peers/data/ns2_tdma.csv");
    let text = std::fs::read_to_string(path).expect("the rates of ns-2");
    let mut compared = 0;
    for line in text.lines().skip(1) {
        let cells: Vec<f64> = line.split(',').map(|cell| cell.parse().expect("a number")).collect();
        let [nodes, rate, slot_bytes, payload, expected, _] = cells[..] else { panic!("{line}") };
        let count = nodes as usize;
        let mut spec = network("ns2", "static", &chain(count, 1.0));
        with_tdma(&mut spec, "ns2", |tdma| {
            tdma.rate = mbps(rate);
            tdma.slot = tdma.rate.airtime(slot_bytes as u32);
        });
        // In ns-2 the payload has no influence, because a frame may be longer than its slot. Here it must fit, and end
        // at the receiver before the next slot begins.
        let payload = payload.min(slot_bytes - 81.0);
        for node in 0..count as u32 {
            // 2 Mb/s of payload, which is more than any node may send.
            add_cbr(&mut spec, node, (node + 1) % count as u32, payload as u64, Span::from_secs_f64(payload / 250e3));
        }
        (spec.duration, spec.measure_from) = (Span::from_secs(21), Time::ZERO + Span::from_secs(11));
        let outcome = run(&spec);
        for flow in &outcome.flows {
            let found = flow.packets_arrived as f64 / 10.0;
            assert!((found - expected).abs() <= 0.11, "{line}: flow {} has {found} packets a second", flow.flow);
        }
        compared += 1;
    }
    assert_eq!(compared, 56, "cells of ns-2");
}

/// Two stations that do not hear each other send to one between them: with slots nothing is lost, with DCF much is.
#[test]
fn hidden_stations_do_not_disturb_each_other() {
    let collisions = |slotted: bool| {
        let mut spec = network("rfc", "static", &chain(3, 200.0));
        with_ranges(&mut spec, 250.0, 250.0);
        if slotted {
            with_tdma(&mut spec, "rfc", |_| {});
        }
        add_cbr(&mut spec, 0, 1, 512, Span::from_millis(20));
        add_cbr(&mut spec, 2, 1, 512, Span::from_millis(20));
        spec.duration = Span::from_secs(10);
        let outcome = run(&spec);
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
    spec.duration = Span::from_secs(5);
    let outcome = run(&spec);
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
    spec.duration = Span::from_secs(10);
    let outcome = run(&spec);
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
