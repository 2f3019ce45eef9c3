//! Energy and batteries: the closed form of ns-2's model, the nanosecond at which a battery runs dry, and what becomes
//! of the packets of a node that stops.

use std::io;

use hopyard_engine::units::{Bytes, Draw, Energy};
use hopyard_engine::{Span, Time};
use hopyard_model::address::NodeId;
use hopyard_model::agent;
use hopyard_model::app;
use hopyard_model::channel::energy::{self, Battery, state::Hears};
use hopyard_model::link::arp::Resolution;
use hopyard_model::mac::{self, tdma};
use hopyard_model::observe::capture::{Capture, Kind, Options};
use hopyard_model::observe::{NodeRow, Outcome, Recorded, RouteChanges, SegmentFlows};
use hopyard_model::params::Params as _;
use hopyard_model::transport::tcp::Connect;
use hopyard_model::world::{FlowSpec, Quantity, Spec};
use rayon::ThreadPoolBuilder;
use rayon::prelude::*;

use crate::common::{add_cbr, add_tcp, chain, network, run, run_for, run_with, udp_flow, with_dcf};

/// Radios with these powers in watts.
fn powers(send: f64, hear: f64, idle: f64) -> energy::Config {
    let params = energy::state::Params {
        send: Draw::new(send),
        hear: Draw::new(hear),
        idle: Draw::new(idle),
        sleep: Draw::new(0.0),
        hears: Hears::Sensed,
    };
    energy::Config::State(params.into())
}

fn batteries(spec: &mut Spec, joules: &[Option<f64>]) {
    let battery = |it: &Option<f64>| it.map_or(Battery::Endless, |joules| Battery::Full(Energy::new(joules)));
    spec.energy.batteries = joules.iter().map(battery).collect();
}

/// Datagrams of this IP length from node 0 to node 1, 0.1 s apart, from 1 s.
fn add_datagrams(spec: &mut Spec, count: u64, length: u64) {
    let mut params = app::cbr::Params::of_profile("ns2");
    (params.packet_size, params.interval, params.jitter) = (Bytes::new(length - 28), Span::from_millis(100), 0.0);
    let start = Time::ZERO + Span::from_secs(1);
    spec.flows.push(FlowSpec {
        start,
        stop: start + Span::from_millis(100 * count - 50),
        ..udp_flow(NodeId(0), NodeId(1), app::Config::Cbr(params.into()))
    });
}

fn states_add_up(outcome: &Outcome, seconds: f64) {
    for node in &outcome.nodes {
        let [sending, hearing, idle, off] =
            [node.sending_s, node.hearing_s, node.idle_s, node.off_s].map(|it| it.expect("energy is counted"));
        assert!((sending + hearing + idle + off - seconds).abs() < 1e-9, "{node:?}");
        let sum = |parts: &[Option<f64>]| parts.iter().map(|it| it.expect("energy is counted")).sum::<f64>();
        let total = node.energy_j.expect("energy is counted");
        let near = |a: f64, b: f64| (a - b).abs() <= 1e-12 + 1e-9 * b.abs();
        assert!(near(sum(&[node.energy_send_j, node.energy_hear_j, node.energy_idle_j]), total), "{node:?}");
        let purposes = [
            node.energy_data_j,
            node.energy_ack_j,
            node.energy_mac_j,
            node.energy_routing_j,
            node.energy_arp_j,
            node.energy_other_j,
        ];
        assert!(near(sum(&purposes), node.energy_send_j.expect("energy is counted")), "{node:?}");
    }
}

/// Useful, in vain, under way: what the packets of flows took, which is also known from where it was spent.
fn shares(outcome: &Outcome) -> [f64; 3] {
    let mut sums = [0.0; 3];
    for flow in &outcome.flows {
        let of_flow = [flow.energy_useful_j, flow.energy_in_vain_j, flow.energy_under_way_j];
        for (sum, part) in sums.iter_mut().zip(of_flow) {
            let part = part.expect("energy is counted");
            assert!(part >= 0.0, "{flow:?}");
            *sum += part;
        }
    }
    let parts = |node: &NodeRow| [node.energy_data_j, node.energy_ack_j, node.energy_receive_j];
    let spent: f64 = outcome.nodes.iter().flat_map(parts).map(|it| it.expect("energy is counted")).sum();
    let all: f64 = sums.iter().sum();
    assert!((all - spent).abs() <= 1e-9 * spent, "{sums:?} of {spent}");
    sums
}

fn assert_near(found: [f64; 3], expected: [f64; 3]) {
    let is_near = found.iter().zip(expected).all(|(found, expected)| (found - expected).abs() < 1e-12);
    assert!(is_near, "{found:?} is not {expected:?}");
}

/// Three nodes in a line, of which the third one overhears: 100 datagrams of 512 bytes with RTS and one exchange of
/// ARP. ns-2.35 prints these times, and what is left of 100 J each (`docs/models/energy.md`).
fn three_nodes(idle: f64) -> Spec {
    let mut spec = network("ns2", "static", &chain(3, 100.0));
    spec.duration = Span::from_secs(20);
    spec.energy.model = powers(0.66, 0.395, idle);
    batteries(&mut spec, &[Some(100.0); 3]);
    add_datagrams(&mut spec, 100, 512);
    spec
}

#[test]
fn three_nodes_take_what_they_take_in_ns2() {
    let (sending, hearing) = ([274_096, 61_592, 0], [61_592, 274_096, 335_688]);
    let left = [99.794_767_8, 99.851_081_4, 99.867_403_2];
    for idle in [0.0, 0.05] {
        let outcome = run(&three_nodes(idle));
        assert_eq!(outcome.flows[0].packets_unique, 100);
        states_add_up(&outcome, 20.0);
        for (n, node) in outcome.nodes.iter().enumerate() {
            let micros = |seconds: Option<f64>| seconds.map(|it| (it * 1e6).round() as u64);
            assert_eq!((micros(node.sending_s), micros(node.hearing_s)), (Some(sending[n]), Some(hearing[n])), "{n}");
            let resting = idle * (20.0 - 1e-6 * (sending[n] + hearing[n]) as f64);
            // ns-2 prints seven digits.
            let difference = node.energy_left_j.expect("a battery") - (left[n] - resting);
            assert!(difference.abs() < 1e-7, "node {n} with an idle power of {idle} W: {difference}");
        }
    }
}

#[test]
fn sending_is_attributed() {
    let outcome = run(&three_nodes(0.0));
    let node = &outcome.nodes[0];
    let joules = |micros: f64| 0.66 * micros * 1e-6;
    let near = |found: Option<f64>, micros: f64| (found.expect("energy is counted") - joules(micros)).abs() < 1e-12;
    assert!(near(node.energy_data_j, 237_600.0) && near(node.energy_mac_j, 35_200.0 + 608.0), "{node:?}");
    assert!(near(node.energy_arp_j, 688.0) && near(node.energy_routing_j, 0.0), "{node:?}");
    // The datagrams alone, sent by one node and received by the other.
    assert_near(shares(&outcome), [(0.66 + 0.395) * 237_600.0 * 1e-6, 0.0, 0.0]);
}

#[test]
fn energy_that_is_not_counted_is_not_shown() {
    let mut spec = three_nodes(0.0);
    let digest = run(&spec).digest;
    spec.energy = Default::default();
    let outcome = run(&spec);
    assert_eq!(outcome.digest, digest, "who counts changes nothing");
    assert!(outcome.nodes.iter().all(|node| node.energy_j.is_none() && node.sending_s.is_none()));
    assert!(outcome.flows.iter().all(|flow| flow.energy_useful_j.is_none()));
}

/// Datagrams of 512 bytes at 2 Mb/s, behind a long preamble.
const AIRTIME: u64 = 192_000 + 8 * (512 + 36) * 500;

/// Three nodes without RTS and ARP, of which the first sends to the second.
fn plain(model: energy::Config, joules: &[Option<f64>]) -> Spec {
    let mut spec = network("rfc", "static", &chain(3, 100.0));
    spec.duration = Span::from_secs(20);
    spec.link.arp.resolution = Resolution::Off;
    with_dcf(&mut spec, |dcf| dcf.rts_threshold = Bytes::new(2347));
    spec.energy.model = model;
    batteries(&mut spec, joules);
    add_datagrams(&mut spec, 100, 512);
    spec
}

fn died(node: &NodeRow) -> Option<u64> {
    node.battery_empty_s.map(|seconds| (seconds * 1e9).round() as u64)
}

fn dropped(outcome: &Outcome, node: u32, reason: &str) -> u64 {
    outcome.drops.iter().filter(|row| row.node == node && row.reason == reason).map(|row| row.count).sum()
}

#[test]
fn a_sender_stops_in_the_middle_of_a_frame() {
    // Ten datagrams and a half, at one watt.
    let joules = 10.5 * AIRTIME as f64 / 1e9;
    let outcome = run(&plain(powers(1.0, 0.0, 0.0), &[Some(joules)]));
    // The eleventh begins at 2 s, without back-off: the medium has been idle for long.
    assert_eq!(died(&outcome.nodes[0]), Some(2_000_000_000 + AIRTIME / 2));
    let flow = &outcome.flows[0];
    assert_eq!((flow.packets_sent, flow.packets_unique, flow.packets_dropped), (11, 10, 1));
    assert_eq!(dropped(&outcome, 0, "battery_empty"), 1);
    assert_eq!(outcome.nodes[0].energy_left_j, Some(0.0));
    assert_eq!(outcome.nodes[1].battery_empty_s, None);
    states_add_up(&outcome, 20.0);
    // The half of a frame that was sent was sent in vain.
    let frame = AIRTIME as f64 / 1e9;
    assert_near(shares(&outcome), [10.0 * frame, 0.5 * frame, 0.0]);
}

#[test]
fn packets_that_do_not_arrive_cost_energy_in_vain() {
    // The receiver stops in the middle of the eleventh datagram. It has sent ten acknowledgements of the MAC.
    let (frame, ack) = (AIRTIME as f64 / 1e9, (192_000 + 8 * 14 * 1000) as f64 / 1e9);
    let outcome = run(&plain(powers(1.0, 0.5, 0.0), &[None, Some(10.5 * 0.5 * frame + 10.0 * ack)]));
    assert_eq!(dropped(&outcome, 0, "retry_limit"), 90);
    let tries = outcome.nodes[0].data_frames - 10;
    assert_eq!(tries, 90 * 7, "the short retry limit");
    // What the receiver heard of the eleventh is hearing, and belongs to no packet.
    assert_near(shares(&outcome), [10.0 * 1.5 * frame, tries as f64 * frame, 0.0]);
}

#[test]
fn what_is_sent_at_the_end_of_the_run_is_under_way() {
    let mut spec = plain(powers(1.0, 0.5, 0.0), &[]);
    spec.duration = Span::from_nanos(1_100_000_000 + AIRTIME / 4);
    let frame = AIRTIME as f64 / 1e9;
    assert_near(shares(&run(&spec)), [1.5 * frame, 0.0, 0.25 * frame]);
}

#[test]
fn a_listener_stops_in_the_middle_of_a_frame() {
    let joules = 10.5 * AIRTIME as f64 / 1e9;
    // Node 2 is 200 m away from the sender and 100 m from the receiver, whose acknowledgements it hears too.
    let ack = 192_000 + 8 * 14 * 1000;
    let outcome = run(&plain(powers(0.0, 1.0, 0.0), &[None, Some(joules), Some(joules + 10.0 * ack as f64 / 1e9)]));
    let (near, far) = (334, 667);
    assert_eq!(died(&outcome.nodes[1]), Some(2_000_000_000 + near + AIRTIME / 2));
    assert_eq!(died(&outcome.nodes[2]), Some(2_000_000_000 + far + AIRTIME / 2));
    // The sender learns it from acknowledgements that do not come.
    let flow = &outcome.flows[0];
    assert_eq!((flow.packets_sent, flow.packets_unique), (100, 10));
    assert_eq!(dropped(&outcome, 0, "retry_limit"), 90);
    states_add_up(&outcome, 20.0);
}

#[test]
fn an_idler_stops_when_its_battery_is_empty() {
    let mut spec = network("rfc", "static", &[(0.0, 0.0), (5000.0, 0.0)]);
    spec.duration = Span::from_secs(20);
    spec.energy.model = powers(1.0, 1.0, 0.819);
    batteries(&mut spec, &[Some(7.0), Some(100.0)]);
    let outcome = run(&spec);
    assert_eq!(died(&outcome.nodes[0]), Some(7_000_000_000_000_u64.div_ceil(819)));
    assert!(outcome.nodes[1].energy_left_j.is_some_and(|left| (left - (100.0 - 20.0 * 0.819)).abs() < 1e-9));
    assert!((outcome.nodes[0].off_s.expect("energy is counted") - (20.0 - 8.547_008_548)).abs() < 1e-9);
    states_add_up(&outcome, 20.0);
}

/// Linux's sender is told when its own node has sent a segment or lost it, so that the next one follows. Those that are
/// lost with the node are followed by none.
#[test]
fn a_sender_that_is_told_of_its_queue_sends_nothing_after_its_battery_is_empty() {
    let mut spec = network("rfc", "aodv", &[(0.0, 0.0), (100.0, 0.0)]);
    spec.energy.model = powers(1.0, 1.0, 1.0);
    batteries(&mut spec, &[Some(2.0), None]);
    add_tcp(&mut spec, 0, 1, "linux", "cubic", |_| {});
    spec.duration = Span::from_secs(10);
    spec.observe.recorded.segments = SegmentFlows::All;
    let outcome = run(&spec);
    assert_eq!(died(&outcome.nodes[0]), Some(2_000_000_000));
    let sent = outcome.segments.iter().filter(|row| row.event == "data_sent").map(|row| row.time_s).fold(0.0, f64::max);
    assert!((1.9..=2.0).contains(&sent), "the last segment left at {sent} s");
    assert_eq!(outcome.flows[0].timeouts, Some(0));
}

/// How a sender judges a timeout is compared with where its segment is. What a node held in a buffer of its routing
/// when its battery ran dry is not there any more.
#[test]
fn decisions_are_told_after_a_node_with_packets_in_its_buffer_has_stopped() {
    let mut spec = network("rfc", "aodv", &[(0.0, 0.0), (100.0, 0.0), (9000.0, 0.0)]);
    spec.energy.model = powers(1.0, 1.0, 1.0);
    batteries(&mut spec, &[Some(0.15), None, None]);
    for from in 0..2 {
        add_tcp(&mut spec, from, 2, "rfc", "welcome", |tcp| tcp.connect = Connect::None);
    }
    let outcome = run_for(&mut spec, 8);
    assert_eq!(died(&outcome.nodes[0]), Some(150_000_000));
    assert_eq!(dropped(&outcome, 0, "battery_empty"), 10, "the initial window waited for a route");
    assert!(outcome.flows[1].timeouts > Some(0), "a decision after that");
}

#[test]
fn packets_have_prices() {
    let model = energy::Config::of_profile("per_packet", "rfc").expect("a model");
    let outcome = run(&plain(model, &[Some(100.0); 3]));
    let microjoules = |it: Option<f64>| (it.expect("energy is counted") * 1e6).round() as i64;
    let [sender, receiver, other] = [0, 1, 2].map(|n| &outcome.nodes[n]);
    // Acknowledgements of the MAC are part of the price of the packet.
    assert_eq!(microjoules(sender.energy_send_j), 100 * 420 + 97_280);
    assert_eq!((microjoules(sender.energy_hear_j), microjoules(receiver.energy_send_j)), (0, 0));
    assert_eq!(microjoules(receiver.energy_hear_j), 100 * 330 + 21_504);
    assert_eq!(microjoules(other.energy_hear_j), 9_720 - 25_088);
    assert_eq!(microjoules(sender.energy_idle_j), 16_000_000);
    states_add_up(&outcome, 20.0);
    assert_near(shares(&outcome), [100.0 * (1392.8e-6 + 545.04e-6), 0.0, 0.0]);
    // A battery with the price of ten packets and a half, and the idle power until the eleventh begins, at 2 s.
    let model = energy::Config::of_profile("per_packet", "rfc").expect("a model");
    let outcome = run(&plain(model, &[Some(10.5 * 1392.8e-6 + 1.6)]));
    assert_eq!(died(&outcome.nodes[0]), Some(2_000_000_000));
    assert_eq!((outcome.flows[0].packets_unique, outcome.flows[0].packets_dropped), (10, 1));
}

/// Twenty-five nodes with TCP and datagrams, of which the even ones have little energy.
fn dying(protocol: &str, mac: &str) -> Spec {
    let places: Vec<_> = (0..25).map(|n| (f64::from(n % 5) * 150.0, f64::from(n / 5) * 150.0)).collect();
    let mut spec = network("rfc", protocol, &places);
    spec.duration = Span::from_secs(20);
    spec.channels[0].mac = mac::Config::of_profile(mac, "rfc").expect("a MAC");
    spec.energy.model = energy::Config::of_profile("state", "ns3").expect("a model");
    let joules: Vec<_> = (0..25).map(|n| (n % 2 == 0).then(|| 6.0 + 0.35 * f64::from(n))).collect();
    batteries(&mut spec, &joules);
    add_tcp(&mut spec, 0, 24, "rfc", "newreno", |_| {});
    add_tcp(&mut spec, 20, 4, "rfc", "cubic", |_| {});
    add_tcp(&mut spec, 2, 23, "rfc", "vegas", |_| {});
    add_cbr(&mut spec, 10, 14, 512, Span::from_millis(20));
    add_cbr(&mut spec, 13, 21, 512, Span::from_millis(20));
    spec
}

#[test]
fn half_of_the_nodes_die_and_every_packet_has_a_reason() {
    for (protocol, mac) in [("aodv", "dcf"), ("dsr", "dcf"), ("olsr", "dcf"), ("oracle", "dcf"), ("aodv", "tdma")] {
        let mut spec = dying(protocol, mac);
        // The account is checked at the end of every run.
        let outcome = run(&spec);
        let dead = outcome.nodes.iter().filter(|node| node.battery_empty_s.is_some()).count();
        assert_eq!(dead, 13, "{protocol} {mac}");
        states_add_up(&outcome, 20.0);
        let [useful, in_vain, _] = shares(&outcome);
        assert!(useful > 0.0 && in_vain > 0.0, "{protocol} {mac}: {useful} J and {in_vain} J");
        assert!(outcome.drops.iter().any(|row| row.reason == "battery_empty"), "{protocol} {mac}");
        for node in &outcome.nodes {
            assert_eq!(node.energy_left_j.is_some(), node.node % 2 == 0);
            // Only what can be spent in a nanosecond is spent in excess.
            let full = 6.0 + 0.35 * f64::from(node.node);
            let spent = node.energy_j.expect("energy is counted");
            assert!(node.battery_empty_s.is_none() || (0.0..2e-9).contains(&(spent - full)), "{node:?}");
        }
        spec.medium.exact = true;
        assert_eq!(run(&spec).digest, outcome.digest, "{protocol} {mac}: with an event for each edge");
    }
}

/// Messages of agents have a place of their own in a MAC with slots, and go beside the air where they are out of band.
#[test]
fn nodes_with_messages_of_agents_die_and_every_packet_has_a_reason() {
    for control in [tdma::ControlPlace::Contention, tdma::ControlPlace::OwnSlots, tdma::ControlPlace::OutOfBand] {
        let mut spec = dying("olsr", "tdma");
        let schedule = tdma::Schedule::Rule(tdma::Rule::Agent);
        let params = tdma::Params { control, schedule, ..tdma::Params::of_profile("rfc") };
        spec.channels[0].mac = mac::Config::Tdma(params.into());
        spec.nodes
            .iter_mut()
            .for_each(|node| node.agents = vec![agent::Config::of_profile("drand", "rfc").expect("an agent")]);
        let outcome = run(&spec);
        let dead = outcome.nodes.iter().filter(|node| node.battery_empty_s.is_some()).count();
        assert_eq!(dead, 13, "{control:?}");
        states_add_up(&outcome, 20.0);
        spec.medium.exact = true;
        assert_eq!(run(&spec).digest, outcome.digest, "{control:?}: with an event for each edge");
    }
}

/// Who hears whom changes with every node that dies, and so do the slots of somebody who sees the whole network.
#[test]
fn nodes_with_slots_of_a_greedy_schedule_die_and_every_packet_has_a_reason() {
    let mut spec = dying("aodv", "tdma");
    let schedule = tdma::Schedule::Rule(tdma::Rule::Greedy);
    let params = tdma::Params { schedule, ..tdma::Params::of_profile("rfc") };
    spec.channels[0].mac = mac::Config::Tdma(params.into());
    let outcome = run(&spec);
    assert_eq!(outcome.nodes.iter().filter(|node| node.battery_empty_s.is_some()).count(), 13);
    states_add_up(&outcome, 20.0);
}

#[test]
fn who_watches_the_nodes_die_and_on_how_many_threads_changes_nothing() {
    let everything = Recorded {
        routes: RouteChanges::All,
        rates: true,
        paths: true,
        segments: SegmentFlows::All,
        mobile_events: true,
    };
    let watched = |spec: &Spec| {
        let options = Options { nodes: None, kinds: Kind::ALL.iter().copied().collect(), comments: Vec::new() };
        let capture = Capture::new(io::sink(), "half", options).expect("room");
        let probe = (capture, everything.probes());
        run_with(spec, probe).0
    };
    let kinds = [("aodv", "dcf"), ("dsr", "dcf"), ("olsr", "tdma")];
    let plain: Vec<(Spec, Outcome)> =
        kinds.iter().map(|(protocol, mac)| dying(protocol, mac)).map(|spec| (spec.clone(), run(&spec))).collect();
    for threads in [1, 2, 8] {
        let pool = ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
        let outcomes: Vec<Outcome> = pool.install(|| {
            plain
                .par_iter()
                .map(|(spec, _)| {
                    let mut spec = spec.clone();
                    spec.observe.series = Quantity::ALL.to_vec();
                    spec.observe.interval = Span::from_millis(37);
                    watched(&spec)
                })
                .collect()
        });
        for (found, (_, expected)) in outcomes.iter().zip(&plain) {
            assert_eq!(found.nodes.iter().filter(|node| node.battery_empty_s.is_some()).count(), 13);
            assert_eq!((found.digest, &found.nodes), (expected.digest, &expected.nodes), "{threads} threads");
            assert_eq!((&found.flows, &found.drops), (&expected.flows, &expected.drops), "{threads} threads");
            assert!(!found.series.is_empty() && !found.segments.is_empty() && !found.paths.is_empty());
        }
    }
}
