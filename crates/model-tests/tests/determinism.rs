//! The same scenario, seed and version give the same results, with any switches of the medium, with any observation,
//! and with any number of threads.

use std::sync::OnceLock;

use hopyard_engine::units::Ratio;
use hopyard_engine::{Span, Time};
use hopyard_model::address::{InterfaceId, NodeId};
use hopyard_model::mobility::Position;
use hopyard_model::observe::{
    FlowRow, FrameEdge, FrameView, Outcome, PacketEvent, Probe, Recorded, RouteChanges, SegmentFlows,
};
use hopyard_model::packet::Packet;
use hopyard_model::params::Params as _;
use hopyard_model::phy::neighbours::Search;
use hopyard_model::phy::propagation::{self, log_distance};
use hopyard_model::transport::congestion;
use hopyard_model::world::{Advanced, Quantity, Spec, Transport, Watch, World};
use rayon::ThreadPoolBuilder;
use rayon::prelude::*;

use crate::common::{self, add_cbr, add_tcp, run, run_for, scenarios};

/// Everything in two outcomes except the series and the events of the observation itself.
fn assert_same(name: &str, found: &Outcome, expected: &Outcome) {
    assert_eq!(found.flows, expected.flows, "{name}: flows");
    assert_eq!(found.nodes, expected.nodes, "{name}: nodes");
    assert_eq!(found.drops, expected.drops, "{name}: drops");
    assert_eq!((found.frames, found.packets), (expected.frames, expected.packets), "{name}: frames and packets");
    assert_eq!(found.receptions, expected.receptions, "{name}: receptions");
    assert_eq!(found.digest, expected.digest, "{name}: digest");
}

/// What to look at first where a new routing protocol delivers nothing.
const CONVERGED: &str =
    "If routes of the protocol have not converged by then, its `RoutingFacts::settles_within` is too short";

/// Every scenario, run once, for all tests.
fn unchanged() -> &'static [(String, Spec, Outcome)] {
    static RUNS: OnceLock<Vec<(String, Spec, Outcome)>> = OnceLock::new();
    RUNS.get_or_init(|| {
        let made = scenarios::of_every_model().into_par_iter().map(|(name, spec)| {
            let outcome = run(&spec);
            assert!(outcome.flows.iter().any(|flow| flow.delivered_bytes > 0), "{name}: nothing arrives. {CONVERGED}");
            (name, spec, outcome)
        });
        made.collect()
    })
}

/// Those of them that are more than a chain with one model, where what else goes on could matter.
fn among_others() -> &'static [(String, Spec, Outcome)] {
    &unchanged()[..scenarios::all().len()]
}

/// Runs every scenario in another form in parallel, and requires equal results.
fn unchanged_by(change: impl Fn(&mut Spec) + Sync) -> Vec<(&'static Outcome, Outcome)> {
    unchanged()
        .par_iter()
        .map(|(name, spec, expected)| {
            let mut changed = spec.clone();
            change(&mut changed);
            let found = run(&changed);
            assert_same(name, &found, expected);
            (expected, found)
        })
        .collect()
}

#[test]
fn one_event_for_each_edge_and_every_search_for_neighbours_give_the_same() {
    for (exact, search) in [(true, Search::Array), (false, Search::Grid)] {
        for (expected, found) in unchanged_by(|spec| (spec.medium.exact, spec.medium.search) = (exact, search)) {
            assert_eq!(expected.events, found.events);
        }
    }
}

#[test]
fn observers_change_nothing() {
    let outcomes = unchanged_by(|spec| {
        spec.observe.series = Quantity::ALL.to_vec();
        spec.observe.interval = Span::from_millis(37);
    });
    for (without, with) in outcomes {
        assert!(without.series.is_empty());
        assert!(with.series.iter().any(|row| row.value > 0.0));
    }
}

#[test]
fn runs_do_not_see_one_another() {
    for threads in [1, 8] {
        let pool = ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
        let found: Vec<Outcome> =
            pool.install(|| among_others().par_iter().rev().map(|(_, spec, _)| run(spec)).collect());
        for ((name, _, expected), found) in among_others().iter().zip(found.iter().rev()) {
            assert_same(&format!("{name}, {threads} threads"), found, expected);
        }
    }
}

#[test]
fn seed_and_run_do_matter() {
    let digest = |seed, number| {
        let mut spec = scenarios::hidden_terminals();
        (spec.seed, spec.run) = (seed, number);
        run(&spec).digest
    };
    let digests = [digest(1, 0), digest(1, 1), digest(2, 0), digest(2, 1)];
    for (i, a) in digests.iter().enumerate() {
        assert!(digests[..i].iter().all(|b| a != b), "{digests:x?}");
    }
}

/// A flow's row without its share of all packets of the run, which depends on the packets of other flows.
fn by_itself(row: &FlowRow) -> FlowRow {
    FlowRow { loss_ns2_percent: 0.0, ..row.clone() }
}

#[test]
fn a_silent_node_far_away_changes_nothing() {
    for (name, spec, expected) in among_others() {
        let mut wider = spec.clone();
        let mut silent = spec.nodes[0].clone();
        silent.mobility = common::network("rfc", "static", &[(0.0, 0.0)]).nodes[0].mobility.clone();
        silent.routing = common::network("rfc", "static", &[(0.0, 0.0)]).nodes[0].routing.clone();
        silent.start = Position::ground(90_000.0, 70_000.0);
        wider.nodes.push(silent);
        let found = run(&wider);
        let others = spec.nodes.len();
        assert_eq!(found.flows, expected.flows, "{name}");
        assert_eq!(found.nodes[..others], expected.nodes[..], "{name}");
        assert_eq!(found.drops, expected.drops, "{name}");
        assert_eq!(found.digest, expected.digest, "{name}");
    }
}

#[test]
fn a_busy_cell_far_away_changes_no_other() {
    // Behind nodes that only radiate, no others may stand.
    for (name, spec, expected) in among_others().iter().filter(|(_, spec, _)| spec.jammers.is_empty()) {
        let first = spec.nodes.len() as u32;
        let mut wider = spec.clone();
        for i in 0..3 {
            let mut node = spec.nodes[spec.nodes.len() - 1].clone();
            node.mobility = common::network("rfc", "static", &[(0.0, 0.0)]).nodes[0].mobility.clone();
            node.start = Position::ground(90_000.0 + f64::from(i) * 90.0, 70_000.0);
            wider.nodes.push(node);
        }
        add_tcp(&mut wider, first, first + 2, "rfc", "reno", |_| {});
        add_cbr(&mut wider, first + 2, first + 1, 100, Span::from_millis(7));
        let found = run(&wider);
        let (nodes, flows) = (spec.nodes.len(), spec.flows.len());
        assert!(
            found.flows[flows..].iter().any(|flow| flow.packets_arrived > 0),
            "{name}: the far cell is silent. {CONVERGED}"
        );
        let rows = |outcome: &Outcome| outcome.flows[..flows].iter().map(by_itself).collect::<Vec<_>>();
        assert_eq!(rows(&found), rows(expected), "{name}");
        assert_eq!(found.nodes[..nodes], expected.nodes[..], "{name}");
        let mut drops = found.drops;
        drops.retain(|row| row.node < first);
        assert_eq!(drops, expected.drops, "{name}");
    }
}

/// The true number of hops over time depends only on the positions of the nodes. It must not depend on their traffic.
#[test]
fn every_variant_meets_the_same_movement() {
    let hops = |variant: &str| {
        let mut spec = scenarios::moving("rfc", "oracle");
        for flow in &mut spec.flows {
            if let Transport::Tcp { config, .. } = &mut flow.transport {
                config.congestion = congestion::Config::of_profile(variant, "rfc").expect("a TCP variant");
            }
        }
        spec.observe.series = vec![Quantity::Hops];
        spec.observe.interval = Span::from_millis(100);
        let outcome = run(&spec);
        (outcome.series, outcome.digest)
    };
    let (movement, tahoe) = hops("tahoe");
    assert!(movement.windows(2).any(|pair| pair[0].value != pair[1].value), "nothing moves");
    let mut digests = vec![tahoe];
    for variant in ["reno", "newreno", "sack", "vegas"] {
        let (series, digest) = hops(variant);
        assert_eq!(series, movement, "{variant}");
        digests.push(digest);
    }
    // In such a short time Reno and NewReno may send the same segments, but not all five variants do.
    digests.dedup();
    assert!(digests.len() > 2, "the variants send alike");
}

/// Two transmissions to the same listeners have different draws. One transmission always has the same draws.
#[test]
fn shadowing_is_drawn_anew_and_from_the_seed() {
    let arrived = |seed, sigma| {
        let mut spec = common::network("rfc", "static", &[(0.0, 0.0), (240.0, 0.0)]);
        spec.seed = seed;
        spec.channels[0].propagation = propagation::Config::LogDistance(
            log_distance::Params { sigma: Ratio::from_db(sigma), ..log_distance::Params::of_profile("rfc") }.into(),
        );
        add_cbr(&mut spec, 0, 1, 100, Span::from_millis(10));
        let outcome = run_for(&mut spec, 5);
        (outcome.flows[0].packets_arrived, outcome.nodes[0].metric("ack_failures").expect("DCF"))
    };
    assert_eq!(arrived(1, 0.0), arrived(2, 0.0), "without shadowing the link does not fail");
    let (some, failures) = arrived(1, 8.0);
    assert!(some > 0 && failures > 20, "{some} arrived, {failures} failures");
    assert_ne!(arrived(1, 8.0), arrived(2, 8.0));
}

/// A world that is stopped at many instants, and goes on, has the digest of a run without a stop; with a probe too.
#[test]
fn steps_and_probes_do_not_change_a_run() {
    #[derive(Debug, Default)]
    struct Everything {
        sent: u64,
        /// The time and the sender of the last frame: an aggregate is told for each of its parts.
        last: Option<(Time, InterfaceId)>,
        received: u64,
        dropped: u64,
        delivered: u64,
    }
    impl Probe for Everything {
        fn on_frame(&mut self, now: Time, _: InterfaceId, frame: &FrameView<'_>, edge: FrameEdge) {
            match edge {
                FrameEdge::Sent => {
                    let this = Some((now, frame.transmitter));
                    self.sent += u64::from(self.last != this);
                    self.last = this;
                }
                FrameEdge::Received { power, .. } => {
                    assert!(power > 0.0);
                    self.received += 1;
                }
            }
        }

        fn on_packet(&mut self, _: Time, _: NodeId, _: &Packet, event: PacketEvent) {
            match event {
                PacketEvent::Dropped(_) => {
                    self.dropped += 1;
                }
                PacketEvent::Delivered => {
                    self.delivered += 1;
                }
                _ => {}
            }
        }
    }
    for (name, spec, whole) in unchanged() {
        let mut world = World::with_probe(spec, (Everything::default(), ())).expect("a world");
        let watch = Watch::default();
        let step = spec.duration.mul_f64(1.0 / 97.0);
        let mut until = Time::ZERO + step;
        while world.advance(until, &watch) == Advanced::Reached {
            assert_eq!(world.now(), until);
            until += step;
        }
        assert_eq!(world.digest(), whole.digest, "{name}");
        let (outcome, (probe, ())) = world.finish().expect("packets add up");
        assert_eq!((outcome.digest, outcome.flows == whole.flows), (whole.digest, true), "{name}");
        let dropped: u64 = outcome.drops.iter().map(|row| row.count).sum();
        assert_eq!((probe.sent, probe.dropped), (outcome.frames, dropped), "{name}");
        assert!(probe.delivered > 0 && (probe.received > 0 || outcome.frames == 0), "{name}: {probe:?}. {CONVERGED}");
    }
}

#[test]
fn recording_routes_paths_and_segments_changes_nothing() {
    let everything = Recorded {
        routes: RouteChanges::All,
        rates: true,
        paths: true,
        segments: SegmentFlows::All,
        mobile_events: true,
    };
    for (without, with) in unchanged_by(|spec| spec.observe.recorded = everything.clone()) {
        assert_eq!(without.overhead, with.overhead);
        assert!(without.paths.is_empty() && !with.paths.is_empty());
        assert!(without.segments.is_empty());
        // A trace without a file sends nothing.
        let has_tcp = with.flows.iter().any(|flow| flow.transport != "udp" && flow.packets_sent > 0);
        assert_eq!(has_tcp, !with.segments.is_empty());
    }
}
