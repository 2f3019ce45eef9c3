//! What senders have to compute, by phase.

mod common;

use hopyard_engine::{Span, Time};
use hopyard_model::observe::FlowRow;

use common::{add_cbr, add_tcp, chain, network, run};

fn acks(flow: &FlowRow) -> [u64; 3] {
    [flow.acks_slow_start, flow.acks_congestion_avoidance, flow.acks_recovery].map(|it| it.expect("a TCP flow"))
}

fn seconds(flow: &FlowRow) -> [f64; 3] {
    [flow.slow_start_s, flow.congestion_avoidance_s, flow.recovery_s].map(|it| it.expect("a TCP flow"))
}

#[test]
fn every_acknowledgement_and_every_second_has_its_phase() {
    for variant in ["newreno", "sack", "cubic", "vegas", "westwood_plus"] {
        let mut spec = network("rfc", "static", &chain(5, 200.0));
        add_tcp(&mut spec, 0, 4, "rfc", variant, |tcp| tcp.window = 64);
        add_cbr(&mut spec, 4, 0, 200, Span::from_millis(50));
        spec.flows[0].start = Time::ZERO + Span::from_secs(2);
        spec.duration = Span::from_secs(32);
        let outcome = run(&spec);
        let flow = &outcome.flows[0];
        let (acks, seconds) = (acks(flow), seconds(flow));
        assert!((seconds.iter().sum::<f64>() - 30.0).abs() < 1e-9, "{variant}: {seconds:?}");
        // Each segment is acknowledged at once, and some acknowledgements are lost.
        let (all, arrived) = (acks.iter().sum::<u64>(), flow.packets_arrived);
        assert!(all <= arrived && all * 10 > arrived * 9, "{variant}: {all} of {arrived}");
        assert!(acks[0] > 0 && acks[1] > 0, "{variant}: {acks:?}");
        assert_eq!(acks[2] > 0, flow.fast_retransmits > 0, "{variant}: {acks:?}");
        assert_eq!(seconds[2] > 0.0, flow.fast_retransmits > 0, "{variant}: {seconds:?}");
        assert!(flow.round_trip_samples.is_some_and(|samples| samples > 0 && samples <= all + 1), "{variant}");
        assert_eq!(
            (outcome.flows[1].acks_recovery, outcome.flows[1].slow_start_s),
            (None, None),
            "UDP computes nothing"
        );

        // Only what belongs to the measuring window counts.
        spec.measure_from = Time::ZERO + Span::from_secs(20);
        let later = run(&spec);
        let (part, rest) = (self::acks(&later.flows[0]), self::seconds(&later.flows[0]));
        assert!(part.iter().zip(acks).all(|(part, all)| *part <= all), "{variant}");
        assert!((rest.iter().sum::<f64>() - 12.0).abs() < 1e-9, "{variant}: {rest:?}");
    }
}

#[test]
fn a_transfer_that_has_ended_is_in_no_phase() {
    let mut spec = network("rfc", "static", &chain(2, 100.0));
    add_tcp(&mut spec, 0, 1, "rfc", "newreno", |_| {});
    spec.flows[0].traffic = hopyard_model::traffic::Config::of_profile("transfer", "rfc").expect("traffic");
    spec.duration = Span::from_secs(100);
    let outcome = run(&spec);
    let busy: f64 = seconds(&outcome.flows[0]).iter().sum();
    assert!(busy > 0.0 && busy < 50.0, "{busy} s");
}
