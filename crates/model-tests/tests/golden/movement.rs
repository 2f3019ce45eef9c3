//! Movement: the packets on a chain whose nodes move.

use std::sync::Arc;

use hopyard_engine::Span;
use hopyard_engine::units::{Distance, Speed};
use hopyard_model::mobility;
use hopyard_model::mobility::files::{Movements, Reading};
use hopyard_model::mobility::{
    Position, circuit, gauss_markov, group, random_waypoint, roaming_group, rpgm, waypoints,
};
use hopyard_model::world::Spec;

use super::check_models;
use crate::common::{add_cbr, chain, network, run};

/// Node 3, which leads others. It has no radio.
fn add_leader(spec: &mut Spec) {
    let metres = Distance::new;
    let mut leader = spec.nodes[2].clone();
    leader.radios.clear();
    leader.start = Position::ground(0.0, 50.0);
    leader.mobility = mobility::Config::Waypoints(
        waypoints::Params {
            track: Vec::new(),
            orders: vec![
                waypoints::Order::level(Span::from_secs(3), metres(0.0), metres(450.0), Speed::new(100.0)),
                waypoints::Order::level(Span::from_secs(7), metres(0.0), metres(50.0), Speed::new(200.0)),
            ],
        }
        .into(),
    );
    spec.nodes.push(leader);
}

/// The packets on a chain's last hop when its nodes move in each way.
#[test]
fn movement() {
    const FILE: &str = "\
        $node_(0) set X_ 0.0\n$node_(0) set Y_ 0.0\n$node_(1) set X_ 200.0\n$node_(1) set Y_ 0.0\n\
        $node_(2) set X_ 400.0\n$node_(2) set Y_ 0.0\n\
        $ns_ at 2.0 \"$node_(2) setdest 400.0 600.0 100.0\"\n$ns_ at 7.0 \"$node_(2) setdest 400.0 0.0 200.0\"\n";
    let movements = Arc::new(Movements::read("inline", FILE.as_bytes(), &Reading::default()).expect("a movement file"));
    let metres = Distance::new;
    let runs: Vec<_> = mobility::MODELS
        .iter()
        .map(|model| {
            let mut spec = network("rfc", "oracle", &chain(3, 200.0));
            let config = match mobility::Config::of_profile(model.name, "rfc").expect("a mobility model") {
                mobility::Config::Waypoints(_) => mobility::Config::Waypoints(
                    waypoints::Params {
                        track: vec![
                            waypoints::Waypoint::ground(Span::from_secs(2), metres(400.0), metres(0.0)),
                            waypoints::Waypoint::ground(Span::from_secs(6), metres(400.0), metres(800.0)),
                            waypoints::Waypoint::ground(Span::from_secs(8), metres(400.0), metres(0.0)),
                        ],
                        orders: Vec::new(),
                    }
                    .into(),
                ),
                mobility::Config::RandomWaypoint(params) => mobility::Config::RandomWaypoint(
                    random_waypoint::Params {
                        width: metres(400.0),
                        height: metres(500.0),
                        speed_min: Speed::new(20.0),
                        speed_max: Speed::new(60.0),
                        ..(*params).clone()
                    }
                    .into(),
                ),
                mobility::Config::GaussMarkov(params) => mobility::Config::GaussMarkov(
                    gauss_markov::Params {
                        width: metres(400.0),
                        height: metres(500.0),
                        speed_mean: Speed::new(40.0),
                        ..(*params).clone()
                    }
                    .into(),
                ),
                mobility::Config::Circuit(params) => mobility::Config::Circuit(
                    circuit::Params { speed: Speed::new(80.0), radius: metres(300.0), ..(*params).clone() }.into(),
                ),
                mobility::Config::Group(params) => {
                    add_leader(&mut spec);
                    mobility::Config::Group(
                        group::Params { leader: group::Leader::Node(3), ..(*params).clone() }.into(),
                    )
                }
                mobility::Config::RoamingGroup(params) => {
                    add_leader(&mut spec);
                    mobility::Config::RoamingGroup(
                        roaming_group::Params {
                            leader: group::Leader::Node(3),
                            range: metres(60.0),
                            speed_min: Speed::new(10.0),
                            speed_max: Speed::new(30.0),
                            ..(*params).clone()
                        }
                        .into(),
                    )
                }
                mobility::Config::ReferencePointGroup(params) => mobility::Config::ReferencePointGroup(
                    rpgm::Params {
                        width: metres(400.0),
                        height: metres(500.0),
                        radius: metres(150.0),
                        speed_min: Speed::new(20.0),
                        speed_max: Speed::new(60.0),
                        ..(*params).clone()
                    }
                    .into(),
                ),
                other => other,
            };
            spec.nodes[2].mobility = config;
            spec.nodes[2].movements = Some(Arc::clone(&movements));
            add_cbr(&mut spec, 0, 2, 256, Span::from_millis(25));
            spec.duration = Span::from_secs(10);
            (model.name.to_owned(), run(&spec))
        })
        .collect();
    check_models("mobility", runs);
}
