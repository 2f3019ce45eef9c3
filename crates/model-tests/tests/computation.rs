//! The phases of senders around a break: their times and their counts.

use hopyard_engine::units::Distance;
use hopyard_engine::{Span, Time};
use hopyard_model::mobility::{self, waypoints};
use hopyard_model::observe::FlowRow;

use crate::common::{add_tcp, chain, network, ranged, run_for};

/// Three hops over AODV. The last node is out of range from second 10 to second 20; 30 s.
fn flow(variant: &str, from: u64) -> FlowRow {
    let places = chain(4, 200.0);
    let mut spec = ranged(network("rfc", "aodv", &places), 250.0, 550.0);
    let point = |at: Span, y: f64| waypoints::Waypoint::ground(at, Distance::new(places[3].0), Distance::new(y));
    let blink = Span::from_millis(10);
    spec.nodes[3].mobility = mobility::Config::Waypoints(
        waypoints::Params {
            track: vec![
                point(Span::from_secs(10), 0.0),
                point(Span::from_secs(10) + blink, 2000.0),
                point(Span::from_secs(20) - blink, 2000.0),
                point(Span::from_secs(20), 0.0),
            ],
            orders: Vec::new(),
        }
        .into(),
    );
    add_tcp(&mut spec, 0, 3, "rfc", variant, |_| {});
    spec.measure_from = Time::ZERO + Span::from_secs(from);
    run_for(&mut spec, 30).flows.remove(0)
}

fn seconds(flow: &FlowRow) -> f64 {
    flow.slow_start_s + flow.avoidance_s + flow.recovery_s + flow.frozen_s
}

#[test]
fn every_moment_and_every_segment_belongs_to_a_phase() {
    for variant in ["newreno", "tahoe", "elfn", "sack", "bbr"] {
        let flow = flow(variant, 0);
        assert!((seconds(&flow) - 30.0).abs() < 1e-6, "{variant}: {}", seconds(&flow));
        let segments = flow.segments_slow_start + flow.segments_avoidance + flow.segments_recovery + flow.probes;
        // The segment that opens the connection has no payload.
        assert_eq!(segments + 1, flow.packets_sent, "{variant}");
        assert!(flow.acks_slow_start > 0 && flow.rtt_samples > 0, "{variant}");
    }
}

#[test]
fn only_a_sender_that_freezes_is_frozen() {
    let (newreno, elfn) = (flow("newreno", 0), flow("elfn", 0));
    assert!(newreno.frozen_s == 0.0);
    // From the notice, soon after the break, to the first probe that is answered.
    assert!(elfn.frozen_s > 8.0 && elfn.frozen_s < 14.0, "{}", elfn.frozen_s);
    assert!(newreno.timeouts > elfn.timeouts);
}

#[test]
fn tahoe_has_no_recovery() {
    let tahoe = flow("tahoe", 0);
    assert!(tahoe.recovery_s == 0.0 && tahoe.acks_recovery == 0);
}

#[test]
fn the_measuring_window_counts_alone() {
    let (whole, late) = (flow("newreno", 0), flow("newreno", 15));
    assert!((seconds(&late) - 15.0).abs() < 1e-6, "{}", seconds(&late));
    assert!(late.acks_slow_start + late.acks_avoidance < whole.acks_slow_start + whole.acks_avoidance);
}
