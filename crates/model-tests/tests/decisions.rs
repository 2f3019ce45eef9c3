//! The classifications of losses by the senders, compared with the true causes. Each test produces one kind of loss.

use hopyard_engine::Span;
use hopyard_engine::units::{Bytes, Distance};
use hopyard_model::address::NodeId;
use hopyard_model::link::wired;
use hopyard_model::mobility::{self, waypoints};
use hopyard_model::observe::{DecisionRow, Outcome};
use hopyard_model::params::Params as _;
use hopyard_model::transport::acking;
use hopyard_model::transport::congestion::external::ExternalConfig;
use hopyard_model::transport::congestion::welcome::{self, Welcome};
use hopyard_model::transport::congestion::{
    Ack, Answer, Config, CongestionControl, Duplicate, ExternalControl, Loss, RecoveryChoice, Timeout, View,
};
use hopyard_model::world::{Spec, Transport, WireSpec};

use crate::common::{add_cbr, add_tcp, chain, mbps, network, run, run_for, stagger};

/// Two nodes and a wire of 1 Mb/s and 20 ms.
fn wire(change: impl FnOnce(&mut wired::Params)) -> Spec {
    let mut spec = network("ns2", "static", &[(0.0, 0.0); 2]);
    spec.nodes.iter_mut().for_each(|node| node.radios.clear());
    let mut params =
        wired::Params { rate: mbps(1.0), delay: Span::from_millis(20), ..wired::Params::of_profile("ns2") };
    change(&mut params);
    spec.wires = vec![WireSpec { ends: (NodeId(0), NodeId(1)), params, network: None }];
    Spec { duration: Span::from_secs(20), ..spec }
}

/// WELCOME with a different sampling of round-trip times than its default.
fn sampled(spec: &mut Spec, sampling: welcome::Sampling) {
    if let Transport::Tcp { config, .. } = &mut spec.flows[0].transport {
        config.congestion = Config::Welcome(welcome::Params { sampling, ..welcome::Params::of_profile("ns2") }.into());
    }
}

fn add_welcome(spec: &mut Spec, to: u32) {
    add_tcp(spec, 0, to, "ns2", "welcome", |tcp| (tcp.segment_size, tcp.window) = (Bytes::new(512), 40));
}

/// Four hops. From 5 s to 10 s the middle node is out of range.
fn broken_chain() -> Spec {
    let mut spec = network("ns2", "aodv", &chain(5, 200.0));
    let order = |at, y| {
        waypoints::Order::level(
            Span::from_secs(at),
            Distance::new(400.0),
            Distance::new(y),
            hopyard_engine::units::Speed::new(5000.0),
        )
    };
    spec.nodes[2].mobility = mobility::Config::Waypoints(
        waypoints::Params { track: Vec::new(), orders: vec![order(5, 2000.0), order(10, 0.0)] }.into(),
    );
    spec.duration = Span::from_secs(20);
    add_welcome(&mut spec, 4);
    spec
}

fn all<'a>(outcome: &'a Outcome, what: &str, is: impl Fn(&DecisionRow) -> bool) -> &'a [DecisionRow] {
    assert!(!outcome.decisions.is_empty(), "{what}: no decision");
    for row in &outcome.decisions {
        assert!(is(row), "{what}: {row:?}");
    }
    &outcome.decisions
}

/// The losses of segments sent once behind a queue of ten segments, over 60 s.
fn full_queues(sampling: welcome::Sampling) -> Vec<DecisionRow> {
    let mut spec = wire(|wire| wire.queue_length = 10);
    add_welcome(&mut spec, 1);
    sampled(&mut spec, sampling);
    let outcome = run_for(&mut spec, 60);
    // ns-2's short timeout may expire before a retransmission is acknowledged.
    let rows = all(&outcome, "short queue", |row| {
        row.transmissions > 1
            || (row.true_cause, row.lost, row.lost_reason, row.lost_at_node)
                == ("congestion", Some("data"), Some("queue_full"), Some(0))
    });
    rows.iter().filter(|row| row.transmissions == 1).cloned().collect()
}

#[test]
fn a_full_queue_is_congestion() {
    // With one sample in each round trip, the increase of the round-trip time with the queue is visible.
    let rows = full_queues(welcome::Sampling::RoundTrip);
    let right = rows.iter().filter(|row| row.decided == "congestion").count();
    assert!(rows.len() > 10 && 10 * right >= 9 * rows.len(), "{right} of {}", rows.len());
}

#[test]
fn ten_acknowledgements_do_not_show_a_queue_that_fills_slowly() {
    let rows = full_queues(welcome::Sampling::Acknowledgement);
    // In slow start the queue grows fast enough to be visible. In congestion avoidance, twenty acknowledgements arrive
    // for each segment by which the window grows: the last ten round-trip times are equal.
    assert_eq!(rows[0].decided, "congestion");
    let later = &rows[1..];
    assert!(later.len() > 10 && later.iter().all(|row| row.decided == "wireless"), "{later:?}");
}

#[test]
fn a_wire_that_loses_is_a_channel_with_errors() {
    // Nine segments fill the path and its queue does not grow: the round-trip time does not change.
    let mut spec = wire(|wire| wire.losses.segments = vec![100, 300]);
    add_tcp(&mut spec, 0, 1, "ns2", "welcome", |tcp| (tcp.segment_size, tcp.window) = (Bytes::new(512), 9));
    let outcome = run(&spec);
    let rows = all(&outcome, "forced losses", |row| {
        (row.true_cause, row.decided, row.detected_by) == ("channel_error", "wireless", "duplicate_acks")
    });
    assert_eq!(rows.len(), 2);
    assert!(rows.iter().all(|row| row.sequence > 0 && row.transmissions == 1));
}

#[test]
fn a_lost_acknowledgement_is_found_behind_a_timeout() {
    let mut spec = wire(|wire| wire.losses_back.rate = 0.4);
    add_tcp(&mut spec, 0, 1, "ns2", "welcome", |tcp| (tcp.segment_size, tcp.window) = (Bytes::new(512), 1));
    let outcome = run(&spec);
    let rows = all(&outcome, "one at a time", |row| {
        (row.true_cause, row.lost, row.detected_by) == ("channel_error", Some("ack"), "timeout")
    });
    assert!(rows.len() > 10, "{}", rows.len());
}

#[test]
fn a_late_acknowledgement_is_no_loss() {
    // The receiver waits for a second segment, which never arrives, for longer than the sender's timeout.
    let mut spec = wire(|_| {});
    add_tcp(&mut spec, 0, 1, "ns2", "welcome", |tcp| (tcp.segment_size, tcp.window) = (Bytes::new(512), 1));
    if let Transport::Tcp { acking, config } = &mut spec.flows[0].transport {
        let mut delayed = acking::delayed::Params::of_profile("rfc");
        delayed.interval = Span::from_millis(500);
        *acking = acking::Config::Delayed(delayed.into());
        config.tcp.max_rto = Span::from_millis(300);
        config.tcp.initial_rto = Span::from_millis(250);
    }
    let outcome = run(&spec);
    all(&outcome, "delayed", |row| (row.true_cause, row.lost, row.detected_by) == ("spurious", None, "timeout"));
}

#[test]
fn a_node_that_walks_away_is_a_link_failure() {
    let outcome = run(&broken_chain());
    let away: Vec<_> = outcome.decisions.iter().filter(|row| (5.0..10.0).contains(&row.time_s)).collect();
    assert!(!away.is_empty(), "{:?}", outcome.decisions);
    for row in &away {
        assert_eq!((row.true_cause, row.detected_by), ("link_failure", "timeout"), "{row:?}");
    }
    assert!(outcome.flows[0].delivered_bytes > 0);
}

#[test]
fn neighbours_that_do_not_hear_each_other_interfere() {
    // The segments on a chain of seven hops disturb each other, and another sender is in the middle. The nodes do not
    // move.
    let mut spec = network("ns2", "aodv", &chain(8, 200.0));
    add_welcome(&mut spec, 7);
    add_cbr(&mut spec, 4, 5, 512, Span::from_millis(15));
    stagger(&mut spec);
    let outcome = run_for(&mut spec, 30);
    let count = |cause| outcome.decisions.iter().filter(|row| row.true_cause == cause).count();
    assert!(count("interference") > 5, "{:?}", outcome.decisions);
    // Frames fail, and AODV regards links as broken although no link is broken.
    assert_eq!((count("link_failure"), count("channel_error")), (0, 0));
}

/// WELCOME without a report of its decisions.
struct Silent(Welcome);

impl CongestionControl for Silent {
    fn on_ack(&mut self, ack: &Ack, view: &View) -> Answer {
        self.0.on_ack(ack, view)
    }

    fn on_duplicate(&mut self, duplicate: &Duplicate, view: &View) -> Answer {
        self.0.on_duplicate(duplicate, view)
    }

    fn on_loss(&mut self, loss: &Loss, view: &View) -> Answer {
        self.0.on_loss(loss, view)
    }

    fn on_timeout(&mut self, timeout: &Timeout, view: &View) -> Answer {
        self.0.on_timeout(timeout, view)
    }

    fn on_recovered(&mut self, view: &View) -> Answer {
        self.0.on_recovered(view)
    }

    fn on_idle(&mut self, restart: f64, view: &View) -> Answer {
        self.0.on_idle(restart, view)
    }

    fn recovery(&self) -> RecoveryChoice {
        self.0.recovery()
    }
}

impl ExternalControl for Silent {}

fn silent() -> Config {
    let build = |_| -> Box<dyn ExternalControl> { Box::new(Silent(Welcome::new(&welcome::Params::of_profile("ns2")))) };
    Config::External(ExternalConfig::new("welcome", serde_json::Value::Null, build))
}

#[test]
fn judging_changes_nothing() {
    let mut short = wire(|wire| wire.queue_length = 10);
    add_welcome(&mut short, 1);
    for spec in [short, broken_chain()] {
        let mut silent = spec.clone();
        if let Transport::Tcp { config, .. } = &mut silent.flows[0].transport {
            config.congestion = self::silent();
        }
        let (with, without) = (run(&spec), run(&silent));
        assert!(!with.decisions.is_empty() && without.decisions.is_empty());
        assert_eq!(with.digest, without.digest);
        assert_eq!(with.flows, without.flows);
    }
}
