//! Golden results: a short run for every model of every room.
//!
//! Each model has a table with the digests of its runs, a file in `golden/`.
//!
//! The tables are `insta` snapshots: plain text files that a review shows line by line. `cargo insta review` accepts an
//! intended change. Such a change is listed in the changelog under Results, with its reason. The tests use the lists of
//! models, so that they include every new model.

mod common;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use hopyard_engine::units::{Bytes, Distance, Frequency, Ratio, Speed};
use hopyard_engine::{Span, Time};
use hopyard_model::address::NodeId;
use hopyard_model::link::wired;
use hopyard_model::link::{Limit, RoutingPackets};
use hopyard_model::mobility::files::{Movements, Reading};
use hopyard_model::mobility::{
    self, Position, circuit, gauss_markov, group, random_waypoint, roaming_group, rpgm, waypoints,
};
use hopyard_model::observe::Outcome;
use hopyard_model::params::Params as _;
use hopyard_model::phy::links::{self, Links};
use hopyard_model::phy::{self, Reception, fading, propagation};
use hopyard_model::routing::static_routes::{self, Others};
use hopyard_model::transport::recovery_choice::RecoveryChoice;
use hopyard_model::transport::{acking, congestion};
use hopyard_model::world::{Spec, Transport, WireSpec};
use hopyard_model::{agent, app, link, mac, routing};

use common::scenarios;
use common::table::table;
use common::{add_cbr, add_tcp, chain, mbps, network, run, stagger, with_congestion, with_ranges, with_traffic};

/// The profiles of the model with this name, each with its own name and the model's name.
fn in_profiles(models: &[hopyard_model::params::ModelInfo]) -> Vec<(String, &'static str, &'static str)> {
    models
        .iter()
        .flat_map(|model| {
            ["rfc", "ns2"]
                .into_iter()
                .filter(|profile| model.profiles.contains(profile))
                .map(|profile| (format!("{} {profile}", model.name), model.name, profile))
        })
        .collect()
}

fn seconds(seconds: u64) -> Time {
    Time::from_nanos(seconds * 1_000_000_000)
}

/// Compares runs with the stored table `name` of a folder.
fn check_in(folder: &Path, name: &str, runs: &[(String, Outcome)]) {
    insta::with_settings!({ snapshot_path => folder, prepend_module_to_snapshot => false, omit_expression => true }, {
        insta::assert_snapshot!(name, table(runs));
    });
}

/// Compares the runs of a room with its stored table.
fn check(room: &str, runs: &[(String, Outcome)]) {
    check_in(Path::new("golden"), room, runs);
}

/// Compares the runs of each model of a room with a stored table of its own, so that a change of one model shows in its
/// own table alone. The name of a run begins with that of the model.
fn check_models(room: &str, runs: Vec<(String, Outcome)>) {
    let mut models: BTreeMap<String, Vec<(String, Outcome)>> = BTreeMap::new();
    for run in runs {
        let model = run.0.split([' ', ',']).next().unwrap_or_default().to_owned();
        models.entry(model).or_default().push(run);
    }
    let folder = Path::new("golden").join(room);
    for (model, runs) in &models {
        check_in(&folder, model, runs);
    }
    let files = std::fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(&folder)).expect("a folder");
    let stored: BTreeSet<String> = files
        .map(|file| file.expect("a file").path().with_extension("").file_name().expect("a name").display().to_string())
        .collect();
    let left: Vec<_> = stored.iter().filter(|name| !models.contains_key(*name)).collect();
    assert!(left.is_empty(), "{}: no model has the tables {left:?}", folder.display());
}

/// Two senders and a receiver at saturation, at every rate.
#[test]
fn medium_access() {
    let mut runs = Vec::new();
    for (_, model, profile) in in_profiles(mac::MODELS) {
        for rate in [1.0, 2.0, 5.5, 11.0] {
            let info = mac::MODELS.iter().find(|it| it.name == model).expect("a MAC");
            let defaults = (info.defaults)(profile);
            // A MAC without RTS has one run for each rate, and a MAC of one rate has one run.
            let has = |key: &str| defaults.get(key).is_some();
            if !has("rate") && rate > 1.0 {
                continue;
            }
            for rts in if has("rts_threshold") { &[true, false][..] } else { &[false] } {
                let rts = *rts;
                let mut spec = network(profile, "static", &[(0.0, 0.0), (100.0, 0.0), (50.0, 80.0)]);
                let mut values = defaults.clone();
                let mut set = |key: &str, value: &str| {
                    if has(key) {
                        values[key] = value.into();
                    }
                };
                set("rate", &format!("{rate} Mbps"));
                set("rts_threshold", if rts { "0 B" } else { "3000 B" });
                if rate > 2.0 && rts {
                    set("preamble", "short");
                    set("basic_rate", "2 Mbps");
                }
                spec.channels[0].mac = mac::Config::read(model, &values).expect("a MAC");
                add_cbr(&mut spec, 0, 1, 512, Span::from_millis(1));
                add_cbr(&mut spec, 2, 1, 512, Span::from_millis(1));
                stagger(&mut spec);
                spec.duration = Span::from_secs(1);
                let name = format!("{model} {profile}, {rate} Mb/s{}", if rts { ", RTS" } else { "" });
                runs.push((name, run(&spec)));
            }
        }
    }
    check_models("mac", runs);
}

/// Two senders and a receiver at saturation in modes of each amendment; and far apart, where bits are wrong.
#[test]
fn modes() {
    use mac::dcf::{Amendment, Params, Protection};
    use phy::mode::{Band, Guard};
    let set = |dcf: &mut Params, name: &str| dcf.rate = name.parse().expect("a name");
    let bandwidth = |dcf: &mut Params, megahertz: f64| {
        dcf.bandwidth = Frequency::new(megahertz * 1e6);
        dcf.follow("bandwidth");
    };
    let kinds: [(Kind<Params>, Amendment); 12] = [
        (("g 6 Mb/s", |_| {}), Amendment::G),
        (("g 54 Mb/s", |_| {}), Amendment::G),
        (("g 54 Mb/s, CTS to self", |dcf| dcf.protection = Protection::CtsToSelf), Amendment::G),
        (("g 54 Mb/s, RTS", |dcf| dcf.protection = Protection::Rts), Amendment::G),
        (("a 54 Mb/s", |_| {}), Amendment::A),
        (("a 27 Mb/s, 10 MHz", |_| {}), Amendment::A),
        (("n mcs7", |_| {}), Amendment::N),
        (("n mcs15, 40 MHz, short", |_| {}), Amendment::N),
        (("n mcs4, 2.4 GHz", |_| {}), Amendment::N),
        (("ac vht-mcs8", |_| {}), Amendment::Ac),
        (("ac vht-mcs9-3ss, 80 MHz", |_| {}), Amendment::Ac),
        (("ac vht-mcs0, 80 MHz, RTS", |dcf| dcf.rts_threshold = Bytes::new(0)), Amendment::Ac),
    ];
    let mut runs = Vec::new();
    for ((name, change), amendment) in kinds {
        for far in [false, true] {
            let (x, y) = if far { (300.0, 170.0) } else { (50.0, 80.0) };
            let mut spec = network("rfc", "static", &[(0.0, 0.0), (2.0 * x, 0.0), (x, y)]);
            with_ranges(&mut spec, 800.0, 900.0);
            let mut dcf = Params::of_amendment("rfc", amendment);
            if name.contains("2.4 GHz") {
                dcf.band = Band::Low;
                dcf.follow("band");
            }
            for megahertz in [10.0, 40.0, 80.0] {
                if name.contains(&format!("{megahertz} MHz")) {
                    bandwidth(&mut dcf, megahertz);
                }
            }
            let mode = name.split([' ', ',']).nth(1).expect("a mode");
            set(&mut dcf, &if name.contains("Mb/s") { format!("{mode} Mbps") } else { mode.to_owned() });
            dcf.guard_interval = if name.contains("short") { Guard::Short } else { Guard::Long };
            change(&mut dcf);
            dcf.check().expect("possible parameters");
            spec.channels[0].mac = mac::Config::Dcf(dcf.into());
            add_cbr(&mut spec, 0, 2, 1000, Span::from_micros(150));
            add_cbr(&mut spec, 1, 2, 1000, Span::from_micros(150));
            stagger(&mut spec);
            spec.duration = Span::from_millis(500);
            runs.push((format!("{name}{}", if far { ", far" } else { "" }), run(&spec)));
        }
    }
    check("modes", &runs);
}

/// Two senders and a receiver at saturation, with four categories and frames of several packets; and far apart, where
/// bits of some MPDUs are wrong.
#[test]
fn categories() {
    use mac::dcf::Amendment;
    use mac::edca::{BlockAck, Params};
    let kinds: [(Kind<Params>, &str, Amendment, &str); 8] = [
        (("a 54 Mb/s", |_| {}), "rfc", Amendment::A, "54 Mbps"),
        (("b 11 Mb/s, RFC 8325", |it| it.priorities = mac::edca::Priorities::Rfc8325), "rfc", Amendment::B, "11 Mbps"),
        (("n mcs3", |_| {}), "rfc", Amendment::N, "mcs3"),
        (("n mcs7, linux", |_| {}), "linux", Amendment::N, "mcs7"),
        (("n mcs7, from the start", |it| it.block_ack = BlockAck::FromStart), "rfc", Amendment::N, "mcs7"),
        (("n mcs7, A-MSDU", |it| it.max_amsdu = Bytes::new(3839)), "rfc", Amendment::N, "mcs7"),
        (("n mcs7, RTS", |it| it.dcf.rts_threshold = Bytes::new(3000)), "rfc", Amendment::N, "mcs7"),
        (("ac vht-mcs8", |_| {}), "rfc", Amendment::Ac, "vht-mcs8-1ss"),
    ];
    let mut runs = Vec::new();
    for ((name, change), profile, amendment, mode) in kinds {
        for far in [false, true] {
            let (x, y) = if far { (300.0, 170.0) } else { (50.0, 80.0) };
            let mut spec = network("rfc", "static", &[(0.0, 0.0), (2.0 * x, 0.0), (x, y)]);
            with_ranges(&mut spec, 800.0, 900.0);
            let mut edca = Params::of_profile(profile);
            edca.dcf.standard = amendment;
            edca.follow("standard");
            edca.dcf.rate = mode.parse().expect("a name");
            change(&mut edca);
            edca.check().expect("possible parameters");
            spec.channels[0].mac = mac::Config::Edca(edca.into());
            for (flow, dscp) in [(0, 0), (1, 46), (2, 8)] {
                add_cbr(&mut spec, flow % 2, 2, 1000, Span::from_micros(250));
                spec.flows[flow as usize].dscp = dscp;
            }
            stagger(&mut spec);
            spec.duration = Span::from_millis(500);
            runs.push((format!("{name}{}", if far { ", far" } else { "" }), run(&spec)));
        }
    }
    check("categories", &runs);
}

/// A chain with slots of every kind, on which a TCP flow and datagrams meet. Two nodes share a slot, one of which walks
/// into the range of the other.
#[test]
fn slots() {
    use mac::tdma::{Access, EmptySlots, FrameRule, Owner, Packing, Params, Rule, Schedule, Share};
    let shared = || {
        let owners = [vec![0, 4], vec![1], vec![2], vec![3]].map(Owner::Nodes);
        Schedule::Owners(owners.to_vec())
    };
    let kinds: [Kind<Params>; 9] = [
        ("as is", |_| {}),
        ("one packet a slot", |tdma| tdma.packing = Packing::One),
        ("shared with node 4", |_| {}),
        ("acknowledged, shared", |tdma| (tdma.acknowledge, tdma.retry_limit) = (true, 2)),
        ("borrowed", |tdma| tdma.empty_slots = EmptySlots::Contend),
        ("contention part", |tdma| {
            (tdma.contention, tdma.contention_access) = (Share::Of(0.2), Access::RandomSlot);
        }),
        ("clocks that drift", |tdma| {
            (tdma.clock_offset, tdma.clock_drift, tdma.guard) = (Span::from_micros(20), 50.0, Span::from_micros(100));
        }),
        ("greedy", |tdma| {
            (tdma.schedule, tdma.frame) = (Schedule::Rule(Rule::Greedy), FrameRule::Local);
        }),
        ("frozen", |tdma| tdma.schedule = Schedule::Rule(Rule::Frozen)),
    ];
    let hello = agent::Config::of_profile("neighbours", "rfc").expect("an agent");
    let runs: Vec<_> = kinds
        .into_iter()
        .map(|(name, change)| {
            let mut spec = network("rfc", "olsr", &chain(5, 200.0));
            with_ranges(&mut spec, 250.0, 300.0);
            let mut params = Params::of_profile("rfc");
            params.slot = Span::from_millis(7);
            if name.contains("shared") {
                params.schedule = shared();
            }
            change(&mut params);
            params.check().expect("possible parameters");
            spec.channels[0].mac = mac::Config::Tdma(params.into());
            spec.nodes.iter_mut().for_each(|node| node.agents = vec![hello.clone()]);
            spec.nodes[4].mobility = mobility::Config::Waypoints(
                waypoints::Params {
                    track: vec![
                        waypoints::Waypoint::ground(Span::from_secs(25), Distance::new(800.0), Distance::new(0.0)),
                        waypoints::Waypoint::ground(Span::from_secs(32), Distance::new(200.0), Distance::new(100.0)),
                    ],
                    orders: Vec::new(),
                }
                .into(),
            );
            add_tcp(&mut spec, 0, 3, "rfc", "newreno", |_| {});
            add_cbr(&mut spec, 4, 1, 128, Span::from_millis(100));
            spec.flows.iter_mut().for_each(|flow| flow.start = seconds(15));
            stagger(&mut spec);
            spec.duration = Span::from_secs(40);
            (name.to_owned(), run(&spec))
        })
        .collect();
    check("slots", &runs);
}

/// Two pairs of nodes that interfere, one near and one far, with each kind of reception.
#[test]
fn reception() {
    let runs: Vec<_> = Reception::ALL
        .iter()
        .flat_map(|&reception| {
            let name = serde_json::to_value(reception).expect("a word");
            let name = name.as_str().expect("a word").to_owned();
            [400.0, 650.0].map(|apart| {
                let mut spec =
                    network("rfc", "static", &[(0.0, 0.0), (200.0, 0.0), (apart, 0.0), (apart + 100.0, 0.0)]);
                with_ranges(&mut spec, 250.0, 300.0);
                spec.channels[0].radio.reception = reception;
                add_cbr(&mut spec, 0, 1, 512, Span::from_millis(4));
                add_cbr(&mut spec, 2, 3, 512, Span::from_millis(4));
                stagger(&mut spec);
                spec.duration = Span::from_secs(2);
                (format!("{name}, {apart} m"), run(&spec))
            })
        })
        .collect();
    check_models("reception", runs);
}

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

/// Every loss recovery, over a narrow wire.
#[test]
fn recoveries() {
    let recoveries = RecoveryChoice::ALL.iter().map(|&recovery| {
        let mut spec = bottleneck("rfc");
        add_tcp(&mut spec, 0, 2, "rfc", "newreno", |tcp| tcp.recovery = recovery);
        (format!("{recovery:?}"), run(&spec))
    });
    let linux = [("Linux", true), ("Linux, no SACK", false)].map(|(name, sack)| {
        let mut spec = bottleneck("linux");
        add_tcp(&mut spec, 0, 2, "linux", "newreno", |tcp| tcp.linux.sack = sack);
        (name.to_owned(), run(&spec))
    });
    check_models("recovery", recoveries.chain(linux).collect());
}

/// A node that sends to one nearby and to one far away.
#[test]
fn path_loss() {
    let runs: Vec<_> = in_profiles(propagation::MODELS)
        .into_iter()
        .map(|(name, model, profile)| {
            let mut spec = network(profile, "static", &[(0.0, 0.0), (60.0, 0.0), (0.0, 240.0)]);
            spec.channels[0].propagation =
                propagation::Config::of_profile(model, profile).expect("a propagation model");
            if model == "range_disc" {
                spec.channels[0].radio.reception = Reception::Threshold;
            }
            if spec.channels[0].propagation.channel().is_sited() {
                spec.nodes[0].start.z = 90.0;
            }
            if model == "table" {
                let rows = b"time,from,to,loss_db\n0,0,1,60\n0,1,0,70\n0,0,2,70\n1,0,2,90\n0,2,0,80\n";
                let links = Links::read("links", rows, &links::Reading::default()).expect("links");
                spec.channels[0].links = Some(Arc::new(links));
            }
            add_cbr(&mut spec, 0, 1, 512, Span::from_millis(20));
            add_cbr(&mut spec, 0, 2, 512, Span::from_millis(20));
            stagger(&mut spec);
            spec.duration = Span::from_secs(2);
            (name, run(&spec))
        })
        .collect();
    check_models("propagation", runs);
}

/// The same nodes in fading, beside two-ray ground path loss, with which a radio receives now and then.
#[test]
fn fading() {
    let runs: Vec<_> = in_profiles(fading::MODELS)
        .into_iter()
        .map(|(name, model, profile)| {
            let mut spec = network(profile, "static", &[(0.0, 0.0), (60.0, 0.0), (0.0, 200.0)]);
            let info = fading::MODELS.iter().find(|it| it.name == model).expect("a model of fading");
            let mut values = (info.defaults)(profile);
            // The nodes stand still.
            if values.get("coherence").is_some_and(|it| it == "movement") {
                values["coherence"] = "20 ms".into();
            }
            spec.channels[0].fading = fading::Config::read(model, &values).expect("a model of fading");
            add_cbr(&mut spec, 0, 1, 512, Span::from_millis(20));
            add_cbr(&mut spec, 0, 2, 512, Span::from_millis(20));
            stagger(&mut spec);
            spec.duration = Span::from_secs(2);
            (name, run(&spec))
        })
        .collect();
    check_models("fading", runs);
}

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
                for node in &mut spec.nodes {
                    node.routing = routing::Config::StaticRoutes(chain.clone().into());
                }
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
            stagger(&mut spec);
            spec.duration = settled + Span::from_secs(30);
            (format!("{model} {profile}"), run(&spec))
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

/// The bottleneck of a gateway: three segments of one window are lost, then one more, and then its retransmission.
fn bottleneck(profile: &str) -> Spec {
    let mut spec = network(profile, "oracle", &[(0.0, 0.0); 3]);
    for node in &mut spec.nodes {
        node.radios.clear();
    }
    let fast = wired::Params::of_profile(profile);
    let mut slow = wired::Params { rate: mbps(0.8), delay: Span::from_millis(40), ..fast.clone() };
    slow.losses.segments = vec![28, 29, 32, 90, 150, 150];
    spec.wires = vec![
        WireSpec { ends: (NodeId(0), NodeId(1)), params: fast, network: None },
        WireSpec { ends: (NodeId(1), NodeId(2)), params: slow, network: None },
    ];
    spec.duration = Span::from_secs(10);
    spec
}

#[test]
fn congestion_control() {
    let mut runs = Vec::new();
    for (model, profile) in congestion::MODELS.iter().flat_map(|model| ["rfc", "ns2"].map(|p| (model.name, p))) {
        let mut spec = bottleneck(profile);
        add_tcp(&mut spec, 0, 2, profile, model, |_| {});
        runs.push((format!("{model} {profile}, wire"), run(&spec)));
        let mut spec = network(profile, "oracle", &chain(5, 200.0));
        add_tcp(&mut spec, 0, 4, profile, model, |_| {});
        spec.duration = Span::from_secs(5);
        runs.push((format!("{model} {profile}, 4 hops"), run(&spec)));
    }
    // Profiles that belong to one model only.
    for model in congestion::MODELS {
        for own in model.profiles.iter().filter(|own| !["rfc", "ns2"].contains(own)) {
            let mut spec = bottleneck("rfc");
            add_tcp(&mut spec, 0, 2, "rfc", model.name, |_| {});
            with_congestion(&mut spec, 0, model.name, own);
            runs.push((format!("{} {own}, wire", model.name), run(&spec)));
        }
    }
    check_models("congestion", runs);
}

#[test]
fn acknowledging() {
    let runs: Vec<_> = acking::MODELS
        .iter()
        .flat_map(|model| ["rfc", "ns2"].map(|profile| (model.name, profile)))
        .map(|(model, profile)| {
            let mut spec = bottleneck(profile);
            add_tcp(&mut spec, 0, 2, profile, "sack", |_| {});
            if let Transport::Tcp { acking, .. } = &mut spec.flows[0].transport {
                *acking = acking::Config::of_profile(model, profile).expect("a way of acknowledging");
            }
            (format!("{model} {profile}"), run(&spec))
        })
        .collect();
    check_models("acking", runs);
}

#[test]
fn applications() {
    let mut runs = Vec::new();
    for (model, profile) in app::MODELS.iter().flat_map(|model| ["rfc", "ns2"].map(|p| (model.name, p))) {
        for udp in [true, false] {
            if udp && app::Config::of_profile(model, profile).is_ok_and(|it| it.needs_tcp()) {
                continue;
            }
            let mut spec = network(profile, "oracle", &chain(3, 200.0));
            add_tcp(&mut spec, 0, 2, profile, "newreno", |_| {});
            let flow = &mut spec.flows[0];
            with_traffic(flow, app::Config::of_profile(model, profile).expect("traffic"));
            if let app::Config::Transfer(transfer) = &mut flow.traffic {
                transfer.size = Bytes::new(100_001);
            }
            if udp {
                flow.transport = Transport::Udp;
            }
            (flow.start, flow.stop) = (seconds(1), seconds(5));
            spec.duration = Span::from_secs(8);
            runs.push((format!("{model} {profile}, {}", if udp { "UDP" } else { "TCP" }), run(&spec)));
        }
    }
    check_models("traffic", runs);
}

/// A name, and its change of the specification.
type Kind<P> = (&'static str, fn(&mut P));

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
            stagger(&mut spec);
            spec.duration = Span::from_secs(15);
            runs.push((format!("{profile}, {name}"), run(&spec)));
        }
    }
    check("link", &runs);
}

/// A wire between two nodes: its queue overflows, or it loses packets at random, by number, or in the other direction,
/// or it is down for a while.
#[test]
fn wires() {
    let kinds: [Kind<wired::Params>; 6] = [
        ("as is", |_| {}),
        ("short queue", |wire| wire.queue_length = 4),
        ("by chance", |wire| wire.losses.rate = 0.02),
        ("by number", |wire| wire.losses.packets = vec![3, 20, 21, 22]),
        ("on the way back", |wire| wire.losses_back.rate = 0.2),
        ("down at times", |wire| {
            let down = |from, to| wired::Down { from: Span::from_millis(from), to: Some(Span::from_millis(to)) };
            wire.down = vec![down(0, 100), down(1500, 2250)];
        }),
    ];
    let mut runs = Vec::new();
    for profile in ["rfc", "ns2"] {
        for (name, change) in kinds {
            let mut spec = network(profile, "static", &[(0.0, 0.0); 2]);
            let mut params =
                wired::Params { rate: mbps(1.0), delay: Span::from_millis(10), ..wired::Params::of_profile(profile) };
            change(&mut params);
            spec.wires = vec![WireSpec { ends: (NodeId(0), NodeId(1)), params, network: None }];
            add_tcp(&mut spec, 0, 1, profile, "newreno", |_| {});
            add_cbr(&mut spec, 0, 1, 512, Span::from_millis(20));
            spec.duration = Span::from_secs(4);
            runs.push((format!("{profile}, {name}"), run(&spec)));
        }
    }
    check("wired", &runs);
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
