//! Hosts that cross from cell to cell by radio.
//!
//! The network of Nashiry et al.: a home agent at (200, 300), a foreign agent at (500, 300), a correspondent behind a
//! router at which both have a wire, and a host that moves along y = 100. The cells have a radius of 250 m and touch at
//! x = 350.

use hopyard_engine::units::{Bytes, Distance, Rate};
use hopyard_engine::{Span, Time};
use hopyard_model::address::NodeId;
use hopyard_model::agent::mobile_ip::MoveDetection;
use hopyard_model::context::{DropReason, MobileChange, MobileEvent};
use hopyard_model::link::{self, wired};
use hopyard_model::mobility::{self, Position, waypoints};
use hopyard_model::observe::{PacketEvent, Passage, Probe};
use hopyard_model::packet::{Body, Form, Packet, PacketKind};
use hopyard_model::params::Params as _;
use hopyard_model::world::{FlowSpec, RoleSpec, ServedSpec, Spec, Watch, WireSpec, World};
use hopyard_model::{agent, app};

use crate::common::{network, ranged, run_with, udp_flow};

pub const CN: NodeId = NodeId(0);
const ROUTER: NodeId = NodeId(1);
pub const HA: NodeId = NodeId(2);
pub const FA: NodeId = NodeId(3);
pub const MH: NodeId = NodeId(4);

/// The network with a host that goes along this track of (seconds, x).
pub fn cells(
    profile: &str,
    routing: &str,
    track: &[(f64, f64)],
    change: impl FnOnce(&mut agent::mobile_ip::Params),
) -> Spec {
    let places = [(0.0, 0.0), (0.0, 0.0), (200.0, 300.0), (500.0, 300.0), (track[0].1, 100.0)];
    let mut spec = ranged(network(profile, routing, &places), 250.0, 550.0);
    let Ok(agent::Config::MobileIp(mut params)) = agent::Config::of_profile("mobile_ip", profile) else {
        panic!("the registry has Mobile IP")
    };
    change(&mut params);
    let router = |hosts: &[NodeId], is_foreign| RoleSpec::Router {
        is_foreign,
        wires: Vec::new(),
        hosts: hosts.to_vec(),
        first: None,
    };
    for (number, node) in (0..).map(NodeId).zip(&mut spec.nodes) {
        let role = match number {
            HA => router(&[MH], false),
            FA => router(&[], true),
            MH => RoleSpec::Host { agent: HA, forged: Vec::new() },
            _ => {
                node.radios.clear();
                continue;
            }
        };
        node.agents.push(agent::Config::MobileIp(params.clone()));
        spec.roles.insert(number, role);
    }
    let metres = Distance::new;
    let waypoint = |&(at, x): &(f64, f64)| {
        waypoints::Waypoint::ground(Span::from_nanos((at * 1e9) as u64), metres(x), metres(100.0))
    };
    if track.len() > 1 {
        let track = track[1..].iter().map(waypoint).collect();
        spec.nodes[MH.index()].mobility =
            mobility::Config::Waypoints(waypoints::Params { track, orders: Vec::new() }.into());
    }
    spec.served = vec![
        ServedSpec { router: HA, prefix: None, members: vec![MH] },
        ServedSpec { router: FA, prefix: None, members: Vec::new() },
    ];
    for (a, b) in [(CN, ROUTER), (ROUTER, HA), (ROUTER, FA)] {
        let (rate, delay) = (Rate::from_bps(5_000_000), Span::from_millis(2));
        let params = wired::Params { rate, delay, ..wired::Params::of_profile(profile) };
        spec.wires.push(WireSpec { ends: (a, b), params, network: None });
    }
    spec.link = link::Params::of_profile(profile);
    spec
}

/// Adds datagrams of 200 bytes every 50 ms.
pub fn with_datagrams(spec: &mut Spec, from: NodeId, to: NodeId) {
    let mut params = app::cbr::Params::of_profile("rfc");
    (params.packet_size, params.interval) = (Bytes::new(172), Span::from_millis(50));
    spec.flows.push(FlowSpec {
        start: Time::ZERO + Span::from_secs(2),
        ..udp_flow(from, to, app::Config::Cbr(params.into()))
    });
}

/// What happens to the host, and when datagrams arrive.
#[derive(Debug, Default)]
pub struct Seen {
    pub events: Vec<(Time, NodeId, MobileEvent)>,
    pub arrivals: Vec<Time>,
    pub drops: std::collections::BTreeMap<(NodeId, DropReason), u32>,
}

impl Probe for Seen {
    fn on_mobile(&mut self, now: Time, node: NodeId, event: &MobileEvent) {
        self.events.push((now, node, *event));
    }

    fn on_packet(&mut self, now: Time, node: NodeId, packet: &Packet, event: PacketEvent) {
        if packet.kind() != PacketKind::Data {
            return;
        }
        match event {
            PacketEvent::Dropped(reason) => *self.drops.entry((node, reason)).or_default() += 1,
            PacketEvent::Delivered => self.arrivals.push(now),
            _ => {}
        }
    }
}

impl Seen {
    /// The longest silence between two times in seconds.
    pub fn longest_gap(&self, from: f64, until: f64) -> f64 {
        let inside = self.arrivals.iter().map(|it| it.seconds()).filter(|at| (from..until).contains(at));
        let times: Vec<f64> = std::iter::once(from).chain(inside).chain([until]).collect();
        times.windows(2).map(|it| it[1] - it[0]).fold(0.0, f64::max)
    }

    /// The times of an event at a node, in seconds.
    pub fn times(&self, node: NodeId, name: &str) -> Vec<f64> {
        let its = self.events.iter().filter(|(_, at, event)| *at == node && event.what.name() == name);
        its.map(|(at, _, _)| at.seconds()).collect()
    }
}

pub fn watched(spec: &Spec) -> Seen {
    run_with(spec, Seen::default()).1
}

#[test]
fn a_host_is_reached_under_its_home_address_in_both_cells_and_back_home() {
    // At x = 350 after 20 s and after 60 s.
    let track = [(0.0, 200.0), (10.0, 200.0), (30.0, 500.0), (50.0, 500.0), (70.0, 200.0)];
    for (from, to) in [(CN, MH), (MH, CN)] {
        for detection in [MoveDetection::Lifetime, MoveDetection::Prefix, MoveDetection::Eager] {
            let mut spec = cells("rfc", "static", &track, |it| it.move_detection = detection);
            spec.duration = Span::from_secs(90);
            with_datagrams(&mut spec, from, to);
            let seen = watched(&spec);
            let case = format!("{from} to {to}, {detection:?}");
            // Out of the cell of the home agent, the host loses it after the lifetime of 3 s, or hears the other one
            // within a second.
            let most = if detection == MoveDetection::Lifetime { 4.1 } else { 1.1 };
            for crossing in [20.0, 60.0] {
                let gap = seen.longest_gap(crossing - 1.0, crossing + 9.0);
                assert!(gap < most, "{case}: silent for {gap} s at {crossing} s");
            }
            for (from, until) in [(3.0, 19.0), (31.0, 59.0), (71.0, 89.0)] {
                let gap = seen.longest_gap(from, until);
                assert!(gap < 0.1, "{case}: silent for {gap} s between {from} and {until} s");
            }
            assert_eq!(seen.times(HA, "tunnel_begun").len(), 1, "{case}");
            assert_eq!(seen.times(HA, "tunnel_ended").len(), 1, "{case}");
            let registered = seen.times(MH, "registered").len();
            assert_eq!(registered, 2, "{case}: away and back, {:?}", seen.events);
            let moved = seen.events.iter().filter_map(|(_, _, it)| match it.what {
                MobileChange::Moved { to, .. } => Some(to),
                _ => None,
            });
            assert!(moved.flatten().count() >= 3, "{case}");
        }
    }
}

/// The packets that enter tunnels of agents, and those on wires that are in such a tunnel, with their sizes.
#[derive(Debug, Default)]
struct Tunnels {
    entered: Vec<(NodeId, u32)>,
    on_wires: Vec<u32>,
}

impl Probe for Tunnels {
    fn on_passage(&mut self, _: Time, packet: &Packet, passage: Passage) {
        match passage {
            Passage::AgentTunnelEntered { node, .. } => {
                self.entered.push((node, packet.size));
            }
            Passage::WireEntered(_) => {
                if matches!(packet.body, Body::Tunnelled(..)) {
                    self.on_wires.push(packet.size);
                }
            }
            _ => {}
        }
    }
}

#[test]
fn tunnels_add_their_bytes_in_either_form_and_direction() {
    let away = [(0.0, 200.0), (1.0, 200.0), (21.0, 500.0)];
    for (form, bytes) in [(Form::IpInIp, 20), (Form::Minimal, 12)] {
        for reverse in [false, true] {
            for (from, to) in [(CN, MH), (MH, CN)] {
                let mut spec = cells("rfc", "static", &away, |it| {
                    (it.tunnel, it.reverse_tunnel, it.move_detection) = (form, reverse, MoveDetection::Eager);
                });
                spec.duration = Span::from_secs(40);
                with_datagrams(&mut spec, from, to);
                let (outcome, seen) = run_with(&spec, Tunnels::default());
                let case = format!("{form:?}, reverse {reverse}, {from} to {to}");
                // From the home agent to the host; from the foreign agent with a reverse tunnel only.
                let entry = if from == CN { HA } else { FA };
                let tunnels = from == CN || reverse;
                assert_eq!(seen.entered.iter().any(|(node, _)| *node == entry), tunnels, "{case}");
                assert!(seen.entered.iter().all(|&(node, size)| node == entry && size == 200), "{case}");
                assert!(seen.on_wires.iter().all(|&size| size == 200 + bytes), "{case}: {:?}", seen.on_wires.first());
                // Two wires lie between the agents.
                assert_eq!(seen.on_wires.len().div_ceil(2), seen.entered.len(), "{case}");
                let flow = &outcome.flows[0];
                assert!(flow.packets_arrived + 60 > flow.packets_sent, "{case}: {} arrived", flow.packets_arrived);
            }
        }
    }
}

#[test]
fn what_is_for_a_host_goes_by_way_of_home_wherever_it_starts() {
    // These protocols cross wires, and know where the host is when the run starts, or all the time.
    for routing in ["static", "oracle"] {
        // In the cell of the foreign agent, and then at home.
        let mut spec = cells("rfc", routing, &[(0.0, 500.0), (10.0, 500.0), (30.0, 200.0)], |_| {});
        spec.duration = Span::from_secs(45);
        with_datagrams(&mut spec, CN, MH);
        let seen = watched(&spec);
        for (from, until) in [(5.0, 19.0), (31.0, 44.0)] {
            let gap = seen.longest_gap(from, until);
            assert!(gap < 0.1, "{routing}: silent for {gap} s between {from} and {until} s");
        }
        let seen = run_with(&spec, Tunnels::default()).1;
        // A packet each 50 ms for 17 s.
        assert!(seen.entered.len() > 300, "{routing}: {} in the tunnel", seen.entered.len());
        // Out of all cells, and then at home.
        let mut spec = cells("rfc", routing, &[(0.0, -300.0), (20.0, 200.0)], |_| {});
        spec.duration = Span::from_secs(30);
        with_datagrams(&mut spec, CN, MH);
        let gap = watched(&spec).longest_gap(21.0, 29.0);
        assert!(gap < 0.1, "{routing}: silent for {gap} s at home");
    }
}

#[test]
fn tunnels_of_agents_end_at_agents_under_protocols_that_end_tunnels_too() {
    // Under AODV, the agents are gateways, at which half tunnels end. An agent that is down has no visitors, wherever
    // the protocol would find the host.
    for routing in ["static", "aodv", "dsr", "olsr"] {
        let mut spec = cells("rfc", routing, &[(0.0, 200.0), (1.0, 200.0), (21.0, 500.0)], |it| {
            it.move_detection = MoveDetection::Eager;
        });
        spec.duration = Span::from_secs(40);
        let second = |at: u64| Time::ZERO + Span::from_secs(at);
        spec.orders.insert(FA, agent::Orders { stops: vec![(second(30), second(35))], ..Default::default() });
        with_datagrams(&mut spec, CN, MH);
        let (outcome, seen) = run_with(&spec, Seen::default());
        let gone = seen.drops.get(&(FA, DropReason::VisitorGone)).copied().unwrap_or(0);
        // One each 50 ms; no more, since some come when the host is registered again.
        assert!((98..=110).contains(&gone), "{routing}: {:?}", seen.drops);
        assert!(outcome.flows[0].packets_arrived > 600, "{routing}: {}", outcome.flows[0].packets_arrived);
    }
}

#[test]
fn a_host_in_two_cells_loses_nothing_when_it_changes_its_agent() {
    // The cells overlap by 100 m, and the agents hear each other: the home agent must not answer the other one's
    // question where the host is.
    let track = [(0.0, 200.0), (1.0, 200.0), (41.0, 400.0)];
    for simultaneous in [false, true] {
        let mut spec = cells("rfc", "static", &track, |it| {
            (it.simultaneous, it.move_detection) = (simultaneous, MoveDetection::Eager);
        });
        spec.nodes[FA.index()].start = Position::ground(400.0, 300.0);
        spec.duration = Span::from_secs(50);
        with_datagrams(&mut spec, CN, MH);
        let (outcome, seen) = run_with(&spec, Seen::default());
        assert_eq!(seen.times(HA, "tunnel_begun").len(), 1);
        let flow = &outcome.flows[0];
        // One may be on its way at the end.
        assert!(flow.packets_unique + 1 >= flow.packets_sent, "{:?}", seen.drops);
    }
}

#[test]
fn a_forged_request_is_refused_and_the_binding_outlives_a_silent_host_by_its_lifetime() {
    let away = [(0.0, 200.0), (1.0, 200.0), (21.0, 500.0), (30.0, 500.0), (30.5, 5000.0)];
    for forged in [false, true] {
        let mut spec = cells("rfc", "static", &away, |it| {
            (it.move_detection, it.registration_lifetime) = (MoveDetection::Eager, 10);
        });
        spec.duration = Span::from_secs(60);
        let times = if forged { vec![(Time::ZERO, Time::NEVER)] } else { Vec::new() };
        spec.roles.insert(MH, RoleSpec::Host { agent: HA, forged: times });
        let seen = watched(&spec);
        assert_eq!(seen.times(HA, "tunnel_begun").is_empty(), forged);
        let codes = seen.events.iter().filter_map(|(_, _, it)| match it.what {
            MobileChange::Refused { code, .. } => Some(code),
            _ => None,
        });
        let codes: Vec<u8> = codes.collect();
        assert_eq!(codes.contains(&131), forged, "{codes:?}");
        if !forged {
            let last = seen.times(MH, "registered").into_iter().fold(0.0, f64::max);
            let ended = seen.times(HA, "expired");
            assert_eq!(ended.len(), 1, "{:?}", seen.events);
            // The reply took less than 20 ms from the home agent to the host.
            assert!((0.0..0.02).contains(&(last + 10.0 - ended[0])), "registered at {last}, ended at {ended:?}");
        }
    }
}

#[test]
fn networks_with_hosts_that_move_have_one_digest() {
    let track = [(0.0, 200.0), (5.0, 200.0), (25.0, 500.0), (30.0, 500.0), (50.0, 200.0)];
    for (profile, routing) in [("rfc", "static"), ("ns2", "dsdv")] {
        let mut spec = cells(profile, routing, &track, |_| {});
        spec.duration = Span::from_secs(60);
        with_datagrams(&mut spec, CN, MH);
        let digest = |spec: &Spec| {
            let mut world = World::new(spec).expect("a world");
            world.advance(Time::NEVER, &Watch::default());
            let digest = world.digest();
            world.finish().expect("packets add up");
            digest
        };
        let first = digest(&spec);
        let mut exact = spec.clone();
        exact.medium.exact = true;
        assert_eq!(digest(&exact), first, "{profile}: one event for each edge of a signal");
        let mut world = World::with_probe(&spec, Seen::default()).expect("a world");
        world.advance(Time::NEVER, &Watch::default());
        assert_eq!(world.digest(), first, "{profile}: with a probe");
        world.finish().expect("packets add up");
    }
}

#[test]
fn frames_that_keep_step_with_the_beacons_do_not_hide_an_agent() {
    let lost = |jitter: f64| {
        // The host is at the edge of the foreign agent's cell, and near two nodes that the agent does not sense. One of
        // them sends to the other whenever a beacon of a fixed period would come.
        let mut spec = cells("rfc", "static", &[(0.0, 500.0)], |it| it.beacon_jitter = jitter);
        spec.nodes[MH.index()].start = Position::ground(500.0, 51.0);
        let Some(RoleSpec::Router { first, .. }) = spec.roles.get_mut(&FA) else { panic!("an agent") };
        *first = Some(Time::ZERO + Span::from_millis(600));
        let [from, to] = [-252.0, -452.0].map(|y| {
            let mut node = spec.nodes[MH.index()].clone();
            node.agents.clear();
            node.start = Position::ground(500.0, y);
            spec.nodes.push(node);
            NodeId(spec.nodes.len() as u32 - 1)
        });
        with_datagrams(&mut spec, from, to);
        let mut params = app::cbr::Params::of_profile("rfc");
        (params.packet_size, params.interval) = (Bytes::new(1400), Span::from_secs(1));
        spec.flows[0].traffic = app::Config::Cbr(params.into());
        spec.flows[0].start = Time::ZERO + Span::from_millis(597);
        spec.duration = Span::from_secs(60);
        watched(&spec).times(MH, "lost").len()
    };
    // Each solicitation finds the agent for the 3 s of its answer.
    assert!(lost(0.0) > 10, "{}", lost(0.0));
    assert_eq!(lost(0.25), 0);
}
