//! Radios and medium access: DCF, modes, rate control, slots, reception, path loss and fading.

use std::sync::Arc;

use hopyard_engine::Span;
use hopyard_engine::units::{Bytes, Distance, Frequency, Power, Rate};
use hopyard_model::address::NodeId;
use hopyard_model::mac::rate_control;
use hopyard_model::mobility::waypoints;
use hopyard_model::params::Params as _;
use hopyard_model::phy::links::Links;
use hopyard_model::phy::{Reception, fading, links, propagation};
use hopyard_model::world::JammerSpec;
use hopyard_model::{agent, mac, mobility, phy, routing};

use super::{Kind, check, check_models, in_profiles, seconds};
use crate::common::{add_cbr, add_tcp, chain, network, ranged, run, run_staggered, stagger, with_ranges};

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
            let mut spec = ranged(network("rfc", "static", &[(0.0, 0.0), (2.0 * x, 0.0), (x, y)]), 800.0, 900.0);
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
            runs.push((
                format!("{name}{}", if far { ", far" } else { "" }),
                run_staggered(spec, Span::from_millis(500)),
            ));
        }
    }
    check("modes", &runs);
}

/// A sender between a receiver that is near and one whose link is bad, and a sender that disturbs it.
#[test]
fn rate_control() {
    use mac::dcf::{Amendment, Params};
    let kinds = [
        ("g 6 Mb/s", Amendment::G, "6 Mbps"),
        ("a 6 Mb/s", Amendment::A, "6 Mbps"),
        ("n mcs8", Amendment::N, "mcs8"),
        ("n mcs8, EDCA", Amendment::N, "mcs8"),
        ("ac vht-mcs0, EDCA", Amendment::Ac, "vht-mcs0"),
    ];
    let mut runs = Vec::new();
    for (_, model, profile) in in_profiles(rate_control::MODELS) {
        for (name, amendment, rate) in kinds {
            let mut spec = ranged(
                network(profile, "static", &[(0.0, 0.0), (60.0, 0.0), (0.0, 520.0), (200.0, 480.0)]),
                800.0,
                900.0,
            );
            let mut dcf = Params::of_amendment("rfc", amendment);
            dcf.rate = rate.parse().expect("a name");
            spec.channels[0].mac = mac::Config::Dcf(dcf.into());
            if name.contains("EDCA") {
                let mut edca = mac::edca::Params::of_profile("rfc");
                edca.dcf.standard = amendment;
                edca.follow("standard");
                edca.dcf.rate = rate.parse().expect("a name");
                spec.channels[0].mac = mac::Config::Edca(edca.into());
            }
            spec.channels[0].rates = rate_control::Config::of_profile(model, profile).expect("a rate control");
            for (from, to, interval) in [(0, 1, 1500), (0, 2, 1500), (3, 2, 20_000)] {
                // Faster where frames have several packets.
                let interval = if name.contains("EDCA") { interval / 3 } else { interval };
                add_cbr(&mut spec, from, to, 1000, Span::from_micros(interval));
            }
            runs.push((format!("{model} {profile}, {name}"), run_staggered(spec, Span::from_secs(1))));
        }
    }
    check_models("rate_control", runs);
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
            let mut spec = ranged(network("rfc", "static", &[(0.0, 0.0), (2.0 * x, 0.0), (x, y)]), 800.0, 900.0);
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
            runs.push((
                format!("{name}{}", if far { ", far" } else { "" }),
                run_staggered(spec, Span::from_millis(500)),
            ));
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
    let kinds: [Kind<Params>; 10] = [
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
        ("640 kb/s", |tdma| (tdma.rate, tdma.slot) = (Rate::from_bps(640_000), Span::from_millis(22))),
    ];
    let hello = agent::Config::of_profile("neighbours", "rfc").expect("an agent");
    let runs: Vec<_> = kinds
        .into_iter()
        .map(|(name, change)| {
            let mut spec = ranged(network("rfc", "olsr", &chain(5, 200.0)), 250.0, 300.0);
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
            (name.to_owned(), run_staggered(spec, Span::from_secs(40)))
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
                (format!("{name}, {apart} m"), run_staggered(spec, Span::from_secs(2)))
            })
        })
        .collect();
    check_models("reception", runs);
}

/// The same pairs, where the sender of one is weak and the receiver of the other hears worse.
#[test]
fn single_nodes() {
    let kinds = [
        ("weak", r#"[{ "nodes": [0], "transmit_power": "20 dBm" }]"#),
        (
            "weak, gain, deaf",
            r#"[{ "nodes": [0], "transmit_power": "20 dBm", "gain": "6 dB" }, { "nodes": [3], "receive": "110 m" }]"#,
        ),
    ];
    let runs: Vec<_> = kinds
        .into_iter()
        .flat_map(|(name, singles)| {
            [400.0, 650.0].map(|apart| {
                let mut spec =
                    network("rfc", "static", &[(0.0, 0.0), (120.0, 0.0), (apart, 0.0), (apart + 100.0, 0.0)]);
                with_ranges(&mut spec, 250.0, 300.0);
                spec.channels[0].radio.single = serde_json::from_str(singles).expect("single nodes");
                add_cbr(&mut spec, 0, 1, 512, Span::from_millis(4));
                add_cbr(&mut spec, 2, 3, 512, Span::from_millis(4));
                (format!("{name}, {apart} m"), run_staggered(spec, Span::from_secs(2)))
            })
        })
        .collect();
    check("single", &runs);
}

/// A chain with a TCP flow and datagrams beside a node that radiates in a part of each period, or weakly all the time,
/// under every MAC.
#[test]
fn jammers() {
    let mut runs = Vec::new();
    for (_, model, profile) in in_profiles(mac::MODELS) {
        for (how, dbm, on) in [("a third", 24.5, 100), ("weak", 5.0, 300)] {
            let mut spec = network("rfc", "aodv", &[(0.0, 0.0), (150.0, 0.0), (300.0, 0.0), (150.0, 90.0)]);
            let hello = routing::aodv::LinkDetection::Hello;
            for node in &mut spec.nodes {
                let routing::Config::Aodv(params) = &mut node.routing else { panic!("all have AODV") };
                params.link_detection = hello;
            }
            spec.nodes[3].routing = routing::Config::StaticRoutes(routing::static_routes::Params::silent().into());
            spec.channels[0].mac = mac::Config::of_profile(model, profile).expect("a MAC");
            spec.jammers.push(JammerSpec {
                node: NodeId(3),
                channel: 0,
                power: Power::from_dbm(dbm),
                from: seconds(1),
                until: seconds(4),
                period: Span::from_millis(300),
                on: Span::from_millis(on),
            });
            add_tcp(&mut spec, 0, 2, "rfc", "newreno", |_| {});
            add_cbr(&mut spec, 2, 1, 256, Span::from_millis(40));
            runs.push((format!("{model} {profile}, {how}"), run_staggered(spec, Span::from_secs(5))));
        }
    }
    check("jammers", &runs);
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
            (name, run_staggered(spec, Span::from_secs(2)))
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
            (name, run_staggered(spec, Span::from_secs(2)))
        })
        .collect();
    check_models("fading", runs);
}
