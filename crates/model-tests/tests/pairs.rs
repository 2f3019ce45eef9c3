//! Every two TCP variants behave differently in the situations where theory predicts a difference. Other tools of this
//! field have shipped variants that behaved alike. The tests of each variant's own file check its behaviour; these
//! tests check that no variant is a copy of another.
//!
//! - Random losses over a wire: the reduction at a loss, the loss recovery, the estimate of the path's rate.
//! - A queue that becomes full: the use of round-trip times, pacing, the growth of the window after a loss.
//! - A route that breaks and is repaired: notices (ELFN), the classification of the timeout (WELCOME).

use hopyard_engine::units::Distance;
use hopyard_engine::{Span, Time};
use hopyard_model::address::NodeId;
use hopyard_model::link::wired;
use hopyard_model::mobility::{self, waypoints};
use hopyard_model::params::Params as _;
use hopyard_model::transport::congestion;
use hopyard_model::world::{Spec, WireSpec};

use crate::common::{add_tcp, chain, mbps, network, ranged, run};

fn wire(variant: &str, rate: f64, queue: u32, loss: f64) -> Spec {
    let mut spec = network("rfc", "oracle", &[(0.0, 0.0), (0.0, 0.0)]);
    spec.nodes.iter_mut().for_each(|node| node.radios.clear());
    let mut params = wired::Params { rate: mbps(rate), queue_length: queue, ..wired::Params::of_profile("rfc") };
    params.delay = Span::from_millis(40);
    params.losses.rate = loss;
    spec.wires.push(WireSpec { ends: (NodeId(0), NodeId(1)), params, network: None });
    add_tcp(&mut spec, 0, 1, "rfc", variant, |tcp| tcp.window = 200);
    Spec { duration: Span::from_secs(40), ..spec }
}

/// Four hops of AODV. The last two nodes are out of range from second 10 to second 18.
fn outage(variant: &str) -> Spec {
    let places = chain(5, 200.0);
    let mut spec = ranged(network("rfc", "aodv", &places), 250.0, 550.0);
    for (number, &(x, _)) in places.iter().enumerate().skip(3) {
        let point =
            |millis, y| waypoints::Waypoint::ground(Span::from_millis(millis), Distance::new(x), Distance::new(y));
        spec.nodes[number].mobility = mobility::Config::Waypoints(
            waypoints::Params {
                track: vec![point(10_000, 0.0), point(10_010, 2000.0), point(17_990, 2000.0), point(18_000, 0.0)],
                orders: Vec::new(),
            }
            .into(),
        );
    }
    add_tcp(&mut spec, 0, 4, "rfc", variant, |_| {});
    spec.flows[0].start = Time::ZERO + Span::from_secs(1);
    Spec { duration: Span::from_secs(40), ..spec }
}

/// The result of a variant: payload delivered, packets sent, retransmissions, timeouts.
fn behaviour(spec: &Spec) -> [u64; 4] {
    let outcome = run(spec);
    let flow = &outcome.flows[0];
    [flow.delivered_bytes, flow.packets_sent, flow.retransmissions, flow.timeouts.unwrap_or_default()]
}

#[test]
fn no_two_variants_behave_alike() {
    let behaviours: Vec<_> = congestion::MODELS
        .iter()
        .map(|model| {
            let specs = [wire(model.name, 2.0, 20, 0.01), wire(model.name, 1.0, 60, 0.0), outage(model.name)];
            (model.name, specs.each_ref().map(behaviour))
        })
        .collect();
    let mut pairs = 0;
    for (number, (name, did)) in behaviours.iter().enumerate() {
        for (other, others) in &behaviours[..number] {
            assert_ne!(did, others, "{name} does as {other} does: losses, a queue, an outage");
            pairs += 1;
        }
        // A run without data gives no information.
        assert!(did.iter().all(|[delivered, ..]| *delivered > 0), "{name}: {did:?}");
    }
    assert_eq!(pairs, congestion::MODELS.len() * (congestion::MODELS.len() - 1) / 2);
}
