//! Random small networks of agents and hosts: wires that fail, agents and hosts that die, sleep and come back.

use hopyard_engine::units::{Bytes, Distance, Energy, Rate};
use hopyard_engine::{Rng, Span, Streams, Time};
use hopyard_model::address::NodeId;
use hopyard_model::agent::{self, Orders, mobile_ip};
use hopyard_model::app;
use hopyard_model::channel::energy::{self, Battery};
use hopyard_model::link::{self, wired};
use hopyard_model::mobility::{self, Position, waypoints};
use hopyard_model::packet::Form;
use hopyard_model::params::Params as _;
use hopyard_model::world::{FlowSpec, RoleSpec, ServedSpec, SleepSpec, Spec, WireSpec};

use crate::common::{network, udp_flow, with_ranges};

/// How long a run lasts, in seconds.
const SECONDS: f64 = 40.0;

fn span(seconds: f64) -> Span {
    Span::from_nanos((seconds * 1e9) as u64)
}

fn chance(rng: &mut Rng, probability: f64) -> bool {
    rng.uniform() < probability
}

/// One of some values.
fn one_of<T: Copy>(rng: &mut Rng, values: &[T]) -> T {
    values[rng.below(values.len() as u64) as usize]
}

/// Up to two intervals in order, within the run.
fn intervals(rng: &mut Rng) -> Vec<(f64, f64)> {
    let mut now = 0.0;
    let one = |_| {
        let from = now + rng.uniform_in(0.5, 15.0);
        now = from + rng.uniform_in(0.1, 10.0);
        (from, now)
    };
    (0..2).map(one).collect()
}

/// Who is who in a network: a correspondent, routers of the core, agents in a row, and hosts.
struct Cast {
    routers: usize,
    /// How many of the agents, which come first, have hosts of their own.
    homes: usize,
    agents: usize,
    hosts: usize,
}

impl Cast {
    fn random(rng: &mut Rng) -> Self {
        let homes = 1 + rng.below(2) as usize;
        Self {
            routers: 1 + rng.below(3) as usize,
            homes,
            agents: homes + 2 + rng.below(4) as usize,
            hosts: 1 + rng.below(4) as usize,
        }
    }

    fn agent(&self, number: usize) -> NodeId {
        NodeId((1 + self.routers + number) as u32)
    }

    fn host(&self, number: usize) -> NodeId {
        NodeId((1 + self.routers + self.agents + number) as u32)
    }

    fn home_of(&self, host: usize) -> usize {
        host % self.homes
    }

    fn hosts_of(&self, agent: usize) -> Vec<NodeId> {
        (0..self.hosts).filter(|&host| self.home_of(host) == agent).map(|host| self.host(host)).collect()
    }
}

fn params(profile: &str, rng: &mut Rng) -> mobile_ip::Params {
    let mut params = mobile_ip::Params::of_profile(profile);
    params.tunnel = one_of(rng, &[Form::IpInIp, Form::Minimal]);
    if profile == "ns2" {
        return params;
    }
    use mobile_ip::MoveDetection::{Eager, Lifetime, Prefix};
    params.move_detection = one_of(rng, &[Lifetime, Prefix, Eager]);
    params.beacon = span(rng.uniform_in(0.1, 3.0));
    params.advertised_lifetime = params.beacon.seconds().ceil() as u16 + rng.below(6) as u16;
    params.registration_lifetime = 1 + rng.below(30) as u16;
    params.longest_registration = 1 + rng.below(30) as u16;
    params.renewal = rng.uniform_in(0.2, 1.0);
    params.reverse_tunnel = chance(rng, 0.4);
    params.simultaneous = chance(rng, 0.4);
    params.most_bindings = 1 + rng.below(4) as u32;
    params.most_visitors = one_of(rng, &[1, 2, 1000]);
    params
}

/// A walk of a host along its line, from one random place to the next.
fn walk(rng: &mut Rng, from: Position, width: f64) -> mobility::Config {
    let (mut now, mut x) = (rng.uniform_in(0.5, 5.0), from.x);
    let mut track = vec![(now, x)];
    while now < SECONDS {
        let to = rng.uniform_in(-100.0, width + 100.0);
        now += ((to - x).abs() / rng.uniform_in(10.0, 100.0)).max(0.1);
        track.push((now, to));
        now += rng.uniform_in(0.1, 5.0);
        track.push((now, to));
        x = to;
    }
    let metres = Distance::new;
    let place = |&(at, x): &(f64, f64)| waypoints::Waypoint::ground(span(at), metres(x), metres(from.y));
    let track = track.iter().map(place).collect();
    mobility::Config::Waypoints(waypoints::Params { track, orders: Vec::new() }.into())
}

fn add_flow(spec: &mut Spec, rng: &mut Rng, from: NodeId, to: NodeId) {
    let mut params = app::cbr::Params::of_profile("rfc");
    params.packet_size = Bytes::new(20 + rng.below(500));
    params.interval = span(rng.uniform_in(0.05, 0.5));
    spec.flows.push(FlowSpec {
        start: Time::ZERO + span(rng.uniform_in(0.0, 5.0)),
        ..udp_flow(from, to, app::Config::Cbr(params.into()))
    });
}

/// Nodes whose radios sleep at times, and nodes that run dry.
fn add_outages(spec: &mut Spec, rng: &mut Rng, first: usize) {
    spec.energy.model = energy::Config::State(energy::state::Params::of_profile("rfc").into());
    spec.energy.batteries = vec![Battery::Endless; spec.nodes.len()];
    for node in first..spec.nodes.len() {
        if chance(rng, 0.2) {
            spec.energy.batteries[node] = Battery::Full(Energy::new(rng.uniform_in(3.0, 40.0)));
        } else if chance(rng, 0.4) {
            let at = |seconds| Time::ZERO + span(seconds);
            let times = intervals(rng).into_iter().map(|(from, to)| (at(from), at(to))).collect();
            spec.energy.sleeps.push(SleepSpec { node: NodeId(node as u32), times, every: None });
        }
    }
}

/// Agents that stop, deny, and send what others cannot accept.
fn add_orders(spec: &mut Spec, rng: &mut Rng, plan: &Cast) {
    let at = |seconds| Time::ZERO + span(seconds);
    let times = |rng: &mut Rng, probability| -> Vec<(Time, Time)> {
        let times = if chance(rng, probability) { intervals(rng) } else { Vec::new() };
        times.into_iter().map(|(from, to)| (at(from), at(to))).collect()
    };
    for agent in 0..plan.agents {
        let mut stops = times(rng, 0.3);
        if chance(rng, 0.5) {
            stops.iter_mut().for_each(|(from, until)| *until = *from);
        }
        let codes = [64, 66, 69, 73, 78, 128, 133, 135];
        let orders = Orders {
            stops,
            denials: times(rng, 0.2).into_iter().map(|during| (one_of(rng, &codes), during)).collect(),
            no_visits: (0..plan.hosts).map(|host| plan.host(host).into()).filter(|_| chance(rng, 0.05)).collect(),
            forged: times(rng, 0.1),
            malformed: times(rng, 0.1),
            ..Orders::default()
        };
        spec.orders.insert(plan.agent(agent), orders);
    }
    for host in 0..plan.hosts {
        let orders = Orders { forged: times(rng, 0.1), malformed: times(rng, 0.1), ..Orders::default() };
        spec.orders.insert(plan.host(host), orders);
    }
}

/// The network of a number.
pub fn numbered(number: u64) -> Spec {
    let rng = &mut Streams::new(number, 0).stream("network");
    let (profile, routing) = if chance(rng, 0.3) { ("ns2", "dsdv") } else { ("rfc", "static") };
    let plan = Cast::random(rng);
    // Cells of 250 m, which overlap, touch, or leave gaps.
    let spacing = rng.uniform_in(150.0, 550.0);
    let width = spacing * (plan.agents - 1) as f64;
    let mut places = vec![(0.0, 0.0); 1 + plan.routers];
    places.extend((0..plan.agents).map(|agent| (spacing * agent as f64, 300.0)));
    for host in 0..plan.hosts {
        let home = spacing * plan.home_of(host) as f64;
        places.push((home + rng.uniform_in(-70.0, 70.0), 100.0 + 7.0 * host as f64));
    }
    let mut spec = network(profile, routing, &places);
    (spec.seed, spec.duration) = (number, span(SECONDS));
    with_ranges(&mut spec, 250.0, 550.0);
    spec.link = link::Params::of_profile(profile);

    let mut params = params(profile, rng);
    // Of streams of their own: the networks are those that they were before there were orders.
    let faults = &mut Streams::new(number, 0).stream("orders");
    if chance(faults, 0.5) {
        if profile == "rfc" {
            params.most_absent = one_of(faults, &[1, 1000]);
            params.mobile_foreign_authentication = chance(faults, 0.3);
            params.foreign_home_authentication = chance(faults, 0.3);
            params.reverse_tunnel_mandatory = chance(faults, 0.2);
            params.encapsulating_delivery = chance(faults, 0.3);
        }
        add_orders(&mut spec, faults, &plan);
    }
    for node in &mut spec.nodes[..=plan.routers] {
        node.radios.clear();
    }
    for node in &mut spec.nodes[1 + plan.routers..] {
        node.agents.push(agent::Config::MobileIp(params.clone().into()));
    }
    for agent in 0..plan.agents {
        let hosts = plan.hosts_of(agent);
        let first = chance(rng, 0.5).then(|| Time::ZERO + span(rng.uniform_in(0.0, params.beacon.seconds())));
        let is_foreign = agent >= plan.homes || hosts.is_empty() || chance(rng, 0.7);
        let role = RoleSpec::Router { is_foreign, wires: Vec::new(), hosts: hosts.clone(), first };
        spec.roles.insert(plan.agent(agent), role);
        spec.served.push(ServedSpec { router: plan.agent(agent), prefix: None, members: hosts });
    }
    for host in 0..plan.hosts {
        let node = plan.host(host);
        let forged = if chance(rng, 0.2) { intervals(rng) } else { Vec::new() };
        let at = |seconds| Time::ZERO + span(seconds);
        let forged = forged.into_iter().map(|(from, to)| (at(from), at(to))).collect();
        spec.roles.insert(node, RoleSpec::Host { agent: plan.agent(plan.home_of(host)), forged });
        spec.nodes[node.index()].mobility = walk(rng, spec.nodes[node.index()].start, width);
    }

    let mut ends = vec![(NodeId(0), NodeId(1))];
    ends.extend((1..plan.routers as u32).map(|router| (NodeId(router), NodeId(router + 1))));
    for agent in 0..plan.agents {
        ends.push((NodeId(1 + rng.below(plan.routers as u64) as u32), plan.agent(agent)));
    }
    for ends in ends {
        let (rate, delay) = (Rate::from_bps(5_000_000), span(rng.uniform_in(0.0002, 0.1)));
        let mut params = wired::Params { rate, delay, ..wired::Params::of_profile(profile) };
        if chance(rng, 0.3) {
            let down = |(from, to)| wired::Down { from: span(from), to: Some(span(to)) };
            params.down = intervals(rng).into_iter().map(down).collect();
        }
        spec.wires.push(WireSpec { ends, params, network: None });
    }
    for host in 0..plan.hosts {
        let (node, other) = (plan.host(host), plan.host((host + 1) % plan.hosts));
        add_flow(&mut spec, rng, NodeId(0), node);
        add_flow(&mut spec, rng, node, NodeId(0));
        if other != node {
            add_flow(&mut spec, rng, node, other);
        }
    }
    if chance(rng, 0.5) {
        add_outages(&mut spec, rng, 1 + plan.routers);
    }
    spec
}
