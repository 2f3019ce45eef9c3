//! TCP over a chain of nodes.

mod common;

use hopyard_engine::Span;
use hopyard_engine::units::Bytes;

use common::{add_tcp, chain, mbps, network, run, with_dcf, with_ranges};

#[test]
fn oo_and_othmans_static_chain() {
    for (variant, throughput, delay) in [("newreno", 101.4, 416.7), ("vegas", 104.6, 67.6)] {
        let mut spec = network("ns2", "oracle", &chain(6, 110.0));
        with_dcf(&mut spec, |dcf| dcf.rate = mbps(1.0));
        with_ranges(&mut spec, 200.0, 550.0);
        add_tcp(&mut spec, 0, 5, "ns2", variant, |tcp| {
            tcp.segment_size = Bytes::new(512);
            tcp.window = 20;
        });
        spec.duration = Span::from_secs(360);
        let outcome = run(&spec);
        let flow = &outcome.flows[0];
        assert!((flow.payload_kbps / throughput - 1.0).abs() < 0.02, "{variant}: {} kbit/s", flow.payload_kbps);
        let found = flow.delay_ms.expect("packets arrived");
        assert!((found / delay - 1.0).abs() < 0.02, "{variant}: {found} ms");
    }
}

#[test]
fn what_was_counted_before_the_window_is_not_of_it() {
    // Four hops of 200 m: hidden nodes cost NewReno a steady stream of timeouts and retransmissions.
    let mut spec = network("ns2", "aodv", &chain(5, 200.0));
    add_tcp(&mut spec, 0, 4, "ns2", "newreno", |_| {});
    spec.duration = Span::from_secs(60);
    let whole = run(&spec);
    spec.measure_from = hopyard_engine::Time::ZERO + Span::from_secs(50);
    let end = run(&spec);
    assert_eq!(whole.digest, end.digest);
    let (whole, end) = (&whole.flows[0], &end.flows[0]);
    assert!(whole.retransmissions >= 20 && whole.timeouts > 0, "{whole:?}");
    for (whole, end) in [
        (whole.packets_sent, end.packets_sent),
        (whole.retransmissions, end.retransmissions),
        (whole.packets_dropped, end.packets_dropped),
    ] {
        assert!(end * 3 < whole, "{end} of {whole} in the last sixth of the run");
    }
}
