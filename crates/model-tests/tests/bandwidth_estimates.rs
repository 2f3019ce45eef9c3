//! The estimates of Westwood and Westwood+ on a path whose rate is known: 10 Mb/s and 2 ms, then a bottleneck of 2 Mb/s
//! and 48 ms with a queue of 50 packets.

use hopyard_engine::Span;
use hopyard_engine::units::Bytes;
use hopyard_model::address::NodeId;
use hopyard_model::link::wired;
use hopyard_model::observe::Outcome;
use hopyard_model::params::Params as _;
use hopyard_model::world::{Quantity, Spec, WireSpec};

use crate::common::{add_tcp, mbps, network, run, stagger, with_congestion};

/// The bottleneck's rate in kbit/s of payload: 1460 bytes of each packet of 1512.
const SHARE: f64 = 2000.0 * 1460.0 / 1512.0;

const ESTIMATORS: [(&str, &str); 5] = [
    ("westwood", "rfc"),
    ("westwood", "inet"),
    ("westwood_plus", "paper"),
    ("westwood_plus", "linux"),
    ("westwood_plus", "ns3"),
];

/// Flows over the bottleneck, from node 0 to node 2 or back, each with a variant and its profile.
fn path(flows: &[(u32, u32, &str, &str)], loss: f64) -> Spec {
    let mut spec = network("rfc", "oracle", &[(0.0, 0.0); 3]);
    spec.nodes.iter_mut().for_each(|node| node.radios.clear());
    let fast = wired::Params::of_profile("rfc");
    let mut slow = wired::Params { rate: mbps(2.0), delay: Span::from_millis(48), ..fast.clone() };
    slow.losses.rate = loss;
    spec.wires = vec![
        WireSpec { ends: (NodeId(0), NodeId(1)), params: fast, network: None },
        WireSpec { ends: (NodeId(1), NodeId(2)), params: slow, network: None },
    ];
    for (number, &(from, to, variant, profile)) in flows.iter().enumerate() {
        add_tcp(&mut spec, from, to, "rfc", variant, |tcp| (tcp.segment_size, tcp.window) = (Bytes::new(1460), 100));
        with_congestion(&mut spec, number, variant, profile);
    }
    stagger(&mut spec);
    spec.duration = Span::from_secs(120);
    spec.observe.series = vec![Quantity::Bandwidth, Quantity::Goodput];
    spec.observe.interval = Span::from_millis(100);
    spec
}

/// The mean of a flow's series after the first 20 s, and its largest value.
fn series(outcome: &Outcome, flow: u32, quantity: &str) -> (f64, f64) {
    let values: Vec<f64> = outcome
        .series
        .iter()
        .filter(|row| row.flow == flow && row.quantity == quantity && row.time_s >= 20.0)
        .map(|row| row.value)
        .collect();
    assert!(values.len() > 900, "{} samples", values.len());
    (values.iter().sum::<f64>() / values.len() as f64, values.iter().copied().fold(0.0, f64::max))
}

#[test]
fn alone_the_estimate_is_the_bottlenecks_rate() {
    for (variant, profile) in ESTIMATORS {
        let outcome = run(&path(&[(0, 2, variant, profile)], 0.0));
        let (goodput, _) = series(&outcome, 0, "goodput");
        let (estimate, _) = series(&outcome, 0, "bandwidth");
        assert!(goodput <= SHARE * 1.001, "{variant} {profile}: {goodput}");
        // Linux computes in whole bytes per millisecond: each of two averages ends up to 7 too low.
        let lowest = if profile == "linux" { SHARE - 2.0 * 7.0 * 8.0 } else { 0.99 * SHARE };
        assert!((lowest..1.01 * SHARE).contains(&estimate), "{variant} {profile}: {estimate} of {SHARE}");
    }
}

#[test]
fn of_two_flows_westwood_plus_estimates_the_share() {
    for (variant, profile) in ESTIMATORS {
        let outcome = run(&path(&[(0, 2, variant, profile), (0, 2, variant, profile)], 0.0));
        let mut sum = 0.0;
        for flow in 0..2 {
            let (goodput, _) = series(&outcome, flow, "goodput");
            let (estimate, _) = series(&outcome, flow, "bandwidth");
            sum += goodput;
            assert!((goodput / (SHARE / 2.0) - 1.0).abs() < 0.05, "{variant} {profile}: {goodput}");
            // Westwood uses the time between two consecutive segments at the bottleneck, and so estimates more than its
            // share. With the clock of ns-3, a window counts one acknowledgement too many.
            let range = match (variant, profile) {
                ("westwood", _) => 1.2..2.1,
                (_, "ns3") => 1.0..1.1,
                (_, "linux") => 0.87..1.0,
                _ => 0.97..1.03,
            };
            assert!(range.contains(&(estimate / goodput)), "{variant} {profile}: {estimate} of {goodput}");
        }
        assert!(sum <= SHARE * 1.001, "{variant} {profile}: {sum}");
    }
}

#[test]
fn compressed_acknowledgements_run_away_with_westwood_alone() {
    for (variant, profile) in ESTIMATORS {
        // Because of the data in the other direction, acknowledgements wait and leave in bursts, at the rate of the
        // bottleneck for packets of 40 bytes.
        let outcome = run(&path(&[(0, 2, variant, profile), (2, 0, "newreno", "rfc")], 0.0));
        let (goodput, _) = series(&outcome, 0, "goodput");
        let (estimate, highest) = series(&outcome, 0, "bandwidth");
        assert!(goodput < SHARE, "{variant} {profile}: {goodput}");
        if variant == "westwood" {
            assert!(estimate > 10.0 * SHARE, "{profile}: {estimate} of {SHARE}");
        } else {
            assert!((0.85..1.15).contains(&(estimate / goodput)), "{profile}: {estimate} of {goodput}");
            assert!(highest < SHARE, "{profile}: {highest} of {SHARE}");
        }
    }
}

#[test]
fn one_loss_in_a_hundred_costs_less_than_it_costs_newreno() {
    let goodput = |variant, profile, loss| {
        let outcome = run(&path(&[(0, 2, variant, profile)], loss));
        series(&outcome, 0, "goodput").0
    };
    let newreno = goodput("newreno", "rfc", 0.01);
    assert!((0.6..0.75).contains(&(newreno / SHARE)), "{newreno} of {SHARE}");
    let others = [("veno", "paper"), ("veno", "linux"), ("illinois", "linux"), ("illinois", "paper")];
    for (variant, profile) in ESTIMATORS.into_iter().chain(others) {
        let found = goodput(variant, profile, 0.01);
        assert!(found > 1.15 * newreno && found < SHARE, "{variant} {profile}: {found}, NewReno {newreno}");
        // Without losses the path is as full as with NewReno. Because of Linux's low estimate it is idle for a short
        // time.
        let full = goodput(variant, profile, 0.0);
        assert!(full > if profile == "linux" { 0.98 } else { 0.999 } * SHARE, "{variant} {profile}: {full}");
    }
}
