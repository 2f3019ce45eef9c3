//! A set of small scenarios that together use most of the model; the tests of determinism use them.

use hopyard_engine::units::{Bytes, Coordinate, Distance, Power, Ratio, Speed};
use hopyard_engine::{Span, Time};
use hopyard_model::address::NodeId;
use hopyard_model::link::{queue, wired};
use hopyard_model::mac::rate_control;
use hopyard_model::mobility::{self, group, random_waypoint, roaming_group, rpgm, waypoints};
use hopyard_model::params::Params as _;
use hopyard_model::phy::Reception;
use hopyard_model::phy::fading;
use hopyard_model::phy::propagation::{self, log_distance};
use hopyard_model::routing::static_routes;
use hopyard_model::transport::recovery_choice::RecoveryChoice;
use hopyard_model::transport::{acking, congestion};
use hopyard_model::world::{JammerSpec, Spec, Transport, WireSpec};
use hopyard_model::{agent, app, mac, multicast, routing};

use super::{add_cbr, add_tcp, chain, mbps, network, routing_for, stagger, to_group, with_dcf, with_traffic};

/// Every scenario, with its name.
pub fn all() -> Vec<(String, Spec)> {
    let mut scenarios: Vec<(String, Spec)> = [
        ("hidden terminals", hidden_terminals()),
        ("bit errors", bit_errors()),
        ("shadowing", shadowing()),
        ("wired", wired()),
        ("gateways", gateways()),
        ("mixed flows", mixed_flows()),
        ("moving, ns2 profile", moving("ns2", "oracle")),
        ("groups", groups()),
        ("formed groups", formed_groups()),
        ("heights", heights()),
        ("single radios", single_radios()),
        ("jammers", jammers()),
    ]
    .map(|(name, spec)| (name.to_owned(), spec))
    .into();
    // The other scenarios use static routes. Every protocol that finds routes itself runs on a chain and with fifty
    // moving nodes.
    for protocol in routing::MODELS.iter().map(|model| model.name).filter(|&name| name != "static") {
        scenarios.push((format!("chain, {protocol}"), chain_of_six(protocol)));
        scenarios.push((format!("moving, {protocol}"), moving("rfc", protocol)));
    }
    scenarios
}

/// The TCP flows let queues mark their segments.
pub fn with_ecn(spec: &mut Spec) {
    for flow in &mut spec.flows {
        if let Transport::Tcp { config, .. } = &mut flow.transport {
            config.tcp.ecn = true;
        }
    }
}

/// A short chain with TCP and datagrams under every model of every list, beside those of [`all`].
pub fn of_every_model() -> Vec<(String, Spec)> {
    let mut base = network("rfc", "oracle", &chain(4, 150.0));
    add_tcp(&mut base, 0, 3, "rfc", "newreno", |_| {});
    add_cbr(&mut base, 3, 1, 256, Span::from_millis(40));
    stagger(&mut base);
    base.duration = Span::from_secs(4);
    let mut scenarios = all();
    let mut with = |kind: &str, name: &str, change: &dyn Fn(&mut Spec)| {
        let mut spec = base.clone();
        change(&mut spec);
        scenarios.push((format!("{kind}, {name}"), spec));
    };
    for model in mac::MODELS {
        with("mac", model.name, &|spec| {
            spec.channels[0].mac = mac::Config::of_profile(model.name, "rfc").expect("a MAC");
        });
    }
    for model in agent::MODELS {
        with("agent", model.name, &|spec| {
            // With everything that a switch can switch on.
            let mut values = (model.defaults)("rfc");
            let switches = values.as_object_mut().into_iter().flat_map(|values| values.values_mut());
            switches.filter(|value| value.is_boolean()).for_each(|value| *value = true.into());
            let agent = agent::Config::read(model.name, &values).expect("an agent");
            spec.nodes.iter_mut().for_each(|node| node.agents = vec![agent.clone()]);
        });
    }
    for &reception in Reception::ALL {
        with("reception", &format!("{reception:?}"), &|spec| spec.channels[0].radio.reception = reception);
    }
    for model in propagation::MODELS {
        with("propagation", model.name, &|spec| {
            let propagation = propagation::Config::of_profile(model.name, "rfc").expect("a propagation model");
            // Signals of equal power give no ratio.
            if propagation.equal_powers() {
                spec.channels[0].radio.reception = Reception::Threshold;
            }
            // Where places count, the ground takes most of the power.
            if propagation.channel().is_sited() {
                spec.nodes.iter_mut().for_each(|node| node.start.z = 50.0);
            }
            spec.channels[0].propagation = propagation;
        });
    }
    for model in queue::MODELS {
        with("queue", model.name, &|spec| {
            let mut edca = mac::edca::Params::of_profile("rfc");
            edca.dcf.standard = mac::dcf::Amendment::N;
            edca.follow("standard");
            spec.channels[0].mac = mac::Config::Edca(edca.into());
            spec.queue = queue::Config::of_profile(model.name, "rfc").expect("a queue discipline");
            with_ecn(spec);
        });
        with("queue of a wire", model.name, &|spec| {
            let params = wired::Params { rate: mbps(0.3), ..wired::Params::of_profile("rfc") };
            spec.wires.push(WireSpec { ends: (NodeId(0), NodeId(3)), params, network: None });
            spec.wire_queues.insert(0, queue::Config::of_profile(model.name, "rfc").expect("a queue discipline"));
            with_ecn(spec);
        });
    }
    for model in multicast::MODELS {
        with("multicast", model.name, &|spec| {
            let routing = routing_for(model.name, "oracle");
            let routing = routing::Config::of_profile(routing, "rfc").expect("a routing protocol");
            spec.nodes.iter_mut().for_each(|node| node.routing = routing.clone());
            spec.multicast = multicast::Config::of_profile(model.name, "rfc").expect("a forwarding protocol");
            to_group(spec, 1, &[0, 1, 2, 3]);
        });
    }
    for model in rate_control::MODELS {
        with("rate control", model.name, &|spec| {
            let dcf = mac::dcf::Params::of_amendment("rfc", mac::dcf::Amendment::G);
            spec.channels[0].mac = mac::Config::Dcf(dcf.into());
            spec.channels[0].rates = rate_control::Config::of_profile(model.name, "rfc").expect("a rate control");
        });
        with("rate control of aggregates", model.name, &|spec| {
            let mut edca = mac::edca::Params::of_profile("rfc");
            edca.dcf.standard = mac::dcf::Amendment::N;
            edca.follow("standard");
            spec.channels[0].mac = mac::Config::Edca(edca.into());
            spec.channels[0].rates = rate_control::Config::of_profile(model.name, "rfc").expect("a rate control");
        });
    }
    for model in fading::MODELS {
        with("fading", model.name, &|spec| {
            spec.channels[0].fading = fading::Config::of_profile(model.name, "rfc").expect("a model of fading");
        });
    }
    for model in acking::MODELS {
        with("acking", model.name, &|spec| {
            if let Transport::Tcp { acking, .. } = &mut spec.flows[0].transport {
                *acking = acking::Config::of_profile(model.name, "rfc").expect("a way of acknowledging");
            }
        });
    }
    for &recovery in RecoveryChoice::ALL {
        with("recovery", &format!("{recovery:?}"), &|spec| {
            if let Transport::Tcp { config, .. } = &mut spec.flows[0].transport {
                config.tcp.recovery = recovery;
            }
        });
    }
    for model in app::MODELS {
        with("traffic", model.name, &|spec| {
            with_traffic(&mut spec.flows[0], app::Config::of_profile(model.name, "rfc").expect("traffic"));
        });
    }
    scenarios
}

/// One TCP flow over five hops.
pub fn chain_of_six(routing: &str) -> Spec {
    let mut spec = network("rfc", routing, &chain(6, 200.0));
    add_tcp(&mut spec, 0, 5, "rfc", "newreno", |_| {});
    spec.duration = Span::from_secs(24);
    wait_for_routes(&mut spec, routing);
    spec
}

/// Begins later, and lasts longer, where routes need more time than the others' do.
fn wait_for_routes(spec: &mut Spec, routing: &str) {
    let config = routing::Config::of_profile(routing, "rfc").expect("a protocol");
    let wait = config.settles_within().saturating_sub(routing::SETTLED);
    for flow in &mut spec.flows {
        flow.start += wait;
    }
    spec.duration += wait;
}

/// Fifty moving nodes, some of whose radios are stronger or weaker than the others.
fn single_radios() -> Spec {
    let mut spec = moving("rfc", "aodv");
    let singles = serde_json::json!([
        { "nodes": [0, 3, 7], "transmit_power": "15 dBm" },
        { "nodes": [5, 12, 30], "gain": "6 dB" },
        { "nodes": [1, 8], "receive": "100 m", "transmit_power": "30 dBm" },
    ]);
    spec.channels[0].radio.single = serde_json::from_value(singles).expect("single nodes");
    spec
}

/// Fifty moving nodes. The last two are jammers.
fn jammers() -> Spec {
    let mut spec = moving("rfc", "aodv");
    for (node, on) in [(48, 20), (49, 7)] {
        spec.nodes[node].routing = routing::Config::StaticRoutes(static_routes::Params::silent().into());
        spec.jammers.push(JammerSpec {
            node: NodeId(node as u32),
            channel: 0,
            power: Power::from_dbm(15.0),
            from: Time::ZERO + Span::from_secs(2),
            until: Time::NEVER,
            period: Span::from_millis(20),
            on: Span::from_millis(on),
        });
    }
    spec
}

/// Fifty nodes at random waypoints, with datagrams and TCP.
pub fn moving(profile: &str, routing: &str) -> Spec {
    let mut spec = network(profile, routing, &[(0.0, 0.0); 50]);
    let movement = random_waypoint::Params {
        width: Distance::new(1000.0),
        height: Distance::new(600.0),
        speed_max: Speed::new(15.0),
        pause_max: Span::from_secs(2),
        ..random_waypoint::Params::of_profile(profile)
    };
    spec.nodes.iter_mut().for_each(|node| node.mobility = mobility::Config::RandomWaypoint(movement.clone().into()));
    for (number, variant) in ["tahoe", "reno", "newreno", "sack", "vegas"].into_iter().enumerate() {
        add_tcp(&mut spec, number as u32, number as u32 + 10, profile, variant, |tcp| {
            tcp.segment_size = Bytes::new(512);
        });
    }
    for number in 20..25 {
        add_cbr(&mut spec, number, number + 10, 256, Span::from_millis(100));
    }
    stagger(&mut spec);
    spec.duration = Span::from_secs(6);
    wait_for_routes(&mut spec, routing);
    spec
}

/// Six groups of five nodes near their centres, which members leave for others, and nodes that roam beside a member.
pub fn formed_groups() -> Spec {
    let mut spec = network("rfc", "aodv", &[(0.0, 0.0); 33]);
    let movement = rpgm::Params {
        width: Distance::new(500.0),
        height: Distance::new(400.0),
        size_mean: 5.0,
        size_spread: 1.0,
        radius: Distance::new(120.0),
        speed_min: Speed::new(5.0),
        speed_max: Speed::new(25.0),
        pause_max: Span::from_secs(2),
        change: 0.5,
        warm_up: Span::from_secs(600),
        ..rpgm::Params::of_profile("rfc")
    };
    let movement = mobility::Config::ReferencePointGroup(movement.into());
    for (number, node) in spec.nodes.iter_mut().enumerate() {
        node.mobility = if number < 30 {
            movement.clone()
        } else {
            let leader = group::Leader::Node(7);
            let params = roaming_group::Params { leader, ..roaming_group::Params::of_profile("rfc") };
            mobility::Config::RoamingGroup(params.into())
        };
    }
    for (from, to) in [(0, 4), (6, 20), (31, 7), (29, 32)] {
        add_tcp(&mut spec, from, to, "rfc", "newreno", |_| {});
    }
    add_cbr(&mut spec, 30, 2, 256, Span::from_millis(50));
    stagger(&mut spec);
    Spec { duration: Span::from_secs(6), ..spec }
}

/// Eight groups of five nodes, each around a leader at random waypoints, with TCP within groups and between them.
pub fn groups() -> Spec {
    let offsets = [(0.0, 0.0), (60.0, 0.0), (0.0, 60.0), (-60.0, 0.0), (0.0, -60.0)];
    let mut spec = network("rfc", "aodv", &offsets.repeat(8));
    let movement = random_waypoint::Params {
        width: Distance::new(700.0),
        height: Distance::new(500.0),
        ..random_waypoint::Params::of_profile("rfc")
    };
    for (number, node) in spec.nodes.iter_mut().enumerate() {
        let leader = number / 5 * 5;
        node.mobility = if number == leader {
            mobility::Config::RandomWaypoint(movement.clone().into())
        } else {
            let leader = group::Leader::Node(leader as u32);
            mobility::Config::Group(group::Params { leader, ..group::Params::of_profile("rfc") }.into())
        };
    }
    for (from, to) in [(1, 4), (7, 9), (12, 33)] {
        add_tcp(&mut spec, from, to, "rfc", "newreno", |_| {});
    }
    add_cbr(&mut spec, 16, 38, 256, Span::from_millis(100));
    stagger(&mut spec);
    Spec { duration: Span::from_secs(6), ..spec }
}

/// Nodes at different heights that stay, climb, or fly above a leader, with TCP and datagrams.
pub fn heights() -> Spec {
    let places: Vec<(f64, f64)> = (0..24).map(|i| (f64::from(i % 6) * 110.0, f64::from(i / 6) * 110.0)).collect();
    let mut spec = network("rfc", "aodv", &places);
    let movement = random_waypoint::Params {
        width: Distance::new(600.0),
        height: Distance::new(400.0),
        ..random_waypoint::Params::of_profile("rfc")
    };
    for (number, node) in spec.nodes.iter_mut().enumerate() {
        node.start.z = (number % 5) as f64 * 45.0;
        let order = |at, z| waypoints::Order {
            z: Some(Coordinate::new(z)),
            ..waypoints::Order::level(Span::from_secs(at), Distance::new(300.0), Distance::new(200.0), Speed::new(25.0))
        };
        match number {
            0 => node.mobility = mobility::Config::RandomWaypoint(movement.clone().into()),
            1..8 => {
                let leader = group::Leader::Node(0);
                node.mobility =
                    mobility::Config::Group(group::Params { leader, ..group::Params::of_profile("rfc") }.into());
            }
            8..16 => {
                let orders = vec![order(1, 120.0), order(4, -30.0)];
                node.mobility = mobility::Config::Waypoints(waypoints::Params { track: Vec::new(), orders }.into());
            }
            _ => {}
        }
    }
    for (from, to) in [(1, 23), (9, 18), (16, 5)] {
        add_tcp(&mut spec, from, to, "rfc", "newreno", |_| {});
    }
    add_cbr(&mut spec, 20, 12, 256, Span::from_millis(100));
    stagger(&mut spec);
    Spec { duration: Span::from_secs(6), ..spec }
}

/// Two senders that do not hear each other, and their receiver between them.
pub fn hidden_terminals() -> Spec {
    let mut spec =
        crate::common::ranged(network("rfc", "static", &[(0.0, 0.0), (400.0, 0.0), (200.0, 0.0)]), 250.0, 250.0);
    add_cbr(&mut spec, 0, 2, 512, Span::from_millis(3));
    add_cbr(&mut spec, 1, 2, 1000, Span::from_millis(5));
    Spec { duration: Span::from_secs(10), ..spec }
}

/// A dense grid of nodes, whose frames are lost to bit errors under interference.
pub fn bit_errors() -> Spec {
    let places: Vec<(f64, f64)> = (0..16).map(|i| (f64::from(i % 4) * 180.0, f64::from(i / 4) * 180.0)).collect();
    let mut spec = network("rfc", "oracle", &places);
    spec.channels[0].radio.reception = Reception::Sinr;
    with_dcf(&mut spec, |dcf| dcf.rate = mbps(11.0).into());
    for (from, to) in [(0, 15), (3, 12), (5, 10)] {
        add_tcp(&mut spec, from, to, "rfc", "sack", |_| {});
    }
    add_cbr(&mut spec, 7, 8, 512, Span::from_millis(10));
    Spec { duration: Span::from_secs(6), ..spec }
}

/// Datagrams and TCP over links whose strength changes from frame to frame.
pub fn shadowing() -> Spec {
    let mut spec = network("rfc", "oracle", &chain(8, 120.0));
    spec.channels[0].propagation = propagation::Config::LogDistance(
        log_distance::Params { sigma: Ratio::from_db(6.0), ..log_distance::Params::of_profile("rfc") }.into(),
    );
    add_tcp(&mut spec, 0, 5, "rfc", "newreno", |_| {});
    add_cbr(&mut spec, 7, 3, 512, Span::from_millis(20));
    Spec { duration: Span::from_secs(10), ..spec }
}

/// A node behind a gateway: a wire that loses packets, then two wireless hops.
pub fn wired() -> Spec {
    let mut spec = network("rfc", "oracle", &[(0.0, 0.0), (0.0, 0.0), (200.0, 0.0), (400.0, 0.0)]);
    spec.nodes[0].radios.clear();
    let mut params = wired::Params { rate: mbps(1.5), ..wired::Params::of_profile("rfc") };
    params.losses.rate = 0.01;
    params.losses_back.packets = vec![4, 40];
    spec.wires.push(WireSpec { ends: (NodeId(0), NodeId(1)), params, network: None });
    add_tcp(&mut spec, 0, 3, "rfc", "sack", |_| {});
    add_tcp(&mut spec, 2, 0, "rfc", "reno", |_| {});
    Spec { duration: Span::from_secs(10), ..spec }
}

/// Two gateways at the ends of a row, with a host behind a router; a node moves past from one gateway to the other.
pub fn gateways() -> Spec {
    let places = [(0.0, 0.0), (0.0, 0.0), (0.0, 150.0), (0.0, 0.0), (200.0, 0.0), (400.0, 0.0)];
    let mut spec = network("rfc", "aodv", &places);
    for host in [0, 1] {
        spec.nodes[host].radios.clear();
    }
    for (from, to) in [(3, 1), (5, 1), (1, 0)] {
        let params = wired::Params { rate: mbps(1.5), ..wired::Params::of_profile("rfc") };
        spec.wires.push(WireSpec { ends: (NodeId(from), NodeId(to)), params, network: None });
    }
    let order =
        waypoints::Order::level(Span::from_secs(3), Distance::new(400.0), Distance::new(150.0), Speed::new(100.0));
    spec.nodes[2].mobility =
        mobility::Config::Waypoints(waypoints::Params { track: Vec::new(), orders: vec![order] }.into());
    add_tcp(&mut spec, 2, 0, "rfc", "newreno", |_| {});
    add_tcp(&mut spec, 0, 4, "rfc", "sack", |_| {});
    add_cbr(&mut spec, 4, 1, 256, Span::from_millis(50));
    stagger(&mut spec);
    Spec { duration: Span::from_secs(10), ..spec }
}

/// Two crossing chains, with every TCP variant and datagrams, which start one after the other.
pub fn mixed_flows() -> Spec {
    let mut places = chain(5, 180.0);
    places.extend((0..5).map(|i| (360.0, f64::from(i) * 180.0 - 300.0)));
    let mut spec = network("ns2", "oracle", &places);
    for (number, variant) in congestion::MODELS.iter().map(|model| model.name).enumerate() {
        let (from, to) = if number % 2 == 0 { (0, 4) } else { (5, 9) };
        add_tcp(&mut spec, from, to, "ns2", variant, |_| {});
        let flow = spec.flows.last_mut().expect("a flow");
        flow.start = Time::from_nanos(number as u64 * 700_000_000);
    }
    add_cbr(&mut spec, 9, 0, 512, Span::from_millis(50));
    Spec { duration: Span::from_secs(10), ..spec }
}
