//! In any network, no packet is lost without a reason, nothing panics, and the tables are consistent.

mod common;

use hopyard_engine::units::{Bytes, Distance, Ratio, Speed};
use hopyard_engine::{Span, Time};
use hopyard_model::address::NodeId;
use hopyard_model::link::wired;
use hopyard_model::mobility::{self, group, random_waypoint};
use hopyard_model::observe::Outcome;
use hopyard_model::params::Params as _;
use hopyard_model::radio::{Reception, propagation};
use hopyard_model::routing;
use hopyard_model::transport::{acking, congestion};
use hopyard_model::world::{Quantity, Spec, Transport, Watch, WireSpec, World};
use hopyard_model::{link, traffic};
use proptest::prelude::*;
use proptest::sample::select;

use common::{add_cbr, add_tcp, mbps, network, run, with_dcf};

const PROFILES: [&str; 2] = ["rfc", "ns2"];

fn names(models: &'static [hopyard_model::params::ModelInfo]) -> impl Strategy<Value = &'static str> {
    select(models).prop_map(|model| model.name)
}

#[derive(Clone, Debug)]
struct FlowPlan {
    from: u32,
    to: u32,
    variant: Option<&'static str>,
    acking: &'static str,
    traffic: &'static str,
    profile: &'static str,
    size: u64,
    window: u32,
    start: u64,
    stop: Option<u64>,
}

fn flow() -> impl Strategy<Value = FlowPlan> {
    let ends = (0..64_u32, 0..64_u32);
    let transport = (prop::option::of(names(congestion::MODELS)), names(acking::MODELS), names(traffic::MODELS));
    let sizes = (select(&PROFILES[..]), 1..1460_u64, 1..60_u32);
    (ends, transport, sizes, (0..3_000_u64, prop::option::of(0..4_000_u64))).prop_map(
        |((from, to), (variant, acking, traffic), (profile, size, window), (start, stop))| FlowPlan {
            from,
            to,
            variant,
            acking,
            traffic,
            profile,
            size,
            window,
            start,
            stop: stop.map(|after| start + after),
        },
    )
}

fn add(spec: &mut Spec, plan: &FlowPlan) {
    let nodes = spec.nodes.len() as u32;
    let from = plan.from % nodes;
    // Any node except the source.
    let to = (from + 1 + plan.to % (nodes - 1)) % nodes;
    if let Some(variant) = plan.variant {
        add_tcp(spec, from, to, plan.profile, variant, |tcp| {
            (tcp.segment_size, tcp.window) = (Bytes::new(plan.size), plan.window);
        });
    } else {
        add_cbr(spec, from, to, plan.size, Span::from_millis(10));
    }
    let flow = spec.flows.last_mut().expect("a flow");
    flow.traffic = traffic::Config::of_profile(plan.traffic, plan.profile).expect("traffic");
    let offers_packets = match &mut flow.traffic {
        traffic::Config::Cbr(cbr) => {
            (cbr.packet_size, cbr.rate, cbr.jitter) = (Bytes::new(plan.size), mbps(0.3), 1.0);
            true
        }
        traffic::Config::OnOff(on_off) => {
            (on_off.packet_size, on_off.rate) = (Bytes::new(plan.size), mbps(0.2));
            true
        }
        traffic::Config::Transfer(transfer) => {
            transfer.size = Bytes::new(plan.size * 37);
            false
        }
        traffic::Config::Ftp(_) => false,
    };
    match &mut flow.transport {
        Transport::Tcp { acking, .. } => {
            *acking = acking::Config::of_profile(plan.acking, plan.profile).expect("a way of acknowledging");
        }
        // An endless file needs a transport with a window.
        Transport::Udp if !offers_packets => {
            flow.traffic = traffic::Config::of_profile("cbr", "rfc").expect("traffic");
        }
        Transport::Udp => {}
    }
    flow.start = Time::ZERO + Span::from_millis(plan.start);
    flow.stop = plan.stop.map_or(Time::NEVER, |stop| Time::ZERO + Span::from_millis(stop));
}

/// Any small network: a few nodes in a square of 700 m, stationary or very fast, some of them wired.
fn spec() -> impl Strategy<Value = Spec> {
    let ground = (select(&PROFILES[..]), prop::collection::vec((0.0..700.0_f64, 0.0..700.0_f64), 2..9), any::<u64>());
    let protocols = (names(routing::MODELS), prop::option::of(10.0..300.0_f64), any::<bool>());
    let radio = (
        select(&[Reception::Threshold, Reception::Ns2, Reception::Sinr][..]),
        names(propagation::MODELS),
        select(&[1.0, 2.0, 5.5, 11.0][..]),
        select(&[0_u64, 300, 3000][..]),
    );
    let narrow = (1..20_u8, 2..20_u32, 1..4_u32, any::<bool>());
    let wires = prop::collection::vec((0..64_u32, 0..64_u32, 0.0..0.2_f64), 0..3);
    let observed = (prop::collection::vec(flow(), 1..5), 1..6_u64, any::<bool>());
    (ground, protocols, radio, narrow, wires, observed).prop_map(
        |(
            (profile, places, seed),
            (routing, speed, grouped),
            (reception, propagation, rate, rts_threshold),
            (ttl, queue, hold, resolve),
            wires,
            (flows, seconds, series),
        )| {
            let mut spec = network(profile, routing, &places);
            spec.seed = seed;
            spec.channels[0].radio.reception = reception;
            spec.channels[0].propagation =
                propagation::Config::of_profile(propagation, profile).expect("a propagation model");
            if let propagation::Config::LogDistance(params) = &mut spec.channels[0].propagation {
                params.sigma = Ratio::from_db(5.0);
            }
            with_dcf(&mut spec, |dcf| (dcf.rate, dcf.rts_threshold) = (mbps(rate), Bytes::new(rts_threshold)));
            spec.ip.ttl = ttl;
            (spec.link.queue_length, spec.link.arp.hold) = (queue, hold);
            if !resolve {
                spec.link.arp.resolution = link::arp::Resolution::Off;
            }
            if let Some(speed) = speed {
                let movement = random_waypoint::Params {
                    width: Distance::new(700.0),
                    height: Distance::new(700.0),
                    speed_min: Speed::new(speed / 2.0),
                    speed_max: Speed::new(speed),
                    pause_max: Span::from_millis(300),
                    ..random_waypoint::Params::of_profile(profile)
                };
                for node in spec.nodes.iter_mut().skip(1) {
                    node.mobility = mobility::Config::RandomWaypoint(movement.clone());
                }
            }
            if grouped {
                for node in spec.nodes.iter_mut().skip(2).step_by(2) {
                    let leader = group::Leader::Node(1);
                    node.mobility =
                        mobility::Config::Group(group::Params { leader, ..group::Params::of_profile(profile) });
                }
            }
            let nodes = spec.nodes.len() as u32;
            for (from, to, loss) in wires {
                let mut params =
                    wired::Params { rate: mbps(0.5), queue_length: queue, ..wired::Params::of_profile(profile) };
                params.losses.rate = loss;
                let from = from % nodes;
                spec.wires.push(WireSpec {
                    ends: (NodeId(from), NodeId((from + 1 + to % (nodes - 1)) % nodes)),
                    params,
                    network: None,
                });
                spec.nodes[from as usize].radios = if loss < 0.1 { vec![0] } else { Vec::new() };
            }
            for plan in &flows {
                add(&mut spec, plan);
            }
            spec.duration = Span::from_secs(seconds);
            if series {
                spec.observe.series = Quantity::ALL.to_vec();
                spec.observe.interval = Span::from_millis(100);
            }
            spec
        },
    )
}

/// Conditions on the tables of any run.
fn agree(outcome: &Outcome) -> Result<(), TestCaseError> {
    for flow in &outcome.flows {
        prop_assert!(flow.packets_unique <= flow.packets_arrived, "{flow:?}");
        prop_assert!(flow.packets_unique <= flow.packets_sent, "{flow:?}");
        // A packet whose acknowledgement the MAC lost may end more than once, but each packet ends at least once.
        let ends = flow.packets_arrived + flow.packets_dropped + flow.packets_left;
        prop_assert!(flow.packets_sent <= ends, "{flow:?}");
        prop_assert!(flow.delay_ms.is_some() == (flow.packets_arrived > 0), "{flow:?}");
        prop_assert!(flow.transport != "udp" || flow.retransmissions + flow.timeouts == 0, "{flow:?}");
        prop_assert!([flow.goodput_kbps, flow.throughput_kbps].iter().all(|rate| rate.is_finite() && *rate >= 0.0));
    }
    let by_node: u64 = outcome.nodes.iter().map(|node| node.dropped).sum();
    let by_reason: u64 = outcome.drops.iter().map(|row| row.count).sum();
    prop_assert_eq!(by_node, by_reason);
    prop_assert_eq!(outcome.nodes.iter().map(|node| node.frames).sum::<u64>(), outcome.frames);
    for node in &outcome.nodes {
        let control: u64 = ["rts", "cts", "acks"].into_iter().filter_map(|name| node.metric(name)).sum();
        prop_assert_eq!(node.frames, control + node.data_frames + node.broadcasts);
        if let Some(slots) = node.metric("slots") {
            prop_assert_eq!(slots, node.metric("slots_unused").unwrap_or(0) + node.frames);
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 250, ..ProptestConfig::default() })]

    #[test]
    fn every_packet_is_accounted_for(spec in spec()) {
        agree(&run(&spec))?;
    }

    #[test]
    fn also_when_the_medium_is_exact(mut spec in spec()) {
        let digest = run(&spec).digest;
        spec.medium.exact = true;
        prop_assert_eq!(run(&spec).digest, digest);
    }
}

#[test]
fn a_run_that_is_cancelled_still_adds_up() {
    for (name, spec) in common::scenarios::all() {
        let watch = Watch::default();
        watch.cancel();
        let outcome = World::new(&spec).expect("a world").run(&watch).expect("packets add up");
        assert!(outcome.cancelled && watch.simulated().seconds() < spec.duration.seconds(), "{name}");
        agree(&outcome).expect("tables agree");
    }
}

/// A node with a wire is near nodes that search routes by radio. It must not take part in their protocol.
#[test]
fn a_node_without_a_radio_takes_no_part_in_the_air() {
    for protocol in ["aodv", "dsdv"] {
        let mut spec = network("rfc", protocol, &[(0.0, 0.0), (10.0, 0.0), (200.0, 0.0)]);
        spec.nodes[0].radios.clear();
        let wire = wired::Params::of_profile("rfc");
        spec.wires.push(WireSpec { ends: (NodeId(0), NodeId(1)), params: wire, network: None });
        add_cbr(&mut spec, 1, 2, 100, Span::from_millis(50));
        spec.duration = Span::from_secs(40);
        let outcome = run(&spec);
        assert!(outcome.flows[0].packets_arrived > 100, "{protocol}");
        let node = &outcome.nodes[0];
        assert_eq!((node.frames, node.metric("rts")), (0, None), "{protocol}");
        assert_eq!((node.collisions, node.forwarded, node.dropped), (0, 0, 0), "{protocol}");
    }
}

/// Requests of ARP and AODV are broadcast, and the MAC does not repeat broadcasts. Requests sent at the same time
/// collide, but they must not collide again and again.
#[test]
fn flows_that_start_in_the_same_instant_all_get_through() {
    for protocol in ["static", "oracle", "aodv", "dsdv"] {
        let mut spec = network("rfc", protocol, &[(0.0, 0.0), (90.0, 0.0), (180.0, 0.0)]);
        add_tcp(&mut spec, 0, 2, "rfc", "reno", |_| {});
        add_cbr(&mut spec, 2, 1, 100, Span::from_millis(50));
        spec.duration = Span::from_secs(40);
        let outcome = run(&spec);
        for flow in &outcome.flows {
            assert!(flow.packets_arrived > 500, "{protocol}: {flow:?}");
        }
    }
}
