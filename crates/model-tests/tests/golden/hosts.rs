//! Hosts: loss recovery, congestion control, acknowledgements and applications.

use hopyard_engine::Span;
use hopyard_engine::units::Bytes;
use hopyard_model::address::NodeId;
use hopyard_model::app::{self, Entry, Law, request_response};
use hopyard_model::link::wired;
use hopyard_model::params::Params as _;
use hopyard_model::transport::recovery_choice::RecoveryChoice;
use hopyard_model::transport::{acking, congestion};
use hopyard_model::world::{Spec, Transport, WireSpec};

use super::{check_models, seconds};
use crate::common::{add_tcp, chain, mbps, network, run, with_congestion, with_traffic};

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

/// The bottleneck of a gateway: three segments of one window are lost, then one more, and then its retransmission.
fn bottleneck(profile: &str) -> Spec {
    let mut spec = network(profile, "oracle", &[(0.0, 0.0); 3]);
    spec.nodes.iter_mut().for_each(|node| node.radios.clear());
    let fast = wired::Params::of_profile(profile);
    let mut slow = wired::Params { rate: mbps(0.8), delay: Span::from_millis(40), ..fast.clone() };
    slow.losses.segments = vec![28, 29, 32, 90, 150, 150];
    spec.wires = vec![
        WireSpec { ends: (NodeId(0), NodeId(1)), params: fast, network: None },
        WireSpec { ends: (NodeId(1), NodeId(2)), params: slow, network: None },
    ];
    Spec { duration: Span::from_secs(10), ..spec }
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
            if let app::Config::Trace(trace) = &mut flow.traffic {
                let entry = |number| Entry { time: Span::from_millis(20) * number, size: Bytes::new(160 + number) };
                trace.entries = (0..100).map(entry).collect();
            }
            if udp {
                flow.transport = Transport::Udp;
            }
            (flow.start, flow.stop) = (seconds(1), seconds(5));
            spec.duration = Span::from_secs(8);
            runs.push((format!("{model} {profile}, {}", if udp { "UDP" } else { "TCP" }), run(&spec)));
        }
    }
    for profile in ["rfc", "linux"] {
        let mut spec = network(profile, "oracle", &chain(3, 200.0));
        add_tcp(&mut spec, 0, 2, profile, "newreno", |_| {});
        let mut pages = request_response::Params::of_profile(profile);
        (pages.connection, pages.parts) = (request_response::Connection::Each, 3);
        (pages.think, pages.patience) = (Law::Constant(Span::from_millis(100)), Span::from_millis(400));
        with_traffic(&mut spec.flows[0], app::Config::RequestResponse(pages.into()));
        (spec.flows[0].start, spec.flows[0].stop) = (seconds(1), seconds(5));
        spec.duration = Span::from_secs(8);
        runs.push((format!("request_response {profile}, each"), run(&spec)));
    }
    check_models("traffic", runs);
}
