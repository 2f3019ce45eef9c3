//! EDCA and aggregation at saturation, against closed forms and ns-3.37.

use hopyard_engine::units::{Bytes, Distance};
use hopyard_engine::{Span, Streams, Time};
use hopyard_model::mac::{self, dcf::Amendment, edca};
use hopyard_model::mobility::{self, waypoints};
use hopyard_model::params::Params as _;
use hopyard_model::phy::Reception;
use hopyard_model::world::Spec;

use crate::common::{add_cbr, network, ranged, run};

/// Code points of the four categories, the lowest first.
const CLASSES: [u8; 4] = [8, 0, 32, 48];

fn params(standard: Amendment, change: impl FnOnce(&mut edca::Params)) -> edca::Params {
    let mut edca = edca::Params::of_profile("rfc");
    edca.dcf.standard = standard;
    edca.follow("standard");
    change(&mut edca);
    edca.check().expect("possible parameters");
    edca
}

/// Stations in a circle around a sink, so near that signals take less than a nanosecond, with these parameters.
fn around_a_sink(senders: usize, edca: edca::Params) -> Spec {
    let place = |number: usize| {
        let angle = number as f64 * 2.0 * std::f64::consts::PI / senders as f64;
        (0.05 * angle.cos(), 0.05 * angle.sin())
    };
    let places: Vec<_> = std::iter::once((0.0, 0.0)).chain((0..senders).map(place)).collect();
    let mut spec = ranged(network("rfc", "static", &places), 250.0, 550.0);
    spec.channels[0].mac = mac::Config::Edca(edca.into());
    spec.link.queue_length = 200;
    spec.measure_from = Time::from_nanos(300_000_000);
    spec
}

/// A station saturates a category with packets of this size, headers included.
fn saturate(spec: &mut Spec, from: u32, category: usize, size: u64, mbps: f64) {
    add_cbr(spec, from, 0, size - 28, Span::from_secs_f64(size as f64 * 8e-6 / mbps));
    let place = spec.flows.len() as u64;
    let flow = spec.flows.last_mut().expect("a flow");
    flow.dscp = CLASSES[category];
    flow.start = Time::from_nanos(10_000_000 * place);
}

/// Mb/s of whole IP packets of each flow.
fn found(spec: &Spec, size: f64) -> Vec<f64> {
    run(spec).flows.iter().map(|flow| flow.goodput_kbps / 1e3 * size / (size - 28.0)).collect()
}

/// 802.11a at 54 Mb/s without TXOPs (fact: ns-3.37, `wifi` module, two ad hoc nodes).
fn plain() -> edca::Params {
    params(Amendment::A, |edca| {
        edca.dcf.rate = "54 Mbps".parse().expect("a rate");
        edca.video.txop_limit = Span::ZERO;
        edca.voice.txop_limit = Span::ZERO;
    })
}

#[test]
fn each_category_alone_gives_the_closed_form() {
    for (category, expected) in [27.119, 29.520, 33.195, 34.934].into_iter().enumerate() {
        let mut spec = around_a_sink(1, plain());
        saturate(&mut spec, 1, category, 1500, 50.0);
        spec.duration = Span::from_secs_f64(3.3);
        let found = found(&spec, 1500.0)[0];
        assert!((found / expected - 1.0).abs() < 0.005, "{category}: {found:.3}, expected {expected}");
    }
}

#[test]
fn an_aggregate_gives_the_closed_form_in_each_mode() {
    // The mode, and the MPDUs and Mb/s of UDP's payload with packets of 1500 bytes.
    for (name, mpdus, expected) in [
        ("mcs0", 2, 5.838),
        ("mcs1", 5, 11.875),
        ("mcs2", 8, 17.861),
        ("mcs3", 11, 23.889),
        ("mcs4", 17, 35.861),
        ("mcs5", 22, 47.777),
        ("mcs6", 25, 53.777),
        ("mcs7", 28, 59.750),
    ] {
        let edca = params(Amendment::N, |edca| edca.dcf.rate = name.parse().expect("a mode"));
        let mut spec = around_a_sink(1, edca);
        saturate(&mut spec, 1, 1, 1500, expected * 1.4);
        spec.duration = Span::from_secs_f64(1.3);
        let outcome = run(&spec);
        let found = outcome.flows[0].goodput_kbps / 1e3;
        let count = |name: &str| outcome.nodes[1].metric(name).expect("a counter") as f64;
        let mean = count("mpdus") / count("aggregates");
        assert!((found / expected - 1.0).abs() < 0.02, "{name}: {found:.3}, expected {expected} ({mean:.2} MPDUs)");
        assert!((mean - f64::from(mpdus)).abs() < 0.2, "{name}: {mean:.2} MPDUs, expected {mpdus}");
    }
}

/// Runs stations that each saturate these categories of packets of 1500 bytes, and compares each flow with ns-3.37.
/// Small shares vary more than large ones.
fn compare(stations: &[&[usize]], expected: &[f64]) {
    let mut spec = around_a_sink(stations.len(), plain());
    // Stations do not find the preamble of frames that collide, as in ns-3.
    spec.channels[0].radio.reception = Reception::Sinr;
    let categories: Vec<(u32, usize)> =
        (1..).zip(stations).flat_map(|(station, own)| own.iter().map(move |it| (station, *it))).collect();
    for (&(station, category), share) in categories.iter().zip(expected) {
        saturate(&mut spec, station, category, 1500, share * 1.1 + 3.0);
    }
    spec.duration = Span::from_secs_f64(4.3);
    let found = found(&spec, 1500.0);
    for (found, expected) in found.iter().zip(expected) {
        let within = 0.04 * expected + 0.4;
        assert!((found - expected).abs() < within, "{stations:?}: {found:.2}, ns-3 {expected}, within {within:.2}");
    }
    // The rules themselves, slot by slot.
    if stations.iter().all(|own| own.len() == 1) {
        let categories: Vec<usize> = categories.iter().map(|it| it.1).collect();
        for (found, expected) in found.iter().zip(by_slots(&categories)) {
            let within = 0.03 * expected + 0.3;
            assert!((found - expected).abs() < within, "{stations:?}: {found:.2}, by slots {expected:.2}");
        }
    }
}

/// Mb/s of stations of 802.11a at 54 Mb/s that saturate one category each with packets of 1500 bytes, from the rules of
/// back-off alone: all stations hear each other, and those whose frames collide notice that after SIFS, a slot and a
/// preamble.
fn by_slots(categories: &[usize]) -> Vec<f64> {
    const SLOT: u64 = 9;
    const AIFS: [u64; 4] = [79, 43, 34, 34];
    const WINDOWS: [(u64, u64); 4] = [(15, 1023), (15, 1023), (7, 15), (3, 7)];
    const DATA: u64 = 252;
    const ANSWER: u64 = 16 + 28;
    const TIMEOUT: u64 = 16 + 9 + 20;
    let mut rng = Streams::new(1, 0).stream("slots");
    let least = |category: usize| WINDOWS[category].0;
    let mut windows: Vec<u64> = categories.iter().map(|&it| least(it)).collect();
    let mut slots: Vec<u64> = windows.iter().map(|&window| rng.below(window + 1)).collect();
    // When each station may count again, from the end of the last frame.
    let (mut idle, mut failures, mut sent) = (vec![0; slots.len()], vec![0; slots.len()], vec![0_u64; slots.len()]);
    let mut time = 0;
    for _ in 0..300_000 {
        let space = |it: usize, idle: &[u64]| idle[it] + AIFS[categories[it]];
        let at: Vec<u64> = (0..slots.len()).map(|it| space(it, &idle) + SLOT * slots[it]).collect();
        let first = *at.iter().min().expect("a station");
        let senders: Vec<usize> = (0..slots.len()).filter(|&it| at[it] == first).collect();
        for it in (0..slots.len()).filter(|it| !senders.contains(it)) {
            // A slot counts at its beginning.
            slots[it] -= (first + SLOT).saturating_sub(space(it, &idle)) / SLOT;
        }
        idle.fill(0);
        time += first + DATA;
        if let [only] = senders[..] {
            time += ANSWER;
            sent[only] += 1;
            (windows[only], failures[only]) = (least(categories[only]), 0);
        } else {
            for &it in &senders {
                idle[it] = TIMEOUT;
                failures[it] = (failures[it] + 1) % 7;
                let wider = (2 * windows[it] + 1).min(WINDOWS[categories[it]].1);
                windows[it] = if failures[it] == 0 { least(categories[it]) } else { wider };
            }
        }
        senders.iter().for_each(|&it| slots[it] = rng.below(windows[it] + 1));
    }
    sent.iter().map(|&count| count as f64 * 12_000.0 / time as f64).collect()
}

#[test]
fn two_categories_share_the_medium_as_in_ns3() {
    compare(&[&[3], &[1]], &[33.31, 0.80]);
    compare(&[&[2], &[1]], &[25.49, 6.18]);
    compare(&[&[3], &[2]], &[22.34, 8.05]);
    compare(&[&[1], &[0]], &[21.09, 8.34]);
}

#[test]
fn four_categories_share_the_medium_as_in_ns3() {
    compare(&[&[1], &[0], &[2], &[3]], &[2.31, 0.48, 7.79, 19.38]);
}

#[test]
fn categories_of_one_station_share_it_as_in_ns3() {
    compare(&[&[3, 2, 1, 0]], &[28.17, 6.89, 0.34, 0.0]);
    compare(&[&[3, 1]], &[34.11, 0.88]);
}

/// A frame that another category of the station has kept from being sent is filled like any other.
#[test]
fn voice_leaves_its_share_to_aggregates_of_the_same_station() {
    let edca = params(Amendment::N, |edca| {
        edca.dcf.rate = "mcs7".parse().expect("a mode");
        edca.block_ack = edca::BlockAck::FromStart;
        (edca.voice.txop_limit, edca.voice.aggregate) = (Span::ZERO, false);
    });
    let mut spec = around_a_sink(1, edca);
    saturate(&mut spec, 1, 3, 1500, 80.0);
    saturate(&mut spec, 1, 1, 1500, 80.0);
    spec.duration = Span::from_secs_f64(6.3);
    // Mb/s of UDP's payload by the rules of back-off, slot by slot, and three standard deviations over six seconds.
    // Best effort has 28 MPDUs in each frame. With one MPDU after each internal collision it would have 11.4.
    for (flow, (expected, within)) in run(&spec).flows.iter().zip([(25.5, 2.8), (18.7, 4.6)]) {
        let found = flow.goodput_kbps / 1e3;
        assert!((found - expected).abs() < within, "{found:.2}, by slots {expected}");
    }
}

/// What a station cannot send waits in the queue of its interface, and is dropped there, also where a frame has one
/// MPDU only.
#[test]
fn an_overloaded_station_drops_at_its_queue() {
    for (standard, change) in [
        (Amendment::B, (|_| {}) as fn(&mut edca::Params)),
        (Amendment::A, |_| {}),
        (Amendment::N, |it| it.best_effort.aggregate = false),
        (Amendment::N, |it| it.max_amsdu = Bytes::new(3839)),
    ] {
        let mut spec = around_a_sink(1, params(standard, change));
        spec.link.queue_length = 20;
        saturate(&mut spec, 1, 1, 1500, 300.0);
        spec.duration = Span::from_millis(600);
        let outcome = run(&spec);
        let flow = &outcome.flows[0];
        let dropped: u64 = outcome.drops.iter().filter(|row| row.reason == "queue_full").map(|row| row.count).sum();
        assert!(dropped > 1000, "{standard}: {dropped} dropped");
        assert!(flow.packets_left <= 20 + 64 * 3, "{standard}: {} left", flow.packets_left);
    }
}

/// A neighbour that was out of reach while thousands of numbers passed gets the packets that are sent when it is back.
#[test]
fn a_neighbour_that_returns_receives_again() {
    for block_ack in [edca::BlockAck::AtFirstFrame, edca::BlockAck::FromStart] {
        let edca = params(Amendment::N, |it| {
            it.dcf.rate = "mcs7".parse().expect("a name");
            (it.dcf.short_retry_limit, it.mpdu_retry_limit, it.block_ack) = (1, 1, block_ack);
        });
        let mut spec = around_a_sink(1, edca);
        let at =
            |seconds, x| waypoints::Waypoint::ground(Span::from_millis(seconds), Distance::new(x), Distance::new(0.0));
        let track = vec![at(0, 1.0), at(1000, 1.0), at(1010, 2000.0), at(4000, 2000.0), at(4010, 1.0)];
        spec.nodes[1].mobility = mobility::Config::Waypoints(waypoints::Params { track, orders: Vec::new() }.into());
        saturate(&mut spec, 1, 1, 1000, 20.0);
        spec.duration = Span::from_secs(5);
        spec.measure_from = Time::from_nanos(4_100_000_000);
        let mbps = found(&spec, 1000.0)[0];
        assert!((18.0..22.0).contains(&mbps), "{block_ack:?}: {mbps} Mb/s");
    }
}

/// The longest A-MSDU of HT has five packets where frames have one MPDU.
#[test]
fn an_amsdu_alone_is_as_long_as_the_parameter_says() {
    let edca = params(Amendment::N, |it| {
        it.dcf.rate = "mcs7".parse().expect("a name");
        (it.max_ampdu, it.max_amsdu) = (Bytes::new(0), Bytes::new(7935));
    });
    let mut spec = around_a_sink(1, edca);
    saturate(&mut spec, 1, 1, 1500, 80.0);
    spec.duration = Span::from_millis(1300);
    // Five subframes of 1522 bytes, padded to 1524 but the last one, with header and check sequence.
    let mpdu = 4 * 1524 + 1522 + 30;
    let symbols = (16 + 8 * mpdu + 6_u32).div_ceil(260);
    let exchange = 43.0 + 7.5 * 9.0 + 36.0 + 4.0 * f64::from(symbols) + 16.0 + 28.0;
    let (expected, mbps) = (5.0 * 1500.0 * 8.0 / exchange, found(&spec, 1500.0)[0]);
    assert!((mbps / expected - 1.0).abs() < 0.01, "{mbps}, expected {expected}");
}
