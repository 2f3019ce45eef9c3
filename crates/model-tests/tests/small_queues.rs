//! The limit on what a sender leaves waiting in its own node (Linux's TCP small queues).

use hopyard_engine::Span;
use hopyard_engine::units::Bytes;
use hopyard_model::address::NodeId;
use hopyard_model::link::wired;
use hopyard_model::observe::Outcome;
use hopyard_model::params::Params as _;
use hopyard_model::world::{Spec, WireSpec};

use crate::common::{add_tcp, chain, mbps, network, ranged, run, run_for};

/// One hop of radio at 2 Mb/s, for 20 s.
fn radio(senders: u32, small_queues: bool) -> Outcome {
    let mut spec = ranged(network("rfc", "static", &chain(2, 200.0)), 250.0, 550.0);
    for _ in 0..senders {
        add_tcp(&mut spec, 0, 1, "linux", "newreno", |tcp| {
            tcp.linux.small_queues = small_queues;
            tcp.segment_size = Bytes::new(1460);
        });
    }
    run_for(&mut spec, 20)
}

#[test]
fn the_queue_of_the_source_has_two_buffers() {
    let [without, with] = [false, true].map(|small_queues| radio(1, small_queues));
    // Without the limit the window fills the queue, until it overflows.
    assert_eq!(without.nodes[0].queue_max, 50);
    assert!(without.flows[0].retransmissions > 0);
    // Two pairs; when one segment has left, a pair follows. At first, while the shortest round trip is that of the
    // opening, a buffer holds more. A kernel in the same network has ten too.
    assert_eq!(with.nodes[0].queue_max, 10);
    assert!((3.0..5.0).contains(&with.nodes[0].queue_mean), "{}", with.nodes[0].queue_mean);
    assert_eq!(with.flows[0].retransmissions, 0);
    // The link is as busy.
    let [without, with] = [without, with].map(|it| it.flows[0].goodput_kbps);
    assert!((with / without - 1.0).abs() < 0.02, "{with} {without}");
}

#[test]
fn a_sender_that_paces_slowly_has_two_single_segments_waiting() {
    // Three senders share a radio, so that each paces below 1.2 Mb/s, where Linux's BBR sends single segments.
    let mut spec = ranged(network("rfc", "static", &chain(2, 200.0)), 250.0, 550.0);
    for _ in 0..3 {
        add_tcp(&mut spec, 0, 1, "linux", "bbr", |tcp| tcp.segment_size = Bytes::new(1460));
    }
    let outcome = run_for(&mut spec, 20);
    // Two of each sender; with two pairs of each, more than nine wait in the mean.
    assert!((5.0..7.0).contains(&outcome.nodes[0].queue_mean), "{}", outcome.nodes[0].queue_mean);
}

#[test]
fn each_connection_has_its_own_limit() {
    let outcome = radio(3, true);
    assert!((9..=30).contains(&outcome.nodes[0].queue_max), "{}", outcome.nodes[0].queue_max);
    assert_eq!(outcome.flows.iter().map(|it| it.retransmissions).sum::<u64>(), 0);
}

#[test]
fn a_wire_tells_when_the_last_bit_is_on_it() {
    let wire = |small_queues| -> Spec {
        let mut spec = network("rfc", "static", &chain(2, 0.0));
        spec.nodes.iter_mut().for_each(|node| node.radios.clear());
        let params = wired::Params { rate: mbps(1.0), ..wired::Params::of_profile("rfc") };
        spec.wires.push(WireSpec { ends: (NodeId(0), NodeId(1)), params, network: None });
        add_tcp(&mut spec, 0, 1, "linux", "cubic", |tcp| tcp.linux.small_queues = small_queues);
        Spec { duration: Span::from_secs(20), ..spec }
    };
    let [without, with] = [false, true].map(|small_queues| run(&wire(small_queues)));
    let delay = |it: &Outcome| it.flows[0].delay_ms.expect("packets arrived");
    // Five segments of 1500 bytes take 60 ms.
    assert!(delay(&with) < 62.0 + 10.0 && delay(&without) > 300.0, "{} {}", delay(&with), delay(&without));
    assert!(with.flows[0].goodput_kbps > 0.99 * without.flows[0].goodput_kbps);
}
