//! Scenarios built by hand, for the tests of the whole model.
#![allow(dead_code, reason = "each test uses a part of these")]

pub mod loops;
pub mod scenarios;
pub mod segments;
pub mod table;

use std::any::Any;
use std::net::Ipv4Addr;

use hopyard_engine::units::{Bytes, Distance, Rate};
use hopyard_engine::{Span, Time};
use hopyard_model::address::NodeId;
use hopyard_model::mobility::Position;
use hopyard_model::observe::{Outcome, Probe, Probes};
use hopyard_model::params::Params as _;
use hopyard_model::transport::{acking, congestion, tcp};
use hopyard_model::world::{self, Cast, FlowSpec, GroupSpec, NodeSpec, Spec, Transport, Watch, World};
use hopyard_model::{app, mac, multicast, phy, routing};

/// Nodes at these positions, without flows.
pub fn network(profile: &str, routing: &str, places: &[(f64, f64)]) -> Spec {
    let routing = routing::Config::of_profile(routing, profile).expect("a routing protocol");
    let node = |&(x, y): &(f64, f64)| NodeSpec::stationary(Position::ground(x, y), routing.clone());
    Spec { nodes: places.iter().map(node).collect(), ..Spec::network(profile) }
}

/// Positions in a row.
pub fn chain(nodes: usize, spacing: f64) -> Vec<(f64, f64)> {
    (0..nodes).map(|i| (i as f64 * spacing, 0.0)).collect()
}

/// Changes the parameters of DCF.
pub fn with_dcf(spec: &mut Spec, change: impl FnOnce(&mut mac::dcf::Params)) {
    let mac::Config::Dcf(params) = &mut spec.channels[0].mac else { panic!("the scenario has another MAC") };
    change(params);
}

/// Sets the ranges in metres.
pub fn with_ranges(spec: &mut Spec, receive: f64, sense: f64) {
    spec.channels[0].radio.receive = phy::Sensitivity::Range(Distance::new(receive)).into();
    spec.channels[0].radio.sense = phy::Sensitivity::Range(Distance::new(sense));
}

/// The scenario with these ranges in metres.
pub fn ranged(mut spec: Spec, receive: f64, sense: f64) -> Spec {
    with_ranges(&mut spec, receive, sense);
    spec
}

/// A flow of datagrams during the whole run.
pub fn udp_flow(from: NodeId, to: NodeId, traffic: app::Config) -> FlowSpec {
    let (start, stop) = (Time::ZERO, Time::NEVER);
    FlowSpec { from, to, start, stop, traffic, label: String::new(), transport: Transport::Udp, dscp: 0 }
}

/// Adds datagrams of this size at this interval, with ns-2's jitter.
pub fn add_cbr(spec: &mut Spec, from: u32, to: u32, size: u64, interval: Span) {
    let mut params = app::cbr::Params::of_profile("ns2");
    params.packet_size = Bytes::new(size);
    params.interval = interval;
    params.jitter = 1.0;
    spec.flows.push(udp_flow(NodeId(from), NodeId(to), app::Config::Cbr(params.into())));
}

/// Lets a flow go to a group of these members, of which its destination is one.
pub fn to_group(spec: &mut Spec, flow: usize, members: &[u32]) {
    let members = members.iter().copied().map(NodeId).collect();
    let address = Ipv4Addr::new(239, 1, 0, spec.groups.len() as u8);
    spec.casts.insert(flow, Cast::Group(spec.groups.len()));
    spec.groups.push(GroupSpec { address, members });
}

/// The routing protocol that a forwarding protocol for groups needs, or this one.
pub fn routing_for(multicast: &str, other: &'static str) -> &'static str {
    let of = |name: &str| routing::Config::of_profile(name, "rfc").expect("a routing protocol");
    let needs = multicast::Config::of_profile(multicast, "rfc").expect("a forwarding protocol").needs_relays();
    let mut able = routing::MODELS.iter().map(|model| model.name).filter(|name| of(name).chooses_relays());
    if needs { able.next().expect("a protocol chooses relays") } else { other }
}

/// Adds a TCP flow with an endless file.
pub fn add_tcp(
    spec: &mut Spec,
    from: u32,
    to: u32,
    profile: &str,
    variant: &str,
    change: impl FnOnce(&mut tcp::Params),
) {
    let mut params = tcp::Params::of_profile(profile);
    change(&mut params);
    let congestion = congestion::Config::of_profile(variant, profile).expect("a TCP variant");
    let transport = Transport::Tcp {
        config: Box::new(tcp::Config { tcp: params, congestion }),
        acking: acking::Config::of_profile("every", profile).expect("a way of acknowledging"),
    };
    let traffic = app::Config::of_profile("ftp", profile).expect("traffic");
    spec.flows.push(FlowSpec { transport, ..udp_flow(NodeId(from), NodeId(to), traffic) });
}

/// Gives a TCP flow another congestion control, with the defaults of one of its own profiles.
pub fn with_congestion(spec: &mut Spec, flow: usize, variant: &str, profile: &str) {
    if let Transport::Tcp { config, .. } = &mut spec.flows[flow].transport {
        config.congestion = congestion::Config::of_profile(variant, profile).expect("a TCP variant");
    }
}

/// Gives a flow this traffic. One with data both ways opens at both ends.
pub fn with_traffic(flow: &mut FlowSpec, traffic: app::Config) {
    if let Transport::Tcp { config, .. } = &mut flow.transport
        && traffic.is_answered()
    {
        config.tcp.connect = tcp::Connect::ThreeWay;
    }
    flow.traffic = traffic;
}

/// Lets flows start at intervals of 37 ms, so that their first broadcasts do not collide.
pub fn stagger(spec: &mut Spec) {
    for (number, flow) in spec.flows.iter_mut().enumerate() {
        flow.start += Span::from_millis(37) * number as u64;
    }
}

/// Runs to the end of the run.
pub fn run(spec: &Spec) -> Outcome {
    world::simulate(spec, &Watch::default()).expect("packets add up")
}

/// Runs for so many seconds.
pub fn run_for(spec: &mut Spec, seconds: u64) -> Outcome {
    spec.duration = Span::from_secs(seconds);
    run(spec)
}

/// Runs for a time with flows that start at intervals ([`stagger`]).
pub fn run_staggered(mut spec: Spec, duration: Span) -> Outcome {
    stagger(&mut spec);
    spec.duration = duration;
    run(&spec)
}

/// Runs to the end of the run with a probe, and returns it too. The probe is in a list of one, whatever its type: a
/// world is compiled for each type of its probe, which takes longer than many of the tests.
pub fn run_with<P: Probe + Send>(spec: &Spec, probe: P) -> (Outcome, P) {
    let (outcome, mut probes) = run_watched(spec, vec![Box::new(probe)]);
    let probe: Box<dyn Any> = probes.pop().expect("the probe");
    (outcome, *probe.downcast().expect("of this type"))
}

fn run_watched(spec: &Spec, probes: Probes) -> (Outcome, Probes) {
    World::with_probe(spec, probes).expect("a world").run_watched(&Watch::default()).expect("packets add up")
}

/// A rate in Mb/s.
pub fn mbps(rate: f64) -> Rate {
    Rate::from_bps((rate * 1e6) as u64)
}
