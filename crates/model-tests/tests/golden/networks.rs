//! Networks: agents, routes, gateways, links, wires, and the whole model together.

use hopyard_engine::units::{Distance, Ratio, Speed};
use hopyard_engine::{Span, Time};
use hopyard_model::address::NodeId;
use hopyard_model::link::wired::trace::{End, Format};
use hopyard_model::link::{Limit, RoutingPackets, queue, wired};
use hopyard_model::mobility::waypoints;
use hopyard_model::params::Params as _;
use hopyard_model::phy::propagation;
use hopyard_model::routing::static_routes;
use hopyard_model::routing::static_routes::Others;
use hopyard_model::world::WireSpec;
use hopyard_model::{agent, link, mobility, multicast, routing};

use super::{Kind, check, check_models, in_profiles, seconds};
use crate::common::{
    add_cbr, add_tcp, chain, mbps, network, routing_for, run, run_for, run_staggered, scenarios, stagger, to_group,
};

/// Four nodes that run each agent, without and with what its switches can switch on.
#[test]
fn agents() {
    let mut runs = Vec::new();
    for model in agent::MODELS {
        for on in [false, true] {
            let mut values = (model.defaults)("rfc");
            let switches = values.as_object_mut().into_iter().flat_map(|values| values.values_mut());
            switches.filter(|value| value.is_boolean()).for_each(|value| *value = on.into());
            let agent = agent::Config::read(model.name, &values).expect("an agent");
            let mut spec = network("rfc", "aodv", &chain(4, 150.0));
            spec.nodes.iter_mut().for_each(|node| node.agents = vec![agent.clone()]);
            add_tcp(&mut spec, 0, 3, "rfc", "newreno", |_| {});
            spec.duration = Span::from_secs(6);
            runs.push((format!("{}{}", model.name, if on { ", switched on" } else { "" }), run(&spec)));
        }
    }
    check_models("agents", runs);
}

/// Two paths around a square. The node on the shorter path moves away and returns.
#[test]
fn routes() {
    let runs: Vec<_> = routing::MODELS
        .iter()
        .flat_map(|model| ["rfc", "ns2"].map(|profile| (model.name, profile)))
        .map(|(model, profile)| {
            let places = [(0.0, 0.0), (200.0, 60.0), (400.0, 0.0), (70.0, -190.0), (310.0, -190.0), (520.0, -190.0)];
            let mut spec = network(profile, model, &places);
            if let routing::Config::StaticRoutes(_) = spec.nodes[0].routing {
                let chain = static_routes::Params { routes: Vec::new(), others: Others::Chain };
                spec.nodes
                    .iter_mut()
                    .for_each(|node| node.routing = routing::Config::StaticRoutes(chain.clone().into()));
            }
            // After 40 s DSDV knows every route, although it settles slowly in the profile `ns2`.
            let settled = spec.nodes[0].routing.settles_within().max(Span::from_secs(40));
            spec.nodes[1].mobility = mobility::Config::Waypoints(
                waypoints::Params {
                    track: Vec::new(),
                    orders: vec![
                        waypoints::Order::level(
                            settled + Span::from_secs(8),
                            Distance::new(200.0),
                            Distance::new(1000.0),
                            Speed::new(100.0),
                        ),
                        waypoints::Order::level(
                            settled + Span::from_secs(20),
                            Distance::new(200.0),
                            Distance::new(60.0),
                            Speed::new(200.0),
                        ),
                    ],
                }
                .into(),
            );
            add_tcp(&mut spec, 0, 2, profile, "newreno", |_| {});
            add_cbr(&mut spec, 3, 5, 128, Span::from_millis(100));
            for flow in &mut spec.flows {
                flow.start = Time::ZERO + settled;
            }
            (format!("{model} {profile}"), run_staggered(spec, settled + Span::from_secs(30)))
        })
        .collect();
    check_models("routing", runs);
}

/// Two gateways at the ends of a row, with a host behind a router. A node moves past from one gateway to the other.
/// Every protocol with gateways, in every profile of its own that has them.
#[test]
fn gateways() {
    let mut runs = Vec::new();
    for model in routing::MODELS {
        for &profile in model.profiles {
            let routing = routing::Config::of_profile(model.name, profile).expect("a protocol");
            if !routing.reaches_wires() {
                continue;
            }
            let mut spec = scenarios::gateways();
            spec.nodes.iter_mut().for_each(|node| node.routing = routing.clone());
            runs.push((format!("{} {profile}", model.name), run(&spec)));
        }
    }
    check_models("gateways", runs);
}

/// Interface queues and address resolution on an overloaded chain.
#[test]
fn links() {
    let kinds: [Kind<link::Params>; 7] = [
        ("as is", |_| {}),
        ("short queue", |link| link.queue_length = 5),
        ("exclusive limit", |link| (link.queue_length, link.queue_limit) = (5, Limit::Exclusive)),
        ("routing in turn", |link| (link.queue_length, link.routing_packets) = (5, RoutingPackets::InTurn)),
        ("no resolution", |link| link.arp.resolution = link::arp::Resolution::Off),
        ("one packet held", |link| link.arp.hold = 1),
        ("addresses forgotten", |link| link.arp.lifetime = Span::from_millis(500)),
    ];
    let mut runs = Vec::new();
    for profile in ["rfc", "ns2"] {
        for (name, change) in kinds {
            let mut spec = network(profile, "dsdv", &chain(3, 200.0));
            change(&mut spec.link);
            add_cbr(&mut spec, 0, 2, 512, Span::from_millis(6));
            add_cbr(&mut spec, 1, 0, 512, Span::from_millis(50));
            for flow in &mut spec.flows {
                flow.start = seconds(12);
            }
            runs.push((format!("{profile}, {name}"), run_staggered(spec, Span::from_secs(15))));
        }
    }
    check("link", &runs);
}

/// A wire between two nodes: its queue overflows, or it loses packets at random, by number, or in the other direction,
/// or it is down for a while, or it follows a trace.
#[test]
fn wires() {
    let trace = |name: &str| {
        let read = |format: Format, text: &[u8]| vec![format.read(name, text).expect("a trace")];
        match name {
            "by table" => Some([
                read(
                    Format::Values(End::Loop),
                    b"time_s,rate_mbps,delay_ms,loss\n0,1,10,0\n1,0,10,0\n1.2,0.5,40,0.02\n2,0,0,0\n",
                ),
                Vec::new(),
            ]),
            "opportunities" => Some([read(Format::Opportunities, b"3\n3\n40\n"), read(Format::Opportunities, b"9\n")]),
            _ => None,
        }
    };
    let kinds: [Kind<wired::Params>; 8] = [
        ("as is", |_| {}),
        ("short queue", |wire| wire.queue_length = 4),
        ("by chance", |wire| wire.losses.rate = 0.02),
        ("by number", |wire| wire.losses.packets = vec![3, 20, 21, 22]),
        ("on the way back", |wire| wire.losses_back.rate = 0.2),
        ("down at times", |wire| {
            let down = |from, to| wired::Down { from: Span::from_millis(from), to: Some(Span::from_millis(to)) };
            wire.down = vec![down(0, 100), down(1500, 2250)];
        }),
        ("by table", |_| {}),
        ("opportunities", |_| {}),
    ];
    let mut runs = Vec::new();
    for profile in ["rfc", "ns2"] {
        for (name, change) in kinds {
            let mut spec = network(profile, "static", &[(0.0, 0.0); 2]);
            let mut params =
                wired::Params { rate: mbps(1.0), delay: Span::from_millis(10), ..wired::Params::of_profile(profile) };
            change(&mut params);
            spec.wires = vec![WireSpec { ends: (NodeId(0), NodeId(1)), params, network: None }];
            spec.wire_traces.extend(trace(name).map(|traces| (0, traces)));
            add_tcp(&mut spec, 0, 1, profile, "newreno", |_| {});
            add_cbr(&mut spec, 0, 1, 512, Span::from_millis(20));
            spec.duration = Span::from_secs(4);
            runs.push((format!("{profile}, {name}"), run(&spec)));
        }
    }
    check("wired", &runs);
}

/// Three flows through a narrow wire, without and with marks; and a node with two neighbours that has more to send than
/// the channel carries.
#[test]
fn queues() {
    let mut runs = Vec::new();
    for (_, model, profile) in in_profiles(queue::MODELS) {
        let info = queue::MODELS.iter().find(|it| it.name == model).expect("a queue discipline");
        let with = |marks: bool| {
            let mut values = (info.defaults)(profile);
            if values.get("ecn").is_some() {
                values["ecn"] = marks.into();
            }
            queue::Config::read(model, &values).expect("a queue discipline")
        };
        for marks in [false, true] {
            let mut spec = network(profile, "static", &[(0.0, 0.0); 2]);
            spec.nodes.iter_mut().for_each(|node| node.radios.clear());
            let (rate, delay) = (mbps(2.0), Span::from_millis(20));
            let params = wired::Params { rate, delay, queue_length: 100, ..wired::Params::of_profile(profile) };
            spec.wires = vec![WireSpec { ends: (NodeId(0), NodeId(1)), params, network: None }];
            spec.wire_queues.insert(0, with(marks));
            add_tcp(&mut spec, 0, 1, profile, "newreno", |_| {});
            add_tcp(&mut spec, 0, 1, profile, "sack", |tcp| tcp.window = 60);
            add_cbr(&mut spec, 0, 1, 160, Span::from_millis(20));
            if marks {
                scenarios::with_ecn(&mut spec);
            }
            runs.push((
                format!("{model} {profile}, wire{}", if marks { ", marks" } else { "" }),
                run_staggered(spec, Span::from_secs(6)),
            ));
        }
        let mut spec = network(profile, "static", &[(0.0, 0.0), (100.0, 0.0), (0.0, 100.0)]);
        spec.queue = with(false);
        add_tcp(&mut spec, 0, 1, profile, "newreno", |_| {});
        add_cbr(&mut spec, 0, 2, 1000, Span::from_millis(8));
        runs.push((format!("{model} {profile}, radio"), run_staggered(spec, Span::from_secs(4))));
    }
    check_models("queue", runs);
}

/// Two floods that cross in a grid with contention, where a node at a corner is no member of one group.
#[test]
fn groups() {
    let places: Vec<_> = (0..9).map(|i| (f64::from(i % 3) * 180.0, f64::from(i / 3) * 180.0)).collect();
    let run_of = |model: &str, change: &dyn Fn(&mut serde_json::Value)| {
        let mut spec = network("rfc", routing_for(model, "aodv"), &places);
        let info = multicast::MODELS.iter().find(|it| it.name == model).expect("a forwarding protocol");
        let mut values = (info.defaults)("rfc");
        change(&mut values);
        spec.multicast = multicast::Config::read(model, &values).expect("a forwarding protocol");
        add_cbr(&mut spec, 0, 1, 400, Span::from_millis(150));
        to_group(&mut spec, 0, &[0, 1, 2, 3, 4, 5, 6, 7, 8]);
        add_cbr(&mut spec, 8, 2, 400, Span::from_millis(150));
        to_group(&mut spec, 1, &[2, 4, 6]);
        spec.flows.iter_mut().for_each(|flow| flow.start = seconds(8));
        stagger(&mut spec);
        run_for(&mut spec, 12)
    };
    let runs = multicast::MODELS.iter().flat_map(|model| {
        let usual = (model.name.to_owned(), run_of(model.name, &|_| {}));
        let numbered = |values: &mut serde_json::Value| {
            if values.get("duplicates").is_some() {
                values["duplicates"] = "identification".into();
                values["jitter"] = "0 s".into();
            }
        };
        [usual, (format!("{}, numbered, without jitter", model.name), run_of(model.name, &numbered))]
    });
    check_models("multicast", runs.collect());
}

/// The whole model together: fifty moving nodes, five TCP variants and datagrams, with every protocol and profile.
#[test]
fn moving() {
    let mut runs = Vec::new();
    for profile in ["rfc", "ns2"] {
        for model in routing::MODELS.iter().filter(|model| model.name != "static") {
            runs.push((format!("{} {profile}", model.name), run(&scenarios::moving(profile, model.name))));
        }
    }
    let mut shadowed = scenarios::shadowing();
    if let propagation::Config::LogDistance(params) = &mut shadowed.channels[0].propagation {
        params.sigma = Ratio::from_db(3.0);
    }
    runs.push(("shadowed chain".to_owned(), run(&shadowed)));
    check_models("moving", runs);
}
