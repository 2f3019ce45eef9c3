//! The loops of ns-2's AODV: the last node of a chain of four nodes leaves, and two nodes then are each other's next
//! hop.

mod common;

use hopyard_engine::units::Distance;
use hopyard_engine::{Span, Time};
use hopyard_model::mobility::{self, waypoints};
use hopyard_model::traffic;

use common::{add_cbr, chain, mbps, network, run, with_dcf, with_ranges};

/// The number of datagrams whose TTL reaches zero in 60 s, for this leaving time of the last node and this interval of
/// datagrams.
fn ttl_drops(leaves_ms: u64, interval_ms: u64) -> u64 {
    let places = chain(4, 200.0);
    let mut spec = network("ns2", "aodv", &places);
    with_dcf(&mut spec, |dcf| dcf.rate = mbps(1.0));
    with_ranges(&mut spec, 250.0, 550.0);
    // 4200 m at 2000 m/s.
    let leaves = Span::from_millis(leaves_ms);
    let point = |at: Span, x: f64| waypoints::Waypoint::ground(at, Distance::new(x), Distance::new(0.0));
    spec.nodes[3].mobility = mobility::Config::Waypoints(waypoints::Params {
        track: vec![point(leaves, 600.0), point(leaves + Span::from_millis(2_100), 4_800.0)],
        orders: Vec::new(),
    });
    add_cbr(&mut spec, 0, 3, 512, Span::from_millis(interval_ms));
    let flow = &mut spec.flows[0];
    flow.start = Time::ZERO + Span::from_secs(1);
    if let traffic::Config::Cbr(params) = &mut flow.traffic {
        params.jitter = 0.0;
    }
    spec.duration = Span::from_secs(60);
    run(&spec).drops.iter().filter(|row| row.reason == "ttl_expired").map(|row| row.count).sum()
}

#[test]
fn ns2s_aodv_loops_where_ns2_does() {
    // (leaves, interval), in ms; the counts are those of ns-2.35 (`validation/peers/data/ns2_loops.csv`).
    for (leaves, interval, expected) in [(3_300, 700, 81), (2_300, 2_500, 23), (4_300, 700, 0)] {
        assert_eq!(ttl_drops(leaves, interval), expected, "leaves at {leaves} ms, a datagram each {interval} ms");
    }
}
