//! A chain whose middle link breaks and is repaired: which nodes are informed, by which packets, and how ELFN's answer
//! differs from NewReno's.

use hopyard_engine::units::Distance;
use hopyard_engine::{Span, Time};
use hopyard_model::mobility::{self, waypoints};
use hopyard_model::observe::{FlowRow, Outcome};
use hopyard_model::routing;
use hopyard_model::routing::aodv::LinkDetection;
use hopyard_model::world::Spec;

use crate::common::{add_tcp, chain, network, ranged, run};

const BREAKS: u64 = 30;
const HEALS: u64 = 40;

/// Five hops. The three nodes on the right are out of range between second 30 and second 40. The measurement starts at
/// second 40.
fn breaking(routing: &str, variant: &str) -> Spec {
    let places = chain(6, 200.0);
    let mut spec = ranged(network("rfc", routing, &places), 250.0, 550.0);
    for (number, &(x, _)) in places.iter().enumerate().skip(3) {
        let point = |at: Span, y: f64| waypoints::Waypoint::ground(at, Distance::new(x), Distance::new(y));
        let blink = Span::from_millis(10);
        spec.nodes[number].mobility = mobility::Config::Waypoints(
            waypoints::Params {
                track: vec![
                    point(Span::from_secs(BREAKS), 0.0),
                    point(Span::from_secs(BREAKS) + blink, 2000.0),
                    point(Span::from_secs(HEALS) - blink, 2000.0),
                    point(Span::from_secs(HEALS), 0.0),
                ],
                orders: Vec::new(),
            }
            .into(),
        );
    }
    add_tcp(&mut spec, 0, 5, "rfc", variant, |_| {});
    spec.flows[0].start = Time::ZERO + Span::from_secs(20);
    spec.measure_from = Time::ZERO + Span::from_secs(BREAKS);
    Spec { duration: Span::from_secs(60), ..spec }
}

fn with_hellos_alone(mut spec: Spec) -> Spec {
    for node in &mut spec.nodes {
        if let routing::Config::Aodv(aodv) = &mut node.routing {
            (aodv.link_detection, aodv.allowed_hello_loss) = (LinkDetection::Hello, 6);
        }
    }
    spec
}

fn errors(outcome: &Outcome) -> Vec<u64> {
    outcome.nodes.iter().map(|node| node.icmp_errors).collect()
}

fn flow(outcome: &Outcome) -> &FlowRow {
    &outcome.flows[0]
}

#[test]
fn aodv_tells_the_source_from_where_the_link_broke() {
    let elfn = run(&breaking("aodv", "elfn"));
    let made = errors(&elfn);
    assert!(made[2] >= 1, "node 2 finds its link to node 3 broken: {made:?}");
    assert_eq!(made[0], 0, "a source tells itself without a packet");
    assert!(flow(&elfn).notices >= 1 && flow(&elfn).probes >= 3, "{:?}", flow(&elfn));
    assert!(flow(&elfn).delivered_bytes > 0, "it goes on after the healing");
    let newreno = run(&breaking("aodv", "newreno"));
    assert_eq!((flow(&newreno).notices, flow(&newreno).probes, errors(&newreno)), (0, 0, vec![0; 6]));
    assert!(flow(&newreno).timeouts > flow(&elfn).timeouts, "{:?} {:?}", flow(&newreno), flow(&elfn));
}

#[test]
fn without_feedback_of_the_link_layer_lost_hellos_raise_the_notice() {
    let elfn = run(&with_hellos_alone(breaking("aodv", "elfn")));
    assert!(errors(&elfn)[2] >= 1, "{:?}", errors(&elfn));
    assert!(flow(&elfn).notices >= 1 && flow(&elfn).probes >= 1, "{:?}", flow(&elfn));
    // Six seconds pass first, more than the retransmission timeout, so that the timer expires before the notice.
    assert!(flow(&elfn).timeouts >= Some(1), "{:?}", flow(&elfn));
}

#[test]
fn where_the_source_has_no_route_it_tells_itself_without_a_packet() {
    for routing in ["dsdv", "oracle"] {
        let elfn = run(&breaking(routing, "elfn"));
        assert_eq!(errors(&elfn), [0; 6], "{routing}");
        assert!(flow(&elfn).notices >= 1 && flow(&elfn).probes >= 1, "{routing}: {:?}", flow(&elfn));
        assert!(flow(&elfn).delivered_bytes > 0, "{routing}");
    }
}
