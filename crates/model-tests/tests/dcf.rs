//! DCF at saturation: one station compared with arithmetic and ns-2, several stations compared with ns-2.

use hopyard_engine::units::{Bytes, Distance, Rate};
use hopyard_engine::{Span, Time};
use hopyard_model::link::arp::Resolution;
use hopyard_model::mac::{self, dcf};
use hopyard_model::params::Params as _;
use hopyard_model::phy::{Receive, Reception, Sensitivity};
use hopyard_model::world::World;

use crate::common::{add_cbr, chain, mbps, network, ranged, run, run_for, with_dcf, with_ranges};

/// Total payload in kbit/s of saturated senders, measured over ten seconds.
fn saturation(
    places: &[(f64, f64)],
    senders: std::ops::Range<u32>,
    to: u32,
    size: u64,
    rate: f64,
    rts: bool,
    sense: f64,
) -> f64 {
    let mut spec = network("ns2", "static", places);
    with_dcf(&mut spec, |dcf| {
        dcf.rate = mbps(rate).into();
        dcf.rts_threshold = Bytes::new(if rts { 0 } else { 3000 });
    });
    with_ranges(&mut spec, 250.0, sense);
    for sender in senders {
        add_cbr(&mut spec, sender, to, size, Span::from_micros(500));
        // One after the other, so that the address resolutions do not disturb each other.
        let started = spec.flows.len() as u64;
        spec.flows.last_mut().expect("a flow").start = Time::from_nanos(started * 100_000_000);
    }
    spec.duration = Span::from_secs(15);
    spec.measure_from = Time::from_nanos(5_000_000_000);
    run(&spec).flows.iter().map(|flow| flow.goodput_kbps).sum()
}

#[test]
fn one_station_gives_what_ns2_gives() {
    // ns-2.35, medians of five seeds: (payload, rate, with RTS, without RTS).
    for (size, rate, with_rts, without) in [
        (64, 1.0, 201.3, 274.4),
        (512, 1.0, 668.5, 751.6),
        (1000, 2.0, 1383.6, 1567.2),
        (1460, 2.0, 1532.4, 1681.3),
        (64, 11.0, 315.0, 539.9),
        (1460, 11.0, 4422.1, 5944.5),
    ] {
        for (rts, expected) in [(true, with_rts), (false, without)] {
            let found = saturation(&chain(2, 100.0), 0..1, 1, size, rate, rts, 550.0);
            assert!(
                (found / expected - 1.0).abs() < 0.01,
                "{size} B, {rate} Mb/s, RTS {rts}: {found:.1}, ns-2 {expected}"
            );
        }
    }
}

#[test]
fn contenders_share_as_in_ns2() {
    for (senders, with_rts, without) in [(2, 1100.0, 1310.0), (5, 1106.0, 1254.0), (10, 1092.0, 1174.0)] {
        let mut places = vec![(0.0, 0.0)];
        places.extend((0..senders).map(|i| {
            let angle = f64::from(i) / f64::from(senders) * std::f64::consts::TAU;
            (100.0 * angle.cos(), 100.0 * angle.sin())
        }));
        for (rts, expected) in [(true, with_rts), (false, without)] {
            let found = saturation(&places, 1..senders + 1, 0, 512, 2.0, rts, 550.0);
            assert!((found / expected - 1.0).abs() < 0.03, "{senders} senders, RTS {rts}: {found:.1}, ns-2 {expected}");
        }
    }
}

#[test]
fn hidden_stations_collide_as_in_ns2() {
    for (rts, size, expected) in [(true, 512, 1014.0), (false, 512, 548.0), (true, 1460, 1487.0), (false, 1460, 272.0)]
    {
        let places = [(0.0, 0.0), (400.0, 0.0), (200.0, 0.0)];
        let found = saturation(&places, 0..2, 2, size, 2.0, rts, 250.0);
        assert!((found / expected - 1.0).abs() < 0.06, "{size} B, RTS {rts}: {found:.1}, ns-2 {expected}");
    }
}

/// Three stations in a row at this distance, with threshold reception. The middle station sends to one end, and the
/// other end sends to the middle station; both are saturated. The result is the share of unacknowledged data frames of
/// the outer sender.
fn failures_of_the_outer_sender(distance: f64) -> f64 {
    let mut spec = network("rfc", "static", &chain(3, distance));
    spec.channels[0].radio.reception = Reception::Threshold;
    spec.link.arp.resolution = Resolution::Off;
    for (from, to) in [(1, 0), (2, 1)] {
        add_cbr(&mut spec, from, to, 512, Span::from_micros(500));
    }
    let sender = run_for(&mut spec, 10).nodes[2].clone();
    sender.metric("ack_failures").expect("DCF") as f64 / sender.data_frames as f64
}

#[test]
fn stations_that_send_in_the_same_slot_collide_at_every_distance() {
    // Over 60 s: 5.66 % at all three distances. If delays were rounded to the nearest nanosecond, the outer sender
    // would sense the middle one's frame just before its own slot ends, but only where two short delays are less than
    // the long one.
    let near = failures_of_the_outer_sender(240.0);
    assert!((0.045..0.07).contains(&near), "{near}");
    for distance in [249.9, 250.0] {
        let found = failures_of_the_outer_sender(distance);
        assert!((found - near).abs() < 0.01, "{distance} m: {found:.4}; 240 m: {near:.4}");
    }
}

/// A rate without a mode must not be judged as another one.
#[test]
fn no_world_is_built_with_a_rate_that_has_no_mode() {
    for (rate, basic_rate) in [(6_000_000, 1_000_000), (2_000_000, 1_500_000)] {
        let mut spec = network("rfc", "oracle", &chain(2, 200.0));
        let params = dcf::Params {
            rate: Rate::from_bps(rate).into(),
            basic_rate: Rate::from_bps(basic_rate),
            ..dcf::Params::of_profile("rfc")
        };
        spec.channels[0].mac = mac::Config::Dcf(params.into());
        let Err(error) = World::new(&spec) else { panic!("there is no mode") };
        let wrong = if rate == 6_000_000 { "rate: expected 1, 2, 5.5 or 11 Mbps, found 6" } else { "basic_rate: " };
        let error = error.to_string();
        assert!(error.starts_with(&format!("channel 0: `dcf`: {wrong}")), "{error}");
    }
}

/// Questions of ARP and RTS at 1 Mb/s reach the receiver at 101 m. Packets at 11 Mb/s do if their range is long enough.
#[test]
fn each_rate_has_a_range_of_its_own() {
    let delivered = |reception, distance, fast: f64| {
        let mut spec = ranged(network("rfc", "oracle", &chain(2, distance)), 250.0, 550.0);
        with_dcf(&mut spec, |dcf| (dcf.rate, dcf.rts_threshold) = (mbps(11.0).into(), Bytes::new(0)));
        let range = |metres| Sensitivity::Range(Distance::new(metres));
        let ranges = [(mbps(1.0).into(), range(250.0)), (mbps(11.0).into(), range(fast))];
        spec.channels[0].radio.receive = Receive::ByMode(ranges.into());
        spec.channels[0].radio.reception = reception;
        add_cbr(&mut spec, 0, 1, 512, Span::from_millis(100));
        run_for(&mut spec, 5).flows[0].delivered_bytes
    };
    for reception in [Reception::Threshold, Reception::Ns2, Reception::Sinr] {
        for (distance, fast, arrives) in [(99.0, 100.0, true), (101.0, 100.0, false), (101.0, 250.0, true)] {
            let bytes = delivered(reception, distance, fast);
            assert_eq!(bytes > 20_000, arrives, "{reception:?}, {distance} m of {fast} m: {bytes} B");
            assert_eq!(bytes == 0, !arrives, "{reception:?}, {distance} m of {fast} m: {bytes} B");
        }
    }
}
