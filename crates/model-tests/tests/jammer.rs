//! Nodes that only radiate: their share in bit errors, in carrier sense and in energy.

use std::io;
use std::sync::Arc;

use hopyard_engine::units::{Draw, Power, Rate};
use hopyard_engine::{Span, Time};
use hopyard_model::address::NodeId;
use hopyard_model::channel::energy::{self, state::Hears};
use hopyard_model::link::arp::Resolution;
use hopyard_model::mac::{self, tdma};
use hopyard_model::observe::capture::{Capture, Kind, Options};
use hopyard_model::params::Params as _;
use hopyard_model::phy::links::{self, Links};
use hopyard_model::phy::{self, propagation};
use hopyard_model::routing::{self, static_routes};
use hopyard_model::world::{JammerSpec, Spec};

use crate::common::{add_cbr, network, ranged, run, run_for, run_with};

/// The last node only radiates, all the time or in half of each period.
fn with_jammer(spec: &mut Spec, dbm: f64, period: Option<Span>) {
    let node = NodeId(spec.nodes.len() as u32 - 1);
    spec.nodes[node.index()].routing = routing::Config::StaticRoutes(static_routes::Params::silent().into());
    let all = Span::from_millis(100);
    spec.jammers.push(JammerSpec {
        node,
        channel: 0,
        power: Power::from_dbm(dbm),
        from: Time::ZERO,
        until: Time::NEVER,
        period: period.unwrap_or(all),
        on: period.map_or(all, |period| period / 2),
    });
}

/// The share of 3000 frames at 64 kb/s that arrive at a receiver from a sender and beside a jammer, both of 1 mW, over
/// these losses. The sender has a slot of 100 ms in two, and sends in each.
fn arrived(loss: f64, jammer: f64, period: Option<Span>) -> f64 {
    let mut spec = network("rfc", "static", &[(0.0, 0.0), (10.0, 0.0), (20.0, 0.0)]);
    let rows = format!("from,to,loss_db\n0,1,{loss}\n1,0,{loss}\n2,1,{jammer}\n");
    let links = Links::read("links", rows.as_bytes(), &links::Reading::default()).expect("links");
    spec.channels[0].links = Some(Arc::new(links));
    spec.channels[0].propagation = propagation::Config::of_profile("table", "rfc").expect("a table");
    let radio = &mut spec.channels[0].radio;
    radio.transmit_power = Power::from_dbm(0.0);
    radio.receive = phy::Sensitivity::Threshold(Power::from_dbm(-130.0)).into();
    radio.sense = phy::Sensitivity::Threshold(Power::from_dbm(-130.0));
    spec.link.arp.resolution = Resolution::Off;
    let mut params = tdma::Params::of_profile("rfc");
    (params.rate, params.slot, params.preamble) =
        (Rate::from_bps(64_000), Span::from_millis(100), Span::from_millis(1));
    spec.channels[0].mac = mac::Config::Tdma(params.into());
    add_cbr(&mut spec, 0, 1, 472, Span::from_millis(200));
    with_jammer(&mut spec, 0.0, period);
    run_for(&mut spec, 600).flows[0].packets_arrived as f64 / 3000.0
}

/// The probability that a frame of 536 bytes, with the bits of its preamble, has no error under DBPSK.
fn success(db: f64) -> f64 {
    libm::pow(1.0 - 0.5 * libm::exp(-libm::pow(10.0, db / 10.0)), 8.0 * 536.0 + 64.0)
}

#[test]
fn bit_errors_follow_from_noise_and_what_is_radiated() {
    // kTB of 64 kHz at 290 K with a noise figure of 7 dB.
    let noise = 1.380_649e-20 * 290.0 * 64e3 * libm::pow(10.0, 0.7);
    for (loss, jammer) in [(100.0, 109.0), (105.0, 113.5), (109.0, 122.0)] {
        let watts = |loss: f64| libm::pow(10.0, -loss / 10.0);
        let expected = success(10.0 * libm::log10(watts(loss) / (noise + watts(jammer))));
        let error = (expected * (1.0 - expected) / 3000.0).sqrt();
        let found = arrived(loss, jammer, None);
        assert!((found - expected).abs() < 4.0 * error + 0.001, "{loss}, {jammer} dB: {found} for {expected}");
    }
    assert!(arrived(100.0, 200.0, None) > 0.997, "below `sense` it is no signal");
    // Each second frame begins in the half of a period in which nothing is radiated.
    let half = arrived(100.0, 95.0, Some(Span::from_millis(400)));
    assert!((half - 0.5).abs() < 0.002, "{half}");
}

/// Datagrams as fast as DCF sends them, within carrier sense of a jammer, in two seconds.
fn saturated(dbm: Option<f64>, period: Option<Span>) -> Spec {
    let mut spec = ranged(network("rfc", "static", &[(0.0, 0.0), (100.0, 0.0), (50.0, 400.0)]), 250.0, 550.0);
    spec.link.arp.resolution = Resolution::Off;
    add_cbr(&mut spec, 0, 1, 512, Span::from_millis(1));
    match dbm {
        Some(dbm) => with_jammer(&mut spec, dbm, period),
        None => _ = spec.nodes.pop(),
    }
    Spec { duration: Span::from_secs(2), ..spec }
}

#[test]
fn a_station_that_senses_it_does_not_send() {
    let sent = |spec: &Spec| run(spec).nodes[0].data_frames as f64;
    let alone = sent(&saturated(None, None));
    assert!(alone > 500.0);
    assert_eq!(sent(&saturated(Some(24.5), None)), 0.0, "the medium is never idle");
    // At 10 dBm, its signal is below `sense` there.
    assert_eq!(sent(&saturated(Some(10.0), None)), alone);
    let period = Span::from_millis(100);
    let half = run(&saturated(Some(24.5), Some(period)));
    let (found, arrived) = (half.nodes[0].data_frames as f64 / alone, half.flows[0].packets_arrived as f64 / alone);
    // Half of the time is left, less a back-off and a frame at its end.
    assert!((0.46..=0.51).contains(&found) && found - arrived < 0.03, "{found} sent, {arrived} arrived");
}

#[test]
fn nobody_decodes_it() {
    for reception in phy::Reception::ALL {
        let mut spec = saturated(Some(24.5), Some(Span::from_millis(30)));
        spec.channels[0].radio.reception = *reception;
        let options = Options { nodes: None, kinds: Kind::ALL.iter().copied().collect(), comments: Vec::new() };
        let capture = Capture::new(io::sink(), "jammer", options).expect("room");
        let outcome = run_with(&spec, capture).0;
        let of = |node: usize| (outcome.nodes[node].frames, outcome.nodes[node].data_packets);
        assert_eq!(of(2), (0, 0), "{reception:?}");
        assert_eq!(outcome.frames, of(0).0 + of(1).0);
        assert_eq!(outcome.digest, run(&spec).digest, "a probe sees nothing of it");
    }
}

#[test]
fn its_energy_is_that_of_the_time_for_which_it_radiates() {
    let mut spec = saturated(Some(24.5), Some(Span::from_millis(100)));
    spec.energy.model = energy::Config::State(
        energy::state::Params {
            send: Draw::new(3.0),
            hear: Draw::new(2.0),
            idle: Draw::new(1.0),
            sleep: Draw::new(0.0),
            hears: Hears::Sensed,
        }
        .into(),
    );
    let outcome = run(&spec);
    // It hears nothing, so that it is idle for the other second.
    let joules = outcome.nodes[2].energy_j.expect("energy is counted");
    assert!((joules - (3.0 + 1.0)).abs() < 1e-9, "{joules} J");
}
