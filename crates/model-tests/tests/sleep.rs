//! Radios that sleep at given times: what they take, what they miss, and what becomes of packets meanwhile.

use hopyard_engine::units::{Bytes, Draw, Energy};
use hopyard_engine::{Span, Time};
use hopyard_model::address::NodeId;
use hopyard_model::channel::energy::state::Hears;
use hopyard_model::channel::energy::{self, Battery};
use hopyard_model::link::arp::Resolution;
use hopyard_model::mac::{self, tdma};
use hopyard_model::observe::{NodeRow, Outcome};
use hopyard_model::params::Params as _;
use hopyard_model::world::{FlowSpec, SleepSpec, Spec};
use hopyard_model::{agent, app};

use crate::common::{add_tcp, chain, network, run, udp_flow, with_dcf};

/// Datagrams of 512 bytes at 2 Mb/s, behind a long preamble.
const AIRTIME: u64 = 192_000 + 8 * (512 + 36) * 500;

fn millis(millis: u64) -> Time {
    Time::ZERO + Span::from_millis(millis)
}

/// Radios that take 2 W to send, 1 W to hear, 0.5 W when they are idle and 0.125 W when they sleep.
fn powers() -> energy::Config {
    let [send, hear, idle, sleep] = [2.0, 1.0, 0.5, 0.125].map(Draw::new);
    energy::Config::State(energy::state::Params { send, hear, idle, sleep, hears: Hears::Sensed }.into())
}

fn sleeps(spec: &mut Spec, node: u32, times: &[(Time, Time)], every: Option<Span>) {
    spec.energy.sleeps.push(SleepSpec { node: NodeId(node), times: times.to_vec(), every });
}

/// A hundred datagrams of 512 bytes from node 0 to node 1, 0.1 s apart, from 1 s, in 20 s without RTS and ARP. Node 2
/// overhears.
fn datagrams() -> Spec {
    let mut spec = network("rfc", "static", &chain(3, 100.0));
    spec.duration = Span::from_secs(20);
    spec.link.arp.resolution = Resolution::Off;
    with_dcf(&mut spec, |dcf| dcf.rts_threshold = Bytes::new(2347));
    spec.energy.model = powers();
    let mut params = app::cbr::Params::of_profile("ns2");
    (params.packet_size, params.interval, params.jitter) = (Bytes::new(512 - 28), Span::from_millis(100), 0.0);
    spec.flows.push(FlowSpec {
        start: millis(1000),
        stop: millis(10_950),
        ..udp_flow(NodeId(0), NodeId(1), app::Config::Cbr(params.into()))
    });
    spec
}

/// The same with slots of 10 ms, one for each node in turn.
fn slotted(change: impl FnOnce(&mut tdma::Params)) -> Spec {
    let mut spec = datagrams();
    let mut params = tdma::Params::of_profile("rfc");
    params.slot = Span::from_millis(10);
    change(&mut params);
    spec.channels[0].mac = mac::Config::Tdma(params.into());
    spec
}

#[test]
fn radios_sleep_where_energy_is_not_counted() {
    let mut with = datagrams();
    sleeps(&mut with, 1, &[(millis(3000), millis(6000)), (millis(9000), millis(20_000))], None);
    let mut without = with.clone();
    without.energy.model = energy::Config::of_profile("off", "rfc").expect("a model");
    let (with, without) = (run(&with), run(&without));
    assert_eq!(without.digest, with.digest, "the account of energy changes nothing");
    assert!(dropped(&without, "asleep") + without.flows[0].packets_arrived > 0);
    assert_eq!(without.flows[0].packets_arrived, with.flows[0].packets_arrived);
    assert!(without.flows[0].packets_arrived < 100, "the receiver slept");
    let node = &without.nodes[1];
    assert_eq!((node.sleeping_s, with.nodes[1].sleeping_s), (Some(14.0), Some(14.0)));
    assert_eq!(
        (node.energy_j, node.energy_sleep_j, node.energy_receive_j, node.energy_left_j),
        (None, None, None, None)
    );
    assert!(with.nodes[1].energy_j.is_some());
}

fn dropped(outcome: &Outcome, reason: &str) -> u64 {
    outcome.drops.iter().filter(|row| row.reason == reason).map(|row| row.count).sum()
}

/// The whole nanoseconds of sleep; that the states are all of the run, and what they take is what the powers say.
fn slept(node: &NodeRow) -> u64 {
    let of = |it: Option<f64>| it.expect("energy is counted");
    let states = [node.sending_s, node.hearing_s, node.idle_s, node.sleeping_s].map(of);
    let energies = [node.energy_send_j, node.energy_hear_j, node.energy_idle_j, node.energy_sleep_j].map(of);
    assert!((states.iter().sum::<f64>() + of(node.off_s) - node.simulated_s).abs() < 1e-9, "{node:?}");
    assert!((energies.iter().sum::<f64>() - of(node.energy_j)).abs() < 1e-9, "{node:?}");
    for ((time, energy), power) in states.iter().zip(energies).zip([2.0, 1.0, 0.5, 0.125]) {
        assert!((time * power - energy).abs() < 1e-9, "{node:?}");
    }
    (states[3] * 1e9).round() as u64
}

#[test]
fn a_receiver_that_sleeps_misses_what_comes() {
    let mut spec = datagrams();
    sleeps(&mut spec, 1, &[(millis(2050), millis(3050))], None);
    let outcome = run(&spec);
    // The datagrams of 2.1 s to 3 s. The sender learns it from acknowledgements that do not come.
    assert_eq!((outcome.flows[0].packets_unique, dropped(&outcome, "retry_limit")), (90, 10));
    assert_eq!(outcome.nodes.iter().map(slept).collect::<Vec<_>>(), [0, 1_000_000_000, 0]);
    let heard = |node: usize| (outcome.nodes[node].hearing_s.expect("energy is counted") * 1e9).round() as u64;
    assert_eq!(heard(1), 90 * AIRTIME);
    let acks = 90 * (192_000 + 8 * 14 * 1000);
    assert_eq!(heard(2), (90 + 10 * 7) * AIRTIME + acks, "node 2 is awake, and hears every try");
    spec.medium.exact = true;
    assert_eq!(run(&spec).digest, outcome.digest, "with an event for each edge");
}

#[test]
fn a_sender_that_sleeps_keeps_its_packets() {
    for mut spec in [datagrams(), slotted(|_| {}), slotted(|it| it.acknowledge = true)] {
        sleeps(&mut spec, 0, &[(millis(2050), millis(3050))], None);
        let outcome = run(&spec);
        let flow = &outcome.flows[0];
        assert_eq!((flow.packets_unique, flow.packets_dropped), (100, 0));
        assert_eq!(slept(&outcome.nodes[0]), 1_000_000_000);
        // Ten datagrams have waited half a second on average, and the others hardly.
        let delay = flow.delay_ms.expect("packets arrived");
        assert!((50.0..75.0).contains(&delay), "{delay} ms");
        // Nothing was on the air while it slept.
        spec.duration = Span::from_millis(3050);
        let until = run(&spec);
        assert_eq!(until.nodes[0].data_frames, 11);
    }
}

#[test]
fn frames_in_slots_for_one_that_sleeps_are_lost_for_that_reason() {
    let mut spec = slotted(|_| {});
    sleeps(&mut spec, 1, &[(millis(2050), millis(3050))], None);
    let outcome = run(&spec);
    assert_eq!((outcome.flows[0].packets_unique, dropped(&outcome, "asleep")), (90, 10));
    let fates = ["frames_heard", "frames_asleep", "frames_in_conflict", "frames_out_of_reach"];
    assert_eq!(fates.map(|name| outcome.nodes[0].metric(name)), [Some(90), Some(10), Some(0), Some(0)]);
    spec.medium.exact = true;
    assert_eq!(run(&spec).digest, outcome.digest, "with an event for each edge");
}

#[test]
fn messages_beside_the_channel_do_not_reach_those_who_sleep() {
    let received = |asleep: bool| {
        let mut spec = slotted(|tdma| {
            tdma.schedule = tdma::Schedule::Rule(tdma::Rule::Agent);
            tdma.control = tdma::ControlPlace::OutOfBand;
        });
        let agents = ["neighbours", "drand"].map(|name| agent::Config::of_profile(name, "rfc").expect("an agent"));
        spec.nodes.iter_mut().for_each(|node| node.agents = agents.to_vec());
        if asleep {
            sleeps(&mut spec, 1, &[(millis(500), millis(19_999))], None);
        }
        let outcome = run(&spec);
        let of = |node| -> u64 {
            outcome
                .overhead
                .iter()
                .filter(|row| row.node == node && row.kind == "control")
                .map(|row| row.received)
                .sum()
        };
        [of(0), of(1), of(2)]
    };
    let ([first, middle, last], [_, none, other]) = (received(false), received(true));
    assert!([first, middle, last].iter().all(|count| *count > 30), "{first} {middle} {last}");
    assert!(none < 5 && other > 15, "{none} {other}");
}

#[test]
fn a_frame_is_lost_if_the_receiver_sleeps_in_any_part_of_it() {
    // The datagram of 2 s goes in the first slot from then on, and arrives 334 ns later.
    let round = 3 * 10_000_000;
    let begin = 2_000_000_000_u64.next_multiple_of(round) + 334;
    let airtime = (run(&slotted(|_| {})).nodes[0].sending_s.expect("energy is counted") * 1e7).round() as u64;
    for (from, to, lost) in [
        (begin - 50_000, begin, 0),
        (begin - 50_000, begin + 1, 1),
        (begin + airtime / 2, begin + airtime / 2 + 1, 1),
        (begin + airtime - 1, begin + airtime + 50_000, 1),
        (begin + airtime + 1, begin + airtime + 50_000, 0),
    ] {
        let mut spec = slotted(|_| {});
        sleeps(&mut spec, 1, &[(Time::from_nanos(from), Time::from_nanos(to))], None);
        let outcome = run(&spec);
        assert_eq!(dropped(&outcome, "asleep"), lost, "asleep from {from} to {to}, frame from {begin} on");
        assert_eq!(outcome.flows[0].packets_unique, 100 - lost);
    }
}

#[test]
fn a_radio_sends_its_frame_before_it_sleeps() {
    let mut spec = datagrams();
    // The datagram of 2 s goes at once: the medium has been idle for long.
    let (from, to) = (millis(2000) + Span::from_micros(500), millis(2090));
    sleeps(&mut spec, 0, &[(from, to)], None);
    let outcome = run(&spec);
    assert_eq!(outcome.flows[0].packets_unique, 100, "the frame is whole; its acknowledgement is missed");
    assert_eq!(slept(&outcome.nodes[0]), to.since(millis(2000)).nanos() - AIRTIME);
    assert_eq!(outcome.nodes[0].data_frames, 101, "it is sent again after the sleep");
}

#[test]
fn times_of_sleep_come_again() {
    let mut spec = datagrams();
    sleeps(&mut spec, 2, &[(millis(10), millis(20)), (millis(50), millis(80))], Some(Span::from_millis(100)));
    let outcome = run(&spec);
    assert_eq!(slept(&outcome.nodes[2]), 200 * 40_000_000);
    assert_eq!(outcome.flows[0].packets_unique, 100);
}

#[test]
fn a_battery_lasts_longer_in_sleep_and_runs_dry_when_arithmetic_says() {
    // 1 J until 2 s, 1 J until 10 s, 0.5 J in each second from then on.
    for (joules, seconds) in [(0.75, 1.5), (1.125, 3.0), (2.0, 10.0), (3.25, 12.5)] {
        let mut spec = network("rfc", "static", &[(0.0, 0.0), (5000.0, 0.0)]);
        spec.duration = Span::from_secs(20);
        spec.energy.model = powers();
        spec.energy.batteries = vec![Battery::Full(Energy::new(joules))];
        sleeps(&mut spec, 0, &[(millis(2000), millis(10_000))], None);
        let outcome = run(&spec);
        assert_eq!(outcome.nodes[0].battery_empty_s, Some(seconds), "{joules} J");
        slept(&outcome.nodes[0]);
    }
}

#[test]
fn whoever_sleeps_every_packet_has_a_reason() {
    let places: Vec<_> = (0..16).map(|n| (f64::from(n % 4) * 150.0, f64::from(n / 4) * 150.0)).collect();
    for (protocol, mac) in [("aodv", "dcf"), ("dsr", "dcf"), ("olsr", "dcf"), ("olsr", "tdma"), ("oracle", "tdma")] {
        for profile in ["rfc", "ns2"] {
            let mut spec = network(profile, protocol, &places);
            spec.duration = Span::from_secs(10);
            spec.channels[0].mac = mac::Config::of_profile(mac, profile).expect("a MAC");
            spec.energy.model = powers();
            add_tcp(&mut spec, 0, 15, "rfc", "newreno", |_| {});
            add_tcp(&mut spec, 12, 3, "rfc", "cubic", |_| {});
            let awake = run(&spec);
            for node in 0..16 {
                let (from, to) = (millis(37 * u64::from(node)), millis(37 * u64::from(node) + 80));
                sleeps(&mut spec, node, &[(from, to)], Some(Span::from_millis(401)));
            }
            // The account of packets is checked at the end of every run.
            let outcome = run(&spec);
            assert_ne!(outcome.digest, awake.digest);
            for node in &outcome.nodes {
                // Frames that are sent first cost a little of the sleep.
                let share = slept(node) as f64 / 1e10;
                assert!((0.15..0.205).contains(&share), "{protocol} {mac}: {share}");
            }
            spec.medium.exact = true;
            assert_eq!(run(&spec).digest, outcome.digest, "{protocol} {mac}: with an event for each edge");
        }
    }
}
