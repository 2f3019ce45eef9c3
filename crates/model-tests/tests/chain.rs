//! TCP over a chain of nodes.

use hopyard_engine::Span;
use hopyard_engine::units::Bytes;
use hopyard_model::observe::Outcome;
use hopyard_model::routing::static_routes::Others;
use hopyard_model::routing::{self, static_routes};

use crate::common::{add_cbr, add_tcp, chain, mbps, network, run, run_for, with_dcf, with_ranges};

#[test]
fn oo_and_othmans_static_chain() {
    for (variant, throughput, delay) in [("newreno", 101.4, 416.7), ("vegas", 104.6, 67.6)] {
        let mut spec = network("ns2", "oracle", &chain(6, 110.0));
        with_dcf(&mut spec, |dcf| dcf.rate = mbps(1.0).into());
        with_ranges(&mut spec, 200.0, 550.0);
        add_tcp(&mut spec, 0, 5, "ns2", variant, |tcp| {
            tcp.segment_size = Bytes::new(512);
            tcp.window = 20;
        });
        let outcome = run_for(&mut spec, 360);
        let flow = &outcome.flows[0];
        assert!((flow.payload_kbps / throughput - 1.0).abs() < 0.02, "{variant}: {} kbit/s", flow.payload_kbps);
        let found = flow.delay_ms.expect("packets arrived");
        assert!((found / delay - 1.0).abs() < 0.02, "{variant}: {found} ms");
    }
}

#[test]
fn what_was_counted_before_the_window_is_not_of_it() {
    // Four hops of 200 m: because of hidden nodes, NewReno always has timeouts and retransmissions.
    let mut spec = network("ns2", "aodv", &chain(5, 200.0));
    add_tcp(&mut spec, 0, 4, "ns2", "newreno", |_| {});
    let whole = run_for(&mut spec, 60);
    spec.measure_from = hopyard_engine::Time::ZERO + Span::from_secs(50);
    let end = run(&spec);
    assert_eq!(whole.digest, end.digest);
    let (whole, end) = (&whole.flows[0], &end.flows[0]);
    assert!(whole.retransmissions >= 20 && whole.timeouts > Some(0), "{whole:?}");
    for (whole, end) in [
        (whole.packets_sent, end.packets_sent),
        (whole.retransmissions, end.retransmissions),
        (whole.packets_dropped, end.packets_dropped),
    ] {
        assert!(end * 3 < whole, "{end} of {whole} in the last sixth of the run");
    }
}

#[test]
fn losses_as_ns2_scripts_count_them_are_of_one_window() {
    let mut spec = network("ns2", "aodv", &chain(5, 200.0));
    add_tcp(&mut spec, 0, 4, "ns2", "newreno", |_| {});
    spec.duration = Span::from_secs(60);
    spec.measure_from = hopyard_engine::Time::ZERO + Span::from_secs(50);
    let flow = run(&spec).flows.remove(0);
    // The denominator of the loss rate: the segments and the acknowledgements of the measuring window. There are at
    // most as many acknowledgements as segments.
    let numbered = (flow.packets_dropped + flow.packets_queued) as f64 * 100.0 / flow.loss_ns2_percent;
    let sent = flow.packets_sent as f64;
    assert!(sent < numbered && numbered <= 2.05 * sent, "{numbered} packets, {sent} of them segments");
}

#[test]
fn losses_as_ns2_scripts_count_them_are_fewer_where_dsr_waits() {
    // The destination is out of reach: each SYN waits for 30 s, and is then dropped.
    let mut spec = network("ns2", "dsr", &chain(2, 1000.0));
    add_tcp(&mut spec, 0, 1, "ns2", "newreno", |_| {});
    let outcome = run_for(&mut spec, 100);
    let flow = &outcome.flows[0];
    assert!(flow.packets_dropped > 0 && flow.packets_arrived == 0, "{flow:?}");
    // ns-2's DSR numbers a request at each look at a packet that waits, every 45 ms on average.
    let numbered = flow.packets_dropped as f64 * 100.0 / flow.loss_ns2_percent;
    assert!(numbered > 100.0 / 0.045, "{numbered} packets");
}

#[test]
fn a_packet_that_address_resolution_gives_up_is_counted_as_that() {
    for protocol in ["static", "oracle"] {
        for profile in ["rfc", "ns2"] {
            let mut spec = network(profile, protocol, &chain(2, if protocol == "static" { 1000.0 } else { 200.0 }));
            for node in &mut spec.nodes {
                if let routing::Config::StaticRoutes(routes) = &mut node.routing {
                    routes.others = Others::Direct;
                }
            }
            add_cbr(&mut spec, 0, 1, 512, Span::from_millis(100));
            let outcome = run_for(&mut spec, 10);
            assert_eq!(dropped(&outcome, "data", "retry_limit"), 0, "{protocol} {profile}");
            assert_eq!(dropped(&outcome, "data", "arp_failed") > 0, protocol == "static", "{protocol} {profile}");
        }
    }
}

/// How many packets of a kind all nodes dropped for a reason.
fn dropped(outcome: &Outcome, kind: &str, reason: &str) -> u64 {
    outcome.drops.iter().filter(|row| row.kind == kind && row.reason == reason).map(|row| row.count).sum()
}

#[test]
fn a_packet_whose_time_to_live_is_used_up_is_counted_as_that() {
    for (ttl, arrives) in [(2, false), (3, true)] {
        let mut spec = network("rfc", "static", &chain(4, 200.0));
        let params = static_routes::Params { routes: Vec::new(), others: Others::Chain };
        spec.nodes.iter_mut().for_each(|node| node.routing = routing::Config::StaticRoutes(params.clone().into()));
        spec.ip.ttl = ttl;
        add_cbr(&mut spec, 0, 3, 512, Span::from_millis(100));
        let outcome = run_for(&mut spec, 5);
        assert_eq!(dropped(&outcome, "data", "ttl_expired") == 0, arrives, "{ttl}: {:?}", outcome.drops);
        assert_eq!(outcome.flows[0].packets_arrived > 0, arrives, "{ttl}");
    }
}

#[test]
fn a_message_of_another_routing_protocol_finds_no_listener() {
    let mut spec = network("rfc", "aodv", &chain(2, 200.0));
    spec.nodes[1].routing = routing::Config::of_profile("static", "rfc").expect("a routing protocol");
    add_cbr(&mut spec, 0, 1, 512, Span::from_millis(100));
    let outcome = run_for(&mut spec, 5);
    assert!(dropped(&outcome, "routing", "no_listener") > 0, "{:?}", outcome.drops);
}
